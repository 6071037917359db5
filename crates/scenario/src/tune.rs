//! Reads searches: `[tune]` names goals, keys with the values to try, and conditions.
//!
//! Keys and conditions are removed from the tree before the rest is read, as those of a sweep.

use super::keys::{self, Robust, Space};
use super::overrides::Overrides;
use super::report::Findings;
use super::sweep::{in_order, single, Axis};
use super::tree::{join, Tree, Value};
use bentpipe_units::settings::Share;
use bentpipe_units::Duration;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Search for better settings.
#[derive(Clone, Debug)]
pub struct Tune {
    /// Metrics to improve, as written; null if missing.
    pub objective: Json,
    /// Metrics that must hold, as written; null if missing.
    pub guard: Json,
    /// Score of a setting over all conditions.
    pub robust: Robust,
    /// Smallest improvement that matters, as a share.
    pub margin: f64,
    /// Settings that may be recommended.
    pub space: Space,
    /// Known period of the steps of the path.
    pub period: Option<Duration>,
    /// Keys with the values to try. Without any, the caller takes a stock space.
    pub axes: Vec<Axis>,
    /// Conditions, the scenario as it is written first.
    pub conditions: Vec<Condition>,
    /// Scenario as written, without cases, sweep and search.
    base: Tree,
    pub(super) source: String,
}

/// Condition under which each setting is tried.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Name, unique among the conditions.
    pub name: String,
    /// Share of time, relative to the other conditions. None if not written.
    pub weight: Option<f64>,
    /// Pattern of the files of traces.
    pub draws: Option<String>,
    /// Written part of the scenario.
    part: Tree,
}

impl Condition {
    /// Returns the scenario as it is written.
    fn as_written() -> Self {
        Self { name: AS_WRITTEN.into(), weight: None, draws: None, part: empty() }
    }

    /// Whether it changes the scenario.
    pub(super) fn is_written(&self) -> bool {
        self.part.table().is_some_and(|table| !table.is_empty())
    }

    /// Returns keys of the scenario that the condition sets and an axis varies.
    fn varies<'a>(&'a self, axes: &'a [Axis]) -> impl Iterator<Item = (&'a str, &'a Tree)> {
        let keys = axes.iter().flat_map(|axis| &axis.keys);
        keys.filter_map(|key| Some((key.as_str(), self.part.found(key)?)))
    }
}

impl Tune {
    /// Takes the settings that were read with the rest, and the scenario without its search.
    pub(super) fn set(&mut self, written: &keys::Tune, base: Tree, source: &str) {
        (self.robust, self.margin, self.space) = (written.robust, share(written.margin), written.space);
        self.period = written.period;
        (self.base, self.source) = (base, source.to_owned());
    }

    /// Returns the written scenario in a condition, with overrides. None if there is no such condition.
    pub(super) fn written_under(&self, condition: &str, sets: &[(String, String)]) -> Option<(Tree, Overrides)> {
        let known = self.conditions.iter().find(|known| known.name == condition)?;
        let (mut tree, mut overrides) = (self.base.clone(), Overrides::default());
        overrides.case(&mut tree, known.part.clone(), &self.source);
        overrides.sets(&mut tree, sets);
        Some((tree, overrides))
    }
}

/// Returns a share as a number from 0 to 1.
fn share(of: Share) -> f64 {
    of.0 as f64 / Share::WHOLE as f64
}

/// Removes goals, axes and conditions from the written scenario. `Tune::set` adds the other settings.
pub(super) fn take(tree: &mut Tree, sets: &[(String, String)], findings: &mut Findings) -> Tune {
    let defaults = keys::Tune::default();
    let mut tune = Tune {
        objective: Json::Null,
        guard: Json::Null,
        robust: defaults.robust,
        margin: share(defaults.margin),
        space: defaults.space,
        period: defaults.period,
        axes: Vec::new(),
        conditions: vec![Condition::as_written()],
        base: empty(),
        source: String::new(),
    };
    let Some(table) = tree.table_mut().and_then(|table| table.get_mut("tune")).and_then(Tree::table_mut) else {
        return tune;
    };
    tune.objective = goals(table, "objective", findings);
    tune.guard = goals(table, "guard", findings);
    if let Some(vary) = table.remove("vary") {
        tune.axes = in_order(single(&vary, "tune.vary", findings), sets, "tune.vary.");
    }
    if let Some(written) = table.remove("condition") {
        tune.conditions.extend(conditions(written, findings));
    }
    for condition in &tune.conditions {
        for (key, at) in condition.varies(&tune.axes) {
            let message = format!("condition {} sets {key}, which varies", condition.name);
            findings.add(&at.key, key, message, "expected a key that does not vary", String::new());
        }
    }
    tune
}

fn goals(table: &mut BTreeMap<String, Tree>, name: &str, findings: &mut Findings) -> Json {
    let Some(tree) = table.remove(name) else { return Json::Null };
    if tree.table().is_none() {
        let (path, expected) = (join("tune", name), "expected metrics with numbers: { \"fct:pages\" = 1 }");
        findings.add(&tree.place, &path, format!("{path} = {tree} is not a table"), expected, String::new());
        return Json::Null;
    }
    tree.to_json()
}

fn conditions(written: Tree, findings: &mut Findings) -> Vec<Condition> {
    let wrong = |tree: &Tree, path: &str, expected: &str, findings: &mut Findings| {
        findings.add(&tree.place, path, format!("{path} = {tree}"), expected, String::new());
    };
    let place = written.place.clone();
    let Value::Table(table) = written.value else {
        wrong(&Tree::new(written.value, place), "tune.condition", "expected [tune.condition.NAME]", findings);
        return Vec::new();
    };
    let mut table: Vec<(String, Tree)> = table.into_iter().collect();
    table.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
    let mut found = Vec::new();
    for (name, mut part) in table {
        let path = join("tune.condition", &name);
        let Some(keys) = part.table_mut().filter(|_| name != AS_WRITTEN) else {
            wrong(&part, &path, "expected keys of a scenario, weight and draws, under another name", findings);
            continue;
        };
        let (weight, draws) = (keys.remove("weight"), keys.remove("draws"));
        let share = weight.as_ref().and_then(number);
        if let Some(weight) = weight.filter(|_| share.is_none()) {
            wrong(&weight, &join(&path, "weight"), "expected a number above 0", findings);
        }
        let files = draws.as_ref().and_then(text);
        if let Some(draws) = draws.filter(|_| files.is_none()) {
            wrong(&draws, &join(&path, "draws"), "expected a pattern of files, such as \"draws/*.csv\"", findings);
        }
        found.push(Condition { name, weight: share, draws: files, part });
    }
    found
}

fn number(tree: &Tree) -> Option<f64> {
    let x = match tree.value {
        Value::Int(n) => n as f64,
        Value::Float(x) => x,
        _ => return None,
    };
    (x.is_finite() && x > 0.0).then_some(x)
}

fn text(tree: &Tree) -> Option<String> {
    match &tree.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn empty() -> Tree {
    Tree::new(Value::Table(BTreeMap::new()), super::tree::Place::Nowhere)
}

/// Name of the condition that changes nothing.
const AS_WRITTEN: &str = "as written";

#[cfg(test)]
mod tests {
    use crate::from_toml;

    const SCENARIO: &str = r#"
duration = "9 s"
link.l = { from = "a", to = "b", rate = "1 Mbit/s", delay = "9 ms" }
flow.f = { from = "a", to = "b", app = "greedy" }
"#;

    fn problems(tune: &str) -> Vec<String> {
        let read = from_toml(&format!("{SCENARIO}{tune}"), "x.toml", &[]);
        let problems = read.err().map(|found| found.problems).unwrap_or_default();
        problems
            .iter()
            .map(|problem| format!("{}: {} ({:?})", problem.place, problem.message, problem.expected))
            .collect()
    }

    #[test]
    fn keys_conditions_and_goals_are_read_in_the_order_of_the_file() {
        let tune = r#"
[tune]
objective = { "goodput:f" = 1 }
robust = "worst"
[tune.vary]
tcp.initial_window = ["10 segments", "20 segments"]
tcp.cc = ["reno", "cubic"]
[tune.condition.rain]
link.l.rate = "500 kbit/s"
weight = 0.25
"#;
        let resolved = from_toml(&format!("{SCENARIO}{tune}"), "x.toml", &[]).unwrap();
        let tune = resolved.tune.as_ref().unwrap();
        let keys: Vec<&str> = tune.axes.iter().map(|axis| axis.keys[0].as_str()).collect();
        assert_eq!(keys, ["tcp.initial_window", "tcp.cc"]);
        let conditions: Vec<(&str, Option<f64>)> =
            tune.conditions.iter().map(|each| (each.name.as_str(), each.weight)).collect();
        assert_eq!(conditions, [("as written", None), ("rain", Some(0.25))]);
        assert_eq!(tune.robust, super::Robust::Worst);
        let plain = from_toml(SCENARIO, "x.toml", &[]).unwrap();
        assert_eq!(resolved.digest(), plain.digest(), "a search changes no result");
    }

    #[test]
    fn wrong_keys_are_refused_with_their_places() {
        for (tune, expected) in [
            ("[tune]\nrobst = \"mean\"\n", "x.toml:6:1: tune.robst is not a known key"),
            ("[tune.condition.rain]\nlink.l.rat = \"1 Mbit/s\"\n", "x.toml:6:8: link.l.rat is not a known key"),
            ("[tune.condition.rain]\nweight = -1\n", "x.toml:6:10: tune.condition.rain.weight = -1"),
            ("[tune.vary]\ntcp.cc = \"reno\"\n", "x.toml:6:10: tune.vary.tcp.cc = \"reno\" is a single value"),
            (
                "[tune.vary]\ntcp.cc = [\"reno\"]\n[tune.condition.x]\ntcp.cc = \"cubic\"\n",
                "x.toml:8:5: condition x sets tcp.cc, which varies",
            ),
        ] {
            let found = problems(tune);
            assert!(found.iter().any(|each| each.starts_with(expected)), "{tune}: {found:?}");
        }
    }
}
