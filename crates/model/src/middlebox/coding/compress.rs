//! Compresses TCP headers between two nodes. A compressor replaces the headers of TCP by short ones with the changes
//! since the packet before. A decompressor restores them from its copy of that packet. `scheme = "vj"` is RFC 1144,
//! `"iphc"` is RFC 2507, `"rohc"` follows RFC 6846.
//!
//! # How it works
//!
//! Each direction of a connection has a context at both ends. There are `contexts` of them. When all are in use, the
//! least recently used one is replaced. The first packet of a context has a full header.
//!
//! - With `vj` and `iphc` the next packets have `header` bytes, with the increase of sequence number, acknowledgement
//!   number and window. A header is full where a number goes back, as in retransmissions, or grows by more than 65,535.
//!   It is also full where ECN or flags change, and where nothing changes, as in duplicate ACKs (RFC 1144 §3.2.3).
//! - For packets with options, `vj` sends full headers, too. `iphc` sends the options in addition to the `header`
//!   bytes.
//! - With `rohc` all headers have `header` bytes, options included, except the first `window` of a context.
//! - SYN, FIN, RST, datagrams and messages pass unchanged.
//!
//! After a lost packet:
//!
//! - With `vj` and `iphc` the decompressor adds differences. After a lost packet the sums are wrong, and TCP's checksum
//!   shows it. All packets of the connection end at the decompressor until a full header arrives. With `vj` that is a
//!   retransmission after a timeout (RFC 1144 §4.2).
//! - With `iphc` the decompressor adds the same difference once more and tests the result (`twice`, RFC 2507 §10.1). It
//!   also requests a full header from the compressor, at most once in `again` per context.
//! - With `rohc` a header is readable if at most `window` packets before it are missing. Otherwise the decompressor
//!   requests full headers, too, and the next `window` headers are full. In any case a full header follows every
//!   `refresh`.
//! - The decompressor notices losses only by later arrivals.
//!
//! # Position on the path
//!
//! One with `role = "compressor"` in front of slow links, one with `role = "decompressor"` behind them, both with the
//! same `scheme`. A bent pipe can be neither. A packet is compressed if a decompressor follows on its route, at a later
//! node and before another compressor. All other packets pass unchanged. RFC 1144 and RFC 2507 are for one link: nodes
//! between the two should be bent pipes, and queues between them first in, first out. For both directions, each node
//! needs a compressor and a decompressor.
//!
//! # When it helps
//!
//! A header of 40 B becomes 4 B. An ACK takes a tenth of the rate, and small segments take much less. Links that lose a
//! packet with the probability of each of its bits lose fewer short packets.
//!
//! # When it hurts
//!
//! - On a lossy link, `vj` turns each lost packet into a timeout.
//! - Where options change with each packet, as timestamps do, `vj` saves nothing.
//! - Middleboxes in between that reorder, duplicate or drop packets, such as `ack-filter`, damage contexts.
//! - A packet whose route changes in between, to a route without decompressor, arrives with a short header.
//!
//! With `contexts = 0` it does nothing. The notes of a run contain `compressed_packets`, `full_headers`, `saved_bytes`,
//! `damaged_packets`, `repaired_packets` and `requests`.
//!
//! # Differences from the source
//!
//! - Compressed headers have one size: 4 B with `vj` and `iphc` (change mask, connection, checksum), where large
//!   differences take up to 12 B more.
//! - `vj` drops damaged packets at the decompressor. In reality the end of the connection drops them.
//! - Wrong headers that a checksum would miss are left out.
//! - A full header has the length of an uncompressed header.
//! - A request is a datagram of 32 B. It takes the connection's return path and is lost if that does not pass the
//!   compressor.
//! - Labels of other middleboxes, which are IP options, are not compressed, except labels written between the two.

use super::served::Served;
use crate::dictionary::Cause;
use crate::ids::{NodeId, PathId};
use crate::middlebox::needs::{unless, Unsuitable};
use crate::middlebox::{Context, Middlebox, Side, Way};
use crate::packet::{Compressed, Fields, Packet};
use bentpipe_tcp::{Ecn, Flags};
use bentpipe_units::settings::{Bytes, Maybe};
use bentpipe_units::{settings, words, Duration, Time};
use std::collections::BTreeMap;

/// Marks the messages of decompressors.
const TAG: u64 = 0xc0de_c0de;

/// Largest difference that a header can contain.
const DIFFERENCE_MAX: u32 = 0xffff;

/// Length of a request beyond the headers of a datagram.
const REQUEST_LEN: u16 = 4;

settings! {
    /// An end of header compression.
    pub struct CompressConfig {
        /// End at this node.
        role: PackRole;
        /// Direction of the packets that are compressed.
        direction: Way = Way::Both;
        /// Compression scheme, the same at both ends.
        scheme: HeaderScheme = HeaderScheme::Vj;
        /// Compressor: size of a compressed header; 4 B, with `rohc` 8 B.
        header: Option<u64> as Maybe<Bytes> = None, "RFC 1144 §3.2.2: mask, connection, checksum; rohc: reading";
        /// Compressor: contexts per decompressor; 0: no compression.
        contexts: u32 = 16, [0, 256], "RFC 1144, appendix A";
        /// Compressor, with `rohc`: consecutive losses that do no damage, and full headers at the start of a context.
        window: u32 = 4, [1, 100], "reading";
        /// Compressor, with `rohc`: time after which a header is full again without a request.
        refresh: Duration = Duration::from_secs(5), "reading: RFC 3095 has the timeout without a value";
        /// Decompressor, with `iphc`: whether it adds a difference once more if it does not fit.
        twice: bool = true, "RFC 2507 §10.1";
        /// Decompressor, with `iphc` and `rohc`: time between requests for a full header.
        again: Duration = Duration::from_millis(500), "reading: a geostationary round trip";
    }
}

words! {
    /// Ends of header compression.
    pub enum PackRole {
        /// Compresses headers.
        "compressor" => Compressor,
        /// Restores headers.
        "decompressor" => Decompressor,
    }
}

words! {
    /// Compression scheme.
    pub enum HeaderScheme {
        /// Differences (RFC 1144).
        "vj" => Vj,
        /// Differences, with repair and requests (RFC 2507).
        "iphc" => Iphc,
        /// Robust against consecutive losses (RFC 6846).
        "rohc" => Rohc,
    }
}

/// Either end at a node.
#[derive(Clone, Debug)]
pub enum Compress {
    /// Compresses.
    Compressor(Compressor),
    /// Restores.
    Decompressor(Decompressor),
}

/// Compresses headers.
#[derive(Clone, Debug)]
pub struct Compressor {
    config: CompressConfig,
    header: u8,
    node: NodeId,
    served: Served,
    streams: BTreeMap<u32, Vec<Sent>>,
    /// Packets processed so far.
    acted: u64,
    compressed: u64,
    full: u64,
    saved: u64,
}

/// A context: the last packet of a direction of a connection.
#[derive(Clone, Copy, Debug)]
struct Sent {
    conversation: u64,
    header: Fields,
    len: u16,
    flags: (Flags, Ecn),
    number: u32,
    /// Headers that are still to be full.
    full_left: u32,
    /// Last use, in packets.
    used: u64,
    /// Time of the next refresh.
    fresh_until: Time,
}

/// Restores headers.
#[derive(Clone, Debug)]
pub struct Decompressor {
    config: CompressConfig,
    node: NodeId,
    streams: BTreeMap<u32, Vec<Received>>,
    damaged: u64,
    repaired: u64,
    requests: u64,
}

/// A context: the decompressor's copy of the last packet; without a conversation before the first.
#[derive(Clone, Copy, Debug)]
struct Received {
    conversation: Option<u64>,
    header: Fields,
    number: u32,
    /// Earliest time of the next request.
    ask_at: Time,
}

impl Compress {
    pub(crate) fn new(config: &CompressConfig, _seed: u64, _component: &str) -> Self {
        let config = *config;
        match config.role {
            PackRole::Compressor => Self::Compressor(Compressor {
                config,
                header: config.header_len() as u8,
                node: NodeId::new(0),
                served: Served::default(),
                streams: BTreeMap::new(),
                acted: 0,
                compressed: 0,
                full: 0,
                saved: 0,
            }),
            PackRole::Decompressor => Self::Decompressor(Decompressor {
                config,
                node: NodeId::new(0),
                streams: BTreeMap::new(),
                damaged: 0,
                repaired: 0,
                requests: 0,
            }),
        }
    }

    /// Declares that packets of this path go to a decompressor, which knows them by `stream`.
    pub(crate) fn serve(&mut self, path: PathId, stream: u32) {
        let Self::Compressor(compressor) = self else { return };
        compressor.served.add(path, stream);
        compressor.streams.entry(stream).or_default();
    }
}

impl CompressConfig {
    pub(in crate::middlebox) fn unsuitable(&self) -> Vec<Unsuitable> {
        unless((1..=40).contains(&self.header_len()), "header", "is out of range", "expected 1 B to 40 B")
    }

    /// Returns the bytes of a compressed header.
    pub(crate) fn header_len(&self) -> u64 {
        self.header.unwrap_or(if self.scheme == HeaderScheme::Rohc { 8 } else { 4 })
    }
}

fn fields(packet: &Packet) -> Fields {
    [packet.seq.value(), packet.ack.value(), packet.window.into()]
}

/// Returns the increase of each field, which wraps below zero.
fn difference(before: Fields, after: Fields) -> Fields {
    [0, 1, 2].map(|at| after[at].wrapping_sub(before[at]))
}

fn sum(one: Fields, other: Fields) -> Fields {
    [0, 1, 2].map(|at| one[at].wrapping_add(other[at]))
}

impl Sent {
    /// Whether differences can describe the changes from the last packet to this one (RFC 1144 §3.2.3).
    fn leads_to(&self, packet: &Packet) -> bool {
        let grown = difference(self.header, fields(packet));
        let repeats = grown == [0; 3] && (packet.len == 0 || self.len > 0);
        let fits = grown[0] <= DIFFERENCE_MAX && grown[1] <= DIFFERENCE_MAX;
        fits && !repeats && self.flags == (packet.header_flags(), packet.ecn())
    }
}

impl Compressor {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let Some(stream) = self.served.stream(&packet) else { return cx.forward(packet) };
        let flags = packet.header_flags();
        let others = Flags::SYN.with(Flags::FIN).with(Flags::RST);
        let is_plain = packet.is_segment() && flags.has(Flags::ACK) && !flags.has_any(others);
        // Packets compressed by another compressor belong to that one's decompressor.
        let is_others = packet.is_damaged() || cx.bodies.compressed(&packet).is_some();
        let Some(contexts) = self.streams.get_mut(&stream) else { return cx.forward(packet) };
        if self.config.contexts == 0 || !is_plain || is_others {
            return cx.forward(packet);
        }
        self.acted += 1;
        let window = if self.config.scheme == HeaderScheme::Rohc { self.config.window } else { 1 };
        let at = place_of(packet.conversation(), self.config.contexts, window, contexts);
        let context = &mut contexts[at];
        let options = packet.header_len.saturating_sub(40);
        let (can_be_short, beside) = match self.config.scheme {
            HeaderScheme::Vj => (options == 0 && context.leads_to(&packet), 0),
            HeaderScheme::Iphc => (context.leads_to(&packet), options),
            HeaderScheme::Rohc => (cx.now < context.fresh_until, cx.bodies.label_len(&packet)),
        };
        let is_short = can_be_short && context.full_left == 0;
        let saved = packet.header_len.saturating_sub(self.header.saturating_add(beside));
        let compressed = Compressed {
            by: self.node,
            stream,
            context: at as u16,
            number: context.number.wrapping_add(1),
            saved: if is_short { saved } else { 0 },
            before: is_short.then_some(context.header),
            header: fields(&packet),
            window: window as u8,
        };
        *context = Sent {
            header: compressed.header,
            len: packet.len,
            flags: (flags, packet.ecn()),
            number: compressed.number,
            full_left: context.full_left.saturating_sub(1),
            used: self.acted,
            fresh_until: if is_short { context.fresh_until } else { cx.now + self.config.refresh },
            ..*context
        };
        self.compressed += u64::from(is_short);
        self.full += u64::from(!is_short);
        self.saved += u64::from(compressed.saved);
        cx.bodies.set_compressed(&mut packet, compressed);
        cx.forward(packet);
    }

    /// Processes a request for full headers.
    fn on_request(&mut self, stream: u64, context: u64) -> bool {
        let Some(contexts) = u32::try_from(stream).ok().and_then(|stream| self.streams.get_mut(&stream)) else {
            return false;
        };
        let window = if self.config.scheme == HeaderScheme::Rohc { self.config.window } else { 1 };
        if let Some(context) = contexts.get_mut(context as usize) {
            context.full_left = window;
        }
        true
    }
}

/// Returns the place of a conversation's context. A new conversation replaces the least recently used one.
fn place_of(conversation: u64, contexts_max: u32, full: u32, contexts: &mut Vec<Sent>) -> usize {
    if let Some(at) = contexts.iter().position(|context| context.conversation == conversation) {
        return at;
    }
    let begun = Sent {
        conversation,
        header: [0; 3],
        len: 0,
        flags: (Flags::default(), Ecn::NotEct),
        number: 0,
        full_left: full,
        used: 0,
        fresh_until: Time::ZERO,
    };
    if contexts.len() < contexts_max as usize {
        contexts.push(begun);
        return contexts.len() - 1;
    }
    let at = (0..contexts.len()).min_by_key(|&at| contexts[at].used).unwrap_or(0);
    // Numbers continue: packets under way belong to the other conversation.
    contexts[at] = Sent { number: contexts[at].number, ..begun };
    at
}

impl Received {
    const NOTHING: Self = Self { conversation: None, header: [0; 3], number: 0, ask_at: Time::ZERO };

    /// Adds differences. Returns the number of missing packets with the same difference, if the result is the header
    /// that the checksum covers.
    fn add(&mut self, header: Fields, before: Fields, can_repair: bool) -> Option<u32> {
        let grown = difference(before, header);
        self.header = sum(self.header, grown);
        if self.header == header {
            return Some(0);
        }
        let is_repaired = can_repair && sum(self.header, grown) == header;
        if is_repaired {
            self.header = header;
        }
        is_repaired.then_some(1)
    }

    /// Whether at most `window` packets are missing before the packet with this number.
    fn reaches(&mut self, number: u32, window: u8) -> bool {
        let ahead = number.wrapping_sub(self.number) as i32;
        let is_near = ahead >= -i32::from(window) && ahead <= i32::from(window) + 1;
        if is_near && ahead > 0 {
            self.number = number;
        }
        is_near
    }
}

impl Decompressor {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !self.config.direction.is_from(Side::origin_of(&packet)) || packet.is_damaged() {
            return cx.forward(packet);
        }
        // Packets just compressed by the compressor at this node are for another node.
        let Some(compressed) = cx.bodies.compressed(&packet).filter(|compressed| compressed.by != self.node) else {
            return cx.forward(packet);
        };
        cx.bodies.take_compressed(&mut packet);
        let contexts = self.streams.entry(compressed.stream).or_default();
        let at = usize::from(compressed.context);
        if contexts.len() <= at {
            contexts.resize(at + 1, Received::NOTHING);
        }
        let (context, conversation) = (&mut contexts[at], Some(packet.conversation()));
        let Compressed { header, number, window, .. } = compressed;
        let Some(before) = compressed.before else {
            *context = Received { conversation, header, number, ask_at: Time::ZERO };
            return cx.forward(packet);
        };
        let missing = match self.config.scheme {
            _ if context.conversation != conversation => None,
            HeaderScheme::Vj => context.add(header, before, false),
            HeaderScheme::Iphc => context.add(header, before, self.config.twice),
            HeaderScheme::Rohc => context.reaches(number, window).then_some(0),
        };
        if let Some(missing) = missing {
            self.repaired += u64::from(missing);
            return cx.forward(packet);
        }
        self.damaged += 1;
        if self.config.scheme != HeaderScheme::Vj && cx.now >= context.ask_at {
            context.ask_at = cx.now + self.config.again;
            self.requests += 1;
            let words = [u64::from(compressed.stream) << 32 | u64::from(compressed.context), TAG];
            cx.send_options(&packet, compressed.by, words, true, REQUEST_LEN);
        }
        cx.drop(packet, Cause::Policy);
    }
}

impl Middlebox for Compress {
    fn meet(&mut self, node: NodeId, _: &[NodeId]) {
        match self {
            Self::Compressor(part) => part.node = node,
            Self::Decompressor(part) => part.node = node,
        }
    }

    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match self {
            Self::Compressor(part) => part.on_packet(packet, cx),
            Self::Decompressor(part) => part.on_packet(packet, cx),
        }
    }

    fn on_message(&mut self, words: [u64; 2], _: &Packet, _: &mut Context<'_>) -> bool {
        match self {
            Self::Compressor(part) => words[1] == TAG && part.on_request(words[0] >> 32, words[0] & 0xffff_ffff),
            Self::Decompressor(_) => false,
        }
    }

    fn note(&self) -> Option<String> {
        match self {
            Self::Compressor(Compressor { compressed, full, saved, .. }) => (compressed + full > 0)
                .then(|| format!("compressed_packets = {compressed}, full_headers = {full}, saved_bytes = {saved}")),
            Self::Decompressor(Decompressor { damaged, repaired, requests, .. }) => (damaged + repaired > 0)
                .then(|| format!("damaged_packets = {damaged}, repaired_packets = {repaired}, requests = {requests}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EndpointId, LaneId};
    use crate::middlebox::{Action, Bench, Label};
    use crate::packet::Origin;
    use bentpipe_tcp::{Segment, Timestamps};
    use bentpipe_units::Seq;

    /// A compressor, a decompressor, and what is between them.
    struct Pair {
        bench: Bench,
        compressor: Compress,
        decompressor: Compress,
    }

    fn config(scheme: HeaderScheme, role: PackRole) -> CompressConfig {
        CompressConfig {
            role,
            scheme,
            direction: Way::Both,
            header: None,
            contexts: 16,
            window: 4,
            refresh: Duration::from_secs(5),
            twice: true,
            again: Duration::from_millis(500),
        }
    }

    fn pair(scheme: HeaderScheme, change: impl Fn(&mut CompressConfig)) -> Pair {
        let [mut compressor, mut decompressor] =
            [(PackRole::Compressor, 3), (PackRole::Decompressor, 4)].map(|(role, node)| {
                let mut config = config(scheme, role);
                change(&mut config);
                let mut end = Compress::new(&config, 1, "node/x/0");
                end.meet(NodeId::new(node), &[]);
                end
            });
        compressor.serve(PathId::there(LaneId::new(0)), 0);
        decompressor.serve(PathId::there(LaneId::new(0)), 0);
        Pair { bench: Bench::default(), compressor, decompressor }
    }

    /// Of connection `number`: data from `seq` on.
    fn data(seq: u32, len: u16) -> Segment {
        Segment { seq: Seq::new(seq), ack: Seq::new(1), len, window: 1000, flags: Flags::ACK, ..Segment::default() }
    }

    impl Pair {
        /// What leaves the compressor.
        fn compress(&mut self, number: u64, segment: &Segment) -> Packet {
            let origin = Origin::of(EndpointId::opener(number as usize), Packet::owner(LaneId::new(0), number));
            let packet = Packet::new(segment, &origin, &mut self.bench.bodies);
            self.pass(packet)
        }

        fn pass(&mut self, packet: Packet) -> Packet {
            let Self { bench, compressor, .. } = self;
            bench.at(Time::ZERO, |cx| compressor.on_packet(packet, cx));
            let [Action::Forward(packet)] = bench.out.take()[..] else { panic!("one goes in, one comes out") };
            packet
        }

        /// Whether it leaves the decompressor, of its own size. Requests reach the compressor at once if `heeds`.
        fn decompress(&mut self, packet: Packet, whole: u64, heeds: bool) -> bool {
            let Self { bench, compressor, decompressor } = self;
            bench.at(Time::ZERO, |cx| decompressor.on_packet(packet, cx));
            let mut passes = false;
            for action in bench.out.take() {
                match action {
                    Action::Forward(packet) => {
                        assert_eq!((packet.size(), bench.bodies.compressed(&packet)), (whole, None));
                        bench.bodies.release(&packet);
                        passes = true;
                    }
                    Action::Drop(packet, Cause::Policy) => bench.bodies.release(&packet),
                    Action::Emit(request) => {
                        assert!(request.is_to_sender() && request.size() == 32);
                        let Some(crate::packet::Message::ToNode(node, words)) = bench.bodies.message(&request) else {
                            panic!("{request:?}");
                        };
                        assert_eq!(node, NodeId::new(3));
                        let is_heard = heeds && bench.at(Time::ZERO, |cx| compressor.on_message(words, &request, cx));
                        assert_eq!(is_heard, heeds);
                        bench.bodies.release(&request);
                    }
                    other => panic!("{other:?}"),
                }
            }
            passes
        }

        /// Sends data of 100 B with these numbers, loses those of `lost`, and says which arrive.
        fn arrive(&mut self, numbers: std::ops::Range<u32>, lost: &[u32], heeds: bool) -> Vec<u32> {
            let mut arrived = Vec::new();
            for number in numbers {
                let packet = self.compress(0, &data(1 + 100 * number, 100));
                if lost.contains(&number) {
                    self.bench.bodies.release(&packet);
                } else if self.decompress(packet, 140, heeds) {
                    arrived.push(number);
                }
            }
            arrived
        }

        /// The size of a packet on the link.
        fn size(&mut self, number: u64, segment: &Segment) -> u64 {
            let (packet, whole) =
                (self.compress(number, segment), u64::from(segment.header_len()) + u64::from(segment.len));
            let size = packet.size();
            assert!(self.decompress(packet, whole, true));
            size
        }

        /// Damaged, repaired, requests.
        fn counts(&self) -> [u64; 3] {
            let Compress::Decompressor(part) = &self.decompressor else { panic!() };
            [part.damaged, part.repaired, part.requests]
        }
    }

    #[test]
    fn rfc1144_a_lost_packet_loses_all_until_a_retransmission() {
        let mut vj = pair(HeaderScheme::Vj, |_| ());
        assert_eq!(vj.arrive(0..10, &[3], true), [0, 1, 2]);
        assert_eq!(vj.counts(), [6, 0, 0]);
        // A sequence number that goes back has a full header, and what follows it is compressed again.
        assert_eq!(vj.arrive(3..4, &[], true), [3]);
        assert_eq!(vj.size(0, &data(1 + 100 * 10, 100)), 104);
        assert_eq!(vj.arrive(11..20, &[], true), (11..20).collect::<Vec<_>>());
        assert_eq!((vj.counts(), vj.bench.bodies.in_use()), ([6, 0, 0], 0));
    }

    #[test]
    fn rfc2507_the_same_difference_once_more_repairs_one_loss() {
        let mut iphc = pair(HeaderScheme::Iphc, |_| ());
        assert_eq!(iphc.arrive(0..20, &[3, 9], true).len(), 18);
        assert_eq!(iphc.counts(), [0, 2, 0]);
        // Two in a row are too many: one is dropped with the request, and a full header follows.
        assert_eq!(iphc.arrive(20..30, &[22, 23], true), [20, 21, 25, 26, 27, 28, 29]);
        assert_eq!(iphc.counts(), [1, 2, 1]);
        // Differences that change cannot be repaired.
        let [short, next] = [data(3001, 50), data(3051, 100)].map(|segment| iphc.compress(0, &segment));
        iphc.bench.bodies.release(&short);
        assert!(!iphc.decompress(next, 140, true));
    }

    #[test]
    fn rfc2507_requests_are_few_and_bring_a_full_header() {
        let mut iphc = pair(HeaderScheme::Iphc, |config| config.twice = false);
        assert_eq!(iphc.arrive(0..10, &[3], false), [0, 1, 2]);
        assert_eq!(iphc.counts(), [6, 0, 1], "no second request within 500 ms");
        let mut iphc = pair(HeaderScheme::Iphc, |config| config.twice = false);
        assert_eq!(iphc.arrive(0..10, &[3], true), [0, 1, 2, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn rohc_bears_as_many_losses_in_a_row_as_its_window() {
        let mut rohc = pair(HeaderScheme::Rohc, |_| ());
        assert_eq!(rohc.arrive(0..20, &[0, 1, 2, 8, 9, 10, 11], true).len(), 13);
        assert_eq!(rohc.counts(), [0, 0, 0]);
        assert_eq!(rohc.arrive(20..40, &[22, 23, 24, 25, 26], true).len(), 14);
        assert_eq!(rohc.counts(), [1, 0, 1]);
        // Four full headers at the start and four after the request.
        let Compress::Compressor(part) = &rohc.compressor else { panic!() };
        assert_eq!((part.full, part.compressed, part.saved), (8, 32, 32 * 32));
        // A retransmission is compressed too.
        assert_eq!(rohc.size(0, &data(1, 100)), 108);
    }

    /// Where no request arrives, and nothing but retransmissions leaves, that is what brings a full header.
    #[test]
    fn rohc_refreshes_a_context_in_time() {
        let mut rohc = pair(HeaderScheme::Rohc, |config| config.refresh = Duration::ZERO);
        assert_eq!(rohc.arrive(0..10, &[4, 5, 6, 7, 8], false), [0, 1, 2, 3, 9]);
    }

    #[test]
    fn what_cannot_be_compressed_has_its_header() {
        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        let syn = Segment { flags: Flags::SYN, ..data(0, 0) };
        for (scheme, with_options) in [(HeaderScheme::Vj, 152), (HeaderScheme::Iphc, 116), (HeaderScheme::Rohc, 108)] {
            let mut pair = pair(scheme, |config| config.window = 1);
            let short = pair.compressor_header();
            assert_eq!(pair.size(0, &syn), 40);
            assert_eq!(pair.size(0, &data(1, 100)), 140, "the first of a context is full");
            assert_eq!(pair.size(0, &data(101, 100)), 100 + short);
            assert_eq!(pair.size(0, &Segment { timestamps, ..data(201, 100) }), with_options);
            assert_eq!(pair.size(0, &Segment { flags: Flags::ACK.with(Flags::FIN), ..data(301, 0) }), 40);
            let is_rohc = scheme == HeaderScheme::Rohc;
            let full = |payload: u64| payload + if is_rohc { short } else { 40 };
            assert_eq!(pair.size(0, &data(301, 0)), short);
            assert_eq!(pair.size(0, &data(301, 0)), full(0), "nothing changes");
            assert_eq!(pair.size(0, &data(301 + 65_535, 100)), 100 + short);
            assert_eq!(pair.size(0, &data(301 + 2 * 65_535 + 1, 100)), full(100), "too far ahead");
            assert_eq!(pair.size(0, &Segment { ecn: Ecn::Ce, ..data(200_000, 100) }), full(100));
            let back = Segment { ack: Seq::new(0), ecn: Ecn::Ce, ..data(200_100, 100) };
            assert_eq!(pair.size(0, &back), full(100), "an acknowledgement that goes back");
            let datagram = Packet::datagram(Time::ZERO, LaneId::new(0), 100, 0);
            assert_eq!(pair.pass(datagram).size(), 128);
        }
    }

    impl Pair {
        fn compressor_header(&self) -> u64 {
            let Compress::Compressor(part) = &self.compressor else { panic!() };
            part.header.into()
        }
    }

    #[test]
    fn the_context_that_was_not_used_for_longest_is_given_up() {
        let mut vj = pair(HeaderScheme::Vj, |config| config.contexts = 2);
        let mut next = [1; 3];
        let mut size = |number: usize| {
            next[number] += 100;
            vj.size(number as u64, &data(next[number], 100))
        };
        let sizes = [0, 1, 0, 2, 0, 1, 1, 2].map(&mut size);
        // 2 takes the place of 1, that of 2, and 2 that of 0.
        assert_eq!(sizes, [140, 140, 104, 140, 104, 140, 104, 140]);
    }

    #[test]
    fn a_context_whose_full_header_was_lost_delivers_nothing_of_another_connection() {
        for scheme in [HeaderScheme::Vj, HeaderScheme::Iphc, HeaderScheme::Rohc] {
            let mut pair = pair(scheme, |config| (config.contexts, config.window) = (1, 1));
            assert_eq!(pair.arrive(0..3, &[], true), [0, 1, 2]);
            let full = pair.compress(1, &data(301, 100));
            pair.bench.bodies.release(&full);
            let next = pair.compress(1, &data(401, 100));
            assert!(next.size() < 140 && !pair.decompress(next, 140, true));
        }
    }

    /// What functions between the two write and take off, and segments that they rewrite, leave headers that have a size.
    #[test]
    fn labels_and_rewritten_segments_between_the_two_do_no_harm() {
        for scheme in [HeaderScheme::Iphc, HeaderScheme::Rohc] {
            let mut pair = pair(scheme, |config| config.window = 1);
            assert_eq!(pair.size(0, &data(1, 100)), 140);
            let timestamps = Some(Timestamps { value: 1, echo: 2 });
            let origin = Origin::of(EndpointId::opener(0), Packet::owner(LaneId::new(0), 0));
            let mut packet = Packet::new(&Segment { timestamps, ..data(101, 100) }, &origin, &mut pair.bench.bodies);
            pair.bench.bodies.set_label(&mut packet, Label::LossIsCorruption, 20);
            let mut packet = pair.pass(packet);
            assert!(packet.header_len >= 20);
            pair.bench.at(Time::ZERO, |cx| {
                cx.take_label(&mut packet);
                packet = cx.rewrite(packet, &data(101, 100));
                cx.set_label(&mut packet, Label::LossIsCorruption, 4);
            });
            // 40 B of header and 4 B of label, whatever was taken off in between.
            assert!(pair.bench.bodies.take_compressed(&mut packet).is_some());
            assert_eq!(packet.header_len, 44);
        }
    }
}
