//! FQ-CoDel (T. Hoeiland-Joergensen et al., RFC 8290): flows are hashed to queues, each under CoDel. Queues take turns by
//! bytes, and newly busy queues go first.

use super::codel::{Control, Settings};
use super::drop_tail::DropTailQueue;
use super::{Discipline, Limit};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{FqCodel as Spec, QueueLimit};
use bentpipe_units::{Stream, Time};
use std::collections::VecDeque;

/// RFC 8290 §4.1: maximum packets in one batch drop.
const BATCH: usize = 64;

/// The queues of a link under FQ-CoDel.
#[derive(Clone, Debug)]
pub(in crate::link) struct FqCodelQueue {
    flows: Vec<Flow>,
    /// Newly busy queues, then the others: indices of `flows`, each at most once in one of them.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    limit: Limit,
    settings: Settings,
    hash: Stream,
    packets: usize,
    bytes: u64,
}

/// One queue with its deficit.
#[derive(Clone, Debug)]
struct Flow {
    packets: DropTailQueue,
    control: Control,
    credit: i64,
    is_listed: bool,
}

impl FqCodelQueue {
    pub(super) fn new(spec: &Spec, hash: Stream) -> Self {
        let empty = Flow {
            packets: DropTailQueue::new(QueueLimit::Unlimited),
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

    /// Each direction of each connection has its own hash; the datagrams of a flow share one.
    fn queue_of(&mut self, packet: &Packet) -> usize {
        self.hash.below(packet.conversation(), self.flows.len() as u64) as usize
    }

    /// RFC 8290 §4.1: drops from the head of the queue with the most bytes, half of its packets in one batch.
    #[cold]
    fn make_room(&mut self, losses: &mut Losses) {
        while !self.limit.allows(self.packets, self.bytes) {
            let fattest = self.flows.iter_mut().rev().max_by_key(|flow| flow.packets.bytes());
            let Some(flow) = fattest else { return };
            for _ in 0..(flow.packets.len() / 2).clamp(1, BATCH) {
                let Some(packet) = flow.packets.pop() else { return };
                self.packets -= 1;
                self.bytes -= packet.size();
                losses.push((packet, Cause::QueueOverflow));
            }
        }
    }
}

impl Discipline for FqCodelQueue {
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
            let (packets, bytes) = (flow.packets.len(), flow.packets.bytes());
            let packet = flow.control.dequeue(now, &mut flow.packets, &mut self.settings, losses);
            self.packets -= packets - flow.packets.len();
            self.bytes -= bytes - flow.packets.bytes();
            if let Some(packet) = packet {
                flow.credit -= packet.size() as i64;
                return Some(packet);
            }
            list.pop_front();
            // Otherwise a flow that empties its queue each time would always be new.
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

    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let before = left.len();
        self.flows.iter_mut().for_each(|flow| flow.packets.extract(is_meant, left));
        self.packets -= left.len() - before;
        self.bytes -= left[before..].iter().map(Packet::size).sum::<u64>();
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

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use bentpipe_units::Duration;

    fn two_flows() -> (FqCodelQueue, usize, usize) {
        let spec = Spec {
            limit: QueueLimit::Packets(10_240),
            queues: 1024,
            quantum: 1514,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
        };
        let mut queue = FqCodelQueue::new(&spec, Stream::new(1, "link/l.forward", "queue"));
        let first = queue.queue_of(&packet(0, 0, 100));
        let other = (1..).find(|&flow| queue.queue_of(&packet(flow, 0, 100)) != first).unwrap();
        (queue, 0, other)
    }

    /// `docs/specs/aqm.md` test 4.
    #[test]
    fn a_flow_that_sends_little_goes_first() {
        let ((mut queue, bulk, thin), mut losses) = (two_flows(), Losses::new());
        for n in 0..100 {
            queue.enqueue(s(0.0), &packet(bulk, n, 1514), &mut losses);
        }
        assert_eq!(queue.dequeue(s(0.0), &mut losses).unwrap().lane().index(), bulk);
        queue.enqueue(s(0.0), &packet(thin, 0, 100), &mut losses);
        assert_eq!(queue.dequeue(s(0.0), &mut losses).unwrap().lane().index(), thin);
    }

    /// `docs/specs/aqm.md` test 4.
    #[test]
    fn large_and_small_packets_share_by_bytes() {
        let ((mut queue, large, small), mut losses) = (two_flows(), Losses::new());
        let mut sent = [0i64; 2];
        for n in 0..1000 {
            queue.enqueue(s(0.0), &packet(large, n, 1514), &mut losses);
            queue.enqueue(s(0.0), &packet(small, 2 * n, 500), &mut losses);
            queue.enqueue(s(0.0), &packet(small, 2 * n + 1, 500), &mut losses);
        }
        for _ in 0..1000 {
            let packet = queue.dequeue(s(0.0), &mut losses).unwrap();
            sent[usize::from(packet.lane().index() == small)] += packet.size() as i64;
            assert!((sent[0] - sent[1]).abs() <= 1514 + 1514, "{sent:?}");
        }
    }

    /// RFC 8290 §4.1: from its head, 64 packets in one batch.
    #[test]
    fn room_is_made_in_the_longest_queue() {
        let ((mut queue, bulk, thin), mut losses) = (two_flows(), Losses::new());
        queue.enqueue(s(0.0), &packet(thin, 0, 100), &mut losses);
        for n in 0..10_240 {
            queue.enqueue(s(0.0), &packet(bulk, n, 1514), &mut losses);
        }
        let lost: Vec<u32> = losses.iter().map(|(packet, _)| packet.seq.value()).collect();
        assert!(losses.iter().all(|(packet, cause)| (packet.lane().index(), *cause) == (bulk, Cause::QueueOverflow)));
        assert_eq!((lost, queue.len()), ((0..64).collect(), 10_241 - 64));
    }
}
