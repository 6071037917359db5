//! A ring of packets that grows: first in, first out.

use bentpipe_model::packet::Packet;
use bentpipe_units::Time;

/// Packets, first in, first out. Differs from the standard library's ring: the size is a power of two, so a position wraps
/// with one `and`.
// Field order: `len` is read of each link, the packets of few.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Ring {
    len: usize,
    head: usize,
    /// Length: a power of two, or zero.
    slots: Vec<Packet>,
}

const FIRST_SIZE: usize = 4;

impl Ring {
    /// Appends a packet. Change it in its slot, not before: a copy waits for a small write just before it.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: &Packet) -> &mut Packet {
        if self.len == self.slots.len() {
            self.grow(*packet);
        }
        let slot = (self.head + self.len) & (self.slots.len() - 1);
        self.len += 1;
        let slot = &mut self.slots[slot];
        *slot = *packet;
        slot
    }

    /// Inserts a packet before the packets that are due after `at`.
    #[inline(never)]
    pub(super) fn insert(&mut self, packet: &Packet, at: Time) -> &mut Packet {
        self.push(packet);
        let mask = self.slots.len() - 1;
        let mut place = self.head + self.len - 1;
        while place > self.head && self.slots[(place - 1) & mask].at > at {
            self.slots[place & mask] = self.slots[(place - 1) & mask];
            place -= 1;
        }
        let slot = &mut self.slots[place & mask];
        *slot = *packet;
        slot
    }

    /// The first packet, if it is due by `until`. Copy it as a whole, then [drop](Self::drop_front) it: a copy waits for
    /// small writes just before it.
    #[inline(always)]
    pub(super) fn front(&self, until: Time) -> Option<&Packet> {
        if self.len == 0 {
            return None;
        }
        let packet = &self.slots[self.head];
        if packet.at > until {
            return None;
        }
        Some(packet)
    }

    #[inline(always)]
    pub(super) fn drop_front(&mut self) {
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.pop_due(Time::NEVER)
    }

    /// Removes the last packet.
    pub(super) fn pop_last(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        Some(self.slots[(self.head + self.len) & (self.slots.len() - 1)])
    }

    /// Moves the packets that `is_meant` selects to `left`, in order. It may change the others, which move up.
    pub(super) fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut kept = 0;
        for place in 0..self.len {
            let mut packet = self.slots[(self.head + place) & mask];
            if is_meant(&mut packet) {
                left.push(packet);
            } else {
                self.slots[(self.head + kept) & mask] = packet;
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Removes the first packet, if it is due by `until`.
    #[inline]
    pub(super) fn pop_due(&mut self, until: Time) -> Option<Packet> {
        let packet = *self.front(until)?;
        self.drop_front();
        Some(packet)
    }

    pub(super) fn first(&self) -> Option<&Packet> {
        (self.len > 0).then(|| &self.slots[self.head])
    }

    /// The instant when the first packet is due, or [`Time::NEVER`].
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        if self.len == 0 {
            return Time::NEVER;
        }
        self.slots[self.head].at
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Doubles the size. Copies of `filler` fill the new slots.
    #[cold]
    fn grow(&mut self, filler: Packet) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize((2 * self.len).max(FIRST_SIZE), filler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::ids::EndpointId;
    use bentpipe_model::packet::{Bodies, Origin};
    use bentpipe_tcp::{Flags, Segment};
    use std::collections::VecDeque;

    #[test]
    fn a_packet_is_put_before_those_that_are_due_later_and_behind_its_equals() {
        let segment = Segment { flags: Flags::ACK, ..Segment::default() };
        let packet = Packet::new(&segment, &Origin::of(EndpointId::opener(0), 0), &mut Bodies::default());
        let mut ring = Ring::default();
        for (number, at) in [50_u64, 20, 70, 20, 10, 60, 20].into_iter().enumerate() {
            let at = Time::from_ps(at);
            let slot = ring.insert(&packet, at);
            (slot.at, slot.len) = (at, number as u16);
        }
        let order = std::iter::from_fn(|| ring.pop()).map(|packet| (packet.at.as_ps(), packet.len)).collect::<Vec<_>>();
        assert_eq!(order, [(10, 4), (20, 1), (20, 3), (20, 6), (50, 0), (60, 5), (70, 2)]);
    }

    /// Against the standard library's ring, at all fill levels and all positions of the head.
    #[test]
    fn first_in_first_out() {
        let segment = Segment { flags: Flags::ACK, ..Segment::default() };
        let mut packet = Packet::new(&segment, &Origin::of(EndpointId::opener(0), 0), &mut Bodies::default());
        let (mut ring, mut model) = (Ring::default(), VecDeque::new());
        for round in 0..1000u64 {
            for i in 0..round % 7 {
                packet.at = Time::from_ps(10 * round + i);
                ring.push(&packet);
                model.push_back(packet.at);
            }
            if round % 97 == 0 {
                let (mut left, mut expected) = (Vec::new(), Vec::new());
                ring.extract(&mut |packet| packet.at.as_ps() % 5 == round % 5, &mut left);
                model.retain(|at| {
                    let is_left = at.as_ps() % 5 == round % 5;
                    expected.extend(is_left.then_some(*at));
                    !is_left
                });
                assert_eq!(left.iter().map(|packet| packet.at).collect::<Vec<_>>(), expected);
            }
            if round % 11 == 0 {
                assert_eq!(ring.pop_last().map(|p| p.at), model.pop_back());
            }
            for _ in 0..round % 5 {
                assert_eq!(ring.next_at(), model.front().copied().unwrap_or(Time::NEVER));
                assert_eq!(ring.pop().map(|p| p.at), model.pop_front());
            }
            assert_eq!(ring.len(), model.len());
        }
        assert!(ring.len() > 200, "{}", ring.len());
    }
}
