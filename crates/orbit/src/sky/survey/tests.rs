use super::*;
use crate::sky::constellation::Constellation;
use crate::sky::earth::{slant_range_km, Earth, RADIUS_KM};
use crate::sky::epoch::Epoch;
use crate::sky::orbit::{Kepler, Orbit};
use crate::sky::places::Access;
use crate::sky::places::Place;
use crate::sky::presets::{preset, KEPLER};
use crate::sky::route::{routes_while, Over, Routing};
use crate::sky::scene::Cable;
use crate::sky::selection::{handovers_while, Rule, Slots};

/// One satellite over the equator that passes overhead at longitude 0 at t = 0.
fn overhead(altitude_km: f64, elevation_deg: f64) -> Sky {
    let mut constellation = Constellation::new(Epoch::Y2000);
    let kepler = Kepler {
        semi_major_axis_km: RADIUS_KM + altitude_km,
        eccentricity: 0.0,
        inclination_deg: 0.0,
        raan_deg: 0.0,
        perigee_deg: 0.0,
        mean_anomaly_deg: 0.0,
        j2: false,
    };
    constellation.add("s", Orbit::kepler(kepler).unwrap()).unwrap();
    let mut sky = Sky::new(constellation, Earth::AT_REST, Access::MinElevation(elevation_deg));
    sky.places.push(Place::fixed("p", Geodetic::new(0.0, 0.0, 0.0).unwrap()));
    sky
}

/// `docs/specs/geometry-delay.md`: times of visibility of overhead passes over an Earth at rest; the timer study's pass
/// (1350 km, 20°) lasts 719.16 s, is farthest 2697.30 km and nearest 1350 km.
#[test]
fn overhead_passes_last_as_long_as_their_closed_form() {
    for (h, elevation, visible) in
        [(1350.0, 20.0, 719.16), (1350.0, 10.0, 962.79), (780.0, 8.2, 667.16), (550.0, 40.0, 164.26)]
    {
        let sky = overhead(h, elevation);
        let span = Span::new(-2000.0, 2000.0, 30.0).unwrap();
        let found = passes(&sky, 0, span).unwrap();
        assert_eq!(found.len(), 1);
        let pass = found[0];
        assert!(((pass.set_s - pass.rise_s) / visible - 1.0).abs() < 5e-5, "{h}: {pass:?}");
        assert!(pass.highest_s.abs() < 1e-2 && (pass.max_elevation_deg - 90.0).abs() < 1e-2, "{pass:?}");
        assert!((pass.min_range_km - h).abs() < 1e-3);
        let edge = slant_range_km(RADIUS_KM, RADIUS_KM + h, elevation);
        assert!((pass.max_range_km - edge).abs() < 0.01, "{} {edge}", pass.max_range_km);
    }
}

/// On the turning Earth an equatorial pass is longer by 1/(1 - ω_E/ω_s).
#[test]
fn the_turning_earth_makes_passes_longer() {
    let mut sky = overhead(1350.0, 20.0);
    let deg_per_s = crate::sky::earth::TURN_RAD_S / RAD;
    sky.earth.rotation = crate::sky::earth::Rotation::Uniform { at_epoch_deg: 0.0, deg_per_s };
    let pass = passes(&sky, 0, Span::new(-2000.0, 2000.0, 30.0).unwrap()).unwrap()[0];
    let factor = 1.0 / (1.0 - crate::sky::earth::TURN_RAD_S * 6761.19 / (2.0 * std::f64::consts::PI));
    assert!(((pass.set_s - pass.rise_s) / (719.16 * factor) - 1.0).abs() < 2e-5, "{pass:?} {factor}");
}

#[test]
fn passes_are_cut_off_at_the_ends_of_the_span() {
    let sky = overhead(1350.0, 20.0);
    let found = passes(&sky, 0, Span::new(-100.0, 100.0, 30.0).unwrap()).unwrap();
    assert_eq!((found.len(), found[0].rise_s, found[0].set_s), (1, -100.0, 100.0));
    assert!(passes(&sky, 1, Span::new(0.0, 1.0, 1.0).unwrap()).is_err());
}

/// A geostationary satellite above 0° covers the cap of central angle acos(R/r): (1 - R/r)/2 of the sphere.
#[test]
fn a_geostationary_satellite_covers_its_cap() {
    let mut constellation = Constellation::new(Epoch::Y2000);
    constellation.add("geo", Orbit::geo(30.0, 0.0, 0.0).unwrap()).unwrap();
    let sky = Sky::new(constellation, Earth::AT_REST, Access::MinElevation(0.0));
    let cells = coverage(&sky, 2.0, None, Span::new(0.0, 1.0, 1.0).unwrap()).unwrap();
    assert_eq!(cells.len(), 90 * 180);
    let expected = 0.5 * (1.0 - RADIUS_KM / (RADIUS_KM + 35_786.0));
    assert!((covered_area(&cells) - expected).abs() < 2e-3, "{} {expected}", covered_area(&cells));
    let seen = |lat: f64, lon: f64| cells.iter().find(|c| (c.latitude_deg, c.longitude_deg) == (lat, lon)).unwrap();
    assert_eq!((seen(1.0, 31.0).min, seen(1.0, -149.0).min), (1, 0));
}

/// Below a geostationary satellite the delay is its height over the speed of light. A place there doubles it.
#[test]
fn the_delay_below_a_geostationary_satellite_is_its_height_over_c() {
    let mut constellation = Constellation::new(Epoch::Y2000);
    constellation.add("geo", Orbit::geo(30.0, 0.0, 0.0).unwrap()).unwrap();
    let mut sky = Sky::new(constellation, Earth::WGS84, Access::MinElevation(5.0));
    sky.places.push(Place::fixed("below", Geodetic::new(0.0, 30.0, 0.0).unwrap()));
    let span = Span::new(0.0, 3.0, 1.0).unwrap();
    for (to, hops) in [(None, 1.0), (Some((0, Over::Satellites)), 2.0)] {
        let cells = coverage(&sky, 4.0, to, span).unwrap();
        let delay = |lat, lon| cells.iter().find(|c| (c.latitude_deg, c.longitude_deg) == (lat, lon)).unwrap().delay_s;
        let expected = hops * 35_786.03 / 299_792.458;
        assert!((delay(0.0, 30.0) / expected - 1.0).abs() < 1e-6, "{} {expected}", delay(0.0, 30.0));
        assert!(delay(0.0, -150.0).is_nan());
    }
    assert!(coverage(&sky, 4.0, Some((1, Over::Satellites)), span).is_err());
}

/// Delays to a place are those of the routes from the centres of cells, over links between satellites and over bent
/// pipes with fibre between gateways.
#[test]
fn delays_to_a_place_are_those_of_routes() {
    for (name, relays) in [("iridium", [false; 3]), ("iridium", [false, true, false]), ("oneweb", [false, true, true])]
    {
        let mut sky = preset(name).unwrap().sky(Epoch::Y2000).unwrap();
        for (city, relay) in ["Oslo", "Lima", "Paris"].into_iter().zip(relays) {
            sky.places.push(Place { relay, ..Place::city(city).unwrap() });
        }
        if relays[2] {
            sky.cables.push(Cable::fibre(&sky.places, 1, 2, 1.5).unwrap());
        }
        let span = Span::new(100.0, 160.0, 20.0).unwrap();
        for to in [0, 1] {
            let routing = Routing { over: Over::of(&sky), ..Routing::default() };
            let cells = coverage(&sky, 30.0, Some((to, routing.over)), span).unwrap();
            let mut from_cells = sky.clone();
            for cell in &cells {
                let at = Geodetic::new(cell.latitude_deg, cell.longitude_deg, 0.0).unwrap();
                from_cells.places.push(Place::fixed("cell", at));
            }
            let pairs: Vec<(usize, usize)> = (0..cells.len()).map(|k| (3 + k, to)).collect();
            let routes = routes_while(&from_cells, &pairs, &routing, span, None, &mut |_| true).unwrap();
            let mut reached = 0;
            for (cell, route) in cells.iter().zip(routes) {
                let delays: Vec<f64> = route.delays_s.into_iter().filter(|s| s.is_finite()).collect();
                let mean = delays.iter().sum::<f64>() / delays.len() as f64;
                assert!(
                    (cell.delay_s - mean).abs() < 1e-12 || cell.delay_s.is_nan() && mean.is_nan(),
                    "{name} {cell:?}"
                );
                reached += delays.len();
            }
            assert!(reached > 10, "{name} {relays:?} {to}");
        }
    }
}

/// Iridium covers the whole Earth above its 8.2°; the average number in view is that of the caps: T (1 - cos ψ)/2.
#[test]
fn iridium_covers_the_earth() {
    let sky = preset("iridium").unwrap().sky_with(Epoch::Y2000, &KEPLER, Earth::AT_REST).unwrap();
    let cells = coverage(&sky, 6.0, None, Span::new(0.0, 6027.0, 60.0).unwrap()).unwrap();
    assert!(cells.iter().all(|cell| cell.covered == 1.0 && cell.min >= 1));
    let area = |cell: &Cell| libm::cos(cell.latitude_deg * RAD);
    let mean = cells.iter().map(|c| area(c) * c.mean).sum::<f64>() / cells.iter().map(area).sum::<f64>();
    let expected = 66.0 * 0.5 * (1.0 - libm::cos(19.925 * RAD));
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} {expected}");
}

/// A caller can end the work, and gets its progress until then.
#[test]
fn long_work_says_how_far_it_is_and_can_be_ended() {
    let mut sky = preset("iridium").unwrap().sky(Epoch::Y2000).unwrap();
    sky.places.extend([Place::city("Oslo").unwrap(), Place::city("Lima").unwrap()]);
    let span = Span::new(100.0, 500.0, 10.0).unwrap();
    type Work<'a> = &'a dyn Fn(GoOn) -> Result<(), SkyError>;
    let works: [Work; 5] = [
        &|go_on| passes_while(&sky, 0, span, go_on).map(drop),
        &|go_on| coverage_while(&sky, 30.0, None, span, go_on).map(drop),
        &|go_on| routes_while(&sky, &[(0, 1)], &Routing::default(), span, None, go_on).map(drop),
        &|go_on| handovers_while(&sky, 0, Rule::Highest, span, go_on).map(drop),
        &|go_on| handovers_while(&sky, 0, Rule::Slots(Slots::starlink(1)), span, go_on).map(drop),
    ];
    for work in works {
        let mut shares = Vec::new();
        work(&mut |share| {
            shares.push(share);
            true
        })
        .unwrap();
        assert!(shares.len() > 20 && shares[0] == 0.0 && shares.windows(2).all(|s| s[0] < s[1]), "{shares:?}");
        let mut count = 0;
        let ended = work(&mut |_| {
            count += 1;
            count < 5
        });
        assert!(ended.is_err() && count == 5);
    }
}
