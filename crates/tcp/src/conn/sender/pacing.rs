//! Pacing: the instant when the next segment may leave (J. Kulik et al. 1999; the gains are those of Linux).
//!
//! Windows limit the outstanding data, pacing limits its departures. Each segment with data, retransmitted or not,
//! moves the instant before which no other data may leave. ACKs do not wait and do not count, unless the congestion
//! control has a token bucket for all segments. A pause saves up at most one burst.

use crate::config::{Pacing, WindowSize};
use crate::conn::timers::{Timer, Timers};
use bentpipe_cc::{Cc, CongestionControl, Pace};
use bentpipe_units::{Duration, Rate, Time};

const BITS_PS_PER_BYTE_S: u128 = 8 * 1_000_000_000_000;
/// The longest gap between two segments, at any rate.
const GAP_MAX: Duration = Duration::from_secs(60);

/// When the next segment may leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// The earliest departure of the next segment.
    next: Time,
}

/// Inputs of a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced {
    /// Payload of a full segment, and the packet that carries it, bytes.
    pub(crate) smss: u64,
    pub(crate) packet_len: u64,
    pub(crate) flight_size: u64,
    /// The round-trip time that is measured, or expected.
    pub(crate) rtt: Option<Duration>,
    /// The pace of a window that careful resume has not proven yet.
    pub(crate) resumed: Option<Pace>,
    /// The first window leaves, and takes a round trip.
    pub(crate) is_first: bool,
}

impl Pacer {
    /// Whether data have to wait; then the connection wakes up when they need not.
    #[inline]
    pub(crate) fn must_wait(&self, now: Time, timers: &mut Timers) -> bool {
        let waits = now < self.next;
        if waits {
            timers.set(Timer::Pace, self.next);
        }
        waits
    }

    /// Holds all data until `at`.
    pub(crate) fn hold_until(&mut self, at: Time) {
        self.next = self.next.max(at);
    }

    /// A packet of `size` bytes leaves that counts.
    pub(crate) fn on_sent(&mut self, now: Time, size: u64, pacing: Pacing, cc: &Cc, paced: Paced) {
        let own = paced.resumed.or_else(|| cc.pacing());
        let Some(rate) = rate(pacing, own, cc, paced) else { return };
        let Paced { smss, packet_len, .. } = paced;
        let burst = own.and_then(|pace| pace.bucket).unwrap_or(match pacing {
            Pacing::Window { burst, .. } | Pacing::Rate { burst, .. } => match burst {
                WindowSize::Segments(n) => u64::from(n) * packet_len,
                WindowSize::Bytes(bytes) => bytes,
            },
            Pacing::Off => own.and_then(|pace| pace.burst).unwrap_or(2 * smss).div_ceil(smss) * packet_len,
        });
        let saved = burst.checked_sub(size).map_or(Duration::ZERO, |spare| rate.time_to_send(spare));
        let earliest = Time::from_ps(now.as_ps().saturating_sub(saved.as_ps()));
        self.next = self.next.max(earliest) + rate.time_to_send(size).min(GAP_MAX);
    }
}

/// Whether ACKs draw on a token bucket too.
#[inline]
pub(crate) fn paces_acks(cc: &Cc) -> bool {
    cc.pacing().is_some_and(|pace| pace.bucket.is_some())
}

/// The rate at which data leave now, headers included; none: as fast as the windows allow. `own`: the pace of `cc`.
#[inline]
pub(crate) fn rate(pacing: Pacing, own: Option<Pace>, cc: &Cc, paced: Paced) -> Option<Rate> {
    own.map(|pace| pace.rate).or_else(|| match pacing {
        Pacing::Off => None,
        Pacing::Rate { rate, .. } => Some(rate),
        Pacing::Window { gain_slow_start, gain, .. } => {
            let window = cc.cwnd().max(paced.flight_size);
            let is_slow_start = cc.cwnd() < cc.ssthresh() / 2;
            // Before the first sample there is no rate: the initial window goes at once.
            let gain = match is_slow_start {
                true if paced.is_first => 1000,
                true => gain_slow_start,
                false => gain,
            };
            Some(window_rate(window, gain, paced.rtt?, paced))
        }
    })
}

/// `gain` thousandths of `window` bytes of payload, with their headers, per `rtt`.
fn window_rate(window: u64, gain: u32, rtt: Duration, paced: Paced) -> Rate {
    let bits = u128::from(window) * u128::from(gain) * u128::from(paced.packet_len) * BITS_PS_PER_BYTE_S;
    let bps = bits / (u128::from(paced.smss) * 1000 * u128::from(rtt.as_ps().max(1)));
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
}
