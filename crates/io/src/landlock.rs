//! Landlock for programs at hosts (landlock(7)): no change of mounts, no signal to processes outside.
//!
//! The kernel denies mount(2), umount(2) and pivot_root(2) to processes whose rights over files it checks, also in further
//! namespaces. The only checked right is to move files between folders, and programs have it everywhere.
#![allow(unsafe_code)]

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use std::io;
use std::ptr;

/// Constants and structures of linux/landlock.h.
const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;
const REFER: u64 = 1 << 13;
const SCOPE_SIGNAL: u64 = 1 << 1;
/// First versions with a right to move files between folders, and with a scope of signals.
const HAS_REFER: libc::c_long = 2;
const HAS_SCOPE: libc::c_long = 6;

#[repr(C)]
struct Ruleset {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

/// Limits this thread and its children, for ever.
pub(crate) fn limit() -> io::Result<()> {
    // SAFETY: without a structure, the call returns its version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<Ruleset>(), 0_usize, CREATE_RULESET_VERSION)
    };
    if check(version)? < HAS_REFER {
        // It would forbid to move a file to another folder.
        return Err(io::ErrorKind::Unsupported.into());
    }
    let scoped = if version < HAS_SCOPE { 0 } else { SCOPE_SIGNAL };
    let ruleset = Ruleset { handled_access_fs: REFER, handled_access_net: 0, scoped };
    // SAFETY: the kernel reads the structure, whose size it gets. Older kernels accept zeros after theirs.
    let rules =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size_of::<Ruleset>(), 0) };
    // SAFETY: the descriptor was opened above, and is not shared.
    let rules = unsafe { OwnedFd::from_raw_fd(check(rules)? as i32) };
    let root = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let moves = PathBeneath { allowed_access: REFER, parent_fd: root.as_raw_fd() };
    // SAFETY: the kernel reads the structure, and keeps nothing of it.
    check(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), RULE_PATH_BENEATH, &raw const moves, 0)
    })?;
    // SAFETY: the call takes two numbers.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) }).map(drop)
}

fn check(done: libc::c_long) -> io::Result<libc::c_long> {
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(done)
    }
}
