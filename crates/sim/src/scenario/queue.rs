//! What may wait in front of a link, and how.

use super::work::ratio;
use bentpipe_units::Duration;

/// A queue discipline with its limits. Packets in transmission do not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out; what finds it full is dropped.
    DropTail(QueueLimit),
    /// Random early detection.
    Red(Red),
    /// Controlled delay.
    Codel(Codel),
    /// Flows in queues of their own, each under CoDel.
    FqCodel(FqCodel),
    /// Proportional integral controller enhanced.
    Pie(Pie),
    /// Strict priority.
    Priority {
        /// The limits of the classes, the highest first.
        limits: Vec<QueueLimit>,
        /// The first limit is that of all together; what finds it reached takes the place of the last of a lower class.
        push_out: bool,
    },
    /// Classes take turns by packets.
    Wrr(Vec<Share>),
    /// Classes take turns by bytes.
    Drr {
        /// Bytes per turn and unit of weight.
        quantum: u32,
        /// The classes.
        classes: Vec<Share>,
    },
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets.
    Packets(u64),
    /// This many bytes. (A limit in `bdp` of the file is resolved to bytes.)
    Bytes(u64),
    /// Everything waits.
    Unlimited,
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    /// How much may wait.
    pub limit: QueueLimit,
    /// Average length in packets from which on packets are dropped.
    pub min_th: u32,
    /// Average length in packets at which the probability is `max_p`.
    pub max_th: u32,
    /// Probability of a drop when the average reaches `max_th`.
    pub max_p: f64,
    /// Weight of a new length in the moving average.
    pub weight: f64,
    /// From `max_th` on the probability rises to 1 at twice `max_th`, instead of being 1 at once.
    pub gentle: bool,
    /// `max_p` adapts so that the average stays between the thresholds.
    pub adaptive: bool,
    /// Drops keep a distance.
    pub wait: bool,
    /// The average counts bytes, and large packets are dropped more often.
    pub byte_mode: bool,
    /// Bytes of a packet for thresholds in byte mode, and for the time that passes while the link is idle.
    pub mean_packet: u32,
    /// Mark instead of dropping early.
    pub ecn: bool,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Debug, PartialEq)]
pub struct Codel {
    /// How much may wait.
    pub limit: QueueLimit,
    /// Waiting time that is accepted as standing.
    pub target: Duration,
    /// How long the waiting time must exceed it.
    pub interval: Duration,
    /// Mark instead of dropping.
    pub ecn: bool,
}

/// FQ-CoDel (RFC 8290).
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodel {
    /// How much may wait, over all queues.
    pub limit: QueueLimit,
    /// Number of queues that flows are hashed to.
    pub queues: u32,
    /// Bytes per turn.
    pub quantum: u32,
    /// As for CoDel.
    pub target: Duration,
    /// As for CoDel.
    pub interval: Duration,
    /// Mark instead of dropping.
    pub ecn: bool,
}

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Debug, PartialEq)]
pub struct Pie {
    /// How much may wait.
    pub limit: QueueLimit,
    /// Waiting time to keep.
    pub target: Duration,
    /// Time between updates of the probability.
    pub update: Duration,
    /// How long a burst is let through after a quiet time.
    pub burst: Duration,
    /// Space drops more evenly than chance does.
    pub derandomise: bool,
    /// Bytes of a packet: no more than two of them are never dropped.
    pub mean_packet: u32,
    /// Mark instead of dropping, while the probability is low.
    pub ecn: bool,
}

/// A class among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its share is its weight over the sum of all weights of classes that have something to send.
    pub weight: u32,
    /// How much of it may wait.
    pub limit: QueueLimit,
}

impl Queue {
    /// All limits of the discipline, in order of the classes.
    pub(crate) fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        match self {
            Self::DropTail(limit) => vec![limit],
            Self::Red(red) => vec![&mut red.limit],
            Self::Codel(codel) => vec![&mut codel.limit],
            Self::FqCodel(fq) => vec![&mut fq.limit],
            Self::Pie(pie) => vec![&mut pie.limit],
            Self::Priority { limits, .. } => limits.iter_mut().collect(),
            Self::Wrr(classes) | Self::Drr { classes, .. } => {
                classes.iter_mut().map(|share| &mut share.limit).collect()
            }
        }
    }

    /// How many classes it tells apart; none: it does not look at classes.
    pub(super) fn classes(&self) -> Option<usize> {
        match self {
            Self::Priority { limits, .. } => Some(limits.len()),
            Self::Wrr(classes) | Self::Drr { classes, .. } => Some(classes.len()),
            _ => None,
        }
    }

    /// Points, or what takes as much memory, that a link has because of its queue.
    pub(super) fn entries(&self) -> usize {
        match self {
            Self::FqCodel(fq) => 8 * fq.queues as usize,
            _ => 4 * self.classes().unwrap_or(0),
        }
    }

    /// What happens in it at set instants, over a run.
    pub(super) fn changes(&self, run: Duration) -> f64 {
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
