//! A journal of services: the causes of waits in the queue.

use super::LazyLink;
use crate::packet::Packet;
use bentpipe_units::Time;

/// A packet whose sending has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// The packet, leaving the queue.
    pub(crate) packet: Packet,
    /// When it left the queue.
    pub(crate) start: Time,
    /// When its first bit was sent: later than its start, if the link was down.
    pub(crate) begin: Time,
    /// When its last bit was sent.
    pub(crate) finish: Time,
    /// When it reaches the far end.
    pub(crate) arrival: Time,
}

/// Services since the last look at them.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(pub(super) Vec<Service>);

impl LazyLink {
    /// The same link, which notes each service. It is never plain, and none of its packets takes the fast path.
    pub(crate) fn with_journal(mut self) -> Self {
        self.wire.0.get_or_insert_with(Box::default).journal = Some(Journal::default());
        self
    }

    /// The services since the last call, in order; none from a link without a journal.
    pub(crate) fn take_services(&mut self) -> Vec<Service> {
        let journal = self.wire.0.as_mut().and_then(|apart| apart.journal.as_mut());
        journal.map(|journal| std::mem::take(&mut journal.0)).unwrap_or_default()
    }
}
