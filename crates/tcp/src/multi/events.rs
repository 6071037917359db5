//! Events and counters of a multipath connection.

use crate::SubflowReset;

/// Reports of a multipath connection to its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiEvent {
    /// The first subflow is open: data may flow.
    Established,
    /// This subflow has joined.
    Joined(usize),
    /// This subflow does not deliver: its data are given to others.
    Failed(usize),
    /// This subflow delivers again.
    Restored(usize),
    /// This subflow is closed, by either end.
    Left(usize),
    /// This subflow is reset, by either end, for this reason.
    Reset(usize, SubflowReset),
    /// This subflow is to join again, and its connection was used before: the driver replaces the connection at this end, and
    /// calls [`join`](super::Meta::join).
    Rejoins(usize),
    /// Data were given to a second subflow.
    Reinjected {
        /// Offset of the first byte.
        dsn: u64,
        /// Bytes.
        len: u64,
        /// The subflow that carried them; `None`: it was closed.
        from: Option<usize>,
        /// The subflow that carries them, too.
        to: usize,
    },
    /// The window of this subflow was halved, because its data blocked the receive window.
    Penalised(usize),
    /// The peer's window closed; data offset acknowledged.
    ZeroWindow(u64),
    /// The peer does not know multipath connections, or its options were taken away: plain TCP from here on (RFC 8684 §3.7).
    FellBack,
    /// The peer has sent all it will send, and all of it was delivered.
    PeerFinished,
    /// Both directions are finished, and every subflow is closed.
    Closed,
    /// All subflows were given up; data offset that was never acknowledged.
    Aborted(u64),
}

/// Counters of a multipath connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultiCounters {
    /// Payload bytes that arrived on all subflows, duplicates included.
    pub arrived_bytes: u64,
    /// Bytes of the data delivered in order.
    pub delivered_bytes: u64,
    /// Payload bytes that arrived and brought nothing new.
    pub data_duplicate_bytes: u64,
    /// Bytes given to a second subflow.
    pub reinjected_bytes: u64,
    /// Segments given to a second subflow because they blocked the receive window; part of the bytes reinjected.
    pub opportunistic: u64,
    /// Windows that were halved for that.
    pub penalties: u64,
    /// Probes of a closed receive window.
    pub window_probes: u64,
    /// Most bytes held beyond a hole in the data.
    pub held_bytes_max: u64,
    /// Segments that arrived beyond a hole in the data; the most between two advances.
    pub reordering_depth_max: u64,
}

/// The sum of two connections.
impl std::ops::AddAssign for MultiCounters {
    fn add_assign(&mut self, other: Self) {
        // Written out, so that the compiler misses a new counter.
        let Self {
            arrived_bytes,
            delivered_bytes,
            data_duplicate_bytes,
            reinjected_bytes,
            opportunistic,
            penalties,
            window_probes,
            held_bytes_max,
            reordering_depth_max,
        } = other;
        self.arrived_bytes += arrived_bytes;
        self.delivered_bytes += delivered_bytes;
        self.data_duplicate_bytes += data_duplicate_bytes;
        self.reinjected_bytes += reinjected_bytes;
        self.opportunistic += opportunistic;
        self.penalties += penalties;
        self.window_probes += window_probes;
        self.held_bytes_max = self.held_bytes_max.max(held_bytes_max);
        self.reordering_depth_max = self.reordering_depth_max.max(reordering_depth_max);
    }
}

/// Facts of a subflow that its connection does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowFacts {
    /// Times that it was open.
    pub joins: u64,
    /// Times that it did not deliver.
    pub failures: u64,
    /// Bytes that it was given although others carried them.
    pub reinjected_bytes: u64,
    /// Bytes that it was the first to bring to the data of the receiver.
    pub delivered_bytes: u64,
    /// Whether it is used only if no other subflow is usable.
    pub is_backup: bool,
    /// Whether it is known not to deliver.
    pub is_failed: bool,
}
