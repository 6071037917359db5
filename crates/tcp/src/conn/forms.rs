//! The forms of segments that enter and leave a connection. Code for a plain form does not handle options.

use crate::config::Feedback;
use crate::segment::{Options, PlainSegment, Segment, Timestamps};
use bentpipe_cc::ExplicitHeader;

/// An arrival from the peer. A form with fewer parts costs less; the effect is the same.
#[derive(Clone, Copy, Debug)]
pub enum Arrived<'a> {
    /// A segment without options.
    Plain(PlainSegment),
    /// A segment with timestamps and no other options.
    Stamped(PlainSegment, Timestamps),
    /// Any segment.
    General(&'a Segment),
    /// A packet whose content is corrupted, reported by IP or the link layer. It is reported with the next ACKs, if that
    /// was agreed on.
    Corrupted,
}

impl<'a> From<&'a Segment> for Arrived<'a> {
    #[inline(always)]
    fn from(segment: &'a Segment) -> Self {
        Self::General(segment)
    }
}

/// Receiver of the segments of a connection. Only [`general`](Self::general) is required. A closure that takes a
/// [`Segment`] is a sink, too.
pub trait Sink {
    /// Its result for a segment, such as a packet.
    type Made;

    /// Takes a segment without options.
    #[inline(always)]
    fn plain(&mut self, segment: &PlainSegment) -> Self::Made {
        self.general(&Segment::from(*segment))
    }

    /// Takes a segment with timestamps and no other options.
    #[inline(always)]
    fn stamped(&mut self, segment: &PlainSegment, timestamps: Timestamps) -> Self::Made {
        self.general(&Segment { timestamps: Some(timestamps), ..Segment::from(*segment) })
    }

    /// Takes any segment.
    fn general(&mut self, segment: &Segment) -> Self::Made;

    /// Takes a segment with its header for routers and the other end, as [`Config::feedback`](crate::Config::feedback)
    /// asks.
    fn explicit(&mut self, segment: &Segment, _header: ExplicitHeader, _feedback: Feedback) -> Self::Made {
        self.general(segment)
    }
}

impl<T, F: FnMut(Segment) -> T> Sink for F {
    type Made = T;

    #[inline(always)]
    fn general(&mut self, segment: &Segment) -> T {
        self(*segment)
    }
}

/// A segment that arrived, in two layers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layers<'a> {
    pub(crate) plain: PlainSegment,
    pub(crate) timestamps: Option<Timestamps>,
    /// The segment with its options; `None`: no options except timestamps, and the connection needs only the basics.
    pub(crate) whole: Option<&'a Segment>,
}

impl<'a> From<&'a Segment> for Layers<'a> {
    #[inline(always)]
    fn from(segment: &'a Segment) -> Self {
        Self { plain: segment.plain(), timestamps: segment.timestamps, whole: Some(segment) }
    }
}

impl<'a> Layers<'a> {
    #[inline(always)]
    pub(crate) fn plain(plain: PlainSegment, timestamps: Option<Timestamps>) -> Self {
        Self { plain, timestamps, whole: None }
    }

    /// Whether it is more than a plain segment without timestamps.
    #[inline(always)]
    pub(crate) fn has_more(self) -> bool {
        self.whole.is_some() || self.timestamps.is_some()
    }

    /// Returns its rarer options.
    #[inline(always)]
    pub(crate) fn options(self) -> &'a Options {
        self.whole.map_or(&Options::None, |whole| &whole.options)
    }

    /// Returns the connection count that it carries.
    #[inline(always)]
    pub(crate) fn count(self) -> Option<u32> {
        self.whole.and_then(|whole| whole.count)
    }

    /// Whether it has neither data nor options, except timestamps and counts.
    #[inline(always)]
    pub(crate) fn is_pure(self) -> bool {
        self.plain.sequence_len() == 0 && matches!(self.options(), Options::None)
    }
}
