//! A link: queue, then server, then errors, then propagation.
//!
//! Service is *lazy*. A packet leaves the queue and enters the ring at the instant its sending starts, with the
//! instant of its arrival already known; whenever the link is touched at `t`, all starts up to `t` are replayed first.
//! If the ring is empty nothing is being sent, so nothing waits either: the head of the ring is the link's next
//! visible effect, and the link's one entry in the schedule. That holds for any queue whose choice at the start of
//! sending depends only on what arrived so far.
//!
//! A packet that the link corrupts or erases, or that is truncated when the link goes down, stays in the ring with a flag:
//! its loss has a time, and the argument above keeps holding.

mod arq;
mod downtime;
mod error;
mod hybrid;
mod interleave;
mod jitter;
mod journal;
#[cfg(test)]
pub(crate) mod naive;
mod observe;
mod outages;
mod plain;
mod processing;
mod profile;
mod queue;
mod ring;
mod states;

use crate::dictionary::Cause;
use crate::middlebox::QueueView;
use crate::packet::Packet;
use crate::record::Histogram;
use crate::spec::{Absence, Effect, Frames, Link as Spec, Mtu, Order, Oversize, Profile, Waiting};
use arq::ArqState;
use bentpipe_units::{Duration, Rate, Time};
pub(crate) use downtime::Downtime;
use error::ErrorProcess;
use journal::Journal;
pub(crate) use journal::Service;
use outages::Outages;
pub(crate) use plain::Crossing;
use plain::Plain;
pub(crate) use processing::{processing, Processing};
use profile::{DelayCursor, RateCursor};
use queue::{AnyQueue, Discipline};
use ring::Ring;

/// One direction of a link, served lazily.
// In this order: what each packet needs stands together at the start of a cache line, as few links of a large network are in cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct LazyLink {
    /// When the server is free.
    free_at: Time,
    fast_path: FastPath,
    plain: Option<Box<Plain>>,
    /// Sent or being sent, in order of arrival at the far end.
    ring: Ring,
    /// Of the host at the far end.
    processing: Option<Box<Processing>>,
    /// Whether errors erase packets instead of corrupting them.
    errors_erase: bool,
    /// Whether packets that are sent again arrive behind others that were sent after them.
    reorders: bool,
    last_arrival: Time,
    waits: Histogram,
    counters: LinkCounters,
    error: ErrorProcess,
    outages: Option<Box<Outages>>,
    queue: AnyQueue,
    /// When the last sending on the slow path began: later than its packet left the queue, if the link was down.
    sending_since: Time,
    rate: RateCursor,
    delay: DelayCursor,
    arq: Option<Box<ArqState>>,
    wire: Wire,
}

/// The fast path: the times of a packet of the size of the last one, on a link of constant rate and delay that is plain, or has no
/// errors and outages. Most links are of these kinds and see packets of few sizes, so that most packets need nothing else.
#[derive(Clone, Copy, Debug)]
struct FastPath {
    sending: Duration,
    delay: Duration,
    /// Packets that found the server of a plain link free, and are not in the counters yet.
    uncounted: u64,
    /// [`NO_SIZE`] on links of other kinds.
    size: u32,
    /// That size on a plain link of which nothing must be drawn for a packet; else [`NO_SIZE`].
    free_size: u32,
}

impl FastPath {
    fn new() -> Self {
        Self { sending: Duration::ZERO, delay: Duration::ZERO, uncounted: 0, size: NO_SIZE, free_size: NO_SIZE }
    }
}

/// What packets occupy on a link.
#[derive(Clone, Debug)]
struct Wire(Option<Box<Apart>>);

/// Parts that few links have.
#[derive(Clone, Debug, Default)]
struct Apart {
    frames: Option<Frames>,
    mtu: Option<Mtu>,
    /// Services since the last look at them, if they are noted.
    journal: Option<Journal>,
}

impl Wire {
    fn of(spec: &Spec) -> Self {
        let (frames, cuts) = (spec.framing.frames(), spec.mtu.filter(|mtu| mtu.oversize == Oversize::Fragment));
        let apart = Apart { frames, mtu: cuts, journal: None };
        Self((frames.is_some() || cuts.is_some()).then(|| Box::new(apart)))
    }

    #[inline(always)]
    fn size(&self, size: u64) -> u64 {
        match &self.0 {
            None => size,
            Some(apart) => Self::framed(apart.frames, apart.mtu, size),
        }
    }

    #[inline(never)]
    fn framed(frames: Option<Frames>, cuts: Option<Mtu>, size: u64) -> u64 {
        let framed = |size| frames.map_or(size, |frames| frames.wire_size(size));
        let (full, largest, last) = cuts.map_or((0, 0, size), |mtu| mtu.fragments(size));
        full * framed(largest) + framed(last)
    }
}

/// Larger than any packet.
const NO_SIZE: u32 = u32::MAX;

/// What a link counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) offered: u64,
    pub(crate) carried: u64,
    pub(crate) carried_bytes: u64,
    pub(crate) busy_ps: u64,
    pub(crate) corrupted: u64,
    pub(crate) dropped: u64,
    pub(crate) backlog_bytes_max: u64,
}

/// Packets that a link lost, each with the cause, and with the instant in its `at` once the link has handed it over.
pub(crate) type Losses = Vec<(Packet, Cause)>;

impl LazyLink {
    pub(crate) fn new(spec: &Spec, seed: u64, end: Time) -> Self {
        Self {
            ring: Ring::default(),
            queue: AnyQueue::new(spec, seed),
            free_at: Time::ZERO,
            sending_since: Time::ZERO,
            fast_path: FastPath::new(),
            plain: None,
            last_arrival: Time::ZERO,
            rate: RateCursor::new(&spec.rate),
            delay: DelayCursor::new(spec, seed, end),
            error: ErrorProcess::new(spec, seed, end),
            errors_erase: spec.effect == Effect::Lose,
            outages: Outages::of(spec, &[], seed, end).map(Box::new),
            arq: ArqState::of(spec, seed, end).map(Box::new),
            reorders: spec.arq.is_some_and(|arq| arq.order == Order::Free),
            processing: None,
            wire: Wire::of(spec),
            counters: LinkCounters::default(),
            waits: Histogram::default(),
        }
    }

    /// The same link, taken away for these times.
    pub(crate) fn with_absences(self, spec: &Spec, absences: &[Absence], seed: u64, end: Time) -> Self {
        Self { outages: Outages::of(spec, absences, seed, end).map(Box::new), ..self }
    }

    /// The same link to a host that takes time.
    pub(crate) fn toward_host(self, processing: Option<Box<Processing>>) -> Self {
        Self { processing, ..self }
    }

    /// The same link, as plain as it can be, if nobody looks into its queue before the instants of samples and changes.
    pub(crate) fn simplified(self, spec: &Spec) -> Self {
        let is_steady = self.outages.is_none() && self.arq.is_none();
        match (&self.queue, &spec.rate, self.delay.constant()) {
            (AnyQueue::DropTail(queue), Profile::Constant(rate), Some(delay)) if is_steady && rate.as_bps() > 0 => {
                let plain = Some(Box::new(Plain::new(queue.limit())));
                Self { plain, fast_path: FastPath { delay, ..self.fast_path }, ..self }
            }
            _ => self,
        }
    }

    /// A packet is offered at `now`. Returns when the link must be scheduled, if that changes: when its head arrives.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        if self.plain.is_some() {
            return self.accept_plainly(now, packet, losses);
        }
        self.counters.offered += 1;
        let began = self.take_in(now, packet, losses);
        if self.reorders {
            return Some(self.next_arrival());
        }
        began
    }

    /// Returns when the head arrives, if the link was idle.
    #[inline(always)]
    fn take_in(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        self.serve(now, losses);
        let was_empty = self.ring.len() == 0;
        if self.outages.is_some() {
            if let Some(cause) = self.closed(now) {
                self.lose(now, *packet, cause, losses);
                return None;
            }
        }
        let AnyQueue::DropTail(queue) = &mut self.queue else { return self.offer(now, packet, losses) };
        if self.free_at <= now {
            self.waits.record_zero();
            let slot = self.start(now, packet);
            return was_empty.then_some(slot.at);
        }
        if let Some(slot) = queue.push(packet) {
            slot.at = now;
            self.counters.backlog_bytes_max = self.counters.backlog_bytes_max.max(queue.bytes());
        } else {
            self.lose(now, *packet, Cause::QueueOverflow, losses);
        }
        None
    }

    /// A packet is offered to a queue that is given all of them, also those that find the server free.
    #[inline(never)]
    fn offer(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        let (was_empty, before) = (self.ring.len() == 0, losses.len());
        self.queue.enqueue(now, packet, losses);
        let next = if self.free_at <= now { self.queue.dequeue(now, losses) } else { None };
        self.count_dropped(now, &mut losses[before..]);
        self.counters.backlog_bytes_max = self.counters.backlog_bytes_max.max(self.queue.bytes());
        let next = next?;
        self.waits.record_zero();
        let slot = self.start(now, &next);
        was_empty.then_some(slot.at)
    }

    /// The packet that reaches the far end at `now`.
    #[cfg(test)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.ring.pop_due(now)
    }

    /// The packet that reaches the far end at `now`, still on the link.
    #[inline(always)]
    pub(crate) fn front(&self, now: Time) -> Option<&Packet> {
        self.ring.front(now)
    }

    /// The next packet that reaches the far end by `until`, ahead of time. Where packets wait elsewhere, the last one stays until it arrives: a
    /// ring is never empty while packets wait.
    #[inline(always)]
    pub(crate) fn front_ahead(&self, now: Time, until: Time) -> Option<&Packet> {
        let is_alone = self.plain.is_none() && self.ring.len() == 1;
        self.front(if is_alone { now } else { until })
    }

    /// The first packet leaves the link.
    #[inline(always)]
    pub(crate) fn drop_front(&mut self) {
        self.ring.drop_front();
    }

    /// A packet that crosses the link was somewhere else until now.
    pub(crate) fn put_back(&mut self, packet: &Packet) {
        self.ring.push(packet);
    }

    /// Replay all starts of sending up to `now`: what is read of the link is of that instant. Idempotent.
    pub(crate) fn advance(&mut self, now: Time, losses: &mut Losses) {
        if let Some(plain) = &mut self.plain {
            plain.start_until(now, &mut self.waits);
            return self.settle();
        }
        self.serve(now, losses);
    }

    /// All whose sending starts by `now` are in the ring, where what a plain link has taken is in any case. Idempotent; the only
    /// place where waiting packets are served.
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Time, losses: &mut Losses) {
        if self.plain.is_some() {
            return;
        }
        while self.free_at <= now {
            let packet = match &mut self.queue {
                AnyQueue::DropTail(queue) if self.outages.is_none() || queue.len() == 0 => queue.pop(),
                _ => self.ask(losses),
            };
            let Some(packet) = packet else { break };
            self.waits.record_span(self.free_at - packet.at);
            self.start(self.free_at, &packet);
        }
    }

    /// The server, now free, asks for a packet.
    #[inline(never)]
    fn ask(&mut self, losses: &mut Losses) -> Option<Packet> {
        let before = losses.len();
        if let Some(outages) = &mut self.outages {
            if outages.rests(self.free_at) {
                return None;
            }
            if self.queue.len() > 0 && outages.flushes(self.free_at) {
                self.queue.flush(losses);
            }
        }
        let packet = self.queue.dequeue(self.free_at, losses);
        self.count_dropped(self.free_at, &mut losses[before..]);
        packet
    }

    /// What the queue lost at this instant.
    fn count_dropped(&mut self, at: Time, lost: &mut [(Packet, Cause)]) {
        self.counters.dropped += lost.len() as u64;
        lost.iter_mut().for_each(|(packet, _)| packet.at = at);
    }

    /// When the head of the ring arrives; [`Time::NEVER`]: there is none. Where a packet that is sent next may arrive before it: when
    /// that begins.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        if self.reorders && self.queue.len() > 0 {
            return self.ring.next_at().min(self.free_at);
        }
        self.ring.next_at()
    }

    /// Packets and bytes that wait.
    pub(crate) fn backlog(&self) -> (usize, u64) {
        let (packets, bytes) = self.plain.as_ref().map_or((0, 0), |plain| plain.backlog());
        (packets + self.queue.len(), bytes + self.queue.bytes())
    }

    /// What it has counted up to the instant to which it has been advanced.
    pub(crate) fn counters(&self) -> LinkCounters {
        let Some(plain) = &self.plain else { return self.counters };
        let (packets, bytes) = plain.backlog();
        LinkCounters {
            carried: self.counters.carried - packets as u64,
            carried_bytes: self.counters.carried_bytes - bytes,
            corrupted: self.counters.corrupted - plain.waiting_corrupted(),
            ..self.counters
        }
    }

    /// Everything on the link or waiting for it.
    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.queue.len()
    }

    /// Time spent sending up to `now`; a packet that is being sent counts in part.
    pub(crate) fn busy_ps(&self, now: Time) -> u64 {
        let unsent = self.free_at.saturating_since(now.max(self.sending_since)).as_ps();
        // After an interruption a link may be ahead of `now` by more than what it is sending.
        self.counters.busy_ps.saturating_sub(unsent) + self.arq.as_ref().map_or(0, |arq| arq.busy_ps(now))
    }

    /// Sending starts at `at`. Returns the packet as it is in the ring: it points to the hop after this one.
    #[inline(always)]
    fn start(&mut self, at: Time, packet: &Packet) -> &mut Packet {
        let size = packet.size();
        self.counters.carried += 1;
        self.counters.carried_bytes += size;
        if packet.length() != self.fast_path.size {
            return self.send_slowly(at, packet);
        }
        self.counters.busy_ps += self.fast_path.sending.as_ps();
        self.free_at = at + self.fast_path.sending;
        let slot = self.ring.push(packet);
        slot.at = self.free_at + self.fast_path.delay;
        slot.next += 1;
        slot
    }

    #[inline(never)]
    fn send_slowly(&mut self, at: Time, packet: &Packet) -> &mut Packet {
        let size = packet.size();
        let (begin, down_at) = if self.outages.is_some() { self.uptime(at) } else { (at, Time::NEVER) };
        let wire = self.wire.size(size);
        let full = self.rate.finish(begin, wire);
        let full = self.arq.as_mut().map_or(full, |arq| arq.postpone(begin, full));
        let finish = full.min(down_at);
        // A link whose rate has fallen to zero for good keeps its packet until the end, and is not busy with it.
        self.sending_since = if finish == Time::NEVER { finish } else { begin };
        self.counters.busy_ps += (finish - self.sending_since).as_ps();
        let mut has_error = self.error.has_error(finish, self.counters.carried - 1, wire);
        let mut sent = finish;
        if let (Some(arq), true) = (&mut self.arq, has_error) {
            (sent, has_error) = arq.repair(finish, [size, wire], &mut self.rate, &mut self.delay);
        }
        self.counters.corrupted += u64::from(has_error && !self.errors_erase);
        let index = self.counters.carried - 1;
        let processing = self.processing.as_mut().map_or(Duration::ZERO, |processing| processing.draw(index));
        let mut arrival = sent + self.delay.at(sent) + self.delay.jitter_at(finish) + processing;
        let overtakes = self.reorders && sent > finish;
        if !overtakes {
            // A moving satellite never lets packets overtake one another; a delay that falls in a step would.
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        self.free_at = finish;
        match self.wire.0.as_mut().and_then(|apart| apart.journal.as_mut()) {
            Some(journal) => journal.0.push(Service { packet: *packet, start: at, begin, finish, arrival }),
            None => self.note_fast_path(packet.length()),
        }
        let slot = if self.reorders { self.ring.insert(packet, arrival) } else { self.ring.push(packet) };
        slot.at = arrival;
        slot.next += 1;
        if full > down_at {
            slot.truncate();
        }
        if let Some(outages) = &self.outages {
            if (full > down_at && outages.is_away(finish)) || outages.cuts(finish, slot.at) {
                slot.cut_off();
            }
        }
        match (has_error, self.errors_erase) {
            (true, false) => slot.corrupt(),
            (true, true) => slot.erase(),
            _ => {}
        }
        slot
    }

    /// The next packet is likely to be of this size too.
    fn note_fast_path(&mut self, size: u32) {
        if self.outages.is_none() && self.error.is_none() && self.processing.is_none() && self.arq.is_none() {
            if let (Some(sending), Some(delay)) =
                (self.rate.constant(self.wire.size(size.into())), self.delay.constant())
            {
                self.fast_path = FastPath { size, sending, delay, ..self.fast_path };
            }
        }
    }

    /// The next instant from `at` on at which the link is up, and when it goes down after that.
    #[cold]
    fn uptime(&mut self, at: Time) -> (Time, Time) {
        let Some(outages) = &mut self.outages else { return (at, Time::NEVER) };
        outages.uptime(at)
    }

    fn lose(&mut self, now: Time, mut packet: Packet, cause: Cause, losses: &mut Losses) {
        self.counters.dropped += 1;
        packet.at = now;
        losses.push((packet, cause));
    }

    /// Why packets that come now are lost, if they are: the link is down and does not keep its queue.
    fn closed(&mut self, now: Time) -> Option<Cause> {
        self.outages.as_mut()?.closed(now)
    }

    /// The link is taken away. What waits is lost, is in `left` afterwards, or stays; what becomes of what is on
    /// the link was decided when it was sent.
    pub(crate) fn take_away(&mut self, now: Time, waiting: Waiting, losses: &mut Losses, left: &mut Vec<Packet>) {
        self.advance(now, losses);
        match waiting {
            Waiting::Kept => {}
            Waiting::Rerouted | Waiting::Moved => self.queue.extract(&mut |_| true, left),
            Waiting::Lost => {
                let mut lost = Vec::new();
                self.queue.extract(&mut |_| true, &mut lost);
                lost.into_iter().for_each(|packet| self.lose(now, packet, Cause::Handover, losses));
            }
        }
    }

    /// What waits, for a function of the node. The link has been advanced.
    pub(crate) fn queue_view(&self, now: Time) -> QueueView {
        QueueView { packets: self.queue.len(), bytes: self.queue.bytes(), is_sending: self.free_at > now }
    }

    /// A function of the node takes packets that wait out of the queue. The link has been advanced.
    pub(crate) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.queue.extract(is_meant, left);
    }

    /// When the link has sent what it is sending.
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// The rate of the moment.
    pub(crate) fn rate_at(&mut self, now: Time) -> Rate {
        self.rate.at(now)
    }

    /// When it is there and in no outage: now, or later.
    pub(crate) fn up_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(now, |outages| outages.up_at(now))
    }

    /// How long the way takes what leaves at this moment.
    pub(crate) fn delay_at(&mut self, now: Time) -> Duration {
        self.delay.at(now)
    }

    /// A packet that was truncated or erased is lost on this link.
    pub(crate) fn count_lost(&mut self) {
        self.counters.dropped += 1;
    }
}

#[cfg(test)]
mod tests;
