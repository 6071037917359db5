//! Tahoe reduces the window to one segment after each loss.
//!
//! V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988.
//!
//! # How it works
//!
//! The window grows like Reno's. Each loss, found by duplicate ACKs or by the timer, restarts slow start from one
//! segment. TCPmin (M. Emmelmann's study of timers and receive buffers over LEO) is the same window with a recovery
//! that waits for the timer.
//!
//! # When it helps
//!
//! Tahoe shows the cost of a restart where a round trip is long. In `leo`, where slow start takes half a second, it has
//! nearly the goodput of `sack`.
//!
//! # When it hurts
//!
//! Each loss costs a slow start up to half of the data that was in flight. Most of the data retransmitted from the hole
//! on has arrived already: after the overshoot of slow start in `geo`, two of three retransmissions are needless. It
//! loses some seconds there, and then has the threshold of `sack`. A loss within such a slow start leaves a threshold
//! of a few segments. From there, one segment per round trip takes minutes over GEO.
//!
//! # tcpmin
//!
//! Without fast retransmit, each loss costs a timeout of a second or more. By then, all data sent meanwhile has arrived
//! or is lost. In `geo`, where a full queue makes the round trip as long as the timeout, TCPmin has the goodput of
//! Tahoe. In `leo`, where each handover loses packets, it has less. With a coarse clock over low orbits, the timer
//! decides, not the window: `leo-pass`.

use crate::settings::NoSettings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Reno};

/// Tahoe on a connection: Reno's growth without Reno's recovery.
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
