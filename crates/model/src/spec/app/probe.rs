//! Probes: when they are sent, and how many.

use super::{at_most, Capacity, Facts};
use bentpipe_units::Duration;
use std::sync::Arc;

/// Datagrams that the other end answers, sent without regard to the answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Probing {
    /// Payload bytes of each, and of its answer.
    pub size: u16,
    /// When they are sent.
    pub times: ProbeTimes,
    /// Number of probes; `None`: until the run or the list ends.
    pub count: Option<u64>,
}

/// When probes are sent, as times after the start of the flow.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeTimes {
    /// At the start and at equal distances.
    Every(Duration),
    /// At these times, which increase.
    Listed(Arc<[Duration]>),
}

impl Probing {
    /// Returns the time of the probe `index`, if there is one.
    pub fn time(&self, index: u64) -> Option<Duration> {
        if self.count.is_some_and(|count| index >= count) {
            return None;
        }
        match &self.times {
            ProbeTimes::Every(interval) => Some(Duration::from_ps(interval.as_ps().saturating_mul(index))),
            ProbeTimes::Listed(times) => times.get(usize::try_from(index).ok()?).copied(),
        }
    }

    /// Returns the number of probes in a run, at most.
    pub fn probes(&self, seconds: f64) -> f64 {
        at_most(
            self.count,
            match &self.times {
                ProbeTimes::Every(interval) => 1.0 + seconds / interval.as_secs_f64(),
                ProbeTimes::Listed(times) => times.len() as f64,
            },
        )
    }
}

impl Facts for Probing {
    const KIND: &'static str = "probe";
    const ENDS_IN_PAUSES: bool = false;
    const HAS_TRANSPORT: bool = false;

    fn is_random(&self) -> bool {
        false
    }

    fn datagrams(&self) -> Option<(f64, f64)> {
        let per_second = match &self.times {
            ProbeTimes::Every(interval) => 1.0 / interval.as_secs_f64(),
            // A list of one has no rate.
            ProbeTimes::Listed(times) => {
                let span = times.last().map_or(Duration::ZERO, |last| last.saturating_sub(times[0]));
                (times.len() as f64 - 1.0) / span.as_secs_f64().max(1e-9)
            }
        };
        Some((per_second * f64::from(self.size), self.size.into()))
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        self.probes(capacity.seconds)
    }
}
