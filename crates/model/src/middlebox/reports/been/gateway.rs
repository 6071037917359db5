//! The gateway of BEEN: numbers packets on the uplink, and makes reports and estimates from the records on the
//! downlink.

use super::estimate::Estimators;
use super::BeenConfig;
use crate::ids::NodeId;
use crate::middlebox::Context;
use crate::packet::{Label, Packet, Records};
use bentpipe_tcp::{Flags, Notice};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Largest number of packets in the table. The oldest are forgotten, and reports about them find no source.
const TABLE_MAX: usize = 1 << 16;

/// Gateway of one uplink, or of several that it estimates together.
#[derive(Clone, Debug)]
pub struct Gateway {
    config: BeenConfig,
    pub(super) node: NodeId,
    /// Adjacent nodes on board: packets to them go up.
    pub(super) satellites: Vec<NodeId>,
    /// Number of the next packet; numbers wrap around.
    next_id: u32,
    /// Headers of the last packets on the uplink, in order, and the times when they left.
    table: VecDeque<(Time, Packet)>,
    estimators: Estimators,
    pub(super) wakes_at: Time,
}

impl Gateway {
    pub(super) fn new(config: BeenConfig) -> Self {
        Self {
            config,
            node: NodeId::new(0),
            satellites: Vec::new(),
            next_id: 0,
            table: VecDeque::new(),
            estimators: Estimators::new(config),
            wakes_at: Time::NEVER,
        }
    }

    pub(super) fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !packet.is_segment() {
            return cx.forward(packet);
        }
        if cx.next_node(&packet).is_some_and(|next| self.satellites.binary_search(&next).is_ok()) {
            let label = Label::Numbered { by: self.node, id: self.number(&packet, cx.now), is_recorded: false };
            cx.set_label(&mut packet, label, self.config.option_len());
            return cx.forward(packet);
        }
        let label = cx.label(&packet);
        if let Some(Label::Records(records)) = label {
            cx.take_label(&mut packet);
            self.read(records, false, cx);
        }
        if let (None | Some(Label::Records(_)), Some(rate)) = (label, self.estimators.of(&packet).rate()) {
            cx.set_label(&mut packet, Label::ErrorRate(rate), self.config.option_len());
        }
        cx.forward(packet);
    }

    pub(super) fn number(&mut self, packet: &Packet, now: Time) -> u32 {
        self.forget(now);
        if self.table.len() == TABLE_MAX {
            self.table.pop_front();
        }
        self.table.push_back((now, packet.header()));
        if self.wakes_at == Time::NEVER {
            self.wakes_at = now + self.config.lifetime;
        }
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id.wrapping_sub(1)
    }

    /// Returns the packet with a number, if it is still in the table.
    fn find(&self, id: u32) -> Option<Packet> {
        let from_end = self.next_id.wrapping_sub(id) as usize;
        let at = self.table.len().checked_sub(from_end)?;
        self.table.get(at).map(|entry| entry.1)
    }

    /// Processes the fates of packets on the uplink. Errors of links between satellites do not count for the uplink.
    pub(super) fn read(&mut self, records: Records, is_between: bool, cx: &mut Context<'_>) {
        for (id, is_corrupted) in records.iter() {
            let Some(packet) = self.find(id) else { continue };
            let estimator = self.estimators.of(&packet);
            if !is_between {
                estimator.add(packet.size(), is_corrupted);
            }
            // Only packets with a sequence number are retransmitted, ACKs are not.
            let has_data = packet.len > 0 || packet.header_flags().has_any(Flags::SYN.with(Flags::FIN));
            if is_corrupted && has_data {
                let (seq, len) = (packet.seq, packet.len);
                // Algorithm 1: the report leaves before the window that it may close.
                let notice = Notice::Corrupted { seq, len, error_rate: estimator.rate() };
                cx.notify_sender(&packet, notice);
            }
            if !is_between {
                estimator.close_window();
            }
        }
    }

    /// Removes entries older than the lifetime.
    fn forget(&mut self, now: Time) {
        while self.table.front().is_some_and(|entry| entry.0 + self.config.lifetime <= now) {
            self.table.pop_front();
        }
    }

    pub(super) fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.forget(cx.now);
        // Once per lifetime, not per packet.
        self.wakes_at = if self.table.is_empty() { Time::NEVER } else { cx.now + self.config.lifetime };
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.table.len()
    }
}
