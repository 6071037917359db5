//! Base class of congestion controls in Python.
//!
//! It provides the hooks of a registered congestion control or of Reno's window, and the parts of Reno's window.

use crate::facts::{Ack, Delivery, Init, Path, Why};
use crate::inherited::Inherited;
use crate::inside;
use crate::values::{self, bytes, threshold};
use bentpipe_cc::Cwnd;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Inherited hooks of a class.
#[pyclass(subclass, name = "CongestionControl", module = "bentpipe._core")]
pub(crate) struct Controller {
    pub(crate) base: Inherited,
}

#[pymethods]
impl Controller {
    #[new]
    #[classmethod]
    #[pyo3(signature = (init=None))]
    fn new(class: &Bound<'_, PyType>, init: Option<&Init>) -> PyResult<Self> {
        let extends = match class.getattr_opt("extends")? {
            Some(name) => name.extract::<Option<String>>()?,
            None => None,
        };
        let base = Inherited::new(extends.as_deref(), init).map_err(PyValueError::new_err)?;
        Ok(Self { base })
    }

    /// Becomes a copy of another object.
    #[pyo3(name = "_become")]
    fn copy_of(&mut self, other: &Self) {
        self.base = other.base.clone();
    }

    #[getter]
    fn cwnd(&self) -> f64 {
        self.base.exact_cwnd()
    }

    #[setter(cwnd)]
    fn put_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.base.set_cwnd(bytes("cwnd", value)?).map_err(PyValueError::new_err)
    }

    #[getter]
    fn ssthresh(&self) -> f64 {
        threshold(self.base.ssthresh())
    }

    #[setter(ssthresh)]
    fn put_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.base.set_ssthresh(values::ssthresh(value)?);
        Ok(())
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path) {
        self.base.on_ack(&ack.0, &path.0);
    }

    fn on_congestion(&mut self, why: &Why, path: &Path) {
        self.base.on_congestion(why.0, &path.0);
    }

    fn on_rto(&mut self, first: bool, path: &Path) {
        self.base.on_rto(first, &path.0);
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &Path) {
        self.base.on_delivery(&delivery.0, &path.0);
    }

    fn on_recovery_exit(&mut self, path: &Path) {
        self.base.on_recovery_exit(&path.0);
    }

    fn on_resume(&mut self, path: &Path) {
        self.base.on_resume(&path.0);
    }

    #[pyo3(signature = (start, end, error_rate, path))]
    fn on_error_report(&mut self, start: Option<u64>, end: Option<u64>, error_rate: Option<f64>, path: &Path) {
        self.base.on_error_report(start.zip(end), error_rate.map(|rate| rate as f32), &path.0);
    }

    fn on_smss(&mut self, smss: u64) {
        self.base.on_smss(smss);
    }

    fn limit_cwnd(&mut self, max: &Bound<'_, PyAny>) -> PyResult<()> {
        self.base.limit_cwnd(bytes("max", max)? as u64);
        Ok(())
    }

    fn set_window(&mut self, cwnd: &Bound<'_, PyAny>, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        let ssthresh = values::ssthresh(ssthresh)?;
        self.base.put_window(bytes("cwnd", cwnd)?, ssthresh);
        Ok(())
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.base.pacing().map(|pace| pace.rate.as_bps() as f64)
    }

    fn inside<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        inside::collected(py, |insides| self.base.inside(insides))
    }

    fn undo(&mut self, before: &Self) {
        self.base.undo(before.base.clone());
    }

    fn slow_start(&mut self, ack: &Ack, path: &Path) -> PyResult<u64> {
        Ok(self.base.window("slow_start", "on_ack")?.slow_start(&ack.0, &path.0))
    }

    fn increase(&mut self, bytes: u64, path: &Path) -> PyResult<()> {
        self.base.window("increase", "on_ack")?.increase(bytes, &path.0);
        Ok(())
    }

    fn add(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = values::bytes("bytes", bytes)?;
        match &mut self.base {
            Inherited::Reno(window) => {
                window.add(bytes);
                Ok(())
            }
            base @ Inherited::BuiltIn(_) => {
                let cwnd = base.exact_cwnd();
                base.set_cwnd((cwnd + bytes.min(cwnd)).min(Cwnd::MAX as f64)).map_err(PyValueError::new_err)
            }
        }
    }

    fn reduce(&mut self, ssthresh: &Bound<'_, PyAny>, cwnd: &Bound<'_, PyAny>) -> PyResult<()> {
        let (ssthresh, cwnd) = (values::ssthresh(ssthresh)?, bytes("cwnd", cwnd)?);
        match &mut self.base {
            Inherited::Reno(window) => {
                window.reduce(ssthresh, cwnd as u64);
                // A host that counts whole segments has rounded the window. Others keep its fraction of a byte.
                if window.cwnd() == cwnd as u64 {
                    window.set_cwnd(cwnd);
                }
            }
            base @ Inherited::BuiltIn(_) => base.put_window(cwnd, ssthresh),
        }
        Ok(())
    }

    #[pyo3(signature = (ssthresh=None))]
    fn restart(&mut self, ssthresh: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let ssthresh = ssthresh.map(values::ssthresh).transpose()?;
        match &mut self.base {
            Inherited::Reno(window) => window.restart(ssthresh),
            base @ Inherited::BuiltIn(_) => base.put_window(0.0, ssthresh.unwrap_or(base.ssthresh())),
        }
        Ok(())
    }
}
