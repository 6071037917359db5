//! Decides when an ACK leaves: immediately, or delayed (RFC 1122 §4.2.3.2, RFC 5681 §4.2).

use crate::config::{AckPolicy, DelayTimer};
use crate::conn::timers::{Timer, Timers};
use bentpipe_units::{Duration, Time};

/// The ACK that is due.
#[derive(Clone, Debug)]
pub(crate) struct AckDuty {
    /// Longest delay of an ACK, and its starting point.
    delay: Duration,
    timer: DelayTimer,
    /// Segments for which one ACK is sent: as the policy has it, or as the sender told.
    pub(super) every: u32,
    /// Segments in order that no ACK has acknowledged.
    pub(super) unacknowledged: u32,
    /// Segments that are acknowledged one by one: of a start, and those left of the present one.
    pub(super) quick: u32,
    quick_left: u32,
    /// When data arrived last.
    last: Time,
    pub(super) is_due: bool,
    /// The sender polls: data that come as expected are acknowledged when it does.
    pub(super) is_polled: bool,
}

/// Time after which a polled receiver acknowledges data without a poll.
const UNPOLLED_MAX: Duration = Duration::from_secs(60);

impl AckDuty {
    pub(super) fn new(policy: AckPolicy) -> Self {
        Self {
            delay: policy.delay,
            timer: policy.timer,
            every: policy.every,
            unacknowledged: 0,
            quick: policy.quick,
            quick_left: policy.quick,
            last: Time::ZERO,
            is_due: false,
            is_polled: false,
        }
    }

    /// Data are acknowledged when the sender polls, from now on.
    pub(super) fn await_polls(&mut self) {
        (self.is_polled, self.every, self.quick, self.quick_left) = (true, u32::MAX, 0, 0);
        (self.timer, self.delay) = (DelayTimer::PerSegment, UNPOLLED_MAX);
    }

    /// If its timer is free-running, it starts here.
    pub(super) fn set_phase(&mut self, at: Duration) {
        if let DelayTimer::FreeRunning { phase } = &mut self.timer {
            *phase = at;
        }
    }

    /// An ACK leaves now.
    #[inline]
    pub(super) fn on_sent(&mut self, timers: &mut Timers) {
        self.unacknowledged = 0;
        self.is_due = false;
        timers.stop(Timer::DelayedAck);
    }

    /// Data arrive, `rto` is the present timeout: after a longer pause the sender has restarted its window, and the next
    /// segments are acknowledged one by one again.
    #[inline]
    pub(super) fn on_arrival(&mut self, now: Time, rto: Duration) {
        if now.saturating_since(self.last) > rto {
            self.quick_left = self.quick;
        }
        self.last = now;
    }

    /// A segment arrived in order.
    #[inline]
    pub(super) fn on_segment(&mut self, now: Time, timers: &mut Timers) {
        self.unacknowledged += 1;
        if self.quick_left > 0 {
            self.quick_left -= 1;
            self.is_due = true;
        } else if self.unacknowledged >= self.every {
            self.is_due = true;
        } else if !timers.is_running(Timer::DelayedAck) {
            self.arm(now, timers);
        }
    }

    /// The ACK that is due waits for the timer.
    pub(super) fn delay(&mut self, now: Time, timers: &mut Timers) {
        self.is_due = false;
        self.arm(now, timers);
    }

    fn arm(&self, now: Time, timers: &mut Timers) {
        let at = match self.timer {
            DelayTimer::PerSegment => now + self.delay,
            DelayTimer::FreeRunning { phase } => next_tick(now, self.delay, phase),
        };
        timers.set(Timer::DelayedAck, at);
    }
}

/// The next multiple of `period`, shifted by `phase`, after `now`.
fn next_tick(now: Time, period: Duration, phase: Duration) -> Time {
    let period = period.as_ps().max(1);
    let ticks = (now.as_ps() + phase.as_ps()) / period + 1;
    Time::from_ps((ticks * period).saturating_sub(phase.as_ps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18: 300 kB, a pause of 3 s, 300 kB: 16 ACKs of one segment each time, then of two.
    #[test]
    fn segments_after_a_pause_longer_than_the_timeout_are_quick_again() {
        let mut timers = Timers::stopped();
        let mut duty = AckDuty::new(AckPolicy { quick: 2, ..AckPolicy::default() });
        let mut is_quick = |ms: u64| {
            let now = Time::ZERO + Duration::from_millis(ms);
            duty.on_arrival(now, Duration::from_millis(300));
            duty.on_segment(now, &mut timers);
            let is_due = duty.is_due;
            duty.on_sent(&mut timers);
            is_due
        };
        assert_eq!([10, 20, 30].map(&mut is_quick), [true, true, false]);
        assert_eq!([330, 331].map(&mut is_quick), [false, false], "not longer than the timeout");
        assert_eq!([632, 633, 634].map(&mut is_quick), [true, true, false]);
    }

    #[test]
    fn free_running_timers_fire_on_their_own_clock() {
        let (period, phase) = (Duration::from_millis(200), Duration::from_millis(30));
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(next_tick(at(0), period, phase), at(170));
        assert_eq!(next_tick(at(170), period, phase), at(370));
    }
}
