//! What a middlebox is given beside a packet, and what it does with both.

use crate::dictionary::Cause;
use crate::framing::Framing;
use crate::ids::{LinkId, NodeId};
use crate::packet::{Bodies, Carried, Label, Message, Packet, Request};
use bentpipe_tcp::{Notice, Segment};
use bentpipe_units::{Duration, Rate, Time};

/// From which side of the middlebox a packet comes, or to which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the flow's sender is.
    Sender,
    /// Where the flow's receiver is.
    Receiver,
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn across(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// From where `packet` comes.
    pub fn origin_of(packet: &Packet) -> Self {
        if packet.is_to_sender() {
            Self::Receiver
        } else {
            Self::Sender
        }
    }
}

/// What a middlebox sees of a queue that it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Packets that wait, the one being sent not included.
    pub packets: usize,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Whether the link is sending.
    pub is_sending: bool,
}

/// What a node knows of a link that it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// At this instant.
    pub rate: Rate,
    /// What packets occupy beside their own bytes.
    pub framing: Framing,
    /// How much may wait, in packets and in bytes; `u64::MAX`: as much as comes.
    pub room: (u64, u64),
    /// What waits.
    pub queue: QueueView,
    /// When it is there and in no outage, as far as is known: now, or later.
    pub up_at: Time,
}

impl LinkView {
    /// Bytes per second that it carries of packets of this size, their own bytes.
    #[must_use]
    pub fn bytes_per_s(&self, size: u64) -> f64 {
        self.framing.rate_of_packets(self.rate, size).as_bps() as f64 / 8.0
    }
}

/// What a middlebox wants done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// The packet goes on in its direction.
    Forward(Packet),
    /// A packet that the middlebox has made sets out in its direction.
    Emit(Packet),
    /// The same, if what it is for is still there: it was made from a copy that nothing kept alive.
    Remake(Packet),
    /// The packet turns round.
    SendBack(Packet),
    /// The packet has reached its end here.
    Consume(Packet),
    /// The packet is lost, for this reason.
    Drop(Packet, Cause),
    /// The middlebox may make packets of this one's connection later.
    Keep(Packet),
    /// It will not any more.
    LetGo(Packet),
    /// It answers what this packet's connection asks for.
    Answered(Packet),
}

/// Collects what a middlebox wants done; owned and emptied by the network.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    actions: Vec<Action>,
    /// Packets that the middlebox gave back, in whatever way, less those that it took, since this was set to zero.
    pub(crate) returned: i64,
}

impl Outbox {
    pub(crate) fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    pub(crate) fn give_back(&mut self, mut spent: Vec<Action>) {
        if self.actions.is_empty() {
            spent.clear();
            self.actions = spent;
        }
    }
}

/// The links out of a node, as its middleboxes may see and touch them.
pub(crate) trait Outlook {
    /// What waits in front of the link that `packet` would leave by; none if it would not leave by one.
    fn queue(&mut self, packet: &Packet) -> Option<QueueView>;

    /// The link that `packet` would leave by; none if it would not leave by one.
    fn link_of(&mut self, packet: &Packet) -> Option<LinkId>;

    /// A link out of the node.
    fn link(&mut self, link: LinkId) -> LinkView;

    /// Propagation there and back on the ways that the flow of `packet` has now; none if there is none.
    fn round_trip(&mut self, packet: &Packet) -> Option<Duration>;

    /// The node to which that link leads.
    fn next_node(&self, packet: &Packet) -> Option<NodeId>;

    /// What the connection of `packet` asks for.
    fn request(&self, _packet: &Packet) -> Option<Request> {
        None
    }

    /// Takes those that `is_meant` says out of that queue.
    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>);
}

/// The instant, the node's queues, and the ways that a packet can take from here.
pub struct Context<'a> {
    /// The time.
    pub now: Time,
    pub(crate) bodies: &'a mut Bodies,
    pub(crate) outlook: &'a mut dyn Outlook,
    pub(crate) out: &'a mut Outbox,
}

impl Context<'_> {
    /// The packet goes on in its direction.
    pub fn forward(&mut self, packet: Packet) {
        self.give(Action::Forward(packet));
    }

    /// The packet turns round and goes back to where it came from.
    pub fn send_back(&mut self, packet: Packet) {
        self.give(Action::SendBack(packet));
    }

    /// The packet has reached its end here: it was for this middlebox. It counts as delivered.
    pub fn consume(&mut self, packet: Packet) {
        self.give(Action::Consume(packet));
    }

    /// The packet is lost.
    pub fn drop(&mut self, packet: Packet, cause: Cause) {
        self.give(Action::Drop(packet, cause));
    }

    fn give(&mut self, action: Action) {
        self.out.returned += 1;
        self.out.actions.push(action);
    }

    /// A packet that the middlebox has made sets out.
    pub fn emit(&mut self, packet: Packet) {
        self.out.actions.push(Action::Emit(packet));
    }

    /// Makes a packet of a block of an erasure code once more, unless its connection is over.
    pub(crate) fn remake(&mut self, block: u32, index: u16) {
        let packet = self.bodies.copy_from_block(block, index);
        self.out.actions.push(Action::Remake(packet));
    }

    /// The middlebox may make packets of this one's connection by itself, as long as it has not [let it go](Self::let_go).
    pub(crate) fn keep(&mut self, packet: &Packet) {
        self.out.actions.push(Action::Keep(*packet));
    }

    /// The middlebox makes packets of a connection that it [kept](Self::keep) only in answer to others from now on. `packet` is
    /// the same as then.
    pub(crate) fn let_go(&mut self, packet: &Packet) {
        self.out.actions.push(Action::LetGo(*packet));
    }

    /// The last request of the connection of `packet`, if it is for an object with a name: what whoever reads its bytes would find.
    pub(crate) fn request(&self, packet: &Packet) -> Option<Request> {
        self.outlook.request(packet)
    }

    /// The middlebox answers that request; the end that it was for does not see it.
    pub(crate) fn answered(&mut self, packet: &Packet) {
        self.out.actions.push(Action::Answered(*packet));
    }

    /// A copy of a packet, with its options or bytes.
    #[must_use]
    pub fn copy_of(&mut self, packet: &Packet) -> Packet {
        self.bodies.copy_of(packet)
    }

    /// The bytes with which a packet came from outside, if it did.
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        self.bodies.bytes(packet)
    }

    /// A packet with these bytes sets out, as if it had come from outside, on the way of `packet` or on the way back. So many of its
    /// bytes are headers.
    pub fn emit_bytes(&mut self, packet: &Packet, is_back: bool, header_len: u8, bytes: Vec<u8>) {
        let len = bytes.len().saturating_sub(header_len.into()).try_into().unwrap_or(u16::MAX);
        let body = self.bodies.loads.insert(Carried::Bytes { entered: self.now, bytes: bytes.into() }.into());
        let path = if is_back { packet.path().reverse() } else { packet.path() };
        self.emit(Packet::foreign(path, len, header_len, body).in_class(packet.class));
    }

    /// The segment that a packet of a connection carries; none in a datagram.
    pub fn segment(&self, packet: &Packet) -> Option<Segment> {
        (!packet.is_datagram()).then(|| packet.segment(self.bodies))
    }

    /// Whether a packet of a connection has options beside timestamps.
    pub fn has_options(&self, packet: &Packet) -> bool {
        packet.has_options(self.bodies)
    }

    /// The packet with another segment in place of its own, and with what is written on it; a datagram stays as it is.
    #[must_use]
    pub fn rewrite(&mut self, packet: Packet, segment: &Segment) -> Packet {
        if packet.is_datagram() {
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

    /// What functions of the network have written on a packet of a connection; nothing is written on a datagram.
    pub fn label(&self, packet: &Packet) -> Option<Label> {
        self.bodies.label(packet)
    }

    /// Takes off the packet what is written on it.
    pub fn take_label(&mut self, packet: &mut Packet) -> Option<Label> {
        self.bodies.take_label(packet).map(|(label, _)| label)
    }

    /// Writes on a packet of a connection, in place of what is on it; its header grows by `bytes`. Whoever is at the end of its
    /// way reads it. A datagram stays as it is.
    pub fn set_label(&mut self, packet: &mut Packet, label: Label, bytes: u8) {
        self.bodies.set_label(packet, label, bytes);
    }

    /// Changes what is written on a packet of a connection; its header stays as long as it is.
    pub(crate) fn rewrite_label(&mut self, packet: &mut Packet, label: Label) {
        if let Some((_, bytes)) = self.bodies.take_label(packet) {
            self.bodies.set_label(packet, label, bytes);
        }
    }

    /// A packet of the middlebox's own with this segment, as if it came from the end that `packet` travels to; none if that
    /// is a datagram, to which no segment answers.
    #[must_use]
    pub fn answer(&mut self, packet: &Packet, segment: &Segment) -> Option<Packet> {
        (!packet.is_datagram()).then(|| packet.answer(segment, self.bodies))
    }

    /// Sends a message to the middleboxes of a node on the way of `packet`, or on the way back (`is_back`). What the words mean
    /// is theirs to know.
    pub fn send_message(&mut self, packet: &Packet, node: NodeId, words: [u64; 2], is_back: bool) {
        let message = Packet::message(packet, Message::ToNode(node, words), is_back, self.bodies);
        self.emit(message);
    }

    /// The same, in a packet of nothing but IP options: 28 bytes, and `more`. It goes to functions that expect it.
    pub(crate) fn send_options(&mut self, packet: &Packet, node: NodeId, words: [u64; 2], is_back: bool, more: u16) {
        let mut message = Packet::message(packet, Message::ToNode(node, words), is_back, self.bodies);
        message.len = more;
        self.emit(message);
    }

    /// Has the end of a connection that sent `packet` send segments with `bytes` of payload, from when the message about it
    /// arrives there. Of a datagram's sender it asks nothing.
    pub fn set_segment_size(&mut self, packet: &Packet, bytes: u32) {
        if !packet.is_datagram() {
            self.send_back_to_end(packet, Message::SegmentSize(packet.sender(), bytes));
        }
    }

    /// Notifies the end of a connection that sent `packet`, by a datagram of 76 bytes that queues and may be lost. The sender of a
    /// datagram is notified of nothing.
    pub fn notify_sender(&mut self, packet: &Packet, notice: Notice) {
        if !packet.is_datagram() {
            self.send_back_to_end(packet, Message::Notice(packet.sender(), notice));
        }
    }

    fn send_back_to_end(&mut self, packet: &Packet, message: Message) {
        let message = Packet::message(packet, message, true, self.bodies);
        self.emit(message);
    }

    /// The node to which `packet` would leave now; none if it is for a host here, or there is no way.
    pub fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        self.outlook.next_node(packet)
    }

    /// What waits in front of the link by which `packet` would leave the node now; none if it is for a host here.
    pub fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        self.outlook.queue(packet)
    }

    /// The link by which `packet` would leave the node now; none if it is for a host here.
    pub fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.outlook.link_of(packet)
    }

    /// A link out of the node, as it is now.
    pub fn link(&mut self, link: LinkId) -> LinkView {
        self.outlook.link(link)
    }

    /// An oracle: propagation there and back on the ways that the flow of `packet` has now. No real node knows it.
    pub fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        self.outlook.round_trip(packet)
    }

    /// Takes those that `is_meant` says out of the queue that `packet` would go to; it may change the others, but for their
    /// size. What is in `left` afterwards is the middlebox's, as if it had been given them.
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

/// A context for tests of one middlebox, at a node that feeds one link.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) bodies: Bodies,
    pub(crate) out: Outbox,
    /// The link; none: the node has none.
    pub(crate) link: Option<LinkView>,
    /// What the oracle says of every flow.
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
