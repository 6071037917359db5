//! Reno's window: slow start by one segment per ACK, additive increase of one segment per window, halving
//! (RFC 5681 §3.1 and §3.2). NewReno and SACK differ from Reno in loss recovery, not in this.
//!
//! # On satellite paths
//!
//! This window is the measure of the others. It adds one segment in a round trip, so its rate over GEO grows 25 times
//! as slowly as on a path a fifth as long, and one loss in the 6375 segments of a 100 Mbit/s path costs half an hour
//! of growth. Its goodput falls with the root of the loss rate: one packet lost in 100,000 leaves most of `s2` unused,
//! one in a thousand nearly all of it. It takes no more than its part from others of its kind, and most of the faster
//! ones take more than half beside it. A queue as long as the path hides all of that: in `geo` half of the window that
//! overflowed still fills the link.
//!
//! # reno
//!
//! Recovery repairs one loss. After a handover that loses several packets it waits for the timer, which costs little
//! where the round trip is short: in `leo` it has what `sack` has. Over GEO, or where a queue overflows, each such
//! timeout is a slow start.
//!
//! # newreno
//!
//! Recovery repairs one loss in a round trip. The forty packets that a handover of `leo` takes would need two seconds,
//! and the timer, which an impatient sender restarts only once, comes first: it halves a window that recovery has
//! halved already. So it has far less there than Reno, whose recovery ends at once, and than SACK, and less in `geo`,
//! too. On long paths losses in bursts are what it should not meet; single ones it repairs as well as SACK does.
//!
//! # sack
//!
//! Recovery repairs all losses of a window in one or two round trips, which matters most on the paths where one takes
//! half a second: neither a handover of `leo` nor the overshoot of slow start in `geo` costs a timeout as a rule. It
//! does not help the window itself, which random losses hold down as they do Reno's. Two such flows become even by a
//! segment in a round trip, for which four minutes of `geo` are too short.

use crate::cc::parts::loss_window::window_hooks;
use crate::cc::settings::NoSettings;
use crate::cc::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

/// Reno on a connection: nothing but its window.
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

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}
