//! Round trips, and the least and the greatest of their times, for controllers that look at delay.

use crate::cc::PathState;
use bentpipe_units::{Duration, Time};

/// The present round trip of data, by sequence number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// SND.NXT at its start.
    end: u64,
}

impl Round {
    /// Whether this ACK ends the round trip, and begins the next.
    #[inline]
    pub(crate) fn is_over(&mut self, path: &PathState) -> bool {
        let is_over = path.snd_una > self.end;
        if is_over {
            self.begin(path);
        }
        is_over
    }

    /// A round trip begins now.
    #[inline]
    pub(crate) fn begin(&mut self, path: &PathState) {
        self.end = path.snd_nxt;
    }
}

/// The least round-trip time.
pub(crate) type Least = Extreme<false>;

/// The greatest round-trip time.
pub(crate) type Greatest = Extreme<true>;

/// The least or the greatest round-trip time of the connection, or of a while.
#[derive(Clone, Debug)]
pub(crate) struct Extreme<const IS_GREATEST: bool> {
    memory: Duration,
    value: Option<Duration>,
    /// None: what was seen is never forgotten.
    recent: Option<Box<Recent>>,
}

/// The extreme of each part of the memory, in a ring: what is forgotten is between 7/8 of the memory and all of it old.
#[derive(Clone, Debug, Default)]
struct Recent {
    parts: [Option<Duration>; Recent::PARTS],
    /// The part that is filled, and when it began.
    at: usize,
    since: Time,
}

impl<const IS_GREATEST: bool> Extreme<IS_GREATEST> {
    /// `memory`: how long a round-trip time is remembered; zero: for ever.
    pub(crate) fn new(memory: Duration) -> Self {
        Self { memory, value: None, recent: (memory > Duration::ZERO).then(Box::default) }
    }

    /// Another memory from now on, if it is not for ever.
    #[inline]
    pub(crate) fn remember(&mut self, memory: Duration) {
        self.memory = memory;
    }

    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, now: Time) {
        self.value = match &mut self.recent {
            None => Some(Self::pick(self.value, rtt)),
            Some(recent) => {
                let present = recent.present(now, self.memory);
                *present = Some(Self::pick(*present, rtt));
                recent.parts.iter().flatten().copied().reduce(|a, b| Self::pick(Some(a), b))
            }
        };
    }

    /// As of the last sample; none before the first.
    #[inline]
    pub(crate) fn get(&self) -> Option<Duration> {
        self.value
    }

    /// The path may be another one: begins anew.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.memory);
    }

    #[inline]
    fn pick(before: Option<Duration>, rtt: Duration) -> Duration {
        match before {
            None => rtt,
            Some(before) if IS_GREATEST => before.max(rtt),
            Some(before) => before.min(rtt),
        }
    }
}

impl Recent {
    const PARTS: usize = 8;

    /// The part of the memory that is filled now; those that are too old are cleared.
    fn present(&mut self, now: Time, memory: Duration) -> &mut Option<Duration> {
        let part = (memory.as_ps() / Self::PARTS as u64).max(1);
        let passed = now.saturating_since(self.since).as_ps() / part;
        self.since += Duration::from_ps(passed * part);
        for _ in 0..passed.min(Self::PARTS as u64) {
            self.at = (self.at + 1) % Self::PARTS;
            self.parts[self.at] = None;
        }
        &mut self.parts[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testbench::suite::path;

    #[test]
    fn a_round_trip_is_over_when_what_was_sent_after_its_start_is_acknowledged() {
        let mut round = Round::default();
        let mut at = |snd_una, snd_nxt| round.is_over(&PathState { snd_una, snd_nxt, ..path(0) });
        assert_eq!(
            [at(1, 10), at(9, 18), at(10, 19), at(11, 20), at(20, 29), at(21, 30)].map(u8::from),
            [1, 0, 0, 1, 0, 1]
        );
    }

    fn run<const IS_GREATEST: bool>(memory_s: u64) -> Vec<u64> {
        let mut extreme = Extreme::<IS_GREATEST>::new(Duration::from_secs(memory_s));
        assert_eq!(extreme.get(), None);
        let samples = [(0, 50), (4, 20), (6, 90), (9, 40), (11, 40), (16, 40), (40, 60)];
        let steps = samples.map(|(s, ms)| {
            extreme.sample(Duration::from_millis(ms), Time::ZERO + Duration::from_secs(s));
            extreme.get().unwrap().as_ps() / 1_000_000_000
        });
        steps.to_vec()
    }

    #[test]
    fn extremes_are_those_of_the_connection_or_of_the_last_seconds() {
        assert_eq!(run::<false>(0), [50, 20, 20, 20, 20, 20, 20]);
        assert_eq!(run::<true>(0), [50, 50, 90, 90, 90, 90, 90]);
        assert_eq!(run::<false>(10), [50, 20, 20, 20, 20, 40, 60]);
        assert_eq!(run::<true>(10), [50, 50, 90, 90, 90, 40, 60]);
    }

    #[test]
    fn the_least_round_trip_time_is_forgotten_after_its_memory() {
        let mut least = Least::new(Duration::from_secs(8));
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
    fn time_that_stands_still_does_no_harm() {
        let mut least = Least::new(Duration::from_ps(1));
        for rtt in [3, 2, 5] {
            least.sample(Duration::from_ps(rtt), Time::ZERO);
            assert!(least.get().is_some());
        }
        let mut greatest = Greatest::new(Duration::MAX);
        greatest.sample(Duration::MAX, Time::NEVER);
        greatest.sample(Duration::ZERO, Time::ZERO);
        assert_eq!(greatest.get(), Some(Duration::MAX));
    }
}
