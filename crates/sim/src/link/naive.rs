//! A link in the most obvious form, for the reference engine: an event at each end of transmission and at each arrival. It
//! knows nothing in advance. It shares the profiles and the error model with [`LazyLink`], which it checks.

use super::arq::ArqState;
use super::counters::LinkCounters;
use super::error::ErrorProcess;
use super::outages::Outages;
use super::profile::{DelayCursor, RateCursor};
use super::queue::{AnyQueue, Discipline};
use super::wire::Wire;
use super::{LazyLink, Losses, Processing};
use crate::dictionary::Cause;
use crate::middlebox::QueueView;
use crate::packet::Packet;
use crate::record::Histogram;
use crate::spec::{Absence, Effect, InFlight, Link as Spec, Order, Waiting};
use bentpipe_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// A link with an event for each end of transmission and each arrival.
#[derive(Debug)]
pub(crate) struct NaiveLink {
    rate: RateCursor,
    delay: DelayCursor,
    error: ErrorProcess,
    effect: Effect,
    outages: Option<Outages>,
    queue: AnyQueue,
    in_service: Option<Service>,
    on_the_way: VecDeque<Packet>,
    last_arrival: Time,
    processing: Option<Box<Processing>>,
    arq: Option<Box<ArqState>>,
    reorders: bool,
    wire: Wire,
    counters: LinkCounters,
    waits: Histogram,
    /// An idle lazy link of the same kind, for the tables.
    blank: LazyLink,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    packet: Packet,
    begin: Time,
    end: Time,
    /// The end of the copy that counts, if the packet was damaged.
    sent: Time,
}

impl NaiveLink {
    pub(crate) fn new(spec: &Spec, seed: u64, end: Time) -> Self {
        Self {
            rate: RateCursor::new(&spec.rate),
            delay: DelayCursor::new(spec, seed, end),
            error: ErrorProcess::new(spec, seed, end),
            effect: spec.effect,
            outages: Outages::of(spec, &[], seed, end),
            queue: AnyQueue::new(spec, seed),
            in_service: None,
            on_the_way: VecDeque::new(),
            last_arrival: Time::ZERO,
            processing: None,
            arq: ArqState::of(spec, seed, end).map(Box::new),
            reorders: spec.arq.is_some_and(|arq| arq.order == Order::Free),
            wire: Wire::of(spec),
            counters: LinkCounters::default(),
            waits: Histogram::default(),
            blank: LazyLink::new(spec, seed, end),
        }
    }

    pub(crate) fn with_absences(self, spec: &Spec, absences: &[Absence], seed: u64, end: Time) -> Self {
        Self { outages: Outages::of(spec, absences, seed, end), ..self }
    }

    pub(crate) fn toward_host(self, processing: Option<Box<Processing>>) -> Self {
        Self { processing, ..self }
    }

    /// Offers a packet. Returns the end of its transmission if that begins now.
    pub(crate) fn offer(&mut self, now: Time, mut packet: Packet, losses: &mut Losses) -> Option<Time> {
        self.counters.offered += 1;
        let is_free = self.in_service.is_none();
        if let Some(cause) = self.outages.as_mut().and_then(|outages| outages.closed(now)) {
            self.lose(packet, cause, losses);
        } else if is_free && matches!(self.queue, AnyQueue::DropTail(_)) {
            packet.at = now;
            return Some(self.serve(now, packet));
        } else {
            let before = losses.len();
            self.queue.enqueue(now, &packet, losses);
            self.counters.dropped += (losses.len() - before) as u64;
            if is_free {
                return self.next(now, losses);
            }
            self.counters.backlog_bytes_max = self.counters.backlog_bytes_max.max(self.queue.bytes());
        }
        None
    }

    /// Ends a transmission. Returns the packet's arrival, and the end of the next transmission if a packet waits.
    pub(crate) fn finish_sending(&mut self, now: Time, losses: &mut Losses) -> (Time, Option<Time>) {
        let Service { mut packet, begin, sent, .. } = self.in_service.take().expect("something is being sent");
        self.counters.busy_ps += (now - begin).as_ps();
        let index = self.counters.carried - 1;
        let processing = self.processing.as_mut().map_or(Duration::ZERO, |processing| processing.draw(index));
        packet.at = sent + self.delay.at(sent) + self.delay.jitter_at(now) + processing;
        if !(self.reorders && sent > now) {
            packet.at = packet.at.max(self.last_arrival);
            self.last_arrival = packet.at;
        }
        let arrival = packet.at;
        let place = self.on_the_way.partition_point(|other| other.at <= arrival);
        self.on_the_way.insert(place, packet);
        if let Some(outages) = &mut self.outages {
            if outages.rests(now) {
                return (arrival, None);
            }
            if outages.flushes(now) {
                let before = losses.len();
                self.queue.flush(losses);
                self.counters.dropped += (losses.len() - before) as u64;
            }
        }
        (arrival, self.next(now, losses))
    }

    /// Takes a packet from the queue. Returns the end of its transmission, if there is one.
    fn next(&mut self, now: Time, losses: &mut Losses) -> Option<Time> {
        let before = losses.len();
        let packet = self.queue.dequeue(now, losses);
        self.counters.dropped += (losses.len() - before) as u64;
        packet.map(|packet| self.serve(now, packet))
    }

    pub(crate) fn deliver(&mut self) -> Packet {
        let packet = self.on_the_way.pop_front().expect("something is on its path");
        self.counters.dropped += u64::from(packet.is_truncated() || packet.is_erased());
        packet
    }

    /// Removes the link.
    pub(crate) fn take_away(
        &mut self,
        (waiting, in_flight): (Waiting, InFlight),
        losses: &mut Losses,
        left: &mut Vec<Packet>,
    ) {
        if in_flight == InFlight::Lost {
            self.on_the_way.iter_mut().for_each(Packet::cut_off);
        }
        if waiting == Waiting::Kept {
            return;
        }
        let before = left.len();
        self.queue.extract(&mut |_| true, left);
        if waiting == Waiting::Lost {
            left.drain(before..).for_each(|packet| self.lose(packet, Cause::Handover, losses));
        }
    }

    pub(crate) fn queue_view(&self) -> QueueView {
        let is_sending = self.in_service.is_some();
        QueueView { packets: self.queue.len(), bytes: self.queue.bytes(), is_sending }
    }

    pub(crate) fn rate_at(&mut self, now: Time) -> Rate {
        self.rate.at(now)
    }

    /// The first instant from `now` when the link is present and up.
    pub(crate) fn up_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(now, |outages| outages.up_at(now))
    }

    pub(crate) fn delay_at(&mut self, now: Time) -> Duration {
        self.delay.at(now)
    }

    pub(crate) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.queue.extract(is_meant, left);
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.in_service.is_some()) + self.on_the_way.len()
    }

    /// A lazy link with the same tables at `now`.
    pub(crate) fn face(&self, now: Time) -> LazyLink {
        let mut face = self.blank.clone();
        face.counters = self.counters;
        face.waits = self.waits.clone();
        face.arq.clone_from(&self.arq);
        for packet in self.on_the_way.iter().chain(self.in_service.iter().map(|service| &service.packet)) {
            face.ring.push(packet);
        }
        face.queue = self.queue.clone();
        if let Some(Service { begin, .. }) = self.in_service.filter(|service| service.end != Time::NEVER) {
            face.counters.busy_ps += now.saturating_since(begin).as_ps();
        }
        face
    }

    fn serve(&mut self, now: Time, mut packet: Packet) -> Time {
        let (begin, down_at) = self.next_uptime(now);
        let wire = self.wire.size(packet.size());
        let full = self.rate.finish(begin, wire);
        let full = self.arq.as_mut().map_or(full, |arq| arq.postpone(begin, full));
        let end = full.min(down_at);
        if end < full {
            packet.truncate();
            if self.outages.as_ref().is_some_and(|outages| outages.is_away(end)) {
                packet.cut_off();
            }
        }
        let (mut sent, mut has_error) = (end, self.error.has_error(end, self.counters.carried, wire));
        if let (Some(arq), true) = (&mut self.arq, has_error) {
            (sent, has_error) = arq.repair(end, [packet.size(), wire], &mut self.rate, &mut self.delay);
        }
        if has_error {
            match self.effect {
                Effect::Corrupt => packet.corrupt(),
                Effect::Lose => packet.erase(),
            }
            self.counters.corrupted += u64::from(self.effect == Effect::Corrupt);
        }
        self.waits.record_span(now - packet.at);
        self.counters.carried += 1;
        self.counters.carried_bytes += packet.size();
        self.in_service = Some(Service { packet, begin, end, sent });
        end
    }

    fn next_uptime(&mut self, now: Time) -> (Time, Time) {
        let Some(outages) = &mut self.outages else { return (now, Time::NEVER) };
        outages.uptime(now)
    }

    fn lose(&mut self, packet: Packet, cause: Cause, losses: &mut Losses) {
        self.counters.dropped += 1;
        losses.push((packet, cause));
    }
}
