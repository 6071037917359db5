//! Scintillation in the troposphere: ITU-R P.618-13 and -14 §2.4.1.

use super::geometry::RAD;
use super::Ray;
use crate::sky::SkyError;
use libm::{atan2, log10, pow, sin, sqrt};

/// Receiving antenna, as far as it averages scintillation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aperture {
    /// Physical diameter, m.
    pub diameter_m: f64,
    /// Efficiency, 0 to 1; the recommendation's conservative value is 0.5.
    pub efficiency: f64,
}

/// Highest frequency of the method, GHz. Above it, the ITU's validation tables have the value of 20 GHz.
pub const HIGHEST_GHZ: f64 = 20.0;
/// Height of the turbulent layer, m.
const LAYER_M: f64 = 1000.0;

/// Returns the standard deviation of the signal in dB, from the wet term of the refractivity at the ground, N units
/// (P.453).
///
/// # Errors
///
/// A value outside its range. The method is for elevations of 5 to 90 degrees. Above [`HIGHEST_GHZ`] the value is that
/// of this frequency.
pub fn scintillation_deviation_db(ray: &Ray, aperture: &Aperture, wet_refractivity: f64) -> Result<f64, SkyError> {
    let f = SkyError::within("frequency_ghz", ray.frequency_ghz, 1.0, 1000.0)?.min(HIGHEST_GHZ);
    let rise = sin(SkyError::within("elevation_deg", ray.elevation_deg, 5.0, 90.0)? * RAD);
    let wet = SkyError::within("wet_refractivity", wet_refractivity, 0.0, 500.0)?;
    let diameter = SkyError::within("diameter_m", aperture.diameter_m, 0.0, 1000.0)?;
    let efficiency = SkyError::within("efficiency", aperture.efficiency, 0.0, 1.0)?;
    let reference = 3.6e-3 + 1e-4 * wet;
    let path = 2.0 * LAYER_M / (sqrt(rise * rise + 2.35e-4) + rise);
    let x = 1.22 * efficiency * diameter * diameter * f / path;
    let averaged = if x >= 7.0 {
        0.0
    } else {
        let turned = sin(11.0 / 6.0 * atan2(1.0, x));
        sqrt((3.86 * pow(x * x + 1.0, 11.0 / 12.0) * turned - 7.08 * pow(x, 5.0 / 6.0)).max(0.0))
    };
    Ok(reference * pow(f, 7.0 / 12.0) * averaged / pow(rise, 1.2))
}

/// Returns the fade by scintillation exceeded in `percent` % of the time, 0.001 to 50, dB. The recommendation begins at
/// 0.01 %.
///
/// # Errors
///
/// As [`scintillation_deviation_db`].
pub fn scintillation_db(ray: &Ray, aperture: &Aperture, wet_refractivity: f64, percent: f64) -> Result<f64, SkyError> {
    let l = log10(SkyError::within("percent", percent, 0.001, 50.0)?);
    let factor = -0.061 * l * l * l + 0.072 * l * l - 1.71 * l + 3.0;
    Ok(factor * scintillation_deviation_db(ray, aperture, wet_refractivity)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_antennas_and_high_elevations_scintillate_less() {
        let ray = |elevation_deg| Ray { frequency_ghz: 20.0, elevation_deg, tilt_deg: 45.0 };
        let of = |elevation, diameter_m| {
            scintillation_deviation_db(&ray(elevation), &Aperture { diameter_m, efficiency: 0.5 }, 50.0).unwrap()
        };
        // A point antenna does not average: the reference times f^(7/12) sqrt(3.86 sin(11 pi / 12)) / sin^1.2.
        let point = 8.6e-3 * pow(20.0, 7.0 / 12.0) * sqrt(3.86 * sin(165.0 * RAD));
        assert!((of(90.0, 0.0) / point - 1.0).abs() < 1e-12);
        assert!(of(90.0, 0.6) < of(90.0, 0.0) && of(90.0, 0.6) < of(10.0, 0.6));
        assert_eq!(of(90.0, 30.0), 0.0);
    }
}
