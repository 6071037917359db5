//! What may wait in front of a link, and how.

use super::ratio;
use bentpipe_units::settings::{Bytes, Chance, Shape, Typed, Unfit, Value, Written};
use bentpipe_units::{amounts, kinds, settings, Duration};

kinds! {
    /// A queue discipline with its limits. Packets in transmission do not count.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Queue as "" {
        /// First in, first out; what finds it full is dropped.
        "drop-tail" => DropTail {
            /// How much may wait.
            limit: QueueLimit = QueueLimit::ONE_BDP;
        };
        /// Random early detection: the longer the queue is on average, the more of what arrives is dropped (Floyd and Jacobson 1993).
        "red" => Red(Red);
        /// Controlled delay: drops from the head of the queue when packets have waited too long for an interval (RFC 8289).
        "codel" => Codel(Codel);
        /// Flows are hashed to queues that take turns by bytes, each under CoDel; flows that send little go first (RFC 8290).
        "fq-codel" => FqCodel(FqCodel);
        /// Drops what arrives with a probability that a controller of the waiting time sets (RFC 8033).
        "pie" => Pie(Pie);
        /// Strict priority: a class is served when nothing waits in those before it.
        "priority" => Priority {
            /// The limit of the first class is that of all together, and what finds the queue full takes the place of the last packet of the lowest class below its own.
            push_out: bool = false;
            /// The classes, the highest first: number 0, 1, ...
            "class" limits: Vec<QueueLimit> as Classes, [1, 256];
        };
        /// Weighted round robin: classes take turns, each with as many packets as its weight.
        "wrr" => Wrr {
            /// The classes: number 0, 1, ...
            "class" classes: Vec<Share>, [1, 256];
        };
        /// Deficit round robin: classes take turns, each with as many bytes as its weight times the quantum (Shreedhar and Varghese 1995).
        "drr" => Drr {
            /// Bytes per turn and unit of weight; best not less than the largest packet.
            quantum: u32 as Bytes = 1500, "Ethernet";
            /// The classes: number 0, 1, ...
            "class" classes: Vec<Share>, [1, 256];
        };
    }
}

amounts! {
    /// How much may wait.
    pub enum QueueLimit("queue-limit", "a queue limit", "\"unlimited\", a number of packets, a size, or a multiple of bdp", "1 bdp") {
        /// Everything waits.
        word("unlimited") => Unlimited;
        /// This many packets.
        count("packets") => Packets(u64);
        /// This many bytes.
        size => Bytes(u64);
        /// Of a bandwidth-delay product, in millionths; a network has bytes in its place.
        count("bdp", 1_000_000) => Bdp(u64);
    }
}

impl QueueLimit {
    /// What a queue has unless it is said otherwise.
    pub const ONE_BDP: Self = Self::Bdp(1_000_000);
}

settings! {
    /// Random early detection (Floyd and Jacobson 1993).
    pub struct Red {
        /// How much may wait; what exceeds it is dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Average length in packets from which on packets are dropped.
        min_th: u32 = 5, [1], "Floyd 1997, ns-2";
        /// Average length in packets at which the probability of a drop reaches `max_p`.
        max_th: u32 = 15, [1], "Floyd 1997, three times min_th";
        /// Probability of a drop when the average reaches `max_th`.
        max_p: f64 as Chance = 0.1, "Floyd 1997";
        /// Weight of a new length in the moving average (`w_q`).
        weight: f64 as Chance = 0.002, "Floyd and Jacobson 1993";
        /// From `max_th` to twice that the probability rises to 1; otherwise it is 1 at once.
        gentle: bool = true, "Floyd 2000";
        /// `max_p` changes every 0.5 s to keep the average between the thresholds (Floyd, Gummadi and Shenker 2001).
        adaptive: bool = false;
        /// No drop until 1 / p packets have passed since the last one, as ns-2 has it; otherwise drops are spread over 1 to 1 / p packets.
        wait: bool = false, "Floyd and Jacobson 1993";
        /// The average counts bytes, thresholds are times `mean_packet`, and large packets are dropped more often.
        byte_mode: bool = false;
        /// Size of a packet on average, headers included: how much the average falls while the link is idle, and the unit of the thresholds in byte mode.
        mean_packet: u32 as Bytes = 500, "ns-2";
        /// Packets of senders that understand it are marked instead of dropped early (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// Controlled delay (RFC 8289).
    pub struct Codel {
        /// How much may wait; what exceeds it is dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Waiting time that may stand.
        target: Duration = Duration::from_millis(5), "RFC 8289 §4.4";
        /// How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms.
        interval: Duration = Duration::from_millis(100), "RFC 8289 §4.3";
        /// Packets of senders that understand it are marked instead of dropped (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// FQ-CoDel (RFC 8290).
    pub struct FqCodel {
        /// How much may wait in all queues together; what exceeds it is dropped from the longest.
        limit: QueueLimit = QueueLimit::Packets(10_240), "RFC 8290 §5.2.3";
        /// Number of queues.
        queues: u32 = 1024, [1, 65_536], "RFC 8290 §4.1.2";
        /// Bytes that a queue sends before it is the next one's turn.
        quantum: u32 as Bytes = 1514, "RFC 8290 §5.2.4";
        /// Waiting time that may stand.
        target: Duration = Duration::from_millis(5), "RFC 8290 §5.2.2";
        /// How long packets must wait longer than that; about the largest round trip, which over a GEO satellite is 600 ms.
        interval: Duration = Duration::from_millis(100), "RFC 8290 §5.2.1";
        /// Packets of senders that understand it are marked instead of dropped (RFC 3168).
        ecn: bool = true, "RFC 8290 §5.2.6";
    }
}

settings! {
    /// Proportional integral controller enhanced (RFC 8033).
    pub struct Pie {
        /// How much may wait; what exceeds it is dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Waiting time to keep.
        target: Duration = Duration::from_millis(15), "RFC 8033 §4.2";
        /// Time between updates of the probability.
        update: Duration = Duration::from_millis(15), "RFC 8033 §4.2";
        /// For how long packets are let through after a quiet time.
        burst: Duration = Duration::from_millis(150), "RFC 8033 §4.4";
        /// Drops are neither too close nor too far apart (RFC 8033 §5.4).
        derandomise: bool = true, "ns-3";
        /// Size of a packet on average, headers included: while no more than two of them wait, none is dropped.
        mean_packet: u32 as Bytes = 1000, "ns-3";
        /// While the probability is below 0.1, packets of senders that understand it are marked instead of dropped (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// A class of a queue that shares the link by weight.
    pub struct Share as "WeightedClass" {
        /// Its share of the link, relative to the others.
        weight: u32 = 1, [1, 1_000_000];
        /// How much of it may wait.
        limit: QueueLimit = QueueLimit::ONE_BDP;
    }
}

settings! {
    /// A class of a queue.
    pub struct Class {
        /// How much of it may wait.
        limit: QueueLimit = QueueLimit::ONE_BDP;
    }
}

/// Classes that have nothing but a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes;

impl Written<Vec<QueueLimit>> for Classes {
    fn shape() -> Shape {
        Vec::<Class>::shape()
    }
    fn read(value: &Value) -> Result<Vec<QueueLimit>, Unfit> {
        Ok(Vec::<Class>::read(value)?.into_iter().map(|class| class.limit).collect())
    }
    fn write(limits: &Vec<QueueLimit>) -> Value {
        limits.iter().map(|&limit| Class { limit }).collect::<Vec<_>>().write()
    }
}

/// A limit alone is that of a drop-tail queue.
#[derive(Clone, Copy, Debug)]
pub struct LimitOrKind;

impl Written<Queue> for LimitOrKind {
    fn shape() -> Shape {
        Shape::Either(vec![QueueLimit::shape(), Queue::shape()])
    }
    fn read(value: &Value) -> Result<Queue, Unfit> {
        match value {
            Value::Text(_) => QueueLimit::read(value).map(|limit| Queue::DropTail { limit }),
            table => Queue::read(table),
        }
    }
    fn write(queue: &Queue) -> Value {
        match queue {
            Queue::DropTail { limit } => limit.write(),
            other => other.write(),
        }
    }
}

impl Queue {
    /// All limits of the discipline, in order of the classes.
    pub(crate) fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        match self {
            Self::DropTail { limit } => vec![limit],
            Self::Red(red) => vec![&mut red.limit],
            Self::Codel(codel) => vec![&mut codel.limit],
            Self::FqCodel(fq) => vec![&mut fq.limit],
            Self::Pie(pie) => vec![&mut pie.limit],
            Self::Priority { limits, .. } => limits.iter_mut().collect(),
            Self::Wrr { classes } | Self::Drr { classes, .. } => {
                classes.iter_mut().map(|share| &mut share.limit).collect()
            }
        }
    }

    /// Whether it marks packets of senders that understand marks.
    pub(crate) fn marks(&self) -> bool {
        match self {
            Self::Red(red) => red.ecn,
            Self::Codel(codel) => codel.ecn,
            Self::FqCodel(fq) => fq.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::DropTail { .. } | Self::Priority { .. } | Self::Wrr { .. } | Self::Drr { .. } => false,
        }
    }

    /// How many classes it tells apart; none: it does not look at classes.
    pub(crate) fn classes(&self) -> Option<usize> {
        match self {
            Self::Priority { limits, .. } => Some(limits.len()),
            Self::Wrr { classes } | Self::Drr { classes, .. } => Some(classes.len()),
            _ => None,
        }
    }

    /// How much may wait, of the first class where there are several, in packets and in bytes; `u64::MAX`: as much as comes.
    pub(crate) fn room(&self) -> (u64, u64) {
        match self.clone().limits_mut().first() {
            Some(QueueLimit::Packets(most)) => (*most, u64::MAX),
            Some(QueueLimit::Bytes(most)) => (u64::MAX, *most),
            _ => (u64::MAX, u64::MAX),
        }
    }

    /// The largest packet of a class that can ever pass, bytes.
    pub(crate) fn largest_packet(&self, class: u8) -> u64 {
        // With drop-tail, a packet that finds the link free needs no room.
        if matches!(self, Self::DropTail { .. }) {
            return u64::MAX;
        }
        let mut queue = self.clone();
        let limits = queue.limits_mut();
        match limits.get(usize::from(class).min(limits.len() - 1)) {
            Some(QueueLimit::Bytes(most)) => *most,
            _ => u64::MAX,
        }
    }

    /// Points, or what takes as much memory, that a link has because of its queue.
    pub(crate) fn entries(&self) -> usize {
        match self {
            Self::FqCodel(fq) => 8 * fq.queues as usize,
            _ => 4 * self.classes().unwrap_or(0),
        }
    }

    /// What happens in it at set instants, over a run.
    pub(crate) fn changes(&self, run: Duration) -> f64 {
        match self {
            Self::Red(red) if red.adaptive => ratio(run, Red::ADAPT_EVERY),
            Self::Pie(pie) => ratio(run, pie.update),
            _ => 0.0,
        }
    }
}

impl Red {
    /// How often `max_p` adapts (Floyd, Gummadi and Shenker 2001).
    pub(crate) const ADAPT_EVERY: Duration = Duration::from_millis(500);
}
