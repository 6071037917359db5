//! Terminals that ask at one instant: a push, power that comes back, the end of an outage.

use crate::lab::*;
use bentpipe_access::{Access, MfTdma, RandomAccess, RandomUse, SlottedMedium};
use bentpipe_units::{Duration, Time};

const START_S: f64 = 10.0;

/// One random carrier with these copies, and control slots this far apart.
fn with_random(copies: u32, control_interval: Option<Duration>) -> MfTdma {
    let random = Some(RandomAccess { copies, ..RandomAccess::default() });
    MfTdma { control_interval, random, ..medium() }
}

/// Time until the last of `count` terminals has sent a datagram of 64 B, which all get at one instant. Infinite if one
/// has not sent it after 30 s.
fn last_s(medium: &MfTdma, access: Access, count: usize, seed: u64) -> f64 {
    let mut lab = Lab::new(SlottedMedium::mf_tdma(medium, &terminals(count, access), seed), count, ES_N0);
    let mut coming = vec![Some((seconds(START_S), 64)); count];
    lab.run(seconds(START_S + 30.0), |n| coming[n].take());
    if lab.left.len() < count {
        return f64::INFINITY;
    }
    lab.left.iter().map(|left| left.wait).fold(0.0, f64::max)
}

/// A simulation of retries alone, without packets, has these times of the last of n terminals, in seconds (means of 20). Lost requests
/// are repeated R + 2 T later, after a uniform wait over 16 blocks, which each loss doubles. The mean of five runs is at
/// most a fifth above it. With the same wait for all, none of 400 is served.
#[test]
fn requests_of_one_instant_come_apart() {
    for (copies, times) in [
        (3, [(60, 1.56), (100, 1.66), (200, 1.56), (400, 2.22), (1000, 4.58)]),
        (1, [(60, 2.34), (100, 2.71), (200, 3.59), (400, 4.71), (1000, 7.69)]),
    ] {
        for (count, expected) in times {
            let access = volume_based(RandomUse::Requests);
            let runs = (1..=5).map(|seed| last_s(&with_random(copies, None), access, count, seed));
            let mean = runs.sum::<f64>() / 5.0;
            assert!(mean < 1.2 * expected, "{count} terminals, {copies} copies: {mean:.2} s for {expected} s");
        }
    }
}

/// With contention slots beside them, control slots serve no later than alone: 1 s + R + 0.25 s.
#[test]
fn two_ways_are_not_slower_than_one() {
    let second = Some(Duration::from_secs(1));
    for access in [volume_based, |random| rate_based(1000, random)] {
        for count in [40, 100, 200, 400] {
            let alone = last_s(&medium(), access(RandomUse::None), count, 1);
            let both = last_s(&with_random(3, second), access(RandomUse::Requests), count, 1);
            // A superframe for the carrier that random access takes away.
            assert!(both <= alone + 0.03, "{count} terminals: {both:.2} s, alone {alone:.2} s");
        }
    }
}

/// 400 sensors send 40 B every two seconds. After an outage their waits are as before within ten seconds.
#[test]
fn sensors_are_back_soon_after_an_outage() {
    for outage_s in [0.6, 5.0] {
        let count = 400;
        let medium = MfTdma { carriers: 4, ..with_random(3, None) };
        let access = volume_based(RandomUse::Requests);
        let mut lab = Lab::new(SlottedMedium::mf_tdma(&medium, &terminals(count, access), 1), count, ES_N0);
        lab.down = Some((seconds(30.0), seconds(30.0 + outage_s)));
        let mut times: Vec<_> = (0..count).map(|n| (Exponential::new(1, &format!("sensor{n}")), 0.0)).collect();
        lab.run(seconds(60.0), |n| {
            let (draws, at) = &mut times[n];
            *at += 2.0 * draws.draw();
            Some((seconds(*at), 40))
        });
        let waits = |from: f64, to: f64| {
            let within = |at: Time| (seconds(from)..seconds(to)).contains(&at);
            Waits::of(lab.left.iter().filter(|left| within(left.at)).map(|left| left.wait))
        };
        let (before, after) = (waits(10.0, 30.0), waits(40.0 + outage_s, 60.0));
        assert!(after.mean() < 1.05 * before.mean(), "{} ms, before {} ms", after.mean(), before.mean());
        assert!(after.quantile(0.99) < 1.2 * before.quantile(0.99), "{}", after.quantile(0.99));
    }
}
