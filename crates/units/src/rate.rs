//! Bit rates.

use crate::time::Duration;
use std::fmt;

/// A bit rate in whole bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

const PS_PER_S: u128 = 1_000_000_000_000;

impl Rate {
    /// Creates a rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Returns the rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the transmission time of `bytes` at this rate, rounded up to a picosecond (the only place where
    /// transmission times are rounded). [`Duration::MAX`] for a rate of zero.
    pub const fn time_to_send(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // 8 * 10^12 * bytes fits 64 bits for anything the size of a packet.
        if bytes < 2_000_000 {
            return Duration::from_ps((bytes * 8_000_000_000_000).div_ceil(self.0));
        }
        let ps = (bytes as u128 * 8 * PS_PER_S).div_ceil(self.0 as u128);
        if ps > u64::MAX as u128 {
            return Duration::MAX;
        }
        Duration::from_ps(ps as u64)
    }

    /// Returns the bytes that fit into `span` at this rate, rounded down.
    pub const fn bytes_in(self, span: Duration) -> u64 {
        (self.0 as u128 * span.as_ps() as u128 / (8 * PS_PER_S)) as u64
    }
}

/// Prints `10 Mbit/s`, `64 kbit/s`: the largest unit with at most three decimals, otherwise bit/s.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, factor) in [("Gbit/s", 1_000_000_000u64), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)] {
            let step = factor / 1000;
            if self.0 >= factor && self.0 % step == 0 {
                let (whole, milli) = (self.0 / factor, self.0 % factor / step);
                if milli == 0 {
                    return write!(f, "{whole} {unit}");
                }
                return write!(f, "{whole}.{} {unit}", format!("{milli:03}").trim_end_matches('0'));
            }
        }
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sending_time_is_exact_or_rounded_up() {
        // 1500 B at 2.048 Mbit/s take 5.859375 ms.
        assert_eq!(Rate::from_bps(2_048_000).time_to_send(1500), Duration::from_ps(5_859_375_000));
        assert_eq!(Rate::from_bps(3).time_to_send(1), Duration::from_ps(2_666_666_666_667));
        assert_eq!(Rate::from_bps(0).time_to_send(1), Duration::MAX);
        assert_eq!(Rate::from_bps(1).time_to_send(u64::MAX), Duration::MAX);
    }

    #[test]
    fn bytes_in_a_geo_round_trip_are_the_bandwidth_delay_product() {
        assert_eq!(Rate::from_bps(100_000_000).bytes_in(Duration::from_millis(510)), 6_375_000);
    }

    #[test]
    fn display_uses_the_unit_people_use() {
        assert_eq!(Rate::from_bps(10_000_000).to_string(), "10 Mbit/s");
        assert_eq!(Rate::from_bps(2_048_000).to_string(), "2.048 Mbit/s");
        assert_eq!(Rate::from_bps(1_234_567).to_string(), "1234.567 kbit/s");
        assert_eq!(Rate::from_bps(7).to_string(), "7 bit/s");
    }
}
