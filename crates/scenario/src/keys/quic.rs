//! QUIC of flows: checks of its keys.

use super::{check_hold, App as AppKeys};
use crate::report::{below, Report};
use bentpipe_model::spec::{App, Quic, QuicCc, QuicKeepAlive, QuicMigration, QuicWindow};
use bentpipe_model::stack::DATAGRAM_MIN;
use bentpipe_units::Duration;

/// Largest payload of UDP: the stack writes the length of a packet with a long header in two bytes, of which 14 bits count
/// (RFC 9000 §16).
const MTU_MAX: u32 = 16_383;
/// Bytes of the server's flight: the parameters of the transport must fit.
const FLIGHT: [u32; 2] = [300, 100_000];
/// Largest window: the stack counts in 62 bits.
const WINDOW_MAX: u64 = 1_000_000_000_000;

const WINDOW_EXPECTED: &str = "expected at least one packet, at most 1000 GB";

/// Checks the keys at `path`.
pub(crate) fn check_quic(quic: &Quic, report: &mut Report<'_>, path: &[String]) {
    let at = |key: &str| below(path, key);
    if let QuicCc::House(cc) = quic.cc {
        if let Some(why) = QuicCc::refusal(cc.kind()) {
            report.value(&at("cc"), &format!("cannot control QUIC: {why}"), "expected another congestion control");
        }
    }
    if let Some(resume) = &quic.careful_resume {
        let path = at("careful_resume");
        if !quic.cc.has_settable_window() {
            let message = format!("sets a window, and cc \"{}\" does not let it", quic.cc.name());
            report.value(&below(&path, "kind"), &message, "expected \"off\", or a cc of the registry with a window");
        }
        super::tcp::check_resume_values(resume, report, &path);
    }
    if !(Quic::MTU_MIN..=MTU_MAX).contains(&quic.mtu) {
        let expected = format!("expected {} B to {MTU_MAX} B (RFC 9000 §14)", Quic::MTU_MIN);
        report.value(&at("mtu"), "is out of range", &expected);
    }
    let flight = &below(&at("handshake"), "flight");
    if !(FLIGHT[0]..=FLIGHT[1]).contains(&quic.handshake.flight) {
        let expected = format!("expected {} B to {} kB", FLIGHT[0], FLIGHT[1] / 1000);
        report.value(flight, "is out of range", &expected);
    }
    for (key, window) in [
        ("stream_window", quic.stream_window),
        ("connection_window", quic.connection_window),
        ("send_window", quic.send_window),
    ] {
        let is_possible = match window {
            QuicWindow::Auto => true,
            QuicWindow::Bytes(bytes) => (u64::from(quic.mtu)..=WINDOW_MAX).contains(&bytes),
            // `check_windows` knows the path.
            QuicWindow::Bdp(_) => true,
        };
        if !is_possible {
            report.value(&at(key), "is out of range", WINDOW_EXPECTED);
        }
    }
    let keep_alive = match quic.keep_alive {
        QuicKeepAlive::Off => Duration::MAX,
        QuicKeepAlive::Every(span) => span,
    };
    for (key, span) in
        [("initial_rtt", quic.initial_rtt), ("idle_timeout", quic.idle_timeout), ("keep_alive", keep_alive)]
    {
        if span < Duration::from_millis(1) {
            report.value(&at(key), "is too small", "expected at least 1 ms");
        }
    }
    if let QuicMigration::At { times, .. } = &quic.migration {
        if times.windows(2).any(|pair| pair[0] >= pair[1]) {
            report.value(&below(&at("migration"), "times"), "is not increasing", "expected later and later times");
        }
    }
    if report.tree.at(path.iter().map(String::as_str)).at(["cc"]).own.is_some() {
        let expected = "expected a congestion control of the registry";
        report.value(&at("cc"), "is a custom congestion control, which cannot control QUIC yet", expected);
    }
    check_hold(quic.processing, report, &at("processing"));
}

/// Checks windows in bdp, which are `windows` bytes over the path of a flow: of a stream, of the connection, for sending.
pub(crate) fn check_windows(quic: &Quic, windows: [u64; 3], report: &mut Report<'_>, path: &[String]) {
    let written = [quic.stream_window, quic.connection_window, quic.send_window];
    let keys = ["stream_window", "connection_window", "send_window"];
    for ((key, window), bytes) in keys.into_iter().zip(written).zip(windows) {
        if matches!(window, QuicWindow::Bdp(_)) && !(u64::from(quic.mtu)..=WINDOW_MAX).contains(&bytes) {
            report.value(&below(path, key), &format!("is {bytes} B over the path of this flow"), WINDOW_EXPECTED);
        }
    }
}

/// Sets the keys of an application that QUIC decides, and checks those that contradict it.
pub(crate) fn settle_over_quic(
    written: &AppKeys,
    app: &mut App,
    quic: &Quic,
    report: &mut Report<'_>,
    path: &[String],
) {
    let key = |key| below(path, key);
    let page = match app {
        App::Page(page) => page,
        App::Datagrams(datagrams) => {
            let extra = datagrams.payload() - datagrams.size;
            let [least, most] =
                [DATAGRAM_MIN.into(), quic.datagram_max()].map(|bytes| bytes.saturating_sub(extra.into()));
            if !(least..=most).contains(&datagrams.size.into()) {
                let expected = format!("expected {least} B to {most} B: a datagram fits into one packet (RFC 9221 §5)");
                report.value(&key("size"), "is out of range for QUIC", &expected);
            }
            return;
        }
        _ => return,
    };
    let AppKeys::Page(given) = written else { return };
    let has_connections = !report.is_default(&key("connections"));
    for (name, contradicts, why) in [
        ("tls_rtts", given.tls_rtts.is_some_and(|rtts| rtts > 0), "the handshake of QUIC secures the connection"),
        ("multiplexed", given.multiplexed == Some(false), "each object has a stream of QUIC"),
        ("connections", has_connections, "QUIC has one connection to each host"),
        ("catalogue", given.catalogue.is_some(), "a cache cannot read requests over QUIC"),
    ] {
        if !contradicts {
            continue;
        }
        report.value(&key(name), &format!("has no effect: {why}"), "expected a page without this key, or one over TCP");
    }
    (page.multiplexed, page.tls_rtts) = (Some(true), Some(0));
}

/// Returns the reason why an application cannot use QUIC; `None`: it can.
pub(crate) fn refuses_quic(app: &App) -> Option<&'static str> {
    match app {
        App::Records(_) => Some("records are parts of one byte stream of TCP"),
        App::Probe(_) => Some("the other end answers no datagrams of QUIC"),
        App::Port => Some("packets from outside bring their transport"),
        _ => None,
    }
}
