//! The contract of middleboxes.

use super::context::{Context, QueueView, Side};
use crate::ids::{LinkId, NodeId};
use crate::packet::Packet;
use bentpipe_units::Time;
use std::fmt::Debug;

bentpipe_units::words! {
    /// Direction of the packets that a middlebox processes.
    pub enum Way {
        /// All of them.
        "both" => Both,
        /// Packets from the flow's sender to its receiver.
        "to-receiver" => ToReceiver,
        /// Packets from the flow's receiver to its sender: acknowledgements.
        "to-sender" => ToSender,
    }
}

impl Way {
    /// Whether it includes packets from this side.
    pub fn is_from(self, side: Side) -> bool {
        match self {
            Self::Both => true,
            Self::ToReceiver => side == Side::Sender,
            Self::ToSender => side == Side::Receiver,
        }
    }
}

/// The contract of a middlebox. Every packet that it is given leaves through the context, now or later, or is counted in
/// [`held`](Self::held); a run in which one does not ends with an error that names the middlebox.
pub trait Middlebox: Debug {
    /// Reports, before the run, its node and the nodes at the far ends of the node's links that have the satellite's
    /// part of BEEN, in order.
    fn meet(&mut self, _node: NodeId, _satellites: &[NodeId]) {}

    /// Processes a passing packet.
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// Processes a corrupted packet at a node of kind `processing`, which drops it afterwards. Its header is correct.
    fn on_corrupted(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}

    /// Processes a message to this node ([`Context::send_message`]). Returns whether it was for this middlebox.
    /// `packet` brought it and ends here.
    fn on_message(&mut self, _words: [u64; 2], _packet: &Packet, _cx: &mut Context<'_>) -> bool {
        false
    }

    /// Reports that a link out of the node has sent a packet, and has begun the next one if any waited. `queue` is the
    /// state after that. Called if [`watches_queues`](Self::watches_queues) returns true.
    fn on_departure(&mut self, _link: LinkId, _queue: QueueView, _cx: &mut Context<'_>) {}

    /// Whether it needs [`on_departure`](Self::on_departure).
    fn watches_queues(&self) -> bool {
        false
    }

    /// Reports the present, possibly that of [`next_wakeup`](Self::next_wakeup).
    fn on_wakeup(&mut self, _cx: &mut Context<'_>) {}

    /// Returns the next wakeup; [`Time::NEVER`] while idle.
    fn next_wakeup(&self) -> Time {
        Time::NEVER
    }

    /// Returns the packets that it holds, at most [`HELD_MAX`].
    fn held(&self) -> usize {
        0
    }

    /// Returns the flows whose state it keeps. State of ended flows is discarded, so that a run may have any number of
    /// flows.
    fn flows(&self) -> usize {
        0
    }

    /// Returns the payload bytes that it acknowledged and that never reached their endpoint.
    fn lost_bytes(&self) -> u64 {
        0
    }

    /// Returns notes on its actions, for readers of the results.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the name in scenario files of the middlebox whose work it does for real packets, if any.
    fn stands_for(&self) -> Option<&'static str> {
        None
    }
}

/// Packets that a middlebox may hold: more is taken for a defect, and ends the run.
pub const HELD_MAX: usize = 1_000_000;
