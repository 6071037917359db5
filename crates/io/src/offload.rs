//! Segmentation offload: splits super-packets of hosts, and joins neighbours that leave together.
//!
//! A Linux host passes TCP data in units of up to 64 kB and expects the device to cut them. If a unit were one packet,
//! all of its segments would share one place in queues and one error. So each segment is a separate packet on the path.
//! Segments of one super-packet that leave at the same time are passed to the receiver as one unit, like receive
//! offload.
//!
//! In the network these packets are ordinary packets, with right checksums. All functions are pure functions on bytes.
//! The header is `virtio_net_hdr` of Virtual I/O Device 1.2 §5.1.6, in the byte order of the machine.

use crate::codec::{fold, sum};
use std::ops::Range;

/// Bytes of the header that a device of Linux puts before each packet.
pub const HEADER: usize = 10;

/// The checksum of the transport covers only the pseudo header. The receiver completes it.
const NEEDS_CSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP_ANY: u8 = 5;
/// The super-packet has CWR, which only its first segment carries (RFC 3168 §6.1.2).
const ECN: u8 = 0x80;

/// Protocols above IP, as IANA numbers them.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Flags of TCP, and their offset from the start of its header (RFC 9293 §3.1).
const FLAGS: usize = 13;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Metadata of a device about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    flags: u8,
    /// Kind of data to cut: TCP over IPv4 or IPv6, UDP, or nothing.
    kind: u8,
    /// Bytes of all headers: a hint.
    header_len: u16,
    /// Bytes of data in each segment.
    size: u16,
    /// Start of the checksummed data, and the checksum's offset from there.
    csum_start: u16,
    csum_offset: u16,
}

impl Header {
    /// Reads the header.
    pub fn read(bytes: [u8; HEADER]) -> Self {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let [flags, kind, ..] = bytes;
        Self { flags, kind, header_len: half(2), size: half(4), csum_start: half(6), csum_offset: half(8) }
    }

    /// Returns the header as bytes.
    pub fn bytes(self) -> [u8; HEADER] {
        let halves = [self.header_len, self.size, self.csum_start, self.csum_offset].map(u16::to_ne_bytes);
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..].copy_from_slice(halves.as_flattened());
        bytes
    }

    /// Returns the header for a packet with this many bytes of another header before it.
    #[must_use]
    pub fn behind(self, bytes: u16) -> Self {
        let (header_len, csum_start) = (self.header_len.saturating_add(bytes), self.csum_start.saturating_add(bytes));
        Self { header_len, csum_start, ..self }
    }

    /// Returns the header for a packet without that other header.
    #[must_use]
    pub fn without(self, bytes: u16) -> Self {
        let (header_len, csum_start) = (self.header_len.saturating_sub(bytes), self.csum_start.saturating_sub(bytes));
        Self { header_len, csum_start, ..self }
    }

    /// Returns the position of a checksum that is still incomplete.
    fn checksum(self) -> Option<Range<usize>> {
        let at = usize::from(self.csum_start) + usize::from(self.csum_offset);
        (self.flags & NEEDS_CSUM != 0).then_some(at..at + 2)
    }
}

/// Position of the checksum in the header of UDP; that of TCP is at 16.
const UDP_CHECKSUM: u16 = 6;

/// Completes the checksum if the sender left that to the device.
fn finish(header: Header, packet: &mut [u8]) {
    let Some(at) = header.checksum().filter(|at| at.end <= packet.len()) else { return };
    let sum = !fold(sum(&packet[usize::from(header.csum_start)..]));
    // RFC 768: zero would mean no checksum. TCP sends zero.
    let sum = if sum == 0 && header.csum_offset == UDP_CHECKSUM { u16::MAX } else { sum };
    packet[at].copy_from_slice(&sum.to_be_bytes());
}

/// Positions of the parts of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    is_v4: bool,
    is_tcp: bool,
    transport: usize,
    /// Bytes of all headers.
    headers: usize,
}

impl Layout {
    /// Returns the parts of a packet with data whose transport begins at `transport`.
    fn of(packet: &[u8], is_tcp: bool, transport: usize) -> Option<Self> {
        let is_v4 = packet.first()? >> 4 == 4;
        let len = if is_tcp { usize::from(packet.get(transport + 12)? >> 4) * 4 } else { 8 };
        let headers = transport + len;
        let is_whole = transport >= if is_v4 { 20 } else { 40 } && len >= if is_tcp { 20 } else { 8 };
        (is_whole && headers < packet.len()).then_some(Self { is_v4, is_tcp, transport, headers })
    }

    /// Returns the parts of a packet whose transport follows the header of IP.
    fn read(packet: &[u8]) -> Option<Self> {
        let (protocol, transport, len) = match packet.first()? >> 4 {
            4 => (*packet.get(9)?, usize::from(packet[0] & 0xf) * 4, usize::from(word(packet.get(2..4)?, 0))),
            6 => (*packet.get(6)?, 40, 40 + usize::from(word(packet.get(4..6)?, 0))),
            _ => return None,
        };
        let is_tcp = protocol == TCP;
        ((is_tcp || protocol == UDP) && len == packet.len()).then_some(())?;
        Self::of(packet, is_tcp, transport)
    }

    /// Returns the position of the transport's checksum.
    fn checksum(&self) -> Range<usize> {
        let at = self.transport + if self.is_tcp { 16 } else { 6 };
        at..at + 2
    }

    /// Changes the headers to those of a packet of `len` bytes. The checksum of the transport does not change.
    fn resize(&self, packet: &mut [u8], len: usize, id: u16) {
        let put = |bytes: &mut [u8], value: u16| bytes.copy_from_slice(&value.to_be_bytes());
        if self.is_v4 {
            put(&mut packet[2..4], len as u16);
            put(&mut packet[4..6], id);
            packet[10..12].fill(0);
            let checksum = !fold(sum(&packet[..self.transport]));
            put(&mut packet[10..12], checksum);
        } else {
            put(&mut packet[4..6], (len - 40) as u16);
        }
        if !self.is_tcp {
            put(&mut packet[self.transport + 4..self.transport + 6], (len - self.transport) as u16);
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn seq(packet: &[u8], layout: &Layout) -> u32 {
    u32::from(word(packet, layout.transport + 4)) << 16 | u32::from(word(packet, layout.transport + 6))
}

/// Calls `each` with the packets of `packet`, all with right checksums: one, or the segments of a super-packet in their
/// order. Returns whether it could be read.
pub fn segment(header: Header, packet: &[u8], mut each: impl FnMut(Box<[u8]>)) -> bool {
    let is_tcp = match header.kind & !ECN {
        0 => {
            let mut packet: Box<[u8]> = packet.into();
            finish(header, &mut packet);
            each(packet);
            return true;
        }
        TCP_V4 | TCP_V6 => true,
        UDP_ANY => false,
        _ => return false,
    };
    let layout = Layout::of(packet, is_tcp, header.csum_start.into());
    let Some(layout) = layout.filter(|layout| header.checksum() == Some(layout.checksum()) && header.size > 0) else {
        return false;
    };
    let (headers, data) = packet.split_at(layout.headers);
    // The length is in the sum of the pseudo header (RFC 1624 §3).
    let without_len =
        u32::from(word(headers, layout.checksum().start)) + u32::from(!((packet.len() - layout.transport) as u16));
    let last = data.len().div_ceil(header.size.into()) - 1;
    for (index, data) in data.chunks(header.size.into()).enumerate() {
        let mut part: Box<[u8]> = [headers, data].concat().into();
        let id = if layout.is_v4 { word(headers, 4).wrapping_add(index as u16) } else { 0 };
        let len = part.len();
        layout.resize(&mut part, len, id);
        let pseudo = fold(without_len + (len - layout.transport) as u32);
        part[layout.checksum()].copy_from_slice(&pseudo.to_be_bytes());
        if is_tcp {
            let own = seq(headers, &layout).wrapping_add(index as u32 * u32::from(header.size));
            part[layout.transport + 4..layout.transport + 8].copy_from_slice(&own.to_be_bytes());
            let flags = &mut part[layout.transport + FLAGS];
            *flags &= if index == 0 { !0 } else { !CWR };
            *flags &= if index == last { !0 } else { !(FIN | PSH) };
        }
        finish(header, &mut part);
        each(part);
    }
    true
}

/// Whether `next` continues `packet` like neighbours of a super-packet: all fields except counters are equal, including
/// ECN marks.
pub fn is_before(packet: &[u8], next: &[u8]) -> bool {
    let (Some(layout), Some(other)) = (Layout::read(packet), Layout::read(next)) else { return false };
    if layout != other || packet.len() < next.len() {
        return false;
    }
    let Layout { is_v4, is_tcp, transport, headers } = layout;
    let are_equal = |at: Range<usize>| packet[at.clone()] == next[at];
    // Length, identification and checksum of IPv4 differ from the packet before, and the length of IPv6 does, too.
    let has_equal_ip = if is_v4 {
        are_equal(0..2) && are_equal(6..10) && are_equal(12..transport)
    } else {
        are_equal(0..4) && are_equal(6..transport)
    };
    let at = |from: usize, to: usize| are_equal(transport + from..transport + to);
    if !has_equal_ip || !at(0, 4) {
        return false;
    }
    !is_tcp || {
        let flags = [packet, next].map(|packet| packet[transport + FLAGS]);
        let ends = FIN | PSH;
        let goes_on = flags[0] & ends == 0 && flags[1] & CWR == 0 && (flags[0] ^ flags[1]) & !(ends | CWR) == 0;
        let data = (packet.len() - headers) as u32;
        let is_next = seq(packet, &layout).wrapping_add(data) == seq(next, &layout);
        goes_on && is_next && at(8, 13) && at(14, 16) && are_equal(transport + 18..headers)
    }
}

/// Packets to be written together: the headers, and the start of the data in each packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Metadata for the device before the bytes.
    pub header: Header,
    /// Headers of the packet, and those of all packets.
    pub headers: Vec<u8>,
    /// Start of the data in each of the packets.
    pub data_at: usize,
}

/// Joins packets, each of them [before](is_before) the next. One packet stays unchanged. Returns `None` if they do
/// not fit into one packet, or have unequal parts.
pub fn join(packets: &[&[u8]]) -> Option<Joined> {
    let [first, .., last] = packets else {
        return Some(Joined { header: Header::default(), headers: Vec::new(), data_at: 0 });
    };
    let layout = Layout::read(first)?;
    let are_equal = packets[..packets.len() - 1].iter().all(|each| each.len() == first.len());
    let total = layout.headers + packets.iter().map(|each| each.len().saturating_sub(layout.headers)).sum::<usize>();
    (are_equal && total <= u16::MAX.into()).then_some(())?;
    let mut headers = first[..layout.headers].to_vec();
    let id = if layout.is_v4 { word(first, 4) } else { 0 };
    layout.resize(&mut headers, total, id);
    let (addresses, protocol) = if layout.is_v4 { (12..20, first[9]) } else { (8..40, first[6]) };
    // RFC 9293 §3.1: the pseudo header. The kernel adds the rest on demand.
    let pseudo = fold(sum(&first[addresses]) + u32::from(protocol) + (total - layout.transport) as u32);
    headers[layout.checksum()].copy_from_slice(&pseudo.to_be_bytes());
    let mut kind = match (layout.is_tcp, layout.is_v4) {
        (false, _) => UDP_ANY,
        (true, true) => TCP_V4,
        (true, false) => TCP_V6,
    };
    if layout.is_tcp {
        let flags = &mut headers[layout.transport + FLAGS];
        *flags |= last.get(layout.transport + FLAGS)? & (FIN | PSH);
        kind |= if *flags & CWR == 0 { 0 } else { ECN };
    }
    let header = Header {
        flags: NEEDS_CSUM,
        kind,
        header_len: layout.headers as u16,
        size: (first.len() - layout.headers) as u16,
        csum_start: layout.transport as u16,
        csum_offset: (layout.checksum().start - layout.transport) as u16,
    };
    Some(Joined { header, headers, data_at: layout.headers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::checksums_are_right;
    use etherparse::{Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader, TcpOptionElement, UdpHeader};
    use proptest::prelude::*;

    /// Parts of a super-packet.
    #[derive(Clone, Debug)]
    struct Plan {
        is_v4: bool,
        is_tcp: bool,
        has_timestamps: bool,
        id: u16,
        seq: u32,
        fin: bool,
        psh: bool,
        cwr: bool,
        ecn: u8,
        size: u16,
        data: Vec<u8>,
    }

    fn plans() -> impl Strategy<Value = Plan> {
        let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
        let data = proptest::collection::vec(any::<u8>(), 2..6000);
        (flags, any::<u16>(), any::<u32>(), 0_u8..4, 100_u16..1500, data).prop_map(
            |((is_v4, is_tcp, has_timestamps, fin, psh, cwr), id, seq, ecn, size, mut data)| {
                // A packet up to the length of a segment is no super-packet.
                data.resize(data.len().max(usize::from(size) + 1), 7);
                Plan { is_v4, is_tcp, has_timestamps, id, seq, fin, psh, cwr, ecn, size, data }
            },
        )
    }

    /// Returns the packet with these data and right checksums, by another implementation.
    fn build(plan: &Plan, data: Range<usize>) -> Vec<u8> {
        let (is_first, is_last) = (data.start == 0, data.end == plan.data.len());
        let data = &plan.data[data.clone()];
        let index = (data.as_ptr() as usize - plan.data.as_ptr() as usize) / usize::from(plan.size);
        let mut bytes = Vec::new();
        let ip = if plan.is_v4 {
            let mut ip = Ipv4Header::new(0, 63, etherparse::IpNumber::TCP, [10, 77, 0, 1], [10, 77, 0, 2]).unwrap();
            ip.identification = plan.id.wrapping_add(index as u16);
            ip.ecn = plan.ecn.try_into().unwrap();
            PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default()))
        } else {
            let mut source = [0xfd; 16];
            source[15] = 3;
            let ip = Ipv6Header { traffic_class: plan.ecn, source, destination: [0x20; 16], ..Ipv6Header::default() };
            PacketBuilder::ip(etherparse::IpHeaders::Ipv6(ip, etherparse::Ipv6Extensions::default()))
        };
        if !plan.is_tcp {
            let udp = UdpHeader { source_port: 5001, destination_port: 443, ..UdpHeader::default() };
            ip.udp(udp.source_port, udp.destination_port).write(&mut bytes, data).unwrap();
            return bytes;
        }
        let seq = plan.seq.wrapping_add(index as u32 * u32::from(plan.size));
        let mut tcp = TcpHeader::new(5001, 443, seq, 900);
        if plan.has_timestamps {
            let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(1, 2)];
            tcp.set_options(&options).unwrap();
        }
        (tcp.ack, tcp.acknowledgment_number) = (true, 77);
        (tcp.fin, tcp.psh, tcp.cwr) = (plan.fin && is_last, plan.psh && is_last, plan.cwr && is_first);
        ip.tcp_header(tcp).write(&mut bytes, data).unwrap();
        bytes
    }

    fn segments(plan: &Plan) -> Vec<Vec<u8>> {
        let (size, len) = (usize::from(plan.size), plan.data.len());
        (0..len).step_by(size).map(|start| build(plan, start..(start + size).min(len))).collect()
    }

    /// Returns the super-packet of a host: the checksum covers the pseudo header.
    fn whole(plan: &Plan) -> (Header, Vec<u8>) {
        let mut packet = build(plan, 0..plan.data.len());
        let ip = if plan.is_v4 { 20 } else { 40 };
        let (offset, number) = if plan.is_tcp { (16, 6) } else { (6, 17) };
        let transport = if !plan.is_tcp { 8 } else { 20 + if plan.has_timestamps { 12 } else { 0 } };
        let kind = match (plan.is_tcp, plan.is_v4) {
            (false, _) => UDP_ANY,
            (true, true) => TCP_V4,
            (true, false) => TCP_V6,
        };
        let addresses = if plan.is_v4 { 12..20 } else { 8..40 };
        let pseudo = fold(sum(&packet[addresses]) + number + (packet.len() - ip) as u32);
        packet[ip + offset..ip + offset + 2].copy_from_slice(&pseudo.to_be_bytes());
        let header = Header {
            flags: NEEDS_CSUM,
            kind: kind | if plan.is_tcp && plan.cwr { ECN } else { 0 },
            header_len: (ip + transport) as u16,
            size: plan.size,
            csum_start: ip as u16,
            csum_offset: offset as u16,
        };
        (header, packet)
    }

    fn apart(header: Header, packet: &[u8]) -> Vec<Box<[u8]>> {
        let mut found = Vec::new();
        assert!(segment(header, packet, |each| found.push(each)));
        found
    }

    fn together(packets: &[&[u8]]) -> (Header, Vec<u8>) {
        let joined = join(packets).unwrap();
        let data = packets.iter().flat_map(|each| &each[joined.data_at..]);
        let bytes = joined.headers.iter().chain(data).copied().collect();
        (joined.header, bytes)
    }

    proptest! {
        #[test]
        fn segments_are_those_that_another_implementation_makes(plan in plans()) {
            let (header, packet) = whole(&plan);
            let found = apart(header, &packet);
            let expected = segments(&plan);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!(checksums_are_right(found), Some(true));
                prop_assert_eq!(&found[..], &expected[..]);
            }
        }

        #[test]
        fn what_is_taken_apart_and_joined_is_as_before(plan in plans()) {
            let (header, packet) = whole(&plan);
            let parts = apart(header, &packet);
            let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
            prop_assert!(parts.windows(2).all(|pair| is_before(pair[0], pair[1])));
            prop_assert_eq!(together(&parts), (header, packet));
            prop_assert_eq!(header.behind(14).without(14), header);
        }

        /// For any losses, joined neighbours look like a super-packet of a Linux host. Taken apart, they are the
        /// segments that were not lost.
        #[test]
        fn what_is_left_of_a_super_packet_has_right_checksums(plan in plans(), lost: Vec<bool>, marked in 0_usize..60) {
            let (header, packet) = whole(&plan);
            let mut parts = apart(header, &packet);
            let mut expected = segments(&plan);
            if let Some(part) = parts.get_mut(marked) {
                let is_marked = crate::codec::mark(part);
                prop_assert_eq!(crate::codec::mark(&mut expected[marked]), is_marked);
            }
            let is_lost = |index: &usize| lost.get(*index).copied().unwrap_or(false);
            let left: Vec<usize> = (0..parts.len()).filter(|index| !is_lost(index)).collect();
            // Datagrams have no numbers. The times of their entries show which of them are neighbours.
            let is_next = |one: &usize, next: &usize| one + 1 == *next && is_before(&parts[*one], &parts[*next]);
            for run in left.chunk_by(is_next) {
                let packets: Vec<&[u8]> = run.iter().map(|index| &parts[*index][..]).collect();
                let (header, packet) = together(&packets);
                for (again, index) in apart(header, &packet).iter().zip(run) {
                    prop_assert_eq!(checksums_are_right(again), Some(true));
                    prop_assert_eq!(&again[..], &expected[*index][..]);
                }
            }
        }

        #[test]
        fn no_bytes_panic(
            header: [u8; HEADER],
            is_known: bool,
            first in 0_usize..3,
            mut packet in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            let mut header = Header::read(header);
            prop_assert_eq!(Header::read(header.bytes()), header);
            if let (true, Some(byte)) = (is_known, packet.first_mut()) {
                // Chosen so that the later fields are read, too.
                *byte = [0x45, 0x60, *byte][first];
                let ip = if first == 1 { 40 } else { 20 };
                header = Header { flags: 1, kind: [TCP_V4, TCP_V6, UDP_ANY][first], csum_start: ip, csum_offset: if first == 2 { 6 } else { 16 }, ..header };
            }
            let mut found = Vec::new();
            segment(header, &packet, |each| found.push(each));
            let found: Vec<&[u8]> = found.iter().map(|each| &each[..]).collect();
            for run in found.chunk_by(|one, next| is_before(one, next)) {
                prop_assert!(join(run).is_none_or(|joined| joined.headers.len() == joined.data_at));
            }
            is_before(&packet, &packet);
        }
    }

    #[test]
    fn what_is_no_super_packet_stays_as_it_is() {
        let plan = Plan {
            is_v4: true,
            is_tcp: true,
            has_timestamps: true,
            id: 1,
            seq: 2,
            fin: true,
            psh: true,
            cwr: true,
            ecn: 1,
            size: 100,
            data: vec![3; 50],
        };
        let packet = build(&plan, 0..50);
        assert_eq!(apart(Header::default(), &packet), [packet.clone().into()]);
        assert_eq!(together(&[&packet]), (Header::default(), packet.clone()));
        // The end of the super-packet, not a byte behind it.
        assert!(!is_before(&packet, &packet));
        // More headers than bytes: it cannot be cut.
        let header =
            Header { flags: NEEDS_CSUM, kind: TCP_V4, size: 1, csum_start: 20, csum_offset: 16, header_len: 0 };
        assert!(!segment(header, &packet[..52], |_| ()));
    }
}
