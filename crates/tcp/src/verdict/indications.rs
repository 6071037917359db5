//! What SCPS-TP (CCSDS 714.0-B) makes of a loss: the route has an assumption, and indications override it. The receiver
//! indicates corruption (Corruption Experienced), ECN marks indicate congestion; each counts for two smoothed round-trip
//! times (a reading), and congestion overrides corruption.

use super::Verdict;
use crate::facts::PathState;
use bentpipe_units::Time;

/// When each was indicated last.
#[derive(Clone, Debug, Default)]
pub(super) struct Indications {
    pub(super) corruption: Option<Time>,
    pub(super) congestion: Option<Time>,
}

impl Indications {
    pub(super) fn judge(&self, assumed: Verdict, path: &PathState) -> Verdict {
        let counts = |at: Option<Time>| {
            // Before the first sample a round trip may take any time.
            at.is_some_and(|at| path.srtt.is_none_or(|srtt| path.now.saturating_since(at) <= srtt * 2))
        };
        if counts(self.congestion) {
            Verdict::Congestion
        } else if counts(self.corruption) {
            Verdict::LinkError
        } else {
            assumed
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::verdict::{AssumeCongestion, AssumeCorruption, Loss, LossVerdict};
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

    /// `specs/scps-tp.md`, test 6, and its opposite.
    #[test]
    fn indications_last_two_round_trips_and_congestion_overrides() {
        for by_timeout in [false, true] {
            let loss = Loss { offset: 0, by_timeout, sent_segments: 0, retransmitted_segments: 0 };
            let (mut congestion, mut corruption) = (AssumeCongestion::default(), AssumeCorruption::default());
            assert_eq!(congestion.judge(&loss, &at(0)), Verdict::Congestion);
            assert_eq!(corruption.judge(&loss, &at(0)), Verdict::LinkError);
            congestion.on_corruption(&at(100));
            corruption.on_mark(&at(100));
            assert_eq!(
                [350, 1100, 1101, 1600].map(|ms| congestion.judge(&loss, &at(ms)) == Verdict::LinkError),
                [true, true, false, false]
            );
            assert_eq!(
                [350, 1100, 1101].map(|ms| corruption.judge(&loss, &at(ms)) == Verdict::Congestion),
                [true, true, false]
            );
            congestion.on_corruption(&at(2000));
            congestion.on_mark(&at(1900));
            assert_eq!(congestion.judge(&loss, &at(2100)), Verdict::Congestion);
            assert_eq!(congestion.judge(&loss, &at(2950)), Verdict::LinkError, "the mark is over");
        }
    }
}
