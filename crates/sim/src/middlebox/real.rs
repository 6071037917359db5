//! What functions of the network do for packets that came with bytes from outside. Who knows the form of these gives it: the simulator
//! does not.

use super::{Middlebox, MiddleboxConfig};
use crate::ids::NodeId;
use std::fmt::Debug;

/// What is known of packets that came with bytes.
pub trait RealPackets: Debug + Send + Sync {
    /// A function that does for them what one of the scenario does for simulated packets; it stands right behind that. None: that
    /// lets them pass, or treats all packets alike. `seed` and `component` are those of its random streams.
    fn beside(
        &self,
        config: &MiddleboxConfig,
        node: NodeId,
        seed: u64,
        component: &str,
    ) -> Option<Box<dyn Middlebox + Send + Sync>>;

    /// The report to the sender of a packet that is larger than a link takes (RFC 1191 §4, RFC 4443 §3.2), as bytes, and how many
    /// of them are headers. None: no report is due.
    fn too_big(&self, packet: &[u8], mtu: u64) -> Option<(Vec<u8>, u8)>;
}
