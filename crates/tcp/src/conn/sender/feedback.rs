//! What the window that the network advertises says of a loss (T. Taleb, N. Kato, Y. Nemoto, "REFWA Plus"), whatever congestion
//! control and recovery. What follows from it is done in [`resend`](super::resend).

use super::reduce::Cause;
use crate::config::{Config, Feedback, RefwaPlus, Trigger};
use bentpipe_units::{Duration, Time};

/// What the windows have been.
#[derive(Clone, Debug)]
pub(super) struct WindowFeedback {
    pub(super) config: RefwaPlus,
    /// On the last ACK outside of recovery; none came yet.
    pub(super) normal: Option<u64>,
    /// A loss is held for a link error, until an ACK comes outside of recovery.
    pub(super) is_error: bool,
    /// After a timeout one segment is sent until an ACK comes.
    pub(super) is_probing: bool,
    /// When everything was sent again last.
    pub(super) resent_at: Time,
    /// Between segments that are sent again.
    pub(super) gap: Option<Duration>,
}

impl WindowFeedback {
    pub(super) fn of(config: &Config) -> Option<Box<Self>> {
        let Feedback::RefwaPlus(config) = config.feedback else { return None };
        let (normal, resent_at) = (None, Time::ZERO);
        Some(Box::new(Self { config, normal, is_error: false, is_probing: false, resent_at, gap: None }))
    }

    /// Eq. 1 and 3 of the paper: the window has not fallen, or by no more than the tolerance.
    pub(super) fn has_held(&self, window: u64) -> bool {
        self.normal.is_some_and(|normal| normal as f64 <= (1.0 + self.config.tolerance) * window as f64)
    }

    /// What a loss that `cause` shows is taken for.
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
