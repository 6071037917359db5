//! Marks the duplicate acknowledgements that ask for a corrupted segment: explicit loss notification (H. Balakrishnan
//! and R. Katz 1998).
//!
//! # How it works
//!
//! A base station remembers the segments that arrived corrupted, and marks the duplicate acknowledgements that ask for
//! them. A sender with `error_reports = "resend"` retransmits at the first of them, at most once per round trip, and
//! does not reduce its window.
//!
//! # Position on the path
//!
//! At a node of kind `processing` behind the link that corrupts packets. Acknowledgements must return through it.
//! Datagrams pass unchanged.
//!
//! # When it helps
//!
//! A loss is repaired one round trip after it happened, as with fast retransmit, but the window stays.
//!
//! # When it hurts
//!
//! It does nothing for a window too small for duplicates. If errors last, the retransmissions are corrupted as well.

use super::flows::Flows;
use crate::middlebox::{Context, Middlebox};
use crate::packet::{Label, Packet};
use bentpipe_units::{settings, Seq};
use std::collections::VecDeque;

/// Largest number of remembered segments per conversation. The oldest are forgotten.
const SEGMENTS_MAX: usize = 256;

settings! {
    /// Marks on duplicate acknowledgements.
    pub struct ElnConfig {
        /// Whether the mark makes a packet longer, by 8 B.
        option_bytes: bool = false, "a bit of the header";
    }
}

/// Agent of the base station.
#[derive(Clone, Debug)]
pub struct Eln {
    config: ElnConfig,
    /// Corrupted segments by direction of the data.
    flows: Flows<Corrupted>,
}

/// Corrupted segments of one direction of a conversation.
#[derive(Clone, Debug, Default)]
struct Corrupted {
    segments: VecDeque<Seq>,
    last_ack: Option<Seq>,
}

impl Eln {
    pub(crate) fn new(config: &ElnConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, flows: Flows::default() }
    }
}

impl Middlebox for Eln {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if packet.is_bare_ack() && packet.is_segment() {
            if let Some(flow) = self.flows.get_mut(packet.conversation() ^ 1) {
                let ack = packet.ack_no();
                let is_duplicate = flow.last_ack.replace(ack) == Some(ack);
                flow.segments.retain(|seq| ack.at(0).value().wrapping_sub(seq.value()) as i32 <= 0);
                if is_duplicate && flow.segments.contains(&ack) && cx.label(&packet).is_none() {
                    cx.set_label(&mut packet, Label::LossIsCorruption, 8 * u8::from(self.config.option_bytes));
                }
            }
        }
        if packet.is_segment() {
            self.flows.forget_ended(&packet);
        }
        cx.forward(packet);
    }

    fn on_corrupted(&mut self, packet: &Packet, _: &mut Context<'_>) {
        if !packet.is_segment() || packet.len == 0 {
            return;
        }
        let flow = self.flows.entry(packet.conversation(), Corrupted::default);
        if flow.segments.len() == SEGMENTS_MAX {
            flow.segments.pop_front();
        }
        if !flow.segments.contains(&packet.seq) {
            flow.segments.push_back(packet.seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench};
    use crate::packet::Origin;
    use bentpipe_tcp::{Flags, Segment};
    use bentpipe_units::Time;

    #[test]
    fn duplicates_that_ask_for_what_was_corrupted_are_marked_and_no_others() {
        let (mut bench, mut eln) = (Bench::default(), Eln::new(&ElnConfig::default(), 1, ""));
        let [opener, listener] = EndpointId::both(0);
        for number in [2, 3] {
            let segment = Segment { seq: Seq::new(1000 * number), len: 1000, ..Segment::default() };
            let packet = Packet::new(&segment, &Origin::of(opener, 0), &mut bench.bodies);
            bench.at(Time::ZERO, |cx| eln.on_corrupted(&packet, cx));
        }
        let mut is_marked = |number: u32, flags| {
            let segment = Segment { ack: Seq::new(1000 * number), flags, ..Segment::default() };
            let packet = Packet::new(&segment, &Origin::of(listener, 0), &mut bench.bodies);
            bench.at(Time::ZERO, |cx| eln.on_packet(packet, cx));
            let Some(Action::Forward(packet)) = bench.out.take().pop() else { panic!("it is forwarded") };
            bench.bodies.label(&packet) == Some(Label::LossIsCorruption)
        };
        let acks = [1, 1, 2, 2, 2, 3, 3, 4, 4, 2, 2];
        let marks = acks.map(|number| is_marked(number, Flags::ACK));
        assert_eq!(marks, [false, false, false, true, true, false, true, false, false, false, false]);
        is_marked(4, Flags::ACK.with(Flags::FIN));
        assert_eq!(eln.flows.len(), 0, "nothing is left of a flow that has ended");
    }
}
