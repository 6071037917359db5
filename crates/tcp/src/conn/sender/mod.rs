//! The sending side. [`Sender`](state) orders the steps of an ACK, of a departure and of a timer. Its parts own their
//! state, and receive facts of other parts as arguments. Positions are offsets. The parts read only three fields of a
//! header: timestamps, the ECN field and the options of SCPS-TP. Only `extras` writes to a segment.
//!
//! | part | decides |
//! |---|---|
//! | [`SendSpace`](space) | what may be sent: SND.UNA, SND.NXT, the peer's window, the send buffer |
//! | [`Scoreboard`](scoreboard) | what is outstanding, SACKed, lost, retransmitted |
//! | [`Rtt`](rtt), [`Rates`](rate) | round-trip times and the retransmission timer, delivery rates |
//! | [`Losses`](losses) | what is lost, and how it is repaired, by the next three |
//! | [`Detector`](detect) | what is lost |
//! | [`Episode`](episode) | when recovery begins and ends |
//! | [`Undo`](undo) | spurious episodes, and the state to restore |
//! | [`Window`](window) | how much may be in the network, by the congestion control and the next three |
//! | [`Usage`](usage) | whether the window is used, so that it may grow |
//! | [`Reducer`](reduce) | how far the window falls, and whether it does |
//! | [`Pacer`](pacing) | departures |
//! | [`Extras`](extras) | which rare parts a connection has: those that follow |
//! | [`WindowFeedback`](feedback) | whether windows that the network advertises show a link error |
//! | [`Resume`](resume) | whether the window jumps to that of an earlier connection, and retreats |
//! | [`Rapid`](rapid) | whether the window converges on what has arrived, after rapid start |
//! | [`Notified`](reported) | reports of nodes of the network, and the retransmissions for them |
//! | [`AckRatio`](ack_ratio) | for how many segments the receiver sends an ACK |
//! | [`Mapped`](mapped) | which data of a multipath connection its bytes are |
//! | [`Polls`](polls) | times of polls of the receiver |

mod ack;
mod ack_ratio;
mod detect;
mod ecn;
mod episode;
mod extras;
mod feedback;
mod given;
mod limit;
mod losses;
mod mapped;
mod notified;
mod notify;
mod pacing;
mod poll;
mod polls;
mod probe_segments;
mod prr;
mod rapid;
mod rate;
mod records;
mod recovery;
mod reduce;
mod reported;
mod resend;
mod resume;
mod resumed;
mod rtt;
mod scoreboard;
mod space;
mod state;
mod undo;
mod usage;
mod window;

pub(crate) use ack::{Ack, SackRanges};
pub(crate) use ecn::{EcnEcho, EcnSender};
pub(crate) use extras::SenderExtras;
pub use limit::SendLimit;
pub(crate) use mapped::Mapped;
pub use mapped::{Backlog, SharedWindow};
pub(crate) use poll::Sending;
pub(crate) use scoreboard::SeqRange;
pub(crate) use space::SendSpace;
pub(crate) use state::Sender;
pub(crate) use window::Window;

use super::context::Context;
use super::timers::Timer;
use crate::config::{ByteCounting, SlowStart};
use ack::AckFacts;
use bentpipe_cc::Marks;
use bentpipe_cc::{AckSample, CongestionControl};
use bentpipe_units::Time;
use detect::reported_holes;
use episode::{Advance, Phase, DUP_THRESH};
use losses::Losses;
use pacing::Paced;
use reduce::{Cause, ReduceOutcome};
use scoreboard::Doubt;
use state::used;

/// Steps of an ACK, in the order of `docs/specs/index.md`, rule 5: marks, scoreboard, RTT sample, spurious losses,
/// recovery, congestion control, timers.
impl Sender {
    /// An ACK of everything below `ack` arrived, with this feedback of marks. Called before the scoreboard enters it,
    /// so that the window is reduced from the data outstanding at its arrival.
    #[inline(never)]
    pub(crate) fn on_ecn_echo(&mut self, now: Time, ack: u64, echo: EcnEcho, cx: &mut Context) {
        let packets = (ack - self.space.una).div_ceil(self.space.smss());
        let is_reduced = self.window.reducer.has_reduced(ack);
        let Some(SenderExtras { ecn: Some(ecn), .. }) = self.extras.get_mut() else { return };
        if !ecn.read(echo, packets, is_reduced) {
            return;
        }
        let path = self.path(now, cx);
        self.window.reducer.on_mark(&path);
        if !is_reduced && self.reduce(now, Cause::Mark, cx) == ReduceOutcome::MustWait {
            self.window.pacer.hold_until(self.rtt.expiry(now, self.rtt.rto()));
        }
    }

    /// An ACK that is not older than the last arrived.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Time, ack: Ack<'_>, cx: &mut Context) {
        if self.is_detailed {
            if self.rates.is_some() {
                self.note_app_limited();
            }
            if ack.has_only_data() && !self.space.has_data() {
                // As the ACKs on data to a pure receiver.
                if let Some(rates) = &mut self.rates {
                    rates.last = None;
                }
                return;
            }
            self.begin_ack(now, ack, cx);
        }
        if ack.offset > self.space.una {
            self.on_new_ack(now, ack, cx);
        } else if self.is_detailed || ack.sacked.is_some() || (!cx.agreed.sack && ack.is_duplicate) {
            self.on_old_ack(now, ack, cx);
        }
    }

    /// An ACK is about to be entered into the scoreboard, in detail.
    #[inline(never)]
    fn begin_ack(&mut self, now: Time, ack: Ack<'_>, cx: &Context) {
        let echo = ack.timestamps.filter(|_| cx.agreed.timestamps).map(|timestamps| timestamps.echo);
        if let Some(feedback) = self.extras.feedback_mut().filter(|_| ack.offset > self.space.una) {
            feedback.note_window(self.space.rwnd, self.losses.episode.phase == Phase::Open, &mut self.window.cc);
        }
        if cx.agreed.snack.is_some() {
            let is_reported = ack.scps.is_some_and(|scps| scps.corruption_experienced);
            let path = self.path(now, cx);
            self.window.reducer.on_corruption(is_reported, &path);
        }
        let (min_rtt, has_sack_echo) = (self.losses.detector.min_rtt(), self.losses.detector.has_sack_echo());
        self.board.begin_ack(Doubt { now, min_rtt, echo, has_sack_echo });
    }

    #[inline(always)]
    fn on_new_ack(&mut self, now: Time, ack: Ack<'_>, cx: &mut Context) {
        let facts = AckFacts::of(&ack, self.space.una, true, &mut self.board);
        self.space.una = ack.offset;
        self.losses.on_new_ack(ack.offset, &mut self.rtt);
        self.rtt.sample(now, &ack, &facts.acked, [self.space.una, self.space.nxt], cx);
        let advance = if self.is_detailed {
            self.answer_in_detail(now, ack, facts, cx)
        } else {
            let is_open = self.losses.begin_advance();
            let advance = if is_open { Advance::OPEN } else { self.advance(now, facts.newly_acked, cx) };
            if facts.newly_sacked > 0 {
                // A copy, so that the facts of other ACKs stay in registers.
                let copy = facts;
                self.find(now, &copy, cx);
            }
            advance
        };
        // RFC 3168 §6.1.2: an ACK that reports marks does not grow the window.
        let has_extras = self.extras.is_some();
        let (is_held, marks) = if has_extras { self.extras.said() } else { (false, Marks::default()) };
        let may_grow = self.window.may_grow(
            || used(now, &self.space, &self.board, &self.losses.episode, &self.rtt, cx),
            facts.newly_acked,
            &cx.config,
        ) && !is_held;
        let before = if has_extras { self.window.cc.cwnd() } else { 0 };
        if !advance.in_recovery {
            // Computed once more: to read back what was just stored would wait for the store.
            let rtt = facts.acked.newest().map(|sent_at| now - sent_at);
            // Linux counts data once, when they are first reported.
            let counts_deliveries = self.is_detailed && cx.config.growth.byte_counting == ByteCounting::UbcPure;
            let newly_acked = if counts_deliveries { self.board.delivery().bytes } else { facts.newly_acked };
            let sample = AckSample { newly_acked, is_cwnd_limited: may_grow, rtt, marks };
            let path = self.path(now, cx);
            self.window.cc.on_ack(&sample, &path);
            if self.window.usage.in_slow_start != (self.window.cc.cwnd() < self.window.cc.ssthresh()) {
                self.window.turn_slow_start(cx);
            }
        }
        if has_extras {
            self.end_ack_with_extras(now, before, marks, cx);
        }
        if self.space.buffer < cx.config.send_buffer {
            self.space.tune_buffer(cx.config.send_buffer, self.window.cc.cwnd());
        }
        if self.board.flight_size() == 0 {
            cx.timers.stop(Timer::Retransmit);
        } else if advance.restarts_timer {
            // RFC 6298 §5.3.
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// The rest of an advancing ACK, in detail.
    #[inline(never)]
    fn answer_in_detail(&mut self, now: Time, ack: Ack<'_>, mut facts: AckFacts, cx: &mut Context) -> Advance {
        if let Some(SenderExtras { notified: Some(notified), .. }) = self.extras.get_mut() {
            notified.forget(ack.offset);
        }
        let is_undone = self.losses.can_undo() && self.undo_if_spurious(now, &ack, &facts, cx);
        let (was_open, in_recovery) =
            (self.losses.episode.phase == Phase::Open, self.losses.episode.phase.is_recovery());
        let is_open = self.losses.begin_advance();
        let mut advance = if is_open { Advance::OPEN } else { self.advance(now, facts.newly_acked, cx) };
        facts.ends_recovery = !was_open && self.losses.episode.phase == Phase::Open;
        if !was_open && !facts.ends_recovery {
            self.judge_partial(now, in_recovery, cx);
        }
        let is_further = self.find(now, &facts, cx);
        advance.in_recovery &= !self.losses.detector.grows_in_recovery();
        if ack.scps.is_some() {
            self.find_holes(now, reported_holes(&ack, self.space.una, &cx.agreed), cx);
        }
        if advance.restarts_timer && self.board.flight_size() > 0 {
            // Before the tail loss probe is scheduled: this timer bounds it, not the one before this ACK.
            self.rtt.arm(now, &mut cx.timers);
        }
        self.end_ack(now, &facts, is_further, cx);
        advance.in_recovery |= is_undone && !cx.config.grow_on_exit;
        if self.rates.is_some() {
            self.notify_delivery(now, &ack, true, cx);
        }
        advance
    }

    /// An ACK that acknowledges nothing new: duplicate or selective, or without information.
    #[inline(never)]
    fn on_old_ack(&mut self, now: Time, ack: Ack<'_>, cx: &mut Context) {
        let (has_sack, has_snack) = (cx.agreed.sack, cx.agreed.snack.is_some());
        let is_duplicate = ack.is_duplicate && self.board.flight_size() > 0;
        if !has_sack && !has_snack && !is_duplicate {
            return;
        }
        let facts = AckFacts::of(&ack, self.space.una, false, &mut self.board);
        if facts.newly_sacked > 0 {
            let selective = Ack { timestamps: None, ..ack };
            self.rtt.sample(now, &selective, &facts.acked, [self.space.una, self.space.nxt], cx);
            self.rtt.restart_by_sack(now, &facts.acked, self.board.sent.first_sent_at(), &mut cx.timers);
        }
        if self.is_detailed && self.losses.can_undo() && self.undo_if_spurious(now, &ack, &facts, cx) {
            return;
        }
        if has_sack {
            if facts.newly_sacked > 0 && self.losses.episode.phase == Phase::Selective {
                let path = self.path(now, cx);
                self.window.cc.on_recovery_ack(false, &path);
            }
            let is_further = self.find(now, &facts, cx);
            if self.is_detailed {
                self.end_ack(now, &facts, is_further, cx);
            }
        } else {
            if is_duplicate {
                if let Some(rates) = &mut self.rates {
                    rates.on_duplicate(now, self.space.smss());
                }
                self.losses.episode.dupacks = self.losses.episode.dupacks.saturating_add(1);
                if self.losses.episode.phase == Phase::Fast {
                    let burst = self.losses.burst();
                    self.losses.episode.on_duplicate(burst, self.extras.inflation(self.space.smss));
                    let path = self.path(now, cx);
                    self.window.cc.on_recovery_ack(false, &path);
                } else {
                    self.find(now, &facts, cx);
                }
            }
            self.find_holes(now, reported_holes(&ack, self.space.una, &cx.agreed), cx);
            let una = self.space.una;
            // RFC 6582 §3.2: duplicates that answer needless retransmissions after a timeout prove nothing.
            let is_beyond = self.losses.episode.recovery_point.is_none_or(|point| una > point);
            if is_duplicate && has_snack && is_beyond && self.losses.episode.dupacks == DUP_THRESH {
                self.find_holes(now, std::iter::once((una, una + self.space.smss())), cx);
            }
        }
        if self.is_detailed {
            self.notify_delivery(now, &ack, false, cx);
        }
        if self.extras.is_some() {
            self.end_ack_with_extras(now, 0, Marks::default(), cx);
        }
    }

    /// An ACK was entered and recovery has answered.
    fn end_ack(&mut self, now: Time, facts: &AckFacts, is_further: bool, cx: &mut Context) {
        let (delivered, smss) = (self.board.delivery().bytes, self.space.smss());
        if let Some(ecn) = self.extras.ecn_mut() {
            ecn.count(delivered, smss);
        }
        if let Some(rates) = &mut self.rates {
            let base = self.board.sent.first().unwrap_or(self.board.sent.next_index());
            rates.last = rates.on_ack(now, self.board.delivery(), base, self.board.lost_ever());
        }
        self.losses.end_ack(facts.newly_acked, is_further, self.space.smss(), &self.board);
        let (view, timers) = Losses::view(&self.losses.episode, now, &self.space, &self.rtt, cx);
        if let Some(offset) = self.losses.detector.after_ack(&view, facts, &self.board, timers) {
            // RFC 8985 §7.4.2: recovery is over as it begins.
            cx.counters.probe_repairs += 1;
            if self.reduce(now, Cause::RepairedLoss { offset }, cx) == ReduceOutcome::Reduced {
                let path = self.path(now, cx);
                self.window.cc.on_recovery_exit(&path);
            }
        }
    }
}

/// Probe segments.
impl Sender {
    /// Returns the offset and length of the data that a due probe segment copies.
    pub(crate) fn next_probe_segment(&mut self, now: Time, sends_data: bool, cx: &mut Context) -> Option<(u64, u16)> {
        let probes = self.extras.probes_mut()?;
        let are_copies = probes.are_copies();
        if are_copies {
            // Due for the verdict.
            if !sends_data || !probes.take_due() {
                return None;
            }
        } else {
            let due = self.window.cc.probe_segments()?.due();
            if due > now {
                cx.timers.set(Timer::Pace, cx.timers.get(Timer::Pace).min(due));
                return None;
            }
        }
        let copy = if sends_data { probes.next_copy(&self.board) } else { None }?;
        probes.on_probe_sent();
        let path = self.path(now, cx);
        self.window.on_probe(are_copies, false, &path);
        cx.counters.dummy_segments += 1;
        Some(copy)
    }
}

/// Pacing.
impl Sender {
    /// The inputs of a rate of departures.
    pub(crate) fn paced(&self, cx: &Context) -> Paced {
        let (smss, rtt, resume) = (self.space.smss(), self.rtt.expected(), self.extras.resume());
        let packet_len = smss + cx.agreed.header_len();
        Paced {
            smss,
            packet_len,
            flight_size: self.board.flight_size(),
            rtt,
            resumed: resume.and_then(|resume| resume.pace(smss, packet_len, rtt)),
            // Rapid start spreads its first window over the round trip.
            is_first: self.space.una == 0 && matches!(cx.config.growth.slow_start, SlowStart::Rapid(_)),
        }
    }
}

/// Queries of tests.
#[cfg(test)]
impl Sender {
    /// RFC 6675, pipe.
    pub(crate) fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// Whether duplicate or selective ACKs began a recovery that goes on.
    pub(crate) fn is_recovering(&self) -> bool {
        self.losses.episode.phase.is_recovery()
    }

    /// The window with the inflation of fast recovery.
    pub(crate) fn inflated_cwnd(&self) -> i64 {
        self.losses.falling(self.window.cc.cwnd()) as i64 + self.losses.episode.inflation
    }

    /// Bytes declared lost at any time.
    pub(crate) fn lost_ever(&self) -> u64 {
        self.board.lost_ever()
    }

    pub(crate) fn falls_in_proportion(&self) -> bool {
        self.losses.episode.prr.is_some()
    }
}
