//! Attenuation by clouds: ITU-R P.840, editions 8 and 9. They count different water, so the kind of water selects the
//! edition.

use super::geometry::RAD;
use super::Ray;
use crate::sky::SkyError;
use libm::{exp, log, sin};

/// Liquid water in a column over a place, kg/m² (mm), exceeded in a given percentage of the year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CloudWater {
    /// Water at any temperature: the maps of P.840-9.
    Integrated(f64),
    /// Water reduced to 0 °C: the maps of P.840-8 and older.
    Reduced(f64),
}

/// Percentages of a year for which [`CloudClimate`] has the water.
pub const CLOUDY: [f64; 8] = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0];

/// Clouds over a place: water reduced to 0 °C in a column, kg/m², exceeded in each of [`CLOUDY`], from the maps of
/// P.840-8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudClimate {
    /// Values in decreasing order.
    pub kg_m2: [f64; 8],
}

impl CloudClimate {
    /// Returns the water exceeded in `percent` % of a year, 1 to 50.
    ///
    /// # Errors
    ///
    /// A percentage outside its range.
    pub fn water(&self, percent: f64) -> Result<CloudWater, SkyError> {
        let percent = SkyError::within("percent of clouds", percent, CLOUDY[0], CLOUDY[7])?;
        Ok(CloudWater::Reduced(water_at(percent, &self.kg_m2)))
    }
}

/// Returns the water exceeded in `percent` % of a year, from the values for [`CLOUDY`].
pub(super) fn water_at(percent: f64, kg_m2: &[f64; 8]) -> f64 {
    let above = CLOUDY.iter().position(|known| *known >= percent).unwrap_or(7).max(1);
    let known = |at: usize| (CLOUDY[at], kg_m2[at]);
    water_between(percent, known(above - 1), known(above))
}

/// Returns the water exceeded in `percent` % of a year, from the values (% and kg/m²) of a lower and of a higher
/// percentage: linear in their logarithm (P.840-8 §3.1).
pub fn water_between(percent: f64, rare: (f64, f64), usual: (f64, f64)) -> f64 {
    let share = log(percent / rare.0) / log(usual.0 / rare.0);
    rare.1 + share * (usual.1 - rare.1)
}

/// Returns the attenuation coefficient of water in clouds, (dB/km)/(g/m³), at a temperature of -20 to 20 °C (P.840-9,
/// equations 2 to 11; as in P.840-8).
fn liquid(f: f64, temperature_k: f64) -> f64 {
    let warm = 300.0 / temperature_k - 1.0;
    let (e0, e2) = (77.66 + 103.3 * warm, 3.52);
    let e1 = 0.0671 * e0;
    let first = 20.20 - 146.0 * warm + 316.0 * warm * warm;
    let second = 39.8 * first;
    let falls = |at: f64| 1.0 + (f / at) * (f / at);
    let real = (e0 - e1) / falls(first) + (e1 - e2) / falls(second) + e2;
    let imaginary = f * (e0 - e1) / (first * falls(first)) + f * (e1 - e2) / (second * falls(second));
    let eta = (2.0 + real) / imaginary;
    0.819 * f / (imaginary * (1.0 + eta * eta))
}

/// Returns the attenuation by clouds on a path, dB (P.840-8 and -9, 1 to 200 GHz, 5 to 90 degrees).
///
/// # Errors
///
/// A value outside its range, water outside 0 to 100 kg/m².
pub fn cloud_db(ray: &Ray, water: CloudWater) -> Result<f64, SkyError> {
    let f = SkyError::within("frequency_ghz", ray.frequency_ghz, 1.0, 200.0)?;
    let rise = sin(SkyError::within("elevation_deg", ray.elevation_deg, 5.0, 90.0)? * RAD);
    let (content, per_kg) = match water {
        CloudWater::Reduced(content) => (content, liquid(f, 273.15)),
        CloudWater::Integrated(content) => {
            // P.840-9, equation 12: the mean over temperatures of clouds.
            let bell = |at: f64, width: f64| exp(-(f - at) * (f - at) / width);
            let mean = 0.1522 * bell(-23.9589, 3.2991e3) + 11.51 * bell(219.2096, 2.7595e6) - 10.4912;
            (content, liquid(f, 273.75) * mean)
        }
    };
    Ok(SkyError::within("water_kg_m2", content, 0.0, 100.0)? * per_kg / rise)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAY: Ray = Ray { frequency_ghz: 30.0, elevation_deg: 30.0, tilt_deg: 45.0 };

    /// Small drops absorb as the square of the frequency (Rayleigh), far below the relaxation's frequency.
    #[test]
    fn clouds_attenuate_by_the_square_of_a_low_frequency() {
        assert!((liquid(2.0, 273.15) / liquid(1.0, 273.15) / 4.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_path_twice_as_long_has_twice_the_clouds() {
        for water in [CloudWater::Integrated(1.0), CloudWater::Reduced(1.0)] {
            let zenith = cloud_db(&Ray { elevation_deg: 90.0, ..RAY }, water).unwrap();
            assert!((cloud_db(&RAY, water).unwrap() / zenith - 2.0).abs() < 1e-12);
        }
        assert!(cloud_db(&RAY, CloudWater::Reduced(-1.0)).is_err());
    }

    #[test]
    fn water_between_two_percentages_lies_between_theirs() {
        let clouds = CloudClimate { kg_m2: [4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.1] };
        for (percent, kg_m2) in CLOUDY.into_iter().zip(clouds.kg_m2) {
            let CloudWater::Reduced(water) = clouds.water(percent).unwrap() else { panic!("reduced") };
            assert!((water - kg_m2).abs() < 1e-12, "{percent} %");
        }
        // Halfway in the logarithm between 5 and 10 %.
        let CloudWater::Reduced(water) = clouds.water(50.0_f64.sqrt()).unwrap() else { panic!("reduced") };
        assert!((water - 1.75).abs() < 1e-12);
        assert!(clouds.water(0.9).is_err() && clouds.water(51.0).is_err() && clouds.water(f64::NAN).is_err());
    }
}
