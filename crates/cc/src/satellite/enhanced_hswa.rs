//! Enhanced HSWA-TCP combines [HSWA](super::Hswa)'s increment with Westwood's bandwidth estimate. The estimate sets the
//! window after a loss, and also before a loss when the round trip is longer than its mean.
//!
//! R. P. Pandya and A. S. Shaikh, "Enhancement of HSWA-TCP Congestion Avoidance Scheme for High Speed Satellite
//! Communication Network".
//!
//! # How it works
//!
//! The figure with the algorithm is illegible. The text of the paper states:
//!
//! - The algorithm uses error rate, round trip and bandwidth.
//! - It estimates the bandwidth continuously with eq. 5.1, which is Westwood's filter, and adjusts the window from the
//!   estimate, not only at a loss.
//! - It assumes loss or congestion when RTT > AvgRTT, and adjusts the window accordingly.
//! - The bandwidth in use takes part in the increment.
//!
//! The following is the smallest procedure that does all of this. With W = max(2, b̂ RTTmin) and f = 1, or clamp(1 - 8
//! b̂ / C, 0.05, 1) where the rate C of the link is set:
//!
//! ```text
//! RTT > (1 + δ) AvgRTT:   ssthresh = W, cwnd at most W; once in a round trip
//! otherwise:              slow start below ssthresh, else f times HSWA's increment
//! a loss:                 ssthresh = W, cwnd at most W
//! a timeout:              ssthresh = W, cwnd = W if the last RTT was no longer, otherwise 1 segment
//! ```
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - Literally δ is 0. Half of all round trips are then too long, because they scatter about their mean (`delta`).
//! - At the start the estimate is far too low. The first line is left out until the first slow start has ended, a loss
//!   occurred or ten round trips are over.
//! - Deliveries count as in Westwood. The settings of HSWA have the same meaning as there.
//! - The paper leaves further inputs for many connections to future work. `connections`, `queue_target` and
//!   `measures_errors` are bentpipe's.
//!
//! Deviations:
//!
//! - Round-trip times of segments that were sent once also count in recovery.
//! - Without an estimate, a loss halves the window and a timeout leaves one segment.
//!
//! # When it helps
//!
//! Enhanced HSWA is fast where the link itself loses many packets and no other flow uses it. Neither a loss nor a
//! timeout reduces its rate below the measured rate. In `geo`, where other flows lengthen the queue, the round trip is
//! above its mean, and it yields.
//!
//! # When it hurts
//!
//! - It needs an oracle for the error rate, like HSWA.
//! - It takes most of `s1` from flows that share a queue with it, because loss by congestion does not slow it down
//!   either.
//! - It keeps a queue that was already there when the mean was taken.
//! - On low orbits the round trip is above its mean for minutes while a satellite moves away. Then the window does not
//!   grow at all.

use super::hswa::{HswaSettings, Rule};
use crate::parts::bandwidth_filter::Tustin;
use crate::parts::loss_window::window_hooks;
use crate::parts::round::Round;
use crate::settings::{settings, Include};
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, PathState, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Window after a timeout.
    pub enum EnhancedHswaRto {
        /// Bandwidth-delay product, if the last round trip was not longer than its mean. Otherwise one segment.
        "hold" => Hold,
        /// One segment.
        "reset" => Reset,
    }
}

settings! {
    /// Settings of Enhanced HSWA.
    pub struct EnhancedHswaSettings {
        /// Keys of HSWA.
        hswa: HswaSettings as Include = HswaSettings::default();
        /// δ: largest excess of a round trip over the mean, as a share of the mean.
        delta: f64 = 0.05, [0.0, 10.0], "reading; the paper has 0";
        /// Window after a timeout.
        rto: enum EnhancedHswaRto = EnhancedHswaRto::Hold, "reading: without a long round trip the paper assumes an error";
        /// C: rate of the link, bit/s, for f; 0: f is 1.
        link_rate: f64 = 0.0, [0.0, 1e15], "reading: the paper leaves open how the use of the bandwidth takes part";
        /// Time constant τ of the filter: 1 / τ is its cut-off frequency.
        tau: Duration = Duration::from_millis(500), "Mascolo 2001; the paper does not say";
        /// n: connections that share the link, known from an oracle. Each grows by an nth of the increment.
        connections: u64 = 1, [1, 10_000], "reading: the paper's future work has further inputs";
        /// Queueing delay at which the increment becomes 0. Below it the increment falls with the delay. A loss with a
        /// longer delay halves the window. 0: no target.
        queue_target: Duration = Duration::ZERO, "reading of the paper's future work";
        /// Whether the error rate is measured instead of `error_rate`: lost over sent bytes of the connection, a mean
        /// over the last thousand segments.
        measures_errors: bool = false, "reading of the paper's future work";
        /// Virtual samples m: while nothing arrives, a sample of zero is taken every τ / m; 0: no virtual samples.
        virtual_samples: u64 = 2, [0, 1000], "Mascolo 2001";
    }
}

/// Segments over which the error rate is averaged.
const ERRORS_OVER: f64 = 1000.0;

/// First round trip whose estimate is no longer too low.
const START: u32 = 10;

/// Enhanced HSWA on a connection: the window, HSWA's rule, and the estimated bandwidth.
#[derive(Clone, Debug)]
pub struct EnhancedHswa {
    window: Window,
    rule: Rule,
    filter: Tustin,
    settings: EnhancedHswaSettings,
    round: Round,
    rounds: u32,
    /// Whether it skips slow start: nothing was lost yet.
    is_avoiding: bool,
    /// Whether the start is over, so the estimate is good enough.
    is_armed: bool,
    /// Whether the last round trip was longer than the mean.
    is_long: bool,
    /// Queueing delay of the last round trip: its excess over the least, s.
    queueing_s: f64,
    /// The measured error rate.
    errors: f64,
    /// End of the data sent when the window was last reduced for a long round trip.
    cut_end: Option<u64>,
}

impl EnhancedHswa {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: EnhancedHswaSettings) -> Self {
        Self {
            window: Window::new(init),
            rule: Rule::new(settings.hswa),
            filter: Tustin::new(settings.tau, settings.virtual_samples),
            settings,
            round: Round::default(),
            rounds: 0,
            is_avoiding: settings.hswa.from_start,
            is_armed: false,
            is_long: false,
            queueing_s: 0.0,
            errors: 0.0,
            cut_end: None,
        }
    }

    /// Returns W, the bandwidth-delay product, bytes, at least two segments; `None` without an estimate.
    fn pipe(&mut self, path: &PathState) -> Option<u64> {
        self.filter.pass(path.now);
        let (rate, rtt) = (self.filter.estimate()?, self.rule.least_s()?);
        Some(((rate * rtt) as u64).max(2 * path.smss))
    }

    /// Returns f, adjusted by the further inputs.
    fn factor(&self) -> f64 {
        let used = match self.filter.estimate() {
            Some(rate) if self.settings.link_rate > 0.0 => {
                (1.0 - 8.0 * rate / self.settings.link_rate).clamp(0.05, 1.0)
            }
            _ => 1.0,
        };
        used * (1.0 - self.queue_share()).max(0.0) / self.settings.connections as f64
    }

    /// Returns the queueing delay of the last round trip over its target; 0 without a target.
    fn queue_share(&self) -> f64 {
        let target = self.settings.queue_target.as_secs_f64();
        if target > 0.0 {
            self.queueing_s / target
        } else {
            0.0
        }
    }

    /// Updates the error rate with the lost and the sent bytes of a delivery.
    fn measure_errors(&mut self, delivery: &Delivery, smss: u64) {
        let sent = (delivery.newly_delivered + delivery.newly_lost) as f64;
        if sent > 0.0 {
            let weight = (sent / smss as f64 / ERRORS_OVER).min(1.0);
            self.errors += (delivery.newly_lost as f64 / sent - self.errors) * weight;
            self.rule.set_error_rate(self.errors);
        }
    }

    /// Counts delivered bytes, and a round-trip time if there is one.
    #[inline]
    fn watch(&mut self, bytes: u64, rtt: Option<Duration>, path: &PathState) {
        self.filter.on_delivery(bytes, path.now);
        if let Some(rtt) = rtt {
            self.queueing_s = self.rule.least_s().map_or(0.0, |least| (rtt.as_secs_f64() - least).max(0.0));
            self.is_long = self.rule.watch(rtt) > 1.0 + self.settings.delta;
        }
        if !self.is_armed {
            self.rounds += u32::from(self.round.is_over(path));
            let has_started = !self.is_avoiding && self.window.cwnd() >= self.window.ssthresh();
            self.is_armed = has_started || self.rounds >= START;
        }
        let is_due = self.cut_end.is_none_or(|end| path.snd_una > end);
        if self.is_armed && self.is_long && is_due && rtt.is_some() {
            self.cut_end = Some(path.snd_nxt);
            if let Some(pipe) = self.pipe(path) {
                self.cut(pipe, path);
            }
        }
    }

    fn cut(&mut self, pipe: u64, path: &PathState) {
        self.window.reduce(path.as_ssthresh(pipe), self.window.cwnd().min(pipe));
    }
}

impl CongestionControl for EnhancedHswa {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if !(self.is_armed && self.is_long) {
            let factor = self.factor();
            self.rule.grow(&mut self.window, ack, path, self.is_avoiding, factor);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        (self.is_avoiding, self.is_armed) = (false, true);
        let has_share = matches!(why, Congestion::Ecn { beta: Some(_) });
        let pipe = if has_share || self.queue_share() >= 1.0 { None } else { self.pipe(path) };
        self.cut(pipe.unwrap_or_else(|| path.share(why.left(HALF))), path);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        (self.is_avoiding, self.is_armed) = (false, true);
        let pipe = self.pipe(path);
        let ssthresh = pipe.unwrap_or_else(|| path.half());
        self.window.restart(first.then(|| path.as_ssthresh(ssthresh)));
        if let (Some(pipe), EnhancedHswaRto::Hold, false) = (pipe, self.settings.rto, self.is_long) {
            let ssthresh = self.window.ssthresh();
            self.window.set(pipe.min(ssthresh), ssthresh);
        }
    }

    fn takes_deliveries(&self) -> bool {
        true
    }

    #[inline]
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        if self.settings.measures_errors {
            self.measure_errors(delivery, path.smss);
        }
        self.watch(delivery.newly_delivered, delivery.rate.and_then(|rate| rate.rtt), path);
    }

    fn on_resume(&mut self, _: &PathState) {
        self.filter.resume();
    }

    fn undo(&mut self, before: Self) {
        self.window = before.window;
        self.is_avoiding = before.is_avoiding;
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};
    use crate::testbench::DELIVERY;

    /// 12.5 MB/s arrive, one ACK each 80 us, and the round trip takes 510 ms: the path holds 6375 segments.
    type Sender = AckClock<EnhancedHswa>;

    fn start(segments: u64, settings: EnhancedHswaSettings) -> Sender {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
        let mut sender = AckClock::full(EnhancedHswa::new(init, settings));
        (0..150_000).for_each(|_| ack(&mut sender, 510.0));
        sender
    }

    fn rtt(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1000.0)
    }

    /// Learns from a delivery, without growth.
    fn ack(sender: &mut Sender, rtt_ms: f64) {
        let view = *sender.pass(Duration::from_micros(80));
        sender.cc.watch(SMSS, Some(rtt(rtt_ms)), &view);
    }

    /// Returns the growth per ACK, in segments. Bytes are counted whole.
    fn grow(sender: &mut Sender) -> f64 {
        let before = sender.cc.cwnd();
        for _ in 0..1000 {
            let view = *sender.view();
            sender.cc.on_ack(
                &AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: None, ..AckSample::default() },
                &view,
            );
        }
        (sender.cc.cwnd() - before) as f64 / SMSS as f64 / 1000.0
    }

    fn windows(sender: &Sender) -> (u64, u64) {
        [sender.cc.cwnd(), sender.cc.ssthresh()].map(|bytes| (bytes + SMSS / 2) / SMSS).into()
    }

    fn settings() -> EnhancedHswaSettings {
        let hswa = HswaSettings { error_rate: 1e-3, ..HswaSettings::default() };
        EnhancedHswaSettings { hswa, ..EnhancedHswaSettings::default() }
    }

    /// `docs/specs/enhanced-hswa-tcp.md`, test 1.
    #[test]
    fn the_pipe_is_rate_times_least_round_trip() {
        let mut sender = start(6375, settings());
        let view = *sender.view();
        assert!(sender.cc.pipe(&view).unwrap().abs_diff(6_375_000) < 200);
    }

    /// Test 2.
    #[test]
    fn a_long_round_trip_cuts_to_the_pipe_once_in_a_round_trip() {
        let mut sender = start(7000, settings());
        sender.cc.rule.set_mean(rtt(520.0));
        ack(&mut sender, 600.0);
        assert_eq!(windows(&sender), (6375, 6375));
        let window = sender.cc.cwnd();
        sender.path.now += Duration::from_secs(10);
        (0..6000).for_each(|_| ack(&mut sender, 10_000.0));
        assert_eq!(sender.cc.cwnd(), window);
        assert_eq!(grow(&mut sender), 0.0, "a long round trip adds nothing");
        (0..2000).for_each(|_| ack(&mut sender, 10_000.0));
        assert!(sender.cc.cwnd() < window, "the idle time was in the estimate");
    }

    /// Test 3: S is 99.66, a round trip of 6000 segments.
    #[test]
    fn otherwise_it_grows_as_hswa() {
        let mut sender = start(6000, settings());
        let grown = grow(&mut sender);
        assert!((grown - 0.01661).abs() < 2e-4, "{grown}");
        // Of 100 Mbit/s all is in use, of 200 half.
        for (link_rate, share) in [(1e8, 0.05), (2e8, 0.5)] {
            let mut sender = start(6000, EnhancedHswaSettings { link_rate, ..settings() });
            let grown = grow(&mut sender);
            assert!((grown / 0.01661 / share - 1.0).abs() < 0.02, "{grown}");
        }
    }

    /// Test 4.
    #[test]
    fn a_loss_does_not_reduce_a_window_of_the_pipe() {
        for (segments, left) in [(6374, 6374), (7000, 6375), (12_750, 6375)] {
            let mut sender = start(segments, settings());
            let view = *sender.view();
            sender.cc.on_congestion(Congestion::FastRetransmit, &view);
            assert_eq!(windows(&sender), (left, 6375));
        }
    }

    #[test]
    fn a_timeout_leaves_the_pipe_where_it_looks_like_an_error() {
        for (rto, rtt_ms, left) in [
            (EnhancedHswaRto::Hold, 510.0, 6375),
            (EnhancedHswaRto::Hold, 600.0, 1),
            (EnhancedHswaRto::Reset, 510.0, 1),
        ] {
            let mut sender = start(6375, EnhancedHswaSettings { rto, ..settings() });
            ack(&mut sender, rtt_ms);
            let view = *sender.view();
            sender.cc.on_rto(true, &view);
            assert_eq!(windows(&sender), (left, 6375), "{rto:?} {rtt_ms}");
            let ssthresh = sender.cc.ssthresh();
            sender.cc.on_rto(false, &view);
            assert_eq!((windows(&sender).0, sender.cc.ssthresh()), (left, ssthresh));
        }
    }

    /// A round trip of a segment is over with the ACK after it.
    #[test]
    fn the_start_is_not_cut() {
        let mut cc = EnhancedHswa::new(Init { smss: SMSS, cwnd: 4 * SMSS, ..Init::default() }, settings());
        let mut view = AckClock::full(cc.clone()).path;
        let mut at = 0;
        for k in 1..200_u64 {
            view.now += Duration::from_millis(500);
            (view.snd_una, view.snd_nxt) = (k * SMSS, (k + 1) * SMSS);
            cc.watch(SMSS, Some(Duration::from_millis(500 + 100 * k)), &view);
            if cc.ssthresh() < u64::MAX {
                at = k;
                break;
            }
        }
        assert_eq!(at, 19, "the tenth round trip");
    }

    /// Three connections add a third each. Of a target of 200 ms, 50 ms of queueing leave three quarters.
    #[test]
    fn further_inputs_scale_the_increment() {
        for (settings, share) in [
            (EnhancedHswaSettings { connections: 3, ..settings() }, 1.0 / 3.0),
            (EnhancedHswaSettings { queue_target: Duration::from_millis(200), delta: 10.0, ..settings() }, 0.75),
        ] {
            let mut sender = start(6000, settings);
            sender.cc.rule.set_mean(rtt(510.0));
            ack(&mut sender, if share == 0.75 { 560.0 } else { 510.0 });
            sender.cc.rule.set_mean(rtt(510.0));
            let grown = grow(&mut sender);
            assert!((grown / 0.01661 / share - 1.0).abs() < 0.03, "{grown} {share}");
        }
    }

    #[test]
    fn a_loss_behind_a_queue_halves_where_that_is_looked_at() {
        let settings = EnhancedHswaSettings { queue_target: Duration::from_millis(50), delta: 10.0, ..settings() };
        for (rtt_ms, left) in [(510.0, 6375), (570.0, 3187)] {
            let mut sender = start(6375, settings);
            ack(&mut sender, rtt_ms);
            let view = *sender.view();
            sender.cc.on_congestion(Congestion::FastRetransmit, &view);
            assert!(windows(&sender).0.abs_diff(left) <= 2, "{rtt_ms} {:?}", windows(&sender));
        }
    }

    /// One segment in ten lost, ten thousand times: S is 10 x 3.32 instead of 99.66.
    #[test]
    fn the_error_rate_may_be_that_of_its_own_losses() {
        let mut sender = start(6000, EnhancedHswaSettings { measures_errors: true, ..settings() });
        let view = *sender.view();
        for _ in 0..10_000 {
            let delivery = Delivery { newly_delivered: 9 * SMSS, newly_lost: SMSS, ..DELIVERY };
            sender.cc.measure_errors(&delivery, view.smss);
        }
        assert!((sender.cc.rule.increment() - 33.22).abs() < 0.1, "{}", sender.cc.rule.increment());
    }

    #[test]
    fn a_needless_reduction_is_undone_but_what_was_learnt_stays() {
        let mut sender = start(7000, settings());
        let before = sender.cc.clone();
        let view = *sender.view();
        sender.cc.on_congestion(Congestion::FastRetransmit, &view);
        (0..10_000).for_each(|_| ack(&mut sender, 510.0));
        let view = *sender.view();
        let pipe = sender.cc.pipe(&view);
        sender.cc.undo(before);
        assert_eq!((sender.cc.cwnd(), sender.cc.pipe(&view)), (7000 * SMSS, pipe));
    }
}
