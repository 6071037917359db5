//! Congestion controls that are written in Python: [`PyCc`] stands for an object of a class that extends [`Controller`]
//! in a connection and calls what it overrides; the rest stays in Rust.
//!
//! An exception ends it: [`Trouble`] keeps it, no hook is called any more, and the run stops at this event.

use crate::controller::Controller;
use crate::facts::{Ack, Delivery, Init, Path, Why};
use crate::own::{self, Trouble};
use crate::values::threshold;
use bentpipe_tcp::cc::{
    AckSample, CcKind, Congestion, CongestionControl, Custom, CustomCc, Cwnd, Delivery as Delivered, Init as Begin,
    Pace, PathState,
};
use bentpipe_units::Rate;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// The hooks, by their place in [`HOOKS`].
#[derive(Clone, Copy, Debug)]
enum Hook {
    Ack,
    Congestion,
    Rto,
    Delivery,
    RecoveryExit,
    Resume,
    ErrorReport,
    Smss,
    LimitCwnd,
    SetWindow,
    Undo,
    PacingRate,
}

/// What a class may override.
pub(crate) const HOOKS: [&str; 12] = [
    "on_ack",
    "on_congestion",
    "on_rto",
    "on_delivery",
    "on_recovery_exit",
    "on_resume",
    "on_error_report",
    "on_smss",
    "limit_cwnd",
    "set_window",
    "undo",
    "pacing_rate",
];

/// A class of senders that a scenario may name.
#[derive(Debug)]
pub(crate) struct Class {
    name: String,
    code: String,
    like: CcKind,
    class: Py<PyAny>,
    is_overridden: [bool; HOOKS.len()],
}

impl Class {
    /// From what `bentpipe.own` gives.
    pub(crate) fn new(class: &Bound<'_, PyAny>, name: String, code: String, like: &str) -> PyResult<Self> {
        let kind = CcKind::ALL.iter().find(|kind| kind.name() == like);
        let like = *kind.ok_or_else(|| PyValueError::new_err(format!("no congestion control {like:?}")))?;
        let is_overridden = own::overridden(class, &class.py().get_type::<Controller>(), HOOKS)?;
        Ok(Self { name, code, like, class: class.clone().unbind(), is_overridden })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// For scenarios.
    pub(crate) fn sender(self: &Arc<Self>) -> bentpipe_sim::scenario::Sender {
        let maker = Arc::new(Maker { class: Arc::clone(self), flow: String::new(), trouble: Arc::default() });
        let cc = CustomCc::named(&self.name, &self.code, move |init| maker.make(init));
        bentpipe_sim::scenario::Sender { cc, like: self.like }
    }

    /// For a flow of a run, which reports to `trouble`.
    pub(crate) fn of_flow(self: &Arc<Self>, own: &CustomCc, flow: &str, trouble: &Arc<Trouble>) -> CustomCc {
        let maker = Arc::new(Maker { class: Arc::clone(self), flow: flow.into(), trouble: Arc::clone(trouble) });
        own.made_by(move |init| maker.make(init))
    }
}

/// Makes the objects of a class for a flow.
#[derive(Debug)]
struct Maker {
    class: Arc<Class>,
    flow: String,
    trouble: Arc<Trouble>,
}

impl Maker {
    fn make(self: &Arc<Self>, init: Begin) -> Box<dyn Custom> {
        let mut cc = PyCc {
            maker: Arc::clone(self),
            object: None,
            state: State { cwnd: init.cwnd.max(init.smss), ssthresh: init.ssthresh, rate: None },
        };
        if self.trouble.is_there() {
            return Box::new(cc);
        }
        let made = Python::attach(|py| {
            let object = self.class.class.bind(py).call1((Init(init),))?;
            let object = Object::new(&object, &self.class)?;
            let state = object.state(py)?;
            Ok((object, state))
        });
        match made {
            Ok((object, state)) => (cc.object, cc.state) = (Some(object), state),
            Err(error) => self.note(error, "__init__"),
        }
        Box::new(cc)
    }

    fn note(&self, error: PyErr, hook: &str) {
        self.trouble.note(error, &self.class.name, format!("{hook}, flow {}", self.flow));
    }
}

/// An object in Python, ready to be called.
#[derive(Debug)]
struct Object {
    object: Py<Controller>,
    /// Bound methods, where they are overridden.
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    ack: Py<Ack>,
    path: Py<Path>,
    why: Py<Why>,
    delivery: Py<Delivery>,
    of_ack: Py<PyTuple>,
    of_congestion: Py<PyTuple>,
    of_delivery: Py<PyTuple>,
    of_path: Py<PyTuple>,
}

impl Object {
    fn new(object: &Bound<'_, PyAny>, class: &Class) -> PyResult<Self> {
        let py = object.py();
        let controller = own::made::<Controller>(object, &class.name)?;
        let hooks = own::hooks(object, &class.name, HOOKS, class.is_overridden)?;
        let (ack, path) = (Py::new(py, Ack::default())?, Py::new(py, Path::default())?);
        let (why, delivery) = (Py::new(py, Why::default())?, Py::new(py, Delivery::default())?);
        let of = |facts: &Bound<'_, PyAny>| PyTuple::new(py, [facts, path.bind(py).as_any()]).map(Bound::unbind);
        Ok(Self {
            object: controller.clone().unbind(),
            hooks,
            of_ack: of(ack.bind(py).as_any())?,
            of_congestion: of(why.bind(py).as_any())?,
            of_delivery: of(delivery.bind(py).as_any())?,
            of_path: PyTuple::new(py, [path.bind(py)])?.unbind(),
            ack,
            path,
            why,
            delivery,
        })
    }

    fn hook(&self, hook: Hook) -> Option<&Py<PyAny>> {
        self.hooks[hook as usize].as_ref()
    }

    fn window<'py>(&self, py: Python<'py>) -> PyResult<PyRefMut<'py, Controller>> {
        Ok(self.object.bind(py).try_borrow_mut()?)
    }

    /// Its window and rate now.
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        let rate = match self.hook(Hook::PacingRate) {
            Some(rate) => pacing_rate(&rate.bind(py).call0()?)?,
            None => None,
        };
        let controller = self.object.bind(py).try_borrow()?;
        Ok(State { cwnd: controller.window.cwnd(), ssthresh: controller.window.ssthresh(), rate })
    }

    fn set_path(&self, py: Python<'_>, path: &PathState) -> PyResult<()> {
        self.path.bind(py).try_borrow_mut()?.0 = *path;
        Ok(())
    }
}

/// The controller of a connection, as an object in Python.
#[derive(Debug)]
struct PyCc {
    maker: Arc<Maker>,
    /// None if it could not be made.
    object: Option<Object>,
    /// As of the last hook.
    state: State,
}

/// What a controller decides.
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: u64,
    ssthresh: u64,
    rate: Option<Rate>,
}

impl PyCc {
    /// Calls the object, unless something went wrong before.
    #[inline]
    fn with_object(&mut self, hook: Hook, call: impl FnOnce(Python<'_>, &Object) -> PyResult<()>) {
        if self.maker.trouble.is_there() {
            return;
        }
        let Some(object) = &self.object else { return };
        let done = Python::attach(|py| {
            call(py, object).map_err(|error| (error, hook))?;
            object.state(py).map_err(|error| (error, Hook::PacingRate))
        });
        match done {
            Ok(state) => self.state = state,
            Err((error, hook)) => self.maker.note(error, HOOKS[hook as usize]),
        }
    }
}

/// A rate that Python gave, bit/s.
fn pacing_rate(value: &Bound<'_, PyAny>) -> PyResult<Option<Rate>> {
    if value.is_none() {
        return Ok(None);
    }
    const EXPECTED: &str = "expected bit/s, above 0 and at most 1e15, or None";
    let Ok(bps) = value.extract::<f64>() else {
        return Err(PyTypeError::new_err(format!("a pacing rate of {}: {EXPECTED}", value.repr()?)));
    };
    if !(bps > 0.0 && bps <= 1e15) {
        return Err(PyValueError::new_err(format!("a pacing rate of {bps}: {EXPECTED}")));
    }
    Ok(Some(Rate::from_bps((bps as u64).max(1))))
}

impl CongestionControl for PyCc {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.with_object(Hook::Ack, |py, object| {
            if let Some(hook) = object.hook(Hook::Ack) {
                object.ack.bind(py).try_borrow_mut()?.0 = *ack;
                object.set_path(py, path)?;
                hook.bind(py).call1(object.of_ack.bind(py))?;
            } else {
                object.window(py)?.grow(ack, path);
            }
            Ok(())
        });
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.with_object(Hook::Congestion, |py, object| {
            if let Some(hook) = object.hook(Hook::Congestion) {
                object.why.bind(py).try_borrow_mut()?.0 = why;
                object.set_path(py, path)?;
                hook.bind(py).call1(object.of_congestion.bind(py))?;
            } else {
                object.window(py)?.halve(why, path);
            }
            Ok(())
        });
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.with_object(Hook::Rto, |py, object| {
            if let Some(hook) = object.hook(Hook::Rto) {
                object.set_path(py, path)?;
                hook.bind(py).call1((first, object.path.bind(py)))?;
            } else {
                object.window(py)?.time_out(first, path);
            }
            Ok(())
        });
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.with_object(Hook::LimitCwnd, |py, object| {
            if let Some(hook) = object.hook(Hook::LimitCwnd) {
                hook.bind(py).call1((max.min(Cwnd::MAX),))?;
            } else {
                object.window(py)?.window.limit(max);
            }
            Ok(())
        });
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.with_object(Hook::SetWindow, |py, object| {
            if let Some(hook) = object.hook(Hook::SetWindow) {
                hook.bind(py).call1((cwnd, threshold(ssthresh)))?;
            } else {
                object.window(py)?.window.set(cwnd, ssthresh);
            }
            Ok(())
        });
    }

    fn on_smss(&mut self, smss: u64) {
        self.with_object(Hook::Smss, |py, object| {
            if let Some(hook) = object.hook(Hook::Smss) {
                hook.bind(py).call1((smss,))?;
            }
            // Whatever it does, no window is below a segment.
            object.window(py)?.window.on_smss(smss);
            Ok(())
        });
    }

    fn takes_deliveries(&self) -> bool {
        self.maker.class.is_overridden[Hook::Delivery as usize]
    }

    fn on_delivery(&mut self, delivery: &Delivered, path: &PathState) {
        self.with_object(Hook::Delivery, |py, object| {
            let Some(hook) = object.hook(Hook::Delivery) else { return Ok(()) };
            object.delivery.bind(py).try_borrow_mut()?.0 = *delivery;
            object.set_path(py, path)?;
            hook.bind(py).call1(object.of_delivery.bind(py)).map(|_| ())
        });
    }

    fn on_recovery_exit(&mut self, path: &PathState) {
        self.with_object(Hook::RecoveryExit, |py, object| {
            let Some(hook) = object.hook(Hook::RecoveryExit) else { return Ok(()) };
            object.set_path(py, path)?;
            hook.bind(py).call1(object.of_path.bind(py)).map(|_| ())
        });
    }

    fn on_resume(&mut self, path: &PathState) {
        self.with_object(Hook::Resume, |py, object| {
            let Some(hook) = object.hook(Hook::Resume) else { return Ok(()) };
            object.set_path(py, path)?;
            hook.bind(py).call1(object.of_path.bind(py)).map(|_| ())
        });
    }

    fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
        if !self.maker.class.is_overridden[Hook::ErrorReport as usize] {
            return;
        }
        self.with_object(Hook::ErrorReport, |py, object| {
            let Some(hook) = object.hook(Hook::ErrorReport) else { return Ok(()) };
            object.set_path(py, path)?;
            let (start, end) = range.unzip();
            hook.bind(py).call1((start, end, error_rate.map(f64::from), object.path.bind(py))).map(|_| ())
        });
    }

    fn undo(&mut self, before: Self) {
        let Some(before) = before.object else { return };
        self.with_object(Hook::Undo, |py, object| {
            let before = before.object.bind(py);
            if let Some(hook) = object.hook(Hook::Undo) {
                hook.bind(py).call1((before,))?;
            } else {
                object.window(py)?.window = before.try_borrow()?.window.clone();
            }
            Ok(())
        });
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.state.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.state.ssthresh
    }

    fn pacing(&self) -> Option<Pace> {
        self.state.rate.map(Pace::at)
    }

    /// Also where there is no rate yet, before the first round trip.
    fn paces(&self) -> bool {
        self.maker.class.is_overridden[Hook::PacingRate as usize]
    }
}

impl Clone for PyCc {
    /// With a deep copy of the object, as it is kept to undo a reaction to a spurious loss.
    fn clone(&self) -> Self {
        let copied = self.object.as_ref().map(|object| {
            Python::attach(|py| {
                let copy = py.import("copy")?.call_method1("deepcopy", (object.object.bind(py),))?;
                Object::new(&copy, &self.maker.class)
            })
        });
        let object = match copied {
            Some(Err(error)) => {
                self.maker.note(error, "copy.deepcopy");
                None
            }
            Some(Ok(object)) => Some(object),
            None => None,
        };
        Self { maker: Arc::clone(&self.maker), object, state: self.state }
    }
}
