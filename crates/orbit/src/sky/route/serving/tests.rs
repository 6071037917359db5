use super::*;
use crate::sky::epoch::Epoch;
use crate::sky::places::Place;
use crate::sky::presets::preset;
use crate::sky::route::{routes, Routing};
use crate::sky::scene::{Cable, Failed, Failure};
use crate::sky::selection::{handovers, Slots};

const RULES: [Rule; 5] = [
    Rule::Highest,
    Rule::Nearest,
    Rule::LongestRemaining,
    Rule::PeriodicCheck { interval_s: 10.0, randomised: Some(1) },
    Rule::Slots(Slots::starlink(1)),
];

fn over(name: &str, places: &[&str], gateways: &[&str]) -> Sky {
    let mut sky = preset(name).unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = places.iter().map(|name| Place::city(name).unwrap()).collect();
    for place in &mut sky.places {
        place.relay = gateways.contains(&place.name.as_str());
    }
    sky
}

/// Share of a span with a path between these places, which have a rule.
fn connected(sky: &Sky, pairs: &[(usize, usize)], rules: &[(usize, Rule)]) -> Vec<f64> {
    let over = Over::of(sky);
    let span = Span::new(0.0, 600.0, 1.0).unwrap();
    let serving = servings_while(sky, over, pairs, rules, span, &mut |_| true).unwrap();
    let routing = Routing { over, serving, ..Routing::default() };
    let share = |delays: &[f64]| delays.iter().filter(|delay| delay.is_finite()).count() as f64 / 600.0;
    routes(sky, pairs, &routing, span, None).unwrap().iter().map(|route| share(&route.delays_s)).collect()
}

/// Starlink's five shells have no links to each other: both ends get satellites of the same shell.
#[test]
fn ends_that_choose_by_a_rule_choose_shells_that_are_joined() {
    let sky = over("starlink", &["Victoria", "Lagos"], &[]);
    for rule in RULES {
        let share = connected(&sky, &[(0, 1)], &[(0, rule), (1, rule)])[0];
        // Between checks, the other end may have changed to another shell.
        let least = if matches!(rule, Rule::PeriodicCheck { .. }) { 0.9 } else { 0.99 };
        assert!(share > least, "{rule:?}: {share}");
    }
    // Without the other end's choice they rarely do.
    let span = Span::new(0.0, 600.0, 1.0).unwrap();
    let serving = [0, 1].map(|place| (place, handovers(&sky, place, RULES[4], span).unwrap())).to_vec();
    let routing = Routing { serving, ..Routing::default() };
    let route = routes(&sky, &[(0, 1)], &routing, span, None).unwrap().remove(0);
    let found = route.delays_s.iter().filter(|delay| delay.is_finite()).count();
    assert!(found < 360, "{found}");
}

/// A bent pipe is only useful while a gateway sees it. A gateway at the end of a path has no rule.
#[test]
fn a_rule_chooses_bent_pipes_that_a_gateway_sees() {
    let mut sky = over("starlink-shell-1", &["London", "Madrid"], &["Madrid"]);
    sky.links = crate::sky::links::SatelliteLinks::NONE;
    let any = connected(&sky, &[(0, 1)], &[])[0];
    for rule in RULES {
        let share = connected(&sky, &[(0, 1)], &[(0, rule)])[0];
        let late = if matches!(rule, Rule::PeriodicCheck { .. } | Rule::Slots(_)) { 0.15 } else { 0.01 };
        assert!(any > 0.99 && share > any - late, "{rule:?}: {share} {any}");
    }
    // With a rule, a gateway chooses a satellite that its terminal sees.
    let share = connected(&sky, &[(0, 1)], &[(0, Rule::Highest), (1, Rule::Highest)])[0];
    assert!(share > 0.97, "{share}");
}

/// A place with several paths serves as many of them as it can.
#[test]
fn a_place_serves_most_of_its_paths() {
    let sky = over("starlink", &["Victoria", "Lagos", "Nairobi", "London"], &[]);
    let rules: Vec<(usize, Rule)> = (0..4).map(|place| (place, RULES[4])).collect();
    let shares = connected(&sky, &[(0, 1), (2, 0), (0, 3)], &rules);
    assert!(shares.iter().all(|share| *share > 0.9), "{shares:?}");
}

/// If links join all satellites, rules ignore the other ends.
#[test]
fn one_mesh_leaves_the_choice_as_it_is() {
    let sky = over("starlink-shell-1", &["London", "Singapore"], &[]);
    let span = Span::new(0.0, 300.0, 1.0).unwrap();
    for rule in RULES {
        let found = servings_while(&sky, Over::of(&sky), &[(0, 1)], &[(0, rule)], span, &mut |_| true).unwrap();
        assert_eq!(found, [(0, handovers(&sky, 0, rule, span).unwrap())]);
    }
    assert!(servings_while(&sky, Over::Satellites, &[(0, 7)], &[], span, &mut |_| true).is_err());
}

/// Meshes are the shells. A listed link joins two of them, a seam joins a star.
#[test]
fn satellites_of_a_mesh_are_joined_by_links() {
    let sky = over("starlink", &[], &[]);
    let meshes = sky.plan().unwrap().meshes(sky.satellites());
    let mut distinct = meshes.clone();
    distinct.dedup();
    assert_eq!(distinct, [0, 1584, 3168, 3888, 4236]);
    let mut sky = over("oneweb", &[], &[]);
    sky.links.topology = crate::sky::links::Topology::List(vec![(5, 3), (3, 9)]);
    let meshes = sky.plan().unwrap().meshes(sky.satellites());
    assert_eq!((meshes[9], meshes[5], meshes[3], meshes[4]), (3, 3, 3, 4));
}

/// A failing satellite is not chosen, and a cable to a gateway needs no satellite.
#[test]
fn failures_and_cables_count() {
    let mut sky = over("starlink-shell-1", &["London", "Lisbon", "Madrid"], &["Madrid"]);
    sky.links = crate::sky::links::SatelliteLinks::NONE;
    sky.cables = vec![Cable::fibre(&sky.places, 1, 2, 1.5).unwrap()];
    let fails = |node| Failure { what: Failed::Node(node), from_s: -1.0, until_s: 1e9 };
    sky.failures = (0..sky.satellites() as u32).step_by(2).map(fails).collect();
    let rules = [(0, Rule::Highest)];
    let shares = connected(&sky, &[(0, 1), (0, 2)], &rules);
    let any = connected(&sky, &[(0, 1), (0, 2)], &[]);
    assert!(shares[0] == shares[1] && shares[0] > any[0] - 0.01 && any[0] > 0.5, "{shares:?} {any:?}");
}
