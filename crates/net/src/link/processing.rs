//! Processing time of hosts, drawn for each packet at the end of a link.
//!
//! It is part of the link, as later arrivals are: packets keep their order, and a delay costs no event.

use bentpipe_model::spec::Scenario;
use bentpipe_units::{Duration, Stream};

/// The processing time of a host, drawn for each packet.
#[derive(Clone, Debug)]
pub(crate) struct Processing {
    least: Duration,
    /// Upper bound of the additional time, excluded.
    spread: Duration,
    stream: Stream,
}

impl Processing {
    /// Processing at the end of the link `name`, between these times. `None` if it takes no time.
    pub(crate) fn new((least, most): (Duration, Duration), seed: u64, name: &str) -> Option<Box<Self>> {
        let stream = Stream::new(seed, &format!("link/{name}"), "processing");
        (most > Duration::ZERO).then(|| Box::new(Self { least, spread: most.saturating_sub(least), stream }))
    }

    /// Draws the time of packet number `index` of the link.
    pub(super) fn draw(&mut self, index: u64) -> Duration {
        self.least + Duration::from_ps(self.stream.below(index, self.spread.as_ps()))
    }
}

/// Returns for each link the shortest and longest processing time at its end. If flows with different times end there, the
/// longest applies.
pub(crate) fn processing(scenario: &Scenario) -> Vec<(Duration, Duration)> {
    let mut times = vec![(Duration::ZERO, Duration::ZERO); scenario.links.len()];
    for lane in &scenario.lanes {
        let flow = &scenario.flows[lane.flow];
        for &link in [lane.route.last(), lane.reverse_route.last()].into_iter().flatten() {
            if flow.processing.1 > times[link].1 {
                times[link] = flow.processing;
            }
        }
    }
    times
}
