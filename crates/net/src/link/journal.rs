//! A journal of services: the causes of waits in the queue.

use bentpipe_model::packet::Packet;
use bentpipe_units::Time;

/// A packet whose transmission has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// The packet, leaving the queue.
    pub(crate) packet: Packet,
    /// Whether the link is in a medium. Then the time between `up` and `begin` is a wait for the medium.
    pub(crate) is_granted: bool,
    /// The first instant from its arrival when the link might send: later than the arrival in a medium.
    pub(crate) opened: Time,
    /// Its departure from the queue.
    pub(crate) start: Time,
    /// The first instant from `start` when the link was up.
    pub(crate) up: Time,
    /// Transmission of its first bit: later than `up` if a shaper lacked tokens.
    pub(crate) begin: Time,
    /// Transmission of its last bit.
    pub(crate) finish: Time,
    /// Its arrival at the far end.
    pub(crate) arrival: Time,
}

/// Services since the last call of `take_services`.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(pub(super) Vec<Service>);
