//! Endpoints of subflows: segments arrive, metas and connections act, each at its own instant `at`. All ends of a group act
//! after one another, never ahead of time.

use super::Network;
use crate::dictionary::Cause;
use crate::ids::{EndpointId, NodeId};
use crate::packet::Packet;
use crate::record::LossPlace;
use crate::spec::Change;
use bentpipe_units::Time;

impl Network {
    /// A segment of a subflow has reached its host.
    #[cold]
    pub(super) fn receive_in_group(&mut self, at: Time, node: NodeId, packet: &Packet) {
        let endpoint = packet.endpoint();
        if !self.traffic.hosts[endpoint].is_listening() {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        self.traffic.group_receives(at, packet, &mut self.bodies);
        self.drive_group(at, endpoint);
    }

    /// Wakes an endpoint of a group.
    pub(super) fn act_in_group(&mut self, at: Time, endpoint: EndpointId) {
        self.traffic.wake_in_group(at, endpoint);
        self.take_subflow_events(at, endpoint);
        // First, because a tail loss probe prefers new data to a copy.
        self.transmit_by_turns(at, endpoint);
        self.transmit_in_group(at, endpoint);
        self.drive_group(at, endpoint);
    }

    /// Sends what an end of a group has to send, takes its events, schedules its wake-ups. `endpoint` is that of the subflow that
    /// acted.
    pub(super) fn drive_group(&mut self, at: Time, endpoint: EndpointId) {
        self.take_subflow_events(at, endpoint);
        self.transmit_by_turns(at, endpoint);
        if self.traffic.group_events(at, endpoint, &mut self.recorder) {
            self.update_horizon(self.now);
        }
        if self.traffic.has_group_goal(endpoint) {
            self.traffic.on_group_goal(at, endpoint, &mut self.recorder);
            if self.observers.is_any {
                self.trace_completions(endpoint);
            }
        }
        // The application may have closed, or given more data.
        self.transmit_by_turns(at, endpoint);
        self.traffic.settle_group(at, endpoint, &mut self.recorder);
        let mut subflow = 0;
        while let Some(endpoint) = self.traffic.sibling(endpoint, subflow) {
            self.rearm_late(endpoint);
            subflow += 1;
        }
        self.carry_out_tasks(at);
    }

    /// Lets the subflows of an end send by the choice of its meta.
    fn transmit_by_turns(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(subflow) = self.traffic.next_subflow(at, endpoint) {
            self.transmit_in_group(at, subflow);
        }
    }

    fn transmit_in_group(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(mut packet) = self.traffic.hosts[endpoint].next_packet(at, &mut self.bodies) {
            self.depart(at, endpoint, &mut packet);
        }
        self.take_subflow_events(at, endpoint);
    }

    fn take_subflow_events(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.traffic.on_subflow_event(at, endpoint, event);
            self.record_event(at, endpoint, event);
        }
    }

    /// Notifies groups of a change of the network.
    pub(super) fn tell_groups(&mut self, change: &Change) {
        for endpoint in self.traffic.tell_groups(self.now, change) {
            self.rearm_late(endpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ids::{EndpointId, LaneId};
    use crate::packet::{Packet, Recipient};
    use crate::scenario::from_toml;
    use crate::Network;

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
        let resolved = from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut network = Network::build(&resolved.scenario, 1);
        let mut seen = Vec::new();
        while !network.run(1) {
            let traffic = &network.traffic;
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
