//! Converts energy per bit to the probability of a wrong bit, and back.

use super::normal::q;
use crate::sky::SkyError;
use core::f64::consts::PI;
use libm::{cos, log10, pow, sin, sqrt};

/// Modulation: the mapping of bits to symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// 1 bit per symbol.
    Bpsk,
    /// 2 bits per symbol, Gray-coded: each bit has the error rate of BPSK.
    Qpsk,
    /// 3 bits per symbol, Gray-coded.
    Psk8,
    /// 4 bits per symbol: DVB-S2's rings of 4 and 12 points with the radii 1 and 2.85 (for its code of rate 3/4).
    Apsk16,
}

/// Ratio of the rings' radii (ETSI EN 302 307-1, table 9).
const RINGS: f64 = 2.85;
/// Points of 16APSK in a quadrant: whether in the outer ring, angle in twelfths of pi, and their two upper bits (ETSI
/// EN 302 307-1, figure 11). The lower bits are the signs of x and y.
const QUADRANT: [(bool, f64, u32); 4] = [(true, 3.0, 0b00), (true, 1.0, 0b01), (true, 5.0, 0b10), (false, 3.0, 0b11)];

/// Returns the points of 16APSK with mean energy 1, and their bits.
fn apsk16() -> [(f64, f64, u32); 16] {
    let inner = 1.0 / sqrt((4.0 + 12.0 * RINGS * RINGS) / 16.0);
    core::array::from_fn(|n| {
        let (outside, twelfths, upper) = QUADRANT[n / 4];
        let radius = if outside { inner * RINGS } else { inner };
        let angle = twelfths * PI / 12.0;
        let (left, below) = (n as u32 >> 1 & 1, n as u32 & 1);
        let sign = |negative: u32| 1.0 - 2.0 * f64::from(negative);
        (sign(left) * radius * cos(angle), sign(below) * radius * sin(angle), upper << 2 | left << 1 | below)
    })
}

impl Modulation {
    /// Returns the bits per symbol.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Psk8 => 3,
            Self::Apsk16 => 4,
        }
    }

    /// Returns the probability of a wrong bit at this energy per bit over noise density, without coding. Exact for
    /// BPSK, QPSK and 8PSK; the union bound, at most 1/2, for 16APSK.
    pub fn bit_error_rate(self, eb_n0_db: f64) -> f64 {
        let symbol = pow(10.0, eb_n0_db / 10.0) * f64::from(self.bits());
        let amplitude = sqrt(2.0 * symbol);
        match self {
            Self::Bpsk => q(amplitude),
            Self::Qpsk => q(sqrt(symbol)),
            Self::Psk8 => {
                // The signs of x and y give two bits. The third bit is the sign of x y after a turn by 45 degrees.
                let (near, far) = (q(amplitude * sin(PI / 8.0)), q(amplitude * cos(PI / 8.0)));
                2.0 / 3.0 * (near + far - near * far)
            }
            Self::Apsk16 => {
                let points = apsk16();
                let mut sum = 0.0;
                for (n, (x, y, bits)) in points.iter().enumerate() {
                    for (u, v, others) in &points[..n] {
                        let apart = sqrt(((x - u) * (x - u) + (y - v) * (y - v)) / 4.0);
                        sum += f64::from((bits ^ others).count_ones()) * q(amplitude * apart);
                    }
                }
                (2.0 * sum / 16.0 / 4.0).min(0.5)
            }
        }
    }

    /// Returns the energy per bit in dB for this probability of a wrong bit: the inverse of
    /// [`Modulation::bit_error_rate`].
    ///
    /// # Errors
    ///
    /// A rate outside 1e-300 to 0.3.
    pub fn eb_n0_db(self, bit_error_rate: f64) -> Result<f64, SkyError> {
        let rate = SkyError::within("bit_error_rate", bit_error_rate, 1e-300, 0.3)?;
        let (mut low, mut high) = (-30.0, 60.0);
        // Until the two are neighbouring floating-point numbers.
        for _ in 0..70 {
            let middle = (low + high) / 2.0;
            (low, high) = if self.bit_error_rate(middle) > rate { (middle, high) } else { (low, middle) };
        }
        Ok(high)
    }
}

/// Converts energy per bit of payload to energy per symbol, dB, for `bits` bits per symbol and a code of this rate.
pub fn es_n0_db(eb_n0_db: f64, bits: u32, code_rate: f64) -> f64 {
    eb_n0_db + 10.0 * log10(f64::from(bits) * code_rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Stream;
    use libm::log;

    const ALL: [Modulation; 4] = [Modulation::Bpsk, Modulation::Qpsk, Modulation::Psk8, Modulation::Apsk16];

    /// `docs/specs/link-budget.md`, tests: the rates and their inverses.
    #[test]
    fn qpsk_errs_as_in_the_worked_cases() {
        let rates = [(0.0, 7.865e-2), (4.0, 1.250e-2), (6.0, 2.388e-3), (8.0, 1.909e-4), (9.6, 9.736e-6)];
        for (db, rate) in rates.into_iter().chain([(10.0, 3.872e-6), (10.5, 1.084e-6)]) {
            for modulation in [Modulation::Bpsk, Modulation::Qpsk] {
                let value = modulation.bit_error_rate(db);
                assert!((value / rate - 1.0).abs() < 5e-4, "{db} dB: {value:e}");
            }
        }
        let inverses = [(1e-2, 4.323), (1e-3, 6.790), (2e-5, 9.261), (1e-6, 10.530), (2e-8, 11.782)];
        for (rate, db) in inverses {
            assert!((Modulation::Qpsk.eb_n0_db(rate).unwrap() - db).abs() < 5e-4, "{rate:e}");
        }
    }

    #[test]
    fn the_inverse_is_one() {
        for modulation in ALL {
            for rate in [0.1, 1e-3, 1e-7, 1e-30] {
                let back = modulation.bit_error_rate(modulation.eb_n0_db(rate).unwrap());
                assert!((back / rate - 1.0).abs() < 1e-9, "{modulation:?} {rate:e}: {back:e}");
            }
            assert!(modulation.eb_n0_db(0.4).is_err() && modulation.eb_n0_db(f64::NAN).is_err());
        }
    }

    /// Es/N0 = Eb/N0 + 10 log(bits per symbol × code rate).
    #[test]
    fn a_symbol_has_the_energy_of_its_bits() {
        assert!((es_n0_db(4.0, 2, 0.5) - 4.0).abs() < 1e-12);
        assert!((es_n0_db(4.0, 3, 2.0 / 3.0) - 7.0103).abs() < 1e-4);
    }

    /// Symbols with noise, decided for the nearest point, many times: rates agree within five standard deviations, and
    /// the bound of 16APSK is a few per cent above.
    #[test]
    fn symbols_in_noise_err_as_often_as_is_said() {
        const SYMBOLS: u64 = 400_000;
        let psk8: Vec<(f64, f64, u32)> = (0..8u32)
            .map(|n| {
                let angle = PI / 8.0 + f64::from(n) * PI / 4.0;
                (cos(angle), sin(angle), n ^ n >> 1)
            })
            .collect();
        for (modulation, points, db, slack) in
            [(Modulation::Psk8, psk8, 7.0, 0.0), (Modulation::Apsk16, apsk16().to_vec(), 8.5, 0.08)]
        {
            let energy: f64 = points.iter().map(|(x, y, _)| x * x + y * y).sum::<f64>() / points.len() as f64;
            assert!((energy - 1.0).abs() < 1e-12);
            let mut stream = Stream::new(7, "symbols", "noise");
            let spread = sqrt(0.5 / (pow(10.0, db / 10.0) * f64::from(modulation.bits())));
            let mut wrong = 0u64;
            for n in 0..SYMBOLS {
                let (x, y, bits) = points[n as usize % points.len()];
                let (one, two) = (stream.uniform_positive(2 * n), stream.uniform(2 * n + 1));
                let (radius, angle) = (spread * sqrt(-2.0 * log(one)), 2.0 * PI * two);
                let (x, y) = (x + radius * cos(angle), y + radius * sin(angle));
                let off = |(u, v, _): &&(f64, f64, u32)| (x - u) * (x - u) + (y - v) * (y - v);
                let decided = points.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
                wrong += u64::from((decided.2 ^ bits).count_ones());
            }
            let sent = (SYMBOLS * u64::from(modulation.bits())) as f64;
            let (counted, said) = (wrong as f64 / sent, modulation.bit_error_rate(db));
            let deviation = sqrt(said / sent);
            assert!(counted < said + 5.0 * deviation, "{modulation:?}: {counted:e} {said:e}");
            assert!(counted > said * (1.0 - slack) - 5.0 * deviation, "{modulation:?}: {counted:e} {said:e}");
        }
    }
}
