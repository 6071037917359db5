use super::*;
use crate::testbench::{path, DELIVERY};

const SMSS: u64 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// In the first phase of DynamicCruise; 1 MB/s by the maximum, 0.9 by the filter, and 50 ms.
fn cruising(settings: LeoCcSettings) -> LeoCc {
    let mut cc = LeoCc::new(Init { smss: SMSS, cwnd: 10 * SMSS, ..Init::default() }, settings);
    cc.state = State::Cruise { phase: 0 };
    cc.pipe.has_been = true;
    cc.max_bw.update(0, 1e6);
    cc.bw_filter.x = Some(0.9e6);
    cc.rtt_filter.x = Some(0.05);
    cc.min_rtt = Some(ms(50));
    cc
}

fn delivery(in_flight: u64) -> Delivery {
    Delivery { newly_delivered: SMSS, delivered: 100 * SMSS, in_flight, ..DELIVERY }
}

/// `docs/specs/leo-aware.md`, LeoCC, test: P0 25: g = 29 / 33, P 3.515, g = 0.653; and 0.618 in the end.
#[test]
fn the_gain_of_the_filter() {
    let mut filter = LeoCc::new(Init::default(), LeoCcSettings::default()).bw_filter;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-4, "{a}, expected {b}");
    near(filter.update(10.0), 29.0 / 33.0);
    near(filter.p, 3.515);
    near(filter.update(20.0), 0.653);
    near(filter.x.unwrap(), 10.0 + 10.0 * 0.6526);
    near((0..50).map(|_| filter.update(20.0)).last().unwrap(), 0.618);
}

#[test]
fn a_fluctuating_round_trip_time_takes_the_filter_and_a_small_gain() {
    let with = |rtt_s| {
        let mut cc = cruising(LeoCcSettings::default());
        cc.rtt_filter.x = Some(rtt_s);
        (cc.gains(), cc.bw())
    };
    assert_eq!(with(0.0599), ((1.25, 2.0), 1e6));
    assert_eq!(with(0.0601), ((1.05, 2.0), 0.9e6));
    let mut cc = cruising(LeoCcSettings::default());
    cc.rtt_filter.x = Some(0.08);
    cc.state = State::Startup;
    assert_eq!((cc.gains(), cc.bw()), ((2.885, 2.885), 1e6));
    cc.state = State::Drain;
    assert_eq!(cc.gains(), (0.347, 2.885));
}

/// Eight phases of a round-trip time each; the second is over when the queue is.
#[test]
fn phases_of_the_cruise_take_a_round_trip_each() {
    let mut cc = cruising(LeoCcSettings::default());
    let mut gains = Vec::new();
    for step in 1..=9 {
        gains.push(cc.gains().0);
        cc.update_phase(1.3 * 50_000.0, at(51 * step));
    }
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25]);
    assert_eq!(cc.gains().0, 0.75);
    cc.update_phase(50_000.0, at(51 * 9 + 1));
    assert_eq!(cc.state, State::Cruise { phase: 2 });
}

#[test]
fn reconfigurations_are_due_a_tenth_of_a_second_before_their_instants() {
    let mut cc = cruising(LeoCcSettings::default());
    let due = [11_890, 11_901, 12_000, 20_000, 26_899, 26_905].map(|at_ms| cc.is_reconfigured(at(at_ms)));
    assert_eq!(due, [None, Some(at(12_000)), None, None, None, Some(at(27_000))]);
    // A reconfiguration that passed in silence is too late.
    assert_eq!(cc.is_reconfigured(at(50_000)), None);
    assert_eq!(cc.is_reconfigured(at(56_900)), Some(at(57_000)));
}

/// 1 MB/s in 50 ms are 50 segments. Data sent before the instant gives no information about the new path.
#[test]
fn after_a_reconfiguration_all_begins_anew() {
    let after = |settings, fall: bool| {
        let mut cc = cruising(settings);
        cc.cwnd = 100 * SMSS;
        cc.last_bw = 0.6e6;
        cc.rtt_filter.x = Some(if fall { 0.150 } else { 0.050 });
        cc.probe_rtt(Some(at(12_000)), at(11_900));
        cc.update_cwnd(SMSS);
        assert_eq!(cc.cwnd(), 25 * SMSS);
        cc.update_probe(&delivery(30 * SMSS), false, at(11_920));
        cc.update_probe(&delivery(25 * SMSS), false, at(11_950));
        cc.update_rtt(ms(51), at(12_050));
        cc.last_bw = 0.5e6;
        cc.update_rtt(ms(80), at(12_150));
        cc.last_bw = 0.4e6;
        cc.update_probe(&delivery(25 * SMSS), true, at(12_199));
        assert!(cc.holds_back());
        cc.update_probe(&delivery(25 * SMSS), false, at(12_201));
        assert_eq!((cc.state, cc.min_rtt, cc.pipe.has_been), (State::Startup, Some(ms(80)), false));
        cc.bw()
    };
    let before = LeoCcSettings { bandwidth_after: LeoCcBandwidth::Before, ..LeoCcSettings::default() };
    assert_eq!([after(LeoCcSettings::default(), false), after(before, false)], [0.4e6, 1e6]);
    // 150 ms are more than 45 above 51, and above 80 what the filter has become is not.
    assert_eq!([after(LeoCcSettings::default(), true), after(before, true)], [0.6e6; 2]);
}

#[test]
fn without_a_segment_of_the_new_path_the_pause_ends_all_the_same() {
    let mut cc = cruising(LeoCcSettings::default());
    cc.probe_rtt(Some(at(12_000)), at(11_900));
    cc.update_probe(&delivery(0), false, at(12_000));
    cc.update_probe(&delivery(0), true, at(13_000));
    assert!(cc.holds_back());
    cc.update_probe(&delivery(0), true, at(13_201));
    assert_eq!((cc.state, cc.min_rtt), (State::Startup, Some(ms(50))));
}

/// Without a lower one for 20 s, the round-trip time is looked for, and the window is as before.
#[test]
fn an_old_round_trip_time_is_looked_for() {
    let settings =
        LeoCcSettings { offset: Duration::from_secs(1000), period: Duration::MAX, ..LeoCcSettings::default() };
    let mut cc = cruising(settings);
    cc.cwnd = 90 * SMSS;
    let view = |at_ms| PathState { now: at(at_ms), smss: SMSS, ..path(0) };
    cc.on_delivery(&delivery(40 * SMSS), &view(19_990));
    assert!(!cc.holds_back());
    cc.on_delivery(&delivery(20 * SMSS), &view(20_010));
    assert!(cc.holds_back() && cc.cwnd() == 25 * SMSS, "{}", cc.cwnd());
    cc.update_rtt(ms(55), at(20_100));
    cc.update_probe(&delivery(20 * SMSS), true, at(20_300));
    assert!(matches!(cc.state, State::Cruise { .. }));
    assert_eq!((cc.min_rtt, cc.cwnd() >= 90 * SMSS), (Some(ms(55)), true));
}

#[test]
fn a_timeout_leaves_a_segment_until_it_is_repaired() {
    let mut cc = cruising(LeoCcSettings::default());
    cc.cwnd = 80 * SMSS;
    let view = PathState { smss: SMSS, ..path(0) };
    cc.on_congestion(Congestion::FastRetransmit, &view);
    assert_eq!(cc.cwnd(), 80 * SMSS, "losses change nothing");
    cc.on_rto(true, &view);
    assert_eq!(cc.cwnd(), SMSS);
    cc.on_recovery_exit(&view);
    assert_eq!(cc.cwnd(), 80 * SMSS);
}
