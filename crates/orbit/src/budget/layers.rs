//! Gases along a path, layer by layer: ITU-R P.676-13, annex 1 §2.2, through the mean annual reference atmosphere of P.835-6.

use super::gases::Air;
use super::geometry::RAD;
use super::Ray;
use crate::sky::SkyError;
use libm::{asin, ceil, cos, exp, expm1, floor, log1p, pow, sqrt};

/// Mean radius of the Earth in P.676, km.
const RADIUS_KM: f64 = 6371.0;
/// Height of the start of space, km.
const TOP_KM: f64 = 100.0;
/// Base (km of geopotential), temperature there (K), K per km, pressure there (hPa): P.835-6 §1.1.
const GRADIENTS: [(f64, f64, f64, f64); 7] = [
    (0.0, 288.15, -6.5, 1013.25),
    (11.0, 216.65, 0.0, 226.3226),
    (20.0, 216.65, 1.0, 54.74980),
    (32.0, 228.65, 2.8, 8.680422),
    (47.0, 270.65, 0.0, 1.109106),
    (51.0, 270.65, -2.8, 0.6694167),
    (71.0, 214.65, -2.0, 0.03956649),
];

/// Returns the mean annual reference atmosphere `height_km` above sea level, 0 to 100, with `vapour_g_m3` at sea level.
/// The vapour falls by e per 2 km, to no less than two parts in a million of air (P.835-6 §1).
///
/// # Errors
///
/// A height outside 0 to 100 km, vapour outside 0 to 100 g/m³.
pub fn reference_air(height_km: f64, vapour_g_m3: f64) -> Result<Air, SkyError> {
    let h = SkyError::within("height_km", height_km, 0.0, TOP_KM)?;
    let ground = SkyError::within("vapour_g_m3", vapour_g_m3, 0.0, 100.0)?;
    let geopotential = 6356.766 * h / (6356.766 + h);
    let (temperature_k, total) = if h < 86.0 {
        let within = GRADIENTS.iter().rev().find(|(base, ..)| geopotential >= *base).unwrap_or(&GRADIENTS[0]);
        let (base, warm, gradient, pressure) = *within;
        let t = warm + gradient * (geopotential - base);
        let falls = if gradient == 0.0 {
            exp(-34.1632 * (geopotential - base) / warm)
        } else {
            pow(warm / t, 34.1632 / gradient)
        };
        (t, pressure * falls)
    } else {
        let high = (h - 91.0).max(0.0) / 19.9429;
        let t = if h <= 91.0 { 186.8673 } else { 263.1905 - 76.3232 * sqrt(1.0 - high * high) };
        let power = 95.571_899 + h * (-4.011_801 + h * (6.424_731e-2 + h * (-4.789_660e-4 + h * 1.340_543e-6)));
        (t, exp(power))
    };
    let vapour_hpa = ground * exp(-h / 2.0) * temperature_k / 216.7;
    let vapour_hpa = if ground > 0.0 { vapour_hpa.max(2e-6 * total) } else { 0.0 };
    let pressure_hpa = total - vapour_hpa;
    Ok(Air { pressure_hpa, temperature_k, vapour_g_m3: vapour_hpa * 216.7 / temperature_k })
}

/// Returns n of P.453-14, equations 1 and 2.
fn refractive_index(air: &Air) -> f64 {
    let (t, e) = (air.temperature_k, air.vapour_g_m3 * air.temperature_k / 216.7);
    1.0 + 1e-6 * (77.6 * air.pressure_hpa / t + 72.0 * e / t + 3.75e5 * e / (t * t))
}

/// Returns the attenuation by gases on a path from `height_km` above sea level to space, dB, line by line and layer by
/// layer, with the bending of the ray. The elevation is the apparent one, 0 to 90 degrees.
///
/// # Errors
///
/// A value outside its range: 1 to 1000 GHz, 0 to 50 km, 0 to 100 g/m³ of water vapour at sea level.
pub fn gas_layers_db(ray: &Ray, height_km: f64, vapour_g_m3: f64) -> Result<f64, SkyError> {
    let ray = ray.checked()?;
    let lower = SkyError::within("height_km", height_km, 0.0, 50.0)?;
    // Layers grow by 1 % each, from 10 cm on.
    let index = |h: f64| 100.0 * log1p(1e4 * h * expm1(0.01));
    let (first, end) = (floor(index(lower) + 1.0), ceil(index(TOP_KM) + 1.0));
    let scale = (exp(0.02) - exp(0.01)) / (exp(end / 100.0) - exp(first / 100.0)) * (TOP_KM - lower);
    let (mut bottom, mut sum, mut bent) = (lower, 0.0, None);
    for layer in 0..(end - first) as u32 {
        let thickness = scale * exp((first + f64::from(layer) - 1.0) / 100.0);
        let air = reference_air((bottom + thickness / 2.0).min(TOP_KM), vapour_g_m3)?;
        let (n, radius) = (refractive_index(&air), RADIUS_KM + bottom);
        // Snell's law for spheres: n r cos(elevation) is the same in all layers.
        let constant = *bent.get_or_insert(n * radius * cos(ray.elevation_deg * RAD));
        let steep = radius * cos(asin((constant / (n * radius)).min(1.0)));
        let length = sqrt(steep * steep + 2.0 * radius * thickness + thickness * thickness) - steep;
        let (dry, wet) = super::gases::gas_specific_db_km(ray.frequency_ghz, &air)?;
        sum += length * (dry + wet);
        bottom += thickness;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::gases::{gas_path_db, gas_specific_db_km};
    use super::*;
    use libm::sin;

    fn ray(frequency_ghz: f64, elevation_deg: f64) -> Ray {
        Ray { frequency_ghz, elevation_deg, tilt_deg: 45.0 }
    }

    /// The US Standard Atmosphere 1976, whose values P.835 has: geometric heights of 5, 11.019, 30 and 80 km.
    #[test]
    fn the_reference_atmosphere_is_the_standard_one() {
        for (km, kelvin, hpa) in [(5.0, 255.676, 540.48), (11.019, 216.65, 226.32), (30.0, 226.509, 11.970)] {
            let air = reference_air(km, 0.0).unwrap();
            assert!((air.temperature_k - kelvin).abs() < 0.01, "{km}: {air:?}");
            assert!((air.pressure_hpa / hpa - 1.0).abs() < 1e-3, "{km}: {air:?}");
        }
        let high = reference_air(90.0, 7.5).unwrap();
        assert!((high.temperature_k - 186.87).abs() < 0.01 && (high.pressure_hpa / 1.836e-3 - 1.0).abs() < 0.01);
        assert!(reference_air(100.1, 7.5).is_err() && reference_air(f64::NAN, 7.5).is_err());
    }

    /// At the zenith nothing bends: compares with the integral over the height by another rule, in 20 m steps.
    #[test]
    fn layers_towards_the_zenith_are_the_integral_over_height() {
        for f in [14.25, 22.235, 29.0, 60.0] {
            let specific = |n: u32| {
                let (dry, wet) = gas_specific_db_km(f, &reference_air(0.02 * f64::from(n), 7.5).unwrap()).unwrap();
                dry + wet
            };
            let integral = 0.02 * (1..5000).map(specific).sum::<f64>() + 0.01 * (specific(0) + specific(5000));
            let layers = gas_layers_db(&ray(f, 90.0), 0.0, 7.5).unwrap();
            assert!((layers / integral - 1.0).abs() < 2e-3, "{f} GHz: {layers} {integral}");
        }
    }

    /// The simple form is within a tenth from ten degrees on. At the horizon there is less attenuation than it gives.
    #[test]
    fn the_simple_path_is_near_that_of_the_layers() {
        for (f, e) in [(12.0, 90.0), (20.0, 30.0), (30.0, 10.0), (45.0, 20.0)] {
            let simple = gas_path_db(&ray(f, e), &Air::STANDARD, None).unwrap();
            let layers = gas_layers_db(&ray(f, e), 0.0, 7.5).unwrap();
            assert!((simple / layers - 1.0).abs() < 0.1, "{f} GHz, {e}°: {simple} {layers}");
        }
        let of = |e| gas_layers_db(&ray(20.0, e), 0.0, 7.5).unwrap();
        assert!(of(0.0).is_finite() && of(0.0) > of(1.0) && of(1.0) < of(90.0) / sin(RAD));
        assert!(gas_layers_db(&ray(20.0, 45.0), 3.0, 7.5).unwrap() < of(45.0) / 3.0);
    }
}
