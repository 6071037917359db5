//! Random sizes and times, each from one uniform number or two, so that a draw has an index in its stream. Adding a
//! flow or changing the congestion control changes no other draw. Formulas: inversion of the distribution function (L.
//! Devroye, "Non-Uniform Random Variate Generation", 1986, chapter II). Normal numbers: G. Box and M. Muller, 1958.

use bentpipe_tcp::{ClockPhase, Config, DelayTimer};
use bentpipe_units::settings::{Bytes, Settings, Shape, Typed, Unfit, Value, Written};
use bentpipe_units::{kinds, settings, Duration, Stream};
use std::f64::consts::PI;

kinds! {
    /// Number of bytes, fixed or drawn.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Size as "SizeDistribution", "a distribution of sizes" {
        else "Always this." Fixed(u64 as Bytes);
        /// Exponential.
        "exponential" => Exponential {
            /// Mean.
            mean: u64 as Bytes;
        };
        /// Pareto: a few sizes are very large.
        "pareto" => Pareto {
            /// Shape: the tail is heavier, the smaller it is. Above 1, so that there is a mean. At 2 and below the
            /// variance is infinite.
            shape: f64, [1.01, 100.0];
            /// Smallest size.
            min: u64 as Bytes;
        };
        /// Pareto between two bounds.
        "bounded-pareto" => BoundedPareto {
            /// Shape: the tail is heavier, the smaller it is.
            shape: f64, [0.01, 100.0];
            /// Smallest size.
            min: u64 as Bytes;
            /// Largest size.
            max: u64 as Bytes;
        };
        /// Lognormal.
        "lognormal" => Lognormal {
            /// Mean.
            mean: u64 as Bytes;
            /// Standard deviation.
            sd: u64 as Bytes;
        };
    }
}

kinds! {
    /// Time, fixed or drawn.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Wait as "WaitDistribution", "a distribution of times" {
        else "Always this." Constant(Duration);
        /// Exponential.
        "exponential" => Exponential {
            /// Mean.
            mean: Duration;
        };
        /// Pareto.
        "pareto" => Pareto {
            /// Shape: the tail is heavier, the smaller it is. Above 1, so that there is a mean.
            shape: f64, [1.01, 100.0];
            /// Mean.
            mean: Duration;
        };
    }
}

/// Time between two bounds, the latter excluded unless they are equal. Equal bounds are written as one time.
#[derive(Clone, Copy, Debug)]
pub struct Between;

settings! {
    /// Random time, drawn for each packet.
    pub struct HoldUniform {
        /// Shortest and longest time, the latter excluded.
        uniform: (Duration, Duration);
    }
}

impl Written<(Duration, Duration)> for Between {
    fn shape() -> Shape {
        Shape::Either(vec![Duration::shape(), HoldUniform::shape()])
    }
    fn read(value: &Value) -> Result<(Duration, Duration), Unfit> {
        match value {
            Value::Table(table) => <HoldUniform as Settings>::read(table).map(|hold| hold.uniform),
            time => Duration::read(time).map(|time| (time, time)),
        }
    }
    fn write(hold: &(Duration, Duration)) -> Value {
        match *hold {
            (least, most) if least == most => least.write(),
            uniform => Typed::write(&HoldUniform { uniform }),
        }
    }
}

/// Returns -m ln u.
pub(crate) fn exponential(mean: f64, u: f64) -> f64 {
    -mean * libm::log(u)
}

/// Returns x_m u^(-1/a).
pub fn pareto(shape: f64, min: f64, u: f64) -> f64 {
    min * libm::pow(u, -1.0 / shape)
}

/// Returns L (1 - u (1 - (L/H)^a))^(-1/a).
pub(crate) fn bounded_pareto(shape: f64, min: f64, max: f64, u: f64) -> f64 {
    min * libm::pow(1.0 - u * (1.0 - libm::pow(min / max, shape)), -1.0 / shape)
}

/// Returns (mu, sigma) of the lognormal distribution with this mean and standard deviation.
pub(crate) fn lognormal_parameters(mean: f64, sd: f64) -> (f64, f64) {
    let variance = libm::log(1.0 + (sd / mean) * (sd / mean));
    (libm::log(mean) - variance / 2.0, libm::sqrt(variance))
}

/// Returns e^(mu + sigma z).
pub(crate) fn lognormal(mean: f64, sd: f64, z: f64) -> f64 {
    let (mu, sigma) = lognormal_parameters(mean, sd);
    libm::exp(mu + sigma * z)
}

/// Returns a standard normal number from two uniform ones.
pub fn normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * PI * v)
}

/// Returns P(Z > x) for a standard normal Z.
fn normal_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

impl Size {
    /// Returns size number `index`: whole bytes, at least 1.
    pub fn draw(&self, stream: &mut Stream, index: u64) -> u64 {
        // Each size has two uniform numbers, whether it needs them or not: indices do not depend on the distribution.
        let u = stream.uniform_positive(2 * index);
        let bytes = match *self {
            Self::Fixed(bytes) => return bytes,
            Self::Exponential { mean } => exponential(mean as f64, u),
            Self::Pareto { shape, min } => pareto(shape, min as f64, u),
            Self::BoundedPareto { shape, min, max } => bounded_pareto(shape, min as f64, max as f64, u),
            Self::Lognormal { mean, sd } => lognormal(mean as f64, sd as f64, normal(u, stream.uniform(2 * index + 1))),
        };
        // Rounds to a whole size within the bounds, for any draw.
        libm::round(bytes).clamp(1.0, SIZE_MAX) as u64
    }

    /// Returns the mean, bytes.
    pub fn mean(&self) -> f64 {
        self.excess(0.0)
    }

    /// Returns the mean number of segments of `smss` bytes that a size fills.
    pub fn segments(&self, smss: u32) -> f64 {
        let smss = f64::from(smss);
        if let Self::Fixed(bytes) = *self {
            return libm::ceil(bytes as f64 / smss);
        }
        // E[ceil(S/m)] = sum over k of P(S > k m): the first terms one by one, the others by Euler and Maclaurin.
        let head: f64 = (1..HEAD).map(|k| self.tail(f64::from(k) * smss)).sum();
        let from = f64::from(HEAD) * smss;
        1.0 + head + self.excess(from) / smss + self.tail(from) / 2.0
    }

    /// Returns P(S > x).
    fn tail(&self, x: f64) -> f64 {
        match *self {
            Self::Fixed(bytes) => f64::from(u8::from(bytes as f64 > x)),
            Self::Exponential { mean } => libm::exp(-x / mean as f64),
            Self::Pareto { min, .. } if x <= min as f64 => 1.0,
            Self::Pareto { shape, min } => libm::pow(min as f64 / x, shape),
            Self::BoundedPareto { min, .. } if x <= min as f64 => 1.0,
            Self::BoundedPareto { max, .. } if x >= max as f64 => 0.0,
            Self::BoundedPareto { shape, min, max } => {
                let beyond = libm::pow(min as f64 / max as f64, shape);
                (libm::pow(min as f64 / x, shape) - beyond) / (1.0 - beyond)
            }
            Self::Lognormal { .. } if x <= 0.0 => 1.0,
            Self::Lognormal { mean, sd } => {
                let (mu, sigma) = lognormal_parameters(mean as f64, sd as f64);
                normal_tail((libm::log(x) - mu) / sigma)
            }
        }
    }

    /// Returns E[(S - x)+]: the integral of the tail.
    fn excess(&self, x: f64) -> f64 {
        match *self {
            Self::Fixed(bytes) => (bytes as f64 - x).max(0.0),
            Self::Exponential { mean } => mean as f64 * libm::exp(-x / mean as f64),
            Self::Pareto { shape, min } => {
                let from = x.max(min as f64);
                from - x + libm::pow(min as f64 / from, shape) * from / (shape - 1.0)
            }
            Self::BoundedPareto { shape, min, max } => {
                let (min, max) = (min as f64, max as f64);
                let from = x.max(min);
                if from >= max {
                    return 0.0;
                }
                let beyond = libm::pow(min / max, shape);
                let area = if shape == 1.0 {
                    min * libm::log(max / from)
                } else {
                    // Differences of powers, relative to the lower bound.
                    let power = |x: f64| libm::pow(x / min, 1.0 - shape);
                    min * (power(from) - power(max)) / (shape - 1.0)
                };
                from - x + (area - beyond * (max - from)) / (1.0 - beyond)
            }
            Self::Lognormal { mean, .. } if x <= 0.0 => mean as f64 - x,
            Self::Lognormal { mean, sd } => {
                let (mu, sigma) = lognormal_parameters(mean as f64, sd as f64);
                let d = (libm::log(x) - mu) / sigma;
                mean as f64 * normal_tail(d - sigma) - x * normal_tail(d)
            }
        }
    }
}

/// Terms that are added one by one.
const HEAD: u32 = 1000;
/// A petabyte: more than any run can send.
const SIZE_MAX: f64 = 1e15;

impl Wait {
    /// Returns time number `index`.
    pub fn draw(&self, stream: &mut Stream, index: u64) -> Duration {
        let u = stream.uniform_positive(index);
        match *self {
            Self::Constant(span) => span,
            Self::Exponential { mean } => Duration::from_secs_f64(exponential(mean.as_secs_f64(), u)),
            Self::Pareto { shape, mean } => {
                Duration::from_secs_f64(pareto(shape, mean.as_secs_f64() * (shape - 1.0) / shape, u))
            }
        }
    }

    /// Returns the mean.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Constant(mean) | Self::Exponential { mean } | Self::Pareto { mean, .. } => mean,
        }
    }
}

/// Returns the phases of a host's clocks, of the retransmission timer and of delayed ACKs. `draw` is the host's index
/// among those of `phases`.
pub fn clocks(config: &Config, phases: &mut Stream, draw: u64) -> [Duration; 2] {
    let mut drawn = |index, below: Duration| Duration::from_ps(phases.below(index, below.as_ps()));
    let retransmission = match config.rto.phase {
        ClockPhase::Random => drawn(2 * draw, config.rto.granularity),
        ClockPhase::At(phase) => phase,
    };
    let delayed_ack = match config.ack.timer {
        DelayTimer::FreeRunning { .. } => drawn(2 * draw + 1, config.ack.delay),
        DelayTimer::PerSegment => Duration::ZERO,
    };
    [retransmission, delayed_ack]
}

/// Returns the settings of connections that all belong to one host.
pub(crate) fn with_clocks(mut config: Config, [retransmission, delayed_ack]: [Duration; 2]) -> Config {
    config.rto.phase = ClockPhase::At(retransmission);
    if let DelayTimer::FreeRunning { phase } = &mut config.ack.timer {
        *phase = delayed_ack;
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    /// `docs/specs/traffic.md`, test 1.
    #[test]
    fn exponential_and_pareto_worked_cases() {
        near(exponential(2.0, 0.5), 1.386_294, 1e-6);
        near(pareto(1.5, 1000.0, 0.25), 2519.842, 1e-3);
        near(Size::Pareto { shape: 1.5, min: 1000 }.mean(), 3000.0, 1e-9);
    }

    /// Test 2.
    #[test]
    fn bounded_pareto_worked_case() {
        near(bounded_pareto(1.2, 1000.0, 1e6, 0.5), 1781.42, 5e-3);
        near(Size::BoundedPareto { shape: 1.2, min: 1000, max: 1_000_000 }.mean(), 4494.00, 5e-3);
    }

    /// Test 3, where the last two digits of sigma and mu are off: sigma^2 = ln(1 + (25 032 / 10 710)^2) = 1.866 057.
    #[test]
    fn lognormal_worked_case() {
        let (mu, sigma) = lognormal_parameters(10_710.0, 25_032.0);
        near(sigma, 1.366_037, 1e-6);
        near(mu, 8.345_909, 1e-5);
    }

    const SIZES: [Size; 5] = [
        Size::Fixed(100_000),
        Size::Exponential { mean: 20_000 },
        Size::Pareto { shape: 2.5, min: 5000 },
        Size::BoundedPareto { shape: 1.2, min: 1000, max: 1_000_000 },
        Size::Lognormal { mean: 10_710, sd: 25_032 },
    ];

    /// Means of many draws against the formulas, of sizes and of the segments that they fill.
    #[test]
    fn draws_have_the_means_of_their_formulas() {
        let n = 200_000;
        for size in SIZES {
            let mut stream = Stream::new(1, "flow/x", "size");
            let draws: Vec<f64> = (0..n).map(|i| size.draw(&mut stream, i) as f64).collect();
            for (values, expected) in [
                (draws.clone(), size.mean()),
                (draws.iter().map(|bytes| (bytes / 1460.0).ceil()).collect(), size.segments(1460)),
            ] {
                let mean = values.iter().sum::<f64>() / n as f64;
                let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
                near(mean, expected, 4.0 * (variance / n as f64).sqrt() + 1e-9);
            }
        }
    }

    /// The upper half of the draws lies above the median of the distribution.
    #[test]
    fn tails_are_those_of_the_draws() {
        for size in &SIZES[1..] {
            let mut stream = Stream::new(2, "flow/x", "size");
            for x in [1500.0, 7000.0, 30_000.0] {
                let above = (0..20_000).filter(|&i| size.draw(&mut stream, i) as f64 > x).count() as f64 / 20_000.0;
                near(above, size.tail(x), 0.015);
            }
        }
    }

    #[test]
    fn waits_have_their_means() {
        let mean = Duration::from_millis(1500);
        for wait in [Wait::Constant(mean), Wait::Exponential { mean }, Wait::Pareto { shape: 2.5, mean }] {
            let mut stream = Stream::new(1, "flow/x", "pause");
            let sum: f64 = (0..100_000).map(|i| wait.draw(&mut stream, i).as_secs_f64()).sum();
            near(sum / 1e5, 1.5, 0.03);
            assert_eq!(wait.mean(), mean);
        }
    }

    #[test]
    fn sizes_are_whole_and_at_least_one_byte() {
        let mut stream = Stream::new(1, "flow/x", "size");
        let size = Size::Exponential { mean: 1 };
        assert!((0..1000).all(|i| size.draw(&mut stream, i) >= 1));
    }
}
