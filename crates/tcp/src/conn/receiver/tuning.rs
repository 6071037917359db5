//! A receive buffer that grows with the path, with what the application read in one round trip (M. Fisk and W. Feng, "Dynamic
//! right-sizing", 2001). It never shrinks.

use crate::config::BufferGrowth;
use bentpipe_units::{Duration, Time};

/// How large the receive buffer should be.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    limit: u64,
    growth: BufferGrowth,
    /// The most that a round trip brought so far; Linux begins with ten segments.
    most: u64,
    /// The receiver's estimate of the round-trip time.
    rtt: Option<Duration>,
    /// A window of data is being timed: since when, up to which byte.
    timed: Option<(Time, u64)>,
    /// When the present round began, and how much had been read.
    round: Option<(Time, u64)>,
}

impl Tuning {
    pub(super) fn new(limit: u64, growth: BufferGrowth, smss: u64) -> Self {
        Self { limit, growth, most: 10 * smss, rtt: None, timed: None, round: None }
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

    /// The buffer to have from now on, when `read` bytes were read altogether, and `ahead` bytes beyond the next one are held or
    /// missing.
    pub(crate) fn buffer(&mut self, now: Time, read: u64, ahead: u64, buffer: u64) -> u64 {
        let Some((since, before)) = self.round else {
            self.round = Some((now, read));
            return buffer;
        };
        if self.rtt.is_none_or(|rtt| now.saturating_since(since) < rtt) {
            return buffer;
        }
        self.round = Some((now, read));
        let brought = read - before;
        let wanted = match self.growth {
            BufferGrowth::Twice => 2 * brought,
            BufferGrowth::Linux if brought <= self.most => 0,
            BufferGrowth::Linux => {
                // Measured a round trip late; a sender that doubled its rate will do so again, twice until the window is used.
                let rise = u128::from(2 * brought) * u128::from(brought - self.most) / u128::from(self.most.max(1));
                self.most = brought;
                (2 * brought).saturating_add((2 * rise).try_into().unwrap_or(u64::MAX)).saturating_add(ahead)
            }
        };
        buffer.max(wanted).min(self.limit)
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
        let mut tuning = Tuning::new(4_000_000, BufferGrowth::Twice, 1000);
        let rtt = Some(Duration::from_millis(500));
        tuning.on_arrival(at(0), 0, 65_535, rtt);
        assert_eq!(tuning.buffer(at(0), 0, 0, 65_535), 65_535);
        assert_eq!(tuning.buffer(at(499), 60_000, 0, 65_535), 65_535);
        assert_eq!(tuning.buffer(at(500), 100_000, 0, 65_535), 200_000);
        assert_eq!(tuning.buffer(at(1000), 110_000, 0, 200_000), 200_000, "never shrinks");
        assert_eq!(tuning.buffer(at(1500), 9_000_000, 0, 200_000), 4_000_000, "up to the limit");
    }

    /// tcp_rcvbuf_grow of Linux 6.18, by hand: 2 x 40,000 and twice 80,000 x (40,000 - 20,000) / 20,000.
    #[test]
    fn linux_gives_a_sender_in_slow_start_room_to_double_again() {
        let mut tuning = Tuning::new(4_000_000, BufferGrowth::Linux, 1000);
        let rtt = Some(Duration::from_millis(500));
        tuning.on_arrival(at(0), 0, 65_535, rtt);
        let mut buffer = |ms, read, ahead, buffer| tuning.buffer(at(ms), read, ahead, buffer);
        assert_eq!(buffer(0, 0, 0, 65_535), 65_535);
        assert_eq!(buffer(500, 10_000, 0, 65_535), 65_535, "no more than at first");
        assert_eq!(buffer(1000, 30_000, 0, 65_535), 40_000 + 2 * 40_000);
        assert_eq!(buffer(1500, 70_000, 0, 120_000), 80_000 + 2 * 80_000);
        assert_eq!(buffer(2000, 115_000, 7000, 240_000), 240_000, "5,000 more: 90,000 + 2 * 11,250 + 7,000 are less");
        assert_eq!(buffer(2500, 165_000, 0, 1), 100_000 + 2 * 11_111);
    }

    #[test]
    fn without_timestamps_the_fastest_window_is_the_round_trip() {
        let mut tuning = Tuning::new(4_000_000, BufferGrowth::Twice, 1000);
        for (ms, nxt, edge) in
            [(0, 0, 1000), (300, 500, 1500), (900, 1000, 2000), (1400, 2000, 3000), (2100, 3000, 4000)]
        {
            tuning.on_arrival(at(ms), nxt, edge, None);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(500)));
    }
}
