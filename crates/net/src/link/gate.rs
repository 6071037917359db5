//! The gate of a link: outages, absences and token buckets decide which packets may enter it, and when they are sent.

use super::bucket::Buckets;
use super::outages::Outages;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Absence, Link as Spec};
use bentpipe_units::{Rate, Time};

/// Outages, absences and token buckets of a link. Most links have none.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(super) outages: Option<Box<Outages>>,
    buckets: Option<Box<Buckets>>,
}

impl Gate {
    /// The gate of a link with these absences.
    pub(super) fn of(spec: &Spec, absences: &[Absence], seed: u64, end: Time) -> Self {
        Self { outages: Outages::of(spec, absences, seed, end).map(Box::new), buckets: Buckets::of(spec).map(Box::new) }
    }

    /// Whether nothing ever holds a packet up here.
    #[inline(always)]
    pub(super) fn is_always_open(&self) -> bool {
        self.outages.is_none() && self.buckets.is_none()
    }

    /// The cause of loss of packets offered now, if the link is down and does not keep its queue.
    pub(crate) fn closed(&mut self, now: Time) -> Option<Cause> {
        self.outages.as_mut()?.closed(now)
    }

    /// The cause of loss of a packet that is offered now, if the link is closed or its token buckets do not admit it.
    pub(super) fn refusal(&mut self, now: Time, packet: &Packet) -> Option<Cause> {
        self.closed(now).or_else(|| self.buckets.as_mut()?.refusal(now, packet.size()))
    }

    /// For a packet of this size that could be sent from `at`: the first instant when the link is up, the instant when token
    /// buckets let it begin, and the next instant when the link goes down.
    pub(super) fn begin(&mut self, at: Time, size: u64) -> [Time; 3] {
        let (up, down_at) = if self.outages.is_some() { self.uptime(at) } else { (at, Time::NEVER) };
        [up, self.buckets.as_mut().map_or(up, |buckets| buckets.begin(up, down_at, size)), down_at]
    }

    /// The first instant from `at` when the link is up, and the next when it goes down.
    #[cold]
    fn uptime(&mut self, at: Time) -> (Time, Time) {
        let Some(outages) = &mut self.outages else { return (at, Time::NEVER) };
        outages.uptime(at)
    }

    /// The first instant from `now` when the link is present and up.
    pub(crate) fn up_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(now, |outages| outages.up_at(now))
    }

    /// Whether the link is there and has no outage.
    pub(crate) fn is_up(&self, now: Time) -> bool {
        self.up_at(now) <= now
    }

    /// The first instant after `now` at which the link goes away or down, or comes back.
    pub(crate) fn changes_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(Time::NEVER, |outages| outages.changes_at(now))
    }

    /// The rate of the shaper, once its quota is used.
    pub(super) fn shaped(&self) -> Option<Rate> {
        self.buckets.as_ref()?.shaped()
    }
}
