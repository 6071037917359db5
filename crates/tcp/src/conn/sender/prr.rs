//! Proportional rate reduction (RFC 9937, RFC 6937): in recovery the window falls to ssthresh as data are delivered,
//! not at once, so that transmissions stay spread over the round trip.

use crate::config::Reduction;

/// Limit of departures in recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    bound: Reduction,
    ssthresh: u64,
    /// In flight when recovery began (RecoverFS).
    flight_before: u64,
    delivered: u64,
    out: u64,
    /// Bytes that may be in the network now; recovery sends up to this.
    window: u64,
}

/// Facts of an ACK in recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrrAck {
    /// Bytes that it delivered, cumulatively or selectively.
    pub(crate) delivered: u64,
    /// RFC 6675 SetPipe(), after this ACK's losses were marked.
    pub(crate) pipe: u64,
    /// SND.UNA advanced and no further loss was found (RFC 9937: SafeACK).
    pub(crate) is_safe: bool,
    pub(crate) smss: u64,
}

impl Prr {
    /// Recovery begins with `flight_size` outstanding, of which `sacked` is SACKed. The `delivered` bytes of its first
    /// ACK count as in flight (RFC 9937; RFC 6937 takes FlightSize).
    pub(crate) fn new(
        bound: Reduction,
        ssthresh: u64,
        flight_size: u64,
        [sacked, delivered]: [u64; 2],
        smss: u64,
    ) -> Self {
        let flight_before = match bound {
            Reduction::Prr => flight_size.saturating_sub(sacked) + delivered,
            _ => flight_size,
        };
        let flight_before = flight_before.max(smss);
        Self { bound, ssthresh, flight_before, delivered: 0, out: 0, window: 0 }
    }

    /// An ACK arrived; the first one included.
    pub(crate) fn on_ack(&mut self, ack: &PrrAck) {
        if ack.delivered == 0 {
            return;
        }
        self.delivered += ack.delivered;
        let behind = self.delivered.saturating_sub(self.out);
        let mut allowance = if ack.pipe > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let share = share.div_ceil(u128::from(self.flight_before.max(1)));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let limit = match self.bound {
                Reduction::PrrCrb => behind,
                Reduction::PrrSsrb => behind.max(ack.delivered) + ack.smss,
                _ => behind.max(ack.delivered) + if ack.is_safe { ack.smss } else { 0 },
            };
            limit.min(self.ssthresh - ack.pipe)
        };
        if self.out == 0 {
            // The fast retransmit always goes.
            allowance = allowance.max(ack.smss);
        }
        self.window = ack.pipe + allowance;
    }

    /// Returns the bytes that may be in the network before the first ACK is counted.
    pub(crate) fn allow(&mut self, window: u64) {
        self.window = window;
    }

    /// `bytes` were sent, new or again.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    pub(crate) fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    fn prr(bound: Reduction, flight: u64, ssthresh: u64) -> Prr {
        Prr::new(bound, ssthresh * SMSS, flight * SMSS, [0, 0], SMSS)
    }

    fn ack(pipe: u64, is_safe: bool) -> PrrAck {
        PrrAck { delivered: SMSS, pipe: pipe * SMSS, is_safe, smss: SMSS }
    }

    /// `specs/prr.md`, tests 1 and 2: seven segments for ten delivered, and one for two.
    #[test]
    fn rfc9937_6_sends_in_proportion() {
        for (flight, ssthresh, expected) in
            [(10, 7, [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]), (20, 10, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])]
        {
            let mut prr = prr(Reduction::Prr, flight, ssthresh);
            let mut sent = Vec::new();
            for _ in 0..10 {
                prr.on_ack(&ack(12, false));
                // Whole segments, rounded up: a sender of packets.
                while prr.window() > 12 * SMSS {
                    prr.on_sent(SMSS);
                    prr.window = prr.window.saturating_sub(SMSS);
                }
                sent.push(prr.out / SMSS);
            }
            assert_eq!(sent, expected);
        }
    }

    /// Test 3: what was SACKed before does not count as in flight, in RFC 9937.
    #[test]
    fn rfc9937_6_recover_fs() {
        let with = |bound| Prr::new(bound, 5 * SMSS, 10 * SMSS, [3 * SMSS, SMSS], SMSS).flight_before / SMSS;
        assert_eq!([with(Reduction::Prr), with(Reduction::PrrSsrb)], [8, 10]);
    }

    /// Test 4: the three bounds when the pipe is below ssthresh.
    #[test]
    fn rfc9937_6_bounds() {
        let window = |bound, is_safe| {
            let mut prr = prr(bound, 20, 10);
            (prr.delivered, prr.out) = (2 * SMSS, 3 * SMSS);
            prr.on_ack(&ack(4, is_safe));
            prr.window() / SMSS
        };
        assert_eq!(window(Reduction::PrrCrb, true), 4);
        assert_eq!([window(Reduction::PrrSsrb, true), window(Reduction::PrrSsrb, false)], [6, 6]);
        assert_eq!([window(Reduction::Prr, true), window(Reduction::Prr, false)], [6, 5]);
    }

    /// Test 5: heavy loss starts with one segment, not with a burst.
    #[test]
    fn rfc9937_6_heavy_losses_make_no_burst() {
        let mut prr = prr(Reduction::Prr, 20, 10);
        prr.on_ack(&ack(5, false));
        assert_eq!(prr.window() / SMSS, 6);
    }
}
