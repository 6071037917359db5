//! Pages over streams: 30 objects of 50 kB over GEO, 20/2 Mbit/s.

use crate::network::{run, run_over};
use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;

/// A page of these objects, named by a small main object without delay.
const PAGE: &str = "kind = 'page', main = '500 B', object = '50 kB', objects = 30, parse = '0 s', count = 1";

const OBJECTS: &str = "[record]\nseries = ['objects']";

fn objects(result: &RunResult) -> &Table {
    let (_, table) = result.series.iter().find(|(name, _)| name == "objects").expect("objects are recorded");
    table
}

fn load(link: &str, app: &str, quic: &str) -> RunResult {
    let result = run_over(link, &format!("app = {{ {PAGE}, {app} }}\nquic = {{ {quic} }}"), OBJECTS, 1);
    assert_eq!(result.flows.text("outcome"), ["completed"], "{:?}", result.quic.text("failure"));
    result
}

/// Times from the requests to the last bytes of the embedded objects, in the order of the requests.
fn times(result: &RunResult) -> Vec<f64> {
    let table = objects(result);
    let mut times = vec![f64::NAN; 31];
    for (row, object) in table.whole("object").iter().enumerate() {
        times[*object as usize] = table.real("last_byte_s")[row] - table.real("request_s")[row];
    }
    times.split_off(1)
}

/// Test 13 of the specification: in turn, the first object is there before half of the time of the last; a packet of each in
/// turn, all are there at the end.
#[test]
fn the_order_of_streams_decides_when_objects_are_there() {
    let in_turn = times(&load("", "", "send_order = 'in-turn'"));
    let round_robin = times(&load("", "", ""));
    assert!(in_turn.is_sorted() && in_turn[0] < 0.5 * in_turn[29], "{in_turn:?}");
    let first = round_robin.iter().fold(f64::INFINITY, |first, time| first.min(*time));
    let last = round_robin.iter().fold(0.0, |last: f64, time| last.max(*time));
    assert!(first > 0.95 * last, "{round_robin:?}");
    assert!((in_turn[29] / last - 1.0).abs() < 0.05, "{in_turn:?} {round_robin:?}");
}

/// A lost packet delays the object whose data it has, for a round trip. Later objects overtake it. Over TCP they wait for it.
#[test]
fn objects_overtake_one_with_a_loss() {
    let error = "error = { kind = 'arrivals', list = [400] }";
    let overtaken = |found: &[f64]| (0..29).filter(|object| found[*object] > found[object + 1]).count();
    let quic = times(&load(error, "", "send_order = 'in-turn'"));
    assert_eq!(overtaken(&quic), 1, "{quic:?}");
    let tcp = run_over(error, &format!("app = {{ {PAGE}, multiplexed = true }}"), OBJECTS, 1);
    assert!(!tcp.drops.is_empty() && overtaken(&times(&tcp)) == 0, "{:?}", times(&tcp));
}

/// Requests of a first visit leave after one round trip, and those of a resumed session with the first packet.
#[test]
fn early_data_carries_the_first_request() {
    let first = |quic: &str| objects(&load("", "", quic)).real("first_byte_s")[0];
    let (fresh, early) = (first(""), first("handshake = { resume = '0-rtt', address_token = true }"));
    // Two round trips and one, of 0.6 s, and the times to send.
    assert!((1.2..1.23).contains(&fresh) && (0.6..0.63).contains(&early), "{fresh} {early}");
}

/// Objects wait for those that name them, and servers wait before they answer, as over TCP.
#[test]
fn objects_depend_on_each_other_as_over_tcp() {
    let object = |bytes: u64, after: u64, more: &str| format!("{{ bytes = '{bytes} B', after = {after}{more} }}");
    let listed = [
        object(5000, 0, ""),
        object(3000, 0, ", is_early = true, delay = '40 ms'"),
        object(4000, 1, ", wait = '700 ms', host = 1"),
        object(2000, 1, ", delay = '10 ms'"),
    ];
    let app = format!("app = {{ kind = 'page', recorded = [{}], count = 2, reading = '5 s' }}", listed.join(", "));
    let [tcp, quic] = ["tcp = {}", "quic = {}"].map(|transport| run(&format!("{app}\n{transport}"), OBJECTS));
    for result in [&tcp, &quic] {
        assert_eq!(result.flows.text("outcome"), ["completed"]);
        assert_eq!(result.transfers.len(), 2);
        let [due, request, first, last] =
            ["due_s", "request_s", "first_byte_s", "last_byte_s"].map(|name| objects(result).real(name).to_vec());
        let (object, page) = (objects(result).whole("object"), objects(result).whole("page"));
        let at = |number: i64| (0..object.len()).find(|row| object[*row] == number && page[*row] == 0).unwrap();
        let [main, early, late, small] = [0, 1, 2, 3].map(at);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(due[early], first[main] + 0.04);
        near(due[late], last[early]);
        near(due[small], last[early] + 0.01);
        assert!(request.iter().zip(&due).all(|(request, due)| request >= due));
        // Another host: a handshake, a request, and its wait. The same host: a request.
        for (object, least) in [(late, 1.9), (small, 0.6)] {
            let waited = first[object] - due[object];
            assert!((least..least + 0.03).contains(&waited), "{object}: {waited}");
        }
    }
}

/// Keys that QUIC decides, with the reason; the resolved scenario has their values.
#[test]
fn keys_that_quic_decides_are_refused() {
    use bentpipe_sim::scenario::from_toml;
    let text = |app: &str| {
        format!(
            "duration = '1 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.f]\nfrom = 'a'\nto = 'b'\n\
             app = {{ kind = 'page'{app} }}\nquic = {{}}"
        )
    };
    for (app, reason) in [
        (", tls_rtts = 1", "has no effect: the handshake of QUIC secures the connection"),
        (", multiplexed = false", "has no effect: each object has a stream of QUIC"),
        (", connections = 3", "has no effect: QUIC has one connection to each host"),
        (", catalogue = { objects = 5 }", "has no effect: a cache cannot read requests over QUIC"),
    ] {
        let problems = from_toml(&text(app), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(reason), "{app}: {problems}");
    }
    for app in ["", ", tls_rtts = 0, multiplexed = true", ", model = '3gpp2'"] {
        let written = from_toml(&text(app), "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).to_toml();
        assert!(written.contains("multiplexed = true") && written.contains("tls_rtts = 0"), "{written}");
    }
}

/// A connection that no object uses times out. The page goes on, over a new connection.
#[test]
fn an_idle_connection_may_time_out() {
    let listed =
        "{ bytes = '5 kB' }, { bytes = '5 kB', host = 1 }, { bytes = '5 kB', host = 1, after = 1, delay = '20 s' }";
    let flow =
        format!("app = {{ kind = 'page', recorded = [{listed}], count = 1 }}\nquic = {{ idle_timeout = '2 s' }}");
    let result = run(&flow, OBJECTS);
    assert_eq!(result.flows.text("outcome"), ["completed"], "{:?}", result.quic.text("failure"));
    // A handshake and a request: 1.2 s.
    let waited = objects(&result).real("first_byte_s")[2] - objects(&result).real("due_s")[2];
    assert!((1.2..1.23).contains(&waited), "{waited}");
}
