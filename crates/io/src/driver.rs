//! Drives hosts in real time: their packets enter the simulated network on arrival, and leave it when they are due.
//!
//! The path is computed from the instants at which packets entered. So lateness does not add up, and it changes neither
//! queues nor losses.

use crate::behind::Behind;
use crate::calibrate;
use crate::clock::{clock_ns, sleep};
use crate::codec::{mark, Headers};
use crate::host::{self, Host};
use crate::mptcp::MultiConnection;
use crate::offload::{self, Header, Joined};
use crate::pcapng::Captures;
use crate::samples::Samples;
pub use crate::samples::{Sample, Way};
use crate::speaker::Speaker;
use crate::trust::{Endpoints, Outside};
use bentpipe_sim::{Delivered, Network, Refused};
use bentpipe_units::{Duration, Time};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Largest number of packets, and segments of super-packets, from one host before the driver turns to the next.
const BATCH: usize = 64;
const SEGMENTS: u64 = 256;
/// Largest packet in bytes, with its header.
const PACKET_MAX: usize = offload::HEADER + 65_536;

/// Network of the hosts (IPv4), and the protocol that is carried to all of them.
const NETMASK: u32 = 0xffff_ff00;
const UDP: u8 = 17;

/// Captures in files.
pub type Files = Captures<Behind<File>>;

/// Reason why the driver returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The given time is over.
    Slice,
    /// The watched process has ended.
    Ended,
    /// The scenario is over.
    Over,
}

/// Driver of a network in real time.
pub struct Driver {
    hosts: Vec<Host>,
    /// Host with bentpipe's TCP. Its other parts are those of the system.
    own: Option<(usize, Speaker)>,
    ways: Vec<Way>,
    captures: Option<Files>,
    outside: Outside,
    samples: Samples,
    buffer: Vec<u8>,
    /// Entry of the last packet.
    entered: Time,
    /// Start of the scenario, by the clock of the system.
    start: Option<u64>,
    /// Host that is read first.
    first: usize,
    /// Time of the last check of the hosts, if nothing else was due since.
    looked: Option<Time>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        host::end(std::mem::take(&mut self.hosts));
    }
}

/// Distance of the entries of a super-packet's segments. Later packets keep a larger distance, so the segments are
/// recognised when they leave.
const APART: Duration = Duration::from_ps(1);

/// Turns up to `SHORT` are those of slow paths. The wait for the next packet is long enough there.
const SHORT: Duration = Duration::from_micros(20);
/// Longest rest after turns of usual length. Packets of this time are then read and written together, which costs less
/// for each of them.
const REST: Duration = Duration::from_micros(50);

/// Returns the time in which the driver leaves the processor to others after a turn that took `worked`: as long as it
/// worked, up to 50 us, and at least an eighth of it.
///
/// Linux stops a real-time program that takes 95 % of a second for the rest of that second (sched(7),
/// `sched_rt_runtime_us`): without rests, packets of fast paths leave up to 50 ms late.
fn rest_after(worked: Duration) -> Duration {
    if worked <= SHORT {
        return Duration::ZERO;
    }
    worked.min(REST).max(worked / 8)
}

/// Whether packets from a host with the address `own` to this address are for all hosts of its network, 10.77.0.0/24.
fn is_for_all(to: IpAddr, own: IpAddr) -> bool {
    match (to, own) {
        (IpAddr::V4(to), IpAddr::V4(own)) => {
            to.is_multicast() || to.is_broadcast() || to.to_bits() == own.to_bits() | !NETMASK
        }
        (to, _) => to.is_multicast(),
    }
}

impl Driver {
    /// Creates a driver of these hosts, joined by these paths. The scenario begins with the first [`run`](Self::run).
    pub fn new(hosts: Vec<Host>, ways: Vec<Way>, captures: Option<Files>) -> Self {
        // Otherwise waiting ends up to 50 us late (prctl(2), PR_SET_TIMERSLACK).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        // If the kernel gives no reports, the run has no samples.
        let samplers = hosts.iter().map_while(|host| host.sampler().ok()).collect();
        let samples = Samples::new(samplers, ways.len());
        let mut buffer = vec![0; PACKET_MAX];
        let turnaround = hosts.iter().filter_map(|host| calibrate::turnaround(host, &mut buffer)).max();
        let outside = Outside { turnaround, ..Outside::default() };
        let entered = Time::ZERO;
        Self {
            hosts,
            own: None,
            ways,
            captures,
            outside,
            samples,
            buffer,
            entered,
            start: None,
            first: 0,
            looked: None,
        }
    }

    /// Returns the hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Gives `host` bentpipe's TCP. With `connect`, its own address and that of another host, it opens a connection.
    pub fn speak(&mut self, host: usize, mut speaker: Speaker, connect: Option<[SocketAddr; 2]>) {
        if let Some([from, to]) = connect {
            speaker.connect(Time::ZERO, from, to);
        }
        self.own = Some((host, speaker));
    }

    /// Returns the host with bentpipe's TCP.
    pub fn speaker(&self) -> Option<&Speaker> {
        self.own.as_ref().map(|(_, speaker)| speaker)
    }

    /// Returns the events outside the scenario so far.
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Returns the connections of the hosts in order of time, sampled every 20 ms while they change.
    pub fn samples(&self) -> &[Sample] {
        self.samples.kept()
    }

    /// Returns the connections over several paths, sampled like others.
    pub fn multipath(&self) -> &[Sample<MultiConnection>] {
        self.samples.multipath()
    }

    /// Returns the end of the samples, if there were more than a million.
    pub fn samples_end(&self) -> Option<Time> {
        self.samples.end()
    }

    /// Returns the limits of the kernel's senders, and their round trips.
    pub fn endpoints(&self) -> Endpoints {
        self.samples.endpoints()
    }

    /// Returns the time of the scenario: that of the system since the first `run`.
    fn now(&mut self) -> Time {
        let now = clock_ns();
        let start = *self.start.get_or_insert(now);
        Time::ZERO + Duration::from_ps((now - start) * 1000)
    }

    /// Drives the network for `slice`, or until the process behind `watched` ([`host::process`](crate::host::process)) ends.
    ///
    /// # Errors
    /// The system refuses to wait; a host's device is gone.
    pub fn run(&mut self, network: &mut Network, watched: Option<&OwnedFd>, slice: Duration) -> io::Result<Pause> {
        let now = self.now();
        let (mut looked, until) = (self.looked.take().unwrap_or(now), now + slice);
        loop {
            self.read_all(network)?;
            let now = self.now();
            network.run_until(now);
            self.write_all(network);
            let next = self.speak_at(network, now).min(network.next_wakeup());
            if network.next_wakeup() == Time::NEVER && network.progress() >= 1.0 {
                return Ok(Pause::Over);
            }
            self.samples.take(now, &self.ways, self.own.as_ref());
            let now = self.now();
            self.outside.on_turn(now.saturating_since(looked));
            if now >= until {
                self.looked = Some(now);
                return Ok(Pause::Slice);
            }
            sleep(rest_after(now.saturating_since(looked)));
            let rested = self.now();
            let patience = next.min(until).min(self.samples.next()).saturating_since(rested);
            let ended = self.wait(patience, watched)?;
            looked = self.now();
            // Rested, or woken late: the devices were not read in the meantime.
            self.outside.on_turn(looked.saturating_since(now).saturating_sub(patience));
            if ended {
                return Ok(Pause::Ended);
            }
        }
    }

    /// Waits until a host sends, an event is due, or the process ends. Returns whether it ended.
    fn wait(&self, patience: Duration, watched: Option<&OwnedFd>) -> io::Result<bool> {
        let mut sources: Vec<PollFd<'_>> =
            self.hosts.iter().map(|host| PollFd::from_borrowed_fd(host.device(), PollFlags::IN)).collect();
        sources.extend(watched.map(|process| PollFd::new(process, PollFlags::IN)));
        let ns = patience.as_ps().div_ceil(1000);
        let timeout = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        match poll(&mut sources, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(watched.is_some() && sources.last().is_some_and(|process| !process.revents().is_empty()))
    }

    /// Passes packets from hosts to the network.
    fn read_all(&mut self, network: &mut Network) -> io::Result<()> {
        let count = self.hosts.len();
        self.first = (self.first + 1) % count.max(1);
        let first = self.first;
        for host in (0..count).map(|at| (first + at) % count) {
            let before = self.outside.entered;
            for _ in 0..BATCH {
                if self.outside.entered - before >= SEGMENTS {
                    break;
                }
                match self.hosts[host].read(&mut self.buffer) {
                    Ok(len) => {
                        let buffer = std::mem::take(&mut self.buffer);
                        if let Some((header, packet)) = buffer.split_first_chunk() {
                            self.enter(network, host, Header::read(*header), &packet[..len]);
                        }
                        self.buffer = buffer;
                    }
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    // A packet socket cannot describe super-packets of a kind that is newer than it.
                    Err(Errno::INVAL) => self.outside.not_read += 1,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Runs the due actions of bentpipe's TCP. Returns the time of its next action.
    fn speak_at(&mut self, network: &mut Network, now: Time) -> Time {
        let Some((host, mut speaker)) = self.own.take() else { return Time::NEVER };
        speaker.handle_wakeup(now);
        speaker.transmit(now, |packet| self.enter(network, host, Header::default(), packet));
        let next = speaker.next_wakeup();
        self.own = Some((host, speaker));
        next
    }

    /// Passes on a packet of a host. UDP by multicast or broadcast goes to each host that it leads to, as a separate
    /// packet.
    fn enter(&mut self, network: &mut Network, host: usize, header: Header, packet: &[u8]) {
        let Some(headers) = Headers::of(packet) else {
            self.outside.unreadable += 1;
            return;
        };
        let is_for_all = is_for_all(headers.to, self.hosts[host].v4());
        if is_for_all && headers.protocol != UDP {
            self.outside.not_udp += 1;
            return;
        }
        let mut is_carried = false;
        let leads = |way: &Way| {
            let does = if is_for_all { way.own.is_none() } else { way.leads(headers.from, headers.to) };
            way.host == host && does
        };
        for at in 0..self.ways.len() {
            let (before, way) = (&self.ways[..at], self.ways[at]);
            // Of several flows between two hosts, the first carries it.
            if leads(&way) && !before.iter().any(|other| other.peer == way.peer && leads(other)) {
                self.enter_by(network, way, headers, header, packet);
                is_carried = true;
            }
        }
        self.outside.ignored += u64::from(!is_carried);
    }

    /// Passes on a packet, or each segment of a super-packet, in this direction.
    fn enter_by(&mut self, network: &mut Network, way: Way, headers: Headers, header: Header, packet: &[u8]) {
        self.outside.thinning.on_sent(way.host, packet);
        let mut at = self.now().max(network.now()).max(self.entered + APART + APART);
        let could_be_read = offload::segment(header, packet, |bytes| {
            self.entered = at;
            let (captured, len) = (self.captures.as_mut().map(|captures| captures.copy(&bytes)), bytes.len());
            match network.inject(at, way.port, bytes.len() as u64, headers.header_len, bytes) {
                Ok(()) => {
                    self.outside.entered += 1;
                    if let (Some(captures), Some(bytes)) = (&mut self.captures, captured) {
                        captures.entered(at, way.host, bytes, len);
                    }
                }
                // After the end there is no path.
                Err(Refused::Over) => {}
                Err(_) => self.outside.refused += 1,
            }
            at += APART;
        });
        self.outside.unreadable += u64::from(!could_be_read);
    }

    /// Passes packets that have left the network to their hosts.
    fn write_all(&mut self, network: &mut Network) {
        let mut left: Vec<(Way, Delivered)> = Vec::new();
        for mut packet in network.drain() {
            let Some(at) = self.ways.iter().position(|way| way.port == packet.port) else { continue };
            let (way, path) = (self.ways[at], packet.at.saturating_since(packet.entered));
            self.samples.on_arrival(at, path);
            let shortest = self.outside.shortest_path.get_or_insert(path);
            *shortest = path.min(*shortest);
            if packet.is_marked {
                mark(&mut packet.bytes);
            }
            left.push((way, packet));
        }
        // In the order of their hosts. Each host gets its packets in the order of time.
        left.sort_by_key(|(way, _)| way.host);
        let are_neighbours = |(way, one): &(Way, Delivered), (_, next): &(Way, Delivered)| {
            one.port == next.port
                && one.entered + APART == next.entered
                && self.hosts[way.host].had().1
                && offload::is_before(&one.bytes, &next.bytes)
        };
        for given in left.chunk_by(|(one, _), (next, _)| one.host == next.host) {
            let due = given.iter().map(|(_, packet)| packet.at);
            if let (Some(first), Some(last)) = (due.clone().min(), due.max()) {
                self.outside.bursts.on_write(first, last);
            }
        }
        let runs: Vec<usize> = left.chunk_by(are_neighbours).map(<[_]>::len).collect();
        let mut rest = &left[..];
        for len in runs {
            let (run, others) = rest.split_at(len);
            rest = others;
            let host = run[0].0.host;
            self.give(host, &run.iter().map(|(_, packet)| &packet.bytes[..]).collect::<Vec<_>>());
            let now = self.now();
            for (_, packet) in run {
                self.outside.lateness.record(now.saturating_since(packet.at));
            }
        }
        let (lost, taken) = (network.drain_lost(), network.drain_taken());
        if !taken.is_empty() {
            self.samples.on_proxy();
        }
        // The run no longer waits for them.
        let Some(captures) = &mut self.captures else { return };
        for (way, packet) in left {
            captures.left(way.peer, way.host, packet);
        }
        for packet in taken {
            if let Some(way) = self.ways.iter().find(|way| way.port == packet.port) {
                captures.taken(way.host, &packet);
            }
        }
        for packet in lost {
            if let Some(way) = self.ways.iter().find(|way| way.port == packet.port) {
                captures.lost(way.host, &packet);
            }
        }
    }

    /// Passes a packet, or neighbours of one super-packet, to a host.
    fn give(&mut self, host: usize, packets: &[&[u8]]) {
        let now = self.now();
        packets.iter().for_each(|packet| self.outside.thinning.on_given(packet));
        if let Some((own, speaker)) = &mut self.own {
            if *own == host && packets.iter().all(|packet| Speaker::is_for_us(packet)) {
                return packets.iter().for_each(|packet| speaker.handle(now, packet));
            }
        }
        let device = &self.hosts[host];
        let write = |packets: &[&[u8]], joined: &Joined| {
            let data = packets.iter().map(|packet| &packet[joined.data_at..]);
            let parts: Vec<&[u8]> = std::iter::once(&joined.headers[..]).chain(data).collect();
            device.write(joined.header, &parts).is_ok()
        };
        if packets.len() > 1 && !self.outside.is_apart {
            if let Some(joined) = offload::join(packets) {
                if write(packets, &joined) {
                    return;
                }
                // Some kernels of 2024 reject packets that other kernels accept.
                self.outside.is_apart = true;
            }
        }
        let was_written = |packet: &&[&[u8]]| offload::join(packet).is_some_and(|joined| write(packet, &joined));
        self.outside.not_written += packets.chunks(1).filter(|packet| !was_written(packet)).count() as u64;
    }

    /// Returns the packets that are missing in the captures because the disk was too slow.
    ///
    /// # Errors
    ///
    /// A capture could not be written.
    pub fn finish(&mut self) -> io::Result<u64> {
        self.captures.as_mut().map_or(Ok(0), Captures::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Shares of real-time programs: 95 % by default (sched(7)).
        #[test]
        fn no_turns_take_the_whole_processor(us in 21_u64..1_000_000) {
            let worked = Duration::from_micros(us);
            let rest = rest_after(worked);
            prop_assert!(worked.as_ps() as f64 / (worked.as_ps() + rest.as_ps()) as f64 <= 0.89);
            prop_assert!(rest <= REST.max(worked / 8));
        }
    }

    #[test]
    fn addresses_of_all_hosts_are_those_of_multicast_and_broadcast() {
        let own: IpAddr = "10.77.0.3".parse().unwrap();
        let all = ["224.1.1.1", "239.255.255.250", "255.255.255.255", "10.77.0.255", "ff02::fb"];
        let others = ["10.77.0.1", "10.77.1.255", "192.168.0.255", "fd77::1"];
        let is_for_all = |text: &&str| is_for_all(text.parse().unwrap(), own);
        assert!(all.iter().all(is_for_all) && !others.iter().any(is_for_all));
    }

    #[test]
    fn short_turns_are_followed_by_no_rest() {
        assert_eq!(
            [0, 20, 21, 50, 51, 400, 800].map(|us| rest_after(Duration::from_micros(us)).as_ps() / 1_000_000),
            [0, 0, 21, 50, 50, 50, 100]
        );
    }
}
