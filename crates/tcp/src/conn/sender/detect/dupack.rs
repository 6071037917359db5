//! Duplicate ACKs (RFC 5681 §3.2): three of them prove a loss, or fewer if the data in flight can cause only fewer
//! (RFC 5827).

use super::{AckFacts, Agreed, Config, Detect, Finding, NewReno, Recovery, Repair, Scoreboard, Timers, View};
use crate::conn::sender::episode::DUP_THRESH;

/// Counts duplicate ACKs.
#[derive(Clone, Debug)]
pub(crate) struct ByDuplicates {
    repair: Repair,
    /// Fast recovery through partial ACKs; none: any new ACK ends it.
    newreno: Option<NewReno>,
}

impl ByDuplicates {
    pub(super) fn new(config: &Config, _: &Agreed) -> Self {
        match config.recovery {
            Recovery::FastRetransmit => Self { repair: Repair::GoBack, newreno: None },
            Recovery::Reno => Self { repair: Repair::Fast, newreno: None },
            Recovery::NewReno(options) => Self { repair: Repair::Fast, newreno: Some(options) },
            _ => Self { repair: Repair::Fast, newreno: Some(NewReno::default()) },
        }
    }
}

impl Detect for ByDuplicates {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        let is_proven = facts.is_duplicate && view.episode.dupacks == threshold(view, board.flight_size());
        Finding { is_proven, ..Finding::default() }
    }

    fn repair(&self) -> Repair {
        self.repair
    }

    /// RFC 6582 §3.2 step 2: duplicates of data from before the last episode prove nothing. (For Reno and Tahoe this is
    /// ns-2's reading.)
    fn may_begin(&self, una: u64, recovery_point: Option<u64>) -> bool {
        match recovery_point {
            Some(point) => una > point,
            None => self.newreno.is_none_or(|options| options.first_loss || una > 0),
        }
    }

    fn newreno(&self) -> Option<NewReno> {
        self.newreno
    }
}

/// Duplicate ACKs that prove a loss: three, or fewer if fewer can come (RFC 5827 §3.1).
fn threshold(view: &View<'_>, flight: u64) -> u32 {
    let smss = view.space.smss();
    if !view.config.early_retransmit || flight >= 4 * smss || view.space.can_send_new() {
        return DUP_THRESH;
    }
    let segments = flight.div_ceil(smss) as u32;
    // Never with one segment outstanding: its duplicates say nothing of it.
    if segments < 2 {
        DUP_THRESH
    } else {
        segments - 1
    }
}
