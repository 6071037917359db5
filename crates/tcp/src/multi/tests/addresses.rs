//! Addresses that an end offers to the other, and takes back.

use super::bench::{at, ms, tcp, Path, World, CLIENT, SERVER, SMSS};
use crate::multi::{MultiConfig, MultiEvent};
use crate::{Flags, Multipath, State};
use bentpipe_units::{Duration, Time};

fn world(paths: Vec<Path>) -> World {
    let mut world = World::new(MultiConfig::default(), &tcp(), paths);
    world.open();
    world.run_until(at(1000));
    world.log = Some(Vec::new());
    world
}

/// The second subflow was withdrawn. At 2 s the server offers its address again, over the first.
fn offered(change: impl FnOnce(&mut World)) -> World {
    let mut world = world(vec![Path::of(20), Path::of(60)]);
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, true, subflows));
    world.run_until(at(2000));
    world.replace(1);
    change(&mut world);
    world.call(SERVER, |meta, now, subflows| meta.join(now, 1, subflows));
    world.run_until(at(60_000));
    world
}

/// When ADD_ADDR left, and when its echo did.
fn offers(world: &World, of_echo: bool) -> Vec<Time> {
    let is_one = |multi| multi == Some(Multipath::AddAddress { id: 1, is_echo: of_echo });
    world.log.iter().flatten().filter(|sent| is_one(sent.3.multi)).map(|sent| sent.0).collect()
}

/// The first two are lost.
#[test]
fn rfc8684_3_4_1_an_address_is_offered_until_the_peer_answers() {
    let world = offered(|world| world.paths[0].down = vec![(at(2000), at(2500))]);
    assert_eq!(world.ends[CLIENT].meta.subflow(1).joins, 2);
    assert_eq!((offers(&world, false).len(), offers(&world, true).len()), (3, 1));
}

/// The peer cannot join: its SYN is lost.
#[test]
fn rfc8684_3_4_1_an_echo_ends_the_offers() {
    let world = offered(|world| world.paths[1].down = vec![(at(2000), Time::NEVER)]);
    assert_eq!((offers(&world, false), offers(&world, true)), (vec![at(2000)], vec![at(2020)]));
}

#[test]
fn an_address_is_not_offered_for_ever() {
    let world = offered(|world| world.paths[0].down = vec![(at(2000), Time::NEVER)]);
    let left = offers(&world, false);
    let gaps: Vec<Duration> = left.windows(2).map(|two| two[1].saturating_since(two[0])).collect();
    assert_eq!(gaps.len(), 3, "{left:?}");
    assert_eq!((gaps[1], gaps[2]), (gaps[0] * 2, gaps[0] * 4), "ever more rarely");
}

/// The reset of the withdrawn subflow is lost. The peer hears of it over another one, tests the path, and resets it, too.
#[test]
fn rfc8684_3_4_2_an_address_is_removed_over_another_subflow() {
    let mut world = world(vec![Path::of(20), Path::of(30)]);
    world.paths[0].down = vec![(at(1000), Time::NEVER)];
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 0, true, subflows));
    world.run_until(at(1100));
    assert_eq!(world.ends[SERVER].subflows[0].state(), State::Established, "its path is tested first");
    world.run_until(at(10_000));
    assert_eq!(world.ends[SERVER].subflows[0].state(), State::Closed);
    let on_first = |sent: &&super::bench::Departure| sent.1 == SERVER && sent.2 == 0;
    let is_reset: Vec<_> =
        world.log.iter().flatten().filter(on_first).map(|sent| sent.3.flags.has(Flags::RST)).collect();
    assert_eq!(is_reset, [false, false, false, false, true]);
}

/// The REMOVE_ADDR is not of the peer.
#[test]
fn rfc8684_3_4_2_a_path_that_answers_is_not_removed() {
    let mut world = world(vec![Path::of(20), Path::of(30)]);
    world.call(CLIENT, |meta, _, subflows| {
        subflows[1].tell(Multipath::RemoveAddress(0));
        meta.outbox.touch(1);
    });
    world.run_until(at(1031));
    assert!(world.ends[SERVER].meta.subflow(0).is_failed, "others carry its data meanwhile");
    world.run_until(at(20_000));
    assert_eq!(world.first(SERVER, |event| *event == MultiEvent::Restored(0)), Some(at(1070)));
    assert_eq!(world.ends[SERVER].subflows[0].state(), State::Established);
}

/// Data of a withdrawn subflow over GEO arrive after the news over LEO. They left before, and are no answer.
#[test]
fn rfc8684_3_4_2_old_segments_are_no_answer() {
    let mut world = world(vec![Path::of(20), Path { segment_time: ms(10), ..Path::of(300) }]);
    world.run_until(at(2000));
    world.offer(40 * SMSS);
    world.run_until(at(2100));
    world.paths[1].down = vec![(at(2380), Time::NEVER)];
    let before = world.ends[SERVER].subflows[1].counters().arrived_bytes;
    world.call(CLIENT, |meta, now, subflows| meta.withdraw(now, 1, true, subflows));
    world.run_until(at(60_000));
    assert!(world.ends[SERVER].subflows[1].counters().arrived_bytes > before, "data arrive after the news");
    assert_eq!(world.ends[SERVER].subflows[1].state(), State::Closed);
    assert_eq!(world.delivered(), 40 * SMSS);
}
