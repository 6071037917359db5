//! The parts of a scenario that stand for themselves, from the form of the file to that of the engine: links with their
//! profiles, queues, errors and outages; applications; the transport's settings.

mod app;
mod ends;
mod error;
mod flow;
mod growth;
mod link;
mod profile;
mod queue;
mod tcp;

pub(super) use app::*;
pub(super) use error::*;
pub(super) use flow::*;
pub(super) use link::*;
pub(super) use profile::*;
pub(super) use queue::*;
pub(super) use tcp::*;

use super::text::BDP;
use bentpipe_units::{Duration, Rate, Time};

pub(in crate::scenario) fn below(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

fn instant(since: Duration) -> Time {
    Time::ZERO + since
}

/// `millionths` of rate times round trip, bytes, rounded down.
pub(in crate::scenario) fn product(rate: Rate, rtt: Duration, millionths: u64) -> u64 {
    let bytes = u128::from(rate.bytes_in(rtt)) * u128::from(millionths) / u128::from(BDP);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
