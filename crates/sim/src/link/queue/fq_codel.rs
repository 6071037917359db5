//! FQ-CoDel (T. Hoeiland-Joergensen et al., RFC 8290): flows are hashed to queues, each under CoDel; queues take turns by
//! bytes, and those that have just become busy go first.

use super::codel::{Control, Settings};
use super::drop_tail::DropTail;
use super::{Discipline, Limit};
use crate::link::Losses;
use crate::packet::Packet;
use crate::record::Cause;
use crate::scenario::{FqCodel as Spec, QueueLimit};
use bentpipe_units::{Stream, Time};
use std::collections::VecDeque;

/// RFC 8290 §5.2.5: packets dropped at most at once from the fattest queue.
const BATCH: usize = 64;

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::link) struct FqCodel {
    flows: Vec<Flow>,
    /// Queues that have just become busy, then the others: indices of `flows`, each at most once in one of them.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    limit: Limit,
    settings: Settings,
    hash: Stream,
    packets: usize,
    bytes: u64,
}

/// A queue, and what it may send before its turn ends.
#[derive(Clone, Debug)]
struct Flow {
    packets: DropTail,
    control: Control,
    credit: i64,
    is_listed: bool,
}

impl FqCodel {
    pub(super) fn new(spec: &Spec, hash: Stream) -> Self {
        let empty = Flow {
            packets: DropTail::new(QueueLimit::Unlimited),
            control: Control::default(),
            credit: 0,
            is_listed: false,
        };
        Self {
            flows: vec![empty; spec.queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(spec.quantum),
            limit: Limit::new(spec.limit),
            settings: Settings::new(spec.target, spec.interval, spec.ecn),
            hash,
            packets: 0,
            bytes: 0,
        }
    }

    /// Each direction of a flow has a hash of its own.
    fn queue_of(&mut self, packet: &Packet) -> usize {
        self.hash.below(packet.endpoint() as u64, self.flows.len() as u64) as usize
    }

    /// RFC 8290 §4.1: room is made at the head of the queue with the most bytes, up to half of it at once.
    #[cold]
    fn make_room(&mut self, losses: &mut Losses) {
        while !self.limit.allows(self.packets, self.bytes) {
            let fattest = self.flows.iter_mut().rev().max_by_key(|flow| flow.packets.bytes());
            let Some(flow) = fattest else { return };
            let half = flow.packets.bytes() / 2;
            for _ in 0..BATCH {
                let Some(packet) = flow.packets.pop() else { break };
                self.packets -= 1;
                self.bytes -= packet.size();
                losses.push((packet, Cause::QueueOverflow));
                if flow.packets.bytes() <= half {
                    break;
                }
            }
        }
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.settings.note(packet);
        let index = self.queue_of(packet);
        let flow = &mut self.flows[index];
        flow.packets.enqueue(now, packet, losses);
        self.packets += 1;
        self.bytes += packet.size();
        if !std::mem::replace(&mut flow.is_listed, true) {
            flow.credit = self.quantum;
            self.new.push_back(index as u32);
        }
        if !self.limit.allows(self.packets, self.bytes) {
            self.make_room(losses);
        }
    }

    /// RFC 8290 §4.2.
    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (before, dropped) = ((flow.packets.len(), flow.packets.bytes()), &mut *losses);
            let packet = flow.control.dequeue(now, &mut flow.packets, &mut self.settings, dropped);
            self.packets -= before.0 - flow.packets.len();
            self.bytes -= before.1 - flow.packets.bytes();
            if let Some(packet) = packet {
                flow.credit -= packet.size() as i64;
                return Some(packet);
            }
            list.pop_front();
            // Or a flow that empties its queue each time would always be new.
            if is_new && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                flow.is_listed = false;
            }
        }
    }

    fn flush(&mut self, losses: &mut Losses) {
        self.flows.iter_mut().for_each(|flow| flow.packets.flush(losses));
        (self.packets, self.bytes) = (0, 0);
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn marked(&self) -> u64 {
        self.settings.marking.marked
    }
}
