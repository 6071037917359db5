//! Reno's window: slow start by one segment per ACK, additive increase of one segment per window, halving
//! (RFC 5681 §3.1 and §3.2). NewReno and SACK differ from Reno in loss recovery, not in this.

use super::settings::NoSettings;
use super::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

/// See the module.
#[derive(Clone, Debug)]
pub struct Reno(Window);

impl Reno {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, _: NoSettings) -> Self {
        Self(Window::new(init))
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.0.slow_start(ack, path);
        if left > 0 {
            self.0.increase(left, path);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.0.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.0.restart(first.then(|| path.half_as_ssthresh()));
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.0.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.0.set(cwnd, ssthresh);
    }

    fn on_smss(&mut self, smss: u64) {
        self.0.on_smss(smss);
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }
}
