//! Attenuation by rain: ITU-R P.838-3 (per km), P.839-4 (how high), P.618-13 §2.2.1.1 (on a slant path).

use super::geometry::RAD;
use super::Ray;
use crate::sky::SkyError;
use libm::{atan2, cos, exp, fabs, log, log10, pow, sin, sqrt};

/// A term of P.838-3: a exp(-((log f - b) / c)²).
type Term = (f64, f64, f64);

/// The regression of one coefficient for one polarisation: terms, slope and constant.
struct Fit {
    terms: &'static [Term],
    slope: f64,
    constant: f64,
}

/// P.838-3, tables 1 to 4.
const K_H: Fit = Fit {
    terms: &[
        (-5.33980, -0.10008, 1.13098),
        (-0.35351, 1.26970, 0.45400),
        (-0.23789, 0.86036, 0.15354),
        (-0.94158, 0.64552, 0.16817),
    ],
    slope: -0.18961,
    constant: 0.71147,
};
const K_V: Fit = Fit {
    terms: &[
        (-3.80595, 0.56934, 0.81061),
        (-3.44965, -0.22911, 0.51059),
        (-0.39902, 0.73042, 0.11899),
        (0.50167, 1.07319, 0.27195),
    ],
    slope: -0.16398,
    constant: 0.63297,
};
const ALPHA_H: Fit = Fit {
    terms: &[
        (-0.14318, 1.82442, -0.55187),
        (0.29591, 0.77564, 0.19822),
        (0.32177, 0.63773, 0.13164),
        (-5.37610, -0.96230, 1.47828),
        (16.1721, -3.29980, 3.43990),
    ],
    slope: 0.67849,
    constant: -1.95537,
};
const ALPHA_V: Fit = Fit {
    terms: &[
        (-0.07771, 2.33840, -0.76284),
        (0.56727, 0.95545, 0.54039),
        (-0.20238, 1.14520, 0.26809),
        (-48.2991, 0.791669, 0.116226),
        (48.5833, 0.791459, 0.116479),
    ],
    slope: -0.053739,
    constant: 0.83433,
};

impl Fit {
    fn at(&self, log_f: f64) -> f64 {
        let term = |(a, b, c): &Term| a * exp(-((log_f - b) / c) * ((log_f - b) / c));
        self.terms.iter().map(term).sum::<f64>() + self.slope * log_f + self.constant
    }
}

/// Returns the coefficients k and alpha of k R^alpha, dB/km of R mm/h of rain (P.838-3, 1 to 1000 GHz).
///
/// # Errors
///
/// A ray outside the range of [`Ray::checked`].
pub fn rain_coefficients(ray: &Ray) -> Result<(f64, f64), SkyError> {
    let ray = ray.checked()?;
    let log_f = log10(ray.frequency_ghz);
    let (k_h, k_v) = (pow(10.0, K_H.at(log_f)), pow(10.0, K_V.at(log_f)));
    let (alpha_h, alpha_v) = (ALPHA_H.at(log_f), ALPHA_V.at(log_f));
    let (cos_e, polarised) = (cos(ray.elevation_deg * RAD), cos(2.0 * ray.tilt_deg * RAD));
    let mixed = |h: f64, v: f64| (h + v + (h - v) * cos_e * cos_e * polarised) / 2.0;
    let k = mixed(k_h, k_v);
    Ok((k, mixed(k_h * alpha_h, k_v * alpha_v) / k))
}

/// Returns the attenuation by rain, dB/km, at `rate_mm_h`.
///
/// # Errors
///
/// A rate outside 0 to 1000 mm/h, and as [`rain_coefficients`].
pub fn rain_specific_db_km(ray: &Ray, rate_mm_h: f64) -> Result<f64, SkyError> {
    let (k, alpha) = rain_coefficients(ray)?;
    Ok(k * pow(SkyError::within("rate_mm_h", rate_mm_h, 0.0, 1000.0)?, alpha))
}

/// Returns the height of rain in km above sea level: 0.36 km above the isotherm of 0 °C (P.839-4).
pub fn rain_height_km(isotherm_km: f64) -> f64 {
    isotherm_km + 0.36
}

/// Position of a station and statistics of its rain, as in the maps of ITU-R P.837, P.839 and P.1511.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RainClimate {
    /// Latitude, degrees north.
    pub latitude_deg: f64,
    /// Height of the station above sea level, km.
    pub station_km: f64,
    /// Height of rain above sea level, km: the 0 °C isotherm and 0.36 km.
    pub rain_height_km: f64,
    /// Rain rate exceeded in 0.01 % of an average year, mm/h.
    pub rate_001_mm_h: f64,
}

impl RainClimate {
    fn checked(self) -> Result<Self, SkyError> {
        SkyError::within("latitude_deg", self.latitude_deg, -90.0, 90.0)?;
        SkyError::within("station_km", self.station_km, -0.5, 9.0)?;
        SkyError::within("rain_height_km", self.rain_height_km, 0.0, 20.0)?;
        SkyError::within("rate_001_mm_h", self.rate_001_mm_h, 0.0, 1000.0)?;
        Ok(self)
    }

    /// Returns the length in km of a path from the station to the rain's height; 0 above it (P.618-13, equations 1 and
    /// 2).
    ///
    /// # Errors
    ///
    /// A value outside its range.
    pub fn path_km(&self, elevation_deg: f64) -> Result<f64, SkyError> {
        let climate = self.checked()?;
        let rise = sin(SkyError::within("elevation_deg", elevation_deg, 0.0, 90.0)? * RAD);
        let height = (climate.rain_height_km - climate.station_km).max(0.0);
        // Radius of an Earth that is large enough for rays to be straight.
        let curve = 2.0 * height / 8500.0;
        if height == 0.0 {
            return Ok(0.0);
        }
        Ok(if elevation_deg >= 5.0 { height / rise } else { 2.0 * height / (sqrt(rise * rise + curve) + rise) })
    }

    /// Returns the attenuation by rain in 0.01 % of an average year, dB (P.618-13, steps 1 to 9).
    ///
    /// # Errors
    ///
    /// A value outside its range.
    pub fn attenuation_001_db(&self, ray: &Ray) -> Result<f64, SkyError> {
        let length = self.path_km(ray.elevation_deg)?;
        let gamma = rain_specific_db_km(ray, self.rate_001_mm_h)?;
        if length == 0.0 || gamma == 0.0 {
            return Ok(0.0);
        }
        let (f, elevation) = (ray.frequency_ghz, ray.elevation_deg * RAD);
        let (rise, run) = (sin(elevation), cos(elevation));
        let height = self.rain_height_km - self.station_km;
        let ground = length * run;
        let horizontal = 1.0 / (1.0 + 0.78 * sqrt(ground * gamma / f) - 0.38 * (1.0 - exp(-2.0 * ground)));
        let zeta = atan2(height, ground * horizontal);
        let rainy = if zeta > elevation { ground * horizontal / run } else { height / rise };
        let chi = (36.0 - fabs(self.latitude_deg)).max(0.0);
        let low = 31.0 * (1.0 - exp(-ray.elevation_deg / (1.0 + chi)));
        let vertical = 1.0 / (1.0 + sqrt(rise) * (low * sqrt(rainy * gamma) / (f * f) - 0.45));
        Ok(gamma * rainy * vertical)
    }

    /// Returns the attenuation by rain in `percent` % of an average year, 0.001 to 5, dB (P.618-13, step 10).
    ///
    /// # Errors
    ///
    /// A value outside its range.
    pub fn attenuation_db(&self, ray: &Ray, percent: f64) -> Result<f64, SkyError> {
        let p = SkyError::within("percent", percent, 0.001, 5.0)?;
        let hundredth = self.attenuation_001_db(ray)?;
        if hundredth == 0.0 {
            return Ok(0.0);
        }
        let (rise, latitude) = (sin(ray.elevation_deg * RAD), fabs(self.latitude_deg));
        let beta = if p >= 1.0 || latitude >= 36.0 {
            0.0
        } else {
            -0.005 * (latitude - 36.0) + if ray.elevation_deg >= 25.0 { 0.0 } else { 1.8 - 4.25 * rise }
        };
        let power = 0.655 + 0.033 * log(p) - 0.045 * log(hundredth) - beta * (1.0 - p) * rise;
        Ok(hundredth * pow(p / 0.01, -power))
    }
}

/// Returns the attenuation by rain at `to_ghz`, dB, from `db` on the same path at `from_ghz` (P.618-13 §2.2.1.3.1, 7 to
/// 55 GHz).
///
/// # Errors
///
/// A value outside its range.
pub fn scaled_db(db: f64, from_ghz: f64, to_ghz: f64) -> Result<f64, SkyError> {
    let from = SkyError::within("frequency_ghz", from_ghz, 7.0, 55.0)?;
    let to = SkyError::within("frequency_ghz", to_ghz, 7.0, 55.0)?;
    let db = SkyError::within("attenuation (dB)", db, 0.0, 1e4)?;
    if db == 0.0 {
        return Ok(0.0);
    }
    let phi = |f: f64| f * f / (1.0 + 1e-4 * f * f);
    let ratio = phi(to) / phi(from);
    let h = 1.12e-3 * sqrt(ratio) * pow(phi(from) * db, 0.55);
    Ok(db * pow(ratio, 1.0 - h))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAY: Ray = Ray { frequency_ghz: 20.0, elevation_deg: 20.0, tilt_deg: 45.0 };
    const CLIMATE: RainClimate =
        RainClimate { latitude_deg: 52.5, station_km: 0.05, rain_height_km: 3.0, rate_001_mm_h: 32.0 };

    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected}");
    }

    /// `docs/specs/rain.md`, tests.
    #[test]
    fn rain_attenuates_as_in_the_worked_case() {
        let (k, alpha) = rain_coefficients(&RAY).unwrap();
        near(k, 0.09388, 5e-6);
        near(alpha, 1.0199, 5e-5);
        near(rain_specific_db_km(&RAY, 32.0).unwrap(), 3.2183, 5e-5);
        near(CLIMATE.path_km(20.0).unwrap(), 8.6252, 5e-5);
        near(CLIMATE.attenuation_001_db(&RAY).unwrap(), 19.73, 5e-3);
        near(CLIMATE.attenuation_db(&RAY, 0.01).unwrap(), 19.73, 5e-3);
        near(CLIMATE.attenuation_db(&RAY, 0.1).unwrap(), 7.09, 5e-3);
        near(CLIMATE.attenuation_db(&RAY, 1.0).unwrap(), 1.79, 5e-3);
    }

    /// `docs/specs/rain.md`, tests: at the horizon the polarisations have their own coefficients.
    #[test]
    fn polarisations_have_their_own_coefficients() {
        let flat = |tilt_deg| rain_coefficients(&Ray { elevation_deg: 0.0, tilt_deg, ..RAY }).unwrap();
        let ((k_h, alpha_h), (k_v, alpha_v)) = (flat(0.0), flat(90.0));
        near(k_h, 0.09164, 5e-6);
        near(k_v, 0.09611, 5e-6);
        near(alpha_h, 1.0568, 5e-5);
        near(alpha_v, 0.9847, 5e-5);
    }

    /// Scaling from one frequency to another agrees with the method for each to a tenth.
    #[test]
    fn scaled_attenuation_is_near_that_of_the_other_frequency() {
        let at = |frequency_ghz| CLIMATE.attenuation_db(&Ray { frequency_ghz, ..RAY }, 0.1).unwrap();
        for (from, to) in [(12.0, 20.0), (20.0, 30.0), (30.0, 20.0)] {
            let scaled = scaled_db(at(from), from, to).unwrap();
            assert!((scaled / at(to) - 1.0).abs() < 0.12, "{from} to {to} GHz: {scaled}, {}", at(to));
        }
        assert_eq!((scaled_db(7.5, 20.0, 20.0).unwrap(), scaled_db(0.0, 12.0, 30.0).unwrap()), (7.5, 0.0));
        assert!(scaled_db(1.0, 6.0, 20.0).is_err() && scaled_db(f64::NAN, 12.0, 20.0).is_err());
    }

    #[test]
    fn no_rain_and_a_station_above_it_attenuate_nothing() {
        for climate in [RainClimate { rate_001_mm_h: 0.0, ..CLIMATE }, RainClimate { station_km: 3.1, ..CLIMATE }] {
            assert_eq!(climate.attenuation_db(&RAY, 0.01), Ok(0.0));
        }
        assert!(CLIMATE.attenuation_db(&RAY, 6.0).is_err() && CLIMATE.attenuation_db(&RAY, f64::NAN).is_err());
    }

    /// The two equations for the length meet at five degrees to within the curvature.
    #[test]
    fn low_paths_follow_the_curve_of_the_earth() {
        let (below, above) = (CLIMATE.path_km(4.999_999).unwrap(), CLIMATE.path_km(5.0).unwrap());
        assert!(below < above && below > 0.95 * above, "{below} {above}");
        assert!(CLIMATE.path_km(0.0).unwrap().is_finite());
    }
}
