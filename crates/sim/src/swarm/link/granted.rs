//! A link in a medium in the most obvious form: an event at the begin of each burst, which is then filled part by part.

use super::times::piece_at;
use super::NaiveLink;
use crate::dictionary::{Cause, LinkSeries};
use crate::link::{GrantCounts, Losses};
use crate::packet::Packet;
use crate::record::Sample;
use crate::spec::{Link, Losses as Rule, Medium, MediumKind, Queue};
use bentpipe_access::{Demand, Loss, Waveform, Window};
use bentpipe_units::{Rate, Stream, Time};
use std::collections::VecDeque;

/// Bytes of encapsulation, ETSI TS 103 179: whole packets, first parts, further parts; room for a request.
const WHOLE: u64 = 2;
const FIRST: u64 = 4;
const FURTHER: u64 = 2;
const REQUEST: u64 = 3;

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
        Self { bursts, payload, reserved: REQUEST.min(payload), waveform: window.waveform() }
    }
}

impl NaiveWindow {
    /// The begin of its first burst.
    fn opens(&self) -> Time {
        self.bursts[0].0
    }
}

/// The additional state of a link in a medium.
#[derive(Debug)]
pub(super) struct NaiveGranted {
    windows: Vec<NaiveWindow>,
    coming: VecDeque<Burst>,
    service: Option<Service>,
    waiting: Vec<Time>,
    rule: Rule,
    draws: Stream,
    bursts: u64,
    arrived: u64,
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
            windows: Vec::new(),
            coming: VecDeque::new(),
            service: None,
            waiting: Vec::new(),
            rule: medium.losses(),
            draws: Stream::new(seed, &format!("link/{}", link.name), "burst"),
            bursts: 0,
            arrived: 0,
            backlog: 0,
            planned: (None, Rate::from_bps(0)),
            counts: GrantCounts::default(),
            packets: 0,
        })
    }

    pub(super) fn in_service(&self) -> usize {
        usize::from(self.service.is_some())
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
        let granted = self.granted();
        granted.arrived += packet.size();
        // A window is open as long as a burst of it begins.
        let is_open = |window: &&NaiveWindow| window.bursts.iter().any(|burst| burst.0 >= now);
        match granted.windows.iter().find(is_open) {
            Some(window) => granted.counts.waits.record_span(window.opens().saturating_since(now)),
            None => granted.waiting.push(now),
        }
        let is_free = granted.service.is_none() && self.queue.len() == 0 && self.has_room(now);
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
        granted.service = Some(Service { packet, number, rest, has_begun: false, lost: None });
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
        let granted = self.granted();
        granted.coming[0] = burst;
        granted.counts.carried += bytes;
        granted.counts.headers += header;
        granted.service = Some(service).filter(|service| service.rest > 0);
        (service.rest == 0).then(|| self.leave(service.packet, Some(service.number), service.lost, burst.end))
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
            self.granted().windows.clear();
            if let Some(service) = self.granted().service.take() {
                let lost = service.lost.or(Some(Loss::Down(now)));
                arrival = Some(self.leave(service.packet, Some(service.number), lost, now));
            }
            if !self.rests(now) && self.outages.flushes(now) {
                let mut lost = Losses::new();
                self.queue.flush(&mut lost);
                self.lose(lost, losses);
            }
        }
        let es_n0_db = self.signal(now).unwrap_or(0.0);
        let waiting = self.queue.bytes();
        let granted = self.granted();
        granted.backlog = waiting + granted.service.map_or(0, |service| service.rest);
        let arrived = std::mem::take(&mut granted.arrived);
        (Demand { backlog: granted.backlog, arrived, es_n0_db, is_up, handed: None }, arrival)
    }

    /// Opens the windows of a superframe. Returns the begins of their bursts.
    pub(in crate::swarm) fn open(&mut self, windows: &[NaiveWindow]) -> Vec<Time> {
        let granted = self.granted();
        if let Some(first) = windows.first() {
            granted.coming.clear();
            granted.windows = windows.to_vec();
            for came in std::mem::take(&mut granted.waiting) {
                granted.counts.waits.record_span(first.opens() - came);
            }
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
