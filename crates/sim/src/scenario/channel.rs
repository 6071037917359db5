//! What a link does to packets over time: profiles, outages, errors.

use bentpipe_units::{Duration, Time};

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
    /// (start, end), increasing, not overlapping.
    pub spans: Vec<(Time, Time)>,
    /// Repeat after this long.
    pub period: Option<Duration>,
    /// Drop what waits in the queue when the link goes down, instead of keeping it.
    pub flush: bool,
}

/// What corrupts packets, `specs: error-models`.
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
    /// Two states with exponential durations in time; independent errors in each.
    GilbertElliott {
        /// What the rates count.
        unit: ErrorUnit,
        /// Mean duration of the good state.
        mean_good: Duration,
        /// Mean duration of the bad state.
        mean_bad: Duration,
        /// Error probability per unit in the good state.
        rate_good: f64,
        /// Error probability per unit in the bad state.
        rate_bad: f64,
    },
    /// The packets with these indices (0: the first that the link sends), increasing.
    Arrivals(Vec<u64>),
}

bentpipe_units::words! {
    /// What an error rate counts: a packet of L bytes is hit with probability 1 - (1-r)^(8L), 1 - (1-r)^L, or r.
    pub enum ErrorUnit {
        /// Per bit, headers included.
        "bit" => Bit,
        /// Per byte, headers included.
        "byte" => Byte,
        /// Per packet.
        "packet" => Packet,
    }
}
