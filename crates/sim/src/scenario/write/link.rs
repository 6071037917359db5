//! Links and what stands at nodes.

use super::error::{error, interleave};
use super::profile::{outage, profile};
use super::text;
use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use crate::scenario::Link;
use bentpipe_units::{Duration, Word};
use serde_json::{json, Map, Value as Json};

pub(super) fn middlebox(config: &MiddleboxConfig) -> Json {
    match config {
        MiddleboxConfig::Impair(ImpairConfig { direction, duplicate, reorder, hold: time }) => json!({
            "kind": "impair",
            "duplicate": duplicate,
            "reorder": reorder,
            "hold": hold(*time),
            "direction": direction.name(),
        }),
    }
}

/// A random time by its shortest and longest value.
pub(super) fn hold((least, most): (Duration, Duration)) -> Json {
    if least == most {
        text(least)
    } else {
        json!({ "uniform": [text(least), text(most)] })
    }
}

pub(super) fn direction(link: &Link) -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("rate".into(), profile(&link.rate, false));
    table.insert("delay".into(), profile(&link.delay, true));
    table.insert("queue".into(), super::queue::queue(&link.queue));
    table.insert("error".into(), error(&link.error, link.effect));
    table.extend(link.interleave.as_ref().map(|i| ("interleave".to_owned(), interleave(i))));
    table.extend(link.outage.as_ref().map(|o| ("outage".to_owned(), outage(o))));
    table
}
