//! Inputs of a middlebox besides a packet, and its actions.

use crate::dictionary::Cause;
use crate::framing::Framing;
use crate::ids::{LinkId, NodeId};
use crate::packet::{Bodies, Carried, Label, Message, Packet, Request};
use bentpipe_tcp::{Notice, Segment};
use bentpipe_units::{Duration, Rate, Time};

/// A side of the middlebox, where a packet comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side of the flow's sender.
    Sender,
    /// The side of the flow's receiver.
    Receiver,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub const fn across(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// Returns the side that `packet` comes from.
    pub fn origin_of(packet: &Packet) -> Self {
        if packet.is_to_sender() {
            Self::Receiver
        } else {
            Self::Sender
        }
    }
}

/// View of a queue that the node feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Waiting packets, without the one in transmission.
    pub packets: usize,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Whether the link is sending.
    pub is_sending: bool,
}

/// View of a link that the node feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Present rate.
    pub rate: Rate,
    /// Overhead of packets on the link.
    pub framing: Framing,
    /// Queue limit, in packets and in bytes; `u64::MAX`: no limit.
    pub room: (u64, u64),
    /// State of the queue.
    pub queue: QueueView,
    /// Earliest time when it is up, as far as is known: now, or later.
    pub up_at: Time,
}

impl LinkView {
    /// Returns the rate for packets of this size, in bytes of packets per second.
    #[must_use]
    pub fn bytes_per_s(&self, size: u64) -> f64 {
        self.framing.rate_of_packets(self.rate, size).as_bps() as f64 / 8.0
    }
}

/// Action of a middlebox.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Forwards the packet in its direction.
    Forward(Packet),
    /// Sends a packet that the middlebox has made, in its direction.
    Emit(Packet),
    /// As `Emit`, unless the packet's purpose is gone: it was made from a copy that nothing kept alive.
    Remake(Packet),
    /// Sends the packet back.
    SendBack(Packet),
    /// Ends the packet here.
    Consume(Packet),
    /// Ends the packet here, in place of the endpoint that it travels to.
    Accept(Packet),
    /// Loses the packet, for this reason.
    Drop(Packet, Cause),
    /// Announces that the middlebox may make packets of this connection later.
    Keep(Packet),
    /// Withdraws that announcement.
    LetGo(Packet),
    /// Answers the request of this packet's connection.
    Answered(Packet),
}

/// Collects the actions of a middlebox. The network owns and empties it.
#[derive(Debug, Default)]
pub struct Outbox {
    actions: Vec<Action>,
    /// Packets returned by the middlebox in any way, minus packets taken, since the last reset to zero.
    pub returned: i64,
}

impl Outbox {
    /// Takes all actions.
    #[inline]
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Takes the memory of spent actions back, to reuse it.
    #[inline]
    pub fn give_back(&mut self, mut spent: Vec<Action>) {
        if self.actions.is_empty() {
            spent.clear();
            self.actions = spent;
        }
    }
}

/// Links out of a node, as visible to its middleboxes.
pub trait Outlook {
    /// Returns the queue in front of the packet's next link; `None` without a next link.
    fn queue(&mut self, packet: &Packet) -> Option<QueueView>;

    /// Returns the packet's next link; `None` without a next link.
    fn link_of(&mut self, packet: &Packet) -> Option<LinkId>;

    /// Returns a link out of the node.
    fn link(&mut self, link: LinkId) -> LinkView;

    /// Returns the propagation round trip on the present paths of the packet's flow; `None` without a path.
    fn round_trip(&mut self, packet: &Packet) -> Option<Duration>;

    /// Returns the node at the far end of that link.
    fn next_node(&self, packet: &Packet) -> Option<NodeId>;

    /// Returns the request of the packet's connection.
    fn request(&self, _packet: &Packet) -> Option<Request> {
        None
    }

    /// Takes the packets for which `is_meant` returns true out of that queue.
    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>);
}

/// The present, the node's queues, and the actions available for a packet.
pub struct Context<'a> {
    /// The present.
    pub now: Time,
    pub(crate) bodies: &'a mut Bodies,
    pub(crate) outlook: &'a mut dyn Outlook,
    pub(crate) out: &'a mut Outbox,
}

impl<'a> Context<'a> {
    /// Returns the context of one call of a middlebox. The network makes it.
    #[inline]
    pub fn new(now: Time, bodies: &'a mut Bodies, outlook: &'a mut dyn Outlook, out: &'a mut Outbox) -> Self {
        Self { now, bodies, outlook, out }
    }
}

impl Context<'_> {
    /// Forwards the packet in its direction.
    pub fn forward(&mut self, packet: Packet) {
        self.give(Action::Forward(packet));
    }

    /// Sends the packet back to its origin.
    pub fn send_back(&mut self, packet: Packet) {
        self.give(Action::SendBack(packet));
    }

    /// Ends the packet here. It was for this middlebox and counts as delivered.
    pub fn consume(&mut self, packet: Packet) {
        self.give(Action::Consume(packet));
    }

    /// Ends the packet here, as `consume` does, in place of its endpoint: the middlebox has or acknowledges its data.
    pub(crate) fn accept(&mut self, packet: Packet) {
        self.give(Action::Accept(packet));
    }

    /// Loses the packet.
    pub fn drop(&mut self, packet: Packet, cause: Cause) {
        self.give(Action::Drop(packet, cause));
    }

    fn give(&mut self, action: Action) {
        self.out.returned += 1;
        self.out.actions.push(action);
    }

    /// Sends a packet that the middlebox has made.
    pub fn emit(&mut self, packet: Packet) {
        self.out.actions.push(Action::Emit(packet));
    }

    /// Makes a packet of a block of an erasure code again, unless its connection is over.
    pub(crate) fn remake(&mut self, block: u32, index: u16) {
        let packet = self.bodies.copy_from_block(block, index);
        self.out.actions.push(Action::Remake(packet));
    }

    /// Announces that the middlebox may make packets of this connection, until it is [let go](Self::let_go).
    pub(crate) fn keep(&mut self, packet: &Packet) {
        self.out.actions.push(Action::Keep(*packet));
    }

    /// Announces that the middlebox makes packets of a [kept](Self::keep) connection only in answer to others from now
    /// on. `packet` is the same as in `keep`.
    pub(crate) fn let_go(&mut self, packet: &Packet) {
        self.out.actions.push(Action::LetGo(*packet));
    }

    /// Returns the last request of the packet's connection, if it is for a named object. A real middlebox would read it
    /// from the bytes.
    pub(crate) fn request(&self, packet: &Packet) -> Option<Request> {
        self.outlook.request(packet)
    }

    /// Declares that the middlebox answers that request, so the origin does not see it.
    pub(crate) fn answered(&mut self, packet: &Packet) {
        self.out.actions.push(Action::Answered(*packet));
    }

    /// Returns a copy of a packet, with its options or bytes.
    #[must_use]
    pub fn copy_of(&mut self, packet: &Packet) -> Packet {
        self.bodies.copy_of(packet)
    }

    /// Returns the bytes of a packet that came from outside.
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        self.bodies.bytes(packet)
    }

    /// Sends a packet with these bytes, as if it had come from outside, on the path of `packet` or on the return path.
    /// `header_len` of its bytes are headers.
    pub fn emit_bytes(&mut self, packet: &Packet, is_back: bool, header_len: u8, bytes: Vec<u8>) {
        let len = bytes.len().saturating_sub(header_len.into()).try_into().unwrap_or(u16::MAX);
        let body = self.bodies.keep(Carried::Bytes { entered: self.now, bytes: bytes.into() });
        let path = if is_back { packet.path().reverse() } else { packet.path() };
        self.emit(Packet::foreign(path, len, header_len, body).in_class(packet.class));
    }

    /// Returns the segment of a packet of a connection; `None` for a datagram.
    pub fn segment(&self, packet: &Packet) -> Option<Segment> {
        packet.is_segment().then(|| packet.segment(self.bodies))
    }

    /// Whether a packet of a connection has options besides timestamps.
    pub fn has_options(&self, packet: &Packet) -> bool {
        packet.has_options(self.bodies)
    }

    /// Returns the packet with another segment, and with its label. A datagram stays unchanged.
    #[must_use]
    pub fn rewrite(&mut self, packet: Packet, segment: &Segment) -> Packet {
        if !packet.is_segment() {
            return packet;
        }
        let mut old = packet;
        let (label, member) = (self.bodies.take_label(&mut old), self.bodies.take_member(&mut old));
        let compressed = self.bodies.take_compressed(&mut old);
        self.bodies.release(&old);
        let mut made = packet.with_segment(segment, self.bodies);
        if let Some(member) = member {
            self.bodies.set_member(&mut made, member);
        }
        if let Some(compressed) = compressed {
            self.bodies.set_compressed(&mut made, compressed);
        }
        if let Some((label, bytes)) = label {
            self.bodies.set_label(&mut made, label, bytes);
        }
        made
    }

    /// Returns the label that middleboxes have written on a packet of a connection; `None` for a datagram.
    pub fn label(&self, packet: &Packet) -> Option<Label> {
        self.bodies.label(packet)
    }

    /// Removes the label from the packet.
    pub fn take_label(&mut self, packet: &mut Packet) -> Option<Label> {
        self.bodies.take_label(packet).map(|(label, _)| label)
    }

    /// Writes a label on a packet of a connection, and replaces an earlier one. The header grows by `bytes`. The
    /// receiving endpoint or middlebox reads it. A datagram stays unchanged.
    pub fn set_label(&mut self, packet: &mut Packet, label: Label, bytes: u8) {
        self.bodies.set_label(packet, label, bytes);
    }

    /// Changes the label of a packet of a connection. The length of the header stays.
    pub(crate) fn rewrite_label(&mut self, packet: &mut Packet, label: Label) {
        if let Some((_, bytes)) = self.bodies.take_label(packet) {
            self.bodies.set_label(packet, label, bytes);
        }
    }

    /// Returns a new packet with this segment, as if it came from the endpoint that `packet` travels to; `None` for a
    /// datagram, which no segment answers.
    #[must_use]
    pub fn answer(&mut self, packet: &Packet, segment: &Segment) -> Option<Packet> {
        packet.is_segment().then(|| packet.answer(segment, self.bodies))
    }

    /// Sends a message to the middleboxes of a node on the path of `packet`, or on the return path (`is_back`). They
    /// define the meaning of the words.
    pub fn send_message(&mut self, packet: &Packet, node: NodeId, words: [u64; 2], is_back: bool) {
        let message = Packet::message(packet, Message::ToNode(node, words), is_back, self.bodies);
        self.emit(message);
    }

    /// Sends a message in a packet of IP options: 28 bytes, and `more`. It goes to middleboxes that expect it.
    pub(crate) fn send_options(&mut self, packet: &Packet, node: NodeId, words: [u64; 2], is_back: bool, more: u16) {
        let mut message = Packet::message(packet, Message::ToNode(node, words), is_back, self.bodies);
        message.len = more;
        self.emit(message);
    }

    /// Sets the segment size of the endpoint that sent `packet` to `bytes` of payload, from the arrival of the message
    /// there. Ignores datagrams.
    pub fn set_segment_size(&mut self, packet: &Packet, bytes: u32) {
        if packet.is_segment() {
            self.send_back_to_end(packet, Message::SegmentSize(packet.sender(), bytes));
        }
    }

    /// Notifies the endpoint that sent `packet`, by a datagram of 76 bytes that queues and may be lost. Ignores
    /// datagrams.
    pub fn notify_sender(&mut self, packet: &Packet, notice: Notice) {
        if packet.is_segment() {
            self.send_back_to_end(packet, Message::Notice(packet.sender(), notice));
        }
    }

    fn send_back_to_end(&mut self, packet: &Packet, message: Message) {
        let message = Packet::message(packet, message, true, self.bodies);
        self.emit(message);
    }

    /// Returns the packet's next hop now; `None` if it is for a host here, or without a path.
    pub fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        self.outlook.next_node(packet)
    }

    /// Returns the queue in front of the packet's next link now; `None` if it is for a host here.
    pub fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        self.outlook.queue(packet)
    }

    /// Returns the packet's next link now; `None` if it is for a host here.
    pub fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.outlook.link_of(packet)
    }

    /// Returns a link out of the node, as it is now.
    pub fn link(&mut self, link: LinkId) -> LinkView {
        self.outlook.link(link)
    }

    /// Returns the propagation round trip on the present paths of the packet's flow. An oracle: no real node knows it.
    pub fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        self.outlook.round_trip(packet)
    }

    /// Takes the packets for which `is_meant` returns true out of the packet's next queue. It may change the others,
    /// except their size. The middlebox owns the packets in `left` afterwards.
    pub fn extract(
        &mut self,
        packet: &Packet,
        is_meant: &mut dyn FnMut(&mut Packet, &Bodies) -> bool,
        left: &mut Vec<Packet>,
    ) {
        let (before, bodies) = (left.len(), &*self.bodies);
        self.outlook.extract(packet, &mut |waiting| is_meant(waiting, bodies), left);
        self.out.returned -= (left.len() - before) as i64;
    }
}

/// Context for tests of one middlebox, at a node that feeds one link.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) bodies: Bodies,
    pub(crate) out: Outbox,
    /// The link; none: the node has none.
    pub(crate) link: Option<LinkView>,
    /// Answer of the oracle for every flow.
    pub(crate) round_trip: Option<Duration>,
}

#[cfg(test)]
impl Bench {
    pub(crate) fn at<T>(&mut self, now: Time, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        struct One(Option<LinkView>, Option<Duration>);
        impl Outlook for One {
            fn queue(&mut self, _: &Packet) -> Option<QueueView> {
                self.0.map(|link| link.queue)
            }
            fn link_of(&mut self, _: &Packet) -> Option<LinkId> {
                self.0.map(|_| LinkId::new(0))
            }
            fn link(&mut self, _: LinkId) -> LinkView {
                self.0.unwrap()
            }
            fn round_trip(&mut self, _: &Packet) -> Option<Duration> {
                self.1
            }
            fn next_node(&self, _: &Packet) -> Option<NodeId> {
                None
            }
            fn extract(&mut self, _: &Packet, _: &mut dyn FnMut(&mut Packet) -> bool, _: &mut Vec<Packet>) {}
        }
        let mut outlook = One(self.link, self.round_trip);
        act(&mut Context { now, bodies: &mut self.bodies, outlook: &mut outlook, out: &mut self.out })
    }
}
