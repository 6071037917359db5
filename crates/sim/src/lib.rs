//! The laboratory: a scenario becomes a network, the network runs in virtual time, the run becomes tables.
//!
//! | room | what it holds |
//! |---|---|
//! | [`dictionary`] | what each column, series, event and cause of loss means, and the tables of them |
//! | `distribution` | random sizes and times |
//! | [`spec`] | what a run is made of, as plain values with the keys that they have in a scenario |
//! | [`scenario`] | the file as written, what it means, all that can be wrong with it |
//! | [`Network`] | the value that runs: links, nodes, hosts, schedule |
//! | [`ids`] | what a network is made of, by index |
//! | `engine` | the schedule and the order of events |
//! | `link` | queue, rate, errors, delay |
//! | [`middlebox`] | functions inside the network |
//! | `traffic` | flows: applications, and the connections that they open |
//! | [`conformance`] | scripts of what a connection must send, and at which instant |
//! | [`record`] | counters, series, and the tables that a run gives |
#![forbid(unsafe_code)]

pub mod conformance;
pub mod dictionary;
mod distribution;
mod engine;
mod framing;
pub mod ids;
mod link;
pub mod middlebox;
mod network;
mod packet;
pub mod record;
pub mod scenario;
pub mod spec;
#[cfg(test)]
mod swarm;
mod traffic;

pub use network::{ends, Delivered, Failure, Fate, Lost, Network, PortId, Refused, Sighting, Taken, Trouble, Witness};
pub use packet::{Bodies, Packet};

/// Which results this simulator gives. Equal numbers, scenarios and seeds: equal results.
///
/// It is a part of the name of every run that is kept, so that runs of another simulator are never taken for ours. Raise
/// it by one with any change of a result, also of the set of columns: `tests/recorded.rs` asks for it.
pub const RESULTS: u32 = 10;
