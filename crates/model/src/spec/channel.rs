//! Effects of a link on packets over time: profiles, outages, jitter.

use super::ratio;
use bentpipe_units::settings::{Bytes, Chance};
use bentpipe_units::{kinds, settings, words, Duration, Rate, Time};

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile<T> {
    /// One value for the whole run.
    Constant(T),
    /// Changes at points in time.
    Points {
        /// (instant, value), strictly increasing, the first at zero.
        points: Vec<(Time, T)>,
        /// Whether values between points are interpolated (delays only) or hold until the next.
        linear: bool,
        /// Period after which it restarts.
        period: Option<Duration>,
    },
}

/// Outages of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// Times of the outages.
    pub when: Downtimes,
    /// Whether an outage drops the queue instead of keeping it.
    pub flush: bool,
}

/// Times of outages.
#[derive(Clone, Debug, PartialEq)]
pub enum Downtimes {
    /// Fixed times.
    Spans {
        /// (start, end), increasing, not overlapping.
        spans: Vec<(Time, Time)>,
        /// Period after which they repeat.
        period: Option<Duration>,
    },
    /// Exponential times up and down.
    Random {
        /// Mean time up.
        mean_up: Duration,
        /// Mean time down.
        mean_down: Duration,
    },
}

impl<T> Profile<T> {
    /// Returns the number of its changes in a run.
    pub fn changes(&self, run: Duration) -> f64 {
        match self {
            Self::Constant(_) => 0.0,
            Self::Points { points, period, .. } => rounds(points.len(), *period, run),
        }
    }
}

/// Returns the number of changes in a run: `each` in every period, or in the whole run.
pub fn rounds(each: usize, period: Option<Duration>, run: Duration) -> f64 {
    each as f64 * period.map_or(1.0, |period| ratio(run, period).max(1.0))
}

impl<T: Copy> Profile<T> {
    /// Returns its values, in order of time.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some(*value), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, value)| *value))
    }

    /// Returns its points, in order of time. A constant has one, at the start.
    pub fn points(&self) -> impl Iterator<Item = (Time, T)> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some((Time::ZERO, *value)), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().copied())
    }

    /// Returns the period after which it restarts.
    pub fn period(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Points { period, .. } => *period,
        }
    }
}

impl Profile<Duration> {
    /// Returns the largest delay at any time.
    pub fn largest(&self) -> Duration {
        self.values().max().unwrap_or(Duration::ZERO)
    }

    /// Returns the smallest delay at any time.
    pub fn least(&self) -> Duration {
        self.values().min().unwrap_or(Duration::ZERO)
    }
}

impl Profile<Rate> {
    /// Returns the largest rate at any time.
    pub fn largest(&self) -> Rate {
        self.values().max().unwrap_or(Rate::from_bps(0))
    }

    /// Returns the largest mean rate over any time of this length. Without a length, it is the largest rate: a trace of
    /// milliseconds has peaks that no queue or load should be measured by.
    pub(crate) fn largest_over(&self, length: Duration) -> Rate {
        let Self::Points { points, period, .. } = self else { return self.largest() };
        if length == Duration::ZERO {
            return self.largest();
        }
        let instants = points.iter().map(|&(at, _)| at.as_ps());
        let ends = instants.skip(1).chain([period.map_or(u64::MAX, Duration::as_ps)]);
        // Bits times picoseconds per second before each point.
        let mut before = Vec::with_capacity(points.len());
        let mut whole = 0_u128;
        for (&(at, rate), end) in points.iter().zip(ends) {
            before.push(whole);
            whole += u128::from(rate.as_bps()) * u128::from(end.saturating_sub(at.as_ps()));
        }
        let within = |at: u64| {
            let place = points.partition_point(|point| point.0.as_ps() <= at) - 1;
            before[place] + u128::from(points[place].1.as_bps()) * u128::from(at - points[place].0.as_ps())
        };
        let until = |at: u64| match period {
            Some(period) => whole * u128::from(at / period.as_ps()) + within(at % period.as_ps()),
            None => within(at),
        };
        // The largest one begins or ends at a point.
        let length = length.as_ps();
        let starts = points.iter().map(|point| point.0.as_ps());
        let late = period.map_or(0, |period| period.as_ps().saturating_mul(length / period.as_ps() + 1));
        let starts = starts.clone().chain(starts.filter_map(|at| (at + late).checked_sub(length)));
        let most = starts.map(|at| until(at.saturating_add(length)) - until(at)).max().unwrap_or(0);
        Rate::from_bps(u64::try_from(most / u128::from(length)).unwrap_or(u64::MAX))
    }
}

settings! {
    /// Varying delay in addition to the propagation delay. A value holds for `every`, then the next one is drawn.
    /// Packets never overtake: a packet that would arrive before the one ahead of it arrives together with it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Jitter {
        /// Distribution of the values.
        delay: Spread;
        /// Time for which a value holds.
        every: Duration;
        /// Instant when a value ends, from the start of the run.
        offset: Duration = Duration::ZERO;
        /// Time after which the correlation of the normal process behind the values has fallen to 1/e; that of uniform
        /// and exponential values falls a little faster. Default: values are independent.
        correlation: Duration = Duration::ZERO;
        /// Whether both directions of the link have the same values, as when a path becomes longer. Otherwise each
        /// draws separately.
        both_ways: bool = false;
    }
}

kinds! {
    /// Distribution of a delay.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Spread as "Spread", "a distribution" {
        /// Uniform distribution: all delays of a range are equally likely.
        "uniform" => Uniform {
            /// Shortest.
            from: Duration = Duration::ZERO;
            /// Longest.
            to: Duration;
        };
        /// Exponential distribution: many short delays and few long ones.
        "exponential" => Exponential {
            /// Mean.
            mean: Duration;
        };
        /// Linear interpolation between measured quantiles, without delays below the first or above the last.
        "quantiles" => Quantiles {
            /// Pairs of a share of the time and the delay that is not exceeded in it, increasing: `["95 %", "12 ms"]`.
            points: Vec<(Chance, Duration)>, [1];
        };
    }
}

impl Spread {
    /// Returns the delay that is not exceeded in this share of the time, 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        match self {
            Self::Uniform { from, to } => *from + part_of(to.saturating_sub(*from), share),
            Self::Exponential { mean } => part_of(*mean, -libm::log(1.0 - share.min(1.0 - 1e-12))),
            Self::Quantiles { points } => {
                let next = points.partition_point(|point| point.0 .0 < share);
                let (Some(below), Some(above)) = (points.get(next.wrapping_sub(1)), points.get(next)) else {
                    return points.get(next).or(points.last()).map_or(Duration::ZERO, |point| point.1);
                };
                let part = (share - below.0 .0) / (above.0 .0 - below.0 .0);
                below.1 + part_of(above.1.saturating_sub(below.1), part)
            }
        }
    }
}

fn part_of(whole: Duration, part: f64) -> Duration {
    Duration::from_ps((whole.as_ps() as f64 * part) as u64)
}

settings! {
    /// Block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, at
    /// the cost of two blocks of delay. It needs errors per bit or byte that do not count packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Interleave {
        /// Transmission time of a block. Errors are spread over it, and the delay grows by two of it.
        span: Duration;
        /// Length of a codeword, check bytes included; at most 255 B.
        codeword: u64 as Bytes = 255, "CCSDS 131.0-B, Reed-Solomon (255, 223)";
        /// Wrong bytes that a codeword survives. It has twice as many check bytes. The link's rate is that of packets,
        /// without them.
        corrects: u64 as Bytes = 16, "CCSDS 131.0-B, Reed-Solomon (255, 223)";
    }
}

settings! {
    /// Selective repeat on the hop, below IP: a damaged packet is requested immediately, and retransmitted ahead of
    /// waiting packets. A packet that is damaged each time is given up. Reports of damage take the propagation delay
    /// and do not get lost. The queue for copies has no limit (RFC 3366).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Arq {
        /// Largest number of retransmissions of a packet. 3 is usual on short links, 1 on links over GEO.
        retransmissions: u32, [1, 16];
        /// Order of packets behind a retransmitted one.
        order: Order = Order::InOrder, "usual; RFC 3366 discusses both";
        /// Whether a packet is decoded from all of its copies (hybrid ARQ), which needs `coding`.
        combining: Combining = Combining::None;
    }
}

settings! {
    /// Largest packet of a link.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Mtu {
        /// Largest size, headers included.
        size: u64 as Bytes;
        /// Treatment of a larger packet.
        oversize: Oversize = Oversize::Report, "RFC 1191 §4";
    }
}

words! {
    /// Treatment of a packet above the MTU of a link.
    pub enum Oversize {
        /// It is dropped in front of the link, and reported to its sender (ICMP). Simulated datagrams are dropped
        /// without a report.
        "report" => Report,
        /// It is dropped without a report: a black hole.
        "drop" => Drop,
        /// It crosses in fragments with a header of 20 B each, and is reassembled behind the link. The loss of a
        /// fragment loses it.
        "fragment" => Fragment,
    }
}

impl Mtu {
    /// Returns the fragments of a packet (RFC 791 §3.2): the number of the largest size, that size, and the last one's.
    pub fn fragments(&self, size: u64) -> (u64, u64, u64) {
        if size <= self.size || self.oversize != Oversize::Fragment {
            return (0, 0, size);
        }
        let data = (self.size - IP_HEADER) / 8 * 8;
        // The rest is the last fragment as soon as it fits, which need not be a multiple of 8 B.
        let full = (size - self.size).div_ceil(data);
        (full, data + IP_HEADER, size - full * data)
    }
}

/// Header, bytes, without options.
const IP_HEADER: u64 = 20;

words! {
    /// Treatment of copies that arrived damaged.
    pub enum Combining {
        /// They are discarded: each copy is decoded separately.
        "none" => None,
        /// Copies are the same symbols, and their signals add up (Chase 1985).
        "chase" => Chase,
        /// Each copy has other symbols of a longer code, and their information adds up (incremental redundancy). Only
        /// with DVB-S2.
        "incremental" => Incremental,
    }
}

words! {
    /// Order of packets behind a retransmitted one.
    pub enum Order {
        /// They wait for it at the far end: packets leave the link in the order in which they entered.
        "in-order" => InOrder,
        /// They continue, and it arrives behind them.
        "free" => Free,
    }
}

impl Interleave {
    /// Returns its addition to the propagation delay: a block fills before it is sent, and arrives completely before it
    /// is read (B. Sklar, Digital Communications, 2nd ed. 2001, chapter 8: 2MN symbol times).
    pub fn delay(&self) -> Duration {
        self.span * 2
    }

    /// Whether it has any effect on packets.
    pub fn does_something(&self) -> bool {
        self.span > Duration::ZERO || self.corrects > 0
    }
}
