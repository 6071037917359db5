//! Queues.

use super::text;
use crate::scenario::{Codel, FqCodel, Pie, Queue, QueueLimit, Red, Share};
use serde_json::{json, Value as Json};

pub(super) fn queue(queue: &Queue) -> Json {
    let bytes = |n: u32| format!("{n} B");
    match queue {
        Queue::DropTail(of) => limit(*of),
        Queue::Red(Red {
            limit: of,
            min_th,
            max_th,
            max_p,
            weight,
            gentle,
            adaptive,
            wait,
            byte_mode,
            mean_packet,
            ecn,
        }) => json!({
            "kind": "red", "limit": limit(*of), "min_th": min_th, "max_th": max_th, "max_p": max_p, "weight": weight,
            "gentle": gentle, "adaptive": adaptive, "wait": wait, "byte_mode": byte_mode,
            "mean_packet": bytes(*mean_packet), "ecn": ecn,
        }),
        Queue::Codel(Codel { limit: of, target, interval, ecn }) => json!({
            "kind": "codel", "limit": limit(*of), "target": text(target), "interval": text(interval), "ecn": ecn,
        }),
        Queue::FqCodel(FqCodel { limit: of, queues, quantum, target, interval, ecn }) => json!({
            "kind": "fq-codel", "limit": limit(*of), "queues": queues, "quantum": bytes(*quantum),
            "target": text(target), "interval": text(interval), "ecn": ecn,
        }),
        Queue::Pie(Pie { limit: of, target, update, burst, derandomise, mean_packet, ecn }) => json!({
            "kind": "pie", "limit": limit(*of), "target": text(target), "update": text(update), "burst": text(burst),
            "derandomise": derandomise, "mean_packet": bytes(*mean_packet), "ecn": ecn,
        }),
        Queue::Priority { limits, push_out } => {
            let classes: Json = limits.iter().map(|&of| json!({ "limit": limit(of) })).collect();
            json!({ "kind": "priority", "push_out": push_out, "class": classes })
        }
        Queue::Wrr(classes) => json!({ "kind": "wrr", "class": shares(classes) }),
        Queue::Drr { quantum, classes } => {
            json!({ "kind": "drr", "quantum": bytes(*quantum), "class": shares(classes) })
        }
    }
}

fn shares(classes: &[Share]) -> Json {
    classes.iter().map(|share| json!({ "weight": share.weight, "limit": limit(share.limit) })).collect()
}

fn limit(limit: QueueLimit) -> Json {
    match limit {
        QueueLimit::Packets(n) => format!("{n} packets").into(),
        QueueLimit::Bytes(n) => format!("{n} B").into(),
        QueueLimit::Unlimited => "unlimited".into(),
    }
}
