//! Packets of a forward carrier for several links: one queue for all, one packet in the frames, and the fate of each link.

use super::copies::{broadcasts, Broadcast};
use super::routes::Routes;
use crate::link::{GrantCounts, LazyLink, LinkAtEnd, Losses, OnCarrier, Sent};
use bentpipe_access::{Frame, Loss, Part};
use bentpipe_model::ids::{LaneId, LinkId, MediumId, PathId};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{ErrorModel, Link, Scenario};
use bentpipe_units::Time;

/// The queue of a carrier for packets to several links.
#[derive(Clone, Debug)]
pub(super) struct BroadcastQueue {
    /// A link of the carrier that sends nothing by itself, with the queue of the first receiver's link.
    queue: LazyLink,
    receivers: Vec<Receiver>,
}

/// A link that receives the packets.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    lane: LaneId,
    link: LinkId,
    /// Its hop to this link.
    next: u32,
    /// The first loss of a frame with a part of the packet that leaves.
    lost: Option<Loss>,
}

/// Returns the link whose queue holds the packets for the links of a broadcast: that of the first, without errors and outages,
/// which are those of each receiver.
pub(crate) fn queue_of(scenario: &Scenario, broadcast: &Broadcast) -> Link {
    let (flow, link, _) = broadcast.receivers[0];
    Link {
        name: format!("{}/{}", scenario.links[link].name, scenario.flows[flow].name),
        outage: None,
        error: ErrorModel::None,
        ..scenario.links[link].clone()
    }
}

impl BroadcastQueue {
    /// Returns the queues of a carrier.
    pub(super) fn all(scenario: &Scenario, id: MediumId, routes: &Routes, seed: u64) -> Vec<Self> {
        let of_carrier = broadcasts(scenario).into_iter().filter(|broadcast| broadcast.medium == id);
        let queue = |broadcast: Broadcast| {
            let spec = queue_of(scenario, &broadcast);
            let queue = LazyLink::new(&spec, seed, Time::ZERO + scenario.duration);
            let receivers = broadcast.receivers.into_iter().map(|(flow, link, after)| {
                let lane = scenario.flows[flow].lane;
                let next = routes.place(PathId::there(lane), after);
                Receiver { lane, link, next, lost: None }
            });
            let receivers = receivers.collect();
            match &spec.terminal {
                Some(terminal) => {
                    Self { queue: queue.in_medium(&spec, terminal, &scenario.media[id], seed), receivers }
                }
                None => Self { queue, receivers },
            }
        };
        of_carrier.map(queue).collect()
    }

    /// The links that receive its packets.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.receivers.iter().map(|receiver| receiver.link)
    }

    /// The link of the first receiver, which counts the losses of the queue.
    pub(super) fn first(&self) -> LinkId {
        self.receivers[0].link
    }

    /// Packets that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Packets at the end of the run: those in frames are on the carrier.
    pub(super) fn at_end(&self, now: Time) -> LinkAtEnd {
        self.queue.at_end(now)
    }

    /// Accepts a packet.
    pub(super) fn accept(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.queue.accept_any(now, packet, losses);
    }

    pub(super) fn on_carrier(&mut self) -> Option<OnCarrier<'_>> {
        self.queue.on_carrier()
    }

    /// Counts of its packets in frames. Their delays are counted by the links that receive them.
    pub(super) fn grants(&self, now: Time) -> Option<GrantCounts> {
        self.queue.layer2.grants(now)
    }

    /// Puts a part of the packet at the head into frame number `number`, which each link receives or loses.
    pub(super) fn put(&mut self, frame: &Frame, number: u64, part: Part, links: &mut [LazyLink]) {
        if let Some(mut queue) = self.queue.on_carrier() {
            queue.fill(frame, part);
        }
        for receiver in &mut self.receivers {
            let lost = links[receiver.link].on_carrier().and_then(|mut link| link.hear(frame, number));
            receiver.lost = receiver.lost.or(lost);
        }
    }

    /// Sends the packet at the head to all links, with a frame that ends at `sent`. Returns the number of copies.
    pub(super) fn send(&mut self, sent: Time, links: &mut [LazyLink]) -> u64 {
        let Some(of) = self.queue.on_carrier().and_then(|mut queue| queue.take_sent()) else { return 0 };
        debug_assert_eq!(
            of.packet.body,
            bentpipe_model::packet::NO_BODY,
            "a packet with a body is not copied on a carrier"
        );
        for Receiver { lane, link, next, lost } in &mut self.receivers {
            let mut copy = of.packet.on_lane(*lane);
            copy.next = *next;
            if let Some(mut link) = links[*link].on_carrier() {
                link.receive(Sent { packet: copy, ..of }, sent, lost.take());
            }
        }
        self.receivers.len() as u64 - 1
    }
}
