//! Adapts packet sizes between a sender and a base station (DPSM; T. Vu, D. Reschke and W. Horn 2002). Source not
//! available: the rules follow descriptions by others.
//!
//! # How it works
//!
//! The base station counts corrupted arrivals. After each eight packets of a flow without an error, its size grows by a
//! factor. Each error shrinks it by another factor. A message brings the size to the sender, which applies it.
//!
//! # Position on the path
//!
//! At a node of kind `processing` behind the link that corrupts packets. Every sender applies the size. Datagrams pass
//! unchanged.
//!
//! # When it helps
//!
//! Smaller packets cross a link with many errors more often.
//!
//! # When it hurts
//!
//! DPSM estimates no error rate. At a constant error rate the size swings around a size where about every eighth packet
//! is lost, and each lost packet still reduces the window.
//!
//! # Differences from the source
//!
//! Readings: all numbers. Known is an adaptive factor that raises and lowers the size by feedback of the base station.

use super::flows::Flows;
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_units::settings;
use bentpipe_units::settings::{Bytes, Thousandths};

settings! {
    /// Dynamic packet sizes.
    pub struct DpsmConfig {
        /// Packets between two decisions.
        feedback: u32 = 8, [1, 1_000_000], "reading";
        /// Factor of the size without an error, 1 to 100.
        up: u32 as Thousandths = 1250, [1.0, 100.0], "reading";
        /// Factor of the size for each error, 0 to 1.
        down: u32 as Thousandths = 800, [0.0, 1.0], "reading";
        /// Whether a decision without an error adds 64 B instead of the factor.
        additive: bool = false, "reading: the factor is used both ways";
        /// The smallest payload.
        min: u32 as Bytes = 40, "BEEN's smallest packet";
        /// The largest payload, which is also the first: the sender's `smss`.
        max: u32 as Bytes = 1460, "the default of smss";
    }
}

/// Bytes that are added to a size.
const STEP: u32 = 64;

/// State of the base station.
#[derive(Clone, Debug)]
pub struct Dpsm {
    config: DpsmConfig,
    flows: Flows<Counted>,
}

/// One direction of a conversation.
#[derive(Clone, Copy, Debug)]
struct Counted {
    packets: u32,
    failures: u32,
    size: u32,
}

impl Dpsm {
    pub(crate) fn new(config: &DpsmConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, flows: Flows::default() }
    }

    /// Returns the size after `failures` failures.
    fn next(&self, size: u32, failures: u32) -> u32 {
        let by =
            |size: u32, thousandths: u32| (u64::from(size) * u64::from(thousandths) / 1000).min(u32::MAX.into()) as u32;
        let DpsmConfig { up, down, additive, min, max, .. } = self.config;
        match failures {
            0 if additive => size.saturating_add(STEP).min(max),
            0 => by(size, up).min(max),
            _ => (0..failures).fold(size, |size, _| by(size, down)).max(min.min(max)).max(1),
        }
    }

    fn count(&mut self, packet: &Packet, is_corrupted: bool, cx: &mut Context<'_>) {
        if !packet.is_segment() || packet.len == 0 {
            return;
        }
        let max = self.config.max;
        let flow = self.flows.entry(packet.conversation(), || Counted { packets: 0, failures: 0, size: max });
        flow.packets += 1;
        flow.failures += u32::from(is_corrupted);
        if flow.packets < self.config.feedback {
            return;
        }
        let Counted { failures, size: before, .. } = *flow;
        let size = self.next(before, failures);
        *self.flows.entry(packet.conversation(), || unreachable!("it is there")) =
            Counted { packets: 0, failures: 0, size };
        if size != before {
            cx.set_segment_size(packet, size);
        }
    }
}

impl Middlebox for Dpsm {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.count(&packet, false, cx);
        if packet.is_segment() {
            self.flows.forget_ended(&packet);
        }
        cx.forward(packet);
    }

    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.count(packet, true, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench};
    use crate::packet::{Message, Origin};
    use bentpipe_tcp::Segment;
    use bentpipe_units::Time;

    /// `docs/specs/dpsm.md`: 1000 B, f = 2: 640; then without a failure 800, 1000, 1200.
    #[test]
    fn sizes_follow_failures_by_factors_or_by_steps() {
        for (additive, expected) in [(false, [640, 800, 1000, 1200]), (true, [640, 704, 768, 832])] {
            let dpsm = Dpsm::new(&DpsmConfig { max: 1200, additive, ..DpsmConfig::default() }, 1, "");
            let mut size = 1000;
            let sizes = [2, 0, 0, 0].map(|failures| {
                size = dpsm.next(size, failures);
                size
            });
            assert_eq!(sizes, expected);
        }
    }

    #[test]
    fn the_sender_is_sent_the_size_after_each_eight_packets() {
        let (mut bench, mut dpsm) =
            (Bench::default(), Dpsm::new(&DpsmConfig { max: 1000, ..DpsmConfig::default() }, 1, ""));
        let segment = Segment { len: 1000, ..Segment::default() };
        let packet = Packet::new(&segment, &Origin::of(EndpointId::opener(0), 0), &mut bench.bodies);
        let mut sizes = Vec::new();
        for at in 0..24 {
            bench.at(Time::ZERO, |cx| {
                if at == 3 || at == 5 {
                    dpsm.on_corrupted(&packet, cx)
                } else {
                    dpsm.on_packet(packet, cx)
                }
            });
            for action in bench.out.take() {
                if let Action::Emit(message) = action {
                    let Some(Message::SegmentSize(_, size)) = bench.bodies.message(&message) else {
                        panic!("{message:?}")
                    };
                    sizes.push((at, size));
                }
            }
        }
        assert_eq!(sizes, [(7, 640), (15, 800), (23, 1000)]);
    }
}
