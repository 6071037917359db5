//! Reno's window: slow start by one segment per ACK, additive increase of one segment per window, halving
//! (RFC 5681 §3.1 and §3.2). NewReno and SACK differ from Reno in loss recovery, not in this.

use super::settings::NoSettings;
use super::window::window_hooks;
use super::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

/// See the module.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
}

impl Reno {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, _: NoSettings) -> Self {
        Self { window: Window::new(init) }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        if left > 0 {
            self.window.increase(left, path);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}
