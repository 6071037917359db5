//! Retransmits lost data locally in front of a lossy link (Snoop; H. Balakrishnan, S. Seshan, E. Amir and R. Katz,
//! "Improving TCP/IP performance over wireless networks", 1995).
//!
//! # How it works
//!
//! The node keeps copies of the data that crosses it. The first duplicate acknowledgement of a segment that it has
//! triggers a retransmission, ahead of the sender. The duplicates end at the node. It acknowledges nothing itself: a
//! loss of its state costs speed only.
//!
//! # Position on the path
//!
//! At the node in front of the lossy link, on the path of both directions.
//!
//! # When it helps
//!
//! Errors behind it are repaired within the round trip from the node, and the sender does not notice them.
//!
//! # When it hurts
//!
//! - If the round trip behind it is nearly the whole round trip, as over a satellite, the sender's timer may expire
//!   before the repair is complete.
//! - It repairs one hole per round trip and hides all losses alike. If a queue behind it overflows, such as its node's
//!   queue, the sender does not notice and waits for its timer. In front of the queue of a low orbit's uplink it left a
//!   Linux sender 0.055 of the goodput. On the satellite, behind that queue, it left 0.91 (0.81 to 1.02).

use super::copies::Copies;
use super::copying::{Copying, Direction};
use crate::middlebox::{Context, Side, Way};
use crate::packet::Packet;
use bentpipe_tcp::{Flags, Options, Segment};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// Cache of data in front of a lossy link.
    pub struct SnoopConfig {
        /// Buffer for each direction of a connection. Data that does not fit passes without a copy.
        buffer: u64 as Bytes = 6_291_456, "as `split`";
        /// Direction of the data that it copies.
        direction: Way = Way::ToReceiver;
        /// Shortest time before it retransmits a segment by timer.
        timeout_min: Duration = Duration::from_millis(20);
        /// Directions of connections with copies at the same time. Other data passes unchanged.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
    }
}

/// The cache of a node.
pub type Snoop = Copying<Watched>;

/// State of one direction of a connection.
#[derive(Clone, Debug)]
pub struct Watched {
    copies: Copies,
    /// End of the data that has passed.
    end: u64,
    /// Place of the last retransmission for a duplicate acknowledgement.
    repaired: Option<u64>,
}

/// Timeouts in a row after which it leaves the repair to the sender.
const TIMEOUTS_MAX: u32 = 5;

impl Direction for Watched {
    type Config = SnoopConfig;
    const TIMEOUTS_MAX: u32 = TIMEOUTS_MAX;

    fn idle(config: &SnoopConfig) -> Duration {
        config.idle
    }

    fn on_syn(snoop: &mut Snoop, packet: &Packet, segment: &Segment, cx: &mut Context<'_>) {
        let is_touched = snoop.config.direction.is_from(Side::origin_of(packet));
        if is_touched && snoop.sessions.len() < snoop.config.sessions as usize {
            let copies = Copies::new(packet, segment, cx.now);
            snoop.begin(packet, Self { copies, end: 0, repaired: None }, cx);
            snoop.arm(packet.conversation());
        }
    }

    fn copies(&mut self) -> &mut Copies {
        &mut self.copies
    }

    fn on_data(&mut self, segment: &Segment, config: &SnoopConfig, cx: &mut Context<'_>) -> bool {
        let start = self.copies.offset(segment.data_seq());
        let end = start + segment.sequence_len();
        if segment.flags.has(Flags::FIN) {
            self.copies.fin_at = Some(end - 1);
        }
        let is_new = start >= self.end;
        self.end = self.end.max(end);
        if !is_new {
            // The sender has found a loss itself: its retransmission gives no sample, and this node leaves it alone.
            self.copies.forget_sample(start, cx.now);
        } else if self.copies.bytes() + u64::from(segment.len) <= config.buffer {
            self.copies.insert(segment, Some(cx.now));
        }
        true
    }

    fn on_ack(&mut self, packet: &mut Packet, segment: &Segment, _: &SnoopConfig, cx: &mut Context<'_>) -> bool {
        // RFC 9293 §3.10.7.4: segments without ACK are ignored.
        if !segment.flags.has(Flags::ACK) {
            return true;
        }
        let ack = self.copies.offset(segment.ack);
        if ack > self.copies.acked {
            self.copies.free_to(cx.now, ack, self.repaired.is_none() && self.copies.backoff == 0);
            (self.copies.backoff, self.repaired) = (0, None);
            if matches!(segment.options, Options::Sack(_)) && self.copies.get(ack).is_some() {
                // The next hole, visible to the sender by the blocks.
                self.repaired = Some(ack);
                self.copies.send(ack, cx);
                *packet = cx.rewrite(*packet, &Segment { options: Options::None, ..*segment });
            }
            return true;
        }
        if ack < self.copies.acked || !packet.is_bare_ack() || self.copies.get(ack).is_none() {
            return true;
        }
        if self.repaired != Some(ack) {
            self.repaired = Some(ack);
            self.copies.send(ack, cx);
        }
        false
    }

    fn timeout(&self, config: &SnoopConfig) -> Option<Time> {
        let srtt = self.copies.srtt?;
        let sent = self.copies.oldest()?.sent?;
        Some(sent + (srtt * 3 / 2).max(config.timeout_min) * (1 << self.copies.backoff.min(TIMEOUTS_MAX)))
    }

    fn on_timeout(&mut self, _: &SnoopConfig, cx: &mut Context<'_>) {
        self.copies.send(self.copies.acked, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench, Middlebox};
    use crate::packet::Origin;
    use bentpipe_units::Seq;

    /// pep.md, test 5: segments 1 to 5, of which 2 is lost on the air.
    #[test]
    fn the_first_duplicate_repairs_and_none_goes_further() {
        let (mut snoop, mut bench) = (Snoop::new(&SnoopConfig::default(), 1, "node/n/0"), Bench::default());
        let mut see = |ms: u64, from: usize, seq: u32, ack: u32, len: u16, flags: Flags| {
            let end = EndpointId::both(0)[from];
            let segment = Segment { seq: Seq::new(seq), ack: Seq::new(ack), len, flags, ..Segment::default() };
            let packet = Packet::new(&segment, &Origin::of(end, 0), &mut bench.bodies);
            bench.at(Time::ZERO + Duration::from_millis(ms), |cx| snoop.on_packet(packet, cx));
            let actions = bench.out.take();
            let shown = actions.iter().filter_map(|action| match action {
                Action::Forward(packet) => Some(("forward", packet.seq.value() + packet.ack.value())),
                Action::Emit(packet) => Some(("emit", packet.seq.value())),
                Action::Consume(packet) => Some(("consume", packet.ack.value())),
                _ => None,
            });
            shown.collect::<Vec<_>>()
        };
        see(0, 0, 0, 0, 0, Flags::SYN);
        for n in 0..5 {
            assert_eq!(see(1, 0, 1 + 100 * n, 0, 100, Flags::ACK), [("forward", 1 + 100 * n)]);
        }
        assert_eq!(see(10, 1, 0, 101, 0, Flags::ACK), [("forward", 101)]);
        // Three duplicates, for segments 3 to 5.
        assert_eq!(see(11, 1, 0, 101, 0, Flags::ACK), [("emit", 101), ("consume", 101)]);
        assert_eq!(see(12, 1, 0, 101, 0, Flags::ACK), [("consume", 101)]);
        assert_eq!(see(13, 1, 0, 101, 0, Flags::ACK), [("consume", 101)]);
        assert_eq!(see(20, 1, 0, 501, 0, Flags::ACK), [("forward", 501)]);
        assert_eq!(snoop.sessions.get_mut(0).unwrap().copies.bytes(), 0);
    }
}
