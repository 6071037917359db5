//! Tables as Python sees them: text as lists of `str`, numbers as (NumPy dtype, bytes), copied once.

use bentpipe_sim::dictionary::{self, Column, Entity, Table, Values};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::{self, Sweep};
use bentpipe_units::Word;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{json, Map, Value};

pub(crate) fn result<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let series = PyDict::new(py);
    for (name, rows) in &result.series {
        series.set_item(name, table(py, rows)?)?;
    }
    let tables = PyDict::new(py);
    tables.set_item("flows", table(py, &result.flows)?)?;
    tables.set_item("links", table(py, &result.links)?)?;
    tables.set_item("drops", table(py, &result.drops)?)?;
    tables.set_item("completions", table(py, &result.completions)?)?;
    tables.set_item("transfers", table(py, &result.transfers)?)?;
    tables.set_item("datagrams", table(py, &result.datagrams)?)?;
    tables.set_item("summary", table(py, &result.summary)?)?;
    tables.set_item("series", series)?;
    tables.set_item("events", table(py, &result.events)?)?;
    tables.set_item("notes", &result.notes)?;
    Ok(tables)
}

fn table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, values) in &table.columns {
        match values {
            Values::Text(values) => columns.set_item(name, values)?,
            Values::Real(values) => columns.set_item(name, ("<f8", bytes(py, values, |x| x.to_le_bytes())?))?,
            Values::Whole(values) => columns.set_item(name, ("<i8", bytes(py, values, |x| x.to_le_bytes())?))?,
        }
    }
    Ok(columns)
}

fn bytes<'py, T: Copy>(py: Python<'py>, values: &[T], encode: impl Fn(T) -> [u8; 8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 8, |buffer| {
        for (place, &value) in buffer.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&encode(value));
        }
        Ok(())
    })
}

pub(crate) fn dictionary() -> Value {
    let columns = |columns: &[Column]| Value::Array(columns.iter().map(column).collect());
    let series = dictionary::SERIES.iter().map(|series| {
        let mut entry = column(&series.column);
        entry["entity"] = match series.entity {
            Entity::Flow => "flow",
            Entity::Link => "link",
        }
        .into();
        entry["sampled"] = series.sampled.into();
        entry
    });
    json!({
        "flows": columns(dictionary::FLOWS),
        "links": columns(dictionary::LINKS),
        "drops": columns(dictionary::DROPS),
        "completions": columns(dictionary::COMPLETIONS),
        "transfers": columns(dictionary::TRANSFERS),
        "datagrams": columns(dictionary::DATAGRAMS),
        "summary": columns(dictionary::SUMMARY),
        "series": Value::Array(series.collect()),
        "events": columns(dictionary::EVENTS),
        "causes": columns(dictionary::CAUSES),
    })
}

pub(crate) fn choices() -> Value {
    let mut topics = Map::new();
    for choice in scenario::choices() {
        let entry = json!({ "name": choice.name, "summary": choice.summary });
        match topics.entry(choice.topic).or_insert_with(|| json!([])) {
            Value::Array(entries) => entries.push(entry),
            _ => unreachable!("made above"),
        }
    }
    Value::Object(topics)
}

/// What a sweep runs: its settings, and the values of each axis.
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

fn column(column: &Column) -> Value {
    json!({ "name": column.name, "unit": column.unit, "meaning": column.meaning })
}
