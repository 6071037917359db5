//! Requirements of RFC 8684 for any connection, seen in the segments that leave.

use super::bench::{at, mapping, tcp, Departure, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, SchedulerConfig, SchedulerKind};
use crate::{Config, Flags, Multipath};
use bentpipe_units::Time;

fn world_of(kind: SchedulerKind, paths: Vec<Path>) -> World {
    let config = MultiConfig { scheduler: SchedulerConfig::from(kind), ..MultiConfig::default() };
    let mut world = World::new(config, &tcp(), paths);
    world.log = Some(Vec::new());
    world.open();
    world
}

/// The data of the client on subflow `i`: time, first byte of the subflow, data, bytes, whether it arrives.
fn data(log: &[Departure], i: usize) -> Vec<(Time, u64, u64, u64, bool)> {
    let of_client = log.iter().filter(|sent| sent.1 == CLIENT && sent.2 == i);
    let parts =
        |sent: &Departure| mapping(&sent.3).map(|(dsn, len)| (sent.0, u64::from(sent.3.seq.value()), dsn, len, sent.4));
    of_client.filter_map(parts).collect()
}

/// Lost segments leave again, whole or in parts: each byte of a subflow is the same data as before.
#[test]
fn rfc8684_3_3_1_a_mapping_never_changes() {
    let lossy = |delay| Path { loss: 65_536 / 50, ..Path::of(delay) };
    for kind in [SchedulerKind::MinRtt, SchedulerKind::Redundant] {
        let mut world = world_of(kind, vec![lossy(20), lossy(60)]);
        world.offer(1000 * SMSS);
        assert!(world.run_until_delivered(1000 * SMSS, at(100_000)).is_some());
        let log = world.log.take().unwrap();
        for i in 0..2 {
            let mut is = std::collections::BTreeMap::new();
            let mut repeated = 0;
            for (_, seq, dsn, len, _) in data(&log, i) {
                for byte in 0..len {
                    let before = is.insert(seq + byte, dsn + byte);
                    assert!(before.is_none_or(|before| before == dsn + byte), "{kind:?}, subflow {i}: {seq}");
                    repeated += u64::from(before.is_some());
                }
            }
            assert!(repeated > 5 * SMSS, "{kind:?}, subflow {i}: {repeated} B left again");
        }
    }
}

/// Both subflows carry all data. A segment is lost on the slow one; the fast one has brought its data. It leaves again on the
/// slow one: a subflow has no hole.
#[test]
fn rfc8684_3_3_6_a_subflow_repeats_what_another_has_delivered() {
    let slow = Path { down: vec![(at(1060), at(1061))], ..Path::of(60) };
    let mut world = world_of(SchedulerKind::Redundant, vec![Path::of(20), slow]);
    world.run_until(at(1000));
    world.offer(5 * SMSS);
    world.run_until(at(5000));
    let log = world.log.take().unwrap();
    let lost: Vec<_> = data(&log, 1).into_iter().filter(|sent| !sent.4).collect();
    assert_eq!(lost.len(), 5, "{lost:?}");
    let is_acknowledged = |by: Time| {
        let acks = log.iter().filter(|sent| sent.1 == SERVER && sent.2 == 0 && sent.0 + super::bench::ms(20) <= by);
        acks.filter_map(|sent| match sent.3.multi {
            Some(Multipath::Dss(dss)) => Some(u64::from(dss.data_ack.value())),
            _ => None,
        })
        .max()
    };
    for (_, seq, dsn, len, _) in lost {
        let again = data(&log, 1).into_iter().find(|sent| sent.4 && sent.1 <= seq && seq + len <= sent.1 + sent.3);
        let (left, start, of, ..) = again.expect("it leaves again");
        assert_eq!(seq - start, dsn - of, "the same mapping");
        assert!(is_acknowledged(left) >= Some(5 * SMSS), "all data was acknowledged before");
    }
    assert_eq!(world.acked(CLIENT, 1), 5 * SMSS);
}

/// Only the handshake leaves on a subflow that joins before the fourth segment has arrived: 80 + 200 ms.
#[test]
fn rfc8684_3_2_no_data_leaves_before_the_fourth_segment() {
    let mut world = world_of(SchedulerKind::RoundRobin, vec![Path::of(20), Path::of(50)]);
    world.offer(1000 * SMSS);
    assert!(world.run_until_delivered(1000 * SMSS, at(100_000)).is_some());
    let log = world.log.take().unwrap();
    assert_eq!(data(&log, 1).first().map(|sent| sent.0), Some(at(280)));
}

/// The SYN arrives without MP_CAPABLE: the answer has none, and no later segment.
#[test]
fn rfc8684_3_1_who_did_not_get_the_option_sends_none() {
    let mut world =
        world_of(SchedulerKind::MinRtt, vec![Path { strips_from: Time::ZERO, ..Path::of(20) }, Path::of(30)]);
    world.offer(100 * SMSS);
    assert!(world.run_until_delivered(100 * SMSS, at(10_000)).is_some());
    let log = world.log.take().unwrap();
    let answers: Vec<_> = log.iter().filter(|sent| sent.1 == SERVER).collect();
    assert!(answers.len() > 20 && answers.iter().all(|sent| sent.3.multi.is_none()));
    assert!(log.iter().all(|sent| sent.2 == 0), "no subflow joins plain TCP");
}

/// Segments that carry an option only acknowledge nothing new. Four of them are no sign of a loss.
#[test]
fn rfc8684_3_segments_of_options_are_no_duplicates() {
    let cc = bentpipe_cc::CcKind::NewReno;
    let tcp = Config { cc: cc.into(), recovery: cc.recovery(), ..tcp() };
    let mut world = World::new(MultiConfig::default(), &tcp, vec![Path::of(20), Path::of(30)]);
    world.log = Some(Vec::new());
    world.open();
    world.run_until(at(1000));
    world.offer(5 * SMSS);
    for time in 1001..=1004 {
        world.run_until(at(time));
        world.call(SERVER, |meta, _, subflows| meta.set_backup(0, time % 2 > 0, subflows));
    }
    world.run_until(at(2000));
    let log = world.log.take().unwrap();
    let is_option = |sent: &&Departure| matches!(sent.3.multi, Some(Multipath::Priority { .. }));
    assert_eq!(log.iter().filter(is_option).count(), 4);
    assert_eq!(data(&log, 0).len(), 5, "nothing leaves twice");
}

/// Both subflows carry data when someone takes away the options of one. It is reset, and the other carries all.
#[test]
fn rfc8684_3_7_a_subflow_whose_data_lose_the_options_is_reset() {
    let mut world =
        world_of(SchedulerKind::RoundRobin, vec![Path::of(20), Path { strips_from: at(1000), ..Path::of(30) }]);
    world.run_until(at(900));
    world.offer(10 * SMSS);
    world.run_until(at(1000));
    world.offer(1000 * SMSS);
    assert!(world.run_until_delivered(1010 * SMSS, at(20_000)).is_some());
    let log = world.log.take().unwrap();
    let resets: Vec<_> = log.iter().filter(|sent| sent.3.flags.has(Flags::RST)).map(|sent| (sent.1, sent.2)).collect();
    assert_eq!(resets.first(), Some(&(SERVER, 1)), "{resets:?}");
    assert!(data(&log, 1).iter().any(|sent| sent.0 < at(1000)), "it carried data");
    assert_eq!((world.delivered(), world.ends[SERVER].meta.fell_back()), (1010 * SMSS, false));
}
