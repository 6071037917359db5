//! The kernel's Multipath TCP (RFC 8684): paths of a host by generic netlink, connections by sock_diag(7).

use crate::netlink::{attribute, execute, half, long, message, number, ATTRIBUTE_HEADER, HEADER};
use crate::system::socket;
use rustix::io::{read, write};
use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// Name of the path manager in generic netlink, its version, and its requests and their parts (linux/mptcp_pm.h).
const FAMILY: &[u8] = b"mptcp_pm\0";
const VERSION: u8 = 1;
const ADD_ADDR: u8 = 1;
const SET_LIMITS: u8 = 5;
const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ADDR_FAMILY: u16 = 1;
const ADDR_V4: u16 = 3;
const ADDR_FLAGS: u16 = 6;
/// Endpoints whose address opens a subflow, and those that carry data only while no other can (linux/mptcp.h).
const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_BACKUP: u32 = 1 << 2;
/// Mark of attributes that contain others (linux/netlink.h).
const NESTED: u16 = 1 << 15;

/// Address of another subflow of the connections that a host opens.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// The address.
    pub address: Ipv4Addr,
    /// Whether its subflow carries data only while no other subflow can.
    pub is_backup: bool,
}

/// Number of the path manager's family in generic netlink.
///
/// # Errors
///
/// The kernel has no Multipath TCP.
fn family() -> io::Result<u16> {
    let mut body = vec![libc::CTRL_CMD_GETFAMILY as u8, 1, 0, 0];
    attribute(&mut body, libc::CTRL_ATTR_FAMILY_NAME as u16, FAMILY);
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC)?;
    write(&socket, &message(libc::GENL_ID_CTRL as u16, 0, &body))?;
    let mut answer = [0; 4096];
    let len = read(&socket, &mut answer[..])?;
    let answer = &answer[..len];
    if half(answer, 4).map(c_int::from) == Some(libc::NLMSG_ERROR) {
        let error = number(answer, HEADER).map_or(libc::EBADMSG, |error| -(error as i32));
        return Err(io::Error::from_raw_os_error(error));
    }
    // Behind the header of generic netlink, 4 B.
    let mut rest = answer.get(HEADER + 4..).unwrap_or_default();
    while let (Some(size), Some(kind)) = (half(rest, 0), half(rest, 2)) {
        if c_int::from(kind) == libc::CTRL_ATTR_FAMILY_ID {
            return half(rest, ATTRIBUTE_HEADER).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        let size = usize::from(size).max(ATTRIBUTE_HEADER);
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Lets connections of the host in this network namespace have `more` subflows besides the first. Those that it opens
/// get them from these addresses, in order.
///
/// # Errors
///
/// The kernel has no Multipath TCP, or allows fewer subflows.
pub(crate) fn set_paths(more: u32, endpoints: &[Endpoint]) -> io::Result<()> {
    let family = family()?;
    let request = |command: u8, attributes: &[u8]| {
        let body = [&[command, VERSION, 0, 0], attributes].concat();
        execute(libc::NETLINK_GENERIC, &message(family, libc::NLM_F_ACK, &body))
    };
    let mut limits = Vec::new();
    attribute(&mut limits, ATTR_RCV_ADD_ADDRS, &0_u32.to_ne_bytes());
    attribute(&mut limits, ATTR_SUBFLOWS, &more.to_ne_bytes());
    request(SET_LIMITS, &limits)?;
    for endpoint in endpoints {
        let flags = FLAG_SUBFLOW | if endpoint.is_backup { FLAG_BACKUP } else { 0 };
        let mut address = Vec::new();
        attribute(&mut address, ADDR_FAMILY, &(libc::AF_INET as u16).to_ne_bytes());
        attribute(&mut address, ADDR_V4, &endpoint.address.octets());
        attribute(&mut address, ADDR_FLAGS, &flags.to_ne_bytes());
        let mut whole = Vec::new();
        attribute(&mut whole, ATTR_ADDR | NESTED, &address);
        request(ADD_ADDR, &whole)?;
    }
    Ok(())
}

/// Connection over several paths at one end, from the kernel's report (`mptcp_info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiConnection {
    /// Address of this end, on the first path.
    pub local: SocketAddr,
    /// Address of the far end.
    pub remote: SocketAddr,
    /// Subflows besides the first.
    pub more_subflows: u8,
    /// Data acknowledged so far, bytes. None before Linux 6.5.
    pub acked_bytes: Option<u64>,
    /// Data received in order so far, bytes. None before Linux 6.5.
    pub received_bytes: Option<u64>,
    /// Data given to a further subflow so far, bytes. None before Linux 6.5.
    pub reinjected_bytes: Option<u64>,
}

impl MultiConnection {
    /// Reads the report on the connection between these ends. Returns `None` for an incomplete report.
    pub(crate) fn read([local, remote]: [SocketAddr; 2], info: &[u8]) -> Option<Self> {
        Some(Self {
            local,
            remote,
            more_subflows: *info.first()?,
            acked_bytes: long(info, 72),
            received_bytes: long(info, 64),
            reinjected_bytes: long(info, 48),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::Sampler;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;

    /// Opens a socket of Multipath TCP at an address of this machine.
    fn listen() -> io::Result<TcpListener> {
        let socket = socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)?;
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0)))?;
        rustix::net::listen(&socket, 1)?;
        Ok(socket.into())
    }

    fn connect(to: SocketAddr) -> io::Result<TcpStream> {
        let socket: OwnedFd = socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)?;
        rustix::net::connect(&socket, &to)?;
        Ok(socket.into())
    }

    /// The kernel answers about connections of this machine as about those of a host.
    #[test]
    #[allow(clippy::print_stderr, reason = "what is skipped is said")]
    fn a_connection_over_paths_is_told_with_its_data() {
        let server = match listen() {
            Ok(server) => server,
            Err(error) => return eprintln!("skipped: this kernel has no Multipath TCP: {error}"),
        };
        let mut client = connect(server.local_addr().unwrap()).unwrap();
        let (mut peer, _) = server.accept().unwrap();
        client.write_all(&[7; 5000]).unwrap();
        peer.read_exact(&mut [0; 5000]).unwrap();
        peer.write_all(&[1]).unwrap();
        client.read_exact(&mut [0]).unwrap();
        let mut found = Vec::new();
        let asked = Sampler::new().and_then(|mut sampler| {
            sampler.sample_multipath(|ends, info| found.extend(MultiConnection::read(ends, info)))
        });
        if let Err(error) = asked {
            return eprintln!("skipped: sock_diag: {error}");
        }
        let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let mine = found.iter().find(|each| (each.local, each.remote) == ends).unwrap();
        assert_eq!((mine.more_subflows, mine.reinjected_bytes.unwrap_or(0)), (0, 0));
        if let (Some(acked), Some(received)) = (mine.acked_bytes, mine.received_bytes) {
            assert_eq!((acked, received), (5000, 1));
        }
        // Its subflows are among the connections of TCP, it is not.
        let mut plain = 0;
        Sampler::new().unwrap().sample(|each| plain += usize::from((each.local, each.remote) == ends)).unwrap();
        assert_eq!(plain, 1);
    }

    #[test]
    fn a_report_of_an_older_kernel_lacks_what_it_does_not_count() {
        let ends = ["10.77.0.1:1", "10.77.0.2:2"].map(|end| end.parse().unwrap());
        let report = [&[3_u8][..], &[0; 47], &9_u64.to_ne_bytes()].concat();
        let found = MultiConnection::read(ends, &report).unwrap();
        assert_eq!((found.more_subflows, found.reinjected_bytes, found.acked_bytes), (3, Some(9), None));
        assert_eq!(MultiConnection::read(ends, &[]), None);
    }
}
