//! Random timelines: links that come and go, routes that nodes learn and forget, often at one instant.

use super::draw::Dice;
use super::random::{Sketch, CHANGES};
use bentpipe_model::ids::{FlowId, LinkId, PathId};
use bentpipe_model::spec::{Change, Flow, Forwarding, InFlight, Link, Timeline, Waiting};
use bentpipe_units::{Duration, Time};

impl Sketch {
    pub(super) fn timeline(&self, flows: &[Flow], links: &[Link], dice: &mut Dice) -> Timeline {
        let forwarding = *dice.pick(&[Forwarding::HopByHop, Forwarding::SourceRoute]);
        let mut changes = Vec::new();
        if !self.has(CHANGES, dice) {
            return Timeline::default();
        }
        for link in LinkId::all(links.len()) {
            if dice.below(3) == 0 {
                comings_and_goings(link, self.seconds, &mut changes, dice);
            }
        }
        let ends: Vec<(usize, usize)> = links.iter().map(|link| (link.from.index(), link.to.index())).collect();
        for flow in FlowId::all(flows.len()) {
            for path in PathId::both(flows[flow].lane) {
                let end = if path.is_back() { flows[flow].from } else { flows[flow].to };
                for _ in 0..dice.below(4) {
                    let at = instant(self.seconds, dice);
                    if dice.below(6) == 0 {
                        changes.push((at, Change::Withdraw(path)));
                        continue;
                    }
                    let from = ends[dice.below(ends.len() as u64) as usize].0;
                    let route = dice.way(&ends, from, end.index());
                    if !route.is_empty() {
                        changes.push((at, Change::Install { path, route }));
                    }
                }
            }
        }
        let order = |change: &Change| match change {
            Change::Up(_) => 0,
            Change::Withdraw(_) => 1,
            Change::Install { .. } => 2,
            Change::Down { .. } => 3,
        };
        changes.sort_by_key(|(at, change)| (*at, order(change)));
        Timeline { forwarding, changes }
    }
}

fn comings_and_goings(link: LinkId, seconds: u64, changes: &mut Vec<(Time, Change)>, dice: &mut Dice) {
    let mut at = Time::ZERO;
    for _ in 0..1 + dice.below(4) {
        let waiting = *dice.pick(&[Waiting::Lost, Waiting::Rerouted, Waiting::Kept, Waiting::Moved]);
        let in_flight = *dice.pick(&[InFlight::Lost, InFlight::Delivered]);
        changes.push((at + dice.ms(&[0, 50, 250, 400]), Change::Down { link, waiting, in_flight }));
        at = changes[changes.len() - 1].0 + dice.ms(&[1, 20, 50, 500]);
        if dice.below(8) == 0 && at > Time::ZERO + Duration::from_secs(seconds) / 2 {
            return;
        }
        changes.push((at, Change::Up(link)));
        at += Duration::from_millis(50);
    }
}

/// Returns an instant from a coarse grid, so that several changes coincide.
fn instant(seconds: u64, dice: &mut Dice) -> Time {
    Time::ZERO + Duration::from_millis(50 * dice.below(1 + 20 * seconds))
}

impl Dice {
    /// Returns a random route from node to node over links, given as pairs of nodes, without loops. Empty if no route
    /// exists, or if both nodes are the same.
    pub(super) fn way(&mut self, links: &[(usize, usize)], from: usize, to: usize) -> Vec<LinkId> {
        let (mut way, mut seen) = (Vec::new(), vec![from]);
        let mut here = from;
        while here != to {
            let fresh = |index: &usize| links[*index].0 == here && !seen.contains(&links[*index].1);
            let out: Vec<usize> = (0..links.len()).filter(fresh).collect();
            if out.is_empty() {
                // Dead end: return to the last choice.
                let Some(last) = way.pop() else { return Vec::new() };
                let last: LinkId = last;
                here = links[last.index()].0;
                continue;
            }
            let next = *self.pick(&out);
            way.push(LinkId::new(next));
            here = links[next].1;
            seen.push(here);
        }
        way
    }
}
