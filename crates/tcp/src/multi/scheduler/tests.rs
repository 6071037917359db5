//! Worked cases of the schedulers, by hand from their rules.

use super::*;

const SMSS: u64 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn path(cwnd: u64, rtt: u64) -> PathView {
    PathView {
        is_usable: true,
        has_room: true,
        srtt: ms(rtt),
        srtt_min: ms(rtt),
        srtt_max: ms(rtt),
        cwnd: cwnd * SMSS,
        buffer: u64::MAX,
        smss: SMSS,
        ..PathView::default()
    }
}

fn view(paths: Vec<PathView>) -> SchedulerView {
    SchedulerView { window: u64::MAX >> 1, room: u64::MAX >> 1, unsent: 1000 * SMSS, paths, ..SchedulerView::default() }
}

/// LEO with 50 segments and 40 ms, whose window is full; GEO with 0.6 s.
fn full_leo(geo: u64) -> Vec<PathView> {
    vec![PathView { has_room: false, ..path(50, 40) }, path(geo, 600)]
}

#[test]
fn min_rtt_takes_the_fastest_with_room() {
    let mut scheduler = SchedulerConfig::from(SchedulerKind::MinRtt).build();
    let mut view = view(vec![path(10, 600), path(10, 40), path(10, 40)]);
    assert_eq!(scheduler.choose(&view), Choice::Send(1), "the first of equals");
    view.paths[1].has_room = false;
    view.paths[2].is_usable = false;
    assert_eq!(scheduler.choose(&view), Choice::Send(0));
    view.paths[0].has_room = false;
    assert_eq!(scheduler.choose(&view), Choice::Wait);
}

#[test]
fn round_robin_skips_or_waits() {
    let turns = |fill, full: usize| {
        let settings = RoundRobinSettings { burst: 2, fill };
        let mut scheduler = SchedulerConfig::RoundRobin(settings).build();
        let mut view = view(vec![path(10, 40); 3]);
        if let Some(path) = view.paths.get_mut(full) {
            path.has_room = false;
        }
        [(); 6].map(|()| scheduler.choose(&view))
    };
    use Choice::{Send, Wait};
    assert_eq!(turns(true, 9), [Send(0), Send(0), Send(1), Send(1), Send(2), Send(2)]);
    assert_eq!(turns(true, 1), [Send(0), Send(0), Send(2), Send(2), Send(0), Send(0)]);
    assert_eq!(turns(false, 1), [Send(0), Send(0), Wait, Wait, Wait, Wait]);
}

#[test]
fn redundant_repeats_before_it_sends() {
    let mut scheduler = SchedulerConfig::from(SchedulerKind::Redundant).build();
    let mut view = view(vec![path(10, 40), PathView { can_repeat: true, ..path(10, 600) }]);
    assert_eq!(scheduler.choose(&view), Choice::Repeat(1));
    view.paths[1].can_repeat = false;
    assert_eq!(scheduler.choose(&view), Choice::Send(0));
    view.room = 0;
    assert_eq!(scheduler.choose(&view), Choice::Wait, "new data have no window");
}

/// n = 0.6 / 0.04 + 1 = 16 round trips of LEO, X = (50 + 7.5) · 16 = 920 segments. 1100 - (100 + 1) = 999 segments are
/// left. With λ = 1.0 it sends. With λ = 1.2 it waits, because 1.2 · 920 = 1104.
#[test]
fn ferlin_2016_blest() {
    let choose = |lambda, window| {
        let mut paths = full_leo(200);
        paths[1].flight = 100 * SMSS;
        let view = SchedulerView { window, ..view(paths) };
        SchedulerConfig::Blest(BlestSettings { lambda }).build().choose(&view)
    };
    assert_eq!([1000, 1200].map(|lambda| choose(lambda, 1100 * SMSS)), [Choice::Send(1), Choice::Wait]);
    assert_eq!(choose(1300, u64::MAX >> 1), Choice::Send(1), "without a limit it never waits");
}

/// In the first slow start LEO doubles: 50 · (2^16 - 1) segments. A round trip of GEO grows with its use.
#[test]
fn ferlin_2016_slow_start_and_varying_round_trips() {
    let choose = |is_starting, srtt_max, window: u64| {
        let mut paths = full_leo(100);
        paths[0].is_starting = is_starting;
        (paths[1].srtt_min, paths[1].srtt, paths[1].srtt_max) = (ms(600), ms(600), ms(srtt_max));
        paths[1].flight = 49 * SMSS;
        let view = SchedulerView { window: window * SMSS, ..view(paths) };
        SchedulerConfig::Blest(BlestSettings { lambda: 1000 }).build().choose(&view)
    };
    assert_eq!(choose(true, 600, 3_000_000), Choice::Wait);
    assert_eq!(choose(true, 600, 3_400_000), Choice::Send(1));
    // Half of the window is used: 0.6 + 0.4 / 2 = 0.8 s, 21 round trips, X = (50 + 10) · 21 = 1260.
    assert_eq!([1309, 1310].map(|window| choose(false, 1000, window)), [Choice::Wait, Choice::Send(1)]);
}

/// The factor falls by 0.01 in a round trip of the slower subflow, and rises by 0.04 after a reinjection.
#[test]
fn ferlin_2016_the_factor_follows_mistakes() {
    let mut blest = Blest::new(BlestSettings::default());
    let mut at = |seconds, opportunistic| {
        let view =
            SchedulerView { now: Time::ZERO + Duration::from_secs(seconds), opportunistic, ..view(full_leo(200)) };
        blest.choose(&view);
        let said = format!("{blest:?}");
        said.split("lambda: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned()
    };
    assert_eq!([at(1, 0), at(2, 0), at(3, 1), at(4, 1)], ["1200", "1190", "1230", "1220"]);
}

/// Windows 50 and 100, variation 10 ms. k segments left: (1 + max(k, 50) / 50) · 0.04 against 0.61, or 0.7625 while it waits.
#[test]
fn lim_2017_ecf() {
    let mut paths = full_leo(100);
    paths[0].rttvar = ms(10);
    let choose = |ecf: &mut Ecf, k: u64| ecf.choose(&SchedulerView { unsent: k * SMSS, ..view(paths.clone()) });
    let new = || Ecf::new(EcfSettings::default());
    let (wait, send) = (Choice::Wait, Choice::Send(1));
    assert_eq!([10, 700, 800, 1000].map(|k| choose(&mut new(), k)), [wait, wait, send, send]);
    let mut waiting = new();
    assert_eq!([10, 800, 1000, 800].map(|k| choose(&mut waiting, k)), [wait, wait, send, send], "hysteresis");
}

/// The second condition: GEO with a window of 100 delivers 10 segments in one round trip, but if LEO's is as long, waiting is no use.
#[test]
fn lim_2017_waits_only_if_the_slow_one_is_slower_than_two_rounds() {
    let mut paths = full_leo(100);
    paths[0].srtt = ms(320);
    let mut ecf = Ecf::new(EcfSettings { beta: 0 });
    // (1 + 1) · 0.32 = 0.64 > 0.6: send. With 0.29: 0.58 < 0.6, and 0.6 >= 0.58: wait.
    assert_eq!(ecf.choose(&SchedulerView { unsent: 10 * SMSS, ..view(paths.clone()) }), Choice::Send(1));
    paths[0].srtt = ms(290);
    assert_eq!(ecf.choose(&SchedulerView { unsent: 10 * SMSS, ..view(paths.clone()) }), Choice::Wait);
    // With 0.4 and a variation of 0.25: 0.8 < 0.85, but 0.6 < 0.8 + 0.25. GEO delivers within two rounds of LEO: send.
    (paths[0].srtt, paths[0].rttvar) = (ms(400), ms(250));
    assert_eq!(ecf.choose(&SchedulerView { unsent: 10 * SMSS, ..view(paths) }), Choice::Send(1));
}

/// 100 kB at 20 Mbit/s linger 40 ms, 500 kB at 200 Mbit/s 20 ms. The burst is 65,428 bytes, so 66 segments, then LEO has 566 kB.
#[test]
fn linux_linger() {
    let mut paths = vec![path(1000, 600), path(1000, 40)];
    (paths[0].flight, paths[0].pacing_rate) = (100_000, Some(Rate::from_bps(20_000_000)));
    (paths[1].flight, paths[1].pacing_rate) = (500_000, Some(Rate::from_bps(200_000_000)));
    let mut view = view(paths);
    let mut linger = Linger::new(NoSettings);
    let mut burst = 0;
    while linger.choose(&view) == Choice::Send(1) && burst < 1000 {
        burst += 1;
        view.paths[1].flight += 10_000;
    }
    // 500 kB + 66 · 10 kB linger 46 ms: now GEO.
    assert_eq!(burst, 66);
    // No memory in the best: the next best is not tried.
    view.paths[0].buffer = 0;
    assert_eq!(Linger::new(NoSettings).choose(&view), Choice::Wait);
}

#[test]
fn the_registry_names_and_explains_all() {
    for kind in SchedulerKind::ALL {
        let (name, doc) = (kind.name(), kind.doc());
        assert!(doc.starts_with(name), "{name}: {doc}");
        assert_eq!(SchedulerConfig::from(*kind).kind(), *kind);
        assert!(!kind.summary().is_empty());
    }
}
