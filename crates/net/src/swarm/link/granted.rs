//! A link in a medium in the most obvious form: an event at the begin of each burst, which is then filled part by part.

use super::times::piece_at;
use super::NaiveLink;
use crate::link::{DelayParts, DelaySums, GrantCounts, Losses};
use crate::record::Sample;
use bentpipe_access::{Demand, Loss, Waveform, Window, CLASSES};
use bentpipe_model::dictionary::{Cause, LinkSeries};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Link, Losses as Rule, Medium, MediumKind, Queue};
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::collections::VecDeque;

/// Bytes of encapsulation, ETSI TS 103 179: whole packets, first parts, further parts.
const WHOLE: u64 = 2;
const FIRST: u64 = 4;
const FURTHER: u64 = 2;

/// A window of a link.
#[derive(Clone, Debug)]
pub(in crate::swarm) struct NaiveWindow {
    /// Begin and end of each burst, and whether it collides.
    pub(in crate::swarm) bursts: Vec<(Time, Time, bool)>,
    pub(in crate::swarm) payload: u64,
    /// Room for a request in the first burst.
    pub(in crate::swarm) reserved: u64,
    pub(in crate::swarm) waveform: Option<Waveform>,
}

impl From<&Window> for NaiveWindow {
    /// A window of a return link.
    fn from(window: &Window) -> Self {
        let burst = |number| (window.begin(number), window.end(number), window.is_lost(number));
        let payload = window.payload().into();
        let bursts = (0..window.bursts()).map(burst).collect();
        Self { bursts, payload, reserved: window.reserved(0).into(), waveform: window.waveform() }
    }
}

/// The additional state of a link in a medium.
#[derive(Debug)]
pub(super) struct NaiveGranted {
    coming: VecDeque<Burst>,
    service: Option<Service>,
    /// Instants of superframes, and whether the terminal has no capacity to come from then on.
    asking: Vec<(Time, bool)>,
    /// Begin of the burst with the last part of the packet before.
    last_part: Time,
    /// Begin of the last burst with data.
    last_burst: Time,
    /// Arrival and delay of the packets that left.
    delays: Vec<(Time, DelayParts)>,
    rule: Rule,
    draws: Stream,
    bursts: u64,
    arrived: [u64; CLASSES],
    backlog: u64,
    pub(super) planned: (Option<Waveform>, Rate),
    pub(super) counts: GrantCounts,
    pub(super) packets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    payload: u64,
    waveform: Option<Waveform>,
    begin: Time,
    end: Time,
    room: u64,
    reserved: u64,
    is_collided: bool,
    /// Its loss, once it has data.
    fate: Option<Option<Loss>>,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    packet: Packet,
    number: u64,
    rest: u64,
    has_begun: bool,
    /// Departure from the queue, the time of the bursts with its parts, and the end of the last of them.
    start: Time,
    sending: Duration,
    until: Time,
    /// The first loss of a burst with a part of it.
    lost: Option<Loss>,
}

impl NaiveGranted {
    pub(super) fn of(link: &Link, media: &[Medium], seed: u64) -> Option<Self> {
        let medium = &media[link.terminal.as_ref()?.medium].kind;
        if let MediumKind::Tdm(_) = medium {
            return None;
        }
        Some(Self {
            coming: VecDeque::new(),
            service: None,
            asking: vec![(Time::ZERO, true)],
            last_part: Time::ZERO,
            last_burst: Time::ZERO,
            delays: Vec::new(),
            rule: medium.losses(),
            draws: Stream::new(seed, &format!("link/{}", link.name), "burst"),
            bursts: 0,
            arrived: [0; CLASSES],
            backlog: 0,
            planned: (None, Rate::from_bps(0)),
            counts: GrantCounts::default(),
            packets: 0,
        })
    }

    pub(super) fn in_service(&self) -> usize {
        usize::from(self.service.is_some())
    }

    /// The time without capacity to come between two instants.
    fn asked(&self, from: Time, to: Time) -> Duration {
        let ends = self.asking[1..].iter().map(|next| next.0).chain([Time::NEVER]);
        let spans = self.asking.iter().zip(ends).filter(|(span, _)| span.1);
        spans.fold(Duration::ZERO, |sum, (span, end)| sum + end.min(to).saturating_since(span.0.max(from)))
    }

    fn note_delay(&mut self, service: &Service, burst: &Burst, arrival: Time) {
        let (came, sent) = (service.packet.at, burst.end);
        let next = self.last_part.max(came).min(service.start);
        self.last_part = burst.begin;
        if service.lost.is_none() {
            let asking = self.asked(came, sent);
            let behind = (next - came).saturating_sub(self.asked(came, next));
            let sending = service.sending.min(sent - service.start);
            let turn = (sent - came).saturating_sub(asking + behind + sending);
            self.delays.push((arrival, DelayParts { asking, behind, turn, sending, air: arrival - sent }));
        }
    }

    pub(in crate::swarm) fn note_asking(&mut self, now: Time, asks: bool) {
        self.asking.push((now, asks));
    }

    /// The delays of packets that arrived until `now`.
    pub(super) fn delays(&self, now: Time) -> DelaySums {
        let mut sums = DelaySums::default();
        self.delays.iter().filter(|(arrival, _)| *arrival <= now).for_each(|(_, parts)| sums.add(parts));
        sums
    }

    /// The counts so far. Parts of the packet in service count ahead of time, as far as windows are known.
    pub(super) fn counts(&self) -> GrantCounts {
        let (mut counts, Some(mut service)) = (self.counts.clone(), self.service) else { return self.counts.clone() };
        for burst in &self.coming {
            if burst.room <= FURTHER || service.rest == 0 {
                continue;
            }
            let bytes = service.rest.min(burst.room - FURTHER);
            service.rest -= bytes;
            counts.carried += bytes;
            counts.headers += FURTHER;
            if burst.fate.is_none() {
                counts.used += burst.payload;
                counts.headers += burst.reserved;
            }
        }
        counts
    }

    pub(super) fn sample(&self, series: LinkSeries) -> Sample {
        let (waveform, requested) = self.planned;
        match series {
            LinkSeries::Waveform => waveform.map_or(Sample::None, |of| Sample::Value(of.id().into())),
            LinkSeries::Granted => Sample::Bytes(self.counts.granted),
            LinkSeries::Requested => Sample::Value(requested.as_bps() as f64),
            _ => Sample::Value(self.backlog as f64),
        }
    }
}

impl NaiveLink {
    fn granted(&mut self) -> &mut NaiveGranted {
        self.granted.as_mut().expect("the link is in a medium")
    }

    /// Offers a packet. Returns the arrivals of packets whose last part is sent now.
    pub(in crate::swarm) fn offer_granted(&mut self, now: Time, packet: Packet, losses: &mut Losses) -> Vec<Time> {
        self.offered += 1;
        if let Some(cause) = self.refusal(now, &packet) {
            self.lose([(packet, cause)], losses);
            return Vec::new();
        }
        let mut arrivals = self.pack(now, losses);
        self.levels.push(self.level());
        let class = self.request_class(&packet);
        self.granted().arrived[class] += packet.size();
        let is_free = self.granted().service.is_none() && self.queue.len() == 0 && self.has_room(now);
        if is_free && matches!(self.spec.queue, Queue::DropTail { .. }) {
            // A packet that finds an open burst needs no room in the queue.
            let mut packet = packet;
            packet.at = now;
            self.begin(now, packet);
        } else {
            let mut lost = Losses::new();
            self.queue.enqueue(now, packet, &mut lost);
            self.lose_from_queue(now, lost, losses);
        }
        arrivals.extend(self.pack(now, losses));
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.queue.bytes());
        self.levels.push(self.level());
        arrivals
    }

    /// Whether a burst that begins now has room for the begin of a packet.
    fn has_room(&mut self, now: Time) -> bool {
        let is_up = self.outages.uptime(now).0 == now;
        is_up && self.granted().coming.iter().any(|burst| burst.begin == now && burst.room > FIRST)
    }

    /// Takes a packet into service.
    fn begin(&mut self, now: Time, packet: Packet) {
        self.waits.record_span(now - packet.at);
        self.carried_bytes += packet.size();
        let rest = self.wire_size(packet.size());
        let granted = self.granted();
        let number = granted.packets;
        granted.packets += 1;
        let (sending, until) = (Duration::ZERO, now);
        granted.service =
            Some(Service { packet, number, rest, has_begun: false, start: now, sending, until, lost: None });
    }

    /// Fills the bursts that begin now. Returns arrivals.
    pub(in crate::swarm) fn pack(&mut self, now: Time, losses: &mut Losses) -> Vec<Time> {
        let mut arrivals = Vec::new();
        loop {
            let Some(&burst) = self.granted().coming.front() else { return arrivals };
            if burst.begin > now {
                return arrivals;
            }
            let is_over = burst.begin < now;
            if is_over || self.granted().service.is_none() && (burst.room <= FIRST || self.outages.uptime(now).0 > now)
            {
                self.granted().coming.pop_front();
                continue;
            }
            if self.granted().service.is_none() {
                let mut lost = Losses::new();
                let packet = self.queue.dequeue(now, &mut lost);
                self.lose(lost, losses);
                let Some(packet) = packet else { return arrivals };
                self.begin(now, packet);
            }
            let service = self.granted().service.expect("a packet is in service");
            let header = match service.has_begun {
                true => FURTHER,
                false if service.rest + WHOLE <= burst.room => WHOLE,
                false => FIRST,
            };
            if burst.room <= header {
                self.granted().coming.pop_front();
                continue;
            }
            arrivals.extend(self.put_part(service, burst, header));
        }
    }

    /// Puts the next part of a packet into a burst. Returns its arrival if it was the last.
    fn put_part(&mut self, mut service: Service, mut burst: Burst, header: u64) -> Option<Time> {
        let lost = burst.fate.unwrap_or_else(|| self.fate(&burst));
        burst.fate = Some(lost);
        let bytes = service.rest.min(burst.room - header);
        burst.room -= bytes + header;
        service.rest -= bytes;
        service.has_begun = true;
        service.lost = service.lost.or(lost);
        if burst.end > service.until {
            service.sending += burst.end - burst.begin.max(service.until);
            service.until = burst.end;
        }
        let granted = self.granted();
        granted.coming[0] = burst;
        granted.counts.carried += bytes;
        granted.counts.headers += header;
        granted.service = Some(service).filter(|service| service.rest > 0);
        (service.rest == 0).then(|| {
            let arrival = self.leave(service.packet, Some(service.number), service.lost, burst.end);
            let granted = self.granted();
            granted.note_delay(&service, &burst, arrival);
            arrival
        })
    }

    /// Decides the fate of a burst that gets data.
    fn fate(&mut self, burst: &Burst) -> Option<Loss> {
        self.transmissions.push((burst.begin, burst.end));
        let (up, down) = self.outages.uptime(burst.begin);
        let cut = match (up > burst.begin, down < burst.end) {
            (true, _) => Some(burst.begin),
            (false, true) => Some(down),
            (false, false) => None,
        };
        let signal = self.signal(burst.begin);
        let granted = self.granted();
        let number = granted.bursts;
        granted.bursts += 1;
        granted.last_burst = burst.begin;
        granted.counts.used += burst.payload;
        granted.counts.headers += burst.reserved;
        if let Some(at) = cut {
            return Some(Loss::Down(at));
        }
        if burst.is_collided {
            return Some(Loss::Collision);
        }
        let above = signal.zip(burst.waveform).map(|(signal, waveform)| signal - waveform.threshold_db());
        let is_lost = above.is_some_and(|above| granted.draws.uniform(number) < granted.rule.probability(above));
        is_lost.then_some(Loss::Outage)
    }

    /// Loses packets that the queue dropped at an arrival. Without a waveform for its signal, that is their cause.
    pub(super) fn lose_from_queue(&mut self, now: Time, mut lost: Losses, losses: &mut Losses) {
        let signal = self.signal(now).unwrap_or(0.0);
        let can_send = match &self.medium {
            Some(MediumKind::MfTdma(keys)) => keys
                .waveform_for(signal)
                .is_some_and(|waveform| keys.waveform.is_none() || signal >= waveform.threshold_db()),
            Some(MediumKind::Tdm(keys)) => keys.modcod_for(signal).is_some(),
            Some(MediumKind::LeoCell(_)) | None => true,
        };
        if !can_send {
            lost.iter_mut().for_each(|(_, cause)| *cause = Cause::NoWaveform);
        }
        self.lose(lost, losses);
    }

    /// The signal of its bursts, in dB.
    fn signal(&self, at: Time) -> Option<f64> {
        let signal = self.spec.terminal.as_ref()?.es_n0.as_ref()?;
        Some(piece_at(signal, at).value)
    }

    /// The state of the terminal at the start of a superframe. Returns the arrival of a packet that an outage cut.
    pub(in crate::swarm) fn demand(&mut self, now: Time, losses: &mut Losses) -> (Demand, Option<Time>) {
        let is_up = self.outages.uptime(now).0 == now;
        let mut arrival = None;
        if !is_up {
            self.granted().coming.clear();
            if let Some(service) = self.granted().service.take() {
                let lost = service.lost.or(Some(Loss::Down(now)));
                arrival = Some(self.leave(service.packet, Some(service.number), lost, now));
                self.granted().last_part = self.granted().last_burst;
            }
            if !self.rests(now) && self.outages.flushes(now) {
                let mut lost = Losses::new();
                self.queue.flush(&mut lost);
                self.lose(lost, losses);
            }
        }
        let es_n0_db = self.signal(now).unwrap_or(0.0);
        let mut demand = Demand { is_up, ..Demand::of(0, 0, es_n0_db) };
        for packet in self.queue.waiting() {
            demand.waiting[self.request_class(packet)].backlog += packet.size();
        }
        if let Some(service) = self.granted().service {
            demand.waiting[self.request_class(&service.packet)].backlog += service.rest;
        }
        let granted = self.granted();
        granted.backlog = demand.backlog();
        for (of, arrived) in demand.waiting.iter_mut().zip(std::mem::take(&mut granted.arrived)) {
            of.arrived = arrived;
        }
        (demand, arrival)
    }

    /// The class that asks for a packet.
    fn request_class(&self, packet: &Packet) -> usize {
        let access = &self.spec.terminal.as_ref().expect("the link is in a medium").access;
        usize::from(packet.class).min(access.classes.len().saturating_sub(1))
    }

    /// Opens the windows of a superframe. Returns the begins of their bursts.
    pub(in crate::swarm) fn open(&mut self, windows: &[NaiveWindow]) -> Vec<Time> {
        let granted = self.granted();
        if !windows.is_empty() {
            granted.coming.clear();
        }
        for window in windows {
            for (number, &(begin, end, is_collided)) in window.bursts.iter().enumerate() {
                let (payload, waveform) = (window.payload, window.waveform);
                let reserved = if number == 0 { window.reserved } else { 0 };
                granted.counts.granted += payload;
                let room = payload - reserved;
                granted.coming.push_back(Burst {
                    payload,
                    waveform,
                    begin,
                    end,
                    room,
                    reserved,
                    is_collided,
                    fate: None,
                });
            }
        }
        granted.coming.iter().map(|burst| burst.begin).collect()
    }
}
