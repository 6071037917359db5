//! Random multipath connections beside a naive reckoning of the data that arrived: a list of ranges, with nothing in
//! common with the meta.

use super::bench::{at, mapping, ms, tcp, End, Path, World, CLIENT, SERVER};
use crate::multi::{MultiConfig, Plan, Reinject, ReinjectOn, Rejoin, SchedulerConfig, SchedulerKind};
use crate::{Config, GiveUp, Multipath, Segment};
use bentpipe_units::Duration;
use proptest::prelude::*;

/// The data that arrived, as ranges in any order.
#[derive(Default)]
struct Naive {
    ranges: Vec<(u64, u64)>,
    nxt: u64,
}

impl Naive {
    fn arrive(&mut self, (dsn, len): (u64, u64)) {
        self.ranges.push((dsn, dsn + len));
        while let Some(range) = self.ranges.iter().find(|range| range.0 <= self.nxt && self.nxt < range.1) {
            self.nxt = range.1;
        }
        self.ranges.retain(|range| range.1 > self.nxt);
    }
}

/// A random world, and the data that are written into it.
#[derive(Clone, Debug)]
struct Case {
    paths: Vec<(Path, Plan)>,
    config: MultiConfig,
    offered: u64,
    seed: u64,
    reads: Option<u64>,
    /// When the client takes a subflow out of use, and whether it has lost its address.
    withdrawn: Option<(u64, usize, bool)>,
    /// Whether connections give up soon.
    is_impatient: bool,
}

fn path() -> impl Strategy<Value = (Path, Plan)> {
    let loss = || prop_oneof![Just(0u64), 0u64..1500];
    let down = prop_oneof![Just(None), (0u64..4000, 100u64..3000).prop_map(Some)];
    (1u64..300, 0u64..4000, 3usize..100, loss(), loss(), down, 0u64..2000, any::<bool>()).prop_map(
        |(delay, segment_us, queue, loss, ack_loss, down, start, is_backup)| {
            let down = down.map(|(from, len)| (at(from), at(from + len))).into_iter().collect();
            let segment_time = Duration::from_micros(segment_us);
            let plan = Plan { start: ms(start), is_backup };
            (Path { segment_time, queue, loss, ack_loss, down, ..Path::of(delay) }, plan)
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let on = prop_oneof![Just(ReinjectOn::Rto), Just(ReinjectOn::Told), Just(ReinjectOn::DataTimer)];
    let reinject = (on, any::<bool>(), any::<bool>()).prop_map(|(on, opportunistic, penalise)| Reinject {
        on,
        opportunistic,
        penalise,
        ..Reinject::default()
    });
    let kinds = (0..SchedulerKind::ALL.len()).prop_map(|i| SchedulerConfig::from(SchedulerKind::ALL[i]));
    let rejoin = (any::<bool>(), 0u64..2000, any::<bool>()).prop_map(|(retry, after, withdraw)| Rejoin {
        retry,
        after: ms(after),
        withdraw,
    });
    let config =
        (kinds, 2_000u64..400_000, reinject, rejoin).prop_map(|(scheduler, receive_buffer, reinject, rejoin)| {
            MultiConfig { scheduler, receive_buffer, reinject, rejoin, ..MultiConfig::default() }
        });
    let reads = prop_oneof![Just(None), (1000u64..50_000).prop_map(Some)];
    let withdrawn = prop_oneof![Just(None), (500u64..3000, 0usize..4, any::<bool>()).prop_map(Some)];
    let random = (1u64..300_000, 1u64..1 << 40, any::<bool>());
    (prop::collection::vec(path(), 2..5), config, random, reads, withdrawn).prop_map(
        |(paths, config, (offered, seed, is_impatient), reads, withdrawn)| Case {
            paths,
            config,
            offered,
            seed,
            reads,
            withdrawn,
            is_impatient,
        },
    )
}

/// Checks what left since the last look: DATA_ACKs and mappings.
fn check_departures(world: &mut World, naive: &mut Naive, acks: &mut u64, edge: &mut u64) -> Result<(), TestCaseError> {
    let log: Vec<_> = world.log.as_mut().map(std::mem::take).unwrap_or_default();
    for (_, end, _, segment, _) in log {
        let Some(Multipath::Dss(dss)) = segment.multi else { continue };
        if end == SERVER {
            let data_ack = u64::from(dss.data_ack.value());
            prop_assert!(data_ack == naive.nxt || data_ack == naive.nxt + 1, "{dss:?} after {}", naive.nxt);
            prop_assert!(data_ack >= *acks, "a DATA_ACK fell");
            *acks = data_ack;
            let shift = world.ends[SERVER].subflows[0].report().window_in(&Segment { window: 1, ..Segment::default() });
            *edge = (*edge).max(data_ack + u64::from(segment.window) * shift);
        } else if let Some((dsn, len)) = mapping(&segment) {
            prop_assert!(dsn + len <= (*edge).max(65_535), "{dsn} + {len} beyond the window {edge}");
        }
    }
    Ok(())
}

/// The first data outstanding that a subflow does not carry, by looking at all its mappings for each step.
fn plainly_lacking(world: &World, i: usize) -> Option<(u64, u64)> {
    let end = &world.ends[CLIENT];
    let (una, nxt) = end.meta.outstanding();
    let mappings = &end.subflows[i].report().mapped()?.mappings;
    let mut start = una;
    while let Some(mapping) = mappings.iter().find(|mapping| mapping.dsn <= start && start < mapping.end()) {
        start = mapping.end();
    }
    let next = mappings.iter().map(|mapping| mapping.dsn).filter(|dsn| *dsn > start).min().unwrap_or(u64::MAX);
    let end = nxt.min(start + end.subflows[i].report().smss()).min(next);
    (start < end).then_some((start, end))
}

fn check(case: Case) -> Result<(), TestCaseError> {
    let Case { mut paths, config, offered, seed, reads, withdrawn, is_impatient } = case;
    paths[0].1 = Plan::default();
    let subflows = paths.len();
    let give_up = if is_impatient { GiveUp::AfterRetransmissions(2) } else { tcp().give_up };
    let mut world = World::planned(config, &Config { give_up, ..tcp() }, paths);
    world.set_seed(seed);
    world.log = Some(Vec::new());
    world.ends[SERVER].meta.set_reads_at_once(reads.is_none());
    world.open();
    world.offer(offered);
    world.close(CLIENT);
    let (mut naive, mut acks, mut edge) = (Naive::default(), 0, 0);
    let mut next_read = at(0);
    let mut withdrawn = withdrawn.filter(|(_, i, _)| *i < subflows);
    let mut is_told = vec![false; subflows];
    let limit = at(2_000_000);
    while world.delivered() < offered || !world.ends[CLIENT].meta.is_closed() {
        if let Some((segment_of, data)) = world.next_arrival() {
            if let Some(range) = mapping(&data).filter(|_| segment_of == SERVER) {
                let before = world.ends[SERVER].meta.counters().arrived_bytes;
                world.step(limit);
                if world.ends[SERVER].meta.counters().arrived_bytes > before {
                    naive.arrive(range);
                }
            } else {
                world.step(limit);
            }
        } else if !world.step(limit) {
            break;
        }
        check_departures(&mut world, &mut naive, &mut acks, &mut edge)?;
        if let (Some(bytes), true) = (reads, world.now >= next_read) {
            next_read = world.now + ms(50);
            world.call(SERVER, |meta, _, subflows| {
                meta.read(bytes, subflows);
            });
        }
        if let Some((_, i, is_lost)) = withdrawn.filter(|(from, ..)| world.now >= at(*from)) {
            withdrawn = None;
            world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, i, is_lost, subflows));
        }
        for (i, was_down) in is_told.iter_mut().enumerate() {
            let is_down = world.paths[i].down.iter().any(|&(from, to)| from <= world.now && world.now < to);
            if std::mem::replace(was_down, is_down) != is_down {
                world.call(CLIENT, |meta, now, subflows| match is_down {
                    true => meta.on_path_down(now, i, subflows),
                    false => meta.on_path_up(now, i, subflows),
                });
            }
        }
        if world.ends[SERVER].events.iter().any(|(_, event)| *event == crate::multi::MultiEvent::PeerFinished) {
            world.close(SERVER);
        }
        check_departures(&mut world, &mut naive, &mut acks, &mut edge)?;
        for i in 0..subflows {
            let End { meta, subflows, .. } = &mut world.ends[CLIENT];
            let lacking = meta.first_lacking(i, subflows);
            prop_assert_eq!(lacking, plainly_lacking(&world, i));
        }
        prop_assert!(world.delivered() == naive.nxt.min(offered), "{} {}", world.delivered(), naive.nxt);
        prop_assert!(world.ends[CLIENT].meta.acked_bytes() <= world.delivered());
        if world.now > at(1_000_000) {
            break;
        }
    }
    let is_whole = world.delivered() == offered && world.ends[CLIENT].meta.acked_bytes() == offered;
    let was_aborted = world
        .ends
        .iter()
        .any(|end| end.events.iter().any(|(_, event)| matches!(event, crate::multi::MultiEvent::Aborted(_))));
    prop_assert!(is_whole || was_aborted, "{} of {offered} delivered at {:?}", world.delivered(), world.now);
    let counters = world.ends[SERVER].meta.counters();
    let held = world.ends[SERVER].meta.held_bytes();
    prop_assert_eq!(counters.arrived_bytes, counters.delivered_bytes + counters.data_duplicate_bytes + held);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn data_arrive_once_and_in_order(case in case()) {
        check(case)?;
    }
}
