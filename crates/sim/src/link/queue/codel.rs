//! CoDel, controlled delay (K. Nichols et al., RFC 8289): when packets have waited longer than a target for a whole
//! interval, one is dropped, and the next ones ever sooner, until they no longer do.

use super::drop_tail::DropTail;
use super::{Discipline, Marking};
use crate::link::Losses;
use crate::packet::Packet;
use crate::record::Cause;
use crate::scenario::Codel as Spec;
use bentpipe_units::{Duration, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::link) struct Codel {
    packets: DropTail,
    control: Control,
    settings: Settings,
}

impl Codel {
    pub(super) fn new(spec: &Spec) -> Self {
        let Spec { limit, target, interval, ecn } = *spec;
        Self {
            packets: DropTail::new(limit),
            control: Control::default(),
            settings: Settings::new(target, interval, ecn),
        }
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        self.settings.note(packet);
        self.packets.enqueue(now, packet, losses);
    }

    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        self.control.dequeue(now, &mut self.packets, &mut self.settings, losses)
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
        self.settings.marking.marked
    }
}

/// What the queues of one link have in common.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    target: Duration,
    interval: Duration,
    pub(super) marking: Marking,
    /// Size of the largest packet so far: with so little left in the queue, nothing is dropped.
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

/// The state of RFC 8289 §5.3, under the names of its pseudocode.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// When packets will have waited too long for an interval; none while they do not.
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
        packets: &mut DropTail,
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
            // Back soon: the rate that was found last time is a better start than none.
            let found = self.count.saturating_sub(self.last_count);
            let is_recent = now.saturating_since(self.drop_next) < settings.interval * 16;
            self.count = if found > 1 && is_recent { found } else { 1 };
            self.drop_next = settings.law(now, self.count);
            self.last_count = self.count;
        }
        Some(packet)
    }

    /// The head of the queue, and whether it may be dropped (RFC 8289 §5.6).
    fn next(&mut self, now: Time, packets: &mut DropTail, settings: &Settings) -> Option<(Packet, bool)> {
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
