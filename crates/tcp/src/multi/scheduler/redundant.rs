//! redundant: every subflow carries all data, so that the first copy counts. A subflow with room first takes what others carry and
//! it does not; new data go to the subflow that has none of that. It trades rate for the delay of the best path at each moment.

use super::{Choice, NoSettings, PathView, Scheduler, SchedulerView};

/// All data on all subflows.
#[derive(Clone, Copy, Debug)]
pub struct Redundant;

impl Redundant {
    pub(super) fn new(_: NoSettings) -> Self {
        Self
    }
}

impl Scheduler for Redundant {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        if let Some(i) = view.fastest(|path| path.is_ready() && path.can_repeat) {
            return Choice::Repeat(i);
        }
        if view.unsent == 0 || view.room == 0 {
            return Choice::Wait;
        }
        view.fastest(PathView::is_ready).map_or(Choice::Wait, Choice::Send)
    }

    fn repeats(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(*self)
    }
}
