//! Transports of flows: conversion to a path, and checks of conflicting keys.

use super::growth::{check_idle_restart, decides_about_idle_times, settle, WINDOW_MAX};
use super::product;
use crate::report::{below, Report};
use crate::tree::Tree;
use bentpipe_cc::{verdict::VerdictKind, CcKind};
use bentpipe_model::spec::{Between, Buffers, Like};
use bentpipe_tcp::{
    AutoBuffer, AutoSendBuffer, CarefulResume, ClockPhase, Config, Copies, DelayTimer, EcnFeedback, ErrorReports,
    FastOpen, Feedback, GiveUp, InitialSsthresh, MaxJump, Pacing, PacketSize, ReceiveBuffer, Recovery, Reduction,
    ReportResend, SavedRtt, SavedWindow, SendBuffer, SharedCwnd, SpuriousDetection, WindowSize,
};
use bentpipe_units::settings::{Include, Typed};
use bentpipe_units::{settings, Duration, Rate};

settings! {
    /// Transport of a flow.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Tcp {
        /// Host to imitate. It provides the values of all keys that the file leaves open, each with its source.
        like: Like = Like::TODAYS, "current hosts";
        /// Limits of the buffers that the host tunes itself.
        buffers: Buffers = Buffers::Stock, "a system as installed";
        /// Keys of the connection.
        config: Config as Include = Config::default();
        /// Processing time of a packet at a receiving host, drawn for each packet. Packets of a link keep their order.
        /// A node with several flows uses the times of the flow with the longest time. Real hosts have random times;
        /// without them, equal senders run in step and each loses every n-th packet of an overflow.
        processing: (Duration, Duration) as Between = (Duration::ZERO, Duration::from_micros(100)), "usual overhead_ of ns-2; current hosts take tens of microseconds";
        /// Size of the receive buffer if `receive_buffer` is `auto`.
        auto_buffer: AutoBuffer = AutoBuffer::default();
        /// Size of the send buffer if `send_buffer` is `auto`.
        auto_send_buffer: AutoSendBuffer = AutoSendBuffer::default();
    }
}

/// Transport of a flow. Values in bdp stay open until the route is known.
#[derive(Clone)]
pub(crate) struct TransportKeys {
    pub(crate) config: Config,
    pub(crate) like: Like,
    pub(crate) buffers: Buffers,
    pub(crate) processing: (Duration, Duration),
    /// Receive buffer in millionths of a bandwidth-delay product.
    receive_buffer_bdp: Option<u64>,
    send_buffer_bdp: Option<u64>,
}

impl TransportKeys {
    /// Returns the receive buffer in millionths of a bandwidth-delay product, if it is one.
    pub(crate) fn receive_buffer_bdp(&self) -> Option<u64> {
        self.receive_buffer_bdp
    }

    /// Returns the configuration on a path with this bandwidth-delay product in bytes.
    pub(crate) fn on_path(&self, rate: Rate, rtt: Duration) -> Config {
        let least = 2 * u64::from(self.config.smss);
        let mut config = self.config.clone();
        if let InitialSsthresh::Bdp(bdp) = config.initial_ssthresh {
            let bytes = product(rate, rtt, bdp).clamp(least, WINDOW_MAX);
            config.initial_ssthresh = InitialSsthresh::Bytes(bytes);
        }
        if let Some(resume) = &mut config.careful_resume {
            if let SavedWindow::Bdp(bdp) = resume.saved {
                resume.saved = SavedWindow::Bytes(product(rate, rtt, bdp).clamp(least, WINDOW_MAX));
            }
            if let MaxJump::Bdp(bdp) = resume.max_jump {
                resume.max_jump = MaxJump::Bytes(product(rate, rtt, bdp).clamp(least, WINDOW_MAX));
            }
            if resume.saved_rtt == SavedRtt::Path {
                resume.saved_rtt = SavedRtt::Time(rtt);
            }
        }
        if let Some(bdp) = self.receive_buffer_bdp {
            let most = if config.window_scaling { Config::RECEIVE_BUFFER_MAX } else { WINDOW_UNSCALED };
            config.receive_buffer = product(rate, rtt, bdp).clamp(least.min(most), most);
        }
        if let Some(bdp) = self.send_buffer_bdp {
            config.send_buffer = product(rate, rtt, bdp).clamp(least, WINDOW_MAX);
        }
        config
    }
}

/// Largest window without scaling in bytes.
const WINDOW_UNSCALED: u64 = 65_535;
/// Shortest timeout. A shorter one is taken for a typing error.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);
const KEEPALIVE_MIN: Duration = Duration::from_secs(1);

/// Transport table at `path`, the source of `tcp`.
struct Reading<'a, 'b> {
    tcp: &'a Tcp,
    table: &'b Tree,
    path: &'a [&'a str],
}

impl Reading<'_, '_> {
    fn path(&self, keys: &[&'static str]) -> Vec<String> {
        self.path.iter().copied().chain(keys.iter().copied()).map(str::to_owned).collect()
    }

    fn is_given(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Returns a key in its own unit.
    fn written<T: Typed>(&self, key: &str) -> Option<T> {
        T::read(&self.table.get(key)?.to_value()).ok()
    }
}

pub(crate) fn transport(tcp: &Tcp, report: &mut Report<'_>, path: &[&str]) -> TransportKeys {
    let of = Reading { tcp, table: report.tree.at(path.iter().copied()), path };
    let mut config = tcp.config.clone();
    config.own_cc = of.table.at(["cc"]).own_sender().cloned();
    settle_open(&mut config, |key| of.is_given(key));
    if !(40..=Config::SMSS_MAX).contains(&config.smss) {
        report.value(&of.path(&["smss"]), "is out of range", &format!("expected 40 B to {} B", Config::SMSS_MAX));
        config.smss = Config::default().smss;
    }
    settle_windows(&mut config, &of, report);
    let receive_buffer_bdp = settle_receive_buffer(&mut config, &of, report);
    let send_buffer_bdp = settle_send_buffer(&mut config, &of, report);
    check_timers(&config, &of, report);
    check_losses(&config, &of, report);
    settle(&mut config, report, &|keys| of.path(keys));
    check_idle_restart(&config, of.is_given("idle_restart"), report, &of.path(&["idle_restart"]));
    check_sending(&config, &of, report);
    check_marks(&config, &of, report);
    super::check_hold(tcp.processing, report, &of.path(&["processing"]));
    let Tcp { like, buffers, processing, .. } = *tcp;
    let is_tuned = config.auto_buffer.is_some() || config.auto_send_buffer.is_some();
    let buffers = if is_tuned { buffers } else { Buffers::Stock };
    TransportKeys { config, like, buffers, processing, receive_buffer_bdp, send_buffer_bdp }
}

/// Sets the keys whose defaults other keys determine, unless the file gives them.
pub(crate) fn settle_open(config: &mut Config, is_given: impl Fn(&str) -> bool) {
    let kind = config.cc.kind();
    if !is_given("recovery") {
        config.recovery = kind.recovery();
    }
    if !is_given("dsack") {
        // RFC 8985 §6.2, step 4: DSACK adapts the reordering window.
        config.dsack = matches!(config.recovery, Recovery::Rack(_));
    }
    if !is_given("verdict") {
        config.verdict = kind.verdict();
    }
    if !is_given("ecn") {
        config.ecn = kind.ecn();
    }
    if config.ecn.feedback == EcnFeedback::Accurate && config.ecn.ect.is_none() {
        config.ecn.ect = Some(kind.ecn().ect.unwrap_or(0));
    }
    if !is_given("idle_restart") {
        config.idle_restart = !decides_about_idle_times(config);
    }
}

fn settle_windows(config: &mut Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let smss = config.smss;
    if !(u64::from(smss)..=WINDOW_MAX).contains(&config.initial_window.bytes(smss)) {
        let expected = "expected at least one segment, at most 1000 GB";
        report.value(&of.path(&["initial_window"]), "is out of range", expected);
    }
    if let InitialSsthresh::Segments(n) = config.initial_ssthresh {
        config.initial_ssthresh = InitialSsthresh::Bytes(n.saturating_mul(smss.into()));
    }
    let least = 2 * u64::from(smss);
    if matches!(config.initial_ssthresh, InitialSsthresh::Bytes(n) if !(least..=WINDOW_MAX).contains(&n)) {
        let expected = "expected at least 2 segments (RFC 5681 §3.1), at most 1000 GB";
        report.value(&of.path(&["initial_ssthresh"]), "is out of range", expected);
    }
}

/// Sets the size of the receive buffer, or returns it in bdp.
fn settle_receive_buffer(config: &mut Config, of: &Reading<'_, '_>, report: &mut Report<'_>) -> Option<u64> {
    let most = Config::RECEIVE_BUFFER_MAX;
    let (size, bdp) = match of.written("receive_buffer").unwrap_or(ReceiveBuffer::Unlimited) {
        ReceiveBuffer::Auto => {
            let AutoBuffer { start, limit, growth } = of.tcp.auto_buffer;
            check_auto_buffer(config, start, limit, of, report);
            (config.auto_buffer, config.buffer_growth) = (Some(start), growth);
            (limit, None)
        }
        ReceiveBuffer::Unlimited => (most, None),
        ReceiveBuffer::Bytes(n) => (n, None),
        ReceiveBuffer::Segments(n) => (n.saturating_mul(config.smss.into()), None),
        ReceiveBuffer::Bdp(n) => (most, Some(n)),
    };
    config.receive_buffer = size;
    if !(config.smss.into()..=most).contains(&size) {
        let expected = format!("expected at least one segment, at most {most} B (RFC 7323 §2.3)");
        report.value(&of.path(&["receive_buffer"]), "is out of range", &expected);
    }
    bdp
}

/// Sets the size of the send buffer.
fn settle_send_buffer(config: &mut Config, of: &Reading<'_, '_>, report: &mut Report<'_>) -> Option<u64> {
    let (size, bdp) = match of.written("send_buffer").unwrap_or(SendBuffer::Unlimited) {
        SendBuffer::Auto => {
            let AutoSendBuffer { start, limit } = of.tcp.auto_send_buffer;
            if !(u64::from(config.smss)..=limit).contains(&start) {
                let expected = "expected at least one segment, at most auto_send_buffer.limit";
                report.value(&of.path(&["auto_send_buffer", "start"]), "is out of range", expected);
            }
            config.auto_send_buffer = Some(start);
            (limit, None)
        }
        SendBuffer::Unlimited => (Config::UNLIMITED, None),
        SendBuffer::Bytes(n) => (n, None),
        SendBuffer::Segments(n) => (n.saturating_mul(config.smss.into()), None),
        SendBuffer::Bdp(n) => (Config::UNLIMITED, Some(n)),
    };
    config.send_buffer = size;
    if size < config.smss.into() {
        report.value(&of.path(&["send_buffer"]), "is out of range", "expected at least one segment");
    }
    bdp
}

fn check_auto_buffer(config: &Config, start: u64, limit: u64, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    if limit > Config::RECEIVE_BUFFER_MAX {
        let expected = format!("expected at most {} B (RFC 7323 §2.3)", Config::RECEIVE_BUFFER_MAX);
        report.value(&of.path(&["auto_buffer", "limit"]), "is out of range", &expected);
    } else if limit > WINDOW_UNSCALED && !config.window_scaling {
        let expected = "expected at most 65535 B, or window_scaling = true";
        report.value(&of.path(&["auto_buffer", "limit"]), "cannot be advertised", expected);
    }
    // The connection negotiates the shift at its start, for the limit.
    let unit = limit.div_ceil(WINDOW_UNSCALED).next_power_of_two();
    if !(u64::from(config.smss)..=limit).contains(&start) {
        let expected = "expected at least one segment, at most auto_buffer.limit";
        report.value(&of.path(&["auto_buffer", "start"]), "is out of range", expected);
    } else if start < unit {
        let expected = format!("expected at least {unit} B with this limit");
        let message = "is less than the unit of the advertised window";
        report.value(&of.path(&["auto_buffer", "start"]), message, &expected);
    }
}

fn check_timers(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let rto = &config.rto;
    for (key, value) in [("initial", rto.initial), ("max", rto.max), ("persist_max", rto.persist_max)] {
        if value < TIMEOUT_MIN {
            report.value(&of.path(&["rto", key]), "is out of range", "expected at least 1 ms");
        }
    }
    for (key, value) in [("min", rto.min), ("initial", rto.initial)] {
        if value > rto.max {
            let key = if report.is_default(&of.path(&["rto", key])) { "max" } else { key };
            let expected =
                format!("expected rto.{} at most rto.max", if key == "max" { "min and rto.initial" } else { key });
            report.value(&of.path(&["rto", key]), "contradicts the other bound", &expected);
        }
    }
    if let Some(keepalive) = config.keepalive {
        for (key, value) in [("idle", keepalive.idle), ("interval", keepalive.interval)] {
            if value < KEEPALIVE_MIN {
                report.value(&of.path(&["keepalive", key]), "is out of range", "expected at least 1 s");
            }
        }
    }
    if matches!(rto.phase, ClockPhase::At(phase) if phase != Duration::ZERO && phase >= rto.granularity) {
        let expected = format!("expected less than the granularity, {}", rto.granularity);
        report.value(&of.path(&["rto", "phase"]), "is out of range", &expected);
    }
    if config.give_up == GiveUp::AfterTime(Duration::ZERO) {
        report.value(&of.path(&["give_up"]), "is too small", "expected more than 0 s");
    }
    if matches!(config.ack.timer, DelayTimer::FreeRunning { .. }) && config.ack.delay == Duration::ZERO {
        report.value(&of.path(&["ack", "delay"]), "is too small for a free-running timer", "expected more than 0 s");
    }
}

/// Checks the keys of loss detection and recovery.
fn check_losses(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let recovery = config.recovery;
    let uses_sack = recovery.uses_sack();
    if config.reduction != Reduction::AtOnce && !uses_sack {
        let message = format!("counts SACK reports, but recovery \"{}\" does not use SACK", recovery.name());
        report.value(&of.path(&["reduction"]), &message, "expected \"at-once\", or recovery \"sack\" or \"rack\"");
    }
    if config.dsack && !uses_sack {
        let message = format!("is part of SACK, but recovery \"{}\" does not use SACK", recovery.name());
        report.value(&of.path(&["dsack"]), &message, "expected false, or recovery \"sack\" or \"rack\"");
    }
    if let Some(best_effort) = config.best_effort {
        if !matches!(recovery, Recovery::Snack(_)) {
            let message = format!("is part of SCPS-TP, but recovery is \"{}\"", recovery.name());
            report.value(&of.path(&["best_effort", "kind"]), &message, "expected recovery = \"snack\" with it");
        }
        if best_effort.wait == Duration::ZERO {
            report.value(&of.path(&["best_effort", "wait"]), "is too small", "expected more than 0 s");
        }
    }
    if config.verdict == VerdictKind::LowPriorityCopies && matches!(config.cc.kind(), CcKind::Peach | CcKind::PeachPlus)
    {
        let message = format!("sends copies, but cc \"{}\" has its own dummy segments", config.cc.kind().name());
        report.value(&of.path(&["verdict"]), &message, "expected another verdict, or another cc");
    }
    if config.copies != Copies::default() && config.verdict != VerdictKind::LowPriorityCopies {
        let message = format!("have no effect with verdict \"{}\"", config.verdict.name());
        report.value(&of.path(&["copies"]), &message, "expected verdict = \"low-priority-copies\" with it");
    }
    match config.spurious_detection {
        SpuriousDetection::Eifel if !config.timestamps => report.value(
            &of.path(&["spurious_detection"]),
            "needs timestamps, which are off",
            "expected timestamps = true with it",
        ),
        SpuriousDetection::Dsack if !config.dsack => report.value(
            &of.path(&["spurious_detection"]),
            "needs D-SACK, which is off",
            "expected dsack = true with it",
        ),
        _ => {}
    }
    let instead = match recovery {
        Recovery::Rack(_) => Some("RFC 8985 finds those losses by time"),
        Recovery::Snack(_) => Some("the receiver reports those losses"),
        _ => None,
    };
    if let Some(instead) = instead.filter(|_| config.early_retransmit) {
        let message = format!("counts duplicate ACKs, which recovery \"{}\" does not", recovery.name());
        report.value(&of.path(&["early_retransmit"]), &message, &format!("expected false: {instead}"));
    }
    if matches!(recovery, Recovery::Rack(rack) if rack.min_rtt_window == Duration::ZERO) {
        report.value(&of.path(&["recovery", "min_rtt_window"]), "is too small", "expected more than 0 s");
    }
}

/// Checks the keys of careful resume.
fn check_resume(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let Some(resume) = config.careful_resume else { return };
    let kind = config.cc.kind();
    let key = of.path(&["careful_resume", "kind"]);
    if config.is_model_based() || kind == CcKind::Stp || matches!(config.feedback, Feedback::Xcp(_) | Feedback::Rcp(_))
    {
        let message = format!("sets a window, and cc \"{}\" computes its window from a model", kind.name());
        let expected = "expected \"off\", or a cc with a window, without feedback of routers";
        report.value(&key, &message, expected);
    }
    if config.sharing.is_some_and(|sharing| sharing.cwnd == SharedCwnd::Full) {
        let expected = "expected sharing.cwnd = \"cautious\" or \"ignore\" with it (RFC 9959 §4.3)";
        report.value(&key, "contradicts sharing.cwnd = \"full\": both set the first window", expected);
    }
    check_resume_values(&resume, report, &of.path(&["careful_resume"]));
}

/// Checks the values of careful resume in a transport, at `path`.
pub(super) fn check_resume_values(resume: &CarefulResume, report: &mut Report<'_>, path: &[String]) {
    let key = |key| below(path, key);
    if resume.lifetime == Duration::ZERO {
        report.value(&key("lifetime"), "is too small", "expected more than 0 s");
    }
    if resume.saved_rtt == SavedRtt::Time(Duration::ZERO) {
        let expected = "expected more than 0 s: no round trip is as short";
        report.value(&key("saved_rtt"), "is too small", expected);
    }
    let saves_nothing = matches!(resume.saved, SavedWindow::Segments(0) | SavedWindow::Bytes(0) | SavedWindow::Bdp(0));
    let jumps_nowhere = matches!(resume.max_jump, MaxJump::Segments(0) | MaxJump::Bytes(0) | MaxJump::Bdp(0));
    for (name, is_nothing) in [("saved", saves_nothing), ("max_jump", jumps_nowhere)] {
        if is_nothing {
            report.value(&key(name), "is too small", "expected at least one segment");
        }
    }
}

/// Checks that a congestion control that counts marks gets counts, and that no other one claims to count them.
fn check_marks(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let (kind, feedback) = (config.cc.kind(), config.ecn.feedback);
    if config.own_cc.is_some() {
        return;
    }
    if kind.takes().marks && !feedback.counts_marks() {
        let message = format!("reports no counts of marks, which cc \"{}\" needs", kind.name());
        let expected = "expected \"accurate\" or \"per-segment\", or another cc";
        report.value(&of.path(&["ecn", "kind"]), &message, expected);
    } else if config.ecn.is_l4s() && !kind.takes().marks {
        let message = format!("asks for the low latency of L4S, but cc \"{}\" does not count marks", kind.name());
        let expected = "expected 0, or cc = \"prague\" (RFC 9331 §4.3)";
        report.value(&of.path(&["ecn", "ect"]), &message, expected);
    }
}

/// Checks pacing, Fast Open, and state shared from earlier connections.
fn check_sending(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    match config.pacing {
        Pacing::Off => {}
        Pacing::Window { burst, .. } | Pacing::Rate { burst, .. } => {
            if matches!(config.pacing, Pacing::Rate { rate, .. } if rate.as_bps() == 0) {
                report.value(&of.path(&["pacing", "rate"]), "is too small", "expected more than 0 bit/s");
            }
            if matches!(burst, WindowSize::Segments(0) | WindowSize::Bytes(0)) {
                let expected = "expected at least one segment or byte";
                report.value(&of.path(&["pacing", "burst"]), "is too small", expected);
            }
        }
    }
    if matches!(config.fast_open, Some(FastOpen { .. })) && !config.handshake {
        let expected = "expected handshake = true: Fast Open puts data into its first segment";
        report.value(&of.path(&["fast_open", "kind"]), "needs a handshake", expected);
    }
    check_transactions(config, of, report);
    check_notices(config, of, report);
    check_resume(config, of, report);
    let Some(sharing) = config.sharing else { return };
    if sharing.age_max == Duration::ZERO {
        report.value(&of.path(&["sharing", "age_max"]), "is too small", "expected more than 0 s");
    }
    if sharing.cwnd == SharedCwnd::Full && config.pacing == Pacing::Off {
        let expected = "expected pacing, or \"cautious\" (RFC 9040 §5.2)";
        report.value(&of.path(&["sharing", "cwnd"]), "would send a whole window at once", expected);
    }
}

/// Rejects contradictory keys about error reports.
fn check_notices(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    let is_ignored = config.error_reports == ErrorReports::Ignore;
    if config.report_copies > 1 && is_ignored {
        let expected = "expected error_reports = \"resend\" beside it, or 1";
        report.value(&of.path(&["report_copies"]), "has no effect: reports are ignored", expected);
    }
    if config.report_resend == ReportResend::Packet {
        let path = of.path(&["report_resend"]);
        if is_ignored {
            let expected = "expected error_reports = \"resend\" beside it, or \"whole\"";
            report.value(&path, "has no effect: reports are ignored", expected);
        } else if matches!(config.recovery, Recovery::Rack(_)) {
            let expected = "expected \"whole\", or another recovery: ns-2 has no RACK";
            report.value(
                &path,
                "does not work with recovery \"rack\", which would count waiting data as lost",
                expected,
            );
        }
    }
    if matches!(config.packet_size, PacketSize::Optimum { header: 0, .. }) {
        let expected = "expected at least 1 B: without headers the smallest packet is the best";
        report.value(&of.path(&["packet_size", "header"]), "is too small", expected);
    }
}

/// Checks the keys of T/TCP.
fn check_transactions(config: &Config, of: &Reading<'_, '_>, report: &mut Report<'_>) {
    if config.transactions.is_none() {
        return;
    }
    let (message, expected) = match () {
        () if !config.handshake => {
            ("needs a handshake", "expected handshake = true: connection counts are options of a SYN")
        }
        () if config.fast_open.is_some() => {
            ("has the same effect as fast_open", "expected one of the two: both send data in the SYN")
        }
        () if config.ack.congestion_control => (
            "has no room in a header",
            "expected ack.congestion_control = false: a segment carries a count or an ACK ratio",
        ),
        () => return,
    };
    report.value(&of.path(&["transactions", "kind"]), message, expected);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_toml;
    use bentpipe_tcp::EcnConfig;

    fn read(tcp: &str) -> Result<Config, String> {
        let link = "[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n";
        let text =
            format!("duration = \"1 s\"\n[tcp]\nlike = \"rfc\"\n{tcp}\n{link}[flow.f]\nfrom = \"a\"\nto = \"b\"\n");
        let read = from_toml(&text, "ends", &[]).map_err(|problems| problems.to_string())?;
        Ok(read.scenario.flows[0].tcp().clone())
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        for (tcp, reason) in [
            ("pacing = { kind = \"rate\", rate = \"0 bit/s\" }", "is too small"),
            ("pacing = { kind = \"window\", burst = \"0 segments\" }", "is too small"),
            ("pacing = { kind = \"window\", gain = 0 }", "0.1 to 100"),
            ("ecn = { kind = \"classic\", beta = 1 }", "0.1 to 0.99"),
            (
                "slow_start = \"rapid\"\nrecovery = \"sack\"",
                "counts each lost segment, which recovery \"sack\" does not",
            ),
            ("careful_resume = \"on\"\ncc = \"bbr3\"", "sets a window, and cc \"bbr3\" computes"),
            ("careful_resume = \"on\"\nfeedback = \"xcp\"", "without feedback of routers"),
            ("careful_resume = { kind = \"on\", saved_rtt = \"0 s\" }", "saved_rtt = \"0 s\" is too small"),
            ("careful_resume = { kind = \"on\", saved = \"0 B\" }", "saved = \"0 B\" is too small"),
            ("careful_resume = { kind = \"on\", max_jump = \"0 bdp\" }", "max_jump = \"0 bdp\" is too small"),
            ("careful_resume = { kind = \"on\", lifetime = \"0 s\" }", "lifetime = \"0 s\" is too small"),
            ("careful_resume = { kind = \"on\", fraction = 0 }", "fraction = 0 is out of range"),
            (
                "careful_resume = \"on\"\npacing = \"window\"\nsharing = { kind = \"on\", cwnd = \"full\" }",
                "contradicts sharing.cwnd",
            ),
            ("cc = \"prague\"\necn = \"off\"", "reports no counts of marks, which cc \"prague\" needs"),
            ("cc = \"prague\"\necn = \"classic\"", "\"accurate\" or \"per-segment\""),
            ("cc = \"dctcp\"\necn = \"off\"", "which cc \"dctcp\" needs"),
            ("cc = \"cubic\"\necn = { kind = \"accurate\", ect = 1 }", "cc \"cubic\" does not count marks"),
            ("cc = \"prague\"\necn = { kind = \"accurate\", ect = 2 }", "is out of range"),
            ("cc = \"prague\"\necn = { kind = \"per-segment\", ect = 1 }", "not a known key"),
            ("fast_open = \"on\"\nhandshake = false", "needs a handshake"),
            ("verdict = \"low-priority-copies\"\ncc = \"peach\"", "its own dummy segments"),
            ("best_effort = \"on\"\ncc = \"sack\"", "is part of SCPS-TP"),
            ("best_effort = { kind = \"on\", wait = \"0 s\" }\nrecovery = \"snack\"", "is too small"),
            ("copies.every = 4", "have no effect with verdict \"always-congestion\""),
            ("transactions = \"on\"\nhandshake = false", "needs a handshake"),
            ("transactions = \"on\"\nfast_open = \"on\"", "has the same effect as fast_open"),
            ("transactions = \"on\"\nack.congestion_control = true", "no room in a header"),
            ("receive_buffer = \"auto\"\nwindow_scaling = false", "cannot be advertised"),
            ("receive_buffer = \"auto\"\nauto_buffer = { start = \"5 MB\" }", "at most auto_buffer.limit"),
            ("receive_buffer = \"auto\"\nauto_buffer = { limit = \"2 GB\" }", "1073725440 B"),
            ("sharing = { kind = \"on\", cwnd = \"full\" }", "a whole window at once"),
            ("sharing = { kind = \"on\", age_max = \"0 s\" }", "is too small"),
        ] {
            let problems = read(tcp).unwrap_err();
            assert!(problems.contains(reason), "{tcp}: {problems}");
        }
    }

    #[test]
    fn short_forms_have_the_defaults() {
        let paced = read("pacing = \"window\"").unwrap();
        let burst = WindowSize::Segments(2);
        assert_eq!(paced.pacing, Pacing::Window { gain_slow_start: 2000, gain: 1200, burst });
        let opened = read("fast_open = \"on\"").unwrap();
        assert!(opened.fast_open.is_some_and(|fast_open| !fast_open.is_known));
        let tuned = read("receive_buffer = \"auto\"").unwrap();
        assert_eq!((tuned.auto_buffer, tuned.receive_buffer), (Some(65_535), 4_000_000));
        // Both ends have the same configuration, so no handshake must negotiate ECN.
        for (tcp, ecn) in [
            ("cc = \"prague\"", EcnConfig::L4S),
            ("cc = \"prague\"\nlike = \"linux-6\"", EcnConfig::L4S),
            ("cc = \"dctcp\"\nlike = \"linux-6\"", EcnConfig::PER_SEGMENT),
            ("cc = \"cubic\"\nlike = \"linux-6\"", EcnConfig::OFF),
            ("cc = \"prague\"\necn = \"accurate\"", EcnConfig::L4S),
        ] {
            assert_eq!(read(&tcp.replace("like = \"linux-6\"", "")).unwrap().ecn, ecn, "{tcp}");
        }
        let marked = read("ecn = \"accurate\"\nhandshake = false").unwrap();
        assert_eq!(marked.ecn, EcnConfig { feedback: EcnFeedback::Accurate, ect: Some(0), ..EcnConfig::OFF });
    }
}
