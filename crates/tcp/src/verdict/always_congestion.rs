use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// RFC 5681: every loss is congestion.
#[derive(Clone, Debug, Default)]
pub struct AlwaysCongestion;

impl LossVerdict for AlwaysCongestion {
    fn judge(&mut self, _loss: &Loss, _path: &PathState) -> Verdict {
        Verdict::Congestion
    }
}
