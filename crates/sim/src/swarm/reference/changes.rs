//! Changes of the timeline in the naive engine.

use super::Reference;
use crate::ids::LinkId;
use crate::link::Losses;
use crate::packet::UNROUTED;
use crate::spec::{Change, InFlight, Waiting};

impl Reference<'_> {
    /// A change of the timeline.
    pub(super) fn change(&mut self, index: usize) {
        let scenario = self.scenario;
        let change = &scenario.timeline.changes[index].1;
        self.tell_groups(change);
        match change {
            Change::Up(_) => {}
            Change::Withdraw(path) => self.routes.withdraw(scenario, *path),
            Change::Install { path, route } => self.routes.install(scenario, *path, route),
            &Change::Down { link, waiting, in_flight } => self.take_away(link, waiting, in_flight),
        }
    }

    fn take_away(&mut self, link: LinkId, waiting: Waiting, in_flight: InFlight) {
        let (mut losses, mut left) = (Losses::new(), Vec::new());
        self.links[link].take_away(self.now, (waiting, in_flight), &mut losses, &mut left);
        self.lose_all(link, losses);
        let (from, to) = (self.scenario.links[link].from, self.scenario.links[link].to);
        for mut packet in left {
            let way = self.routes.newest(packet.path());
            let ends = way.iter().map(|&link| &self.scenario.links[link]).find(|link| link.to == to);
            let node = ends.filter(|_| waiting == Waiting::Moved).map_or(from, |link| link.from);
            packet.next = UNROUTED;
            self.forward(node, packet);
            self.rearm_node(node);
        }
        self.rearm_node(from);
    }
}
