//! Choice of the object that a flow requests from a catalogue.

use super::contract::Draws;
use bentpipe_model::spec::Catalogue;
use bentpipe_units::Stream;

/// Choice of objects, with its random stream.
#[derive(Clone, Debug)]
pub(super) struct CatalogueState {
    spec: Catalogue,
    /// Sum of the weights up to each object. Empty: objects are requested in order.
    sums: Vec<f64>,
    picks: Stream,
}

impl CatalogueState {
    pub(super) fn new(spec: Catalogue, draws: &Draws<'_>) -> Self {
        let mut sum = 0.0;
        let weights =
            spec.zipf.into_iter().flat_map(|zipf| (1..=spec.objects).map(move |k| libm::pow(k as f64, -zipf)));
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Self { spec, sums: sums.collect(), picks: draws.stream("catalogue") }
    }

    /// Returns the number of the object of a request.
    pub(super) fn object(&mut self, index: u64) -> u64 {
        let place = match self.sums.last() {
            None => index % self.spec.objects,
            Some(all) => {
                let pick = self.picks.uniform(index) * all;
                (self.sums.partition_point(|sum| *sum <= pick) as u64).min(self.spec.objects - 1)
            }
        };
        self.spec.first + place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Draws<'_> = Draws { seed: 1, component: "flow/f", far: "b" };

    fn shares(zipf: Option<f64>, objects: u64) -> Vec<f64> {
        let mut state = CatalogueState::new(Catalogue { objects, zipf, first: 1 }, &FLOW);
        let (mut counts, n) = (vec![0.0; objects as usize], 100_000);
        (0..n).for_each(|index| counts[state.object(index) as usize - 1] += 1.0);
        counts.into_iter().map(|count| count / n as f64).collect()
    }

    /// Of four objects with exponent 1: 12/25, 6/25, 4/25, 3/25.
    #[test]
    fn popularity_follows_zipfs_law() {
        for (share, expected) in shares(Some(1.0), 4).into_iter().zip([0.48, 0.24, 0.16, 0.12]) {
            assert!((share - expected).abs() < 0.006, "{share} {expected}");
        }
        assert!(shares(Some(0.0), 5).into_iter().all(|share| (share - 0.2).abs() < 0.006));
    }

    #[test]
    fn without_it_objects_come_one_after_the_other() {
        let mut state = CatalogueState::new(Catalogue { objects: 3, zipf: None, first: 10 }, &FLOW);
        assert_eq!([0, 1, 2, 3].map(|index| state.object(index)), [10, 11, 12, 10]);
    }
}
