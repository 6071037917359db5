//! Options that say more than where data belong: keys with the first data, reasons of resets, the last mapping before TCP; and how
//! a subflow is taken out of use.

use super::bench::{at, mapping, tcp, Departure, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, MultiEvent, Plan, Rejoin, SchedulerConfig, SchedulerKind};
use crate::{Config, Flags, GiveUp, Multipath, ResetReason, Segment, State, SubflowReset};
use bentpipe_units::{Duration, Time};

/// A connection that is not open yet, whose server sends nothing before it gets data.
fn closed(paths: Vec<Path>) -> World {
    let mut world = World::new(MultiConfig::default(), &tcp(), paths);
    (world.log, world.confirms) = (Some(Vec::new()), false);
    world
}

/// Two subflows that are open, and used in turn.
fn open(paths: Vec<Path>) -> World {
    let config = MultiConfig { scheduler: SchedulerConfig::from(SchedulerKind::RoundRobin), ..MultiConfig::default() };
    let mut world = World::new(config, &tcp(), paths);
    world.open();
    world.run_until(at(1000));
    world.log = Some(Vec::new());
    world
}

fn left(world: &World, end: usize, i: usize) -> Vec<Departure> {
    world.log.iter().flatten().filter(|sent| sent.1 == end && sent.2 == i).copied().collect()
}

fn data(world: &World) -> Vec<Segment> {
    left(world, CLIENT, 0).iter().map(|sent| sent.3).filter(|segment| segment.len > 0).collect()
}

/// Data leave with the third segment: they have the keys and no larger packet than others. The next ones have the signal.
#[test]
fn rfc8684_3_1_the_third_segment_with_data_has_the_keys() {
    let mut world = closed(vec![Path::of(20), Path::of(30)]);
    world.offer(3 * SMSS);
    world.open();
    world.run_until(at(1000));
    assert_eq!(left(&world, CLIENT, 0)[1].0, at(40), "no ACK without data");
    let sent = data(&world);
    let is = |segment: &Segment| (segment.multi == Some(Multipath::Capable), u32::from(segment.len));
    let smss = SMSS as u32;
    assert_eq!(sent.iter().map(is).collect::<Vec<_>>(), [(true, smss - 4), (false, smss), (false, smss), (false, 4)]);
    let size = |segment: &Segment| u32::from(segment.header_len()) + u32::from(segment.len);
    assert_eq!(size(&sent[0]), size(&sent[1]));
    assert_eq!(sent.iter().filter_map(mapping).map(|(dsn, _)| dsn).collect::<Vec<_>>(), [0, 996, 1996, 2996]);
    assert_eq!((world.delivered(), world.ends[CLIENT].meta.acked_bytes()), (3 * SMSS, 3 * SMSS));
}

/// Data come later: the third segment had the keys, but may be lost. When the peer has sent data first, it has them.
#[test]
fn rfc8684_3_1_the_first_data_repeat_the_keys() {
    for peer_first in [false, true] {
        let mut world = closed(vec![Path::of(20), Path::of(30)]);
        world.open();
        world.run_until(at(500));
        if peer_first {
            world.call(SERVER, |meta, _, _| meta.offer(SMSS));
        }
        world.run_until(at(600));
        world.offer(2 * SMSS);
        world.run_until(at(2000));
        let keys = data(&world).iter().filter(|segment| segment.multi == Some(Multipath::Capable)).count();
        assert_eq!((left(&world, CLIENT, 0)[1].3.multi, keys), (Some(Multipath::Capable), usize::from(!peer_first)));
        assert_eq!(world.delivered(), 2 * SMSS);
    }
}

/// The only segment with data is lost, and leaves again with the keys. The end of the data follows as a signal.
#[test]
fn rfc8684_3_1_lost_keys_leave_again() {
    let first = Path { down: vec![(at(60), at(61))], ..Path::of(20) };
    let mut world = closed(vec![first, Path::of(30)]);
    world.offer(100);
    world.close(CLIENT);
    world.open();
    world.run_until(at(5000));
    let sent = data(&world);
    assert!(sent.len() > 1 && sent.iter().all(|segment| segment.multi == Some(Multipath::Capable)), "{sent:?}");
    assert_eq!(world.delivered(), 100);
    assert!(world.first(SERVER, |event| *event == MultiEvent::PeerFinished).is_some());
}

/// The first signal arrives with the acknowledgement of the first data. Without data there is none.
#[test]
fn rfc8684_3_1_others_join_after_a_signal() {
    let mut world = closed(vec![Path::of(50), Path::of(20)]);
    world.open();
    world.run_until(at(5000));
    assert!(left(&world, CLIENT, 1).is_empty());
    world.offer(2 * SMSS);
    world.run_until(at(6000));
    let signal = left(&world, SERVER, 0).into_iter().find(|sent| matches!(sent.3.multi, Some(Multipath::Dss(_))));
    let (left_at, joined) = (signal.expect("data were acknowledged").0, left(&world, CLIENT, 1)[0].0);
    assert_eq!((joined, left_at), (at(5100), at(5050)));
}

/// No other subflow opens without a signal.
#[test]
fn a_connection_that_was_never_complete_ends_with_its_first_subflow() {
    let impatient = Config { give_up: GiveUp::AfterRetransmissions(2), ..tcp() };
    let first = Path { down: vec![(at(50), Time::NEVER)], ..Path::of(20) };
    let mut world = World::new(MultiConfig::default(), &impatient, vec![first, Path::of(30)]);
    world.open();
    world.offer(SMSS);
    world.run_until(at(20_000));
    assert!(world.ends[CLIENT].meta.is_closed());
    assert_eq!(world.ends[CLIENT].subflows[1].state(), State::Closed);
}

/// The data that it was given are delivered over it, and no reset and no REMOVE_ADDR leaves.
#[test]
fn rfc8684_3_4_2_a_subflow_that_works_leaves_by_fin() {
    let mut world = open(vec![Path::of(20), Path::of(60)]);
    world.offer(200 * SMSS);
    world.run_until(at(1050));
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, false, subflows));
    assert!(world.run_until_delivered(200 * SMSS, at(20_000)).is_some());
    world.run_until(at(3000));
    let log = world.log.as_ref().unwrap();
    assert!(log.iter().all(|sent| !sent.3.flags.has(Flags::RST)));
    assert!(log.iter().all(|sent| !matches!(sent.3.multi, Some(Multipath::RemoveAddress(_)))));
    let fins = |end| left(&world, end, 1).iter().filter(|sent| sent.3.flags.has(Flags::FIN)).count();
    assert_eq!([CLIENT, SERVER].map(fins), [1, 1]);
    assert_eq!([CLIENT, SERVER].map(|end| world.ends[end].subflows[1].state()), [State::TimeWait, State::Closed]);
    assert_eq!(world.ends[CLIENT].meta.counters().reinjected_bytes, 0);
    let last = left(&world, CLIENT, 1).iter().filter(|sent| sent.3.len > 0).map(|sent| sent.0).max();
    assert!(last <= Some(at(1050)), "new data take the other subflow");
}

/// While it leaves, its path fails: others carry its data.
#[test]
fn a_subflow_that_fails_while_it_leaves_loses_nothing() {
    let second = Path { down: vec![(at(1060), Time::NEVER)], ..Path::of(60) };
    let mut world = open(vec![Path::of(20), second]);
    world.offer(20 * SMSS);
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, false, subflows));
    assert!(world.run_until_delivered(20 * SMSS, at(20_000)).is_some());
    assert!(world.ends[CLIENT].meta.counters().reinjected_bytes > 0);
}

/// RFC 8684 §3.3.8: without another regular subflow the backup carries data.
#[test]
fn a_backup_takes_over_from_a_subflow_that_leaves() {
    let backup = Plan { is_backup: true, ..Plan::default() };
    let plans = vec![(Path::of(20), Plan::default()), (Path::of(60), backup)];
    let mut world = World::planned(MultiConfig::default(), &tcp(), plans);
    world.open();
    world.run_until(at(1000));
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 0, false, subflows));
    world.offer(20 * SMSS);
    assert!(world.run_until_delivered(20 * SMSS, at(3000)).is_some());
    assert_eq!(world.acked(CLIENT, 0), 0);
}

/// The options of the resets that left, by end and subflow, and the same as both ends report them.
fn reasons(world: &World) -> Vec<(usize, usize, Option<Multipath>)> {
    let resets = world.log.iter().flatten().filter(|sent| sent.3.flags.has(Flags::RST));
    resets.map(|sent| (sent.1, sent.2, sent.3.multi)).collect()
}

fn reported(world: &World, end: usize) -> Vec<SubflowReset> {
    let is = |(_, event): &(_, MultiEvent)| if let MultiEvent::Reset(1, reset) = event { Some(*reset) } else { None };
    world.ends[end].events.iter().filter_map(is).collect()
}

/// Both ends know it.
#[test]
fn rfc8684_3_6_the_reset_of_a_subflow_has_its_reason() {
    let gone = SubflowReset::permanent(ResetReason::Unspecified);
    let mut world = open(vec![Path::of(20), Path::of(30)]);
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, true, subflows));
    world.run_until(at(60_000));
    assert_eq!(reasons(&world), [(CLIENT, 1, Some(Multipath::Reset(gone)))]);
    assert_eq!([CLIENT, SERVER].map(|end| reported(&world, end)), [[gone], [gone]]);
    let reset = world.log.iter().flatten().find(|sent| sent.3.flags.has(Flags::RST)).expect("it left");
    assert_eq!(reset.3.header_len(), 44);
}

/// The path is silent: the peer may join over it again later.
#[test]
fn rfc8684_3_6_a_silent_path_is_a_transient_reason() {
    let told = |world: &World| (reasons(world), reported(world, SERVER));
    let expected = |end| (vec![(end, 1, Some(Multipath::Reset(SubflowReset::SILENT)))], vec![SubflowReset::SILENT]);
    // The address is removed, and keepalives get no answer.
    let mut world = open(vec![Path::of(20), Path { down: vec![(at(1000), Time::NEVER)], ..Path::of(30) }]);
    world.call(CLIENT, |meta, _, subflows| {
        subflows[0].tell(Multipath::RemoveAddress(1));
        meta.outbox.touch(0);
    });
    world.run_until(at(60_000));
    assert_eq!(told(&world), expected(SERVER));
    // A connection gives up after its retransmissions.
    let impatient = Config { give_up: GiveUp::AfterRetransmissions(3), ..tcp() };
    let down = Path { down: vec![(at(1000), Time::NEVER)], ..Path::of(30) };
    // The end that has given up does not offer its address again.
    let rejoin = Rejoin { retry: false, ..Rejoin::default() };
    let config = MultiConfig { rejoin, ..MultiConfig::default() };
    let mut world = World::new(config, &impatient, vec![Path::of(20), down]);
    world.open();
    world.run_until(at(1000));
    world.log = Some(Vec::new());
    world.call(SERVER, |meta, _, _| meta.offer(100 * SMSS));
    world.run_until(at(60_000));
    assert_eq!(told(&world), expected(SERVER));
}

/// The options are gone from the data on, or from the SYN.
#[test]
fn rfc8684_3_7_a_subflow_without_options_is_reset_for_a_middlebox() {
    let mut world = open(vec![Path::of(20), Path { strips_from: at(1000), ..Path::of(30) }]);
    world.offer(100 * SMSS);
    world.run_until(at(10_000));
    let middlebox = Multipath::Reset(SubflowReset::permanent(ResetReason::Middlebox));
    assert_eq!(reasons(&world).first(), Some(&(SERVER, 1, Some(middlebox))));
    let mut world = World::new(
        MultiConfig::default(),
        &tcp(),
        vec![Path::of(20), Path { strips_from: Time::ZERO, strips_of: Some(SERVER), ..Path::of(30) }],
    );
    world.log = Some(Vec::new());
    world.open();
    world.run_until(at(10_000));
    let signals = Multipath::Reset(SubflowReset::permanent(ResetReason::Signals));
    assert_eq!(reasons(&world).first(), Some(&(CLIENT, 1, Some(signals))));
}

/// The acknowledgements lose their options. The client maps further data once and for all, and the server hears of it.
#[test]
fn rfc8684_3_7_the_last_mapping_has_no_end() {
    let never = Plan { start: Duration::MAX, ..Plan::default() };
    let first = Path { strips_from: at(200), strips_of: Some(SERVER), ..Path::of(20) };
    let mut world =
        World::planned(MultiConfig::default(), &tcp(), vec![(first, Plan::default()), (Path::of(30), never)]);
    world.log = Some(Vec::new());
    world.open();
    world.run_until(at(300));
    world.offer(300 * SMSS);
    world.close(CLIENT);
    world.run_until(at(20_000));
    assert_eq!([CLIENT, SERVER].map(|end| world.ends[end].meta.fell_back()), [true; 2]);
    assert_eq!((world.delivered(), world.ends[CLIENT].meta.acked_bytes()), (300 * SMSS, 300 * SMSS));
    let sent = data(&world);
    let last = sent.iter().position(|segment| matches!(segment.multi, Some(Multipath::Infinite(_)))).expect("it left");
    let Some(Multipath::Infinite(dss)) = sent[last].multi else { panic!("{:?}", sent[last]) };
    let first = sent[0].seq.value();
    assert_eq!((dss.dsn.value(), dss.len), (sent[last].seq.value().wrapping_sub(first), 0));
    assert!(sent[..last].iter().all(|segment| matches!(segment.multi, Some(Multipath::Dss(_)))));
    assert!(sent[last + 1..].iter().all(|segment| segment.multi.is_none()));
    assert_eq!(sent[last].header_len(), 60);
}
