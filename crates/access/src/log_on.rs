//! Log-on of terminals: a burst in a slot of slotted ALOHA, with a random wait before each try.
//!
//! A burst that meets no other one in its slot is read 1 + ceil(P / T) superframes later, and the terminal is on R after it. A
//! lost burst is repeated after R + 2 T and another wait, whose limit doubles with each loss. Without random waits, terminals
//! that come at one instant, as after a reset of the hub, would meet for ever.

use crate::grid::Grid;
use crate::terminal::Demand;
use bentpipe_units::{Duration, Stream, Time};

/// Log-on of a return link.
#[derive(Clone, Debug, PartialEq)]
pub struct LogOn {
    /// Slots of each superframe for log-on bursts, beside those of plans.
    pub slots: u32,
    /// Whether terminals are off at the start.
    pub at_start: bool,
    /// Limits of the random wait before a burst, in superframes: the first, and the largest.
    pub repeat: (u32, u32),
    /// Outage after which a terminal is off.
    pub after: Duration,
    /// Time without traffic after which a terminal logs off. `None`: it stays on.
    pub idle: Option<Duration>,
    /// Instants, rising, at which the hub loses all terminals.
    pub resets: Vec<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    On,
    /// Off, for want of traffic.
    Idle,
    /// Off. Its next burst leaves in this superframe or later.
    Waits(u64),
    /// Its burst left in this superframe, and arrived or not.
    Sent(u64, bool),
}

/// A terminal that logs on.
#[derive(Clone, Debug)]
struct Joiner {
    state: State,
    /// Superframe since which it wants to be on, and its lost bursts in a row.
    since: u64,
    lost: u32,
    /// Superframe of its outage, and the first one without traffic.
    down_since: u64,
    quiet_since: Option<u64>,
    draws: Stream,
}

/// Counts of log-ons since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOnCounters {
    /// Log-ons.
    pub done: u64,
    /// Bursts.
    pub bursts: u64,
    /// Bursts that were lost.
    pub lost: u64,
    /// Superframes of all log-ons together.
    pub superframes: u64,
    /// Superframes of the longest log-on.
    pub longest: u64,
}

/// Change of a terminal in a superframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Stays,
    ComesOn,
    GoesOff,
}

/// Terminals of a return link that log on.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    slots: u32,
    repeat: (u32, u32),
    after: u64,
    idle: Option<u64>,
    /// Superframes of resets, the next one last.
    resets: Vec<u64>,
    /// Superframes from a burst to its answer.
    round: u64,
    terminals: Vec<Joiner>,
    /// Terminals with a burst in this superframe and its slot, and bursts by slot.
    bursts: Vec<(u32, u32)>,
    taken: Vec<u32>,
    pub(crate) counters: LogOnCounters,
}

impl Joining {
    pub(crate) fn new<'a>(
        keys: &LogOn,
        grid: &Grid,
        round: u64,
        links: impl Iterator<Item = &'a str>,
        seed: u64,
    ) -> Self {
        let mut joining = Self {
            slots: keys.slots.max(1),
            repeat: keys.repeat,
            after: grid.superframes_in(keys.after),
            idle: keys.idle.map(|idle| grid.superframes_in(idle).max(1)),
            resets: keys.resets.iter().rev().map(|&at| grid.superframes_in(at - Time::ZERO)).collect(),
            round,
            terminals: links.map(|link| Joiner::new(Stream::new(seed, link, "log-on"))).collect(),
            bursts: Vec::new(),
            taken: Vec::new(),
            counters: LogOnCounters::default(),
        };
        for terminal in joining.terminals.iter_mut().filter(|_| keys.at_start) {
            terminal.begin(0, joining.repeat);
        }
        joining
    }

    /// Whether a reset is due in a superframe.
    pub(crate) fn is_reset_due(&self, superframe: u64) -> bool {
        self.resets.last().is_some_and(|&at| at <= superframe)
    }

    /// Loses all terminals if a reset is due. Returns whether it was.
    pub(crate) fn reset(&mut self, superframe: u64) -> bool {
        let is_due = self.is_reset_due(superframe);
        while self.is_reset_due(superframe) {
            self.resets.pop();
        }
        for terminal in self.terminals.iter_mut().filter(|_| is_due) {
            // An idle terminal is off anyway.
            if terminal.state != State::Idle {
                terminal.begin(superframe, self.repeat);
            }
        }
        is_due
    }

    pub(crate) fn is_on(&self, terminal: usize) -> bool {
        self.terminals[terminal].state == State::On
    }

    /// Whether a terminal is on, or off until packets come.
    pub(crate) fn is_settled(&self, terminal: usize) -> bool {
        matches!(self.terminals[terminal].state, State::On | State::Idle)
    }

    /// Notes that the link of a terminal goes down or comes up.
    pub(crate) fn follow(&mut self, superframe: u64, terminal: usize, is_up: bool) {
        let (after, repeat) = (self.after, self.repeat);
        let joiner = &mut self.terminals[terminal];
        if !is_up {
            joiner.down_since = superframe;
        } else if joiner.state != State::Idle && (superframe >= joiner.down_since + after || joiner.state != State::On)
        {
            joiner.begin(superframe, repeat);
        }
    }

    /// Notes that nothing waits for a terminal. Returns the superframe in which it logs off.
    pub(crate) fn be_quiet(&mut self, superframe: u64, terminal: usize) -> Option<u64> {
        let joiner = &mut self.terminals[terminal];
        let since = *joiner.quiet_since.get_or_insert(superframe);
        self.idle.filter(|_| joiner.state == State::On).map(|idle| since + idle)
    }

    /// Takes the next step of a terminal that is up.
    pub(crate) fn step(&mut self, superframe: u64, terminal: usize, demand: &Demand) -> Step {
        let joiner = &mut self.terminals[terminal];
        if demand.is_busy() {
            joiner.quiet_since = None;
        }
        match joiner.state {
            State::On => {
                let quiet = joiner.quiet_since.zip(self.idle);
                if quiet.is_some_and(|(since, idle)| superframe >= since + idle) {
                    joiner.state = State::Idle;
                    return Step::GoesOff;
                }
            }
            State::Idle if demand.is_busy() => joiner.begin(superframe, self.repeat),
            State::Sent(at, true) if superframe >= at + self.round => {
                joiner.state = State::On;
                let took = superframe - joiner.since;
                let LogOnCounters { done, superframes, longest, .. } = &mut self.counters;
                (*done, *superframes, *longest) = (*done + 1, *superframes + took, (*longest).max(took));
                return Step::ComesOn;
            }
            State::Sent(at, false) if superframe >= at + self.round + 2 => {
                joiner.lost = joiner.lost.saturating_add(1);
                joiner.wait(superframe, self.repeat);
            }
            State::Idle | State::Waits(_) | State::Sent(..) => {}
        }
        if matches!(joiner.state, State::Waits(from) if superframe >= from) {
            let slot = joiner.draws.below(2 * superframe, u64::from(self.slots)) as u32;
            joiner.state = State::Sent(superframe, false);
            self.bursts.push((terminal as u32, slot));
        }
        Step::Stays
    }

    /// Reads the bursts of the superframe. `arrives` tests the signal of a terminal.
    pub(crate) fn hear(&mut self, superframe: u64, arrives: impl Fn(usize) -> bool) {
        self.taken.clear();
        self.taken.resize(self.slots as usize, 0);
        self.bursts.iter().for_each(|&(_, slot)| self.taken[slot as usize] += 1);
        for (terminal, slot) in self.bursts.drain(..) {
            let is_heard = self.taken[slot as usize] == 1 && arrives(terminal as usize);
            self.terminals[terminal as usize].state = State::Sent(superframe, is_heard);
            self.counters.bursts += 1;
            self.counters.lost += u64::from(!is_heard);
        }
    }
}

impl Joiner {
    fn new(draws: Stream) -> Self {
        Self { state: State::On, since: 0, lost: 0, down_since: 0, quiet_since: None, draws }
    }

    /// Begins to log on.
    fn begin(&mut self, superframe: u64, repeat: (u32, u32)) {
        (self.since, self.lost, self.quiet_since) = (superframe, 0, None);
        self.wait(superframe, repeat);
    }

    /// Waits for a random number of superframes below a limit, which doubles with each loss.
    fn wait(&mut self, superframe: u64, (first, most): (u32, u32)) {
        let limit = (u64::from(first) << self.lost.min(31)).min(u64::from(most)).max(1);
        self.state = State::Waits(superframe + self.draws.below(2 * superframe + 1, limit));
    }
}
