//! A connection as a subflow of a multipath connection (RFC 8684): the calls of the [meta](crate::multi::Meta) that gives it data.

use super::sender::{Backlog, Mapped, SharedWindow};
use super::{Connection, State};
use crate::multipath::Multipath;
use bentpipe_cc::{CongestionControl, Siblings};
use bentpipe_units::Time;

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
        if !self.report().takes_data() {
            return 0;
        }
        self.tcb.sender.room(now, &mut self.tcb.cx)
    }

    /// `len` bytes wait above: if the congestion window has no room for them, it limits this connection (RFC 7661 §4.3).
    pub fn note_limited(&mut self, now: Time, len: u64) {
        if self.report().takes_data() {
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

    /// Sends an ACK with this option. [`Multipath::Reset`] and [`Multipath::FastClose`] wait for a reset.
    pub fn tell(&mut self, told: Multipath) {
        if matches!(told, Multipath::Reset(_) | Multipath::FastClose) {
            if let Some(mapped) = self.tcb.sender.extras.mapped_mut() {
                mapped.set_farewell(told);
            }
        } else if let Some(mapped) = self.tcb.sender.extras.agreed_mapped_mut() {
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
    /// bytes. With `tells_peer`, the next data have the last mapping, without end.
    pub fn end_signals(&mut self, buffer: u64, window: u64, tells_peer: bool) {
        let tcb = &mut self.tcb;
        if let Some(mapped) = tcb.sender.extras.mapped_mut() {
            mapped.owes_infinite = mapped.is_agreed && tells_peer;
            (mapped.is_agreed, mapped.repeats_keys, mapped.told) = (false, false, None);
            mapped.clear();
        }
        tcb.receiver.bind_window(buffer);
        tcb.sender.space.rwnd = window;
        tcb.sender.space.rwnd_largest = window.max(1);
    }
}

/// The mappings, for the meta only.
impl Connection {
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
