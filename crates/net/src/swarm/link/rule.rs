//! The contract of the naive disciplines, and questions about their waiting packets.

use crate::link::{L4sCounts, Losses};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::QueueLimit;
use bentpipe_units::Time;
use std::fmt::Debug;

/// Waiting packets in order of arrival, each with the number of its class or hash. The instant of a packet is that of
/// its arrival.
pub(super) type WaitingList = Vec<(usize, Packet)>;

/// A rule about waiting packets.
pub(super) trait Rule: Debug {
    /// Returns the number of the list that a packet waits in.
    fn list_of(&mut self, _: &Packet) -> usize {
        0
    }

    /// Decides on a packet that arrives at `now` for a list: it waits, or is lost. Others may be lost for it.
    fn enqueue(&mut self, now: Time, list: usize, packet: Packet, waiting: &mut WaitingList, losses: &mut Losses);

    /// Picks the next packet at `now`. Others may be lost before it.
    fn dequeue(&mut self, now: Time, waiting: &mut WaitingList, losses: &mut Losses) -> Option<Packet>;

    /// Waiting packets were removed: by an outage, by the timeline, or by a middlebox.
    fn on_removal(&mut self, _: &WaitingList) {}

    /// Returns the number of marked packets.
    fn marked(&self) -> u64 {
        0
    }

    /// Returns the counts of its lists, if one of them is for L4S.
    fn l4s(&self) -> Option<&L4sCounts> {
        None
    }
}

/// Returns the bytes of waiting packets.
pub(super) fn bytes(waiting: &WaitingList) -> u64 {
    waiting.iter().map(|(_, packet)| packet.size()).sum()
}

/// Whether these packets are within a limit.
pub(super) fn within<'a>(limit: QueueLimit, packets: impl Iterator<Item = &'a Packet>) -> bool {
    let sizes: Vec<u64> = packets.map(Packet::size).collect();
    match limit {
        QueueLimit::Packets(most) => sizes.len() as u64 <= most,
        QueueLimit::Bytes(most) => sizes.iter().sum::<u64>() <= most,
        QueueLimit::Unlimited | QueueLimit::Bdp(_) => true,
    }
}

/// Whether a packet fits behind the waiting packets of these lists.
pub(super) fn fits(limit: QueueLimit, packet: &Packet, waiting: &WaitingList, of: impl Fn(usize) -> bool) -> bool {
    let others = waiting.iter().filter(|waiting| of(waiting.0)).map(|waiting| &waiting.1);
    within(limit, others.chain([packet]))
}

/// Removes the first packet of a list.
pub(super) fn first_of(list: usize, waiting: &mut WaitingList) -> Option<Packet> {
    let place = waiting.iter().position(|waiting| waiting.0 == list)?;
    Some(waiting.remove(place).1)
}
