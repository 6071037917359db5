//! The clock of timestamps (RFC 7323 §5.4): milliseconds, modulo 2^32.

use bentpipe_units::{Duration, Time};

/// Its granularity.
pub(crate) const TICK: Duration = Duration::from_millis(1);

const PS_PER_MS: u64 = TICK.as_ps();

/// Returns the value of the clock.
pub(crate) fn clock(now: Time) -> u32 {
    (now.as_ps() / PS_PER_MS) as u32
}

/// Returns the time since our clock showed `value`.
pub(crate) fn since(now: Time, value: u32) -> Duration {
    Duration::from_millis(u64::from(clock(now).wrapping_sub(value)))
}

/// Returns the start of the millisecond that an echo of `value` refers to.
pub(crate) fn instant_of(now: Time, value: u32) -> Time {
    let tick = now.as_ps() / PS_PER_MS * PS_PER_MS;
    Time::from_ps(tick.saturating_sub(since(now, value).as_ps()))
}
