//! Random networks, in swarms: what must hold for all of them. `PROPTEST_CASES` makes the swarms larger.

mod random;
mod reference;

use crate::Network;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use random::Sketch;

/// The same swarm in every run, of `cases` networks unless the environment says otherwise.
fn swarm(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (any::<u64>(), 1..=8usize, 1..=12u64, 0..=random::ALL).prop_map(|(seed, flows, seconds, features)| Sketch {
        seed,
        flows,
        seconds,
        features,
    })
}

proptest! {
    #![proptest_config(swarm(300))]

    /// The schedule of sources and the lazy links give what an event for everything gives, down to the last bit.
    #[test]
    fn the_engine_agrees_with_its_specification(sketch in sketch()) {
        let scenario = sketch.scenario();
        let mut network = Network::build(&scenario, sketch.seed);
        assert!(network.run(u64::MAX));
        let (result, expected) = (network.finish(), reference::run(&scenario, sketch.seed));
        prop_assert_eq!(&result.links, &expected.links);
        prop_assert_eq!(&result.drops, &expected.drops);
        prop_assert_eq!(&result.summary, &expected.summary);
        prop_assert_eq!(&result.flows, &expected.flows);
        prop_assert!(result == expected, "series or events differ");
    }
}
