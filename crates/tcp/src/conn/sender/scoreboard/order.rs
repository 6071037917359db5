//! Outstanding segments in the order of time (RFC 8985 §6.2): those of one instant in the order of sequence.
//!
//! Only retransmissions leave out of the order of sequence. So the order is in a list only while a retransmitted segment is
//! outstanding. Otherwise the ring of the scoreboard has it, and no ACK pays for a list.

use super::{Sent, SACKED};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Transmissions in the order of time, stale ones among them.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeOrder(pub(super) VecDeque<Transmission>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) index: u64,
    pub(super) xmit_ts: Time,
}

impl Transmission {
    /// Whether that was the last transmission of a segment of `ring`, which starts at index `base`, and may be on its way.
    pub(super) fn is_current(self, base: u64, ring: &VecDeque<Sent>) -> bool {
        let sent = self.index.checked_sub(base).and_then(|at| ring.get(at as usize));
        sent.is_some_and(|sent| sent.xmit_ts == self.xmit_ts && sent.is_on_its_way())
    }
}

impl TimeOrder {
    /// Lists the segments of `ring`, which starts at index `base`.
    pub(super) fn list(&mut self, base: u64, ring: &VecDeque<Sent>) {
        let outstanding = (base..).zip(ring).filter(|(_, sent)| !sent.has(SACKED));
        self.0.clear();
        self.0.extend(outstanding.map(|(index, sent)| Transmission { index, xmit_ts: sent.xmit_ts }));
        self.0.make_contiguous().sort_by_key(|sent| sent.xmit_ts);
    }

    /// Segment `index` leaves now, new or again.
    pub(super) fn add(&mut self, index: u64, now: Time) {
        let transmission = Transmission { index, xmit_ts: now };
        let later = self.0.iter().rev().take_while(|last| last.xmit_ts == now && last.index > index).count();
        if later == 0 {
            // Almost always; to insert there would cost more.
            self.0.push_back(transmission);
        } else {
            self.0.insert(self.0.len() - later, transmission);
        }
    }
}
