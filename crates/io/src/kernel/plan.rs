//! Plans the kernel settings of a case, and finds settings that the kernel's TCP does not have.

use crate::host::{congestion_controls, kernel_cc, simulated_cc};
use crate::system;
use bentpipe_conformance::{self as conformance, Case};
use bentpipe_sim::spec::Like;
use bentpipe_tcp::{
    AckPolicy, BufferGrowth, ByteCounting, Config, CwndValidation, EcnFeedback, GiveUp, InitialSsthresh, NewReno,
    Pacing, Rack, Recovery, Reduction, RtoConfig, SackCounting, SackEvidence, SackOnRto, SecondReduction,
    SpuriousDetection, SsthreshBase, SsthreshRounding,
};
use bentpipe_units::Duration;
use rustix::fd::BorrowedFd;
use std::io;

/// Largest duration of a case that does not name Linux. Longer cases would take longer than all others together.
const LONGEST: Duration = Duration::from_secs(30);
/// Bytes of headers of IPv4 and TCP, and of timestamps with their padding.
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;
/// Smallest MTU of IPv4 (RFC 791), largest of a device.
const MTU: std::ops::RangeInclusive<u32> = 68..=65_535;
/// Receive buffer with which a connection of Linux starts, bytes.
const RMEM: u64 = 131_072;
/// Send buffer with which it starts, bytes.
const WMEM: u64 = 16_384;
/// Limit of a paced socket, bytes/s. Any limit makes the kernel pace; this one is never the smaller one.
const PACING_MAX: u32 = u32::MAX - 1;
/// Its delay of an ACK (TCP_ATO_MIN, linux/tcp.h).
const DELAY: Duration = Duration::from_millis(40);
/// Metrics of a route (linux/rtnetlink.h).
const RTAX_RTT: u16 = 4;
const RTAX_SSTHRESH: u16 = 6;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;
/// Kinds of options that a connection without a handshake agrees on (RFC 9293 §3.1, RFC 7323 §2.2, RFC 2018 §2).
const MSS: u32 = 2;
const WINDOW_SCALE: u32 = 3;
const SACK_PERMITTED: u32 = 4;
const STAMPS: u32 = 8;

/// The settings of a case in the words of the kernel.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) mtu: u16,
    /// Payload of a segment, with its options.
    pub(crate) mss: u32,
    /// System settings. A kernel without one of them does not have the settings of the case.
    pub(crate) sysctls: Vec<(&'static str, String)>,
    /// Optional system settings, which turn habits of the kernel off.
    pub(crate) habits: Vec<(&'static str, String)>,
    /// Metrics of the route to the peer.
    pub(crate) metrics: Vec<(u16, u32)>,
    /// Some metrics only apply to peers that the kernel has stored.
    pub(crate) is_remembered: bool,
    /// Options of a connection without a handshake.
    pub(crate) repair: Vec<(u32, u32)>,
    pub(crate) has_timestamps: bool,
    /// ECN without a handshake in the script.
    pub(crate) agrees_on_ecn: bool,
    cc: String,
    nagle: bool,
    pub(crate) delays_acks: bool,
    user_timeout: Option<u32>,
    receive_buffer: Option<i32>,
    is_paced: bool,
}

impl Plan {
    /// Sets the options of a socket.
    pub(crate) fn prepare(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let tcp = |name, value: &[u8]| system::set_option(socket, libc::IPPROTO_TCP, name, value);
        tcp(libc::TCP_CONGESTION, self.cc.as_bytes())?;
        tcp(libc::TCP_NODELAY, &i32::from(!self.nagle).to_ne_bytes())?;
        if let Some(span_ms) = self.user_timeout {
            tcp(libc::TCP_USER_TIMEOUT, &span_ms.to_ne_bytes())?;
        }
        if let Some(bytes) = self.receive_buffer {
            system::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes.to_ne_bytes())?;
        }
        if self.is_paced {
            system::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &PACING_MAX.to_ne_bytes())?;
        }
        Ok(())
    }
}

/// Plans the settings of a case. Returns the first setting that the kernel does not have as an error.
pub(crate) fn of(case: &Case) -> Result<Plan, String> {
    let config = &case.config;
    let linux = linux(case);
    others(case, &linux)?;
    let (cc, sack, rack) = recovery(config)?;
    let ecn = match (config.ecn.feedback, config.ecn.beta) {
        // Linux does not ask for ECN, but agrees to it.
        (EcnFeedback::Off, _) if is_linux(case) => 2,
        (EcnFeedback::Off, _) => 0,
        (EcnFeedback::Classic, None) => 1,
        (EcnFeedback::Accurate, None) => 3,
        _ => return Err("ecn with beta, or per segment".into()),
    };
    let frto = match config.spurious_detection {
        SpuriousDetection::Frto | SpuriousDetection::Any => 2,
        SpuriousDetection::Off | SpuriousDetection::Eifel | SpuriousDetection::Dsack => 0,
    };
    let stamps = if config.timestamps { TIMESTAMPS } else { 0 };
    let mss = config.smss + stamps;
    let mtu = mss + HEADERS;
    if !MTU.contains(&mtu) {
        return Err("smss".into());
    }
    let smss = u64::from(config.smss);
    let window = config.initial_window.bytes(config.smss);
    if window % smss != 0 {
        return Err("initial_window that is not a whole number of segments".into());
    }
    // The kernel's bound is a bound of the variance term.
    let rto_min = config.rto.min.max(config.rto.variance_min);
    let mut metrics = vec![(RTAX_INITCWND, (window / smss) as u32), (RTAX_RTO_MIN, milliseconds(rto_min).max(1))];
    // RTO = R + max(2 R, bound), with R in eighths of a millisecond.
    let third = config.rto.initial / 3;
    let first = if third.saturating_sub(rto_min / 2) > Duration::ZERO {
        third
    } else {
        config.rto.initial.saturating_sub(rto_min)
    };
    if !config.handshake {
        metrics.push((RTAX_RTT, (milliseconds(first) * 8).max(1)));
    } else if config.rto.initial != RtoConfig::default().initial {
        return Err("rto.initial with a handshake".into());
    }
    match config.initial_ssthresh {
        InitialSsthresh::Unlimited => {}
        InitialSsthresh::Segments(segments) => metrics.push((RTAX_SSTHRESH, segments as u32)),
        InitialSsthresh::Bytes(bytes) if bytes % smss == 0 => metrics.push((RTAX_SSTHRESH, (bytes / smss) as u32)),
        _ => return Err("initial_ssthresh".into()),
    }
    if config.ack.every == 1 {
        metrics.push((RTAX_QUICKACK, 1));
    }
    let user_timeout = match config.give_up {
        give_up if [Config::default().give_up, linux.give_up].contains(&give_up) => None,
        GiveUp::AfterTime(span) => Some(milliseconds(span)),
        GiveUp::AfterRetransmissions(_) | GiveUp::Never => return Err("give_up other than a time".into()),
    };
    let is_on = |is_on: bool| u32::from(is_on).to_string();
    let falls_unused = matches!(config.cwnd_validation, CwndValidation::Rfc2861 | CwndValidation::Linux);
    let mut sysctls = vec![
        ("ipv4/tcp_sack", is_on(sack)),
        ("ipv4/tcp_dsack", is_on(config.dsack)),
        ("ipv4/tcp_timestamps", is_on(config.timestamps)),
        ("ipv4/tcp_window_scaling", is_on(config.window_scaling)),
        ("ipv4/tcp_ecn", ecn.to_string()),
        ("ipv4/tcp_ecn_fallback", is_on(false)),
        ("ipv4/tcp_frto", frto.to_string()),
        // 3 enables tail loss probes, 0 disables them.
        ("ipv4/tcp_early_retrans", if rack.is_some_and(|tlp| tlp) { 3 } else { 0 }.to_string()),
        ("ipv4/tcp_syn_linear_timeouts", config.rto.syn_linear_timeouts.to_string()),
        ("ipv4/tcp_syn_retries", config.rto.syn_retries.to_string()),
        ("ipv4/tcp_synack_retries", config.rto.synack_retries.to_string()),
        // This setting also lets an unused window shrink, by RFC 2861.
        ("ipv4/tcp_slow_start_after_idle", is_on(config.idle_restart || falls_unused)),
        (
            "ipv4/tcp_wmem",
            match config.auto_send_buffer {
                // The preset's start has room for the first window, which the kernel adds itself.
                start if start == linux.auto_send_buffer => format!("4096 {WMEM} {}", config.send_buffer),
                Some(start) => format!("4096 {start} {}", config.send_buffer),
                None => "4096 16777216 67108864".into(),
            },
        ),
        // The window shift follows from the largest buffer. Half of a buffer is for the kernel's own data, unless it is counted.
        (
            "ipv4/tcp_rmem",
            match config.auto_buffer {
                Some(start) if config.buffer_growth == BufferGrowth::Linux => {
                    format!("4096 {start} {}", config.receive_buffer)
                }
                Some(start) if start * 2 > RMEM => format!("4096 {} {}", start * 2, config.receive_buffer * 2),
                Some(_) => format!("4096 {RMEM} {}", config.receive_buffer * 2),
                None => format!("4096 {RMEM} {}", Config::RECEIVE_BUFFER_MAX),
            },
        ),
        ("ipv4/tcp_no_metrics_save", is_on(false)),
    ];
    // Bounds of one and of two minutes are longer than a case.
    if config.rto.max != RtoConfig::default().max {
        sysctls.push(("ipv4/tcp_rto_max_ms", milliseconds(config.rto.max).to_string()));
    }
    let answers_ms = if is_linux(case) { milliseconds(config.challenge_acks.interval) } else { 0 };
    let habits = vec![
        // Each segment gets its own answer, every time.
        ("ipv4/tcp_comp_sack_nr", is_on(false)),
        ("ipv4/tcp_invalid_ratelimit", answers_ms.to_string()),
        // Written data leaves immediately.
        ("ipv4/tcp_autocorking", is_on(false)),
        ("ipv4/tcp_tso_win_divisor", "255".into()),
        ("ipv4/tcp_no_ssthresh_metrics_save", is_on(false)),
    ];
    let shift = u32::from(case.window_shift());
    let mut repair = vec![(MSS, mss)];
    if config.window_scaling {
        repair.push((WINDOW_SCALE, shift << 16 | shift));
    }
    if sack {
        repair.push((SACK_PERMITTED, 0));
    }
    if config.timestamps {
        repair.push((STAMPS, 0));
    }
    let is_remembered = metrics.iter().any(|(kind, _)| [RTAX_RTT, RTAX_SSTHRESH].contains(kind));
    Ok(Plan {
        mtu: mtu as u16,
        mss,
        sysctls,
        habits,
        metrics,
        is_remembered,
        repair,
        has_timestamps: config.timestamps,
        agrees_on_ecn: config.ecn.feedback != EcnFeedback::Off,
        cc,
        nagle: config.nagle,
        delays_acks: config.ack.every > 1 && config.ack.quick != linux.ack.quick,
        user_timeout,
        receive_buffer: (config.auto_buffer.is_none()
            && (RMEM..Config::RECEIVE_BUFFER_MAX).contains(&config.receive_buffer))
        .then_some(config.receive_buffer as i32),
        is_paced: config.pacing != Pacing::Off,
    })
}

/// The kernel has no other loss detection with selective acknowledgements.
fn rack(config: &mut Config) {
    config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
}

/// In fast recovery the kernel does not reduce again; after a timeout it does.
fn after_timeout(config: &mut Config) {
    config.second_reduction = SecondReduction::AfterTimeout;
}

/// A buffer of the kernel also holds its own data, so the window is smaller.
fn any_buffer(config: &mut Config) {
    config.receive_buffer = Config::RECEIVE_BUFFER_MAX;
}

/// Change that makes a setting of a case equal to that of the kernel.
type Change = fn(&mut Config);

/// Fixed behaviours of the kernel for any settings, in the words of `[tcp]`.
const WAYS: &[(&str, Change)] = &[
    ("byte_counting = \"ubc-pure\"", |config| config.growth.byte_counting = ByteCounting::UbcPure),
    ("ssthresh_rounding = \"window\"", |config| config.ssthresh_rounding = SsthreshRounding::Window),
    ("ssthresh_base = \"window\"", |config| config.ssthresh_base = SsthreshBase::Window),
    ("grow_on_exit = true", |config| config.grow_on_exit = true),
    ("reduction = \"prr\"", |config| config.reduction = Reduction::Prr),
    ("second_reduction = \"after-timeout\"", after_timeout),
    ("cwnd_validation = \"linux\"", |config| config.cwnd_validation = CwndValidation::Linux),
    ("recovery.undo_shows_reordering = true", |config| {
        if let Recovery::Rack(rack) = &mut config.recovery {
            rack.undo_shows_reordering = true;
        }
    }),
    ("recovery.sack_echo = false", |config| {
        if let Recovery::Rack(rack) = &mut config.recovery {
            rack.sack_echo = false;
        }
    }),
    ("rto.whole_ack_undoes = true", |config| config.rto.whole_ack_undoes = true),
    ("rto.min as bound of the variance term", |config| config.rto.variance_min = config.rto.min),
    ("rto.min in the place of max_ack_delay", |config| {
        if let Recovery::Rack(rack) = &mut config.recovery {
            rack.max_ack_delay = config.rto.min;
        }
    }),
    ("ack.delay = \"40 ms\"", |config| config.ack.delay = DELAY),
];

/// Returns the kernel's behaviour that makes bentpipe's TCP differ in the same line, too. None if it differs there
/// without this behaviour.
pub(crate) fn way(case: &Case, line: usize) -> Option<&'static str> {
    if case.differs_with(|_| {}) == Some(line) {
        return None;
    }
    WAYS.iter().find(|(_, change)| case.differs_with(change) == Some(line)).map(|(name, _)| *name)
}

fn milliseconds(span: Duration) -> u32 {
    (span.as_ps() / 1_000_000_000) as u32
}

/// Returns the kernel's name of the congestion control `ours`, if the kernel has it.
fn kernels(ours: &str, available: &[String]) -> Result<String, String> {
    let name = kernel_cc(ours);
    // A module of the same name may be another algorithm: `westwood` is Westwood+.
    let is_same = name != ours || simulated_cc(name) == ours;
    if is_same && available.iter().any(|each| each == name) {
        return Ok(name.into());
    }
    Err(format!("cc = {ours:?}, of which this kernel has {}", available.join(", ")))
}

/// Returns the congestion control, whether selective acknowledgements are in use, and with RACK whether it probes.
fn recovery(config: &Config) -> Result<(String, bool, Option<bool>), String> {
    if config.own_cc.is_some() {
        return Err("cc".into());
    }
    let cc = kernels(config.cc.kind().name(), &congestion_controls())?;
    match config.recovery {
        Recovery::NewReno(variant) if variant == NewReno::default() => Ok((cc, false, None)),
        Recovery::NewReno(_) => Err("variants of recovery = \"newreno\"".into()),
        Recovery::Sack {
            on_rto: SackOnRto::Keep,
            evidence: SackEvidence::Rfc6675,
            counting: SackCounting::Data,
            rescue: true,
        } => Ok((cc, true, None)),
        Recovery::Sack { .. } => Err("variants of recovery = \"sack\"".into()),
        Recovery::Rack(rack) => Ok((cc, true, Some(rack.tlp))),
        Recovery::Reno => Err("recovery = \"reno\"".into()),
        _ => Err("recovery".into()),
    }
}

/// Whether the case names Linux as its host, so that the kernel must hold it.
fn is_linux(case: &Case) -> bool {
    matches!(case.like, Like::Linux6 | Like::Linux6Paced)
}

/// Returns the settings of a Linux host with the congestion control of a case.
fn linux(case: &Case) -> Config {
    conformance::host(if is_linux(case) { case.like } else { Like::Linux6 }, case.config.cc.kind(), case.config.smss)
}

/// Returns the settings of the timer that no setting of the kernel changes.
fn fixed_rto(rto: RtoConfig) -> RtoConfig {
    let usual = RtoConfig::default();
    RtoConfig {
        initial: usual.initial,
        min: usual.min,
        max: usual.max,
        variance_min: usual.variance_min,
        granularity: usual.granularity,
        phase: usual.phase,
        syn_linear_timeouts: usual.syn_linear_timeouts,
        syn_retries: usual.syn_retries,
        synack_retries: usual.synack_retries,
        // The kernel's own number; notes at a case show where it matters.
        syn_reduction_after: usual.syn_reduction_after,
        ..rto
    }
}

/// Returns the settings of ACKs that no setting of the kernel changes. Its own delay is as good as the usual one.
fn fixed_ack(ack: AckPolicy) -> AckPolicy {
    let usual = AckPolicy::default();
    let every = if ack.every == 1 { 2 } else { ack.every };
    AckPolicy { every, delay: if ack.delay == DELAY { usual.delay } else { ack.delay }, ..ack }
}

/// Rejects settings that the kernel cannot have. Its own settings are those of the host [`linux`]. The usual settings are
/// accepted, too: the script has notes for the lines in which the kernel differs. A case that names Linux must not
/// contradict the kernel.
fn others(case: &Case, linux: &Config) -> Result<(), String> {
    let (config, usual) = (&case.config, Config::default());
    fn is_new<T: PartialEq>(of: impl Fn(&Config) -> T, config: &Config, known: [&Config; 2]) -> bool {
        !known.iter().any(|known| of(known) == of(config))
    }
    macro_rules! is_new {
        ($of:expr) => {
            is_new($of, config, [&usual, linux])
        };
    }
    // Some fixed behaviours of the kernel do not affect the case, which may fail without them.
    let own = case.differs_with(|_| {});
    let depends = |change: &dyn Fn(&mut Config)| case.differs_with(change) != own;
    let names = [
        ("a case of more than 30 s", case.length() > LONGEST && !is_linux(case)),
        ("a FIN in the SYN", case.is_closed),
        ("limited_transmit = false", !config.limited_transmit && depends(&|config| config.limited_transmit = true)),
        ("recovery = \"sack\"", matches!(config.recovery, Recovery::Sack { .. }) && depends(&rack)),
        ("limited_retransmit", config.limited_retransmit),
        ("early_retransmit", config.early_retransmit),
        ("reduction", config.reduction != Reduction::Prr && is_new!(|config| config.reduction)),
        ("second_reduction", config.second_reduction == SecondReduction::Off && depends(&after_timeout)),
        ("spurious_response", is_new!(|config| config.spurious_response)),
        (
            "byte_counting",
            config.growth.byte_counting != ByteCounting::Ubc && is_new!(|config| config.growth.byte_counting),
        ),
        ("slow_start", is_new!(|config| config.growth.slow_start)),
        ("increase", is_new!(|config| config.growth.increase)),
        ("slow_start_at_ssthresh", config.growth.slow_start_at_ssthresh),
        (
            "cwnd_validation",
            config.cwnd_validation != CwndValidation::Rfc2861 && is_new!(|config| config.cwnd_validation),
        ),
        ("ssthresh_base", is_new!(|config| config.ssthresh_base)),
        // The kernel's buffers also hold its own data.
        (
            "send_buffer",
            config.send_buffer != usual.send_buffer && !(is_linux(case) && config.auto_send_buffer.is_some()),
        ),
        (
            "auto_buffer",
            config.auto_buffer.is_some() && !(is_linux(case) && config.buffer_growth == linux.buffer_growth),
        ),
        ("keepalive", config.keepalive.is_some()),
        ("receive_buffer", config.receive_buffer < RMEM && depends(&any_buffer)),
        (
            "rto.granularity",
            config.rto.granularity != Duration::ZERO && config.rto.granularity != linux.rto.granularity,
        ),
        ("rto.sampling", is_new!(|config| config.rto.sampling)),
        ("rto.forget_after", is_new!(|config| config.rto.forget_after)),
        ("rto", is_new!(|config| fixed_rto(RtoConfig { sampling: usual.rto.sampling, ..config.rto }))),
        ("ack", is_new!(|config| fixed_ack(config.ack))),
        ("pacing", is_new!(|config| config.pacing)),
        ("fast_open", config.fast_open.is_some()),
        ("transactions", config.transactions.is_some()),
        ("best_effort", config.best_effort.is_some()),
        ("sharing", config.sharing.is_some()),
        ("verdict", config.verdict != usual.verdict),
        ("feedback", config.feedback != usual.feedback),
        ("duplicate_acks", config.duplicate_acks != usual.duplicate_acks),
        ("error_reports", config.error_reports != usual.error_reports),
        ("packet_size", config.packet_size != usual.packet_size),
    ];
    if let Some((name, _)) = names.into_iter().find(|&(_, is_asked)| is_asked) {
        return Err(name.into());
    }
    if !is_linux(case) {
        return Ok(());
    }
    let changes = |config: &Config, change: Change| {
        let mut changed = config.clone();
        change(&mut changed);
        changed != *config
    };
    // Where the preset differs from the kernel, the case shows it.
    let contradicts =
        |&&(_, change): &&(_, Change)| !changes(linux, change) && changes(config, change) && depends(&change);
    match WAYS.iter().find(contradicts) {
        Some((way, _)) => Err(format!("a host like Linux without {way}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_conformance::cases;

    /// Returns the first window of a transfer, with these keys.
    fn case(keys: &str, more: &str) -> Case {
        let text = format!(
            "= RFC 5681 §3.1  x\nsmss = \"1000 B\"\nhandshake = false\ninitial_window = \"4 segments\"\n{keys}\n\
             +0 write 10000\n+0 > 0:4000 x4\n{more}"
        );
        cases(&text).unwrap().remove(0)
    }

    #[test]
    fn settings_become_those_of_the_kernel() {
        let keys =
            "timestamps = true\ncc = \"sack\"\nrecovery = \"rack\"\ninitial_ssthresh = \"3000 B\"\nrto.min = \"0.4 s\"";
        let plan = of(&case(keys, "")).unwrap();
        assert_eq!((plan.mtu, plan.mss, plan.cc.as_str()), (1052, 1012, "reno"));
        assert!(plan.is_remembered && plan.repair.contains(&(SACK_PERMITTED, 0)));
        // 0.6 s and the bound of 0.4 s are the second before the first sample; three thirds if that is less.
        assert_eq!(
            plan.metrics[..],
            [(RTAX_INITCWND, 4), (RTAX_RTO_MIN, 400), (RTAX_RTT, 8 * 333), (RTAX_SSTHRESH, 3)]
        );
        for (name, value) in [("ipv4/tcp_sack", "1"), ("ipv4/tcp_timestamps", "1"), ("ipv4/tcp_early_retrans", "3")] {
            assert!(plan.sysctls.contains(&(name, value.to_owned())), "{name}");
        }
    }

    #[test]
    fn a_window_that_is_not_used_falls_only_if_the_kernel_heeds_idle_times() {
        for (keys, value) in [("cwnd_validation = \"rfc2861\"", "1"), ("idle_restart = false", "0")] {
            let plan = of(&case(keys, "")).unwrap();
            assert!(plan.sysctls.contains(&("ipv4/tcp_slow_start_after_idle", value.to_owned())), "{keys}");
        }
    }

    #[test]
    fn what_the_kernel_does_not_have_is_refused_by_name() {
        for (keys, name) in [
            ("recovery = \"timeout-only\"", "recovery"),
            ("pacing = { kind = \"window\", burst = \"1 segments\" }", "pacing"),
            ("give_up = \"never\"", "give_up other than a time"),
            ("initial_ssthresh = \"2500 B\"", "initial_ssthresh"),
        ] {
            assert_eq!(of(&case(keys, "")).err().as_deref(), Some(name), "{keys}");
        }
    }

    #[test]
    fn settings_of_linux_apply_unless_they_contradict_the_kernel() {
        // Where they matter, too.
        let steps = "+0.1 < ack 2000\n+0 > 4000:8000 x4\n";
        for keys in [
            "byte_counting = \"ubc-pure\"",
            "ssthresh_base = \"window\"",
            "ack.quick = 16",
            "rto.syn_linear_timeouts = 4",
        ] {
            assert!(of(&case(keys, steps)).is_ok(), "{keys}");
        }
        let linux = |keys: &str| of(&case(&format!("like = \"linux-6\"\ntimestamps = false\n{keys}"), steps));
        let plan = linux("").unwrap();
        for (name, value) in [
            ("tcp_ecn", "2"),
            ("tcp_timestamps", "0"),
            ("tcp_rmem", "4096 131072 6291456"),
            ("tcp_wmem", "4096 16384 4194304"),
        ] {
            assert!(
                plan.sysctls.iter().any(|(found, set)| found.ends_with(name) && set == value),
                "{name}: {:?}",
                plan.sysctls
            );
        }
        assert!(!plan.delays_acks, "it has its own quick ACKs");
        let refused = linux("byte_counting = \"rfc5681\"").err();
        assert_eq!(refused.as_deref(), Some("a host like Linux without byte_counting = \"ubc-pure\""));
        // It would not change this case.
        assert!(linux("ssthresh_base = \"flight-size\"").is_ok());
    }

    #[test]
    fn congestion_controls_that_the_kernel_lacks_are_refused_with_those_it_has() {
        let available = ["reno", "bbr", "westwood"].map(String::from);
        let found = ["sack", "bbr1", "westwood-plus"].map(|ours| kernels(ours, &available).unwrap());
        assert_eq!(found, ["reno", "bbr", "westwood"]);
        let refused = ["hybla", "tahoe", "westwood", "cubic"].map(|ours| kernels(ours, &available).unwrap_err());
        assert_eq!(refused[0], "cc = \"hybla\", of which this kernel has reno, bbr, westwood");
        assert!(refused.iter().all(|text| text.ends_with("has reno, bbr, westwood")));
    }

    #[test]
    fn a_setting_that_makes_no_difference_is_none_that_is_missing() {
        let keys = "limited_transmit = false";
        assert!(of(&case(keys, "+0.1 < ack 1000\n+0 > 4000:6000 x2\n")).is_ok());
        let refused = of(&case(keys, "+0.1 < ack 0\n+0 ? flight 4000\n"));
        assert_eq!(refused.err().as_deref(), Some("limited_transmit = false"));
    }

    #[test]
    fn ways_of_the_kernel_are_found_by_the_line_in_which_bentpipe_differs_with_them() {
        let growth = case("", "+0.1 < ack 2000\n+0 ? cwnd 5000\n+0 > 4000:7000 x3\n");
        assert_eq!(way(&growth, 9), Some("byte_counting = \"ubc-pure\""));
        assert_eq!(way(&growth, 8), None);
    }
}
