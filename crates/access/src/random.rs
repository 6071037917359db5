//! Random access: slotted ALOHA, and contention resolution diversity slotted ALOHA (CRDSA; E. Casini, R. De Gaudenzi,
//! O. del Rio Herrero, "Contention resolution diversity slotted ALOHA", IEEE Trans. Wireless Communications 2007).

use bentpipe_units::{words, Duration, Stream};

words! {
    /// Use of random access by a terminal.
    pub enum RandomUse {
        /// No random access.
        "none" => None,
        /// Requests that have no other way.
        "requests" => Requests,
        /// Requests, and packets of a terminal without a grant.
        "data" => Data,
    }
}

/// Random access of a medium. A block has the slots of its carriers in a superframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomAccess {
    /// Carriers for random access.
    pub carriers: u32,
    /// Copies of each burst in a block. One copy is slotted ALOHA.
    pub copies: u32,
    /// Rounds of reading a block.
    pub iterations: u32,
    /// Bursts of a terminal in a block, at most.
    pub per_block: u32,
    /// Consecutive blocks in which a terminal sends, at most.
    pub in_a_row: u32,
    /// Blocks without bursts of the terminal after that.
    pub rest: u32,
    /// Probability and time of waiting before a block that follows a block of the same terminal.
    pub back_off: (f64, Duration),
    /// Offered load in bursts per slot, above which these probability and time apply before each block.
    pub high_load: (f64, f64, Duration),
    /// Blocks over which the first repetition of a request is spread, and the most: each loss doubles them.
    pub repeat: (u32, u32),
}

impl Default for RandomAccess {
    fn default() -> Self {
        Self {
            carriers: 1,
            copies: 3,
            iterations: 16,
            per_block: 3,
            in_a_row: 4,
            rest: 2,
            back_off: (0.15, Duration::from_millis(250)),
            high_load: (0.5, 0.46, Duration::from_millis(500)),
            repeat: (16, 512),
        }
    }
}

/// The bursts of a block. Buffers are kept from block to block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    copies: u32,
    /// By slot, the copies in it.
    counts: Vec<u32>,
    /// By slot, the sum of the indexes of these bursts modulo 2^32: the index itself once a single copy is left.
    sums: Vec<u32>,
    /// By burst, the slots of its copies.
    places: Vec<u32>,
    is_read: Vec<bool>,
    /// Bursts that the current round reads.
    round: Vec<u32>,
}

impl Block {
    /// Empties the block, which has `slots` slots and `copies` copies of each burst.
    pub fn clear(&mut self, slots: u32, copies: u32) {
        self.copies = copies;
        self.places.clear();
        self.is_read.clear();
        for counts in [&mut self.counts, &mut self.sums] {
            counts.clear();
            counts.resize(slots as usize, 0);
        }
    }

    /// Returns the number of bursts.
    pub fn bursts(&self) -> u32 {
        self.is_read.len() as u32
    }

    /// Puts a burst with copies in these slots into the block.
    pub fn add(&mut self, slots: &[u32]) {
        debug_assert!(slots.len() == self.copies as usize);
        let index = self.bursts();
        for slot in slots {
            self.counts[*slot as usize] += 1;
            self.sums[*slot as usize] = self.sums[*slot as usize].wrapping_add(index);
        }
        self.places.extend_from_slice(slots);
        self.is_read.push(false);
    }

    /// Reads slots with one burst, takes all copies of these bursts away, and repeats, `iterations` times at most.
    pub fn resolve(&mut self, iterations: u32) {
        for _ in 0..iterations {
            self.round.clear();
            for (count, sum) in self.counts.iter().zip(&self.sums) {
                if *count == 1 && !self.is_read[*sum as usize] {
                    self.is_read[*sum as usize] = true;
                    self.round.push(*sum);
                }
            }
            if self.round.is_empty() {
                return;
            }
            for index in &self.round {
                let first = (*index * self.copies) as usize;
                for slot in &self.places[first..first + self.copies as usize] {
                    self.counts[*slot as usize] -= 1;
                    self.sums[*slot as usize] = self.sums[*slot as usize].wrapping_sub(*index);
                }
            }
        }
    }

    /// Whether a burst has been read.
    pub fn is_read(&self, burst: u32) -> bool {
        self.is_read.get(burst as usize).copied().unwrap_or(false)
    }
}

/// Draws `chosen.len()` different numbers of `0..n` with as many draws from `index` on (R. Floyd, in J. Bentley,
/// "Programming Pearls", Communications of the ACM 1987). Needs `n` of at least that length.
pub(crate) fn draw_different(stream: &mut Stream, index: u64, n: u32, chosen: &mut [u32]) {
    for at in 0..chosen.len() {
        let last = n - (chosen.len() - at) as u32;
        let drawn = stream.below(index + at as u64, u64::from(last) + 1) as u32;
        chosen[at] = if chosen[..at].contains(&drawn) { last } else { drawn };
    }
}
