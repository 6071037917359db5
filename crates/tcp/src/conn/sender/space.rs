//! The send sequence space (RFC 9293 §3.3.1), in offsets from the first byte of data; the FIN follows the last one.

use super::rtt::Rtt;
use crate::config::{Config, CwndUnit, RtoConfig};
use crate::conn::context::Context;
use crate::conn::timers::Timer;
use bentpipe_units::{Duration, Time};

/// Sent data, permitted data, and data to send.
#[derive(Clone, Debug)]
pub(crate) struct SendSpace {
    /// First byte not acknowledged (SND.UNA) and next new one (SND.NXT).
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// Bytes offered by the application so far, and how many of them the socket holds until they are acknowledged.
    pub(crate) offered: u64,
    pub(crate) buffer: u64,
    /// The application will offer no more data.
    pub(crate) is_closing: bool,
    /// The window that the peer advertised last, and the largest so far.
    pub(crate) rwnd: u64,
    pub(crate) rwnd_largest: u64,
    /// Payload of a full segment, and the most of the next one: less where a record or a mapping ends.
    pub(crate) smss: u32,
    pub(crate) next_max: u32,
    /// The factor of the persist timer, and whether it lets a segment smaller than a full one go.
    pub(crate) persist_backoff: u32,
    pub(crate) may_be_small: bool,
}

impl SendSpace {
    /// A window that bounds nothing.
    pub(crate) const UNBOUNDED: u64 = u64::MAX >> 8;

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            una: 0,
            nxt: 0,
            offered: 0,
            buffer: config.auto_send_buffer.unwrap_or(config.send_buffer).min(Config::UNLIMITED),
            is_closing: false,
            rwnd: 0,
            rwnd_largest: 0,
            smss: config.smss,
            next_max: config.smss,
            persist_backoff: 1,
            may_be_small: false,
        }
    }

    #[inline]
    pub(crate) fn smss(&self) -> u64 {
        u64::from(self.smss)
    }

    /// End of the data that the application has written: all data to send, up to the size of the send buffer.
    #[inline]
    pub(crate) fn data_end(&self) -> u64 {
        self.offered.min(self.una + self.buffer)
    }

    /// Bytes that the peer's window leaves for new data.
    #[inline]
    pub(crate) fn usable(&self) -> u64 {
        (self.una + self.rwnd).saturating_sub(self.nxt)
    }

    /// Payload of the next new segment, as far as there is data.
    #[inline]
    pub(crate) fn next_len(&self) -> u64 {
        self.data_end().saturating_sub(self.nxt).min(self.next_max.into())
    }

    /// Whether there are unsent data that the receiver's window allows.
    pub(crate) fn can_send_new(&self) -> bool {
        self.data_end() > self.nxt && self.una + self.rwnd > self.nxt
    }

    /// The part of a range that is outstanding; `None`: it is not, or begins below what is.
    pub(crate) fn outstanding(&self, (start, end): (u64, u64)) -> Option<(u64, u64)> {
        let end = end.min(self.nxt);
        (start >= self.una && start < end).then_some((start, end))
    }

    /// Whether the FIN was sent.
    pub(crate) fn fin_is_sent(&self) -> bool {
        self.is_closing && self.nxt > self.offered
    }

    /// Returns the bytes to send into a window of `usable` bytes, smaller than the segment (RFC 9293 §3.8.6.2.1: avoid
    /// silly windows): at least half the largest window seen, or anything once the persist timer has expired. If nothing is sent
    /// and nothing is outstanding, this timer runs.
    #[inline(never)]
    pub(super) fn squeeze(
        &mut self,
        now: Time,
        usable: u64,
        flight_size: u64,
        rtt: &Rtt,
        cx: &mut Context,
    ) -> Option<u64> {
        let is_idle = flight_size == 0;
        // RFC 1122 §4.2.3.4, condition 3; with Nagle's algorithm only if nothing is outstanding.
        let is_allowed = !cx.config.nagle || is_idle;
        let is_worthwhile = usable > 0 && 2 * usable >= self.rwnd_largest && is_allowed;
        let is_forced = usable > 0 && std::mem::take(&mut self.may_be_small);
        let sends = is_worthwhile || is_forced;
        if !sends && is_idle && !cx.timers.is_running(Timer::Persist) {
            cx.timers.set(Timer::Persist, now + self.persist_delay(rtt.rto(), &cx.config.rto));
        }
        sends.then_some(usable)
    }

    /// The send buffer grows with the congestion window, to two of them (J. Semke, J. Mahdavi and M. Mathis 1998).
    pub(crate) fn tune_buffer(&mut self, limit: u64, cwnd: u64) {
        self.buffer = self.buffer.max(2 * cwnd).min(limit);
    }

    /// Whether any data is unsent or unacknowledged. Always false at a pure receiver.
    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        // Outstanding data was offered, except for a FIN.
        self.una < self.offered || self.is_closing
    }

    /// Whether a segment more is within the peer's window, which counts packets if the congestion window does. The latter may be
    /// larger, as with segments of the largest size.
    pub(super) fn keeps_to_packets(&self, flight_size: u64, cx: &Context) -> bool {
        if cx.config.cwnd_unit != CwndUnit::Packets || self.smss == cx.agreed.smss {
            return true;
        }
        let limit = self.rwnd / u64::from(cx.agreed.smss).max(1) * self.smss();
        flight_size + self.smss() <= limit
    }

    /// The persist timer expired, with the timeout `rto`. True: a segment must ask for the peer's window.
    pub(crate) fn on_persist_timer(&mut self, now: Time, rto: Duration, cx: &mut Context) -> bool {
        self.persist_backoff = (self.persist_backoff * 2).min(1024);
        cx.timers.set(Timer::Persist, now + self.persist_delay(rto, &cx.config.rto));
        let is_closed = self.rwnd == 0;
        self.may_be_small |= !is_closed;
        is_closed
    }

    /// Time until the next window probe (RFC 9293 §3.8.6.1; `docs/specs/rto.md`, zero window), with the timeout `rto`.
    ///
    /// DEVIATION: RFC 9293 §3.8.6.2.1 sends into a small window after a tenth of a second to one second. It is the
    /// persist timer here, that is one retransmission timeout, as in BSD and Linux.
    pub(crate) fn persist_delay(&self, rto: Duration, keys: &RtoConfig) -> Duration {
        (rto.max(keys.persist_min) * u64::from(self.persist_backoff)).min(keys.persist_max)
    }
}

/// Nagle's algorithm (RFC 9293 §3.7.4): whether a small segment waits, because `flight_size` bytes are outstanding. The last one
/// does not: nothing can be added to it.
#[inline(never)]
pub(super) fn is_held_by_nagle(has_fin: bool, flight_size: u64, config: &Config) -> bool {
    config.nagle && !has_fin && flight_size > 0
}
