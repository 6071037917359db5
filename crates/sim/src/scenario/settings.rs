//! The parts of a scenario that stand for themselves: profiles, queues, errors, outages and the transport's
//! settings, from the form of the file to that of the engine.

use super::file;
use super::resolve::Report;
use super::text::{Amount, BDP};
use super::{pass::Pass, App, ErrorModel, ErrorUnit, NodeKind, Outage, Profile, QueueLimit, Start, DURATION_MAX};
use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use bentpipe_tcp::{
    AckPolicy, Config, DelayTimer, GiveUp, InitialSsthresh, InitialWindow, NewReno, NewRenoDeflate, NewRenoExit,
    NewRenoTimer, Recovery, RtoConfig, RttSampling, SackOnRto, SsthreshBase, SsthreshRounding, TickRounding,
};
use bentpipe_units::{Duration, Rate, Time};

/// A flow's transport. What is written in bdp waits until the route is known.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) config: Config,
    pub(super) phase_drawn: bool,
    /// Millionths of a bandwidth-delay product.
    pub(super) ssthresh_bdp: Option<u64>,
    pub(super) buffer_bdp: Option<u64>,
}

impl Transport {
    /// The configuration on a path with this bandwidth-delay product in bytes.
    pub(super) fn on_path(&self, rate: Rate, rtt: Duration) -> Config {
        let least = 2 * u64::from(self.config.smss);
        let mut config = self.config.clone();
        if let Some(bdp) = self.ssthresh_bdp {
            let bytes = product(rate, rtt, bdp).clamp(least, WINDOW_MAX);
            config.initial_ssthresh = InitialSsthresh::Bytes(bytes);
        }
        if let Some(bdp) = self.buffer_bdp {
            config.receive_buffer = product(rate, rtt, bdp).clamp(least, Config::RECEIVE_BUFFER_MAX);
        }
        config
    }
}

/// `millionths` of rate times round trip, bytes, rounded down.
pub(super) fn product(rate: Rate, rtt: Duration, millionths: u64) -> u64 {
    let bytes = u128::from(rate.bytes_in(rtt)) * u128::from(millionths) / u128::from(BDP);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// No window grows beyond this (1 TB); larger thresholds are the same as none.
const WINDOW_MAX: u64 = 1 << 40;
/// The shortest timeout that is not mistaken for a typing error.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

pub(super) fn transport(tcp: &file::Tcp, report: &mut Report<'_>, path: &[&str]) -> Transport {
    let path = |keys: &[&'static str]| -> Vec<String> {
        path.iter().copied().chain(keys.iter().copied()).map(str::to_owned).collect()
    };
    let defaults = Config::default();
    let smss = u32::try_from(tcp.smss.0).ok().filter(|smss| (40..=Config::SMSS_MAX).contains(smss));
    if smss.is_none() {
        report.value(&path(&["smss"]), "is out of range", &format!("expected 40 B to {} B", Config::SMSS_MAX));
    }
    let smss = smss.unwrap_or(defaults.smss);
    let segments = |n: u64| n.saturating_mul(smss.into());

    let initial_window = match tcp.initial_window.0 {
        Amount::Segments(n) => InitialWindow::Segments(u32::try_from(n).unwrap_or(u32::MAX)),
        Amount::Bytes(n) => InitialWindow::Bytes(n),
        Amount::Word("rfc3390") => InitialWindow::Rfc3390,
        Amount::Word("rfc5681") => InitialWindow::Rfc5681,
        _ => InitialWindow::Rfc6928,
    };
    if !(u64::from(smss)..=WINDOW_MAX).contains(&initial_window.bytes(smss)) {
        report.value(&path(&["initial_window"]), "is out of range", "expected at least one segment, at most 1 TB");
    }
    let mut ssthresh_bdp = None;
    let initial_ssthresh = match tcp.initial_ssthresh.0 {
        Amount::Bytes(n) => InitialSsthresh::Bytes(n),
        Amount::Segments(n) => InitialSsthresh::Bytes(segments(n)),
        Amount::Word("peer-window") => InitialSsthresh::PeerWindow,
        Amount::Bdp(n) => {
            ssthresh_bdp = Some(n);
            InitialSsthresh::Unlimited
        }
        _ => InitialSsthresh::Unlimited,
    };
    if matches!(initial_ssthresh, InitialSsthresh::Bytes(n) if !(segments(2)..=WINDOW_MAX).contains(&n)) {
        let expected = "expected at least 2 segments (RFC 5681 §3.1), at most 1 TB";
        report.value(&path(&["initial_ssthresh"]), "is out of range", expected);
    }
    let mut buffer_bdp = None;
    let receive_buffer = match tcp.receive_buffer.0 {
        Amount::Bytes(n) => n,
        Amount::Segments(n) => segments(n),
        Amount::Bdp(n) => {
            buffer_bdp = Some(n);
            Config::RECEIVE_BUFFER_MAX
        }
        _ => Config::RECEIVE_BUFFER_MAX,
    };
    if !(smss.into()..=Config::RECEIVE_BUFFER_MAX).contains(&receive_buffer) {
        let expected =
            format!("expected at least one segment, at most {} B (RFC 7323 §2.3)", Config::RECEIVE_BUFFER_MAX);
        report.value(&path(&["receive_buffer"]), "is out of range", &expected);
    }

    let rto = &tcp.rto;
    for (key, value) in [("initial", rto.initial.0), ("max", rto.max.0)] {
        if value < TIMEOUT_MIN {
            report.value(&path(&["rto", key]), "is out of range", "expected at least 1 ms");
        }
    }
    for (key, value) in [("min", rto.min.0), ("initial", rto.initial.0)] {
        if value > rto.max.0 {
            let key = if report.is_default(&path(&["rto", key])) { "max" } else { key };
            let expected =
                format!("expected rto.{} at most rto.max", if key == "max" { "min and rto.initial" } else { key });
            report.value(&path(&["rto", key]), "does not fit the other bound", &expected);
        }
    }
    let (phase, phase_drawn) = match rto.phase.0 {
        Amount::Span(phase) => (phase, false),
        _ => (Duration::ZERO, true),
    };
    if phase != Duration::ZERO && phase >= rto.granularity.0 {
        let expected = format!("expected less than the granularity, {}", rto.granularity.0);
        report.value(&path(&["rto", "phase"]), "is out of range", &expected);
    }
    let give_up = match tcp.give_up.0 {
        Amount::Retransmissions(n) => GiveUp::AfterRetransmissions(u32::try_from(n).unwrap_or(u32::MAX)),
        Amount::Span(span) => GiveUp::AfterTime(span),
        _ => GiveUp::Never,
    };
    if give_up == GiveUp::AfterTime(Duration::ZERO) {
        report.value(&path(&["give_up"]), "gives up at once", "expected more than 0 s");
    }
    if tcp.ack.timer == file::AckTimer::FreeRunning && tcp.ack.delay.0 == Duration::ZERO {
        report.value(&path(&["ack", "delay"]), "is no period for a free-running timer", "expected more than 0 s");
    }

    let config = Config {
        smss,
        cc: tcp.cc.0,
        recovery: tcp.recovery.map_or(tcp.cc.0.recovery(), recovery),
        verdict: tcp.verdict.0,
        limited_transmit: tcp.limited_transmit,
        initial_window,
        initial_ssthresh,
        cwnd_validation: tcp.cwnd_validation,
        idle_restart: tcp.idle_restart,
        ssthresh_rounding: match tcp.ssthresh_rounding {
            file::SsthreshRounding::Bytes => SsthreshRounding::Bytes,
            file::SsthreshRounding::Segments => SsthreshRounding::Segments,
        },
        grow_on_exit: tcp.grow_on_exit,
        ssthresh_base: match tcp.ssthresh_base {
            file::SsthreshBase::FlightSize => SsthreshBase::FlightSize,
            file::SsthreshBase::Window => SsthreshBase::Window,
        },
        rto: RtoConfig {
            initial: rto.initial.0,
            min: rto.min.0,
            max: rto.max.0,
            granularity: rto.granularity.0,
            phase,
            guard: rto.guard,
            rounding: match rto.rounding {
                file::Rounding::Floor => TickRounding::Floor,
                file::Rounding::PlusOne => TickRounding::PlusOne,
            },
            min_ticks: rto.min_ticks,
            sampling: match rto.sampling {
                file::Sampling::PerWindow => RttSampling::PerWindow,
                file::Sampling::PerAck => RttSampling::PerAck,
            },
            karn: rto.karn,
            restart_on_fast_retransmit: rto.restart_on_fast_retransmit,
            backoff: rto.backoff,
            backoff_max: rto.backoff_max,
        },
        give_up,
        timestamps: tcp.timestamps,
        window_scaling: tcp.window_scaling,
        receive_buffer,
        ack: AckPolicy {
            every: tcp.ack.every,
            delay: tcp.ack.delay.0,
            timer: match tcp.ack.timer {
                file::AckTimer::PerSegment => DelayTimer::PerSegment,
                // The phase is drawn when the connection is built.
                file::AckTimer::FreeRunning => DelayTimer::FreeRunning { phase: Duration::ZERO },
            },
            quick: tcp.ack.quick,
        },
        handshake: tcp.handshake,
    };
    Transport { config, phase_drawn, ssthresh_bdp, buffer_bdp }
}

fn recovery(recovery: file::Recovery) -> Recovery {
    match recovery {
        file::Recovery::TimeoutOnly => Recovery::TimeoutOnly,
        file::Recovery::FastRetransmit => Recovery::FastRetransmit,
        file::Recovery::Reno => Recovery::Reno,
        file::Recovery::NewReno { timer, exit, deflate, first_loss } => Recovery::NewReno(NewReno {
            timer: match timer {
                file::RecoveryTimer::Impatient => NewRenoTimer::Impatient,
                file::RecoveryTimer::SlowButSteady => NewRenoTimer::SlowButSteady,
            },
            exit: match exit {
                file::RecoveryExit::FlightSize => NewRenoExit::FlightSize,
                file::RecoveryExit::Ssthresh => NewRenoExit::Ssthresh,
            },
            deflate: match deflate {
                file::RecoveryDeflate::Full => NewRenoDeflate::Full,
                file::RecoveryDeflate::ToSsthresh => NewRenoDeflate::ToSsthresh,
            },
            first_loss,
        }),
        file::Recovery::Sack { on_rto: file::SackOnRto::Keep } => Recovery::Sack { on_rto: SackOnRto::Keep },
        file::Recovery::Sack { on_rto: file::SackOnRto::Discard } => Recovery::Sack { on_rto: SackOnRto::Discard },
    }
}

pub(super) fn node_kind(kind: file::NodeKind) -> NodeKind {
    match kind {
        file::NodeKind::Router => NodeKind::Router,
        file::NodeKind::BentPipe => NodeKind::BentPipe,
    }
}

pub(super) fn middlebox(middlebox: &file::Middlebox) -> MiddleboxConfig {
    match *middlebox {
        file::Middlebox::Impair { duplicate, reorder, hold } => {
            MiddleboxConfig::Impair(ImpairConfig { duplicate: duplicate.0, reorder: reorder.0, hold: hold.0 })
        }
    }
}

pub(super) fn app(app: file::App, report: &mut Report<'_>, path: &[String]) -> App {
    match app {
        file::App::Greedy => App::Greedy,
        file::App::File { size } => {
            if size.0 == 0 {
                report.value(&below(path, "size"), "is nothing to send", "expected at least 1 B");
            }
            App::File { size: size.0 }
        }
    }
}

pub(super) fn start(start: file::Start, report: &mut Report<'_>, path: &[String]) -> Start {
    match start {
        file::Start::At(at) => Start::At(instant(at.0)),
        file::Start::Uniform(file::StartUniform { uniform: (from, to) }) => {
            if from.0 >= to.0 {
                report.value(
                    &below(path, "uniform"),
                    "is an empty span",
                    "expected the earliest instant before the latest",
                );
            }
            Start::Uniform { from: instant(from.0), to: instant(to.0) }
        }
    }
}

pub(super) fn rate(profile: &file::RateProfile, report: &mut Report<'_>, path: &[String]) -> Profile<Rate> {
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

pub(super) fn delay(profile: &file::DelayProfile, report: &mut Report<'_>, path: &[String]) -> Profile<Duration> {
    let profile = match profile {
        file::DelayProfile::Constant(delay) => Profile::Constant(delay.0),
        file::DelayProfile::Points(file::DelayPoints { points, interpolate, every }) => Profile::Points {
            points: points.iter().map(|(at, delay)| (instant(at.0), delay.0)).collect(),
            linear: *interpolate == file::Interpolate::Linear,
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

pub(super) fn outage(outage: &file::Outage, report: &mut Report<'_>, path: &[String]) -> Outage {
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
    Outage { spans, period, flush: outage.queue == file::OutageQueue::Flush }
}

pub(super) fn error(error: &file::ErrorModel, report: &mut Report<'_>, path: &[String]) -> ErrorModel {
    match error {
        file::ErrorModel::None => ErrorModel::None,
        file::ErrorModel::Bit { rate } => ErrorModel::Independent { unit: ErrorUnit::Bit, rate: rate.0 },
        file::ErrorModel::Byte { rate } => ErrorModel::Independent { unit: ErrorUnit::Byte, rate: rate.0 },
        file::ErrorModel::Packet { rate } => ErrorModel::Independent { unit: ErrorUnit::Packet, rate: rate.0 },
        file::ErrorModel::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad } => {
            for (key, mean) in [("mean_good", mean_good.0), ("mean_bad", mean_bad.0)] {
                if mean == Duration::ZERO {
                    report.value(&below(path, key), "is no duration of a state", "expected more than 0 s");
                }
            }
            ErrorModel::GilbertElliott {
                unit: match unit {
                    file::ErrorUnit::Bit => ErrorUnit::Bit,
                    file::ErrorUnit::Byte => ErrorUnit::Byte,
                    file::ErrorUnit::Packet => ErrorUnit::Packet,
                },
                mean_good: mean_good.0,
                mean_bad: mean_bad.0,
                rate_good: rate_good.0,
                rate_bad: rate_bad.0,
            }
        }
        file::ErrorModel::Arrivals { list } => {
            if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
                let message = format!("is not in order: {} does not come after {}", pair[1], pair[0]);
                report.value(&below(path, "list"), &message, "expected indices that increase");
            }
            ErrorModel::Arrivals(list.clone())
        }
    }
}

/// The limit of a queue, or the millionths of a bdp that it is to be.
pub(super) fn queue(queue: &file::Queue) -> Result<QueueLimit, u64> {
    let (file::Queue::Limit(limit) | file::Queue::Kind(file::QueueKind::DropTail { limit })) = queue;
    match limit.0 {
        Amount::Packets(n) => Ok(QueueLimit::Packets(n)),
        Amount::Bytes(n) => Ok(QueueLimit::Bytes(n)),
        Amount::Bdp(n) => Err(n),
        _ => Ok(QueueLimit::Unlimited),
    }
}

pub(super) fn below(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

fn instant(since: Duration) -> Time {
    Time::ZERO + since
}

impl<T: Copy> Profile<T> {
    /// Its values, in time.
    pub(super) fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::Constant(value) => (Some(*value), &[][..]),
            Self::Points { points, .. } => (None, points.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, value)| *value))
    }
}
