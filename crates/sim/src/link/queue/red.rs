//! RED, random early detection (S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
//! ToN 1993): the more packets wait on average, the more of those that arrive are dropped.

use super::drop_tail::DropTail;
use super::{first_after, Discipline, Marking};
use crate::link::Losses;
use crate::packet::Packet;
use crate::record::Cause;
use crate::scenario::Red as Spec;
use bentpipe_units::{Duration, Rate, Stream, Time};

/// S. Floyd et al., "Adaptive RED" (2001): the bounds within which `max_p` adapts, and how fast it falls.

const MAX_P: std::ops::RangeInclusive<f64> = 0.01..=0.5;
const DECREASE: f64 = 0.9;

/// See the module. Lengths are packets, or bytes in byte mode.
#[derive(Clone, Debug)]
pub(in crate::link) struct Red {
    packets: DropTail,
    spec: Spec,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    average: f64,
    /// Arrivals between the thresholds since the last drop or mark, less one; below the thresholds -1.
    count: i64,
    /// When the server asked in vain; none if a packet has arrived since.
    idle_since: Option<Time>,
    /// How long the link takes for a packet of mean size.
    packet_time: Duration,
    adapts_at: Time,
    draws: Stream,
    arrivals: u64,
    marking: Marking,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Accept,
    /// The sender is told: by a mark or, if it understands none, a drop.
    Tell,
    Refuse,
}

impl Red {
    pub(super) fn new(spec: &Spec, rate: Rate, draws: Stream) -> Self {
        let unit = if spec.byte_mode { f64::from(spec.mean_packet) } else { 1.0 };
        Self {
            packets: DropTail::new(spec.limit),
            spec: spec.clone(),
            min_th: f64::from(spec.min_th) * unit,
            max_th: f64::from(spec.max_th) * unit,
            max_p: spec.max_p,
            average: 0.0,
            count: -1,
            idle_since: None,
            packet_time: rate.time_to_send(spec.mean_packet.into()),
            adapts_at: Time::ZERO + Spec::ADAPT_EVERY,
            draws,
            arrivals: 0,
            marking: Marking::new(spec.ecn),
        }
    }

    /// The moving average; while the link is idle, as if packets of mean size had found the queue empty.
    fn update_average(&mut self, now: Time) {
        let kept = 1.0 - self.spec.weight;
        if let Some(since) = self.idle_since.take() {
            let missed = (now - since).as_ps() / self.packet_time.as_ps().max(1);
            self.average *= libm::pow(kept, missed as f64);
        }
        let length = if self.spec.byte_mode { self.packets.bytes() as f64 } else { self.packets.len() as f64 };
        self.average = kept * self.average + self.spec.weight * length;
    }

    /// Adaptive RED keeps the average in the middle between the thresholds.
    fn adapt(&mut self, now: Time) {
        if !self.spec.adaptive {
            return;
        }
        let margin = 0.4 * (self.max_th - self.min_th);
        while self.adapts_at <= now {
            let before = self.max_p;
            if self.average > self.max_th - margin && self.max_p < *MAX_P.end() {
                self.max_p += (self.max_p / 4.0).min(0.01);
            } else if self.average < self.min_th + margin && self.max_p > *MAX_P.start() {
                self.max_p *= DECREASE;
            }
            // The average stays until a packet arrives, so what happened now happens until then.
            self.adapts_at = if self.max_p == before {
                first_after(now, self.adapts_at, Spec::ADAPT_EVERY)
            } else {
                self.adapts_at + Spec::ADAPT_EVERY
            };
        }
    }

    /// The probability of a drop as the average has it; none: certain.
    fn pressure(&self) -> Option<f64> {
        if self.average < self.max_th {
            return Some(self.max_p * (self.average - self.min_th) / (self.max_th - self.min_th));
        }
        // S. Floyd, "Recommendation on using the gentle_ variant of RED" (2000).
        let is_gentle = self.spec.gentle && self.average < 2.0 * self.max_th;
        is_gentle.then(|| self.max_p + (1.0 - self.max_p) * (self.average - self.max_th) / self.max_th)
    }

    /// Spreads drops evenly: the probability rises with each packet that was let through.
    fn spread(&self, p: f64) -> f64 {
        let expected = self.count as f64 * p;
        match (self.spec.wait, expected) {
            (true, ..1.0) => 0.0,
            (true, ..2.0) => p / (2.0 - expected),
            (false, ..1.0) => p / (1.0 - expected),
            _ => 1.0,
        }
    }

    fn verdict(&mut self, size: u64) -> Verdict {
        if self.average < self.min_th || self.packets.len() <= 1 {
            self.count = -1;
            return Verdict::Accept;
        }
        let Some(pressure) = self.pressure() else {
            self.count = 0;
            return Verdict::Refuse;
        };
        let scale = if self.spec.byte_mode { size as f64 / f64::from(self.spec.mean_packet) } else { 1.0 };
        self.count += 1;
        // A packet's draw is its own: whether others were tested changes nothing.
        if self.draws.uniform(self.arrivals) >= self.spread(pressure * scale) {
            return Verdict::Accept;
        }
        self.count = 0;
        Verdict::Tell
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.adapt(now);
        self.update_average(now);
        let mut packet = *packet;
        if !self.packets.has_room_for(&packet) {
            losses.push((packet, Cause::QueueOverflow));
        } else {
            match self.verdict(packet.size()) {
                Verdict::Tell if !self.marking.mark(&mut packet) => losses.push((packet, Cause::EarlyDrop)),
                Verdict::Refuse => losses.push((packet, Cause::ForcedDrop)),
                _ => self.packets.enqueue(now, &packet, losses),
            }
        }
        self.arrivals += 1;
    }

    fn dequeue(&mut self, now: Time, _: &mut Losses) -> Option<Packet> {
        let packet = self.packets.pop();
        if packet.is_none() {
            self.idle_since.get_or_insert(now);
        }
        packet
    }

    fn flush(&mut self, losses: &mut Losses) {
        self.packets.flush(losses);
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.packets.bytes()
    }

    fn marked(&self) -> u64 {
        self.marking.marked
    }
}
