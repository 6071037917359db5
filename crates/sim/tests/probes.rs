//! Probes and their answers, against closed forms and against the counts of the links.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml_with, Files, Problems, Resolved};
use bentpipe_sim::Network;

/// One file.
struct OneFile(&'static str);

impl Files for OneFile {
    fn read(&self, _name: &str) -> Result<Vec<u8>, (String, String)> {
        Ok(self.0.as_bytes().to_vec())
    }
}

fn resolve(text: &str, file: &'static str) -> Result<Resolved, Problems> {
    from_toml_with(text, "test.toml", &[], &OneFile(file))
}

fn run_with(text: &str, file: &'static str) -> RunResult {
    let scenario = resolve(text, file).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// 10 Mbit/s and 50 ms there, 1 Mbit/s and 30 ms back. `more` are lines of the link.
fn probing(duration: &str, app: &str, more: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [link.l]
        from = "a"
        to = "b"
        rate = "10 Mbit/s"
        delay = "50 ms"
        {more}
        reverse = {{ rate = "1 Mbit/s", delay = "30 ms" }}
        [flow.ping]
        from = "a"
        to = "b"
        app = {{ kind = "probe", {app} }}
        "#
    )
}

fn outcomes(probes: &Table, outcome: &str) -> usize {
    probes.text("outcome").iter().filter(|found| *found == outcome).count()
}

#[track_caller]
fn all_near(found: &[f64], expected: f64) {
    let is_near = |value: &f64| (value - expected).abs() < 1e-12;
    assert!(!found.is_empty() && found.iter().all(is_near), "{found:?}, expected {expected}");
}

/// 1000 B with headers take 0.8 ms there and 8 ms back.
#[test]
fn the_round_trip_is_propagation_and_transmission_both_ways() {
    let result = run_with(&probing("10.5 s", r#"interval = "1 s", size = "972 B""#, ""), "");
    let probes = &result.probes;
    all_near(probes.real("forward_s"), 0.0508);
    all_near(probes.real("reverse_s"), 0.038);
    all_near(probes.real("rtt_s"), 0.0888);
    assert_eq!(probes.whole("number"), (0..11).collect::<Vec<i64>>());
    assert_eq!(probes.real("sent_s"), (0..11).map(f64::from).collect::<Vec<_>>());
    assert_eq!((outcomes(probes, "answered"), probes.text("cause")[0].as_str()), (11, ""));
    let [flows, datagrams] = [&result.flows, &result.datagrams];
    assert_eq!((flows.text("rtt_to")[0].as_str(), flows.text("outcome")[0].as_str()), ("b", "running"));
    all_near(flows.real("rtt_min_s"), 0.0888);
    assert_eq!((datagrams.whole("sent_packets")[0], datagrams.whole("arrived_packets")[0]), (11, 11));
    // The answers are packets of the network, and no data of the flow.
    assert_eq!((result.summary.whole("delivered_packets")[0], flows.whole("delivered_bytes")[0]), (22, 11 * 972));
}

/// A probe under way at the end is neither lost nor answered.
#[test]
fn the_end_of_the_run_is_no_loss() {
    let result = run_with(&probing("1.045 s", r#"interval = "10 ms""#, ""), "");
    let probes = &result.probes;
    // A round trip takes 80.7392 ms: those up to 0.96 s have an answer, those from 0.97 s to 1.04 s have none.
    assert_eq!((outcomes(probes, "answered"), outcomes(probes, "under-way")), (97, 8));
    assert_eq!(probes.real("rtt_s").iter().filter(|rtt| rtt.is_nan()).count(), 8);
}

#[test]
fn losses_are_those_that_the_links_count() {
    let errors = "error = { kind = \"packet\", rate = 0.1 }";
    let text = probing("100 s", r#"interval = "20 ms", count = 4000"#, errors).replace(
        "delay = \"30 ms\" }",
        "delay = \"30 ms\", error = { kind = \"packet\", rate = 0.05, effect = \"lose\" } }",
    );
    let result = run_with(&text, "");
    let probes = &result.probes;
    assert_eq!(probes.len(), 4000);
    for (cause, has_arrived) in [("bit-error", false), ("link-loss", true)] {
        let rows = (0..4000).filter(|&row| probes.text("cause")[row] == cause);
        let rows: Vec<usize> = rows.collect();
        let drops = &result.drops;
        let place = drops.text("cause").iter().position(|found| found == cause).unwrap();
        assert_eq!(drops.whole("packets")[place], rows.len() as i64, "{cause}");
        assert!(rows.len() > 100);
        assert!(rows.iter().all(|&row| probes.real("forward_s")[row].is_nan() != has_arrived), "{cause}");
        assert!(rows.iter().all(|&row| probes.real("rtt_s")[row].is_nan() && probes.text("outcome")[row] == "lost"));
    }
    let lost = outcomes(probes, "lost");
    assert_eq!((result.datagrams.whole("lost_packets")[0], outcomes(probes, "answered")), (lost as i64, 4000 - lost));
    assert!((result.datagrams.real("loss_pct")[0] - 100.0 * lost as f64 / 4000.0).abs() < 1e-9);
}

/// Neither an outage nor the answers that it delays change the times of later probes.
#[test]
fn probes_are_sent_without_regard_to_answers() {
    let outage = r#"outage = { spans = [["2 s", "3 s"]], queue = "flush" }"#;
    let result = run_with(&probing("5 s", r#"interval = "100 ms", size = "1000 B""#, outage), "");
    let sent = result.probes.real("sent_s");
    assert!(sent.iter().enumerate().all(|(number, at)| (at - number as f64 / 10.0).abs() < 1e-12), "{sent:?}");
    let lost: Vec<f64> =
        (0..sent.len()).filter(|&row| result.probes.text("cause")[row] == "outage").map(|row| sent[row]).collect();
    assert!(lost.len() >= 10 && lost.iter().all(|at| (1.9..3.0).contains(at)), "{lost:?}");
}

/// Epoch times, of which the first is the start of the flow.
#[test]
fn the_times_of_a_file_are_kept_exactly() {
    let file = "seq,sent_ms,rtt_ms\n1,1700000000000.25,30\n2,1700000000200.5,31\n3,1700000001000.125,-\n";
    let app = "times = { file = \"ping.csv\", column = \"sent_ms\" }";
    let text = probing("5 s", app, "").replace("app =", "start = \"1 s\"\napp =");
    let result = run_with(&text, file);
    assert_eq!(result.probes.real("sent_s"), [1.0, 1.200_25, 1.999_875]);
    // The resolved scenario has the times and needs no file.
    let resolved = resolve(&text, file).unwrap_or_else(|problems| panic!("{problems}")).to_toml();
    assert!(resolved.contains("0.20025 s") || resolved.contains("200.25 ms"), "{resolved}");
    assert_eq!(run_with(&resolved, "no file").probes, result.probes);
    assert_eq!(
        run_with(&text.replace(", column = \"sent_ms\"", ""), "t_s,x\n5,1\n6.5,2\n").probes.real("sent_s"),
        [1.0, 2.5]
    );
    assert_eq!(run_with(&probing("5 s", "times = [\"1 s\", \"3 s\"], count = 1", ""), "").probes.real("sent_s"), [1.0]);
}

/// A node that doubles each packet doubles answers, too. A probe still has one row, with its first answer.
#[test]
fn copies_give_no_further_rows() {
    let double = "\n[node.b]\nmiddlebox = [{ kind = \"impair\", duplicate = \"100 %\" }]\n";
    let text = probing("2.5 s", r#"interval = "1 s", size = "972 B""#, "") + double;
    let result = run_with(&text, "");
    assert_eq!((result.probes.len(), result.datagrams.whole("arrived_packets")[0]), (3, 6));
    all_near(result.probes.real("rtt_s"), 0.0888);
    assert_eq!(run_with(&text, ""), result);
}

#[test]
fn wrong_probes_are_told() {
    let cases = [
        (r#"size = "0 B""#, "", "size = \"0 B\" is out of range"),
        (r#"interval = "0 s""#, "", "interval = \"0 s\" is too small"),
        (r#"interval = "2 s", times = ["1 s"]"#, "", "has both interval and times"),
        (r#"times = []"#, "", "is empty"),
        (r#"times = ["1 s", "1 s"]"#, "", "is not in order: 1 s does not come after 1 s"),
        (r#"times = { file = "f" }"#, "seq,t_s\n1,2\n", "the name of column \"seq\" does not end in a unit"),
        (r#"times = { file = "f", column = "at_s" }"#, "seq,t_s\n1,2\n", "line 1: has no column \"at_s\""),
        (r#"times = { file = "f" }"#, "t_s\n1\n0.5\n", "line 3: \"0.5\" is before the previous line"),
        (r#"times = { file = "f" }"#, "t_s\n1\n1.0\n", "line 3: \"1.0\" is the instant of the previous line"),
        (r#"interval = "100 ns""#, "", "makes about 1.0e8 probes"),
    ];
    for (app, file, expected) in cases {
        let found = resolve(&probing("10 s", app, ""), file).map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(expected), "{app}: {found}");
    }
    let with_tcp = probing("10 s", r#"size = "10 B""#, "") + "\ntcp.cc = \"cubic\"\n";
    assert!(resolve(&with_tcp, "").map(|_| ()).unwrap_err().to_string().contains("datagrams have no transport"));
}
