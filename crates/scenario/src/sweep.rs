//! Reads sweeps: `[sweep]` names keys of the scenario, each with its values.
//!
//! The values are removed from the tree before the rest is read, and keep their places. A point of the sweep is the
//! same scenario with some of them inserted, so a problem of a point is reported at the place of its value.

use super::acting;
use super::keys::{self, Table};
use super::overrides::Overrides;
use super::problem::{Expected, Problem, Problems};
use super::report::Findings;
use super::schema::formats;
use super::tree::{join, split_path, Place, Tree, Value};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Sweep over points.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Runs of each point. With `until`, the least number of runs.
    pub replications: u32,
    /// Largest number of runs of a point.
    pub replications_max: u32,
    /// Metric, and the largest half width of its interval as a share of its mean.
    pub until: Option<(String, f64)>,
    /// Metrics of the report.
    pub metrics: Vec<String>,
    /// Baseline of the comparisons. None: the best.
    pub against: Option<String>,
    /// Tables to keep of each run.
    pub tables: Vec<Table>,
    /// Axes of the grid. Each position of an axis is combined with each position of the others.
    pub axes: Vec<Axis>,
    /// Scenario as written, without its cases and its sweep.
    base: Tree,
    cases: Vec<(String, Tree)>,
    pub(super) source: String,
}

/// Keys that change together.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Paths into the scenario, or `case`.
    pub keys: Vec<String>,
    /// Values of the keys at each position.
    values: Vec<Vec<Tree>>,
}

impl Axis {
    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no positions. Never true in a sweep that was read.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the written values of the keys at each position.
    pub fn values(&self) -> Vec<Vec<Json>> {
        self.values.iter().map(|row| row.iter().map(Tree::to_json).collect()).collect()
    }
}

impl Sweep {
    pub(super) fn new(
        written: keys::Sweep,
        axes: Vec<Axis>,
        base: Tree,
        cases: Vec<(String, Tree)>,
        source: &str,
    ) -> Self {
        Self {
            replications: written.replications,
            replications_max: written.replications_max.max(written.replications),
            until: written.until.map(|until| (until.metric, until.half_width)),
            metrics: written.metrics,
            against: written.against,
            tables: written.tables,
            axes,
            base,
            cases,
            source: source.to_owned(),
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.axes.iter().map(Axis::len).product()
    }

    /// Returns the written scenario of a point, given as a position on each axis, and the problems of its values.
    pub(super) fn written_at(&self, positions: &[usize]) -> (Tree, Overrides) {
        let chosen = self.axes.iter().zip(positions).flat_map(|(axis, &at)| axis.keys.iter().zip(&axis.values[at]));
        let (of_cases, of_keys): (Vec<_>, Vec<_>) = chosen.partition(|(key, _)| *key == CASE);
        let (mut tree, mut overrides) = (self.base.clone(), Overrides::default());
        for (_, value) in of_cases {
            match self.cases.iter().find(|(name, _)| matches!(&value.value, Value::Text(text) if text == name)) {
                Some((name, case)) => {
                    overrides.problems.extend(of_keys.iter().filter_map(|(key, _)| self.undone(name, case, key)));
                    overrides.case(&mut tree, case.clone(), &self.source);
                }
                None => overrides.problems.push(self.no_case(value)),
            }
        }
        for (key, value) in of_keys {
            overrides.put(&mut tree, key, value.clone(), &self.source);
        }
        (tree, overrides)
    }

    /// Returns the written scenario of a case, with overrides.
    pub(super) fn written_in(&self, name: &str, sets: &[(String, String)]) -> Result<(Tree, Overrides), Problems> {
        let mut tree = self.base.clone();
        let Some((_, case)) = self.cases.iter().find(|(known, _)| known == name) else {
            let problem = self.no_case(&Tree::new(Value::Text(name.into()), Place::Nowhere));
            return Err(Problems { problems: vec![problem] });
        };
        let mut overrides = Overrides::default();
        overrides.case(&mut tree, case.clone(), &self.source);
        overrides.sets(&mut tree, sets);
        Ok((tree, overrides))
    }

    /// Returns the keys that replace a key of the scenario, if it has no effect.
    pub(super) fn acting(&self, key: &str) -> Vec<String> {
        let path = split_path(key).unwrap_or_default();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        acting::hidden(&self.base, &path).map_or_else(Vec::new, |hidden| hidden.acting)
    }

    /// Returns a value of a case that a varying value would silently replace.
    fn undone(&self, name: &str, case: &Tree, key: &str) -> Option<Problem> {
        let set = case.found(key)?;
        let message = format!("case {name} sets {key}, which varies");
        let problem = Problem::new(set.key.shown(&self.source), key, message, "expected a key that does not vary");
        Some(Problem { span: set.key.span(), value: set.scalar(), ..problem })
    }

    fn no_case(&self, value: &Tree) -> Problem {
        let known = Expected::OneOf(self.cases.iter().map(|(name, _)| name.clone()).collect());
        let message = format!("{value} is not a case of this scenario");
        let problem = Problem::new(value.place.shown(&self.source), CASE, message, known);
        Problem { span: value.place.span(), value: value.scalar(), ..problem }
    }
}

/// Removes the axes from the written scenario: first those of the file, then those of `sets`, each in their order.
pub(super) fn take(tree: &mut Tree, sets: &[(String, String)], findings: &mut Findings) -> Vec<Axis> {
    let Some(sweep) = tree.table_mut().and_then(|table| table.get_mut("sweep")).and_then(Tree::table_mut) else {
        return Vec::new();
    };
    let (vary, together) = (sweep.remove("vary"), sweep.remove("together"));
    let mut axes = Vec::new();
    if let Some(vary) = vary {
        axes.extend(single(&vary, "sweep.vary", findings));
    }
    match together.map(|tree| (tree.place.clone(), tree.value)) {
        Some((_, Value::List(list))) => {
            for (index, group) in list.iter().enumerate() {
                let path = format!("sweep.together[{index}]");
                let entries = entries(group, &path, findings);
                let lengths: BTreeSet<usize> = entries.iter().map(|entry| entry.values.len()).collect();
                if lengths.len() > 1 {
                    let counts: Vec<String> =
                        entries.iter().map(|entry| format!("{} has {}", entry.key, entry.values.len())).collect();
                    let message = format!("{path}: the keys have different numbers of values");
                    findings.add(&group.place, &path, message, counts.join(", "), String::new());
                } else if !entries.is_empty() {
                    axes.push(axis(entries));
                }
            }
        }
        Some((place, _)) => {
            let message = "sweep.together is not a list of tables".into();
            findings.add(&place, "sweep.together", message, "expected [[sweep.together]]", String::new());
        }
        None => {}
    }
    let axes = in_order(axes, sets, "sweep.vary.");
    refuse_twice(&axes, findings);
    refuse_too_many(&axes, findings);
    axes
}

/// Returns an axis for each key of a table, with its place.
pub(super) fn single(vary: &Tree, path: &str, findings: &mut Findings) -> Vec<(Place, Axis)> {
    entries(vary, path, findings).into_iter().map(|entry| axis(vec![entry])).collect()
}

/// Sorts axes: first those of the file, then those of `sets` whose keys have this prefix, each in their order.
pub(super) fn in_order(mut axes: Vec<(Place, Axis)>, sets: &[(String, String)], prefix: &str) -> Vec<Axis> {
    let argument = |axis: &Axis| sets.iter().position(|(key, _)| key.strip_prefix(prefix) == Some(&axis.keys[0]));
    axes.sort_by_cached_key(|(place, axis)| (argument(axis), place.clone()));
    axes.into_iter().map(|(_, axis)| axis).collect()
}

/// Key with its values.
struct Entry {
    key: String,
    place: Place,
    values: Vec<Tree>,
}

/// Returns the axis of several keys, in the order of the file.
fn axis(entries: Vec<Entry>) -> (Place, Axis) {
    let place = entries[0].place.clone();
    let rows = (0..entries[0].values.len()).map(|at| entries.iter().map(|entry| entry.values[at].clone()).collect());
    let values = rows.collect();
    (place, Axis { keys: entries.into_iter().map(|entry| entry.key).collect(), values })
}

fn entries(table: &Tree, path: &str, findings: &mut Findings) -> Vec<Entry> {
    let mut found = Vec::new();
    if table.table().is_some() {
        collect(table, path, "", findings, &mut found);
    } else {
        let message = format!("{path} = {table} is not a table");
        findings.add(&table.place, path, message, EXPECTED_KEYS, String::new());
    }
    found.sort_by(|a: &Entry, b| a.place.cmp(&b.place));
    found
}

fn collect(table: &Tree, path: &str, key: &str, findings: &mut Findings, found: &mut Vec<Entry>) {
    for (name, child) in table.table().into_iter().flatten() {
        let (path, key) = (join(path, name), if key.is_empty() { name.clone() } else { format!("{key}.{name}") });
        let values = match &child.value {
            Value::List(list) => list.clone(),
            Value::Table(range) if RANGE.iter().all(|name| range.contains_key(*name)) => {
                match values_of(range, &child.place) {
                    Ok(values) => values,
                    Err((message, expected)) => {
                        findings.add(&child.place, &path, format!("{path}: {message}"), expected, String::new());
                        continue;
                    }
                }
            }
            Value::Table(_) => {
                collect(child, &path, &key, findings, found);
                continue;
            }
            _ => {
                let message = format!("{path} = {child} is a single value");
                findings.add(&child.place, &path, message, EXPECTED_VALUES, String::new());
                continue;
            }
        };
        if values.is_empty() {
            let message = format!("{path} is empty");
            findings.add(&child.place, &path, message, "expected at least one value", String::new());
            continue;
        }
        let mut seen = BTreeSet::new();
        for value in &values {
            if !seen.insert(value.to_json().to_string()) {
                findings.add(&value.place, &path, format!("{path} has {value} twice"), String::new(), String::new());
            }
        }
        // A quoted key may contain a path.
        let path = split_path(&key).map_or(key.clone(), |steps| steps.join("."));
        found.push(Entry { key: path, place: child.key.clone(), values });
    }
}

fn refuse_twice(axes: &[Axis], findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for axis in axes {
        for (at, key) in axis.keys.iter().enumerate() {
            if !seen.insert(key) {
                let place = &axis.values[0][at].place;
                let message = format!("the sweep has {key} twice");
                findings.add(place, key, message, "expected one list of values", String::new());
            }
        }
    }
}

fn refuse_too_many(axes: &[Axis], findings: &mut Findings) {
    let points = axes.iter().try_fold(1_usize, |product, axis| product.checked_mul(axis.len()));
    if points.is_none_or(|points| points > POINTS_MAX) {
        let place = axes.first().map_or(Place::Nowhere, |axis| axis.values[0][0].place.clone());
        let counts: Vec<String> = axes.iter().map(|axis| format!("{} {}", axis.len(), axis.keys.join("+"))).collect();
        let expected = format!("expected at most {POINTS_MAX}: {}", counts.join(" x "));
        findings.add(&place, "sweep", "the sweep has too many points".into(), expected, String::new());
    }
}

type Wrong = (String, &'static str);

/// Returns the values of a range.
fn values_of(range: &BTreeMap<String, Tree>, place: &Place) -> Result<Vec<Tree>, Wrong> {
    if let Some(key) = range.keys().find(|key| !RANGE.contains(&key.as_str()) && !HOW.contains(&key.as_str())) {
        return Err((format!("a range has no {key:?}"), "known: from, to, count, step, scale"));
    }
    let (from, unit) = number(&range["from"])?;
    let (to, other) = number(&range["to"])?;
    if unit != other {
        return Err((format!("from {} to {}: the units differ", range["from"], range["to"]), "expected the same unit"));
    }
    let is_log = match range.get("scale").map(|scale| &scale.value) {
        None => false,
        Some(Value::Text(scale)) if scale == "linear" => false,
        Some(Value::Text(scale)) if scale == "log" => true,
        Some(_) => return Err((format!("scale = {}", range["scale"]), "expected \"linear\" or \"log\"")),
    };
    if is_log && (from <= 0.0 || to <= 0.0) {
        return Err(("a logarithmic range of numbers that are not positive".into(), "expected from and to above 0"));
    }
    let (start, end) = if is_log { (libm::log10(from), libm::log10(to)) } else { (from, to) };
    let count = match (range.get("count"), range.get("step")) {
        (Some(Tree { value: Value::Int(count), .. }), None) if (2..=COUNT_MAX).contains(count) => *count as usize,
        (Some(count), None) => return Err((format!("count = {count}"), "expected a whole number, 2 to 100000")),
        (None, Some(step)) if !is_log => {
            let (step, other) = number(step)?;
            let steps = ((to - from) / step * (1.0 + 1e-12)).floor();
            if other != unit || !(1.0..COUNT_MAX as f64).contains(&steps) {
                let message = format!("step = {}", range["step"]);
                return Err((message, "expected the unit of from and to, and a step from one towards the other"));
            }
            // A step that does not divide the range ends before `to`.
            let values = (0..=steps as usize).map(|k| written(from + step * k as f64, unit, place));
            return Ok(values.collect());
        }
        _ => {
            return Err((
                "the range has no number of values".into(),
                "expected count = 9, or, if it is not logarithmic, step = ...",
            ))
        }
    };
    let at = |k: usize| {
        let x = start + (end - start) * k as f64 / (count - 1) as f64;
        match k {
            0 => from,
            _ if k == count - 1 => to,
            _ if is_log => libm::pow(10.0, x),
            _ => x,
        }
    };
    Ok((0..count).map(|k| written(at(k), unit, place)).collect())
}

/// Returns a number and its unit, if it has one.
fn number(tree: &Tree) -> Result<(f64, &str), Wrong> {
    let wrong = || (format!("{tree} is not a number"), "expected a number, or one with a unit, like \"1 Mbit/s\"");
    let (x, unit) = match &tree.value {
        Value::Int(n) => (*n as f64, ""),
        Value::Float(x) => (*x, ""),
        Value::Text(text) => {
            let text = text.trim();
            let ends = (1..=text.len()).rev().filter(|&end| text.is_char_boundary(end));
            let parsed = ends.filter_map(|end| Some((text[..end].trim_end().parse().ok()?, text[end..].trim())));
            parsed.max_by_key(|(_, unit)| std::cmp::Reverse(unit.len())).ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    if x.is_finite() {
        Ok((x, unit))
    } else {
        Err(wrong())
    }
}

/// Returns a number with its unit as a user would type it, without rounding errors. Times are whole picoseconds and
/// sizes whole bytes, so a quantity has a bounded number of digits.
fn written(x: f64, unit: &str, place: &Place) -> Tree {
    let rounded = |digits: usize| format!("{x:.*e}", digits - 1).parse().unwrap_or(x);
    let text = |digits| format!("{} {unit}", rounded(digits));
    let is_quantity = |text: &String| formats().iter().any(|format| (format.check)(text).is_ok());
    let x = rounded(DIGITS);
    let value = match (unit, x.fract() == 0.0 && x.abs() < 1e15) {
        ("", true) => Value::Int(x as i128),
        ("", false) => Value::Float(x),
        _ => Value::Text((3..=DIGITS).rev().map(text).find(is_quantity).unwrap_or_else(|| text(DIGITS))),
    };
    Tree::new(value, place.clone())
}

const CASE: &str = "case";
const RANGE: [&str; 2] = ["from", "to"];
const HOW: [&str; 3] = ["count", "step", "scale"];
const EXPECTED_KEYS: &str = "expected keys of the scenario with lists of values";
const EXPECTED_VALUES: &str = "expected a list of values, or a range { from = ..., to = ..., count = ... }";
/// Largest number of points. A larger grid is certainly a mistake.
const POINTS_MAX: usize = 1_000_000;
const COUNT_MAX: i128 = 100_000;
/// Digits of a number without visible rounding errors.
const DIGITS: usize = 12;

#[cfg(test)]
mod tests;
