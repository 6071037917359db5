//! Endpoints with engines, as the network drives them: arrivals, wake-ups, events and departures. All of it is away from the
//! path of TCP's packets.

use super::dispatch::Traffic;
use super::engines::{EngineEnd, EngineSession};
use super::goal::StreamRead;
use crate::record::Recorder;
use bentpipe_model::dictionary::SenderSeries;
use bentpipe_model::ids::{EndpointId, LaneId};
use bentpipe_model::packet::{Bodies, Carried, Packet};
use bentpipe_model::stack::EngineEvent;
use bentpipe_units::{Duration, Time};

impl Traffic {
    /// Whether an endpoint has an engine.
    pub(crate) fn has_engine(&self, endpoint: EndpointId) -> bool {
        self.pool.sessions[endpoint.slot()].engine.is_some()
    }

    /// Whether the application of an endpoint acts by `now`.
    pub(crate) fn is_application_due(&self, now: Time, endpoint: EndpointId) -> bool {
        match &self.pool.sessions[endpoint.slot()].engine {
            Some(session) => session.ends[endpoint.side()].app_timer <= now,
            None => self.hosts[endpoint].is_application_due(now),
        }
    }

    /// Returns the end of a session with an engine; `None`: the endpoint has none.
    pub(crate) fn engine_end(&self, endpoint: EndpointId) -> Option<&EngineEnd> {
        Some(&self.pool.sessions[endpoint.slot()].engine.as_ref()?.ends[endpoint.side()])
    }

    fn engine(&mut self, endpoint: EndpointId) -> Option<&mut EngineSession> {
        self.pool.sessions[endpoint.slot()].engine.as_deref_mut()
    }

    /// Gives an engine a datagram that has arrived. Returns false if it is for another connection.
    pub(crate) fn engine_receives(&mut self, now: Time, packet: &Packet, bodies: &Bodies) -> bool {
        let endpoint = packet.endpoint();
        let host = &mut self.hosts[endpoint];
        host.ended_packets += 1;
        if !host.is(packet.recipient()) {
            return false;
        }
        let Some(bytes) = bodies.bytes(packet) else { return false };
        let Some(session) = self.engine(endpoint) else { return false };
        session.ends[endpoint.side()].engine.handle(now, bytes, packet.ecn());
        true
    }

    /// Counts a packet that a proxy could not read.
    pub(crate) fn on_unread(&mut self, packet: &Packet) {
        if let Some(facts) = &mut self.flows[self.flow_of[packet.lane()]].engines {
            facts.passed += 1;
        }
    }

    /// Notifies the present engine of a lane of its new links. Returns the endpoint, which may send.
    pub(crate) fn change_lane(&mut self, now: Time, lane: LaneId) -> Option<EndpointId> {
        let endpoint = self.flows[self.flow_of[lane]].newest?;
        self.engine(endpoint)?.ends[endpoint.side()].engine.lane_changed(0, now);
        Some(endpoint)
    }

    /// Wakes an endpoint with an engine: its application first, then its engine.
    pub(crate) fn wake_engine(&mut self, now: Time, endpoint: EndpointId) {
        let Some(session) = self.engine(endpoint) else { return };
        let end = &mut session.ends[endpoint.side()];
        if end.app_timer <= now {
            end.app_timer = Time::NEVER;
            self.wake_application(now, endpoint);
        }
        let Some(session) = self.engine(endpoint) else { return };
        let end = &mut session.ends[endpoint.side()];
        if end.engine.next_wakeup() <= now {
            end.engine.handle_wakeup(now);
        }
    }

    /// Processes the events of an engine, and ends the wait of its application if its goal is reached.
    pub(crate) fn engine_events(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) {
        let (side, slot) = (endpoint.side(), endpoint.slot());
        loop {
            let Some(session) = self.engine(endpoint) else { return };
            let Some(event) = session.ends[side].engine.poll_event() else { break };
            let end = &mut session.ends[side];
            match event {
                EngineEvent::Established => {
                    end.established.get_or_insert(now);
                }
                EngineEvent::Received { stream, bytes, is_last } => {
                    end.first_byte.get_or_insert(now);
                    end.received[1] = bytes;
                    if is_last {
                        end.received = [end.received[0] + bytes, 0];
                        if side == 1 {
                            end.stream = Some(stream);
                        }
                    }
                    self.on_stream(now, endpoint, StreamRead { stream, is_last }, recorder);
                }
                EngineEvent::Datagram { number, sent_at } => {
                    end.first_byte.get_or_insert(now);
                    let (id, delay) = (self.hosts[endpoint].flow, now.saturating_since(sent_at));
                    let flow = &mut self.flows[id];
                    let playout = flow.app.playout();
                    if let Some(arrived) = &mut flow.arrived {
                        arrived.add_numbered(number, delay, playout);
                        if let Some(file) = &mut arrived.file {
                            file.add(now, number.into());
                        }
                        recorder.on_delay(now, id, delay);
                    }
                }
                EngineEvent::Acked(stream) => {
                    if let Some(at) = end.unacked.iter().position(|(open, _)| *open == stream) {
                        end.acked += end.unacked.swap_remove(at).1;
                    }
                }
                EngineEvent::Failed(reason) => {
                    session.reason.get_or_insert_with(|| reason.into());
                    if !std::mem::replace(&mut session.has_failed, true) {
                        self.on_abort(now, slot);
                    }
                }
            }
        }
        let goal = self.hosts[endpoint].awaits;
        let Some(session) = self.engine(endpoint) else { return };
        if session.ends[side].has_reached(goal) {
            self.on_wait_over(now, endpoint, recorder);
        }
    }

    /// Returns the next datagram of an engine as a packet.
    pub(crate) fn engine_packet(&mut self, now: Time, endpoint: EndpointId, bodies: &mut Bodies) -> Option<Packet> {
        let mut bytes = Vec::new();
        let sent = self.engine(endpoint)?.ends[endpoint.side()].engine.poll_transmit(now, &mut bytes)?;
        let body = bodies.keep(Carried::Bytes { entered: now, bytes: bytes.into() });
        Some(self.hosts[endpoint].engine_packet(now, sent, body))
    }

    /// Takes the round-trip samples of an engine, and records the state of its sender. Sets the timer of its host.
    pub(crate) fn settle_engine(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) {
        let is_recorded = recorder.wants_flow_series && self.is_recorded(endpoint);
        let (side, flow) = (endpoint.side(), self.hosts[endpoint].flow);
        let sends_data = self.hosts[endpoint].sends_data;
        let Some(session) = self.pool.sessions[endpoint.slot()].engine.as_deref_mut() else { return };
        let end = &mut session.ends[side];
        while let Some(rtt) = end.engine.take_rtt() {
            if sends_data {
                self.flows[flow].rtts.record_span(rtt);
            }
        }
        if is_recorded {
            let state = end.engine.state();
            recorder.on_sender(now, flow, |series| match series {
                SenderSeries::Cwnd => Some(state.cwnd as f64),
                SenderSeries::Ssthresh => state.ssthresh.map(|bytes| bytes as f64),
                SenderSeries::Srtt => state.srtt.map(Duration::as_secs_f64),
                SenderSeries::FlightSize => Some(state.in_flight as f64),
                SenderSeries::Rto
                | SenderSeries::ReceiveWindow
                | SenderSeries::DeliveryRate
                | SenderSeries::LimitedBy
                | SenderSeries::HeldBytes
                | SenderSeries::PacingRate
                | SenderSeries::Delay => None,
            });
        }
        self.hosts[endpoint].timer = end.next_wakeup();
    }
}
