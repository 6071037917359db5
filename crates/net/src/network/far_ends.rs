//! Decides at the start of a run which links may run ahead of time, from the routes of all paths.

use super::inbox::Inbox;
use super::routes::Routes;
use crate::link::LazyLink;
use bentpipe_model::dictionary;
use bentpipe_model::ids::{LaneId, LinkId, NodeId, PathId};
use bentpipe_model::spec::{Absence, InFlight, Link, NodeKind, Order, Scenario, Waiting};
use bentpipe_units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The far end of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct FarEnd {
    pub(super) node: NodeId,
    pub(super) behind: Behind,
    /// Whether the node has middleboxes or chooses the next hop.
    pub(super) is_asked: bool,
    pub(super) drops_corrupted: bool,
    /// Whether middleboxes of the node see corrupted packets before the node drops them.
    pub(super) shows_corrupted: bool,
}

/// The next stage of all packets of a link. It decides how far the link may run ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// Links that have no other feeder.
    Chain,
    /// One endpoint, which reacts only to these packets and its timers, and alone feeds its outgoing link.
    End,
    /// Links that have no other feeder. The node chooses the next hop of each packet.
    Choice,
    /// A node. Each packet has its own event.
    Node,
    /// A link with several feeders, all plain. Packets wait in this inbox.
    Inbox(u32),
    /// A node, over a link in a medium. Each packet has its own event.
    Medium,
    /// Packets with trails, for critical paths. Each has its own event.
    Traced,
}

impl FarEnd {
    /// Whether packets may cross the link in one step, if it is plain and idle. `arrives`: also those that reach an endpoint.
    #[inline(always)]
    pub(super) fn can_cross(&self, arrives: bool) -> bool {
        match self.behind {
            Behind::Chain => true,
            Behind::End => arrives,
            Behind::Choice | Behind::Node | Behind::Medium | Behind::Inbox(_) | Behind::Traced => false,
        }
    }
}

/// Whether packets may overtake one another on a link.
fn reorders(link: &Link) -> bool {
    link.arq.is_some_and(|arq| arq.order == Order::Free)
}

/// Returns the far end of each link. `acts` tests whether a node has middleboxes.
pub(super) fn far_ends(scenario: &Scenario, routes: &Routes, acts: impl Fn(NodeId) -> bool) -> Vec<FarEnd> {
    let far_end = |link: &Link| FarEnd {
        node: link.to,
        behind: Behind::Node,
        is_asked: acts(link.to) || routes.is_by_node(),
        drops_corrupted: scenario.nodes[link.to].kind != NodeKind::BentPipe,
        shows_corrupted: scenario.nodes[link.to].kind == NodeKind::Processing && acts(link.to),
    };
    let mut far_ends: Vec<FarEnd> = scenario.links.iter().map(far_end).collect();
    let feeders = feeders(scenario);
    let changing = scenario.timeline.routes();
    // Whether the endpoint of this path alone feeds the link of its answers.
    let is_own = |path: PathId| {
        let back = path.reverse();
        let later = changing.get(&back).into_iter().flatten().filter_map(|(_, route)| *route);
        let mut firsts = [scenario.first_route(back)].into_iter().chain(later).map(|route| route.first());
        let answers = firsts.all(|first| first.is_some_and(|&first| feeders[first] == Feeder::Host(back)));
        answers && scenario.flows[scenario.lanes[path.lane()].flow].is_one_connection()
    };
    let absences = scenario.timeline.absences();
    // Paths whose last links may have packets at the same time.
    let mut meeting = BTreeSet::new();
    for (&path, later) in &changing {
        let later = later.iter().map(|(at, route)| (*at, route.and_then(|route| route.last().copied())));
        let first = (Time::ZERO, scenario.first_route(path).last().copied());
        let lasts: Vec<_> = [first].into_iter().chain(later).collect();
        if !last_links_take_turns(&lasts, &absences) {
            meeting.insert(path);
        }
    }
    let limited = with_media(scenario);
    let runs_ahead = |(link, limited): (&Link, &bool)| !acts(link.to) && !reorders(link) && !limited;
    // Rows of all other series are in the order of events.
    let ends_ahead = scenario.record.series.iter().all(|name| dictionary::is_sampled(name));
    let mut relays: Vec<bool> = scenario.links.iter().zip(&limited).map(runs_ahead).collect();
    let mut ends: Vec<bool> = relays.iter().map(|&ahead| ahead && ends_ahead).collect();
    each_hop(scenario, |path, from, to| {
        if let Some(from) = from.map(LinkId::index) {
            relays[from] &= to.is_some_and(|to| feeders[to] == Feeder::Link(LinkId::new(from)));
            ends[from] = ends[from] && to.is_none() && !meeting.contains(&path) && is_own(path);
        }
    });
    let behind = scenario.links.iter().zip(relays.into_iter().zip(ends));
    for (far_end, (link, (relays, ends))) in far_ends.iter_mut().zip(behind) {
        far_end.behind = match (relays, ends) {
            _ if link.terminal.is_some() => Behind::Medium,
            (true, _) if far_end.is_asked => Behind::Choice,
            (true, _) => Behind::Chain,
            (false, true) => Behind::End,
            (false, false) => Behind::Node,
        };
    }
    far_ends
}

/// Returns the links of all lanes that ever cross a medium. A medium reads the queues of its links at its own instants. So
/// packets of these lanes come at theirs, as do their answers. Other lanes share no link with them.
fn with_media(scenario: &Scenario) -> Vec<bool> {
    let mut found = vec![false; scenario.links.len()];
    if scenario.media.is_empty() {
        return found;
    }
    let changing = scenario.timeline.routes();
    for lane in LaneId::all(scenario.lanes.len()) {
        let links: Vec<LinkId> = PathId::both(lane)
            .into_iter()
            .flat_map(|path| {
                let later = changing.get(&path).into_iter().flatten().filter_map(|(_, route)| *route);
                [scenario.first_route(path)].into_iter().chain(later)
            })
            .flatten()
            .copied()
            .collect();
        if links.iter().any(|link| scenario.links[*link].terminal.is_some()) {
            links.into_iter().for_each(|link| found[link] = true);
        }
    }
    found
}

/// Whether each last link of a path, given from its instant on, has lost its packets and stays away until it is the last link
/// again. Otherwise, packets of two links would meet at the endpoint.
fn last_links_take_turns(lasts: &[(Time, Option<LinkId>)], absences: &BTreeMap<LinkId, Vec<Absence>>) -> bool {
    let leaves = lasts.windows(2).enumerate().filter(|(_, pair)| pair[0].1 != pair[1].1);
    leaves.into_iter().all(|(index, pair)| {
        let (Some(link), from) = (pair[0].1, pair[1].0) else { return true };
        let next = lasts[index + 1..].iter().find(|(_, last)| *last == Some(link));
        let until = next.map_or(Time::NEVER, |(at, _)| *at);
        let is_away = |absence: &Absence| {
            let loses = absence.in_flight == InFlight::Lost && absence.waiting != Waiting::Kept;
            loses && absence.from <= from && absence.to >= until
        };
        absences.get(&link).is_some_and(|absences| absences.iter().any(is_away))
    })
}

/// The source of a link's packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    None,
    Link(LinkId),
    /// The first host of this path.
    Host(PathId),
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

/// Returns the inboxes: of links with several feeders that are plain and have no other next link.
pub(super) fn inboxes(scenario: &Scenario, links: &[LazyLink], far_ends: &mut [FarEnd]) -> Vec<Inbox> {
    let plain_delay = |link: LinkId| links[link].plain_delay().filter(|_| !far_ends[link].is_asked);
    // By link: its only next link, if it has one; and the shortest and longest delay of its feeders, if all are plain.
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
    let (feeders, limited) = (feeders(scenario), with_media(scenario));
    let (mut inboxes, mut inbox_of) = (Vec::new(), vec![None; links.len()]);
    for link in LinkId::all(links.len()).filter(|&link| feeders[link] == Feeder::Many) {
        if let (Some((least, most)), Some(seat)) = (spans[link], seats[link]) {
            inbox_of[link] = Some(inboxes.len() as u32);
            let mut inbox = Inbox::new(link, seat, least, most);
            if limited[link] {
                // Its packets leave it at their own instants.
                inbox.lead = Duration::ZERO;
            }
            inboxes.push(inbox);
        }
    }
    for (far_end, next) in far_ends.iter_mut().zip(next) {
        if let Some(inbox) = next.flatten().and_then(|next| inbox_of[next]) {
            far_end.behind = Behind::Inbox(inbox);
        }
    }
    inboxes
}

/// Calls `note` with each path, each link into a node and each link out of it on this path. Hosts are `None`.
fn each_hop(scenario: &Scenario, mut note: impl FnMut(PathId, Option<LinkId>, Option<LinkId>)) {
    let changing = scenario.timeline.routes();
    for path in scenario.paths().filter(|path| !changing.contains_key(path)) {
        let mut from = None;
        for &link in scenario.first_route(path) {
            note(path, from, Some(link));
            from = Some(link);
        }
        note(path, from, None);
    }
    // If routes change, a packet may reach a node by one route and leave it by another.
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
