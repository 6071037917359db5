//! Selective acknowledgements with the procedure of RFC 6675.

use super::{
    AckFacts, Agreed, Config, Detect, Evidence, Finding, Recovery, Repair, SackEvidence, Scoreboard, Timers, View,
};
use crate::conn::sender::episode::{Episode, DUP_THRESH};

/// Looks at what is SACKed above a segment.
#[derive(Clone, Debug)]
pub(crate) struct BySack {
    /// Anything SACKed above proves a loss, once three duplicate ACKs have begun recovery (before RFC 3517; ns-2).
    any_hole: bool,
}

impl BySack {
    pub(super) fn new(config: &Config, _: &Agreed) -> Self {
        Self { any_hole: matches!(config.recovery, Recovery::Sack { evidence: SackEvidence::Hole, .. }) }
    }
}

impl Detect for BySack {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        if facts.newly_sacked == 0 {
            return Finding::default();
        }
        let in_recovery = view.episode.phase.is_recovery();
        let bytes = match self.any_hole {
            false => board.mark(Evidence::SackedAbove { smss: view.space.smss() }).bytes,
            true if in_recovery => board.mark(Evidence::AnySackedAbove).bytes,
            true => 0,
        };
        finding(view, board, bytes)
    }

    fn repair(&self) -> Repair {
        Repair::Selective
    }

    fn on_recovery(&mut self, board: &mut Scoreboard, _: &mut Timers) {
        if self.any_hole {
            board.mark(Evidence::AnySackedAbove);
        }
    }

    fn next_doubtful(&self, episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
        next_doubtful(episode, una, board)
    }
}

/// What newly SACKed data show, of which `bytes` were marked as lost.
pub(super) fn finding(view: &View<'_>, board: &Scoreboard, bytes: u64) -> Finding {
    let first_is_lost = board.first().is_some_and(|first| board.is_lost(first));
    let is_proven = view.episode.dupacks >= DUP_THRESH || first_is_lost || is_early(view, board);
    Finding { is_further: bytes > 0, is_proven, ..Finding::default() }
}

/// RFC 5827 §3.2: all but one segment arrived.
fn is_early(view: &View<'_>, board: &Scoreboard) -> bool {
    let (smss, flight) = (view.space.smss(), board.flight_size());
    let is_left = flight - board.sacked_bytes() <= smss;
    view.config.early_retransmit && flight < 4 * smss && flight > smss && is_left && !view.space.can_send_new()
}

/// RFC 6675 §4 NextSeg(), rules 3 and 4.
pub(super) fn next_doubtful(episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
    if let Some(doubtful) = board.next_unsacked_below_highest() {
        return Some((doubtful, true));
    }
    if episode.rescue_rxt.is_some_and(|rescue_rxt| una <= rescue_rxt) {
        return None;
    }
    let highest = board.highest_unsacked()?;
    // Not before what is acknowledged: else the same segment would be sent again and again at this instant.
    episode.rescue_rxt = episode.recovery_point.max(Some(una));
    Some((highest, false))
}
