//! Careful resume (N. Kuhn et al., RFC 9959): a connection jumps to half of the window that an earlier connection used
//! over the same path. Within a round trip, the path either confirms the jump, or the window retreats below that of
//! slow start.
//!
//! The part belongs to no transport. It reads facts at each event and returns a window and a threshold; the transport sets
//! them in its congestion control, which otherwise goes on as ever. Positions are offsets of bytes in TCP and numbers of
//! packets in QUIC.

use crate::keys::{CarefulResume as Settings, MaxJump, ResumePipe, SavedRtt, SavedWindow};
use bentpipe_units::{Duration, Time};

/// Facts of a path that an earlier connection saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// Data that arrived in a round trip, bytes.
    pub window: u64,
    /// Least round trip.
    pub rtt: Duration,
    /// When it was saved.
    pub at: Time,
}

/// Phase of a connection (RFC 9959 §2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumePhase {
    /// The round trip is checked; slow start as ever.
    Reconnaissance,
    /// The window has jumped, and no data of it has arrived.
    Unvalidated,
    /// Data of the jump arrives.
    Validating,
    /// The jump was too large.
    Retreat,
    /// No part in what happens.
    Normal,
}

/// Reason of a change of phase, as in the events of draft-ietf-tsvwg-careful-resume-qlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeReason {
    /// More data waits than the window takes: the connection jumps.
    CongestionWindowLimited,
    /// The round trip is not that of the saved path.
    RttNotValidated,
    /// The window has grown to the jump.
    NothingToGain,
    /// A loss was taken for congestion.
    PacketLoss,
    /// A queue marked packets.
    EcnCe,
    /// The path changed.
    PathChanged,
    /// The sender had too little data to test the jump.
    RateLimited,
    /// The window of the jump is full.
    LastUnvalidatedPacketSent,
    /// Data of the jump arrived.
    FirstUnvalidatedPacketAcknowledged,
    /// A round trip has passed since the jump.
    RttExceeded,
    /// All data of the jump arrived.
    LastUnvalidatedPacketAcknowledged,
    /// All data of the jump arrived or is lost, after a retreat.
    ExitRecovery,
}

/// Facts at an event, after the transport has handled it and before it sends.
#[derive(Clone, Copy, Debug)]
pub struct ResumeFacts {
    /// The present.
    pub now: Time,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Data in flight, bytes.
    pub flight: u64,
    /// Bytes that wait to be sent.
    pub waiting: u64,
    /// Position of the next new data.
    pub next: u64,
    /// Position below which everything has arrived or is declared lost.
    pub settled: u64,
    /// Bytes that arrived so far.
    pub delivered: u64,
    /// Bytes that arrived so far from the [first position of the jump](CarefulResume::first) on.
    pub validated: u64,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// Smoothed round trip.
    pub srtt: Option<Duration>,
    /// Least round trip of the connection.
    pub rtt_min: Option<Duration>,
}

/// Change of phase, with the window and the threshold to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The new phase.
    pub phase: ResumePhase,
    /// Its reason.
    pub reason: ResumeReason,
    /// Congestion window, bytes; `None`: unchanged.
    pub cwnd: Option<u64>,
    /// Slow start threshold, bytes; `None`: unchanged.
    pub ssthresh: Option<u64>,
}

/// Careful resume on one connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    settings: Settings,
    saved: SavedPath,
    initial_window: u64,
    phase: ResumePhase,
    /// The jump: its window, its first position, its end once it is sent, and the time of its begin.
    jump: u64,
    first: u64,
    last: Option<u64>,
    since: Time,
    /// Bytes in flight, and delivered, before the jump.
    flight_before: u64,
    delivered_before: u64,
}

/// RFC 9959 §4.2.1: a path whose round trip is more than ten times the saved one is another.
const RTT_GROWTH_MAX: u64 = 10;

impl CarefulResume {
    /// A connection begins whose path was saved. Windows are in bytes.
    pub fn new(settings: Settings, saved: SavedPath, initial_window: u64, smss: u64) -> Self {
        let max = match settings.max_jump {
            MaxJump::Unlimited | MaxJump::Bdp(_) => u64::MAX,
            MaxJump::Segments(n) => n.saturating_mul(smss),
            MaxJump::Bytes(n) => n,
        };
        let share = u128::from(saved.window) * u128::from(settings.fraction) / 1000;
        Self {
            settings,
            saved,
            initial_window,
            phase: ResumePhase::Reconnaissance,
            jump: u64::try_from(share).unwrap_or(u64::MAX).min(max),
            first: u64::MAX,
            last: None,
            since: Time::ZERO,
            flight_before: 0,
            delivered_before: 0,
        }
    }

    /// Returns the path that the settings give; `None`: the path comes from a cache.
    pub fn given(settings: Settings, smss: u64, now: Time) -> Option<SavedPath> {
        let window = match settings.saved {
            SavedWindow::Cache | SavedWindow::Bdp(_) => return None,
            SavedWindow::Segments(n) => n.saturating_mul(smss),
            SavedWindow::Bytes(n) => n,
        };
        let SavedRtt::Time(rtt) = settings.saved_rtt else { return None };
        Some(SavedPath { window, rtt, at: now })
    }

    /// The present phase.
    pub fn phase(&self) -> ResumePhase {
        self.phase
    }

    /// The saved path.
    pub fn saved(&self) -> SavedPath {
        self.saved
    }

    /// First position of the jump; `u64::MAX` before it.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Whether ACKs may grow the window.
    pub fn may_grow(&self) -> bool {
        !matches!(self.phase, ResumePhase::Unvalidated | ResumePhase::Retreat)
    }

    /// Bytes that leave evenly in a round trip, while that is required (RFC 9959 §3.3).
    pub fn paced_window(&self) -> Option<u64> {
        (self.phase == ResumePhase::Unvalidated).then_some(self.jump)
    }

    /// An ACK arrived that shows no congestion.
    pub fn on_ack(&mut self, facts: &ResumeFacts) -> Option<Resumed> {
        match self.phase {
            ResumePhase::Normal => None,
            ResumePhase::Reconnaissance => self.reconnoitre(facts),
            ResumePhase::Unvalidated => self.leave_unvalidated(facts),
            ResumePhase::Validating => self
                .is_settled(facts)
                .then(|| self.turn(ResumePhase::Normal, ResumeReason::LastUnvalidatedPacketAcknowledged)),
            ResumePhase::Retreat => self.is_settled(facts).then(|| {
                let pipe = u128::from(self.pipe(facts)) * u128::from(self.settings.beta) / 1000;
                let ssthresh = u64::try_from(pipe).unwrap_or(u64::MAX).max(2 * facts.smss);
                let ended = self.turn(ResumePhase::Normal, ResumeReason::ExitRecovery);
                Resumed { ssthresh: Some(ssthresh), ..ended }
            }),
        }
    }

    /// Data left, or a timer of pacing expired.
    pub fn on_sent(&mut self, facts: &ResumeFacts) -> Option<Resumed> {
        if self.phase == ResumePhase::Unvalidated {
            self.leave_unvalidated(facts)
        } else {
            None
        }
    }

    /// The window was reduced for a loss or for marks, or the path changed.
    pub fn on_congestion(&mut self, reason: ResumeReason, facts: &ResumeFacts) -> Option<Resumed> {
        match self.phase {
            ResumePhase::Normal | ResumePhase::Retreat => None,
            ResumePhase::Reconnaissance => Some(self.turn(ResumePhase::Normal, reason)),
            // A new path is no evidence about data that is validated already: a loss decides (reading).
            ResumePhase::Validating if reason == ResumeReason::PathChanged => None,
            ResumePhase::Unvalidated | ResumePhase::Validating => {
                self.last.get_or_insert(facts.next);
                // RFC 9959 §3.5: no more than half of the validated data.
                let window = (self.pipe(facts) / 2).max(2 * facts.smss);
                let retreat = self.turn(ResumePhase::Retreat, reason);
                Some(Resumed { cwnd: Some(window), ssthresh: Some(window), ..retreat })
            }
        }
    }

    /// The retransmission timer expired: its own rules hold.
    pub fn on_timeout(&mut self) -> Option<Resumed> {
        (self.phase != ResumePhase::Normal).then(|| self.turn(ResumePhase::Normal, ResumeReason::PacketLoss))
    }

    /// The loss that caused the retreat was none.
    pub fn on_undo(&mut self) -> Option<Resumed> {
        (self.phase == ResumePhase::Retreat).then(|| self.turn(ResumePhase::Normal, ResumeReason::ExitRecovery))
    }

    fn turn(&mut self, phase: ResumePhase, reason: ResumeReason) -> Resumed {
        self.phase = phase;
        Resumed { phase, reason, cwnd: None, ssthresh: None }
    }

    fn reconnoitre(&mut self, facts: &ResumeFacts) -> Option<Resumed> {
        if facts.cwnd >= self.jump {
            return Some(self.turn(ResumePhase::Normal, ResumeReason::NothingToGain));
        }
        let rtt = facts.rtt_min.filter(|_| facts.delivered >= self.initial_window)?;
        // RFC 9959 §3.2, §4.2.1: a shorter round trip is another path, and a much longer one, too.
        if rtt <= self.saved.rtt / 2 || rtt > self.saved.rtt * RTT_GROWTH_MAX {
            return Some(self.turn(ResumePhase::Normal, ResumeReason::RttNotValidated));
        }
        if facts.flight + facts.waiting <= facts.cwnd {
            // The data may come later.
            return None;
        }
        (self.first, self.since) = (facts.next, facts.now);
        (self.flight_before, self.delivered_before) = (facts.flight, facts.delivered);
        let jump = self.turn(ResumePhase::Unvalidated, ResumeReason::CongestionWindowLimited);
        Some(Resumed { cwnd: Some(self.jump), ..jump })
    }

    fn leave_unvalidated(&mut self, facts: &ResumeFacts) -> Option<Resumed> {
        let round_trip = facts.srtt.unwrap_or(self.saved.rtt);
        let reason = if facts.validated > 0 {
            ResumeReason::FirstUnvalidatedPacketAcknowledged
        } else if facts.flight + facts.smss > facts.cwnd {
            ResumeReason::LastUnvalidatedPacketSent
        } else if facts.now.saturating_since(self.since) > round_trip {
            ResumeReason::RttExceeded
        } else {
            return None;
        };
        let pipe = self.pipe(facts);
        if facts.flight < self.initial_window || facts.flight <= pipe {
            let window = pipe.max(self.initial_window);
            let limited = self.turn(ResumePhase::Normal, ResumeReason::RateLimited);
            return Some(Resumed { cwnd: Some(window), ..limited });
        }
        self.last = Some(facts.next);
        let sent = self.turn(ResumePhase::Validating, reason);
        Some(Resumed { cwnd: Some(facts.flight), ..sent })
    }

    /// Bytes that the path is known to take: RFC 9959 §2.4, PipeSize.
    fn pipe(&self, facts: &ResumeFacts) -> u64 {
        self.flight_before
            + match self.settings.pipe {
                ResumePipe::Unvalidated => facts.validated,
                ResumePipe::All => facts.delivered.saturating_sub(self.delivered_before),
            }
    }

    fn is_settled(&self, facts: &ResumeFacts) -> bool {
        self.last.is_some_and(|last| facts.settled >= last)
    }
}

/// Facts that a connection leaves to later connections at its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathLesson {
    /// The path as it observed it, if that is worth a jump.
    pub saved: Option<SavedPath>,
    /// The saved path that it used was wrong.
    pub is_deleted: bool,
}

/// Observes a path for later connections (RFC 9959 §3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct PathObserver {
    /// Position that ends the round, and the bytes delivered at its start.
    round_end: u64,
    delivered: u64,
    /// Whether the window limited sending in the round.
    is_limited: bool,
    /// Bytes delivered in the latest round that the window limited.
    latest: Option<u64>,
}

impl PathObserver {
    /// An ACK arrived: everything below `acked` has arrived, `next` is the position of the next new data.
    pub fn on_ack(&mut self, acked: u64, next: u64, delivered: u64, is_cwnd_limited: bool) {
        if acked >= self.round_end {
            if self.round_end > 0 && self.is_limited {
                self.latest = Some(delivered - self.delivered);
            }
            (self.round_end, self.delivered, self.is_limited) = (next, delivered, true);
        }
        self.is_limited &= is_cwnd_limited;
    }

    /// Returns what a connection at its end leaves to others: nothing if it is not worth a jump. In slow start, `window` is
    /// half of the congestion window. The connection has delivered `delivered` bytes.
    pub fn saved(&self, initial_window: u64, delivered: u64, window: Option<u64>) -> Option<u64> {
        let latest = self.latest?;
        // RFC 9959 §3.1: not saved below four initial windows.
        let is_worth_it = delivered >= initial_window && latest >= 4 * initial_window;
        is_worth_it.then(|| window.map_or(latest, |window| window.min(latest)))
    }
}

#[cfg(test)]
mod tests;
