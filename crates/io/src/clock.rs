//! The clock that packets leave by.

use rustix::time::{clock_gettime, ClockId};

/// Returns nanoseconds of the monotonic clock.
pub(crate) fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
