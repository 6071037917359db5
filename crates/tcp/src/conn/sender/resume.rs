//! State of careful resume in a connection (RFC 9959).

use bentpipe_cc::{CarefulResume, PathObserver};
use bentpipe_units::Duration;

/// Careful resume of a connection, and its observation of the path.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    /// The part; absent without a saved path.
    pub(super) part: Option<CarefulResume>,
    pub(super) observer: PathObserver,
    pub(super) rtt_min: Option<Duration>,
    /// Whether a saved path was wrong, so that it must be forgotten.
    pub(super) has_retreated: bool,
    /// Segments below this one have arrived or are declared lost.
    pub(super) settled: u64,
    /// Bytes that had arrived at the last ACK.
    pub(super) delivered: u64,
}
