//! Converts the tables `[[at]]` to a list of changes of links and routes, in order of time.
//!
//! Follows the state of the network that does not depend on packets: the links that are up, and the route of each path.

mod handover;
mod names;
mod state;
#[cfg(test)]
mod tests;
mod written;

use super::budget::ENTRIES_MAX;
use super::keys::{File, Install};
use super::report::{below, Report};
use super::routes_over_time::{Rerouted, RoutesOverTime};
use bentpipe_model::ids::{LaneId, LinkId, NodeId, PathId};
use bentpipe_model::spec::{Change, InFlight, Timeline, Waiting, DURATION_MAX};
use bentpipe_units::{Duration, Time};
use handover::Handover;
pub(super) use names::Known;
use state::{LinkState, State};
use std::collections::{BTreeMap, BTreeSet};
pub(super) use written::{tables, Written};

/// Meaning of the tables.
pub(super) struct Compiled {
    pub(super) timeline: Timeline,
    /// Table of each change.
    pub(super) origins: Vec<usize>,
    /// Routes of the flows over time.
    pub(super) routes: RoutesOverTime,
}

/// Place in the file that a change is from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    at: usize,
    key: &'static str,
    index: usize,
}

/// Change that is not checked yet.
struct Act {
    origin: Origin,
    what: What,
}

enum What {
    Up {
        link: LinkId,
        /// Whether a link that is already up is a fault: true for `up`, false for a handover.
        is_needed: bool,
    },
    Withdraw(PathId),
    Install {
        path: PathId,
        /// Node where the route begins.
        start: NodeId,
        route: Vec<LinkId>,
    },
    Down {
        link: LinkId,
        waiting: Waiting,
        in_flight: InFlight,
    },
}

/// Changes of an instant: written for it, or caused by an earlier instant.
#[derive(Default)]
struct Instant {
    acts: Vec<Act>,
    handovers: Vec<Handover>,
}

/// Returns the meaning of the valid tables, and reports the faults of the others.
pub(super) fn compile(file: &File, names: &Known<'_>, report: &mut Report<'_>) -> Compiled {
    let mut compiler = Compiler {
        names,
        state: State::default(),
        agenda: BTreeMap::new(),
        changes: Vec::new(),
        origins: Vec::new(),
        routes: RoutesOverTime::default(),
        entries: 0,
    };
    if !file.at.is_empty() {
        compiler.state = State::new(names.users, names.links);
        compiler.read(file, report);
        while let Some((time, instant)) = compiler.agenda.pop_first() {
            if compiler.is_full() {
                break;
            }
            let acts = compiler.hand_over(time, instant, report);
            compiler.apply(time, acts, report);
        }
        if compiler.is_full() {
            let message = format!("stands for more than {ENTRIES_MAX} changes and steps of routes");
            report.key(&["at".to_owned()], &message, "expected fewer");
        }
    }
    let timeline = Timeline { forwarding: file.forwarding, changes: compiler.changes };
    Compiled { timeline, origins: compiler.origins, routes: compiler.routes }
}

struct Compiler<'a> {
    names: &'a Known<'a>,
    state: State<'a>,
    /// Future changes.
    agenda: BTreeMap<Time, Instant>,
    changes: Vec<(Time, Change)>,
    origins: Vec<usize>,
    routes: RoutesOverTime,
    /// Number of changes and route steps so far.
    entries: u64,
}

impl Compiler<'_> {
    /// Puts all tables on the agenda, unless their routes alone are too many.
    fn read(&mut self, file: &File, report: &mut Report<'_>) {
        let routes = file.at.iter().flat_map(|at| &at.install).map(|install| {
            let steps = [&install.route, &install.reverse_route].map(|route| route.as_ref().map_or(0, Vec::len));
            (self.names.count_lanes(&install.flow) * steps.iter().sum::<usize>()) as u64
        });
        let steps: u64 = routes.sum();
        if steps > ENTRIES_MAX {
            self.entries = steps;
            return;
        }
        for (index, at) in file.at.iter().enumerate() {
            let table = [String::from("at"), index.to_string()];
            if at.time > Time::ZERO + DURATION_MAX {
                report.value(&below(&table, "time"), "is out of range", "expected at most 200 days (4800 h)");
                continue;
            }
            if [at.up.len(), at.down.len(), at.install.len(), at.withdraw.len(), at.handover.len()] == [0; 5] {
                report.key(&table, "has no effect", "expected up, down, install, withdraw or handover");
            }
            for key in ["waiting", "in_flight"] {
                if at.down.is_empty() && at.handover.is_empty() && !report.is_default(&below(&table, key)) {
                    report.value(
                        &below(&table, key),
                        "has no effect: no link goes down here",
                        "expected down beside it",
                    );
                }
            }
            let origin = |key, index_in| Origin { at: index, key, index: index_in };
            for (n, name) in at.up.iter().enumerate() {
                for link in self.names.links(name, origin("up", n), report) {
                    self.put(at.time, origin("up", n), What::Up { link, is_needed: true });
                }
            }
            for (n, name) in at.withdraw.iter().enumerate() {
                if self.is_full() {
                    return;
                }
                for path in self.names.paths(name, origin("withdraw", n), report) {
                    self.put(at.time, origin("withdraw", n), What::Withdraw(path));
                }
            }
            for (n, install) in at.install.iter().enumerate() {
                self.read_install(at.time, install, origin("install", n), report);
            }
            for (n, name) in at.down.iter().enumerate() {
                for link in self.names.links(name, origin("down", n), report) {
                    let what = What::Down { link, waiting: at.waiting, in_flight: at.in_flight };
                    self.put(at.time, origin("down", n), what);
                }
            }
            for (n, handover) in at.handover.iter().enumerate() {
                let read = Handover::read(handover, at, origin("handover", n), self.names, report);
                self.agenda.entry(at.time).or_default().handovers.extend(read);
            }
        }
    }

    fn read_install(&mut self, time: Time, install: &Install, origin: Origin, report: &mut Report<'_>) {
        let sides = [("route", &install.route), ("reverse_route", &install.reverse_route)];
        if sides.iter().all(|(_, route)| route.is_none()) {
            report.key(&origin.path(), "has no route", "expected route or reverse_route, or both");
        }
        let names = self.names;
        for lane in names.lanes_for_a_route(&install.flow, &below(&origin.path(), "flow"), report) {
            for ((key, written), path) in sides.iter().zip(PathId::both(lane)) {
                let Some(written) = written else { continue };
                match names.route(path, written, &below(&origin.path(), key), report) {
                    Some((start, route)) => self.put(time, origin, What::Install { path, start, route }),
                    // One instance reports the fault for all.
                    None => return,
                }
            }
        }
    }

    /// Puts a change on the agenda.
    fn put(&mut self, time: Time, origin: Origin, what: What) {
        self.count(&what);
        self.agenda.entry(time).or_default().acts.push(Act { origin, what });
    }

    fn count(&mut self, what: &What) {
        self.entries += match what {
            What::Install { route, .. } => 1 + route.len() as u64,
            _ => 1,
        };
    }

    fn is_full(&self) -> bool {
        self.entries > ENTRIES_MAX
    }

    /// Returns the changes of an instant, including those of its handovers. Later changes of handovers go on the
    /// agenda.
    fn hand_over(&mut self, time: Time, instant: Instant, report: &mut Report<'_>) -> Vec<Act> {
        let mut acts = instant.acts;
        let mut handed = BTreeSet::new();
        for handover in instant.handovers {
            if self.is_full() {
                break;
            }
            for (after, what) in handover.changes(&self.state, self.names, &mut handed, report) {
                if after == Duration::ZERO {
                    self.count(&what);
                    acts.push(Act { origin: handover.origin, what });
                } else {
                    self.put(time + after, handover.origin, what);
                }
            }
        }
        let rank = |what: &What| match what {
            What::Up { .. } => 0,
            What::Withdraw(_) => 1,
            What::Install { .. } => 2,
            What::Down { .. } => 3,
        };
        acts.sort_by_key(|act| (rank(&act.what), act.origin.at));
        acts
    }

    /// Applies the changes of an instant in their order, and checks the result.
    fn apply(&mut self, time: Time, acts: Vec<Act>, report: &mut Report<'_>) {
        let taken = |act: &Act| match act.what {
            What::Down { link, waiting, .. } if waiting != Waiting::Kept => Some(link),
            _ => None,
        };
        let taken: BTreeSet<LinkId> = acts.iter().filter_map(taken).collect();
        let mut came = BTreeSet::new();
        let mut installed: BTreeMap<(PathId, NodeId), Origin> = BTreeMap::new();
        let mut rerouted: BTreeSet<LaneId> = BTreeSet::new();
        let (mut gone, mut learned) = (Vec::new(), Vec::new());
        for Act { origin, what } in acts {
            let change = match what {
                What::Up { link, is_needed } => {
                    came.extend(is_needed.then_some(link));
                    match self.state.link(link) {
                        LinkState { away: Some(_), .. } => {}
                        // The fault is reported for the other change.
                        _ if !is_needed || taken.contains(&link) => continue,
                        LinkState { since, .. } => {
                            let message = format!("comes up while it is up, since {}", said(since));
                            self.say(origin, link, &message, "expected a link that is down then", report);
                            continue;
                        }
                    }
                    self.state.up(link, time);
                    Change::Up(link)
                }
                What::Withdraw(path) => {
                    self.state.withdraw(path);
                    rerouted.insert(path.lane());
                    Change::Withdraw(path)
                }
                What::Install { path, start, route } => {
                    if let Some(first) = installed.insert((path, start), origin) {
                        let message = format!("is a second route of {} at {time}", self.names.of(path));
                        let expected = format!("expected one; the first is {}", first.shown());
                        origin.say(&message, &expected, report);
                        continue;
                    }
                    self.state.install(path, &route);
                    rerouted.insert(path.lane());
                    learned.push((origin, self.changes.len()));
                    Change::Install { path, route }
                }
                What::Down { link, waiting, in_flight } => {
                    if came.contains(&link) && waiting != Waiting::Kept {
                        let expected = "expected one of the two, or another time";
                        self.say(origin, link, "goes down at the same instant at which it comes up", expected, report);
                        continue;
                    }
                    if let LinkState { away: Some(_), since } = self.state.link(link) {
                        let message = format!("goes down while it is down, since {}", said(since));
                        self.say(origin, link, &message, "expected a link that is up then", report);
                        continue;
                    }
                    self.state.down(link, waiting, time);
                    gone.extend((waiting != Waiting::Kept).then_some((origin, link)));
                    Change::Down { link, waiting, in_flight }
                }
            };
            self.changes.push((time, change));
            self.origins.push(origin.at);
        }
        self.check(&gone, &learned, report);
        for lane in rerouted {
            let ways = PathId::both(lane).map(|path| self.state.way(path));
            self.routes.later.push(Rerouted { at: time, lane, ways });
        }
    }

    /// Reports a fault of a link. A handover names only one of its links.
    fn say(&self, origin: Origin, link: LinkId, message: &str, expected: &str, report: &mut Report<'_>) {
        match origin.key {
            "handover" => {
                let message = format!("has \"{}\", which {message}", self.names.links[link].name);
                origin.say(&message, expected, report);
            }
            _ => origin.say(message, expected, report),
        }
    }

    /// Rejects links that went down under a route, and routes over links that are down.
    fn check(&self, gone: &[(Origin, LinkId)], learned: &[(Origin, usize)], report: &mut Report<'_>) {
        for &(origin, link) in gone {
            if let Some(&path) = self.state.paths_over(link).first() {
                let message = format!("goes down, and {} leads over it", self.names.of(path));
                let expected =
                    "expected another route for it at the same instant, its withdrawal, or waiting = \"kept\"";
                self.say(origin, link, &message, expected, report);
            }
        }
        for &(origin, change) in learned {
            let Change::Install { path, route } = &self.changes[change].1 else { continue };
            let is_away =
                |link: &&LinkId| matches!(self.state.link(**link).away, Some(waiting) if waiting != Waiting::Kept);
            if let Some(&link) = route.iter().find(is_away) {
                // The link went down at this instant, and the fault is already reported.
                if gone.iter().any(|(_, gone)| *gone == link) && self.state.paths_over(link).contains(path) {
                    continue;
                }
                let since = said(self.state.link(link).since);
                let name = &self.names.links[link].name;
                let message = format!("leads {} over \"{name}\", which is down since {since}", self.names.of(*path));
                origin.say(&message, "expected a link that is up, or that went down with waiting = \"kept\"", report);
            }
        }
    }
}

impl Origin {
    fn path(self) -> Vec<String> {
        [String::from("at"), self.at.to_string(), self.key.to_owned(), self.index.to_string()].to_vec()
    }

    fn shown(self) -> String {
        self.path().join(".")
    }

    /// Reports a fault at this place.
    fn say(self, message: &str, expected: &str, report: &mut Report<'_>) {
        match self.key {
            "install" | "handover" => report.key(&self.path(), message, expected),
            _ => report.value(&self.path(), message, expected),
        }
    }
}

/// Returns an instant for messages.
fn said(since: Time) -> String {
    if since == Time::ZERO {
        return "the start".into();
    }
    since.to_string()
}
