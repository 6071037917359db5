//! Paths of all pairs, as arrays.

use super::{reals, wholes, Array};
use bentpipe_orbit::sky::matrix::{Matrix, Row};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Paths of pairs of places over time.
#[pyclass(name = "SkyMatrix", module = "bentpipe._core", frozen)]
pub(crate) struct PyMatrix {
    pub(super) matrix: Matrix,
}

#[pymethods]
impl PyMatrix {
    /// Returns one row per pair.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let rows = &self.matrix.rows;
        let real = |name: &str, pick: fn(&Row) -> f64| {
            table.set_item(name, reals(py, &rows.iter().map(pick).collect::<Vec<_>>())?)
        };
        let whole = |name: &str, pick: fn(&Row) -> i64| {
            table.set_item(name, wholes(py, &rows.iter().map(pick).collect::<Vec<_>>())?)
        };
        whole("from", |row| row.from as i64)?;
        whole("to", |row| row.to as i64)?;
        real("connected", |row| row.connected)?;
        real("delay_min_s", |row| row.delay_s[0])?;
        real("delay_median_s", |row| row.delay_s[1])?;
        real("delay_p95_s", |row| row.delay_s[2])?;
        real("delay_max_s", |row| row.delay_s[3])?;
        whole("hops_min", |row| i64::from(row.hops[0]))?;
        whole("hops_max", |row| i64::from(row.hops[1]))?;
        whole("changes", |row| i64::from(row.changes))?;
        Ok(table)
    }

    /// Returns the one-way delay of a pair at every instant in s.
    fn delay_s<'py>(&self, py: Python<'py>, pair: usize) -> PyResult<Array<'py>> {
        reals(py, &self.matrix.delays_s(pair).collect::<Vec<_>>())
    }
}
