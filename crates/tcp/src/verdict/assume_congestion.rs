use super::indications::Indications;
use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;

/// Losses are congestion, unless corruption is indicated (SCPS-TP).
#[derive(Clone, Debug, Default)]
pub struct AssumeCongestion(Indications);

impl LossVerdict for AssumeCongestion {
    fn judge(&mut self, _loss: &Loss, path: &PathState) -> Verdict {
        self.0.judge(Verdict::Congestion, path)
    }

    fn on_corruption(&mut self, path: &PathState) {
        self.0.corruption = Some(path.now);
    }

    fn on_mark(&mut self, path: &PathState) {
        self.0.congestion = Some(path.now);
    }
}
