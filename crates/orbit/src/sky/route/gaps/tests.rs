use super::*;
use crate::sky::earth::slant_range_km;
use crate::sky::epoch::Epoch;
use crate::sky::links::SatelliteLinks;
use crate::sky::places::Place;
use crate::sky::presets::preset;
use crate::sky::route::routes;
use crate::sky::scene::{Cable, Failed, Failure};

fn over(name: &str, places: &[&str], gateways: &[&str]) -> Sky {
    let mut sky = preset(name).unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = places.iter().map(|name| Place::city(name).unwrap()).collect();
    sky.places.extend(gateways.iter().map(|name| Place::city(name).unwrap().gateway()));
    for b in places.len()..sky.places.len() {
        for a in places.len()..b {
            sky.cables.push(Cable::fibre(&sky.places, a, b, 1.5).unwrap());
        }
    }
    sky
}

fn of(sky: &Sky) -> (f64, Vec<Gap>) {
    let routing = Routing { over: Over::of(sky), ..Routing::default() };
    let span = Span::new(0.0, 600.0, 10.0).unwrap();
    let route = routes(sky, &[(0, 1)], &routing, span, None).unwrap().remove(0);
    let connected = route.delays_s.iter().filter(|delay| delay.is_finite()).count() as f64 / 60.0;
    (connected, gaps(sky, &routing, &route, span).unwrap())
}

/// The shares of the reasons and the share with a path add up to the span.
#[test]
fn reasons_add_up_to_the_time_without_a_path() {
    for (name, gateways) in [("oneweb", &[][..]), ("oneweb", &["Paris"][..]), ("iridium", &[][..]), ("o3b", &[][..])] {
        let (connected, gaps) = of(&over(name, &["London", "Rome"], gateways));
        let without: f64 = gaps.iter().map(|gap| gap.share).sum();
        assert!((connected + without - 1.0).abs() < 1e-9, "{name}: {connected} {gaps:?}");
    }
}

#[test]
fn distances_that_no_satellite_joins_are_told() {
    let (connected, gaps) = of(&over("oneweb", &["Rome", "Recife"], &[]));
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert!(connected == 0.0 && gap.share == 1.0);
    assert!(gap.why.starts_with("no satellite is in view of both Rome and Recife: they are 7,"), "{gap:?}");
    assert!(gap.help.contains("gateways within 3,4") && gap.help.contains("of Rome and of Recife"), "{gap:?}");

    let (_, gaps) = of(&over("oneweb", &["Rome", "Recife"], &["Madrid"]));
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert!(gap.why.contains("no gateway sees a satellite that Recife sees: Madrid, the nearest, is 6,"), "{gap:?}");
    assert!(gap.help.starts_with("a gateway within 3,4"), "{gap:?}");
}

/// One satellite at 1200 km, used from 25°, joins places up to twice the angle of its slant range apart.
#[test]
fn the_reach_of_a_satellite_is_that_of_its_slant_range() {
    let sky = over("oneweb", &["Rome", "Recife"], &[]);
    let told = Told { sky: &sky, routing: &Routing::default(), from: 0, to: 1, t: 0.0 };
    let orbit = 6378.137 + 1200.0;
    let range = slant_range_km(EARTH_KM, orbit, 25.0);
    let angle = acos((EARTH_KM * EARTH_KM + orbit * orbit - range * range) / (2.0 * EARTH_KM * orbit));
    assert!((told.joined_km(0, 1) - 2.0 * angle * EARTH_KM).abs() < 1.0);
    let near = Sky { access: Access::MaxRange(range), ..sky.clone() };
    let told = Told { sky: &near, ..told };
    assert!((told.joined_km(0, 1) - 2.0 * angle * EARTH_KM).abs() < 1.0);
}

/// An empty sky, interrupted links and failures have different reasons.
#[test]
fn each_reason_has_its_words() {
    let why = |sky: &Sky| of(sky).1.remove(0).why;
    assert_eq!(why(&over("o3b", &["Reykjavik", "Rome"], &[])), "no satellite is in view of Reykjavik");
    let mut sky = over("iridium", &["London", "Rome"], &[]);
    sky.links = SatelliteLinks { max_km: 1.0, ..SatelliteLinks::GRID };
    sky.access = Access::MinElevation(60.0);
    assert!(why(&sky).contains("in view"), "{}", why(&sky));
    let mut sky = over("starlink-shell-1", &["London", "Rome"], &[]);
    sky.links.max_km = 1.0;
    assert!(why(&sky).contains("links between the satellites of London and Rome are interrupted"), "{}", why(&sky));
    let mut sky = over("starlink-shell-1", &["London", "Rome"], &[]);
    let fails = |node| Failure { what: Failed::Node(node), from_s: -1.0, until_s: 1e9 };
    sky.failures = (0..sky.satellites() as u32).map(fails).collect();
    assert_eq!(why(&sky), "no satellite is in view of London");
    assert_eq!((km(940.4), km(1004.9), km(12_345.0)), ("940 km".into(), "1,000 km".into(), "12,350 km".into()));
}
