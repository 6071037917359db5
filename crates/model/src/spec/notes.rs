//! Notes on a scenario that need no run: those of its reader, delays that are longer than any orbit's or than the run,
//! and congestion controls without the bounded window that they need.

use super::{Flow, Lane, Queue, Scenario};
use crate::ids::LinkId;
use bentpipe_cc::Unbounded;
use bentpipe_units::{Duration, Time};

/// Names that a note gives before it counts.
const NAMED: usize = 3;
/// Longest propagation delay from the ground over a satellite to the ground: by the apogee of a Tundra orbit (53,600 km
/// from the centre of the Earth) at the horizon of both places.
const ORBIT_MAX: Duration = Duration::from_millis(360);
/// Propagation delay from the Earth to the Moon at its nearest, 356,400 km. Longer ones are of deep space.
const MOON: Duration = Duration::from_millis(1188);
/// Headers of a packet, bytes.
const HEADERS: u64 = 40;

impl Scenario {
    /// Returns the notes of the reader. Then lines about delays above those of orbits, flows that start too late, and
    /// flows that nothing reaches, and notes on media. Then one for each congestion control that overloads its path because no buffer bounds
    /// its window, in the order of the flows.
    pub fn notes(&self) -> Vec<String> {
        let at_keys = self.notes_on_times().chain(self.notes_on_media()).map(|(_, note)| note);
        self.notes.iter().cloned().chain(at_keys).chain(self.notes_on_windows()).collect()
    }

    /// All notes and hints with the keys that they are about; without a key where that is not known.
    pub fn warnings(&self) -> Vec<(String, String)> {
        let of_reader = self.notes.iter().map(|note| {
            let is_of_sky = note.starts_with("sky: ");
            (if is_of_sky { "sky" } else { "" }.to_owned(), note.clone())
        });
        let on_windows = self.notes_on_windows().map(|note| ("tcp.receive_buffer".to_owned(), note));
        of_reader
            .chain(self.notes_on_times())
            .chain(self.notes_on_media())
            .chain(on_windows)
            .chain(self.hints_at_keys())
            .collect()
    }

    /// Returns the notes about delays and starts, each with its key.
    fn notes_on_times(&self) -> impl Iterator<Item = (String, String)> {
        [self.note_on_delays(), self.note_on_starts(), self.note_on_paths()].into_iter().flatten()
    }

    /// Returns the key of the first delay that is longer than any orbit's, and a note on all of them: often it is a round
    /// trip that was written for one way.
    fn note_on_delays(&self) -> Option<(String, String)> {
        let is_far = |delay: Duration| ORBIT_MAX < delay && delay < MOON;
        let far = || self.links.iter().filter(|link| is_far(link.delay.largest()));
        let first = far().next()?;
        let name = first.name.rsplit_once('.').map_or(&*first.name, |(name, _)| name);
        let more = match far().count() - 1 {
            0 => String::new(),
            more => format!(" (and of {more} more)"),
        };
        let note = format!(
            "the delay of \"{}\"{more} is {} one way; over a geostationary satellite it is at most 280 ms, half of a \
             round trip",
            first.name,
            first.delay.largest()
        );
        Some((format!("link.{name}.delay"), note))
    }

    /// Returns a note on flows whose packets, or whose answers, cannot arrive before the end of the run.
    fn note_on_paths(&self) -> Option<(String, String)> {
        let time = |route: &[LinkId], size: u64| {
            let over = |&link: &LinkId| {
                let link = &self.links[link];
                // Without a waveform, a link in a medium has no rate. It has its own note.
                let sending = match link.largest_for(size).as_bps() {
                    0 => 0.0,
                    rate => (8 * size) as f64 / rate as f64,
                };
                link.delay.least().as_secs_f64() + sending
            };
            route.iter().map(over).sum::<f64>()
        };
        let needed = |flow: &Flow| {
            let Lane { route, reverse_route, .. } = &self.lanes[flow.lane];
            match flow.app.datagrams() {
                _ if route.is_empty() || reverse_route.is_empty() => 0.0,
                Some((_, size)) => time(route, size as u64),
                None => time(route, u64::from(flow.transport.payload()) + HEADERS) + time(reverse_route, HEADERS),
            }
        };
        let end = Time::ZERO + self.duration;
        let is_short = |flow: &&Flow| {
            let start = flow.start.earliest();
            start < end && needed(flow) > (end - start).as_secs_f64()
        };
        let found: Vec<_> = self.flows.iter().filter(is_short).collect();
        let first = found.first()?;
        let names: Vec<&str> = found.iter().map(|flow| &*flow.name).collect();
        let does = if first.app.datagrams().is_some() { "a packet to arrive" } else { "an answer to a packet" };
        let left = (end - first.start.earliest()).as_secs_f64();
        let note = format!(
            "{} cannot have {does}: it takes {:.2} s, and the run leaves {left} s",
            named(&names),
            needed(first)
        );
        Some(("duration".to_owned(), note))
    }

    /// The key of the first start that the run does not reach, and a note on all of them.
    fn note_on_starts(&self) -> Option<(String, String)> {
        let end = Time::ZERO + self.duration;
        let late: Vec<_> =
            self.flows.iter().filter(|flow| flow.start.earliest() >= end).map(|flow| &*flow.name).collect();
        let key = format!("flow.{}.start", late.first()?);
        let seconds = self.duration.as_secs_f64();
        Some((key, format!("{} would start after the end of the run, {seconds} s", named(&late))))
    }

    fn notes_on_windows(&self) -> impl Iterator<Item = String> + '_ {
        let mut found: Vec<(&str, Unbounded, Vec<&str>)> = Vec::new();
        for flow in &self.flows {
            let Some(unbounded) = self.unbounded(flow) else { continue };
            let Some(cc) = flow.transport.tcp().map(|tcp| tcp.cc.kind().name()) else { continue };
            match found.iter_mut().find(|(name, what, _)| *name == cc && *what == unbounded) {
                Some((_, _, flows)) => flows.push(&flow.name),
                None => found.push((cc, unbounded, vec![&flow.name])),
            }
        }
        let line = |(cc, unbounded, flows): (&str, Unbounded, Vec<&str>)| {
            let (does, flows) = (unbounded.does, named(&flows));
            format!("{cc} {does} ({flows}): tcp.receive_buffer is unlimited; set it to a few bdp")
        };
        found.into_iter().map(line)
    }

    fn unbounded(&self, flow: &Flow) -> Option<Unbounded> {
        if !flow.app.has_transport() {
            return None;
        }
        let serves_probes_last = || {
            let mut queues = self.lanes[flow.lane].route.iter().map(|&link| &self.links[link].queue);
            queues.all(|queue| matches!(queue, Queue::Priority { .. }))
        };
        flow.transport.unbounded().filter(|unbounded| !(unbounded.is_probes && serves_probes_last()))
    }
}

/// Names the first flows and counts the others.
fn named(flows: &[&str]) -> String {
    let names = flows.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let more = match flows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let plural = if flows.len() > 1 { "s" } else { "" };
    format!("flow{plural} {names}{more}")
}
