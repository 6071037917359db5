//! The worked cases of `docs/specs/search.md`, rapid start.

use super::*;
use crate::keys::{Growth, SlowStart};
use crate::{testbench, Init, Window};

const SMSS: u64 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Thousandths after a sample of `least` ms, and one of `rtt` ms as long after it as `after` ms.
fn growth(config: RapidStart, least: u64, rtt: u64, after: u64) -> u64 {
    let mut rapid = Rapid::new(config);
    for (at, rtt) in [(0, least), (after, rtt)] {
        let ack = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: Some(ms(rtt)), ..AckSample::default() };
        rapid.watch(&ack, &PathState { now: Time::ZERO + ms(1000 + at), ..testbench::path(10 * SMSS) });
    }
    rapid.thousandths()
}

/// The larger bound is a tenth over GEO and 4 ms on a short path. Up to it the window triples.
#[test]
fn the_window_triples_while_acks_are_not_late() {
    let larger = RapidStart::default();
    let smaller = RapidStart { bound: RapidBound::Smaller, ..larger };
    for (config, least, bound) in [(larger, 600, 660), (smaller, 600, 604), (larger, 20, 24), (smaller, 20, 22)] {
        assert_eq!(
            [bound, bound + 1].map(|rtt| growth(config, least, rtt, least + 1)),
            [2000, 1000],
            "{least} {bound}"
        );
    }
    assert_eq!(growth(RapidStart { growth: 2.5, ..larger }, 600, 600, 601), 1500);
    assert_eq!([3, 4].map(|least| growth(larger, least, least, 1)), [1000, 2000], "shorter paths never");
}

/// The least sample counts: an early ACK outweighs later ones until its quarter of a round trip is the fifth.
#[test]
fn an_early_ack_counts_for_a_round_trip() {
    // The first sample is 50 ms before the end of its quarter.
    let late = [1, 300, 499, 500, 900].map(|after| growth(RapidStart::default(), 600, 900, after));
    assert_eq!(late, [2000, 2000, 2000, 1000, 1000]);
}

/// A round trip of ACKs without delay triples the window, and late ACKs double it. Bytes count, in ACKs of any size.
#[test]
fn a_round_trip_of_early_acks_triples_the_window() {
    for (late_ms, factor) in [(0, 3), (200, 2)] {
        for segments in [1, 2, 5] {
            let growth = Growth { slow_start: SlowStart::Rapid(RapidStart::default()), ..Growth::default() };
            let init = Init { smss: SMSS, cwnd: 10 * SMSS, growth, ..Init::default() };
            let mut window = Window::new(init);
            let mut path = PathState { smss: SMSS, ..testbench::path(10 * SMSS) };
            let ack = |rtt| AckSample {
                newly_acked: segments * SMSS,
                is_cwnd_limited: true,
                rtt: Some(rtt),
                ..AckSample::default()
            };
            // Nothing counts yet: the window is not used.
            window.grow(&AckSample { is_cwnd_limited: false, ..ack(ms(600)) }, &path);
            path.now += ms(1200);
            (0..10 / segments).for_each(|_| window.grow(&ack(ms(600 + late_ms)), &path));
            assert_eq!(window.cwnd(), factor * 10 * SMSS, "{late_ms} {segments}");
        }
    }
}

/// The part of an ACK beyond the threshold counts in congestion avoidance.
#[test]
fn growth_ends_at_the_threshold() {
    let growth = Growth { slow_start: SlowStart::Rapid(RapidStart::default()), ..Growth::default() };
    let mut window = Window::new(Init { smss: SMSS, cwnd: 10 * SMSS, ssthresh: 14 * SMSS, growth, ..Init::default() });
    let ack = AckSample { newly_acked: 5 * SMSS, is_cwnd_limited: true, rtt: Some(ms(600)), ..AckSample::default() };
    assert_eq!(window.slow_start(&ack, &testbench::path(10 * SMSS)), 3 * SMSS);
    assert_eq!(window.cwnd(), 14 * SMSS);
}

/// 29/36 and 11/36 with a half, 53/60 and 11/60 with CUBIC's share. 3000 segments, of which a third arrives: 700 are
/// left. That is `beta` of the 1000 that arrived, for any share of losses.
#[test]
fn the_window_converges_on_the_share_of_what_arrived() {
    let config = RapidStart { k: 11.0 / 18.0, ..RapidStart::default() };
    for (beta, silence, per_acked) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
        for (acked, lost) in [(1000, 2000), (1500, 1500), (2000, 1000), (2990, 10)] {
            let before = (acked + lost) * SMSS;
            let after = (before as f64 * beta) as u64;
            let mut part = Convergence::new(config, [before, after], [before; 2], 2 * SMSS);
            assert!((part.window / before as f64 - silence).abs() < 1e-6);
            assert!((part.per_acked - per_acked).abs() < 1e-6 && (part.per_lost - silence).abs() < 1e-6);
            for round in 0..10 {
                assert!(!part.is_over(), "{round}");
                part.pass(acked * SMSS / 10, lost * SMSS / 10);
            }
            assert!(part.is_over());
            assert!((part.window - beta * (acked * SMSS) as f64).abs() < 5.0, "{beta} {lost}: {}", part.window);
        }
    }
}

/// More losses than tripling can cause have another reason: the window stays at a third of `beta`. Data sent later do not
/// count.
#[test]
fn the_window_has_a_least_value_and_counts_each_packet_once() {
    let of = |left| Convergence::new(RapidStart::default(), [3_000_000, 2_100_000], [3_000_000, left], 2 * SMSS);
    let mut part = of(3_000_000);
    part.pass(0, 3_000_000);
    assert_eq!(part.window(), 700_000);
    let mut part = of(10 * SMSS);
    part.pass(0, 10 * SMSS);
    let left = part.window();
    part.pass(500 * SMSS, 500 * SMSS);
    assert_eq!((part.window(), part.is_over()), (left, true));
    let mut part = Convergence::new(RapidStart::default(), [3 * SMSS, 1500], [3 * SMSS; 2], 2 * SMSS);
    part.pass(3 * SMSS, 0);
    assert_eq!(part.window(), 2 * SMSS, "the least window");
}

/// A receive window held 2,000 of 3,000 segments back: sending pauses as after a window of 1,000.
#[test]
fn the_window_begins_at_what_was_in_the_network() {
    let of = |before: u64| {
        let after = before * SMSS * 7 / 10;
        Convergence::new(RapidStart::default(), [before * SMSS, after], [1000 * SMSS; 2], 2 * SMSS).window()
    };
    assert_eq!(of(3000), of(1000));
    assert!(of(1000) < 1000 * SMSS);
}
