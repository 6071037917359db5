//! QUIC beside TCP in random networks. `BENTPIPE_SWARM` draws others, and `PROPTEST_CASES` sets their number.

use bentpipe_quic::engines;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::spec::{App, Scenario};
use bentpipe_sim::{scenario, Network};
use bentpipe_units::Stream;
use std::sync::Arc;

/// Draws of one network.
struct Dice(Stream, u64);

impl Dice {
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.1 += 1;
        of[self.0.below(self.1, of.len() as u64) as usize]
    }

    fn below(&mut self, end: u64) -> u64 {
        self.1 += 1;
        self.0.below(self.1, end)
    }
}

const QUEUES: [&str; 6] = ["'5 packets'", "'40 packets'", "'100 kB'", "'codel'", "'fq-codel'", "'pie'"];
const ERRORS: [&str; 5] = [
    "",
    "",
    "error = { kind = 'packet', rate = 0.02 }",
    "error = { kind = 'packet', rate = 0.3 }",
    "error = { kind = 'bit', rate = 1e-5, effect = 'lose' }",
];
const LINK: [&str; 4] = [
    "",
    "",
    "outage = { spans = [['2 s', '3 s']] }",
    "jitter = { delay = { kind = 'uniform', from = '0 ms', to = '30 ms' }, every = '100 ms' }",
];
const APPS: [&str; 9] = [
    "{ kind = 'greedy' }",
    "{ kind = 'file', size = '1 B' }",
    "{ kind = 'file', size = '300 kB' }",
    "{ kind = 'bulk', size = '20 kB', pause = '500 ms' }",
    "{ kind = 'bulk', size = '20 kB', pause = '500 ms', reconnect = true, count = 5 }",
    "{ kind = 'arrivals', size = '10 kB', interval = '700 ms' }",
    "{ kind = 'request-response', request = '200 B', response = '30 kB', wait = '20 ms' }",
    "{ kind = 'page', model = '3gpp2', reading = '1 s' }",
    "{ kind = 'cbr', rate = '100 kbit/s', size = '200 B' }",
];
const TRANSPORTS: [&str; 12] = [
    "tcp = {}",
    "tcp = { cc = 'bbr3' }",
    "tcp = { like = 'linux-6' }",
    "quic = {}",
    "quic = { cc = 'bbr3' }",
    "quic = { cc = 'stack-newreno', read = 'ordered' }",
    "quic = { cc = 'hybla', send_order = 'in-turn' }",
    "quic = { careful_resume = 'on', stream_window = '20 kB' }",
    "quic = { handshake = { resume = '0-rtt', accepted = false } }",
    "quic = { handshake = { resume = '0-rtt', address_token = true } }",
    "quic = { migration = { kind = 'at', times = ['1 s', '4 s'], change = 'address' }, ack_frequency = 'on' }",
    "quic = { handshake = { retry = true, flight = '8 kB' }, idle_timeout = '900 ms' }",
];
const BOXES: [&str; 7] =
    ["", "", "'split'", "'spoof'", "'ack-filter'", "'snoop'", "{ kind = 'impair', reorder = 0.1, hold = '20 ms' }"];

/// Returns a chain of 2 to 4 links with some flows, most of them over QUIC.
fn draw(seed: u64) -> String {
    let mut dice = Dice(Stream::new(seed, "swarm", "network"), 0);
    let links = 1 + dice.below(3);
    let series = dice.pick(&["", "record.series = ['cwnd_bytes', 'srtt_s', 'goodput_bps', 'events', 'queue_bytes']"]);
    let mut text = format!("duration = '{} s'\nseed = {seed}\n{series}\n", 3 + dice.below(6));
    for link in 0..links {
        let [rate, back] = [(); 2].map(|()| dice.pick(&["300 kbit/s", "2 Mbit/s", "8 Mbit/s"]));
        let [queue, other] = [(); 2].map(|()| dice.pick(&QUEUES));
        let more = [dice.pick(&ERRORS), dice.pick(&LINK)].join("\n");
        text += &format!(
            "[link.l{link}]\nfrom = 'n{link}'\nto = 'n{}'\ndelay = '{} ms'\n{more}\nforward = {{ rate = '{rate}', queue = {queue} }}\n\
             reverse = {{ rate = '{back}', queue = {other} }}\n",
            link + 1,
            dice.pick(&["0", "5", "40", "300"]),
        );
    }
    for node in 1..links {
        let middlebox = dice.pick(&BOXES);
        if !middlebox.is_empty() {
            text += &format!("[node.n{node}]\nmiddlebox = [{middlebox}]\n");
        }
    }
    for flow in 0..1 + dice.below(5) {
        let (app, mut transport) = (dice.pick(&APPS), dice.pick(&TRANSPORTS));
        if app.contains("cbr") && transport.starts_with("tcp") {
            transport = "";
        }
        let (from, to) = if dice.below(2) == 0 { (0, links) } else { (links, 0) };
        text += &format!(
            "[flow.f{flow}]\nfrom = 'n{from}'\nto = 'n{to}'\nstart = '{} ms'\napp = {app}\n{transport}\n",
            dice.pick(&["0", "1", "800"])
        );
    }
    text
}

/// Reasons to refuse a drawn network: more load than the links carry, and a proxy without a flow over TCP.
const REFUSALS: [&str; 2] = ["transfers would accumulate", "no flow with TCP passes"];

/// Reads a scenario. `None`: it is refused.
fn read(text: &str) -> Option<Arc<Scenario>> {
    match scenario::from_toml(text, "swarm", &[]) {
        Ok(read) => Some(Arc::new(read.scenario.with_engines(&engines()))),
        Err(problems) => {
            let problems = problems.to_string();
            assert!(REFUSALS.iter().any(|refusal| problems.contains(refusal)), "{text}\n{problems}");
            None
        }
    }
}

/// Runs a scenario. `finish` asserts that packets are conserved.
fn run(scenario: &Arc<Scenario>) -> RunResult {
    let mut network = Network::build(scenario, scenario.seed);
    assert!(network.run(50_000_000), "it ends");
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let asked = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = 1_000_000 * asked("BENTPIPE_SWARM").unwrap_or(1);
    first..first + asked("PROPTEST_CASES").unwrap_or(count)
}

/// Packets are conserved, results have sound values, acknowledged bytes were delivered, and delivered bytes were offered.
#[test]
fn packets_and_bytes_are_conserved() {
    for seed in seeds(30) {
        let text = draw(seed);
        let Some(scenario) = read(&text) else { continue };
        let result = run(&scenario);
        let flows = &result.flows;
        let [delivered, acked, sent, arrived] =
            ["delivered_bytes", "acked_bytes", "sent_packets", "arrived_packets"].map(|name| flows.whole(name));
        let is_split = text.contains("'split'") || text.contains("'spoof'");
        for (row, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.transport.quic().is_some()) {
            let what = format!("{}\n{text}", flow.name);
            assert!(acked[row] <= delivered[row], "{} acknowledged, {} delivered: {what}", acked[row], delivered[row]);
            assert!(arrived[row] <= sent[row], "{} arrived, {} sent: {what}", arrived[row], sent[row]);
            match (&*flow.app, flows.text("outcome")[row].as_str()) {
                (App::File { size }, "completed") => {
                    assert_eq!([delivered[row], acked[row]], [*size as i64; 2], "{what}");
                }
                (App::File { size }, _) => assert!(delivered[row] <= *size as i64, "{what}"),
                _ => {}
            }
        }
        assert!(is_split || result.quic.whole("passed").iter().all(|passed| *passed == 0), "{text}");
        let [sent, arrived] = ["sent_datagrams", "arrived_datagrams"].map(|name| result.quic.whole(name));
        assert!(sent.iter().zip(arrived).all(|(sent, arrived)| arrived <= sent), "{text}");
    }
}

/// The identity of the ledger: where one flow sends and nothing is under way at the end, each datagram of the sender has arrived
/// or is lost at one place of its direction. Losses of its peer are in the
/// other direction.
#[test]
fn each_datagram_arrives_or_has_a_place_of_loss() {
    let mut checked = 0;
    for seed in seeds(30) {
        let mut dice = Dice(Stream::new(seed, "swarm", "identity"), 0);
        let (error, queue) = (dice.pick(&ERRORS), dice.pick(&QUEUES));
        let text = format!(
            "duration = '3000 s'\nseed = {seed}\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '2 Mbit/s'\ndelay = '{} ms'\nqueue = {queue}\n{error}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\napp = {{ kind = 'file', size = '{} B' }}\n{}\n\
             [flow.later]\nfrom = 'a'\nto = 'b'\nstart = '4000 s'\n",
            dice.pick(&["1", "40", "300"]),
            dice.pick(&["1", "3000", "200000"]),
            dice.pick(&TRANSPORTS[3..]),
        );
        // The flow that never starts keeps the run from its end, until both ends are silent.
        let result = run(&read(&text).expect("one file"));
        if result.summary.whole("in_flight_packets")[0] > 0 {
            continue;
        }
        checked += 1;
        let lost: i64 = (0..result.drops.len())
            // On the link, or corrupted, at the host.
            .filter(|row| ["l.forward", "b"].contains(&result.drops.text("where")[*row].as_str()))
            .map(|row| result.drops.whole("packets")[row])
            .sum();
        let [sent, arrived] = ["sent_datagrams", "arrived_datagrams"].map(|name| result.quic.whole(name)[0]);
        assert_eq!(sent, arrived + lost, "{text}");
        // Only packets that were sent can be declared lost.
        assert!(result.quic.whole("declared_lost")[0] <= sent, "{text}");
    }
    assert!(checked >= 15, "{checked}");
}

/// Packets declared lost, less those that arrived, are those that the network lost: by queues that overflow, by outages, and with
/// reordering. Losses begin after the handshake, whose datagrams may have several packets.
#[test]
fn lost_packets_that_arrived_are_needless() {
    let (mut checked, mut exact, mut some) = (0, 0, 0);
    for seed in seeds(60) {
        let mut dice = Dice(Stream::new(seed, "swarm", "needless"), 0);
        let text = format!(
            "duration = '3000 s'\nseed = {seed}\n[node.m]\nmiddlebox = [{}]\n\
             [link.k]\nfrom = 'a'\nto = 'm'\nrate = '8 Mbit/s'\ndelay = '{} ms'\nqueue = '{} packets'\noutage = {{ spans = [[{}]] }}\n\
             [link.l]\nfrom = 'm'\nto = 'b'\nrate = '2 Mbit/s'\ndelay = '40 ms'\nqueue = '{} packets'\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\napp = {{ kind = 'file', size = '{} B' }}\nquic = {{ {} }}\n\
             [flow.later]\nfrom = 'a'\nto = 'b'\nstart = '4000 s'\n",
            dice.pick(&["", "{ kind = 'impair', reorder = 0.05, hold = '60 ms' }", "{ kind = 'impair', reorder = 0.3, hold = '9 ms' }"]),
            dice.pick(&["1", "40", "300"]),
            dice.pick(&["40", "400"]),
            dice.pick(&["'2 s', '3 s'", "'2500 s', '2501 s'"]),
            dice.pick(&["20", "60", "400"]),
            dice.pick(&["50000", "300000", "1500000"]),
            dice.pick(&["", "cc = 'bbr3'", "cc = 'stack-newreno'", "ack_frequency = 'on'", "packet_threshold = 9"]),
        );
        let result = run(&read(&text).expect("one file"));
        if result.summary.whole("in_flight_packets")[0] > 0 {
            continue;
        }
        checked += 1;
        let lost: i64 = (0..result.drops.len())
            .filter(|row| result.drops.text("where")[*row].ends_with(".forward"))
            .map(|row| result.drops.whole("packets")[row])
            .sum();
        let [declared, needless] = ["declared_lost", "needless"].map(|name| result.quic.whole(name)[0]);
        // A packet that overtakes the end of the handshake arrives without being read, and is no needless repair.
        let unread = declared - needless - lost;
        let early = if text.contains("impair") { 3 } else { 0 };
        assert!((0..=early).contains(&unread), "{declared} declared lost, {needless} read, {lost} lost: {text}");
        exact += i64::from(unread == 0);
        some += i64::from(needless > 0 && lost > 0);
    }
    assert!(10 * exact >= 9 * checked && checked >= 40 && some >= 1, "{exact} of {checked}, {some}");
}

/// Equal bytes when repeated, with recording on and off, and on 1 and 4 threads.
#[test]
fn equal_seeds_have_equal_results() {
    for seed in seeds(8) {
        let text = draw(seed);
        let Some(scenario) = read(&text) else { continue };
        let first = run(&scenario);
        let threads = [(); 4].map(|()| {
            let scenario = Arc::clone(&scenario);
            std::thread::spawn(move || run(&scenario))
        });
        for thread in threads {
            assert!(thread.join().unwrap() == first, "{text}");
        }
        let mut other = Scenario::clone(&scenario);
        other.record.series = match other.record.series.is_empty() {
            true => ["cwnd_bytes", "srtt_s", "events", "objects"].map(str::to_owned).to_vec(),
            false => Vec::new(),
        };
        let other = run(&Arc::new(other));
        assert!(
            (&first.flows, &first.links, &first.quic) == (&other.flows, &other.links, &other.quic)
                && (&first.drops, &first.transfers, &first.datagrams)
                    == (&other.drops, &other.transfers, &other.datagrams),
            "{text}"
        );
    }
}
