//! Time-varying state of a network: the links that are up, and the route of each path.

use bentpipe_model::ids::{LinkId, NodeId, PathId};
use bentpipe_model::spec::{self, Users, Waiting};
use bentpipe_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// State of the network after the changes so far.
#[derive(Default)]
pub(super) struct State<'a> {
    users: Users<'a>,
    links: &'a [spec::Link],
    /// Links that have ever changed.
    changed: BTreeMap<LinkId, LinkState>,
    /// Next link of each path that has ever changed, by node.
    learned: BTreeMap<PathId, BTreeMap<NodeId, LinkId>>,
    /// Paths over each link.
    over: Vec<BTreeSet<PathId>>,
}

/// State of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkState {
    /// Rule for arriving packets, if the link is down.
    pub(super) away: Option<Waiting>,
    pub(super) since: Time,
}

impl<'a> State<'a> {
    pub(super) fn new(users: Users<'a>, links: &'a [spec::Link]) -> Self {
        let over = vec![BTreeSet::new(); links.len()];
        let mut state = Self { users, links, changed: BTreeMap::new(), learned: BTreeMap::new(), over };
        for path in PathId::all(2 * users.lanes.len()) {
            for link in state.way(path) {
                state.over[link].insert(path);
            }
        }
        state
    }

    pub(super) fn link(&self, link: LinkId) -> LinkState {
        self.changed.get(&link).copied().unwrap_or(LinkState { away: None, since: Time::ZERO })
    }

    pub(super) fn up(&mut self, link: LinkId, since: Time) {
        self.changed.insert(link, LinkState { away: None, since });
    }

    pub(super) fn down(&mut self, link: LinkId, waiting: Waiting, since: Time) {
        self.changed.insert(link, LinkState { away: Some(waiting), since });
    }

    /// Returns the node where a path begins.
    pub(super) fn start(&self, path: PathId) -> NodeId {
        let flow = &self.users.flows[self.users.lanes[path.lane()].flow];
        if path.is_back() {
            flow.to
        } else {
            flow.from
        }
    }

    /// Returns the links of a path from its start to its end, or none if it leads nowhere.
    pub(super) fn way(&self, path: PathId) -> Vec<LinkId> {
        let Some(next) = self.learned.get(&path) else { return self.first(path) };
        let (mut here, end) = (self.start(path), self.start(path.reverse()));
        let mut way = Vec::new();
        // New entries lead to the end, and so did the earlier ones: there are no loops.
        while here != end {
            let Some(&link) = next.get(&here) else { return Vec::new() };
            way.push(link);
            here = self.links[link].to;
        }
        way
    }

    pub(super) fn paths_over(&self, link: LinkId) -> &BTreeSet<PathId> {
        &self.over[link]
    }

    pub(super) fn withdraw(&mut self, path: PathId) {
        self.change(path, |_| BTreeMap::new());
    }

    pub(super) fn install(&mut self, path: PathId, route: &[LinkId]) {
        let links = self.links;
        self.change(path, |mut next| {
            next.extend(route.iter().map(|&link| (links[link].from, link)));
            next
        });
    }

    fn change(&mut self, path: PathId, by: impl FnOnce(BTreeMap<NodeId, LinkId>) -> BTreeMap<NodeId, LinkId>) {
        for link in self.way(path) {
            self.over[link].remove(&path);
        }
        let known = self.learned.remove(&path);
        let known =
            known.unwrap_or_else(|| self.first(path).iter().map(|&link| (self.links[link].from, link)).collect());
        self.learned.insert(path, by(known));
        for link in self.way(path) {
            self.over[link].insert(path);
        }
    }

    /// Returns the route at the start of the run.
    fn first(&self, path: PathId) -> Vec<LinkId> {
        self.users.lanes[path.lane()].first_route(path).to_vec()
    }
}
