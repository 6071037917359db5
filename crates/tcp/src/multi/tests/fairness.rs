//! Couplings beside TCP, over paths that lose segments at random: the window of one TCP follows from the rate of losses alone, so
//! shares need no shared queue.

use super::bench::{at, tcp, Path, World};
use crate::multi::{Coupling, MultiConfig};
use crate::Config;
use bentpipe_cc::CcKind;

/// Bytes that this number of subflows delivers together in 400 s, with one loss in 512 segments.
fn carried(coupling: Coupling, subflows: usize, seed: u64) -> f64 {
    let tcp = Config { cc: CcKind::Sack.into(), ..tcp() };
    let path = Path { loss: 128, ..Path::of(25) };
    let mut world = World::new(MultiConfig { coupling, ..MultiConfig::default() }, &tcp, vec![path; subflows]);
    world.set_seed(seed);
    world.open();
    world.offer(u64::MAX >> 9);
    world.run_until(at(400_000));
    world.delivered() as f64
}

/// LIA, OLIA and BALIA over two paths that are alike are as large as one TCP: a share of 1/2 beside it; without coupling 2/3.
#[test]
fn rfc6356_2_coupled_subflows_are_one_flow() {
    let seeds = [1, 2, 3];
    let sum = |coupling, subflows| seeds.iter().map(|&seed| carried(coupling, subflows, seed)).sum::<f64>();
    let one = sum(Coupling::None, 1);
    let share = |coupling| {
        let both = sum(coupling, 2);
        both / (both + one)
    };
    for coupling in [Coupling::Lia, Coupling::Olia, Coupling::Balia] {
        let share = share(coupling);
        assert!((share - 0.5).abs() < 0.05, "{coupling:?}: {share}");
    }
    let alone = share(Coupling::None);
    assert!((alone - 2.0 / 3.0).abs() < 0.05, "{alone}");
}

/// A single coupled subflow is Reno.
#[test]
fn a_coupled_subflow_alone_is_as_one_tcp() {
    let one = carried(Coupling::None, 1, 7);
    for coupling in [Coupling::Lia, Coupling::Olia, Coupling::Balia] {
        let coupled = carried(coupling, 1, 7);
        assert!((coupled / one - 1.0).abs() < 0.02, "{coupling:?}: {coupled} {one}");
    }
}
