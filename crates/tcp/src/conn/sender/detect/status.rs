//! The status of the receiver (STP, Henderson and Katz 1999): a hole below data that arrived is lost immediately. A
//! retransmission is also lost if it had the time to arrive.

use super::sack::{finding, next_doubtful};
use super::{AckFacts, Agreed, Config, Detect, Evidence, Finding, InOrderOfTime, Repair, Scoreboard, Timers, View};
use crate::conn::sender::episode::Episode;

/// Believes what each ACK reports.
#[derive(Clone, Debug)]
pub(crate) struct ByStatus;

impl ByStatus {
    pub(super) fn new(_: &Config, _: &Agreed) -> Self {
        Self
    }
}

impl Detect for ByStatus {
    fn find(&mut self, view: &View<'_>, _: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        // A reading: a STAT does not name the poll that it answers.
        let embargo = view.rtt.srtt().map_or(view.config.rto.initial, |srtt| srtt + view.rtt.rttvar() * 4);
        let bytes = board.mark(Evidence::Missing { now: view.now, embargo }).bytes;
        finding(view, board, bytes)
    }

    fn repair(&self) -> Repair {
        Repair::Selective
    }

    fn next_doubtful(&self, episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
        next_doubtful(episode, una, board)
    }

    fn needs_detail(&self) -> Option<InOrderOfTime> {
        Some(false)
    }
}
