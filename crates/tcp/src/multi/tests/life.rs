//! Opening, joining, leaving, closing, and fallback to TCP.

use super::bench::{at, ms, tcp, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, MultiEvent, Plan, Reinject, ReinjectOn};
use crate::{Config, Multipath, State};
use bentpipe_units::{Duration, Time};

fn world(paths: Vec<Path>) -> World {
    let mut world = World::new(MultiConfig::default(), &tcp(), paths);
    world.log = Some(Vec::new());
    world.open();
    world
}

/// The client's SYN of GEO leaves when a signal has arrived over LEO, at 80 ms. The fourth segment arrives two round trips later, at
/// 1.28 s. The server may send on GEO after one and a half round trips.
#[test]
fn rfc8684_3_2_a_join_takes_two_round_trips() {
    let mut world = world(vec![Path::of(20), Path::of(300)]);
    world.run_until(at(1279));
    assert_eq!([CLIENT, SERVER].map(|end| world.ends[end].subflows[1].report().takes_data()), [false, true]);
    world.run_until(at(1280));
    assert!(world.ends[CLIENT].subflows[1].report().takes_data());
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Joined(1)), Some(at(680)));
    assert_eq!(world.first(SERVER, |event| *event == MultiEvent::Joined(1)), Some(at(980)));
    let syn = world.log.as_ref().unwrap().iter().find(|(_, end, i, ..)| *end == CLIENT && *i == 1).unwrap();
    assert_eq!((syn.0, syn.3.multi), (at(80), Some(Multipath::Join { id: 1, is_backup: false })));
}

/// The fourth segment is lost: the third leaves again.
#[test]
fn rfc8684_3_2_the_third_segment_is_repeated_until_it_is_answered() {
    let mut lossy = Path::of(50);
    lossy.down = vec![(at(80 + 190), at(80 + 210))];
    let mut world = world(vec![Path::of(20), lossy]);
    world.run_until(at(340));
    assert!(!world.ends[CLIENT].subflows[1].report().takes_data());
    world.run_until(at(4000));
    assert!(world.ends[CLIENT].subflows[1].report().takes_data());
}

/// Sizes: MP_CAPABLE 4, 12, 20 bytes, DATA_ACK 8, MP_JOIN 12, 16, 24, DSS 20, DATA_ACK 8.
#[test]
fn headers_have_the_sizes_of_rfc8684() {
    let mut world = world(vec![Path::of(20), Path::of(30)]);
    world.run_until(at(500));
    world.offer(2 * SMSS);
    world.run_until(at(1000));
    let log = world.log.take().unwrap();
    let extra =
        |segment: &crate::Segment| segment.header_len() - crate::Segment { multi: None, ..*segment }.header_len();
    let of = |i: usize| -> Vec<u8> { log.iter().filter(|sent| sent.2 == i).map(|sent| extra(&sent.3)).collect() };
    assert_eq!(of(0), [4, 12, 20, 8, 20, 20, 8]);
    assert_eq!(of(1), [12, 16, 24, 8]);
}

#[test]
fn rfc8684_3_3_3_the_end_of_the_data_closes_every_subflow() {
    let mut world = world(vec![Path::of(20), Path::of(60)]);
    world.offer(100 * SMSS);
    world.close(CLIENT);
    assert!(world.run_until_delivered(100 * SMSS, at(10_000)).is_some());
    world.run_until(at(3000));
    assert!(
        world.ends[CLIENT].subflows.iter().all(|conn| conn.state() == State::FinWait2),
        "the server may still send"
    );
    world.close(SERVER);
    world.run_until(at(4000));
    assert!(world.ends[SERVER].meta.is_closed());
    assert_eq!(world.ends[SERVER].subflows.iter().map(|conn| conn.state()).collect::<Vec<_>>(), [State::Closed; 2]);
    world.run_until(at(400_000));
    assert!(world.ends[CLIENT].meta.is_closed());
    assert_eq!(world.ends[CLIENT].events.last().map(|(_, event)| *event), Some(MultiEvent::Closed));
}

/// A DATA_FIN without data, whose segment is lost, leaves again.
#[test]
fn a_lost_data_fin_is_repeated() {
    let mut world = world(vec![Path::of(20), Path::of(60)]);
    world.offer(10 * SMSS);
    world.run_until(at(2000));
    world.paths.iter_mut().for_each(|path| path.down = vec![(at(2000), at(2100))]);
    world.close(CLIENT);
    world.run_until(at(10_000));
    let ended = world.first(SERVER, |event| *event == MultiEvent::PeerFinished).expect("it ends");
    assert!(ended > at(2200), "{ended:?}");
}

/// The other end, or the path, does not know the option of the SYN.
#[test]
fn rfc8684_3_1_without_the_option_it_is_tcp() {
    let mut world = world(vec![Path { strips_from: Time::ZERO, ..Path::of(20) }, Path::of(30)]);
    world.offer(300 * SMSS);
    world.close(CLIENT);
    assert!(world.run_until_delivered(300 * SMSS, at(10_000)).is_some());
    world.run_until(world.now + ms(2000));
    assert!([CLIENT, SERVER].iter().all(|end| world.ends[*end].meta.fell_back()));
    assert_eq!(world.acked(CLIENT, 1), 0);
    assert_eq!(world.ends[CLIENT].meta.acked_bytes(), 300 * SMSS);
    assert!(world.ends[SERVER].events.iter().any(|(_, event)| *event == MultiEvent::PeerFinished));
}

/// The options are taken away from the data on, and the other subflow has not joined: plain TCP goes on.
#[test]
fn rfc8684_3_7_options_that_vanish_later_end_in_tcp() {
    let plans = |path| vec![(path, Plan::default()), (Path::of(30), Plan { start: Duration::MAX, ..Plan::default() })];
    for from in [50, 200] {
        let path = Path { strips_from: at(from), ..Path::of(20) };
        let mut world = World::planned(MultiConfig::default(), &tcp(), plans(path));
        world.open();
        world.run_until(at(100));
        world.offer(300 * SMSS);
        world.close(CLIENT);
        assert!(world.run_until_delivered(300 * SMSS, at(20_000)).is_some(), "{from}");
        world.run_until(world.now + ms(2000));
        assert!([CLIENT, SERVER].iter().all(|end| world.ends[*end].meta.fell_back()), "{from}");
        assert_eq!((world.delivered(), world.ends[CLIENT].meta.acked_bytes()), (300 * SMSS, 300 * SMSS));
    }
}

/// A subflow that joined without its options is another connection: it is refused, and the first goes on.
#[test]
fn rfc8684_3_2_a_join_without_the_option_is_refused() {
    let mut world = world(vec![Path::of(20), Path { strips_from: Time::ZERO, ..Path::of(30) }]);
    world.offer(100 * SMSS);
    assert!(world.run_until_delivered(100 * SMSS, at(10_000)).is_some());
    world.run_until(world.now + ms(2000));
    assert!(!world.ends[CLIENT].meta.fell_back());
    let states = [CLIENT, SERVER].map(|end| world.ends[end].subflows[1].state());
    assert_eq!(states, [State::Closed, State::Listen], "the server waits for another");
}

#[test]
fn a_withdrawn_subflow_leaves_its_data_to_others_and_may_come_back() {
    let path = |delay| Path { segment_time: ms(1), queue: 100, ..Path::of(delay) };
    let mut world = world(vec![path(20), path(60)]);
    world.offer(20_000 * SMSS);
    world.run_until(at(2000));
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 0, true, subflows));
    world.run_until(at(8000));
    assert!([CLIENT, SERVER].iter().all(|end| world.ends[*end].subflows[0].state() == State::Closed));
    assert!(world
        .first(CLIENT, |event| matches!(event, MultiEvent::Reinjected { from: Some(0), to: 1, .. }))
        .is_some());
    world.replace(0);
    world.call(SERVER, |meta, now, subflows| meta.join(now, 0, subflows));
    // The client hears of the address (ADD_ADDR), and joins.
    world.run_until(at(9000));
    assert_eq!(world.ends[CLIENT].meta.subflow(0).joins, 2);
    assert!(world.run_until_delivered(20_000 * SMSS, at(60_000)).is_some());
    assert!(world.acked(CLIENT, 0) > 1000 * SMSS, "it carries data again");
    assert_eq!(world.delivered(), 20_000 * SMSS);
}

/// RFC 8684 §3.3.8.
#[test]
fn rfc8684_3_3_8_the_peer_hears_of_a_backup() {
    let mut world = world(vec![Path::of(20), Path::of(30)]);
    world.run_until(at(1000));
    world.call(CLIENT, |meta, _, subflows| meta.set_backup(0, true, subflows));
    world.run_until(at(1100));
    assert!(world.ends[SERVER].meta.subflow(0).is_backup);
}

/// RFC 8684 §3.5.
#[test]
fn rfc8684_3_5_all_subflows_end_at_once() {
    let mut world = world(vec![Path::of(20), Path::of(30)]);
    world.offer(1000 * SMSS);
    world.run_until(at(100));
    // Only one reset arrives.
    world.paths[1].down = vec![(at(100), Time::NEVER)];
    world.call(CLIENT, |meta, _, subflows| meta.abort(subflows));
    world.run_until(at(200));
    assert!(world.ends[CLIENT].meta.is_closed());
    assert!(world.ends[SERVER].subflows.iter().all(|conn| conn.state() == State::Closed));
    world.run_until(at(70_000));
    assert!(world.ends[SERVER].meta.is_closed());
}

/// A subflow that joins after all data were sent carries none, and is closed with the others.
#[test]
fn a_late_subflow_joins_and_closes() {
    let late = Plan { start: ms(2000), ..Plan::default() };
    let plans = vec![(Path::of(20), Plan::default()), (Path::of(300), late)];
    let mut world = World::planned(MultiConfig::default(), &tcp(), plans);
    world.open();
    world.offer(20 * SMSS);
    world.close(CLIENT);
    world.run_until(at(1000));
    world.close(SERVER);
    world.run_until(at(10_000));
    assert!(world.ends[SERVER].meta.is_closed());
    assert_eq!(world.delivered(), 20 * SMSS);
}

/// Its route is usable again, but its connection is not.
#[test]
fn a_subflow_that_gave_up_is_not_restored() {
    let reinject = Reinject { on: ReinjectOn::Told, ..Reinject::default() };
    for gives_up in [false, true] {
        let mut world =
            World::new(MultiConfig { reinject, ..MultiConfig::default() }, &tcp(), vec![Path::of(20), Path::of(60)]);
        world.open();
        world.run_until(at(1000));
        world.call(CLIENT, |meta, now, subflows| meta.on_path_down(now, 1, subflows));
        if gives_up {
            world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, true, subflows));
        }
        world.call(CLIENT, |meta, now, subflows| meta.on_path_up(now, 1, subflows));
        world.run_until(at(2000));
        let restored = world.first(CLIENT, |event| *event == MultiEvent::Restored(1));
        assert_eq!(restored, (!gives_up).then_some(at(1000)));
    }
}

/// Dummy segments copy data: they have its mapping. Without it, the peer would conclude that someone takes the options away.
#[test]
fn rfc8684_3_3_dummy_segments_have_the_signal() {
    let cc = bentpipe_cc::CcKind::Peach;
    let tcp = Config { cc: cc.into(), recovery: cc.recovery(), ..tcp() };
    let path = |delay| Path { segment_time: ms(1), queue: 50, ..Path::of(delay) };
    let mut world = World::new(MultiConfig::default(), &tcp, vec![path(20), path(60)]);
    world.log = Some(Vec::new());
    world.open();
    world.offer(2000 * SMSS);
    world.run_until(at(20_000));
    let log = world.log.take().unwrap();
    assert!(log.iter().any(|(.., segment, _)| segment.is_dummy() && segment.len > 0), "dummies leave");
    assert!(log.iter().all(|(.., segment, _)| segment.multi.is_some()), "each segment has an option");
    assert_eq!((world.delivered(), world.ends[SERVER].meta.fell_back()), (2000 * SMSS, false));
    assert!(world.acked(CLIENT, 1) > 0);
}
