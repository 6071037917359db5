//! Windows: in a large network, merging links and the endpoints behind them take turns.
//!
//! A packet that an endpoint sends needs some time to the link where packets merge, and from there to an endpoint. Within that
//! time, all arrivals of each endpoint are known. The merge therefore offers all packets up to its limit to its link, in the
//! order of events, and keeps those that reach an endpoint. Then the endpoints are visited, block by block, with all their
//! packets. Only the order between different endpoints changes, which share nothing: an endpoint alone receives the packets
//! of its last link, and alone feeds its first link.

use super::far_ends::{Behind, FarEnd};
use super::inbox::Inbox;
use crate::link::LazyLink;
use bentpipe_model::ids::{EndpointId, LinkId, PathId};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Scenario;
use bentpipe_units::{Duration, Time};

/// Endpoints of a network with windows, at least: fewer fit into the caches, and visits gain little.
const ENDPOINTS_MIN: usize = 600;

/// Endpoints of a block.
const BLOCK: usize = 512;

/// Windows of a network.
#[derive(Debug, Default)]
pub(super) struct Windows {
    pub(super) is_on: bool,
    /// Whether packets for endpoints are kept for a visit.
    pub(super) keeps: bool,
    /// Endpoints that feed an inbox, by inbox. None: they may also act for other reasons.
    turns: Vec<Option<Turn>>,
    /// Instant before which all packets of an inbox were offered to its link, by inbox.
    clocks: Vec<Time>,
    /// Position of each link.
    places: Vec<Position>,
    /// Links between a merge and an endpoint on which packets wait for their events. Some may be empty again.
    waiting: Vec<LinkId>,
    /// Kept packets, by block.
    pub(super) blocks: Vec<Vec<(LinkId, Packet)>>,
    /// Windows that began so far.
    #[cfg(test)]
    begun: u64,
}

/// The endpoints that alone feed an inbox, and that receive packets by one inbox only.
#[derive(Debug)]
struct Turn {
    ends: Vec<EndpointId>,
    /// The inbox that all their packets come from.
    from: usize,
    /// Least time from the link behind that inbox to an endpoint.
    reach: Duration,
}

/// Position of a link behind a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Elsewhere,
    /// Between a merge and the last links.
    Between,
    /// The last link of one endpoint, in this block.
    Last(u32),
}

impl Windows {
    /// The windows of a network. `opener` returns the opener of a flow's only connection.
    pub(super) fn of(
        scenario: &Scenario,
        links: &[LazyLink],
        far_ends: &[FarEnd],
        inboxes: &mut [Inbox],
        opener: impl Fn(PathId) -> Option<EndpointId>,
    ) -> Self {
        let (mut windows, count) = (Self::default(), inboxes.len());
        let layout = Layout::of(scenario, links, far_ends, count);
        windows.turns.extend((0..count).map(|inbox| layout.turn(inbox, &opener)));
        let ends: usize = windows.turns.iter().flatten().map(|turn| turn.ends.len()).sum();
        windows.is_on = ends >= ENDPOINTS_MIN;
        for (inbox, turn) in inboxes.iter_mut().zip(&windows.turns).filter(|_| windows.is_on) {
            turn.iter().for_each(|turn| inbox.hold((turn.reach + inbox.lead) * 2));
        }
        if windows.turns.iter().all(Option::is_none) {
            return windows;
        }
        windows.clocks = vec![Time::ZERO; count];
        windows.places = vec![Position::Elsewhere; links.len()];
        for (path, merge) in PathId::all(layout.reached.len()).zip(&layout.reached) {
            let Some(merge) = merge.filter(|merge| windows.turns.iter().flatten().any(|turn| turn.from == merge.inbox))
            else {
                continue;
            };
            let behind = &scenario.first_route(path)[merge.hops..];
            behind.iter().for_each(|&link| windows.places[link] = Position::Between);
            if let (Some(&last), Some(end)) = (behind.last(), opener(path)) {
                let block = end.index() / BLOCK;
                windows.places[last] = Position::Last(block as u32);
                windows.blocks.resize(windows.blocks.len().max(block + 1), Vec::new());
            }
        }
        windows
    }

    /// Turns windows on, in a network of any size. Returns whether it can have any.
    #[cfg(test)]
    pub(super) fn force(&mut self) -> bool {
        self.is_on = self.turns.iter().any(Option::is_some);
        self.is_on
    }

    /// Notes that a packet waits on a link for its event.
    #[cold]
    pub(super) fn note_waiting(&mut self, link: LinkId) {
        if self.places[link] != Position::Elsewhere {
            self.waiting.push(link);
        }
    }

    /// The endpoints that feed an inbox, if it may have a window, and the instant up to which their arrivals are known. `now`
    /// precedes the horizon.
    pub(super) fn begin(&mut self, inbox: usize, now: Time, links: &[LazyLink]) -> Option<(Vec<EndpointId>, Time)> {
        self.waiting.retain(|&link| links[link].len() > 0);
        let turn = self.turns[inbox].as_mut().filter(|_| self.waiting.is_empty())?;
        self.keeps = true;
        #[cfg(test)]
        {
            self.begun += 1;
        }
        Some((std::mem::take(&mut turn.ends), self.clocks[turn.from].max(now) + turn.reach))
    }

    /// Returns the endpoints that [`begin`](Self::begin) lent.
    pub(super) fn give_back(&mut self, inbox: usize, ends: Vec<EndpointId>) {
        if let Some(turn) = &mut self.turns[inbox] {
            turn.ends = ends;
        }
    }

    /// Notes that all packets of an inbox up to `until` were offered to its link.
    pub(super) fn note_offered(&mut self, inbox: usize, until: Time) {
        self.clocks[inbox] = self.clocks[inbox].max(Time::from_ps(until.as_ps() + 1));
    }

    /// Keeps a packet that is offered to a link at its `at`, if this is the last link of an endpoint.
    #[inline]
    pub(super) fn keep(&mut self, link: LinkId, packet: &Packet) -> bool {
        let Position::Last(block) = self.places[link] else { return false };
        self.blocks[block as usize].push((link, *packet));
        true
    }
}

/// The paths of a network between endpoints and merges.
struct Layout {
    /// Paths whose first link feeds an inbox and carries no other path, by inbox. None: the inbox has other feeders, too.
    feeding: Vec<Option<Vec<PathId>>>,
    /// The last merge of each path, if plain links lead from there to an endpoint that alone uses the last of them.
    reached: Vec<Option<Merge>>,
}

#[derive(Clone, Copy)]
struct Merge {
    inbox: usize,
    /// Links of the path before it.
    hops: usize,
    /// Least time from the merge to the endpoint.
    reach: Duration,
}

impl Layout {
    fn of(scenario: &Scenario, links: &[LazyLink], far_ends: &[FarEnd], inboxes: usize) -> Self {
        let changing = scenario.timeline.routes();
        let paths = || scenario.paths();
        let mut users = vec![0_u32; links.len()];
        let later = changing.values().flatten().filter_map(|(_, route)| *route);
        let routes = paths().map(|path| scenario.first_route(path)).chain(later);
        routes.flatten().for_each(|&link| users[link] += 1);
        let inbox_behind = |link: LinkId| match far_ends[link].behind {
            Behind::Inbox(inbox) => Some(inbox as usize),
            _ => None,
        };
        let mut feeders = vec![0; inboxes];
        LinkId::all(links.len()).filter_map(inbox_behind).for_each(|inbox| feeders[inbox] += 1);
        let mut feeding = vec![Vec::new(); inboxes];
        let mut reached = vec![None; 2 * scenario.lanes.len()];
        for path in paths().filter(|path| !changing.contains_key(path) && !changing.contains_key(&path.reverse())) {
            let route = scenario.first_route(path);
            let (Some(&first), Some(&last)) = (route.first(), route.last()) else { continue };
            if let Some(inbox) = inbox_behind(first).filter(|_| users[first] == 1) {
                feeding[inbox].push(path);
            }
            let mut merges = route.iter().enumerate().filter_map(|(at, &link)| Some((at + 1, inbox_behind(link)?)));
            let Some((hops, inbox)) = merges.next_back() else { continue };
            let (behind, is_own) = (&route[hops..], users[last] == 1 && far_ends[last].behind == Behind::End);
            if is_own && behind.iter().all(|&link| links[link].is_plain() && far_ends[link].can_cross(true)) {
                let reach = behind.iter().fold(Duration::ZERO, |sum, &link| sum + scenario.links[link].delay.least());
                reached[path] = Some(Merge { inbox, hops, reach });
            }
        }
        let feeding =
            feeding.into_iter().zip(feeders).map(|(paths, all)| (paths.len() == all).then_some(paths)).collect();
        Self { feeding, reached }
    }

    /// The turn of an inbox, if all endpoints that feed it receive packets by one inbox.
    fn turn(&self, inbox: usize, opener: impl Fn(PathId) -> Option<EndpointId>) -> Option<Turn> {
        let paths = self.feeding[inbox].as_ref()?;
        let merges = paths.iter().map(|path| self.reached[path.reverse()]).collect::<Option<Vec<_>>>()?;
        let first = merges.first()?;
        let reach = merges.iter().map(|merge| merge.reach).min()?;
        let end = |path: &PathId| opener(*path).map(|end| if path.is_back() { end.peer() } else { end });
        let ends = paths.iter().map(end).collect::<Option<Vec<_>>>()?;
        merges.iter().all(|merge| merge.inbox == first.inbox).then_some(Turn { ends, from: first.inbox, reach })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::record::RunResult;
    use crate::swarm::dumbbell;
    use bentpipe_scenario::from_toml;
    use std::sync::Arc;

    /// The result of a run, and its windows.
    fn run(scenario: &Arc<Scenario>, is_forced: bool) -> (RunResult, u64) {
        let mut network = Network::build(scenario, scenario.seed);
        if is_forced {
            network.motion.links.windows.force();
        }
        while !network.run(u64::MAX) {}
        let begun = network.motion.links.windows.begun;
        (network.finish().unwrap_or_else(|failure| panic!("{failure}")), begun)
    }

    /// Random networks in which flows merge: all features of the swarm, with and without windows.
    #[test]
    fn windows_change_no_result() {
        let mut windows = [0; 3];
        for seed in 0..1500 {
            let scenario = Arc::new(dumbbell(seed));
            let (expected, none) = run(&scenario, false);
            let (result, begun) = run(&scenario, true);
            assert_eq!(none, 0);
            assert!(result == expected, "seed {seed}");
            windows[0] += u64::from(begun > 0);
            windows[1] += begun;
            windows[2] += u64::from(begun > 0 && !result.drops.is_empty());
        }
        assert!(windows[0] > 200 && windows[1] > 10_000 && windows[2] > 100, "{windows:?}");
    }

    const DUMBBELL: &str = r#"
duration = "12 s"
[link.up]
from = "a{n}"
to = "b"
count = COUNT
rate = "10 Mbit/s"
delay = "20 ms"
[link.one]
from = "b"
to = "c"
rate = "SHARED Mbit/s"
delay = "40 ms"
queue = "QUEUE packets"
error = { kind = "packet", rate = "0.1 %" }
[link.two]
from = "c"
to = "d"
rate = "SHARED Mbit/s"
delay = "60 ms"
[link.down]
from = "d"
to = "e{n}"
count = COUNT
rate = "10 Mbit/s"
delay = "10 ms"
error = { kind = "packet", rate = "0.1 %" }
[flow.f]
from = "a{n}"
to = "e{n}"
count = COUNT
start = { uniform = ["0 s", "2 s"] }
"#;

    /// A network that is large enough has windows: handshakes, SACK, timestamps, processing times, errors, overflows.
    #[test]
    fn large_networks_have_windows() {
        for (count, app) in [
            (ENDPOINTS_MIN / 2 - 1, ""),
            (ENDPOINTS_MIN / 2, ""),
            (400, "app = { kind = \"file\", size = \"2 MB\" }\n"),
        ] {
            let text = DUMBBELL.replace("COUNT", &count.to_string()).replace("SHARED", &count.to_string());
            let text = text.replace("QUEUE", &(2 * count).to_string()) + app;
            let scenario = from_toml(&text, "dumbbell", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
            let mut network = Network::build(&scenario, 1);
            let is_large = 2 * count >= ENDPOINTS_MIN;
            assert_eq!(network.motion.links.windows.is_on, is_large);
            while !network.run(u64::MAX) {}
            assert_eq!(network.motion.links.windows.begun > 50, is_large, "{}", network.motion.links.windows.begun);
            let result = network.finish().unwrap();
            let mut ordered = Network::build(&scenario, 1);
            ordered.motion.links.windows.is_on = false;
            while !ordered.run(u64::MAX) {}
            assert!(result == ordered.finish().unwrap() && result.drops.len() > count, "{count} flows");
        }
    }
}
