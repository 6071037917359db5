//! A journal of services: the causes of waits in the queue.

use super::LazyLink;
use crate::packet::Packet;
use bentpipe_units::Time;

/// A packet whose transmission has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// The packet, leaving the queue.
    pub(crate) packet: Packet,
    /// Its departure from the queue.
    pub(crate) start: Time,
    /// Transmission of its first bit: later than `start` if the link was down.
    pub(crate) begin: Time,
    /// Transmission of its last bit.
    pub(crate) finish: Time,
    /// Its arrival at the far end.
    pub(crate) arrival: Time,
}

/// Services since the last call of `take_services`.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(pub(super) Vec<Service>);

impl LazyLink {
    /// Adds a journal of all services. The link is then never plain, and its packets never take the fast path.
    pub(crate) fn with_journal(mut self) -> Self {
        self.wire.0.get_or_insert_with(Box::default).journal = Some(Journal::default());
        self
    }

    /// The services since the last call, in order. Empty for a link without a journal.
    pub(crate) fn take_services(&mut self) -> Vec<Service> {
        let journal = self.wire.0.as_mut().and_then(|apart| apart.journal.as_mut());
        journal.map(|journal| std::mem::take(&mut journal.0)).unwrap_or_default()
    }
}
