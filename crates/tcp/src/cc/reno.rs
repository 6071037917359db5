//! Reno's window: slow start by one segment per ACK, additive increase of one segment per window, halving
//! (RFC 5681 §3.1 and §3.2). NewReno and SACK differ from Reno in loss recovery, not in this.

use super::{AckSample, Congestion, CongestionControl, Cwnd, Init, PathState, HALF};

/// See the module.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: Cwnd,
    ssthresh: u64,
    smss: u64,
}

impl Reno {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init) -> Self {
        Self { cwnd: Cwnd::new(init.cwnd.max(init.smss)), ssthresh: init.ssthresh, smss: init.smss }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _path: &PathState) {
        if !ack.is_cwnd_limited {
            return;
        }
        if self.cwnd.bytes() < self.ssthresh {
            // RFC 5681 eq. (2).
            self.cwnd.grow(ack.newly_acked.min(self.smss));
        } else {
            self.cwnd.grow_per_window(self.smss);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.ssthresh = path.as_ssthresh(left);
        self.cwnd = Cwnd::new(left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        if first {
            self.ssthresh = path.half_as_ssthresh();
        }
        self.cwnd = Cwnd::new(self.smss);
    }

    fn limit_cwnd(&mut self, max: u64) {
        if self.cwnd.bytes() > max {
            self.cwnd = Cwnd::new(max.max(self.smss));
        }
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.cwnd = Cwnd::new(self.cwnd.bytes().max(smss));
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cwnd.bytes()
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}
