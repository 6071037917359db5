//! A link on a forward carrier in the most obvious form.

use super::times::{self, piece_at};
use super::NaiveLink;
use crate::link::{DelayParts, DelaySums, GrantCounts, Losses};
use crate::record::Sample;
use bentpipe_access::{Frame, Length, Loss, Part};
use bentpipe_model::dictionary::{Cause, LinkSeries};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Link, Losses as Rule, Medium, MediumKind, Queue};
use bentpipe_units::{Duration, Stream, Time};

/// The additional state of a link on a carrier.
#[derive(Debug)]
pub(super) struct NaiveFramed {
    head: Option<Head>,
    /// Start of the frame with the last part of the packet before.
    last_part: Time,
    /// Arrival and delay of the packets that left.
    delays: Vec<(Time, DelayParts)>,
    rule: Rule,
    draws: Stream,
    last: Option<Frame>,
    modcod: Option<u32>,
    counts: GrantCounts,
    pub(super) packets: u64,
    /// Packets that have left.
    left: u64,
}

/// The packet that leaves next.
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: Packet,
    rest: u64,
    number: Option<u64>,
    /// Start of its first frame.
    starts: Time,
    lost: Option<Loss>,
    /// Time of the frames with its parts.
    sending: Duration,
}

/// A packet whose last part has left.
#[derive(Clone, Copy, Debug)]
pub(in crate::swarm) struct NaiveSent {
    pub(in crate::swarm) packet: Packet,
    starts: Time,
    /// Time behind other packets in its queue, and in frames with its parts.
    behind: Duration,
    sending: Duration,
}

impl NaiveSent {
    /// This packet for another link.
    pub(in crate::swarm) fn copied(self, packet: Packet) -> Self {
        Self { packet, ..self }
    }
}

impl NaiveFramed {
    pub(super) fn of(link: &Link, media: &[Medium], seed: u64) -> Option<Self> {
        let MediumKind::Tdm(tdm) = &media[link.terminal.as_ref()?.medium].kind else { return None };
        Some(Self {
            head: None,
            last_part: Time::ZERO,
            delays: Vec::new(),
            rule: tdm.losses,
            draws: Stream::new(seed, &format!("link/{}", link.name), "frame"),
            last: None,
            modcod: None,
            counts: GrantCounts::default(),
            packets: 0,
            left: 0,
        })
    }

    pub(super) fn in_service(&self) -> usize {
        usize::from(self.head.is_some())
    }

    pub(super) fn counts(&self) -> GrantCounts {
        let used = self.counts.carried + self.counts.headers;
        GrantCounts { granted: used, used, ..self.counts.clone() }
    }

    /// The delays of packets that arrived until `now`.
    pub(super) fn delays(&self, now: Time) -> DelaySums {
        let mut sums = DelaySums::default();
        self.delays.iter().filter(|(arrival, _)| *arrival <= now).for_each(|(_, parts)| sums.add(parts));
        sums
    }

    pub(super) fn sample(&self, series: LinkSeries, queued: u64) -> Sample {
        match series {
            LinkSeries::Waveform => self.modcod.map_or(Sample::None, |number| Sample::Value(number.into())),
            LinkSeries::Granted => Sample::Bytes(self.counts.carried + self.counts.headers),
            LinkSeries::Backlog => Sample::Value((queued + self.head.map_or(0, |head| head.rest)) as f64),
            _ => Sample::None,
        }
    }

    /// Takes the packet that leaves next, unless a part of it has left.
    pub(super) fn take_head(&mut self) -> Option<Packet> {
        let head = self.head.filter(|head| head.number.is_none())?;
        self.head = None;
        Some(head.packet)
    }
}

impl NaiveLink {
    fn framed(&mut self) -> &mut NaiveFramed {
        self.framed.as_mut().expect("the link is on a carrier")
    }

    /// Whether a packet waits for the carrier.
    pub(in crate::swarm) fn waits_for_frame(&self) -> bool {
        self.framed.as_ref().is_some_and(|framed| framed.head.is_some() || self.queue.len() > 0)
    }

    pub(in crate::swarm) fn signal_at(&self, at: Time) -> f64 {
        self.spec.terminal.as_ref().map_or(0.0, |of| piece_at(of.signal(), at).value)
    }

    pub(in crate::swarm) fn note_modcod(&mut self, number: Option<u32>) {
        self.framed().modcod = number;
    }

    /// Offers a packet.
    pub(in crate::swarm) fn offer_framed(&mut self, now: Time, mut packet: Packet, losses: &mut Losses) {
        self.offered += 1;
        if let Some(cause) = self.refusal(now, &packet) {
            return self.lose([(packet, cause)], losses);
        }
        self.levels.push(self.level());
        let is_first = self.framed().head.is_none() && self.queue.len() == 0;
        if is_first && matches!(self.spec.queue, Queue::DropTail { .. }) {
            packet.at = now;
            self.set_head(packet);
        } else {
            let mut lost = Losses::new();
            self.queue.enqueue(now, packet, &mut lost);
            self.lose_from_queue(now, lost, losses);
        }
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.queue.bytes());
        self.levels.push(self.level());
    }

    fn set_head(&mut self, packet: Packet) {
        let rest = self.wire_size(packet.size());
        let (starts, sending) = (Time::ZERO, Duration::ZERO);
        self.framed().head = Some(Head { packet, rest, number: None, starts, lost: None, sending });
    }

    /// Returns the first instant from `now` when the link is up. An outage may flush the packets that wait.
    pub(in crate::swarm) fn frame_up_at(&mut self, now: Time, losses: &mut Losses) -> Time {
        let up = self.outages.uptime(now).0;
        if up > now && !self.rests(now) && self.outages.flushes(now) {
            let head = self.framed().take_head();
            self.lose(head.map(|packet| (packet, Cause::Outage)), losses);
            let mut lost = Losses::new();
            self.queue.flush(&mut lost);
            self.lose(lost, losses);
        }
        up
    }

    /// Returns the packets and bytes that wait.
    pub(in crate::swarm) fn frame_backlog(&mut self) -> (u64, u64) {
        let (packets, bytes) = (self.queue.len() as u64, self.queue.bytes());
        self.framed().head.map_or((packets, bytes), |head| (packets + 1, bytes + head.rest))
    }

    /// Returns the bytes that leave next, and whether a part of their packet has left.
    pub(in crate::swarm) fn frame_next(&mut self, now: Time, losses: &mut Losses) -> Option<(u32, bool)> {
        if self.framed().head.is_none() {
            let mut lost = Losses::new();
            let next = self.queue.dequeue(now, &mut lost);
            self.lose(lost, losses);
            self.set_head(next?);
        }
        self.framed().head.map(|head| (head.rest as u32, head.number.is_some()))
    }

    /// Puts a part of the packet into frame number `number`. Returns its arrival if it was the last part.
    pub(in crate::swarm) fn frame_put(&mut self, frame: &Frame, number: u64, part: Part) -> Option<Time> {
        let lost = self.frame_hear(frame, number);
        let head = self.frame_fill(frame, part);
        let lost = head.lost.or(lost);
        self.framed().head = Some(Head { lost, ..head }).filter(|head| head.rest > 0);
        (head.rest == 0).then(|| {
            let sent = self.sent(&head, frame);
            self.leave_framed(&sent, lost, frame.ends)
        })
    }

    /// Puts a part of the packet into a frame for several links. Returns the packet after its last part.
    pub(in crate::swarm) fn frame_fill_for_all(&mut self, frame: &Frame, part: Part) -> Option<NaiveSent> {
        let head = self.frame_fill(frame, part);
        self.framed().head = Some(head).filter(|head| head.rest > 0);
        (head.rest == 0).then(|| self.sent(&head, frame))
    }

    /// A packet whose last part is in this frame.
    fn sent(&mut self, head: &Head, frame: &Frame) -> NaiveSent {
        let &Head { packet, starts, sending, .. } = head;
        let before = std::mem::replace(&mut self.framed().last_part, frame.starts);
        NaiveSent { packet, starts, behind: before.max(packet.at).min(starts) - packet.at, sending }
    }

    /// Receives a packet for several links, whose last frame ends at `ends`. Returns its arrival.
    pub(in crate::swarm) fn frame_receive(&mut self, of: &NaiveSent, ends: Time, lost: Option<Loss>) -> Time {
        self.offered += 1;
        self.framed().packets += 1;
        self.carried_bytes += of.packet.size();
        self.waits.record_span(of.starts - of.packet.at);
        self.leave_framed(of, lost, ends)
    }

    /// Counts a packet for several links that their queue refused.
    pub(in crate::swarm) fn count_refused(&mut self, packets: usize) {
        self.offered += packets as u64;
        self.dropped += packets as u64;
    }

    fn leave_framed(&mut self, of: &NaiveSent, lost: Option<Loss>, ends: Time) -> Time {
        let number = self.framed().left;
        self.framed().left += 1;
        let &NaiveSent { packet, behind, sending, .. } = of;
        let arrival = self.leave(packet, Some(number), lost, ends);
        if lost.is_none() {
            let turn = (ends - packet.at).saturating_sub(behind + sending);
            let (asking, air) = (Duration::ZERO, arrival - ends);
            self.framed().delays.push((arrival, DelayParts { asking, behind, turn, sending, air }));
        }
        arrival
    }

    fn frame_fill(&mut self, frame: &Frame, part: Part) -> Head {
        let mut head = self.framed().head.expect("a packet leaves");
        if head.number.is_none() {
            head.number = Some(self.framed().packets);
            head.starts = frame.starts;
            self.framed().packets += 1;
            self.carried_bytes += head.packet.size();
            self.waits.record_span(frame.starts - head.packet.at);
        }
        let framed = self.framed();
        framed.counts.carried += u64::from(part.bytes);
        framed.counts.headers += u64::from(part.header);
        head.rest -= u64::from(part.bytes);
        head.sending += frame.ends - frame.starts;
        head
    }

    /// Receives a frame with data of the link. Returns its loss.
    pub(in crate::swarm) fn frame_hear(&mut self, frame: &Frame, number: u64) -> Option<Loss> {
        if self.framed().last != Some(*frame) {
            self.transmissions.push((frame.starts, frame.ends));
            self.framed().last = Some(*frame);
        }
        self.frame_fate(frame, number)
    }

    fn frame_fate(&mut self, frame: &Frame, number: u64) -> Option<Loss> {
        let (up, down) = self.outages.uptime(frame.starts);
        if up > frame.starts || down < frame.ends {
            return Some(Loss::Down(if up > frame.starts { frame.starts } else { down }));
        }
        let needed = frame.modcod.threshold_db() + if frame.length == Length::Short { 0.3 } else { 0.0 };
        let above = self.signal_at(frame.ends + times::delay(&self.spec, frame.ends)) - needed;
        let framed = self.framed();
        (framed.draws.uniform(number) < framed.rule.probability(above)).then_some(Loss::Outage)
    }
}
