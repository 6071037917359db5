//! Active queue management from the documents: RED, CoDel, FQ-CoDel and PIE, with the names of their state.

use super::rule::{bytes, first_of, fits, within, Rule, WaitingList};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Codel, FqCodel, Link, Pie, Red};
use bentpipe_units::{Duration, Stream, Time};

/// Marks a packet instead of dropping it. Returns false if its sender does not support ECN, or marking is off.
fn mark(is_on: bool, packet: &mut Packet, marked: &mut u64) -> bool {
    let is_marked = is_on && packet.mark_ce();
    *marked += u64::from(is_marked);
    is_marked
}

/// S. Floyd and V. Jacobson 1993, with the gentle variant (2000) and the adaptive one (2001).
#[derive(Debug)]
pub(super) struct NaiveRed {
    spec: Red,
    /// Transmission time of a mean packet.
    s: Duration,
    avg: f64,
    max_p: f64,
    count: f64,
    idle_since: Option<Time>,
    next_adaptation: Time,
    draws: Stream,
    arrivals: u64,
    marked: u64,
}

impl NaiveRed {
    pub(super) fn of(spec: Red, link: &Link, draws: Stream) -> Self {
        let s = link.largest_for(spec.mean_packet.into()).time_to_send(spec.mean_packet.into());
        let next_adaptation = Time::ZERO + Duration::from_millis(500);
        let (avg, max_p, count, idle_since) = (0.0, spec.max_p, -1.0, None);
        Self { spec, s, avg, max_p, count, idle_since, next_adaptation, draws, arrivals: 0, marked: 0 }
    }

    /// Returns the thresholds, in the unit of the average.
    fn thresholds(&self) -> (f64, f64) {
        let unit = if self.spec.byte_mode { f64::from(self.spec.mean_packet) } else { 1.0 };
        (f64::from(self.spec.min_th) * unit, f64::from(self.spec.max_th) * unit)
    }

    fn adapt(&mut self, now: Time) {
        let (min_th, max_th) = self.thresholds();
        let part = 0.4 * (max_th - min_th);
        while self.spec.adaptive && self.next_adaptation <= now {
            if self.avg > max_th - part && self.max_p < 0.5 {
                self.max_p += f64::min(0.01, self.max_p / 4.0);
            } else if self.avg < min_th + part && self.max_p > 0.01 {
                self.max_p *= 0.9;
            }
            self.next_adaptation += Duration::from_millis(500);
        }
    }

    fn average(&mut self, now: Time, waiting: &WaitingList) {
        let w = self.spec.weight;
        if let Some(since) = self.idle_since.take() {
            let m = (now - since).as_ps() / self.s.as_ps().max(1);
            self.avg *= libm::pow(1.0 - w, m as f64);
        }
        let q = if self.spec.byte_mode { bytes(waiting) as f64 } else { waiting.len() as f64 };
        self.avg = (1.0 - w) * self.avg + w * q;
    }

    /// Returns the probability before spacing; `None`: above all thresholds.
    fn p_b(&self) -> Option<f64> {
        let (min_th, max_th) = self.thresholds();
        if self.avg < max_th {
            Some(self.max_p * (self.avg - min_th) / (max_th - min_th))
        } else if self.spec.gentle && self.avg < 2.0 * max_th {
            Some(self.max_p + (1.0 - self.max_p) * (self.avg - max_th) / max_th)
        } else {
            None
        }
    }
}

impl Rule for NaiveRed {
    fn enqueue(&mut self, now: Time, list: usize, mut packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        self.adapt(now);
        self.average(now, waiting);
        let u = self.draws.uniform(self.arrivals);
        self.arrivals += 1;
        if !fits(self.spec.limit, &packet, waiting, |_| true) {
            return losses.push((packet, Cause::QueueOverflow));
        }
        if self.avg < self.thresholds().0 || waiting.len() <= 1 {
            self.count = -1.0;
            return waiting.push((list, packet));
        }
        let Some(mut p_b) = self.p_b() else {
            self.count = 0.0;
            return losses.push((packet, Cause::ForcedDrop));
        };
        if self.spec.byte_mode {
            p_b *= packet.size() as f64 / f64::from(self.spec.mean_packet);
        }
        self.count += 1.0;
        let passed = self.count * p_b;
        let p_a = match self.spec.wait {
            false if passed < 1.0 => p_b / (1.0 - passed),
            true if passed < 1.0 => 0.0,
            true if passed < 2.0 => p_b / (2.0 - passed),
            _ => 1.0,
        };
        let is_chosen = u < p_a;
        if is_chosen {
            self.count = 0.0;
        }
        match is_chosen && !mark(self.spec.ecn, &mut packet, &mut self.marked) {
            true => losses.push((packet, Cause::EarlyDrop)),
            false => waiting.push((list, packet)),
        }
    }

    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, _: &mut Losses) -> Option<Packet> {
        let packet = first_of(0, waiting);
        if packet.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

/// The state of RFC 8289 §5.2 for one list.
#[derive(Clone, Debug, Default)]
struct Sojourn {
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

/// RFC 8289.
#[derive(Debug)]
pub(super) struct NaiveCodel {
    spec: Codel,
    maxpacket: u64,
    marked: u64,
    only: Sojourn,
}

impl NaiveCodel {
    pub(super) fn of(spec: Codel) -> Self {
        Self { spec, maxpacket: 0, marked: 0, only: Sojourn::default() }
    }

    /// RFC 8289 §5.4.
    fn control_law(&self, t: Time, count: u32) -> Time {
        t + Duration::from_secs_f64(self.spec.interval.as_secs_f64() / f64::from(count).sqrt())
    }

    /// RFC 8289 §5.6: the first packet of a list; whether it may be dropped.
    fn dodequeue(
        &self,
        now: Time,
        state: &mut Sojourn,
        list: usize,
        waiting: &mut WaitingList,
    ) -> (Option<Packet>, bool) {
        let packet = first_of(list, waiting);
        let left: u64 = waiting.iter().filter(|waiting| waiting.0 == list).map(|waiting| waiting.1.size()).sum();
        let is_above = packet.is_some_and(|packet| now - packet.at >= self.spec.target && left > self.maxpacket);
        let first_above_time = state.first_above_time.filter(|_| is_above);
        state.first_above_time = first_above_time.or(is_above.then(|| now + self.spec.interval));
        (packet, first_above_time.is_some_and(|at| now >= at))
    }

    /// RFC 8289 §5.5. A marked packet leaves: its mark is the drop.
    fn dequeue_from(
        &mut self,
        now: Time,
        state: &mut Sojourn,
        list: usize,
        waiting: &mut WaitingList,
        losses: &mut Losses,
    ) -> Option<Packet> {
        let (mut packet, mut ok) = self.dodequeue(now, state, list, waiting);
        if state.dropping {
            state.dropping = ok;
            while state.dropping && now >= state.drop_next {
                let mut chosen = packet?;
                state.count += 1;
                if mark(self.spec.ecn, &mut chosen, &mut self.marked) {
                    state.drop_next = self.control_law(state.drop_next, state.count);
                    return Some(chosen);
                }
                losses.push((chosen, Cause::EarlyDrop));
                (packet, ok) = self.dodequeue(now, state, list, waiting);
                state.dropping = ok;
                if ok {
                    state.drop_next = self.control_law(state.drop_next, state.count);
                }
            }
        } else if ok {
            let mut chosen = packet?;
            if mark(self.spec.ecn, &mut chosen, &mut self.marked) {
                packet = Some(chosen);
            } else {
                losses.push((chosen, Cause::EarlyDrop));
                (packet, _) = self.dodequeue(now, state, list, waiting);
            }
            state.dropping = true;
            let delta = state.count.saturating_sub(state.lastcount);
            let is_soon = now < state.drop_next + self.spec.interval * 16;
            state.count = if delta > 1 && is_soon { delta } else { 1 };
            state.drop_next = self.control_law(now, state.count);
            state.lastcount = state.count;
        }
        packet
    }
}

impl Rule for NaiveCodel {
    fn enqueue(&mut self, _: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        self.maxpacket = self.maxpacket.max(packet.size());
        match fits(self.spec.limit, &packet, waiting, |_| true) {
            true => waiting.push((list, packet)),
            false => losses.push((packet, Cause::QueueOverflow)),
        }
    }

    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, losses: &mut Losses) -> Option<Packet> {
        let mut state = std::mem::take(&mut self.only);
        let packet = self.dequeue_from(now, &mut state, 0, waiting, losses);
        self.only = state;
        packet
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

/// RFC 8290.
#[derive(Debug)]
pub(super) struct NaiveFqCodel {
    spec: FqCodel,
    codel: NaiveCodel,
    sojourns: Vec<Sojourn>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
    hash: Stream,
}

impl NaiveFqCodel {
    pub(super) fn of(spec: FqCodel, hash: Stream) -> Self {
        let FqCodel { limit, target, interval, ecn, queues, .. } = spec;
        Self {
            spec,
            codel: NaiveCodel::of(Codel { limit, target, interval, ecn }),
            sojourns: vec![Sojourn::default(); queues as usize],
            credits: vec![0; queues as usize],
            new: Vec::new(),
            old: Vec::new(),
            hash,
        }
    }
}

impl Rule for NaiveFqCodel {
    fn list_of(&mut self, packet: &Packet) -> usize {
        self.hash.below(packet.conversation(), self.spec.queues.into()) as usize
    }

    /// RFC 8290 §4.1.
    fn enqueue(&mut self, _: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        self.codel.maxpacket = self.codel.maxpacket.max(packet.size());
        waiting.push((list, packet));
        if !self.new.contains(&list) && !self.old.contains(&list) {
            self.credits[list] = self.spec.quantum.into();
            self.new.push(list);
        }
        while !within(self.spec.limit, waiting.iter().map(|waiting| &waiting.1)) {
            let mut loads = vec![(0, 0); self.sojourns.len()];
            for (list, packet) in waiting.iter() {
                loads[*list] = (loads[*list].0 + packet.size(), loads[*list].1 + 1);
            }
            let most = loads.iter().map(|load| load.0).max();
            let longest = loads.iter().position(|load| Some(load.0) == most).expect("a packet waits");
            // Half of its packets, at most 64.
            for _ in 0..(loads[longest].1 / 2).clamp(1, 64) {
                let dropped = first_of(longest, waiting).expect("there are as many");
                losses.push((dropped, Cause::QueueOverflow));
            }
        }
    }

    /// RFC 8290 §4.2.
    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, losses: &mut Losses) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let lists = if is_new { &mut self.new } else { &mut self.old };
            let list = *lists.first()?;
            if self.credits[list] <= 0 {
                self.credits[list] += i64::from(self.spec.quantum);
                lists.remove(0);
                self.old.push(list);
                continue;
            }
            if let Some(packet) = self.codel.dequeue_from(now, &mut self.sojourns[list], list, waiting, losses) {
                self.credits[list] -= packet.size() as i64;
                return Some(packet);
            }
            lists.remove(0);
            // An empty queue leaves. A new one becomes old first if there are old ones.
            if is_new && !self.old.is_empty() {
                self.old.push(list);
            }
        }
    }

    fn marked(&self) -> u64 {
        self.codel.marked
    }
}

/// RFC 8033.
#[derive(Debug)]
pub(super) struct NaivePie {
    spec: Pie,
    drop_prob: f64,
    /// Wait of the last packet that left.
    current_qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    accu_prob: f64,
    next_update: Time,
    draws: Stream,
    arrivals: u64,
    marked: u64,
}

impl NaivePie {
    pub(super) fn of(spec: Pie, draws: Stream) -> Self {
        Self {
            spec,
            drop_prob: 0.0,
            current_qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: spec.burst,
            accu_prob: 0.0,
            next_update: Time::ZERO + spec.update,
            draws,
            arrivals: 0,
            marked: 0,
        }
    }

    /// RFC 8033 §4.2, §4.4 and §5.5, at each instant of an update up to `now`.
    fn update(&mut self, now: Time, waiting: &WaitingList) {
        let reference = self.spec.target;
        while self.next_update <= now {
            self.next_update += self.spec.update;
            let qdelay = if waiting.is_empty() { Duration::ZERO } else { self.current_qdelay };
            let [current, old, target] = [qdelay, self.qdelay_old, reference].map(Duration::as_secs_f64);
            let scales = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
            let scale = scales.iter().find(|scale| self.drop_prob < scale.0).map_or(1.0, |scale| scale.1);
            let mut p = (0.125 * (current - target) + 1.25 * (current - old)) / scale;
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            if qdelay > Duration::from_millis(250) {
                p += 0.02;
            }
            self.drop_prob += p;
            if qdelay == Duration::ZERO && self.qdelay_old == Duration::ZERO {
                self.drop_prob *= 0.98;
            }
            self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
            self.burst_allowance = self.burst_allowance.saturating_sub(self.spec.update);
            if self.drop_prob == 0.0 && qdelay < reference / 2 && self.qdelay_old < reference / 2 {
                self.burst_allowance = self.spec.burst;
            }
            self.qdelay_old = qdelay;
        }
    }

    /// RFC 8033 §4.1 and §5.4: whether an arriving packet is dropped or marked.
    fn drop_early(&mut self, u: f64, waiting: &WaitingList) -> bool {
        let is_short = self.qdelay_old < self.spec.target / 2 && self.drop_prob < 0.2;
        let is_small = bytes(waiting) <= 2 * u64::from(self.spec.mean_packet);
        if self.burst_allowance > Duration::ZERO || is_short || is_small {
            return false;
        }
        let mut is_chosen = u < self.drop_prob;
        if self.spec.derandomise {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            is_chosen = self.accu_prob >= 8.5 || (self.accu_prob >= 0.85 && is_chosen);
        }
        if is_chosen {
            self.accu_prob = 0.0;
        }
        is_chosen
    }
}

impl Rule for NaivePie {
    fn enqueue(&mut self, now: Time, list: usize, mut packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        self.update(now, waiting);
        let u = self.draws.uniform(self.arrivals);
        self.arrivals += 1;
        if !fits(self.spec.limit, &packet, waiting, |_| true) {
            return losses.push((packet, Cause::QueueOverflow));
        }
        let may_mark = self.spec.ecn && self.drop_prob < 0.1;
        match self.drop_early(u, waiting) && !mark(may_mark, &mut packet, &mut self.marked) {
            true => losses.push((packet, Cause::EarlyDrop)),
            false => waiting.push((list, packet)),
        }
    }

    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, _: &mut Losses) -> Option<Packet> {
        self.update(now, waiting);
        let packet = first_of(0, waiting)?;
        self.current_qdelay = now - packet.at;
        Some(packet)
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}
