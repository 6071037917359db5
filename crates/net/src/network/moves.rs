//! Moves packets from link to link.
//!
//! One event may move many packets ahead of time, each at its own instant, as far as [`Behind`] permits: along a chain, into a
//! link with several feeders, or to an endpoint. `now` is the instant of the event. The horizon is the next instant when
//! another event may observe the network.

use super::far_ends::{Behind, FarEnd};
use super::inbox::{Inbox, Order};
use super::links::Stop;
use super::motion::Motion;
use super::routes::{AT_NODE, HOST};
use crate::engine::Source;
use crate::link::Crossing;
use crate::record::LossPlace;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::middlebox::Middlebox;
use bentpipe_model::packet::{Packet, PacketKind};
use bentpipe_units::Time;

impl Motion {
    /// Handles the event of a link: moves packets from its ring, or from the inbox behind it.
    #[inline(always)]
    pub(super) fn deliver(&mut self, index: LinkId) {
        let far_end = self.links.far_ends[index];
        let until = match far_end.behind {
            Behind::Inbox(inbox) => return self.merge(inbox as usize),
            Behind::Chain | Behind::Choice => self.bounds.horizon.max(self.now),
            Behind::End if self.now < self.bounds.horizon => self.bounds.horizon,
            Behind::Node | Behind::End => return self.deliver_one(index, far_end),
            Behind::Medium | Behind::Traced => return self.deliver_apart(index, far_end),
        };
        self.run_ahead(index, far_end, until);
    }

    /// Moves the head of a link's ring to its node.
    #[inline(always)]
    fn deliver_one(&mut self, index: LinkId, far_end: FarEnd) {
        let link = &mut self.links.all[index];
        link.serve(self.now, &mut self.links.losses);
        let Some(front) = link.front(self.now) else {
            self.schedule.set_next(link.next_arrival());
            return self.count_losses(index);
        };
        let mut packet = *front;
        link.drop_front();
        self.schedule.set_next(link.next_arrival());
        if !self.links.losses.is_empty() {
            self.count_losses(index);
        }
        if packet.is_damaged() && self.ends_at(index, &packet) {
            return;
        }
        if far_end.is_asked {
            return self.enter_node(self.now, far_end.node, &mut packet);
        }
        self.forward(far_end.node, &mut packet);
    }

    /// Moves the packets of a link's ring up to `until` to the next links or to their endpoint, each at its own instant.
    fn run_ahead(&mut self, index: LinkId, far_end: FarEnd, until: Time) {
        self.links.all[index].serve(self.now, &mut self.links.losses);
        if !self.links.losses.is_empty() {
            self.count_losses(index);
        }
        let is_last = far_end.behind == Behind::End;
        while let Some(front) = self.links.all[index].front_ahead(self.now, until) {
            let mut packet = *front;
            if is_last && packet.at > self.now && self.ends.moves_others(&packet) {
                break;
            }
            self.links.all[index].drop_front();
            if is_last {
                self.arrive_ahead(index, far_end.node, &packet);
            } else if !(packet.is_damaged() && self.ends_at(index, &packet))
                && (far_end.behind == Behind::Chain || self.find_way(packet.at, far_end.node, &mut packet))
            {
                let next = self.routes.next_link(&packet);
                self.offer::<false>(packet.at, next, &mut packet);
            }
        }
        self.schedule.set(Source::Link(index), self.links.all[index].next_arrival());
    }

    /// Offers the packets of an inbox to its link, each at its own instant. Packets that are not in the inbox yet arrive later
    /// than `lead` from now.
    fn merge(&mut self, inbox: usize) {
        let Inbox { link, lead, .. } = self.links.inboxes[inbox];
        let window = if self.links.windows.is_on { self.begin_window(inbox) } else { None };
        let until = window.unwrap_or_else(|| self.bounds.horizon.min(self.now + lead)).max(self.now);
        let until = self.links.inboxes[inbox].whole(until);
        while let Some(mut packet) =
            self.links.inboxes[inbox].pop(until, Order { routes: &self.routes, schedule: &self.schedule })
        {
            let feeder = self.routes.before(&packet);
            if !packet.is_damaged() || !self.ends_at(feeder, &packet) {
                self.offer::<true>(packet.at, link, &mut packet);
            }
            // At `now` itself, another event may be due between two packets.
            if until == self.now {
                break;
            }
        }
        if self.links.windows.is_on {
            if until > self.now {
                self.links.windows.note_offered(inbox, until);
            }
            if window.is_some() {
                self.end_window();
            }
        }
        let next = self.links.inboxes[inbox].next(Order { routes: &self.routes, schedule: &self.schedule });
        self.links.expect(inbox, next, &mut self.schedule);
    }

    /// Begins a window of an inbox, if it may have one: lets the endpoints that feed it act as far as their arrivals are known.
    /// Returns the last instant up to which the inbox is then complete.
    #[inline(never)]
    fn begin_window(&mut self, inbox: usize) -> Option<Time> {
        if self.now >= self.bounds.horizon {
            return None;
        }
        let (ends, known) = self.links.windows.begin(inbox, self.now, &self.links.all)?;
        let known = known.min(self.bounds.horizon);
        for &end in &ends {
            if self.ends.traffic.hosts[end].armed < known {
                self.act_until(end, known);
                self.ends.rearm_late(end, &mut self.schedule);
            }
        }
        self.links.windows.give_back(inbox, ends);
        let until = (known + self.links.inboxes[inbox].lead).as_ps() - 1;
        Some(Time::from_ps(until).min(self.bounds.horizon))
    }

    /// Ends a window: visits the endpoints whose packets were kept.
    #[inline(never)]
    fn end_window(&mut self) {
        self.links.windows.keeps = false;
        for block in 0..self.links.windows.blocks.len() {
            let mut packets = std::mem::take(&mut self.links.windows.blocks[block]);
            for (link, packet) in &mut packets {
                self.visit(*link, packet);
            }
            packets.clear();
            self.links.windows.blocks[block] = packets;
        }
    }

    /// Offers a kept packet to the last link of its endpoint.
    #[inline]
    fn visit(&mut self, link: LinkId, packet: &mut Packet) {
        let (at, node) = (packet.at, self.links.far_ends[link].node);
        if self.ends.moves_others(packet) {
            return self.enter(at, link, Behind::End, packet);
        }
        match self.links.all[link].carry(at, packet.length(), packet, self.bounds.horizon) {
            Crossing::No => self.enter(at, link, Behind::End, packet),
            Crossing::Full => self.lose(at, LossPlace::Link(link), *packet, Cause::QueueOverflow),
            Crossing::At(_) | Crossing::Damaged(_) => self.arrive_ahead(link, node, packet),
        }
    }

    /// Runs the timers of the packet's endpoint up to `packet.at`, then delivers the packet.
    #[inline]
    fn arrive_ahead(&mut self, index: LinkId, node: NodeId, packet: &Packet) {
        if packet.is_segment() {
            self.act_until(packet.endpoint(), packet.at);
        }
        if !packet.is_damaged() || !self.ends_at(index, packet) {
            self.arrive(packet.at, node, packet);
        }
    }

    /// Handles the arrival of a packet that link `index` damaged: nodes may see corrupted packets, and most drop them. Returns
    /// whether it is lost.
    #[cold]
    pub(super) fn ends_at(&mut self, index: LinkId, packet: &Packet) -> bool {
        if let Some(cause) = self.links.loses(index, packet) {
            self.lose(packet.at, LossPlace::Link(index), *packet, cause);
            return true;
        }
        let far_end = self.links.far_ends[index];
        let is_at_host = self.routes.hops[packet.next as usize] == HOST;
        if is_at_host {
            self.ends.traffic.on_corrupted(packet.at, packet);
        } else if far_end.shows_corrupted {
            for position in 0..self.boxes.count(far_end.node) {
                self.call(far_end.node, position, 0, |middlebox, cx| middlebox.on_corrupted(packet, cx));
            }
            self.rearm_node(far_end.node);
        }
        let is_dropped = far_end.drops_corrupted || is_at_host;
        if is_dropped {
            self.lose(packet.at, LossPlace::Node(far_end.node), *packet, Cause::BitError);
        }
        is_dropped
    }

    /// Sends a packet from `node` to its next link, or delivers it if `node` is its host.
    #[inline(always)]
    pub(super) fn forward(&mut self, node: NodeId, packet: &mut Packet) {
        if !self.take_link(self.now, packet) {
            self.arrive_apart(self.now, node, packet);
        }
    }

    /// Offers a packet to its next link. Returns false if it has none here: its node is next, or its host.
    #[inline(always)]
    pub(super) fn take_link(&mut self, at: Time, packet: &mut Packet) -> bool {
        let hop = self.routes.hops[packet.next as usize];
        let is_link = hop < AT_NODE;
        if is_link {
            self.offer::<false>(at, LinkId::new(hop as usize), packet);
        }
        is_link
    }

    /// Offers a packet to a link at `at`, which is now or later. Carries it across chains of idle plain links in one step.
    /// `ARRIVES` also delivers it to an endpoint. Never set while an endpoint acts: no recursion.
    #[inline(always)]
    fn offer<const ARRIVES: bool>(&mut self, at: Time, link: LinkId, packet: &mut Packet) {
        let far_end = &self.links.far_ends[link];
        if far_end.can_cross(ARRIVES) && at < self.bounds.horizon {
            return self.carry::<ARRIVES>(at, link, packet);
        }
        let behind = far_end.behind;
        self.enter(at, link, behind, packet);
    }

    /// Carries a packet across chains, then offers it to the first link that it cannot cross.
    #[inline]
    fn carry<const ARRIVES: bool>(&mut self, mut at: Time, mut link: LinkId, packet: &mut Packet) {
        let until = self.bounds.horizon;
        loop {
            let Self { links, routes, ends, .. } = self;
            let place = (&mut at, &mut link);
            match links.carry::<ARRIVES>(place, packet, until, routes, |packet| ends.moves_others(packet)) {
                Stop::Kept => return,
                Stop::AtEnd(node) => return self.arrive_ahead(link, node, packet),
                Stop::Full => return self.lose(at, LossPlace::Link(link), *packet, Cause::QueueOverflow),
                Stop::Before(behind) => return self.enter(at, link, behind, packet),
                Stop::Damaged if self.ends_at(link, packet) => return,
                Stop::Damaged => link = self.routes.next_link(packet),
            }
        }
    }

    /// Offers a packet to a link where it stays: in the ring, or in the inbox behind it.
    #[inline(always)]
    fn enter(&mut self, at: Time, link: LinkId, behind: Behind, packet: &mut Packet) {
        match behind {
            Behind::Inbox(inbox) => {
                let order = (&self.routes, &mut self.schedule);
                if !self.links.accept_in_inbox(self.now, at, (link, inbox as usize), packet, order) {
                    self.lose(at, LossPlace::Link(link), *packet, Cause::QueueOverflow);
                }
                return;
            }
            Behind::Medium | Behind::Traced => return self.enter_apart(at, link, packet),
            Behind::Chain | Behind::End | Behind::Choice | Behind::Node => {}
        }
        self.links.accept(at, link, packet, &mut self.schedule);
        if !self.links.losses.is_empty() {
            self.count_losses(link);
        }
    }

    /// Moves the head of a link's ring to its node, with its trail, or serves the queue of a link in a medium.
    #[cold]
    #[inline(never)]
    fn deliver_apart(&mut self, index: LinkId, far_end: FarEnd) {
        let link = &mut self.links.all[index];
        link.advance(self.now, &mut self.links.losses);
        let front = link.front(self.now).copied();
        if front.is_some() {
            link.drop_front();
        }
        self.schedule.set_next(link.next_event());
        self.note_served(index);
        let Some(mut packet) = front else { return };
        if let Some(paths) = &mut self.observers.critical {
            paths.on_delivery(index, far_end.node, &packet);
        }
        if packet.is_damaged() && self.ends_at(index, &packet) {
            return;
        }
        if far_end.is_asked {
            return self.enter_node(self.now, far_end.node, &mut packet);
        }
        self.forward(far_end.node, &mut packet);
    }

    /// Offers a packet to a link with trails, or to a link in a medium: one branch of the usual way for both.
    #[cold]
    #[inline(never)]
    fn enter_apart(&mut self, at: Time, link: LinkId, packet: &mut Packet) {
        if let Some(paths) = &mut self.observers.critical {
            packet.at = at;
            paths.on_offer(at, link, self.scenario.links[link].from, packet);
        }
        self.media.before_offer(link, &mut self.links.all, &mut self.links.losses);
        if let Some(at) = self.links.all[link].accept_any(at, packet, &mut self.links.losses) {
            self.schedule.update(link, at);
        }
        self.media.on_offer(self.now, link, &mut self.links.all, &mut self.schedule);
        self.note_served(link);
    }

    /// Sends a packet from its node to its next hop. It is lost if the node knows no route.
    pub(super) fn leave_node(&mut self, node: NodeId, mut packet: Packet) {
        if !self.find_way(self.now, node, &mut packet) {
            return;
        }
        match self.routes.copies.are_made_at(node) && packet.kind() == PacketKind::Datagram {
            true => self.leave_in_copies(node, packet),
            false => self.forward(node, &mut packet),
        }
    }

    /// Sends a packet and its copies from their node to their next hops.
    #[cold]
    fn leave_in_copies(&mut self, node: NodeId, packet: Packet) {
        for n in 0..=self.routes.copies.of_packet(&packet).len() {
            // The packet itself comes last.
            let mut copy = match self.routes.copies.of_packet(&packet).get(n) {
                Some(&(lane, next)) => {
                    self.ledger.sent += 1;
                    let mut copy = self.ends.bodies.copy_of(&packet).on_lane(lane);
                    copy.next = next;
                    if let Some(paths) = &mut self.observers.critical {
                        paths.on_copy(&packet, &copy);
                    }
                    copy
                }
                None => packet,
            };
            match self.routes.copies.broadcast(&copy) {
                Some(broadcast) => {
                    let at = (&mut self.links.all[..], &mut self.links.losses);
                    if let Some(link) = self.media.offer_broadcast(self.now, broadcast, &copy, at, &mut self.schedule) {
                        self.count_losses(link);
                    }
                }
                None => self.forward(node, &mut copy),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    /// Two access links, then a chain of two links; the last is the bottleneck. Errors, an outage and overflows.
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

    fn is_inbox(far_end: &FarEnd) -> bool {
        matches!(far_end.behind, Behind::Inbox(_))
    }

    /// Forbids work ahead of time.
    fn on_time(far_end: &mut FarEnd) {
        far_end.behind = Behind::Node;
    }

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
            let scenario = bentpipe_scenario::from_toml(&text, "chain", &[]).unwrap().scenario;
            let run = |relays: bool| {
                let mut network = Network::build(&scenario, 3);
                assert!(network.motion.links.far_ends.iter().any(|far_end| far_end.behind == Behind::Chain));
                assert!(network.motion.links.far_ends.iter().any(is_inbox));
                if !relays {
                    network
                        .motion
                        .links
                        .far_ends
                        .iter_mut()
                        .filter(|far_end| far_end.behind != Behind::End)
                        .for_each(on_time);
                }
                while !network.run(1000) {}
                network.finish().unwrap()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with, without);
            assert!(with.drops.len() >= 4, "{:?}", with.drops);
        }
    }

    /// Packets from an inbox reach their endpoint without an event: with and without corruption reports and processing times.
    #[test]
    fn arriving_ahead_of_time_changes_nothing() {
        let outage = "\noutage = { spans = [[\"12 s\", \"12.1 s\"]], queue = \"flush\" }";
        let varying = r#"{ points = [["0 s", "6 Mbit/s"], ["5 s", "3 Mbit/s"]], every = "9 s" }"#;
        let errors = "\nerror = { kind = \"packet\", rate = \"0.3 %\" }";
        let plain = CHAIN.replace(outage, errors).replace(varying, "\"6 Mbit/s\"");
        for tcp in ["cc = \"sack\"", "cc = \"scps\"", "cc = \"sack\"\nprocessing = \"0 s\""] {
            let text = plain.replace("cc = \"sack\"", tcp);
            let scenario = bentpipe_scenario::from_toml(&text, "chain", &[]).unwrap().scenario;
            let run = |limit: fn(&mut FarEnd)| {
                let (mut network, mut events) = (Network::build(&scenario, 3), 0);
                network.motion.links.far_ends.iter_mut().for_each(limit);
                while !network.run(1) {
                    events += 1;
                }
                (network.finish().unwrap(), events)
            };
            let (ahead, few) = run(|_| {});
            let (behind_rings, more) = run(|far_end| {
                if far_end.behind == Behind::End {
                    on_time(far_end);
                }
            });
            let (all_on_time, all) = run(on_time);
            assert!(ahead == all_on_time && behind_rings == all_on_time, "{tcp}");
            assert!(ahead.drops.text("where").iter().any(|place| place == "d"), "{tcp}");
            assert!(5 * few < 4 * more && more < all, "{tcp}: {few}, {more}, {all} events");
        }
    }
}
