//! The horizon: links and endpoints may work ahead of time up to the next instant at which another event may observe them.
//!
//! Samples and changes of the network have known instants. The end of the run has a bound: no flow ends before its data has
//! crossed its path, and none before its connection may give up. One flow that lasts is enough, as the run ends with the last.

use crate::traffic::{lasts_until, least_rtt, OnPath, Traffic};
use bentpipe_model::ids::{FlowId, LinkId, NodeId, PathId};
use bentpipe_model::spec::{Link, Scenario};
use bentpipe_units::{Duration, Time};

/// Flows of one review, count. The next review takes others, if none of them lasts.
const ASKED: usize = 16;

/// The least time between two reviews.
const PAUSE: Duration = Duration::from_millis(1);

/// Bounds of time: how far links and endpoints may run ahead, and where events wait.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) end: Time,
    /// The next change of the network.
    change: Time,
    /// Events after this instant wait: a change, a review of the horizon, or the end of the run comes first.
    pub(super) gate: Time,
    /// The instant up to which links and endpoints may run ahead now.
    pub(super) horizon: Time,
    lasting: Horizon,
}

impl Bounds {
    /// `resets` tests whether a node has middleboxes that may reset connections; `acts`: whether it has any.
    pub(super) fn of(scenario: &Scenario, acts: impl Fn(NodeId) -> bool, resets: impl Fn(NodeId) -> bool) -> Self {
        let end = Time::ZERO + scenario.duration;
        let lasting = Horizon::of(scenario, acts, resets);
        Self { end, change: Time::NEVER, gate: end, horizon: Time::ZERO, lasting }
    }

    /// Sets the next change of the network.
    pub(super) fn expect_change(&mut self, at: Time) {
        self.change = at;
    }

    /// The last instant before the next change, or the end of the run.
    pub(super) fn last_before_change(&self) -> Time {
        match self.change {
            Time::NEVER => self.end,
            at => self.end.min(Time::from_ps(at.as_ps().saturating_sub(1))),
        }
    }

    /// Sets the horizon: links and endpoints may run ahead up to the next `sample`, to the next change, and as long as a flow
    /// lasts. With ports or observers (`is_watched`), nothing runs ahead; with media, other lanes than theirs do. Nothing is due
    /// before `now`.
    pub(super) fn update(&mut self, now: Time, sample: Time, is_watched: bool, traffic: &Traffic) {
        let change = self.last_before_change();
        let known = change.min(sample);
        let lasts = if is_watched { Time::ZERO } else { self.lasting.lasts_until(now, known, traffic) };
        let bound = match known {
            _ if lasts <= known => Bound::Flow,
            _ if sample < change => Bound::Sample,
            _ => Bound::Change,
        };
        let until = if bound == Bound::Flow { Time::from_ps(lasts.as_ps().saturating_sub(1)) } else { known };
        self.lasting.turn(now, until, bound);
        self.horizon = until;
        let is_reviewed = bound == Bound::Flow && !is_watched;
        self.gate = if is_reviewed { change.min(self.lasting.review_at(now, traffic)) } else { change };
    }

    /// The work ahead of time up to `now`.
    pub(super) fn history(&self, now: Time) -> Ahead {
        self.lasting.history(now)
    }
}

/// The flow that lasts longest, as far as known, and the history of the horizon.
#[derive(Clone, Debug)]
struct Horizon {
    /// The flow that lasts longest, as far as known.
    witness: FlowId,
    /// Middleboxes and media on the path of each flow. Empty if the network has none.
    on_path: Vec<OnPath>,
    since: Time,
    until: Time,
    bound: Bound,
    ahead: Ahead,
}

/// The reason for the present horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// The end of the run, or a change of the network.
    Change,
    Sample,
    /// A flow may end, and the run with it.
    Flow,
}

/// Work ahead of time in a run. All sums are over simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ahead {
    /// Time during which the work ahead was limited by the end of the run or a change, a sample, or a flow that may end.
    pub limits: [Duration; 3],
    /// Time without work ahead.
    pub without: Duration,
    /// Integral of the distance from the present to the horizon, in seconds squared.
    pub distance: f64,
}

impl Horizon {
    /// `resets` tests whether a node has middleboxes that may reset connections; `acts`: whether it has any.
    fn of(scenario: &Scenario, acts: impl Fn(NodeId) -> bool, resets: impl Fn(NodeId) -> bool) -> Self {
        let on_node = |node| match (acts(node), resets(node)) {
            (_, true) => OnPath::Reset,
            (true, _) => OnPath::Middlebox,
            _ => OnPath::Nothing,
        };
        let endless = |flow: &FlowId| {
            let app = &scenario.flows[*flow].app;
            !app.is_single() && app.count().is_none()
        };
        let has_middleboxes = NodeId::all(scenario.nodes.len()).any(&acts) || !scenario.media.is_empty();
        Self {
            witness: FlowId::all(scenario.flows.len()).find(endless).unwrap_or(FlowId::new(0)),
            on_path: if has_middleboxes { on_paths(scenario, on_node) } else { Vec::new() },
            since: Time::ZERO,
            until: Time::ZERO,
            bound: Bound::Flow,
            ahead: Ahead::default(),
        }
    }

    /// Returns an instant before which the run does not end, because a flow lasts. `enough` is as good as any later one.
    fn lasts_until(&mut self, now: Time, enough: Time, traffic: &Traffic) -> Time {
        let count = traffic.flows.len();
        let (mut longest, mut witness) = (Time::ZERO, (self.witness.index() + ASKED) % count.max(1));
        for index in (0..count.min(ASKED)).map(|step| (self.witness.index() + step) % count) {
            let on_path = self.on_path.get(index).copied().unwrap_or(OnPath::Nothing);
            let until = lasts_until(traffic, now, FlowId::new(index), on_path);
            if until > longest.max(now) {
                (longest, witness) = (until, index);
            }
            if until > enough {
                break;
            }
        }
        self.witness = FlowId::new(witness);
        longest
    }

    /// The instant at which a horizon that depends on a flow is computed again, before it comes close.
    fn review_at(&self, now: Time, traffic: &Traffic) -> Time {
        now + (self.until.saturating_since(now) / 2).max(least_rtt(traffic, self.witness) / 4).max(PAUSE)
    }

    /// The history up to `now`.
    fn history(&self, now: Time) -> Ahead {
        let mut so_far = self.clone();
        so_far.turn(now, self.until, self.bound);
        so_far.ahead
    }

    /// Notes the time up to `now` with the previous horizon, then the new one.
    fn turn(&mut self, now: Time, until: Time, bound: Bound) {
        let ahead = self.until.min(now).saturating_since(self.since);
        let [first, last] = [self.since, now].map(|at| self.until.saturating_since(at).as_secs_f64());
        self.ahead.limits[self.bound as usize] += ahead;
        self.ahead.without += now.saturating_since(self.since).saturating_sub(ahead);
        self.ahead.distance += ahead.as_secs_f64() * (first + last) / 2.0;
        (self.since, self.until, self.bound) = (now, until, bound);
    }
}

/// Returns the effect of the middleboxes and media on all routes of each flow.
fn on_paths(scenario: &Scenario, on_node: impl Fn(NodeId) -> OnPath) -> Vec<OnPath> {
    let changing = scenario.timeline.routes();
    // The largest rate of a link in a medium is an estimate: it bounds no transfer.
    let on_link = |link: &Link| match link.terminal {
        Some(_) => OnPath::Middlebox,
        None => OnPath::Nothing,
    };
    let on_route = |route: &[LinkId]| {
        let links = route.iter().map(|&link| &scenario.links[link]);
        links.map(|link| on_link(link).max(on_node(link.from)).max(on_node(link.to))).max()
    };
    let on_path = |path| {
        let later = changing.get(&path).into_iter().flatten().filter_map(|(_, route)| *route);
        [scenario.first_route(path)].into_iter().chain(later).filter_map(on_route).max()
    };
    let on_flow =
        |flow| scenario.lanes_of(flow).flat_map(PathId::both).filter_map(on_path).max().unwrap_or(OnPath::Nothing);
    FlowId::all(scenario.flows.len()).map(on_flow).collect()
}

#[cfg(test)]
mod tests {
    use crate::network::Network;
    use bentpipe_scenario::from_toml;
    use bentpipe_units::{Duration, Time};

    /// Runs a scenario event by event. Returns its end and its farthest horizon.
    fn run(text: &str) -> (Time, Time) {
        let scenario = from_toml(text, "horizon", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        let (mut network, mut farthest) = (Network::build(&scenario, 1), Time::ZERO);
        while !network.run(1) {
            farthest = farthest.max(network.runs_ahead_until());
        }
        (network.now(), farthest)
    }

    /// A file in two windows over 250 ms. With a host that acknowledges before the long link, the second leaves at once, and
    /// arrives a round trip before its ACK would.
    #[test]
    fn nothing_works_ahead_of_a_transfer_that_a_middlebox_shortens() {
        let (end, farthest) = run(r#"
            duration = "10 s"
            [tcp]
            initial_window = "10 segments"
            [link.access]
            from = "a"
            to = "b"
            rate = "100 Mbit/s"
            delay = "1 ms"
            [link.long]
            from = "b"
            to = "c"
            rate = "100 Mbit/s"
            delay = "250 ms"
            [node.b]
            middlebox = [{ kind = "spoof" }]
            [flow.f]
            from = "a"
            to = "c"
            app = { kind = "file", size = "25 kB" }
        "#);
        // The handshake takes a round trip, and the data half of one more.
        assert!(end < Time::ZERO + Duration::from_millis(850) && farthest <= end, "{farthest:?} {end:?}");
    }
}
