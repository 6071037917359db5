//! The only place where the window is reduced: verdict on a loss, once per window of data, snapshot for an undo, window
//! validation, the controller's hook, the event, and CWR.

use super::episode::Episode;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::undo::{Snapshot, Undo};
use super::usage::Usage;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::verdict::{Loss, LossVerdict, Policy, Verdict};
use bentpipe_cc::{Cc, Congestion, CongestionControl, PathState};

/// Cause of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Loss recovery begins.
    Loss,
    /// In recovery a retransmission is lost: a second sign of congestion (RFC 5681 §4.3).
    LostAgain,
    /// A probe has repaired the loss at `offset` (RFC 8985 §7.4.2).
    RepairedLoss { offset: u64 },
    /// The retransmission timer expired.
    Timeout,
    /// The receiver reports marks (RFC 3168 §6.1.2): as for a loss, but nothing is missing; RFC 8511 §3: by less.
    Mark,
}

/// Parts that a reduction changes.
pub(crate) struct Touched<'a> {
    pub(crate) cc: &'a mut Cc,
    pub(crate) usage: &'a mut Usage,
    pub(crate) undo: Option<&'a mut Undo>,
    pub(crate) episode: &'a Episode,
    pub(crate) board: &'a Scoreboard,
    pub(crate) rtt: &'a Rtt,
}

/// Outcome of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceOutcome {
    /// The link is to blame: nothing was reduced.
    LinkError,
    /// This window of data has been reduced for.
    Before,
    /// It was reduced.
    Reduced,
    /// A window of one segment cannot be reduced: the next one waits for the timer instead.
    MustWait,
}

/// When the window was reduced.
#[derive(Clone, Debug)]
pub(crate) struct Reducer {
    verdict: Policy,
    /// End of the data sent before the last reduction, for any reason.
    reduced_until: Option<u64>,
    /// For marks.
    marked_until: u64,
    /// For losses that probes repaired.
    probed_until: u64,
    /// The next new segment carries CWR.
    cwr_pending: bool,
}

impl Reducer {
    pub(crate) fn new(verdict: Policy) -> Self {
        Self { verdict, reduced_until: None, marked_until: 0, probed_until: 0, cwr_pending: false }
    }

    /// An ACK arrived that reports packets as corrupted, or does not (SCPS-TP).
    pub(crate) fn on_corruption(&mut self, is_reported: bool, path: &PathState) {
        self.verdict.on_corruption(is_reported, path);
    }

    /// A hole was reported for the first time: whether a report of corruption covers it, if the verdict tells holes apart.
    pub(crate) fn covers(&mut self, hole: (u64, u64), path: &PathState) -> Option<bool> {
        self.verdict.covers(hole, path)
    }

    /// The network reports the share of packets that survives.
    pub(crate) fn on_survival(&mut self, survival: f32) {
        self.verdict.on_survival(survival);
    }

    /// Data segments for each copy of low priority that the verdict wants; none without copies.
    pub(crate) fn copies_every(&self) -> Option<u32> {
        self.verdict.copies_every()
    }

    /// Such a copy left, or the answer to one came.
    pub(crate) fn on_copy(&mut self, is_answer: bool, path: &PathState) {
        self.verdict.on_copy(is_answer, path);
    }

    /// The receiver reports marks.
    pub(crate) fn on_mark(&mut self, path: &PathState) {
        self.verdict.on_mark(path);
    }

    /// Whether what is acknowledged up to `ack` had been sent when the window was last reduced.
    pub(crate) fn has_reduced(&self, ack: u64) -> bool {
        self.reduced_until.is_some_and(|until| ack <= until)
    }

    pub(crate) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// A reduction was undone: there is none to confirm.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.cwr_pending = false;
    }

    /// Reduce the window for `cause`, if it has not been reduced for this window of data.
    pub(crate) fn reduce(
        &mut self,
        cause: Cause,
        path: &PathState,
        touched: Touched<'_>,
        cx: &mut Context,
    ) -> ReduceOutcome {
        let Touched { cc, usage, undo, episode, board, rtt } = touched;
        let by_timeout = cause == Cause::Timeout;
        if let (Cause::Loss | Cause::Timeout, Some(undo)) = (cause, undo) {
            let flight = board.flight_size().max(cc.ssthresh());
            let (srtt, rttvar, has_retransmitted) = (rtt.srtt(), rtt.rttvar(), board.has_retransmitted());
            let snapshot = Snapshot { cc, episode, flight, srtt, rttvar, has_retransmitted };
            undo.save(by_timeout, snapshot, path, &cx.config);
        }
        let offset = if let Cause::RepairedLoss { offset } = cause { offset } else { path.snd_una };
        let mut beta = None;
        if cause != Cause::Mark {
            // A mark is congestion, and was compared with the last reduction when it was read.
            let (sent_segments, retransmitted_segments) =
                (cx.counters.sent_segments, cx.counters.retransmitted_segments);
            let was_reduced = episode.phase.is_recovery() && episode.is_reduced;
            let loss = Loss { offset, by_timeout, was_reduced, sent_segments, retransmitted_segments };
            match self.verdict.judge(&loss, path) {
                Verdict::LinkError => {
                    cx.report(Event::NoReduction(path.snd_nxt));
                    return ReduceOutcome::LinkError;
                }
                Verdict::Partly { left } => beta = Some(left),
                Verdict::Congestion => {}
            }
            if !by_timeout && cause != Cause::LostAgain && (offset < self.marked_until || offset < self.probed_until) {
                return ReduceOutcome::Before;
            }
            cx.report(Event::Reduction(path.snd_nxt));
        }
        let mut outcome = ReduceOutcome::Reduced;
        match cause {
            Cause::Loss | Cause::LostAgain | Cause::RepairedLoss { .. } => {
                usage.before_reduction(false, cc, board.flight_size(), cx);
                let before = cc.cwnd();
                match beta {
                    None => cc.on_congestion(Congestion::FastRetransmit, path),
                    // As for a mark that states the share.
                    Some(_) => {
                        cc.on_congestion(Congestion::Ecn { beta }, path);
                        cc.limit_cwnd(before);
                    }
                }
            }
            Cause::Timeout => {
                let is_reduced =
                    (episode.phase.is_recovery() && episode.is_reduced) || path.snd_una < self.marked_until;
                let is_first = (cx.config.rto.reduce_again || episode.rto_at != Some(path.snd_una))
                    && (cx.config.rto.reduce_in_recovery || !is_reduced);
                if is_first {
                    usage.before_reduction(true, cc, board.flight_size(), cx);
                }
                cc.on_rto(is_first, path);
            }
            Cause::Mark => {
                let before = cc.cwnd();
                if before <= path.smss {
                    outcome = ReduceOutcome::MustWait;
                } else {
                    cc.on_congestion(Congestion::Ecn { beta: cx.config.ecn.beta }, path);
                    cc.limit_cwnd(before);
                }
                cx.counters.ecn_reductions += 1;
                cx.report(Event::EcnReduction(path.snd_una));
                self.marked_until = path.snd_nxt;
            }
        }
        if let Cause::RepairedLoss { .. } = cause {
            self.probed_until = path.snd_nxt;
        }
        self.reduced_until = Some(path.snd_nxt);
        self.cwr_pending = true;
        outcome
    }
}
