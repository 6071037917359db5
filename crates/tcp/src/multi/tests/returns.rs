//! Subflows whose connection ended, and that join again: old segments, the end of the data, the first subflow, a backup.

use super::bench::{at, mapping, ms, tcp, Departure, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, MultiEvent, Plan, Reinject, ReinjectOn, Rejoin};
use crate::{Config, Flags, GiveUp, ResetReason, State, SubflowReset};
use bentpipe_units::Time;

/// The client hears of its paths, and withdraws the address of an interrupted path.
fn withdraws() -> MultiConfig {
    let reinject = Reinject { on: ReinjectOn::Told, ..Reinject::default() };
    MultiConfig { reinject, rejoin: Rejoin { withdraw: true, ..Rejoin::default() }, ..MultiConfig::default() }
}

/// The client hears that the path of subflow `i` is down or up.
fn tell(world: &mut World, i: usize, is_up: bool) {
    world.call(CLIENT, |meta, now, subflows| match is_up {
        true => meta.on_path_up(now, i, subflows),
        false => meta.on_path_down(now, i, subflows),
    });
}

/// The path of subflow `i` is down from one instant to another, in ms, and the client hears of both.
fn interrupt(world: &mut World, i: usize, from: u64, to: u64) {
    world.run_until(at(from));
    tell(world, i, false);
    world.run_until(at(to));
    tell(world, i, true);
}

/// When SYNs of subflow `i` left the client.
fn joins(world: &World, i: usize) -> Vec<Time> {
    let is_syn = |sent: &&Departure| (sent.1, sent.2) == (CLIENT, i) && sent.3.flags.has(Flags::SYN);
    world.log.iter().flatten().filter(is_syn).map(|sent| sent.0).collect()
}

/// Times that each end had subflow `i` open.
fn opened(world: &World, i: usize) -> [u64; 2] {
    [CLIENT, SERVER].map(|end| world.ends[end].meta.subflow(i).joins)
}

/// All data arrived, and each byte counts once: as data, or as a duplicate.
fn arrives_once(world: &World, bytes: u64) {
    let counters = world.ends[SERVER].meta.counters();
    assert_eq!((world.delivered(), world.ends[CLIENT].meta.acked_bytes()), (bytes, bytes));
    assert_eq!(counters.arrived_bytes, bytes + counters.data_duplicate_bytes);
}

/// LEO brings 1000 segments a second, GEO 250.
fn leo_and_geo() -> Vec<Path> {
    let path = |delay, segment_ms| Path { segment_time: ms(segment_ms), queue: 200, ..Path::of(delay) };
    vec![path(20, 1), path(100, 4)]
}

/// LEO, the first subflow, is away from 2 s to 8 s. Its SYN leaves at the notice, and a round trip later it is open. Then it carries
/// its share again: 1000 of 1250 segments a second.
#[test]
fn a_subflow_that_returns_carries_its_share() {
    let mut world = World::new(withdraws(), &tcp(), leo_and_geo());
    world.log = Some(Vec::new());
    world.open();
    world.offer(100_000 * SMSS);
    interrupt(&mut world, 0, 2000, 8000);
    world.run_until(at(20_000));
    assert_eq!(joins(&world, 0), [at(0), at(8000)]);
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Joined(0)), Some(at(8040)));
    assert_eq!(opened(&world, 0), [2, 2]);
    let brought = |world: &World| [0, 1].map(|i| world.ends[SERVER].meta.subflow(i).delivered_bytes);
    let before = brought(&world);
    world.run_until(at(60_000));
    let [leo, geo] = [0, 1].map(|i| (brought(&world)[i] - before[i]) as f64);
    assert!((leo / (leo + geo) - 0.8).abs() < 0.02, "{leo} {geo}");
    assert!(world.run_until_delivered(100_000 * SMSS, at(200_000)).is_some());
    world.run_until(world.now + ms(2000));
    arrives_once(&world, 100_000 * SMSS);
}

/// LEO is silent from 2 s to 4 s, without a notice. Its connection gives up. The next attempt begins an interval later.
#[test]
fn after_a_timeout_it_is_tried_again_after_an_interval() {
    let mut paths = leo_and_geo();
    paths[0].down = vec![(at(2000), at(4000))];
    let impatient = Config { give_up: GiveUp::AfterTime(ms(1000)), ..tcp() };
    for after in [500, 1000] {
        let rejoin = Rejoin { after: ms(after), ..Rejoin::default() };
        let mut world = World::new(MultiConfig { rejoin, ..MultiConfig::default() }, &impatient, paths.clone());
        world.log = Some(Vec::new());
        world.open();
        world.offer(30_000 * SMSS);
        assert!(world.run_until_delivered(30_000 * SMSS, at(100_000)).is_some());
        let left = world.first(CLIENT, |event| *event == MultiEvent::Left(0)).expect("it gave up");
        assert!(left < at(4000), "{left:?}");
        assert_eq!(joins(&world, 0)[1], left + ms(after));
        assert_eq!(opened(&world, 0), [2, 2]);
        assert!(world.acked(CLIENT, 0) > 1000 * SMSS, "it carries data again");
        world.run_until(world.now + ms(2000));
        arrives_once(&world, 30_000 * SMSS);
    }
}

/// Data of the former connection of GEO wait in a queue, and arrive after the SYN of the new one. They find no connection.
#[test]
fn old_segments_are_not_of_the_new_connection() {
    let path = Path { segment_time: ms(10), queue: 300, ..Path::of(300) };
    let mut world =
        World::new(withdraws(), &tcp(), vec![Path { segment_time: ms(2), queue: 50, ..Path::of(20) }, path]);
    world.open();
    world.run_until(at(2000));
    world.offer(4000 * SMSS);
    // The window of GEO is in the queue.
    world.run_until(at(4000));
    let joined = world.ends[SERVER].meta.subflow(1).delivered_bytes;
    assert!(joined > 0);
    interrupt(&mut world, 1, 4000, 4001);
    assert!(world.run_until_delivered(4000 * SMSS, at(40_000)).is_some());
    world.run_until(world.now + ms(2000));
    let is_late =
        |(at, end, segment): &&(Time, usize, _)| *at > self::at(4301) && *end == SERVER && mapping(segment).is_some();
    assert!(world.strays.iter().filter(is_late).count() > 5, "{:?}", world.strays.len());
    assert_eq!(opened(&world, 1), [2, 2]);
    assert!(world.acked(CLIENT, 1) > 0, "it carries data again");
    arrives_once(&world, 4000 * SMSS);
}

/// The data and their end are on the way over LEO as LEO is interrupted, and GEO is silent for good. LEO returns with them.
#[test]
fn a_return_carries_the_end_of_the_data() {
    let mut paths = vec![Path::of(20), Path::of(100)];
    paths[0].down = vec![(at(2000), at(5000))];
    paths[1].down = vec![(at(1500), Time::NEVER)];
    let mut world = World::new(withdraws(), &tcp(), paths);
    world.open();
    world.run_until(at(1999));
    world.offer(10 * SMSS);
    world.close(CLIENT);
    interrupt(&mut world, 0, 2005, 5000);
    assert_eq!(world.delivered(), 0);
    world.run_until(at(20_000));
    arrives_once(&world, 10 * SMSS);
    let finished = world.first(SERVER, |event| *event == MultiEvent::PeerFinished);
    assert!(finished.is_some_and(|finished| finished > at(5000)), "{finished:?}");
    assert_eq!(opened(&world, 0), [2, 2]);
}

/// A backup whose connection ended is one again when it is back: it carries nothing until LEO fails.
#[test]
fn a_backup_returns_as_a_backup() {
    let [leo, geo] = [20, 100].map(|delay| Path { segment_time: ms(1), queue: 200, ..Path::of(delay) });
    let plans = [Plan::default(), Plan { is_backup: true, ..Plan::default() }];
    let mut world = World::planned(withdraws(), &tcp(), vec![(leo, plans[0]), (geo, plans[1])]);
    world.open();
    world.offer(20_000 * SMSS);
    interrupt(&mut world, 1, 2000, 3000);
    world.run_until(at(6000));
    assert_eq!((opened(&world, 1), world.acked(CLIENT, 1)), ([2, 2], 0));
    assert!(world.ends[SERVER].meta.subflow(1).is_backup, "MP_JOIN says so");
    tell(&mut world, 0, false);
    world.run_until(at(8000));
    assert!(world.acked(CLIENT, 1) > 100 * SMSS);
    tell(&mut world, 0, true);
    assert!(world.run_until_delivered(20_000 * SMSS, at(100_000)).is_some());
    world.run_until(world.now + ms(2000));
    arrives_once(&world, 20_000 * SMSS);
}

#[test]
fn a_subflow_returns_three_times() {
    let mut world = World::new(withdraws(), &tcp(), leo_and_geo());
    world.open();
    world.offer(40_000 * SMSS);
    for n in 0..3 {
        interrupt(&mut world, 0, 2000 + 4000 * n, 4000 + 4000 * n);
    }
    assert!(world.run_until_delivered(40_000 * SMSS, at(200_000)).is_some());
    assert_eq!(opened(&world, 0), [4, 4]);
    world.run_until(world.now + ms(2000));
    arrives_once(&world, 40_000 * SMSS);
}

/// After a reset that may pass, the path may be tried again. After a permanent reset, it should not.
#[test]
fn rfc8684_3_6_a_path_is_tried_again_unless_the_reset_stays() {
    let stays = SubflowReset::permanent(ResetReason::Signals);
    for (reset, expected) in [(SubflowReset::SILENT, vec![at(3030)]), (stays, Vec::new())] {
        let mut world = World::new(MultiConfig::default(), &tcp(), vec![Path::of(40), Path::of(30)]);
        world.open();
        world.run_until(at(2000));
        world.log = Some(Vec::new());
        world.call(SERVER, |meta, now, subflows| meta.drop_subflow(now, 1, reset, subflows));
        world.run_until(at(60_000));
        assert_eq!(joins(&world, 1), expected, "{reset:?}");
    }
}

/// The server sends, and gives LEO up. The client has nothing to send there. It hears by ADD_ADDR over GEO, finds that its connection
/// does not answer, and joins again.
#[test]
fn an_end_that_gave_up_offers_its_address_again() {
    let mut paths = leo_and_geo();
    paths[0].down = vec![(at(2000), at(8000))];
    let impatient = Config { give_up: GiveUp::AfterTime(ms(1000)), ..tcp() };
    let mut world = World::new(MultiConfig::default(), &impatient, paths);
    world.open();
    world.run_until(at(1990));
    world.call(SERVER, |meta, _, _| meta.offer(1000 * SMSS));
    world.run_until(at(5000));
    assert_eq!(world.ends[SERVER].subflows[0].state(), State::Closed);
    assert_eq!(world.ends[CLIENT].subflows[0].state(), State::Established);
    world.run_until(at(100_000));
    assert_eq!(opened(&world, 0), [2, 2]);
    world.call(SERVER, |meta, _, _| meta.offer(1000 * SMSS));
    world.run_until(at(110_000));
    assert_eq!(world.ends[CLIENT].meta.counters().delivered_bytes, 2000 * SMSS);
    assert!(world.acked(SERVER, 0) > 100 * SMSS, "it carries data again");
}

/// The server offers the address of a path that is silent. The join fails, and is not repeated.
#[test]
fn rfc8684_3_4_1_a_join_that_failed_waits_for_another_offer() {
    let mut world = World::new(MultiConfig::default(), &tcp(), vec![Path::of(20), Path::of(60)]);
    world.open();
    world.run_until(at(1000));
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, true, subflows));
    world.run_until(at(2000));
    world.paths[1].down = vec![(at(2000), at(2_000_000))];
    for n in 1..3 {
        world.replace(1);
        world.call(SERVER, |meta, now, subflows| meta.join(now, 1, subflows));
        world.run_until(at(1_000_000 * n));
        let attempts = world.ends[CLIENT].events.iter().filter(|(_, event)| *event == MultiEvent::Left(1));
        assert_eq!(attempts.count() as u64, 1 + n, "the withdrawn connection, and an attempt for each offer");
    }
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Rejoins(1)), None);
}

/// A connection that has ended needs no subflow.
#[test]
fn nothing_joins_after_the_end() {
    let mut world = World::new(withdraws(), &tcp(), leo_and_geo());
    world.open();
    world.offer(100 * SMSS);
    world.run_until(at(2000));
    tell(&mut world, 0, false);
    [CLIENT, SERVER].into_iter().for_each(|end| world.close(end));
    world.run_until(at(20_000));
    tell(&mut world, 0, true);
    world.run_until(at(100_000));
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Rejoins(0)), None);
    assert_eq!(world.ends[CLIENT].meta.next_wakeup(), Time::NEVER);
}
