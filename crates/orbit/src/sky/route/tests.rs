use super::*;
use crate::sky::constellation::Constellation;
use crate::sky::earth::{central_angle, Earth, Geodetic, RADIUS_KM};
use crate::sky::epoch::Epoch;
use crate::sky::links::SatelliteLinks;
use crate::sky::orbit::Orbit;
use crate::sky::places;
use crate::sky::places::Place;
use crate::sky::presets::{preset, KEPLER};
use crate::sky::scene::{Cable, Failed, Failure};
use crate::sky::selection::{handovers, Rule, Slots};
use std::f64::consts::PI;

fn at(lat: f64, lon: f64) -> Geodetic {
    Geodetic::new(lat, lon, 0.0).unwrap()
}

fn iridium(places: &[(f64, f64)]) -> Sky {
    let mut sky = preset("iridium").unwrap().sky_with(Epoch::Y2000, &KEPLER, Earth::AT_REST).unwrap();
    sky.places =
        places.iter().enumerate().map(|(k, (lat, lon))| Place::fixed(&format!("p{k}"), at(*lat, *lon))).collect();
    sky
}

fn span(until_s: f64, step_s: f64) -> Span {
    Span::new(0.0, until_s, step_s).unwrap()
}

#[test]
fn a_span_has_its_instants() {
    let times: Vec<f64> = span(0.3, 0.1).times().collect();
    assert_eq!(times, [0.0, 0.1, 0.2]);
    assert_eq!((span(200.0, 0.1).count(), span(0.0, 1.0).count(), span(1.0, 0.4).count()), (2000, 0, 3));
    assert!(
        Span::new(0.0, 1e9, 1.0).is_err()
            && Span::new(0.0, -1.0, 1.0).is_err()
            && Span::new(0.0, f64::NAN, 1.0).is_err()
    );
}

/// Every path's delay is that of its nodes, its links are usable, and no path over fewer or other satellites is shorter
/// than light along the great circle.
#[test]
fn delays_are_those_of_the_paths() {
    let sky = iridium(&[(37.9, -122.3), (42.3, -71.1), (-33.9, 18.4), (51.5, -0.1)]);
    let pairs = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
    let routing = Routing::default();
    let mut router = Router::new(&sky, &pairs, &routing, 5.0).unwrap();
    for t in span(3000.0, 37.0).times() {
        router.step(t);
        let links = sky.satellite_links(t).unwrap();
        for (k, (from, to)) in pairs.iter().enumerate() {
            let path = router.path(k);
            let delay = sky.path_delay_s(path, t).unwrap();
            assert!((router.delay_s(k) - delay).abs() < 1e-9, "{path:?}");
            assert_eq!((path[0], path[path.len() - 1]), (sky.node(*from), sky.node(*to)));
            for pair in path[1..path.len() - 1].windows(2) {
                assert!(links.iter().any(|l| (l.a, l.b) == (pair[0], pair[1]) || (l.b, l.a) == (pair[0], pair[1])));
            }
            for (place, satellite) in [(*from, path[1]), (*to, path[path.len() - 2])] {
                assert!(sky.visible(place, t).unwrap().iter().any(|s| s.satellite == satellite));
            }
            let direct = sky.places[*from].site.at(t);
            let ground = central_angle(direct, sky.places[*to].site.at(t)) * RADIUS_KM / LIGHT_KM_S;
            assert!(delay > ground && delay < 0.25, "{delay} {ground}");
        }
    }
}

/// Two places in Iridium's first plane, 0.2° off it, at a moment when satellites are above both: up, along the ring of
/// chords, down. Closed form: 2·780 km and n chords of 4033.4 km for n places apart.
#[test]
fn a_path_along_a_plane_is_the_sum_of_its_chords() {
    // At rest and t = 0 satellite s is at argument of latitude 360 s/11; node at longitude 0.
    let mut sky = iridium(&[]);
    let under = |k: u32| {
        let g = sky.earth.geodetic(sky.position(k, 0.0).unwrap());
        (g.latitude_deg, g.longitude_deg)
    };
    let (a, b) = (under(0), under(3));
    sky.places = iridium(&[a, b]).places;
    let route = &routes(&sky, &[(0, 1)], &Routing::default(), span(1.0, 1.0), None).unwrap()[0];
    assert_eq!(route.changes[0].nodes, [66, 0, 1, 2, 3, 67]);
    let chord = 2.0 * (RADIUS_KM + 780.0) * libm::sin(PI / 11.0);
    let expected = (2.0 * 780.0 + 3.0 * chord) / LIGHT_KM_S;
    assert!((route.delays_s[0] - expected).abs() < 1e-9, "{} {expected}", route.delays_s[0]);
}

/// Path between the sides of the seam: around it without links across, over a pole or the other planes. With such links
/// it is much shorter.
#[test]
fn the_seam_costs_a_detour() {
    // Planes are at longitudes 0 to 158. The seam lies between 158 and 180 (and -22 and 0 on the far side).
    let places = [(20.0, 155.0), (20.0, -177.0)];
    let delay = |seam: bool| {
        let mut sky = iridium(&places);
        if let crate::sky::links::Topology::Grid(grid) = &mut sky.links.topology {
            grid.seam = seam;
        }
        let routes = routes(&sky, &[(0, 1)], &Routing::default(), span(6000.0, 20.0), None).unwrap();
        let delays = &routes[0].delays_s;
        let hops = routes[0].changes.iter().map(|c| c.nodes.len().saturating_sub(1)).max().unwrap();
        (delays.iter().fold(0.0, |a: f64, b| a.max(*b)), delays.iter().sum::<f64>() / delays.len() as f64, hops)
    };
    let ((worst, mean, hops), (_, across, few)) = (delay(false), delay(true));
    assert!(mean > 1.5 * across && hops > few, "{mean} {across} {hops} {few}");
    // Around one of the poles is never longer than half the ring of a plane and the path over the other planes.
    assert!(worst < 2.0 * 0.0083 + 12.0 * 0.01346, "{worst}");
}

#[test]
fn fewest_hops_are_fewest() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = iridium(&[(51.5, -0.1), (1.35, 103.8), (-33.9, 151.2), (40.7, -74.0), (-23.5, -46.6)]).places;
    let pairs: Vec<(usize, usize)> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
    let by = |metric| {
        let routing = Routing { metric, ..Routing::default() };
        routes(&sky, &pairs, &routing, span(600.0, 60.0), None).unwrap()
    };
    let mut fewer = 0;
    for (fast, few) in by(Metric::Delay).iter().zip(by(Metric::Hops)) {
        for (k, t) in span(600.0, 60.0).times().enumerate() {
            let nodes = |route: &Route| route.changes.iter().rev().find(|c| c.at_s <= t).unwrap().nodes.clone();
            let (a, b) = (nodes(fast), nodes(&few));
            assert!(few.delays_s[k] >= fast.delays_s[k] - 1e-7 && b.len() <= a.len());
            assert!((sky.path_delay_s(&b, t).unwrap() - few.delays_s[k]).abs() < 1e-9);
            fewer += usize::from(b.len() < a.len());
        }
    }
    assert!(fewer > 0);
}

#[test]
fn a_path_may_be_kept_until_it_breaks() {
    let sky = iridium(&[(37.9, -122.3), (42.3, -71.1)]);
    let by = |switch| {
        let routing = Routing { switch, ..Routing::default() };
        routes(&sky, &[(0, 1)], &routing, span(6000.0, 10.0), None).unwrap().remove(0)
    };
    let (better, broken) = (by(Switch::WhenBetter), by(Switch::WhenBroken));
    assert!(broken.changes.len() < better.changes.len() && broken.changes.len() > 3);
    for (a, b) in better.delays_s.iter().zip(&broken.delays_s) {
        assert!(b - a >= -1e-12);
    }
    // At each change, the old path's first or last satellite is out of view, or a link between is off.
    for pair in broken.changes.windows(2) {
        let (nodes, t) = (&pair[0].nodes, pair[1].at_s);
        let sees = |place: usize, k: u32| sky.visible(place, t).unwrap().iter().any(|s| s.satellite == k);
        let links = sky.satellite_links(t).unwrap();
        let on = |a: u32, b: u32| links.iter().any(|l| (l.a, l.b) == (a, b) || (l.b, l.a) == (a, b));
        let inner = &nodes[1..nodes.len() - 1];
        let works = sees(0, inner[0]) && sees(1, inner[inner.len() - 1]) && inner.windows(2).all(|p| on(p[0], p[1]));
        assert!(!works, "{nodes:?} at {t}");
    }
}

#[test]
fn changes_are_found_between_steps() {
    let sky = iridium(&[(37.9, -122.3), (42.3, -71.1)]);
    let by = |step, within| {
        let routing = Routing::default();
        routes(&sky, &[(0, 1)], &routing, span(600.0, step), within).unwrap().remove(0).changes
    };
    let (coarse, fine) = (by(10.0, Some(1e-3)), by(0.05, None));
    assert!(coarse.len() == fine.len() && fine.len() > 2, "{} {}", coarse.len(), fine.len());
    for (a, b) in coarse.iter().zip(&fine) {
        assert!(a.nodes == b.nodes && a.at_s <= b.at_s && b.at_s - a.at_s <= 0.0511, "{a:?} {b:?}");
    }
}

#[test]
fn failures_are_routed_around() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = iridium(&[(37.9, -122.3), (42.3, -71.1)]).places;
    let before = routes(&sky, &[(0, 1)], &Routing::default(), span(30.0, 1.0), None).unwrap().remove(0);
    let nodes = before.changes[0].nodes.clone();
    for what in [Failed::Node(nodes[1]), Failed::Link(nodes[2], nodes[1]), Failed::Link(nodes[0], nodes[1])] {
        sky.failures = vec![Failure { what, from_s: 5.0, until_s: 12.0 }];
        let route = routes(&sky, &[(0, 1)], &Routing::default(), span(30.0, 1.0), None).unwrap().remove(0);
        assert_eq!((route.changes[1].at_s, route.changes[2].at_s), (5.0, 12.0), "{what:?}");
        assert_eq!(route.changes[2].nodes, nodes);
        let other = &route.changes[1].nodes;
        let used = match what {
            Failed::Node(node) => other.contains(&node),
            Failed::Link(a, b) => other.windows(2).any(|p| p == [a, b] || p == [b, a]),
        };
        assert!(!used && route.delays_s[5] > before.delays_s[5], "{what:?} {other:?}");
    }
    // A place that fails is not reached.
    sky.failures = vec![Failure { what: Failed::Node(sky.node(1)), from_s: 5.0, until_s: 12.0 }];
    let route = routes(&sky, &[(0, 1)], &Routing::default(), span(30.0, 1.0), None).unwrap().remove(0);
    assert!(route.changes[1].nodes.is_empty() && route.delays_s[6].is_nan() && route.delays_s[12].is_finite());
}

/// GEO: up and down once takes 238.7 ms from below the satellite to 278.1 ms at the edge
/// (`docs/specs/geometry-delay.md`).
#[test]
fn geostationary_paths_have_their_closed_form() {
    let mut constellation = Constellation::new(Epoch::Y2000);
    constellation.add("geo", Orbit::geo(0.0, 0.0, 0.0).unwrap()).unwrap();
    let edge = libm::acos(RADIUS_KM / (RADIUS_KM + 35_786.0)) / PI * 180.0 - 1e-9;
    let mut sky = Sky::new(constellation, Earth::AT_REST, places::Access::MinElevation(0.0));
    for (k, lon) in [0.0, 0.0, edge, -edge].into_iter().enumerate() {
        sky.places.push(Place::fixed(&k.to_string(), at(0.0, lon)));
    }
    let found = routes(&sky, &[(0, 1), (2, 3)], &Routing::default(), span(1.0, 1.0), None).unwrap();
    assert!((found[0].delays_s[0] * 1e3 - 238.74).abs() < 5e-3, "{}", found[0].delays_s[0]);
    assert!((found[1].delays_s[0] * 1e3 - 278.05).abs() < 6e-3, "{}", found[1].delays_s[0]);
}

/// Bent pipes: a terminal's packets go up and down to a gateway, over cables, and up and down again. They never go from
/// satellite to satellite, and never directly from terminal to terminal.
#[test]
fn bent_pipes_pass_gateways() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.links = SatelliteLinks::NONE;
    for name in ["London", "New York"] {
        sky.places.push(Place::city(name).unwrap());
    }
    for name in ["Bristol", "Frankfurt", "Boston"] {
        sky.places.push(Place::city(name).unwrap().gateway());
    }
    sky.cables = vec![
        Cable::fibre(&sky.places, 2, 4, 1.4).unwrap(),
        Cable::fibre(&sky.places, 3, 2, 1.4).unwrap(),
        Cable::fibre(&sky.places, 4, 1, 1.2).unwrap(),
    ];
    let routing = Routing { over: Over::Gateways, ..Routing::default() };
    let pairs = [(0, 1), (0, 2), (1, 4)];
    let found = routes(&sky, &pairs, &routing, span(600.0, 10.0), None).unwrap();
    let place = |node: u32| (node as usize).checked_sub(sky.satellites());
    for route in &found {
        for change in &route.changes {
            let delay = sky.path_delay_s(&change.nodes, change.at_s).unwrap();
            assert!((delay - change.delay_s).abs() < 1e-9, "{change:?}");
            for triple in change.nodes.windows(3).filter(|n| place(n[1]).is_none()) {
                let ends = [place(triple[0]), place(triple[2])].map(Option::unwrap);
                assert!(ends.iter().filter(|k| **k >= 2).count() == 1, "{change:?}");
            }
        }
    }
    // London to New York: 4900 km of fibre and more, so 30 ms and more; the cable to New York spares a satellite.
    assert!(found[0].delays_s.iter().all(|d| *d > 0.030 && *d < 0.050), "{:?}", found[0].delays_s);
    assert!(found[0].changes.iter().all(|c| c.nodes.iter().filter(|n| place(**n).is_none()).count() == 1));
    assert!(found[1].delays_s.iter().all(|d| *d > 2.0 * 550.0 / LIGHT_KM_S && *d < 2.0 * 1200.0 / LIGHT_KM_S));
    assert_eq!(found[2].changes[0].nodes.len(), 2);
}

/// Gateways may also relay packets between satellites that forward.
#[test]
fn gateways_relay_between_satellites() {
    let mut sky = preset("oneweb").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = vec![Place::city("London").unwrap(), Place::city("Istanbul").unwrap()];
    let none = routes(&sky, &[(0, 1)], &Routing::default(), span(60.0, 10.0), None).unwrap();
    sky.places.push(Place::city("Vienna").unwrap().gateway());
    let relayed = routes(&sky, &[(0, 1)], &Routing::default(), span(60.0, 10.0), None).unwrap();
    assert!(none[0].delays_s.iter().zip(&relayed[0].delays_s).all(|(a, b)| (a.is_nan() || a >= b) && b.is_finite()));
    let vienna = sky.node(2);
    let through = relayed[0].changes.iter().filter(|c| c.nodes.contains(&vienna)).count();
    let direct = none[0].delays_s.iter().filter(|d| d.is_finite()).count();
    assert!(through > 0 || direct == 6, "{relayed:?}");
}

/// Paths from many sources to one place are computed from that place, with equal results.
#[test]
fn paths_do_not_depend_on_which_end_they_are_sought_from() {
    let sky = iridium(&[(37.9, -122.3), (42.3, -71.1), (51.5, -0.1), (-33.9, 151.2)]);
    let by = |pairs: &[(usize, usize)]| routes(&sky, pairs, &Routing::default(), span(900.0, 30.0), None).unwrap();
    let (together, alone) = (by(&[(1, 0), (2, 0), (3, 0)]), [by(&[(0, 1)]), by(&[(0, 2)]), by(&[(0, 3)])]);
    for (a, b) in together.iter().zip(&alone) {
        for (x, y) in a.delays_s.iter().zip(&b[0].delays_s) {
            assert!((x - y).abs() < 1e-12);
        }
        assert_eq!(a.changes.len(), b[0].changes.len());
        for (x, y) in a.changes.iter().zip(&b[0].changes) {
            let turned: Vec<u32> = y.nodes.iter().rev().copied().collect();
            assert_eq!((x.at_s, &x.nodes), (y.at_s, &turned));
        }
    }
}

#[test]
fn a_place_can_be_bound_to_its_serving_satellite() {
    let sky = iridium(&[(37.9, -122.3), (42.3, -71.1)]);
    let handovers =
        vec![Handover { at_s: 0.0, from: None, to: Some(7) }, Handover { at_s: 10.0, from: Some(7), to: None }];
    let routing = Routing { serving: vec![(0, handovers)], ..Routing::default() };
    let route = routes(&sky, &[(0, 1)], &routing, span(20.0, 1.0), None).unwrap().remove(0);
    assert_eq!((route.changes[0].nodes[1], route.changes[1].at_s), (7, 10.0));
    assert!(route.changes[1].nodes.is_empty());
}

#[test]
fn impossible_pairs_are_refused() {
    let sky = iridium(&[(0.0, 0.0)]);
    let routing = Routing::default();
    assert!(Router::new(&sky, &[(0, 0)], &routing, 1.0).is_err());
    assert!(Router::new(&sky, &[(0, 1)], &routing, 1.0).is_err());
}

/// Disjoint paths: the first alone is the shortest. Together they share no satellite (or no link), and their sum is the
/// smallest, at most that of taking the shortest, removing it, and taking the next.
#[test]
fn disjoint_paths_share_nothing_and_are_shortest_together() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = iridium(&[(37.9, -122.3), (51.5, -0.1)]).places;
    let routing = Routing::default();
    let mut router = Router::new(&sky, &[(0, 1)], &routing, 60.0).unwrap();
    router.step(0.0);
    let alone = router.disjoint(0, 1, Disjoint::Nodes);
    assert!(alone[0].nodes == router.path(0) && (alone[0].delay_s - router.delay_s(0)).abs() < 1e-12);
    for what in [Disjoint::Nodes, Disjoint::Links] {
        let found = router.disjoint(0, 4, what);
        assert_eq!(found.len(), 4);
        let mut seen = std::collections::BTreeSet::new();
        for path in &found {
            assert!((sky.path_delay_s(&path.nodes, 0.0).unwrap() - path.delay_s).abs() < 1e-9);
            assert_eq!((path.nodes[0], *path.nodes.last().unwrap()), (sky.node(0), sky.node(1)));
            for pair in path.nodes.windows(2) {
                let link =
                    if what == Disjoint::Links { (pair[0].min(pair[1]), pair[0].max(pair[1])) } else { (pair[1], 0) };
                assert!(seen.insert(link) || link.0 == sky.node(1), "{what:?} {found:?}");
            }
        }
        // One path after the other, each without the nodes of the earlier ones.
        let mut greedy = sky.clone();
        let mut sum = 0.0;
        for _ in 0..4 {
            let mut router = Router::new(&greedy, &[(0, 1)], &routing, 60.0).unwrap();
            router.step(0.0);
            sum += router.delay_s(0);
            let path = router.path(0).to_vec();
            let fails = |what| Failure { what, from_s: -1.0, until_s: 1.0 };
            match what {
                Disjoint::Nodes => {
                    greedy.failures.extend(path[1..path.len() - 1].iter().map(|n| fails(Failed::Node(*n))))
                }
                Disjoint::Links => greedy.failures.extend(path.windows(2).map(|p| fails(Failed::Link(p[0], p[1])))),
            }
        }
        let together: f64 = found.iter().map(|path| path.delay_s).sum();
        assert!(together <= sum + 1e-9 || sum.is_nan(), "{together} {sum}");
    }
    // There are at most as many paths as satellites in view.
    let most = router.disjoint(0, 1000, Disjoint::Nodes).len();
    assert!(most <= sky.visible(0, 0.0).unwrap().len().min(sky.visible(1, 0.0).unwrap().len()) && most > 4);
}

/// Over time: each path is one of those of its instant. Paths that are kept until one breaks change less often and
/// never use unusable links. Both directions have the same paths.
#[test]
fn disjoint_paths_over_time_are_those_of_each_instant() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = iridium(&[(37.9, -122.3), (51.5, -0.1), (48.9, 2.4)]).places;
    let times = span(120.0, 5.0);
    let of = |sky: &Sky, pairs: &[(usize, usize)], routing: &Routing| {
        disjoint_routes_while(sky, pairs, routing, times, (3, Disjoint::Nodes), &mut |_| true)
    };
    let better = Routing::default();
    let found = of(&sky, &[(0, 1)], &better).unwrap().remove(0);
    let mut router = Router::new(&sky, &[(0, 1)], &better, 5.0).unwrap();
    for (number, t) in times.times().enumerate() {
        router.step(t);
        for (route, path) in found.iter().zip(router.disjoint(0, 3, Disjoint::Nodes)) {
            let now = route.changes.iter().rev().find(|change| change.at_s <= t).unwrap();
            assert_eq!((&now.nodes, route.delays_s[number]), (&path.nodes, path.delay_s));
        }
    }
    // Paths from two ends to one place are computed from there.
    let turned = of(&sky, &[(0, 1), (2, 1)], &better).unwrap().remove(0);
    for (a, b) in found.iter().zip(&turned) {
        assert!(a.delays_s.iter().zip(&b.delays_s).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!((a.changes[0].nodes[0], *a.changes[0].nodes.last().unwrap()), (sky.node(0), sky.node(1)));
    }
    for pairs in [&[(0, 1)][..], &[(0, 1), (2, 1)]] {
        let kept = of(&sky, pairs, &Routing { switch: Switch::WhenBroken, ..Routing::default() }).unwrap().remove(0);
        let changes = |routes: &[Route]| routes.iter().map(|route| route.changes.len()).sum::<usize>();
        assert!(changes(&kept) < changes(&found), "{} {}", changes(&kept), changes(&found));
        for route in &kept {
            for (number, t) in times.times().enumerate() {
                let now = route.changes.iter().rev().find(|change| change.at_s <= t).unwrap();
                assert!((sky.path_delay_s(&now.nodes, t).unwrap() - route.delays_s[number]).abs() < 1e-9);
                assert!(sky.visible(0, t).unwrap().iter().any(|s| s.satellite == now.nodes[1]));
            }
        }
    }
    // The failed node is on none of them, kept or not.
    let first = found[0].changes[0].nodes[2];
    sky.failures = vec![Failure { what: Failed::Node(first), from_s: 0.0, until_s: f64::INFINITY }];
    for switch in [Switch::WhenBetter, Switch::WhenBroken] {
        let routes = of(&sky, &[(0, 1)], &Routing { switch, ..Routing::default() }).unwrap().remove(0);
        assert!(routes.iter().flat_map(|route| &route.changes).all(|change| !change.nodes.contains(&first)));
    }
    assert!(of(&sky, &[(0, 1)], &Routing { over: Over::Gateways, ..Routing::default() }).is_err());
}

/// A rule that keeps satellites does not know in advance which of them fails.
#[test]
fn nobody_foresees_a_failure() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places = iridium(&[(51.5, -0.1)]).places;
    for rule in [Rule::LongestRemaining, Rule::Slots(Slots::starlink(1))] {
        sky.failures.clear();
        let whole = handovers(&sky, 0, rule, span(60.0, 1.0)).unwrap();
        let first = whole[0].to.unwrap();
        let fails_s = 1.5;
        sky.failures = vec![Failure { what: Failed::Node(first), from_s: fails_s, until_s: 1e9 }];
        let failing = handovers(&sky, 0, rule, span(60.0, 1.0)).unwrap();
        assert_eq!(failing[0].to, Some(first));
        assert!(failing[1].at_s >= fails_s && failing[1].to != Some(first), "{rule:?} {:?}", failing[1]);
    }
}
