//! Keys of the retransmission timer and of acknowledgements.

use bentpipe_units::settings::{Plain, Shape, Switch, Typed, Unfit, Value, Written};
use bentpipe_units::{amounts, settings, words, Duration};

settings! {
    /// The retransmission timer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RtoConfig as "Rto" {
        /// Timeout before the first sample, at least 1 ms.
        initial: Duration = Duration::from_secs(1), "RFC 6298 §2.1";
        /// Lower bound.
        min: Duration = Duration::from_secs(1), "RFC 6298 §2.4";
        /// Upper bound, at least 1 ms.
        max: Duration = Duration::from_secs(60), "RFC 6298 §2.5";
        /// Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock.
        granularity: Duration = Duration::from_millis(1), "RFC 7323 §5.4";
        /// Phase of the clock within a tick; `random` is drawn for each endpoint.
        phase: ClockPhase = ClockPhase::Random, "hosts are not synchronised";
        /// Whether to add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR).
        guard: bool = true, "RFC 6298 §2.3";
        /// Smallest value of the variance term, 4 RTTVAR: the timeout is at least this much above the smoothed
        /// round-trip time.
        variance_min: Duration = Duration::ZERO, "RFC 6298 §2.3";
        /// Variation of the round-trip time that the timeout contains.
        variation: RttVariation = RttVariation::Mean, "RFC 6298 §2.3";
        /// Numbers of the smoothed round-trip time and its variation.
        arithmetic: RtoArithmetic = RtoArithmetic::Real, "RFC 6298 §2; BSD: ticks";
        /// Whether the timer expires on a tick: up to one tick before the timeout is over.
        expires_on_tick: bool = true, "BSD";
        /// Conversion of a round trip to ticks.
        rounding: TickRounding = TickRounding::Floor, "ns-2";
        /// Smallest timeout in ticks.
        min_ticks: u32 = 1, [0, 1_000_000], "RFC 6298 §2.4 sets no tick count";
        /// ACKs that give a round-trip sample when timestamps are off.
        sampling: RttSampling = RttSampling::PerAck, "current hosts; RFC 6298 §3 requires at least one per round trip";
        /// Whether selective acknowledgements give samples, too, with timestamps. Otherwise the timer does not notice a
        /// queue that grows during recovery. SACKs of segments sent before the oldest one was retransmitted then also
        /// restart the timer.
        sack_samples: bool = false, "RFC 7323 §4.1: only ACKs that advance";
        /// Whether retransmitted segments give no sample.
        karn: bool = true, "RFC 6298 §3";
        /// Whether the timer restarts when duplicate or selective ACKs start a retransmission. RFC 6298 §5 leaves it
        /// running, so that recovery has only the rest of it.
        restart_on_fast_retransmit: bool = true, "Linux, ns-2";
        /// Whether the timeout doubles at each expiry.
        backoff: bool = true, "RFC 6298 §5.5";
        /// Largest factor of the backoff.
        backoff_max: u32 = 64, [1, 1_000_000], "BSD; RFC 6298 §5.5 has no factor";
        /// Expiries for a SYN that do not double the timeout, the first ones; SYN-ACKs have none.
        syn_linear_timeouts: u32 = 0, [0, 127], "RFC 6298 §5.5";
        /// Retransmissions of a SYN after those of `syn_linear_timeouts`. Then the connection is given up, unless
        /// `give_up` is `never`.
        syn_retries: u32 = 8, [0, 127], "RFC 1122 §4.2.3.5: at least three minutes";
        /// Retransmissions of a SYN-ACK, in the same way.
        synack_retries: u32 = 8, [0, 127], "RFC 1122 §4.2.3.5: at least three minutes";
        /// Least number of retransmissions of a SYN or SYN-ACK that reduces the initial window to one segment.
        syn_reduction_after: u32 = 1, [1, 127], "RFC 5681 §3.1";
        /// Least time before the first probe of a closed window. It doubles with each probe, as the timeout does.
        persist_min: Duration = Duration::from_millis(500), "BSD";
        /// Longest time between two probes of a closed window.
        persist_max: Duration = Duration::from_secs(60), "BSD";
        /// Whether an ACK that leaves the window closed restarts the time to the next probe.
        persist_restarts: bool = false, "BSD";
        /// Doublings after which the smoothed round-trip time is forgotten, so that the next sample counts as the
        /// first; 0: never.
        forget_after: u32 = 0, [0, 1_000_000], "RFC 6298 §5 allows both; BSD: 4";
        /// Whether each expiry for the same segment lowers the slow start threshold, not only the first.
        reduce_again: bool = false, "RFC 5681 §3.1";
        /// Whether an expiry in fast recovery, or after a mark of the same window, lowers the slow start threshold once more.
        reduce_in_recovery: bool = true, "RFC 5681 §3.1";
        /// Whether an expiry is undone if its first ACK acknowledges all outstanding data, with SACK in use, and part of them was
        /// sent once only. The first segment may have been lost alone, so that RFC 5682 lets this ACK decide nothing.
        whole_ack_undoes: bool = false, "RFC 5682 §3.1 step 2";
        /// Treatment of duplicate ACKs after a timeout. They count for `limited_retransmit`.
        duplicates: RtoDuplicates = RtoDuplicates::Restart, "RFC 5681 does not say";
    }
}

amounts! {
    /// Phase of a clock within a tick.
    pub enum ClockPhase("phase", "a phase", "\"random\" or a duration below the granularity", "3 ms") {
        /// Drawn by the driver of the connection. Until then the start of the tick.
        word("random") => Random;
        /// This phase, below the granularity.
        span => At(Duration);
    }
}

impl ClockPhase {
    /// Returns the time since the start of the tick.
    #[inline]
    pub const fn offset(self) -> Duration {
        match self {
            Self::Random => Duration::ZERO,
            Self::At(offset) => offset,
        }
    }
}

words! {
    /// Variation of the round-trip time in the retransmission timeout.
    pub enum RttVariation {
        /// Smoothed over all samples (RFC 6298). With many samples per round trip, an outlier is forgotten within one.
        "mean" => Mean,
        /// The largest smoothed value of a round trip. A larger one counts immediately, and a smaller one by a quarter per
        /// round trip. It is at least a quarter of `variance_min`.
        "largest" => Largest,
    }
}

words! {
    /// Numbers of the smoothed round-trip time and its variation.
    pub enum RtoArithmetic {
        /// Real numbers (RFC 6298).
        "real" => Real,
        /// Eighths and quarters of a tick, rounded down (Jacobson 1988; BSD, ns-2). The variation never falls below three quarters, so the timeout exceeds the round trip by three ticks or more. A `granularity` of zero means real numbers.
        "ticks" => Ticks,
    }
}

words! {
    /// Treatment of duplicate ACKs after a timeout.
    pub enum RtoDuplicates {
        /// Their count restarts from zero.
        "restart" => Restart,
        /// Their count continues.
        "continue" => Continue,
        /// They are ignored until an ACK of new data arrives.
        "ignore" => Ignore,
    }
}

impl RtoDuplicates {
    /// Returns the count after a timeout, given the count before it.
    pub fn after_timeout(self, dupacks: u32) -> u32 {
        match self {
            Self::Restart => 0,
            Self::Continue => dupacks,
            // Above every threshold.
            Self::Ignore => u32::MAX,
        }
    }
}

words! {
    /// Conversion of a round trip to ticks.
    pub enum TickRounding {
        /// The difference of the tick counters.
        "floor" => Floor,
        /// The difference plus one (BSD).
        "plus-one" => PlusOne,
    }
}

words! {
    /// ACKs that give a round-trip sample.
    pub enum RttSampling {
        /// One segment is timed at a time.
        "per-window" => PerWindow,
        /// Every ACK of data that was sent once.
        "per-ack" => PerAck,
    }
}

amounts! {
    /// Condition to give up a connection.
    pub enum GiveUp("give-up", "a rule for giving up", "\"never\", a number of retransmissions, or a duration", "6 retransmissions") {
        /// Never.
        word("never") => Never;
        /// The timer expires after this many retransmissions of one segment.
        count("retransmissions") => AfterRetransmissions(u32);
        /// This time has passed since the first retransmission of one segment (RFC 1122 §4.2.3.5: R2).
        span => AfterTime(Duration);
    }
}

settings! {
    /// Acknowledgements of the receiver.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AckPolicy as "Ack" {
        /// Acknowledge every n-th segment that arrives in order, of any size; 1: every segment. RFC 5681 §4.2 asks for
        /// one ACK per at least every second full-sized segment and allows more. Two small segments are acknowledged
        /// immediately, too.
        every: u32 = 2, [1, 1_000_000], "RFC 5681 §4.2";
        /// Longest delay of an acknowledgement.
        delay: Duration = Duration::from_millis(200), "within RFC 1122 §4.2.3.2; usual";
        /// Start of the delay.
        timer: DelayTimer as AckTimer = DelayTimer::PerSegment, "RFC 5681 §4.2";
        /// Segments that are acknowledged immediately, at the start of a connection and after a pause longer than the
        /// retransmission timeout.
        quick: u32 = 0, "RFC 5681 §4.2";
        /// Acknowledgements while the sender is in slow start.
        slow_start: SlowStartAcks = SlowStartAcks::Delayed, "RFC 5681 §4.2";
        /// Congestion control for ACKs: the sender finds lost or marked ACKs, and doubles the number of segments per
        /// ACK. `every` is its initial and smallest value. With ECN pure ACKs may be marked. Both ends must want it.
        congestion_control: bool = false, "RFC 5690: not a standard";
    }
}

/// The delayed-ACK timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayTimer {
    /// Starts with the segment.
    PerSegment,
    /// Fires at multiples of the delay (BSD), shifted by `phase`.
    FreeRunning {
        /// Below the delay.
        phase: Duration,
    },
}

words! {
    /// Start of the delay of an acknowledgement.
    pub enum AckTimer {
        /// The arrival of the segment.
        "per-segment" => PerSegment,
        /// A clock that fires at multiples of the delay, independent of arrivals (BSD). Its phase is drawn.
        "free-running" => FreeRunning,
    }
}

impl Written<DelayTimer> for AckTimer {
    fn shape() -> Shape {
        <Plain as Written<Self>>::shape()
    }
    fn read(value: &Value) -> Result<DelayTimer, Unfit> {
        Ok(match <Self as Typed>::read(value)? {
            Self::PerSegment => DelayTimer::PerSegment,
            // The driver of the connection draws the phase.
            Self::FreeRunning => DelayTimer::FreeRunning { phase: Duration::ZERO },
        })
    }
    fn write(timer: &DelayTimer) -> Value {
        Typed::write(&match timer {
            DelayTimer::PerSegment => Self::PerSegment,
            DelayTimer::FreeRunning { .. } => Self::FreeRunning,
        })
    }
}

words! {
    /// Acknowledgements while the sender is in slow start.
    pub enum SlowStartAcks {
        /// Delayed, as always.
        "delayed" => Delayed,
        /// Immediate for each segment. The sender sets a reserved header bit while cwnd is below ssthresh (RFC 2760
        /// §3.2.3.3).
        "every" => Every,
    }
}

settings! {
    /// Probes on an idle connection (RFC 9293 §3.8.4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Keepalive {
        /// Time without a segment of the peer, and without outstanding data, before the first probe. At least 1 s.
        idle: Duration = Duration::from_secs(7200), "RFC 9293 §3.8.4: no less than two hours by default";
        /// Time from a probe to the next one, or to the end of the connection. At least 1 s.
        interval: Duration = Duration::from_secs(75), "Linux: tcp_keepalive_intvl";
        /// Unanswered probes before the connection is given up.
        probes: u32 = 9, [1, 127], "Linux: tcp_keepalive_probes";
        /// Whether the probe carries a byte, for a peer that does not answer empty segments. The receiver counts it as
        /// a duplicate.
        byte: bool = false, "RFC 9293 §3.8.4: no data, or one byte";
    }
}

impl Switch for Keepalive {
    const OFF: &'static str = "An idle connection sends nothing.";
}

words! {
    /// ACKs below SND.UNA that a segment may carry.
    pub enum AcceptableAcks {
        /// Any: the old ACK is ignored, and the data of its segment counts.
        "rfc9293" => Rfc9293,
        /// Down to the largest window of the peer below SND.UNA. A segment with an older ACK is dropped with its data and answered by a challenge ACK.
        "rfc5961" => Rfc5961,
    }
}

settings! {
    /// Limit of challenge ACKs (RFC 5961 §7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ChallengeAcks {
        /// Challenge ACKs per interval.
        limit: u32 = 10, [1, 1_000_000], "RFC 5961 §7: the example";
        /// Length of an interval. It begins with the first challenge ACK after the last interval.
        interval: Duration = Duration::from_secs(5), "RFC 5961 §7: the example";
    }
}
