//! Return-link encapsulation (ETSI TS 103 179): packs packets into the bursts of a terminal's windows.
//!
//! A packet that fits has a header of 2 B. A packet in parts has 4 B before its first part and 2 B before each further
//! part. A part without bytes is not begun. The first burst of a window of a return link keeps 3 B for a request.

use crate::grid::Window;
use bentpipe_units::{Duration, Time};

/// Header of a whole packet, bytes.
const WHOLE: u32 = 2;
/// Header of the first part of a packet, bytes.
const FIRST_PART: u32 = 4;
/// Header of each further part, bytes.
const FURTHER_PART: u32 = 2;

/// Windows that a terminal has in a superframe: two by the plan, or one of random access.
pub(crate) const WINDOWS_MAX: usize = 2;

/// Cause of the loss of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Other bursts in the same slots of random access.
    Collision,
    /// A signal below the threshold of the waveform.
    Outage,
    /// A link that is down from this instant on.
    Down(Time),
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// All its parts are in bursts.
    Sent {
        /// End of the burst with the last part.
        at: Time,
        /// Loss of a burst with one of its parts.
        lost: Option<Loss>,
    },
    /// These bytes wait for later windows.
    Waits {
        /// Bytes of the packet that are not in a burst.
        rest: u32,
    },
}

/// Counts of a packer, in bursts and bytes. Padding is `used` - `carried` - `headers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Bursts with data.
    pub bursts: u64,
    /// Bytes of these bursts.
    pub used: u64,
    /// Bytes of packets.
    pub carried: u64,
    /// Bytes of headers, and of the room for requests.
    pub headers: u64,
}

/// Position of a terminal in its windows, and its packet that waits for a later one.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    windows: [Option<Window>; WINDOWS_MAX],
    window: usize,
    burst: u32,
    /// Free bytes of the current burst, once something is in it.
    room: Option<u32>,
    /// Loss of the current burst.
    loss: Option<Loss>,
    rest: u32,
    has_begun: bool,
    /// Loss of a part of the current packet.
    lost: Option<Loss>,
    /// Time of the bursts with its parts, and the end of the last of them. Those of a random block are at one time.
    sending: Duration,
    until: Time,
    counts: Packing,
}

impl Packer {
    /// Replaces the windows by those of the superframe that starts, in order of time. Earlier windows are over.
    pub fn open(&mut self, windows: &[Window]) {
        self.windows = [windows.first().copied(), windows.get(1).copied()];
        (self.window, self.burst, self.room, self.loss) = (0, 0, None, None);
    }

    /// Returns the bytes of the current packet that wait for later windows.
    pub fn rest(&self) -> u32 {
        self.rest
    }

    /// Returns the time of the bursts with parts of the packet that was packed last.
    pub fn sending(&self) -> Duration {
        self.sending
    }

    /// Returns the counts since the start.
    pub fn counts(&self) -> Packing {
        self.counts
    }

    /// Forgets the packet that waits, and all windows. Returns the loss of its parts so far.
    pub fn reset(&mut self) -> Option<Loss> {
        let lost = self.lost;
        *self = Self { counts: self.counts, ..Self::default() };
        lost
    }

    /// Packs the next packet, which came at `now`, into bursts that begin at `now` or later. `fate` returns the
    /// loss of a burst. It is called once for each burst that gets data.
    pub fn offer(&mut self, now: Time, bytes: u32, fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        (self.rest, self.has_begun, self.lost) = (bytes, false, None);
        (self.sending, self.until) = (Duration::ZERO, Time::ZERO);
        self.pack(now, fate)
    }

    /// Goes on with the packet that waits, wholly or in part.
    pub fn resume(&mut self, now: Time, fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        self.pack(now, fate)
    }

    /// Returns the start of the first burst from `now` on that has room for the begin of a packet.
    pub fn begins(&self, now: Time) -> Option<Time> {
        let mut windows = self.windows.iter().enumerate().skip(self.window);
        windows.find_map(|(index, window)| {
            let window = (*window)?;
            let current = if index == self.window { self.burst } else { 0 };
            let bursts = current.max(window.burst_from(now))..window.bursts();
            let room = |burst: u32| match self.room {
                Some(room) if (index, burst) == (self.window, self.burst) => room,
                _ => window.payload() - window.reserved(burst),
            };
            bursts.into_iter().find(|burst| room(*burst) > FIRST_PART).map(|burst| window.begin(burst))
        })
    }

    fn pack(&mut self, now: Time, mut fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        // The first burst of the window that has not begun.
        let mut next = None;
        while let Some(window) = self.windows.get(self.window).and_then(Option::as_ref) {
            let first = *next.get_or_insert_with(|| window.burst_from(now));
            if first > self.burst {
                (self.burst, self.room) = (first, None);
            }
            if self.burst >= window.bursts() {
                (self.window, self.burst, self.room) = (self.window + 1, 0, None);
                next = None;
                continue;
            }
            let reserved = window.reserved(self.burst);
            let room = self.room.unwrap_or(window.payload() - reserved);
            let Some((bytes, header)) = self.part(room) else {
                (self.burst, self.room) = (self.burst + 1, None);
                continue;
            };
            if self.room.is_none() {
                let loss = fate(window, self.burst);
                self.loss = match loss {
                    Some(Loss::Down(_)) => loss,
                    _ if window.is_lost(self.burst) => Some(Loss::Collision),
                    loss => loss,
                };
                self.counts.bursts += 1;
                self.counts.used += u64::from(window.payload());
                self.counts.headers += u64::from(reserved);
            }
            self.room = Some(room - bytes - header);
            self.counts.carried += u64::from(bytes);
            self.counts.headers += u64::from(header);
            self.rest -= bytes;
            self.has_begun = true;
            self.lost = self.lost.or(self.loss);
            let (begin, end) = (window.begin(self.burst), window.end(self.burst));
            self.sending += end.saturating_since(begin.max(self.until));
            self.until = end;
            if self.rest == 0 {
                let lost = self.lost.take();
                self.has_begun = false;
                return Packed::Sent { at: end, lost };
            }
        }
        Packed::Waits { rest: self.rest }
    }

    /// Returns the bytes and the header of the next part in a burst with `room` bytes.
    fn part(&self, room: u32) -> Option<(u32, u32)> {
        let header = match self.has_begun {
            true => FURTHER_PART,
            false if self.rest.saturating_add(WHOLE) <= room => WHOLE,
            false => FIRST_PART,
        };
        let bytes = self.rest.min(room.checked_sub(header)?);
        (bytes > 0 || self.rest == 0).then_some((bytes, header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::waveforms::BurstLength;
    use proptest::prelude::*;

    /// Bursts of 108 B, 536 us long.
    fn window(first: u32, bursts: u32) -> Window {
        let grid = Grid::of_carriers(Duration::from_micros(26_500), 1_000_000, BurstLength::Short);
        Window::granted(&grid, Time::ZERO, first, bursts, 108)
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    fn offer(packer: &mut Packer, us: u64, bytes: u32) -> Packed {
        packer.offer(at(us), bytes, |_, _| None)
    }

    fn sent(us: u64) -> Packed {
        Packed::Sent { at: at(us), lost: None }
    }

    /// The first burst has 105 B: two whole packets of 40 B take 84 B, a first part of 17 B and its header the rest.
    #[test]
    fn packets_share_bursts() {
        let mut packer = Packer::default();
        packer.open(&[window(2, 3)]);
        assert_eq!(offer(&mut packer, 0, 40), sent(3 * 536));
        assert_eq!(offer(&mut packer, 0, 40), sent(3 * 536));
        assert_eq!(offer(&mut packer, 0, 40), sent(4 * 536));
        let counts = packer.counts();
        assert_eq!((counts.bursts, counts.used, counts.carried, counts.headers), (2, 216, 120, 3 + 2 + 2 + 4 + 2));
        // 108 - 2 - 23 = 83 B are left: 81 B whole.
        assert_eq!(offer(&mut packer, 0, 81), sent(4 * 536));
        assert_eq!(offer(&mut packer, 0, 107), Packed::Waits { rest: 3 });
        let next = Time::ZERO + Duration::from_micros(26_500);
        let grid = Grid::of_carriers(next - Time::ZERO, 1_000_000, BurstLength::Short);
        packer.open(&[Window::granted(&grid, next, 0, 1, 108)]);
        assert_eq!(packer.resume(next, |_, _| None), sent(26_500 + 536));
        // Parts in the last burst of the first superframe and in the first one of the second.
        assert_eq!(packer.sending(), Duration::from_micros(2 * 536));
    }

    /// Three bursts of a random block are read at the end of one superframe.
    #[test]
    fn bursts_of_a_random_block_are_sent_at_one_time() {
        let grid = Grid::of_carriers(Duration::from_micros(26_500), 1_000_000, BurstLength::Short);
        let mut packer = Packer::default();
        packer.open(&[Window::random(&grid, Time::ZERO, 3, 108, 0)]);
        assert_eq!(offer(&mut packer, 0, 300), sent(26_500));
        assert_eq!((packer.counts().bursts, packer.sending()), (3, grid.superframe()));
    }

    /// A first part has 4 B of header: with 4 B of room it is not begun.
    #[test]
    fn a_part_without_bytes_is_not_begun() {
        let mut packer = Packer::default();
        packer.open(&[window(0, 2)]);
        // 105 - 2 - 99 = 4 B are left.
        assert_eq!(offer(&mut packer, 0, 99), sent(536));
        assert_eq!(offer(&mut packer, 0, 3), sent(1072));
        assert_eq!(packer.counts().carried, 102);
        assert_eq!(packer.counts().headers, 3 + 2 + 2);
    }

    /// A burst that has begun takes no packet that came later.
    #[test]
    fn a_packet_waits_for_the_next_burst() {
        let mut packer = Packer::default();
        packer.open(&[window(0, 3)]);
        assert_eq!(offer(&mut packer, 0, 10), sent(536));
        assert_eq!(offer(&mut packer, 536, 10), sent(1072));
        assert_eq!(offer(&mut packer, 537, 10), sent(1608));
        assert_eq!(offer(&mut packer, 1073, 10), Packed::Waits { rest: 10 });
    }

    /// A packet in two windows is lost with a burst of either.
    #[test]
    fn a_lost_burst_takes_all_packets_with_a_part_in_it() {
        let mut packer = Packer::default();
        packer.open(&[window(0, 1), window(10, 1)]);
        let mut asked = 0;
        let mut fate = |window: &Window, _| {
            asked += 1;
            (window.opens() > at(0)).then_some(Loss::Outage)
        };
        assert_eq!(packer.offer(at(0), 50, &mut fate), sent(536));
        let lost = Packed::Sent { at: at(11 * 536), lost: Some(Loss::Outage) };
        assert_eq!(packer.offer(at(0), 80, &mut fate), lost);
        assert_eq!(packer.offer(at(0), 20, &mut fate), lost);
        assert_eq!(asked, 2);
        packer.open(&[window(20, 1)]);
        assert_eq!(packer.offer(at(0), 20, |_, _| None), sent(21 * 536));
    }

    proptest! {
        /// Bytes are conserved, ends do not decrease, and no burst carries more than it has.
        #[test]
        fn bytes_are_conserved(
            windows in prop::collection::vec((0..40u32, 0..10u32), 1..20),
            packets in prop::collection::vec((0..3000u64, 0..2000u32), 0..60),
        ) {
            let mut packer = Packer::default();
            let mut packets = packets.into_iter();
            let (mut offered, mut arrived, mut now) = (0, 0, 0);
            let mut waits = None;
            for (superframe, (first, bursts)) in windows.into_iter().enumerate() {
                packer.open(&[window(first, bursts)]);
                let mut last = Time::ZERO;
                if let Some(size) = waits {
                    match packer.resume(Time::ZERO, |_, _| None) {
                        Packed::Sent { .. } => { arrived += size; waits = None; }
                        Packed::Waits { .. } => continue,
                    }
                }
                now = if superframe == 0 { 0 } else { now };
                for (later, size) in packets.by_ref() {
                    now = (now + later) % 26_500;
                    offered += u64::from(size);
                    match packer.offer(at(now), size, |_, _| None) {
                        Packed::Sent { at: end, .. } => {
                            prop_assert!(end >= last && end >= at(now));
                            (last, arrived) = (end, arrived + u64::from(size));
                        }
                        Packed::Waits { rest } => {
                            prop_assert_eq!(rest, packer.rest());
                            waits = Some(u64::from(size));
                            break;
                        }
                    }
                }
            }
            let counts = packer.counts();
            let partly = waits.map_or(0, |size| size - u64::from(packer.rest()));
            prop_assert_eq!(counts.carried, arrived + partly);
            prop_assert!(counts.carried + counts.headers <= counts.used);
            prop_assert_eq!(counts.used, 108 * counts.bursts);
            prop_assert!(offered >= arrived);
        }
    }
}
