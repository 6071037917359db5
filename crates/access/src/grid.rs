//! The grid of superframes, carriers and slots, and the windows in it.

use crate::waveforms::{BurstLength, Waveform};
use bentpipe_units::{Duration, Time};

/// Room for a request or report in the first burst of a window of a return link, bytes.
pub(crate) const REQUEST: u32 = 3;

/// Superframes that are divided into slots, the same on each carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    superframe: Duration,
    slots: u32,
    /// Bytes for a request in the first burst of each window.
    request: u32,
    slot: SlotLength,
}

/// Length of a slot as a fraction of picoseconds, so that slots of any symbol rate fill a superframe exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotLength {
    ps: u64,
    of: u64,
}

impl SlotLength {
    /// Returns the length of `ps` / `of` in lowest terms, so that products rarely need 128 bits.
    fn new(ps: u64, of: u64) -> Self {
        let (mut divisor, mut rest) = (ps.max(1), of);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { ps: ps / divisor, of: of / divisor }
    }

    /// Returns the time of the first `slots` slots.
    fn times(self, slots: u32) -> Duration {
        Duration::from_ps(ratio(self.ps, slots.into(), self.of))
    }

    /// Returns the slots that are over after `ps` picoseconds.
    fn over(self, ps: u64) -> u64 {
        ratio(ps, self.of, self.ps)
    }
}

/// Returns `a` `b` / `c`, rounded down.
fn ratio(a: u64, b: u64, c: u64) -> u64 {
    let c = c.max(1);
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX),
    }
}

impl Grid {
    /// Returns the grid of carriers with `symbol_rate` baud. It has no slots if a burst is longer than the superframe.
    pub fn of_carriers(superframe: Duration, symbol_rate: u64, bursts: BurstLength) -> Self {
        let slot = SlotLength::new(bursts.symbols() * 1_000_000_000_000, symbol_rate.max(1));
        let fit = slot.over(superframe.as_ps());
        Self { superframe, slots: u32::try_from(fit).unwrap_or(u32::MAX), request: REQUEST, slot }
    }

    /// Returns the grid of frames that are divided into this number of slots. Requests have separate room.
    pub fn of_frames(frame: Duration, slots: u32) -> Self {
        let slot = SlotLength::new(frame.as_ps(), slots.max(1).into());
        Self { superframe: frame, slots, request: 0, slot }
    }

    /// Returns the grid with room for this many requests in the first burst of each window.
    pub(crate) fn with_requests(self, count: usize) -> Self {
        Self { request: self.request * count as u32, ..self }
    }

    /// Returns the length of a superframe.
    pub fn superframe(&self) -> Duration {
        self.superframe
    }

    /// Returns the slots of a carrier in a superframe.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the length of a slot, rounded down to picoseconds.
    pub fn slot(&self) -> Duration {
        self.slot.times(1)
    }

    /// Returns the start of a superframe.
    pub fn start(&self, superframe: u64) -> Time {
        Time::ZERO + self.superframe.saturating_mul(superframe)
    }

    /// Returns the superframes that a span takes, rounded up.
    pub fn superframes_in(&self, span: Duration) -> u64 {
        span.as_ps().div_ceil(self.superframe.as_ps().max(1))
    }
}

/// Consecutive slots of one carrier in which a terminal may send, or the bursts of a terminal in a block of random
/// access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    grid: Grid,
    starts: Time,
    first: u32,
    bursts: u32,
    payload: u32,
    waveform: Option<Waveform>,
    random: Option<u64>,
}

impl Window {
    /// Returns the window of `bursts` slots from slot `first` on, in the superframe that starts at `starts`.
    pub(crate) fn granted(grid: &Grid, starts: Time, first: u32, bursts: u32, payload: u32) -> Self {
        Self { grid: *grid, starts, first, bursts, payload, waveform: None, random: None }
    }

    /// Returns the random bursts of a terminal in the block that starts at `starts`. Bit n of `lost` is the loss of
    /// burst n.
    pub(crate) fn random(grid: &Grid, starts: Time, bursts: u32, payload: u32, lost: u64) -> Self {
        Self { grid: *grid, starts, first: 0, bursts, payload, waveform: None, random: Some(lost) }
    }

    /// Returns the window with bursts of this waveform.
    pub(crate) fn with(self, waveform: Option<Waveform>) -> Self {
        Self { waveform, ..self }
    }

    /// Returns the number of bursts.
    pub fn bursts(&self) -> u32 {
        self.bursts
    }

    /// Returns the bytes in a burst.
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// Returns the bytes of a burst that are kept for a request.
    pub fn reserved(&self, burst: u32) -> u32 {
        if burst == 0 {
            self.grid.request.min(self.payload)
        } else {
            0
        }
    }

    /// Returns the waveform of its bursts. `None` if the medium has no waveforms.
    pub fn waveform(&self) -> Option<Waveform> {
        self.waveform
    }

    /// Whether its bursts are random access.
    pub fn is_random(&self) -> bool {
        self.random.is_some()
    }

    /// Whether random access loses this burst.
    pub fn is_lost(&self, burst: u32) -> bool {
        self.random.is_some_and(|lost| lost >> burst.min(63) & 1 == 1)
    }

    /// Returns the start of its first burst.
    pub fn opens(&self) -> Time {
        self.begin(0)
    }

    /// Returns the end of its last burst.
    pub fn closes(&self) -> Time {
        self.end(self.bursts.saturating_sub(1))
    }

    /// Returns the start of a burst. The contents of random bursts are fixed at the start of the block.
    pub fn begin(&self, burst: u32) -> Time {
        match self.random {
            Some(_) => self.starts,
            None => self.starts + self.grid.slot.times(self.first + burst),
        }
    }

    /// Returns the end of a burst. Random bursts are read at the end of the block.
    pub fn end(&self, burst: u32) -> Time {
        match self.random {
            Some(_) => self.starts + self.grid.superframe,
            None => self.starts + self.grid.slot.times(self.first + burst + 1),
        }
    }

    /// Returns the first burst that begins at `at` or later. [`Window::bursts`] if all begin earlier.
    pub fn burst_from(&self, at: Time) -> u32 {
        let since = at.saturating_since(self.starts).as_ps();
        if self.random.is_some() {
            return if since == 0 { 0 } else { self.bursts };
        }
        // Starts are rounded down, so the slot after the quotient may begin at `at` exactly.
        let slot = self.grid.slot.over(since) as u32;
        let burst = slot.saturating_sub(self.first).min(self.bursts);
        (burst..self.bursts.min(burst + 2)).find(|burst| self.begin(*burst) >= at).unwrap_or(self.bursts.min(burst + 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 26.5 ms at 1 Mbaud have 49 bursts of 536 symbols, 0.9 % idle, and 16 of 1616.
    #[test]
    fn a_superframe_has_whole_slots() {
        let superframe = Duration::from_micros(26_500);
        let slots = |rate, bursts| Grid::of_carriers(superframe, rate, bursts).slots();
        assert_eq!(slots(1_000_000, BurstLength::Short), 49);
        assert_eq!(slots(1_000_000, BurstLength::Long), 16);
        assert_eq!(slots(20_000, BurstLength::Short), 0);
        // 300 slots of 178.6 us fill 53.6 ms exactly.
        let exact = Grid::of_carriers(Duration::from_micros(53_600), 3_000_000, BurstLength::Short);
        assert_eq!(exact.slots(), 300);
        let window = Window::granted(&exact, Time::ZERO, 0, 300, 108);
        assert_eq!(window.closes(), exact.start(1));
    }

    /// Control delays and propagation in whole superframes.
    #[test]
    fn spans_are_rounded_up_to_superframes() {
        let grid = Grid::of_carriers(Duration::from_millis(100), 1_000_000, BurstLength::Short);
        let spans = [0, 1, 100, 101].map(|ms| grid.superframes_in(Duration::from_millis(ms)));
        assert_eq!(spans, [0, 1, 1, 2]);
    }

    proptest! {
        /// The first burst from an instant on, by trying each.
        #[test]
        fn bursts_are_found_by_their_start(
            rate in 1_000_000u64..5_000_000,
            first in 0..40u32,
            bursts in 0..20u32,
            us in 0..30_000u64,
            exact in any::<bool>(),
        ) {
            let grid = Grid::of_carriers(Duration::from_micros(26_500), rate, BurstLength::Short);
            let window = Window::granted(&grid, grid.start(2), first, bursts, 108);
            let at = if exact { window.begin(us as u32 % 20) } else { grid.start(2) + Duration::from_micros(us) };
            let found = (0..bursts).find(|burst| window.begin(*burst) >= at).unwrap_or(bursts);
            prop_assert_eq!(window.burst_from(at), found);
        }
    }
}
