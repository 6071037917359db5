//! What a link does to packets over time: profiles, outages, errors.

use bentpipe_units::settings::{Bytes, Chance};
use bentpipe_units::{kinds, settings, words, Duration, Time};

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile<T> {
    /// The same for the whole run.
    Constant(T),
    /// Changes at points in time.
    Points {
        /// (instant, value), strictly increasing, the first at zero.
        points: Vec<(Time, T)>,
        /// Whether values between points are interpolated (delays only) or hold until the next.
        linear: bool,
        /// Start again after this long.
        period: Option<Duration>,
    },
}

/// When a link carries nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// When it is down.
    pub when: Downtimes,
    /// Drop what waits in the queue when the link goes down, instead of keeping it.
    pub flush: bool,
}

/// When a link is down.
#[derive(Clone, Debug, PartialEq)]
pub enum Downtimes {
    /// At set times.
    Spans {
        /// (start, end), increasing, not overlapping.
        spans: Vec<(Time, Time)>,
        /// Repeat after this long.
        period: Option<Duration>,
    },
    /// Up and down for exponential times.
    Random {
        /// Mean time up.
        mean_up: Duration,
        /// Mean time down.
        mean_down: Duration,
    },
}

/// What corrupts packets (E. Gilbert 1960, E. Elliott 1963; ns-2's units).
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorModel {
    /// Nothing.
    None,
    /// Independent errors with this probability per unit.
    Independent {
        /// What the rate counts.
        unit: ErrorUnit,
        /// Probability per unit, 0 to 1.
        rate: f64,
    },
    /// Two states; independent errors in each.
    GilbertElliott {
        /// What the rates count.
        unit: ErrorUnit,
        /// How long the states last.
        stay: Stay,
        /// Error probability per unit in the good state.
        rate_good: f64,
        /// Error probability per unit in the bad state.
        rate_bad: f64,
    },
    /// Independent errors whose rate changes in steps.
    Profile {
        /// What the rates count.
        unit: ErrorUnit,
        /// Probability per unit over time.
        rates: Profile<f64>,
    },
    /// Exactly these packets.
    Arrivals {
        /// Their indices (0: the first that the link sends), increasing.
        list: Vec<u64>,
        /// Start again after this many packets.
        period: Option<u64>,
    },
}

impl<T: Copy> Profile<T> {
    /// Its values, in time.
    pub(crate) fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some(*value), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, value)| *value))
    }

    /// Its points, in time; a constant has one, at the start.
    pub(crate) fn points(&self) -> impl Iterator<Item = (Time, T)> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some((Time::ZERO, *value)), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().copied())
    }

    /// After how long it starts again.
    pub(crate) fn period(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Points { period, .. } => *period,
        }
    }
}

impl ErrorModel {
    /// Why bytes of these errors cannot be spread, if so.
    pub(crate) fn is_of_packets(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Arrivals { .. } => Some("this model lists packets"),
            Self::GilbertElliott { stay: Stay::Packets { .. }, .. } => Some("the states of this model count packets"),
            Self::Independent { unit, .. } | Self::GilbertElliott { unit, .. } | Self::Profile { unit, .. } => {
                (*unit == ErrorUnit::Packet).then_some("the rates of this model are those of packets")
            }
        }
    }
}

/// How long the two states of a channel last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stay {
    /// Exponential times.
    Time {
        /// Mean of the good state.
        good: Duration,
        /// Mean of the bad state.
        bad: Duration,
    },
    /// Geometric numbers of packets.
    Packets {
        /// Mean of the good state, in [`MILLIONTHS`] of a packet; at least one packet.
        good: u64,
        /// Mean of the bad state.
        bad: u64,
    },
}

/// Parts of a packet in which means are counted.
pub const MILLIONTHS: u64 = 1_000_000;

words! {
    /// What an error rate counts: a packet of L bytes on the link is hit with probability 1 - (1-r)^(8L), 1 - (1-r)^L, or r.
    pub enum ErrorUnit {
        /// Per bit, headers and framing included.
        "bit" => Bit,
        /// Per byte, headers and framing included.
        "byte" => Byte,
        /// Per packet.
        "packet" => Packet,
    }
}

words! {
    /// What an error does to a packet.
    pub enum Effect {
        /// It arrives corrupted: routers and hosts drop it, a bent pipe repeats it.
        "corrupt" => Corrupt,
        /// It does not arrive.
        "lose" => Lose,
    }
}

settings! {
    /// A delay that varies, beside the propagation delay. A value holds for `every`, then the next one is drawn. Packets never overtake: a packet that would arrive before the one ahead of it arrives together with it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Jitter {
        /// Distribution of the values.
        delay: Spread;
        /// Time for which a value holds.
        every: Duration;
        /// An instant at which a value ends, counted from the start of the run.
        offset: Duration = Duration::ZERO;
        /// Time after which the correlation of values has fallen to 1/e. Without it, values are independent.
        correlation: Duration = Duration::ZERO;
        /// Whether both directions of the link have the same values, as where a path becomes longer. Otherwise each draws its own.
        both_ways: bool = false;
    }
}

kinds! {
    /// Distribution of a delay.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Spread as "Spread" {
        /// All delays of a range alike.
        "uniform" => Uniform {
            /// Shortest.
            from: Duration = Duration::ZERO;
            /// Longest.
            to: Duration;
        };
        /// Many short delays and few long ones.
        "exponential" => Exponential {
            /// Mean.
            mean: Duration;
        };
        /// Straight lines between measured quantiles. Below the first and above the last there is nothing.
        "quantiles" => Quantiles {
            /// Shares of the time, rising, each with the delay that is not exceeded in it: `["95 %", "12 ms"]`.
            points: Vec<(Chance, Duration)>, [1];
        };
    }
}

impl Spread {
    /// The delay that is not exceeded in this share of the time, 0 to 1.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
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
    /// A block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, for two blocks of delay. It needs errors per bit or byte that do not count packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Interleave {
        /// How long a block takes to send. Errors are spread over it, and the delay grows by two of it.
        span: Duration;
        /// Length of a codeword, check bytes included; at most 255 B.
        codeword: u64 as Bytes = 255, "CCSDS 131.0-B, Reed-Solomon (255, 223)";
        /// Wrong bytes that a codeword survives; it has twice as many check bytes. The link's rate is that of packets, without them.
        corrects: u64 as Bytes = 16, "CCSDS 131.0-B, Reed-Solomon (255, 223)";
    }
}

settings! {
    /// Selective repeat on the hop, below IP: a packet that arrives damaged is asked for at once, and sent again ahead of what waits. One that is damaged each time is given up. Reports of damage take as long back as packets take there, and do not get lost; the queue for copies has no limit (RFC 3366).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Arq {
        /// How often a packet is sent again at most; 3 is usual on short links, 1 on links over GEO.
        retransmissions: u32, [1, 16];
        /// What becomes of packets behind one that is sent again.
        order: Order = Order::InOrder, "usual; RFC 3366 discusses both";
        /// Whether a packet is decoded from all of its copies (hybrid ARQ), which needs `coding`.
        combining: Combining = Combining::None;
    }
}

settings! {
    /// The largest packet that a link takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Mtu {
        /// Headers included.
        size: u64 as Bytes;
        /// What becomes of a larger one.
        oversize: Oversize = Oversize::Report, "RFC 1191 §4";
    }
}

words! {
    /// What becomes of a packet that is larger than a link takes.
    pub enum Oversize {
        /// It is dropped in front of the link, and reported to its sender (ICMP). Simulated datagrams are dropped alone.
        "report" => Report,
        /// It is dropped, and nobody told: a black hole.
        "drop" => Drop,
        /// It crosses in fragments with a header of 20 B each, and is whole again behind the link; with one of them it is lost.
        "fragment" => Fragment,
    }
}

impl Mtu {
    /// The fragments of a packet (RFC 791 §3.2): how many have the largest size, that size, and the last one's.
    pub(crate) fn fragments(&self, size: u64) -> (u64, u64, u64) {
        if size <= self.size || self.oversize != Oversize::Fragment {
            return (0, 0, size);
        }
        let data = (self.size - IP_HEADER) / 8 * 8;
        let full = (size - IP_HEADER - 1) / data;
        (full, data + IP_HEADER, size - full * data)
    }
}

/// Bytes, without options.
const IP_HEADER: u64 = 20;

words! {
    /// What becomes of copies that arrived damaged.
    pub enum Combining {
        /// They are thrown away: each copy is decoded alone.
        "none" => None,
        /// Copies are the same symbols, and their signals add up (Chase 1985).
        "chase" => Chase,
        /// Each copy has other symbols of a longer code, and what they say adds up (incremental redundancy). With DVB-S2 only.
        "incremental" => Incremental,
    }
}

words! {
    /// What becomes of packets behind one that a link sends again.
    pub enum Order {
        /// They wait for it at the far end: packets leave the link in the order in which they came.
        "in-order" => InOrder,
        /// They go on, and it arrives behind them.
        "free" => Free,
    }
}

impl Interleave {
    /// What it adds to the propagation delay: a block fills up before it is sent, and has arrived before it is read
    /// (B. Sklar, Digital Communications, 2nd ed. 2001, chapter 8: 2MN symbol times).
    pub(crate) fn delay(&self) -> Duration {
        self.span * 2
    }

    /// Whether a packet meets anything else than without it.
    pub(crate) fn does_something(&self) -> bool {
        self.span > Duration::ZERO || self.corrects > 0
    }
}
