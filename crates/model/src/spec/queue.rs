//! Queues in front of links: their limits and disciplines.

use super::ratio;
use bentpipe_units::settings::{Bytes, Chance, Maybe, Plain, Shape, Typed, Unfit, Value, Written};
use bentpipe_units::{amounts, kinds, settings, words, Duration};

kinds! {
    /// A queue discipline with its limits. Packets in transmission do not count.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Queue as "", "a queue" {
        /// First in, first out. Arrivals at a full queue are dropped.
        "drop-tail" => DropTail {
            /// Queue limit.
            limit: QueueLimit = QueueLimit::ONE_BDP;
        };
        /// Random early detection: arrivals are dropped more often, the longer the queue is on average (Floyd and
        /// Jacobson 1993).
        "red" => Red(Red);
        /// Controlled delay: drops from the head of the queue when packets have waited too long for an interval (RFC 8289).
        "codel" => Codel(Codel);
        /// Flows are hashed to queues that take turns by bytes, each under CoDel; flows that send little go first (RFC 8290).
        "fq-codel" => FqCodel(FqCodel);
        /// Drops arrivals with a probability set by a controller of the waiting time (RFC 8033).
        "pie" => Pie(Pie);
        /// A queue of a millisecond for L4S beside one for classic traffic, coupled so that both get similar rates (RFC 9332).
        "dualpi2" => DualPi2(DualPi2);
        /// Strict priority: a class is served if no packet waits in the classes before it.
        "priority" => Priority {
            /// Whether the limit of the first class is that of all together. A packet that finds the queue full then
            /// replaces the last packet of the lowest class below its class.
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
            /// Bytes per turn and unit of weight; at least the largest packet is best.
            quantum: u32 as Bytes = 1500, "Ethernet";
            /// The classes: number 0, 1, ...
            "class" classes: Vec<Share>, [1, 256];
        };
    }
}

amounts! {
    /// Queue limit.
    pub enum QueueLimit("queue-limit", "a queue limit", "\"unlimited\", a number of packets, a size, or a multiple of bdp", "1 bdp") {
        /// No limit.
        word("unlimited") => Unlimited;
        /// This many packets.
        count("packets") => Packets(u64);
        /// This many bytes.
        size => Bytes(u64);
        /// Bandwidth-delay products, in millionths. A network has bytes instead.
        count("bdp", 1_000_000) => Bdp(u64);
    }
}

impl QueueLimit {
    /// Limit of a queue by default.
    pub const ONE_BDP: Self = Self::Bdp(1_000_000);
}

settings! {
    /// Random early detection (Floyd and Jacobson 1993).
    pub struct Red {
        /// Queue limit. Packets above it are dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Average length in packets above which packets are dropped.
        min_th: u32 = 5, [1], "Floyd 1997, ns-2";
        /// Average length in packets at which the probability of a drop reaches `max_p`.
        max_th: u32 = 15, [1], "Floyd 1997, three times min_th";
        /// Probability of a drop when the average reaches `max_th`.
        max_p: f64 as Chance = 0.1, "Floyd 1997";
        /// Weight of a new length in the moving average (`w_q`).
        weight: f64 as Chance = 0.002, "Floyd and Jacobson 1993";
        /// Whether the probability rises to 1 between `max_th` and twice that. Otherwise it is 1 immediately.
        gentle: bool = true, "Floyd 2000";
        /// Whether `max_p` changes every 0.5 s to keep the average between the thresholds (Floyd, Gummadi and Shenker
        /// 2001).
        adaptive: bool = false;
        /// Whether no packet is dropped until 1 / p packets have passed since the last drop, as in ns-2. Otherwise
        /// drops are spread over 1 to 1 / p packets.
        wait: bool = false, "Floyd and Jacobson 1993";
        /// Whether the average counts bytes. Thresholds are then multiplied by `mean_packet`, and large packets are
        /// dropped more often.
        byte_mode: bool = false;
        /// Average size of a packet, headers included: sets the fall of the average while the link is idle, and the
        /// unit of the thresholds in byte mode.
        mean_packet: u32 as Bytes = 500, "ns-2";
        /// Whether ECN-capable packets are marked instead of dropped early (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// Controlled delay (RFC 8289).
    pub struct Codel {
        /// Queue limit. Packets above it are dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Target of the standing waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for
        /// a grant.
        target: Duration = Duration::from_millis(5), "RFC 8289 §4.4";
        /// Time that packets must wait longer than the target before a drop; about the largest round trip, which over a
        /// GEO satellite is 600 ms. Default on a link that asks a medium for capacity: the target, the propagation there
        /// and back, and the control interval.
        interval: Duration = Duration::from_millis(100), "RFC 8289 §4.3";
        /// Whether ECN-capable packets are marked instead of dropped (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// FQ-CoDel (RFC 8290).
    pub struct FqCodel {
        /// Limit of all queues together. Packets above it are dropped from the longest. Default on a link that asks a medium for
        /// capacity: the bytes that the link carries in the default interval.
        limit: QueueLimit = QueueLimit::Packets(10_240), "RFC 8290 §5.2.3";
        /// Number of queues.
        queues: u32 = 1024, [1, 65_536], "RFC 8290 §4.1.2";
        /// Bytes that a queue sends per turn.
        quantum: u32 as Bytes = 1514, "RFC 8290 §5.2.4";
        /// Target of the standing waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for
        /// a grant.
        target: Duration = Duration::from_millis(5), "RFC 8290 §5.2.2";
        /// Time that packets must wait longer than the target before a drop; about the largest round trip, which over a
        /// GEO satellite is 600 ms. Default on a link that asks a medium for capacity: the target, the propagation there
        /// and back, and the control interval.
        interval: Duration = Duration::from_millis(100), "RFC 8290 §5.2.1";
        /// Whether ECN-capable packets are marked instead of dropped (RFC 3168).
        ecn: bool = true, "RFC 8290 §5.2.6";
    }
}

settings! {
    /// Proportional integral controller enhanced (RFC 8033).
    pub struct Pie {
        /// Queue limit. Packets above it are dropped.
        limit: QueueLimit = QueueLimit::ONE_BDP;
        /// Target of the waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for a grant.
        target: Duration = Duration::from_millis(15), "RFC 8033 §4.2";
        /// Time between updates of the probability.
        update: Duration = Duration::from_millis(15), "RFC 8033 §4.2";
        /// Time without drops after a quiet time.
        burst: Duration = Duration::from_millis(150), "RFC 8033 §4.4";
        /// Whether drops are neither too close nor too far apart (RFC 8033 §5.4).
        derandomise: bool = true, "ns-3";
        /// Average size of a packet, headers included. While at most two of them wait, none is dropped.
        mean_packet: u32 as Bytes = 1000, "ns-3";
        /// Whether ECN-capable packets are marked instead of dropped while the probability is below 0.1 (RFC 3168).
        ecn: bool = false;
    }
}

settings! {
    /// DualPI2 (RFC 9332). ECN is always on. Packets that are ECT(1) or CE wait in the L queue, others in the C queue.
    pub struct DualPi2 {
        /// Limit of both queues together. Packets above it are dropped.
        limit: QueueLimit = QueueLimit::Packets(10_000), "Linux; RFC 9332 A.1: 250 ms";
        /// Target of the longer waiting time of both queues.
        target: Duration = Duration::from_millis(15), "RFC 9332 A.1, Linux";
        /// Time between updates of the probability.
        update: Duration = Duration::from_millis(16), "Linux; RFC 9332 A.1: 15 ms";
        /// Weight of the distance from the target, per second.
        alpha: f64 = 0.160_156_25, [0.0, 1000.0], "Linux: 41/256; RFC 9332 A.1: 0.15";
        /// Weight of the change of the waiting time, per second.
        beta: f64 = 3.199_218_75, [0.0, 1000.0], "Linux: 819/256; RFC 9332 A.1: 3";
        /// Longest round trip, from which `target`, `update`, `alpha` and `beta` follow (RFC 9332 A.1); not with these
        /// keys. The defaults are stable up to 100 ms. A GEO satellite needs 600 ms.
        max_rtt: Option<Duration> as Maybe<Plain> = None;
        /// Typical round trip, a sixth of `max_rtt`; one of the two.
        typical_rtt: Option<Duration> as Maybe<Plain> = None;
        /// Marks of L4S for each unit of p', whose square is the probability of a classic drop or mark (k).
        coupling: f64 = 2.0, [1.0, 8.0], "RFC 9332 §2.1, Linux";
        /// Share of the link for the C queue while both queues wait.
        classic_share: f64 as Chance = 0.1, "Linux; RFC 9332 leaves the scheduler open";
        /// Marks of L4S by the wait of the packet itself.
        native: enum Dp2Native = Dp2Native::Step, "Linux";
        /// Waiting time above which packets of L4S are marked. It should exceed a frame of the link, or the time between
        /// grants, by a millisecond.
        step: Duration = Duration::from_millis(1), "Linux; RFC 9332 A.1";
        /// Packets in the L queue up to which the step marks none.
        step_min: u32 = 0, [0, 1_000_000], "Linux";
        /// Reaction to traffic that marks do not slow down.
        overload: enum Dp2Overload = Dp2Overload::Drop, "RFC 9332 §4.2, Linux";
        /// Whether drops and marks are evenly spread. Otherwise they are drawn.
        spread: bool = false, "Linux draws; RFC 9332 A.1: recur()";
    }
}

words! {
    /// Marks of L4S by the wait of the packet itself.
    pub enum Dp2Native {
        /// All packets that have waited longer than `step`.
        "step" => Step,
        /// No packet up to 0.8 `step`, all from 1.2 `step` on, and never a packet alone (RFC 9332 A.1).
        "ramp" => Ramp,
    }
}

words! {
    /// Reaction to traffic that marks do not slow down.
    pub enum Dp2Overload {
        /// Packets of L4S are dropped with the probability of classic ones, and marks end in the C queue.
        "drop" => Drop,
        /// The probability stays at the greatest value for marks. The queue fills up to its limit.
        "overflow" => Overflow,
    }
}

/// The controller of a DualPI2 queue.
#[derive(Clone, Copy, Debug)]
pub struct Dp2Control {
    /// Target of the waiting time.
    pub target: Duration,
    /// Time between updates.
    pub update: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha: f64,
    /// Weight of the change, per second.
    pub beta: f64,
}

impl DualPi2 {
    /// Longest round trip for which the default controller is stable (RFC 9332 A.1).
    pub(crate) const MAX_RTT: Duration = Duration::from_millis(100);

    /// Returns the longest round trip that it is set for.
    pub(crate) fn max_rtt(&self) -> Option<Duration> {
        self.max_rtt.or(self.typical_rtt.map(|typical| typical * 6))
    }

    /// Returns its controller, from the longest round trip if that is given.
    pub fn control(&self) -> Dp2Control {
        let Self { target, update, alpha, beta, .. } = *self;
        let Some(max) = self.max_rtt() else { return Dp2Control { target, update, alpha, beta } };
        let typical = max / 6;
        let update = typical.min(max / 3);
        let (max, step) = (max.as_secs_f64(), update.as_secs_f64());
        Dp2Control { target: typical, update, alpha: 0.1 * step / (max * max), beta: 0.3 / max }
    }
}

settings! {
    /// A class of a queue that shares the link by weight.
    pub struct Share as "WeightedClass" {
        /// Share of the link, relative to the others.
        weight: u32 = 1, [1, 1_000_000];
        /// Queue limit of the class.
        limit: QueueLimit = QueueLimit::ONE_BDP;
    }
}

settings! {
    /// A class of a queue.
    pub struct Class {
        /// Queue limit of the class.
        limit: QueueLimit = QueueLimit::ONE_BDP;
    }
}

/// Classes with a limit only.
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

/// A limit without a discipline is that of a drop-tail queue.
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
    /// Returns all limits of the discipline, in order of the classes.
    pub fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        match self {
            Self::DropTail { limit } => vec![limit],
            Self::Red(red) => vec![&mut red.limit],
            Self::Codel(codel) => vec![&mut codel.limit],
            Self::FqCodel(fq) => vec![&mut fq.limit],
            Self::Pie(pie) => vec![&mut pie.limit],
            Self::DualPi2(dual) => vec![&mut dual.limit],
            Self::Priority { limits, .. } => limits.iter_mut().collect(),
            Self::Wrr { classes } | Self::Drr { classes, .. } => {
                classes.iter_mut().map(|share| &mut share.limit).collect()
            }
        }
    }

    /// Whether it marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        match self {
            Self::Red(red) => red.ecn,
            Self::Codel(codel) => codel.ecn,
            Self::FqCodel(fq) => fq.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::DualPi2(_) => true,
            Self::DropTail { .. } | Self::Priority { .. } | Self::Wrr { .. } | Self::Drr { .. } => false,
        }
    }

    /// Returns its number of classes; `None`: it ignores classes.
    pub fn classes(&self) -> Option<usize> {
        match self {
            Self::Priority { limits, .. } => Some(limits.len()),
            Self::Wrr { classes } | Self::Drr { classes, .. } => Some(classes.len()),
            _ => None,
        }
    }

    /// Returns the queue limit, of the first class if there are several, in packets and in bytes; `u64::MAX`: no limit.
    pub fn room(&self) -> (u64, u64) {
        match self.clone().limits_mut().first() {
            Some(QueueLimit::Packets(most)) => (*most, u64::MAX),
            Some(QueueLimit::Bytes(most)) => (u64::MAX, *most),
            _ => (u64::MAX, u64::MAX),
        }
    }

    /// Returns the largest packet of a class that can ever pass, bytes.
    pub fn largest_packet(&self, class: u8) -> u64 {
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

    /// Returns the points, or an equal amount of memory, that a link has because of its queue.
    pub fn entries(&self) -> usize {
        match self {
            Self::FqCodel(fq) => 8 * fq.queues as usize,
            _ => 4 * self.classes().unwrap_or(0),
        }
    }

    /// Returns the number of its scheduled changes in a run.
    pub fn changes(&self, run: Duration) -> f64 {
        match self {
            Self::Red(red) if red.adaptive => ratio(run, Red::ADAPT_EVERY),
            Self::Pie(pie) => ratio(run, pie.update),
            Self::DualPi2(dual) => ratio(run, dual.control().update),
            _ => 0.0,
        }
    }
}

impl Red {
    /// Time between adaptations of `max_p` (Floyd, Gummadi and Shenker 2001).
    pub const ADAPT_EVERY: Duration = Duration::from_millis(500);
}
