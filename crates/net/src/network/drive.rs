//! Endpoints and applications act: packets arrive, connections and applications send, each at its own instant `at`.

use super::critical::Acting;
use super::ends::Received;
use super::motion::Motion;
use crate::record::{LossPlace, StopReason};
use crate::traffic::{is_former, join_again, may_join, Task};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{EndpointId, NodeId};
use bentpipe_model::packet::Packet;
use bentpipe_tcp::Event;
use bentpipe_units::Time;

impl Motion {
    /// Delivers a packet to its endpoint, and sends the answers.
    #[inline(always)]
    pub(super) fn arrive(&mut self, at: Time, node: NodeId, packet: &Packet) {
        if !packet.is_segment() {
            return self.receive_other(at, node, packet);
        }
        self.ends.read_label(at, packet);
        if self.observers.looks_closer && self.look_closer(at, node, packet) {
            return;
        }
        if !self.ends.handle(at, packet) {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        self.drive(at, packet.endpoint());
    }

    /// Shows a segment that arrives to the observers. Returns whether it is that of a subflow, which it delivers.
    #[cold]
    fn look_closer(&mut self, at: Time, node: NodeId, packet: &Packet) -> bool {
        let host = &self.ends.traffic.hosts[packet.endpoint()];
        let in_group = host.in_group;
        let is_listening = host.is_listening() || in_group && may_join(&self.ends.traffic, packet);
        if self.observers.is_any && is_listening {
            let (observers, scene) = self.observe();
            observers.on_arrival(scene, node, packet);
        }
        if in_group && is_listening {
            self.ledger.delivered += 1;
            self.ends.traffic.group_receives(at, packet, &mut self.ends.bodies);
            self.drive_group(at, packet.endpoint());
        }
        in_group && is_listening
    }

    /// `arrive`, not inlined: few packets come this way.
    #[inline(never)]
    pub(super) fn arrive_apart(&mut self, at: Time, node: NodeId, packet: &Packet) {
        self.arrive(at, node, packet);
    }

    /// A packet other than a segment has reached its host.
    #[cold]
    fn receive_other(&mut self, at: Time, node: NodeId, packet: &Packet) {
        if self.observers.is_any && !packet.is_message() {
            let (observers, scene) = self.observe();
            observers.on_arrival(scene, node, packet);
        }
        let received = self.ends.receive(at, packet);
        if received == Received::ByNobody {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        if received == Received::ByPort {
            self.ports.on_arrival(self.now, packet, &mut self.ends.bodies);
        }
        self.ends.bodies.release(packet);
        match received {
            Received::By(endpoint) => self.drive_any(at, endpoint),
            // The answer to a probe.
            _ => self.carry_out_tasks(at),
        }
    }

    /// Runs the timers of an endpoint that expire before `until`, each at its instant.
    #[inline(always)]
    pub(super) fn act_until(&mut self, endpoint: EndpointId, until: Time) {
        while self.ends.traffic.hosts[endpoint].wakes_before(until) {
            let at = self.ends.traffic.hosts[endpoint].next_wakeup();
            self.act(at, endpoint);
        }
    }

    /// Runs the timers of an endpoint that are due.
    #[inline(never)]
    pub(super) fn act(&mut self, at: Time, endpoint: EndpointId) {
        if self.observers.is_any {
            let (observers, scene) = self.observe();
            observers.critical.iter_mut().for_each(|paths| paths.on_wakeup(scene, endpoint));
        }
        let traffic = &mut self.ends.traffic;
        if traffic.hosts[endpoint].in_group {
            traffic.wake_in_group(at, endpoint);
            self.ends.take_subflow_events(at, endpoint);
            // First, because a tail loss probe prefers new data to a copy.
            self.transmit_by_turns(at, endpoint);
            self.transmit_with_options(at, endpoint);
            self.ends.take_subflow_events(at, endpoint);
            return self.drive_group(at, endpoint);
        }
        // The timer of a host with an engine is that of the engine, too.
        if traffic.hosts[endpoint].is_application_due(at) && traffic.has_engine(endpoint) {
            traffic.wake_engine(at, endpoint);
            return self.drive_engine(at, endpoint);
        }
        traffic.wake_endpoint(at, endpoint);
        self.drive_apart(at, endpoint);
    }

    /// Carries out the tasks of the applications, until there are no more. A task that adds tasks leaves them to the call
    /// that runs: a page opens ten thousand connections at an instant, and a call within each would exhaust the stack.
    #[inline(never)]
    pub(super) fn carry_out_tasks(&mut self, at: Time) {
        if !self.ends.traffic.begin_tasks() {
            return;
        }
        while let Some(task) = self.ends.traffic.next_task() {
            match task {
                Task::Begin(slot) => {
                    self.schedule.begin(slot, self.ends.traffic.salts(slot));
                    if let Some(paths) = &mut self.observers.critical {
                        paths.open(slot);
                    }
                    EndpointId::both(slot).into_iter().for_each(|end| self.ends.rearm(end, &mut self.schedule));
                }
                Task::Drive(endpoint) => {
                    if let Some(paths) = &mut self.observers.critical {
                        paths.note_acting(Acting::ForApplication);
                    }
                    self.drive_any(at, endpoint);
                }
                Task::Join(endpoint) => {
                    join_again(&mut self.ends.traffic, at, endpoint);
                    self.drive_any(at, endpoint);
                }
                Task::Rearm(flow) => self.ends.rearm_flow(flow, &mut self.schedule),
                Task::Send(path, size, of) => {
                    let mut packet = Packet::datagram(of, path.lane(), size, self.routes.first(path))
                        .towards(path)
                        .in_class(self.scenario.lanes[path.lane()].class);
                    self.ledger.sent += 1;
                    if self.observers.is_any {
                        self.show_sent(&packet);
                    }
                    self.launch(at, &mut packet);
                }
                Task::Enter(flow) => {
                    if let Some(mut packet) = self.ends.traffic.take_entering(self.now, flow) {
                        packet.next = self.routes.first(packet.path());
                        self.depart(self.now, &mut packet);
                    }
                    self.ends.rearm_flow(flow, &mut self.schedule);
                }
            }
        }
        if self.ends.traffic.is_over() {
            self.stop.get_or_insert(StopReason::Completed);
        }
    }

    /// Sends all segments of an endpoint, takes its events, schedules its wake-up.
    #[inline(always)]
    fn drive(&mut self, at: Time, endpoint: EndpointId) {
        self.transmit(at, endpoint);
        if self.ends.has_report(endpoint) {
            self.report(at, endpoint);
        }
        self.ends.traffic.note_limit(at, endpoint);
        self.ends.rearm(endpoint, &mut self.schedule);
    }

    /// `drive`, not inlined.
    #[inline(never)]
    fn drive_apart(&mut self, at: Time, endpoint: EndpointId) {
        self.drive(at, endpoint);
    }

    /// Drives an endpoint of any transport.
    pub(super) fn drive_any(&mut self, at: Time, endpoint: EndpointId) {
        if self.ends.traffic.has_engine(endpoint) {
            self.drive_engine(at, endpoint);
        } else if self.ends.traffic.hosts[endpoint].in_group {
            self.drive_group(at, endpoint);
        } else {
            self.drive_apart(at, endpoint);
        }
    }

    /// Takes events of an engine, sends its datagrams, schedules its wake-up.
    fn drive_engine(&mut self, at: Time, endpoint: EndpointId) {
        self.ends.traffic.engine_events(at, endpoint, &mut self.ends.recorder);
        if self.observers.is_any {
            self.show_completions(endpoint);
        }
        while let Some(mut packet) = self.ends.traffic.engine_packet(at, endpoint, &mut self.ends.bodies) {
            self.depart(at, &mut packet);
        }
        self.ends.traffic.settle_engine(at, endpoint, &mut self.ends.recorder);
        self.ends.rearm_late(endpoint, &mut self.schedule);
        self.carry_out_tasks(at);
    }

    /// Sends what an end of a group has to send, takes its events, schedules its wake-ups. `endpoint` is that of the subflow that
    /// acted. All ends of a group act after one another, never ahead of time.
    fn drive_group(&mut self, at: Time, endpoint: EndpointId) {
        if is_former(&self.ends.traffic, endpoint) {
            self.transmit_with_options(at, endpoint);
        }
        self.ends.take_subflow_events(at, endpoint);
        self.transmit_by_turns(at, endpoint);
        if self.ends.traffic.group_events(at, endpoint, &mut self.ends.recorder) {
            self.review(self.now);
        }
        let is_over = self.ends.traffic.end_group_wait(at, endpoint, &mut self.ends.recorder);
        if is_over && self.observers.is_any {
            self.show_completions(endpoint);
        }
        // The application may have closed, or given more data.
        self.transmit_by_turns(at, endpoint);
        self.ends.traffic.settle_group(at, endpoint, &mut self.ends.recorder);
        self.ends.rearm_group(endpoint, &mut self.schedule);
        self.carry_out_tasks(at);
    }

    /// Lets the subflows of an end send by the choice of its meta.
    fn transmit_by_turns(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(subflow) = self.ends.traffic.next_subflow(at, endpoint) {
            self.transmit_with_options(at, subflow);
            self.ends.take_subflow_events(at, subflow);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, at: Time, endpoint: EndpointId) {
        if !self.ends.traffic.hosts[endpoint].conn.sends_plainly() || !self.transmit_plainly(at, endpoint) {
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
            let host = &mut self.ends.traffic.hosts[endpoint];
            let Some(mut packet) = host.next_plain_packet(at, &mut self.ends.bodies) else { return true };
            let is_on_a_link = self.depart(at, &mut packet);
            if !is_on_a_link && !self.ends.traffic.hosts[endpoint].conn.sends_plainly() {
                return false;
            }
        }
    }

    #[inline(never)]
    fn transmit_with_options(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(mut packet) = self.ends.traffic.hosts[endpoint].next_packet(at, &mut self.ends.bodies) {
            self.depart(at, &mut packet);
        }
    }

    /// The slow path: events, waits of the application, series.
    #[inline(never)]
    fn report(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(event) = self.ends.take_event(at, endpoint) {
            if let (Event::Aborted(_), Some(paths)) = (event, &mut self.observers.critical) {
                paths.on_failure(self.ends.traffic.hosts[endpoint].flow);
            }
            if event == Event::Established {
                self.review(self.now);
            }
            // The application may have closed.
            self.transmit_apart(at, endpoint);
        }
        if self.ends.end_wait(at, endpoint) {
            if self.observers.is_any {
                self.show_completions(endpoint);
            }
            self.transmit_apart(at, endpoint);
        }
        self.ends.attend(at, endpoint);
        self.carry_out_tasks(at);
    }

    /// Sends a packet of an endpoint. Returns true if a link took or lost it: no answer has arrived.
    #[inline(always)]
    fn depart(&mut self, at: Time, packet: &mut Packet) -> bool {
        self.ledger.sent += 1;
        if self.ends.recorder.wants_decisions {
            self.ends.record_departure(at, packet);
        }
        if self.observers.is_any {
            self.show_sent(packet);
        }
        self.launch(at, packet)
    }

    #[cold]
    #[inline(never)]
    fn show_sent(&mut self, packet: &Packet) {
        let (observers, scene) = self.observe();
        observers.on_sent(scene, packet);
    }

    /// Shows the transfers that are complete at an endpoint to the observers.
    #[cold]
    #[inline(never)]
    fn show_completions(&mut self, endpoint: EndpointId) {
        let complete = self.ends.recorder.take_transfers();
        let (observers, scene) = self.observe();
        if let Some(paths) = &mut observers.critical {
            paths.on_completions(scene, endpoint, complete);
        }
    }

    /// Sends a packet from its host. Returns whether a link was next.
    #[inline(always)]
    fn launch(&mut self, at: Time, packet: &mut Packet) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use bentpipe_model::ids::{FlowId, LaneId, LinkId, PathId};
    use bentpipe_model::packet::Recipient;
    use bentpipe_model::spec::{Change, Lane};
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
        let resolved = bentpipe_scenario::from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
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
                let mut packet =
                    Packet::datagram(network.motion.now, second, 500, network.motion.routes.first(path)).towards(path);
                network.motion.ledger.sent += 1;
                sent += 1;
                network.motion.launch(network.motion.now, &mut packet);
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
        let scenario = bentpipe_scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&scenario.scenario, 1);
        assert!(network.run(u64::MAX));
        let slots = network.motion.ends.traffic.hosts.slots();
        let completions = network.motion.ends.traffic.flows[0].completions().unwrap();
        assert!(completions.completed() > 9000 && completions.failed == 0);
        assert!(slots < 400, "{slots}");
        network.finish().unwrap();
    }

    /// A transfer over two paths. An application that has left its session reads no message to any of its subflows, although
    /// they still accept segments.
    #[test]
    fn an_application_that_has_left_reads_nothing_on_any_subflow() {
        let by = |name: &str| {
            format!(
                "[link.{name}]\nfrom = 'a'\nto = '{name}'\nrate = '10 Mbit/s'\ndelay = '10 ms'\n\
                 [link.from_{name}]\nfrom = '{name}'\nto = 'b'\nrate = '10 Mbit/s'\ndelay = '10 ms'\n\
                 [flow.f.subflow.{name}]\nroute = ['a', '{name}', 'b']\n"
            )
        };
        let text = format!(
            "duration = '20 s'\n[flow.f]\nfrom = 'a'\nto = 'b'\nmultipath = {{ receive_buffer = '1 MB' }}\n\
             app = {{ kind = 'arrivals', size = '20 kB', interval = '5 s', count = 2 }}\n{}{}",
            by("x"),
            by("y"),
        );
        let resolved = bentpipe_scenario::from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&resolved.scenario, 1);
        let mut seen = Vec::new();
        while !network.run(1) {
            let traffic = &network.motion.ends.traffic;
            // Whether each end of each subflow accepts segments, and reads messages.
            let state = |slot: usize, endpoint: EndpointId| {
                let recipient = Recipient { endpoint, owner: Packet::owner(LaneId::new(slot), 0) };
                (traffic.hosts[endpoint].is_listening(), traffic.is_there(recipient))
            };
            if traffic.hosts.slots() == 2 {
                seen.push([0, 1].map(|slot| EndpointId::both(slot).map(|end| state(slot, end))));
            }
        }
        assert!(seen.contains(&[[(true, true); 2]; 2]), "both subflows are open");
        let has_left = |subflow: &[(bool, bool); 2]| subflow.contains(&(true, false));
        let left: Vec<_> = seen.iter().filter(|[first, _]| has_left(first)).collect();
        assert!(left.iter().any(|[_, second]| has_left(second)), "the second subflow outlives the session: {left:?}");
        assert!(left.iter().all(|ends| ends.iter().flatten().all(|end| !end.1)), "{left:?}");
    }
}
