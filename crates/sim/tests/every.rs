//! Drops packets at regular distances, to study regular losses.
//!
//! # Position on the path
//!
//! At any node.
//!
//! # When it helps
//!
//! It helps no flow.
//!
//! # When it hurts
//!
//! Each loss costs a sender as much as any other loss.

use crate::dictionary::Cause;
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_units::settings;

settings! {
    /// Regular losses.
    pub struct EveryConfig {
        /// Packets from one loss to the next.
        each: u64 = 1000, [2, 1_000_000];
    }
}

/// Regular losses at a node.
#[derive(Clone, Debug)]
pub struct Every {
    config: EveryConfig,
    seen: u64,
}

impl Every {
    pub(crate) fn new(config: &EveryConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, seen: 0 }
    }
}

impl Middlebox for Every {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.seen += 1;
        if self.seen % self.config.each == 0 {
            cx.drop(packet, Cause::Policy);
        } else {
            cx.forward(packet);
        }
    }
}
