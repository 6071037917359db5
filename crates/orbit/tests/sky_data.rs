//! The sky against published data and other simulators. The data do not come with bentpipe: tests for which they are missing
//! say so and do nothing.

use bentpipe_orbit::sky::constellation::{Constellation, Pattern, Phasing, Propagation, Shell, Size};
use bentpipe_orbit::sky::earth::{Earth, Geodetic};
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::links::SatelliteLinks;
use bentpipe_orbit::sky::places::Place;
use bentpipe_orbit::sky::route::{routes, Routing, Span};
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::view::Access;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A file of `shared/data`, decompressed; nothing if it is not there, which is said.
fn data(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let text = if name.ends_with(".xz") {
        let output = Command::new("xz").arg("-dc").arg(&path).output();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    } else {
        std::fs::read(&path).ok()
    };
    if text.is_none() {
        // Past the harness, which keeps what a test that passes prints.
        let _ = writeln!(std::io::stderr(), "skipped: no {} (or no xz to read it with)", path.display());
    }
    text.map(|text| String::from_utf8(text).unwrap())
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// Hypatia's Kuiper-630 as its data say: SGP4, eccentricity 1e-7, odd planes half a place ahead, range 1260 km.
fn kuiper_630() -> Sky {
    let mut constellation = Constellation::new(Epoch::Y2000);
    let shell = Shell {
        size: Size::RevsPerDay(14.8),
        eccentricity: 1e-7,
        phasing: Phasing::OddPlanes(360.0 / 68.0),
        propagation: Propagation::Sgp4,
        ..Shell::walker("kuiper", Pattern::Delta, 34, 34, 630.0, 51.9)
    };
    constellation.add_shell(&shell).unwrap();
    let mut sky = Sky::new(constellation, Earth::WGS84, Access::MaxRange(1260.0));
    sky.links = SatelliteLinks { max_km: 5442.958, ..SatelliteLinks::GRID };
    sky
}

/// Hypatia: all 2000 round-trip times between Manila and Dalian within a microsecond, the path changing at the same steps.
#[test]
fn kuiper_from_manila_to_dalian_is_hypatias() {
    let (Some(cities), Some(rtts), Some(paths)) = (
        data("hypatia/ground_stations_top1000_2025pop.csv"),
        data("hypatia/kuiper630_rtt_Manila_Dalian.csv"),
        data("hypatia/kuiper630_path_Manila_Dalian.csv"),
    ) else {
        return;
    };
    let mut sky = kuiper_630();
    for name in ["Manila", "Dalian"] {
        let city = rows(&cities).find(|row| row[1] == name).unwrap();
        let at = Geodetic::new(city[2].parse().unwrap(), city[3].parse().unwrap(), 0.0).unwrap();
        sky.places.push(Place::fixed(name, at));
    }
    let span = Span::new(0.0, 200.0, 0.1).unwrap();
    let route = &routes(&sky, &[(0, 1)], &Routing::default(), span, None).unwrap()[0];
    let mut count = 0;
    let mut worst: f64 = 0.0;
    for (row, delay) in rows(&rtts).zip(&route.delays_s) {
        let rtt: f64 = row[1].parse().unwrap();
        worst = worst.max((2e9 * delay - rtt).abs());
        count += 1;
    }
    assert!(count == 2000 && route.delays_s.len() == 2000 && worst < 1000.0, "{count} values, {worst} ns off");
    // Their numbers of ground stations: 1173 Manila, 1241 Dalian.
    let changes: Vec<(u64, String)> = route
        .changes
        .iter()
        .map(|change| {
            let inner = &change.nodes[1..change.nodes.len() - 1];
            let nodes: Vec<String> = inner.iter().map(ToString::to_string).collect();
            ((change.at_s * 10.0).round() as u64 * 100_000_000, format!("1173-{}-1241", nodes.join("-")))
        })
        .collect();
    let expected: Vec<(u64, String)> = rows(&paths).map(|row| (row[0].parse().unwrap(), row[1].to_owned())).collect();
    assert_eq!(changes, expected);
}
