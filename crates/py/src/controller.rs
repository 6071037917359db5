//! The class that congestion controls in Python extend: Reno's window, its hooks, and the parts they are made of.

use crate::facts::{Ack, Delivery, Init, Path, Why};
use crate::values::{self, bytes, threshold};
use bentpipe_tcp::cc::{AckSample, Congestion, Init as Begin, PathState, Window, HALF};
use pyo3::prelude::*;

/// Reno's window, and the hooks with what they do if they are not overridden.
#[pyclass(subclass, name = "CongestionControl", module = "bentpipe._core")]
pub(crate) struct Controller {
    pub(crate) window: Window,
}

#[pymethods]
impl Controller {
    #[new]
    #[pyo3(signature = (init=None))]
    fn new(init: Option<&Init>) -> Self {
        Self { window: Window::new(init.map_or_else(Begin::default, |init| init.0)) }
    }

    #[getter]
    fn cwnd(&self) -> f64 {
        self.window.exact()
    }

    #[setter(cwnd)]
    fn put_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.set_cwnd(bytes("cwnd", value)?);
        Ok(())
    }

    #[getter]
    fn ssthresh(&self) -> f64 {
        threshold(self.window.ssthresh())
    }

    #[setter(ssthresh)]
    fn put_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.set_ssthresh(values::ssthresh(value)?);
        Ok(())
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path) {
        self.grow(&ack.0, &path.0);
    }

    fn on_congestion(&mut self, why: &Why, path: &Path) {
        self.halve(why.0, &path.0);
    }

    fn on_rto(&mut self, first: bool, path: &Path) {
        self.time_out(first, &path.0);
    }

    fn on_delivery(&self, delivery: &Delivery, path: &Path) {
        let _ = (delivery, path);
    }

    fn on_recovery_exit(&self, path: &Path) {
        let _ = path;
    }

    fn on_resume(&self, path: &Path) {
        let _ = path;
    }

    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    #[pyo3(signature = (start, end, error_rate, path))]
    fn on_error_report(&self, start: Option<u64>, end: Option<u64>, error_rate: Option<f64>, path: &Path) {
        let _ = (start, end, error_rate, path);
    }

    fn on_smss(&mut self, smss: u64) {
        self.window.on_smss(smss);
    }

    fn limit_cwnd(&mut self, max: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.limit(bytes("max", max)? as u64);
        Ok(())
    }

    fn set_window(&mut self, cwnd: &Bound<'_, PyAny>, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        let ssthresh = values::ssthresh(ssthresh)?;
        self.window.set_cwnd(bytes("cwnd", cwnd)?);
        self.window.set_ssthresh(ssthresh);
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    fn undo(&mut self, before: &Self) {
        self.window = before.window.clone();
    }

    fn slow_start(&mut self, ack: &Ack, path: &Path) -> u64 {
        self.window.slow_start(&ack.0, &path.0)
    }

    fn increase(&mut self, bytes: u64, path: &Path) {
        self.window.increase(bytes, &path.0);
    }

    fn add(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.add(values::bytes("bytes", bytes)?);
        Ok(())
    }

    fn reduce(&mut self, ssthresh: &Bound<'_, PyAny>, cwnd: &Bound<'_, PyAny>) -> PyResult<()> {
        let (ssthresh, cwnd) = (values::ssthresh(ssthresh)?, bytes("cwnd", cwnd)?);
        self.window.reduce(ssthresh, cwnd as u64);
        self.window.set_cwnd(cwnd);
        Ok(())
    }

    #[pyo3(signature = (ssthresh=None))]
    fn restart(&mut self, ssthresh: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.window.restart(ssthresh.map(values::ssthresh).transpose()?);
        Ok(())
    }
}

impl Controller {
    pub(crate) fn grow(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        if left > 0 {
            self.window.increase(left, path);
        }
    }

    pub(crate) fn halve(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    pub(crate) fn time_out(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }
}
