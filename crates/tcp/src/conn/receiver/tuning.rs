//! A receive buffer that follows the path: it grows with the bytes that the application reads in one round trip (M.
//! Fisk and W. Feng, "Dynamic right-sizing", 2001). It never shrinks.
//!
//! The buffer of Linux counts memory. At first, the window offers half of it, later the share that payload has in the
//! memory of a segment. The window grows by two segments for each segment that arrives. Data out of order take room in
//! the buffer.

use crate::config::BufferGrowth;
use bentpipe_units::{Duration, Time};

/// Largest window of a SYN, bytes (RFC 7323 §2.2).
const UNSCALED: u64 = 65_535;
/// Whole buffer as a share, and the share before a segment arrives.
const WHOLE: u64 = 256;
const HALF: u64 = WHOLE / 2;
/// Segments of this size or less do not change the share (TCP_MSS_DEFAULT).
const USUAL: u64 = 536;
/// Initial window of a sender that Linux expects, segments.
const EXPECTED: u64 = 10;

/// Size of the receive buffer, and the part of it that is advertised.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    /// Bytes of the buffer; with Linux, of memory.
    buffer: u64,
    limit: u64,
    growth: BufferGrowth,
    smss: u64,
    /// Share of the buffer for payload, 256ths.
    share: u64,
    /// The most that Linux advertises of the buffer (rcv_ssthresh).
    open: u64,
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
    pub(super) fn new(buffer: u64, limit: u64, growth: BufferGrowth, smss: u64) -> Self {
        let mut new = Self {
            buffer,
            limit,
            growth,
            smss,
            share: WHOLE,
            open: buffer,
            most: 0,
            rtt: None,
            timed: None,
            round: None,
        };
        if growth == BufferGrowth::Linux {
            new.share = HALF;
            let window = new.window();
            // Whole segments, and one of them is reserved before the first measurement.
            let whole = window.min(UNSCALED);
            new.open = (whole - whole % smss).max(smss);
            new.most = (EXPECTED * smss).min(window.saturating_sub(smss).max(2 * smss));
        }
        new
    }

    /// The window before anything arrived.
    pub(super) fn first(&self) -> u64 {
        self.open
    }

    /// Payload that the buffer holds.
    fn window(&self) -> u64 {
        self.buffer * self.share / WHOLE
    }

    /// The first segment arrived: its memory decides the share of payload, as the kernel measures it.
    fn measure(&mut self) {
        if self.growth == BufferGrowth::Linux && self.smss > USUAL {
            self.share = (WHOLE * self.smss / memory(self.smss)).max(1);
            self.open = self.open.min(self.window());
            self.most = self.most.min(self.window());
        }
    }

    /// The window up to which it opens: segments that are mostly overhead open it to a part of the largest buffer.
    fn reach(&self) -> u64 {
        let (mut cost, mut reach) = (memory(self.smss) * self.share / WHOLE, u64::MAX);
        while cost > self.smss {
            reach = (reach / 2).min(self.limit * self.share / WHOLE / 2);
            cost /= 2;
        }
        reach
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

    /// `read` bytes were read altogether, and `ahead` bytes beyond the next one are held or missing: the buffer may grow.
    pub(crate) fn tune(&mut self, now: Time, read: u64, ahead: u64) {
        let Some((since, before)) = self.round else {
            self.measure();
            self.round = Some((now, read));
            return;
        };
        if self.rtt.is_none_or(|rtt| now.saturating_since(since) < rtt) {
            return;
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
        self.buffer = self.buffer.max(wanted.saturating_mul(WHOLE) / self.share).min(self.limit);
    }

    /// The bytes that the window and unread data may take together, as a segment arrives: `beyond` and `unread` bytes are held.
    /// And whether the window opened.
    pub(crate) fn offered(&mut self, beyond: u64, unread: u64) -> (u64, bool) {
        if self.growth == BufferGrowth::Twice {
            return (self.buffer, false);
        }
        let free = self.window().saturating_sub(beyond);
        let room = free.saturating_sub(unread).saturating_sub(self.open);
        let opens = room > 0 && self.open <= self.reach();
        if opens {
            self.open += room.min(2 * self.smss);
        }
        (free.min(self.open + unread), opens)
    }
}

/// Bytes of memory that a segment with this payload takes in Linux: a power of two up to a page, then whole pages, for
/// payload, headers, headroom and the kernel's records.
fn memory(payload: u64) -> u64 {
    const PAGE: u64 = 4096;
    /// Headers with timestamps, headroom of a device, `skb_shared_info`.
    const BESIDE: u64 = 52 + 66 + 320;
    const SK_BUFF: u64 = 256;
    let bytes = payload + BESIDE;
    SK_BUFF + if bytes <= PAGE { bytes.next_power_of_two() } else { bytes.next_multiple_of(PAGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// `docs/specs/timestamps-window-scaling.md`, auto-tuning: 100,000 bytes in a round trip ask for 200,000.
    #[test]
    fn buffers_grow_to_twice_what_a_round_trip_brings() {
        let mut tuning = Tuning::new(65_535, 4_000_000, BufferGrowth::Twice, 1000);
        let rtt = Some(Duration::from_millis(500));
        tuning.on_arrival(at(0), 0, 65_535, rtt);
        let mut buffer = |ms, read| {
            tuning.tune(at(ms), read, 0);
            tuning.offered(0, 0).0
        };
        assert_eq!(buffer(0, 0), 65_535);
        assert_eq!(buffer(499, 60_000), 65_535);
        assert_eq!(buffer(500, 100_000), 200_000);
        assert_eq!(buffer(1000, 110_000), 200_000, "never shrinks");
        assert_eq!(buffer(1500, 9_000_000), 4_000_000, "up to the limit");
    }

    /// Linux 6.18 over MTUs of 588 B to 16,052 B: the window of the SYN-ACK, and the largest window of 6 MiB.
    #[test]
    fn linux_offers_half_of_a_buffer_then_the_share_of_payload_in_a_segment() {
        const LARGEST: u64 = 6 << 20;
        for (smss, first, largest) in [
            (536, 65_392, 1_573_068),
            (1000, 65_000, 2_727_936),
            (1448, 65_160, 3_932_160),
            (2000, 64_000, 2_875_392),
            (4000, 64_000, 2_973_696),
            (5000, 65_000, 3_710_976),
            (8000, 64_000, 4_005_888),
            (8948, 62_636, 4_472_832),
            (16_000, 64_000, 4_841_472),
        ] {
            let mut tuning = Tuning::new(131_072, LARGEST, BufferGrowth::Linux, smss);
            assert_eq!(tuning.first(), first, "{smss}");
            tuning.tune(at(0), 0, 0);
            tuning.buffer = LARGEST;
            let found = (0..10_000).map(|_| tuning.offered(0, 0).0).max().unwrap_or(0);
            // Small segments end one step after a quarter.
            assert!(found.abs_diff(largest) <= if smss == 536 { 2 * smss } else { 0 }, "{smss}: {found}");
        }
    }

    /// A round trip that fills the first window brings more than Linux expects, with segments of any size.
    #[test]
    fn a_full_first_window_grows_the_buffer_of_linux() {
        for smss in [536, 1448, 4000, 8000, 8948, 16_000] {
            let mut tuning = Tuning::new(131_072, 6 << 20, BufferGrowth::Linux, smss);
            tuning.on_arrival(at(0), 0, 65_535, Some(Duration::from_millis(500)));
            tuning.tune(at(0), 0, 0);
            tuning.tune(at(500), tuning.first(), 0);
            assert!(tuning.buffer > 131_072, "{smss}");
        }
    }

    /// tcp_rcvbuf_grow of Linux 6.18, by hand: 2 x 40,000 and twice 80,000 x (40,000 - 20,000) / 20,000.
    #[test]
    fn linux_gives_a_sender_in_slow_start_room_to_double_again() {
        let mut tuning = Tuning::new(131_072, 8_000_000, BufferGrowth::Linux, 1000);
        let rtt = Some(Duration::from_millis(500));
        tuning.on_arrival(at(0), 0, 65_535, rtt);
        let mut window = |ms, read, ahead, buffer| {
            tuning.buffer = buffer;
            tuning.tune(at(ms), read, ahead);
            // Windows as large as the bytes that are wanted: a share of 1.
            tuning.share = WHOLE;
            tuning.buffer
        };
        assert_eq!(window(0, 0, 0, 65_535), 65_535);
        assert_eq!(window(500, 10_000, 0, 65_535), 65_535, "no more than at first");
        assert_eq!(window(1000, 30_000, 0, 65_535), 40_000 + 2 * 40_000);
        assert_eq!(window(1500, 70_000, 0, 120_000), 80_000 + 2 * 80_000);
        assert_eq!(window(2000, 115_000, 7000, 240_000), 240_000, "5,000 more: 90,000 + 2 * 11,250 + 7,000 are less");
        assert_eq!(window(2500, 165_000, 0, 1), 100_000 + 2 * 11_111);
        tuning.share = HALF;
        tuning.tune(at(3000), 165_000 + 100_000, 0);
        assert_eq!(tuning.buffer, 2 * (200_000 + 2 * 200_000), "twice the memory of the window");
    }

    /// tcp_grow_window of Linux: two segments of window for each segment that arrives, and data out of order take room.
    #[test]
    fn linux_opens_the_window_by_two_segments_for_each_that_arrives() {
        let mut tuning = Tuning::new(20_000, 4_000_000, BufferGrowth::Linux, 1000);
        tuning.share = WHOLE;
        tuning.buffer = 10_000;
        assert_eq!(tuning.offered(0, 0), (10_000, false));
        tuning.buffer = 15_000;
        let opened = [(12_000, true), (14_000, true), (15_000, true), (15_000, false)];
        assert_eq!([0, 0, 0, 0].map(|beyond| tuning.offered(beyond, 0)), opened);
        assert_eq!([1000, 2000].map(|beyond| tuning.offered(beyond, 0).0), [14_000, 13_000], "behind a gap");
        tuning.buffer = 20_000;
        assert_eq!(tuning.offered(5000, 0), (15_000, false), "no room to open in");
        assert_eq!(tuning.offered(1000, 0), (17_000, true));
        // Unread data take room of the buffer, not of the window.
        assert_eq!([1000, 6000, 20_000].map(|unread| tuning.offered(0, unread).0 - unread), [19_000, 14_000, 0]);
    }

    #[test]
    fn without_timestamps_the_fastest_window_is_the_round_trip() {
        let mut tuning = Tuning::new(65_535, 4_000_000, BufferGrowth::Twice, 1000);
        for (ms, nxt, edge) in
            [(0, 0, 1000), (300, 500, 1500), (900, 1000, 2000), (1400, 2000, 3000), (2100, 3000, 4000)]
        {
            tuning.on_arrival(at(ms), nxt, edge, None);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(500)));
    }
}
