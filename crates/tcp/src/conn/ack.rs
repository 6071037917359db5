//! What arrives: acknowledgements, windows, timestamps, data. The order of work on an ACK is that of
//! `specs/README` rule 5: checks, scoreboard, RTT sample, recovery, congestion control, timers.

use super::recovery::{Advance, Phase};
use super::scoreboard::{Acked, Doubt};
use super::validation::WindowUsage;
use super::{Connection, Event};
use crate::cc::{AckSample, CongestionControl, Delivery, LostSegment};
use crate::config::{CwndValidation, RttSampling};
use crate::segment::{Flags, Options, Segment, Timestamps};
use bentpipe_units::{Duration, Seq, Time};

/// RFC 7323 §5.5: after this long without a segment old timestamps prove nothing.
const PAWS_IDLE: Duration = Duration::from_secs(24 * 86_400);

const PS_PER_MS: u64 = 1_000_000_000;

impl Connection {
    /// `ack`: offset that the segment acknowledges, not beyond what was sent.
    ///
    /// DEVIATION: RFC 9293 §3.10.7.4 drops segments that are not acceptable, with their ACK. Here, as in BSD, the ACK of a
    /// segment whose data are old counts: what it says of our data is not older for that.
    pub(super) fn handle_ack(&mut self, now: Time, segment: &Segment, ack: u64) {
        if ack < self.snd_una {
            return;
        }
        if self.marks.is_some() {
            self.read_echo(now, segment, ack);
        }
        let is_same_window = self.update_window(segment, ack);
        if self.is_detailed {
            self.begin_ack(now, segment);
        }
        if ack > self.snd_una {
            self.on_new_ack(now, segment, ack);
        } else if self.has_sack {
            let mut acked = Acked::default();
            let news = self.read_sack(segment, &mut acked);
            if news > 0 {
                self.sample_rtt(now, None, &acked);
            }
            if self.is_detailed && self.detect_spurious(now, segment, 0) {
                return;
            }
            if news > 0 && self.episode.phase == Phase::Sack {
                self.tell_recovery_ack(now, false);
            }
            let found = self.on_sack(now, news, false);
            if self.is_detailed {
                self.end_ack(now, segment, 0, found);
                self.tell_delivery(now, segment);
            }
        } else if self.snack.is_some() {
            let is_duplicate = is_same_window && segment.sequence_len() == 0 && self.board.flight_size() > 0;
            self.on_snack_ack(now, segment, is_duplicate);
        } else if is_same_window && segment.sequence_len() == 0 && self.board.flight_size() > 0 {
            if self.is_detailed && self.detect_spurious(now, segment, 0) {
                return;
            }
            if let Some(rates) = &mut self.rates {
                rates.on_duplicate(now, u64::from(self.smss));
            }
            // RFC 5681 §2: a duplicate.
            self.on_duplicate(now);
            if self.is_detailed {
                self.tell_delivery(now, segment);
            }
        }
    }

    /// The controller that asked for it learns what the ACK said of delivery.
    #[inline(never)]
    pub(super) fn tell_delivery(&mut self, now: Time, segment: &Segment) {
        if !self.cc.takes_deliveries() {
            return;
        }
        self.tell_lost(now);
        let lost = self.board.lost_ever();
        let Some(rates) = &mut self.rates else { return };
        let (newly_delivered, newly_lost) = rates.take_news(lost);
        if newly_delivered == 0 {
            return;
        }
        let (delivered, rate) = (rates.delivered(), rates.last);
        let is_timed = self.has_timestamps && newly_delivered > 0;
        let delivery = Delivery {
            newly_delivered,
            delivered,
            newly_lost,
            lost,
            in_flight: self.board.pipe(),
            is_cwnd_limited: self.is_window_used(),
            is_repairing: self.is_repairing(),
            rate,
            one_way_delay: segment.timestamps.filter(|_| is_timed).map(|timestamps| {
                // Both clocks count the same milliseconds, but a sender must not rely on that.
                Duration::from_millis(u64::from(timestamps.value.wrapping_sub(timestamps.echo)))
            }),
        };
        let path = self.path(now);
        self.cc.on_delivery(&delivery, &path);
        if let (Some(rates), true) = (&mut self.rates, self.cc.holds_back()) {
            rates.on_app_limited(delivery.in_flight);
        }
    }

    /// The controller that asked for deliveries learns which segments were declared lost.
    pub(super) fn tell_lost(&mut self, now: Time) {
        let list = self.board.take_lost();
        if let (Some(rates), false) = (&self.rates, list.is_empty()) {
            let path = self.path(now);
            for lost in &list {
                let range = self.board.range_of(lost.index);
                if let Some(noted) = rates.lost(lost.index, lost.lost_ever) {
                    let (start, len) = (range.start, u64::from(range.len));
                    let told = LostSegment { start, len, has_sack: self.has_sack, ..noted };
                    self.cc.on_lost(&told, &path);
                }
            }
        }
        self.board.give_back(list);
    }

    /// An ACK is about to be entered into the scoreboard, in detail.
    fn begin_ack(&mut self, now: Time, segment: &Segment) {
        let echo = segment.timestamps.filter(|_| self.has_timestamps).map(|timestamps| {
            // The instant that the echo stands for: as long ago as our clock says, at the start of its millisecond.
            let elapsed = ((now.as_ps() / PS_PER_MS) as u32).wrapping_sub(timestamps.echo);
            let tick = Time::from_ps(now.as_ps() / PS_PER_MS * PS_PER_MS);
            Time::from_ps(tick.as_ps().saturating_sub(Duration::from_millis(u64::from(elapsed)).as_ps()))
        });
        let min_rtt = self.rack.as_ref().map_or(Duration::ZERO, |rack| rack.min_rtt());
        self.note_app_limited();
        self.read_corruption(now, segment);
        self.board.begin_ack(Doubt { now, min_rtt, echo, clock: Duration::from_millis(1) });
        self.dsack = None;
    }

    /// The cumulative ACK advanced by `newly` bytes, SACK blocks by `news`.
    #[inline(never)]
    fn advance_in_detail(&mut self, now: Time, segment: &Segment, newly: u64, news: u64) -> Advance {
        let is_undone = self.detect_spurious(now, segment, newly);
        let was_calm = self.is_calm();
        let mut advance = self.on_advance(now, newly);
        let found = self.on_sack(now, news, !was_calm && self.is_calm());
        self.advance_by_snack(now, segment, newly, &mut advance);
        self.end_ack(now, segment, newly, found);
        advance.in_recovery |= is_undone;
        advance
    }

    /// An ACK was entered and recovery has answered.
    fn end_ack(&mut self, now: Time, segment: &Segment, newly: u64, found: bool) {
        let base = self.board.first().unwrap_or(self.board.next_index());
        if let Some(rates) = &mut self.rates {
            rates.last = rates.on_ack(now, &self.board.delivery(), base, self.board.lost_ever());
        }
        self.reduce_in_proportion(newly > 0, found);
        if self.rack.is_some() {
            let is_bare_duplicate = newly == 0 && segment.sequence_len() == 0 && segment.options == Options::None;
            self.resolve_probe(now, self.snd_una, is_bare_duplicate);
            if newly > 0 || self.board.delivery().bytes > 0 {
                self.schedule_probe(now);
            }
        }
    }

    /// Data, a FIN, or both.
    pub(super) fn receive_data(&mut self, now: Time, segment: &Segment) {
        let first = self.irs.at(1);
        let start = segment.seq.offset_near(first, self.receiver.nxt());
        if first.at(start) != segment.seq {
            // From before the first byte.
            return self.receiver.ack_soon();
        }
        if !self.is_plain {
            self.inspect(now, segment, start);
        }
        let len = u64::from(segment.len);
        let arrival = self.receiver.on_data(now, start, len, segment.flags.has(Flags::FIN));
        self.counters.arrived_bytes += len;
        self.counters.delivered_bytes += arrival.delivered;
        self.counters.needless_segments += u64::from(len > 0 && !arrival.is_new);
    }

    /// What only some connections look for in a segment with data: marks, the signal of slow start, how fast they come.
    #[inline(never)]
    fn inspect(&mut self, now: Time, segment: &Segment, start: u64) {
        self.note_mark(now, segment, start);
        if segment.flags.has(Flags::SLOW_START) {
            self.receiver.ack_soon();
        }
        self.tune_buffer(now, segment);
    }

    /// A segment without data whose sequence number is not the next: a probe, or an old ACK.
    pub(super) fn refuse_unexpected(&mut self, segment: &Segment) {
        let first = self.irs.at(1);
        let expected = self.receiver.ack_offset();
        if segment.seq.offset_near(first, expected) < expected || segment.seq == self.irs {
            self.receiver.ack_soon();
        }
    }

    /// PAWS and the echo rule (RFC 7323 §4.3, §5.3). False: the segment is from the past.
    #[inline]
    pub(super) fn accept_timestamps(&mut self, now: Time, segment: &Segment) -> bool {
        if !self.has_timestamps {
            return true;
        }
        let Some(timestamps) = segment.timestamps else { return false };
        let is_older = (timestamps.value.wrapping_sub(self.ts_recent) as i32) < 0;
        if is_older && now.saturating_since(self.ts_recent_at) < PAWS_IDLE {
            self.receiver.ack_soon();
            return false;
        }
        let first = self.irs.at(1);
        let start = segment.seq.offset_near(first, self.last_ack_sent);
        if start <= self.last_ack_sent {
            self.ts_recent = timestamps.value;
            self.ts_recent_at = now;
        }
        true
    }

    /// Our clock (1 ms) and the echo of the peer's.
    pub(super) fn timestamps(&self, now: Time) -> Timestamps {
        Timestamps { value: (now.as_ps() / PS_PER_MS) as u32, echo: self.ts_recent }
    }

    /// How long ago our clock showed `value`.
    pub(super) fn since(&self, now: Time, value: u32) -> Duration {
        Duration::from_millis(u64::from(((now.as_ps() / PS_PER_MS) as u32).wrapping_sub(value)))
    }

    /// Arm the retransmission timer, or restart it.
    #[inline]
    pub(super) fn arm_rto(&mut self, now: Time) {
        let rto = self.rtt.rto();
        self.rto_armed = (now, rto);
        self.rto_not_before = self.rtt.earliest_expiry(now, rto);
    }

    /// When the retransmission timer, which is armed, expires.
    pub(super) fn rto_expiry(&self) -> Time {
        let (armed, rto) = self.rto_armed;
        self.rtt.expiry(armed, rto)
    }

    pub(super) fn disarm_rto(&mut self) {
        self.rto_not_before = Time::NEVER;
    }

    pub(super) fn on_rto(&mut self, now: Time) {
        self.disarm_rto();
        if !self.state.is_synchronised() {
            self.on_syn_timeout();
        } else if self.board.flight_size() > 0 {
            self.on_data_timeout(now);
        }
    }

    fn on_new_ack(&mut self, now: Time, segment: &Segment, ack: u64) {
        let newly = ack - self.snd_una;
        let mut acked = self.board.ack(ack);
        self.snd_una = ack;
        self.first_resend = Time::NEVER;
        if self.is_detailed {
            self.become_patient();
        }
        let news = if self.has_sack { self.read_sack(segment, &mut acked) } else { 0 };
        self.sample_rtt(now, segment.timestamps, &acked);
        let advance = if self.is_detailed {
            self.advance_in_detail(now, segment, newly, news)
        } else {
            let advance = self.on_advance(now, newly);
            if news > 0 {
                self.on_sack(now, news, false);
            }
            advance
        };
        if self.is_detailed {
            self.tell_delivery(now, segment);
        }
        let is_cwnd_limited = self.may_grow(now, newly) && !self.is_echoed();
        if !advance.in_recovery {
            // Computed once more: to read back what was just stored would wait for the store.
            let rtt = acked.newest().map(|sent_at| now - sent_at);
            let sample = AckSample { newly_acked: newly, is_cwnd_limited, rtt };
            let path = self.path(now);
            self.cc.on_ack(&sample, &path);
            if self.in_slow_start != (self.cc.cwnd() < self.cc.ssthresh()) {
                self.turn_slow_start();
            }
        }
        self.tune_send_buffer();
        if self.board.flight_size() == 0 {
            self.disarm_rto();
        } else if advance.restart_timer {
            // RFC 6298 §5.3.
            self.arm_rto(now);
        }
    }

    /// A round-trip sample, if the ACK gives one: the time since the first of what it delivers was sent, so that the timer
    /// waits for delayed ACKs too. `timestamps` are those of an ACK that advances.
    #[inline(always)]
    fn sample_rtt(&mut self, now: Time, timestamps: Option<Timestamps>, acked: &Acked) {
        self.last_rtt = acked.newest().map(|sent_at| now - sent_at);
        if self.has_timestamps {
            // DEVIATION: RFC 7323 §4.2 lowers the gains when there are many samples in a round trip. They are those of
            // RFC 6298 here, whatever gives the samples.
            if let Some(timestamps) = timestamps {
                self.rtt.update(self.since(now, timestamps.echo));
            }
            return;
        }
        // Karn's rule.
        let is_usable = !(acked.is_ambiguous && self.rtt.is_karn());
        match self.config.rto.sampling {
            RttSampling::PerAck => {
                if let Some(sent_at) = acked.oldest().filter(|_| is_usable) {
                    self.rtt.on_sample(sent_at, now);
                }
            }
            RttSampling::PerWindow => {
                if let Some((_, sent_at)) = self.timed.take_if(|(end, _)| *end <= self.snd_una) {
                    if is_usable && (acked.delivers(sent_at) || !self.rtt.is_karn()) {
                        self.rtt.on_sample(sent_at, now);
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn read_sack(&mut self, segment: &Segment, acked: &mut Acked) -> u64 {
        let Options::Sack(blocks) = segment.options else { return 0 };
        let first = self.iss.at(1);
        self.dsack = self.reported_duplicate(blocks.as_slice());
        let mut news = 0;
        for &(left, right) in blocks.as_slice() {
            let left = left.offset_near(first, self.snd_una);
            let right = right.offset_near(first, self.snd_una);
            if self.snd_una <= left && left < right && right <= self.snd_nxt {
                news += self.board.sack(left, right, acked);
            }
        }
        news
    }

    /// RFC 2883 §5: the first block is a duplicate if it lies below the cumulative ACK or in the second block.
    fn reported_duplicate(&self, blocks: &[(Seq, Seq)]) -> Option<(u64, u64)> {
        let first = self.iss.at(1);
        let range = |block: &(Seq, Seq)| {
            let (left, right) = (block.0.offset_near(first, self.snd_una), block.1.offset_near(first, self.snd_una));
            (left < right && first.at(left) == block.0).then_some((left, right))
        };
        let reported = range(blocks.first()?)?;
        let around = blocks.get(1).and_then(range);
        let is_inside = around.is_some_and(|around| around.0 <= reported.0 && reported.1 <= around.1);
        (reported.1 <= self.snd_una || is_inside).then_some(reported)
    }

    /// RFC 9293 §3.10.7.4: a window counts if it is newer. Returns whether it is the one already known.
    #[inline]
    fn update_window(&mut self, segment: &Segment, ack: u64) -> bool {
        let window = u64::from(segment.window) << self.snd_shift;
        let is_newer_seq = (segment.seq.value().wrapping_sub(self.wl1.value()) as i32) > 0;
        let is_newer = is_newer_seq || (segment.seq == self.wl1 && self.wl2 <= ack);
        if is_newer {
            (self.wl1, self.wl2) = (segment.seq, ack);
        }
        if window == self.rwnd {
            return true;
        }
        if is_newer {
            if window == 0 {
                self.events.push_back(Event::ZeroWindow(ack));
            }
            self.rwnd = window;
            self.rwnd_largest = self.rwnd_largest.max(window);
            self.persist = Time::NEVER;
            self.persist_backoff = 1;
        }
        false
    }

    /// Slow start ends, or begins.
    #[cold]
    #[inline(never)]
    fn turn_slow_start(&mut self) {
        if self.in_slow_start {
            self.events.push_back(Event::SlowStartExit(self.cc.cwnd()));
        }
        self.in_slow_start = !self.in_slow_start;
    }

    #[inline]
    fn may_grow(&mut self, now: Time, newly: u64) -> bool {
        match self.config.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::IfUsed => self.is_window_used(),
            CwndValidation::Rfc2861 | CwndValidation::Rfc7661 => self.validate(now, newly),
        }
    }

    /// Whether the window limited sending in this round or the last, or slow start used at least half of it.
    #[inline]
    pub(super) fn is_window_used(&mut self) -> bool {
        let usage = &mut self.usage;
        if self.snd_una >= usage.round_end {
            *usage = WindowUsage {
                // Asked twice of an ACK that leaves nothing outstanding, it is the same round.
                round_end: self.snd_nxt.max(self.snd_una + 1),
                limited: false,
                limited_before: usage.limited,
                flight_max: self.board.flight_size(),
                flight_max_before: usage.flight_max,
            };
        }
        if usage.limited || usage.limited_before {
            return true;
        }
        let cwnd = self.cc.cwnd();
        cwnd < self.cc.ssthresh() && cwnd < 2 * usage.flight_max.max(usage.flight_max_before)
    }
}
