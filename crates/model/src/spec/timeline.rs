//! Changes of the network during a run: one list, in order of time, known before the run begins.

use super::Scenario;
use crate::ids::{LinkId, NodeId, PathId};
use bentpipe_units::{words, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Changes of links and routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Routing of packets under way after a change.
    pub forwarding: Forwarding,
    /// Changes in order of time. At one instant they are in the order of [`Change`]'s variants, so that packets of a
    /// removed link find the new routes.
    pub changes: Vec<(Time, Change)>,
}

impl Timeline {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the routes that nodes learn, in order of time.
    pub fn installs(&self) -> impl Iterator<Item = (Time, PathId, &[LinkId])> {
        self.changes.iter().filter_map(|(at, change)| match change {
            Change::Install { path, route } => Some((*at, *path, route.as_slice())),
            _ => None,
        })
    }
}

impl Scenario {
    /// Returns the routes of a path: the route at the start of the run, then installed routes, which may begin at a
    /// node on the path. It visits the whole timeline.
    pub fn routes(&self, path: PathId) -> impl Iterator<Item = &[LinkId]> {
        let installed = self.timeline.installs().filter(move |(_, of, _)| *of == path);
        [self.first_route(path)].into_iter().chain(installed.map(|(_, _, route)| route))
    }
}

impl Scenario {
    /// Returns the instants when something changes that a node knows beforehand, in order, each once: a link from it or
    /// to it goes or comes back, or a route through it changes.
    pub fn changes_at(&self, node: NodeId) -> Vec<Time> {
        let is_here = |link: &LinkId| self.links[*link].from == node || self.links[*link].to == node;
        let mut instants = Vec::new();
        let mut paths: BTreeSet<PathId> =
            self.paths().filter(|&path| self.first_route(path).iter().any(is_here)).collect();
        for (at, change) in &self.timeline.changes {
            let concerns = match change {
                Change::Up(link) | Change::Down { link, .. } => is_here(link),
                Change::Withdraw(path) => paths.remove(path),
                Change::Install { path, route } => {
                    let [source, _] = self.ends(*path);
                    // A route from another node does not affect the knowledge of this one.
                    let is_whole = route.first().is_some_and(|link| self.links[*link].from == source);
                    let leads_here = route.iter().any(is_here);
                    let led_here = if leads_here {
                        !paths.insert(*path)
                    } else if is_whole {
                        paths.remove(path)
                    } else {
                        false
                    };
                    leads_here || led_here
                }
            };
            if concerns && instants.last() != Some(at) {
                instants.push(*at);
            }
        }
        instants
    }
}

/// Change at an instant.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A link comes back.
    Up(LinkId),
    /// The nodes forget the route of these packets.
    Withdraw(PathId),
    /// The nodes on this route learn it. It leads to the end of the path, from its start or from any other node. Other
    /// nodes keep their knowledge.
    Install {
        /// Packets that follow it.
        path: PathId,
        /// Its links, in order.
        route: Vec<LinkId>,
    },
    /// A link is removed.
    Down {
        /// The removed link.
        link: LinkId,
        /// Treatment of packets that wait for it, or arrive during its absence.
        waiting: Waiting,
        /// Treatment of packets under way on it.
        in_flight: InFlight,
    },
}

words! {
    /// Route of a packet if routes change while it is under way.
    pub enum Forwarding {
        /// At each node the route that the node knows at that instant.
        "hop-by-hop" => HopByHop,
        /// The route that its sender knew when it left.
        "source-route" => SourceRoute,
    }
}

/// A route, and its first instant; `None`: no route.
pub type RouteSince<'a> = (Time, Option<&'a [LinkId]>);

/// An absence of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// First instant.
    pub from: Time,
    /// Last instant; [`Time::NEVER`]: the link does not return.
    pub to: Time,
    /// Treatment of packets that wait for it.
    pub waiting: Waiting,
    /// Treatment of packets under way on it.
    pub in_flight: InFlight,
}

impl Timeline {
    /// Returns the routes of each path after its first, and their first instants; `None`: its nodes forget the route.
    pub fn routes(&self) -> BTreeMap<PathId, Vec<RouteSince<'_>>> {
        let mut routes: BTreeMap<PathId, Vec<_>> = BTreeMap::new();
        for (at, change) in &self.changes {
            match change {
                Change::Install { path, route } => routes.entry(*path).or_default().push((*at, Some(route.as_slice()))),
                Change::Withdraw(path) => routes.entry(*path).or_default().push((*at, None)),
                Change::Up(_) | Change::Down { .. } => {}
            }
        }
        routes
    }

    /// Returns all absences of each link, in order of time.
    pub fn absences(&self) -> BTreeMap<LinkId, Vec<Absence>> {
        let mut absences: BTreeMap<LinkId, Vec<Absence>> = BTreeMap::new();
        for (at, change) in &self.changes {
            match *change {
                Change::Down { link, waiting, in_flight } => {
                    absences.entry(link).or_default().push(Absence { from: *at, to: Time::NEVER, waiting, in_flight });
                }
                // Absences of a link do not overlap: those before the last are over.
                Change::Up(link) => {
                    if let Some(last) = absences.get_mut(&link).and_then(|absences| absences.last_mut()) {
                        last.to = last.to.min(*at);
                    }
                }
                Change::Withdraw(_) | Change::Install { .. } => {}
            }
        }
        absences
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self { forwarding: Forwarding::HopByHop, changes: Vec::new() }
    }
}

words! {
    /// Treatment of packets that wait for a link when it is removed.
    pub enum Waiting {
        /// They are lost, like packets that arrive during its absence.
        "lost" => Lost,
        /// Their node forwards them by the route that it knows then. Packets that arrive during its absence are lost.
        "rerouted" => Rerouted,
        /// They wait until it is back, like packets that arrive during its absence.
        "kept" => Kept,
        /// They move to the last link to the same node on the newest route of their flow. Packets that arrive during
        /// its absence are lost.
        "moved" => Moved,
    }
}

words! {
    /// Treatment of packets under way on a link when it is removed.
    pub enum InFlight {
        /// They are lost.
        "lost" => Lost,
        /// They arrive.
        "delivered" => Delivered,
    }
}
