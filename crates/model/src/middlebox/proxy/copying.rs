//! Middleboxes that keep copies of the data of passing connections: state per direction, timers, and the end of both.

use super::copies::Copies;
use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_tcp::{Flags, Segment};
use bentpipe_units::{Duration, Time};
use std::fmt::Debug;

/// One direction of a connection, as a middlebox with copies of its data treats it.
pub trait Direction: Debug + Sized {
    /// Settings of the middlebox.
    type Config: Copy + Debug;
    /// Timeouts in a row after which its state is discarded.
    const TIMEOUTS_MAX: u32;

    /// Returns the time without a packet after which its state is discarded.
    fn idle(config: &Self::Config) -> Duration;

    /// Processes a passing SYN or SYN-ACK, which may begin a direction.
    fn on_syn(all: &mut Copying<Self>, packet: &Packet, segment: &Segment, cx: &mut Context<'_>);

    /// Returns its copies.
    fn copies(&mut self) -> &mut Copies;

    /// Whether its data and acknowledgements are processed.
    fn is_open(&self) -> bool {
        true
    }

    /// Processes an acknowledgement of its receiver. Returns whether the packet is forwarded.
    fn on_ack(&mut self, packet: &mut Packet, segment: &Segment, config: &Self::Config, cx: &mut Context<'_>) -> bool;

    /// Processes data or a FIN of its sender. Returns whether the packet is forwarded.
    fn on_data(&mut self, segment: &Segment, config: &Self::Config, cx: &mut Context<'_>) -> bool;

    /// Processes a segment of its sender without data, after the copies have noted it.
    fn on_empty(&mut self, _segment: &Segment, _config: &Self::Config, _cx: &mut Context<'_>) {}

    /// Returns the time when the oldest copy counts as lost.
    fn timeout(&self, config: &Self::Config) -> Option<Time>;

    /// Processes that timeout.
    fn on_timeout(&mut self, config: &Self::Config, cx: &mut Context<'_>);

    /// Returns the acknowledged bytes that the receiver does not have.
    fn owed(&self) -> u64 {
        0
    }
}

/// A middlebox that keeps copies, at a node.
#[derive(Clone, Debug)]
pub struct Copying<D: Direction> {
    pub(super) config: D::Config,
    pub(super) sessions: Sessions<D>,
    lost_bytes: u64,
}

impl<D: Direction> Copying<D> {
    pub(crate) fn new(config: &D::Config, _seed: u64, _component: &str) -> Self {
        Self { config: *config, sessions: Sessions::default(), lost_bytes: 0 }
    }

    /// Begins a direction, in place of an earlier one.
    pub(super) fn begin(&mut self, packet: &Packet, direction: D, cx: &mut Context<'_>) {
        self.remove(packet.conversation(), cx);
        cx.keep(packet);
        self.sessions.insert(packet.conversation(), direction);
    }

    fn remove(&mut self, key: u64, cx: &mut Context<'_>) {
        if let Some(mut direction) = self.sessions.remove(key) {
            self.lost_bytes += direction.owed();
            cx.let_go(&direction.copies().from_sender);
        }
    }

    pub(super) fn arm(&mut self, key: u64) {
        if let Some(direction) = self.sessions.get_mut(key) {
            let idle = direction.copies().last_packet + D::idle(&self.config);
            let due = direction.timeout(&self.config).map_or(idle, |due| due.min(idle));
            self.sessions.arm(key, due);
        }
    }
}

impl<D: Direction> Middlebox for Copying<D> {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        if segment.flags.has(Flags::SYN) {
            D::on_syn(self, &packet, &segment, cx);
            return cx.forward(packet);
        }
        let (key, back) = (packet.conversation(), packet.conversation() ^ 1);
        let mut goes_on = true;
        if let Some(direction) = self.sessions.get_mut(back).filter(|direction| direction.is_open()) {
            direction.copies().last_packet = cx.now;
            goes_on = direction.on_ack(&mut packet, &segment, &self.config, cx);
            let copies = direction.copies();
            if copies.fin_at.is_some_and(|fin| copies.acked > fin) {
                self.remove(back, cx);
            }
        }
        if let Some(direction) = self.sessions.get_mut(key).filter(|direction| direction.is_open()) {
            direction.copies().last_packet = cx.now;
            direction.copies().note(&segment);
            if segment.sequence_len() > 0 && !segment.is_dummy() {
                goes_on = direction.on_data(&segment, &self.config, cx);
            } else {
                direction.on_empty(&segment, &self.config, cx);
            }
        }
        if segment.flags.has(Flags::RST) {
            self.remove(key, cx);
            self.remove(back, cx);
        }
        if goes_on {
            cx.forward(packet);
        } else if segment.sequence_len() > 0 {
            cx.accept(packet);
        } else {
            cx.consume(packet);
        }
        self.arm(key);
        self.arm(back);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.sessions.pop_due(cx.now) {
            let Some(direction) = self.sessions.get_mut(key) else { continue };
            if direction.timeout(&self.config).is_some_and(|due| due <= cx.now) {
                direction.copies().backoff += 1;
                direction.on_timeout(&self.config, cx);
            }
            let copies = direction.copies();
            if copies.backoff > D::TIMEOUTS_MAX || copies.last_packet + D::idle(&self.config) <= cx.now {
                self.remove(key, cx);
            } else {
                self.arm(key);
            }
        }
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup()
    }

    fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}
