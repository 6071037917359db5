//! Runs conformance scripts: inputs of a connection from its application and its peer, and the segments that it must
//! send, with their instants.
//!
//! The scripts are in `scripts`, one per standard (`rfc5681.script`). A case begins with its section and the
//! requirement:
//!
//! ```text
//! = RFC 5681 §3.1  Slow start grows by one segment for each ACK
//! smss = "1000 B"               keys of [tcp], as in a scenario
//! handshake = false
//! +0    write 10000             the application has this many bytes to send
//! +0    > 0:1000                expected: data, by offset from the first byte
//! +0.1  < ack 1000              from the peer: an ACK of all bytes below 1000
//! +0    > 1000:3000 x2          expected: two segments that cover this range
//! +0    ? cwnd 2000             the window is this large
//! ```
//!
//! Times count from the line before. A line must expect everything that the connection sends, at its exact instant.
//! `script.rs` describes the words of a line. A comment that begins with `linux:` is a line for the kernel's TCP. It
//! replaces the line before the comment, if there is one.

mod bench;
mod packetdrill;
mod script;

pub use bench::{Input, Sent, Subject, ISS};
pub use script::Case;

use bentpipe_cc::CcKind;
use bentpipe_model::spec::Like;
use bentpipe_tcp::{Config, Segment};
use bentpipe_units::Word;
use std::collections::BTreeMap;

/// Bundled scripts: name and text.
pub const SCRIPTS: &[(&str, &str)] = &[
    ("linux.script", include_str!("scripts/linux.script")),
    ("rfc1122.script", include_str!("scripts/rfc1122.script")),
    ("rfc1644.script", include_str!("scripts/rfc1644.script")),
    ("rfc2018.script", include_str!("scripts/rfc2018.script")),
    ("rfc2760.script", include_str!("scripts/rfc2760.script")),
    ("rfc2883.script", include_str!("scripts/rfc2883.script")),
    ("rfc3042.script", include_str!("scripts/rfc3042.script")),
    ("rfc3168.script", include_str!("scripts/rfc3168.script")),
    ("rfc3390.script", include_str!("scripts/rfc3390.script")),
    ("rfc3465.script", include_str!("scripts/rfc3465.script")),
    ("rfc3522.script", include_str!("scripts/rfc3522.script")),
    ("rfc3742.script", include_str!("scripts/rfc3742.script")),
    ("rfc5681.script", include_str!("scripts/rfc5681.script")),
    ("rfc5682.script", include_str!("scripts/rfc5682.script")),
    ("rfc5827.script", include_str!("scripts/rfc5827.script")),
    ("rfc6298.script", include_str!("scripts/rfc6298.script")),
    ("rfc6582.script", include_str!("scripts/rfc6582.script")),
    ("rfc6675.script", include_str!("scripts/rfc6675.script")),
    ("rfc7323.script", include_str!("scripts/rfc7323.script")),
    ("rfc7413.script", include_str!("scripts/rfc7413.script")),
    ("rfc7661.script", include_str!("scripts/rfc7661.script")),
    ("rfc8511.script", include_str!("scripts/rfc8511.script")),
    ("rfc8985.script", include_str!("scripts/rfc8985.script")),
    ("rfc9293.script", include_str!("scripts/rfc9293.script")),
    ("rfc9331.script", include_str!("scripts/rfc9331.script")),
    ("rfc9406.script", include_str!("scripts/rfc9406.script")),
    ("rfc9768.script", include_str!("scripts/rfc9768.script")),
    ("rfc9937.script", include_str!("scripts/rfc9937.script")),
    ("rfc9959.script", include_str!("scripts/rfc9959.script")),
];

/// Place in a script, with the fault there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// Line, from 1.
    pub line: usize,
    /// Expected and actual behaviour, or the text that cannot be read.
    pub what: String,
}

/// Case with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Section of the standard, and the requirement.
    pub title: String,
    /// First line that differs. None: the case holds as written.
    pub difference: Option<Objection>,
}

/// Runs all cases of a script in virtual time. Each segment of either direction goes through `carry`, which returns the
/// segment that arrives.
///
/// # Errors
///
/// The first line that cannot be read.
pub fn drill(
    text: &str,
    carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>,
) -> Result<Vec<Outcome>, Objection> {
    Ok(drill_cases(cases(text)?, carry))
}

/// Runs cases, as [`drill`] does.
pub fn drill_cases(cases: Vec<Case>, carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>) -> Vec<Outcome> {
    let outcomes = cases.into_iter().map(|case| {
        let difference = bench::run(&case, carry).err().map(|(line, what)| Objection { line, what });
        Outcome { title: case.title, difference }
    });
    outcomes.collect()
}

/// Reads a script in packetdrill's language as one case of a host like Linux. `files` has the texts of the shell files
/// that the script names, by their names in the script. Nothing is executed.
///
/// # Errors
///
/// The first line that cannot be read, or that cannot be expressed.
pub fn packetdrill(text: &str, title: &str, files: &BTreeMap<String, String>) -> Result<Case, Objection> {
    packetdrill::parse(text, title, files).map_err(|(line, what)| Objection { line, what })
}

/// Reads the cases of a script, to run them elsewhere.
///
/// # Errors
///
/// The first line that cannot be read.
pub fn cases(text: &str) -> Result<Vec<Case>, Objection> {
    script::parse(text).map_err(|(line, what)| Objection { line, what })
}

/// Returns the settings of a host with this congestion control and segments of `smss` bytes, as a script has them that
/// sets nothing else.
pub fn host(like: Like, cc: CcKind, smss: u32) -> Config {
    let keys = format!("like = \"{}\"\ncc = \"{}\"\nsmss = \"{smss} B\"", like.name(), cc.name());
    let keys: Vec<_> = keys.lines().map(|line| (0, line)).collect();
    script::config(&keys).map(|(_, config)| config).unwrap_or_default()
}

/// Runs a case on an open connection of any kind. Returns none if it holds.
pub fn run_on(case: &Case, subject: &mut dyn Subject) -> Option<Objection> {
    bench::run_on(case, subject).err().map(|(line, what)| Objection { line, what })
}

/// Returns the segment unchanged: the `carry` of a run without a codec.
///
/// # Errors
///
/// Never.
pub fn unchanged(segment: &Segment) -> Result<Segment, String> {
    Ok(*segment)
}
