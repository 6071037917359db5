//! HighSpeed TCP adds more per round trip and gives up less per loss, the larger the window is. Large windows then need
//! no unrealistically low loss rates.
//!
//! S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003.
//!
//! # How it works
//!
//! Up to `low_window` it is Reno. §5 defines the response function: a straight line on logarithmic scales, from Reno's
//! 38 segments at a loss rate of 10⁻³ to 83,000 at 10⁻⁷, about 0.12 / p^0.835. The increase a(w) and the decrease b(w)
//! of §7 follow from it. Appendix B has both in a table.
//!
//! # Differences from the source
//!
//! - The RFC ends at `high_window`. Above it, b(w) stays at `high_decrease`, and a(w) continues the response function.
//! - Rounding makes a(38) 0.963, slower than Reno: `at_least_reno`.
//! - The RFC refers to RFC 3742 for slow start. That is `slow_start = "limited"` and not the default.
//! - The increase is per ACK or per acknowledged byte, as `byte_counting` defines for Reno.
//! - Linux takes a and b from the row of the table that the window has not passed yet, so it adds up to one segment
//!   more per round trip: `parameters = "row_above"`.
//!
//! # When it helps
//!
//! HighSpeed TCP is fast on a long path with few losses. At 6375 segments (100 Mbit/s, geostationary) it recovers from
//! a loss in 69 round trips, and Reno in 3200. In `s2` it has about twice the goodput of `sack` up to a loss rate of
//! 1e-4. It fills `leo` over all handovers. In `geo`, where only the queue drops, it has the goodput of `sack`, with a
//! longer queue.
//!
//! # When it hurts
//!
//! HighSpeed TCP takes more than half from Reno's flows where windows are large: beside `sack` in `geo`, but not in
//! `s1`. Below 38 segments, the range of a satellite path with many losses, it changes nothing. In `s1`, and in `s2` at
//! 1e-2, it equals `sack`.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

bentpipe_units::words! {
    /// Source of increase and decrease.
    pub enum HighSpeedParameters {
        /// The formulas.
        "formula" => Formula,
        /// The table, by the last row that the window has reached.
        "row_below" => RowBelow,
        /// The table, by the first row that the window has not passed, as Linux does.
        "row_above" => RowAbove,
    }
}

settings! {
    /// Settings of HighSpeed TCP.
    pub struct HighSpeedSettings {
        /// Window up to which it is Reno, segments.
        low_window: u64 = 38, [2, 10_000], "RFC 3649 §5";
        /// Loss rate per segment at which the average window is `low_window`.
        low_p: f64 = 1e-3, [1e-5, 0.1], "RFC 3649 §5";
        /// Window at which a loss takes `high_decrease`, segments.
        high_window: u64 = 83_000, [10_001, 100_000_000], "RFC 3649 §5";
        /// Loss rate per segment at which the average window is `high_window`.
        high_p: f64 = 1e-7, [1e-15, 9e-6], "RFC 3649 §5";
        /// Share that a loss takes from a window of `high_window` or more.
        high_decrease: f64 = 0.1, [0.01, 0.5], "RFC 3649 §7";
        /// Source of increase and decrease. The table uses no other number than `low_window`.
        parameters: enum HighSpeedParameters = HighSpeedParameters::Formula, "RFC 3649 §7";
        /// Whether it adds at least one segment per round trip where the formula gives less, just above `low_window`.
        at_least_reno: bool = true, "reading: a(38) is given as 1 and calculated as 0.963";
        /// Whether a timeout halves the threshold. Otherwise a timeout takes the share of a loss.
        timeout_halves: bool = false, "reading: a timeout is a congestion event of RFC 3649 §7; Linux";
    }
}

/// Appendix B: segments, and hundredths of the window that a loss takes. The increase is the number of the row, from 1.
const TABLE: [(u32, u8); 73] = [
    (38, 50),
    (118, 44),
    (221, 41),
    (347, 38),
    (495, 37),
    (663, 35),
    (851, 34),
    (1058, 33),
    (1284, 32),
    (1529, 31),
    (1793, 30),
    (2076, 29),
    (2378, 28),
    (2699, 28),
    (3039, 27),
    (3399, 27),
    (3778, 26),
    (4177, 26),
    (4596, 25),
    (5036, 25),
    (5497, 24),
    (5979, 24),
    (6483, 23),
    (7009, 23),
    (7558, 22),
    (8130, 22),
    (8726, 22),
    (9346, 21),
    (9991, 21),
    (10661, 21),
    (11358, 20),
    (12082, 20),
    (12834, 20),
    (13614, 19),
    (14424, 19),
    (15265, 19),
    (16137, 19),
    (17042, 18),
    (17981, 18),
    (18955, 18),
    (19965, 17),
    (21013, 17),
    (22101, 17),
    (23230, 17),
    (24402, 16),
    (25618, 16),
    (26881, 16),
    (28193, 16),
    (29557, 15),
    (30975, 15),
    (32450, 15),
    (33986, 15),
    (35586, 14),
    (37253, 14),
    (38992, 14),
    (40808, 14),
    (42707, 13),
    (44694, 13),
    (46776, 13),
    (48961, 13),
    (51258, 13),
    (53677, 12),
    (56230, 12),
    (58932, 12),
    (61799, 12),
    (64851, 11),
    (68113, 11),
    (71617, 11),
    (75401, 10),
    (79517, 10),
    (84035, 10),
    (89053, 10),
    (94717, 9),
];

/// a(w) and b(w) of §7, with all terms that do not depend on the window.
#[derive(Clone, Copy, Debug)]
struct Law {
    ln_low: f64,
    ln_low_p: f64,
    /// 1 / S of §5.
    slope: f64,
    /// Decrease per unit of ln w.
    decrease: f64,
    high_decrease: f64,
    least: f64,
    parameters: HighSpeedParameters,
}

impl Law {
    fn new(settings: &HighSpeedSettings) -> Self {
        let ln_low = libm::log(settings.low_window as f64);
        let ln_low_p = libm::log(settings.low_p);
        let span = libm::log(settings.high_window as f64) - ln_low;
        Self {
            ln_low,
            ln_low_p,
            slope: (libm::log(settings.high_p) - ln_low_p) / span,
            decrease: (settings.high_decrease - 0.5) / span,
            high_decrease: settings.high_decrease,
            least: if settings.at_least_reno { 1.0 } else { 0.0 },
            parameters: settings.parameters,
        }
    }

    /// Returns the segments per round trip and the share of a loss, at a window of `window` segments.
    fn at(&self, window: f64) -> (f64, f64) {
        let reached = |(segments, _): &(u32, u8)| f64::from(*segments) <= window;
        let passed = |(segments, _): &(u32, u8)| f64::from(*segments) < window;
        let row = match self.parameters {
            HighSpeedParameters::Formula => return self.formula(window),
            HighSpeedParameters::RowBelow => TABLE.partition_point(reached).saturating_sub(1),
            HighSpeedParameters::RowAbove => TABLE.partition_point(passed).min(TABLE.len() - 1),
        };
        ((row + 1) as f64, f64::from(TABLE[row].1) / 100.0)
    }

    fn formula(&self, window: f64) -> (f64, f64) {
        let ln = libm::log(window) - self.ln_low;
        let p = libm::exp(self.ln_low_p + self.slope * ln);
        let b = (0.5 + self.decrease * ln).min(0.5).max(self.high_decrease);
        let a = window * window * p * 2.0 * b / (2.0 - b);
        (a.max(self.least), b)
    }
}

/// The increase, reused while the window hardly changes: two logarithms per ACK would be most of its cost.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Windows with this increase, bytes.
    from: u64,
    to: u64,
    smss: u64,
    /// Segments per round trip.
    increase: f64,
}

/// HighSpeed TCP on a connection: the window, and the row of the table that holds for it.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    window: Window,
    settings: HighSpeedSettings,
    law: Law,
    kept: Kept,
    counts_bytes: bool,
}

impl HighSpeed {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: HighSpeedSettings) -> Self {
        Self {
            window: Window::new(init),
            settings,
            law: Law::new(&settings),
            kept: Kept { from: 0, to: 0, smss: 0, increase: 1.0 },
            counts_bytes: init.growth.byte_counting.counts_bytes(),
        }
    }

    fn is_low(&self, window: u64, path: &PathState) -> bool {
        window <= self.settings.low_window.saturating_mul(path.smss)
    }

    /// Returns a(w), computed for a window that is less than 1/256 smaller.
    fn increase(&mut self, cwnd: u64, smss: u64) -> f64 {
        let kept = &self.kept;
        if cwnd < kept.from || cwnd >= kept.to || smss != kept.smss {
            let increase = self.law.at(cwnd as f64 / smss as f64).0;
            self.kept = Kept { from: cwnd, to: cwnd + cwnd / 256 + 1, smss, increase };
        }
        self.kept.increase
    }

    /// Returns (1 - b(w)) w, bounded as a threshold.
    fn left(&self, path: &PathState) -> u64 {
        let base = path.ssthresh_base;
        if self.is_low(base, path) {
            return path.half();
        }
        let decrease = self.law.at(base as f64 / path.smss as f64).1;
        ((base as f64 * (1.0 - decrease)) as u64).max(2 * path.smss)
    }
}

impl CongestionControl for HighSpeed {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        let cwnd = self.window.cwnd();
        if self.is_low(cwnd, path) {
            self.window.increase(left, path);
            return;
        }
        // RFC 3649 §7: w += a(w) / w.
        let counted = if self.counts_bytes { left } else { path.smss };
        let increase = self.increase(cwnd, path.smss);
        self.window.add(increase * counted as f64 * path.smss as f64 / cwnd as f64);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = match why {
            Congestion::Ecn { beta: Some(beta) } => path.share(beta),
            Congestion::Ecn { beta: None } | Congestion::FastRetransmit => self.left(path),
        };
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let left = if self.settings.timeout_halves { path.share(HALF) } else { self.left(path) };
        self.window.restart(first.then(|| path.as_ssthresh(left)));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ByteCounting, Growth};
    use crate::testbench::path;
    use crate::Reno;
    use bentpipe_units::Duration;

    const SMSS: u64 = 1000;

    fn init(segments: u64) -> Init {
        Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() }
    }

    fn highspeed(segments: u64) -> HighSpeed {
        HighSpeed::new(init(segments), HighSpeedSettings::default())
    }

    fn law(parameters: HighSpeedParameters) -> Law {
        Law::new(&HighSpeedSettings { parameters, ..HighSpeedSettings::default() })
    }

    fn view(cc: &impl CongestionControl) -> PathState {
        PathState { smss: SMSS, srtt: Some(Duration::from_millis(540)), ..path(cc.cwnd()) }
    }

    fn ack(cc: &mut impl CongestionControl, bytes: u64) {
        let ack = AckSample { newly_acked: bytes, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
        cc.on_ack(&ack, &view(cc));
    }

    fn round(cc: &mut impl CongestionControl) {
        (0..cc.cwnd() / SMSS).for_each(|_| ack(cc, SMSS));
    }

    fn lose(cc: &mut impl CongestionControl) {
        cc.on_congestion(Congestion::FastRetransmit, &view(cc));
    }

    /// Round trips until the window is what it was before a loss.
    fn recovery(mut cc: impl CongestionControl) -> u32 {
        let before = cc.cwnd();
        lose(&mut cc);
        let mut rounds = 0;
        while cc.cwnd() < before {
            round(&mut cc);
            rounds += 1;
        }
        rounds
    }

    fn is_close(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() <= share, "{value} instead of {expected}");
    }

    /// `docs/specs/highspeed-tcp.md`, constants and tests; 72.5 is "72" in RFC 3649 §7.
    #[test]
    fn rfc3649_7_increase_and_decrease() {
        let law = law(HighSpeedParameters::Formula);
        is_close(1.0 / law.slope, -0.834824, 1e-6);
        for (window, a, b) in
            [(38.0, 1.0, 0.5), (118.0, 2.03, 0.4411), (1058.0, 8.14, 0.3269), (6375.0, 23.2, 0.2335), (83e3, 72.5, 0.1)]
        {
            is_close(law.at(window).0, a, 0.003);
            is_close(law.at(window).1, b, 0.0003);
        }
        let p = libm::exp(law.ln_low_p + law.slope * (libm::log(118.0) - law.ln_low));
        is_close(p, 2.574e-4, 1e-3);
    }

    /// The table was made with p = 1 / (12.8 w^1.2); each row begins where a(w) has grown by 1 since the one before.
    #[test]
    fn rfc3649_b_is_the_table_of_the_formula() {
        let law = law(HighSpeedParameters::Formula);
        let mut before = 1.0;
        for (row, &(window, hundredths)) in TABLE.iter().enumerate().skip(1) {
            let w = f64::from(window);
            let b = 0.5 + law.decrease * (libm::log(w) - law.ln_low);
            let a = |w: f64| w * w * 2.0 * b / ((2.0 - b) * libm::pow(w, 1.2) * 12.8);
            assert!(a(w) > before + 1.0 && a(w - 1.0) <= before + 1.001, "{window}");
            before = a(w);
            assert_eq!((a(w) as usize, (100.0 * b).round() as u8), (row + 1, hundredths), "{window}");
            // Above the high window the formula goes another way: see the module.
            if w <= 83e3 {
                is_close((row + 1) as f64, law.at(w).0, 0.03);
            }
        }
    }

    #[test]
    fn rfc3649_b_rows_can_be_used_instead() {
        let (below, above) = (law(HighSpeedParameters::RowBelow), law(HighSpeedParameters::RowAbove));
        assert_eq!([39.0, 117.9, 118.0, 1e9].map(|w| below.at(w)), [(1.0, 0.5), (1.0, 0.5), (2.0, 0.44), (73.0, 0.09)]);
        assert_eq!([38.0, 39.0, 118.0, 1e9].map(|w| above.at(w)), [(1.0, 0.5), (2.0, 0.44), (2.0, 0.44), (73.0, 0.09)]);
        assert_eq!(below.at(3.0), (1.0, 0.5));
    }

    #[test]
    fn a_round_trip_adds_a_and_a_loss_takes_b() {
        for (segments, a, left) in
            [(118, 2.03, 65.956), (1058, 8.14, 712.09), (6375, 23.2, 4886.35), (83_000, 72.5, 74_700.0)]
        {
            let mut cc = highspeed(segments);
            round(&mut cc);
            is_close((cc.cwnd() - segments * SMSS) as f64 / 1000.0, a, 0.015);
            let mut cc = highspeed(segments);
            lose(&mut cc);
            is_close(cc.cwnd() as f64 / 1000.0, left, 2e-5);
            assert_eq!(cc.ssthresh(), cc.cwnd());
        }
    }

    /// With a loss every 1 / p segments the mean window is 0.12 / p^0.835 (§5), give or take that a and b change on the
    /// way (at 10⁻³ half of it is Reno's); Reno's would be 1.22 / sqrt(p).
    #[test]
    fn rfc3649_5_response_function() {
        for (p, tolerance) in [(1e-3, 0.07), (1e-4, 0.03), (1e-5, 0.04), (1e-6, 0.05)] {
            let expected = libm::pow(p / 1e-3, -0.834824) * 38.0;
            let mut cc = highspeed(expected as u64);
            let (mut rounds, mut segments) = (0.0, 0.0);
            for cycle in 0..8 {
                for _ in 0..(1.0 / p) as u64 {
                    if cycle >= 4 {
                        rounds += SMSS as f64 / cc.cwnd() as f64;
                        segments += 1.0;
                    }
                    ack(&mut cc, SMSS);
                }
                lose(&mut cc);
            }
            is_close(segments / rounds, expected, tolerance);
        }
    }

    /// The sum of 1 / a(w) from (1 - b) w to w, a round trip for each; Reno needs w / 2.
    #[test]
    fn recovery_takes_tens_of_round_trips() {
        for (segments, rounds) in [(1058, 47.75), (6375, 68.78), (83_000, 116.03)] {
            is_close(f64::from(recovery(highspeed(segments))), rounds, 0.03);
        }
        is_close(f64::from(recovery(Reno::new(init(6375), Default::default()))), 3188.0, 0.01);
    }

    /// Up to 38 segments every window is the one that Reno has.
    #[test]
    fn small_windows_are_renos() {
        let (mut cc, mut reno) = (highspeed(20), Reno::new(init(20), Default::default()));
        while reno.cwnd() < 38 * SMSS {
            ack(&mut cc, SMSS);
            ack(&mut reno, SMSS);
            assert_eq!(cc.cwnd(), reno.cwnd());
        }
        lose(&mut cc);
        lose(&mut reno);
        assert_eq!(cc.cwnd() / 10, reno.cwnd() / 10);
    }

    /// §5: the response function goes on as it was; b does not fall below `high_decrease`.
    #[test]
    fn above_the_high_window_a_loss_takes_a_tenth() {
        let law = law(HighSpeedParameters::Formula);
        let (a, b) = law.at(1e6);
        assert_eq!(b, 0.1);
        is_close(a, 1e12 * 1e-7 * libm::pow(1e6 / 83e3, 1.0 / -0.834824) * 0.2 / 1.9, 1e-5);
    }

    #[test]
    fn readings() {
        let settings = HighSpeedSettings { at_least_reno: false, ..HighSpeedSettings::default() };
        is_close(Law::new(&settings).at(38.0).0, 0.9627, 1e-4);
        let threshold = |timeout_halves| {
            let settings = HighSpeedSettings { timeout_halves, ..HighSpeedSettings::default() };
            let mut cc = HighSpeed::new(init(1058), settings);
            cc.on_rto(true, &view(&cc));
            assert_eq!(cc.cwnd(), SMSS);
            cc.ssthresh() / SMSS
        };
        assert_eq!([false, true].map(threshold), [712, 529]);
    }

    /// An ACK for each second segment: half the increase, unless bytes count.
    #[test]
    fn the_increase_counts_as_renos_does() {
        let added = |byte_counting| {
            let growth = Growth { byte_counting, ..Growth::default() };
            let mut cc = HighSpeed::new(Init { growth, ..init(6375) }, HighSpeedSettings::default());
            (0..6375 / 2).for_each(|_| ack(&mut cc, 2 * SMSS));
            (cc.cwnd() - 6375 * SMSS) as f64 / 1000.0
        };
        is_close(added(ByteCounting::Rfc5681), 11.6, 0.01);
        is_close(added(ByteCounting::Abc { limit: 2 }), 23.2, 0.01);
    }

    #[test]
    fn an_ecn_share_of_the_configuration_comes_first() {
        let mut cc = highspeed(6375);
        cc.on_congestion(Congestion::Ecn { beta: Some(800) }, &view(&cc));
        assert_eq!(cc.cwnd(), 5_100_000);
    }
}
