//! The end of a connection: both FINs (RFC 9293 §3.6), a reset, or giving up.

use super::state::{Fins, Reset};
use super::{Life, Role, State, TIME_WAIT};
use crate::conn::tcb::Tcb;
use crate::conn::timers::Timer;
use crate::conn::Event;
use crate::segment::{Flags, Segment};
use bentpipe_units::{Duration, Time};

impl Life {
    /// After data, FIN or ACK: has an end finished?
    pub(crate) fn advance_close(&mut self, now: Time, tcb: &mut Tcb) {
        let space = &tcb.sender.space;
        let is_sent = space.fin_is_sent();
        let fins =
            Fins { is_sent, is_acked: is_sent && space.una > space.offered, has_arrived: tcb.receiver.is_finished() };
        if !fins.has_arrived && !fins.is_sent {
            return;
        }
        let (before, next) = (self.state, self.state.after(fins));
        if next == before {
            return;
        }
        if fins.has_arrived && !before.peer_has_finished() {
            tcb.cx.report(Event::PeerFinished);
        }
        if next == State::TimeWait {
            tcb.cx.timers.set(Timer::TimeWait, now + self.time_wait(now, tcb));
        }
        self.enter(next, tcb);
    }

    /// The peer retransmitted its FIN: it has not seen our ACK (RFC 9293 §3.10.7.4).
    pub(crate) fn on_late_fin(&mut self, now: Time, tcb: &mut Tcb) {
        if self.state == State::TimeWait {
            tcb.cx.timers.set(Timer::TimeWait, now + self.time_wait(now, tcb));
        }
    }

    /// Returns the duration of TIME-WAIT, which is short after a short connection with counts.
    fn time_wait(&self, now: Time, tcb: &Tcb) -> Duration {
        let counts = self.counts.as_ref();
        counts.and_then(|counts| counts.time_wait(now, tcb.sender.rtt.rto())).unwrap_or(TIME_WAIT)
    }

    pub(super) fn handle_reset(&mut self, now: Time, segment: &Segment, tcb: &mut Tcb) {
        let Tcb { receiver, wire, .. } = &mut *tcb;
        let is_syns = [0, self.fast_open.sent].map(|sent| wire.ours(sent)).contains(&segment.ack);
        let answers_syn = segment.flags.has(Flags::ACK) && is_syns;
        let ahead = segment.seq.value().wrapping_sub(wire.ack_field(receiver).value());
        // After its data went to the application, a connection does not wait for another SYN.
        let may_listen = self.role == Role::Passive && !(self.counts.is_some() && self.has_early_data());
        match Reset::of(self.state, may_listen, answers_syn, ahead, receiver.room()) {
            Reset::Ignore => {}
            Reset::Challenge => self.challenge(now, tcb),
            Reset::Listen => {
                tcb.stop_timers();
                tcb.wire.pending.syn = false;
                (self.syn_retransmits, self.syn_resent) = (0, None);
                // The handshake starts from the beginning.
                tcb.sender.rtt.restart();
                tcb.sender.set_smss(tcb.cx.config.smss);
                self.state = State::Listen;
            }
            Reset::Close => {
                tcb.stop_timers();
                self.enter(State::Closed, tcb);
            }
            Reset::Abort => self.end_with(Event::Aborted(tcb.sender.space.una), tcb),
        }
    }

    pub(crate) fn enter(&mut self, state: State, tcb: &mut Tcb) {
        if state == State::Closed && self.state != State::Closed {
            tcb.stop_timers();
            tcb.cx.report(Event::Closed);
        }
        self.state = state;
    }

    /// Gives up the connection and notifies the peer.
    pub(crate) fn abort(&mut self, tcb: &mut Tcb) {
        let is_open = self.state.is_synchronised();
        tcb.wire.pending.rst = is_open.then(|| tcb.wire.ours(tcb.sender.space.nxt));
        tcb.wire.pending.syn = false;
        self.end_with(Event::Aborted(tcb.sender.space.una), tcb);
    }

    /// The application gives up.
    pub(crate) fn abort_by_user(&mut self, tcb: &mut Tcb) {
        if self.state == State::Closed {
            return;
        }
        let is_half_open = self.state == State::SynReceived;
        self.abort(tcb);
        if is_half_open {
            // RFC 9293 §3.10.5: the peer may have taken the SYN-ACK for an open connection.
            tcb.wire.pending.rst = Some(tcb.wire.ours(tcb.sender.space.nxt));
        }
    }

    fn end_with(&mut self, event: Event, tcb: &mut Tcb) {
        tcb.stop_timers();
        self.state = State::Closed;
        tcb.cx.report(event);
    }
}
