//! Notifications of the congestion control, and its view of the path.

use super::ack::Ack;
use super::episode::Phase;
use super::reduce::{Cause, ReduceOutcome};
use super::state::Sender;
use crate::config::{SsthreshBase, SsthreshRounding};
use crate::conn::clock::since;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{CongestionControl, Delivery, LostSegment, PathState};
use bentpipe_units::{Duration, Time};

impl Sender {
    /// The controller hears of each ACK that comes in recovery.
    pub(super) fn notify_recovery_ack(&mut self, now: Time, is_partial: bool, cx: &Context) {
        let path = self.path(now, cx);
        self.cc.on_recovery_ack(is_partial, &path);
    }

    /// The controller that asked for it learns what the ACK said of delivery.
    #[inline(never)]
    pub(super) fn notify_delivery(&mut self, now: Time, ack: &Ack<'_>, advances: bool, cx: &mut Context) {
        if !self.cc.takes_deliveries() {
            return;
        }
        self.notify_losses(now, cx);
        let lost = self.board.lost_ever();
        let Some(rates) = &mut self.rates else { return };
        let (newly_delivered, newly_lost) = rates.take_news(lost);
        if newly_delivered == 0 {
            return;
        }
        let (delivered, rate) = (rates.delivered(), rates.last);
        let timestamps = ack.timestamps.filter(|_| cx.agreed.timestamps);
        let delivery = Delivery {
            newly_delivered,
            delivered,
            newly_lost,
            lost,
            in_flight: self.in_flight(),
            is_cwnd_limited: self.usage.is_window_used(&self.cc),
            is_repairing: self.is_repairing(),
            rate,
            one_way_delay: timestamps.map(|timestamps| {
                // Both clocks count the same milliseconds, but a sender must not rely on that.
                Duration::from_millis(u64::from(timestamps.value.wrapping_sub(timestamps.echo)))
            }),
            receiver_clock: timestamps.map(|timestamps| timestamps.value),
            echoed_rtt: timestamps.filter(|_| advances).map(|timestamps| since(now, timestamps.echo)),
            marks: self.extras.marks(),
        };
        let path = self.path(now, cx);
        let before = self.cc.cwnd();
        self.cc.on_delivery(&delivery, &path);
        if delivery.marks.ce_packets > 0 {
            self.note_reduction(now, before, cx);
        }
        if let (Some(rates), true) = (&mut self.rates, self.cc.holds_back()) {
            rates.on_app_limited(delivery.in_flight);
        }
    }

    /// An ACK reported marks to a controller that counts them, whose window was `before`.
    #[cold]
    pub(super) fn note_reduction(&mut self, now: Time, before: u64, cx: &mut Context) {
        if self.cc.cwnd() < before {
            cx.counters.ecn_reductions += 1;
            cx.report(Event::EcnReduction(self.space.una));
            let was_start = self.usage.in_slow_start;
            if was_start {
                self.turn_slow_start(cx);
            }
            self.end_starts(now, was_start.then_some(before), Cause::Mark, ReduceOutcome::Reduced, cx);
        }
    }

    /// The controller that asked for deliveries learns which segments were declared lost.
    pub(super) fn notify_losses(&mut self, now: Time, cx: &Context) {
        let Some(notices) = self.board.take_lost() else { return };
        if let Some(rates) = &self.rates {
            let path = self.path(now, cx);
            for notice in &notices {
                let range = self.board.range_of(notice.index);
                if let Some(noted) = rates.lost(notice.index, notice.lost_ever) {
                    let (start, len) = (range.start, u64::from(range.len));
                    let lost = LostSegment { start, len, has_sack: cx.agreed.sack, ..noted };
                    self.cc.on_lost(&lost, &path);
                }
            }
        }
        self.board.give_back(notices);
    }

    /// Passes the report of a node to the controller, as far as it is about outstanding data.
    #[cold]
    pub(crate) fn notify_error_report(&mut self, now: Time, range: (u64, u64), rate: Option<f32>, cx: &Context) {
        let (start, end) = (range.0.max(self.space.una), range.1.min(self.space.nxt));
        let range = (range.0 >= self.space.una && start < end).then_some((start, end));
        if range.is_some() || rate.is_some() {
            let path = self.path(now, cx);
            self.cc.on_error_report(range, rate, &path);
        }
    }

    /// A router's word came back. `has_begun`: data can be sent.
    pub(crate) fn on_explicit(&mut self, now: Time, word: f32, has_begun: bool, cx: &Context) {
        if has_begun {
            let path = self.path(now, cx);
            self.cc.on_explicit(f64::from(word), &path);
        } else {
            self.extras.for_part().early_word = Some(word);
        }
    }

    /// Data transfer begins: the word that came before counts.
    pub(crate) fn begin_explicit(&mut self, now: Time, cx: &Context) {
        if let Some(word) = self.extras.get_mut().and_then(|extras| extras.early_word.take()) {
            self.on_explicit(now, word, true, cx);
        }
    }

    /// Less than a segment waits, the window has room, and nothing waits to be retransmitted: the application is the limit.
    #[inline]
    pub(crate) fn note_app_limited(&mut self) {
        if self.rates.is_some() {
            self.judge_app_limited();
        }
    }

    #[inline(never)]
    fn judge_app_limited(&mut self) {
        let in_flight = self.in_flight();
        let has_data = self.space.data_end().saturating_sub(self.space.nxt) >= self.space.smss();
        let has_data = has_data || self.extras.is_backlogged();
        let is_limited = !has_data && in_flight < self.cc.cwnd() && !self.board.has_unrepaired();
        if let (Some(rates), true) = (&mut self.rates, is_limited) {
            rates.on_app_limited(in_flight);
        }
    }

    /// The sender's view of the path.
    #[inline(always)]
    pub(crate) fn path(&self, now: Time, cx: &Context) -> PathState {
        let flight_size = self.outstanding();
        let base = match cx.config.ssthresh_base {
            SsthreshBase::FlightSize => self.flight_to_halve(flight_size, cx.agreed.snack.is_some()),
            SsthreshBase::Window => self.cc.cwnd().min(self.space.rwnd),
        };
        PathState {
            now,
            smss: self.space.smss(),
            header_len: cx.agreed.header_len(),
            snd_una: self.space.una,
            snd_nxt: self.space.nxt,
            flight_size,
            ssthresh_base: self.usage.base_to_halve(base, flight_size),
            ssthresh_unit: match cx.config.ssthresh_rounding {
                SsthreshRounding::Bytes => 1,
                SsthreshRounding::Segments | SsthreshRounding::Window => self.space.smss(),
            },
            srtt: self.rtt.srtt(),
            rwnd: self.space.rwnd,
        }
    }

    /// FlightSize as RFC 5681 eq. (4) means it, without the data that limited transmit added (RFC 3042 §2).
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. In fast recovery most of that has left
    /// the network, as each duplicate or selective ACK shows, and new data has taken its place. A timeout would set
    /// ssthresh to a multiple of the path, and slow start would overshoot again without end. So it counts at most as
    /// the window that recovery allows in the network.
    #[inline]
    fn flight_to_halve(&self, flight_size: u64, has_snack: bool) -> u64 {
        let flight_size = flight_size.saturating_sub(self.episode.limited_bytes);
        if self.episode.phase.is_recovery() || has_snack {
            flight_size.min(self.cc.cwnd())
        } else {
            flight_size
        }
    }

    /// Bytes in the network, for controllers and rate samples: pipe, without the data that duplicate ACKs without SACK show to have
    /// arrived.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        let beyond = match self.detector.delivered_beyond() {
            Some(delivered) => delivered,
            // The inflation of the window is that data.
            None if self.episode.phase == Phase::Fast => self.episode.inflation.max(0) as u64,
            None => 0,
        };
        self.board.pipe().saturating_sub(beyond)
    }

    /// FlightSize.
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. After a timeout what was not retransmitted yet
    /// does not count here: it is taken for lost, as if SND.NXT had gone back to it.
    #[inline]
    fn outstanding(&self) -> u64 {
        if self.episode.phase == Phase::Loss {
            self.board.pipe()
        } else {
            self.board.flight_size()
        }
    }
}
