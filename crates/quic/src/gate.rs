//! Pace of a congestion control with its own rate, in front of the stack.

use bentpipe_cc::Pace;
use bentpipe_model::spec::Quic;
use bentpipe_units::{Duration, Time};

/// Longest wait between two datagrams, at any pace.
const GAP_MAX: Duration = Duration::from_secs(60);
/// Largest delay of a clock's wake-up that later datagrams make up for. Wake-ups in virtual time have none.
const LATENESS_MAX: Duration = Duration::from_millis(5);

/// Opens when the next datagram may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gate {
    opens_at: Time,
    /// Whether a datagram waits for it, or has left late.
    is_awaited: bool,
}

impl Gate {
    /// Whether no datagram may leave now.
    pub(crate) fn holds(&mut self, now: Time) -> bool {
        let is_closed = self.opens_at > now;
        self.is_awaited |= is_closed;
        is_closed
    }

    /// Returns when it opens, if it is closed.
    pub(crate) fn opens_after(&self, now: Time) -> Option<Time> {
        (self.opens_at > now).then_some(self.opens_at)
    }

    /// Forgets that a datagram waited, because the stack has none.
    pub(crate) fn on_idle(&mut self) {
        self.is_awaited = false;
    }

    /// A datagram with `payload` bytes has left at this pace.
    pub(crate) fn on_sent(&mut self, now: Time, payload: u16, pace: Option<Pace>) {
        let Some(pace) = pace else {
            *self = Self::default();
            return;
        };
        let size = u64::from(payload) + u64::from(Quic::HEADERS);
        let burst = pace.bucket.or(pace.burst).unwrap_or(2 * size);
        let saved = pace.rate.time_to_send(burst.saturating_sub(size));
        let saved = if self.is_awaited { saved.max(LATENESS_MAX) } else { saved };
        let earliest = Time::from_ps(now.as_ps().saturating_sub(saved.as_ps()));
        self.opens_at = self.opens_at.max(earliest) + pace.rate.time_to_send(size).min(GAP_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Rate;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// Datagrams of 1000 B in sum at 8 Mbit/s leave every millisecond, one at a time.
    fn pace() -> Option<Pace> {
        Some(Pace { burst: Some(1000), ..Pace::at(Rate::from_bps(8_000_000)) })
    }

    #[test]
    fn late_wakeups_do_not_lower_the_rate() {
        let mut gate = Gate::default();
        gate.on_sent(us(0), 972, pace());
        for number in 1..100 {
            let due = us(1000 * number);
            let before = us(1000 * number - 1);
            assert_eq!(gate.opens_after(before), Some(due), "{number}");
            assert!(gate.holds(before));
            // A clock that is 0.3 ms late.
            let late = due + Duration::from_micros(300);
            assert!(!gate.holds(late));
            gate.on_sent(late, 972, pace());
        }
    }

    #[test]
    fn an_idle_sender_saves_no_more_than_a_burst() {
        let mut gate = Gate::default();
        gate.on_sent(us(0), 972, pace());
        assert!(gate.holds(us(500)));
        gate.on_idle();
        gate.on_sent(us(4000), 972, pace());
        assert_eq!(gate.opens_after(us(4000)), Some(us(5000)));
    }
}
