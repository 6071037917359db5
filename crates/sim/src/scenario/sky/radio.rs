//! What distance, air and rain leave of a radio link: errors and coding over time, as a file would have them.

use super::written::{made, seconds, Drawn, Ends};
use crate::scenario::keys::{Hop, Modem, Modulation, Radio, Rain};
use crate::scenario::tree::{Tree, Value};
use crate::spec::Acm;
use bentpipe_orbit::budget::climate::{climate, Climate};
use bentpipe_orbit::budget::fading::{Depth, Shower};
use bentpipe_orbit::budget::modulation::Modulation as Symbols;
use bentpipe_orbit::budget::radio::{Attenuation, Conditions, Radio as Link};
use bentpipe_orbit::budget::scintillation::Aperture;
use bentpipe_orbit::sky::earth::LIGHT_KM_S;
use bentpipe_orbit::sky::{distance, SkyError};
use bentpipe_units::settings::{Level, Typed};
use bentpipe_units::{Rate, Word};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;

/// Time between looks at the signal, s.
const SAMPLE: f64 = 1.0;
/// A change of the signal that is written down, dB.
const STEP_DB: f64 = 0.1;
/// Between values of the rain, s: it changes by a hundredth of its spread.
const RAIN_STEP: f64 = 1.0;
/// Of antennas on the ground: what P.618-13 §2.4.1 takes where it is not known.
const EFFICIENCY: f64 = 0.5;
/// From a signal that nobody hears to one that is never wrong, dB.
const SIGNAL: (f64, f64) = (-90.0, 90.0);

/// Es/N0 that the most robust modulation and code of DVB-S2 need, QPSK 1/4, dB (ETSI EN 302 307-1, table 13).
const WEAKEST: f64 = -2.35;

/// What cannot be.
pub(super) struct Wrong {
    pub(super) hop: &'static str,
    pub(super) side: &'static str,
    pub(super) message: String,
    pub(super) expected: &'static str,
}

/// The weather over the places.
pub(super) struct Weather {
    showers: Vec<Shower>,
    /// By place, carrier in MHz, and degrees of elevation.
    depths: BTreeMap<(usize, u64, u32), Depth>,
}

impl Weather {
    pub(super) fn new(drawn: &Drawn<'_>) -> Self {
        let shower = |name: &str| Shower::new(drawn.keys.seed, name, RAIN_STEP);
        Self { showers: drawn.sky.places.iter().map(|place| shower(&place.name)).collect(), depths: BTreeMap::new() }
    }

    /// Puts into a link what its radio makes of it while it is in use.
    pub(super) fn put(
        &mut self,
        drawn: &Drawn<'_>,
        key: &'static str,
        hop: &Hop,
        ends: Ends,
        spans: &[(f64, f64)],
        link: &mut Tree,
    ) -> Result<(), Wrong> {
        let common = link.get("rate").cloned();
        let Some(table) = link.table_mut() else { return Ok(()) };
        for (side, direction, radio) in [("up", "forward", &hop.up), ("down", "reverse", &hop.down)] {
            table.remove(side);
            let Some(radio) = radio else { continue };
            let wrong = |message: String, expected| Wrong { hop: key, side, message, expected };
            if key == "fibre" {
                return Err(wrong("is a radio link".into(), "expected none on a fibre"));
            }
            let own = table.entry(direction.into()).or_insert_with(Tree::empty);
            let rate = own.get("rate").or(common.as_ref()).and_then(|rate| Rate::read(&rate.to_value()).ok());
            let Some(rate) = rate else {
                return Err(wrong("needs a constant rate".into(), "expected one, such as \"100 Mbit/s\""));
            };
            if own.get("coding").is_some() || own.get("error").is_some() {
                return Err(wrong(
                    "stands beside coding or error".into(),
                    "expected one of them: a radio link has both",
                ));
            }
            let signal = self.signal(drawn, radio, rate, ends, spans);
            let signal = signal.map_err(|error| wrong(format!("cannot be: {error}"), ""))?;
            if let Value::Table(own) = &mut own.value {
                let (name, value) = written(radio, drawn, &signal);
                own.insert(name.into(), made(&value));
            }
        }
        Ok(())
    }

    /// Instants and energy over noise density, per symbol of DVB-S2, otherwise per bit; dB.
    fn signal(
        &mut self,
        drawn: &Drawn<'_>,
        radio: &Radio,
        rate: Rate,
        ends: Ends,
        spans: &[(f64, f64)],
    ) -> Result<Vec<(f64, f64)>, SkyError> {
        let halved = if matches!(radio.modem, Modem::Convolutional) { 0.5 } else { 1.0 };
        let link = Link {
            frequency_ghz: radio.frequency_ghz,
            eirp_dbw: radio.eirp_dbw,
            g_over_t_db_k: radio.g_over_t_db_k,
            losses_db: radio.losses.0,
            symbols_per_s: rate.as_bps() as f64 * halved,
            tilt_deg: 45.0,
        };
        let below = match drawn.is_satellite(ends.0) {
            true => None,
            false => Some(ends.0 as usize - drawn.sky.satellites()),
        };
        let air = below.map(|place| drawn.climate(place).map(|climate| (place, climate))).transpose()?;
        let step = SAMPLE;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (from, until) in spans {
            let count = ((until - from) / step).ceil().max(1.0) as u64;
            for t in (0..count).map(|k| from + k as f64 * step) {
                let Some(km) = range(drawn, ends, t) else { continue };
                let taken = match &air {
                    Some((place, climate)) => {
                        self.taken(drawn, &link, *place, climate, ends.1, (t, radio.antenna_m))?
                    }
                    None => Attenuation::default(),
                };
                let signal = link.es_n0_db(km, taken)?.clamp(SIGNAL.0, SIGNAL.1);
                let t = if points.is_empty() { 0.0 } else { t };
                if points.last().is_none_or(|last| (last.1 - signal).abs() >= STEP_DB && last.0 < t) {
                    points.push((t, signal));
                }
            }
        }
        Ok(points)
    }

    /// What the air over a place takes on the way to a satellite.
    fn taken(
        &mut self,
        drawn: &Drawn<'_>,
        link: &Link,
        place: usize,
        climate: &Climate,
        satellite: u32,
        (t, antenna_m): (f64, f64),
    ) -> Result<Attenuation, SkyError> {
        let elevation = drawn.sky.sighting(place, satellite, t)?.elevation_deg();
        let keys = drawn.keys;
        let aperture = Aperture { diameter_m: antenna_m, efficiency: EFFICIENCY };
        let conditions = Conditions {
            rain: match keys.rain {
                Rain::Exceeded { percent } => Some(percent),
                _ => None,
            },
            clouds: keys.clouds.as_ref().map(|clouds| clouds.percent),
            scintillation: keys.scintillation.as_ref().map(|scintillation| (scintillation.percent, aperture)),
        };
        let mut taken = link.attenuation(climate, elevation, conditions)?;
        if let Rain::Series { rainy_percent } = drawn.keys.rain {
            let degrees = elevation.clamp(0.0, 90.0).round() as u32;
            let depth = match self.depths.entry((place, (link.frequency_ghz * 1e3) as u64, degrees)) {
                std::collections::btree_map::Entry::Occupied(known) => *known.get(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    *free.insert(Depth::of(&climate.rain, &link.ray(f64::from(degrees)), rainy_percent)?)
                }
            };
            taken.rain_db = depth.attenuation_db(self.showers[place].at(t));
        }
        if let Some(gauge) = drawn.gauges.get(&place) {
            taken.rain_db = gauge.attenuation_db(&climate.rain, &link.ray(elevation), t)?;
        }
        Ok(taken)
    }
}

impl Drawn<'_> {
    /// The climate of a place: that of the city which it is or says.
    fn climate(&self, place: usize) -> Result<Climate, SkyError> {
        let name = &self.sky.places[place].name;
        let other = self.keys.place.get(name).and_then(|position| position.climate.as_deref());
        climate(other.unwrap_or(name)).map_err(|_| SkyError {
            at: format!("climate of {name}"),
            what: format!("unknown; expected a city in [sky.place.\"{name}\"] climate"),
        })
    }
}

fn range(drawn: &Drawn<'_>, (a, b): Ends, t: f64) -> Option<f64> {
    let km = distance(drawn.sky.position(a, t)?, drawn.sky.position(b, t)?);
    debug_assert!(km / LIGHT_KM_S < 10.0);
    Some(km)
}

/// The key of a direction, and its value.
fn written(radio: &Radio, drawn: &Drawn<'_>, signal: &[(f64, f64)]) -> (&'static str, Json) {
    let levels = || {
        let points: Vec<[String; 2]> = signal.iter().map(|(t, db)| [seconds(*t), format!("{db:.2} dB")]).collect();
        json!({ "points": points })
    };
    let level = |level: Level| format!("{} dB", level.0);
    match &radio.modem {
        Modem::Uncoded { modulation } => {
            let symbols = match modulation {
                Modulation::Bpsk => Symbols::Bpsk,
                Modulation::Qpsk => Symbols::Qpsk,
                Modulation::Psk8 => Symbols::Psk8,
                Modulation::Apsk16 => Symbols::Apsk16,
            };
            let points: Vec<Json> =
                signal.iter().map(|(t, db)| json!([seconds(*t), symbols.bit_error_rate(*db)])).collect();
            ("error", json!({ "kind": "profile", "unit": "bit", "points": points }))
        }
        Modem::Convolutional => ("coding", json!({ "kind": "convolutional", "eb_n0": levels() })),
        // Where it never adapts to anything, nothing comes through.
        Modem::DvbS2 { modcod: None, acm, implementation_loss }
            if signal.iter().all(|(_, db)| *db < WEAKEST + implementation_loss.0 + margin(acm.as_ref())) =>
        {
            ("error", json!({ "kind": "packet", "rate": 1.0 }))
        }
        Modem::DvbS2 { modcod, acm, implementation_loss } => {
            let mut coding =
                json!({ "kind": "dvb-s2", "es_n0": levels(), "implementation_loss": level(*implementation_loss) });
            match (modcod, acm) {
                (Some(modcod), _) => coding["modcod"] = modcod.name().into(),
                (None, Some(acm)) => {
                    coding["acm"] = json!({
                        "feedback_delay": acm.feedback_delay.to_string(),
                        "margin": level(acm.margin),
                        "hysteresis": level(acm.hysteresis),
                        "hold": acm.hold,
                    });
                    if let Some(every) = acm.every {
                        coding["acm"]["every"] = every.to_string().into();
                    }
                }
                (None, None) => coding["acm"] = json!({ "feedback_delay": drawn.report() }),
            }
            ("coding", coding)
        }
    }
}

/// What a signal must have beyond a threshold, to be chosen and to be gone up to.
fn margin(acm: Option<&Acm>) -> f64 {
    acm.map_or(1.3, |acm| acm.margin.0 + acm.hysteresis.0)
}

impl Drawn<'_> {
    /// How old reports of a signal are: about a round trip of a link.
    fn report(&self) -> &'static str {
        let is_high = self.sky.position(0, 0.0).is_some_and(|at| distance(at, [0.0; 3]) > 3e4);
        if is_high {
            "500 ms"
        } else {
            "40 ms"
        }
    }
}
