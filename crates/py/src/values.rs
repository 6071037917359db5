//! Converts bytes and thresholds between Python and the core.

use bentpipe_cc::Cwnd;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Returns a threshold for Python in bytes. Infinite: no threshold.
pub(crate) fn threshold(ssthresh: u64) -> f64 {
    if ssthresh == u64::MAX {
        f64::INFINITY
    } else {
        ssthresh as f64
    }
}

/// Checks bytes from Python.
#[inline]
pub(crate) fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Ok(bytes) if (0.0..=Cwnd::MAX as f64).contains(&bytes) => Ok(bytes),
        found => Err(not_bytes(name, value, found.is_ok())),
    }
}

#[cold]
fn not_bytes(name: &str, value: &Bound<'_, PyAny>, is_number: bool) -> PyErr {
    let shown = value.repr().map_or_else(|_| "?".into(), |shown| shown.to_string());
    let message = format!("{name} = {shown}: expected bytes, 0 to 2**{}", Cwnd::MAX.ilog2());
    if is_number {
        PyValueError::new_err(message)
    } else {
        PyTypeError::new_err(message)
    }
}

/// Checks a threshold from Python. Infinite: no threshold.
pub(crate) fn ssthresh(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match value.extract::<f64>() {
        Ok(f64::INFINITY) => Ok(u64::MAX),
        _ => Ok(bytes("ssthresh", value)? as u64),
    }
}
