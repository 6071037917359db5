//! ECN at the sender: ACKs that report marks, and segments that may be marked.
//!
//! New data are sent as ECT(0); SYNs, retransmissions, probes and pure ACKs are not (RFC 3168 §6.1.4 to 6.1.6), except
//! for ACKs under congestion control (RFC 5690). A congestion control that counts marks may ask for ECT(1), which
//! retransmissions have, too: otherwise repairs would wait behind classic traffic. The AccECN option of RFC 9768
//! §3.2.3, which counts bytes as well, is not there: RFC 9768 makes it optional, and it would take the place of SACK
//! blocks. `reduce` contains the reaction of the window to marks, unless the congestion control counts them.

use crate::config::{AceWrap, EcnConfig, EcnFeedback};
use crate::conn::agreed::{handshake_code, CEP_START};
use bentpipe_cc::Marks;
use bentpipe_units::Ecn;

/// The feedback that an ACK carries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnEcho {
    /// The counter of RFC 9768.
    pub(crate) ace: u8,
    /// The echo of RFC 3168 and RFC 8257.
    pub(crate) ece: bool,
    /// Neither data nor options.
    pub(crate) is_pure: bool,
}

/// ECN at a sender.
#[derive(Clone, Debug)]
pub(crate) struct EcnSender {
    feedback: EcnFeedback,
    /// Accurate: CE packets as the receiver reported them (RFC 9768: s.cep).
    cep: u8,
    /// Accurate server: the next ACK is the handshake's last.
    awaits_handshake: bool,
    /// The ACK that is being processed reports marks: it does not grow the window (RFC 3168 §6.1.2).
    pub(crate) is_echoed: bool,
    pub(crate) sends_ect: bool,
    /// Codepoint of new data.
    ect: Ecn,
    /// The congestion control counts marks: how it takes an ambiguous counter.
    counting: Option<AceWrap>,
    /// Counting: the feedback of the ACK that is being processed, and its marks.
    echo: EcnEcho,
    pub(crate) marks: Marks,
}

impl EcnSender {
    pub(crate) fn new(feedback: EcnFeedback, awaits_handshake: bool) -> Self {
        Self {
            feedback,
            cep: CEP_START,
            awaits_handshake,
            is_echoed: false,
            sends_ect: true,
            ect: Ecn::Ect0,
            counting: None,
            echo: EcnEcho::default(),
            marks: Marks::default(),
        }
    }

    /// Whether the agreed feedback counts marks.
    pub(crate) fn counts_marks(&self) -> bool {
        self.feedback.counts_marks()
    }

    /// Data transfer begins; `takes_marks`: the congestion control counts marks. RFC 9331 §4.3: nothing else may send
    /// ECT(1), so data is not ECN-capable if the peer's feedback does not suffice.
    pub(crate) fn begin(&mut self, takes_marks: bool, config: &EcnConfig) {
        self.counting = (takes_marks && self.counts_marks()).then_some(config.wrap);
        self.ect = match (config.is_l4s(), self.counting) {
            (false, _) => Ecn::Ect0,
            (true, Some(_)) => Ecn::Ect1,
            (true, None) => Ecn::NotEct,
        };
    }

    /// The codepoint of data.
    pub(crate) fn codepoint(&self, is_retransmission: bool) -> Ecn {
        if self.sends_ect && (!is_retransmission || self.ect == Ecn::Ect1) {
            self.ect
        } else {
            Ecn::NotEct
        }
    }

    /// Whether CWR answers the echo; RFC 9768 §3.1.5 has none.
    pub(crate) fn sends_cwr(&self) -> bool {
        self.feedback != EcnFeedback::Accurate
    }

    /// An ACK of `packets` arrived: does it report marks for which the window has to be reduced? With `is_reduced` it
    /// was already reduced for the acknowledged data.
    pub(crate) fn read(&mut self, echo: EcnEcho, packets: u64, is_reduced: bool) -> bool {
        self.marks = Marks::default();
        if self.counting.is_some() {
            self.echo = echo;
            self.read_handshake(echo);
            return false;
        }
        self.is_echoed = match self.feedback {
            EcnFeedback::Accurate => self.decode(echo, packets, is_reduced),
            _ => echo.ece,
        };
        self.is_echoed
    }

    /// Table 4: whether this pure ACK completes the handshake and shows that the SYN-ACK arrived marked. None: it is
    /// another ACK.
    fn read_handshake(&mut self, echo: EcnEcho) -> Option<bool> {
        if !(std::mem::take(&mut self.awaits_handshake) && echo.is_pure) {
            return None;
        }
        self.sends_ect = echo.ace != 0;
        let is_marked = echo.ace == handshake_code(Ecn::Ce);
        self.cep = CEP_START + u8::from(is_marked);
        Some(is_marked)
    }

    /// RFC 9768 §3.2.2: whether the receiver has counted more marks. `packets`: how many the ACK acknowledges; with
    /// `is_recovery` most of these were reported before, by duplicates.
    fn decode(&mut self, echo: EcnEcho, packets: u64, is_recovery: bool) -> bool {
        let ace = echo.ace;
        if let Some(is_marked) = self.read_handshake(echo) {
            return is_marked;
        }
        let more = ace.wrapping_sub(self.cep) & 7;
        if packets == 0 && more >= 4 {
            // Nothing new acknowledged, and more than half of the cycle ahead: an older ACK that was overtaken.
            return false;
        }
        self.cep = ace;
        // Appendix A.2: more than seven packets may have wrapped the counter. The sender assumes that they did.
        let may_have_wrapped = packets > 7 && !is_recovery;
        self.sends_ect && (more > 0 || may_have_wrapped)
    }

    /// The ACK being processed delivered `bytes`, cumulatively or selectively: how many of these packets were marked.
    pub(crate) fn count(&mut self, bytes: u64, smss: u64) {
        let Some(wrap) = self.counting else { return };
        let packets = bytes.div_ceil(smss);
        // An ACK that delivers nothing may be old. Its count comes with the next one.
        if packets == 0 {
            return;
        }
        let marked = match self.feedback {
            EcnFeedback::Accurate => {
                let more = u64::from(self.echo.ace.wrapping_sub(self.cep) & 7);
                self.cep = self.echo.ace;
                marked_packets(packets, more, wrap)
            }
            _ if self.echo.ece => packets,
            _ => 0,
        };
        let narrow = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
        self.marks = Marks { ce_packets: narrow(marked), delivered_packets: narrow(packets) };
    }
}

/// RFC 9768 A.2: the marks among `packets`. The counter of three bits has risen by `more`.
fn marked_packets(packets: u64, more: u64, wrap: AceWrap) -> u64 {
    match wrap {
        AceWrap::Most if packets > 7 => packets - ((packets - more) & 7),
        _ => more.min(packets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/specs/l4s.md`, test 9.
    #[test]
    fn rfc9768_a_2_the_counter_is_read_as_the_most_that_fits() {
        let most = |packets, more| marked_packets(packets, more, AceWrap::Most);
        assert_eq!([most(2, 1), most(12, 3), most(7, 7), most(1, 3), most(8, 0), most(9, 2)], [1, 11, 7, 1, 8, 2]);
        assert_eq!(marked_packets(12, 3, AceWrap::Least), 3);
    }
}
