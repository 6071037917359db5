//! Subflows that do not deliver, and data that block the receive window.

use super::bench::{at, ms, tcp, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, MultiEvent, Plan, Reinject, ReinjectOn, SchedulerKind};
use crate::{Config, Pacing, RtoConfig, WindowSize};
use bentpipe_units::Duration;

/// LEO and GEO; the link of LEO goes down at 10 s and comes back at 20 s. Paced by the paths: 1,000 and 100 segments a second.
fn interrupted(reinject: Reinject) -> World {
    let down = vec![(at(10_000), at(20_000))];
    let leo = Path { segment_time: ms(1), down, queue: 50, ..Path::of(20) };
    let geo = Path { segment_time: ms(10), queue: 100, ..Path::of(300) };
    let rto = RtoConfig { min: ms(240), granularity: Duration::ZERO, ..RtoConfig::default() };
    let mut world =
        World::new(MultiConfig { reinject, ..MultiConfig::default() }, &Config { rto, ..tcp() }, vec![leo, geo]);
    world.open();
    world.offer(40_000 * SMSS);
    world.run_until(at(10_000));
    world
}

fn is_reinjected(event: &MultiEvent) -> bool {
    matches!(event, MultiEvent::Reinjected { from: Some(0), to: 1, .. })
}

fn finish(world: &mut World) {
    world.close(CLIENT);
    assert!(world.run_until_delivered(40_000 * SMSS, at(400_000)).is_some(), "all data arrive");
    world.run_until(world.now + ms(5000));
    assert_eq!(world.delivered(), 40_000 * SMSS, "each byte once");
    assert!(world.ends[SERVER].events.iter().any(|(_, event)| *event == MultiEvent::PeerFinished));
}

/// With a timeout of 0.24 s data are reinjected 0.24 s after the last ACK, which left the receiver before 10 s.
#[test]
fn a_timeout_hands_the_data_of_a_subflow_to_another() {
    let mut world = interrupted(Reinject { opportunistic: false, ..Reinject::default() });
    finish(&mut world);
    let first = world.first(CLIENT, is_reinjected).expect("reinjected");
    assert!(at(10_220) <= first && first <= at(10_310), "{first:?}");
    let restored = world.first(CLIENT, |event| *event == MultiEvent::Restored(0)).expect("restored");
    assert!(restored >= at(20_000), "{restored:?}");
    assert_eq!(world.ends[CLIENT].meta.subflow(0).failures, 1);
}

#[test]
fn a_notice_hands_them_over_at_once() {
    let mut world = interrupted(Reinject { on: ReinjectOn::Told, ..Reinject::default() });
    world.call(CLIENT, |meta, now, subflows| meta.on_path_down(now, 0, subflows));
    world.run_until(at(20_000));
    world.call(CLIENT, |meta, now, subflows| meta.on_path_up(now, 0, subflows));
    finish(&mut world);
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Failed(0)), Some(at(10_000)));
    let first = world.first(CLIENT, is_reinjected).expect("reinjected");
    // As soon as GEO has room: a segment leaves it every 10 ms.
    assert!(at(10_000) <= first && first <= at(10_020), "{first:?}");
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Restored(0)), Some(at(20_000)));
}

/// The data timer is the longest timeout, that of GEO (more than 0.6 s), and the subflow fails after four of them.
#[test]
fn the_data_timer_gives_a_subflow_up_after_four_timeouts() {
    let mut world = interrupted(Reinject { on: ReinjectOn::DataTimer, opportunistic: false, ..Reinject::default() });
    finish(&mut world);
    let failed = world.first(CLIENT, |event| *event == MultiEvent::Failed(0)).expect("it fails");
    assert!(at(10_000 + 4 * 600) <= failed && failed < at(20_000), "{failed:?}");
}

/// NSDI 2012, §4.2, and BLEST (IFIP Networking 2016), figures 4 and 5: with a buffer of two LEO windows, GEO stops LEO for most of the
/// time. Reinjection and penalties give most of LEO's rate back, and BLEST leaves GEO alone.
#[test]
fn with_a_small_buffer_geo_blocks_leo_unless_data_are_reinjected_or_not_sent_there() {
    let pacing = Pacing::Window { gain_slow_start: 2000, gain: 1200, burst: WindowSize::Segments(2) };
    let goodput = |paths: Vec<Path>, reinjects: bool, scheduler: SchedulerKind| {
        let reinject = Reinject { opportunistic: reinjects, penalise: reinjects, ..Reinject::default() };
        let scheduler = scheduler.into();
        let config = MultiConfig { receive_buffer: 80 * SMSS, reinject, scheduler, ..MultiConfig::default() };
        let mut world = World::new(config, &Config { pacing, ..tcp() }, paths);
        world.open();
        world.offer(u64::MAX >> 9);
        world.run_until(at(60_000));
        (world.delivered() as f64, *world.ends[CLIENT].meta.counters())
    };
    // LEO's window is 60 segments at most, so 20 and more of the receive window go to GEO.
    let leo = Path { segment_time: ms(1), queue: 20, ..Path::of(20) };
    let geo = Path { segment_time: ms(10), queue: 100, ..Path::of(300) };
    let both = vec![leo.clone(), geo];
    let (alone, _) = goodput(vec![leo], false, SchedulerKind::MinRtt);
    let (without, none) = goodput(both.clone(), false, SchedulerKind::MinRtt);
    let (with, counters) = goodput(both.clone(), true, SchedulerKind::MinRtt);
    let (blest, _) = goodput(both, true, SchedulerKind::Blest);
    assert!(without < 0.25 * alone, "GEO blocks LEO: {without} of {alone}");
    assert!(with > 0.75 * alone, "{with} of {alone}");
    assert!(blest > 0.95 * alone, "{blest} of {alone}");
    assert!(none.opportunistic == 0 && counters.opportunistic > 0 && counters.penalties > 0);
}

/// The application does not read: the window closes, is probed, and opens again.
#[test]
fn a_closed_window_is_probed_and_opens() {
    let config = MultiConfig { receive_buffer: 20 * SMSS, ..MultiConfig::default() };
    let mut world = World::new(config, &tcp(), vec![Path::of(20), Path::of(30)]);
    world.ends[SERVER].meta.set_reads_at_once(false);
    world.open();
    world.offer(50 * SMSS);
    world.run_until(at(20_000));
    assert_eq!(world.delivered(), 20 * SMSS);
    assert!(world.ends[CLIENT].meta.counters().window_probes > 3, "{:?}", world.ends[CLIENT].meta.counters());
    // The news of the open window is lost on both paths: the next probe brings it.
    world.paths.iter_mut().for_each(|path| path.down = vec![(at(20_000), at(20_100))]);
    world.call(SERVER, |meta, _, subflows| assert_eq!(meta.read(u64::MAX, subflows), 20 * SMSS));
    assert!(world.run_until_delivered(40 * SMSS, at(120_000)).is_some());
    world.call(SERVER, |meta, _, subflows| assert_eq!(meta.read(u64::MAX, subflows), 20 * SMSS));
    assert!(world.run_until_delivered(50 * SMSS, at(240_000)).is_some());
}

/// A backup is used only while no other subflow delivers.
#[test]
fn backups_wait_for_failures() {
    let down = vec![(at(2000), at(6000))];
    let (first, second) =
        (Path { segment_time: ms(2), down, ..Path::of(20) }, Path { segment_time: ms(2), ..Path::of(10) });
    let plans = vec![(first, Plan::default()), (second, Plan { is_backup: true, ..Plan::default() })];
    let mut world = World::planned(MultiConfig::default(), &tcp(), plans);
    world.open();
    world.offer(4000 * SMSS);
    world.run_until(at(2000));
    assert_eq!(world.acked(CLIENT, 1), 0);
    world.run_until(at(6000));
    assert!(world.acked(CLIENT, 1) > 1000 * SMSS);
    assert!(world.run_until_delivered(4000 * SMSS, at(60_000)).is_some());
    assert_eq!(world.ends[CLIENT].meta.subflow(0).failures, 1);
}
