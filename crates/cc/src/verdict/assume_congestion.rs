use super::indications::Indications;
use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;
use crate::keys::{Copies, Snack};

/// Attributes losses to congestion, unless a report of corruption covers them (SCPS-TP).
#[derive(Clone, Debug, Default)]
pub struct AssumeCongestion(Indications);

impl LossVerdict for AssumeCongestion {
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
        self.0.judge(Verdict::Congestion, loss, path)
    }

    fn on_corruption(&mut self, is_reported: bool, path: &PathState) {
        self.0.on_corruption(is_reported, path);
    }

    fn covers(&mut self, hole: (u64, u64), path: &PathState) -> Option<bool> {
        self.0.covers(hole, path)
    }

    fn on_mark(&mut self, path: &PathState) {
        self.0.congestion = Some(path.now);
    }

    fn configure(&mut self, _: Copies, snack: Snack) {
        self.0.configure(snack);
    }
}
