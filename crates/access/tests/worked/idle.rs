//! The wait of an idle terminal's packet, by way of access. A wait ends with the last burst of the packet.

use crate::lab::*;
use bentpipe_access::{Access, MfTdma, RandomAccess, RandomUse, SlottedMedium};
use bentpipe_units::{Duration, Time};

/// One superframe, ms.
const T: f64 = 26.5;

/// Waits of the packets of `count` terminals.
fn waits_of(
    medium: &MfTdma,
    access: Access,
    count: usize,
    bytes: u32,
    packets: f64,
    apart: (f64, f64),
) -> (Lab, Waits) {
    let mut lab = Lab::new(SlottedMedium::mf_tdma(medium, &terminals(count, access), 1), count, ES_N0);
    let mut times: Vec<_> = (0..count).map(|n| (Exponential::new(1, &format!("idle{n}")), 0.0)).collect();
    lab.run(seconds(packets * (apart.0 + apart.1)), |n| {
        let (draws, at) = &mut times[n];
        *at += apart.0 + apart.1 * draws.draw();
        Some((seconds(*at), bytes))
    });
    let waits = Waits::of(lab.left.iter().map(|left| left.wait));
    (lab, waits)
}

/// Waits of one terminal's packets, 5 s + Exp(5 s) apart.
fn waits(medium: &MfTdma, access: Access, bytes: u32) -> Waits {
    waits_of(medium, access, 1, bytes, 2000.0, (5.0, 5.0)).1
}

fn with_random(copies: u32) -> MfTdma {
    MfTdma { control_interval: None, random: Some(RandomAccess { copies, ..RandomAccess::default() }), ..medium() }
}

fn control(interval: Duration) -> MfTdma {
    MfTdma { control_interval: Some(interval), ..medium() }
}

/// Asserts that a mean is within 3 % or 2 ms of the expected one: the largest rounding of its parts.
fn assert_mean(name: &str, waits: &Waits, expected: f64) {
    let off = (waits.mean() - expected).abs();
    assert!(off <= (expected * 0.03).max(2.0), "{name}: {} for {expected}", waits.mean());
}

#[test]
fn an_idle_terminal_waits_as_its_way_of_access_says() {
    let four = Duration::from_micros(26_500) * 4;
    let second = Duration::from_secs(1);
    let [none, requests] = [RandomUse::None, RandomUse::Requests];
    let data = Access { random: RandomUse::Data, ..Access::default() };
    // Mean of 40 B, its quantiles of 5 % and 95 %, mean of 400 B.
    for (name, medium, access, small, low, high, large) in [
        ("constant 64", medium(), constant(64), 14.0, 2.0, 25.0, 44.0),
        ("constant 16", medium(), constant(16), 29.0, 3.0, 53.0, 192.0),
        ("rate, a second", control(second), rate_based(1000, none), 1063.0, 615.0, 1520.0, 1143.0),
        ("rate, four superframes", control(four), rate_based(1000, none), 612.0, 564.0, 659.0, 692.0),
        ("rate, random", with_random(3), rate_based(1000, requests), 571.0, 559.0, 583.0, 650.0),
        ("volume, a second", control(second), volume_based(none), 1063.0, 615.0, 1520.0, 1065.0),
        ("volume, four superframes", control(four), volume_based(none), 612.0, 564.0, 659.0, 614.0),
        ("volume, random", with_random(3), volume_based(requests), 571.0, 559.0, 583.0, 572.0),
        // U(0, T) + T. A packet of 400 B needs five bursts, three of them in the first block.
        ("random data", with_random(3), data, 40.0, T + 0.05 * T, T + 0.95 * T, f64::NAN),
    ] {
        let waits_small = waits(&medium, access, 40);
        assert_mean(name, &waits_small, small);
        for (share, expected) in [(0.05, low), (0.95, high)] {
            let off = (waits_small.quantile(share) - expected).abs();
            assert!(off < T, "{name}: {} for {expected} at {share}", waits_small.quantile(share));
        }
        if large.is_finite() {
            assert_mean(name, &waits(&medium, access, 400), large);
        }
    }
}

/// T/2 + R + burst, to 1 ms, for other superframes, propagation and control delays.
#[test]
fn the_wait_of_a_random_request_has_a_closed_form() {
    for (superframe, propagation, control, expected) in
        [(26_500, 250, 10, 570.3), (100_000, 280, 100, 850.5), (45_000, 250, 10, 609.0), (26_500, 130, 50, 358.5)]
    {
        let medium = MfTdma {
            superframe: Duration::from_micros(superframe),
            to_controller: Duration::from_millis(propagation),
            to_terminal: Duration::from_millis(propagation),
            control_delay: Duration::from_millis(control),
            ..with_random(3)
        };
        let access = volume_based(RandomUse::Requests);
        let link = SlottedMedium::mf_tdma(&medium, &terminals(1, access), 1);
        let burst = 0.536;
        let closed = superframe as f64 / 2e3 + link.request_to_grant().as_secs_f64() * 1e3 + burst;
        assert!((closed - expected).abs() < 1.0, "{closed} for {expected}");
        let (_, waits) = waits_of(&medium, access, 1, 40, 8000.0, (5.0, 5.0));
        // Standard deviation of the mean: T / sqrt(12 n), at most 0.33 ms.
        assert!((waits.mean() - closed).abs() < 1.0, "{} for {closed}", waits.mean());
    }
}

/// With u = 1 + ceil(250 / 26.5) = 11 and v = ceil(260 / 26.5) = 10, R is 21 superframes. With 100 ms, 280 ms each way
/// and a control delay of 100 ms it is 8 superframes.
#[test]
fn a_request_takes_whole_superframes_to_its_grant() {
    let round = |medium: &MfTdma| SlottedMedium::mf_tdma(medium, &[], 1).request_to_grant();
    assert_eq!(round(&medium()), Duration::from_micros(556_500));
    let way = Duration::from_millis(280);
    let hundred = Duration::from_millis(100);
    let slow = MfTdma { superframe: hundred, control_delay: hundred, to_controller: way, to_terminal: way, ..medium() };
    assert_eq!(round(&slow), Duration::from_millis(800));
}

/// 400 terminals ask by ALOHA: the mean wait is T/2 + R + burst + p / (1 - p) (R + 2 T), because a lost request is
/// repeated after R + 2 T, and the back-off. With the probability p^n, n in a row are lost. The repetition of the last of
/// them waits for (16 x 2^(n - 1) - 1) / 2 blocks on average.
#[test]
fn requests_by_aloha_are_lost_and_repeated() {
    let access = volume_based(RandomUse::Requests);
    let run = |copies| {
        let (lab, waits) = waits_of(&with_random(copies), access, 400, 40, 100.0, (1.5, 0.5));
        let counts = lab.medium.counters();
        (counts.random_lost as f64 / counts.random_bursts as f64, counts.random_bursts as f64, waits)
    };
    let (lost, bursts, waits) = run(1);
    let load = bursts / (200.0 / 0.0265 * 49.0);
    // G exp(-G) is the load of new requests, one per packet.
    let new = 400.0 / 2.0 * 0.0265 / 49.0;
    assert!((load * (-load).exp() / new - 1.0).abs() < 0.02, "{load}");
    assert!((lost - 0.11).abs() < 0.01 && (lost - (1.0 - (-load).exp())).abs() < 0.005, "{lost}");
    let back_off: f64 = (1..=6).map(|n| lost.powi(n) * (16.0 * 2f64.powi(n - 1) - 1.0) / 2.0 * T).sum();
    let closed = 570.3 + lost / (1.0 - lost) * 609.5 + back_off;
    assert!((waits.mean() - closed).abs() < 0.01 * closed, "{} for {closed}", waits.mean());
    // The second try, after R + 2 T and up to 15 blocks.
    assert!((1184.0..1184.0 + 16.0 * T).contains(&waits.quantile(0.95)), "{}", waits.quantile(0.95));
    let (lost, _, waits) = run(3);
    // Two bursts in the same three of 49 slots: 5.3 others in a block, C(49, 3) = 18424 choices, 2.9e-4.
    assert!(lost > 5e-5 && lost < 8e-4, "{lost}");
    assert_mean("CRDSA", &waits, 572.0);
}

/// The first packet of a run: constant capacity and control slots are there from the start.
#[test]
fn capacity_that_nobody_asks_for_stands_from_the_start() {
    let mut lab = Lab::new(SlottedMedium::mf_tdma(&medium(), &terminals(1, constant(64)), 1), 1, ES_N0);
    let mut once = Some((Time::ZERO, 40));
    lab.run(seconds(0.2), |_| once.take());
    assert!(lab.left[0].wait < 0.0265, "{:?}", lab.left);
}
