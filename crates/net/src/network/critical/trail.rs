//! The trail from a packet back to the start of its transfer, in parts that add up to the time.

use crate::record::LossPlace;
use bentpipe_model::dictionary::PathPart;
use bentpipe_model::ids::{FlowId, LinkId, NodeId};
use bentpipe_model::packet::Packet;
use bentpipe_units::Time;
use std::collections::VecDeque;

/// A part of the time, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathShare {
    pub(super) part: PathPart,
    pub(super) place: Option<LossPlace>,
    /// The flow of the packets that were sent meanwhile.
    pub(super) by: Option<FlowId>,
}

impl PathShare {
    /// A share at a host, or on the whole path.
    pub(super) fn of(part: PathPart) -> Self {
        Self { part, place: None, by: None }
    }

    pub(super) fn on(part: PathPart, link: LinkId) -> Self {
        Self { place: Some(LossPlace::Link(link)), ..Self::of(part) }
    }

    pub(super) fn at(part: PathPart, node: NodeId) -> Self {
        Self { place: Some(LossPlace::Node(node)), ..Self::of(part) }
    }

    pub(super) fn behind(flow: FlowId, link: LinkId) -> Self {
        Self { by: Some(flow), ..Self::on(PathPart::Queue, link) }
    }
}

/// Time and trips of one share. Two equally critical paths contribute a part each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) time_s: f64,
    pub(super) trips: f64,
}

impl Spent {
    pub(super) fn add(&mut self, more: Self, weight: f64) {
        self.time_s += weight * more.time_s;
        self.trips += weight * more.trips;
    }
}

/// The number of a transfer in the run.
pub(super) type Story = u32;

/// The story of each datagram.
pub(super) const DATAGRAM: Story = Story::MAX;

/// The causes of an event, back to the start of its transfer. The shares add up to the time between the two.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    pub(super) story: Story,
    pub(super) at: Time,
    /// The part for the packet's propagation.
    pub(super) trip: PathPart,
    spent: Vec<(PathShare, Spent)>,
}

impl Trail {
    pub(super) fn new(story: Story, at: Time) -> Self {
        Self { story, at, trip: PathPart::Exchange, spent: Vec::new() }
    }

    /// Adds the time since the last instant to a share.
    pub(super) fn spend(&mut self, until: Time, share: PathShare) {
        if until > self.at {
            self.add(share, Spent { time_s: (until - self.at).as_secs_f64(), trips: 0.0 }, 1.0);
            self.at = until;
        }
    }

    /// Ends the trip of a packet in one direction. It counts where its propagation does: behind another packet of its transfer
    /// a packet takes over that packet's trail, but not its trip.
    pub(super) fn end_trip(&mut self) {
        self.add(PathShare::of(self.trip), Spent { time_s: 0.0, trips: 1.0 }, 1.0);
    }

    /// Merges two trails that lead to the same instant: this trail with a weight, 0 to 1, and the other with the rest.
    pub(super) fn blend(&mut self, weight: f64, other: &Self) {
        debug_assert!(self.at == other.at, "both lead to {:?}, not {:?}", self.at, other.at);
        for (_, spent) in &mut self.spent {
            *spent = Spent { time_s: weight * spent.time_s, trips: weight * spent.trips };
        }
        for &(share, spent) in &other.spent {
            self.add(share, spent, 1.0 - weight);
        }
    }

    fn add(&mut self, share: PathShare, more: Spent, weight: f64) {
        let index = match self.spent.binary_search_by_key(&share, |&(share, _)| share) {
            Ok(index) => index,
            Err(index) => {
                self.spent.insert(index, (share, Spent::default()));
                index
            }
        };
        self.spent[index].1.add(more, weight);
    }

    pub(super) fn shares(&self) -> &[(PathShare, Spent)] {
        &self.spent
    }
}

/// Identifies a packet among others at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketKey(u64, [u32; 4]);

impl PacketKey {
    pub(super) fn of(packet: &Packet) -> Self {
        let numbers = [packet.seq.value(), packet.ack.value(), packet.len.into(), packet.body];
        Self(packet.conversation(), numbers)
    }
}

/// Removes the first trail of a packet with this key.
pub(super) fn take(trails: &mut VecDeque<(PacketKey, Trail)>, key: PacketKey) -> Option<Trail> {
    let index = trails.iter().position(|(each, _)| *each == key)?;
    trails.remove(index).map(|(_, trail)| trail)
}
