//! Applications: what each of them does, against closed forms where there are any.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

fn run_with(text: &str, seed: u64) -> RunResult {
    let scenario = from_toml(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

/// One flow from `a` to `b` over one link; `link` and `flow` are lines of their sections.
fn one_flow(seconds: u32, tcp: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\n[tcp]\nlike = \"rfc\"\nprocessing = \"0 s\"\n{tcp}\n[link.l]\nfrom = \"a\"\nto = \"b\"\n{link}\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

fn run(seconds: u32, tcp: &str, link: &str, flow: &str) -> RunResult {
    run_with(&one_flow(seconds, tcp, link, flow), 1)
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found}, expected {expected} within {tolerance}");
}

fn durations(result: &RunResult) -> &[f64] {
    result.transfers.real("duration_s")
}

const CLEAN: &str = "rate = \"1 Mbit/s\"\ndelay = \"100 ms\"\nqueue = \"unlimited\"";

/// Poisson arrivals: their number is within three standard errors of what the load says, and so are the bytes that leave.
#[test]
fn arrivals_offer_the_load_that_was_asked_for() {
    // 20 kB in 14 segments: 164 480 bit.
    let app = "app = { kind = \"arrivals\", load = \"60 %\", link = \"l\", size = \"20 kB\" }";
    let result = run(2000, "", "rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"unlimited\"", app);
    let begun = result.summary.whole("transfers")[0] + result.summary.whole("transfers_unfinished")[0];
    let expected: f64 = 0.6 * 10e6 * 2000.0 / 164_480.0;
    assert!((begun as f64 - expected).abs() < 3.0 * expected.sqrt(), "{begun}, expected {expected}");
    assert_eq!(result.summary.whole("transfers_failed"), [0]);
    // SYN, FIN and the acknowledgements of what came back take a little more.
    let carried = result.links.real("utilisation")[0];
    assert!((0.59..0.62).contains(&carried), "{carried}");
}

/// W = rho S / 2 (1 - rho) for Poisson arrivals, packets of equal size and a constant rate (F. Pollaczek 1930).
#[test]
fn poisson_datagrams_wait_as_pollaczek_and_khinchine_say() {
    for rho in [0.5, 0.7] {
        let rate = rho * 1e6 * 1200.0 / 1228.0;
        let app = format!("app = {{ kind = \"poisson\", rate = \"{rate:.0} bit/s\" }}");
        let waits = (1..=3).map(|seed| run_with(&one_flow(2000, "", CLEAN, &app), seed).links.real("queue_mean_s")[0]);
        let service = 1228.0 * 8.0 / 1e6;
        near(waits.sum::<f64>() / 3.0, rho * service / (2.0 * (1.0 - rho)), 0.04);
    }
}

#[test]
fn datagrams_are_counted_and_timed() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"100 ms\"\nerror = { kind = \"packet\", rate = 0.1 }";
    let result = run(100, "", link, "app = { kind = \"cbr\", rate = \"96 kbit/s\" }");
    let table = &result.datagrams;
    // One each 100 ms, 28 B of headers: 9.824 ms to send.
    assert_eq!(table.whole("sent_packets"), [1001]);
    let lost = table.whole("lost_packets")[0];
    assert!((70..130).contains(&lost) && lost == result.summary.whole("lost_packets")[0], "{lost}");
    assert_eq!(table.whole("arrived_packets")[0], result.flows.whole("arrived_packets")[0]);
    near(table.real("delay_mean_s")[0], 0.109_824, 1e-9);
    assert!(table.real("jitter_s")[0] < 1e-9 && table.real("delay_min_s")[0] > 0.1098);
    assert_eq!(result.flows.text("cc"), ["none"]);
    assert_eq!(result.flows.text("outcome"), ["running"]);
    assert!(result.flows.real("cwnd_end_bytes")[0].is_nan());
    near(result.flows.real("goodput_bps")[0], 96_000.0 * (1.0 - lost as f64 / 1001.0), 0.01);
}

/// Of a constant path, the series has one row: sending and propagation. When the satellite changes, it has one more.
#[test]
fn the_delay_of_datagrams_over_time_is_that_of_their_path() {
    let steps = "delay = { points = [[\"0 s\", \"100 ms\"], [\"3.05 s\", \"150 ms\"]], interpolate = \"hold\" }";
    let app = "app = { kind = \"cbr\", rate = \"96 kbit/s\" }\n[record]\nseries = [\"delay_s\"]";
    for (delay, expected) in [
        ("delay = \"100 ms\"", &[[0.109_824, 0.109_824]][..]),
        (steps, &[[0.109_824, 0.109_824], [3.259_824, 0.159_824]]),
    ] {
        let result = run(5, "", &format!("rate = \"1 Mbit/s\"\n{delay}"), app);
        let (name, table) = &result.series[0];
        assert_eq!((name.as_str(), table.len()), ("delay_s", expected.len()));
        for (row, [time_s, delay_s]) in expected.iter().enumerate() {
            near(table.real("time_s")[row], *time_s, 1e-9);
            near(table.real("delay_s")[row], *delay_s, 1e-9);
        }
    }
}

/// 350 B there, 20 ms, 1000 B back, over an empty path: the closed form to the picosecond.
#[test]
fn an_exchange_takes_what_the_path_takes() {
    let app =
        "app = { kind = \"request-response\", response = \"1000 B\", wait = \"20 ms\", think = \"1 s\", count = 5 }";
    let result = run(60, "", CLEAN, app);
    let exchange = 390.0 * 8e-6 + 0.1 + 0.02 + 1040.0 * 8e-6 + 0.1;
    let times = durations(&result);
    assert_eq!((times.len(), result.summary.text("stop")[0].as_str()), (5, "completed"));
    // The first one opens the connection: SYN and SYN-ACK with MSS and window scale.
    near(times[0], 2.0 * (48.0 * 8e-6 + 0.1) + exchange, 1e-9);
    times[1..].iter().for_each(|&time| near(time, exchange, 1e-9));
    near(result.transfers.real("slowdown")[1], 1.0, 1e-9);
    let starts = result.transfers.real("start_s");
    near(starts[2] - starts[1], 1.0 + exchange, 1e-9);
    assert_eq!(result.flows.whole("delivered_bytes"), [5 * 1350]);
    assert_eq!(result.flows.text("outcome"), ["completed"]);
}

#[test]
fn a_new_connection_each_time_costs_a_round_trip_each_time() {
    let run = |reconnect: bool| {
        let app = format!(
            "app = {{ kind = \"request-response\", response = \"1 kB\", think = \"1 s\", count = 4, reconnect = {reconnect} }}"
        );
        let result = run(60, "", CLEAN, &app);
        durations(&result).iter().sum::<f64>()
    };
    near(run(true) - run(false), 3.0 * 2.0 * (48.0 * 8e-6 + 0.1), 1e-9);
}

/// `docs/specs/traffic.md`, test 6, the response time law of interactive systems: n / (Z + R) exchanges a second.
#[test]
fn closed_users_obey_the_response_time_law() {
    let text = "duration = \"4000 s\"\n[link.up]\nfrom = \"u{n}\"\nto = \"a\"\ncount = 20\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
                [link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"4 Mbit/s\"\ndelay = \"50 ms\"\n\
                [flow.f]\nfrom = \"u{n}\"\nto = \"b\"\ncount = 20\n\
                app = { kind = \"request-response\", response = \"100 kB\", think = { kind = \"exponential\", mean = \"9 s\" } }";
    let result = run_with(text, 1);
    let (done, mean) = (result.summary.whole("transfers")[0] as f64, result.summary.real("transfer_mean_s")[0]);
    assert!((0.5..1.5).contains(&mean), "{mean}");
    // Some 8000 thinking times: one per cent.
    near(done / 4000.0, 20.0 / (9.0 + mean), 0.03);
}

/// RFC 5681 §4.1: after an idle time longer than the timeout the window begins anew; without that rule it does not.
#[test]
fn transfers_after_a_pause_begin_with_a_small_window() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"100 ms\"\nqueue = \"unlimited\"";
    let second = |tcp: &str, more: &str| {
        let app = format!("app = {{ kind = \"bulk\", size = \"2 MB\", pause = \"5 s\", count = 3{more} }}");
        let result = run(60, tcp, link, &app);
        assert_eq!(result.flows.text("outcome"), ["completed"]);
        let rtt = 0.2;
        (durations(&result)[1] / rtt).floor()
    };
    let (anew, kept) = (second("", ""), second("idle_restart = false\ncwnd_validation = \"off\"", ""));
    assert!(kept < anew - 2.0, "{kept} and {anew} round trips");
    // A new connection takes a round trip more.
    assert_eq!(second("", ", reconnect = true"), anew + 1.0);
}

/// The application takes 1 Mbit/s of a path of 10 Mbit/s: windows close, the sender probes, and nothing is lost.
#[test]
fn a_slow_reader_holds_its_sender() {
    let text = one_flow(
        200,
        "receive_buffer = \"64 kB\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "reader = { rate = \"1 Mbit/s\" }\n[record]\nseries = [\"events\"]",
    );
    let result = run_with(&text, 1);
    near(result.flows.real("goodput_bps")[0], 1e6, 0.01);
    assert_eq!(result.flows.whole("retransmissions"), [0]);
    let slow = one_flow(
        200,
        "receive_buffer = \"16 kB\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "reader = { rate = \"16 kbit/s\", every = \"5 s\" }\n[record]\nseries = [\"events\"]",
    );
    let result = run_with(&slow, 1);
    let closed = result.events.text("event").iter().filter(|event| *event == "zero_window").count();
    assert!(closed >= 5, "{closed}");
    // A buffer more than was read.
    near(result.flows.whole("delivered_bytes")[0] as f64, 200.0 * 2000.0 + 16e3, 0.06);
    // 12.5 B in each step: a byte more in every second one, and a buffer.
    let often = slow.replace("rate = \"16 kbit/s\", every = \"5 s\"", "rate = \"10 kbit/s\", every = \"10 ms\"");
    let read = run_with(&often, 1).flows.whole("delivered_bytes")[0] as f64 - 16e3;
    near(read, 200.0 * 1250.0, 0.01);
}

fn page(more: &str, link: &str) -> RunResult {
    let app = format!(
        "app = {{ kind = \"page\", model = \"3gpp2\", reading = {{ kind = \"exponential\", mean = \"2 s\" }}, count = 200{more} }}"
    );
    run(4000, "", link, &app)
}

/// The same pages by other means: sizes do not depend on it, times do.
#[test]
fn pages_load_over_parallel_connections_or_one() {
    let link = "rate = \"20 Mbit/s\"\ndelay = \"150 ms\"\nqueue = \"unlimited\"";
    let (six, one, single) = (page("", link), page(", connections = 1", link), page(", multiplexed = true", link));
    let sizes = |result: &RunResult| result.transfers.whole("size_bytes").to_vec();
    let mean = |result: &RunResult| result.summary.real("transfer_mean_s")[0];
    assert_eq!(six.summary.whole("transfers"), [200]);
    assert!(sizes(&six) == sizes(&one) && sizes(&six) == sizes(&single));
    // Object after object takes a round trip each; the others do not.
    assert!(mean(&one) > 1.5 * mean(&six) && mean(&one) > 1.5 * mean(&single));
    // A page of one object: a round trip to open and one to be answered, at the least.
    assert!(six.completions.real("duration_min_s")[0] > 0.6 && six.transfers.real("slowdown")[0].is_nan());
    let bytes = sizes(&six).iter().sum::<i64>() as f64 / 200.0;
    assert!((25_000.0..90_000.0).contains(&bytes), "10.7 kB and 5.6 times some 6 kB: {bytes}");
    assert!(sizes(&page(", page_scale = 3.0", link)).iter().sum::<i64>() as f64 / 200.0 > 2.9 * bytes);
}

/// Each round trip of TLS is seen once on the first connection, and once more on those that the embedded objects open.
#[test]
fn securing_connections_takes_round_trips() {
    let link = "rate = \"1 Gbit/s\"\ndelay = \"250 ms\"\nqueue = \"unlimited\"";
    let mean = |more: &str| page(more, link).summary.real("transfer_mean_s")[0];
    let (plain, secured) = (mean(", multiplexed = true"), mean(", multiplexed = true, tls_rtts = 2"));
    near(secured - plain, 1.0, 0.02);
    assert!(mean(", tls_rtts = 2") - mean("") > 1.2);
}

/// While the link is down connections give up; what failed is counted, and life goes on.
#[test]
fn failed_transfers_are_counted_and_the_next_one_begins() {
    let tcp = "give_up = \"3 s\"";
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\noutage = { spans = [[\"20 s\", \"60 s\"]] }";
    for app in [
        "{ kind = \"bulk\", size = \"200 kB\", pause = \"500 ms\" }",
        "{ kind = \"request-response\", response = \"200 kB\", think = \"500 ms\" }",
        "{ kind = \"request-response\", request = \"200 kB\", response = \"1 kB\", think = \"10 ms\", reconnect = true }",
        "{ kind = \"page\", model = \"3gpp2\", reading = \"500 ms\" }",
        "{ kind = \"page\", model = \"3gpp2\", reading = \"500 ms\", multiplexed = true, tls_rtts = 1, page_scale = 10.0 }",
        "{ kind = \"arrivals\", size = \"100 kB\", interval = \"200 ms\" }",
    ] {
        let result = run(300, tcp, link, &format!("app = {app}"));
        assert!(result.summary.whole("transfers_failed")[0] >= 1, "{app}");
        assert!(result.transfers.real("start_s").iter().any(|&start| start > 100.0), "{app}");
        assert!(result.summary.whole("transfers_unfinished")[0] <= 10, "{app}");
    }
}

/// Rows are limited where asked for, and it is said; the statistics are of all.
#[test]
fn the_table_of_transfers_has_a_limit_that_is_visible() {
    let app = "app = { kind = \"request-response\", response = \"1 kB\", think = \"1 s\", count = 30 }";
    let limited = run(600, "", CLEAN, &format!("{app}\n[record]\ntransfers_max = 10"));
    let whole = run(600, "", CLEAN, app);
    assert_eq!((limited.transfers.len(), whole.transfers.len()), (10, 30));
    assert_eq!(limited.completions, whole.completions);
    assert!(limited.notes[0].contains("20 transfers did not fit record.transfers_max = 10"), "{:?}", limited.notes);
}

const MANY: &str = r#"
[link.l]
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "30 ms"
queue = "20 packets"
error = { kind = "packet", rate = 1e-2 }
[flow.calls]
from = "a"
to = "b"
app = { kind = "on-off", peak = "300 kbit/s", on = { kind = "exponential", mean = "1 s" }, off = { kind = "pareto", shape = 1.5, mean = "1 s" } }
[flow.files]
from = "a"
to = "b"
app = { kind = "arrivals", interval = "200 ms", size = { kind = "bounded-pareto", shape = 1.2, min = "1 kB", max = "1 MB" } }
[flow.pages]
from = "b"
to = "a"
app = { kind = "page", model = "3gpp2", reading = "2 s", multiplexed = true }
[flow.questions]
from = "b"
to = "a"
app = { kind = "request-response", response = { kind = "lognormal", mean = "5 kB", sd = "9 kB" }, think = { kind = "exponential", mean = "300 ms" } }
"#;

/// (flow, transfer, size) of what is complete, and the start where transfers do not wait for one another.
fn draws(transfers: &Table) -> std::collections::BTreeMap<(String, i64), (i64, u64)> {
    let flows = transfers.text("flow").iter().cloned();
    let keys = flows.zip(transfers.whole("transfer").iter().copied());
    let starts = transfers.real("start_s").iter().zip(transfers.text("flow"));
    let starts = starts.map(|(start, flow)| if flow == "files" { start.to_bits() } else { 0 });
    keys.zip(transfers.whole("size_bytes").iter().copied().zip(starts)).collect()
}

/// What is drawn has an index of its own: neither the congestion control nor other flows change sizes and times.
#[test]
fn sizes_and_times_depend_on_nobody() {
    let run = |cc: &str, more: &str| {
        draws(
            &run_with(&format!("duration = \"60 s\"\n[tcp]\nlike = \"rfc\"\ncc = \"{cc}\"\n{MANY}{more}"), 5).transfers,
        )
    };
    let first = run("newreno", "");
    assert!(first.len() > 300, "{}", first.len());
    for other in [run("tahoe", ""), run("newreno", "[flow.bulk]\nfrom = \"a\"\nto = \"b\"\n")] {
        let common = first.iter().filter(|(key, _)| other.contains_key(key)).count();
        assert!(common > 250, "{common}");
        assert!(first.iter().all(|(key, drawn)| other.get(key).is_none_or(|found| found == drawn)));
    }
}

/// A flow of several transfers has received many last bytes; that of the flow itself comes when it completes.
#[test]
fn the_last_byte_received_has_no_time_before_the_flow_completed() {
    let flow = |count: &str| format!("app = {{ kind = \"bulk\", size = \"20 kB\", pause = \"1 s\"{count} }}");
    for (count, outcome) in [("", "running"), (", count = 3", "completed")] {
        let flows = run(20, "", CLEAN, &flow(count)).flows;
        assert_eq!(flows.text("outcome"), [outcome]);
        let is_there = outcome == "completed";
        assert_eq!(flows.real("completion_rx_s")[0].is_finite(), is_there);
        assert_eq!(flows.real("completion_s")[0].is_finite(), is_there);
    }
}

const RECORDS: &str = "app = { kind = \"records\", size = \"2 kB\", interval = \"100 ms\", count = 200 }";

/// Each record of 2000 B is there 100 ms and the sending of 2080 B after it was written; the first has a handshake before it.
#[test]
fn records_take_what_the_path_takes() {
    let result = run(60, "cc = \"sack\"\nsmss = \"1000 B\"", CLEAN, RECORDS);
    let found = durations(&result);
    assert_eq!((found.len(), result.flows.text("outcome")[0].as_str()), (200, "completed"));
    found[5..].iter().for_each(|&seconds| near(seconds, 0.1 + 2.0 * 1040.0 * 8.0 / 1e6, 1e-6));
    near(found[0], 0.3 + 2.0 * 1040.0 * 8.0 / 1e6, 0.01);
}

/// Packets get lost. Reliable, every record arrives, and those behind a loss wait for the repair; with best effort, which waits
/// for less than a repair takes, some are lost and none is late.
#[test]
fn best_effort_loses_records_instead_of_waiting() {
    let lossy = "rate = \"1 Mbit/s\"\ndelay = \"250 ms\"\nqueue = \"unlimited\"\nforward.error = { kind = \"packet\", rate = 0.03 }";
    let scps = "cc = \"scps\"\nsmss = \"1000 B\"\nack.every = 1";
    let waits = |wait: &str| format!("{scps}\nbest_effort = {{ kind = \"on\", wait = \"{wait}\" }}");
    let [reliable, short, long] =
        [scps.to_owned(), waits("150 ms"), waits("20 s")].map(|tcp| run(120, &tcp, lossy, RECORDS));
    let lost = |result: &RunResult| result.completions.real("failed")[0];
    let slowest = |result: &RunResult| durations(result)[20..].iter().copied().fold(0.0, f64::max);
    assert_eq!([lost(&reliable), lost(&long)], [0.0, 0.0]);
    assert_eq!(durations(&reliable).len(), 200);
    assert!(slowest(&reliable) > 0.7, "{}", slowest(&reliable));
    assert!(lost(&short) > 0.0 && lost(&short) + durations(&short).len() as f64 == 200.0, "{}", lost(&short));
    // 250 ms on the way, up to 200 ms until the hole is old and something arrives, and the sending of what was held back.
    assert!(slowest(&short) < 0.6, "{}", slowest(&short));
    assert_eq!(short.flows.text("outcome")[0], "completed");
}

/// Thousands of connections open at an instant. Each connection is work of the same loop, so the stack does not grow.
#[test]
fn a_page_of_many_hosts_needs_little_stack() {
    let page = "app = { kind = \"page\", objects = 10000, multiplexed = true }";
    let load = move || run(2, "initial_window = \"1500 B\"", CLEAN, page).flows.text("outcome")[0].clone();
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(load).unwrap();
    assert_eq!(thread.join().unwrap(), "running");
}
