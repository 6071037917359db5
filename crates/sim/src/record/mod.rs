//! Results: what is counted, what is kept over time, and what each of it means.

pub mod dictionary;
mod histogram;
mod recorder;
mod result;
mod table;
mod transfers;

pub(crate) use histogram::Histogram;
pub(crate) use recorder::Recorder;
pub(crate) use result::{assemble, Drops, Place};
pub use table::{Table, Values};
pub(crate) use transfers::{Arrived, Completions, Transfer};

use bentpipe_units::Time;

/// Why a packet was lost. The closed list of [`dictionary::CAUSES`], in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Corrupted on a link and dropped where it arrived.
    BitError,
    /// Found the queue full.
    QueueOverflow,
    /// Dropped early by active queue management, to tell its sender.
    EarlyDrop,
    /// Dropped by active queue management because the queue is too long on average.
    ForcedDrop,
    /// The link was down, or went down under it.
    Outage,
    /// The path was taken away.
    Handover,
    /// No link to go on.
    RouteMissing,
    /// The connection was closed or not yet open.
    NoListener,
    /// A middlebox dropped it on purpose.
    Policy,
    /// Lost on a link, by errors that do not corrupt.
    LinkLoss,
    /// Made way in a full queue for packets of a higher class.
    PushOut,
}

impl Cause {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        dictionary::CAUSES[self as usize].name
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The scenario's duration is over.
    TimeLimit,
    /// Every transfer is complete or has failed.
    Completed,
    /// Somebody stopped it.
    Interrupted,
}

impl StopReason {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeLimit => "time-limit",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Everything a run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// One row per flow.
    pub flows: Table,
    /// One row per link and direction.
    pub links: Table,
    /// One row per place, flow and cause of loss.
    pub drops: Table,
    /// One row per flow and class of sizes of its transfers, for flows that make several.
    pub completions: Table,
    /// One row per transfer that is complete, up to a limit.
    pub transfers: Table,
    /// One row per flow of datagrams.
    pub datagrams: Table,
    /// One row.
    pub summary: Table,
    /// (name, rows of `time_s`, `flow` or `link`, value) for each series asked for.
    pub series: Vec<(String, Table)>,
    /// Rows of `time_s`, `flow`, `event`, `value`.
    pub events: Table,
    /// Findings about the run itself, such as rows that did not fit the record.
    pub notes: Vec<String>,
}

/// Packets in and out of the network: sent = delivered + lost + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: u64,
}

/// What [`assemble`] needs besides the hosts and links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) stop: StopReason,
    pub(crate) at: Time,
    pub(crate) ledger: Ledger,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_their_names_agree() {
        let all = [
            (Cause::BitError, "bit-error"),
            (Cause::QueueOverflow, "queue-overflow"),
            (Cause::EarlyDrop, "early-drop"),
            (Cause::ForcedDrop, "forced-drop"),
            (Cause::Outage, "outage"),
            (Cause::Handover, "handover"),
            (Cause::RouteMissing, "route-missing"),
            (Cause::NoListener, "no-listener"),
            (Cause::Policy, "policy"),
            (Cause::LinkLoss, "link-loss"),
            (Cause::PushOut, "push-out"),
        ];
        assert_eq!(all.len(), dictionary::CAUSES.len());
        assert!(all.iter().all(|(cause, name)| cause.name() == *name));
    }
}
