//! Messages to the kernel about a host's network: devices and routes by rtnetlink(7), connections by sock_diag(7).

use crate::system::socket;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of the header of a message, and of the header of an attribute.
pub(crate) const HEADER: usize = 16;
pub(crate) const ATTRIBUTE_HEADER: usize = 4;
/// Largest answer in bytes. The kernel splits longer ones.
const ANSWER_MAX: usize = 1 << 16;
/// Metrics of a route: locks, initial window, name of a congestion control (linux/rtnetlink.h).
const RTAX_LOCK: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_CC_ALGO: u16 = 16;
/// Other device of a pair (linux/veth.h).
const VETH_INFO_PEER: u16 = 1;
/// Priority of the kernel's own IPv6 routes (IP6_RT_PRIO_ADDRCONF).
const V6_PRIORITY: u32 = 256;
/// Request for sockets, and its parts (linux/sock_diag.h, linux/inet_diag.h).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
/// Connections that send or wait for an answer, by bits of their states (net/tcp_states.h). Excludes listening and
/// closed ones.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Bytes before the attributes of a connection (`inet_diag_msg`).
const ABOUT: usize = 72;
/// Threshold of a sender before its first threshold (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Message, built from its start. Its header is completed at the end.
pub(crate) fn message(kind: u16, flags: c_int, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    // Sequence number and sender: the kernel answers in order, and to this socket.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Adds an attribute, padded to words of 32 bits.
pub(crate) fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((ATTRIBUTE_HEADER + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Sends a request of rtnetlink and waits until the kernel has executed it.
fn done(request: &[u8]) -> io::Result<()> {
    execute(libc::NETLINK_ROUTE, request)
}

/// Sends a request by this protocol and waits until the kernel has executed it.
pub(crate) fn execute(protocol: c_int, request: &[u8]) -> io::Result<()> {
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)?;
    write(&socket, request)?;
    let mut answer = [0; 1024];
    let len = read(&socket, &mut answer[..])?;
    // The acknowledgement is a header and an error: 0, or a negative number.
    match number(&answer[..len], HEADER).map(|error| error as i32) {
        Some(0) => Ok(()),
        error => Err(io::Error::from_raw_os_error(error.map_or(libc::EBADMSG, |error| -error))),
    }
}

/// Sets the length of a device's queue. Only root may use the request of ioctl(2).
pub(crate) fn set_queue(device: c_int, packets: c_int) -> io::Result<()> {
    // Family, type, index, flags, change.
    let mut body = vec![0; 4];
    body.extend(device.to_ne_bytes());
    body.extend([0; 8]);
    attribute(&mut body, libc::IFLA_TXQLEN, &packets.to_ne_bytes());
    done(&message(libc::RTM_NEWLINK, libc::NLM_F_ACK, &body))
}

/// Gives a device a further address, in a network of 24 bits.
pub(crate) fn add_address(device: c_int, address: Ipv4Addr) -> io::Result<()> {
    // Family, length of the network, flags, scope, index.
    let mut body = vec![libc::AF_INET as u8, 24, 0, libc::RT_SCOPE_UNIVERSE];
    body.extend(device.to_ne_bytes());
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        attribute(&mut body, kind, &address.octets());
    }
    done(&message(libc::RTM_NEWADDR, libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body))
}

/// Pair of Ethernet devices. One of them is in another network namespace.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    /// Name of both devices.
    pub(crate) name: &'a [u8],
    /// Addresses here and there.
    pub(crate) addresses: [[u8; 6]; 2],
    pub(crate) mtu: u32,
    /// Largest number of segments of a super-packet; `None`: the kernel decides.
    pub(crate) segments: Option<u32>,
}

/// Makes a pair of devices, the other one in `namespace`.
pub(crate) fn make_pair(pair: &Pair<'_>, namespace: BorrowedFd<'_>) -> io::Result<()> {
    let about = |body: &mut Vec<u8>, address: [u8; 6]| {
        attribute(body, libc::IFLA_IFNAME, &[pair.name, &[0]].concat());
        attribute(body, libc::IFLA_ADDRESS, &address);
        attribute(body, libc::IFLA_MTU, &pair.mtu.to_ne_bytes());
        if let Some(segments) = pair.segments {
            attribute(body, libc::IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        }
    };
    let nested = |kind: u16, content: &[u8]| {
        let mut body = Vec::new();
        attribute(&mut body, kind, content);
        body
    };
    // Family, type, index, flags, change.
    let mut far = vec![0; 16];
    about(&mut far, pair.addresses[1]);
    attribute(&mut far, libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
    let peer = nested(libc::IFLA_INFO_DATA, &nested(VETH_INFO_PEER, &far));
    let mut body = vec![0; 16];
    about(&mut body, pair.addresses[0]);
    attribute(&mut body, libc::IFLA_LINKINFO, &[nested(libc::IFLA_INFO_KIND, b"veth"), peer].concat());
    let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    done(&message(libc::RTM_NEWLINK, flags, &body))
}

/// Initial state of connections to a network. Missing values are those of the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning<'a> {
    /// Congestion control for any request of a program.
    pub cc: Option<&'a str>,
    /// Initial window of these connections in segments.
    pub initial_window: Option<u32>,
}

/// Sets the initial state of all connections to the network of `address`.
pub(crate) fn set_beginning(device: c_int, address: IpAddr, beginning: Beginning<'_>) -> io::Result<()> {
    let cc = beginning.cc.map(|name| (RTAX_CC_ALGO, [name.as_bytes(), &[0]].concat()));
    let window = beginning.initial_window.map(|segments| (RTAX_INITCWND, segments.to_ne_bytes().to_vec()));
    let values: Vec<_> = cc.into_iter().chain(window).collect();
    set_metrics(device, address, &values.iter().map(|(kind, value)| (*kind, &value[..])).collect::<Vec<_>>())
}

/// Sets metrics of the route to the network of `address`, which no program and no connection changes.
pub(crate) fn set_metrics(device: c_int, address: IpAddr, values: &[(u16, &[u8])]) -> io::Result<()> {
    let (family, bits, scope, network) = match address {
        IpAddr::V4(v4) => (libc::AF_INET, 24, libc::RT_SCOPE_LINK, Ipv4Addr::from_bits(v4.to_bits() & !0xff).into()),
        IpAddr::V6(v6) => {
            let network = Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64);
            (libc::AF_INET6, 64, libc::RT_SCOPE_UNIVERSE, IpAddr::V6(network))
        }
    };
    // Family, lengths of the destination and of the source, service, table, who made it, scope, type, flags.
    let mut body = vec![family as u8, bits, 0, 0, libc::RT_TABLE_MAIN, libc::RTPROT_KERNEL, scope, libc::RTN_UNICAST];
    body.extend([0; 4]);
    match network {
        IpAddr::V4(v4) => attribute(&mut body, libc::RTA_DST, &v4.octets()),
        IpAddr::V6(v6) => attribute(&mut body, libc::RTA_DST, &v6.octets()),
    }
    attribute(&mut body, libc::RTA_OIF, &device.to_ne_bytes());
    match address {
        IpAddr::V4(v4) => attribute(&mut body, libc::RTA_PREFSRC, &v4.octets()),
        IpAddr::V6(_) => attribute(&mut body, libc::RTA_PRIORITY, &V6_PRIORITY.to_ne_bytes()),
    }
    let mut metrics = Vec::new();
    let locked = values.iter().fold(0_u32, |locked, (kind, _)| locked | 1 << kind);
    attribute(&mut metrics, RTAX_LOCK, &locked.to_ne_bytes());
    values.iter().for_each(|(kind, value)| attribute(&mut metrics, *kind, value));
    attribute(&mut body, libc::RTA_METRICS, &metrics);
    let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    done(&message(libc::RTM_NEWROUTE, flags, &body))
}

/// TCP connection at one end, from the kernel's report.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the far end.
    pub remote: SocketAddr,
    /// Its congestion control.
    pub cc: String,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Slow start threshold in bytes. None before it is first set.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed round-trip time, microseconds.
    pub srtt_us: u32,
    /// Data sent and not acknowledged, bytes, in whole segments.
    pub flight_size_bytes: u64,
    /// Pacing rate, bytes per second. None without pacing.
    pub pacing: Option<u64>,
    /// Data acknowledged so far, bytes.
    pub acked_bytes: u64,
    /// Segments retransmitted so far.
    pub retransmissions: u32,
    /// Payload bytes sent so far, retransmissions included. None before Linux 4.19.
    pub sent_bytes: Option<u64>,
    /// Payload bytes retransmitted so far. None before Linux 4.19.
    pub retransmitted_bytes: Option<u64>,
    /// Shortest round trip of the last five minutes, microseconds. None before the first sample.
    pub min_rtt_us: Option<u32>,
    /// Time with unacknowledged data, microseconds. The two times below are parts of it.
    pub busy_us: u64,
    /// Time in which the receiver's window limited the sender, microseconds.
    pub rwnd_limited_us: u64,
    /// Time in which the send buffer limited the sender, microseconds.
    pub sndbuf_limited_us: u64,
}

/// Socket for requests about the connections of the host in whose namespace it was made.
#[derive(Debug)]
pub struct Sampler {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl Sampler {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_SOCK_DIAG)?;
        Ok(Self { socket, answer: vec![0; ANSWER_MAX] })
    }

    /// Calls `each` with every connection.
    ///
    /// # Errors
    ///
    /// The kernel gives no report.
    pub fn sample(&mut self, mut each: impl FnMut(Connection)) -> io::Result<()> {
        let extensions = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
        self.dump(libc::IPPROTO_TCP, extensions, |told| {
            connection(told).map(&mut each);
        })
    }

    /// Calls `each` with the ends and the report of every connection over several paths. Its subflows are connections of TCP.
    ///
    /// # Errors
    ///
    /// The kernel gives no report.
    pub(crate) fn sample_multipath(&mut self, mut each: impl FnMut([SocketAddr; 2], &[u8])) -> io::Result<()> {
        self.dump(libc::IPPROTO_MPTCP, 1 << (INET_DIAG_INFO - 1), |told| {
            let info = attributes(told).find_map(|(kind, value)| (kind == INET_DIAG_INFO).then_some(value));
            if let (Some(ends), Some(info)) = (ends(told), info) {
                each(ends, info);
            }
        })
    }

    /// Calls `each` with the report of every connection of a protocol.
    fn dump(&mut self, protocol: c_int, extensions: u8, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            // Numbers of protocols may be larger than their byte.
            let mut body = vec![family as u8, protocol as u8, extensions, 0];
            body.extend(STATES.to_ne_bytes());
            // Requests all connections.
            body.extend([0; 48]);
            attribute(&mut body, INET_DIAG_REQ_PROTOCOL, &protocol.to_ne_bytes());
            write(&self.socket, &message(SOCK_DIAG_BY_FAMILY, libc::NLM_F_DUMP, &body))?;
            while self.read_some(&mut each)? {}
        }
        Ok(())
    }

    /// Reads a part of the answer. Returns whether there is more.
    fn read_some(&mut self, each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let len = read(&self.socket, &mut self.answer[..])?;
        let mut rest = &self.answer[..len];
        while let (Some(size), Some(kind)) = (number(rest, 0), half(rest, 4)) {
            let size = (size as usize).clamp(HEADER, rest.len());
            match c_int::from(kind) {
                libc::NLMSG_DONE => return Ok(false),
                libc::NLMSG_ERROR => {
                    let error = number(rest, HEADER).map_or(libc::EBADMSG, |error| -(error as i32));
                    return Err(io::Error::from_raw_os_error(error));
                }
                _ => each(&rest[HEADER..size]),
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
        Ok(true)
    }
}

/// Reads the addresses of a connection, here and there, in the kernel's report (`inet_diag_msg`).
fn ends(told: &[u8]) -> Option<[SocketAddr; 2]> {
    let end = |port: usize, address: usize| {
        let port = u16::from_be_bytes(told.get(port..port + 2)?.try_into().ok()?);
        let bytes: [u8; 16] = told.get(address..address + 16)?.try_into().ok()?;
        let address = match c_int::from(told[0]) {
            libc::AF_INET => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            _ => IpAddr::from(bytes).to_canonical(),
        };
        Some(SocketAddr::new(address, port))
    };
    Some([end(4, 8)?, end(6, 24)?])
}

/// Returns the attributes of a report: their kinds and values.
fn attributes(told: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = told.get(ABOUT..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (size, kind) = (half(rest, 0)?, half(rest, 2)?);
        let size = usize::from(size).clamp(ATTRIBUTE_HEADER, rest.len());
        let value = &rest[ATTRIBUTE_HEADER..size];
        rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        Some((kind, value))
    })
}

/// Reads the kernel's report of a connection: `inet_diag_msg` and its attributes. Returns `None` for an incomplete
/// report.
fn connection(told: &[u8]) -> Option<Connection> {
    let [local, remote] = ends(told)?;
    let (mut info, mut cc) = (None, String::new());
    for (kind, value) in attributes(told) {
        match kind {
            INET_DIAG_INFO => info = Some(value),
            INET_DIAG_CONG => cc = String::from_utf8_lossy(value).trim_end_matches('\0').to_string(),
            _ => {}
        }
    }
    // Places in `tcp_info` (linux/tcp.h), which only grows at its end.
    let info = info?;
    let segments = |at| Some(u64::from(number(info, at)?) * u64::from(number(info, 16)?));
    Some(Connection {
        local,
        remote,
        cc,
        cwnd_bytes: segments(80)?,
        ssthresh_bytes: if number(info, 76)? < NO_THRESHOLD { segments(76) } else { None },
        srtt_us: number(info, 68)?,
        flight_size_bytes: segments(24)?,
        pacing: long(info, 104).filter(|&rate| rate != u64::MAX),
        acked_bytes: long(info, 120)?,
        retransmissions: number(info, 100)?,
        sent_bytes: long(info, 200),
        retransmitted_bytes: long(info, 208),
        min_rtt_us: number(info, 148).filter(|&least| least != u32::MAX),
        busy_us: long(info, 168)?,
        rwnd_limited_us: long(info, 176)?,
        sndbuf_limited_us: long(info, 184)?,
    })
}

pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// The kernel answers about connections of this machine as about those of a host.
    #[test]
    #[allow(clippy::print_stderr, reason = "what is skipped is said")]
    fn a_real_connection_is_told_with_both_ends_and_what_it_acknowledged() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let (mut peer, _) = server.accept().unwrap();
        client.write_all(&[7; 5000]).unwrap();
        peer.read_exact(&mut [0; 5000]).unwrap();
        peer.write_all(&[1]).unwrap();
        client.read_exact(&mut [0]).unwrap();
        let Ok(mut sampler) = Sampler::new() else { return eprintln!("skipped: this kernel has no sock_diag") };
        let mut found = Vec::new();
        let asked = sampler.sample(|each| found.push(each));
        if let Err(error) = asked {
            return eprintln!("skipped: sock_diag: {error}");
        }
        let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let mine = found.iter().find(|each| (each.local, each.remote) == ends).unwrap();
        assert_eq!(mine.acked_bytes, 5001, "the SYN counts as one");
        assert!(mine.min_rtt_us.is_some_and(|least| least <= mine.srtt_us + 1));
        assert!(mine.rwnd_limited_us + mine.sndbuf_limited_us <= mine.busy_us);
        let default = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
        assert_eq!(mine.cc, default.trim());
        assert!(found.iter().any(|each| (each.remote, each.local) == ends));
    }

    proptest! {
        #[test]
        fn an_answer_of_any_bytes_is_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            connection(&bytes);
        }
    }
}
