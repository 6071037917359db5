//! Links in a medium: served in the windows that the medium grants, instead of at a rate.
//!
//! A burst takes the packets that wait when it begins. The link serves lazily up to `now`, as other links do, but only into the
//! windows that it knows. A packet that they do not hold stays in service, without an arrival, until [`Granted::open`] brings
//! the next windows. So the next visible effect of the link is the head of its ring. If the ring is empty, it is the next burst
//! that can take a waiting packet, or none before the next superframe.

use super::delays::{AskingClock, DelayParts, DelaySums, Delays};
use super::outages::Outages;
use super::profile::Pieces;
use super::queue::{AnyQueue, Discipline, Losses};
use super::served::{InService, ServedParts};
use crate::record::Sample;
use bentpipe_access::{Demand, Loss, Packed, Packer, Packing, Waiting, Waveform, Window, CLASSES};
use bentpipe_model::dictionary::{Cause, LinkSeries};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Losses as LossRule, NeededSignal, Terminal};
use bentpipe_units::{Rate, Stream, Time};
use std::collections::VecDeque;

/// The additional state of a link in a medium.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    packer: Packer,
    channel: BurstChannel,
    /// All bursts before this instant are over.
    since: Time,
    /// The packet in service that waits for later windows.
    held: Option<InService>,
    /// Request classes, and the bytes offered to each since the last superframe.
    classes: usize,
    arrived: [u64; CLASSES],
    /// Bytes that waited when the last superframe started.
    backlog: u64,
    /// Waveform, rate asked for, and bytes in the bursts of all its windows, at the last sample.
    planned: Planned,
    delays: Delays,
    clock: AskingClock,
    /// Start of the time when the packet in service was the next packet.
    next_since: Time,
    /// Openings of windows and the begin of their last bursts, if the link has a journal.
    openings: Option<Vec<(Time, Time)>>,
    /// Causes of loss of the erased packets in the ring, in order.
    causes: VecDeque<Cause>,
    /// Begin of the burst with the last part of the last corrupted packet.
    corrupted_at: Time,
}

/// Plan of the medium for a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    /// Waveform of its bursts.
    pub(crate) waveform: Option<Waveform>,
    /// Rate that it asks for.
    pub(crate) requested: Rate,
    /// Bytes in the bursts of all its windows so far.
    pub(crate) granted: u64,
}

/// The fate of bursts.
#[derive(Clone, Debug)]
struct BurstChannel {
    /// A copy of those of the link: bursts are decided ahead of time.
    outages: Option<Box<Outages>>,
    signal: Pieces<f64>,
    needed: NeededSignal,
    rule: LossRule,
    draws: Stream,
    /// Bursts with data so far.
    count: u64,
    /// Time in these bursts.
    busy_ps: u64,
    /// Begin and end of the bursts with data in this superframe.
    bursts: Vec<(Time, Time)>,
    /// Begin of the last burst with data.
    last: Time,
}

impl Granted {
    /// The state of a link of `name` with these outages. `is_traced`: it has a journal.
    pub(super) fn of(
        terminal: &Terminal,
        rule: LossRule,
        needed: NeededSignal,
        outages: Option<&Outages>,
        (name, seed): (&str, u64),
        is_traced: bool,
    ) -> Self {
        let channel = BurstChannel {
            outages: outages.cloned().map(Box::new),
            signal: Pieces::of(terminal.signal()),
            needed,
            rule,
            draws: Stream::new(seed, &format!("link/{name}"), "burst"),
            count: 0,
            busy_ps: 0,
            bursts: Vec::new(),
            last: Time::ZERO,
        };
        Self {
            packer: Packer::default(),
            channel,
            since: Time::ZERO,
            held: None,
            classes: terminal.access.request_classes().len(),
            arrived: [0; CLASSES],
            backlog: 0,
            planned: Planned { waveform: None, requested: Rate::from_bps(0), granted: 0 },
            delays: Delays::default(),
            clock: AskingClock::new(),
            next_since: Time::ZERO,
            openings: is_traced.then(Vec::new),
            causes: VecDeque::new(),
            corrupted_at: Time::ZERO,
        }
    }

    /// Accepts a packet.
    pub(super) fn accept(&mut self, link: &mut ServedParts<'_>, now: Time, packet: &Packet, losses: &mut Losses) {
        link.counters.offered += 1;
        self.serve(link, now, losses);
        if let Some(cause) = link.gate.refusal(now, packet) {
            return link.counters.lose(now, *packet, cause, losses);
        }
        link.note_level();
        self.arrived[self.class_of(packet)] += packet.size();
        let before = losses.len();
        match &mut link.queue {
            AnyQueue::DropTail(queue) => {
                let mut waiting = *packet;
                waiting.at = now;
                // A packet that finds an open burst needs no room.
                if queue.len() == 0 && self.has_open_burst(now) {
                    link.waits.record_zero();
                    self.start(link, now, &waiting);
                } else if queue.push(&waiting).is_none() {
                    link.counters.lose(now, *packet, Cause::QueueOverflow, losses);
                    name_dropped(now, &mut self.channel.signal, self.channel.needed, &mut losses[before..]);
                }
            }
            queue => {
                queue.enqueue(now, packet, losses);
                link.counters.note_dropped(now, &mut losses[before..]);
                name_dropped(now, &mut self.channel.signal, self.channel.needed, &mut losses[before..]);
                self.serve(link, now, losses);
            }
        }
        link.counters.backlog_bytes_max = link.counters.backlog_bytes_max.max(link.queue.bytes());
        link.note_level();
    }

    /// Packs all packets that wait when a burst begins, up to `now`. Idempotent.
    pub(super) fn serve(&mut self, link: &mut ServedParts<'_>, now: Time, losses: &mut Losses) {
        // Other disciplines learn from a queue that is found empty.
        let is_idle = matches!(link.queue, AnyQueue::DropTail(_)) && link.queue.len() == 0;
        let next = |granted: &Self| if is_idle { None } else { granted.next_start(granted.since) };
        while let Some(start) = next(self).filter(|&start| start <= now) {
            if let Some(outages) = &mut self.channel.outages {
                let up = outages.uptime(start).0;
                if up > start {
                    self.since = up;
                    continue;
                }
            }
            let before = losses.len();
            let next = link.queue.dequeue(start, losses);
            link.counters.note_dropped(start, &mut losses[before..]);
            let Some(packet) = next else { break };
            link.waits.record_span(start.saturating_since(packet.at));
            self.start(link, start, &packet);
        }
        if link.queue.len() == 0 && self.held.is_none() {
            self.since = self.since.max(now);
        }
    }

    /// Whether a burst that begins at `now` can take a packet.
    fn has_open_burst(&mut self, now: Time) -> bool {
        // The cursor of outages moves in the order of bursts.
        self.next_start(now) == Some(now)
            && self.channel.outages.as_mut().is_none_or(|outages| outages.uptime(now).0 == now)
    }

    /// The begin of the next burst from `at` on that can take a packet from the queue.
    fn next_start(&self, at: Time) -> Option<Time> {
        if self.held.is_some() {
            return None;
        }
        self.packer.begins(at)
    }

    /// The begin of the next burst for the queue, or [`Time::NEVER`] if none is known or nothing waits.
    pub(super) fn next_service(&self, waiting: usize) -> Time {
        if waiting == 0 {
            return Time::NEVER;
        }
        self.next_start(self.since).unwrap_or(Time::NEVER)
    }

    /// Begins to send a packet in the burst that begins at `start`.
    fn start(&mut self, link: &mut ServedParts<'_>, start: Time, packet: &Packet) {
        let size = packet.size();
        link.counters.carried += 1;
        link.counters.carried_bytes += size;
        let service = InService { packet: *packet, start, index: link.counters.carried - 1 };
        self.since = start;
        let bytes = u32::try_from(link.wire.size(size)).unwrap_or(u32::MAX);
        let Self { packer, channel, .. } = self;
        let packed = packer.offer(start, bytes, |window, burst| channel.fate(window, burst));
        self.settle(link, service, packed);
    }

    /// Puts a packet into the ring if all its parts are in bursts.
    fn settle(&mut self, link: &mut ServedParts<'_>, service: InService, packed: Packed) {
        if let Some(&(_, end)) = self.channel.bursts.last() {
            *link.free_at = (*link.free_at).max(end);
        }
        match packed {
            Packed::Waits { .. } => self.held = Some(service),
            Packed::Sent { at, lost } => self.send(link, service, at, lost),
        }
    }

    /// Puts a packet into the ring. At `sent`, its last part has left, or the link went down.
    fn send(&mut self, link: &mut ServedParts<'_>, service: InService, sent: Time, lost: Option<Loss>) {
        self.held = None;
        let opened = self.opening_for(service.packet.at);
        let before = link.counters.corrupted;
        let InService { packet, start, .. } = service;
        let next_since = std::mem::replace(&mut self.next_since, self.channel.last).clamp(packet.at, start);
        let sending = self.packer.sending().min(sent - start);
        self.causes.extend(link.send(
            service,
            [opened, start, start + (sent - start).saturating_sub(sending), sent],
            lost,
        ));
        if lost.is_none() {
            let [came, next, left] = [packet.at, next_since, sent].map(|at| self.clock.at(at));
            let behind = (next_since - packet.at).saturating_sub(next.saturating_sub(came));
            let (asking, arrival) = (left.saturating_sub(came), *link.last_arrival);
            let turn = (sent - packet.at).saturating_sub(asking + behind + sending);
            self.delays.note(start, arrival, DelayParts { asking, behind, turn, sending, air: arrival - sent });
        }
        if link.counters.corrupted > before {
            self.corrupted_at = self.channel.last;
        }
    }

    /// The opening of the window for a packet that came at `arrived`, if the link has a journal.
    fn opening_for(&self, arrived: Time) -> Time {
        let Some(openings) = &self.openings else { return arrived };
        let next = openings.partition_point(|&(_, last)| last < arrived);
        openings.get(next).map_or(arrived, |&(opens, _)| opens.max(arrived))
    }

    /// The state of the terminal at `now`, the start of a superframe. A link that is down has lost its packet in service.
    pub(super) fn demand(&mut self, link: &mut ServedParts<'_>, now: Time, losses: &mut Losses) -> Demand {
        self.serve(link, now, losses);
        let is_up = link.gate.is_up(now);
        if !is_up {
            let lost = self.packer.reset().unwrap_or(Loss::Down(now));
            if let Some(service) = self.held {
                self.send(link, service, now, Some(lost));
            }
            if link.gate.closed(now) == Some(Cause::Outage) {
                let before = losses.len();
                link.queue.flush(losses);
                link.counters.note_dropped(now, &mut losses[before..]);
            }
        }
        self.channel.signal.seek(now);
        let rest = u64::from(self.packer.rest());
        self.backlog = link.queue.bytes() + rest;
        let mut waiting = [Waiting::default(); CLASSES];
        let arrived = std::mem::take(&mut self.arrived);
        if self.classes == 1 {
            waiting[0] = Waiting { backlog: self.backlog, arrived: arrived[0] };
        } else {
            for (class, (of, arrived)) in waiting.iter_mut().zip(arrived).take(self.classes).enumerate() {
                *of = Waiting { backlog: link.queue.bytes_of(class), arrived };
            }
            if let Some(held) = &self.held {
                waiting[self.class_of(&held.packet)].backlog += rest;
            }
        }
        // Other disciplines learn from windows without packets.
        let has_plain_queue = matches!(link.queue, AnyQueue::DropTail(_));
        Demand {
            waiting,
            es_n0_db: self.channel.signal.value(),
            is_up,
            until: link.gate.changes_at(now),
            steady: if has_plain_queue { self.channel.signal.until() } else { now },
            handed: None,
        }
    }

    /// The request class of a packet: the last one for higher numbers, as in queues.
    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.classes - 1)
    }

    /// Opens the windows of the superframe that starts at `now`, and serves into them.
    pub(super) fn open(&mut self, link: &mut ServedParts<'_>, now: Time, windows: &[Window], losses: &mut Losses) {
        if windows.is_empty() {
            return;
        }
        self.packer.open(windows);
        self.since = now;
        self.channel.bursts.clear();
        if let Some(openings) = &mut self.openings {
            let of = |window: &Window| (window.opens(), window.begin(window.bursts().saturating_sub(1)));
            openings.extend(windows.iter().map(of));
        }
        if let Some(service) = self.held {
            let Self { packer, channel, .. } = self;
            let packed = packer.resume(now, |window, burst| channel.fate(window, burst));
            self.settle(link, service, packed);
        }
        self.serve(link, now, losses);
    }

    /// Notes from `now` on whether the terminal has capacity to come.
    pub(super) fn note_asking(&mut self, queue: &AnyQueue, now: Time, asks: bool) {
        self.clock.run(now, asks);
        if self.clock.is_full() {
            let held = self.held.map(|held| held.packet.at);
            let queued = if queue.len() == 0 { Some(now) } else { queue.oldest() };
            if let Some(queued) = queued {
                self.clock.forget(held.map_or(queued, |held| held.min(queued)));
            }
        }
    }

    /// Packets in service without an arrival.
    pub(super) fn in_service(&self) -> usize {
        usize::from(self.held.is_some())
    }

    /// Time in bursts with data, up to `now`.
    pub(super) fn busy_ps(&self, now: Time) -> u64 {
        let after = |&(begin, end): &(Time, Time)| end.saturating_since(begin.max(now)).as_ps();
        self.channel.busy_ps - self.channel.bursts.iter().map(after).sum::<u64>()
    }

    /// Corrupted packets in the count whose last part is in a burst that begins after `now`.
    pub(super) fn corrupted_after(&self, now: Time) -> u64 {
        u64::from(self.corrupted_at > now)
    }

    /// Takes the cause of loss of the first erased packet in the ring.
    pub(super) fn take_cause(&mut self) -> Cause {
        self.causes.pop_front().unwrap_or(Cause::LinkLoss)
    }

    /// Counts until `now`.
    pub(super) fn counts(&self, now: Time) -> GrantCounts {
        let Packing { used, carried, headers, .. } = self.packer.counts();
        GrantCounts { granted: 0, used, carried, headers, delays: self.delays.until(now) }
    }

    /// Notes the plan of the medium for the link.
    pub(super) fn note_plan(&mut self, planned: Planned) {
        self.planned = planned;
    }

    /// A series of a link in a medium.
    pub(super) fn sample(&self, series: LinkSeries) -> Sample {
        let Planned { waveform, requested, granted } = self.planned;
        match series {
            LinkSeries::Waveform => waveform.map_or(Sample::None, |of| Sample::Value(of.id().into())),
            LinkSeries::Granted => Sample::Bytes(granted),
            LinkSeries::Requested => Sample::Value(requested.as_bps() as f64),
            LinkSeries::Backlog => Sample::Value(self.backlog as f64),
            LinkSeries::QueueBytes | LinkSeries::QueuePackets | LinkSeries::Carried => Sample::None,
        }
    }
}

/// Names the cause of packets that the queue of a link in a medium has dropped at their arrival: without a usable waveform
/// nothing leaves the queue, so congestion is not the cause.
pub(super) fn name_dropped(now: Time, signal: &mut Pieces<f64>, needed: NeededSignal, lost: &mut [(Packet, Cause)]) {
    if lost.is_empty() {
        return;
    }
    signal.seek(now);
    if !needed.is_met(signal.value()) {
        lost.iter_mut().for_each(|(_, cause)| *cause = Cause::NoWaveform);
    }
}

/// Counts of a link in a medium, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantCounts {
    /// Bytes in the bursts that it might send. The medium counts those of planned slots.
    pub(crate) granted: u64,
    /// Bytes in bursts with data.
    pub(crate) used: u64,
    /// Bytes of packets.
    pub(crate) carried: u64,
    /// Bytes of headers, with the room for requests.
    pub(crate) headers: u64,
    /// Delays of the packets that arrived, except those of lost bursts or frames.
    pub(crate) delays: DelaySums,
}

impl BurstChannel {
    /// The loss of a burst that gets data.
    fn fate(&mut self, window: &Window, burst: u32) -> Option<Loss> {
        let (begin, end) = (window.begin(burst), window.end(burst));
        // Random bursts of a block overlap.
        let busy_from = self.bursts.last().map_or(begin, |last| last.1.clamp(begin, end));
        self.bursts.push((busy_from, end));
        self.last = begin;
        self.busy_ps += (end - busy_from).as_ps();
        let index = self.count;
        self.count += 1;
        if let Some(outages) = &mut self.outages {
            let (up, down) = outages.uptime(begin);
            if up > begin || down < end {
                return Some(Loss::Down(if up > begin { begin } else { down }));
            }
        }
        let threshold = window.waveform()?.threshold_db();
        self.signal.seek(begin);
        let probability = self.rule.probability(self.signal.value() - threshold);
        (probability > 0.0 && self.draws.uniform(index) < probability).then_some(Loss::Outage)
    }
}
