//! Header compression. A compressor replaces the headers of TCP by short ones that say what has changed since the packet before; a
//! decompressor further on makes the headers whole again, from what it has of that packet. `scheme = "vj"` is RFC 1144, `"iphc"` is
//! RFC 2507, `"rohc"` is after RFC 6846.
//!
//! # Where it may stand
//!
//! One with `role = "compressor"` in front of slow links, one with `role = "decompressor"` behind them, both with the same `scheme`;
//! no bent pipe can be either. A packet is compressed if a decompressor follows on its route, at a later node and before another
//! compressor; all others pass untouched. RFC 1144 and RFC 2507 are for one link: nodes between the two should be bent pipes, and
//! queues between them first in, first out. For both directions, each node has a compressor and a decompressor.
//!
//! # What is compressed
//!
//! A direction of a connection has a context at both ends, of which there are `contexts`; when all are in use the one that was not
//! used for the longest time is given up. The first packet of a context has a full header. With `vj` and `iphc` the next ones have
//! `header` bytes, and say by how much sequence number, acknowledgement number and window have grown. A header is full where a
//! number goes back, as in retransmissions, or grows by more than 65,535; where ECN or flags change; and where nothing changes, as in
//! duplicate ACKs (RFC 1144 §3.2.3). `vj` sends full headers for packets with options too, `iphc` sends the options beside the `header`
//! bytes. With `rohc` all have `header` bytes, options included, but the first `window` of a context. SYN, FIN, RST, datagrams
//! and messages pass as they are.
//!
//! # What a lost packet does
//!
//! With `vj` and `iphc` the decompressor adds differences. When a packet is missing the sums are wrong, TCP's checksum shows that, and
//! all packets of the connection end at the decompressor until a full header comes: with `vj` when the sender retransmits after a
//! timeout (RFC 1144 §4.2). With `iphc` the decompressor adds the same difference once more and looks whether that is right (`twice`,
//! RFC 2507 §10.1), and asks the compressor for a full header, at most once in `again` for a context. With `rohc` each header can be
//! read while no more than `window` packets before it are missing; after that the decompressor asks too, and the next `window` headers
//! are full. The decompressor knows of losses only by what arrives.
//!
//! # Readings
//!
//! Compressed headers have one size: 4 B with `vj` and `iphc` (change mask, connection, checksum), where differences that are large
//! take up to 12 B more. `vj` drops at the decompressor what in truth the end of the connection drops. Which wrong headers a
//! checksum would miss is left out. A full header is no longer than one without compression. A request is a datagram of 32 B, which
//! takes the connection's way back and is lost if that does not pass the compressor. Labels of other functions, which are IP
//! options, are not compressed; what a function between the two writes is.
//!
//! # What it helps, and what it harms
//!
//! **Helps:** Of 40 B of header 4 B are left: an ACK takes a tenth of the rate, and small segments take much less. **Harms:** On a link
//! that loses, `vj` makes of each lost packet a timeout. Where options change with each packet, as timestamps do, `vj` saves nothing.
//! Whatever reorders, duplicates or drops packets between the two, as `ack-filter` does, damages contexts. Links that lose a packet
//! with the probability of each of its bits lose fewer short ones.
//!
//! # What it leaves alone
//!
//! With `contexts = 0` it does nothing. A packet whose route changes while it is between the two, to one without decompressor, arrives
//! with a short header. `compressed_packets`, `full_headers` and `saved_bytes`, `damaged_packets`, `repaired_packets` and `requests`
//! are among the notes of a run.

use super::served::Served;
use super::{Context, Middlebox, Side, Way};
use crate::dictionary::Cause;
use crate::ids::{NodeId, PathId};
use crate::packet::{Compressed, Fields, Packet};
use bentpipe_tcp::{Ecn, Flags};
use bentpipe_units::settings::{Bytes, Maybe};
use bentpipe_units::{settings, words, Duration, Time};
use std::collections::BTreeMap;

/// Of words that decompressors send.
const TAG: u64 = 0xc0de_c0de;

/// The largest difference that a header can say.
const DIFFERENCE_MAX: u32 = 0xffff;

/// A request is as long as the headers of a datagram, and this.
const REQUEST_LEN: u16 = 4;

settings! {
    /// An end of header compression.
    pub struct CompressConfig {
        /// Which end.
        role: PackRole;
        /// Which packets it acts on.
        direction: Way = Way::Both;
        /// How headers are compressed; the same at both ends.
        scheme: HeaderScheme = HeaderScheme::Vj;
        /// Compressor: size of a compressed header; 4 B, with `rohc` 8 B.
        header: Option<u64> as Maybe<Bytes> = None, "RFC 1144 §3.2.2: mask, connection, checksum; rohc: reading";
        /// Compressor: contexts for each decompressor; with 0 it does nothing.
        contexts: u32 = 16, [0, 256], "RFC 1144, appendix A";
        /// Compressor, with `rohc`: packets in a row whose loss damages nothing, and full headers at the start of a context.
        window: u32 = 4, [1, 100], "reading";
        /// Decompressor, with `iphc`: whether it tries a difference once more where it does not fit.
        twice: bool = true, "RFC 2507 §10.1";
        /// Decompressor, with `iphc` and `rohc`: for how long it waits for a full header before it asks again.
        again: Duration = Duration::from_millis(500), "reading: a geostationary round trip";
    }
}

words! {
    /// The two ends of header compression.
    pub enum PackRole {
        /// Makes headers short.
        "compressor" => Compressor,
        /// Makes them whole.
        "decompressor" => Decompressor,
    }
}

words! {
    /// How headers are compressed.
    pub enum HeaderScheme {
        /// By differences (RFC 1144).
        "vj" => Vj,
        /// By differences, with repair and requests (RFC 2507).
        "iphc" => Iphc,
        /// Robust against losses in a row (RFC 6846).
        "rohc" => Rohc,
    }
}

/// Either end.
#[derive(Clone, Debug)]
pub(crate) enum Compress {
    Compressor(Compressor),
    Decompressor(Decompressor),
}

/// Makes headers short.
#[derive(Clone, Debug)]
pub(crate) struct Compressor {
    config: CompressConfig,
    header: u8,
    node: NodeId,
    served: Served,
    streams: BTreeMap<u32, Vec<Sent>>,
    /// Packets that it has acted on.
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
    /// Headers that are to be full.
    full_left: u32,
    /// When it was used, in packets.
    used: u64,
}

/// Makes headers whole.
#[derive(Clone, Debug)]
pub(crate) struct Decompressor {
    config: CompressConfig,
    streams: BTreeMap<u32, Vec<Received>>,
    damaged: u64,
    repaired: u64,
    requests: u64,
}

/// A context: what the decompressor takes for the last packet; without a conversation before the first.
#[derive(Clone, Copy, Debug)]
struct Received {
    conversation: Option<u64>,
    header: Fields,
    number: u32,
    /// Not before this it asks again.
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
                streams: BTreeMap::new(),
                damaged: 0,
                repaired: 0,
                requests: 0,
            }),
        }
    }

    /// Packets of this path are for a decompressor, which knows them by `stream`.
    pub(crate) fn serve(&mut self, path: PathId, stream: u32) {
        let Self::Compressor(compressor) = self else { return };
        compressor.served.add(path, stream);
        compressor.streams.entry(stream).or_default();
    }
}

impl CompressConfig {
    /// Bytes of a compressed header.
    pub(crate) fn header_len(&self) -> u64 {
        self.header.unwrap_or(if self.scheme == HeaderScheme::Rohc { 8 } else { 4 })
    }
}

fn fields(packet: &Packet) -> Fields {
    [packet.seq.value(), packet.ack.value(), packet.window.into()]
}

/// By how much each has grown; below zero it wraps.
fn difference(before: Fields, after: Fields) -> Fields {
    [0, 1, 2].map(|at| after[at].wrapping_sub(before[at]))
}

fn sum(one: Fields, other: Fields) -> Fields {
    [0, 1, 2].map(|at| one[at].wrapping_add(other[at]))
}

impl Sent {
    /// Whether differences can say what this packet has that the last one had not (RFC 1144 §3.2.3).
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
        let is_plain = !packet.is_datagram() && flags.has(Flags::ACK) && !flags.has_any(others);
        // What another compressor has made short belongs to that one's decompressor.
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
            HeaderScheme::Rohc => (true, cx.bodies.label_len(&packet)),
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
            ..*context
        };
        self.compressed += u64::from(is_short);
        self.full += u64::from(!is_short);
        self.saved += u64::from(compressed.saved);
        cx.bodies.set_compressed(&mut packet, compressed);
        cx.forward(packet);
    }

    /// A decompressor asks for full headers.
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

/// Where the context of a conversation is; if it has none, that of another that was not used for the longest time.
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
    };
    if contexts.len() < contexts_max as usize {
        contexts.push(begun);
        return contexts.len() - 1;
    }
    let at = (0..contexts.len()).min_by_key(|&at| contexts[at].used).unwrap_or(0);
    // Packets are numbered on: those that are under way belong to the other conversation.
    contexts[at] = Sent { number: contexts[at].number, ..begun };
    at
}

impl Received {
    const NOTHING: Self = Self { conversation: None, header: [0; 3], number: 0, ask_at: Time::ZERO };

    /// Whether differences lead to the header that the checksum covers; how many packets with the same one were missing.
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

    /// Whether no more than `window` packets are missing before that with this number.
    fn reaches(&mut self, number: u32, window: u8) -> bool {
        let ahead = number.wrapping_sub(self.number).cast_signed();
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
        let Some(compressed) = cx.bodies.take_compressed(&mut packet) else { return cx.forward(packet) };
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
    fn meet(&mut self, node: NodeId, _: &[(NodeId, &[super::MiddleboxConfig])]) {
        if let Self::Compressor(part) = self {
            part.node = node;
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
