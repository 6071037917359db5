//! The timers of a connection, in one table: the next wake-up is its smallest entry.

use bentpipe_units::Time;

/// Timers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The retransmission timer (RFC 6298). The table holds an instant before which it does not expire; the exact one
    /// is computed only then, because almost all of these timers are restarted before.
    Retransmit,
    /// A closed window is probed (RFC 9293 §3.8.6.1).
    Persist,
    /// An ACK was delayed long enough (RFC 1122 §4.2.3.2).
    DelayedAck,
    /// RACK's reordering timer (RFC 8985 §6.2).
    Reorder,
    /// The probe timeout, PTO (RFC 8985 §7.2).
    LossProbe,
    /// TIME-WAIT ends.
    TimeWait,
    /// A segment may leave, after a wait for pacing.
    Pace,
}

impl Timer {
    /// An idle connection is probed (RFC 9293 §3.8.4). In TIME-WAIT it is not, so both have one place.
    pub(crate) const KEEPALIVE: Self = Self::TimeWait;
    const COUNT: usize = Self::Pace as usize + 1;
}

/// When each timer expires; [`Time::NEVER`]: it does not run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    expiries: [Time; Timer::COUNT],
    /// No timer expires before this. Most timers are restarted before they expire, so that the table is rarely
    /// searched.
    bound: Time,
}

impl Timers {
    /// Returns a table without running timers.
    pub(crate) fn stopped() -> Self {
        Self { expiries: [Time::NEVER; Timer::COUNT], bound: Time::NEVER }
    }

    #[inline]
    pub(crate) fn get(&self, timer: Timer) -> Time {
        self.expiries[timer as usize]
    }

    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, at: Time) {
        self.expiries[timer as usize] = at;
        self.bound = self.bound.min(at);
    }

    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.expiries[timer as usize] = Time::NEVER;
    }

    #[inline]
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.get(timer) != Time::NEVER
    }

    /// Whether it has expired; if so it is stopped.
    #[inline]
    pub(crate) fn take_expired(&mut self, timer: Timer, now: Time) -> bool {
        let is_expired = self.get(timer) <= now;
        if is_expired {
            self.stop(timer);
        }
        is_expired
    }

    /// The first that expires.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        let [first, rest @ ..] = self.expiries;
        rest.into_iter().fold(first, Time::min)
    }

    /// Whether any of them expires before `until`.
    #[inline]
    pub(crate) fn expire_before(&mut self, until: Time) -> bool {
        self.bound < until && self.do_expire_before(until)
    }

    #[inline(never)]
    fn do_expire_before(&mut self, until: Time) -> bool {
        self.bound = self.next();
        self.bound < until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Duration;

    #[test]
    fn the_next_wake_up_is_that_of_the_first_timer() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut timers = Timers::stopped();
        assert_eq!(timers.next(), Time::NEVER);
        timers.set(Timer::Pace, at(3));
        timers.set(Timer::Retransmit, at(2));
        assert_eq!((timers.next(), timers.is_running(Timer::Persist)), (at(2), false));
        assert!(!timers.take_expired(Timer::Retransmit, at(1)) && timers.take_expired(Timer::Retransmit, at(2)));
        assert_eq!(timers.next(), at(3));
    }

    #[test]
    fn timers_that_move_are_looked_at_again() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut timers = Timers::stopped();
        assert!(!timers.expire_before(Time::NEVER));
        timers.set(Timer::Retransmit, at(2));
        assert!(timers.expire_before(at(3)) && !timers.expire_before(at(2)));
        timers.set(Timer::Retransmit, at(5));
        assert!(!timers.expire_before(at(5)) && timers.expire_before(at(6)));
        timers.set(Timer::Pace, at(4));
        assert!(timers.expire_before(at(5)));
        timers.stop(Timer::Pace);
        assert!(!timers.expire_before(at(5)));
    }
}
