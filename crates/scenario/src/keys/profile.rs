//! Values that change over time: rates, delays, outages.

use crate::report::{below, Report};
use crate::trace;
use bentpipe_model::spec::{Downtimes, Outage, Profile, DURATION_MAX};
use bentpipe_orbit::sky::overhead::Overhead;
use bentpipe_units::settings::{Angle, Distance};
use bentpipe_units::{either, settings, words, Duration, Rate, Time};

either! {
    /// Bit rate, constant or variable.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum RateProfile {
        /// Constant rate.
        Constant(Rate);
        /// Rate that changes in steps.
        Points(RatePoints);
        /// Rate from a file.
        Trace(RateTrace);
    }
}

either! {
    /// Delay, constant or variable.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum DelayProfile {
        /// Constant delay.
        Constant(Duration);
        /// Delay by points.
        Points(DelayPoints);
        /// Delay to a satellite.
        Pass(DelayPass);
        /// Delay from a file.
        Trace(DelayTrace);
    }
}

either! {
    /// Times when a link is down.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum OutageKeys {
        /// Listed outages.
        Spans(OutageSpans);
        /// Random outages.
        Random(OutageRandom);
        /// Outages from a file.
        Trace(OutageTrace);
    }
}

settings! {
    /// Measured bit rate.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct RateTrace {
        /// File beside the scenario or in a folder there. The resolved scenario contains its content as points.
        file: String;
        /// Format of the file.
        format: RateFormat = RateFormat::Csv;
        /// Name of the column with the rate; it ends in `_bps`, `_kbps`, `_mbps` or `_gbps`. Default: the only column
        /// beside the time.
        column: Option<String>;
        /// Period after which the values repeat. Default: no repetition; the last value holds. A Mahimahi trace always
        /// repeats.
        every: Option<Duration>;
    }
}

settings! {
    /// Bit rate that changes in steps.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct RatePoints {
        /// Pairs of instant and rate, increasing in time, the first at 0 s. Each rate holds until the next instant.
        points: Vec<(Time, Rate)>, [1];
        /// Period after which the points repeat. Default: no repetition; the last point holds.
        every: Option<Duration>;
    }
}

settings! {
    /// Measured delay.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct DelayTrace {
        /// CSV file beside the scenario or in a folder there. The resolved scenario contains its content as points.
        file: String;
        /// Name of the column with the delay; it ends in `_s`, `_ms`, `_us` or `_ns`. A round trip is not halved.
        /// Default: the only column beside the time.
        column: Option<String>;
        /// Values between rows.
        interpolate: Interpolate = Interpolate::Hold;
        /// Period after which the values repeat. Default: no repetition; the last value holds.
        every: Option<Duration>;
    }
}

settings! {
    /// Delay that changes over time.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct DelayPoints {
        /// Pairs of instant and delay, increasing in time, the first at 0 s.
        points: Vec<(Time, Duration)>, [1];
        /// Values between points.
        interpolate: Interpolate = Interpolate::Hold;
        /// Period after which the points repeat. Default: no repetition; the last point holds.
        every: Option<Duration>;
    }
}

settings! {
    /// Delay to satellites that pass overhead.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct DelayPass {
        /// Orbit of the satellites. The next satellite takes over at the end of each period of visibility.
        pass: Pass;
    }
}

settings! {
    /// Circular orbit that passes directly over a ground station, without the rotation of the Earth (E. Lutz et al.
    /// 2000).
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Pass {
        /// Altitude of the orbit above the ground, 100 km to 100,000 km.
        altitude: Distance;
        /// Least elevation of a satellite in use, 0 to 89 degrees.
        elevation_min: Angle;
        /// Number of slant ranges between the ends of the link: 1 for a link to the satellite, 2 for a link up and
        /// down.
        hops: u32 = 2, [1, 100];
    }
}

settings! {
    /// Listed outages of a link.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OutageSpans {
        /// Pairs of start and end, increasing, without overlap.
        spans: Vec<(Time, Time)>, [1];
        /// Period after which the outages repeat. Default: no repetition.
        every: Option<Duration>;
        /// Treatment of packets that wait when the link goes down.
        queue: OutageQueue = OutageQueue::Keep;
    }
}

settings! {
    /// Random outages of a link, with exponential times up and down from its own random stream.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OutageRandom {
        /// Mean time up.
        mean_up: Duration;
        /// Mean time down.
        mean_down: Duration;
        /// Treatment of packets that wait when the link goes down.
        queue: OutageQueue = OutageQueue::Keep;
    }
}

settings! {
    /// Recorded outages of a link.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct OutageTrace {
        /// CSV file beside the scenario or in a folder there. Its first two columns are start and end
        /// (`start_s,end_s`), in times of the run.
        file: String;
        /// Period after which the outages repeat. Default: no repetition.
        every: Option<Duration>;
        /// Treatment of packets that wait when the link goes down.
        queue: OutageQueue = OutageQueue::Keep;
    }
}

words! {
    /// Format of the file of a rate.
    pub(crate) enum RateFormat {
        /// Comma-separated values with a header line: time, rate.
        "csv" => Csv,
        /// Mahimahi's transmission opportunities: each line is a millisecond in which 1500 bytes may leave. The trace
        /// repeats after the last line.
        "mahimahi" => Mahimahi,
    }
}

words! {
    /// Values between the points of a profile.
    pub(crate) enum Interpolate {
        /// Each value holds until the next point.
        "hold" => Hold,
        /// Linear interpolation to the next point.
        "linear" => Linear,
    }
}

words! {
    /// Treatment of packets that wait when the link goes down.
    pub(crate) enum OutageQueue {
        /// They wait for the end of the outage.
        "keep" => Keep,
        /// They are dropped.
        "flush" => Flush,
    }
}

impl RateProfile {
    /// Returns the notation of a rate profile.
    pub(crate) fn of(profile: &Profile<Rate>) -> Self {
        match profile {
            Profile::Constant(rate) => Self::Constant(*rate),
            Profile::Points { points, period, .. } => {
                Self::Points(RatePoints { points: points.clone(), every: *period })
            }
        }
    }
}

impl DelayProfile {
    /// Returns the notation of a delay profile.
    pub(crate) fn of(profile: &Profile<Duration>) -> Self {
        match profile {
            Profile::Constant(delay) => Self::Constant(*delay),
            Profile::Points { points, linear, period } => {
                let interpolate = if *linear { Interpolate::Linear } else { Interpolate::Hold };
                Self::Points(DelayPoints { points: points.clone(), interpolate, every: *period })
            }
        }
    }
}

impl OutageKeys {
    /// Returns the notation of an outage.
    pub(crate) fn of(outage: &Outage) -> Self {
        let queue = if outage.flush { OutageQueue::Flush } else { OutageQueue::Keep };
        match &outage.when {
            Downtimes::Spans { spans, period } => {
                Self::Spans(OutageSpans { spans: spans.clone(), every: *period, queue })
            }
            &Downtimes::Random { mean_up, mean_down } => Self::Random(OutageRandom { mean_up, mean_down, queue }),
        }
    }
}

pub(crate) fn rate(profile: &RateProfile, report: &mut Report<'_>, path: &[String]) -> Profile<Rate> {
    let profile = match profile {
        RateProfile::Constant(rate) => Profile::Constant(*rate),
        RateProfile::Points(RatePoints { points, every }) => {
            Profile::Points { points: points.clone(), linear: false, period: *every }
        }
        RateProfile::Trace(trace) => {
            let Some(profile) = rate_trace(trace, report, path) else { return Profile::Constant(Rate::from_bps(0)) };
            profile
        }
    };
    if profile.values().all(|rate| rate.as_bps() == 0) {
        report.value(path, "is never above 0", "expected a rate above 0 bit/s");
    }
    check_points(&profile, report, path);
    profile
}

fn rate_trace(trace: &RateTrace, report: &mut Report<'_>, path: &[String]) -> Option<Profile<Rate>> {
    let RateTrace { file, format, column, every } = trace;
    match format {
        RateFormat::Csv => {
            let points = trace::rates(file, column.as_deref(), report, path);
            traced(points, false, *every, report, path)
        }
        RateFormat::Mahimahi => {
            for (key, is_there) in [("column", column.is_some()), ("every", every.is_some())] {
                if is_there {
                    report.value(&below(path, key), "has no effect on a Mahimahi trace", "expected no such key");
                }
            }
            let (points, period) = trace::mahimahi(file, report, path);
            (!points.is_empty()).then_some(Profile::Points { points, linear: false, period })
        }
    }
}

/// Returns the profile of a trace and reports its faults.
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
    check_points(&profile, report, path);
    Some(profile)
}

pub(crate) fn delay(profile: &DelayProfile, report: &mut Report<'_>, path: &[String]) -> Profile<Duration> {
    let profile = match profile {
        DelayProfile::Constant(delay) => Profile::Constant(*delay),
        DelayProfile::Points(DelayPoints { points, interpolate, every }) => {
            Profile::Points { points: points.clone(), linear: *interpolate == Interpolate::Linear, period: *every }
        }
        DelayProfile::Pass(DelayPass { pass }) => {
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
            let (points, period) = Overhead { h, elevation }.points(pass.hops);
            Profile::Points { points, linear: true, period: Some(period) }
        }
        DelayProfile::Trace(DelayTrace { file, column, interpolate, every }) => {
            let points = trace::delays(file, column.as_deref(), report, path);
            let linear = *interpolate == Interpolate::Linear;
            let profile = traced(points, linear, *every, report, path);
            profile.unwrap_or(Profile::Constant(Duration::ZERO))
        }
    };
    if profile.values().any(|delay| delay > DURATION_MAX) {
        report.value(path, "is out of range", "expected at most 200 days (4800 h)");
    }
    check_points(&profile, report, path);
    profile
}

pub(crate) fn check_points<T: Copy>(profile: &Profile<T>, report: &mut Report<'_>, path: &[String]) {
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
    // A linear section may end where the next period begins. A step at that instant would have no effect.
    if period.is_some_and(|period| period < last || period == Duration::ZERO || (period == last && !linear)) {
        let expected = format!("expected more than {last}, the last point");
        report.value(&below(path, "every"), "is too short for the points", &expected);
    }
}

pub(crate) fn outage(outage: &OutageKeys, report: &mut Report<'_>, path: &[String]) -> Outage {
    let (when, queue) = match outage {
        OutageKeys::Spans(OutageSpans { spans, every, queue }) => {
            (set_times(spans.clone(), *every, "spans", report, path), *queue)
        }
        OutageKeys::Trace(OutageTrace { file, every, queue }) => {
            let spans = trace::spans(file, report, path);
            (set_times(spans, *every, "file", report, path), *queue)
        }
        OutageKeys::Random(OutageRandom { mean_up, mean_down, queue }) => {
            for (key, mean) in [("mean_up", *mean_up), ("mean_down", *mean_down)] {
                if mean == Duration::ZERO {
                    report.value(&below(path, key), "is too small", "expected more than 0 s");
                }
            }
            (Downtimes::Random { mean_up: *mean_up, mean_down: *mean_down }, *queue)
        }
    };
    Outage { when, flush: queue == OutageQueue::Flush }
}

/// Writes listed outages to `key`.
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
