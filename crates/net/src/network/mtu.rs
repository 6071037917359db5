//! Links with an MTU: drops larger packets at their node, and reports them to senders if the link has reports (RFC 1191 §4).
//! The middlebox is not in the scenario: it is added at the node of each such link, after the others.

use super::real::RealPackets;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::middlebox::{Context, Middlebox};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Mtu, Oversize, Scenario};
use bentpipe_tcp::{Notice, PathMtu};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A link with an MTU.
#[derive(Debug)]
struct Guarded {
    id: LinkId,
    name: Box<str>,
    mtu: Mtu,
    /// Packets dropped without a report to their sender.
    unreported: u64,
    /// Packets whose report the sender ignores.
    ignored: u64,
    /// Size of the largest of both, bytes.
    largest: u64,
}

/// The links of a node that have an MTU.
#[derive(Debug)]
struct Guard {
    links: Vec<Guarded>,
    /// Whether the hosts of each lane ignore reports.
    ignores: Arc<[bool]>,
    /// Writes the reports to real senders.
    real: Option<Arc<dyn RealPackets>>,
}

/// The middleboxes for all links with an MTU.
pub(crate) fn guards(
    scenario: &Scenario,
    real: Option<&Arc<dyn RealPackets>>,
) -> Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)> {
    let mut guarded: BTreeMap<NodeId, Vec<Guarded>> = BTreeMap::new();
    for (id, link) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        if let Some(mtu) = link.mtu.filter(|mtu| mtu.oversize != Oversize::Fragment) {
            let name = link.name.as_str().into();
            guarded.entry(link.from).or_default().push(Guarded {
                id,
                name,
                mtu,
                unreported: 0,
                ignored: 0,
                largest: 0,
            });
        }
    }
    let ignores: Arc<[bool]> = {
        let flows = scenario.lanes.iter().map(|lane| &scenario.flows[lane.flow]);
        flows.map(|flow| flow.transport.tcp().is_some_and(|tcp| tcp.path_mtu == PathMtu::Ignore)).collect()
    };
    let guard = |links| Box::new(Guard { links, ignores: Arc::clone(&ignores), real: real.cloned() }) as Box<_>;
    guarded.into_iter().map(|(node, links)| (node, guard(links))).collect()
}

impl Middlebox for Guard {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let link = cx.link_of(&packet);
        let guarded = self.links.iter_mut().find(|guarded| Some(guarded.id) == link);
        let Some(guarded) = guarded.filter(|guarded| packet.size() > guarded.mtu.size) else {
            return cx.forward(packet);
        };
        let mtu = guarded.mtu;
        let mut is_reported = false;
        if mtu.oversize == Oversize::Report && packet.len > 0 {
            let (seq, len) = (packet.seq, packet.len);
            cx.notify_sender(&packet, Notice::TooBig { seq, len, mtu: mtu.size as u32 });
            is_reported = packet.is_segment();
            let real = self.real.as_ref().zip(cx.bytes(&packet));
            if let Some((report, header_len)) = real.and_then(|(real, bytes)| real.too_big(bytes, mtu.size)) {
                cx.emit_bytes(&packet, true, header_len, report);
                is_reported = true;
            }
        }
        let is_ignored = is_reported && self.ignores[packet.lane().index()];
        if !is_reported || is_ignored {
            guarded.unreported += u64::from(!is_reported);
            guarded.ignored += u64::from(is_ignored);
            guarded.largest = guarded.largest.max(packet.size());
        }
        cx.drop(packet, Cause::TooBig);
    }

    fn note(&self) -> Option<String> {
        let listed = |count: fn(&Guarded) -> u64, does: &str| {
            let of = |guarded: &Guarded| {
                let Guarded { name, mtu: Mtu { size, .. }, largest, .. } = guarded;
                format!("{} packets of up to {largest} B exceed the {size} B of \"{name}\"", count(guarded))
            };
            let notes: Vec<String> = self.links.iter().filter(|guarded| count(guarded) > 0).map(of).collect();
            (!notes.is_empty()).then(|| format!("{}, {does}", notes.join(", ")))
        };
        let unreported = listed(|guarded| guarded.unreported, "dropped without a report to their senders");
        let ignored = listed(|guarded| guarded.ignored, "dropped, and tcp.path_mtu = \"ignore\" ignores the reports");
        let notes: Vec<String> = unreported.into_iter().chain(ignored).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    fn stands_for(&self) -> Option<&'static str> {
        Some("mtu")
    }
}

#[cfg(test)]
mod tests {
    use crate::record::RunResult;
    use crate::Network;
    use bentpipe_scenario::from_toml;

    const PATH: &str = r#"
duration = "20 s"
[tcp]
like = "rfc"
cc = "sack"
timestamps = true
[link.near]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "2000 packets"
[link.far]
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "40 ms"
MTU
[flow.f]
from = "a"
to = "c"
app = { kind = "file", size = "1 MB" }
"#;

    fn run(mtu: &str, sets: &[(&str, &str)]) -> RunResult {
        let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let read = from_toml(&PATH.replace("MTU", mtu), "mtu", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&read.scenario, 1);
        assert!(network.run(u64::MAX));
        network.finish().unwrap_or_else(|failure| panic!("{failure}"))
    }

    fn completion_s(result: &RunResult) -> f64 {
        result.flows.real("completion_s")[0]
    }

    /// The first window of ten is lost. Each segment is reported, and retransmitted as two. A window without congestion
    /// losses costs the round trip to the node, not a timeout.
    #[test]
    fn rfc1191_a_sender_finds_the_mtu_of_its_path_in_a_round_trip() {
        let (whole, found) = (run("", &[]), run("mtu = { size = \"1000 B\" }", &[]));
        let extra = completion_s(&found) - completion_s(&whole);
        assert!(extra.abs() < 0.1, "{extra}");
        assert_eq!((found.flows.whole("timeouts")[0], found.flows.whole("retransmitted_bytes")[0]), (0, 14_480));
        // 948 B of data in 1000 B.
        let (packets, bytes) = (found.links.whole("carried_packets")[0], found.links.whole("carried_bytes")[0]);
        assert!(bytes as f64 / packets as f64 <= 1000.0 && bytes as f64 / packets as f64 > 985.0, "{bytes} {packets}");
        assert_eq!(found.drops.text("cause"), ["too-big"]);
    }

    #[test]
    fn a_link_that_says_nothing_is_a_black_hole() {
        for (mtu, sets) in [
            ("mtu = { size = \"1000 B\", oversize = \"drop\" }", vec![]),
            ("mtu = { size = \"1000 B\" }", vec![("tcp.path_mtu", "ignore")]),
        ] {
            let lost = run(mtu, &sets);
            assert!(completion_s(&lost).is_nan());
            assert!(lost.flows.whole("timeouts")[0] > 2);
            // The note has the reason.
            let packets = lost.drops.whole("packets")[0];
            let does = match sets.is_empty() {
                true => "dropped without a report to their senders",
                false => "dropped, and tcp.path_mtu = \"ignore\" ignores the reports",
            };
            let note = format!(
                "\"mtu\" at node \"b\": {packets} packets of up to 1500 B exceed the 1000 B of \"far.forward\", {does}"
            );
            assert!(lost.notes.contains(&note), "{:?}", lost.notes);
        }
        let small = run("mtu = { size = \"1000 B\", oversize = \"drop\" }", &[("tcp.smss", "948 B")]);
        assert!(!completion_s(&small).is_nan());
        assert_eq!(small.notes, [""; 0]);
    }

    /// A simulated sender of datagrams ignores reports.
    #[test]
    fn lost_datagrams_above_the_mtu_have_a_note() {
        let app = ("flow.f.app", "{ kind = \"cbr\", rate = \"1 Mbit/s\", size = \"1200 B\" }");
        for (size, is_noted) in [("1000 B", true), ("1500 B", false)] {
            let found = run(&format!("mtu = {{ size = \"{size}\" }}"), &[app]);
            assert_eq!(found.notes.iter().any(|note| note.starts_with("\"mtu\" at node \"b\"")), is_noted);
        }
    }

    /// 1500 B are 976 and 504 B of data behind a header each: 20 B more on the link.
    #[test]
    fn fragments_take_a_header_each() {
        let (whole, cut) = (run("", &[]), run("mtu = { size = \"1000 B\", oversize = \"fragment\" }", &[]));
        let busy = |result: &RunResult| result.links.real("utilisation")[0] * result.summary.real("simulated_s")[0];
        // Full segments of 1500 B, but for the last one.
        let ratio = busy(&cut) / busy(&whole);
        assert!((ratio - 1520.0 / 1500.0).abs() < 3e-4, "{ratio}");
        assert_eq!(cut.links.whole("carried_bytes"), whole.links.whole("carried_bytes"));
    }

    /// BEEN's size follows an error rate, up to the path MTU.
    #[test]
    fn the_mtu_bounds_a_size_that_follows_errors() {
        let sets = [("tcp.packet_size", "{ kind = \"optimum\" }"), ("tcp.error_reports", "resend")];
        let found = run("mtu = { size = \"600 B\" }", &sets);
        assert!(!completion_s(&found).is_nan());
        assert_eq!(found.drops.text("cause"), ["too-big"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |mtu: &str, more: &str| {
            let text = format!("{}{more}", PATH.replace("MTU", mtu));
            from_toml(&text, "mtu", &[]).expect_err("it is accepted").to_string()
        };
        assert!(refused("mtu = { size = \"60 B\" }", "").contains("expected"), "RFC 791 has 68 B at least");
        let bent = refused("mtu = { size = \"1000 B\" }", "[node.b]\nkind = \"bent-pipe\"\n");
        assert!(bent.contains("b is a bent pipe"), "{bent}");
        let other = "route = [\"a\", \"b\", \"c\"]\nreverse_route = [\"c\", \"a\"]\n\
                     [link.direct]\nfrom = \"c\"\nto = \"a\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
        let unheard = refused("mtu = { size = \"1000 B\" }", other);
        assert!(unheard.contains("the way back of \"f\" does not pass \"b\""), "{unheard}");
    }
}
