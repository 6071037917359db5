//! What the two ends of a connection agree on.

use super::text;
use bentpipe_tcp::{Burst, Config, EcnFeedback, Pacing};
use bentpipe_units::Word;
use serde_json::{json, Value as Json};

pub(super) fn ecn(tcp: &Config) -> Json {
    let kind = match tcp.ecn.feedback {
        EcnFeedback::Off => return json!({ "kind": "off" }),
        EcnFeedback::Classic => "classic",
        EcnFeedback::PerSegment => "per-segment",
        EcnFeedback::Accurate => "accurate",
    };
    match tcp.ecn.beta {
        None => json!({ "kind": kind }),
        Some(beta) => json!({ "kind": kind, "beta": f64::from(beta) / 1000.0 }),
    }
}

pub(super) fn pacing(pacing: Pacing) -> Json {
    let burst = |burst| match burst {
        Burst::Segments(n) => format!("{n} segments"),
        Burst::Bytes(n) => format!("{n} B"),
    };
    let gain = |thousandths| f64::from(thousandths) / 1000.0;
    match pacing {
        Pacing::Off => json!({ "kind": "off" }),
        Pacing::Window { gain_slow_start, gain: usual, burst: b } => json!({
            "kind": "window", "gain_slow_start": gain(gain_slow_start), "gain": gain(usual), "burst": burst(b),
        }),
        Pacing::Rate { rate, burst: b } => json!({ "kind": "rate", "rate": text(rate), "burst": burst(b) }),
    }
}

pub(super) fn fast_open(tcp: &Config) -> Json {
    match tcp.fast_open {
        None => json!({ "kind": "off" }),
        Some(fast_open) => json!({ "kind": "on", "cookie": if fast_open.is_known { "cached" } else { "none" } }),
    }
}

pub(super) fn sharing(tcp: &Config) -> Json {
    match tcp.sharing {
        None => json!({ "kind": "off" }),
        Some(sharing) => json!({
            "kind": "on",
            "ssthresh": sharing.ssthresh,
            "rtt": sharing.rtt,
            "cwnd": sharing.cwnd.name(),
            "age_max": text(sharing.age_max),
        }),
    }
}
