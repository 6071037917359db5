//! Events of a connection.

use bentpipe_cc::ResumePhase;

/// Reports of a connection to its driver, besides segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Data may flow.
    Established,
    /// Duplicate or selective ACKs started loss recovery at this offset.
    FastRetransmit(u64),
    /// Loss recovery ended; offset acknowledged.
    RecoveryExit(u64),
    /// Slow start ended; the congestion window that it reached.
    SlowStartExit(u64),
    /// Careful resume (RFC 9959) is in another phase; the congestion window.
    Resumed(ResumePhase, u64),
    /// The retransmission timer expired for the data at this offset.
    Timeout(u64),
    /// The advertised window had not fallen: a loss at this offset was taken for a link error.
    LinkError(u64),
    /// A node of the network reported that the data at this offset were corrupted.
    ErrorReport(u64),
    /// The last loss episode was spurious and is undone; offset acknowledged.
    Undo(u64),
    /// Losses are taken for congestion: the controller reduces its window; offset up to which data had been sent.
    Reduction(u64),
    /// Losses are taken for errors of a link: the window stays; offset up to which data had been sent.
    NoReduction(u64),
    /// Marks reduced the window; offset acknowledged.
    EcnReduction(u64),
    /// The peer's window closed; offset acknowledged.
    ZeroWindow(u64),
    /// Best effort: the data from this offset up to that one are skipped.
    Skipped(u64, u64),
    /// A record of the peer ends at this offset.
    RecordEnd(u64),
    /// The peer has sent all it will send, and all of it was delivered.
    PeerFinished,
    /// A keepalive probe leaves; probes without an answer so far, this one included.
    Keepalive(u64),
    /// This number of keepalive probes got no answer: the connection is given up.
    PeerLost(u64),
    /// Gave up, or was reset by the peer; the offset that was never acknowledged.
    Aborted(u64),
    /// Both directions are finished.
    Closed,
}
