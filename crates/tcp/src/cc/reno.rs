//! Reno's window: slow start by one segment per ACK, additive increase of one segment per window, halving
//! (RFC 5681 §3.1 and §3.2). NewReno and SACK differ from Reno in loss recovery, not in this.
//!
//! # On satellite paths
//!
//! This window is the measure of the others. It adds one segment in a round trip, so its rate over GEO grows 25 times
//! as slowly as on a path a fifth as long, and one loss in the 6375 segments of a 100 Mbit/s path costs half an hour of
//! growth. Its goodput falls with the root of the loss rate: in `s2` 15 of 100 Mbit/s are left at one packet in
//! 100,000, and 0.7 at one in a thousand. It harms nobody of its kind, and most newer senders take more than half
//! beside it.
//!
//! # reno
//!
//! Recovery repairs one loss. After a handover that loses several packets it waits for the timer (four timeouts in a
//! minute of `leo`), which costs little where the round trip is short: 82 of 100 Mbit/s. Over GEO, or where a queue
//! overflows, each such timeout is a slow start.
//!
//! # newreno
//!
//! Recovery repairs one loss in a round trip. The forty packets that a handover of `leo` takes would need two seconds,
//! and the timer, which an impatient sender restarts only once, comes first: 47 of 100 Mbit/s, where Reno has 82 and
//! SACK 80. On long paths losses in bursts are what it should not meet; single ones it repairs as well as SACK does.
//!
//! # sack
//!
//! Recovery repairs all losses of a window in one or two round trips, which matters most on the paths where one takes
//! half a second: no timeout for a handover of `leo`. It does not help the window itself. In `geo` the overshoot of
//! slow start halves it twice, and it then needs minutes to come back: 8.4 of 20 Mbit/s, where a sender that waited for
//! the timer kept a larger threshold (`reno`, 13.6). Two such flows become even by a segment in a round trip, for which
//! four minutes of `geo` are too short.

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
