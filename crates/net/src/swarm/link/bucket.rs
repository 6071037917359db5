//! Token buckets by their definition, without tokens: in any interval that begins with a packet, at most the rate times its
//! length plus one bucket passes.

use bentpipe_model::spec::TokenBucket;
use bentpipe_units::{Duration, Time};

/// A token bucket, as a list of the packets that passed.
#[derive(Debug)]
pub(super) struct NaiveBucket {
    keys: TokenBucket,
    /// Instant and bytes of each packet after the quota.
    passed: Vec<(Time, u64)>,
    /// Bytes of the packets within the quota.
    free: u64,
}

impl NaiveBucket {
    pub(super) fn of(keys: TokenBucket) -> Self {
        Self { keys, passed: Vec::new(), free: 0 }
    }

    /// Returns the first instant from `now` when a packet may pass.
    pub(super) fn ready(&self, now: Time, size: u64) -> Time {
        let (mut ready, mut bytes) = (now, size);
        if self.is_free() {
            return now;
        }
        for &(since, passed) in self.passed.iter().rev() {
            bytes += passed;
            // The bytes beyond the bucket need this time since the first of these packets.
            let beyond = u128::from(bytes.saturating_sub(self.keys.burst)) * 8 * 1_000_000_000_000;
            let span = beyond.div_ceil(self.keys.rate.as_bps().into());
            ready = ready.max(since + Duration::from_ps(u64::try_from(span).expect("it passes in the run")));
        }
        ready
    }

    /// Notes a packet that passes.
    pub(super) fn pass(&mut self, at: Time, size: u64) {
        match self.is_free() {
            true => self.free += size,
            false => self.passed.push((at, size)),
        }
    }

    /// Whether the quota is not used up.
    pub(super) fn is_free(&self) -> bool {
        self.free < self.keys.after
    }

    pub(super) fn keys(&self) -> TokenBucket {
        self.keys
    }
}
