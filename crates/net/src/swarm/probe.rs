//! Middlebox that uses all its possibilities in turn, so that the comparison of both engines covers them.

use super::draw::Dice;
use super::random::{Sketch, PROBES};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::middlebox::{Context, Middlebox, QueueView};
use bentpipe_model::packet::Packet;
use bentpipe_tcp::{Flags, Segment};
use bentpipe_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// Treats each packet in another way, in turn.
#[derive(Debug)]
pub(super) struct Probe {
    nodes: u64,
    /// Number of packets so far. It decides the treatment: nothing is drawn.
    seen: u64,
    held: VecDeque<(Time, Packet)>,
    watches: bool,
    /// Time of the last request for another segment size.
    sized_at: Time,
}

impl Sketch {
    /// Returns the probes of a network. Some nodes have one.
    pub(super) fn probes(&self, nodes: usize) -> Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)> {
        let mut dice = Dice::new(Stream::new(self.seed, "probes", "sketch"));
        let probed: Vec<NodeId> = NodeId::all(nodes).filter(|_| self.has(PROBES, &mut dice) && dice.coin()).collect();
        let mut probe = |node| {
            let watches = dice.coin();
            let probe = Probe {
                nodes: nodes as u64,
                seen: dice.below(60),
                held: VecDeque::new(),
                watches,
                sized_at: Time::ZERO,
            };
            (node, Box::new(probe) as Box<dyn Middlebox + Send + Sync>)
        };
        probed.into_iter().map(&mut probe).collect()
    }
}

impl Probe {
    fn alter(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match self.seen % 61 {
            1 => cx.consume(packet),
            2 => cx.send_back(packet),
            3 => cx.drop(packet, Cause::Policy),
            4 => {
                let copy = cx.copy_of(&packet);
                cx.emit(copy);
                cx.forward(packet);
            }
            5 => {
                let halved = |segment: Segment| Segment { window: segment.window / 2 + 1, timestamps: None, ..segment };
                let packet = match cx.segment(&packet).map(halved) {
                    Some(segment) => cx.rewrite(packet, &segment),
                    None => packet,
                };
                cx.forward(packet);
            }
            // Waits before the next request: a sender on the same node would repair the segment that it has just cut,
            // for ever.
            6 if cx.now >= self.sized_at + Duration::from_millis(20) => {
                self.sized_at = cx.now;
                cx.set_segment_size(&packet, 500 + 7 * (self.seen % 130) as u32);
                cx.forward(packet);
            }
            7 => {
                let node = NodeId::new((self.seen % self.nodes) as usize);
                cx.send_message(&packet, node, [self.seen, 0], self.seen % 2 == 0);
                cx.forward(packet);
            }
            8 => {
                // The receiver discards a segment without ACK. Forged ACKs could make a sender transmit for ever.
                let turned = |segment: Segment| Segment {
                    flags: Flags::default(),
                    len: 0,
                    seq: segment.ack,
                    ack: segment.seq,
                    ..segment
                };
                if let Some(answer) = cx.segment(&packet).and_then(|segment| cx.answer(&packet, &turned(segment))) {
                    cx.emit(answer);
                }
                cx.forward(packet);
            }
            9 => {
                let mut left = Vec::new();
                cx.extract(&packet, &mut |waiting, _| waiting.lane() != packet.lane(), &mut left);
                left.into_iter().for_each(|packet| cx.forward(packet));
                cx.forward(packet);
            }
            10..20 if cx.queue(&packet).is_some_and(|queue| queue.is_sending && queue.packets < 3) => {
                self.held.push_back((cx.now + Duration::from_millis(self.seen % 40), packet));
            }
            _ => cx.forward(packet),
        }
    }

    fn release(&mut self, cx: &mut Context<'_>) {
        if let Some((_, packet)) = self.held.pop_front() {
            cx.forward(packet);
        }
    }
}

impl Middlebox for Probe {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.seen += 1;
        self.alter(packet, cx);
    }

    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.seen += 1;
        if self.seen % 3 == 0 {
            cx.send_message(packet, NodeId::new((self.seen % self.nodes) as usize), [1, self.seen], true);
        }
    }

    fn on_message(&mut self, words: [u64; 2], packet: &Packet, cx: &mut Context<'_>) -> bool {
        self.seen += words[1] % 5;
        if self.seen % 4 == 0 {
            let copy = cx.copy_of(packet);
            cx.emit(copy);
        }
        self.seen % 3 != 0
    }

    fn on_departure(&mut self, _: LinkId, queue: QueueView, cx: &mut Context<'_>) {
        self.seen += queue.packets as u64 + queue.bytes % 3;
        if queue.packets == 0 {
            self.release(cx);
        }
    }

    fn watches_queues(&self) -> bool {
        self.watches
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while self.next_wakeup() <= cx.now {
            self.release(cx);
        }
    }

    fn next_wakeup(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |held| held.0)
    }

    fn held(&self) -> usize {
        self.held.len()
    }
}
