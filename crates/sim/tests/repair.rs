//! Repair packets: the loss that is left beside closed forms, their sizes, and the order behind the decoder.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::middlebox::{Context, Middlebox};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::{Network, Packet};
use bentpipe_units::Time;
use std::sync::{Arc, Mutex};

/// Datagrams of 1028 B at 1000 a second, through nodes in alphabetical order, over a link that loses.
const PATH: &str = r#"
duration = "200 s"
[link.l1]
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "1 ms"
[link.l2]
from = "b"
to = "c"
rate = "100 Mbit/s"
delay = "20 ms"
[link.l3]
from = "c"
to = "d"
rate = "1 Gbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "d"
app = { kind = "cbr", size = "1000 B", rate = "8 Mbit/s" }
"#;

/// At `a` and `d`, with the errors of `l2` and own functions.
fn run(encoder: &str, decoder: &str, error: f64, sets: &[(&str, &str)], own: Vec<(usize, OwnBox)>) -> RunResult {
    let text = format!(
        "{PATH}[node.a]\nmiddlebox = [{{ kind = \"erasure\", role = \"encoder\", {encoder} }}]\n\
         [node.d]\nmiddlebox = [{{ kind = \"erasure\", role = \"decoder\", {decoder} }}]\n"
    );
    let mut sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    sets.push(("link.l2.forward.error".into(), format!("{{ kind = \"packet\", rate = {error} }}")));
    let scenario = from_toml(&text, "test", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let own = own.into_iter().map(|(node, own)| (NodeId::new(node), own)).collect();
    let mut network = Network::build_with(&scenario, 7, own);
    assert!(network.run(u64::MAX));
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

type OwnBox = Box<dyn Middlebox + Send + Sync>;

/// Datagrams that never arrived, without the last half second of the run, and those sent.
fn residual(result: &RunResult) -> (f64, f64) {
    let [sent, arrived] = ["sent_packets", "arrived_packets"].map(|name| result.datagrams.whole(name)[0] as f64);
    (sent - arrived, sent)
}

fn binomial(n: u32, p: f64) -> Vec<f64> {
    let mut all = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; all.len() + 1];
        for (at, chance) in all.iter().enumerate() {
            next[at] += chance * (1.0 - p);
            next[at + 1] += chance * p;
        }
        all = next;
    }
    all
}

/// Mean and variance of the packets that a block has lost after decoding; `fails` is by how many have arrived of `n`.
fn lost_of_block(k: u32, repair: u32, p: f64, fails: impl Fn(u32) -> f64) -> (f64, f64) {
    let (mut mean, mut square) = (0.0, 0.0);
    for (lost, a) in (0..).zip(binomial(k, p)) {
        for (repairs_lost, b) in (0..).zip(binomial(repair, p)) {
            let chance = a * b * fails(k + repair - lost - repairs_lost);
            mean += chance * f64::from(lost);
            square += chance * f64::from(lost * lost);
        }
    }
    (mean, square - mean * mean)
}

/// Allows for 4 standard deviations, and for packets under way at the end of the run.
fn assert_residual(result: &RunResult, k: u32, (mean, variance): (f64, f64)) {
    let (lost, sent) = residual(result);
    let blocks = sent / f64::from(k);
    let (expected, margin) = (blocks * mean, 4.0 * (blocks * variance).sqrt() + 60.0);
    assert!((lost - expected).abs() < margin, "{lost} lost, expected {expected} within {margin}");
    assert!(margin < expected * 0.5, "{margin} would accept anything near {expected}");
}

#[test]
fn the_residual_loss_of_an_mds_code_is_that_of_the_closed_form() {
    for (k, repair, p) in [(10, 2, 0.1), (20, 5, 0.2), (4, 4, 0.4)] {
        let (mean, variance) = lost_of_block(k, repair, p, |arrived| f64::from(arrived < k));
        // p P(fewer than k of the other n - 1 arrive).
        let others: f64 = binomial(k + repair - 1, p).iter().skip(repair as usize).sum();
        assert!((mean / f64::from(k) - p * others).abs() < 1e-12);
        let result = run(&format!("k = {k}, repair = {repair}"), "", p, &[], Vec::new());
        assert_residual(&result, k, (mean, variance));
    }
}

/// The probability that a Raptor code fails with this many packets beyond those of its block (Luby et al. 2007).
fn failure(beyond: u16) -> f64 {
    0.85 * 0.567_f64.powi(beyond.into())
}

#[test]
fn the_residual_loss_of_a_rateless_code_is_that_of_its_failure_model() {
    let (k, repair, p) = (10, 6, 0.2);
    let fails = |arrived: u32| if arrived < k { 1.0 } else { failure((arrived - k) as u16) };
    let encoder = format!("code = \"rateless\", k = {k}, repair = {repair}");
    assert_residual(&run(&encoder, "", p, &[], Vec::new()), k, lost_of_block(k, repair, p, fails));
}

#[test]
fn repair_packets_are_of_the_size_of_the_largest_and_their_share_is_that_of_the_code() {
    let result = run("k = 10, repair = 4, overhead = \"6 B\"", "", 0.0, &[("duration", "\"20 s\"")], Vec::new());
    let [packets, bytes] = ["carried_packets", "carried_bytes"].map(|name| result.links.whole(name)[2]);
    let sent = result.datagrams.whole("sent_packets")[0];
    assert_eq!(result.links.text("link")[2], "l2.forward");
    assert!((packets - sent * 14 / 10).abs() <= 45, "{packets} for {sent}");
    let expected = sent * 1028 + sent / 10 * 4 * 1034;
    assert!((bytes - expected).abs() <= 45 * 1034, "{bytes}, expected {expected}");
    // Nothing was lost, so nothing is made again, and none arrives twice.
    assert!((0.0..=25.0).contains(&residual(&result).0));
}

/// A packet a second: each is alone in its block, with one repair packet, so that both have to be lost.
#[test]
fn what_ends_in_the_middle_of_a_block_is_protected_after_the_wait() {
    let sets = [("flow.f.app.rate", "\"8 kbit/s\""), ("duration", "\"20000 s\"")];
    let result = run("k = 20, repair = 2, wait = \"50 ms\"", "", 0.3, &sets, Vec::new());
    let (lost, sent) = residual(&result);
    let (expected, margin) = (sent * 0.09, 4.0 * (sent * 0.09 * 0.91).sqrt() + 1.0);
    assert!((lost - expected).abs() < margin, "{lost} lost, expected {expected} within {margin}");
    // Those made again came with a repair packet, 50 ms later and 6 B behind.
    let latest = result.datagrams.real("delay_p99_s")[0];
    assert!((0.07..0.08).contains(&latest), "{latest} s");
}

/// Drops the packets that its function names.
struct Drops(fn(&Packet) -> bool);

impl std::fmt::Debug for Drops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drops")
    }
}

impl Middlebox for Drops {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.0(&packet) {
            cx.drop(packet, Cause::Policy);
        } else {
            cx.forward(packet);
        }
    }
}

/// When each datagram that comes by was sent.
#[derive(Debug, Default)]
struct Sees(Arc<Mutex<Vec<Time>>>);

impl Middlebox for Sees {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0.lock().unwrap().push(packet.sent_at());
        cx.forward(packet);
    }
}

#[test]
fn nothing_is_made_again_of_repair_packets_that_never_arrived() {
    let sets = [("duration", "\"20 s\"")];
    let drops: OwnBox = Box::new(Drops(Packet::is_message));
    let result = run("k = 10, repair = 10", "", 0.1, &sets, vec![(1, drops)]);
    let lost_on_links = result.datagrams.whole("lost_packets")[0] as f64;
    assert!((residual(&result).0 - lost_on_links).abs() <= 25.0 && lost_on_links > 1500.0);
    // Nor of packets that the repair packets alone cannot give.
    let drops: OwnBox = Box::new(Drops(|packet| !packet.is_message()));
    let result = run("k = 10, repair = 9", "", 0.0, &sets, vec![(1, drops)]);
    assert_eq!(result.datagrams.whole("arrived_packets"), &[0][..]);
    let drops: OwnBox = Box::new(Drops(|packet| !packet.is_message()));
    let result = run("k = 10, repair = 10", "", 0.0, &sets, vec![(1, drops)]);
    assert!(residual(&result).0 <= 40.0, "ten of ten are enough");
}

#[test]
fn in_order_nothing_overtakes_and_at_once_what_is_made_again_is_late() {
    let reorders = ("node.b.middlebox", "[{ kind = \"impair\", duplicate = 0.02, reorder = 0.05, hold = \"20 ms\" }]");
    let base = ("duration", "\"30 s\"");
    let plain: &[_] = &[base];
    for (order, sets, is_sorted) in
        [("in-order", plain, true), ("in-order", &[base, reorders], true), ("at-once", plain, false)]
    {
        let seen = Sees::default();
        let list = seen.0.clone();
        // Half of the packets of some blocks are lost for good.
        let decoder = format!("order = \"{order}\", timeout = \"100 ms\"");
        let own: Vec<(usize, OwnBox)> = vec![(3, Box::new(seen))];
        let result = run("k = 10, repair = 2", &decoder, 0.1, sets, own);
        let list = list.lock().unwrap();
        assert_eq!(list.is_sorted(), is_sorted, "{order}");
        let (lost, sent) = residual(&result);
        assert!(list.len() as f64 > 0.95 * sent && lost < 0.06 * sent, "{} of {sent}", list.len());
        let note = result.notes.iter().find(|note| note.starts_with("\"erasure\" at node \"d\"")).unwrap();
        assert!(note.contains("recovered_packets = ") && !note.contains("failed_blocks = 0"), "{note}");
    }
}
