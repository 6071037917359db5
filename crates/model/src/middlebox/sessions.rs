//! State of a proxy per connection, with wakeups.

use crate::packet::Packet;
use bentpipe_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Values by connection, each with one due time.
#[derive(Clone, Debug)]
pub(super) struct Sessions<T, K = u64> {
    all: BTreeMap<K, (Time, T)>,
    /// Wakeups. May contain outdated ones: waking up early has no effect.
    alarms: BinaryHeap<Reverse<(Time, K)>>,
}

impl<T, K: Ord> Default for Sessions<T, K> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), alarms: BinaryHeap::new() }
    }
}

impl<T> Sessions<T> {
    /// Returns the key that the packets of a connection share in both directions, like ports and addresses on a real
    /// node.
    pub(super) fn key(packet: &Packet) -> u64 {
        packet.conversation() >> 1
    }
}

impl<T, K: Ord + Copy> Sessions<T, K> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, key: K) -> Option<&T> {
        self.all.get(&key).map(|(_, value)| value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.all.values().map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.all.get_mut(&key).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: K, value: T) -> &mut T {
        self.all.insert(key, (Time::NEVER, value));
        &mut self.all.get_mut(&key).expect("just inserted").1
    }

    pub(super) fn remove(&mut self, key: K) -> Option<T> {
        self.all.remove(&key).map(|(_, value)| value)
    }

    /// Removes and returns all values.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> {
        self.alarms.clear();
        std::mem::take(&mut self.all).into_values().map(|(_, value)| value)
    }

    /// Sets the due time of a connection, which replaces an earlier one.
    pub(super) fn arm(&mut self, key: K, due: Time) {
        let Some((armed, _)) = self.all.get_mut(&key) else { return };
        if due < *armed {
            *armed = due;
            self.alarms.push(Reverse((due, key)));
        }
    }

    /// Returns a connection that may be due. The caller must arm it again.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<K> {
        while let Some(&Reverse((due, key))) = self.alarms.peek().filter(|alarm| alarm.0 .0 <= now) {
            self.alarms.pop();
            if let Some((armed, _)) = self.all.get_mut(&key).filter(|(armed, _)| *armed == due) {
                *armed = Time::NEVER;
                return Some(key);
            }
        }
        None
    }

    pub(super) fn next_wakeup(&self) -> Time {
        self.alarms.peek().map_or(Time::NEVER, |alarm| alarm.0 .0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_due_once_at_the_earliest_instant_that_was_said() {
        let at = |s| Time::ZERO + bentpipe_units::Duration::from_secs(s);
        let mut sessions = Sessions::default();
        (1..=3).for_each(|key| *sessions.insert(key, 0) = key);
        sessions.arm(1, at(5));
        sessions.arm(1, at(2));
        sessions.arm(2, at(3));
        sessions.arm(3, at(4));
        sessions.remove(3);
        assert_eq!((sessions.next_wakeup(), sessions.pop_due(at(1))), (at(2), None));
        assert_eq!([0; 3].map(|_| sessions.pop_due(at(9))), [Some(1), Some(2), None]);
        assert_eq!((sessions.next_wakeup(), sessions.len()), (Time::NEVER, 2));
    }
}
