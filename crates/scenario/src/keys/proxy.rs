//! Proxies: conversion and checks of their keys.

use super::tcp::{transport, Tcp};
use crate::report::{below, Report};
use bentpipe_model::middlebox::{CacheConfig, SatPepConfig, SplitConfig};
use bentpipe_tcp::{Config, InitialSsthresh};
use bentpipe_units::{Duration, Rate};

/// Checks and completes the two transports of a proxy that splits connections.
pub(super) fn check_split(split: &mut SplitConfig, report: &mut Report<'_>, path: &[String]) {
    for (side, config) in [("opener", &mut split.opener), ("listener", &mut split.listener)] {
        let place = below(path, side);
        *config = settled(config, report, &place);
        if split.buffer < u64::from(config.smss) {
            report.value(&below(path, "buffer"), "is out of range", "expected at least one segment of both sides");
        }
    }
    if split.buffer > Config::RECEIVE_BUFFER_MAX {
        let expected = format!("expected at most {} B (RFC 7323 §2.3)", Config::RECEIVE_BUFFER_MAX);
        report.value(&below(path, "buffer"), "is out of range", &expected);
    }
}

/// Checks and completes the two transports of a cache.
pub(super) fn check_cache(cache: &mut CacheConfig, report: &mut Report<'_>, path: &[String]) {
    let mut split = cache.split();
    check_split(&mut split, report, path);
    (cache.opener, cache.listener) = (split.opener, split.listener);
}

/// Checks and completes the transport of a SaTPEP gateway.
pub(super) fn check_satpep(satpep: &mut SatPepConfig, report: &mut Report<'_>, path: &[String]) {
    satpep.terrestrial = settled(&satpep.terrestrial, report, &below(path, "terrestrial"));
    // The window field of the hop counts units of 256 B.
    if !(u64::from(satpep.terrestrial.smss)..=65_535 * 256).contains(&satpep.buffer) {
        report.value(&below(path, "buffer"), "is out of range", "expected at least one segment, at most 16776960 B");
    }
}

/// Returns the complete transport at `place`.
fn settled(config: &Config, report: &mut Report<'_>, place: &[String]) -> Config {
    let parts: Vec<&str> = place.iter().map(String::as_str).collect();
    let bounded = "expected the proxy's key buffer instead, which bounds both directions";
    let (usual, own) = (Config::default(), config);
    for (key, is_set, expected) in [
        ("receive_buffer", own.receive_buffer != usual.receive_buffer, bounded),
        ("send_buffer", own.send_buffer != usual.send_buffer, bounded),
        ("fast_open", own.fast_open.is_some(), "expected \"off\": a proxy grants and uses no cookies"),
        ("transactions", own.transactions.is_some(), "expected \"off\": a proxy remembers no counts"),
        ("sharing", own.sharing.is_some(), "expected \"off\": each connection of a proxy is new"),
        ("handshake", !own.handshake, "expected true: a proxy splits connections whose SYN it sees"),
    ] {
        if is_set {
            report.value(&below(place, key), "is not for a proxy", expected);
        }
    }
    if matches!(config.initial_ssthresh, InitialSsthresh::Bdp(_)) {
        let expected = "expected bytes or segments: a proxy serves flows of many paths";
        report.value(&below(place, "initial_ssthresh"), "is measured by a flow's path", expected);
    }
    let tcp = Tcp { config: config.clone(), ..Tcp::default() };
    transport(&tcp, report, &parts).on_path(Rate::from_bps(0), Duration::ZERO)
}
