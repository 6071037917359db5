//! A link on a forward carrier in the most obvious form.

use super::times::{self, piece_at};
use super::NaiveLink;
use crate::dictionary::{Cause, LinkSeries};
use crate::link::{GrantCounts, Losses};
use crate::packet::Packet;
use crate::record::Sample;
use crate::spec::{Link, Losses as Rule, Medium, MediumKind, Queue};
use bentpipe_access::{Frame, Length, Loss, Part};
use bentpipe_units::{Stream, Time};

/// The additional state of a link on a carrier.
#[derive(Debug)]
pub(super) struct NaiveFramed {
    head: Option<Head>,
    waiting: Vec<Time>,
    rule: Rule,
    draws: Stream,
    last: Option<Frame>,
    modcod: Option<u32>,
    counts: GrantCounts,
    pub(super) packets: u64,
}

/// The packet that leaves next.
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: Packet,
    rest: u64,
    number: Option<u64>,
    lost: Option<Loss>,
}

impl NaiveFramed {
    pub(super) fn of(link: &Link, media: &[Medium], seed: u64) -> Option<Self> {
        let MediumKind::Tdm(tdm) = &media[link.terminal.as_ref()?.medium].kind else { return None };
        Some(Self {
            head: None,
            waiting: Vec::new(),
            rule: tdm.losses,
            draws: Stream::new(seed, &format!("link/{}", link.name), "frame"),
            last: None,
            modcod: None,
            counts: GrantCounts::default(),
            packets: 0,
        })
    }

    pub(super) fn in_service(&self) -> usize {
        usize::from(self.head.is_some())
    }

    pub(super) fn counts(&self) -> GrantCounts {
        let used = self.counts.carried + self.counts.headers;
        GrantCounts { granted: used, used, ..self.counts.clone() }
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
        self.framed().waiting.push(now);
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
    }

    fn set_head(&mut self, packet: Packet) {
        let rest = self.wire_size(packet.size());
        self.framed().head = Some(Head { packet, rest, number: None, lost: None });
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
        let mut head = self.framed().head.expect("a packet leaves");
        if head.number.is_none() {
            head.number = Some(self.framed().packets);
            self.framed().packets += 1;
            self.carried_bytes += head.packet.size();
            self.waits.record_span(frame.starts - head.packet.at);
        }
        if self.framed().last != Some(*frame) {
            self.transmissions.push((frame.starts, frame.ends));
            let framed = self.framed();
            framed.last = Some(*frame);
            for came in std::mem::take(&mut framed.waiting) {
                framed.counts.waits.record_span(frame.starts - came);
            }
        }
        let lost = self.frame_fate(frame, number);
        let framed = self.framed();
        framed.counts.carried += u64::from(part.bytes);
        framed.counts.headers += u64::from(part.header);
        head.rest -= u64::from(part.bytes);
        head.lost = head.lost.or(lost);
        framed.head = Some(head).filter(|head| head.rest > 0);
        (head.rest == 0).then(|| self.leave(head.packet, head.number, head.lost, frame.ends))
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
