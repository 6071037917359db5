//! Time for the stack, which has nanoseconds since an instant of the process. Virtual time uses differences only, so the
//! instant has no effect. Picoseconds within a nanosecond are lost to the stack only.

use bentpipe_units::{Duration, Time};
use std::time::Instant;

const PS_PER_NS: u64 = 1000;

/// The instant of the process that is the start of virtual time, or of real time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Begins time at this instant.
    #[allow(clippy::disallowed_methods, reason = "the stack's type has no other source; only differences are used")]
    #[allow(clippy::new_without_default, reason = "two of them differ")]
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Returns the time of now, for ends on the wire.
    #[cfg(feature = "tls")]
    #[allow(clippy::disallowed_methods, reason = "the wire has this clock")]
    pub fn now(self) -> Time {
        self.time(Instant::now())
    }

    /// Returns the instant of a time, rounded down to a nanosecond.
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.0 + std::time::Duration::from_nanos(time.as_ps() / PS_PER_NS)
    }

    /// Returns the time of an instant.
    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::from_ps(self.span(instant.saturating_duration_since(self.0)).as_ps())
    }

    /// Returns a span of the process as one of virtual time. The longest is `Duration` of `Time::NEVER`.
    pub(crate) fn span(self, span: std::time::Duration) -> Duration {
        let ps = span.as_nanos().saturating_mul(u128::from(PS_PER_NS));
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Returns a span of virtual time as one of the process.
    pub(crate) fn std(span: Duration) -> std::time::Duration {
        std::time::Duration::from_nanos(span.as_ps() / PS_PER_NS)
    }
}
