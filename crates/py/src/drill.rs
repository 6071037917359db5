//! Conformance scripts: as they are, and through the codec.

use bentpipe_io::wire;
use bentpipe_sim::conformance::{self, Objection, SCRIPTS};
use bentpipe_tcp::Segment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Title of a case, and line and text of the first difference.
type Case = (String, Option<(usize, String)>);

/// Name and text of each script that comes with the simulator.
#[pyfunction]
pub(crate) fn conformance_scripts() -> Vec<(&'static str, &'static str)> {
    SCRIPTS.to_vec()
}

/// The cases of a script, each with the first line that differs. `ValueError` with line and text: it cannot be read.
#[pyfunction]
pub(crate) fn drill(py: Python<'_>, text: &str, through_codec: bool) -> PyResult<Vec<Case>> {
    let mut carry = |segment: &Segment| if through_codec { wire::carry(segment) } else { Ok(*segment) };
    let outcomes = py.detach(|| conformance::drill(text, &mut carry));
    let outcomes = outcomes.map_err(|Objection { line, what }| PyValueError::new_err((line, what)))?;
    let cases = outcomes.into_iter().map(|case| {
        let difference = case.difference.map(|Objection { line, what }| (line, what));
        (case.title, difference)
    });
    Ok(cases.collect())
}
