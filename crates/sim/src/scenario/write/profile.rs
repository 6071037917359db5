//! What changes over time.

use super::text;
use crate::scenario::{Downtimes, Outage, Profile};
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

/// Error rates are numbers.
pub(super) fn rates(profile: &Profile<f64>) -> Map<String, Json> {
    let mut table = Map::new();
    if let Profile::Points { points, period, .. } = profile {
        table.insert("points".into(), points.iter().map(|(at, rate)| json!([text(at), rate])).collect());
        table.extend(period.map(|period| ("every".to_owned(), text(period))));
    }
    table
}

pub(super) fn outage(outage: &Outage) -> Json {
    let mut table = Map::new();
    match &outage.when {
        Downtimes::Spans { spans, period } => {
            let spans = spans.iter().map(|(from, to)| json!([text(from), text(to)])).collect();
            table.insert("spans".into(), spans);
            table.extend(period.map(|period| ("every".to_owned(), text(period))));
        }
        Downtimes::Random { mean_up, mean_down } => {
            table.insert("mean_up".into(), text(mean_up));
            table.insert("mean_down".into(), text(mean_down));
        }
    }
    table.insert("queue".into(), if outage.flush { "flush" } else { "keep" }.into());
    table.into()
}
