//! Makes the sky of the keys: satellites, places, and rules for links between them.

use super::day;
use super::failing;
use super::ground::Ground;
use super::names::names;
use super::{say, wrong};
use crate::files::Files;
use crate::keys::{
    Bad, Between, BetweenSatellites, Metric, Motion, Over, OwnLinks, OwnPattern, OwnShell, PathChange, Relay,
    Selection, Sky as Keys,
};
use crate::report::Findings;
use crate::tree::{quoted, Tree};
use bentpipe_orbit::sky::catalogue::{read_sky, Request};
use bentpipe_orbit::sky::constellation::{Constellation, Pattern, Phasing, Propagation, Shell, Size};
use bentpipe_orbit::sky::earth::Earth;
use bentpipe_orbit::sky::elements::BadRecords;
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::links::{GridLinks, SatelliteLinks, Topology};
use bentpipe_orbit::sky::orbit::Orbit;
use bentpipe_orbit::sky::places::Access;
use bentpipe_orbit::sky::presets::{of_shells, preset, Orbits, PRESETS};
use bentpipe_orbit::sky::route::{Metric as Best, Switch};
use bentpipe_orbit::sky::scene::{Cable, Sky};
use bentpipe_orbit::sky::selection::{Rule, Slots};
use bentpipe_orbit::sky::SkyError;

/// Default of the least elevation for slots over the equator, in degrees.
const ELEVATION_MIN: f64 = 5.0;

/// Makes the sky of a run of `run` seconds. Returns `None` if the keys are invalid.
pub(super) fn make(
    (keys, run): (&Keys, f64),
    raw: &Tree,
    ground: &Ground,
    files: &dyn Files,
    findings: &mut Findings,
) -> Option<Sky> {
    if let Over::Named(name) = &keys.over {
        let known = || PRESETS.iter().map(|preset| preset.name);
        if !known().any(|preset| preset == name) {
            let message = format!("sky.over = {} is not a constellation", quoted(name));
            let expected = format!(
                "expected one of {}; or {{ geo = 19.2 }}, or {{ elements = \"FILE\" }}",
                known().collect::<Vec<_>>().join(", ")
            );
            let guess = findings.guess(name, known());
            findings.add(&raw.at(["over"]).place, "sky.over", message, expected, guess);
            return None;
        }
    }
    if !matches!(keys.over, Over::Named(_)) && orbits(keys).are_given() {
        let message = "has satellites with their own orbits, which exclude motion, mean_motion and odd_planes";
        let expected = "expected a constellation by name, or these keys in each of over.shells";
        say(raw, findings, &["sky", "over"], message, expected);
        return None;
    }
    let mut sky = match satellites(keys, run, files, &mut findings.notes) {
        Ok(sky) => sky,
        Err(error) => {
            say(raw, findings, &["sky", "over"], &format!("is of no use: {error}"), "");
            return None;
        }
    };
    match (keys.elevation_min, keys.range_max_km) {
        (Some(_), Some(_)) => {
            say(raw, findings, &["sky", "range_max_km"], "excludes elevation_min", "expected one of them");
            return None;
        }
        (Some(elevation), None) => sky.access = Access::MinElevation(elevation.0),
        (None, Some(km)) => sky.access = Access::MaxRange(km),
        (None, None) => {}
    }
    let is_grid = match &keys.between_satellites {
        Some(BetweenSatellites::Kind(between)) => *between != Between::Off,
        Some(BetweenSatellites::Own(own)) => own.pairs.is_empty(),
        None => false,
    };
    if is_grid && sky.constellation.grids.is_empty() {
        let message = "needs neighbours in planes, but these satellites have no planes";
        say(raw, findings, &["sky", "between_satellites"], message, "expected pairs, by name");
        return None;
    }
    match &keys.between_satellites {
        Some(BetweenSatellites::Kind(between)) => sky.links = links(*between, &sky.links),
        Some(BetweenSatellites::Own(own)) => sky.links = own_links(own, keys, raw, &sky, findings)?,
        None => {}
    }
    sky.places.clone_from(&ground.places);
    let fibres = keys.relay == Relay::Fibre;
    let gateways: Vec<usize> = (0..sky.places.len()).filter(|place| fibres && sky.places[*place].relay).collect();
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
    sky.failures = failing::read((keys, run), raw, ground, &sky, findings)?;
    match sky.check() {
        Ok(()) => Some(sky),
        Err(error) => {
            wrong(raw, findings, &error);
            None
        }
    }
}

/// Returns the satellites over a run of `run` seconds, and notes on skipped ones.
fn satellites(keys: &Keys, run: f64, files: &dyn Files, notes: &mut Vec<String>) -> Result<Sky, SkyError> {
    let later_s = day::later_s(keys);
    let start = keys.start.map(|start| start.0);
    // Epoch of the angles of synthetic constellations.
    let begin = start.unwrap_or(Epoch::Y2000);
    let mut sky = match &keys.over {
        Over::Named(name) => preset(name)?.sky_with(begin, &orbits(keys), Earth::WGS84),
        Over::Slot(slot) => {
            let mut constellation = Constellation::new(begin);
            constellation.add("geo", Orbit::geo(slot.geo, slot.inclination, 0.0)?)?;
            Ok(Sky::new(constellation, Earth::WGS84, Access::MinElevation(ELEVATION_MIN)))
        }
        Over::File(file) => {
            let request = Request {
                epoch: start.map(|start| start.after(later_s)),
                begin_s: 0.0,
                duration_s: run,
                age_max_s: keys.elements_age_max.0 as f64,
                bad: match file.bad {
                    Bad::Refuse => BadRecords::Refuse,
                    Bad::Skip => BadRecords::Skip,
                },
            };
            return catalogued(&file.elements, (&request, later_s), files, notes);
        }
        Over::Several(_) => Err(SkyError { at: "over".into(), what: "expected one constellation".into() }),
        Over::Shells(own) => {
            let shells = own.shells.iter().enumerate().map(|(n, one)| shell(n, one, &own.shells));
            of_shells(&shells.collect::<Result<Vec<Shell>, SkyError>>()?, begin)
        }
    }?;
    if later_s > 0.0 {
        sky.constellation.advance(later_s);
    }
    Ok(sky)
}

/// Returns orbital parameters that replace those of a constellation by name.
fn orbits(keys: &Keys) -> Orbits {
    Orbits { motion: keys.motion.map(propagation), revs_per_day: keys.mean_motion, odd_planes_deg: keys.odd_planes }
}

fn propagation(motion: Motion) -> Propagation {
    match motion {
        Motion::J2 => Propagation::J2,
        Motion::Kepler => Propagation::Kepler,
        Motion::Sgp4 => Propagation::Sgp4,
    }
}

/// Returns a shell with its name. Satellites of a single shell are `PLANE-PLACE`, those of several are
/// `SHELL-PLANE-PLACE`.
fn shell(number: usize, own: &OwnShell, all: &[OwnShell]) -> Result<Shell, SkyError> {
    let name = if all.len() == 1 { "shell".to_owned() } else { format!("shell-{}", number + 1) };
    let pattern = match own.pattern {
        OwnPattern::Delta => Pattern::Delta,
        OwnPattern::Star => Pattern::Star,
    };
    let size = match (own.altitude_km, own.mean_motion) {
        (Some(km), None) => Size::AltitudeKm(km),
        (None, Some(revs_per_day)) => Size::RevsPerDay(revs_per_day),
        _ => {
            let what = "expected either altitude_km or mean_motion".to_owned();
            return Err(SkyError { at: format!("shell {}", number + 1), what });
        }
    };
    let plain = Shell::walker(&name, pattern, own.planes, own.per_plane, 0.0, own.inclination);
    Ok(Shell {
        size,
        eccentricity: own.eccentricity,
        perigee_deg: own.perigee,
        raan_spacing_deg: own.spacing,
        first_raan_deg: own.node,
        first_anomaly_deg: own.anomaly,
        phasing: own.odd_planes.map_or(Phasing::Walker(own.phasing), Phasing::OddPlanes),
        propagation: propagation(own.motion),
        ..plain
    })
}

/// Returns the satellites of a file of elements. Without a start, the run begins `later_s` after the epoch of the
/// elements.
fn catalogued(
    name: &str,
    (request, later_s): (&Request, f64),
    files: &dyn Files,
    notes: &mut Vec<String>,
) -> Result<Sky, SkyError> {
    let of_file = |what: String| SkyError { at: name.to_owned(), what };
    let content = files.read(name).map_err(|(why, expected)| of_file(format!("{why}; {expected}")))?;
    let satellites = |request: &Request| {
        let (sky, census) = read_sky(&content, request)?;
        match request.epoch {
            None if later_s > 0.0 => {
                let epoch = Some(sky.constellation.epoch.after(later_s));
                read_sky(&content, &Request { epoch, ..*request })
            }
            _ => Ok((sky, census)),
        }
    };
    let (sky, census) = satellites(request).map_err(|error| {
        // A record can be skipped, a file cannot.
        let is_record = error.at.starts_with("line ") && request.bad == BadRecords::Refuse;
        let help = if is_record { "; bad = \"skip\" beside elements leaves such records out" } else { "" };
        of_file(format!("{error}{help}"))
    })?;
    notes.extend(census.notes().into_iter().map(|note| format!("{name}: {note}")));
    Ok(sky)
}

/// Returns links between satellites that replace those of the constellation.
fn links(between: Between, own: &SatelliteLinks) -> SatelliteLinks {
    match between {
        Between::Off => SatelliteLinks::NONE,
        Between::Grid => own.as_grid(false),
        Between::Seam => own.as_grid(true),
    }
}

/// Returns links between satellites in detail, or `None` if they are invalid.
fn own_links(own: &OwnLinks, keys: &Keys, raw: &Tree, sky: &Sky, findings: &mut Findings) -> Option<SatelliteLinks> {
    let topology = if own.pairs.is_empty() {
        let polar_cutoff_deg = match (own.polar_cutoff, &sky.links.topology) {
            (Some(deg), _) => Some(deg).filter(|deg| *deg < 90.0),
            (None, Topology::Grid(grid)) => grid.polar_cutoff_deg,
            (None, _) => None,
        };
        Topology::Grid(GridLinks { offset: own.offset as i32, seam: own.seam, polar_cutoff_deg })
    } else {
        if own.offset > 0 || own.seam || own.polar_cutoff.is_some() {
            let message = "excludes offset, seam and polar_cutoff, which belong to +Grid";
            say(raw, findings, &["sky", "between_satellites", "pairs"], message, "expected one of them");
            return None;
        }
        let names = names(keys, sky);
        let mut pairs = Vec::new();
        for (number, (a, b)) in own.pairs.iter().enumerate() {
            let found = [a, b]
                .map(|name| failing::number(&names, keys, name).filter(|node| (*node as usize) < sky.satellites()));
            match found {
                [Some(a), Some(b)] if a != b => pairs.push((a, b)),
                _ => {
                    let message = format!("has {} and {}, which are not two satellites", quoted(a), quoted(b));
                    let expected = format!("expected names like {}", quoted(&names[0]));
                    let number = number.to_string();
                    say(raw, findings, &["sky", "between_satellites", "pairs", &number], &message, &expected);
                    return None;
                }
            }
        }
        Topology::List(pairs)
    };
    Some(SatelliteLinks { topology, max_km: own.max_km.unwrap_or(f64::INFINITY), grazing_km: own.above_km })
}

/// Returns the rule for a place's satellite, or none if the path decides.
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
