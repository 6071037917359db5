//! Variable delays of links.

use crate::report::{below, Report};
use bentpipe_model::spec::{Jitter, Spread};
use bentpipe_units::{either, Duration};

either! {
    /// Variable delays of a link.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Jitters {
        /// One variable delay.
        One(Jitter);
        /// Several variable delays, which add up.
        Sum(Vec<Jitter>);
    }
}

impl Jitters {
    /// Returns the notation of variable delays, or none without any.
    pub(crate) fn of(all: &[Jitter]) -> Option<Self> {
        match all {
            [] => None,
            [one] => Some(Self::One(one.clone())),
            several => Some(Self::Sum(several.to_vec())),
        }
    }

    /// Returns all variable delays and reports those that a run of this length cannot have.
    pub(crate) fn checked(&self, run: Duration, report: &mut Report<'_>, path: &[String]) -> Vec<Jitter> {
        match self {
            Self::One(one) => check(one, run, report, path),
            Self::Sum(several) => several
                .iter()
                .enumerate()
                .for_each(|(number, one)| check(one, run, report, &below(path, &number.to_string()))),
        }
        match self {
            Self::One(one) => vec![one.clone()],
            Self::Sum(several) => several.clone(),
        }
    }
}

/// Shortest time for which a value holds.
const EVERY_MIN: Duration = Duration::from_micros(10);
/// Largest variable delay.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Largest number of values of a correlated delay in a run. Each value depends on the one before it, so a packet after a
/// long pause goes through all of them: a second, which Ctrl-C cannot end.
const VALUES_MAX: u64 = 10_000_000;

fn check(jitter: &Jitter, run: Duration, report: &mut Report<'_>, path: &[String]) {
    if jitter.every < EVERY_MIN {
        report.value(&below(path, "every"), "is too short", &format!("expected at least {EVERY_MIN}"));
    } else if jitter.correlation > Duration::ZERO && run.as_ps() / jitter.every.as_ps() > VALUES_MAX {
        let message = format!("makes more than {VALUES_MAX} correlated values in the run");
        report.value(&below(path, "every"), &message, "expected a longer one, a shorter run, or no correlation");
    }
    let path = below(path, "delay");
    match &jitter.delay {
        Spread::Uniform { from, to } if from >= to || *to > DELAY_MAX => {
            let expected = format!("expected more than from, and at most {DELAY_MAX}");
            report.value(&below(&path, "to"), "is out of range", &expected);
        }
        Spread::Exponential { mean } if *mean > DELAY_MAX => {
            report.value(&below(&path, "mean"), "is out of range", &format!("expected at most {DELAY_MAX}"));
        }
        Spread::Quantiles { points } => {
            let rises = points.windows(2).all(|pair| pair[0].0 .0 < pair[1].0 .0 && pair[0].1 <= pair[1].1);
            if !rises || points.iter().any(|point| point.1 > DELAY_MAX) {
                let expected = format!(
                    "expected rising shares, each with a delay of at least the one before it, up to {DELAY_MAX}"
                );
                report.value(&below(&path, "points"), "are not quantiles", &expected);
            }
        }
        Spread::Uniform { .. } | Spread::Exponential { .. } => {}
    }
}
