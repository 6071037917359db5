//! Window of a loss-based congestion control. It grows by slow start, and by congestion avoidance with additive
//! increase (RFC 5681 §3.1). The unit of slow start, its end and the increase are settings ([`Growth`]) that all
//! congestion controls share. A congestion control with its own increase uses slow start only.

use crate::inside::Span;
use crate::keys::{ByteCounting, Growth, Increase};
use crate::parts::slow_start::Algorithm;
use crate::{AckSample, Init, Insides, PathState};
use bentpipe_units::Duration;

/// A congestion window in bytes with its slow start threshold.
#[derive(Clone, Debug)]
pub struct Window {
    cwnd: Cwnd,
    ssthresh: u64,
    smss: u64,
    /// Non-default growth; `None`: RFC 5681, at no cost.
    parts: Option<Box<Parts>>,
}

#[derive(Clone, Debug)]
struct Parts {
    counting: ByteCounting,
    algorithm: Algorithm,
    increase: Increase,
    slow_start_at_ssthresh: bool,
    whole_segments: bool,
    /// Bytes acknowledged in congestion avoidance that have not increased the window yet (RFC 3465 §2.1: bytes_acked).
    acked: u64,
    /// Whether this is the slow start after a timeout.
    is_after_rto: bool,
}

impl Window {
    /// Creates a window of `init.cwnd` bytes.
    pub fn new(init: Init) -> Self {
        let Growth { byte_counting, slow_start, increase, slow_start_at_ssthresh, whole_segments } = init.growth;
        let parts = Parts {
            counting: byte_counting,
            algorithm: Algorithm::new(slow_start, init.smss, init.cwnd),
            increase,
            slow_start_at_ssthresh,
            whole_segments,
            acked: 0,
            is_after_rto: false,
        };
        Self {
            cwnd: Cwnd::new(init.cwnd.max(init.smss)),
            ssthresh: init.ssthresh,
            smss: init.smss,
            parts: (init.growth != Growth::default()).then(|| Box::new(parts)),
        }
    }

    /// Grows the window by an ACK as Reno does: slow start, then additive increase.
    #[inline]
    pub fn grow(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.slow_start(ack, path);
        if left > 0 {
            self.increase(left, path);
        }
    }

    /// Applies slow start to an ACK. Returns the bytes left for congestion avoidance: 0 while slow start continues or
    /// the window is not used.
    #[inline]
    pub fn slow_start(&mut self, ack: &AckSample, path: &PathState) -> u64 {
        if self.parts.is_some() {
            return self.slow_start_by_parts(ack, path);
        }
        if !ack.is_cwnd_limited {
            return 0;
        }
        if self.cwnd.bytes() >= self.ssthresh {
            return ack.newly_acked;
        }
        // RFC 5681 eq. (2).
        self.cwnd.grow(ack.newly_acked.min(self.smss));
        0
    }

    /// Reports its state, for records.
    pub fn inside(&self, insides: &mut Insides<'_>) {
        if self.parts.as_ref().is_some_and(|parts| parts.algorithm.is_draining()) {
            insides
                .state("drain", format_args!("less arrives than was sent, so the window falls until both are equal"));
            return;
        }
        if self.is_in_slow_start() && self.parts.as_ref().is_some_and(|parts| parts.algorithm.is_rapid()) {
            insides
                .state("rapid-start", format_args!("ACKs are not late, so the window grows faster than in slow start"));
            return;
        }
        let delay = self.parts.as_ref().and_then(|parts| parts.algorithm.conservative());
        match (self.is_in_slow_start(), delay) {
            (true, Some(least)) => insides.state(
                "conservative-slow-start",
                format_args!(
                    "the round trip has grown to {}, so the window grows slower than in slow start",
                    Span(least)
                ),
            ),
            (true, None) => insides
                .state("slow-start", format_args!("the window is below its threshold, and doubles in each round trip")),
            (false, _) => insides
                .state("avoidance", format_args!("the window has reached its threshold, and probes for more slowly")),
        };
    }

    /// Applies additive increase for `bytes`, the rest of the ACK after [`slow_start`](Self::slow_start).
    #[inline]
    pub fn increase(&mut self, bytes: u64, path: &PathState) {
        if self.parts.is_some() {
            self.increase_by_parts(bytes, path);
        } else {
            // RFC 5681 eq. (3).
            self.cwnd.grow_per_window(self.smss);
        }
    }

    /// Adds bytes, fractions included, for a separate congestion avoidance. At most doubles the window.
    #[inline]
    pub fn add(&mut self, bytes: f64) {
        self.cwnd.add(bytes.min(self.cwnd.bytes() as f64));
    }

    /// Removes bytes, fractions included, and leaves at least a segment.
    #[inline]
    pub fn take(&mut self, bytes: f64) {
        self.cwnd.take(bytes, self.smss);
    }

    #[inline(never)]
    fn slow_start_by_parts(&mut self, ack: &AckSample, path: &PathState) -> u64 {
        let Some(parts) = &mut self.parts else { return 0 };
        let cwnd = self.cwnd.bytes();
        if let Some(less) = parts.algorithm.drain(ack, path) {
            self.cwnd = Cwnd::new(less.min(cwnd));
            return 0;
        }
        // Results of an ACK hold for later ACKs (RFC 9406 §4.2: first the window is updated).
        let (limit, divisor) = (parts.algorithm.limit(), parts.algorithm.divisor(cwnd));
        if let Some(ssthresh) = parts.algorithm.watch(ack, path, cwnd, cwnd < self.ssthresh) {
            self.ssthresh = self.ssthresh.min(ssthresh.max(2 * self.smss));
        }
        if !ack.is_cwnd_limited || parts.algorithm.is_draining() {
            return 0;
        }
        if !(cwnd < self.ssthresh || (parts.slow_start_at_ssthresh && cwnd == self.ssthresh)) {
            parts.is_after_rto = false;
            return ack.newly_acked;
        }
        let counted = match limit {
            Some(segments) => ack.newly_acked.min(u64::from(segments) * self.smss),
            None => parts.counting.in_slow_start(ack.newly_acked, self.smss, parts.is_after_rto),
        };
        let (room, thousandths) = (self.ssthresh - cwnd, parts.algorithm.thousandths());
        if counted * thousandths / (1000 * divisor) < room || !(parts.counting.counts_bytes() || limit.is_some()) {
            self.cwnd.grow_by(counted, thousandths, 1000 * divisor);
            return 0;
        }
        // The bytes beyond the threshold count in congestion avoidance.
        self.cwnd = Cwnd::new(self.ssthresh);
        parts.is_after_rto = false;
        ack.newly_acked.saturating_sub(room.saturating_mul(1000 * divisor) / thousandths)
    }

    #[inline(never)]
    fn increase_by_parts(&mut self, bytes: u64, path: &PathState) {
        let Some(parts) = &mut self.parts else { return };
        let cwnd = self.cwnd.bytes();
        let segments = parts.increase.per_round(path.srtt);
        // For any increase: one ACK adds at most one segment, which is slow start.
        if parts.counting.counts_bytes() {
            // RFC 3465 §2.1, once per segment of the increase in a round trip.
            let each = ((u128::from(cwnd) << Cwnd::POINT) / u128::from(segments)) as u64;
            parts.acked += bytes;
            if parts.acked >= each {
                parts.acked = (parts.acked - each).min(each);
                self.cwnd.grow(self.smss);
            }
        } else {
            self.cwnd.grow_by(self.smss, (self.smss * segments).min(cwnd << Cwnd::POINT), cwnd << Cwnd::POINT);
        }
    }

    /// Sets threshold and window after congestion.
    pub fn reduce(&mut self, ssthresh: u64, cwnd: u64) {
        self.ssthresh = ssthresh;
        self.cwnd = Cwnd::new(cwnd.max(self.smss));
        if let Some(parts) = &mut self.parts {
            if parts.whole_segments {
                self.cwnd = Cwnd::new((cwnd - cwnd % self.smss).max(self.smss));
            }
            parts.acked = 0;
            parts.algorithm.on_congestion();
        }
    }

    /// Restarts slow start from one segment after a timeout. `ssthresh` is the new threshold, if it changes.
    pub fn restart(&mut self, ssthresh: Option<u64>) {
        self.reduce(ssthresh.unwrap_or(self.ssthresh), self.smss);
        if let Some(parts) = &mut self.parts {
            parts.is_after_rto = true;
        }
    }

    /// Restarts slow start from one segment, and keeps what slow start has learnt of the path.
    pub fn restart_unchanged(&mut self, ssthresh: Option<u64>) {
        self.set(self.smss, ssthresh.unwrap_or(self.ssthresh));
        if let Some(parts) = &mut self.parts {
            (parts.acked, parts.is_after_rto) = (0, true);
        }
    }

    /// Limits the window to `max` bytes, but to no less than a segment.
    pub fn limit(&mut self, max: u64) {
        if self.cwnd.bytes() > max {
            self.cwnd = Cwnd::new(max.max(self.smss));
            if let (Some(parts), true) = (&mut self.parts, self.cwnd.bytes() < self.ssthresh) {
                // Slow start begins.
                parts.acked = 0;
            }
        }
    }

    /// Sets window and threshold, bytes.
    pub fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = Cwnd::new(cwnd.max(self.smss));
        self.ssthresh = ssthresh;
    }

    /// Sets the window, bytes, fractions included, to at least a segment.
    pub fn set_cwnd(&mut self, bytes: f64) {
        self.cwnd = Cwnd::new(self.smss);
        self.cwnd.add(bytes - self.smss as f64);
    }

    /// Sets the threshold, bytes; `u64::MAX`: no threshold.
    pub fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }

    /// Returns the congestion window, bytes, fractions included.
    pub fn exact(&self) -> f64 {
        self.cwnd.exact()
    }

    /// Changes the segment size.
    pub fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.cwnd = Cwnd::new(self.cwnd.bytes().max(smss));
    }

    /// Whether the next ACK grows the window by slow start.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        let cwnd = self.cwnd.bytes();
        let goes_on = self.parts.as_ref().is_some_and(|parts| parts.slow_start_at_ssthresh);
        cwnd < self.ssthresh || (goes_on && cwnd == self.ssthresh)
    }

    /// Returns the congestion window, bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.cwnd.bytes()
    }

    /// Returns the slow start threshold, bytes; `u64::MAX`: no threshold yet.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

impl ByteCounting {
    /// Returns the increase by an ACK of `newly` bytes in slow start.
    fn in_slow_start(self, newly: u64, smss: u64, is_after_rto: bool) -> u64 {
        match self {
            Self::Rfc5681 => newly.min(smss),
            Self::PerAck => smss,
            Self::UbcPure => newly,
            // RFC 3465 §2.3: data held back by the receiver gives no information about the network's rate.
            _ if is_after_rto => newly.min(smss),
            Self::Abc { limit } => newly.min(u64::from(limit) * smss),
            Self::Lbc => newly.min(2 * smss),
            Self::Ubc => newly,
        }
    }

    /// Whether growth counts bytes, not ACKs.
    pub(crate) fn counts_bytes(self) -> bool {
        !matches!(self, Self::Rfc5681 | Self::PerAck)
    }
}

impl Increase {
    /// Returns segments per round trip, in units of 2^-16, never 0. Before the first sample it is the standard's one.
    fn per_round(self, srtt: Option<Duration>) -> u64 {
        let one = 1u64 << Cwnd::POINT;
        match (self, srtt) {
            (Self::ConstantRate { reference_rtt }, Some(srtt)) => {
                let square = |rtt: Duration| u128::from(rtt.as_ps()) * u128::from(rtt.as_ps());
                let ratio = (square(srtt) / (square(reference_rtt) >> Cwnd::POINT).max(1)).max(1);
                // At most one window is added.
                ratio.min(u128::from(Cwnd::MAX)) as u64
            }
            (Self::ByK { k, above_rtt }, Some(srtt)) if srtt > above_rtt => u64::from(k.max(1)) * one,
            _ => one,
        }
    }
}

/// A window in bytes that keeps fractions of a byte, so that many small increases add up (`docs/specs/index.md`,
/// rule 6). It has 16 binary digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cwnd(u64);

impl Cwnd {
    pub(crate) const POINT: u32 = 16;
    /// Bound of all windows, far above the largest that RFC 7323 can advertise.
    pub const MAX: u64 = 1 << 40;

    /// Creates a window of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self(bytes.min(Self::MAX) << Self::POINT)
    }

    /// Returns whole bytes.
    #[inline]
    pub fn bytes(self) -> u64 {
        self.0 >> Self::POINT
    }

    /// Returns bytes, fractions included.
    pub fn exact(self) -> f64 {
        self.0 as f64 / f64::from(1_u32 << Self::POINT)
    }

    /// Adds whole bytes.
    #[inline]
    pub fn grow(&mut self, bytes: u64) {
        self.0 = (self.0 + (bytes.min(Self::MAX) << Self::POINT)).min(Self::MAX << Self::POINT);
    }

    /// Adds bytes and fractions of a byte. Ignores NaN and negative numbers.
    #[inline]
    pub fn add(&mut self, bytes: f64) {
        // The cast saturates, and turns NaN into 0.
        let increase = (bytes * f64::from(1_u32 << Self::POINT)) as u64;
        self.0 = self.0.saturating_add(increase).min(Self::MAX << Self::POINT);
    }

    /// Removes bytes and fractions of a byte, and leaves at least `least` bytes. Ignores NaN and negative numbers.
    #[inline]
    pub fn take(&mut self, bytes: f64, least: u64) {
        let decrease = (bytes * f64::from(1_u32 << Self::POINT)) as u64;
        self.0 = self.0.saturating_sub(decrease).max(least.min(Self::MAX) << Self::POINT);
    }

    /// Adds `smss * smss / cwnd`: one segment per window of ACKs (RFC 5681 eq. 3).
    #[inline]
    pub fn grow_per_window(&mut self, smss: u64) {
        let increase = ((smss * smss) << Self::POINT) / self.bytes().max(1);
        self.0 = (self.0 + increase).min(Self::MAX << Self::POINT);
    }

    /// Adds `bytes * numerator / denominator`.
    pub fn grow_by(&mut self, bytes: u64, numerator: u64, denominator: u64) {
        let bytes = u128::from(bytes.min(Self::MAX)) << Self::POINT;
        let increase = bytes * u128::from(numerator) / u128::from(denominator.max(1));
        self.0 = (u128::from(self.0) + increase).min(u128::from(Self::MAX << Self::POINT)) as u64;
    }
}

/// Implements the named hooks of a `CongestionControl` by its field `window`.
macro_rules! window_hooks {
    ($($hook:ident),+) => { $($crate::parts::loss_window::window_hooks!(@$hook);)+ };
    (@limit_cwnd) => {
        fn limit_cwnd(&mut self, max: u64) {
            self.window.limit(max);
        }
    };
    (@set_window) => {
        fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
            self.window.set(cwnd, ssthresh);
        }
    };
    (@on_smss) => {
        fn on_smss(&mut self, smss: u64) {
            self.window.on_smss(smss);
        }
    };
    (@cwnd) => {
        #[inline]
        fn cwnd(&self) -> u64 {
            self.window.cwnd()
        }
    };
    (@inside) => {
        fn inside(&self, insides: &mut $crate::Insides<'_>) {
            self.window.inside(insides);
        }
    };
    (@ssthresh) => {
        #[inline]
        fn ssthresh(&self) -> u64 {
            self.window.ssthresh()
        }
    };
}

pub(crate) use window_hooks;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    const SMSS: u64 = 1000;

    fn window(cwnd: u64, ssthresh: u64, growth: Growth) -> Window {
        Window::new(Init { smss: SMSS, cwnd, ssthresh, growth, ..Init::default() })
    }

    fn counting(byte_counting: ByteCounting) -> Growth {
        Growth { byte_counting, ..Growth::default() }
    }

    /// What Reno does with an ACK of `newly` bytes at this round-trip time.
    fn ack(window: &mut Window, newly: u64, srtt_ms: u64) {
        let ack = AckSample { newly_acked: newly, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
        let path = PathState { smss: SMSS, srtt: Some(Duration::from_millis(srtt_ms)), ..path(window.cwnd()) };
        window.grow(&ack, &path);
    }

    const ABC: ByteCounting = ByteCounting::Abc { limit: 2 };
    const ALL: [ByteCounting; 6] =
        [ByteCounting::Rfc5681, ByteCounting::PerAck, ByteCounting::Ubc, ByteCounting::UbcPure, ByteCounting::Lbc, ABC];

    /// `docs/specs/byte-counting.md`, tests: 3000 B are acknowledged at once.
    #[test]
    fn rfc3465_2_2_slow_start_counts_bytes_up_to_a_limit() {
        let after = |counting_: ByteCounting, after_rto: bool| {
            let mut w = window(4000, u64::MAX, counting(counting_));
            if after_rto {
                w.restart(Some(50_000));
                w.cwnd = Cwnd::new(4000);
            }
            ack(&mut w, 3000, 500);
            w.cwnd()
        };
        assert_eq!(ALL.map(|counting| after(counting, false)), [5000, 5000, 7000, 7000, 6000, 6000]);
        assert_eq!(ALL.map(|counting| after(counting, true)), [5000, 5000, 5000, 7000, 5000, 5000]);
        assert_eq!(after(ByteCounting::Abc { limit: 1 }, false), 5000);
    }

    /// Until cwnd reaches ssthresh; the slow start after an idle time counts as before.
    #[test]
    fn rfc3465_2_3_one_segment_per_ack_until_the_slow_start_after_a_timeout_ends() {
        let mut w = window(4000, u64::MAX, counting(ABC));
        w.restart(Some(3000));
        ack(&mut w, 2000, 500);
        assert_eq!(w.cwnd(), 2000);
        ack(&mut w, 2000, 500);
        assert_eq!(w.cwnd(), 3000);
        w.limit(1000);
        ack(&mut w, 2000, 500);
        assert_eq!(w.cwnd(), 3000);
    }

    #[test]
    fn a_loss_leaves_whole_segments_if_so_set() {
        let left = |whole_segments| {
            let mut w = window(20_000, u64::MAX, Growth { whole_segments, ..Growth::default() });
            [9_999, 400].map(|cwnd| {
                w.reduce(9_000, cwnd);
                w.cwnd()
            })
        };
        assert_eq!([left(true), left(false)], [[9_000, 1000], [9_999, 1000]]);
    }

    /// RFC 5681 §3.1: when both are equal, the sender may use either.
    #[test]
    fn rfc5681_3_1_slow_start_at_the_threshold_adds_one_segment_more() {
        let after = |slow_start_at_ssthresh| {
            let mut w = window(20_000, u64::MAX, Growth { slow_start_at_ssthresh, ..Growth::default() });
            w.reduce(10_000, 10_000);
            assert_eq!(w.is_in_slow_start(), slow_start_at_ssthresh);
            [(); 2].map(|()| {
                ack(&mut w, 1000, 500);
                w.cwnd()
            })
        };
        assert_eq!(after(true), [11_000, 11_090]);
        assert_eq!(after(false), [10_100, 10_199]);
    }

    /// Five ACKs of 2000 B make a window of 10,000 B.
    #[test]
    fn rfc3465_2_1_congestion_avoidance_adds_a_segment_for_each_window_acknowledged() {
        let after_each = |counting_: ByteCounting| {
            let mut w = window(10_000, 2000, counting(counting_));
            [(); 5].map(|()| {
                ack(&mut w, 2000, 500);
                w.cwnd()
            })
        };
        assert_eq!(after_each(ABC), [10_000, 10_000, 10_000, 10_000, 11_000]);
        assert_eq!(after_each(ByteCounting::UbcPure), after_each(ABC));
        assert_eq!(after_each(ByteCounting::PerAck)[4], 10_490);
        assert_eq!(after_each(ByteCounting::PerAck), after_each(ByteCounting::Rfc5681));
    }

    #[test]
    fn rfc3465_2_1_reductions_forget_what_was_counted() {
        let mut w = window(10_000, 2000, counting(ABC));
        (0..4).for_each(|_| ack(&mut w, 2000, 500));
        w.reduce(10_000, 10_000);
        (0..4).for_each(|_| ack(&mut w, 2000, 500));
        assert_eq!(w.cwnd(), 10_000);
        ack(&mut w, 2000, 500);
        assert_eq!(w.cwnd(), 11_000);
    }

    /// 1000 B lead from 9000 B to the threshold; with the other 1000 B, nine more make a window.
    #[test]
    fn the_rest_of_an_ack_that_reaches_the_threshold_counts_in_congestion_avoidance() {
        let mut w = window(9000, 10_000, counting(ABC));
        ack(&mut w, 2000, 500);
        assert_eq!(w.cwnd(), 10_000);
        (0..8).for_each(|_| ack(&mut w, 1000, 500));
        assert_eq!(w.cwnd(), 10_000);
        ack(&mut w, 1000, 500);
        assert_eq!(w.cwnd(), 11_000);
    }

    /// `docs/specs/delayed-ack.md`, test 2: an ACK for each second segment.
    #[test]
    fn delayed_acks_slow_slow_start_down_and_byte_counting_makes_up_for_it() {
        let rounds = |counting_: ByteCounting| {
            let mut w = window(8000, u64::MAX, counting(counting_));
            [(); 3].map(|()| {
                (0..w.cwnd() / 2000).for_each(|_| ack(&mut w, 2000, 500));
                w.cwnd() / 1000
            })
        };
        assert_eq!(rounds(ByteCounting::Rfc5681), [12, 18, 27]);
        assert_eq!(rounds(ABC), [16, 32, 64]);
    }

    /// `docs/specs/constant-rate-increase-by-k.md`, tests: 50 segments, 0.5 s.
    #[test]
    fn rfc2760_3_6_increase_does_not_depend_on_the_round_trip() {
        let reference_rtt = Duration::from_millis(100);
        let constant_rate = Growth { increase: Increase::ConstantRate { reference_rtt }, ..Growth::default() };
        let by_k = |k| {
            let increase = Increase::ByK { k, above_rtt: Duration::from_millis(300) };
            Growth { increase, ..Growth::default() }
        };
        let added = |growth, srtt_ms| {
            let mut w = window(50_000, 2000, growth);
            ack(&mut w, 1000, srtt_ms);
            w.cwnd() - 50_000
        };
        assert_eq!([500, 100, 50].map(|ms| added(constant_rate, ms)), [500, 20, 5]);
        assert_eq!([500, 301, 300, 20].map(|ms| added(by_k(4), ms)), [80, 80, 20, 20]);
        assert_eq!(added(constant_rate, 5000), 1000, "never faster than slow start");
        // Counted in bytes: 25 segments in a round trip, one for each two segments acknowledged.
        let mut w = window(50_000, 2000, Growth { byte_counting: ABC, ..constant_rate });
        (0..5).for_each(|_| ack(&mut w, 1000, 500));
        assert_eq!(w.cwnd(), 52_000);
    }

    /// From 50 to 100 segments takes 50 round trips, or 12.5 with K = 4.
    #[test]
    fn rfc2760_3_6_increase_by_k_takes_a_kth_of_the_time() {
        let rounds = |increase| {
            let mut w = window(50_000, 2000, Growth { increase, ..Growth::default() });
            let mut acked = 0.0;
            while w.cwnd() < 100_000 {
                acked += 1000.0 / w.cwnd() as f64;
                ack(&mut w, 1000, 500);
            }
            acked
        };
        let by_four = Increase::ByK { k: 4, above_rtt: Duration::from_millis(300) };
        assert!((rounds(Increase::Standard) - 50.0).abs() < 0.1);
        assert!((rounds(by_four) - 12.5).abs() < 0.1);
    }
}
