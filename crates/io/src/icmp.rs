//! Reports of routers to senders that a packet was larger than the MTU of a link. They are written for real senders,
//! and read for bentpipe's TCP.

use crate::codec::{checksums_are_right, Headers};
use bentpipe_tcp::Notice;
use bentpipe_units::Seq;
use etherparse::{LaxSlicedPacket, PacketBuilder, TransportSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// RFC 7600 §4.8: the source of ICMP messages of a node that has no IPv4 address.
const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);
/// Address outside the hosts' networks, unique local like these (RFC 4193 §3).
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0xffff, 0, 0, 0, 1);
const TTL: u8 = 64;
/// Destination unreachable: fragmentation needed and DF set (RFC 792), with the MTU of the next hop (RFC 1191 §4).
const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
/// Packet too big (RFC 4443 §3.2).
const TOO_BIG: u8 = 2;
/// Largest report in bytes (RFC 1812 §4.3.2.3, RFC 4443 §2.4).
const REPORT_MAX_V4: usize = 576;
const REPORT_MAX_V6: usize = 1280;
const HEADERS_V4: usize = 28;
const HEADERS_V6: usize = 48;
/// Least MTU of an IPv6 link (RFC 8200 §5).
const MTU_MIN_V6: u64 = 1280;
/// Difference between the headers of IPv6 and IPv4 in bytes.
const V6_MORE: u32 = 20;
const ICMP: u8 = 1;
/// Identifier of bentpipe's echoes.
const ECHO: u16 = 0x6270;
const ICMP_V6: u8 = 58;
/// Don't-fragment bit, in the first byte of the third word of an IPv4 header.
const DONT_FRAGMENT: u8 = 0x40;

/// Returns a router's report to the sender of a packet above the MTU of a link, and the number of its header bytes.
/// `None`: the sender allows fragments, the packet is itself a report, or is not an IP packet.
pub fn too_big(packet: &[u8], mtu: u64) -> Option<(Vec<u8>, u8)> {
    let headers = Headers::of(packet)?;
    // RFC 1122 §3.2.2, RFC 4443 §2.4: no report about a report.
    if matches!(headers.protocol, ICMP | ICMP_V6) && !is_echo(packet, &headers) {
        return None;
    }
    let mut made = Vec::new();
    match headers.from {
        IpAddr::V4(sender) => {
            if packet.get(6)? & DONT_FRAGMENT == 0 {
                return None;
            }
            let [high, low] = u16::try_from(mtu).ok()?.to_be_bytes();
            let about = &packet[..packet.len().min(REPORT_MAX_V4 - HEADERS_V4)];
            let builder = PacketBuilder::ipv4(ROUTER_V4.octets(), sender.octets(), TTL).icmpv4_raw(
                UNREACHABLE,
                FRAGMENTATION_NEEDED,
                [0, 0, high, low],
            );
            builder.write(&mut made, about).ok()?;
            Some((made, HEADERS_V4 as u8))
        }
        IpAddr::V6(sender) => {
            let mtu = u32::try_from(mtu.max(MTU_MIN_V6)).ok()?;
            let about = &packet[..packet.len().min(REPORT_MAX_V6 - HEADERS_V6)];
            let builder =
                PacketBuilder::ipv6(ROUTER_V6.octets(), sender.octets(), TTL).icmpv6_raw(TOO_BIG, 0, mtu.to_be_bytes());
            builder.write(&mut made, about).ok()?;
            Some((made, HEADERS_V6 as u8))
        }
    }
}

/// Segment of bentpipe's TCP that was too large for a link, from a router's report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Source of the segment.
    pub from: SocketAddr,
    /// Destination of the segment.
    pub to: SocketAddr,
    /// Notice for its connection.
    pub notice: Notice,
}

/// Returns the subject of a report; `None`: the packet is not a report, or not about a segment.
pub fn reported(packet: &[u8]) -> Option<Reported> {
    let headers = Headers::of(packet)?;
    if checksums_are_right(packet) != Some(true) {
        return None;
    }
    let at = usize::from(headers.header_len);
    let (message, about) = (packet.get(at.checked_sub(8)?..at)?, packet.get(at..)?);
    let word = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
    let mtu = match (headers.protocol, message[0], message[1]) {
        (ICMP, UNREACHABLE, FRAGMENTATION_NEEDED) => word & 0xffff,
        // Connections count the header of IPv4.
        (ICMP_V6, TOO_BIG, 0) => word.saturating_sub(V6_MORE),
        _ => return None,
    };
    let lost = Headers::of(about)?;
    // Lengths of the IP header: only the start of the packet itself is available.
    let half = |at: usize| Some(usize::from(u16::from_be_bytes([*about.get(at)?, *about.get(at + 1)?])));
    let len = if lost.from.is_ipv4() { half(2)? } else { half(4)? + 40 };
    let LaxSlicedPacket { transport: Some(TransportSlice::Tcp(tcp)), .. } = LaxSlicedPacket::from_ip(about).ok()?
    else {
        return None;
    };
    let notice = Notice::TooBig {
        seq: Seq::new(tcp.sequence_number()),
        len: len.saturating_sub(lost.header_len.into()).try_into().ok()?,
        mtu,
    };
    let ends = [(lost.from, tcp.source_port()), (lost.to, tcp.destination_port())];
    let [from, to] = ends.map(|(ip, port)| SocketAddr::new(ip, port));
    Some(Reported { from, to, notice })
}

/// Returns an echo request (RFC 792).
pub(crate) fn echo(from: Ipv4Addr, to: Ipv4Addr, number: u16) -> Option<Vec<u8>> {
    let mut made = Vec::new();
    let builder = PacketBuilder::ipv4(from.octets(), to.octets(), TTL).icmpv4_echo_request(ECHO, number);
    builder.write(&mut made, &[]).ok()?;
    Some(made)
}

/// Whether a packet answers the echo request with this number.
pub(crate) fn is_answer(packet: &[u8], number: u16) -> bool {
    let Some(headers) = Headers::of(packet) else { return false };
    let at = usize::from(headers.header_len);
    let message = at.checked_sub(8).and_then(|start| packet.get(start..at));
    // Kind and code are 0. Checksum, identifier of the sender, and number follow.
    let is_ours =
        |found: &[u8]| found[..2] == [0; 2] && found[4..6] == ECHO.to_be_bytes() && found[6..] == number.to_be_bytes();
    headers.protocol == ICMP && message.is_some_and(is_ours)
}

/// Whether it is an echo request or reply. These are not reports.
fn is_echo(packet: &[u8], headers: &Headers) -> bool {
    let kind = usize::from(headers.header_len).checked_sub(8).and_then(|at| packet.get(at));
    match headers.protocol {
        ICMP => matches!(kind, Some(0 | 8)),
        _ => matches!(kind, Some(128 | 129)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::emit;
    use bentpipe_tcp::{Flags, Segment};
    use proptest::prelude::*;

    fn packet(is_v6: bool) -> Vec<u8> {
        let end = |v4: &str, v6: &str| (if is_v6 { v6 } else { v4 }).parse().unwrap();
        let (from, to) = (end("10.77.0.1:5001", "[fd77::1]:5001"), end("10.77.0.2:40000", "[fd77::2]:40000"));
        let segment = Segment { seq: Seq::new(99), len: 1400, flags: Flags::ACK, ..Segment::default() };
        emit(from, to, &segment, &[7; 1400]).unwrap()
    }

    #[test]
    fn an_echo_is_answered_by_its_reply_alone() {
        let (from, to) = (Ipv4Addr::new(10, 77, 0, 2), Ipv4Addr::new(10, 77, 0, 1));
        let request = echo(from, to, 7).unwrap();
        assert_eq!(checksums_are_right(&request), Some(true));
        let reply = |id, number| {
            let mut made = Vec::new();
            let builder = PacketBuilder::ipv4(to.octets(), from.octets(), TTL).icmpv4_echo_reply(id, number);
            builder.write(&mut made, &[]).unwrap();
            made
        };
        assert!(is_answer(&reply(ECHO, 7), 7));
        for other in [reply(ECHO, 6), reply(1, 7), request, packet(false), packet(true), vec![0x45]] {
            assert!(!is_answer(&other, 7));
        }
    }

    /// RFC 1191 §4: the MTU is in the low half of the second word, and the header of the packet follows; RFC 4443 §3.2: in the whole word.
    #[test]
    fn a_report_has_the_mtu_and_the_start_of_the_packet() {
        let mut sent = packet(false);
        sent[6] |= DONT_FRAGMENT;
        let (report, header_len) = too_big(&sent, 1300).unwrap();
        assert_eq!((checksums_are_right(&report), report.len(), header_len), (Some(true), 576, 28));
        assert_eq!(report[20..22], [3, 4]);
        assert_eq!(report[24..28], [0, 0, 5, 20]);
        assert_eq!(report[28..], sent[..548]);
        let about = Headers::of(&report).unwrap();
        assert_eq!((about.from, about.to, about.protocol), (ROUTER_V4.into(), "10.77.0.1".parse().unwrap(), 1));
        let sent = packet(true);
        for (mtu, word) in [(1400, 1400_u32), (600, 1280)] {
            let (report, header_len) = too_big(&sent, mtu).unwrap();
            assert_eq!((checksums_are_right(&report), report.len(), header_len), (Some(true), 1280, 48));
            assert_eq!((report[40], report[44..48].to_vec()), (2, word.to_be_bytes().to_vec()));
            assert_eq!(report[48..], sent[..1232]);
        }
    }

    #[test]
    fn what_is_reported_comes_back() {
        for (is_v6, mtu, counted) in [(false, 1300, 1300), (true, 1300, 1280)] {
            let (report, _) = too_big(&packet(is_v6), mtu).unwrap();
            let found = reported(&report).unwrap();
            assert_eq!(found.notice, Notice::TooBig { seq: Seq::new(99), len: 1400, mtu: counted });
            assert_eq!((found.from.port(), found.to.port()), (5001, 40000));
        }
        assert_eq!(reported(&packet(false)), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(is_v6: bool, at: usize, byte: u8, cut in 0_usize..600) {
            let mut sent = packet(is_v6);
            let place = at % sent.len();
            sent[place] = byte;
            if let Some((mut report, _)) = too_big(&sent, 1300) {
                let place = at % report.len();
                report[place] = byte;
                reported(&report);
                reported(&report[..report.len().min(cut)]);
            }
            too_big(&sent[..sent.len().min(cut)], 1300);
        }
    }

    #[test]
    fn there_is_none_about_a_report_or_where_fragments_are_allowed() {
        let mut sent = packet(false);
        sent[6] &= !DONT_FRAGMENT;
        assert_eq!(too_big(&sent, 1300), None);
        sent[6] |= DONT_FRAGMENT;
        let (mut report, _) = too_big(&sent, 1300).unwrap();
        report[6] |= DONT_FRAGMENT;
        assert_eq!(too_big(&report, 300), None);
        let (report, _) = too_big(&packet(true), 1300).unwrap();
        assert_eq!(too_big(&report, 1280), None);
        assert_eq!(too_big(&[4, 5], 1280), None);
    }
}
