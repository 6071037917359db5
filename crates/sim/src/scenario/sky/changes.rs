//! What changes as places go from one satellite to another, and as something fails.

use super::ground::OverSky;
use super::written::{beam, Drawn, Ends};
use crate::spec::Waiting;
use bentpipe_orbit::sky::scene::{Failed, Failure};
use bentpipe_units::Duration;
use serde_json::{json, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// Spans that touch or overlap as one, in order.
pub(super) fn joined(spans: &mut [(f64, f64)]) -> Vec<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for span in spans.iter() {
        match joined.last_mut().filter(|last| span.0 <= last.1) {
            Some(last) => last.1 = last.1.max(span.1),
            None => joined.push(*span),
        }
    }
    joined
}

/// The tables `[[at]]`: at each instant the flows that take another path, and the links that come and go: those to places
/// with the paths, those of what fails with it.
pub(super) fn changes<'a>(drawn: &Drawn<'_>, names: &[String], links: impl Iterator<Item = &'a Ends>) -> Vec<Json> {
    let mut moments: BTreeMap<Duration, Vec<(usize, usize)>> = BTreeMap::new();
    for (pair, path) in drawn.paths.iter().enumerate() {
        for (number, change) in path.changes.iter().enumerate() {
            if number > 0 || change.nodes.is_empty() {
                moments.entry(Duration::from_secs_f64(change.at_s)).or_default().push((pair, number));
            }
        }
    }
    let mut failures = failures(drawn, links);
    for time in failures.keys() {
        moments.entry(*time).or_default();
    }
    let mut current: Vec<usize> = vec![0; drawn.paths.len()];
    let mut access = Access { used: used(drawn, &current), ..Access::default() };
    let mut tables = Vec::new();
    for (time, changed) in moments {
        let changed: BTreeMap<usize, usize> = changed.into_iter().collect();
        access.settle(drawn, names, (time, &changed), &current, &mut tables);
        let (broken, repaired) = failures.remove(&time).unwrap_or_default();
        access.failing.retain(|ends| !repaired.contains(ends));
        changed.iter().for_each(|(pair, number)| current[*pair] = *number);
        let [mut up, coming, gone] = access.hand_over(drawn, time, used(drawn, &current));
        let (mut install, mut withdraw) = (Vec::new(), Vec::new());
        for (&pair, &number) in &changed {
            match access.has_route(drawn, pair, number) {
                true => install.extend(installed(drawn, names, pair, number)),
                false if access.withdrawn.insert(pair) => {
                    let flows = drawn.ground.flows.iter().filter(|over| over.pair == pair);
                    withdraw.extend(flows.map(|over| over.flow.clone()));
                }
                false => {}
            }
        }
        up.extend(repaired.into_iter().filter(|ends| access.repair(drawn, *ends)));
        let mut table = json!({ "time": time.to_string() });
        let lists = [("install", json!(install)), ("withdraw", json!(withdraw)), ("up", listed(drawn, names, &up))];
        for (key, list) in lists {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                table[key] = list;
            }
        }
        let mut more = downs(drawn, names, &mut table, &coming, &gone);
        let broken: Vec<Ends> = broken.into_iter().filter(|ends| access.fail(*ends)).collect();
        if table.as_object().is_some_and(|table| table.len() > 1) {
            tables.push(table);
        }
        tables.append(&mut more);
        if !broken.is_empty() {
            // What is broken keeps and delivers nothing, whatever a handover does.
            tables.push(json!({ "time": time.to_string(), "down": listed(drawn, names, &broken) }));
        }
    }
    access.settle(drawn, names, (drawn.duration, &BTreeMap::new()), &current, &mut tables);
    tables
}

/// Takes links away that have gone, and links that are still to come: in the table, and in further tables of the same instant, which are
/// returned.
fn downs(drawn: &Drawn<'_>, names: &[String], table: &mut Json, coming: &[Ends], gone: &[Ends]) -> Vec<Json> {
    let (time, waiting) = (table["time"].clone(), drawn.waiting);
    let mut kinds: Vec<(Json, Waiting)> = Vec::new();
    if waiting == Waiting::Moved {
        // Packets that wait to go up are at their sender, which knows the new satellite.
        let sides = |side: &str| gone.iter().map(|ends| format!("{}.{side}", named(drawn, names, ends))).collect();
        kinds.push((listed(drawn, names, coming), Waiting::Kept));
        kinds.push((sides("forward"), Waiting::Rerouted));
        kinds.push((sides("reverse"), Waiting::Moved));
    } else {
        kinds.push((listed(drawn, names, coming.iter().chain(gone)), waiting));
    }
    kinds.retain(|(links, _)| links.as_array().is_some_and(|links| !links.is_empty()));
    let mut kinds = kinds.into_iter();
    if let Some((links, waiting)) = kinds.next() {
        *table = drawn.down(table.take(), links, waiting);
    }
    kinds.map(|(links, waiting)| drawn.down(json!({ "time": time }), links, waiting)).collect()
}

/// The routes of the flows of a pair from its change `number` on.
fn installed(drawn: &Drawn<'_>, names: &[String], pair: usize, number: usize) -> Vec<Json> {
    let nodes = &drawn.paths[pair].changes[number].nodes;
    let route = |over: &OverSky| {
        let way = drawn.way(names, over, nodes);
        let back: Vec<&String> = way.iter().rev().collect();
        json!({ "flow": over.flow, "route": way, "reverse_route": back })
    };
    drawn.ground.flows.iter().filter(|over| over.pair == pair).map(route).collect()
}

/// Links that break, and links that are repaired.
type Broken = (Vec<Ends>, Vec<Ends>);

/// When which of these links break and are repaired.
fn failures<'a>(drawn: &Drawn<'_>, links: impl Iterator<Item = &'a Ends>) -> BTreeMap<Duration, Broken> {
    let mut found: BTreeMap<Duration, Broken> = BTreeMap::new();
    for &ends in links.filter(|_| !drawn.sky.failures.is_empty()) {
        let fails = |failure: &&Failure| match failure.what {
            Failed::Node(node) => node == ends.0 || node == ends.1,
            Failed::Link(a, b) => drawn.ends(a, b) == ends,
        };
        let failures = drawn.sky.failures.iter().filter(fails);
        let mut spans: Vec<(f64, f64)> = failures.map(|failure| (failure.from_s, failure.until_s)).collect();
        for (from, until) in joined(&mut spans).into_iter().filter(|span| span.0 < drawn.duration.as_secs_f64()) {
            found.entry(Duration::from_secs_f64(from)).or_default().0.push(ends);
            if until <= drawn.duration.as_secs_f64() {
                found.entry(Duration::from_secs_f64(until)).or_default().1.push(ends);
            }
        }
    }
    found
}

/// The links to places that the paths use now.
fn used(drawn: &Drawn<'_>, current: &[usize]) -> BTreeSet<Ends> {
    let nodes = drawn.paths.iter().zip(current).map(|(path, number)| &path.changes[*number].nodes);
    let links = nodes.flat_map(|nodes| nodes.windows(2)).map(|pair| drawn.ends(pair[0], pair[1]));
    links.filter(|ends| !drawn.is_satellite(ends.0) && drawn.is_satellite(ends.1)).collect()
}

fn listed<'a>(drawn: &Drawn<'_>, names: &[String], links: impl IntoIterator<Item = &'a Ends>) -> Json {
    links.into_iter().map(|ends| named(drawn, names, ends)).collect::<Vec<_>>().into()
}

/// The link between a place and a satellite, or a beam of it.
fn named(drawn: &Drawn<'_>, names: &[String], ends: &Ends) -> String {
    let [place, satellite] = [ends.0, ends.1].map(|node| names[node as usize].as_str());
    match drawn.is_shared(*ends) {
        true => format!("{place}~{}", beam(satellite)),
        false => format!("{place}~{satellite}"),
    }
}

/// Which links between places and satellites are in use, and which have been taken away.
#[derive(Default)]
struct Access {
    used: BTreeSet<Ends>,
    down: BTreeSet<Ends>,
    /// Those that are still to come up, and when.
    coming: BTreeMap<Ends, Duration>,
    /// Those that are still to go down, and when.
    leaving: BTreeMap<Ends, Duration>,
    /// Those that are out of use, of links between satellites and cables as well.
    failing: BTreeSet<Ends>,
    /// Pairs whose flows have no route: there is no path, or a link of it is still to come up and nobody waits for it.
    withdrawn: BTreeSet<usize>,
}

impl Access {
    /// Links that come up, that go down because they are still to come, and that go down for good, as the places go over to the links
    /// in `used`.
    fn hand_over(&mut self, drawn: &Drawn<'_>, time: Duration, used: BTreeSet<Ends>) -> [Vec<Ends>; 3] {
        let (mut up, mut later, mut down) = (Vec::new(), Vec::new(), Vec::new());
        let gone: Vec<Ends> = self.used.difference(&used).copied().collect();
        for ends in used.difference(&self.used) {
            let is_handover = gone.iter().any(|gone| gone.0 == ends.0);
            self.leaving.remove(ends);
            match drawn.keys.break_before_make.filter(|gap| is_handover && *gap > Duration::ZERO) {
                Some(gap) => {
                    let is_away = !self.down.insert(*ends);
                    // A link that is away and loses what comes is up for an instant, to go away and keep it.
                    let changes = is_away && drawn.waiting == Waiting::Moved && !self.failing.contains(ends);
                    up.extend(changes.then_some(*ends));
                    later.extend((changes || !is_away).then_some(*ends));
                    self.coming.insert(*ends, time + gap);
                }
                None => up.extend(self.down.remove(ends).then_some(*ends)),
            }
        }
        for ends in gone {
            self.coming.remove(&ends);
            match drawn.keys.make_before_break.filter(|overlap| *overlap > Duration::ZERO) {
                Some(overlap) => {
                    self.leaving.insert(ends, time + overlap);
                }
                None => down.extend(self.down.insert(ends).then_some(ends)),
            }
        }
        self.used = used;
        [up, later, down]
    }

    /// Takes a link away that fails; whether it has not been away before.
    fn fail(&mut self, ends: Ends) -> bool {
        self.failing.insert(ends);
        self.down.insert(ends)
    }

    /// Whether a link that fails no more comes back at once: one to a satellite does where its place uses it.
    fn repair(&mut self, drawn: &Drawn<'_>, ends: Ends) -> bool {
        let is_access = !drawn.is_satellite(ends.0) && drawn.is_satellite(ends.1);
        let is_used = self.used.contains(&ends) && !self.coming.contains_key(&ends) || self.leaving.contains_key(&ends);
        (is_used || !is_access) && self.down.remove(&ends)
    }

    /// Whether the flows of a pair have a route from its change `number` on; from then on they count as having one if so.
    fn has_route(&mut self, drawn: &Drawn<'_>, pair: usize, number: usize) -> bool {
        let nodes = &drawn.paths[pair].changes[number].nodes;
        let is_coming = |pair: &[u32]| self.coming.contains_key(&drawn.ends(pair[0], pair[1]));
        let waits = matches!(drawn.waiting, Waiting::Kept | Waiting::Moved);
        let has = !nodes.is_empty() && (waits || !nodes.windows(2).any(is_coming));
        if has {
            self.withdrawn.remove(&pair);
        }
        has
    }

    /// Writes down what ends until `time`: interruptions and overlaps. Pairs in `changed` get another route then.
    fn settle(
        &mut self,
        drawn: &Drawn<'_>,
        names: &[String],
        (time, changed): (Duration, &BTreeMap<usize, usize>),
        current: &[usize],
        tables: &mut Vec<Json>,
    ) {
        let due = |links: &mut BTreeMap<Ends, Duration>| {
            let mut due: BTreeMap<Duration, Vec<Ends>> = BTreeMap::new();
            links.iter().filter(|(_, at)| **at <= time).for_each(|(ends, at)| due.entry(*at).or_default().push(*ends));
            links.retain(|_, at| *at > time);
            due
        };
        for (at, mut links) in due(&mut self.coming) {
            links.retain(|ends| !self.failing.contains(ends));
            self.down.retain(|ends| !links.contains(ends));
            let mut install = Vec::new();
            for pair in self.withdrawn.clone() {
                if !(at == time && changed.contains_key(&pair)) && self.has_route(drawn, pair, current[pair]) {
                    install.extend(installed(drawn, names, pair, current[pair]));
                }
            }
            if !links.is_empty() {
                tables.push(json!({ "time": at.to_string(), "up": listed(drawn, names, &links) }));
            }
            if !install.is_empty() {
                tables.push(json!({ "time": at.to_string(), "install": install }));
            }
        }
        for (at, mut links) in due(&mut self.leaving) {
            links.retain(|ends| self.down.insert(*ends));
            let mut table = json!({ "time": at.to_string() });
            let more = downs(drawn, names, &mut table, &[], &links);
            if !links.is_empty() {
                tables.push(table);
                tables.extend(more);
            }
        }
    }
}
