//! Queues of links, and what stands at nodes.

use crate::middlebox::{ImpairConfig, MiddleboxConfig};
use crate::scenario::text::Amount;
use crate::scenario::{file, QueueLimit};

pub(in crate::scenario) fn middlebox(middlebox: &file::Middlebox) -> MiddleboxConfig {
    match *middlebox {
        file::Middlebox::Impair { duplicate, reorder, hold } => {
            MiddleboxConfig::Impair(ImpairConfig { duplicate: duplicate.0, reorder: reorder.0, hold: hold.0 })
        }
    }
}

/// The limit of a queue, or the millionths of a bdp that it is to be.
pub(in crate::scenario) fn queue(queue: &file::Queue) -> Result<QueueLimit, u64> {
    let (file::Queue::Limit(limit) | file::Queue::Kind(file::QueueKind::DropTail { limit })) = queue;
    match limit.0 {
        Amount::Packets(n) => Ok(QueueLimit::Packets(n)),
        Amount::Bytes(n) => Ok(QueueLimit::Bytes(n)),
        Amount::Bdp(n) => Err(n),
        _ => Ok(QueueLimit::Unlimited),
    }
}
