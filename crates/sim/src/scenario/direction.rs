//! Converts one direction of a link entry from the notation of the file to that of the engine.

use super::keys;
use super::report::{below, path, Report};
use crate::spec::{
    Arq, Coded, Coding, Downtimes, Effect, ErrorModel, Framing, Interleave, Jitter, Mtu, Outage, Profile, Queue,
};
use bentpipe_units::{Duration, Rate};
use std::sync::Arc;

/// One direction of a link entry.
pub(super) struct Direction {
    pub(super) rate: Profile<Rate>,
    pub(super) delay: Profile<Duration>,
    pub(super) jitter: Option<Arc<Vec<Jitter>>>,
    /// Queue of the direction. Limits in bdp stay open until the flows over the link are known.
    pub(super) queue: Queue,
    pub(super) error: ErrorModel,
    pub(super) effect: Effect,
    pub(super) interleave: Option<Interleave>,
    pub(super) coded: Option<Box<Coded>>,
    pub(super) arq: Option<Arq>,
    pub(super) framing: Framing,
    pub(super) mtu: Option<Mtu>,
    pub(super) outage: Option<Outage>,
}

impl Direction {
    /// Returns both directions of the link `name`.
    pub(super) fn both(name: &str, link: &keys::Link, run: Duration, report: &mut Report<'_>) -> [Self; 2] {
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
            let nothing = Profile::Constant(Rate::from_bps(0));
            let at_once = Profile::Constant(Duration::ZERO);
            let written = direction.error.as_ref().unwrap_or(&link.error);
            let (error, effect) = written.meaning(report, &path("error"));
            let rate = direction.rate.as_ref().map_or(nothing, |rate| keys::rate(rate, report, &path("rate")));
            let delay = direction.delay.as_ref().map_or(at_once, |delay| keys::delay(delay, report, &path("delay")));
            let jitter = direction.jitter.as_ref();
            let jitter = jitter.map(|jitter| jitter.checked(run, report, &path("jitter")));
            let jitter = jitter.filter(|all| !all.is_empty()).map(Arc::new);
            let queue = direction.queue.as_ref().unwrap_or(&link.queue).clone();
            keys::check_queue(&queue, report, &path("queue"));
            let outage = direction.outage.as_ref().map(|outage| keys::outage(outage, report, &path("outage")));
            let mut made = Self {
                rate,
                delay,
                jitter,
                queue,
                error,
                effect,
                interleave: direction.interleave,
                coded: None,
                arq: direction.arq,
                framing: direction.framing.unwrap_or(link.framing),
                mtu: direction.mtu,
                outage,
            };
            if let (Some(coding), true) = (&direction.coding, report.findings.found.is_empty()) {
                made.encode(coding.clone(), run, report, &path("coding"));
            }
            keys::check_framing(made.framing, report, &path("framing"));
            if let Some(mtu) = direction.mtu {
                keys::check_mtu(mtu, report, &path("mtu"));
            }
            if let Some(interleave) = direction.interleave {
                keys::check_interleave(interleave, &made.error, report, &path("interleave"));
            }
            made
        })
    }

    /// Replaces rate and errors by those of the coded link.
    fn encode(&mut self, coding: Coding, run: Duration, report: &mut Report<'_>, path: &[String]) {
        let (rate, delay, error) = (self.rate.clone(), self.delay.clone(), self.error.clone());
        let coded = Coded { coding, rate, delay, error };
        match coded.meets(self.interleave.is_some(), run) {
            Ok(meets) => (self.rate, self.delay, self.error) = (meets.rate, meets.delay, meets.error),
            Err((key, message, expected)) => report.value(&below(path, key), &message, &expected),
        }
        self.coded = Some(Box::new(coded));
    }

    /// Returns its number of points, spans and indices.
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
        self.rate.values().count() + self.delay.values().count() + self.queue.entries() + spans + errors
    }
}
