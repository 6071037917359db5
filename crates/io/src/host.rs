//! Hosts of an emulation: namespaces of Linux with one device each, which no other process sees and which end with ours.
//!
//! All calls of the system that need `unsafe` are here, each with its reason. Who calls [`isolate`] has one thread: a namespace
//! of users cannot be left by several. Later each thread may have a [`Host`] of its own.
#![allow(unsafe_code)]

use crate::netlink::{self, Beginning, Sampler};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::mount::{mount, mount_bind, mount_change, unmount, MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{
    getegid, geteuid, getppid, pidfd_open, set_parent_process_death_signal, Pid, PidfdFlags, Signal,
};
use rustix::thread::{move_into_link_name_space, unshare_unsafe, LinkNameSpaceType, UnshareFlags};
use std::ffi::c_int;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// The name of the device of each host.
const DEVICE: &[u8] = b"sat0";
/// Packets that the device holds until they are read: its usual 500 are overrun while the emulator waits for the processor.
const DEVICE_QUEUE: c_int = 10_000;
/// Largest buffers of a socket, bytes: four bandwidth-delay products of 200 Mbit/s over a geostationary path.
const BUFFER_MAX: u32 = 64 << 20;

/// Rows of a host's table of connections.
const CONNECTIONS: &str = "1024";

/// A step of the set-up that the system did not allow.
#[derive(Debug)]
pub struct NotAllowed {
    /// What was tried.
    pub step: &'static str,
    /// What the system answered.
    pub error: io::Error,
}

/// Names the step that failed.
fn step<T, E: Into<io::Error>>(step: &'static str, result: Result<T, E>) -> Result<T, NotAllowed> {
    result.map_err(|error| NotAllowed { step, error: error.into() })
}

/// Who called, as children see themselves.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    uid: u32,
    gid: u32,
    /// Whether this process is in a user namespace of its own.
    is_nested: bool,
}

/// This process ends with its parent, which has the id `parent`. Returns whether the parent is still there.
///
/// # Errors
/// The system does not know the call.
pub fn end_with_parent(parent: Option<u32>) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before the call.
    let now = getppid().map(|id| id.as_raw_nonzero().get().unsigned_abs());
    Ok(parent.is_none_or(|parent| now == Some(parent)))
}

/// Real-time priority, if this process may have it; children get the usual one back in [`Host::enter`].
pub fn take_priority() -> bool {
    schedule(libc::SCHED_FIFO, 10)
}

fn schedule(policy: c_int, priority: c_int) -> bool {
    // SAFETY: all fields of the structure are integers; zero is a value of each.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the structure lives until the call returns, and the call keeps nothing of it.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

/// A process, to wait for its end: the descriptor becomes readable.
///
/// # Errors
/// There is no such process.
pub fn process(id: i32) -> io::Result<OwnedFd> {
    let id = Pid::from_raw(id).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(id, PidfdFlags::empty())?)
}

/// Leaves the namespaces of the machine. The next child is the first process of a namespace of processes: all that it starts
/// ends with it.
///
/// # Errors
/// The step that the system does not allow.
pub fn isolate() -> Result<Caller, NotAllowed> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let spaces = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWNET;
    // SAFETY: this process has one thread, and shares neither files nor memory with another.
    let nested = unsafe { unshare_unsafe(UnshareFlags::NEWUSER | spaces) };
    let is_nested = nested.is_ok();
    match nested {
        // SAFETY: as above.
        Err(_) if uid == 0 => step("private namespaces", unsafe { unshare_unsafe(spaces) })?,
        other => step("a user namespace", other)?,
    }
    if is_nested {
        map_ids((0, uid), (0, gid))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("private mounts", mount_change("/", private))?;
    Ok(Caller { uid, gid, is_nested })
}

/// In a new user namespace: inner and outer id of the only user and the only group.
fn map_ids(user: (u32, u32), group: (u32, u32)) -> Result<(), NotAllowed> {
    // Already denied in a namespace within one.
    let _ = fs::write("/proc/self/setgroups", "deny");
    step("a user in a user namespace", fs::write("/proc/self/uid_map", format!("{} {} 1", user.0, user.1)))?;
    step("a group in a user namespace", fs::write("/proc/self/gid_map", format!("{} {} 1", group.0, group.1)))
}

/// In the first process: own list of processes, own names of hosts, nobody to ask for others. Nothing is written to a disk.
///
/// # Errors
/// The step that the system does not allow.
pub fn mount_names(hosts: &str) -> Result<(), NotAllowed> {
    // Containers may hide parts of /proc and then do not allow another one: children see the old one.
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    let place = Path::new("/tmp");
    step("files in memory", mount("names", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None))?;
    let bound = [("hosts", hosts), ("resolv.conf", "")].into_iter().try_for_each(|(name, text)| {
        let (file, target) = (place.join(name), Path::new("/etc").join(name));
        if target.exists() {
            fs::write(&file, text)?;
            mount_bind(&file, &target)?;
        }
        io::Result::Ok(())
    });
    // Both files live on where they are bound.
    step("a private /tmp", unmount(place, UnmountFlags::DETACH))?;
    step("a private /etc/hosts", bound)
}

/// A host: a network namespace with loopback and one device. It ends when this value and all of its processes do.
#[derive(Debug)]
pub struct Host {
    namespace: OwnedFd,
    device: OwnedFd,
    addresses: [IpAddr; 2],
}

impl Host {
    /// Makes one with these addresses, in networks of 24 and 64 bits. This process is in its namespace then.
    ///
    /// # Errors
    /// The step that the system does not allow.
    pub fn new(v4: Ipv4Addr, v6: Ipv6Addr, mtu: u16) -> Result<Self, NotAllowed> {
        // A table of connections of its own, which is small: to look at all of it takes microseconds, not half a millisecond.
        // The namespace in which this process is now says so for the one that it makes.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_child_ehash_entries", CONNECTIONS);
        // SAFETY: this thread alone gets another network; it shares its files as before.
        step("a network namespace", unsafe { unshare_unsafe(UnshareFlags::NEWNET) })?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = step("the network namespace", open("/proc/self/ns/net", flags, Mode::empty()))?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = step("the device /dev/net/tun", open("/dev/net/tun", flags, Mode::empty()))?;
        let mut request = request(DEVICE);
        // Without a header for offload the system hands over packets of the size of the MTU, with checksums.
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        step("a network device", control(device.as_fd(), libc::TUNSETIFF as libc::Ioctl, &mut request))?;
        sysctls();
        let up = |name: &[u8]| {
            let mut up = self::request(name);
            up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            on_socket(libc::AF_INET, libc::SIOCSIFFLAGS, &mut up)
        };
        let set = |value: libc::__c_anonymous_ifr_ifru, number| {
            let mut set = self::request(DEVICE);
            set.ifr_ifru = value;
            on_socket(libc::AF_INET, number, &mut set)
        };
        step("loopback", up(b"lo"))?;
        step("the MTU", set(libc::__c_anonymous_ifr_ifru { ifru_mtu: mtu.into() }, libc::SIOCSIFMTU))?;
        step("the queue of the device", index().and_then(|device| netlink::set_queue(device, DEVICE_QUEUE)))?;
        let (address, mask) = (internet(v4), internet(Ipv4Addr::new(255, 255, 255, 0)));
        step("an address", set(libc::__c_anonymous_ifr_ifru { ifru_addr: address }, libc::SIOCSIFADDR))?;
        step("a network mask", set(libc::__c_anonymous_ifr_ifru { ifru_netmask: mask }, libc::SIOCSIFNETMASK))?;
        step("the device up", up(DEVICE))?;
        // A system without IPv6 has hosts without it.
        let _ = set_v6(v6);
        Ok(Self { namespace, device, addresses: [v4.into(), v6.into()] })
    }

    /// All connections of the host begin so.
    ///
    /// # Errors
    /// The kernel does not have the congestion control: then it has what [`congestion_controls`] says.
    pub fn set_beginning(&self, beginning: Beginning<'_>) -> io::Result<()> {
        self.enter(None).map_err(|refused| refused.error)?;
        let [v4, v6] = self.addresses;
        netlink::set_beginning(index()?, v4, beginning)?;
        // A system without IPv6 has no such route.
        let _ = netlink::set_beginning(index()?, v6, beginning);
        Ok(())
    }

    /// Metrics of the route to its network, by their numbers (linux/rtnetlink.h).
    ///
    /// # Errors
    /// The kernel does not take one of them.
    pub(crate) fn set_metrics(&self, metrics: &[(u16, u32)]) -> io::Result<()> {
        let values: Vec<_> = metrics.iter().map(|(kind, value)| (*kind, value.to_ne_bytes())).collect();
        let values: Vec<_> = values.iter().map(|(kind, value)| (*kind, &value[..])).collect();
        netlink::set_metrics(index()?, self.addresses[0], &values)
    }

    /// To ask about the connections of the host.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn sampler(&self) -> io::Result<Sampler> {
        self.enter(None).map_err(|refused| refused.error)?;
        Sampler::new()
    }

    /// The device, to be read and written without waiting.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// This process moves to the host; with `caller`, as that user, without power over the network and with usual priority.
    ///
    /// # Errors
    /// The step that the system does not allow.
    pub fn enter(&self, caller: Option<Caller>) -> Result<(), NotAllowed> {
        let network = Some(LinkNameSpaceType::Network);
        step("the network namespace", move_into_link_name_space(self.namespace.as_fd(), network))?;
        let Some(caller) = caller else { return Ok(()) };
        schedule(libc::SCHED_OTHER, 0);
        if caller.is_nested {
            // SAFETY: as in `isolate`.
            step("a user namespace", unsafe { unshare_unsafe(UnshareFlags::NEWUSER) })?;
            map_ids((caller.uid, 0), (caller.gid, 0))?;
        }
        Ok(())
    }

    /// Packets that the device dropped before they could be read.
    ///
    /// # Errors
    /// The system does not say.
    pub fn dropped(&self) -> Result<u64, NotAllowed> {
        self.enter(None)?;
        let text = step("the counters of the device", fs::read_to_string("/proc/thread-self/net/dev"))?;
        // Eight columns of what was received, then bytes, packets, errors and drops of what was sent.
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix("sat0:"));
        let column = row.and_then(|row| row.split_whitespace().nth(11)?.parse().ok());
        column.ok_or(NotAllowed { step: "the counters of the device", error: io::ErrorKind::InvalidData.into() })
    }
}

/// The congestion controls that the kernel has ready, in the order in which it names them.
pub fn congestion_controls() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.unwrap_or_default().split_whitespace().map(String::from).collect()
}

/// What a host of an emulation is told; what this system does not have stays as it is.
fn sysctls() {
    let buffers = |least| format!("4096 {least} {BUFFER_MAX}");
    let settings = [
        ("ipv4/tcp_wmem", buffers(16_384)),
        ("ipv4/tcp_rmem", buffers(131_072)),
        // What one connection learnt would change the next.
        ("ipv4/tcp_no_metrics_save", "1".into()),
        // Answers, does not ask: no packet is ECN-capable on the path.
        ("ipv4/tcp_ecn", "2".into()),
        ("ipv4/ip_forward", "0".into()),
        ("ipv4/conf/all/rp_filter", "0".into()),
        ("ipv4/ping_group_range", "0 0".into()),
        ("ipv6/conf/all/accept_ra", "0".into()),
        // An address of the link would come a second later: browsers take that for another network, and drop what they load.
        // Its solicitations would also be packets on the path, with errors of their own.
        ("ipv6/conf/sat0/addr_gen_mode", "1".into()),
        ("ipv6/conf/sat0/accept_dad", "0".into()),
        ("ipv6/conf/sat0/router_solicitations", "0".into()),
    ];
    for (name, value) in settings {
        let _ = set(name, &value);
    }
}

/// A setting of the network namespace of this thread, such as `ipv4/tcp_sack`.
///
/// # Errors
/// The kernel does not have it, or does not take the value.
pub(crate) fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new("/proc/sys/net").join(name), value)
}

/// An option of a socket, as the kernel reads its bytes.
pub(crate) fn set_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as there are, and keeps none of them.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Fills `value` with an option of a socket; what the kernel does not have stays as it is.
pub(crate) fn option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<()> {
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes as many bytes as there is room for.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut len) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn request(name: &[u8]) -> libc::ifreq {
    // SAFETY: all fields of the structure are integers and arrays of them; zero is a value of each.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request
}

fn internet(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: as in `request`.
    let mut to: libc::sockaddr = unsafe { std::mem::zeroed() };
    to.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the family are the port and the address (ip(7)).
    for (to, from) in to.sa_data[2..].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    to
}

fn index() -> io::Result<c_int> {
    let mut device = request(DEVICE);
    on_socket(libc::AF_INET, libc::SIOCGIFINDEX, &mut device)?;
    // SAFETY: the call above has set the index.
    Ok(unsafe { device.ifr_ifru.ifru_ifindex })
}

fn set_v6(address: Ipv6Addr) -> io::Result<()> {
    let address = libc::in6_addr { s6_addr: address.octets() };
    let mut request = libc::in6_ifreq { ifr6_addr: address, ifr6_prefixlen: 64, ifr6_ifindex: index()? };
    on_socket(libc::AF_INET6, libc::SIOCSIFADDR, &mut request)
}

/// A socket that no program inherits.
pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the call takes three numbers.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened above, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// A request about a device, by a socket of its own.
fn on_socket<T>(family: c_int, number: libc::c_ulong, value: &mut T) -> io::Result<()> {
    let socket = socket(family, libc::SOCK_DGRAM, 0)?;
    control(socket.as_fd(), number as libc::Ioctl, value)
}

/// A request of ioctl(2) whose structure is `value`.
fn control<T>(to: BorrowedFd<'_>, number: libc::Ioctl, value: &mut T) -> io::Result<()> {
    // SAFETY: each caller gives the structure that the manual names for the request; it lives until the call returns.
    match unsafe { libc::ioctl(to.as_raw_fd(), number, std::ptr::from_mut(value)) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
