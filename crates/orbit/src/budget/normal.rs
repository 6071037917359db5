//! Normal distribution: upper tails and their inverses.

use core::f64::consts::{PI, SQRT_2};
use libm::{erfc, exp, log, sqrt};

/// Returns Q(x), the probability that a normal variable is above x.
pub fn q(x: f64) -> f64 {
    erfc(x / SQRT_2) / 2.0
}

/// Returns Q⁻¹(p) for 0 < p < 1; infinite at the ends, NaN outside. Uses Newton's method on ln Q, which is concave.
pub fn q_inverse(p: f64) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p > 0.5 {
        return -q_inverse(1.0 - p);
    }
    if p == 0.0 {
        return f64::INFINITY;
    }
    // The root of the tail's leading term is above. ln Q falls ever faster, so each step stays above.
    let mut x = sqrt(-2.0 * log(2.0 * p));
    for _ in 0..60 {
        let tail = q(x);
        let step = tail * log(tail / p) * sqrt(2.0 * PI) * exp(x * x / 2.0);
        x += step;
        if step.abs() <= 1e-15 * x.abs() || x.is_nan() {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, tables 26.1 and 26.5.
    #[test]
    fn tails_are_those_of_the_tables() {
        for (x, p) in [(1.0, 0.158_655_253_931_457), (3.0, 1.349_898_031_630_09e-3), (-2.0, 0.977_249_868_051_821)] {
            assert!((q(x) / p - 1.0).abs() < 1e-13, "{x}");
            assert!((q_inverse(p) - x).abs() < 1e-12, "{x}: {}", q_inverse(p));
        }
        assert!((q_inverse(0.001) - 3.090_232_306_167_813).abs() < 1e-12);
    }

    #[test]
    fn the_inverse_holds_everywhere() {
        for p in [1e-300, 1e-30, 2e-8, 0.01, 0.3, 0.499_999, 0.500_001, 0.9, 1.0 - 1e-12] {
            assert!((q(q_inverse(p)) / p - 1.0).abs() < 1e-10, "{p}: {}", q(q_inverse(p)));
        }
        assert!(q_inverse(0.0) == f64::INFINITY && q_inverse(1.0) == f64::NEG_INFINITY && q_inverse(1.1).is_nan());
    }
}
