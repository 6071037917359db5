//! Compressed headers: their time on a slow link, losses between the two ends, and pairs that are refused.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::middlebox::{Context, Middlebox};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Network, Packet};
use bentpipe_tcp::Flags;
use std::sync::{Arc, Mutex};

/// A slow link between `b` and `c`, packets of 60 B of data, through nodes in alphabetical order.
const PATH: &str = r#"
duration = "100 s"
[tcp]
like = "rfc"
cc = "sack"
smss = "60 B"
timestamps = false
receive_buffer = "3 kB"
[link.l1]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[link.l2]
from = "b"
to = "c"
rate = "64 kbit/s"
delay = "20 ms"
queue = "unlimited"
[link.l3]
from = "c"
to = "d"
rate = "1 Mbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "d"
app = { kind = "file", size = "60 kB" }
"#;

type OwnBox = Box<dyn Middlebox + Send + Sync>;

fn run(first: &str, second: &str, keys: &str, sets: &[(&str, &str)], own: Vec<(usize, OwnBox)>) -> RunResult {
    let end = |role: &str| format!("{{ kind = \"compress\", role = \"{role}\", {keys} }}");
    let both = format!("middlebox = [{}, {}]", end("decompressor"), end("compressor"));
    let text = format!("{PATH}[node.{first}]\n{both}\n[node.{second}]\n{both}\n");
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = from_toml(&text, "test", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let own = own.into_iter().map(|(node, own)| (NodeId::new(node), own)).collect();
    let mut network = Network::build_with(&scenario, 7, own);
    assert!(network.run(u64::MAX));
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

fn link<'a>(result: &'a RunResult, column: &str, name: &str) -> (&'a [i64], usize) {
    let at = result.links.text("link").iter().position(|link| *link == name).unwrap();
    (result.links.whole(column), at)
}

fn bytes(result: &RunResult, name: &str) -> (i64, i64) {
    let [(packets, at), (bytes, _)] = ["carried_packets", "carried_bytes"].map(|column| link(result, column, name));
    (packets[at], bytes[at])
}

fn noted(result: &RunResult, node: &str, word: &str) -> u64 {
    let head = format!("\"compress\" at node \"{node}\"");
    let found = result.notes.iter().filter(|note| note.starts_with(&head));
    let after = found.filter_map(|note| note.split(&format!("{word} = ")).nth(1)).next().unwrap_or("0");
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// 60 kB in segments of 60 B, which take (4 + 60) of (40 + 60) of the time; at 64 kbit/s, 8 s instead of 12.5 s.
#[test]
fn small_packets_take_the_time_of_their_short_headers() {
    let plain = run("b", "c", "contexts = 0", &[], Vec::new());
    for (scheme, header, full) in [("vj", 4, 1), ("iphc", 4, 1), ("rohc", 8, 4)] {
        let packed = run("b", "c", &format!("scheme = \"{scheme}\", refresh = \"1 h\""), &[], Vec::new());
        let seconds = [&packed, &plain].map(|result| result.flows.real("completion_s")[0]);
        let expected = f64::from(header + 60) / 100.0;
        assert!((seconds[0] / seconds[1] - expected).abs() < 0.02, "{scheme}: {seconds:?}");
        // 1000 segments and a SYN; the last one has the FIN.
        let ((packets, with), (others, without)) = (bytes(&packed, "l2.forward"), bytes(&plain, "l2.forward"));
        let saved = noted(&packed, "b", "saved_bytes") as i64;
        assert_eq!((packets, without - with), (others, saved));
        assert_eq!(noted(&packed, "b", "full_headers"), full, "{scheme}");
        let short = noted(&packed, "b", "compressed_packets") as i64;
        assert_eq!(saved, short * i64::from(40 - header));
        assert_eq!(short, packets - 2 - full as i64, "{scheme}: SYN and FIN pass as they are");
        // Behind the decompressor they are whole, and ACKs are short on their way.
        assert_eq!(bytes(&packed, "l3.forward"), bytes(&plain, "l3.forward"));
        assert!(bytes(&packed, "l2.reverse").1 * 8 < bytes(&packed, "l3.reverse").1 * 2);
        assert_eq!(noted(&packed, "c", "damaged_packets"), 0);
    }
}

/// Drops one packet of data, and counts the compressed ones from then until a full header comes.
#[derive(Debug, Default)]
struct Drops {
    data: u64,
    behind: Arc<Mutex<(u64, bool)>>,
}

impl Middlebox for Drops {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        // SYN and FIN pass as they are.
        if packet.is_to_sender() || packet.header_flags().has_any(Flags::SYN.with(Flags::FIN)) {
            return cx.forward(packet);
        }
        self.data += 1;
        let mut behind = self.behind.lock().unwrap();
        if self.data == 500 {
            return cx.drop(packet, Cause::Policy);
        }
        behind.1 |= self.data > 500 && packet.header_len >= 40;
        behind.0 += u64::from(self.data > 500 && !behind.1);
        cx.forward(packet);
    }
}

#[test]
fn one_loss_is_a_timeout_with_vj_and_a_fast_retransmission_with_rohc() {
    let lose = |keys: &str| {
        let drops = Drops::default();
        let behind = drops.behind.clone();
        let result = run("a", "d", keys, &[], vec![(1, Box::new(drops))]);
        assert!(!result.flows.real("completion_s")[0].is_nan());
        let behind = behind.lock().unwrap().0;
        (behind, noted(&result, "d", "damaged_packets"), result.flows.whole("timeouts")[0])
    };
    let (behind, damaged, timeouts) = lose("scheme = \"vj\"");
    assert!(behind > 10 && timeouts > 0, "{behind} packets, {timeouts} timeouts");
    assert_eq!(damaged, behind, "all that follow end at the decompressor until a full header comes");
    let (_, damaged, timeouts) = lose("scheme = \"rohc\", refresh = \"1 h\"");
    assert_eq!((damaged, timeouts), (0, 0));
    let (_, damaged, timeouts) = lose("scheme = \"iphc\"");
    assert_eq!((damaged, timeouts), (0, 0), "twice repairs segments of one size");
    // The whole window is on its way when the request comes: none of it has a full header.
    let (behind, damaged, timeouts) = lose("scheme = \"iphc\", twice = false");
    assert_eq!((damaged, timeouts), (behind, 1));
}

fn assert_refused(nodes: &[(&str, &str)], expected: &[&str]) {
    let tables =
        nodes.iter().map(|(node, keys)| format!("[node.{node}]\nmiddlebox = [{{ kind = \"compress\", {keys} }}]\n"));
    let text = format!("{PATH}{}", tables.collect::<String>());
    let found = from_toml(&text, "test", &[]).expect_err("it is accepted").to_string();
    assert!(expected.iter().all(|part| found.contains(part)), "{expected:?} in:\n{found}");
}

#[test]
fn half_a_pair_and_two_schemes_are_refused() {
    let (first, second) = ("role = \"compressor\"", "role = \"decompressor\"");
    let partner =
        "expected { kind = \"compress\", role = \"decompressor\" } at one of: a, c, d, and no other compressor";
    assert_refused(&[("b", first)], &["node.b.middlebox.0.role", "has no decompressor behind \"b\"", partner]);
    assert_refused(&[("b", second)], &["has no compressor before \"b\""]);
    let other = "role = \"decompressor\", scheme = \"rohc\"";
    assert_refused(&[("b", first), ("c", other)], &["node.c.middlebox.0.scheme", "expected its scheme, \"vj\""]);
    let long = "role = \"compressor\", header = \"41 B\"";
    assert_refused(&[("b", long), ("c", second)], &["node.b.middlebox.0.header", "expected 1 B to 40 B"]);
}
