//! Links and what stands at nodes.

use super::text;
use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use crate::scenario::{ErrorModel, Link, Outage, Profile};
use bentpipe_units::Word;
use serde_json::{json, Map, Value as Json};
use std::fmt::Display;

pub(super) fn middlebox(config: &MiddleboxConfig) -> Json {
    match config {
        MiddleboxConfig::Impair(ImpairConfig { duplicate, reorder, hold }) => {
            json!({ "kind": "impair", "duplicate": duplicate, "reorder": reorder, "hold": text(hold) })
        }
    }
}

pub(super) fn direction(link: &Link) -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("rate".into(), profile(&link.rate, false));
    table.insert("delay".into(), profile(&link.delay, true));
    table.insert("queue".into(), super::queue::queue(&link.queue));
    table.insert(
        "error".into(),
        match &link.error {
            ErrorModel::None => json!({ "kind": "none" }),
            ErrorModel::Independent { unit: u, rate } => json!({ "kind": u.name(), "rate": rate }),
            ErrorModel::GilbertElliott { unit: u, mean_good, mean_bad, rate_good, rate_bad } => json!({
                "kind": "gilbert-elliott", "unit": u.name(), "mean_good": text(mean_good), "mean_bad": text(mean_bad),
                "rate_good": rate_good, "rate_bad": rate_bad,
            }),
            ErrorModel::Arrivals(list) => json!({ "kind": "arrivals", "list": list }),
        },
    );
    if let Some(Outage { spans, period, flush }) = &link.outage {
        let spans: Json = spans.iter().map(|(from, to)| json!([text(from), text(to)])).collect();
        let mut outage = Map::from_iter([("spans".to_owned(), spans)]);
        outage.extend(period.map(|period| ("every".to_owned(), text(period))));
        outage.insert("queue".into(), if *flush { "flush" } else { "keep" }.into());
        table.insert("outage".into(), outage.into());
    }
    table
}

fn profile<T: Display>(profile: &Profile<T>, interpolated: bool) -> Json {
    match profile {
        Profile::Constant(value) => text(value),
        Profile::Points { points, linear, period } => {
            let points: Json = points.iter().map(|(at, value)| json!([text(at), text(value)])).collect();
            let mut table = Map::from_iter([("points".to_owned(), points)]);
            if interpolated {
                table.insert("interpolate".into(), if *linear { "linear" } else { "hold" }.into());
            }
            table.extend(period.as_ref().map(|period| ("every".to_owned(), text(period))));
            table.into()
        }
    }
}
