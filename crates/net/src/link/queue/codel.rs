//! CoDel, controlled delay (K. Nichols et al., RFC 8289): if packets have waited longer than a target for a whole interval,
//! CoDel drops one, then more at shrinking intervals until the wait is below the target.

use super::drop_tail::DropTailQueue;
use super::{kept_in, Discipline, Marking};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Codel as Spec;
use bentpipe_units::{Duration, Time};

/// A queue under CoDel.
#[derive(Clone, Debug)]
pub(in crate::link) struct CodelQueue {
    packets: DropTailQueue,
    control: Control,
    settings: Settings,
}

impl CodelQueue {
    pub(super) fn new(spec: &Spec) -> Self {
        let Spec { limit, target, interval, ecn } = *spec;
        Self {
            packets: DropTailQueue::new(limit),
            control: Control::default(),
            settings: Settings::new(target, interval, ecn),
        }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.settings.note(packet);
        self.packets.enqueue(now, packet, losses);
    }

    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        self.control.dequeue(now, &mut self.packets, &mut self.settings, losses)
    }

    kept_in!(packets);

    fn marked(&self) -> u64 {
        self.settings.marking.marked
    }
}

/// State shared by all queues of a link.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    target: Duration,
    interval: Duration,
    pub(super) marking: Marking,
    /// Size of the largest packet so far: with a shorter queue, nothing is dropped.
    largest: u64,
}

impl Settings {
    pub(super) fn new(target: Duration, interval: Duration, ecn: bool) -> Self {
        Self { target, interval, marking: Marking::new(ecn), largest: 0 }
    }

    pub(super) fn note(&mut self, packet: &Packet) {
        self.largest = self.largest.max(packet.size());
    }

    /// RFC 8289 §3.3: the time between drops falls with the square root of their number, so that the throughput of TCP
    /// falls linearly.
    fn law(&self, from: Time, count: u32) -> Time {
        from + Duration::from_secs_f64(self.interval.as_secs_f64() / f64::from(count).sqrt())
    }
}

/// The state of RFC 8289 §5.2, under the names of its pseudocode.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// The instant when packets will have waited too long for an interval. `None` while they do not.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// RFC 8289 §5.5.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        packets: &mut DropTailQueue,
        settings: &mut Settings,
        losses: &mut Losses,
    ) -> Option<Packet> {
        let (mut packet, mut may_drop) = self.next(now, packets, settings)?;
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if settings.marking.mark(&mut packet) {
                    self.drop_next = settings.law(self.drop_next, self.count);
                    break;
                }
                losses.push((packet, Cause::EarlyDrop));
                (packet, may_drop) = self.next(now, packets, settings)?;
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = settings.law(self.drop_next, self.count);
                }
            }
        } else if may_drop {
            if !settings.marking.mark(&mut packet) {
                losses.push((packet, Cause::EarlyDrop));
                (packet, _) = self.next(now, packets, settings)?;
            }
            self.dropping = true;
            // After a short pause the last drop rate is a better start than none.
            let found = self.count.saturating_sub(self.last_count);
            let is_recent = now.saturating_since(self.drop_next) < settings.interval * 16;
            self.count = if found > 1 && is_recent { found } else { 1 };
            self.drop_next = settings.law(now, self.count);
            self.last_count = self.count;
        }
        Some(packet)
    }

    /// The head of the queue; whether it may be dropped (RFC 8289 §5.6).
    fn next(&mut self, now: Time, packets: &mut DropTailQueue, settings: &Settings) -> Option<(Packet, bool)> {
        let Some(packet) = packets.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        if now.saturating_since(packet.at) < settings.target || packets.bytes() <= settings.largest {
            self.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.first_above.get_or_insert(now + settings.interval);
        Some((packet, now >= first_above))
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use bentpipe_model::spec::QueueLimit;

    const TARGET: Duration = Duration::from_millis(5);
    const INTERVAL: Duration = Duration::from_millis(100);

    /// A queue of `packets` packets of 1000 B that have waited for `sojourn` at `now`.
    fn standing(packets: u32, now: Time, sojourn: f64) -> DropTailQueue {
        let mut queue = DropTailQueue::new(QueueLimit::Unlimited);
        for n in 0..packets {
            queue.enqueue(s(now.as_secs_f64() - sojourn), &packet(0, n, 1000), &mut Losses::new());
        }
        queue
    }

    fn settings() -> Settings {
        Settings { largest: 1000, ..Settings::new(TARGET, INTERVAL, false) }
    }

    /// The instants of drops from a queue of `packets` packets whose wait is `sojourn` for a second from 1 s.
    fn drops(packets: u32, sojourn: f64) -> Vec<f64> {
        let (mut control, mut settings) = (Control::default(), settings());
        let drops_at = |now: Time| {
            let mut losses = Losses::new();
            let mut queue = standing(packets, now, sojourn);
            assert!(control.dequeue(now, &mut queue, &mut settings, &mut losses).is_some());
            losses.iter().map(move |_| now.as_secs_f64()).collect::<Vec<f64>>()
        };
        (0..100_000).map(|step| s(1.0) + Duration::from_micros(10 * step)).flat_map(drops_at).collect()
    }

    /// `docs/specs/aqm.md` test 2.
    #[test]
    fn rfc8289_3_3_drops_come_sooner_and_sooner() {
        let drops = drops(10, 0.020);
        let expected = [1.1, 1.2, 1.270_711, 1.328_446, 1.378_446];
        for (at, expected) in drops.iter().zip(expected) {
            assert!((at - expected).abs() < 2e-5, "{drops:?}");
        }
        assert!(drops.len() > 5);
    }

    /// `docs/specs/aqm.md` test 3.
    #[test]
    fn a_packet_alone_is_never_dropped() {
        assert!(drops(1, 0.050).is_empty() && drops(2, 0.050).is_empty() && !drops(3, 0.050).is_empty());
        assert!(drops(10, 0.004).is_empty());
    }

    /// `docs/specs/aqm.md` test 2: within 16 intervals the first guess is the last count, minus the count at its start.
    #[test]
    fn rfc8289_5_5_a_queue_that_comes_back_soon_meets_the_rate_of_last_time() {
        for (away, count, next) in [(1.5, 9, 0.033_333), (1.7, 1, 0.1)] {
            let mut control = Control {
                first_above: Some(s(1.0)),
                drop_next: s(10.0 - away),
                count: 10,
                last_count: 1,
                dropping: false,
            };
            let mut losses = Losses::new();
            control.dequeue(s(10.0), &mut standing(9, s(10.0), 0.020), &mut settings(), &mut losses);
            assert_eq!((losses.len(), control.count, control.last_count), (1, count, count));
            assert!(((control.drop_next - s(10.0)).as_secs_f64() - next).abs() < 1e-6);
        }
    }

    /// A mark replaces a drop, and no packet is lost.
    #[test]
    fn marks_follow_the_law_of_drops() {
        let mut control = Control { first_above: Some(s(1.0)), ..Control::default() };
        let mut settings = Settings { largest: 1000, ..Settings::new(TARGET, INTERVAL, true) };
        let (mut queue, mut losses) = (standing(0, s(10.0), 0.0), Losses::new());
        for n in 0..5 {
            queue.enqueue(s(9.0), &crate::link::queue::suite::capable(packet(0, n, 1000)), &mut losses);
        }
        let marked = |packet: Option<Packet>| packet.unwrap().ecn() == bentpipe_tcp::Ecn::Ce;
        assert!(marked(control.dequeue(s(10.0), &mut queue, &mut settings, &mut losses)));
        assert!(!marked(control.dequeue(s(10.05), &mut queue, &mut settings, &mut losses)));
        assert!(marked(control.dequeue(s(10.1), &mut queue, &mut settings, &mut losses)));
        assert_eq!((settings.marking.marked, losses.len(), control.count), (2, 0, 2));
    }
}
