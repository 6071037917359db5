//! Limits of a program at a host. A program has access to the files of the calling user, and to the packets of its
//! host.
//!
//! It cannot change other parts of the machine, even if root, who owns the settings of the kernel and the disks,
//! started it. Its folders of settings are read-only. Programs of root have devices without hardware behind them. Its
//! only capability (capabilities(7)) is `CAP_NET_RAW`, over a network that contains only its host. A program may create
//! a user namespace: it cannot change or remove the mounts there (mount_namespaces(7)). [`WALLS`] are more limits,
//! where the system has them.
#![allow(unsafe_code)]

use crate::system::{self, step, NotAllowed};
use crate::{landlock, seccomp};
use rustix::io::Errno;
use rustix::mount::{mount, mount_bind, mount_bind_recursive, mount_move, MountFlags};
use rustix::process::{geteuid, set_dumpable_behavior, DumpableBehavior};
use rustix::thread::{
    capabilities, configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs, unshare_unsafe, CapabilitySet, CapabilitySets, UnshareFlags,
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

/// Walls around a program that a kernel or a container may lack, in the order in which they are built.
///
/// | wall | keeps a program from |
/// |---|---|
/// | `processes` | seeing, signalling and limiting the emulator: a separate process namespace with its own /proc |
/// | `ipc` | leaving queues and shared memory, and using those of other programs: a separate IPC namespace |
/// | `sysfs` | seeing the machine's networks: /sys of its host |
/// | `landlock` | changing mounts, and signalling other processes |
/// | `seccomp` | changing mounts, also by unattached ones, using keys, and typing into a terminal |
pub const WALLS: [&str; 5] = ["processes", "ipc", "sysfs", "landlock", "seccomp"];

/// Name of a wall, and its builder.
type Wall = (&'static str, fn() -> io::Result<()>);

/// Confines this process, which has one thread, for ever. Returns those of the wanted walls that the system allows.
pub(crate) fn confine(wanted: &[String]) -> Result<Vec<&'static str>, NotAllowed> {
    // SAFETY: this process has one thread, and shares its files with no other.
    step("private mounts of a program", unsafe { unshare_unsafe(UnshareFlags::NEWNS) })?;
    let mut built = Vec::new();
    let mut build = |walls: &[Wall]| {
        let wanted = walls.iter().filter(|(name, _)| wanted.iter().any(|wanted| wanted == name));
        built.extend(wanted.filter(|(_, build)| build().is_ok()).map(|(name, _)| name));
    };
    build(&[("processes", mount_processes), ("ipc", separate_ipc), ("sysfs", mount_sysfs)]);
    step("read-only settings of the kernel", make_settings_read_only())?;
    // Other programs have the devices that their permissions give.
    if geteuid().is_root() {
        step("devices of a program", replace_devices())?;
    }
    // Last: they forbid mounts.
    build(&[("landlock", landlock::limit), ("seccomp", seccomp::deny_calls)]);
    step("a program without capabilities", drop_capabilities())?;
    step("a program without set-user-ID programs", set_no_new_privs(true))?;
    // Programs cannot trace it until it becomes a program, too.
    step("a process that cannot be traced", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    Ok(built)
}

/// Mounts the list of processes of this process namespace.
fn mount_processes() -> io::Result<()> {
    Ok(mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?)
}

/// Separates System V and POSIX queues and shared memory.
fn separate_ipc() -> io::Result<()> {
    // SAFETY: this process has one thread, and shares neither files nor memory with another.
    unsafe { unshare_unsafe(UnshareFlags::NEWIPC) }?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    for (place, kind, options) in [("/dev/shm", "tmpfs", Some(c"mode=1777")), ("/dev/mqueue", "mqueue", None)] {
        if Path::new(place).is_dir() {
            mount(kind, place, kind, flags, options)?;
        }
    }
    Ok(())
}

/// Mounts the devices of the kernel with those of the host's network only.
fn mount_sysfs() -> io::Result<()> {
    let (old, new) = (Path::new("/sys"), Path::new("/tmp"));
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("sysfs", new, "sysfs", flags | MountFlags::RDONLY, None)?;
    let groups = "fs/cgroup";
    if old.join(groups).is_dir() {
        // Programs read the limits of their processors and memory there.
        mount_bind_recursive(old.join(groups), new.join(groups))?;
    }
    Ok(mount_move(new, old)?)
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
    for name in ["shm", "mqueue"] {
        fs::create_dir(new.join(name))?;
        if old.join(name).is_dir() {
            mount_bind_recursive(old.join(name), new.join(name))?;
        }
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
