//! Access to the [extras](super::extras), and the features that they add to a segment with data.

use super::extras::SenderExtras;
use super::mapped::{Backlog, Mapped};
use super::probe_segments::Probes;
use super::state::Sender;
use crate::conn::context::Context;
use crate::conn::timers::Timer;
use crate::multipath::Dss;
use crate::scps::ScpsOptions;
use crate::segment::{Flags, Options, PlainSegment, Segment, ACK_RATIO_LEN, OPTIONS_MAX};
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    /// The extras, for a part that is on.
    pub(super) fn extras_mut(&mut self) -> &mut SenderExtras {
        self.extras.get_or_insert_with(Box::default)
    }

    /// Sets a part, or removes that of earlier SYNs.
    pub(super) fn settle<T>(&mut self, value: Option<T>, part: impl FnOnce(&mut SenderExtras) -> &mut Option<T>) {
        if value.is_some() || self.extras.is_some() {
            *part(self.extras_mut()) = value;
        }
    }

    pub(crate) fn has_ecn(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.ecn.is_some())
    }

    pub(crate) fn has_ack_ratio(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.ack_ratio.is_some())
    }

    /// Whether more data wait above than the connection was offered: the application is never the limit.
    #[inline]
    pub(super) fn is_backlogged(&self) -> bool {
        self.backlog() != Backlog::None
    }

    /// The data that wait above.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.extras.as_ref().map_or(Backlog::None, |extras| extras.backlog)
    }

    pub(crate) fn set_backlog(&mut self, backlog: Backlog) {
        if backlog != Backlog::None || self.extras.is_some() {
            self.extras_mut().backlog = backlog;
        }
    }

    /// The state of a subflow, if the connection is one.
    #[inline]
    pub(crate) fn mapped(&self) -> Option<&Mapped> {
        self.extras.as_ref()?.mapped.as_deref()
    }

    #[inline]
    pub(crate) fn mapped_mut(&mut self) -> Option<&mut Mapped> {
        self.extras.as_mut()?.mapped.as_deref_mut()
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

    /// The third segment of the handshake leaves again until something answers it, at the pace of window probes.
    pub(crate) fn repeat_third(&mut self, now: Time, cx: &mut Context) {
        cx.timers.set(Timer::Persist, now + self.persist_delay(cx));
    }

    /// A segment arrived on the open connection: the handshake of a subflow is complete.
    pub(crate) fn on_fourth(&mut self, cx: &mut Context) {
        if let Some(mapped) = self.mapped_mut().filter(|mapped| mapped.awaits_fourth) {
            mapped.awaits_fourth = false;
            self.space.persist_backoff = 1;
            cx.timers.stop(Timer::Persist);
        }
    }

    /// The connection becomes a subflow.
    pub(crate) fn begin_mapped(&mut self, mapped: Mapped) {
        self.extras_mut().mapped = Some(Box::new(mapped));
    }

    pub(crate) fn has_probes(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.probes.is_some())
    }

    pub(super) fn probes_mut(&mut self) -> Option<&mut Probes> {
        self.extras.as_mut()?.probes.as_mut()
    }

    pub(crate) fn paces_acks(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.paces_acks)
    }

    /// Adds the features of a segment with data from `start` on.
    pub(crate) fn add_to_data(&mut self, start: u64, segment: &mut Segment, cx: &mut Context) {
        let Some(extras) = self.extras.as_deref_mut() else { return };
        if let Some(records) = &mut extras.records {
            if segment.len > 0 && records.has_end(start + u64::from(segment.len), self.space.una) {
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
            if !segment.is_retransmission && self.reducer.take_cwr() && ecn.sends_cwr() {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        if extras.signals_slow_start && self.cc.cwnd() < self.cc.ssthresh() {
            segment.flags = segment.flags.with(Flags::SLOW_START);
        }
        if let (Some(ratio), false) = (&extras.ack_ratio, segment.is_retransmission) {
            // Without room it waits for the next segment.
            let options = u32::from(segment.header_len() - PlainSegment::HEADER_LEN);
            segment.ack_ratio = ratio.told().filter(|_| options + ACK_RATIO_LEN <= OPTIONS_MAX as u32);
        }
    }
}
