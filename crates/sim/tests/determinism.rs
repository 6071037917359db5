//! The same scenario and seed give the same tables, bit for bit, whatever else happens.

use bentpipe_sim::dictionary::{Table, Values, SERIES};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{from_toml, Scenario};
use bentpipe_sim::Network;
use std::sync::Arc;

/// Parts of a file, in an order that the tests change: two bottlenecks that share no link.
const HEAD: &str = "duration = \"20 s\"\n[tcp]\nlike = \"rfc\"\ncc = \"newreno\"\n";
const PARTS: [&str; 8] = [
    r#"
    [node.sat]
    middlebox = [{ kind = "impair", duplicate = "1 %", reorder = "1 %", hold = "10 ms" }]
    "#,
    r#"
    [link.up]
    from = "s{n}"
    to = "sat"
    count = 5
    rate = "10 Mbit/s"
    delay = "10 ms"
    "#,
    r#"
    [link.down]
    from = "sat"
    to = "r"
    rate = "5 Mbit/s"
    delay = "100 ms"
    queue = "20 packets"
    error = { kind = "packet", rate = 1e-3 }
    outage = { spans = [["5 s", "5.2 s"]], every = "9 s" }
    "#,
    r#"
    [flow.f]
    from = "s{n}"
    to = "r"
    count = 5
    start = { uniform = ["0 s", "1 s"] }
    "#,
    r#"
    [link.other]
    from = "a"
    to = "b"
    rate = "5 Mbit/s"
    delay = "20 ms"
    error = { kind = "packet", rate = 1e-2 }
    "#,
    r#"
    [flow.elsewhere]
    from = "a"
    to = "b"
    "#,
    r#"
    [flow.files]
    from = "s1"
    to = "r"
    app = { kind = "arrivals", interval = "300 ms", size = { kind = "pareto", shape = 1.5, min = "2 kB" } }
    [flow.pages]
    from = "r"
    to = "s2"
    app = { kind = "page", model = "3gpp2", reading = "1 s" }
    [flow.voice]
    from = "s3"
    to = "r"
    app = { kind = "on-off", peak = "100 kbit/s", on = "500 ms", off = { kind = "exponential", mean = "1 s" } }
    "#,
    r#"
    [flow.others]
    from = "a"
    to = "b"
    app = { kind = "arrivals", interval = "100 ms", size = "20 kB" }
    [flow.beacon]
    from = "b"
    to = "a"
    app = { kind = "poisson", rate = "100 kbit/s" }
    "#,
];

fn scenario(parts: &[usize], record: &str) -> Arc<Scenario> {
    let body: String = parts.iter().map(|&part| PARTS[part]).collect();
    from_toml(&format!("{HEAD}{body}{record}"), "test.toml", &[]).expect("the scenario is valid").scenario
}

fn network(parts: &[usize]) -> Network {
    Network::build(&scenario(parts, ""), 7)
}

fn run(scenario: &Arc<Scenario>) -> RunResult {
    let mut network = Network::build(scenario, 7);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// The rows of a table as text, each real number by its bits.
fn rows(table: &Table) -> Vec<String> {
    let cell = |values: &Values, row: usize| match values {
        Values::Text(texts) => texts[row].clone(),
        Values::Real(reals) => format!("{:x}", reals[row].to_bits()),
        Values::Whole(wholes) => wholes[row].to_string(),
    };
    (0..table.len()).map(|row| table.columns.iter().map(|(_, values)| cell(values, row) + " ").collect()).collect()
}

#[test]
fn twice_and_in_another_thread() {
    let first = run(&scenario(&[0, 1, 2, 3], ""));
    assert!(first.drops.len() > 5, "something happens: {:?}", first.drops);
    assert!(first == run(&scenario(&[0, 1, 2, 3], "")));
    let elsewhere = std::thread::spawn(|| run(&scenario(&[0, 1, 2, 3], "")));
    assert!(first == elsewhere.join().expect("the thread ends well"));
}

#[test]
fn another_seed_is_another_run() {
    let scenario = scenario(&[0, 1, 2, 3], "");
    let mut other = Network::build(&scenario, 8);
    assert!(other.run(u64::MAX));
    assert!(run(&scenario) != other.finish().unwrap());
}

#[test]
fn whoever_looks() {
    let names: Vec<String> = SERIES.iter().map(|series| format!("\"{}\"", series.column.name)).collect();
    let record = format!("[record]\nseries = [{}, \"events\"]\ninterval = \"7 ms\"", names.join(", "));
    let [watched, alone] = [&record, ""].map(|record| run(&scenario(&[0, 1, 2, 3, 4, 5, 6, 7], record)));
    // Only paced senders, media and flows over several paths fill these series.
    let empty: Vec<_> =
        watched.series.iter().filter(|(_, table)| table.is_empty()).map(|(name, _)| name.to_string()).collect();
    let expected = ["held_bytes", "modcod", "granted_bps", "requested_bps", "backlog_bytes"];
    let empty: Vec<&str> = empty
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "pacing_rate_bps" && !name.starts_with("cc_"))
        .collect();
    assert!(empty == expected && !watched.events.is_empty(), "nothing of {empty:?}");
    assert_eq!(
        [&watched.flows, &watched.links, &watched.drops, &watched.summary],
        [&alone.flows, &alone.links, &alone.drops, &alone.summary]
    );
}

/// All series are recorded, and rows of some do not fit: which of them are kept does not depend on who asks.
#[test]
fn whoever_asks_for_results_on_the_way() {
    let names: Vec<String> = SERIES.iter().map(|series| format!("\"{}\"", series.column.name)).collect();
    let all = format!("{}, \"events\", \"decisions\", \"losses\"", names.join(", "));
    for record in [
        String::new(),
        format!("[record]\nseries = [{all}]\ninterval = \"7 ms\""),
        format!("[record]\nseries = [{all}]\ninterval = \"7 ms\"\nrows_max = 40"),
        "[record]\nseries = [\"critical_path\"]".to_owned(),
    ] {
        let scenario = scenario(&[0, 1, 2, 3, 4, 5, 6, 7], &record);
        let alone = run(&scenario);
        let (mut asked, mut count) = (Network::build(&scenario, 7), 0);
        while !asked.run(499) {
            let so_far = asked.so_far().unwrap();
            assert!(so_far.summary.text("stop") == ["interrupted"]);
            count += 1;
        }
        assert!(count > 20, "{count}");
        assert!(asked.finish().unwrap() == alone, "{record}");
    }
}

/// A result on the way is that of a run that ends there.
#[test]
fn results_on_the_way_are_those_of_a_run_that_is_interrupted() {
    for record in ["", "[record]\nseries = [\"losses\", \"cwnd_bytes\", \"carried_bps\"]\ninterval = \"50 ms\""] {
        let scenario = scenario(&[0, 1, 2, 3, 4, 5, 6, 7], record);
        for events in [1, 999, 7_777, 20_000] {
            let mut network = Network::build(&scenario, 7);
            assert!(!network.run(events));
            let so_far = network.so_far().unwrap();
            network.interrupt();
            assert!(so_far == network.finish().unwrap(), "after {events} events");
        }
    }
}

#[test]
fn whoever_else_sends_on_other_links() {
    let (both, alone) = (run(&scenario(&[0, 1, 2, 3, 4, 5], "")), run(&scenario(&[0, 1, 2, 3], "")));
    for (both, alone) in [(&both.flows, &alone.flows), (&both.links, &alone.links), (&both.drops, &alone.drops)] {
        let both = rows(both);
        assert!(both.len() > alone.len());
        assert!(rows(alone).iter().all(|row| both.contains(row)));
    }
}

/// Connections come and go on both sides, and share a pool: nothing of that is seen.
#[test]
fn whoever_else_opens_connections_on_other_links() {
    let (both, alone) = (run(&scenario(&[0, 1, 2, 3, 4, 6, 7], "")), run(&scenario(&[0, 1, 2, 3, 6], "")));
    assert!(alone.transfers.len() > 50 && !alone.datagrams.is_empty(), "{:?}", alone.transfers);
    for (both, alone) in [
        (&both.flows, &alone.flows),
        (&both.links, &alone.links),
        (&both.drops, &alone.drops),
        (&both.transfers, &alone.transfers),
        (&both.completions, &alone.completions),
        (&both.datagrams, &alone.datagrams),
    ] {
        let both = rows(both);
        assert!(both.len() > alone.len());
        assert!(rows(alone).iter().all(|row| both.contains(row)));
    }
    assert!(run(&scenario(&[0, 1, 2, 3, 6], "")) == alone);
}

#[test]
fn in_whatever_order_the_file_has_them() {
    assert!(run(&scenario(&[0, 1, 2, 3, 4, 5], "")) == run(&scenario(&[5, 3, 4, 2, 0, 1], "")));
}

#[test]
fn in_whatever_steps_and_beside_whatever_other_network() {
    let whole = run(&scenario(&[0, 1, 2, 3], ""));
    let (mut one, mut other) = (network(&[0, 1, 2, 3]), network(&[0, 1, 2, 3, 4, 5]));
    loop {
        let is_over = [one.run(1), other.run(13)];
        if is_over == [true, true] {
            break;
        }
    }
    assert!(whole == one.finish().unwrap());
    assert!(run(&scenario(&[0, 1, 2, 3, 4, 5], "")) == other.finish().unwrap());
}
