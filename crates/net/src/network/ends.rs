//! The endpoints of all flows, the contents of their packets, and the record of the run. They take packets and instants,
//! and give packets. They know neither links nor nodes.

use crate::engine::{Schedule, Source};
use crate::record::Recorder;
use crate::traffic::{event_kind, event_of_segment, formers, Traffic};
use bentpipe_model::dictionary::EventKind;
use bentpipe_model::ids::{EndpointId, FlowId, PathId};
use bentpipe_model::packet::{Bodies, Packet, PacketKind, NO_BODY};
use bentpipe_model::spec::Scenario;
use bentpipe_tcp::Event;
use bentpipe_units::{Seq, Time};

/// The endpoints of a network.
#[derive(Debug)]
pub(super) struct Endpoints {
    pub(super) traffic: Traffic,
    pub(super) bodies: Bodies,
    pub(super) recorder: Recorder,
}

/// The receiver of a datagram or a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// It has no receiver.
    ByNobody,
    /// An endpoint, which may act.
    By(EndpointId),
    /// A flow of datagrams.
    ByFlow,
    /// A port, which takes its bytes.
    ByPort,
}

impl Endpoints {
    /// The endpoints at the start of a run. `first_hop` returns the first hop of each path.
    pub(super) fn of(scenario: &Scenario, seed: u64, first_hop: impl Fn(PathId) -> u32) -> Self {
        Self {
            traffic: Traffic::new(scenario, seed, first_hop, true),
            bodies: Bodies::default(),
            recorder: Recorder::new(&scenario.record, scenario.entities().0.len(), scenario.links.len()),
        }
    }

    /// Whether a packet can affect more than one endpoint.
    #[inline(always)]
    pub(super) fn moves_others(&self, packet: &Packet) -> bool {
        !packet.is_segment() || self.bodies.label(packet).is_some()
    }

    /// Reads the notice that middleboxes have written on a segment, if any.
    #[inline(always)]
    pub(super) fn read_label(&mut self, at: Time, packet: &Packet) {
        if packet.body != NO_BODY {
            if let Some(label) = self.bodies.label(packet) {
                self.traffic.read_label(at, packet.endpoint(), label);
            }
        }
    }

    /// Gives a connection a segment that has arrived. Returns false if it does not listen.
    #[inline(always)]
    pub(super) fn handle(&mut self, at: Time, packet: &Packet) -> bool {
        let host = &mut self.traffic.hosts[packet.endpoint()];
        if !host.is_listening() {
            return false;
        }
        host.on_arrival(at, packet, &mut self.bodies);
        if host.sends_data {
            if let Some(rtt) = host.conn.take_rtt() {
                self.traffic.flows[host.flow].rtts.record_span(rtt);
            }
            if self.recorder.wants_events && host.conn.acked_bytes() > 0 {
                self.recorder.on_event(at, host.flow, EventKind::Acked, host.conn.acked_bytes());
            }
        }
        true
    }

    /// Gives a flow or an endpoint a datagram or a message.
    pub(super) fn receive(&mut self, at: Time, packet: &Packet) -> Received {
        match packet.kind() {
            PacketKind::Datagram => {
                self.traffic.on_datagram(at, packet, self.bodies.sent_at(packet), &mut self.recorder);
                match self.traffic.flows[self.traffic.flow_of[packet.lane()]].is_port() {
                    true => Received::ByPort,
                    false => Received::ByFlow,
                }
            }
            PacketKind::Message => {
                let message = self.bodies.message(packet);
                let reader = message.and_then(|message| Some((message, self.traffic.reader_of(message)?)));
                let Some((message, endpoint)) = reader else { return Received::ByNobody };
                self.traffic.hosts[endpoint].on_message(at, message);
                Received::By(endpoint)
            }
            PacketKind::Engine if self.traffic.engine_receives(at, packet, &self.bodies) => {
                Received::By(packet.endpoint())
            }
            PacketKind::Engine | PacketKind::Segment => Received::ByNobody,
        }
    }

    /// Whether an endpoint has events, a goal of its application that is reached, or changes for series.
    #[inline(always)]
    pub(super) fn has_report(&mut self, endpoint: EndpointId) -> bool {
        let host = &self.traffic.hosts[endpoint];
        host.conn.has_events() || self.recorder.wants_flow_series || host.needs_attention()
    }

    /// Processes the next event of a connection, and returns it.
    pub(super) fn take_event(&mut self, at: Time, endpoint: EndpointId) -> Option<Event> {
        let event = self.traffic.hosts[endpoint].conn.poll()?;
        self.traffic.on_event(at, endpoint, event);
        self.record_event(at, endpoint, event);
        Some(event)
    }

    /// Processes the events of a subflow.
    pub(super) fn take_subflow_events(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.traffic.on_subflow_event(at, endpoint, event);
            self.record_event(at, endpoint, event);
        }
    }

    /// Records an event of a connection that sends data.
    fn record_event(&mut self, at: Time, endpoint: EndpointId, event: Event) {
        if !self.recorder.wants_decisions || !self.traffic.hosts[endpoint].sends_data {
            return;
        }
        if let Some((kind, value)) = event_kind(event, endpoint.is_opener()) {
            self.recorder.on_event(at, self.traffic.entity(endpoint), kind, value);
        }
    }

    /// Ends the wait of the application at an endpoint, if its goal is reached. Returns whether it is.
    pub(super) fn end_wait(&mut self, at: Time, endpoint: EndpointId) -> bool {
        let is_over = self.traffic.hosts[endpoint].is_wait_over();
        if is_over {
            self.traffic.on_wait_over(at, endpoint, &mut self.recorder);
        }
        is_over
    }

    /// Lets an endpoint read, and records the series of its sender.
    pub(super) fn attend(&mut self, at: Time, endpoint: EndpointId) {
        self.traffic.hosts[endpoint].attend(at);
        if self.recorder.wants_flow_series && self.traffic.is_recorded(endpoint) {
            self.traffic.hosts[endpoint].record_sender(at, &mut self.recorder);
        }
    }

    /// Records the departure of a segment with data.
    #[cold]
    pub(super) fn record_departure(&mut self, at: Time, packet: &Packet) {
        if !packet.is_segment() || packet.len == 0 {
            return;
        }
        let endpoint = packet.endpoint().peer();
        let host = &self.traffic.hosts[endpoint];
        if host.sends_data {
            let segment = packet.plain_segment();
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            let entity = self.traffic.entity(endpoint);
            self.recorder.on_event(at, entity, event_of_segment(&segment), offset);
        }
    }

    /// Runs the application of a flow, and schedules its next wake-up. Its tasks wait for the network.
    pub(super) fn wake_flow(&mut self, now: Time, flow: FlowId, schedule: &mut Schedule) {
        self.traffic.wake_flow(now, flow);
        self.rearm_flow(flow, schedule);
    }

    /// Whether the wake-up of an endpoint is due. If it is not, the deadline has moved since, and is scheduled.
    pub(super) fn is_due(&mut self, now: Time, endpoint: EndpointId, schedule: &mut Schedule) -> bool {
        let host = &mut self.traffic.hosts[endpoint];
        let due = host.next_wakeup();
        let is_due = due <= now;
        host.armed = if is_due { Time::NEVER } else { due };
        schedule.set(Source::Endpoint(endpoint), host.armed);
        is_due
    }

    /// Schedules the next wake-up of an endpoint, unless it is later than the present one.
    #[inline]
    pub(super) fn rearm(&mut self, endpoint: EndpointId, schedule: &mut Schedule) {
        let host = &mut self.traffic.hosts[endpoint];
        if host.wakes_before(host.armed) {
            host.armed = host.next_wakeup();
            schedule.set(Source::Endpoint(endpoint), host.armed);
        }
    }

    /// Schedules the next wake-up of an endpoint, also if it is later than before.
    pub(super) fn rearm_late(&mut self, endpoint: EndpointId, schedule: &mut Schedule) {
        let host = &mut self.traffic.hosts[endpoint];
        host.armed = host.next_wakeup();
        schedule.set(Source::Endpoint(endpoint), host.armed);
    }

    /// Schedules the next wake-ups of all subflows at the end of a group.
    pub(super) fn rearm_group(&mut self, endpoint: EndpointId, schedule: &mut Schedule) {
        let mut subflow = 0;
        while let Some(endpoint) = self.traffic.sibling(endpoint, subflow) {
            self.rearm_late(endpoint, schedule);
            subflow += 1;
        }
        formers(&self.traffic, endpoint).into_iter().flatten().for_each(|former| self.rearm_late(former, schedule));
    }

    /// Schedules the next wake-up of the application of a flow.
    pub(super) fn rearm_flow(&mut self, flow: FlowId, schedule: &mut Schedule) {
        let state = &self.traffic.flows[flow];
        if state.can_wake() {
            schedule.set(Source::Flow(flow), state.timer);
        }
    }
}
