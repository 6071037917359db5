//! Opening and closing (RFC 9293 §3.5, §3.6).

use super::{initial_cc, Connection, Event, Role};
use crate::cc::CongestionControl;
use crate::config::{GiveUp, Pacing, SlowStartAcks};
use crate::segment::{Flags, Options, Segment, SynOptions};
use bentpipe_units::{Duration, Seq, Time};

/// RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Twice the maximum segment lifetime of RFC 9293 §3.4.2.
const TIME_WAIT: Duration = Duration::from_secs(240);

/// SYNs without an answer before giving up (RFC 1122 §4.2.3.5: at least three minutes).
const SYN_RESENDS_MAX: u32 = 8;

impl State {
    /// Both ends know both initial sequence numbers.
    pub(crate) fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }
}

impl Connection {
    /// Start: the active end sends a SYN, the passive end waits for one. Without handshake both are established
    /// at once; the initial sequence numbers are then taken to be equal.
    pub fn open(&mut self, now: Time) {
        if self.state != State::Closed || self.counters.sent_segments > 0 {
            return;
        }
        if !self.config.handshake {
            (self.irs, self.wl1) = (self.iss, self.iss);
            self.agree(&self.syn_options());
            // As large as the peer's buffer, which is configured alike.
            self.rwnd = (u64::from(self.receiver.window(self.rcv_shift))) << self.rcv_shift;
            self.agree_on_marks_unasked();
            self.establish(now);
            return;
        }
        if self.role == Role::Active {
            self.state = State::SynSent;
            self.control.syn = true;
        } else {
            self.state = State::Listen;
        }
    }

    /// No more data will be offered; a FIN follows the last byte.
    pub fn close(&mut self) {
        self.is_closing = true;
        if matches!(self.state, State::Listen) {
            self.enter(State::Closed);
        }
    }

    /// Segments before the connection is synchronised, and resets.
    pub(super) fn handle_control(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            return self.handle_reset(segment);
        }
        match self.state {
            State::Listen if flags.has(Flags::SYN) && !flags.has(Flags::ACK) => {
                self.learn_syn(segment);
                self.state = State::SynReceived;
                self.control.syn = true;
                self.open_fast(now, segment);
            }
            State::SynSent if flags.has(Flags::SYN) => {
                if flags.has(Flags::ACK) {
                    if !self.accept_syn_ack(segment) {
                        return;
                    }
                    self.learn_syn(segment);
                    self.sample_handshake(now);
                    self.establish(now);
                    self.receiver.ack_soon();
                } else {
                    // Simultaneous open.
                    self.learn_syn(segment);
                    self.state = State::SynReceived;
                    self.control.syn = true;
                }
            }
            State::SynReceived if flags.has(Flags::ACK) && !self.is_acceptable(segment.ack) => {
                // Not an answer to our SYN, or one that was acknowledged with data in a segment still to come.
            }
            State::SynReceived if flags.has(Flags::ACK) => {
                self.sample_handshake(now);
                self.rwnd = u64::from(segment.window) << self.snd_shift;
                self.establish(now);
                if flags.has(Flags::SYN) {
                    self.receiver.ack_soon();
                } else {
                    self.counters.arrived_segments -= 1;
                    self.handle_segment(now, segment);
                }
            }
            State::SynReceived if flags.has(Flags::SYN) && segment.seq == self.irs => self.control.syn = true,
            state if state.is_synchronised() && flags.has(Flags::SYN) => {
                // The handshake's last ACK was lost (RFC 5961 §4: acknowledge, change nothing).
                self.receiver.ack_soon();
            }
            _ => {}
        }
    }

    /// Whether `ack` acknowledges the SYN, and nothing beyond what early data followed it.
    fn is_acceptable(&self, ack: Seq) -> bool {
        let first = self.iss.at(1);
        let acked = ack.offset_near(first, self.snd_una);
        first.at(acked) == ack && (self.snd_una..=self.snd_nxt).contains(&acked)
    }

    /// After data, FIN or ACK: has an end finished?
    pub(super) fn advance_close(&mut self, now: Time) {
        let peer_done = self.receiver.is_finished();
        let fin_sent = self.is_closing && self.snd_nxt > self.offered;
        if !peer_done && !fin_sent {
            return;
        }
        let fin_acked = fin_sent && self.snd_una > self.offered;
        let next = match (self.state, fin_sent, fin_acked, peer_done) {
            (State::Established, true, false, false) => State::FinWait1,
            (State::Established | State::FinWait1, true, true, false) => State::FinWait2,
            (State::Established, false, _, true) => State::CloseWait,
            (State::Established | State::FinWait1, true, false, true) => State::Closing,
            (State::CloseWait, true, false, true) => State::LastAck,
            (State::CloseWait | State::LastAck, true, true, true) => State::Closed,
            (State::Established | State::FinWait1 | State::FinWait2 | State::Closing, true, true, true) => {
                State::TimeWait
            }
            (state, ..) => state,
        };
        if next != self.state {
            let had_finished = matches!(self.state, State::CloseWait | State::LastAck | State::Closing);
            if peer_done && !had_finished {
                self.events.push_back(Event::PeerFinished);
            }
            if next == State::TimeWait {
                self.linger = now + TIME_WAIT;
            }
            self.enter(next);
        }
    }

    pub(super) fn enter(&mut self, state: State) {
        if state == State::Closed && self.state != State::Closed {
            self.stop_timers();
            self.events.push_back(Event::Closed);
        }
        self.state = state;
    }

    /// Nothing more is tried; the peer is told.
    pub(super) fn abort(&mut self) {
        self.control.rst = self.state.is_synchronised();
        self.control.syn = false;
        self.stop_timers();
        self.state = State::Closed;
        self.events.push_back(Event::Aborted(self.snd_una));
    }

    /// The retransmission timer expired before the handshake was complete.
    pub(super) fn on_syn_timeout(&mut self) {
        self.counters.timeouts += 1;
        self.syn_resends += 1;
        if self.syn_resends > SYN_RESENDS_MAX && self.config.give_up != GiveUp::Never {
            return self.abort();
        }
        self.opening.has_failed |= self.opening.sent > 0;
        self.rtt.back_off();
        self.control.syn = true;
    }

    pub(super) fn syn_segment(&mut self, now: Time) -> Segment {
        self.control.syn = false;
        self.timed = (self.syn_resends == 0).then_some((0, now));
        self.arm_rto(now);
        let is_answer = self.state == State::SynReceived;
        let (ack, with_ack) = if is_answer { (self.ack_field(), Flags::ACK) } else { (Seq::new(0), Flags::default()) };
        let options = self.syn_options();
        let window = self.receiver.window(0);
        let flags = Flags::SYN.with(with_ack).with(self.ecn_setup(is_answer));
        let mut segment = self.bare_segment(now, self.iss, ack, flags);
        segment.window = window;
        segment.options = Options::Syn(options);
        // Offered by the opener, confirmed by the other end.
        let wants_timestamps = self.config.timestamps && (self.role == Role::Active || self.has_timestamps);
        segment.timestamps = wants_timestamps.then(|| self.timestamps(now));
        self.add_early_data(now, &mut segment);
        segment
    }

    fn syn_options(&self) -> SynOptions {
        let answering = self.state == State::SynReceived;
        let option_bytes = if self.config.timestamps { 12 } else { 0 };
        SynOptions {
            mss: (self.config.smss + option_bytes).min(65_535) as u16,
            window_scale: (self.config.window_scaling && (!answering || self.scales))
                .then(|| window_shift(self.config.receive_buffer)),
            sack_permitted: self.config.recovery.uses_sack() && (!answering || self.has_sack),
            fast_open: self.fast_open_option(answering),
        }
    }

    fn learn_syn(&mut self, segment: &Segment) {
        (self.irs, self.wl1) = (segment.seq, segment.seq);
        // The window of a SYN is not scaled (RFC 7323 §2.2).
        self.rwnd = u64::from(segment.window);
        self.has_timestamps = self.config.timestamps && segment.timestamps.is_some();
        if let Some(timestamps) = segment.timestamps {
            self.ts_recent = timestamps.value;
        }
        if let Options::Syn(options) = segment.options {
            self.agree(&options);
        }
        self.agree_on_marks(segment);
    }

    fn agree(&mut self, peer: &SynOptions) {
        let option_bytes = if self.has_timestamps { 12 } else { 0 };
        let smss = self.smss.min(u32::from(peer.mss).saturating_sub(option_bytes)).max(1);
        if smss != self.smss {
            self.set_smss(smss);
        }
        if let (true, Some(shift)) = (self.config.window_scaling, peer.window_scale) {
            // RFC 7323 §2.3: larger shifts are taken as 14.
            self.scales = true;
            self.snd_shift = shift.min(14);
            self.rcv_shift = window_shift(self.config.receive_buffer);
        }
        self.has_sack = self.config.recovery.uses_sack() && peer.sack_permitted;
        if !self.config.handshake {
            self.has_timestamps = self.config.timestamps;
        }
    }

    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        self.disarm_rto();
        self.rwnd_largest = self.rwnd;
        self.begin_sending(now);
        if self.board.flight_size() > 0 {
            // Early data that were sent before.
            self.arm_rto(now);
        }
        if self.syn_resends > 0 {
            // RFC 5681 §3.1: one segment if the SYN was lost; RFC 6298 §5.7: three seconds.
            self.cc.limit_cwnd(u64::from(self.smss));
            self.rtt.after_lost_syn();
        }
        self.events.push_back(Event::Established);
    }

    /// The window with which data transfer begins.
    pub(super) fn begin_sending(&mut self, now: Time) {
        self.last_sent = now;
        self.cc = initial_cc(&self.config, &self.learnt, self.smss, self.rwnd);
        self.is_plain = self.marks.is_none()
            && self.config.pacing == Pacing::Off
            && self.cc.pacing_rate().is_none()
            && self.config.ack.slow_start == SlowStartAcks::Delayed
            && self.config.auto_buffer.is_none()
            && self.opening.sent == 0
            && !self.config.nagle;
    }

    fn sample_handshake(&mut self, now: Time) {
        if let Some((_, sent_at)) = self.timed.take() {
            self.rtt.on_sample(sent_at, now);
        }
    }

    fn handle_reset(&mut self, segment: &Segment) {
        let expected = self.irs.at(1 + self.receiver.ack_offset());
        let is_valid = match self.state {
            State::Closed | State::Listen => false,
            State::SynSent => {
                let (syn, with_data) = (self.iss.at(1), self.iss.at(1 + self.opening.sent));
                segment.flags.has(Flags::ACK) && (segment.ack == syn || segment.ack == with_data)
            }
            // RFC 5961 §3: only an exact match resets.
            _ => segment.seq == expected,
        };
        if is_valid {
            self.stop_timers();
            self.state = State::Closed;
            self.events.push_back(Event::Aborted(self.snd_una));
        }
    }

    fn stop_timers(&mut self) {
        self.disarm_rto();
        self.persist = Time::NEVER;
        self.linger = Time::NEVER;
        self.receiver.on_ack_sent();
    }
}

/// The smallest shift with which 16 bits can express `buffer` (RFC 7323 §2.3).
pub(super) fn window_shift(buffer: u64) -> u8 {
    (0..14).find(|&shift| 65_535u64 << shift >= buffer).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::window_shift;

    /// `specs/timestamps-window-scaling.md`, test 2.
    #[test]
    fn rfc7323_2_3_smallest_sufficient_shift() {
        assert_eq!([65_535, 65_536, 6_375_000, 1 << 30].map(window_shift), [0, 1, 7, 14]);
    }
}
