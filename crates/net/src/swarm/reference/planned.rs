//! Planned events of the naive engine: superframes and frames of media, and changes of the timeline.

use super::Reference;
use crate::link::Losses;
use crate::swarm::happening::Happening;
use bentpipe_access::{Asked, Demand};
use bentpipe_model::ids::{LinkId, MediumId};
use bentpipe_model::packet::UNROUTED;
use bentpipe_model::spec::{Change, InFlight, Waiting};
use bentpipe_units::Time;

impl Reference<'_> {
    /// Starts a superframe: all demands, then the plan, then the windows.
    pub(super) fn begin_superframe(&mut self, id: MediumId) {
        let (mut demands, members) = (Vec::new(), self.media[id].slots().links.clone());
        for &link in &members {
            let mut losses = Losses::new();
            let (demand, cut) = self.links[link].demand(self.now, &mut losses);
            demands.push(demand);
            self.enter_arrivals(link, cut.into_iter().collect());
            self.lose_all(link, losses);
        }
        self.hand_over(id, &mut demands);
        let next = self.media[id].slots().advance(&demands);
        for (terminal, &link) in members.iter().enumerate() {
            let windows = self.media[id].slots().windows(terminal);
            let asks = windows.is_empty() && !self.media[id].slots().is_promised(terminal);
            self.links[link].note_asking(self.now, asks);
            let begins = self.links[link].open(&windows);
            begins.into_iter().for_each(|at| self.enter(at, Happening::Burst(link)));
        }
        self.enter(next, Happening::Superframe(id));
        let forward = self.media[id].slots().forward.clone();
        for (terminal, place) in forward.reports.iter().enumerate() {
            let heard = self.media[id].slots().return_link().and_then(|plan| plan.heard(terminal));
            if let (Some(heard), Some((carrier, n))) = (heard, *place) {
                let used = self.media[carrier].carrier().hear(n, heard, &mut self.links);
                self.enter(used.unwrap_or(Time::NEVER), Happening::Superframe(carrier));
            }
        }
        if let (Some((carrier, places)), Some(plan)) = (forward.plans, self.media[id].slots().return_link()) {
            let bytes = plan.plan_bytes();
            let served: Vec<u32> = plan.planned().filter_map(|terminal| places[terminal as usize]).collect();
            if bytes > 0 {
                let at = self.media[carrier].carrier().announce(self.now, bytes, &served);
                self.enter(at, Happening::Superframe(carrier));
            }
        }
    }

    /// Hands requests from other media over to links that come up: those of the medium that the node left last, if that was
    /// after it left this medium.
    fn hand_over(&mut self, id: MediumId, demands: &mut [Demand]) {
        let hands_over = |id: MediumId| self.scenario.media[id].kind.hands_over();
        let here = self.media[id].slots().links.clone();
        for (n, &link) in here.iter().enumerate() {
            let comes = demands[n].is_up && !self.media[id].slots().was_up(n) && hands_over(id);
            let own = self.media[id].slots().left(self.now, n);
            let mut last: Option<(Time, Asked)> = None;
            for other in MediumId::all(self.media.len()).filter(|&other| comes && other != id && hands_over(other)) {
                for (place, &there) in self.media[other].slots().links.clone().iter().enumerate() {
                    let is_of_node = self.scenario.links[there].from == self.scenario.links[link].from;
                    if !is_of_node || self.links[there].up_at(self.now) <= self.now {
                        continue;
                    }
                    let left = self.media[other].slots().left(self.now, place);
                    if left.is_some_and(|left| last.is_none_or(|last| left.0 > last.0)) {
                        last = left;
                    }
                }
            }
            demands[n].handed = last.filter(|last| own.is_none_or(|own| last.0 > own.0)).map(|last| last.1);
        }
    }

    /// Fills a frame of a forward carrier, if it can.
    pub(super) fn fill_frame(&mut self, id: MediumId) {
        let filled = self.media[id].carrier().fill(self.now, &mut self.links);
        self.ledger.sent += filled.copied;
        filled.arrivals.into_iter().for_each(|(link, at)| self.enter(at, Happening::Arrival(link)));
        filled.losses.into_iter().for_each(|(link, losses)| self.lose_all(link, losses));
        // Each of these finds the links that come up later.
        self.enter(filled.retries.into_iter().min().unwrap_or(Time::NEVER), Happening::Superframe(id));
        let is_waiting = self.media[id].carrier().is_waiting();
        self.enter(filled.ends.filter(|_| is_waiting).unwrap_or(Time::NEVER), Happening::Superframe(id));
    }

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
