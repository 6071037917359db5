//! Variable delays: values that hold for a time. Each value is a function of its number, so the draws do not depend on the
//! packets.

use super::slotted::Slotted;
use bentpipe_model::spec::{of_both, Jitter as Spec, Link};
use bentpipe_units::{Duration, Stream, Time};
use libm::{cos, erfc, exp, log, sqrt};
use std::f64::consts::{PI, SQRT_2};

/// The variable delays of a link, and the delay of its slots. They add up.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    terms: Vec<Term>,
    slots: Option<Slotted>,
    /// End of the run, after which no packet arrives.
    end: Time,
}

#[derive(Clone, Debug)]
struct Term {
    spec: Spec,
    /// Correlation of a value with the next one.
    keep: f64,
    stream: Stream,
    /// The current value: its number, its normal variable, its start and end.
    number: u64,
    x: f64,
    value: Duration,
    from: Time,
    to: Time,
}

impl Jitter {
    /// The variable delays of a link, if it has any.
    pub(super) fn of(link: &Link, seed: u64, end: Time) -> Option<Self> {
        let both = of_both(&link.name);
        let term = |(number, spec): (usize, &Spec)| {
            let name = if spec.both_ways { both } else { &link.name };
            Term::new(spec, Stream::new(seed, &format!("link/{name}"), &format!("jitter/{number}")))
        };
        let terms: Vec<Term> = link.jitter.iter().flat_map(|all| all.iter()).enumerate().map(term).collect();
        let slots = Slotted::of(link, seed);
        (!terms.is_empty() || slots.is_some()).then_some(Self { terms, slots, end })
    }

    /// The extra delay at an instant. Links ask in order of time; going back is allowed, and slow.
    pub(super) fn at(&mut self, at: Time) -> Duration {
        let at = at.min(self.end);
        let slots = self.slots.as_mut().map_or(Duration::ZERO, |slots| slots.at(at));
        self.terms.iter_mut().fold(slots, |sum, term| sum + term.at(at))
    }
}

impl Term {
    fn new(spec: &Spec, stream: Stream) -> Self {
        let (every, correlation) = (spec.every.as_secs_f64(), spec.correlation.as_secs_f64());
        let keep = if correlation > 0.0 { exp(-every / correlation) } else { 0.0 };
        let spec = Spec { offset: Duration::from_ps(spec.offset.as_ps() % spec.every.as_ps().max(1)), ..spec.clone() };
        Self { spec, keep, stream, number: 0, x: 0.0, value: Duration::ZERO, from: Time::ZERO, to: Time::ZERO }
    }

    fn at(&mut self, at: Time) -> Duration {
        if !(self.from..self.to).contains(&at) {
            self.seek(at);
        }
        self.value
    }

    #[inline(never)]
    fn seek(&mut self, at: Time) {
        let (first, every) = (Time::ZERO + self.spec.offset, self.spec.every);
        let number = if at < first { 1 } else { 2 + at.saturating_since(first).as_ps() / every.as_ps().max(1) };
        (self.from, self.to) = match number {
            1 => (Time::ZERO, first),
            _ => (first + every * (number - 2), first + every * (number - 1)),
        };
        let share = if self.keep > 0.0 {
            self.walk(number);
            erfc(-self.x / SQRT_2) / 2.0
        } else {
            self.stream.uniform(number)
        };
        self.value = self.spec.delay.quantile(share);
    }

    /// An autoregressive process of order 1 up to this number.
    fn walk(&mut self, number: u64) {
        if number < self.number {
            self.number = 0;
        }
        while self.number < number {
            self.number += 1;
            let one = self.stream.uniform_positive(2 * self.number);
            let normal = sqrt(-2.0 * log(one)) * cos(2.0 * PI * self.stream.uniform(2 * self.number + 1));
            self.x = match self.number {
                1 => normal,
                _ => self.keep * self.x + sqrt(1.0 - self.keep * self.keep) * normal,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::from_toml;

    fn jitter(keys: &str) -> [Jitter; 2] {
        let text = format!(
            "duration = '900 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\njitter = {keys}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\n"
        );
        let scenario = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        [0, 1].map(|side| Jitter::of(&scenario.links[side], 7, Time::ZERO + scenario.duration).expect("it varies"))
    }

    fn values(jitter: &mut Jitter, count: u64, every: Duration) -> Vec<f64> {
        (0..count).map(|k| jitter.at(Time::ZERO + every * k).as_secs_f64() * 1e3).collect()
    }

    fn quantile(values: &[f64], share: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[(share * (values.len() - 1) as f64) as usize]
    }

    fn correlation(values: &[f64], lag: usize) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let product = |lag: usize| values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
        product(lag) / product(0)
    }

    /// Quantiles by hand: an exponential distribution has its median at 0.693 means and 95 % at 2.996 means.
    #[test]
    fn values_have_the_distribution_that_is_written() {
        let ms = Duration::from_millis(1);
        for (delay, expected) in [
            ("{ kind = 'exponential', mean = '10 ms' }", [6.93, 29.96]),
            ("{ kind = 'uniform', from = '2 ms', to = '12 ms' }", [7.0, 11.5]),
            ("{ kind = 'quantiles', points = [['0 %', '1 ms'], ['50 %', '3 ms'], ['100 %', '23 ms']] }", [3.0, 21.0]),
        ] {
            for correlation in ["", ", correlation = '3 ms'"] {
                let found =
                    values(&mut jitter(&format!("{{ delay = {delay}, every = '1 ms'{correlation} }}"))[0], 200_000, ms);
                for (share, expected) in [0.5, 0.95].into_iter().zip(expected) {
                    let found = quantile(&found, share);
                    assert!((found / expected - 1.0).abs() < 0.05, "{delay}{correlation}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn values_forget_at_their_rate_and_hold_for_their_time() {
        let uniform =
            |more: &str| jitter(&format!("{{ delay = {{ kind = 'uniform', to = '9 ms' }}, every = '2 ms'{more} }}"));
        let ms = Duration::from_millis(1);
        let found = values(&mut uniform(", correlation = '20 ms'")[0], 200_000, ms);
        // Ranks of a normal process correlate by 6 asin(r / 2) / pi, a little less than the process.
        for lag in [4_u32, 20] {
            let said = 6.0 / PI * (exp(-f64::from(lag) / 20.0) / 2.0).asin();
            assert!((correlation(&found, lag as usize) - said).abs() < 0.03, "{lag}");
        }
        let [mut there, mut back] = uniform("");
        let (one, other) = (values(&mut there, 20_000, ms), values(&mut back, 20_000, ms));
        assert!(correlation(&one, 2).abs() < 0.03 && one.chunks(2).all(|pair| pair[0] == pair[1]) && one != other);
        let [mut there, mut back] = uniform(", both_ways = true, offset = '5 ms'");
        let one = values(&mut there, 100, ms);
        assert_eq!(one, values(&mut back, 100, ms));
        assert!(one[0] != one[1] && one[1] == one[2] && one[2] != one[3]);
    }

    /// Values are equal for any order of calls.
    #[test]
    fn a_value_belongs_to_its_instant() {
        let keys = "[{ delay = { kind = 'exponential', mean = '5 ms' }, every = '2 ms', correlation = '9 ms' },
                     { delay = { kind = 'uniform', to = '4 ms' }, every = '15 s', offset = '12 s' }]";
        let [mut jitter, _] = jitter(keys);
        let at = |k: u64| Time::ZERO + Duration::from_micros(770) * k;
        let forward: Vec<Duration> = (0..30_000).map(|k| jitter.at(at(k))).collect();
        for k in [29_999, 3, 15_000, 14_998, 0] {
            assert_eq!(jitter.at(at(k)), forward[k as usize], "{k}");
        }
    }
}
