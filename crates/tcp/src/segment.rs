//! A segment as a plain value. It carries ranges, not bytes: the driver of a connection owns the payload.

use crate::multipath::Multipath;
use crate::scps::{ScpsCapabilities, ScpsOptions};
use bentpipe_units::{Ecn, Seq};

/// Control bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768 §3.1.1).
    pub const AE: Self = Self(0x100);
    /// The sender is in slow start: the signal that delayed acknowledgements after slow start need (RFC 2760 §3.2.3.3).
    /// No standard assigns it. It is the next reserved bit.
    pub const SLOW_START: Self = Self(0x200);
    /// A dummy segment, or the answer to one (Akyildiz, Morabito and Palazzo 2001). On a SYN: this endpoint knows
    /// dummies. No standard assigns it. It is the next reserved bit.
    pub const DUMMY: Self = Self(0x400);

    /// Returns the low twelve bits of the fourth word's first half, which follow the length in a TCP header.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the flags with these header bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns AE, CWR and ECE as a number of three bits: the ACE field of RFC 9768 §3.2.2.
    pub const fn ace(self) -> u8 {
        (self.0 >> 6) as u8 & 7
    }

    /// Returns the flags with this ACE field instead of AE, CWR and ECE.
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> Self {
        Self(self.0 & !(7 << 6) | (ace as u16 & 7) << 6)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SynOptions {
    /// Largest payload, options of later segments included (RFC 9293 §3.7.1).
    pub mss: u16,
    /// Window scale shift (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Fast Open (RFC 7413 §4.1.1).
    pub fast_open: FastOpenOption,
    /// Capabilities of an endpoint of SCPS-TP.
    pub scps: Option<ScpsCapabilities>,
    /// Congestion control for ACKs is permitted (RFC 5690 §4.1).
    pub ack_ratio: bool,
    /// Whether data is acknowledged when the sender polls (Henderson and Katz 1999).
    pub is_polled: bool,
    /// T/TCP: the sender's connection count (RFC 1644 §3.2).
    pub count: CountOption,
    /// T/TCP: the count of the SYN that this one answers, CC.ECHO.
    pub count_echo: Option<u32>,
}

/// The connection count on a SYN (RFC 1644 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CountOption {
    /// No option.
    #[default]
    None,
    /// CC: larger than all earlier connections of this host to the peer.
    Count(u32),
    /// CC.NEW: the peer is to forget its state, and to open by three segments.
    New(u32),
}

impl CountOption {
    /// Returns the count.
    pub const fn get(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Count(count) | Self::New(count) => Some(count),
        }
    }
}

/// The Fast Open option of a SYN (RFC 7413 §4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FastOpenOption {
    /// No option.
    #[default]
    None,
    /// On a SYN: requests a cookie.
    Request,
    /// On a SYN: the cookie that the server gave. On a SYN-ACK: a new cookie. Eight bytes.
    Cookie([u8; 8]),
}

impl SynOptions {
    /// Returns the bytes of the options in the header, padded to words. `timestamps` are counted with them, as both
    /// share padding.
    fn header_len(&self, has_timestamps: bool) -> u8 {
        let window_scale = if self.window_scale.is_some() { 3 } else { 0 };
        let sack_permitted = if self.sack_permitted { 2 } else { 0 };
        let timestamps = if has_timestamps { 10 } else { 0 };
        let fast_open = match self.fast_open {
            FastOpenOption::None => 0,
            FastOpenOption::Request => 2,
            FastOpenOption::Cookie(_) => 10,
        };
        let scps = if self.scps.is_some() { 4 } else { 0 };
        let ack_ratio = if self.ack_ratio { 4 } else { 0 };
        let polled = if self.is_polled { 4 } else { 0 };
        let experiments = ack_ratio + polled;
        let counts = 6 * (u8::from(self.count != CountOption::None) + u8::from(self.count_echo.is_some()));
        (4u8 + window_scale + sack_permitted + timestamps + fast_open + scps + experiments + counts).next_multiple_of(4)
    }
}

/// Ranges of sequence numbers that the receiver holds beyond the cumulative ACK (RFC 2018 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(Seq, Seq); 4],
    len: u8,
}

impl SackBlocks {
    /// Appends [left, right). Ignores blocks beyond the fourth.
    pub fn push(&mut self, left: Seq, right: Seq) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    /// Returns the blocks as (left edge, right edge), the most recent first.
    pub fn as_slice(&self) -> &[(Seq, Seq)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Drops the blocks that do not fit `room` bytes of options. Returns whether any is left.
    pub(crate) fn fit(&mut self, room: usize) -> bool {
        self.len = self.len.min((room.saturating_sub(4) / 8) as u8);
        self.len > 0
    }
}

/// Bytes of options that a header has room for (RFC 9293 §3.1).
pub(crate) const OPTIONS_MAX: usize = 40;

/// Bytes of the option with an ACK ratio, padded to words. It has no assigned number, so it is an experimental option
/// with an identifier (RFC 6994).
pub(crate) const ACK_RATIO_LEN: u32 = 8;

/// Bytes of a connection count, padded to words (RFC 1644 §3.2).
pub(crate) const COUNT_LEN: u32 = 8;

/// Options that only some segments carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Options {
    /// No option.
    #[default]
    None,
    /// On a SYN.
    Syn(SynOptions),
    /// On an ACK with holes before it.
    Sack(SackBlocks),
    /// On an ACK of SCPS-TP with holes before it, or after corruption. On data that ends a record.
    Scps(ScpsOptions),
}

/// Timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The echo of the peer's (TSecr).
    pub echo: u32,
}

impl Timestamps {
    /// Bytes of the option, padded to words.
    pub const LEN: u8 = 12;
}

/// A TCP segment without its payload and without options, like most segments: 16 bytes, kept in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlainSegment {
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// Next sequence number expected; valid with [`Flags::ACK`].
    pub ack: Seq,
    /// Payload bytes.
    pub len: u16,
    /// The window field of the header, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether the payload was sent before. Not on the wire, for counting only.
    pub is_retransmission: bool,
}

impl PlainSegment {
    /// Bytes of its IPv4 and TCP header.
    pub const HEADER_LEN: u8 = 40;

    /// Whether it is a dummy segment or the answer to one.
    #[inline]
    pub fn is_dummy(&self) -> bool {
        self.flags.has(Flags::DUMMY) && !self.flags.has(Flags::SYN)
    }

    /// Returns the sequence number of the first byte of payload, which follows a SYN.
    pub fn data_seq(&self) -> Seq {
        self.seq.at(u64::from(self.flags.has(Flags::SYN)))
    }

    /// Returns the sequence numbers that the segment occupies.
    #[inline]
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}

impl From<PlainSegment> for Segment {
    #[inline(always)]
    fn from(plain: PlainSegment) -> Self {
        let PlainSegment { seq, ack, len, window, flags, ecn, is_retransmission } = plain;
        Self { seq, ack, len, window, flags, ecn, is_retransmission, ..Self::default() }
    }
}

/// A TCP segment without its payload: the fields of a [`PlainSegment`], and its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number of the first byte (or of the SYN).
    pub seq: Seq,
    /// Next sequence number expected; valid with [`Flags::ACK`].
    pub ack: Seq,
    /// Payload bytes.
    pub len: u16,
    /// The window field of the header, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether the payload was sent before. Not on the wire, for counting only.
    pub is_retransmission: bool,
    /// Timestamps, if negotiated.
    pub timestamps: Option<Timestamps>,
    /// The connection count of a connection of T/TCP, except on a SYN (RFC 1644 §3.2).
    pub count: Option<u32>,
    /// On data: the segments per ACK of the receiver (RFC 5690 §4.3).
    pub ack_ratio: Option<u8>,
    /// On a subflow of a multipath connection (RFC 8684), beside all others.
    pub multi: Option<Multipath>,
    /// Rarer options.
    pub options: Options,
}

impl Segment {
    /// Returns the segment without its options.
    #[inline(always)]
    pub fn plain(&self) -> PlainSegment {
        let Self { seq, ack, len, window, flags, ecn, is_retransmission, .. } = *self;
        PlainSegment { seq, ack, len, window, flags, ecn, is_retransmission }
    }

    /// Whether it has no options.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.timestamps.is_none() && !self.has_more_than_timestamps()
    }

    /// Whether it has options other than timestamps.
    #[inline(always)]
    pub fn has_more_than_timestamps(&self) -> bool {
        !matches!(self.options, Options::None)
            || self.count.is_some()
            || self.ack_ratio.is_some()
            || self.multi.is_some()
    }

    /// Returns the bytes of IPv4 and TCP header, with options padded to words: 40 to 100.
    #[inline]
    pub fn header_len(&self) -> u8 {
        let timestamps = if self.timestamps.is_some() { Timestamps::LEN } else { 0 };
        let count = if self.count.is_some() { COUNT_LEN as u8 } else { 0 };
        let ack_ratio = if self.ack_ratio.is_some() { ACK_RATIO_LEN as u8 } else { 0 };
        let rarer = match self.options {
            Options::None => timestamps,
            Options::Syn(syn) => syn.header_len(self.timestamps.is_some()),
            Options::Sack(blocks) => timestamps + 4 + 8 * blocks.len,
            Options::Scps(scps) => timestamps + scps.header_len(),
        };
        let multi = self
            .multi
            .map_or(0, |multi| multi.header_len(self.flags.has(Flags::SYN), self.flags.has(Flags::ACK), self.len > 0));
        PlainSegment::HEADER_LEN + rarer + count + ack_ratio + multi
    }

    /// Returns the sequence number of the first byte of payload, which follows a SYN.
    pub fn data_seq(&self) -> Seq {
        self.plain().data_seq()
    }

    /// Whether it is a dummy segment or the answer to one.
    #[inline]
    pub fn is_dummy(&self) -> bool {
        self.plain().is_dummy()
    }

    /// Returns the sequence numbers that the segment occupies.
    pub fn sequence_len(&self) -> u64 {
        self.plain().sequence_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scps::SnackOption;

    #[test]
    fn codepoints_are_those_of_rfc3168() {
        assert_eq!([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(Ecn::bits), [0b00, 0b01, 0b10, 0b11]);
        assert!((0..4).all(|bits| Ecn::from_bits(bits).bits() == bits));
    }

    #[test]
    fn headers_grow_with_their_options() {
        let plain = Segment { flags: Flags::ACK, ..Segment::default() };
        assert_eq!(plain.header_len(), 40);
        let timestamps = Some(Timestamps { value: 0, echo: 0 });
        assert_eq!(Segment { timestamps, ..plain }.header_len(), 52);
        let mut blocks = SackBlocks::default();
        blocks.push(Seq::new(5000), Seq::new(6000));
        blocks.push(Seq::new(2000), Seq::new(3000));
        assert_eq!(Segment { options: Options::Sack(blocks), ..plain }.header_len(), 60);
        let syn = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, ..SynOptions::default() };
        assert_eq!(Segment { options: Options::Syn(syn), ..plain }.header_len(), 52);
        assert_eq!(Segment { options: Options::Syn(syn), timestamps, ..plain }.header_len(), 60);
        // 4 + 3 + 2 + 10 bytes, with timestamps 10 more.
        let cookie = Options::Syn(SynOptions { fast_open: FastOpenOption::Cookie([7; 8]), ..syn });
        assert_eq!(Segment { options: cookie, ..plain }.header_len(), 60);
        assert_eq!(Segment { options: cookie, timestamps, ..plain }.header_len(), 72);
        let request = Options::Syn(SynOptions { fast_open: FastOpenOption::Request, ..syn });
        assert_eq!(Segment { options: request, ..plain }.header_len(), 52);
        let scps = Options::Syn(SynOptions { scps: Some(ScpsCapabilities::default()), ..syn });
        assert_eq!(Segment { options: scps, ..plain }.header_len(), 56);
        let snack = ScpsOptions { snack: Some(SnackOption::default()), ..ScpsOptions::default() };
        assert_eq!(Segment { options: Options::Scps(snack), timestamps, ..plain }.header_len(), 60);
    }

    #[test]
    fn plain_segments_are_small_and_the_same_without_options() {
        assert_eq!(std::mem::size_of::<PlainSegment>(), 16);
        let plain = PlainSegment { seq: Seq::new(5), len: 7, flags: Flags::ACK, ..PlainSegment::default() };
        let whole = Segment::from(plain);
        assert_eq!((whole.plain(), whole.is_plain(), whole.header_len()), (plain, true, PlainSegment::HEADER_LEN));
        let sack = Segment { options: Options::Sack(SackBlocks::default()), ..whole };
        assert_eq!((sack.plain(), sack.is_plain()), (plain, false));
    }

    #[test]
    fn rfc9768_3_2_2_the_ace_field_is_ae_cwr_ece() {
        let flags = Flags::ACK.with(Flags::FIN);
        assert_eq!(flags.with_ace(0b101), flags.with(Flags::AE).with(Flags::ECE));
        assert!((0..8).all(|ace| flags.with_ace(7).with_ace(ace).ace() == ace));
    }
}
