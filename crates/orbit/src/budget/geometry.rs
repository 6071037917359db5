//! Distance to a satellite, and free-space loss.

use crate::sky::SkyError;
use libm::{log10, sin, sqrt};

/// Radius of the Earth at the equator (WGS 84), km.
const RADIUS_KM: f64 = 6378.137;
pub(super) const RAD: f64 = core::f64::consts::PI / 180.0;

/// Returns the distance in km to a satellite `altitude_km` above a spherical Earth that is seen at `elevation_deg`:
/// sqrt((R sin e)² + 2 R h + h²) - R sin e.
///
/// # Errors
///
/// An elevation outside 0 to 90 degrees, an altitude outside 1 to 1e6 km.
pub fn slant_range_km(elevation_deg: f64, altitude_km: f64) -> Result<f64, SkyError> {
    let rise = RADIUS_KM * sin(SkyError::within("elevation_deg", elevation_deg, 0.0, 90.0)? * RAD);
    let h = SkyError::within("altitude_km", altitude_km, 1.0, 1e6)?;
    Ok(sqrt(rise * rise + 2.0 * RADIUS_KM * h + h * h) - rise)
}

/// Returns the free-space loss in dB between isotropic antennas: 92.45 + 20 log d + 20 log f (ITU-R P.525).
///
/// # Errors
///
/// A distance outside 1e-3 to 1e9 km, a frequency outside 0.01 to 1000 GHz.
pub fn free_space_loss_db(frequency_ghz: f64, distance_km: f64) -> Result<f64, SkyError> {
    let distance = SkyError::within("distance_km", distance_km, 1e-3, 1e9)?;
    let frequency = SkyError::within("frequency_ghz", frequency_ghz, 0.01, 1000.0)?;
    Ok(92.45 + 20.0 * log10(distance) + 20.0 * log10(frequency))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/specs/link-budget.md`, tests.
    #[test]
    fn free_space_loss_is_that_of_the_worked_cases() {
        let cases = [(20.0, 1350.0, 181.08), (20.0, 2697.3, 187.09), (20.0, 35_786.0, 209.54)];
        for (ghz, km, db) in cases.into_iter().chain([(12.0, 550.0, 168.84), (12.0, 1123.4, 175.04)]) {
            let loss = free_space_loss_db(ghz, km).unwrap();
            assert!((loss - db).abs() < 0.005, "{ghz} GHz, {km} km: {loss}");
        }
    }

    /// `docs/specs/link-budget.md`, tests: from 1350 km, 90 to 20 degrees costs 6.012 dB, 90 to 10 degrees 8.009 dB.
    #[test]
    fn a_low_satellite_is_further_away() {
        let cost = |elevation| 20.0 * log10(slant_range_km(elevation, 1350.0).unwrap() / 1350.0);
        assert!(
            (cost(20.0) - 6.012).abs() < 5e-4 && (cost(10.0) - 8.009).abs() < 5e-4,
            "{} {}",
            cost(20.0),
            cost(10.0)
        );
        assert!((slant_range_km(90.0, 550.0).unwrap() - 550.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_geometry_is_refused() {
        for (elevation, altitude) in [(-1.0, 550.0), (91.0, 550.0), (f64::NAN, 550.0), (45.0, 0.0), (45.0, f64::NAN)] {
            assert!(slant_range_km(elevation, altitude).is_err());
        }
        assert!(free_space_loss_db(0.0, 1.0).is_err() && free_space_loss_db(20.0, f64::INFINITY).is_err());
    }
}
