//! How the window starts and grows: parts that all loss-based congestion controls share.

use bentpipe_units::{amounts, kinds, settings, words, Duration};

settings! {
    /// What a congestion control's window grows by.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Growth {
        /// What an ACK counts for.
        byte_counting: ByteCounting = ByteCounting::Rfc5681, "RFC 5681 §3.1 eq. 2 and 3";
        /// How slow start grows the window, and what ends it.
        slow_start: SlowStart = SlowStart::Standard, "RFC 5681 §3.1";
        /// How much congestion avoidance adds to the window in a round trip.
        increase: Increase = Increase::Standard, "RFC 5681 §3.1";
        /// Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment at once.
        slow_start_at_ssthresh: bool = false, "RFC 5681 §3.1 allows both; Linux had true for long";
    } with {
        /// Whether a loss leaves a whole number of segments: `ssthresh_rounding` is `window`.
        whole_segments: bool = false;
    }
}

kinds! {
    /// What an ACK counts for (RFC 3465, RFC 2760 §3.2.2 and §3.2.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ByteCounting as "ByteCounting" {
        /// Slow start: the bytes it acknowledges, at most one segment; congestion avoidance: each ACK alike (RFC 5681).
        "rfc5681" => Rfc5681;
        /// Each ACK alike, whatever it acknowledges.
        "per-ack" => PerAck;
        /// Appropriate byte counting: the bytes it acknowledges, in slow start at most `limit` segments; at most one in the slow start after a timeout (RFC 3465).
        "abc" => Abc {
            /// L, segments.
            limit: u32 = 2, [1, 2], "RFC 3465 §2.3";
        };
        /// Limited byte counting: the bytes it acknowledges, in slow start at most two segments; at most one after a timeout (RFC 2760 §3.2.3).
        "lbc" => Lbc;
        /// Unlimited byte counting: the bytes it acknowledges; in the slow start after a timeout at most one segment (RFC 2760 §3.2.3).
        "ubc" => Ubc;
        /// Unlimited byte counting, after a timeout as well: one ACK may let a burst as long as the window go.
        "ubc-pure" => UbcPure;
    }
}

kinds! {
    /// How slow start grows the window, and what ends it besides the threshold and losses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SlowStart as "SlowStart" {
        /// Until the threshold or the first loss (RFC 5681).
        "standard" => Standard;
        /// Above a window, half of that window is added per round trip and no more (RFC 3742).
        "limited" => Limited {
            /// The window (max_ssthresh), at least two segments.
            max_ssthresh: WindowSize = WindowSize::Segments(100), "RFC 3742 §2";
        };
        /// The threshold is estimated once, from the spacing of the first ACKs: their rate times the round trip (Hoe 1996).
        "hoe" => Hoe(Hoe);
        /// Ends when ACKs come in a long train, or late (Ha and Rhee 2008).
        "hystart" => HyStart(HyStart);
        /// When ACKs come late the first slow start goes on slowly for some rounds, and back if that was a mistake (RFC 9406).
        "hystart++" => HyStartPlusPlus(HyStartPlusPlus);
    }
}

amounts! {
    /// A window, or what may leave at once.
    pub enum WindowSize("window-size", "a window", "a number of segments, or a size", "100 segments") {
        /// Full segments.
        count("segments") => Segments(u32);
        /// Bytes.
        size => Bytes(u64);
    }
}

impl WindowSize {
    /// In bytes, with segments of `smss` bytes.
    pub const fn bytes(self, smss: u64) -> u64 {
        match self {
            Self::Segments(n) => (n as u64).saturating_mul(smss),
            Self::Bytes(n) => n,
        }
    }
}

settings! {
    /// Hoe's estimate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Hoe {
        /// Pairs of consecutive ACKs of one round of which the median counts; 1 takes the first pair, as ns-2 does.
        pairs: u32 = 3, [1, Hoe::PAIRS_MAX], "RFC 2760 §3.2.5 warns of a single pair";
        /// ACKs that are not further apart than this show the sender's clock, not the path.
        resolution: Duration = Duration::from_micros(1), "usual clocks";
    }
}

impl Hoe {
    /// The most pairs that one estimate takes.
    pub const PAIRS_MAX: u32 = 9;
}

settings! {
    /// HyStart; where the paper and Linux differ, the defaults are those of Linux.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HyStart {
        /// Smaller windows do not end slow start.
        low_window: WindowSize = WindowSize::Segments(16), "Ha and Rhee 2008, Linux";
        /// Which signs end slow start.
        detect: HyStartDetect = HyStartDetect::Both, "Ha and Rhee 2008, Linux";
        /// ACKs that are not further apart than this are one train.
        ack_spacing: Duration = Duration::from_millis(2), "Linux";
        /// A train is long when it lasts longer than the smallest round trip divided by this; with pacing, 1.
        train_divisor: u32 = 2, [1, 1000], "Linux without pacing";
        /// What the delay of a round is compared with.
        baseline: HyStartBaseline = HyStartBaseline::Connection, "Linux";
        /// The delay of a round is the smallest of this many samples at its start.
        samples: u32 = 8, [1, 1000], "Ha and Rhee 2008, Linux";
        /// ACKs are late when the delay has risen by more than the round trip divided by this, within the bounds below.
        delay_divisor: u32 = 8, [1, 1000], "Linux";
        /// Smallest rise of delay that counts.
        delay_min: Duration = Duration::from_millis(4), "Linux";
        /// Largest rise of delay that is waited for.
        delay_max: Duration = Duration::from_millis(16), "Linux";
    }
}

words! {
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

words! {
    /// What the delay of a round is compared with.
    pub enum HyStartBaseline {
        /// The smallest round-trip time of the connection (Linux).
        "connection" => Connection,
        /// The smallest round-trip time of the round before (Ha and Rhee 2008).
        "last-round" => LastRound,
    }
}

settings! {
    /// HyStart++ (RFC 9406 §4.3 names the constants).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HyStartPlusPlus {
        /// Smallest rise of delay that counts (MIN_RTT_THRESH).
        min_rtt_threshold: Duration = Duration::from_millis(4), "RFC 9406 §4.3";
        /// Largest rise of delay that is waited for (MAX_RTT_THRESH).
        max_rtt_threshold: Duration = Duration::from_millis(16), "RFC 9406 §4.3";
        /// Between them, ACKs are late when the delay has risen by the round trip divided by this (MIN_RTT_DIVISOR).
        min_rtt_divisor: u32 = 8, [1, 1000], "RFC 9406 §4.3";
        /// Samples that a round needs to be judged (N_RTT_SAMPLE).
        rtt_samples: u32 = 8, [1, 1000], "RFC 9406 §4.3";
        /// How much slower the conservative slow start is (CSS_GROWTH_DIVISOR).
        css_growth_divisor: u32 = 4, [1, 1000], "RFC 9406 §4.3";
        /// How many rounds it lasts (CSS_ROUNDS).
        css_rounds: u32 = 5, [1, 1000], "RFC 9406 §4.3";
        /// Segments that an ACK counts for at most in the first slow start (L), instead of what `byte_counting` says; RFC 9406 sets no limit with pacing.
        limit: u32 = 8, [1, 1_000_000], "RFC 9406 §4.3, without pacing";
    }
}

kinds! {
    /// How much congestion avoidance adds in a round trip.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Increase as "Increase" {
        /// One segment (RFC 5681).
        "standard" => Standard;
        /// As many segments as (round trip / reference)^2, so that the rate rises alike on all paths; at most one for each ACK (Floyd 1991, RFC 2760 §3.6).
        "constant-rate" => ConstantRate {
            /// The round trip at which that is one segment.
            reference_rtt: Duration = Duration::from_millis(100), "a long path on the ground";
        };
        /// `k` segments where the smoothed round trip is long, one elsewhere (Henderson et al. 1998, RFC 2760 §3.6).
        "by-k" => ByK {
            /// Segments per round trip.
            k: u32 = 4, [1, 16], "Henderson et al. 1998";
            /// Round trips above this are long.
            above_rtt: Duration = Duration::from_millis(300), "a geostationary path is above, others are below";
        };
    }
}

words! {
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
