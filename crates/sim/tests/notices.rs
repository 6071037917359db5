//! What tells senders of errors, end to end: a sender behind a node that sees what an uplink corrupts, with and without.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Packets of 1000 B of payload over an uplink of 2 Mbit/s that corrupts one in a hundred; 100 ms there and back.
const PATH: &str = r#"
duration = "100 s"
[tcp]
like = "rfc"
cc = "newreno"
smss = "1000 B"
[node.base]
kind = "processing"
middlebox = [BASE]
[node.receiver]
middlebox = [RECEIVER]
[link.up]
from = "sender"
to = "base"
rate = "2 Mbit/s"
delay = "10 ms"
queue = "50 packets"
[link.up.forward]
error = { kind = "packet", rate = 1e-2 }
[link.on]
from = "base"
to = "receiver"
rate = "10 Mbit/s"
delay = "40 ms"
[flow.f]
from = "sender"
to = "receiver"
app = "greedy"
"#;

fn run(sets: &[(&str, &str)]) -> RunResult {
    let text = sets.iter().fold(PATH.to_string(), |text, (from, to)| text.replace(from, to));
    let text = text.replace("BASE", "").replace("RECEIVER", "");
    let scenario = from_toml(&text, "notices.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

fn goodput(sets: &[(&str, &str)]) -> f64 {
    run(sets).flows.real("goodput_bps")[0]
}

/// Of 2 Mbit/s 1000 of 1040 B are payload, of which 99 % arrive: 1.90 Mbit/s if nothing else is lost. A window that is halved for
/// each hundredth packet and grows by every second ACK has 8.7 packets on average (Mathis et al. 1997, sqrt(0.75 / p)), at most
/// 0.67 Mbit/s in 104 ms; timeouts and recoveries take a part of that.
#[test]
fn notices_keep_the_window_of_a_sender_that_loses_to_errors() {
    let plain = goodput(&[]);
    assert!((0.4e6..0.67e6).contains(&plain), "{plain}");
    let resends = ("cc = \"newreno\"", "cc = \"newreno\"\nerror_reports = \"resend\"");
    assert_eq!(goodput(&[resends]), plain, "nobody notifies it");
    // ELN's retransmissions, too, can be corrupted, and then a timeout follows.
    let forward = r#"{ kind = "eten", notice = "forward" }"#;
    let reads = r#"{ kind = "eten", notice = "forward", role = "receiver" }"#;
    for (name, base, receiver, least) in [
        ("eln", r#"{ kind = "eln" }"#, "", 1.2e6),
        ("backward", r#"{ kind = "eten" }"#, "", 1.7e6),
        ("forward", forward, reads, 1.7e6),
    ] {
        let boxes = [("BASE", base), ("RECEIVER", receiver)];
        let found = goodput(&[&boxes[..], &[resends]].concat());
        assert!((least..1.9e6).contains(&found), "{name}: {found}");
        assert_eq!(goodput(&boxes), plain, "{name}: a sender that does not heed it");
    }
}

/// CETEN tells how much of the loss is due to errors, here nearly all of it: of that its senders spare the window.
#[test]
fn cumulative_notices_tell_errors_from_congestion() {
    let boxes = [
        ("BASE", r#"{ kind = "eten", notice = "cumulative" }"#),
        ("RECEIVER", r#"{ kind = "eten", notice = "cumulative", role = "receiver" }"#),
    ];
    let plain = goodput(&[]);
    for verdict in ["ceten-p", "ceten-a"] {
        let verdict = format!("cc = \"newreno\"\nverdict = \"{verdict}\"");
        let sets = [("cc = \"newreno\"", verdict.as_str())];
        let (with, without) = (goodput(&[&boxes[..], &sets].concat()), goodput(&sets));
        assert!(with > 1.6 * plain, "{verdict}: {with} against {plain}");
        assert_eq!(without, plain, "{verdict}: as long as nothing is said every loss is congestion");
    }
}

/// Of packets of 1040 B one in five is corrupted at 2e-4 per byte. DPSM's size stands still where growing by 1.25 after eight packets
/// without an error, (1 - p)^8, and shrinking by 0.8 for each of 8 p errors are in balance: at p = 0.07, which is 363 B.
#[test]
fn packet_sizes_shrink_where_errors_are_frequent() {
    let errors = ("kind = \"packet\", rate = 1e-2", "kind = \"byte\", rate = 2e-4");
    let with = run(&[("BASE", r#"{ kind = "dpsm", max = "1000 B" }"#), errors]);
    let (adapts, stays) = (with.flows.real("goodput_bps")[0], goodput(&[errors]));
    assert!(adapts > 1.5 * stays, "{adapts} against {stays}");
    let at = with.links.text("link").iter().position(|link| link == "up.forward").unwrap();
    let size = with.links.whole("carried_bytes")[at] as f64 / with.links.whole("carried_packets")[at] as f64;
    assert!((size / 363.0 - 1.0).abs() < 0.2, "{size} B");
}

/// The path of `docs/validation/notices.md`.
const MATRIX: &str = include_str!("../../../validation/notices.toml");

type Sets = &'static [(&'static str, &'static str)];

/// Every recovery, and every host that `like` knows.
const SENDERS: &[(&str, Sets)] = &[
    ("timeout-only", &[("tcp.recovery", "timeout-only")]),
    ("fast-retransmit", &[("tcp.recovery", "fast-retransmit")]),
    ("reno", &[("tcp.recovery", "reno")]),
    ("newreno", &[("tcp.recovery", "newreno")]),
    ("sack", &[("tcp.recovery", "sack")]),
    ("fack", &[("tcp.recovery", "{ kind = \"sack\", evidence = \"fack\" }")]),
    ("hole", &[("tcp.recovery", "{ kind = \"sack\", evidence = \"hole\" }")]),
    ("status", &[("tcp.recovery", "{ kind = \"sack\", evidence = \"status\" }")]),
    ("rack", &[("tcp.recovery", "rack")]),
    ("rack without reenter", &[("tcp.recovery", "{ kind = \"rack\", reenter = false }")]),
    (
        "rack with prr and undo",
        &[
            ("tcp.recovery", "rack"),
            ("tcp.reduction", "prr"),
            ("tcp.spurious_detection", "any"),
            ("tcp.dsack", "true"),
            ("tcp.timestamps", "true"),
        ],
    ),
    ("snack", &[("tcp.recovery", "snack")]),
    ("rfc", &[("tcp.like", "rfc")]),
    ("linux-6", &[("tcp.like", "linux-6")]),
    ("linux-6-paced", &[("tcp.like", "linux-6-paced")]),
    ("windows-11", &[("tcp.like", "windows-11")]),
    ("freebsd-14", &[("tcp.like", "freebsd-14")]),
    ("ns-2", &[("tcp.like", "ns-2")]),
];

const RESEND: (&str, &str) = ("tcp.error_reports", "resend");
const PEP: &str = r#"[{ kind = "satpep", rate = "10 Mbit/s", rtt = "80 ms" }]"#;

/// Every function that notifies.
const FUNCTIONS: &[(&str, Sets)] = &[
    ("none", &[]),
    (
        "been",
        &[
            RESEND,
            ("node.gateway.middlebox", r#"[{ kind = "been", role = "gateway" }]"#),
            ("node.satellite.middlebox", r#"[{ kind = "been", role = "satellite" }]"#),
        ],
    ),
    ("eten", &[RESEND, ("node.satellite.middlebox", r#"[{ kind = "eten" }]"#)]),
    (
        "forward eten",
        &[
            RESEND,
            ("node.satellite.middlebox", r#"[{ kind = "eten", notice = "forward" }]"#),
            ("node.terminal.middlebox", r#"[{ kind = "eten", notice = "forward", role = "receiver" }]"#),
        ],
    ),
    ("eln", &[RESEND, ("node.satellite.middlebox", r#"[{ kind = "eln" }]"#)]),
    (
        "refwa",
        &[
            ("tcp.feedback", r#"{ kind = "refwa-plus" }"#),
            ("tcp.duplicate_acks", "any-window"),
            ("node.gateway.middlebox", r#"[{ kind = "refwa" }]"#),
        ],
    ),
    ("satpep", &[("node.gateway.middlebox", PEP), ("node.station.middlebox", PEP)]),
];

fn run_matrix(sets: &[(&str, &str)]) -> RunResult {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = from_toml(MATRIX, "notices.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

/// The share of its goodput without errors that each sender keeps where the uplink damages two packets in a thousand. Without
/// reports most senders keep less than half.
///
/// Less is left where a retransmission that is damaged waits for the timer (no fast recovery, forward notices and ELN), and with ELN
/// where several holes are open: a mark speaks of the oldest one. ELN marks duplicate ACKs only. A receiver that delays ACKs may report
/// a hole with an ACK that advances, and senders that believe the first report (status, SNACK) have reduced when the mark comes. REFWA
/// reports no loss: the sender still has to find it. The gateways of SaTPEP repair losses themselves, and use 0.95 of the link.
#[test]
fn every_function_that_notifies_helps_every_sender() {
    let errors = ("link.up.forward.error", "{ kind = \"packet\", rate = 2e-3 }");
    let short = ("duration", "20 s");
    for (sender, keys) in SENDERS {
        let clean = run_matrix(&[&[short][..], keys].concat()).flows.real("goodput_bps")[0];
        let shares = FUNCTIONS.iter().map(|(name, function)| {
            let result = run_matrix(&[&[short, errors][..], keys, function].concat());
            (*name, result.flows.real("goodput_bps")[0] / clean, result.flows.whole("error_reductions")[0])
        });
        let shares: Vec<(&str, f64, u64)> = shares.map(|(name, share, errors)| (name, share, errors as u64)).collect();
        let none = shares[0].1;
        assert!(none < 0.65, "{sender}: {shares:?}");
        let has_recovery = !["timeout-only", "fast-retransmit"].contains(sender);
        let believes_first = ["status", "snack"].contains(sender);
        for (name, share, error_reductions) in &shares[1..] {
            let least = match *name {
                "been" | "eten" => 0.9,
                "forward eten" if has_recovery => 0.85,
                "eln" if believes_first => 0.9 * none,
                // ns-2's hosts have an unlimited receive buffer, whose window scale is coarse for the windows that REFWA writes.
                "refwa" if ["timeout-only", "ns-2"].contains(sender) => 0.8 * none,
                "refwa" => 1.2 * none,
                "satpep" => 0.75,
                _ => 0.6,
            };
            assert!(*share > least, "{sender} {name}: {share} {least}, {shares:?}");
            if matches!(*name, "been" | "eten") {
                assert_eq!(*error_reductions, 0, "{sender} {name}: {shares:?}");
            }
        }
    }
}
