//! Attenuation by oxygen and water vapour: ITU-R P.676, line by line (annex 1 of editions 12 and 13, which agree), and
//! on a slant path. The slant path is annex 2 of edition 12, or of edition 13 with its coefficients of the path's
//! frequency as inputs.
//!
//! Pressures are those of dry air. Formulas with the total pressure add the pressure of the vapour.

use super::clouds::{water_at, CLOUDY};
use super::geometry::RAD;
use super::lines::{OXYGEN, VAPOUR};
use super::Ray;
use crate::sky::SkyError;
use libm::{exp, log, pow, sin, sqrt};

/// Air at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// Pressure of dry air, hPa.
    pub pressure_hpa: f64,
    /// Temperature, K.
    pub temperature_k: f64,
    /// Density of water vapour, g/m³.
    pub vapour_g_m3: f64,
}

impl Air {
    /// The reference at sea level (P.835): 1013.25 hPa, 288.15 K, 7.5 g/m³.
    pub const STANDARD: Self = Self { pressure_hpa: 1013.25, temperature_k: 288.15, vapour_g_m3: 7.5 };

    pub(super) fn checked(self) -> Result<Self, SkyError> {
        SkyError::within("pressure_hpa", self.pressure_hpa, 0.0, 1200.0)?;
        SkyError::within("temperature_k", self.temperature_k, 100.0, 400.0)?;
        SkyError::within("vapour_g_m3", self.vapour_g_m3, 0.0, 100.0)?;
        Ok(self)
    }

    /// Returns the pressure of water vapour, hPa.
    fn vapour_hpa(self) -> f64 {
        self.vapour_g_m3 * self.temperature_k / 216.7
    }

    /// Returns the attenuation in dB/km by oxygen, with nitrogen and the Debye spectrum, and by water vapour (P.676,
    /// equations 1 to 9).
    fn attenuates(self, f: f64) -> (f64, f64) {
        let (p, e, theta) = (self.pressure_hpa, self.vapour_hpa(), 300.0 / self.temperature_k);
        let theta_08 = pow(theta, 0.8);
        // Shape of a line, with its two wings at its frequency and at minus that frequency.
        let shape = |line: f64, width: f64, mixing: f64| {
            let wing = |off: f64| (width - mixing * off) / (off * off + width * width);
            f / line * (wing(line - f) + wing(line + f))
        };
        let oxygen = |[line, a1, a2, a3, a4, a5, a6]: &[f64; 7]| {
            let strength = a1 * 1e-7 * p * theta * theta * theta * exp(a2 * (1.0 - theta));
            let pressed = a3 * 1e-4 * (p * pow(theta, 0.8 - a4) + 1.1 * e * theta);
            let width = sqrt(pressed * pressed + 2.25e-6);
            strength * shape(*line, width, (a5 + a6 * theta) * 1e-4 * (p + e) * theta_08)
        };
        let vapour = |[line, b1, b2, b3, b4, b5, b6]: &[f64; 7]| {
            let strength = b1 * 0.1 * e * pow(theta, 3.5) * exp(b2 * (1.0 - theta));
            let pressed = b3 * 1e-4 * (p * pow(theta, *b4) + b5 * e * pow(theta, *b6));
            let width = 0.535 * pressed + sqrt(0.217 * pressed * pressed + 2.1316e-12 * line * line / theta);
            strength * shape(*line, width, 0.0)
        };
        let debye = 5.6e-4 * (p + e) * theta_08;
        let dry = f
            * p
            * theta
            * theta
            * (6.14e-5 / (debye * (1.0 + (f / debye) * (f / debye)))
                + 1.4e-12 * p * pow(theta, 1.5) / (1.0 + 1.9e-5 * pow(f, 1.5)));
        let oxygen = OXYGEN.iter().map(oxygen).sum::<f64>() + dry;
        (0.182 * f * oxygen, 0.182 * f * VAPOUR.iter().map(vapour).sum::<f64>())
    }
}

/// Water vapour in the column over a station, kg/m², exceeded in each of [`CLOUDY`] per cent of a year (P.836-6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VapourClimate {
    /// Values in decreasing order.
    pub kg_m2: [f64; 8],
    /// Height of the station over sea level, km.
    pub height_km: f64,
}

impl VapourClimate {
    /// Returns the content exceeded in `percent` % of a year, 1 to 50, and the station's height, as inputs of
    /// [`gas_path_db`]. Linear in the logarithm of the percentage (P.836-6, annex 2).
    ///
    /// # Errors
    ///
    /// A percentage outside its range.
    pub fn at(&self, percent: f64) -> Result<(f64, f64), SkyError> {
        let percent = SkyError::within("percent of gases", percent, CLOUDY[0], CLOUDY[7])?;
        Ok((water_at(percent, &self.kg_m2), self.height_km))
    }
}

/// Returns the attenuation by oxygen (with the dry continuum) and by water vapour, dB/km each (P.676-12 and -13, annex
/// 1 §1).
///
/// # Errors
///
/// A frequency outside 1 to 1000 GHz, air outside 0 to 1200 hPa, 100 to 400 K, 0 to 100 g/m³.
pub fn gas_specific_db_km(frequency_ghz: f64, air: &Air) -> Result<(f64, f64), SkyError> {
    let air = air.checked()?;
    if air.pressure_hpa == 0.0 && air.vapour_g_m3 == 0.0 {
        return Ok((0.0, 0.0));
    }
    Ok(air.attenuates(SkyError::within("frequency_ghz", frequency_ghz, 1.0, 1000.0)?))
}

/// P.676-12, table 3: c, f (GHz).
const HEIGHT_OXYGEN: [(f64, f64); 7] = [
    (0.1597, 118.750334),
    (0.1066, 368.498246),
    (0.1325, 424.763020),
    (0.1242, 487.249273),
    (0.0938, 715.392902),
    (0.1448, 773.839490),
    (0.1374, 834.145546),
];
/// P.676-12, table 4: f (GHz), a, b.
const HEIGHT_VAPOUR: [(f64, f64, f64); 14] = [
    (22.23508, 1.52, 2.56),
    (183.310087, 7.62, 10.2),
    (325.152888, 1.56, 2.7),
    (380.197353, 4.15, 5.7),
    (439.150807, 0.2, 0.91),
    (448.001085, 1.63, 2.46),
    (474.689092, 0.76, 2.22),
    (488.490108, 0.26, 2.49),
    (556.935985, 7.81, 10.0),
    (620.70087, 1.25, 2.35),
    (752.033113, 16.2, 20.0),
    (916.171582, 1.47, 2.58),
    (970.315022, 1.36, 2.44),
    (987.926764, 1.6, 1.86),
];

/// Returns the equivalent heights in km of oxygen and of water vapour: with the density at the ground, they attenuate
/// like the real atmosphere (P.676-12, equations 30 to 38).
fn equivalent_heights_km(f: f64, air: &Air) -> (f64, f64) {
    let pressure = (air.pressure_hpa + air.vapour_hpa()) / 1013.25;
    let celsius = air.temperature_k - 273.15;
    let off = (f - 59.7) / (2.87 + 12.4 * exp(-7.9 * pressure));
    let t1 = 5.1040 / (1.0 + 0.066 * pow(pressure, -2.3)) * exp(-off * off);
    let line = |(c, at): &(f64, f64)| c * exp(2.12 * pressure) / ((f - at) * (f - at) + 0.025 * exp(2.2 * pressure));
    let t2: f64 = HEIGHT_OXYGEN.iter().map(line).sum();
    let t3 = 0.0114 * f / (1.0 + 0.14 * pow(pressure, -2.6)) * (15.02 * f * f - 1353.0 * f + 5.333e4)
        / (f * f * f - 151.3 * f * f + 9629.0 * f - 6803.0);
    let warmth = 0.7832 + 0.00709 * celsius;
    let oxygen = 6.1 * warmth / (1.0 + 0.17 * pow(pressure, -1.1)) * (1.0 + t1 + t2 + t3);
    let oxygen = if f < 70.0 { oxygen.min(10.7 * pow(pressure, 0.3)) } else { oxygen };
    let sigma = 1.013 / (1.0 + exp(-8.6 * (pressure - 0.57)));
    let a = 1.9298 - 0.04166 * celsius + 0.0517 * air.vapour_g_m3;
    let b = 1.1674 - 0.00622 * celsius + 0.0063 * air.vapour_g_m3;
    let line = |(at, a, b): &(f64, f64, f64)| a * sigma / ((f - at) * (f - at) + b * sigma);
    (oxygen, a + b * HEIGHT_VAPOUR.iter().map(line).sum::<f64>())
}

/// Returns the attenuation towards the zenith by `vapour_kg_m2` of water vapour over a station `height_km` above sea
/// level, dB (P.676-12, annex 2 §2.3, 1 to 350 GHz).
///
/// # Errors
///
/// A frequency outside 1 to 350 GHz, a content outside 0 to 200 kg/m², a height outside -0.5 to 9 km.
pub fn vapour_zenith_db(frequency_ghz: f64, vapour_kg_m2: f64, height_km: f64) -> Result<f64, SkyError> {
    let f = SkyError::within("frequency_ghz", frequency_ghz, 1.0, 350.0)?;
    let content = SkyError::within("vapour_kg_m2", vapour_kg_m2, 0.0, 200.0)?;
    let height = SkyError::within("height_km", height_km, -0.5, 9.0)?.clamp(0.0, 4.0);
    let density = content / 2.38;
    // Below that, the reference temperature of the formula has no meaning, and there is no attenuation.
    if content < 0.1 {
        return Ok(0.0);
    }
    let temperature_k = 14.0 * log(0.22 * density) + 3.0 + 273.15;
    let air = Air { pressure_hpa: 845.0, temperature_k, vapour_g_m3: density };
    let low = 0.0176 * content * air.attenuates(f).1 / air.attenuates(20.6).1;
    if f < 20.0 {
        return Ok(low);
    }
    let bell = |at: f64, width: f64| exp(-((f - at) / width) * ((f - at) / width));
    let a = 0.2048 * bell(22.43, 3.097) + 0.2326 * bell(183.5, 4.096) + 0.2073 * bell(325.0, 3.651) - 0.1113;
    let b = 8.741e4 * exp(-0.587 * f) + 312.2 * pow(f, -2.38) + 0.723;
    Ok(low * (a * pow(height, b) + 1.0))
}

/// Returns the attenuation by gases on a path through the whole atmosphere, dB: that of the zenith over the sine of the
/// elevation (P.676-12, annex 2, 5 to 90 degrees, 1 to 350 GHz). With `vapour`, the water's content in kg/m² and the
/// station's height in km, it follows [`vapour_zenith_db`]. Otherwise it follows the density at the ground.
///
/// # Errors
///
/// A value outside its range.
pub fn gas_path_db(ray: &Ray, air: &Air, vapour: Option<(f64, f64)>) -> Result<f64, SkyError> {
    let f = SkyError::within("frequency_ghz", ray.frequency_ghz, 1.0, 350.0)?;
    let rise = sin(SkyError::within("elevation_deg", ray.elevation_deg, 5.0, 90.0)? * RAD);
    SkyError::within("pressure_hpa", air.pressure_hpa, 100.0, 1200.0)?;
    let (dry, wet) = gas_specific_db_km(f, air)?;
    let (height_dry, height_wet) = equivalent_heights_km(f, air);
    let wet = match vapour {
        Some((content, height)) => vapour_zenith_db(f, content, height)?,
        None => wet * height_wet,
    };
    Ok((dry * height_dry + wet) / rise)
}
