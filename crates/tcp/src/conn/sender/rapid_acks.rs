//! Rapid start of a connection: gives its [part](Convergence) the counts of each ACK, and sets the window that it returns. Growth
//! before the first loss is that of slow start, in the congestion control.

use super::rapid::{Converging, Rapid};
use super::reduce::{Cause, ReduceOutcome};
use super::state::Sender;
use crate::config::SlowStart;
use crate::conn::context::Context;
use bentpipe_cc::keys::RapidStart;
use bentpipe_cc::{CongestionControl, Convergence};
use bentpipe_units::Time;

impl Sender {
    /// Data transfer begins.
    pub(super) fn begin_rapid(&mut self, cx: &Context) {
        if let (SlowStart::Rapid(settings), false) = (cx.config.growth.slow_start, self.cc.is_model_based()) {
            let rapid = Rapid { settings, lost: self.board.lost_ever(), part: None, is_over: false };
            self.extras_mut().rapid = Some(Box::new(rapid));
        }
    }

    fn rapid_mut(&mut self) -> Option<&mut Rapid> {
        self.extras.as_mut()?.rapid.as_deref_mut()
    }

    /// Whether the window converges on what has arrived, so that nothing else changes it.
    pub(super) fn is_converging(&self) -> bool {
        let rapid = self.extras.as_ref().and_then(|extras| extras.rapid.as_deref());
        rapid.is_some_and(|rapid| rapid.part.is_some())
    }

    /// The congestion control has reduced its window, which was `before` in slow start.
    #[cold]
    pub(super) fn on_rapid_reduction(&mut self, now: Time, before: Option<u64>, cause: Cause, outcome: ReduceOutcome) {
        let (after, lost) = (self.cc.cwnd(), self.board.lost_ever());
        let (flight, pipe) = (self.board.flight_size(), self.board.pipe());
        let least_rtt = self.detector.min_rtt();
        let is_resumed = self.is_window_held();
        let (least, until) = (2 * self.space.smss(), self.space.nxt);
        let Some(rapid) = self.rapid_mut() else { return };
        if outcome != ReduceOutcome::Reduced {
            return;
        }
        let before = before.filter(|_| !rapid.is_over && cause != Cause::Timeout && !is_resumed);
        rapid.part = None;
        rapid.is_over = true;
        let Some(before) = before.filter(|_| least_rtt >= RapidStart::LEAST_RTT) else { return };
        let newly_lost = lost - rapid.lost.min(lost);
        let mut part = Convergence::new(rapid.settings, [before, after], [flight, pipe + newly_lost], least);
        part.pass(0, newly_lost);
        rapid.lost = lost;
        let window = part.window();
        rapid.part = Some(Converging { part, since: now, until });
        self.cc.set_window(window, window);
    }

    /// An ACK was handled.
    #[cold]
    pub(super) fn on_rapid_ack(&mut self, now: Time) {
        let (lost, arrived, una) = (self.board.lost_ever(), self.board.delivery().bytes, self.space.una);
        let Some(rapid) = self.rapid_mut() else { return };
        let newly_lost = lost - rapid.lost.min(lost);
        rapid.lost = lost;
        let Some(Converging { part, since, until }) = &mut rapid.part else { return };
        // Data of the first ACK had left the network before.
        part.pass(if *since == now { 0 } else { arrived }, newly_lost);
        let (window, is_over) = (part.window(), part.is_over() || una >= *until);
        if is_over {
            rapid.part = None;
        }
        self.cc.set_window(window, window);
    }

    /// The last loss was none: the window is as before, and rapid start goes on.
    pub(super) fn on_rapid_undo(&mut self) {
        let lost = self.board.lost_ever();
        if let Some(rapid) = self.rapid_mut() {
            (rapid.part, rapid.is_over, rapid.lost) = (None, false, lost);
        }
    }
}
