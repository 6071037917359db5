//! What a controller that probes with dummy segments tells its connection, and hears from it (Akyildiz, Morabito and
//! Palazzo 2001).

use crate::cc::PathState;
use bentpipe_units::Time;

/// A dummy segment is a copy of data that was sent, flagged, of the lowest priority. The receiver answers each with a
/// flagged ACK; neither is taken for news of the data. See [`dummies`](super::CongestionControl::dummies).
pub trait Dummies {
    /// Whether this end, as a receiver, says that it knows them. Asked before the first segment.
    fn answers(&self) -> bool;
    /// Whether duplicate ACKs inflate the window in fast recovery, as without dummies.
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
