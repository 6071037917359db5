//! Keys of initial windows and of buffers.

use bentpipe_units::settings::{Bytes, Plain, Shape, Typed, Unfit, Value, Written};
use bentpipe_units::{amounts, settings, words};

amounts! {
    /// The initial window.
    pub enum InitialWindow("initial-window", "an initial window", "\"rfc6928\", \"rfc3390\", \"rfc5681\", a number of segments, or a size", "4 segments") {
        /// min(10 MSS, max(2 MSS, 14600 B)).
        word("rfc6928") => Rfc6928;
        /// min(4 MSS, max(2 MSS, 4380 B)).
        word("rfc3390") => Rfc3390;
        /// 2, 3 or 4 segments for MSS above 2190 B, above 1095 B, or smaller.
        word("rfc5681") => Rfc5681;
        /// This many full segments.
        count("segments") => Segments(u32);
        /// This many bytes.
        size => Bytes(u64);
    }
}

impl InitialWindow {
    /// Returns the window in bytes for segments of `smss` bytes.
    pub fn bytes(self, smss: u32) -> u64 {
        let smss = u64::from(smss);
        match self {
            Self::Segments(n) => u64::from(n) * smss,
            Self::Bytes(n) => n,
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            Self::Rfc5681 if smss > 2190 => 2 * smss,
            Self::Rfc5681 if smss > 1095 => 3 * smss,
            Self::Rfc5681 => 4 * smss,
            Self::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

/// Unit of bandwidth-delay products: millionths.
pub const BDP: u64 = 1_000_000;

amounts! {
    /// Initial slow start threshold.
    pub enum InitialSsthresh("initial-ssthresh", "a threshold", "\"unlimited\", \"peer-window\", a size, a number of segments, or a multiple of bdp", "64 kB") {
        /// "Arbitrarily high" (RFC 5681 §3.1).
        word("unlimited") => Unlimited;
        /// The window that the peer advertised first.
        word("peer-window") => PeerWindow;
        /// This many bytes.
        size => Bytes(u64);
        /// This many full segments.
        count("segments") => Segments(u64);
        /// This many bandwidth-delay products of the path, in [`BDP`] parts. A connection does not know it: unlimited.
        count("bdp", BDP) => Bdp(u64);
    }
}

amounts! {
    /// A receive buffer as written in a scenario. A connection has it in bytes.
    pub enum ReceiveBuffer("receive-buffer", "a receive buffer", "\"auto\", \"unlimited\", a size, a number of segments, or a multiple of bdp", "64 kB") {
        /// Grows with the path.
        word("auto") => Auto;
        /// The largest buffer that can be advertised.
        word("unlimited") => Unlimited;
        /// This many bytes.
        size => Bytes(u64);
        /// This many full segments.
        count("segments") => Segments(u64);
        /// This many bandwidth-delay products of the path, in [`BDP`] parts.
        count("bdp", BDP) => Bdp(u64);
    }
}

amounts! {
    /// A send buffer as written in a scenario. A connection has it in bytes.
    pub enum SendBuffer("send-buffer", "a send buffer", "\"auto\", \"unlimited\", a size, a number of segments, or a multiple of bdp", "64 kB") {
        /// Grows with the congestion window.
        word("auto") => Auto;
        /// Holds any amount of written data.
        word("unlimited") => Unlimited;
        /// This many bytes.
        size => Bytes(u64);
        /// This many full segments.
        count("segments") => Segments(u64);
        /// This many bandwidth-delay products of the path, in [`BDP`] parts.
        count("bdp", BDP) => Bdp(u64);
    }
}

impl ReceiveBuffer {
    /// The largest window that RFC 7323 can advertise: 65,535 · 2^14 bytes.
    pub const MOST: u64 = 65_535 << 14;
}

impl SendBuffer {
    /// More than any application writes.
    pub const MOST: u64 = u64::MAX >> 8;
}

macro_rules! buffer {
    ($type:ident) => {
        /// Buffers in bytes. A size that depends on the path or on the segments is unlimited until code that knows them
        /// resolves it.
        impl Written<u64> for $type {
            fn shape() -> Shape {
                <Plain as Written<Self>>::shape()
            }
            fn read(value: &Value) -> Result<u64, Unfit> {
                Ok(match <Self as Typed>::read(value)? {
                    Self::Bytes(bytes) => bytes,
                    Self::Auto | Self::Unlimited | Self::Segments(_) | Self::Bdp(_) => Self::MOST,
                })
            }
            fn write(bytes: &u64) -> Value {
                Typed::write(&if *bytes == Self::MOST { Self::Unlimited } else { Self::Bytes(*bytes) })
            }
        }
    };
}

buffer!(ReceiveBuffer);
buffer!(SendBuffer);

settings! {
    /// Size of a receive buffer that is `auto`.
    pub struct AutoBuffer {
        /// Initial size; at least one segment.
        start: u64 as Bytes = 65_535, "the largest window without scaling";
        /// Largest size: the buffer follows the bytes received per round trip up to this. At most 1073725440 B.
        limit: u64 as Bytes = 4_000_000, "J. Semke et al. 1998";
        /// Growth of the buffer, and the meaning of its sizes.
        growth: BufferGrowth = BufferGrowth::Twice, "M. Fisk and W. Feng 2001";
    }
}

words! {
    /// Receive-buffer tuning: the buffer follows the bytes received per round trip.
    pub enum BufferGrowth {
        /// Twice those bytes, one round trip late, so a sender in slow start fills it. Sizes are those of the window.
        "twice" => Twice,
        /// Six times those bytes where they doubled, less where they grew less: a sender in slow start does not fill
        /// it. Sizes are memory, as in tcp_rmem: the window has half of it at first, then the share of payload in the
        /// memory of a segment, 0.625 for 1448 B. A segment that opens the window is acknowledged at once.
        "linux" => Linux,
    }
}

settings! {
    /// Size of a send buffer that is `auto`.
    pub struct AutoSendBuffer {
        /// Initial size; at least one segment.
        start: u64 as Bytes = 64_000, "reading: more than an initial window";
        /// Largest size: the buffer grows to twice the congestion window up to this.
        limit: u64 as Bytes = 4_000_000, "J. Semke et al. 1998: twice the window; the limit is Linux's";
    }
}

words! {
    /// Quantity that is halved to set ssthresh.
    pub enum SsthreshBase {
        /// The data outstanding (RFC 5681).
        "flight-size" => FlightSize,
        /// The smaller of the congestion window and the advertised window (Jacobson 1988, ns-2).
        "window" => Window,
    }
}

words! {
    /// Unit of ssthresh.
    pub enum SsthreshRounding {
        /// To the byte.
        "bytes" => Bytes,
        /// Down to whole segments.
        "segments" => Segments,
        /// Down to whole segments, and the window after a loss, too (Linux).
        "window" => Window,
    }
}

#[cfg(test)]
mod tests {
    use super::InitialWindow::{Rfc3390, Rfc5681, Rfc6928, Segments};

    /// `docs/specs/initial-window.md`, tests.
    #[test]
    fn initial_windows_of_the_rfcs() {
        assert_eq!([Rfc3390.bytes(1460), Rfc6928.bytes(1460)], [4380, 14_600]);
        assert_eq!([Rfc3390.bytes(536), Rfc6928.bytes(536)], [2144, 5360]);
        assert_eq!([Rfc3390.bytes(1000), Rfc6928.bytes(1000)], [4000, 10_000]);
        assert_eq!(Rfc3390.bytes(2200), 4400);
        assert_eq!([Rfc5681.bytes(2200), Rfc5681.bytes(1460), Rfc5681.bytes(1000)], [4400, 4380, 4000]);
        assert_eq!(Segments(3).bytes(1000), 3000);
    }
}
