//! Test environments: the tests that each congestion control inherits from the registry, and two environments for
//! separate tests. Each answers questions that the others cannot answer.
//!
//! | surroundings | what is real | for |
//! |---|---|---|
//! | [`ack_clock`] | the congestion control; the test sets each round-trip time | worked numbers of a rule |
//! | [`bottleneck`] | the congestion control, and a queue that its own packets fill | how a model and a path settle |

pub(crate) mod ack_clock;
pub(crate) mod bottleneck;
pub(crate) mod suite;

use crate::facts::RateSample;
use crate::{Delivery, Marks, PathState};
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

/// An empty delivery over a window in full use. Tests state what differs.
pub(crate) const DELIVERY: Delivery = Delivery {
    newly_delivered: 0,
    delivered: 0,
    newly_lost: 0,
    lost: 0,
    in_flight: 0,
    is_cwnd_limited: true,
    is_repairing: false,
    rate: None,
    one_way_delay: None,
    receiver_clock: None,
    echoed_rtt: None,
    marks: Marks { ce_packets: 0, delivered_packets: 0 },
};

/// An empty sample. Tests state what differs.
pub(crate) const RATE_SAMPLE: RateSample = RateSample {
    delivered: 0,
    interval: Duration::ZERO,
    rtt: None,
    is_app_limited: false,
    flight_before: 0,
    lost: 0,
    prior_delivered: 0,
    is_too_short: false,
};
