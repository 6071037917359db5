//! A connection as a subflow of a multipath connection (RFC 8684): the calls of the [meta](crate::multi::Meta) that gives it data.

use super::sender::{Backlog, Mapped, SharedWindow};
use super::{Connection, State};
use crate::config::Config;
use crate::multipath::Multipath;
use crate::segment::{Flags, Segment};
use bentpipe_cc::{CongestionControl, Siblings};
use bentpipe_units::{Duration, Time};

/// Seams for whoever drives several connections as one.
impl Connection {
    /// Makes the connection a subflow that opens with this option of the SYN. With `is_coupled`,
    /// [`couple`](Self::couple) sets the growth of its window. Call this before [`open`](Self::open).
    pub fn begin_subflow(&mut self, opening: Multipath, is_coupled: bool) {
        if self.life.state == State::Closed {
            self.tcb.sender.extras.begin_mapped(Mapped::new(opening, is_coupled));
            self.tcb.receiver.unbind_window();
        }
    }

    /// Sets whether more data wait above than were offered: a driver of several connections offers just what leaves now.
    pub fn set_backlog(&mut self, backlog: Backlog) {
        self.tcb.sender.extras.set_backlog(backlog);
    }

    /// Bytes of new data that would leave now if they were offered; 0 while it takes none.
    pub fn room(&mut self, now: Time) -> u64 {
        if !self.takes_data() {
            return 0;
        }
        self.tcb.sender.room(now, &mut self.tcb.cx)
    }

    /// `len` bytes wait above: if the congestion window has no room for them, it limits this connection (RFC 7661 §4.3).
    pub fn note_limited(&mut self, now: Time, len: u64) {
        if self.takes_data() {
            self.tcb.sender.note_limited(now, len, &mut self.tcb.cx);
        }
    }

    /// Offers `len` bytes more, which are the data from `dsn` on. Nothing is taken after [`close`](Self::close).
    pub fn offer_mapped(&mut self, dsn: u64, len: u64) {
        let start = self.tcb.sender.space.offered;
        self.offer(len);
        let taken = self.tcb.sender.space.offered - start;
        if let Some(mapped) = self.tcb.sender.extras.mapped_mut().filter(|_| taken > 0) {
            mapped.push(start, dsn, taken);
        }
    }

    /// Sets the window and the acknowledgement that all subflows advertise together.
    pub fn share_window(&mut self, shared: SharedWindow) {
        if let Some(mapped) = self.tcb.sender.extras.mapped_mut() {
            mapped.shared = shared;
        }
    }

    /// Sets the increase and the reduction of a coupled window.
    pub fn couple(&mut self, siblings: Siblings) {
        self.tcb.sender.window.cc.on_siblings(siblings);
    }

    /// Halves the window, and the threshold outside slow start, because data of this subflow block others (C. Raiciu et al. 2012).
    /// Returns whether it did: not while losses are repaired.
    pub fn penalise(&mut self) -> bool {
        let sender = &mut self.tcb.sender;
        let (cwnd, ssthresh, smss) = (sender.window.cc.cwnd(), sender.window.cc.ssthresh(), sender.space.smss());
        if sender.losses.is_repairing() || cwnd <= smss {
            return false;
        }
        let half = (cwnd / 2).max(smss);
        let threshold = if cwnd < ssthresh { ssthresh } else { half.max(2 * smss) };
        sender.window.cc.set_window(half, threshold);
        true
    }

    /// Sends a segment without data that the peer must answer, with its window.
    pub fn probe_window(&mut self) {
        self.tcb.wire.pending.window_probe = true;
    }

    /// Sends an ACK with this option.
    pub fn tell(&mut self, told: Multipath) {
        if let Some(mapped) = self.tcb.sender.extras.agreed_mapped_mut() {
            mapped.told = Some(told);
            self.tcb.receiver.ack_soon();
        }
    }

    /// Sends an ACK soon, with the window that all subflows share.
    pub fn announce_window(&mut self) {
        self.tcb.receiver.ack_soon();
    }

    /// Falls back to plain TCP, because the peer or the path does not support multipath options (RFC 8684 §3.7). The
    /// connection then has a receive buffer of `buffer` bytes. `window`: receive window that the peer has advertised,
    /// bytes.
    pub fn end_signals(&mut self, buffer: u64, window: u64) {
        let tcb = &mut self.tcb;
        if let Some(mapped) = tcb.sender.extras.mapped_mut() {
            mapped.is_agreed = false;
            mapped.clear();
        }
        tcb.receiver.bind_window(buffer);
        tcb.sender.space.rwnd = window;
        tcb.sender.space.rwnd_largest = window.max(1);
    }
}

/// Queries of whoever drives several connections as one.
impl Connection {
    /// Whether both ends opened it as a subflow.
    pub fn is_subflow(&self) -> bool {
        self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.is_agreed)
    }

    /// Returns its configuration.
    pub fn config(&self) -> &Config {
        &self.tcb.cx.config
    }

    /// Time until a closed window is probed, `backoff` times as long as the first (RFC 9293 §3.8.6.1).
    pub fn probe_delay(&self, backoff: u32) -> Duration {
        let rto = &self.config().rto;
        (self.rto().max(rto.persist_min) * u64::from(backoff)).min(rto.persist_max)
    }

    /// Whether new data may be offered.
    pub fn takes_data(&self) -> bool {
        let awaits_fourth = self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.awaits_fourth);
        self.life.state.is_synchronised()
            && self.life.sends_data()
            && !self.tcb.sender.space.is_closing
            && !awaits_fourth
    }

    /// The window in a segment of the peer, bytes.
    pub fn window_in(&self, segment: &Segment) -> u64 {
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.tcb.cx.agreed.snd_shift };
        u64::from(segment.window) << shift
    }

    /// Payload of a full segment, bytes.
    pub fn smss(&self) -> u64 {
        self.tcb.sender.space.smss()
    }

    /// Variation of the round-trip time (RFC 6298).
    pub fn rttvar(&self) -> Duration {
        self.tcb.sender.rtt.rttvar()
    }

    /// Bytes offered that have not left.
    pub fn unsent_bytes(&self) -> u64 {
        let space = &self.tcb.sender.space;
        space.offered.saturating_sub(space.nxt)
    }

    /// Bytes that the send buffer has room for.
    pub fn buffer_room(&self) -> u64 {
        let space = &self.tcb.sender.space;
        (space.una + space.buffer).saturating_sub(space.offered)
    }

    /// Whether losses are being repaired.
    pub fn is_repairing(&self) -> bool {
        self.tcb.sender.losses.is_repairing()
    }

    /// Whether any of the unacknowledged data [start, end) were given to this subflow.
    pub fn carries(&self, start: u64, end: u64) -> bool {
        self.tcb.sender.extras.mapped().is_some_and(|mapped| mapped.carries(start, end))
    }
}

/// The mappings, for the meta only.
impl Connection {
    pub(crate) fn mapped(&self) -> Option<&Mapped> {
        self.tcb.sender.extras.mapped()
    }

    /// Forgets the mappings of acknowledged bytes whose data below `data_una` are acknowledged, too.
    pub(crate) fn release(&mut self, data_una: u64) {
        let una = self.tcb.sender.space.una;
        if let Some(mapped) = self.tcb.sender.extras.mapped_mut() {
            mapped.release(una, data_una);
        }
    }

    /// Returns the data that were not yet handed to another subflow, in the order of this one, and notes that they are.
    pub(crate) fn take_stranded(&mut self, data_una: u64, stranded: &mut Vec<(u64, u64)>) {
        let Some(mapped) = self.tcb.sender.extras.mapped_mut() else { return };
        for mapping in mapped.mappings.iter_mut().filter(|mapping| !mapping.is_reinjected && mapping.end() > data_una) {
            mapping.is_reinjected = true;
            stranded.push((mapping.dsn.max(data_una), mapping.end()));
        }
    }
}
