//! The ways that the packets of each flow have over the run, as the timeline says.

use crate::ids::{FlowId, LinkId, PathId};
use crate::link::Downtime;
use crate::spec::{Absence, Scenario};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Routes from the beginning of each path; what a node on the way learns is not among them.
pub(super) struct Ways<'a> {
    scenario: &'a Scenario,
    later: BTreeMap<PathId, Vec<(Time, Option<&'a [LinkId]>)>>,
    absences: BTreeMap<LinkId, Vec<Absence>>,
}

impl<'a> Ways<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        let mut later = scenario.timeline.routes();
        for (path, routes) in &mut later {
            let first = scenario.first_route(*path).first();
            let source = first.map(|&link| scenario.links[link].from);
            routes.retain(|(_, route)| {
                route.is_none_or(|route| route.first().map(|&link| scenario.links[link].from) == source)
            });
        }
        Self { scenario, later, absences: scenario.timeline.absences() }
    }

    /// All routes that a flow has: those there, those back.
    pub(super) fn routes(&self, flow: FlowId) -> [Vec<&'a [LinkId]>; 2] {
        PathId::both(flow).map(|path| self.over_time(path).into_iter().filter_map(|(_, route)| route).collect())
    }

    /// How long the way of a flow is down, there or back.
    pub(super) fn downtime(&self, flow: FlowId, seed: u64) -> Downtime {
        let [there, back] = PathId::both(flow).map(|path| self.over_time(path));
        let mut instants: Vec<Time> = there.iter().chain(&back).map(|(at, _)| *at).collect();
        instants.sort_unstable();
        instants.dedup();
        let stages = instants.into_iter().map(|at| {
            let both = [&there, &back].map(|routes| routes.iter().rev().find(|(since, _)| *since <= at));
            let links = both.into_iter().flatten().map(|(_, route)| *route).collect::<Option<Vec<_>>>();
            (at, links.map(|routes| routes.into_iter().flatten().map(|link| self.link(*link)).collect()))
        });
        Downtime::of(stages, seed, Time::ZERO + self.scenario.duration)
    }

    /// The route at the start, then the others, each with its instant.
    fn over_time(&self, path: PathId) -> Vec<(Time, Option<&'a [LinkId]>)> {
        let first = (Time::ZERO, Some(self.scenario.first_route(path)));
        [first].into_iter().chain(self.later.get(&path).into_iter().flatten().copied()).collect()
    }

    fn link(&self, link: LinkId) -> (&'a crate::spec::Link, &[Absence]) {
        (&self.scenario.links[link], self.absences.get(&link).map_or(&[], Vec::as_slice))
    }
}
