//! Probe segments: what a controller that sends them asks of its connection, and is given (TCP-Peach's dummy segments, Akyildiz,
//! Morabito and Palazzo 2001).

use crate::cc::PathState;
use bentpipe_units::Time;

/// A probe segment is a copy of data that was sent, flagged, of the lowest priority. The receiver answers each with a
/// flagged ACK; neither says anything of the data. See [`probe_segments`](super::CongestionControl::probe_segments).
pub trait ProbeSegments {
    /// Whether this end, as a receiver, announces that it knows them. Asked before the first segment.
    fn answers(&self) -> bool;
    /// Whether duplicate ACKs inflate the window in fast recovery, as without probe segments.
    fn inflates(&self) -> bool;
    /// What they copy: the oldest data that were not acknowledged, one after the other; otherwise what was sent last.
    fn repairs(&self) -> bool;
    /// When the next one is due: past if at once, [`Time::NEVER`] if none is.
    fn due(&self) -> Time;
    /// One leaves.
    fn on_sent(&mut self, path: &PathState);
    /// One was answered.
    fn on_answer(&mut self, path: &PathState);
}
