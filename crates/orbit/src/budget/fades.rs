//! Duration and number of fades (ITU-R P.1623-1 §2.2).
//!
//! Short fades follow a power law, long ones a log-normal one. The method was fitted to paths of satellites that do not move, at 10
//! to 50 GHz and 5 to 60 degrees of elevation, and to fades of a second or more.

use super::normal::q;
use super::Ray;
use crate::sky::SkyError;
use libm::{exp, log, pow, sqrt};

/// Seconds of a year in P.1623.
pub const YEAR_S: f64 = 365.25 * 86_400.0;

/// Fades of a path that are deeper than a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fades {
    /// Exponent of the power law of short fades.
    gamma: f64,
    /// Start of long fades, s.
    boundary_s: f64,
    /// Medians of the time due to long fades and of the number of long fades, by duration, s.
    medians_s: (f64, f64),
    /// Spread of the logarithm of long durations.
    sigma: f64,
    /// Share of the time due to short fades.
    short: f64,
}

impl Fades {
    /// Returns the fades deeper than `threshold_db`.
    ///
    /// # Errors
    ///
    /// A value outside its range.
    pub fn deeper_than(threshold_db: f64, ray: &Ray) -> Result<Self, SkyError> {
        let f = SkyError::within("frequency_ghz", ray.frequency_ghz, 10.0, 50.0)?;
        let elevation = SkyError::within("elevation_deg", ray.elevation_deg, 5.0, 60.0)?;
        let depth = SkyError::within("threshold_db", threshold_db, 1e-3, 100.0)?;
        let time = 80.0 * pow(elevation, -0.4) * pow(f, 1.4) * pow(depth, -0.39);
        let sigma = 1.85 * pow(f, -0.05) * pow(depth, -0.027);
        let gamma = 0.055 * pow(f, 0.65) * pow(depth, -0.003);
        let (first, second) = (0.885 * gamma - 0.814, -1.05 * gamma * gamma + 2.23 * gamma - 1.61);
        let boundary_s = time * exp(first * sigma * sigma + second * sigma - 0.39);
        let number = time * exp(-sigma * sigma);
        let tail = |median: f64| q(log(boundary_s / median) / sigma);
        let long = sqrt(time * number) * (1.0 - gamma) * tail(time) / (boundary_s * gamma * tail(number));
        Ok(Self { gamma, boundary_s, medians_s: (time, number), sigma, short: 1.0 / (1.0 + long) })
    }

    fn tail(&self, median_s: f64, duration_s: f64) -> f64 {
        let q_of = |s: f64| q(log(s / median_s) / self.sigma);
        q_of(duration_s) / q_of(self.boundary_s)
    }

    /// Returns the share of the fades that last longer than this, among the fades of a second or more.
    ///
    /// # Errors
    ///
    /// A duration below a second.
    pub fn longer(&self, duration_s: f64) -> Result<f64, SkyError> {
        let duration = SkyError::within("duration_s", duration_s, 1.0, 1e9)?;
        Ok(match duration <= self.boundary_s {
            true => pow(duration, -self.gamma),
            false => pow(self.boundary_s, -self.gamma) * self.tail(self.medians_s.1, duration),
        })
    }

    /// Returns the share of the time beyond the threshold due to fades longer than this.
    ///
    /// # Errors
    ///
    /// A duration below a second.
    pub fn time_in_longer(&self, duration_s: f64) -> Result<f64, SkyError> {
        let duration = SkyError::within("duration_s", duration_s, 1.0, 1e9)?;
        Ok(match duration <= self.boundary_s {
            true => 1.0 - self.short * pow(duration / self.boundary_s, 1.0 - self.gamma),
            false => (1.0 - self.short) * self.tail(self.medians_s.0, duration),
        })
    }

    /// Returns the number of fades of a second or more in `faded_s` seconds beyond the threshold.
    pub fn number(&self, faded_s: f64) -> f64 {
        faded_s * self.short * (1.0 - self.gamma) / self.gamma / pow(self.boundary_s, 1.0 - self.gamma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAY: Ray = Ray { frequency_ghz: 20.0, elevation_deg: 30.0, tilt_deg: 45.0 };

    /// Both laws meet at the boundary, and shares fall from one to zero.
    #[test]
    fn short_and_long_fades_meet() {
        for threshold in [0.5, 3.0, 20.0] {
            let fades = Fades::deeper_than(threshold, &RAY).unwrap();
            let at = |s| (fades.longer(s).unwrap(), fades.time_in_longer(s).unwrap());
            let (below, above) = (at(fades.boundary_s * (1.0 - 1e-12)), at(fades.boundary_s * (1.0 + 1e-12)));
            assert!((below.0 - above.0).abs() < 1e-9 && (below.1 - above.1).abs() < 1e-9, "{below:?} {above:?}");
            assert_eq!(fades.longer(1.0).unwrap(), 1.0);
            assert!(at(1e7).0 < 1e-6 && at(1e7).1 < 1e-3, "{:?}", at(1e7));
            let falling: Vec<(f64, f64)> = (0..60).map(|k| at(pow(1.2, f64::from(k)))).collect();
            assert!(falling.windows(2).all(|pair| pair[0].0 > pair[1].0 && pair[0].1 > pair[1].1));
        }
    }

    /// The number of fades times their durations is the time beyond the threshold, except for fades shorter than a
    /// second.
    #[test]
    fn fades_are_as_long_as_their_number_says() {
        let fades = Fades::deeper_than(5.0, &RAY).unwrap();
        // Integral of the share of longer fades, by logarithms of durations, from a second on.
        let steps = 20_000;
        let (low, high) = (0.0, log(1e8));
        let width = (high - low) / f64::from(steps);
        let mean: f64 = (0..steps)
            .map(|k| exp(low + (f64::from(k) + 0.5) * width))
            .map(|s| fades.longer(s).unwrap() * s * width)
            .sum::<f64>()
            + 1.0;
        let time = fades.number(1e6) * mean;
        assert!((time / 1e6 - fades.time_in_longer(1.0).unwrap()).abs() < 0.1, "{time}");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for (threshold, ray) in [
            (0.0, RAY),
            (f64::NAN, RAY),
            (3.0, Ray { frequency_ghz: 9.0, ..RAY }),
            (3.0, Ray { elevation_deg: 61.0, ..RAY }),
        ] {
            assert!(Fades::deeper_than(threshold, &ray).is_err(), "{threshold} {ray:?}");
        }
        let fades = Fades::deeper_than(3.0, &RAY).unwrap();
        assert!(fades.longer(0.5).is_err() && fades.time_in_longer(f64::NAN).is_err());
    }
}
