//! Counters of a link.

use super::queue::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_units::Time;

/// Counters of a link, up to the instant of its last `advance`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) offered: u64,
    pub(crate) carried: u64,
    pub(crate) carried_bytes: u64,
    pub(crate) busy_ps: u64,
    pub(crate) corrupted: u64,
    pub(crate) dropped: u64,
    pub(crate) backlog_bytes_max: u64,
}

impl LinkCounters {
    /// Counts a packet that is lost at `now`, and adds it to the losses.
    pub(super) fn lose(&mut self, now: Time, mut packet: Packet, cause: Cause, losses: &mut Losses) {
        self.dropped += 1;
        packet.at = now;
        losses.push((packet, cause));
    }

    /// Counts losses of the queue at this instant.
    pub(super) fn note_dropped(&mut self, at: Time, lost: &mut [(Packet, Cause)]) {
        self.dropped += lost.len() as u64;
        lost.iter_mut().for_each(|(packet, _)| packet.at = at);
    }

    /// Counts a packet that its carrier refused for this link and others.
    pub(crate) fn note_refused(&mut self) {
        self.offered += 1;
        self.dropped += 1;
    }

    /// Counts a packet that was truncated or erased on this link.
    pub(crate) fn note_lost(&mut self) {
        self.dropped += 1;
    }
}

/// Packets of a link at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkAtEnd {
    /// Packets on the link or waiting for it.
    pub(crate) packets: usize,
    /// Packets whose transmission has not begun.
    pub(crate) waiting: usize,
    /// Whether the link is there and has no outage.
    pub(crate) is_up: bool,
}
