//! Steady streams: more promised capacity never makes packets wait longer.

use crate::lab::*;
use bentpipe_access::{Access, RandomUse, SlottedMedium};

/// Mean wait in ms of a stream of 200 B each 20 ms (80 kbit/s) once settled, and the share of granted bytes that is not
/// used.
fn stream(access: Access) -> (f64, f64) {
    let mut lab = Lab::new(SlottedMedium::mf_tdma(&medium(), &terminals(1, access), 1), 1, ES_N0);
    let mut at = 0.0;
    lab.run(seconds(90.0), |_| {
        at += 0.02;
        Some((seconds(at), 200))
    });
    let settled = lab.left.iter().filter(|left| left.at >= seconds(30.0));
    let unused = 1.0 - lab.used_bytes() as f64 / lab.medium.counters().granted_bytes as f64;
    (Waits::of(settled.map(|left| left.wait)).mean(), unused)
}

fn volume_and(constant: u64, rate: u64) -> Access {
    with(volume_based(RandomUse::None), |first| {
        (first.constant, first.rate_based) = (kbps(constant), kbps(rate.max(constant)));
    })
}

/// A superframe, ms: where in it a packet comes decides about its wait.
const T: f64 = 26.5;

#[test]
fn a_constant_rate_beside_volumes_never_adds_to_the_wait() {
    let (alone, _) = stream(volume_and(0, 0));
    for constant in [4, 8, 16, 32, 64, 72, 96] {
        let (wait, unused) = stream(volume_and(constant, 0));
        assert!(wait < alone + T, "{constant} kbit/s: {wait:.0} ms, without {alone:.0} ms");
        // Small volumes are rounded up to slots.
        assert!(unused < 0.3, "{constant} kbit/s: {unused:.2}");
    }
}

#[test]
fn rates_beside_volumes_never_add_to_the_wait() {
    let (alone, _) = stream(volume_and(0, 0));
    for (constant, rate) in [(0, 100), (0, 500), (16, 100), (16, 500), (64, 500)] {
        let (wait, unused) = stream(volume_and(constant, rate));
        assert!(wait < alone + T, "{constant} and {rate} kbit/s: {wait:.0} ms, without {alone:.0} ms");
        assert!(unused < 0.1, "{constant} and {rate} kbit/s: {unused:.2}");
    }
}

/// The margin on the arrival rate empties the queue of the first round trip.
#[test]
fn a_requested_rate_does_not_keep_its_first_queue() {
    for rate in [100, 500, 1000] {
        let (wait, unused) = stream(rate_based(rate, RandomUse::None));
        assert!(wait < 2.0 * T, "{rate} kbit/s: {wait:.0} ms");
        assert!(unused < 0.1, "{rate} kbit/s: {unused:.2}");
    }
}
