//! Endpoints and applications: packets arrive, connections and applications act, each at its own instant `at`.

use super::critical::Acting;
use super::Network;
use crate::dictionary::{Cause, EventKind};
use crate::engine::Source;
use crate::ids::{EndpointId, FlowId, NodeId};
use crate::packet::{Packet, PacketKind, NO_BODY};
use crate::record::{LossPlace, StopReason};
use crate::traffic::{event_kind, event_of_segment, Task};
use bentpipe_tcp::Event;
use bentpipe_units::{Seq, Time};

impl Network {
    /// Delivers a packet to its endpoint, and sends the answers.
    #[inline(always)]
    pub(super) fn arrive(&mut self, at: Time, node: NodeId, packet: &Packet) {
        if !packet.is_segment() {
            return self.receive_other(at, node, packet);
        }
        let endpoint = packet.endpoint();
        if packet.body != NO_BODY {
            if let Some(label) = self.bodies.label(packet) {
                self.traffic.read_label(at, endpoint, label);
            }
        }
        if self.observers.looks_closer && self.look_closer(at, node, packet) {
            return;
        }
        let host = &mut self.traffic.hosts[endpoint];
        if !host.is_listening() {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        host.on_arrival(at, packet, &mut self.bodies);
        if host.sends_data {
            if let Some(rtt) = host.conn.take_rtt() {
                self.traffic.flows[host.flow].rtts.record_span(rtt);
            }
            if self.recorder.wants_events && host.conn.acked_bytes() > 0 {
                self.recorder.on_event(at, host.flow, EventKind::Acked, host.conn.acked_bytes());
            }
        }
        self.drive(at, endpoint);
    }

    /// Shows a segment that arrives to the observers. Returns whether it is that of a subflow, which it delivers.
    #[cold]
    fn look_closer(&mut self, at: Time, node: NodeId, packet: &Packet) -> bool {
        let host = &self.traffic.hosts[packet.endpoint()];
        let (is_listening, in_group) = (host.is_listening(), host.in_group);
        if self.observers.is_any && is_listening {
            self.see_arrival(node, packet);
        }
        if in_group {
            self.receive_in_group(at, node, packet);
        }
        in_group
    }

    /// `arrive`, not inlined: few packets come this way.
    #[inline(never)]
    pub(super) fn arrive_apart(&mut self, at: Time, node: NodeId, packet: &Packet) {
        self.arrive(at, node, packet);
    }

    /// Runs the timers of an endpoint that expire before `until`, each at its instant.
    #[inline(always)]
    pub(super) fn act_until(&mut self, endpoint: EndpointId, until: Time) {
        while self.traffic.hosts[endpoint].wakes_before(until) {
            let at = self.traffic.hosts[endpoint].next_wakeup();
            self.act(at, endpoint);
        }
    }

    #[inline(never)]
    fn act(&mut self, at: Time, endpoint: EndpointId) {
        if self.observers.is_any {
            self.trace_wakeup(endpoint);
        }
        if self.traffic.hosts[endpoint].in_group {
            return self.act_in_group(at, endpoint);
        }
        // The timer of a host with an engine is that of the engine, too.
        if self.traffic.hosts[endpoint].is_application_due(at) && self.traffic.has_engine(endpoint) {
            self.traffic.wake_engine(at, endpoint);
            return self.drive_engine(at, endpoint);
        }
        self.traffic.wake_endpoint(at, endpoint);
        self.drive_apart(at, endpoint);
    }

    pub(super) fn wake_endpoint(&mut self, endpoint: EndpointId) {
        let host = &mut self.traffic.hosts[endpoint];
        let due = host.next_wakeup();
        let is_due = due <= self.now;
        // If it is not due, the deadline has moved since.
        host.armed = if is_due { Time::NEVER } else { due };
        self.schedule.set(Source::Endpoint(endpoint), host.armed);
        if is_due {
            self.act(self.now, endpoint);
        }
    }

    /// Runs the application of a flow.
    pub(super) fn wake_flow(&mut self, flow: FlowId) {
        self.traffic.wake_flow(self.now, flow);
        self.rearm_flow(flow);
        self.carry_out_tasks(self.now);
    }

    pub(super) fn rearm_flow(&mut self, flow: FlowId) {
        let state = &self.traffic.flows[flow];
        if state.can_wake() {
            self.schedule.set(Source::Flow(flow), state.timer);
        }
    }

    /// Carries out the tasks of the applications, until there are no more. A task that adds tasks leaves them to the call
    /// that runs: a page opens ten thousand connections at an instant, and a call within each would exhaust the stack.
    #[inline(never)]
    pub(super) fn carry_out_tasks(&mut self, at: Time) {
        if !self.traffic.begin_tasks() {
            return;
        }
        while let Some(task) = self.traffic.next_task() {
            match task {
                Task::Begin(slot) => {
                    let salts = self.traffic.salts(slot);
                    self.schedule.begin(slot, salts);
                    if let Some(paths) = &mut self.observers.critical {
                        paths.open(slot);
                    }
                    EndpointId::both(slot).into_iter().for_each(|end| self.rearm(end));
                }
                Task::Drive(endpoint) => {
                    self.note_acting(Acting::ForApplication);
                    self.drive_any(at, endpoint);
                }
                Task::Rearm(flow) => self.rearm_flow(flow),
                Task::Send(path, size, of) => {
                    let mut packet = Packet::datagram(of, path.lane(), size, self.routes.first(path))
                        .towards(path)
                        .in_class(self.scenario.lanes[path.lane()].class);
                    self.ledger.sent += 1;
                    if self.observers.is_any {
                        self.see_sent(&packet);
                    }
                    self.launch(at, &mut packet);
                }
                Task::Enter(flow) => self.enter_from_port(flow),
            }
        }
        if self.traffic.is_over() {
            self.stop.get_or_insert(StopReason::Completed);
        }
    }

    /// Sends all segments of an endpoint, takes its events, schedules its wake-up.
    #[inline(always)]
    fn drive(&mut self, at: Time, endpoint: EndpointId) {
        self.transmit(at, endpoint);
        let host = &mut self.traffic.hosts[endpoint];
        if host.conn.has_events() || self.recorder.wants_flow_series || host.needs_attention() {
            self.report(at, endpoint);
        }
        self.traffic.note_limit(at, endpoint);
        self.rearm(endpoint);
    }

    /// Drives an endpoint of any transport.
    fn drive_any(&mut self, at: Time, endpoint: EndpointId) {
        if self.traffic.has_engine(endpoint) {
            self.drive_engine(at, endpoint);
        } else if self.traffic.hosts[endpoint].in_group {
            self.drive_group(at, endpoint);
        } else {
            self.drive_apart(at, endpoint);
        }
    }

    /// `drive`, not inlined.
    #[inline(never)]
    fn drive_apart(&mut self, at: Time, endpoint: EndpointId) {
        self.drive(at, endpoint);
    }

    #[inline(always)]
    fn transmit(&mut self, at: Time, endpoint: EndpointId) {
        if !self.traffic.hosts[endpoint].conn.sends_plainly() || !self.transmit_plainly(at, endpoint) {
            self.transmit_with_options(at, endpoint);
        }
    }

    /// `transmit`, not inlined.
    #[inline(never)]
    fn transmit_apart(&mut self, at: Time, endpoint: EndpointId) {
        self.transmit(at, endpoint);
    }

    /// Sends segments without options. Returns false if options are needed: an answer may have arrived during the call.
    #[inline(always)]
    fn transmit_plainly(&mut self, at: Time, endpoint: EndpointId) -> bool {
        loop {
            let host = &mut self.traffic.hosts[endpoint];
            let Some(mut packet) = host.next_plain_packet(at, &mut self.bodies) else { return true };
            let is_on_a_link = self.depart(at, endpoint, &mut packet);
            if !is_on_a_link && !self.traffic.hosts[endpoint].conn.sends_plainly() {
                return false;
            }
        }
    }

    #[inline(never)]
    fn transmit_with_options(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(mut packet) = self.traffic.hosts[endpoint].next_packet(at, &mut self.bodies) {
            self.depart(at, endpoint, &mut packet);
        }
    }

    /// The slow path: events, waits of the application, series.
    #[inline(never)]
    fn report(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.on_event(at, endpoint, event);
            // The application may have closed.
            self.transmit_apart(at, endpoint);
        }
        if self.traffic.hosts[endpoint].is_wait_over() {
            self.traffic.on_wait_over(at, endpoint, &mut self.recorder);
            if self.observers.is_any {
                self.trace_completions(endpoint);
            }
            self.transmit_apart(at, endpoint);
        }
        self.traffic.hosts[endpoint].attend(at);
        if self.recorder.wants_flow_series && self.traffic.is_recorded(endpoint) {
            self.traffic.hosts[endpoint].record_sender(at, &mut self.recorder);
        }
        self.carry_out_tasks(at);
    }

    /// Schedules the next wake-up of an endpoint, also if it is later than before.
    pub(super) fn rearm_late(&mut self, endpoint: EndpointId) {
        let host = &mut self.traffic.hosts[endpoint];
        host.armed = host.next_wakeup();
        self.schedule.set(Source::Endpoint(endpoint), host.armed);
    }

    #[inline]
    fn rearm(&mut self, endpoint: EndpointId) {
        let host = &mut self.traffic.hosts[endpoint];
        if host.wakes_before(host.armed) {
            host.armed = host.next_wakeup();
            self.schedule.set(Source::Endpoint(endpoint), host.armed);
        }
    }

    /// Sends a packet of an endpoint. Returns true if a link took or lost it: no answer has arrived.
    #[inline(always)]
    pub(super) fn depart(&mut self, at: Time, endpoint: EndpointId, packet: &mut Packet) -> bool {
        self.ledger.sent += 1;
        if self.recorder.wants_decisions {
            self.record_departure(at, endpoint, packet);
        }
        if self.observers.is_any {
            self.see_sent(packet);
        }
        self.launch(at, packet)
    }

    #[cold]
    fn record_departure(&mut self, at: Time, endpoint: EndpointId, packet: &Packet) {
        let host = &self.traffic.hosts[endpoint];
        if packet.len > 0 && host.sends_data {
            let segment = packet.plain_segment();
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            let entity = self.traffic.entity(endpoint);
            self.recorder.on_event(at, entity, event_of_segment(&segment), offset);
        }
    }

    /// Sends a packet from its host. Returns whether a link was next.
    #[inline(always)]
    pub(super) fn launch(&mut self, at: Time, packet: &mut Packet) -> bool {
        let is_on_a_link = self.take_link(at, packet);
        if !is_on_a_link {
            self.launch_at_node(at, packet);
        }
        is_on_a_link
    }

    /// Sends a packet whose host is a node with middleboxes, with the choice of the next hop, or at the end of its route.
    #[inline(never)]
    fn launch_at_node(&mut self, at: Time, packet: &mut Packet) {
        let [node, _] = self.scenario.ends(packet.path());
        self.enter_node(at, node, packet);
    }

    /// A packet other than a segment has reached its host.
    #[cold]
    fn receive_other(&mut self, at: Time, node: NodeId, packet: &Packet) {
        match packet.kind() {
            PacketKind::Datagram => self.receive_datagram(at, node, packet),
            PacketKind::Message => self.receive_message(at, node, packet),
            PacketKind::Engine => self.receive_engine(at, node, packet),
            PacketKind::Segment => {}
        }
    }

    fn receive_datagram(&mut self, at: Time, node: NodeId, packet: &Packet) {
        self.ledger.delivered += 1;
        if self.observers.is_any {
            self.see_arrival(node, packet);
        }
        self.traffic.on_datagram(at, packet, self.bodies.sent_at(packet));
        if self.traffic.flows[self.flow_of(packet)].is_port() {
            self.deliver_to_port(packet);
        }
        self.bodies.release(packet);
        // The answer to a probe.
        self.carry_out_tasks(at);
    }

    /// A message to an end of a connection, if that is still there.
    fn receive_message(&mut self, at: Time, node: NodeId, packet: &Packet) {
        let message = self.bodies.message(packet);
        let recipient = message.and_then(|message| self.traffic.reader_of(message));
        let (Some(message), Some(endpoint)) = (message, recipient) else {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        };
        self.traffic.hosts[endpoint].on_message(at, message);
        self.consume(packet);
        self.drive_any(at, endpoint);
    }

    fn on_event(&mut self, at: Time, endpoint: EndpointId, event: Event) {
        self.traffic.on_event(at, endpoint, event);
        if let Event::Aborted(_) = event {
            self.trace_failure(endpoint);
        }
        if event == Event::Established {
            self.update_horizon(self.now);
        }
        self.record_event(at, endpoint, event);
    }

    /// Records an event of a connection that sends data.
    pub(super) fn record_event(&mut self, at: Time, endpoint: EndpointId, event: Event) {
        if !self.recorder.wants_decisions || !self.traffic.hosts[endpoint].sends_data {
            return;
        }
        if let Some((kind, value)) = event_kind(event, endpoint.is_opener()) {
            self.recorder.on_event(at, self.traffic.entity(endpoint), kind, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LaneId, LinkId, PathId};
    use crate::spec::{Change, Lane};
    use bentpipe_units::Duration;
    use std::sync::Arc;

    /// Two lanes of one flow over two routes, with datagrams on both. The second lane loses its route: datagrams of the
    /// first still arrive, and those of both count for the flow.
    #[test]
    fn each_lane_of_a_flow_has_its_own_route() {
        let link = |name: &str, from: &str, to: &str| {
            format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '10 Mbit/s'\ndelay = '10 ms'\n")
        };
        let text = format!(
            "duration = '4 s'\n{}{}{}[flow.f]\nfrom = 'a'\nto = 'b'\nroute = ['a', 'b']\nreverse_route = ['b', 'a']\n\
             app = {{ kind = 'cbr', rate = '80 kbit/s', size = '1000 B' }}\n",
            link("ab", "a", "b"),
            link("ac", "a", "c"),
            link("cb", "c", "b"),
        );
        let resolved = crate::scenario::from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut scenario = (*resolved.scenario).clone();
        let named = |name: &str| {
            LinkId::new(scenario.links.iter().position(|link| link.name == name).expect("a link of the scenario"))
        };
        let second = LaneId::new(scenario.lanes.len());
        let route = [named("ac.forward"), named("cb.forward")].into();
        let reverse_route = [named("cb.reverse"), named("ac.reverse")].into();
        scenario.lanes.push(Lane { flow: FlowId::new(0), name: String::new(), route, reverse_route, class: 0 });
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        scenario.timeline.changes = vec![(at(2), Change::Withdraw(PathId::there(second)))];
        let mut network = Network::build(&Arc::new(scenario), 1);
        let mut sent = 0;
        for seconds in 1..4 {
            network.run_until(at(seconds));
            for path in PathId::both(second) {
                let mut packet = Packet::datagram(network.now, second, 500, network.routes.first(path)).towards(path);
                network.ledger.sent += 1;
                sent += 1;
                network.launch(network.now, &mut packet);
            }
        }
        while !network.run(u64::MAX) {}
        let result = network.finish().unwrap();
        let carried = |name: &str| {
            let at = result.links.text("link").iter().position(|link| link == name).expect("a link of the scenario");
            result.links.whole("carried_packets")[at]
        };
        // Datagrams there at 1 s, and back at 1, 2 and 3 s.
        let on_links = ["ac.forward", "cb.forward", "cb.reverse", "ac.reverse"].map(carried);
        assert_eq!((on_links, carried("ab.reverse"), sent), ([1, 1, 3, 3], 0, 6));
        let under_way = result.summary.whole("in_flight_packets")[0];
        assert_eq!(result.flows.whole("arrived_packets")[0], carried("ab.forward") - under_way + 1 + 3);
        assert_eq!((result.drops.text("flow"), result.drops.whole("packets")), (&["f".to_owned()][..], &[2][..]));
    }

    /// Thousands of connections, of which a few are open at a time: their slots are used again and again, also where
    /// packets are lost, doubled and held back for longer than a connection lives.
    #[test]
    fn the_pool_is_as_large_as_what_is_open() {
        let text = r#"
            duration = "1000 s"
            [node.b]
            middlebox = [{ kind = "impair", duplicate = "5 %", reorder = "5 %", hold = "3 s" }]
            [link.l]
            from = "a"
            to = "b"
            rate = "10 Mbit/s"
            delay = "10 ms"
            error = { kind = "packet", rate = 1e-2 }
            [link.m]
            from = "b"
            to = "c"
            rate = "10 Mbit/s"
            delay = "10 ms"
            [flow.f]
            from = "a"
            to = "c"
            app = { kind = "arrivals", size = "5 kB", interval = "100 ms" }
        "#;
        let scenario = crate::scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&scenario.scenario, 1);
        assert!(network.run(u64::MAX));
        let slots = network.traffic.hosts.slots();
        let completions = network.traffic.flows[0].completions().unwrap();
        assert!(completions.completed() > 9000 && completions.failed == 0);
        assert!(slots < 400, "{slots}");
        network.finish().unwrap();
    }
}
