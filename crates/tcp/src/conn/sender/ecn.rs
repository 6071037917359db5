//! ECN at the sender: ACKs that report marks, and segments that may be marked.
//!
//! New data are sent as ECT(0); SYNs, retransmissions, probes and pure ACKs are not (RFC 3168 §6.1.4 to 6.1.6), except
//! for ACKs under congestion control (RFC 5690). The AccECN option of RFC 9768 §3.2.3, which counts bytes as well, is
//! not there: RFC 9768 makes it optional, and it would take the place of SACK blocks. `reduce` contains the reaction of
//! the window to marks.

use crate::config::EcnFeedback;
use crate::conn::agreed::{handshake_code, CEP_START};
use crate::segment::Ecn;

/// The feedback that an ACK carries.
#[derive(Clone, Copy, Debug)]
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
}

impl EcnSender {
    pub(crate) fn new(feedback: EcnFeedback, awaits_handshake: bool) -> Self {
        Self { feedback, cep: CEP_START, awaits_handshake, is_echoed: false, sends_ect: true }
    }

    /// Whether CWR answers the echo; RFC 9768 §3.1.5 has none.
    pub(crate) fn sends_cwr(&self) -> bool {
        self.feedback != EcnFeedback::Accurate
    }

    /// An ACK of `packets` arrived: does it report marks? With `is_reduced` the window was already reduced for the
    /// acknowledged data.
    pub(crate) fn read(&mut self, echo: EcnEcho, packets: u64, is_reduced: bool) -> bool {
        self.is_echoed = match self.feedback {
            EcnFeedback::Accurate => self.decode(echo, packets, is_reduced),
            _ => echo.ece,
        };
        self.is_echoed
    }

    /// RFC 9768 §3.2.2: whether the receiver has counted more marks. `packets`: how many the ACK acknowledges; with
    /// `is_recovery` most of these were reported before, by duplicates.
    fn decode(&mut self, echo: EcnEcho, packets: u64, is_recovery: bool) -> bool {
        let ace = echo.ace;
        if std::mem::take(&mut self.awaits_handshake) && echo.is_pure {
            // Table 4.
            self.sends_ect = ace != 0;
            self.cep = CEP_START + u8::from(ace == handshake_code(Ecn::Ce));
            return self.cep != CEP_START;
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
}
