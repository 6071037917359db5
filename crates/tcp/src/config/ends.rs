//! What concerns the two ends rather than the window: marks, pacing, opening, sharing.

use bentpipe_units::{Duration, Rate};

/// Congestion marks (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnConfig {
    /// Which feedback this end asks for and gives.
    pub feedback: EcnFeedback,
    /// Thousandths of the window that are left after a mark (RFC 8511). None: what a loss leaves.
    pub beta: Option<u32>,
}

/// How a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// No marks: queues drop.
    #[default]
    Off,
    /// ECE until the sender says CWR (RFC 3168 §6.1).
    Classic,
    /// ECE repeats the mark of the segments that are acknowledged (RFC 8257 §3.2); negotiated as the classic one is.
    PerSegment,
    /// A counter of marked packets (RFC 9768); classic if the peer knows only that.
    Accurate,
}

/// When segments may leave, beside the windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// As soon as the windows allow.
    #[default]
    Off,
    /// A window per smoothed round-trip time, times a gain.
    Window {
        /// While cwnd is below half of ssthresh; thousandths.
        gain_slow_start: u32,
        /// Otherwise; thousandths.
        gain: u32,
        /// How much may go back to back after a pause.
        burst: Burst,
    },
    /// A fixed rate, headers included.
    Rate {
        /// Bytes of packets.
        rate: Rate,
        /// How much may go back to back after a pause.
        burst: Burst,
    },
}

/// What a pause saves up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// Full segments.
    Segments(u32),
    /// Bytes of packets.
    Bytes(u64),
}

/// TCP Fast Open (RFC 7413).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpen {
    /// The opener has the cookie from an earlier connection.
    pub is_known: bool,
    /// What the server gives this client and takes from it. It stands for the encrypted address of RFC 7413 §4.1.2.
    pub cookie: [u8; 8],
}

/// What a connection takes over from earlier ones to the same place (RFC 9040).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Begin with the ssthresh that was learnt.
    pub ssthresh: bool,
    /// Begin with a retransmission timeout from the round-trip times that were seen.
    pub rtt: bool,
    /// Begin with the window that was learnt.
    pub cwnd: SharedCwnd,
    /// What is older is forgotten.
    pub age_max: Duration,
}

bentpipe_units::words! {
    /// How a remembered window is used.
    pub enum SharedCwnd {
        /// Not at all.
        "ignore" => Ignore,
        /// Up to the initial window (RFC 9040 §5.2).
        "cautious" => Cautious,
        /// In full; pacing has to spread it over a round trip.
        "full" => Full,
    }
}

bentpipe_units::words! {
    /// Acknowledgements while the sender is in slow start.
    pub enum SlowStartAcks {
        /// Delayed, as always.
        "delayed" => Delayed,
        /// Each segment at once; the sender sets a reserved header bit while cwnd is below ssthresh (RFC 2760 §3.2.3.3).
        "every" => Every,
    }
}
