//! Notifies sources of corrupted packets: explicit transport error notification (R. Krishnan et al., Computer Networks
//! 46(3), 2004).
//!
//! # How it works
//!
//! A node that receives a corrupted packet with a readable header notifies its source. Backward notices are separate
//! messages (datagrams of 76 bytes). Forward notices are marks on the next packet of the flow, which the receiver
//! echoes. A sender with `error_reports = "resend"` retransmits, and does not reduce its window.
//!
//! The cumulative variant (CETEN; W. Eddy, S. Ostermann and M. Allman, CCR 34(5), 2004) has no notice per packet. Each
//! node multiplies the number on a packet by its share of uncorrupted packets, over the last 1000. The receiver echoes
//! the product. Senders with the verdict `ceten-p` or `ceten-a` derive from it the share of congestion in their losses.
//!
//! # Position on the path
//!
//! A node with `role = "hop"` must be of kind `processing`. Forward and cumulative notices need `role = "receiver"` at
//! the node where the flow ends: its network layer, which passes notices on to the following packets. Datagrams pass
//! unchanged.
//!
//! # When it helps
//!
//! Backward notices arrive as soon as a message from the place of the error can. Forward notices arrive a round trip
//! after it, without a datagram for each error. Cumulative notices cost nothing per loss. All of them keep the window
//! of a sender with errors.
//!
//! # When it hurts
//!
//! Cumulative notices follow the error rate slowly. If errors last, retransmissions are corrupted as well.

use super::flows::Flows;
use crate::middlebox::needs::Need;
use crate::middlebox::{Context, Middlebox, Side};
use crate::packet::{Label, Packet};
use bentpipe_tcp::Notice;
use bentpipe_units::{settings, words};
use std::collections::VecDeque;

/// Packets that give a node's share of errors.
const PACKETS: usize = 1000;

/// Largest number of notices that wait for packets of their conversation. The oldest are forgotten.
const WAITING_MAX: usize = 64;

settings! {
    /// Explicit transport error notification.
    pub struct EtenConfig {
        /// Part of ETEN at this node.
        role: EtenRole = EtenRole::Hop;
        /// Notification of the source.
        notice: NoticeKind = NoticeKind::Backward;
        /// Whether numbers and marks make packets longer, by 8 B.
        option_bytes: bool = false, "existing header fields";
    }
}

words! {
    /// Parts of ETEN.
    pub enum EtenRole {
        /// A node on the path: sees errors.
        "hop" => Hop,
        /// The node where the flow ends: echoes the marks and numbers of its packets.
        "receiver" => Receiver,
    }
}

words! {
    /// Notification of errors.
    pub enum NoticeKind {
        /// A message to the source.
        "backward" => Backward,
        /// A mark on the next packet of the flow.
        "forward" => Forward,
        /// The probability that a packet survives the path, on every packet.
        "cumulative" => Cumulative,
    }
}

impl EtenConfig {
    pub(in crate::middlebox) fn needs(&self) -> Vec<Need> {
        match self.role {
            EtenRole::Hop => vec![Need::Corrupted("kind")],
            EtenRole::Receiver => vec![Need::FlowEnd],
        }
    }
}

/// A node on the path, or the receiver's.
#[derive(Clone, Debug)]
pub struct Eten {
    config: EtenConfig,
    /// Labels that wait for a packet, by the direction of that packet.
    waiting: Flows<VecDeque<Label>>,
    /// Share of errors in each direction.
    seen: [Share; 2],
}

/// Share of errors among the last packets.
#[derive(Clone, Debug, Default)]
struct Share {
    last: VecDeque<bool>,
    corrupted: usize,
}

impl Share {
    fn add(&mut self, is_corrupted: bool) {
        if self.last.len() == PACKETS && self.last.pop_front() == Some(true) {
            self.corrupted -= 1;
        }
        self.last.push_back(is_corrupted);
        self.corrupted += usize::from(is_corrupted);
    }

    fn survival(&self) -> f32 {
        1.0 - self.corrupted as f32 / self.last.len().max(1) as f32
    }
}

impl Eten {
    pub(crate) fn new(config: &EtenConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, waiting: Flows::default(), seen: [Share::default(), Share::default()] }
    }

    fn seen(&mut self, packet: &Packet) -> &mut Share {
        &mut self.seen[usize::from(Side::origin_of(packet) == Side::Receiver)]
    }

    /// Keeps `label` for the next packet of that direction. With `replaces` it replaces waiting labels.
    fn wait(&mut self, conversation: u64, label: Label, replaces: bool) {
        let waiting = self.waiting.entry(conversation, VecDeque::new);
        if replaces {
            waiting.clear();
        } else if waiting.len() == WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(label);
    }

    /// Removes the label for the other endpoint from a packet at the end of its path.
    fn read(&mut self, packet: &mut Packet, cx: &mut Context<'_>) {
        let (echo, replaces) = match cx.label(packet) {
            Some(Label::Survival(survival)) => (Label::SurvivalEcho(survival), true),
            Some(Label::Corrupted { seq, len }) => (Label::CorruptedEcho { seq, len }, false),
            _ => return,
        };
        cx.take_label(packet);
        self.wait(packet.conversation() ^ 1, echo, replaces);
    }
}

impl Middlebox for Eten {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !packet.is_segment() {
            return cx.forward(packet);
        }
        let bytes = 8 * u8::from(self.config.option_bytes);
        match (self.config.role, self.config.notice) {
            (EtenRole::Hop, NoticeKind::Cumulative) if packet.len > 0 => {
                let share = self.seen(&packet);
                share.add(false);
                let survival = share.survival();
                let label = match cx.label(&packet) {
                    Some(Label::Survival(before)) => Some(before * survival),
                    None => Some(survival),
                    Some(_) => None,
                };
                if let Some(survival) = label {
                    cx.set_label(&mut packet, Label::Survival(survival), bytes);
                }
            }
            (EtenRole::Receiver, _) if cx.next_node(&packet).is_none() => self.read(&mut packet, cx),
            _ => {}
        }
        if let (None, Some(waiting)) = (cx.label(&packet), self.waiting.get_mut(packet.conversation())) {
            if let Some(label) = waiting.pop_front() {
                cx.set_label(&mut packet, label, bytes);
            }
        }
        self.waiting.forget_ended(&packet);
        cx.forward(packet);
    }

    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if !packet.is_segment() || packet.len == 0 || self.config.role == EtenRole::Receiver {
            return;
        }
        let (seq, len) = (packet.seq, packet.len);
        match self.config.notice {
            NoticeKind::Backward => cx.notify_sender(packet, Notice::Corrupted { seq, len, error_rate: None }),
            NoticeKind::Forward => self.wait(packet.conversation(), Label::Corrupted { seq, len }, false),
            NoticeKind::Cumulative => self.seen(packet).add(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench};
    use crate::packet::{Message, Origin};
    use bentpipe_tcp::{Flags, Segment};
    use bentpipe_units::{Seq, Time};

    fn eten(role: EtenRole, notice: NoticeKind) -> Eten {
        Eten::new(&EtenConfig { role, notice, ..EtenConfig::default() }, 1, "")
    }

    fn packet(bench: &mut Bench, number: u32, is_back: bool) -> Packet {
        let (seq, ends) = (Seq::new(1000 * number), EndpointId::both(0));
        let len = if is_back { 0 } else { 1000 };
        let segment = Segment { seq, len, flags: Flags::ACK, ..Segment::default() };
        Packet::new(&segment, &Origin::of(ends[usize::from(is_back)], 0), &mut bench.bodies)
    }

    /// A packet passes; what is written on it then, which it keeps.
    fn pass(bench: &mut Bench, eten: &mut Eten, packet: Packet) -> (Packet, Option<Label>) {
        bench.at(Time::ZERO, |cx| eten.on_packet(packet, cx));
        let Some(Action::Forward(packet)) = bench.out.take().pop() else { panic!("it is forwarded") };
        (packet, bench.bodies.label(&packet))
    }

    #[test]
    fn a_backward_notice_names_the_segment_at_once() {
        let (mut bench, mut hop) = (Bench::default(), eten(EtenRole::Hop, NoticeKind::Backward));
        let lost = packet(&mut bench, 5, false);
        bench.at(Time::ZERO, |cx| hop.on_corrupted(&lost, cx));
        let Some(Action::Emit(message)) = bench.out.take().pop() else { panic!("a message leaves") };
        let notice = Notice::Corrupted { seq: Seq::new(5000), len: 1000, error_rate: None };
        assert!(matches!(bench.bodies.message(&message), Some(Message::Notice(_, sent)) if sent == notice));
        assert_eq!((message.is_to_sender(), message.size()), (true, 76));
    }

    #[test]
    fn a_forward_mark_travels_on_the_next_packet_and_comes_back_on_an_ack() {
        let mut bench = Bench::default();
        let (mut hop, mut receiver) =
            (eten(EtenRole::Hop, NoticeKind::Forward), eten(EtenRole::Receiver, NoticeKind::Forward));
        let lost = packet(&mut bench, 5, false);
        bench.at(Time::ZERO, |cx| hop.on_corrupted(&lost, cx));
        let next = packet(&mut bench, 6, false);
        let (next, label) = pass(&mut bench, &mut hop, next);
        let (seq, len) = (Seq::new(5000), 1000);
        assert_eq!(label, Some(Label::Corrupted { seq, len }));
        assert_eq!(pass(&mut bench, &mut receiver, next).1, None, "the receiver's node has read it");
        for expected in [Some(Label::CorruptedEcho { seq, len }), None] {
            let ack = packet(&mut bench, 1, true);
            assert_eq!(pass(&mut bench, &mut receiver, ack).1, expected, "one mark, one echo");
        }
    }

    /// `docs/specs/eln-eten.md`: 0.99 x 0.999 x 0.98 = 0.9692.
    #[test]
    fn the_chance_to_survive_multiplies_over_hops_and_is_echoed() {
        let mut bench = Bench::default();
        let mut last = None;
        let mut hops = [10, 1, 20].map(|corrupted| {
            let mut hop = eten(EtenRole::Hop, NoticeKind::Cumulative);
            let data = packet(&mut bench, 1, false);
            for at in 0..PACKETS - 1 {
                hop.seen(&data).add(at < corrupted);
            }
            hop
        });
        let mut data = packet(&mut bench, 1, false);
        for hop in &mut hops {
            (data, last) = pass(&mut bench, hop, data);
        }
        let Some(Label::Survival(survival)) = last else { panic!("{last:?}") };
        assert!((survival - 0.99 * 0.999 * 0.98).abs() < 1e-6, "{survival}");
        let mut receiver = eten(EtenRole::Receiver, NoticeKind::Cumulative);
        pass(&mut bench, &mut receiver, data);
        let ack = packet(&mut bench, 1, true);
        assert_eq!(pass(&mut bench, &mut receiver, ack).1, Some(Label::SurvivalEcho(survival)));
    }
}
