//! The clock for departures of packets.

use bentpipe_units::Duration;
use rustix::time::{clock_gettime, ClockId, Timespec};

/// Returns nanoseconds of the monotonic clock.
pub(crate) fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Sleeps for a time below a second. A signal may end it earlier.
pub(crate) fn sleep(time: Duration) {
    let ns = time.as_ps() / 1000;
    if ns > 0 {
        let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: ns as _ });
    }
}
