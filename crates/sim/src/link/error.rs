//! Error models: which packets a link corrupts (`specs/error-models`).
//!
//! Draws are addressed by the packet's number on the link (or by time, for the states of Gilbert-Elliott), so
//! every sender that is compared meets the same channel.

use crate::scenario::{ErrorModel as Spec, ErrorUnit};
use bentpipe_units::{Duration, Stream, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum ErrorModel {
    None,
    Independent(Box<Independent>),
    GilbertElliott(Box<GilbertElliott>),
    Arrivals { list: Vec<u64>, next: usize },
}

impl ErrorModel {
    /// What happens after `end`, when the run is over, is not worked out.
    pub(super) fn new(spec: &Spec, seed: u64, link: &str, end: Time) -> Self {
        match spec {
            Spec::None => Self::None,
            Spec::Independent { rate, .. } if *rate <= 0.0 => Self::None,
            Spec::Independent { unit, rate } => Self::Independent(Box::new(Independent::new(*unit, *rate, seed, link))),
            Spec::GilbertElliott { .. } => Self::GilbertElliott(Box::new(GilbertElliott::new(spec, seed, link, end))),
            Spec::Arrivals(list) => Self::Arrivals { list: list.clone(), next: 0 },
        }
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether packet number `index` of this link, of `size` bytes, whose last bit leaves at `at`, is corrupted.
    /// Numbers and times do not decrease.
    pub(super) fn corrupts(&mut self, at: Time, index: u64, size: u64) -> bool {
        match self {
            Self::None => false,
            Self::Independent(model) => model.corrupts(size),
            Self::GilbertElliott(model) => model.corrupts(at, index, size),
            Self::Arrivals { list, next } => {
                let hit = list.get(*next) == Some(&index);
                *next += usize::from(hit);
                hit
            }
        }
    }
}

fn units_of(unit: ErrorUnit, size: u64) -> u64 {
    match unit {
        ErrorUnit::Bit => 8 * size,
        ErrorUnit::Byte => size,
        ErrorUnit::Packet => 1,
    }
}

/// Independent errors. The distance to the next error is geometric: one draw per corrupted packet, none for the others.
#[derive(Clone, Debug)]
pub(super) struct Independent {
    unit: ErrorUnit,
    /// ln(1 - rate).
    log_survival: f64,
    gaps: Stream,
    drawn: u64,
    /// Units until the next error.
    left: u64,
}

impl Independent {
    fn new(unit: ErrorUnit, rate: f64, seed: u64, link: &str) -> Self {
        let log_survival = libm::log1p(-rate.min(1.0));
        let mut model = Self { unit, log_survival, gaps: Stream::new(seed, link, "error"), drawn: 0, left: 0 };
        model.left = model.gap();
        model
    }

    #[inline]
    fn corrupts(&mut self, size: u64) -> bool {
        let units = units_of(self.unit, size);
        if self.left >= units {
            self.left -= units;
            return false;
        }
        // Errors have no memory: the next distance counts from the end of this packet.
        self.left = self.gap();
        true
    }

    /// Units without error before the next: floor(ln u / ln(1 - rate)).
    fn gap(&mut self) -> u64 {
        let u = self.gaps.uniform_positive(self.drawn);
        self.drawn += 1;
        let gap = libm::log(u) / self.log_survival;
        // Saturates; rate = 1 gives -x / -inf = 0.
        gap as u64
    }
}

/// A good and a bad state with exponential durations in time; the states do not depend on the traffic.
#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    unit: ErrorUnit,
    mean: [Duration; 2],
    log_survival: [f64; 2],
    durations: Stream,
    losses: Stream,
    drawn: u64,
    is_bad: bool,
    until: Time,
    end: Time,
}

impl GilbertElliott {
    fn new(spec: &Spec, seed: u64, link: &str, end: Time) -> Self {
        let Spec::GilbertElliott { unit, mean_good, mean_bad, rate_good, rate_bad } = spec else {
            unreachable!("the caller matched it");
        };
        let mut durations = Stream::new(seed, link, "error/state");
        // Start in the stationary distribution (Reading of the spec).
        let (good, bad) = (mean_good.as_secs_f64(), mean_bad.as_secs_f64());
        let is_bad = durations.uniform(0) * (good + bad) < bad;
        let mut model = Self {
            unit: *unit,
            mean: [*mean_good, *mean_bad],
            log_survival: [rate_good, rate_bad].map(|rate| libm::log1p(-rate.min(1.0))),
            durations,
            losses: Stream::new(seed, link, "error"),
            drawn: 1,
            is_bad,
            until: Time::ZERO,
            end,
        };
        let duration = model.duration();
        model.until += duration;
        model
    }

    fn corrupts(&mut self, at: Time, index: u64, size: u64) -> bool {
        if at > self.end || at == Time::NEVER {
            // Nobody will see it, and on a slow link there may be billions of states until then.
            return false;
        }
        while self.until <= at {
            self.is_bad = !self.is_bad;
            let duration = self.duration();
            self.until += duration;
        }
        let log_survival = self.log_survival[usize::from(self.is_bad)];
        if log_survival == 0.0 {
            return false;
        }
        let survival = libm::exp(log_survival * units_of(self.unit, size) as f64);
        self.losses.uniform(index) >= survival
    }

    fn duration(&mut self) -> Duration {
        let u = self.durations.uniform_positive(self.drawn);
        self.drawn += 1;
        let mean = self.mean[usize::from(self.is_bad)];
        Duration::from_secs_f64(-libm::log(u) * mean.as_secs_f64()).max(Duration::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(spec: &Spec, size: u64, packets: u64, gap: Duration) -> f64 {
        let mut model = ErrorModel::new(spec, 1, "link", Time::NEVER);
        let hits = (0..packets).filter(|&i| model.corrupts(Time::ZERO + gap * i, i, size)).count();
        hits as f64 / packets as f64
    }

    /// `specs/error-models.md`: the three units, within four standard deviations.
    #[test]
    fn the_unit_decides_what_a_rate_means() {
        for (unit, rate, size, expected) in [
            (ErrorUnit::Bit, 1e-4, 1540, 0.7083),
            (ErrorUnit::Byte, 1e-4, 1540, 0.1427),
            (ErrorUnit::Packet, 1e-2, 1540, 1e-2),
            (ErrorUnit::Bit, 2e-5, 1500, 0.213374),
            (ErrorUnit::Bit, 2e-5, 40, 6.38e-3),
            (ErrorUnit::Packet, 1.0, 40, 1.0),
        ] {
            let n = 200_000;
            let measured = loss(&Spec::Independent { unit, rate }, size, n, Duration::from_millis(1));
            let deviation = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((measured - expected).abs() <= 4.0 * deviation + 5e-5, "{unit:?} {rate}: {measured} {expected}");
        }
    }

    /// pi_B = 10 / (90 + 10) = 0.1, half of it lost; independent of how often packets look.
    #[test]
    fn gilbert_elliott_is_stationary_in_time() {
        let spec = Spec::GilbertElliott {
            unit: ErrorUnit::Packet,
            mean_good: Duration::from_millis(90),
            mean_bad: Duration::from_millis(10),
            rate_good: 0.0,
            rate_bad: 0.5,
        };
        for gap_ms in [1, 3] {
            let measured = loss(&spec, 1000, 2_000_000, Duration::from_millis(gap_ms));
            assert!((measured - 0.05).abs() < 0.002, "{measured}");
        }
    }

    #[test]
    fn listed_arrivals_are_hit_and_no_others() {
        let mut model = ErrorModel::new(&Spec::Arrivals(vec![0, 3]), 1, "link", Time::NEVER);
        assert_eq!([0, 1, 2, 3, 4].map(|i| model.corrupts(Time::ZERO, i, 40)), [true, false, false, true, false]);
    }
}
