//! Reno's window: slow start, additive increase, and halving after a loss.
//!
//! # How it works
//!
//! Slow start adds one segment per ACK. Congestion avoidance adds one segment per window. A loss halves the window. The
//! rules are in RFC 5681 §3.1 and §3.2. NewReno and SACK differ from Reno in loss recovery only.
//!
//! # When it helps
//!
//! Reno is the baseline for the other congestion controls. It takes no more than its share from other Reno flows. A
//! queue as long as the path hides its slow growth: in `geo`, half of the window that overflowed still fills the link.
//!
//! # When it hurts
//!
//! Reno adds one segment per round trip, so over GEO its rate grows 25 times slower than on a path a fifth as long. On
//! a 100 Mbit/s path, one loss in the 6375 segments of the window costs half an hour of growth. Goodput falls with the
//! square root of the loss rate. One packet lost in 100,000 leaves most of `s2` unused, one in a thousand nearly all of
//! it. Most of the faster congestion controls take more than half beside Reno.
//!
//! # reno
//!
//! Recovery repairs one loss. After a handover that loses several packets, it waits for the timer. That costs little
//! where the round trip is short: in `leo` it has the goodput of `sack`. Over GEO, or where a queue overflows, each
//! such timeout is followed by a slow start.
//!
//! # newreno
//!
//! Recovery repairs one loss per round trip. The forty packets lost in a handover of `leo` would need two seconds. The
//! timer, which an impatient sender restarts only once, expires first and halves a window that recovery has halved
//! already. NewReno therefore has far less goodput there than Reno, whose recovery ends immediately, and than SACK. It
//! has less in `geo`, too. On long paths, bursts of losses are its worst case. It repairs single losses as well as SACK
//! does.
//!
//! # sack
//!
//! Recovery repairs all losses of a window in one or two round trips. This matters most on paths whose round trip takes
//! half a second. Neither a handover of `leo` nor the overshoot of slow start in `geo` usually costs a timeout. SACK
//! does not help the window itself: random losses keep it as small as Reno's. Two such flows converge by one segment
//! per round trip. Four minutes of `geo` are too short for that.

use crate::parts::loss_window::window_hooks;
use crate::settings::NoSettings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

/// Reno on a connection: its window.
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
        self.window.grow(ack, path);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}
