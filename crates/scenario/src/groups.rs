//! Groups of the keys of large tables, in the order of a form: `x-groups` in the schema.

/// Title and keys of a group.
pub(super) type Group = (&'static str, &'static [&'static str]);

/// Returns the groups of a table, or none for a small table. Each key is in one group.
pub(super) fn groups(table: &str) -> &'static [Group] {
    match table {
        "Tcp" | "Config" => TCP,
        "Quic" => QUIC,
        "Rto" => RTO,
        "Sky" | "Constellation" => SKY,
        "Hop" => HOP,
        "Link" | "Direction" => LINK,
        "Flow" => FLOW,
        "File" => FILE,
        "OwnShell" => SHELL,
        _ => &[],
    }
}

const FILE: &[Group] = &[
    ("Run", &["title", "duration", "seed", "record"]),
    ("Network", &["link", "medium", "node", "sky", "at", "forwarding"]),
    ("Traffic", &["flow", "tcp", "quic"]),
    ("Experiments", &["case", "sweep", "tune"]),
];

const SHELL: &[Group] = &[
    ("Satellites", &["planes", "per_plane", "altitude_km", "mean_motion", "inclination", "motion"]),
    ("Phases", &["pattern", "phasing", "odd_planes", "spacing", "node", "anomaly"]),
    ("Ellipse", &["eccentricity", "perigee"]),
];

const TCP: &[Group] = &[
    ("Congestion control", &["like", "cc", "verdict", "ecn", "feedback", "pacing"]),
    (
        "Window",
        &[
            "initial_window",
            "initial_ssthresh",
            "slow_start",
            "increase",
            "byte_counting",
            "slow_start_at_ssthresh",
            "cwnd_validation",
            "idle_restart",
            "ssthresh_rounding",
            "ssthresh_base",
            "grow_on_exit",
            "cwnd_unit",
            "best_effort",
        ],
    ),
    (
        "Loss recovery",
        &[
            "recovery",
            "duplicate_acks",
            "limited_transmit",
            "limited_retransmit",
            "early_retransmit",
            "reduction",
            "second_reduction",
            "copies",
            "dsack",
            "spurious_detection",
            "spurious_response",
        ],
    ),
    ("Timers and ACKs", &["rto", "ack", "give_up", "keepalive", "nagle"]),
    ("Buffers", &["buffers", "receive_buffer", "send_buffer", "auto_buffer", "auto_send_buffer", "window_scaling"]),
    (
        "Connections",
        &[
            "handshake",
            "timestamps",
            "fast_open",
            "transactions",
            "sharing",
            "careful_resume",
            "acceptable_acks",
            "challenge_acks",
        ],
    ),
    ("Packets and hosts", &["smss", "packet_size", "path_mtu", "processing"]),
    ("Reports of errors", &["error_reports", "report_copies", "report_resend"]),
];

const QUIC: &[Group] = &[
    ("Congestion control", &["cc", "byte_counting", "slow_start", "initial_window", "ecn"]),
    ("Windows", &["stream_window", "connection_window", "send_window", "send_order", "read"]),
    (
        "Losses and ACKs",
        &["initial_rtt", "packet_threshold", "time_threshold", "persistent_congestion", "ack_frequency"],
    ),
    ("Connection", &["handshake", "careful_resume", "migration", "idle_timeout", "keep_alive"]),
    ("Packets and hosts", &["mtu", "processing"]),
];

const RTO: &[Group] = &[
    ("Values", &["initial", "min", "max", "granularity", "phase", "guard", "variance_min", "min_ticks"]),
    (
        "Samples",
        &["sampling", "sack_samples", "karn", "variation", "arithmetic", "rounding", "expires_on_tick", "forget_after"],
    ),
    (
        "Expiry",
        &[
            "backoff",
            "backoff_max",
            "restart_on_fast_retransmit",
            "reduce_again",
            "reduce_in_recovery",
            "whole_ack_undoes",
            "duplicates",
        ],
    ),
    ("Handshake", &["syn_linear_timeouts", "syn_retries", "synack_retries", "syn_reduction_after"]),
    ("Closed window", &["persist_min", "persist_max", "persist_restarts"]),
];

const SKY: &[Group] = &[
    (
        "Constellations",
        &["over", "constellation", "back_after", "motion", "mean_motion", "odd_planes", "elements_age_max"],
    ),
    ("Time", &["start", "day", "step", "seed"]),
    ("Places", &["place", "gateway", "elevation_min", "range_max_km"]),
    ("Paths", &["selection", "metric", "change", "between_satellites", "relay", "stretch", "disjoint", "hop_delay"]),
    ("Handovers and failures", &["make_before_break", "break_before_make", "waiting", "in_flight", "failure"]),
    ("Links", &["user", "feeder", "inter_satellite", "fibre", "shared"]),
    ("Rain and air", &["rain", "recommendation", "clouds", "scintillation"]),
    ("Satellites", &["payload", "on_board", "middlebox"]),
];

const HOP: &[Group] = &[
    ("Rate and delay", &["rate", "delay", "jitter", "slots", "queue", "shaper", "policer", "mtu", "framing"]),
    ("Errors and repair", &["error", "interleave", "coding", "arq", "outage"]),
    ("Shared access", &["medium", "access", "es_n0"]),
    ("Radio", &["up", "down"]),
    ("Directions", &["forward", "reverse"]),
];

const LINK: &[Group] = &[
    (
        "Path",
        &["from", "to", "count", "rate", "delay", "jitter", "slots", "queue", "shaper", "policer", "mtu", "framing"],
    ),
    ("Errors and repair", &["error", "interleave", "coding", "arq", "outage"]),
    ("Shared access", &["medium", "access", "es_n0"]),
    ("Directions", &["forward", "reverse"]),
];

const FLOW: &[Group] = &[
    ("Application", &["from", "to", "copy_of", "count", "app", "reader", "start"]),
    ("Network", &["class", "route", "reverse_route"]),
    ("Transport", &["tcp", "quic", "multipath", "subflow"]),
];

/// Returns the quantity of a string in this format, so that a form can explain it.
pub(super) fn quantity(format: &str) -> &'static str {
    match format {
        "duration" | "age" | "control-interval" | "give-up" | "stay" | "phase" | "saved-rtt" | "quic-keep-alive" => {
            "time"
        }
        "instant" => "instant",
        "size"
        | "initial-window"
        | "initial-ssthresh"
        | "receive-buffer"
        | "send-buffer"
        | "window-size"
        | "queue-limit"
        | "saved-window"
        | "max-jump"
        | "quic-window"
        | "quic-initial-window" => "size",
        "rate" => "rate",
        "symbol rate" => "symbol-rate",
        "probability" | "share" => "share",
        "angle" => "angle",
        "level" => "level",
        "distance" => "length",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::{groups, quantity};
    use crate::schema;
    use crate::schema::formats;
    use serde_json::Map;
    use std::collections::BTreeSet;

    /// Largest number of keys in a table without groups.
    const PLAIN_MAX: usize = 12;

    #[test]
    fn each_key_of_a_large_table_is_in_one_group() {
        let root = schema();
        let definitions = root["$defs"].as_object().expect("definitions");
        for (name, table) in definitions.iter().map(|(name, table)| (name.as_str(), table)).chain([("File", &root)]) {
            let Some(properties) = table["properties"].as_object() else { continue };
            let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
            let groups = groups(name);
            assert!(!groups.is_empty() || keys.len() <= PLAIN_MAX, "{name} has no groups");
            for key in &keys {
                let found = groups.iter().filter(|(_, of)| of.contains(key)).count();
                assert_eq!(found, usize::from(!groups.is_empty()), "{name}.{key} is in {found} groups");
            }
        }
    }

    #[test]
    fn groups_name_only_keys_that_are_there() {
        let root = schema();
        let all: BTreeSet<String> = root["$defs"]
            .as_object()
            .expect("definitions")
            .values()
            .filter_map(|table| table["properties"].as_object())
            .flat_map(|properties| properties.keys().cloned())
            .collect();
        let keys = root["properties"].as_object().into_iter().flat_map(Map::keys).cloned();
        let all: BTreeSet<String> = all.into_iter().chain(keys).collect();
        for table in ["File", "Tcp", "Rto", "Sky", "Hop", "Link", "Flow", "OwnShell"] {
            for key in groups(table).iter().flat_map(|(_, keys)| *keys) {
                assert!(all.contains(*key), "{table}: {key}");
            }
        }
    }

    #[test]
    fn each_format_has_a_quantity() {
        for format in formats() {
            assert_ne!(quantity(format.name), "other", "{}", format.name);
        }
    }
}
