//! Sets of terminals as bits, so that members come and go without moving others, and lists take a step per 64 terminals.

use core::ops::Range;

/// A set of terminals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    words: Vec<u64>,
}

impl Set {
    /// Returns the empty set of some of `count` terminals.
    pub(crate) fn of(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    /// Returns the set of all of `count` terminals.
    pub(crate) fn all(count: usize) -> Self {
        let mut set = Self::of(count);
        set.insert_all(count);
        set
    }

    /// Becomes another set of as many terminals.
    pub(crate) fn become_copy(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(crate) fn contains(&self, n: usize) -> bool {
        self.words.get(n / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, n: usize) {
        if let Some(word) = self.words.get_mut(n / 64) {
            *word |= 1 << (n % 64);
        }
    }

    /// Inserts the first `count` terminals.
    pub(crate) fn insert_all(&mut self, count: usize) {
        for (place, word) in self.words.iter_mut().enumerate() {
            *word |= below(place, count);
        }
    }

    pub(crate) fn remove(&mut self, n: usize) {
        if let Some(word) = self.words.get_mut(n / 64) {
            *word &= !(1 << (n % 64));
        }
    }

    /// Removes the terminals that `keep` rejects.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        for (place, word) in self.words.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !keep(64 * place + bit as usize) {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// Returns its terminals, rising.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(place, word)| members(place, *word)).map(|n| n as usize)
    }

    /// Writes the terminals of this set and of a range to `list`, rising.
    pub(crate) fn list(&self, range: Range<u32>, list: &mut Vec<u32>) {
        list.clear();
        let (first, last) = (range.start as usize, range.end as usize);
        for (place, word) in self.words.iter().enumerate() {
            list.extend(members(place, word | below(place, last) & !below(place, first)));
        }
    }
}

/// Returns the bits of the terminals below `n` in a word.
fn below(place: usize, n: usize) -> u64 {
    match n.saturating_sub(64 * place) {
        bits @ 0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// Returns the terminals of a word, rising.
fn members(place: usize, mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(64 * place as u32 + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against ordered sets.
        #[test]
        fn sets_are_listed(
            begin in 0..200u32,
            count in 0..100u32,
            first in prop::collection::btree_set(0..300usize, 0..150),
            gone in prop::collection::btree_set(0..300usize, 0..150),
        ) {
            let set = |of: &BTreeSet<usize>| {
                let mut set = Set::of(300);
                of.iter().for_each(|n| set.insert(*n));
                set
            };
            let mut list = vec![7];
            set(&first).list(begin..begin + count, &mut list);
            let expected: BTreeSet<u32> = first.iter().map(|n| *n as u32).chain(begin..begin + count).collect();
            prop_assert_eq!(&list, &expected.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(set(&first).iter().collect::<Vec<_>>(), first.iter().copied().collect::<Vec<_>>());
            let left: BTreeSet<usize> = first.difference(&gone).copied().collect();
            let (mut kept, mut removed) = (set(&first), set(&first));
            kept.retain(|n| !gone.contains(&n));
            gone.iter().for_each(|n| removed.remove(*n));
            prop_assert_eq!((&kept, &removed), (&set(&left), &set(&left)));
            prop_assert_eq!(kept.is_empty(), left.is_empty());
            prop_assert!((0..400).all(|n| kept.contains(n) == left.contains(&n)));
            prop_assert!((0..300).all(|n| Set::all(300).contains(n)) && !Set::all(300).contains(300));
        }
    }
}
