//! Presets of hosts: `tcp.like` sets the keys that the file leaves open to the values of that host.
//!
//! Each value has its source and appears in the resolved scenario. Keys of the file stay as they are. A preset leaves a
//! key at its default if no primary source gives its value.

use super::transports::tables_of;
use super::tree::{Place, Tree, Value};
use bentpipe_cc::CcKind;
use bentpipe_model::spec::{Buffers, Like};
use bentpipe_tcp::{EcnConfig, Recovery, SackEvidence};
use bentpipe_units::Word;
use std::collections::BTreeMap;

/// Value of a preset.
pub(super) struct Row {
    /// Dotted key below `tcp`.
    pub(super) key: &'static str,
    /// Value as TOML.
    pub(super) value: &'static str,
    pub(super) source: &'static str,
    /// Congestion controls that the value is for. Empty: all.
    pub(super) only: &'static [&'static str],
}

/// Condition of a value beside its congestion controls.
pub(super) struct Needs {
    /// The condition in words.
    pub(super) words: &'static str,
    is_met: fn(&Tree, CcKind) -> bool,
}

impl Row {
    /// Returns the condition of this value, by its key.
    pub(super) fn needs(&self) -> Option<Needs> {
        let (words, is_met): (_, fn(&Tree, CcKind) -> bool) = match self.key {
            "smss" => ("`timestamps = true`", |tcp, _| is_set(tcp, "timestamps", true)),
            "recovery" => ("a congestion control without its own recovery", takes_sack),
            "ecn" => ("a congestion control without its own marks", |_, cc| cc.ecn() == EcnConfig::OFF),
            "reduction" | "dsack" => ("a recovery with SACK", takes_sack),
            // Keys of this recovery only.
            "recovery.undo_shows_reordering" | "recovery.sack_echo" => ("", |tcp, _| uses_rack(tcp)),
            // A file with this key decides about idle times itself.
            "cwnd_validation" if self.value == "'linux'" => {
                ("a file without `idle_restart`", |tcp, _| tcp.get("idle_restart").is_none())
            }
            // A window without scaling does not grow.
            "receive_buffer" => ("`window_scaling = true`", |tcp, _| !is_set(tcp, "window_scaling", false)),
            _ => return None,
        };
        Some(Needs { words, is_met })
    }
}

/// Whether a transport sets a key to this value.
fn is_set(tcp: &Tree, key: &str, value: bool) -> bool {
    matches!(tcp.get(key).map(|tree| &tree.value), Some(Value::Bool(set)) if *set == value)
}

const fn row(key: &'static str, value: &'static str, source: &'static str) -> Row {
    Row { key, value, source, only: &[] }
}

const fn row_for(only: &'static [&'static str], key: &'static str, value: &'static str, source: &'static str) -> Row {
    Row { key, value, source, only }
}

const LINUX_6: &[Row] = &[
    row("cc", "{ kind = 'cubic' }", "Linux since 2.6.19"),
    row("timestamps", "true", "tcp_timestamps = 1"),
    row("recovery", "{ kind = 'rack' }", "tcp_recovery = 1, tcp_early_retrans = 3"),
    row("recovery.undo_shows_reordering", "true", "tcp_try_undo_partial: tcp_check_sack_reordering"),
    row("recovery.sack_echo", "false", "tcp_sacktag_one: tcp_rack_advance without an echo"),
    row("reduction", "'prr'", "tcp_cwnd_reduction since 4.3: RFC 9937, SafeACK"),
    row("second_reduction", "'after-timeout'", "tcp_fastretrans_alert; linux.script, on 6.18"),
    row("dsack", "true", "tcp_dsack = 1"),
    row("spurious_detection", "'any'", "tcp_frto = 2, timestamps, DSACK"),
    row("spurious_response", "'restore'", "tcp_undo_cwnd_reduction"),
    row("initial_window", "'10 segments'", "TCP_INIT_CWND"),
    row("byte_counting", "{ kind = 'ubc-pure' }", "slow start counts what an ACK acknowledges"),
    row("ssthresh_base", "'window'", "thresholds are shares of cwnd"),
    row("ssthresh_rounding", "'window'", "cwnd counts segments"),
    row("grow_on_exit", "true", "tcp_cong_control: after tcp_fastretrans_alert"),
    row("cwnd_validation", "'linux'", "tcp_cwnd_validate, tcp_cwnd_restart"),
    row("rto.initial", "'1 s'", "TCP_TIMEOUT_INIT"),
    row("rto.min", "'200 ms'", "TCP_RTO_MIN"),
    row("rto.max", "'120 s'", "TCP_RTO_MAX"),
    row("rto.backoff_max", "1000000", "tcp_retransmit_timer: TCP_RTO_MAX is the only limit"),
    row("rto.granularity", "'1 ms'", "HZ = 1000"),
    row("rto.variance_min", "'200 ms'", "the floor is on the variance term"),
    row("rto.sampling", "'per-ack'", "tcp_ack_update_rtt"),
    row("rto.variation", "'largest'", "tcp_rtt_estimator: mdev_max_us"),
    row("rto.sack_samples", "true", "tcp_ack_update_rtt: sack_rtt_us"),
    row("rto.syn_linear_timeouts", "4", "tcp_syn_linear_timeouts = 4, since 6.5"),
    row("rto.syn_retries", "6", "tcp_syn_retries = 6"),
    row("rto.synack_retries", "5", "tcp_synack_retries = 5"),
    row("rto.syn_reduction_after", "2", "tcp_init_transfer: more than one retransmission"),
    row("rto.reduce_in_recovery", "false", "tcp_enter_loss: icsk_ca_state, high_seq"),
    row("rto.whole_ack_undoes", "true", "tcp_process_loss: FLAG_ORIG_SACK_ACKED"),
    row("rto.persist_min", "'0 s'", "tcp_probe0_base: the timeout, 200 ms or more"),
    row("rto.persist_max", "'120 s'", "tcp_probe0_when: TCP_RTO_MAX"),
    row("rto.persist_restarts", "true", "tcp_ack_probe"),
    row("ack.every", "2", "__tcp_ack_snd_check"),
    row("ack.delay", "'40 ms'", "TCP_DELACK_MIN"),
    row("ack.quick", "16", "TCP_MAX_QUICKACKS"),
    row("receive_buffer", "'auto'", "tcp_moderate_rcvbuf = 1"),
    row("auto_buffer.start", "'131072 B'", "tcp_rmem: 131072 B"),
    row("auto_buffer.limit", "'6291456 B'", "tcp_rmem: 6 MiB; 32 MiB since 6.16"),
    row("auto_buffer.growth", "'linux'", "tcp_rcvbuf_grow"),
    row("send_buffer", "'auto'", "tcp_sndbuf_expand: two windows"),
    row("auto_send_buffer.start", "'128000 B'", "two initial windows and more"),
    row("auto_send_buffer.limit", "'4194304 B'", "tcp_wmem: 4 MiB"),
    row("give_up", "'924 s'", "tcp_retries2 = 15"),
    row("ecn", "{ kind = 'off' }", "tcp_ecn = 2: answers, does not ask"),
    row("acceptable_acks", "'rfc5961'", "tcp_ack(): RFC 5961 5.2"),
    row("challenge_acks.limit", "1", "tcp_invalid_ratelimit: one for each socket and interval"),
    row("challenge_acks.interval", "'500 ms'", "tcp_invalid_ratelimit = 500"),
    row_for(CUBIC, "slow_start", "{ kind = 'hystart' }", "hystart = 1"),
    row_for(CUBIC, "cc.first_growth", "0.05", "cnt is at most 20 before the first loss"),
    row_for(CUBIC, "cc.after_rto", "'reset'", "bictcp_reset"),
    row_for(HYBLA, "cc.needs_ssthresh", "false", "hybla_cong_avoid: below any threshold"),
    row_for(BBR, "cc.quantum", "'offload'", "bbr_tso_segs_goal: segmentation offload"),
];

/// Values of a host with raised buffers.
pub(super) const RAISED: &[Row] = &[
    row("auto_buffer.limit", "'67108864 B'", "the largest receive buffer raised to 64 MiB"),
    row("auto_send_buffer.limit", "'67108864 B'", "the largest send buffer raised to 64 MiB"),
];

/// Value for all hosts with timestamps.
pub(super) const SMSS: Row = row("smss", "'1448 B'", "1500 B packets less 40 B and timestamps");

const CUBIC: &[&str] = &["cubic"];
const HYBLA: &[&str] = &["hybla"];
/// Modules of Linux, also those outside of its source.
const BBR: &[&str] = &["bbr1", "bbr2", "bbr3"];

const LINUX_6_PACED: &[Row] = &[
    row("pacing", "{ kind = 'window' }", "tcp_pacing_ss_ratio = 200, tcp_pacing_ca_ratio = 120"),
    row_for(CUBIC, "slow_start", "{ kind = 'hystart', train_divisor = 1 }", "hystart_ack_delay of a paced socket"),
];

/// Behaviour of ns-2 beyond or against the RFCs.
const NS_2: &[Row] = &[
    row("initial_window", "'2 segments'", "windowInit_ = 2"),
    row("receive_buffer", "'unlimited'", "window_ is set as large as wanted"),
    row("ssthresh_base", "'window'", "slowdown(): half of the window"),
    row("ssthresh_rounding", "'segments'", "windows count packets"),
    row("cwnd_validation", "'off'", "control_increase_ = 0, EnblRTTCtr_ = 0"),
    row("idle_restart", "false", "slow_start_restart_ acts without data outstanding only"),
    row("give_up", "'never'", "tries for ever"),
    row("limited_retransmit", "true", "send_one() sends what is next"),
    row("rto.initial", "'3 s'", "rtxcur_init_ = 3"),
    row("rto.min", "'200 ms'", "minrto_ = 0.2"),
    row("rto.granularity", "'10 ms'", "tcpTick_ = 0.01"),
    row("rto.sampling", "'per-window'", "one packet is timed"),
    row("rto.arithmetic", "'ticks'", "rtt_update(): Jacobson 1988"),
    row("rto.expires_on_tick", "false", "set_rtx_timer()"),
    row_for(&["tahoe"], "rto.duplicates", "'continue'", "TcpAgent::timeout() leaves dupacks_"),
    row_for(&["sack"], "rto.duplicates", "'ignore'", "Sack1: timeout_"),
    row("rto.backoff_max", "512", "maxrto_ is the only limit: 300 times minrto_"),
    row("rto.forget_after", "4", "rtt_backoff(): beyond 8 times SRTT is cleared"),
    row("rto.reduce_again", "true", "timeout() halves each time"),
    row("ack.every", "1", "Agent/TCPSink"),
    row("processing", "'0 s'", "overhead_ = 0"),
    row_for(
        &["sack"],
        "recovery",
        "{ kind = 'sack', evidence = 'hole', counting = 'acks', on_rto = 'ignore', rescue = false }",
        "Sack1: Fall and Floyd 1996, before RFC 3517",
    ),
    row_for(&["sack"], "grow_on_exit", "false", "Sack1"),
    row_for(
        &["newreno", "westwood-nr"],
        "recovery",
        "{ kind = 'newreno', exit = 'ssthresh', deflate = 'window', burst = 2 }",
        "Newreno: partialnewack(), send_helper()",
    ),
    row("grow_on_exit", "true", "recv_newack_helper() opens the window"),
];

const WINDOWS_11: &[Row] = &[
    row("cc", "{ kind = 'cubic' }", "Get-NetTCPSetting: clients use CUBIC"),
    row("timestamps", "false", "Winsock: IPPROTO_TCP options, default off"),
    row("window_scaling", "true", "autotuning Normal: scale factor of 8"),
    row("recovery", "{ kind = 'rack' }", "What's new in Windows Server 2022: RACK, also Windows 11"),
    row_for(
        CUBIC,
        "slow_start",
        "{ kind = 'hystart++' }",
        "What's new in Windows Server 2022: HyStart++, also Windows 11",
    ),
    row("give_up", "'5 retransmissions'", "TcpMaxDataRetransmissions"),
    row("nagle", "true", "TCP_NODELAY is off by default"),
];

const FREEBSD_14: &[Row] = &[
    row("cc", "{ kind = 'cubic' }", "release notes 14.0"),
    row("timestamps", "true", "net.inet.tcp.rfc1323 = 1"),
    row("recovery", "{ kind = 'sack' }", "net.inet.tcp.sack.revised; RACK is a separate module"),
    row("reduction", "'prr'", "net.inet.tcp.do_prr = 1"),
    row("cwnd_validation", "'off'", "net.inet.tcp.newcwv = 0: cwnd grows up to the peer's window"),
    row("idle_restart", "true", "newreno_cc_after_idle: RFC 5681 4.1"),
    row("dsack", "true", "tcp_update_dsack_list"),
    row("limited_transmit", "true", "net.inet.tcp.rfc3042 = 1"),
    row("initial_window", "'10 segments'", "net.inet.tcp.initcwnd_segments = 10"),
    row("byte_counting", "{ kind = 'abc', limit = 2 }", "net.inet.tcp.abc_l_var = 2"),
    row("rto.initial", "'1 s'", "TCPTV_RTOBASE"),
    row("rto.min", "'200 ms'", "tcp(4): effective minimum"),
    row("rto.max", "'64 s'", "TCPTV_REXMTMAX"),
    row("rto.backoff_max", "512", "tcp_backoff[]"),
    row("rto.variance_min", "'200 ms'", "rexmit_slop"),
    row("ack.every", "2", "DELAY_ACK"),
    row("ack.delay", "'40 ms'", "TCPTV_DELACK"),
    row("receive_buffer", "'auto'", "net.inet.tcp.recvbuf_auto = 1"),
    row("auto_buffer.start", "'65536 B'", "net.inet.tcp.recvspace"),
    row("auto_buffer.limit", "'2097152 B'", "net.inet.tcp.recvbuf_max"),
    row("send_buffer", "'auto'", "net.inet.tcp.sendbuf_auto = 1"),
    row("auto_send_buffer.start", "'32768 B'", "net.inet.tcp.sendspace"),
    row("auto_send_buffer.limit", "'2097152 B'", "net.inet.tcp.sendbuf_max"),
    row("give_up", "'12 retransmissions'", "TCP_MAXRXTSHIFT"),
    row("nagle", "true", "tcp(4): TCP_NODELAY is off by default"),
];

/// Returns the values of a preset, the more specific ones first.
pub(super) const fn rows(like: Like) -> [&'static [Row]; 2] {
    match like {
        Like::Rfc => [&[], &[]],
        Like::Linux6 => [LINUX_6, &[]],
        Like::Linux6Paced => [LINUX_6_PACED, LINUX_6],
        Like::Ns2 => [NS_2, &[]],
        Like::Windows11 => [WINDOWS_11, &[]],
        Like::FreeBsd14 => [FREEBSD_14, &[]],
    }
}

/// Whether a default with this origin is from a preset.
pub(super) fn is_origin(origin: &str) -> bool {
    Like::ALL.iter().any(|like| origin.strip_prefix(like.name()).is_some_and(|rest| rest.starts_with(':')))
}

/// Returns the origin of the default of a key without a fixed default: the key that determines it.
pub(super) fn asked(key: &str) -> Option<&'static str> {
    match key {
        "idle_restart" => Some("as cwnd_validation asks"),
        "dsack" => Some("as recovery asks"),
        "recovery" => Some("published with this congestion control"),
        _ => None,
    }
}

/// Adds the values of the imitated host to each transport, unless the file sets them.
pub(super) fn fill(tree: &mut Tree) {
    let Some(table) = tree.table_mut() else { return };
    // Presets are of TCP.
    table.entry("tcp".to_owned()).or_insert_with(Tree::empty);
    tables_of(tree, "tcp").for_each(fill_one);
}

/// Adds the values of the imitated host to one transport.
pub(super) fn fill_one(tcp: &mut Tree) {
    let like = match tcp.get("like").map(|like| &like.value) {
        Some(Value::Text(name)) => Like::ALL.iter().find(|like| like.name() == name).copied(),
        Some(_) => None,
        None => Some(Like::TODAYS),
    };
    let Some(like) = like else { return };
    let is_raised = matches!(
        tcp.get("buffers").map(|buffers| &buffers.value),
        Some(Value::Text(name)) if name == Buffers::Raised.name()
    );
    let raised = if is_raised { RAISED } else { &[] };
    let all = raised.iter().chain(rows(like).into_iter().flatten()).chain([&SMSS]);
    // Other rows depend on the congestion control of the host.
    let (first, others): (Vec<&Row>, Vec<_>) = all.partition(|row| row.key == "cc");
    for row in first.into_iter().chain(others) {
        let cc = cc(tcp);
        let is_for = row.only.is_empty() || row.only.contains(&cc.name());
        if is_for && row.needs().is_none_or(|needs| (needs.is_met)(tcp, cc)) {
            put(tcp, row, like);
        }
    }
}

/// Returns the congestion control of a transport.
fn cc(tcp: &Tree) -> CcKind {
    let name = match tcp.get("cc").map(|cc| &cc.value) {
        Some(Value::Text(name)) => name,
        Some(Value::Table(table)) => match table.get("kind") {
            Some(Tree { value: Value::Text(name), .. }) => name,
            _ => "",
        },
        _ => "",
    };
    CcKind::ALL.iter().find(|kind| kind.name() == name).copied().unwrap_or(CcKind::NewReno)
}

/// Whether a transport names RACK as its recovery.
fn uses_rack(tcp: &Tree) -> bool {
    let kind = tcp.get("recovery").and_then(|recovery| recovery.get("kind"));
    matches!(kind.map(|kind| &kind.value), Some(Value::Text(kind)) if kind == "rack")
}

/// Whether a host may give this transport its SACK recovery. It may not if the file names a recovery without SACK, or
/// if the congestion control includes its own loss detection.
fn takes_sack(tcp: &Tree, cc: CcKind) -> bool {
    let kind = tcp.get("recovery").map(|recovery| match &recovery.value {
        Value::Table(table) => table.get("kind").map(|kind| kind.value.clone()),
        other => Some(other.clone()),
    });
    match kind {
        Some(Some(Value::Text(kind))) => kind == "sack" || kind == "rack",
        Some(_) => false,
        None => match cc.recovery() {
            // This recovery depends on the status reports of its receiver.
            Recovery::Sack { evidence: SackEvidence::Status, .. } => false,
            Recovery::Reno | Recovery::Sack { .. } | Recovery::Rack(_) => true,
            newreno @ Recovery::NewReno(_) => newreno == CcKind::NewReno.recovery(),
            Recovery::TimeoutOnly | Recovery::FastRetransmit | Recovery::Snack(_) => false,
        },
    }
}

fn put(tcp: &mut Tree, row: &Row, like: Like) {
    let place = Place::Default(Some(format!("{}: {}", like.name(), row.source).into()));
    let mut node = tcp;
    let mut keys = row.key.split('.').peekable();
    while let Some(key) = keys.next() {
        let Some(table) = node.table_mut() else { return };
        if keys.peek().is_none() {
            table.entry(key.to_owned()).or_insert_with(|| Tree::of_toml(row.value, &place));
            return;
        }
        node = table.entry(key.to_owned()).or_insert_with(|| Tree::new(Value::Table(BTreeMap::new()), place.clone()));
    }
}

#[cfg(test)]
mod tests;
