//! Notes on a scenario that need no run: those of its reader, and congestion controls without the bounded window that
//! they need.

use super::{Flow, Queue, Scenario};
use bentpipe_tcp::cc::Unbounded;
use bentpipe_units::Time;

/// Names that a note gives before it counts.
const NAMED: usize = 3;

impl Scenario {
    /// Returns the notes of the reader. Then a line about flows that start too late, and one for each congestion control
    /// that overloads its path because no buffer bounds its window, in the order of the flows.
    pub fn notes(&self) -> Vec<String> {
        let late = self.note_on_starts().map(|(_, note)| note);
        self.notes.iter().cloned().chain(late).chain(self.notes_on_windows()).collect()
    }

    /// All notes and hints with the keys that they are about; without a key where that is not known.
    pub fn warnings(&self) -> Vec<(String, String)> {
        let of_reader = self.notes.iter().map(|note| {
            let is_of_sky = note.starts_with("sky: ");
            (if is_of_sky { "sky" } else { "" }.to_owned(), note.clone())
        });
        let on_windows = self.notes_on_windows().map(|note| ("tcp.receive_buffer".to_owned(), note));
        of_reader.chain(self.note_on_starts()).chain(on_windows).chain(self.hints_at_keys()).collect()
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
            let cc = flow.tcp.cc.kind().name();
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
            let mut queues = flow.route.iter().map(|&link| &self.links[link].queue);
            queues.all(|queue| matches!(queue, Queue::Priority { .. }))
        };
        flow.tcp.unbounded().filter(|unbounded| !(unbounded.is_probes && serves_probes_last()))
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
