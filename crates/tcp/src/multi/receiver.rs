//! The data that arrived on all subflows, in the order of the data, and the one receive buffer (RFC 8684 §3.3.4).
//!
//! Positions are offsets in the data, and mappings give the positions of bytes. Bytes count as soon as they arrive,
//! even if bytes before them are missing in their subflow. (Linux waits until they are in order in their subflow, too.)

use super::events::MultiCounters;
use super::MultiConfig;
use crate::conn::receiver::Receiver;
use crate::conn::timers::Timers;
use crate::{AckPolicy, SharedWindow};
use bentpipe_units::{Duration, Time};

/// The receiving side of a multipath connection: that of a connection, over data instead of a subflow.
#[derive(Clone, Debug)]
pub(super) struct DataReceiver {
    data: Receiver,
    /// Delayed ACKs belong to the subflows: these timers are not looked at.
    timers: Timers,
    /// Segments that arrived beyond a hole since the data advanced last.
    depth: u64,
}

impl DataReceiver {
    /// A receiver of segments of `smss` bytes.
    pub(super) fn new(config: &MultiConfig, smss: u32) -> Self {
        let limit = config.receive_buffer;
        let start = config.auto_buffer.map(|start| (start.min(limit), config.buffer_growth));
        Self { data: Receiver::new(AckPolicy::default(), smss, limit, start), timers: Timers::stopped(), depth: 0 }
    }

    /// The data [dsn, dsn + len) arrived on a subflow, and end there if `is_fin`. `rtt`: the longest round-trip time of the subflows
    /// that timestamps show. Returns the bytes that were new, and whether they filled a hole before data that were held.
    pub(super) fn on_data(
        &mut self,
        now: Time,
        dsn: u64,
        len: u64,
        is_fin: bool,
        rtt: Option<Duration>,
        counters: &mut MultiCounters,
    ) -> (u64, bool) {
        let before = self.data.nxt() + self.data.beyond();
        self.data.tune_by(now, rtt);
        let arrival = self.data.on_data(now, dsn, len, is_fin, &mut self.timers);
        self.data.offer();
        self.depth = if arrival.delivered > 0 { 0 } else { self.depth + u64::from(arrival.is_new && len > 0) };
        let new = self.data.nxt() + self.data.beyond() - before;
        counters.arrived_bytes += len;
        counters.delivered_bytes += arrival.delivered;
        counters.data_duplicate_bytes += len - new;
        counters.held_bytes_max = counters.held_bytes_max.max(self.data.beyond());
        counters.reordering_depth_max = counters.reordering_depth_max.max(self.depth);
        (new, arrival.delivered > len)
    }

    /// Returns the state of all data that every subflow signals to the peer.
    pub(super) fn shared(&mut self, shift: u8, fin: Option<u64>) -> SharedWindow {
        self.data.window(shift);
        SharedWindow { data_ack: self.data.ack_offset(), window: self.data.room(), fin }
    }

    /// Hands up to `bytes` bytes to the application. Returns the bytes handed over, and whether the window opens enough
    /// that the peer needs an update.
    pub(super) fn read(&mut self, bytes: u64) -> (u64, bool) {
        self.data.on_ack_sent(&mut self.timers);
        let taken = self.data.read(bytes);
        (taken, self.data.must_ack_now())
    }

    pub(super) fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.data.set_reads_at_once(reads_at_once);
    }

    pub(super) fn reads_at_once(&self) -> bool {
        self.data.reads_at_once()
    }

    /// Bytes held beyond a hole.
    pub(super) fn held(&self) -> u64 {
        self.data.beyond()
    }

    /// The next byte expected.
    pub(super) fn nxt(&self) -> u64 {
        self.data.nxt()
    }

    /// Whether everything up to the DATA_FIN arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.data.is_finished()
    }
}
