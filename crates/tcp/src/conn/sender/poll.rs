//! The next data to leave: retransmissions of recovery, then new data. The timers change this choice.

use super::detect::Repair;
use super::episode::Phase;
use super::mapped::Backlog;
use super::rate::InFlight;
use super::scoreboard::SeqRange;
use super::state::{used, view, Sender};
use crate::config::{Config, CwndValidation};
use crate::conn::clock::clock;
use crate::conn::context::Context;
use crate::conn::timers::Timer;
use bentpipe_cc::CongestionControl;
use bentpipe_units::{Duration, Time};

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
    /// Whether any data is unsent or unacknowledged. Always false at a pure receiver.
    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        // Outstanding data was offered, except for a FIN.
        self.space.una < self.space.offered || self.space.is_closing
    }

    /// The next data to send, if the windows allow.
    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        let is_usual = self.episode.phase == Phase::Open
            && !self.episode.retransmits_first
            && (!self.is_detailed || !self.extras.is_some() && !self.detector.comes_first());
        // Unwrapped in both arms: otherwise it would travel through memory.
        Some(if is_usual { self.next_new(now, Room::AsNeeded, cx)? } else { self.poll_in_recovery(now, cx)? })
    }

    /// As `poll`, if other data may come before new data.
    #[cold]
    #[inline(never)]
    fn poll_in_recovery(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if self.episode.retransmits_first {
            // A window that was shrunk to nothing is probed by the oldest, lost or not.
            let is_probe = self.space.rwnd == 0;
            let first = if is_probe { self.board.first() } else { self.detector.first(&mut self.board) };
            if is_probe || !first.is_some_and(|first| self.extras.has_due_before(first, self.space.una, &self.board)) {
                self.episode.retransmits_first = false;
                if let Some(first) = first {
                    return Some(self.retransmit(now, first, true, cx));
                }
            }
        }
        if self.extras.notified().is_some() {
            let lost = if self.episode.phase == Phase::Selective { self.board.next_lost() } else { None };
            if lost.is_some_and(|lost| !self.extras.has_due_before(lost, self.space.una, &self.board)) {
                if let Some(again) = self.next_selective(now, cx) {
                    return Some(again);
                }
            }
            if let Some(again) = self.next_notified(now, cx) {
                return Some(again);
            }
            if !self.keeps_to_packets(cx) && !self.board.has_unrepaired() {
                return None;
            }
        }
        if self.is_detailed {
            if let Some(probe) = self.next_probe(now, cx) {
                return Some(probe);
            }
            if self.detector.repair() == Repair::AtOnce && self.episode.phase != Phase::Loss {
                return self.next_at_once(now, cx);
            }
        }
        match self.episode.phase {
            Phase::Open | Phase::Fast | Phase::Snack => {}
            Phase::Selective => return self.next_selective(now, cx),
            Phase::Loss if self.is_held_by_frto() => {}
            Phase::Loss => {
                if let Some(lost) = self.board.next_lost() {
                    let fits = self.board.pipe() + self.board.len_of(lost) <= self.window_in_loss(&cx.config);
                    if !fits {
                        self.on_retransmission_limited(now, cx);
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
        let pipe = self.detector.pipe(&self.board);
        let has_room = match &self.episode.prr {
            // In whole segments, rounded up.
            Some(prr) => pipe < prr.window(),
            None => pipe + self.space.smss() <= self.cc.cwnd(),
        };
        if !has_room {
            // A window without room limits nothing if nothing waits for it.
            if self.board.next_lost().is_some() {
                self.on_retransmission_limited(now, cx);
            } else if self.space.next_len() > 0 {
                self.on_limited(now);
            }
            return None;
        }
        let sending = self.choose_selective(now, cx)?;
        self.detector.on_selective_sent(u64::from(sending.range.len));
        Some(sending)
    }

    #[inline]
    fn choose_selective(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if let Some(lost) = self.board.next_lost() {
            // The oldest segment again: its time starts again, as it did when recovery began (Linux, tcp_xmit_retransmit_queue).
            let is_again = self.board.first() == Some(lost) && self.board.retransmits_of(lost) > 0;
            if is_again && cx.config.rto.restart_on_fast_retransmit {
                self.rtt.arm(now, &mut cx.timers);
            }
            return Some(self.retransmit(now, lost, true, cx));
        }
        if let Some(new) = self.next_new(now, Room::Taken, cx) {
            return Some(new);
        }
        // New data come first (RFC 6675 §4), also those that a driver of several connections is about to offer.
        if self.extras.backlog() == Backlog::Comes {
            return None;
        }
        let (doubtful, counts) = self.detector.next_doubtful(&mut self.episode, self.space.una, &mut self.board)?;
        Some(self.retransmit(now, doubtful, counts, cx))
    }

    /// Losses first, then new data while the window has room for them.
    #[inline(never)]
    fn next_at_once(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if let Some(lost) = self.board.next_lost() {
            return Some(self.retransmit(now, lost, true, cx));
        }
        let len = self.space.next_len();
        if self.in_flight() + len > self.cc.cwnd() {
            if len > 0 {
                self.on_limited(now);
            }
            return None;
        }
        self.next_new(now, Room::Taken, cx)
    }

    /// Returns the probe: a new segment, regardless of the window, or else a retransmission of the last one.
    fn next_probe(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        if !self.detector.take_probe() || self.episode.phase.is_recovery() {
            return None;
        }
        let new = self.next_new(now, Room::Taken, cx);
        let is_retrans = new.is_none();
        let probe = new.or_else(|| {
            let last = self.board.next_index().checked_sub(1).filter(|_| self.board.flight_size() > 0)?;
            Some(self.retransmit(now, last, true, cx))
        });
        if probe.is_some() {
            cx.counters.tail_loss_probes += 1;
            self.detector.on_probe_sent(self.space.nxt, is_retrans, &mut cx.timers);
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
        if end < space.offered && len < full && self.waits_for_room() {
            return None;
        }
        let usable = space.usable();
        if len > usable {
            len = self.squeeze(now, usable, cx)?;
            has_fin = false;
        } else if len < full && self.is_held_by_nagle(has_fin, &cx.config) {
            return None;
        }
        if self.board.flight_size() == 0 {
            self.resume(now, cx);
        }
        if room == Room::AsNeeded && !self.fits_cwnd(len, cx) {
            self.on_limited(now);
            return None;
        }
        let range = SeqRange { start: self.space.nxt, len: len as u32 + u32::from(has_fin), has_fin };
        if self.rates.is_some() {
            self.note_rate(now, self.board.next_index(), u64::from(range.len));
        }
        self.board.push(range, now);
        self.space.nxt += u64::from(range.len);
        self.note_usage(now, cx);
        self.rtt.on_sent(now, self.space.nxt);
        Some(self.depart(now, Sending { range, is_retransmission: false }, cx))
    }

    /// The data of the SYN waits at the peer for the handshake. It is outstanding, as if it left now.
    pub(crate) fn on_queued(&mut self, now: Time, range: SeqRange, cx: &mut Context) {
        if self.is_detailed {
            self.note_rate(now, self.board.next_index(), u64::from(range.len));
        }
        self.board.push(range, now);
        self.space.nxt = range.start + u64::from(range.len);
        self.note_usage(now, cx);
        self.rtt.arm(now, &mut cx.timers);
    }

    /// A retransmission waits for room in the window. In Linux only new data use a window.
    #[inline]
    fn on_retransmission_limited(&mut self, now: Time, cx: &Context) {
        if cx.config.cwnd_validation != CwndValidation::Linux || self.space.next_len() > 0 {
            self.on_limited(now);
        }
    }

    /// New data left: how much of the window is used now?
    #[inline(always)]
    fn note_usage(&mut self, now: Time, cx: &Context) {
        let outstanding = [self.board.flight_size(), self.board.pipe()];
        if self.usage.on_sent(now, &self.space, outstanding, self.cc.cwnd()) && !self.extras.is_backlogged() {
            let used = used(now, &self.space, &self.board, &self.episode, &self.rtt, cx);
            self.usage.on_room(used, &mut self.cc);
        }
    }

    /// Data wait for room in the window.
    #[inline]
    pub(super) fn on_limited(&mut self, now: Time) {
        self.usage.on_limited(now, &self.space, self.board.flight_size());
    }

    /// The send buffer is full: the application fills the segment up when an ACK has made room.
    #[inline(never)]
    fn waits_for_room(&self) -> bool {
        self.board.flight_size() > 0
    }

    /// Nagle's algorithm (RFC 9293 §3.7.4): a small segment waits while data are outstanding. The last one does not:
    /// nothing can be added to it.
    #[inline(never)]
    pub(super) fn is_held_by_nagle(&self, has_fin: bool, config: &Config) -> bool {
        config.nagle && !has_fin && self.board.flight_size() > 0
    }

    /// Returns the window in the slow start after a timeout, with the addition of limited transmit.
    pub(super) fn window_in_loss(&self, config: &Config) -> u64 {
        let dupacks = self.episode.dupacks;
        // Later ones add nothing to the third.
        let adds = config.limited_retransmit && config.limited_transmit && dupacks <= 2;
        let adding = if adds { dupacks.saturating_sub(u32::from(self.episode.dupacks_before)) } else { 0 };
        self.cc.cwnd() + u64::from(adding) * self.space.smss()
    }

    /// Whether `len` new bytes fit the congestion window.
    #[inline(always)]
    fn fits_cwnd(&mut self, len: u64, cx: &Context) -> bool {
        if self.episode.phase == Phase::Open && self.episode.dupacks == 0 {
            return self.board.pipe() + len <= self.cc.cwnd();
        }
        self.fits_in_episode(len, cx)
    }

    /// The same after duplicate ACKs and while losses are repaired.
    #[inline(never)]
    fn fits_in_episode(&mut self, len: u64, cx: &Context) -> bool {
        let cwnd = self.cc.cwnd();
        if self.episode.phase == Phase::Open {
            let (flight, allowance) = self.limited_transmit(cx);
            let fits = flight + len <= cwnd + allowance;
            if fits && self.board.flight_size() + len > cwnd {
                self.episode.limited_bytes += len;
            }
            return fits;
        }
        let (episode, board) = (&mut self.episode, &self.board);
        match episode.phase {
            // Compared by the caller, or above.
            Phase::Selective | Phase::Snack | Phase::Open => true,
            Phase::Fast => {
                let window = cwnd.saturating_add_signed(episode.inflation).max(self.space.smss());
                let fits = episode.burst_left > 0 && board.flight_size() + len <= window;
                episode.burst_left -= u32::from(fits);
                fits
            }
            Phase::Loss => board.pipe() + len <= self.window_in_loss(&cx.config),
        }
    }

    /// Returns the data in flight after duplicate ACKs, and the bytes that limited transmit adds to the window.
    /// RFC 3042: one new segment for each of the first two duplicate ACKs. With SACK, reported data have left the pipe,
    /// which gives the same, unless ACKs are counted.
    pub(super) fn limited_transmit(&self, cx: &Context) -> (u64, u64) {
        let dupacks = u64::from(self.episode.dupacks);
        let counts_data = cx.agreed.sack && !self.detector.counts_acks();
        match (cx.config.limited_transmit, counts_data) {
            (true, true) => (self.board.pipe(), 0),
            (true, false) => (self.board.flight_size(), if dupacks <= 2 { dupacks * self.space.smss() } else { 0 }),
            (false, _) => (self.board.flight_size(), 0),
        }
    }

    /// How much to send into a window smaller than the segment; if nothing, the persist timer runs.
    #[inline(never)]
    fn squeeze(&mut self, now: Time, usable: u64, cx: &mut Context) -> Option<u64> {
        let is_idle = self.board.flight_size() == 0;
        let len = self.space.squeeze(usable, cx.config.nagle, is_idle);
        if len.is_none() && is_idle && !cx.timers.is_running(Timer::Persist) {
            cx.timers.set(Timer::Persist, now + self.persist_delay(cx));
        }
        len
    }

    /// Time until the next window probe (RFC 9293 §3.8.6.1; `docs/specs/rto.md`, zero window).
    ///
    /// DEVIATION: RFC 9293 §3.8.6.2.1 sends into a small window after a tenth of a second to one second. It is the
    /// persist timer here, that is one retransmission timeout, as in BSD and Linux.
    pub(super) fn persist_delay(&self, cx: &Context) -> Duration {
        let rto = &cx.config.rto;
        (self.rtt.rto().max(rto.persist_min) * u64::from(self.space.persist_backoff)).min(rto.persist_max)
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    #[inline(never)]
    fn resume(&mut self, now: Time, cx: &Context) {
        let path = self.path(now, cx);
        self.cc.on_resume(&path);
        if self.cc.is_model_based() {
            return;
        }
        let used = used(now, &self.space, &self.board, &self.episode, &self.rtt, cx);
        self.usage.resume(used, &mut self.cc);
    }

    #[inline(never)]
    pub(super) fn retransmit(&mut self, now: Time, index: u64, counts: bool, cx: &mut Context) -> Sending {
        if let Some(undo) = &mut self.undo {
            let stamp = cx.agreed.timestamps.then(|| clock(now));
            undo.on_retransmit(stamp, self.board.retransmits_of(index).saturating_add(1));
        }
        self.send_again(now, index, counts, cx)
    }

    /// Retransmits as `retransmit` does, but without effect on a later undo.
    pub(super) fn send_again(&mut self, now: Time, index: u64, counts: bool, cx: &mut Context) -> Sending {
        if self.is_detailed {
            self.note_rate(now, index, self.board.len_of(index));
        }
        let range = self.board.retransmit(index, now, counts);
        self.rtt.on_retransmit(range.start, range.start + u64::from(range.len));
        self.first_retransmit = self.first_retransmit.min(now);
        if let Some(gap) = self.extras.feedback().and_then(|feedback| feedback.gap) {
            self.pacer.hold_until(now + gap);
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
            if let Some(prr) = &mut self.episode.prr {
                prr.on_sent(len);
            }
            if !sending.is_retransmission {
                let (view, timers) = view(now, &self.space, &self.episode, &self.rtt, cx);
                self.detector.after_new(&view, &self.board, timers);
            }
        }
        cx.timers.stop(Timer::Persist);
        self.usage.last_sent = now;
        sending
    }

    /// Segment `index`, of `len` bytes, leaves.
    #[inline(never)]
    fn note_rate(&mut self, now: Time, index: u64, len: u64) {
        let before = self.in_flight();
        let flight = InFlight { before, after: before + len, lost: self.board.lost_ever() };
        if let Some(rates) = &mut self.rates {
            rates.on_sent(now, index, flight);
        }
    }

    /// A packet of `size` bytes leaves that pacing counts.
    pub(crate) fn pace(&mut self, now: Time, size: u64, cx: &mut Context) {
        self.pacer.on_sent(now, size, cx.config.pacing, &self.cc, self.paced(cx));
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
            let (view, timers) = view(now, &self.space, &self.episode, &self.rtt, cx);
            let finding = self.detector.on_reorder_timer(&view, &mut self.board, timers);
            self.answer(now, finding, cx);
            self.rearm(now, cx);
        }
        if cx.timers.take_expired(Timer::LossProbe, now) {
            self.detector.on_probe_timer();
            self.rearm(now, cx);
        }
    }

    fn rearm(&mut self, now: Time, cx: &mut Context) {
        if self.board.flight_size() > 0 {
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// The retransmission timer may have expired. True: it has.
    #[inline]
    pub(crate) fn take_retransmit_timer(&mut self, now: Time, cx: &mut Context) -> bool {
        if cx.timers.get(Timer::Retransmit) > now {
            return false;
        }
        let expiry = self.rtt.armed_expiry();
        let is_expired = expiry <= now;
        cx.timers.set(Timer::Retransmit, if is_expired { Time::NEVER } else { expiry });
        is_expired
    }

    /// It has, on a connection that is open. False: the connection is to be given up.
    pub(crate) fn on_retransmit_timer(&mut self, now: Time, cx: &mut Context) -> bool {
        if self.board.flight_size() > 0 && self.space.rwnd == 0 {
            // RFC 9293 §3.8.6: outstanding data probes a window that was shrunk to nothing. Missing answers are no sign
            // of a broken path.
            self.rtt.back_off();
            self.rtt.arm(now, &mut cx.timers);
            self.episode.retransmits_first = true;
            return true;
        }
        self.board.flight_size() == 0 || self.on_data_timeout(now, cx)
    }

    /// The third segment of the handshake leaves again until something answers it, at the pace of window probes.
    pub(crate) fn repeat_third(&mut self, now: Time, cx: &mut Context) {
        cx.timers.set(Timer::Persist, now + self.persist_delay(cx));
    }

    /// An ACK arrived while the window was closed. If it opened, the timer runs for the outstanding data again.
    #[cold]
    pub(crate) fn on_window_change(&mut self, now: Time, cx: &mut Context) {
        if self.space.rwnd > 0 && self.board.flight_size() > 0 {
            self.rtt.fix(None);
            self.rtt.arm(now, &mut cx.timers);
        } else if self.space.rwnd == 0 && cx.config.rto.persist_restarts && cx.timers.is_running(Timer::Persist) {
            cx.timers.set(Timer::Persist, now + self.persist_delay(cx));
        }
    }

    /// The persist timer expired. True: a segment must ask for the peer's window.
    pub(crate) fn on_persist_timer(&mut self, now: Time, cx: &mut Context) -> bool {
        self.space.persist_backoff = (self.space.persist_backoff * 2).min(1024);
        cx.timers.set(Timer::Persist, now + self.persist_delay(cx));
        let awaits_fourth = self.extras.mapped_mut().is_some_and(|mapped| {
            mapped.owes_third |= mapped.awaits_fourth;
            mapped.awaits_fourth
        });
        let is_closed = self.space.rwnd == 0;
        self.space.may_be_small |= !is_closed;
        is_closed || awaits_fourth
    }

    /// The controller hears of the losses that timers showed.
    pub(crate) fn after_timers(&mut self, now: Time, cx: &Context) {
        if self.is_detailed {
            self.notify_losses(now, cx);
        }
    }

    /// Time passes: the application may have been the limit.
    pub(crate) fn before_timers(&mut self) {
        if self.is_detailed {
            self.note_app_limited();
        }
    }
}
