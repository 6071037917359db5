//! Packets, losses and messages of the network, as far as they concern an endpoint or a flow.

use super::apps::AnyApp;
use super::dispatch::Traffic;
use super::pool::Task;
use crate::record::Recorder;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{EndpointId, FlowId};
use bentpipe_model::packet::{Label, Message, Packet, PacketKind, Recipient, Request, LOWEST};
use bentpipe_tcp::{Arrived, Notice};
use bentpipe_units::Time;

impl Traffic {
    /// Whether a recipient exists: its connection is open, and its application has not left it.
    pub(crate) fn is_there(&self, recipient: Recipient) -> bool {
        let host = &self.hosts[recipient.endpoint];
        host.is(recipient) && host.is_listening() && !self.pool.sessions[recipient.endpoint.slot()].is_released
    }

    /// Whether the endpoint that a packet travels to is still that of its connection.
    pub(crate) fn takes(&self, packet: &Packet) -> bool {
        !packet.is_segment() || self.is_there(packet.recipient())
    }

    /// Returns the recipient of a message, if it exists.
    pub(crate) fn reader_of(&self, message: Message) -> Option<EndpointId> {
        message.recipient().filter(|recipient| self.is_there(*recipient)).map(|recipient| recipient.endpoint)
    }

    /// Gives an endpoint the notice that middleboxes have written on a packet.
    #[cold]
    pub(crate) fn read_label(&mut self, now: Time, endpoint: EndpointId, label: Label) {
        let Some(notice) = label.notice() else { return };
        let host = &mut self.hosts[endpoint];
        host.conn.notify(now, notice);
        if let Notice::ErrorRate(rate) = notice {
            // New connections begin with it.
            let path = self.flows[host.flow].path_from(endpoint);
            self.pool.caches.entry(path).or_default().error_rate = Some(rate);
        }
    }

    /// Counts a packet that was lost at `at`. All losses before `known` are counted. Returns the offset of its data, if
    /// it is a segment with data.
    pub(crate) fn on_loss(&mut self, at: Time, packet: &Packet, cause: Cause, known: Time) -> Option<u64> {
        if packet.is_segment() {
            self.on_end(packet);
            if packet.len > 0 && packet.class != LOWEST {
                let sender = &mut self.hosts[packet.endpoint().peer()];
                let offset = sender.conn.report().offset_of(packet.seq);
                // The sender neither knows nor repairs the losses of a proxy.
                if !packet.is_made() {
                    sender.verdicts.get_or_insert_with(Box::default).on_loss(at, offset, cause, known);
                }
                return Some(offset);
            }
        } else if packet.kind() == PacketKind::Engine {
            self.on_end(packet);
        } else if packet.kind() == PacketKind::Datagram {
            let flow = &mut self.flows[self.flow_of[packet.lane()]];
            if let Some(arrived) = &mut flow.arrived {
                arrived.lost += 1;
                if let Some(probes) = &mut arrived.probes {
                    probes.on_loss(packet.sent_at(), at, cause);
                }
            }
        }
        None
    }

    /// Counts a packet that will not reach its host.
    pub(crate) fn on_end(&mut self, packet: &Packet) {
        if packet.is_of_session() {
            self.hosts[packet.endpoint()].ended_packets += 1;
        }
    }

    /// Reports a corrupted packet to its host, which discards it.
    pub(crate) fn on_corrupted(&mut self, now: Time, packet: &Packet) {
        if packet.is_segment() {
            self.hosts[packet.endpoint()].conn.handle(now, Arrived::Corrupted);
        }
    }

    /// Counts a packet that a middlebox has made, as if its endpoint had sent it.
    pub(crate) fn on_made(&mut self, packet: &Packet) {
        if packet.is_of_session() {
            self.hosts[packet.endpoint().peer()].sent_packets += 1;
        }
    }

    /// Counts a packet that a middlebox takes, if it accepts it in place of the packet's endpoint.
    pub(crate) fn on_taken(&mut self, packet: &Packet, is_accepted: bool) {
        if is_accepted && packet.is_segment() && !packet.is_made() {
            self.hosts[packet.endpoint()].accepted += 1;
        }
    }

    /// Returns the present request of a packet's connection.
    pub(crate) fn request_of(&self, packet: &Packet) -> Option<Request> {
        let is_there = packet.is_segment() && self.hosts[packet.endpoint()].is(packet.recipient());
        let session = is_there.then(|| &self.pool.sessions[packet.endpoint().slot()]);
        session.filter(|session| !session.is_released)?.request.as_deref().copied()
    }

    /// Notes that a middlebox answers the present request of a packet's connection: the listener will not receive it.
    pub(crate) fn on_answered(&mut self, packet: &Packet) {
        if let Some(request) = self.request_of(packet) {
            let slot = packet.endpoint().slot();
            let session = &mut self.pool.sessions[slot];
            session.answered += request.size;
            session.unseen += request.bytes;
            self.hosts[EndpointId::listener(slot)].awaits = None;
        }
    }

    /// Counts a datagram that has arrived. The other end answers a probe, and each copy of it.
    pub(crate) fn on_datagram(&mut self, now: Time, packet: &Packet, sent_at: Time, recorder: &mut Recorder) {
        let id = self.flow_of[packet.lane()];
        let flow = &mut self.flows[id];
        if let Some(probes) = flow.arrived.as_mut().and_then(|arrived| arrived.probes.as_mut()) {
            if packet.is_to_sender() {
                let rtt = probes.on_answer(sent_at, now);
                return rtt.into_iter().for_each(|rtt| flow.rtts.record_span(rtt));
            }
            probes.on_arrival(sent_at, now);
            self.pool.tasks.push_back(Task::Send(packet.path().reverse(), packet.len, sent_at));
        }
        let playout = flow.app.playout();
        if let Some(arrived) = &mut flow.arrived {
            arrived.add(now - sent_at, playout);
            if let Some(file) = &mut arrived.file {
                file.add_sent_at(now, sent_at);
            }
            recorder.on_delay(now, id, now - sent_at);
        }
        let received = &mut flow.totals_mut().received;
        received.arrived_segments += 1;
        received.arrived_bytes += u64::from(packet.len);
        received.delivered_bytes += u64::from(packet.len);
    }

    /// Keeps a packet that enters by the port of a flow at `at`.
    pub(crate) fn enter_later(&mut self, at: Time, flow: FlowId, packet: Packet) {
        let state = &mut self.flows[flow];
        state.timer = state.timer.min(at);
        if let AnyApp::Port(port) = &mut self.apps[flow] {
            port.insert(at, packet);
        }
    }

    /// Takes the packet that enters now, if any.
    pub(crate) fn take_entering(&mut self, now: Time, flow: FlowId) -> Option<Packet> {
        let AnyApp::Port(port) = &mut self.apps[flow] else { return None };
        let packet = port.take(now)?;
        let state = &mut self.flows[flow];
        state.timer = port.next();
        state.totals_mut().on_datagram_sent(now, packet.len.into(), packet.size());
        Some(packet)
    }

    /// Packets that enter later by any port, count.
    pub(crate) fn entering(&self) -> usize {
        self.apps.iter().map(|app| if let AnyApp::Port(port) = app { port.len() } else { 0 }).sum()
    }
}
