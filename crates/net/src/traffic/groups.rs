//! Sessions over several paths: the TCP connections that are their subflows, and the meta of each end that joins them.
//!
//! A group has a slot for each subflow. The first is that of the session: its hosts keep the goals of the application, and
//! their timers are those of the application and of the meta, too. `joining.rs` has what the network asks of groups.

use super::goal::{End, Goal, What};
use super::host::Hosts;
use super::send_times::Stopwatch;
use super::totals::{OwnLane, Totals};
use crate::link::Downtime;
use crate::record::Histogram;
use bentpipe_model::ids::{LinkId, PathId};
use bentpipe_model::spec::Change;
use bentpipe_tcp::multi::{Meta, MultiConfig, MultiCounters, Plan, ReinjectOn, Subflows};
use bentpipe_tcp::{Config, Connection, Role};
use bentpipe_units::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The part of a slot in a session over several paths.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "each is in a separate box")]
pub(super) enum GroupPart {
    /// It is the slot of the session.
    Head(GroupSession),
    /// It is that of another subflow.
    Member {
        /// Slot of the session.
        head: usize,
        /// Number of the subflow.
        subflow: usize,
    },
    /// It was that of a subflow, and is free.
    Spare,
}

/// SubflowPlace of a connection in a session over several paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubflowPlace {
    pub(super) subflow: usize,
    /// Number of the session in its flow.
    pub(super) ordinal: u64,
    /// Earlier connections of the subflow.
    pub(super) earlier: u64,
}

/// A session over several paths.
#[derive(Clone, Debug)]
pub(super) struct GroupSession {
    /// Slots of all its connections, each with its subflow. The first opens the session.
    pub(super) connections: Vec<(usize, usize)>,
    /// Slots of the present connections of its subflows, at each end.
    pub(super) slots: [Vec<usize>; 2],
    pub(super) ends: [GroupEnd; 2],
    /// Whether the opener has begun to open.
    is_begun: bool,
    /// Whether its application knows that it has failed.
    pub(super) has_failed: bool,
}

/// One end of a session over several paths.
#[derive(Clone, Debug)]
pub(super) struct GroupEnd {
    pub(super) meta: Meta,
    /// Next instant when its application acts here.
    pub(super) app_timer: Time,
    /// Coming notices of its paths: time, subflow, and whether its path is up.
    pub(super) notices: VecDeque<(Time, usize, bool)>,
    /// Times by limit, at the end whose times are those of the flow.
    pub(super) stopwatch: Option<Box<Stopwatch>>,
    held: Held,
}

/// Time in which data waited at a receiver behind missing data.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    since: Option<Time>,
    total: Duration,
    /// Whether the application has left. Then data do not wait.
    is_over: bool,
}

impl GroupEnd {
    fn new(config: &Arc<MultiConfig>, role: Role, plans: &[Plan], counts: bool) -> Self {
        Self {
            meta: Meta::new(Arc::clone(config), role, plans),
            app_timer: Time::NEVER,
            notices: VecDeque::new(),
            stopwatch: counts.then(Box::default),
            held: Held::default(),
        }
    }

    /// Returns the next instant when the application or the meta acts here. Its connections have their own.
    pub(super) fn next_wakeup(&self) -> Time {
        let notice = self.notices.front().map_or(Time::NEVER, |notice| notice.0);
        self.meta.next_wakeup().min(self.app_timer).min(notice)
    }

    /// Notes whether data waits here behind missing data.
    pub(super) fn note_held(&mut self, now: Time) {
        match (self.held.since, self.meta.held_bytes() > 0) {
            (None, true) if !self.held.is_over => self.held.since = Some(now),
            (Some(since), false) => {
                self.held.total += now.saturating_since(since);
                self.held.since = None;
            }
            _ => {}
        }
    }

    /// Ends the wait for missing data: the application leaves.
    pub(super) fn leave(&mut self, now: Time) {
        self.held = Held { since: None, total: self.held_until(now), is_over: true };
    }

    /// Returns the time in which data waited here up to `now`.
    fn held_until(&self, now: Time) -> Duration {
        self.held.total + self.held.since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }
}

impl GroupSession {
    /// `counts`: the end whose times are those of the flow.
    pub(super) fn new(slots: Vec<usize>, config: &Arc<MultiConfig>, plans: &[Plan], counts: End) -> Self {
        let ends = [(Role::Active, End::Opener), (Role::Passive, End::Listener)];
        let ends = ends.map(|(role, end)| GroupEnd::new(config, role, plans, end == counts));
        let connections = slots.iter().copied().zip(0..).collect();
        Self { connections, slots: [slots.clone(), slots], ends, is_begun: false, has_failed: false }
    }

    /// Returns an end, and its connections among these hosts.
    pub(super) fn at<'a>(&'a mut self, end: End, hosts: &'a mut Hosts) -> (&'a mut GroupEnd, Connections<'a>) {
        (&mut self.ends[end as usize], Connections { hosts, slots: &self.slots[end as usize], end })
    }

    /// Lets the listener wait for the opener.
    pub(super) fn listen(&mut self, now: Time, hosts: &mut Hosts) {
        let (end, mut connections) = self.at(End::Listener, hosts);
        end.meta.open(now, &mut connections);
    }

    /// Gives the opener data to send, and opens the connection if it is not open.
    pub(super) fn ask(&mut self, now: Time, bytes: u64, hosts: &mut Hosts) {
        let is_new = !std::mem::replace(&mut self.is_begun, true);
        let (end, mut connections) = self.at(End::Opener, hosts);
        end.meta.offer(bytes);
        if is_new {
            end.meta.open(now, &mut connections);
        }
    }

    /// Ends the data of an end.
    pub(super) fn close(&mut self, now: Time, end: End, hosts: &mut Hosts) {
        let (end, mut connections) = self.at(end, hosts);
        end.meta.close(now, &mut connections);
    }

    /// Sets the timer of the application at an end. Returns the timer of its host.
    pub(super) fn set_timer(&mut self, end: End, at: Time) -> Time {
        let end = &mut self.ends[end as usize];
        end.app_timer = at;
        end.next_wakeup()
    }

    /// Whether an end has reached the goal of its application.
    pub(super) fn has_reached(&self, end: End, goal: Option<Goal>) -> bool {
        let (meta, Some(Goal { what, bytes })) = (&self.ends[end as usize].meta, goal) else { return false };
        let reached = match what {
            What::Acked => meta.acked_bytes(),
            What::Received | What::Read => meta.counters().delivered_bytes,
        };
        reached >= bytes && meta.is_established()
    }

    /// Whether nothing can happen in its slots.
    pub(super) fn is_done(&self, hosts: &Hosts) -> bool {
        let is_at_rest = self.ends.iter().all(|end| end.next_wakeup() == Time::NEVER);
        is_at_rest && self.connections.iter().all(|(slot, _)| hosts.are_done(*slot))
    }
}

/// The connections of one end of a group.
pub(super) struct Connections<'a> {
    hosts: &'a mut Hosts,
    slots: &'a [usize],
    end: End,
}

impl Subflows for Connections<'_> {
    fn connection(&mut self, i: usize) -> &mut Connection {
        &mut self.hosts[self.end.of_slot(self.slots[i])].conn
    }
}

/// State of a flow over several paths, beside that of every flow.
#[derive(Clone, Debug)]
pub(super) struct MultiState {
    pub(super) config: Arc<MultiConfig>,
    pub(super) plans: Vec<Plan>,
    pub(super) paths: Vec<PathState>,
    /// Counters of sessions whose slots are reused.
    totals: MultiTotals,
    /// Connections of subflows that have joined again.
    pub(super) returns: u64,
    /// Links that are down.
    down: BTreeSet<LinkId>,
}

/// One path of a flow over several paths.
#[derive(Clone, Debug)]
pub(super) struct PathState {
    pub(super) lane: OwnLane,
    /// TCP of its connections.
    pub(super) config: Arc<Config>,
    pub(super) downtime: Downtime,
    pub(super) rtts: Histogram,
    /// Counters of connections whose slots are reused, and of those that are released.
    pub(super) totals: PathTotals,
    /// Its present routes there and back; `None`: withdrawn.
    pub(super) routes: [Option<Box<[LinkId]>>; 2],
}

impl PathState {
    /// Whether it has routes, and all their links are up.
    fn is_up(&self, down: &BTreeSet<LinkId>) -> bool {
        self.routes
            .iter()
            .all(|route| route.as_ref().is_some_and(|route| !route.iter().any(|link| down.contains(link))))
    }
}

/// Counters of one path of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTotals {
    pub(crate) of_tcp: Totals,
    pub(crate) joins: u64,
    pub(crate) failures: u64,
    /// Bytes given to it although another subflow carried them.
    pub(crate) reinjected_bytes: u64,
    /// Bytes that it was the first to bring.
    pub(crate) brought_bytes: u64,
}

/// Counters of the sessions of a flow over several paths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MultiTotals {
    /// Counters of the ends that send the data of the flow, and of their peers.
    pub(crate) sent: MultiCounters,
    pub(crate) received: MultiCounters,
    pub(crate) acked_bytes: u64,
    /// Time in which data waited at the receiver behind missing data.
    pub(crate) held: Duration,
}

impl MultiState {
    pub(super) fn new(config: Arc<MultiConfig>, plans: Vec<Plan>, paths: Vec<PathState>) -> Self {
        Self { config, plans, paths, totals: MultiTotals::default(), returns: 0, down: BTreeSet::new() }
    }

    /// Whether its ends hear of changes of its routes.
    pub(super) fn is_told(&self) -> bool {
        self.config.reinject.on == ReinjectOn::Told
    }

    /// Notes a change of the network. Returns what the ends hear of it: each subflow with a change, and whether its path is up.
    pub(super) fn notices_of(&mut self, first: usize, change: &Change) -> Vec<(usize, bool)> {
        let subflow =
            |path: PathId| path.lane().index().checked_sub(first).filter(|subflow| *subflow < self.paths.len());
        match change {
            Change::Install { path, route } => {
                let Some(subflow) = subflow(*path) else { return Vec::new() };
                self.paths[subflow].routes[usize::from(path.is_back())] = Some(route.as_slice().into());
                // A handover may lose the packets on the way.
                let is_up = self.paths[subflow].is_up(&self.down);
                [(subflow, false)].into_iter().chain(is_up.then_some((subflow, true))).collect()
            }
            Change::Withdraw(path) => {
                let Some(subflow) = subflow(*path) else { return Vec::new() };
                self.paths[subflow].routes[usize::from(path.is_back())] = None;
                vec![(subflow, false)]
            }
            Change::Down { link, .. } => {
                self.down.insert(*link);
                self.over(*link).map(|subflow| (subflow, false)).collect()
            }
            Change::Up(link) => {
                self.down.remove(link);
                let back = self.over(*link).filter(|subflow| self.paths[*subflow].is_up(&self.down));
                back.map(|subflow| (subflow, true)).collect()
            }
        }
    }

    /// Returns the subflows whose routes cross a link.
    fn over(&self, link: LinkId) -> impl Iterator<Item = usize> + '_ {
        let crosses = move |path: &PathState| path.routes.iter().flatten().any(|route| route.contains(&link));
        self.paths.iter().enumerate().filter(move |(_, path)| crosses(path)).map(|(subflow, _)| subflow)
    }

    /// Adds a session whose slots are reused.
    pub(super) fn add(&mut self, now: Time, (ordinal, session): (u64, &GroupSession), hosts: &Hosts) {
        let mut all = (self.totals, self.path_totals());
        add_session(&mut all, now, (ordinal, session), hosts);
        self.totals = all.0;
        self.paths.iter_mut().zip(all.1).for_each(|(path, totals)| path.totals = totals);
    }

    fn path_totals(&self) -> Vec<PathTotals> {
        self.paths.iter().map(|path| path.totals.clone()).collect()
    }

    /// Returns the counters of sessions whose slots are reused: of the flow, and of each path.
    pub(super) fn totals(&self) -> (MultiTotals, Vec<PathTotals>) {
        (self.totals, self.path_totals())
    }
}

/// Adds the counters of a session at `now` to those of its flow and paths.
pub(super) fn add_session(
    (all, paths): &mut (MultiTotals, Vec<PathTotals>),
    now: Time,
    (ordinal, session): (u64, &GroupSession),
    hosts: &Hosts,
) {
    for &(slot, subflow) in &session.connections {
        paths[subflow].of_tcp.add(now, ordinal, hosts.pair(slot));
    }
    let sends = hosts.pair(session.connections[0].0).map(|host| host.sends_data);
    // If both ends send, those of the end that answers, as the times of a flow.
    let counting = &session.ends[usize::from(sends[1])];
    for (number, path) in paths.iter_mut().enumerate() {
        let facts = counting.meta.subflow(number);
        path.joins += facts.joins;
        path.failures += facts.failures;
    }
    for side in (0..2).filter(|side| sends[*side]) {
        let [near, far] = [side, 1 - side].map(|side| &session.ends[side]);
        all.sent += *near.meta.counters();
        all.received += *far.meta.counters();
        all.acked_bytes += near.meta.acked_bytes();
        all.held += far.held_until(now);
        for (number, path) in paths.iter_mut().enumerate() {
            let [facts, brought] = [near, far].map(|end| end.meta.subflow(number));
            path.reinjected_bytes += facts.reinjected_bytes;
            path.brought_bytes += brought.delivered_bytes;
        }
    }
}

/// Returns the counters of a flow over several paths as those of every flow: sums over its connections, but its data in order
/// counts once.
pub(super) fn as_totals(all: &MultiTotals, paths: &[PathTotals]) -> Totals {
    let mut totals = Totals::default();
    for path in paths {
        totals.add_path(&path.of_tcp);
    }
    totals.received.delivered_bytes = all.received.delivered_bytes;
    totals.acked_bytes = all.acked_bytes;
    totals
}
