//! State of rapid start at a connection.

use bentpipe_cc::keys::RapidStart;
use bentpipe_cc::Convergence;
use bentpipe_units::Time;

/// Rapid start of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Rapid {
    pub(super) settings: RapidStart,
    /// Bytes declared lost until the last ACK.
    pub(super) lost: u64,
    /// The present convergence.
    pub(super) part: Option<Converging>,
    pub(super) is_over: bool,
}

/// A window that converges, since a time, and until the data sent before are acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Converging {
    pub(super) part: Convergence,
    pub(super) since: Time,
    pub(super) until: u64,
}
