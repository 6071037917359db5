//! Token buckets before a link: a shaper and a policer.

use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Rate};

settings! {
    /// Token bucket, full at the start: it fills at a rate, up to its size, and each packet takes as many tokens as it has
    /// bytes, without framing. Any interval then passes at most the rate times its length plus one bucket.
    pub struct TokenBucket {
        /// Rate of the tokens.
        rate: Rate;
        /// Size of the bucket: bytes that pass immediately after a pause. At least the largest packet of the flows on the
        /// link. Larger packets are dropped (`policed`).
        burst: u64 as Bytes;
        /// Volume that passes before the bucket limits packets, such as the quota of a plan.
        after: u64 as Bytes = 0;
    }
}
