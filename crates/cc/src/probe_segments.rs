//! Probe segments: requests of a congestion control to its connection, and their results (TCP-Peach's dummy segments,
//! Akyildiz, Morabito and Palazzo 2001).

use crate::PathState;
use bentpipe_units::Time;

/// Probe segments of a congestion control. Each is a flagged copy of sent data, at the lowest priority. The receiver
/// answers it with a flagged ACK. Neither gives information about the data. See
/// [`probe_segments`](super::CongestionControl::probe_segments).
pub trait ProbeSegments {
    /// Whether this endpoint, as a receiver, announces that it knows them. Read before the first segment.
    fn answers(&self) -> bool;
    /// Whether duplicate ACKs inflate the window in fast recovery, as without probe segments.
    fn inflates(&self) -> bool;
    /// Whether they copy the oldest unacknowledged data, one segment after the other. Otherwise they copy the data sent
    /// last.
    fn repairs(&self) -> bool;
    /// Returns the time of the next one: in the past if it is due immediately, [`Time::NEVER`] without one.
    fn due(&self) -> Time;
    /// Reports that one leaves.
    fn on_sent(&mut self, path: &PathState);
    /// Reports an answer.
    fn on_answer(&mut self, path: &PathState);
}
