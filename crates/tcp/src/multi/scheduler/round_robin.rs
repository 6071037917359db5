//! round-robin: each subflow carries some segments in turn. A baseline: it knows nothing of the paths.

use super::{Choice, RoundRobinSettings, Scheduler, SchedulerView};

/// Whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    settings: RoundRobinSettings,
    turn: usize,
    /// Segments that are left of the turn.
    left: u32,
}

impl RoundRobin {
    pub(super) fn new(settings: RoundRobinSettings) -> Self {
        Self { settings, turn: 0, left: settings.burst }
    }

    fn pass_on(&mut self, subflows: usize) {
        (self.turn, self.left) = ((self.turn + 1) % subflows, self.settings.burst);
    }
}

impl Scheduler for RoundRobin {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        let subflows = view.paths.len();
        for _ in 0..subflows {
            if self.left == 0 {
                self.pass_on(subflows);
            }
            let path = &view.paths[self.turn % subflows];
            if path.is_ready() {
                self.left -= 1;
                return Choice::Send(self.turn);
            }
            if path.is_usable && !self.settings.fill {
                return Choice::Wait;
            }
            self.pass_on(subflows);
        }
        Choice::Wait
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(*self)
    }
}
