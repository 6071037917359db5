//! Finds the paths of many pairs of places over time: delay, hops and changes.
//!
//! The delay of each pair at each instant takes four bytes: 40 MB for all pairs of 100 places at 2,000 instants.

use super::error::SkyError;
use super::route::{Router, Routing};
use super::scene::Sky;
use super::span::{GoOn, Span};

/// Largest number of stored delays: 2 GB.
const MOST_DELAYS: usize = 500_000_000;
/// Stored in place of a delay if there is no path.
const NO_PATH: u32 = u32::MAX;
/// Largest stored delay, s.
const LONGEST_S: f64 = 4.29;

/// Statistics of the paths of a pair over a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The first place.
    pub from: usize,
    /// The second place.
    pub to: usize,
    /// Share of the instants with a path.
    pub connected: f64,
    /// Least, median, 95 % quantile and largest of the one-way delays, s. NaN without a path.
    pub delay_s: [f64; 4],
    /// Least and largest number of hops; 0 without a path.
    pub hops: [u32; 2],
    /// Number of instants whose path differs from that of the instant before.
    pub changes: u32,
}

/// Pairs of places over a span.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// One row per pair, in the given order.
    pub rows: Vec<Row>,
    /// One-way delays in ns: all instants of the first pair, then those of the next. None if they are not stored.
    delays_ns: Vec<u32>,
    instants: usize,
}

impl Matrix {
    /// Removes the delays of single instants.
    pub fn without_delays(self) -> Self {
        Self { delays_ns: Vec::new(), ..self }
    }

    /// Returns the one-way delays of a pair at the instants of the span, s, NaN without a path, or nothing if they are
    /// not stored.
    pub fn delays_s(&self, pair: usize) -> impl Iterator<Item = f64> + '_ {
        let seconds = |ns: &u32| if *ns == NO_PATH { f64::NAN } else { f64::from(*ns) * 1e-9 };
        self.delays_ns.iter().skip(pair * self.instants).take(self.instants).map(seconds)
    }
}

/// Returns the paths of pairs (from, to) of places over a span. Changes count at its instants.
///
/// # Errors
///
/// As [`Router::new`]. More than 500 million delays. A path that takes longer than 4.29 s. The caller cancelled.
pub fn matrix_while(
    sky: &Sky,
    pairs: &[(usize, usize)],
    routing: &Routing,
    span: Span,
    go_on: GoOn,
) -> Result<Matrix, SkyError> {
    let mut router = Router::new(sky, pairs, routing, span.step_s)?;
    let instants = span.count();
    let needed = pairs.len().checked_mul(instants).filter(|needed| *needed <= MOST_DELAYS);
    let needed = needed.ok_or_else(|| {
        let what = format!("{} pairs at {instants} instants: expected at most {MOST_DELAYS} together", pairs.len());
        SkyError::new("matrix", what)
    })?;
    let mut delays_ns = vec![NO_PATH; needed];
    let mut changes = vec![0; pairs.len()];
    let mut hops = vec![[u32::MAX, 0]; pairs.len()];
    for (number, t) in span.times().enumerate() {
        span.reach(t, go_on)?;
        router.step(t);
        for &pair in router.changed() {
            let pair = pair as usize;
            changes[pair] += u32::from(number > 0);
            if let Some(count @ 1..) = router.path(pair).len().checked_sub(1) {
                let [least, most] = hops[pair];
                hops[pair] = [least.min(count as u32), most.max(count as u32)];
            }
        }
        for pair in 0..pairs.len() {
            let delay_s = router.delay_s(pair);
            if delay_s > LONGEST_S {
                return Err(SkyError::new(
                    "matrix",
                    format!("a path takes {delay_s:.1} s: expected at most {LONGEST_S} s"),
                ));
            }
            // A comparison with NaN is false.
            if delay_s >= 0.0 {
                delays_ns[pair * instants + number] = (delay_s * 1e9).round() as u32;
            }
        }
    }
    let mut sorted = Vec::with_capacity(instants);
    let row = |(pair, &(from, to)): (usize, &(usize, usize))| {
        sorted.clear();
        sorted.extend(delays_ns[pair * instants..(pair + 1) * instants].iter().filter(|ns| **ns != NO_PATH));
        let hops = if sorted.is_empty() { [0, 0] } else { hops[pair] };
        let connected = sorted.len() as f64 / instants as f64;
        Row { from, to, connected, delay_s: quantiles_s(&mut sorted), hops, changes: changes[pair] }
    };
    let rows = pairs.iter().enumerate().map(row).collect();
    Ok(Matrix { rows, delays_ns, instants })
}

/// Returns least, median, 95 % quantile (linear between neighbours) and largest value.
fn quantiles_s(delays_ns: &mut [u32]) -> [f64; 4] {
    if delays_ns.is_empty() {
        return [f64::NAN; 4];
    }
    [0.0, 0.5, 0.95, 1.0].map(|share| {
        let at = share * (delays_ns.len() - 1) as f64;
        let (_, low, above) = delays_ns.select_nth_unstable(at.floor() as usize);
        let next = above.iter().min().copied().unwrap_or(*low);
        (f64::from(*low) + at.fract() * f64::from(next - *low)) * 1e-9
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::earth::Geodetic;
    use crate::sky::epoch::Epoch;
    use crate::sky::places::Place;
    use crate::sky::presets::preset;
    use crate::sky::route::routes;

    fn sky(name: &str, places: &[(f64, f64)]) -> Sky {
        let mut sky = preset(name).unwrap().sky(Epoch::Y2000).unwrap();
        for (number, (north, east)) in places.iter().enumerate() {
            sky.places.push(Place::fixed(&number.to_string(), Geodetic::new(*north, *east, 0.0).unwrap()));
        }
        sky
    }

    /// The matrix agrees with the routes of single pairs, including gaps: at 55 degrees north Kuiper is not always in
    /// view.
    #[test]
    fn a_matrix_is_what_its_routes_are() {
        let sky = sky("kuiper-630-hypatia", &[(14.6, 121.0), (38.9, 121.6), (59.9, 30.3), (-33.9, 151.2)]);
        let pairs = [(0, 1), (0, 2), (1, 2), (3, 0)];
        let span = Span::new(0.0, 200.0, 2.0).unwrap();
        let found = matrix_while(&sky, &pairs, &Routing::default(), span, &mut |_| true).unwrap();
        let alone = routes(&sky, &pairs, &Routing::default(), span, None).unwrap();
        let mut gaps = 0;
        for (pair, (row, route)) in found.rows.iter().zip(&alone).enumerate() {
            assert_eq!((row.from, row.to), pairs[pair]);
            for (a, b) in found.delays_s(pair).zip(&route.delays_s) {
                assert!((a - b).abs() <= 0.51e-9 || a.is_nan() && b.is_nan(), "{a} {b}");
            }
            assert_eq!(row.changes as usize, route.changes.len() - 1);
            let mut delays: Vec<f64> = route.delays_s.iter().copied().filter(|s| s.is_finite()).collect();
            delays.sort_by(f64::total_cmp);
            assert_eq!(row.connected, delays.len() as f64 / 100.0);
            gaps += 100 - delays.len();
            let middle = (delays[(delays.len() - 1) / 2] + delays[delays.len() / 2]) / 2.0;
            let expected = [delays[0], middle, f64::NAN, delays[delays.len() - 1]];
            for (share, (a, b)) in row.delay_s.iter().zip(expected).enumerate().filter(|(share, _)| *share != 2) {
                assert!((a - b).abs() <= 1e-9, "{share}: {a} {b}");
            }
            let hops = route.changes.iter().filter_map(|change| change.nodes.len().checked_sub(1).filter(|n| *n > 0));
            assert_eq!(row.hops.map(|n| n as usize), [hops.clone().min().unwrap(), hops.max().unwrap()]);
        }
        assert!(gaps > 0);
        let rows = found.rows.clone();
        let lean = found.without_delays();
        assert!(lean.rows == rows && lean.delays_s(0).next().is_none());
    }

    #[test]
    fn quantiles_lie_between_neighbours_in_proportion() {
        let mut values: Vec<u32> = (0..=10).rev().map(|k| k * 100_000_000).collect();
        let [least, median, high, most] = quantiles_s(&mut values);
        assert_eq!((least, most), (0.0, 1.0));
        assert!((median - 0.5).abs() < 1e-12 && (high - 0.95).abs() < 1e-12, "{median} {high}");
    }

    #[test]
    fn what_cannot_be_kept_is_refused_and_no_path_is_no_number() {
        let sky = sky("geo", &[(0.0, 19.2), (0.0, 199.2)]);
        let span = Span::new(0.0, 3.0, 1.0).unwrap();
        let found = matrix_while(&sky, &[(0, 1)], &Routing::default(), span, &mut |_| true).unwrap();
        let row = found.rows[0];
        assert_eq!((row.connected, row.hops, row.changes), (0.0, [0, 0], 0));
        assert!(row.delay_s.iter().all(|s| s.is_nan()) && found.delays_s(0).all(f64::is_nan));
        let long = Span::new(0.0, 1e8, 1.0).unwrap();
        let pairs = [(0, 1); 6];
        assert!(matrix_while(&sky, &pairs, &Routing::default(), long, &mut |_| true).is_err());
        let mut sky = sky;
        sky.places[1] = Place::fixed("near", Geodetic::new(0.0, 20.0, 0.0).unwrap());
        let slow = Routing { hop_delay_s: 3.0, ..Routing::default() };
        let error = matrix_while(&sky, &[(0, 1)], &slow, span, &mut |_| true).unwrap_err();
        assert!(error.what.contains("expected at most 4.29 s"), "{error}");
    }
}
