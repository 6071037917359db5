//! Westwood estimates the delivery rate of the path from its ACKs. After a loss it sets the window to the
//! bandwidth-delay product of that rate, where Reno takes half.
//!
//! - S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi and R. Wang, "TCP Westwood: bandwidth estimation for enhanced
//!   transport over wireless links", MobiCom 2001.
//! - C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi and R. Wang, "TCP Westwood: end-to-end congestion control for
//!   wired/wireless networks", Wireless Networks 8, 2002.
//! - L. A. Grieco and S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//!   congestion control", ACM Computer Communication Review 34(2), 2004.
//!
//! # How it works
//! ```text
//! each ACK:            b = bytes / dt,  α = (2τ - dt) / (2τ + dt),  b̂ = α b̂ + (1 - α) (b + b of before) / 2
//! a loss:              ssthresh = max(2 segments, b̂ RTTmin), cwnd at most that
//! a timeout:           ssthresh likewise, cwnd = 1 segment
//! ```
//!
//! Growth is Reno's. `westwood` and `westwood-nr` use the filter above, with the recovery of Reno or NewReno.
//! `westwood-plus` takes one sample per round trip. ACKs that queued on their way come close together, and would make
//! b, and then b̂, too large. `westwood-plus` comes with selective acknowledgements, as in Linux.
//!
//! # Differences from the source
//!
//! - Bytes are those that the connection knows to be delivered: a segment for a duplicate ACK, and all selectively
//!   acknowledged data, each byte once. The papers credit at least one segment per ACK, and so count some bytes twice.
//! - ACKs of the same microsecond are one sample.
//! - The rules are Reno's as long as there is no estimate.
//! - An ECN mark counts as a loss, unless the connection sets the share that a mark leaves.
//! - After a spurious loss, the window is restored. Estimates made in the meantime stay.
//!
//! # When it helps
//!
//! Westwood is fast where the link itself loses packets. The loss does not change the rate at which the other packets
//! arrive, so the window stays near the bandwidth-delay product, while Reno halves it again and again.
//!
//! # When it hurts
//!
//! Westwood needs a correct round-trip time of the path. An RTTmin that is too small, as after the handover of a low
//! orbit to a longer path, leaves too little after each loss. An RTTmin that is too large (a first sample through a
//! standing queue) leaves too much. At loss rates of 1e-1 and above, timeouts rule, and the estimate falls with the
//! rate.
//!
//! On a clean path with a drop-tail queue, the estimate of `westwood` and `westwood-nr` is too high. The time constant
//! of the filter is longer than the round trip, and the filter takes the burst of ACKs before a loss for the rate of
//! the path. A loss then hardly reduces the window, and losses repeat. Reno's recovery repairs one of them, waits for
//! the timer and retransmits from the hole on. With `recovery = "sack"` both fill the path. Because of the high
//! estimate, both take more than half of `s1` from flows of `sack`. They take more than their share wherever ACKs come
//! in bursts, as over shared return channels. `westwood-plus` does not.
//!
//! After a silence, the estimate of `westwood` and `westwood-nr` is too low: the virtual samples lower it while nothing
//! arrives. In `geo`, a timeout ends the repair of slow start's overshoot. It lowers the threshold to a small part of
//! the threshold after the loss. One segment per round trip does not make up for that in two minutes. `virtual_samples
//! = 0` avoids it.
//!
//! # westwood-plus
//!
//! Filter and reduction come in pairs. The default is Linux's: `smoothing = "linux"` with `cut = "at-exit"`, half of
//! the window when a loss is found and the estimate when it is repaired. The paper's pair is `smoothing =
//! "mean-of-two"` with `cut = "at-loss"`. Both fill a third of a clean geostationary path in two minutes. Linux's
//! filter with the paper's reduction fills a fifth.
//!
//! The filter of Linux keeps seven eighths of its old value per sample, twice over, and takes one sample per round
//! trip. It therefore lags far behind a rate that doubles each round trip. On a long path, the first loss after slow
//! start lowers the window to a part of the bandwidth-delay product. From there the window grows by one segment per
//! round trip. Over GEO that takes minutes. Beside `sack`, `westwood-plus` has half of `s1` and an eighth of `geo`.

use crate::parts::bandwidth_filter::{PerRound, Tustin, WestwoodSmoothing};
use crate::parts::loss_window::window_hooks;
use crate::parts::windowed::MinRtt;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, Insides, PathState, Quantity, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Time of the reduction after a loss.
    pub enum WestwoodCut {
        /// When the loss is found.
        "at-loss" => AtLoss,
        /// Half when the loss is found, the bandwidth-delay product when it is repaired, as in Linux.
        "at-exit" => AtExit,
    }
}

settings! {
    /// Settings of Westwood and WestwoodNR.
    pub struct WestwoodSettings {
        /// Time constant τ of the filter: 1 / τ is its cut-off frequency.
        tau: Duration = Duration::from_millis(500), "Mascolo 2001";
        /// Virtual samples m: while nothing arrives, a sample of zero is taken every τ / m; 0: no virtual samples.
        virtual_samples: u64 = 2, [0, 1000], "Mascolo 2001";
        /// Time of the reduction after a loss.
        cut: enum WestwoodCut = WestwoodCut::AtLoss, "Mascolo 2001";
        /// Whether a timeout resets the least round-trip time.
        forget_min_rtt: bool = false, "Mascolo 2001; Linux: yes";
        /// Factor applied to the bandwidth estimate, to study wrong estimates.
        estimate_factor: f64 = 1.0, [0.01, 100.0], "Mascolo 2001";
    }
}

settings! {
    /// Settings of Westwood+.
    pub struct WestwoodPlusSettings {
        /// Filter that smooths the samples.
        smoothing: enum WestwoodSmoothing = WestwoodSmoothing::Linux, "Linux";
        /// Shortest time of a sample. Longer samples take a round trip.
        shortest_sample: Duration = Duration::from_millis(50), "Grieco and Mascolo 2004; Linux";
        /// Time of the reduction after a loss.
        cut: enum WestwoodCut = WestwoodCut::AtExit, "Linux; Grieco and Mascolo 2004: at-loss, with mean-of-two";
        /// Whether a timeout resets the least round-trip time.
        forget_min_rtt: bool = true, "Linux";
        /// Factor applied to the bandwidth estimate, to study wrong estimates.
        estimate_factor: f64 = 1.0, [0.01, 100.0], "Grieco and Mascolo 2004";
    }
}

/// Variant of Westwood, with its settings.
#[derive(Clone, Copy, Debug)]
pub enum WestwoodForm {
    /// One sample per ACK.
    EachAck(WestwoodSettings),
    /// One sample per round trip.
    EachRound(WestwoodPlusSettings),
}

impl From<WestwoodSettings> for WestwoodForm {
    fn from(settings: WestwoodSettings) -> Self {
        Self::EachAck(settings)
    }
}

impl From<WestwoodPlusSettings> for WestwoodForm {
    fn from(settings: WestwoodPlusSettings) -> Self {
        Self::EachRound(settings)
    }
}

#[derive(Clone, Debug)]
enum Filter {
    EachAck(Tustin),
    EachRound(PerRound),
}

/// Westwood on a connection: the window, and the filter that estimates the delivery rate.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    filter: Filter,
    least: MinRtt,
    cut: WestwoodCut,
    forget_min_rtt: bool,
    estimate_factor: f64,
    /// Whether the next round-trip time replaces the least.
    is_least_old: bool,
    /// Whether the window is set when the losses are repaired.
    is_cut_due: bool,
}

impl Westwood {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: impl Into<WestwoodForm>) -> Self {
        let (filter, cut, forget_min_rtt, estimate_factor) = match settings.into() {
            WestwoodForm::EachAck(s) => {
                let filter = Tustin::new(s.tau, s.virtual_samples);
                (Filter::EachAck(filter), s.cut, s.forget_min_rtt, s.estimate_factor)
            }
            WestwoodForm::EachRound(s) => {
                let filter = PerRound::new(s.smoothing, s.shortest_sample);
                (Filter::EachRound(filter), s.cut, s.forget_min_rtt, s.estimate_factor)
            }
        };
        let (window, least) = (Window::new(init), MinRtt::new(Duration::ZERO));
        Self { window, filter, least, cut, forget_min_rtt, estimate_factor, is_least_old: false, is_cut_due: false }
    }

    /// Counts delivered bytes, and a round-trip time if there is one.
    #[inline]
    fn watch(&mut self, bytes: u64, rtt: Option<Duration>, path: &PathState) {
        if let Some(rtt) = rtt {
            if std::mem::take(&mut self.is_least_old) {
                self.least.forget();
            }
            self.least.sample(rtt, path.now);
        }
        match &mut self.filter {
            Filter::EachAck(filter) => filter.on_delivery(bytes, path.now),
            Filter::EachRound(filter) => filter.on_delivery(bytes, path.now, path.srtt),
        }
    }

    /// Returns the bandwidth-delay product, bytes, at least two segments; `None` without an estimate.
    fn pipe(&mut self, path: &PathState) -> Option<u64> {
        let estimate = match &mut self.filter {
            Filter::EachAck(filter) => {
                filter.pass(path.now);
                filter.estimate()
            }
            Filter::EachRound(filter) => filter.estimate(),
        };
        let (rate, rtt) = (estimate?, self.least.get()?);
        Some(((self.estimate_factor * rate * rtt.as_secs_f64()) as u64).max(2 * path.smss))
    }
}

impl CongestionControl for Westwood {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.window.grow(ack, path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let half = path.share(why.left(HALF));
        let has_share = matches!(why, Congestion::Ecn { beta: Some(_) });
        let pipe = if has_share || self.cut == WestwoodCut::AtExit { None } else { self.pipe(path) };
        let ssthresh = pipe.unwrap_or(half);
        self.window.reduce(path.as_ssthresh(ssthresh), self.window.cwnd().min(ssthresh));
        self.is_cut_due = !has_share && self.cut == WestwoodCut::AtExit;
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let ssthresh = self.pipe(path).unwrap_or_else(|| path.half());
        self.window.restart(first.then(|| path.as_ssthresh(ssthresh)));
        self.is_cut_due = false;
        self.is_least_old = self.forget_min_rtt;
    }

    fn takes_deliveries(&self) -> bool {
        true
    }

    #[inline]
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        self.watch(delivery.newly_delivered, delivery.rate.and_then(|rate| rate.rtt), path);
    }

    fn on_recovery_exit(&mut self, path: &PathState) {
        if std::mem::take(&mut self.is_cut_due) {
            if let Some(pipe) = self.pipe(path) {
                self.window.set(pipe, path.as_ssthresh(pipe));
            }
        }
    }

    fn on_resume(&mut self, _: &PathState) {
        if let Filter::EachAck(filter) = &mut self.filter {
            filter.resume();
        }
    }

    fn undo(&mut self, before: Self) {
        self.window = before.window;
        self.is_cut_due = false;
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        let estimate = match &self.filter {
            Filter::EachAck(filter) => filter.estimate(),
            Filter::EachRound(filter) => filter.estimate(),
        };
        insides.value(Quantity::Bandwidth, estimate.map_or(f64::NAN, |rate| 8.0 * rate)).min_rtt(self.least.get());
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;
    use bentpipe_units::Time;

    const SMSS: u64 = 1000;

    fn init(segments: u64) -> Init {
        Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() }
    }

    fn view(cc: &Westwood, ms: u64) -> PathState {
        let now = Time::ZERO + Duration::from_millis(ms);
        PathState { now, smss: SMSS, ..path(cc.cwnd()) }
    }

    /// Since 10 s, 1 MB/s arrive in ACKs each millisecond; the round trip takes 500 ms.
    fn fed(settings: impl Into<WestwoodForm>, segments: u64) -> Westwood {
        let mut cc = Westwood::new(init(segments), settings);
        for ms in 0..=10_000 {
            let view = view(&cc, ms);
            cc.watch(1000, Some(Duration::from_millis(500)), &view);
        }
        cc
    }

    fn forms() -> [WestwoodForm; 2] {
        let at_loss = WestwoodPlusSettings { cut: WestwoodCut::AtLoss, ..WestwoodPlusSettings::default() };
        [WestwoodSettings::default().into(), at_loss.into()]
    }

    /// `docs/specs/westwood.md`, test 5: 1 MB/s and 0.5 s are 500 segments.
    #[test]
    fn a_loss_leaves_what_the_path_holds_and_a_timeout_keeps_it_as_threshold() {
        for form in forms() {
            for (segments, left) in [(800, 500), (300, 300)] {
                let mut cc = fed(form, segments);
                let now = view(&cc, 10_000);
                cc.on_congestion(Congestion::FastRetransmit, &now);
                let rounded = |bytes: u64| (bytes + 500) / SMSS;
                assert_eq!((rounded(cc.cwnd()), rounded(cc.ssthresh())), (left, 500), "{form:?}");
                let mut cc = fed(form, segments);
                cc.on_rto(true, &now);
                assert_eq!((cc.cwnd(), rounded(cc.ssthresh())), (SMSS, 500), "{form:?}");
            }
        }
    }

    #[test]
    fn a_wrong_estimate_leaves_another_window() {
        for (estimate_factor, left) in [(0.5, 250), (1.5, 750)] {
            let mut cc = fed(WestwoodSettings { estimate_factor, ..Default::default() }, 800);
            let now = view(&cc, 10_000);
            cc.on_congestion(Congestion::FastRetransmit, &now);
            assert_eq!((cc.cwnd() + 500) / SMSS, left);
        }
    }

    #[test]
    fn without_an_estimate_it_is_reno() {
        for form in forms() {
            let mut cc = Westwood::new(init(40), form);
            cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 1));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (20 * SMSS, 20 * SMSS));
            cc.on_rto(true, &view(&cc, 1));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (SMSS, 10 * SMSS));
        }
    }

    /// As in Linux: half during recovery, and at its end the bandwidth-delay product, even if that is more.
    #[test]
    fn the_window_may_wait_for_the_end_of_recovery() {
        let mut cc = fed(WestwoodPlusSettings::default(), 800);
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 10_000));
        assert_eq!(cc.cwnd(), 400 * SMSS);
        for _ in 0..2 {
            cc.on_recovery_exit(&view(&cc, 10_001));
            assert_eq!((cc.cwnd() + 500) / SMSS, 500);
        }
        // Not after a timeout in between.
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 10_002));
        cc.on_rto(true, &view(&cc, 10_003));
        cc.on_recovery_exit(&view(&cc, 10_004));
        assert_eq!(cc.cwnd(), SMSS);
    }

    #[test]
    fn a_mark_with_a_share_of_its_own_leaves_that() {
        let mut cc = fed(WestwoodSettings::default(), 800);
        cc.on_congestion(Congestion::Ecn { beta: Some(850) }, &view(&cc, 10_000));
        assert_eq!(cc.cwnd(), 680 * SMSS);
        let mut cc = fed(WestwoodSettings::default(), 800);
        cc.on_congestion(Congestion::Ecn { beta: None }, &view(&cc, 10_000));
        assert_eq!((cc.cwnd() + 500) / SMSS, 500);
    }

    /// Linux learns of a longer path by a timeout.
    #[test]
    fn a_timeout_may_make_the_least_round_trip_time_begin_again() {
        for (forget_min_rtt, least_ms) in [(false, 500), (true, 700)] {
            let mut cc = fed(WestwoodPlusSettings { forget_min_rtt, ..Default::default() }, 800);
            cc.on_rto(true, &view(&cc, 10_000));
            assert_eq!(cc.least.get(), Some(Duration::from_millis(500)));
            let late = view(&cc, 10_700);
            cc.watch(1000, Some(Duration::from_millis(700)), &late);
            assert_eq!(cc.least.get(), Some(Duration::from_millis(least_ms)));
        }
    }

    #[test]
    fn what_was_no_loss_is_undone_in_the_window_only() {
        let mut cc = fed(WestwoodSettings::default(), 800);
        let before = cc.clone();
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 10_000));
        let late = view(&cc, 11_000);
        let estimate = cc.pipe(&late);
        cc.undo(before);
        assert_eq!(cc.cwnd(), 800 * SMSS);
        assert_eq!(cc.pipe(&late), estimate);
    }
}
