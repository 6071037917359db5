//! Scenarios from text to meaning and back, and every kind of mistake.

use super::*;
use bentpipe_cc::CcKind;
use bentpipe_model::ids::LinkId;
use bentpipe_tcp::{ClockPhase, Config, InitialSsthresh, Recovery};
use bentpipe_units::{Duration, Time};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::sync::Arc;

const MINIMAL: &str = r#"
duration = "10 s"
[link.up]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "250 ms"
[flow.f]
from = "a"
to = "b"
"#;

/// A scenario with an example of every table.
const FULL: &str = r#"
title = "everything µ \\ \"quoted\""
duration = "120 s"
seed = 7

[tcp]
like = "rfc"
cc = "sack"
initial_ssthresh = "0.5 bdp"
give_up = "6 retransmissions"
rto = { granularity = "10 ms", phase = "3 ms" }

[node.sat1]
kind = "bent-pipe"
middlebox = [
    { kind = "impair", duplicate = "1 %", reorder = 0.02, hold = "10 ms" },
    { kind = "impair", reorder = 0.1, hold = { uniform = ["1 ms", "2 ms"] }, direction = "to-sender" },
]

[link.up]
from = "s{n}"
to = "sat1"
count = 12
error = { kind = "bursts", mean_loss = "5 %", mean_burst = "4 packets" }
rate = "100 Mbit/s"
delay = "5 ms"
queue = "unlimited"

[link."isl {n}"]
from = "sat1"
to = "sat2"
count = 2
rate = { points = [["0 s", "10 Mbit/s"], ["15 s", "5 Mbit/s"]], every = "30 s" }
delay = { pass = { altitude = "1350 km", elevation_min = "20 deg" } }
error = { kind = "gilbert-elliott", mean_good = "1 s", mean_bad = "20 ms", rate_bad = "50 %" }
outage = { spans = [["12 s", "12.1 s"]], every = "15 s", queue = "flush" }
[link."isl {n}".reverse]
queue = "100 packets"
error = { kind = "arrivals", list = [1, 5, 9], every = 20, effect = "lose" }
outage = { mean_up = "60 s", mean_down = "1.5 s" }

[link.down]
forward.error = { kind = "profile", unit = "byte", points = [["0 s", 0.001], ["12 s", "50 %"]], every = "15 s" }
interleave = { span = "10 us", corrects = "8 B" }
from = "sat2"
to = "r{n}"
count = 12
rate = "100 Mbit/s"
delay = { points = [["0 s", "5 ms"], ["1 s", "6 ms"]], interpolate = "linear", every = "1 s" }
queue = { kind = "drop-tail", limit = "1.5 bdp" }
error = { kind = "bit", rate = 1e-7 }

[flow."f{n}"]
from = "s{n}"
to = "r{n}"
count = 11
start = { uniform = ["0 s", "1 s"] }
route = ["s{n}", "sat1", "isl 2", "sat2", "r{n}"]
[flow."f{n}".tcp]
cc = "reno"
receive_buffer = "1 bdp"

[flow.last]
from = "s12"
to = "r12"
app = { kind = "file", size = "1 MB" }
[flow.last.tcp]
recovery = { kind = "newreno", exit = "ssthresh" }
ack = { timer = "free-running", quick = 3, slow_start = "every" }
ecn = { kind = "classic", beta = 0.8 }
pacing = { kind = "window", gain = 1.05 }
fast_open = { kind = "on", cookie = "cached" }
sharing = { kind = "on", cwnd = "full", age_max = "15 s" }
receive_buffer = "auto"
auto_buffer = { limit = "1 MB" }
nagle = true
rto = { min = "200 ms", phase = "random" }

[record]
series = ["events", "cwnd_bytes", "cwnd_bytes"]
interval = "1 s"
"#;

fn read(text: &str) -> Arc<Scenario> {
    from_toml(text, "geo.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario
}

/// The problems of the minimal scenario with one text replaced by another.
fn wrong(from: &str, to: &str) -> String {
    assert!(MINIMAL.contains(from));
    from_toml(&MINIMAL.replace(from, to), "geo.toml", &[]).map(|_| ()).expect_err(to).to_string()
}

fn set(key: &str, value: &str) -> Result<Resolved, Problems> {
    from_toml(MINIMAL, "geo.toml", &[(key.into(), value.into())])
}

#[test]
fn a_minimal_scenario_with_hosts_as_in_the_rfcs_has_the_defaults_of_the_standards() {
    let scenario = read(&format!("{MINIMAL}[tcp]\nlike = \"rfc\"\n"));
    assert_eq!(*scenario.flows[0].tcp(), Config::default());
    assert_eq!(scenario.flows[0].tcp().rto.phase, ClockPhase::Random);
    assert_eq!((&*scenario.flows[0].app, scenario.flows[0].start), (&App::Greedy, Start::At(Time::ZERO)));
    assert_eq!((scenario.seed, scenario.title.as_str()), (1, ""));
    assert_eq!(scenario.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(scenario.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["up.forward", "up.reverse"]);
    let [there, back] = [0, 1].map(LinkId::new);
    assert_eq!([&*scenario.lanes[0].route, &*scenario.lanes[0].reverse_route], [[there], [back]]);
    // 10 Mbit/s x 500 ms.
    assert_eq!(scenario.links[1].queue, Queue::DropTail { limit: QueueLimit::Bytes(625_000) });
    assert_eq!(scenario.record.interval, Duration::from_millis(100));
}

#[test]
fn everything_can_be_written_and_read_back() {
    let resolved = from_toml(FULL, "geo.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let scenario = &resolved.scenario;
    assert_eq!((scenario.nodes.len(), scenario.links.len(), scenario.flows.len()), (26, 52, 12));
    let flow = |name: &str| scenario.flows.iter().find(|flow| flow.name == name).unwrap();
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names[..3], ["f1", "f2", "f3"]);
    assert_eq!((names[10], names[11]), ("f11", "last"));
    assert_eq!((flow("f3").tcp().cc.kind(), flow("f3").tcp().recovery), (CcKind::Reno, Recovery::Reno));
    assert_eq!(flow("last").tcp().cc.kind(), CcKind::Sack);
    // `[tcp]` sets the granularity, the flow the lower bound.
    assert_eq!(flow("last").tcp().rto.granularity, Duration::from_millis(10));
    assert_eq!(flow("last").tcp().rto.min, Duration::from_millis(200));
    assert_eq!(flow("last").tcp().rto.phase, ClockPhase::Random);
    assert!(matches!(flow("f1").tcp().rto.phase, ClockPhase::At(_)));
    // 10 Mbit/s times 5 + 17.994 + 6 ms twice, by half.
    let InitialSsthresh::Bytes(bytes) = flow("last").tcp().initial_ssthresh else { panic!() };
    assert!((36_200..36_300).contains(&bytes), "{bytes}");
    let route: Vec<&str> =
        scenario.lanes[flow("f1").lane].route.iter().map(|&link| scenario.links[link].name.as_str()).collect();
    assert_eq!(route, ["up1.forward", "isl 2.forward", "down1.forward"]);

    let toml = resolved.to_toml();
    let again = from_toml(&toml, "again", &[]).unwrap_or_else(|problems| panic!("{problems}\n{toml}"));
    assert_eq!(again.scenario, *scenario);
    let json = resolved.to_json().to_string();
    assert_eq!(from_json(&json, "", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario, *scenario);
    assert_eq!(again.digest(), resolved.digest());
    for origin in ["# default, RFC 6298 §2.4", "# file line 3", "# [tcp] line 7"] {
        assert!(toml.contains(origin), "{origin}\n{toml}");
    }
}

/// `docs/specs/traffic.md`, test 4: 100 kB at 10 Mbit/s in segments of 1460 B with 40 B of headers: 822 080 bit, and
/// 6.0821 transfers a second for half of the link.
#[test]
fn a_load_becomes_an_interval_between_arrivals() {
    for (headers, per_second) in [("", 6.0821), (", load_headers = false", 6.25)] {
        let app = format!(
            "[tcp]\nlike = \"rfc\"\n[flow.f]\napp = {{ kind = \"arrivals\", size = \"100 kB\", load = \"50 %\", link = \"up\"{headers} }}"
        );
        let App::Arrivals(arrivals) = *read(&MINIMAL.replace("[flow.f]", &app)).flows[0].app else { panic!() };
        assert!((1.0 / arrivals.interval.as_secs_f64() - per_second).abs() < 5e-5, "{:?}", arrivals.interval);
    }
}

/// In cells of 53 B: 69 packets of on average 1489.3 B, which take 32 cells, 936 192 bit.
#[test]
fn a_load_counts_the_cells_of_its_link() {
    let app = |load: &str, more: &str| {
        let app = format!(
            "[tcp]\nlike = \"rfc\"\n[flow.f]\napp = {{ kind = \"arrivals\", size = \"100 kB\", load = \"{load}\", link = \"up\"{more} }}"
        );
        MINIMAL.replace("delay", "framing = \"aal5\"\ndelay").replace("[flow.f]", &app)
    };
    let App::Arrivals(arrivals) = *read(&app("50 %", "")).flows[0].app else { panic!() };
    assert!((1.0 / arrivals.interval.as_secs_f64() - 5e6 / 936_192.0).abs() < 5e-5, "{:?}", arrivals.interval);
    // The load of data only is 90 % of the rate. Cells make it 105.3 %.
    let overload = from_toml(&app("90 %", ", load_headers = false"), "", &[]).unwrap_err().to_string();
    assert!(overload.contains("make 105.3216 % of its rate"), "{overload}");
}

#[test]
fn the_digest_is_of_what_can_change_a_result() {
    let digest = |text: &str| from_toml(text, "", &[]).unwrap().digest();
    assert_eq!(digest(MINIMAL), digest(&format!("title = \"x\"\nseed = 5\n{MINIMAL}")));
    assert_ne!(digest(MINIMAL), digest(&MINIMAL.replace("250", "251")));
    let recorded = "[record]\nseries = [\"cwnd_bytes\", \"events\"]\ninterval = \"7 ms\"\nrows_max = 9\n";
    assert_eq!(digest(MINIMAL), digest(&format!("{MINIMAL}{recorded}")));
    assert_ne!(digest(MINIMAL), digest(&format!("{MINIMAL}[record]\ntransfers_max = 9\n")));
    let framed = |framing: &str| MINIMAL.replace("delay", &format!("framing = {framing}\ndelay"));
    assert_eq!(digest(MINIMAL), digest(&framed("\"none\"")));
    assert_ne!(digest(MINIMAL), digest(&framed("\"aal5\"")));
    assert_ne!(digest(&framed("\"aal5\"")), digest(&framed("{ kind = \"aal5\", header = \"0 B\" }")));
    assert_eq!(digest(MINIMAL).len(), 16);
}

#[test]
fn the_worked_example_of_the_style_guide() {
    let text = r#"duration = "10 s"
[link.feeder]
from = "gw"
to = "sat"
rate  = "450 Mbit/s"
delay = "120 ms"
error = { kind = "packet", rate = "112 %" }
[flow.web]
from = "gw"
to = "sat"
tcp.cc = { kind = "cubix" }
tcp.verdict = "alwayscongestion"
"#;
    let problems = from_toml(text, "geo.toml", &[]).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "error: link.feeder.error.rate = \"112 %\" is not a probability              geo.toml:7:35\n  \
           expected a number from 0 to 1, or 0 % to 100 %, like \"0.1 %\"\n\
         error: flow.web.tcp.cc.kind = \"cubix\" is not a congestion control         geo.toml:11:19\n  \
           known: bbr1, bbr2, bbr3, bic, compound, copa, cubic, dctcp, enhanced-hswa, highspeed, hswa, htcp, hybla, \
           illinois, ledbat, leocc, newreno, peach, peach-plus, prague, reno, sack, santa-cruz, \
           satcp, scalable, scps, stp, swift, tahoe, tcpmin, vegas, veno, westwood, westwood-nr, westwood-plus, wtcp, yeah; did you mean \"cubic\"?\n\
         error: flow.web.tcp.verdict = \"alwayscongestion\" is not a verdict         geo.toml:12:15\n  \
           known: always-congestion, always-link-error, assume-congestion, assume-corruption, ceten-a, ceten-p, \
           low-priority-copies; did you mean \
           \"always-congestion\"?\n\
         3 problems; nothing was run"
    );
}

#[test]
fn every_kind_of_mistake_is_explained() {
    for (from, to, said) in [
        ("rate =", "rat =", "link.up.rat is not a known key"),
        ("rate =", "rat =", "did you mean \"rate\"?"),
        ("\"10 Mbit/s\"", "\"10 Mbits\"", "\"10 Mbits\" is not a bit rate"),
        ("\"10 Mbit/s\"", "\"10 ms\"", "expected a number with bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s, like \"10 Mbit/s\""),
        ("\"10 Mbit/s\"", "10", "link.up.rate = 10 is a bare number"),
        ("\"10 Mbit/s\"", "nan", "not a number that can be used"),
        ("\"10 Mbit/s\"", "-inf", "not a number that can be used"),
        ("\"10 Mbit/s\"", "\"0 bit/s\"", "never above 0"),
        ("\"10 Mbit/s\"", "1979-05-27", "is a date"),
        ("\"10 Mbit/s\"", "{ points = [] }", "link.up.rate.points has 0 entries"),
        ("\"10 Mbit/s\"", "{ points = [[\"0 s\"]] }", "link.up.rate.points[0] has 1 entries"),
        ("\"10 Mbit/s\"", "{ points = [[\"1 s\", \"1 b/s\"]] }", "does not begin at the start"),
        ("\"10 Mbit/s\"", "{ points = [[\"0 s\", \"1 b/s\"], [\"0 s\", \"2 b/s\"]] }", "is not in order"),
        ("\"10 Mbit/s\"", "{ points = [[\"0 s\", \"1 b/s\"], [\"2 s\", \"2 b/s\"]], every = \"2 s\" }", "is too short"),
        ("\"250 ms\"", "\"-1 ms\"", "it is negative"),
        ("\"250 ms\"", "\"1e30 s\"", "it is too large"),
        ("\"250 ms\"", "\"0.1 ps\"", "one picosecond"),
        ("\"250 ms\"", "{ pass = { altitude = \"1 km\", elevation_min = \"20 deg\" } }", "expected 100 km"),
        ("\"250 ms\"", "{ pass = { altitude = \"900 km\", elevation_min = \"20 deg\", hops = 0 } }", "expected 1 to 100"),
        ("\"10 s\"", "\"0 s\"", "duration = \"0 s\" is out of range"),
        ("\"10 s\"", "\"300 d\"", "expected at most 200 d, because time is counted in picoseconds with 64 bits"),
        ("\"250 ms\"", "\"300 d\"", "expected at most 213 d, because time is counted in picoseconds with 64 bits"),
        ("\"10 s\"", "\"5000 h\"", "at most 200 days"),
        ("duration = \"10 s\"", "", "duration is missing"),
        ("duration", "title = \"\\u001b[31m\"\nduration", "title = \"\\u001b[31m\" contains a control character"),
        ("duration", "title = \"\u{202e}gpj\"\nduration", "title = \"\\u202egpj\" contains a control character or a direction"),
        ("[flow.f]", "[case.\"\\u0007\"]\ntcp.cc = \"reno\"\n[flow.f]", "the name \"\\u0007\" contains a control character"),
        ("[flow.f]", "[flow.\"f\u{2066}\"]", "the name \"f\\u2066\" contains a control character or a direction mark"),
        ("\"10 Mbit/s\"", "\"10 \\u009b\"", "link.up.rate = \"10 \\u009b\""),
        ("from = \"a\"\nto = \"b\"\nrate", "from = \"a\"\nto = \"c\"\nrate", "flow.f.to = \"b\" is not a node"),
        ("from = \"a\"\nto = \"b\"\nrate", "from = \"a\"\nto = \"a\"\nrate", "is the same node as from"),
        ("[flow.f]", "[link.x]\nfrom = \"b\"\nto = \"bb\"\nrate = \"1 b/s\"\ndelay = \"1 s\"\n[flow.f]", "is a dead end"),
        ("[flow.f]", "[link.x]\nfrom = \"b\"\nto = \"bb\"\nrate = \"1 b/s\"\ndelay = \"1 s\"\n[flow.f]", "did you mean \"b\"?"),
        ("[flow.f]", "[link.x]\nfrom = \"c\"\nto = \"d\"\nrate = \"1 b/s\"\ndelay = \"1 s\"\n[flow.g]\nfrom = \"a\"\nto = \"d\"\n[flow.h]\nfrom = \"a\"\nto = \"c\"\n[flow.f]", "flow.g.to = \"d\" cannot be reached from \"a\""),
        ("[flow.f]", "[node.c]\n[flow.f]", "node.c is on no link"),
        ("[flow.f]", "[flow.\"x/y\"]", "contains a slash"),
        ("[flow.f]", "[flow.\"\"]", "the name \"\" is empty"),
        ("[flow.f]", "[flow.\"f{n}\"]", "contains {n} without a count"),
        ("[flow.f]", "[flow.f]\ncount = 0", "out of range"),
        ("[flow.f]", "[flow.f]\ncount = 1000001", "out of range"),
        ("[flow.f]", "[flow.g]\nfrom = \"a\"\nto = \"b\"\n[flow.f]\ncount = 1000000", "stands for 1000001 flows"),
        ("[flow.f]", "[flow.f1]\nfrom = \"a\"\nto = \"b\"\n[flow.f]\ncount = 2", "makes a second flow \"f1\""),
        ("[flow.f]", "[flow.f]\nroute = [\"a\"]", "ends at \"a\""),
        ("[flow.f]", "[flow.f]\nroute = [\"a\", \"c\"]", "not a node or a link"),
        ("[flow.f]", "[flow.f]\nroute = [\"a\", \"b\", \"a\", \"b\"]", "comes through \"a\" twice"),
        ("[flow.f]", "[flow.f]\nstart = { uniform = [\"1 s\", \"1 s\"] }", "is an empty span"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"file\", size = \"0 B\" }", "is too small"),
        ("[flow.f]", "[flow.f]\napp = \"file\"", "needs more than its name"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"bulk\", size = \"1 kB\" }", "flow.f.app.pause is missing"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"bulk\", size = { kind = \"paretto\" }, pause = \"1 s\" }", "did you mean \"pareto\"?"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\" }", "has no rate of arrivals"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"60 %\" }", "has a load without a link"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"60 %\", link = \"up\", interval = \"1 s\" }", "has two r"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"60 %\", link = \"up.reverse\" }", "is not on the path from \"a\""),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"0 %\", link = \"up\" }", "is too small"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"0.6\", link = \"up\" }", "the unit is missing, as in 0.6 %"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"100 %\", link = \"up\" }", "expected less than 100 %, or overload = true"),
        ("[flow.f]", "[flow.f]\ncount = 2\napp = { kind = \"arrivals\", size = \"1 kB\", load = \"60 %\", link = \"up\" }", "make 120.0000 % of its rate"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = { kind = \"pareto\", shape = 1, min = \"1 kB\" }, interval = \"1 s\" }", "is out of range"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"arrivals\", size = \"1 B\", interval = \"1 us\", overload = true }", "transfers arrive"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"records\", size = \"1500 B\", interval = \"1 ns\" }", "records"),
        ("[flow.f]", "[link.many]\nfrom = \"a\"\nto = \"b\"\ncount = 1000000\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[flow.f]", "stands for 1000001 links"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"cbr\", rate = \"1 Mbit/s\", jitter = \"5 ms\" }", "more than half the distance between datagrams, which is 9.6 ms"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"cbr\", rate = \"1 Mbit/s\", size = \"70 kB\" }", "out of range"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"carousel\", file = \"0 B\", rate = \"1 Mbit/s\" }", "expected at least 1 B"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"carousel\", file = \"1 MB\", rate = \"1 Mbit/s\", size = \"65492 B\" }", "expected 1 B to 65491 B"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"carousel\", file = \"200 GB\", rate = \"1 Mbit/s\" }", "expected at most 4000000"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\ntcp = { cc = \"reno\" }", "datagrams have no transport"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"cbr\", rate = \"1000000 Gbit/s\" }", "packet-hops"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"page\", multiplexed = true, connections = 3 }", "multiplexed means one connection"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"page\", recorded = [{ bytes = \"1 kB\" }], objects = 3 }", "has no effect on a recorded page"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"page\", recorded = [] }", "is empty"),
        ("[flow.f]", "[flow.f]\napp = { kind = \"page\", recorded = [{ bytes = \"1 kB\" }, { bytes = \"1 kB\", after = 1 }] }", "is not an earlier object"),
        ("[flow.f]", "[flow.f]\nreader = { rate = \"1 bit/s\" }", "is less than a byte in 10 ms"),
        ("[flow.f]", "[flow.f]\nreader = { rate = \"100 Gbit/s\", every = \"1 ns\" }", "makes about 1.0e10 reads, 1.0e10 of them for flow \"f\""),
        ("[flow.f]", "[flow.f]\ntcp.smss = \"39 B\"", "expected 40 B to 65415 B"),
        ("[flow.f]", "[flow.f]\ntcp.initial_ssthresh = \"1 segment\"", "expected at least 2 segments"),
        ("[flow.f]", "[flow.f]\ntcp.rto.max = \"100 ms\"", "contradicts the other bound"),
        ("[flow.f]", "[flow.f]\ntcp.rto.phase = \"1 ms\"", "less than the granularity, 1 ms"),
        ("[flow.f]", "[flow.f]\ntcp.give_up = \"soon\"", "is not a rule for giving up"),
        ("[flow.f]", "[flow.f]\ntcp.slow_start = \"histart\"", "did you mean \"hystart\"?"),
        ("[flow.f]", "[flow.f]\ntcp.slow_start = { kind = \"hystart\", delay_min = \"20 ms\" }", "expected delay_min at most delay_max"),
        ("[flow.f]", "[flow.f]\ntcp.slow_start = { kind = \"limited\", max_ssthresh = \"1 segment\" }", "expected at least 2 segments"),
        ("[flow.f]", "[flow.f]\ntcp.byte_counting = { kind = \"abc\", limit = 3 }", "expected 1 to 2"),
        ("[flow.f]", "[flow.f]\ntcp.increase = { kind = \"constant-rate\", reference_rtt = \"0 s\" }", "expected at least 1 us"),
        ("[flow.f]", "[flow.f]\ntcp.cwnd_validation = \"rfc7661\"\ntcp.idle_restart = true", "contradicts cwnd_validation"),
        ("[flow.f]", "[tcp]\nlike = \"rfc\"\nsmss = \"1 B\"\n[flow.f]", "error: tcp.smss = \"1 B\" is out of range"),
        ("[flow.f]", "[record]\nseries = [\"cwnd\"]\n[flow.f]", "is not a time series"),
        ("delay", "error = { kind = \"arrivals\", list = [3, 3] }\ndelay", "is not in order: 3 does not come after 3"),
        ("delay", "error = { rate = 1 }\ndelay", "link.up.error.kind is missing"),
        ("delay", "error = { kind = \"packet\", rate = 1.5 }\ndelay", "= 1.5 is not a probability"),
        ("delay", "error = { kind = \"packet\", rate = -1 }\ndelay", "= -1 is not a probability"),
        ("delay", "error = { kind = \"gilbert-elliott\", mean_good = \"0 s\", mean_bad = \"1 s\" }\ndelay", "is too small"),
        ("delay", "outage = { spans = [[\"1 s\", \"2 s\"], [\"1.5 s\", \"3 s\"]] }\ndelay", "overlaps"),
        ("delay", "outage = { spans = [[\"2 s\", \"1 s\"]] }\ndelay", "does not end after its start"),
        ("delay", "outage = { spans = [[\"1 s\", \"2 s\"]], every = \"1.5 s\" }\ndelay", "is too short for the spans"),
        ("delay", "error = { kind = \"gilbert-elliott\", mean_good = \"0.9 packets\", mean_bad = \"1 packet\" }\ndelay", "expected at least 1 packet"),
        ("delay", "error = { kind = \"gilbert-elliott\", mean_good = \"5 packets\", mean_bad = \"1 s\" }\ndelay", "has another unit than mean_good"),
        ("delay", "error = { kind = \"bursts\", mean_loss = 0.9, mean_burst = \"2 packets\" }\ndelay", "expected at most 0.666667"),
        ("delay", "error = { kind = \"bursts\", mean_loss = 1, mean_burst = \"2 s\" }\ndelay", "leaves no time between bursts"),
        ("delay", "error = { kind = \"bursts\", mean_loss = 1e-99, mean_burst = \"2 s\" }\ndelay", "is too rare"),
        ("delay", "error = { kind = \"bursts\", mean_loss = 0.1, mean_burst = \"two\" }\ndelay", "is not a mean duration"),
        ("delay", "error = { kind = \"profile\", points = [[\"1 s\", 0.1]] }\ndelay", "does not begin at the start"),
        ("delay", "error = { kind = \"arrivals\", list = [3], every = 3 }\ndelay", "is too short for the list"),
        ("delay", "error = { kind = \"packet\", rate = 0.1, effect = \"drop\" }\ndelay", "is not a known effect"),
        ("delay", "interleave = { span = \"1 s\" }\nerror = { kind = \"packet\", rate = 0.1 }\ndelay", "spreads bytes, and the rates of this model are those of packets"),
        ("delay", "interleave = { span = \"1 s\" }\nerror = { kind = \"arrivals\", list = [] }\ndelay", "this model lists packets"),
        ("delay", "coding = { kind = \"convolutional\" }\nerror = { kind = \"packet\", rate = 0.1 }\ndelay", "corrects bits, but the errors of the link are not bit errors"),
        ("delay", "coding = { kind = \"convolutional\", eb_n0 = \"4 dB\" }\nerror = { kind = \"bit\", rate = 0.1 }\ndelay", "sets the errors, and so does error of the link"),
        ("delay", "coding = { kind = \"convolutional\", eb_n0 = \"4\" }\ndelay", "is not a level"),
        ("delay", "coding = { kind = \"ldpc\", eb_n0 = \"4 dB\" }\nerror = { kind = \"bit\", rate = 0.1 }\ndelay", "sets the errors, and so does error of the link"),
        ("delay", "coding = { kind = \"ldpc\", eb_n0 = \"4 dB\", code_rate = 0 }\ndelay", "code_rate"),
        ("delay", "arq = { retransmissions = 1, combining = \"incremental\" }\ncoding = { kind = \"ldpc\", eb_n0 = \"4 dB\" }\ndelay", "needs the signal of a symbol"),
        ("delay", "coding = { kind = \"dvb-s2\", es_n0 = \"8 dB\" }\ndelay", "one of them is needed"),
        ("delay", "coding = { kind = \"dvb-s2\", es_n0 = \"8 dB\", modcod = \"QPSK 1/2\" }\ninterleave = { span = \"1 s\" }\ndelay", "has losses of whole packets"),
        ("delay", "coding = { kind = \"dvb-s2\", es_n0 = \"-3 dB\", acm = { feedback_delay = \"1 s\" } }\ndelay", "is too weak for each modulation"),
        ("delay", "coding = { kind = \"dvb-s2\", es_n0 = \"8 dB\", acm = { feedback_delay = \"0 s\" } }\ndelay", "has too little time between choices"),
        ("[flow.f]", "[node.b]\nkind = \"bent-pipe\"\n[link.up.forward]\narq = { retransmissions = 1 }\n[flow.f]", "is a bent pipe, which"),
        ("delay", "arq = { retransmissions = 1 }\noutage = { mean_up = \"1 s\", mean_down = \"1 s\" }\ndelay", "retransmits on a link with outages"),
        ("delay", "arq = { retransmissions = 1, combining = \"chase\" }\ndelay", "arq.combining = \"chase\" cannot combine: the link has no code"),
        ("delay", "arq = { retransmissions = 1, combining = \"incremental\" }\ncoding = { kind = \"convolutional\", eb_n0 = \"4 dB\" }\ndelay", "equals \"chase\" with this code"),
        ("delay", "arq = { retransmissions = 1, combining = \"chase\" }\ncoding = { kind = \"dvb-s2\", es_n0 = \"8 dB\", acm = { feedback_delay = \"1 s\" } }\ndelay", "a copy may have another code"),
        ("delay", "arq = { retransmissions = 1, combining = \"chase\" }\ninterleave = { span = \"1 s\" }\ncoding = { kind = \"convolutional\", eb_n0 = \"4 dB\" }\ndelay", "interleave decodes blocks"),
        ("[flow.f]", "[flow.f]\ntcp.report_copies = 2", "has no effect: reports are ignored"),
        ("[flow.f]", "[flow.f]\ntcp.report_resend = \"packet\"", "report_resend = \"packet\" has no effect: reports are ignored"),
        ("[flow.f]", "[flow.f]\ntcp = { report_resend = \"packet\", error_reports = \"resend\", recovery = \"rack\" }", "does not work with recovery \"rack\", which would count waiting data as lost"),
        ("[flow.f]", "[flow.f]\ntcp.packet_size = { kind = \"optimum\", density = 0.5 }", "expected 1.0 to 1000000.0"),
        ("[flow.f]", "[flow.f]\ntcp.packet_size = { kind = \"optimum\", header = \"0 B\" }", "header = \"0 B\" is too small"),
        ("delay", "framing = { kind = \"frames\", payload = \"0 B\" }\ndelay", "is too small"),
        ("delay", "framing = { kind = \"frames\", payload = \"53 B\", cell = \"48 B\" }\ndelay", "does not fit into a cell"),
        ("delay", "framing = { kind = \"frames\", payload = \"48 B\" }\ndelay", "expected cell of at least 48 B"),
        ("delay", "framing = { kind = \"frames\", cell = \"53 B\" }\ndelay", "expected payload beside it"),
        ("delay", "framing = { kind = \"frames\", overhead = \"70 kB\" }\ndelay", "expected at most 65535 B"),
        ("delay", "framing = { kind = \"frames\", stuffed = 257 }\ndelay", "expected 0 to 256"),
        ("delay", "forward.framing = { kind = \"aal5\", header = \"70 kB\" }\ndelay", "link.up.forward.framing.header"),
        ("delay", "framing = { kind = \"gse\", label = \"4 B\" }\ndelay", "expected 0 B, 3 B or 6 B"),
        ("delay", "framing = \"atm\"\ndelay", "is not a framing"),
        ("delay", "interleave = { span = \"61 s\" }\ndelay", "expected at most 60 s"),
        ("delay", "interleave = { span = \"1 s\", codeword = \"256 B\" }\ndelay", "expected 1 B to 255 B"),
        ("delay", "interleave = { span = \"1 s\", corrects = \"128 B\" }\ndelay", "expected at most 127 B"),
        ("delay", "outage = { mean_up = \"0 s\", mean_down = \"1 s\" }\ndelay", "is too small"),
        ("delay", "outage = { mean_up = \"1 s\" }\ndelay", "link.up.outage.mean_down is missing"),
        ("delay", "outage = { mean_up = \"1 ns\", mean_down = \"1 ns\" }\ndelay", "changes about"),
        ("\"10 Mbit/s\"", "{ file = \"rates.csv\" }", "cannot be found: this scenario has no folder"),
        ("[flow.f]", "[node.a]\nmiddlebox = [{ kind = \"impair\", reorder = 0.1 }]\n[flow.f]", "node.a.middlebox.0.reorder = 0.1 needs a time to hold packets"),
        ("[flow.f]", "[node.a]\nmiddlebox = [{ kind = \"impair\", hold = { uniform = [\"1 s\", \"1 s\"] } }]\n[flow.f]", "is an empty span"),
        ("[flow.f]", "[node.c]\nmiddlebox = [{ kind = \"refwa\" }]\n[link.v]\nfrom = \"a\"\nto = \"c\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[link.w]\nfrom = \"c\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[flow.f]\nroute = [\"a\", \"c\", \"b\"]\nreverse_route = [\"b\", \"a\"]", "cannot work at \"c\": data of \"f\" pass, its ACKs do not"),
        ("delay", "queue = \"5\"\ndelay", "link.up.queue = \"5\" is not a queue limit: the unit is missing"),
        ("\"10 Mbit/s\"\ndelay = \"250 ms\"", "\"1000000 Gbit/s\"\ndelay = \"1 us\"\n[tcp]\nlike = \"rfc\"", "packet-hops"),
        ("250 ms\"", "250 ms\"\nforward.rate = { points = [[\"0 s\", \"1 Mb/s\"]], every = \"1 ns\" }", "changes about"),
        ("[flow.f]", "[record]\nseries = [\"queue_bytes\"]\ninterval = \"1 ns\"\n[flow.f]", "samples"),
        ("250 ms\"", "250 ms\"\nslots = { every = \"1 s\", rows = [{ base = \"1 ms\", wait = [\"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\", \"0 s\"], rate = 0.5 }] }\nforward.rate = { points = [[\"0 s\", \"1 Mbit/s\"]], every = \"10 us\" }", "beside slots that lower the rate"),
        ("[link.up]", "[link.up", "not TOML"),
    ] {
        let problems = wrong(from, to);
        assert!(problems.contains(said), "{to}\n{problems}");
        assert!(problems.contains("geo.toml:"), "{problems}");
    }
}

#[test]
fn an_unknown_choice_is_named() {
    for (key, said) in [
        ("pacing", "tcp.pacing = \"foo\" is not a kind of pacing"),
        ("ecn", "tcp.ecn = \"foo\" is not a kind of ECN feedback"),
        ("feedback", "tcp.feedback = \"foo\" is not a kind of feedback"),
        ("fast_open", "tcp.fast_open = \"foo\" is not on or off"),
        ("spurious_response", "tcp.spurious_response = \"foo\" is not a known spurious response"),
    ] {
        let problems = wrong("[flow.f]", &format!("[flow.f]\ntcp.{key} = \"foo\""));
        assert!(problems.contains(&format!("flow.f.{said}")), "{problems}");
    }
    let kind = wrong("[flow.f]", "[flow.f]\ntcp.pacing = { kind = \"foo\" }");
    assert!(kind.contains("flow.f.tcp.pacing.kind = \"foo\" is not a kind of pacing"), "{kind}");
}

/// Regression: satcp, leocc, copa, ledbat, hswa and enhanced-hswa accepted these keys, which have no effect there.
#[test]
fn an_increase_that_the_sender_does_not_take_is_refused() {
    for cc in CcKind::ALL {
        let sets = [("tcp.cc".into(), cc.name().into()), ("tcp.increase".into(), "by-k".into())];
        let refused = from_toml(MINIMAL, "geo.toml", &sets).map(|_| ()).err().map(|problems| problems.to_string());
        let reason = format!("has no effect on {}, which has its own increase", cc.name());
        assert_eq!(refused.is_some(), !cc.takes().increase, "{}", cc.name());
        assert!(refused.is_none_or(|refused| refused.contains(&reason)), "{}", cc.name());
    }
    assert!(!CcKind::SaTcp.takes().increase && CcKind::Reno.takes().increase);
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = MINIMAL
        .replace("10 Mbit/s", "0 b/s")
        .replace("10 s", "0 s")
        .replace("[flow.f]", "[flow.f]\ntcp.smss = \"1 B\"");
    let problems = from_toml(&text, "f", &[]).unwrap_err().problems;
    let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["f:2:12", "f:6:8", "f:9:12"]);
}

#[test]
fn a_year_of_packets_is_refused_with_the_arithmetic() {
    let text = MINIMAL.replace("10 s", "4000 h").replace("10 Mbit/s", "10 Gbit/s");
    let problem = from_toml(&text, "f", &[]).unwrap_err().to_string();
    assert!(problem.contains("duration = \"4000 h\" makes the run take about 2.4e11 packet-hops"), "{problem}");
    assert!(problem.contains("lower the rate or the duration"));
}

/// Datagrams wait in no queue, but a long link holds them: memory is bounded as work is.
#[test]
fn a_link_that_holds_billions_of_packets_is_refused() {
    let text = |delay: &str| {
        let text = MINIMAL.replace("10 s", "100 s").replace("10 Mbit/s", "10 Gbit/s").replace("250 ms", delay);
        text.replace("[flow.f]", "[flow.f]\napp = { kind = \"cbr\", rate = \"10 Gbit/s\", size = \"1000 B\" }")
    };
    let problem = from_toml(&text("100 s"), "f", &[]).unwrap_err().to_string();
    let message =
        "duration = \"100 s\" makes the run take about 2.0e10 B of memory, most of them for packets under way";
    assert!(problem.contains(message), "{problem}");
    let cost = from_toml(&text("50 s"), "f", &[]).unwrap().cost;
    // 1.25 million datagrams of 1000 B each second, for 50 s.
    assert!((cost.memory / (62.5e6 * 160.0) - 1.0).abs() < 0.01, "{cost:?}");
    assert!((cost.events / 250e6 - 1.0).abs() < 0.01, "{cost:?}");
}

/// Each receiver keeps a bit for each packet of a file, and a number for each block.
#[test]
fn the_files_of_many_receivers_have_a_bound() {
    let app = "app = { kind = \"carousel\", file = \"1 GB\", size = \"1000 B\", block = 1, rate = \"1 kbit/s\" }";
    let text = |count: u32| MINIMAL.replace("[flow.f]", &format!("[flow.f]\ncount = {count}\n{app}"));
    let problem = from_toml(&text(4000), "f", &[]).unwrap_err().to_string();
    assert!(problem.contains("of memory, most of them for files at receivers"), "{problem}");
    let cost = from_toml(&text(1000), "f", &[]).unwrap().cost;
    assert!((cost.memory / (1000.0 * 4.125e6) - 1.0).abs() < 0.01, "{cost:?}");
}

/// REFWA Plus sends the window of the receiver at an instant after an error, if no node writes a window. 26.8 million
/// packets took 3.9 GB.
#[test]
fn a_window_that_is_sent_at_once_counts_with_all_its_packets() {
    let tcp = "tcp = { like = \"ns-2\", smss = \"40 B\", feedback = \"refwa-plus\" }";
    let text = MINIMAL.replace("[flow.f]", &format!("[flow.f]\ncount = 4\n{tcp}"));
    let problem = from_toml(&text, "f", &[]).unwrap_err().to_string();
    assert!(problem.contains("makes the run take about 1.7e10 B of memory"), "{problem}");
    let one = from_toml(&text.replace("count = 4", "count = 1"), "f", &[]).unwrap().cost;
    assert!((3.9e9..5e9).contains(&one.memory), "{one:?}");
    let written = format!("{text}[node.b]\nmiddlebox = [\"refwa\"]\n");
    assert!(from_toml(&written, "f", &[]).unwrap().cost.memory < 1e8);
}

#[test]
fn sets_go_over_the_file_and_are_checked_like_it() {
    assert_eq!(set("tcp.cc", "reno").unwrap().scenario.flows[0].tcp().cc.kind(), CcKind::Reno);
    assert_eq!(
        set("flow.f.tcp.rto.min", "200 ms").unwrap().scenario.flows[0].tcp().rto.min,
        Duration::from_millis(200)
    );
    assert_eq!(set("seed", "9").unwrap().scenario.seed, 9);
    assert!(set("tcp.cc", "reno").unwrap().to_toml().contains("# --set"));
    let problem = set("link.up.rate", "fast").unwrap_err().to_string();
    assert!(
        problem.contains("link.up.rate = \"fast\" is not a bit rate") && problem.contains("  --set link.up.rate"),
        "{problem}"
    );
    assert!(set("link.down.rate", "1 b/s").unwrap_err().to_string().contains("link.down is not in the scenario"));
    assert!(set("tcp.cd", "reno").unwrap_err().to_string().contains("did you mean \"cc\"?"));
    assert!(set("duration.x", "1").unwrap_err().to_string().contains("below a single value"));
}

/// A value instead of a table: the message shows the keys of the table.
#[test]
fn a_value_instead_of_a_table_is_refused_with_the_keys() {
    for (key, value, expected) in [
        ("link.up.mtu", "1500 B", "a table, like { size = \"1500 B\" }"),
        ("link.up.arq", "3", "a table, like { retransmissions = 1 }"),
        ("tcp.rto", "1 s", "a table with "),
        ("link.up.error", "3", "a table with kind"),
        ("record", "cwnd_bytes", "a table with "),
    ] {
        let said = set(key, value).unwrap_err().to_string();
        let line = said.lines().find(|line| line.contains("expected")).unwrap_or_default();
        assert!(line.contains(expected), "{key}: {said}");
    }
}

#[test]
fn json_is_read_like_toml() {
    let json = r#"{"duration": "10 s", "link": {"up": {"from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "250 ms"}},
                   "flow": {"f": {"from": "a", "to": "b"}}}"#;
    assert_eq!(from_json(json, "", &[]).unwrap().scenario, read(MINIMAL));
    assert_eq!(from_json("{", "x", &[]).unwrap_err().problems[0].place, "x:1:1");
    let problems = from_json(&json.replace("10 Mbit/s", "x"), "", &[]).unwrap_err();
    assert_eq!((problems.problems[0].place.as_str(), problems.problems[0].path.as_str()), ("", "link.up.rate"));
    assert!(from_json("null", "", &[]).is_err() && from_json("[]", "", &[]).is_err());
}

#[test]
fn json_mistakes_have_the_name_of_the_source() {
    let said = |text: &str| from_json(text, "s.json", &[]).unwrap_err().to_string();
    for (text, what) in [("[]", "a list"), ("null", "nothing"), ("3", "a bare number"), ("\"a\"", "a text")] {
        let expected = format!("error: a scenario is a table, and this is {what}");
        assert!(said(text).starts_with(&expected) && said(text).contains("  s.json\n"), "{}", said(text));
    }
    let twice = said("{\"seed\": 1,\n \"seed\": 2}");
    assert!(twice.contains("not JSON: duplicate key \"seed\"") && twice.contains("s.json:2:"), "{twice}");
    assert!(said("{\"duration\": \"1 s\"}").contains("error: link is missing"), "{}", said("{}"));
    assert!(said("{}").lines().filter(|line| line.starts_with("error:")).all(|line| line.ends_with("  s.json")));
}

#[test]
fn what_is_long_is_cut_in_messages() {
    let key = "k".repeat(1 << 20);
    for said in [
        from_toml(&format!("{key} = 1\n{MINIMAL}"), "f", &[]).unwrap_err(),
        from_toml(&format!("{MINIMAL}[flow.{key}]\n"), "f", &[]).unwrap_err(),
        from_json(&format!("{{\"{key}\": 1, \"{key}\": 2}}"), "f", &[]).unwrap_err(),
        set(&key, "1").unwrap_err(),
        set(&"k.".repeat(10_000), "1").unwrap_err(),
    ] {
        assert!(said.to_string().len() < 2000, "{}", said.to_string().len());
    }
}

#[test]
fn numbers_that_do_not_fit_are_shown_as_written() {
    let digits = "9".repeat(400);
    for (key, said) in [("seed", "is out of range"), ("duration", "is a bare number")] {
        let problem = set(key, &digits).unwrap_err().to_string();
        assert!(problem.contains(&format!("{key} = {}... {said}", "9".repeat(60))), "{problem}");
    }
}

#[test]
fn a_slip_in_the_name_of_an_entry_makes_no_other_one() {
    let problem = set("link.uo.rate", "1 Mbit/s").unwrap_err().to_string();
    assert!(problem.starts_with("error: link.uo is not in the scenario"), "{problem}");
    assert!(problem.contains("known: up; did you mean \"up\"?\n1 problem"), "{problem}");
    assert!(set("link.uo", "{ from = 'b', to = 'c', rate = '1 Mbit/s', delay = '1 ms' }").is_err_and(|problems| {
        // A new link that leads nowhere.
        problems.to_string().contains("is a dead end")
    }));
    assert_eq!(set("flow.f2", "{ from = 'a', to = 'b' }").unwrap().scenario.flows.len(), 2);
}

#[test]
fn some_ends_of_a_counted_link_may_be_idle_and_not_all() {
    let file = |to: &str| {
        let text = format!(
            "duration = \"1 s\"\n[link.lan]\nfrom = \"crew{{n}}\"\nto = \"ship\"\ncount = 3\nrate = \"1 Mbit/s\"\n\
             delay = \"1 ms\"\n[link.up]\nfrom = \"ship\"\nto = \"Madrid\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [flow.f]\nfrom = \"Madrid\"\nto = \"{to}\"\n"
        );
        from_toml(&text, "f.toml", &[]).map_err(|problems| problems.to_string())
    };
    assert_eq!(file("crew2").unwrap().scenario.lanes[0].route.len(), 2);
    let idle = file("ship").unwrap_err();
    assert!(idle.contains("link.lan.from = \"crew{n}\" is a dead end"), "{idle}");
}

#[test]
fn an_unknown_name_of_an_entry_is_reported_with_those_that_there_are_at_any_distance() {
    for name in ["satellite", "x", "the-way-to-the-satellite"] {
        let problems = set(&format!("link.{name}.rate"), "'1 Mbit/s'").unwrap_err();
        let [problem] = &problems.problems[..] else { panic!("{problems}") };
        assert_eq!(problem.message, format!("link.{name} is not in the scenario"));
        assert_eq!(problem.expected.to_string(), "known: up");
        assert_eq!(problem.suggestion, "");
    }
    // A required key of links creates a new link.
    let problems = set("link.new.from", "'b'").unwrap_err().to_string();
    assert!(problems.contains("link.new.to is missing"), "{problems}");
}

#[test]
fn notes_and_hints_are_warnings_at_their_keys() {
    let text =
        "duration = '5 s'\n[tcp]\nlike = 'rfc'\necn = 'classic'\n[link.up]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\n\
                delay = '90 ms'\nqueue = 'unlimited'\n[flow.f]\nfrom = 'a'\nto = 'b'\n";
    let resolved = from_toml(text, "f.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings = resolved.warnings();
    let places: Vec<(&str, &str)> = warnings.iter().map(|w| (w.path.as_str(), w.place.as_str())).collect();
    assert_eq!(places, [("tcp.ecn", "f.toml:4:1"), ("link.up.forward.queue", "f.toml:10:1")]);
    let scenario = &resolved.scenario;
    let messages: Vec<String> = warnings.into_iter().map(|warning| warning.message).collect();
    assert_eq!(messages, [scenario.notes(), scenario.hints()].concat());
}

#[test]
fn times_that_no_orbit_has_and_that_no_run_has_are_noted() {
    let notes = |sets: &[(&str, &str)]| {
        let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let resolved = from_toml(MINIMAL, "f.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        resolved.warnings().into_iter().map(|warning| (warning.path, warning.message)).collect::<Vec<_>>()
    };
    let [delay, rate] = ["link.up.delay", "link.up.rate"];
    assert_eq!(notes(&[(delay, "270 ms")]), []);
    let far = notes(&[(delay, "540 ms")]);
    assert!(far[0].1.starts_with("the delay of \"up.forward\" (and of 1 more) is 540 ms one way"), "{far:?}");
    assert_eq!((far[0].0.as_str(), far.len()), (delay, 1));
    // 10 s have 6 s one way, but not there and back.
    let no_answer = "flow \"f\" cannot have an answer to a packet: it takes 12.00 s, and the run leaves 10 s";
    assert!(notes(&[(delay, "6 s")]).contains(&("duration".to_owned(), no_answer.to_owned())));
    let datagrams = ("flow.f.app", "{ kind = \"cbr\", rate = \"1 kbit/s\", size = \"100 B\" }");
    assert_eq!(notes(&[(delay, "6 s"), datagrams]), [], "datagrams need no answer, and 6 s is a delay of deep space");
    // 1500 B and 40 B.
    let slow = notes(&[(rate, "1 kbit/s")]);
    assert!(slow.iter().any(|(_, note)| note.contains("it takes 12.") && note.contains("leaves 10 s")), "{slow:?}");
}

#[test]
fn datagrams_above_the_rate_of_a_link_with_their_headers_are_noted() {
    let notes = |size: &str| {
        let app = format!("{{ kind = \"cbr\", rate = \"900 kbit/s\", size = \"{size}\" }}");
        let sets = [("flow.f.app".to_owned(), app), ("link.up.rate".to_owned(), "1 Mbit/s".to_owned())];
        from_toml(MINIMAL, "f.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario.notes()
    };
    assert_eq!(notes("1000 B"), [""; 0]);
    // 28 B of headers for each byte.
    assert_eq!(notes("1 B"), ["datagrams offer \"up.forward\" 26.100 Mbit/s with headers, 2610 % of its rate"]);
}

#[test]
fn a_bdp_of_a_trace_is_what_it_carries_in_a_round_trip() {
    let queue = |rate: &str| {
        let sets = [("link.up.rate".to_owned(), rate.to_owned()), ("link.up.delay".to_owned(), "20 ms".to_owned())];
        let resolved = from_toml(MINIMAL, "f.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let link = resolved.scenario.links.iter().find(|link| link.name == "up.forward").expect("it has the link");
        match link.queue {
            Queue::DropTail { limit: QueueLimit::Bytes(bytes) } => bytes,
            _ => panic!("{:?}", link.queue),
        }
    };
    assert_eq!(queue("'100 Mbit/s'"), 500_000);
    // A millisecond of 100 Mbit/s in each 10 ms is 10 Mbit/s: five bursts of 12,500 B at most in 40 ms.
    let bursts = "{ points = [['0 s', '100 Mbit/s'], ['1 ms', '0 bit/s']], every = '10 ms' }";
    assert_eq!(queue(bursts), 4 * 12_500);
    // A single burst of 20 ms, and 20 ms of the usual rate.
    assert_eq!(queue("{ points = [['0 s', '8 Mbit/s'], ['5 s', '80 Mbit/s'], ['5.02 s', '8 Mbit/s']] }"), 220_000);
    // Steps longer than a round trip have the largest rate.
    assert_eq!(queue("{ points = [['0 s', '8 Mbit/s'], ['5 s', '80 Mbit/s']] }"), 400_000);
}

#[test]
fn flows_that_start_after_the_run_are_noted() {
    let notes = |start: &str| {
        let text = MINIMAL.replace("[flow.f]", &format!("[flow.f]\nstart = {start}"));
        let resolved = from_toml(&text, "f.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        resolved.warnings().into_iter().map(|warning| (warning.path, warning.message)).collect::<Vec<_>>()
    };
    assert_eq!(notes("'9 s'"), []);
    assert_eq!(notes("{ uniform = ['9 s', '11 s'] }"), []);
    for late in ["'10 s'", "{ uniform = ['12 s', '13 s'] }"] {
        let expected = "flow \"f\" would start after the end of the run, 10 s";
        assert_eq!(notes(late), [("flow.f.start".to_owned(), expected.to_owned())]);
    }
}

#[test]
fn options_are_called_by_their_own_names() {
    let sets = [("sweep.until".into(), "{ metric = 'goodput', half_width = 'x' }".into())];
    let problem = from_toml(MINIMAL, "f", &sets).map(drop).unwrap_err().to_string();
    assert!(problem.contains("--until\n") && !problem.contains("--set"), "{problem}");
}

/// The problem is at the key that exceeds the limit, as it is written, not at the duration.
#[test]
fn too_many_changes_are_reported_at_their_key() {
    for (from, to, key) in [
        ("delay =", "outage = { mean_up = \"1 ps\", mean_down = \"1 ps\" }\ndelay =", "link.up.outage"),
        (
            "\"250 ms\"",
            "\"250 ms\"\nreverse.error = { kind = \"gilbert-elliott\", mean_good = \"1 ps\", mean_bad = \"1 ps\", rate_bad = 1 }",
            "link.up.reverse.error",
        ),
        ("\"10 Mbit/s\"", "{ points = [[\"0 s\", \"1 Mb/s\"]], every = \"1 ps\" }", "link.up.rate"),
    ] {
        let problem = wrong(from, to);
        assert!(problem.contains(&format!("error: {key} = {{...}} changes about")), "{problem}");
        assert!(!problem.contains("geo.toml:2:"), "{problem}");
    }
}

/// Datagrams do not slow down: those that a link cannot carry wait if its queue has room.
#[test]
fn what_would_wait_without_end_is_refused() {
    let flow = "[flow.f]\napp = { kind = \"cbr\", rate = \"100 Gbit/s\", size = \"200 B\" }";
    let with = |queue: &str| {
        let text = MINIMAL.replace("[flow.f]", flow).replace("delay =", &format!("queue = {queue}\ndelay ="));
        from_toml(&text, "f", &[]).map(drop).map_err(|problems| problems.to_string())
    };
    let problem = with("\"unlimited\"").unwrap_err();
    assert!(problem.contains("link.up.queue = \"unlimited\" makes about 6.2e8 packets wait in 10 s"), "{problem}");
    assert!(with("\"100000000 packets\"").is_err());
    assert_eq!(with("\"1000 packets\""), Ok(()));
}

#[test]
fn absurd_texts_are_refused_quickly() {
    let huge = "a = 1\n".repeat(3 << 20);
    assert!(from_toml(&huge, "f", &[]).unwrap_err().to_string().contains("at most 16777216 B"));
    for depth in [70, 90, 1 << 20] {
        for text in ["[", "{a=", "{"].map(|open| format!("x = {}", open.repeat(depth))) {
            assert!(from_toml(&text, "f", &[]).is_err());
        }
        assert!(from_toml(&format!("{}b = 1", "a.".repeat(depth)), "f", &[]).is_err());
        assert!(from_toml(&format!("[{}b]", "a.".repeat(depth)), "f", &[]).is_err());
        assert!(from_json(&"[".repeat(depth), "f", &[]).is_err());
        assert!(set(&format!("{}b", "a.".repeat(depth)), &"[".repeat(depth)).is_err());
    }
    let unknown: String = (0..200_000).map(|n| format!("key{n} = 1\n")).collect();
    let problems = from_toml(&unknown, "f", &[]).unwrap_err();
    assert_eq!(problems.problems.len(), 200_003);
    assert!(problems.to_string().lines().count() < 120);
}

#[test]
fn a_star_of_fifty_thousand_hosts_is_routed_quickly() {
    let text = r#"
duration = "1 s"
[link.l]
from = "s{n}"
to = "hub"
count = 50000
rate = "1 kbit/s"
delay = "1 ms"
[link.m]
from = "hub"
to = "r{n}"
count = 50000
rate = "1 kbit/s"
delay = "1 ms"
[flow.f]
from = "s{n}"
to = "r{n}"
count = 50000
"#;
    let scenario = read(text);
    assert!(scenario.lanes.iter().all(|lane| lane.route.len() == 2 && lane.reverse_route.len() == 2));
    let written = read(
        &text.replace("count = 50000\n\"", "").replace("[flow.f]", "[flow.f]\nroute = [\"s{n}\", \"hub\", \"r{n}\"]"),
    );
    assert_eq!(written, scenario);
}

#[test]
fn routes_take_the_shortest_delay_and_break_ties_by_name() {
    let link = |name: &str, from: &str, to: &str, delay: &str| {
        format!("[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mb/s\"\ndelay = \"{delay}\"\n")
    };
    let text = ["duration = \"1 s\"\n[flow.f]\nfrom = \"a\"\nto = \"d\"\n".to_owned()].into_iter().chain([
        link("l1", "a", "b", "5 ms"),
        link("l2", "b", "d", "5 ms"),
        link("l3", "a", "c", "4 ms"),
        link("l4", "d", "c", "6 ms"),
        link("l5", "a", "d", "11 ms"),
        link("l6", "b", "a", "5 ms"),
    ]);
    let text: String = text.collect();
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.lanes[0].route.iter().map(|&link| scenario.links[link].name.clone()).collect()
    };
    assert_eq!(names(&read(&text)), ["l1.forward", "l2.forward"]);
    assert_eq!(names(&read(&text.replace("11 ms", "10 ms"))), ["l5.forward"]);
    let with = |route: &str| from_toml(&text.replace("[flow.f]", &format!("[flow.f]\nroute = {route}")), "f", &[]);
    assert_eq!(names(&with("[\"a\", \"l6\", \"b\", \"d\"]").unwrap().scenario), ["l6.reverse", "l2.forward"]);
    assert_eq!(names(&with("[\"c\", \"d\"]").unwrap().scenario), ["l3.forward", "l4.reverse"]);
    assert!(with("[\"a\", \"b\", \"d\"]").unwrap_err().to_string().contains("is ambiguous"));
    assert!(with("[\"a\", \"l2\", \"d\"]").unwrap_err().to_string().contains("does not join up"));
}

#[test]
fn every_choice_is_listed() {
    let choices = choices();
    let count = |topic: &str| choices.iter().filter(|choice| choice.topic == topic).count();
    assert_eq!(count("cc"), CcKind::ALL.len());
    for (topic, at_least) in
        [("recovery", 5), ("verdict", 2), ("queue", 8), ("error", 10), ("app", 9), ("middlebox", 1)]
    {
        assert!(count(topic) >= at_least, "{topic}");
    }
    assert!(choices.iter().all(|choice| !choice.summary.is_empty()), "{choices:?}");
}

/// Generated files match the schema. `BLESS=1` writes them.
#[test]
fn generated_files_are_current() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let pages = reference().into_iter().map(|(page, text)| (format!("docs/reference/{page}"), text));
    let types = python_types().map(|(name, text)| (format!("python/bentpipe/scenario/{name}"), text));
    for (path, text) in [("schema/scenario.schema.json".to_owned(), schema)].into_iter().chain(types).chain(pages) {
        let path = root.join(path);
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let current = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(current == text, "{} is stale: run BLESS=1 cargo test", path.display());
    }
}

fn quantity(unit: &'static [&'static str]) -> impl Strategy<Value = Json> {
    (1u32..2000, 0..unit.len()).prop_map(move |(n, at)| Json::from(format!("{n} {}", unit[at])))
}

fn delay() -> impl Strategy<Value = Json> {
    let points =
        (prop::collection::btree_map(1u32..5000, 0u32..900, 0..5), any::<bool>(), prop::option::of(5001u32..9000));
    prop_oneof![
        quantity(&["us", "ms", "ps"]),
        points.prop_map(|(points, linear, every)| {
            let mut list = vec![serde_json::json!(["0 s", "3 ms"])];
            list.extend(points.into_iter().map(|(at, ms)| serde_json::json!([format!("{at} ms"), format!("{ms} ms")])));
            let mut table =
                serde_json::json!({ "points": list, "interpolate": if linear { "linear" } else { "hold" } });
            if let Some(every) = every {
                table["every"] = format!("{every} ms").into();
            }
            table
        }),
        (200u32..36_000, 0u32..80, 1u32..3).prop_map(|(h, e, hops)| serde_json::json!({
            "pass": { "altitude": format!("{h} km"), "elevation_min": format!("{e} deg"), "hops": hops }
        })),
    ]
}

fn error() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::from("none")),
        (0.0..=1.0f64).prop_map(|rate| serde_json::json!({ "kind": "byte", "rate": rate })),
        (0u32..=100).prop_map(|rate| serde_json::json!({ "kind": "packet", "rate": format!("{rate}e-2 %") })),
        (1u32..9, 0.0..=1.0f64).prop_map(|(n, rate)| serde_json::json!({
            "kind": "gilbert-elliott", "mean_good": format!("{n} s"), "mean_bad": "20 ms", "rate_bad": rate, "unit": "bit"
        })),
        prop::collection::btree_set(0u64..1000, 0..5).prop_map(|list| serde_json::json!({ "kind": "arrivals", "list": list })),
        (1u32..900, 1u32..99_999_999, any::<bool>()).prop_map(|(loss, burst, packets)| {
            let burst = if packets { format!("{}e-6 packets", 1_000_000 + burst) } else { format!("{burst} ps") };
            serde_json::json!({
                "kind": "bursts", "mean_loss": format!("{loss}e-4 %"), "mean_burst": burst, "effect": "lose",
            })
        }),
        (prop::collection::btree_map(1u32..5000, 0.0..=1.0f64, 0..5), prop::option::of(5001u32..9000)).prop_map(|(points, every)| {
            let mut list = vec![serde_json::json!(["0 s", "3 %"])];
            list.extend(points.into_iter().map(|(at, rate)| serde_json::json!([format!("{at} ms"), rate])));
            let mut table = serde_json::json!({ "kind": "profile", "unit": "bit", "points": list });
            if let Some(every) = every {
                table["every"] = format!("{every} ms").into();
            }
            table
        }),
    ]
}

/// A key with one of these values, or without it.
fn one(key: &'static str, values: &[&str]) -> impl Strategy<Value = Option<(String, Json)>> {
    let values: Vec<Json> = values.iter().map(|text| serde_json::from_str(text).unwrap_or(Json::from(*text))).collect();
    prop::option::of(prop::sample::select(values)).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
}

fn growth() -> impl Strategy<Value = Vec<(String, Json)>> {
    let slow_starts = [
        "limited",
        "hoe",
        "hystart",
        "hystart++",
        "search",
        r#"{"kind": "search", "window": 1.0, "bins": 2, "extra_bins": 1, "look_back": "least", "leave": "stay"}"#,
        "rapid",
        r#"{"kind": "rapid", "growth": 2.5, "tolerance": "0 s", "factor": 1.0, "bound": "smaller", "k": 1.0}"#,
        r#"{"kind": "limited", "max_ssthresh": "64 kB"}"#,
        r#"{"kind": "hoe", "pairs": 1, "resolution": "0 s"}"#,
        r#"{"kind": "hystart", "detect": "delay", "baseline": "last-round", "delay_max": "1 s"}"#,
        r#"{"kind": "hystart++", "css_rounds": 1, "limit": 1000}"#,
    ];
    let increases = ["constant-rate", "by-k", r#"{"kind": "by-k", "k": 2, "above_rtt": "0 s"}"#];
    let countings = ["per-ack", "abc", "lbc", "ubc", "ubc-pure", r#"{"kind": "abc", "limit": 1}"#];
    (
        one("slow_start", &slow_starts),
        one("increase", &increases),
        one("byte_counting", &countings),
        one("cwnd_validation", &["off", "rfc2861", "rfc7661"]),
        one("idle_restart", &["true", "false"]),
    )
        .prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect())
}

fn tcp() -> impl Strategy<Value = Json> {
    let names: Vec<&str> = CcKind::ALL.iter().map(|kind| kind.name()).collect();
    let options = (
        one("cc", &names),
        one(
            "recovery",
            &[
                "sack",
                "newreno",
                "timeout-only",
                r#"{"kind": "newreno", "timer": "slow-but-steady"}"#,
                r#"{"kind": "sack", "on_rto": "discard"}"#,
                "snack",
                r#"{"kind": "snack", "form": "long", "resnacks": 2, "grows": false, "corruption_experienced": false}"#,
            ],
        ),
        one("initial_window", &["rfc3390", "4 segments", "4380 B", "rfc5681"]),
        one("initial_ssthresh", &["peer-window", "1 bdp", "2.5 bdp", "64 kB", "32 segments"]),
        one("receive_buffer", &["1 bdp", "64 kB", "20 segments", "unlimited", "auto"]),
        one("give_up", &["never", "6 retransmissions", "400 s"]),
        one(
            "rto",
            &[
                r#"{"phase": "0.5 ms"}"#,
                r#"{"granularity": "500 ms", "rounding": "plus-one"}"#,
                r#"{"guard": false, "min": "0 s"}"#,
            ],
        ),
        one("ack", &[r#"{"timer": "free-running"}"#, r#"{"every": 1}"#]),
        one("smss", &["536 B", "1 kB"]),
        one("ecn", &["classic", r#"{"kind": "accurate", "beta": 0.8}"#, "per-segment"]),
        one("pacing", &["window", r#"{"kind": "rate", "rate": "1 Mbit/s", "burst": "3 kB"}"#]),
        one("sharing", &["on", r#"{"kind": "on", "cwnd": "ignore", "ssthresh": false}"#]),
    );
    let losses = (
        growth(),
        one("recovery", &["rack", r#"{"kind": "rack", "tlp": false}"#, r#"{"kind": "sack", "evidence": "fack"}"#]),
        one("reduction", &["at-once"]),
        one("early_retransmit", &["true", "false"]),
        one("spurious_detection", &["off", "frto", "any"]),
        one("spurious_response", &["rfc4015", "restore", "conservative"]),
    );
    (options, losses).prop_map(|((a, b, c, d, e, f, g, h, i, j, k, l), (growth, m, n, o, p, q))| {
        let all = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q];
        Json::Object(all.into_iter().flatten().chain(growth).collect())
    })
}

/// Queues of all kinds.
const QUEUES: [&str; 9] = [
    r#""codel""#,
    r#""fq-codel""#,
    r#"{"kind": "red", "limit": "90 packets", "max_th": 16, "weight": "1 %", "byte_mode": true, "mean_packet": "1 kB"}"#,
    r#"{"kind": "codel", "limit": "0.5 bdp", "target": "30 ms", "interval": "0.6 s", "ecn": true}"#,
    r#"{"kind": "fq-codel", "limit": "1 MB", "queues": 7, "quantum": "300 B", "ecn": false}"#,
    r#"{"kind": "pie", "burst": "0 s", "update": "16 ms", "derandomise": false}"#,
    r#"{"kind": "priority", "class": [{"limit": "2 bdp"}, {}, {"limit": "9 packets"}]}"#,
    r#"{"kind": "wrr", "class": [{"weight": 7}, {"limit": "unlimited"}]}"#,
    r#"{"kind": "drr", "quantum": "9 kB", "class": [{"weight": 2, "limit": "40 kB"}]}"#,
];
fn app() -> impl Strategy<Value = Json> {
    let apps = [
        r#""greedy""#,
        r#"{"kind": "file", "size": "1 MB"}"#,
        r#"{"kind": "bulk", "size": "10 kB", "pause": "1 s"}"#,
        r#"{"kind": "bulk", "size": {"kind": "pareto", "shape": 1.5, "min": "1 kB"}, "pause": {"kind": "pareto", "shape": 2, "mean": "1 s"}, "count": 3, "reconnect": true}"#,
        r#"{"kind": "arrivals", "size": {"kind": "bounded-pareto", "shape": 1.2, "min": "1 kB", "max": "1 MB"}, "interval": "1 s", "overload": true}"#,
        r#"{"kind": "request-response", "response": {"kind": "lognormal", "mean": "10 kB", "sd": "25 kB"}, "wait": "20 ms"}"#,
        r#"{"kind": "records", "size": "3 kB", "interval": {"kind": "exponential", "mean": "1 s"}, "count": 9}"#,
        r#"{"kind": "page", "multiplexed": true, "reading": "1 s"}"#,
        r#"{"kind": "page", "connections": 2, "page_scale": 0.37, "tls_rtts": 2, "count": 7}"#,
        r#"{"kind": "cbr", "rate": "10 kbit/s", "jitter": "100 ms"}"#,
        r#"{"kind": "poisson", "rate": "10 kbit/s", "size": "100 B"}"#,
        r#"{"kind": "probe", "interval": "20 ms", "size": "100 B", "count": 5}"#,
        r#"{"kind": "probe", "times": ["0 s", "1.5 ms", "2 s"]}"#,
        r#"{"kind": "carousel", "file": "3 MB", "rate": "10 kbit/s", "repair": 7}"#,
        r#"{"kind": "on-off", "peak": "10 kbit/s", "on": "1 s", "off": {"kind": "exponential", "mean": "2 s"}}"#,
    ];
    prop::sample::select(apps.map(|text| serde_json::from_str::<Json>(text).unwrap()).to_vec())
}

/// Changes in a ring of four nodes.
const TIMELINES: &[&str] = &[
    "[]",
    r#"[{ "time": "2.5 s", "up": ["l 0"] }, { "time": "0 s", "down": ["l 0", "l 1.reverse"], "waiting": "kept" }]"#,
    r#"[{ "time": "1 s", "withdraw": ["f.0-{n}.reverse"] }, { "time": "1 s", "down": ["l 2"], "waiting": "kept" },
        { "time": "1 s", "down": ["l 3.forward"], "waiting": "kept", "in_flight": "delivered" }]"#,
    r#"[{ "time": "1 s", "handover": [{ "from": "l 0", "to": "l 4", "break_before_make": "80 ms" }], "waiting": "rerouted" }]"#,
    r#"[{ "time": "1 s", "handover": [{ "from": "n1", "to": "n3", "make_before_break": "80 ms" }] }]"#,
];

fn scenario() -> impl Strategy<Value = Json> {
    let queue = prop_oneof![
        2 => quantity(&["bdp", "packets", "kB"]),
        1 => Just(Json::from("unlimited")),
        2 => prop::sample::select(QUEUES.to_vec()).prop_map(|queue| serde_json::from_str(queue).unwrap()),
    ];
    let link = (quantity(&["kbit/s", "bit/s", "Mbit/s"]), delay(), queue, error(), error(), 0u32..3, any::<bool>());
    let link = link.prop_map(|(rate, delay, queue, error, back, outage, interleave)| {
        let mut link = serde_json::json!({ "rate": rate, "delay": delay, "queue": queue, "error": error, "reverse": { "error": back } });
        match outage {
            0 => link["outage"] = serde_json::json!({ "spans": [["1 s", "2 s"]], "every": "3.5 s" }),
            1 => link["outage"] = serde_json::json!({ "mean_up": "1 s", "mean_down": "20 ms", "queue": "flush" }),
            _ => {}
        }
        if interleave {
            link["framing"] = "mpe".into();
            link["shaper"] = serde_json::json!({ "rate": "1 Mbit/s", "burst": "9 kB" });
            link["forward"] = serde_json::json!({ "policer": { "rate": "2 Mbit/s", "burst": "9 kB", "after": "50 GB" } });
            link["reverse"]["framing"] = serde_json::json!({ "kind": "frames", "overhead": "7 B", "stuffed": 2 });
        }
        if interleave && link["error"]["unit"] == "bit" {
            link["forward"]["interleave"] = serde_json::json!({ "span": "3.25 ms", "codeword": "100 B" });
        }
        link
    });
    let at = prop::sample::select(TIMELINES.to_vec()).prop_map(|at| serde_json::from_str::<Json>(at).unwrap());
    let ends = (0usize..4, 1usize..4, app());
    (prop::collection::vec(link, 4..8), prop::collection::vec((ends, tcp(), 1u32..4), 1..4), tcp(), text_of(visible(), 20), any::<u64>(), at).prop_map(
        |(links, flows, tcp, title, seed, at)| {
            let mut link = serde_json::Map::new();
            // A ring of four nodes, then parallel links.
            for (n, mut entry) in links.into_iter().enumerate() {
                entry["from"] = format!("n{}", n % 4).into();
                entry["to"] = format!("n{}", (n + 1) % 4).into();
                link.insert(format!("l {n}"), entry);
            }
            let flow: serde_json::Map<String, Json> = flows
                .into_iter()
                .enumerate()
                .map(|(n, ((from, step, app), tcp, count))| {
                    let is_datagrams = ["cbr", "carousel", "poisson", "on-off", "probe"].contains(&app["kind"].as_str().unwrap_or(""));
                    let mut flow = serde_json::json!({
                        "from": format!("n{from}"), "to": format!("n{}", (from + step) % 4), "count": count, "app": app,
                    });
                    if !is_datagrams {
                        flow["tcp"] = tcp;
                        flow["reader"] = serde_json::json!({ "rate": "12345 bit/s", "every": "1.5 s" });
                    }
                    (format!("f.{n}-{{n}}"), flow)
                })
                .collect();
            serde_json::json!({ "title": title, "seed": seed, "duration": "5 s", "tcp": tcp, "link": link, "flow": flow, "at": at })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_is_read_back(json in scenario()) {
        // A few combinations are rejected (a phase beyond the granularity). This test does not concern them.
        if let Ok(resolved) = from_json(&json.to_string(), "", &[]) {
            let toml = resolved.to_toml();
            let again = from_toml(&toml, "again", &[]);
            let again = again.unwrap_or_else(|problems| panic!("{problems}\n{toml}"));
            prop_assert_eq!(&again.scenario, &resolved.scenario);
            prop_assert_eq!(again.digest(), resolved.digest());
            let json = resolved.to_json().to_string();
            prop_assert_eq!(from_json(&json, "", &[]).unwrap().scenario, resolved.scenario);
        }
    }

    #[test]
    fn nothing_that_is_typed_panics(text in text_of(any::<char>(), 200), key in text_of(any::<char>(), 20)) {
        let _ = from_toml(&text, "f", &[(key.clone(), text.clone())]).map(drop);
        let _ = from_json(&text, "f", &[]).map(drop);
        let _ = set(&key, &text).map(drop);
    }

    #[test]
    fn no_mutation_panics(at in 0..FULL.len(), cut in 0usize..30, put in text_of(prop_oneof![visible(), letter_of("-0123456789{}[]\"=. \n")], 8)) {
        let clamp = |mut at: usize| { while !FULL.is_char_boundary(at) { at -= 1; } at };
        let (from, to) = (clamp(at), clamp((at + cut).min(FULL.len())));
        let _ = from_toml(&format!("{}{put}{}", &FULL[..from], &FULL[to..]), "f", &[]).map(drop);
    }

    #[test]
    fn no_json_panics(key in prop::sample::select(vec!["tcp", "node", "link", "flow", "record", "duration", "link.up{n}.rate", "flow.f.tcp.cc"]),
                      value in json()) {
        let _ = from_toml(FULL, "f", &[(key.into(), value.to_string().replace(':', "="))]).map(drop);
        let mut whole = serde_json::json!({ "duration": "1 s", "link": {}, "flow": {} });
        whole[key] = value;
        let _ = from_json(&whole.to_string(), "f", &[]).map(drop);
    }
}

fn letter_of(letters: &str) -> impl Strategy<Value = char> {
    prop::sample::select(letters.chars().collect::<Vec<_>>())
}

/// Letters of several scripts and lengths in UTF-8, without those that control.
fn visible() -> impl Strategy<Value = char> {
    prop::char::ranges(vec![' '..='~', '¡'..='ʯ', 'α'..='ω', '一'..='丿', '😀'..='🙏'].into())
}

fn text_of(letters: impl Strategy<Value = char>, most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(letters, 0..=most).prop_map(|letters| letters.into_iter().collect())
}

fn json() -> impl Strategy<Value = Json> {
    let known = ["kind", "points", "every", "none", "packet", "rate", "a", "b", "from", "to", "0 s", "1 bdp"];
    let word =
        prop_oneof![12 => prop::sample::select(known.map(String::from).to_vec()), 1 => text_of(visible(), 3)].boxed();
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        word.clone().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(word.clone(), inner, 0..5)
                .prop_map(|table| Json::Object(table.into_iter().collect())),
        ]
    })
}
