//! The network that runs: it is built from the plain values of a scenario, and its run becomes tables.
//!
//! | module | content |
//! |---|---|
//! | [`Network`] | the running value: links, nodes, hosts, schedule |
//! | `engine` | schedule and order of events |
//! | `link` | queue, rate, errors, delay |
//! | `traffic` | flows: applications, and their connections |
//! | [`record`] | counters, series, and the tables of a run |
#![forbid(unsafe_code)]

mod engine;
mod link;
mod network;
pub mod record;
#[cfg(test)]
mod swarm;
mod traffic;

pub use network::{
    ends, Ahead, Delivered, Failure, Fate, Lost, Network, PortId, RealPackets, Refused, Sighting, Taken, Trouble,
    Witness,
};
