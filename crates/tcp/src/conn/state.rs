//! Opening and closing (RFC 9293 §3.5, §3.6).

use super::rtt::Rtt;
use super::{initial_cc, Connection, Event, Role};
use crate::cc::{CongestionControl, Init};
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

/// RFC 9293 §3.7.1: the peer's MSS if it names none.
const MSS_ASSUMED: u16 = 536;

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
            self.agree_on_dummies(true);
            self.establish(now, u64::MAX);
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
    ///
    /// DEVIATION: RFC 9293 §3.10.4 gives up a connection that is closed in SYN-SENT. Here what was offered before is
    /// still sent, as after a half-close: flows are described in full before they open.
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
        if self.state.is_synchronised() && segment.is_dummy() {
            return self.handle_dummy(now, segment);
        }
        match self.state {
            State::Listen if flags.has(Flags::ACK) => self.refuse(segment),
            State::SynSent | State::SynReceived if flags.has(Flags::ACK) && !self.is_acceptable(segment.ack) => {
                self.refuse(segment);
            }
            State::Listen if flags.has(Flags::SYN) => {
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
                    self.establish(now, self.rwnd);
                    self.receiver.ack_soon();
                } else {
                    // Simultaneous open.
                    self.learn_syn(segment);
                    self.state = State::SynReceived;
                    self.control.syn = true;
                }
            }
            State::SynReceived if flags.has(Flags::ACK) => {
                self.sample_handshake(now);
                let syn_window = std::mem::replace(&mut self.rwnd, u64::from(segment.window) << self.snd_shift);
                self.establish(now, syn_window);
                if flags.has(Flags::SYN) {
                    self.receiver.ack_soon();
                } else {
                    self.counters.arrived_segments -= 1;
                    self.handle_segment(now, segment);
                }
            }
            // DEVIATION: RFC 9293 §3.10.7.4 answers a SYN that comes again with an ACK. Our SYN-ACK was lost, most
            // probably: it goes again, without waiting for the timer, as Linux and BSD do.
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
        first.at(acked) == ack && (self.snd_una..=self.snd_nxt.max(self.opening.sent)).contains(&acked)
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
                self.linger_anew(now);
            }
            self.enter(next);
        }
    }

    /// The peer sent its FIN again: it has not seen our ACK (RFC 9293 §3.10.7.4).
    pub(super) fn linger_anew(&mut self, now: Time) {
        self.linger = now + TIME_WAIT;
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
        self.control.rst = self.state.is_synchronised().then(|| self.iss.at(1 + self.snd_nxt));
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
        // RFC 6298 §3: no sample if it is sent again, be it as SYN-ACK.
        let is_first = self.syn_resends == 0 && self.rto_not_before == Time::NEVER;
        self.timed = is_first.then_some((0, now));
        self.arm_rto(now);
        let is_answer = self.state == State::SynReceived;
        let (ack, with_ack) = if is_answer { (self.ack_field(), Flags::ACK) } else { (Seq::new(0), Flags::default()) };
        let options = self.syn_options();
        let window = self.receiver.window(0);
        let flags = Flags::SYN.with(with_ack).with(self.ecn_setup(is_answer)).with(self.dummy_setup(is_answer));
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
            scps: self.scps_capabilities(answering),
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
        self.agree(&match segment.options {
            Options::Syn(options) => options,
            _ => SynOptions { mss: MSS_ASSUMED, ..SynOptions::default() },
        });
        self.agree_on_marks(segment);
        let is_asked = segment.flags.has(Flags::DUMMY);
        self.agree_on_dummies(is_asked);
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
        } else {
            self.scales = false;
            (self.snd_shift, self.rcv_shift) = (0, 0);
        }
        self.has_sack = self.config.recovery.uses_sack() && peer.sack_permitted;
        if !self.has_sack {
            // RFC 8985 §4: RACK-TLP needs SACK.
            self.rack = None;
        }
        if !self.config.handshake {
            self.has_timestamps = self.config.timestamps;
        }
        self.agree_on_snack(peer);
    }

    /// `syn_window`: the window of the peer's SYN, which is not scaled; no initial window is larger.
    fn establish(&mut self, now: Time, syn_window: u64) {
        self.state = State::Established;
        self.disarm_rto();
        self.rwnd_largest = self.rwnd;
        self.begin_sending(now);
        self.cc.limit_cwnd(syn_window);
        self.in_slow_start = self.cc.cwnd() < self.cc.ssthresh();
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
        let begin = Init {
            now,
            rtt: self.rtt.srtt(),
            seed: self.seed,
            smss: u64::from(self.smss),
            has_probe_segments: self.dummies.is_some(),
            ..Init::default()
        };
        self.cc = initial_cc(&self.config, &self.learnt, begin, self.rwnd);
        self.is_plain = self.marks.is_none()
            && self.config.pacing == Pacing::Off
            && !self.cc.paces()
            && self.dummies.is_none()
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

    /// RFC 9293 §3.5.2: a reset that the peer will believe.
    ///
    /// DEVIATION: RFC 9293 §3.5.2 asks for one in answer to everything that arrives in CLOSED. A connection that is
    /// finished here is silent: the peer's last segments would otherwise be answered by resets that a host in TIME-WAIT
    /// must take for an error.
    fn refuse(&mut self, segment: &Segment) {
        self.control.rst = Some(segment.ack);
    }

    fn handle_reset(&mut self, segment: &Segment) {
        let expected = self.receiver.ack_offset();
        let is_valid = match self.state {
            State::Closed | State::Listen => false,
            State::SynSent => {
                let (syn, with_data) = (self.iss.at(1), self.iss.at(1 + self.opening.sent));
                segment.flags.has(Flags::ACK) && (segment.ack == syn || segment.ack == with_data)
            }
            // RFC 5961 §3: only an exact match resets; elsewhere in the window it is challenged.
            _ => {
                let ahead = segment.seq.value().wrapping_sub(self.irs.at(1 + expected).value());
                if ahead > 0 && self.state.is_synchronised() && u64::from(ahead) < self.receiver.room() {
                    self.receiver.ack_soon();
                }
                ahead == 0
            }
        };
        if !is_valid {
            return;
        }
        self.stop_timers();
        if self.state == State::SynReceived && self.role == Role::Passive {
            // RFC 9293 §3.5.3: the next SYN may come.
            self.control.syn = false;
            self.syn_resends = 0;
            self.rtt = Rtt::new(self.config.rto);
            self.set_smss(self.config.smss);
            self.state = State::Listen;
            return;
        }
        if self.state == State::TimeWait {
            // RFC 9293 §3.10.7.4: by now nothing is lost.
            return self.enter(State::Closed);
        }
        self.state = State::Closed;
        self.events.push_back(Event::Aborted(self.snd_una));
    }

    fn stop_timers(&mut self) {
        self.disarm_rto();
        if let Some(rack) = &mut self.rack {
            rack.stop_timers();
        }
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
