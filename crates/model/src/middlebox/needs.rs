//! Needs of a middlebox, which a scenario is checked against: its position on the path, and the values of its keys.

use super::Way;
use bentpipe_units::Duration;

/// Need of a middlebox at its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The node reads packets: it is not a bent pipe.
    Reads,
    /// Data and ACKs of a flow with TCP pass the node.
    BothWays,
    /// Packets of TCP in this direction pass the node.
    Passes(Way),
    /// A flow past the node requests named objects.
    Requests,
    /// The node reads corrupted packets: it is of kind `processing`. The key is at fault if not.
    Corrupted(&'static str),
    /// A flow ends at the node.
    FlowEnd,
    /// The links out of the node have rates: none is in a medium.
    LinkRate,
    /// The next node of a route has the satellite's part of BEEN.
    BeenSatellite,
}

/// Effect of a middlebox on connections. It decides whether a run may end, and which results are a connection's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It acknowledges data that the receiver does not have yet.
    Acknowledges,
    /// It may reset a connection.
    Resets,
    /// It keeps state of connections over one path, and knows nothing of the options of several.
    KnowsOnePath,
}

/// Value that a key must not have, although its type permits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsuitable {
    /// The key.
    pub key: &'static str,
    /// The fault: the end of a sentence that begins with the key and its value.
    pub fault: &'static str,
    /// The values that it may have.
    pub expected: &'static str,
}

/// Returns the fault of a key if it has one.
pub(super) fn unless(fits: bool, key: &'static str, fault: &'static str, expected: &'static str) -> Vec<Unsuitable> {
    if fits {
        Vec::new()
    } else {
        vec![Unsuitable { key, fault, expected }]
    }
}

/// Returns the fault of a time that must not be zero.
pub(super) fn positive(key: &'static str, time: Duration) -> Vec<Unsuitable> {
    unless(time > Duration::ZERO, key, "is too small", "expected more than 0 s")
}
