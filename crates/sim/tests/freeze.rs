//! A gateway that closes windows during an outage.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// A sender near the node `b`. A link behind that node is down for a while, and packets on their way arrive.
fn run(duration: &str, outage: [&str; 2], node: &str) -> RunResult {
    let text = format!(
        r#"
        duration = "{duration}"
        [tcp]
        like = "linux-6"
        [link.near]
        from = "a"
        to = "b"
        rate = "20 Mbit/s"
        delay = "5 ms"
        [link.far]
        from = "b"
        to = "c"
        rate = "10 Mbit/s"
        delay = "40 ms"
        queue = "200 packets"
        [link.far.outage]
        spans = [{outage:?}]
        [flow.f]
        from = "a"
        to = "c"
        app = "greedy"
        {node}
        "#
    );
    let read = from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, 1);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

const FREEZE: &str = "[node.b]\nmiddlebox = [{ kind = \"freeze\" }]";

#[test]
fn a_frozen_sender_goes_on_with_its_window_and_times_out_for_nothing() {
    // Half a second later a full link makes up for it.
    for (end, soon) in [("12 s", "12.5 s"), ("14 s", "14.5 s"), ("20 s", "20.5 s")] {
        let (with, without) = (run(soon, ["10 s", end], FREEZE), run(soon, ["10 s", end], ""));
        let count = |result: &RunResult, column| result.flows.whole(column)[0];
        // One packet is cut off when the link goes down, and is retransmitted without a timeout.
        assert_eq!((count(&with, "timeouts"), count(&with, "link_losses")), (0, 1), "{end}");
        assert!(count(&without, "timeouts") > 0, "{end}");
        let [ours, theirs] = [&with, &without].map(|result| count(result, "delivered_bytes"));
        assert!(ours > theirs, "{end}: {ours} {theirs}");
    }
}

#[test]
fn an_outage_after_the_end_changes_nothing() {
    let after = ["40 s", "50 s"];
    assert_eq!(run("30 s", after, FREEZE).flows, run("30 s", after, "").flows);
}
