//! Delay to a satellite that crosses a place overhead while the Earth is at rest (E. Lutz et al., "Satellite Systems",
//! 2000). Papers use it instead of a sky.

use bentpipe_units::{Duration, Time};
use libm::{acos, cos, sin, sqrt};
use std::f64::consts::PI;

/// Equatorial radius of the Earth, km (ns-2: 6378).
const R: f64 = 6378.137;
/// Speed of light, km/s.
const C: f64 = 299_792.458;
/// Gravitational parameter of the Earth, km³/s².
const MU: f64 = 398_600.441_8;
/// Largest error of the linear interpolation between points, s.
const ERROR: f64 = 0.5e-6;

/// Circular orbit of altitude `h` km, used above the elevation `elevation` degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// Altitude, km.
    pub h: f64,
    /// Smallest elevation, degrees.
    pub elevation: f64,
}

impl Overhead {
    /// Returns the distance at elevation `deg`, km: d(ε) = sqrt((R+h)² - (R cos ε)²) - R sin ε.
    #[cfg(test)]
    fn slant(&self, deg: f64) -> f64 {
        let e = deg * PI / 180.0;
        sqrt((R + self.h) * (R + self.h) - R * cos(e) * R * cos(e)) - R * sin(e)
    }

    /// Returns the distance at the Earth-central angle `psi`: d(ψ) = sqrt(R² + (R+h)² - 2R(R+h) cos ψ), written without
    /// the difference of large numbers: sqrt(h² + 4R(R+h) sin²(ψ/2)).
    fn distance(&self, psi: f64) -> f64 {
        let s = sin(psi / 2.0);
        sqrt(self.h * self.h + 4.0 * R * (R + self.h) * s * s)
    }

    /// Returns the Earth-central angle at the smallest elevation: ψ(ε) = acos(R cos ε/(R+h)) - ε.
    fn psi_min(&self) -> f64 {
        let e = self.elevation * PI / 180.0;
        acos(R * cos(e) / (R + self.h)) - e
    }

    /// Returns the orbital period T = 2π sqrt((R+h)³/μ), s.
    fn period(&self) -> f64 {
        let a = R + self.h;
        2.0 * PI * sqrt(a * a * a / MU)
    }

    /// Returns the time of visibility of an overhead pass, s: T ψ_min/π.
    fn visibility(&self) -> f64 {
        self.period() * self.psi_min() / PI
    }

    /// Returns the delay over `hops` slant ranges as linear interpolation over one period of visibility. Then the next
    /// satellite takes over at the same distance.
    pub fn points(&self, hops: u32) -> (Vec<(Time, Duration)>, Duration) {
        let (psi_min, visible) = (self.psi_min(), self.visibility());
        let period = Duration::from_secs_f64(visible);
        // A chord over a step s is off by at most s² d''/8. The distance bends most overhead, where d'' = R(R+h)/h ·
        // (dψ/dt)² with dψ/dt = 2 ψ_min/t_vis. The number of steps n = t_vis/s follows. It is even, so that the closest
        // point is one of them.
        let bend = f64::from(hops) / C * R * (R + self.h) / self.h * 4.0 * psi_min * psi_min;
        let half = (libm::ceil(sqrt(bend / (8.0 * ERROR))) as u64 / 2 + 1).min(MOST / 2);
        let steps = 2 * half;
        let point = |i: u64| {
            let at = (u128::from(period.as_ps()) * u128::from(i) / u128::from(steps)) as u64;
            let psi = psi_min * (1.0 - 2.0 * i as f64 / steps as f64).abs();
            let delay = f64::from(hops) * self.distance(psi) / C;
            (Time::from_ps(at), Duration::from_secs_f64(delay))
        };
        ((0..=steps).map(point).collect(), period)
    }
}

/// Largest number of points of a pass. No orbit of a scenario reaches it.
const MOST: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-4 * b.abs() + 1e-9, "{a} is not {b}");
    }

    /// `docs/specs/geometry-delay.md`, values; delays are printed with four digits.
    #[test]
    fn slant_ranges_and_delays() {
        for (h, e, d, ms) in [
            (1350.0, 90.0, 1350.0, 4.503),
            (1350.0, 20.0, 2697.30, 8.997),
            (1350.0, 10.0, 3394.69, 11.32),
            (780.0, 90.0, 780.0, 2.602),
            (780.0, 8.2, 2464.59, 8.221),
            (550.0, 90.0, 550.0, 1.835),
            (550.0, 25.0, 1123.42, 3.747),
            (35_786.0, 90.0, 35_786.0, 119.37),
            (35_786.0, 30.0, 38_611.7, 128.79),
            (35_786.0, 0.0, 41_678.9, 139.03),
        ] {
            let pass = Overhead { h, elevation: e };
            close(pass.slant(e), d);
            close(pass.distance(pass.psi_min()), d);
            assert!((d / C * 1e3 - ms).abs() < 5e-4 * ms, "{h} {e}");
        }
    }

    /// `docs/specs/geometry-delay.md`, periods and overhead visibility.
    #[test]
    fn periods() {
        for (h, elevation, period, psi, visible) in [
            (1350.0, 20.0, 6761.19, 19.146, 719.16),
            (1350.0, 10.0, 6761.19, f64::NAN, 962.79),
            (780.0, 8.2, 6027.14, 19.925, 667.16),
            (550.0, 25.0, 5738.99, 8.451, 269.44),
            (550.0, 40.0, 5738.99, f64::NAN, 164.26),
        ] {
            let pass = Overhead { h, elevation };
            close(pass.period(), period);
            close(pass.visibility(), visible);
            if !psi.is_nan() {
                close(pass.psi_min() * 180.0 / PI, psi);
            }
        }
    }

    #[test]
    fn straight_lines_stay_within_a_microsecond() {
        for (h, elevation, hops) in
            [(1350.0, 20.0, 2), (550.0, 25.0, 1), (780.0, 8.2, 100), (100.0, 0.0, 100), (1e5, 89.0, 1)]
        {
            let pass = Overhead { h, elevation };
            let (points, period) = pass.points(hops);
            assert!(points.len() < MOST as usize && points.windows(2).all(|w| w[0].0 < w[1].0));
            assert_eq!((points[0].0, points[points.len() - 1].0), (Time::ZERO, Time::ZERO + period));
            assert_eq!(points[0].1, points[points.len() - 1].1);
            for pair in points.windows(2) {
                let middle = (pair[0].0.as_secs_f64() + pair[1].0.as_secs_f64()) / 2.0;
                let psi = pass.psi_min() * (1.0 - 2.0 * middle / period.as_secs_f64()).abs();
                let exact = f64::from(hops) * pass.distance(psi) / C;
                let line = (pair[0].1.as_secs_f64() + pair[1].1.as_secs_f64()) / 2.0;
                assert!((exact - line).abs() < 1e-6, "{h} {elevation} {hops}: {exact} {line}");
            }
        }
    }

    /// S002: mean slant range of the pass 1863.85 km, mean propagation round trip 24.87 ms over two hops.
    #[test]
    fn mean_delay_of_s002() {
        let (points, _) = Overhead { h: 1350.0, elevation: 20.0 }.points(2);
        let mean = points.windows(2).map(|w| (w[0].1.as_secs_f64() + w[1].1.as_secs_f64()) / 2.0).sum::<f64>()
            / (points.len() - 1) as f64;
        close(mean * C / 2.0, 1863.85);
    }
}
