//! Forward acknowledgement (FACK, Mathis and Mahdavi 1996): SACKed data more than three segments above prove a loss.

use super::sack::{finding, next_doubtful};
use super::{AckFacts, Agreed, Config, Detect, Evidence, Finding, Repair, Scoreboard, Timers, View};
use crate::conn::sender::episode::Episode;

/// Looks at how far below the highest SACKed byte a segment lies.
#[derive(Clone, Debug)]
pub(crate) struct ByDistance;

impl ByDistance {
    pub(super) fn new(_: &Config, _: &Agreed) -> Self {
        Self
    }
}

impl Detect for ByDistance {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        if facts.newly_sacked == 0 {
            return Finding::default();
        }
        let bytes = board.mark(Evidence::Distance { smss: view.space.smss() }).bytes;
        finding(view, board, bytes)
    }

    fn repair(&self) -> Repair {
        Repair::Selective
    }

    fn next_doubtful(&self, episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
        next_doubtful(episode, una, board)
    }
}
