//! Rules that a transfer survives without: back-off, limits, and the choice of the subflow that is given up.

use super::bench::{at, ms, tcp, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{Coupling, MultiConfig, MultiEvent, Plan, Reinject, ReinjectOn};
use crate::{Config, Dss, Multipath, RtoConfig, Segment, Timestamps};
use bentpipe_cc::CcKind;
use bentpipe_units::{Duration, Time};

fn world_of(config: MultiConfig, paths: Vec<Path>) -> World {
    let mut world = World::new(config, &tcp(), paths);
    world.log = Some(Vec::new());
    world.open();
    world
}

/// Times between these instants, without the first `skipped`.
fn gaps(times: &[Time], skipped: usize) -> Vec<Duration> {
    times.windows(2).skip(skipped).map(|pair| pair[1] - pair[0]).collect()
}

/// RFC 9293 §3.8.6.1: the interval between probes grows exponentially.
#[test]
fn probes_of_a_closed_window_are_ever_rarer() {
    let config = MultiConfig { receive_buffer: 20 * SMSS, ..MultiConfig::default() };
    let mut world = world_of(config, vec![Path::of(20), Path::of(30)]);
    world.ends[SERVER].meta.set_reads_at_once(false);
    world.offer(50 * SMSS);
    let mut times = Vec::new();
    while world.step(at(40_000)) {
        if world.ends[CLIENT].meta.counters().window_probes > times.len() as u64 {
            times.push(world.now);
        }
    }
    let gaps = gaps(&times, 0);
    assert!(gaps.len() > 3 && gaps.windows(2).all(|pair| pair[1] == pair[0] * 2), "{gaps:?}");
}

/// The DATA_FIN of a peer that is gone, as a retransmission (RFC 6298 §5.5).
#[test]
fn a_data_fin_is_repeated_ever_more_rarely() {
    let mut world = world_of(MultiConfig::default(), vec![Path::of(20), Path::of(60)]);
    world.offer(10 * SMSS);
    world.run_until(at(2000));
    world.paths.iter_mut().for_each(|path| path.down = vec![(at(2000), Time::NEVER)]);
    world.close(CLIENT);
    world.run_until(at(30_000));
    let is_fin = |segment: &Segment| matches!(segment.multi, Some(Multipath::Dss(dss)) if dss.is_fin && dss.len == 0);
    let log = world.log.take().unwrap();
    let times: Vec<Time> = log.iter().filter(|sent| sent.1 == CLIENT && is_fin(&sent.3)).map(|sent| sent.0).collect();
    let gaps = gaps(&times, 0);
    assert!(gaps.len() > 3 && gaps.windows(2).all(|pair| pair[1] == pair[0] * 2), "{gaps:?}");
}

/// LEO is away three times for less than four data timers each, of GEO's timeout: it answers in between, and counts as
/// usable. Linux's `stale_loss_cnt` begins again with each answer.
#[test]
fn an_answer_ends_the_silence_of_a_subflow() {
    let reinject = Reinject { on: ReinjectOn::DataTimer, opportunistic: false, ..Reinject::default() };
    let away = [10, 20, 30].map(|s| (at(s * 1000), at(s * 1000 + 1700)));
    let leo = Path { segment_time: ms(1), queue: 50, down: away.to_vec(), ..Path::of(20) };
    let geo = Path { segment_time: ms(10), queue: 100, ..Path::of(300) };
    let mut world = world_of(MultiConfig { reinject, ..MultiConfig::default() }, vec![leo, geo]);
    world.offer(u64::MAX >> 9);
    world.run_until(at(40_000));
    assert_eq!(world.first(CLIENT, |event| matches!(event, MultiEvent::Failed(_))), None);
    assert!(world.acked(CLIENT, 0) > 10_000 * SMSS);
}

/// The only subflow is kept for any time of silence: no other subflow can carry its data.
#[test]
fn the_data_timer_gives_no_last_subflow_up() {
    let reinject = Reinject { on: ReinjectOn::DataTimer, ..Reinject::default() };
    let config = MultiConfig { reinject, ..MultiConfig::default() };
    let first = Path { down: vec![(at(2000), at(30_000))], segment_time: ms(5), ..Path::of(20) };
    let never = Plan { start: Duration::MAX, ..Plan::default() };
    let mut world = World::planned(config, &tcp(), vec![(first, Plan::default()), (Path::of(30), never)]);
    world.open();
    world.offer(2000 * SMSS);
    assert!(world.run_until_delivered(2000 * SMSS, at(200_000)).is_some());
    assert_eq!(world.first(CLIENT, |event| matches!(event, MultiEvent::Failed(_))), None);
}

/// Of two subflows that could carry the data of a third, the faster one does.
#[test]
fn reinjected_data_take_the_fastest_way() {
    let reinject = Reinject { on: ReinjectOn::Told, ..Reinject::default() };
    let paths = [20, 40, 300].map(Path::of).to_vec();
    let mut world = world_of(MultiConfig { reinject, ..MultiConfig::default() }, paths);
    world.offer(40 * SMSS);
    world.run_until(at(3000));
    // All subflows are open and empty.
    world.offer(8 * SMSS);
    world.call(CLIENT, |meta, now, subflows| meta.on_path_down(now, 0, subflows));
    world.run_until(at(6000));
    let ways: Vec<usize> = world.ends[CLIENT]
        .events
        .iter()
        .filter_map(|(_, event)| if let MultiEvent::Reinjected { to, .. } = event { Some(*to) } else { None })
        .collect();
    assert!(ways.len() >= 8 && ways.iter().all(|to| *to == 1), "{ways:?}");
}

/// Eleven segments: ten fill LEO's first window, and the last one takes GEO. Five more overtake it on LEO. When it
/// arrives, all are acknowledged at once, as RFC 5681 §4.2 asks of a segment that fills a gap.
#[test]
fn data_that_fill_a_hole_are_acknowledged_at_once() {
    let mut world = world_of(MultiConfig::default(), vec![Path::of(20), Path::of(300)]);
    world.run_until(at(3000));
    world.offer(11 * SMSS);
    world.run_until(at(3050));
    world.offer(5 * SMSS);
    world.run_until(at(3299));
    assert_eq!([world.delivered(), world.ends[SERVER].meta.held_bytes()], [10 * SMSS, 5 * SMSS]);
    world.run_until(at(3310));
    assert_eq!(world.delivered(), 16 * SMSS);
    let log = world.log.take().unwrap();
    let answers: Vec<Time> = log.iter().filter(|sent| sent.1 == SERVER && sent.2 == 1).map(|sent| sent.0).collect();
    assert_eq!(answers.last(), Some(&at(3300)), "{answers:?}");
}

/// A pure ACK without an option on a subflow that has signalled before changes nothing (RFC 8684 §3.7 is for data).
#[test]
fn an_ack_without_an_option_ends_no_subflow_that_had_options() {
    let mut world = world_of(MultiConfig::default(), vec![Path::of(20), Path::of(30)]);
    world.run_until(at(1000));
    world.offer(40 * SMSS);
    world.run_until(at(2000));
    let log = world.log.take().unwrap();
    let is_ack = |end: usize, i: usize, segment: &Segment| end == SERVER && i == 1 && segment.len == 0;
    let ack = log.iter().rev().find(|sent| is_ack(sent.1, sent.2, &sent.3)).expect("it carried data").3;
    world.call(CLIENT, |meta, now, subflows| meta.handle(now, 1, &Segment { multi: None, ..ack }, subflows));
    assert_eq!(world.first(CLIENT, |event| *event == MultiEvent::Left(1)), None);
    assert!(world.ends[CLIENT].subflows[1].report().takes_data());
}

/// No subflow is open for 30 s, then one is: the end after 60 s without any is off.
#[test]
fn a_connection_that_has_a_subflow_again_goes_on() {
    let mut world = world_of(MultiConfig::default(), vec![Path::of(20), Path::of(30)]);
    world.offer(40 * SMSS);
    world.run_until(at(2000));
    for i in 0..2 {
        world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, i, true, subflows));
    }
    world.run_until(at(32_000));
    world.replace(0);
    for end in [SERVER, CLIENT] {
        world.call(end, |meta, now, subflows| meta.join(now, 0, subflows));
    }
    world.run_until(at(100_000));
    world.offer(40 * SMSS);
    assert!(world.run_until_delivered(80 * SMSS, at(110_000)).is_some());
}

/// RFC 6356 §3, for NewReno, whose window is inflated in recovery: its siblings grow by the window that it will have.
#[test]
fn coupling_sees_the_threshold_of_a_subflow_in_recovery() {
    let config = MultiConfig { coupling: Coupling::Lia, ..MultiConfig::default() };
    let cc = CcKind::NewReno;
    let rto = RtoConfig { granularity: Duration::ZERO, min: ms(200), ..RtoConfig::default() };
    let tcp = Config { cc: cc.into(), recovery: cc.recovery(), rto, ..tcp() };
    let path = |delay| Path { segment_time: ms(2), queue: 20, ..Path::of(delay) };
    let mut world = World::new(config, &tcp, vec![path(50), path(60)]);
    world.open();
    world.offer(u64::MAX >> 9);
    let mut seen = 0;
    while world.now < at(60_000) {
        let conn = &world.ends[CLIENT].subflows[0];
        let inflated =
            conn.report().is_repairing() && conn.ssthresh().is_some_and(|threshold| threshold != conn.cwnd());
        let expected = conn.ssthresh().map(|threshold| threshold as f64 / conn.report().smss() as f64);
        let is_arrival = world.next_arrival().is_some_and(|(end, _)| end == CLIENT);
        world.step(at(60_000));
        let members = &world.ends[CLIENT].meta.members;
        if inflated && is_arrival && members.len() == 2 {
            assert_eq!(Some(members[0].window), expected);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// A segment with the last data has an old timestamp: its subflow refuses it (RFC 7323 §5.3). Its data have not arrived.
#[test]
fn data_that_a_subflow_refuses_have_not_arrived() {
    let tcp = Config { timestamps: true, ..tcp() };
    let mut world = World::new(MultiConfig::default(), &tcp, vec![Path::of(20), Path::of(30)]);
    world.log = Some(Vec::new());
    world.open();
    world.run_until(at(1000));
    let of_client = |sent: &&super::bench::Departure| sent.1 == CLIENT && sent.2 == 0;
    let third = world.log.iter().flatten().rfind(of_client).expect("the handshake").3;
    let dss = Dss { len: SMSS as u16, is_fin: true, ..Dss::default() };
    let multi = Some(Multipath::Dss(dss));
    let old = third.timestamps.map(|stamps| Timestamps { value: stamps.value.wrapping_sub(1000), ..stamps });
    let segment = Segment { len: SMSS as u16, timestamps: old, multi, ..third };
    assert!(old.is_some());
    world.call(SERVER, |meta, now, subflows| meta.handle(now, 0, &segment, subflows));
    assert_eq!(world.delivered(), 0);
    world.offer(SMSS);
    world.close(CLIENT);
    world.run_until(at(2000));
    assert_eq!(world.delivered(), SMSS);
    assert_eq!(world.ends[SERVER].meta.counters().data_duplicate_bytes, 0);
}
