//! SNACK, the selective negative acknowledgement of SCPS-TP (CCSDS 714.0-B): the receiver reports what is missing, and the
//! sender retransmits it at once.
//!
//! Reported data leaves before new data, regardless of the window, which is raised to the hole if it is smaller. A
//! retransmission is under embargo for a smoothed round-trip time. The first report of an epoch is judged like any
//! loss. Further reports only repair until all data sent by then is acknowledged. A range reported before begins no
//! other epoch. The third duplicate ACK counts as a report of the first segment.
//!
//! Readings. The standard leaves open what is in the network: here it is what was sent, less what is lost and not
//! retransmitted, less a segment for each duplicate ACK; new data leave while that is below the window. ACKs of new data grow the
//! window in an epoch too, unless a setting says otherwise.
//!
//! A timeout goes back to the first hole and retransmits all data in slow start, as without SACK.

use super::{
    AckFacts, Agreed, Config, Detect, Evidence, Finding, InOrderOfTime, Recovery, Repair, Scoreboard, Timers, View,
};
use crate::config::Snack;
use crate::conn::sender::ack::Ack;
use crate::conn::sender::episode::Phase;
use crate::scps::SnackOption;
use bentpipe_units::Duration;

/// Believes the receiver.
#[derive(Clone, Debug)]
pub(crate) struct ByReport {
    grows: bool,
    /// End of the highest reported hole.
    highest_hole: u64,
    /// Bytes beyond SND.UNA that duplicate ACKs showed to have arrived.
    delivered: u64,
    /// The longest SRTT since a hole is outstanding.
    embargo: Duration,
}

impl ByReport {
    pub(super) fn new(config: &Config, _: &Agreed) -> Self {
        let grows = matches!(config.recovery, Recovery::Snack(Snack { grows: true, .. }));
        Self { grows, highest_hole: 0, delivered: 0, embargo: Duration::ZERO }
    }
}

impl Detect for ByReport {
    fn find(&mut self, view: &View<'_>, facts: &AckFacts, board: &mut Scoreboard, _: &mut Timers) -> Finding {
        let smss = view.space.smss();
        if facts.is_duplicate {
            self.delivered = (self.delivered + smss).min(board.flight_size());
        } else if facts.newly_acked > 0 {
            // The data beyond the hole was counted at its arrival. The segment that filled the hole counts now.
            let counted = facts.newly_acked.saturating_sub(smss);
            let is_over = view.space.una >= self.highest_hole;
            self.embargo = if is_over { Duration::ZERO } else { self.embargo };
            self.delivered = if is_over { 0 } else { self.delivered.saturating_sub(counted) };
        }
        Finding::default()
    }

    fn find_hole(&mut self, view: &View<'_>, (start, end): (u64, u64), board: &mut Scoreboard) -> Finding {
        let end = end.min(view.space.nxt);
        if start >= end {
            return Finding::default();
        }
        // CCSDS 714.0-B fixes the embargo at SRTT when a hole is sent, and SRTT may fall before it ends. Reading: for all holes it is the
        // longest SRTT since the first of them was reported.
        let embargo = view.rtt.srtt().unwrap_or(view.config.rto.initial).max(self.embargo);
        self.embargo = embargo;
        let marked = board.mark(Evidence::Reported { now: view.now, left: start, right: end, embargo });
        let is_older = start < self.highest_hole;
        self.highest_hole = self.highest_hole.max(end);
        let is_news = marked.bytes > 0;
        Finding {
            is_reordered: false,
            is_further: is_news,
            is_proven: is_news && !is_older && view.episode.phase == Phase::Open,
            window_min: if is_news { end - start } else { 0 },
            new_hole: (is_news && !is_older).then_some((start, end)),
        }
    }

    fn repair(&self) -> Repair {
        Repair::AtOnce
    }

    /// All sent data counts as lost.
    fn on_timeout(&mut self, _: &View<'_>, forget_sacks: bool, board: &mut Scoreboard, _: &mut Timers) {
        board.mark(Evidence::Everything { forget_sacks });
        self.delivered = 0;
    }

    fn delivered_beyond(&self) -> Option<u64> {
        Some(self.delivered)
    }

    fn grows_in_recovery(&self) -> bool {
        self.grows
    }

    fn needs_detail(&self) -> Option<InOrderOfTime> {
        Some(false)
    }
}

/// Holes that an ACK reports, in bytes, where such reports were agreed on; `una` is the first byte outstanding.
pub(crate) fn reported_holes(ack: &Ack<'_>, una: u64, agreed: &Agreed) -> impl Iterator<Item = (u64, u64)> + use<> {
    let option = ack.scps.and_then(|scps| scps.snack).filter(|_| agreed.snack.is_some());
    let unit = u64::from(agreed.smss);
    option.into_iter().flat_map(move |option| holes(option, una, unit))
}

/// Holes of an option; `unit` is the segment size that was agreed on.
fn holes(option: SnackOption, una: u64, unit: u64) -> impl Iterator<Item = (u64, u64)> {
    let start = una + u64::from(option.offset) * unit;
    let end = start + u64::from(option.size) * unit;
    let missing = (0..option.beyond.units()).filter(move |at| !option.beyond.has(*at)).map(move |at| {
        let start = end + at as u64 * unit;
        (start, start + unit)
    });
    std::iter::once((start, end)).chain(missing)
}
