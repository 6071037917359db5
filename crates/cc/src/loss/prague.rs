//! Prague reduces the window by the share of marked packets, not by half. A queue with a shallow threshold then keeps
//! its link busy with a queue of about a millisecond (L4S).
//!
//! B. Briscoe, K. De Schepper et al., "Prague congestion control", draft-briscoe-iccrg-prague-congestion-control-04,
//! 2024; RFC 9330 and RFC 9331. The reference implementation for Linux decides where the draft is silent. The ancestor is
//! Data Center TCP (RFC 8257).
//!
//! # How it works
//!
//! The receiver reports the number of marked packets (RFC 9768). Once per round trip, `alpha` moves towards the share of
//! marked packets in this round, by `gain` of the difference. The first mark of a round takes half of `alpha` off the
//! window, and ends slow start. Marked packets do not grow the window. Unmarked packets add one segment per window. A loss
//! halves the window.
//!
//! # When it helps
//!
//! Prague needs a queue that marks early, such as `dualpi2` with its default threshold of 1 ms. On a path in low orbit it
//! then uses nearly all of the link with a queue below 1 ms, where Reno needs a queue as long as the path.
//!
//! # When it hurts
//!
//! Prague hurts itself over GEO. Its window grows by one segment per round trip, and a round trip takes 600 ms. At 20
//! Mbit/s the first mark halves a window of about a thousand segments, and the way back takes five minutes. A smaller
//! `alpha_start` shortens it, and `growth = "faster"` a little. Beside CUBIC on a GEO link, Prague gets a tenth to four tenths of
//! CUBIC's rate. A queue that marks early on a link with frames or grants longer than its threshold marks every packet.
//! A queue of the old kind, such as `codel` with `ecn`, treats ECT(1) as ECT(0), and Prague takes most of it from Reno.
//!
//! # prague
//!
//! Data are ECT(1), and feedback is `accurate`. If the peer does not know this feedback, the connection is NewReno's
//! and its data are not ECN-capable. A round trip shorter than `reference_rtt` counts as `reference_rtt` after
//! `transition` rounds: alpha, reductions and growth are then those of a flow with this round trip, so that short paths
//! do not starve long ones. Data are paced at W / SRTT, at twice this rate below half of the slow start threshold, with
//! bursts of 250 us.
//!
//! # dctcp
//!
//! Data Center TCP (RFC 8257) has no scaling and no pacing. Data are ECT(0), and the feedback `per-segment` reports the
//! mark of each segment. It is for networks whose queues mark above a short threshold for all flows. Beside Reno in the
//! same queue, it takes nearly everything.
//!
//! # Differences from the source
//!
//! The reference implementation for Linux has two more ways of scaling. Its first window of marks is that of alpha = 1, as
//! here. UDP Prague starts with alpha = 0. `growth = "faster"` follows UDP Prague: after rate / 15.36 Mbit/s + 7 rounds
//! without marks, each round adds one millisecond of the rate. After a loss it waits for rate / 2 * `reference_rtt`^2 /
//! RTT rounds instead, with the rate in packets. Marks of a round count before its growth. DCTCP reduces at the first
//! mark with the alpha of the rounds before, as Linux does. RFC 8257 lets the round end first.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, Insides, Marks, Pace, PathState, Window, HALF};
use bentpipe_units::{words, Duration, Rate, Time};

settings! {
    /// Settings of Prague.
    pub struct PragueSettings {
        /// Weight of a round in `alpha`.
        gain: f64 = 0.0625, [0.001, 1.0], "Prague draft: 1/16";
        /// Round-trip time to which shorter ones are scaled; 0: no scaling.
        reference_rtt: Duration = Duration::from_millis(25), "Prague draft";
        /// Rounds after slow start before scaling begins.
        transition: u64 = 500, [0, 10_000], "reference implementation for Linux";
        /// `alpha` before the first round with marks: with 1 the first mark halves the window.
        alpha_start: f64 = 1.0, [0.0, 1.0], "reference implementation for Linux; UDP Prague: 0";
        /// Scaling of short round trips.
        scaling: enum PragueScaling = PragueScaling::Rate, "reference implementation for Linux";
        /// Growth in congestion avoidance.
        growth: enum PragueGrowth = PragueGrowth::Reno, "reference implementation for Linux";
    }
}

settings! {
    /// Settings of DCTCP.
    pub struct DctcpSettings {
        /// Weight of a round in `alpha` (g).
        gain: f64 = 0.0625, [0.001, 1.0], "RFC 8257 §4.2";
        /// `alpha` before the first round with marks.
        alpha_start: f64 = 1.0, [0.0, 1.0], "RFC 8257 §3.3";
    }
}

words! {
    /// Scaling of short round trips.
    pub enum PragueScaling {
        /// The rate grows as that of a flow with the reference round trip.
        "rate" => Rate,
        /// Each round trip counts as it is.
        "none" => None,
    }
}

words! {
    /// Growth in congestion avoidance.
    pub enum PragueGrowth {
        /// One segment per round.
        "reno" => Reno,
        /// One millisecond of the rate per round, at least a segment, after enough rounds without marks (UDP Prague).
        "faster" => Faster,
    }
}

/// Settings of both.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    settings: PragueSettings,
    paces: bool,
}

impl From<PragueSettings> for Variant {
    fn from(settings: PragueSettings) -> Self {
        Self { settings, paces: true }
    }
}

impl From<DctcpSettings> for Variant {
    fn from(DctcpSettings { gain, alpha_start }: DctcpSettings) -> Self {
        let scaling = PragueScaling::None;
        Self { settings: PragueSettings { gain, alpha_start, scaling, ..PragueSettings::default() }, paces: false }
    }
}

/// Prague or DCTCP on a connection.
#[derive(Clone, Debug)]
pub struct Prague {
    window: Window,
    variant: Variant,
    /// Average share of marked packets.
    alpha: f64,
    has_seen_mark: bool,
    /// Offset whose ACK ends the round, and the packets reported in it.
    round_end: u64,
    delivered: u64,
    marked: u64,
    /// When `alpha` changed last.
    updated_at: Time,
    /// Rounds after slow start.
    rounds: u64,
    /// Marks of data below this offset do not reduce the window again, and the time of the last reduction.
    cwr_end: u64,
    reduced_at: Time,
    /// Rounds without marks, and how many of them faster growth waits for.
    clean_rounds: f64,
    awaited_rounds: f64,
    srtt: Option<Duration>,
    header_len: u64,
    smss: u64,
}

/// Data that may leave back to back, as time at the pace.
const BURST: Duration = Duration::from_micros(250);

impl Prague {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, variant: impl Into<Variant>) -> Self {
        let variant = variant.into();
        Self {
            window: Window::new(init),
            variant,
            alpha: variant.settings.alpha_start,
            has_seen_mark: false,
            round_end: 0,
            delivered: 0,
            marked: 0,
            updated_at: init.now,
            rounds: 0,
            cwr_end: 0,
            reduced_at: Time::ZERO,
            clean_rounds: 0.0,
            awaited_rounds: 0.0,
            srtt: init.rtt,
            header_len: 40,
            smss: init.smss,
        }
    }

    /// The factor of growth if the round trip is scaled to the reference.
    fn scale(&self) -> Option<f64> {
        let PragueSettings { reference_rtt, transition, scaling, .. } = self.variant.settings;
        let srtt = self.srtt.filter(|&srtt| srtt < reference_rtt)?;
        if scaling == PragueScaling::None || self.rounds < transition {
            return None;
        }
        let share = srtt.as_secs_f64() / reference_rtt.as_secs_f64();
        Some(share * share)
    }

    /// Whether a reference round trip has passed since `at`, if round trips are scaled.
    fn has_waited(&self, since: Time, now: Time) -> bool {
        self.scale().is_none() || now.saturating_since(since) >= self.variant.settings.reference_rtt
    }

    /// Payload per second of a window per round trip.
    fn bytes_per_second(&self) -> f64 {
        self.srtt.map_or(0.0, |srtt| self.window.exact() / srtt.as_secs_f64().max(1e-9))
    }

    /// The ACK reports marked packets.
    fn on_marks(&mut self, path: &PathState) {
        self.has_seen_mark = true;
        if path.snd_una <= self.cwr_end || !self.has_waited(self.reduced_at, path.now) {
            return;
        }
        let (before, least) = (self.window.exact(), 2.0 * path.smss as f64);
        let left = (before * (1.0 - self.alpha / 2.0)).max(least).min(before);
        self.window.reduce(left.max(least) as u64, left as u64);
        self.window.set_cwnd(left);
        (self.cwr_end, self.reduced_at) = (path.snd_nxt, path.now);
    }

    /// Ends the round if its data are acknowledged.
    fn end_round(&mut self, path: &PathState) {
        if path.snd_una < self.round_end || !self.has_waited(self.updated_at, path.now) {
            return;
        }
        if self.has_seen_mark && self.delivered > 0 {
            let share = self.marked as f64 / self.delivered as f64;
            self.alpha += (share - self.alpha) * self.variant.settings.gain;
        }
        if self.marked > 0 {
            let rate = 8.0 * self.bytes_per_second();
            (self.clean_rounds, self.awaited_rounds) = (0.0, rate / 15.36e6 + 7.0);
        } else {
            self.clean_rounds += 1.0;
        }
        self.rounds += u64::from(!self.window.is_in_slow_start());
        (self.round_end, self.delivered, self.marked, self.updated_at) = (path.snd_nxt, 0, 0, path.now);
    }

    /// Bytes that a window of unmarked packets adds.
    fn increase(&self) -> f64 {
        let smss = self.smss as f64;
        let is_fast = self.variant.settings.growth == PragueGrowth::Faster && self.clean_rounds >= self.awaited_rounds;
        let most = if is_fast { smss.max(1e-3 * self.bytes_per_second()) } else { smss };
        most * self.scale().unwrap_or(1.0)
    }

    fn look_at(&mut self, path: &PathState) {
        (self.srtt, self.header_len) = (path.srtt.or(self.srtt), path.header_len);
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.look_at(path);
        let Marks { ce_packets, delivered_packets } = ack.marks;
        let marked = u128::from(ack.newly_acked) * u128::from(ce_packets) / u128::from(delivered_packets.max(1));
        let unmarked = ack.newly_acked.saturating_sub(u64::try_from(marked).unwrap_or(u64::MAX));
        if unmarked == 0 {
            return;
        }
        let left = self.window.slow_start(&AckSample { newly_acked: unmarked, ..*ack }, path);
        if left > 0 {
            self.window.add(left as f64 * self.increase() / self.window.exact());
        }
    }

    fn takes_marks(&self) -> bool {
        true
    }

    fn takes_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        self.look_at(path);
        let Marks { ce_packets, delivered_packets } = delivery.marks;
        self.delivered += u64::from(delivered_packets);
        self.marked += u64::from(ce_packets);
        if ce_packets > 0 {
            if delivery.is_repairing {
                self.has_seen_mark = true;
            } else {
                self.on_marks(path);
            }
        }
        self.end_round(path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let share = f64::from(why.left(HALF)) / 1000.0;
        let left = ((self.window.exact() * share) as u64).max(2 * path.smss);
        self.window.reduce(path.as_ssthresh(left).max(2 * path.smss), left);
        let PragueSettings { reference_rtt, .. } = self.variant.settings;
        let rtt = self.srtt.unwrap_or(reference_rtt).max(reference_rtt).as_secs_f64().max(1e-9);
        let packets_per_second = self.bytes_per_second() / path.smss as f64;
        let reference = reference_rtt.as_secs_f64();
        (self.clean_rounds, self.awaited_rounds) = (0.0, packets_per_second / 2.0 * reference * reference / rtt);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    fn undo(&mut self, before: Self) {
        let ssthresh = before.window.ssthresh().max(self.window.ssthresh());
        self.window.set(self.window.cwnd().max(before.window.cwnd()), ssthresh);
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.window.on_smss(smss);
    }

    fn paces(&self) -> bool {
        self.variant.paces
    }

    fn pacing(&self) -> Option<Pace> {
        let srtt = self.srtt.filter(|_| self.variant.paces)?;
        let gain = if self.window.cwnd() < self.window.ssthresh() / 2 { 2 } else { 1 };
        let bits = u128::from(self.window.cwnd()) * u128::from(self.smss + self.header_len) * 8 * gain;
        let second = u128::from(Duration::from_secs(1).as_ps());
        let bps = bits * second / (u128::from(self.smss) * u128::from(srtt.as_ps().max(1)));
        let rate = Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1));
        let burst = u128::from(rate.as_bps()) * u128::from(BURST.as_ps()) / (8 * second);
        Some(Pace { burst: Some((burst as u64).max(self.smss)), ..Pace::at(rate) })
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
    }

    window_hooks!(limit_cwnd, set_window, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::{path, DELIVERY};

    const SMSS: u64 = 1000;

    fn prague(segments: u64, settings: PragueSettings) -> Prague {
        Prague::new(Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: SMSS, ..Init::default() }, settings)
    }

    /// A path whose next round begins.
    fn at(round: u64, rtt_ms: u64) -> PathState {
        let (now, srtt) = (Time::ZERO + Duration::from_millis(rtt_ms * round), Some(Duration::from_millis(rtt_ms)));
        PathState { now, srtt, smss: SMSS, snd_una: round * 100_000 + 1, snd_nxt: (round + 1) * 100_000, ..path(0) }
    }

    fn deliver(cc: &mut Prague, marked: u32, packets: u32, path: &PathState) {
        let marks = Marks { ce_packets: marked, delivered_packets: packets };
        cc.on_delivery(&Delivery { newly_delivered: u64::from(packets) * SMSS, marks, ..DELIVERY }, path);
    }

    fn acked(packets: u64, marks: Marks) -> AckSample {
        AckSample { newly_acked: packets * SMSS, is_cwnd_limited: true, rtt: None, marks }
    }

    /// `docs/specs/l4s.md`, test 7.
    #[test]
    fn alpha_is_the_average_share_of_marks() {
        let mut cc = prague(100, PragueSettings::default());
        cc.has_seen_mark = true;
        (1..=10).for_each(|round| deliver(&mut cc, 0, 100, &at(round, 50)));
        assert!((cc.alpha - 0.5245).abs() < 1e-4, "{}", cc.alpha);
        let mut cc = prague(100, PragueSettings { alpha_start: 0.0, ..PragueSettings::default() });
        deliver(&mut cc, 100, 100, &at(1, 50));
        assert_eq!(cc.alpha, 0.0625);
        // Without any mark it stays as it began.
        let mut cc = prague(100, PragueSettings::default());
        (1..=10).for_each(|round| deliver(&mut cc, 0, 100, &at(round, 50)));
        assert_eq!(cc.alpha, 1.0);
    }

    /// `docs/specs/ecn.md`, DCTCP, test 4.
    #[test]
    fn rfc8257_3_3_ten_marked_rounds_from_zero() {
        let settings = DctcpSettings { alpha_start: 0.0, ..DctcpSettings::default() };
        let mut cc = Prague::new(Init { smss: SMSS, cwnd: 100 * SMSS, ssthresh: SMSS, ..Init::default() }, settings);
        deliver(&mut cc, 100, 100, &at(1, 50));
        assert_eq!((cc.alpha, cc.cwnd()), (0.0625, 100 * SMSS), "the rounds before had no marks");
        deliver(&mut cc, 100, 100, &at(2, 50));
        assert_eq!(cc.cwnd(), 96_875);
        (3..=10).for_each(|round| deliver(&mut cc, 100, 100, &at(round, 50)));
        assert!((cc.alpha - 0.4755).abs() < 1e-4, "{}", cc.alpha);
        assert!(!cc.paces() && cc.pacing().is_none());
    }

    #[test]
    fn the_first_mark_of_a_window_reduces_it() {
        let mut cc = prague(100, PragueSettings::default());
        let view = at(1, 50);
        deliver(&mut cc, 1, 2, &view);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (50_000, 50_000));
        for una in [101, 150, 200] {
            deliver(&mut cc, 2, 2, &PathState { snd_una: una * 1000, ..view });
            assert_eq!(cc.cwnd(), 50_000, "{una}: this data was sent before the reduction");
        }
        deliver(&mut cc, 2, 2, &PathState { snd_una: 200_001, ..view });
        assert!(cc.cwnd() < 50_000);
        // A window of one segment, as after a timeout, does not grow by a mark.
        cc.on_rto(true, &view);
        deliver(&mut cc, 2, 2, &at(9, 50));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1000, 2000));
    }

    #[test]
    fn marked_packets_do_not_grow_the_window() {
        let mut cc = prague(100, PragueSettings::default());
        let view = at(1, 50);
        cc.on_ack(&acked(4, Marks { ce_packets: 3, delivered_packets: 4 }), &view);
        assert_eq!(cc.cwnd(), 100_010);
        cc.on_ack(&acked(4, Marks { ce_packets: 4, delivered_packets: 4 }), &view);
        assert_eq!(cc.cwnd(), 100_010);
        // In slow start, too.
        cc.window.set_ssthresh(u64::MAX);
        cc.on_ack(&acked(2, Marks { ce_packets: 1, delivered_packets: 2 }), &view);
        assert_eq!(cc.cwnd(), 101_010);
    }

    /// `docs/specs/l4s.md`, test 8.
    #[test]
    fn short_round_trips_are_scaled_after_the_transition() {
        for (rounds, scaling, grown) in
            [(500, PragueScaling::Rate, 0.04), (499, PragueScaling::Rate, 1.0), (500, PragueScaling::None, 1.0)]
        {
            let mut cc = prague(100, PragueSettings { scaling, ..PragueSettings::default() });
            cc.rounds = rounds;
            let before = cc.window.exact();
            let view = PathState { snd_una: 0, ..at(1, 5) };
            (0..100).for_each(|_| cc.on_ack(&acked(1, Marks::default()), &view));
            let segments = (cc.window.exact() - before) / SMSS as f64;
            assert!((segments / grown - 1.0).abs() < 0.01, "{rounds}: {segments}");
        }
        // Reductions are 25 ms apart.
        let mut cc = prague(100, PragueSettings::default());
        cc.rounds = 500;
        let reductions = (1..=20).filter(|&round| {
            let before = cc.cwnd();
            deliver(&mut cc, 1, 100, &at(round, 5));
            cc.cwnd() < before
        });
        assert_eq!(reductions.collect::<Vec<_>>(), [5, 10, 15, 20]);
    }

    /// `docs/specs/l4s.md`, test 11: 20 Mbit/s over GEO, eight rounds.
    #[test]
    fn faster_growth_begins_after_rounds_without_marks() {
        let mut cc = prague(1000, PragueSettings { growth: PragueGrowth::Faster, ..PragueSettings::default() });
        cc.smss = 1500;
        cc.window.set(1_500_000, 1500);
        deliver(&mut cc, 1, 1000, &at(1, 600));
        cc.window.set(1_500_000, 1500);
        let increases = (2..=10).map(|round| {
            deliver(&mut cc, 0, 1000, &at(round, 600));
            (cc.increase() / 150.0).round() / 10.0
        });
        assert_eq!(increases.collect::<Vec<_>>(), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.7, 1.7]);
        // After a loss it waits for less than a round.
        cc.on_congestion(Congestion::FastRetransmit, &at(11, 600));
        cc.window.set(1_500_000, 1500);
        deliver(&mut cc, 0, 1000, &at(12, 600));
        assert_eq!((cc.increase() / 150.0).round() / 10.0, 1.7);
    }

    #[test]
    fn a_loss_halves_the_window_and_undo_keeps_the_larger_one() {
        let mut cc = prague(100, PragueSettings::default());
        let before = cc.clone();
        cc.on_congestion(Congestion::FastRetransmit, &at(1, 50));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (50_000, 50_000));
        cc.undo(before);
        assert_eq!(cc.cwnd(), 100_000);
    }

    /// W / SRTT with headers, twice that in slow start, and bursts of 250 us.
    #[test]
    fn the_pace_is_a_window_per_round_trip() {
        let mut cc = prague(100, PragueSettings::default());
        cc.look_at(&PathState { header_len: 40, ..at(1, 50) });
        let pace = cc.pacing().unwrap();
        assert_eq!((pace.rate.as_bps(), pace.burst), (100 * 1040 * 8 * 20, Some(1000)));
        cc.window.set_ssthresh(u64::MAX);
        assert_eq!(cc.pacing().unwrap().rate.as_bps(), 2 * 100 * 1040 * 8 * 20);
        cc.window.set(10_000_000, 1000);
        assert_eq!(cc.pacing().unwrap().burst, Some(52_000));
    }
}
