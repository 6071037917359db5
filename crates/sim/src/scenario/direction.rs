//! One direction of a link entry, from the form of the file to that of the engine.

use super::file;
use super::resolve::{path, Report};
use super::settings;
use super::{Downtimes, Effect, ErrorModel, Interleave, Outage, Profile, Queue};
use bentpipe_units::{Duration, Rate};

/// One direction of a link entry.
pub(super) struct Direction {
    pub(super) rate: Profile<Rate>,
    pub(super) delay: Profile<Duration>,
    /// With the millionths of a bdp that its limits are, where they are not known yet.
    pub(super) queue: (Queue, Vec<Option<u64>>),
    pub(super) error: ErrorModel,
    pub(super) effect: Effect,
    pub(super) interleave: Option<Interleave>,
    pub(super) outage: Option<Outage>,
}

impl Direction {
    /// Those of the link `name`, there and back.
    pub(super) fn both(name: &str, link: &file::Link, report: &mut Report<'_>) -> [Self; 2] {
        [("forward", &link.forward), ("reverse", &link.reverse)].map(|(side, direction)| {
            let path = |key| path(["link", name, side, key]);
            if direction.rate.is_none() {
                report.key(
                    &path("rate")[..2],
                    "has no rate",
                    "expected rate, like \"10 Mbit/s\", for the link or for each direction",
                );
            }
            if direction.delay.is_none() {
                report.key(
                    &path("delay")[..2],
                    "has no delay",
                    "expected delay, like \"20 ms\", for the link or for each direction",
                );
            }
            let nothing = Rate::from_bps(0);
            let (error, effect) =
                settings::error(direction.error.as_ref().unwrap_or(&link.error), report, &path("error"));
            Self {
                rate: direction
                    .rate
                    .as_ref()
                    .map_or(Profile::Constant(nothing), |p| settings::rate(p, report, &path("rate"))),
                delay: direction
                    .delay
                    .as_ref()
                    .map_or(Profile::Constant(Duration::ZERO), |p| settings::delay(p, report, &path("delay"))),
                queue: settings::queue(direction.queue.as_ref().unwrap_or(&link.queue), report, &path("queue")),
                interleave: direction
                    .interleave
                    .as_ref()
                    .map(|interleave| settings::interleave(interleave, &error, report, &path("interleave"))),
                error,
                effect,
                outage: direction.outage.as_ref().map(|outage| settings::outage(outage, report, &path("outage"))),
            }
        })
    }

    /// How many points, spans and indices it has.
    pub(super) fn entries(&self) -> usize {
        let errors = match &self.error {
            ErrorModel::Arrivals { list, .. } => list.len(),
            ErrorModel::Profile { rates, .. } => rates.values().count(),
            _ => 0,
        };
        let spans = match &self.outage {
            Some(Outage { when: Downtimes::Spans { spans, .. }, .. }) => spans.len(),
            _ => 0,
        };
        self.rate.values().count() + self.delay.values().count() + self.queue.0.entries() + spans + errors
    }
}
