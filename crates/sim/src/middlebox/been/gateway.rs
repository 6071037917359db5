//! The gateway: numbers what goes up, and makes reports and estimates of the records that come down.

use super::estimate::Estimators;
use super::BeenConfig;
use crate::ids::NodeId;
use crate::middlebox::Context;
use crate::packet::{Label, Packet, Records};
use bentpipe_tcp::{Flags, Notice};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Packets that the table holds; of more the oldest are forgotten, and no report of them finds its source.
const TABLE_MAX: usize = 1 << 16;

/// The gateway of one uplink, or of several that it estimates together.
#[derive(Clone, Debug)]
pub(crate) struct Gateway {
    config: BeenConfig,
    pub(super) node: NodeId,
    /// Nodes next to it: what goes there goes up.
    pub(super) satellites: Vec<NodeId>,
    /// The number of the next packet; numbers wrap around.
    next_id: u32,
    /// The headers of the last packets that went up, in order, and when they did.
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
        if packet.is_datagram() {
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

    /// The packet with a number, if it is remembered.
    fn find(&self, id: u32) -> Option<Packet> {
        let from_end = self.next_id.wrapping_sub(id) as usize;
        let at = self.table.len().checked_sub(from_end)?;
        self.table.get(at).map(|entry| entry.1)
    }

    /// What became of packets that went up. What links between satellites do does not count for the uplink.
    pub(super) fn read(&mut self, records: Records, is_between: bool, cx: &mut Context<'_>) {
        for (id, is_corrupted) in records.iter() {
            let Some(packet) = self.find(id) else { continue };
            let estimator = self.estimators.of(&packet);
            if !is_between {
                estimator.add(packet.size(), is_corrupted);
            }
            // An ACK is not sent again: only what has a sequence number is.
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

    /// What has been remembered for long enough.
    fn forget(&mut self, now: Time) {
        while self.table.front().is_some_and(|entry| entry.0 + self.config.lifetime <= now) {
            self.table.pop_front();
        }
    }

    pub(super) fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.forget(cx.now);
        // Once per lifetime, not once for each packet.
        self.wakes_at = if self.table.is_empty() { Time::NEVER } else { cx.now + self.config.lifetime };
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.table.len()
    }
}
