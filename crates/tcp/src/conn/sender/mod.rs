//! The sending side: reactions to ACKs, timers and free room in the windows. All control flow of sending is here. The
//! parts below exchange values with it. Positions are offsets; of a header, the parts read only timestamps, the ECN
//! field and the options of SCPS-TP, and only `features` writes to a segment.
//!
//! | part | decides |
//! |---|---|
//! | [`Sender`](state) | which of them a connection has |
//! | [`SendSpace`](space) | what may be sent: SND.UNA, SND.NXT, the peer's window, the send buffer |
//! | [`Scoreboard`](scoreboard) | what is outstanding, SACKed, lost, retransmitted |
//! | [`Detector`](detect) | what is lost |
//! | [`Episode`](episode) | when recovery begins and ends |
//! | [`Reducer`](reduce) | how far the window falls, and whether it does |
//! | [`WindowFeedback`](feedback) | whether windows that the network advertises show a link error |
//! | [`Resume`](resumed) | whether the window jumps to that of an earlier connection, and retreats |
//! | [`Rapid`](rapid) | whether the window converges on what has arrived, after rapid start |
//! | [`Notified`](notified) | reports of nodes of the network, and the retransmissions for them |
//! | [`Undo`](undo) | spurious episodes, and the state to restore |
//! | [`AckRatio`](ack_ratio) | for how many segments the receiver sends an ACK |
//! | [`Mapped`](mapped) | which data of a multipath connection its bytes are |
//! | [`Polls`](polls) | times of polls of the receiver |
//! | [`Usage`](usage) | whether the window is used, so that it may grow |
//! | [`Rtt`](rtt), [`Rates`](rate), [`Pacer`](pacing) | round-trip times and the retransmission timer, delivery rates, departures |

mod ack;
mod ack_ratio;
mod detect;
mod ecn;
mod episode;
mod extras;
mod feedback;
mod given;
mod limit;
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

use super::clock::since;
use super::context::Context;
use super::timers::Timer;
use super::Event;
use crate::config::{ByteCounting, Config, CwndValidation, SlowStart};
use ack::AckFacts;
use ack_ratio::AckSeen;
use bentpipe_cc::{AckSample, CongestionControl};
use bentpipe_cc::{Marks, RateSample};
use bentpipe_units::{Rate, Time};
use episode::{Advance, Phase, DUP_THRESH};
use pacing::Paced;
use polls::Outstanding;
use prr::PrrAck;
use reduce::{Cause, ReduceOutcome};
use scoreboard::{Doubt, Entered};
use state::{used, view};

/// Steps of an ACK, in the order of `docs/specs/index.md`, rule 5: marks, scoreboard, RTT sample, spurious losses,
/// recovery, congestion control, timers.
impl Sender {
    /// An ACK of everything below `ack` arrived, with this feedback of marks. Called before the scoreboard enters it,
    /// so that the window is reduced from the data outstanding at its arrival.
    #[inline(never)]
    pub(crate) fn on_ecn_echo(&mut self, now: Time, ack: u64, echo: EcnEcho, cx: &mut Context) {
        let packets = (ack - self.space.una).div_ceil(self.space.smss());
        let is_reduced = self.reducer.has_reduced(ack);
        let Some(SenderExtras { ecn: Some(ecn), .. }) = self.extras.get_mut() else { return };
        if !ecn.read(echo, packets, is_reduced) {
            return;
        }
        let path = self.path(now, cx);
        self.reducer.on_mark(&path);
        if !is_reduced && self.reduce(now, Cause::Mark, cx) == ReduceOutcome::MustWait {
            self.pacer.hold_until(self.rtt.expiry(now, self.rtt.rto()));
        }
    }

    /// An ACK of everything below `ack` arrived: does it show that others did not?
    #[inline(never)]
    pub(crate) fn watch_acks(&mut self, ack: u64, is_pure: bool, is_marked: bool) {
        let is_in_order = is_pure && ack > self.space.una && self.episode.phase == Phase::Open;
        let (una, nxt, smss) = (self.space.una, self.space.nxt, self.space.smss());
        let cwnd = self.cc.cwnd().min(nxt - una);
        if let Some(SenderExtras { ack_ratio: Some(ratio), .. }) = self.extras.get_mut() {
            ratio.on_ack(AckSeen { offset: ack, una, nxt, smss, cwnd, is_in_order, is_marked });
        }
    }

    /// An ACK that is not older than the last arrived.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Time, ack: Ack<'_>, cx: &mut Context) {
        if self.is_detailed {
            self.note_app_limited();
            if ack.has_only_data() && !self.has_data() {
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
            feedback.note_window(self.space.rwnd, self.episode.phase == Phase::Open, &mut self.cc);
        }
        if cx.agreed.snack.is_some() {
            let is_reported = ack.scps.is_some_and(|scps| scps.corruption_experienced);
            let path = self.path(now, cx);
            self.reducer.on_corruption(is_reported, &path);
        }
        let min_rtt = self.detector.min_rtt();
        self.board.begin_ack(Doubt { now, min_rtt, echo });
    }

    /// Enter an ACK, which `advances` or not, into the scoreboard. Returns the facts.
    #[inline(always)]
    fn enter(&mut self, ack: &Ack<'_>, advances: bool) -> AckFacts {
        let newly_acked = ack.offset - self.space.una;
        let advanced = if advances { Some(ack.offset) } else { None };
        let Entered { acked, newly_sacked } = self.board.enter(advanced, ack.ranges());
        AckFacts {
            newly_acked,
            newly_sacked,
            acked,
            is_duplicate: !advances && ack.is_duplicate && self.board.flight_size() > 0,
            is_pure: ack.is_pure,
            dsack: ack.sacked.and_then(|sacked| sacked.dsack),
            ends_recovery: false,
        }
    }

    #[inline(always)]
    fn on_new_ack(&mut self, now: Time, ack: Ack<'_>, cx: &mut Context) {
        let facts = self.enter(&ack, true);
        self.space.una = ack.offset;
        self.first_retransmit = Time::NEVER;
        if let Some(undo) = &mut self.undo {
            undo.before_sample(ack.offset, &mut self.rtt);
        }
        self.sample_rtt(now, &ack, &facts, cx);
        let advance = if self.is_detailed {
            self.answer_in_detail(now, ack, facts, cx)
        } else {
            let advance = self.advance(now, facts.newly_acked, cx);
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
        let may_grow = self.may_grow(now, facts.newly_acked, cx) && !is_held;
        let before = if has_extras { self.cc.cwnd() } else { 0 };
        if !advance.in_recovery {
            // Computed once more: to read back what was just stored would wait for the store.
            let rtt = facts.acked.newest().map(|sent_at| now - sent_at);
            let newly_acked = self.counted(facts.newly_acked, cx);
            let sample = AckSample { newly_acked, is_cwnd_limited: may_grow, rtt, marks };
            let path = self.path(now, cx);
            self.cc.on_ack(&sample, &path);
            if self.usage.in_slow_start != (self.cc.cwnd() < self.cc.ssthresh()) {
                self.turn_slow_start(cx);
            }
        }
        if has_extras {
            self.after_ack_with_extras(now, before, marks, cx);
        }
        if self.space.buffer < cx.config.send_buffer {
            self.space.tune_buffer(cx.config.send_buffer, self.cc.cwnd());
        }
        if self.board.flight_size() == 0 {
            cx.timers.stop(Timer::Retransmit);
        } else if advance.restarts_timer {
            // RFC 6298 §5.3.
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// The window, which was `before`, was grown or reduced by an ACK with these marks.
    #[inline(never)]
    fn after_ack_with_extras(&mut self, now: Time, before: u64, marks: Marks, cx: &mut Context) {
        if marks.ce_packets > 0 {
            self.note_reduction(now, before, cx);
        }
        self.end_ack_of_starts(now, cx);
    }

    /// The rest of an advancing ACK, in detail.
    #[inline(never)]
    fn answer_in_detail(&mut self, now: Time, ack: Ack<'_>, mut facts: AckFacts, cx: &mut Context) -> Advance {
        if let Some(SenderExtras { notified: Some(notified), .. }) = self.extras.get_mut() {
            notified.forget(ack.offset);
        }
        let is_undone = self.can_undo() && self.undo_if_spurious(now, &ack, &facts, cx);
        let (was_open, in_recovery) = (self.episode.phase == Phase::Open, self.episode.phase.is_recovery());
        let mut advance = self.advance(now, facts.newly_acked, cx);
        facts.ends_recovery = !was_open && self.episode.phase == Phase::Open;
        if !was_open && !facts.ends_recovery {
            self.judge_partial(now, in_recovery, cx);
        }
        let is_further = self.find(now, &facts, cx);
        advance.in_recovery &= !self.detector.grows_in_recovery();
        if ack.scps.is_some() {
            self.find_holes(now, &ack, cx);
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
        let facts = self.enter(&ack, false);
        if facts.newly_sacked > 0 {
            self.sample_rtt(now, &Ack { timestamps: None, ..ack }, &facts, cx);
            self.restart_by_sack(now, &facts, cx);
        }
        if self.is_detailed && self.can_undo() && self.undo_if_spurious(now, &ack, &facts, cx) {
            return;
        }
        if has_sack {
            if facts.newly_sacked > 0 && self.episode.phase == Phase::Selective {
                self.notify_recovery_ack(now, false, cx);
            }
            let is_further = self.find(now, &facts, cx);
            if self.is_detailed {
                self.end_ack(now, &facts, is_further, cx);
            }
        } else {
            if is_duplicate {
                self.on_duplicate(now, facts, cx);
            }
            self.find_holes(now, &ack, cx);
            let una = self.space.una;
            // RFC 6582 §3.2: duplicates that answer needless retransmissions after a timeout prove nothing.
            let is_beyond = self.episode.recovery_point.is_none_or(|point| una > point);
            if is_duplicate && has_snack && is_beyond && self.episode.dupacks == DUP_THRESH {
                self.find_hole(now, (una, una + self.space.smss()), cx);
            }
        }
        if self.is_detailed {
            self.notify_delivery(now, &ack, false, cx);
        }
        if self.extras.is_some() {
            self.end_ack_of_starts(now, cx);
        }
    }

    /// A duplicate ACK on a connection without SACK.
    fn on_duplicate(&mut self, now: Time, facts: AckFacts, cx: &mut Context) {
        if let Some(rates) = &mut self.rates {
            rates.on_duplicate(now, self.space.smss());
        }
        self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        if self.episode.phase == Phase::Fast {
            self.episode.on_duplicate(self.burst(), self.extras.inflation(self.space.smss));
            self.notify_recovery_ack(now, false, cx);
        } else {
            self.find(now, &facts, cx);
        }
    }

    /// An ACK was entered and recovery has answered.
    fn end_ack(&mut self, now: Time, facts: &AckFacts, is_further: bool, cx: &mut Context) {
        let (delivered, smss) = (self.board.delivery().bytes, self.space.smss());
        if let Some(ecn) = self.extras.ecn_mut() {
            ecn.count(delivered, smss);
        }
        if let Some(rates) = &mut self.rates {
            let base = self.board.first().unwrap_or(self.board.next_index());
            rates.last = rates.on_ack(now, self.board.delivery(), base, self.board.lost_ever());
        }
        if let Some(prr) = &mut self.episode.prr {
            prr.on_ack(&PrrAck {
                delivered: self.board.delivery().bytes,
                pipe: self.board.pipe(),
                is_safe: facts.newly_acked > 0 && !is_further,
                smss: self.space.smss(),
            });
        }
        let (view, timers) = view(now, &self.space, &self.episode, &self.rtt, cx);
        if let Some(offset) = self.detector.after_ack(&view, facts, &self.board, timers) {
            // RFC 8985 §7.4.2: recovery is over as it begins.
            cx.counters.probe_repairs += 1;
            if self.reduce(now, Cause::RepairedLoss { offset }, cx) == ReduceOutcome::Reduced {
                let path = self.path(now, cx);
                self.cc.on_recovery_exit(&path);
            }
        }
    }

    /// A round-trip sample, if the ACK gives one.
    #[inline(always)]
    fn sample_rtt(&mut self, now: Time, ack: &Ack<'_>, facts: &AckFacts, cx: &Context) {
        self.rtt.last = facts.acked.newest().map(|sent_at| now - sent_at);
        self.rtt.at(self.space.una, self.space.nxt);
        if !cx.agreed.timestamps || (ack.timestamps.is_none() && cx.config.rto.sack_samples) {
            return self.rtt.on_acked(now, self.space.una, &facts.acked);
        }
        // DEVIATION: RFC 7323 §4.2 lowers the gains when there are many samples in a round trip. They are those of
        // RFC 6298 here, with any source of samples.
        if let Some(timestamps) = ack.timestamps {
            self.rtt.update(since(now, timestamps.echo));
        }
    }

    /// Restarts the retransmission timer, as Linux does, if every segment SACKed now was sent before the oldest one was last sent:
    /// no ACK could report that segment yet. A retransmission that is lost again is found by RACK before the timer expires.
    fn restart_by_sack(&mut self, now: Time, facts: &AckFacts, cx: &mut Context) {
        if !cx.config.rto.sack_samples || facts.acked.newest().is_none() {
            return;
        }
        if facts.acked.oldest().zip(self.board.first_sent_at()).is_some_and(|(sacked, first)| sacked < first) {
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// Slow start ends, or begins.
    #[cold]
    #[inline(never)]
    fn turn_slow_start(&mut self, cx: &mut Context) {
        if self.usage.in_slow_start {
            cx.report(Event::SlowStartExit(self.cc.cwnd()));
        }
        self.usage.in_slow_start = !self.usage.in_slow_start;
    }

    /// Returns the bytes of an ACK that count for growth. Linux counts data once, when they are first reported.
    #[inline(always)]
    fn counted(&self, newly_acked: u64, cx: &Context) -> u64 {
        let counts_deliveries = self.is_detailed && cx.config.growth.byte_counting == ByteCounting::UbcPure;
        if counts_deliveries {
            self.board.delivery().bytes
        } else {
            newly_acked
        }
    }

    #[inline(always)]
    fn may_grow(&mut self, now: Time, newly: u64, cx: &Context) -> bool {
        match cx.config.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::IfUsed | CwndValidation::Rfc2861 | CwndValidation::Linux => {
                self.usage.is_window_used(&self.cc)
            }
            CwndValidation::Rfc7661 => {
                let used = used(now, &self.space, &self.board, &self.episode, &self.rtt, cx);
                self.usage.validate(used, newly, &mut self.cc)
            }
        }
    }
}

/// Early data, records, polls and probe segments.
impl Sender {
    /// The SYN carries data, and perhaps a FIN: as many bytes as `early`.
    pub(crate) fn on_early_data(&mut self, now: Time, early: u64) {
        self.usage.last_sent = now;
        if early > 0 {
            self.extras.for_part().early = early;
        }
    }

    /// The handshake starts from the beginning.
    pub(crate) fn restart(&mut self, config: &Config) {
        self.rtt.restart();
        self.set_smss(config.smss);
    }

    /// Whether the receiver is to be polled now, when all has left that may leave.
    pub(crate) fn take_poll(&mut self, now: Time, cx: &mut Context) -> bool {
        let Some(SenderExtras { polls: Some(polls), .. }) = self.extras.get_mut() else { return false };
        let rtt = self.rtt.expected().unwrap_or(self.rtt.rto());
        let is_paced = self.pacer.must_wait(now, &mut cx.timers);
        if self.board.flight_size() == 0 {
            polls.rest();
            return false;
        }
        let SendSpace { una, nxt, offered, .. } = self.space;
        let (is_due, next) = polls.take(now, Outstanding { rtt, una, nxt, offered, is_paced });
        cx.timers.set(Timer::Pace, cx.timers.get(Timer::Pace).min(next));
        is_due
    }

    /// Returns the offset and length of the data that a due probe segment copies.
    pub(crate) fn next_probe_segment(&mut self, now: Time, sends_data: bool, cx: &mut Context) -> Option<(u64, u16)> {
        let probes = self.extras.probes_mut()?;
        if probes.are_copies() {
            return self.next_copy(now, sends_data, cx);
        }
        let due = self.cc.probe_segments()?.due();
        if due > now {
            cx.timers.set(Timer::Pace, cx.timers.get(Timer::Pace).min(due));
            return None;
        }
        let copy = if sends_data { probes.next_copy(&self.board) } else { None }?;
        probes.on_probe_sent();
        let path = self.path(now, cx);
        self.cc.on_probe_segment(&path);
        cx.counters.dummy_segments += 1;
        Some(copy)
    }

    /// The copy that is due for the verdict.
    fn next_copy(&mut self, now: Time, sends_data: bool, cx: &mut Context) -> Option<(u64, u16)> {
        let probes = self.extras.probes_mut()?;
        let copy = if sends_data && probes.take_due() { probes.next_copy(&self.board) } else { None }?;
        probes.on_probe_sent();
        let path = self.path(now, cx);
        self.reducer.on_copy(false, &path);
        cx.counters.dummy_segments += 1;
        Some(copy)
    }

    /// The answer to a probe segment arrived: it counts if one is on its way.
    pub(crate) fn on_probe_answer(&mut self, now: Time, cx: &Context) {
        let Some(probes) = self.extras.probes_mut() else { return };
        let are_copies = probes.are_copies();
        if !probes.on_answer() {
            return;
        }
        let path = self.path(now, cx);
        if are_copies {
            self.reducer.on_copy(true, &path);
        } else {
            self.cc.on_probe_answer(&path);
        }
    }
}

/// Queries.
impl Sender {
    /// Sequence space sent and not acknowledged (RFC 5681).
    #[inline]
    pub(crate) fn flight_size(&self) -> u64 {
        self.board.flight_size()
    }

    /// The congestion window, without the inflation of fast recovery; while the window falls in proportion, that.
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.episode.prr.as_ref().map_or(self.cc.cwnd(), |prr| prr.window())
    }

    /// Whether losses are being repaired.
    pub(crate) fn is_repairing(&self) -> bool {
        self.episode.phase != Phase::Open
    }

    /// When the retransmission timer was started, or the last partial ACK came, before it expired.
    pub(crate) fn stalled_since(&self) -> Option<Time> {
        self.episode.stalled_since
    }

    pub(crate) fn rate_sample(&self) -> Option<RateSample> {
        self.rates.as_ref().and_then(|rates| rates.last)
    }

    pub(crate) fn pacing_rate(&self, cx: &Context) -> Option<Rate> {
        pacing::rate(cx.config.pacing, self.cc.pacing(), &self.cc, self.paced(cx))
    }

    fn paced(&self, cx: &Context) -> Paced {
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
        self.episode.phase.is_recovery()
    }

    /// The window with the inflation of fast recovery.
    pub(crate) fn inflated_cwnd(&self) -> i64 {
        self.cwnd() as i64 + self.episode.inflation
    }

    /// Bytes declared lost at any time.
    pub(crate) fn lost_ever(&self) -> u64 {
        self.board.lost_ever()
    }

    pub(crate) fn falls_in_proportion(&self) -> bool {
        self.episode.prr.is_some()
    }
}
