//! linger: the subflow that takes the least time to send what it was given, as in Linux 6 (`mptcp_subflow_get_send`).
//!
//! Data given to a subflow count until they are acknowledged. The time to send them follows from the mean pacing rate
//! of the subflow. The subflow is kept for a burst. Data go to its send buffer, not only into its congestion window. If
//! the send buffer of the chosen subflow is full, the scheduler waits: it does not try the next best subflow.

use super::{Choice, NoSettings, PathView, Scheduler, SchedulerView};

/// A burst on one subflow, bytes (`MPTCP_SEND_BURST_SIZE`).
const BURST: u64 = 65_428;

/// The subflow in use, and mean rates.
#[derive(Clone, Debug)]
pub struct Linger {
    last: usize,
    /// Bytes that are left of its burst.
    left: u64,
    /// Mean pacing rates, bytes per second; 0: none yet.
    rates: Vec<f64>,
}

impl Linger {
    pub(super) fn new(_: NoSettings) -> Self {
        Self { last: 0, left: 0, rates: Vec::new() }
    }

    /// The next segment goes to `i`.
    fn give(&mut self, i: usize, view: &SchedulerView) -> Choice {
        let len = view.paths[i].smss.min(view.unsent).min(view.room);
        self.left = self.left.saturating_sub(len);
        Choice::Send(i)
    }
}

impl Scheduler for Linger {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        self.rates.resize(view.paths.len(), 0.0);
        if self.left > 0 && view.paths.get(self.last).is_some_and(|path| path.is_usable && has_memory(path)) {
            return self.give(self.last, view);
        }
        let mut chosen: Option<(usize, f64)> = None;
        for (i, path) in view.paths.iter().enumerate().filter(|(_, path)| path.is_usable) {
            if self.rates[i] == 0.0 {
                self.rates[i] = pace(path);
            }
            let time = queued(path) / self.rates[i].max(1.0);
            if chosen.is_none_or(|(_, least)| time < least) {
                chosen = Some((i, time));
            }
        }
        let Some((i, _)) = chosen.filter(|&(i, _)| has_memory(&view.paths[i])) else { return Choice::Wait };
        let path = &view.paths[i];
        let (burst, queued) = (BURST.min(view.room), queued(path));
        self.rates[i] = (self.rates[i] * queued + pace(path) * burst as f64) / (queued + burst.max(1) as f64);
        (self.last, self.left) = (i, burst);
        self.give(i, view)
    }

    fn fills_buffers(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}

/// Whether the send buffer takes a segment.
fn has_memory(path: &PathView) -> bool {
    path.buffer >= path.smss
}

/// Bytes that the subflow was given and the peer has not acknowledged.
fn queued(path: &PathView) -> f64 {
    (path.flight + path.queued) as f64
}

/// Returns the pacing rate, bytes per second; without pacing, a window per round trip.
fn pace(path: &PathView) -> f64 {
    match path.pacing_rate {
        Some(rate) => rate.as_bps() as f64 / 8.0,
        None => path.cwnd as f64 * 1e12 / path.srtt.as_ps().max(1) as f64,
    }
}
