//! Error models of links, and the facts that a scenario needs of each.

use super::{ratio, Profile};
use bentpipe_units::{words, Duration};

/// Error model of a link (E. Gilbert 1960, E. Elliott 1963; ns-2's units).
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorModel {
    /// No errors.
    None,
    /// Independent errors with this probability per unit.
    Independent {
        /// Unit of the rate.
        unit: ErrorUnit,
        /// Probability per unit, 0 to 1.
        rate: f64,
    },
    /// Two states; independent errors in each.
    GilbertElliott {
        /// Unit of the rates.
        unit: ErrorUnit,
        /// Durations of the states.
        stay: Stay,
        /// Error probability per unit in the good state.
        rate_good: f64,
        /// Error probability per unit in the bad state.
        rate_bad: f64,
    },
    /// Independent errors whose rate changes in steps.
    Profile {
        /// Unit of the rates.
        unit: ErrorUnit,
        /// Probability per unit over time.
        rates: Profile<f64>,
    },
    /// Losses of all packets in bursts of exponential time: see `Bursts`.
    Bursts(Bursts),
    /// Independent losses of the blocks of a code: see `loss_in_blocks`.
    Blocks {
        /// Probability per block over time.
        rates: Profile<f64>,
    },
    /// Errors at exactly these packets.
    Arrivals {
        /// Indices of the packets (0: the first that the link sends), increasing.
        list: Vec<u64>,
        /// Number of packets after which it restarts.
        period: Option<u64>,
    },
}

impl ErrorModel {
    /// Returns the reason why bytes with these errors cannot be interleaved, if any.
    pub fn is_of_packets(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Arrivals { .. } => Some("this model lists packets"),
            Self::Bursts(_) => Some("this model loses packets"),
            Self::Blocks { .. } => Some("the rates of this model are those of blocks"),
            Self::GilbertElliott { stay: Stay::Packets { .. }, .. } => Some("the states of this model count packets"),
            Self::Independent { unit, .. } | Self::GilbertElliott { unit, .. } | Self::Profile { unit, .. } => {
                (*unit == ErrorUnit::Packet).then_some("the rates of this model are those of packets")
            }
        }
    }

    /// Whether it draws from the seed. A rate of 0 hits no packet, a rate of 1 every packet.
    pub(crate) fn is_random(&self) -> bool {
        let is_chance = |rate: f64| rate > 0.0 && rate < 1.0;
        match self {
            Self::None | Self::Arrivals { .. } => false,
            Self::Independent { rate, .. } => is_chance(*rate),
            Self::GilbertElliott { .. } => true,
            Self::Profile { rates, .. } | Self::Blocks { rates } | Self::Bursts(Bursts { rates, .. }) => {
                rates.values().any(is_chance)
            }
        }
    }

    /// Returns the number of its changes in a time.
    pub fn changes(&self, time: Duration) -> f64 {
        match self {
            Self::None | Self::Independent { .. } | Self::Arrivals { .. } => 0.0,
            Self::GilbertElliott { stay: Stay::Packets { .. }, .. } => 0.0,
            Self::GilbertElliott { stay: Stay::Time { good, bad }, .. } => 2.0 * ratio(time, *good + *bad),
            Self::Bursts(bursts) => 2.0 * ratio(time, bursts.mean) * bursts.most + bursts.rates.changes(time),
            Self::Profile { rates, .. } | Self::Blocks { rates } => rates.changes(time),
        }
    }

    /// Returns the number of its points and indices in memory.
    pub fn entries(&self) -> usize {
        match self {
            Self::None | Self::Independent { .. } | Self::GilbertElliott { .. } => 0,
            Self::Profile { rates, .. } | Self::Blocks { rates } | Self::Bursts(Bursts { rates, .. }) => {
                rates.values().count()
            }
            Self::Arrivals { list, .. } => list.len(),
        }
    }
}

/// Bursts of losses. They begin as often as `most` asks for. Where the share is lower, whole bursts are left out by
/// chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursts {
    /// Mean time of a burst.
    pub mean: Duration,
    /// Largest share, 0 to 1. It does not depend on the run, so that a longer run begins as a shorter one.
    pub most: f64,
    /// Share of the time that is lost, up to `most`.
    pub rates: Profile<f64>,
}

impl Bursts {
    /// Returns the mean times between bursts and in a burst, at the largest share.
    pub fn stays(&self) -> [Duration; 2] {
        let between = self.mean.as_secs_f64() * (1.0 / self.most - 1.0);
        [Duration::from_secs_f64(between.max(0.0)), self.mean]
    }
}

/// Bits of packets in a block of a code.
pub(crate) const BLOCK_BITS: f64 = 1024.0;

/// Returns the probability that a packet of `bytes` is lost, if blocks are lost with probability `lost`. It begins at any
/// bit of a block, and needs all blocks that it touches.
pub fn loss_in_blocks(lost: f64, bytes: u64) -> f64 {
    let crossed = (8 * bytes).saturating_sub(1) as f64 / BLOCK_BITS;
    let whole = libm::floor(crossed);
    // It touches 1 + whole blocks, and another one if it begins late in its first.
    -libm::expm1((1.0 + whole) * libm::log1p(-lost) + libm::log1p(-lost * (crossed - whole)))
}

/// Durations of the two states of a channel.
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

/// Unit of means of packets: parts of a packet.
pub const MILLIONTHS: u64 = 1_000_000;

words! {
    /// Unit of an error rate. A packet of L bytes on the link is hit with probability 1 - (1-r)^(8L), 1 - (1-r)^L, or
    /// r.
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
    /// Effect of an error on a packet.
    pub enum Effect {
        /// Corruption: routers and hosts drop it, a bent pipe repeats it.
        "corrupt" => Corrupt,
        /// Erasure: it does not arrive.
        "lose" => Lose,
    }
}
