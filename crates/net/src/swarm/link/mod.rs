//! A link in the most obvious form: an event at each end of transmission and at each arrival, lists instead of rings, and
//! values that are looked up at each use.
//!
//! It draws the same numbers of the same streams as [`LazyLink`](crate::link::LazyLink), but shares only the scenario, the
//! packets and the histogram with it.

mod aqm;
mod bucket;
mod copies;
mod dualpi2;
mod errors;
mod framed;
mod granted;
mod leaving;
mod queue;
mod rule;
mod times;

use crate::link::{GrantCounts, LinkAtEnd, Losses};
use crate::record::{ratio, Histogram, Sample};
use bentpipe_access::{Loss, Waveform};
use bentpipe_model::dictionary::{Cause, LinkRow, LinkSeries};
use bentpipe_model::ids::LinkId;
use bentpipe_model::middlebox::QueueView;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Effect, InFlight, Link, MediumKind, Order, Oversize, Queue, Scenario, Waiting};
use bentpipe_units::{Duration, Rate, Stream, Time};
use bucket::NaiveBucket;
use copies::NaiveCopies;
use errors::NaiveErrors;
use framed::NaiveFramed;
use granted::NaiveGranted;
pub(super) use granted::NaiveWindow;
use leaving::Leaving;
use queue::NaiveQueue;
use times::{NaiveJitter, NaiveOutages};

/// A link with an event for each end of transmission and each arrival.
#[derive(Debug)]
pub(super) struct NaiveLink {
    spec: Link,
    outages: NaiveOutages,
    policer: Option<NaiveBucket>,
    shaper: Option<NaiveBucket>,
    queue: NaiveQueue,
    errors: NaiveErrors,
    copies: Option<NaiveCopies>,
    jitter: NaiveJitter,
    /// Shortest and longest processing time of the host at the far end, and its draws.
    host: (Duration, Duration, Stream),
    in_service: Option<Transmission>,
    on_the_way: Vec<Packet>,
    last_arrival: Time,
    /// Begin and end of each transmission so far.
    transmissions: Vec<(Time, Time)>,
    /// Its medium, and its part in it.
    medium: Option<MediumKind>,
    granted: Option<Box<NaiveGranted>>,
    framed: Option<Box<NaiveFramed>>,
    leaving: Leaving,
    waits: Histogram,
    offered: u64,
    carried_bytes: u64,
    corrupted: u64,
    dropped: u64,
    backlog_bytes_max: u64,
    /// Packets and bytes in the queue before and after each arrival since the last sample.
    levels: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    packet: Packet,
    /// The end of the copy that counts, if the packet was damaged.
    sent: Time,
}

impl NaiveLink {
    pub(super) fn of(scenario: &Scenario, id: LinkId, seed: u64) -> Self {
        let end = Time::ZERO + scenario.duration;
        let outages = NaiveOutages::of(scenario, id, end);
        Self::with(scenario, (id, scenario.links[id].in_slots(seed, end)), outages, seed)
    }

    /// Returns the queue of a carrier for packets to several links.
    pub(super) fn broadcast(scenario: &Scenario, (id, spec): (LinkId, Link), seed: u64) -> Self {
        let mut without = scenario.clone();
        without.links[id] = spec.clone();
        let outages = NaiveOutages::of(&without, id, Time::ZERO + scenario.duration);
        Self::with(scenario, (id, spec), outages, seed)
    }

    fn with(scenario: &Scenario, (id, spec): (LinkId, Link), outages: NaiveOutages, seed: u64) -> Self {
        let end = Time::ZERO + scenario.duration;
        // Of flows with different times the slowest counts.
        let mut host = (Duration::ZERO, Duration::ZERO);
        for lane in &scenario.lanes {
            let flow = &scenario.flows[lane.flow];
            let ends_here = [&lane.route, &lane.reverse_route].iter().any(|route| route.last() == Some(&id));
            if ends_here && flow.processing.1 > host.1 {
                host = flow.processing;
            }
        }
        Self {
            outages,
            policer: spec.policer.as_deref().copied().map(NaiveBucket::of),
            shaper: spec.shaper.as_deref().copied().map(NaiveBucket::of),
            queue: NaiveQueue::of(&spec, seed),
            errors: NaiveErrors::of(&spec, 0, seed, end),
            copies: spec.arq.map(|arq| NaiveCopies::of(&spec, arq, seed, end)),
            jitter: NaiveJitter::of(&spec, seed, end),
            host: (host.0, host.1, Stream::new(seed, &format!("link/{}", spec.name), "processing")),
            in_service: None,
            on_the_way: Vec::new(),
            last_arrival: Time::ZERO,
            transmissions: Vec::new(),
            medium: spec.terminal.as_ref().map(|of| scenario.media[of.medium].kind.clone()),
            granted: NaiveGranted::of(&spec, &scenario.media, seed).map(Box::new),
            framed: NaiveFramed::of(&spec, &scenario.media, seed).map(Box::new),
            leaving: Leaving::default(),
            waits: Histogram::default(),
            offered: 0,
            carried_bytes: 0,
            corrupted: 0,
            dropped: 0,
            backlog_bytes_max: 0,
            levels: vec![(0, 0)],
            spec,
        }
    }

    /// Offers a packet. Returns the end of its transmission if that begins now.
    pub(super) fn offer(&mut self, now: Time, packet: Packet, losses: &mut Losses) -> Option<Time> {
        self.levels.push(self.level());
        let finish = self.admit(now, packet, losses);
        self.levels.push(self.level());
        finish
    }

    fn admit(&mut self, now: Time, mut packet: Packet, losses: &mut Losses) -> Option<Time> {
        self.offered += 1;
        let is_free = self.in_service.is_none();
        if let Some(cause) = self.refusal(now, &packet) {
            self.lose([(packet, cause)], losses);
        } else if is_free && matches!(self.spec.queue, Queue::DropTail { .. }) {
            // A packet that finds the link free needs no room.
            packet.at = now;
            return Some(self.serve(now, packet));
        } else {
            let mut lost = Losses::new();
            self.queue.enqueue(now, packet, &mut lost);
            self.lose(lost, losses);
            if is_free {
                return self.next(now, losses);
            }
            self.backlog_bytes_max = self.backlog_bytes_max.max(self.queue.bytes());
        }
        None
    }

    /// Ends a transmission. Returns the packet's arrival, and the end of the next transmission if a packet waits.
    pub(super) fn finish_sending(&mut self, now: Time, losses: &mut Losses) -> (Time, Option<Time>) {
        let Transmission { mut packet, sent } = self.in_service.take().expect("a packet is being sent");
        let (least, most, draws) = &mut self.host;
        let number = self.transmissions.len() as u64 - 1;
        let processing = *least + Duration::from_ps(draws.below(number, most.saturating_sub(*least).as_ps()));
        let mut arrival = sent + times::delay(&self.spec, sent) + self.jitter.at(now) + processing;
        let is_free = self.spec.arq.is_some_and(|arq| arq.order == Order::Free);
        if !(is_free && sent > now) {
            // Packets do not overtake.
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        packet.at = arrival;
        self.on_the_way.push(packet);
        self.on_the_way.sort_by_key(|packet| packet.at);
        if self.rests(now) {
            return (arrival, None);
        }
        if self.outages.flushes(now) {
            let mut lost = Losses::new();
            self.queue.flush(&mut lost);
            self.lose(lost, losses);
        }
        (arrival, self.next(now, losses))
    }

    /// The cause of loss of a packet that may not enter. The policer counts a packet that may.
    fn refusal(&mut self, now: Time, packet: &Packet) -> Option<Cause> {
        if self.rests(now) {
            return Some(Cause::Handover);
        }
        if self.outages.flushes(now) {
            return Some(Cause::Outage);
        }
        let size = packet.size();
        if self.shaper.as_ref().is_some_and(|shaper| size > shaper.keys().burst) {
            return Some(Cause::Policed);
        }
        let policer = self.policer.as_mut()?;
        if policer.ready(now, size) > now {
            return Some(Cause::Policed);
        }
        policer.pass(now, size);
        None
    }

    /// Whether the link is absent and its queue is not kept.
    fn rests(&self, now: Time) -> bool {
        self.outages.absent(now).is_some_and(|waiting| waiting != Waiting::Kept)
    }

    /// Takes a packet from the queue. Returns the end of its transmission, if there is one.
    fn next(&mut self, now: Time, losses: &mut Losses) -> Option<Time> {
        let mut lost = Losses::new();
        let packet = self.queue.dequeue(now, &mut lost);
        self.lose(lost, losses);
        packet.map(|packet| self.serve(now, packet))
    }

    /// Begins to send a packet, and decides its fate. Returns the end of its transmission.
    fn serve(&mut self, now: Time, mut packet: Packet) -> Time {
        let (mut begin, down_at) = self.outages.uptime(now);
        let (size, wire) = (packet.size(), self.wire_size(packet.size()));
        if let Some(shaper) = &mut self.shaper {
            begin = shaper.ready(begin, size).min(down_at);
            if begin < down_at {
                shaper.pass(begin, size);
            }
        }
        let mut full = times::finish(&self.spec.rate, begin, wire);
        if let Some(copies) = &self.copies {
            full = copies.delayed(begin, full);
        }
        let end = full.min(down_at);
        if end < full {
            packet.truncate();
            if self.outages.absent(end).is_some() {
                packet.cut_off();
            }
        }
        let number = self.transmissions.len() as u64;
        let (mut sent, mut is_damaged) = (end, self.errors.hits(end, number, wire));
        if let (Some(copies), true) = (&mut self.copies, is_damaged) {
            (sent, is_damaged) = copies.repair(&self.spec, end, size, wire);
        }
        match (is_damaged, self.spec.effect) {
            (false, _) => {}
            (true, Effect::Lose) => packet.erase(),
            (true, Effect::Corrupt) => {
                packet.corrupt();
                self.corrupted += 1;
            }
        }
        self.waits.record_span(now - packet.at);
        self.carried_bytes += size;
        self.transmissions.push((begin, end));
        self.in_service = Some(Transmission { packet, sent });
        end
    }

    /// Returns the bytes of a packet on the link: of all its fragments (RFC 791 §3.2), each in its frame.
    fn wire_size(&self, size: u64) -> u64 {
        const HEADER: u64 = 20;
        let frames = self.spec.framing.frames();
        let framed = |bytes: u64| {
            let Some(frames) = frames else { return bytes };
            let framed = bytes.max(frames.minimum) + frames.overhead;
            let stuffed = framed + (framed * u64::from(frames.stuffed)).div_ceil(256);
            stuffed.div_ceil(frames.payload) * frames.cell
        };
        let mtu = self.spec.mtu.filter(|mtu| mtu.oversize == Oversize::Fragment).map_or(u64::MAX, |mtu| mtu.size);
        let (mut left, mut sum) = (size, 0);
        while left > mtu {
            let data = (mtu - HEADER) / 8 * 8;
            sum += framed(data + HEADER);
            left -= data;
        }
        sum + framed(left)
    }

    fn lose(&mut self, lost: impl IntoIterator<Item = (Packet, Cause)>, losses: &mut Losses) {
        let before = losses.len();
        losses.extend(lost);
        self.dropped += (losses.len() - before) as u64;
    }

    pub(super) fn deliver(&mut self) -> Packet {
        let packet = self.on_the_way.remove(0);
        self.leaving.deliver();
        self.dropped += u64::from(packet.is_truncated() || packet.is_erased());
        packet
    }

    /// Removes the link.
    pub(super) fn take_away(
        &mut self,
        now: Time,
        (waiting, in_flight): (Waiting, InFlight),
        losses: &mut Losses,
        left: &mut Vec<Packet>,
    ) {
        if in_flight == InFlight::Lost {
            let mut have_left = self.leaving.go_away(now);
            for packet in &mut self.on_the_way {
                if have_left.next().unwrap_or(true) {
                    packet.cut_off();
                }
            }
        }
        let framed = self.framed.as_mut().filter(|_| waiting != Waiting::Kept);
        let head = framed.and_then(|framed| framed.take_head());
        match waiting {
            Waiting::Kept => {}
            Waiting::Rerouted | Waiting::Moved => {
                left.extend(head);
                self.queue.extract(&mut |_| true, left);
            }
            Waiting::Lost => {
                let mut lost: Vec<_> = head.into_iter().collect();
                self.queue.extract(&mut |_| true, &mut lost);
                self.lose(lost.into_iter().map(|packet| (packet, Cause::Handover)), losses);
            }
        }
    }

    /// Decides the fate of a packet whose last part has left at `sent`. Returns its arrival.
    fn leave(&mut self, mut packet: Packet, number: Option<u64>, lost: Option<Loss>, sent: Time) -> Time {
        let number = number.expect("it was counted");
        let wire = self.wire_size(packet.size());
        let has_error = self.errors.hits(sent, number, wire);
        let (least, most, draws) = &mut self.host;
        let processing = *least + Duration::from_ps(draws.below(number, most.saturating_sub(*least).as_ps()));
        let arrival = sent + times::delay(&self.spec, sent) + self.jitter.at(sent) + processing;
        let arrival = arrival.max(self.last_arrival);
        self.last_arrival = arrival;
        let cause = match lost {
            Some(Loss::Down(at)) if self.outages.absent(at).is_some() => {
                packet.cut_off();
                None
            }
            Some(Loss::Down(_)) => {
                packet.truncate();
                None
            }
            Some(Loss::Collision) => Some(Cause::AccessCollision),
            Some(Loss::Outage) => Some(Cause::AcmOutage),
            None if has_error && self.spec.effect == Effect::Corrupt => {
                self.corrupted += 1;
                packet.corrupt();
                None
            }
            None => has_error.then_some(Cause::LinkLoss),
        };
        if cause.is_some() {
            packet.erase();
        }
        packet.at = arrival;
        // The superframe in which the link gave the rest of a packet up may begin with the absence.
        if self.leaving.note(sent, cause) {
            packet.cut_off();
        }
        self.on_the_way.push(packet);
        arrival
    }

    /// The number of packets in service in a medium.
    fn in_medium(&self) -> usize {
        let framed = self.framed.as_ref().map_or(0, |framed| framed.in_service());
        self.granted.as_ref().map_or(0, |granted| granted.in_service()) + framed
    }

    /// Whether a link in a medium has a packet in service, or sends a burst or frame with data.
    fn is_bursting(&self, now: Time) -> bool {
        if self.granted.is_none() && self.framed.is_none() {
            return false;
        }
        self.in_medium() > 0 || self.transmissions.last().is_some_and(|(_, end)| *end > now)
    }

    /// Whether the link is in a return link.
    pub(super) fn is_granted(&self) -> bool {
        self.granted.is_some()
    }

    /// Whether the link is on a forward carrier.
    pub(super) fn is_framed(&self) -> bool {
        self.framed.is_some()
    }

    /// Notes the plan of its medium.
    pub(super) fn note_plan(&mut self, waveform: Option<Waveform>, requested: Rate) {
        if let Some(granted) = &mut self.granted {
            granted.planned = (waveform, requested);
        }
    }

    /// The counts of a link in a medium.
    pub(super) fn grants(&self, now: Time) -> Option<GrantCounts> {
        let framed = self.framed.as_ref().map(|of| GrantCounts { delays: of.delays(now), ..of.counts() });
        framed.or_else(|| self.granted.as_ref().map(|of| GrantCounts { delays: of.delays(now), ..of.counts() }))
    }

    /// Notes from `now` on whether the terminal has no capacity to come.
    pub(super) fn note_asking(&mut self, now: Time, asks: bool) {
        self.granted.as_mut().expect("the link is in a medium").note_asking(now, asks);
    }

    /// The cause of loss of the erased packet that has just arrived.
    pub(super) fn cause_of_erasure(&self) -> Cause {
        self.leaving.cause().unwrap_or(Cause::LinkLoss)
    }

    pub(super) fn queue_view(&self, now: Time) -> QueueView {
        let is_sending = self.in_service.is_some() || self.is_bursting(now);
        QueueView { packets: self.queue.len(), bytes: self.queue.bytes(), is_sending }
    }

    pub(super) fn rate_at(&self, now: Time) -> Rate {
        let rate = times::piece_at(&self.spec.rate, now).value;
        let shaper = self.shaper.as_ref().filter(|shaper| !shaper.is_free());
        shaper.map_or(rate, |shaper| rate.min(shaper.keys().rate))
    }

    /// Returns the first instant from `now` when the link is present and up.
    pub(super) fn up_at(&self, now: Time) -> Time {
        self.outages.uptime(now).0
    }

    /// Returns the first instant after `now` at which an absence or an outage begins or ends.
    pub(super) fn changes_at(&self, now: Time) -> Time {
        self.outages.changes_at(now)
    }

    pub(super) fn delay_at(&self, now: Time) -> Duration {
        times::delay(&self.spec, now)
    }

    pub(super) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.queue.extract(is_meant, left);
    }

    /// Returns the number of packets on the link or waiting for it.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.in_service.is_some()) + self.in_medium() + self.on_the_way.len()
    }

    /// Returns the packets of the link at the end of a run.
    pub(super) fn at_end(&self, now: Time) -> LinkAtEnd {
        // A packet that a link without a rate never finishes has not begun.
        let begins_later = |&(begin, end): &(Time, Time)| begin > now || end == Time::NEVER;
        let head = self.in_service.is_some() && self.transmissions.last().is_some_and(begins_later);
        let waiting = self.queue.len() + usize::from(head);
        LinkAtEnd { packets: self.len(), waiting, is_up: self.outages.uptime(now).0 <= now }
    }

    pub(super) fn carried_packets(&self) -> u64 {
        let framed = self.framed.as_ref().map(|framed| framed.packets);
        let granted = self.granted.as_ref().map(|granted| granted.packets);
        framed.or(granted).unwrap_or(self.transmissions.len() as u64)
    }

    pub(super) fn sample(&self, series: LinkSeries) -> Sample {
        match series {
            LinkSeries::QueueBytes => Sample::Level(self.queue.bytes() as f64, self.extremes(|level| level.1)),
            LinkSeries::QueuePackets => Sample::Level(self.queue.len() as f64, self.extremes(|level| level.0)),
            LinkSeries::Carried => Sample::Bytes(self.carried_bytes),
            LinkSeries::Waveform | LinkSeries::Granted | LinkSeries::Requested | LinkSeries::Backlog => {
                let framed = self.framed.as_ref().map(|framed| framed.sample(series, self.queue.bytes()));
                framed.or(self.granted.as_ref().map(|granted| granted.sample(series))).unwrap_or(Sample::None)
            }
        }
    }

    /// Starts the next interval between samples.
    pub(super) fn renew_levels(&mut self) {
        self.levels = vec![self.level()];
    }

    pub(super) fn level(&self) -> (u64, u64) {
        (self.queue.len() as u64, self.queue.bytes())
    }

    /// Least and greatest of all levels since the last sample.
    fn extremes(&self, part: impl Fn((u64, u64)) -> u64) -> [f64; 2] {
        let all = || self.levels.iter().copied().chain([self.level()]).map(&part);
        [all().min().unwrap_or(0) as f64, all().max().unwrap_or(0) as f64]
    }

    pub(super) fn row(&self, at: Time) -> LinkRow<'_> {
        let (resent_packets, resent_bytes) =
            self.copies.as_ref().map_or((0, 0), |copies| (copies.packets, copies.bytes));
        let run_s = at.as_secs_f64();
        let l4s = self.queue.l4s().cloned().unwrap_or_default();
        LinkRow {
            link: &self.spec.name,
            utilisation: ratio(self.busy(at).as_ps() as f64 / 1e12, run_s),
            carried_bps: ratio((self.carried_bytes + resent_bytes) as f64 * 8.0, run_s),
            offered_packets: self.offered,
            carried_packets: self.carried_packets(),
            carried_bytes: self.carried_bytes,
            resent_packets,
            corrupted_packets: self.corrupted,
            dropped_packets: self.dropped,
            marked_packets: self.queue.marked(),
            l4s_packets: l4s.waits[0].count(),
            l4s_native_marks: l4s.native_marks,
            l4s_coupled_marks: l4s.coupled_marks,
            l4s_queue_mean_s: l4s.waits[0].mean_s(),
            l4s_queue_p99_s: l4s.waits[0].quantile_s(0.99),
            classic_queue_mean_s: l4s.waits[1].mean_s(),
            queue_mean_s: self.waits.mean_s(),
            queue_p50_s: self.waits.quantile_s(0.50),
            queue_p95_s: self.waits.quantile_s(0.95),
            queue_p99_s: self.waits.quantile_s(0.99),
            queue_max_bytes: self.backlog_bytes_max,
            queue_end_packets: self.len() as u64,
        }
    }

    /// Returns the time up to `now` in which packets or copies were sent.
    fn busy(&self, now: Time) -> Duration {
        let mut times: Vec<(Time, Time)> = self.copies.iter().flat_map(|copies| copies.sent.iter().copied()).collect();
        // A link whose rate stays zero is not busy with its packet.
        times.extend(self.transmissions.iter().filter(|times| times.1 != Time::NEVER));
        times.sort();
        let (mut busy, mut until) = (Duration::ZERO, Time::ZERO);
        for (from, to) in times {
            busy += to.min(now).saturating_since(from.max(until));
            until = until.max(to);
        }
        busy
    }
}
