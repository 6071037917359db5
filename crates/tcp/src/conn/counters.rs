//! Counters of a connection.

/// Counters since the connection was made. Every connection keeps them, so rare events have 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent, SYN, FIN and pure ACKs included.
    pub sent_segments: u64,
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Loss episodes that began with duplicate or selective ACKs.
    pub fast_retransmits: u64,
    /// Loss episodes, timeouts among them, that were found to be spurious and undone.
    pub undos: u64,
    /// Spurious timeouts that were undone; part of `undos`.
    pub timeout_undos: u32,
    /// Tail loss probes sent (RFC 8985 §7.3).
    pub tail_loss_probes: u32,
    /// Losses that a tail loss probe repaired (RFC 8985 §7.4.2).
    pub probe_repairs: u32,
    /// Retransmissions that were declared lost.
    pub lost_retransmissions: u32,
    /// ACKs that showed reordering: of data that was sent once and before data that arrived earlier (RFC 8985 §6.2 step 3).
    /// With `recovery.undo_shows_reordering`, also ACKs that showed retransmitted data to be late, not lost.
    pub reorderings: u32,
    /// Segments that arrived.
    pub arrived_segments: u64,
    /// Payload bytes that arrived, duplicates included.
    pub arrived_bytes: u64,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Payload bytes that were given up (best effort).
    pub skipped_bytes: u64,
    /// Segments with payload that arrived and brought nothing new.
    pub duplicate_segments: u64,
    /// Segments with payload that arrived marked (RFC 3168: CE), where marks were agreed on.
    pub ce_segments: u64,
    /// Times that marks reduced the window.
    pub ecn_reductions: u64,
    /// Dummy segments sent; not among the bytes sent.
    pub dummy_segments: u64,
    /// Keepalive probes sent (RFC 9293 §3.8.4).
    pub keepalives: u32,
    /// Segments that asked for a challenge ACK (RFC 5961), whether one left or not.
    pub challenged: u64,
}

/// The sum of two connections.
impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // Written out, so that the compiler misses a new counter.
        let Self {
            sent_segments,
            sent_bytes,
            retransmitted_bytes,
            retransmitted_segments,
            timeouts,
            fast_retransmits,
            undos,
            timeout_undos,
            tail_loss_probes,
            probe_repairs,
            lost_retransmissions,
            reorderings,
            arrived_segments,
            arrived_bytes,
            delivered_bytes,
            skipped_bytes,
            duplicate_segments,
            ce_segments,
            ecn_reductions,
            dummy_segments,
            keepalives,
            challenged,
        } = other;
        self.sent_segments += sent_segments;
        self.sent_bytes += sent_bytes;
        self.retransmitted_bytes += retransmitted_bytes;
        self.retransmitted_segments += retransmitted_segments;
        self.timeouts += timeouts;
        self.fast_retransmits += fast_retransmits;
        self.undos += undos;
        self.timeout_undos += timeout_undos;
        self.tail_loss_probes += tail_loss_probes;
        self.probe_repairs += probe_repairs;
        self.lost_retransmissions += lost_retransmissions;
        self.reorderings += reorderings;
        self.arrived_segments += arrived_segments;
        self.arrived_bytes += arrived_bytes;
        self.delivered_bytes += delivered_bytes;
        self.skipped_bytes += skipped_bytes;
        self.duplicate_segments += duplicate_segments;
        self.ce_segments += ce_segments;
        self.ecn_reductions += ecn_reductions;
        self.dummy_segments += dummy_segments;
        self.keepalives += keepalives;
        self.challenged += challenged;
    }
}
