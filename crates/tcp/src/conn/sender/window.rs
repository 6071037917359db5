//! Limit of the data in the network: the congestion control, the use of its window, its reductions, and pacing.

use super::extras::Extras;
use super::losses::Losses;
use super::pacing::{self, Paced, Pacer};
use super::reduce::{Cause, ReduceOutcome, Reducer, Touched};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use super::usage::{Usage, Used};
use crate::config::{Config, CwndValidation};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{Cc, CongestionControl, PathState};
use bentpipe_units::{Rate, Time};

/// The window of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cc: Cc,
    pub(super) usage: Usage,
    pub(crate) reducer: Reducer,
    pub(crate) pacer: Pacer,
    /// Data wait for their time.
    pub(crate) is_paced: bool,
}

impl Window {
    /// Before the SYNs.
    pub(super) fn new(cc: Cc, config: &Config) -> Self {
        Self {
            cc,
            usage: Usage::new(config.cwnd_validation),
            reducer: Reducer::new(config.verdict.build(config.copies, config.snack())),
            pacer: Pacer::default(),
            is_paced: false,
        }
    }

    /// Whether this end wants probe segments: for its congestion control, or to tell losses apart.
    pub(crate) fn wants_probes(&mut self) -> bool {
        self.cc.probe_segments().is_some() || self.reducer.copies_every().is_some()
    }

    /// Data left.
    #[inline]
    pub(crate) fn note_departure(&mut self, now: Time) {
        self.usage.last_sent = now;
    }

    /// A probe segment left, or its answer arrived. `are_copies`: the verdict wants them, and not the congestion control.
    pub(crate) fn on_probe(&mut self, are_copies: bool, is_answer: bool, path: &PathState) {
        match (are_copies, is_answer) {
            (true, _) => self.reducer.on_copy(is_answer, path),
            (false, true) => self.cc.on_probe_answer(path),
            (false, false) => self.cc.on_probe_segment(path),
        }
    }

    /// New data left, so that `outstanding` bytes are unacknowledged, and in the network. How much of the window is used now?
    #[inline(always)]
    pub(super) fn on_new_sent<'a>(
        &mut self,
        now: Time,
        space: &SendSpace,
        outstanding: [u64; 2],
        extras: &Extras,
        used: impl FnOnce() -> Used<'a>,
    ) {
        if self.usage.on_sent(now, space, outstanding, self.cc.cwnd()) && !extras.is_backlogged() {
            self.usage.on_room(used(), &mut self.cc);
        }
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    pub(super) fn resume(&mut self, path: &PathState, used: Used<'_>) {
        self.cc.on_resume(path);
        if !self.cc.is_model_based() {
            self.usage.resume(used, &mut self.cc);
        }
    }

    /// Slow start ends, or begins.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_slow_start(&mut self, cx: &mut Context) {
        if self.usage.in_slow_start {
            cx.report(Event::SlowStartExit(self.cc.cwnd()));
        }
        self.usage.in_slow_start = !self.usage.in_slow_start;
    }

    /// Whether an ACK of `newly` bytes may grow the window. `used`: its use.
    #[inline(always)]
    pub(super) fn may_grow<'a>(&mut self, used: impl FnOnce() -> Used<'a>, newly: u64, config: &Config) -> bool {
        match config.cwnd_validation {
            CwndValidation::Off => true,
            CwndValidation::IfUsed | CwndValidation::Rfc2861 | CwndValidation::Linux => {
                self.usage.is_window_used(&self.cc)
            }
            CwndValidation::Rfc7661 => self.usage.validate(used(), newly, &mut self.cc),
        }
    }

    /// A retransmission waits for room in the window. In Linux only new data use a window.
    #[inline]
    pub(super) fn on_retransmission_limited(
        &mut self,
        now: Time,
        space: &SendSpace,
        flight_size: u64,
        config: &Config,
    ) {
        if config.cwnd_validation != CwndValidation::Linux || space.next_len() > 0 {
            self.usage.on_limited(now, space, flight_size);
        }
    }

    /// Reduces the window for `cause`, if it has not been reduced for this window of data.
    pub(super) fn reduce(
        &mut self,
        cause: Cause,
        path: &PathState,
        losses: &mut Losses,
        board: &Scoreboard,
        rtt: &Rtt,
        cx: &mut Context,
    ) -> ReduceOutcome {
        let Losses { episode, undo, .. } = losses;
        let touched =
            Touched { cc: &mut self.cc, usage: &mut self.usage, undo: undo.as_deref_mut(), episode, board, rtt };
        self.reducer.reduce(cause, path, touched, cx)
    }

    /// Segments are now of `new` bytes, not of `old`: the window holds as many.
    pub(super) fn scale(&mut self, new: u64, old: u64) {
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        let as_many = |bytes: u64| (u128::from(bytes) * u128::from(new) / u128::from(old)) as u64;
        let ssthresh = if ssthresh == u64::MAX { ssthresh } else { as_many(ssthresh) };
        self.cc.set_window(as_many(cwnd).max(new), ssthresh);
    }

    /// The rate at which data leave now, headers included; none: as fast as the windows allow.
    pub(crate) fn pacing_rate(&self, paced: Paced, config: &Config) -> Option<Rate> {
        pacing::rate(config.pacing, self.cc.pacing(), &self.cc, paced)
    }
}
