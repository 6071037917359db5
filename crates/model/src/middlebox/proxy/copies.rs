//! Keeps copies of a sender's segments at a node until the receiver acknowledges them.

use crate::middlebox::Context;
use crate::packet::Packet;
use bentpipe_tcp::{Ecn, Options, SackBlocks, Segment, Timestamps};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A segment with data, a FIN, or both.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) segment: Segment,
    /// Time when it left last; `None`: it did not leave yet, or is to be retransmitted.
    pub(super) sent: Option<Time>,
    /// Whether it left more than once, so that its acknowledgement gives no round-trip sample (P. Karn and C. Partridge
    /// 1987).
    pub(super) is_resent: bool,
    pub(super) is_sacked: bool,
}

/// Copies of one direction of a connection. Positions are offsets from the sender's first byte of data.
#[derive(Clone, Debug)]
pub struct Copies {
    first: Seq,
    all: BTreeMap<u64, Copy>,
    /// Copies that have not left or are to be retransmitted, so that an ACK need not visit the others.
    unsent: BTreeSet<u64>,
    /// Copies that no SACK block has reported.
    unreported: BTreeSet<u64>,
    bytes: u64,
    /// Offset that the receiver has acknowledged.
    pub(super) acked: u64,
    pub(super) srtt: Option<Duration>,
    /// Place of the sender's FIN.
    pub(super) fin_at: Option<u64>,
    /// Timeouts since the last acknowledgement of a copy.
    pub(super) backoff: u32,
    /// Time of the last packet of the connection.
    pub(super) last_packet: Time,
    /// A packet of the sender, for addresses.
    pub(super) from_sender: Packet,
    /// Latest fields of the sender: acknowledgement, window, timestamps.
    latest: (Seq, u16, Option<Timestamps>),
}

impl Copies {
    /// Creates the direction that `packet`, with this SYN, opens.
    pub(super) fn new(packet: &Packet, syn: &Segment, now: Time) -> Self {
        Self {
            first: syn.seq.at(1),
            all: BTreeMap::new(),
            unsent: BTreeSet::new(),
            unreported: BTreeSet::new(),
            bytes: 0,
            acked: 0,
            srtt: None,
            fin_at: None,
            backoff: 0,
            last_packet: now,
            from_sender: *packet,
            latest: (syn.ack, syn.window, syn.timestamps),
        }
    }

    /// Returns the offset of a sequence number.
    pub(super) fn offset(&self, seq: Seq) -> u64 {
        seq.offset_near(self.first, self.acked)
    }

    /// Returns the sequence number at an offset.
    pub(super) fn seq(&self, offset: u64) -> Seq {
        self.first.at(offset)
    }

    /// Notes the fields of a segment of the sender.
    pub(super) fn note(&mut self, segment: &Segment) {
        self.latest = (segment.ack, segment.window, segment.timestamps);
    }

    /// Returns the sender's last timestamp.
    pub(super) fn timestamp(&self) -> Option<u32> {
        self.latest.2.map(|stamps| stamps.value)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn get(&self, offset: u64) -> Option<&Copy> {
        self.all.get(&offset)
    }

    pub(super) fn oldest(&self) -> Option<&Copy> {
        self.all.values().next()
    }

    /// Returns the end of the copies.
    pub(super) fn end(&self) -> u64 {
        self.all.last_key_value().map_or(self.acked, |(offset, copy)| offset + copy.segment.sequence_len())
    }

    /// Keeps a segment that left at `sent`.
    pub(super) fn insert(&mut self, segment: &Segment, sent: Option<Time>) {
        let copy = Copy { segment: *segment, sent, is_resent: false, is_sacked: false };
        let offset = self.offset(segment.data_seq());
        self.bytes += u64::from(segment.len);
        self.unreported.insert(offset);
        match sent {
            None => self.unsent.insert(offset),
            Some(_) => self.unsent.remove(&offset),
        };
        if let Some(old) = self.all.insert(offset, copy) {
            self.bytes -= u64::from(old.segment.len);
        }
    }

    /// Frees copies before `ack`, which the receiver has. `is_prompt`: since it arrived, not since a hole was filled.
    pub(super) fn free_to(&mut self, now: Time, ack: u64, is_prompt: bool) {
        let mut last = None;
        self.acked = self.acked.max(ack);
        while let Some(first) = self.all.first_entry() {
            if first.key() + first.get().segment.sequence_len() > ack {
                break;
            }
            let (offset, copy) = first.remove_entry();
            self.unsent.remove(&offset);
            self.unreported.remove(&offset);
            self.bytes -= u64::from(copy.segment.len);
            last = copy.sent.filter(|_| !copy.is_resent && !copy.is_sacked);
        }
        if let Some(sample) = last.filter(|_| is_prompt).map(|sent| now - sent) {
            // RFC 6298 §2.3: an eighth of each sample.
            self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
        }
    }

    /// Marks the copy at `offset` as retransmitted by the sender.
    pub(super) fn forget_sample(&mut self, offset: u64, now: Time) {
        if let Some(copy) = self.all.get_mut(&offset) {
            (copy.is_resent, copy.sent) = (true, Some(now));
            self.unsent.remove(&offset);
        }
    }

    /// Marks the blocks that SACK reports. Returns the end of the last one.
    pub(super) fn mark(&mut self, blocks: &SackBlocks) -> u64 {
        let mut end = self.acked;
        for &(left, right) in blocks.as_slice() {
            let (left, right) = (self.offset(left), self.offset(right));
            if left < self.acked || right < left {
                continue;
            }
            end = end.max(right);
            while let Some(&offset) = self.unreported.range(left..right).next() {
                self.unreported.remove(&offset);
                self.all.entry(offset).and_modify(|copy| copy.is_sacked = true);
            }
        }
        end
    }

    /// Sends the copy at `offset`, for the first time or as a retransmission.
    pub(super) fn send(&mut self, offset: u64, cx: &mut Context<'_>) {
        let Some(copy) = self.all.get_mut(&offset) else { return };
        copy.is_resent |= copy.sent.is_some() || copy.is_resent;
        copy.sent = Some(cx.now);
        self.unsent.remove(&offset);
        let (ack, window, timestamps) = self.latest;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable.
        let ecn = if copy.is_resent { Ecn::NotEct } else { copy.segment.ecn };
        // Receivers reject an old timestamp (RFC 7323 §5.2).
        let segment = Segment {
            ack,
            window,
            timestamps,
            options: Options::None,
            ecn,
            is_retransmission: copy.is_resent,
            ..copy.segment
        };
        if let Some(packet) = cx.answer(&self.from_sender.turned(), &segment) {
            cx.emit(packet);
        }
    }

    /// Returns the offsets of copies before `end` that no SACK block reported and that did not leave within `span`.
    pub(super) fn holes(&self, now: Time, end: u64, span: Duration) -> Vec<u64> {
        let is_open =
            |offset: &&u64| self.all.get(offset).is_some_and(|copy| copy.sent.is_none_or(|sent| sent + span <= now));
        self.unreported.range(..end).filter(is_open).copied().collect()
    }

    /// Returns the offsets of copies that have not left, from `from` on.
    pub(super) fn unsent(&self, from: u64, until: u64) -> Vec<u64> {
        let end = |offset: &u64| offset + self.all.get(offset).map_or(0, |copy| copy.segment.sequence_len());
        let fits = |offset: &&u64| end(offset) <= until;
        self.unsent.range(from..).take_while(fits).copied().collect()
    }

    /// Schedules all copies that the receiver has not reported for retransmission.
    pub(super) fn restart(&mut self) {
        for (offset, copy) in self.all.iter_mut().filter(|(_, copy)| !copy.is_sacked) {
            copy.is_resent |= copy.sent.is_some();
            copy.sent = None;
            self.unsent.insert(*offset);
        }
    }
}
