//! Keys of the reaction to windows that the network advertises, and of duplicate ACKs.

use bentpipe_units::settings::Chance;
use bentpipe_units::{kinds, settings, words, Duration};

kinds! {
    /// Meaning of the advertised window for a loss.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Feedback as "Feedback", "a kind of feedback" {
        /// No meaning.
        "off" => Off;
        /// A loss was congestion if the window is smaller than before, and otherwise an error of the link (REFWA Plus,
        /// Taleb, Kato and Nemoto). The nodes on the path must write the window: middlebox `refwa`.
        "refwa-plus" => RefwaPlus(RefwaPlus);
        /// The window follows the feedback that routers write on packets, and replaces the congestion control (XCP;
        /// Katabi, Handley and Rohrs 2002). The routers must take part: middlebox `xcp`.
        "xcp" => Xcp(XcpSender);
        /// The sender paces at the rate that routers write on packets, and replaces the congestion control (RCP;
        /// Dukkipati 2007). The routers must take part: middlebox `rcp`.
        "rcp" => Rcp(RcpSender);
    }
}

impl Feedback {
    /// Returns the bytes that a header of XCP or RCP adds to each packet; `None`: no header.
    pub const fn header_len(self) -> Option<u8> {
        match self {
            Self::Off | Self::RefwaPlus(_) => None,
            Self::Xcp(XcpSender { option_bytes, .. }) | Self::Rcp(RcpSender { option_bytes, .. }) => {
                Some(12 * option_bytes as u8)
            }
        }
    }
}

settings! {
    /// A sender with XCP: routers set the change of its window. It starts with the initial window. A timeout leaves one
    /// segment.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct XcpSender {
        /// Reaction of the window to a loss.
        loss: XcpLoss = XcpLoss::Reno, "Katabi 2002";
        /// Whether the header makes packets longer, by 12 B.
        option_bytes: bool = true, "reading";
    }
}

settings! {
    /// A sender with RCP: it paces at the rate of the routers, from the SYN-ACK on, and retransmits lost data at that
    /// rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RcpSender {
        /// Reaction of the rate to a timeout, until the next ACK brings a rate.
        timeout: RcpTimeout = RcpTimeout::Halve, "reading";
        /// Whether the header makes packets longer, by 12 B.
        option_bytes: bool = true, "reading";
    }
}

words! {
    /// Reaction of the window of an XCP sender to a loss.
    pub enum XcpLoss {
        /// Halves the window, as Reno.
        "reno" => Reno,
        /// Ignores the loss as corruption.
        "ignore" => Ignore,
    }
}

words! {
    /// Reaction of the rate of an RCP sender to a timeout.
    pub enum RcpTimeout {
        /// Halves the rate.
        "halve" => Halve,
        /// Keeps the rate.
        "keep" => Keep,
    }
}

settings! {
    /// A sender that takes an advertised window which has not fallen for the sign of a link error. It then sets window
    /// and threshold to the advertised window instead of reducing them, retransmits missing data immediately, and the
    /// timer does not back off.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RefwaPlus {
        /// Largest fall of the window that does not mean congestion yet, as a share of it.
        tolerance: f64 as Chance = 0.0, "eq. 1";
        /// ACKs that show the cause of a loss.
        trigger: Trigger = Trigger::Both, "the paper's text has partial ACKs, its eq. 3 duplicates; a single loss has no partial ACK";
        /// Data retransmitted after a link error.
        resend: Resend = Resend::Bulk, "the paper: all missing packets in the current window";
        /// Whether those retransmissions are spread over a round trip.
        bulk_paced: bool = true, "the paper suggests it";
        /// Retransmission timeout while a loss is held for a link error. Default: the measured timeout. The timeout
        /// never doubles.
        rto: Option<Duration> = None;
        /// Whether a timeout is judged in the same way, by the last window that arrived: send one segment until an ACK
        /// arrives, then the whole window.
        rto_hold: bool = true, "without it many timeouts end the state";
    }
}

words! {
    /// ACKs that show the cause of a loss.
    pub enum Trigger {
        /// Partial ACKs: a loss is congestion until the first of them.
        "par" => Partial,
        /// The third duplicate ACK.
        "dup" => Duplicate,
        /// Both.
        "both" => Both,
    }
}

words! {
    /// Data retransmitted after a link error.
    pub enum Resend {
        /// All outstanding data, and again in each round trip in which a part of it is acknowledged. With SACK, only
        /// the data that it shows as missing.
        "bulk" => Bulk,
        /// Data that the connection's recovery finds, in its own time.
        "selective" => Selective,
    }
}

words! {
    /// ACKs that count as duplicates, among those that acknowledge nothing new and carry no data.
    pub enum DuplicateAcks {
        /// ACKs with the window of the last one (RFC 5681 §2).
        "same-window" => SameWindow,
        /// All ACKs: for senders without SACK on paths whose nodes rewrite windows. ns-2 has no windows to compare.
        "any-window" => AnyWindow,
    }
}
