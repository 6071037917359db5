//! The data to send, in the order of the data: waiting data, acknowledged data, the receive window, and the data to
//! reinject. Each subflow knows the data that it carries.

use std::collections::VecDeque;

/// The sending side of a multipath connection. Positions are offsets in the data.
#[derive(Clone, Debug, Default)]
pub(super) struct DataSender {
    /// First byte that the peer has not acknowledged, and first byte that no subflow was given.
    pub(super) una: u64,
    pub(super) nxt: u64,
    /// Bytes that the application has written.
    pub(super) offered: u64,
    /// The application will write no more.
    pub(super) is_closing: bool,
    /// End of the receive window; it never moves left (RFC 8684 §3.3.4).
    pub(super) edge: u64,
    /// The largest window so far.
    window_largest: u64,
    /// Ranges to be given to a second subflow, in the order in which they were found.
    pub(super) reinject: VecDeque<(u64, u64)>,
    /// The last piece was given with the DATA_FIN.
    pub(super) fin_is_mapped: bool,
    /// A piece smaller than a segment may leave, after the probe timer expired.
    pub(super) may_be_small: bool,
}

impl DataSender {
    /// Bytes that no subflow was given.
    pub(super) fn unsent(&self) -> u64 {
        self.offered - self.nxt
    }

    /// Bytes of new data that the receive window allows.
    pub(super) fn usable(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// The end of the data, once it is known.
    pub(super) fn fin(&self) -> Option<u64> {
        self.is_closing.then_some(self.offered)
    }

    /// Whether all data and the DATA_FIN, which counts as a byte, are acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.is_closing && self.una > self.offered
    }

    /// Bytes of the data that are acknowledged.
    pub(super) fn acked(&self) -> u64 {
        self.una.min(self.offered)
    }

    /// The peer has everything below `ack` (DATA_ACK). Returns whether that is news. An `ack` of data that were never
    /// sent is ignored.
    pub(super) fn on_ack(&mut self, ack: u64) -> bool {
        let end = self.nxt + u64::from(self.is_closing && self.nxt == self.offered);
        if ack <= self.una || ack > end {
            return false;
        }
        self.una = ack;
        self.reinject.retain_mut(|range| {
            range.0 = range.0.max(ack);
            range.0 < range.1
        });
        true
    }

    /// The peer's receive window is `window` bytes from `ack` on. Whether it opened.
    pub(super) fn on_window(&mut self, ack: u64, window: u64) -> bool {
        let edge = ack.saturating_add(window);
        self.window_largest = self.window_largest.max(window);
        let opens = edge > self.edge;
        self.edge = self.edge.max(edge);
        opens
    }

    /// Returns the bytes of new data that a segment of `smss` bytes takes now, 0 if none (RFC 9293 §3.8.6.2.1, as
    /// `SendSpace::squeeze`).
    pub(super) fn next_len(&self, smss: u64) -> u64 {
        let (len, usable) = (self.unsent().min(smss), self.usable());
        if len <= usable {
            return len;
        }
        let is_worthwhile = usable > 0 && (2 * usable >= self.window_largest || self.may_be_small);
        if is_worthwhile {
            usable
        } else {
            0
        }
    }

    /// Returns the data offset of the next `len` new bytes, which a subflow is given now.
    pub(super) fn take_new(&mut self, len: u64) -> u64 {
        let dsn = self.nxt;
        self.nxt += len;
        self.may_be_small = false;
        self.fin_is_mapped = self.is_closing && self.nxt == self.offered;
        dsn
    }

    /// The data [start, end) are to be given to a second subflow.
    pub(super) fn push(&mut self, start: u64, end: u64) {
        let start = start.max(self.una);
        let is_known = self.reinject.iter().any(|range| range.0 <= start && end <= range.1);
        if start < end && !is_known {
            self.reinject.push_back((start, end));
        }
    }

    /// Range number `at` was given to a subflow up to `end`.
    pub(super) fn take_reinjected(&mut self, at: usize, end: u64) {
        let Some(range) = self.reinject.get_mut(at) else { return };
        range.0 = end;
        if range.0 >= range.1 {
            self.reinject.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(offered: u64, edge: u64) -> DataSender {
        DataSender { offered, edge, window_largest: edge, ..DataSender::default() }
    }

    #[test]
    fn acknowledgements_never_fall_and_never_exceed_what_was_sent() {
        let mut sender = sender(1000, 5000);
        assert_eq!(sender.take_new(600), 0);
        assert_eq!([601, 400, 300, 400, 600].map(|ack| sender.on_ack(ack)), [false, true, false, false, true]);
        assert!(!sender.on_ack(1001) && sender.una == 600);
    }

    /// RFC 8684 §3.3.3: the DATA_FIN takes a place in the data.
    #[test]
    fn rfc8684_3_3_3_the_data_fin_is_acknowledged_as_a_byte() {
        let mut sender = DataSender { is_closing: true, ..sender(100, 5000) };
        sender.take_new(60);
        assert!(!sender.on_ack(61), "the end was not sent");
        sender.take_new(40);
        assert!(sender.on_ack(100) && !sender.is_finished());
        assert!(sender.on_ack(101) && sender.is_finished() && sender.acked() == 100);
    }

    #[test]
    fn what_was_acknowledged_is_not_reinjected() {
        let mut sender = sender(1000, 5000);
        sender.take_new(1000);
        for (start, end) in [(0, 100), (300, 500), (320, 400)] {
            sender.push(start, end);
        }
        sender.on_ack(350);
        assert_eq!(sender.reinject, [(350, 500)]);
        sender.take_reinjected(0, 450);
        assert_eq!(sender.reinject, [(450, 500)]);
    }

    /// A second subflow that is lost may have carried older data than the first one.
    #[test]
    fn what_was_acknowledged_is_not_reinjected_in_any_order() {
        let mut sender = sender(2000, 5000);
        sender.take_new(2000);
        for (start, end) in [(1000, 2000), (0, 100), (300, 600)] {
            sender.push(start, end);
        }
        sender.on_ack(500);
        assert_eq!(sender.reinject, [(1000, 2000), (500, 600)]);
    }

    /// RFC 8684 §3.3.4: the edge is that of all data, so an older segment of a slower subflow does not take it back.
    #[test]
    fn rfc8684_3_3_4_the_window_never_moves_left() {
        let mut sender = sender(10_000, 5000);
        let opens =
            [(1000, 3000), (1000, 5000), (500, 4000), (0, 0)].map(|(ack, window)| sender.on_window(ack, window));
        assert_eq!((opens, sender.edge), ([false, true, false, false], 6000));
    }

    /// RFC 9293 §3.8.6.2.1.
    #[test]
    fn silly_pieces_wait() {
        let mut sender = sender(10_000, 5000);
        sender.take_new(4500);
        assert_eq!([sender.next_len(1000), sender.next_len(500)], [0, 500]);
        sender.may_be_small = true;
        assert_eq!(sender.next_len(1000), 500);
        sender.on_window(4500, 5000);
        assert_eq!(sender.next_len(1000), 1000);
    }
}
