//! Congestion window of a subflow, coupled with the windows of its siblings (RFC 6356 §3). It is Reno's window with two
//! changes: the connection above computes the increase in congestion avoidance and the reduction after a loss
//! from all subflows.

use crate::parts::loss_window::window_hooks;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window};

/// Increase and decrease of the window of one subflow, computed from all subflows of its multipath connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Siblings {
    /// Growth of the window for each acknowledged segment in congestion avoidance, segments. Negative: the window
    /// shrinks.
    pub increase: f64,
    /// Share of the window that a loss takes away, 0 to 1.
    pub decrease: f64,
}

/// The coupled window of a connection.
#[derive(Clone, Debug)]
pub struct Coupled {
    window: Window,
    siblings: Siblings,
    /// Whether an ACK counts by its bytes; otherwise it counts for one segment at most, as in RFC 5681.
    counts_bytes: bool,
    smss: u64,
}

impl Coupled {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init) -> Self {
        let alone = Siblings { increase: init.smss as f64 / init.cwnd.max(1) as f64, decrease: 0.5 };
        let counts_bytes = init.growth.byte_counting.counts_bytes();
        Self { window: Window::new(init), siblings: alone, counts_bytes, smss: init.smss }
    }
}

impl CongestionControl for Coupled {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        let counted = if self.counts_bytes { left } else { left.min(self.smss) };
        let grown = counted as f64 * self.siblings.increase;
        if grown >= 0.0 {
            self.window.add(grown);
        } else {
            self.window.take(-grown);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = ((1.0 - self.siblings.decrease) * 1000.0) as u32;
        let left = path.share(why.left(left));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    fn on_siblings(&mut self, siblings: Siblings) {
        self.siblings = siblings;
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.window.on_smss(smss);
    }

    window_hooks!(limit_cwnd, set_window, cwnd, ssthresh, inside);
}
