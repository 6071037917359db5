//! Test environments: the tests that each congestion control inherits from the registry, and three environments for
//! separate tests. Each answers questions that the others cannot answer.
//!
//! | surroundings | what is real | for |
//! |---|---|---|
//! | [`ack_clock`] | the congestion control; the test sets each round-trip time | worked numbers of a rule |
//! | [`bottleneck`] | the congestion control, and a queue that its own packets fill | how a model and a path settle |
//! | [`transfer`] | two connections with recovery, over a path that changes with time | what a transfer gets |

pub(crate) mod ack_clock;
pub(crate) mod bottleneck;
pub(crate) mod suite;
pub(crate) mod transfer;

use crate::cc::PathState;
use bentpipe_units::{Duration, Time};

/// Returns the path of a connection with this flight size.
pub(crate) fn path(flight_size: u64) -> PathState {
    PathState {
        now: Time::from_ps(1),
        smss: suite::SMSS,
        header_len: 40,
        snd_una: 0,
        snd_nxt: flight_size,
        flight_size,
        ssthresh_base: flight_size,
        ssthresh_unit: 1,
        srtt: Some(Duration::from_millis(500)),
        rwnd: 1 << 30,
    }
}
