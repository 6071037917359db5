//! Notifications of the congestion control, and its view of the path.

use super::ack::Ack;
use super::reduce::{Cause, ReduceOutcome};
use super::state::Sender;
use crate::config::{SsthreshBase, SsthreshRounding};
use crate::conn::clock::since;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{CongestionControl, Delivery, LostSegment, PathState};
use bentpipe_units::{Duration, Time};

impl Sender {
    /// The controller that asked for it learns what the ACK said of delivery.
    #[inline(never)]
    pub(super) fn notify_delivery(&mut self, now: Time, ack: &Ack<'_>, advances: bool, cx: &mut Context) {
        if !self.window.cc.takes_deliveries() {
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
            in_flight: self.losses.in_flight(&self.board),
            is_cwnd_limited: self.window.usage.is_window_used(&self.window.cc),
            is_repairing: self.losses.is_repairing(),
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
        let before = self.window.cc.cwnd();
        self.window.cc.on_delivery(&delivery, &path);
        if delivery.marks.ce_packets > 0 {
            self.note_reduction(now, before, cx);
        }
        if let (Some(rates), true) = (&mut self.rates, self.window.cc.holds_back()) {
            rates.on_app_limited(delivery.in_flight);
        }
    }

    /// An ACK reported marks to a controller that counts them, whose window was `before`.
    #[cold]
    pub(super) fn note_reduction(&mut self, now: Time, before: u64, cx: &mut Context) {
        if self.window.cc.cwnd() < before {
            cx.counters.ecn_reductions += 1;
            cx.report(Event::EcnReduction(self.space.una));
            let was_start = self.window.usage.in_slow_start;
            if was_start {
                self.window.turn_slow_start(cx);
            }
            self.end_starts(now, was_start.then_some(before), Cause::Mark, ReduceOutcome::Reduced, cx);
        }
    }

    /// The controller that asked for deliveries learns which segments were declared lost.
    pub(crate) fn notify_losses(&mut self, now: Time, cx: &Context) {
        let Some(notices) = self.board.take_lost() else { return };
        if let Some(rates) = &self.rates {
            let path = self.path(now, cx);
            for notice in &notices {
                let range = self.board.sent.range_of(notice.index);
                if let Some(noted) = rates.lost(notice.index, notice.lost_ever) {
                    let (start, len) = (range.start, u64::from(range.len));
                    let lost = LostSegment { start, len, has_sack: cx.agreed.sack, ..noted };
                    self.window.cc.on_lost(&lost, &path);
                }
            }
        }
        self.board.give_back(notices);
    }

    /// Less than a segment waits, the window has room, and nothing waits to be retransmitted: the application is the limit.
    #[inline(never)]
    pub(crate) fn note_app_limited(&mut self) {
        let Some(rates) = &mut self.rates else { return };
        let in_flight = self.losses.in_flight(&self.board);
        let has_data = self.space.data_end().saturating_sub(self.space.nxt) >= self.space.smss();
        let has_data = has_data || self.extras.is_backlogged();
        let is_limited = !has_data && in_flight < self.window.cc.cwnd() && !self.board.has_unrepaired();
        if is_limited {
            rates.on_app_limited(in_flight);
        }
    }

    /// The sender's view of the path.
    #[inline(always)]
    pub(crate) fn path(&self, now: Time, cx: &Context) -> PathState {
        let flight_size = self.losses.outstanding(&self.board);
        let base = match cx.config.ssthresh_base {
            SsthreshBase::FlightSize => {
                let cwnd = self.window.cc.cwnd();
                self.losses.flight_to_halve(flight_size, cwnd, cx.agreed.snack.is_some())
            }
            SsthreshBase::Window => self.window.cc.cwnd().min(self.space.rwnd),
        };
        PathState {
            now,
            smss: self.space.smss(),
            header_len: cx.agreed.header_len(),
            snd_una: self.space.una,
            snd_nxt: self.space.nxt,
            flight_size,
            ssthresh_base: self.window.usage.base_to_halve(base, flight_size),
            ssthresh_unit: match cx.config.ssthresh_rounding {
                SsthreshRounding::Bytes => 1,
                SsthreshRounding::Segments | SsthreshRounding::Window => self.space.smss(),
            },
            srtt: self.rtt.srtt(),
            rwnd: self.space.rwnd,
        }
    }
}
