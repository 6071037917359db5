use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// Losses that duplicate ACKs show are attributed to the link: a bound for all other policies. A timeout is still congestion:
/// with all ACKs gone there is no evidence for anything else.
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
