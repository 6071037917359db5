//! Conformance scripts: a connection, what its application and its peer do, and what it must send, at which instant.
//!
//! The scripts stand in `scripts`, one for each standard (`rfc5681.script`). A case begins with the section that it is about
//! and what that asks for:
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
//! Times count from the line before. Everything that the connection sends must be expected, at its exact instant. What
//! can stand in a line is described in `script.rs`. A comment that begins with `linux:` is a line for the kernel's TCP, in the
//! place of the one before it in the same line, if there is one.

mod bench;
mod script;

pub use bench::{Input, Sent, Subject, ISS};
pub use script::Case;

use bentpipe_tcp::Segment;

/// The scripts that come with the simulator: name and text.
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
    ("rfc9406.script", include_str!("scripts/rfc9406.script")),
    ("rfc9768.script", include_str!("scripts/rfc9768.script")),
    ("rfc9937.script", include_str!("scripts/rfc9937.script")),
];

/// A place in a script, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// Its line, from 1.
    pub line: usize,
    /// What was expected, and what came instead; or what cannot be read.
    pub what: String,
}

/// A case, and whether the connection does what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The section that the case is about, and what that asks for.
    pub title: String,
    /// The first line that differs; none: the case holds as written.
    pub difference: Option<Objection>,
}

/// Runs all cases of a script in virtual time. Each segment of either direction goes through `carry`, which gives what arrives.
///
/// # Errors
/// The script cannot be read: its first line that cannot.
pub fn drill(
    text: &str,
    carry: &mut dyn FnMut(&Segment) -> Result<Segment, String>,
) -> Result<Vec<Outcome>, Objection> {
    let outcomes = cases(text)?.into_iter().map(|case| {
        let difference = bench::run(&case, carry).err().map(|(line, what)| Objection { line, what });
        Outcome { title: case.title, difference }
    });
    Ok(outcomes.collect())
}

/// The cases of a script, to run them elsewhere.
///
/// # Errors
/// The script cannot be read: its first line that cannot.
pub fn cases(text: &str) -> Result<Vec<Case>, Objection> {
    script::parse(text).map_err(|(line, what)| Objection { line, what })
}

/// Runs a case on a connection of any kind that is open; none: it holds.
pub fn run_on(case: &Case, subject: &mut dyn Subject) -> Option<Objection> {
    bench::run_on(case, subject).err().map(|(line, what)| Objection { line, what })
}

/// As it is: what carries nothing through a codec.
///
/// # Errors
/// None.
pub fn unchanged(segment: &Segment) -> Result<Segment, String> {
    Ok(*segment)
}
