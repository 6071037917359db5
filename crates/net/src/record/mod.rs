//! Results: counters, and records over time.
//!
//! Components *give* their records, as rows and values with the types of the [`dictionary`](bentpipe_model::dictionary). Code
//! here knows no link, flow or connection.

mod drops;
mod file;
mod histogram;
mod inside;
mod objects;
mod probes;
mod recorder;
mod rows;
mod thinning;
mod transfers;

pub(crate) use drops::{Drops, LossPlace};
pub(crate) use file::FileReceived;
pub(crate) use histogram::Histogram;
pub(crate) use inside::InsideValue;
pub(crate) use objects::LoadedObject;
pub(crate) use probes::Probes;
pub use recorder::Coverage;
pub(crate) use recorder::{LossSize, Recorded, Recorder, Sample};
pub(crate) use transfers::{Arrived, Completions, Transfer};

use bentpipe_model::dictionary::Table;

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The scenario's duration is over.
    TimeLimit,
    /// Every transfer is complete or has failed.
    Completed,
    /// Stopped from outside.
    Interrupted,
}

impl StopReason {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeLimit => "time-limit",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// One row per flow.
    pub flows: Table,
    /// One row per subflow of flows over several paths.
    pub subflows: Table,
    /// One row per link and direction.
    pub links: Table,
    /// One row per place, flow and cause of loss.
    pub drops: Table,
    /// One row per flow and class of sizes of its transfers, for flows that make several.
    pub completions: Table,
    /// One row per completed transfer, up to a limit.
    pub transfers: Table,
    /// One row per flow of datagrams.
    pub datagrams: Table,
    /// One row per probe.
    pub probes: Table,
    /// One row per flow over QUIC.
    pub quic: Table,
    /// One row per medium.
    pub media: Table,
    /// One row per link and direction in a medium.
    pub terminals: Table,
    /// One row per medium and modulation and code.
    pub modcods: Table,
    /// One row.
    pub summary: Table,
    /// (name, rows of `time_s`, `flow` or `link`, value) for each recorded series.
    pub series: Vec<(String, Table)>,
    /// Recorded tables that are thinned or end early.
    pub coverage: Vec<Coverage>,
    /// Rows of `time_s`, `flow`, `event`, `value`.
    pub events: Table,
    /// Findings about the run itself, such as rows that did not fit the record.
    pub notes: Vec<String>,
}

/// Names of the entities of rows, by index.
#[derive(Clone, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) flows: Vec<&'a str>,
    pub(crate) links: Vec<&'a str>,
    pub(crate) nodes: Vec<&'a str>,
}

/// Returns a share; NaN for a whole of 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        part / whole
    } else {
        f64::NAN
    }
}
