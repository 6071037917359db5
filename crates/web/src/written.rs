//! Scenarios, problems and tables as JSON.

use bentpipe_sim::dictionary::{Table, Values, MISSING};
use bentpipe_sim::record::{Coverage, RunResult};
use bentpipe_sim::scenario::{self, Expected, Problem, Problems, Resolved};
use bentpipe_units::{Duration, Time};
use serde::{Serialize, Serializer};
use serde_json::{json, Value};
use std::collections::BTreeMap;

pub(crate) fn scenario(resolved: &Resolved) -> Value {
    let scenario = &resolved.scenario;
    let cases: Vec<&str> = resolved.cases.iter().map(|(name, _)| name.as_str()).collect();
    json!({
        "title": scenario.title,
        "duration_s": scenario.duration.as_secs_f64(),
        "seed": scenario.seed,
        "digest": resolved.digest(),
        "flows": scenario.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(),
        "apps": scenario.flows.iter().map(|flow| flow.app.kind()).collect::<Vec<_>>(),
        "links": scenario.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(),
        "cases": cases,
        "has_sky": resolved.has_sky(),
        "has_media": !scenario.media.is_empty(),
        "events": resolved.cost.events,
        "memory_bytes": resolved.cost.memory,
        "warnings": resolved.warnings().iter().map(problem).collect::<Vec<_>>(),
        "network": scenario::network(scenario),
    })
}

pub(crate) fn problems(found: &Problems) -> Value {
    json!({ "problems": found.problems.iter().map(problem).collect::<Vec<_>>() })
}

/// Lines and columns are from 1. The end is behind the last character.
fn problem(problem: &Problem) -> Value {
    let (expected, known) = match &problem.expected {
        Expected::Words(words) => (words.as_str(), [].as_slice()),
        Expected::OneOf(names) => ("", names.as_slice()),
    };
    json!({
        "message": problem.message,
        "key": problem.path,
        "expected": expected,
        "known": known,
        "suggestion": problem.suggestion,
        "start": problem.span.map(|span| span.start),
        "end": problem.span.map(|span| span.end),
    })
}

/// Writes the tables of a result. A million rows as values in memory would take a gigabyte.
pub(crate) fn result(result: &RunResult) -> String {
    let mut tables: BTreeMap<&str, Rows<'_>> = BTreeMap::new();
    for (name, rows) in [
        ("summary", &result.summary),
        ("flows", &result.flows),
        ("subflows", &result.subflows),
        ("links", &result.links),
        ("drops", &result.drops),
        ("completions", &result.completions),
        ("transfers", &result.transfers),
        ("datagrams", &result.datagrams),
        ("probes", &result.probes),
        ("quic", &result.quic),
        ("media", &result.media),
        ("terminals", &result.terminals),
        ("modcods", &result.modcods),
        ("events", &result.events),
    ] {
        tables.insert(name, Rows(rows));
    }
    let series = result.series.iter().map(|(name, rows)| (name.as_str(), Rows(rows))).collect();
    let whole = Whole { tables, series, coverage: coverage(result), notes: &result.notes };
    serde_json::to_string(&whole).unwrap_or_else(|error| json!({ "wrong": error.to_string() }).to_string())
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    tables: BTreeMap<&'a str, Rows<'a>>,
    series: BTreeMap<&'a str, Rows<'a>>,
    coverage: Value,
    notes: &'a [String],
}

/// Width of the columns, `null` with all rows, and end, `null` with all rows to the end, of series with missing rows.
fn coverage(result: &RunResult) -> Value {
    let entry = |of: &Coverage| {
        let column_s = (of.column > Duration::ZERO).then(|| of.column.as_secs_f64());
        (of.series.to_owned(), json!({ "column_s": column_s, "end_s": of.end.map(Time::as_secs_f64) }))
    };
    Value::Object(result.coverage.iter().map(entry).collect())
}

/// Columns by name. A missing value is null. Text is an index into the different texts of its column.
struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.columns.iter().map(|(name, values)| (*name, Cells(values))))
    }
}

struct Cells<'a>(&'a Values);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Values::Text(values) => Indexed::new(values).serialize(serializer),
            Values::Real(values) => values.serialize(serializer),
            Values::Whole(values) => {
                serializer.collect_seq(values.iter().map(|&value| (value != MISSING).then_some(value)))
            }
        }
    }
}

/// A million rows name few flows.
#[derive(Serialize)]
struct Indexed<'a> {
    texts: Vec<&'a str>,
    rows: Vec<usize>,
}

impl<'a> Indexed<'a> {
    fn new(values: &'a [impl AsRef<str>]) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let mut number_of = BTreeMap::new();
        let number = |text: &'a str| {
            *number_of.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            })
        };
        let rows = values.iter().map(AsRef::as_ref).map(number).collect();
        Self { texts, rows }
    }
}
