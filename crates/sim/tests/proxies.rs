//! Proxies (RFC 3135): the worked cases of each, and what becomes of what they cannot serve.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::middlebox::{Context, Middlebox};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Network, Packet};
use bentpipe_tcp::Segment;

/// 100 kB over a geostationary hop of 540 ms from a sender whose round trip to the gateway is 20 ms, everything in [`PLAIN`] segments.
const GEO: &str = r#"
duration = "400 s"
[tcp]
like = "rfc"
processing = "0 s"
[tcp.ack]
every = 1
[link.lan]
from = "sender"
to = "gw"
rate = "1 Gbit/s"
delay = "10 ms"
[link.sat]
from = "gw"
to = "receiver"
rate = "10 Mbit/s"
delay = "270 ms"
queue = "2 MB"
[flow.f]
from = "sender"
to = "receiver"
app = { kind = "file", size = "100740 B" }
"#;

/// A window that is as large as the hop's bandwidth-delay product from the start.
const SATELLITE: &str = "listener = { initial_window = '500 segments' }";

fn run(text: &str, sets: &[(&str, &str)]) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = from_toml(text, "test.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

fn at(text: &str, node: &str, proxies: &[&str]) -> String {
    format!("{text}[node.{node}]\nmiddlebox = [{}]\n", proxies.join(", "))
}

fn split(keys: &str) -> String {
    format!("{{ kind = \"split\", {keys} }}")
}

fn refusal(text: &str) -> String {
    from_toml(text, "test.toml", &[]).unwrap_err().to_string()
}

/// When the last byte arrived.
fn received_s(result: &RunResult) -> f64 {
    result.flows.real("completion_rx_s")[0]
}

fn close_to(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} instead of {expected}");
}

/// pep.md, test 1, but for the window of a SYN-ACK, which is not scaled (RFC 7323 §2.2): of the 69 segments 44 leave at once.
#[test]
fn splitting_spares_slow_start_over_the_satellite() {
    let of_one = [("tcp.initial_window", "1 segments")];
    close_to(received_s(&run(GEO, &of_one)), 4.21, 0.01);
    close_to(received_s(&run(GEO, &[])), 2.01, 0.035);
    let text = at(GEO, "gw", &[&split(SATELLITE)]);
    close_to(received_s(&run(&text, &of_one)), 0.55 + 0.54 + 0.27 + 25.0 * 0.0012, 0.01);
    let of_44 = [of_one[0], ("flow.f.app.size", "64240 B")];
    close_to(received_s(&run(&text, &of_44)), 0.55 + 0.27 + 44.0 * 0.0012, 0.01);
    let late = text.replace("kind = \"split\"", "kind = \"split\", accept = \"late\"");
    // The opener hears after the hop's round trip, and starts slowly then.
    close_to(received_s(&run(&late, &of_44)), 0.02 + 0.54 + 5.0 * 0.02 + 0.01 + 0.27 + 13.0 * 0.0012, 0.01);
}

/// Two in a row: each of the three connections is as fast as its own round trip.
#[test]
fn two_proxies_give_the_satellite_hop_a_connection_of_its_own() {
    let text = between_gateways();
    let alone = received_s(&run(&text, &[]));
    let text = at(&at(&text, "gw", &[&split(SATELLITE)]), "terminal", &[&split("")]);
    let result = run(&text, &[("flow.f.app.size", "64240 B")]);
    assert_eq!(
        (result.flows.text("outcome"), result.flows.whole("delivered_bytes")),
        (&["completed".to_owned()][..], &[64_240][..])
    );
    assert!(received_s(&result) < 1.1 && alone > 2.0, "{} {alone}", received_s(&result));
}

/// pep.md, test 2, by a receiver that reads slowly: the sender gets no further than what it took and the two buffers.
#[test]
fn a_side_that_stalls_stops_the_other() {
    let slow = "reader = { rate = \"8 kbit/s\", every = \"1 s\" }\n[flow.f.tcp]\nreceive_buffer = \"20 kB\"\n";
    let text = at(&format!("{GEO}{slow}"), "gw", &[&split("buffer = \"10 kB\"")]);
    let result = run(&text, &[("duration", "20 s")]);
    let [acked, delivered] = ["acked_bytes", "delivered_bytes"].map(|name| result.flows.whole(name)[0]);
    // 20 kB at the receiver, 10 kB at the proxy, and 1 kB each second that the application took.
    assert!((40_000..=50_000).contains(&acked) && acked > delivered + 8_000, "{acked} {delivered}");
    assert!(acked <= delivered + 10_000, "{acked} {delivered}");
}

/// Questions and answers on one connection, half-closed by the one who asks.
#[test]
fn answers_still_flow_when_the_questions_are_over() {
    let asked = "{ kind = \"request-response\", request = \"5 kB\", response = \"50 kB\", count = 3 }";
    for keys in ["", "accept = \"late\"", "buffer = \"3 kB\""] {
        let text = at(GEO, "gw", &[&split(keys)]);
        let result = run(&text.replace("{ kind = \"file\", size = \"100740 B\" }", asked), &[]);
        assert_eq!(result.completions.whole("transfers")[0], 3, "{keys}");
        assert!(result.notes.is_empty(), "{:?}", result.notes);
    }
}

/// What it cannot split it forwards: the run is the same as without it.
#[test]
fn what_has_no_syn_to_see_is_forwarded_unchanged() {
    let without = run(GEO, &[("tcp.handshake", "false")]);
    let text = at(GEO, "gw", &[&split("")]);
    assert_eq!(run(&text, &[("tcp.handshake", "false")]).flows, without.flows);
    let later = "[flow.g]\nfrom = \"sender\"\nto = \"receiver\"\nstart = \"4.99 s\"\n";
    let (text, without) = (format!("{text}{later}"), format!("{GEO}{later}"));
    let datagrams = ("flow.f.app", "{ kind = 'cbr', rate = '1 Mbit/s', size = '500 B' }");
    let sets = [datagrams, ("duration", "5 s")];
    assert_eq!(run(&text, &sets).datagrams, run(&without, &sets).datagrams);
}

/// RFC 7413 §4.2.2: what the SYN-ACK does not acknowledge is sent again at once.
#[test]
fn data_in_a_syn_are_sent_again() {
    let text = at(GEO, "gw", &[&split(SATELLITE)]);
    let cases = [
        ("tcp.fast_open", "'off'"),
        ("tcp.fast_open", "{ kind = 'on', cookie = 'cached' }"),
        // RFC 1644 §2.5: a proxy without T/TCP gives no count.
        ("tcp.transactions", "{ kind = 'on', counts = 'cached' }"),
    ];
    let [plain, fast, counted] = cases.map(|case| {
        let result = run(&text, &[case]);
        assert_eq!(
            (result.flows.whole("delivered_bytes"), result.flows.text("outcome")[0].as_str()),
            (&[100_740][..], "completed")
        );
        received_s(&result)
    });
    close_to(fast, plain, 0.03);
    close_to(counted, plain, 0.03);
}

/// Its state is lost in mid-transfer: what it had acknowledged never arrives, and it says how much that is.
#[test]
fn acknowledged_bytes_are_lost_with_the_proxy() {
    let text = at(GEO, "gw", &[&split(&format!("fails_at = \"400 ms\", {SATELLITE}"))]);
    let result = run(&text, &[]);
    let [acked, delivered] = ["acked_bytes", "delivered_bytes"].map(|name| result.flows.whole(name)[0]);
    assert_eq!((acked, delivered), (100_740, 0));
    assert!(result.notes[0].starts_with("pep_lost_bytes = 100740: \"split\" at node \"gw\""), "{:?}", result.notes);
}

/// RFC 3135 §4.1: a refusal comes after the opener believes that it is connected, or instead.
#[test]
fn the_opener_is_reset_when_the_other_end_never_answers() {
    for (accept, acked) in [("early", 100_740), ("late", 0)] {
        let text = at(GEO, "gw", &[&split(&format!("accept = \"{accept}\", listener = {{ give_up = \"20 s\" }}"))]);
        let down = ("link.sat.outage", "{ spans = [['0 s', '400 s']] }");
        let result = run(&text, &[down]);
        assert_eq!(
            (result.flows.whole("acked_bytes")[0], result.flows.whole("delivered_bytes")[0]),
            (acked, 0),
            "{accept}"
        );
        let is_lost = result.notes.iter().any(|note| note.starts_with("pep_lost_bytes = 100740"));
        assert_eq!(is_lost, acked > 0, "{:?}", result.notes);
        assert_eq!(result.flows.text("outcome")[0], "aborted");
        assert!(result.flows.real("completion_s")[0].is_nan());
    }
}

/// Connections without a handshake, datagrams, and connections whose SYN went another way: the run is the same as without the
/// proxy. Data in a SYN arrive, by whatever way.
#[test]
fn no_proxy_touches_what_it_cannot_serve() {
    for kind in ["split", "spoof", "snoop", "satpep"] {
        let there = at(GEO, "gw", &[&format!("{{ kind = \"{kind}\" }}")]);
        let (plain, with) = if kind == "satpep" { (between_gateways(), satpep("")) } else { (GEO.to_owned(), there) };
        let unopened = [("tcp.handshake", "false")];
        assert_eq!(run(&with, &unopened).flows, run(&plain, &unopened).flows, "{kind}");
        let datagrams = [("flow.f.app", "{ kind = 'cbr', rate = '1 Mbit/s', size = '500 B' }"), ("duration", "5 s")];
        let later = "[flow.g]\nfrom = \"sender\"\nto = \"receiver\"\nstart = \"4.99 s\"\n";
        let counted = |text: &str| run(&format!("{text}{later}"), &datagrams).datagrams;
        assert_eq!(counted(&with), counted(&plain), "{kind}");
        let early = run(&with, &[("tcp.fast_open", "{ kind = 'on', cookie = 'cached' }")]);
        assert_eq!((early.flows.whole("delivered_bytes")[0], early.notes.len()), (100_740, 0), "{kind}");
    }
    let unseen = run(HANDOVER, &[]);
    for kind in ["split", "spoof", "snoop"] {
        assert_eq!(
            run(&at(HANDOVER, "sat2", &[&format!("{{ kind = \"{kind}\" }}")]), &[]).flows,
            unseen.flows,
            "{kind}"
        );
    }
}

/// Beyond its limits it drops SYNs, as a listener does whose queue is full: their senders try again.
#[test]
fn openers_wait_for_room_at_the_proxy() {
    let app = ("flow.f.app", "{ kind = 'arrivals', size = '3 kB', interval = '50 ms', count = 40 }");
    let text = at(GEO, "gw", &[&split("half_open = 4")]);
    let result = run(&text, &[app]);
    assert_eq!(result.completions.whole("transfers")[0], 40);
    assert!(result.drops.whole("packets").iter().sum::<i64>() > 10, "{:?}", result.drops);
    assert_eq!(run(&at(GEO, "gw", &[&split("")]), &[app]).drops.whole("packets").len(), 0);
}

#[test]
fn what_makes_no_sense_for_a_proxy_is_refused() {
    for (keys, reason) in [
        ("listener = { handshake = false }", "a proxy splits connections whose SYN it sees"),
        ("opener = { receive_buffer = \"10 kB\" }", "the proxy's key buffer"),
        ("opener = { initial_ssthresh = \"1 bdp\" }", "is measured by a flow's path"),
        ("buffer = \"100 B\"", "at least one segment"),
        ("idle = \"0 s\"", "is too small"),
    ] {
        let found = refusal(&at(GEO, "gw", &[&split(keys)]));
        assert!(found.contains(reason), "{found}");
    }
}

/// pep.md, test 6: slow start of one segment, threshold 32, in rounds of 20 ms after the handshake from end to end; but no more
/// than the 44 segments of an unscaled window (RFC 7323 §2.2) cross the hop before the receiver has acknowledged any.
#[test]
fn spoofing_spares_slow_start_over_the_satellite() {
    let sets = [("tcp.initial_window", "1 segments"), ("tcp.initial_ssthresh", "32 segments")];
    let plain = received_s(&run(GEO, &sets));
    let text = at(GEO, "gw", &["{ kind = \"spoof\" }"]);
    let result = run(&text, &[sets[0], sets[1], ("flow.f.app.size", "64240 B")]);
    close_to(received_s(&result), 0.56 + 5.0 * 0.02 + 0.01 + 0.27 + 13.0 * 0.0012, 0.01);
    let result = run(&text, &sets);
    assert_eq!((result.flows.whole("delivered_bytes")[0], result.notes.len()), (100_740, 0));
    close_to(received_s(&result), 0.57 + 0.54 + 0.27 + 25.0 * 0.0012, 0.01);
    close_to(plain, 4.2, 0.05);
    assert_eq!(result.flows.text("outcome")[0], "completed");
}

/// Turns a packet with data round, and drops another with an acknowledgement for it that has no ACK flag; each once.
#[derive(Debug)]
struct Misleads(u32);

impl Middlebox for Misleads {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let Some(segment) = cx.segment(&packet).filter(|segment| segment.len > 1000) else { return cx.forward(packet) };
        self.0 += 1;
        match self.0 {
            10 => {
                let ack = segment.seq.at(segment.sequence_len());
                let forged = Segment { seq: segment.ack, ack, ..Segment::default() };
                let answer = cx.answer(&packet, &forged).unwrap();
                cx.emit(answer);
                cx.drop(packet, Cause::Policy);
            }
            20 => cx.send_back(packet),
            _ => cx.forward(packet),
        }
    }
}

/// What acknowledges more than was sent is none of the receiver's (RFC 5961 §5): a proxy that believed it would acknowledge that to
/// the sender, which answers at once, for ever. What has no ACK flag acknowledges nothing (RFC 9293 §3.10.7.4).
#[test]
fn a_proxy_that_spoofs_believes_no_acknowledgement_that_cannot_be() {
    let text = at(GEO, "sender", &["{ kind = \"spoof\" }"]);
    let scenario = from_toml(&text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let gw = NodeId::new(scenario.nodes.iter().position(|node| node.name == "gw").unwrap());
    for seed in 1..=8 {
        let mut network = Network::build_with(&scenario, seed, vec![(gw, Box::new(Misleads(0)))]);
        while !network.run(1_000_000) {}
        let result = network.finish().unwrap_or_else(|failure| panic!("{seed}: {failure}"));
        assert_eq!(result.flows.whole("delivered_bytes")[0], 100_740, "{seed}");
    }
}

/// The hop marks, and the sender hears of it behind acknowledgements that are the proxy's; one that splits answers itself.
#[test]
fn marks_of_the_hop_reach_whoever_sends_over_it() {
    let queue = "{ kind = 'codel', limit = '2 MB', ecn = true }";
    for ecn in ["classic", "per-segment", "accurate"] {
        let sets = [("tcp.ecn", ecn), ("link.sat.forward.queue", queue), ("flow.f.app.size", "10 MB")];
        let row = |result: &RunResult| result.links.text("link").iter().position(|link| link == "sat.forward").unwrap();
        let counts = |proxy: &str| {
            let result = run(&at(GEO, "gw", &[proxy]), &sets);
            assert_eq!(result.flows.whole("delivered_bytes")[0], 10_000_000, "{proxy}");
            (result.links.whole("marked_packets")[row(&result)], result.flows.whole("ecn_reductions")[0])
        };
        let (marked, heard) = counts("{ kind = \"spoof\", window = \"2 MB\" }");
        assert!(marked > 0 && heard > 0, "{ecn}: {marked} marked, {heard} times heard");
        let (marked, heard) = counts(&split(""));
        assert!(marked > 0 && heard == 0, "{ecn}: {marked} marked, {heard} times heard");
    }
}

/// Receivers count marks in every header (RFC 9768): acknowledgements of a proxy's own have the count, too.
#[test]
fn acknowledgements_of_proxies_tell_of_no_marks_that_were_not_there() {
    let outage = [("link.sat.outage", "{ spans = [['3 s', '4 s']] }")];
    for kind in ["spoof", "freeze", "snoop"] {
        let base = [("tcp.ecn", "accurate"), ("tcp.receive_buffer", "300 kB"), ("flow.f.app.size", "3 MB")];
        let sets = [&base[..], if kind == "freeze" { &outage } else { &[] }].concat();
        let result = run(&at(GEO, "gw", &[&format!("{{ kind = \"{kind}\" }}")]), &sets);
        let [delivered, reductions] = ["delivered_bytes", "ecn_reductions"].map(|name| result.flows.whole(name)[0]);
        assert_eq!((delivered, reductions), (3_000_000, 0), "{kind}");
    }
}

/// Losses behind it are its own: the sender sees none, and everything arrives.
#[test]
fn the_sender_sees_no_loss_behind_a_proxy_that_spoofs_or_snoops() {
    let lossy = [("link.sat.forward.error", "{ kind = 'packet', rate = 1e-2 }"), ("flow.f.app.size", "2 MB")];
    let plain = run(GEO, &lossy);
    for recovery in ["newreno", "sack"] {
        let sets = [lossy[0], lossy[1], ("tcp.recovery", recovery)];
        let spoofed = run(&at(GEO, "gw", &["{ kind = \"spoof\", window = \"675 kB\" }"]), &sets);
        assert_eq!(spoofed.flows.whole("delivered_bytes"), &[2_000_000][..]);
        assert_eq!(spoofed.flows.whole("fast_retransmits"), &[0][..], "{recovery}");
        // Its FIN, which passes from end to end, takes longer than its timer expects.
        assert!(spoofed.flows.whole("retransmissions")[0] <= 3, "{recovery} {:?}", spoofed.flows);
        assert!(received_s(&spoofed) < 0.5 * received_s(&plain), "{recovery} {}", received_s(&spoofed));
        let snooped = run(&at(GEO, "gw", &["{ kind = \"snoop\" }"]), &sets);
        assert_eq!(snooped.flows.whole("delivered_bytes"), &[2_000_000][..]);
        assert_eq!(snooped.flows.whole("fast_retransmits"), &[0][..], "{recovery}");
    }
}

/// A link that fades, and a host that tunes its receive buffer: what was acknowledged early arrives in the end.
#[test]
fn what_was_acknowledged_early_arrives_through_fades() {
    let sets = [
        ("tcp.like", "linux-6"),
        ("tcp.processing", "'100 us'"),
        ("flow.f.app.size", "1 MB"),
        ("link.sat.forward.error", "{ kind = 'packet', rate = 1e-2 }"),
        ("link.sat.outage", "{ spans = [['1.2 s', '2.2 s']] }"),
    ];
    let text = at(GEO, "gw", &["{ kind = \"spoof\", window = \"675 kB\" }"]);
    let result = run(&text, &sets);
    assert_eq!((result.flows.whole("delivered_bytes")[0], &result.notes), (1_000_000, &vec![]));
    assert!(received_s(&result) < 20.0, "{}", received_s(&result));
}

/// The satellite hop between two gateways, the ends 10 ms away from each.
fn between_gateways() -> String {
    let far = "[link.home]\nfrom = \"terminal\"\nto = \"receiver\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n[flow.f]";
    GEO.replacen("to = \"receiver\"", "to = \"terminal\"", 1).replace("[flow.f]", far)
}

fn satpep(keys: &str) -> String {
    let gateway = format!("{{ kind = \"satpep\", rate = \"10 Mbit/s\", {keys} }}");
    at(&at(&between_gateways(), "gw", &[&gateway]), "terminal", &[&gateway])
}

/// It fills the hop from the first round trip, and an error costs no more than what it hit.
#[test]
fn satpep_needs_neither_slow_start_nor_reduction() {
    let sets = [("flow.f.app.size", "2 MB")];
    let ideal = 2e6 * 1500.0 / 1460.0 * 8.0 / 10e6;
    let result = run(&satpep(""), &sets);
    assert_eq!((result.flows.whole("delivered_bytes")[0], result.notes.len()), (2_000_000, 0));
    assert!(received_s(&result) < 1.4 * ideal + 0.9, "{} {ideal}", received_s(&result));
    let lossy = [sets[0], ("link.sat.error", "{ kind = 'packet', rate = 2e-2 }")];
    let (pep, plain) = (run(&satpep(""), &lossy), run(&between_gateways(), &lossy));
    assert_eq!(pep.flows.whole("delivered_bytes")[0], 2_000_000);
    assert!(received_s(&pep) < 0.2 * received_s(&plain), "{} {}", received_s(&pep), received_s(&plain));
    assert!(received_s(&pep) < received_s(&run(&satpep("slow_start = true, nack_probe = false"), &lossy)));
}

#[test]
fn satpep_carries_questions_and_answers() {
    let asked = "{ kind = \"request-response\", request = \"5 kB\", response = \"50 kB\", count = 3 }";
    for keys in ["", "slow_start = true", "buffer = \"3 kB\""] {
        let text = satpep(keys).replace("{ kind = \"file\", size = \"100740 B\" }", asked);
        let result = run(&text, &[("link.sat.error", "{ kind = 'packet', rate = 5e-2 }")]);
        assert_eq!(result.completions.whole("transfers")[0], 3, "{keys}");
        assert!(result.notes.is_empty(), "{:?}", result.notes);
    }
}

/// A segment of TCP that comes by the hop, past the other gateway, has the numbers of another stream: believed, it would acknowledge
/// what is lost, and nobody would send that again.
#[test]
fn satpep_believes_the_other_gateway_alone() {
    let text = satpep("").replace("100740 B", "10 kB");
    let scenario = from_toml(&text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let gw = NodeId::new(scenario.nodes.iter().position(|node| node.name == "gw").unwrap());
    // Six segments are long enough: the third is dropped and acknowledged, none is turned round.
    let mut network = Network::build_with(&scenario, 1, vec![(gw, Box::new(Misleads(7)))]);
    while !network.run(1_000_000) {}
    let result = network.finish().unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(result.flows.whole("delivered_bytes")[0], 10_000);
    assert_eq!(result.drops.whole("packets").iter().sum::<i64>(), 2, "the segment, and what acknowledged it");
}

/// The reason, and where it could go.
#[test]
fn a_proxy_is_refused_where_it_cannot_work() {
    let apart = GEO.replace("[flow.f]", "[link.other]\nfrom = \"receiver\"\nto = \"sender\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[flow.f]\nroute = [\"sender\", \"gw\", \"receiver\"]");
    let bent = |kind: &str| {
        let text = at(GEO, "gw", &[&format!("{{ kind = \"{kind}\" }}")]);
        refusal(&text.replace("middlebox", "kind = \"bent-pipe\"\nmiddlebox"))
    };
    for kind in ["refwa", "ewa", "ack-filter", "ack-reconstruct", "xcp", "rcp"] {
        assert!(bent(kind).contains("a bent pipe reads no packets"), "{kind}");
    }
    for kind in ["ack-filter", "ack-reconstruct"] {
        let found = refusal(&at(&apart, "gw", &[&format!("{{ kind = \"{kind}\" }}")]));
        assert!(found.contains("no packets of TCP pass in the direction \"to-sender\""), "{found}");
        assert!(found.contains("or it where they pass: receiver, sender"), "{found}");
    }
    for kind in ["split", "spoof", "snoop"] {
        let found = refusal(&at(&apart, "gw", &[&format!("{{ kind = \"{kind}\" }}")]));
        assert!(found.contains("cannot work at \"gw\": data of \"f\" pass, its ACKs do not"), "{found}");
        assert!(found.contains("expected it where both do: receiver, sender"), "{found}");
        assert!(bent(kind).contains("a bent pipe reads no packets"));
    }
    let single = at(GEO, "gw", &["{ kind = \"satpep\", rate = \"10 Mbit/s\" }"]);
    let found = refusal(&single);
    assert!(
        found.contains("but a hop needs two") && found.contains("expected another at one of: sender, receiver"),
        "{found}"
    );
}

/// A path that hands over from satellite to satellite: the proxy at the ground station keeps its state.
#[test]
fn a_proxy_before_a_path_that_hands_over_keeps_its_connections() {
    let leo = GEO.replace("rate = \"10 Mbit/s\"\ndelay = \"270 ms\"", "rate = \"10 Mbit/s\"\ndelay = { points = [[\"0 s\", \"20 ms\"], [\"2 s\", \"35 ms\"], [\"4 s\", \"25 ms\"]] }\noutage = { spans = [[\"2 s\", \"2.3 s\"], [\"4 s\", \"4.3 s\"]] }");
    let sets = [("flow.f.app.size", "5 MB")];
    for proxy in ["split", "spoof", "snoop"] {
        let result = run(&at(&leo, "gw", &[&format!("{{ kind = \"{proxy}\" }}")]), &sets);
        assert_eq!((result.flows.whole("delivered_bytes")[0], result.notes.len()), (5_000_000, 0), "{proxy}");
    }
}

/// A gateway with two satellites, of which the second takes over after a quarter of a second without any.
const HANDOVER: &str = r#"
duration = "60 s"
[tcp]
like = "linux-6"
[link.net]
from = "sender"
to = "gw"
rate = "100 Mbit/s"
delay = "10 ms"
[link.up]
from = "gw"
to = "sat{n}"
count = 2
rate = "20 Mbit/s"
delay = "8 ms"
[link.down]
from = "sat{n}"
to = "receiver"
count = 2
rate = "20 Mbit/s"
delay = "15 ms"
[flow.f]
from = "sender"
to = "receiver"
app = { kind = "file", size = "20 MB" }
route = ["sender", "gw", "sat1", "receiver"]
[[at]]
time = "2 s"
down = ["up1", "down1"]
withdraw = ["f"]
[[at]]
time = "2.25 s"
install = [{ flow = "f", route = ["sender", "gw", "sat2", "receiver"], reverse_route = ["receiver", "sat2", "gw", "sender"] }]
"#;

#[test]
fn proxies_outlive_a_handover() {
    for proxy in ["split", "spoof", "freeze", "ack-reconstruct"] {
        let result = run(&at(HANDOVER, "gw", &[&format!("{{ kind = \"{proxy}\" }}")]), &[]);
        assert_eq!(result.flows.text("outcome")[0], "completed", "{proxy}");
        assert_eq!(result.flows.whole("delivered_bytes")[0], 20_000_000, "{proxy}");
        // All of them have used the second satellite.
        let carried = result.links.text("link").iter().position(|link| link == "up2.forward").unwrap();
        assert!(result.links.whole("carried_packets")[carried] > 5_000, "{proxy}");
    }
}

/// Three transfers on one connection that is idle for 100 s between them: probes and their answers pass each proxy, a split probes
/// on each leg. A link that never comes back ends the connection in a pause.
#[test]
fn keepalive_works_through_proxies_and_notices_a_dead_path() {
    let sets = [
        ("flow.f.app", "{ kind = 'bulk', size = '20 kB', pause = '100 s', count = 3 }"),
        ("tcp.keepalive", "{ kind = 'on', idle = '30 s', interval = '5 s', probes = 3 }"),
    ];
    let dead = [sets[0], sets[1], ("link.lan.outage", "{ spans = [['20 s', '399 s']] }")];
    for proxy in [None, Some("split"), Some("spoof"), Some("snoop")] {
        let text = proxy.map_or(GEO.to_owned(), |kind| at(GEO, "gw", &[&format!("{{ kind = \"{kind}\" }}")]));
        let result = run(&text, &sets);
        let flow = |name: &str| result.flows.whole(name)[0];
        assert_eq!(result.completions.whole("transfers")[0], 3, "{proxy:?}");
        assert_eq!([flow("retransmissions"), flow("timeouts"), flow("spurious_retransmissions")], [0; 3], "{proxy:?}");
        // The other end probes as well, and each probe that arrives starts the wait of this end again.
        assert!(flow("keepalives") > 0, "{proxy:?}");
        let result = run(&text, &dead);
        assert_eq!(result.completions.whole("transfers")[0], 1, "{proxy:?}");
        // The next transfer opens another connection, 295 s before the end: its SYN leaves again after 1, 3, 7, 15, 31, 63 s and then
        // every 60 s.
        assert_eq!((result.flows.whole("keepalives")[0], result.flows.whole("timeouts")[0]), (3, 9), "{proxy:?}");
    }
}
