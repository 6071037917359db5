//! Inboxes of links with several plain feeders. The packets of all feeders wait in one inbox, with one entry in the
//! schedule. A packet enters when a feeder accepts it: its arrival is known then. A packet offered now needs at least
//! the shortest feeder delay. All packets due before that are here, and can be taken out together, in the order in
//! which links deliver.
//!
//! Time is divided into slots of equal width. Packets are added to the slot of their arrival. A slot is sorted when its first
//! packet is due: by time, and at one instant by the order of the [schedule](crate::engine).
//!
//! Endpoints work ahead by as much as waits at their bottleneck, so packets may be due long after the delay of the feeders.
//! They wait apart. If most of them still wait when slots open, the slots are too narrow, and double their width.

use super::routes::Routes;
use crate::engine::Schedule;
use bentpipe_model::ids::LinkId;
use bentpipe_model::packet::Packet;
use bentpipe_units::{Duration, Time};

/// Packets on their way to one link.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    /// The link behind the feeders.
    pub(super) link: LinkId,
    /// The feeder that owns the schedule entry.
    pub(super) seat: LinkId,
    /// The shortest delay of its feeders.
    pub(super) lead: Duration,
    /// Width of a slot: 2 to this power, in picoseconds.
    shift: u32,
    /// Number of the first slot that may hold packets, counted from time zero.
    first: u64,
    /// Slots from the first on, each at its number modulo their count.
    slots: Box<[Slot; SLOTS]>,
    /// Bit mask of the slots that hold packets.
    filled: u64,
    /// Sorted packets of the slot `first`: instant since its start, and place. Empty until `open` sorts the slot.
    order: Vec<u64>,
    /// Packets of `order` taken out so far.
    taken: usize,
    /// Packets due after all slots; the lowest of their slot numbers.
    later: Vec<Packet>,
    later_from: u64,
    /// Packets of `later` that were looked at.
    #[cfg(test)]
    looks: usize,
    /// Empty vectors for reuse.
    spare: Vec<Vec<Packet>>,
    /// The first packet: arrival and feeder, as in the schedule.
    pub(super) head: Option<(Time, LinkId)>,
}

/// Packets due within the width of a slot.
#[derive(Clone, Debug, Default)]
struct Slot {
    packets: Vec<Packet>,
    /// The first packet: arrival, and place in `packets`.
    earliest: (Time, usize),
}

const SLOTS: usize = u64::BITS as usize;

/// Largest number of packets that are looked at without being moved, each time that slots open.
const VAIN_LOOKS: usize = 8;

/// Bits of a place in a slot; the bits above hold the instant since its start. More packets than places would take 10 GB.
const PLACE_BITS: u32 = 28;

/// Largest width: an instant since the start fits the bits above the place.
const SHIFT_MAX: u32 = u64::BITS - PLACE_BITS;

/// Smallest width: a microsecond.
const SHIFT_MIN: u32 = 20;

/// The order of packets from different feeders at one instant.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) routes: &'a Routes,
    pub(super) schedule: &'a Schedule,
}

impl Order<'_> {
    #[inline]
    fn precedes(self, packet: &Packet, other: &Packet) -> bool {
        packet.at < other.at || packet.at == other.at && self.tie(packet) < self.tie(other)
    }

    fn tie(self, packet: &Packet) -> u64 {
        self.schedule.tie(self.routes.before(packet), packet.at)
    }
}

impl Inbox {
    /// Makes the inbox of a link. `seat` is one of its feeders; `lead` and `longest` bound their delays.
    pub(super) fn new(link: LinkId, seat: LinkId, lead: Duration, longest: Duration) -> Self {
        // Several slots for each call of `merge`; all slots cover a few times the delay of a packet that does not queue.
        let width = (lead.as_ps() / 2).max(longest.as_ps() / 16).max(1);
        Self {
            link,
            seat,
            lead,
            shift: width.ilog2().clamp(SHIFT_MIN, SHIFT_MAX),
            first: 0,
            slots: Box::new(std::array::from_fn(|_| Slot::default())),
            filled: 0,
            order: Vec::new(),
            taken: 0,
            later: Vec::new(),
            later_from: u64::MAX,
            #[cfg(test)]
            looks: 0,
            spare: Vec::new(),
            head: None,
        }
    }

    /// Prepares it for packets that arrive during this time.
    pub(super) fn hold(&mut self, span: Duration) {
        let width = span.as_ps() / (SLOTS as u64 / 2);
        self.shift = self.shift.max(width.max(1).ilog2().min(SHIFT_MAX));
    }

    /// Removes all packets, in no order.
    pub(super) fn clear(&mut self) -> Vec<Packet> {
        let mut left = std::mem::take(&mut self.later);
        let opened = self.first as usize % SLOTS;
        if !self.order.is_empty() {
            let rest = &self.order[self.taken..];
            left.extend(rest.iter().map(|&key| self.slots[opened].packets[place_of(key)]));
            self.close();
        }
        self.slots.iter_mut().for_each(|slot| left.append(&mut slot.packets));
        self.filled = 0;
        left
    }

    /// Inserts a packet that arrives at its `at`, accepted by a feeder at `now` or later. Returns whether it is now the
    /// first.
    #[inline]
    pub(super) fn insert(&mut self, now: Time, packet: &Packet, order: Order<'_>) -> bool {
        let is_first = self.head.is_none_or(|(at, feeder)| {
            packet.at < at || packet.at == at && order.tie(packet) < order.schedule.tie(feeder, at)
        });
        let number = packet.at.as_ps() >> self.shift;
        if number >= self.end() {
            if self.filled == 0 && self.later.is_empty() {
                self.first = now.as_ps() >> self.shift;
            }
            if number >= self.end() {
                self.later_from = self.later_from.min(number);
                self.later.push(*packet);
                return is_first;
            }
        }
        self.put(number, packet, order);
        if number == self.first && !self.order.is_empty() {
            self.put_in_order(order);
        }
        is_first
    }

    /// First slot number whose packets wait in `later`.
    fn end(&self) -> u64 {
        self.later_from.min(self.first + SLOTS as u64)
    }

    #[inline(always)]
    fn put(&mut self, number: u64, packet: &Packet, order: Order<'_>) {
        let place = number as usize % SLOTS;
        let slot = &mut self.slots[place];
        if self.filled >> place & 1 == 0 {
            self.filled |= 1 << place;
            slot.earliest = (packet.at, 0);
            if let Some(spare) = self.spare.pop() {
                slot.packets = spare;
            }
        } else if packet.at <= slot.earliest.0 && order.precedes(packet, &slot.packets[slot.earliest.1]) {
            slot.earliest = (packet.at, slot.packets.len());
        }
        slot.packets.push(*packet);
    }

    /// Inserts the last packet of the open slot into its order.
    #[cold]
    fn put_in_order(&mut self, order: Order<'_>) {
        let slot = &self.slots[self.first as usize % SLOTS].packets;
        let packet = &slot[slot.len() - 1];
        let rest = &self.order[self.taken..];
        let before = rest.partition_point(|&key| !order.precedes(packet, &slot[place_of(key)]));
        let key = self.key(slot.len() - 1, packet);
        self.order.insert(self.taken + before, key);
    }

    fn key(&self, place: usize, packet: &Packet) -> u64 {
        let since_start = packet.at.as_ps() & ((1 << self.shift) - 1);
        since_start << PLACE_BITS | place as u64
    }

    /// Limits `until` to the end of a slot, if a slot with packets ends before.
    pub(super) fn whole(&self, until: Time) -> Time {
        let end = until.as_ps().saturating_add(1) >> self.shift;
        match self.head {
            Some((at, _)) if at.as_ps() >> self.shift < end => Time::from_ps((end << self.shift) - 1),
            _ => until,
        }
    }

    /// Removes the next packet, if it is due by `until`.
    #[inline(always)]
    pub(super) fn pop(&mut self, until: Time, order: Order<'_>) -> Option<Packet> {
        if self.order.is_empty() {
            self.open(until, order)?;
        }
        let packet = self.slots[self.first as usize % SLOTS].packets[place_of(self.order[self.taken])];
        if packet.at > until {
            return None;
        }
        self.taken += 1;
        if self.taken == self.order.len() {
            self.close();
        }
        Some(packet)
    }

    /// Sorts the packets of the next slot, if it begins by `until`.
    fn open(&mut self, until: Time, order: Order<'_>) -> Option<()> {
        let now = until.as_ps() >> self.shift;
        self.first = self.next_slot().unwrap_or(self.later_from).min(now);
        if self.later_from < self.first + SLOTS as u64 / 2 {
            self.look_behind(order);
        }
        let place = self.first as usize % SLOTS;
        if self.filled >> place & 1 == 0 {
            return None;
        }
        let slot = &self.slots[place].packets;
        assert!(slot.len() >> PLACE_BITS == 0, "more packets in a slot than have a number");
        let mut keys = std::mem::take(&mut self.order);
        keys.extend((0..).zip(slot).map(|(place, packet)| self.key(place, packet)));
        keys.sort_unstable();
        for equal in keys.chunk_by_mut(|a, b| a >> PLACE_BITS == b >> PLACE_BITS).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by_key(|&key| (order.tie(&slot[place_of(key)]), key));
        }
        self.order = keys;
        Some(())
    }

    /// Empties the first slot: all its packets are out.
    fn close(&mut self) {
        let place = self.first as usize % SLOTS;
        let mut slot = std::mem::take(&mut self.slots[place].packets);
        slot.clear();
        self.spare.push(slot);
        self.filled &= !(1 << place);
        self.order.clear();
        self.taken = 0;
    }

    /// Moves packets from `later` to slots that now exist. Doubles the width of the slots if most packets remain, so that a
    /// packet is looked at a few times, regardless of its wait.
    #[cold]
    fn look_behind(&mut self, order: Order<'_>) {
        loop {
            #[cfg(test)]
            {
                self.looks += self.later.len();
            }
            let (end, shift) = (self.first + SLOTS as u64, self.shift);
            let number = |packet: &Packet| packet.at.as_ps() >> shift;
            let is_near = |packet: &Packet| number(packet) < end;
            let near = self.later.iter().filter(|packet| is_near(packet)).count();
            if self.later.len() > 2 * near + VAIN_LOOKS && shift < SHIFT_MAX {
                self.widen(order);
                continue;
            }
            let (near, far): (Vec<_>, Vec<_>) = std::mem::take(&mut self.later).into_iter().partition(is_near);
            self.later_from = far.iter().map(number).min().unwrap_or(u64::MAX);
            self.later = far;
            near.iter().for_each(|packet| self.put(number(packet), packet, order));
            return;
        }
    }

    /// Doubles the width of the slots. None is open.
    fn widen(&mut self, order: Order<'_>) {
        self.shift += 1;
        self.first /= 2;
        let filled = (0..SLOTS).filter(|place| self.filled >> place & 1 == 1);
        let packets: Vec<Packet> = filled.flat_map(|place| std::mem::take(&mut self.slots[place].packets)).collect();
        self.filled = 0;
        packets.iter().for_each(|packet| self.put(packet.at.as_ps() >> self.shift, packet, order));
    }

    /// Number of the next slot that holds packets.
    fn next_slot(&self) -> Option<u64> {
        let ahead = self.filled.rotate_right((self.first % SLOTS as u64) as u32).trailing_zeros();
        (self.filled != 0).then(|| self.first + u64::from(ahead))
    }

    /// The first packet: arrival and feeder.
    pub(super) fn next(&self, order: Order<'_>) -> Option<(Time, LinkId)> {
        let packet = match (self.order.get(self.taken), self.next_slot()) {
            (Some(&key), _) => &self.slots[self.first as usize % SLOTS].packets[place_of(key)],
            (None, Some(number)) => {
                let slot = &self.slots[number as usize % SLOTS];
                &slot.packets[slot.earliest.1]
            }
            (None, None) => self.later.iter().reduce(|a, b| if order.precedes(b, a) { b } else { a })?,
        };
        Some((packet.at, order.routes.before(packet)))
    }
}

fn place_of(key: u64) -> usize {
    (key & ((1 << PLACE_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::ids::EndpointId;
    use bentpipe_model::packet::{Bodies, Origin};
    use bentpipe_tcp::Segment;
    use bentpipe_units::Stream;

    /// Compares with a list that is searched: packets of several feeders with different delays, some after long waits, taken
    /// out one by one, up to an instant, or up to the end of a slot.
    #[test]
    fn packets_come_out_in_the_order_in_which_links_deliver() {
        let names = ["a", "b", "c", "d", "e"];
        let none = std::iter::empty;
        let schedule = Schedule::new(names.into_iter(), none(), none(), std::iter::empty(), 0);
        let routes = Routes::along(5);
        let order = Order { routes: &routes, schedule: &schedule };
        let blank = Packet::new(&Segment::default(), &Origin::of(EndpointId::opener(0), 0), &mut Bodies::default());
        let (mut ties, mut waits, mut rests, mut left) = (0, 0, 0, 0);
        for round in 0..60 {
            let (mut dice, mut draws) = (Stream::new(round, "inbox", "test"), 0);
            let mut below = |n: u64| {
                draws += 1;
                dice.below(draws, n)
            };
            // Steps of a millisecond, so that packets meet.
            let step = 1_000_000_000;
            // Every second network has delays of microseconds, so that nearly all packets wait longer.
            let unit = [step, step / 1000][round as usize % 2];
            let delays: Vec<u64> = names.iter().map(|_| (1 + below(20)) * unit).collect();
            let [least, most] =
                [delays.iter().min(), delays.iter().max()].map(|delay| Duration::from_ps(delay.copied().unwrap_or(0)));
            let mut inbox = Inbox::new(LinkId::new(9), LinkId::new(0), least, most);
            let mut model: Vec<(Time, u64, u16)> = Vec::new();
            let mut free_at = [0; 5];
            let mut now = 0;
            for number in 0..3000 {
                for _ in 0..below(4) {
                    let feeder = below(5) as usize;
                    let wait = [0, 1, 2, 1500][if below(200) == 0 { 3 } else { below(3) as usize }] * step;
                    free_at[feeder] = (now + wait).max(free_at[feeder] + step);
                    let at = Time::from_ps(free_at[feeder] + delays[feeder]);
                    let mut packet = blank;
                    (packet.at, packet.next, packet.len) = (at, feeder as u32 + 1, number);
                    model.push((at, order.tie(&packet), number));
                    let is_first = model.iter().min() == model.last();
                    assert_eq!(inbox.insert(Time::from_ps(now), &packet, order), is_first);
                    if is_first {
                        inbox.head = inbox.next(order);
                    }
                    waits += u64::from(!inbox.later.is_empty());
                }
                let Some((at, _)) = inbox.head else { continue };
                now = at.as_ps();
                let until = [at, inbox.whole(at + inbox.lead)][below(2) as usize];
                while let Some(packet) = inbox.pop(until, order) {
                    let first = model.iter().copied().min().unwrap();
                    assert_eq!((packet.at, order.tie(&packet), packet.len), first);
                    assert!(packet.at <= until);
                    model.retain(|&other| other != first);
                    ties += u64::from(model.iter().any(|other| other.0 == first.0));
                    if below(8) == 0 {
                        break;
                    }
                }
                rests += u64::from(!inbox.order.is_empty());
                inbox.head = inbox.next(order);
                assert_eq!(inbox.head.map(|head| head.0), model.iter().min().map(|first| first.0));
            }
            left += model.len();
            assert_eq!(inbox.clear().len(), model.len());
        }
        assert!(ties > 1000 && waits > 1000 && rests > 1000 && left > 100, "{ties} {waits} {rests} {left}");
    }
    /// Endpoints that work ahead by 260 ms, at 500 Mbit/s, over access links of a microsecond.
    #[test]
    fn a_packet_is_looked_at_a_few_times_whatever_its_wait() {
        let none = std::iter::empty;
        let schedule = Schedule::new(["a"].into_iter(), none(), none(), std::iter::empty(), 0);
        let routes = Routes::along(1);
        let order = Order { routes: &routes, schedule: &schedule };
        let mut packet =
            Packet::new(&Segment::default(), &Origin::of(EndpointId::opener(0), 0), &mut Bodies::default());
        let lead = Duration::from_micros(1);
        let mut inbox = Inbox::new(LinkId::new(1), LinkId::new(0), lead, lead);
        const PACKETS: u64 = 40_000;
        for number in 0..PACKETS {
            let now = Time::ZERO + Duration::from_micros(24) * number;
            (packet.at, packet.next) = (now + Duration::from_millis(260), 1);
            inbox.insert(now, &packet, order);
            while inbox.pop(now, order).is_some() {}
        }
        assert!(inbox.clear().len() > 10_000 && inbox.looks < 4 * PACKETS as usize, "{}", inbox.looks);
    }
}
