//! A filter of acknowledgements in front of a slow link (H. Balakrishnan et al., RFC 3449 §5.2.1): an acknowledgement is
//! cumulative, so that one which waits says nothing any more when a later one of its connection has come. The later one takes
//! its place, and as many cross the link as it carries, each for all data that arrived in between.
//!
//! What still means something is spared: duplicates, of which the sender counts three, segments with data, SYN, FIN or RST,
//! acknowledgements with SACK blocks or SNACKs, and those whose ECN flags differ.
//!
//! # Where it may stand
//!
//! In front of the slow link by which acknowledgements return. It keeps no state: all that it knows is what waits.
//!
//! # What it helps, and what it harms
//!
//! Where the return link is too slow for the acknowledgements of a full forward link, it lets data flow at the forward rate.
//! What is left are fewer acknowledgements for more data: senders that count them grow their windows slowly and send in
//! bursts; `ack-reconstruct` behind the link mends both.

use super::{Context, Middlebox, Side, Way};
use crate::dictionary::Cause;
use crate::packet::{Bodies, Packet};
use bentpipe_units::{settings, words};

settings! {
    /// A filter of acknowledgements.
    pub struct AckFilterConfig {
        /// Which packets are looked at.
        direction: Way = Way::ToSender;
        /// Where an acknowledgement waits that has replaced earlier ones. RFC 3449 leaves it open.
        place: Place = Place::First;
    }
}

words! {
    /// Where an acknowledgement waits that has replaced earlier ones.
    pub enum Place {
        /// In the place of the first of them: between other traffic none waits longer than without the filter.
        "first" => First,
        /// At the end of the queue: where much other traffic waits, one may be replaced again and again, and hardly any gets through.
        "last" => Last,
    }
}

/// The filter.
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

/// An acknowledgement takes the place of those that wait in front of its link and say nothing that it does not say too.
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

/// Whether a packet is an acknowledgement and nothing else.
fn is_plain(packet: &Packet, cx: &Context<'_>) -> bool {
    !packet.is_datagram() && packet.is_bare_ack() && !cx.has_options(packet)
}

/// Whether `waiting` says nothing that `packet` does not say too, options aside.
fn is_replaced_by(waiting: &Packet, packet: &Packet) -> bool {
    let is_of_same = !waiting.is_datagram() && waiting.conversation() == packet.conversation();
    let is_earlier = packet.ack_no().value().wrapping_sub(waiting.ack_no().value()) as i32 > 0;
    is_of_same && is_earlier && waiting.is_bare_ack() && waiting.header_flags() == packet.header_flags()
}
