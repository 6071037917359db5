//! The next data to leave: retransmissions of recovery, then new data. The timers change this choice.

use super::detect::Repair;
use super::episode::Phase;
use super::losses::Losses;
use super::mapped::Backlog;
use super::rate::InFlight;
use super::reduce::{Cause, ReduceOutcome};
use super::scoreboard::SeqRange;
use super::space::is_held_by_nagle;
use super::state::{used, Sender};
use crate::config::{Recovery, SackOnRto};
use crate::conn::clock::clock;
use crate::conn::context::Context;
use crate::conn::timers::Timer;
use crate::conn::Event;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

/// The data to send now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) range: SeqRange,
    pub(crate) is_retransmission: bool,
}

/// Whether the congestion window counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    AsNeeded,
    /// A probe, or compared by the caller.
    Taken,
}

impl Sender {
    /// The next data to send, if the windows allow.
    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        let is_usual = self.losses.episode.phase == Phase::Open
            && !self.losses.episode.retransmits_first
            && (!self.is_detailed || !self.extras.is_some() && !self.losses.detector.comes_first());
        // Unwrapped in both arms: otherwise it would travel through memory.
        Some(if is_usual { self.next_new(now, Room::AsNeeded, cx)? } else { self.poll_in_recovery(now, cx)? })
    }

    /// As `poll`, if other data may come before new data.
    #[cold]
    #[inline(never)]
    fn poll_in_recovery(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if self.losses.episode.retransmits_first {
            // A window that was shrunk to nothing is probed by the oldest, lost or not.
            let is_probe = self.space.rwnd == 0;
            let first = if is_probe { self.board.sent.first() } else { self.losses.detector.first(&mut self.board) };
            if is_probe || !first.is_some_and(|first| self.extras.has_due_before(first, self.space.una, &self.board)) {
                self.losses.episode.retransmits_first = false;
                if let Some(first) = first {
                    return Some(self.retransmit(now, first, true, cx));
                }
            }
        }
        if self.extras.notified().is_some() {
            let lost = if self.losses.episode.phase == Phase::Selective { self.board.next_lost() } else { None };
            if lost.is_some_and(|lost| !self.extras.has_due_before(lost, self.space.una, &self.board)) {
                if let Some(again) = self.next_selective(now, cx) {
                    return Some(again);
                }
            }
            if let Some(again) = self.next_notified(now, cx) {
                return Some(again);
            }
            if !self.space.keeps_to_packets(self.board.flight_size(), cx) && !self.board.has_unrepaired() {
                return None;
            }
        }
        if self.is_detailed {
            if let Some(probe) = self.next_probe(now, cx) {
                return Some(probe);
            }
            if self.losses.detector.repair() == Repair::AtOnce && self.losses.episode.phase != Phase::Loss {
                return self.next_at_once(now, cx);
            }
        }
        match self.losses.episode.phase {
            Phase::Open | Phase::Fast | Phase::Snack => {}
            Phase::Selective => return self.next_selective(now, cx),
            Phase::Loss if self.losses.is_held_by_frto() => {}
            Phase::Loss => {
                if let Some(lost) = self.board.next_lost() {
                    let fits = self.board.pipe() + self.board.sent.len_of(lost)
                        <= self.losses.window_in_loss(self.window.cc.cwnd(), self.space.smss(), &cx.config);
                    if !fits {
                        self.window.on_retransmission_limited(now, &self.space, self.board.flight_size(), &cx.config);
                    }
                    return fits.then(|| self.retransmit(now, lost, true, cx));
                }
            }
        }
        self.next_new(now, Room::AsNeeded, cx)
    }

    /// RFC 6675 §4 NextSeg(), rules 1 to 4 (1 and 2 with RACK), while the window has room for a segment.
    #[inline(never)]
    fn next_selective(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        let has_room = self.losses.has_room(self.window.cc.cwnd(), self.space.smss(), &self.board);
        if !has_room {
            // A window without room limits nothing if nothing waits for it.
            if self.board.next_lost().is_some() {
                self.window.on_retransmission_limited(now, &self.space, self.board.flight_size(), &cx.config);
            } else if self.space.next_len() > 0 {
                self.window.usage.on_limited(now, &self.space, self.board.flight_size());
            }
            return None;
        }
        let sending = if let Some(lost) = self.board.next_lost() {
            // The oldest segment again: its time starts again, as it did when recovery began (Linux, tcp_xmit_retransmit_queue).
            let is_again = self.board.sent.first() == Some(lost) && self.board.sent.retransmits_of(lost) > 0;
            if is_again && cx.config.rto.restart_on_fast_retransmit {
                self.rtt.arm(now, &mut cx.timers);
            }
            self.retransmit(now, lost, true, cx)
        } else if let Some(new) = self.next_new(now, Room::Taken, cx) {
            new
        } else if self.extras.backlog() == Backlog::Comes {
            // New data come first (RFC 6675 §4), also those that a driver of several connections is about to offer.
            return None;
        } else {
            let Losses { detector, episode, .. } = &mut self.losses;
            let (doubtful, counts) = detector.next_doubtful(episode, self.space.una, &mut self.board)?;
            self.retransmit(now, doubtful, counts, cx)
        };
        self.losses.detector.on_selective_sent(u64::from(sending.range.len));
        Some(sending)
    }

    /// Losses first, then new data while the window has room for them.
    #[inline(never)]
    fn next_at_once(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if let Some(lost) = self.board.next_lost() {
            return Some(self.retransmit(now, lost, true, cx));
        }
        let len = self.space.next_len();
        if self.losses.in_flight(&self.board) + len > self.window.cc.cwnd() {
            if len > 0 {
                self.window.usage.on_limited(now, &self.space, self.board.flight_size());
            }
            return None;
        }
        self.next_new(now, Room::Taken, cx)
    }

    /// Returns the probe: a new segment, regardless of the window, or else a retransmission of the last one.
    fn next_probe(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if !self.losses.detector.take_probe() || self.losses.episode.phase.is_recovery() {
            return None;
        }
        let new = self.next_new(now, Room::Taken, cx);
        let is_retrans = new.is_none();
        let probe = new.or_else(|| {
            let last = self.board.sent.next_index().checked_sub(1).filter(|_| self.board.flight_size() > 0)?;
            Some(self.retransmit(now, last, true, cx))
        });
        if probe.is_some() {
            cx.counters.tail_loss_probes += 1;
            self.losses.detector.on_probe_sent(self.space.nxt, is_retrans, &mut cx.timers);
        }
        probe
    }

    #[inline(always)]
    fn next_new(&mut self, now: Time, room: Room, cx: &mut Context) -> Option<Sending> {
        let space = &self.space;
        let end = space.data_end();
        let full = u64::from(space.next_max);
        let mut len = end.saturating_sub(space.nxt).min(full);
        let mut has_fin = space.is_closing && space.nxt + len == space.offered;
        if len == 0 && !has_fin {
            return None;
        }
        if end < space.offered && len < full && self.board.flight_size() > 0 {
            return None;
        }
        let usable = space.usable();
        if len > usable {
            len = self.space.squeeze(now, usable, self.board.flight_size(), &self.rtt, cx)?;
            has_fin = false;
        } else if len < full && is_held_by_nagle(has_fin, self.board.flight_size(), &cx.config) {
            return None;
        }
        if self.board.flight_size() == 0 {
            self.resume(now, cx);
        }
        if room == Room::AsNeeded && !self.losses.fits(len, self.window.cc.cwnd(), self.space.smss(), &self.board, cx) {
            self.window.usage.on_limited(now, &self.space, self.board.flight_size());
            return None;
        }
        let range = SeqRange { start: self.space.nxt, len: len as u32 + u32::from(has_fin), has_fin };
        if self.rates.is_some() {
            self.note_rate(now, self.board.sent.next_index(), u64::from(range.len));
        }
        self.board.push(range, now);
        self.space.nxt += u64::from(range.len);
        let outstanding = [self.board.flight_size(), self.board.pipe()];
        self.window.on_new_sent(now, &self.space, outstanding, &self.extras, || {
            used(now, &self.space, &self.board, &self.losses.episode, &self.rtt, cx)
        });
        self.rtt.on_sent(now, self.space.nxt);
        Some(self.depart(now, Sending { range, is_retransmission: false }, cx))
    }

    /// The data of the SYN waits at the peer for the handshake. It is outstanding, as if it left now.
    pub(crate) fn on_queued(&mut self, now: Time, range: SeqRange, cx: &mut Context) {
        if self.is_detailed {
            self.note_rate(now, self.board.sent.next_index(), u64::from(range.len));
        }
        self.board.push(range, now);
        self.space.nxt = range.start + u64::from(range.len);
        let outstanding = [self.board.flight_size(), self.board.pipe()];
        self.window.on_new_sent(now, &self.space, outstanding, &self.extras, || {
            used(now, &self.space, &self.board, &self.losses.episode, &self.rtt, cx)
        });
        self.rtt.arm(now, &mut cx.timers);
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    #[inline(never)]
    fn resume(&mut self, now: Time, cx: &Context) {
        let path = self.path(now, cx);
        let used = used(now, &self.space, &self.board, &self.losses.episode, &self.rtt, cx);
        self.window.resume(&path, used);
    }

    #[inline(never)]
    pub(super) fn retransmit(&mut self, now: Time, index: u64, counts: bool, cx: &mut Context) -> Sending {
        if let Some(undo) = &mut self.losses.undo {
            let stamp = cx.agreed.timestamps.then(|| clock(now));
            undo.on_retransmit(stamp, self.board.sent.retransmits_of(index).saturating_add(1));
        }
        self.send_again(now, index, counts, cx)
    }

    /// Retransmits as `retransmit` does, but without effect on a later undo.
    pub(super) fn send_again(&mut self, now: Time, index: u64, counts: bool, cx: &mut Context) -> Sending {
        if self.is_detailed {
            self.note_rate(now, index, self.board.sent.len_of(index));
        }
        let range = self.board.retransmit(index, now, counts);
        self.rtt.on_retransmit(range.start, range.start + u64::from(range.len));
        self.losses.note_retransmission(now);
        if let Some(gap) = self.extras.feedback().and_then(|feedback| feedback.gap) {
            self.window.pacer.hold_until(now + gap);
        }
        self.depart(now, Sending { range, is_retransmission: true }, cx)
    }

    /// Data leave.
    #[inline(always)]
    fn depart(&mut self, now: Time, sending: Sending, cx: &mut Context) -> Sending {
        let len = u64::from(sending.range.payload());
        cx.counters.sent_bytes += len;
        if sending.is_retransmission {
            cx.counters.retransmitted_bytes += len;
            cx.counters.retransmitted_segments += 1;
        }
        if !cx.timers.is_running(Timer::Retransmit) {
            // RFC 6298 §5.1.
            self.rtt.arm(now, &mut cx.timers);
        }
        if self.is_detailed {
            if let Some(prr) = &mut self.losses.episode.prr {
                prr.on_sent(len);
            }
            if !sending.is_retransmission {
                let (view, timers) = Losses::view(&self.losses.episode, now, &self.space, &self.rtt, cx);
                self.losses.detector.after_new(&view, &self.board, timers);
            }
        }
        cx.timers.stop(Timer::Persist);
        self.window.usage.last_sent = now;
        sending
    }

    /// Segment `index`, of `len` bytes, leaves.
    #[inline(never)]
    fn note_rate(&mut self, now: Time, index: u64, len: u64) {
        let before = self.losses.in_flight(&self.board);
        let flight = InFlight { before, after: before + len, lost: self.board.lost_ever() };
        if let Some(rates) = &mut self.rates {
            rates.on_sent(now, index, flight);
        }
    }

    /// A packet of `size` bytes leaves that pacing counts.
    pub(crate) fn pace(&mut self, now: Time, size: u64, cx: &mut Context) {
        self.window.pacer.on_sent(now, size, cx.config.pacing, &self.window.cc, self.paced(cx));
        if self.extras.is_some() {
            self.tell_resume(now, cx, |part, facts| part.on_sent(facts));
        }
    }
}

/// Timers.
impl Sender {
    /// The reordering timer and the probe timeout may have expired.
    #[inline]
    pub(crate) fn on_loss_timers(&mut self, now: Time, cx: &mut Context) {
        if cx.timers.get(Timer::Reorder) <= now {
            let (view, timers) = Losses::view(&self.losses.episode, now, &self.space, &self.rtt, cx);
            let finding = self.losses.detector.on_reorder_timer(&view, &mut self.board, timers);
            self.answer(now, finding, cx);
            if self.board.flight_size() > 0 {
                self.rtt.arm(now, &mut cx.timers);
            }
        }
        if cx.timers.take_expired(Timer::LossProbe, now) {
            self.losses.detector.on_probe_timer();
            if self.board.flight_size() > 0 {
                self.rtt.arm(now, &mut cx.timers);
            }
        }
    }

    /// The retransmission timer expired, on a connection that is open. False: the connection is to be given up.
    pub(crate) fn on_retransmit_timer(&mut self, now: Time, cx: &mut Context) -> bool {
        if self.board.flight_size() > 0 && self.space.rwnd == 0 {
            // RFC 9293 §3.8.6: outstanding data probes a window that was shrunk to nothing. Missing answers are no sign
            // of a broken path.
            self.rtt.back_off();
            self.rtt.arm(now, &mut cx.timers);
            self.losses.episode.retransmits_first = true;
            return true;
        }
        if self.board.flight_size() == 0 {
            return true;
        }
        cx.counters.timeouts += 1;
        cx.report(Event::Timeout(self.space.una));
        if self.losses.must_give_up(now, &self.board, cx.config.give_up) {
            return false;
        }
        if let Some(probes) = self.extras.probes_mut() {
            probes.on_loss();
        }
        let outcome = self.reduce(now, Cause::Timeout, cx);
        // RFC 2018 §8: if the receiver dropped what it had reported, so do we.
        let reneged = self.board.sent.first().is_some_and(|first| self.board.sent.is_sacked(first));
        let keeps =
            !matches!(cx.config.recovery, Recovery::Sack { on_rto: SackOnRto::Discard | SackOnRto::Ignore, .. });
        let forgets = !keeps || reneged;
        let (view, timers) = Losses::view(&self.losses.episode, now, &self.space, &self.rtt, cx);
        self.losses.detector.on_timeout(&view, forgets, &mut self.board, timers);
        let duplicates = cx.config.rto.duplicates;
        self.losses.episode =
            self.losses.episode.timed_out(self.space.una, self.space.nxt, self.rtt.armed_at(), duplicates);
        self.board.begin_episode();
        self.board.note_reduction(now);
        cx.counters.lost_retransmissions = self.board.lost_retransmissions();
        self.extras.end_inflation();
        self.rtt.stop_timing();
        let is_held = self.extras.feedback().is_some_and(|feedback| feedback.is_error);
        if !is_held && outcome != ReduceOutcome::LinkError {
            self.rtt.back_off();
        }
        cx.timers.stop(Timer::Retransmit);
        true
    }
}
