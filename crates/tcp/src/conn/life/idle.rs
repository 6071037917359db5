//! Keepalive (RFC 9293 §3.8.4): probes on a connection that carries nothing. With them, an end notices that its peer is
//! gone, and middleboxes keep their state of the connection.
//!
//! The timer runs in ESTABLISHED, CLOSE-WAIT and FIN-WAIT-2. Each segment of the peer restarts it. If it expires while
//! data are outstanding or wait to be sent, no probe leaves, because the retransmission timer or the persist timer is
//! responsible. The next segment of the peer then restarts it.

use super::{Life, State};
use crate::conn::tcb::Tcb;
use crate::conn::timers::Timer;
use crate::conn::Event;
use bentpipe_units::{Duration, Time};

impl Life {
    /// A segment of the peer arrived, or the connection was established.
    #[inline(never)]
    pub(crate) fn on_heard(&self, now: Time, tcb: &mut Tcb) {
        let Some(keepalive) = tcb.cx.config.keepalive else { return };
        tcb.wire.pending.unanswered = 0;
        self.wait_for_peer(now, keepalive.idle, tcb);
    }

    fn wait_for_peer(&self, now: Time, wait: Duration, tcb: &mut Tcb) {
        if matches!(self.state, State::Established | State::CloseWait | State::FinWait2) {
            tcb.cx.timers.set(Timer::KEEPALIVE, now + wait);
        }
    }

    /// TIME-WAIT ends, or an open connection has been idle.
    pub(crate) fn on_idle_timer(&mut self, now: Time, tcb: &mut Tcb) {
        match self.state {
            State::TimeWait => self.enter(State::Closed, tcb),
            _ => self.on_keepalive_timer(now, tcb),
        }
    }

    fn on_keepalive_timer(&mut self, now: Time, tcb: &mut Tcb) {
        let Some(keepalive) = tcb.cx.config.keepalive else { return };
        if !tcb.is_idle() {
            return;
        }
        let unanswered = tcb.wire.pending.unanswered;
        if u32::from(unanswered) >= keepalive.probes {
            tcb.cx.report(Event::PeerLost(unanswered.into()));
            return self.abort(tcb);
        }
        tcb.wire.pending.unanswered += 1;
        tcb.wire.pending.window_probe = true;
        tcb.cx.counters.keepalives += 1;
        tcb.cx.report(Event::Keepalive(u64::from(unanswered) + 1));
        self.wait_for_peer(now, keepalive.interval, tcb);
    }
}
