//! Finds losses by the retransmission timer only, and ignores duplicate ACKs (TCPmin, Emmelmann).

use super::{AckFacts, Agreed, Config, Detect, Finding, Repair, Scoreboard, Timers, View};

/// Finds nothing.
#[derive(Clone, Debug)]
pub(crate) struct ByTimeout;

impl ByTimeout {
    pub(super) fn new(_: &Config, _: &Agreed) -> Self {
        Self
    }
}

impl Detect for ByTimeout {
    fn find(&mut self, _: &View<'_>, _: &AckFacts, _: &mut Scoreboard, _: &mut Timers) -> Finding {
        Finding::default()
    }
    fn repair(&self) -> Repair {
        Repair::GoBack
    }
}
