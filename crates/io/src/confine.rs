//! Limits of a program at a host. It has the files of the calling user, and the packets of its host.
//!
//! It changes nothing else of the machine, even if root called, who owns the settings of the kernel and the disks. Its
//! folders of settings are read-only. Root's programs have devices without hardware behind them. Its only capability
//! (capabilities(7)) is `CAP_NET_RAW`, over a network that contains only its host. A program may create a user
//! namespace: it cannot change or remove the mounts there (mount_namespaces(7)).
#![allow(unsafe_code)]

use crate::system::{self, step, NotAllowed};
use rustix::io::Errno;
use rustix::mount::{mount, mount_bind, mount_bind_recursive, mount_move, MountFlags};
use rustix::process::geteuid;
use rustix::thread::{
    capabilities, configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    unshare_unsafe, CapabilitySet, CapabilitySets, UnshareFlags,
};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::Path;

/// Devices that root's programs have, and links: to the open files of a process, and to the maker of terminals.
const DEVICES: [&str; 7] = ["full", "null", "random", "tty", "urandom", "zero", "net/tun"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Confines this process, which has one thread, for ever.
pub(crate) fn confine() -> Result<(), NotAllowed> {
    // SAFETY: this process has one thread, and shares its files with no other.
    step("private mounts of a program", unsafe { unshare_unsafe(UnshareFlags::NEWNS) })?;
    step("read-only settings of the kernel", make_settings_read_only())?;
    // Other programs have the devices that their permissions give.
    if geteuid().is_root() {
        step("devices of a program", replace_devices())?;
    }
    step("a program without capabilities", drop_capabilities())
}

/// Everything in /proc except processes, and /sys.
fn make_settings_read_only() -> io::Result<()> {
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let is_process = entry.file_name().as_encoded_bytes().first().is_none_or(u8::is_ascii_digit);
        let (kind, place) = (entry.file_type()?, entry.path());
        // The entry may be gone, as processes end.
        let is_writable = || fs::metadata(&place).is_ok_and(|about| about.permissions().mode() & 0o222 != 0);
        if !is_process && (kind.is_dir() || (kind.is_file() && is_writable())) {
            make_read_only(&place)?;
        }
    }
    make_read_only(Path::new("/sys"))
}

fn make_read_only(place: &Path) -> io::Result<()> {
    if place.exists() {
        // Only mounts are read-only.
        mount_bind_recursive(place, place)?;
        system::set_read_only(place)?;
    }
    Ok(())
}

fn replace_devices() -> io::Result<()> {
    let (old, new) = (Path::new("/dev"), Path::new("/tmp"));
    mount("devices", new, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=755")?;
    fs::create_dir(new.join("net"))?;
    for name in DEVICES.into_iter().filter(|name| old.join(name).exists()) {
        File::create(new.join(name))?;
        mount_bind(old.join(name), new.join(name))?;
    }
    fs::create_dir(new.join("shm"))?;
    if old.join("shm").is_dir() {
        mount_bind_recursive(old.join("shm"), new.join("shm"))?;
    }
    // New terminals only: those of the machine belong to other programs.
    fs::create_dir(new.join("pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", new.join("pts"), "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")?;
    for (name, target) in LINKS {
        symlink(target, new.join(name))?;
    }
    Ok(mount_move(new, old)?)
}

fn drop_capabilities() -> io::Result<()> {
    let kept = capabilities(None)?.permitted & CapabilitySet::NET_RAW;
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if one == kept {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            // The kernel has no more capabilities.
            Err(Errno::INVAL) => break,
            done => done?,
        }
    }
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: kept })?;
    if !kept.is_empty() {
        // Otherwise a program without root loses it when it starts.
        configure_capability_in_ambient_set(kept, true)?;
    }
    Ok(())
}
