//! Accuracy of a run in real time: lateness of packets, and losses outside the scenario.

use crate::codec::acknowledgement;
use bentpipe_units::{Duration, Time};

/// Buckets of an octave: the relative error of a value is at most 1/16.
const SUB: u32 = 16;
/// Octaves of nanoseconds: up to 18 minutes.
const OCTAVES: u32 = 40;

/// Lateness of packets: counts by size, so that a long run needs no more room than a short one.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; (SUB * OCTAVES) as usize], count: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Lateness {
    /// Notes that a packet left this long after it was due.
    pub fn record(&mut self, late: Duration) {
        let ns = late.as_ps() / 1000;
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean in seconds; 0 without packets.
    pub fn mean_s(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64 * 1e-9
    }

    /// Returns the largest value in seconds.
    pub fn max_s(&self) -> f64 {
        self.max_ns as f64 * 1e-9
    }

    /// Returns the lateness that the share `share` of the packets did not exceed, in seconds, rounded up by at most
    /// 1/16.
    pub fn quantile_s(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.map_or(0.0, |at| (end(at) as f64 * 1e-9).min(self.max_s()))
    }

    /// Returns the number of packets that were later than `limit`, without those of its bucket.
    pub fn beyond(&self, limit: Duration) -> u64 {
        self.counts[bucket(limit.as_ps() / 1000) + 1..].iter().sum()
    }
}

/// Values below `SUB` have a bucket each, then each octave has `SUB`.
fn bucket(ns: u64) -> usize {
    let octave = ns.max(u64::from(SUB)).ilog2() - SUB.ilog2();
    let sub = ns >> octave;
    ((u64::from(octave * SUB) + sub) as usize).min((SUB * OCTAVES) as usize - 1)
}

/// Returns the largest value of a bucket.
fn end(at: usize) -> u64 {
    let at = at as u64;
    let octave = (at / u64::from(SUB)).saturating_sub(1);
    ((at - octave * u64::from(SUB) + 1) << octave) - 1
}

/// Number of connections whose last ACK is stored. Others that share a place count as the same.
const REMEMBERED: usize = 1021;

/// Segments with data that hosts receive per ACK that they send. Segments passed to a host together are acknowledged
/// together.
#[derive(Clone, Debug)]
pub struct Thinning {
    data: u64,
    acks: u64,
    /// Last acknowledgement of each connection while it sent data.
    last: Vec<u32>,
}

impl Default for Thinning {
    fn default() -> Self {
        Self { data: 0, acks: 0, last: vec![0; REMEMBERED] }
    }
}

impl Thinning {
    /// Notes a sent segment. A segment without data is an ACK. A segment with data is an ACK if it acknowledges more
    /// than the last one.
    pub fn on_sent(&mut self, host: usize, packet: &[u8]) {
        let Some(said) = acknowledgement(packet) else { return };
        let (from, to) = said.ports;
        let last = &mut self.last[(usize::from(from) << 16 | usize::from(to)).wrapping_add(host << 7) % REMEMBERED];
        if said.data == 0 || *last != said.ack {
            self.acks += 1;
        }
        *last = said.ack;
    }

    /// Notes a received segment.
    pub fn on_given(&mut self, packet: &[u8]) {
        self.data += u64::from(acknowledgement(packet).is_some_and(|said| said.data > 0));
    }

    /// Returns the segments with data per ACK, or none without ACKs.
    pub fn data_per_ack(&self) -> Option<f64> {
        (self.acks > 0).then(|| self.data as f64 / self.acks as f64)
    }
}

/// Path time of one batch above which it is a burst that the path did not make.
const BURST: Duration = Duration::from_millis(1);

/// Batches: packets due one after another that a host received together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bursts {
    /// Number of deliveries to hosts.
    pub writes: u64,
    /// Batches among them whose last packet was due more than 1 ms after the first.
    pub late: u64,
}

impl Bursts {
    /// Notes a delivery of packets that were due from one instant to another.
    pub fn on_write(&mut self, first: Time, last: Time) {
        self.writes += 1;
        self.late += u64::from(last.saturating_since(first) > BURST);
    }
}

/// Limits of the kernel's connections by hosts and path, all endpoints together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Time with unacknowledged data of senders, microseconds.
    pub busy_us: u64,
    /// Part of it in which the receiver's window limited them.
    pub rwnd_limited_us: u64,
    /// Part of it in which the send buffer limited them.
    pub sndbuf_limited_us: u64,
    /// Shortest round trip of the connection that was closest to its path. None without a connection.
    pub round_trip: Option<RoundTrip>,
}

/// Shortest round trip of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Round trip measured by the kernel.
    pub measured: Duration,
    /// Smallest round trip of packets on the path during the connection.
    pub path: Duration,
}

impl RoundTrip {
    /// Returns the time that hosts and emulator add.
    pub fn excess(&self) -> Duration {
        self.measured.saturating_sub(self.path)
    }
}

/// Returns the median, or the later of the two in the middle. None without values.
pub(crate) fn median(values: &mut [Duration]) -> Option<Duration> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Events outside the scenario.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Lateness of packets.
    pub lateness: Lateness,
    /// Packets that entered the path.
    pub entered: u64,
    /// Packets that are for no host, such as IPv6's router solicitations.
    pub ignored: u64,
    /// Packets to all hosts that are not UDP, such as reports of multicast groups.
    pub not_udp: u64,
    /// Packets that are not IP, or super-packets of an unknown kind.
    pub unreadable: u64,
    /// Packets that the scenario rejects: larger than a queue on their path.
    pub refused: u64,
    /// Packets that a host's device rejected.
    pub not_written: u64,
    /// Packets that a host's device could not hand over.
    pub not_read: u64,
    /// Whether the kernel rejected a super-packet. From then on, each packet is passed separately.
    pub is_apart: bool,
    /// Segments with data per ACK.
    pub thinning: Thinning,
    /// Late packets that left together.
    pub bursts: Bursts,
    /// Answer time of the slowest host before the scenario began.
    pub turnaround: Option<Duration>,
    /// Longest time between two checks of the devices, without waiting for them.
    pub longest_turn: Duration,
    /// Shortest time of a packet from end to end.
    pub shortest_path: Option<Duration>,
}

impl Outside {
    /// Returns the smallest lateness that counts: 1 ms, or a fiftieth of the shortest path if that is more.
    pub fn limit(&self) -> Duration {
        let share = self.shortest_path.map_or(Duration::ZERO, |path| Duration::from_ps(path.as_ps() / 50));
        share.max(Duration::from_millis(1))
    }

    /// Notes a time without checks of the devices.
    pub fn on_turn(&mut self, turn: Duration) {
        self.longest_turn = self.longest_turn.max(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Lateness {
        let mut lateness = Lateness::default();
        values.iter().for_each(|&ns| lateness.record(Duration::from_ps(ns * 1000)));
        lateness
    }

    proptest! {
        /// Compares with sorting.
        #[test]
        fn a_quantile_is_that_of_the_sorted_values(
            mut values in proptest::collection::vec(0_u64..1 << 34, 1..300),
            share in 0.01_f64..1.0
        ) {
            let lateness = of(&values);
            values.sort_unstable();
            let exact = values[(share * values.len() as f64).ceil() as usize - 1] as f64 * 1e-9;
            let found = lateness.quantile_s(share);
            prop_assert!(exact <= found && found <= exact * (1.0 + 1.0 / 16.0) + 1e-12, "{exact} {found}");
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64 * 1e-9;
            prop_assert!((lateness.mean_s() - mean).abs() < 1e-9);
            prop_assert_eq!(lateness.max_s(), *values.last().unwrap() as f64 * 1e-9);
        }
    }

    #[test]
    fn acks_are_counted_that_acknowledge_something() {
        let addresses = [std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv4Addr::BROADCAST.into()];
        let segment = |ack: u32, data: &[u8]| {
            let segment = bentpipe_tcp::Segment {
                ack: bentpipe_units::Seq::new(ack),
                flags: bentpipe_tcp::Flags::ACK,
                len: data.len() as u16,
                ..bentpipe_tcp::Segment::default()
            };
            let [from, to] = addresses.map(|address| std::net::SocketAddr::new(address, 80));
            crate::wire::emit(from, to, &segment, data).unwrap()
        };
        let mut thinning = Thinning::default();
        assert_eq!(thinning.data_per_ack(), None);
        (0..6).for_each(|_| thinning.on_given(&segment(5, b"data")));
        thinning.on_given(&segment(5, b""));
        thinning.on_sent(0, &segment(9, b""));
        // Duplicate ACKs count, too. Data that acknowledges nothing new does not.
        thinning.on_sent(0, &segment(9, b""));
        thinning.on_sent(0, &segment(9, b"data"));
        thinning.on_sent(0, &segment(10, b"data"));
        assert_eq!(thinning.data_per_ack(), Some(2.0));
    }

    #[test]
    fn a_burst_is_what_was_due_over_more_than_a_millisecond_and_left_at_once() {
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let mut bursts = Bursts::default();
        for (first, last) in [(5000, 5000), (5000, 5600), (7000, 8000), (9000, 10_001), (20_000, 31_000)] {
            bursts.on_write(at(first), at(last));
        }
        assert_eq!((bursts.writes, bursts.late), (5, 2));
    }

    #[test]
    fn the_median_is_not_moved_by_one_slow_answer() {
        let of = |us: &[u64]| median(&mut us.iter().map(|&us| Duration::from_micros(us)).collect::<Vec<_>>());
        assert_eq!(of(&[30, 9000, 20, 25, 40]), Some(Duration::from_micros(30)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn late_is_what_exceeds_the_limit_clearly() {
        let lateness = of(&[0, 900_000, 999_999, 1_000_000, 1_100_000, 50_000_000]);
        assert_eq!(lateness.beyond(Duration::from_millis(1)), 2);
        assert_eq!(of(&[u64::MAX / 2000]).beyond(Duration::from_millis(1)), 1);
        let path = |ms| Outside { shortest_path: Some(Duration::from_millis(ms)), ..Outside::default() };
        assert_eq!(path(30).limit(), Duration::from_millis(1));
        assert_eq!(path(300).limit(), Duration::from_millis(6));
    }
}
