use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// Attributes every loss to congestion (RFC 5681).
#[derive(Clone, Debug, Default)]
pub struct AlwaysCongestion;

impl LossVerdict for AlwaysCongestion {
    fn judge(&mut self, _loss: &Loss, _path: &PathState) -> Verdict {
        Verdict::Congestion
    }
}
