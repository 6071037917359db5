//! Measures the answer time of a host, which each round trip contains. It measures before the scenario begins, without
//! other traffic.

use crate::clock::clock_ns;
use crate::host::Host;
use crate::icmp;
use crate::offload::{Header, HEADER};
use crate::trust::median;
use bentpipe_units::Duration;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::net::{IpAddr, Ipv4Addr};

/// Echoes of each host.
const ECHOES: u16 = 20;
/// Nanoseconds after which a host does not answer.
const PATIENCE_NS: i64 = 10_000_000;

/// Returns the median time from an echo request to its answer, or none without answers.
pub(crate) fn turnaround(host: &Host, buffer: &mut [u8]) -> Option<Duration> {
    let IpAddr::V4(own) = host.v4() else { return None };
    let [a, b, c, last] = own.octets();
    // Any other host of the network.
    let peer = Ipv4Addr::new(a, b, c, if last == 1 { 2 } else { 1 });
    let mut found: Vec<Duration> = (0..ECHOES).map_while(|number| echo(host, peer, own, number, buffer)).collect();
    median(&mut found)
}

fn echo(host: &Host, from: Ipv4Addr, to: Ipv4Addr, number: u16, buffer: &mut [u8]) -> Option<Duration> {
    let start = clock_ns();
    host.write(Header::default(), &[&icmp::echo(from, to, number)?]).ok()?;
    loop {
        match host.read(buffer) {
            Ok(len) if icmp::is_answer(&buffer[HEADER..HEADER + len], number) => {
                return Some(Duration::from_ps((clock_ns() - start) * 1000));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let timeout = Timespec { tv_sec: 0, tv_nsec: PATIENCE_NS };
                let mut device = [PollFd::from_borrowed_fd(host.device(), PollFlags::IN)];
                if poll(&mut device, Some(&timeout)).ok()? == 0 {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}
