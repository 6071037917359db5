//! Runs schedulers of several paths that are written in Python.
//!
//! [`PyScheduler`] represents an object of a class that extends [`Chooser`] at one end of a connection. It calls the class
//! for each segment. After an exception, [`Trouble`] keeps it, the class is not called, and the run stops at this event.

use crate::own::{self, Trouble};
use bentpipe_tcp::multi::{Choice, OwnScheduler, PathView, Scheduler, SchedulerView};
use bentpipe_units::{Duration, Rate, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::sync::Arc;

/// Hooks that a class may override.
pub(crate) const HOOKS: [&str; 1] = ["choose"];

/// Longest time of a test in seconds.
const SECONDS_MAX: f64 = 1e6;

/// Scheduler class that a scenario may name.
#[derive(Debug)]
pub(crate) struct SchedulerClass {
    name: String,
    code: String,
    class: Py<PyAny>,
    is_overridden: [bool; HOOKS.len()],
    repeats: bool,
}

impl SchedulerClass {
    pub(crate) fn new(class: &Bound<'_, PyAny>, name: String, code: String) -> PyResult<Self> {
        let is_overridden = own::overridden(class, &class.py().get_type::<Chooser>(), HOOKS)?;
        let repeats = class.getattr("repeats")?.extract()?;
        Ok(Self { name, code, class: class.clone().unbind(), is_overridden, repeats })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scheduler for scenarios.
    pub(crate) fn scheduler(self: &Arc<Self>) -> OwnScheduler {
        let flow = Flow { name: String::new(), subflows: Arc::default(), seed: 0 };
        let maker = Arc::new(Maker { class: Arc::clone(self), flow, trouble: Arc::default() });
        OwnScheduler::new(&self.name, &self.code, move || maker.make())
    }

    /// Returns the scheduler of a run's flow, which reports to `trouble`.
    pub(crate) fn of_flow(self: &Arc<Self>, own: &OwnScheduler, flow: Flow, trouble: &Arc<Trouble>) -> OwnScheduler {
        let maker = Arc::new(Maker { class: Arc::clone(self), flow, trouble: Arc::clone(trouble) });
        own.made_by(move || maker.make())
    }
}

/// Flow, as its schedulers see it.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) subflows: Arc<[Py<PyString>]>,
    pub(crate) seed: u64,
}

/// Maker of the objects of a class for a flow.
#[derive(Debug)]
struct Maker {
    class: Arc<SchedulerClass>,
    flow: Flow,
    trouble: Arc<Trouble>,
}

impl Maker {
    fn make(self: &Arc<Self>) -> Box<dyn Scheduler> {
        let mut made = PyScheduler { maker: Arc::clone(self), object: None };
        if self.trouble.is_there() {
            return Box::new(made);
        }
        match Python::attach(|py| Object::new(py, self)) {
            Ok(object) => made.object = Some(object),
            Err(error) => self.note(error, "__init__"),
        }
        Box::new(made)
    }

    fn note(&self, error: PyErr, hook: &str) {
        self.trouble.note(error, &self.class.name, format!("{hook}, flow {}", self.flow.name));
    }
}

/// Base class of schedulers.
#[pyclass(subclass, name = "Scheduler", module = "bentpipe._core")]
#[derive(Default)]
pub(crate) struct Chooser {
    flow: String,
    seed: u64,
}

#[pymethods]
impl Chooser {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    fn choose<'py>(&self, py: Python<'py>, view: &View) -> Option<Bound<'py, Subflow>> {
        let subflows = view.subflows.iter().map(|subflow| subflow.bind(py));
        let ready = subflows.filter(|subflow| subflow.get().path.is_ready());
        ready.min_by_key(|subflow| subflow.get().path.srtt).cloned()
    }

    /// Whether `choose` may return a `Repeat`.
    #[classattr]
    #[pyo3(name = "repeats")]
    fn never_repeats() -> bool {
        false
    }

    #[getter]
    fn flow(&self) -> &str {
        &self.flow
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Becomes a copy of another object.
    #[pyo3(name = "_become")]
    fn copy_of(&mut self, other: &Self) {
        (self.flow, self.seed) = (other.flow.clone(), other.seed);
    }
}

/// View of a connection over several paths. Each call gets new objects, which never change: a class may keep them.
#[pyclass(frozen, name = "SchedulerView", module = "bentpipe._core")]
pub(crate) struct View {
    /// Its list of paths is empty.
    view: SchedulerView,
    subflows: Vec<Py<Subflow>>,
}

#[pymethods]
impl View {
    /// Makes a view for tests.
    #[new]
    #[pyo3(signature = (subflows, *, now_s=0.0, window=1 << 20, room=1 << 20, unsent=1 << 20, opportunistic=0))]
    fn new(
        subflows: Vec<Py<Subflow>>,
        now_s: f64,
        window: u64,
        room: u64,
        unsent: u64,
        opportunistic: u64,
    ) -> PyResult<Self> {
        let now = Time::ZERO + duration(now_s)?;
        let view = SchedulerView { now, window, room, unsent, opportunistic, paths: Vec::new() };
        Ok(Self { view, subflows })
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.view.now.as_secs_f64()
    }
    #[getter]
    fn window(&self) -> u64 {
        self.view.window
    }
    #[getter]
    fn room(&self) -> u64 {
        self.view.room
    }
    #[getter]
    fn unsent(&self) -> u64 {
        self.view.unsent
    }
    #[getter]
    fn opportunistic(&self) -> u64 {
        self.view.opportunistic
    }
    #[getter]
    fn subflows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.subflows.iter().map(|subflow| subflow.bind(py)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// One path of a connection.
#[pyclass(frozen, name = "Subflow", module = "bentpipe._core")]
pub(crate) struct Subflow {
    index: usize,
    name: Option<Py<PyString>>,
    path: PathView,
}

/// Choice of a scheduler: this subflow carries the first data that others carry and it does not.
#[pyclass(frozen, name = "Repeat", module = "bentpipe._core")]
pub(crate) struct Repeat {
    subflow: Py<Subflow>,
}

#[pymethods]
impl Repeat {
    #[getter]
    fn subflow<'py>(&self, py: Python<'py>) -> Bound<'py, Subflow> {
        self.subflow.bind(py).clone()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("{}.repeat()", self.subflow.get().__repr__(py))
    }
}

/// Reads a time of a test, in seconds.
fn duration(seconds: f64) -> PyResult<Duration> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a time of {seconds} s\n  expected 0 to {SECONDS_MAX:.0} s")))
}

#[pymethods]
impl Subflow {
    /// Makes a subflow for tests.
    #[new]
    #[pyo3(signature = (
        name, index=0, *, is_usable=true, has_room=true, can_repeat=false, srtt_s=0.1, rttvar_s=0.0, cwnd=14_400,
        flight_size=0, queued=0, smss=1440, pacing_rate=None, is_starting=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn new(
        name: &Bound<'_, PyString>,
        index: usize,
        is_usable: bool,
        has_room: bool,
        can_repeat: bool,
        srtt_s: f64,
        rttvar_s: f64,
        cwnd: u64,
        flight_size: u64,
        queued: u64,
        smss: u64,
        pacing_rate: Option<u64>,
        is_starting: bool,
    ) -> PyResult<Self> {
        let srtt = duration(srtt_s)?;
        let path = PathView {
            is_usable,
            has_room,
            can_repeat,
            srtt,
            rttvar: duration(rttvar_s)?,
            srtt_min: srtt,
            srtt_max: srtt,
            cwnd,
            flight: flight_size,
            queued,
            smss,
            pacing_rate: pacing_rate.map(Rate::from_bps),
            is_starting,
            ..PathView::default()
        };
        Ok(Self { index, name: Some(name.clone().unbind()), path })
    }

    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.name.as_ref().map_or_else(|| PyString::new(py, ""), |name| name.bind(py).clone())
    }
    #[getter]
    fn index(&self) -> usize {
        self.index
    }
    #[getter]
    fn is_usable(&self) -> bool {
        self.path.is_usable
    }
    #[getter]
    fn is_ready(&self) -> bool {
        self.path.is_ready()
    }
    #[getter]
    fn can_repeat(&self) -> bool {
        self.path.is_ready() && self.path.can_repeat
    }
    fn repeat(slf: Py<Self>) -> Repeat {
        Repeat { subflow: slf }
    }
    #[getter]
    fn srtt_s(&self) -> f64 {
        self.path.srtt.as_secs_f64()
    }
    #[getter]
    fn rttvar_s(&self) -> f64 {
        self.path.rttvar.as_secs_f64()
    }
    #[getter]
    fn srtt_min_s(&self) -> f64 {
        self.path.srtt_min.min(self.path.srtt).as_secs_f64()
    }
    #[getter]
    fn srtt_max_s(&self) -> f64 {
        self.path.srtt_max.max(self.path.srtt).as_secs_f64()
    }
    #[getter]
    fn cwnd(&self) -> u64 {
        self.path.cwnd
    }
    #[getter]
    fn flight_size(&self) -> u64 {
        self.path.flight
    }
    #[getter]
    fn queued(&self) -> u64 {
        self.path.queued
    }
    #[getter]
    fn smss(&self) -> u64 {
        self.path.smss
    }
    #[getter]
    fn pacing_rate(&self) -> Option<u64> {
        self.path.pacing_rate.map(Rate::as_bps)
    }
    #[getter]
    fn is_starting(&self) -> bool {
        self.path.is_starting
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("Subflow({:?})", self.name(py).to_string())
    }
}

/// Python object with its bound hook.
#[derive(Debug)]
struct Object {
    object: Py<Chooser>,
    /// Bound method; `None`: not overridden.
    choose: Option<Py<PyAny>>,
}

impl Object {
    /// Makes the object. Flow and seed are set before its `__init__`, which may read them.
    fn new(py: Python<'_>, maker: &Maker) -> PyResult<Self> {
        let class = maker.class.class.bind(py);
        let made = class.call_method1("__new__", (class,))?;
        {
            let mut chooser = own::made::<Chooser>(&made, &maker.class.name)?.try_borrow_mut()?;
            (chooser.flow, chooser.seed) = (maker.flow.name.clone(), maker.flow.seed);
        }
        class.getattr("__init__")?.call1((&made,))?;
        Self::of(&made, &maker.class)
    }

    fn of(made: &Bound<'_, PyAny>, class: &SchedulerClass) -> PyResult<Self> {
        let object = own::made::<Chooser>(made, &class.name)?.clone().unbind();
        let [choose] = own::hooks(made, &class.name, HOOKS, class.is_overridden)?;
        Ok(Self { object, choose })
    }

    fn choose(&self, py: Python<'_>, view: &SchedulerView, maker: &Maker) -> PyResult<Choice> {
        let subflow = |(index, path): (usize, &PathView)| {
            let name = maker.flow.subflows.get(index).map(|name| name.clone_ref(py));
            Py::new(py, Subflow { index, name, path: *path })
        };
        let subflows = view.paths.iter().enumerate().map(subflow).collect::<PyResult<_>>()?;
        // The paths are separate objects.
        let facts = SchedulerView { paths: Vec::new(), ..*view };
        let view = Bound::new(py, View { view: facts, subflows })?;
        let chosen = match &self.choose {
            Some(choose) => choose.bind(py).call1((view,))?,
            None => self.object.bind(py).call_method1(HOOKS[0], (view,))?,
        };
        chosen_of(&chosen, maker.class.repeats)
    }
}

/// Checks the answer of a class. A subflow that cannot carry a segment now is waited for.
fn chosen_of(chosen: &Bound<'_, PyAny>, repeats: bool) -> PyResult<Choice> {
    if chosen.is_none() {
        return Ok(Choice::Wait);
    }
    if let Ok(repeat) = chosen.cast::<Repeat>() {
        if !repeats {
            let message = format!("choose returned {}: expected `repeats = True` in the class", chosen.repr()?);
            return Err(PyTypeError::new_err(message));
        }
        let subflow = repeat.get().subflow.get();
        return Ok(if subflow.can_repeat() { Choice::Repeat(subflow.index) } else { Choice::Wait });
    }
    let Ok(subflow) = chosen.cast::<Subflow>() else {
        let message = format!("choose returned {}: expected one of view.subflows, or None to wait", chosen.repr()?);
        return Err(PyTypeError::new_err(message));
    };
    let Subflow { index, path, .. } = subflow.get();
    Ok(if path.is_ready() { Choice::Send(*index) } else { Choice::Wait })
}

/// Scheduler of a connection: a Python object.
#[derive(Debug)]
struct PyScheduler {
    maker: Arc<Maker>,
    /// Python object. Absent if its construction failed.
    object: Option<Object>,
}

impl Scheduler for PyScheduler {
    fn choose(&mut self, view: &SchedulerView) -> Choice {
        if self.maker.trouble.is_there() {
            return Choice::Wait;
        }
        let Some(object) = &self.object else { return Choice::Wait };
        Python::attach(|py| object.choose(py, view, &self.maker)).unwrap_or_else(|error| {
            self.maker.note(error, HOOKS[0]);
            Choice::Wait
        })
    }

    fn repeats(&self) -> bool {
        self.maker.class.repeats
    }

    fn copy(&self) -> Box<dyn Scheduler> {
        let copied = self.object.as_ref().filter(|_| !self.maker.trouble.is_there()).map(|object| {
            Python::attach(|py| {
                let copy = py.import("copy")?.call_method1("deepcopy", (object.object.bind(py),))?;
                Object::of(&copy, &self.maker.class)
            })
        });
        let object = copied.and_then(|copied| copied.map_err(|error| self.maker.note(error, "copy.deepcopy")).ok());
        Box::new(Self { maker: Arc::clone(&self.maker), object })
    }
}
