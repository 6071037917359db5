//! A network as a component: what is given to its ports comes out as it went in, or is lost for a reason.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Network, PortId, Refused};
use bentpipe_units::{Duration, Time};

const GEO: &str = r#"
duration = "60 s"
[link.sat]
from = "hub"
to = "terminal"
rate = "1 Mbit/s"
delay = "270 ms"
error = { kind = "packet", rate = 0.1 }
[flow.real]
from = "hub"
to = "terminal"
app = "port"
"#;

fn network(text: &str) -> Network {
    let scenario = from_toml(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    Network::build(&scenario, 3)
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// What leaves at the far end is given back there at once. Each of the packets returns with its bytes, or is lost, once.
#[test]
fn an_echo_returns_the_bytes_of_all_that_is_not_lost() {
    let mut network = network(GEO);
    let [near, far] = network.ports("real").unwrap();
    let bytes = |n: u64| n.to_be_bytes().repeat(20).into_boxed_slice();
    for n in 0..200 {
        network.inject(ms(10 * n), near, 188, 28, bytes(n)).unwrap();
    }
    let (mut returned, mut lost) = (Vec::new(), Vec::new());
    while network.next_wakeup() != Time::NEVER {
        network.run_until(network.next_wakeup());
        for packet in network.drain() {
            if packet.port == far {
                network.inject(packet.at, far, packet.size, 28, packet.bytes).unwrap();
            } else {
                assert!(packet.at - packet.entered > Duration::from_millis(270) && packet.size == 188);
                returned.push(packet.bytes);
            }
        }
        lost.extend(network.drain_lost());
    }
    assert!(lost.iter().all(|lost| lost.cause == Cause::BitError && (lost.place == "hub" || lost.place == "terminal")));
    let mut all: Vec<_> = returned.iter().chain(lost.iter().map(|lost| &lost.bytes)).cloned().collect();
    all.sort_unstable();
    assert_eq!(all, (0..200).map(bytes).collect::<Vec<_>>());
    assert!((20..60).contains(&lost.len()), "{}", lost.len());
    let result = network.finish().unwrap();
    assert_eq!(
        result.flows.whole("sent_packets"),
        [200 + returned.len() as i64 + lost.iter().filter(|lost| lost.port == far).count() as i64]
    );
}

#[test]
fn what_cannot_enter_is_refused_and_nothing_changes() {
    let red = "queue = { kind = \"codel\", limit = \"1500 B\" }\n[flow.real]";
    let mut network =
        network(&GEO.replace("[flow.real]", red).replace("error = { kind = \"packet\", rate = 0.1 }\n", ""));
    let [near, _]: [PortId; 2] = network.ports("real").unwrap();
    assert_eq!(network.ports("rael"), Err(Refused::NoPort));
    let enter = |network: &mut Network, at, size| network.inject(at, near, size, 28, Box::default());
    assert_eq!(enter(&mut network, ms(5), 1501), Err(Refused::Size { size: 1501, takes: (28, 1500) }));
    assert_eq!(enter(&mut network, ms(5), 27), Err(Refused::Size { size: 27, takes: (28, 1500) }));
    assert_eq!(enter(&mut network, ms(60_001), 100), Err(Refused::Over));
    network.run_until(ms(500));
    let refused = enter(&mut network, ms(499), 100).unwrap_err();
    assert_eq!(refused.to_string(), "a packet cannot enter at 0.499000000 s: the network is at 0.500000000 s already");
    assert_eq!(enter(&mut network, ms(500), 100), Ok(()));
    network.run_until(Time::NEVER);
    assert_eq!(enter(&mut network, ms(60_000), 100), Err(Refused::Over));
    assert_eq!(network.drain().len(), 1);
    assert_eq!(network.finish().unwrap().summary.whole("sent_packets"), [1]);
}

#[test]
fn a_closed_run_of_a_scenario_with_ports_sends_nothing_there() {
    let mut network = network(GEO);
    assert!(network.run(u64::MAX));
    let result = network.finish().unwrap();
    assert_eq!(
        (result.flows.text("outcome"), result.summary.whole("sent_packets")),
        (&["waiting".into()][..], &[0][..])
    );
}

#[test]
fn a_network_driven_in_any_steps_is_the_same() {
    let scenario = from_toml(&GEO.replace("app = \"port\"", ""), "test.toml", &[]).unwrap().scenario;
    let run = |step: Duration| {
        let mut network = Network::build(&scenario, 5);
        let mut until = Time::ZERO;
        while network.next_wakeup() != Time::NEVER {
            until += step;
            network.run_until(until);
        }
        network.finish().unwrap()
    };
    let mut closed = Network::build(&scenario, 5);
    assert!(closed.run(u64::MAX));
    let closed = closed.finish().unwrap();
    assert!(run(Duration::from_secs(100)) == closed && run(Duration::from_micros(7301)) == closed);
}
