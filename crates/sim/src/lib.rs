//! Laboratory: a scenario becomes a network, the network runs in virtual time, the run becomes tables.
//!
//! | module | content |
//! |---|---|
//! | [`dictionary`] | meaning of each column, series, event and cause of loss, and their tables |
//! | `distribution` | random sizes and times |
//! | [`spec`] | description of a run as plain values, with their keys in a scenario |
//! | [`scenario`] | scenario files, their meaning, and their faults |
//! | [`stack`] | contract of transports that are not part of the simulator, such as QUIC |
//! | [`Network`] | the running value: links, nodes, hosts, schedule |
//! | [`ids`] | indices of the parts of a network |
//! | `engine` | schedule and order of events |
//! | `link` | queue, rate, errors, delay |
//! | [`middlebox`] | middleboxes |
//! | `traffic` | flows: applications, and their connections |
//! | [`record`] | counters, series, and the tables of a run |
#![forbid(unsafe_code)]

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
pub mod stack;
#[cfg(test)]
mod swarm;
mod traffic;

pub use network::{
    ends, Ahead, Delivered, Failure, Fate, Lost, Network, PortId, RealPackets, Refused, Sighting, Taken, Trouble,
    Witness,
};
pub use packet::{Bodies, Packet};

/// Number of the results of this simulator. Equal numbers, scenarios and seeds give equal results.
///
/// It is a part of the name of every stored run, so that runs of another simulator are never reused. Raise it by one
/// with any change of a result, including the set of columns: `tests/recorded.rs` checks it.
pub const RESULTS: u32 = 11;
