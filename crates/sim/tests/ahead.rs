//! Work ahead of time in the bundled scenarios, as a table of the page "Performance". `BLESS=1` writes it.

use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Ahead, Network};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const PAGE: &str = "../../docs/validation/performance.md";
const MARKS: [&str; 2] = ["<!-- ahead -->\n", "<!-- end of ahead -->\n"];

/// Simulated time of each run at most.
const DURATION_S: f64 = 30.0;

const HEAD: &str = "\n| scenario | hops for an event | horizon, s | end, change, % | sample, % | flow, % | none, % |\n\
                    |---|---:|---:|---:|---:|---:|---:|\n";

struct Run {
    hops: f64,
    events: f64,
    seconds: f64,
    ahead: Ahead,
}

fn run(name: &str, text: &str) -> Run {
    let load = |sets: &[(String, String)]| {
        from_toml(text, name, sets).unwrap_or_else(|problems| panic!("{name}: {problems}")).scenario
    };
    let whole = load(&[]).duration.as_secs_f64();
    let scenario = load(&[("duration".to_owned(), format!("{} s", whole.min(DURATION_S)))]);
    let (mut network, mut events) = (Network::build(&scenario, scenario.seed), 0.0);
    while !network.run(1) {
        events += 1.0;
    }
    let (ahead, seconds) = (network.ahead(), network.now().as_secs_f64());
    let hops = network.finish().unwrap().summary.whole("packet_hops")[0] as f64;
    Run { hops, events, seconds, ahead }
}

/// Name and text of each bundled scenario, but those over QUIC, whose stack another crate has.
fn scenarios() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/bentpipe/scenario/shipped");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let all = paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap()));
    all.filter(|(_, text)| !text.contains("\nquic = ")).collect()
}

#[test]
fn the_page_says_how_far_each_bundled_scenario_works_ahead() {
    let mut table = HEAD.to_owned();
    for (name, text) in scenarios() {
        let Run { hops, events, seconds, ahead } = run(&name, &text);
        let share = |span: bentpipe_units::Duration| 100.0 * span.as_secs_f64() / seconds;
        let [change, sample, flow] = ahead.limits.map(share);
        let (without, horizon) = (share(ahead.without), ahead.distance / seconds);
        assert!((change + sample + flow + without - 100.0).abs() < 0.1, "{name}");
        writeln!(
            table,
            "| `{name}` | {:.1} | {horizon:.2} | {change:.0} | {sample:.0} | {flow:.0} | {without:.0} |",
            hops / events
        )
        .unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let [(before, rest), (_, after)] = [page.split_once(MARKS[0]), page.split_once(MARKS[1])].map(Option::unwrap);
    assert!(rest.contains(MARKS[1]));
    let page_now = format!("{before}{}{table}\n{}{after}", MARKS[0], MARKS[1]);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page_now).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == page_now, "{PAGE} is stale: run BLESS=1 cargo test");
}

/// Two links end at one host, and the route moves from the slow one to the fast one. AT: the moves.
const TWO_LINKS: &str = r#"
duration = "6 s"
[tcp]
like = "rfc"
[link.slow]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "400 ms"
[link.fast]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "20 ms"
[flow.f]
from = "a"
to = "b"
route = ["slow"]
[record]
series = [SERIES]
AT
"#;

/// Packets of both links meet at the host, which must see them in the order of their arrivals. A series of changes has no work
/// ahead, and shows the order.
#[test]
fn a_route_that_moves_brings_packets_of_two_links_in_order() {
    let moved = "[[at]]\ntime = '2 s'\ninstall = [{ flow = 'f', route = ['fast'] }]\n";
    let lost = format!("{moved}down = ['slow.forward']\n");
    for at in [moved, lost.as_str()] {
        let result = |series: &str| {
            let text = TWO_LINKS.replace("SERIES", series).replace("AT", at);
            let scenario = from_toml(&text, "links", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
            let mut network = Network::build(&scenario, 1);
            while !network.run(u64::MAX) {}
            let ahead = network.ahead().distance;
            let result = network.finish().unwrap();
            (ahead, result.flows, result.links, result.drops)
        };
        let (ahead, in_order) = (result(""), result("'losses'"));
        assert!(ahead.0 > 0.0);
        assert_eq!((ahead.1, ahead.2, ahead.3), (in_order.1, in_order.2, in_order.3), "{at}");
    }
}

/// Flows over plain links that merge.
const PLAIN: &str = r#"
[link.up]
from = "a{n}"
to = "b"
count = 4
rate = "20 Mbit/s"
delay = "5 ms"
[link.one]
from = "b"
to = "c"
rate = "20 Mbit/s"
delay = "20 ms"
[link.down]
from = "c"
to = "d{n}"
count = 4
rate = "20 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a{n}"
to = "d{n}"
count = 4
"#;

/// A transfer over a link in a medium, whose way back is plain.
const SHARED: &str = r#"
[medium.m]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 1
controller = "y"
[link.other]
from = "x"
to = "y"
delay = "250 ms"
forward = { medium = "m", es_n0 = "9 dB", access = { constant = "64 kbit/s" } }
reverse = { rate = "1 Mbit/s" }
[link.beyond]
from = "y"
to = "z"
rate = "1 Mbit/s"
delay = "5 ms"
[flow.g]
from = "x"
to = "z"
"#;

/// The events of a run, and its rows of flows.
fn events_of(parts: &[&str]) -> (u64, Vec<(String, i64, i64)>) {
    let text = format!("duration = \"20 s\"\n[tcp]\nlike = \"rfc\"\n{}", parts.concat());
    let scenario = from_toml(&text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let (mut network, mut events) = (Network::build(&scenario, 1), 0);
    while !network.run(1) {
        events += 1;
    }
    let flows = network.finish().expect("no middlebox fails").flows;
    let counts = flows.whole("sent_packets").iter().zip(flows.whole("acked_bytes"));
    let rows = flows.text("flow").iter().cloned().zip(counts).map(|(flow, (sent, acked))| (flow, *sent, *acked));
    (events, rows.collect())
}

/// A medium reads the queues of its links only: other lanes work ahead of time as if there were none.
#[test]
fn a_medium_limits_only_its_own_lanes() {
    let (plain, of_plain) = events_of(&[PLAIN]);
    let (shared, of_shared) = events_of(&[SHARED]);
    let (both, of_both) = events_of(&[PLAIN, SHARED]);
    assert_eq!(of_both, [of_plain.clone(), of_shared].concat());
    assert!(both <= plain + shared + plain / 50, "{both} events, not {plain} and {shared}");
    let packets: i64 = of_plain.iter().map(|(_, sent, _)| sent).sum();
    assert!(plain < packets as u64 * 2, "{plain} events for {packets} packets there, their ACKs, and six links");
}
