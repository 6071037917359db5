//! Queues in their simplest form: one list of all waiting packets, and a rule that picks from it.

use super::aqm::{NaiveCodel, NaiveFqCodel, NaivePie, NaiveRed};
use super::dualpi2::NaiveDualPi2;
use super::rule::{bytes, first_of, fits, Rule, WaitingList};
use crate::link::{L4sCounts, Losses};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Link, Queue, QueueLimit};
use bentpipe_units::{Stream, Time};

/// A queue of any discipline.
#[derive(Debug)]
pub(super) struct NaiveQueue {
    waiting: WaitingList,
    rule: Box<dyn Rule>,
}

impl NaiveQueue {
    pub(super) fn of(link: &Link, seed: u64) -> Self {
        let draws = Stream::new(seed, &format!("link/{}", link.name), "queue");
        let rule: Box<dyn Rule> = match &link.queue {
            Queue::DropTail { limit } => Box::new(Fifo { limit: *limit }),
            Queue::Red(spec) => Box::new(NaiveRed::of(*spec, link, draws)),
            Queue::Codel(spec) => Box::new(NaiveCodel::of(*spec)),
            Queue::FqCodel(spec) => Box::new(NaiveFqCodel::of(*spec, draws)),
            Queue::DualPi2(spec) => Box::new(NaiveDualPi2::of(*spec, link, draws)),
            Queue::Pie(spec) => Box::new(NaivePie::of(*spec, draws)),
            Queue::Priority { limits, push_out } => {
                Box::new(Strict { limits: limits.clone(), shared: push_out.then(|| limits[0]) })
            }
            Queue::Wrr { classes } => {
                let turns = classes.iter().map(|class| (class.limit, class.weight.into())).collect();
                Box::new(Turns::new(turns, |_| 1))
            }
            Queue::Drr { quantum, classes } => {
                let bytes = |weight: u32| u64::from(weight) * u64::from(*quantum);
                let turns = classes.iter().map(|class| (class.limit, bytes(class.weight))).collect();
                Box::new(Turns::new(turns, Packet::size))
            }
        };
        Self { waiting: Vec::new(), rule }
    }

    pub(super) fn enqueue(&mut self, now: Time, mut packet: Packet, losses: &mut Losses) {
        let list = self.rule.list_of(&packet);
        packet.at = now;
        self.rule.enqueue(now, list, packet, &mut self.waiting, losses);
    }

    pub(super) fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        self.rule.dequeue(now, &mut self.waiting, losses)
    }

    pub(super) fn flush(&mut self, losses: &mut Losses) {
        let mut left = Vec::new();
        self.extract(&mut |_| true, &mut left);
        losses.extend(left.into_iter().map(|packet| (packet, Cause::Outage)));
    }

    /// Moves packets to `left`, list by list.
    pub(super) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        // Stable: packets of one list keep their order.
        self.waiting.sort_by_key(|waiting| waiting.0);
        let mut kept = Vec::new();
        for (list, mut packet) in self.waiting.drain(..) {
            match is_meant(&mut packet) {
                true => left.push(packet),
                false => kept.push((list, packet)),
            }
        }
        self.waiting = kept;
        self.rule.on_removal(&self.waiting);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().map(|waiting| &waiting.1)
    }

    pub(super) fn bytes(&self) -> u64 {
        bytes(&self.waiting)
    }

    pub(super) fn marked(&self) -> u64 {
        self.rule.marked()
    }

    pub(super) fn l4s(&self) -> Option<&L4sCounts> {
        self.rule.l4s()
    }
}

/// First in, first out.
#[derive(Debug)]
struct Fifo {
    limit: QueueLimit,
}

impl Rule for Fifo {
    fn enqueue(&mut self, _: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        match fits(self.limit, &packet, waiting, |_| true) {
            true => waiting.push((list, packet)),
            false => losses.push((packet, Cause::QueueOverflow)),
        }
    }

    fn dequeue(&mut self, _: Time, waiting: &mut WaitingList, _: &mut Losses) -> Option<Packet> {
        first_of(0, waiting)
    }
}

/// Strict priority. A shared limit lets packets push out those of lower classes, the last of the lowest class first.
#[derive(Debug)]
struct Strict {
    limits: Vec<QueueLimit>,
    shared: Option<QueueLimit>,
}

impl Rule for Strict {
    fn list_of(&mut self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.limits.len() - 1)
    }

    fn enqueue(&mut self, _: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        if !fits(self.limits[list], &packet, waiting, |other| other == list) {
            return losses.push((packet, Cause::QueueOverflow));
        }
        while self.shared.is_some_and(|limit| !fits(limit, &packet, waiting, |_| true)) {
            let lower = (0..waiting.len()).filter(|&place| waiting[place].0 > list);
            let Some(victim) = lower.max_by_key(|&place| (waiting[place].0, place)) else {
                let is_pushed = waiting.iter().any(|waiting| waiting.0 < list);
                return losses.push((packet, if is_pushed { Cause::PushOut } else { Cause::QueueOverflow }));
            };
            losses.push((waiting.remove(victim).1, Cause::PushOut));
        }
        waiting.push((list, packet));
    }

    fn dequeue(&mut self, _: Time, waiting: &mut WaitingList, _: &mut Losses) -> Option<Packet> {
        first_of(waiting.iter().map(|waiting| waiting.0).min()?, waiting)
    }
}

/// Classes in turn (M. Shreedhar and G. Varghese 1995), each with a quantum of bytes or of packets.
#[derive(Debug)]
struct Turns {
    /// Limit and quantum of each class.
    classes: Vec<(QueueLimit, u64)>,
    deficits: Vec<u64>,
    cost: fn(&Packet) -> u64,
    /// Classes with waiting packets, in the order of their turns.
    active: Vec<usize>,
    /// Whether the first class has received the quantum of its turn.
    has_quantum: bool,
}

impl Turns {
    fn new(classes: Vec<(QueueLimit, u64)>, cost: fn(&Packet) -> u64) -> Self {
        Self { deficits: vec![0; classes.len()], classes, cost, active: Vec::new(), has_quantum: false }
    }
}

impl Rule for Turns {
    fn list_of(&mut self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.classes.len() - 1)
    }

    fn enqueue(&mut self, _: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses) {
        if !fits(self.classes[list].0, &packet, waiting, |other| other == list) {
            return losses.push((packet, Cause::QueueOverflow));
        }
        if !self.active.contains(&list) {
            self.active.push(list);
        }
        waiting.push((list, packet));
    }

    fn dequeue(&mut self, _: Time, waiting: &mut WaitingList, _: &mut Losses) -> Option<Packet> {
        loop {
            let list = *self.active.first()?;
            if !self.has_quantum {
                self.deficits[list] += self.classes[list].1;
                self.has_quantum = true;
            }
            let head = waiting.iter().find(|waiting| waiting.0 == list).map(|waiting| (self.cost)(&waiting.1));
            let cost = head.expect("an active class has packets");
            if cost <= self.deficits[list] {
                self.deficits[list] -= cost;
                let packet = first_of(list, waiting);
                self.on_removal(waiting);
                return packet;
            }
            self.active.remove(0);
            self.active.push(list);
            self.has_quantum = false;
        }
    }

    /// An empty class leaves, and its deficit is lost.
    fn on_removal(&mut self, waiting: &WaitingList) {
        let first = self.active.first().copied();
        let is_active = |list: usize| waiting.iter().any(|waiting| waiting.0 == list);
        self.active.retain(|&list| is_active(list));
        (0..self.deficits.len()).filter(|&list| !is_active(list)).for_each(|list| self.deficits[list] = 0);
        self.has_quantum &= self.active.first().copied() == first;
    }
}
