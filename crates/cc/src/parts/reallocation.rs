//! Instants at which a constellation reallocates its satellites. They are a period apart, and the path may change at
//! each of them. Starlink's are 15 s apart, at seconds 12, 27, 42 and 57 of each minute (`docs/specs/starlink.md`).
//!
//! A congestion control is given the instants, or finds them. It knows the period, and the round-trip time jumps
//! repeatedly at the same place of it. The period is divided into [`Finder::BINS`] bins. A bin gets a vote if its least
//! round-trip time differs from that of the last one by `jump` or more. Losses of the flow move its queue as suddenly,
//! but not always at the same place. Votes fade by a tenth in each period.
//!
//! The instant is at the two neighbours with the most votes. They need [`Finder::ENOUGH`] votes, and half as many again
//! as any distant bins. The consequences of an instant, such as losses and an empty queue, have votes, too. Therefore
//! the first of the near bins with half as many votes is chosen.

use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Source of the instants of reconfigurations.
    pub enum Reallocations {
        /// The instants follow `period` and `offset`.
        "announced" => Announced,
        /// Jumps of the round-trip time show their place within `period`.
        "detected" => Detected,
    }
}

/// Instants of a constellation, given or found.
#[derive(Clone, Debug)]
pub(crate) struct Reallocation {
    period: Duration,
    /// The first instant; `None`: not found yet.
    offset: Option<Duration>,
    finder: Option<Box<Finder>>,
}

impl Reallocation {
    /// Creates instants: with `offset` if they are given, with `jump`, the change of the round-trip time, if they are
    /// to be found.
    pub(crate) fn new(source: Reallocations, period: Duration, offset: Duration, jump: Duration) -> Self {
        let period = period.max(Duration::from_ps(1));
        let (offset, finder) = match source {
            Reallocations::Announced => (Some(Duration::from_ps(offset.as_ps() % period.as_ps())), None),
            Reallocations::Detected => (None, Some(Box::new(Finder::new(period, jump)))),
        };
        Self { period, offset, finder }
    }

    /// Adds a round-trip time of the present path.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, now: Time) {
        if let Some(finder) = &mut self.finder {
            if finder.sample(rtt, now) {
                self.offset = finder.instant();
            }
        }
    }

    /// Separates later round-trip times from earlier ones: they are not compared.
    pub(crate) fn pause(&mut self) {
        if let Some(finder) = &mut self.finder {
            (finder.least, finder.before) = (None, None);
        }
    }

    /// Confirms a change of the path after the instant before `now`, found by the congestion control itself.
    pub(crate) fn confirm(&mut self, now: Time) {
        let instant = self.last(now);
        if let (Some(finder), Some(instant)) = (&mut self.finder, instant) {
            finder.vote(instant.as_ps() / finder.bin.as_ps());
        }
    }

    /// Returns the last instant until `at`; `None` before the first, or if they are unknown.
    #[inline]
    pub(crate) fn last(&self, at: Time) -> Option<Time> {
        self.since(at).map(|since| Time::from_ps(at.as_ps() - since.as_ps()))
    }

    /// Returns the time since the last instant before `at`; `None` before the first, or if they are unknown.
    #[inline]
    pub(crate) fn since(&self, at: Time) -> Option<Duration> {
        let passed = at.as_ps().checked_sub(self.offset?.as_ps())?;
        Some(Duration::from_ps(passed % self.period.as_ps()))
    }
}

/// Votes for the place of the instants within their period.
#[derive(Clone, Debug)]
struct Finder {
    bin: Duration,
    jump: Duration,
    votes: [f32; Finder::BINS],
    /// Current bin, counted from the start of time, and its least round-trip time.
    present: u64,
    least: Option<Duration>,
    /// Least round-trip time of the last bin with samples.
    before: Option<Duration>,
}

impl Finder {
    const BINS: usize = 150;
    /// Value of a vote one period later.
    const FADE: f32 = 0.9;
    /// Two votes, a few periods apart.
    const ENOUGH: f32 = 1.6;
    /// Bins that belong together.
    const NEAR: usize = 7;
    /// Votes of the instant, relative to those of any other place.
    const LEAD: f32 = 1.5;

    fn new(period: Duration, jump: Duration) -> Self {
        let bin = (period / Self::BINS as u64).max(Duration::from_ps(1));
        Self { bin, jump, votes: [0.0; Self::BINS], present: 0, least: None, before: None }
    }

    /// Adds a round-trip time. Returns whether a bin was completed.
    fn sample(&mut self, rtt: Duration, now: Time) -> bool {
        let bin = now.as_ps() / self.bin.as_ps();
        let is_complete = bin != self.present;
        if is_complete {
            if let (Some(before), Some(least)) = (self.before, self.least) {
                if least.abs_diff(before) >= self.jump {
                    self.vote(self.present);
                }
            }
            self.before = self.least.or(self.before);
            self.least = None;
            let periods = (bin / Self::BINS as u64).saturating_sub(self.present / Self::BINS as u64);
            if periods > 0 {
                let fade = Self::FADE.powi(periods.min(1000) as i32);
                self.votes.iter_mut().for_each(|votes| *votes *= fade);
            }
            self.present = bin;
        }
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        is_complete
    }

    fn vote(&mut self, bin: u64) {
        self.votes[(bin % Self::BINS as u64) as usize] += 1.0;
    }

    /// Returns the instant within the period; `None` without a clear maximum.
    fn instant(&self) -> Option<Duration> {
        // A change within the last half of a bin shows in the next bin.
        let pair = |bin: usize| self.votes[bin] + self.votes[(bin + 1) % Self::BINS];
        let best = (0..Self::BINS).fold(0, |best, bin| if pair(bin) > pair(best) { bin } else { best });
        let is_apart = |bin: &usize| {
            let distance = bin.abs_diff(best);
            distance.min(Self::BINS - distance) > Self::NEAR
        };
        let next = (0..Self::BINS).filter(is_apart).map(pair).fold(0.0, f32::max);
        let stands_out = pair(best) >= Self::ENOUGH && pair(best) >= Self::LEAD * next;
        let before = |back: usize| (best + Self::BINS - back) % Self::BINS;
        let earliest = (0..=Self::NEAR).rev().map(before).find(|&bin| pair(bin) >= pair(best) / 2.0).unwrap_or(best);
        // The first of two bins may have no votes.
        let first = if self.votes[earliest] > 0.0 { earliest } else { (earliest + 1) % Self::BINS };
        stands_out.then(|| self.bin * first as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn given(period: Duration, offset: Duration) -> Reallocation {
        Reallocation::new(Reallocations::Announced, period, offset, ms(4))
    }

    /// `docs/specs/starlink.md`, tests: 600 s contain 40 boundaries, the first at 12 s.
    #[test]
    fn given_instants_are_a_period_apart() {
        let starlink = given(ms(15_000), ms(12_000));
        let mut instants: Vec<_> = (0..6000).filter_map(|tick| starlink.last(Time::ZERO + ms(100 * tick))).collect();
        instants.dedup();
        assert_eq!((instants.len(), instants[0]), (40, Time::ZERO + ms(12_000)));
        let since = |at: u64| starlink.since(Time::ZERO + ms(at));
        assert_eq!([11_999, 12_000, 13_500, 27_100].map(since), [None, Some(ms(0)), Some(ms(1500)), Some(ms(100))]);
        // An offset of more than a period names a later one of the same instants.
        assert_eq!(given(ms(15_000), ms(42_000)).since(Time::ZERO + ms(12_001)), Some(ms(1)));
    }

    /// A path whose round-trip time steps at 4.2 s of each 15 s, by some milliseconds up or down, with noise and, every
    /// 2.9 s, the sudden end of a queue.
    fn walk(seconds: u64, step: bool) -> (Reallocation, Option<u64>) {
        let mut reallocation = Reallocation::new(Reallocations::Detected, ms(15_000), Duration::ZERO, ms(4));
        let mut found_at = None;
        for at in (0..1000 * seconds).step_by(7) {
            let periods = (at + 10_800) / 15_000;
            let base = if step { 40_000 + (periods * 7919) % 23 * 1000 } else { 50_000 };
            let queue = at % 2900 * 6;
            let noise = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            reallocation.sample(Duration::from_micros(base + queue + noise / 4), Time::ZERO + ms(at));
            if reallocation.since(Time::NEVER).is_some() {
                found_at.get_or_insert(at);
            }
        }
        (reallocation, found_at)
    }

    #[test]
    fn instants_are_found_from_jumps_of_the_round_trip_time() {
        let (reallocation, found_at) = walk(180, true);
        let found_at = found_at.unwrap();
        assert!((15_000..100_000).contains(&found_at), "{found_at}");
        let since = reallocation.since(Time::ZERO + ms(180_000)).unwrap();
        // 169.2 s is the last one.
        assert!(since.abs_diff(ms(10_800)) <= ms(200), "{since:?}");
    }

    /// Pings each 10 ms of a quarter of an hour over Starlink, three times. The traces are not in the repository: without
    /// them, the test prints that it is skipped.
    #[test]
    fn the_seconds_of_starlink_are_found_in_pings() {
        for part in 1..=3 {
            let name = format!("starlink/leolive-ping10ms-bentpipe-victoria-{part}.csv.xz");
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
            let output = std::process::Command::new("xz").arg("-dc").arg(&path).output();
            let Some(output) = output.ok().filter(|output| output.status.success()) else {
                // Past the harness, which keeps the output of a test that passes.
                let _ = writeln!(std::io::stderr(), "skipped: no {} (or no xz to read it with)", path.display());
                return;
            };
            let text = String::from_utf8(output.stdout).unwrap();
            let mut reallocation = Reallocation::new(Reallocations::Detected, ms(15_000), Duration::ZERO, ms(6));
            let (mut start, mut right, mut wrong, mut periods, mut last) = (None, 0, 0, 0, 0);
            for line in text.lines().skip(1) {
                let (at_s, rtt_ms) = line.split_once(',').unwrap();
                let (at_s, rtt_ms): (f64, f64) = (at_s.parse().unwrap(), rtt_ms.parse().unwrap());
                // Times of day: whole minutes are left out.
                let start = *start.get_or_insert((at_s / 60.0).floor() * 60.0);
                let now = Time::ZERO + Duration::from_secs_f64(at_s - start);
                reallocation.sample(Duration::from_secs_f64(rtt_ms / 1000.0), now);
                let period = now.as_ps() / ms(15_000).as_ps();
                if period != last {
                    (last, periods) = (period, periods + 1);
                    if let Some(offset) = reallocation.offset {
                        let is_right = offset.abs_diff(ms(12_000)) <= ms(200);
                        (right, wrong) = (right + u32::from(is_right), wrong + u32::from(!is_right));
                    }
                }
            }
            assert!(right >= periods / 2 && wrong <= 2, "part {part}: {right} right, {wrong} wrong of {periods}");
        }
    }

    #[test]
    fn where_nothing_steps_none_is_found() {
        let (_, found_at) = walk(600, false);
        assert_eq!(found_at, None);
    }

    #[test]
    fn what_was_found_fades_unless_it_is_confirmed() {
        for confirms in [false, true] {
            let (mut reallocation, _) = walk(180, true);
            reallocation.pause();
            for s in 180..900 {
                reallocation.sample(ms(50), Time::ZERO + ms(1000 * s));
                if confirms && s % 15 == 5 {
                    reallocation.confirm(Time::ZERO + ms(1000 * s));
                }
            }
            assert_eq!(reallocation.since(Time::NEVER).is_some(), confirms);
        }
    }

    #[test]
    fn extremes_hurt_nothing() {
        for period in [Duration::ZERO, Duration::MAX, ms(15_000)] {
            for source in [Reallocations::Announced, Reallocations::Detected] {
                let mut reallocation = Reallocation::new(source, period, Duration::MAX, Duration::ZERO);
                for at in [Time::ZERO, Time::from_ps(1), Time::NEVER, Time::ZERO] {
                    reallocation.sample(Duration::MAX, at);
                    reallocation.confirm(at);
                    reallocation.pause();
                    reallocation.sample(Duration::ZERO, at);
                    assert!(reallocation.last(at).is_none_or(|last| last <= at));
                }
            }
        }
    }
}
