//! Links in a medium: the parts that the medium serves, and the way of a packet into the ring.

use super::counters::LinkCounters;
use super::error::ErrorProcess;
use super::gate::Gate;
use super::levels::Levels;
use super::outages::Outages;
use super::processing::Processing;
use super::profile::DelayCursor;
use super::queue::{AnyQueue, Discipline};
use super::ring::Ring;
use super::wire::Wire;
use crate::record::Histogram;
use bentpipe_access::Loss;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_units::Time;

/// The parts of a link that its medium serves.
#[derive(Debug)]
pub(super) struct ServedParts<'a> {
    pub(super) queue: &'a mut AnyQueue,
    pub(super) ring: &'a mut Ring,
    pub(super) error: &'a mut ErrorProcess,
    pub(super) errors_erase: bool,
    pub(super) gate: &'a mut Gate,
    pub(super) delay: &'a mut DelayCursor,
    pub(super) processing: Option<&'a mut Processing>,
    pub(super) wire: &'a mut Wire,
    pub(super) free_at: &'a mut Time,
    pub(super) last_arrival: &'a mut Time,
    pub(super) counters: &'a mut LinkCounters,
    pub(super) waits: &'a mut Histogram,
    pub(super) levels: Option<&'a mut Levels>,
}

impl ServedParts<'_> {
    /// Notes the backlog, if the record has samples of it.
    pub(super) fn note_level(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.note((self.queue.len(), self.queue.bytes()));
        }
    }

    /// Decides the fate of a packet, and puts it into the ring. At the last of `times`, its last part has left, or the link went
    /// down; the times before it are for the journal. Returns the cause of loss of a packet that is erased.
    pub(super) fn send(&mut self, service: InService, times: [Time; 4], lost: Option<Loss>) -> Option<Cause> {
        let InService { packet, index, .. } = service;
        let [opened, start, begin, sent] = times;
        let wire = self.wire.size(packet.size());
        let has_error = self.error.has_error(sent, index, wire);
        let processing = self.processing.as_mut().map(|processing| processing.draw(index));
        let arrival = sent + self.delay.at(sent) + self.delay.jitter_at(sent) + processing.unwrap_or_default();
        let arrival = arrival.max(*self.last_arrival);
        *self.last_arrival = arrival;
        self.wire.note(packet, [opened, start, begin, sent, arrival]);
        let slot = self.ring.push(&packet);
        slot.at = arrival;
        slot.next += 1;
        // As on other links, also if the link goes away before the packet arrives.
        let is_corrupted = lost.is_none() && has_error && !self.errors_erase;
        self.counters.corrupted += u64::from(is_corrupted);
        let is_cut = |outages: &Outages| {
            matches!(lost, Some(Loss::Down(at)) if outages.is_away(at)) || outages.cuts(sent, arrival)
        };
        let cause = match lost {
            _ if self.gate.outages.as_deref().is_some_and(is_cut) => {
                slot.cut_off();
                return None;
            }
            Some(Loss::Down(_)) => {
                slot.truncate();
                return None;
            }
            Some(Loss::Collision) => Some(Cause::AccessCollision),
            Some(Loss::Outage) => Some(Cause::AcmOutage),
            None => (has_error && self.errors_erase).then_some(Cause::LinkLoss),
        };
        if cause.is_some() {
            slot.erase();
        } else if is_corrupted {
            slot.corrupt();
        }
        cause
    }
}

/// A packet in service.
#[derive(Clone, Copy, Debug)]
pub(super) struct InService {
    pub(super) packet: Packet,
    /// Its departure from the queue: the begin of its first burst or frame.
    pub(super) start: Time,
    /// Its number among the packets of the link.
    pub(super) index: u64,
}
