//! Filters real acknowledgements (RFC 3449 §5.2.1): it reads packets as bytes.

use crate::speaker::received;
use bentpipe_sim::middlebox::{replace_waiting, AckFilterConfig, Context, Middlebox, Side};
use bentpipe_sim::Packet;
use bentpipe_tcp::{Flags, Options};
use bentpipe_units::Seq;
use std::net::SocketAddr;

/// Filter. Like that of simulated packets, it has no state: it only reads waiting packets.
#[derive(Debug)]
pub(crate) struct Filter(pub(crate) AckFilterConfig);

/// Acknowledgement without another function: no data, no SYN, FIN or RST, no blocks.
#[derive(Clone, Copy, Debug)]
struct Bare {
    ends: [SocketAddr; 2],
    flags: Flags,
    ack: Seq,
}

impl Bare {
    fn of(bytes: Option<&[u8]>) -> Option<Self> {
        let read = received(bytes?)?;
        let segment = read.segment;
        let others = Flags::SYN.with(Flags::FIN).with(Flags::RST);
        let is_bare = segment.len == 0
            && segment.flags.has(Flags::ACK)
            && !segment.flags.has_any(others)
            && matches!(segment.options, Options::None);
        is_bare.then_some(Self { ends: [read.from, read.to], flags: segment.flags, ack: segment.ack })
    }

    /// Whether `later` makes it obsolete.
    fn is_replaced_by(&self, later: &Self) -> bool {
        let is_earlier = later.ack.value().wrapping_sub(self.ack.value()) as i32 > 0;
        self.ends == later.ends && self.flags == later.flags && is_earlier
    }
}

impl Middlebox for Filter {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let is_touched = self.0.direction.is_from(Side::origin_of(&packet));
        let Some(this) = Bare::of(cx.bytes(&packet)).filter(|_| is_touched) else { return cx.forward(packet) };
        replace_waiting(packet, self.0.place, cx, |waiting, bodies| {
            // Checked without data, before its bytes are read.
            let old = Bare::of(bodies.bytes(waiting).filter(|_| waiting.len == 0));
            old.is_some_and(|old| old.is_replaced_by(&this))
        });
    }

    fn stands_for(&self) -> Option<&'static str> {
        Some("ack-filter")
    }
}
