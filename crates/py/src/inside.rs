//! Converts the values inside a congestion control to and from a dict of Python.

use bentpipe_cc::{Inside, Insides, Quantity};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Keys of the state, and of the reason for it.
const STATE: &str = "state";
const WHY: &str = "why";
/// Keys of values that have their own series: those of the series without `cc_`.
const SHARED: [(&str, Quantity); 9] = [
    ("pacing_gain", Quantity::PacingGain),
    ("cwnd_gain", Quantity::CwndGain),
    ("bandwidth_bps", Quantity::Bandwidth),
    ("min_rtt_s", Quantity::MinRtt),
    ("inflight_longterm_bytes", Quantity::InflightLongterm),
    ("inflight_shortterm_bytes", Quantity::InflightShortterm),
    ("bw_shortterm_bps", Quantity::BandwidthShortterm),
    ("extra_acked_bytes", Quantity::ExtraAcked),
    ("full_bw_reached", Quantity::FullBandwidth),
];

/// Reports the values of a dict that a hook returned. None: the value is missing now.
///
/// # Errors
///
/// A value is neither a number nor None, or the state is not text.
pub(crate) fn report(values: &Bound<'_, PyAny>, insides: &mut Insides<'_>) -> PyResult<()> {
    const EXPECTED: &str = "expected a dict of names with numbers or None, and the texts of `state` and `why`";
    let Ok(values) = values.cast::<PyDict>() else {
        return Err(PyTypeError::new_err(format!("inside() returned {}: {EXPECTED}", values.repr()?)));
    };
    for (name, value) in values {
        let Ok(name) = name.cast::<PyString>().map(|name| name.to_string()) else {
            return Err(PyTypeError::new_err(format!("inside() returned the name {}: {EXPECTED}", name.repr()?)));
        };
        if name == STATE {
            let Ok(state) = value.cast::<PyString>().map(|state| state.to_string()) else {
                return Err(PyTypeError::new_err(format!(
                    "inside() returned a state of {}: {EXPECTED}",
                    value.repr()?
                )));
            };
            let why = values.get_item(WHY)?.map_or(Ok(String::new()), |why| why.extract::<String>());
            let Ok(why) = why else {
                return Err(PyTypeError::new_err(format!("inside() returned a reason without text: {EXPECTED}")));
            };
            insides.state(&state, format_args!("{why}"));
            continue;
        }
        if name == WHY {
            continue;
        }
        let number = if value.is_none() { Some(f64::NAN) } else { value.extract::<f64>().ok() };
        let Some(number) = number else {
            return Err(PyTypeError::new_err(format!("inside() returned {name} = {}: {EXPECTED}", value.repr()?)));
        };
        if name.is_empty() {
            return Err(PyValueError::new_err(format!("inside() returned an empty name: {EXPECTED}")));
        }
        match SHARED.iter().find(|(shared, _)| *shared == name) {
            Some((_, quantity)) => insides.value(*quantity, number),
            None => insides.own(&name, number),
        };
    }
    Ok(())
}

/// Returns the values that `report` reports as a dict.
pub(crate) fn collected(py: Python<'_>, report: impl FnOnce(&mut Insides<'_>)) -> PyResult<Bound<'_, PyDict>> {
    let values = PyDict::new(py);
    let mut done = Ok(());
    let mut receive = |inside: Inside<'_>| {
        let known = |value: f64| value.is_finite().then_some(value);
        let set = match inside {
            Inside::State(name, why) => {
                values.set_item(STATE, name).and_then(|()| values.set_item(WHY, why.to_string()))
            }
            Inside::Shared(quantity, value) => {
                let name = SHARED.iter().find(|(_, shared)| *shared == quantity).map_or("", |(name, _)| name);
                values.set_item(name, known(value))
            }
            Inside::Own(name, value) => values.set_item(name, known(value)),
        };
        if let Err(error) = set {
            done = Err(error);
        }
    };
    report(&mut Insides::new(&mut receive));
    done.map(|()| values)
}
