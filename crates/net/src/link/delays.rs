//! Delay of the packets of a link in a medium, by cause. The parts of a packet add up to its time on the link.

use crate::record::Histogram;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Marks of a clock that are kept in any case.
const MARKS: usize = 64;

/// DelayParts of the delay of a packet, from its arrival at the link to that at the far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DelayParts {
    /// Its terminal has neither windows nor a promised rate: it asks, or waits for the answer.
    pub(crate) asking: Duration,
    /// Packets before it in the queue have the windows.
    pub(crate) behind: Duration,
    /// It is the next one, and its window, burst or frame has not begun.
    pub(crate) turn: Duration,
    /// Bursts or frames with its parts.
    pub(crate) sending: Duration,
    /// Propagation, with processing at the far end.
    pub(crate) air: Duration,
}

impl DelayParts {
    /// Returns the time without own bursts and propagation.
    pub(crate) fn waiting(&self) -> Duration {
        self.asking + self.behind + self.turn
    }
}

/// Sums over packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelaySums {
    packets: u64,
    /// Picoseconds, in the order of the fields of a packet's parts.
    sums: [u128; 5],
    /// Waiting times.
    pub(crate) waits: Histogram,
}

impl DelaySums {
    pub(crate) fn add(&mut self, parts: &DelayParts) {
        let &DelayParts { asking, behind, turn, sending, air } = parts;
        self.packets += 1;
        for (sum, part) in self.sums.iter_mut().zip([asking, behind, turn, sending, air]) {
            *sum += u128::from(part.as_ps());
        }
        self.waits.record_span(parts.waiting());
    }

    /// Returns the mean of each part in s, in the order of the fields of [`DelayParts`]. NaN without packets.
    pub(crate) fn means_s(&self) -> [f64; 5] {
        self.sums.map(|sum| sum as f64 * 1e-12 / if self.packets == 0 { f64::NAN } else { self.packets as f64 })
    }
}

/// Delays of packets that have left, counted when they arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    arrived: DelaySums,
    /// Arrival and parts of packets on their way.
    under_way: VecDeque<(Time, DelayParts)>,
}

impl Delays {
    /// Notes at `now` or later a packet that arrives at `arrival`, after all before it.
    pub(super) fn note(&mut self, now: Time, arrival: Time, parts: DelayParts) {
        while let Some((_, parts)) = self.under_way.front().filter(|(arrival, _)| *arrival <= now) {
            self.arrived.add(parts);
            self.under_way.pop_front();
        }
        self.under_way.push_back((arrival, parts));
    }

    /// Returns the sums over packets that arrived until `now`.
    pub(super) fn until(&self, now: Time) -> DelaySums {
        let mut sums = self.arrived.clone();
        self.under_way.iter().filter(|(arrival, _)| *arrival <= now).for_each(|(_, parts)| sums.add(parts));
        sums
    }
}

/// Clock that runs while a terminal has no capacity to come: without windows in the superframe, and without a promised rate.
#[derive(Clone, Debug)]
pub(super) struct AskingClock {
    /// Instant of each change, the time that the clock shows, and whether it runs from then on.
    marks: VecDeque<(Time, Duration, bool)>,
    /// Number of marks at which old ones are looked for.
    most: usize,
}

impl AskingClock {
    pub(super) fn new() -> Self {
        Self { marks: VecDeque::from([(Time::ZERO, Duration::ZERO, true)]), most: MARKS }
    }

    /// Returns the time that it shows at an instant since the last call of [`forget`](Self::forget).
    pub(super) fn at(&self, at: Time) -> Duration {
        let after = self.marks.partition_point(|(since, ..)| *since <= at);
        let Some(&(since, shown, runs)) = after.checked_sub(1).and_then(|mark| self.marks.get(mark)) else {
            return Duration::ZERO;
        };
        if runs {
            shown + (at - since)
        } else {
            shown
        }
    }

    /// Starts or stops it at `now`.
    pub(super) fn run(&mut self, now: Time, runs: bool) {
        if self.marks.back().is_none_or(|last| last.2 != runs) {
            self.marks.push_back((now, self.at(now), runs));
        }
    }

    /// Whether old marks should be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.marks.len() > self.most
    }

    /// Forgets what it showed before `oldest`.
    pub(super) fn forget(&mut self, oldest: Time) {
        let after = self.marks.partition_point(|(since, ..)| *since <= oldest);
        self.marks.drain(..after.saturating_sub(1));
        self.most = MARKS.max(2 * self.marks.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_clock_shows_the_time_in_which_it_ran() {
        let mut clock = AskingClock::new();
        for (at, runs) in [(10, false), (15, false), (20, true), (50, false)] {
            clock.run(ms(at), runs);
        }
        let shown = |clock: &AskingClock| [25, 45, 50, 70].map(|at| clock.at(ms(at)).saturating_sub(clock.at(ms(12))));
        let expected = [5, 25, 30, 30].map(Duration::from_millis);
        assert_eq!(shown(&clock), expected);
        clock.forget(ms(12));
        assert_eq!((clock.marks.len(), shown(&clock)), (3, expected));
    }

    #[test]
    fn delays_count_at_the_arrival() {
        let mut delays = Delays::default();
        let parts = |ms| DelayParts { asking: Duration::from_millis(ms), ..DelayParts::default() };
        delays.note(ms(0), ms(100), parts(10));
        delays.note(ms(50), ms(200), parts(20));
        delays.note(ms(150), ms(300), parts(60));
        let mean = |at| delays.until(ms(at)).means_s()[0];
        // The first two arrived before 150 ms.
        assert_eq!([150, 200, 300].map(mean), [0.01, 0.015, 0.03]);
        let under_way = Delays::default();
        assert!(under_way.until(ms(99)).means_s()[0].is_nan());
    }
}
