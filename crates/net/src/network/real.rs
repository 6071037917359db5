//! Actions of middleboxes on packets that came with bytes from outside. The driver, which knows their format, provides
//! them. The simulator does not know it.

use bentpipe_model::ids::NodeId;
use bentpipe_model::middlebox::{Middlebox, MiddleboxConfig};
use std::fmt::Debug;

/// Knowledge of packets that came with bytes.
pub trait RealPackets: Debug + Send + Sync {
    /// Returns a middlebox that does for them what a middlebox of the scenario does for simulated packets, directly
    /// behind it. `None`: that one lets them pass, or treats all packets alike. `seed` and `component` are those of its
    /// random streams.
    fn beside(
        &self,
        config: &MiddleboxConfig,
        node: NodeId,
        seed: u64,
        component: &str,
    ) -> Option<Box<dyn Middlebox + Send + Sync>>;

    /// Returns the report to the sender of a packet above the MTU of a link (RFC 1191 §4, RFC 4443 §3.2), as bytes, and
    /// the number of header bytes; `None`: no report is due.
    fn too_big(&self, packet: &[u8], mtu: u64) -> Option<(Vec<u8>, u8)>;
}
