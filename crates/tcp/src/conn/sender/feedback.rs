//! Interpretation of a loss by the window that the network advertises (T. Taleb, N. Kato, Y. Nemoto, "REFWA Plus"),
//! with any congestion control and recovery. The reaction is in [`resend`](super::resend).

use super::reduce::Cause;
use crate::config::{Config, Feedback, RefwaPlus, Trigger};
use bentpipe_units::{Duration, Time};

/// The advertised windows so far.
#[derive(Clone, Debug)]
pub(crate) struct WindowFeedback {
    pub(super) config: RefwaPlus,
    /// On the last ACK outside of recovery; none came yet.
    pub(super) normal: Option<u64>,
    /// A loss is held for a link error, until an ACK comes outside of recovery.
    pub(super) is_error: bool,
    /// After a timeout one segment is sent until an ACK comes.
    pub(super) is_probing: bool,
    /// Time of the last retransmission of all data.
    pub(super) resent_at: Time,
    /// Gap between retransmissions.
    pub(super) gap: Option<Duration>,
}

impl WindowFeedback {
    pub(super) fn of(config: &Config) -> Option<Self> {
        let Feedback::RefwaPlus(config) = config.feedback else { return None };
        let (normal, resent_at) = (None, Time::ZERO);
        Some(Self { config, normal, is_error: false, is_probing: false, resent_at, gap: None })
    }

    /// Eq. 1 and 3 of the paper: the window has not fallen, or by no more than the tolerance.
    pub(super) fn has_held(&self, window: u64) -> bool {
        self.normal.is_some_and(|normal| normal as f64 <= (1.0 + self.config.tolerance) * window as f64)
    }

    /// Whether a loss that `cause` shows counts as a link error.
    pub(super) fn judges_error(&self, cause: Cause, window: u64) -> bool {
        let is_asked = match cause {
            Cause::Mark => false,
            Cause::Timeout => self.config.rto_hold,
            Cause::Loss | Cause::LostAgain | Cause::RepairedLoss { .. } => self.config.trigger != Trigger::Partial,
        };
        is_asked && self.has_held(window)
    }

    /// A loss is congestion after all, or is over.
    pub(super) fn end(&mut self) {
        (self.is_error, self.gap) = (false, None);
    }
}
