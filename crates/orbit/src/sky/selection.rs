//! Chooses the satellite in view that serves a place, and the instants of handovers.

use super::error::SkyError;
use super::motion::{Motion, Positions};
use super::scene::Sky;
use super::span::{GoOn, Span};
use super::view::{Sighting, Watch};
use bentpipe_units::Stream;
use libm::pow;

/// Precision of the instants of handovers, s.
const WITHIN_S: f64 = 1e-3;
/// Horizon of the search for the time that a satellite stays in view, s. The next constant is its step.
const AHEAD_S: f64 = 86_400.0;
const AHEAD_STEP_S: f64 = 10.0;

/// Rule for a place's satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The highest satellite at any time.
    Highest,
    /// The nearest satellite at any time.
    Nearest,
    /// One satellite until it is out of view; then the satellite that stays in view longest (for a day, at most).
    LongestRemaining,
    /// At regular checks: if the satellite in use is out of view, the highest (ns-2). Between checks it stays in use
    /// below the least elevation.
    PeriodicCheck {
        /// Seconds between checks; ns-2's example has 10.
        interval_s: f64,
        /// Seed of random checks: the time to each check is uniform between half and one and a half times the interval,
        /// as in ns-2.
        randomised: Option<u64>,
    },
    /// Schedule of fixed slots, like Starlink's.
    Slots(Slots),
}

/// Slots of a fixed schedule, at whose boundaries all places get a random satellite.
///
/// The defaults are Starlink's, measured in 2024 at three sites (Belgium, Japan, Australia). The satellite changes at
/// 59 to 86 % of the boundaries, at seconds 12, 27, 42 and 57 of every minute. Its median elevation is 48 to 60°. It is
/// the highest only 6 to 13 % of the time, and towards the pole 74 to 85 % of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Seed of the random choices. Every place has its own choices.
    pub seed: u64,
    /// Length of a slot, s.
    pub period_s: f64,
    /// Boundaries of slots, seconds of the UTC day modulo the period.
    pub phase_s: f64,
    /// Probability that a usable satellite stays.
    pub stay: f64,
    /// Power of the sine of the elevation that weights a satellite in the choice.
    pub elevation_power: f64,
    /// Relative probability of a satellite on the pole's side of the place, where fewer geostationary satellites are
    /// disturbed.
    pub poleward: f64,
}

impl Slots {
    /// Returns Starlink's schedule with the defaults above.
    pub const fn starlink(seed: u64) -> Self {
        Self { seed, period_s: 15.0, phase_s: 12.0, stay: 0.24, elevation_power: 4.0, poleward: 3.5 }
    }

    fn check(&self) -> Result<(), SkyError> {
        SkyError::within("period of slots (s)", self.period_s, 0.1, 86_400.0)?;
        SkyError::within("phase of slots (s)", self.phase_s, 0.0, self.period_s)?;
        SkyError::within("stay", self.stay, 0.0, 1.0)?;
        SkyError::within("elevation_power", self.elevation_power, 0.0, 100.0)?;
        SkyError::within("poleward", self.poleward, 0.0, 1e6).map(drop)
    }
}

/// Handover of a place between satellites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handover {
    /// Time, seconds after the epoch.
    pub at_s: f64,
    /// Satellite before; `None` at the start and after a time without a satellite.
    pub from: Option<u32>,
    /// Satellite after; `None` without a satellite in view.
    pub to: Option<u32>,
}

/// Returns the satellite that serves at `t`, by a place's handovers.
pub fn serving_at(handovers: &[Handover], t: f64) -> Option<u32> {
    let next = handovers.partition_point(|handover| handover.at_s <= t);
    handovers[..next].last().and_then(|handover| handover.to)
}

/// Finds the handovers of a place over a span. The first is at its start. Rules that watch continuously are evaluated
/// every step of the span, and each handover is located to a millisecond.
///
/// # Errors
/// An unknown place, a rule with values out of range, or an invalid sky.
pub fn handovers(sky: &Sky, place: usize, rule: Rule, span: Span) -> Result<Vec<Handover>, SkyError> {
    handovers_while(sky, place, rule, span, &mut |_| true)
}

/// Finds handovers as [`handovers`] does, and reports progress.
///
/// # Errors
///
/// As [`handovers`]; the caller cancelled.
pub fn handovers_while(
    sky: &Sky,
    place: usize,
    rule: Rule,
    span: Span,
    go_on: GoOn,
) -> Result<Vec<Handover>, SkyError> {
    handovers_among(sky, place, rule, span, go_on, &mut |_, _, _| {})
}

/// Instants of a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Instant of the positions.
    pub(crate) at_s: f64,
    /// Instant whose choices of other places count: earlier than `at_s` for a look ahead.
    pub(crate) chosen_s: f64,
}

/// Filter that removes satellites that a place must not choose.
pub(crate) type Among<'a> = &'a mut dyn FnMut(&mut Vec<Sighting>, &Positions, Look);

/// Returns the handovers of a place that chooses among some of the satellites in view.
pub(crate) fn handovers_among(
    sky: &Sky,
    place: usize,
    rule: Rule,
    span: Span,
    go_on: GoOn,
    among: Among,
) -> Result<Vec<Handover>, SkyError> {
    sky.check()?;
    let place = sky.place(place)?;
    let mut observer = Observer {
        sky,
        place,
        motion: Motion::new(0.0),
        watch: sky.watch(place, 0.0),
        among,
        list: Vec::new(),
        current: None,
    };
    match rule {
        Rule::Highest => observer.continuously(span, go_on, |_, _, seen, _| highest(seen)),
        Rule::Nearest => observer.continuously(span, go_on, |_, _, seen, _| nearest(seen)),
        Rule::LongestRemaining => observer.continuously(span, go_on, |observer, current, seen, t| {
            let still = seen.iter().find(|s| current == Some(s.satellite)).map(|s| s.satellite);
            still.or_else(|| observer.longest(seen, t))
        }),
        Rule::PeriodicCheck { interval_s, randomised } => {
            SkyError::within("interval of checks (s)", interval_s, 1e-3, 1e6)?;
            observer.checks(span, go_on, interval_s, randomised)
        }
        Rule::Slots(slots) => {
            slots.check()?;
            observer.slots(span, go_on, &slots)
        }
    }?;
    Ok(observer.list)
}

fn highest(seen: &[Sighting]) -> Option<u32> {
    seen.iter().max_by(|a, b| a.sin_elevation.total_cmp(&b.sin_elevation)).map(|s| s.satellite)
}

fn nearest(seen: &[Sighting]) -> Option<u32> {
    seen.iter().min_by(|a, b| a.range_km.total_cmp(&b.range_km)).map(|s| s.satellite)
}

/// Place with its view and its handovers so far.
struct Observer<'a> {
    sky: &'a Sky,
    place: usize,
    motion: Motion,
    watch: Watch,
    among: Among<'a>,
    list: Vec<Handover>,
    current: Option<u32>,
}

impl Observer<'_> {
    /// Returns the satellites that it may choose at `t`.
    fn seen(&mut self, t: f64) -> Vec<Sighting> {
        let (sky, node) = (self.sky, self.sky.node(self.place));
        let works = |s: &&Sighting| sky.failures.is_empty() || !sky.link_fails(node, s.satellite, t);
        self.usable(Look { at_s: t, chosen_s: t }, works)
    }

    fn usable(&mut self, look: Look, works: impl Fn(&&Sighting) -> bool) -> Vec<Sighting> {
        let positions = self.motion.at(&self.sky.constellation, &self.sky.earth, look.at_s);
        let mut seen: Vec<Sighting> =
            self.watch.at(&self.sky.earth, positions, look.at_s).iter().filter(works).copied().collect();
        (self.among)(&mut seen, positions, look);
        seen
    }

    fn hand_over(&mut self, at_s: f64, to: Option<u32>) {
        if to != self.current {
            self.list.push(Handover { at_s, from: self.current, to });
            self.current = to;
        }
    }

    /// Follows a rule that chooses again at every instant. The change between two instants is located by bisection.
    fn continuously(
        &mut self,
        span: Span,
        go_on: GoOn,
        choose: impl Fn(&mut Self, Option<u32>, &[Sighting], f64) -> Option<u32>,
    ) -> Result<(), SkyError> {
        let mut before = span.from_s;
        for (t, _) in self.sky.instants(span) {
            span.reach(t, go_on)?;
            let choice = |observer: &mut Self, t: f64| {
                let seen = observer.seen(t);
                choose(observer, observer.current, &seen, t)
            };
            // More than one handover within a step is rare. Many are impossible.
            for _ in 0..16 {
                if choice(self, t) == self.current {
                    break;
                }
                let (mut low, mut high) = (before, t);
                while high - low > WITHIN_S {
                    let middle = 0.5 * (low + high);
                    if choice(self, middle) == self.current {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                let to = choice(self, high);
                self.hand_over(high, to);
                before = high;
            }
            before = t;
        }
        Ok(())
    }

    /// Returns the satellite that stays in view longest from `t` on.
    fn longest(&self, seen: &[Sighting], t: f64) -> Option<u32> {
        let sky = self.sky;
        let mut left: Vec<u32> = seen.iter().map(|s| s.satellite).collect();
        let mut ahead = AHEAD_STEP_S;
        while left.len() > 1 && ahead <= AHEAD_S {
            let still = |satellite: &u32| self.in_view(*satellite, t + ahead);
            if left.iter().any(still) {
                left.retain(still);
                ahead += AHEAD_STEP_S;
                continue;
            }
            // All of them set within this step: halve it.
            let mut step = AHEAD_STEP_S;
            let mut from = ahead - step;
            while left.len() > 1 && step > WITHIN_S {
                step *= 0.5;
                let still = |satellite: &u32| self.in_view(*satellite, t + from + step);
                if left.iter().any(still) {
                    left.retain(still);
                    from += step;
                }
            }
            break;
        }
        debug_assert!(left.iter().all(|satellite| (*satellite as usize) < sky.satellites()));
        left.first().copied()
    }

    fn in_view(&self, satellite: u32, t: f64) -> bool {
        // Failures are unknown in advance.
        self.sky.sighting(self.place, satellite, t).is_ok_and(|s| self.watch.sees(&s))
    }

    fn checks(&mut self, span: Span, go_on: GoOn, interval_s: f64, randomised: Option<u64>) -> Result<(), SkyError> {
        let mut lots = randomised.map(|seed| Stream::new(seed, &self.sky.places[self.place].name, "handover checks"));
        let mut t = span.from_s;
        for number in 0.. {
            if t >= span.until_s {
                break;
            }
            span.reach(t, go_on)?;
            let seen = self.seen(t);
            if !seen.iter().any(|s| self.current == Some(s.satellite)) {
                let to = highest(&seen);
                self.hand_over(t, to);
            }
            t += interval_s * lots.as_mut().map_or(1.0, |lots| 0.5 + lots.uniform(number));
        }
        Ok(())
    }

    fn slots(&mut self, span: Span, go_on: GoOn, slots: &Slots) -> Result<(), SkyError> {
        let mut lots = Stream::new(slots.seed, &self.sky.places[self.place].name, "slots");
        let day = self.sky.constellation.epoch.second_of_day() - slots.phase_s;
        // Slots are numbered from the boundary before the epoch, so a random choice belongs to an instant, not to a
        // span.
        let start = (day / slots.period_s).floor();
        let boundary = |number: i64| (start + number as f64) * slots.period_s - day;
        let mut number = ((span.from_s + day) / slots.period_s - start).floor() as i64;
        loop {
            let begin = boundary(number);
            let t = begin.max(span.from_s);
            if t >= span.until_s {
                return Ok(());
            }
            span.reach(t, go_on)?;
            let to = self.draw(t, boundary(number + 1), slots, &mut lots, number);
            self.hand_over(t, to);
            number += 1;
        }
    }

    /// Returns the satellite for the slot from `t` until `end`: a satellite that stays in view all the time, or any.
    fn draw(&mut self, t: f64, end: f64, slots: &Slots, lots: &mut Stream, number: i64) -> Option<u32> {
        // Future failures are unknown.
        let later = self.usable(Look { at_s: end, chosen_s: t }, |_| true);
        let later: Vec<u32> = later.iter().map(|s| s.satellite).collect();
        let now = self.seen(t);
        let lasting: Vec<Sighting> = now.iter().filter(|s| later.contains(&s.satellite)).copied().collect();
        let seen = if lasting.is_empty() { now } else { lasting };
        let draw = (number as u64).wrapping_mul(2);
        if lots.uniform(draw) < slots.stay && seen.iter().any(|s| self.current == Some(s.satellite)) {
            return self.current;
        }
        let (stand, up) = self.watch.stand();
        // The pole's side is farther from the equator along the meridian of the horizon.
        let side = if stand[2] < 0.0 { -1.0 } else { 1.0 };
        let weights: Vec<f64> = seen
            .iter()
            .map(|s| {
                let positions = self.sky.position(s.satellite, t).unwrap_or(stand);
                let north = positions[2] - stand[2] - s.range_km * s.sin_elevation * up[2];
                let polewards = if north * side > 0.0 { slots.poleward } else { 1.0 };
                polewards * pow(s.sin_elevation.max(0.0), slots.elevation_power)
            })
            .collect();
        let mut lot = lots.uniform(draw + 1) * weights.iter().sum::<f64>();
        for (s, weight) in seen.iter().zip(&weights) {
            lot -= weight;
            if lot < 0.0 {
                return Some(s.satellite);
            }
        }
        seen.last().map(|s| s.satellite)
    }
}

#[cfg(test)]
mod tests;
