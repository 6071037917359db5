//! The header of XCP and RCP as an end writes and reads it. An end sends on what came with segments to it: XCP's changes of the
//! window are summed up until an ACK leaves, of RCP's rates the last one counts.

use super::state::Sender;
use crate::cc::CongestionControl;
use crate::config::{Config, Feedback};
use crate::conn::context::Context;
use crate::notice::ExplicitHeader;
use bentpipe_units::Time;

/// What is on its way from header to header.
#[derive(Clone, Debug)]
pub(super) struct Explicit {
    is_summed: bool,
    /// For the other end.
    echo: Option<f32>,
    /// What the other end brought before data could be sent.
    early: Option<f32>,
}

impl Explicit {
    pub(super) fn of(config: &Config) -> Option<Box<Self>> {
        config.feedback.header_len()?;
        let is_summed = matches!(config.feedback, Feedback::Xcp(_));
        Some(Box::new(Self { is_summed, echo: None, early: None }))
    }
}

impl Sender {
    /// A header has come. `has_begun`: data can be sent.
    pub(crate) fn on_explicit(&mut self, now: Time, header: ExplicitHeader, has_begun: bool, cx: &Context) {
        let Some(explicit) = &mut self.explicit else { return };
        // Infinite: no router has written anything.
        if header.forward != 0.0 && header.forward.is_finite() {
            let before = explicit.echo.filter(|_| explicit.is_summed).unwrap_or(0.0);
            explicit.echo = Some(before + header.forward);
        }
        if header.reverse.is_nan() {
            return;
        }
        if has_begun {
            let path = self.path(now, cx);
            self.cc.on_explicit(f64::from(header.reverse), &path);
        } else {
            explicit.early = Some(header.reverse);
        }
    }

    /// Data transfer begins: what came before counts.
    pub(super) fn begin_explicit(&mut self, now: Time, cx: &Context) {
        let early = self.explicit.as_mut().and_then(|explicit| explicit.early.take());
        if let Some(reverse) = early {
            let path = self.path(now, cx);
            self.cc.on_explicit(f64::from(reverse), &path);
        }
    }

    /// The header of a packet that leaves; `asks`: it is not an ACK alone.
    pub(crate) fn explicit_header(&mut self, now: Time, asks: bool, cx: &Context) -> Option<ExplicitHeader> {
        let path = self.path(now, cx);
        let header = self.cc.explicit_header(&path)?;
        let explicit = self.explicit.as_mut()?;
        let reverse = explicit.echo.take().unwrap_or(f32::NAN);
        let header = ExplicitHeader { reverse, ..header };
        // An ACK alone has no window that routers could change.
        Some(if asks { header } else { ExplicitHeader { cwnd: 0.0, rtt: 0.0, forward: 0.0, ..header } })
    }
}
