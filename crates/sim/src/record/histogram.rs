//! Counts of spans in bins of at most 1.6 %, for quantiles without keeping the samples.

use bentpipe_units::Duration;

/// Bins in units of 1 ns: exact up to 64, then 64 bins per octave. Grows to the bins seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    zeros: u64,
    positives: u64,
    sum_ps: u128,
    /// Smallest positive sample; 0: no sample.
    min_ps: u64,
    /// Bin of `bins[0]`: the samples of one quantity are close together, and most of the lower bins stay empty.
    first: usize,
    bins: Box<[u64]>,
}

const PS_PER_NS: u64 = 1000;
const BINS_LOG2: u32 = 6;

impl Histogram {
    #[inline]
    pub(crate) fn record_span(&mut self, span: Duration) {
        if span == Duration::ZERO {
            return self.record_zero();
        }
        let ps = span.as_ps();
        self.positives += 1;
        self.sum_ps += u128::from(ps);
        // Wraps to the largest value without a sample.
        self.min_ps = (self.min_ps.wrapping_sub(1)).min(ps - 1) + 1;
        let bin = bin_of(ps / PS_PER_NS);
        // Below the first bin, wraps to an index that does not exist.
        match self.bins.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => {
                self.grow(bin);
                self.bins[bin - self.first] += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn record_zero(&mut self) {
        self.zeros += 1;
    }

    #[inline]
    pub(crate) fn record_zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    /// Grows by whole octaves, so that it seldom happens.
    #[cold]
    fn grow(&mut self, bin: usize) {
        let octave = bin & !((1 << BINS_LOG2) - 1);
        if self.bins.is_empty() {
            self.first = octave;
        }
        let missing_below = self.first.saturating_sub(octave);
        let mut bins = std::mem::take(&mut self.bins).into_vec();
        bins.splice(..0, std::iter::repeat_n(0, missing_below));
        self.first -= missing_below;
        bins.resize(bins.len().max(octave + (1 << BINS_LOG2) - self.first), 0);
        self.bins = bins.into_boxed_slice();
    }

    /// Adds the counts of another histogram.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.positives += other.positives;
        self.sum_ps += other.sum_ps;
        if other.positives > 0 {
            self.min_ps = self.min_ps.wrapping_sub(1).min(other.min_ps - 1) + 1;
        }
        for (bin, &count) in (other.first..).zip(&other.bins).filter(|(_, &count)| count > 0) {
            if self.bins.get(bin.wrapping_sub(self.first)).is_none() {
                self.grow(bin);
            }
            self.bins[bin - self.first] += count;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.zeros + self.positives
    }

    pub(crate) fn mean_s(&self) -> f64 {
        if self.count() == 0 {
            return f64::NAN;
        }
        self.sum_ps as f64 / self.count() as f64 / 1e12
    }

    pub(crate) fn min_s(&self) -> f64 {
        match (self.positives, self.zeros) {
            (0, 0) => f64::NAN,
            (_, 0) => self.min_ps as f64 / 1e12,
            _ => 0.0,
        }
    }

    /// Returns the upper edge of the bin with the `q` quantile, seconds; NaN without samples.
    pub(crate) fn quantile_s(&self, q: f64) -> f64 {
        if self.count() == 0 {
            return f64::NAN;
        }
        let rank = ((q * self.count() as f64).ceil() as u64).max(1);
        let mut seen = self.zeros;
        if seen >= rank {
            return 0.0;
        }
        for (bin, &count) in (self.first..).zip(&self.bins) {
            seen += count;
            if seen >= rank {
                return upper_edge_ns(bin) as f64 / 1e9;
            }
        }
        upper_edge_ns((self.first + self.bins.len()).saturating_sub(1)) as f64 / 1e9
    }
}

#[inline]
fn bin_of(ns: u64) -> usize {
    let octave = (63 - (ns | 1).leading_zeros()).saturating_sub(BINS_LOG2);
    // The leading 7 bits: 64 bins per octave.
    ((octave << BINS_LOG2) as u64 + (ns >> octave)) as usize
}

fn upper_edge_ns(bin: usize) -> u64 {
    let bin = bin as u64;
    let octave = (bin >> BINS_LOG2).saturating_sub(1);
    ((bin - (octave << BINS_LOG2) + 1) << octave) - u64::from(octave == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_in_order() {
        let mut last = 0;
        for ns in (0..5000).chain((13..60).map(|shift| (1u64 << shift) + 12_345)) {
            let bin = bin_of(ns);
            assert!(bin >= last && upper_edge_ns(bin) >= ns);
            assert!((upper_edge_ns(bin) - ns) as f64 <= 0.016 * ns as f64 + 1.0, "{ns}");
            last = bin;
        }
    }

    #[test]
    fn quantiles_of_known_samples() {
        let mut histogram = Histogram::default();
        assert!(histogram.quantile_s(0.5).is_nan() && histogram.mean_s().is_nan());
        (1..=100).for_each(|ms| histogram.record_span(Duration::from_millis(ms)));
        for (q, expected) in [(0.5, 0.050), (0.95, 0.095), (0.99, 0.099), (1.0, 0.100)] {
            let measured = histogram.quantile_s(q);
            assert!(measured >= expected && measured < expected * 1.016, "{q}: {measured}");
        }
        assert!((histogram.mean_s() - 0.0505).abs() < 1e-12);
        assert_eq!(histogram.min_s(), 0.001);
        (0..200).for_each(|_| histogram.record_span(Duration::ZERO));
        assert_eq!((histogram.quantile_s(0.5), histogram.min_s()), (0.0, 0.0));
    }

    #[test]
    fn histograms_add_up() {
        let (mut low, mut high, mut all) = <(Histogram, Histogram, Histogram)>::default();
        for ms in [0, 1, 2, 5, 700, 3, 90_000] {
            (if ms < 10 { &mut low } else { &mut high }).record_span(Duration::from_millis(ms));
            all.record_span(Duration::from_millis(ms));
        }
        for (mut one, other) in [(low.clone(), &high), (high.clone(), &low), (all.clone(), &Histogram::default())] {
            one.merge(other);
            let values =
                |h: &Histogram| (h.count(), h.min_s(), h.mean_s(), [0.1, 0.5, 0.9, 1.0].map(|q| h.quantile_s(q)));
            assert_eq!(values(&one), values(&all));
        }
    }
}
