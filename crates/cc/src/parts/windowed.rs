//! Least or greatest recent value: by ticks of any clock, or of round-trip times by seconds.

use bentpipe_units::{Duration, Time};
use std::marker::PhantomData;

/// Selects one of two values.
pub(crate) trait Extreme<T> {
    /// Value that any other value replaces.
    const NOTHING: T;
    fn pick(a: T, b: T) -> T;
}

/// Selects the least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Min;

/// Selects the greatest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Max;

impl Extreme<Duration> for Min {
    const NOTHING: Duration = Duration::MAX;

    #[inline]
    fn pick(a: Duration, b: Duration) -> Duration {
        a.min(b)
    }
}

impl Extreme<Duration> for Max {
    const NOTHING: Duration = Duration::ZERO;

    #[inline]
    fn pick(a: Duration, b: Duration) -> Duration {
        a.max(b)
    }
}

/// For values that are never negative.
impl Extreme<f64> for Max {
    const NOTHING: f64 = 0.0;

    #[inline]
    fn pick(a: f64, b: f64) -> f64 {
        a.max(b)
    }
}

/// Extreme of the last `N` ticks of a clock that counts something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windowed<E, T, const N: usize> {
    of: [T; N],
    /// Extreme of all ticks.
    extreme: T,
    at: u64,
    kind: PhantomData<E>,
}

impl<E: Extreme<T>, T: Copy, const N: usize> Default for Windowed<E, T, N> {
    fn default() -> Self {
        Self { of: [E::NOTHING; N], extreme: E::NOTHING, at: 0, kind: PhantomData }
    }
}

impl<E: Extreme<T>, T: Copy, const N: usize> Windowed<E, T, N> {
    /// Advances the clock to `at`; it never goes back.
    #[inline]
    pub(crate) fn advance(&mut self, at: u64) {
        if at > self.at {
            for before in (self.at..at).take(N) {
                self.of[((before + 1) % N as u64) as usize] = E::NOTHING;
            }
            self.at = at;
            self.extreme = self.of.iter().copied().fold(E::NOTHING, E::pick);
        }
    }

    #[inline]
    pub(crate) fn update(&mut self, at: u64, value: T) {
        self.advance(at);
        let slot = &mut self.of[(self.at % N as u64) as usize];
        *slot = E::pick(*slot, value);
        self.extreme = E::pick(self.extreme, value);
    }

    #[inline]
    pub(crate) fn get(&self) -> T {
        self.extreme
    }

    /// Returns the extreme of the last `ticks`, including the current one.
    pub(crate) fn of_last(&self, ticks: u64) -> T {
        if ticks >= N as u64 {
            return self.extreme;
        }
        let first = self.at.saturating_sub(ticks - 1);
        (first..=self.at).map(|tick| self.of[(tick % N as u64) as usize]).fold(E::NOTHING, E::pick)
    }
}

/// Least round-trip time.
pub(crate) type MinRtt = WindowedRtt<Min>;

/// Greatest round-trip time.
pub(crate) type MaxRtt = WindowedRtt<Max>;

/// Least or greatest round-trip time, of the connection or of a recent period.
#[derive(Clone, Debug)]
pub(crate) struct WindowedRtt<E> {
    memory: Duration,
    value: Option<Duration>,
    /// Recent samples; `None`: unlimited memory.
    recent: Option<Box<Recent<E>>>,
}

/// Samples by ticks, which are parts of the memory: a forgotten sample is between 7/8 of the memory and all of it old.
#[derive(Clone, Debug)]
struct Recent<E> {
    parts: Windowed<E, Duration, PARTS>,
    /// Start of the current part.
    since: Time,
}

const PARTS: usize = 8;

impl<E: Extreme<Duration>> WindowedRtt<E> {
    /// Creates an empty one with a memory of round-trip times; zero: for ever.
    pub(crate) fn new(memory: Duration) -> Self {
        let recent = || Box::new(Recent { parts: Windowed::default(), since: Time::ZERO });
        Self { memory, value: None, recent: (memory > Duration::ZERO).then(recent) }
    }

    /// Changes the memory from now on, unless it is unlimited.
    #[inline]
    pub(crate) fn remember(&mut self, memory: Duration) {
        self.memory = memory;
    }

    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, now: Time) {
        self.value = Some(match &mut self.recent {
            None => E::pick(self.value.unwrap_or(rtt), rtt),
            Some(recent) => recent.sample(rtt, now, self.memory),
        });
    }

    /// Returns the extreme at the last sample; `None` before the first.
    #[inline]
    pub(crate) fn get(&self) -> Option<Duration> {
        self.value
    }

    /// Discards all samples, because the path may have changed.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.memory);
    }
}

impl<E: Extreme<Duration>> Recent<E> {
    fn sample(&mut self, rtt: Duration, now: Time, memory: Duration) -> Duration {
        let part = (memory.as_ps() / PARTS as u64).max(1);
        let passed = now.saturating_since(self.since).as_ps() / part;
        self.since += Duration::from_ps(passed * part);
        self.parts.update(self.parts.at + passed, rtt);
        self.parts.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maxima_forget() {
        let mut max = Windowed::<Max, f64, 3>::default();
        for (at, value, expected) in
            [(0, 5.0, 5.0), (1, 3.0, 5.0), (2, 2.0, 5.0), (3, 1.0, 3.0), (4, 1.5, 2.0), (9, 0.5, 0.5)]
        {
            max.update(at, value);
            assert_eq!(max.get(), expected, "at {at}");
        }
        max.advance(10);
        max.update(10, 0.1);
        assert_eq!([max.of_last(1), max.of_last(2), max.of_last(99)], [0.1, 0.5, 0.5]);
    }

    fn run<E: Extreme<Duration>>(memory_s: u64) -> Vec<u64> {
        let mut rtts = WindowedRtt::<E>::new(Duration::from_secs(memory_s));
        assert_eq!(rtts.get(), None);
        let samples = [(0, 50), (4, 20), (6, 90), (9, 40), (11, 40), (16, 40), (40, 60)];
        let steps = samples.map(|(s, ms)| {
            rtts.sample(Duration::from_millis(ms), Time::ZERO + Duration::from_secs(s));
            rtts.get().unwrap().as_ps() / 1_000_000_000
        });
        steps.to_vec()
    }

    #[test]
    fn extremes_are_those_of_the_connection_or_of_the_last_seconds() {
        assert_eq!(run::<Min>(0), [50, 20, 20, 20, 20, 20, 20]);
        assert_eq!(run::<Max>(0), [50, 50, 90, 90, 90, 90, 90]);
        assert_eq!(run::<Min>(10), [50, 20, 20, 20, 20, 40, 60]);
        assert_eq!(run::<Max>(10), [50, 50, 90, 90, 90, 40, 60]);
    }

    #[test]
    fn the_least_round_trip_time_is_forgotten_after_its_memory() {
        let mut least = MinRtt::new(Duration::from_secs(8));
        let mut at = |rtt_ms, ms| {
            least.sample(Duration::from_millis(rtt_ms), Time::ZERO + Duration::from_millis(ms));
            least.get().unwrap().as_ps() / 1_000_000_000
        };
        assert_eq!([at(100, 0), at(120, 7900), at(140, 8000), at(140, 14_900)], [100, 100, 120, 120]);
        assert_eq!([at(150, 15_000), at(160, u64::MAX / 2_000_000_000)], [140, 160]);
        least.forget();
        assert_eq!(least.get(), None);
        // Few samples, far apart, are forgotten as well.
        let mut at = |rtt_ms, s| {
            least.sample(Duration::from_millis(rtt_ms), Time::ZERO + Duration::from_secs(s));
            least.get().unwrap().as_ps() / 1_000_000_000
        };
        assert_eq!([at(50, 100), at(60, 107), at(60, 110)], [50, 50, 60]);
    }

    #[test]
    fn time_that_stands_still_hurts_nothing() {
        let mut least = MinRtt::new(Duration::from_ps(1));
        for rtt in [3, 2, 5] {
            least.sample(Duration::from_ps(rtt), Time::ZERO);
            assert!(least.get().is_some());
        }
        let mut greatest = MaxRtt::new(Duration::MAX);
        greatest.sample(Duration::MAX, Time::NEVER);
        greatest.sample(Duration::ZERO, Time::ZERO);
        assert_eq!(greatest.get(), Some(Duration::MAX));
    }
}
