//! Parts of a sender that few connections have.
//!
//! They exist together or not at all: a connection without any pays one pointer, and is plain unless its receiver has some.
//! A new part that acts on segments belongs here. Then no connection that has it is taken for plain.

use super::ack_ratio::AckRatio;
use super::ecn::EcnSender;
use super::feedback::WindowFeedback;
use super::mapped::{Backlog, Mapped};
use super::polls::Polls;
use super::probe_segments::Probes;
use super::rapid::Rapid;
use super::records::Records;
use super::reported::Notified;
use super::resume::Resume;
use bentpipe_cc::Marks;

/// Parts of a sender that few connections have.
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderExtras {
    /// Agreed on ECN.
    pub(crate) ecn: Option<EcnSender>,
    /// Agreed on congestion control for ACKs.
    pub(crate) ack_ratio: Option<AckRatio>,
    /// Agreed on polls.
    pub(crate) polls: Option<Polls>,
    /// Agreed on probe segments.
    pub(crate) probes: Option<Probes>,
    /// Ends of records, for best effort.
    pub(crate) records: Option<Records>,
    /// Interpretation of the windows that the network advertises.
    pub(crate) feedback: Option<WindowFeedback>,
    /// Careful resume is on.
    pub(crate) resume: Option<Box<Resume>>,
    /// Slow start is rapid start.
    pub(crate) rapid: Option<Box<Rapid>>,
    /// Notices of errors are heeded.
    pub(crate) notified: Option<Notified>,
    /// Word of a router that came before data could be sent.
    pub(crate) early_word: Option<f32>,
    /// Count that all segments carry (RFC 1644).
    pub(crate) count: Option<u32>,
    /// Bytes in the SYN. If the peer does not accept them there, they are retransmitted.
    pub(crate) early: u64,
    /// Data segments signal slow start.
    pub(crate) signals_slow_start: bool,
    /// ACKs draw on a token bucket too.
    pub(crate) paces_acks: bool,
    /// Data that wait above, and were not offered to the connection.
    pub(crate) backlog: Backlog,
    /// The connection is a subflow of a multipath connection.
    pub(crate) mapped: Option<Box<Mapped>>,
}

impl SenderExtras {
    /// Whether the ACK that is being processed reports marks.
    pub(super) fn is_echoed(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.is_echoed)
    }

    /// The marks that the ACK being processed reports to a congestion control that counts them.
    pub(super) fn marks(&self) -> Marks {
        self.ecn.as_ref().map_or(Marks::default(), |ecn| ecn.marks)
    }
}
