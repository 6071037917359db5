//! The two policies that need no evidence: the standard's, and its opposite as a bound for all others.

use super::{Loss, LossVerdict, Verdict};
use crate::cc::PathState;

/// RFC 5681: every loss is congestion.
#[derive(Clone, Debug, Default)]
pub struct AlwaysCongestion;

/// Losses that duplicate ACKs show are blamed on the link. A timeout is still congestion: with all ACKs gone
/// there is no evidence for anything else.
#[derive(Clone, Debug, Default)]
pub struct AlwaysLinkError;

impl LossVerdict for AlwaysCongestion {
    fn judge(&mut self, _loss: &Loss, _path: &PathState) -> Verdict {
        Verdict::Congestion
    }
}

impl LossVerdict for AlwaysLinkError {
    fn judge(&mut self, loss: &Loss, _path: &PathState) -> Verdict {
        if loss.by_timeout {
            Verdict::Congestion
        } else {
            Verdict::LinkError
        }
    }
}
