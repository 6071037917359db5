//! Content of an acknowledgement, and the facts derived from it.

use super::scoreboard::{Acked, Entered, Scoreboard};
use crate::scps::ScpsOptions;
use crate::segment::Timestamps;

/// Content of an acknowledgement, in offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// Everything below arrived.
    pub(crate) offset: u64,
    /// It carries no data and changes no window: RFC 5681 §2 calls it a duplicate if it acknowledges nothing new.
    pub(crate) is_duplicate: bool,
    /// It carries neither data nor reports.
    pub(crate) is_pure: bool,
    /// Two clocks of a millisecond, where that was agreed on (RFC 7323).
    pub(crate) timestamps: Option<Timestamps>,
    /// Data that arrived beyond `offset`, where SACK was agreed on.
    pub(crate) sacked: Option<&'a SackRanges>,
    /// Options of SCPS-TP: missing data, or a report of corruption.
    pub(crate) scps: Option<&'a ScpsOptions>,
}

impl Ack<'_> {
    #[inline]
    pub(crate) fn ranges(&self) -> &[(u64, u64)] {
        self.sacked.map_or(&[], SackRanges::as_slice)
    }

    /// Whether it came with data, and reports nothing beyond `offset`.
    #[inline]
    pub(crate) fn has_only_data(&self) -> bool {
        !self.is_pure && self.sacked.is_none() && self.scps.is_none()
    }
}

/// Selective acknowledgements, in offsets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackRanges {
    ranges: [(u64, u64); 4],
    len: u8,
    /// The duplicate that the ACK reports (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
}

impl SackRanges {
    pub(crate) fn new(dsack: Option<(u64, u64)>) -> Self {
        Self { dsack, ..Self::default() }
    }

    /// Beyond four nothing happens.
    pub(crate) fn push(&mut self, left: u64, right: u64) {
        if let Some(slot) = self.ranges.get_mut(usize::from(self.len)) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges[..usize::from(self.len)]
    }
}

/// Facts that follow from an acknowledgement, after the scoreboard has entered it. Computed once; every part reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckFacts {
    /// Bytes that it acknowledged cumulatively for the first time.
    pub(crate) newly_acked: u64,
    /// Bytes that it reported selectively for the first time.
    pub(crate) newly_sacked: u64,
    /// Which of the segments that it covers give a round-trip sample.
    pub(crate) acked: Acked,
    /// It acknowledges nothing new, and is a duplicate as RFC 5681 §2 has it.
    pub(crate) is_duplicate: bool,
    /// It carries neither data nor reports.
    pub(crate) is_pure: bool,
    /// The duplicate that it reports (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
    /// It ended loss recovery.
    pub(crate) ends_recovery: bool,
}

impl AckFacts {
    /// Enters an ACK into the scoreboard, which `advances` SND.UNA from `una` on, or not.
    #[inline(always)]
    pub(super) fn of(ack: &Ack<'_>, una: u64, advances: bool, board: &mut Scoreboard) -> Self {
        let newly_acked = ack.offset - una;
        let advanced = if advances { Some(ack.offset) } else { None };
        let Entered { acked, newly_sacked } = board.enter(advanced, ack.ranges());
        Self {
            newly_acked,
            newly_sacked,
            acked,
            is_duplicate: !advances && ack.is_duplicate && board.flight_size() > 0,
            is_pure: ack.is_pure,
            dsack: ack.sacked.and_then(|sacked| sacked.dsack),
            ends_recovery: false,
        }
    }
}
