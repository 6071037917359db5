//! The sky that the keys describe: satellites, places, and which of them may be linked.

use super::failing;
use super::ground::Ground;
use super::{say, wrong};
use crate::scenario::files::Files;
use crate::scenario::keys::{Bad, Between, Elements, Metric, Over, PathChange, Selection, Sky as Keys};
use crate::scenario::report::Findings;
use crate::scenario::tree::{quoted, Tree};
use bentpipe_orbit::sky::constellation::{median_epoch, Constellation};
use bentpipe_orbit::sky::earth::Earth;
use bentpipe_orbit::sky::elements::{read_elements, BadRecords, ElementFormat};
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::links::{GridLinks, SatelliteLinks, Topology};
use bentpipe_orbit::sky::orbit::Orbit;
use bentpipe_orbit::sky::places::Access;
use bentpipe_orbit::sky::presets::{preset, PRESETS};
use bentpipe_orbit::sky::route::{Metric as Best, Switch};
use bentpipe_orbit::sky::scene::{Cable, Sky};
use bentpipe_orbit::sky::selection::{Rule, Slots};
use bentpipe_orbit::sky::SkyError;

/// Where nothing else is said, degrees: over the equator, and in low orbits.
const ELEVATION_MIN: f64 = 5.0;
const ELEVATION_OF_ELEMENTS: f64 = 25.0;

/// The sky; `None` if something is wrong with it.
pub(super) fn make(
    keys: &Keys,
    raw: &Tree,
    ground: &Ground,
    files: &dyn Files,
    findings: &mut Findings,
) -> Option<Sky> {
    let start = match keys.start.as_deref().map(Epoch::parse).transpose() {
        Ok(start) => start,
        Err(error) => {
            say(raw, findings, &["sky", "start"], &error.to_string(), "expected UTC, like \"2026-06-14T12:00:00Z\"");
            return None;
        }
    };
    if let Over::Named(name) = &keys.over {
        let known = || PRESETS.iter().map(|preset| preset.name);
        if !known().any(|preset| preset == name) {
            let message = format!("sky.over = {} is no constellation", quoted(name));
            let expected = format!(
                "expected one of {}; or {{ geo = 19.2 }}, or {{ elements = \"FILE\" }}",
                known().collect::<Vec<_>>().join(", ")
            );
            let guess = findings.guess(name, known());
            findings.add(&raw.at(["over"]).place, "sky.over", message, expected, guess);
            return None;
        }
    }
    let mut sky = match satellites(keys, start, files) {
        Ok(sky) => sky,
        Err(error) => {
            say(raw, findings, &["sky", "over"], &format!("is of no use: {error}"), "");
            return None;
        }
    };
    if let Some(elevation) = keys.elevation_min {
        sky.access = Access::MinElevation(elevation.0);
    }
    if let Some(between) = keys.between_satellites {
        sky.links = links(between, &sky.links);
    }
    sky.places.clone_from(&ground.places);
    let gateways: Vec<usize> = (0..sky.places.len()).filter(|place| sky.places[*place].relay).collect();
    for (number, a) in gateways.iter().enumerate() {
        for b in &gateways[number + 1..] {
            match Cable::fibre(&sky.places, *a, *b, keys.stretch) {
                Ok(cable) => sky.cables.push(cable),
                Err(error) => {
                    wrong(raw, findings, &error);
                    return None;
                }
            }
        }
    }
    sky.failures = failing::read(keys, raw, ground, &sky, findings)?;
    match sky.check() {
        Ok(()) => Some(sky),
        Err(error) => {
            wrong(raw, findings, &error);
            None
        }
    }
}

fn satellites(keys: &Keys, start: Option<Epoch>, files: &dyn Files) -> Result<Sky, SkyError> {
    match &keys.over {
        Over::Named(name) => preset(name)?.sky(start.unwrap_or(Epoch::Y2000)),
        Over::Slot(slot) => {
            let mut constellation = Constellation::new(start.unwrap_or(Epoch::Y2000));
            constellation.add("geo", Orbit::geo(slot.geo, slot.inclination, 0.0)?)?;
            Ok(Sky::new(constellation, Earth::WGS84, Access::MinElevation(ELEVATION_MIN)))
        }
        Over::File(file) => catalogued(file, start, files),
    }
}

fn catalogued(file: &Elements, start: Option<Epoch>, files: &dyn Files) -> Result<Sky, SkyError> {
    let of_file = |what: String| SkyError { at: file.elements.clone(), what };
    let content = files.read(&file.elements).map_err(|(why, expected)| of_file(format!("{why}; {expected}")))?;
    let text = String::from_utf8(content).map_err(|_| of_file("is no text".into()))?;
    let bad = match file.bad {
        Bad::Refuse => BadRecords::Refuse,
        Bad::Skip => BadRecords::Skip,
    };
    let read = read_elements(&text, ElementFormat::Auto, bad).map_err(|error| of_file(error.to_string()))?;
    let mut constellation = Constellation::new(start.or(median_epoch(&read.sets)).unwrap_or(Epoch::Y2000));
    constellation.add_elements(&read.sets)?;
    Ok(Sky::new(constellation, Earth::WGS84, Access::MinElevation(ELEVATION_OF_ELEMENTS)))
}

/// Links between satellites in place of those that the constellation has.
fn links(between: Between, own: &SatelliteLinks) -> SatelliteLinks {
    let seam = match between {
        Between::Off => return SatelliteLinks::NONE,
        Between::Grid => false,
        Between::Seam => true,
    };
    let polar_cutoff_deg = match &own.topology {
        Topology::Grid(grid) => grid.polar_cutoff_deg,
        _ => None,
    };
    SatelliteLinks { topology: Topology::Grid(GridLinks { offset: 0, seam, polar_cutoff_deg }), ..SatelliteLinks::GRID }
}

/// The rule by which places take their satellite; none where the path decides.
pub(super) fn rule(selection: Selection, seed: u64) -> Option<Rule> {
    match selection {
        Selection::Any => None,
        Selection::Highest => Some(Rule::Highest),
        Selection::Nearest => Some(Rule::Nearest),
        Selection::Longest => Some(Rule::LongestRemaining),
        Selection::Periodic => Some(Rule::PeriodicCheck { interval_s: 10.0, randomised: Some(seed) }),
        Selection::Starlink => Some(Rule::Slots(Slots::starlink(seed))),
    }
}

pub(super) fn metric(metric: Metric) -> Best {
    match metric {
        Metric::Delay => Best::Delay,
        Metric::Hops => Best::Hops,
    }
}

pub(super) fn switch(change: PathChange) -> Switch {
    match change {
        PathChange::Better => Switch::WhenBetter,
        PathChange::Broken => Switch::WhenBroken,
    }
}
