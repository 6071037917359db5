//! The worked cases of `docs/specs/search.md`.

use super::*;
use crate::testbench;

const SMSS: u64 = 1000;
const NS: Duration = Duration::from_ps(1000);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A search that is fed with sums.
struct Fed {
    search: Search,
    path: PathState,
}

impl Fed {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let path = PathState { smss: SMSS, ..testbench::path(10 * SMSS) };
        Self { search: Search::new(config, 10 * SMSS), path }
    }

    /// An ACK at this time, with the sums of acknowledged and of sent bytes.
    fn ack(&mut self, at: Duration, acked: u64, sent: u64, rtt: Duration) -> Option<Exit> {
        (self.path.now, self.path.snd_una, self.path.snd_nxt) = (Time::ZERO + at, acked, sent);
        self.search.watch(
            &AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() },
            &self.path,
        )
    }

    fn newest(&self) -> u64 {
        self.search.bins.newest
    }
}

/// The first sample decides the bins. The first comparison needs a window and a round trip of them.
#[test]
fn bins_follow_from_the_first_round_trip() {
    for (rtt, bin, first) in [(ms(600), ms(210), ms(2730)), (ms(40), ms(14), ms(182))] {
        let mut fed = Fed::new(|_| {});
        fed.ack(Duration::ZERO, 0, 10_000, rtt);
        assert_eq!(fed.search.bins.each, bin);
        // Nothing arrives, and data are sent: that ends slow start when it is seen.
        let at = (1..40).map(|n| bin * n + NS).find(|&at| {
            let sent = 10_000 + at.as_ps() / bin.as_ps() * 10_000;
            fed.ack(at, 0, sent, rtt).is_some()
        });
        assert_eq!(at, Some(first + NS));
    }
}

/// Three shares of the sent bytes arrive: all, just more than 74 %, and 74 %.
#[test]
fn a_missing_share_at_the_threshold_ends_slow_start() {
    let end = |per_bin: u64, last: u64| {
        let mut fed = Fed::new(|_| {});
        let (rtt, bin) = (ms(600), ms(210));
        fed.ack(Duration::ZERO, 0, 0, rtt);
        let at = |n: u64| bin * n + NS;
        for n in 1..=12 {
            assert_eq!(fed.ack(at(n), per_bin * n, 100_000 * n, rtt), None);
        }
        // D counts from bin 3 to bin 13.
        fed.ack(at(13), 3 * per_bin + last, 1_300_000, rtt)
    };
    assert_eq!(end(100_000, 1_000_000), None);
    assert_eq!(end(74_000, 740_001), None);
    // Three bins are 222 kB.
    assert_eq!(end(74_000, 740_000), Some(Exit::Drain(222_000)));
}

/// The sums double in each round trip. The bin before is nearly right, the bin after is wrong on any path.
#[test]
fn the_bin_after_takes_doubling_for_a_full_path() {
    let end = |interpolation: SearchInterpolation| {
        let mut fed = Fed::new(|config| config.interpolation = interpolation);
        let (rtt, bin) = (ms(600), ms(210));
        let sum = |time: f64| (1e6 * libm::exp2(time / 0.6)) as u64;
        fed.ack(Duration::ZERO, sum(0.0), sum(0.6), rtt);
        (1..30).find(|&n| {
            let at = bin * n + NS;
            let seconds = at.as_secs_f64();
            fed.ack(at, sum(seconds), sum(seconds + 0.6), rtt).is_some()
        })
    };
    assert_eq!(end(SearchInterpolation::Backward), None);
    assert_eq!(end(SearchInterpolation::Forward), Some(13));
}

/// An ACK at the end of a bin does not end it. Bins without ACKs have the sums of the bin before. More than a window of
/// them forget all.
#[test]
fn missed_bins_have_the_sums_before_until_a_window_is_missed() {
    let begun = || {
        let mut fed = Fed::new(|_| {});
        fed.ack(Duration::ZERO, 5, 9, ms(600));
        fed
    };
    let mut fed = begun();
    fed.ack(ms(210), 7, 11, ms(600));
    assert_eq!(fed.newest(), 0);
    fed.ack(ms(210) + NS, 7, 11, ms(600));
    assert_eq!(fed.newest(), 1);
    let mut fed = begun();
    fed.ack(ms(420) + NS, 7, 11, ms(600));
    assert_eq!((fed.newest(), &fed.search.bins.acked[..3]), (2, &[5, 5, 7][..]));
    let mut fed = begun();
    fed.ack(ms(2100) + NS, 7, 11, ms(600));
    assert!(fed.search.is_begun);
    let mut fed = begun();
    fed.ack(ms(2310) + NS, 7, 11, ms(600));
    assert!(!fed.search.is_begun);
    fed.ack(ms(2320), 7, 11, ms(500));
    assert_eq!(fed.search.bins.each, ms(175));
}

/// A round trip of 15 bins is not evaluated, as nothing is known of that time.
#[test]
fn a_round_trip_that_has_grown_too_far_is_not_evaluated() {
    let end = |rtt: u64| {
        let mut fed = Fed::new(|_| {});
        fed.ack(Duration::ZERO, 0, 0, ms(600));
        (1..60).any(|n| fed.ack(ms(210) * n + NS, 0, 10_000 * n, ms(rtt)).is_some())
    };
    assert!(end(3100));
    assert!(!end(3200));
}

/// 15 of 16 acknowledged segments are not replaced until the window is that of the path: (3000 - 1050) 16 / 15 segments.
/// The last of them needs no ACK.
#[test]
fn the_window_falls_by_fifteen_of_sixteen_segments() {
    let mut fed = Fed::new(|_| {});
    fed.search.drain = Some(Drain { target: 1050 * SMSS, credit: 0 });
    let ack = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: Some(ms(600)), ..AckSample::default() };
    fed.path.flight_size = 3000 * SMSS;
    let acked = (1..).find(|_| {
        fed.path.flight_size -= SMSS;
        let (cwnd, is_last) = fed.search.drain(&ack, &fed.path).unwrap();
        fed.path.flight_size = cwnd.max(fed.path.flight_size);
        is_last
    });
    assert_eq!((acked, fed.path.flight_size / SMSS), (Some(2079), 1050));
}
