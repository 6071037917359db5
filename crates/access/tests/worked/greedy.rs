//! Terminals that always have 100 kB waiting, in packets of 1500 B.

use crate::lab::*;
use bentpipe_access::{Access, MfTdma, RandomUse, SlottedMedium};
use bentpipe_units::Duration;

/// Returns Mbit/s carried from 10 s on, and Jain's index over the terminals.
fn carried(medium: &MfTdma, access: Access, count: usize, end: f64) -> (f64, f64) {
    let mut lab = Lab::new(SlottedMedium::mf_tdma(medium, &terminals(count, access), 1), count, ES_N0);
    lab.run_greedy(seconds(end), 100_000);
    let mut bytes = vec![0.0; count];
    for left in lab.left.iter().filter(|left| left.at >= seconds(10.0) && left.at < seconds(end)) {
        bytes[left.terminal] += f64::from(left.bytes);
    }
    let sum: f64 = bytes.iter().sum();
    let squares: f64 = bytes.iter().map(|bytes| bytes * bytes).sum();
    (sum * 8.0 / (end - 10.0) / 1e6, sum * sum / squares / count as f64)
}

/// 588 slots of 108 B are 19.17 Mbit/s. Headers take 2.1 %, control slots 0.2 % and room for requests 0.2 %.
#[test]
fn forty_terminals_fill_the_medium_and_share_it() {
    for access in [volume_based(RandomUse::None), rate_based(2000, RandomUse::None)] {
        let (rate, jain) = carried(&medium(), access, 40, 40.0);
        assert!((rate / 18.70 - 1.0).abs() < 0.01, "{rate}");
        assert!(jain > 0.999, "{jain}");
    }
}

/// A volume request sees 100 kB per round, 1.58 Mbit/s, of a carrier with 1.598 Mbit/s. A rate request wants
/// 100 kB / (drain + R).
#[test]
fn one_terminal_is_limited_by_what_its_request_sees() {
    let slow = MfTdma { drain: Duration::from_millis(556), ..medium() };
    let rates = rate_based(2000, RandomUse::None);
    for (medium, access, expected) in
        [(medium(), volume_based(RandomUse::None), 1.56), (medium(), rates, 1.32), (slow, rates, 0.78)]
    {
        let (rate, _) = carried(&medium, access, 1, 60.0);
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate} for {expected}");
    }
}
