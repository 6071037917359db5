//! What changes over time: rates, delays, outages.

use super::{below, instant};
use crate::scenario::resolve::Report;
use crate::scenario::{file, pass::Pass, trace, Downtimes, Outage, Profile, DURATION_MAX};
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
        file::RateProfile::Trace(trace) => {
            let Some(profile) = rate_trace(trace, report, path) else { return Profile::Constant(Rate::from_bps(0)) };
            profile
        }
    };
    if profile.values().all(|rate| rate.as_bps() == 0) {
        report.value(path, "is never above zero: the link would carry nothing", "expected a rate above 0 bit/s");
    }
    in_order(&profile, report, path);
    profile
}

fn rate_trace(trace: &file::RateTrace, report: &mut Report<'_>, path: &[String]) -> Option<Profile<Rate>> {
    let file::RateTrace { file, format, column, every } = trace;
    match format.0 {
        file::RateFormat::Csv => {
            let points = trace::rates(file, column.as_deref(), report, path);
            traced(points, false, every.map(|every| every.0), report, path)
        }
        file::RateFormat::Mahimahi => {
            for (key, is_there) in [("column", column.is_some()), ("every", every.is_some())] {
                if is_there {
                    report.value(
                        &below(path, key),
                        "means nothing to a Mahimahi trace",
                        "expected the key to be left out",
                    );
                }
            }
            let (points, period) = trace::mahimahi(file, report, path);
            (!points.is_empty()).then_some(Profile::Points { points, linear: false, period })
        }
    }
}

/// The profile of a trace, if there is one: what is wrong with it is reported.
pub(super) fn traced<T: Copy>(
    points: Vec<(Time, T)>,
    linear: bool,
    period: Option<Duration>,
    report: &mut Report<'_>,
    path: &[String],
) -> Option<Profile<T>> {
    if points.is_empty() {
        return None;
    }
    let profile = Profile::Points { points, linear, period };
    in_order(&profile, report, path);
    Some(profile)
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
        file::DelayProfile::Trace(file::DelayTrace { file, column, interpolate, every }) => {
            let points = trace::delays(file, column.as_deref(), report, path);
            let linear = interpolate.0 == file::Interpolate::Linear;
            let profile = traced(points, linear, every.map(|every| every.0), report, path);
            profile.unwrap_or(Profile::Constant(Duration::ZERO))
        }
    };
    if profile.values().any(|delay| delay > DURATION_MAX) {
        report.value(path, "is out of range", "expected at most 200 days (4800 h)");
    }
    in_order(&profile, report, path);
    profile
}

pub(super) fn in_order<T: Copy>(profile: &Profile<T>, report: &mut Report<'_>, path: &[String]) {
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
    let (when, queue) = match outage {
        file::Outage::Spans(file::OutageSpans { spans, every, queue }) => {
            let spans = spans.iter().map(|(from, to)| (instant(from.0), instant(to.0))).collect();
            (set_times(spans, every.map(|every| every.0), "spans", report, path), queue.0)
        }
        file::Outage::Trace(file::OutageTrace { file, every, queue }) => {
            let spans = trace::spans(file, report, path);
            (set_times(spans, every.map(|every| every.0), "file", report, path), queue.0)
        }
        file::Outage::Random(file::OutageRandom { mean_up, mean_down, queue }) => {
            for (key, mean) in [("mean_up", mean_up.0), ("mean_down", mean_down.0)] {
                if mean == Duration::ZERO {
                    report.value(&below(path, key), "is no duration of a state", "expected more than 0 s");
                }
            }
            (Downtimes::Random { mean_up: mean_up.0, mean_down: mean_down.0 }, queue.0)
        }
    };
    Outage { when, flush: queue == file::OutageQueue::Flush }
}

/// Outages that are listed, under `key`.
fn set_times(
    spans: Vec<(Time, Time)>,
    period: Option<Duration>,
    key: &str,
    report: &mut Report<'_>,
    path: &[String],
) -> Downtimes {
    if let Some(span) = spans.iter().find(|span| span.0 >= span.1) {
        let message = format!("has a span that does not end after its start: {} to {}", span.0, span.1);
        report.value(&below(path, key), &message, "expected pairs of start and end");
    } else if let Some(pair) = spans.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        let message = format!("overlaps or is not in order: {} does not come after {}", pair[1].0, pair[0].1);
        report.value(&below(path, key), &message, "expected spans that increase, with time between them");
    } else if let (Some(period), Some(first), Some(last)) = (period, spans.first(), spans.last()) {
        let (first, last) = (first.0 - Time::ZERO, last.1 - Time::ZERO);
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
    Downtimes::Spans { spans, period }
}
