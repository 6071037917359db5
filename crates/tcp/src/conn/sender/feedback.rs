//! Interpretation of a loss by the window that the network advertises (T. Taleb, N. Kato, Y. Nemoto, "REFWA Plus"),
//! with any congestion control and recovery.
//!
//! Reaction to a link error: there is no reduction, window and threshold become the advertised window, and missing data is
//! retransmitted.

use super::episode::Episode;
use super::reduce::Cause;
use super::rtt::Rtt;
use super::scoreboard::{Evidence, Scoreboard};
use super::space::SendSpace;
use crate::config::{Config, Feedback, RefwaPlus, Resend, Trigger};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{Cc, CongestionControl};
use bentpipe_units::{Duration, Time};

/// The advertised windows so far.
#[derive(Clone, Debug)]
pub(crate) struct WindowFeedback {
    config: RefwaPlus,
    /// On the last ACK outside of recovery; none came yet.
    normal: Option<u64>,
    /// A loss is held for a link error, until an ACK comes outside of recovery.
    pub(super) is_error: bool,
    /// After a timeout one segment is sent until an ACK comes.
    is_probing: bool,
    /// Time of the last retransmission of all data.
    resent_at: Time,
    /// Gap between retransmissions.
    pub(super) gap: Option<Duration>,
}

/// Judgement of a partial ACK about the loss before it.
pub(super) enum Partial {
    /// The loss counts as before.
    Nothing,
    /// The loss was congestion after all.
    Congestion,
    /// It was one.
    Error {
        /// It was not held for one before.
        is_new: bool,
        /// The window of this ACK was compared.
        is_judged: bool,
        /// All data leave again.
        resends: bool,
    },
}

impl WindowFeedback {
    /// Returns the feedback of a configuration.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let Feedback::RefwaPlus(config) = config.feedback else { return None };
        let (normal, resent_at) = (None, Time::ZERO);
        Some(Self { config, normal, is_error: false, is_probing: false, resent_at, gap: None })
    }

    /// An ACK of new data is about to be entered, with this advertised `window`; `is_open`: outside of recovery.
    #[cold]
    #[inline(never)]
    pub(super) fn note_window(&mut self, window: u64, is_open: bool, cc: &mut Cc) {
        if is_open {
            self.normal = Some(window);
            self.end();
        }
        if std::mem::take(&mut self.is_probing) {
            cc.set_window(window, window);
        }
    }

    /// Eq. 1 and 3 of the paper: the window has not fallen, or by no more than the tolerance.
    fn has_held(&self, window: u64) -> bool {
        self.normal.is_some_and(|normal| normal as f64 <= (1.0 + self.config.tolerance) * window as f64)
    }

    /// Whether a loss that `cause` shows counts as a link error.
    fn judges_error(&self, cause: Cause, window: u64) -> bool {
        let is_asked = match cause {
            Cause::Mark => false,
            Cause::Timeout => self.config.rto_hold,
            Cause::Loss | Cause::LostAgain | Cause::RepairedLoss { .. } => self.config.trigger != Trigger::Partial,
        };
        is_asked && self.has_held(window)
    }

    /// Whether a loss is taken for a link error; then window and threshold are what is advertised.
    pub(super) fn takes_for_error(
        &mut self,
        now: Time,
        cause: Cause,
        space: &SendSpace,
        rtt: &mut Rtt,
        cc: &mut Cc,
        cx: &mut Context,
    ) -> bool {
        let is_error = self.judges_error(cause, space.rwnd);
        if is_error {
            self.hold_window(now, cause, space, rtt, cc, cx);
        } else if cause != Cause::Timeout {
            self.end();
        }
        is_error
    }

    /// A loss is held for a link error from now on.
    pub(super) fn hold_window(
        &mut self,
        now: Time,
        cause: Cause,
        space: &SendSpace,
        rtt: &mut Rtt,
        cc: &mut Cc,
        cx: &mut Context,
    ) {
        let by_timeout = cause == Cause::Timeout;
        (self.is_error, self.is_probing) = (true, by_timeout);
        if by_timeout {
            self.resent_at = now;
        }
        rtt.fix(self.config.rto);
        cc.set_window(if by_timeout { space.smss() } else { space.rwnd }, space.rwnd);
        cx.report(Event::LinkError(space.una));
        cx.report(Event::NoReduction(space.nxt));
    }

    /// Whether recovery, which begins, retransmits all data immediately, because of a link error.
    pub(super) fn resends_all(&self) -> bool {
        self.is_error && self.config.resend == Resend::Bulk
    }

    /// Retransmits immediately the data that the evidence shows to be lost.
    pub(super) fn resend(
        &mut self,
        now: Time,
        evidence: Evidence,
        space: &SendSpace,
        srtt: Option<Duration>,
        board: &mut Scoreboard,
        episode: &mut Episode,
    ) {
        let segments = board.flight_size().div_ceil(space.smss()).max(1);
        board.mark(evidence);
        board.note_reduction(now);
        episode.enter_loss();
        self.resent_at = now;
        self.gap = srtt.filter(|_| self.config.bulk_paced).map(|srtt| srtt / segments);
    }

    /// A part of the outstanding data is acknowledged, and losses are still being repaired; `in_recovery` by fast recovery.
    pub(super) fn judge_partial(&mut self, now: Time, in_recovery: bool, window: u64, srtt: Duration) -> Partial {
        let (was_error, is_judged) = (self.is_error, self.config.trigger != Trigger::Duplicate);
        if !was_error && !in_recovery {
            return Partial::Nothing;
        }
        let is_error = if is_judged { self.has_held(window) } else { was_error };
        let is_due = now.saturating_since(self.resent_at) >= srtt;
        match (was_error, is_error) {
            (true, false) => {
                self.end();
                Partial::Congestion
            }
            (false, false) => Partial::Nothing,
            (_, true) => Partial::Error {
                is_new: !was_error,
                is_judged,
                resends: self.config.resend == Resend::Bulk && (is_due || !was_error),
            },
        }
    }

    /// A loss is congestion after all, or is over.
    fn end(&mut self) {
        (self.is_error, self.gap) = (false, None);
    }
}
