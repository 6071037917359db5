//! Computes the changes of links and routes: handovers between satellites, and failures.

use super::detours::Detour;
use super::drawn::{Drawn, Ends, Spans};
use super::ground::OverSky;
use super::several::Uses;
use bentpipe_model::spec::Waiting;
use bentpipe_orbit::sky::scene::{Failed, Failure};
use bentpipe_units::Duration;
use serde_json::{json, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// Merges spans that touch or overlap, in order.
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

/// Constellation, with the names of its nodes and its links.
pub(super) struct WrittenSky<'a> {
    pub(super) drawn: &'a Drawn<'a>,
    pub(super) names: Vec<String>,
    pub(super) links: Vec<Ends>,
    /// Times in s when each link is on a path.
    pub(super) uses: Spans,
    /// Ways of packets from satellites that have left a path.
    pub(super) detours: Vec<Detour>,
}

/// State of a constellation during the walk through the run.
struct Part<'a> {
    number: usize,
    drawn: &'a Drawn<'a>,
    names: &'a [String],
    uses: &'a Spans,
    detours: &'a [Detour],
    failures: BTreeMap<Duration, Broken>,
    /// Number of the path's present change, for each pair.
    current: Vec<usize>,
    access: Access,
}

impl<'a> Part<'a> {
    fn new(number: usize, of: &'a WrittenSky<'a>) -> Self {
        let WrittenSky { drawn, names, links, uses, detours } = of;
        let current = vec![0; drawn.paths.len()];
        let used = used(drawn, &current);
        let is_absent = |ends: &&Ends| !drawn.media.is_empty() && drawn.is_user(**ends) && !used.contains(*ends);
        let down = links.iter().filter(is_absent).copied().collect();
        let access = Access { used, down, ..Access::default() };
        Self { number, drawn, names, uses, detours, failures: failures(drawn, links.iter()), current, access }
    }
}

/// Changes at an instant.
#[derive(Clone, Default)]
struct Moment {
    /// For each constellation, the pairs whose path changes, with the number of the change.
    changed: Vec<BTreeMap<usize, usize>>,
    /// Pairs that change to another constellation, with its number.
    turned: BTreeMap<usize, usize>,
}

fn moments(parts: &[Part<'_>], uses: &Uses) -> BTreeMap<Duration, Moment> {
    let empty = || Moment { changed: vec![BTreeMap::new(); parts.len()], ..Moment::default() };
    let mut moments: BTreeMap<Duration, Moment> = BTreeMap::new();
    for (part, of) in parts.iter().enumerate() {
        for (pair, path) in of.drawn.paths.iter().enumerate() {
            for (number, change) in path.changes.iter().enumerate() {
                if number > 0 || change.nodes.is_empty() {
                    let at = Duration::from_secs_f64(change.at_s);
                    moments.entry(at).or_insert_with(empty).changed[part].insert(pair, number);
                }
            }
        }
        for time in of.failures.keys() {
            moments.entry(*time).or_insert_with(empty);
        }
    }
    for (pair, uses) in uses.iter().enumerate() {
        for (at, part) in &uses[1..] {
            moments.entry(Duration::from_secs_f64(*at)).or_insert_with(empty).turned.insert(pair, *part);
        }
    }
    moments
}

/// Returns the tables `[[at]]`: for each instant the flows with a new path, and the links that come and go. Links to
/// places change with the paths, other links with failures.
pub(super) fn changes(all: &[WrittenSky<'_>], uses: &Uses) -> Vec<Json> {
    let mut parts: Vec<Part> = all.iter().enumerate().map(|(number, of)| Part::new(number, of)).collect();
    let mut over: Vec<usize> = uses.iter().map(|uses| uses[0].1).collect();
    let mut tables = Vec::new();
    // A terminal has capacity only in the medium of the satellite that its place uses.
    let absent: Vec<String> = parts.iter().flat_map(|part| part.named(&part.access.down)).collect();
    if !absent.is_empty() {
        tables.push(json!({ "time": "0 s", "down": absent }));
    }
    for (time, moment) in moments(&parts, uses) {
        let mut table = json!({ "time": time.to_string() });
        let (mut up, mut repairs, mut more, mut breaks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (part, changed) in parts.iter_mut().zip(&moment.changed) {
            part.settle(time, changed, &over, &mut tables);
            let (broken, repaired) = part.failures.remove(&time).unwrap_or_default();
            part.access.failing.retain(|ends| !repaired.contains(ends));
            part.access.failing.extend(&broken);
            changed.iter().for_each(|(pair, number)| part.current[*pair] = *number);
            let used = used(part.drawn, &part.current);
            let Handed { came, coming, short, gone } = part.access.hand_over(part.drawn, part.uses, time, used);
            up.extend(part.named(&came));
            breaks.push(broken);
            repairs.push(repaired);
            more.push((coming, short, gone));
        }
        let (mut install, withdraw) = routes(&mut parts, &mut over, &moment);
        for (part, (.., gone)) in parts.iter().zip(&more) {
            // Before the routes of paths, which most packets follow.
            install.splice(0..0, part.detoured(time, gone, &over));
        }
        let mut downs = Vec::new();
        let mut broken = Vec::new();
        for (number, part) in parts.iter_mut().enumerate() {
            let repaired: Vec<Ends> = std::mem::take(&mut repairs[number]);
            let repaired: Vec<Ends> =
                repaired.into_iter().filter(|ends| part.access.repair(part.drawn, *ends)).collect();
            up.extend(part.named(&repaired));
            let (coming, short, gone) = &more[number];
            downs.extend(part.downs(time, [coming, short, gone]));
            let fails: Vec<Ends> = breaks[number].iter().copied().filter(|ends| part.access.fail(*ends)).collect();
            broken.extend(part.named(&fails));
        }
        for (key, list) in [("install", json!(install)), ("withdraw", json!(withdraw)), ("up", json!(up))] {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                table[key] = list;
            }
        }
        let mut downs = downs.into_iter();
        if let (Some(Json::Object(first)), Some(table)) = (downs.next(), table.as_object_mut()) {
            table.extend(first);
        }
        if table.as_object().is_some_and(|table| table.len() > 1) {
            tables.push(table);
        }
        tables.extend(downs);
        if !broken.is_empty() {
            // A broken link loses its packets. The keys of a handover do not apply.
            tables.push(json!({ "time": time.to_string(), "down": broken }));
        }
    }
    for part in &mut parts {
        part.settle(part.drawn.duration, &BTreeMap::new(), &over, &mut tables);
    }
    tables
}

/// Returns the new routes of flows at an instant, and the flows that lose their route. `over` is the constellation of
/// each pair.
fn routes(parts: &mut [Part<'_>], over: &mut [usize], moment: &Moment) -> (Vec<Json>, Vec<String>) {
    let mut pairs: BTreeSet<usize> = moment.turned.keys().copied().collect();
    let mut without = BTreeSet::new();
    for (&pair, &to) in &moment.turned {
        if parts[over[pair]].access.withdrawn.remove(&pair) {
            without.insert(pair);
        }
        over[pair] = to;
    }
    for (number, changed) in moment.changed.iter().enumerate() {
        pairs.extend(changed.keys().filter(|pair| over[**pair] == number));
    }
    let (mut install, mut withdraw) = (Vec::new(), Vec::new());
    for pair in pairs {
        let Part { drawn, names, current, access, .. } = &mut parts[over[pair]];
        if access.has_route(drawn, pair, current[pair]) {
            install.extend(installed(drawn, names, pair, current[pair]));
        } else if access.withdrawn.insert(pair) && !without.contains(&pair) {
            let flows = drawn.ground.flows.iter().filter(|over| over.pair == pair);
            withdraw.extend(flows.map(|over| over.flow.clone()));
        }
    }
    (install, withdraw)
}

/// Returns the routes of a pair's flows from its change `number` on.
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

/// Returns the times when these links break and when they are repaired.
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

/// Returns the links to places that the present paths use.
fn used(drawn: &Drawn<'_>, current: &[usize]) -> BTreeSet<Ends> {
    let nodes = drawn.paths.iter().zip(current).map(|(path, number)| &path.changes[*number].nodes);
    let links = nodes.flat_map(|nodes| nodes.windows(2)).map(|pair| drawn.ends(pair[0], pair[1]));
    links.filter(|ends| !drawn.is_satellite(ends.0) && drawn.is_satellite(ends.1)).collect()
}

/// Returns the end in s of the use of a link that begins at `time`.
fn end_of_use(uses: &Spans, ends: Ends, time: Duration) -> f64 {
    let spans = uses.get(&ends).map_or(&[][..], Vec::as_slice);
    let use_at = spans.iter().find(|span| time.as_secs_f64() < span.1);
    use_at.map_or(f64::INFINITY, |span| span.1)
}

/// State of the links between places and satellites: in use, or removed.
#[derive(Default)]
struct Access {
    used: BTreeSet<Ends>,
    down: BTreeSet<Ends>,
    /// Links that will come up, with the time.
    coming: BTreeMap<Ends, Duration>,
    /// Coming links that their place leaves before they are up. Packets do not wait for them.
    short: BTreeSet<Ends>,
    /// Links that will go down, with the time.
    leaving: BTreeMap<Ends, Duration>,
    /// Failed links, including links between satellites and cables.
    failing: BTreeSet<Ends>,
    /// Pairs whose flows have no route: they have no path, or a link of the path will come up later and packets do not
    /// wait for it.
    withdrawn: BTreeSet<usize>,
}

/// Links that change at a handover.
#[derive(Default)]
struct Handed {
    came: Vec<Ends>,
    /// Links that go down until they come up later, and those that their place leaves before.
    coming: Vec<Ends>,
    short: Vec<Ends>,
    /// Links that go down for good.
    gone: Vec<Ends>,
}

impl Access {
    /// Moves the places to the links in `used`. `uses` has the times when they use each link.
    fn hand_over(&mut self, drawn: &Drawn<'_>, uses: &Spans, time: Duration, used: BTreeSet<Ends>) -> Handed {
        let mut handed = Handed::default();
        let gone: Vec<Ends> = self.used.difference(&used).copied().collect();
        for ends in used.difference(&self.used) {
            let is_handover = gone.iter().any(|gone| gone.0 == ends.0);
            self.leaving.remove(ends);
            match drawn.keys.break_before_make.filter(|gap| is_handover && *gap > Duration::ZERO) {
                Some(gap) => {
                    let is_away = !self.down.insert(*ends);
                    let is_short = end_of_use(uses, *ends, time) < (time + gap).min(drawn.duration).as_secs_f64();
                    // A link that is down loses packets. It comes up for an instant, so that it can go down again and
                    // keep them.
                    let keeps = drawn.keeps() && !is_short;
                    let changes = is_away && keeps && !self.failing.contains(ends);
                    handed.came.extend(changes.then_some(*ends));
                    let later = if drawn.keeps() && is_short { &mut handed.short } else { &mut handed.coming };
                    later.extend((changes || !is_away).then_some(*ends));
                    self.short.extend(is_short.then_some(*ends));
                    self.coming.insert(*ends, time + gap);
                }
                None => handed.came.extend(self.down.remove(ends).then_some(*ends)),
            }
        }
        for ends in gone {
            self.coming.remove(&ends);
            self.short.remove(&ends);
            match drawn.keys.make_before_break.filter(|overlap| *overlap > Duration::ZERO) {
                Some(overlap) => {
                    self.leaving.insert(ends, time + overlap);
                }
                // Failed links are removed as failures.
                None if self.failing.contains(&ends) => {}
                None => handed.gone.extend(self.down.insert(ends).then_some(ends)),
            }
        }
        self.used = used;
        handed
    }

    /// Whether a place has a link to a satellite.
    fn is_served(&self, place: u32) -> bool {
        self.used.iter().any(|ends| ends.0 == place)
    }

    /// Removes a failed link. Returns whether it was up before.
    fn fail(&mut self, ends: Ends) -> bool {
        self.failing.insert(ends);
        self.down.insert(ends)
    }

    /// Whether a repaired link comes up immediately. A link to a satellite does so if its place uses it.
    fn repair(&mut self, drawn: &Drawn<'_>, ends: Ends) -> bool {
        let is_access = !drawn.is_satellite(ends.0) && drawn.is_satellite(ends.1);
        let is_used = self.used.contains(&ends) && !self.coming.contains_key(&ends) || self.leaving.contains_key(&ends);
        (is_used || !is_access) && self.down.remove(&ends)
    }

    /// Whether the flows of a pair have a route from its change `number` on. If so, records that they have one.
    fn has_route(&mut self, drawn: &Drawn<'_>, pair: usize, number: usize) -> bool {
        let nodes = &drawn.paths[pair].changes[number].nodes;
        let is_closed = |pair: &[u32]| {
            let ends = drawn.ends(pair[0], pair[1]);
            self.coming.contains_key(&ends) && (!drawn.keeps() || self.short.contains(&ends))
        };
        let has = !nodes.is_empty() && !nodes.windows(2).any(is_closed);
        if has {
            self.withdrawn.remove(&pair);
        }
        has
    }
}

impl Part<'_> {
    /// Returns the names of links, or of their beams.
    fn named<'b>(&self, links: impl IntoIterator<Item = &'b Ends>) -> Vec<String> {
        links.into_iter().map(|ends| self.drawn.link_name(self.names, *ends)).collect()
    }

    /// Returns the new routes from satellites whose links to a place end, for packets that wait there or come later.
    fn detoured(&self, time: Duration, gone: &[Ends], over: &[usize]) -> Vec<Json> {
        let is_due = |detour: &&Detour| {
            let (pair, has_route) = (detour.pair, !self.access.withdrawn.contains(&detour.pair));
            detour.at == time && gone.contains(&detour.left) && over[pair] == self.number && has_route
        };
        self.detours.iter().filter(is_due).flat_map(|of| of.installed(self.drawn, self.names)).collect()
    }

    /// Returns the tables that take links down: links that come up later, those that are left before, and links that are
    /// gone.
    fn downs(&self, time: Duration, [coming, short, gone]: [&[Ends]; 3]) -> Vec<Json> {
        let waiting = self.drawn.waiting;
        let mut kinds: Vec<(Vec<String>, Waiting)> = vec![(self.named(short), Waiting::Lost)];
        if waiting == Waiting::Moved {
            let sides = |links: &[Ends], side: &str| -> Vec<String> {
                self.named(links).iter().map(|name| format!("{name}.{side}")).collect()
            };
            // The ground station of another constellation does not have this constellation's packets.
            let is_left = |ends: &Ends| !self.drawn.constellation.is_empty() && !self.access.is_served(ends.0);
            let (left, handed): (Vec<Ends>, Vec<Ends>) = gone.iter().partition(|ends| is_left(ends));
            // Packets for the link up wait at their sender, which knows the new satellite.
            kinds.push((self.named(coming), Waiting::Kept));
            kinds.push((sides(gone, "forward"), Waiting::Rerouted));
            kinds.push((sides(&handed, "reverse"), Waiting::Moved));
            kinds.push((sides(&left, "reverse"), Waiting::Lost));
        } else if waiting == Waiting::Kept {
            kinds.push((self.named(coming), Waiting::Kept));
            kinds.push((self.named(gone), Waiting::Rerouted));
        } else {
            kinds.push((self.named(coming.iter().chain(gone)), waiting));
        }
        kinds.retain(|(links, _)| !links.is_empty());
        kinds.into_iter().map(|(links, waiting)| self.drawn.down(time, json!(links), waiting)).collect()
    }

    /// Writes the interruptions and overlaps that end until `time`. Pairs in `changed` get another route then.
    fn settle(&mut self, time: Duration, changed: &BTreeMap<usize, usize>, over: &[usize], tables: &mut Vec<Json>) {
        let due = |links: &mut BTreeMap<Ends, Duration>| {
            let mut due: BTreeMap<Duration, Vec<Ends>> = BTreeMap::new();
            links.iter().filter(|(_, at)| **at <= time).for_each(|(ends, at)| due.entry(*at).or_default().push(*ends));
            links.retain(|_, at| *at > time);
            due
        };
        for (at, mut links) in due(&mut self.access.coming) {
            self.access.short.retain(|ends| !links.contains(ends));
            links.retain(|ends| !self.access.failing.contains(ends));
            self.access.down.retain(|ends| !links.contains(ends));
            let mut install = Vec::new();
            for pair in self.access.withdrawn.clone() {
                let number = self.current[pair];
                if !(at == time && changed.contains_key(&pair)) && self.access.has_route(self.drawn, pair, number) {
                    install.extend(installed(self.drawn, self.names, pair, number));
                }
            }
            if !links.is_empty() {
                tables.push(json!({ "time": at.to_string(), "up": self.named(&links) }));
            }
            if !install.is_empty() {
                tables.push(json!({ "time": at.to_string(), "install": install }));
            }
        }
        for (at, mut links) in due(&mut self.access.leaving) {
            links.retain(|ends| self.access.down.insert(*ends));
            let install = self.detoured(at, &links, over);
            if !install.is_empty() {
                tables.push(json!({ "time": at.to_string(), "install": install }));
            }
            tables.extend(self.downs(at, [&[], &[], &links]));
        }
    }
}
