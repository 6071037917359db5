//! What a middlebox may do, and what becomes of a run in which one does what it may not.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::{LinkId, NodeId};
use bentpipe_sim::middlebox::{Context, Middlebox, QueueView};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Failure, Network, Packet, Trouble};
use bentpipe_tcp::Segment;
use bentpipe_units::{Duration, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A sender at `a`, a receiver at `c`, nodes in alphabetical order.
const CHAIN: &str = r#"
duration = "10 s"
[tcp]
like = "rfc"
[link.one]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
[link.two]
from = "b"
to = "c"
rate = "1 Mbit/s"
delay = "30 ms"
[flow.f]
from = "a"
to = "c"
app = { kind = "file", size = "200 kB" }
"#;

const A: NodeId = NodeId::new(0);
const B: NodeId = NodeId::new(1);
const C: NodeId = NodeId::new(2);

fn run_at(node: NodeId, text: &str, own: impl Middlebox + Send + Sync + 'static) -> Result<RunResult, Failure> {
    let scenario = from_toml(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build_with(&scenario, 1, vec![(node, Box::new(own))]);
    while !network.run(100_000) {}
    network.finish()
}

fn trouble(own: impl Middlebox + Send + Sync + 'static) -> (Trouble, String) {
    let failure = run_at(B, CHAIN, own).unwrap_err();
    assert_eq!((failure.node.as_str(), failure.middlebox, failure.position), ("b", "own", 0));
    (failure.what, failure.to_string())
}

/// Counts packets by the direction in which they pass.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<[AtomicU64; 2]>);

impl Middlebox for Counter {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0[usize::from(packet.is_to_sender())].fetch_add(1, Ordering::Relaxed);
        cx.forward(packet);
    }
}

/// They bypassed those of their own node on the way out, and met them on the way in.
#[test]
fn packets_of_a_host_meet_the_middleboxes_of_its_node_both_ways() {
    let counts = [A, B, C].map(|node| {
        let counter = Counter::default();
        let result = run_at(node, CHAIN, counter.clone()).unwrap();
        assert_eq!(result.flows.text("outcome"), ["completed"]);
        counter.0.each_ref().map(|count| count.load(Ordering::Relaxed))
    });
    // Those on their way when the transfer was complete have not come to all nodes.
    assert!(counts.iter().all(|[there, back]| *there > 130 && *back > 65), "{counts:?}");
    assert!(counts.windows(2).all(|pair| pair[0][0] >= pair[1][0] && pair[0][1] <= pair[1][1]), "{counts:?}");
}

#[test]
fn shipped_middleboxes_act_on_what_their_own_host_sends() {
    let text = format!("{CHAIN}[node.a]\nmiddlebox = [{{ kind = \"impair\", duplicate = 1 }}]\n");
    let result = run_at(B, &text, Counter::default()).unwrap();
    let [sent, arrived] = ["sent_packets", "arrived_packets"].map(|name| result.flows.whole(name)[0]);
    // Without the middlebox none would arrive twice; two links drop what comes too fast.
    assert!(arrived > sent + 20, "{arrived} of {sent}");
}

#[test]
fn a_middlebox_that_forgets_a_packet_ends_the_run() {
    #[derive(Debug)]
    struct Forgets;
    impl Middlebox for Forgets {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            if cx.now < Time::ZERO + Duration::from_secs(1) {
                cx.forward(packet);
            }
        }
    }
    let (what, text) = trouble(Forgets);
    assert_eq!(what, Trouble::Forgot { owed: 1, accounted: 0 });
    assert!(text.starts_with("middlebox 0 (\"own\") of node \"b\" ended the run at 1.0"), "{text}");
    assert!(text.ends_with("it gave back or holds 0 of its 1 packets"), "{text}");
}

#[test]
fn a_middlebox_that_gives_back_more_than_it_has_ends_the_run() {
    #[derive(Debug)]
    struct Forges;
    impl Middlebox for Forges {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            cx.forward(packet);
            cx.forward(packet);
        }
    }
    assert_eq!(trouble(Forges).0, Trouble::Forgot { owed: 1, accounted: 2 });
}

#[test]
fn a_middlebox_that_holds_without_bound_ends_the_run() {
    /// Never lets go.
    #[derive(Debug, Default)]
    struct Keeps(Vec<Packet>);
    impl Middlebox for Keeps {
        fn on_packet(&mut self, packet: Packet, _: &mut Context<'_>) {
            self.0.push(packet);
        }
        fn held(&self) -> usize {
            self.0.len()
        }
    }
    let text = "duration = \"2 s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"100 Gbit/s\"\ndelay = \"1 ms\"\n\
        [link.m]\nfrom = \"b\"\nto = \"c\"\nrate = \"100 Gbit/s\"\ndelay = \"1 ms\"\n[flow.f]\nfrom = \"a\"\nto = \"c\"\n\
        app = { kind = \"cbr\", rate = \"2 Gbit/s\", size = \"100 B\" }\n";
    let failure = run_at(B, text, Keeps::default()).unwrap_err();
    assert_eq!((failure.what, failure.at.as_secs_f64() < 1.0), (Trouble::Hoards, true), "{failure}");
}

#[test]
fn a_middlebox_that_acts_for_ever_at_one_instant_ends_the_run() {
    /// Wakes up at once, again and again.
    #[derive(Debug)]
    struct Restless;
    impl Middlebox for Restless {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            cx.forward(packet);
        }
        fn next_wakeup(&self) -> Time {
            Time::ZERO + Duration::from_millis(1)
        }
    }
    assert_eq!(trouble(Restless).0, Trouble::Endless);

    /// Answers each packet with another one of its own, which its neighbour answers, and so on.
    #[derive(Debug)]
    struct Answers;
    impl Middlebox for Answers {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            let copy = cx.copy_of(&packet);
            cx.emit(copy);
            cx.send_back(packet);
        }
    }
    let scenario = from_toml(CHAIN, "test.toml", &[]).unwrap().scenario;
    // Of three, that in the middle is asked twice for each answer: soon there are millions.
    for neighbours in [2, 3] {
        let own = (0..neighbours).map(|_| (B, Box::new(Answers) as Box<dyn Middlebox + Send + Sync>));
        let mut network = Network::build_with(&scenario, 1, own.collect());
        while !network.run(100_000) {}
        let failure = network.finish().unwrap_err();
        assert_eq!((failure.what, failure.node.as_str()), (Trouble::Endless, "b"), "{failure}");
    }
}

/// As a code does for a window of a gigabyte that is sent at once.
#[test]
fn a_million_packets_at_one_instant_are_not_without_end() {
    #[derive(Debug)]
    struct Copies(u32);
    impl Middlebox for Copies {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            for _ in 0..std::mem::take(&mut self.0) {
                let copy = cx.copy_of(&packet);
                cx.emit(copy);
            }
            cx.forward(packet);
        }
    }
    let result = run_at(B, CHAIN, Copies(1_500_000)).unwrap();
    assert_eq!(result.flows.text("outcome"), ["completed"]);
}

#[test]
fn a_sender_is_told_to_send_smaller_segments() {
    /// Asks for smaller segments once half a second is over.
    #[derive(Debug)]
    struct Shrinks(Arc<AtomicU64>);
    impl Middlebox for Shrinks {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            if !packet.is_to_sender() && packet.len > 0 {
                if cx.now > Time::ZERO + Duration::from_millis(500) && self.0.load(Ordering::Relaxed) == 0 {
                    cx.set_segment_size(&packet, 300);
                }
                if cx.now > Time::ZERO + Duration::from_secs(1) {
                    self.0.fetch_max(packet.len.into(), Ordering::Relaxed);
                }
            }
            cx.forward(packet);
        }
    }
    let largest = Arc::new(AtomicU64::new(0));
    let result = run_at(B, CHAIN, Shrinks(largest.clone())).unwrap();
    assert_eq!((largest.load(Ordering::Relaxed), result.flows.text("outcome")), (300, &["completed".to_owned()][..]));
}

#[test]
fn what_a_middlebox_drops_counts_as_policy_at_its_node() {
    #[derive(Debug)]
    struct Drops(u32);
    impl Middlebox for Drops {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            self.0 += 1;
            if self.0 % 20 == 0 {
                cx.drop(packet, Cause::Policy);
            } else {
                cx.forward(packet);
            }
        }
    }
    let result = run_at(B, CHAIN, Drops(0)).unwrap();
    let mut rows = result.drops.text("where").iter().zip(result.drops.text("cause"));
    assert!(rows.any(|(place, cause)| (place.as_str(), cause.as_str()) == ("b", "policy")), "{:?}", result.drops);
    assert_eq!(result.flows.text("outcome"), ["completed"]);
}

/// A node of kind `processing` shows its middleboxes what it is going to drop; a router does not.
#[test]
fn corrupted_packets_are_shown_where_headers_are_protected() {
    #[derive(Clone, Debug, Default)]
    struct Sees(Arc<AtomicU64>);
    impl Middlebox for Sees {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            assert!(!packet.is_corrupted());
            cx.forward(packet);
        }
        fn on_corrupted(&mut self, packet: &Packet, _: &mut Context<'_>) {
            assert!(packet.is_corrupted());
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for (kind, is_shown) in [("processing", true), ("router", false)] {
        let text = CHAIN.replace("delay = \"20 ms\"", "delay = \"20 ms\"\nerror = { kind = \"packet\", rate = 0.1 }");
        let (sees, text) = (Sees::default(), format!("{text}[node.b]\nkind = \"{kind}\"\n"));
        let result = run_at(B, &text, sees.clone()).unwrap();
        let lost: i64 = result
            .drops
            .text("where")
            .iter()
            .zip(result.drops.whole("packets"))
            .filter(|(at, _)| *at == "b")
            .map(|(_, n)| n)
            .sum();
        assert!(lost > 5);
        assert_eq!(sees.0.load(Ordering::Relaxed), if is_shown { lost as u64 } else { 0 });
    }
}

/// RFC 3449 §5.2.1 on the way back of 64 kbit/s that the shipped scenario `asymmetric` has: 200 acknowledgements of 40 B a second
/// cross it, and 416 come to it when the way down is full, of which the filter takes 52 %.
#[test]
fn a_filter_of_acknowledgements_fills_the_way_down() {
    let text = std::fs::read_to_string("../../python/bentpipe/scenario/shipped/asymmetric.toml").unwrap();
    // Nothing is lost, so that the window is what the receiver allows, with the filter too.
    let text = text.replace("queue = \"2 bdp\"", "queue = \"unlimited\"");
    let run = |node: &str| {
        let scenario =
            from_toml(&format!("{text}{node}"), "asymmetric", &[]).unwrap_or_else(|p| panic!("{p}")).scenario;
        let mut network = Network::build(&scenario, 1);
        while !network.run(u64::MAX) {}
        network.finish().unwrap()
    };
    let plain = run("");
    assert!((plain.flows.real("goodput_bps")[0] / 4.67e6 - 1.0).abs() < 0.03);
    for place in ["first", "last"] {
        let filtered =
            run(&format!("\n[node.terminal]\nmiddlebox = [{{ kind = \"ack-filter\", place = \"{place}\" }}]\n"));
        let goodput = filtered.flows.real("goodput_bps")[0];
        // 10 Mbit/s x 1460 / 1500 as long as the way down is busy: all the time but in slow start.
        let busy = filtered.links.real("utilisation")[0];
        assert!((goodput / busy / 9.733e6 - 1.0).abs() < 0.01 && busy > 0.94, "{goodput} {busy}");
        let policy: i64 = filtered.drops.whole("packets").iter().sum();
        let crossed = filtered.links.whole("carried_packets")[1];
        let share = policy as f64 / (policy + crossed) as f64;
        assert!((share - 0.52).abs() < 0.01, "{share}");
    }
}

/// A message takes the time that a packet takes, and comes to the one that takes it.
#[test]
fn a_message_reaches_the_middleboxes_of_another_node() {
    /// Sends one message to `B` when the first packet passes.
    #[derive(Debug)]
    struct Asks(bool);
    impl Middlebox for Asks {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            if !std::mem::replace(&mut self.0, true) {
                cx.send_message(&packet, B, [7, 11], false);
            }
            cx.forward(packet);
        }
    }
    /// Notes what it was sent, and when.
    #[derive(Clone, Debug, Default)]
    struct Listens(Arc<[AtomicU64; 4]>);
    impl Middlebox for Listens {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            cx.forward(packet);
        }
        fn on_message(&mut self, words: [u64; 2], _: &Packet, cx: &mut Context<'_>) -> bool {
            let noted = [self.0[0].load(Ordering::Relaxed) + 1, words[0], words[1], cx.now.as_ps()];
            self.0.iter().zip(noted).for_each(|(place, value)| place.store(value, Ordering::Relaxed));
            true
        }
    }
    let listens = Listens::default();
    let scenario = from_toml(CHAIN, "test.toml", &[]).unwrap().scenario;
    let own: Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)> =
        vec![(A, Box::new(Asks(false))), (B, Box::new(listens.clone()))];
    let mut network = Network::build_with(&scenario, 1, own);
    while !network.run(100_000) {}
    let result = network.finish().unwrap();
    let [messages, first, second, at] = listens.0.each_ref().map(|value| value.load(Ordering::Relaxed));
    assert_eq!((messages, first, second), (1, 7, 11));
    // Emitted before the SYN is forwarded, it is the first on the link: 20 ms, and its own bytes at 2 Mbit/s.
    assert!((20.0e9..20.4e9).contains(&(at as f64)), "{at}");
    assert_eq!(result.flows.text("outcome"), ["completed"]);
}

#[test]
fn a_middlebox_sees_each_departure_from_the_queue_that_it_feeds() {
    #[derive(Clone, Debug, Default)]
    struct Watches {
        departures: Arc<AtomicU64>,
        empty: Arc<AtomicU64>,
        largest: Arc<AtomicU64>,
    }
    impl Middlebox for Watches {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            cx.forward(packet);
        }
        fn on_departure(&mut self, link: LinkId, queue: QueueView, _: &mut Context<'_>) {
            // The way on: the link back to the sender is the other one.
            if link != WAY_ON {
                return;
            }
            assert_eq!(queue.bytes, 1500 * queue.packets as u64);
            self.departures.fetch_add(1, Ordering::Relaxed);
            self.empty.fetch_add(u64::from(queue.packets == 0), Ordering::Relaxed);
            self.largest.fetch_max(queue.packets as u64, Ordering::Relaxed);
        }
        fn watches_queues(&self) -> bool {
            true
        }
    }
    const WAY_ON: LinkId = LinkId::new(2);
    let watches = Watches::default();
    let result = run_at(B, CHAIN, watches.clone()).unwrap();
    let [departures, empty, largest] =
        [&watches.departures, &watches.empty, &watches.largest].map(|count| count.load(Ordering::Relaxed));
    let names = result.links.text("link");
    let row = names.iter().position(|name| name == "two.forward").unwrap();
    assert_eq!(departures as i64, result.links.whole("carried_packets")[row]);
    assert!(empty > 2 && largest > 5, "{empty} {largest}");
}

/// One segment of 1500 B in each round trip of 100 ms, 6 and 12 ms to send it, and 0.48 ms to send its acknowledgement.
#[test]
fn a_rewritten_window_limits_the_sender() {
    #[derive(Debug)]
    struct Narrows;
    impl Middlebox for Narrows {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            let narrowed = |segment: Segment| Segment { window: segment.window.min(1460), ..segment };
            let segment = cx.segment(&packet).filter(|_| packet.is_to_sender()).map(narrowed);
            let packet = match segment {
                Some(segment) => cx.rewrite(packet, &segment),
                None => packet,
            };
            cx.forward(packet);
        }
    }
    let text = CHAIN.replace("{ kind = \"file\", size = \"200 kB\" }", "\"greedy\"");
    let tcp = "smss = \"1460 B\"\nwindow_scaling = false\ntimestamps = false\nack.every = 1\n";
    let text = text.replace("like = \"rfc\"\n", &format!("like = \"rfc\"\n{tcp}"));
    let result = run_at(B, &text, Narrows).unwrap();
    let goodput = result.flows.real("goodput_bps")[0];
    assert!((goodput / (1460.0 * 8.0 / 0.11848) - 1.0).abs() < 0.02, "{goodput}");
}
