//! PIE, proportional integral controller enhanced (R. Pan et al., RFC 8033): drops arriving packets with a probability that a
//! controller of the waiting time sets at regular instants.

use super::drop_tail::DropTailQueue;
use super::{first_after, kept_in, Discipline, Marking};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Pie as Spec;
use bentpipe_units::{Duration, Stream, Time};

/// RFC 8033 §4.2: weight of the deviation from the target and of its change, per second.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Above this limit, the probability grows by 2 % per update, regardless of the controller (Linux, ns-3).
const TOO_LONG: Duration = Duration::from_millis(250);
/// RFC 8033 §5.4: bounds of the sum of probabilities since the last drop.
const TOO_SOON: f64 = 0.85;
const TOO_LATE: f64 = 8.5;
/// RFC 8033 §5.1: with a higher probability, packets are dropped and not marked.
const MARK_BELOW: f64 = 0.1;

/// A queue under PIE.
#[derive(Clone, Debug)]
pub(in crate::link) struct PieQueue {
    packets: DropTailQueue,
    spec: Spec,
    /// Drop probability.
    probability: f64,
    /// Waiting time of the last departure.
    sojourn: Duration,
    /// Waiting time of the last departure at the previous update.
    sojourn_old: Duration,
    /// Remaining burst allowance after a quiet period.
    burst: Duration,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
    updates_at: Time,
    draws: Stream,
    arrivals: u64,
    marking: Marking,
}

impl PieQueue {
    pub(super) fn new(spec: &Spec, draws: Stream) -> Self {
        Self {
            packets: DropTailQueue::new(spec.limit),
            spec: *spec,
            probability: 0.0,
            sojourn: Duration::ZERO,
            sojourn_old: Duration::ZERO,
            burst: spec.burst,
            accumulated: 0.0,
            updates_at: Time::ZERO + spec.update,
            draws,
            arrivals: 0,
            marking: Marking::new(spec.ecn),
        }
    }

    /// Makes up the updates due since the last call: the queue was the same at each of those instants.
    fn catch_up(&mut self, now: Time) {
        while self.updates_at <= now {
            let before = (self.probability, self.sojourn_old, self.burst);
            self.update();
            let is_settled = before == (self.probability, self.sojourn_old, self.burst);
            self.updates_at = if is_settled {
                first_after(now, self.updates_at, self.spec.update)
            } else {
                self.updates_at + self.spec.update
            };
        }
    }

    fn update(&mut self) {
        let sojourn = if self.packets.len() == 0 { Duration::ZERO } else { self.sojourn };
        self.probability = controlled(self.probability, sojourn, self.sojourn_old, self.spec.target);
        self.burst = self.burst.saturating_sub(self.spec.update);
        let half = self.spec.target / 2;
        if self.probability == 0.0 && sojourn < half && self.sojourn_old < half {
            self.burst = self.spec.burst;
        }
        self.sojourn_old = sojourn;
    }

    /// Whether to drop or mark an arriving packet (RFC 8033 §4.1, §5.4).
    fn chooses(&mut self) -> bool {
        let is_short = self.sojourn_old < self.spec.target / 2 && self.probability < 0.2;
        let is_small = self.packets.bytes() <= 2 * u64::from(self.spec.mean_packet);
        if self.burst > Duration::ZERO || is_short || is_small {
            return false;
        }
        if self.spec.derandomise {
            self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < TOO_SOON {
                return false;
            }
        }
        let is_overdue = self.spec.derandomise && self.accumulated >= TOO_LATE;
        // Each packet has its own draw, independent of tests of other packets.
        let is_chosen = is_overdue || self.draws.uniform(self.arrivals) < self.probability;
        if is_chosen {
            self.accumulated = 0.0;
        }
        is_chosen
    }
}

/// The probability after an update (RFC 8033 §4.2).
fn controlled(p: f64, sojourn: Duration, sojourn_old: Duration, target: Duration) -> f64 {
    let [now, old, target] = [sojourn, sojourn_old, target].map(Duration::as_secs_f64);
    // The smaller the probability, the smaller the step.
    let scale = match p {
        ..1e-6 => 2048.0,
        ..1e-5 => 512.0,
        ..1e-4 => 128.0,
        ..1e-3 => 32.0,
        ..1e-2 => 8.0,
        ..0.1 => 2.0,
        _ => 1.0,
    };
    let mut step = (ALPHA * (now - target) + BETA * (now - old)) / scale;
    // RFC 8033 §5.5.
    if p >= 0.1 {
        step = step.min(0.02);
    }
    if sojourn > TOO_LONG {
        step += 0.02;
    }
    let decay = if sojourn == Duration::ZERO && sojourn_old == Duration::ZERO { 0.98 } else { 1.0 };
    ((p + step) * decay).clamp(0.0, 1.0)
}

impl Discipline for PieQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.catch_up(now);
        let mut packet = *packet;
        if !self.packets.has_room_for(&packet) {
            losses.push((packet, Cause::QueueOverflow));
        } else if self.chooses() && !(self.probability < MARK_BELOW && self.marking.mark(&mut packet)) {
            losses.push((packet, Cause::EarlyDrop));
        } else {
            self.packets.enqueue(now, &packet, losses);
        }
        self.arrivals += 1;
    }

    fn dequeue(&mut self, now: Time, _: &mut Losses) -> Option<Packet> {
        self.catch_up(now);
        let packet = self.packets.pop()?;
        self.sojourn = now - packet.at;
        Some(packet)
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

    const MS: Duration = Duration::from_millis(1);

    fn spec() -> Spec {
        Spec {
            limit: QueueLimit::Packets(1000),
            target: MS * 15,
            update: MS * 15,
            burst: MS * 150,
            derandomise: true,
            mean_packet: 1000,
            ecn: false,
        }
    }

    fn pie() -> PieQueue {
        PieQueue::new(&spec(), Stream::new(1, "link/l.forward", "queue"))
    }

    /// `docs/specs/aqm.md` test 5.
    #[test]
    fn rfc8033_4_2_the_step_is_scaled() {
        let after = |p: f64| controlled(p, MS * 35, MS * 25, MS * 15) - p;
        for (p, step) in [(0.05, 0.0075), (0.0, 7.324e-6), (0.2, 0.015), (0.005, 0.001_875), (5e-4, 4.6875e-4)] {
            assert!((after(p) - step).abs() < step * 1e-3, "{p}: {}", after(p));
        }
    }

    #[test]
    fn rfc8033_5_5_the_probability_grows_by_two_percent_at_most() {
        assert!((controlled(0.2, MS * 200, MS * 15, MS * 15) - 0.22).abs() < 1e-12);
        assert!((controlled(0.2, MS * 300, MS * 300, MS * 15) - 0.24).abs() < 1e-12);
        assert_eq!(controlled(1.0, MS * 300, MS * 300, MS * 15), 1.0);
    }

    /// Without waiting the probability decays to zero, and the next burst passes.
    #[test]
    fn rfc8033_4_4_quiet_times_allow_a_burst() {
        let mut pie = pie();
        (pie.probability, pie.burst) = (0.5, Duration::ZERO);
        pie.catch_up(s(0.015));
        assert!((pie.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
        pie.catch_up(s(100_000.001));
        assert_eq!((pie.probability, pie.burst), (0.0, MS * 150));
        assert_eq!(pie.updates_at, s(100_000.005));
    }

    /// Even with a probability of 1, until the allowance is used up.
    #[test]
    fn what_comes_first_is_a_burst() {
        let (mut pie, mut losses) = (pie(), Losses::new());
        (pie.probability, pie.sojourn_old) = (1.0, MS * 100);
        for n in 0..10 {
            pie.enqueue(s(0.001 * f64::from(n)), &packet(0, n, 1000), &mut losses);
        }
        assert!(losses.is_empty());
        pie.burst = Duration::ZERO;
        pie.enqueue(s(0.011), &packet(0, 11, 1000), &mut losses);
        assert_eq!(losses.len(), 1);
    }

    /// RFC 8033 §5.4: with p = 0.05 never before 17 packets, and never after 170.
    #[test]
    fn rfc8033_5_4_drops_keep_a_distance() {
        let mut pie = pie();
        (pie.probability, pie.sojourn_old, pie.burst) = (0.05, MS * 100, Duration::ZERO);
        for n in 0..3 {
            pie.packets.enqueue(s(0.0), &packet(0, n, 1000), &mut Losses::new());
        }
        let (mut gap, mut gaps) = (0, Vec::new());
        for arrival in 0..200_000 {
            pie.arrivals = arrival;
            gap += 1;
            if pie.chooses() {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert!(gaps.len() > 5000 && gaps.iter().all(|gap| (17..=171).contains(gap)), "{gaps:?}");
    }
}
