//! What changes over time: rates, delays, outages.

use super::{below, instant};
use crate::scenario::resolve::Report;
use crate::scenario::{file, pass::Pass, Outage, Profile, DURATION_MAX};
use bentpipe_units::{Duration, Rate, Time};

pub(in crate::scenario) fn rate(
    profile: &file::RateProfile,
    report: &mut Report<'_>,
    path: &[String],
) -> Profile<Rate> {
    let profile = match profile {
        file::RateProfile::Constant(rate) => Profile::Constant(rate.0),
        file::RateProfile::Points(file::RatePoints { points, every }) => Profile::Points {
            points: points.iter().map(|(at, rate)| (instant(at.0), rate.0)).collect(),
            linear: false,
            period: every.map(|every| every.0),
        },
    };
    if profile.values().all(|rate| rate.as_bps() == 0) {
        report.value(path, "is never above zero: the link would carry nothing", "expected a rate above 0 bit/s");
    }
    in_order(&profile, report, path);
    profile
}

pub(in crate::scenario) fn delay(
    profile: &file::DelayProfile,
    report: &mut Report<'_>,
    path: &[String],
) -> Profile<Duration> {
    let profile = match profile {
        file::DelayProfile::Constant(delay) => Profile::Constant(delay.0),
        file::DelayProfile::Points(file::DelayPoints { points, interpolate, every }) => Profile::Points {
            points: points.iter().map(|(at, delay)| (instant(at.0), delay.0)).collect(),
            linear: interpolate.0 == file::Interpolate::Linear,
            period: every.map(|every| every.0),
        },
        file::DelayProfile::Pass(file::DelayPass { pass }) => {
            let (h, elevation) = (pass.altitude.0 / 1e3, pass.elevation_min.0);
            let key = |key| below(&below(path, "pass"), key);
            if !(100.0..=100_000.0).contains(&h) {
                report.value(&key("altitude"), "is out of range", "expected 100 km to 100000 km");
                return Profile::Constant(Duration::ZERO);
            }
            if !(0.0..=89.0).contains(&elevation) {
                report.value(&key("elevation_min"), "is out of range", "expected 0 deg to 89 deg");
                return Profile::Constant(Duration::ZERO);
            }
            let (points, period) = Pass { h, elevation }.points(pass.hops);
            Profile::Points { points, linear: true, period: Some(period) }
        }
    };
    if profile.values().any(|delay| delay > DURATION_MAX) {
        report.value(path, "is out of range", "expected at most 200 days (4800 h)");
    }
    in_order(&profile, report, path);
    profile
}

fn in_order<T: Copy>(profile: &Profile<T>, report: &mut Report<'_>, path: &[String]) {
    let Profile::Points { points, linear, period } = profile else { return };
    if points[0].0 != Time::ZERO {
        report.value(
            &below(path, "points"),
            "does not begin at the start of the run",
            "expected \"0 s\" in the first point",
        );
    }
    if let Some(pair) = points.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        let message = format!("is not in order: {} does not come after {}", pair[1].0, pair[0].0);
        report.value(&below(path, "points"), &message, "expected instants that increase");
    }
    let last = points[points.len() - 1].0 - Time::ZERO;
    // A straight line may end where the next period begins; a step there would never be seen.
    if period.is_some_and(|period| period < last || period == Duration::ZERO || (period == last && !linear)) {
        let expected = format!("expected more than {last}, the last point");
        report.value(&below(path, "every"), "is too short for the points", &expected);
    }
}

impl<T: Copy> Profile<T> {
    /// Its values, in time.
    pub(in crate::scenario) fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some(*value), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, value)| *value))
    }
}

pub(in crate::scenario) fn outage(outage: &file::Outage, report: &mut Report<'_>, path: &[String]) -> Outage {
    let spans: Vec<_> = outage.spans.iter().map(|(from, to)| (instant(from.0), instant(to.0))).collect();
    let period = outage.every.map(|every| every.0);
    if let Some(span) = spans.iter().find(|span| span.0 >= span.1) {
        let message = format!("has a span that does not end after its start: {} to {}", span.0, span.1);
        report.value(&below(path, "spans"), &message, "expected pairs of start and end");
    } else if let Some(pair) = spans.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        let message = format!("overlaps or is not in order: {} does not come after {}", pair[1].0, pair[0].1);
        report.value(&below(path, "spans"), &message, "expected spans that increase, with time between them");
    } else if let Some(period) = period {
        let (first, last) = (spans[0].0 - Time::ZERO, spans[spans.len() - 1].1 - Time::ZERO);
        if last > period {
            report.value(&below(path, "every"), "is too short for the spans", &format!("expected at least {last}"));
        } else if last == period && first == Duration::ZERO {
            report.value(
                &below(path, "every"),
                "joins the last span to the first of the next round",
                "expected a time with the link up between them",
            );
        }
    }
    Outage { spans, period, flush: outage.queue.0 == file::OutageQueue::Flush }
}
