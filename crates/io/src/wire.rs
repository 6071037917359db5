//! Converts segments to bytes and back: TCP over IPv4 and IPv6, with options in the order of the simulator's lengths.
//!
//! Segments of bentpipe's TCP and of peers are the same values as in virtual time.

use crate::codec::{checksums_are_right, fold, sum};
use bentpipe_tcp::{
    CountOption, Ecn, FastOpenOption, Flags, Options, SackBlocks, ScpsCapabilities, ScpsOptions, Segment, SynOptions,
    Timestamps,
};
use bentpipe_units::Seq;
use etherparse::{LaxNetSlice, LaxSlicedPacket, PacketBuilder, TransportSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Difference of the longest and the shortest TCP header (RFC 9293 §3.1).
const OPTIONS_MAX: usize = 40;
const TTL: u8 = 64;
/// Kinds of options (RFC 9293 §3.1, RFC 2018 §2, RFC 7323 §2.2, RFC 7413 §4.1.1).
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;
/// Options of RFC 1644 §3.2.
const CC: u8 = 11;
const CC_NEW: u8 = 12;
const CC_ECHO: u8 = 13;
/// RFC 6994: shared by experiments, which an identifier distinguishes. RFC 5690 has no assigned identifier, so its
/// number serves.
const EXPERIMENT: u8 = 253;
const ACK_RATIO: [u8; 2] = [0x56, 0x90];
/// Identifier of the Satellite Transport Protocol, a choice: "ST".
const POLLED: [u8; 2] = *b"ST";

/// Received segment with its payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received<'a> {
    /// Source address.
    pub from: SocketAddr,
    /// Destination address.
    pub to: SocketAddr,
    /// The segment.
    pub segment: Segment,
    /// Payload, `segment.len` bytes.
    pub payload: &'a [u8],
}

/// Returns a packet with this segment, or none if the addresses are of two kinds, the header has no room for its
/// options, or the payload does not have `segment.len` bytes.
pub fn emit(from: SocketAddr, to: SocketAddr, segment: &Segment, payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() != usize::from(segment.len) || options(segment).len() > OPTIONS_MAX {
        return None;
    }
    let mut transport = header(segment, [from.port(), to.port()], 0, &[]);
    transport.extend(payload);
    let ecn = segment.ecn.bits();
    let (ip, addresses) = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            (PacketBuilder::ipv4(from.octets(), to.octets(), TTL), [from.octets(), to.octets()].concat())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            (PacketBuilder::ipv6(from.octets(), to.octets(), TTL), [from.octets(), to.octets()].concat())
        }
        _ => return None,
    };
    let checksum = !fold(sum(&transport) + sum(&addresses) + 6 + transport.len() as u32);
    transport[16..18].copy_from_slice(&checksum.to_be_bytes());
    let mut bytes = Vec::with_capacity(ip.size(transport.len()));
    ip.write(&mut bytes, etherparse::ip_number::TCP, &transport).ok()?;
    match from.ip() {
        // The ECN field changes the header, so its sum is computed again.
        IpAddr::V4(_) => {
            bytes[1] = ecn;
            bytes[10..12].fill(0);
            let checksum = !fold(sum(&bytes[..20]));
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        // Traffic class: the low half of the first byte, the high half of the second.
        IpAddr::V6(_) => bytes[1] = bytes[1] & 0x0f | ecn << 4,
    }
    Some(bytes)
}

/// Returns the segment of a packet; `None` for an incomplete TCP packet or a wrong checksum.
pub fn parse(packet: &[u8]) -> Option<Received<'_>> {
    if checksums_are_right(packet) != Some(true) {
        return None;
    }
    let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
    let (from, to, ecn): (IpAddr, IpAddr, u8) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), packet[1])
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), packet[1] >> 4)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { return None };
    let payload = tcp.payload();
    let bits = tcp.header_slice();
    let flags = Flags::from_bits(u16::from_be_bytes([*bits.get(12)?, *bits.get(13)?]) & 0xfff);
    let segment = Segment {
        seq: Seq::new(tcp.sequence_number()),
        ack: Seq::new(tcp.acknowledgment_number()),
        len: payload.len().try_into().ok()?,
        window: tcp.window_size(),
        flags,
        ecn: Ecn::from_bits(ecn),
        ..Segment::default()
    };
    let segment = read_options(tcp.options(), segment);
    let (from, to) = (SocketAddr::new(from, tcp.source_port()), SocketAddr::new(to, tcp.destination_port()));
    Some(Received { from, to, segment, payload })
}

/// Converts a segment to bytes and back, with a payload of zeros.
///
/// # Errors
///
/// The segment does not fit into a packet, or changes by the conversion.
pub fn carry(segment: &Segment) -> Result<Segment, String> {
    let [from, to] = [49_152, 5001].map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let payload = vec![0; usize::from(segment.len)];
    let packet = emit(from, to, segment, &payload).ok_or("the segment has no room in a packet")?;
    let read = parse(&packet).ok_or("the codec cannot read what it wrote")?.segment;
    // Fields without a place in the header are lost.
    let same = Segment { is_retransmission: false, ..*segment };
    if read != same {
        return Err(format!("the codec wrote {same:?} and read {read:?}"));
    }
    Ok(read)
}

/// Returns a TCP header without its checksum, with at least `options_len` bytes of options. `multi`: its multipath option, which
/// needs more than the segment.
pub(crate) fn header(segment: &Segment, ports: [u16; 2], options_len: usize, multi: &[u8]) -> Vec<u8> {
    let mut options = options(segment);
    options.resize(options.len().next_multiple_of(4), NOP);
    options.extend(multi);
    options.truncate(OPTIONS_MAX);
    // No-operation (RFC 9293 §3.1), up to the length that the simulator counted.
    options.resize(options.len().max(options_len.min(OPTIONS_MAX)).next_multiple_of(4), NOP);
    let words = (5 + options.len() / 4) as u16;
    let mut bytes: Vec<u8> = ports.into_iter().flat_map(u16::to_be_bytes).collect();
    bytes.extend(segment.seq.value().to_be_bytes());
    bytes.extend(segment.ack.value().to_be_bytes());
    bytes.extend((words << 12 | segment.flags.bits() & 0xfff).to_be_bytes());
    bytes.extend(segment.window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes
}

fn options(segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(OPTIONS_MAX);
    let syn = if let Options::Syn(syn) = &segment.options { Some(syn) } else { None };
    if let Some(syn) = syn {
        syn_options(syn, &mut bytes);
    }
    if let Some(timestamps) = segment.timestamps {
        // RFC 7323 §3.2, aligned as in its appendix A. A SYN has no room for alignment.
        let padding: &[u8] = if syn.is_some() { &[] } else { &[NOP, NOP] };
        bytes.extend(padding);
        bytes.extend([TIMESTAMPS, 10]);
        bytes.extend(timestamps.value.to_be_bytes());
        bytes.extend(timestamps.echo.to_be_bytes());
    }
    if let Options::Scps(scps) = &segment.options {
        bytes.extend(&scps.encode()[..usize::from(scps.header_len())]);
    }
    if let Some(ratio) = segment.ack_ratio {
        bytes.extend([NOP, NOP, NOP, EXPERIMENT, 5]);
        bytes.extend(ACK_RATIO);
        bytes.push(ratio);
    }
    if let Some(count) = segment.count {
        bytes.extend([NOP, NOP]);
        count_option(CC, count, &mut bytes);
    }
    if let Options::Sack(blocks) = &segment.options {
        sack_option(blocks.as_slice(), &mut bytes);
    }
    bytes
}

/// RFC 2018 §3. Nothing without blocks.
fn sack_option(blocks: &[(Seq, Seq)], bytes: &mut Vec<u8>) {
    if blocks.is_empty() {
        return;
    }
    bytes.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
    for (left, right) in blocks {
        bytes.extend(left.value().to_be_bytes());
        bytes.extend(right.value().to_be_bytes());
    }
}

/// RFC 1644 §3.2.
fn count_option(kind: u8, count: u32, bytes: &mut Vec<u8>) {
    bytes.extend([kind, 6]);
    bytes.extend(count.to_be_bytes());
}

fn syn_options(syn: &SynOptions, bytes: &mut Vec<u8>) {
    bytes.extend([MSS, 4]);
    bytes.extend(syn.mss.to_be_bytes());
    if syn.sack_permitted {
        bytes.extend([SACK_PERMITTED, 2]);
    }
    if let Some(shift) = syn.window_scale {
        bytes.extend([WINDOW_SCALE, 3, shift]);
    }
    match syn.fast_open {
        FastOpenOption::None => {}
        FastOpenOption::Request => bytes.extend([FAST_OPEN, 2]),
        FastOpenOption::Cookie(cookie) => {
            bytes.extend([FAST_OPEN, 10]);
            bytes.extend(cookie);
        }
    }
    match syn.count {
        CountOption::None => {}
        CountOption::Count(count) => count_option(CC, count, bytes),
        CountOption::New(count) => count_option(CC_NEW, count, bytes),
    }
    if let Some(count) = syn.count_echo {
        count_option(CC_ECHO, count, bytes);
    }
    if let Some(scps) = syn.scps {
        bytes.extend(scps.encode());
    }
    if syn.ack_ratio {
        bytes.extend([EXPERIMENT, 4]);
        bytes.extend(ACK_RATIO);
    }
    if syn.is_polled {
        bytes.extend([EXPERIMENT, 4]);
        bytes.extend(POLLED);
    }
}

/// Returns `segment` with the options in `bytes`. Skips unknown options and those of a wrong length. A length out of range ends the
/// list (RFC 9293 §3.1).
fn read_options(bytes: &[u8], segment: Segment) -> Segment {
    let is_syn = segment.flags.has(Flags::SYN);
    let (mut timestamps, mut syn) = (None, SynOptions { mss: DEFAULT_MSS, ..SynOptions::default() });
    let (mut blocks, mut has_blocks, mut says_more) = (SackBlocks::default(), false, false);
    let mut ratio = None;
    let mut rest = bytes;
    while let &[kind, ref more @ ..] = rest {
        if kind == END {
            break;
        }
        if kind == NOP {
            rest = more;
            continue;
        }
        let Some(option) = more.first().and_then(|&len| rest.get(2..usize::from(len))) else { break };
        rest = &rest[2 + option.len()..];
        says_more |= matches!(kind, MSS | WINDOW_SCALE | SACK_PERMITTED | FAST_OPEN | CC | CC_NEW | CC_ECHO);
        match (kind, option) {
            (MSS, &[high, low]) => syn.mss = u16::from_be_bytes([high, low]),
            (WINDOW_SCALE, &[shift]) => syn.window_scale = Some(shift),
            (SACK_PERMITTED, []) => syn.sack_permitted = true,
            (TIMESTAMPS, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
                let (value, echo) = (u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3]));
                timestamps = Some(Timestamps { value, echo });
            }
            (SACK, edges) if edges.len() % 8 == 0 => {
                has_blocks = true;
                for block in edges.chunks_exact(8) {
                    let edge = |at: usize| {
                        Seq::new(u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]))
                    };
                    blocks.push(edge(0), edge(4));
                }
            }
            (EXPERIMENT, &[high, low]) if [high, low] == ACK_RATIO => syn.ack_ratio = true,
            (EXPERIMENT, &[high, low]) if [high, low] == POLLED => syn.is_polled = true,
            (EXPERIMENT, &[high, low, told]) if [high, low] == ACK_RATIO => ratio = Some(told),
            (CC | CC_NEW | CC_ECHO, &[c0, c1, c2, c3]) => {
                let count = u32::from_be_bytes([c0, c1, c2, c3]);
                match kind {
                    CC => syn.count = CountOption::Count(count),
                    CC_NEW => syn.count = CountOption::New(count),
                    _ => syn.count_echo = Some(count),
                }
            }
            (FAST_OPEN, []) => syn.fast_open = FastOpenOption::Request,
            (FAST_OPEN, cookie) => {
                syn.fast_open = cookie.try_into().map_or(FastOpenOption::None, FastOpenOption::Cookie);
            }
            _ => {}
        }
    }
    if is_syn {
        syn.scps = ScpsCapabilities::decode(bytes);
        let is_bare = !says_more && syn.scps.is_none() && !syn.ack_ratio && !syn.is_polled;
        let options = if is_bare { Options::None } else { Options::Syn(syn) };
        return Segment { timestamps, options, ..segment };
    }
    let count = if let CountOption::Count(count) = syn.count { Some(count) } else { None };
    let options = if has_blocks {
        Options::Sack(blocks)
    } else {
        let scps = ScpsOptions::decode(bytes).filter(|scps| *scps != ScpsOptions::default());
        scps.map_or(Options::None, Options::Scps)
    };
    Segment { timestamps, count, ack_ratio: ratio, options, ..segment }
}

/// MSS for a SYN without one (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(is_v6: bool) -> [SocketAddr; 2] {
        let end = |v4: &str, v6: &str| (if is_v6 { v6 } else { v4 }).parse().unwrap();
        [end("10.77.0.1:5001", "[fd77::1]:5001"), end("10.77.0.2:40000", "[fd77::2]:40000")]
    }

    prop_compose! {
        fn seq()(value: u32) -> Seq {
            Seq::new(value)
        }
    }

    fn fast_open() -> impl Strategy<Value = FastOpenOption> {
        prop_oneof![
            Just(FastOpenOption::None),
            Just(FastOpenOption::Request),
            any::<[u8; 8]>().prop_map(FastOpenOption::Cookie)
        ]
    }

    fn count() -> impl Strategy<Value = CountOption> {
        prop_oneof![
            Just(CountOption::None),
            any::<u32>().prop_map(CountOption::Count),
            any::<u32>().prop_map(CountOption::New)
        ]
    }

    prop_compose! {
        /// Options of a SYN with Fast Open or T/TCP. There is no room for both.
        fn syn()(
            mss: u16, window_scale in proptest::option::of(0_u8..15), sack_permitted: bool, ack_ratio: bool,
            is_polled: bool, fast_open in fast_open(), count in count(), count_echo: Option<u32>, is_counted: bool
        )
            -> Options
        {
            let plain = SynOptions { mss, window_scale, sack_permitted, ..SynOptions::default() };
            Options::Syn(if is_counted {
                SynOptions { count, count_echo, ..plain }
            } else {
                SynOptions { fast_open, ack_ratio, is_polled, ..plain }
            })
        }
    }

    fn sack() -> impl Strategy<Value = Options> {
        proptest::collection::vec((seq(), seq()), 1..4).prop_map(|found| {
            let mut blocks = SackBlocks::default();
            found.into_iter().for_each(|(left, right)| blocks.push(left, right));
            Options::Sack(blocks)
        })
    }

    prop_compose! {
        /// Segments that bentpipe's TCP may make: options of a SYN only with SYN set.
        fn segment()(
            (seq, ack, window, flags, ecn) in (seq(), seq(), any::<u16>(), 0_u16..0x1000, 0_u8..4),
            timestamps in proptest::option::of(any::<(u32, u32)>()),
            (syn, other) in (syn(), prop_oneof![Just(Options::None), sack()]),
            (count, ack_ratio) in any::<(Option<u32>, Option<u8>)>(),
        ) -> Segment {
            let flags = Flags::from_bits(flags);
            let is_syn = flags.has(Flags::SYN);
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            let options = if is_syn { syn } else { other };
            let bare =
                Segment { seq, ack, window, flags, ecn: Ecn::from_bits(ecn), timestamps, options, ..Segment::default() };
            let (count, ack_ratio) = (count.filter(|_| !is_syn), ack_ratio.filter(|_| !is_syn));
            // With count and ACK ratio if there is room for them.
            let all = [Segment { count, ack_ratio, ..bare }, Segment { count, ..bare }, bare];
            all.into_iter().find(|segment| segment.header_len() <= 80).unwrap_or(bare)
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_comes_back(segment in segment(), payload: Vec<u8>, is_v6: bool, at: usize) {
            let segment = Segment { len: payload.len() as u16, ..segment };
            let [from, to] = ends(is_v6);
            let mut packet = emit(from, to, &segment, &payload).unwrap();
            let ip = if is_v6 { 20 } else { 0 };
            prop_assert_eq!(packet.len(), ip + usize::from(segment.header_len()) + payload.len());
            prop_assert_eq!(parse(&packet), Some(Received { from, to, segment, payload: &payload }));
            // Finds a wrong bit anywhere in the segment.
            let header = if is_v6 { 40 } else { 20 };
            let at = header + at % (packet.len() - header);
            packet[at] ^= 1;
            prop_assert_eq!(parse(&packet), None);
        }

        #[test]
        fn options_of_any_kind_do_not_panic(options in proptest::collection::vec(any::<u8>(), 0..40), is_syn: bool) {
            let flags = if is_syn { Flags::SYN } else { Flags::ACK };
            let read = read_options(&options, Segment { flags, ..Segment::default() });
            prop_assert!(is_syn || !matches!(read.options, Options::Syn(_)));
            prop_assert!(read.timestamps.is_none() || options.len() >= 10);
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            for (at, byte) in [(0, 0x45), (9, 6)] {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            parse(&bytes);
        }
    }

    #[test]
    fn options_that_lead_nowhere_end_the_list() {
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let found = |bytes: &[u8]| read_options(bytes, syn).options;
        let with = |mss| Options::Syn(SynOptions { mss, ..SynOptions::default() });
        // RFC 9293 §3.1: kind 2, length 4; a length of 0 or 1, or beyond the header.
        assert_eq!(found(&[2, 4, 5, 180]), with(1460));
        for broken in
            [&[3, 0, 2, 4, 5, 180][..], &[3, 1, 2, 4, 5, 180], &[3, 40, 2, 4, 5, 180], &[0, 2, 4, 5, 180], &[2]]
        {
            assert_eq!(found(broken), Options::None, "{broken:?}");
        }
        let permitted = SynOptions { mss: DEFAULT_MSS, sack_permitted: true, ..SynOptions::default() };
        assert_eq!(found(&[4, 2]), Options::Syn(permitted));
        // Unknown kinds are skipped.
        assert_eq!(found(&[1, 253, 4, 9, 9, 2, 4, 5, 180]), with(1460));
    }

    #[test]
    fn a_mixture_of_addresses_or_a_wrong_payload_is_no_packet() {
        let ([v4, _], [v6, _]) = (ends(false), ends(true));
        assert_eq!(emit(v4, v6, &Segment::default(), &[]), None);
        assert_eq!(emit(v4, v4, &Segment::default(), &[1]), None);
    }
}
