//! Simulated time: integer picoseconds since the start of the scenario.
//!
//! A 64-byte acknowledgement at 100 Gbit/s lasts 5.12 ns, so nanoseconds would need a remainder on every link.
//! Picoseconds make the rounding error smaller than 0.02 % and the remainder unnecessary. 2^64 ps are 213 days.
//! Scenarios are checked against that before they run.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant, in picoseconds since the start of the scenario.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A span of time, in picoseconds. `Time - Time` is a `Duration`; `Time + Time` does not compile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

const PS_PER_S: u64 = 1_000_000_000_000;

impl Time {
    /// The start of the scenario.
    pub const ZERO: Self = Self(0);
    /// Later than any instant of a run; used for "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for output only (never for ordering).
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The span from `earlier` to `self`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * PS_PER_S)
    }

    /// The span nearest to `s` seconds; negative values and NaN give zero, too large ones [`Duration::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * PS_PER_S as f64).round() as u64)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * n`, or [`Duration::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// The distance between two spans.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    /// Saturates at [`Time::NEVER`].
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Panics in debug builds if `earlier` is later: time does not run backwards.
    fn sub(self, earlier: Self) -> Duration {
        debug_assert!(self.0 >= earlier.0, "time ran backwards: {self:?} - {earlier:?}");
        Duration(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        self.saturating_mul(n)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "{}", Duration(self.0))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The largest unit that gives a whole number, or a decimal fraction of it: `20 ms`, `1.5 s`.
/// [`crate::quantity`] reads back exactly what is written here.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, ps) = match self.0 {
            0 => ("s", PS_PER_S),
            ps if ps >= PS_PER_S => ("s", PS_PER_S),
            ps if ps >= 1_000_000_000 => ("ms", 1_000_000_000),
            ps if ps >= 1_000_000 => ("us", 1_000_000),
            ps if ps >= 1_000 => ("ns", 1_000),
            _ => ("ps", 1),
        };
        let (whole, rest) = (self.0 / ps, self.0 % ps);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        let width = ps.ilog10() as usize;
        let fraction = format!("{rest:0width$}");
        write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_exact_and_short() {
        assert_eq!(Duration::from_millis(20).to_string(), "20 ms");
        assert_eq!(Duration::from_millis(1500).to_string(), "1.5 s");
        assert_eq!(Duration::from_ps(1_234_567).to_string(), "1.234567 us");
        assert_eq!(Duration::ZERO.to_string(), "0 s");
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        assert_eq!(Time::from_ps(u64::MAX - 1) + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Duration::MAX * 2, Duration::MAX);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
    }
}
