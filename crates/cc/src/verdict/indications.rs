//! The SCPS-TP rule (CCSDS 714.0-B) for a loss: the route has an assumption, and indications override it. ECN marks
//! indicate congestion for two smoothed round-trip times (a reading). The receiver indicates corruption (Corruption
//! Experienced). Congestion overrides corruption.
//!
//! The option reports only that packets arrived damaged. It names neither packets nor a period, so its range is a reading:
//!
//! - `hole`: one report explains one hole in the data that were outstanding when it arrived, within two smoothed round-trip times.
//!   The first new hole uses it up, and the next hole without a report is congestion. Packets that were damaged side by side leave
//!   one hole and need one report. A timeout uses a report up as well, because a retransmission may have arrived damaged, but not in a
//!   recovery that congestion began.
//! - `round-trips`: a report explains every loss of the next two smoothed round-trip times.
//!
//! The receiver repeats a report on `resnacks` ACKs, because ACKs are lost, too. A longer run of such ACKs is more than
//! one report: each ACK after the first `resnacks` counts as another.

use super::{Loss, Verdict};
use crate::facts::PathState;
use crate::keys::{CorruptionCovers, Snack};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Indications of the receiver and of the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Indications {
    snack: Snack,
    /// Time of the last mark.
    pub(super) congestion: Option<Time>,
    /// Time of the last report of corruption by the receiver.
    corruption: Option<Time>,
    /// Consecutive ACKs that reported it.
    run: u32,
    /// Reports that no hole has used up, oldest first: arrival, and SND.NXT then.
    unused: VecDeque<(Time, u64)>,
    /// End of the last hole that a report covered.
    covered_until: u64,
    /// Whether a report covers the hole that was reported last.
    is_covered: bool,
}

impl Indications {
    pub(super) fn configure(&mut self, snack: Snack) {
        self.snack = snack;
    }

    /// Processes an ACK, which reports corrupted packets or does not.
    pub(super) fn on_corruption(&mut self, is_reported: bool, path: &PathState) {
        self.run = if is_reported { self.run.saturating_add(1) } else { 0 };
        if !is_reported {
            return;
        }
        self.corruption = Some(path.now);
        if self.run == 1 || self.run > self.snack.resnacks {
            self.forget(path.snd_una, path);
            self.unused.push_back((path.now, path.snd_nxt));
        }
    }

    /// Discards reports that can no longer explain a loss at `offset` or later.
    fn forget(&mut self, offset: u64, path: &PathState) {
        while self.unused.front().is_some_and(|&(at, until)| until <= offset || !is_recent(at, path)) {
            self.unused.pop_front();
        }
    }

    /// Uses up the oldest report that can explain a loss at `offset`. Returns whether one can.
    fn use_up(&mut self, offset: u64, path: &PathState) -> bool {
        self.forget(offset, path);
        self.unused.pop_front().is_some()
    }

    /// Processes a hole that was reported for the first time.
    pub(super) fn covers(&mut self, (start, end): (u64, u64), path: &PathState) -> Option<bool> {
        if self.snack.corruption_covers == CorruptionCovers::RoundTrips {
            return None;
        }
        // The long form reports a hole in parts.
        let is_next_part = self.is_covered && start == self.covered_until;
        self.is_covered = is_next_part || self.use_up(start, path);
        if self.is_covered {
            self.covered_until = end;
        }
        Some(self.is_covered)
    }

    pub(super) fn judge(&mut self, assumed: Verdict, loss: &Loss, path: &PathState) -> Verdict {
        if self.congestion.is_some_and(|at| is_recent(at, path)) {
            return Verdict::Congestion;
        }
        let is_corruption = match self.snack.corruption_covers {
            CorruptionCovers::RoundTrips => self.corruption.is_some_and(|at| is_recent(at, path)),
            // A retransmission was lost in a recovery that congestion began.
            CorruptionCovers::Hole if loss.was_reduced => false,
            CorruptionCovers::Hole if loss.by_timeout => self.use_up(path.snd_una, path),
            CorruptionCovers::Hole => self.is_covered,
        };
        if is_corruption {
            Verdict::LinkError
        } else {
            assumed
        }
    }
}

/// Whether `at` is no more than two smoothed round-trip times ago. Before the first sample a round trip may take any time.
fn is_recent(at: Time, path: &PathState) -> bool {
    path.srtt.is_none_or(|srtt| path.now.saturating_since(at) <= srtt * 2)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::keys::Copies;
    use crate::verdict::{AssumeCongestion, AssumeCorruption, LossVerdict};
    use bentpipe_units::Duration;

    pub(in crate::verdict) fn at(ms: u64) -> PathState {
        let srtt = Some(Duration::from_millis(500));
        PathState {
            header_len: 40,
            now: Time::ZERO + Duration::from_millis(ms),
            smss: 1000,
            snd_una: 0,
            flight_size: 10_000,
            ssthresh_base: 10_000,
            ssthresh_unit: 1,
            snd_nxt: 10_000,
            srtt,
            rwnd: 1 << 20,
        }
    }

    fn loss(by_timeout: bool) -> Loss {
        Loss { offset: 0, by_timeout, was_reduced: false, sent_segments: 0, retransmitted_segments: 0 }
    }

    fn assume_congestion(corruption_covers: CorruptionCovers) -> AssumeCongestion {
        let mut policy = AssumeCongestion::default();
        policy.configure(Copies::default(), Snack { corruption_covers, ..Snack::default() });
        policy
    }

    /// `docs/specs/scps-tp.md`, test 6, and its opposite.
    #[test]
    fn indications_last_two_round_trips_and_congestion_overrides() {
        for loss in [false, true].map(loss) {
            let mut congestion = assume_congestion(CorruptionCovers::RoundTrips);
            let mut corruption = AssumeCorruption::default();
            assert_eq!(congestion.judge(&loss, &at(0)), Verdict::Congestion);
            assert_eq!(corruption.judge(&loss, &at(0)), Verdict::LinkError);
            congestion.on_corruption(true, &at(100));
            assert_eq!(congestion.covers((0, 1000), &at(100)), None);
            corruption.on_mark(&at(100));
            assert_eq!(
                [350, 1100, 1101, 1600].map(|ms| congestion.judge(&loss, &at(ms)) == Verdict::LinkError),
                [true, true, false, false]
            );
            assert_eq!(
                [350, 1100, 1101].map(|ms| corruption.judge(&loss, &at(ms)) == Verdict::Congestion),
                [true, true, false]
            );
            congestion.on_corruption(true, &at(2000));
            congestion.on_mark(&at(1900));
            assert_eq!(congestion.judge(&loss, &at(2100)), Verdict::Congestion);
            assert_eq!(congestion.judge(&loss, &at(2950)), Verdict::LinkError, "the mark is over");
        }
    }

    #[test]
    fn a_report_explains_one_hole_and_not_the_next() {
        let mut policy = assume_congestion(CorruptionCovers::Hole);
        let hole = |policy: &mut AssumeCongestion, start: u64, end: u64| {
            let covers = policy.covers((1000 * start, 1000 * end), &at(100)).unwrap();
            assert_eq!(policy.judge(&loss(false), &at(100)) == Verdict::LinkError, covers);
            covers
        };
        assert!(!hole(&mut policy, 0, 1), "nothing was reported");
        // Three ACKs repeat one report.
        (0..3).for_each(|_| policy.on_corruption(true, &at(100)));
        assert_eq!([(2, 3), (5, 6)].map(|(start, end)| hole(&mut policy, start, end)), [true, false]);
        // A run of five: two more packets arrived damaged while the first report was repeated.
        policy.on_corruption(false, &at(100));
        (0..5).for_each(|_| policy.on_corruption(true, &at(100)));
        assert_eq!([4, 6, 8].map(|start| hole(&mut policy, start, start + 1)), [true; 3]);
        assert!(!hole(&mut policy, 0, 1));
    }

    #[test]
    fn a_hole_that_is_reported_in_parts_needs_one_report() {
        let mut policy = assume_congestion(CorruptionCovers::Hole);
        policy.on_corruption(true, &at(100));
        let parts = [(2000, 3000), (3000, 4000), (4000, 5000), (6000, 7000)];
        assert_eq!(parts.map(|part| policy.covers(part, &at(100))), [true, true, true, false].map(Some));
    }

    #[test]
    fn a_report_explains_no_data_that_were_sent_later() {
        let mut policy = assume_congestion(CorruptionCovers::Hole);
        policy.on_corruption(true, &at(100));
        assert_eq!(policy.covers((10_000, 11_000), &at(100)), Some(false), "SND.NXT was 10,000");
        policy.on_corruption(false, &at(100));
        policy.on_corruption(true, &at(100));
        let timeout = |policy: &mut AssumeCongestion, snd_una: u64| {
            policy.judge(&loss(true), &PathState { snd_una, ..at(1000) }) == Verdict::LinkError
        };
        assert!(timeout(&mut policy, 4000), "a retransmission arrived damaged");
        assert!(!timeout(&mut policy, 4000), "the report is used up");
        policy.on_corruption(false, &at(100));
        policy.on_corruption(true, &at(100));
        let in_congestion = Loss { was_reduced: true, ..loss(true) };
        assert_eq!(policy.judge(&in_congestion, &at(1000)), Verdict::Congestion);
        policy.on_corruption(false, &at(100));
        policy.on_corruption(true, &at(100));
        assert_eq!(policy.covers((6000, 7000), &at(1101)), Some(false), "more than two round trips ago");
    }
}
