//! Links on a forward carrier: the carrier takes their packets into its frames, instead of a rate.
//!
//! The carrier asks for the next packet when it fills a frame. This packet leaves the queue then, and waits at the head for
//! its first frame. A packet arrives when the frame with its last part has ended, plus the delay of the link. The link
//! does nothing between two frames, so its next visible effect is the head of its ring.

use super::delays::{DelayParts, Delays};
use super::granted::{name_dropped, GrantCounts};
use super::profile::Pieces;
use super::queue::{AnyQueue, Discipline, Losses};
use super::served::{InService, ServedParts};
use crate::record::Sample;
use bentpipe_access::{Backlog, Frame, Loss, Part};
use bentpipe_model::dictionary::{Cause, LinkSeries};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Losses as LossRule, NeededSignal, Tdm, Terminal};
use bentpipe_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// The additional state of a link on a forward carrier.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    channel: FrameChannel,
    /// The next packet for the carrier, or the packet that has left in part.
    head: Option<Head>,
    /// Bytes of packets and of headers in frames.
    carried: u64,
    headers: u64,
    delays: Delays,
    /// Start of the frame with the last part of the last packet.
    last_left: Time,
    /// Starts of the frames with data of the link, if it has a journal.
    openings: Option<Vec<Time>>,
    /// Number of the modulation and code at the last sample.
    modcod: Option<u32>,
    /// Causes of loss of the erased packets in the ring, in order.
    causes: VecDeque<Cause>,
    /// Packets that were put into the ring, count.
    sent: u64,
}

/// The fate of frames at the terminal.
#[derive(Clone, Debug)]
struct FrameChannel {
    /// The signal when frames arrive, and when the terminal measures it.
    signal: Pieces<f64>,
    measured: Pieces<f64>,
    needed: NeededSignal,
    rule: LossRule,
    draws: Stream,
    /// The last frame with data, and the time in all such frames.
    last: Option<Frame>,
    busy_ps: u64,
}

/// A packet at the head.
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: Packet,
    /// Bytes that have not left.
    rest: u32,
    /// Start of its first frame.
    begun: Option<Time>,
    /// The first loss of a frame with a part of it.
    lost: Option<Loss>,
    /// Time of the frames with its parts, and start of the last one.
    sending: Duration,
    last_part: Time,
}

/// A packet whose last part has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) packet: Packet,
    /// Start of its first frame.
    pub(crate) start: Time,
    /// Time behind other packets in its queue.
    pub(crate) behind: Duration,
    /// Time of the frames with its parts.
    pub(crate) sending: Duration,
}

impl Framed {
    /// The state of a link of `name`. `is_traced`: it has a journal.
    pub(super) fn of(terminal: &Terminal, tdm: &Tdm, (name, seed): (&str, u64), is_traced: bool) -> Self {
        let channel = FrameChannel {
            signal: Pieces::of(terminal.signal()),
            measured: Pieces::of(terminal.signal()),
            needed: tdm.needed_signal(),
            rule: tdm.losses,
            draws: Stream::new(seed, &format!("link/{name}"), "frame"),
            last: None,
            busy_ps: 0,
        };
        Self {
            channel,
            head: None,
            carried: 0,
            headers: 0,
            delays: Delays::default(),
            last_left: Time::ZERO,
            openings: is_traced.then(Vec::new),
            modcod: None,
            causes: VecDeque::new(),
            sent: 0,
        }
    }

    /// Accepts a packet.
    pub(super) fn accept(&mut self, link: &mut ServedParts<'_>, now: Time, packet: &Packet, losses: &mut Losses) {
        link.counters.offered += 1;
        if let Some(cause) = link.gate.refusal(now, packet) {
            return link.counters.lose(now, *packet, cause, losses);
        }
        link.note_level();
        let before = losses.len();
        match &mut link.queue {
            // The next packet for the carrier needs no room.
            AnyQueue::DropTail(queue) if queue.len() == 0 && self.head.is_none() => {
                let mut waiting = *packet;
                waiting.at = now;
                self.head = Some(Head::of(waiting, link));
            }
            queue => {
                queue.enqueue(now, packet, losses);
                link.counters.note_dropped(now, &mut losses[before..]);
                name_dropped(now, &mut self.channel.measured, self.channel.needed, &mut losses[before..]);
            }
        }
        link.counters.backlog_bytes_max = link.counters.backlog_bytes_max.max(link.queue.bytes());
        link.note_level();
    }

    /// Whether the link is up at `now`. An outage may flush the packets that wait.
    fn is_up(&mut self, link: &mut ServedParts<'_>, now: Time, losses: &mut Losses) -> bool {
        let Some(outages) = &mut link.gate.outages else { return true };
        if outages.uptime(now).0 <= now {
            return true;
        }
        if !outages.rests(now) && outages.flushes(now) {
            let before = losses.len();
            losses.extend(self.take_head().map(|packet| (packet, Cause::Outage)));
            link.queue.flush(losses);
            link.counters.note_dropped(now, &mut losses[before..]);
        }
        false
    }

    /// Returns the bytes of the packet at the head.
    fn next(&mut self, link: &mut ServedParts<'_>, now: Time, losses: &mut Losses) -> Option<u32> {
        if self.head.is_none() {
            let before = losses.len();
            let next = link.queue.dequeue(now, losses);
            link.counters.note_dropped(now, &mut losses[before..]);
            self.head = next.map(|packet| Head::of(packet, link));
        }
        self.head.map(|head| head.rest)
    }

    /// Begins to send the packet at the head, in a frame that starts at `start`.
    fn take(&mut self, link: &mut ServedParts<'_>, start: Time) {
        let Some(head) = &mut self.head else { return };
        let size = head.packet.size();
        head.begun = Some(start);
        link.counters.carried += 1;
        link.counters.carried_bytes += size;
        link.waits.record_span(start.saturating_since(head.packet.at));
    }

    /// Puts a part of the packet at the head into frame number `number` of the carrier. Returns whether it is lost.
    fn put(&mut self, link: &mut ServedParts<'_>, frame: &Frame, number: u64, part: Part) -> bool {
        let lost = self.hear(link, frame, number);
        self.fill(frame, part);
        if let Some(head) = &mut self.head {
            head.lost = head.lost.or(lost);
        }
        lost.is_some()
    }

    /// Puts a part of the packet at the head into a frame.
    fn fill(&mut self, frame: &Frame, part: Part) {
        self.carried += u64::from(part.bytes);
        self.headers += u64::from(part.header);
        if let Some(head) = &mut self.head {
            head.rest = head.rest.saturating_sub(part.bytes);
            head.sending += frame.ends - frame.starts;
            head.last_part = frame.starts;
        }
    }

    /// Receives a frame with data. Returns its loss.
    fn hear(&mut self, link: &mut ServedParts<'_>, frame: &Frame, number: u64) -> Option<Loss> {
        if self.channel.last != Some(*frame) {
            self.channel.last = Some(*frame);
            self.channel.busy_ps += (frame.ends - frame.starts).as_ps();
            if let Some(openings) = &mut self.openings {
                openings.push(frame.starts);
            }
        }
        self.channel.fate(link, frame, number)
    }

    /// Puts the packet at the head into the ring: its last part leaves with a frame that ends at `sent`.
    fn send(&mut self, link: &mut ServedParts<'_>, sent: Time) {
        let lost = self.head.and_then(|head| head.lost);
        if let Some(packet) = self.take_sent() {
            self.put_into_ring(link, packet, sent, lost);
        }
    }

    /// Takes the packet at the head after its last part.
    fn take_sent(&mut self) -> Option<Sent> {
        let Head { packet, begun, sending, last_part, .. } = self.head.take()?;
        let start = begun?;
        let next_since = std::mem::replace(&mut self.last_left, last_part).max(packet.at).min(start);
        Some(Sent { packet, start, behind: next_since - packet.at, sending })
    }

    /// Puts a packet into the ring: its last frame ends at `sent`.
    fn put_into_ring(&mut self, link: &mut ServedParts<'_>, of: Sent, sent: Time, lost: Option<Loss>) {
        let (Sent { packet, start, behind, sending }, index) = (of, self.sent);
        self.sent += 1;
        *link.free_at = (*link.free_at).max(sent);
        let opened = self.opening_for(packet.at);
        let begin = start + (sent - start).saturating_sub(sending);
        self.causes.extend(link.send(InService { packet, start, index }, [opened, start, begin, sent], lost));
        if lost.is_none() {
            let arrival = *link.last_arrival;
            let turn = (sent - packet.at).saturating_sub(behind + sending);
            let parts = DelayParts { asking: Duration::ZERO, behind, turn, sending, air: arrival - sent };
            self.delays.note(start, arrival, parts);
        }
    }

    /// Receives a packet that the carrier sent to several links.
    fn receive(&mut self, link: &mut ServedParts<'_>, of: Sent, sent: Time, lost: Option<Loss>) {
        link.counters.offered += 1;
        link.counters.carried += 1;
        link.counters.carried_bytes += of.packet.size();
        link.waits.record_span(of.start.saturating_since(of.packet.at));
        self.put_into_ring(link, of, sent, lost);
    }

    /// The start of the first frame with data of the link from `arrived` on, if the link has a journal.
    fn opening_for(&self, arrived: Time) -> Time {
        let Some(openings) = &self.openings else { return arrived };
        let next = openings.partition_point(|&opens| opens < arrived);
        openings.get(next).copied().unwrap_or(arrived)
    }

    /// Takes the packet at the head, unless it has left in part.
    pub(super) fn take_head(&mut self) -> Option<Packet> {
        self.head.take_if(|head| head.begun.is_none()).map(|head| head.packet)
    }

    /// Packets in service without an arrival.
    pub(super) fn in_service(&self) -> usize {
        usize::from(self.head.is_some())
    }

    /// Time in frames with data, up to `now`.
    pub(super) fn busy_ps(&self, now: Time) -> u64 {
        let after = self.channel.last.map_or(0, |last| last.ends.saturating_since(last.starts.max(now)).as_ps());
        self.channel.busy_ps - after
    }

    /// Takes the cause of loss of the first erased packet in the ring.
    pub(super) fn take_cause(&mut self) -> Cause {
        self.causes.pop_front().unwrap_or(Cause::LinkLoss)
    }

    /// Counts until `now`.
    pub(super) fn counts(&self, now: Time) -> GrantCounts {
        let used = self.carried + self.headers;
        let (carried, headers) = (self.carried, self.headers);
        GrantCounts { granted: used, used, carried, headers, delays: self.delays.until(now) }
    }

    /// A series of a link on a carrier. `queued`: bytes in the queue.
    pub(super) fn sample(&self, series: LinkSeries, queued: u64) -> Sample {
        match series {
            LinkSeries::Waveform => self.modcod.map_or(Sample::None, |number| Sample::Value(number.into())),
            LinkSeries::Granted => Sample::Bytes(self.carried + self.headers),
            LinkSeries::Backlog => {
                let head = self.head.map_or(0, |head| head.rest);
                Sample::Value((queued + u64::from(head)) as f64)
            }
            LinkSeries::Requested | LinkSeries::QueueBytes | LinkSeries::QueuePackets | LinkSeries::Carried => {
                Sample::None
            }
        }
    }
}

impl Head {
    fn of(packet: Packet, link: &ServedParts<'_>) -> Self {
        let rest = u32::try_from(link.wire.size(packet.size())).unwrap_or(u32::MAX);
        Self { packet, rest, begun: None, lost: None, sending: Duration::ZERO, last_part: Time::ZERO }
    }
}

impl FrameChannel {
    /// The loss of a frame at the terminal. Its signal counts when the frame has arrived.
    fn fate(&mut self, link: &mut ServedParts<'_>, frame: &Frame, number: u64) -> Option<Loss> {
        if let Some(outages) = &mut link.gate.outages {
            let (up, down) = outages.uptime(frame.starts);
            if up > frame.starts || down < frame.ends {
                return Some(Loss::Down(if up > frame.starts { frame.starts } else { down }));
            }
        }
        self.signal.seek(frame.ends + link.delay.at(frame.ends));
        let probability = self.rule.probability(self.signal.value() - frame.threshold_db());
        (probability > 0.0 && self.draws.uniform(number) < probability).then_some(Loss::Outage)
    }
}

/// A link as its carrier uses it.
#[derive(Debug)]
pub(crate) struct OnCarrier<'a> {
    pub(super) framed: &'a mut Framed,
    pub(super) link: ServedParts<'a>,
}

impl OnCarrier<'_> {
    /// Whether the link is up at `now`. An outage may flush the packets that wait.
    pub(crate) fn is_up(&mut self, now: Time, losses: &mut Losses) -> bool {
        self.framed.is_up(&mut self.link, now, losses)
    }

    /// Whether a packet waits for the carrier.
    pub(crate) fn is_waiting(&self) -> bool {
        self.framed.head.is_some() || self.link.queue.len() > 0
    }

    /// Returns the packets that wait for the carrier.
    pub(crate) fn backlog(&self) -> Backlog {
        let head = self.framed.head.map_or(0, |head| head.rest);
        let packets = self.link.queue.len() + usize::from(self.framed.head.is_some());
        Backlog { packets: packets as u64, bytes: self.link.queue.bytes() + u64::from(head) }
    }

    /// Returns the bytes of the packet that leaves next.
    pub(crate) fn next(&mut self, now: Time, losses: &mut Losses) -> Option<u32> {
        self.framed.next(&mut self.link, now, losses)
    }

    /// Begins to send this packet, in a frame that starts at `start`.
    pub(crate) fn take(&mut self, start: Time) {
        self.framed.take(&mut self.link, start);
    }

    /// Puts a part of this packet into frame number `number` of the carrier. Returns whether the terminal loses it.
    pub(crate) fn put(&mut self, frame: &Frame, number: u64, part: Part) -> bool {
        self.framed.put(&mut self.link, frame, number, part)
    }

    /// Puts a part of this packet into a frame for several links.
    pub(crate) fn fill(&mut self, frame: &Frame, part: Part) {
        self.framed.fill(frame, part);
    }

    /// Takes this packet after its last part.
    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        self.framed.take_sent()
    }

    /// Receives frame number `number`, with a packet for several links. Returns its loss.
    pub(crate) fn hear(&mut self, frame: &Frame, number: u64) -> Option<Loss> {
        self.framed.hear(&mut self.link, frame, number)
    }

    /// Receives a packet for several links, whose last frame ends at `sent`.
    pub(crate) fn receive(&mut self, packet: Sent, sent: Time, lost: Option<Loss>) {
        self.framed.receive(&mut self.link, packet, sent, lost);
    }

    /// Sends this packet with the frame that ends at `sent`.
    pub(crate) fn send(&mut self, sent: Time) {
        self.framed.send(&mut self.link, sent);
    }

    /// The signal that the terminal measures at `at`. Measurements come in order of time.
    pub(crate) fn measure(&mut self, at: Time) -> f64 {
        let measured = &mut self.framed.channel.measured;
        measured.seek(at);
        measured.value()
    }

    /// Notes the number of the modulation and code in use, for samples.
    pub(crate) fn note_modcod(&mut self, number: Option<u32>) {
        self.framed.modcod = number;
    }
}
