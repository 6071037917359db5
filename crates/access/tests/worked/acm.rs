//! Frames that are lost while the signal falls faster than reports follow.

use bentpipe_access::{Adaptation, Measurements, Reported};
use bentpipe_units::{Duration, Time};

/// Age of a report when its first frame arrives, ms: 250 ms each way, control delay and the wait for a burst.
const AGE_MS: u64 = 536;

/// Returns the seconds with lost frames in a fade from 15 to 3 dB at `slope` dB/s, 20 s at 3 dB, and back, for the
/// terminal of this number among `terminals`.
fn lost_s(slope: f64, every_ms: u64, terminal: u64, terminals: u64) -> f64 {
    const START: f64 = 10.0;
    let fall = 12.0 / slope;
    let level = |t: f64| {
        let since = t - START;
        15.0 - slope * since.clamp(0.0, fall) + slope * (since - fall - 20.0).clamp(0.0, fall)
    };
    let rule = Adaptation::default();
    let measurements = Measurements { every: Duration::from_millis(every_ms), terminals };
    let mut reported = Reported::new(&rule, 15.0);
    let (mut reports, mut lost) = (0, 0);
    let end_ms = ((START + 2.0 * fall + 30.0) * 1e3) as u64;
    for ms in 0..end_ms {
        let now = Time::ZERO + Duration::from_millis(ms);
        if let Some((number, at)) = measurements.last(terminal, now).filter(|(number, _)| *number >= reports) {
            reports = number + 1;
            reported.report(at + Duration::from_millis(AGE_MS), level(at.as_secs_f64()));
        }
        let modcod = reported.at(&rule, now);
        lost += u64::from(modcod.is_some_and(|modcod| modcod.threshold_db() > level(ms as f64 / 1e3)));
    }
    lost as f64 / 1e3
}

/// Mean, least and most over 22 phases.
fn over_phases(slope: f64, every_ms: u64) -> (f64, f64, f64) {
    let lost: Vec<f64> = (0..22).map(|terminal| lost_s(slope, every_ms, terminal, 22)).collect();
    let least = lost.iter().copied().fold(f64::INFINITY, f64::min);
    (lost.iter().sum::<f64>() / 22.0, least, lost.iter().copied().fold(0.0, f64::max))
}

/// Loss-free up to margin / (every + age) = 1 / 1.636 = 0.61 dB/s.
#[test]
fn fades_cost_frames_above_a_slope() {
    let lost = over_phases(0.6, 1100);
    assert_eq!(lost, (0.0, 0.0, 0.0));
    for (slope, mean, least, most) in
        [(0.8, 0.9, 0.2, 2.0), (1.0, 2.4, 2.0, 3.2), (2.0, 5.0, 4.5, 5.4), (5.0, 3.0, 2.5, 3.5)]
    {
        let found = over_phases(slope, 1100);
        let near = |found: f64, expected: f64| (found - expected).abs() <= 0.1 + 0.03 * expected;
        assert!(near(found.0, mean), "{slope} dB/s: {found:?}");
        // The extremes depend on the phases that were tried.
        assert!((found.1 - least).abs() < 0.3 && (found.2 - most).abs() < 0.3, "{slope} dB/s: {found:?}");
    }
}

#[test]
fn reports_each_tenth_of_a_second_bear_a_steeper_fade() {
    for slope in [1.0, 1.5] {
        assert_eq!(over_phases(slope, 100).2, 0.0, "{slope} dB/s");
    }
    let (mean, ..) = over_phases(2.0, 100);
    assert!((mean - 1.2).abs() <= 0.1, "{mean}");
}

#[test]
fn measurements_are_spread_over_the_terminals() {
    let every = Duration::from_millis(1100);
    let measurements = Measurements { every, terminals: 11 };
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    assert_eq!(measurements.last(0, at(0)), Some((0, at(0))));
    assert_eq!(measurements.last(3, at(299)), None);
    assert_eq!(measurements.last(3, at(300)), Some((0, at(300))));
    assert_eq!(measurements.last(3, at(2600)), Some((2, at(2500))));
}
