//! Filter of system calls (seccomp(2)) for programs at hosts: no mounts, no keys, no input for a terminal.
//!
//! A program is root in a user namespace that it creates. There it could mount a file system whose files belong to its
//! user outside, such as the control groups. An unattached mount of fsmount(2) suffices, which Landlock allows.
//! The kernel runs programs of other architectures, too: each has its own numbers (linux/audit.h, unistd.h).
#![allow(unsafe_code)]

use std::io;
use std::mem::offset_of;
use std::ptr;

/// open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr and open_tree_attr, on all architectures.
const MOUNTS: [u32; 8] = [428, 429, 430, 431, 432, 433, 442, 467];
/// Bit of the calls of x32, which have the architecture of x86-64.
const X32: u32 = 0x4000_0000;

/// Calls of an architecture.
struct Calls {
    /// Its number in linux/audit.h.
    arch: u32,
    ioctl: u32,
    /// mount, all forms of umount, pivot_root; add_key, request_key, keyctl.
    denied: &'static [u32],
}

#[cfg(target_arch = "x86_64")]
const CALLS: [Calls; 2] = [
    Calls { arch: 0xC000_003E, ioctl: 16, denied: &[165, 166, 155, 248, 249, 250] },
    // i386
    Calls { arch: 0x4000_0003, ioctl: 54, denied: &[21, 22, 52, 217, 286, 287, 288] },
];
#[cfg(target_arch = "aarch64")]
const CALLS: [Calls; 2] = [
    Calls { arch: 0xC000_00B7, ioctl: 29, denied: &[40, 39, 41, 217, 218, 219] },
    // ARM
    Calls { arch: 0x4000_0028, ioctl: 54, denied: &[21, 22, 52, 218, 309, 310, 311] },
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: [Calls; 0] = [];

/// Denies the calls to this thread and its children, for ever.
pub(crate) fn deny_calls() -> io::Result<()> {
    if CALLS.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // A fresh session keyring: the kernel asks that of the caller for keys, too. A kernel without keys has no such call.
    // SAFETY: the call takes a number, and no name.
    let _ = unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, ptr::null::<u8>()) };
    let mut filter = filter();
    let program = libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
    // Otherwise kernels before 5.16 slow programs down, against side channels that they do not need.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the kernel copies the filter before the call returns.
    match unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the filter, one block for each architecture.
fn filter() -> Vec<libc::sock_filter> {
    let mut filter = vec![load(offset_of!(libc::seccomp_data, arch))];
    for calls in &CALLS {
        let block = block(calls);
        filter.push(jump(libc::BPF_JEQ, calls.arch, 0, block.len() as u8));
        filter.extend(block);
    }
    filter.push(end(errno(libc::ENOSYS)));
    filter
}

fn block(calls: &Calls) -> Vec<libc::sock_filter> {
    let denied = errno(libc::EPERM);
    let mut block = vec![load(offset_of!(libc::seccomp_data, nr))];
    block.extend([jump(libc::BPF_JSET, X32, 0, 1), end(errno(libc::ENOSYS))]);
    for &call in calls.denied.iter().chain(&MOUNTS) {
        block.extend([jump(libc::BPF_JEQ, call, 0, 1), end(denied)]);
    }
    block.extend([jump(libc::BPF_JEQ, calls.ioctl, 1, 0), end(libc::SECCOMP_RET_ALLOW)]);
    // The kernel, too, takes only the lower half of the request; it comes first, as all architectures above are
    // little-endian.
    block.push(load(offset_of!(libc::seccomp_data, args) + size_of::<u64>()));
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        block.extend([jump(libc::BPF_JEQ, request as u32, 0, 1), end(denied)]);
    }
    block.push(end(libc::SECCOMP_RET_ALLOW));
    block
}

/// Result of a call that the filter denies with this error.
fn errno(error: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | error as u32
}

/// Loads four bytes of the call.
fn load(offset: usize) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32, 0, 0)
}

/// Skips as many instructions as one of the two numbers, if the comparison holds or not.
fn jump(comparison: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, value, if_true, if_false)
}

fn end(result: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, result, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const X86_64: u32 = 0xC000_003E;
    const I386: u32 = 0x4000_0003;

    /// Result of the filter for a call with a second argument, by a separate reading of bpf(4).
    fn verdict(arch: u32, nr: u32, argument: u64) -> u32 {
        let mut data = [0; 64];
        data[..4].copy_from_slice(&nr.to_ne_bytes());
        data[4..8].copy_from_slice(&arch.to_ne_bytes());
        data[24..32].copy_from_slice(&argument.to_ne_bytes());
        let (filter, mut at, mut value) = (filter(), 0, 0);
        loop {
            let each = filter[at];
            at += 1;
            let skipped = |holds| usize::from(if holds { each.jt } else { each.jf });
            match each.code {
                0x20 => value = u32::from_ne_bytes(data[each.k as usize..][..4].try_into().unwrap()),
                0x15 => at += skipped(value == each.k),
                0x45 => at += skipped(value & each.k != 0),
                0x06 => return each.k,
                code => panic!("{code:#x}"),
            }
        }
    }

    #[test]
    fn calls_that_change_mounts_or_keys_are_denied_on_each_architecture() {
        let denied = errno(libc::EPERM);
        // The constants of the C library know the numbers of x86-64.
        for call in [
            (libc::SYS_mount, 21),
            (libc::SYS_umount2, 52),
            (libc::SYS_pivot_root, 217),
            (libc::SYS_add_key, 286),
            (libc::SYS_request_key, 287),
            (libc::SYS_keyctl, 288),
            (libc::SYS_open_tree, 428),
            (libc::SYS_move_mount, 429),
            (libc::SYS_fsopen, 430),
            (libc::SYS_fsconfig, 431),
            (libc::SYS_fsmount, 432),
            (libc::SYS_fspick, 433),
            (libc::SYS_mount_setattr, 442),
            (467, 467),
        ] {
            assert_eq!([verdict(X86_64, call.0 as u32, 0), verdict(I386, call.1, 0)], [denied; 2], "{call:?}");
        }
        // The older form of umount.
        assert_eq!(verdict(I386, 22, 0), denied);
        let allowed = [libc::SYS_read, libc::SYS_ioctl, libc::SYS_unshare, libc::SYS_clone3, libc::SYS_chroot];
        assert!(allowed.iter().all(|&call| verdict(X86_64, call as u32, 0) == libc::SECCOMP_RET_ALLOW));
    }

    #[test]
    fn input_for_a_terminal_is_denied_by_the_lower_half_of_the_request() {
        for request in [0x5412, 0x541C, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C] {
            assert_eq!([verdict(X86_64, 16, request), verdict(I386, 54, request)], [errno(libc::EPERM); 2]);
        }
        // TCGETS, TIOCGWINSZ; and the same number as an argument of write.
        assert_eq!([0x5401, 0x5413].map(|request| verdict(X86_64, 16, request)), [libc::SECCOMP_RET_ALLOW; 2]);
        assert_eq!(verdict(X86_64, 1, 0x5412), libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn other_architectures_have_no_calls() {
        let none = errno(libc::ENOSYS);
        assert_eq!([verdict(X86_64, X32 | 165, 0), verdict(X86_64, X32, 0), verdict(0xC000_00B7, 40, 0)], [none; 3]);
    }
}
