//! What SCPS-TP (CCSDS 714.0-B) makes of a loss: the route has an assumption, and indications override it. The receiver
//! indicates corruption (Corruption Experienced), marks indicate congestion; each counts for two smoothed round-trip times
//! (a reading), and congestion overrides corruption.

use super::{Loss, LossVerdict, Verdict};
use crate::cc::PathState;
use bentpipe_units::Time;

/// Losses are congestion, unless corruption is indicated.
#[derive(Clone, Debug, Default)]
pub struct AssumeCongestion(Indications);

/// Losses are errors of the link, unless congestion is indicated.
#[derive(Clone, Debug, Default)]
pub struct AssumeCorruption(Indications);

/// When each was indicated last.
#[derive(Clone, Debug, Default)]
struct Indications {
    corruption: Option<Time>,
    congestion: Option<Time>,
}

impl Indications {
    fn judge(&self, assumed: Verdict, path: &PathState) -> Verdict {
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

impl LossVerdict for AssumeCongestion {
    fn judge(&mut self, _loss: &Loss, path: &PathState) -> Verdict {
        self.0.judge(Verdict::Congestion, path)
    }

    fn on_corruption(&mut self, path: &PathState) {
        self.0.corruption = Some(path.now);
    }

    fn on_mark(&mut self, path: &PathState) {
        self.0.congestion = Some(path.now);
    }
}

impl LossVerdict for AssumeCorruption {
    fn judge(&mut self, _loss: &Loss, path: &PathState) -> Verdict {
        self.0.judge(Verdict::LinkError, path)
    }

    fn on_corruption(&mut self, path: &PathState) {
        self.0.corruption = Some(path.now);
    }

    fn on_mark(&mut self, path: &PathState) {
        self.0.congestion = Some(path.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Duration;

    fn at(ms: u64) -> PathState {
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
            let loss = Loss { offset: 0, by_timeout };
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
