//! The windows that a terminal has in a superframe.

use crate::grid::{Grid, Window};
use crate::packing::WINDOWS_MAX;
use crate::plan::Grant;
use crate::requests::Way;
use crate::terminal::CLASSES;
use crate::waveforms::Waveform;
use bentpipe_units::Time;

/// Windows of a terminal in the superframe that was opened last.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) windows: [Window; WINDOWS_MAX],
    pub(crate) count: usize,
    pub(crate) has_control: bool,
    /// Waveform of its last windows.
    pub(crate) waveform: Option<Waveform>,
    /// Bytes of the windows.
    pub(crate) granted: u64,
    /// Bytes of a burst, and bursts that answer a request for a volume, by class.
    payload: u32,
    volume: [u32; CLASSES],
    /// Its control slot.
    control: Option<Window>,
    /// Report of this superframe, if the controller hears one.
    pub(crate) report: Option<Report>,
    grid: Grid,
}

/// Report that the controller hears of a terminal in a superframe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) has_request: bool,
    /// Whether it comes by random access.
    pub(crate) is_random: bool,
}

/// The first burst or control slot of a terminal that the controller hears in a superframe. It has room for a report of
/// the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Start of its transmission.
    pub begin: Time,
    /// End of its transmission.
    pub end: Time,
    /// Whether it has a request.
    pub has_request: bool,
    /// Whether the terminal has a control slot in this superframe.
    pub has_control: bool,
}

impl Opened {
    /// Returns the state of a terminal without windows. Its windows will have this grid.
    pub(crate) fn none(grid: Grid) -> Self {
        let windows = [Window::granted(&grid, Time::ZERO, 0, 0, 0); WINDOWS_MAX];
        let (waveform, volume, control) = (None, [0; CLASSES], None);
        Self {
            windows,
            count: 0,
            has_control: false,
            waveform,
            granted: 0,
            payload: 0,
            volume,
            control,
            report: None,
            grid,
        }
    }

    pub(crate) fn close(&mut self) {
        (self.count, self.has_control, self.granted, self.control) = (0, false, 0, None);
    }

    /// Opens the slots of a grant. A terminal that reaches the end of a carrier goes on at the start of the next, which
    /// is earlier in time.
    pub(crate) fn grant(&mut self, starts: Time, grant: &Grant, waveform: Option<Waveform>) {
        let grid = &self.grid;
        (self.has_control, self.waveform) = (grant.control > 0, waveform);
        (self.payload, self.volume) = (grant.payload, grant.volume);
        let control = || Window::granted(grid, starts, grant.first % grid.slots(), grant.control, 0);
        self.control = self.has_control.then(control);
        let first = (grant.first + grant.control) % grid.slots();
        let before_end = grant.slots.min(grid.slots() - first);
        self.count = 0;
        for (first, bursts) in [(0, grant.slots - before_end), (first, before_end)] {
            if bursts > 0 {
                self.windows[self.count] = Window::granted(grid, starts, first, bursts, grant.payload).with(waveform);
                self.count += 1;
            }
        }
        self.granted = u64::from(grant.slots) * u64::from(grant.payload);
    }

    /// Opens a window of random bursts in the block that starts at `starts`. Bit n of `lost` is the loss of burst n.
    pub(crate) fn random(&mut self, starts: Time, bursts: u32, payload: u32, lost: u64, waveform: Option<Waveform>) {
        (self.windows[0], self.count) = (Window::random(&self.grid, starts, bursts, payload, lost).with(waveform), 1);
    }

    /// Returns the transmission that the controller hears in the superframe that starts at `starts`: the block of a random
    /// burst, else the first burst or control slot.
    pub(crate) fn heard(&self, starts: Time) -> Option<Heard> {
        let Report { has_request, is_random } = self.report?;
        let (begin, end) = if is_random {
            (starts, starts + self.grid.superframe())
        } else {
            let windows = &self.windows[..self.count];
            let sent = self.control.iter().chain(windows).map(|window| (window.opens(), window.end(0)));
            sent.min()?
        };
        Some(Heard { begin, end, has_request, has_control: self.has_control })
    }

    /// Returns the bytes that answer the requests for volumes, by class.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = u64> + '_ {
        self.volume.iter().map(|bursts| u64::from(*bursts) * u64::from(self.payload))
    }

    pub(crate) fn way(&self) -> Option<Way> {
        match (self.count > 0, self.has_control) {
            (true, _) => Some(Way::Burst),
            (false, true) => Some(Way::Control),
            (false, false) => None,
        }
    }
}
