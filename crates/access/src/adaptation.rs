//! Adapts modulation and code to the signal: down immediately, up when the signal has been strong enough for some time.

/// Rule of adaptation, in dB and choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// Margin of the reported signal above a threshold.
    pub margin_db: f64,
    /// Further margin to go up.
    pub hysteresis_db: f64,
    /// Consecutive choices with that margin.
    pub hold: u32,
}

impl Default for Adaptation {
    fn default() -> Self {
        Self { margin_db: 1.0, hysteresis_db: 0.3, hold: 3 }
    }
}

/// Choice over time among modulations and codes, as an index of their thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    chosen: Option<usize>,
    /// Consecutive choices with a better one possible.
    better: u32,
    /// Signal that keeps the choice.
    steady_db: Option<f64>,
}

impl Choice {
    /// Returns the choice at the start, for this signal and `best`: the most efficient index that a signal permits.
    pub fn first(rule: &Adaptation, level_db: f64, best: impl Fn(f64) -> Option<usize>) -> Self {
        Self::fixed(best(level_db - rule.margin_db))
    }

    /// Returns the choice that never changes, until [`Choice::choose`] is called.
    pub fn fixed(chosen: Option<usize>) -> Self {
        Self { chosen, ..Self::default() }
    }

    /// Chooses for a reported signal, always by the same rule. `threshold` is the weakest signal that an index permits.
    /// Returns whether the choice may have changed.
    pub fn choose(
        &mut self,
        rule: &Adaptation,
        reported_db: f64,
        threshold: impl Fn(usize) -> f64,
        best: impl Fn(f64) -> Option<usize>,
    ) -> bool {
        if self.steady_db == Some(reported_db) {
            return false;
        }
        self.follow(rule, reported_db, threshold, best);
        // Without a better choice under way, the same signal gives the same choice.
        self.steady_db = (self.better == 0).then_some(reported_db);
        true
    }

    fn follow(
        &mut self,
        rule: &Adaptation,
        reported_db: f64,
        threshold: impl Fn(usize) -> f64,
        best: impl Fn(f64) -> Option<usize>,
    ) {
        let level = reported_db - rule.margin_db;
        if !self.chosen.is_none_or(|chosen| threshold(chosen) <= level) {
            (self.chosen, self.better) = (best(level), 0);
            return;
        }
        let higher = best(level - rule.hysteresis_db);
        if higher <= self.chosen {
            self.better = 0;
            return;
        }
        self.better += 1;
        if self.better >= rule.hold {
            (self.chosen, self.better) = (higher, 0);
        }
    }

    /// Whether reports of this signal keep the choice.
    pub(crate) fn keeps(&self, reported_db: f64) -> bool {
        self.steady_db == Some(reported_db)
    }

    /// Returns the index chosen. `None` if the signal is too weak for all.
    pub fn chosen(self) -> Option<usize> {
        self.chosen
    }
}
