//! Serves a link lazily: queue, server, errors and propagation. See [`link`](super).

use super::arq::ArqState;
use super::bucket::Buckets;
use super::counters::LinkCounters;
use super::error::ErrorProcess;
use super::framed::{Framed, OnCarrier};
use super::granted::Granted;
use super::journal::Service;
use super::levels::Levels;
use super::outages::Outages;
use super::plain::{FastPath, Plain};
use super::processing::Processing;
use super::profile::{DelayCursor, RateCursor};
use super::queue::{AnyQueue, Discipline, Losses};
use super::ring::Ring;
use super::served::ServedParts;
use super::wire::Wire;
use crate::dictionary::Cause;
use crate::middlebox::QueueView;
use crate::packet::Packet;
use crate::record::Histogram;
use crate::spec::{Absence, Effect, Link as Spec, Medium, MediumKind, Order, Profile, Terminal, Waiting};
use bentpipe_access::{Demand, Window};
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
    pub(super) counters: LinkCounters,
    pub(super) error: ErrorProcess,
    pub(super) outages: Option<Box<Outages>>,
    pub(super) buckets: Option<Box<Buckets>>,
    pub(super) queue: AnyQueue,
    /// Start of the last transmission on the slow path: later than its departure from the queue if the link was down.
    pub(super) sending_since: Time,
    pub(super) rate: RateCursor,
    pub(super) delay: DelayCursor,
    pub(super) layer2: Option<Box<Layer2>>,
    pub(super) wire: Wire,
    /// If the record has samples of the queue.
    pub(super) levels: Option<Box<Levels>>,
}

/// Service of a link that sends its packets otherwise than once, at its rate. One box, so that a link takes no more lines of
/// the cache.
#[derive(Clone, Debug)]
pub(super) enum Layer2 {
    /// Retransmissions of damaged packets.
    Arq(ArqState),
    /// Bursts in a medium. The rate has no effect, and the link is never plain or on the fast path. A separate box, since it
    /// is many times the state of the ARQ.
    Granted(Box<Granted>),
    /// Frames of a forward carrier, as above.
    Framed(Box<Framed>),
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
            outages: Outages::of(spec, &[], seed, end).map(Box::new),
            buckets: Buckets::of(spec).map(Box::new),
            layer2: ArqState::of(spec, seed, end).map(|arq| Box::new(Layer2::Arq(arq))),
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
        Self { outages: Outages::of(spec, absences, seed, end).map(Box::new), ..self }
    }

    /// The link with the processing time of a host.
    pub(crate) fn toward_host(self, processing: Option<Box<Processing>>) -> Self {
        Self { processing, ..self }
    }

    /// The link in its medium. Call last.
    pub(crate) fn in_medium(self, spec: &Spec, terminal: &Terminal, medium: &Medium, seed: u64) -> Self {
        let (name, is_traced) = (spec.name.as_str(), self.wire.has_journal());
        let layer2 = match &medium.kind {
            MediumKind::MfTdma(_) | MediumKind::LeoCell(_) => {
                let (rule, needed) = (medium.kind.losses(), medium.kind.needed_signal());
                let granted = Granted::of(terminal, rule, needed, self.outages.as_deref(), (name, seed), is_traced);
                Layer2::Granted(Box::new(granted))
            }
            MediumKind::Tdm(tdm) => Layer2::Framed(Box::new(Framed::of(terminal, tdm, (name, seed), is_traced))),
        };
        Self { layer2: Some(Box::new(layer2)), ..self }
    }

    /// Makes the link plain if it can be. Its queue must not be read between the instants of samples and changes.
    pub(crate) fn simplified(self, spec: &Spec) -> Self {
        let is_steady = self.outages.is_none() && self.layer2.is_none() && self.buckets.is_none();
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
            (Some(Layer2::Granted(granted)), mut link) => granted.accept(&mut link, now, packet, losses),
            (Some(Layer2::Framed(framed)), mut link) => framed.accept(&mut link, now, packet, losses),
            _ => return self.accept(now, packet, losses),
        }
        Some(self.next_event())
    }

    pub(super) fn arq(&self) -> Option<&ArqState> {
        match self.layer2.as_deref() {
            Some(Layer2::Arq(arq)) => Some(arq),
            _ => None,
        }
    }

    pub(super) fn granted(&self) -> Option<&Granted> {
        match self.layer2.as_deref() {
            Some(Layer2::Granted(granted)) => Some(granted),
            _ => None,
        }
    }

    pub(super) fn framed(&self) -> Option<&Framed> {
        match self.layer2.as_deref() {
            Some(Layer2::Framed(framed)) => Some(framed),
            _ => None,
        }
    }

    /// The service of the link, and the parts that a medium serves.
    fn layer2_parts(&mut self) -> (Option<&mut Layer2>, ServedParts<'_>) {
        let parts = ServedParts {
            queue: &mut self.queue,
            ring: &mut self.ring,
            error: &mut self.error,
            errors_erase: self.errors_erase,
            outages: self.outages.as_deref_mut(),
            buckets: self.buckets.as_deref_mut(),
            delay: &mut self.delay,
            processing: self.processing.as_deref_mut(),
            wire: &mut self.wire,
            free_at: &mut self.free_at,
            last_arrival: &mut self.last_arrival,
            counters: &mut self.counters,
            waits: &mut self.waits,
            levels: self.levels.as_deref_mut(),
        };
        (self.layer2.as_deref_mut(), parts)
    }

    /// Calls `act` with the state of a link with granted bursts. `None` for other links.
    fn with_granted<T>(&mut self, act: impl FnOnce(&mut Granted, &mut ServedParts<'_>) -> T) -> Option<T> {
        let (Some(Layer2::Granted(granted)), mut parts) = self.layer2_parts() else { return None };
        Some(act(granted, &mut parts))
    }

    /// The link as its forward carrier uses it. `None` for other links.
    pub(crate) fn on_carrier(&mut self) -> Option<OnCarrier<'_>> {
        let (Some(Layer2::Framed(framed)), link) = self.layer2_parts() else { return None };
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
        match self.granted() {
            Some(granted) if self.ring.len() == 0 => granted.next_service(self.queue.len()),
            _ => self.next_arrival(),
        }
    }

    /// The cause of loss of the erased packet that has just left the ring.
    pub(crate) fn cause_of_erasure(&mut self) -> Cause {
        match self.layer2.as_deref_mut() {
            Some(Layer2::Granted(granted)) => granted.take_cause(),
            Some(Layer2::Framed(framed)) => framed.take_cause(),
            _ => Cause::LinkLoss,
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
        if self.outages.is_some() || self.buckets.is_some() {
            if let Some(cause) = self.refusal(now, packet) {
                self.lose(now, *packet, cause, losses);
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
            self.lose(now, *packet, Cause::QueueOverflow, losses);
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
        self.count_dropped(now, &mut losses[before..]);
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
            (Some(Layer2::Granted(granted)), mut link) => granted.serve(&mut link, now, losses),
            // Its carrier serves it.
            (Some(Layer2::Framed(_)), _) => {}
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
                AnyQueue::DropTail(queue) if self.outages.is_none() || queue.len() == 0 => queue.pop(),
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

    /// Counts the losses of the queue at this instant.
    fn count_dropped(&mut self, at: Time, lost: &mut [(Packet, Cause)]) {
        self.counters.dropped += lost.len() as u64;
        lost.iter_mut().for_each(|(packet, _)| packet.at = at);
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
        let in_service = self.in_service();
        self.ring.len() + self.queue.len() + in_service
    }

    /// Packets in a medium that have left the queue without an arrival.
    fn in_service(&self) -> usize {
        self.granted().map_or(0, Granted::in_service) + self.framed().map_or(0, Framed::in_service)
    }

    /// Time busy up to `now`. A packet in transmission counts in part.
    pub(crate) fn busy_ps(&self, now: Time) -> u64 {
        if let Some(framed) = self.framed() {
            return framed.busy_ps(now);
        }
        if let Some(granted) = self.granted() {
            return granted.busy_ps(now);
        }
        let unsent = self.free_at.saturating_since(now.max(self.sending_since)).as_ps();
        // After an interruption a link may be ahead of `now` by more than the current transmission.
        self.counters.busy_ps.saturating_sub(unsent) + self.arq().map_or(0, |arq| arq.busy_ps(now))
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
        let (up, down_at) = if self.outages.is_some() { self.uptime(at) } else { (at, Time::NEVER) };
        let begin = self.buckets.as_mut().map_or(up, |buckets| buckets.begin(up, down_at, size));
        let wire = self.wire.size(size);
        let full = self.rate.finish(begin, wire);
        let full = self.arq().map_or(full, |arq| arq.postpone(begin, full));
        let finish = full.min(down_at);
        // A link whose rate is zero for good keeps its packet until the end, and is not busy with it.
        self.sending_since = if finish == Time::NEVER { finish } else { begin };
        self.counters.busy_ps += (finish - self.sending_since).as_ps();
        let mut has_error = self.error.has_error(finish, self.counters.carried - 1, wire);
        let mut sent = finish;
        if let Some(Layer2::Arq(arq)) = self.layer2.as_deref_mut() {
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

    /// Assumes that the next packet has this size, too.
    fn note_fast_path(&mut self, size: u32) {
        let is_steady = self.outages.is_none() && self.layer2.is_none() && self.buckets.is_none();
        if is_steady && self.error.is_none() && self.processing.is_none() {
            if let (Some(sending), Some(delay)) =
                (self.rate.constant(self.wire.size(size.into())), self.delay.constant())
            {
                self.fast_path = FastPath { size, sending, delay, ..self.fast_path };
            }
        }
    }

    /// The first instant from `at` when the link is up, and the next when it goes down.
    #[cold]
    fn uptime(&mut self, at: Time) -> (Time, Time) {
        let Some(outages) = &mut self.outages else { return (at, Time::NEVER) };
        outages.uptime(at)
    }

    pub(super) fn lose(&mut self, now: Time, mut packet: Packet, cause: Cause, losses: &mut Losses) {
        self.counters.dropped += 1;
        packet.at = now;
        losses.push((packet, cause));
    }

    /// The cause of loss of packets offered now, if the link is down and does not keep its queue.
    pub(crate) fn closed(&mut self, now: Time) -> Option<Cause> {
        self.outages.as_mut()?.closed(now)
    }

    /// The cause of loss of a packet that is offered now, if the link is closed or its token buckets do not admit it.
    fn refusal(&mut self, now: Time, packet: &Packet) -> Option<Cause> {
        self.closed(now).or_else(|| self.buckets.as_mut()?.refusal(now, packet.size()))
    }

    /// Removes the link from the network. Waiting packets are lost, moved to `left`, or kept. The fate of packets on the link
    /// was decided when they were sent.
    pub(crate) fn take_away(&mut self, now: Time, waiting: Waiting, losses: &mut Losses, left: &mut Vec<Packet>) {
        self.advance(now, losses);
        let head = match self.layer2.as_deref_mut() {
            Some(Layer2::Framed(framed)) if waiting != Waiting::Kept => framed.take_head(),
            _ => None,
        };
        match waiting {
            Waiting::Kept => {}
            Waiting::Rerouted | Waiting::Moved => {
                left.extend(head);
                self.queue.extract(&mut |_| true, left);
            }
            Waiting::Lost => {
                let mut lost: Vec<_> = head.into_iter().collect();
                self.queue.extract(&mut |_| true, &mut lost);
                lost.into_iter().for_each(|packet| self.lose(now, packet, Cause::Handover, losses));
            }
        }
    }

    /// The waiting packets, for a middlebox of the node. Call `advance` before.
    pub(crate) fn queue_view(&self, now: Time) -> QueueView {
        let is_sending = self.free_at > now || self.in_service() > 0;
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
        let shaped = self.buckets.as_ref().and_then(|buckets| buckets.shaped());
        shaped.map_or(self.rate.at(now), |shaped| shaped.min(self.rate.at(now)))
    }

    /// The first instant from `now` when the link is present and up.
    pub(crate) fn up_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(now, |outages| outages.up_at(now))
    }

    /// Whether the link is there and has no outage.
    pub(crate) fn is_up(&self, now: Time) -> bool {
        self.outages.as_ref().is_none_or(|outages| outages.up_at(now) <= now)
    }

    /// The first instant after `now` at which the link goes away or down, or comes back.
    pub(crate) fn changes_at(&self, now: Time) -> Time {
        self.outages.as_ref().map_or(Time::NEVER, |outages| outages.changes_at(now))
    }

    /// The delay of a packet that leaves at `now`.
    pub(crate) fn delay_at(&mut self, now: Time) -> Duration {
        self.delay.at(now)
    }

    /// Counts a packet that its carrier refused for this link and others.
    pub(crate) fn count_refused(&mut self) {
        self.counters.offered += 1;
        self.counters.dropped += 1;
    }

    /// Counts a packet that was truncated or erased on this link.
    pub(crate) fn count_lost(&mut self) {
        self.counters.dropped += 1;
    }
}
