use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// Attributes losses that duplicate ACKs show to the link: a bound for all other policies. A timeout is still
/// congestion: without any ACKs there is no evidence for another cause.
#[derive(Clone, Debug, Default)]
pub struct AlwaysLinkError;

impl LossVerdict for AlwaysLinkError {
    fn judge(&mut self, loss: &Loss, _path: &PathState) -> Verdict {
        if loss.by_timeout {
            Verdict::Congestion
        } else {
            Verdict::LinkError
        }
    }
}
