//! Measures two more computations. `speed elements FILE [N]` propagates the element sets of a file whose names begin
//! with STARLINK (all, if there are none) to N instants. `speed day` follows London to Singapore over Starlink's first
//! shell for a day, at steps of 1 s.

use bentpipe_orbit::sky::constellation::{median_epoch, Constellation};
use bentpipe_orbit::sky::earth::Earth;
use bentpipe_orbit::sky::elements::{read_elements, BadRecords, ElementFormat};
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::motion::positions;
use bentpipe_orbit::sky::places::Place;
use bentpipe_orbit::sky::presets::preset;
use bentpipe_orbit::sky::route::{routes, Routing};
use bentpipe_orbit::sky::span::Span;
use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout();
    if let Some(file) = arguments.get(1) {
        let text = std::fs::read_to_string(file).unwrap();
        let mut sets = read_elements(&text, ElementFormat::Auto, BadRecords::Refuse).unwrap().sets;
        if sets.iter().any(|set| set.name.starts_with("STARLINK")) {
            sets.retain(|set| set.name.starts_with("STARLINK"));
        }
        let mut constellation = Constellation::new(median_epoch(&sets).unwrap());
        constellation.add_elements(&sets).unwrap();
        let instants = arguments.get(2).map_or(1, |n| n.parse().unwrap());
        let mut sum = 0.0;
        for k in 0..instants {
            sum += positions(&constellation, &Earth::WGS84, f64::from(k)).z.iter().sum::<f64>();
        }
        let _ = writeln!(out, "{} satellites, {instants} instants, sum {sum:.3} km", sets.len());
    } else {
        let mut sky = preset("starlink-shell-1").unwrap().sky(Epoch::Y2000).unwrap();
        sky.places = ["London", "Singapore"].map(|name| Place::city(name).unwrap()).to_vec();
        let span = Span::new(0.0, 86_400.0, 1.0).unwrap();
        let route = routes(&sky, &[(0, 1)], &Routing::default(), span, None).unwrap().remove(0);
        let mean = route.delays_s.iter().sum::<f64>() / route.delays_s.len() as f64;
        let _ = writeln!(
            out,
            "{} instants, {} changes, mean {:.6} ms",
            route.delays_s.len(),
            route.changes.len(),
            mean * 1e3
        );
    }
}
