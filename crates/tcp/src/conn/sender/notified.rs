//! Reactions to notices of errors (J. Govindarajan and G. Kousalya, BEEN, Algorithm 2; H. Balakrishnan and R. Katz
//! 1998, ELN). Reported data is retransmitted immediately, regardless of the window, which does not change. The segment
//! size follows the error rate.
//!
//! A report may come after a detector has found the loss. If nothing else was lost in the episode, the report then
//! undoes the reduction. A report needs some time to arrive. If data was retransmitted more recently than that, the
//! report is about an earlier transmission, so the data is not repeated.
//!
//! A reported hole still has its duplicate ACKs. The third begins fast recovery that does not reduce the window, and
//! repairs nothing: the retransmission is on its way. It is inflated and deflated as always. It ends when all data from
//! before the retransmission is acknowledged. The report caused the retransmission long before the duplicates arrive,
//! and later data may still be on its way. A hole below that which was not reported, if a partial ACK shows one,
//! reduces the window from that moment on.

use super::episode::Phase;
use super::extras::SenderExtras;
use super::poll::Sending;
use super::reported::{Notified, Rest};
use super::space::SendSpace;
use super::state::Sender;
use crate::config::{CwndUnit, ErrorReports, PathMtu, ReportResend};
use crate::conn::context::Context;
use crate::conn::Event;
use crate::segment::OPTIONS_MAX;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    /// [start, end) arrived corrupted somewhere. Only reports of outstanding data count.
    pub(crate) fn on_corrupted(&mut self, now: Time, (start, end): (u64, u64), cx: &mut Context) {
        let SendSpace { una, nxt, .. } = self.space;
        let Some(SenderExtras { notified: Some(notified), .. }) = self.extras.get_mut() else { return };
        if cx.config.error_reports != ErrorReports::Resend || start < una || start >= nxt {
            return;
        }
        cx.report(Event::ErrorReport(start));
        if !notified.is_last_copy(start) {
            return;
        }
        self.declare_corrupted(now, (start, end.min(nxt)), cx);
    }

    /// The data of [start, end) is lost without a sign of congestion, and leaves again.
    fn declare_corrupted(&mut self, now: Time, range: (u64, u64), cx: &mut Context) {
        let SendSpace { una, nxt, .. } = self.space;
        // The first report that is measured may have waited for an ACK to carry it: a round trip is enough for any.
        let round = self.rtt.srtt().unwrap_or(cx.config.rto.initial);
        let notified = self.extras.for_part().notified.get_or_insert_with(Notified::default);
        notified.add(range, nxt);
        let fastest = notified.fastest.map_or(round, |fastest| fastest.min(round));
        let answered = self.board.report_corrupted(range, now, fastest, self.losses.episode.phase == Phase::Loss);
        if let (Some(took), Some(notified)) = (answered.took, self.extras.notified_mut()) {
            notified.fastest = Some(notified.fastest.map_or(took, |fastest| fastest.min(took)));
        }
        self.losses.detector.on_report(range.1);
        if answered.excuses {
            self.excuse(now, cx);
        }
        if range.0 == una && answered.leaves {
            // RFC 6298 §5.3, as for new data acknowledged: the timer starts with the data that leaves now. It is not
            // backed off.
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// The network estimates this error rate.
    pub(crate) fn on_error_rate(&mut self, rate: f32, cx: &Context) {
        let Some(SenderExtras { notified: Some(notified), .. }) = self.extras.get_mut() else { return };
        notified.rate = Some(rate);
        let size = cx.config.packet_size.payload(rate, cx.agreed.smss, cx.agreed.header_len() as u32);
        if let Some(smss) = size.filter(|smss| *smss != self.space.smss) {
            self.resize(smss, cx);
        }
    }

    /// [start, end) did not fit a link of the path, which takes packets of `mtu` bytes: from now on no segment is
    /// larger. The dropped data is retransmitted immediately, without a sign of congestion (RFC 1191 §6.4).
    pub(crate) fn on_too_big(&mut self, now: Time, (start, end): (u64, u64), mtu: u32, cx: &mut Context) {
        let SendSpace { una, nxt, .. } = self.space;
        if cx.config.path_mtu == PathMtu::Ignore || start < una || start >= nxt {
            return;
        }
        let room = mtu.saturating_sub(cx.agreed.header_len() as u32);
        // It would have fitted without options that only some segments have.
        let room = if end - start > u64::from(room) { room } else { room.saturating_sub(OPTIONS_MAX as u32) };
        cx.agreed.smss = cx.agreed.smss.min(room.max(1));
        if end - start <= cx.agreed.smss.into() {
            // Nothing smaller can leave in its place: the timer does what there is to do.
            return;
        }
        if self.space.smss > cx.agreed.smss {
            self.resize(cx.agreed.smss, cx);
        }
        if !self.is_detailed {
            self.is_detailed = true;
            self.board.set_detail(self.losses.detector.needs_detail() == Some(true));
        }
        cx.agreed.is_plain = false;
        self.declare_corrupted(now, (start, end.min(nxt)), cx);
    }

    /// The segment size follows the network.
    fn resize(&mut self, smss: u32, cx: &Context) {
        let old = self.space.smss();
        self.set_smss(smss);
        if cx.config.cwnd_unit == CwndUnit::Packets {
            let new = self.space.smss();
            self.window.scale(new, old);
            self.losses.episode.inflation = self.losses.episode.inflation * new as i64 / old as i64;
        }
    }

    /// Returns the next retransmission of reported data. Data that a timeout retransmits anyway waits for that.
    pub(super) fn next_notified(&mut self, now: Time, cx: &mut Context) -> Option<Sending> {
        let una = self.space.una;
        let notified = self.extras.notified_mut()?;
        let copies = cx.config.report_copies;
        let index = if let Some(index) = notified.take_copy(&self.board) {
            index
        } else if let Some(index) = notified.next_due(una, &self.board) {
            let range = self.board.sent.range_of(index);
            let keeps_rest = cx.config.report_resend == ReportResend::Packet;
            notified.on_due_sent(range.start + u64::from(range.len), keeps_rest);
            notified.begin_copies(index, range.start, copies);
            index
        } else {
            if self.losses.episode.phase == Phase::Loss {
                notified.forget_rest();
            }
            let window = self.window.cc.cwnd().saturating_add_signed(self.losses.episode.inflation);
            match notified.next_of_rest(una, window, &self.board)? {
                Rest::Leaves(index, start) => {
                    notified.begin_copies(index, start, copies);
                    index
                }
                Rest::NoRoom => {
                    self.window.usage.on_limited(now, &self.space, self.board.flight_size());
                    return None;
                }
            }
        };
        // A retransmission that a report asks for is not part of an episode that may turn out to be spurious. But all copies
        // except one are duplicates, and the receiver's reports of them give no information about the episode.
        if let (2.., Some(undo)) = (copies, &mut self.losses.undo) {
            undo.on_copies();
        }
        Some(self.send_again(now, index, false, cx))
    }
}
