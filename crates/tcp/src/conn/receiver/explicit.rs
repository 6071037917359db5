//! Echo of the headers of XCP and RCP: the sum of XCP's window changes since the last ACK, or RCP's latest rate.

use crate::config::Feedback;
use bentpipe_cc::ExplicitHeader;

/// Feedback that the next segment returns.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    is_summed: bool,
    word: Option<f32>,
}

impl Echo {
    pub(super) fn of(feedback: Feedback) -> Option<Self> {
        feedback.header_len()?;
        Some(Self { is_summed: matches!(feedback, Feedback::Xcp(_)), word: None })
    }

    /// A header arrived.
    pub(crate) fn read(&mut self, header: ExplicitHeader) {
        // Infinite: no router has written anything.
        if header.forward != 0.0 && header.forward.is_finite() {
            let before = self.word.filter(|_| self.is_summed).unwrap_or(0.0);
            self.word = Some(before + header.forward);
        }
    }

    /// Returns `header` as it leaves. Without `asks`, the packet is an ACK alone, whose window routers cannot change.
    pub(crate) fn write(&mut self, header: ExplicitHeader, asks: bool) -> ExplicitHeader {
        let header = ExplicitHeader { reverse: self.word.take().unwrap_or(f32::NAN), ..header };
        if asks {
            header
        } else {
            ExplicitHeader { cwnd: 0.0, rtt: 0.0, forward: 0.0, ..header }
        }
    }
}
