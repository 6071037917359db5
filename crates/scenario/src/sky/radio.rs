//! Computes errors and coding of a radio link over time from distance, air and rain, in the form of a file.
//!
//! With transparent satellites, the noise of the link up reaches the receiver with that of the link down. Errors and
//! coding are then on the link between a place and its satellite ([`Bears::Both`]). If both links lead to such places,
//! they are on the link up.

use super::day;
use super::drawn::{made, seconds, Drawn, Ends};
use crate::keys::{Hop, Modem, Modulation, Payload, Radio, Rain, Recommendation};
use crate::tree::{Tree, Value};
use bentpipe_model::spec::{Acm, MediumKind};
use bentpipe_orbit::budget::climate::{climate, Climate};
use bentpipe_orbit::budget::fading::{Depth, Shower};
use bentpipe_orbit::budget::maps::{climate_at, Maps};
use bentpipe_orbit::budget::modulation::Modulation as Symbols;
use bentpipe_orbit::budget::radio::{combined_db, Attenuation, Conditions, Radio as Link};
use bentpipe_orbit::budget::scintillation::Aperture;
use bentpipe_orbit::budget::Edition;
use bentpipe_orbit::sky::earth::{Geodetic, LIGHT_KM_S};
use bentpipe_orbit::sky::places::Site;
use bentpipe_orbit::sky::{distance, SkyError};
use bentpipe_units::settings::{Level, Typed};
use bentpipe_units::{Rate, Word};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;

/// Time between samples of the signal in s.
const SAMPLE: f64 = 1.0;
/// Smallest change of the signal that is written, in dB.
const STEP_DB: f64 = 0.1;
/// Time between values of the rain in s. The rain changes by a hundredth of its spread in this time.
const RAIN_STEP: f64 = 1.0;
/// Efficiency of ground antennas: the value of P.618 §2.4.1 for an unknown efficiency.
const EFFICIENCY: f64 = 0.5;
/// Range of signals in dB, from one without a receivable bit to one without errors.
const SIGNAL: (f64, f64) = (-90.0, 90.0);

/// Es/N0 of the most robust modulation and code of DVB-S2, QPSK 1/4, in dB (ETSI EN 302 307-1, table 13).
const WEAKEST: f64 = -2.35;

/// Fault of a radio link.
pub(super) struct Wrong {
    pub(super) hop: &'static str,
    pub(super) side: &'static str,
    pub(super) message: String,
    pub(super) expected: &'static str,
}

/// Noise that the radio of a link contributes.
enum Bears {
    /// Its own noise.
    Own,
    /// Its own noise, and that of the link before or behind it. The list has start, end and place of the other link.
    Both(Vec<(f64, f64, u32)>),
    /// No noise: the link of the other direction has it.
    Nothing,
}

/// Weather over the places.
pub(super) struct Weather {
    showers: Vec<Shower>,
    maps: Maps,
    climates: BTreeMap<Spot, Climate>,
    /// Attenuation by spot, carrier in MHz, and degrees of elevation.
    depths: BTreeMap<(Spot, u64, u32), Depth>,
}

/// Place with a climate. A moving place has a climate for each hundredth of a degree and tenth of a km of height: its
/// position in these units.
type Spot = (usize, Option<[i64; 3]>);

impl Weather {
    pub(super) fn new(drawn: &Drawn<'_>) -> Self {
        let shower = |name: &str| Shower::new(day::seed(drawn.keys), name, RAIN_STEP);
        let showers = drawn.sky.places.iter().map(|place| shower(&place.name)).collect();
        Self { showers, maps: Maps::default(), climates: BTreeMap::new(), depths: BTreeMap::new() }
    }

    /// Writes the effects of the radio into a link, for the times when the link is in use.
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
            if drawn.is_shared(ends) {
                let expected = "expected shared = false: each place has its own signal";
                return Err(wrong("excludes sky.shared".into(), expected));
            }
            let own = table.entry(direction.into()).or_insert_with(Tree::empty);
            if own.get("coding").is_some() || own.get("error").is_some() {
                return Err(wrong("excludes coding and error".into(), "expected one of them: a radio link has both"));
            }
            let medium = drawn.media.kind(direction).filter(|_| key == "user");
            let bears = bears(drawn, key, ends, direction == "forward");
            if let Some((message, expected)) = lonely(drawn, &bears, side) {
                return Err(wrong(message.to_owned(), expected));
            }
            let given = if direction == "forward" { &hop.forward.rate } else { &hop.reverse.rate };
            let has_rate = given.is_some() || hop.rate.is_some();
            if let Some((message, expected)) = misrated(radio, medium, &bears, has_rate) {
                return Err(wrong(message.to_owned(), expected));
            }
            if matches!(bears, Bears::Nothing) {
                continue;
            }
            if let (Some(baud), Some(own)) = (radio.symbol_rate, own.table_mut()) {
                own.insert("rate".into(), made(&json!(format!("{} bit/s", baud.0))));
            }
            let rate = own.get("rate").or(common.as_ref()).and_then(|rate| Rate::read(&rate.to_value()).ok());
            let symbols = medium.and_then(MediumKind::symbol_rate).map(|baud| Rate::from_bps(baud.0 as u64));
            let Some(rate) = symbols.or(rate) else {
                return Err(wrong("needs a constant rate".into(), "expected one, such as \"100 Mbit/s\""));
            };
            let signal = self.signal(drawn, radio, (rate, side), ends, spans, &bears);
            let signal = signal.map_err(|error| wrong(format!("cannot be: {error}"), ""))?;
            if let Value::Table(own) = &mut own.value {
                let (name, value) = written(radio, drawn, &signal);
                own.insert(name.into(), made(&value));
            }
        }
        Ok(())
    }

    /// Returns instants with energy over noise density in dB: per symbol for DVB-S2, otherwise per bit.
    fn signal(
        &mut self,
        drawn: &Drawn<'_>,
        radio: &Radio,
        (rate, side): (Rate, &str),
        ends: Ends,
        spans: &[(f64, f64)],
        bears: &Bears,
    ) -> Result<Vec<(f64, f64)>, SkyError> {
        let of_packets = match radio.modem {
            Some(Modem::Convolutional) => 0.5,
            Some(Modem::Ldpc { code_rate, .. }) => code_rate,
            Some(Modem::Uncoded { .. } | Modem::DvbS2 { .. }) | None => 1.0,
        };
        let symbols_per_s = rate.as_bps() as f64 * of_packets;
        let step = SAMPLE;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (from, until) in spans {
            let count = ((until - from) / step).ceil().max(1.0) as u64;
            for t in (0..count).map(|k| from + k as f64 * step) {
                let Some(own) = self.way(drawn, (radio, side), symbols_per_s, ends, t)? else { continue };
                let mut signal = own.0.es_n0_db(own.1, own.2)?;
                if let Bears::Both(others) = bears {
                    let mut weakest = f64::INFINITY;
                    for (_, _, place) in others.iter().filter(|(from, until, _)| (*from..*until).contains(&t)) {
                        let Some(radio) = opposite(drawn, *place, side) else { continue };
                        let back = if side == "up" { "down" } else { "up" };
                        let other = self.way(drawn, (radio, back), symbols_per_s, (*place, ends.1), t)?;
                        if let Some((link, km, taken)) = other {
                            weakest = weakest.min(link.es_n0_db(km, taken)?);
                        }
                    }
                    signal = combined_db(&[signal, weakest]);
                }
                let signal = signal.clamp(SIGNAL.0, SIGNAL.1);
                let t = if points.is_empty() { 0.0 } else { t };
                if points.last().is_none_or(|last| (last.1 - signal).abs() >= STEP_DB && last.0 < t) {
                    points.push((t, signal));
                }
            }
        }
        Ok(points)
    }

    /// Returns the radio of a link at an instant, its length in km, and the attenuation by air. Returns `None` if the
    /// link has no length.
    fn way(
        &mut self,
        drawn: &Drawn<'_>,
        (radio, side): (&Radio, &str),
        symbols_per_s: f64,
        ends: Ends,
        t: f64,
    ) -> Result<Option<(Link, f64, Attenuation)>, SkyError> {
        // The signal is the energy of a packet's bit, not of a symbol. A symbol of QPSK with a code carries 2 R of such
        // bits.
        let bits = match &radio.modem {
            Some(Modem::Uncoded { modulation }) => f64::from(symbols(*modulation).bits()),
            Some(Modem::Ldpc { code_rate, .. }) => 2.0 * code_rate,
            Some(Modem::Convolutional | Modem::DvbS2 { .. }) | None => 1.0,
        };
        let link = Link {
            frequency_ghz: radio.frequency_ghz,
            eirp_dbw: radio.eirp_dbw,
            g_over_t_db_k: radio.g_over_t_db_k,
            noise_k: if side == "down" { radio.noise_k } else { f64::INFINITY },
            losses_db: radio.losses.0,
            c_over_i_db: radio.c_over_i.map_or(f64::INFINITY, |level| level.0 - 10.0 * libm::log10(bits)),
            symbols_per_s,
            tilt_deg: radio.polarisation.tilt_deg(),
        };
        let Some(km) = range(drawn, ends, t) else { return Ok(None) };
        let mut taken = Attenuation::default();
        if !drawn.is_satellite(ends.0) {
            let place = ends.0 as usize - drawn.sky.satellites();
            taken = self.taken(drawn, &link, place, ends.1, (t, radio.antenna_m))?;
        }
        Ok(Some((link, km, taken)))
    }

    /// Returns the climate of a place at an instant: that of the city in `climate`, otherwise that of the city at this
    /// place, otherwise that of the maps where it is.
    fn climate(&mut self, drawn: &Drawn<'_>, place: usize, t: f64) -> Result<(Spot, Climate), SkyError> {
        let there = &drawn.sky.places[place];
        let city = drawn.keys.place.get(&there.name).and_then(|position| position.climate.as_deref());
        let is_moving = city.is_none() && matches!(there.site, Site::Moving(_));
        let at = there.site.at(t);
        let whole = |value: f64, per: f64| (value * per).round() as i64;
        let hundredths = [whole(at.latitude_deg, 100.0), whole(at.longitude_deg, 100.0), whole(at.height_km, 10.0)];
        let spot = (place, is_moving.then_some(hundredths));
        if let Some(known) = self.climates.get(&spot) {
            return Ok((spot, *known));
        }
        let found = match (city, spot.1) {
            (Some(city), _) => climate(city).map_err(|_| SkyError {
                at: format!("climate of {}", there.name),
                what: format!("unknown; expected a city in [sky.place.\"{}\"] climate", there.name),
            }),
            (None, Some([north, east, height])) => self.maps.climate(Geodetic {
                latitude_deg: north as f64 / 100.0,
                longitude_deg: east as f64 / 100.0,
                height_km: height as f64 / 10.0,
            }),
            (None, None) => climate_at(&there.name, at, &mut self.maps),
        }?;
        self.climates.insert(spot, found);
        Ok((spot, found))
    }

    /// Returns the attenuation by the air over a place on the path to a satellite.
    fn taken(
        &mut self,
        drawn: &Drawn<'_>,
        link: &Link,
        place: usize,
        satellite: u32,
        (t, antenna_m): (f64, f64),
    ) -> Result<Attenuation, SkyError> {
        let (spot, climate) = self.climate(drawn, place, t)?;
        let elevation = drawn.sky.sighting(place, satellite, t)?.elevation_deg();
        let keys = drawn.keys;
        let aperture = Aperture { diameter_m: antenna_m, efficiency: EFFICIENCY };
        let edition = match keys.recommendation {
            Recommendation::P618_14 => Edition::P618_14,
            Recommendation::P618_13 => Edition::P618_13,
        };
        // Rain that comes and goes has the gases and clouds of rare rain at all times.
        let beside_rain = match keys.rain {
            Rain::Off => None,
            Rain::Exceeded { percent } => Some(edition.beside_rain(percent)),
            Rain::Series { .. } | Rain::Cell { .. } | Rain::Files { .. } => Some(edition.beside_rain(0.0)),
        };
        let clear = Conditions::default();
        let conditions = Conditions {
            gases: beside_rain.unwrap_or(clear.gases),
            rain: match keys.rain {
                Rain::Exceeded { percent } => Some(percent),
                _ => None,
            },
            clouds: keys.clouds.as_ref().map(|clouds| clouds.percent.or(beside_rain).unwrap_or(1.0)),
            scintillation: keys.scintillation.as_ref().map(|scintillation| (scintillation.percent, aperture)),
        };
        let mut taken = link.attenuation(&climate, elevation, conditions)?;
        if let Rain::Series { rainy_percent } = drawn.keys.rain {
            let degrees = elevation.clamp(0.0, 90.0).round() as u32;
            let depth = match self.depths.entry((spot, (link.frequency_ghz * 1e3) as u64, degrees)) {
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

/// Returns the fault of the rate or symbol rate of a radio link, and the expected value.
fn misrated(
    radio: &Radio,
    medium: Option<&MediumKind>,
    bears: &Bears,
    has_rate: bool,
) -> Option<(&'static str, &'static str)> {
    if medium.is_some() {
        let message = "forwards the symbols of the other direction, so its links have no medium";
        let expected = "expected medium in the other direction, or a gateway at one end of each flow";
        return matches!(bears, Bears::Nothing).then_some((message, expected));
    }
    if radio.modem.is_none() && !matches!(bears, Bears::Nothing) {
        return Some(("has neither a modem nor a medium", "expected modem, such as \"dvb-s2\", or medium at the link"));
    }
    let is_baud = matches!(radio.modem, Some(Modem::DvbS2 { .. }));
    match (is_baud, radio.symbol_rate.is_some(), bears) {
        (_, true, Bears::Nothing) => {
            let expected =
                "expected symbol_rate at the radio of the other direction, whose link has the errors of both";
            Some(("has symbol_rate, but forwards the symbols of the other direction", expected))
        }
        (_, _, Bears::Nothing) => None,
        (false, true, _) => {
            let expected = "expected rate at the link, or modem = \"dvb-s2\"";
            Some(("has symbol_rate, but its modem has no symbols", expected))
        }
        (true, _, _) if has_rate => {
            let expected = "expected symbol_rate, such as \"25 Mbaud\", instead of rate";
            Some(("has modem = \"dvb-s2\" and a rate, which follows from modulation and code", expected))
        }
        (true, false, _) => {
            let expected = "expected one, such as \"25 Mbaud\"";
            Some(("has modem = \"dvb-s2\" and no symbol_rate", expected))
        }
        _ => None,
    }
}

/// Returns the noise that the radio of a link contributes.
fn bears(drawn: &Drawn<'_>, key: &str, ends: Ends, is_up: bool) -> Bears {
    if drawn.keys.payload == Payload::Regenerative || drawn.is_satellite(ends.0) {
        return Bears::Own;
    }
    if key == "feeder" {
        return Bears::Nothing;
    }
    let mut others: Vec<(f64, f64, u32)> = Vec::new();
    for path in drawn.paths {
        for (number, change) in path.changes.iter().enumerate() {
            let from_until = (change.at_s, drawn.until(path, number));
            for hops in change.nodes.windows(3).filter(|hops| hops[1] == ends.1) {
                let other = match (hops[0] == ends.0, hops[2] == ends.0) {
                    (true, _) => hops[2],
                    (_, true) => hops[0],
                    _ => continue,
                };
                others.push((from_until.0, from_until.1, other));
            }
        }
    }
    // Between two places other than gateways, the link up contributes the noise.
    if !is_up && others.iter().all(|other| !drawn.is_gateway(other.2)) {
        return Bears::Nothing;
    }
    Bears::Both(others)
}

/// Returns the fault if one of the two links has no radio, and the expected value.
fn lonely(drawn: &Drawn<'_>, bears: &Bears, side: &str) -> Option<(&'static str, &'static str)> {
    match bears {
        Bears::Own => None,
        Bears::Nothing => {
            let user = &drawn.keys.user;
            let (bearer, expected) = match side {
                "up" => (&user.down, "expected sky.user.down beside it"),
                _ => (&user.up, "expected sky.user.up beside it"),
            };
            let message = "has noise without a link: satellites are transparent";
            bearer.is_none().then_some((message, expected))
        }
        Bears::Both(others) => {
            let other = others.iter().find(|other| opposite(drawn, other.2, side).is_none())?;
            let expected = match (side, drawn.is_gateway(other.2)) {
                ("up", true) => "expected sky.feeder.down beside it",
                ("up", false) => "expected sky.user.down beside it",
                _ => "expected sky.feeder.up beside it",
            };
            Some(("has the noise of one direction only, but satellites are transparent", expected))
        }
    }
}

/// Returns the radio of the other link, between the satellite and this place. `side` is the first one.
fn opposite<'a>(drawn: &'a Drawn<'_>, place: u32, side: &str) -> Option<&'a Radio> {
    let hop = if drawn.is_gateway(place) { &drawn.keys.feeder } else { &drawn.keys.user };
    if side == "up" {
        hop.down.as_ref()
    } else {
        hop.up.as_ref()
    }
}

fn range(drawn: &Drawn<'_>, (a, b): Ends, t: f64) -> Option<f64> {
    let km = distance(drawn.sky.position(a, t)?, drawn.sky.position(b, t)?);
    debug_assert!(km / LIGHT_KM_S < 10.0);
    Some(km)
}

/// Returns the key of a direction, and its value.
fn written(radio: &Radio, drawn: &Drawn<'_>, signal: &[(f64, f64)]) -> (&'static str, Json) {
    let levels = || {
        let points: Vec<[String; 2]> = signal.iter().map(|(t, db)| [seconds(*t), format!("{db:.2} dB")]).collect();
        json!({ "points": points })
    };
    let level = |level: Level| format!("{} dB", level.0);
    match &radio.modem {
        // The modem is that of the medium.
        None => ("es_n0", levels()),
        Some(Modem::Uncoded { modulation }) => {
            let symbols = symbols(*modulation);
            let points: Vec<Json> =
                signal.iter().map(|(t, db)| json!([seconds(*t), symbols.bit_error_rate(*db)])).collect();
            ("error", json!({ "kind": "profile", "unit": "bit", "points": points }))
        }
        Some(Modem::Convolutional) => ("coding", json!({ "kind": "convolutional", "eb_n0": levels() })),
        Some(Modem::Ldpc { code_rate, threshold, steepness }) => {
            let own = json!({
                "kind": "ldpc",
                "eb_n0": levels(),
                "code_rate": code_rate,
                "threshold": level(*threshold),
                "steepness": steepness,
            });
            ("coding", own)
        }
        // Without adaptation to any modulation and code, the link loses everything.
        Some(Modem::DvbS2 { modcod: None, acm, implementation_loss, .. })
            if signal.iter().all(|(_, db)| *db < WEAKEST + implementation_loss.0 + margin(acm.as_ref())) =>
        {
            ("error", json!({ "kind": "packet", "rate": 1.0 }))
        }
        Some(Modem::DvbS2 { modcod, acm, implementation_loss, losses }) => {
            let mut coding = json!({
                "kind": "dvb-s2",
                "es_n0": levels(),
                "implementation_loss": level(*implementation_loss),
                "losses": losses.name(),
            });
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

fn symbols(modulation: Modulation) -> Symbols {
    match modulation {
        Modulation::Bpsk => Symbols::Bpsk,
        Modulation::Qpsk => Symbols::Qpsk,
        Modulation::Psk8 => Symbols::Psk8,
        Modulation::Apsk16 => Symbols::Apsk16,
    }
}

/// Returns the margin over a threshold that a signal needs to change up to a modulation and code.
fn margin(acm: Option<&Acm>) -> f64 {
    acm.map_or(1.3, |acm| acm.margin.0 + acm.hysteresis.0)
}

impl Drawn<'_> {
    /// Returns the age of reports on the signal: about a round trip of the link.
    fn report(&self) -> &'static str {
        let is_high = self.sky.position(0, 0.0).is_some_and(|at| distance(at, [0.0; 3]) > 3e4);
        if is_high {
            "500 ms"
        } else {
            "40 ms"
        }
    }
}
