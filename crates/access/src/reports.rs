//! Reports of the signal: instants of measurements, and choices of the gateway.

use crate::adaptation::{Adaptation, Choice};
use crate::modcods::{Modcod, MODCODS};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Instants at which terminals measure their signal, spread evenly over the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurements {
    /// Time between two measurements of a terminal.
    pub every: Duration,
    /// Number of terminals.
    pub terminals: u64,
}

impl Measurements {
    /// Returns the number and the instant of a terminal's last measurement at `now` or before. `None` before its first.
    /// A terminal has a report to send if the number is above that of its last report.
    pub fn last(&self, terminal: u64, now: Time) -> Option<(u64, Time)> {
        let since = (now - Time::ZERO).as_ps().checked_sub(self.phase(terminal))?;
        let number = since / self.every.as_ps().max(1);
        Some((number, self.instant(terminal, number)))
    }

    /// Returns the instant of a measurement of a terminal by its number.
    pub fn instant(&self, terminal: u64, number: u64) -> Time {
        let every = Duration::from_ps(self.every.as_ps().max(1));
        Time::ZERO + every.saturating_mul(number) + Duration::from_ps(self.phase(terminal))
    }

    /// Returns the time of a terminal's first measurement, ps.
    fn phase(&self, terminal: u64) -> u64 {
        let phase = u128::from(self.every.as_ps().max(1)) * u128::from(terminal) / u128::from(self.terminals.max(1));
        u64::try_from(phase).unwrap_or(u64::MAX)
    }
}

/// Modulation and code of a terminal, by its reports.
#[derive(Clone, Debug)]
pub struct Reported {
    choice: Choice,
    /// Signal of the report in use, dB.
    level_db: f64,
    /// Reports under way: the start of the use of each, and its signal.
    coming: VecDeque<(Time, f64)>,
}

impl Reported {
    /// Returns the choice for the signal at the start.
    pub fn new(rule: &Adaptation, es_n0_db: f64) -> Self {
        Self { choice: Choice::first(rule, es_n0_db, best), level_db: es_n0_db, coming: VecDeque::with_capacity(4) }
    }

    /// Returns a constant choice.
    pub fn constant(modcod: Modcod) -> Self {
        let choice = Choice::fixed(Some(modcod.index()));
        Self { choice, level_db: f64::NEG_INFINITY, coming: VecDeque::new() }
    }

    /// Notes a report that is in use from `from` on, or from that of the report before it if that is later.
    pub fn report(&mut self, from: Time, es_n0_db: f64) {
        let last = self.coming.back().map_or(from, |last| last.0);
        self.coming.push_back((from.max(last), es_n0_db));
    }

    /// Returns the start of the use of the next report, if one is under way.
    pub fn next(&self) -> Option<Time> {
        self.coming.front().map(|&(from, _)| from)
    }

    /// Returns the signal of the report in use at the last call of [`Reported::at`]. Minus infinity with a constant choice.
    pub fn level_db(&self) -> f64 {
        self.level_db
    }

    /// Whether a modulation and code was chosen at the last call of [`Reported::at`].
    pub fn is_served(&self) -> bool {
        self.choice.chosen().is_some()
    }

    /// Returns the choice at `now`. `None` if the signal is too weak for all.
    pub fn at(&mut self, rule: &Adaptation, now: Time) -> Option<Modcod> {
        while let Some((_, level)) = self.coming.front().copied().filter(|(from, _)| *from <= now) {
            self.coming.pop_front();
            self.level_db = level;
            self.choice.choose(rule, level, |index| MODCODS[index].1, best);
        }
        self.choice.chosen().map(|index| MODCODS[index].0)
    }
}

fn best(level: f64) -> Option<usize> {
    Modcod::best(level).map(|(modcod, ..)| modcod.index())
}
