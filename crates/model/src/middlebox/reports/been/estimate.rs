//! Estimates the error rate of a link from the fate of packets: G. Anderson's maximum-likelihood estimate (thesis,
//! Drexel 2011, as BEEN quotes it), and its exponentially weighted mean.
//!
//! Let m of n packets, with M of N bytes, be lost. A byte crosses with the probability (1 -
//! M/N)^(m/M), so the error rate is 1 minus that. For packets of one length L it is 1 - (1 - m/n)^(1/L). With n = 10
//! the estimate is rough: at 1e-3 and 80 B its standard deviation is as large as its mean. The mean over windows has a
//! third of that, and lags by 4.5 windows.

use super::{BeenConfig, Cold, EwmaStart, MleUnit, Scope};
use crate::middlebox::reports::flows::Flows;
use crate::packet::Packet;

/// Estimators of a gateway: of its uplink, or of each connection.
#[derive(Clone, Debug)]
pub(super) struct Estimators {
    scope: Scope,
    uplink: Estimator,
    flows: Flows<Estimator>,
}

impl Estimators {
    pub(super) fn new(config: BeenConfig) -> Self {
        Self { scope: config.scope, uplink: Estimator::new(config), flows: Flows::default() }
    }

    /// Returns the estimator that counts a packet, in either direction of its connection.
    pub(super) fn of(&mut self, packet: &Packet) -> &mut Estimator {
        let config = self.uplink.config;
        match self.scope {
            Scope::Uplink => &mut self.uplink,
            Scope::Flow => self.flows.entry(packet.conversation() | 1, || Estimator::new(config)),
        }
    }
}

/// Estimator of an error rate.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    config: BeenConfig,
    packets: u32,
    size: u64,
    lost_packets: u32,
    lost_size: u64,
    mean: Option<f64>,
}

impl Estimator {
    pub(super) fn new(config: BeenConfig) -> Self {
        let mean = Some(config.prior).filter(|prior| *prior > 0.0);
        Self { config, packets: 0, size: 0, lost_packets: 0, lost_size: 0, mean }
    }

    /// Adds a packet of `bytes` bytes and its fate.
    pub(super) fn add(&mut self, bytes: u64, is_lost: bool) {
        let size = if self.config.mle_unit == MleUnit::Bit { 8 * bytes } else { bytes };
        self.packets += 1;
        self.size += size;
        self.lost_packets += u32::from(is_lost);
        self.lost_size += if is_lost { size } else { 0 };
    }

    /// Adds the window to the mean if it is full.
    pub(super) fn close_window(&mut self) {
        if self.packets < self.config.window {
            return;
        }
        let (sample, beta) = (self.sample(self.config.mle_clamp), self.config.beta);
        self.mean = Some(match (self.mean, self.config.ewma_start) {
            (None, EwmaStart::FirstSample) => sample,
            (mean, _) => (1.0 - beta) * mean.unwrap_or(0.0) + beta * sample,
        });
        (self.packets, self.size, self.lost_packets, self.lost_size) = (0, 0, 0, 0);
    }

    /// Returns the estimate for the packets since the last window.
    fn sample(&self, is_clamped: bool) -> f64 {
        let (size, mut lost_packets, mut lost_size) =
            (self.size as f64, f64::from(self.lost_packets), self.lost_size as f64);
        if self.lost_packets == 0 {
            return 0.0;
        }
        if self.lost_packets == self.packets {
            if !is_clamped {
                return 1.0;
            }
            let packets = f64::from(self.packets);
            lost_packets = packets - 0.5;
            lost_size = size * lost_packets / packets;
        }
        -libm::expm1(lost_packets / lost_size * libm::log1p(-lost_size / size))
    }

    /// Returns the mean, or the value of the settings before the first window.
    pub(super) fn rate(&self) -> Option<f32> {
        let partial = (self.config.cold == Cold::Partial && self.packets > 0).then(|| self.sample(true));
        self.mean.or(partial).map(|rate| rate as f32)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Role;
    use super::*;
    use bentpipe_units::settings::{Fields, Settings, Value};

    pub(in crate::middlebox) fn config(change: impl FnOnce(&mut BeenConfig)) -> BeenConfig {
        let mut fields = Fields::of_kind("been");
        fields.0.push(("role".to_owned(), Value::Text("gateway".to_owned())));
        let mut config = <BeenConfig as Settings>::read(&fields).unwrap();
        assert_eq!(config.role, Role::Gateway);
        change(&mut config);
        config
    }

    /// Returns the estimate of one window of these packets. The flag marks lost packets.
    fn sample(unit: MleUnit, sizes: &[(u64, bool)]) -> f64 {
        let mut estimator = Estimator::new(config(|config| config.mle_unit = unit));
        sizes.iter().for_each(|&(size, is_lost)| estimator.add(size, is_lost));
        estimator.sample(false)
    }

    fn equal(length: u64, lost: usize) -> Vec<(u64, bool)> {
        (0..10).map(|at| (length, at < lost)).collect()
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} against {expected}");
    }

    /// `docs/specs/gap-mle-ber.md`, tests 1 and 2.
    #[test]
    fn equal_packets_give_the_closed_form() {
        for (lost, expected) in [(1, 1.31614e-3), (2, 2.78541e-3), (5, 8.62691e-3), (9, 2.83721e-2)] {
            near(sample(MleUnit::Byte, &equal(80, lost)), expected);
        }
        near(sample(MleUnit::Bit, &equal(80, 1)), 1.64612e-4);
        near(sample(MleUnit::Byte, &equal(1540, 1)), 6.84136e-5);
        assert_eq!([0, 10].map(|lost| sample(MleUnit::Byte, &equal(80, lost))), [0.0, 1.0]);
    }

    /// `docs/specs/gap-mle-ber.md`, test 3.
    #[test]
    fn packets_of_two_sizes_are_weighted_by_size() {
        let mixed: Vec<_> = (0..10).map(|at| if at < 5 { (1540, at < 2) } else { (80, at == 5) }).collect();
        near(sample(MleUnit::Bit, &mixed), 5.86809e-5);
    }

    /// `docs/specs/gap-mle-ber.md`, test 4.
    #[test]
    fn the_mean_forgets_with_its_weight() {
        for (start, means) in [
            (EwmaStart::Zero, [2e-4, 5.6e-4, 4.48e-4, 3.584e-4]),
            (EwmaStart::FirstSample, [1e-3, 1.2e-3, 9.6e-4, 7.68e-4]),
        ] {
            let config = config(|config| (config.ewma_start, config.window) = (start, 1));
            let mut estimator = Estimator::new(config);
            for (sample, mean) in [1e-3_f64, 2e-3, 0.0, 0.0].into_iter().zip(means) {
                // One packet of two that are one byte long each, weighted so that the sample is as wanted.
                estimator.packets = 1;
                (estimator.size, estimator.lost_size) = (1_000_000, (sample * 1e6) as u64);
                estimator.lost_packets = u32::from(sample > 0.0) * estimator.lost_size as u32;
                estimator.packets += u32::from(estimator.lost_packets > 0) * estimator.lost_packets;
                estimator.close_window();
                near(estimator.rate().unwrap().into(), mean);
            }
        }
    }

    #[test]
    fn a_window_without_arrivals_is_clamped_where_asked_for() {
        let full = |change: fn(&mut BeenConfig)| {
            let mut estimator = Estimator::new(config(change));
            (0..10).for_each(|_| estimator.add(80, true));
            estimator.close_window();
            estimator.rate().unwrap()
        };
        assert_eq!(full(|_| {}), 1.0);
        // 1 - (1 - 9.5 / 10)^(1 / 80).
        near(full(|config| config.mle_clamp = true).into(), 1.0 - libm::pow(0.05, 1.0 / 80.0));
    }

    #[test]
    fn a_cold_gateway_says_nothing_or_what_it_has_and_a_warm_one_what_it_had() {
        let first = |change: fn(&mut BeenConfig)| {
            let mut estimator = Estimator::new(config(change));
            estimator.add(80, true);
            estimator.rate()
        };
        assert_eq!(first(|_| {}), None);
        near(first(|config| config.cold = Cold::Partial).unwrap().into(), 1.0 - libm::pow(0.5, 1.0 / 80.0));
        assert_eq!(first(|config| config.prior = 1e-2), Some(1e-2));
    }
}
