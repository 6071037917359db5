//! Link budgets.

use bentpipe_orbit::budget::climate::climate;
use bentpipe_orbit::budget::fades::{Fades, YEAR_S};
use bentpipe_orbit::budget::geometry::slant_range_km;
use bentpipe_orbit::budget::maps::{climate_at, Maps};
use bentpipe_orbit::budget::modulation::Modulation;
use bentpipe_orbit::budget::radio::{Attenuation, BentPipe, Conditions, Radio};
use bentpipe_orbit::budget::scintillation::Aperture;
use bentpipe_orbit::budget::{Edition, Ray};
use bentpipe_orbit::sky::earth::Geodetic;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::SkyError as Wrong;
use bentpipe_sim::spec::{Losses, Modcod};
use bentpipe_units::Word;

/// Samples for the range of elevations: the product of satellites and instants of a day, and the least and the largest
/// number of instants.
const ELEVATION_LOOKS: (usize, usize, usize) = (2_000_000, 96, 8640);
const DAY_S: f64 = 86_400.0;

/// Direction of a radio link: place, radio, elevation in degrees, and the percentage of the year in which its rain is
/// exceeded. The place: name, and degrees north, degrees east and height in km, or none for the climate of a city. The radio: carrier (GHz), EIRP (dBW), G/T (dB/K), losses (dB), carrier over interference (dB),
/// noise of a receiver on the ground (K).
pub(super) type Way =
    ((String, Option<(f64, f64, f64)>), (f64, f64, f64, f64, Option<f64>, Option<f64>), f64, Option<f64>);
/// Properties of the air for all directions: whether rain comes with clouds, diameter in m of the antenna if rain comes
/// with scintillation, tilt of the polarisation in degrees, and whether the edition of P.618 is the newer one.
pub(super) type Air = (bool, Option<f64>, f64, bool);
/// Modulation and code: name, required Es/N0 in dB, bits per symbol, probability of packet loss.
pub(super) type Chosen = (&'static str, f64, f64, f64);
/// Lines (name, value, unit), distance in km, bit error rate, the modulation and code of DVB-S2, and fades as deep as
/// the rain. Of these for each duration (s): the number of longer fades in a year, and their share of the time.
pub(super) type Budget = (Vec<(String, f64, &'static str)>, f64, f64, Option<Chosen>, Vec<(f64, f64, f64)>);

/// Returns the link budget of one direction, or of a link up and a link down through a transparent transponder, over
/// satellites at an altitude.
pub(super) fn of(ways: &[Way], symbols_per_s: f64, altitude_km: f64, air: Air) -> Result<Budget, Wrong> {
    let mut maps = Maps::default();
    let found = ways.iter().map(|way| attenuated(way, symbols_per_s, altitude_km, air, &mut maps));
    let found = found.collect::<Result<Vec<_>, Wrong>>()?;
    let none = || Wrong { at: "ways".to_owned(), what: "expected one or two".to_owned() };
    let first = *found.first().ok_or_else(none)?;
    let (lines, es_n0) = match found.get(1) {
        None => (first.0.lines(first.1, first.2)?, first.0.es_n0_db(first.1, first.2)?),
        Some(down) => {
            let pipe = BentPipe { up: first, down: *down };
            (pipe.lines()?, pipe.es_n0_db()?)
        }
    };
    let (has_clouds, antenna_m, ..) = air;
    let is_down = ways.iter().any(|way| way.1 .5.is_some());
    let is_wet = ways.iter().any(|way| way.3.is_some());
    let is_asked_for = |what: &str| match what.split(' ').next() {
        Some("clouds") => has_clouds && is_wet,
        Some("scintillation") => antenna_m.is_some() && is_wet,
        Some("warmer") => is_down && is_wet,
        _ => true,
    };
    let lines = lines.into_iter().filter(|line| is_asked_for(&line.what));
    let lines = lines.map(|line| (line.what, line.value, line.unit)).collect();
    let best = Modcod::best(es_n0).map(|(modcod, threshold, bits)| {
        (modcod.name(), threshold, bits, Losses::Waterfall.probability(es_n0 - threshold))
    });
    // Two bits per symbol.
    let errors = Modulation::Qpsk.bit_error_rate(es_n0 - 10.0 * 2.0_f64.log10());
    Ok((lines, first.1, errors, best, fades(&first.0.ray(ways[0].2), first.2.rain_db, ways[0].3)))
}

/// Returns radio, distance and attenuation of a direction.
fn attenuated(
    ((name, position), radio, elevation_deg, percent): &Way,
    symbols_per_s: f64,
    altitude_km: f64,
    (has_clouds, antenna_m, tilt_deg, is_newer): Air,
    maps: &mut Maps,
) -> Result<(Radio, f64, Attenuation), Wrong> {
    let (frequency_ghz, eirp_dbw, g_over_t_db_k, losses_db, c_over_i, noise) = *radio;
    let (c_over_i_db, noise_k) = (c_over_i.unwrap_or(f64::INFINITY), noise.unwrap_or(f64::INFINITY));
    let radio =
        Radio { frequency_ghz, eirp_dbw, g_over_t_db_k, noise_k, losses_db, c_over_i_db, symbols_per_s, tilt_deg };
    let aperture = |diameter_m| Aperture { diameter_m, efficiency: 0.5 };
    let edition = if is_newer { Edition::P618_14 } else { Edition::P618_13 };
    let beside_rain = percent.map(|percent| edition.beside_rain(percent));
    let conditions = Conditions {
        gases: beside_rain.unwrap_or(Conditions::default().gases),
        rain: *percent,
        clouds: beside_rain.filter(|_| has_clouds),
        scintillation: percent.zip(antenna_m.map(aperture)),
    };
    let range_km = slant_range_km(*elevation_deg, altitude_km)?;
    let climate = match position {
        None => climate(name)?,
        Some((north, east, height)) => climate_at(name, Geodetic::new(*north, *east, *height)?, maps)?,
    };
    let taken = radio.attenuation(&climate, *elevation_deg, conditions)?;
    Ok((radio, range_km, taken))
}

/// Returns the lowest and the highest elevation in degrees at which the first place uses a satellite within a day, or
/// none without a satellite in view.
pub(super) fn elevations(sky: &Sky) -> Result<Option<(f64, f64)>, Wrong> {
    let (all, least, most) = ELEVATION_LOOKS;
    let looks = (all / sky.satellites().max(1)).clamp(least, most);
    let mut found: Option<(f64, f64)> = None;
    for look in 0..looks {
        let t = DAY_S * look as f64 / looks as f64;
        for sighting in sky.visible(0, t)? {
            let at = sighting.elevation_deg();
            let (low, high) = found.unwrap_or((at, at));
            found = Some((low.min(at), high.max(at)));
        }
    }
    Ok(found)
}

/// Durations of fades in s.
const FADES_S: [f64; 5] = [1.0, 10.0, 60.0, 600.0, 3600.0];

/// Returns the fades that are deeper than this, within the range of the method: the number of longer fades in a year,
/// and their share of the time.
fn fades(ray: &Ray, rain_db: f64, percent: Option<f64>) -> Vec<(f64, f64, f64)> {
    let Some((percent, fades)) = percent.zip(Fades::deeper_than(rain_db, ray).ok()) else { return Vec::new() };
    let number = fades.number(percent / 100.0 * YEAR_S);
    let of = |s: f64| Some((s, number * fades.longer(s).ok()?, fades.time_in_longer(s).ok()?));
    FADES_S.into_iter().filter_map(of).collect()
}
