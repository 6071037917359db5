//! The time that the host at the end of a link takes before it handles a packet: drawn for each one.
//!
//! It is part of the link, as later arrivals are: nothing overtakes, and a host that is late costs no event of its own.

use crate::spec::Scenario;
use bentpipe_units::{Duration, Stream};

/// The processing time of a host, drawn for each packet.
#[derive(Clone, Debug)]
pub(crate) struct Processing {
    least: Duration,
    /// How much longer it may be; the longest time is excluded.
    spread: Duration,
    stream: Stream,
}

impl Processing {
    /// Of the host at the end of the link `name`, between these times; none for one that takes no time.
    pub(crate) fn new((least, most): (Duration, Duration), seed: u64, name: &str) -> Option<Box<Self>> {
        let stream = Stream::new(seed, &format!("link/{name}"), "processing");
        (most > Duration::ZERO).then(|| Box::new(Self { least, spread: most.saturating_sub(least), stream }))
    }

    /// For packet number `index` of the link.
    pub(super) fn draw(&mut self, index: u64) -> Duration {
        self.least + Duration::from_ps(self.stream.below(index, self.spread.as_ps()))
    }
}

/// For each link the shortest and the longest time that the host at its end takes: that of the flows which end there, and
/// of several the one that may take longest.
pub(crate) fn processing(scenario: &Scenario) -> Vec<(Duration, Duration)> {
    let mut times = vec![(Duration::ZERO, Duration::ZERO); scenario.links.len()];
    for flow in &scenario.flows {
        for &link in [flow.route.last(), flow.reverse_route.last()].into_iter().flatten() {
            if flow.processing.1 > times[link].1 {
                times[link] = flow.processing;
            }
        }
    }
    times
}
