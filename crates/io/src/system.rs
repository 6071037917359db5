//! System calls without a safe form elsewhere: device requests, socket options.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::mount::{mount_remount, MountFlags};
use std::ffi::{c_int, CString};
use std::io;
use std::mem::size_of;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Constants of linux/mount.h and linux/fcntl.h.
const MOUNT_ATTR_RDONLY: u64 = 1;
const AT_RECURSIVE: libc::c_uint = 0x8000;

/// Step of the set-up that the system did not allow.
#[derive(Debug)]
pub struct NotAllowed {
    /// Attempted step.
    pub step: &'static str,
    /// Answer of the system.
    pub error: io::Error,
}

/// Names the step that failed.
pub(crate) fn step<T, E: Into<io::Error>>(step: &'static str, result: Result<T, E>) -> Result<T, NotAllowed> {
    result.map_err(|error| NotAllowed { step, error: error.into() })
}

/// Sets the scheduling of this thread. Returns whether that is allowed.
pub(crate) fn schedule(policy: c_int, priority: c_int) -> bool {
    // SAFETY: all fields of the structure are integers; zero is a value of each.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the structure lives until the call returns, and the call keeps nothing of it.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

/// Gives this thread the usual priority.
pub(crate) fn leave_priority() {
    schedule(libc::SCHED_OTHER, 0);
}

/// Sets a socket option from bytes.
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

/// Fills `value` with an option of a socket. Without the option in the kernel it stays unchanged.
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

/// Returns a request about the device of this name.
pub(crate) fn request(name: &[u8]) -> libc::ifreq {
    // SAFETY: all fields of the structure are integers and arrays of them; zero is a value of each.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request
}

/// Returns an address for a request.
pub(crate) fn internet(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: as in `request`.
    let mut to: libc::sockaddr = unsafe { std::mem::zeroed() };
    to.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the family are the port and the address (ip(7)).
    for (to, from) in to.sa_data[2..].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    to
}

/// Returns the number of the device of this name.
pub(crate) fn index(name: &[u8]) -> io::Result<c_int> {
    let mut device = request(name);
    on_socket(libc::AF_INET, libc::SIOCGIFINDEX, &mut device)?;
    // SAFETY: the call above has set the index.
    Ok(unsafe { device.ifr_ifru.ifru_ifindex })
}

/// Opens a socket that no program inherits.
pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the call takes three numbers.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened above, and is not shared.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Makes a request about a device, by a separate socket.
pub(crate) fn on_socket<T>(family: c_int, number: libc::c_ulong, value: &mut T) -> io::Result<()> {
    let socket = socket(family, libc::SOCK_DGRAM, 0)?;
    control(socket.as_fd(), number as libc::Ioctl, value)
}

/// Makes a request of ioctl(2) with a structure `value`.
pub(crate) fn control<T>(to: BorrowedFd<'_>, number: libc::Ioctl, value: &mut T) -> io::Result<()> {
    // SAFETY: each caller gives the structure that the manual names for the request; it lives until the call returns.
    match unsafe { libc::ioctl(to.as_raw_fd(), number, std::ptr::from_mut(value)) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a request of ioctl(2) with a number.
pub(crate) fn control_number(to: BorrowedFd<'_>, number: libc::Ioctl, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: each caller's request takes a number; no memory is touched.
    match unsafe { libc::ioctl(to.as_raw_fd(), number, value) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the mount at this place and all below it read-only.
pub(crate) fn set_read_only(place: &Path) -> io::Result<()> {
    let name = CString::new(place.as_os_str().as_bytes())?;
    // `mount_attr` of mount_setattr(2): bits to set, bits to clear, propagation, user namespace.
    let attributes = [MOUNT_ATTR_RDONLY, 0, 0, 0];
    // SAFETY: the kernel reads the name and the structure, whose size it gets, and keeps neither.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            name.as_ptr(),
            AT_RECURSIVE,
            attributes.as_ptr(),
            std::mem::size_of_val(&attributes),
        )
    };
    match (done, io::Error::last_os_error()) {
        (0.., _) => Ok(()),
        // Kernels before 5.12 only have it for a single mount.
        (_, error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            let flags =
                MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            Ok(mount_remount(place, flags, c"")?)
        }
        (_, error) => Err(error),
    }
}

/// Binds a packet socket to this device, for all its received and sent packets.
pub(crate) fn bind_to_device(socket: BorrowedFd<'_>, device: c_int) -> io::Result<()> {
    // SAFETY: as in `request`.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as libc::sa_family_t;
    to.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    to.sll_ifindex = device;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads the structure, whose size it is given, and keeps nothing of it.
    match unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&to).cast(), len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
