//! Tables for Python: text as lists of `str`, numbers as (NumPy dtype, bytes), copied once. A missing number is NaN or
//! [`MISSING`](bentpipe_sim::dictionary::MISSING).

use bentpipe_sim::dictionary::{Table, Values};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{self, Expected, Problem, Problems, Sweep, Tune};
use bentpipe_units::{Duration, Time, Word};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

pub(crate) fn result<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let series = PyDict::new(py);
    for (name, rows) in &result.series {
        series.set_item(name, table(py, rows)?)?;
    }
    let tables = PyDict::new(py);
    tables.set_item("flows", table(py, &result.flows)?)?;
    tables.set_item("subflows", table(py, &result.subflows)?)?;
    tables.set_item("links", table(py, &result.links)?)?;
    tables.set_item("drops", table(py, &result.drops)?)?;
    tables.set_item("completions", table(py, &result.completions)?)?;
    tables.set_item("transfers", table(py, &result.transfers)?)?;
    tables.set_item("datagrams", table(py, &result.datagrams)?)?;
    tables.set_item("probes", table(py, &result.probes)?)?;
    tables.set_item("quic", table(py, &result.quic)?)?;
    tables.set_item("media", table(py, &result.media)?)?;
    tables.set_item("terminals", table(py, &result.terminals)?)?;
    tables.set_item("modcods", table(py, &result.modcods)?)?;
    tables.set_item("summary", table(py, &result.summary)?)?;
    tables.set_item("series", series)?;
    tables.set_item("events", table(py, &result.events)?)?;
    tables.set_item("coverage", coverage(py, result)?)?;
    tables.set_item("notes", &result.notes)?;
    Ok(tables)
}

/// Returns `column_s` (`None` with all rows) and `end_s` (`None` with all rows to the end) of tables with missing rows.
fn coverage<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for each in &result.coverage {
        let entry = PyDict::new(py);
        let column_s = (each.column > Duration::ZERO).then(|| each.column.as_secs_f64());
        entry.set_item("column_s", column_s)?;
        entry.set_item("end_s", each.end.map(Time::as_secs_f64))?;
        found.set_item(each.series, entry)?;
    }
    Ok(found)
}

/// Returns the `ScenarioError` of problems, each with all its details.
pub(crate) fn scenario_error(py: Python<'_>, found: &Problems) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let found = problems(py, &found.problems, "error")?;
        let error = py.import("bentpipe.errors")?.getattr("ScenarioError")?.call1(found.to_tuple())?;
        Ok(PyErr::from_value(error))
    };
    make().unwrap_or_else(|error| error)
}

/// Returns problems as Python's `Problem`s.
pub(crate) fn problems<'py>(py: Python<'py>, problems: &[Problem], severity: &str) -> PyResult<Bound<'py, PyList>> {
    let class = py.import("bentpipe.errors")?.getattr("Problem")?;
    let found = PyList::empty(py);
    for problem in problems {
        let about = PyDict::new(py);
        about.set_item("message", &problem.message)?;
        about.set_item("key", &problem.path)?;
        about.set_item("place", &problem.place)?;
        about.set_item("suggestion", &problem.suggestion)?;
        about.set_item("severity", severity)?;
        match &problem.expected {
            Expected::Words(words) => about.set_item("expected", words)?,
            Expected::OneOf(names) => about.set_item("known", PyTuple::new(py, names)?)?,
        }
        match &problem.value {
            None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => {}
            Some(Value::Bool(flag)) => about.set_item("value", flag)?,
            Some(Value::String(text)) => about.set_item("value", text)?,
            Some(Value::Number(n)) => match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => about.set_item("value", n)?,
                (None, Some(n)) => about.set_item("value", n)?,
                (None, None) => about.set_item("value", n.as_f64())?,
            },
        }
        if let Some(span) = problem.span {
            let ((line, column), (end_line, end_column)) = (span.start, span.end);
            // The place consists of the file and two numbers.
            let source = problem.place.rsplitn(3, ':').last().unwrap_or_default();
            about.set_item("file", source)?;
            about.set_item("line", line)?;
            about.set_item("column", column)?;
            about.set_item("end_line", end_line)?;
            about.set_item("end_column", end_column)?;
        }
        found.append(class.call((), Some(&about))?)?;
    }
    Ok(found)
}

fn table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, values) in &table.columns {
        match values {
            Values::Text(values) => {
                // One `str` for all rows with the same text: a million rows name few flows.
                let mut known: BTreeMap<&str, Bound<'py, PyString>> = BTreeMap::new();
                let cells = values.iter().map(|text| {
                    let known = known.entry(text).or_insert_with(|| PyString::new(py, text));
                    known.clone()
                });
                columns.set_item(name, PyList::new(py, cells)?)?;
            }
            Values::Real(values) => columns.set_item(name, ("<f8", bytes(py, values, |x| x.to_le_bytes())?))?,
            Values::Whole(values) => columns.set_item(name, ("<i8", bytes(py, values, |x| x.to_le_bytes())?))?,
        }
    }
    Ok(columns)
}

pub(crate) fn bytes<'py, T: Copy>(
    py: Python<'py>,
    values: &[T],
    encode: impl Fn(T) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 8, |buffer| {
        for (place, &value) in buffer.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&encode(value));
        }
        Ok(())
    })
}

pub(crate) fn choices() -> Value {
    let mut topics = Map::new();
    for choice in scenario::choices() {
        let entry = json!({ "name": choice.name, "summary": choice.summary, "doc": choice.doc });
        match topics.entry(choice.topic).or_insert_with(|| json!([])) {
            Value::Array(entries) => entries.push(entry),
            _ => unreachable!("made above"),
        }
    }
    Value::Object(topics)
}

/// Returns the sweep: its settings, and the values of each axis.
pub(crate) fn sweep(sweep: &Sweep) -> Value {
    let axes = sweep.axes.iter().map(|axis| json!({ "keys": axis.keys, "values": axis.values() }));
    json!({
        "replications": sweep.replications,
        "replications_max": sweep.replications_max,
        "until": sweep.until.as_ref().map(|(metric, half_width)| json!({ "metric": metric, "half_width": half_width })),
        "metrics": sweep.metrics,
        "against": sweep.against,
        "tables": sweep.tables.iter().map(|table| table.name()).collect::<Vec<_>>(),
        "axes": axes.collect::<Vec<_>>(),
    })
}

/// Returns the search: its settings, the values of each axis, and its conditions.
pub(crate) fn tune(tune: &Tune) -> Value {
    let axes = tune.axes.iter().map(|axis| json!({ "keys": axis.keys, "values": axis.values() }));
    let conditions =
        tune.conditions.iter().map(|each| json!({ "name": each.name, "weight": each.weight, "draws": each.draws }));
    json!({
        "objective": tune.objective,
        "guard": tune.guard,
        "robust": tune.robust.name(),
        "margin": tune.margin,
        "space": tune.space.name(),
        "period_s": tune.period.map(Duration::as_secs_f64),
        "axes": axes.collect::<Vec<_>>(),
        "conditions": conditions.collect::<Vec<_>>(),
    })
}
