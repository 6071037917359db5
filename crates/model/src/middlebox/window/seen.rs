//! Knowledge of a node that writes windows into ACKs: connections by their SYNs, and links by their packets.

use crate::ids::LinkId;
use crate::middlebox::Context;
use crate::packet::Packet;
use bentpipe_tcp::Options;
use bentpipe_units::Duration;

/// Time of silence after which a connection is forgotten.
pub(super) const FORGET: Duration = Duration::from_secs(300);

/// Returns the connection of a packet, in both directions, and the end that sent it; 0: its opener.
pub(super) fn origin(packet: &Packet) -> (u64, usize) {
    (packet.conversation() >> 1, usize::from(packet.is_to_sender()))
}

/// Window scales that the SYNs of both ends offered; `None`: not seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scales([Option<Option<u8>>; 2]);

impl Scales {
    /// Reads the SYN of an end.
    pub(super) fn read(&mut self, side: usize, syn: &Packet, cx: &Context<'_>) {
        let options = cx.segment(syn).map(|segment| segment.options);
        self.0[side] = Some(if let Some(Options::Syn(syn)) = options { syn.window_scale } else { None });
    }

    /// Returns the shift of the windows that an end advertises; `None`: unknown.
    pub(super) fn shift(&self, side: usize) -> Option<u8> {
        // RFC 7323 §2.2: both ends must offer it. §2.3: larger shifts count as 14.
        let [Some(one), Some(other)] = self.0 else { return None };
        Some(if one.is_some() && other.is_some() { self.0[side]?.unwrap_or(0).min(14) } else { 0 })
    }
}

/// A link out of the node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port<T> {
    pub(super) link: LinkId,
    /// Largest packet, bytes.
    pub(super) largest: u64,
    pub(super) control: T,
}

/// Returns the index of the port of a link, which is added if it is missing.
pub(super) fn port<T>(ports: &mut Vec<Port<T>>, link: LinkId, control: T) -> usize {
    ports.iter().position(|port| port.link == link).unwrap_or_else(|| {
        ports.push(Port { link, largest: 0, control });
        ports.len() - 1
    })
}
