//! Parts of a sender that few connections have, and the features that they add to a segment with data.
//!
//! They exist together or not at all: a connection without any pays one pointer, and is plain unless its receiver has some.
//! A new part that acts on segments belongs here. Then no connection that has it is taken for plain.

use super::ack_ratio::{AckRatio, AckSeen};
use super::ecn::EcnSender;
use super::feedback::WindowFeedback;
use super::mapped::{Backlog, Mapped};
use super::pacing::Pacer;
use super::polls::{Outstanding, Polls};
use super::probe_segments::Probes;
use super::rapid::Rapid;
use super::records::Records;
use super::reduce::Reducer;
use super::reported::Notified;
use super::resume::Resume;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::space::SendSpace;
use crate::conn::context::Context;
use crate::conn::timers::{Timer, Timers};
use crate::multipath::Dss;
use crate::scps::ScpsOptions;
use crate::segment::{Flags, Options, PlainSegment, Segment, ACK_RATIO_LEN, OPTIONS_MAX};
use bentpipe_cc::{Cc, CongestionControl, Marks};
use bentpipe_units::Time;

/// Parts of a sender that few connections have.
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderExtras {
    /// Agreed on ECN.
    pub(crate) ecn: Option<EcnSender>,
    /// Agreed on congestion control for ACKs.
    pub(crate) ack_ratio: Option<AckRatio>,
    /// Agreed on polls.
    pub(crate) polls: Option<Polls>,
    /// Agreed on probe segments.
    pub(crate) probes: Option<Probes>,
    /// Ends of records, for best effort.
    pub(crate) records: Option<Records>,
    /// Interpretation of the windows that the network advertises.
    pub(crate) feedback: Option<WindowFeedback>,
    /// Careful resume is on.
    pub(crate) resume: Option<Box<Resume>>,
    /// Slow start is rapid start.
    pub(crate) rapid: Option<Box<Rapid>>,
    /// Notices of errors are heeded.
    pub(crate) notified: Option<Notified>,
    /// Word of a router that came before data could be sent.
    pub(crate) early_word: Option<f32>,
    /// Count that all segments carry (RFC 1644).
    pub(crate) count: Option<u32>,
    /// Bytes in the SYN. If the peer does not accept them there, they are retransmitted.
    pub(crate) early: u64,
    /// Data segments signal slow start.
    pub(crate) signals_slow_start: bool,
    /// ACKs draw on a token bucket too.
    pub(crate) paces_acks: bool,
    /// Data that wait above, and were not offered to the connection.
    pub(crate) backlog: Backlog,
    /// The connection is a subflow of a multipath connection.
    pub(crate) mapped: Option<Box<Mapped>>,
}

/// These parts, if the connection has any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras(Option<Box<SenderExtras>>);

/// The parts, and whether they are there.
impl Extras {
    /// Whether there are any.
    #[inline(always)]
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the parts.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&SenderExtras> {
        self.0.as_deref()
    }

    /// Returns the parts, to change them.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> Option<&mut SenderExtras> {
        self.0.as_deref_mut()
    }

    /// Returns the parts, for a part that is on.
    pub(super) fn for_part(&mut self) -> &mut SenderExtras {
        self.0.get_or_insert_with(Box::default)
    }

    /// Sets a part, or removes that of earlier SYNs.
    pub(super) fn settle<T>(&mut self, value: Option<T>, part: impl FnOnce(&mut SenderExtras) -> &mut Option<T>) {
        if value.is_some() || self.is_some() {
            *part(self.for_part()) = value;
        }
    }

    /// The marks of the ACK that is being processed, if ECN was agreed on.
    pub(super) fn ecn_mut(&mut self) -> Option<&mut EcnSender> {
        self.get_mut()?.ecn.as_mut()
    }

    /// ECN was agreed on.
    pub(crate) fn begin_ecn(&mut self, ecn: EcnSender) {
        self.for_part().ecn = Some(ecn);
    }

    /// Whether ECN was agreed on.
    pub(crate) fn has_ecn(&self) -> bool {
        self.get().is_some_and(|extras| extras.ecn.is_some())
    }

    /// Whether congestion control for ACKs was agreed on.
    pub(crate) fn has_ack_ratio(&self) -> bool {
        self.get().is_some_and(|extras| extras.ack_ratio.is_some())
    }

    /// The answer to a probe segment arrived. Returns whether the verdict wants these, if the answer counts: one is on its way.
    pub(crate) fn take_probe_answer(&mut self) -> Option<bool> {
        let probes = self.probes_mut()?;
        let are_copies = probes.are_copies();
        probes.on_answer().then_some(are_copies)
    }

    /// Whether probe segments were agreed on.
    pub(crate) fn has_probes(&self) -> bool {
        self.get().is_some_and(|extras| extras.probes.is_some())
    }

    /// The probe segments, if they were agreed on.
    pub(super) fn probes_mut(&mut self) -> Option<&mut Probes> {
        self.get_mut()?.probes.as_mut()
    }

    /// The reports of nodes of the network, if they are heeded.
    pub(super) fn notified(&self) -> Option<&Notified> {
        self.get()?.notified.as_ref()
    }

    /// Returns the notified state, to change it.
    pub(super) fn notified_mut(&mut self) -> Option<&mut Notified> {
        self.get_mut()?.notified.as_mut()
    }

    /// Whether the windows that the network advertises are interpreted.
    pub(crate) fn has_feedback(&self) -> bool {
        self.feedback().is_some()
    }

    /// The windows that the network advertises, if they are interpreted.
    pub(super) fn feedback(&self) -> Option<&WindowFeedback> {
        self.get()?.feedback.as_ref()
    }

    /// Returns the feedback, to change it.
    pub(super) fn feedback_mut(&mut self) -> Option<&mut WindowFeedback> {
        self.get_mut()?.feedback.as_mut()
    }

    /// Careful resume, if it is on.
    pub(super) fn resume(&self) -> Option<&Resume> {
        self.get()?.resume.as_deref()
    }

    /// Returns the careful resume, to change it.
    pub(super) fn resume_mut(&mut self) -> Option<&mut Resume> {
        self.get_mut()?.resume.as_deref_mut()
    }

    /// Rapid start, if it is on.
    pub(super) fn rapid_mut(&mut self) -> Option<&mut Rapid> {
        self.get_mut()?.rapid.as_deref_mut()
    }

    /// Whether ACKs draw on a token bucket too.
    pub(crate) fn paces_acks(&self) -> bool {
        self.get().is_some_and(|extras| extras.paces_acks)
    }
}

/// Answers of the parts to an ACK, and to a loss.
impl Extras {
    /// Whether the ACK that is being processed must not grow the window, and the marks that it reports.
    #[inline(never)]
    pub(super) fn said(&self) -> (bool, Marks) {
        (self.is_echoed() || self.sets_window(), self.marks())
    }

    /// Whether the ACK that is being processed reports marks.
    pub(super) fn is_echoed(&self) -> bool {
        self.get().is_some_and(|extras| extras.ecn.as_ref().is_some_and(|ecn| ecn.is_echoed))
    }

    /// The marks that the ACK being processed reports to a congestion control that counts them.
    pub(super) fn marks(&self) -> Marks {
        self.get().and_then(|extras| extras.ecn.as_ref()).map_or(Marks::default(), |ecn| ecn.marks)
    }

    /// Whether the window stays as it is, because it is not proven yet or was too large.
    pub(super) fn is_window_held(&self) -> bool {
        self.resume().is_some_and(|resume| !resume.may_grow())
    }

    /// Whether the window converges on what has arrived, so that nothing else changes it.
    pub(super) fn is_converging(&self) -> bool {
        self.get().and_then(|extras| extras.rapid.as_deref()).is_some_and(Rapid::is_converging)
    }

    /// Whether the window is set already when recovery begins. RFC 9959 §3.5: a retreat has done so. After rapid start the window
    /// itself falls step by step.
    pub(super) fn sets_window(&self) -> bool {
        self.is_window_held() || self.is_converging()
    }

    /// Whether fast recovery goes on that holes began which were all reported.
    pub(super) fn repairs_nothing(&self) -> bool {
        self.notified().is_some_and(|notified| notified.repairs_nothing)
    }

    /// Such a recovery ends, or becomes one of congestion.
    pub(super) fn end_inflation(&mut self) {
        if let Some(notified) = self.notified_mut() {
            notified.repairs_nothing = false;
        }
    }

    /// Returns the end of the data sent when the hole at `una` was reported.
    pub(super) fn sent_until(&self, una: u64) -> Option<u64> {
        self.notified()?.sent_until(una)
    }

    /// Whether the hole at `una` was reported, so that recovery has nothing to repair.
    pub(super) fn is_repaired(&self, una: u64, board: &Scoreboard) -> bool {
        self.sent_until(una).is_some() && !board.has_lost()
    }

    /// Whether a reported segment leaves before segment `index`. What leaves at one instant leaves in the order of sequence: RACK
    /// takes it for that (RFC 8985 §6.2 step 2, RACK_sent_after).
    pub(super) fn has_due_before(&mut self, index: u64, una: u64, board: &Scoreboard) -> bool {
        self.notified_mut().and_then(|notified| notified.next_due(una, board)).is_some_and(|due| due < index)
    }

    /// An ACK reports that corruption caused its hole. Returns the range of the oldest segment, if that counts.
    pub(crate) fn take_mark(
        &mut self,
        now: Time,
        space: &SendSpace,
        board: &Scoreboard,
        rtt: &Rtt,
    ) -> Option<(u64, u64)> {
        let len = board.sent.len_of(board.sent.first()?);
        let una = space.una;
        self.notified_mut()?.takes_mark(now, una, rtt.srtt()).then_some((una, una + len))
    }

    /// Takes an error rate from an earlier connection, or from a report before data could be sent.
    pub(crate) fn prime_error_rate(&mut self, rate: f32) {
        if let Some(notified) = self.notified_mut() {
            notified.rate = Some(rate);
        }
    }

    /// The SYN carries `bytes` of data, with a FIN if there is one.
    pub(crate) fn begin_early(&mut self, bytes: u64) {
        if bytes > 0 {
            self.for_part().early = bytes;
        }
    }

    /// An ACK of everything below `ack` arrived: does it show that others did not? `window`: the data that may be outstanding; with
    /// `is_in_order` it comes outside of recovery, without data and reports.
    #[inline(never)]
    pub(crate) fn watch_acks(&mut self, ack: u64, is_in_order: bool, is_marked: bool, window: u64, space: &SendSpace) {
        let (una, nxt, smss) = (space.una, space.nxt, space.smss());
        let (is_in_order, cwnd) = (is_in_order && ack > una, window.min(nxt - una));
        if let Some(SenderExtras { ack_ratio: Some(ratio), .. }) = self.get_mut() {
            ratio.on_ack(AckSeen { offset: ack, una, nxt, smss, cwnd, is_in_order, is_marked });
        }
    }

    /// Whether the receiver is to be polled now, when all has left that may leave.
    pub(crate) fn take_poll(
        &mut self,
        now: Time,
        space: &SendSpace,
        flight_size: u64,
        rtt: &Rtt,
        pacer: &Pacer,
        timers: &mut Timers,
    ) -> bool {
        let Some(SenderExtras { polls: Some(polls), .. }) = self.get_mut() else { return false };
        let rtt = rtt.expected().unwrap_or(rtt.rto());
        let is_paced = pacer.must_wait(now, timers);
        if flight_size == 0 {
            polls.rest();
            return false;
        }
        let SendSpace { una, nxt, offered, .. } = *space;
        let (is_due, next) = polls.take(now, Outstanding { rtt, una, nxt, offered, is_paced });
        timers.set(Timer::Pace, timers.get(Timer::Pace).min(next));
        is_due
    }

    /// A router's word came before data could be sent.
    pub(crate) fn keep_word(&mut self, word: f32) {
        self.for_part().early_word = Some(word);
    }

    /// Returns the word of a router that came before data could be sent, once.
    pub(crate) fn take_early_word(&mut self) -> Option<f32> {
        self.get_mut()?.early_word.take()
    }

    /// Returns the bytes that a duplicate ACK adds to the window in fast recovery.
    pub(super) fn inflation(&self, smss: u32) -> i64 {
        match self.get() {
            Some(SenderExtras { probes: Some(probes), .. }) if !probes.inflates => 0,
            _ => i64::from(smss),
        }
    }
}

/// Several connections as one.
impl Extras {
    /// Whether more data wait above than the connection was offered: the application is never the limit.
    #[inline]
    pub(super) fn is_backlogged(&self) -> bool {
        self.backlog() != Backlog::None
    }

    /// The data that wait above.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.get().map_or(Backlog::None, |extras| extras.backlog)
    }

    /// Sets the data that wait above.
    pub(crate) fn set_backlog(&mut self, backlog: Backlog) {
        if backlog != Backlog::None || self.is_some() {
            self.for_part().backlog = backlog;
        }
    }

    /// The state of a subflow, if the connection is one.
    #[inline]
    pub(crate) fn mapped(&self) -> Option<&Mapped> {
        self.get()?.mapped.as_deref()
    }

    /// Returns the state of a subflow, to change it.
    #[inline]
    pub(crate) fn mapped_mut(&mut self) -> Option<&mut Mapped> {
        self.get_mut()?.mapped.as_deref_mut()
    }

    /// The state of a subflow, if the connection is one and the peer agreed to it.
    #[inline]
    pub(crate) fn agreed_mapped_mut(&mut self) -> Option<&mut Mapped> {
        self.mapped_mut().filter(|mapped| mapped.is_agreed)
    }

    /// Bytes of the multipath option of a full segment, if both ends want one.
    pub(crate) fn signal_len(&self) -> u32 {
        self.mapped().map_or(0, |_| u32::from(Dss::LEN))
    }

    /// A segment arrived on the open connection: the handshake of a subflow is complete.
    pub(crate) fn on_fourth(&mut self, space: &mut SendSpace, timers: &mut Timers) {
        if let Some(mapped) = self.mapped_mut().filter(|mapped| mapped.awaits_fourth) {
            mapped.awaits_fourth = false;
            space.persist_backoff = 1;
            timers.stop(Timer::Persist);
        }
    }

    /// The persist timer expired: whether it asks for the fourth segment of a handshake, by the third one again.
    pub(crate) fn repeats_third(&mut self) -> bool {
        self.mapped_mut().is_some_and(|mapped| {
            mapped.owes_third |= mapped.awaits_fourth;
            mapped.awaits_fourth
        })
    }

    /// The connection becomes a subflow.
    pub(crate) fn begin_mapped(&mut self, mapped: Mapped) {
        self.for_part().mapped = Some(Box::new(mapped));
    }
}

/// Segments with data.
impl Extras {
    /// A record ends with the data offered so far, up to `offered`.
    pub(crate) fn end_record(&mut self, offered: u64) {
        if let Some(SenderExtras { records: Some(records), .. }) = self.get_mut() {
            records.push(offered);
        }
    }

    /// Payload that the next new segment has room for, if the record or the mapping to which it belongs ends before it is full.
    pub(crate) fn room_in_record(&self, space: &SendSpace) -> Option<u32> {
        let (extras, nxt) = (self.get()?, space.nxt);
        let record = extras.records.as_ref().and_then(|records| records.next_end(nxt));
        let mapping = extras.mapped.as_ref().and_then(|mapped| mapped.at(nxt)).map(|at| at.start + at.len);
        let room = record.unwrap_or(u64::MAX).min(mapping.unwrap_or(u64::MAX)) - nxt;
        let room = room.min(self.full_segment_at(nxt, space));
        (room < space.smss()).then_some(room as u32)
    }

    /// Payload of a full segment of new data that begins at `start`: the keys of a multipath connection take room.
    pub(crate) fn full_segment_at(&self, start: u64, space: &SendSpace) -> u64 {
        let has_keys = self.mapped().is_some_and(|mapped| mapped.has_keys_at(start));
        space.smss() - if has_keys { u64::from(Dss::FIRST_EXTRA).min(space.smss() - 1) } else { 0 }
    }

    /// Adds the features of a segment with data from `start` on, the oldest outstanding being at `una`.
    pub(crate) fn add_to_data(
        &mut self,
        [start, una]: [u64; 2],
        segment: &mut Segment,
        reducer: &mut Reducer,
        cc: &Cc,
        cx: &mut Context,
    ) {
        let Some(extras) = self.get_mut() else { return };
        if let Some(records) = &mut extras.records {
            if segment.len > 0 && records.has_end(start + u64::from(segment.len), una) {
                let said = if let Options::Scps(said) = segment.options { said } else { ScpsOptions::default() };
                segment.options = Options::Scps(ScpsOptions { record_boundary: true, ..said });
            }
        }
        if let Some(probes) = &mut extras.probes {
            probes.on_sent(start, segment.len);
        }
        if !segment.is_retransmission && start < extras.early {
            // The peer did not accept the data in the SYN.
            segment.is_retransmission = true;
            cx.counters.retransmitted_bytes += u64::from(segment.len);
            cx.counters.retransmitted_segments += 1;
        }
        if let (Some(ecn), true) = (&extras.ecn, segment.len > 0) {
            segment.ecn = ecn.codepoint(segment.is_retransmission);
            if !segment.is_retransmission && reducer.take_cwr() && ecn.sends_cwr() {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        if extras.signals_slow_start && cc.cwnd() < cc.ssthresh() {
            segment.flags = segment.flags.with(Flags::SLOW_START);
        }
        if let (Some(ratio), false) = (&extras.ack_ratio, segment.is_retransmission) {
            // Without room it waits for the next segment.
            let options = u32::from(segment.header_len() - PlainSegment::HEADER_LEN);
            segment.ack_ratio = ratio.told().filter(|_| options + ACK_RATIO_LEN <= OPTIONS_MAX as u32);
        }
    }
}
