//! The end of a route: a connection and the application that uses it, with what is counted about them.

use crate::record::Histogram;
use crate::scenario::{App, Flow, Start};
use bentpipe_tcp::{Config, Connection, DelayTimer, Event, GiveUp, Role, State};
use bentpipe_units::{Duration, Seq, Stream, Time};

/// More than any run can send.
const ENDLESS: u64 = u64::MAX >> 8;

/// One end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) conn: Connection,
    /// When the schedule wakes it up: not later than it has to.
    pub(crate) armed: Time,
    /// When the application starts; [`Time::NEVER`] once it has.
    start: Time,
    /// Bytes of a transfer that ends; `u64::MAX` for a greedy one.
    pub(crate) size: u64,
    never_gives_up: bool,
    /// Of the flow's packets.
    pub(crate) class: u8,
    pub(crate) first_sent: Option<Time>,
    /// Sender: the last byte was acknowledged. Receiver: it was received.
    pub(crate) completed: Option<Time>,
    pub(crate) is_aborted: bool,
    pub(crate) sent_wire_bytes: u64,
    /// Retransmissions that arrived here and brought nothing new.
    pub(crate) needless: u64,
    pub(crate) rtts: Histogram,
}

impl Host {
    /// Both ends of `flow`: the sender, the receiver.
    pub(crate) fn pair(flow: &Flow, seed: u64) -> [Self; 2] {
        let component = format!("flow/{}", flow.name);
        let start = match flow.start {
            Start::At(at) => at,
            Start::Uniform { from, to } => {
                from + Duration::from_ps(Stream::new(seed, &component, "start").below(0, (to - from).as_ps()))
            }
        };
        let size = match flow.app {
            App::Greedy => u64::MAX,
            App::File { size } => size,
        };
        let mut phases = Stream::new(seed, &component, "clock");
        let mut end = |role, draw, start| {
            let config = config_of(flow, &mut phases, draw);
            Self {
                conn: Connection::new(config, role, Seq::new(0)),
                armed: Time::NEVER,
                start,
                size,
                class: flow.class,
                never_gives_up: flow.tcp.give_up == GiveUp::Never,
                first_sent: None,
                completed: None,
                is_aborted: false,
                sent_wire_bytes: 0,
                needless: 0,
                rtts: Histogram::default(),
            }
        };
        let sender = end(Role::Active, 0, start);
        let mut receiver = end(Role::Passive, 1, Time::NEVER);
        receiver.conn.open(Time::ZERO);
        [sender, receiver]
    }

    /// Time has passed: the application or the connection may have something to do.
    pub(crate) fn handle_wakeup(&mut self, now: Time) {
        if self.start <= now {
            self.start = Time::NEVER;
            if self.size == u64::MAX {
                self.conn.offer(ENDLESS);
            } else {
                self.conn.offer(self.size);
                self.conn.close();
            }
            self.conn.open(now);
        } else {
            self.conn.handle_wakeup(now);
        }
    }

    #[inline]
    pub(crate) fn next_wakeup(&self) -> Time {
        self.conn.next_wakeup().min(self.start)
    }

    /// Whether it has a transfer that ends, and has not.
    #[inline]
    pub(crate) fn may_complete(&self) -> bool {
        self.size != u64::MAX && self.completed.is_none()
    }

    /// Whether a segment that arrives finds anybody.
    #[inline]
    pub(crate) fn is_listening(&self) -> bool {
        self.conn.state() != State::Closed
    }

    /// Whether an established connection goes on until the run ends.
    pub(crate) fn is_endless(&self) -> bool {
        self.size == u64::MAX && self.never_gives_up
    }

    pub(crate) fn is_started(&self) -> bool {
        self.start == Time::NEVER
    }

    /// The receiving application closes when the sender has finished.
    pub(crate) fn on_event(&mut self, event: Event) {
        match event {
            Event::PeerFinished => self.conn.close(),
            Event::Aborted(_) => self.is_aborted = true,
            _ => {}
        }
    }
}

/// The flow's settings with the phases of this end's clocks drawn.
fn config_of(flow: &Flow, phases: &mut Stream, draw: u64) -> Config {
    let mut config = flow.tcp.clone();
    if flow.phase_drawn {
        config.rto.phase = Duration::from_ps(phases.below(2 * draw, config.rto.granularity.as_ps()));
    }
    if let DelayTimer::FreeRunning { phase } = &mut config.ack.timer {
        *phase = Duration::from_ps(phases.below(2 * draw + 1, config.ack.delay.as_ps()));
    }
    config
}
