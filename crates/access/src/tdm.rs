//! The forward link of DVB-S2 as a component in time: one carrier, one wake-up per frame, none when nothing waits.
//!
//! A frame has one modulation and code. Plans of return links come first. Otherwise the terminal whose turn it is gives
//! its choice to the frame, and shares the frame with terminals that receive it, too: by deficit round robin (M.
//! Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995).

use crate::adaptation::Adaptation;
use crate::frames::{most_efficient, Frames, Part};
use crate::modcods::Modcod;
use crate::reports::Reported;
use bentpipe_units::{words, Time};
use std::collections::VecDeque;

words! {
    /// Unit of the turns of terminals.
    pub enum Share {
        /// Turns by bytes: terminals get equal rates.
        "bits" => Bits,
        /// Turns by symbols: terminals get equal times, so a weak signal costs only its own terminal.
        "time" => Time,
    }
}

/// A forward link.
#[derive(Clone, Debug, PartialEq)]
pub struct Tdm {
    /// Frames of the carrier.
    pub frames: Frames,
    /// Unit of turns.
    pub share: Share,
    /// Constant modulation and code. `None`: adaptive.
    pub modcod: Option<Modcod>,
    /// Adaptation of modulation and code.
    pub acm: Adaptation,
}

/// Queues of the terminals, as the carrier sees them.
pub trait Queues {
    /// Whether the link to a terminal is up at `now`. Packets of a link that is down wait, and its turn passes.
    fn is_up(&mut self, terminal: usize, now: Time) -> bool;
    /// Returns the bytes of the packet that a terminal gets next, at `now`. `None` if no packet waits.
    fn next(&mut self, terminal: usize, now: Time) -> Option<u32>;
    /// Takes this packet out of its queue: its first part is in a frame.
    fn take(&mut self, terminal: usize);
    /// Puts a part of the packet that was taken into a frame. Returns whether the terminal loses the frame.
    fn put(&mut self, terminal: usize, frame: &Frame, part: Part) -> bool;
    /// The last part of the packet that was taken leaves with a frame that ends at `at`.
    fn sent(&mut self, terminal: usize, at: Time, is_lost: bool);
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its modulation and code.
    pub modcod: Modcod,
    /// Start of its transmission.
    pub starts: Time,
    /// End of its transmission.
    pub ends: Time,
}

/// Counts of a forward link since the start, in frames and bytes. Padding is `bytes` - `carried` - `headers` - `plans`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Bytes of packets.
    pub carried: u64,
    /// Bytes of headers.
    pub headers: u64,
    /// Bytes of plans.
    pub plans: u64,
}

/// Bytes of a turn, for each unit of weight.
const QUANTUM_BYTES: f64 = 1500.0;

/// A terminal at the gateway.
#[derive(Clone, Debug)]
struct Receiver {
    reported: Reported,
    weight: f64,
    /// Rest of its turn, in bytes or symbols.
    deficit: f64,
    is_waiting: bool,
    /// Whether its turn has begun.
    in_turn: bool,
    /// Rest of the packet that was taken, and whether a part of it was lost.
    rest: u32,
    is_lost: bool,
}

/// A plan that waits.
#[derive(Clone, Copy, Debug)]
struct Announced {
    bytes: u64,
    modcod: Modcod,
}

/// A forward link that runs.
#[derive(Clone, Debug)]
pub struct TdmMedium {
    settings: Tdm,
    receivers: Vec<Receiver>,
    /// Terminals with packets, in order of their turns.
    turns: VecDeque<u32>,
    plans: VecDeque<Announced>,
    quantum: f64,
    counters: FrameCounters,
    /// Frames by modulation and code, in the order of the table.
    by_modcod: [u64; crate::MODCODS.len()],
}

impl TdmMedium {
    /// Returns the link at the start of a run. `terminals` has the weight and the signal in dB of each.
    pub fn new(settings: &Tdm, terminals: impl Iterator<Item = (u32, f64)>) -> Self {
        let receiver = |(weight, es_n0_db): (u32, f64)| Receiver {
            reported: match settings.modcod {
                Some(modcod) => Reported::constant(modcod),
                None => Reported::new(&settings.acm, es_n0_db),
            },
            weight: f64::from(weight.max(1)),
            deficit: 0.0,
            is_waiting: false,
            in_turn: false,
            rest: 0,
            is_lost: false,
        };
        let receivers: Vec<Receiver> = terminals.map(receiver).collect();
        Self {
            quantum: match settings.share {
                Share::Bits => QUANTUM_BYTES,
                Share::Time => QUANTUM_BYTES * symbols_per_byte(most_efficient()),
            },
            settings: settings.clone(),
            turns: VecDeque::with_capacity(receivers.len()),
            receivers,
            plans: VecDeque::new(),
            counters: FrameCounters::default(),
            by_modcod: [0; crate::MODCODS.len()],
        }
    }

    /// Notes that packets wait for a terminal.
    pub fn arrived(&mut self, terminal: usize) {
        let receiver = &mut self.receivers[terminal];
        if !receiver.is_waiting {
            receiver.is_waiting = true;
            self.turns.push_back(terminal as u32);
        }
    }

    /// Notes at `now` a report of a terminal's signal that is in use from `from` on: after its way back and the control
    /// delay.
    pub fn report(&mut self, terminal: usize, now: Time, from: Time, es_n0_db: f64) {
        if self.settings.modcod.is_none() {
            let Receiver { reported, .. } = &mut self.receivers[terminal];
            // Reports in use leave the list, also while the choice has no reader.
            reported.at(&self.settings.acm, now);
            reported.report(from, es_n0_db);
        }
    }

    /// Announces a plan of a return link to these terminals, at `now`: in the modulation of the weakest of them that
    /// can be served.
    pub fn announce(&mut self, now: Time, bytes: u64, terminals: impl Iterator<Item = u32>) {
        let choices = terminals.filter_map(|n| self.choice(n as usize, now));
        if let Some(modcod) = choices.min_by_key(|modcod| modcod.index()) {
            self.plans.push_back(Announced { bytes, modcod });
        }
    }

    /// Returns the modulation and code of a terminal. `None` if its signal is too weak for all.
    pub fn choice(&mut self, terminal: usize, now: Time) -> Option<Modcod> {
        self.receivers[terminal].reported.at(&self.settings.acm, now)
    }

    /// Whether plans wait.
    pub fn has_plans(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Whether packets or plans wait.
    pub fn is_waiting(&self) -> bool {
        !self.turns.is_empty() || !self.plans.is_empty()
    }

    /// Returns the terminals for which packets wait.
    pub fn waiting_terminals(&self) -> impl Iterator<Item = usize> + '_ {
        self.turns.iter().map(|&n| n as usize)
    }

    /// Returns the start of the use of the next report of a terminal, if one is under way.
    pub fn next_report(&self, terminal: usize) -> Option<Time> {
        self.receivers[terminal].reported.next()
    }

    /// Returns the counts since the start.
    pub fn counters(&self) -> FrameCounters {
        self.counters
    }

    /// Returns the number of frames by modulation and code, in the order of [`MODCODS`](crate::MODCODS).
    pub fn frames_by_modcod(&self) -> &[u64] {
        &self.by_modcod
    }

    /// Fills the frame that starts at `now`. Returns `None` if no frame can be filled. After a frame, the next one
    /// starts at its end; without one, at the next arrival or report.
    pub fn next_frame(&mut self, now: Time, queues: &mut impl Queues) -> Option<Frame> {
        let plan = self.plans.front().map(|plan| plan.modcod);
        let modcod = plan.or_else(|| self.owner(now, queues))?;
        let frame = Frame { modcod, starts: now, ends: now + self.settings.frames.duration(modcod) };
        let payload = Frames::payload(modcod);
        let mut room = payload;
        self.take_plans(modcod, &mut room);
        self.take_packets(&frame, &mut room, queues);
        self.counters.frames += 1;
        self.counters.bytes += u64::from(payload);
        self.by_modcod[modcod.index()] += 1;
        Some(frame)
    }

    /// Returns the modulation and code of the terminal whose turn it is. Turns in which the first packet costs too much
    /// pass.
    fn owner(&mut self, now: Time, queues: &mut impl Queues) -> Option<Modcod> {
        let mut mute = 0;
        while mute < self.turns.len() {
            let n = *self.turns.front()? as usize;
            let Some(modcod) = self.choice(n, now).filter(|_| queues.is_up(n, now)) else {
                // It cannot be reached. Its packets wait, and its turn passes.
                mute += 1;
                self.receivers[n].in_turn = false;
                self.turns.rotate_left(1);
                continue;
            };
            let Some(bytes) = self.waiting(n, now, queues) else {
                self.stop(0);
                continue;
            };
            self.begin_turn(n);
            if self.cost(bytes, modcod) <= self.receivers[n].deficit {
                return Some(modcod);
            }
            mute = 0;
            self.receivers[n].in_turn = false;
            self.turns.rotate_left(1);
        }
        None
    }

    fn take_plans(&mut self, modcod: Modcod, room: &mut u32) {
        while let Some(plan) = self.plans.front_mut().filter(|plan| plan.modcod.index() >= modcod.index()) {
            let bytes = plan.bytes.min(u64::from(*room));
            plan.bytes -= bytes;
            *room -= bytes as u32;
            self.counters.plans += bytes;
            if plan.bytes > 0 {
                return;
            }
            self.plans.pop_front();
        }
    }

    /// Takes packets in turns until the frame is full: until a terminal finds no room for another part. If a waiting
    /// terminal cannot receive the frame, further turns of the others are on credit: they pay with later turns.
    fn take_packets(&mut self, frame: &Frame, room: &mut u32, queues: &mut impl Queues) {
        let (mut credit, mut is_shared_by_all) = (0.0, true);
        loop {
            let mut may_go_on = false;
            let mut place = 0;
            for _ in 0..self.turns.len() {
                let Some(&n) = self.turns.get(place) else { break };
                let n = n as usize;
                let choice = self.choice(n, frame.starts);
                let receives = choice.is_some_and(|choice| choice.index() >= frame.modcod.index())
                    && queues.is_up(n, frame.starts);
                is_shared_by_all &= receives;
                if !receives {
                    place += 1;
                    continue;
                }
                if credit == 0.0 {
                    self.begin_turn(n);
                }
                may_go_on = true;
                match self.serve(n, credit, frame, room, queues) {
                    Turn::Idle => self.stop(place),
                    Turn::Over => {
                        self.receivers[n].in_turn = false;
                        let _ = self.turns.remove(place);
                        self.turns.push_back(n as u32);
                    }
                    Turn::Full => return,
                }
            }
            if !may_go_on {
                return;
            }
            if !is_shared_by_all {
                credit += self.quantum;
            }
        }
    }

    /// Sends packets of a terminal for as long as its turn, with this credit per weight, and the frame have room.
    fn serve(&mut self, n: usize, credit: f64, frame: &Frame, room: &mut u32, queues: &mut impl Queues) -> Turn {
        loop {
            let Some(bytes) = self.waiting(n, frame.starts, queues) else { return Turn::Idle };
            if self.cost(bytes, frame.modcod) > self.receivers[n].deficit + credit * self.receivers[n].weight {
                return Turn::Over;
            }
            let has_begun = self.receivers[n].rest > 0;
            let Some(part) = self.settings.frames.part(bytes, has_begun, *room) else { return Turn::Full };
            if !has_begun {
                queues.take(n);
            }
            let cost = self.cost(part.bytes, frame.modcod);
            let is_lost = queues.put(n, frame, part);
            let receiver = &mut self.receivers[n];
            receiver.deficit -= cost;
            receiver.rest = bytes - part.bytes;
            receiver.is_lost |= is_lost;
            *room -= part.bytes + part.header;
            self.counters.carried += u64::from(part.bytes);
            self.counters.headers += u64::from(part.header);
            if receiver.rest > 0 {
                return Turn::Full;
            }
            queues.sent(n, frame.ends, core::mem::take(&mut receiver.is_lost));
        }
    }

    /// Returns the bytes that a terminal sends next: the rest of a packet comes first.
    fn waiting(&self, n: usize, now: Time, queues: &mut impl Queues) -> Option<u32> {
        match self.receivers[n].rest {
            0 => queues.next(n, now),
            rest => Some(rest),
        }
    }

    /// Returns the cost of bytes in a frame, in bytes or symbols.
    fn cost(&self, bytes: u32, modcod: Modcod) -> f64 {
        match self.settings.share {
            Share::Bits => f64::from(bytes),
            Share::Time => f64::from(bytes) * symbols_per_byte(modcod),
        }
    }

    fn begin_turn(&mut self, n: usize) {
        let receiver = &mut self.receivers[n];
        if !core::mem::replace(&mut receiver.in_turn, true) {
            receiver.deficit += self.quantum * receiver.weight;
        }
    }

    /// Takes a terminal without packets out of the turns.
    fn stop(&mut self, place: usize) {
        if let Some(n) = self.turns.remove(place) {
            let receiver = &mut self.receivers[n as usize];
            (receiver.is_waiting, receiver.in_turn, receiver.deficit) = (false, false, 0.0);
        }
    }
}

/// End of a turn.
enum Turn {
    /// No packet waits.
    Idle,
    /// The next packet costs more than is left of the turn.
    Over,
    /// The frame has no room for the next packet. The turn goes on in a later frame.
    Full,
}

fn symbols_per_byte(modcod: Modcod) -> f64 {
    8.0 / modcod.efficiency()
}
