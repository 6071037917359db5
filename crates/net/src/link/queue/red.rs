//! RED, random early detection (S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance", ToN
//! 1993): the share of dropped arrivals grows with the average queue.

use super::drop_tail::DropTailQueue;
use super::{first_after, kept_in, Discipline, Marking};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Red as Spec;
use bentpipe_units::{Duration, Rate, Stream, Time};

/// S. Floyd et al., "Adaptive RED" (2001): bounds of `max_p`, and its rate of decrease.
const MAX_P: std::ops::RangeInclusive<f64> = 0.01..=0.5;
const DECREASE: f64 = 0.9;

/// A queue under RED. Lengths are packets, or bytes in byte mode.
#[derive(Clone, Debug)]
pub(in crate::link) struct RedQueue {
    packets: DropTailQueue,
    spec: Spec,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    average: f64,
    /// Packets that passed the test since the last drop or mark; -1 below the thresholds.
    count: i64,
    /// Start of the idle time: the link was free and no packet waited. `None` if a packet has arrived since.
    idle_since: Option<Time>,
    /// Transmission time of a packet of mean size.
    packet_time: Duration,
    adapts_at: Time,
    draws: Stream,
    arrivals: u64,
    marking: Marking,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    Accept,
    /// Notifies the sender: by a mark or, if it does not support ECN, by a drop.
    Notify,
    Drop,
}

impl RedQueue {
    pub(super) fn new(spec: &Spec, rate: Rate, draws: Stream) -> Self {
        let unit = if spec.byte_mode { f64::from(spec.mean_packet) } else { 1.0 };
        Self {
            packets: DropTailQueue::new(spec.limit),
            spec: *spec,
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

    /// The moving average. While the link is idle, it falls as if packets of mean size found the queue empty.
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
            // The average is constant until a packet arrives, so the decision at `now` holds until then.
            self.adapts_at = if self.max_p == before {
                first_after(now, self.adapts_at, Spec::ADAPT_EVERY)
            } else {
                self.adapts_at + Spec::ADAPT_EVERY
            };
        }
    }

    /// The probability of a drop from the average; `None`: certain.
    fn pressure(&self) -> Option<f64> {
        if self.average < self.max_th {
            return Some(self.max_p * (self.average - self.min_th) / (self.max_th - self.min_th));
        }
        // S. Floyd, "Recommendation on using the gentle_ variant of RED" (2000).
        let is_gentle = self.spec.gentle && self.average < 2.0 * self.max_th;
        is_gentle.then(|| self.max_p + (1.0 - self.max_p) * (self.average - self.max_th) / self.max_th)
    }

    /// Spreads drops evenly: the probability rises with each packet that passes.
    fn spread(&self, p: f64) -> f64 {
        let expected = self.count as f64 * p;
        match (self.spec.wait, expected) {
            (true, ..1.0) => 0.0,
            (true, ..2.0) => p / (2.0 - expected),
            (false, ..1.0) => p / (1.0 - expected),
            _ => 1.0,
        }
    }

    fn decide(&mut self, size: u64) -> Decision {
        if self.average < self.min_th || self.packets.len() <= 1 {
            self.count = -1;
            return Decision::Accept;
        }
        let Some(pressure) = self.pressure() else {
            self.count = 0;
            return Decision::Drop;
        };
        let scale = if self.spec.byte_mode { size as f64 / f64::from(self.spec.mean_packet) } else { 1.0 };
        self.count += 1;
        // Each packet has its own draw, independent of tests of other packets.
        if self.draws.uniform(self.arrivals) >= self.spread(pressure * scale) {
            return Decision::Accept;
        }
        self.count = 0;
        Decision::Notify
    }
}

impl Discipline for RedQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.adapt(now);
        self.update_average(now);
        let mut packet = *packet;
        if !self.packets.has_room_for(&packet) {
            losses.push((packet, Cause::QueueOverflow));
        } else {
            match self.decide(packet.size()) {
                Decision::Notify if !self.marking.mark(&mut packet) => losses.push((packet, Cause::EarlyDrop)),
                Decision::Drop => losses.push((packet, Cause::ForcedDrop)),
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

    kept_in!(packets);

    fn marked(&self) -> u64 {
        self.marking.marked
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use bentpipe_model::spec::QueueLimit;

    fn spec() -> Spec {
        Spec {
            limit: QueueLimit::Packets(100),
            min_th: 5,
            max_th: 15,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            adaptive: false,
            wait: false,
            byte_mode: false,
            mean_packet: 1000,
            ecn: false,
        }
    }

    /// Packets of mean size take a second.
    fn red(spec: &Spec) -> RedQueue {
        RedQueue::new(spec, Rate::from_bps(8000), Stream::new(1, "link/l.forward", "queue"))
    }

    fn assert_near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() < 1e-9, "{measured}, not {expected}");
    }

    /// `docs/specs/aqm.md` test 1.
    #[test]
    fn the_probability_rises_with_the_average() {
        let mut red = red(&spec());
        for (average, expected) in [(5.0, 0.0), (10.0, 0.05), (20.0, 0.4), (29.999_999_999, 1.0)] {
            red.average = average;
            assert_near(red.pressure().unwrap(), expected);
        }
        red.average = 30.0;
        assert_eq!(red.pressure(), None);
        (red.average, red.spec.gentle) = (15.0, false);
        assert_eq!(red.pressure(), None);
    }

    /// `docs/specs/aqm.md` test 1.
    #[test]
    fn drops_are_spread() {
        let mut red = red(&spec());
        for (count, plain, waiting) in [(0, 0.05, 0.0), (10, 0.1, 0.0), (19, 1.0, 0.0), (20, 1.0, 0.05), (40, 1.0, 1.0)]
        {
            red.count = count;
            red.spec.wait = false;
            assert_near(red.spread(0.05), plain);
            red.spec.wait = true;
            assert_near(red.spread(0.05), waiting);
        }
    }

    /// `docs/specs/aqm.md` test 1.
    #[test]
    fn the_average_follows_the_queue_and_falls_while_the_link_is_idle() {
        let (mut red, mut losses) = (red(&spec()), Losses::new());
        for n in 0..10 {
            red.packets.enqueue(s(0.0), &packet(0, n, 1000), &mut losses);
        }
        red.update_average(s(0.0));
        assert_near(red.average, 0.02);
        red.packets.flush(&mut losses);
        red.average = 10.0;
        assert!(red.dequeue(s(1.0), &mut losses).is_none());
        red.update_average(s(1001.0));
        assert!((red.average - 1.348).abs() < 5e-4, "{}", red.average);
        red.update_average(s(2001.0));
        assert!((red.average - 1.348 * 0.998).abs() < 5e-4, "once");
    }

    /// In byte mode a threshold is that number of packets of mean size, and half a packet is dropped half as often.
    #[test]
    fn bytes_count_in_byte_mode() {
        let mut red = red(&Spec { byte_mode: true, weight: 1.0, ..spec() });
        for n in 0..20 {
            red.packets.enqueue(s(0.0), &packet(0, n, 500), &mut Losses::new());
        }
        red.update_average(s(0.0));
        assert_near(red.average, 10_000.0);
        assert_near(red.pressure().unwrap(), 0.05);
    }

    /// S. Floyd et al. (2001): up by at most 0.01, down by a tenth, every half second, even without arrivals.
    #[test]
    fn adaptive_red_moves_max_p() {
        let mut red = red(&Spec { adaptive: true, ..spec() });
        red.average = 14.0;
        red.adapt(s(0.499));
        assert_near(red.max_p, 0.1);
        red.adapt(s(1.0));
        assert_near(red.max_p, 0.12);
        red.average = 6.0;
        red.adapt(s(2.0));
        assert_near(red.max_p, 0.12 * 0.81);
        red.adapt(s(100_000.2));
        assert!(red.max_p <= 0.01 && red.adapts_at == s(100_000.5), "{} {}", red.max_p, red.adapts_at);
    }

    /// Floyd and Jacobson (1993 §7): with a constant average, gaps between drops are uniform; here 1 to 1 / p_b - 1.
    #[test]
    fn gaps_between_drops_are_uniform() {
        let mut red = red(&spec());
        (red.average, red.count) = (10.0, 0);
        for n in 0..3 {
            red.packets.enqueue(s(0.0), &packet(0, n, 1000), &mut Losses::new());
        }
        let (mut gap, mut gaps) = (0, [0u32; 20]);
        for arrival in 0..200_000 {
            red.arrivals = arrival;
            gap += 1;
            if red.decide(1000) == Decision::Notify {
                gaps[std::mem::take(&mut gap)] += 1;
            }
        }
        let drops: u32 = gaps.iter().sum();
        // The standard deviation of a nineteenth of 20,000 drops is 32.
        assert!(gaps[1..].iter().all(|&n| (f64::from(n) - f64::from(drops) / 19.0).abs() < 150.0), "{gaps:?}");
    }
}
