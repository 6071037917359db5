//! Where links merge: what is on its way to a link that several plain links feed waits here, in one place for all of them, and the
//! schedule has one entry for it, however many feed it.
//!
//! A packet comes in when a feeder accepts it: the instant at which it reaches the far end is known then. Nothing that is offered
//! to a feeder from now on arrives within the shortest of their delays, so that all which does can be taken out at once, in the
//! order in which links deliver.
//!
//! Time is divided into slots of equal width. Packets lie in the slot of their arrival as they came, and are ordered when the first
//! of them is due: by time, and where links deliver at one instant as the [schedule](crate::engine) says.

use super::routes::Routes;
use crate::engine::Schedule;
use crate::ids::LinkId;
use crate::packet::Packet;
use bentpipe_units::{Duration, Time};

/// What waits to be offered to one link.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    /// The link.
    pub(super) link: LinkId,
    /// Its feeder at whose place in the schedule the next one stands.
    pub(super) seat: LinkId,
    /// The shortest delay of its feeders.
    pub(super) lead: Duration,
    /// A slot is 2 to this picoseconds wide.
    shift: u32,
    /// The number of the first slot that may hold packets; numbers count from the start of time.
    first: u64,
    /// Slots from the first on, each at the place of its number modulo their count.
    slots: Box<[Slot; SLOTS]>,
    /// Which of them hold packets: a bit for each place.
    filled: u64,
    /// Packets of the slot `first` in order: instant since its start, and place. Empty unless packets were taken out of it.
    order: Vec<u64>,
    /// How many of those are out.
    taken: usize,
    /// What is due behind all slots, and the number of its first slot.
    later: Vec<Packet>,
    later_from: u64,
    /// Empty slots that had packets.
    spare: Vec<Vec<Packet>>,
    /// The packet that is due first, by its instant and its feeder, as the schedule knows it.
    pub(super) head: Option<(Time, LinkId)>,
}

/// Packets that are due within the width of a slot.
#[derive(Clone, Debug, Default)]
struct Slot {
    packets: Vec<Packet>,
    /// That which is due first: when, and its place.
    earliest: (Time, usize),
}

const SLOTS: usize = u64::BITS as usize;

/// Bits of a place in a slot; above them is the instant since its start. More packets than have a number would take 10 GB.
const PLACE_BITS: u32 = 28;

/// Slots are no wider, so that an instant since their start has a place above those bits.
const SHIFT_MAX: u32 = u64::BITS - PLACE_BITS;

/// A microsecond: slots are no narrower.
const SHIFT_MIN: u32 = 20;

/// Who delivered a packet, and who goes first of those that deliver at one instant.
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
    /// For a link whose feeders, of which `seat` is one, have delays of at least and at most these.
    pub(super) fn new(link: LinkId, seat: LinkId, lead: Duration, longest: Duration) -> Self {
        // Some slots in what is taken out at once; and in all slots a few times what is on the way without a queue.
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
            spare: Vec::new(),
            head: None,
        }
    }

    /// Takes out all packets, in no order.
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

    /// A packet is on its way that reaches the link at its `at`, by a feeder that accepted it at `now` or later. Returns whether it
    /// is now the one that is due first.
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

    /// The number of the first slot of which packets wait behind all slots.
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

    /// The last packet of a slot of which some are out already finds its turn among the others.
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

    /// Up to where packets are taken out if those up to `until` may be: to the end of a slot, if one ends before that.
    pub(super) fn whole(&self, until: Time) -> Time {
        let end = until.as_ps().saturating_add(1) >> self.shift;
        match self.head {
            Some((at, _)) if at.as_ps() >> self.shift < end => Time::from_ps((end << self.shift) - 1),
            _ => until,
        }
    }

    /// Takes out the next packet that is due by `until`.
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

    /// Orders the packets of the next slot, if it begins by `until`.
    fn open(&mut self, until: Time, order: Order<'_>) -> Option<()> {
        let now = until.as_ps() >> self.shift;
        let number = self.next_slot().unwrap_or(self.later_from).min(now);
        self.first = number;
        if self.later_from < number + SLOTS as u64 / 2 {
            self.look_behind(order);
        }
        let place = number as usize % SLOTS;
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

    /// All packets of the first slot are out.
    fn close(&mut self) {
        let place = self.first as usize % SLOTS;
        let mut slot = std::mem::take(&mut self.slots[place].packets);
        slot.clear();
        self.spare.push(slot);
        self.filled &= !(1 << place);
        self.order.clear();
        self.taken = 0;
    }

    /// What waits behind all slots comes in, as far as there are slots for it by now.
    #[cold]
    fn look_behind(&mut self, order: Order<'_>) {
        self.later_from = u64::MAX;
        let (first, shift) = (self.first, self.shift);
        let number = |packet: &Packet| packet.at.as_ps() >> shift;
        let (near, far): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.later).into_iter().partition(|packet| number(packet) < first + SLOTS as u64);
        near.iter().for_each(|packet| self.put(number(packet), packet, order));
        self.later_from = far.iter().map(number).min().unwrap_or(u64::MAX);
        self.later = far;
    }

    /// The number of the next slot that holds packets.
    fn next_slot(&self) -> Option<u64> {
        let ahead = self.filled.rotate_right((self.first % SLOTS as u64) as u32).trailing_zeros();
        (self.filled != 0).then(|| self.first + u64::from(ahead))
    }

    /// The packet that is due first: when, and by which feeder.
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
    use crate::ids::EndpointId;
    use crate::packet::{Bodies, Origin};
    use bentpipe_tcp::Segment;
    use bentpipe_units::Stream;

    /// Against a list that is searched: packets of some feeders with delays of their own, some of which wait for long; taken out one
    /// by one, up to an instant, or up to the end of a slot.
    #[test]
    fn packets_come_out_in_the_order_in_which_links_deliver() {
        let names = ["a", "b", "c", "d", "e"];
        let none = std::iter::empty;
        let schedule = Schedule::new(names.into_iter(), none(), none(), 0);
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
            // In steps of a millisecond, so that packets meet.
            let step = 1_000_000_000;
            let delays: Vec<u64> = names.iter().map(|_| (1 + below(20)) * step).collect();
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
}
