//! State of conversations, of bounded size.

use crate::packet::Packet;
use bentpipe_tcp::Flags;
use std::collections::BTreeMap;

/// Conversations per generation. A conversation is forgotten if it is not used while this many others are.
const GENERATION: usize = 1 << 15;

/// A value for each conversation in use, in two generations.
#[derive(Clone, Debug)]
pub(super) struct Flows<T> {
    young: BTreeMap<u64, T>,
    old: BTreeMap<u64, T>,
}

impl<T> Default for Flows<T> {
    fn default() -> Self {
        Self { young: BTreeMap::new(), old: BTreeMap::new() }
    }
}

impl<T> Flows<T> {
    /// Returns the value of a conversation.
    pub(super) fn get_mut(&mut self, conversation: u64) -> Option<&mut T> {
        if let Some(value) = self.old.remove(&conversation) {
            self.insert(conversation, value);
        }
        self.young.get_mut(&conversation)
    }

    /// Returns the value of a conversation, and creates a missing one.
    pub(super) fn entry(&mut self, conversation: u64, begin: impl FnOnce() -> T) -> &mut T {
        if self.get_mut(conversation).is_none() {
            self.insert(conversation, begin());
        }
        match self.young.entry(conversation) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(_) => unreachable!("it was just put there"),
        }
    }

    fn insert(&mut self, conversation: u64, value: T) {
        if self.young.len() == GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(conversation, value);
    }

    /// Forgets both directions of a conversation that `packet` ends.
    pub(super) fn forget_ended(&mut self, packet: &Packet) {
        if packet.header_flags().has_any(Flags::FIN.with(Flags::RST)) {
            for conversation in [packet.conversation(), packet.conversation() ^ 1] {
                self.young.remove(&conversation);
                self.old.remove(&conversation);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_kept_and_the_rest_is_bounded() {
        let mut flows = Flows::default();
        for conversation in 0..200_000 {
            *flows.entry(conversation, || 0) += 1;
            *flows.entry(7, || 0) += 1;
        }
        assert!(flows.len() <= 2 * GENERATION);
        assert_eq!(flows.get_mut(7).copied(), Some(200_001));
        assert_eq!(flows.get_mut(100), None);
    }
}
