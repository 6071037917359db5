//! Round trips, and the least and the greatest of their times, for controllers that look at delay.

use super::PathState;
use bentpipe_units::{Duration, Time};

/// Round trips of data, by sequence number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// SND.NXT at the start of the present one.
    end: u64,
}

impl Rounds {
    /// Whether this ACK ends a round trip, and begins the next.
    #[inline]
    pub(super) fn is_over(&mut self, path: &PathState) -> bool {
        let is_over = path.snd_una > self.end;
        if is_over {
            self.begin(path);
        }
        is_over
    }

    /// A round trip begins now.
    #[inline]
    pub(super) fn begin(&mut self, path: &PathState) {
        self.end = path.snd_nxt;
    }
}

/// The least round-trip time.
pub(super) type Least = Extreme<false>;

/// The greatest round-trip time.
pub(super) type Greatest = Extreme<true>;

/// The least or the greatest round-trip time of the connection, or of its last so many seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extreme<const IS_GREATEST: bool> {
    /// Zero: what was seen is never forgotten.
    memory: Duration,
    /// Start of the present half of the memory.
    since: Time,
    present: Option<Duration>,
    past: Option<Duration>,
}

impl<const IS_GREATEST: bool> Extreme<IS_GREATEST> {
    pub(super) fn new(memory: Duration) -> Self {
        Self { memory, since: Time::ZERO, present: None, past: None }
    }

    /// What is older than the memory is forgotten; what is younger than half of it, never.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration, now: Time) {
        if self.memory != Duration::ZERO {
            let age = now.saturating_since(self.since).as_ps();
            if age >= self.memory.as_ps() / 2 {
                self.past = if age < self.memory.as_ps() { self.present } else { None };
                self.present = None;
                self.since = now;
            }
        }
        self.present = Some(self.present.map_or(rtt, |present| Self::pick(present, rtt)));
    }

    /// None before the first sample.
    #[inline]
    pub(super) fn get(&self) -> Option<Duration> {
        match (self.present, self.past) {
            (Some(present), Some(past)) => Some(Self::pick(present, past)),
            (present, past) => present.or(past),
        }
    }

    #[inline]
    fn pick(a: Duration, b: Duration) -> Duration {
        if IS_GREATEST {
            a.max(b)
        } else {
            a.min(b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::suite::path;

    #[test]
    fn a_round_trip_is_over_when_what_was_sent_after_its_start_is_acknowledged() {
        let mut rounds = Rounds::default();
        let mut at = |snd_una, snd_nxt| rounds.is_over(&PathState { snd_una, snd_nxt, ..path(0) });
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
        assert_eq!(run::<false>(10), [50, 20, 20, 20, 40, 40, 60]);
        assert_eq!(run::<true>(10), [50, 50, 90, 90, 90, 40, 60]);
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
