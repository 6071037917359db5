//! Converts fields of a TCP header (sequence numbers, timestamps, windows) to the offsets that the parts use, and back.

use super::clock::clock;
use super::context::Context;
use super::events::Event;
use super::forms::Layers;
use super::receiver::Receiver;
use super::sender::{Ack, EcnEcho, SackRanges, SendSpace, Sending};
use super::timers::Timer;
use crate::config::DuplicateAcks;
use crate::segment::{Flags, Options, PlainSegment, Segment, Timestamps, COUNT_LEN, OPTIONS_MAX};
use bentpipe_units::{Duration, Ecn, Seq, Time};

/// RFC 7323 §5.5: after this long without a segment old timestamps prove nothing.
const PAWS_IDLE: Duration = Duration::from_secs(24 * 86_400);

/// State that the headers of a connection depend on.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Initial sequence numbers, ours and the peer's.
    pub(crate) iss: Seq,
    pub(crate) irs: Seq,
    /// RFC 9293 §3.3.1, SND.WL1 and SND.WL2: the segment that the window was last updated by.
    wl1: Seq,
    wl2: u64,
    /// RFC 7323 §4.3, TS.Recent, when it was stored, and Last.ACK.sent.
    pub(crate) ts_recent: u32,
    ts_recent_at: Time,
    last_ack_sent: u64,
    pub(crate) pending: Pending,
}

/// Segments without data that wait to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    pub(crate) syn: bool,
    /// A reset, with this sequence number.
    pub(crate) rst: Option<Seq>,
    /// A segment that asks for the peer's window, or whether the peer is there.
    pub(crate) window_probe: bool,
    /// Keepalive probes in a row that got no answer.
    pub(crate) unanswered: u8,
    /// An ACK that must not be merged with the next waits in the receiver's ECN state.
    pub(crate) owed: bool,
}

impl Pending {
    /// Whether a segment must not wait for data.
    #[inline]
    pub(crate) fn is_any(self) -> bool {
        self.syn | self.rst.is_some() | self.window_probe | self.owed
    }
}

impl Wire {
    pub(crate) fn new(iss: Seq) -> Self {
        Self {
            iss,
            irs: Seq::new(0),
            wl1: Seq::new(0),
            wl2: 0,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            last_ack_sent: 0,
            pending: Pending::default(),
        }
    }

    /// The peer's SYN was numbered so.
    pub(crate) fn set_irs(&mut self, irs: Seq) {
        (self.irs, self.wl1) = (irs, irs);
    }

    /// The sequence number of our byte at `offset`.
    #[inline]
    pub(crate) fn ours(&self, offset: u64) -> Seq {
        self.iss.at(1 + offset)
    }

    /// The sequence number of the peer's byte at `offset`.
    #[inline]
    pub(crate) fn peers(&self, offset: u64) -> Seq {
        self.irs.at(1 + offset)
    }

    #[inline]
    pub(crate) fn ack_field(&self, receiver: &Receiver) -> Seq {
        self.peers(receiver.ack_offset())
    }

    /// The offset that a segment acknowledges.
    #[inline]
    pub(crate) fn acked_offset(&self, ack: Seq, una: u64) -> u64 {
        ack.offset_near(self.ours(0), una)
    }

    /// The offset of the peer's byte `seq`; none from before its first byte.
    #[inline]
    pub(crate) fn peers_offset(&self, seq: Seq, nxt: u64) -> Option<u64> {
        let first = self.peers(0);
        let start = seq.offset_near(first, nxt);
        (first.at(start) == seq).then_some(start)
    }

    /// Whether a segment without data whose sequence number is not the next wants an answer: a probe, or an old ACK.
    pub(crate) fn is_probe(&self, seq: Seq, expected: u64) -> bool {
        seq.offset_near(self.peers(0), expected) < expected || seq == self.irs
    }

    /// A segment without data and options.
    #[inline(always)]
    fn plain(&mut self, seq: Seq, ack: Seq, flags: Flags, receiver: &mut Receiver, cx: &mut Context) -> PlainSegment {
        let window = receiver.window(cx.agreed.rcv_shift);
        receiver.on_ack_sent(&mut cx.timers);
        self.last_ack_sent = receiver.ack_offset();
        cx.counters.sent_segments += 1;
        PlainSegment { seq, ack, len: 0, window, flags, ecn: Ecn::NotEct, is_retransmission: false }
    }

    /// As `plain`, with timestamps, if they were agreed on.
    pub(crate) fn bare_segment(
        &mut self,
        now: Time,
        seq: Seq,
        ack: Seq,
        flags: Flags,
        receiver: &mut Receiver,
        cx: &mut Context,
    ) -> Segment {
        let timestamps = self.stamp(now, cx);
        Segment { timestamps, ..self.plain(seq, ack, flags, receiver, cx).into() }
    }

    /// A pure ACK.
    #[inline(always)]
    pub(crate) fn ack_segment(&mut self, snd_nxt: u64, receiver: &mut Receiver, cx: &mut Context) -> PlainSegment {
        self.plain(self.ours(snd_nxt), self.ack_field(receiver), Flags::ACK, receiver, cx)
    }

    /// A segment with data, a FIN, or both.
    #[inline(always)]
    pub(crate) fn data_segment(&mut self, sending: Sending, receiver: &mut Receiver, cx: &mut Context) -> PlainSegment {
        let Sending { range, is_retransmission } = sending;
        let flags = if range.has_fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        let plain = self.plain(self.ours(range.start), self.ack_field(receiver), flags, receiver, cx);
        PlainSegment { len: range.payload() as u16, is_retransmission, ..plain }
    }

    /// Returns the options of the next ACK, with or without data. Call this before the segment is made.
    #[inline(always)]
    pub(crate) fn options(&self, now: Time, receiver: &mut Receiver, cx: &Context) -> (Option<Timestamps>, Options) {
        (self.stamp(now, cx), self.reports(receiver, cx))
    }

    /// Returns the reports of an ACK beside the cumulative acknowledgement.
    #[inline(always)]
    fn reports(&self, receiver: &mut Receiver, cx: &Context) -> Options {
        if has_sack(receiver, cx) {
            self.sack_option(receiver, cx)
        } else if receiver.extras.is_some() {
            receiver.snack_options(report_room(cx))
        } else {
            Options::None
        }
    }

    #[inline(never)]
    fn sack_option(&self, receiver: &Receiver, cx: &Context) -> Options {
        // RFC 2018 §3: three blocks beside timestamps, four without.
        let max = (report_room(cx) - 4) / 8;
        Options::Sack(receiver.sack_blocks(self.peers(0), max, cx.config.dsack))
    }

    /// PAWS and the echo rule (RFC 7323 §4.3, §5.3). False: the segment is from the past.
    #[inline(always)]
    pub(crate) fn accept_timestamps(
        &mut self,
        now: Time,
        segment: Layers<'_>,
        receiver: &mut Receiver,
        cx: &Context,
    ) -> bool {
        if !cx.agreed.timestamps {
            return true;
        }
        let Some(timestamps) = segment.timestamps else { return false };
        let is_older = (timestamps.value.wrapping_sub(self.ts_recent) as i32) < 0;
        if is_older && now.saturating_since(self.ts_recent_at) < PAWS_IDLE {
            receiver.ack_soon();
            return false;
        }
        let start = segment.plain.seq.offset_near(self.peers(0), self.last_ack_sent);
        if start <= self.last_ack_sent {
            self.ts_recent = timestamps.value;
            self.ts_recent_at = now;
        }
        true
    }

    /// Returns the timestamps of a segment that leaves now.
    #[inline(always)]
    pub(crate) fn stamp(&self, now: Time, cx: &Context) -> Option<Timestamps> {
        cx.agreed.timestamps.then(|| self.timestamps(now))
    }

    /// Our clock (1 ms) and the echo of the peer's.
    #[inline]
    pub(crate) fn timestamps(&self, now: Time) -> Timestamps {
        Timestamps { value: clock(now), echo: self.ts_recent }
    }

    /// RFC 9293 §3.10.7.4: a window counts if it is newer. Returns whether it is the one already known.
    #[inline(always)]
    pub(crate) fn update_window(
        &mut self,
        segment: &PlainSegment,
        ack: u64,
        space: &mut SendSpace,
        cx: &mut Context,
    ) -> bool {
        let window = u64::from(segment.window) << cx.agreed.snd_shift;
        let is_newer_seq = (segment.seq.value().wrapping_sub(self.wl1.value()) as i32) > 0;
        let is_newer = is_newer_seq || (segment.seq == self.wl1 && self.wl2 <= ack);
        if is_newer {
            (self.wl1, self.wl2) = (segment.seq, ack);
        }
        if window == space.rwnd {
            return true;
        }
        if is_newer {
            if window == 0 {
                cx.report(Event::ZeroWindow(ack));
            }
            space.rwnd = window;
            space.rwnd_largest = space.rwnd_largest.max(window);
            space.persist_backoff = 1;
            cx.timers.stop(Timer::Persist);
        }
        cx.config.duplicate_acks == DuplicateAcks::AnyWindow
    }

    /// Returns the blocks of a SACK option that lie in the outstanding data above `una`.
    #[inline(never)]
    pub(crate) fn read_sack(&self, blocks: &[(Seq, Seq)], una: u64, nxt: u64) -> SackRanges {
        let first = self.ours(0);
        let mut ranges = SackRanges::new(self.reported_duplicate(blocks, una));
        for &(left, right) in blocks {
            let (left, right) = (left.offset_near(first, una), right.offset_near(first, una));
            if una <= left && left < right && right <= nxt {
                ranges.push(left, right);
            }
        }
        ranges
    }

    /// RFC 2883 §5: the first block is a duplicate if it lies below the cumulative ACK or in the second block.
    fn reported_duplicate(&self, blocks: &[(Seq, Seq)], una: u64) -> Option<(u64, u64)> {
        let first = self.ours(0);
        let range = |block: &(Seq, Seq)| {
            let (left, right) = (block.0.offset_near(first, una), block.1.offset_near(first, una));
            (left < right && first.at(left) == block.0).then_some((left, right))
        };
        let reported = range(blocks.first()?)?;
        let around = blocks.get(1).and_then(range);
        let is_inside = around.is_some_and(|around| around.0 <= reported.0 && reported.1 <= around.1);
        (reported.1 <= una || is_inside).then_some(reported)
    }
}

/// Bytes of options that timestamps and connection count leave for the reports of an ACK.
fn report_room(cx: &Context) -> usize {
    let timestamps = if cx.agreed.timestamps { usize::from(Timestamps::LEN) } else { 0 };
    let count = if cx.agreed.counts { COUNT_LEN as usize } else { 0 };
    OPTIONS_MAX - timestamps - count
}

/// Whether the next ACK reports data beyond a hole, or a duplicate.
#[inline(always)]
pub(crate) fn has_sack(receiver: &Receiver, cx: &Context) -> bool {
    cx.agreed.sack && (receiver.has_holes() || (receiver.has_duplicate() && cx.config.dsack))
}

/// Returns the acknowledgement of a segment, at `offset`; `sacked` was read from its SACK option.
#[inline(always)]
pub(crate) fn read_ack<'a>(
    segment: Layers<'a>,
    offset: u64,
    is_same_window: bool,
    sacked: Option<&'a SackRanges>,
) -> Ack<'a> {
    Ack {
        offset,
        is_duplicate: is_same_window && segment.plain.sequence_len() == 0,
        is_pure: segment.is_pure(),
        timestamps: segment.timestamps,
        sacked,
        scps: match segment.options() {
            Options::Scps(options) => Some(options),
            _ => None,
        },
    }
}

/// Returns the feedback of marks in a segment.
pub(crate) fn read_ecn(segment: Layers<'_>) -> EcnEcho {
    let flags = segment.plain.flags;
    EcnEcho { ace: flags.ace(), ece: flags.has(Flags::ECE), is_pure: segment.is_pure() }
}
