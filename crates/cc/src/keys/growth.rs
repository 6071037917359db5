//! Keys of the window's growth, which all loss-based congestion controls share.

use bentpipe_units::{amounts, kinds, settings, words, Duration};

settings! {
    /// Growth of a congestion control's window.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Growth {
        /// Value of an ACK for the growth.
        byte_counting: ByteCounting = ByteCounting::Rfc5681, "RFC 5681 §3.1 eq. 2 and 3";
        /// Growth of the window in slow start, and its end.
        slow_start: SlowStart = SlowStart::Standard, "RFC 5681 §3.1";
        /// Increase of the window per round trip in congestion avoidance.
        increase: Increase = Increase::Standard, "RFC 5681 §3.1";
        /// Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and
        /// grows by a segment immediately.
        slow_start_at_ssthresh: bool = false, "RFC 5681 §3.1 allows both; Linux had true for long";
    } with {
        /// Whether a loss leaves a whole number of segments: `ssthresh_rounding` is `window`.
        whole_segments: bool = false;
    }
}

kinds! {
    /// Value of an ACK for the growth (RFC 3465, RFC 2760 §3.2.2 and §3.2.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ByteCounting as "ByteCounting", "a way of counting" {
        /// Slow start: its bytes, at most one segment. Congestion avoidance: each ACK alike (RFC 5681).
        "rfc5681" => Rfc5681;
        /// Each ACK alike, for any number of bytes.
        "per-ack" => PerAck;
        /// Appropriate byte counting: its bytes, in slow start at most `limit` segments. At most one segment in the
        /// slow start after a timeout (RFC 3465).
        "abc" => Abc {
            /// L, segments.
            limit: u32 = 2, [1, 2], "RFC 3465 §2.3";
        };
        /// Limited byte counting: its bytes, in slow start at most two segments. At most one segment after a timeout
        /// (RFC 2760 §3.2.3).
        "lbc" => Lbc;
        /// Unlimited byte counting: its bytes. At most one segment in the slow start after a timeout (RFC 2760 §3.2.3).
        "ubc" => Ubc;
        /// Unlimited byte counting, after a timeout, too: one ACK may release a burst as long as the window. With `recovery`
        /// `rack`, bytes that an earlier ACK has SACKed do not count again (Linux).
        "ubc-pure" => UbcPure;
    }
}

kinds! {
    /// Growth of the window in slow start, and its end besides the threshold and losses.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum SlowStart as "SlowStart", "a slow start" {
        /// Ends at the threshold or the first loss (RFC 5681).
        "standard" => Standard;
        /// Adds half of `max_ssthresh` per round trip above that window (RFC 3742).
        "limited" => Limited {
            /// The window (max_ssthresh), at least two segments.
            max_ssthresh: WindowSize = WindowSize::Segments(100), "RFC 3742 §2";
        };
        /// Estimates the threshold once, from the spacing of the first ACKs: their rate times the round trip (Hoe
        /// 1996).
        "hoe" => Hoe(Hoe);
        /// Ends when ACKs come in a long train, or late (Ha and Rhee 2008).
        "hystart" => HyStart(HyStart);
        /// Continues slowly for some rounds in the first slow start when ACKs come late, and returns if that was a
        /// mistake (RFC 9406).
        "hystart++" => HyStartPlusPlus(HyStartPlusPlus);
        /// Ends the first slow start when less arrives in a window of time than was sent a round trip before
        /// (draft-chung-ccwg-search-09).
        "search" => Search(Search);
        /// Triples the window per round trip until ACKs come late, then doubles it. After the first loss the window
        /// converges on the data that have arrived (draft-kazuho-ccwg-rapid-start). TCP needs `recovery` `rack`.
        "rapid" => Rapid(RapidStart);
    }
}

amounts! {
    /// A window, or the data that may leave back to back.
    pub enum WindowSize("window-size", "a window", "a number of segments, or a size", "100 segments") {
        /// Full segments.
        count("segments") => Segments(u32);
        /// Bytes.
        size => Bytes(u64);
    }
}

impl WindowSize {
    /// Returns the bytes, with segments of `smss` bytes.
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
        /// Pairs of consecutive ACKs of one round whose median counts. 1 takes the first pair, as ns-2 does.
        pairs: u32 = 3, [1, Hoe::PAIRS_MAX], "RFC 2760 §3.2.5 warns of a single pair";
        /// Spacing of ACKs up to which it shows the sender's clock, not the path.
        resolution: Duration = Duration::from_micros(1), "usual clocks";
    }
}

impl Hoe {
    /// Largest number of pairs of one estimate.
    pub const PAIRS_MAX: u32 = 9;
}

settings! {
    /// HyStart. Where the paper and Linux differ, the defaults are Linux's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HyStart {
        /// Window below which slow start does not end.
        low_window: WindowSize = WindowSize::Segments(16), "Ha and Rhee 2008, Linux";
        /// Signs that end slow start.
        detect: HyStartDetect = HyStartDetect::Both, "Ha and Rhee 2008, Linux";
        /// Largest spacing of ACKs within a train.
        ack_spacing: Duration = Duration::from_millis(2), "Linux";
        /// Divisor of the smallest round trip: a longer train is long. Use 1 with pacing.
        train_divisor: u32 = 2, [1, 1000], "Linux without pacing";
        /// Baseline of the delay of a round.
        baseline: HyStartBaseline = HyStartBaseline::Connection, "Linux";
        /// Samples at the start of a round whose smallest is the delay of the round.
        samples: u32 = 8, [1, 1000], "Ha and Rhee 2008, Linux";
        /// Divisor of the round trip: ACKs are late when the delay has risen by more, within the bounds below.
        delay_divisor: u32 = 8, [1, 1000], "Linux";
        /// Smallest rise of the delay that counts.
        delay_min: Duration = Duration::from_millis(4), "Linux";
        /// Largest rise of the delay that is required.
        delay_max: Duration = Duration::from_millis(16), "Linux";
    }
}

words! {
    /// Signs that end slow start.
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
    /// Baseline of the delay of a round.
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
        /// Smallest rise of the delay that counts (MIN_RTT_THRESH).
        min_rtt_threshold: Duration = Duration::from_millis(4), "RFC 9406 §4.3";
        /// Largest rise of the delay that is required (MAX_RTT_THRESH).
        max_rtt_threshold: Duration = Duration::from_millis(16), "RFC 9406 §4.3";
        /// Divisor of the round trip between these bounds: ACKs are late when the delay has risen by the quotient
        /// (MIN_RTT_DIVISOR).
        min_rtt_divisor: u32 = 8, [1, 1000], "RFC 9406 §4.3";
        /// Samples that a round needs (N_RTT_SAMPLE).
        rtt_samples: u32 = 8, [1, 1000], "RFC 9406 §4.3";
        /// Divisor of the growth in conservative slow start (CSS_GROWTH_DIVISOR).
        css_growth_divisor: u32 = 4, [1, 1000], "RFC 9406 §4.3";
        /// Rounds of conservative slow start (CSS_ROUNDS).
        css_rounds: u32 = 5, [1, 1000], "RFC 9406 §4.3";
        /// Most segments that an ACK counts for in the first slow start (L), instead of the limit of `byte_counting`.
        /// RFC 9406 sets no limit with pacing.
        limit: u32 = 8, [1, 1_000_000], "RFC 9406 §4.3, without pacing";
    }
}

settings! {
    /// SEARCH.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Search {
        /// Length of the compared windows, in round trips of the first sample.
        window: f64 = 3.5, [1.0, 20.0], "draft-chung-ccwg-search-09";
        /// Bins of a window.
        bins: u32 = 10, [2, 100], "draft-chung-ccwg-search-09";
        /// Bins beside the window, for round trips that grow. A longer round trip is not evaluated.
        extra_bins: u32 = 15, [1, 1000], "draft-chung-ccwg-search-09";
        /// Share of the sent bytes that must be missing.
        threshold: f64 = 0.26, [0.01, 0.9], "draft-chung-ccwg-search-09";
        /// Round trip between the compared windows.
        look_back: SearchLookBack = SearchLookBack::Latest, "draft-chung-ccwg-search-09";
        /// The window after slow start.
        leave: SearchLeave = SearchLeave::Drain, "draft-chung-ccwg-search-09";
        /// Acknowledged segments for which one segment leaves while the window falls.
        drain_every: u32 = 16, [2, 1000], "the authors' module for Linux";
        /// Bin that is weighed in where the round trip is no whole number of bins.
        interpolation: SearchInterpolation = SearchInterpolation::Backward, "neqo, agreed with the authors";
        /// Whether the slow start after a timeout is watched, too.
        again: bool = false;
    }
}

settings! {
    /// Rapid start.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RapidStart {
        /// Growth of the window per round trip while ACKs are not late.
        growth: f64 = 3.0, [2.0, 4.0], "draft-kazuho-ccwg-rapid-start";
        /// Rise of the delay up to which ACKs are not late.
        tolerance: Duration = Duration::from_millis(4), "draft-kazuho-ccwg-rapid-start";
        /// Smallest round trip times this factor is the other bound.
        factor: f64 = 1.1, [1.0, 2.0], "draft-kazuho-ccwg-rapid-start; quicly: 35/32";
        /// The bound that counts.
        bound: RapidBound = RapidBound::Larger, "quicly; the draft: smaller";
        /// Share of a loss in the converging window that a delivery takes, too (K).
        k: f64 = 0.6111, [0.0, 1.0], "quicly and the draft of 2025: 11/18; the draft of 2026: 2/3";
    }
}

impl RapidStart {
    /// Shortest round trip that is worth it (quicly).
    pub const LEAST_RTT: Duration = Duration::from_millis(4);
}

words! {
    /// The bound of the delay in rapid start.
    pub enum RapidBound {
        /// The larger of the two. It is above the least round trip by a tenth over GEO.
        "larger" => Larger,
        /// The smaller of the two. It is above the least round trip by 4 ms over GEO.
        "smaller" => Smaller,
    }
}

words! {
    /// Round trip between the windows of SEARCH.
    pub enum SearchLookBack {
        /// The newest sample. It contains the queue, so that slow start ends late: without a loss only if the queue holds
        /// 4.5 bandwidth-delay products.
        "latest" => Latest,
        /// The smallest sample of the slow start. A queue of 2 bandwidth-delay products is enough. A longer path is taken
        /// for a full one.
        "least" => Least,
    }
}

words! {
    /// The window after the slow start of SEARCH.
    pub enum SearchLeave {
        /// It falls to the bytes that arrived in a round trip of the first sample.
        "drain" => Drain,
        /// It stays, and the threshold is equal to it.
        "stay" => Stay,
    }
}

words! {
    /// Bin that SEARCH weighs in.
    pub enum SearchInterpolation {
        /// The one before.
        "backward" => Backward,
        /// The one after. As the window doubles, slow start then ends at the first comparison on any path.
        "forward" => Forward,
    }
}

kinds! {
    /// Increase per round trip in congestion avoidance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Increase as "Increase", "an increase" {
        /// One segment (RFC 5681).
        "standard" => Standard;
        /// (round trip / reference)^2 segments, so that the rate rises alike on all paths. At most one per ACK (Floyd
        /// 1991, RFC 2760 §3.6).
        "constant-rate" => ConstantRate {
            /// Round trip at which the increase is one segment.
            reference_rtt: Duration = Duration::from_millis(100), "a long path on the ground";
        };
        /// `k` segments if the smoothed round trip is long, otherwise one (Henderson et al. 1998, RFC 2760 §3.6).
        "by-k" => ByK {
            /// Segments per round trip.
            k: u32 = 4, [1, 16], "Henderson et al. 1998";
            /// Round trip above which a path is long.
            above_rtt: Duration = Duration::from_millis(300), "a geostationary path is above, others are below";
        };
    }
}

words! {
    /// Validation of a congestion window that is not used.
    pub enum CwndValidation {
        /// Grows, used or not (ns-2).
        "off" => Off,
        /// Grows only while data in the network fill it, or slow start uses half of it.
        "if-used" => IfUsed,
        /// As `if-used`, and shrinks towards the used part, by half per timeout of idle time (RFC 2861).
        "rfc2861" => Rfc2861,
        /// As `if-used`, and idle time takes half per timeout, down to the initial window (Linux).
        "linux" => Linux,
        /// Stays for five minutes. A loss in that time falls back to the used part (RFC 7661).
        "rfc7661" => Rfc7661,
    }
}
