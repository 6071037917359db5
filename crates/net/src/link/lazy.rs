//! Serves a link lazily: queue, server, errors and propagation. See [`link`](super).

use super::counters::LinkCounters;
use super::error::ErrorProcess;
use super::framed::OnCarrier;
use super::gate::Gate;
use super::granted::Granted;
use super::journal::Service;
use super::layer2::{Layer2, Layer2Kind};
use super::levels::Levels;
use super::plain::{FastPath, Plain};
use super::processing::Processing;
use super::profile::{DelayCursor, RateCursor};
use super::queue::{AnyQueue, Discipline, Losses};
use super::ring::Ring;
use super::served::ServedParts;
use super::wire::Wire;
use crate::record::Histogram;
use bentpipe_access::{Demand, Window};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::middlebox::QueueView;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Absence, Effect, Link as Spec, Medium, Order, Profile, Terminal, Waiting};
use bentpipe_units::{Duration, Rate, Time};

/// One direction of a link, served lazily.
// Field order: state for each packet is at the start of a cache line, since few links of a large network are in cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct LazyLink {
    /// End of the last transmission.
    pub(super) free_at: Time,
    pub(super) fast_path: FastPath,
    pub(super) plain: Option<Box<Plain>>,
    /// Packets sent or in transmission, in order of arrival at the far end.
    pub(super) ring: Ring,
    /// Processing time of the host at the far end.
    pub(super) processing: Option<Box<Processing>>,
    /// Whether errors erase packets instead of corrupting them.
    pub(super) errors_erase: bool,
    /// Whether packets that ARQ repairs may arrive after later packets.
    pub(super) reorders: bool,
    pub(super) last_arrival: Time,
    pub(super) waits: Histogram,
    pub(crate) counters: LinkCounters,
    pub(super) error: ErrorProcess,
    pub(crate) gate: Gate,
    pub(super) queue: AnyQueue,
    /// Start of the last transmission on the slow path: later than its departure from the queue if the link was down.
    pub(super) sending_since: Time,
    pub(super) rate: RateCursor,
    pub(crate) delay: DelayCursor,
    pub(crate) layer2: Layer2,
    pub(super) wire: Wire,
    /// If the record has samples of the queue.
    pub(super) levels: Option<Box<Levels>>,
}

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
            gate: Gate::of(spec, &[], seed, end),
            layer2: Layer2::of(spec, seed, end),
            reorders: spec.arq.is_some_and(|arq| arq.order == Order::Free),
            processing: None,
            wire: Wire::of(spec),
            levels: None,
            counters: LinkCounters::default(),
            waits: Histogram::default(),
        }
    }

    /// The link with these absences.
    pub(crate) fn with_absences(self, spec: &Spec, absences: &[Absence], seed: u64, end: Time) -> Self {
        Self { gate: Gate::of(spec, absences, seed, end), ..self }
    }

    /// The link with the processing time of a host.
    pub(crate) fn toward_host(self, processing: Option<Box<Processing>>) -> Self {
        Self { processing, ..self }
    }

    /// The link in its medium. Call last.
    pub(crate) fn in_medium(self, spec: &Spec, terminal: &Terminal, medium: &Medium, seed: u64) -> Self {
        let (outages, is_traced) = (self.gate.outages.as_deref(), self.wire.has_journal());
        Self { layer2: Layer2::in_medium(spec, (terminal, medium), outages, seed, is_traced), ..self }
    }

    /// Makes the link plain if it can be. Its queue must not be read between the instants of samples and changes.
    pub(crate) fn simplified(self, spec: &Spec) -> Self {
        let is_steady = self.gate.is_always_open() && self.layer2.is_none();
        match (&self.queue, &spec.rate, self.delay.constant()) {
            (AnyQueue::DropTail(queue), Profile::Constant(rate), Some(delay)) if is_steady && rate.as_bps() > 0 => {
                let plain = Some(Box::new(Plain::new(queue.limit())));
                Self { plain, fast_path: FastPath { delay, ..self.fast_path }, ..self }
            }
            _ => self,
        }
    }

    /// Accepts a packet on a link of any kind. Returns the link's next event if it changes.
    pub(crate) fn accept_any(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        match self.layer2_parts() {
            (Some(Layer2Kind::Granted(granted)), mut link) => granted.accept(&mut link, now, packet, losses),
            (Some(Layer2Kind::Framed(framed)), mut link) => framed.accept(&mut link, now, packet, losses),
            _ => return self.accept(now, packet, losses),
        }
        Some(self.next_event())
    }

    /// The service of the link, and the parts that a medium serves.
    fn layer2_parts(&mut self) -> (Option<&mut Layer2Kind>, ServedParts<'_>) {
        let parts = ServedParts {
            queue: &mut self.queue,
            ring: &mut self.ring,
            error: &mut self.error,
            errors_erase: self.errors_erase,
            gate: &mut self.gate,
            delay: &mut self.delay,
            processing: self.processing.as_deref_mut(),
            wire: &mut self.wire,
            free_at: &mut self.free_at,
            last_arrival: &mut self.last_arrival,
            counters: &mut self.counters,
            waits: &mut self.waits,
            levels: self.levels.as_deref_mut(),
        };
        (self.layer2.0.as_deref_mut(), parts)
    }

    /// Calls `act` with the state of a link with granted bursts. `None` for other links.
    fn with_granted<T>(&mut self, act: impl FnOnce(&mut Granted, &mut ServedParts<'_>) -> T) -> Option<T> {
        let (Some(Layer2Kind::Granted(granted)), mut parts) = self.layer2_parts() else { return None };
        Some(act(granted, &mut parts))
    }

    /// The link as its forward carrier uses it. `None` for other links.
    pub(crate) fn on_carrier(&mut self) -> Option<OnCarrier<'_>> {
        let (Some(Layer2Kind::Framed(framed)), link) = self.layer2_parts() else { return None };
        Some(OnCarrier { framed, link })
    }

    /// The demand of a link in a medium at the start of a superframe.
    pub(crate) fn demand(&mut self, now: Time, losses: &mut Losses) -> Option<Demand> {
        self.with_granted(|granted, link| granted.demand(link, now, losses))
    }

    /// Opens the windows of a superframe on a link in a medium.
    pub(crate) fn open(&mut self, now: Time, windows: &[Window], losses: &mut Losses) {
        self.with_granted(|granted, link| granted.open(link, now, windows, losses));
    }

    /// The next event of a link of any kind: an arrival, or a burst for a waiting packet.
    pub(crate) fn next_event(&self) -> Time {
        match self.layer2.granted() {
            Some(granted) if self.ring.len() == 0 => granted.next_service(self.queue.len()),
            _ => self.next_arrival(),
        }
    }

    /// Accepts a packet at `now`. Returns the arrival of the head if it changes.
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

    /// Returns the arrival of the head if the link was idle.
    #[inline(always)]
    fn take_in(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        self.serve(now, losses);
        let was_empty = self.ring.len() == 0;
        if !self.gate.is_always_open() {
            if let Some(cause) = self.gate.refusal(now, packet) {
                self.counters.lose(now, *packet, cause, losses);
                return None;
            }
        }
        let AnyQueue::DropTail(queue) = &mut self.queue else { return self.offer(now, packet, losses) };
        if let Some(levels) = &mut self.levels {
            levels.note((queue.len(), queue.bytes()));
        }
        if self.free_at <= now {
            self.waits.record_zero();
            let slot = self.start(now, packet);
            return was_empty.then_some(slot.at);
        }
        if let Some(slot) = queue.push(packet) {
            slot.at = now;
            self.counters.backlog_bytes_max = self.counters.backlog_bytes_max.max(queue.bytes());
            if let Some(levels) = &mut self.levels {
                levels.note((queue.len(), queue.bytes()));
            }
        } else {
            self.counters.lose(now, *packet, Cause::QueueOverflow, losses);
        }
        None
    }

    /// Offers a packet to a queue that takes all packets, even if the server is free.
    #[inline(never)]
    fn offer(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        let (was_empty, before) = (self.ring.len() == 0, losses.len());
        self.note_level();
        self.queue.enqueue(now, packet, losses);
        let next = if self.free_at <= now { self.queue.dequeue(now, losses) } else { None };
        self.counters.note_dropped(now, &mut losses[before..]);
        self.counters.backlog_bytes_max = self.counters.backlog_bytes_max.max(self.queue.bytes());
        self.note_level();
        let next = next?;
        self.waits.record_zero();
        let slot = self.start(now, &next);
        was_empty.then_some(slot.at)
    }

    /// Removes the head, if it arrives by `now`.
    #[cfg(test)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.ring.pop_due(now)
    }

    /// The head, if it arrives by `now`.
    #[inline(always)]
    pub(crate) fn front(&self, now: Time) -> Option<&Packet> {
        self.ring.front(now)
    }

    /// The head, if it arrives by `until`. If packets may wait outside the ring, the last one stays until `now`: the ring is
    /// never empty while packets wait.
    #[inline(always)]
    pub(crate) fn front_ahead(&self, now: Time, until: Time) -> Option<&Packet> {
        let is_alone = self.plain.is_none() && self.ring.len() == 1;
        self.front(if is_alone { now } else { until })
    }

    /// Removes the head.
    #[inline(always)]
    pub(crate) fn drop_front(&mut self) {
        self.ring.drop_front();
    }

    /// Returns a packet that was kept elsewhere while it crossed the link.
    pub(crate) fn put_back(&mut self, packet: &Packet) {
        self.ring.push(packet);
    }

    /// Replays all starts of transmission up to `now`. The state of the link is then that of `now`. Idempotent.
    pub(crate) fn advance(&mut self, now: Time, losses: &mut Losses) {
        if let Some(plain) = &mut self.plain {
            plain.start_until(now, &mut self.waits);
            return self.settle();
        }
        match self.layer2_parts() {
            (Some(Layer2Kind::Granted(granted)), mut link) => granted.serve(&mut link, now, losses),
            // Its carrier serves it.
            (Some(Layer2Kind::Framed(_)), _) => {}
            _ => self.serve(now, losses),
        }
    }

    /// Moves packets whose transmission starts by `now` into the ring. No-op on plain links. Idempotent; the only place where
    /// waiting packets are served.
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Time, losses: &mut Losses) {
        if self.plain.is_some() {
            return;
        }
        while self.free_at <= now {
            let packet = match &mut self.queue {
                AnyQueue::DropTail(queue) if self.gate.outages.is_none() || queue.len() == 0 => queue.pop(),
                _ => self.ask(losses),
            };
            let Some(packet) = packet else { break };
            self.waits.record_span(self.free_at - packet.at);
            self.start(self.free_at, &packet);
        }
    }

    /// Takes a packet from the queue for the free server.
    #[inline(never)]
    fn ask(&mut self, losses: &mut Losses) -> Option<Packet> {
        let before = losses.len();
        if let Some(outages) = &mut self.gate.outages {
            if outages.rests(self.free_at) {
                return None;
            }
            if self.queue.len() > 0 && outages.flushes(self.free_at) {
                self.queue.flush(losses);
            }
        }
        let packet = self.queue.dequeue(self.free_at, losses);
        self.counters.note_dropped(self.free_at, &mut losses[before..]);
        packet
    }

    /// The arrival of the head, or [`Time::NEVER`]. If a waiting packet may arrive before it: the start of its transmission.
    #[inline(always)]
    pub(crate) fn next_arrival(&self) -> Time {
        if self.reorders && self.queue.len() > 0 {
            return self.ring.next_at().min(self.free_at);
        }
        self.ring.next_at()
    }

    /// Packets on the link or waiting for it.
    pub(crate) fn len(&self) -> usize {
        let in_service = self.layer2.in_service();
        self.ring.len() + self.queue.len() + in_service
    }

    /// Time busy up to `now`. A packet in transmission counts in part.
    pub(crate) fn busy_ps(&self, now: Time) -> u64 {
        if let Some(framed) = self.layer2.framed() {
            return framed.busy_ps(now);
        }
        if let Some(granted) = self.layer2.granted() {
            return granted.busy_ps(now);
        }
        let unsent = self.free_at.saturating_since(now.max(self.sending_since)).as_ps();
        // After an interruption a link may be ahead of `now` by more than the current transmission.
        self.counters.busy_ps.saturating_sub(unsent) + self.layer2.arq().map_or(0, |arq| arq.busy_ps(now))
    }

    /// Starts a transmission at `at`. Returns the packet in the ring, which points to its next hop.
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
        let [up, begin, down_at] = self.gate.begin(at, size);
        let wire = self.wire.size(size);
        let full = self.rate.finish(begin, wire);
        let full = self.layer2.arq().map_or(full, |arq| arq.postpone(begin, full));
        let finish = full.min(down_at);
        // A link whose rate is zero for good keeps its packet until the end, and is not busy with it.
        self.sending_since = if finish == Time::NEVER { finish } else { begin };
        self.counters.busy_ps += (finish - self.sending_since).as_ps();
        let mut has_error = self.error.has_error(finish, self.counters.carried - 1, wire);
        let mut sent = finish;
        if let Some(arq) = self.layer2.arq_mut() {
            arq.note_packet(self.sending_since, finish);
            if has_error {
                (sent, has_error) = arq.repair(finish, [size, wire], &mut self.rate, &mut self.delay);
            }
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
            Some(journal) => {
                let opened = packet.at;
                journal.0.push(Service {
                    packet: *packet,
                    is_granted: false,
                    opened,
                    start: at,
                    up,
                    begin,
                    finish,
                    arrival,
                });
            }
            None => self.note_fast_path(packet.length()),
        }
        let slot = if self.reorders { self.ring.insert(packet, arrival) } else { self.ring.push(packet) };
        slot.at = arrival;
        slot.next += 1;
        if full > down_at {
            slot.truncate();
        }
        if let Some(outages) = &self.gate.outages {
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

    /// Assumes that the next packet has this size, too.
    fn note_fast_path(&mut self, size: u32) {
        let is_steady = self.gate.is_always_open() && self.layer2.is_none();
        if is_steady && self.error.is_none() && self.processing.is_none() {
            if let (Some(sending), Some(delay)) =
                (self.rate.constant(self.wire.size(size.into())), self.delay.constant())
            {
                self.fast_path = FastPath { size, sending, delay, ..self.fast_path };
            }
        }
    }

    /// Removes the link from the network. Waiting packets are lost, moved to `left`, or kept. The fate of packets on the link
    /// was decided when they were sent.
    pub(crate) fn take_away(&mut self, now: Time, waiting: Waiting, losses: &mut Losses, left: &mut Vec<Packet>) {
        self.advance(now, losses);
        let head = if waiting == Waiting::Kept { None } else { self.layer2.take_head() };
        match waiting {
            Waiting::Kept => {}
            Waiting::Rerouted | Waiting::Moved => {
                left.extend(head);
                self.queue.extract(&mut |_| true, left);
            }
            Waiting::Lost => {
                let mut lost: Vec<_> = head.into_iter().collect();
                self.queue.extract(&mut |_| true, &mut lost);
                lost.into_iter().for_each(|packet| self.counters.lose(now, packet, Cause::Handover, losses));
            }
        }
    }

    /// The waiting packets, for a middlebox of the node. Call `advance` before.
    pub(crate) fn queue_view(&self, now: Time) -> QueueView {
        let is_sending = self.free_at > now || self.layer2.in_service() > 0;
        QueueView { packets: self.queue.len(), bytes: self.queue.bytes(), is_sending }
    }

    /// Moves waiting packets to `left`, for a middlebox of the node. Call `advance` before.
    pub(crate) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.queue.extract(is_meant, left);
    }

    /// End of the current transmission.
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// The rate at `now`, as far as a shaper permits.
    pub(crate) fn rate_at(&mut self, now: Time) -> Rate {
        self.gate.shaped().map_or(self.rate.at(now), |shaped| shaped.min(self.rate.at(now)))
    }
}
