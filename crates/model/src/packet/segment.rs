//! Packets of segments and messages, with parts in their bodies.

use super::body::Bodies;
use super::header::{Origin, Packet, ABOVE_KIND, DAMAGE, DATAGRAM_HEADERS, MESSAGE, TO_SENDER, UNROUTED};
use super::parts::{Carried, Message, Parts};
use bentpipe_tcp::{Segment, Timestamps};
use bentpipe_units::{Seq, Time};

impl Packet {
    /// A packet that carries `segment`; its rarer parts go into `bodies`.
    #[inline(always)]
    pub fn new(segment: &Segment, origin: &Origin, bodies: &mut Bodies) -> Self {
        let mut packet = Self::plain(&segment.plain(), origin);
        if !segment.is_plain() {
            packet.body = bodies.parts.insert(Parts::of(segment));
            packet.header_len = segment.header_len();
        }
        packet
    }

    /// Timestamps on a packet that carries no options.
    #[inline(always)]
    pub fn stamp(&mut self, timestamps: Timestamps, bodies: &mut Bodies) {
        // Only the number travels: were the packet lent to a call, it would have to be in memory, and be read from there again.
        self.body = bodies.stamp(timestamps);
        self.header_len += Timestamps::LEN;
    }

    /// Its timestamps, if it carries no other options.
    #[inline(always)]
    pub fn only_timestamps(&self, bodies: &Bodies) -> Option<Timestamps> {
        bodies.only_stamp(self).or_else(|| {
            let parts = bodies.parts(self)?;
            parts.timestamps.filter(|_| !parts.has_options())
        })
    }

    /// A message on the way of `packet`, or on the way back: a datagram.
    pub(crate) fn message(packet: &Self, message: Message, is_back: bool, bodies: &mut Bodies) -> Self {
        let direction = if packet.is_to_sender() == is_back { 0 } else { TO_SENDER };
        Self {
            at: Time::ZERO,
            next: UNROUTED,
            session: MESSAGE | packet.session & ABOVE_KIND,
            seq: Seq::new(0),
            body: bodies.loads.insert(Carried::Message(message).into()),
            ack: Seq::new(0),
            len: message.len(),
            window: 0,
            tcp_flags: 0,
            header_len: DATAGRAM_HEADERS,
            flags: direction,
            ..*packet
        }
    }

    /// A packet with another segment, of the same connection and in the same direction.
    pub(crate) fn with_segment(&self, segment: &Segment, bodies: &mut Bodies) -> Self {
        let origin =
            Origin { endpoint: self.endpoint().peer(), owner: self.owned(), first_hop: self.next, class: self.class };
        let made = Self::new(segment, &origin, bodies);
        let made = Self { at: self.at, flags: made.flags | self.flags & DAMAGE, ..made };
        if self.is_made() {
            made.made()
        } else {
            made
        }
    }

    /// A packet with a segment as of the other end of the connection, made in its place: it travels the other way.
    pub(crate) fn answer(&self, segment: &Segment, bodies: &mut Bodies) -> Self {
        let origin = Origin { endpoint: self.endpoint(), owner: self.owned(), first_hop: UNROUTED, class: self.class };
        Self::new(segment, &origin, bodies).made()
    }

    /// The segment that it carries.
    pub fn segment(&self, bodies: &Bodies) -> Segment {
        let plain = self.plain_segment();
        match bodies.parts(self) {
            Some(parts) => parts.onto(plain),
            None => Segment { timestamps: bodies.only_stamp(self), ..plain.into() },
        }
    }

    /// Whether it has TCP options beside timestamps.
    pub fn has_options(&self, bodies: &Bodies) -> bool {
        bodies.parts(self).is_some_and(Parts::has_options)
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::LOWEST;
    use super::super::parts::Label;
    use super::*;
    use crate::ids::EndpointId;
    use bentpipe_tcp::{Ecn, Flags, PlainSegment};

    #[test]
    fn segments_survive_the_journey() {
        let mut bodies = Bodies::default();
        let mut blocks = bentpipe_tcp::SackBlocks::default();
        blocks.push(Seq::new(1), Seq::new(2));
        let segment = Segment {
            seq: Seq::new(5),
            ack: Seq::new(6),
            len: 7,
            window: 8,
            flags: Flags::ACK.with(Flags::AE).with(Flags::CWR).with(Flags::SLOW_START).with(Flags::DUMMY),
            ecn: Ecn::Ect0,
            is_retransmission: true,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            count: Some(9),
            ack_ratio: Some(2),
            multi: None,
            options: bentpipe_tcp::Options::Sack(blocks),
        };
        let mut packet = Packet::new(&segment, &Origin::of(EndpointId::listener(3), 3), &mut bodies);
        assert_eq!(
            (packet.segment(&bodies), packet.size(), packet.endpoint()),
            (segment, 52 + 12 + 8 + 8 + 7, EndpointId::opener(3))
        );
        assert!(packet.mark_ce());
        assert_eq!(packet.segment(&bodies), Segment { ecn: Ecn::Ce, ..segment });
        bodies.release(&packet);
        assert_eq!(bodies.in_use(), 0);
    }

    /// Timestamps alone have slots apart. They stay with copies, and with packets that get other parts or lose them.
    #[test]
    fn timestamps_survive_copies_and_labels() {
        let mut bodies = Bodies::default();
        let stamp = Some(Timestamps { value: 1, echo: 2 });
        let sent = PlainSegment { len: 7, ..PlainSegment::default() };
        let mut packet = Packet::plain(&sent, &Origin::of(EndpointId::opener(3), 3));
        packet.stamp(Timestamps { value: 1, echo: 2 }, &mut bodies);
        assert_eq!((packet.only_timestamps(&bodies), packet.size(), packet.has_options(&bodies)), (stamp, 59, false));
        assert_eq!(packet.segment(&bodies), Segment { timestamps: stamp, ..sent.into() });

        let mut copy = bodies.copy_of(&packet);
        bodies.set_label(&mut copy, Label::ErrorRate(0.5), 4);
        assert_eq!((bodies.label(&copy), bodies.label(&packet)), (Some(Label::ErrorRate(0.5)), None));
        assert_eq!((copy.only_timestamps(&bodies), copy.size(), bodies.in_use()), (stamp, 63, 2));
        assert_eq!(bodies.take_label(&mut copy), Some((Label::ErrorRate(0.5), 4)));
        assert_eq!((copy.only_timestamps(&bodies), bodies.in_use()), (stamp, 2));

        let block = bodies.open_block();
        bodies.copy_to_block(block, &packet);
        bodies.release(&packet);
        let restored = bodies.copy_from_block(block, 0);
        assert_eq!(restored.only_timestamps(&bodies), stamp);
        bodies.release(&restored);
        bodies.release(&copy);
        assert_eq!(bodies.in_use(), 0);
    }

    #[test]
    fn dummies_are_of_the_lowest_class_and_syns_that_offer_them_are_not() {
        let class = |flags: Flags| {
            let segment = Segment { flags: flags.with(Flags::DUMMY), ..Segment::default() };
            Packet::new(&segment, &Origin { class: 3, ..Origin::of(EndpointId::opener(0), 0) }, &mut Bodies::default())
                .class
        };
        assert_eq!([Flags::ACK, Flags::SYN].map(class), [LOWEST, 3]);
    }
}
