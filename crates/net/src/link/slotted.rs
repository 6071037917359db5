//! Delays of a path in slots. Each is a function of its instant, so the draws do not depend on the packets.
//!
//! The longest waits of a slot follow each other: a slow process decides when they come. All other waits are drawn one by
//! one, and follow the slow process a little. Over a slot, waits have the measured quantiles. Both directions of a link have
//! the same waits.

use bentpipe_model::spec::{of_both, Link, SlotDraws, Slots, COMMON};
use bentpipe_units::{Duration, Stream, Time};
use libm::{cos, erfc, exp, log, sqrt};
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

/// The slots of a link.
#[derive(Clone, Debug)]
pub(super) struct Slotted {
    spec: Arc<Slots>,
    draws: SlotDraws,
    fast: Stream,
    slow: Stream,
    /// Correlation of the slow process from one wait to the next.
    keep: f64,
    /// Number of waits that the slow process has gone through, and its value.
    number: u64,
    y: f64,
    /// The current delay: value, start, end.
    value: Duration,
    from: Time,
    to: Time,
}

impl Slotted {
    pub(super) fn of(link: &Link, seed: u64) -> Option<Self> {
        let spec = link.slots.clone()?;
        let keep = match spec.correlation {
            Duration::ZERO => 0.0,
            correlation => exp(-spec.hold.as_secs_f64() / correlation.as_secs_f64()),
        };
        let stream = |purpose| Stream::new(seed, &format!("link/{}", of_both(&link.name)), purpose);
        Some(Self {
            draws: SlotDraws::new(&link.name, seed),
            fast: stream("slots/fast"),
            slow: stream("slots/slow"),
            keep,
            number: 0,
            y: 0.0,
            value: Duration::ZERO,
            from: Time::ZERO,
            to: Time::ZERO,
            spec,
        })
    }

    /// The delay at an instant. Links ask in order of time; going back is allowed, and slow.
    pub(super) fn at(&mut self, at: Time) -> Duration {
        if !(self.from..self.to).contains(&at) {
            self.seek(at);
        }
        self.value
    }

    #[inline(never)]
    fn seek(&mut self, at: Time) {
        let hold = self.spec.hold;
        let wait = (at - Time::ZERO).as_ps() / hold.as_ps().max(1);
        let (number, begin, end) = self.spec.number(at);
        self.from = begin.max(Time::ZERO + hold * wait);
        self.to = end.min(Time::ZERO + hold * (wait + 1));
        self.walk(wait + 1);
        let x = sqrt(1.0 - COMMON) * normal(&mut self.fast, wait + 1) + sqrt(COMMON) * self.y;
        let slot = self.draws.slot(&self.spec, number);
        let (slow, ordinary) = (share(self.y), 1.0 - slot.slow);
        let share = if slow > ordinary { slow } else { ordinary * share(x) };
        self.value = slot.delay(share, self.spec.base);
    }

    /// An autoregressive process of order 1 up to this number.
    fn walk(&mut self, number: u64) {
        if number < self.number {
            self.number = 0;
        }
        while self.number < number {
            self.number += 1;
            let fresh = normal(&mut self.slow, self.number);
            self.y = match self.number {
                1 => fresh,
                _ => self.keep * self.y + sqrt(1.0 - self.keep * self.keep) * fresh,
            };
        }
    }
}

/// Normal variable of this number.
fn normal(stream: &mut Stream, number: u64) -> f64 {
    let one = stream.uniform_positive(2 * number);
    sqrt(-2.0 * log(one)) * cos(2.0 * PI * stream.uniform(2 * number + 1))
}

/// The share of a normal distribution below `x`.
fn share(x: f64) -> f64 {
    erfc(-x / SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::from_toml;

    fn slotted(keys: &str) -> [Slotted; 2] {
        let text = format!(
            "duration = '1 h'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\nslots = {keys}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\n"
        );
        let scenario = from_toml(&text, "f", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        [0, 1].map(|side| Slotted::of(&scenario.links[side], 7).expect("it has slots"))
    }

    const ONE: &str = "{ every = '15 s', rows = [{ base = '5 ms', slow = '5 %', wait = ['0 ms', '1 ms', '2 ms', \
                       '4 ms', '6 ms', '9 ms', '20 ms', '40 ms', '90 ms', '100 ms'] }] }";

    #[test]
    fn waits_have_the_quantiles_that_are_written() {
        let [mut slotted, _] = slotted(ONE);
        let at = |k: u64| Time::ZERO + Duration::from_millis(20) * k;
        let mut found: Vec<f64> = (0..180_000).map(|k| slotted.at(at(k)).as_secs_f64() * 1e3).collect();
        found.sort_by(f64::total_cmp);
        for (share, expected) in [(0.05, 7.0), (0.25, 9.0), (0.5, 11.0), (0.75, 14.0), (0.95, 25.0), (0.99, 45.0)] {
            let quantile = found[(share * found.len() as f64) as usize];
            assert!((quantile / expected - 1.0).abs() < 0.05, "{share}: {quantile}");
        }
    }

    /// Half of the time after a slow wait is slow again for a correlation of 250 ms; chance alone gives 5 %.
    #[test]
    fn slow_waits_follow_each_other_in_both_directions() {
        let [mut there, mut back] = slotted(ONE);
        let at = |k: u64| Time::ZERO + Duration::from_millis(20) * k;
        let is_slow = |slotted: &mut Slotted| -> Vec<bool> {
            (0..180_000).map(|k| slotted.at(at(k)) > Duration::from_millis(25)).collect()
        };
        let (there, back) = (is_slow(&mut there), is_slow(&mut back));
        let again = |later: &[bool]| {
            let slow = there.iter().zip(later).filter(|(slow, _)| **slow);
            slow.clone().filter(|(_, later)| **later).count() as f64 / slow.count() as f64
        };
        assert!(again(&there[2..]) > 0.4 && again(&back) > 0.99, "{} {}", again(&there[2..]), again(&back));
        assert!((0.03..0.15).contains(&again(&there[200..])), "{}", again(&there[200..]));
    }

    /// Values are equal for any order of calls.
    #[test]
    fn a_delay_belongs_to_its_instant() {
        let [mut slotted, _] = slotted("{ table = 'starlink-2024', every = '15 s', offset = '12 s' }");
        let at = |k: u64| Time::ZERO + Duration::from_micros(7_770) * k;
        let forward: Vec<Duration> = (0..30_000).map(|k| slotted.at(at(k))).collect();
        for k in [29_999, 3, 15_000, 14_998, 0] {
            assert_eq!(slotted.at(at(k)), forward[k as usize], "{k}");
        }
    }
}
