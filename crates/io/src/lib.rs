//! The simulated path for real programs.
//!
//! | room | content |
//! |---|---|
//! | `behind` | a file that another thread writes |
//! | `calibrate` | measurement of hosts' answer times |
//! | [`codec`] | packets as bytes: header fields for the path, checksums, ECN marks |
//! | `host` | namespaces of Linux, each with a device |
//! | `device` | the device of a host: TUN, or a packet socket |
//! | `system` | system calls; with `host`, `confine`, `landlock` and `seccomp`, all `unsafe` code |
//! | [`offload`] | super-packets of hosts, taken apart and joined |
//! | `driver` | packets of hosts enter the simulated network when they come, and leave it when they are due |
//! | `kernel` | the kernel's TCP under test: conformance scripts in real time |
//! | `confine` | limits of programs at hosts |
//! | `landlock` | limits of programs: no change of mounts, no signals to others |
//! | `seccomp` | limits of programs: denied system calls |
//! | `netlink` | messages to the kernel: routes with a congestion control, connections as they are |
//! | `mptcp` | the kernel's Multipath TCP: paths of a host, connections over them |
//! | `samples` | the connections of hosts during a run |
//! | `filter` | a filter of real acknowledgements |
//! | [`icmp`] | reports of routers: a packet was too large |
//! | [`proxy`] | middleboxes for real packets: a proxy that splits their connections |
//! | [`pcapng`] | captures: packets that each host sent and received, lost packets with their cause |
//! | [`multipath`] | multipath options as bytes: keys, tokens, hashes |
//! | [`simulated`] | captures of runs in virtual time: packets with made-up headers |
//! | [`wire`] | TCP segments as packets, and back |
//! | [`speaker`] | a host with bentpipe's TCP |
//! | `quic` | a host with bentpipe's QUIC, with the feature `quic` |
//! | `udp` | this host at a socket, in real time |
//! | [`trust`] | lateness of packets, and losses outside the scenario |

#[cfg(target_os = "linux")]
pub mod behind;
#[cfg(target_os = "linux")]
mod calibrate;
#[cfg(target_os = "linux")]
mod clock;
pub mod codec;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod driver;
mod filter;
#[cfg(target_os = "linux")]
pub mod host;
pub mod icmp;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
pub mod mptcp;
pub mod multipath;
#[cfg(target_os = "linux")]
pub mod netlink;
pub mod offload;
pub mod pcapng;
pub mod proxy;
#[cfg(all(target_os = "linux", feature = "quic"))]
pub mod quic;
#[cfg(target_os = "linux")]
mod samples;
#[cfg(target_os = "linux")]
mod seccomp;
pub mod simulated;
pub mod speaker;
#[cfg(target_os = "linux")]
mod system;
pub mod trust;
#[cfg(all(target_os = "linux", feature = "quic"))]
pub mod udp;
pub mod wire;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests {
    use bentpipe_sim::{Delivered, Lost, Network};
    use bentpipe_units::Time;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    /// Written bytes, shared by all clones.
    #[derive(Clone, Default)]
    pub(crate) struct Shared(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns bytes that differ from place to place.
    pub(crate) fn bytes(count: u32) -> Arc<[u8]> {
        (0..count).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// Returns a packet that a network delivered, and a packet that it lost.
    pub(crate) fn lossy() -> (Delivered, Lost) {
        let text = r#"
            duration = "1 s"
            [link.path]
            from = "a"
            to = "b"
            rate = "1 Mbit/s"
            delay = "1 ms"
            queue = "50 packets"
            error = { kind = "packet", rate = 0.5 }
            [flow.real]
            from = "a"
            to = "b"
            app = "port"
        "#;
        let scenario = bentpipe_sim::scenario::from_toml(text, "test.toml", &[]).unwrap().scenario;
        let mut network = Network::build(&scenario, 1);
        let [port, _] = network.ports("real").unwrap();
        (0..20).for_each(|_| network.inject(Time::ZERO, port, 100, 28, Box::default()).unwrap());
        while network.next_wakeup() != Time::NEVER {
            network.run_until(network.next_wakeup());
        }
        (network.drain().swap_remove(0), network.drain_lost().swap_remove(0))
    }
}
