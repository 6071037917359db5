//! Extremes of a backlog between two samples.

/// Least and greatest backlog since the last sample, observed before and after each packet that the queue takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    packets: [u64; 2],
    bytes: [u64; 2],
    /// Packets that had found the link free at the start.
    free_packets: u64,
}

impl Levels {
    /// Extremes since an instant with this backlog.
    pub(super) fn since((packets, bytes): (usize, u64)) -> Self {
        Self { packets: [packets as u64; 2], bytes: [bytes; 2], free_packets: 0 }
    }

    /// A plain link only counts the packets that find it free, so that their way is short.
    pub(super) fn with_free_packets(self, free_packets: u64) -> Self {
        Self { free_packets, ..self }
    }

    pub(super) fn free_packets(&self) -> u64 {
        self.free_packets
    }

    /// Cold: most runs record no queues, and their packets only pass the check.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, (packets, bytes): (usize, u64)) {
        for (extremes, value) in [(&mut self.packets, packets as u64), (&mut self.bytes, bytes)] {
            *extremes = [extremes[0].min(value), extremes[1].max(value)];
        }
    }

    /// Least and greatest number of packets.
    pub(super) fn packets(&self) -> [f64; 2] {
        self.packets.map(|packets| packets as f64)
    }

    /// Least and greatest number of bytes.
    pub(super) fn bytes(&self) -> [f64; 2] {
        self.bytes.map(|bytes| bytes as f64)
    }
}
