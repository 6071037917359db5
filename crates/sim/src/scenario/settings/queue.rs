//! Queues.

use super::below;
use crate::scenario::file::QueueKind;
use crate::scenario::resolve::Report;
use crate::scenario::text::{self, Amount, Span};
use crate::scenario::{file, Codel, FqCodel, Pie, Queue, QueueLimit, Red, Share};
use bentpipe_units::Duration;

/// A smaller quantum would need many turns for a packet.
const QUANTUM_MIN: u64 = 100;

/// The queue, and for each of its limits that is written so the millionths of a bdp that it is to be.
pub(in crate::scenario) fn queue(
    queue: &file::Queue,
    report: &mut Report<'_>,
    path: &[String],
) -> (Queue, Vec<Option<u64>>) {
    let mut reader = Reader { report, path, bdps: Vec::new() };
    let queue = match queue {
        file::Queue::Limit(limit) => Queue::DropTail(reader.limit(*limit)),
        file::Queue::Kind(kind) => reader.kind(kind),
    };
    (queue, reader.bdps)
}

struct Reader<'a, 'b> {
    report: &'a mut Report<'b>,
    path: &'a [String],
    bdps: Vec<Option<u64>>,
}

impl Reader<'_, '_> {
    fn kind(&mut self, kind: &QueueKind) -> Queue {
        match *kind {
            QueueKind::DropTail { limit } => Queue::DropTail(self.limit(limit)),
            QueueKind::Red {
                limit,
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
            } => {
                if max_th <= min_th {
                    self.wrong("max_th", "is not above min_th", "expected max_th more than min_th");
                }
                for (key, share) in [("max_p", max_p.0), ("weight", weight.0)] {
                    if share == 0.0 {
                        self.wrong(key, "switches the discipline off", "expected more than 0");
                    }
                }
                Queue::Red(Red {
                    limit: self.room("limit", limit),
                    min_th,
                    max_th,
                    max_p: max_p.0,
                    weight: weight.0,
                    gentle,
                    adaptive,
                    wait,
                    byte_mode,
                    mean_packet: self.bytes("mean_packet", mean_packet, 1),
                    ecn,
                })
            }
            QueueKind::Codel { limit, target, interval, ecn } => {
                let (target, interval) = self.control(target, interval);
                Queue::Codel(Codel { limit: self.room("limit", limit), target, interval, ecn })
            }
            QueueKind::FqCodel { limit, queues, quantum, target, interval, ecn } => {
                let (target, interval) = self.control(target, interval);
                let quantum = self.bytes("quantum", quantum, QUANTUM_MIN);
                Queue::FqCodel(FqCodel { limit: self.room("limit", limit), queues, quantum, target, interval, ecn })
            }
            QueueKind::Pie { limit, target, update, burst, derandomise, mean_packet, ecn } => Queue::Pie(Pie {
                limit: self.room("limit", limit),
                target: self.span("target", target),
                update: self.span("update", update),
                burst: burst.0,
                derandomise,
                mean_packet: self.bytes("mean_packet", mean_packet, 1),
                ecn,
            }),
            QueueKind::Priority { ref class } => {
                Queue::Priority((0..).zip(class).map(|(index, class)| self.class(index, class.limit)).collect())
            }
            QueueKind::Wrr { ref class } => Queue::Wrr(self.shares(class)),
            QueueKind::Drr { quantum, ref class } => {
                Queue::Drr { quantum: self.bytes("quantum", quantum, QUANTUM_MIN), classes: self.shares(class) }
            }
        }
    }

    fn limit(&mut self, limit: text::QueueLimit) -> QueueLimit {
        self.bdps.push(if let Amount::Bdp(n) = limit.0 { Some(n) } else { None });
        match limit.0 {
            Amount::Packets(n) => QueueLimit::Packets(n),
            Amount::Bytes(n) => QueueLimit::Bytes(n),
            _ => QueueLimit::Unlimited,
        }
    }

    /// The limit of a queue that all packets pass through, also those that find the link free.
    fn room(&mut self, key: &str, limit: text::QueueLimit) -> QueueLimit {
        if matches!(limit.0, Amount::Packets(0) | Amount::Bytes(0)) {
            self.wrong(key, "lets nothing pass", "expected room for at least one packet");
        }
        self.limit(limit)
    }

    fn class(&mut self, index: usize, limit: text::QueueLimit) -> QueueLimit {
        self.room(&format!("class.{index}.limit"), limit)
    }

    fn shares(&mut self, classes: &[file::WeightedClass]) -> Vec<Share> {
        let share = |(index, class): (usize, &file::WeightedClass)| Share {
            weight: class.weight,
            limit: self.class(index, class.limit),
        };
        (0..).zip(classes).map(share).collect()
    }

    /// Target and interval of CoDel.
    fn control(&mut self, target: Span, interval: Span) -> (Duration, Duration) {
        let (target, interval) = (self.span("target", target), self.span("interval", interval));
        if target >= interval && interval > Duration::ZERO {
            self.wrong("target", "is not below the interval", "expected a small part of the interval (RFC 8289 §4.4)");
        }
        (target, interval)
    }

    fn span(&mut self, key: &str, span: Span) -> Duration {
        if span.0 == Duration::ZERO {
            self.wrong(key, "is no time", "expected more than 0 s");
        }
        span.0
    }

    fn bytes(&mut self, key: &str, bytes: text::Bytes, least: u64) -> u32 {
        let fitting = u32::try_from(bytes.0).ok().filter(|&n| u64::from(n) >= least);
        if fitting.is_none() {
            self.wrong(key, "is out of range", &format!("expected {least} B to {} B", u32::MAX));
        }
        fitting.unwrap_or(u32::MAX)
    }

    fn wrong(&mut self, key: &str, message: &str, expected: &str) {
        let path = key.split('.').fold(self.path.to_vec(), |path, key| below(&path, key));
        self.report.value(&path, message, expected);
    }
}
