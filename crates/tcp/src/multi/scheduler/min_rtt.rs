//! min-rtt: the usable subflow with the least smoothed round-trip time that has room (C. Raiciu et al., "How Hard Can It Be?
//! Designing and Implementing a Deployable Multipath TCP", NSDI 2012). The default of the first Linux implementation.

use super::{Choice, NoSettings, PathView, Scheduler, SchedulerView};

/// The fastest subflow with room.
#[derive(Clone, Copy, Debug)]
pub struct MinRttFirst;

impl MinRttFirst {
    pub(super) fn new(_: NoSettings) -> Self {
        Self
    }
}

impl Scheduler for MinRttFirst {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        view.fastest(PathView::is_ready).map_or(Choice::Wait, Choice::Send)
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(*self)
    }
}
