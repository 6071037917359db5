//! Common parts of Python classes: their hooks, and their failures.

use crate::SenderError;
use bentpipe_units::Time;
use pyo3::exceptions::{PyAttributeError, PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::PyClass;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

/// Returns which hooks of `base` a class overrides.
pub(crate) fn overridden<const N: usize>(
    class: &Bound<'_, PyAny>,
    base: &Bound<'_, PyType>,
    hooks: [&str; N],
) -> PyResult<[bool; N]> {
    let mut found = [false; N];
    for (is_overridden, hook) in found.iter_mut().zip(hooks) {
        *is_overridden = !class.getattr(hook)?.is(&base.getattr(hook)?);
    }
    Ok(found)
}

/// Returns an object of a class as its base class.
pub(crate) fn made<'a, 'py, T: PyClass>(object: &'a Bound<'py, PyAny>, class: &str) -> PyResult<&'a Bound<'py, T>> {
    object
        .cast::<T>()
        .map_err(|_| PyTypeError::new_err(format!("{class} made {}: expected a new object", object.get_type())))
}

/// Returns the bound methods of an object for the hooks that its class overrides.
pub(crate) fn hooks<const N: usize>(
    object: &Bound<'_, PyAny>,
    class: &str,
    names: [&str; N],
    is_overridden: [bool; N],
) -> PyResult<[Option<Py<PyAny>>; N]> {
    let attributes = object.getattr("__dict__")?;
    if let Some(hook) = names.iter().find(|&hook| attributes.contains(hook).unwrap_or(false)) {
        let message = format!("{hook} is a hook: expected a method of {class}, not an attribute of its objects");
        return Err(PyTypeError::new_err(message));
    }
    let mut hooks = [const { None }; N];
    for ((hook, name), is_overridden) in hooks.iter_mut().zip(names).zip(is_overridden) {
        if is_overridden {
            *hook = Some(object.getattr(name)?.unbind());
        }
    }
    Ok(hooks)
}

/// First failure of a run, if any.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    is_there: AtomicBool,
    first: Mutex<Option<Failure>>,
}

#[derive(Debug)]
struct Failure {
    error: PyErr,
    class: String,
    /// Place, such as `on_ack, flow bulk`, or `on_packet, node gateway`.
    place: String,
}

impl Trouble {
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, error: PyErr, class: &str, place: String) {
        let mut first = self.first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        first.get_or_insert(Failure { error, class: class.to_owned(), place });
        self.is_there.store(true, Ordering::Relaxed);
    }

    /// Returns the error to raise, if there was one, and whether the results so far are valid. Only Ctrl-C keeps them.
    /// Other exceptions, including those that end the process, become failures: a class must not end a comparison
    /// without a message.
    pub(crate) fn raised(&self, py: Python<'_>, now: Time) -> Option<(PyErr, bool)> {
        let Failure { error, class, place } =
            self.first.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()?;
        // A run whose state could not be copied continues.
        self.is_there.store(false, Ordering::Relaxed);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            return Some((PyKeyboardInterrupt::new_err(format!("{class}.{place}")), true));
        }
        let at_s = now.as_secs_f64();
        let traceback = traceback(py, &error).unwrap_or_else(|_| error.to_string());
        let fields = known_fields(py, &error).unwrap_or_default();
        let message = format!("{class} failed in {place}, at {at_s} s\n\n{}{fields}", traceback.trim_end());
        let failed = SenderError::new_err(message);
        failed.set_cause(py, Some(error));
        Some((failed, false))
    }
}

/// Returns the fields of an argument of a hook that lacks an attribute.
fn known_fields(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    if !error.is_instance_of::<PyAttributeError>(py) {
        return Ok(String::new());
    }
    let argument = error.value(py).getattr("obj")?;
    if !argument.get_type().module()?.to_str()?.starts_with("bentpipe") || argument.hasattr("__dict__")? {
        return Ok(String::new());
    }
    let names: Vec<String> = argument.dir()?.extract()?;
    let names: Vec<String> = names.into_iter().filter(|name| !name.starts_with('_')).collect();
    Ok(format!("\n  known: {}", names.join(", ")))
}

fn traceback(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    // Only an extracted value has its traceback.
    let value = error.clone_ref(py).into_value(py);
    let lines = py.import("traceback")?.call_method1("format_exception", (value,))?;
    Ok(lines.extract::<Vec<String>>()?.concat())
}
