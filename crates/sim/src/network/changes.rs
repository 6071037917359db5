//! Changes of the timeline. They are the first events of their instant.

use super::Network;
use crate::ids::LinkId;
use crate::packet::{Packet, UNROUTED};
use crate::spec::{Change, Waiting};
use bentpipe_units::Time;

impl Network {
    /// The instant of the next change.
    pub(super) fn next_change(&self) -> Time {
        self.changes.as_slice().first().map_or(Time::NEVER, |change| change.0)
    }

    /// The last instant before the next change.
    pub(super) fn before_next_change(&self) -> Time {
        match self.next_change() {
            Time::NEVER => Time::NEVER,
            at => Time::from_ps(at.as_ps().saturating_sub(1)),
        }
    }

    /// Carries out all changes that are due.
    #[cold]
    pub(super) fn change(&mut self) {
        while self.next_change() <= self.now {
            match self.changes.next() {
                Some((_, Change::Install { path, route })) => self.routes.install(path, &route),
                Some((_, Change::Withdraw(path))) => self.routes.withdraw(path),
                Some((_, Change::Down { link, waiting, .. })) => {
                    let mut left = Vec::new();
                    self.links[link].take_away(self.now, waiting, &mut self.losses, &mut left);
                    if waiting != Waiting::Kept {
                        self.trace_absence(link);
                    }
                    self.count_losses(link);
                    self.reroute(link, waiting, left);
                }
                // The link knew its absences from the start.
                Some((_, Change::Up(_))) | None => {}
            }
        }
        self.update_horizon();
    }

    /// Sends packets of an absent link's queue from its node, or from the node that replaced it, by the present route of that
    /// node.
    fn reroute(&mut self, link: LinkId, waiting: Waiting, packets: Vec<Packet>) {
        let (from, to) = (self.scenario.links[link].from, self.scenario.links[link].to);
        for mut packet in packets {
            let successor = self.routes.node_before(packet.path(), to).filter(|_| waiting == Waiting::Moved);
            let node = successor.unwrap_or(from);
            packet.next = UNROUTED;
            self.leave_node(node, packet);
            self.rearm_node(node);
        }
        self.rearm_node(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::Cause;
    use crate::ids::LinkId;
    use crate::scenario::from_toml;
    use crate::spec::InFlight;
    use bentpipe_units::Duration;

    /// Regression: it panicked, since tables of routes were empty where no route ever changes.
    #[test]
    fn what_a_link_leaves_behind_finds_no_way_where_no_route_changes() {
        let text = "duration = \"2 s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
            queue = \"100 packets\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n\
            app = { kind = \"cbr\", rate = \"2 Mbit/s\", size = \"1000 B\" }\n";
        let mut scenario = from_toml(text, "test.toml", &[]).expect("the scenario is valid").scenario;
        let down = Change::Down { link: LinkId::new(0), waiting: Waiting::Rerouted, in_flight: InFlight::Delivered };
        std::sync::Arc::make_mut(&mut scenario).timeline.changes = vec![(Time::ZERO + Duration::from_secs(1), down)];
        let mut network = Network::build(&scenario, 1);
        while !network.run(u64::MAX) {}
        let result = network.finish().expect("no middlebox is there to fail");
        let lost = |cause: Cause| -> i64 {
            let causes = result.drops.text("cause").iter().zip(result.drops.whole("packets"));
            causes.filter(|(name, _)| *name == cause.name()).map(|(_, packets)| packets).sum()
        };
        // A hundred wait when the link goes and have no other route; 250 come after.
        assert!((345..360).contains(&lost(Cause::Handover)), "{:?}", result.drops);
    }
    /// A hundred packets wait at a satellite for its link to a user, who moves to another satellite. They arrive from there
    /// in order, except those on the link. Otherwise all are lost, as the satellite has no other route.
    #[test]
    fn what_waits_moves_to_the_link_that_takes_over() {
        let lost = |waiting: &str| {
            let link = |name: &str, from: &str, to: &str, rate: u32| {
                format!(
                    "[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '{rate} Mbit/s'\ndelay = '5 ms'\n\
                     queue = '100 packets'\n"
                )
            };
            let text = format!(
                "duration = '4 s'\n{}{}{}{}[[at]]\ntime = '2 s'\ninstall = [{{ flow = 'f', route = ['g', 'y', 'u'], reverse_route = ['u', 'y', 'g'] }}]\n\
                 down = ['xu']\nwaiting = '{waiting}'\n[flow.f]\nfrom = 'g'\nto = 'u'\nroute = ['g', 'x', 'u']\n\
                 app = {{ kind = 'cbr', rate = '2 Mbit/s', size = '1000 B' }}\n",
                link("gx", "g", "x", 50),
                link("xu", "x", "u", 1),
                link("gy", "g", "y", 50),
                link("yu", "y", "u", 1),
            );
            let scenario = from_toml(&text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
            let mut network = Network::build(&scenario, 1);
            while !network.run(u64::MAX) {}
            let result = network.finish().expect("no middlebox is there to fail");
            let causes = result.drops.text("cause").iter().zip(result.drops.whole("packets"));
            causes.filter(|(name, _)| *name == Cause::Handover.name()).map(|(_, packets)| packets).sum::<i64>()
        };
        assert!((1..6).contains(&lost("moved")), "{}", lost("moved"));
        assert!(lost("lost") > 95 && lost("rerouted") > 95);
    }
}
