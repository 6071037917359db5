//! State of a connection that is a subflow of a multipath connection (RFC 8684). It maps the bytes of the subflow to
//! data, and holds the state of all data that the headers of its segments carry. The [meta](crate::multi::Meta) above
//! it decides both.

use super::given::Given;
use crate::multipath::{Dss, Multipath, SubflowReset};
use crate::segment::{Options, PlainSegment, Segment, OPTIONS_MAX};
use std::collections::VecDeque;

/// State of all data of a multipath connection, which every subflow signals to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedWindow {
    /// Everything below has arrived in order.
    pub data_ack: u64,
    /// Room of the one receive buffer from there on, bytes.
    pub window: u64,
    /// End of the data that this endpoint sends, once it is known.
    pub fin: Option<u64>,
}

/// Data that wait above a connection, and were not offered to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// No data.
    #[default]
    None,
    /// Data wait, and the receive window has no room for them. The application is not the limit of the connection.
    Held,
    /// Data come as soon as the connection has room: nothing is retransmitted in their place.
    Comes,
}

/// Bytes of a subflow, and the data that they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Offset in the subflow of the first byte.
    pub(crate) start: u64,
    /// Offset in the data of the first byte.
    pub(crate) dsn: u64,
    pub(crate) len: u64,
    /// Whether the data were queued for another subflow, too.
    pub(crate) is_reinjected: bool,
}

impl Mapping {
    /// End of the data.
    pub(crate) fn end(&self) -> u64 {
        self.dsn + self.len
    }
}

/// State of a subflow.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    /// The option of its handshake: [`Multipath::Capable`] or [`Multipath::Join`].
    pub(crate) opening: Multipath,
    /// Whether both SYNs had it.
    pub(crate) is_agreed: bool,
    /// Whether the window grows by the coupled increase of its siblings.
    pub(crate) is_coupled: bool,
    /// The handshake has a third segment with the option that was not sent.
    pub(crate) owes_third: bool,
    /// A joining opener waits for an answer to that segment before it sends data (RFC 8684 §3.2).
    pub(crate) awaits_fourth: bool,
    /// The first data repeat the keys of the handshake: no signal of the peer has arrived (RFC 8684 §3.1).
    pub(crate) repeats_keys: bool,
    /// The next data tell the peer that no data after them have a mapping (RFC 8684 §3.7).
    pub(crate) owes_infinite: bool,
    /// An option to send once, without data.
    pub(crate) told: Option<Multipath>,
    /// The option of a reset.
    farewell: Option<Multipath>,
    pub(crate) shared: SharedWindow,
    /// The window field that arrived last: an ACK with another one is no duplicate.
    last_window: u16,
    /// Mappings of the data that the subflow carries, in the order of its bytes.
    pub(crate) mappings: VecDeque<Mapping>,
    /// The same data, in the order of the data.
    given: Given,
}

impl Mapped {
    pub(crate) fn new(opening: Multipath, is_coupled: bool) -> Self {
        Self {
            opening,
            is_agreed: false,
            is_coupled,
            owes_third: false,
            awaits_fourth: false,
            repeats_keys: false,
            owes_infinite: false,
            told: None,
            farewell: None,
            shared: SharedWindow::default(),
            last_window: 0,
            mappings: VecDeque::new(),
            given: Given::default(),
        }
    }

    /// The bytes from `start` on are the data [dsn, dsn + len).
    pub(crate) fn push(&mut self, start: u64, dsn: u64, len: u64) {
        self.given.add(dsn, dsn + len);
        match self.mappings.back_mut() {
            Some(last) if last.start + last.len == start && last.end() == dsn && !last.is_reinjected => last.len += len,
            _ => self.mappings.push_back(Mapping { start, dsn, len, is_reinjected: false }),
        }
    }

    /// Forgets mappings of bytes below `una` whose data below `data_una` were acknowledged: both have to be (RFC 8684 §3.3.6).
    pub(crate) fn release(&mut self, una: u64, data_una: u64) {
        let is_done = |mapping: &Mapping| mapping.start + mapping.len <= una && mapping.end() <= data_una;
        while self.mappings.front().is_some_and(is_done) {
            self.mappings.pop_front();
        }
        self.given.release(data_una);
    }

    /// Forgets all mappings.
    pub(crate) fn clear(&mut self) {
        self.mappings.clear();
        self.given.clear();
    }

    /// The mapping of the byte at `offset`.
    pub(crate) fn at(&self, offset: u64) -> Option<&Mapping> {
        let next = self.mappings.partition_point(|mapping| mapping.start <= offset);
        let mapping = self.mappings.get(next.checked_sub(1)?)?;
        (offset < mapping.start + mapping.len).then_some(mapping)
    }

    /// Whether any byte of the unacknowledged data [start, end) was given to this subflow.
    pub(crate) fn carries(&self, start: u64, end: u64) -> bool {
        self.given.has_any(start, end)
    }

    /// Returns the first data from `una` on that this subflow was not given, up to the next that it was. `una`: the first data that
    /// are not acknowledged.
    pub(crate) fn lacks(&self, una: u64) -> (u64, u64) {
        self.given.gap(una)
    }

    /// The window field of a segment without scale, or of one with `shift`.
    pub(crate) fn window(&self, shift: u8) -> u16 {
        (self.shared.window >> shift).min(65_535) as u16
    }

    /// Notes the window field of an acceptable segment. Returns whether it may be a duplicate ACK: the window field equals the one
    /// before, and the segment does not exist for another multipath option than the signal (RFC 8684 §3).
    pub(crate) fn note_window(&mut self, segment: &Segment) -> bool {
        let is_same = std::mem::replace(&mut self.last_window, segment.window) == segment.window;
        self.repeats_keys &= !matches!(segment.multi, Some(Multipath::Dss(_)));
        is_same && matches!(segment.multi, Some(Multipath::Dss(_)) | None)
    }

    /// Whether the segment that begins at `start` repeats the keys of the handshake, if it has data.
    pub(crate) fn has_keys_at(&self, start: u64) -> bool {
        self.repeats_keys && start == 0
    }

    /// Sets the option of the reset that ends the subflow.
    pub(crate) fn set_farewell(&mut self, farewell: Multipath) {
        self.farewell = Some(farewell);
    }

    /// Returns the option of a reset. A connection that gives up by itself got no answer.
    pub(crate) fn farewell(&self) -> Option<Multipath> {
        self.farewell.or(self.is_agreed.then_some(Multipath::Reset(SubflowReset::SILENT)))
    }

    /// Writes the option and the window to a segment that is neither SYN nor reset. Its payload begins at `start`.
    pub(crate) fn add_to(&mut self, start: u64, segment: &mut Segment, shift: u8) {
        if !self.is_agreed {
            if segment.len > 0 && std::mem::take(&mut self.owes_infinite) {
                let data_ack = Dss::number(self.shared.data_ack);
                put(Multipath::Infinite(Dss { data_ack, dsn: Dss::number(start), ..Dss::default() }), segment);
            }
            return;
        }
        segment.window = self.window(shift);
        let is_pure = segment.sequence_len() == 0;
        let multi = match self.told.filter(|_| is_pure) {
            Some(told) => {
                self.told = None;
                told
            }
            None if std::mem::take(&mut self.owes_third) && is_pure => self.opening,
            None if segment.len > 0 && self.has_keys_at(start) => self.opening,
            None => Multipath::Dss(self.signal(start, segment.len)),
        };
        put(multi, segment);
    }

    fn signal(&self, start: u64, len: u16) -> Dss {
        let SharedWindow { fin, .. } = self.shared;
        let data_ack = Dss::number(self.shared.data_ack);
        let Some(mapping) = self.at(start).filter(|_| len > 0) else { return Dss { data_ack, ..Dss::default() } };
        let dsn = mapping.dsn + (start - mapping.start);
        Dss { data_ack, dsn: Dss::number(dsn), len, is_fin: fin == Some(dsn + u64::from(len)) }
    }

    /// The SYN or SYN-ACK of the peer came: whether it has the option of this one. `None`: without a handshake it has.
    pub(crate) fn on_syn(&mut self, syn: Option<&Segment>, is_opener: bool) {
        let kind = std::mem::discriminant(&self.opening);
        self.is_agreed = syn.is_none_or(|syn| syn.multi.is_some_and(|multi| std::mem::discriminant(&multi) == kind));
        self.owes_third = is_opener && self.is_agreed && syn.is_some();
        self.awaits_fourth = self.owes_third && matches!(self.opening, Multipath::Join { .. });
        self.repeats_keys = self.owes_third && self.opening == Multipath::Capable;
        if let (Some(Multipath::Join { id, is_backup }), Multipath::Join { .. }) =
            (syn.and_then(|syn| syn.multi), self.opening)
        {
            self.opening = Multipath::Join { id, is_backup };
        }
        self.last_window = syn.map_or(0, |syn| syn.window);
    }

    /// Whether the SYN or SYN-ACK that is sent next has the option.
    pub(crate) fn opens_with(&self, answers: bool) -> Option<Multipath> {
        (!answers || self.is_agreed).then_some(self.opening)
    }
}

/// Gives a segment the option. SACK blocks and SNACK have the room that is left.
fn put(multi: Multipath, segment: &mut Segment) {
    segment.multi = Some(multi);
    let taken = usize::from(segment.header_len() - PlainSegment::HEADER_LEN);
    if taken <= OPTIONS_MAX {
        return;
    }
    let is_any_left = match &mut segment.options {
        Options::Sack(blocks) => {
            let reports = 4 + 8 * blocks.as_slice().len();
            blocks.fit(OPTIONS_MAX + reports - taken)
        }
        Options::Scps(scps) => scps.fit(OPTIONS_MAX + usize::from(scps.header_len()) - taken),
        Options::None | Options::Syn(_) => return,
    };
    if !is_any_left {
        segment.options = Options::None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped() -> Mapped {
        Mapped { is_agreed: true, ..Mapped::new(Multipath::Capable, false) }
    }

    #[test]
    fn mappings_that_follow_each_other_are_one() {
        let mut mapped = mapped();
        for (start, dsn, len) in [(0, 0, 100), (100, 100, 50), (150, 400, 50), (200, 450, 10)] {
            mapped.push(start, dsn, len);
        }
        let all: Vec<_> = mapped.mappings.iter().map(|mapping| (mapping.start, mapping.dsn, mapping.len)).collect();
        assert_eq!(all, [(0, 0, 150), (150, 400, 60)]);
        assert_eq!(
            [0, 149, 150, 209, 210].map(|at| mapped.at(at).map(|mapping| mapping.dsn)),
            [Some(0), Some(0), Some(400), Some(400), None]
        );
        assert!(mapped.carries(149, 200) && !mapped.carries(150, 400) && mapped.carries(300, 401));
    }

    /// RFC 8684 §3.3.6: data may be forgotten when both levels have acknowledged them.
    #[test]
    fn rfc8684_3_3_6_both_levels_have_to_acknowledge() {
        let mut mapped = mapped();
        mapped.push(0, 500, 100);
        mapped.release(100, 599);
        mapped.release(99, 600);
        assert_eq!(mapped.mappings.len(), 1);
        mapped.release(100, 600);
        assert!(mapped.mappings.is_empty());
    }

    /// 40 B of options: timestamps 12, DATA_ACK 8, and two SACK blocks 20; without timestamps three. Data have room for fewer.
    #[test]
    fn sack_blocks_leave_room_for_the_signal() {
        let mut blocks = crate::segment::SackBlocks::default();
        (1..5).for_each(|i| blocks.push(bentpipe_units::Seq::new(i * 100), bentpipe_units::Seq::new(i * 100 + 50)));
        let timestamps = Some(crate::segment::Timestamps { value: 1, echo: 1 });
        let options = Options::Sack(blocks);
        let count = |timestamps, len| {
            let mut mapped = mapped();
            mapped.push(0, 0, 1000);
            let mut segment =
                Segment { flags: crate::segment::Flags::ACK, options, timestamps, len, ..Segment::default() };
            mapped.add_to(0, &mut segment, 0);
            assert!(segment.header_len() <= 80, "{segment:?}");
            match segment.options {
                Options::Sack(blocks) => blocks.as_slice().len(),
                _ => 0,
            }
        };
        assert_eq!([count(None, 0), count(timestamps, 0), count(None, 1000), count(timestamps, 1000)], [3, 2, 2, 0]);
    }

    /// 40 B of options: timestamps 12, the signal 8 or 20, and a SNACK with as much of its 24 B of bits as fits.
    #[test]
    fn snacks_leave_room_for_the_signal() {
        let mut beyond = crate::scps::BitVector::default();
        beyond.set(8 * crate::scps::BitVector::BYTES_MAX - 1);
        let snack = Some(crate::scps::SnackOption { offset: 1, size: 2, beyond });
        let scps = crate::scps::ScpsOptions { snack, corruption_experienced: true, record_boundary: false };
        let timestamps = Some(crate::segment::Timestamps { value: 1, echo: 1 });
        let bits = |timestamps, len| {
            let mut mapped = mapped();
            mapped.push(0, 0, 1000);
            let (flags, options) = (crate::segment::Flags::ACK, Options::Scps(scps));
            let mut segment = Segment { flags, options, timestamps, len, ..Segment::default() };
            mapped.add_to(0, &mut segment, 0);
            assert!(segment.header_len() <= 80, "{segment:?}");
            let Options::Scps(left) = segment.options else { panic!("{segment:?}") };
            assert!(left.corruption_experienced);
            left.snack.map(|snack| snack.beyond.as_bytes().len())
        };
        let found = [bits(None, 0), bits(timestamps, 0), bits(None, 1000), bits(timestamps, 1000)];
        assert_eq!(found, [Some(24), Some(12), Some(12), Some(0)]);
    }
}
