//! Selective acknowledgements with the procedure of RFC 6675.

use super::{
    AckFacts, Agreed, Config, Detect, Evidence, Finding, InOrderOfTime, Recovery, Repair, SackEvidence, Scoreboard,
    Timers, View,
};
use crate::config::{SackCounting, SackOnRto};
use crate::conn::sender::episode::{Episode, Phase, DUP_THRESH};

/// Counts SACKed data above a segment.
#[derive(Clone, Debug)]
pub(crate) struct BySack {
    /// Anything SACKed above proves a loss, once three duplicate ACKs have begun recovery (before RFC 3517; ns-2).
    any_hole: bool,
    /// Whether the highest segment may be retransmitted when nothing else may be sent.
    rescues: bool,
    /// Reports mean nothing from a timeout until everything outstanding is acknowledged.
    ignores_reports: bool,
    /// Counts ACKs; none: the data that they report.
    by_acks: Option<ByAcks>,
}

/// Pipe as Fall and Floyd counted it in 1996: each transmission adds a segment, each duplicate ACK takes one off, and a partial
/// ACK two, one for the retransmission and one for the segment that was lost.
#[derive(Clone, Debug, Default)]
struct ByAcks {
    /// Segment size at the last ACK, bytes.
    smss: u64,
    pipe: u64,
    /// Reports that are ignored since the last ACK that advanced: where the first begins and the last ends.
    ignored: Option<(u64, u64)>,
    /// The ACK that is being processed has ignored reports that the last one had not.
    has_news: bool,
    /// Recovery point of the last timeout: an ACK of exactly that proves nothing new (ns-2; RFC 6582 §3.2 step 2).
    timed_out_until: Option<u64>,
}

impl BySack {
    pub(super) fn new(config: &Config, _: &Agreed) -> Self {
        let Recovery::Sack { on_rto, evidence, counting, rescue } = config.recovery else {
            unreachable!("another detector serves it")
        };
        Self {
            any_hole: evidence == SackEvidence::Hole,
            rescues: rescue,
            ignores_reports: on_rto == SackOnRto::Ignore,
            by_acks: (counting == SackCounting::Acks).then(ByAcks::default),
        }
    }

    /// Marks losses. Returns the bytes that were not known to be lost.
    fn mark(&self, view: &View<'_>, board: &mut Scoreboard) -> u64 {
        match self.any_hole {
            false => board.mark(Evidence::SackedAbove { smss: view.space.smss() }).bytes,
            true if view.episode.phase.is_recovery() => board.mark(Evidence::AnySackedAbove).bytes,
            true => 0,
        }
    }
}

impl ByAcks {
    fn on_ack(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard) {
        self.smss = view.space.smss();
        self.has_news = false;
        let is_partial = facts.newly_acked > 0;
        if is_partial {
            self.ignored = None;
        }
        match view.episode.phase {
            Phase::Selective if is_partial => self.pipe = self.pipe.saturating_sub(2 * self.smss),
            Phase::Selective if facts.is_duplicate => self.pipe = self.pipe.saturating_sub(self.smss),
            // Reports count for one recovery.
            Phase::Open if is_partial => board.forget_reports(),
            _ => {}
        }
    }

    fn ignore(&mut self, ranges: &[(u64, u64)]) {
        let Some(begin) = ranges.iter().map(|range| range.0).min() else { return };
        let end = ranges.iter().map(|range| range.1).max().unwrap_or(begin);
        let (first, last) = self.ignored.unwrap_or((u64::MAX, 0));
        self.has_news = begin < first || end > last;
        self.ignored = Some((begin.min(first), end.max(last)));
    }
}

impl Detect for BySack {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        if let Some(by_acks) = &mut self.by_acks {
            by_acks.on_ack(view, facts, board);
        }
        if facts.newly_sacked == 0 && self.by_acks.is_none() {
            return Finding::default();
        }
        let bytes = self.mark(view, board);
        finding(view, board, bytes)
    }

    fn repair(&self) -> Repair {
        Repair::Selective
    }

    fn on_recovery(&mut self, board: &mut Scoreboard, _: &mut Timers) {
        if self.any_hole {
            board.mark(Evidence::AnySackedAbove);
        }
        if let Some(by_acks) = &mut self.by_acks {
            // The duplicates have left the network; ns-2 does not count the retransmission that begins recovery.
            by_acks.pipe = board.flight_size().saturating_sub(u64::from(DUP_THRESH) * by_acks.smss);
        }
    }

    fn on_timeout(&mut self, view: &View<'_>, forget_sacks: bool, board: &mut Scoreboard, _: &mut Timers) {
        if let Some(by_acks) = &mut self.by_acks {
            by_acks.timed_out_until = Some(view.space.nxt);
        }
        board.mark(Evidence::Everything { forget_sacks });
    }

    fn may_begin(&self, una: u64, recovery_point: Option<u64>) -> bool {
        let Some(point) = recovery_point else { return true };
        let is_after_timeout = self.by_acks.as_ref().is_some_and(|by_acks| by_acks.timed_out_until == Some(point));
        if is_after_timeout {
            una > point
        } else {
            una >= point
        }
    }

    fn next_doubtful(&self, episode: &mut Episode, una: u64, board: &mut Scoreboard) -> Option<(u64, bool)> {
        if self.rescues {
            return next_doubtful(episode, una, board);
        }
        board.next_unsacked_below_highest().map(|doubtful| (doubtful, true))
    }

    fn is_duplicate(&self, facts: &AckFacts) -> bool {
        let is_new = facts.newly_sacked > 0;
        self.by_acks.as_ref().map_or(is_new, |by_acks| facts.newly_acked == 0 && (is_new || by_acks.has_news))
    }

    fn ignore(&mut self, ranges: &[(u64, u64)]) {
        if let Some(by_acks) = &mut self.by_acks {
            by_acks.ignore(ranges);
        }
    }

    fn counts_acks(&self) -> bool {
        self.by_acks.is_some()
    }

    fn pipe(&self, board: &Scoreboard) -> u64 {
        self.by_acks.as_ref().map_or_else(|| board.pipe(), |by_acks| by_acks.pipe)
    }

    fn on_selective_sent(&mut self, len: u64) {
        if let Some(by_acks) = &mut self.by_acks {
            by_acks.pipe += len;
        }
    }

    /// ACKs that report nothing are counted, too.
    fn needs_detail(&self) -> Option<InOrderOfTime> {
        (self.by_acks.is_some() || self.ignores_reports).then_some(false)
    }
}

/// Returns the finding from newly SACKed data, of which `bytes` were marked as lost.
pub(super) fn finding(view: &View<'_>, board: &Scoreboard, bytes: u64) -> Finding {
    let first_is_lost = board.sent.first().is_some_and(|first| board.sent.is_lost(first));
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
    let highest = board.sent.highest_unsacked()?;
    // Not below the acknowledged data. Otherwise the same segment would be retransmitted without end at this instant.
    episode.rescue_rxt = episode.recovery_point.max(Some(una));
    Some((highest, false))
}
