//! What the network notifies an end of a connection of, beside segments and marks.

use bentpipe_units::Seq;

/// A notice. Whoever has no use for it ignores it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// A link corrupted a segment that this end sent, and it was dropped there.
    Corrupted {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
        /// The error rate of that link, as far as it is known.
        error_rate: Option<f32>,
    },
    /// A segment that this end sent is too large for a link, and was dropped in front of it (RFC 1191 §4).
    TooBig {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
        /// The largest packet that the link takes, bytes.
        mtu: u32,
    },
    /// A link corrupted the oldest segment outstanding (explicit loss notification). It comes with a duplicate ACK.
    FirstCorrupted,
    /// The error rate of a link on the path, in the unit of whoever estimates.
    ErrorRate(f32),
    /// The chance that a packet of this end reaches the other uncorrupted.
    Survival(f32),
    /// A header of XCP or RCP came with a segment.
    Explicit(ExplicitHeader),
}

/// What senders with XCP or RCP and the routers on the way write to one another, on each segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplicitHeader {
    /// The sender's window, bytes with headers (XCP).
    pub cwnd: f32,
    /// Its round-trip time, seconds; 0: not known.
    pub rtt: f32,
    /// XCP: by how many bytes the window may change. RCP: the rate that all routers allow, bytes/s; 0: none is asked for.
    pub forward: f32,
    /// What the segments of the other end brought here, on its way back; NaN: nothing did since the last segment.
    pub reverse: f32,
}
