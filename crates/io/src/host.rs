//! Hosts of an emulation: Linux namespaces with one device each. Other processes do not see them, and they end with
//! this process. `confine` has the limits of programs at them.
//!
//! Each system call that needs `unsafe` states its reason. The caller of [`isolate`] must have one thread, because
//! several threads cannot leave a user namespace. Later each thread may have a separate [`Host`].
#![allow(unsafe_code)]

use crate::confine;
pub use crate::confine::WALLS;
use crate::device::{Backend, Device, Offload, Wanted, Wire, NAME};
use crate::mptcp::{self, Endpoint};
use crate::netlink::{self, Beginning, Sampler};
use crate::offload::Header;
pub use crate::system::NotAllowed;
use crate::system::{self, index, internet, on_socket, request, step};
use bentpipe_tcp::{BufferGrowth, Config};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{mount, mount_bind, mount_change, unmount, MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{
    getegid, geteuid, getppid, pidfd_open, set_parent_process_death_signal, Pid, PidfdFlags, Signal,
};
use rustix::thread::{move_into_link_name_space, unshare_unsafe, LinkNameSpaceType, UnshareFlags};
use std::ffi::c_int;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Length of the device's queue in packets. Its usual 500 overflow while the emulator waits for the processor.
const DEVICE_QUEUE: c_int = 10_000;
/// Largest buffers of a socket in bytes: four bandwidth-delay products of 200 Mbit/s over a geostationary path.
const BUFFER_MAX: u32 = 64 << 20;
/// Send buffer with which a connection of Linux starts, bytes.
const WMEM: u32 = 16_384;

/// Rows of a host's table of connections.
const CONNECTIONS: &str = "1024";

/// Ends this process with its parent, which has the id `parent`. Returns whether the parent still exists.
///
/// # Errors
///
/// The system does not have the call.
pub fn end_with_parent(parent: Option<u32>) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the call.
    let now = getppid().map(|id| id.as_raw_nonzero().get().unsigned_abs());
    Ok(parent.is_none_or(|parent| now == Some(parent)))
}

/// Takes real-time priority, if this process may have it. Programs get the usual priority back in
/// [`Host::enter_as_program`].
pub fn take_priority() -> bool {
    system::schedule(libc::SCHED_FIFO, 10)
}

/// Returns a descriptor of a process that becomes readable at its end.
///
/// # Errors
///
/// The process does not exist.
pub fn process(id: i32) -> io::Result<OwnedFd> {
    let id = Pid::from_raw(id).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(id, PidfdFlags::empty())?)
}

/// Leaves the namespaces of the machine. The next child is the first process of a process namespace, which ends with
/// it. The namespaces belong to the user who called.
///
/// # Errors
/// The step that the system does not allow.
pub fn isolate() -> Result<(), NotAllowed> {
    let (user, group) = (geteuid(), getegid());
    let spaces = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWNET | UnshareFlags::NEWUTS;
    // SAFETY: this process has one thread, and shares neither files nor memory with another.
    match unsafe { unshare_unsafe(UnshareFlags::NEWUSER | spaces) } {
        // SAFETY: as above.
        Err(_) if user.is_root() => step("private namespaces", unsafe { unshare_unsafe(spaces) })?,
        Err(error) => step("a user namespace", Err(error))?,
        Ok(()) => map_ids(user.as_raw(), group.as_raw())?,
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("private mounts", mount_change("/", private))
}

/// Enters a new user namespace. Its only user and group have the same ids as outside.
fn map_ids(user: u32, group: u32) -> Result<(), NotAllowed> {
    // Already denied in a namespace within one.
    let _ = fs::write("/proc/self/setgroups", "deny");
    step("a user in a user namespace", fs::write("/proc/self/uid_map", format!("{user} {user} 1")))?;
    step("a group in a user namespace", fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
}

/// Process namespace of programs within that of this process.
#[derive(Debug)]
pub struct Processes {
    own: OwnedFd,
    within: OwnedFd,
}

impl Processes {
    /// Starts later children of this thread in a new process namespace. The next of them is its first process.
    ///
    /// # Errors
    /// The system does not allow another process namespace.
    pub fn begin() -> io::Result<()> {
        // SAFETY: the call changes nothing of this process, only the namespace of its children.
        Ok(unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?)
    }

    /// Takes the namespace of [`Processes::begin`], after the start of its first process. Later children of this
    /// thread start outside again.
    ///
    /// # Errors
    /// The first process has ended.
    pub fn take() -> io::Result<Self> {
        let namespace = |name: &str| {
            open(Path::new("/proc/thread-self/ns").join(name), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        let taken = Self { own: namespace("pid")?, within: namespace("pid_for_children")? };
        taken.place_children(false)?;
        Ok(taken)
    }

    /// Starts later children of this thread within the namespace, or outside.
    ///
    /// # Errors
    /// The first process of the namespace has ended.
    pub fn place_children(&self, is_within: bool) -> io::Result<()> {
        let namespace = if is_within { &self.within } else { &self.own };
        Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::ProcessID))?)
    }
}

/// Gives the first process a separate process list and host names, without other name servers. Writes nothing to a
/// disk.
///
/// # Errors
/// The step that the system does not allow.
pub fn mount_names(hosts: &str) -> Result<(), NotAllowed> {
    // Containers may hide parts of /proc and then forbid another one: children see the old one.
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
    // Both files live on at their new places.
    step("a private /tmp", unmount(place, UnmountFlags::DETACH))?;
    step("a private /etc/hosts", bound)
}

/// Host: a network namespace with loopback and one device. It ends when this value and all of its processes end.
#[derive(Debug)]
pub struct Host {
    namespace: OwnedFd,
    device: Device,
    addresses: Vec<IpAddr>,
}

impl Host {
    /// Creates a host with these addresses, in networks of 24 and 64 bits, and a TUN device without offload.
    /// Afterwards, this process is in its namespace.
    ///
    /// # Errors
    ///
    /// The step that the system does not allow.
    pub fn new(v4: Ipv4Addr, v6: Ipv6Addr, mtu: u16) -> Result<Self, NotAllowed> {
        Self::with(v4, v6, &Wanted { mtu, backend: Backend::Tun, offload: Offload::Off })
    }

    /// Creates a host with another device.
    ///
    /// # Errors
    /// The step that the system does not allow.
    pub fn with(v4: Ipv4Addr, v6: Ipv6Addr, wanted: &Wanted) -> Result<Self, NotAllowed> {
        let mut namespace = new_network()?;
        let tun = match wanted.backend {
            Backend::Packet => None,
            Backend::Tun => Some(Device::tun(wanted.offload)?),
            Backend::Auto => Device::tun(wanted.offload).ok(),
        };
        let device = match tun {
            Some(device) => device,
            // The host's old namespace has the other end, and the host gets another namespace.
            None => {
                let wire = Wire::new(namespace)?;
                namespace = new_network()?;
                let device = Device::packet(&wire, wanted)?;
                step("a network namespace", move_to(wire.namespace()))?;
                step("a packet socket on a device", wire.open())?;
                step("a network namespace", move_to(namespace.as_fd()))?;
                device
            }
        };
        sysctls();
        // A pair of devices needs no Ethernet addresses: there is only one other end.
        let arp = if device.is_ethernet() { libc::IFF_NOARP } else { 0 };
        let up = |name: &[u8]| {
            let mut up = request(name);
            up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING | arp) as libc::c_short;
            on_socket(libc::AF_INET, libc::SIOCSIFFLAGS, &mut up)
        };
        let set = |value: libc::__c_anonymous_ifr_ifru, number| {
            let mut set = request(NAME);
            set.ifr_ifru = value;
            on_socket(libc::AF_INET, number, &mut set)
        };
        step("loopback", up(b"lo"))?;
        step("the MTU", set(libc::__c_anonymous_ifr_ifru { ifru_mtu: wanted.mtu.into() }, libc::SIOCSIFMTU))?;
        step("the queue of the device", index(NAME).and_then(|device| netlink::set_queue(device, DEVICE_QUEUE)))?;
        let (address, mask) = (internet(v4), internet(Ipv4Addr::new(255, 255, 255, 0)));
        step("an address", set(libc::__c_anonymous_ifr_ifru { ifru_addr: address }, libc::SIOCSIFADDR))?;
        step("a network mask", set(libc::__c_anonymous_ifr_ifru { ifru_netmask: mask }, libc::SIOCSIFNETMASK))?;
        step("the device up", up(NAME))?;
        // A system without IPv6 has hosts without it.
        let _ = set_v6(v6);
        Ok(Self { namespace, device, addresses: vec![v4.into(), v6.into()] })
    }

    /// Gives the host a further address, in a network of 24 bits.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn add_address(&mut self, address: Ipv4Addr) -> Result<(), NotAllowed> {
        self.enter()?;
        step("another address", index(NAME).and_then(|device| netlink::add_address(device, address)))?;
        self.addresses.push(address.into());
        Ok(())
    }

    /// Lets connections of Multipath TCP have `more` subflows besides the first. Those that the host opens get them from
    /// these addresses.
    ///
    /// # Errors
    /// The kernel has no Multipath TCP, or allows fewer subflows.
    pub fn set_paths(&self, more: u32, endpoints: &[Endpoint]) -> io::Result<()> {
        self.enter().map_err(|refused| refused.error)?;
        mptcp::set_paths(more, endpoints)
    }

    /// Sets the initial state of all connections of the host.
    ///
    /// # Errors
    /// The kernel does not have the congestion control. It has those of [`congestion_controls`].
    pub fn set_beginning(&self, beginning: Beginning<'_>) -> io::Result<()> {
        self.enter().map_err(|refused| refused.error)?;
        for &address in &self.addresses {
            let set = netlink::set_beginning(index(NAME)?, address, beginning);
            // A system without IPv6 has no such route.
            if address.is_ipv4() {
                set?;
            }
        }
        Ok(())
    }

    /// Sets the buffers of later connections to those of a configuration that tunes them as Linux. Other buffers keep
    /// limits of 64 MiB.
    ///
    /// # Errors
    /// The system does not allow this process to enter the host.
    pub fn set_buffers(&self, config: &Config) -> Result<(), NotAllowed> {
        self.enter()?;
        if let (Some(start), BufferGrowth::Linux) = (config.auto_buffer, config.buffer_growth) {
            let _ = set("ipv4/tcp_rmem", &format!("4096 {start} {}", config.receive_buffer));
        }
        if config.auto_send_buffer.is_some() {
            let _ = set("ipv4/tcp_wmem", &format!("4096 {WMEM} {}", config.send_buffer));
        }
        Ok(())
    }

    /// Sets metrics of the route to its network, by their numbers (linux/rtnetlink.h).
    ///
    /// # Errors
    ///
    /// The kernel rejects one of them.
    pub(crate) fn set_metrics(&self, metrics: &[(u16, u32)]) -> io::Result<()> {
        let values: Vec<_> = metrics.iter().map(|(kind, value)| (*kind, value.to_ne_bytes())).collect();
        let values: Vec<_> = values.iter().map(|(kind, value)| (*kind, &value[..])).collect();
        netlink::set_metrics(index(NAME)?, self.addresses[0], &values)
    }

    /// Returns its IPv4 address.
    pub(crate) fn v4(&self) -> IpAddr {
        self.addresses[0]
    }

    /// Returns a socket for requests about the connections of the host.
    ///
    /// # Errors
    ///
    /// The kernel has no such reports.
    pub fn sampler(&self) -> io::Result<Sampler> {
        self.enter().map_err(|refused| refused.error)?;
        Sampler::new()
    }

    /// Returns the device, to wait for it. Without offload, it can be read and written.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.file()
    }

    /// Whether its device is TUN, not a packet socket, and whether it hands over super-packets.
    pub fn had(&self) -> (Backend, bool) {
        let backend = if self.device.is_ethernet() { Backend::Packet } else { Backend::Tun };
        (backend, self.device.has_offload())
    }

    /// Reads a packet without waiting: its header and, from [`HEADER`](crate::offload::HEADER) on, its bytes. Returns
    /// their number.
    ///
    /// # Errors
    ///
    /// No packet waits, or the system fails.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.device.read(buffer)
    }

    /// Passes a packet to the host. Its bytes are those of all parts.
    ///
    /// # Errors
    ///
    /// The kernel rejects it.
    pub fn write(&self, header: Header, parts: &[&[u8]]) -> Result<(), Errno> {
        self.device.write(header, parts)
    }

    /// Moves this process to the host.
    ///
    /// # Errors
    ///
    /// The step that the system does not allow.
    pub fn enter(&self) -> Result<(), NotAllowed> {
        step("the network namespace", move_to(self.namespace.as_fd()))
    }

    /// Moves this process, which has one thread and is about to become a program, to the host for ever, with usual
    /// priority and without rights outside it. Returns those of the wanted [`WALLS`] that the system allows.
    ///
    /// # Errors
    ///
    /// The step that the system does not allow.
    pub fn enter_as_program(&self, walls: &[String]) -> Result<Vec<&'static str>, NotAllowed> {
        self.enter()?;
        system::leave_priority();
        confine::confine(walls)
    }

    /// Returns the packets that the device dropped before they could be read.
    ///
    /// # Errors
    ///
    /// The system has no such counter.
    pub fn dropped(&self) -> Result<u64, NotAllowed> {
        self.enter()?;
        let text = step("the counters of the device", fs::read_to_string("/proc/thread-self/net/dev"))?;
        // Eight columns of received traffic, then bytes, packets, errors and drops of sent traffic.
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix("sat0:"));
        let column: Option<u64> = row.and_then(|row| row.split_whitespace().nth(11)?.parse().ok());
        column
            .map(|dropped| dropped + self.device.dropped())
            .ok_or(NotAllowed { step: "the counters of the device", error: io::ErrorKind::InvalidData.into() })
    }
}

/// Moves this process, which has one thread, to a separate network namespace. Returns it.
fn new_network() -> Result<OwnedFd, NotAllowed> {
    // A separate, small table of connections: a visit of the whole table takes microseconds instead of half a
    // millisecond. The namespace of this process sets the size for the namespace that it creates.
    let _ = fs::write("/proc/sys/net/ipv4/tcp_child_ehash_entries", CONNECTIONS);
    // SAFETY: only this thread gets another network; it shares its files as before.
    step("a network namespace", unsafe { unshare_unsafe(UnshareFlags::NEWNET) })?;
    step("the network namespace", open("/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
}

/// Ends several hosts together: for each of them, the kernel waits until its device and its socket are no longer in
/// use.
pub fn end(hosts: Vec<Host>) {
    std::thread::scope(|scope| {
        for host in hosts {
            // Without a thread, the host ends here.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(host));
        }
    });
}

fn move_to(network: BorrowedFd<'_>) -> Result<(), Errno> {
    move_into_link_name_space(network, Some(LinkNameSpaceType::Network))
}

/// Returns the available congestion controls of the kernel, in the kernel's order.
pub fn congestion_controls() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.unwrap_or_default().split_whitespace().map(String::from).collect()
}

/// Congestion controls with another name in the kernel: bentpipe's name, the kernel's name. The first of bentpipe's
/// names for a module is its twin.
const CC_NAMES: [(&str, &str); 5] =
    [("reno", "reno"), ("newreno", "reno"), ("sack", "reno"), ("bbr1", "bbr"), ("westwood-plus", "westwood")];

/// Returns the kernel's name of a congestion control, given bentpipe's name or the kernel's.
pub fn kernel_cc(name: &str) -> &str {
    CC_NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, kernels)| kernels)
}

/// Returns bentpipe's name of a congestion control of the kernel.
pub fn simulated_cc(name: &str) -> &str {
    CC_NAMES.iter().find(|(_, kernels)| *kernels == name).map_or(name, |(ours, _)| ours)
}

/// Sets the system settings of a host. Settings that this system does not have stay unchanged.
fn sysctls() {
    let buffers = |least| format!("4096 {least} {BUFFER_MAX}");
    let group = getegid().as_raw();
    let settings = [
        ("ipv4/tcp_wmem", buffers(WMEM)),
        ("ipv4/tcp_rmem", buffers(131_072)),
        // Metrics of one connection would change the next connection.
        ("ipv4/tcp_no_metrics_save", "1".into()),
        // Accepts ECN, but does not request it: no packet is ECN-capable on the path.
        ("ipv4/tcp_ecn", "2".into()),
        ("ipv4/ip_forward", "0".into()),
        // Programs have no rights over the network, and servers may want port 80.
        ("ipv4/ip_unprivileged_port_start", "0".into()),
        ("ipv4/conf/all/rp_filter", "0".into()),
        ("ipv4/ping_group_range", format!("{group} {group}")),
        ("ipv6/conf/all/accept_ra", "0".into()),
        // A link address would appear a second later. Browsers would take it for another network and abort their
        // downloads. Its solicitations would also be packets on the path, with their own errors.
        ("ipv6/conf/sat0/addr_gen_mode", "1".into()),
        ("ipv6/conf/sat0/accept_dad", "0".into()),
        ("ipv6/conf/sat0/router_solicitations", "0".into()),
    ];
    let _ = at_usual_priority(|| {
        for (name, value) in settings {
            let _ = write_setting(name, &value);
        }
    });
}

/// Sets a setting of the network namespace of this thread, such as `ipv4/tcp_sack`.
///
/// # Errors
///
/// The kernel does not have it, or rejects the value.
pub(crate) fn set(name: &str, value: &str) -> io::Result<()> {
    at_usual_priority(|| write_setting(name, value))?
}

fn write_setting(name: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new("/proc/sys/net").join(name), value)
}

/// Does `work` in a thread of the same namespaces with usual priority. For some settings, the kernel retries until one
/// of its locks is free. At real-time priority, it would take the processor from the thread that holds the lock.
///
/// # Errors
///
/// There can be no thread.
fn at_usual_priority<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let start = || {
            system::leave_priority();
            work()
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, start)?;
        thread.join().map_err(|_| io::Error::other("the thread ended early"))
    })
}

fn set_v6(address: Ipv6Addr) -> io::Result<()> {
    let address = libc::in6_addr { s6_addr: address.octets() };
    let mut request = libc::in6_ifreq { ifr6_addr: address, ifr6_prefixlen: 64, ifr6_ifindex: index(NAME)? };
    on_socket(libc::AF_INET6, libc::SIOCSIFADDR, &mut request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_controls_are_found_by_either_name() {
        for (ours, kernels) in [("bbr1", "bbr"), ("westwood-plus", "westwood"), ("cubic", "cubic"), ("reno", "reno")] {
            assert_eq!([kernel_cc(ours), kernel_cc(kernels), simulated_cc(kernels)], [kernels, kernels, ours]);
        }
        // RFC 6582 and RFC 6675 are recoveries for Reno's window.
        assert_eq!([kernel_cc("sack"), kernel_cc("newreno"), kernel_cc("bbr3")], ["reno", "reno", "bbr3"]);
    }

    /// Whether this process may have real-time priority.
    #[test]
    fn settings_are_written_at_usual_priority() {
        // The 41st number of the line, 38 behind the name: the policy (proc_pid_stat(5)).
        let policy = || {
            let line = fs::read_to_string("/proc/thread-self/stat").unwrap();
            line.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(38)).and_then(|text| text.parse().ok())
        };
        let own = if take_priority() { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
        assert_eq!([policy(), at_usual_priority(policy).unwrap()], [Some(own), Some(libc::SCHED_OTHER)]);
        system::leave_priority();
    }
}
