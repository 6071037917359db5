//! From link to link.

use super::far_ends::{FarEnd, NO_INBOX, TRACED};
use super::inbox::{Inbox, Order};
use super::routes::{AT_NODE, HOST};
use super::Network;
use crate::dictionary::Cause;
use crate::engine::Source;
use crate::ids::{LinkId, NodeId};
use crate::link::Crossing;
use crate::packet::Packet;
use crate::record::LossPlace;
use bentpipe_units::Time;

impl Network {
    /// The head of a link's ring reaches the next node.
    #[inline(always)]
    pub(super) fn deliver(&mut self, index: LinkId) {
        let far_end = self.far_ends[index];
        if far_end.inbox != NO_INBOX {
            return self.merge_or_trace(index, far_end.inbox);
        }
        let link = &mut self.links[index];
        link.serve(self.now, &mut self.losses);
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
        let mut packet = *front;
        link.drop_front();
        self.schedule.set_next(link.next_arrival());
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        if packet.is_damaged() && self.ends_at(index, &packet) {
            return;
        }
        if far_end.is_asked {
            return self.enter_node(far_end.node, &mut packet);
        }
        self.forward(far_end.node, &mut packet);
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
            if packet.is_damaged() && self.ends_at(index, &packet) {
                continue;
            }
            if far_end.is_asked && !self.find_way(packet.at, far_end.node, &mut packet) {
                continue;
            }
            let next = LinkId::new(self.routes.hops[packet.next as usize] as usize);
            self.accept(packet.at, next, &mut packet);
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
            if self.moves_others(&packet) && packet.at > self.present {
                break;
            }
            self.links[index].drop_front();
            self.arrive_ahead(index, far_end.node, &packet);
        }
        self.now = self.present;
        self.schedule.set(Source::Link(index), self.links[index].next_arrival());
    }

    /// Whether it is not for the end of a connection alone.
    #[inline(always)]
    fn moves_others(&self, packet: &Packet) -> bool {
        packet.is_datagram() || self.bodies.label(packet).is_some()
    }

    /// A packet arrives at its own instant, after what the end that it is for does by itself until then.
    #[inline]
    fn arrive_ahead(&mut self, index: LinkId, node: NodeId, packet: &Packet) {
        if !packet.is_datagram() {
            self.act_until(packet.endpoint(), packet.at);
        }
        self.now = packet.at;
        if !packet.is_damaged() || !self.ends_at(index, packet) {
            self.arrive(node, packet);
        }
    }

    #[inline]
    fn merge_or_trace(&mut self, index: LinkId, inbox: u32) {
        match inbox {
            TRACED => self.deliver_traced(index),
            inbox => self.merge(inbox as usize),
        }
    }

    /// A link that several feed is offered what is in its inbox, ahead of time: each packet at its own instant, and all that arrives
    /// before anything can that is not in there yet.
    fn merge(&mut self, inbox: usize) {
        let Inbox { link, lead, .. } = self.inboxes[inbox];
        let until = self.bounds.horizon.min(self.present + lead).max(self.present);
        let until = self.inboxes[inbox].whole(until);
        while let Some(mut packet) =
            self.inboxes[inbox].pop(until, Order { routes: &self.routes, schedule: &self.schedule })
        {
            let feeder = self.routes.before(&packet);
            if !packet.is_damaged() || !self.ends_at(feeder, &packet) {
                self.offer::<true>(packet.at, link, &mut packet);
            }
            // Something else may come between two that arrive at one instant.
            if until == self.present {
                break;
            }
        }
        self.now = self.present;
        let next = self.inboxes[inbox].next(Order { routes: &self.routes, schedule: &self.schedule });
        self.expect(inbox, next);
    }

    /// The schedule has one entry for all that is in an inbox: that of the feeder whose packet arrives first.
    fn expect(&mut self, inbox: usize, next: Option<(Time, LinkId)>) {
        let Inbox { seat, head, .. } = &mut self.inboxes[inbox];
        *head = next;
        let (at, feeder) = next.unwrap_or((Time::NEVER, *seat));
        self.schedule.seat(*seat, feeder, at);
    }

    /// A packet is offered to a link that leads to an inbox.
    #[inline]
    fn enter_inbox(&mut self, at: Time, link: LinkId, inbox: usize, packet: &mut Packet) {
        if self.links[link].cross(at, packet.length(), packet, Time::NEVER) == Crossing::Full {
            packet.at = at;
            return self.lose(at, LossPlace::Link(link), *packet, Cause::QueueOverflow);
        }
        let order = Order { routes: &self.routes, schedule: &self.schedule };
        if self.inboxes[inbox].insert(self.present, packet, order) {
            self.expect(inbox, Some((packet.at, link)));
        }
    }

    /// Whether a packet that link `index` damaged is lost where it arrives.
    #[cold]
    pub(super) fn ends_at(&mut self, index: LinkId, packet: &Packet) -> bool {
        let cause = if packet.is_cut_off() {
            Cause::Handover
        } else if packet.is_truncated() {
            Cause::Outage
        } else if packet.is_erased() {
            Cause::LinkLoss
        } else {
            return self.ends_corrupted(self.far_ends[index], packet);
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
    pub(super) fn forward(&mut self, node: NodeId, packet: &mut Packet) {
        if !self.take_link(packet) {
            self.arrive_apart(node, packet);
        }
    }

    /// A packet is offered to the link that is its next hop. Returns whether there is one.
    #[inline(always)]
    pub(super) fn take_link(&mut self, packet: &mut Packet) -> bool {
        let hop = self.routes.hops[packet.next as usize];
        let is_link = hop < AT_NODE;
        if is_link {
            self.accept(self.now, LinkId::new(hop as usize), packet);
        }
        is_link
    }

    /// A packet is offered to a link at `at`: now, or ahead of time.
    #[inline(always)]
    pub(super) fn accept(&mut self, at: Time, link: LinkId, packet: &mut Packet) {
        self.offer::<false>(at, link, packet);
    }

    /// The same. `ARRIVES`: if the packet reaches an end ahead of time, that acts at once; not to be asked for while an end acts.
    #[inline(always)]
    fn offer<const ARRIVES: bool>(&mut self, at: Time, link: LinkId, packet: &mut Packet) {
        let far_end = &self.far_ends[link];
        if (far_end.relays | (ARRIVES & far_end.ends)) && at < self.bounds.horizon {
            return self.cross::<ARRIVES>(at, link, packet);
        }
        let inbox = far_end.inbox;
        self.enter(at, link, inbox, packet);
    }

    /// A packet crosses at once all links of which that can be said.
    #[inline]
    fn cross<const ARRIVES: bool>(&mut self, mut at: Time, mut link: LinkId, packet: &mut Packet) {
        let (size, until) = (packet.length(), self.bounds.horizon);
        let inbox = loop {
            let far_end = &self.far_ends[link];
            let (inbox, node) = (far_end.inbox, far_end.node);
            let is_last = ARRIVES && far_end.ends && !self.moves_others(packet);
            if !(far_end.relays && !far_end.is_asked || is_last) {
                break inbox;
            }
            match self.links[link].cross(at, size, packet, until) {
                Crossing::No => break inbox,
                Crossing::Full => {
                    packet.at = at;
                    return self.lose(at, LossPlace::Link(link), *packet, Cause::QueueOverflow);
                }
                Crossing::At(arrival) => at = arrival,
            }
            if is_last {
                return self.arrive_ahead(link, node, packet);
            }
            if packet.is_damaged() && self.ends_at(link, packet) {
                return;
            }
            link = LinkId::new(self.routes.hops[packet.next as usize] as usize);
        };
        self.enter(at, link, inbox, packet);
    }

    #[inline(always)]
    fn enter(&mut self, at: Time, link: LinkId, inbox: u32, packet: &mut Packet) {
        if inbox != NO_INBOX {
            return match inbox {
                TRACED => self.enter_traced(at, link, packet),
                inbox => self.enter_inbox(at, link, inbox as usize, packet),
            };
        }
        if let Some(at) = self.links[link].accept(at, packet, &mut self.losses) {
            self.schedule.set(Source::Link(link), at);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
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
like = "rfc"
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
                assert!(network.far_ends.iter().any(|far_end| far_end.inbox != NO_INBOX));
                if !relays {
                    network.far_ends.iter_mut().for_each(|far_end| (far_end.relays, far_end.inbox) = (false, NO_INBOX));
                }
                while !network.run(1000) {}
                network.finish().unwrap()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with, without);
            assert!(with.drops.len() >= 4, "{:?}", with.drops);
        }
    }

    /// What leaves an inbox reaches its end without an event: with packets that arrive there corrupted, and are reported, delayed
    /// ACKs, and hosts that take time, as well as without.
    #[test]
    fn arriving_ahead_of_time_changes_nothing() {
        let outage = "\noutage = { spans = [[\"12 s\", \"12.1 s\"]], queue = \"flush\" }";
        let varying = r#"{ points = [["0 s", "6 Mbit/s"], ["5 s", "3 Mbit/s"]], every = "9 s" }"#;
        let errors = "\nerror = { kind = \"packet\", rate = \"0.3 %\" }";
        let plain = CHAIN.replace(outage, errors).replace(varying, "\"6 Mbit/s\"");
        for tcp in ["cc = \"sack\"", "cc = \"scps\"", "cc = \"sack\"\nprocessing = \"0 s\""] {
            let text = plain.replace("cc = \"sack\"", tcp);
            let scenario = crate::scenario::from_toml(&text, "chain", &[]).unwrap().scenario;
            let run = |limit: fn(&mut FarEnd)| {
                let (mut network, mut events) = (Network::build(&scenario, 3), 0);
                network.far_ends.iter_mut().for_each(limit);
                while !network.run(1) {
                    events += 1;
                }
                (network.finish().unwrap(), events)
            };
            let (ahead, few) = run(|_| {});
            let (behind_rings, more) = run(|far_end| far_end.ends = false);
            let (on_time, all) =
                run(|far_end| (far_end.relays, far_end.ends, far_end.inbox) = (false, false, NO_INBOX));
            assert!(ahead == on_time && behind_rings == on_time, "{tcp}");
            assert!(ahead.drops.text("where").iter().any(|place| place == "d"), "{tcp}");
            assert!(5 * few < 4 * more && more < all, "{tcp}: {few}, {more}, {all} events");
        }
    }
}
