//! Changes of the timeline. They are the first events of their instant.

use bentpipe_model::spec::{Change, Scenario};
use bentpipe_units::Time;

/// The changes that are still due, in order.
#[derive(Debug)]
pub(super) struct Changes(std::vec::IntoIter<(Time, Change)>);

impl Changes {
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self(scenario.timeline.changes.clone().into_iter())
    }

    /// The instant of the next change.
    pub(super) fn next_at(&self) -> Time {
        self.0.as_slice().first().map_or(Time::NEVER, |change| change.0)
    }

    /// Takes the next change, if it is due.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Change> {
        if self.next_at() <= now {
            self.0.next().map(|(_, change)| change)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use bentpipe_model::dictionary::Cause;
    use bentpipe_model::ids::LinkId;
    use bentpipe_model::spec::{InFlight, Waiting};
    use bentpipe_scenario::from_toml;
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
