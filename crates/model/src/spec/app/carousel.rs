//! A file that a sender repeats for receivers that answer nothing, in blocks with packets for repair (ALC, RFC 5775).

/// The file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carousel {
    /// Bytes of the file.
    pub bytes: u64,
    /// Packets of a block at most, without those for repair.
    pub block: u32,
    /// Packets for repair of each block.
    pub repair: u32,
    /// Times that the file is sent; `None`: until the run ends.
    pub rounds: Option<u64>,
}

impl Carousel {
    /// Divides the file into packets of `size` bytes, and these into blocks whose lengths differ by one packet at most
    /// (RFC 5052 §9.1).
    pub fn layout(&self, size: u16) -> Layout {
        let packets = self.bytes.div_ceil(size.max(1).into()).max(1);
        let blocks = packets.div_ceil(self.block.max(1).into());
        Layout { blocks, shorter: packets / blocks, longer: packets % blocks, repair: self.repair.into() }
    }
}

/// A file in blocks. In a round, each block sends one packet after the other blocks have, so that losses in a row are of
/// different blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    blocks: u64,
    /// Packets of a block, without those for repair.
    shorter: u64,
    /// Blocks with one packet more: the first ones.
    longer: u64,
    /// Packets for repair of each block.
    repair: u64,
}

impl Layout {
    /// Packets of a round.
    pub const fn round(&self) -> u64 {
        self.packets().saturating_add(self.blocks.saturating_mul(self.repair))
    }

    /// Packets of the file, without those for repair.
    pub const fn packets(&self) -> u64 {
        self.blocks * self.shorter + self.longer
    }

    /// Bytes that each receiver keeps: a bit for each packet of a round, and a number for each block.
    pub fn memory(&self) -> f64 {
        self.round() as f64 / 8.0 + 4.0 * self.blocks as f64
    }

    /// Packets of each block, without those for repair.
    pub fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.blocks).map(|block| self.shorter + u64::from(block < self.longer))
    }

    /// Returns the block of a packet of a round.
    pub const fn block_of(&self, place: u64) -> u64 {
        let even = self.blocks * (self.shorter + self.repair);
        if place < even {
            place % self.blocks
        } else {
            place - even
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5052 §9.1 for 11 packets in blocks of at most 4: three blocks, two of 4 and one of 3.
    #[test]
    fn blocks_have_nearly_equal_lengths() {
        let layout = Carousel { bytes: 10_500, block: 4, repair: 2, rounds: None }.layout(1000);
        assert_eq!(layout.lengths().collect::<Vec<_>>(), [4, 4, 3]);
        assert_eq!((layout.packets(), layout.round()), (11, 17));
        let sent: Vec<u64> = (0..17).map(|place| layout.block_of(place)).collect();
        assert_eq!(sent, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
    }

    /// Each block has its packets and those for repair in each round, for any file.
    #[test]
    fn a_round_has_all_packets_of_all_blocks() {
        for bytes in (1..40_000).step_by(777) {
            for (block, repair) in [(1, 0), (3, 1), (7, 5), (1000, 20)] {
                let layout = Carousel { bytes, block, repair, rounds: None }.layout(500);
                let lengths: Vec<u64> = layout.lengths().collect();
                let mut counts = vec![0; lengths.len()];
                (0..layout.round()).for_each(|place| counts[layout.block_of(place) as usize] += 1);
                let all: Vec<u64> = lengths.iter().map(|length| length + u64::from(repair)).collect();
                assert_eq!(counts, all, "{bytes} B, {block} + {repair}");
                assert_eq!(lengths.iter().sum::<u64>(), u64::from(bytes as u32).div_ceil(500));
                assert!(lengths.iter().all(|length| *length <= u64::from(block)));
            }
        }
    }
}
