//! Counts of spans in bins of at most 1.6 %, for quantiles without keeping the samples.

use bentpipe_units::Duration;

/// Bins in units of 1 ns: exact up to 64, then 64 bins per octave. Grows to the bins seen.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    zeros: u64,
    positives: u64,
    sum_ps: u128,
    /// Smallest positive sample; 0: no sample.
    min_ps: u64,
    /// Bin of `bins[0]`: the samples of one quantity are close together, and most of the lower bins stay empty. [`APART`]
    /// as long as there are few samples.
    first: usize,
    /// Number of samples in each bin, or the bins of few samples, one by one: most links of a large network see no more,
    /// and the range of those that do is known when their bins are made.
    bins: Box<[u64]>,
}

const PS_PER_NS: u64 = 1000;
const BINS_LOG2: u32 = 6;
/// Samples that are kept one by one: as much memory as an octave of bins.
const FEW: usize = 1 << BINS_LOG2;
/// Behind all bins, so that no bin is found.
const APART: usize = usize::MAX / 2 + 1;

impl Default for Histogram {
    fn default() -> Self {
        Self { zeros: 0, positives: 0, sum_ps: 0, min_ps: 0, first: APART, bins: Box::default() }
    }
}

impl Histogram {
    #[inline]
    pub(crate) fn record_span(&mut self, span: Duration) {
        if span == Duration::ZERO {
            return self.record_zero();
        }
        let ps = span.as_ps();
        self.sum_ps += u128::from(ps);
        // Wraps to the largest value without a sample.
        self.min_ps = (self.min_ps.wrapping_sub(1)).min(ps - 1) + 1;
        self.add(bin_of(ps / PS_PER_NS), 1);
    }

    #[inline]
    fn add(&mut self, bin: usize, count: u64) {
        self.positives += count;
        // Below the first bin, wraps to an index that does not exist.
        match self.bins.get_mut(bin.wrapping_sub(self.first)) {
            Some(sum) => *sum += count,
            None => self.add_outside(bin, count),
        }
    }

    /// Samples of zero.
    pub(crate) fn zeros(&self) -> u64 {
        self.zeros
    }

    #[inline]
    pub(crate) fn record_zero(&mut self) {
        self.zeros += 1;
    }

    #[inline]
    pub(crate) fn record_zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    #[cold]
    fn add_outside(&mut self, bin: usize, count: u64) {
        if self.first != APART {
            self.grow(bin, bin);
        } else {
            let seen = (self.positives - count) as usize;
            if count == 1 && seen < FEW {
                if seen == 0 {
                    self.bins = vec![0; FEW].into();
                }
                self.bins[seen] = bin as u64;
                return;
            }
            self.count_bins(seen, bin);
        }
        self.bins[bin - self.first] += count;
    }

    /// Makes bins of `seen` samples that were kept one by one, with room for `bin`.
    #[cold]
    fn count_bins(&mut self, seen: usize, bin: usize) {
        let few = std::mem::take(&mut self.bins);
        let few = few[..seen].iter().map(|&bin| bin as usize);
        let (low, high) = few.clone().fold((bin, bin), |(low, high), bin| (low.min(bin), high.max(bin)));
        self.grow(low, high);
        few.for_each(|bin| self.bins[bin - self.first] += 1);
    }

    /// Makes room for the bins from `low` to `high`, in whole octaves, so that it seldom happens.
    #[cold]
    fn grow(&mut self, low: usize, high: usize) {
        let octave = |bin: usize| bin >> BINS_LOG2 << BINS_LOG2;
        let first = octave(low).min(self.first);
        let end = octave(high) + (1 << BINS_LOG2);
        let mut bins = vec![0; end.max(self.end()) - first].into_boxed_slice();
        if !self.bins.is_empty() {
            bins[self.first - first..][..self.bins.len()].copy_from_slice(&self.bins);
        }
        (self.first, self.bins) = (first, bins);
    }

    /// Returns the bin behind the last one; 0 without bins.
    fn end(&self) -> usize {
        if self.bins.is_empty() {
            0
        } else {
            self.first + self.bins.len()
        }
    }

    /// Returns the bins of samples that are kept one by one.
    fn few(&self) -> &[u64] {
        if self.first == APART {
            &self.bins[..(self.positives as usize).min(self.bins.len())]
        } else {
            &[]
        }
    }

    /// Adds the counts of another histogram.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.sum_ps += other.sum_ps;
        if other.positives > 0 {
            self.min_ps = self.min_ps.wrapping_sub(1).min(other.min_ps - 1) + 1;
        }
        other.few().iter().for_each(|&bin| self.add(bin as usize, 1));
        if other.first != APART {
            for (bin, &count) in (other.first..).zip(&other.bins).filter(|(_, &count)| count > 0) {
                self.add(bin, count);
            }
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
        if self.first == APART {
            let mut few = [0; FEW];
            let few = &mut few[..self.few().len()];
            few.copy_from_slice(self.few());
            let (_, bin, _) = few.select_nth_unstable((rank - seen - 1) as usize);
            return upper_edge_ns(*bin as usize) as f64 / 1e9;
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

    /// Compares with sorting, for any number of samples: kept one by one, and in bins that grow on both sides.
    #[test]
    fn few_samples_are_counted_as_many_are() {
        for count in [1, 2, 10, FEW, FEW + 1, 1000] {
            let spans =
                (0..count as u64).map(|k| Duration::from_ps((k * k * 7_919_003 + 1) % 90_000_000_000 * (1 + k % 3)));
            let mut spans: Vec<Duration> = spans.filter(|span| *span > Duration::ZERO).collect();
            let mut histogram = Histogram::default();
            spans.iter().for_each(|span| histogram.record_span(*span));
            assert_eq!(histogram.first == APART, count <= FEW);
            spans.sort_unstable();
            for q in [0.01, 0.25, 0.5, 0.95, 1.0] {
                let exact = spans[((q * spans.len() as f64).ceil() as usize).max(1) - 1];
                let bin = bin_of(exact.as_ps() / PS_PER_NS);
                assert_eq!(histogram.quantile_s(q), upper_edge_ns(bin) as f64 / 1e9, "{count} {q}");
            }
        }
    }

    #[test]
    fn histograms_add_up() {
        for many in [11, 100] {
            let (mut low, mut high, mut all) = <(Histogram, Histogram, Histogram)>::default();
            for ms in [0, 1, 2, 5, 700, 3, 90_000].into_iter().chain(11..many) {
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
}
