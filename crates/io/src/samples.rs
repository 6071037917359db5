//! Samples the connections of hosts during a run, as the kernel reports them.

use crate::mptcp::MultiConnection;
use crate::netlink::{Connection, Sampler};
use crate::speaker::{Report, Speaker};
use crate::trust::{Endpoints, RoundTrip};
use bentpipe_sim::PortId;
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Time between two samples of the connections.
const SAMPLED_EVERY: Duration = Duration::from_millis(20);
/// Largest number of samples: as much memory as the series of a run. Tests fill less.
const SAMPLES_MAX: usize = if cfg!(test) { 1000 } else { 1_000_000 };

/// Direction through the network: packets from `host` `to` one of these addresses enter at `port`.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Index of the host with the port.
    pub host: usize,
    /// Index of the host at the far end.
    pub peer: usize,
    /// Addresses of the host at the far end.
    pub to: [IpAddr; 2],
    /// Address of this end on a further path of a connection: packets from it take this way, too. Such ways come before
    /// those of the first path.
    pub own: Option<IpAddr>,
    /// Port where packets enter the network. Packets that leave here go to the host.
    pub port: PortId,
}

impl Way {
    /// Whether packets between these addresses of both hosts take it.
    pub(crate) fn leads(&self, from: IpAddr, to: IpAddr) -> bool {
        self.to.contains(&to) || self.own == Some(from)
    }
}

/// Connection of a host at an instant.
#[derive(Clone, Debug)]
pub struct Sample<T = Connection> {
    /// Instant.
    pub at: Time,
    /// Index of the host.
    pub host: usize,
    /// Index of the host at the far end.
    pub peer: usize,
    /// Port where its packets enter the network.
    pub port: PortId,
    /// Report of the kernel.
    pub connection: T,
}

/// Connections of all hosts over time.
#[derive(Default)]
pub(crate) struct Samples {
    samplers: Vec<Sampler>,
    next: Time,
    kept: Vec<Sample>,
    multipath: Vec<Sample<MultiConnection>>,
    /// Last sample of each end of a connection: its place in `kept`, and the connection at its last report.
    latest: BTreeMap<(usize, SocketAddr, SocketAddr), (usize, Connection)>,
    /// Shortest time of a packet in each direction since the last sample.
    arrivals: Vec<Option<Duration>>,
    /// Smallest round trips of each connection since its start, in both directions. Its ends, in order, are its name.
    paths: BTreeMap<[SocketAddr; 2], [Option<Duration>; 2]>,
    /// Whether a proxy on the path answers, so that a round trip is not that of the path.
    is_split: bool,
}

impl Samples {
    pub(crate) fn new(samplers: Vec<Sampler>, ways: usize) -> Self {
        Self { samplers, arrivals: vec![None; ways], ..Self::default() }
    }

    /// Returns all samples, in order of time.
    pub(crate) fn kept(&self) -> &[Sample] {
        &self.kept
    }

    /// Returns the connections over several paths, in order of time.
    pub(crate) fn multipath(&self) -> &[Sample<MultiConnection>] {
        &self.multipath
    }

    /// Returns the instant of the last sample, if there was no room for more.
    pub(crate) fn end(&self) -> Option<Time> {
        self.kept.last().filter(|_| self.next == Time::NEVER).map(|last| last.at)
    }

    /// Returns the time of the next sample.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Notes that a packet left the network at the port of `ways[way]` after this time.
    pub(crate) fn on_arrival(&mut self, way: usize, path: Duration) {
        let shortest = self.arrivals[way].get_or_insert(path);
        *shortest = path.min(*shortest);
    }

    /// Notes that a packet ended at a proxy.
    pub(crate) fn on_proxy(&mut self) {
        self.is_split = true;
    }

    /// Samples all hosts, if a sample is due. Unchanged values are not stored again.
    pub(crate) fn take(&mut self, now: Time, ways: &[Way], own: Option<&(usize, Speaker)>) {
        if now < self.next {
            return;
        }
        if self.kept.len() >= SAMPLES_MAX {
            // A wakeup then would repeat without effect.
            self.next = Time::NEVER;
            return;
        }
        self.next = now + SAMPLED_EVERY;
        let mut samplers = std::mem::take(&mut self.samplers);
        for (host, sampler) in samplers.iter_mut().enumerate() {
            // If the kernel stops reporting, the run has no more samples.
            let _ = sampler.sample(|connection| self.see(now, host, connection, ways));
            if ways.iter().any(|way| way.own.is_some()) {
                let _ = sampler.sample_multipath(|ends, info| {
                    if let Some(connection) = MultiConnection::read(ends, info) {
                        self.see_multipath(now, host, connection, ways);
                    }
                });
            }
        }
        self.samplers = samplers;
        if let Some((host, speaker)) = own {
            speaker.live().for_each(|report| self.see(now, *host, connection(&report), ways));
        }
        self.arrivals.fill(None);
    }

    fn see(&mut self, now: Time, host: usize, connection: Connection, ways: &[Way]) {
        let mut ends = [connection.local, connection.remote];
        let Some(at) = find(ways, host, ends) else { return };
        // Both directions of a flow are neighbours.
        let mut newly = [at ^ 1, at].map(|way| self.arrivals.get(way).copied().flatten());
        if ends[0] > ends[1] {
            ends.reverse();
            newly.reverse();
        }
        let paths = self.paths.entry(ends).or_default();
        for (path, newly) in paths.iter_mut().zip(newly) {
            *path = path.iter().copied().chain(newly).min();
        }
        let name = (host, connection.local, connection.remote);
        if let Some((at, latest)) = self.latest.get_mut(&name) {
            // Its busy time grows while all other values are constant.
            let is_same = Connection { busy_us: connection.busy_us, ..self.kept[*at].connection.clone() } == connection;
            if is_same {
                *latest = connection;
                return;
            }
        }
        self.latest.insert(name, (self.kept.len(), connection.clone()));
        let Way { peer, port, .. } = ways[at];
        self.kept.push(Sample { at: now, host, peer, port, connection });
    }

    fn see_multipath(&mut self, now: Time, host: usize, connection: MultiConnection, ways: &[Way]) {
        let ends = [connection.local, connection.remote];
        let Some(Way { peer, port, .. }) = find(ways, host, ends).map(|at| ways[at]) else { return };
        let mut earlier = self.multipath.iter().rev();
        let latest = earlier.find(|each| each.host == host && [each.connection.local, each.connection.remote] == ends);
        if latest.is_none_or(|latest| latest.connection != connection) {
            self.multipath.push(Sample { at: now, host, peer, port, connection });
        }
    }

    /// Returns the limits of the kernel's senders, and the round trips of the connection that was closest to its path.
    pub(crate) fn endpoints(&self) -> Endpoints {
        let mut found = Endpoints::default();
        for (_, connection) in self.latest.values() {
            found.busy_us += connection.busy_us;
            found.rwnd_limited_us += connection.rwnd_limited_us;
            found.sndbuf_limited_us += connection.sndbuf_limited_us;
        }
        if !self.is_split {
            found.round_trip =
                self.latest.values().filter_map(|(_, each)| self.round_trip(each)).min_by_key(|each| each.excess());
        }
        found
    }

    fn round_trip(&self, connection: &Connection) -> Option<RoundTrip> {
        let mut ends = [connection.local, connection.remote];
        ends.sort_unstable();
        let [there, back] = *self.paths.get(&ends)?;
        let measured = Duration::from_micros(connection.min_rtt_us?.into());
        Some(RoundTrip { measured, path: there? + back? })
    }
}

/// Returns the place of the way of a host's connection between these ends.
fn find(ways: &[Way], host: usize, [local, remote]: [SocketAddr; 2]) -> Option<usize> {
    ways.iter().position(|way| way.host == host && way.leads(local.ip(), remote.ip()))
}

/// Returns the state of a connection of bentpipe, in the form of the kernel's.
fn connection(report: &Report) -> Connection {
    Connection {
        local: report.local,
        remote: report.remote,
        cc: format!("{} (bentpipe)", report.cc),
        cwnd_bytes: report.cwnd_bytes,
        ssthresh_bytes: report.ssthresh_bytes,
        srtt_us: report.srtt.map_or(0, |srtt| (srtt.as_ps() / 1_000_000) as u32),
        flight_size_bytes: report.flight_size_bytes,
        pacing: report.pacing.map(|rate| rate.as_bps() / 8),
        acked_bytes: report.acked_bytes,
        retransmissions: report.counters.retransmitted_segments as u32,
        sent_bytes: Some(report.counters.sent_bytes),
        retransmitted_bytes: Some(report.counters.retransmitted_bytes),
        // These round trips and limits are not those of the kernel.
        min_rtt_us: None,
        busy_us: 0,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_sim::scenario::from_toml;
    use bentpipe_sim::Network;
    use std::net::Ipv4Addr;

    const PATH: &str = r#"
        duration = "1 s"
        [link.path]
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "1 ms"
        [flow.real]
        from = "a"
        to = "b"
        app = "port"
    "#;

    fn ways() -> [Way; 2] {
        let scenario = from_toml(PATH, "test.toml", &[]).unwrap().scenario;
        let ports = Network::build(&scenario, 1).ports("real").unwrap();
        let address = |host: u8| IpAddr::V4(Ipv4Addr::new(10, 77, 0, host + 1));
        let way = |host: u8, peer: u8| Way {
            host: host.into(),
            peer: peer.into(),
            to: [address(peer); 2],
            own: None,
            port: ports[usize::from(host)],
        };
        [way(0, 1), way(1, 0)]
    }

    fn of(ends: [(u8, u16); 2], min_rtt_us: Option<u32>, busy_us: u64) -> Connection {
        let [local, remote] = ends.map(|(host, port)| SocketAddr::new(Ipv4Addr::new(10, 77, 0, host + 1).into(), port));
        Connection {
            local,
            remote,
            cc: "reno".into(),
            cwnd_bytes: 14_480,
            ssthresh_bytes: None,
            srtt_us: 52_000,
            flight_size_bytes: 0,
            pacing: None,
            acked_bytes: 1,
            retransmissions: 0,
            sent_bytes: None,
            retransmitted_bytes: None,
            min_rtt_us,
            busy_us,
            rwnd_limited_us: busy_us / 4,
            sndbuf_limited_us: busy_us / 10,
        }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_limits_senders_is_that_of_all_ends_when_they_were_seen_last() {
        let (ways, mut samples) = (ways(), Samples::new(Vec::new(), 2));
        for (at, busy) in [(0, 1000), (20, 1000), (40, 2000)] {
            samples.see(Time::ZERO + ms(at), 0, of([(0, 80), (1, 9)], None, busy), &ways);
        }
        samples.see(Time::ZERO, 1, of([(1, 9), (0, 80)], None, 400), &ways);
        // Not a connection of a host.
        samples.see(Time::ZERO, 1, of([(1, 9), (7, 80)], None, 9000), &ways);
        let found = samples.endpoints();
        assert_eq!((found.busy_us, found.rwnd_limited_us, found.sndbuf_limited_us), (2400, 600, 240));
        assert_eq!(samples.kept().len(), 3, "what was as before is not kept again");
        let mut busier = of([(0, 80), (1, 9)], None, 2000);
        busier.busy_us = 2100;
        samples.see(Time::ZERO + ms(60), 0, busier, &ways);
        assert_eq!((samples.kept().len(), samples.endpoints().busy_us), (3, 2500));
    }

    #[test]
    fn samples_that_are_full_wake_nobody_and_say_where_they_end() {
        let (ways, mut samples) = (ways(), Samples::new(Vec::new(), 2));
        for number in 0..SAMPLES_MAX as u64 {
            assert_eq!(samples.end(), None);
            let connection = Connection { acked_bytes: number, ..of([(0, 80), (1, 9)], None, 0) };
            samples.see(Time::ZERO + ms(20 * number), 0, connection, &ways);
        }
        let end = samples.kept().last().unwrap().at;
        samples.take(end + ms(20), &ways, None);
        assert_eq!((samples.next(), samples.end()), (Time::NEVER, Some(end)));
    }

    #[test]
    fn a_round_trip_is_beside_the_shortest_ways_of_its_own_time() {
        let (ways, mut samples) = (ways(), Samples::new(Vec::new(), 2));
        let open = [(0, 80), (1, 9)];
        // The opener is seen first, and its packets arrive at host 1.
        samples.on_arrival(1, ms(30));
        samples.on_arrival(1, ms(25));
        samples.see(Time::ZERO, 0, of(open, None, 0), &ways);
        samples.take(Time::ZERO, &ways, None);
        assert_eq!(samples.endpoints().round_trip, None);
        samples.on_arrival(0, ms(26));
        samples.see(Time::ZERO + ms(60), 0, of(open, Some(51_300), 0), &ways);
        samples.see(Time::ZERO + ms(60), 1, of([open[1], open[0]], Some(53_000), 0), &ways);
        samples.take(Time::ZERO + ms(60), &ways, None);
        // Later the path is shorter; this connection is closed.
        samples.on_arrival(0, ms(1));
        samples.take(Time::ZERO + ms(80), &ways, None);
        let found = samples.endpoints().round_trip.unwrap();
        assert_eq!((found.measured, found.path), (Duration::from_micros(51_300), ms(51)));
        samples.on_proxy();
        assert_eq!(samples.endpoints().round_trip, None);
    }
}
