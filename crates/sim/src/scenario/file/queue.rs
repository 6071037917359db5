//! Queues as they are written.

use crate::scenario::text::{Bytes, Chance, QueueLimit, Span};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Queue {
    Limit(QueueLimit),
    Kind(QueueKind),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(inline)]
pub(in crate::scenario) enum QueueKind {
    /// First in, first out; what finds it full is dropped.
    DropTail {
        /// How much may wait.
        #[schemars(extend("default" = "1 bdp"))]
        limit: QueueLimit,
    },
    /// Random early detection: the longer the queue is on average, the more of what arrives is dropped (Floyd and Jacobson 1993).
    Red {
        /// How much may wait; what exceeds it is dropped.
        #[schemars(extend("default" = "1 bdp"))]
        limit: QueueLimit,
        /// Average length in packets from which on packets are dropped.
        #[schemars(extend("default" = 5, "x-origin" = "Floyd 1997, ns-2"), range(min = 1))]
        min_th: u32,
        /// Average length in packets at which the probability of a drop reaches `max_p`.
        #[schemars(extend("default" = 15, "x-origin" = "Floyd 1997, three times min_th"), range(min = 1))]
        max_th: u32,
        /// Probability of a drop when the average reaches `max_th`.
        #[schemars(extend("default" = 0.1, "x-origin" = "Floyd 1997"))]
        max_p: Chance,
        /// Weight of a new length in the moving average (`w_q`).
        #[schemars(extend("default" = 0.002, "x-origin" = "Floyd and Jacobson 1993"))]
        weight: Chance,
        /// From `max_th` to twice that the probability rises to 1; otherwise it is 1 at once.
        #[schemars(extend("default" = true, "x-origin" = "Floyd 2000"))]
        gentle: bool,
        /// `max_p` changes every 0.5 s to keep the average between the thresholds (Floyd, Gummadi and Shenker 2001).
        #[schemars(extend("default" = false))]
        adaptive: bool,
        /// No drop until 1 / p packets have passed since the last one, as ns-2 has it; otherwise drops are spread over 1 to 1 / p packets.
        #[schemars(extend("default" = false, "x-origin" = "Floyd and Jacobson 1993"))]
        wait: bool,
        /// The average counts bytes, thresholds are times `mean_packet`, and large packets are dropped more often.
        #[schemars(extend("default" = false))]
        byte_mode: bool,
        /// Size of a packet on average, headers included: how much the average falls while the link is idle, and the unit of the thresholds in byte mode.
        #[schemars(extend("default" = "500 B", "x-origin" = "ns-2"))]
        mean_packet: Bytes,
        /// Packets of senders that understand it are marked instead of dropped early (RFC 3168).
        #[schemars(extend("default" = false))]
        ecn: bool,
    },
    /// Controlled delay: drops from the head of the queue when packets have waited too long for an interval (RFC 8289).
    Codel {
        /// How much may wait; what exceeds it is dropped.
        #[schemars(extend("default" = "1 bdp"))]
        limit: QueueLimit,
        /// Waiting time that may stand.
        #[schemars(extend("default" = "5 ms", "x-origin" = "RFC 8289 §4.4"))]
        target: Span,
        /// How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms.
        #[schemars(extend("default" = "100 ms", "x-origin" = "RFC 8289 §4.3"))]
        interval: Span,
        /// Packets of senders that understand it are marked instead of dropped (RFC 3168).
        #[schemars(extend("default" = false))]
        ecn: bool,
    },
    /// Flows are hashed to queues that take turns by bytes, each under CoDel; flows that send little go first (RFC 8290).
    FqCodel {
        /// How much may wait in all queues together; what exceeds it is dropped from the longest.
        #[schemars(extend("default" = "10240 packets", "x-origin" = "RFC 8290 §5.2.3"))]
        limit: QueueLimit,
        /// Number of queues.
        #[schemars(extend("default" = 1024, "x-origin" = "RFC 8290 §4.1.2"), range(min = 1, max = 65_536))]
        queues: u32,
        /// Bytes that a queue sends before it is the next one's turn.
        #[schemars(extend("default" = "1514 B", "x-origin" = "RFC 8290 §5.2.4"))]
        quantum: Bytes,
        /// Waiting time that may stand.
        #[schemars(extend("default" = "5 ms", "x-origin" = "RFC 8290 §5.2.2"))]
        target: Span,
        /// How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms.
        #[schemars(extend("default" = "100 ms", "x-origin" = "RFC 8290 §5.2.1"))]
        interval: Span,
        /// Packets of senders that understand it are marked instead of dropped (RFC 3168).
        #[schemars(extend("default" = true, "x-origin" = "RFC 8290 §5.2.6"))]
        ecn: bool,
    },
    /// Drops what arrives with a probability that a controller of the waiting time sets (RFC 8033).
    Pie {
        /// How much may wait; what exceeds it is dropped.
        #[schemars(extend("default" = "1 bdp"))]
        limit: QueueLimit,
        /// Waiting time to keep.
        #[schemars(extend("default" = "15 ms", "x-origin" = "RFC 8033 §4.2"))]
        target: Span,
        /// Time between updates of the probability.
        #[schemars(extend("default" = "15 ms", "x-origin" = "RFC 8033 §4.2"))]
        update: Span,
        /// For how long packets are let through after a quiet time.
        #[schemars(extend("default" = "150 ms", "x-origin" = "RFC 8033 §4.4"))]
        burst: Span,
        /// Drops are neither too close nor too far apart (RFC 8033 §5.4).
        #[schemars(extend("default" = true, "x-origin" = "ns-3"))]
        derandomise: bool,
        /// Size of a packet on average, headers included: while no more than two of them wait, none is dropped.
        #[schemars(extend("default" = "1000 B", "x-origin" = "ns-3"))]
        mean_packet: Bytes,
        /// While the probability is below 0.1, packets of senders that understand it are marked instead of dropped (RFC 3168).
        #[schemars(extend("default" = false))]
        ecn: bool,
    },
    /// Strict priority: a class is served when nothing waits in those before it.
    Priority {
        /// The limit of the first class is that of all together, and what finds the queue full takes the place of the last packet of the lowest class below its own.
        #[schemars(extend("default" = false))]
        push_out: bool,
        /// The classes, the highest first: number 0, 1, ...
        #[schemars(length(min = 1, max = 256))]
        class: Vec<Class>,
    },
    /// Weighted round robin: classes take turns, each with as many packets as its weight.
    Wrr {
        /// The classes: number 0, 1, ...
        #[schemars(length(min = 1, max = 256))]
        class: Vec<WeightedClass>,
    },
    /// Deficit round robin: classes take turns, each with as many bytes as its weight times the quantum (Shreedhar and Varghese 1995).
    Drr {
        /// Bytes per turn and unit of weight; best not less than the largest packet.
        #[schemars(extend("default" = "1500 B", "x-origin" = "Ethernet"))]
        quantum: Bytes,
        /// The classes: number 0, 1, ...
        #[schemars(length(min = 1, max = 256))]
        class: Vec<WeightedClass>,
    },
}

/// A class of a queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Class {
    /// How much of it may wait.
    #[schemars(extend("default" = "1 bdp"))]
    pub(in crate::scenario) limit: QueueLimit,
}

/// A class of a queue that shares the link by weight.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct WeightedClass {
    /// Its share of the link, relative to the others.
    #[schemars(extend("default" = 1), range(min = 1, max = 1_000_000))]
    pub(in crate::scenario) weight: u32,
    /// How much of it may wait.
    #[schemars(extend("default" = "1 bdp"))]
    pub(in crate::scenario) limit: QueueLimit,
}
