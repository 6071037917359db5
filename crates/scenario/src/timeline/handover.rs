//! Expands a handover to the changes that it stands for.

use super::names::Known;
use super::state::State;
use super::{Origin, What};
use crate::keys;
use crate::report::{below, Report};
use bentpipe_model::ids::{LinkId, NodeId, PathId};
use bentpipe_model::spec::{InFlight, Waiting, DURATION_MAX};
use bentpipe_units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Handover with known names.
pub(super) struct Handover {
    pub(super) origin: Origin,
    between: Between,
    plan: Plan,
    waiting: Waiting,
    in_flight: InFlight,
}

/// Ends of a handover.
enum Between {
    /// Two nodes.
    Nodes(NodeId, NodeId),
    /// Links, each with the new link between the same nodes.
    Links(BTreeMap<LinkId, LinkId>),
}

/// Order of the changes.
enum Plan {
    /// The old links go down this much later.
    Overlap(Duration),
    /// The new links come up this much later.
    Gap(Duration),
}

/// New route of each affected path, with the links that it leaves and the links that it takes.
#[derive(Default)]
struct Moves {
    ways: BTreeMap<PathId, Vec<LinkId>>,
    old: BTreeSet<LinkId>,
    new: BTreeSet<LinkId>,
}

impl Handover {
    /// Reads a handover. Returns nothing if it is invalid.
    pub(super) fn read(
        written: &keys::Handover,
        at: &keys::At,
        origin: Origin,
        names: &Known<'_>,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let path = origin.path();
        let plan = match (written.make_before_break, written.break_before_make) {
            (Some(_), Some(_)) => {
                let expected = "expected make_before_break or break_before_make";
                report.key(&path, "has two rules for the first of its two links", expected);
                return None;
            }
            (None, Some(Duration::ZERO)) => {
                let key = below(&path, "break_before_make");
                report.value(&key, "is too small", "expected more than 0 s, or no such key");
                return None;
            }
            (None, Some(gap)) => Plan::Gap(gap),
            (overlap, None) => Plan::Overlap(overlap.unwrap_or(Duration::ZERO)),
        };
        let (key, span) = match plan {
            Plan::Overlap(span) => ("make_before_break", span),
            Plan::Gap(span) => ("break_before_make", span),
        };
        if span > DURATION_MAX || at.time + span > Time::ZERO + DURATION_MAX {
            let message = "makes the handover end too late";
            report.value(&below(&path, key), message, "expected its end at 200 days (4800 h) at most");
            return None;
        }
        let between = Between::read(written, &path, names, report)?;
        Some(Self { origin, between, plan, waiting: at.waiting, in_flight: at.in_flight })
    }

    /// Returns the changes, each with its delay. `handed` are the paths that other handovers moved at the same instant.
    pub(super) fn changes(
        &self,
        state: &State<'_>,
        names: &Known<'_>,
        handed: &mut BTreeSet<PathId>,
        report: &mut Report<'_>,
    ) -> Vec<(Duration, What)> {
        let Some(moves) = self.moves(state, names, report) else { return Vec::new() };
        if moves.ways.is_empty() {
            let key = below(&self.origin.path(), "from");
            report.value(
                &key,
                "has no effect: no route passes it",
                "expected a node or link of a route at that instant",
            );
            return Vec::new();
        }
        for &path in moves.ways.keys() {
            if !handed.insert(path) {
                let message = format!("moves {}, and another handover does so at the same instant", names.of(path));
                self.origin.say(&message, "expected install with the whole route instead", report);
                return Vec::new();
            }
        }
        let Moves { ways, old, new } = moves;
        let paths: Vec<PathId> = ways.keys().copied().collect();
        let down = |waiting| move |link| What::Down { link, waiting, in_flight: self.in_flight };
        let leave = old.into_iter().map(down(self.waiting));
        let come: Vec<LinkId> = new.into_iter().collect();
        let up = || come.iter().map(|&link| What::Up { link, is_needed: false });
        let start = |path| state.start(path);
        let learn = ways.into_iter().map(|(path, route)| What::Install { path, start: start(path), route });
        let (now, later): (Vec<What>, Vec<What>) = match self.plan {
            Plan::Overlap(_) => (up().chain(learn).collect(), leave.collect()),
            Plan::Gap(_) if self.waiting == Waiting::Lost => {
                (leave.chain(paths.into_iter().map(What::Withdraw)).collect(), up().chain(learn).collect())
            }
            Plan::Gap(_) => {
                let keeps = |link: &&LinkId| state.link(**link).away == Some(Waiting::Kept);
                let changed: Vec<LinkId> = come.iter().filter(|link| !keeps(link)).copied().collect();
                // A link that is down and loses packets comes up, so that it can go down with another rule.
                let reset: Vec<What> = changed.iter().map(|&link| What::Up { link, is_needed: false }).collect();
                let keep = changed.into_iter().map(down(Waiting::Kept));
                (reset.into_iter().chain(leave).chain(keep).chain(learn).collect(), up().collect())
            }
        };
        let (Plan::Overlap(span) | Plan::Gap(span)) = self.plan;
        let now = now.into_iter().map(|what| (Duration::ZERO, what));
        now.chain(later.into_iter().map(|what| (span, what))).collect()
    }

    /// Returns the new routes of the affected paths, or `None` if a path cannot move.
    fn moves(&self, state: &State<'_>, names: &Known<'_>, report: &mut Report<'_>) -> Option<Moves> {
        let mut moves = Moves::default();
        match &self.between {
            Between::Links(pairs) => {
                for (&old, &new) in pairs {
                    moves.old.insert(old);
                    moves.new.insert(new);
                    for &path in state.paths_over(old) {
                        let way = state.way(path).into_iter().map(|link| pairs.get(&link).copied().unwrap_or(link));
                        moves.ways.insert(path, way.collect());
                    }
                }
            }
            &Between::Nodes(from, to) => {
                let paths: BTreeSet<PathId> =
                    names.graph.out(from).iter().flat_map(|&link| state.paths_over(link)).copied().collect();
                for path in paths.into_iter().filter(|&path| state.start(path) != from) {
                    self.move_over((from, to), path, state.way(path), names, &mut moves, report)?;
                }
            }
        }
        Some(moves)
    }

    /// Moves a path from one node to another.
    fn move_over(
        &self,
        (from, to): (NodeId, NodeId),
        path: PathId,
        way: Vec<LinkId>,
        names: &Known<'_>,
        moves: &mut Moves,
        report: &mut Report<'_>,
    ) -> Option<()> {
        if way.iter().any(|&link| [names.links[link].from, names.links[link].to].contains(&to)) {
            let message = format!("brings {} through \"{}\" twice", names.of(path), names.node(to));
            self.origin.say(&message, "expected a node that it does not pass", report);
            return None;
        }
        let mut moved = Vec::with_capacity(way.len());
        for link in way {
            let ends = [names.links[link].from, names.links[link].to];
            if !ends.contains(&from) {
                moved.push(link);
                continue;
            }
            let [here, there] = ends.map(|end| if end == from { to } else { end });
            let (Some(found), second) = names.graph.joining(here, there) else {
                let message = format!("has no link from \"{}\" to \"{}\"", names.node(here), names.node(there));
                let expected = format!("expected one, for {}, or install with another route", names.of(path));
                self.origin.say(&message, &expected, report);
                return None;
            };
            if second.is_some() {
                let message = format!(
                    "is ambiguous: several links lead from \"{}\" to \"{}\"",
                    names.node(here),
                    names.node(there)
                );
                self.origin.say(&message, "expected install with a route that names the link", report);
                return None;
            }
            moves.old.insert(link);
            moves.new.insert(found);
            moved.push(found);
        }
        moves.ways.insert(path, moved);
        Some(())
    }
}

impl Between {
    fn read(written: &keys::Handover, path: &[String], names: &Known<'_>, report: &mut Report<'_>) -> Option<Self> {
        if written.from == written.to {
            report.value(&below(path, "to"), "is the same as from", "expected two nodes or two links");
            return None;
        }
        let both = [("from", &written.from), ("to", &written.to)];
        let [from, to] = both.map(|(key, name)| {
            let found = (names.nodes.get(name.as_str()).copied(), names.find_links(name));
            if found.0.is_none() && found.1.is_empty() {
                let known = names.links.iter().filter_map(|link| link.name.strip_suffix(".forward"));
                let hint = report.findings.guess(name, names.nodes.keys().copied().chain(known));
                report.suggest(&below(path, key), "is not a node or a link", "expected two nodes or two links", hint);
            }
            found
        });
        match (from, to) {
            ((Some(from), _), (Some(to), _)) => Some(Self::Nodes(from, to)),
            ((_, old), (_, new)) if !old.is_empty() && !new.is_empty() => {
                let ends = |link: LinkId| (names.links[link].from, names.links[link].to);
                let pair = |&link: &LinkId| {
                    new.iter().find(|&&other| other != link && ends(other) == ends(link)).map(|&other| (link, other))
                };
                let pairs: Option<BTreeMap<LinkId, LinkId>> = old.iter().map(pair).collect();
                if pairs.is_none() {
                    let message = format!("does not join the nodes that \"{}\" joins", written.from);
                    report.value(&below(path, "to"), &message, "expected a link beside it");
                }
                pairs.map(Self::Links)
            }
            ((None, old), _) if old.is_empty() => None,
            (_, (None, new)) if new.is_empty() => None,
            _ => {
                let message = format!("is not what \"{}\" is", written.from);
                report.value(&below(path, "to"), &message, "expected two nodes or two links");
                None
            }
        }
    }
}
