//! Log-on of the terminals of a medium, and resets of its hub.

use super::members::Bursts;
use super::SlottedMedium;
use crate::log_on::{LogOnCounters, Step};
use crate::requests::Asking;
use crate::terminal::Demand;
use crate::waveforms::Waveform;

impl SlottedMedium {
    /// Whether a terminal is logged on.
    pub fn is_on(&self, terminal: usize) -> bool {
        self.joining.as_ref().is_none_or(|joining| joining.is_on(terminal))
    }

    /// Returns the counts of log-ons since the start.
    pub fn log_ons(&self) -> LogOnCounters {
        self.joining.as_ref().map_or(LogOnCounters::default(), |joining| joining.counters)
    }

    pub(super) fn wake_for_reset(&mut self) {
        if self.joining.as_ref().is_some_and(|joining| joining.is_reset_due(self.wakes)) {
            (0..self.members.len()).for_each(|n| self.visits.wake(n));
        }
    }

    /// Loses all terminals, requests and plans if the hub resets.
    pub(super) fn reset(&mut self, superframe: u64) {
        if self.joining.as_mut().is_some_and(|joining| joining.reset(superframe)) {
            (0..self.members.len()).for_each(|n| self.log_off(n));
            self.messages.iter_mut().for_each(Vec::clear);
            self.plans.iter_mut().for_each(|plan| plan.grants.clear());
        }
    }

    fn log_off(&mut self, n: usize) {
        let member = &mut self.members[n];
        member.asking.iter_mut().for_each(Asking::reset);
        self.controller.forget(n);
        self.set_bursts(n, self.members[n].was_up);
    }

    /// Lets terminals log on and off, and reads the log-on bursts of the superframe.
    pub(super) fn join(&mut self, superframe: u64, visited: &[u32], demands: &[Demand]) {
        if self.joining.is_none() {
            return;
        }
        for n in visited.iter().map(|&n| n as usize).filter(|&n| demands[n].is_up) {
            let step = self.joining.as_mut().map_or(Step::Stays, |of| of.step(superframe, n, &demands[n]));
            match step {
                Step::Stays => {}
                Step::ComesOn => {
                    self.members[n].heard = superframe;
                    self.choose_first(n, demands[n].es_n0_db);
                }
                Step::GoesOff => self.log_off(n),
            }
        }
        // A log-on burst has the most robust waveform.
        let needed = match &self.bursts {
            Bursts::Waveforms { length, fixed, .. } => fixed.or_else(|| Waveform::all(*length).next()),
            Bursts::Fixed(_) => None,
        };
        let needed_db = needed.map_or(f64::NEG_INFINITY, Waveform::threshold_db);
        if let Some(joining) = &mut self.joining {
            joining.hear(superframe, |n| demands[n].es_n0_db >= needed_db);
        }
    }
}
