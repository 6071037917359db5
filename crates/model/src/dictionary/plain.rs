//! Dictionary as plain data, for Python and for web pages.

use super::{Column, Entity};
use serde_json::{json, Value};

/// Returns every column, series, event, cause and state with its unit and meaning, by table.
pub fn to_json() -> Value {
    let columns = |columns: &[Column]| Value::Array(columns.iter().map(column).collect());
    let series = super::SERIES.iter().map(|series| {
        let mut entry = column(&series.column);
        entry["entity"] = match series.entity {
            Entity::Flow => "flow",
            Entity::Link => "link",
        }
        .into();
        entry["sampled"] = series.sampled.into();
        entry["kind"] = series.kind.name().into();
        entry
    });
    json!({
        "flows": columns(super::FLOWS),
        "subflows": columns(&[super::FLOWS, super::SUBFLOWS].concat()),
        "links": columns(super::LINKS),
        "drops": columns(super::DROPS),
        "completions": columns(super::COMPLETIONS),
        "transfers": columns(super::TRANSFERS),
        "datagrams": columns(super::DATAGRAMS),
        "probes": columns(super::PROBES),
        "quic": columns(super::QUIC),
        "media": columns(super::MEDIA),
        "terminals": columns(super::TERMINALS),
        "modcods": columns(super::MODCODS),
        "summary": columns(super::SUMMARY),
        "series": Value::Array(series.collect()),
        "events": columns(super::EVENTS),
        "losses": columns(super::LOSSES),
        "objects": columns(super::OBJECTS),
        "critical_path": columns(super::CRITICAL_PATH),
        "path_parts": columns(super::PATH_PARTS),
        "causes": columns(super::CAUSES),
        "states": super::CC_STATES.iter().map(|(name, meaning)| json!({ "name": name, "meaning": meaning })).collect::<Vec<_>>(),
    })
}

fn column(column: &Column) -> Value {
    json!({ "name": column.name, "unit": column.unit, "meaning": column.meaning })
}
