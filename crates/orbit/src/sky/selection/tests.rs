use super::*;
use crate::sky::earth::{Earth, Geodetic};
use crate::sky::epoch::Epoch;
use crate::sky::places::Place;
use crate::sky::presets::{preset, KEPLER};

fn iridium(lat: f64, lon: f64) -> Sky {
    let mut sky = preset("iridium").unwrap().sky_with(Epoch::Y2000, &KEPLER, Earth::AT_REST).unwrap();
    sky.places.push(Place::fixed("p", Geodetic::new(lat, lon, 0.0).unwrap()));
    sky
}

fn span(until_s: f64) -> Span {
    Span::new(0.0, until_s, 10.0).unwrap()
}

/// Under a plane of an Earth at rest, its satellites pass overhead one after the other: a handover every T/11 = 547.92
/// s.
#[test]
fn iridiums_handovers_are_an_eleventh_of_its_period_apart() {
    let sky = iridium(0.0, 0.0);
    for rule in [Rule::Highest, Rule::Nearest] {
        let list = handovers(&sky, 0, rule, span(6000.0)).unwrap();
        assert!(list.len() >= 11 && list[0].at_s == 0.0 && list[0].from.is_none());
        for pair in list[1..].windows(2) {
            assert!((pair[1].at_s - pair[0].at_s - 6027.14 / 11.0).abs() < 0.01, "{pair:?}");
            assert_eq!(pair[0].to, pair[1].from);
        }
    }
}

/// The handover to the highest satellite happens when it becomes the highest: both have the same elevation then.
#[test]
fn handovers_stand_where_elevations_cross() {
    let sky = iridium(30.0, 10.0);
    for handover in &handovers(&sky, 0, Rule::Highest, span(3000.0)).unwrap()[1..] {
        let (Some(from), Some(to)) = (handover.from, handover.to) else { panic!("{handover:?}") };
        let elevation = |k: u32| sky.sighting(0, k, handover.at_s).unwrap().sin_elevation;
        assert!((elevation(from) - elevation(to)).abs() < 1e-5, "{handover:?}");
    }
}

/// Overhead passes of 667.16 s, T/11 apart. With the longest remaining time, a satellite is used from the handover
/// until it sets, and it sets T/11 after the one before.
#[test]
fn the_longest_remaining_is_used_until_it_sets() {
    let sky = iridium(0.0, 0.0);
    let list = handovers(&sky, 0, Rule::LongestRemaining, span(6000.0)).unwrap();
    for pair in list[1..].windows(2) {
        let Some(gone) = pair[1].from else { panic!("{pair:?}") };
        let elevation = sky.sighting(0, gone, pair[1].at_s).unwrap().elevation_deg();
        assert!((elevation - 8.2).abs() < 1e-3, "{elevation}");
        // No satellite in view at the handover would have stayed longer.
        let after = pair[1].at_s + 6027.14 / 11.0 - 1.0;
        let kept = sky.sighting(0, pair[0].to.unwrap(), pair[0].at_s + 6027.14 / 11.0 - 1.0).unwrap();
        assert!(kept.elevation_deg() > 8.2 || after > 6000.0, "{pair:?}");
    }
}

/// ns-2: only at checks, and only if the satellite in use is below the least elevation then. The next one is the
/// highest.
#[test]
fn periodic_checks_wait_until_the_satellite_has_set() {
    let sky = iridium(37.9, -122.3);
    let rule = Rule::PeriodicCheck { interval_s: 10.0, randomised: None };
    let list = handovers(&sky, 0, rule, span(6000.0)).unwrap();
    assert!(list.len() > 8);
    for handover in &list[1..] {
        assert_eq!(handover.at_s % 10.0, 0.0);
        let elevation = |k: u32, t: f64| sky.sighting(0, k, t).unwrap().elevation_deg();
        let from = handover.from.unwrap();
        assert!(elevation(from, handover.at_s) < 8.2 && elevation(from, handover.at_s - 10.0) >= 8.2);
        let highest = sky.visible(0, handover.at_s).unwrap().into_iter().map(|s| s.elevation_deg()).fold(0.0, f64::max);
        assert_eq!(elevation(handover.to.unwrap(), handover.at_s), highest);
    }
    let random = Rule::PeriodicCheck { interval_s: 10.0, randomised: Some(3) };
    let other = handovers(&sky, 0, random, span(6000.0)).unwrap();
    assert_eq!(other, handovers(&sky, 0, random, span(6000.0)).unwrap());
    assert!(other.iter().zip(&list).any(|(a, b)| a.at_s != b.at_s && (a.at_s - b.at_s).abs() < 15.0));
}

/// `docs/specs/starlink.md`: 600 s contain 40 boundaries, at seconds 12, 27, 42 and 57. They belong to UTC, not to the
/// run.
#[test]
fn slots_change_at_their_seconds_of_the_minute() {
    let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::parse("2024-07-17T10:00:05").unwrap()).unwrap();
    sky.places.push(Place::city("Brussels").unwrap());
    let all = Slots { stay: 0.0, ..Slots::starlink(1) };
    let list = handovers(&sky, 0, Rule::Slots(all), span(600.0)).unwrap();
    assert!(list.len() > 35 && list.len() <= 41, "{}", list.len());
    for handover in &list[1..] {
        let second = (handover.at_s + 5.0) % 60.0;
        assert!([12.0, 27.0, 42.0, 57.0].iter().any(|s: &f64| (s - second).abs() < 1e-6), "{second}");
    }
    // The choices do not depend on the start of the run. Another seed has others.
    let later = handovers(&sky, 0, Rule::Slots(all), Span::new(300.0, 600.0, 10.0).unwrap()).unwrap();
    assert_eq!(serving_at(&later, 400.0), serving_at(&list, 400.0));
    let other = handovers(&sky, 0, Rule::Slots(Slots { seed: 2, ..all }), span(600.0)).unwrap();
    assert!(list != other);
    assert!(handovers(&sky, 0, Rule::Slots(Slots { period_s: 0.0, ..all }), span(600.0)).is_err());
}

#[test]
fn who_serves_follows_from_the_handovers() {
    let list = [Handover { at_s: 1.0, from: None, to: Some(4) }, Handover { at_s: 3.0, from: Some(4), to: None }];
    assert_eq!([0.5, 1.0, 2.9, 3.0, 9.0].map(|t| serving_at(&list, t)), [None, Some(4), Some(4), None, None]);
}

/// Satellites on the side of the pole that is nearer are chosen in either hemisphere, if the others have next to no weight.
/// Each stays in view until its slot ends, since some of a thousand satellites do.
#[test]
fn a_slot_has_a_satellite_towards_the_pole_that_stays() {
    for latitude in [40.0_f64, -40.0] {
        let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
        sky.places.push(Place::fixed("p", Geodetic::new(latitude, 10.0, 0.0).unwrap()));
        let slots = Slots { stay: 0.0, elevation_power: 0.0, poleward: 1e6, ..Slots::starlink(1) };
        let list = handovers(&sky, 0, Rule::Slots(slots), span(600.0)).unwrap();
        assert!(list.len() > 30);
        let (lat, lon) = (latitude.to_radians(), 10.0_f64.to_radians());
        let north = [-lat.sin() * lon.cos(), -lat.sin() * lon.sin(), lat.cos()];
        for handover in &list[1..] {
            let satellite = handover.to.unwrap();
            let [at, place] = [satellite, sky.node(0)].map(|node| sky.position(node, handover.at_s).unwrap());
            let northwards: f64 = (0..3).map(|axis| (at[axis] - place[axis]) * north[axis]).sum();
            assert!(northwards * latitude > 0.0, "{handover:?} at {latitude}");
            let later = sky.visible(0, handover.at_s + 15.0 - 1e-6).unwrap();
            assert!(later.iter().any(|sighting| sighting.satellite == satellite), "{handover:?} at {latitude}");
        }
    }
}
