//! The satellite of BEEN: records the fate of packets that gateways have numbered, and reports it to them.

use super::{to_words, BeenConfig, OPTION};
use crate::ids::NodeId;
use crate::middlebox::Context;
use crate::packet::{Label, Packet, Records};
use std::collections::{BTreeMap, VecDeque};

/// Largest number of waiting records per gateway. The oldest are forgotten. The longest run has eight.
const RUNS_MAX: usize = 1 << 12;

/// Records that make a list long.
const LONG: u32 = 8;

/// State for all gateways that send through this satellite.
#[derive(Clone, Debug)]
pub struct Satellite {
    config: BeenConfig,
    /// Adjacent nodes that know BEEN.
    pub(super) next_satellites: Vec<NodeId>,
    /// Waiting records of each gateway.
    lists: BTreeMap<NodeId, List>,
}

/// Records, in the order of their packets.
#[derive(Clone, Debug)]
struct List {
    runs: VecDeque<Records>,
    waiting: u32,
    /// A packet on the path back to the gateway, up to the end of its route.
    back: Packet,
}

impl List {
    fn add(&mut self, id: u32, is_corrupted: bool) {
        if self.runs.len() == RUNS_MAX {
            self.waiting -= self.runs.pop_front().map_or(0, |run| u32::from(run.count));
        }
        self.waiting += 1;
        if let Some(last) = self.runs.back_mut() {
            if last.count < Records::MOST && last.first.wrapping_add(last.count.into()) == id {
                last.corrupted |= u8::from(is_corrupted) << last.count;
                last.count += 1;
                return;
            }
        }
        self.runs.push_back(Records { first: id, count: 1, corrupted: is_corrupted.into() });
    }

    /// Takes the records that one packet carries.
    fn take(&mut self, config: &BeenConfig) -> Option<Records> {
        let most = if self.waiting > LONG { config.records_when_long } else { config.records } as u8;
        let first = self.runs.front_mut()?;
        let taken = Records { count: first.count.min(most), ..*first };
        self.waiting -= u32::from(taken.count);
        if taken.count == first.count {
            self.runs.pop_front();
            return Some(taken);
        }
        first.first = first.first.wrapping_add(taken.count.into());
        first.count -= taken.count;
        first.corrupted >>= taken.count;
        Some(Records { corrupted: taken.corrupted & ((1 << taken.count) - 1), ..taken })
    }
}

impl Satellite {
    pub(super) fn new(config: BeenConfig) -> Self {
        Self { config, next_satellites: Vec::new(), lists: BTreeMap::new() }
    }

    pub(super) fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !packet.is_segment() {
            return cx.forward(packet);
        }
        let next = cx.next_node(&packet);
        if let Some(Label::Numbered { by, id, is_recorded }) = cx.label(&packet) {
            if !is_recorded {
                self.record(by, id, false, &packet, cx);
            }
            let goes_on = self.config.inter_satellite
                && next.is_some_and(|next| self.next_satellites.binary_search(&next).is_ok());
            if goes_on {
                cx.set_label(&mut packet, Label::Numbered { by, id, is_recorded: true }, self.config.option_len());
            } else {
                cx.take_label(&mut packet);
            }
        }
        if let (None, Some(list)) = (cx.label(&packet), next.and_then(|next| self.lists.get_mut(&next))) {
            if let Some(records) = list.take(&self.config) {
                cx.set_label(&mut packet, Label::Records(records), self.config.option_len() * records.count);
            }
        }
        cx.forward(packet);
    }

    pub(super) fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        match cx.label(packet) {
            Some(Label::Numbered { by, id, is_recorded: false }) => self.record(by, id, true, packet, cx),
            Some(Label::Numbered { by, id, is_recorded: true }) => {
                // The gateway is further away. Other nodes carry records to it, so this record travels in a separate
                // packet.
                let record = Records { first: id, count: 1, corrupted: 1 };
                cx.send_options(packet, by, to_words(record, true), true, 0);
            }
            _ => {}
        }
    }

    fn record(&mut self, gateway: NodeId, id: u32, is_corrupted: bool, packet: &Packet, cx: &mut Context<'_>) {
        let back = packet.turned().header();
        let list = self.lists.entry(gateway).or_insert_with(|| List { runs: VecDeque::new(), waiting: 0, back });
        list.back = back;
        list.add(id, is_corrupted);
        Self::send_if_idle(gateway, list, &self.config, cx);
    }

    /// Sends waiting records in a separate packet when a link is idle.
    pub(super) fn probe(&mut self, cx: &mut Context<'_>) {
        for (&gateway, list) in &mut self.lists {
            Self::send_if_idle(gateway, list, &self.config, cx);
        }
    }

    /// Sends records in a separate packet if no waiting packet could carry them.
    fn send_if_idle(gateway: NodeId, list: &mut List, config: &BeenConfig, cx: &mut Context<'_>) {
        if list.waiting == 0 || cx.queue(&list.back).is_none_or(|queue| queue.packets > 0) {
            return;
        }
        if let Some(records) = list.take(config) {
            let more = u16::from(OPTION) * u16::from(records.count - 1);
            cx.send_options(&list.back, gateway, to_words(records, false), false, more);
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> u32 {
        self.lists.values().map(|list| list.waiting).sum()
    }
}
