//! What is sent next: control segments, what recovery wants resent, new data, ACKs; in this order.

use super::rate::InFlight;
use super::recovery::Phase;
use super::scoreboard::Range;
use super::{Connection, State, UNUSUAL};
use crate::cc::CongestionControl;
use crate::config::{RttSampling, SlowStartAcks};
use crate::segment::{Ecn, Flags, Options, Segment};
use bentpipe_units::{Duration, Seq, Time};

/// Bounds of the persist timer (RFC 9293 §3.8.6.1; `specs/rto.md`, zero window).
///
/// DEVIATION: RFC 9293 §3.8.6.2.1 sends into a small window after a tenth of a second to one second. It is the persist
/// timer here, that is one retransmission timeout, as in BSD and Linux.
const PERSIST_MIN: Duration = Duration::from_millis(500);
const PERSIST_MAX: Duration = Duration::from_secs(60);

impl Connection {
    /// The next segment to send now, or `None`. Its answer may change after any other call.
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.control.is_any() | !self.is_plain || !self.sends_data() {
            return self.next_unusual(now);
        }
        if self.has_data() {
            if let Some(segment) = self.next_data(now) {
                return Some(segment);
            }
        }
        self.next_ack(now)
    }

    /// Of connections that are not plain, while a control segment waits, and in states in which no data are sent.
    #[cold]
    #[inline(never)]
    fn next_unusual(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.control.owed) {
            return self.take_owed();
        }
        let segment = self.next_control(now)?;
        Some(if self.is_plain { segment } else { self.adorned(now, segment) })
    }

    fn next_control(&mut self, now: Time) -> Option<Segment> {
        if let Some(seq) = self.control.rst.take() {
            return Some(self.bare_segment(now, seq, self.ack_field(), Flags::RST));
        }
        if self.control.syn {
            return Some(self.syn_segment(now));
        }
        if !self.state.is_synchronised() && !self.has_early_data() {
            return None;
        }
        if self.sends_data() && !self.must_wait(now) {
            if let Some(segment) = self.next_data(now) {
                return Some(segment);
            }
        }
        if self.dummies.is_some() {
            if let Some(segment) = self.next_dummy(now) {
                return Some(segment);
            }
        }
        if self.control.probe {
            // An old sequence number: the peer must answer with its window.
            // DEVIATION: RFC 9293 §3.8.6.1 probes with a byte of new data, which would have to be kept apart from its
            // segment. Linux probes as we do.
            self.control.probe = false;
            return Some(self.bare_segment(now, self.iss.at(self.snd_una), self.ack_field(), Flags::ACK));
        }
        if self.receiver.must_ack_now() && self.paces_acks() && self.must_wait(now) {
            return None;
        }
        self.next_ack(now)
    }

    #[inline]
    pub(super) fn sends_data(&self) -> bool {
        if !self.state.is_synchronised() {
            // RFC 7413 §4.2.1: a server that took the SYN's data may answer at once.
            return self.has_early_data();
        }
        !matches!(self.state, State::FinWait2 | State::TimeWait)
    }

    /// False: neither new data nor something to resend; so it is at a receiver, always.
    #[inline]
    fn has_data(&self) -> bool {
        self.snd_nxt < self.offered || self.is_closing || self.board.flight_size() > 0
    }

    #[inline]
    fn next_ack(&mut self, now: Time) -> Option<Segment> {
        if !self.receiver.must_ack_now() {
            return None;
        }
        let options = self.sack_options();
        let bare = self.bare_segment(now, self.iss.at(1 + self.snd_nxt), self.ack_field(), Flags::ACK);
        Some(Segment { options, ..bare })
    }

    pub(super) fn on_persist(&mut self, now: Time) {
        self.persist_backoff = (self.persist_backoff * 2).min(128);
        self.persist = now + self.persist_delay();
        if self.rwnd == 0 {
            self.control.probe = true;
        } else {
            self.control.small = true;
        }
    }

    #[inline(always)]
    pub(super) fn bare_segment(&mut self, now: Time, seq: Seq, ack: Seq, flags: Flags) -> Segment {
        let window = self.receiver.window(self.rcv_shift);
        self.receiver.on_ack_sent();
        let timestamps = if self.has_timestamps { Some(self.timestamps(now)) } else { None };
        self.last_ack_sent = self.receiver.ack_offset();
        self.counters.sent_segments += 1;
        Segment {
            seq,
            ack,
            len: 0,
            window,
            flags,
            ecn: Ecn::NotEct,
            is_retransmission: false,
            timestamps,
            options: Options::None,
        }
    }

    #[inline(always)]
    fn next_data(&mut self, now: Time) -> Option<Segment> {
        if self.episode.resend_first {
            self.episode.resend_first = false;
            let first = if self.rack.is_some() { self.board.next_lost() } else { self.board.first() };
            if let Some(first) = first {
                return Some(self.resend(now, first, true));
            }
        }
        if self.is_detailed {
            if let Some(probe) = self.next_probe(now) {
                return Some(probe);
            }
            if self.snack.is_some() && !self.episode.after_rto {
                return self.next_by_snack(now);
            }
        }
        if self.episode.phase == Phase::Sack {
            return self.next_by_sack(now);
        }
        if self.episode.after_rto && !self.is_waiting_for_frto() {
            if let Some(lost) = self.board.next_lost() {
                let fits = self.board.pipe() + self.board.len_of(lost) <= self.window_after_rto();
                self.usage.limited |= !fits;
                return fits.then(|| self.resend(now, lost, true));
            }
        }
        self.next_new(now)
    }

    /// RFC 6675 §4 NextSeg(), rules 1 to 4 (1 and 2 with RACK), while the window has room for a segment.
    #[inline(never)]
    fn next_by_sack(&mut self, now: Time) -> Option<Segment> {
        let smss = u64::from(self.smss);
        let pipe = self.board.pipe();
        let has_room = match &self.episode.prr {
            // In whole segments, rounded up.
            Some(prr) => pipe < prr.window(),
            None => pipe + smss <= self.cc.cwnd(),
        };
        if !has_room {
            self.usage.limited = true;
            return None;
        }
        if let Some(lost) = self.board.next_lost() {
            return Some(self.resend(now, lost, true));
        }
        if let Some(segment) = self.next_new(now) {
            return Some(segment);
        }
        if self.rack.is_some() {
            // RFC 8985 finds those losses by time.
            return None;
        }
        if let Some(doubtful) = self.board.next_unsacked_below_highest() {
            return Some(self.resend(now, doubtful, true));
        }
        if self.episode.rescued.is_some_and(|rescued| self.snd_una <= rescued) {
            return None;
        }
        let highest = self.board.highest_unsacked()?;
        self.episode.rescued = self.episode.recover;
        Some(self.resend(now, highest, false))
    }

    #[inline(always)]
    pub(super) fn next_new(&mut self, now: Time) -> Option<Segment> {
        let end = self.data_end();
        let mut len = end.saturating_sub(self.snd_nxt).min(u64::from(self.smss));
        let mut has_fin = self.is_closing && self.snd_nxt + len == self.offered;
        if len == 0 && !has_fin {
            return None;
        }
        if end < self.offered && self.waits_for_room(len) {
            return None;
        }
        let usable = (self.snd_una + self.rwnd).saturating_sub(self.snd_nxt);
        if len > usable {
            len = self.squeeze(now, usable)?;
            has_fin = false;
        } else if !self.is_plain && self.is_held_back(len, has_fin) {
            return None;
        }
        if self.board.flight_size() == 0 {
            self.resume(now);
        }
        if !self.fits_cwnd(len) {
            self.usage.limited = true;
            return None;
        }
        let range = Range { start: self.snd_nxt, len: len as u32 + u32::from(has_fin), has_fin };
        if self.is_detailed {
            self.note_rate(now, self.board.next_index(), u64::from(range.len));
        }
        self.board.push(range, now);
        self.snd_nxt += u64::from(range.len);
        self.usage.flight_max = self.usage.flight_max.max(self.board.flight_size());
        if self.timed.is_none() && self.config.rto.sampling == RttSampling::PerWindow {
            self.timed = Some((self.snd_nxt, now));
        }
        if has_fin {
            self.advance_close(now);
        }
        Some(self.data_segment(now, range, false))
    }

    /// What the application has written: all that it wants to send, as far as the send buffer holds it.
    #[inline]
    pub(super) fn data_end(&self) -> u64 {
        self.offered.min(self.snd_una + self.send_buffer)
    }

    /// The send buffer is full: the application fills the segment up when an ACK has made room.
    #[inline(never)]
    fn waits_for_room(&self, len: u64) -> bool {
        len < u64::from(self.smss) && self.board.flight_size() > 0
    }

    /// Nagle's algorithm (RFC 9293 §3.7.4): a small segment waits while data are outstanding. The last one does not:
    /// nothing can be added to it.
    pub(super) fn is_held_back(&self, len: u64, has_fin: bool) -> bool {
        self.config.nagle && len < u64::from(self.smss) && !has_fin && self.board.flight_size() > 0
    }

    /// The window in the slow start after a timeout, with what limited transmit adds to it there.
    fn window_after_rto(&self) -> u64 {
        let dupacks = u64::from(self.episode.dupacks);
        // Later ones say what the third has said.
        let adds = self.config.limited_retransmit && self.config.limited_transmit && dupacks <= 2;
        self.cc.cwnd() + if adds { dupacks * u64::from(self.smss) } else { 0 }
    }

    /// Whether `len` new bytes fit the congestion window.
    #[inline]
    fn fits_cwnd(&mut self, len: u64) -> bool {
        let cwnd = self.cc.cwnd();
        let episode = &mut self.episode;
        if episode.may_exceed {
            return true;
        }
        match episode.phase {
            // Checked by the caller.
            Phase::Sack | Phase::Snack => true,
            Phase::Fast => {
                let window = cwnd.saturating_add_signed(episode.inflation).max(u64::from(self.smss));
                let fits = episode.burst_left > 0 && self.board.flight_size() + len <= window;
                episode.burst_left -= u32::from(fits);
                fits
            }
            Phase::Open if episode.after_rto => self.board.pipe() + len <= self.window_after_rto(),
            Phase::Open if episode.dupacks == 0 => self.board.pipe() + len <= cwnd,
            Phase::Open => {
                // RFC 3042: one new segment for each of the first two duplicate ACKs. With SACK what was reported
                // has left the pipe, which gives the same.
                let (flight, allowance) = match (self.config.limited_transmit, self.has_sack) {
                    (true, true) => (self.board.pipe(), 0),
                    (true, false) => (
                        self.board.flight_size(),
                        if episode.dupacks <= 2 { u64::from(episode.dupacks) * u64::from(self.smss) } else { 0 },
                    ),
                    (false, _) => (self.board.flight_size(), 0),
                };
                let fits = flight + len <= cwnd + allowance;
                if fits && self.board.flight_size() + len > cwnd {
                    episode.limited_bytes += len;
                }
                fits
            }
        }
    }

    /// How much to send into a window smaller than the segment (RFC 9293 §3.8.6.2.1: avoid silly windows): at least
    /// half the largest window seen, or anything once the persist timer says so.
    #[inline(never)]
    fn squeeze(&mut self, now: Time, usable: u64) -> Option<u64> {
        // RFC 1122 §4.2.3.4, condition 3; with Nagle's algorithm only if nothing is outstanding.
        let may_be_small = !self.config.nagle || self.board.flight_size() == 0;
        let is_worthwhile = usable > 0 && 2 * usable >= self.rwnd_largest && may_be_small;
        let is_forced = usable > 0 && std::mem::take(&mut self.control.small);
        if is_worthwhile || is_forced {
            return Some(usable);
        }
        if self.board.flight_size() == 0 && self.persist == Time::NEVER {
            self.persist = now + self.persist_delay();
        }
        None
    }

    fn persist_delay(&self) -> Duration {
        (self.rtt.rto().max(PERSIST_MIN) * u64::from(self.persist_backoff)).min(PERSIST_MAX)
    }

    #[inline(never)]
    pub(super) fn resend(&mut self, now: Time, index: u64, counts: bool) -> Segment {
        if self.spurious.is_some() {
            self.note_resend(now, self.board.resends_of(index) + 1);
        }
        if self.is_detailed {
            self.note_rate(now, index, self.board.len_of(index));
        }
        let range = self.board.resend(index, now, counts);
        if self.rtt.is_karn() {
            // Karn's rule is about the segment that is timed, not about others.
            self.timed.take_if(|(end, _)| range.start < *end && *end <= range.start + u64::from(range.len));
        }
        self.first_resend = self.first_resend.min(now);
        self.data_segment(now, range, true)
    }

    #[inline(always)]
    fn data_segment(&mut self, now: Time, range: Range, is_retransmission: bool) -> Segment {
        let len = range.len - u32::from(range.has_fin);
        self.counters.sent_bytes += u64::from(len);
        if is_retransmission {
            self.counters.resent_bytes += u64::from(len);
            self.counters.resent_segments += 1;
        }
        if self.rto_not_before == Time::NEVER {
            // RFC 6298 §5.1.
            self.arm_rto(now);
        }
        if self.is_detailed {
            self.note_sent(now, len, is_retransmission);
        }
        self.persist = Time::NEVER;
        self.last_sent = now;
        let flags = if range.has_fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        let options = self.sack_options();
        let bare = self.bare_segment(now, self.iss.at(1 + range.start), self.ack_field(), flags);
        Segment { len: len as u16, is_retransmission, options, ..bare }
    }

    /// What only some connections do to a segment: feedback of marks; with data also the signal of slow start, pacing, and
    /// the leave to mark it.
    fn adorned(&mut self, now: Time, mut segment: Segment) -> Segment {
        if segment.flags.has_any(UNUSUAL) {
            return segment;
        }
        segment.flags = self.stamp(&segment);
        if segment.sequence_len() == 0 {
            if self.paces_acks() {
                self.pace(now, u64::from(segment.header_len()));
            }
            return segment;
        }
        self.note_for_dummies(&segment);
        if !segment.is_retransmission && self.is_early(segment.seq) {
            // The SYN carried it in vain.
            segment.is_retransmission = true;
            self.counters.resent_bytes += u64::from(segment.len);
            self.counters.resent_segments += 1;
        }
        if segment.len > 0 && !segment.is_retransmission {
            self.mark_capable(&mut segment);
        }
        if self.config.ack.slow_start == SlowStartAcks::Every && self.cc.cwnd() < self.cc.ssthresh() {
            segment.flags = segment.flags.with(Flags::SLOW_START);
        }
        self.pace(now, u64::from(segment.len) + u64::from(segment.header_len()));
        segment
    }

    /// Segment `index`, of `len` bytes, leaves.
    #[inline(never)]
    fn note_rate(&mut self, now: Time, index: u64, len: u64) {
        let before = self.board.pipe();
        let flight = InFlight { before, after: before + len, lost: self.board.lost_ever() };
        if let Some(rates) = &mut self.rates {
            rates.on_sent(now, index, flight);
        }
    }

    /// Less than a segment waits, the window has room, and nothing waits to be resent: the application is the limit.
    pub(super) fn note_app_limited(&mut self) {
        let in_flight = self.board.pipe();
        let has_data = self.data_end().saturating_sub(self.snd_nxt) >= u64::from(self.smss);
        let is_limited = !has_data && in_flight < self.cc.cwnd() && !self.board.has_waiting();
        if let (Some(rates), true) = (&mut self.rates, is_limited) {
            rates.on_app_limited(in_flight);
        }
    }

    /// What those who work in detail want to know of each data segment.
    #[inline(never)]
    fn note_sent(&mut self, now: Time, len: u32, is_retransmission: bool) {
        if let Some(prr) = &mut self.episode.prr {
            prr.on_sent(u64::from(len));
        }
        if !is_retransmission {
            self.schedule_probe(now);
        }
    }

    #[inline]
    pub(super) fn ack_field(&self) -> Seq {
        self.irs.at(1 + self.receiver.ack_offset())
    }

    #[inline(always)]
    fn sack_options(&mut self) -> Options {
        if self.has_sack && (self.receiver.has_holes() || self.reports_duplicate()) {
            self.sack_blocks()
        } else if self.snack.is_some() {
            self.snack_options()
        } else {
            Options::None
        }
    }

    #[inline(never)]
    fn sack_blocks(&self) -> Options {
        // RFC 2018 §3: three blocks beside timestamps, four without.
        let max = if self.has_timestamps { 3 } else { 4 };
        Options::Sack(self.receiver.sack_blocks(self.irs.at(1), max, self.config.dsack))
    }

    #[inline]
    fn reports_duplicate(&self) -> bool {
        self.config.dsack && self.receiver.has_duplicate()
    }
}
