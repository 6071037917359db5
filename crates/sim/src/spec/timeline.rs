//! What changes in the network during a run: one list, in order of time, known before the run begins.

use super::Scenario;
use crate::ids::{LinkId, NodeId, PathId};
use bentpipe_units::{words, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Changes of links and routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// How packets that are on their way find theirs after a change.
    pub forwarding: Forwarding,
    /// In order of time; at one instant in the order of [`Change`]'s variants, so that what a link leaves behind finds the new
    /// routes.
    pub changes: Vec<(Time, Change)>,
}

impl Timeline {
    /// Whether nothing ever changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The routes that nodes learn, in order of time.
    pub fn installs(&self) -> impl Iterator<Item = (Time, PathId, &[LinkId])> {
        self.changes.iter().filter_map(|(at, change)| match change {
            Change::Install { path, route } => Some((*at, *path, route.as_slice())),
            _ => None,
        })
    }
}

impl Scenario {
    /// The routes of a path: that from the start of the run, then those that are installed, which may begin at a node on the
    /// way. It goes through the whole timeline.
    pub fn routes(&self, path: PathId) -> impl Iterator<Item = &[LinkId]> {
        let installed = self.timeline.installs().filter(move |(_, of, _)| *of == path);
        [self.first_route(path)].into_iter().chain(installed.map(|(_, _, route)| route))
    }
}

impl Scenario {
    /// When something changes that a node knows beforehand, in order, each instant once: a link from it or to it goes or comes back, or
    /// a route changes that leads through it.
    pub fn changes_at(&self, node: NodeId) -> Vec<Time> {
        let is_here = |link: &LinkId| self.links[*link].from == node || self.links[*link].to == node;
        let mut instants = Vec::new();
        let mut paths: BTreeSet<PathId> =
            PathId::all(2 * self.flows.len()).filter(|&path| self.first_route(path).iter().any(is_here)).collect();
        for (at, change) in &self.timeline.changes {
            let concerns = match change {
                Change::Up(link) | Change::Down { link, .. } => is_here(link),
                Change::Withdraw(path) => paths.remove(path),
                Change::Install { path, route } => {
                    let flow = &self.flows[path.flow()];
                    let source = if path.is_back() { flow.to } else { flow.from };
                    // A route from another node leaves what this one knows as it is.
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

/// What changes at an instant.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A link comes back.
    Up(LinkId),
    /// The nodes forget the way of these packets.
    Withdraw(PathId),
    /// The nodes on this way learn it. It leads to the end of the path, from its beginning or from any other node; nodes that
    /// are not on it keep what they know.
    Install {
        /// Whose packets follow it.
        path: PathId,
        /// Its links, in order.
        route: Vec<LinkId>,
    },
    /// A link is taken away.
    Down {
        /// Which one.
        link: LinkId,
        /// What becomes of packets that wait for it, or come while it is away.
        waiting: Waiting,
        /// What becomes of packets that it has sent and that have not arrived.
        in_flight: InFlight,
    },
}

words! {
    /// Which route a packet takes where routes change while it is on its way.
    pub enum Forwarding {
        /// At each node the one that the node knows at that instant.
        "hop-by-hop" => HopByHop,
        /// The one that its sender knew when it left.
        "source-route" => SourceRoute,
    }
}

/// A route, and since when it holds; none: there is none.
pub type RouteSince<'a> = (Time, Option<&'a [LinkId]>);

/// A time for which a link is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// From this instant.
    pub from: Time,
    /// Up to this instant; [`Time::NEVER`]: for good.
    pub to: Time,
    /// What becomes of packets that wait for it.
    pub waiting: Waiting,
    /// What becomes of packets that are on it when it goes.
    pub in_flight: InFlight,
}

impl Timeline {
    /// The routes that each path has beside its first, and since when; none: its nodes forget their way.
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

    /// When each link is away that ever is, in order of time.
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
    /// What becomes of packets that wait for a link when it is taken away.
    pub enum Waiting {
        /// They are lost, as are those that come while it is away.
        "lost" => Lost,
        /// Their node sends them on, by the route that it knows then; those that come while it is away are lost.
        "rerouted" => Rerouted,
        /// They wait until it is back, and so do those that come while it is away.
        "kept" => Kept,
        /// They go over to the last link to the same node on the newest route of their flow. Packets that come while it is away are lost.
        "moved" => Moved,
    }
}

words! {
    /// What becomes of packets that a link has sent when it is taken away, and that have not arrived.
    pub enum InFlight {
        /// Nobody listens to the link any more: they are lost.
        "lost" => Lost,
        /// They arrive.
        "delivered" => Delivered,
    }
}
