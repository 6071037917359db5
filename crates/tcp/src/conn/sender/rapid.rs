//! Rapid start of a connection: gives its [part](Convergence) the counts of each ACK, and sets the window that it returns. Growth
//! before the first loss is that of slow start, in the congestion control.

use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use crate::config::{Config, SlowStart};
use bentpipe_cc::keys::RapidStart;
use bentpipe_cc::{Cc, CongestionControl, Convergence};
use bentpipe_units::{Duration, Time};

/// Rapid start of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Rapid {
    settings: RapidStart,
    /// Bytes declared lost until the last ACK.
    lost: u64,
    /// The present convergence.
    part: Option<Converging>,
    is_over: bool,
}

/// A window that converges, since a time, and until the data sent before are acknowledged.
#[derive(Clone, Debug)]
struct Converging {
    part: Convergence,
    since: Time,
    until: u64,
}

impl Rapid {
    /// Data transfer begins, after `lost` bytes were declared lost. `None`: slow start is another one.
    pub(super) fn of(config: &Config, cc: &Cc, lost: u64) -> Option<Self> {
        let SlowStart::Rapid(settings) = config.growth.slow_start else { return None };
        (!cc.is_model_based()).then_some(Self { settings, lost, part: None, is_over: false })
    }

    /// Whether the window converges on what has arrived, so that nothing else changes it.
    pub(super) fn is_converging(&self) -> bool {
        self.part.is_some()
    }

    /// The congestion control has reduced its window, which was `before` in a slow start that may converge. `least_rtt`: the
    /// shortest round trip so far.
    #[cold]
    pub(super) fn on_reduction(
        &mut self,
        now: Time,
        before: Option<u64>,
        least_rtt: Duration,
        space: &SendSpace,
        board: &Scoreboard,
        cc: &mut Cc,
    ) {
        let before = before.filter(|_| !self.is_over);
        self.part = None;
        self.is_over = true;
        let Some(before) = before.filter(|_| least_rtt >= RapidStart::LEAST_RTT) else { return };
        let newly_lost = self.take_newly_lost(board);
        let (windows, network) = ([before, cc.cwnd()], [board.flight_size(), board.pipe() + newly_lost]);
        let mut part = Convergence::new(self.settings, windows, network, 2 * space.smss());
        part.pass(0, newly_lost);
        let window = part.window();
        self.part = Some(Converging { part, since: now, until: space.nxt });
        cc.set_window(window, window);
    }

    /// An ACK was handled.
    #[cold]
    pub(super) fn on_ack(&mut self, now: Time, space: &SendSpace, board: &Scoreboard, cc: &mut Cc) {
        let newly_lost = self.take_newly_lost(board);
        let Some(Converging { part, since, until }) = &mut self.part else { return };
        // Data of the first ACK had left the network before.
        part.pass(if *since == now { 0 } else { board.delivery().bytes }, newly_lost);
        let (window, is_over) = (part.window(), part.is_over() || space.una >= *until);
        if is_over {
            self.part = None;
        }
        cc.set_window(window, window);
    }

    /// Returns the bytes declared lost since the last call.
    fn take_newly_lost(&mut self, board: &Scoreboard) -> u64 {
        let lost = board.lost_ever();
        lost - std::mem::replace(&mut self.lost, lost).min(lost)
    }

    /// The last loss was none: the window is as before, and rapid start goes on, with `lost` bytes declared lost until now.
    pub(super) fn on_undo(&mut self, lost: u64) {
        (self.part, self.is_over, self.lost) = (None, false, lost);
    }
}
