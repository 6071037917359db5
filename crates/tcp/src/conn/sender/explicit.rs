//! The header of XCP and RCP as an end writes and reads it. An end sends on what came with segments to it: XCP's changes of the
//! window are summed up until an ACK leaves, of RCP's rates the last one counts.

use crate::config::{Config, Feedback};
use crate::notice::ExplicitHeader;

/// What is on its way from header to header.
#[derive(Clone, Debug)]
pub(super) struct Explicit {
    is_summed: bool,
    /// For the other end.
    echo: Option<f32>,
    /// What the other end brought before data could be sent.
    pub(super) early: Option<f32>,
}

impl Explicit {
    pub(super) fn of(config: &Config) -> Option<Box<Self>> {
        config.feedback.header_len()?;
        let is_summed = matches!(config.feedback, Feedback::Xcp(_));
        Some(Box::new(Self { is_summed, echo: None, early: None }))
    }

    /// A header has come. Returns what it brings back, if anything.
    pub(super) fn read(&mut self, header: ExplicitHeader) -> Option<f32> {
        // Infinite: no router has written anything.
        if header.forward != 0.0 && header.forward.is_finite() {
            let before = self.echo.filter(|_| self.is_summed).unwrap_or(0.0);
            self.echo = Some(before + header.forward);
        }
        (!header.reverse.is_nan()).then_some(header.reverse)
    }

    /// `header` as it leaves; `asks`: not with an ACK alone, which has no window that routers could change.
    pub(super) fn write(&mut self, header: ExplicitHeader, asks: bool) -> ExplicitHeader {
        let header = ExplicitHeader { reverse: self.echo.take().unwrap_or(f32::NAN), ..header };
        if asks {
            header
        } else {
            ExplicitHeader { cwnd: 0.0, rtt: 0.0, forward: 0.0, ..header }
        }
    }
}
