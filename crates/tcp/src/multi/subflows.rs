//! The subflows of a multipath connection, as the meta knows them: their connections belong to the driver.

use super::events::SubflowFacts;
use crate::{Connection, Role};
use bentpipe_units::{Duration, Time};

/// Access to the connections of the subflows.
pub trait Subflows {
    /// Returns the connection of subflow `i`, below the number of plans of the [meta](super::Meta).
    fn connection(&mut self, i: usize) -> &mut Connection;
}

impl Subflows for [Connection] {
    fn connection(&mut self, i: usize) -> &mut Connection {
        &mut self[i]
    }
}

impl Subflows for Vec<Connection> {
    fn connection(&mut self, i: usize) -> &mut Connection {
        &mut self[i]
    }
}

/// Plan of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// When it joins, from the opening of the multipath connection on, but not before that is established. `Duration::MAX`: only by
    /// [`Meta::join`](super::Meta::join). The first subflow opens at once.
    pub start: Duration,
    /// Whether it is used only if no other subflow is usable (RFC 8684 §3.3.8).
    pub is_backup: bool,
}

/// Stage of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It joins at this instant.
    Planned(Time),
    Opening,
    Open,
    Closed,
}

/// State of a subflow.
#[derive(Clone, Debug)]
pub(super) struct Subflow {
    pub(super) stage: Stage,
    /// When it joins, after the opening.
    pub(super) start: Duration,
    pub(super) facts: SubflowFacts,
    /// A notice said that a link of its route is down.
    pub(super) is_down: bool,
    /// It was closed before the end of the data, and still sends what it was given.
    pub(super) is_leaving: bool,
    /// The peer has reset its connection.
    pub(super) was_reset: bool,
    /// It does not join again by itself: an end has closed it, or reset it for a reason that stays (RFC 8684 §3.6).
    pub(super) is_barred: bool,
    /// It joins because the peer has offered its address. If that fails, it waits for another offer (RFC 8684 §3.4.1).
    pub(super) is_invited: bool,
    /// A multipath option arrived after the SYN.
    pub(super) has_signalled: bool,
    /// Least and greatest smoothed round-trip time.
    pub(super) srtt_min: Duration,
    pub(super) srtt_max: Duration,
    /// Its estimate of the round-trip time as a receiver, by echoed timestamps.
    pub(super) echoed: Option<Duration>,
    /// When its window was halved last.
    pub(super) penalised: Option<Time>,
    /// Payload acknowledged at the last two losses.
    pub(super) losses: [u64; 2],
    /// Data timers that expired since it answered last.
    pub(super) silent: u32,
    /// ADD_ADDR of its address, without an answer so far.
    pub(super) offer: Option<Repeated>,
    /// Keepalives over its path, without an answer so far: the peer has removed its address (REMOVE_ADDR).
    pub(super) doubt: Option<Repeated>,
}

/// A segment that is repeated until an answer arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    /// When it was sent first.
    pub(super) first: Time,
    /// When it is repeated, or given up.
    pub(super) next: Time,
    /// Times that it was sent.
    pub(super) times: u32,
}

impl Repeated {
    /// Times that it is sent, in all.
    pub(super) const TIMES_MAX: u32 = 4;

    /// A segment that is due.
    pub(super) fn new(now: Time) -> Self {
        Self { first: now, next: now, times: 0 }
    }

    /// Notes that it is sent now. The next time is after `delay`, and each further delay is twice as long.
    pub(super) fn note_sent(&mut self, now: Time, delay: Duration) {
        self.next = now + delay * (1 << self.times.min(Self::TIMES_MAX));
        self.times += 1;
    }
}

impl Subflow {
    pub(super) fn new(plan: Plan) -> Self {
        let Plan { start, is_backup } = plan;
        Self {
            stage: Stage::Planned(Time::NEVER),
            start,
            facts: SubflowFacts { is_backup, ..SubflowFacts::default() },
            is_down: false,
            is_leaving: false,
            was_reset: false,
            is_barred: false,
            is_invited: false,
            has_signalled: false,
            srtt_min: Duration::MAX,
            srtt_max: Duration::ZERO,
            echoed: None,
            penalised: None,
            losses: [0; 2],
            silent: 0,
            offer: None,
            doubt: None,
        }
    }

    /// The active end opens: it joins at its time.
    pub(super) fn plan(&mut self, now: Time) {
        if self.start < Duration::MAX && self.stage == Stage::Planned(Time::NEVER) {
            self.stage = Stage::Planned(now + self.start);
        }
    }

    /// Begins again, with another connection.
    pub(super) fn restart(&mut self) {
        let facts = SubflowFacts { is_failed: false, ..self.facts };
        let plan = Plan { start: self.start, is_backup: facts.is_backup };
        *self = Self { facts, stage: Stage::Opening, is_invited: self.is_invited, ..Self::new(plan) };
    }

    /// Its connection is over, and it may join again at this time: the end that opens it does, and the other one offers its address.
    /// While it is known to be interrupted, it waits for the notice.
    pub(super) fn await_return(&mut self, at: Time, role: Role) {
        match role {
            _ if self.is_barred || self.is_invited || self.is_down => {}
            Role::Active => self.stage = Stage::Planned(at),
            Role::Passive => self.offer = Some(Repeated::new(at)),
        }
    }

    /// Whether it has no connection in use: it waits for one, or has had one.
    pub(super) fn is_away(&self) -> bool {
        matches!(self.stage, Stage::Closed | Stage::Planned(_))
    }

    /// Its connection is over.
    pub(super) fn close(&mut self) {
        self.stage = Stage::Closed;
        (self.offer, self.doubt) = (None, None);
    }

    /// Notes an arrival over its path. An answer to a keepalive arrives at least a round trip after it; earlier segments left before.
    pub(super) fn note_answer(&mut self, now: Time, srtt: Option<Duration>) {
        self.silent = 0;
        if let Some(srtt) = srtt {
            self.note_srtt(srtt);
        }
        self.doubt =
            self.doubt.filter(|keepalive| now.saturating_since(keepalive.first) < srtt.unwrap_or(Duration::ZERO));
    }

    /// When it joins, or repeats an option or a keepalive.
    pub(super) fn next_wakeup(&self) -> Time {
        let joins = if let Stage::Planned(at) = self.stage { at } else { Time::NEVER };
        let repeated = self.offer.into_iter().chain(self.doubt).map(|repeated| repeated.next);
        repeated.fold(joins, Time::min)
    }

    /// Whether it may carry data when its windows allow.
    pub(super) fn is_alive(&self) -> bool {
        self.stage == Stage::Open && !self.facts.is_failed && !self.is_down && !self.is_leaving
    }

    /// An ACK arrived: notes the round-trip time.
    pub(super) fn note_srtt(&mut self, srtt: Duration) {
        self.srtt_min = self.srtt_min.min(srtt);
        self.srtt_max = self.srtt_max.max(srtt);
    }

    /// A loss, when the peer had acknowledged this many bytes.
    pub(super) fn note_loss(&mut self, acked: u64) {
        self.losses = [self.losses[1], acked];
    }

    /// Bytes acknowledged since the last loss, or between the last two if that is more (OLIA's l).
    pub(super) fn between_losses(&self, acked: u64) -> u64 {
        (acked - self.losses[1].min(acked)).max(self.losses[1] - self.losses[0])
    }

    /// A segment echoed a timestamp of this age.
    pub(super) fn note_echo(&mut self, age: Duration) {
        self.echoed = Some(self.echoed.map_or(age, |before| (before * 7 + age) / 8));
    }
}
