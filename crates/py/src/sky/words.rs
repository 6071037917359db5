//! Converts words of Python to types.

use bentpipe_orbit::sky::constellation::Propagation;
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::presets::Orbits;
use bentpipe_orbit::sky::selection::{Rule, Slots};
use bentpipe_orbit::sky::SkyError as Wrong;
use bentpipe_units::quantity::AGE;

/// Motion of shells (`j2`, `kepler`, `sgp4`), revolutions per day, phase of odd planes in degrees.
pub(super) type Others = (Option<String>, Option<f64>, Option<f64>);

/// Returns a written age in s.
pub(super) fn age(text: &str) -> Result<f64, Wrong> {
    let wrong = |error| Wrong {
        at: format!("elements_age_max = {text}"),
        what: format!("it {error}; expected {}", AGE.expected),
    };
    AGE.parse(text).map(|seconds| seconds as f64).map_err(wrong)
}

pub(super) fn start(epoch: Option<&str>) -> Result<Epoch, Wrong> {
    epoch.map_or(Ok(Epoch::Y2000), Epoch::parse)
}

pub(super) fn others((motion, revs_per_day, odd_planes_deg): Others) -> Result<Orbits, Wrong> {
    let motion = match motion.as_deref() {
        None => None,
        Some("j2") => Some(Propagation::J2),
        Some("kepler") => Some(Propagation::Kepler),
        Some("sgp4") => Some(Propagation::Sgp4),
        Some(name) => return Err(Wrong { at: format!("motion {name:?}"), what: "there is no such motion".into() }),
    };
    Ok(Orbits { motion, revs_per_day, odd_planes_deg })
}

/// Returns a rule by name. None: the satellite of the best path.
pub(super) fn rule_of(name: &str, seed: u64) -> Result<Option<Rule>, Wrong> {
    Ok(match name {
        "any" => None,
        "highest" => Some(Rule::Highest),
        "nearest" => Some(Rule::Nearest),
        "longest" => Some(Rule::LongestRemaining),
        "periodic" => Some(Rule::PeriodicCheck { interval_s: 10.0, randomised: Some(seed) }),
        "starlink" => Some(Rule::Slots(Slots::starlink(seed))),
        _ => return Err(Wrong { at: format!("rule {name:?}"), what: "there is no such rule".into() }),
    })
}
