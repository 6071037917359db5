//! The transport.

use super::growth::{growth, idle_restart};
use super::{ends, product};
use crate::scenario::file;
use crate::scenario::like::Like;
use crate::scenario::resolve::Report;
use crate::scenario::text::{Amount, BDP};
use bentpipe_tcp::{
    AckPolicy, Config, DelayTimer, GiveUp, InitialSsthresh, InitialWindow, NewReno, Rack, Recovery, Reduction,
    RtoConfig, Snack, SpuriousDetection,
};
use bentpipe_units::{Duration, Rate};

/// A flow's transport. What is written in bdp waits until the route is known.
#[derive(Clone)]
pub(in crate::scenario) struct Transport {
    pub(in crate::scenario) config: Config,
    pub(in crate::scenario) like: Like,
    pub(in crate::scenario) phase_drawn: bool,
    pub(in crate::scenario) processing: (Duration, Duration),
    /// Millionths of a bandwidth-delay product.
    ssthresh_bdp: Option<u64>,
    receive_buffer_bdp: Option<u64>,
    send_buffer_bdp: Option<u64>,
}

impl Transport {
    /// The configuration on a path with this bandwidth-delay product in bytes.
    pub(in crate::scenario) fn on_path(&self, rate: Rate, rtt: Duration) -> Config {
        let least = 2 * u64::from(self.config.smss);
        let mut config = self.config.clone();
        if let Some(bdp) = self.ssthresh_bdp {
            let bytes = product(rate, rtt, bdp).clamp(least, WINDOW_MAX);
            config.initial_ssthresh = InitialSsthresh::Bytes(bytes);
        }
        // The limit of a buffer that tunes itself is what the path needs, if that is more than what was written.
        let fixed = |is_auto: bool, size: u64| if is_auto { size } else { 0 };
        if let Some(bdp) = self.receive_buffer_bdp {
            let written = fixed(config.auto_buffer.is_some(), config.receive_buffer);
            let most = if config.window_scaling { Config::RECEIVE_BUFFER_MAX } else { WINDOW_UNSCALED };
            config.receive_buffer = product(rate, rtt, bdp).max(written).clamp(least.min(most), most);
        }
        if let Some(bdp) = self.send_buffer_bdp {
            let written = fixed(config.auto_send_buffer.is_some(), config.send_buffer);
            config.send_buffer = product(rate, rtt, bdp).max(written).clamp(least, WINDOW_MAX);
        }
        config
    }
}

/// The largest window that can be advertised without scaling.
const WINDOW_UNSCALED: u64 = 65_535;
/// No window grows beyond this (1 TB); larger thresholds are the same as none.
pub(super) const WINDOW_MAX: u64 = 1 << 40;
/// The shortest timeout that is not mistaken for a typing error.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

pub(in crate::scenario) fn transport(tcp: &file::Tcp, report: &mut Report<'_>, path: &[&str]) -> Transport {
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
    let auto_buffer = ends::auto_buffer(tcp, smss, report, path);
    let receive_buffer = auto_buffer.map_or(receive_buffer, |(_, limit)| limit);
    if auto_buffer.is_some() {
        buffer_bdp = in_bdp(tcp.auto_buffer.limit_bdp);
    }
    if auto_buffer.is_none() && !(smss.into()..=Config::RECEIVE_BUFFER_MAX).contains(&receive_buffer) {
        let expected =
            format!("expected at least one segment, at most {} B (RFC 7323 §2.3)", Config::RECEIVE_BUFFER_MAX);
        report.value(&path(&["receive_buffer"]), "is out of range", &expected);
    }
    let mut send_buffer_bdp = None;
    let send_buffer = match tcp.send_buffer.0 {
        Amount::Bytes(n) => n,
        Amount::Segments(n) => segments(n),
        Amount::Bdp(n) => {
            send_buffer_bdp = Some(n);
            Config::UNLIMITED
        }
        _ => Config::UNLIMITED,
    };
    let auto_send_buffer = ends::auto_send_buffer(tcp, smss, report, path);
    let send_buffer = auto_send_buffer.map_or(send_buffer, |(_, limit)| limit);
    if auto_send_buffer.is_some() {
        send_buffer_bdp = in_bdp(tcp.auto_send_buffer.limit_bdp);
    } else if send_buffer < smss.into() {
        report.value(&path(&["send_buffer"]), "is out of range", "expected at least one segment");
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
    if tcp.ack.timer.0 == file::AckTimer::FreeRunning && tcp.ack.delay.0 == Duration::ZERO {
        report.value(&path(&["ack", "delay"]), "is no period for a free-running timer", "expected more than 0 s");
    }

    let recovery = tcp.recovery.map_or(tcp.cc.0.kind().recovery(), recovery);
    check_losses(tcp, recovery, report, &path);
    let config = Config {
        smss,
        cc: tcp.cc.0,
        own_cc: report.tree.at(path(&["cc"]).iter().map(String::as_str)).own.clone(),
        recovery,
        verdict: tcp.verdict.map_or(tcp.cc.0.kind().verdict(), |verdict| verdict.0),
        limited_transmit: tcp.limited_transmit,
        limited_retransmit: tcp.limited_retransmit,
        early_retransmit: tcp.early_retransmit,
        reduction: tcp.reduction.0,
        dsack: tcp.dsack,
        spurious_detection: tcp.spurious_detection.0,
        spurious_response: tcp.spurious_response.0,
        initial_window,
        initial_ssthresh,
        growth: growth(tcp, smss, report, &path),
        cwnd_validation: tcp.cwnd_validation.0,
        idle_restart: idle_restart(tcp, report, &path(&["idle_restart"])),
        ssthresh_rounding: tcp.ssthresh_rounding.0,
        grow_on_exit: tcp.grow_on_exit,
        ssthresh_base: tcp.ssthresh_base.0,
        rto: RtoConfig {
            initial: rto.initial.0,
            min: rto.min.0,
            max: rto.max.0,
            granularity: rto.granularity.0,
            phase,
            guard: rto.guard,
            variance_min: rto.variance_min.0,
            rounding: rto.rounding.0,
            min_ticks: rto.min_ticks,
            sampling: rto.sampling.0,
            karn: rto.karn,
            restart_on_fast_retransmit: rto.restart_on_fast_retransmit,
            backoff: rto.backoff,
            backoff_max: rto.backoff_max,
            forget_after: rto.forget_after,
            reduce_again: rto.reduce_again,
        },
        give_up,
        timestamps: tcp.timestamps,
        window_scaling: tcp.window_scaling,
        receive_buffer,
        send_buffer,
        ack: AckPolicy {
            every: tcp.ack.every,
            delay: tcp.ack.delay.0,
            timer: match tcp.ack.timer.0 {
                file::AckTimer::PerSegment => DelayTimer::PerSegment,
                // The phase is drawn when the connection is built.
                file::AckTimer::FreeRunning => DelayTimer::FreeRunning { phase: Duration::ZERO },
            },
            quick: tcp.ack.quick,
            slow_start: tcp.ack.slow_start.0,
        },
        handshake: tcp.handshake,
        ecn: ends::ecn(tcp.ecn),
        pacing: ends::pacing(tcp.pacing, report, path),
        fast_open: ends::fast_open(tcp, report, path),
        sharing: ends::sharing(tcp, report, path),
        auto_buffer: auto_buffer.map(|(start, _)| start),
        auto_send_buffer: auto_send_buffer.map(|(start, _)| start),
        nagle: tcp.nagle,
    };
    Transport {
        config,
        like: tcp.like.0,
        phase_drawn,
        processing: super::hold(&tcp.processing, report, &path(&["processing"])),
        ssthresh_bdp,
        receive_buffer_bdp: buffer_bdp,
        send_buffer_bdp,
    }
}

/// So many bandwidth-delay products in millionths; none for none.
fn in_bdp(products: u32) -> Option<u64> {
    (products > 0).then_some(u64::from(products) * BDP)
}

/// What makes no sense together about finding and repairing losses.
fn check_losses(
    tcp: &file::Tcp,
    recovery: Recovery,
    report: &mut Report<'_>,
    path: &dyn Fn(&[&'static str]) -> Vec<String>,
) {
    let uses_sack = recovery.uses_sack();
    if tcp.reduction.0 != Reduction::AtOnce && !uses_sack {
        let message = format!("counts what SACK reports, and recovery \"{}\" does not use SACK", recovery.name());
        report.value(&path(&["reduction"]), &message, "expected \"at-once\", or recovery \"sack\" or \"rack\"");
    }
    if tcp.dsack && !uses_sack {
        let message = format!("is part of SACK, and recovery \"{}\" does not use SACK", recovery.name());
        report.value(&path(&["dsack"]), &message, "expected false, or recovery \"sack\" or \"rack\"");
    }
    match tcp.spurious_detection.0 {
        SpuriousDetection::Eifel if !tcp.timestamps => report.value(
            &path(&["spurious_detection"]),
            "works by timestamps, which are off",
            "expected timestamps = true with it",
        ),
        SpuriousDetection::Dsack if !tcp.dsack => report.value(
            &path(&["spurious_detection"]),
            "works by reports of duplicates, which are off",
            "expected dsack = true with it",
        ),
        _ => {}
    }
    let instead = match recovery {
        Recovery::Rack(_) => Some("RFC 8985 finds those losses by time"),
        Recovery::Snack(_) => Some("the receiver reports those losses"),
        _ => None,
    };
    if let Some(instead) = instead.filter(|_| tcp.early_retransmit) {
        let message = format!("counts duplicate ACKs, which recovery \"{}\" does not", recovery.name());
        report.value(&path(&["early_retransmit"]), &message, &format!("expected false: {instead}"));
    }
    if matches!(recovery, Recovery::Rack(rack) if rack.min_rtt_window == Duration::ZERO) {
        report.value(&path(&["recovery", "min_rtt_window"]), "remembers nothing", "expected more than 0 s");
    }
}

fn recovery(recovery: file::Recovery) -> Recovery {
    match recovery {
        file::Recovery::TimeoutOnly => Recovery::TimeoutOnly,
        file::Recovery::FastRetransmit => Recovery::FastRetransmit,
        file::Recovery::Reno => Recovery::Reno,
        file::Recovery::NewReno { timer, exit, deflate, first_loss, burst } => {
            Recovery::NewReno(NewReno { timer: timer.0, exit: exit.0, deflate: deflate.0, first_loss, burst })
        }
        file::Recovery::Sack { on_rto, evidence } => Recovery::Sack { on_rto: on_rto.0, evidence: evidence.0 },
        file::Recovery::Rack { tlp, max_ack_delay, min_rtt_window } => {
            Recovery::Rack(Rack { tlp, max_ack_delay: max_ack_delay.0, min_rtt_window: min_rtt_window.0 })
        }
        file::Recovery::Snack { form, resnacks, grows, corruption_experienced } => {
            Recovery::Snack(Snack { form: form.0, resnacks, grows, corruption_experienced })
        }
    }
}
