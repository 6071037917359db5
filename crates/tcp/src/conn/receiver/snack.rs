//! SNACK at the receiver (SCPS-TP, CCSDS 714.0-B): chooses the hole that the next ACK reports.
//!
//! When a gap opens or is filled, the holes are reported in ascending order. Each ACK reports one, or as many as the
//! bit vector of the long form holds. The first hole, at the acknowledged byte, is reported up to three times, the
//! others once.
//!
//! Readings. Corruption is reported on as many ACKs as the first hole. The bits of the vector only report holes; there is no bit
//! for data that end between two units.

use super::reassembly::Reassembly;
use crate::config;
use crate::scps::{BitVector, ScpsOptions, SnackOption};
use crate::segment::Options;

/// Reports of missing data.
#[derive(Clone, Debug)]
pub(crate) struct SnackReports {
    settings: config::Snack,
    /// Bytes of a segment as agreed on: holes are reported in these.
    unit: u64,
    has_vector: bool,
    turn: Turn,
    /// ACKs left that report corruption.
    corrupted: u32,
}

/// Which hole is reported next.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    is_due: bool,
    /// Reports since the last gap opened or was filled.
    count: u32,
    /// End of the last hole that was reported.
    next: u64,
}

impl Turn {
    fn next_hole(&mut self, data: &mut Reassembly, resnacks: u32) -> Option<(u64, u64)> {
        if data.take_gap_news() && !self.is_due {
            *self = Self { is_due: true, ..Self::default() };
        }
        if !self.is_due {
            return None;
        }
        let from = if self.count < resnacks { data.nxt } else { self.next.max(data.nxt) };
        let hole = data.hole_after(from);
        self.is_due = hole.is_some();
        self.count = self.count.saturating_add(1);
        self.next = hole?.1;
        hole
    }
}

impl SnackReports {
    pub(crate) fn new(settings: config::Snack, smss: u32, has_vector: bool) -> Self {
        Self { settings, unit: u64::from(smss), has_vector, turn: Turn::default(), corrupted: 0 }
    }

    /// A packet of the peer arrived corrupted; the next ACKs report it, if that was agreed on.
    pub(crate) fn on_corrupted(&mut self) {
        if self.settings.corruption_experienced {
            self.corrupted = self.settings.resnacks;
        }
    }

    /// Returns the options of the next ACK, of at most `room` bytes.
    pub(super) fn options(&mut self, data: &mut Reassembly, room: usize) -> Options {
        // Beside the other fields of SNACK, and a report of corruption.
        let vector_max = BitVector::BYTES_MAX.min(room - 8);
        let corruption_experienced = self.corrupted > 0;
        self.corrupted = self.corrupted.saturating_sub(1);
        let snack = self.report(data, vector_max);
        let options = ScpsOptions { snack, corruption_experienced, record_boundary: false };
        if options == ScpsOptions::default() {
            Options::None
        } else {
            Options::Scps(options)
        }
    }

    /// Returns the next report, with a bit vector of at most `vector_max` bytes.
    fn report(&mut self, data: &mut Reassembly, vector_max: usize) -> Option<SnackOption> {
        let (start, end) = self.turn.next_hole(data, self.settings.resnacks)?;
        let (acked, unit) = (data.nxt, self.unit);
        let offset = (start - acked) / unit;
        // Beyond what 16 bits can say nothing is reported.
        let offset = u16::try_from(offset).ok()?;
        let size = (end - start).div_ceil(unit).min(u64::from(u16::MAX)) as u16;
        let mut beyond = BitVector::default();
        if self.has_vector {
            let first = acked + (u64::from(offset) + u64::from(size)) * unit;
            for at in 0..8 * vector_max {
                let start = first + at as u64 * unit;
                if data.holds(start, start + unit) {
                    beyond.set(at);
                    self.turn.next = self.turn.next.max(start);
                }
            }
        }
        Some(SnackOption { offset, size, beyond })
    }
}
