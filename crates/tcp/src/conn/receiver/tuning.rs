//! A receive buffer that grows with the path (J. Semke, J. Mahdavi and M. Mathis 1998): to twice what the application read in
//! one round trip, so that a sender in slow start never fills it. It never shrinks.

use bentpipe_units::{Duration, Time};

/// How large the receive buffer should be.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    limit: u64,
    /// The receiver's estimate of the round-trip time.
    rtt: Option<Duration>,
    /// A window of data is being timed: since when, up to which byte.
    timed: Option<(Time, u64)>,
    /// When the present round began, and how much had been read.
    round: Option<(Time, u64)>,
}

impl Tuning {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, rtt: None, timed: None, round: None }
    }

    /// Data arrived: `nxt` is the next byte expected, `edge` the end of the window that was advertised.
    pub(crate) fn on_arrival(&mut self, now: Time, nxt: u64, edge: u64, echoed: Option<Duration>) {
        if let Some(sample) = echoed {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8));
            return;
        }
        // Without timestamps: a window takes a round trip to fill if the sender uses all of it, else longer.
        match self.timed {
            Some((_, end)) if nxt < end => {}
            timed => {
                if let Some((since, _)) = timed {
                    let sample = now.saturating_since(since);
                    self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
                }
                self.timed = Some((now, edge));
            }
        }
    }

    /// The buffer to have from now on, when `read` bytes were read altogether.
    pub(crate) fn buffer(&mut self, now: Time, read: u64, buffer: u64) -> u64 {
        let Some((since, before)) = self.round else {
            self.round = Some((now, read));
            return buffer;
        };
        if self.rtt.is_none_or(|rtt| now.saturating_since(since) < rtt) {
            return buffer;
        }
        self.round = Some((now, read));
        buffer.max(2 * (read - before)).min(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// `specs/timestamps-window-scaling.md`, auto-tuning: 100,000 bytes in a round trip ask for 200,000.
    #[test]
    fn buffers_grow_to_twice_what_a_round_trip_brings() {
        let mut tuning = Tuning::new(4_000_000);
        let rtt = Some(Duration::from_millis(500));
        tuning.on_arrival(at(0), 0, 65_535, rtt);
        assert_eq!(tuning.buffer(at(0), 0, 65_535), 65_535);
        assert_eq!(tuning.buffer(at(499), 60_000, 65_535), 65_535);
        assert_eq!(tuning.buffer(at(500), 100_000, 65_535), 200_000);
        assert_eq!(tuning.buffer(at(1000), 110_000, 200_000), 200_000, "never shrinks");
        assert_eq!(tuning.buffer(at(1500), 9_000_000, 200_000), 4_000_000, "up to the limit");
    }

    #[test]
    fn without_timestamps_the_fastest_window_is_the_round_trip() {
        let mut tuning = Tuning::new(4_000_000);
        for (ms, nxt, edge) in
            [(0, 0, 1000), (300, 500, 1500), (900, 1000, 2000), (1400, 2000, 3000), (2100, 3000, 4000)]
        {
            tuning.on_arrival(at(ms), nxt, edge, None);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(500)));
    }
}
