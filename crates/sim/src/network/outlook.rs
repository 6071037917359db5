//! How far ahead of time the network may work: up to the next instant at which another event may observe it.
//!
//! Samples and changes of the network have known instants. The end of the run has a bound: no flow ends before its data has
//! crossed its path, and none before its connection may give up. One flow that lasts is enough, as the run ends with the last.

use super::Network;
use crate::ids::{FlowId, LinkId, NodeId, PathId};
use crate::spec::Scenario;
use crate::traffic::{OnPath, Traffic};
use bentpipe_units::{Duration, Time};

/// Flows that are asked at one review, count. The next review asks others, if none of them lasts.
const ASKED: usize = 16;

/// The least time between two reviews.
const PAUSE: Duration = Duration::from_millis(1);

/// The end of the work ahead of time, and its history.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    /// The flow that lasts longest, as far as known.
    witness: FlowId,
    /// By flow. Empty if the network has no middleboxes.
    on_path: Vec<OnPath>,
    since: Time,
    horizon: Time,
    limit: Limit,
    ahead: Ahead,
}

/// The reason for the present horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The end of the run, or a change of the network.
    Change,
    Sample,
    /// A flow may end, and the run with it.
    Flow,
}

/// How far a run worked ahead of time. All sums are over simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ahead {
    /// Time during which the work ahead was limited by the end of the run or a change, a sample, or a flow that may end.
    pub limits: [Duration; 3],
    /// Time without work ahead.
    pub without: Duration,
    /// Integral of the distance from the present to the horizon, in seconds squared.
    pub distance: f64,
}

impl Outlook {
    /// `resets` tests whether a node has middleboxes that may reset connections; `acts`: whether it has any.
    pub(super) fn of(scenario: &Scenario, acts: impl Fn(NodeId) -> bool, resets: impl Fn(NodeId) -> bool) -> Self {
        let on_node = |node| match (acts(node), resets(node)) {
            (_, true) => OnPath::Reset,
            (true, _) => OnPath::Middlebox,
            _ => OnPath::Nothing,
        };
        let endless = |flow: &FlowId| {
            let app = &scenario.flows[*flow].app;
            !app.is_single() && app.count().is_none()
        };
        let has_middleboxes = NodeId::all(scenario.nodes.len()).any(&acts);
        Self {
            witness: FlowId::all(scenario.flows.len()).find(endless).unwrap_or(FlowId::new(0)),
            on_path: if has_middleboxes { on_paths(scenario, on_node) } else { Vec::new() },
            since: Time::ZERO,
            horizon: Time::ZERO,
            limit: Limit::Flow,
            ahead: Ahead::default(),
        }
    }

    /// Returns an instant before which the run does not end, because a flow lasts. `enough` is as good as any later one.
    fn lasts_until(&mut self, now: Time, enough: Time, traffic: &Traffic) -> Time {
        let count = traffic.flows.len();
        let (mut longest, mut witness) = (Time::ZERO, (self.witness.index() + ASKED) % count.max(1));
        for index in (0..count.min(ASKED)).map(|step| (self.witness.index() + step) % count) {
            let on_path = self.on_path.get(index).copied().unwrap_or(OnPath::Nothing);
            let until = traffic.lasts_until(now, FlowId::new(index), on_path);
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

    /// Notes the time up to `now` with the previous horizon, then the new one.
    fn turn(&mut self, now: Time, horizon: Time, limit: Limit) {
        let ahead = self.horizon.min(now).saturating_since(self.since);
        let [first, last] = [self.since, now].map(|at| self.horizon.saturating_since(at).as_secs_f64());
        self.ahead.limits[self.limit as usize] += ahead;
        self.ahead.without += now.saturating_since(self.since).saturating_sub(ahead);
        self.ahead.distance += ahead.as_secs_f64() * (first + last) / 2.0;
        (self.since, self.horizon, self.limit) = (now, horizon, limit);
    }
}

/// What the middleboxes on all routes of each flow can do.
fn on_paths(scenario: &Scenario, on_node: impl Fn(NodeId) -> OnPath) -> Vec<OnPath> {
    let changing = scenario.timeline.routes();
    let on_route = |route: &[LinkId]| {
        let ends = route.iter().map(|&link| &scenario.links[link]).flat_map(|link| [link.from, link.to]);
        ends.map(&on_node).max()
    };
    let on_path = |path| {
        let later = changing.get(&path).into_iter().flatten().filter_map(|(_, route)| *route);
        [scenario.first_route(path)].into_iter().chain(later).filter_map(on_route).max()
    };
    let on_flow = |flow| PathId::both(flow).into_iter().filter_map(on_path).max().unwrap_or(OnPath::Nothing);
    FlowId::all(scenario.flows.len()).map(on_flow).collect()
}

impl Network {
    /// Sets the horizon: links and endpoints may run ahead up to the next sample, to the next change, and as long as a flow
    /// lasts. With ports or observers, nothing runs ahead. Nothing is due before `now`.
    pub(super) fn update_horizon(&mut self, now: Time) {
        let change = self.last_before_change();
        let sample = self.recorder.next_wakeup();
        let known = change.min(sample);
        let is_watched = !self.ports.is_empty() || self.observers.is_any;
        let lasts = if is_watched { Time::ZERO } else { self.outlook.lasts_until(now, known, &self.traffic) };
        let limit = match known {
            _ if lasts <= known => Limit::Flow,
            _ if sample < change => Limit::Sample,
            _ => Limit::Change,
        };
        let horizon = if limit == Limit::Flow { Time::from_ps(lasts.as_ps().saturating_sub(1)) } else { known };
        self.outlook.turn(now, horizon, limit);
        self.bounds.horizon = horizon;
        // The bound moves with time. A horizon that comes close is worth less.
        let pause = (lasts.saturating_since(now) / 2).max(self.traffic.rtt(self.outlook.witness) / 4).max(PAUSE);
        let is_reviewed = limit == Limit::Flow && !is_watched;
        self.bounds.gate = if is_reviewed { change.min(now + pause) } else { change };
    }

    /// How far the run has worked ahead of time so far.
    pub fn ahead(&self) -> Ahead {
        let Outlook { horizon, limit, .. } = self.outlook;
        let mut so_far = self.outlook.clone();
        so_far.turn(self.now, horizon, limit);
        so_far.ahead
    }
}
