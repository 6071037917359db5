//! Queries of a connection for results and records. Drivers do not need them for each segment. They change nothing.

use super::life::Life;
use super::sender::{Mapped, SendLimit};
use super::tcb::Tcb;
use super::timers::Timer;
use super::{Connection, State};
use crate::config::Config;
use crate::segment::{Flags, Segment};
use bentpipe_cc::{CongestionControl, Insides, RateSample};
use bentpipe_units::{Duration, Rate, Seq, Time};

/// The state of a connection, for queries.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    life: &'a Life,
    tcb: &'a Tcb,
}

impl Connection {
    /// Returns what the connection knows, for queries at any time.
    #[inline]
    pub fn report(&self) -> Report<'_> {
        Report { life: &self.life, tcb: &self.tcb }
    }
}

impl<'a> Report<'a> {
    /// The window that the peer advertised last, bytes.
    #[inline]
    pub fn receive_window(self) -> u64 {
        self.tcb.sender.space.rwnd
    }

    /// Smoothed round-trip time (RFC 6298); none before the first sample.
    #[inline]
    pub fn srtt(self) -> Option<Duration> {
        self.tcb.sender.rtt.srtt()
    }

    /// The retransmission timeout in force, backoff included.
    #[inline]
    pub fn rto(self) -> Duration {
        self.tcb.sender.rtt.rto()
    }

    /// Returns the rate of delivery that the last ACK showed, if [measured](Connection::measure_rates).
    #[inline]
    pub fn rate_sample(self) -> Option<RateSample> {
        self.tcb.sender.rates.as_ref().and_then(|rates| rates.last)
    }

    /// The rate at which data leave now, headers included; none: as fast as the windows allow.
    #[inline]
    pub fn pacing_rate(self) -> Option<Rate> {
        let Tcb { sender, cx, .. } = &self.tcb;
        sender.window.pacing_rate(sender.paced(cx), &cx.config)
    }

    /// The offset of the byte that has this sequence number among those that this end sends.
    #[inline]
    pub fn offset_of(self, seq: Seq) -> u64 {
        seq.offset_near(self.tcb.wire.iss, self.tcb.sender.space.una + 1).saturating_sub(1)
    }

    /// The offset of the byte that has this sequence number among those of the peer, and up to where data have arrived from there
    /// without a gap: whoever drives the connection keeps that part of a segment. None from before the peer's first byte.
    #[inline]
    pub fn received_from(self, seq: Seq) -> Option<(u64, u64)> {
        let start = self.tcb.wire.peers_offset(seq, self.tcb.receiver.nxt())?;
        Some((start, self.tcb.receiver.reach(start)))
    }

    /// Whether the handshake was completed once.
    #[inline]
    pub fn has_been_established(self) -> bool {
        self.life.state.is_synchronised() || self.tcb.sender.space.rwnd_largest > 0
    }

    /// Returns the limit of this end's sending, after [`transmit`](Connection::transmit) has given `None`; `None`
    /// before it opens, and after all data is acknowledged.
    #[inline]
    pub fn send_limit(self) -> Option<SendLimit> {
        if self.life.state.is_synchronised() {
            return self.tcb.sender.limit(&self.tcb.cx);
        }
        matches!(self.life.state, State::SynSent | State::SynReceived).then_some(SendLimit::StartUp)
    }

    /// When the retransmission timer was started, or the last partial ACK came, before it expired; none if no losses are
    /// being repaired that it showed.
    #[inline]
    pub fn stalled_since(self) -> Option<Time> {
        self.tcb.sender.losses.stalled_since()
    }

    /// Whether both ends opened it as a subflow.
    #[inline]
    pub fn is_subflow(self) -> bool {
        self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.is_agreed)
    }

    /// Returns its configuration.
    #[inline]
    pub fn config(self) -> &'a Config {
        &self.tcb.cx.config
    }

    /// Time until a closed window is probed, `backoff` times as long as the first (RFC 9293 §3.8.6.1).
    #[inline]
    pub fn probe_delay(self, backoff: u32) -> Duration {
        let rto = &self.config().rto;
        (self.rto().max(rto.persist_min) * u64::from(backoff)).min(rto.persist_max)
    }

    /// Whether new data may be offered.
    #[inline]
    pub fn takes_data(self) -> bool {
        let awaits_fourth = self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.awaits_fourth);
        self.life.state.is_synchronised()
            && self.life.sends_data()
            && !self.tcb.sender.space.is_closing
            && !awaits_fourth
    }

    /// The window in a segment of the peer, bytes.
    #[inline]
    pub fn window_in(self, segment: &Segment) -> u64 {
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.tcb.cx.agreed.snd_shift };
        u64::from(segment.window) << shift
    }

    /// Payload of a full segment, bytes.
    #[inline]
    pub fn smss(self) -> u64 {
        self.tcb.sender.space.smss()
    }

    /// Payload of a full segment of the next data that are offered, bytes. The first data of a subflow may have less room.
    #[inline]
    pub fn next_segment(self) -> u64 {
        let space = &self.tcb.sender.space;
        self.tcb.sender.extras.full_segment_at(space.offered, space)
    }

    /// Whether the first data repeat the keys of the handshake of a subflow.
    #[inline]
    pub(crate) fn repeats_keys(self) -> bool {
        self.mapped().is_some_and(|mapped| mapped.repeats_keys)
    }

    /// Variation of the round-trip time (RFC 6298).
    #[inline]
    pub fn rttvar(self) -> Duration {
        self.tcb.sender.rtt.rttvar()
    }

    /// Bytes offered that have not left.
    #[inline]
    pub fn unsent_bytes(self) -> u64 {
        let space = &self.tcb.sender.space;
        space.offered.saturating_sub(space.nxt)
    }

    /// Bytes that the send buffer has room for.
    #[inline]
    pub fn buffer_room(self) -> u64 {
        let space = &self.tcb.sender.space;
        (space.una + space.buffer).saturating_sub(space.offered)
    }

    /// Whether losses are being repaired.
    #[inline]
    pub fn is_repairing(self) -> bool {
        self.tcb.sender.losses.is_repairing()
    }

    /// Whether any of the unacknowledged data [start, end) were given to this subflow.
    #[inline]
    pub fn carries(self, start: u64, end: u64) -> bool {
        self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.carries(start, end))
    }

    /// The state of a subflow, if it is one.
    #[inline]
    pub(crate) fn mapped(self) -> Option<&'a Mapped> {
        self.tcb.sender.extras.mapped()
    }

    /// Returns an instant before which an established connection does not give up, unless a reset arrives;
    /// [`Time::NEVER`]: it never gives up. Nothing is due before `now`; the state may be a later one.
    #[inline]
    pub fn gives_up_from(self, now: Time) -> Time {
        let (sender, cx) = (&self.tcb.sender, &self.tcb.cx);
        // A timer that starts later ends later than its shortest time from now.
        let unanswered = cx.config.keepalive.map_or(Time::NEVER, |keepalive| {
            cx.timers.get(Timer::KEEPALIVE).min(now + keepalive.idle.min(keepalive.interval))
        });
        sender.losses.gives_up_from(now, sender.extras.has_feedback(), &sender.rtt, cx).min(unanswered)
    }

    /// Reports the values inside the congestion control. Reading them changes nothing.
    #[inline]
    pub fn inside_cc(self, insides: &mut Insides<'_>) {
        self.tcb.sender.window.cc.inside(insides);
    }
}
