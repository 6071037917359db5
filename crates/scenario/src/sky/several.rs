//! Several constellations in one sky: their keys, and their use by flows.
//!
//! Each constellation is a sky with its own satellites, gateways, links and paths. A place always keeps a link to a
//! satellite of each constellation that it uses, even while its packets take another constellation.

use super::gaps::{per_cent, EXPLAINED};
use super::{say, Part};
use crate::check;
use crate::keys::{Over, Sky as Keys};
use crate::report::{Findings, Found};
use crate::schema;
use crate::tree::{quoted, Place, Tree, Value};
use bentpipe_orbit::sky::presets::PRESETS;
use bentpipe_orbit::sky::route::{Gap, Route};
use bentpipe_orbit::sky::SkyError;
use bentpipe_units::settings::Typed;
use bentpipe_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Number of changes of constellation in a note.
const LISTED: usize = 6;

/// One constellation.
pub(super) struct Constellation {
    /// Name. Empty if it is the only constellation.
    pub(super) name: String,
    pub(super) keys: Keys,
    /// Its keys as written, in the form of `[sky]`.
    pub(super) raw: Tree,
    /// Keys that override those of `[sky]`.
    own: BTreeSet<String>,
}

impl Constellation {
    /// Whether a flow between these places may use it.
    pub(super) fn serves(&self, places: [&str; 2]) -> bool {
        places.iter().all(|place| self.is_used_at(place))
    }

    fn is_used_at(&self, place: &str) -> bool {
        let over = self.keys.place.get(place).map_or(&[][..], |place| &place.over);
        self.name.is_empty() || over.is_empty() || over.contains(&self.name)
    }

    /// Converts the paths of problems to those of the file: the constellation's own keys are below `sky.constellation`.
    pub(super) fn locate(&self, found: &mut [Found]) {
        for problem in found.iter_mut().map(|found| &mut found.problem).filter(|_| !self.name.is_empty()) {
            let key = problem.path.strip_prefix("sky.").map(|below| below.split('.').next().unwrap_or(below));
            if key.map_or(problem.path == "sky", |key| self.own.contains(key)) {
                let path = problem.path.replacen("sky", &format!("sky.constellation.{}", self.name), 1);
                problem.message = problem.message.replacen(&problem.path, &path, 1);
                problem.path = path;
            }
        }
    }
}

/// Returns the constellations of the sky in the order in which flows use them, or `None` if they are invalid.
pub(super) fn split(keys: Keys, raw: &Tree, findings: &mut Findings) -> Option<Vec<Constellation>> {
    let before = findings.found.len();
    let Over::Several(names) = keys.over.clone() else {
        are_not_used(&keys, raw, findings);
        ages_are_used(&[&keys.over], raw, findings);
        let one = Constellation { name: String::new(), keys, raw: raw.clone(), own: BTreeSet::new() };
        return (findings.found.len() == before).then(|| vec![one]);
    };
    check_list(&names, &keys, raw, findings);
    if findings.found.len() > before {
        return None;
    }
    let all = names.iter().enumerate().map(|(number, name)| constellation(number, name, raw, findings));
    let all: Vec<Constellation> = all.collect::<Option<_>>()?;
    let before = findings.found.len();
    ages_are_used(&all.iter().map(|one| &one.keys.over).collect::<Vec<_>>(), raw, findings);
    if findings.found.len() > before {
        return None;
    }
    if let Some(file) = all.iter().find(|one| keys.start.is_none() && matches!(one.keys.over, Over::File(_))) {
        let message = format!("has no start, and the elements of {} have their own", quoted(&file.name));
        say(raw, findings, &["sky", "over"], &message, "expected start, the same instant for all constellations");
        return None;
    }
    Some(all)
}

/// Rejects keys of several constellations for a single one.
fn are_not_used(keys: &Keys, raw: &Tree, findings: &mut Findings) {
    let expected = "expected it with a list of constellations: over = [\"leo\", \"geo\"]";
    for key in ["constellation", "back_after"].into_iter().filter(|key| raw.get(key).is_some()) {
        say(raw, findings, &["sky", key], "is for several constellations", expected);
    }
    for (name, _) in keys.place.iter().filter(|(_, place)| !place.over.is_empty()) {
        say(raw, findings, &["sky", "place", name, "over"], "is for several constellations", expected);
    }
}

/// Rejects an age of elements without a file of elements.
fn ages_are_used(overs: &[&Over], raw: &Tree, findings: &mut Findings) {
    if raw.get("elements_age_max").is_some() && !overs.iter().any(|over| matches!(over, Over::File(_))) {
        let expected = "expected it with a file: over = { elements = \"FILE\" }";
        say(raw, findings, &["sky", "elements_age_max"], "is for elements of a file", expected);
    }
}

/// Checks the list, and the keys that name its constellations.
fn check_list(names: &[String], keys: &Keys, raw: &Tree, findings: &mut Findings) {
    if names.is_empty() {
        return say(raw, findings, &["sky", "over"], "has no constellation", "expected one or more names");
    }
    let presets = || PRESETS.iter().map(|preset| preset.name);
    for (number, name) in names.iter().enumerate() {
        let place = &raw.at(["over", &number.to_string()]).place;
        let shown = format!("sky.over[{number}]");
        let is_own = keys.constellation.get(name).is_some_and(|own| own.over.is_some());
        if !is_own && !presets().any(|preset| preset == name) {
            let known = keys.constellation.keys().map(String::as_str).chain(presets());
            let guess = findings.guess(name, known);
            let message = format!("{shown} = {} is not a constellation", quoted(name));
            let expected = format!(
                "expected a name of bentpipe list constellations, or a table [sky.constellation.{name}] with over"
            );
            findings.add(place, &shown, message, expected, guess);
        } else if names[..number].contains(name) {
            let message = format!("{shown} = {} is in the list twice", quoted(name));
            findings.add(place, &shown, message, "expected each constellation once", String::new());
        }
    }
    let unknown = |name: &str, path: &[&str], place: &Place, findings: &mut Findings| {
        let guess = findings.guess(name, names.iter().map(String::as_str));
        let shown = path.join(".");
        let message = format!("{shown}: {} is not in sky.over", quoted(name));
        findings.add(place, &shown, message, format!("expected one of {}", names.join(", ")), guess);
    };
    for (name, own) in &keys.constellation {
        if !names.contains(name) {
            unknown(name, &["sky", "constellation", name], &raw.at(["constellation", name]).key, findings);
        }
        if matches!(own.over, Some(Over::Several(_))) {
            let path = ["sky", "constellation", name, "over"];
            say(raw, findings, &path, "is a list", "expected one constellation: the list is sky.over");
        }
    }
    for (name, place) in &keys.place {
        for (number, one) in place.over.iter().enumerate().filter(|(_, one)| !names.contains(one)) {
            let written = &raw.at(["place", name, "over", &number.to_string()]).place;
            unknown(one, &["sky", "place", name, "over"], written, findings);
        }
    }
    for key in ["disjoint", "failure"].into_iter().filter(|key| raw.get(key).is_some()) {
        let expected = match key {
            "failure" => "expected [[sky.constellation.NAME.failure]]",
            _ => "expected one constellation in sky.over",
        };
        say(raw, findings, &["sky", key], "is for one constellation, and there are several", expected);
    }
}

/// Returns a constellation of the list, with the keys of `[sky]` that it does not override.
fn constellation(number: usize, name: &str, raw: &Tree, findings: &mut Findings) -> Option<Constellation> {
    let mut table = raw.table()?.clone();
    let own = table.remove("constellation").and_then(|all| all.get(name)?.table().cloned()).unwrap_or_default();
    table.remove("back_after");
    let over = raw.at(["over", &number.to_string()]);
    let named = Tree { key: over.place.clone(), ..Tree::new(Value::Text(name.to_owned()), over.place.clone()) };
    table.insert("over".into(), named);
    // Two keys have the same meaning: the one of the constellation replaces both.
    for pair in [["elevation_min", "range_max_km"], ["make_before_break", "break_before_make"]] {
        if pair.iter().any(|key| own.contains_key(*key)) {
            pair.iter().for_each(|key| drop(table.remove(*key)));
        }
    }
    let keys: BTreeSet<String> = own.keys().cloned().collect();
    table.extend(own);
    let raw = Tree { value: Value::Table(table), ..raw.clone() };
    let mut written = raw.clone();
    check::complete(schema::sky(), &mut written);
    match <Keys as Typed>::read(&written.to_value()) {
        Ok(read) => Some(Constellation { name: name.to_owned(), keys: read, raw, own: keys }),
        Err(error) => {
            let path = ["sky", "constellation", name];
            say(&raw, findings, &path, &format!("is no sky: {error}"), "");
            None
        }
    }
}

/// Constellations that each pair of places uses, from the start of the run: time in s, and number.
pub(super) type Uses = Vec<Vec<(f64, usize)>>;

/// Returns the constellations that pairs use in a run: at any time the first that has a path.
pub(super) fn uses(parts: &[Part], back_after: Duration, run: Duration) -> Uses {
    let pairs = parts.first().map_or(0, |part| part.paths.len());
    let of = |pair: usize| {
        let paths: Vec<&Route> = parts.iter().map(|part| &part.paths[pair]).collect();
        used(&paths, back_after.as_secs_f64(), run.as_secs_f64())
    };
    (0..pairs).map(of).collect()
}

fn used(paths: &[&Route], back_after_s: f64, run_s: f64) -> Vec<(f64, usize)> {
    let spans: Vec<Vec<(f64, f64)>> = paths.iter().map(|path| connected(path)).collect();
    let ends = spans.iter().flatten().flat_map(|(from, until)| [*from, *from + back_after_s, *until]);
    let mut times: Vec<f64> = ends.filter(|t| *t < run_s).chain([0.0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    // Returns the time since when a path exists without interruption.
    let since = |number: usize, t: f64| {
        spans[number].iter().find(|(from, until)| (*from..*until).contains(&t)).map(|(from, _)| *from)
    };
    let mut uses: Vec<(f64, usize)> = Vec::new();
    for t in times {
        let mut with_path = (0..paths.len()).filter_map(|number| Some((number, since(number, t)?)));
        let next = match uses.last().copied() {
            Some((_, current)) if since(current, t).is_some() => {
                with_path.find(|(number, from)| *number == current || t >= *from + back_after_s)
            }
            _ => with_path.next(),
        };
        let is_other = |(number, _): &(usize, f64)| uses.last().is_none_or(|last| last.1 != *number);
        if let Some((number, _)) = next.filter(is_other) {
            let at = if uses.is_empty() { 0.0 } else { t };
            uses.push((at, number));
        }
    }
    if uses.is_empty() {
        uses.push((0.0, 0));
    }
    uses
}

/// Returns the times in s when there is a path. The last span has no end.
fn connected(path: &Route) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for (number, change) in path.changes.iter().enumerate().filter(|(_, change)| !change.nodes.is_empty()) {
        let until = path.changes.get(number + 1).map_or(f64::INFINITY, |next| next.at_s);
        match spans.last_mut().filter(|last| last.1 == change.at_s) {
            Some(last) => last.1 = until,
            None => spans.push((change.at_s, until)),
        }
    }
    spans
}

/// Adds notes on the constellations in use, and rejects pairs without a path at any time. Returns whether all pairs
/// have one at some time.
pub(super) fn are_told(
    parts: &[Part],
    uses: &Uses,
    raw: &Tree,
    run: f64,
    findings: &mut Findings,
) -> Result<bool, SkyError> {
    let before = findings.found.len();
    for (pair, uses) in uses.iter().enumerate() {
        let told = Told { parts, pair, uses, run };
        let has_path = parts.iter().any(|part| !connected(&part.paths[pair]).is_empty());
        if !has_path {
            if findings.found.len() - before < EXPLAINED {
                told.refuse(raw, findings)?;
            }
        } else if pair < EXPLAINED {
            let note = told.note()?;
            findings.notes.push(note);
        }
    }
    if uses.len() > EXPLAINED {
        findings.notes.push(format!("sky: {} more pairs of places have no such note", uses.len() - EXPLAINED));
    }
    Ok(findings.found.len() == before)
}

/// Pair of places, with the constellations between them.
struct Told<'a> {
    parts: &'a [Part],
    pair: usize,
    uses: &'a [(f64, usize)],
    /// Duration of the run in s.
    run: f64,
}

impl Told<'_> {
    fn ends(&self) -> [&str; 2] {
        let part = &self.parts[0];
        let path = &part.paths[self.pair];
        [path.from, path.to].map(|place| part.sky.places[place].name.as_str())
    }

    fn name(&self, part: usize) -> &str {
        &self.parts[part].of.name
    }

    fn refuse(&self, raw: &Tree, findings: &mut Findings) -> Result<(), SkyError> {
        let [from, to] = self.ends();
        let (mut reasons, mut help) = (Vec::new(), String::new());
        for part in self.parts {
            let name = &part.of.name;
            let absent = self.ends().into_iter().find(|place| !part.of.is_used_at(place));
            reasons.push(match absent {
                Some(place) => format!("{place} does not use {name}"),
                None => {
                    let gap = part.gaps(self.pair)?.into_iter().next();
                    let Gap { why, help: remedy, .. } =
                        gap.unwrap_or(Gap { share: 1.0, why: String::new(), help: String::new() });
                    if help.is_empty() {
                        help = format!("expected {remedy}");
                    }
                    format!("{name}: {why}")
                }
            });
        }
        if help.is_empty() {
            help = "expected a constellation that both places use, in over of each sky.place".to_owned();
        }
        let message = format!("has no path from {from} to {to} at any time of the run: {}", reasons.join("; "));
        say(raw, findings, &["sky", "over"], &message, &help);
        Ok(())
    }

    /// Returns a note on the constellations that the pair uses, with the reasons why it does not use an earlier one.
    fn note(&self) -> Result<String, SkyError> {
        let [from, to] = self.ends();
        let until = |number: usize| self.uses.get(number + 1).map_or(self.run, |next| next.0.min(self.run));
        let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
        for (number, (begin, part)) in self.uses.iter().enumerate() {
            let overlap = |span: &(f64, f64)| (span.1.min(until(number)) - span.0.max(*begin)).max(0.0);
            let with_path: f64 = connected(&self.parts[*part].paths[self.pair]).iter().map(overlap).sum();
            *shares.entry(*part).or_default() += with_path / self.run;
        }
        let mut all: Vec<String> = shares
            .iter()
            .map(|(part, share)| format!("over {} {} of the time", self.name(*part), exact(*share)))
            .collect();
        let without = 1.0 - shares.values().sum::<f64>();
        if without > 1e-9 {
            all.push(format!("without a path {}", exact(without)));
        }
        let mut note = format!("sky: {from} to {to}: {}", all.join(", "));
        let changes = &self.uses[1..];
        if !changes.is_empty() {
            let change =
                |(at, part): &(f64, usize)| format!("to {} at {}", self.name(*part), Duration::from_secs_f64(*at));
            let listed: Vec<String> = changes.iter().take(LISTED).map(change).collect();
            note += &format!(". Changes: {}", listed.join(", "));
            if changes.len() > LISTED {
                note += &format!(", {} more", changes.len() - LISTED);
            }
        }
        let last = if without > 1e-9 { self.parts.len() } else { shares.keys().last().copied().unwrap_or(0) };
        for part in self.parts.iter().take(last).filter(|part| part.of.serves(self.ends())) {
            for gap in part.gaps(self.pair)? {
                note += &format!(". {} {} without a path: {}", part.of.name, exact(gap.share), gap.why);
            }
        }
        Ok(note)
    }
}

fn exact(share: f64) -> String {
    if share > 1.0 - 1e-9 {
        return "100 %".to_owned();
    }
    per_cent(share)
}
