//! Freezes senders while the receiver is out of reach, like M-TCP (K. Brown and S. Singh, "M-TCP: TCP for mobile
//! cellular networks", 1997; RFC 3135 §3.2.2).
//!
//! # How it works
//!
//! While the link behind the node is down, or there is no route, the node holds arriving packets and closes the
//! sender's window by a separate acknowledgement. When the link is back it passes the held packets on, and opens the
//! window to the receiver's. A sender with a closed window waits and probes. It does not take the outage for
//! congestion, and continues with its old window.
//!
//! Datagrams, and connections without an acknowledgement so far, are not held: their packets enter the link's queue as
//! usual.
//!
//! # Position on the path
//!
//! At the node in front of the link with outages, on the path of both directions. The nearer the sender is, the less
//! data must be held.
//!
//! # When it helps
//!
//! After an outage longer than a timeout, there is no timeout, no backed-off timer and no small window.
//!
//! # When it hurts
//!
//! A sender that undoes needless reductions, such as Linux, gains little: see the measurements. Packets under way when
//! the link went down stay lost, unless the link keeps them. The held packets enter the link's queue all together.

use crate::dictionary::Cause;
use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox, Side, Way};
use crate::packet::Packet;
use bentpipe_tcp::{Ecn, Flags, Options, Segment};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Seq, Time};
use std::collections::VecDeque;

settings! {
    /// Freezing of senders while a link is down.
    pub struct FreezeConfig {
        /// Direction of the data that is held.
        direction: Way = Way::ToReceiver;
        /// Bytes that it holds per connection. Further bytes are lost.
        buffer: u64 as Bytes = 6_291_456, "as `split`";
        /// Connections that it can freeze at the same time. Packets of other connections pass unchanged.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
    }
}

/// Time between checks for a route.
const LOOK: Duration = Duration::from_millis(10);

/// Freezing at a node.
#[derive(Clone, Debug)]
pub struct Freeze {
    config: FreezeConfig,
    sessions: Sessions<Stream>,
    held: usize,
}

/// One direction of a connection's data.
#[derive(Clone, Debug)]
struct Stream {
    /// Latest acknowledgement of the receiver, without its data.
    latest: Segment,
    /// Packets that wait for the link, their bytes, and the end of their data.
    held: VecDeque<Packet>,
    bytes: u64,
    end: Seq,
    last_packet: Time,
}

impl Freeze {
    pub(crate) fn new(config: &FreezeConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, sessions: Sessions::default(), held: 0 }
    }

    /// Processes a segment of the receiver for data with the key `back`. Returns whether its window must be hidden from
    /// the sender.
    fn on_answer(&mut self, back: u64, segment: &Segment, now: Time) -> bool {
        if !segment.flags.has(Flags::ACK) {
            return false;
        }
        // The ECN flags of the receiver stay: some headers count marks (RFC 9768).
        let flags = Flags::ACK.with_ace(segment.flags.ace());
        let latest = Segment { len: 0, flags, ecn: Ecn::NotEct, options: Options::None, ..*segment };
        if let Some(stream) = self.sessions.get_mut(back) {
            (stream.latest, stream.last_packet) = (latest, now);
            return !stream.held.is_empty();
        }
        if self.sessions.len() < self.config.sessions as usize {
            let (held, end) = (VecDeque::new(), segment.ack);
            self.sessions.insert(back, Stream { latest, held, bytes: 0, end, last_packet: now });
            self.sessions.arm(back, now + self.config.idle);
        }
        false
    }

    /// Forwards or holds data.
    fn on_data(&mut self, key: u64, packet: Packet, segment: &Segment, cx: &mut Context<'_>) {
        let Some(stream) = self.sessions.get_mut(key) else { return cx.forward(packet) };
        stream.last_packet = cx.now;
        if stream.held.is_empty() {
            let back_at = back_at(&packet, cx);
            if back_at <= cx.now {
                return cx.forward(packet);
            }
            stream.tell(&packet, 0, cx);
            stream.end = segment.seq;
            self.sessions.arm(key, back_at);
        }
        let Some(stream) = self.sessions.get_mut(key) else { return };
        let end = segment.seq.at(segment.sequence_len());
        if segment.sequence_len() > 0 && (end.value().wrapping_sub(stream.end.value()) as i32) <= 0 {
            // A probe, or data that waits here already.
            stream.tell(&packet, 0, cx);
            return cx.consume(packet);
        }
        let bytes = packet.size();
        if stream.bytes + bytes > self.config.buffer {
            return cx.drop(packet, Cause::Policy);
        }
        stream.end = end;
        stream.bytes += bytes;
        stream.held.push_back(packet);
        self.held += 1;
    }

    /// Forwards the held packets.
    fn release(&mut self, key: u64, is_open: bool, cx: &mut Context<'_>) {
        let Some(stream) = self.sessions.get_mut(key) else { return };
        if let (Some(packet), true) = (stream.held.front(), is_open) {
            let (packet, window) = (*packet, stream.latest.window);
            stream.tell(&packet, window, cx);
        }
        self.held -= stream.held.len();
        stream.bytes = 0;
        stream.held.drain(..).for_each(|packet| cx.forward(packet));
    }
}

impl Stream {
    /// Sends the sender of `packet` its window.
    fn tell(&self, packet: &Packet, window: u16, cx: &mut Context<'_>) {
        if let Some(answer) = cx.answer(packet, &Segment { window, ..self.latest }) {
            cx.emit(answer);
        }
    }
}

/// Returns the time of the next check whether the packet can leave. The present means that it can, or is at its
/// destination.
fn back_at(packet: &Packet, cx: &mut Context<'_>) -> Time {
    match cx.link_of(packet) {
        Some(link) => cx.link(link).up_at,
        None if cx.round_trip(packet).is_none() => cx.now + LOOK,
        None => cx.now,
    }
}

impl Middlebox for Freeze {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        let (key, side) = (packet.conversation(), Side::origin_of(&packet));
        // The window of a SYN is not scaled.
        if segment.flags.has_any(Flags::RST.with(Flags::SYN)) {
            for key in [key, key ^ 1] {
                self.release(key, false, cx);
                self.sessions.remove(key);
            }
            return cx.forward(packet);
        }
        let is_answered = |side: Side| self.config.direction.is_from(side);
        let (holds, answers) = (is_answered(side), is_answered(side.across()));
        let is_shut = answers && self.on_answer(key ^ 1, &segment, cx.now);
        let packet = if is_shut { cx.rewrite(packet, &Segment { window: 0, ..segment }) } else { packet };
        if holds {
            self.on_data(key, packet, &segment, cx);
        } else {
            cx.forward(packet);
        }
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.sessions.pop_due(cx.now) {
            let Some(stream) = self.sessions.get_mut(key) else { continue };
            let idle = stream.last_packet + self.config.idle;
            if let Some(packet) = stream.held.front().copied() {
                let back_at = back_at(&packet, cx);
                if back_at > cx.now {
                    self.sessions.arm(key, back_at);
                    continue;
                }
                self.release(key, true, cx);
            } else if idle <= cx.now {
                self.sessions.remove(key);
            }
            self.sessions.arm(key, idle);
        }
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup()
    }

    fn held(&self) -> usize {
        self.held
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }
}
