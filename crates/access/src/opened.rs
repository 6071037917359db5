//! The windows that a terminal has in a superframe.

use crate::grid::{Grid, Window};
use crate::packing::WINDOWS_MAX;
use crate::plan::Grant;
use crate::requests::Way;
use crate::waveforms::Waveform;
use bentpipe_units::Time;

/// Windows of a terminal in the superframe that was opened last.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) windows: [Window; WINDOWS_MAX],
    pub(crate) count: usize,
    pub(crate) has_control: bool,
    pub(crate) choice: Option<usize>,
    /// Bytes of the windows, and those of them that answer a request for a volume.
    pub(crate) granted: u64,
    pub(crate) volume: u64,
    /// Its control slot.
    pub(crate) control: Option<(Time, Time)>,
    /// Its burst or control slot that the controller hears in this superframe.
    pub(crate) heard: Option<Heard>,
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
}

impl Opened {
    pub(crate) fn none(grid: &Grid) -> Self {
        let window = Window::granted(grid, Time::ZERO, 0, 0, 0);
        let windows = [window; WINDOWS_MAX];
        Self { windows, count: 0, has_control: false, choice: None, granted: 0, volume: 0, control: None, heard: None }
    }

    pub(crate) fn close(&mut self) {
        (self.count, self.has_control, self.granted, self.volume, self.control) = (0, false, 0, 0, None);
    }

    /// Opens the slots of a grant. A terminal that reaches the end of a carrier goes on at the start of the next, which
    /// is earlier in time.
    pub(crate) fn grant(&mut self, grid: &Grid, starts: Time, grant: &Grant, waveform: Option<Waveform>) {
        (self.has_control, self.choice, self.volume) = (grant.control > 0, grant.choice, grant.volume);
        let control = Window::granted(grid, starts, grant.first % grid.slots(), grant.control, 0);
        self.control = self.has_control.then(|| (control.opens(), control.closes()));
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

    pub(crate) fn random(&mut self, window: Window) {
        (self.windows[0], self.count) = (window, 1);
    }

    /// Start and end of its first burst or control slot.
    pub(crate) fn first(&self) -> Option<(Time, Time)> {
        let bursts = self.windows[..self.count].iter().map(|window| (window.opens(), window.end(0)));
        self.control.into_iter().chain(bursts).min()
    }

    pub(crate) fn way(&self) -> Option<Way> {
        match (self.count > 0, self.has_control) {
            (true, _) => Some(Way::Burst),
            (false, true) => Some(Way::Control),
            (false, false) => None,
        }
    }
}
