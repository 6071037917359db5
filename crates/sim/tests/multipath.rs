//! Flows over several paths against the worked cases of their specification, in virtual time.

use bentpipe_sim::dictionary::Table;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::spec::{Multi, Scenario, Subflow, Transport};
use bentpipe_sim::{Fate, Network, Sighting, Witness};
use bentpipe_tcp::multi::MultiConfig;
use bentpipe_tcp::{Flags, Segment};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// LEO with a round trip of 40 ms, GEO with one of 600 ms.
fn paths(leo: &str, geo: &str) -> String {
    let link = |name: &str, to: &str, rate: &str, delay: &str| {
        format!("[link.{name}]\nfrom = 'server'\nto = '{to}'\nrate = '{rate}'\ndelay = '{delay}'\nqueue = '2 MB'\n")
    };
    let last = "[link.last]\nfrom = 'hub'\nto = 'ship'\nrate = '100 Gbit/s'\ndelay = '1 ms'\n";
    format!("{}{}{last}", link("leo", "ship", leo, "20 ms"), link("geo", "hub", geo, "299 ms"))
}

/// A flow over both.
fn flow(app: &str, multipath: &str) -> String {
    format!(
        "[flow.f]\nfrom = 'server'\nto = 'ship'\napp = {app}\nmultipath = {{ {multipath} }}\n\
         [flow.f.subflow.leo]\nroute = ['server', 'ship']\nreverse_route = ['ship', 'server']\n\
         [flow.f.subflow.geo]\nroute = ['server', 'hub', 'ship']\nreverse_route = ['ship', 'hub', 'server']\n"
    )
}

fn read(text: &str, sets: &[(&str, &str)]) -> Arc<Scenario> {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    from_toml(text, "multipath", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario
}

fn run_scenario(scenario: &Arc<Scenario>) -> RunResult {
    let mut network = Network::build(scenario, scenario.seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

fn run(text: &str, sets: &[(&str, &str)]) -> RunResult {
    let result = run_scenario(&read(text, sets));
    conserved(&result);
    result
}

/// The subflows brought each byte of the data once, and the data in order are no more than they brought.
fn conserved(result: &RunResult) {
    let delivered = result.flows.whole("delivered_bytes")[0];
    let shares: f64 = result.subflows.real("delivered_share").iter().sum();
    assert!((shares - 1.0).abs() < 1e-9, "{:?}", result.subflows);
    let arrived: f64 = result.subflows.real("throughput_bps").iter().sum();
    let run_s = result.summary.real("simulated_s")[0];
    let arrived = arrived * run_s / 8.0;
    let twice = result.flows.whole("data_duplicate_bytes")[0];
    assert!(delivered as f64 <= arrived - twice as f64 + 1.0, "{delivered} of {arrived} less {twice}");
}

/// When the second transfer, whose data is given to two open subflows, was delivered.
fn second(result: &RunResult) -> f64 {
    assert_eq!(result.transfers.len(), 2, "{:?}", result.transfers);
    result.transfers.real("duration_rx_s")[1]
}

/// Worked case 6: 20 segments, ten or eleven in each window, rates without limit. In slow start BLEST expects a window that would fill
/// the receive buffer, and waits.
#[test]
fn twenty_segments_over_leo_and_geo() {
    // Each transfer has 20 segments of 1440 B.
    // Both subflows are open at the second, and out of slow start.
    let app = "{ kind = 'bulk', size = '28800 B', count = 2, pause = '5 s' }";
    for (scheduler, expected) in [("min-rtt", 0.30), ("blest", 0.30), ("ecf", 0.06), ("redundant", 0.06)] {
        let multipath = format!("scheduler = '{scheduler}', receive_buffer = '4 MB'");
        let head = "duration = '20 s'\n[tcp]\nlike = 'rfc'\ninitial_window = '10 segments'\ninitial_ssthresh = '5 segments'\nprocessing = '0 s'\n\
                    idle_restart = false\n";
        let text = format!("{head}{}{}", paths("100 Gbit/s", "100 Gbit/s"), flow(app, &multipath));
        let at = second(&run(&text, &[]));
        assert!((at - expected).abs() < 0.005, "{scheduler}: {at} s");
    }
}

/// Worked case 7: below the sum of the rates times the longest round trip, 9 MB, the sum is not reached. With twice that it is.
#[test]
fn the_receive_buffer_bounds_the_sum() {
    let goodput = |buffer: &str| {
        let multipath = format!("receive_buffer = '{buffer}', coupling = 'none'");
        let head = "duration = '60 s'\n[tcp]\nlike = 'linux-6'\n";
        let text = format!("{head}{}{}", paths("100 Mbit/s", "20 Mbit/s"), flow("'greedy'", &multipath));
        run(&text, &[]).flows.real("goodput_bps")[0]
    };
    let (small, large) = (goodput("1 MB"), goodput("18 MB"));
    assert!(large > 0.85 * 120e6, "{large}");
    assert!(small < 0.9 * large, "{small} with a small buffer, {large} with a large one");
}

/// The instants of an event of a subflow.
fn instants(events: &Table, of: &str, kind: &str) -> Vec<f64> {
    let rows = events.text("flow").iter().zip(events.text("event")).zip(events.real("time_s"));
    rows.filter(|((flow, event), _)| *flow == of && *event == kind).map(|(_, at)| *at).collect()
}

/// Worked case 8: the LEO link goes down at 10 s. Its data go to GEO when its timer expires, after srtt + 200 ms; or at
/// once with a notice.
#[test]
fn data_of_a_link_that_goes_down_go_over_the_other() {
    let at = "[[at]]\ntime = '10 s'\nwithdraw = ['f.leo']\ndown = ['leo']\n[[at]]\ntime = '20 s'\nup = ['leo']\n\
              install = [{ flow = 'f.leo', route = ['server', 'ship'], reverse_route = ['ship', 'server'] }]\n";
    for (on, earliest, latest) in [("rto", 10.2, 10.45), ("told", 10.0, 10.0001)] {
        let multipath = format!("receive_buffer = '16 MB', reinject = {{ on = '{on}' }}");
        let head = "duration = '60 s'\n[tcp]\nlike = 'linux-6'\n[record]\nseries = ['events']\n";
        let text = format!(
            "{head}{}{}{at}",
            paths("20 Mbit/s", "10 Mbit/s").replacen("2 MB", "50 kB", 1),
            flow("{ kind = 'file', size = '60 MB' }", &multipath)
        );
        let result = run(&text, &[]);
        let failed = instants(&result.events, "f.leo", "subflow_failed");
        assert!((earliest..=latest).contains(&failed[0]), "{on}: {failed:?}");
        let reinjected: Vec<f64> =
            instants(&result.events, "f.geo", "reinjected").into_iter().filter(|at| *at >= 10.0).collect();
        // GEO takes them when its window has room.
        assert!(
            (earliest..=latest + 0.01).contains(&reinjected[0]),
            "{on}: {:?}",
            &reinjected[..3.min(reinjected.len())]
        );
        assert_eq!(result.flows.text("outcome"), ["completed"], "{on}");
        assert_eq!(result.flows.whole("delivered_bytes"), [60_000_000], "{on}");
        let restored = instants(&result.events, "f.leo", "subflow_restored");
        assert!(restored.first().is_some_and(|at| *at >= 20.0), "{on}: {restored:?}");
    }
}

/// Worked case 9: two subflows over one bottleneck against one connection with the same round trip.
#[test]
fn coupled_subflows_take_as_much_as_one_connection() {
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        format!(
            "[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '{rate}'\ndelay = '10 ms'\nqueue = '100 packets'\n"
        )
    };
    let links = [
        link("s1", "a", "x", "1 Gbit/s"),
        link("s2", "a", "y", "1 Gbit/s"),
        link("s3", "x", "m", "1 Gbit/s"),
        link("s4", "y", "m", "1 Gbit/s"),
        // Losses of its early drops are independent: with a full queue, all would halve their windows at once.
        link("narrow", "m", "n", "10 Mbit/s").replace("'100 packets'", "{ kind = 'red', limit = '200 packets' }"),
        link("e1", "n", "b", "1 Gbit/s"),
        link("s5", "c", "z", "1 Gbit/s"),
        link("s6", "z", "m", "1 Gbit/s"),
        link("e2", "n", "d", "1 Gbit/s"),
    ]
    .concat();
    let share = |coupling: &str, seed: u64| {
        let text = format!(
            "duration = '200 s'\nseed = {seed}\n[tcp]\nlike = 'rfc'\ncc = 'sack'\n{links}\
             [flow.f]\nfrom = 'a'\nto = 'b'\nmultipath = {{ coupling = '{coupling}' }}\n\
             [flow.f.subflow.one]\nroute = ['a', 'x', 'm', 'n', 'b']\nreverse_route = ['b', 'n', 'm', 'x', 'a']\n\
             [flow.f.subflow.two]\nroute = ['a', 'y', 'm', 'n', 'b']\nreverse_route = ['b', 'n', 'm', 'y', 'a']\n\
             [flow.g]\nfrom = 'c'\nto = 'd'\nroute = ['c', 'z', 'm', 'n', 'd']\n"
        );
        // Packets have the same size, and differ in their payload.
        let sent = run(&text, &[]).flows.whole("sent_packets").to_vec();
        sent[0] as f64 / (sent[0] + sent[1]) as f64
    };
    let mean = |coupling: &str| (1..=8).map(|seed| share(coupling, seed)).sum::<f64>() / 8.0;
    let expected = [("none", 2.0 / 3.0), ("lia", 0.5), ("olia", 0.5), ("balia", 0.5)];
    let found = expected.map(|(coupling, expected)| (coupling, mean(coupling), expected));
    assert!(found.iter().all(|(_, share, expected)| (share - expected).abs() < 0.05), "{found:?}");
}

/// Worked case 10: one subflow is TCP, except the bytes of its options, which take microseconds of the fast link.
#[test]
fn one_subflow_is_tcp() {
    let text = |smss: u32, error: &str| {
        format!(
            "duration = '30 s'\n[tcp]\nlike = 'linux-6'\nsmss = '{smss} B'\nreceive_buffer = '4 MB'\nprocessing = '0 s'\n[link.l]\nfrom = 'a'\n\
             to = 'b'\nrate = '100 Gbit/s'\ndelay = '30 ms'\n{error}[flow.f]\nfrom = 'a'\nto = 'b'\n\
             app = {{ kind = 'file', size = '5 MB' }}\n"
        )
    };
    for error in ["", "error = { kind = 'packet', rate = 2e-3 }\n"] {
        let tcp = run_scenario(&read(&text(1428, error), &[]));
        let mut scenario = (*read(&text(1448, error), &[])).clone();
        let own = scenario.flows[0].transport.tcp().unwrap().clone();
        let config = MultiConfig { receive_buffer: own.receive_buffer, ..MultiConfig::default() };
        let subflow = Subflow { tcp: Arc::clone(&own), start: Default::default(), is_backup: false };
        scenario.flows[0].transport =
            Transport::Multi(Arc::new(Multi { config: Arc::new(config), tcp: own, subflows: vec![subflow] }));
        scenario.lanes[0].name = "f.only".to_owned();
        let multi = run_scenario(&Arc::new(scenario));
        for column in ["completion_s", "completion_rx_s", "rtt_mean_s", "cwnd_end_bytes"] {
            let [one, other] = [&tcp, &multi].map(|result| result.flows.real(column)[0]);
            assert!((one - other).abs() < 1e-4, "{error}{column}: {one} with TCP, {other} over one subflow");
        }
        for column in
            ["delivered_bytes", "sent_bytes", "sent_packets", "retransmissions", "timeouts", "fast_retransmits"]
        {
            let [one, other] = [&tcp, &multi].map(|result| result.flows.whole(column)[0]);
            assert_eq!(one, other, "{error}{column}");
        }
    }
}

/// Short transfers, each over a new connection: slots are used again, and each byte arrives once.
#[test]
fn slots_of_subflows_are_used_again() {
    let app = "{ kind = 'arrivals', size = '200 kB', interval = '500 ms', count = 60 }";
    let head = "duration = '100 s'\n[tcp]\nlike = 'linux-6'\n";
    let error = "error = { kind = 'packet', rate = 1e-3 }\n";
    let links = paths("20 Mbit/s", "10 Mbit/s").replace("[link.geo]\n", &format!("[link.geo]\n{error}"));
    let result = run(&format!("{head}{links}{}", flow(app, "receive_buffer = '4 MB'")), &[]);
    assert_eq!(result.flows.whole("delivered_bytes"), [60 * 200_000]);
    assert_eq!(result.completions.whole("transfers")[0], 60);
    assert_eq!(result.flows.text("transport"), ["multipath"]);
    assert_eq!(result.subflows.text("flow"), ["f.geo", "f.leo"]);
    assert_eq!(result.subflows.whole("joins")[0], 60);
}

/// The time of each transfer has its explanation, whichever subflow opens, sends or completes it.
#[test]
fn critical_paths_explain_transfers_over_several_paths() {
    for app in [
        "{ kind = 'file', size = '2 MB' }",
        "{ kind = 'arrivals', size = '200 kB', interval = '2 s', count = 10 }",
        "{ kind = 'bulk', size = '500 kB', count = 5, pause = '1 s' }",
        "{ kind = 'request-response', request = '500 B', response = '200 kB', count = 5, reconnect = true }",
    ] {
        let head = "duration = '100 s'\n[tcp]\nlike = 'linux-6'\n[record]\nseries = ['critical_path']\n";
        let text = format!("{head}{}{}", paths("20 Mbit/s", "10 Mbit/s"), flow(app, "receive_buffer = '4 MB'"));
        let result = run(&text, &[]);
        let expected: f64 = match result.transfers.is_empty() {
            true => result.flows.real("completion_s")[0],
            false => result.transfers.real("duration_s").iter().sum(),
        };
        let table = &result.series.iter().find(|(name, _)| name == "critical_path").unwrap().1;
        let parts = table.text("part").iter().zip(table.real("total_s"));
        let of = |part: &str| parts.clone().filter(|each| each.0 == part).map(|each| each.1).sum::<f64>();
        let total: f64 = table.real("total_s").iter().sum();
        assert!((total - expected).abs() < 1e-6, "{app}: {total} s of {expected} s");
        assert!(of("rest") < 0.01 * expected, "{app}: {} s of {expected} s are not explained", of("rest"));
        assert!(of("opening") > 0.03, "{app}: {} s, less than a round trip", of("opening"));
    }
}

/// Both ends send: a subflow that joins once has joined once. Outages are in the rows of the subflows.
#[test]
fn joins_count_once_for_each_session() {
    let app = "{ kind = 'request-response', request = '500 B', response = '200 kB', count = 5, reconnect = true }";
    let head = "duration = '100 s'\n[tcp]\nlike = 'linux-6'\n";
    let text = format!("{head}{}{}", paths("20 Mbit/s", "10 Mbit/s"), flow(app, "receive_buffer = '4 MB'"));
    let result = run(&text, &[]);
    let leo = result.subflows.text("flow").iter().position(|name| *name == "f.leo").unwrap();
    assert!(result.subflows.whole("joins")[leo] <= 5, "{:?}", result.subflows.whole("joins"));
    assert_eq!(result.subflows.whole("joins")[1 - leo], 5);
    assert!(result.flows.real("outage_s")[0].is_nan());
    assert_eq!(result.subflows.real("outage_s"), [0.0, 0.0]);
}

/// Two sessions are open when the link goes down: both hear of it.
#[test]
fn every_session_hears_of_a_change() {
    let app = "{ kind = 'arrivals', size = '10 MB', interval = '1 s', count = 2, overload = true }";
    let at = "[[at]]\ntime = '4 s'\nwithdraw = ['f.leo']\ndown = ['leo']\n";
    let head = "duration = '100 s'\n[tcp]\nlike = 'linux-6'\n[record]\nseries = ['events']\n";
    let multipath = "receive_buffer = '16 MB', reinject = { on = 'told' }";
    let text = format!("{head}{}{}{at}", paths("20 Mbit/s", "10 Mbit/s"), flow(app, multipath));
    let result = run(&text, &[]);
    let failed: Vec<f64> = instants(&result.events, "f.leo", "subflow_failed");
    assert_eq!(failed.iter().filter(|at| **at == 4.0).count(), 2, "{failed:?}");
    assert_eq!(result.completions.whole("transfers")[0], 2);
}

/// Segments with their subflow.
type Segments = Vec<(u8, Option<Segment>)>;

/// Segments in the order in which they leave the host that opens, and reach the other.
#[derive(Clone, Debug, Default)]
struct Order(Arc<Mutex<[Segments; 2]>>);

impl Order {
    fn note(&self, packet: &Sighting, place: usize) {
        if !packet.is_back {
            self.0.lock().unwrap()[place].push((packet.subflow, packet.segment));
        }
    }
}

impl Witness for Order {
    fn on_sent(&mut self, packet: &Sighting) {
        self.note(packet, 0);
    }

    fn on_end(&mut self, packet: &Sighting, fate: Fate<'_>) {
        assert_eq!(fate, Fate::Arrived);
        self.note(packet, 1);
    }
}

/// One link carries the segments of both subflows from a host. The route of one of them changes at the end, so that the host
/// decides for it: its segments still leave in turn with those of the other.
#[test]
fn segments_of_siblings_leave_in_order() {
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '{rate}'\ndelay = '10 ms'\nqueue = '2 MB'\n")
    };
    let links = [("am", "a", "m", "10 Mbit/s"), ("mx", "m", "x", "100 Gbit/s"), ("my", "m", "y", "100 Gbit/s")];
    let last = [("xb", "x", "b", "100 Gbit/s"), ("yb", "y", "b", "100 Gbit/s")];
    let links: String = links.iter().chain(&last).map(|(name, from, to, rate)| link(name, from, to, rate)).collect();
    for changing in ["f.x", "f.y"] {
        let via = &changing[2..];
        let text = format!(
            "duration = '60 s'\n[tcp]\nlike = 'rfc'\nprocessing = '0 s'\n{links}[flow.f]\nfrom = 'a'\nto = 'b'\n\
             app = {{ kind = 'request-response', request = '500 B', response = '20 kB', count = 10, reconnect = true }}\n\
             multipath = {{ receive_buffer = '1 MB' }}\n\
             [flow.f.subflow.x]\nroute = ['a', 'm', 'x', 'b']\nreverse_route = ['b', 'x', 'm', 'a']\n\
             [flow.f.subflow.y]\nroute = ['a', 'm', 'y', 'b']\nreverse_route = ['b', 'y', 'm', 'a']\n\
             [[at]]\ntime = '50 s'\ninstall = [{{ flow = '{changing}', route = ['a', 'm', '{via}', 'b'], \
             reverse_route = ['b', '{via}', 'm', 'a'] }}]\n"
        );
        let scenario = read(&text, &[]);
        let (mut network, order) = (Network::build(&scenario, scenario.seed), Order::default());
        network.watch(Box::new(order.clone()));
        assert!(network.run(u64::MAX));
        let [sent, arrived] = order.0.lock().unwrap().clone();
        assert!(arrived.len() > 100, "{} segments", arrived.len());
        for (sent, arrived) in sent.iter().zip(&arrived) {
            assert_eq!(sent, arrived, "{changing}");
        }
    }
}

/// Seconds, subflow, session and connection of a SYN.
type Opening = (f64, u8, u32, u32);

/// Each SYN that leaves the opener's host.
#[derive(Clone, Debug, Default)]
struct Openings(Arc<Mutex<Vec<Opening>>>);

impl Witness for Openings {
    fn on_sent(&mut self, packet: &Sighting) {
        let is_syn = packet.segment.is_some_and(|segment| segment.flags.has(Flags::SYN));
        if is_syn && !packet.is_back {
            let opening = (packet.at.as_secs_f64(), packet.subflow, packet.session, packet.connection);
            self.0.lock().unwrap().push(opening);
        }
    }

    fn on_end(&mut self, _: &Sighting, _: Fate<'_>) {}
}

/// A transfer whose sender withdraws the address of a path that is interrupted, with these changes. Returns its result and the SYNs
/// of its first subflow.
fn with_returns(links: &str, route: &str, changes: &str) -> (RunResult, Vec<f64>) {
    let head = "duration = '120 s'\n[tcp]\nlike = 'linux-6'\n[record]\nseries = ['events']\n";
    let multipath = "receive_buffer = '16 MB', reinject = { on = 'told' }, rejoin = { withdraw = true }";
    let flow = flow("{ kind = 'file', size = '60 MB' }", multipath);
    // LEO opens the connection.
    let flow = flow.replacen("route = ['server', 'ship']\n", route, 1) + "start = '100 ms'\n";
    let scenario = read(&format!("{head}{links}{flow}{changes}"), &[]);
    let (mut network, openings) = (Network::build(&scenario, scenario.seed), Openings::default());
    network.watch(Box::new(openings.clone()));
    assert!(network.run(u64::MAX));
    let result = network.finish().unwrap();
    conserved(&result);
    assert_eq!(result.flows.text("outcome"), ["completed"]);
    assert_eq!(result.flows.whole("delivered_bytes"), [60_000_000]);
    let openings: Vec<_> = openings.0.lock().unwrap().iter().copied().filter(|opening| opening.1 == 0).collect();
    let connections: BTreeSet<u32> = openings.iter().map(|opening| opening.3).collect();
    assert_eq!(connections.len(), openings.len(), "each has another port: {openings:?}");
    assert!(openings.iter().all(|opening| opening.2 == 0), "and is of the same session: {openings:?}");
    (result, openings.iter().map(|opening| opening.0).collect())
}

/// LEO is away twice. It joins at the notice, a round trip of 40 ms later it is open, and each byte arrives once.
#[test]
fn a_subflow_whose_link_returns_joins_again() {
    let links = paths("20 Mbit/s", "10 Mbit/s").replacen("2 MB", "50 kB", 1);
    let away = |from: u32, to: u32| {
        format!(
            "[[at]]\ntime = '{from} s'\nwithdraw = ['f.leo']\ndown = ['leo']\n[[at]]\ntime = '{to} s'\nup = ['leo']\n\
             install = [{{ flow = 'f.leo', route = ['server', 'ship'], reverse_route = ['ship', 'server'] }}]\n"
        )
    };
    let same = "route = ['server', 'ship']\n";
    let (result, openings) = with_returns(&links, same, &format!("{}{}", away(5, 8), away(12, 14)));
    assert_eq!(openings, [0.0, 8.0, 14.0]);
    let joined = instants(&result.events, "f.leo", "subflow_joined");
    assert_eq!(joined.len(), 2, "{joined:?}");
    assert!(joined.iter().zip([8.04, 14.04]).all(|(at, expected)| (at - expected).abs() < 0.001), "{joined:?}");
    assert_eq!(result.subflows.whole("joins"), [3, 1]);
}

/// A handover takes the first subflow from a long way to a short one. The sender withdraws and joins at once: the data of the former
/// connection arrive up to 230 ms after the SYN of the new one. They have no listener.
#[test]
fn old_segments_of_a_subflow_have_no_listener() {
    let far = "[link.up]\nfrom = 'server'\nto = 'far'\nrate = '20 Mbit/s'\ndelay = '249 ms'\nqueue = '2 MB'\n\
               [link.down]\nfrom = 'far'\nto = 'ship'\nrate = '1 Gbit/s'\ndelay = '1 ms'\n";
    let links = format!("{}{far}", paths("20 Mbit/s", "10 Mbit/s").replacen("2 MB", "50 kB", 1));
    let change = "[[at]]\ntime = '9 s'\ninstall = [{ flow = 'f.leo', route = ['server', 'ship'], \
                  reverse_route = ['ship', 'server'] }]\n";
    let (result, openings) = with_returns(&links, "route = ['server', 'far', 'ship']\n", change);
    assert_eq!(openings, [0.0, 9.0]);
    assert_eq!(result.subflows.whole("joins"), [2, 1]);
    let rows = result.drops.text("cause").iter().zip(result.drops.whole("packets"));
    let unheard: i64 = rows.filter(|(cause, _)| *cause == "no-listener").map(|(_, packets)| packets).sum();
    assert!(unheard > 50, "{unheard} of a window of 0.25 s");
}
