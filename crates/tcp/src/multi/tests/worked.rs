//! Worked cases of schedulers: the path of the last segments of a short transfer, and the cost of a small buffer.

use super::bench::{at, ms, tcp, Path, World, CLIENT, SMSS};
use crate::multi::{MultiConfig, Reinject, SchedulerConfig, SchedulerKind};
use crate::{Config, InitialSsthresh, InitialWindow};
use bentpipe_units::Duration;

fn of(kind: SchedulerKind) -> MultiConfig {
    MultiConfig { scheduler: SchedulerConfig::from(kind), ..MultiConfig::default() }
}

/// When 20 segments are delivered over paths of 40 and 600 ms, both open, with initial windows of ten. By hand: LEO
/// takes ten. With min-rtt the other ten go to GEO, 0.30 s. A scheduler that waits a round trip of LEO delivers them at
/// 0.04 + 0.02 s.
fn deliver_20(kind: SchedulerKind) -> Duration {
    let mut world = World::new(of(kind), &tcp(), vec![Path::of(20), Path::of(300)]);
    world.open();
    world.run_until(at(5000));
    world.offer(20 * SMSS);
    let done = world.run_until_delivered(20 * SMSS, at(20_000)).expect("it arrives");
    done - at(5000)
}

#[test]
fn min_rtt_and_blest_use_geo_and_ecf_and_redundant_do_not_need_it() {
    use SchedulerKind::{Blest, Ecf, Linger, MinRtt, Redundant};
    assert_eq!([MinRtt, Blest, Ecf, Redundant].map(deliver_20), [ms(300), ms(300), ms(60), ms(60)]);
    // An idle subflow lingers for no time: the first one gets its burst of 64 kB, which is all.
    assert_eq!(deliver_20(Linger), ms(60));
}

/// Two paths of 8 Mbit/s each, 100 segments: each carries half.
#[test]
fn round_robin_takes_turns() {
    let mut world = World::new(of(SchedulerKind::RoundRobin), &tcp(), vec![Path::of(10), Path::of(40)]);
    world.open();
    world.run_until(at(1000));
    world.offer(10 * SMSS);
    world.run_until(at(2000));
    assert_eq!([0, 1].map(|i| world.acked(CLIENT, i)), [5 * SMSS, 5 * SMSS]);
}

/// Goodput, segments a second, of LEO with 2 ms and GEO with 10 ms a segment behind 20 and 300 ms, windows as large as the paths.
fn goodput(receive_buffer: u64, reinject: Reinject) -> f64 {
    let config = MultiConfig { receive_buffer, reinject, ..MultiConfig::default() };
    let window = |segments| Config {
        initial_window: InitialWindow::Segments(segments),
        initial_ssthresh: InitialSsthresh::Segments(u64::from(segments)),
        ..tcp()
    };
    let path = |delay, segment_time| Path { segment_time, ..Path::of(delay) };
    let mut world = World::new(config, &window(65), vec![path(20, ms(2)), path(300, ms(10))]);
    world.open();
    world.offer(u64::MAX >> 9);
    world.run_until(at(20_000));
    let before = world.delivered();
    world.run_until(at(40_000));
    (world.delivered() - before) as f64 / SMSS as f64 / 20.0
}

/// 500 + 100 segments a second; 600 /s · 0.6 s are 360 segments. Half of that per round trip of GEO cannot carry the sum.
#[test]
fn a_buffer_below_the_sum_of_rates_times_the_longest_round_trip_costs_goodput() {
    let off = Reinject { opportunistic: false, ..Reinject::default() };
    let (ample, small) = (goodput(4 * 360 * SMSS, off), goodput(90 * SMSS, off));
    assert!(ample > 0.97 * 600.0, "{ample}");
    assert!(small < 0.5 * 600.0, "{small}");
}
