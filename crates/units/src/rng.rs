//! Random streams that are addressed by (seed, component name, purpose) and drawn by index.
//!
//! Adding a component cannot change the draws of another, all cases of a comparison meet the same channel, and any draw
//! can be reproduced from outside. The generator is Philox4x64-10 (J. Salmon et al., "Parallel random numbers: as easy
//! as 1, 2, 3", SC 2011) in the form that NumPy uses. `numpy.random.Philox(key=k).random_raw(n)[i]` is `stream.at(i)`
//! for the key of [`Stream::key`].

/// A random stream: a pure function from an index to 64 random bits.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u64; 2],
    block: [u64; 4],
    block_index: u64,
}

impl Stream {
    /// Creates the stream of `component` (as named in the scenario) for `purpose` under `seed`.
    pub fn new(seed: u64, component: &str, purpose: &str) -> Self {
        let mut key = [mix(seed ^ 0x6265_6e74_7069_7065), mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))];
        // A zero byte, which names cannot contain, separates the two parts.
        for byte in component.bytes().chain([0]).chain(purpose.bytes()) {
            key[0] = (key[0] ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            key[1] = mix(key[1] ^ u64::from(byte));
        }
        Self::with_key([mix(key[0]), key[1]])
    }

    /// Creates the stream of this [key](Self::key), which is enough to keep a seldom used stream.
    pub const fn with_key(key: [u64; 2]) -> Self {
        Self { key, block: [0; 4], block_index: u64::MAX }
    }

    /// Returns the Philox key, to repeat the draws elsewhere.
    pub const fn key(&self) -> [u64; 2] {
        self.key
    }

    /// Returns 64 random bits: draw number `index`. Cheapest if indices are drawn in order.
    #[inline]
    pub fn at(&mut self, index: u64) -> u64 {
        if index / 4 != self.block_index {
            self.draw_block(index / 4);
        }
        self.block[(index % 4) as usize]
    }

    #[inline(never)]
    fn draw_block(&mut self, block_index: u64) {
        // NumPy advances the counter before its first block.
        self.block = philox([block_index.wrapping_add(1), 0, 0, 0], self.key);
        self.block_index = block_index;
    }

    /// Returns a number uniform in [0, 1): the upper 53 bits of draw `index`.
    pub fn uniform(&mut self, index: u64) -> f64 {
        (self.at(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number uniform in (0, 1], safe under a logarithm.
    pub fn uniform_positive(&mut self, index: u64) -> f64 {
        1.0 - self.uniform(index)
    }

    /// Returns a whole number uniform in `0..n`; 0 for `n = 0`.
    #[inline]
    pub fn below(&mut self, index: u64, n: u64) -> u64 {
        ((u128::from(self.at(index)) * u128::from(n)) >> 64) as u64
    }
}

/// Finalises as in SplitMix64: every input bit reaches every output bit.
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn philox(mut counter: [u64; 4], mut key: [u64; 2]) -> [u64; 4] {
    const MULTIPLIERS: [u64; 2] = [0xd2e7_470e_e14c_6c93, 0xca5a_8263_9512_1157];
    const WEYL: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbb67_ae85_84ca_a73b];
    for _ in 0..10 {
        let a = u128::from(MULTIPLIERS[0]) * u128::from(counter[0]);
        let b = u128::from(MULTIPLIERS[1]) * u128::from(counter[2]);
        counter = [(b >> 64) as u64 ^ counter[1] ^ key[0], b as u64, (a >> 64) as u64 ^ counter[3] ^ key[1], a as u64];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 distribution for Philox4x64-10.
    #[test]
    fn philox_known_answers() {
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b]
        );
        assert_eq!(
            philox([u64::MAX; 4], [u64::MAX; 2]),
            [0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0]
        );
    }

    /// `numpy.random.Philox(key=[1, 2]).random_raw(5)` of NumPy 2.
    #[test]
    fn draws_are_numpys() {
        let mut stream = Stream { key: [1, 2], block: [0; 4], block_index: u64::MAX };
        let expected = [
            0x4f2f_4313_b553_6b09,
            0x5b61_7be3_219f_f32a,
            0x0972_9347_6f92_75cb,
            0xf63f_3bf4_962c_3942,
            0x04dc_c604_73aa_0f43,
        ];
        assert_eq!([0, 1, 2, 3, 4].map(|i| stream.at(i)), expected);
    }

    #[test]
    fn draws_depend_on_address_only() {
        let mut a = Stream::new(1, "link/feeder", "loss");
        let mut b = Stream::new(1, "link/feeder", "loss");
        let forwards: Vec<_> = (0..20).map(|i| a.at(i)).collect();
        let backwards: Vec<_> = (0..20).rev().map(|i| b.at(i)).collect();
        assert!(forwards.iter().eq(backwards.iter().rev()));
        for other in [
            Stream::new(2, "link/feeder", "loss"),
            Stream::new(1, "link/feeder", "time"),
            Stream::new(1, "link/feede", "rloss"),
        ] {
            let mut other = other;
            assert_ne!(other.at(0), forwards[0]);
        }
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        let mut stream = Stream::new(3, "x", "y");
        let n = 100_000;
        let mean = (0..n).map(|i| stream.uniform(i)).sum::<f64>() / n as f64;
        // Standard deviation of the mean: 1 / sqrt(12 n) = 9.1e-4.
        assert!((mean - 0.5).abs() < 4e-3, "{mean}");
        assert!((0..1000).all(|i| stream.below(i, 7) < 7));
    }
}
