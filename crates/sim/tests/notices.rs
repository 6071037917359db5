//! What tells senders of errors, end to end: a sender behind a node that sees what an uplink corrupts, with and without.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Packets of 1000 B of payload over an uplink of 2 Mbit/s that corrupts one in a hundred; 100 ms there and back.
const PATH: &str = r#"
duration = "100 s"
[tcp]
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

/// Without anything: what `sets` gives beside it is the sender's.
fn goodput(sets: &[(&str, &str)]) -> f64 {
    run(sets).flows.real("goodput_bps")[0]
}

/// Of 2 Mbit/s 1000 of 1040 B are payload, of which 99 % arrive: 1.90 Mbit/s if nothing else is lost. A window that is halved for
/// each hundredth packet has 12 packets on average (Mathis et al. 1997, sqrt(1.5 / p)), in 100 ms 0.98 Mbit/s.
#[test]
fn notices_keep_the_window_of_a_sender_that_loses_to_errors() {
    let plain = goodput(&[]);
    assert!((0.6e6..1.1e6).contains(&plain), "{plain}");
    let resends = ("cc = \"newreno\"", "cc = \"newreno\"\nerror_reports = \"resend\"");
    let deaf = goodput(&[resends]);
    assert_eq!(deaf, plain, "a sender that nobody notifies");
    for (name, base, receiver) in [
        ("eln", r#"{ kind = "eln" }"#, ""),
        ("backward", r#"{ kind = "eten" }"#, ""),
        (
            "forward",
            r#"{ kind = "eten", notice = "forward" }"#,
            r#"{ kind = "eten", notice = "forward", role = "receiver" }"#,
        ),
    ] {
        let boxes = [("BASE", base), ("RECEIVER", receiver)];
        let found = goodput(&[&boxes[..], &[resends]].concat());
        assert!(found > 1.5 * plain && found < 1.9e6, "{name}: {found} against {plain}");
        let unheeded = goodput(&boxes);
        assert!((unheeded / plain - 1.0).abs() < 0.1, "{name}: {unheeded} of a sender that does not heed it");
    }
}

/// CETEN tells how much of the loss is due to errors, here all of it: its senders reduce seldom, or by little.
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
        assert!(with > 1.3 * plain, "{verdict}: {with} against {plain}");
        assert!((without / plain - 1.0).abs() < 0.1, "{verdict}: {without} of {plain} without a notice");
    }
}

/// A byte in a thousand is corrupted: of packets of 1040 B 35 % cross, of 400 B 67 %. DPSM's size swings around one where every
/// eighth packet is lost or so, which is 130 B.
#[test]
fn packet_sizes_shrink_where_errors_are_frequent() {
    let errors = ("kind = \"packet\", rate = 1e-2", "kind = \"byte\", rate = 1e-3");
    let with = run(&[("BASE", r#"{ kind = "dpsm", max = "1000 B" }"#), errors]);
    let without = run(&[errors]);
    let of = |result: &RunResult, name: &str| result.flows.real(name)[0];
    let (adapts, stays) = (of(&with, "goodput_bps"), of(&without, "goodput_bps"));
    assert!(adapts > 3.0 * stays, "{adapts} against {stays}");
    let at = with.links.text("link").iter().position(|link| link == "up.forward").unwrap();
    let size = with.links.whole("carried_bytes")[at] as f64 / with.links.whole("carried_packets")[at] as f64;
    assert!((100.0..350.0).contains(&size), "{size} B");
}
