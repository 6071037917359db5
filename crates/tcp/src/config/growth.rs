//! How the window starts and grows: parts that all loss-based congestion controls share.

use bentpipe_units::Duration;

/// What a congestion control's window grows by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Growth {
    /// What an ACK counts for.
    pub byte_counting: ByteCounting,
    /// How slow start grows the window and when it ends.
    pub slow_start: SlowStart,
    /// How much congestion avoidance adds in a round trip.
    pub increase: Increase,
    /// Whether a window that equals ssthresh is in slow start; RFC 5681 §3.1 allows both.
    pub slow_start_at_ssthresh: bool,
    /// Whether a loss leaves a whole number of segments.
    pub whole_segments: bool,
}

/// What an ACK counts for (RFC 3465, RFC 2760 §3.2.2 and §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ByteCounting {
    /// Slow start: the bytes it acknowledges, at most one segment; congestion avoidance: each ACK alike.
    #[default]
    Rfc5681,
    /// Each ACK alike, whatever it acknowledges.
    PerAck,
    /// The bytes it acknowledges, in slow start at most `limit` segments (L); one after a timeout.
    Abc {
        /// 1 or 2 (RFC 3465 §2.2 and §2.3).
        limit: u32,
    },
    /// The bytes it acknowledges, in slow start at most two segments; one after a timeout.
    Lbc,
    /// The bytes it acknowledges, without limit; one segment after a timeout.
    Ubc,
    /// The bytes it acknowledges, without limit, after a timeout as well.
    UbcPure,
}

impl ByteCounting {
    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc5681 => "rfc5681",
            Self::PerAck => "per-ack",
            Self::Abc { .. } => "abc",
            Self::Lbc => "lbc",
            Self::Ubc => "ubc",
            Self::UbcPure => "ubc-pure",
        }
    }
}

/// How slow start grows the window, and what ends it besides the threshold and losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SlowStart {
    /// Up to the threshold or the first loss (RFC 5681 §3.1).
    #[default]
    Standard,
    /// Above a window, at most half of it per round trip (RFC 3742).
    Limited {
        /// The window, bytes (max_ssthresh); at least two segments.
        max_ssthresh: u64,
    },
    /// The threshold is estimated from the spacing of the first ACKs (J. Hoe 1996).
    Hoe(Hoe),
    /// Ends when ACKs come as a long train or late (S. Ha and I. Rhee 2008).
    HyStart(HyStart),
    /// Slows down when ACKs come late, and goes back if that was a mistake (RFC 9406).
    HyStartPlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Limited { .. } => "limited",
            Self::Hoe(_) => "hoe",
            Self::HyStart(_) => "hystart",
            Self::HyStartPlusPlus(_) => "hystart++",
        }
    }
}

/// Hoe's estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hoe {
    /// The estimate is the median of this many pairs of ACKs; 1: the first pair alone (ns-2). At most [`Self::PAIRS_MAX`].
    pub pairs: u32,
    /// ACKs that are not further apart show the clock, not the path.
    pub resolution: Duration,
}

impl Hoe {
    /// The most pairs that one estimate takes.
    pub const PAIRS_MAX: u32 = 9;
}

/// HyStart; where the paper and Linux differ, the defaults are those of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStart {
    /// Smaller windows, bytes, do not end slow start.
    pub low_window: u64,
    /// Which signs end slow start.
    pub detect: HyStartDetect,
    /// ACKs that are not further apart are one train.
    pub ack_spacing: Duration,
    /// A train ends slow start when it is longer than the smallest round-trip time divided by this.
    pub train_divisor: u32,
    /// What the delay of a round is compared with.
    pub baseline: HyStartBaseline,
    /// Samples of a round from which its delay is taken.
    pub samples: u32,
    /// The delay that ends slow start: the base divided by this,
    pub delay_divisor: u32,
    /// but not less than this,
    pub delay_min: Duration,
    /// and not more than this.
    pub delay_max: Duration,
}

bentpipe_units::words! {
    /// Which signs end slow start.
    pub enum HyStartDetect {
        /// Long trains of ACKs, and late ACKs.
        "both" => Both,
        /// Long trains of ACKs.
        "ack-train" => AckTrain,
        /// Late ACKs.
        "delay" => Delay,
    }
}

bentpipe_units::words! {
    /// What the delay of a round is compared with.
    pub enum HyStartBaseline {
        /// The smallest round-trip time of the connection (Linux).
        "connection" => Connection,
        /// The smallest round-trip time of the round before (Ha and Rhee 2008).
        "last-round" => LastRound,
    }
}

/// HyStart++ (RFC 9406 §4.3 names the constants).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartPlusPlus {
    /// MIN_RTT_THRESH.
    pub min_rtt_threshold: Duration,
    /// MAX_RTT_THRESH.
    pub max_rtt_threshold: Duration,
    /// MIN_RTT_DIVISOR.
    pub min_rtt_divisor: u32,
    /// N_RTT_SAMPLE.
    pub rtt_samples: u32,
    /// CSS_GROWTH_DIVISOR.
    pub css_growth_divisor: u32,
    /// CSS_ROUNDS.
    pub css_rounds: u32,
    /// L: what an ACK counts for at most, segments.
    pub limit: u32,
}

/// How much congestion avoidance adds in a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Increase {
    /// One segment (RFC 5681 §3.1).
    #[default]
    Standard,
    /// (RTT / reference)^2 segments: the rate grows alike whatever the round-trip time (S. Floyd 1991, RFC 2760 §3.6).
    ConstantRate {
        /// Where that is one segment.
        reference_rtt: Duration,
    },
    /// `k` segments on long paths, one on others (T. Henderson et al. 1998, RFC 2760 §3.6).
    ByK {
        /// Segments in a round trip.
        k: u32,
        /// Longer paths are long.
        above_rtt: Duration,
    },
}

impl Increase {
    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ConstantRate { .. } => "constant-rate",
            Self::ByK { .. } => "by-k",
        }
    }
}

bentpipe_units::words! {
    /// What becomes of a congestion window that is not used.
    pub enum CwndValidation {
        /// It grows whether it is used or not (ns-2).
        "off" => Off,
        /// It grows only while it limits sending, or slow start uses half of it.
        "if-used" => IfUsed,
        /// The same, and it shrinks towards what is used, by half in each timeout of idle time (RFC 2861).
        "rfc2861" => Rfc2861,
        /// It is kept for five minutes, and a loss meanwhile falls back to what was used (RFC 7661).
        "rfc7661" => Rfc7661,
    }
}

impl Default for Hoe {
    fn default() -> Self {
        Self { pairs: 3, resolution: Duration::from_micros(1) }
    }
}

impl HyStart {
    /// Linux's constants, for segments of `smss` bytes.
    pub const fn new(smss: u32) -> Self {
        Self {
            low_window: 16 * smss as u64,
            detect: HyStartDetect::Both,
            ack_spacing: Duration::from_millis(2),
            train_divisor: 2,
            baseline: HyStartBaseline::Connection,
            samples: 8,
            delay_divisor: 8,
            delay_min: Duration::from_millis(4),
            delay_max: Duration::from_millis(16),
        }
    }
}

impl Default for HyStartPlusPlus {
    fn default() -> Self {
        Self {
            min_rtt_threshold: Duration::from_millis(4),
            max_rtt_threshold: Duration::from_millis(16),
            min_rtt_divisor: 8,
            rtt_samples: 8,
            css_growth_divisor: 4,
            css_rounds: 5,
            limit: 8,
        }
    }
}
