//! Packets as bytes: the fields of IP packets that the path reads, and those that it changes.
//!
//! A packet may be anything that a program sends, so no function here fails: unreadable fields are missing.

use etherparse::{LaxNetSlice, LaxSlicedPacket, PacketBuilder, TransportSlice};
use std::net::IpAddr;

/// Largest header length in the simulator (RFC 9293 §3.1 and RFC 791 §3.1 allow 60 B each).
const HEADER_LEN_MAX: usize = u8::MAX as usize;

/// Both bits of ECN: congestion experienced (RFC 3168 §5).
const CE: u8 = 0b11;

/// Fields of a packet that the path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Protocol above IP, as IANA numbers them: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Ports of source and destination. None for other protocols, and for later fragments.
    pub ports: Option<(u16, u16)>,
    /// Bytes of the headers, from IP to TCP, UDP or ICMP; at most 255.
    pub header_len: u8,
    /// Bytes of the whole packet, by the IP header.
    pub len: usize,
}

impl Headers {
    /// Returns the fields of a packet; `None` if it is not an IP packet.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
        let (from, to, payload): (IpAddr, IpAddr, _) = match sliced.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), ip.payload())
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), ip.payload())
            }
            LaxNetSlice::Arp(_) => return None,
        };
        // Start of the payload. Bytes that the header does not count may follow it.
        let start = (payload.payload.as_ptr() as usize).checked_sub(packet.as_ptr() as usize)?;
        let ip_header = start.min(packet.len() - payload.payload.len());
        let (transport, ports) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                (tcp.header_slice().len(), Some((tcp.source_port(), tcp.destination_port())))
            }
            Some(TransportSlice::Udp(udp)) => (8, Some((udp.source_port(), udp.destination_port()))),
            Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_)) => (8, None),
            None => (0, None),
        };
        let header_len = (ip_header + transport.min(payload.payload.len())).min(HEADER_LEN_MAX) as u8;
        Some(Self {
            from,
            to,
            protocol: payload.ip_number.0,
            ports,
            header_len,
            len: ip_header + payload.payload.len(),
        })
    }
}

/// Fields of a TCP segment besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) ports: (u16, u16),
    pub(crate) ack: u32,
    /// Bytes of its data, or of the data of a super-packet.
    pub(crate) data: usize,
}

/// Returns the fields of a segment in the middle of a connection: with ACK, without SYN, FIN and RST (RFC 9293 §3.1).
pub(crate) fn acknowledgement(packet: &[u8]) -> Option<Acknowledgement> {
    const TCP: u8 = 6;
    let ip = match packet.first()? >> 4 {
        4 if *packet.get(9)? == TCP => usize::from(packet[0] & 0xf) * 4,
        6 if *packet.get(6)? == TCP => 40,
        _ => return None,
    };
    let tcp = packet.get(ip..)?;
    let (header, flags) = (usize::from(*tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
    let half = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    (flags & 0b1_0111 == 0b1_0000).then(|| Acknowledgement {
        ports: (half(0), half(2)),
        ack: u32::from(half(8)) << 16 | u32::from(half(10)),
        data: tcp.len().saturating_sub(header),
    })
}

/// Marks a packet: sets CE, and in IPv4 the checksum (RFC 3168 §5, RFC 1624 §3). Returns whether the packet is
/// ECN-capable. Other packets stay unchanged.
pub fn mark(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            if packet[1] & CE == 0 {
                return false;
            }
            let word = |packet: &[u8]| u16::from_be_bytes([packet[0], packet[1]]);
            let before = word(packet);
            packet[1] |= CE;
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            // RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
            let new = !fold(u32::from(!sum) + u32::from(!before) + u32::from(word(packet)));
            packet[10..12].copy_from_slice(&new.to_be_bytes());
            true
        }
        // Traffic class: the low half of the first byte, the high half of the second.
        Some(6) if packet.len() >= 40 => {
            let takes = packet[1] & CE << 4 != 0;
            if takes {
                packet[1] |= CE << 4;
            }
            takes
        }
        _ => false,
    }
}

/// Whether all checksums of the packet are right: that of IPv4, and that of TCP, UDP or ICMP. `None`: it is not a
/// complete IP packet, or has no checksum.
pub fn checksums_are_right(packet: &[u8]) -> Option<bool> {
    let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
    if sliced.stop_err.is_some() {
        return None;
    }
    let (ip, pseudo, payload) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let addresses = [header.source(), header.destination()].concat();
            (fold(sum(header.slice())) == u16::MAX, addresses, ip.payload())
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (true, [header.source(), header.destination()].concat(), ip.payload())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    if payload.fragmented || payload.incomplete {
        return None;
    }
    let over = |number: u8| {
        // RFC 9293 §3.1, RFC 8200 §8.1: addresses, length and protocol are in the sum.
        let pseudo = sum(&pseudo) + payload.payload.len() as u32 + u32::from(number);
        fold(pseudo + sum(payload.payload)) == u16::MAX
    };
    let transport = match sliced.transport? {
        TransportSlice::Tcp(_) => over(6),
        // RFC 768: zero means no checksum.
        TransportSlice::Udp(udp) => (udp.checksum() == 0 && pseudo.len() == 8) || over(17),
        TransportSlice::Icmpv4(_) => fold(sum(payload.payload)) == u16::MAX,
        TransportSlice::Icmpv6(_) => over(58),
    };
    Some(ip && transport)
}

/// Returns a datagram of UDP over IPv4 or IPv6 with right checksums, or none if the addresses are of two kinds, or it
/// is too long.
pub fn datagram(from: IpAddr, to: IpAddr, ports: (u16, u16), payload: &[u8]) -> Option<Vec<u8>> {
    const TTL: u8 = 64;
    let ip = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), TTL),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), TTL),
        _ => return None,
    };
    let udp = ip.udp(ports.0, ports.1);
    let mut bytes = Vec::with_capacity(udp.size(payload.len()));
    udp.write(&mut bytes, payload).ok()?;
    Some(bytes)
}

/// Returns the sum of 16-bit words of RFC 1071, with some of its carries. A last odd byte is the high one.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    // RFC 1071 §2: sums of longer words are the same after their carries are added.
    let mut words = bytes.chunks_exact(4);
    let long: u64 =
        words.by_ref().map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))).sum();
    let rest = words.remainder().chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)));
    let sum = long + rest.sum::<u64>();
    ((sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32)) as u32
}

/// Carries are added at the low end (RFC 1071 §1).
pub(crate) fn fold(mut sum: u32) -> u16 {
    while sum > u32::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V4: [IpAddr; 2] =
        [IpAddr::V4(std::net::Ipv4Addr::new(10, 77, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)];
    const V6: [IpAddr; 2] =
        [IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 9))];

    /// TCP segment, made by hand by RFC 791 and RFC 9293.
    fn tcp(ecn: u8) -> Vec<u8> {
        let mut packet = vec![0x45, ecn, 0, 55, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        packet.extend([0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x18, 1, 0, 0, 0, 0, 0]);
        packet.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        packet.extend([1, 2, 3]);
        let header = !fold(sum(&packet[..20]));
        packet[10..12].copy_from_slice(&header.to_be_bytes());
        let segment = !fold(sum(&packet[12..]) + 35 + 6);
        packet[36..38].copy_from_slice(&segment.to_be_bytes());
        packet
    }

    #[test]
    fn headers_of_tcp_are_those_of_the_standard() {
        let mut packet = tcp(0);
        let headers = Headers::of(&packet).unwrap();
        assert_eq!(headers.ports, Some((40000, 5001)));
        assert_eq!((headers.header_len, headers.len, headers.protocol), (52, 55, 6));
        assert_eq!((headers.from.to_string(), headers.to.to_string()), ("10.77.0.1".into(), "10.77.0.2".into()));
        assert_eq!(checksums_are_right(&packet), Some(true));
        let said = Acknowledgement { ports: (40000, 5001), ack: 2, data: 3 };
        assert_eq!(acknowledgement(&packet), Some(said));
        packet[33] |= 1;
        assert_eq!(acknowledgement(&packet), None, "FIN");
        // RFC 1071 §3: the example of the standard.
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    #[test]
    fn a_mark_is_set_only_where_the_sender_knows_ecn_and_the_checksum_stays_right() {
        for (ecn, marks) in [(0, false), (1, true), (2, true), (3, true)] {
            let mut packet = tcp(ecn);
            assert_eq!(mark(&mut packet), marks);
            assert_eq!((packet[1], checksums_are_right(&packet)), (if marks { 3 } else { 0 }, Some(true)));
        }
        let mut packet = datagram(V6[0], V6[1], (1, 2), b"x").unwrap();
        assert!(!mark(&mut packet));
        packet[1] |= 0x10;
        assert!(mark(&mut packet) && packet[1] & 0x30 == 0x30);
    }

    proptest! {
        #[test]
        fn a_sum_is_that_of_its_words(bytes: Vec<u8>) {
            let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
            prop_assert_eq!(fold(sum(&bytes)), fold(words.sum()));
        }

        #[test]
        fn what_is_written_is_read(ports: (u16, u16), payload: Vec<u8>, is_v6: bool, flip: usize) {
            let [from, to] = if is_v6 { V6 } else { V4 };
            let mut packet = datagram(from, to, ports, &payload).unwrap();
            let header_len = if is_v6 { 48 } else { 28 };
            let len = payload.len() + usize::from(header_len);
            let whole = Headers { from, to, protocol: 17, ports: Some(ports), header_len, len };
            prop_assert_eq!(Headers::of(&packet), Some(whole));
            prop_assert_eq!(checksums_are_right(&packet), Some(true));
            if let Some(at) = flip.checked_rem(payload.len()) {
                packet[usize::from(header_len) + at] ^= 1;
                prop_assert_eq!(checksums_are_right(&packet), Some(false));
            }
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), first in 0_u8..5, next in 0_usize..6) {
            // Half of them start like an IP packet of a known protocol, so that the later fields are read, too.
            if let Some(byte) = bytes.first_mut() {
                *byte = [0x45, 0x60, 0x4f, *byte, *byte][usize::from(first)];
            }
            for at in [6, 9] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = [6, 17, 1, 58, 0, *byte][next];
                }
            }
            let headers = Headers::of(&bytes);
            prop_assert!(headers.is_none_or(|headers| usize::from(headers.header_len) <= headers.len && headers.len <= bytes.len()));
            checksums_are_right(&bytes);
            acknowledgement(&bytes);
            mark(&mut bytes);
        }
    }
}
