//! What the sender makes of windows that the network advertises, and which ACKs count as duplicates.

use bentpipe_units::settings::Chance;
use bentpipe_units::{kinds, settings, words, Duration};

kinds! {
    /// What the advertised window says of a loss.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Feedback as "Feedback" {
        /// Nothing.
        "off" => Off;
        /// It was congestion if the window is smaller than before, and an error of the link otherwise (REFWA Plus, Taleb, Kato and Nemoto). The nodes on the way have to write it: middlebox `refwa`.
        "refwa-plus" => RefwaPlus(RefwaPlus);
        /// The window follows what routers write on packets, in place of the congestion control (XCP; Katabi, Handley and Rohrs 2002). They have to take part: middlebox `xcp`.
        "xcp" => Xcp(XcpSender);
        /// The sender paces at the rate that routers write on packets, in place of the congestion control (RCP; Dukkipati 2007). They have to take part: middlebox `rcp`.
        "rcp" => Rcp(RcpSender);
    }
}

impl Feedback {
    /// What a header of XCP or RCP adds to each packet, bytes; none: there is none.
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
    /// A sender with XCP: its window changes as routers say. It begins with the initial window; a timeout leaves a segment.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct XcpSender {
        /// What a loss does to the window.
        loss: XcpLoss = XcpLoss::Reno, "Katabi 2002";
        /// Let the header make packets longer, by 12 B.
        option_bytes: bool = true, "reading";
    }
}

settings! {
    /// A sender with RCP: it paces at the rate of the routers, from the SYN-ACK on, and sends what is lost again at that rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RcpSender {
        /// What a timeout does to the rate, until the next ACK brings one.
        timeout: RcpTimeout = RcpTimeout::Halve, "reading";
        /// Let the header make packets longer, by 12 B.
        option_bytes: bool = true, "reading";
    }
}

words! {
    /// What a loss does to the window of a sender with XCP.
    pub enum XcpLoss {
        /// Halves it, as Reno.
        "reno" => Reno,
        /// Nothing: it is taken for corruption.
        "ignore" => Ignore,
    }
}

words! {
    /// What a timeout does to the rate of a sender with RCP.
    pub enum RcpTimeout {
        /// Halves it.
        "halve" => Halve,
        /// Nothing.
        "keep" => Keep,
    }
}

settings! {
    /// A sender that takes a window which has not fallen for the sign of a link error. In place of a reduction window and threshold
    /// become what is advertised, what is missing is sent again at once, and the timer does not back off.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RefwaPlus {
        /// By how much the window may have fallen before it means congestion, as a share of it.
        tolerance: f64 as Chance = 0.0, "eq. 1";
        /// Which ACKs show what a loss was.
        trigger: Trigger = Trigger::Both, "the paper's text has partial ACKs, its eq. 3 duplicates; a single loss has no partial ACK";
        /// What is sent again after a link error.
        resend: Resend = Resend::Bulk, "the paper: all missing packets in the current window";
        /// Spread what is sent again over a round trip.
        bulk_paced: bool = true, "the paper suggests it";
        /// The retransmission timeout while a loss is held for a link error; without it, what was measured, and it does not double in either case.
        rto: Option<Duration> = None;
        /// Judge a timeout in the same way, by the last window that came: send one segment until an ACK comes, then the whole window.
        rto_hold: bool = true, "without it many timeouts end the state";
    }
}

words! {
    /// Which ACKs show what a loss was.
    pub enum Trigger {
        /// Partial ACKs: until one comes a loss is congestion.
        "par" => Partial,
        /// The third duplicate ACK.
        "dup" => Duplicate,
        /// Both.
        "both" => Both,
    }
}

words! {
    /// What is sent again after a link error.
    pub enum Resend {
        /// All that is outstanding, and again in each round trip in which a part of it is acknowledged; with SACK what it shows to be missing.
        "bulk" => Bulk,
        /// What the connection's recovery finds, in its own time.
        "selective" => Selective,
    }
}

words! {
    /// Which ACKs count as duplicates, of those that acknowledge nothing new and carry no data.
    pub enum DuplicateAcks {
        /// Those with the window of the last one (RFC 5681 §2).
        "same-window" => SameWindow,
        /// All: for senders without SACK on paths whose nodes rewrite windows. ns-2 has no windows to compare.
        "any-window" => AnyWindow,
    }
}
