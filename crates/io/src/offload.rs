//! Segmentation offload: super-packets of hosts are taken apart, and neighbours that leave together are joined again.
//!
//! A host of Linux hands over TCP data in units of up to 64 kB and expects the device to cut them. To carry such a unit as one packet
//! would give all of its segments one place in queues and one error. So each segment is a packet of its own on the path, and
//! those of one super-packet that leave at the same time are given to the receiver as one unit, as receive offload does.
//!
//! Pure functions on bytes. The header is `virtio_net_hdr` of Virtual I/O Device 1.2 §5.1.6, in the order of bytes of the machine.

use crate::codec::{fold, sum};
use std::ops::Range;

/// Bytes of the header that a device of Linux puts before each packet.
pub const HEADER: usize = 10;
/// Bytes before each packet while it is in the network.
pub const TAG: usize = HEADER + 6;

/// The checksum of the transport covers the pseudo header only; who delivers the packet completes it.
const NEEDS_CSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// The super-packet has CWR, which stands in its first segment only (RFC 3168 §6.1.2).
const ECN: u8 = 0x80;

/// Flags of TCP, and where they stand behind the start of its header (RFC 9293 §3.1).
const FLAGS: usize = 13;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// What a device says about a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    flags: u8,
    /// What is to be cut: TCP over IPv4 or IPv6, UDP, or nothing.
    kind: u8,
    /// Bytes of all headers: a hint.
    header_len: u16,
    /// Bytes of data in each segment.
    size: u16,
    /// Where what the checksum covers begins, and where behind that it stands.
    csum_start: u16,
    csum_offset: u16,
}

impl Header {
    /// Reads it.
    pub fn read(bytes: [u8; HEADER]) -> Self {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let [flags, kind, ..] = bytes;
        Self { flags, kind, header_len: half(2), size: half(4), csum_start: half(6), csum_offset: half(8) }
    }

    /// As it is read.
    pub fn bytes(self) -> [u8; HEADER] {
        let halves = [self.header_len, self.size, self.csum_start, self.csum_offset].map(u16::to_ne_bytes);
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..].copy_from_slice(halves.as_flattened());
        bytes
    }

    /// The same of a packet with this many bytes of another header before it.
    #[must_use]
    pub fn behind(self, bytes: u16) -> Self {
        let (header_len, csum_start) = (self.header_len.saturating_add(bytes), self.csum_start.saturating_add(bytes));
        Self { header_len, csum_start, ..self }
    }

    /// And the same without that header.
    #[must_use]
    pub fn without(self, bytes: u16) -> Self {
        let (header_len, csum_start) = (self.header_len.saturating_sub(bytes), self.csum_start.saturating_sub(bytes));
        Self { header_len, csum_start, ..self }
    }

    /// Where the checksum of a packet stands that has to be completed.
    fn checksum(self) -> Option<Range<usize>> {
        let at = usize::from(self.csum_start) + usize::from(self.csum_offset);
        (self.flags & NEEDS_CSUM != 0).then_some(at..at + 2)
    }
}

/// A packet on its way through the network, as [`segment`] makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried<'a> {
    header: Header,
    /// Of the super-packet that it is a part of, if it is one.
    number: u32,
    index: u16,
    /// The IP packet.
    pub packet: &'a [u8],
}

impl<'a> Carried<'a> {
    /// Reads what the network has carried; none if it is shorter than what is put before each packet.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (tag, packet) = bytes.split_first_chunk::<TAG>()?;
        let (header, part) = tag.split_first_chunk::<HEADER>()?;
        let number = u32::from_ne_bytes([part[0], part[1], part[2], part[3]]);
        Some(Self { header: Header::read(*header), number, index: u16::from_ne_bytes([part[4], part[5]]), packet })
    }

    /// Whether `next` is the segment behind this one, and a queue marked both or none of them.
    pub fn is_before(&self, next: &Self) -> bool {
        let marks = |packet: &[u8]| [packet.first().copied(), packet.get(1).copied()];
        self.number == next.number
            && self.number != 0
            && self.index.checked_add(1) == Some(next.index)
            && marks(self.packet) == marks(next.packet)
    }

    /// The packet with all checksums right.
    pub fn finished(&self) -> Box<[u8]> {
        let mut packet: Box<[u8]> = self.packet.into();
        let Some(at) = self.header.checksum().filter(|at| at.end <= packet.len()) else { return packet };
        let sum = !fold(sum(&packet[usize::from(self.header.csum_start)..]));
        // RFC 768: zero would say that there is none.
        let sum = if sum == 0 { u16::MAX } else { sum };
        packet[at].copy_from_slice(&sum.to_be_bytes());
        packet
    }
}

fn carried(header: Header, number: u32, index: u16, packet: [&[u8]; 2]) -> Box<[u8]> {
    [&header.bytes()[..], &number.to_ne_bytes(), &index.to_ne_bytes(), packet[0], packet[1]].concat().into()
}

/// Where the parts of a super-packet are.
struct Layout {
    is_v4: bool,
    is_tcp: bool,
    transport: usize,
    /// Bytes of all headers.
    headers: usize,
    csum: Range<usize>,
}

impl Layout {
    fn of(header: Header, packet: &[u8]) -> Option<Self> {
        let is_tcp = match header.kind & !ECN {
            TCP_V4 | TCP_V6 => true,
            UDP => false,
            _ => return None,
        };
        let is_v4 = packet.first()? >> 4 == 4;
        let (csum, transport) = (header.checksum()?, usize::from(header.csum_start));
        let len = if is_tcp { usize::from(packet.get(transport + 12)? >> 4) * 4 } else { 8 };
        let headers = transport + len;
        let is_whole = transport >= if is_v4 { 20 } else { 40 } && len >= if is_tcp { 20 } else { 8 };
        let has_room = csum.end <= headers && headers < packet.len() && header.size > 0;
        (is_whole && has_room).then_some(Self { is_v4, is_tcp, transport, headers, csum })
    }

    /// Changes the headers, of a packet of `before` bytes, to those of one of `after` bytes.
    fn resize(&self, headers: &mut [u8], before: usize, after: usize, id: u16) {
        let put = |bytes: &mut [u8], value: u16| bytes.copy_from_slice(&value.to_be_bytes());
        if self.is_v4 {
            put(&mut headers[2..4], after as u16);
            put(&mut headers[4..6], id);
            headers[10..12].fill(0);
            let checksum = !fold(sum(&headers[..self.transport]));
            put(&mut headers[10..12], checksum);
        } else {
            put(&mut headers[4..6], (after - 40) as u16);
        }
        let covered = |len: usize| (len - self.transport) as u16;
        if !self.is_tcp {
            put(&mut headers[self.transport + 4..self.transport + 6], covered(after));
        }
        // The sum of the pseudo header has the length in it (RFC 1624 §3).
        let pseudo = u32::from(word(headers, self.csum.start));
        put(&mut headers[self.csum.clone()], fold(pseudo + u32::from(!covered(before)) + u32::from(covered(after))));
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Calls `each` with the packets that `packet` stands for, ready for the network: one, or those of the super-packet with this number,
/// which is not 0. Returns whether it could be read.
pub fn segment(header: Header, packet: &[u8], number: u32, mut each: impl FnMut(Box<[u8]>)) -> bool {
    if header.kind == 0 {
        // Neither this nor joining needs the size of what is no super-packet.
        each(carried(header, 0, 0, [packet, &[]]));
        return true;
    }
    let Some(layout) = Layout::of(header, packet) else { return false };
    let (headers, data) = packet.split_at(layout.headers);
    let parts = data.len().div_ceil(header.size.into());
    let part = Header { kind: 0, header_len: 0, size: 0, ..header };
    for (index, data) in data.chunks(header.size.into()).enumerate() {
        let mut headers = headers.to_vec();
        let id = if layout.is_v4 { word(&headers, 4).wrapping_add(index as u16) } else { 0 };
        layout.resize(&mut headers, packet.len(), layout.headers + data.len(), id);
        if layout.is_tcp {
            let seq = layout.transport + 4..layout.transport + 8;
            let first = u32::from_be_bytes([
                headers[seq.start],
                headers[seq.start + 1],
                headers[seq.start + 2],
                headers[seq.start + 3],
            ]);
            let own = first.wrapping_add(index as u32 * u32::from(header.size));
            headers[seq].copy_from_slice(&own.to_be_bytes());
            let flags = &mut headers[layout.transport + FLAGS];
            *flags &= if index == 0 { !0 } else { !CWR };
            *flags &= if index + 1 == parts { !0 } else { !(FIN | PSH) };
        }
        each(carried(part, number, index as u16, [&headers, data]));
    }
    true
}

/// Packets to be written at once: what stands before the data of the first, and where in each of them the data begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// What the device is told.
    pub header: Header,
    /// Headers of the packet.
    pub headers: Vec<u8>,
    /// Where in each of the packets its data begin.
    pub data_at: usize,
}

/// Joins packets each of which [is before](Carried::is_before) the next; of one packet, it gives that packet.
pub fn join(packets: &[Carried<'_>]) -> Option<Joined> {
    let (first, last) = (packets.first()?, packets.last()?);
    if packets.len() == 1 {
        return Some(Joined { header: first.header, headers: Vec::new(), data_at: 0 });
    }
    let is_v4 = first.packet.first()? >> 4 == 4;
    // UDP has its checksum at 6, TCP at 16.
    let kind = match (first.header.csum_offset, is_v4) {
        (6, _) => UDP,
        (_, true) => TCP_V4,
        (_, false) => TCP_V6,
    };
    let mut header = Header { kind, size: 1, ..first.header };
    let layout = Layout::of(header, first.packet)?;
    let mut headers = first.packet[..layout.headers].to_vec();
    let data: usize = packets.iter().map(|each| each.packet.len().saturating_sub(layout.headers)).sum();
    let total = u16::try_from(layout.headers + data).ok()?;
    header.header_len = layout.headers as u16;
    header.size = (first.packet.len() - layout.headers) as u16;
    let id = if layout.is_v4 { word(&headers, 4) } else { 0 };
    layout.resize(&mut headers, first.packet.len(), total.into(), id);
    if layout.is_tcp {
        let flags = &mut headers[layout.transport + FLAGS];
        *flags |= last.packet.get(layout.transport + FLAGS)? & (FIN | PSH);
        header.kind |= if *flags & CWR == 0 { 0 } else { ECN };
    }
    Some(Joined { header, headers, data_at: layout.headers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::checksums_are_right;
    use etherparse::{Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader, TcpOptionElement, UdpHeader};
    use proptest::prelude::*;

    /// What a super-packet is made of.
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
                // What is not longer than a segment is no super-packet.
                data.resize(data.len().max(usize::from(size) + 1), 7);
                Plan { is_v4, is_tcp, has_timestamps, id, seq, fin, psh, cwr, ecn, size, data }
            },
        )
    }

    /// The packet with these data, all checksums right, by another implementation.
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

    /// The super-packet as a host hands it over: the checksum covers the pseudo header only.
    fn whole(plan: &Plan) -> (Header, Vec<u8>) {
        let mut packet = build(plan, 0..plan.data.len());
        let ip = if plan.is_v4 { 20 } else { 40 };
        let (offset, number) = if plan.is_tcp { (16, 6) } else { (6, 17) };
        let transport = if !plan.is_tcp { 8 } else { 20 + if plan.has_timestamps { 12 } else { 0 } };
        let kind = match (plan.is_tcp, plan.is_v4) {
            (false, _) => UDP,
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
        assert!(segment(header, packet, 9, |each| found.push(each)));
        found
    }

    fn together(packets: &[Carried<'_>]) -> (Header, Vec<u8>) {
        let joined = join(packets).unwrap();
        let data = packets.iter().flat_map(|each| &each.packet[joined.data_at..]);
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
                let finished = Carried::read(found).unwrap().finished();
                prop_assert_eq!(checksums_are_right(&finished), Some(true));
                prop_assert_eq!(&finished[..], &expected[..]);
            }
        }

        #[test]
        fn what_is_taken_apart_and_joined_is_as_before(plan in plans()) {
            let (header, packet) = whole(&plan);
            let parts = apart(header, &packet);
            let parts: Vec<_> = parts.iter().map(|part| Carried::read(part).unwrap()).collect();
            prop_assert!(parts.windows(2).all(|pair| pair[0].is_before(&pair[1])));
            prop_assert_eq!(together(&parts), (header, packet));
            prop_assert_eq!(header.behind(14).without(14), header);
        }

        /// Whatever is lost, neighbours that are joined are again what a host of Linux hands over: taken apart, they are the segments
        /// that were not lost. Only the identification of IPv4 counts on from the first.
        #[test]
        fn what_is_left_of_a_super_packet_has_right_checksums(plan in plans(), lost: Vec<bool>, marked in 0_usize..60) {
            let (header, packet) = whole(&plan);
            let mut parts = apart(header, &packet);
            let mut expected = segments(&plan);
            if let Some(part) = parts.get_mut(marked) {
                let is_marked = crate::codec::mark(&mut part[TAG..]);
                prop_assert_eq!(crate::codec::mark(&mut expected[marked]), is_marked);
            }
            let is_lost = |index: usize| lost.get(index).copied().unwrap_or(false);
            let left = (0..parts.len()).filter(|&index| !is_lost(index));
            let left: Vec<_> = left.map(|index| (Carried::read(&parts[index]).unwrap(), &expected[index])).collect();
            for run in left.chunk_by(|one, next| one.0.is_before(&next.0)) {
                let packets: Vec<_> = run.iter().map(|each| each.0).collect();
                let (header, packet) = together(&packets);
                for (again, (_, expected)) in apart(header, &packet).iter().zip(run) {
                    let again = Carried::read(again).unwrap().finished();
                    prop_assert_eq!(checksums_are_right(&again), Some(true));
                    prop_assert_eq!(&again[..], &expected[..]);
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
                // So that what follows is read, too.
                *byte = [0x45, 0x60, *byte][first];
                let ip = if first == 1 { 40 } else { 20 };
                header = Header { flags: 1, kind: [TCP_V4, TCP_V6, UDP][first], csum_start: ip, csum_offset: 16, ..header };
            }
            let mut found = Vec::new();
            segment(header, &packet, 1, |each| found.push(each));
            let found: Vec<_> = found.iter().map(|each| Carried::read(each).unwrap()).collect();
            found.iter().for_each(|each| drop(each.finished()));
            for run in found.chunk_by(Carried::is_before) {
                prop_assert!(join(run).is_none_or(|joined| joined.headers.len() == joined.data_at));
            }
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
        let parts = apart(Header::default(), &packet);
        let read: Vec<_> = parts.iter().map(|part| Carried::read(part).unwrap()).collect();
        assert_eq!((read.len(), read[0].packet, &read[0].finished()[..]), (1, &packet[..], &packet[..]));
        assert_eq!(together(&read), (Header::default(), packet.clone()));
        // Two that have nothing to do with one another.
        assert!(!read[0].is_before(&read[0]));
        // More headers than there are bytes: it cannot be cut.
        let header =
            Header { flags: NEEDS_CSUM, kind: TCP_V4, size: 1, csum_start: 20, csum_offset: 16, header_len: 0 };
        assert!(!segment(header, &packet[..52], 1, |_| ()));
    }
}
