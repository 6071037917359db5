//! Laboratory: a scenario becomes a network, the network runs in virtual time, the run becomes tables.
//!
//! | part | crate |
//! |---|---|
//! | [`scenario`]: scenario files, their meaning, and their faults | `bentpipe_scenario` |
//! | [`spec`], [`middlebox`], [`stack`], [`Packet`], [`ids`], [`dictionary`]: types that both others share | `bentpipe_model` |
//! | [`Network`], [`record`]: the network that runs | `bentpipe_net` |
//!
//! Neither the reader of scenarios nor the network depends on the other.
#![forbid(unsafe_code)]

pub use bentpipe_model::packet::{Bodies, Packet};
pub use bentpipe_model::{dictionary, ids, middlebox, spec, stack};
pub use bentpipe_net::{
    ends, record, Ahead, Delivered, Failure, Fate, Lost, Network, PortId, RealPackets, Refused, Sighting, Taken,
    Trouble, Witness,
};
pub use bentpipe_scenario as scenario;

/// Number of the results of this simulator. Equal numbers, scenarios and seeds give equal results.
///
/// It is a part of the name of every stored run, so that runs of another simulator are never reused. Raise it by one
/// with any change of a result, including the set of columns: `tests/recorded.rs` checks it.
pub const RESULTS: u32 = 11;
