//! The time that hosts take before they handle a segment.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

const PATH: &str =
    "[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"unlimited\"\n";

fn run(processing: &str, tcp: &str, flows: &str, seed: u64) -> RunResult {
    let more = if processing.is_empty() { String::new() } else { format!("processing = {processing}\n") };
    let text = format!("duration = \"100 s\"\n[tcp]\nlike = \"rfc\"\nsmss = \"1000 B\"\n{more}{tcp}\n{PATH}{flows}");
    let scenario = from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

const EXCHANGES: &str = "[flow.f]\nfrom = \"a\"\nto = \"b\"\n\
    app = { kind = \"request-response\", response = \"1000 B\", think = \"1 s\", count = 20 }\n";

/// 350 B there and 1000 B back over an empty path, each handled once: to the picosecond.
#[test]
fn an_exchange_takes_what_the_path_and_the_hosts_take() {
    let path = (390.0 + 1040.0) * 0.8e-6 + 0.04;
    for (processing, each) in [("\"0 s\"", 0.0), ("\"3 ms\"", 0.003), ("\"1 s\"", 1.0)] {
        let result = run(processing, "", EXCHANGES, 1);
        // The first one opens the connection.
        let times = &result.transfers.real("duration_s")[1..];
        assert!(times.len() == 19 || each == 1.0, "{}", times.len());
        for &time in times {
            assert!((time - path - 2.0 * each).abs() < 1e-11, "{time} {processing}");
        }
    }
}

/// Propagation, serialisation and two draws; a thousand of them come near to both bounds.
#[test]
fn a_round_trip_has_two_draws_within_their_bounds() {
    let flow = "[flow.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"bulk\", size = \"1000 B\", pause = \"10 ms\" }\n";
    let rtts = |processing: &str| {
        let result = run(processing, "ack = { every = 1 }", flow, 1);
        let [least, mean, p99] = ["rtt_min_s", "rtt_mean_s", "rtt_p99_s"].map(|column| result.flows.real(column)[0]);
        assert!(result.summary.whole("transfers")[0] > 1000);
        (least, mean, p99)
    };
    let path = (1040.0 + 40.0) * 0.8e-6 + 0.04;
    let (least, mean, _) = rtts("\"0 s\"");
    assert!((least - path).abs() < 1e-11 && (mean - path).abs() < 1e-11, "{least} {mean} {path}");
    // A quantile is the upper edge of a bin of 1.6 %; the sum of two draws is triangular, with a mean of 6 ms and a standard
    // deviation of 1.633 ms.
    let (least, mean, p99) = rtts("{ uniform = [\"1 ms\", \"5 ms\"] }");
    assert!(least >= path + 0.002 && least < path + 0.0035, "{least}");
    assert!((mean - path - 0.006).abs() < 5.0 * 0.001_633 / 1000_f64.sqrt(), "{mean}");
    assert!(p99 > path + 0.008 && p99 < (path + 0.010) * 1.016, "{p99}");
    // The default: up to 100 us for each.
    let (least, mean, p99) = rtts("");
    assert!(least >= path && mean > path + 80e-6 && mean < path + 120e-6 && p99 < (path + 200e-6) * 1.016);
}

/// Hosts that take up to 50 ms, with segments a millisecond apart: handled in the order in which they arrived, so that nothing
/// looks lost.
#[test]
fn segments_of_a_connection_never_overtake() {
    let flow = "[flow.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"file\", size = \"2 MB\" }\n";
    for recovery in ["sack", "newreno", "rack"] {
        let tcp = format!("cc = \"sack\"\nrecovery = \"{recovery}\"\nreceive_buffer = \"200 kB\"");
        let result = run("{ uniform = [\"0 s\", \"50 ms\"] }", &tcp, flow, 1);
        assert_eq!(result.flows.whole("retransmissions"), [0], "{recovery}");
        assert_eq!(result.flows.text("outcome"), ["completed"]);
    }
}

/// What hosts draw depends on the seed and on the link that packets come by, not on flows elsewhere.
#[test]
fn other_flows_do_not_change_what_is_drawn() {
    let other = "[link.m]\nfrom = \"c\"\nto = \"d\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                 [flow.e]\nfrom = \"c\"\nto = \"d\"\n[flow.g]\nfrom = \"d\"\nto = \"c\"\n";
    let drawn = "{ uniform = [\"0 s\", \"2 ms\"] }";
    let times = |flows: &str, seed: u64| -> Vec<u64> {
        let table = run(drawn, "", flows, seed).transfers;
        let rows = table.text("flow").iter().zip(table.real("duration_s"));
        rows.filter(|(flow, _)| *flow == "f").map(|(_, time)| time.to_bits()).collect()
    };
    let alone = times(EXCHANGES, 1);
    assert_eq!(alone.len(), 20);
    assert_eq!(alone, times(EXCHANGES, 1));
    assert_eq!(alone, times(&format!("{EXCHANGES}{other}"), 1));
    assert_ne!(alone, times(EXCHANGES, 2));
    assert!(alone[1..].windows(2).any(|two| two[0] != two[1]), "each is drawn");
}

/// Of flows with different times that end at one node the one that may take longest decides, as it is one host.
#[test]
fn a_host_has_one_time() {
    let flows =
        format!("{EXCHANGES}[flow.quick]\nfrom = \"a\"\nto = \"b\"\nstart = \"90 s\"\ntcp.processing = \"0 s\"\n");
    let times = |flows: &str| run("\"3 ms\"", "", flows, 1).transfers.real("duration_s")[1..10].to_vec();
    assert_eq!(times(&flows), times(EXCHANGES));
}

#[test]
fn an_empty_span_is_refused() {
    let text =
        format!("duration = \"1 s\"\n[tcp]\nlike = \"rfc\"\nprocessing = {{ uniform = [\"1 ms\", \"1 ms\"] }}\n{PATH}{EXCHANGES}");
    let problems = from_toml(&text, "test", &[]).map(drop).unwrap_err().to_string();
    assert!(problems.contains("tcp.processing.uniform") && problems.contains("is an empty span"), "{problems}");
}
