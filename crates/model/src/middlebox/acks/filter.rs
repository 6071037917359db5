//! Filters acknowledgements in front of a slow link (H. Balakrishnan et al., RFC 3449 §5.2.1).
//!
//! # How it works
//!
//! An acknowledgement is cumulative. A waiting acknowledgement is therefore obsolete when a later one of its connection
//! arrives. The later one replaces it. The link then carries as many acknowledgements as its rate permits, each for all
//! data that arrived in between.
//!
//! The filter spares packets that still have a meaning: duplicates, because the sender counts three of them, segments
//! with data, SYN, FIN or RST, acknowledgements with SACK blocks or SNACKs, and acknowledgements with different ECN
//! flags.
//!
//! # Position on the path
//!
//! In front of the slow link that returns acknowledgements. The filter keeps no state: it looks only at waiting
//! packets.
//!
//! # When it helps
//!
//! If the return link is too slow for the acknowledgements of a full forward link, the filter lets data flow at the
//! forward rate.
//!
//! # When it hurts
//!
//! Fewer acknowledgements are left, each for more data. Senders that count acknowledgements grow their windows slowly
//! and send in bursts. `ack-reconstruct` behind the link repairs both.

use crate::dictionary::Cause;
use crate::middlebox::{Context, Middlebox, Side, Way};
use crate::packet::{Bodies, Packet};
use bentpipe_units::{settings, words};

settings! {
    /// Filter of acknowledgements.
    pub struct AckFilterConfig {
        /// Direction of the packets that are filtered.
        direction: Way = Way::ToSender;
        /// Place of an acknowledgement that has replaced earlier ones. RFC 3449 leaves it open.
        place: Place = Place::First;
    }
}

words! {
    /// Place of an acknowledgement that has replaced earlier ones.
    pub enum Place {
        /// The place of the first one replaced: no acknowledgement waits longer than without the filter.
        "first" => First,
        /// The end of the queue. With much other traffic an acknowledgement may be replaced again and again, and hardly
        /// any gets through.
        "last" => Last,
    }
}

/// A filter at a node.
#[derive(Clone, Debug)]
pub struct AckFilter {
    config: AckFilterConfig,
}

impl AckFilter {
    pub(crate) fn new(config: &AckFilterConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config }
    }
}

impl Middlebox for AckFilter {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let is_touched = self.config.direction.is_from(Side::origin_of(&packet));
        if !is_touched || !is_plain(&packet, cx) {
            return cx.forward(packet);
        }
        replace_waiting(packet, self.config.place, cx, |waiting, bodies| {
            is_replaced_by(waiting, &packet) && !waiting.has_options(bodies)
        });
    }
}

/// Replaces the acknowledgements that wait in front of the link and are obsolete after this one.
pub fn replace_waiting(
    packet: Packet,
    place: Place,
    cx: &mut Context<'_>,
    is_replaced: impl Fn(&Packet, &Bodies) -> bool,
) {
    let now = cx.now;
    let (mut latest, mut has_place, mut replaced) = (packet, false, Vec::new());
    let mut replace = |waiting: &mut Packet, bodies: &Bodies| {
        if !is_replaced(waiting, bodies) {
            return false;
        }
        let takes_this = place == Place::First && !has_place && waiting.size() == packet.size();
        if takes_this {
            has_place = true;
            waiting.trade_places(&mut latest, now);
        }
        !takes_this
    };
    cx.extract(&packet, &mut replace, &mut replaced);
    replaced.into_iter().for_each(|old| cx.drop(old, Cause::Policy));
    if has_place {
        cx.drop(latest, Cause::Policy);
    } else {
        cx.forward(latest);
    }
}

/// Whether a packet is a pure acknowledgement.
fn is_plain(packet: &Packet, cx: &Context<'_>) -> bool {
    packet.is_segment() && packet.is_bare_ack() && !cx.has_options(packet)
}

/// Whether `packet` makes `waiting` obsolete, options aside.
fn is_replaced_by(waiting: &Packet, packet: &Packet) -> bool {
    let is_of_same = waiting.is_segment() && waiting.conversation() == packet.conversation();
    let is_earlier = packet.ack_no().value().wrapping_sub(waiting.ack_no().value()) as i32 > 0;
    is_of_same && is_earlier && waiting.is_bare_ack() && waiting.header_flags() == packet.header_flags()
}
