//! The handshake (RFC 9293 §3.5), and data in the SYN (RFC 7413).

use super::state::Handshake;
use super::{ecn_setup, settle, Life, Role, State};
use crate::config::{EcnFeedback, GiveUp, Recovery, SnackForm, SpuriousDetection};
use crate::conn::agreed::MSS_ASSUMED;
use crate::conn::clock;
use crate::conn::context::Context;
use crate::conn::receiver::{EcnReceiver, Patience, SnackReports};
use crate::conn::sender::{EcnSender, SendSpace, Sending, SeqRange};
use crate::conn::tcb::Tcb;
use crate::conn::timers::Timer;
use crate::conn::Event;
use crate::multipath::Multipath;
use crate::segment::{Flags, Options, Segment, Timestamps};
use bentpipe_cc::CongestionControl;
use bentpipe_units::{Seq, Time};

impl Life {
    /// Start. Without handshake both ends are established at once.
    pub(crate) fn open(&mut self, now: Time, tcb: &mut Tcb) {
        if self.state != State::Closed || tcb.cx.counters.sent_segments > 0 {
            return;
        }
        if let Some(counts) = &mut self.counts {
            counts.on_open(now);
        }
        if !tcb.cx.config.handshake {
            tcb.wire.set_irs(tcb.wire.iss);
            self.agree(None, tcb);
            // As large as the peer's buffer, which is configured alike.
            let shift = tcb.cx.agreed.rcv_shift;
            tcb.sender.space.rwnd = u64::from(tcb.receiver.window(shift)) << shift;
            self.establish(now, u64::MAX, None, tcb);
        } else if self.role == Role::Active {
            self.state = State::SynSent;
            tcb.wire.pending.syn = true;
        } else {
            self.state = State::Listen;
        }
    }

    /// Segments before the connection is synchronised, resets, and probe segments. Returns what is to be handled as a segment
    /// of an open connection.
    pub(crate) fn handle_control(&mut self, now: Time, segment: &Segment, tcb: &mut Tcb) -> Option<Segment> {
        let state = self.state;
        if segment.flags.has(Flags::RST) {
            self.handle_reset(now, segment, tcb);
            return None;
        }
        if state.is_synchronised() && segment.is_dummy() {
            return self.handle_probe_segment(now, segment, tcb);
        }
        let Tcb { sender, wire, cx, .. } = &mut *tcb;
        let acked = wire.acked_offset(segment.ack, sender.space.una);
        // It acknowledges the SYN, and nothing beyond what early data followed it.
        let end = sender.space.nxt.max(self.fast_open.sent);
        let is_stale = state == State::SynSent && self.counts.as_ref().is_some_and(|counts| counts.is_stale(segment));
        let is_acceptable = wire.ours(acked) == segment.ack && (sender.space.una..=end).contains(&acked) && !is_stale;
        match Handshake::of(state, segment.flags, is_acceptable, segment.seq == wire.irs) {
            Handshake::Nothing => {}
            // RFC 9293 §3.5.2: a reset that the peer will believe.
            //
            // DEVIATION: RFC 9293 §3.5.2 asks for one in answer to everything that arrives in CLOSED. A connection that is
            // finished here is silent: the peer's last segments would otherwise be answered by resets that a host in TIME-WAIT
            // must take for an error.
            Handshake::Refuse => wire.pending.rst = Some(segment.ack),
            Handshake::Answer => {
                self.answer_syn(segment, tcb);
                self.take_early_data(now, segment, tcb);
            }
            Handshake::Simultaneous => self.answer_syn(segment, tcb),
            Handshake::Complete => return self.complete(now, segment, tcb),
            Handshake::Confirm => {
                sender.rtt.on_handshake(now);
                let window = u64::from(segment.window) << cx.agreed.snd_shift;
                let syn_window = std::mem::replace(&mut sender.space.rwnd, window);
                self.establish(now, syn_window, segment.timestamps, tcb);
                self.take_queued_data(now, tcb);
                if !segment.flags.has(Flags::SYN) {
                    return Some(*segment);
                }
                tcb.receiver.ack_soon();
            }
            Handshake::Repeat => wire.pending.syn = true,
            Handshake::Acknowledge => self.challenge(now, tcb),
        }
        None
    }

    /// A probe segment, or the answer to one, arrived on an open connection.
    fn handle_probe_segment(&mut self, now: Time, segment: &Segment, tcb: &mut Tcb) -> Option<Segment> {
        let is_answer = segment.len == 0;
        if !tcb.receiver.on_probe(is_answer) {
            // A reserved bit without an agreement has no meaning (RFC 9293 §3.1).
            return Some(Segment { flags: segment.flags.without(Flags::DUMMY), ..*segment });
        }
        if is_answer {
            tcb.on_probe_answer(now);
        } else {
            let start = tcb.wire.peers_offset(segment.seq, tcb.receiver.nxt());
            if start.is_some_and(|start| tcb.receiver.lacks(start, segment.len.into())) {
                tcb.receive_data(now, (&Segment { flags: Flags::ACK, ..*segment }).into());
                self.advance_close(now, tcb);
            }
        }
        None
    }

    pub(crate) fn next_syn(&mut self, now: Time, tcb: &mut Tcb) -> Segment {
        let Tcb { sender, receiver, wire, cx } = tcb;
        wire.pending.syn = false;
        // RFC 6298 §3: no sample if it is retransmitted, be it as SYN-ACK.
        let is_first = self.syn_retransmits == 0 && !cx.timers.is_running(Timer::Retransmit);
        sender.rtt.on_syn_sent(now, is_first);
        sender.rtt.arm(now, &mut cx.timers);
        let answers = self.state == State::SynReceived;
        let (ack, flags) =
            if answers { (wire.ack_field(receiver), Flags::ACK) } else { (Seq::new(0), Flags::default()) };
        let options =
            self.syn_options(&cx.config, sender.window.cc.polls().is_some(), sender.extras.signal_len(), &cx.agreed);
        let ecn = ecn_setup(cx.config.ecn.feedback, answers, receiver.ecn());
        let knows_probes = if answers { sender.extras.has_probes() } else { sender.window.wants_probes() };
        let probes = if knows_probes { Flags::DUMMY } else { Flags::default() };
        let window = receiver.window(0);
        let flags = Flags::SYN.with(flags).with(ecn).with(probes);
        let bare = wire.bare_segment(now, wire.iss, ack, flags, receiver, cx);
        // Offered by the opener, confirmed by the other end.
        let wants_timestamps = cx.config.timestamps && (self.role == Role::Active || cx.agreed.timestamps);
        let timestamps = wants_timestamps.then(|| wire.timestamps(now));
        if self.syn_retransmits > 0 {
            self.syn_resent = self.syn_resent.or(timestamps.map(|timestamps| timestamps.value));
        }
        let mut syn = Segment { window, options: Options::Syn(options), timestamps, ..bare };
        if let Some(mapped) = sender.extras.mapped() {
            (syn.multi, syn.window) = (mapped.opens_with(answers), mapped.window(0));
        }
        let space = &sender.space;
        if self.state == State::SynReceived {
            self.add_answer(now, is_first, &mut syn, tcb);
        } else if self.syn_retransmits == 0 && self.fast_open.add_early_data(space.offered, space.is_closing, &mut syn)
        {
            cx.counters.sent_bytes += u64::from(syn.len);
            sender.window.note_departure(now);
            sender.extras.begin_early(self.fast_open.sent);
        }
        syn
    }

    /// T/TCP: the SYN-ACK takes along what there is of the answer, and the FIN.
    fn add_answer(&mut self, now: Time, is_first: bool, syn: &mut Segment, tcb: &mut Tcb) {
        let Some(counts) = &mut self.counts else { return };
        counts.holds_answer = false;
        if !is_first || !self.fast_open.is_accepted {
            return;
        }
        let Tcb { sender, cx, .. } = tcb;
        // The options of a SYN leave less room than those of the segments that follow.
        let room = self.fast_open.room(syn).min(sender.space.smss()).max(1) as u32;
        let next_max = std::mem::replace(&mut sender.space.next_max, room);
        let sending = sender.poll(now, cx);
        sender.space.next_max = next_max;
        if let Some(Sending { range, .. }) = sending {
            syn.len = range.payload() as u16;
            syn.flags = if range.has_fin { syn.flags.with(Flags::FIN) } else { syn.flags };
        }
    }

    /// T/TCP: whether the SYN-ACK waits for an answer that it can take along.
    pub(crate) fn holds_answer(&self, tcb: &Tcb) -> bool {
        let holds = self.counts.as_ref().is_some_and(|counts| counts.holds_answer);
        holds && !tcb.receiver.must_ack_now() && !tcb.sender.space.has_data()
    }

    fn answer_syn(&mut self, syn: &Segment, tcb: &mut Tcb) {
        self.learn_syn(syn, tcb);
        self.state = State::SynReceived;
        tcb.wire.pending.syn = true;
    }

    /// Server: with the right cookie, or a new count, the SYN's data are taken and sending may begin.
    fn take_early_data(&mut self, now: Time, syn: &Segment, tcb: &mut Tcb) {
        let has_fin = self.counts.is_some() && syn.flags.has(Flags::FIN);
        if let (Some(counts), Options::Syn(options)) = (&mut self.counts, &syn.options) {
            // RFC 1644 §2.1: the TAO test. Other data is queued.
            let (passes, brings) = (counts.on_syn(options), syn.len > 0 || has_fin);
            counts.queued = (brings && !passes && counts.peers.is_some()).then_some((syn.len, has_fin));
            counts.holds_answer = brings && passes;
            self.fast_open.is_accepted = passes;
        } else {
            self.fast_open.on_syn(tcb.cx.config.fast_open, syn);
        }
        if !self.fast_open.is_accepted {
            return;
        }
        tcb.take_data_of_syn(now, syn.len, has_fin);
        self.begin_sending(now, tcb);
        if self.counts.is_some() {
            tcb.receiver.delay_ack(now, &mut tcb.cx.timers);
        }
        if has_fin {
            tcb.cx.report(Event::PeerFinished);
        }
    }

    /// Server: the handshake is complete. Takes the data of the SYN.
    fn take_queued_data(&mut self, now: Time, tcb: &mut Tcb) {
        let Some(counts) = &mut self.counts else { return };
        counts.on_confirmed();
        match counts.queued.take() {
            Some((len, has_fin)) => tcb.take_data_of_syn(now, len, has_fin),
            // The FIN that came with the SYN was reported then.
            None if tcb.receiver.is_finished() => self.state = State::CloseWait,
            None => {}
        }
    }

    /// Client: a SYN-ACK arrived. The early data that it acknowledges has arrived. The rest is retransmitted
    /// immediately, without a sign of loss (RFC 7413 §4.2.2). Returns the content besides the SYN.
    fn complete(&mut self, now: Time, segment: &Segment, tcb: &mut Tcb) -> Option<Segment> {
        let acked = tcb.wire.acked_offset(segment.ack, 0);
        if tcb.wire.ours(acked) != segment.ack || acked > self.fast_open.sent {
            // It acknowledges what was never sent.
            return None;
        }
        let space = &mut tcb.sender.space;
        (space.una, space.nxt) = (acked, acked);
        self.fast_open.on_syn_ack(segment.options);
        if let Some(counts) = &mut self.counts {
            counts.on_syn_ack(segment.options);
        }
        self.learn_syn(segment, tcb);
        tcb.sender.rtt.on_handshake(now);
        self.establish(now, tcb.sender.space.rwnd, segment.timestamps, tcb);
        tcb.receiver.ack_soon();
        let sent = self.fast_open.sent;
        if tcb.cx.agreed.counts && acked < sent && self.syn_retransmits == 0 {
            // RFC 1644 §2.1: the server has queued them.
            let has_fin = sent > tcb.sender.space.offered;
            tcb.sender.on_queued(now, SeqRange { start: acked, len: (sent - acked) as u32, has_fin }, &mut tcb.cx);
        }
        if tcb.sender.space.is_closing {
            self.advance_close(now, tcb);
        }
        // RFC 9293 §3.10.7.3: the open connection takes the other content of the segment.
        let brings = segment.len > 0 || segment.flags.has(Flags::FIN);
        let flags = segment.flags.without(Flags::SYN);
        brings.then(|| Segment { seq: segment.data_seq(), flags, options: Options::None, ..*segment })
    }

    fn learn_syn(&mut self, syn: &Segment, tcb: &mut Tcb) {
        tcb.wire.set_irs(syn.seq);
        // The window of a SYN is not scaled (RFC 7323 §2.2).
        tcb.sender.space.rwnd = u64::from(syn.window);
        if let Some(timestamps) = syn.timestamps {
            tcb.wire.ts_recent = timestamps.value;
        }
        self.agree(Some(syn), tcb);
    }

    /// Passes the settlement of the SYNs to the parts that act on it. None: without a handshake both ends want the
    /// same.
    fn agree(&mut self, syn: Option<&Segment>, tcb: &mut Tcb) {
        let Tcb { sender, receiver, cx, .. } = tcb;
        let ours =
            self.syn_options(&cx.config, sender.window.cc.polls().is_some(), sender.extras.signal_len(), &cx.agreed);
        let (agreed, feedback) = settle(&cx.config, sender.space.smss, ours, syn);
        cx.agreed = agreed;
        if let Some(mapped) = sender.extras.mapped_mut() {
            mapped.on_syn(syn, self.role == Role::Active);
            if mapped.is_agreed {
                let mss =
                    syn.map(|syn| if let Options::Syn(options) = syn.options { options.mss } else { MSS_ASSUMED });
                cx.agreed.begin_signals(mss);
            }
        }
        let agreed = cx.agreed;
        if agreed.smss != sender.space.smss {
            sender.set_smss(agreed.smss);
        }
        let count = self.counts.as_ref().map(|counts| counts.ours());
        sender.on_agreed(syn.is_none_or(|syn| syn.flags.has(Flags::DUMMY)), count, cx);
        if agreed.is_polled {
            receiver.await_polls();
        }
        let snack = match (cx.config.recovery, agreed.snack) {
            (Recovery::Snack(settings), Some(form)) => {
                Some(SnackReports::new(settings, agreed.smss, form == SnackForm::Long))
            }
            _ => None,
        };
        let best_effort = cx.config.best_effort.filter(|_| agreed.best_effort);
        let patience = best_effort.map(|best_effort| Patience::new(best_effort.wait));
        receiver.on_agreed(snack, patience, sender.extras.has_probes());
        // The first SYN counts.
        if feedback != EcnFeedback::Off && receiver.ecn().is_none() {
            let is_syn = syn.is_some_and(|syn| !syn.flags.has(Flags::ACK));
            receiver.extras_mut().ecn = Some(EcnReceiver::new(feedback, syn));
            let awaits_handshake = is_syn && feedback == EcnFeedback::Accurate;
            sender.extras.begin_ecn(EcnSender::new(feedback, awaits_handshake));
        }
    }

    /// `syn_window`: the window of the peer's SYN, which is not scaled; no initial window is larger. `stamps`: the
    /// timestamps of the segment that completes the handshake.
    fn establish(&mut self, now: Time, syn_window: u64, stamps: Option<Timestamps>, tcb: &mut Tcb) {
        self.state = State::Established;
        tcb.cx.timers.stop(Timer::Retransmit);
        tcb.sender.space.rwnd_largest = tcb.sender.space.rwnd;
        self.begin_sending(now, tcb);
        let late = stamps.filter(|stamps| self.was_late(*stamps, &tcb.cx));
        if let Some(stamps) = late {
            tcb.cx.counters.undos += 1;
            tcb.sender.rtt.on_sample(clock::instant_of(now, stamps.echo), now);
        }
        let lost = if late.is_none() { self.syn_retransmits } else { 0 };
        tcb.sender.on_established(now, syn_window, lost, &mut tcb.cx);
        self.establish_subflow(now, tcb);
        tcb.cx.report(Event::Established);
        self.on_heard(now, tcb);
    }

    /// The connection is a subflow: the window of the peer bounds all subflows together, not this one.
    fn establish_subflow(&mut self, now: Time, tcb: &mut Tcb) {
        let Tcb { sender, receiver, cx, .. } = tcb;
        let Some(mapped) = sender.extras.agreed_mapped_mut() else { return };
        let (is_joining, awaits_fourth) = (mapped.opening != Multipath::Capable, mapped.awaits_fourth);
        sender.space.rwnd = SendSpace::UNBOUNDED;
        sender.space.rwnd_largest = SendSpace::UNBOUNDED;
        if awaits_fourth {
            cx.timers.set(Timer::Persist, now + sender.space.persist_delay(sender.rtt.rto(), &cx.config.rto));
        } else if is_joining && self.role == Role::Passive {
            // RFC 8684 §3.2: the fourth segment of the handshake.
            receiver.ack_soon();
        }
    }

    /// Whether the SYN or SYN-ACK was late instead of lost: the peer echoes an earlier timestamp than that of the
    /// retransmission (RFC 3522 §3.2).
    fn was_late(&self, stamps: Timestamps, cx: &Context) -> bool {
        let detects = cx.agreed.timestamps && cx.config.spurious_detection.uses(SpuriousDetection::Eifel);
        detects && self.syn_resent.is_some_and(|resent| (stamps.echo.wrapping_sub(resent) as i32) < 0)
    }

    /// The window with which data transfer begins.
    fn begin_sending(&mut self, now: Time, tcb: &mut Tcb) {
        let Tcb { sender, cx, .. } = tcb;
        let learnt = self.learnt.as_deref().copied().unwrap_or_default();
        sender.begin(now, &learnt, self.random_seed, cx);
        if let Some(word) = sender.extras.take_early_word() {
            tcb.take_word(now, word);
        }
        let Tcb { sender, receiver, cx, .. } = tcb;
        // Each segment of the peer restarts the keepalive timer, or is a measurement of the receive buffer.
        let counts_arrivals = cx.config.keepalive.is_some() || (receiver.is_tuned() && !cx.agreed.timestamps);
        cx.agreed.is_plain = !sender.extras.is_some() && receiver.extras.is_none() && !counts_arrivals;
    }

    /// The retransmission timer expired before the handshake was complete. False: the connection is to be given up.
    pub(crate) fn on_syn_timeout(&mut self, tcb: &mut Tcb) -> bool {
        let Tcb { sender, wire, cx, .. } = tcb;
        let rto = &cx.config.rto;
        let (linear, retries) = match self.role {
            Role::Active => (rto.syn_linear_timeouts, rto.syn_retries),
            Role::Passive => (0, rto.synack_retries),
        };
        cx.counters.timeouts += 1;
        self.syn_retransmits += 1;
        if self.syn_retransmits > linear + retries && cx.config.give_up != GiveUp::Never {
            return false;
        }
        self.fast_open.has_failed |= self.fast_open.sent > 0;
        if self.syn_retransmits > linear {
            sender.rtt.back_off();
        }
        wire.pending.syn = true;
        true
    }
}
