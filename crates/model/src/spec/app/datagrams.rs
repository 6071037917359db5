//! Datagrams: their times and their content.

use super::{at_most, Capacity, Carousel, Facts, Layout};
use crate::spec::Wait;
use bentpipe_units::{Duration, Rate};

/// Datagrams, sent without regard to losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagrams {
    /// Payload bytes of each, without headers of its content.
    pub size: u16,
    /// Times of the datagrams.
    pub gaps: Gaps,
    /// Their content.
    pub content: Content,
}

/// Content of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes without a meaning.
    Bytes,
    /// Media over RTP.
    Media {
        /// Time from the first arrival to its playout. Later arrivals with a larger delay are late.
        playout: Duration,
    },
    /// A file, in rounds.
    File(Carousel),
}

impl Datagrams {
    /// Datagrams of bytes without a meaning.
    pub const fn new(size: u16, gaps: Gaps) -> Self {
        Self { size, gaps, content: Content::Bytes }
    }

    /// Returns the payload bytes of each, with headers of its content.
    pub const fn payload(&self) -> u16 {
        let header = match self.content {
            Content::Bytes => 0,
            Content::Media { .. } => RTP_HEADER,
            Content::File(_) => ALC_HEADER,
        };
        self.size.saturating_add(header)
    }

    /// Returns the division of its file, if it carries one.
    pub fn layout(&self) -> Option<Layout> {
        match self.content {
            Content::File(carousel) => Some(carousel.layout(self.size)),
            _ => None,
        }
    }

    /// Returns the number of datagrams, if the file that they carry has an end.
    pub fn last(&self) -> Option<u64> {
        let Content::File(carousel) = self.content else { return None };
        Some(carousel.layout(self.size).round().saturating_mul(carousel.rounds?))
    }
}

/// Bytes of the header of RTP (RFC 3550 §5.1).
pub const RTP_HEADER: u16 = 12;

/// Bytes of the headers of ALC (RFC 5775): an LCT header with session and object of 16 bits (RFC 5651 §5.1), and the block
/// and the number of the packet in it (RFC 5510 §4.1).
pub const ALC_HEADER: u16 = 16;

/// Times of datagrams. Rates are of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Equal distances.
    Constant {
        /// Payload per time.
        rate: Rate,
        /// Largest deviation of each, earlier or later, uniform.
        jitter: Duration,
    },
    /// Exponential distances.
    Poisson {
        /// Mean payload per time.
        rate: Rate,
    },
    /// Equal distances while on, no datagrams while off.
    OnOff {
        /// Payload per time while on.
        peak: Rate,
        /// Time on.
        on: Wait,
        /// Time off.
        off: Wait,
    },
}

impl Datagrams {
    /// Returns the mean payload per second, bytes.
    pub fn bytes_per_second(&self) -> f64 {
        let bps = match self.gaps {
            Gaps::Constant { rate, .. } | Gaps::Poisson { rate } => rate.as_bps() as f64,
            Gaps::OnOff { peak, on, off } => {
                let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
                peak.as_bps() as f64 * on / (on + off)
            }
        };
        bps / 8.0 * f64::from(self.payload()) / f64::from(self.size)
    }
}

impl Facts for Datagrams {
    const KIND: &'static str = "datagrams";
    const ENDS_IN_PAUSES: bool = false;
    const HAS_TRANSPORT: bool = false;
    const IS_FOR_MANY: bool = true;

    fn is_random(&self) -> bool {
        !matches!(self.gaps, Gaps::Constant { jitter: Duration::ZERO, .. })
    }

    fn datagrams(&self) -> Option<(f64, f64)> {
        Some((self.bytes_per_second(), self.payload().into()))
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        let bursts = match self.gaps {
            Gaps::OnOff { on, off, .. } => capacity.seconds / (on.mean() + off.mean()).as_secs_f64(),
            _ => 0.0,
        };
        at_most(self.last(), self.bytes_per_second() * capacity.seconds / f64::from(self.payload())).max(bursts)
    }
}
