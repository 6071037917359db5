//! Scalable TCP adds a fixed share of the window per ACK and gives up a fixed share per loss. Recovery then takes the
//! same number of round trips at any rate.
//!
//! T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", Computer Communication Review
//! 33(2), 2003.
//!
//! # How it works
//!
//! Each ACK of a segment adds `increase` segments. Each loss takes `decrease` of the window. Up to `low_window` it is
//! Reno, with Reno's halving, so it performs as well as others on small paths.
//!
//! # Differences from the source
//!
//! Linux has no low window. It adds a segment for min(cwnd, 50 or 100) ACKs and gives up an eighth per loss for any
//! window. That is `increase` = 0.02 or 0.01, `low_window` = 50 or 100 and `halve_low = false`.
//!
//! # When it helps
//!
//! Scalable TCP is fast on long paths with few losses. A window of any size is back 14 round trips after a loss, in
//! seven seconds over GEO. In `s2` it has four times the goodput of `sack` up to a loss rate of 1e-4. It fills `leo`
//! over all handovers, though they cost it timeouts.
//!
//! # When it hurts
//!
//! Scalable TCP hurts itself where the queue is the limit. It grows by a hundredth per ACK, overflows the queue by as
//! much, and gives up only an eighth. Then it loses packets again during the repair and ends in a timeout. In `geo`
//! that happens about every twelve seconds and costs over a third of `sack`'s goodput. Two such flows do not converge,
//! because both grow and shrink by shares. They are still uneven after two minutes of `geo` or `leo`. Scalable TCP
//! takes most of `geo` and seven tenths of `s1` from as many flows of `sack`.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

settings! {
    /// Settings of Scalable TCP.
    pub struct ScalableSettings {
        /// Segments that each ACK of a segment adds to the window.
        increase: f64 = 0.01, [0.0001, 1.0], "Kelly 2003";
        /// Share of the window that a loss takes.
        decrease: f64 = 0.125, [0.001, 0.9], "Kelly 2003";
        /// Window up to which it is Reno, segments.
        low_window: u64 = 16, [1, 1_000_000], "Kelly 2003";
        /// Whether a loss halves a window up to `low_window`, as in Reno. Otherwise a loss takes `decrease`.
        halve_low: bool = true, "Kelly 2003; Linux: not";
    }
}

/// Scalable TCP on a connection: its window.
#[derive(Clone, Debug)]
pub struct Scalable {
    window: Window,
    settings: ScalableSettings,
}

impl Scalable {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: ScalableSettings) -> Self {
        Self { window: Window::new(init), settings }
    }

    fn is_low(&self, window: u64, path: &PathState) -> bool {
        window <= self.settings.low_window * path.smss
    }

    /// Thousandths of the window after a loss.
    fn left(&self, path: &PathState) -> u32 {
        if self.settings.halve_low && self.is_low(path.ssthresh_base, path) {
            HALF
        } else {
            (1000.0 * (1.0 - self.settings.decrease)).round() as u32
        }
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        if self.is_low(self.window.cwnd(), path) {
            self.window.increase(left, path);
        } else {
            self.window.add(left as f64 * self.settings.increase);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(self.left(path)));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.as_ssthresh(path.share(self.left(path)))));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;
    use bentpipe_units::Duration;

    fn scalable(segments: u64) -> Scalable {
        let init = Init { smss: 1000, cwnd: segments * 1000, ssthresh: 2000, ..Init::default() };
        Scalable::new(init, ScalableSettings::default())
    }

    fn view(cc: &Scalable) -> PathState {
        PathState { smss: 1000, srtt: Some(Duration::from_millis(100)), ..path(cc.cwnd()) }
    }

    fn round(cc: &mut Scalable) {
        let ack = AckSample { newly_acked: 1000, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
        for _ in 0..cc.cwnd() / 1000 {
            cc.on_ack(&ack, &view(cc));
        }
    }

    /// `docs/specs/scalable-tcp.md`, tests.
    #[test]
    fn a_hundredth_for_each_ack_and_an_eighth_for_each_loss() {
        let mut cc = scalable(1000);
        round(&mut cc);
        assert_eq!(cc.cwnd(), 1_010_000);
        let mut cc = scalable(1000);
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc));
        assert_eq!(cc.cwnd(), 875_000);
    }

    /// ln(1 / (1 - 0.125)) / ln 1.01 = 13.42 round trips, at any rate.
    #[test]
    fn recovery_takes_as_many_round_trips_at_any_rate() {
        for segments in [200, 2000, 20_000] {
            let mut cc = scalable(segments);
            cc.on_congestion(Congestion::FastRetransmit, &view(&cc));
            let mut rounds = 0;
            while cc.cwnd() < segments * 1000 {
                round(&mut cc);
                rounds += 1;
            }
            assert_eq!(rounds, 14, "{segments}");
        }
    }

    /// A segment for min(cwnd, 50) ACKs, an eighth for a loss.
    #[test]
    fn linux_takes_an_eighth_of_small_windows_too() {
        let settings = ScalableSettings { increase: 0.02, low_window: 50, halve_low: false, ..Default::default() };
        let after = |segments: u64| {
            let mut cc = Scalable { settings, ..scalable(segments) };
            round(&mut cc);
            let grown = cc.cwnd();
            cc.on_congestion(Congestion::FastRetransmit, &PathState { ssthresh_base: grown, ..view(&cc) });
            (grown as f64 / 1000.0, cc.cwnd() as f64 / grown as f64)
        };
        for (segments, grown) in [(10, 11.0), (40, 41.0), (100, 102.0)] {
            let (after_round, left) = after(segments);
            assert!((after_round - grown).abs() < 0.06, "{after_round}");
            assert!((left - 0.875).abs() < 1e-3, "{left}");
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut cc = scalable(10);
        round(&mut cc);
        assert!((10_900..=11_000).contains(&cc.cwnd()), "{}", cc.cwnd());
        cc.on_congestion(Congestion::FastRetransmit, &view(&cc));
        assert!((5_400..=5_500).contains(&cc.cwnd()), "{}", cc.cwnd());
    }
}
