//! A cache on board: the worked case, what becomes of requests that it answers beside those that it sends on, and what is refused.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Two stations ask a server for the same 10 kB, which fit the initial window; the satellite is halfway, 135 ms from them and
/// 145 ms from the server.
const PATH: &str = r#"
duration = "60 s"
[tcp]
like = "rfc"
processing = "0 s"
[node.sat]
kind = "processing"
middlebox = ["cache"]
[link.down]
from = "s{n}"
to = "sat"
count = 2
rate = "10 Mbit/s"
delay = "135 ms"
[link.up]
from = "sat"
to = "server"
rate = "10 Mbit/s"
delay = "145 ms"
[flow.f]
from = "s{n}"
to = "server"
count = 2
app = { kind = "request-response", response = "10 kB", count = 1, catalogue = { objects = 2 } }
"#;

fn run(sets: &[(&str, &str)]) -> RunResult {
    run_text(PATH, sets)
}

fn durations(result: &RunResult) -> Vec<f64> {
    result.transfers.real("duration_s").to_vec()
}

/// Bytes that the server's link carried towards the satellite.
fn from_server(result: &RunResult) -> u64 {
    let at = result.links.text("link").iter().position(|link| link == "up.reverse").unwrap();
    result.links.whole("carried_bytes")[at] as u64
}

fn noted(result: &RunResult) -> &str {
    result.notes.iter().find(|note| note.contains("\"cache\"")).unwrap()
}

const ONE_AFTER_THE_OTHER: (&str, &str) = ("flow.f.start", "{ uniform = ['0 s', '30 s'] }");

/// Without a cache an answer takes two round trips of 560 ms. The first one with it: the satellite answers the SYN (270 ms) and has
/// the request after 405 ms; its own connection is open after 425 ms, and the answer is there 290 ms later, and 135 ms later at the
/// station: 850 ms. The second one takes two round trips to the satellite: 540 ms. Sending takes 9 ms.
#[test]
fn what_was_asked_for_before_comes_from_the_satellite() {
    let plain = run(&[("node.sat.middlebox", "[]"), ONE_AFTER_THE_OTHER]);
    let cached = run(&[ONE_AFTER_THE_OTHER]);
    for (measured, expected) in durations(&plain).into_iter().zip([1.12, 1.12]) {
        assert!((measured - expected - 0.01).abs() < 0.005, "{measured} {expected}");
    }
    for (measured, expected) in durations(&cached).into_iter().zip([0.85, 0.54]) {
        assert!((measured - expected - 0.01).abs() < 0.005, "{measured} {expected}");
    }
    assert!(noted(&cached).ends_with("answered 1 of 2 requests, 50.0 % of the bytes asked for"), "{:?}", cached.notes);
    // Of the second answer the opening and the closing of a connection are left: three packets each of forty bytes and options.
    let saved = from_server(&plain) - from_server(&cached);
    assert!((10_000..10_000 + 8 * 60).contains(&saved), "{saved}");
    assert_eq!(cached.flows.text("outcome"), ["completed", "completed"]);
}

/// On one connection each: 1, 2, 1, 2, 1 of the first station, so that two are fetched and three are here; the second one, which asks
/// for three objects in turn, fetches the third alone, between two that are here. In a cache without room for two each drives
/// out the one that is next: only what the first station asked for last is there for the second.
#[test]
fn answers_from_the_cache_and_from_the_server_come_on_one_connection() {
    let apps = [
        ("flow.f1.app.count", "5"),
        ("flow.f2.app.count", "4"),
        ("flow.f2.app.catalogue.objects", "3"),
        ("flow.f1.start", "0 s"),
        ("flow.f2.start", "20 s"),
    ];
    let text = two_flows();
    let result = run_text(&text, &apps);
    assert_eq!(result.summary.whole("transfers")[0], 9);
    assert!(noted(&result).ends_with("answered 6 of 9 requests, 66.7 % of the bytes asked for"), "{:?}", result.notes);
    // Answers, and the requests that the server saw.
    assert_eq!(result.flows.whole("delivered_bytes"), [50_000 + 2 * 350, 40_000 + 350]);
    let tight = [&apps[..], &[("node.sat.middlebox", "[{ kind = 'cache', room = '15 kB' }]")]].concat();
    assert!(noted(&run_text(&text, &tight)).contains("answered 1 of 9"));
}

fn two_flows() -> String {
    let (head, flow) = PATH.split_once("[flow.f]").unwrap();
    let flow = flow.replace("count = 2\n", "");
    format!("{head}[flow.f1]{}[flow.f2]{}", flow.replace("s{n}", "s1"), flow.replace("s{n}", "s2"))
}

fn run_text(text: &str, sets: &[(&str, &str)]) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = from_toml(text, "test.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

/// Pages of four objects over two connections, on a link that loses: all come, and the second reader's from the satellite.
#[test]
fn pages_are_made_of_objects_that_are_kept_one_by_one() {
    let page = "{ kind = 'page', main = '20 kB', object = { kind = 'exponential', mean = '50 kB' }, objects = 4, connections = 2, \
                reading = '1 s', parse = '100 ms', count = 3, catalogue = { objects = 3 } }";
    let sets = [
        ("flow.f1.app", page),
        ("flow.f2.app", page),
        ("flow.f2.start", "30 s"),
        ("link.down.error", "{ kind = 'packet', rate = '1 %' }"),
        ("link.up.error", "{ kind = 'packet', rate = '1 %' }"),
    ];
    let text = two_flows();
    let result = run_text(&text, &sets);
    assert_eq!(result.summary.whole("transfers")[0], 6);
    assert!(noted(&result).contains("answered 15 of 30 requests"), "{:?}", result.notes);
    let sizes = result.transfers.whole("size_bytes");
    assert_eq!(sizes[..3], sizes[3..], "the same pages for both");
    assert_eq!(result.flows.text("outcome"), ["completed", "completed"]);
}

#[test]
fn what_a_cache_cannot_do_is_refused_with_what_helps() {
    let catalogue = "catalogue = { objects = 2 }";
    let refused = |from: &str, to: &str| {
        let text = two_flows().replace(from, to);
        from_toml(&text, "test.toml", &[]).unwrap_err().to_string()
    };
    let problem = refused(&format!(", {catalogue}"), "");
    assert!(problem.contains("has no objects to keep: no flow past \"sat\" requests named objects"), "{problem}");
    assert!(problem.contains("expected catalogue in an app"), "{problem}");
    let problem = refused("[\"cache\"]", "[{ kind = \"cache\", room = \"0 B\" }]");
    assert!(problem.contains("is too small"), "{problem}");
    let problem = refused("kind = \"processing\"", "kind = \"bent-pipe\"");
    assert!(problem.contains("bent pipe"), "{problem}");
    for other in ["multiplexed = true", "tls_rtts = 1"] {
        let page = format!("{{ kind = \"page\", {other}, {catalogue} }}");
        let problem =
            refused(&format!("{{ kind = \"request-response\", response = \"10 kB\", count = 1, {catalogue} }}"), &page);
        assert!(problem.contains("has no effect with"), "{problem}");
    }
}
