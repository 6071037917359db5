//! Declares the keys of a scenario by topic and checks combinations of keys.
//!
//! Only keys whose notation differs from the values of a network are declared here. Other keys are declared with their
//! values: in `spec`, `middlebox` and the transport's `Config`.

mod app;
mod at;
mod error;
mod file;
mod framing;
mod growth;
mod instant;
mod jitter;
mod link;
mod multipath;
mod profile;
mod proxy;
mod queue;
mod quic;
mod radio;
mod sky;
mod slots;
mod sweep;
mod tcp;
mod way;

pub(super) use app::{check_reader, App, DATAGRAMS};
pub(super) use at::{At, Handover, Install};
pub(super) use error::{check_interleave, Errors};
pub(super) use file::{File, Flow, Node, Receivers, Subflow};
pub(super) use framing::{check_framing, check_mtu};
pub(super) use instant::INSTANT;
pub(super) use jitter::Jitters;
pub(super) use link::{Direction, Link, LinkKeys};
pub(super) use multipath::{check_coupling, check_subflow_tcp, check_subflows, refuses_multipath, settle_multipath};
pub(super) use profile::{check_points, delay, outage, rate, DelayProfile, OutageKeys, RateProfile};
pub(super) use queue::{check_bucket, check_queue};
pub(super) use quic::{check_quic, check_windows, refuses_quic, settle_over_quic};
pub(super) use radio::{Gauge, Modem, Modulation, Radio, Rain, Recommendation};
pub(super) use sky::{
    Apart, Bad, Between, BetweenSatellites, Disjoint, Hop, Metric, Motion, Over, OwnLinks, OwnPattern, OwnShell,
    PathChange, Payload, Position, Relay, Selection, Selections, Sky, SkyFailure,
};
pub(super) use slots::check_slots;
pub use sweep::{Robust, Space, Table};
pub(super) use sweep::{Sweep, Tune};
pub(super) use tcp::{settle_open, transport, Tcp, TransportKeys};
pub(super) use way::WayPoint;

use super::report::{below, Report};
use bentpipe_model::middlebox::{MiddleboxConfig, OwnConfig, Unsuitable};
use bentpipe_model::spec::Start;
use bentpipe_tcp::BDP;
use bentpipe_units::{Duration, Rate};

/// Returns `millionths` of rate times round trip in bytes, rounded down.
pub(super) fn product(rate: Rate, rtt: Duration, millionths: u64) -> u64 {
    let bytes = u128::from(rate.bytes_in(rtt)) * u128::from(millionths) / u128::from(BDP);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Checks the two bounds of a random time, which is drawn uniformly.
fn check_span<T: PartialOrd>(least: T, most: T, expected: &str, report: &mut Report<'_>, path: &[String]) {
    if least >= most {
        report.value(&below(path, "uniform"), "is an empty span", expected);
    }
}

/// Checks a random time. It is written as two bounds or as one time for both.
pub(super) fn check_hold(hold: (Duration, Duration), report: &mut Report<'_>, path: &[String]) {
    if report.tree.at(path.iter().map(String::as_str)).table().is_some() {
        check_span(hold.0, hold.1, "expected the shortest time before the longest", report, path);
    }
}

/// Checks the start of a flow.
pub(super) fn check_start(start: Start, report: &mut Report<'_>, path: &[String]) {
    if let Start::Uniform { from, to } = start {
        check_span(from, to, "expected the earliest instant before the latest", report, path);
    }
}

/// Replaces a custom middlebox by the middlebox of the same name that the caller registered.
fn take_given(own: &mut OwnConfig, report: &mut Report<'_>, path: &[String]) {
    let files = report.files;
    let given = files.functions();
    if let Some(found) = given.iter().find(|given| given.name == own.name) {
        return own.clone_from(found);
    }
    let expected = "expected its class, as in bentpipe run --set 'node.NAME.middlebox=FILE.py:CLASS'";
    let suggestion = report.findings.guess(&own.name, given.iter().map(|given| given.name.as_str()));
    report.suggest(&below(path, "name"), "is a custom middlebox without its class", expected, suggestion);
}

/// Checks the middlebox of a node. Completes transports and custom classes, which need the scenario.
pub(super) fn check_middlebox(config: &mut MiddleboxConfig, report: &mut Report<'_>, path: &[String]) {
    for Unsuitable { key, fault, expected } in config.unsuitable() {
        report.value(&below(path, key), fault, expected);
    }
    match config {
        MiddleboxConfig::Split(split) => proxy::check_split(split, report, path),
        MiddleboxConfig::Cache(cache) => proxy::check_cache(cache, report, path),
        MiddleboxConfig::SatPep(satpep) => proxy::check_satpep(satpep, report, path),
        MiddleboxConfig::Own(own) => take_given(own, report, path),
        MiddleboxConfig::Impair(impair) => check_hold(impair.hold, report, &below(path, "hold")),
        _ => {}
    }
}
