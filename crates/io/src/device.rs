//! Device of a host, as the driver reads and writes it: TUN, or otherwise a pair of Ethernet devices with a packet
//! socket at the far one (packet(7)).
//!
//! Both may hand over super-packets. Both put the same header before each packet, [`offload::Header`].

use crate::netlink::{self, Pair};
use crate::offload::{Header, HEADER};
use crate::system::{self, control, control_number, index, on_socket, request, socket, step, NotAllowed};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::{read, readv, writev, Errno, IoSlice, IoSliceMut};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the device of each host.
pub(crate) const NAME: &[u8] = b"sat0";
/// Bytes of a header of Ethernet, and its types of IPv4 and IPv6 (IEEE 802 numbers).
const ETHERNET: usize = 14;
const V4: [u8; 2] = [0x08, 0x00];
const V6: [u8; 2] = [0x86, 0xdd];
/// Ethernet addresses that no maker assigns (IEEE 802 §8.2.2): of the host's device, and of the other one. Without ARP,
/// a host sends to its own address: the kernel at the other end accepts nothing for itself.
const HOST: [u8; 6] = [2, 0, 0, 0, 0, 1];
const WIRE: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Largest number of bytes that wait in a packet socket. A kernel that forbids it has its own limit.
const WAITING: libc::c_int = 64 << 20;

/// Backend of a host's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// TUN if the system has it, otherwise a packet socket.
    #[default]
    Auto,
    /// /dev/net/tun.
    Tun,
    /// A pair of Ethernet devices, and a packet socket.
    Packet,
}

/// Whether hosts hand over super-packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// Yes, if the kernel's TUN device supports it.
    #[default]
    Auto,
    /// Never: hosts cut their data themselves.
    Off,
    /// Always. A kernel without offload is rejected.
    On,
}

/// Description of a device.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Backend.
    pub backend: Backend,
    /// Whether the host hands over super-packets.
    pub offload: Offload,
}

/// Device of a host. It exists as long as this value or the host's namespace.
#[derive(Debug)]
pub(crate) struct Device {
    file: OwnedFd,
    is_ethernet: bool,
    /// Whether each packet has the offload header before it.
    has_header: bool,
    has_offload: bool,
    /// Packets that did not fit into the socket. Reading the kernel's counter resets it.
    dropped: AtomicU64,
}

impl Device {
    /// Creates a TUN device in the network namespace of this process.
    pub(crate) fn tun(offload: Offload) -> Result<Self, NotAllowed> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = step("the device /dev/net/tun", open("/dev/net/tun", flags, Mode::empty()))?;
        let mut request = request(NAME);
        let has_header = offload != Offload::Off;
        // Without the header the system hands over packets of the size of the MTU, with checksums.
        let header = if has_header { libc::IFF_VNET_HDR } else { 0 };
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
        step("a network device of /dev/net/tun", control(file.as_fd(), libc::TUNSETIFF as libc::Ioctl, &mut request))?;
        // The device ends with its namespace, in the background: ending it when its file is closed takes 15 ms. Some
        // kernels forbid the former.
        let _ = control_number(file.as_fd(), libc::TUNSETPERSIST as libc::Ioctl, 1);
        let least = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // UDP offload needs Linux 6.2.
        let kinds = [least | libc::TUN_F_USO4 | libc::TUN_F_USO6, least];
        let set =
            |kinds: &u32| control_number(file.as_fd(), libc::TUNSETOFFLOAD as libc::Ioctl, (*kinds).into()).is_ok();
        let has_offload = has_header && kinds.iter().any(set);
        let device = Self { file, is_ethernet: false, has_header, has_offload, dropped: AtomicU64::new(0) };
        device.with(offload)
    }

    /// Creates a device in the network namespace of this process. Its other end is in the namespace of `wire`.
    pub(crate) fn packet(wire: &Wire, wanted: &Wanted) -> Result<Self, NotAllowed> {
        // One segment in a super-packet: the kernel cuts before it hands over.
        let segments = (wanted.offload == Offload::Off).then_some(1);
        let pair = Pair { name: NAME, addresses: [HOST, WIRE], mtu: wanted.mtu.into(), segments };
        step("a pair of network devices (veth)", netlink::make_pair(&pair, wire.namespace.as_fd()))?;
        let has_offload = wanted.offload != Offload::Off;
        let file = step("a packet socket", wire.socket.try_clone())?;
        let device = Self { file, is_ethernet: true, has_header: true, has_offload, dropped: AtomicU64::new(0) };
        device.with(wanted.offload)
    }

    fn with(self, offload: Offload) -> Result<Self, NotAllowed> {
        match offload {
            Offload::On if !self.has_offload => step("segmentation offload", Err(Errno::OPNOTSUPP)),
            _ => Ok(self),
        }
    }

    /// Returns the file to wait for.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn is_ethernet(&self) -> bool {
        self.is_ethernet
    }

    pub(crate) fn has_offload(&self) -> bool {
        self.has_offload
    }

    /// Fills `buffer` with the header of a packet and, from [`HEADER`] on, the packet. Returns its length.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (header, packet) = buffer.split_at_mut(HEADER);
        if self.is_ethernet {
            let mut ethernet = [0; ETHERNET];
            let mut bytes = [0; HEADER];
            let parts = &mut [&mut bytes[..], &mut ethernet, packet].map(IoSliceMut::new);
            let len = readv(&self.file, parts)?.saturating_sub(HEADER + ETHERNET);
            header.copy_from_slice(&Header::read(bytes).without(ETHERNET as u16).bytes());
            return Ok(len);
        }
        if !self.has_header {
            header.fill(0);
            return read(&self.file, packet);
        }
        Ok(read(&self.file, buffer)?.saturating_sub(HEADER))
    }

    /// Passes a packet to the host. Its bytes are those of all parts.
    pub(crate) fn write(&self, header: Header, parts: &[&[u8]]) -> Result<(), Errno> {
        let header = if self.is_ethernet { header.behind(ETHERNET as u16) } else { header }.bytes();
        let is_v6 = parts.iter().find_map(|part| part.first()).is_some_and(|first| first >> 4 == 6);
        let ethernet = [&HOST[..], &WIRE, if is_v6 { &V6 } else { &V4 }].concat();
        let before = [(self.has_header, &header[..]), (self.is_ethernet, &ethernet[..])];
        let before = before.into_iter().filter(|(is_there, _)| *is_there).map(|(_, part)| part);
        let slices: Vec<IoSlice<'_>> = before.chain(parts.iter().copied()).map(IoSlice::new).collect();
        writev(&self.file, &slices).map(|_| ())
    }

    /// Returns the packets that did not fit into a packet socket.
    pub(crate) fn dropped(&self) -> u64 {
        if self.is_ethernet {
            // Received and dropped packets.
            let mut counts = [0; 8];
            let _ = system::option(self.file.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts);
            let [.., a, b, c, d] = counts;
            self.dropped.fetch_add(u32::from_ne_bytes([a, b, c, d]).into(), Ordering::Relaxed);
        }
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Other end of a host's device: a separate network namespace, invisible to programs.
#[derive(Debug)]
pub(crate) struct Wire {
    namespace: OwnedFd,
    socket: OwnedFd,
}

impl Wire {
    /// Creates the other end in the network namespace of this process.
    pub(crate) fn new(namespace: OwnedFd) -> Result<Self, NotAllowed> {
        // Nothing is received before the device is there.
        let socket = step("a packet socket", socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0))?;
        let set =
            |name, value: libc::c_int| system::set_option(socket.as_fd(), libc::SOL_PACKET, name, &value.to_ne_bytes());
        step("a packet socket with headers", set(libc::PACKET_VNET_HDR, 1))?;
        // Written packets are not read again. Kernels older than 4.20 do not loop them to this socket anyway.
        let _ = set(libc::PACKET_IGNORE_OUTGOING, 1);
        for name in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            let _ = system::set_option(socket.as_fd(), libc::SOL_SOCKET, name, &WAITING.to_ne_bytes());
        }
        Ok(Self { namespace, socket })
    }

    /// Returns its network namespace.
    pub(crate) fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }

    /// Opens the device in its network namespace: it is up, and the socket reads its packets.
    pub(crate) fn open(&self) -> io::Result<()> {
        let mut up = request(NAME);
        up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING | libc::IFF_NOARP) as libc::c_short;
        on_socket(libc::AF_INET, libc::SIOCSIFFLAGS, &mut up)?;
        // Binding earlier would report that the device is down.
        system::bind_to_device(self.socket.as_fd(), index(NAME)?)
    }
}
