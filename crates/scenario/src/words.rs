//! Words of other tools and papers, for hints. A scenario has one name for each thing.

use bentpipe_units::settings::Format;

/// Other names of keys, and the keys that they may mean. The first entry that is the beginning of a key in the table
/// counts.
const KEYS: &[(&[&str], &[&str])] = &[
    (&["bandwidth", "bw", "capacity", "bitrate", "data_rate", "datarate", "speed"], &["rate"]),
    (&["latency", "propagation", "propagation_delay", "prop_delay"], &["delay"]),
    (&["loss", "loss_rate", "loss_model", "packet_loss", "plr", "per", "ber"], &["error"]),
    (&["buffer", "buffer_size", "buffer_length", "qlen", "queue_size", "queue_limit"], &["queue", "receive_buffer"]),
    (&["rwnd", "rcvbuf", "receive_window", "rcv_wnd", "window"], &["receive_buffer", "tcp.receive_buffer"]),
    (&["sndbuf", "send_window"], &["send_buffer", "tcp.send_buffer"]),
    (&["cc", "cca", "congestion_control", "congestion", "algorithm", "variant", "protocol"], &["cc", "tcp.cc"]),
    (&["mss", "segment_size"], &["smss", "tcp.smss"]),
    (&["iw", "init_cwnd", "initcwnd", "initial_cwnd", "cwnd"], &["initial_window", "tcp.initial_window"]),
    (&["sack"], &["recovery", "tcp.recovery"]),
    (&["ssthresh"], &["initial_ssthresh", "tcp.initial_ssthresh"]),
    (&["min_rto", "rto_min", "minrto"], &["rto.min", "tcp.rto.min"]),
    (&["delack", "delayed_ack"], &["ack.delay", "tcp.ack.delay"]),
    (&["src", "source", "sender"], &["from"]),
    (&["dst", "dest", "destination", "receiver"], &["to"]),
    (&["size", "bytes", "file_size"], &["app = { kind = \"file\", size = ... }"]),
    (&["stop", "stop_time", "sim_time", "simtime", "time"], &["duration"]),
    // Heights and distances are in km everywhere.
    (
        &["height", "height_m", "altitude", "altitude_m"],
        &["height_km = ... (in km, not m)", "altitude_km = ... (in km, not m)"],
    ),
    (&["range", "range_max", "range_max_m", "reach"], &["range_max_km = ... (in km, not m)"]),
];

/// Other names of values: models of errors, and applications.
const VALUES: &[(&str, &str)] = &[
    ("ber", "bit"),
    ("per", "packet"),
    ("web", "page"),
    ("http", "page"),
    ("http2", "page"),
    ("browser", "page"),
    ("ftp", "file"),
    ("download", "file"),
    ("upload", "file"),
    ("tcp", "greedy"),
    ("iperf", "greedy"),
    ("iperf3", "greedy"),
    ("udp", "cbr"),
    ("rtp", "cbr"),
    ("flute", "carousel"),
    ("norm", "carousel"),
    ("filecast", "carousel"),
    ("voip", "cbr"),
    ("call", "cbr"),
    ("voice", "on-off"),
    ("ping", "probe"),
    ("irtt", "probe"),
    ("video", "bulk"),
    ("dash", "bulk"),
    ("rpc", "request-response"),
    ("ssh", "request-response"),
];

/// Names of transports that are not simulated.
const TRANSPORTS: &[&str] = &["http3", "h3", "sctp", "dccp", "mptcp"];

/// Whether this application is the name of a transport that is not simulated.
pub(super) fn is_transport(given: &str, known: &[&str]) -> bool {
    TRANSPORTS.contains(&given) && known.contains(&"greedy")
}

/// Returns the name of a value here, if it is among the known ones: `bit` for `ber`.
pub(super) fn value(given: &str, known: &[&str]) -> Option<String> {
    let (_, here) = VALUES.iter().find(|(there, here)| *there == given && known.contains(here))?;
    Some((*here).to_owned())
}

/// Returns the key that was probably meant, such as `rate`, or nothing.
pub(super) fn key(given: &str, is_known: impl Fn(&str) -> bool) -> String {
    let given = given.to_lowercase().replace('-', "_");
    let of_word = KEYS.iter().filter(|(words, _)| words.contains(&given.as_str())).flat_map(|(_, meant)| *meant);
    let found = of_word.copied().find(|meant| meant.split(['.', ' ']).next().is_some_and(&is_known));
    found.unwrap_or_default().to_owned()
}

/// Other spellings of units in small letters, and the units that they may mean.
const UNITS: &[(&[&str], &[&str])] = &[
    (&["bit", "bits", "bits/s", "bit/sec"], &["bit/s"]),
    (&["k", "kb"], &["kbit/s", "kB"]),
    (&["m", "mb"], &["Mbit/s", "MB"]),
    (&["g", "gb"], &["Gbit/s", "GB"]),
    (&["kbps", "kb/s", "kbit/s", "kbit", "kbits", "kbits/s", "kbit/sec"], &["kbit/s"]),
    (&["mbps", "mb/s", "mbit/s", "mbit", "mbits", "mbits/s", "mbit/sec"], &["Mbit/s"]),
    (&["gbps", "gb/s", "gbit/s", "gbit", "gbits", "gbits/s", "gbit/sec"], &["Gbit/s"]),
    (&["b", "byte", "bytes", "octets"], &["B"]),
    (&["kib"], &["KiB"]),
    (&["mib"], &["MiB"]),
    (&["gib"], &["GiB"]),
    (&["sec", "secs", "second", "seconds", "s"], &["s"]),
    (&["msec", "msecs", "millis", "milliseconds", "ms"], &["ms"]),
    (&["usec", "usecs", "microseconds", "us"], &["us"]),
    (&["mins", "minute", "minutes", "min"], &["min"]),
    (&["hr", "hrs", "hour", "hours", "h"], &["h"]),
    (&["p", "pkt", "pkts"], &["packets"]),
    (&["seg", "segs", "mss"], &["segments"]),
    (&["pct", "percent"], &["%"]),
    (&["°", "degree", "degrees"], &["deg"]),
    (&["kilometers", "kilometres", "km"], &["km"]),
];

/// Returns the quantity that was probably meant, such as `50 Mbit/s`, or nothing.
pub(super) fn quantity(given: &str, format: &Format) -> String {
    let given = given.trim();
    let number = given.trim_end_matches(|c: char| !c.is_ascii_digit());
    let written = given[number.len()..].trim();
    // Bytes per second have a capital letter, unlike bits.
    let is_in_bytes = written.ends_with("B/s") || written.ends_with("Bps");
    let number = match number.parse::<f64>() {
        Ok(bytes) if is_in_bytes => (8.0 * bytes).to_string(),
        _ => number.to_owned(),
    };
    let unit = written.to_lowercase();
    let of_word = UNITS.iter().filter(|(words, _)| words.contains(&unit.as_str())).flat_map(|(_, meant)| *meant);
    let mut texts = of_word.map(|unit| format!("{number} {unit}"));
    texts.find(|text| text.len() < LONGEST && (format.check)(text).is_ok()).unwrap_or_default()
}

const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::super::from_toml;
    use super::super::schema::formats;
    use super::*;

    const TEXT: &str =
        "duration = \"1 s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                        [flow.f]\nfrom = \"a\"\nto = \"b\"\n";

    fn suggestion(set: &str) -> String {
        let (key, value) = set.split_once('=').unwrap();
        from_toml(TEXT, "f", &[(key.into(), value.into())]).map(drop).unwrap_err().problems[0].suggestion.clone()
    }

    #[test]
    fn words_of_other_tools_get_a_hint() {
        for (set, meant) in [
            ("link.l.bandwidth=1 Mbit/s", "\"rate\""),
            ("link.l.latency=1 ms", "\"delay\""),
            ("link.l.loss=0.01", "\"error\""),
            ("link.l.buffer=100 packets", "\"queue\""),
            ("tcp.rwnd=64 kB", "\"receive_buffer\""),
            ("tcp.congestion_control=cubic", "\"cc\""),
            ("tcp.buffer=64 kB", "\"receive_buffer\""),
            ("tcp.sack=true", "\"recovery\""),
            ("flow.f.cc=cubic", "\"tcp.cc\""),
            ("flow.f.size=5 MB", "app = { kind = \"file\", size = ... }"),
            ("tcp.cc=CUBIC", "\"cubic\""),
            ("tcp.cc=BBRv3", "\"bbr3\""),
            ("tcp.cc=NewReno", "\"newreno\""),
            ("link.l.rate=50mbps", "\"50 Mbit/s\""),
            ("link.l.rate=50M", "\"50 Mbit/s\""),
            ("link.l.rate=20MB/s", "\"160 Mbit/s\""),
            ("link.l.rate=1.5 kBps", "\"12 kbit/s\""),
            ("link.l.rate=0.5 Gbit", "\"0.5 Gbit/s\""),
            ("link.l.delay=20 msec", "\"20 ms\""),
            ("link.l.queue=20 pkts", "\"20 packets\""),
            ("tcp.receive_buffer=64k", "\"64 kB\""),
            ("duration=1 minute", "\"1 min\""),
            ("simtime=5 s", "\"duration\""),
            ("link.l.error=ber", "\"bit\""),
            ("flow.f.app=http", "\"page\""),
            ("flow.f.app=ping", "\"probe\""),
            ("flow.f.app={ kind = \"udp\" }", "\"cbr\""),
        ] {
            assert_eq!(suggestion(set), meant.trim_matches('"'), "{set}");
        }
        let place = "sky={ over = 'iridium', place.p = { latitude = 1.0, longitude = 1.0, height = 500 } }";
        assert_eq!(suggestion(place), "height_km = ... (in km, not m)");
        assert_eq!(suggestion("link.l.rate=50 parsecs"), "");
        assert_eq!(suggestion("link.l.colour=red"), "");
    }

    #[test]
    fn a_transport_is_no_application() {
        for app in ["sctp", "{ kind = \"http3\" }"] {
            let wrong = from_toml(TEXT, "f", &[("flow.f.app".into(), app.into())]).map(drop).unwrap_err();
            let told = wrong.problems[0].to_string();
            assert!(told.contains("is a transport, not an application"), "{told}");
            assert!(told.contains("bentpipe emulate"), "{told}");
        }
    }

    /// A hint must not lead to another error.
    #[test]
    fn what_hints_name_is_there() {
        let schema = super::super::schema().to_string();
        for meant in KEYS.iter().flat_map(|(_, meant)| *meant).filter(|meant| !meant.contains(' ')) {
            assert!(meant.split('.').all(|step| schema.contains(&format!("\"{step}\":"))), "{meant}");
        }
        for (_, here) in VALUES {
            assert!(schema.contains(&format!("\"{here}\"")), "{here}");
        }
        for unit in UNITS.iter().flat_map(|(_, meant)| *meant) {
            assert!(formats().iter().any(|format| (format.check)(&format!("5 {unit}")).is_ok()), "{unit}");
        }
    }
}
