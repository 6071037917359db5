//! A packet under way: plain data, small, copied from ring to ring.

use super::parts::Recipient;
use crate::ids::{EndpointId, LaneId, PathId};
use bentpipe_tcp::{Ecn, Flags, PlainSegment};
use bentpipe_units::{Seq, Time};

/// A packet: a segment or a datagram, and its place. At most 40 bytes (pinned by a test), because rings of packets fill
/// the cache in a large run.
// Field order matters. With `seq` beside `ack`, one load would take both, and wait for the two stores of a copy.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// Time when it entered the queue. On the link: time when it reaches the far end.
    pub at: Time,
    /// Index of its next hop in the network's hops.
    pub next: u32,
    /// The lower half of its [owner](Packet::owner).
    pub(super) owner: u32,
    /// Slot of its session, or [`SLOTS`] without one. Its [`PacketKind`], [`MADE`] and the upper half of its owner are above.
    pub(crate) session: u32,
    /// Sequence number of a segment.
    pub seq: Seq,
    /// Slot of its rare parts; [`NO_BODY`] without any.
    pub body: u32,
    /// Acknowledged number of a segment.
    pub ack: Seq,
    /// Payload bytes.
    pub len: u16,
    pub(crate) window: u16,
    /// Flags of TCP, encoded by [`pack`].
    pub(crate) tcp_flags: u8,
    /// Bytes of IP and TCP header.
    pub header_len: u8,
    /// [`CORRUPTED`] and the other bits below; the ECN field from [`ECN_SHIFT`] on.
    pub(super) flags: u8,
    /// Class of its flow, or the lowest for a dummy segment: queues may serve classes differently.
    pub class: u8,
}

/// [`Packet::body`] of a packet without options.
pub const NO_BODY: u32 = u32::MAX;

/// Bit of [`Packet::body`]: the rest is the slot of timestamps, the only option of most segments. Also set in [`NO_BODY`].
pub(super) const STAMPED: u32 = 1 << 31;

/// Kind of a packet. All links and queues treat the four alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A segment of a TCP connection: middleboxes can read its header.
    Segment,
    /// A datagram of a session over another transport, with bytes that only its two ends can read.
    Engine,
    /// A datagram of a flow, without a session.
    Datagram,
    /// A message of a middlebox, to another or to an endpoint.
    Message,
}

/// Bits of [`Packet::session`] that are a slot; all of them are set without a session.
pub(super) const SLOTS: u32 = (1 << KIND_SHIFT) - 1;

/// Place of the kind in [`Packet::session`], in the order of [`PacketKind`].
const KIND_SHIFT: u32 = 26;

/// Bits of [`Packet::session`] that are a kind.
const KINDS: u32 = 3 << KIND_SHIFT;

/// Bits of [`Packet::session`] above slot and kind.
pub(super) const ABOVE_KIND: u32 = !(SLOTS | KINDS);

/// Bit of [`Packet::session`]: a middlebox made the segment, its sender did not.
const MADE: u32 = 1 << 28;

/// Place of the upper half of an owner in [`Packet::session`].
const UPPER_HALF: u32 = 29;

/// Bits of [`Packet::session`] of a datagram of a session.
const ENGINE: u32 = (PacketKind::Engine as u32) << KIND_SHIFT;

/// [`Packet::session`] of a datagram without a session.
const DATAGRAM: u32 = (PacketKind::Datagram as u32) << KIND_SHIFT | SLOTS;

/// [`Packet::session`] of a message.
pub(super) const MESSAGE: u32 = (PacketKind::Message as u32) << KIND_SHIFT | SLOTS;

/// [`Packet::next`] of a packet that its node has not forwarded yet.
pub const UNROUTED: u32 = 0;

/// Bytes of IPv4 and UDP header.
pub const DATAGRAM_HEADERS: u8 = 28;

/// Bits of a lane's index in the lower half of an owner. The other three are in the upper half. A scenario has at most
/// a million lanes.
const LANE_BITS: u32 = 17;

/// Numbers of connections within a lane, before they wrap around.
const CONNECTIONS_MAX: u64 = 1 << (32 - LANE_BITS);

const CORRUPTED: u8 = 1;
const RETRANSMISSION: u8 = 2;
pub(super) const TO_SENDER: u8 = 4;
const TRUNCATED: u8 = 8;
const ERASED: u8 = 64;
/// Both bits together mean that the link was removed while the packet was on it.
const CUT_OFF: u8 = CORRUPTED | ERASED;
/// Damage of packets by links.
pub(super) const DAMAGE: u8 = CORRUPTED | TRUNCATED | ERASED;
/// Flag of dummy segments, for which [`pack`] has no place.
const DUMMY: u8 = 128;

/// Class of dummy segments and their answers: the lowest of a queue.
pub const LOWEST: u8 = u8::MAX;
/// First of the two bits of the ECN field.
const ECN_SHIFT: u8 = 4;

/// Fields that all packets of an endpoint share.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Owner, made by [`Packet::owner`] of a lane and a connection.
    pub owner: u64,
    /// Index of the first hop in the network's hops.
    pub first_hop: u32,
    /// Class of the flow.
    pub class: u8,
}

impl Origin {
    /// In class 0, at the first of all hops.
    pub fn of(endpoint: EndpointId, owner: u64) -> Self {
        Self { endpoint, owner, first_hop: 0, class: 0 }
    }
}

/// The upper half of an owner, at its place in [`Packet::session`].
#[inline(always)]
fn upper_half(owner: u64) -> u32 {
    ((owner >> u32::BITS) as u32) << UPPER_HALF
}

impl Packet {
    /// A packet that carries a segment without options.
    #[inline(always)]
    pub fn plain(segment: &PlainSegment, origin: &Origin) -> Self {
        let Origin { endpoint, owner, first_hop, class } = *origin;
        let retransmission = if segment.is_retransmission { RETRANSMISSION } else { 0 };
        let dummy = if segment.flags.has(Flags::DUMMY) { DUMMY } else { 0 };
        Self {
            at: Time::ZERO,
            next: first_hop,
            owner: owner as u32,
            session: endpoint.slot() as u32 | upper_half(owner),
            seq: segment.seq,
            ack: segment.ack,
            body: NO_BODY,
            len: segment.len,
            window: segment.window,
            tcp_flags: pack(segment.flags),
            header_len: PlainSegment::HEADER_LEN,
            flags: retransmission
                | dummy
                | if endpoint.side() == 1 { TO_SENDER } else { 0 }
                | (segment.ecn.bits() << ECN_SHIFT),
            class: if segment.is_dummy() { LOWEST } else { class },
        }
    }

    /// A datagram on `lane`. It remembers when it was sent, where segments have their sequence numbers. An answer remembers
    /// when its probe was sent.
    pub fn datagram(now: Time, lane: LaneId, len: u16, first_hop: u32) -> Self {
        Self {
            at: Time::ZERO,
            next: first_hop,
            owner: Self::owner(lane, 0) as u32,
            session: DATAGRAM | upper_half(Self::owner(lane, 0)),
            seq: Seq::new((now.as_ps() >> 32) as u32),
            ack: Seq::new(now.as_ps() as u32),
            body: NO_BODY,
            len,
            window: 0,
            tcp_flags: 0,
            header_len: DATAGRAM_HEADERS,
            flags: 0,
            class: 0,
        }
    }

    /// A datagram of a session over an [engine](crate::stack::Engine), with the bytes in `body`.
    pub fn engine(origin: &Origin, len: u16, ecn: Ecn, body: u32) -> Self {
        let segment = PlainSegment { len, ecn, ..PlainSegment::default() };
        let packet = Self::plain(&segment, origin);
        Self { session: packet.session | ENGINE, body, tcp_flags: 0, header_len: DATAGRAM_HEADERS, ..packet }
    }

    /// Its header alone, to remember it by: without options or bytes, and no packet to be sent.
    #[must_use]
    #[inline]
    pub fn header(&self) -> Self {
        Self { body: NO_BODY, ..*self }
    }

    /// The same packet on its way back, undamaged.
    pub fn turned(&self) -> Self {
        Self { next: UNROUTED, flags: (self.flags ^ TO_SENDER) & !DAMAGE, ..*self }
    }

    /// A packet of a stranger on this path, of which `header_len` bytes are its header.
    pub fn foreign(path: PathId, len: u16, header_len: u8, body: u32) -> Self {
        Self { body, header_len, ..Self::datagram(Time::ZERO, path.lane(), len, UNROUTED).towards(path) }
    }

    /// The same packet in the direction of `path`.
    #[must_use]
    pub fn towards(self, path: PathId) -> Self {
        let flags = if path.is_back() { self.flags | TO_SENDER } else { self.flags & !TO_SENDER };
        Self { flags, ..self }
    }

    /// Its lane.
    #[inline]
    pub fn lane(&self) -> LaneId {
        let lower = self.owner & ((1 << LANE_BITS) - 1);
        LaneId::new((lower | self.session >> UPPER_HALF << LANE_BITS) as usize)
    }

    /// Its lane and its direction.
    #[inline]
    pub fn path(&self) -> PathId {
        if self.is_to_sender() {
            PathId::back(self.lane())
        } else {
            PathId::there(self.lane())
        }
    }

    /// The owner of packets of connection `number` on `lane`: the connection's number above the lower bits of the lane's index, and
    /// in the upper half the rest of that. Numbers wrap around.
    #[inline]
    pub fn owner(lane: LaneId, number: u64) -> u64 {
        let lane = lane.index() as u64;
        let lower = lane & ((1 << LANE_BITS) - 1) | (number % CONNECTIONS_MAX) << LANE_BITS;
        lower | lane >> LANE_BITS << u32::BITS
    }

    /// Whose it is, as [`owner`](Self::owner) makes it.
    pub(super) fn owned(&self) -> u64 {
        u64::from(self.owner) | u64::from(self.session >> UPPER_HALF) << u32::BITS
    }

    /// The number of its connection within its lane. Numbers wrap around.
    #[inline]
    pub fn connection(&self) -> u32 {
        self.owner >> LANE_BITS
    }

    /// Identifies its connection, or the datagrams of its lane, among those on the same link, in one direction.
    #[inline]
    pub fn conversation(&self) -> u64 {
        self.owned() << 1 | u64::from(self.is_to_sender())
    }

    /// The same datagram, on another lane.
    #[inline]
    pub fn on_lane(self, lane: LaneId) -> Self {
        let owner = Self::owner(lane, 0);
        Self { owner: owner as u32, session: DATAGRAM | upper_half(owner), ..self }
    }

    /// The same packet in a class.
    #[inline]
    pub fn in_class(self, class: u8) -> Self {
        Self { class, ..self }
    }

    /// Its kind.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match (self.session & KINDS) >> KIND_SHIFT {
            0 => PacketKind::Segment,
            1 => PacketKind::Engine,
            2 => PacketKind::Datagram,
            _ => PacketKind::Message,
        }
    }

    /// Whether it is a segment of a TCP connection. Its rare parts are then those of a segment, else they are a load.
    #[inline]
    pub fn is_segment(&self) -> bool {
        self.session & KINDS == 0
    }

    /// Whether it belongs to a session: a segment, or a datagram of an engine.
    #[inline]
    pub fn is_of_session(&self) -> bool {
        matches!(self.kind(), PacketKind::Segment | PacketKind::Engine)
    }

    /// Whether a middlebox made it, for another or for an endpoint.
    #[inline]
    pub fn is_message(&self) -> bool {
        self.kind() == PacketKind::Message
    }

    /// Whether a middlebox made its segment. A copy of a packet, and a packet that was restored, are its sender's.
    #[inline(always)]
    pub fn is_made(&self) -> bool {
        self.session & MADE != 0
    }

    /// Whether it is a retransmission, or made by a middlebox.
    #[inline(always)]
    pub fn is_counted_apart(&self) -> bool {
        u32::from(self.flags & RETRANSMISSION) | self.session & MADE != 0
    }

    /// The same packet, made by a middlebox.
    pub(super) fn made(self) -> Self {
        Self { session: self.session | MADE, ..self }
    }

    /// When this datagram was sent.
    #[inline]
    pub fn sent_at(&self) -> Time {
        Time::from_ps(u64::from(self.seq.value()) << 32 | u64::from(self.ack.value()))
    }

    /// Returns the segment without the parts in its body.
    #[inline(always)]
    pub fn plain_segment(&self) -> PlainSegment {
        PlainSegment {
            seq: self.seq,
            ack: self.ack,
            len: self.len,
            window: self.window,
            flags: unpack(self.tcp_flags, self.flags),
            ecn: self.ecn(),
            is_retransmission: self.flags & RETRANSMISSION != 0,
        }
    }

    /// The flags of its TCP header.
    pub fn header_flags(&self) -> Flags {
        unpack(self.tcp_flags, self.flags)
    }

    /// Its acknowledgement number.
    pub fn ack_no(&self) -> Seq {
        self.ack
    }

    /// Whether it acknowledges and does nothing else: no payload, no SYN, FIN or RST, and no dummy.
    pub fn is_bare_ack(&self) -> bool {
        let flags = self.header_flags();
        let others = Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::DUMMY);
        self.len == 0 && flags.has(Flags::ACK) && !flags.has_any(others)
    }

    /// The end of a connection that sent it.
    pub(crate) fn sender(&self) -> Recipient {
        Recipient { endpoint: self.endpoint().peer(), owner: self.owned() }
    }

    /// The end of a connection that it is for.
    #[inline]
    pub fn recipient(&self) -> Recipient {
        Recipient { endpoint: self.endpoint(), owner: self.owned() }
    }

    /// The two change places: this one waits in a queue, the other has come at `now`. They are of the same size.
    pub fn trade_places(&mut self, other: &mut Self, now: Time) {
        std::mem::swap(self, other);
        self.at = now;
        std::mem::swap(&mut self.next, &mut other.next);
        std::mem::swap(&mut self.class, &mut other.class);
    }

    /// Bytes on the wire, headers included.
    #[inline]
    pub fn size(&self) -> u64 {
        self.length().into()
    }

    /// Its size, in 32 bits.
    #[inline(always)]
    pub fn length(&self) -> u32 {
        u32::from(self.len) + u32::from(self.header_len)
    }

    /// Whether a link corrupted, truncated or erased it, or was taken away.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.flags & DAMAGE != 0
    }

    /// Whether a link corrupted it.
    #[inline]
    pub fn is_corrupted(&self) -> bool {
        self.flags & CORRUPTED != 0
    }

    /// A link corrupts it.
    pub fn corrupt(&mut self) {
        self.flags |= CORRUPTED;
    }

    /// Whether an error of a link erased it: it does not arrive.
    #[inline]
    pub fn is_erased(&self) -> bool {
        self.flags & ERASED != 0
    }

    /// An error of a link erases it.
    pub fn erase(&mut self) {
        // Not with the mark of an earlier corruption: both together mean that it was cut off.
        if !self.is_cut_off() {
            self.flags = self.flags & !CORRUPTED | ERASED;
        }
    }

    /// Whether its link was taken away before it arrived.
    #[inline]
    pub fn is_cut_off(&self) -> bool {
        self.flags & CUT_OFF == CUT_OFF
    }

    /// Its link is taken away before it arrives.
    pub fn cut_off(&mut self) {
        self.flags |= CUT_OFF;
    }

    /// Its ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.flags >> ECN_SHIFT)
    }

    /// A queue marks it CE, if its sender supports ECN; returns whether it did.
    pub fn mark_ce(&mut self) -> bool {
        let supports_ecn = self.ecn() != Ecn::NotEct;
        if supports_ecn {
            self.flags |= Ecn::Ce.bits() << ECN_SHIFT;
        }
        supports_ecn
    }

    /// Whether it was being sent on a link that went down.
    #[inline]
    pub fn is_truncated(&self) -> bool {
        self.flags & TRUNCATED != 0
    }

    /// The link goes down while it is being sent.
    pub fn truncate(&mut self) {
        self.flags |= TRUNCATED;
    }

    /// Whether it travels against its flow: from the receiver to the sender.
    #[inline]
    pub fn is_to_sender(&self) -> bool {
        self.flags & TO_SENDER != 0
    }

    /// The endpoint that it travels to.
    #[inline]
    pub fn endpoint(&self) -> EndpointId {
        let slot = (self.session & SLOTS) as usize;
        if self.is_to_sender() {
            EndpointId::opener(slot)
        } else {
            EndpointId::listener(slot)
        }
    }
}

/// Our connections set neither PSH nor URG: in a packet their bits are those of the flags above the eighth.
const PLACES: [(Flags, u8); 2] = [(Flags::AE, 0x08), (Flags::SLOW_START, 0x20)];

/// Packs the flags of TCP into eight bits.
#[inline]
fn pack(flags: Flags) -> u8 {
    if flags.bits() <= 0xff {
        return flags.bits() as u8;
    }
    pack_rare(flags)
}

// `cold` keeps the loops below out of the path of all other packets.
#[cold]
fn pack_rare(flags: Flags) -> u8 {
    PLACES.iter().fold(flags.bits() as u8, |packed, (flag, place)| packed | if flags.has(*flag) { *place } else { 0 })
}

#[inline]
fn unpack(packed: u8, packet_flags: u8) -> Flags {
    if (packed & 0x28) | (packet_flags & DUMMY) == 0 {
        return Flags::from_bits(packed.into());
    }
    unpack_rare(packed, packet_flags)
}

#[cold]
fn unpack_rare(packed: u8, packet_flags: u8) -> Flags {
    let dummy = if packet_flags & DUMMY == 0 { Flags::default() } else { Flags::DUMMY };
    let low = packed & !PLACES.iter().fold(0, |all, (_, place)| all | place);
    let high = PLACES.iter().filter(|(_, place)| packed & place != 0);
    high.fold(Flags::from_bits(low.into()).with(dummy), |flags, (flag, _)| flags.with(*flag))
}

#[cfg(test)]
mod tests {
    use super::super::body::Bodies;
    use super::super::parts::Message;
    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn packets_stay_small() {
        assert!(std::mem::size_of::<Packet>() <= 40, "{}", std::mem::size_of::<Packet>());
    }

    #[test]
    fn a_million_lanes_are_told_apart() {
        for (lane, number) in [(0, 0), (131_071, 32_767), (131_072, 0), (131_073, 5), (999_999, 32_767)] {
            let (lane, slot) = (LaneId::new(lane), 3_999_999);
            let owner = Packet::owner(lane, number);
            let origin = Origin::of(EndpointId::opener(slot), owner);
            let packet = Packet::plain(&PlainSegment::default(), &origin);
            assert_eq!((packet.lane(), u64::from(packet.connection())), (lane, number));
            assert_eq!(packet.recipient(), Recipient { endpoint: EndpointId::listener(slot), owner });
            let datagram = Packet::datagram(Time::ZERO, lane, 1, UNROUTED);
            assert_eq!([datagram, packet].map(|packet| packet.kind()), [PacketKind::Datagram, PacketKind::Segment]);
            assert_eq!((datagram.lane(), datagram.connection()), (lane, 0));
        }
    }

    #[test]
    fn kind_slot_and_owner_share_a_word() {
        let (lane, slot) = (LaneId::new(999_999), SLOTS as usize - 1);
        let origin = Origin::of(EndpointId::listener(slot), Packet::owner(lane, 5));
        let segment = Packet::plain(&PlainSegment::default(), &origin).made();
        for (code, kind) in
            (0..).zip([PacketKind::Segment, PacketKind::Engine, PacketKind::Datagram, PacketKind::Message])
        {
            let packet = Packet { session: segment.session & !KINDS | code << KIND_SHIFT, ..segment };
            assert_eq!((packet.kind(), packet.is_segment()), (kind, kind == PacketKind::Segment));
            assert_eq!((packet.endpoint(), packet.is_made()), (EndpointId::opener(slot), true));
            assert_eq!((packet.lane(), packet.connection()), (lane, 5));
            let message =
                Packet::message(&packet, Message::ToNode(NodeId::new(0), [0; 2]), true, &mut Bodies::default());
            assert_eq!((message.kind(), message.lane(), message.is_made()), (PacketKind::Message, lane, true));
        }
    }

    /// The link that loses a packet names the cause, also if an earlier link corrupted it.
    #[test]
    fn a_corrupted_packet_that_is_erased_was_not_cut_off() {
        let mut packet = Packet::datagram(Time::ZERO, LaneId::new(0), 1, UNROUTED);
        packet.corrupt();
        packet.erase();
        assert!(packet.is_erased() && !packet.is_cut_off());
        packet.cut_off();
        packet.erase();
        assert!(packet.is_cut_off());
    }

    #[test]
    fn datagrams_remember_when_they_were_sent() {
        let now = Time::from_ps(0x1234_5678_9abc_def0);
        let packet = Packet::datagram(now, LaneId::new(3), 1200, 0);
        assert_eq!((packet.sent_at(), packet.size(), packet.kind()), (now, 1228, PacketKind::Datagram));
    }
}
