//! Path over time, as arrays.

use super::{reals, wholes};
use bentpipe_orbit::sky::route::Route;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Path at every instant of a span, and its changes.
#[derive(Default)]
pub(super) struct Instants {
    pub(super) time_s: Vec<f64>,
    pub(super) delay_s: Vec<f64>,
    pub(super) hops: Vec<i64>,
    /// Satellites next to the two ends. -1: none, or a fibre.
    satellite: [Vec<i64>; 2],
    elevation_deg: [Vec<f64>; 2],
    pub(super) change_s: Vec<f64>,
    change_delay_s: Vec<f64>,
    pub(super) nodes: Vec<Vec<u32>>,
}

impl Instants {
    pub(super) fn new(sky: &Sky, span: Span, route: Route) -> Self {
        let mut found = Self { time_s: span.times().collect(), delay_s: route.delays_s, ..Self::default() };
        let mut next = 0;
        for &t in &found.time_s {
            while route.changes.get(next).is_some_and(|change| change.at_s <= t) {
                next += 1;
            }
            let nodes = next.checked_sub(1).map_or(&[][..], |last| &route.changes[last].nodes);
            found.hops.push(nodes.len().saturating_sub(1) as i64);
            let beside = [nodes.get(1), nodes.len().checked_sub(2).and_then(|place| nodes.get(place))];
            for ((end, place), satellite) in [route.from, route.to].into_iter().enumerate().zip(beside) {
                let satellite = satellite.copied().filter(|node| (*node as usize) < sky.satellites());
                let sighting = satellite.and_then(|satellite| sky.sighting(place, satellite, t).ok());
                found.satellite[end].push(satellite.map_or(-1, i64::from));
                found.elevation_deg[end].push(sighting.map_or(f64::NAN, |sighting| sighting.elevation_deg()));
            }
        }
        found.change_s = route.changes.iter().map(|change| change.at_s).collect();
        found.change_delay_s = route.changes.iter().map(|change| change.delay_s).collect();
        found.nodes = route.changes.into_iter().map(|change| change.nodes).collect();
        found
    }
    /// Returns the columns, and those of `changes`.
    pub(super) fn table<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        table.set_item("time_s", reals(py, &self.time_s)?)?;
        table.set_item("delay_s", reals(py, &self.delay_s)?)?;
        table.set_item("hops", wholes(py, &self.hops)?)?;
        for (end, name) in ["from", "to"].into_iter().enumerate() {
            table.set_item(format!("{name}_elevation_deg"), reals(py, &self.elevation_deg[end])?)?;
            table.set_item(format!("{name}_satellite"), wholes(py, &self.satellite[end])?)?;
        }
        let changes = PyDict::new(py);
        changes.set_item("time_s", reals(py, &self.change_s)?)?;
        changes.set_item("delay_s", reals(py, &self.change_delay_s)?)?;
        table.set_item("changes", changes)?;
        table.set_item("nodes", self.nodes)?;
        Ok(table)
    }
}
