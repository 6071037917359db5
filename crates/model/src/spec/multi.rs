//! TCP over several paths (RFC 8684): the values of a flow and of its subflows.

use bentpipe_tcp::multi::MultiConfig;
use bentpipe_tcp::Config;
use bentpipe_units::Duration;
use std::sync::Arc;

/// A flow over several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Multi {
    /// Values of the connection.
    pub config: Arc<MultiConfig>,
    /// TCP of the flow, whose values the subflows have where they set none. All have the connection's receive buffer.
    pub tcp: Arc<Config>,
    /// Its subflows, in the order of the flow's lanes. The first opens the connection.
    pub subflows: Vec<Subflow>,
}

/// One path of a flow over several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Subflow {
    /// TCP without the options of several paths.
    pub tcp: Arc<Config>,
    /// Time after the opening of the connection until it joins.
    pub start: Duration,
    /// Whether it carries data only while no other subflow can.
    pub is_backup: bool,
}

impl Multi {
    /// Bytes of the option that maps data and acknowledges them (RFC 8684 §3.3: four bytes of each number, no checksum).
    pub(crate) const OPTION: u32 = 20;

    /// Returns TCP of the subflow that opens the connection.
    pub(crate) fn first(&self) -> &Config {
        &self.subflows[0].tcp
    }
}
