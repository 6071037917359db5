//! ecf: waits for the fastest subflow if it would deliver all remaining data before a segment on a slower one (Y. Lim
//! et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths", CoNEXT 2017).
//!
//! With k bytes left, the fast subflow f needs (1 + k / cwnd_f) round trips. If these end before one round trip of the
//! slow subflow s, and s itself would not deliver all data much sooner, the scheduler waits.
//!
//! k is at least the window of the subflow, as in the implementation of the authors; in the paper it is not, so that
//! the last segments of a transfer could go to the slow subflow.

use super::{Choice, EcfSettings, PathView, Scheduler, SchedulerView};

/// Whether it waits.
#[derive(Clone, Copy, Debug)]
pub struct Ecf {
    /// Thousandths.
    beta: u32,
    is_waiting: bool,
}

impl Ecf {
    pub(super) fn new(settings: EcfSettings) -> Self {
        Self { beta: settings.beta, is_waiting: false }
    }
}

impl Scheduler for Ecf {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        let Some(slow) = view.fastest(PathView::is_ready) else { return Choice::Wait };
        let fast = view.fastest(|path| path.is_usable).unwrap_or(slow);
        if fast == slow {
            return Choice::Send(slow);
        }
        let (i, fast, slow) = (slow, &view.paths[fast], &view.paths[slow]);
        let seconds = |duration: bentpipe_units::Duration| duration.as_ps() as f64;
        let rounds = |path: &PathView| view.unsent.max(path.cwnd) as f64 / path.cwnd.max(1) as f64;
        let (fast_rtt, slow_rtt) = (seconds(fast.srtt), seconds(slow.srtt));
        let spread = seconds(fast.rttvar.max(slow.rttvar));
        let slack = if self.is_waiting { 1.0 + f64::from(self.beta) / 1000.0 } else { 1.0 };
        if (1.0 + rounds(fast)) * fast_rtt >= slack * (slow_rtt + spread) {
            self.is_waiting = false;
            return Choice::Send(i);
        }
        if rounds(slow) * slow_rtt >= 2.0 * fast_rtt + spread {
            self.is_waiting = true;
            return Choice::Wait;
        }
        Choice::Send(i)
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(*self)
    }
}
