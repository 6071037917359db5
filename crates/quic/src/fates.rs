//! Fates of the packets of one end: arrived at the peer, declared lost, or both. A packet that is both was needlessly repaired.
//!
//! The stack reports only the number of packets that it declares lost. The replacement of TLS sees each packet with its number,
//! on its departure and on its arrival, and acknowledgements in plain text. The stack declares packets in the order of their
//! numbers, so its declarations are the oldest packets without an acknowledgement.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

/// Number space of a packet (RFC 9000 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

/// Fates of the packets of one end. The keys of both ends write them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fates(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    spaces: [Numbers; 3],
    needless: u64,
}

/// Packets of one space.
#[derive(Debug, Default)]
struct Numbers {
    /// Sent, neither acknowledged nor declared lost.
    open: BTreeSet<u64>,
    /// Number after the last that was sent.
    next: u64,
    largest_acked: Option<u64>,
    arrived: Bits,
    declared: Bits,
}

impl Fates {
    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A packet leaves.
    pub(crate) fn on_sent(&self, space: Space, number: u64) {
        self.with(|inner| {
            let numbers = &mut inner.spaces[space as usize];
            numbers.open.insert(number);
            numbers.next = numbers.next.max(number + 1);
        });
    }

    /// A packet has arrived at the peer.
    pub(crate) fn on_arrived(&self, space: Space, number: u64) {
        self.with(|inner| {
            let numbers = &mut inner.spaces[space as usize];
            if number < numbers.next && numbers.arrived.set(number) && numbers.declared.has(number) {
                inner.needless += 1;
            }
        });
    }

    /// The acknowledgement in the plain text of a packet of the peer, if it has one.
    pub(crate) fn on_acked(&self, space: Space, payload: &[u8]) {
        let Some(ack) = Ack::read(payload) else { return };
        self.with(|inner| {
            let numbers = &mut inner.spaces[space as usize];
            numbers.largest_acked = numbers.largest_acked.max(Some(ack.largest));
            for range in ack {
                let acked: Vec<u64> = numbers.open.range(range).copied().collect();
                acked.iter().for_each(|number| {
                    numbers.open.remove(number);
                });
            }
        });
    }

    /// The stack has declared packets lost. The handshake is over in all but its last round trip, so the space of data is first.
    pub(crate) fn on_declared(&self, mut count: u64) {
        self.with(|inner| {
            for space in [Space::Data, Space::Handshake, Space::Initial] {
                let numbers = &mut inner.spaces[space as usize];
                while count > 0 && numbers.open.first().copied() < numbers.largest_acked {
                    let Some(number) = numbers.open.pop_first() else { break };
                    count -= 1;
                    if numbers.declared.set(number) && numbers.arrived.has(number) {
                        inner.needless += 1;
                    }
                }
            }
        });
    }

    /// The server has refused early data: the stack forgets its packets.
    pub(crate) fn on_refused(&self) {
        self.with(|inner| inner.spaces[Space::Data as usize].open.clear());
    }

    /// Returns the number of packets that were declared lost, and have arrived.
    pub(crate) fn needless(&self) -> u64 {
        self.with(|inner| inner.needless)
    }
}

/// A set of numbers, a bit for each up to the largest.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number, and returns whether it is new.
    fn set(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn has(&self, number: u64) -> bool {
        self.0.get((number / 64) as usize).is_some_and(|word| word & 1 << (number % 64) != 0)
    }
}

/// Ranges of an ACK frame (RFC 9000 §19.3), the largest first.
#[derive(Clone, Debug)]
struct Ack<'a> {
    rest: &'a [u8],
    largest: u64,
    /// Largest number of the next range.
    next: Option<u64>,
    ranges: u64,
}

impl<'a> Ack<'a> {
    /// Finds the ACK of a packet: the stack writes it before all frames but those without fields.
    fn read(mut payload: &'a [u8]) -> Option<Self> {
        const PADDING: u8 = 0x00;
        const PING: u8 = 0x01;
        const ACK: u8 = 0x02;
        const ACK_ECN: u8 = 0x03;
        const HANDSHAKE_DONE: u8 = 0x1e;
        const IMMEDIATE_ACK: u8 = 0x1f;
        loop {
            let (kind, rest) = payload.split_first()?;
            payload = rest;
            match *kind {
                PADDING | PING | HANDSHAKE_DONE | IMMEDIATE_ACK => {}
                ACK | ACK_ECN => break,
                _ => return None,
            }
        }
        let [largest, _delay, more] = [(); 3].map(|()| take_varint(&mut payload));
        Some(Self { rest: payload, largest: largest?, next: largest, ranges: more?.saturating_add(1) })
    }
}

impl Iterator for Ack<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ranges = self.ranges.checked_sub(1)?;
        let end = self.next?;
        let start = end.checked_sub(take_varint(&mut self.rest)?)?;
        self.next = take_varint(&mut self.rest).and_then(|gap| start.checked_sub(gap.checked_add(2)?));
        Some(start..=end)
    }
}

/// Reads a number of variable length (RFC 9000 §16).
pub(crate) fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let (taken, left) = rest.split_at_checked(1 << (first >> 6))?;
    *rest = left;
    Some(taken[1..].iter().fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 §19.3: 10 to 8 and 5 to 4, after a ping; then the same with counts of ECN.
    #[test]
    fn ranges_of_an_ack_are_read() {
        for kind in [2, 3] {
            let payload = [1, kind, 10, 0, 1, 2, 1, 1, 7, 7, 7];
            let ranges: Vec<_> = Ack::read(&payload).unwrap().collect();
            assert_eq!(ranges, [8..=10, 4..=5]);
        }
        assert!(Ack::read(&[8, 2, 10, 0, 0, 0]).is_none());
        // A range below 0.
        assert_eq!(Ack::read(&[2, 3, 0, 1, 1, 5, 0]).unwrap().collect::<Vec<_>>(), [2..=3]);
    }

    /// Packets 0 to 9, of which 1, 2 and 3 are declared lost: 1 arrives before that, 2 after that, and 3 never.
    #[test]
    fn a_packet_that_is_lost_and_arrives_is_needless() {
        let fates = Fates::default();
        (0..10).for_each(|number| fates.on_sent(Space::Data, number));
        (0..10).filter(|number| ![2, 3].contains(number)).for_each(|number| fates.on_arrived(Space::Data, number));
        // 9 to 4, and 0.
        fates.on_acked(Space::Data, &[2, 9, 0, 1, 5, 2, 0]);
        fates.on_declared(3);
        assert_eq!(fates.needless(), 1);
        fates.on_arrived(Space::Data, 2);
        fates.on_arrived(Space::Data, 2);
        assert_eq!(fates.needless(), 2);
        // A number that was never sent.
        fates.on_arrived(Space::Data, u64::MAX);
    }
}
