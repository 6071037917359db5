//! From link to link.

use super::routes::{Routes, AT_NODE, HOST};
use super::Network;
use crate::dictionary::Cause;
use crate::engine::Source;
use crate::ids::{LinkId, NodeId, PathId};
use crate::link::Crossing;
use crate::packet::Packet;
use crate::record::LossPlace;
use crate::spec::{Link, NodeKind, Order, Scenario};
use bentpipe_units::Time;

/// What a link needs to know of the node that it leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct FarEnd {
    pub(super) node: NodeId,
    drops_corrupted: bool,
    /// Whether the node has functions that see what is corrupted before it is dropped.
    shows_corrupted: bool,
    /// Whether the node does anything but send packets on by the route that they carry.
    is_asked: bool,
    /// Every packet goes on to a link that only this one feeds.
    pub(super) relays: bool,
    /// Every packet is for an end of a connection that nothing else moves but its own timers, and that alone feeds the link to
    /// which it sends.
    pub(super) ends: bool,
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
        if far_end.ends && self.now < self.bounds.horizon {
            return self.deliver_ahead(index, far_end);
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
        if far_end.is_asked {
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
        let until = self.bounds.horizon.max(self.now);
        while let Some(front) = self.links[index].front_ahead(self.now, until) {
            let mut packet = *front;
            self.links[index].drop_front();
            if packet.is_damaged() && self.ends_at(index, far_end, &packet) {
                continue;
            }
            if far_end.is_asked && !self.find_way(packet.at, far_end.node, &mut packet) {
                continue;
            }
            let next = LinkId::new(self.routes.hops[packet.next as usize] as usize);
            self.accept(packet.at, next, &packet);
        }
        self.schedule.set(Source::Link(index), self.links[index].next_arrival());
    }

    /// All that is on this link arrives, ahead of time: each packet at its own instant, and before it what the end that it is
    /// for does by itself until then. There is one event for all of them, and what an end needs is at hand.
    fn deliver_ahead(&mut self, index: LinkId, far_end: FarEnd) {
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        while let Some(front) = self.links[index].front_ahead(self.present, self.bounds.horizon) {
            let packet = *front;
            let is_of_others = packet.is_datagram() || self.bodies.label(&packet).is_some();
            if is_of_others && packet.at > self.present {
                break;
            }
            self.links[index].drop_front();
            if !is_of_others {
                self.act_until(packet.endpoint(), packet.at);
            }
            self.now = packet.at;
            if packet.is_damaged() && self.ends_at(index, far_end, &packet) {
                continue;
            }
            self.arrive(far_end.node, &packet);
        }
        self.now = self.present;
        self.schedule.set(Source::Link(index), self.links[index].next_arrival());
    }

    /// Whether a packet that link `index` damaged is lost where it arrives.
    #[cold]
    fn ends_at(&mut self, index: LinkId, far_end: FarEnd, packet: &Packet) -> bool {
        let cause = if packet.is_cut_off() {
            Cause::Handover
        } else if packet.is_truncated() {
            Cause::Outage
        } else if packet.is_erased() {
            Cause::LinkLoss
        } else {
            return self.ends_corrupted(far_end, packet);
        };
        self.links[index].count_lost();
        self.lose(packet.at, LossPlace::Link(index), *packet, cause);
        true
    }

    /// Whether a corrupted packet is lost where it arrives.
    fn ends_corrupted(&mut self, far_end: FarEnd, packet: &Packet) -> bool {
        let is_at_host = self.routes.hops[packet.next as usize] == HOST;
        if is_at_host {
            self.traffic.on_corrupted(packet);
        } else if far_end.shows_corrupted {
            self.show_corrupted(far_end.node, packet);
        }
        let is_dropped = far_end.drops_corrupted || is_at_host;
        if is_dropped {
            self.lose(packet.at, LossPlace::Node(far_end.node), *packet, Cause::BitError);
        }
        is_dropped
    }

    /// A packet leaves `node` for its next hop.
    #[inline(always)]
    pub(super) fn forward(&mut self, node: NodeId, packet: &Packet) {
        let hop = self.routes.hops[packet.next as usize];
        if hop >= AT_NODE {
            return self.arrive(node, packet);
        }
        self.accept(self.now, LinkId::new(hop as usize), packet);
    }

    /// A packet is offered to a link at `at`: now, or ahead of time.
    #[inline(always)]
    pub(super) fn accept(&mut self, at: Time, link: LinkId, packet: &Packet) {
        if self.far_ends[link].relays && at < self.bounds.horizon {
            return self.cross(at, link, *packet);
        }
        self.enter(at, link, packet);
    }

    /// A packet crosses at once all links of which that can be said.
    #[inline]
    fn cross(&mut self, mut at: Time, mut link: LinkId, mut packet: Packet) {
        loop {
            let far_end = self.far_ends[link];
            if !far_end.relays || far_end.is_asked {
                break;
            }
            match self.links[link].cross(at, &mut packet, self.bounds.horizon) {
                Crossing::No => break,
                Crossing::Full => {
                    packet.at = at;
                    return self.lose(at, LossPlace::Link(link), packet, Cause::QueueOverflow);
                }
                Crossing::At(arrival) => at = arrival,
            }
            if packet.is_damaged() && self.ends_at(link, far_end, &packet) {
                return;
            }
            link = LinkId::new(self.routes.hops[packet.next as usize] as usize);
        }
        self.enter(at, link, &packet);
    }

    #[inline(always)]
    fn enter(&mut self, at: Time, link: LinkId, packet: &Packet) {
        if let Some(at) = self.links[link].accept(at, packet, &mut self.losses) {
            self.schedule.set(Source::Link(link), at);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
    }
}

/// Whether packets may overtake one another on a link.
fn reorders(link: &Link) -> bool {
    link.arq.is_some_and(|arq| arq.order == Order::Free)
}

/// What each link leads to. `acts` says which nodes have functions.
pub(super) fn far_ends(scenario: &Scenario, routes: &Routes, acts: impl Fn(NodeId) -> bool) -> Vec<FarEnd> {
    let far_end = |link: &Link| FarEnd {
        node: link.to,
        drops_corrupted: scenario.nodes[link.to].kind != NodeKind::BentPipe,
        shows_corrupted: scenario.nodes[link.to].kind == NodeKind::Processing && acts(link.to),
        is_asked: acts(link.to) || routes.is_by_node(),
        relays: !acts(link.to) && !reorders(link),
        ends: !acts(link.to) && !reorders(link) && !routes.is_by_node() && scenario.record.series.is_empty(),
    };
    let mut far_ends: Vec<FarEnd> = scenario.links.iter().map(far_end).collect();
    let feeders = feeders(scenario);
    let changing = scenario.timeline.routes();
    // Whether the other end of this path answers by a link that only it feeds.
    let is_own = |path: PathId| {
        let (there, back) = (PathId::there(path.flow()), PathId::back(path.flow()));
        let back = if path.is_back() { there } else { back };
        let answers = scenario.first_route(back).first().is_some_and(|&first| feeders[first] == Feeder::Host(back));
        let is_fixed = !changing.contains_key(&path) && !changing.contains_key(&back);
        answers && is_fixed && scenario.flows[path.flow()].app.is_single()
    };
    each_hop(scenario, |path, from, to| {
        if let Some(from) = from {
            far_ends[from].relays &= to.is_some_and(|to| feeders[to] == Feeder::Link(from));
            far_ends[from].ends &= to.is_none() && is_own(path);
        }
    });
    far_ends
}

/// Where a link's packets come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    None,
    Link(LinkId),
    /// The host at which this path begins.
    Host(PathId),
    /// Several.
    Many,
}

fn feeders(scenario: &Scenario) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::None; scenario.links.len()];
    each_hop(scenario, |path, from, to| {
        if let Some(to) = to {
            let (known, feeder) = (&mut feeders[to], from.map_or(Feeder::Host(path), Feeder::Link));
            *known = if *known == Feeder::None || *known == feeder { feeder } else { Feeder::Many };
        }
    });
    feeders
}

/// Notes for each path each link by which packets can come to a node, with each by which they can leave it; none stands for a host.
fn each_hop(scenario: &Scenario, mut note: impl FnMut(PathId, Option<LinkId>, Option<LinkId>)) {
    let changing = scenario.timeline.routes();
    for path in PathId::all(2 * scenario.flows.len()).filter(|path| !changing.contains_key(path)) {
        let mut from = None;
        for &link in scenario.first_route(path) {
            note(path, from, Some(link));
            from = Some(link);
        }
        note(path, from, None);
    }
    // Where routes change, a packet may come to a node by one route and leave it by any other.
    for (path, later) in changing {
        let later = later.into_iter().filter_map(|(_, route)| route);
        let routes: Vec<&[LinkId]> = [scenario.first_route(path)].into_iter().chain(later).collect();
        let links = || routes.iter().copied().flatten().copied();
        routes.iter().for_each(|route| note(path, None, route.first().copied()));
        for from in links() {
            let node = scenario.links[from].to;
            links().filter(|&to| scenario.links[to].from == node).for_each(|to| note(path, Some(from), Some(to)));
        }
        routes.iter().for_each(|route| note(path, route.last().copied(), None));
    }
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
                network.finish().unwrap()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with, without);
            assert!(with.drops.len() >= 4, "{:?}", with.drops);
        }
    }
}
