//! Measures the time of route computations: `all_pairs [cities] [steps] [planes] [per plane] [step in s]`. The sky is a
//! Kuiper-like shell at 630 km by SGP4, with all pairs of evenly chosen cities. Prints changes and the mean delay, so
//! that no work is optimised away.

use bentpipe_orbit::sky::constellation::{Constellation, Pattern, Phasing, Propagation, Shell, Size};
use bentpipe_orbit::sky::earth::Earth;
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::links::SatelliteLinks;
use bentpipe_orbit::sky::places::Access;
use bentpipe_orbit::sky::places::{cities, Place};
use bentpipe_orbit::sky::route::{Router, Routing};
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;
use std::io::Write;

fn main() {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let argument = |k: usize, default: f64| arguments.get(k).copied().unwrap_or(default);
    let count = argument(0, 100.0) as usize;
    let (planes, per_plane) = (argument(2, 34.0) as u32, argument(3, 34.0) as u32);
    let mut constellation = Constellation::new(Epoch::Y2000);
    let shell = Shell {
        size: Size::RevsPerDay(14.8),
        eccentricity: 1e-7,
        phasing: Phasing::OddPlanes(180.0 / f64::from(per_plane)),
        propagation: Propagation::Sgp4,
        ..Shell::walker("kuiper", Pattern::Delta, planes, per_plane, 630.0, 51.9)
    };
    constellation.add_shell(&shell).unwrap();
    let mut sky = Sky::new(constellation, Earth::WGS84, Access::MaxRange(1260.0));
    sky.links = SatelliteLinks::GRID;
    let within: Vec<_> = cities().filter(|(_, at)| at.latitude_deg.abs() < 55.0).collect();
    sky.places =
        (0..count).map(|k| within[k * within.len() / count]).map(|(name, at)| Place::fixed(name, at)).collect();
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
    let step = argument(4, 0.1);
    let span = Span::new(0.0, argument(1, 2000.0) * step, step).unwrap();
    let routing = Routing::default();
    let mut router = Router::new(&sky, &pairs, &routing, step).unwrap();
    let (mut changes, mut sum, mut reached) = (0usize, 0.0, 0usize);
    for t in span.times() {
        router.step(t);
        changes += router.changed().len();
        for pair in 0..pairs.len() {
            let delay = router.delay_s(pair);
            if delay.is_finite() {
                sum += delay;
                reached += 1;
            }
        }
    }
    let mean = 1e3 * sum / reached as f64;
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "{} pairs, {} steps: {changes} changes, {reached} with a path, {mean:.6} ms",
        pairs.len(),
        span.count()
    );
}
