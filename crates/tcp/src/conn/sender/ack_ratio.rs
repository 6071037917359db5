//! Congestion control for ACKs (RFC 5690). It finds ACKs that were lost or marked, and requests a ratio: the number of
//! segments per ACK. The ratio changes as in DCCP's CCID 2 (RFC 4341 §6.1.2), which RFC 5690 §4 adopts.
//!
//! *Reading*: all new data of the next round trip carries the ratio, so that a single loss cannot keep it from the
//! receiver. Lost ACKs are detected only outside of recovery, from ACKs that advance over data in order. After a hole,
//! one ACK may cover many segments without a lost ACK.

/// Ratio of segments to ACKs, and the losses of ACKs.
#[derive(Clone, Debug)]
pub(crate) struct AckRatio {
    /// Segments that one ACK covers; no ratio is below `least`.
    ratio: u32,
    least: u32,
    /// Before it was changed: ACKs of then still come.
    before: u32,
    /// Data below this offset carries the ratio. Data that left before the receiver knew it is acknowledged at its end.
    tell_until: Option<u64>,
    /// End of the current window of data, and whether an ACK in it was lost or marked.
    window_end: u64,
    is_congested: bool,
    /// Windows since the last change in which none was.
    clear: u32,
    /// The last ACK was not one in order.
    was_interrupted: bool,
}

/// An ACK as the ratio sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSeen {
    /// Offset that it acknowledges, and the one acknowledged before.
    pub(super) offset: u64,
    pub(super) una: u64,
    /// End of the sent data.
    pub(super) nxt: u64,
    pub(super) smss: u64,
    /// The congestion window, or the outstanding data if less.
    pub(super) cwnd: u64,
    /// Neither data nor reports, and no recovery is under way.
    pub(super) is_in_order: bool,
    pub(super) is_marked: bool,
}

impl AckRatio {
    /// With a receiver that acknowledges every `every` segments unless told otherwise.
    pub(crate) fn new(every: u32) -> Self {
        Self {
            ratio: every,
            least: every,
            before: every,
            tell_until: None,
            window_end: 0,
            is_congested: false,
            clear: 0,
            was_interrupted: false,
        }
    }

    /// An ACK arrived that is not older than the last.
    pub(super) fn on_ack(&mut self, ack: AckSeen) {
        let segments = ack.offset.saturating_sub(ack.una) / ack.smss;
        let counts = ack.is_in_order && !self.was_interrupted;
        self.was_interrupted = !ack.is_in_order;
        self.is_congested |= ack.is_marked || (counts && segments > u64::from(self.ratio.max(self.before)));
        if ack.offset <= self.window_end {
            return;
        }
        self.window_end = ack.nxt;
        if self.tell_until.is_some_and(|until| until <= ack.offset) {
            (self.tell_until, self.before) = (None, self.ratio);
        }
        self.end_window((ack.cwnd / ack.smss).try_into().unwrap_or(u32::MAX), ack.nxt);
    }

    /// A window of `cwnd` segments was acknowledged.
    fn end_window(&mut self, cwnd: u32, nxt: u64) {
        let most = cwnd.div_ceil(2).max(self.least);
        let mut wanted = self.ratio;
        if std::mem::take(&mut self.is_congested) {
            self.clear = 0;
            wanted = wanted.saturating_mul(2);
        } else {
            self.clear += 1;
            // RFC 4341 §6.1.2: after cwnd / (R² - R) windows; R is above 1 here.
            let product = u64::from(wanted) * u64::from(wanted - 1) * u64::from(self.clear);
            if wanted > self.least && product >= u64::from(cwnd) {
                self.clear = 0;
                wanted -= 1;
            }
        }
        wanted = wanted.clamp(self.least, most.min(Self::MAX).max(self.least));
        if wanted != self.ratio {
            (self.before, self.ratio) = (self.ratio, wanted);
            // One window from now on; it ends where the data end that are sent in it.
            self.tell_until = Some(nxt.saturating_add(1));
        }
    }

    /// The largest that fits the option.
    const MAX: u32 = 255;

    /// Returns the ratio that new data carries.
    pub(crate) fn told(&self) -> Option<u8> {
        self.tell_until.map(|_| self.ratio.min(Self::MAX) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: u64 = 1000;

    /// `cwnd` segments are acknowledged, `each` by one ACK; the last may cover fewer.
    fn window(ratio: &mut AckRatio, una: &mut u64, cwnd: u64, each: u64) {
        let nxt = *una + cwnd * D;
        while *una < nxt {
            let offset = (*una + each * D).min(nxt);
            let sent = offset + cwnd * D;
            let (smss, cwnd) = (D, cwnd * D);
            ratio.on_ack(AckSeen { offset, una: *una, nxt: sent, smss, cwnd, is_in_order: true, is_marked: false });
            *una = offset;
        }
    }

    #[test]
    fn rfc4341_6_1_2_the_ratio_doubles_in_each_window_that_lost_acks_up_to_half_the_window() {
        let (mut ratio, mut una) = (AckRatio::new(2), 0);
        let mut seen = Vec::new();
        for _ in 0..12 {
            let each = u64::from(ratio.ratio.max(ratio.before)) + 1;
            window(&mut ratio, &mut una, 40, each);
            seen.push(ratio.ratio);
        }
        seen.dedup();
        assert_eq!(seen, [4, 8, 16, 20]);
    }

    #[test]
    fn rfc4341_6_1_2_it_falls_by_one_after_cwnd_over_r_squared_less_r_clear_windows() {
        let (mut ratio, mut una) = (AckRatio { ratio: 4, before: 4, ..AckRatio::new(2) }, 0);
        window(&mut ratio, &mut una, 40, 4);
        // The first ACK ended a window of nothing; then 40 / 12 windows for 4, and 40 / 6 for 3.
        let (mut at, mut windows) = (Vec::new(), 1);
        while ratio.ratio > 2 {
            let (last, each) = (ratio.ratio, u64::from(ratio.ratio));
            window(&mut ratio, &mut una, 40, each);
            windows += 1;
            if ratio.ratio < last {
                at.push(std::mem::take(&mut windows));
            }
        }
        assert_eq!(at, [4, 7]);
    }

    #[test]
    fn what_was_told_is_told_for_a_window() {
        let (mut ratio, mut una) = (AckRatio::new(2), 0);
        assert_eq!(ratio.told(), None);
        window(&mut ratio, &mut una, 40, 3);
        assert_eq!(ratio.told(), Some(4));
        window(&mut ratio, &mut una, 40, 4);
        window(&mut ratio, &mut una, 40, 4);
        assert_eq!((ratio.ratio, ratio.told()), (4, None));
    }

    /// The option has one byte. A receiver that acknowledges more rarely from the start keeps its ratio.
    #[test]
    fn a_ratio_above_the_option_stays() {
        let (mut ratio, mut una) = (AckRatio::new(1000), 0);
        window(&mut ratio, &mut una, 40, 40);
        assert_eq!((ratio.ratio, ratio.told()), (1000, None));
    }

    #[test]
    fn an_ack_after_a_hole_shows_no_loss_of_acks() {
        let mut ratio = AckRatio::new(2);
        let ack =
            AckSeen { offset: D, una: 0, nxt: 90 * D, smss: D, cwnd: 40 * D, is_in_order: true, is_marked: false };
        ratio.on_ack(ack);
        ratio.on_ack(AckSeen { offset: D, una: D, is_in_order: false, ..ack });
        ratio.on_ack(AckSeen { offset: 30 * D, una: D, ..ack });
        assert!(!ratio.is_congested);
        ratio.on_ack(AckSeen { offset: 33 * D, una: 30 * D, ..ack });
        assert!(ratio.is_congested);
    }
}
