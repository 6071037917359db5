//! Events of the naive engine and their order.

use bentpipe_model::ids::{EndpointId, FlowId, LinkId, MediumId, NodeId};
use bentpipe_units::{Stream, Time};

/// Events in order of rank. For equal tie-breakers, flows precede ends of connections, and smaller indices precede
/// larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    Sent(LinkId),
    /// A burst of a link in a medium begins.
    Burst(LinkId),
    /// Change of the timeline, by index.
    Change(usize),
    Arrival(LinkId),
    Node(NodeId),
    Superframe(MediumId),
    Flow(FlowId),
    End(EndpointId),
    Sample,
}

impl Happening {
    /// Returns the rank. `Sent` is first: a transmission that starts precedes all other events of the same instant.
    pub(super) fn rank(self) -> u32 {
        match self {
            Self::Sent(_) | Self::Burst(_) => 0,
            Self::Change(_) => 1,
            Self::Arrival(_) => 2,
            Self::Node(_) | Self::Superframe(_) => 3,
            Self::Flow(_) | Self::End(_) => 4,
            Self::Sample => 5,
        }
    }
}

/// Returns the tie-breaker of sources of one rank at one instant, as `engine` and `traffic` define it. Ends have the number of
/// their session and of their subflow in it.
pub(super) fn tie_breaker(name: &str, purpose: &str, (ordinal, subflow): (u64, usize), at: Time) -> u64 {
    let mut stream = Stream::new(0, name, purpose);
    let salt = if ordinal == 0 { stream.key()[0] } else { stream.at(ordinal) } & 0xffff_ffff;
    let salt = (salt + subflow as u64).min(0xffff_ffff);
    let x = (at.as_ps() ^ salt << 16).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 34
}
