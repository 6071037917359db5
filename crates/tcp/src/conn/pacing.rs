//! Pacing: when the next segment may leave (J. Kulik et al. 1999; the gains are those of Linux).
//!
//! Windows say how much may be outstanding, pacing says when. Each segment with data, sent again or not, moves the
//! instant before which no other leaves; ACKs do not wait and do not count, unless the congestion control has a token
//! bucket for all. A pause saves up a burst and no more.

use super::Connection;
use crate::cc::CongestionControl;
use crate::config::{Pacing, WindowSize};
use bentpipe_units::{Duration, Rate, Time};

const BITS_PS_PER_BYTE_S: u128 = 8 * 1_000_000_000_000;
/// However small a rate is, some day the next segment goes.
const GAP_MAX: Duration = Duration::from_secs(60);

impl Connection {
    /// Whether data have to wait; then the connection wakes up when they need not.
    #[inline]
    pub(super) fn must_wait(&mut self, now: Time) -> bool {
        let waits = now < self.send_at;
        if waits {
            self.send_wakeup = self.send_at;
        }
        waits
    }

    /// The rate at which data leave now, headers included; none: as fast as the windows allow.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.cc.pacing().map(|pace| pace.rate).or_else(|| match self.config.pacing {
            Pacing::Off => None,
            Pacing::Rate { rate, .. } => Some(rate),
            Pacing::Window { gain_slow_start, gain, .. } => {
                let window = self.cc.cwnd().max(self.board.flight_size());
                let is_slow_start = self.cc.cwnd() < self.cc.ssthresh() / 2;
                // Before the first sample there is no rate: the initial window goes at once.
                Some(self.window_rate(window, if is_slow_start { gain_slow_start } else { gain }, self.rtt.expected()?))
            }
        })
    }

    /// Whether ACKs draw on a token bucket too.
    pub(super) fn paces_acks(&self) -> bool {
        self.cc.pacing().is_some_and(|pace| pace.bucket.is_some())
    }

    /// `gain` thousandths of `window` bytes of payload, with their headers, per `rtt`.
    fn window_rate(&self, window: u64, gain: u32, rtt: Duration) -> Rate {
        let smss = u128::from(self.smss);
        let bits = u128::from(window) * u128::from(gain) * u128::from(self.packet_len()) * BITS_PS_PER_BYTE_S;
        let bps = bits / (smss * 1000 * u128::from(rtt.as_ps().max(1)));
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    /// Bytes of a packet with a full segment.
    pub(super) fn packet_len(&self) -> u64 {
        u64::from(self.smss) + if self.has_timestamps { 52 } else { 40 }
    }

    /// A packet of `size` bytes leaves that counts.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: Time, size: u64) {
        let Some(rate) = self.pacing_rate() else { return };
        let own = self.cc.pacing();
        let burst = own.and_then(|pace| pace.bucket).unwrap_or(match self.config.pacing {
            Pacing::Window { burst, .. } | Pacing::Rate { burst, .. } => match burst {
                WindowSize::Segments(n) => u64::from(n) * self.packet_len(),
                WindowSize::Bytes(bytes) => bytes,
            },
            Pacing::Off => {
                let payload = own.and_then(|pace| pace.burst).unwrap_or(2 * u64::from(self.smss));
                payload.div_ceil(u64::from(self.smss)) * self.packet_len()
            }
        });
        let saved = rate.time_to_send(burst.saturating_sub(size)).as_ps();
        let earliest = Time::from_ps(now.as_ps().saturating_sub(saved));
        self.send_at = self.send_at.max(earliest) + rate.time_to_send(size).min(GAP_MAX);
    }
}
