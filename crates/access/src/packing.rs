//! Return-link encapsulation (ETSI TS 103 179): packs packets into the bursts of a terminal's windows.
//!
//! A packet that fits has a header of 2 B. A packet in parts has 4 B before its first part and 2 B before each further
//! part. A part without bytes is not begun. The first burst of a window keeps 3 B for a request.

use crate::grid::Window;
use bentpipe_units::Time;

/// Header of a whole packet, bytes.
const WHOLE: u32 = 2;
/// Header of the first part of a packet, bytes.
const FIRST_PART: u32 = 4;
/// Header of each further part, bytes.
const FURTHER_PART: u32 = 2;
/// Room for a request or report in the first burst of a window, bytes.
pub(crate) const REQUEST: u32 = 3;

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

/// What became of a packet.
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

/// Counts of what a packer did, in bursts and bytes. Padding is `used` - `carried` - `headers`.
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

/// Position of a terminal in its windows, and the packet of which a part has left.
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

    /// Returns the counts since the start.
    pub fn counts(&self) -> Packing {
        self.counts
    }

    /// Forgets the packet of which a part has left, and all windows. Returns the loss of its parts so far.
    pub fn reset(&mut self) -> Option<Loss> {
        let lost = self.lost;
        *self = Self { counts: self.counts, ..Self::default() };
        lost
    }

    /// Packs the next packet, which came at `now`, into bursts that begin at `now` or later. `fate` tells whether a
    /// burst is lost. It is called once for each burst that gets data.
    pub fn offer(&mut self, now: Time, bytes: u32, fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        (self.rest, self.has_begun, self.lost) = (bytes, false, None);
        self.pack(now, fate)
    }

    /// Goes on with the packet of which a part, or all, waits.
    pub fn resume(&mut self, now: Time, fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        self.pack(now, fate)
    }

    /// Returns the opening of the next window in which a packet that comes at `now` begins: `now` if it is open.
    pub fn opening(&self, now: Time) -> Option<Time> {
        let windows = self.windows.iter().flatten();
        windows.filter(|window| window.burst_from(now) < window.bursts()).map(|window| window.opens().max(now)).next()
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
                _ => window.payload().saturating_sub(if burst == 0 { REQUEST } else { 0 }),
            };
            bursts.into_iter().find(|burst| room(*burst) > FIRST_PART).map(|burst| window.begin(burst))
        })
    }

    fn pack(&mut self, now: Time, mut fate: impl FnMut(&Window, u32) -> Option<Loss>) -> Packed {
        while let Some(window) = self.windows.get(self.window).copied().flatten() {
            let burst = self.burst.max(window.burst_from(now));
            if burst != self.burst {
                (self.burst, self.room) = (burst, None);
            }
            if self.burst >= window.bursts() {
                (self.window, self.burst, self.room) = (self.window + 1, 0, None);
                continue;
            }
            let reserved = if self.burst == 0 { REQUEST } else { 0 };
            let room = self.room.unwrap_or(window.payload().saturating_sub(reserved));
            let Some((bytes, header)) = self.part(room) else {
                (self.burst, self.room) = (self.burst + 1, None);
                continue;
            };
            if self.room.is_none() {
                let loss = fate(&window, self.burst);
                self.loss = match loss {
                    Some(Loss::Down(_)) => loss,
                    _ if window.is_lost(self.burst) => Some(Loss::Collision),
                    loss => loss,
                };
                self.counts.bursts += 1;
                self.counts.used += u64::from(window.payload());
                self.counts.headers += u64::from(reserved.min(window.payload()));
            }
            self.room = Some(room - bytes - header);
            self.counts.carried += u64::from(bytes);
            self.counts.headers += u64::from(header);
            self.rest -= bytes;
            self.has_begun = true;
            self.lost = self.lost.or(self.loss);
            if self.rest == 0 {
                let lost = self.lost.take();
                self.has_begun = false;
                return Packed::Sent { at: window.end(self.burst), lost };
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
