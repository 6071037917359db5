//! Captures of packets: one file per host.

use crate::{BentpipeError, RunError};
use bentpipe_io::pcapng::{Capture, Sink};
use bentpipe_io::simulated::{self, SimulatedCaptures};
use bentpipe_sim::spec::Scenario;
use pyo3::prelude::*;
use std::convert::identity;
use std::fs::File;
use std::io;

/// Largest number of captures. Each is an open file.
const HOSTS_MAX: usize = 250;

/// Captures of a run in virtual time.
pub(crate) type Simulated = SimulatedCaptures<File>;

/// Returns a capture of each host. In the name of its file, the host replaces `{host}`.
pub(crate) fn of_hosts<W: Sink>(
    pattern: &str,
    names: &[String],
    title: &str,
    writer: impl Fn(File) -> W,
) -> PyResult<Vec<Capture<W>>> {
    let program = concat!("bentpipe ", env!("CARGO_PKG_VERSION"));
    let capture = |name: &String| {
        let place = pattern.replace("{host}", &name.replace(['/', '\\'], "_"));
        let refused = |error: io::Error| {
            BentpipeError::new_err(format!("{place} cannot be written: {}\n  choose another folder", reason(&error)))
        };
        let file = File::create(&place).map_err(refused)?;
        Ok(Capture::new(writer(file), program, name, title))
    };
    names.iter().map(capture).collect()
}

/// Returns the message of the system, in small letters and without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let first = words.chars().take(1).flat_map(char::to_lowercase);
    first.chain(words.chars().skip(1)).collect()
}

/// Returns captures of all hosts of a scenario.
pub(crate) fn simulated(pattern: &str, scenario: &Scenario) -> PyResult<Simulated> {
    let hosts = simulated::hosts(scenario);
    if hosts.len() > HOSTS_MAX {
        let message = format!("a capture of each of {} hosts\n  expected at most {HOSTS_MAX}", hosts.len());
        return Err(RunError::new_err(message));
    }
    let names: Vec<String> = hosts.into_iter().map(|node| scenario.nodes[node].name.clone()).collect();
    Ok(SimulatedCaptures::new(scenario, of_hosts(pattern, &names, &scenario.title, identity)?))
}
