//! Tahoe's window (V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988): like Reno's, but each loss,
//! however it was found, brings it back to one segment. TCPmin (M. Emmelmann's study of timers and receive buffers over
//! LEO) is the same window with a recovery that waits for the timer.
//!
//! # On satellite paths
//!
//! It shows what a restart costs where a round trip is long. Each loss costs a slow start, and a loss in that slow
//! start leaves a threshold of a few segments: after the overshoot at the beginning of `geo` it goes on from almost
//! nothing by one segment in half a second, and two minutes have 1.3 of 20 Mbit/s. What it resends from the hole on has
//! mostly arrived: there one byte in six is sent twice. In `leo`, where slow start takes half a second, it keeps up (73
//! Mbit/s, and `sack` 80).
//!
//! # tcpmin
//!
//! Without fast retransmit each loss costs a timeout of a second or more, and all that was sent meanwhile has arrived
//! or is lost by then, so that no duplicate ACK is mistaken for another loss: in `geo` that is better than Tahoe by far
//! (16.7 Mbit/s), in `leo`, where losses come with each handover, it is worse (67 Mbit/s). With a coarse clock over low
//! orbits the timer, not the window, decides: `leo-pass`.

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
