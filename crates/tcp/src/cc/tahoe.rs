//! Tahoe's window (V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988): like Reno's, but each loss,
//! however it was found, brings it back to one segment. TCPmin (M. Emmelmann's study of timers and receive buffers over LEO) is the same window with a recovery that
//! waits for the timer.

use super::settings::NoSettings;
use super::{AckSample, Congestion, CongestionControl, Init, PathState, Reno};

/// See the module.
#[derive(Clone, Debug)]
pub struct Tahoe(Reno);

impl Tahoe {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: NoSettings) -> Self {
        Self(Reno::new(init, settings))
    }
}

impl CongestionControl for Tahoe {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.0.on_ack(ack, path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        match why {
            Congestion::FastRetransmit => self.0.on_rto(true, path),
            // RFC 3168 §6.1.2: a mark does not lead to slow start.
            Congestion::Ecn { .. } => self.0.on_congestion(why, path),
        }
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.0.on_rto(first, path);
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.0.limit_cwnd(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.0.set_window(cwnd, ssthresh);
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
