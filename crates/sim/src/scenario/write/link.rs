//! Links and what stands at nodes.

use super::error::error;
use super::profile::{outage, profile};
use super::text;
use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use crate::scenario::{Link, Queue, QueueLimit};
use serde_json::{json, Map, Value as Json};

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
    let Queue::DropTail(limit) = link.queue;
    let limit = match limit {
        QueueLimit::Packets(n) => format!("{n} packets"),
        QueueLimit::Bytes(n) => format!("{n} B"),
        QueueLimit::Unlimited => "unlimited".into(),
    };
    table.insert("queue".into(), limit.into());
    table.insert("error".into(), error(&link.error));
    table.extend(link.outage.as_ref().map(|o| ("outage".to_owned(), outage(o))));
    table
}
