//! Least duration of a connection, for drivers that work ahead of time; and values inside the congestion control, for drivers
//! that record them.

use super::timers::Timer;
use super::Connection;
use bentpipe_cc::{CongestionControl, Insides};
use bentpipe_units::Time;

impl Connection {
    /// Returns an instant before which an established connection does not give up, unless a reset arrives;
    /// [`Time::NEVER`]: it never gives up. Nothing is due before `now`; the state may be a later one.
    pub fn gives_up_from(&self, now: Time) -> Time {
        let (sender, cx) = (&self.tcb.sender, &self.tcb.cx);
        // A timer that starts later ends later than its shortest time from now.
        let unanswered = cx.config.keepalive.map_or(Time::NEVER, |keepalive| {
            cx.timers.get(Timer::KEEPALIVE).min(now + keepalive.idle.min(keepalive.interval))
        });
        sender.losses.gives_up_from(now, sender.extras.has_feedback(), &sender.rtt, cx).min(unanswered)
    }

    /// Reports the values inside the congestion control. Reading them changes nothing.
    pub fn inside_cc(&self, insides: &mut Insides<'_>) {
        self.tcb.sender.window.cc.inside(insides);
    }
}
