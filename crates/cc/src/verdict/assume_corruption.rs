use super::indications::Indications;
use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// Attributes losses to the link, unless congestion is indicated (SCPS-TP).
#[derive(Clone, Debug, Default)]
pub struct AssumeCorruption(Indications);

impl LossVerdict for AssumeCorruption {
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
        self.0.judge(Verdict::LinkError, loss, path)
    }

    fn on_mark(&mut self, path: &PathState) {
        self.0.congestion = Some(path.now);
    }
}
