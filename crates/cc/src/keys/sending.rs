//! Keys of pacing, Fast Open and sharing.

use super::WindowSize;
use bentpipe_units::settings::Thousandths;
use bentpipe_units::settings::{Plain, Shape, Switch, Typed, Unfit, Value, Written};
use bentpipe_units::{kinds, settings, words, Duration, Rate};

kinds! {
    /// Times when segments may leave, in addition to the windows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pacing as "Pacing", "a kind of pacing" {
        /// Segments leave as soon as the windows allow.
        "off" => Off;
        /// A window per smoothed round-trip time, times a gain. Segments before the first sample are not paced (J.
        /// Kulik et al. 1999).
        "window" => Window {
            /// Gain while the congestion window is below half of the slow start threshold, 0.1 to 100.
            gain_slow_start: u32 as Thousandths = 2000, [0.1, 100.0], "Linux";
            /// Gain otherwise, 0.1 to 100.
            gain: u32 as Thousandths = 1200, [0.1, 100.0], "Linux";
            /// Data that may leave back to back after a pause.
            burst: WindowSize = WindowSize::Segments(2), "two segments per ACK is what slow start sends";
        };
        /// A fixed rate, headers included.
        "rate" => Rate {
            /// The rate; more than 0.
            rate: Rate;
            /// Data that may leave back to back after a pause.
            burst: WindowSize = WindowSize::Segments(2), "two segments per ACK is what slow start sends";
        };
    }
}

settings! {
    /// TCP Fast Open: a SYN with the server's cookie carries data (RFC 7413).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FastOpen {
        /// Whether the opener has the cookie when the run begins.
        "cookie" is_known: bool as Cookie = false, "RFC 7413 §3: the first connection asks for it";
    } with {
        /// Cookie that the server gives this client and accepts. Any number would do. It replaces the encrypted address
        /// of RFC 7413 §4.1.2.
        cookie: [u8; 8] = *b"bentpipe";
    }
}

impl Switch for FastOpen {
    const OFF: &'static str = "Data follow the handshake.";
}

settings! {
    /// T/TCP: a SYN carries data and a FIN if the server has not seen its connection count yet (RFC 1644).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Transactions {
        /// Whether both hosts remember a connection when the run begins.
        "counts" is_known: bool as Cookie = false, "RFC 1644 §2.1: the first connection has a handshake";
    }
}

impl Switch for Transactions {
    const OFF: &'static str = "Every connection has a handshake of three segments.";
}

words! {
    /// Whether the key to data on a SYN is known from an earlier connection.
    pub enum Cookie {
        /// Unknown: the first connection asks for it and gains nothing.
        "none" => None,
        /// Known from a connection before the run, so one connection saves its round trip.
        "cached" => Cached,
    }
}

impl Written<bool> for Cookie {
    fn shape() -> Shape {
        <Plain as Written<Self>>::shape()
    }
    fn read(value: &Value) -> Result<bool, Unfit> {
        <Self as Typed>::read(value).map(|cookie| cookie == Self::Cached)
    }
    fn write(is_known: &bool) -> Value {
        Typed::write(if *is_known { &Self::Cached } else { &Self::None })
    }
}

settings! {
    /// Values that earlier connections between the same two hosts learnt (RFC 9040).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Sharing {
        /// Whether to start with their slow start threshold.
        ssthresh: bool = true, "RFC 9040 §5.1";
        /// Whether to start with a retransmission timeout from their round-trip times.
        rtt: bool = true, "RFC 9040 §5.1";
        /// Use of their congestion window.
        cwnd: SharedCwnd = SharedCwnd::Cautious, "RFC 9040 §5.2";
        /// Age at which they are forgotten; more than 0 s.
        age_max: Duration = Duration::from_secs(3600), "as long as Linux keeps it; shorter where paths change";
    }
}

impl Switch for Sharing {
    const OFF: &'static str = "Every connection starts without earlier values.";
}

words! {
    /// Use of a remembered window.
    pub enum SharedCwnd {
        /// Ignored.
        "ignore" => Ignore,
        /// Up to the initial window (RFC 9040 §5.2).
        "cautious" => Cautious,
        /// In full. Pacing must spread it over a round trip.
        "full" => Full,
    }
}
