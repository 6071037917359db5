//! Values inside the congestion control, for drivers that record them.

use super::Connection;
use crate::cc::{CongestionControl, Insides};

impl Connection {
    /// Reports the values inside the congestion control. Reading them changes nothing.
    pub fn inside_cc(&self, insides: &mut Insides<'_>) {
        self.tcb.sender.cc.inside(insides);
    }
}
