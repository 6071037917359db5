//! What each link leads to, and what follows from that: which links may run ahead of time, and where they merge.

use super::inbox::Inbox;
use super::routes::Routes;
use crate::ids::{LinkId, NodeId, PathId};
use crate::link::LazyLink;
use crate::spec::{Link, NodeKind, Order, Scenario};
use bentpipe_units::Duration;

/// What a link needs to know of the node that it leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct FarEnd {
    pub(super) node: NodeId,
    pub(super) drops_corrupted: bool,
    /// Whether the node has functions that see what is corrupted before it is dropped.
    pub(super) shows_corrupted: bool,
    /// Whether the node does anything but send packets on by the route that they carry.
    pub(super) is_asked: bool,
    /// Every packet goes on to a link that only this one feeds.
    pub(super) relays: bool,
    /// Every packet is for an end of a connection that nothing else moves but its own timers, and that alone feeds the link to
    /// which it sends.
    pub(super) ends: bool,
    /// Every packet goes on to a link that only plain links feed, several of them: where it waits for that; else [`NO_INBOX`].
    pub(super) inbox: u32,
}

/// Not the number of an inbox.
pub(super) const NO_INBOX: u32 = u32::MAX;

/// In place of the number of an inbox: packets on this link have trails.
pub(super) const TRACED: u32 = u32::MAX - 1;

impl FarEnd {
    /// The far end of the link where packets have trails: each arrives at its own event.
    pub(super) fn traced(self) -> Self {
        Self { relays: false, ends: false, inbox: TRACED, ..self }
    }
}

/// Whether packets may overtake one another on a link.
fn reorders(link: &Link) -> bool {
    link.arq.is_some_and(|arq| arq.order == Order::Free)
}

/// What each link leads to. `acts` says which nodes have functions.
pub(super) fn far_ends(scenario: &Scenario, routes: &Routes, acts: impl Fn(NodeId) -> bool) -> Vec<FarEnd> {
    let far_end = |link: &Link| FarEnd {
        node: link.to,
        drops_corrupted: scenario.nodes[link.to].kind != NodeKind::BentPipe,
        shows_corrupted: scenario.nodes[link.to].kind == NodeKind::Processing && acts(link.to),
        is_asked: acts(link.to) || routes.is_by_node(),
        relays: !acts(link.to) && !reorders(link),
        ends: !acts(link.to) && !reorders(link) && !routes.is_by_node() && scenario.record.series.is_empty(),
        inbox: NO_INBOX,
    };
    let mut far_ends: Vec<FarEnd> = scenario.links.iter().map(far_end).collect();
    let feeders = feeders(scenario);
    let changing = scenario.timeline.routes();
    // Whether the other end of this path answers by a link that only it feeds.
    let is_own = |path: PathId| {
        let (there, back) = (PathId::there(path.flow()), PathId::back(path.flow()));
        let back = if path.is_back() { there } else { back };
        let answers = scenario.first_route(back).first().is_some_and(|&first| feeders[first] == Feeder::Host(back));
        let is_fixed = !changing.contains_key(&path) && !changing.contains_key(&back);
        answers && is_fixed && scenario.flows[path.flow()].app.is_single()
    };
    each_hop(scenario, |path, from, to| {
        if let Some(from) = from {
            far_ends[from].relays &= to.is_some_and(|to| feeders[to] == Feeder::Link(from));
            far_ends[from].ends &= to.is_none() && is_own(path);
        }
    });
    far_ends
}

/// Where a link's packets come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    None,
    Link(LinkId),
    /// The host at which this path begins.
    Host(PathId),
    /// Several.
    Many,
}

fn feeders(scenario: &Scenario) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::None; scenario.links.len()];
    each_hop(scenario, |path, from, to| {
        if let Some(to) = to {
            let (known, feeder) = (&mut feeders[to], from.map_or(Feeder::Host(path), Feeder::Link));
            *known = if *known == Feeder::None || *known == feeder { feeder } else { Feeder::Many };
        }
    });
    feeders
}

/// The inboxes of links that several plain links feed, which lead nowhere else.
pub(super) fn inboxes(scenario: &Scenario, links: &[LazyLink], far_ends: &mut [FarEnd]) -> Vec<Inbox> {
    let plain_delay = |link: LinkId| links[link].plain_delay().filter(|_| !far_ends[link].is_asked);
    // Of each link whether it leads to one other only, and to which; and of those that lead there the shortest and the longest
    // delay, if all are plain.
    let mut next: Vec<Option<Option<LinkId>>> = vec![None; links.len()];
    each_hop(scenario, |_, from, to| {
        if let Some(from) = from {
            next[from] = Some(to.filter(|_| next[from].is_none_or(|known| known == to)));
        }
    });
    let mut spans = vec![Some((Duration::MAX, Duration::ZERO)); links.len()];
    let mut seats = vec![None; links.len()];
    each_hop(scenario, |_, from, to| {
        if let Some(to) = to {
            seats[to] = seats[to].or(from);
            let delay = from.filter(|&from| next[from] == Some(Some(to))).and_then(plain_delay);
            let with = |((least, most), delay): ((Duration, Duration), _)| (least.min(delay), most.max(delay));
            spans[to] = spans[to].zip(delay).map(with);
        }
    });
    let (feeders, mut inboxes, mut inbox_of) = (feeders(scenario), Vec::new(), vec![NO_INBOX; links.len()]);
    for link in LinkId::all(links.len()).filter(|&link| feeders[link] == Feeder::Many) {
        if let (Some((least, most)), Some(seat)) = (spans[link], seats[link]) {
            inbox_of[link] = inboxes.len() as u32;
            inboxes.push(Inbox::new(link, seat, least, most));
        }
    }
    for (far_end, next) in far_ends.iter_mut().zip(next) {
        far_end.inbox = next.flatten().map_or(NO_INBOX, |next| inbox_of[next]);
    }
    inboxes
}

/// Notes for each path each link by which packets can come to a node, with each by which they can leave it; none stands for a host.
fn each_hop(scenario: &Scenario, mut note: impl FnMut(PathId, Option<LinkId>, Option<LinkId>)) {
    let changing = scenario.timeline.routes();
    for path in PathId::all(2 * scenario.flows.len()).filter(|path| !changing.contains_key(path)) {
        let mut from = None;
        for &link in scenario.first_route(path) {
            note(path, from, Some(link));
            from = Some(link);
        }
        note(path, from, None);
    }
    // Where routes change, a packet may come to a node by one route and leave it by any other.
    for (path, later) in changing {
        let later = later.into_iter().filter_map(|(_, route)| route);
        let routes: Vec<&[LinkId]> = [scenario.first_route(path)].into_iter().chain(later).collect();
        let links = || routes.iter().copied().flatten().copied();
        routes.iter().for_each(|route| note(path, None, route.first().copied()));
        for from in links() {
            let node = scenario.links[from].to;
            links().filter(|&to| scenario.links[to].from == node).for_each(|to| note(path, Some(from), Some(to)));
        }
        routes.iter().for_each(|route| note(path, route.last().copied(), None));
    }
}
