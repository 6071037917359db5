//! TCP-Peach on the path that it was made for (`docs/specs/tcp-peach.md`): the shipped scenario `peach`.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

const ERRORS: &str = "link.sat.forward.error";
const EVENTS: (&str, &str) = ("record.series", r#"["events", "cwnd_bytes"]"#);
/// A single sender, at once.
const ALONE: [(&str, &str); 4] =
    [("flow.f.count", "1"), ("link.access.count", "1"), ("link.lan.count", "1"), ("flow.f.start", "0 s")];

fn run(sets: &[(&str, &str)]) -> RunResult {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/bentpipe/scenario/shipped/peach.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = from_toml(&text, "peach", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// Mbit/s of all flows.
fn goodput(sets: &[(&str, &str)]) -> f64 {
    run(&[sets, &[("duration", "150 s")]].concat()).summary.real("goodput_bps")[0] / 1e6
}

/// Packets lost for this cause, at all places.
fn lost(result: &RunResult, cause: &str) -> i64 {
    let causes = result.drops.text("cause").iter().zip(result.drops.whole("packets"));
    causes.filter(|(found, _)| *found == cause).map(|(_, packets)| packets).sum()
}

/// When an event came to the first flow, s.
fn times(result: &RunResult, name: &str) -> Vec<f64> {
    let (first, events) = (&result.flows.text("flow")[0], &result.events);
    let rows = events.text("event").iter().zip(events.text("flow")).zip(events.real("time_s"));
    rows.filter(|((event, flow), _)| *event == name && *flow == first).map(|(_, &time)| time).collect()
}

/// The window of the first flow at this time, segments.
fn window(result: &RunResult, time_s: f64) -> f64 {
    let (_, table) = result.series.iter().find(|(name, _)| name == "cwnd_bytes").unwrap();
    let rows = table.real("time_s").iter().zip(table.text("flow")).zip(table.real("cwnd_bytes"));
    let first = &result.flows.text("flow")[0];
    let before = rows.filter(|((&time, flow), _)| time <= time_s && *flow == first);
    before.map(|(_, &bytes)| bytes / 1000.0).next_back().unwrap()
}

/// S001: goodput above Reno at high loss.
#[test]
fn where_the_link_errs_peach_is_above_reno() {
    for (rate, times) in [("1e-3", 1.3), ("1e-2", 2.5)] {
        let of = |cc| goodput(&[("tcp.cc", cc), ("link.sat.forward.error.rate", rate)]);
        let [reno, newreno, peach, plus] = ["reno", "newreno", "peach", "peach-plus"].map(of);
        assert!(peach > times * reno.max(newreno) && plus > 0.98 * peach, "{rate}: {reno} {newreno} {peach} {plus}");
    }
}

/// Test 1: two round trips after the handshake; slow start needs six to a window of 64.
#[test]
fn sudden_start_opens_the_window_in_two_round_trips() {
    let after = |cc, round_trips: f64| {
        let sets = [("tcp.cc", cc), ("duration", "5 s"), EVENTS, (ERRORS, r#"{ kind = "none" }"#)];
        let result = run(&[ALONE, sets].concat());
        let begin = times(&result, "established")[0];
        window(&result, begin + 0.553 * round_trips)
    };
    assert!(after("peach", 1.0) <= 2.0 && after("peach", 2.02) == 64.0, "{}", after("peach", 2.02));
    assert!(after("peach", 1.5) > 30.0 && after("newreno", 2.02) < 48.0);
}

/// One error costs two round trips, then the window is what it was.
#[test]
fn the_window_is_back_two_round_trips_after_an_error() {
    let errors = r#"{ kind = "arrivals", list = [3000] }"#;
    for (cc, is_back) in [("peach", true), ("peach-plus", true), ("swift", true), ("newreno", false)] {
        let result = run(&[ALONE, [("tcp.cc", cc), ("duration", "60 s"), EVENTS, (ERRORS, errors)]].concat());
        let lost = times(&result, "fast_retransmit")[0];
        assert_eq!(result.flows.whole("timeouts"), [0], "{cc}");
        let [before, low, after] = [-0.1, 0.2, 1.3].map(|later| window(&result, lost + later));
        assert!(before >= 64.0 && (31.0..38.0).contains(&low), "{cc}: {before} {low}");
        assert_eq!((after - 64.0).abs() < 3.0, is_back, "{cc}: {after}");
    }
}

/// A queue that overflows drops dummies before data: half of the window is what is left.
#[test]
fn after_congestion_the_window_is_not_brought_back() {
    // Five windows of 64 segments for a path that holds 69 and a queue of 50.
    let result = run(&[("link.sat.forward.rate", "1 Mbit/s"), EVENTS, (ERRORS, r#"{ kind = "none" }"#)]);
    let lost_at = times(&result, "fast_retransmit");
    let kept: Vec<f64> = lost_at.iter().map(|at| window(&result, at + 2.4) / window(&result, at - 0.01)).collect();
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    assert!(kept.len() > 5 && mean < 0.7, "{mean}: {kept:?}");
    assert!(lost(&result, "push-out") > 10 * lost(&result, "queue-overflow"));
}

/// HSWA-34: with a receiver that does not know dummies, it is NewReno to the last event.
#[test]
fn with_another_receiver_it_is_reno() {
    let recovery = ("tcp.recovery", r#"{ kind = "newreno", exit = "ssthresh" }"#);
    let deaf = ("tcp.cc", r#"{ kind = "peach", receiver_knows = false }"#);
    let [peach, reno] = [deaf, ("tcp.cc", "reno")].map(|cc| run(&[cc, recovery, EVENTS, ("duration", "60 s")]));
    assert_eq!(peach.flows.whole("dummy_packets"), [0; 5]);
    assert!(!times(&peach, "fast_retransmit").is_empty());
    assert_eq!(peach.events, reno.events);
    assert_eq!(peach.series, reno.series);
}

/// HSWA-04: a single hop without priority, the narrowest, and dummies take the place of data.
#[test]
fn it_needs_priority_at_every_hop() {
    let busy = [("link.sat.forward.rate", "1 Mbit/s"), (ERRORS, r#"{ kind = "none" }"#)];
    let priority = run(&busy);
    let plain = run(&[busy.as_slice(), &[("link.sat.forward.queue", "50 packets")]].concat());
    let resent = |result: &RunResult| result.flows.whole("retransmissions").iter().sum::<i64>();
    let of = |result: &RunResult| (result.summary.real("goodput_bps")[0], resent(result));
    let (priority, plain) = (of(&priority), of(&plain));
    assert!(plain.0 < 0.6 * priority.0 && plain.1 > 10 * priority.1, "{priority:?} {plain:?}");
}
