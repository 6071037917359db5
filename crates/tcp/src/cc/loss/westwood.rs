//! Westwood: Reno that estimates from its ACKs how fast the path delivers, and after a loss sets the window to what the path
//! holds at that rate, instead of half.
//!
//! S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi and R. Wang, "TCP Westwood: bandwidth estimation for enhanced transport
//! over wireless links", MobiCom 2001; C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi and R. Wang, "TCP Westwood:
//! end-to-end congestion control for wired/wireless networks", Wireless Networks 8, 2002; L. A. Grieco and S. Mascolo,
//! "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control", ACM Computer
//! Communication Review 34(2), 2004.
//!
//! ```text
//! each ACK:            b = bytes / dt,  α = (2τ - dt) / (2τ + dt),  b̂ = α b̂ + (1 - α) (b + b of before) / 2
//! a loss:              ssthresh = max(2 segments, b̂ RTTmin), cwnd at most that
//! a timeout:           ssthresh likewise, cwnd = 1 segment
//! ```
//!
//! Growth is Reno's. `westwood` and `westwood-nr` use the filter above, with recovery as in Reno or NewReno. `westwood-plus` takes
//! one sample for each round trip, since ACKs that queued on their way come close together and make b, and then b̂, too
//! large; it comes with selective acknowledgements, as in Linux.
//!
//! What differs: bytes are those that the connection knows to be delivered, a segment for a duplicate ACK and all that is
//! selectively acknowledged, each once. The papers credit one segment at least for each ACK, and so count some twice. ACKs
//! of the same microsecond are one sample. As long as there is no estimate the rules are Reno's. A mark (ECN) counts as a
//! loss, but where the connection sets the share that a mark leaves. When a loss turns out to have been none, the window
//! is as before, and what was learnt of the path meanwhile stays.
//!
//! # On satellite paths
//!
//! It helps where the link itself loses packets: the loss does not change the rate at which the others arrive, so that
//! the window stays near what the path holds, while Reno halves it again and again. It needs a path whose round trip
//! it knows: with an RTTmin that is too small, as after the handover of a low orbit to a longer path, it leaves too
//! little after each loss; with one that is too large (a first sample through a queue that stands) too much. At loss
//! rates where timeouts rule, 1e-1 and more, the estimate falls with the rate.
//!
//! On a clean path with a drop-tail queue the estimate of `westwood` and `westwood-nr` is too high: the time constant
//! of the filter is longer than the round trip, and the filter takes the burst of ACKs before a loss for the rate of
//! the path. So a loss hardly reduces the window, losses repeat, and Reno's recovery, which repairs one of them, then
//! waits for the timer and retransmits from the hole on. With `recovery = "sack"` they fill the path. As the estimate
//! is too high, both take more than half of `s1` from flows of `sack`, and more than their part wherever ACKs come in
//! bursts, as over shared return channels. `westwood-plus` does not.
//!
//! After a silence the estimate of the two is too low: while nothing arrives the virtual samples lower it. In `geo`
//! the timeout that ends the repair of slow start's overshoot takes the threshold down to a small part of what the
//! loss before it left, and one segment in a round trip does not make up for that in two minutes (0 for
//! `virtual_samples` avoids it).
//!
//! # westwood-plus
//!
//! Filter and cut come in pairs. The default is that of Linux: `smoothing = "linux"` with `cut = "at-exit"`, half of the
//! window when a loss is found and the estimate when it is repaired. The paper's is `smoothing = "mean-of-two"` with
//! `cut = "at-loss"`. Both fill a third of a clean geostationary path in two minutes; Linux's filter with the paper's
//! cut fills a fifth.
//!
//! The filter of Linux keeps seven eighths of its old value for each sample, twice over, and takes one sample for each
//! round trip. So it lags far behind a rate that doubles in each round trip. On a long path, the first loss after slow
//! start lowers the window to a part of the bandwidth-delay product. From there it grows by one segment in a round trip.
//! Over GEO that takes minutes. Beside `sack` it has half of `s1` and an eighth of `geo`.

use crate::cc::parts::bandwidth_filter::{PerRound, Tustin, WestwoodSmoothing};
use crate::cc::parts::loss_window::window_hooks;
use crate::cc::parts::windowed::MinRtt;
use crate::cc::settings::settings;
use crate::cc::{AckSample, Congestion, CongestionControl, Delivery, Init, PathState, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// When a loss takes effect on the window.
    pub enum WestwoodCut {
        /// When it is found.
        "at-loss" => AtLoss,
        /// Half when it is found, what the path holds when it is repaired, as in Linux.
        "at-exit" => AtExit,
    }
}

settings! {
    /// Settings of Westwood and WestwoodNR.
    pub struct WestwoodSettings {
        /// τ of the filter: 1 / τ is its cut-off frequency.
        tau: Duration = Duration::from_millis(500), "Mascolo 2001";
        /// m: while nothing arrives, samples of nothing do at each τ / m; 0: they do not.
        virtual_samples: u64 = 2, [0, 1000], "Mascolo 2001";
        /// When a loss takes effect on the window.
        cut: enum WestwoodCut = WestwoodCut::AtLoss, "Mascolo 2001";
        /// Whether a timeout resets the least round-trip time.
        forget_min_rtt: bool = false, "Mascolo 2001; Linux: yes";
        /// By what the estimate is multiplied, to learn what a wrong one costs.
        estimate_factor: f64 = 1.0, [0.01, 100.0], "Mascolo 2001";
    }
}

settings! {
    /// Settings of Westwood+.
    pub struct WestwoodPlusSettings {
        /// How samples are smoothed.
        smoothing: enum WestwoodSmoothing = WestwoodSmoothing::Linux, "Linux";
        /// The shortest time of a sample; longer ones take a round trip.
        shortest_sample: Duration = Duration::from_millis(50), "Grieco and Mascolo 2004; Linux";
        /// When a loss takes effect on the window.
        cut: enum WestwoodCut = WestwoodCut::AtExit, "Linux; Grieco and Mascolo 2004: at-loss, with mean-of-two";
        /// Whether a timeout resets the least round-trip time.
        forget_min_rtt: bool = true, "Linux";
        /// By what the estimate is multiplied, to learn what a wrong one costs.
        estimate_factor: f64 = 1.0, [0.01, 100.0], "Grieco and Mascolo 2004";
    }
}

/// Which Westwood, with its settings.
#[derive(Clone, Copy, Debug)]
pub enum WestwoodForm {
    /// A sample for each ACK.
    EachAck(WestwoodSettings),
    /// A sample for each round trip.
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

/// Westwood on a connection: the window, and the filter that estimates what the path delivers.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    filter: Filter,
    least: MinRtt,
    cut: WestwoodCut,
    forget_min_rtt: bool,
    estimate_factor: f64,
    /// The next round-trip time is the least.
    is_least_old: bool,
    /// The window is to be set when the losses are repaired.
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

    /// Bytes arrived, the newest after this time.
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

    /// What the path holds, bytes, two segments at least; none without an estimate.
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

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testbench::path;
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

    /// `specs/westwood.md`, test 5: 1 MB/s and 0.5 s are 500 segments.
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

    /// As in Linux: half in recovery, and at its end what the path holds, even if that is more.
    #[test]
    fn the_window_may_wait_for_the_end_of_recovery() {
        let mut cc = fed(WestwoodPlusSettings::default(), 800);
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 10_000));
        assert_eq!(cc.cwnd(), 400 * SMSS);
        for _ in 0..2 {
            cc.on_recovery_exit(&view(&cc, 10_001));
            assert_eq!((cc.cwnd() + 500) / SMSS, 500);
        }
        // Not where a timeout came between.
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

    /// Of a path that became longer, Linux learns by a timeout.
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
