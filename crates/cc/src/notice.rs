//! Notices of the network to an endpoint, besides segments and marks.

use bentpipe_units::Seq;

/// A notice. Endpoints ignore notices that they do not use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// A link corrupted a segment of this endpoint and dropped it.
    Corrupted {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
        /// Error rate of that link, if known.
        error_rate: Option<f32>,
    },
    /// A segment of this endpoint is too large for a link, and was dropped in front of it (RFC 1191 §4).
    TooBig {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
        /// Largest packet of the link, bytes.
        mtu: u32,
    },
    /// A link corrupted the oldest segment outstanding (explicit loss notification). It comes with a duplicate ACK.
    FirstCorrupted,
    /// Error rate of a link on the path, in the unit of its estimate.
    ErrorRate(f32),
    /// Probability that a packet of this endpoint reaches the other uncorrupted.
    Survival(f32),
    /// A header of XCP or RCP came with a segment.
    Explicit(ExplicitHeader),
}

/// Header of XCP and RCP on each segment: feedback between senders and routers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplicitHeader {
    /// The sender's window, bytes with headers (XCP).
    pub cwnd: f32,
    /// The sender's round-trip time, seconds; 0: unknown.
    pub rtt: f32,
    /// XCP: permitted change of the window, bytes. RCP: rate that all routers allow, bytes/s; 0: no rate requested.
    pub forward: f32,
    /// Feedback of the other endpoint's segments, on its way back; NaN: no feedback since the last segment.
    pub reverse: f32,
}
