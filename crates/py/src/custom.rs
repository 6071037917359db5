//! Runs congestion controls that are written in Python.
//!
//! [`PyCc`] represents an object of a class that extends [`Controller`] in a connection. It calls the overridden hooks;
//! the others run in Rust. After an exception, [`Trouble`] keeps it, no hook is called, and the run stops at this
//! event.

use crate::controller::Controller;
use crate::facts::{Ack, Delivery, Init, Path, Why};
use crate::inherited::{Inherited, Traits};
use crate::inside;
use crate::own::{self, Trouble};
use crate::values::threshold;
use bentpipe_cc::{
    AckSample, CcConfig, CcKind, Congestion, CongestionControl, Custom, CustomCc, Cwnd, Delivery as Delivered,
    Init as Begin, Insides, LostSegment, Pace, PathState, ProbeSegments, Unbounded,
};
use bentpipe_tcp::ExplicitHeader;
use bentpipe_units::{Rate, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Hooks, by their index in [`HOOKS`].
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
    Inside,
}

/// Hooks that a class may override.
pub(crate) const HOOKS: [&str; 13] = [
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
    "inside",
];

/// Congestion control class that a scenario may name.
#[derive(Debug)]
pub(crate) struct Class {
    name: String,
    code: String,
    /// Congestion control that it extends. A class with Reno's window has one with the same recovery.
    like: CcKind,
    class: Py<PyAny>,
    /// Whether it extends a registered congestion control.
    extends: bool,
    /// Whether it reads counts of marks.
    takes_marks: bool,
    is_overridden: [bool; HOOKS.len()],
}

impl Class {
    /// Makes a class from the values of `bentpipe.own`.
    pub(crate) fn new(class: &Bound<'_, PyAny>, name: String, code: String, like: &str) -> PyResult<Self> {
        let kind = CcKind::ALL.iter().find(|kind| kind.name() == like);
        let like = *kind.ok_or_else(|| {
            PyValueError::new_err(format!("no congestion control {like:?}: expected one of bentpipe list cc"))
        })?;
        let is_overridden = own::overridden(class, &class.py().get_type::<Controller>(), HOOKS)?;
        let extends = !class.getattr("extends")?.is_none();
        let takes_marks = class.getattr("takes_marks")?.extract()?;
        Ok(Self { name, code, like, class: class.clone().unbind(), extends, takes_marks, is_overridden })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the congestion control for scenarios.
    pub(crate) fn sender(self: &Arc<Self>) -> bentpipe_sim::scenario::Sender {
        let maker = Arc::new(Maker { class: Arc::clone(self), flow: String::new(), trouble: Arc::default() });
        let cc = CustomCc::named(&self.name, &self.code, move |init, cc| maker.make(init, cc));
        bentpipe_sim::scenario::Sender { cc, like: self.like }
    }

    /// Returns the congestion control of a run's flow, which reports to `trouble`.
    pub(crate) fn of_flow(self: &Arc<Self>, own: &CustomCc, flow: &str, trouble: &Arc<Trouble>) -> CustomCc {
        let maker = Arc::new(Maker { class: Arc::clone(self), flow: flow.into(), trouble: Arc::clone(trouble) });
        own.made_by(move |init, cc| maker.make(init, cc))
    }
}

/// Maker of the objects of a class for a flow.
#[derive(Debug)]
struct Maker {
    class: Arc<Class>,
    flow: String,
    trouble: Arc<Trouble>,
}

impl Maker {
    fn make(self: &Arc<Self>, begin: Begin, cc: CcConfig) -> Box<dyn Custom> {
        let ssthresh = begin.ssthresh;
        let state = State { cwnd: begin.cwnd.max(begin.smss), ssthresh, pace: None, holds_back: false };
        let mut made = PyCc { maker: Arc::clone(self), object: None, state, traits: Traits::default() };
        if self.trouble.is_there() {
            return Box::new(made);
        }
        let object = Python::attach(|py| {
            let object = self.class.class.bind(py).call1((Init { begin, cc: Some(cc) },))?;
            let object = Object::new(&object, &self.class)?;
            let (state, traits) = (object.state(py)?, Traits::of(&mut *object.base(py)?));
            Ok((object, state, traits))
        });
        match object {
            Ok((object, state, traits)) => (made.object, made.state, made.traits) = (Some(object), state, traits),
            Err(error) => self.note(error, "__init__"),
        }
        Box::new(made)
    }

    fn note(&self, error: PyErr, hook: &str) {
        self.trouble.note(error, &self.class.name, format!("{hook}, flow {}", self.flow));
    }
}

/// Python object with its bound hooks.
#[derive(Debug)]
struct Object {
    object: Py<Controller>,
    /// Bound methods of overridden hooks.
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
}

impl Object {
    fn new(object: &Bound<'_, PyAny>, class: &Class) -> PyResult<Self> {
        let controller = own::made::<Controller>(object, &class.name)?;
        let hooks = own::hooks(object, &class.name, HOOKS, class.is_overridden)?;
        Ok(Self { object: controller.clone().unbind(), hooks })
    }

    fn hook(&self, hook: Hook) -> Option<&Py<PyAny>> {
        self.hooks[hook as usize].as_ref()
    }

    /// Returns the inherited hooks.
    fn base<'py>(&self, py: Python<'py>) -> PyResult<RefMut<'py>> {
        Ok(RefMut(self.object.bind(py).try_borrow_mut()?))
    }

    /// Returns the present window and pace.
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        let rate = match self.hook(Hook::PacingRate) {
            Some(rate) => Some(pacing_rate(&rate.bind(py).call0()?)?),
            None => None,
        };
        let mut base = self.base(py)?;
        let inherited = base.pacing();
        let pace = match rate {
            Some(rate) => rate.map(|rate| Pace { rate, ..inherited.unwrap_or(Pace::at(rate)) }),
            None => inherited,
        };
        let holds_back = base.built_in().is_some_and(|cc| cc.holds_back());
        Ok(State { cwnd: base.cwnd(), ssthresh: base.ssthresh(), pace, holds_back })
    }
}

/// Inherited hooks of an object, borrowed.
struct RefMut<'py>(PyRefMut<'py, Controller>);

impl Deref for RefMut<'_> {
    type Target = Inherited;
    fn deref(&self) -> &Inherited {
        &self.0.base
    }
}

impl DerefMut for RefMut<'_> {
    fn deref_mut(&mut self) -> &mut Inherited {
        &mut self.0.base
    }
}

/// Congestion control of a connection: a Python object.
#[derive(Debug)]
struct PyCc {
    maker: Arc<Maker>,
    /// Python object. Absent if its construction failed.
    object: Option<Object>,
    /// State after the last hook.
    state: State,
    traits: Traits,
}

/// Decisions of a congestion control.
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: u64,
    ssthresh: u64,
    pace: Option<Pace>,
    holds_back: bool,
}

impl PyCc {
    /// Returns an answer of the inherited hooks, or none without an object.
    fn ask<T>(&self, ask: impl FnOnce(&mut Inherited) -> Option<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        Python::attach(|py| ask(&mut *object.base(py).ok()?))
    }

    /// Calls the registered congestion control that the object extends, if it extends one.
    fn with_built_in(&mut self, call: impl FnOnce(&mut dyn Custom)) {
        if !self.is_built_in() {
            return;
        }
        // Only a pacing rate in Python can fail here: it is read after each call.
        self.with_object(Hook::PacingRate, |py, object| {
            if let Some(cc) = object.base(py)?.built_in() {
                call(cc);
            }
            Ok(())
        });
    }

    fn is_built_in(&self) -> bool {
        self.maker.class.extends
    }

    fn is_overridden(&self, hook: Hook) -> bool {
        self.maker.class.is_overridden[hook as usize]
    }

    /// Calls the object, unless a hook failed before.
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

/// Checks a rate from Python, bit/s.
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
                hook.bind(py).call1((Ack(*ack), Path(*path)))?;
            } else {
                object.base(py)?.on_ack(ack, path);
            }
            Ok(())
        });
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.with_object(Hook::Congestion, |py, object| {
            if let Some(hook) = object.hook(Hook::Congestion) {
                hook.bind(py).call1((Why(why), Path(*path)))?;
            } else {
                object.base(py)?.on_congestion(why, path);
            }
            Ok(())
        });
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.with_object(Hook::Rto, |py, object| {
            if let Some(hook) = object.hook(Hook::Rto) {
                hook.bind(py).call1((first, Path(*path)))?;
            } else {
                object.base(py)?.on_rto(first, path);
            }
            Ok(())
        });
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.with_object(Hook::LimitCwnd, |py, object| {
            if let Some(hook) = object.hook(Hook::LimitCwnd) {
                hook.bind(py).call1((max.min(Cwnd::MAX),))?;
            } else {
                object.base(py)?.limit_cwnd(max);
            }
            Ok(())
        });
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.with_object(Hook::SetWindow, |py, object| {
            if let Some(hook) = object.hook(Hook::SetWindow) {
                hook.bind(py).call1((cwnd, threshold(ssthresh)))?;
            } else {
                object.base(py)?.set_window(cwnd, ssthresh);
            }
            Ok(())
        });
    }

    fn on_smss(&mut self, smss: u64) {
        self.with_object(Hook::Smss, |py, object| {
            match object.hook(Hook::Smss) {
                Some(hook) => {
                    hook.bind(py).call1((smss,))?;
                    object.base(py)?.settle_smss(smss);
                }
                None => object.base(py)?.on_smss(smss),
            }
            Ok(())
        });
    }

    fn takes_deliveries(&self) -> bool {
        self.is_overridden(Hook::Delivery) || self.traits.takes_deliveries
    }

    fn takes_marks(&self) -> bool {
        self.maker.class.takes_marks || self.traits.takes_marks
    }

    fn on_delivery(&mut self, delivery: &Delivered, path: &PathState) {
        self.with_object(Hook::Delivery, |py, object| {
            let Some(hook) = object.hook(Hook::Delivery) else {
                object.base(py)?.on_delivery(delivery, path);
                return Ok(());
            };
            hook.bind(py).call1((Delivery(*delivery), Path(*path))).map(|_| ())
        });
    }

    fn on_recovery_exit(&mut self, path: &PathState) {
        self.with_object(Hook::RecoveryExit, |py, object| {
            let Some(hook) = object.hook(Hook::RecoveryExit) else {
                object.base(py)?.on_recovery_exit(path);
                return Ok(());
            };
            hook.bind(py).call1((Path(*path),)).map(|_| ())
        });
    }

    fn on_resume(&mut self, path: &PathState) {
        self.with_object(Hook::Resume, |py, object| {
            let Some(hook) = object.hook(Hook::Resume) else {
                object.base(py)?.on_resume(path);
                return Ok(());
            };
            hook.bind(py).call1((Path(*path),)).map(|_| ())
        });
    }

    fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, path: &PathState) {
        if !self.is_overridden(Hook::ErrorReport) && !self.is_built_in() {
            return;
        }
        self.with_object(Hook::ErrorReport, |py, object| {
            let Some(hook) = object.hook(Hook::ErrorReport) else {
                object.base(py)?.on_error_report(range, error_rate, path);
                return Ok(());
            };
            let (start, end) = range.unzip();
            hook.bind(py).call1((start, end, error_rate.map(f64::from), Path(*path))).map(|_| ())
        });
    }

    fn undo(&mut self, before: Self) {
        let Some(before) = before.object else { return };
        self.with_object(Hook::Undo, |py, object| {
            let before = before.object.bind(py);
            if let Some(hook) = object.hook(Hook::Undo) {
                hook.bind(py).call1((before,))?;
            } else {
                let before = before.try_borrow()?.base.clone();
                object.base(py)?.undo(before);
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
        self.state.pace
    }

    /// Also true before the first round trip, when there is no rate.
    fn paces(&self) -> bool {
        self.is_overridden(Hook::PacingRate) || self.traits.paces
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        self.with_built_in(|cc| cc.on_lost(lost, path));
    }

    fn on_recovery_ack(&mut self, is_partial: bool, path: &PathState) {
        self.with_built_in(|cc| cc.on_recovery_ack(is_partial, path));
    }

    fn on_explicit(&mut self, word: f64, path: &PathState) {
        self.with_built_in(|cc| cc.on_explicit(word, path));
    }

    fn explicit_header(&self, path: &PathState) -> Option<ExplicitHeader> {
        if !self.is_built_in() {
            return None;
        }
        self.ask(|base| base.built_in()?.explicit_header(path))
    }

    fn is_model_based(&self) -> bool {
        self.traits.is_model_based
    }

    fn holds_back(&self) -> bool {
        self.state.holds_back
    }

    /// Reads the object without a state afterwards: records change nothing.
    fn inside(&self, insides: &mut Insides<'_>) {
        let Some(object) = self.object.as_ref().filter(|_| !self.maker.trouble.is_there()) else { return };
        let done = Python::attach(|py| {
            let Some(hook) = object.hook(Hook::Inside) else {
                object.base(py)?.inside(insides);
                return Ok(());
            };
            inside::report(&hook.bind(py).call0()?, insides)
        });
        if let Err(error) = done {
            self.maker.note(error, HOOKS[Hook::Inside as usize]);
        }
    }

    fn polls(&self) -> Option<u32> {
        self.traits.polls
    }

    fn unbounded(&self) -> Option<Unbounded> {
        self.ask(|base| base.built_in()?.unbounded())
    }

    fn probe_segments(&mut self) -> Option<&mut dyn ProbeSegments> {
        if self.traits.has_probes {
            Some(self)
        } else {
            None
        }
    }
}

/// Probe segments of the extended congestion control.
impl ProbeSegments for PyCc {
    fn answers(&self) -> bool {
        self.ask(|base| Some(base.probe_segments()?.answers())).unwrap_or(false)
    }

    fn inflates(&self) -> bool {
        self.ask(|base| Some(base.probe_segments()?.inflates())).unwrap_or(true)
    }

    fn repairs(&self) -> bool {
        self.ask(|base| Some(base.probe_segments()?.repairs())).unwrap_or(false)
    }

    fn due(&self) -> Time {
        self.ask(|base| Some(base.probe_segments()?.due())).unwrap_or(Time::NEVER)
    }

    fn on_sent(&mut self, path: &PathState) {
        self.with_built_in(|cc| {
            if let Some(probes) = cc.probe_segments() {
                probes.on_sent(path);
            }
        });
    }

    fn on_answer(&mut self, path: &PathState) {
        self.with_built_in(|cc| {
            if let Some(probes) = cc.probe_segments() {
                probes.on_answer(path);
            }
        });
    }
}

impl Clone for PyCc {
    /// Copies the object deeply. The copy serves to undo a reaction to a spurious loss.
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
        Self { maker: Arc::clone(&self.maker), object, state: self.state, traits: self.traits }
    }
}
