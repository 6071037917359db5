//! DualPI2 (K. De Schepper, B. Briscoe and G. White, RFC 9332): two queues that share a link. Packets of L4S wait in
//! the L queue, about a millisecond. All others wait in the C queue. One controller of the waiting time couples them, so
//! that flows of both kinds get similar rates.
//!
//! The controller computes p'. Classic packets are dropped or marked with p'^2, packets of L4S are marked with k p'.

use super::drop_tail::DropTailQueue;
use super::{Discipline, L4sCounts, Limit, Marking};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Dp2Control, Dp2Native, Dp2Overload, DualPi2 as Spec, QueueLimit};
use bentpipe_tcp::Ecn;
use bentpipe_units::{Stream, Time};

/// Two coupled queues.
#[derive(Clone, Debug)]
pub(in crate::link) struct DualPi2Queue {
    l4s: DropTailQueue,
    classic: DropTailQueue,
    limit: Limit,
    spec: Spec,
    control: Dp2Control,
    /// Bytes of a full packet.
    mtu: f64,
    /// p'.
    probability: f64,
    /// Longest wait at the last update, seconds.
    delay: f64,
    updates_at: Time,
    /// Bytes that the C queue is owed; the L queue goes first while it is owed none.
    credit: f64,
    hits_l4s: Hits,
    hits_classic: Hits,
    marking: Marking,
    counts: L4sCounts,
}

/// Random or evenly spread decisions of a queue.
#[derive(Clone, Debug)]
struct Hits {
    draws: Stream,
    /// Both queues draw from one stream, in turn.
    next: u64,
    /// Evenly spread: the sum of the probabilities since the last hit.
    sum: Option<f64>,
}

impl Hits {
    fn new(draws: Stream, first: u64, is_spread: bool) -> Self {
        Self { draws, next: first, sum: is_spread.then_some(0.0) }
    }

    /// The next packet is considered.
    fn advance(&mut self) {
        self.next += 2;
    }

    /// Whether a probability hits this packet.
    fn hit(&mut self, probability: f64) -> bool {
        let Some(sum) = &mut self.sum else { return self.draws.uniform(self.next) < probability };
        // RFC 9332 A.1, recur().
        *sum += probability;
        let is_hit = *sum > 1.0;
        *sum -= f64::from(u8::from(is_hit));
        is_hit
    }
}

impl DualPi2Queue {
    pub(super) fn new(spec: &Spec, mtu: u64, draws: Stream) -> Self {
        let control = spec.control();
        let mut queue = Self {
            l4s: DropTailQueue::new(QueueLimit::Unlimited),
            classic: DropTailQueue::new(QueueLimit::Unlimited),
            limit: Limit::new(spec.limit),
            spec: *spec,
            control,
            mtu: mtu as f64,
            probability: 0.0,
            delay: 0.0,
            updates_at: Time::ZERO + control.update,
            credit: 0.0,
            hits_l4s: Hits::new(draws.clone(), 0, spec.spread),
            hits_classic: Hits::new(draws, 1, spec.spread),
            marking: Marking::new(true),
            counts: L4sCounts::default(),
        };
        queue.rest();
        queue
    }

    /// Resets the credit while nothing waits. A following burst of L4S may be as long as the share of the C queue permits.
    fn rest(&mut self) {
        self.credit = (2.0 * self.spec.classic_share - 1.0) * self.mtu;
    }

    /// Makes up the updates due since the last call: the queues were the same at each of those instants.
    fn catch_up(&mut self, now: Time) {
        while self.updates_at <= now {
            let before = (self.probability, self.delay);
            let at = self.updates_at;
            self.update(at);
            self.updates_at += self.control.update;
            let is_settled = match self.oldest() {
                None => before == (self.probability, self.delay),
                // The wait only grows, and p' has reached its greatest value.
                Some(_) => self.probability >= self.most() && self.delay > self.control.target.as_secs_f64(),
            };
            if is_settled && self.updates_at <= now {
                let step = self.control.update;
                let last = self.updates_at + step * (now.saturating_since(self.updates_at).as_ps() / step.as_ps());
                (self.delay, self.updates_at) = (self.wait_at(last), last + step);
            }
        }
    }

    fn wait_at(&self, at: Time) -> f64 {
        self.oldest().map_or(0.0, |since| at.saturating_since(since).as_secs_f64())
    }

    /// The greatest value of p'.
    fn most(&self) -> f64 {
        match self.spec.overload {
            Dp2Overload::Drop => 1.0,
            Dp2Overload::Overflow => 1.0 / self.spec.coupling,
        }
    }

    /// RFC 9332 A.1, dualpi2_update(), with the longer wait of both queues (Linux).
    fn update(&mut self, at: Time) {
        let wait = self.wait_at(at);
        let Dp2Control { target, alpha, beta, .. } = self.control;
        let step = alpha * (wait - target.as_secs_f64()) + beta * (wait - self.delay);
        self.probability = (self.probability + step).clamp(0.0, self.most());
        self.delay = wait;
    }

    /// Whether a packet that has left the L queue may leave the link; marks it.
    fn pass_l4s(&mut self, now: Time, packet: &mut Packet, were_waiting: usize, is_small: bool) -> bool {
        let coupled = self.spec.coupling * self.probability;
        let native = self.native(now, packet, were_waiting);
        self.hits_l4s.advance();
        let is_marked = if is_small {
            native >= 1.0 || (native > 0.0 && self.hits_l4s.hit(native))
        } else if coupled > 1.0 {
            if self.hits_l4s.hit(self.probability * self.probability) {
                return false;
            }
            true
        } else {
            self.hits_l4s.hit(native.max(coupled)) || native >= 1.0
        };
        if is_marked {
            self.marking.mark(packet);
            let is_native = native >= 1.0;
            self.counts.native_marks += u64::from(is_native);
            self.counts.coupled_marks += u64::from(!is_native);
        }
        true
    }

    /// The probability of a mark by the wait of the packet itself (RFC 9332 A.1, laqm()).
    fn native(&self, now: Time, packet: &Packet, were_waiting: usize) -> f64 {
        let wait = now.saturating_since(packet.at);
        let is_above = wait > self.spec.step && were_waiting > self.spec.step_min as usize;
        match self.spec.native {
            Dp2Native::Step => f64::from(u8::from(is_above)),
            Dp2Native::Ramp if were_waiting > 1 => {
                let step = self.spec.step.as_secs_f64();
                ((wait.as_secs_f64() - 0.8 * step) / (0.4 * step)).clamp(0.0, 1.0)
            }
            Dp2Native::Ramp => 0.0,
        }
    }

    /// Whether a packet that has left the C queue may leave the link; marks it.
    fn pass_classic(&mut self, packet: &mut Packet, is_small: bool) -> bool {
        self.hits_classic.advance();
        let is_overload = self.spec.coupling * self.probability > 1.0;
        let is_hit = !is_small && self.hits_classic.hit(self.probability * self.probability);
        !is_hit || (!is_overload && self.marking.mark(packet))
    }
}

/// Whether a packet belongs to the L queue (RFC 9331 §5.1). The origin of a mark is unknown.
fn is_l4s(packet: &Packet) -> bool {
    matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce)
}

impl Discipline for DualPi2Queue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.catch_up(now);
        if !self.limit.allows(self.len() + 1, self.bytes() + packet.size()) {
            losses.push((*packet, Cause::QueueOverflow));
        } else if is_l4s(packet) {
            self.l4s.enqueue(now, packet, losses);
        } else {
            self.classic.enqueue(now, packet, losses);
        }
    }

    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        self.catch_up(now);
        loop {
            let (l4s, classic) = (self.l4s.len(), self.classic.len());
            let from_l4s = l4s > 0 && (classic == 0 || self.credit <= 0.0);
            let Some(mut packet) = (if from_l4s { self.l4s.pop() } else { self.classic.pop() }) else {
                self.rest();
                return None;
            };
            // RFC 9332 leaves it open; as Linux, less than two full packets cause no drop.
            let is_small = (self.bytes() as f64) < 2.0 * self.mtu;
            let passes = if from_l4s {
                self.pass_l4s(now, &mut packet, l4s, is_small)
            } else {
                self.pass_classic(&mut packet, is_small)
            };
            if !passes {
                losses.push((packet, Cause::EarlyDrop));
                continue;
            }
            self.counts.waits[usize::from(!from_l4s)].record_span(now.saturating_since(packet.at));
            // Only packets that leave count.
            let size = packet.size() as f64;
            if from_l4s && classic > 0 {
                self.credit += self.spec.classic_share * size;
            } else if !from_l4s && l4s > 0 {
                self.credit -= (1.0 - self.spec.classic_share) * size;
            }
            return Some(packet);
        }
    }

    fn flush(&mut self, losses: &mut Losses) {
        self.l4s.flush(losses);
        self.classic.flush(losses);
    }

    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.l4s.extract(is_meant, left);
        self.classic.extract(is_meant, left);
    }

    fn len(&self) -> usize {
        self.l4s.len() + self.classic.len()
    }

    fn bytes(&self) -> u64 {
        self.l4s.bytes() + self.classic.bytes()
    }

    fn oldest(&self) -> Option<Time> {
        [&self.l4s, &self.classic].into_iter().filter_map(DropTailQueue::oldest).min()
    }

    fn marked(&self) -> u64 {
        self.marking.marked
    }

    fn l4s(&self) -> Option<&L4sCounts> {
        Some(&self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{capable, packet, s, scalable};
    use super::*;
    use bentpipe_units::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn queue(spec: Spec) -> DualPi2Queue {
        DualPi2Queue::new(&spec, 1500, Stream::new(1, "link/l.forward", "queue"))
    }

    /// A queue whose p' stays.
    fn with_probability(probability: f64, spec: Spec) -> DualPi2Queue {
        let mut queue = queue(Spec { alpha: 0.0, beta: 0.0, ..spec });
        queue.probability = probability;
        queue
    }

    /// Fills the queue with packets of each kind, then lets `packets` leave at `at`. Returns what left and what was lost.
    fn served(queue: &mut DualPi2Queue, packets: usize, at: Time) -> (Vec<Packet>, Losses) {
        let (mut left, mut losses) = (Vec::new(), Losses::new());
        for _ in 0..packets {
            left.extend(queue.dequeue(at, &mut losses));
        }
        (left, losses)
    }

    /// `docs/specs/l4s.md`, tests 1 and 2: waits at the updates, and p' after them.
    #[test]
    fn rfc9332_a_1_the_controller_is_proportional_and_integral() {
        let rfc = Spec { alpha: 0.15, beta: 3.0, update: MS * 15, ..Spec::default() };
        let waits_ms = [20, 25, 25, 15, 5];
        for (spec, waits_ms, expected) in [
            (rfc, &waits_ms[..], &[0.06075, 0.07725, 0.07875, 0.04875, 0.01725][..]),
            (Spec::default(), &[16, 0], &[0.05135, 0.0]),
        ] {
            let mut queue = queue(spec);
            for (&wait, &expected) in waits_ms.iter().zip(expected) {
                queue.classic.flush(&mut Losses::new());
                let at = queue.updates_at.max(s(0.1));
                queue.updates_at = at;
                if wait > 0 {
                    let since = Time::ZERO + (at - Time::ZERO).saturating_sub(MS * wait);
                    queue.classic.enqueue(since, &packet(0, 0, 1500), &mut Losses::new());
                }
                queue.catch_up(at);
                assert!((queue.probability - expected).abs() < 1e-5, "{wait} ms: {}", queue.probability);
            }
        }
    }

    /// RFC 9332 A.1 derives the controller from the longest round trip: 600 ms over GEO.
    #[test]
    fn the_controller_follows_the_longest_round_trip() {
        for spec in [
            Spec { max_rtt: Some(MS * 600), ..Spec::default() },
            Spec { typical_rtt: Some(MS * 100), ..Spec::default() },
        ] {
            let Dp2Control { target, update, alpha, beta } = spec.control();
            assert_eq!((target, update), (MS * 100, MS * 100));
            assert!((alpha - 0.027_78).abs() < 1e-5 && (beta - 0.5).abs() < 1e-9, "{alpha} {beta}");
        }
        let Dp2Control { target, update, .. } = Spec { max_rtt: Some(MS * 90), ..Spec::default() }.control();
        assert_eq!((target, update), (MS * 15, MS * 15));
    }

    /// `docs/specs/l4s.md`, test 3.
    #[test]
    fn rfc9332_2_4_marks_and_drops_are_coupled() {
        for (probability, l_dropped, c_hit, c_marks) in [(0.5, 0.0, 0.25, true), (0.6, 0.36, 0.36, false)] {
            let mut queue = with_probability(probability, Spec { limit: QueueLimit::Unlimited, ..Spec::default() });
            let mut none = Losses::new();
            for n in 0..30_000 {
                queue.enqueue(s(1.0), &scalable(packet(0, n, 1000)), &mut none);
                queue.enqueue(s(1.0), &capable(packet(1, n, 1000)), &mut none);
            }
            let (left, losses) = served(&mut queue, 20_000, s(1.0));
            let lost = |is_l4s| losses.iter().filter(|(packet, _)| (packet.ecn() == Ecn::Ect1) == is_l4s).count();
            let (of_l, of_c): (Vec<&Packet>, Vec<&Packet>) = left.iter().partition(|packet| packet.lane().index() == 0);
            let share = |lost: usize, left: usize| lost as f64 / (lost + left) as f64;
            assert!(of_l.iter().all(|packet| packet.ecn() == Ecn::Ce), "each packet of L4S is marked");
            assert!((share(lost(true), of_l.len()) - l_dropped).abs() < 0.015);
            let marked = of_c.iter().filter(|packet| packet.ecn() == Ecn::Ce).count();
            let hit = if c_marks { share(marked, of_c.len() - marked) } else { share(lost(false), of_c.len()) };
            assert!((hit - c_hit).abs() < 0.03, "{hit}");
            assert_eq!((marked > 0, lost(false) > 0), (c_marks, !c_marks));
        }
    }

    /// RFC 9332 A.1, recur(): with a probability of a quarter, each fourth packet.
    #[test]
    fn spread_hits_are_even() {
        let mut queue = with_probability(0.125, Spec { spread: true, step: MS * 9000, ..Spec::default() });
        for n in 0..60 {
            queue.enqueue(s(1.0), &scalable(packet(0, n, 1500)), &mut Losses::new());
        }
        let (left, _) = served(&mut queue, 40, s(1.0));
        let marked: Vec<usize> = (0..40).filter(|&n| left[n].ecn() == Ecn::Ce).collect();
        assert_eq!(marked, [4, 8, 12, 16, 20, 24, 28, 32, 36]);
    }

    /// `docs/specs/l4s.md`, test 4: of ten packets nine from L; by bytes if sizes differ.
    #[test]
    fn classic_packets_have_a_tenth_of_the_link() {
        for (l_size, c_size) in [(1500, 1500), (1500, 300), (200, 1500)] {
            let mut queue = with_probability(0.0, Spec { limit: QueueLimit::Unlimited, ..Spec::default() });
            for n in 0..40_000 {
                queue.enqueue(s(1.0), &scalable(packet(0, n, l_size)), &mut Losses::new());
                queue.enqueue(s(1.0), &packet(1, n, c_size), &mut Losses::new());
            }
            let (left, _) = served(&mut queue, 30_000, s(1.0));
            let bytes = |flow| left.iter().filter(|p| p.lane().index() == flow).map(|p| p.size()).sum::<u64>() as f64;
            assert!((bytes(1) / (bytes(0) + bytes(1)) - 0.1).abs() < 2e-3, "{l_size} {c_size}");
            if l_size == c_size {
                // After the first burst of the L queue, each ten packets have one classic one.
                let classic: Vec<usize> = (0..100).filter(|&n| left[n].lane().index() == 1).collect();
                assert!(classic.windows(2).all(|pair| pair[1] - pair[0] == 10), "{classic:?}");
            }
        }
    }

    /// `docs/specs/l4s.md`, test 5.
    #[test]
    fn packets_of_l4s_are_marked_above_the_step() {
        for (wait_us, is_marked) in [(1000, false), (1001, true)] {
            let mut queue = queue(Spec::default());
            queue.enqueue(s(1.0), &scalable(packet(0, 0, 1500)), &mut Losses::new());
            let (left, _) = served(&mut queue, 1, s(1.0) + Duration::from_micros(wait_us));
            assert_eq!(left[0].ecn() == Ecn::Ce, is_marked, "{wait_us}");
        }
        // The ramp from 0.8 to 1.2 ms (RFC 9332), unless the packet is alone.
        let marked = |wait_us| {
            let spec = Spec { native: Dp2Native::Ramp, limit: QueueLimit::Unlimited, ..Spec::default() };
            let mut queue = with_probability(0.0, spec);
            for n in 0..10_001 {
                queue.enqueue(s(1.0), &scalable(packet(0, n, 1500)), &mut Losses::new());
            }
            let (left, _) = served(&mut queue, 10_000, s(1.0) + Duration::from_micros(wait_us));
            left.iter().filter(|packet| packet.ecn() == Ecn::Ce).count() as f64 / 1e4
        };
        for (wait_us, share) in [(800, 0.0), (900, 0.25), (1100, 0.75), (1200, 1.0)] {
            assert!((marked(wait_us) - share).abs() < 0.02, "{wait_us}: {}", marked(wait_us));
        }
    }

    /// RFC 9331 §5.1: ECT(1) and CE in L, ECT(0) and Not-ECT in C, which marks nothing that cannot be marked.
    #[test]
    fn only_packets_that_ask_for_it_enter_the_l_queue() {
        let mut queue = with_probability(1.0, Spec { coupling: 1.0, ..Spec::default() });
        let mut marked = scalable(packet(3, 0, 1500));
        marked.mark_ce();
        let kinds = [packet(0, 0, 1500), capable(packet(1, 0, 1500)), scalable(packet(2, 0, 1500)), marked];
        kinds.iter().for_each(|packet| queue.enqueue(s(1.0), packet, &mut Losses::new()));
        assert_eq!((queue.l4s.len(), queue.classic.len()), (2, 2));
        let (left, losses) = served(&mut queue, 4, s(1.0));
        assert_eq!((left.len(), losses.len()), (4, 0), "less than two full packets are left");
        let codes: Vec<Ecn> = left.iter().map(Packet::ecn).collect();
        assert_eq!(codes[0], Ecn::Ce);
        assert!(codes.contains(&Ecn::NotEct));
    }

    /// RFC 9331 §5.1, §5.4.1: a packet that can be marked leaves as it came, or as CE. Others do not change.
    #[test]
    fn rfc9331_5_1_codepoints_change_to_ce_only() {
        for probability in [0.0, 0.3, 0.6] {
            let mut queue = with_probability(probability, Spec { limit: QueueLimit::Unlimited, ..Spec::default() });
            let mut seen = Vec::new();
            for n in 0..400 {
                let mut ce = scalable(packet(3, n, 1500));
                ce.mark_ce();
                for packet in [packet(0, n, 1500), capable(packet(1, n, 1500)), scalable(packet(2, n, 1500)), ce] {
                    queue.enqueue(s(1.0), &packet, &mut Losses::new());
                }
            }
            for packet in served(&mut queue, 1600, s(1.0)).0 {
                let change = (packet.lane().index(), packet.ecn());
                if !seen.contains(&change) {
                    seen.push(change);
                }
            }
            let came = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
            assert!(seen.iter().all(|&(kind, left)| left == came[kind] || (left == Ecn::Ce && kind > 0)), "{seen:?}");
            assert_eq!(seen.contains(&(1, Ecn::Ce)), probability == 0.3, "{seen:?}");
            assert_eq!(seen.contains(&(2, Ecn::Ce)), probability > 0.0, "{seen:?}");
        }
    }

    /// Whoever is owed the link does not have to use it: each departure finds a packet while one waits.
    #[test]
    fn rfc9332_2_5_1_either_queue_uses_what_the_other_leaves() {
        for (l4s, classic) in [(50, 0), (0, 50), (49, 1), (1, 49), (25, 25)] {
            let mut queue = with_probability(0.0, Spec::default());
            (0..l4s).for_each(|n| queue.enqueue(s(1.0), &scalable(packet(0, n, 1500)), &mut Losses::new()));
            (0..classic).for_each(|n| queue.enqueue(s(1.0), &packet(1, n, 1500), &mut Losses::new()));
            let (left, losses) = served(&mut queue, 50, s(1.0));
            assert_eq!((left.len(), losses.len(), queue.len()), (50, 0, 0), "{l4s} {classic}");
        }
    }

    /// A link that is down for an hour: the controller needs one step for the time.
    #[test]
    fn long_waits_are_caught_up_at_once() {
        let (mut slow, mut quick) = (queue(Spec::default()), queue(Spec::default()));
        for queue in [&mut slow, &mut quick] {
            queue.enqueue(s(0.001), &packet(0, 0, 1500), &mut Losses::new());
        }
        (0..225_000).for_each(|step| slow.catch_up(s(0.016 * f64::from(step))));
        quick.catch_up(s(0.016 * 224_999.0));
        let state = |queue: &DualPi2Queue| (queue.probability, queue.delay, queue.updates_at);
        assert_eq!(state(&slow), state(&quick));
        assert_eq!(quick.probability, 1.0);
        for queue in [&mut slow, &mut quick] {
            queue.flush(&mut Losses::new());
        }
        (0..225_000).for_each(|step| slow.catch_up(s(4000.0 + 0.016 * f64::from(step))));
        quick.catch_up(s(4000.0 + 0.016 * 224_999.0));
        assert_eq!((state(&slow), quick.probability), (state(&quick), 0.0));
    }

    /// A wait that has just fallen lowers p' to nothing, although it is above the target. It rises again.
    #[test]
    fn a_fallen_wait_is_no_end() {
        let control = Spec { alpha: 0.5, beta: 10.0, ..Spec::default() };
        let states = [1, 50].map(|steps| {
            let mut queue = queue(control);
            queue.delay = 5.0;
            queue.updates_at = s(1.016);
            queue.enqueue(s(1.0), &packet(0, 0, 1500), &mut Losses::new());
            (0..=steps).for_each(|step| queue.catch_up(s(1.0 + 0.8 * f64::from(step) / f64::from(steps))));
            queue.probability
        });
        assert_eq!(states[0], states[1]);
        assert!(states[0] > 0.9, "{states:?}");
    }

    /// With `overload = "overflow"` the queue drops nothing early, and fills.
    #[test]
    fn overflow_replaces_early_drops() {
        let spec = Spec { overload: Dp2Overload::Overflow, limit: QueueLimit::Packets(10), ..Spec::default() };
        let (mut queue, mut losses) = (queue(spec), Losses::new());
        for n in 0..20 {
            queue.enqueue(s(1.0), &scalable(packet(0, n, 1500)), &mut losses);
        }
        queue.catch_up(s(50.0));
        assert_eq!(queue.probability, 0.5);
        served(&mut queue, 10, s(50.0));
        assert!(losses.len() == 10 && losses.iter().all(|(_, cause)| *cause == Cause::QueueOverflow));
    }
}
