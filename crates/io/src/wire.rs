//! Segments as bytes, and bytes as segments: IPv4 and TCP with all options that the core knows.

use crate::codec::{checksums_are_right, fold, sum};
use bentpipe_tcp::{
    Ecn, FastOpenOption, Flags, Options, SackBlocks, ScpsCapabilities, ScpsOptions, Segment, SynOptions, Timestamps,
};
use bentpipe_units::Seq;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use std::net::Ipv4Addr;

const TCP: u8 = 6;
/// The longest TCP header less the shortest (RFC 9293 §3.1).
const OPTIONS_MAX: usize = 40;
/// What a SYN without the option says (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Addresses and ports of the two ends, the sender first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Of the IP header.
    pub addresses: [Ipv4Addr; 2],
    /// Of the TCP header.
    pub ports: [u16; 2],
}

/// The packet of a segment with this payload. None: its options have no room in a header, it is longer than a packet may be,
/// or the payload is not as long as the segment says.
pub fn encode(segment: &Segment, ends: Ends, payload: &[u8]) -> Option<Vec<u8>> {
    let options_len = usize::from(segment.header_len()).checked_sub(40)?;
    if options_len > OPTIONS_MAX || options(segment).len() > OPTIONS_MAX || payload.len() != usize::from(segment.len) {
        return None;
    }
    let mut tcp = header(segment, ends.ports, options_len);
    let total = u16::try_from(20 + tcp.len() + payload.len()).ok()?;
    let addresses = ends.addresses.map(|address| address.octets()).concat();
    // RFC 791 §3.1: version and header length, service, length; identification, don't fragment; 64 hops, protocol, checksum.
    let mut bytes = vec![0x45, segment.ecn.bits(), (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, TCP, 0, 0];
    bytes.extend(&addresses);
    let checksum = (!fold(sum(&bytes))).to_be_bytes();
    bytes[10..12].copy_from_slice(&checksum);
    let len = (tcp.len() + payload.len()) as u32;
    let checksum = (!fold(sum(&tcp) + sum(payload) + sum(&addresses) + u32::from(TCP) + len)).to_be_bytes();
    tcp[16..18].copy_from_slice(&checksum);
    bytes.extend(tcp);
    bytes.extend(payload);
    Some(bytes)
}

/// The segment in a packet, whose ends it has, and its payload. None: it is no whole packet of TCP over IPv4, or a checksum is wrong.
/// Options that the core does not know are skipped; one whose length makes no sense ends the list.
pub fn decode(packet: &[u8]) -> Option<(Segment, Ends, &[u8])> {
    if checksums_are_right(packet) != Some(true) {
        return None;
    }
    let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
    let (Some(LaxNetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (&sliced.net, &sliced.transport) else {
        return None;
    };
    let (ip, payload) = (ip.header(), tcp.payload());
    // The reserved bits count, too: the parser has no names for all of them.
    let bits = u16::from_be_bytes([*tcp.slice().get(12)?, *tcp.slice().get(13)?]) & 0xfff;
    let flags = Flags::from_bits(bits);
    let mut segment = Segment {
        seq: Seq::new(tcp.sequence_number()),
        ack: Seq::new(tcp.acknowledgment_number()),
        len: u16::try_from(payload.len()).ok()?,
        window: tcp.window_size(),
        flags,
        ecn: Ecn::from_bits(ip.slice().get(1)? & 3),
        ..Segment::default()
    };
    read_options(tcp.options(), &mut segment);
    let ends = Ends {
        addresses: [ip.source_addr(), ip.destination_addr()],
        ports: [tcp.source_port(), tcp.destination_port()],
    };
    Some((segment, ends, payload))
}

/// Through bytes and back. The payload is zeros.
///
/// # Errors
/// The segment has no room in a packet, or does not come back as it was.
pub fn carry(segment: &Segment) -> Result<Segment, String> {
    let ends = Ends { addresses: [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)], ports: [49_152, 5001] };
    let payload = vec![0; usize::from(segment.len)];
    let packet = encode(segment, ends, &payload).ok_or("the segment has no room in a packet")?;
    let (read, ..) = decode(&packet).ok_or("the codec cannot read what it wrote")?;
    let same = comparable(segment);
    if read != same {
        return Err(format!("the codec wrote {same:?} and read {read:?}"));
    }
    Ok(read)
}

/// Without what has no place in a header.
fn comparable(segment: &Segment) -> Segment {
    let options = match segment.options {
        Options::Sack(blocks) if blocks.as_slice().is_empty() => Options::None,
        other => other,
    };
    Segment { is_retransmission: false, options, ..*segment }
}

/// The options of a header, one by one (RFC 9293 §3.1).
fn read_options(mut bytes: &[u8], segment: &mut Segment) {
    let all = bytes;
    let is_syn = segment.flags.has(Flags::SYN);
    let (mut syn, mut has_syn_options) = (SynOptions { mss: DEFAULT_MSS, ..SynOptions::default() }, false);
    let mut blocks = SackBlocks::default();
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => break,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some(len) = rest.first().map(|&len| usize::from(len)) else { break };
        if len < 2 || len > bytes.len() {
            break;
        }
        let value = &bytes[2..len];
        bytes = &bytes[len..];
        let mut has = true;
        match (kind, value) {
            (2, &[high, low]) => syn.mss = u16::from_be_bytes([high, low]),
            (3, &[shift]) => syn.window_scale = Some(shift),
            (4, []) => syn.sack_permitted = true,
            (34, []) => syn.fast_open = FastOpenOption::Request,
            (34, cookie) => match cookie.try_into() {
                Ok(cookie) => syn.fast_open = FastOpenOption::Cookie(cookie),
                Err(_) => has = false,
            },
            (5, edges) if !is_syn && edges.len() % 8 == 0 => {
                edges.chunks_exact(8).for_each(|block| blocks.push(number(&block[..4]), number(&block[4..])));
                has = false;
            }
            (8, stamps) if stamps.len() == 8 => {
                let (value, echo) = (number(&stamps[..4]).value(), number(&stamps[4..]).value());
                segment.timestamps = Some(Timestamps { value, echo });
                has = false;
            }
            _ => has = false,
        }
        has_syn_options |= has;
    }
    if is_syn {
        syn.scps = ScpsCapabilities::decode(all);
        if has_syn_options || syn.scps.is_some() {
            segment.options = Options::Syn(syn);
        }
    } else if let Some(scps) = ScpsOptions::decode(all).filter(|scps| *scps != ScpsOptions::default()) {
        segment.options = Options::Scps(scps);
    } else if !blocks.as_slice().is_empty() {
        segment.options = Options::Sack(blocks);
    }
}

fn number(bytes: &[u8]) -> Seq {
    Seq::new(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}

/// A TCP header with so many bytes of options.
pub(crate) fn header(segment: &Segment, ports: [u16; 2], options_len: usize) -> Vec<u8> {
    let mut options = options(segment);
    options.truncate(OPTIONS_MAX);
    // No-operation (RFC 9293 §3.1), up to what the simulator took for its length.
    options.resize(options.len().max(options_len.min(OPTIONS_MAX)).next_multiple_of(4), 1);
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
    if let Options::Syn(syn) = &segment.options {
        syn_options(syn, &mut bytes);
    }
    if let Some(timestamps) = segment.timestamps {
        // RFC 7323 §3.2, aligned as its appendix A has it.
        bytes.extend([1, 1, 8, 10]);
        bytes.extend(timestamps.value.to_be_bytes());
        bytes.extend(timestamps.echo.to_be_bytes());
        if matches!(segment.options, Options::Syn(_)) {
            let at = bytes.len() - 12;
            bytes.drain(at..at + 2);
        }
    }
    if let Options::Scps(scps) = &segment.options {
        bytes.extend(&scps.encode()[..usize::from(scps.header_len())]);
    }
    if let Options::Sack(blocks) = &segment.options {
        sack_option(blocks.as_slice(), &mut bytes);
    }
    bytes
}

/// RFC 2018 §3. Where the receiver has forgotten which blocks it holds, there are none, and nothing stands in their place.
fn sack_option(blocks: &[(Seq, Seq)], bytes: &mut Vec<u8>) {
    if blocks.is_empty() {
        return;
    }
    bytes.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
    for (left, right) in blocks {
        bytes.extend(left.value().to_be_bytes());
        bytes.extend(right.value().to_be_bytes());
    }
}

fn syn_options(syn: &SynOptions, bytes: &mut Vec<u8>) {
    bytes.extend([2, 4]);
    bytes.extend(syn.mss.to_be_bytes());
    if syn.sack_permitted {
        bytes.extend([4, 2]);
    }
    if let Some(shift) = syn.window_scale {
        bytes.extend([3, 3, shift]);
    }
    match syn.fast_open {
        FastOpenOption::None => {}
        FastOpenOption::Request => bytes.extend([34, 2]),
        FastOpenOption::Cookie(cookie) => {
            bytes.extend([34, 10]);
            bytes.extend(cookie);
        }
    }
    if let Some(scps) = syn.scps {
        bytes.extend(scps.encode());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDS: Ends = Ends { addresses: [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::LOCALHOST], ports: [40_000, 5001] };

    fn segments() -> impl Strategy<Value = Segment> {
        let syn = (any::<u16>(), proptest::option::of(0u8..15), any::<bool>(), 0u8..3, any::<[u8; 8]>()).prop_map(
            |(mss, window_scale, sack_permitted, open, cookie)| {
                let fast_open = [FastOpenOption::None, FastOpenOption::Request, FastOpenOption::Cookie(cookie)];
                SynOptions { mss, window_scale, sack_permitted, fast_open: fast_open[usize::from(open)], scps: None }
            },
        );
        let blocks = proptest::collection::vec(any::<(u32, u32)>(), 0..4);
        let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>(), 0u8..4);
        let stamps = proptest::option::of(any::<(u32, u32)>());
        (numbers, 0u16..2000, stamps, syn, blocks).prop_map(
            |((seq, ack, window, bits, ecn), len, stamps, syn, edges)| {
                let flags = Flags::from_bits(bits & 0xfff);
                let mut blocks = SackBlocks::default();
                edges.iter().for_each(|&(left, right)| blocks.push(Seq::new(left), Seq::new(right)));
                let options = match () {
                    () if flags.has(Flags::SYN) => Options::Syn(syn),
                    () if edges.is_empty() => Options::None,
                    () => Options::Sack(blocks),
                };
                Segment {
                    seq: Seq::new(seq),
                    ack: Seq::new(ack),
                    len,
                    window,
                    flags,
                    ecn: Ecn::from_bits(ecn),
                    timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                    options,
                    ..Segment::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_as_long_as_the_core_says(segment in segments()) {
            let payload: Vec<u8> = (0..segment.len).map(|at| at as u8).collect();
            let packet = encode(&segment, ENDS, &payload).unwrap();
            prop_assert_eq!(packet.len(), usize::from(segment.header_len()) + payload.len());
            prop_assert_eq!(decode(&packet), Some((segment, ENDS, payload.as_slice())));
        }

        #[test]
        fn a_wrong_bit_is_noticed(segment in segments(), at in any::<usize>(), bit in 0u8..8) {
            let mut packet = encode(&segment, ENDS, &vec![7; usize::from(segment.len)]).unwrap();
            let at = at % packet.len();
            packet[at] ^= 1 << bit;
            // One bit cannot keep the sum of RFC 1071 as it was.
            prop_assert_eq!(decode(&packet), None);
        }

        #[test]
        fn any_options_are_read_without_harm(
            bytes in proptest::collection::vec(any::<u8>(), 0..60), is_syn in any::<bool>(),
        ) {
            let flags = if is_syn { Flags::SYN } else { Flags::ACK };
            read_options(&bytes, &mut Segment { flags, ..Segment::default() });
            prop_assert_eq!(decode(&bytes), None);
        }
    }

    /// RFC 7323 §3.2, RFC 2018 §3 and RFC 9293 §3.2 have the kinds and lengths.
    #[test]
    fn options_are_those_of_the_standards() {
        let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
        read_options(&[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 1, 0], &mut segment);
        assert_eq!(segment.timestamps, Some(Timestamps { value: 7, echo: 9 }));
        let Options::Sack(blocks) = segment.options else { panic!("{segment:?}") };
        assert_eq!(blocks.as_slice(), [(Seq::new(1), Seq::new(256))]);
        let mut segment = Segment { flags: Flags::SYN, ..Segment::default() };
        // A length of 1 ends the list: what follows is not read.
        read_options(&[2, 4, 5, 0xb4, 1, 3, 3, 7, 9, 1, 4, 2], &mut segment);
        let expected = SynOptions { mss: 1460, window_scale: Some(7), ..SynOptions::default() };
        assert_eq!(segment.options, Options::Syn(expected));
    }

    #[test]
    fn four_blocks_beside_timestamps_have_no_room() {
        let mut blocks = SackBlocks::default();
        (0..4).for_each(|n| blocks.push(Seq::new(n), Seq::new(n + 1)));
        let timestamps = Some(Timestamps { value: 0, echo: 0 });
        let segment = Segment { timestamps, options: Options::Sack(blocks), ..Segment::default() };
        assert!(carry(&segment).is_err_and(|what| what.contains("no room")));
        assert!(carry(&Segment { timestamps: None, ..segment }).is_ok());
    }

    #[test]
    fn every_conformance_script_holds_through_the_codec() {
        for (name, text) in bentpipe_sim::conformance::SCRIPTS {
            for case in bentpipe_sim::conformance::drill(text, &mut carry).unwrap() {
                assert_eq!(case.difference, None, "{name}: {}", case.title);
            }
        }
    }
}
