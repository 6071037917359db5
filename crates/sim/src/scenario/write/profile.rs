//! What changes over time.

use super::text;
use crate::scenario::{Outage, Profile};
use serde_json::{json, Map, Value as Json};
use std::fmt::Display;

pub(super) fn profile<T: Display>(profile: &Profile<T>, interpolated: bool) -> Json {
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

pub(super) fn outage(outage: &Outage) -> Json {
    let Outage { spans, period, flush } = outage;
    let spans: Json = spans.iter().map(|(from, to)| json!([text(from), text(to)])).collect();
    let mut table = Map::from_iter([("spans".to_owned(), spans)]);
    table.extend(period.map(|period| ("every".to_owned(), text(period))));
    table.insert("queue".into(), if *flush { "flush" } else { "keep" }.into());
    table.into()
}
