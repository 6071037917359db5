//! DualPI2 from RFC 9332 A.1 and the behaviour of Linux, with the names of the document.

use super::rule::{bytes, first_of, fits, Rule, WaitingList};
use crate::link::{L4sCounts, Losses};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Dp2Native, Dp2Overload, DualPi2, Link};
use bentpipe_tcp::Ecn;
use bentpipe_units::{Duration, Stream, Time};

/// The lists of both queues.
const LQ: usize = 0;
const CQ: usize = 1;

/// RFC 9332.
#[derive(Debug)]
pub(super) struct NaiveDualPi2 {
    spec: DualPi2,
    mtu: f64,
    /// p'.
    base: f64,
    prevq: f64,
    next_update: Time,
    credit: f64,
    draws: Stream,
    /// Packets that were considered, of each queue, and the sums of recur().
    considered: [u64; 2],
    sums: [f64; 2],
    marked: u64,
    counts: L4sCounts,
}

impl NaiveDualPi2 {
    pub(super) fn of(spec: DualPi2, link: &Link, draws: Stream) -> Self {
        let mtu = link.mtu.map_or(1500, |mtu| mtu.size) as f64;
        let credit = (2.0 * spec.classic_share - 1.0) * mtu;
        let next_update = Time::ZERO + spec.control().update;
        Self {
            spec,
            mtu,
            base: 0.0,
            prevq: 0.0,
            next_update,
            credit,
            draws,
            considered: [0; 2],
            sums: [0.0; 2],
            marked: 0,
            counts: L4sCounts::default(),
        }
    }

    /// dualpi2_update(), at each of its instants up to `now`.
    fn update(&mut self, now: Time, waiting: &WaitingList) {
        let control = self.spec.control();
        while self.next_update <= now {
            // A queue that replaces another one has its packets, which came after its first updates would have been.
            let wait = |packet: &Packet| self.next_update.saturating_since(packet.at).as_secs_f64();
            let waits = waiting.iter().map(|(_, packet)| wait(packet));
            let curq = waits.fold(0.0, f64::max);
            let change = control.alpha * (curq - control.target.as_secs_f64()) + control.beta * (curq - self.prevq);
            let cap = if self.spec.overload == Dp2Overload::Drop { 1.0 } else { 1.0 / self.spec.coupling };
            self.base = (self.base + change).clamp(0.0, cap);
            self.prevq = curq;
            self.next_update += control.update;
        }
    }

    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        if !self.spec.spread {
            let number = 2 * self.considered[queue] + queue as u64;
            return self.draws.uniform(number) < likelihood;
        }
        self.sums[queue] += likelihood;
        if self.sums[queue] > 1.0 {
            self.sums[queue] -= 1.0;
            return true;
        }
        false
    }

    /// laqm(): the likelihood of a native mark.
    fn laqm(&self, sojourn: Duration, in_queue: usize) -> f64 {
        match self.spec.native {
            Dp2Native::Step => match sojourn > self.spec.step && in_queue > self.spec.step_min as usize {
                true => 1.0,
                false => 0.0,
            },
            Dp2Native::Ramp if in_queue <= 1 => 0.0,
            Dp2Native::Ramp => {
                let step = self.spec.step.as_secs_f64();
                ((sojourn.as_secs_f64() - 0.8 * step) / (0.4 * step)).clamp(0.0, 1.0)
            }
        }
    }

    /// Whether the packet leaves.
    fn leaves(&mut self, now: Time, queue: usize, packet: &mut Packet, in_queue: usize, left: &WaitingList) -> bool {
        self.considered[queue] += 1;
        let is_small = (bytes(left) as f64) < 2.0 * self.mtu;
        let p_c = self.base * self.base;
        let p_cl = self.spec.coupling * self.base;
        if queue == CQ {
            if is_small || !self.recur(CQ, p_c) {
                return true;
            }
            let is_marked = p_cl <= 1.0 && packet.mark_ce();
            self.marked += u64::from(is_marked);
            return is_marked;
        }
        let p_l = self.laqm(now - packet.at, in_queue);
        let is_marked = match (is_small, p_cl > 1.0) {
            (true, _) if p_l == 0.0 || p_l == 1.0 => p_l == 1.0,
            (true, _) => self.recur(LQ, p_l),
            (false, true) => {
                if self.recur(LQ, p_c) {
                    return false;
                }
                true
            }
            (false, false) => self.recur(LQ, f64::max(p_l, p_cl)) | (p_l == 1.0),
        };
        if is_marked && packet.mark_ce() {
            self.marked += 1;
            let count = if p_l == 1.0 { &mut self.counts.native_marks } else { &mut self.counts.coupled_marks };
            *count += 1;
        }
        true
    }
}

impl Rule for NaiveDualPi2 {
    fn list_of(&mut self, packet: &Packet) -> usize {
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => LQ,
            Ecn::Ect0 | Ecn::NotEct => CQ,
        }
    }

    fn enqueue(&mut self, now: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        self.update(now, waiting);
        match fits(self.spec.limit, &packet, waiting, |_| true) {
            true => waiting.push((list, packet)),
            false => losses.push((packet, Cause::QueueOverflow)),
        }
    }

    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, losses: &mut Losses) -> Option<Packet> {
        self.update(now, waiting);
        loop {
            let [lq, cq] = [LQ, CQ].map(|list| waiting.iter().filter(|waiting| waiting.0 == list).count());
            if lq + cq == 0 {
                self.credit = (2.0 * self.spec.classic_share - 1.0) * self.mtu;
                return None;
            }
            let queue = if lq > 0 && (cq == 0 || self.credit <= 0.0) { LQ } else { CQ };
            let mut packet = first_of(queue, waiting)?;
            if !self.leaves(now, queue, &mut packet, lq, waiting) {
                losses.push((packet, Cause::EarlyDrop));
                continue;
            }
            self.counts.waits[queue].record_span(now - packet.at);
            let size = packet.size() as f64;
            match queue {
                LQ if cq > 0 => self.credit += self.spec.classic_share * size,
                CQ if lq > 0 => self.credit -= (1.0 - self.spec.classic_share) * size,
                _ => {}
            }
            return Some(packet);
        }
    }

    fn marked(&self) -> u64 {
        self.marked
    }

    fn l4s(&self) -> Option<&L4sCounts> {
        Some(&self.counts)
    }
}
