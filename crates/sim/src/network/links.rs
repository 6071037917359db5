//! From link to link.

use super::{Network, HOST};
use crate::dictionary::Cause;
use crate::engine::Source;
use crate::ids::{LinkId, NodeId};
use crate::packet::Packet;
use crate::record::LossPlace;
use crate::spec::{NodeKind, Scenario};
use bentpipe_units::Time;

/// What a link needs to know of the node that it leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct FarEnd {
    node: NodeId,
    drops_corrupted: bool,
    has_middleboxes: bool,
    /// Every packet goes on to a link that only this one feeds.
    relays: bool,
}

impl Network {
    /// The head of a link's ring reaches the next node.
    #[inline(always)]
    pub(super) fn deliver(&mut self, index: LinkId) {
        let far_end = self.far_ends[index];
        let link = &mut self.links[index];
        link.advance(self.now, &mut self.losses);
        if far_end.relays {
            return self.relay(index, far_end);
        }
        let Some(front) = link.front(self.now) else {
            self.schedule.set_next(link.next_arrival());
            return self.count_losses(index);
        };
        let packet = *front;
        link.drop_front();
        self.schedule.set_next(link.next_arrival());
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        if packet.is_damaged() && self.ends_at(index, far_end, &packet) {
            return;
        }
        if far_end.has_middleboxes {
            return self.enter_node(far_end.node, packet);
        }
        self.forward(far_end.node, &packet);
    }

    /// All that this link carries goes to links that no other feeds: they accept it ahead of time, each packet
    /// at its own instant, and there is one event for all packets that are on the link instead of one for each.
    /// Such a link is given the same packets at the same instants, and nothing else reads it before the horizon.
    fn relay(&mut self, index: LinkId, far_end: FarEnd) {
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        let until = self.horizon.max(self.now);
        while let Some(front) = self.links[index].front_ahead(self.now, until) {
            let packet = *front;
            self.links[index].drop_front();
            if packet.is_damaged() && self.ends_at(index, far_end, &packet) {
                continue;
            }
            let next = LinkId::new(self.hops[packet.next as usize] as usize);
            self.accept(packet.at, next, &packet);
        }
        self.schedule.set(Source::Link(index), self.links[index].next_arrival());
    }

    /// Whether a packet that link `index` damaged is lost where it arrives.
    #[cold]
    fn ends_at(&mut self, index: LinkId, far_end: FarEnd, packet: &Packet) -> bool {
        if packet.is_truncated() || packet.is_erased() {
            self.links[index].count_lost();
            let cause = if packet.is_truncated() { Cause::Outage } else { Cause::LinkLoss };
            self.lose(LossPlace::Link(index), *packet, cause);
            return true;
        }
        let is_at_host = self.hops[packet.next as usize] == HOST;
        if is_at_host {
            self.traffic.on_corrupted(packet);
        }
        let is_dropped = far_end.drops_corrupted || is_at_host;
        if is_dropped {
            self.lose(LossPlace::Node(far_end.node), *packet, Cause::BitError);
        }
        is_dropped
    }

    /// A packet leaves `node` for its next hop.
    #[inline(always)]
    pub(super) fn forward(&mut self, node: NodeId, packet: &Packet) {
        let hop = self.hops[packet.next as usize];
        if hop == HOST {
            return self.arrive(node, packet);
        }
        self.accept(self.now, LinkId::new(hop as usize), packet);
    }

    #[inline(always)]
    pub(super) fn accept(&mut self, at: Time, link: LinkId, packet: &Packet) {
        if let Some(at) = self.links[link].accept(at, packet, &mut self.losses) {
            self.schedule.set(Source::Link(link), at);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
    }
}

/// What each link leads to.
pub(super) fn far_ends(scenario: &Scenario) -> Vec<FarEnd> {
    let feeders = Feeders::of(scenario);
    let mut far_ends: Vec<FarEnd> = scenario
        .links
        .iter()
        .map(|link| {
            let node = &scenario.nodes[link.to];
            FarEnd {
                node: link.to,
                drops_corrupted: node.kind == NodeKind::Router,
                has_middleboxes: !node.middleboxes.is_empty(),
                relays: node.middleboxes.is_empty(),
            }
        })
        .collect();
    for route in routes(scenario) {
        for (at, &link) in route.iter().enumerate() {
            let is_followed_by_own = route.get(at + 1).is_some_and(|&next| feeders.0[next] == Feeder::Link(link));
            far_ends[link].relays &= is_followed_by_own;
        }
    }
    far_ends
}

/// Where each link's packets come from.
struct Feeders(Vec<Feeder>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    None,
    Link(LinkId),
    /// A host, or several links.
    Many,
}

impl Feeders {
    fn of(scenario: &Scenario) -> Self {
        let mut feeders = vec![Feeder::None; scenario.links.len()];
        for route in routes(scenario) {
            for (at, &link) in route.iter().enumerate() {
                let feeder = if at == 0 { Feeder::Many } else { Feeder::Link(route[at - 1]) };
                let known = &mut feeders[link];
                *known = if *known == Feeder::None || *known == feeder { feeder } else { Feeder::Many };
            }
        }
        Self(feeders)
    }
}

fn routes(scenario: &Scenario) -> impl Iterator<Item = &Vec<LinkId>> {
    scenario.flows.iter().flat_map(|flow| [&flow.route, &flow.reverse_route])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three hops of which the second and third are fed by one link each; the third is the bottleneck. With errors,
    /// an outage, and losses of all kinds on links that run ahead of time.
    const CHAIN: &str = r#"
duration = "20.0123 s"
[tcp]
cc = "sack"
give_up = "never"
[link.up]
from = "a{n}"
to = "b"
count = 2
rate = "10 Mbit/s"
delay = "5 ms"
queue = "30 packets"
[link.one]
from = "b"
to = "c"
rate = "8 Mbit/s"
delay = "40 ms"
queue = "60 packets"
error = { kind = "packet", rate = "0.2 %" }
[link.two]
from = "c"
to = "d"
rate = { points = [["0 s", "6 Mbit/s"], ["5 s", "3 Mbit/s"]], every = "9 s" }
delay = "70 ms"
queue = "20 packets"
outage = { spans = [["12 s", "12.1 s"]], queue = "flush" }
[flow.f]
from = "a{n}"
to = "d"
count = 2
"#;

    #[test]
    fn relaying_ahead_of_time_changes_nothing() {
        let series = "[record]\nseries = [\"queue_packets\", \"carried_bps\", \"cwnd_bytes\"]\ninterval = \"7 ms\"\n";
        let red = r#"{ kind = "red", limit = "20 packets", min_th = 2, max_th = 6, weight = 0.1 }"#;
        let codel = r#"{ kind = "codel", limit = "20 packets" }"#;
        let pie = r#"{ kind = "pie", limit = "20 packets" }"#;
        let fq = r#"{ kind = "fq-codel", limit = "20 packets" }"#;
        let plain = "\"20 packets\"";
        for (queue, record) in [(plain, ""), (plain, series), (red, ""), (codel, series), (pie, ""), (fq, "")] {
            let text = format!("{}{record}", CHAIN.replace(plain, queue));
            let scenario = crate::scenario::from_toml(&text, "chain", &[]).unwrap().scenario;
            let run = |relays: bool| {
                let mut network = Network::build(&scenario, 3);
                assert!(network.far_ends.iter().any(|far_end| far_end.relays));
                network.far_ends.iter_mut().for_each(|far_end| far_end.relays &= relays);
                while !network.run(1000) {}
                network.finish()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with, without);
            assert!(with.drops.len() >= 4, "{:?}", with.drops);
        }
    }
}
