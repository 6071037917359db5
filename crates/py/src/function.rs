//! Runs middleboxes that are written in Python.
//!
//! [`PyFunction`] represents an object of a class that extends [`Function`] at a node. The object records the calls of
//! a hook. They take effect after the hook returns.

use crate::own::{self, Trouble};
use crate::packet::{notified, sequence_ranges, Flows, View};
use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::middlebox::{Context, Maker, Middlebox, OwnConfig, QueueView};
use bentpipe_sim::Packet;
use bentpipe_tcp::{Notice, Segment};
use bentpipe_units::{Duration, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hooks, by their index in [`HOOKS`].
#[derive(Clone, Copy, Debug)]
enum Hook {
    Packet,
    Timer,
    Corrupted,
}

/// Hooks that a class may override.
pub(crate) const HOOKS: [&str; 3] = ["on_packet", "on_timer", "on_corrupted"];

/// Largest delay of a packet and duration of a run in seconds. Larger values are mistakes.
const SECONDS_MAX: f64 = 1e9;

/// Middlebox class that a scenario may name.
#[derive(Debug)]
pub(crate) struct FunctionClass {
    name: String,
    code: String,
    class: Py<PyAny>,
    is_overridden: [bool; HOOKS.len()],
}

impl FunctionClass {
    pub(crate) fn new(class: &Bound<'_, PyAny>, name: String, code: String) -> PyResult<Self> {
        let is_overridden = own::overridden(class, &class.py().get_type::<Function>(), HOOKS)?;
        Ok(Self { name, code, class: class.clone().unbind(), is_overridden })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the middlebox for scenarios. Runs add its constructor.
    pub(crate) fn config(&self) -> OwnConfig {
        OwnConfig { name: self.name.clone(), code: self.code.clone(), make: None }
    }

    /// Returns the constructor for a node of a run, which reports to `trouble`.
    pub(crate) fn at_node(
        self: &Arc<Self>,
        node: &str,
        flows: &Flows,
        changes: &Arc<[Time]>,
        trouble: &Arc<Trouble>,
    ) -> Maker {
        let place = Place { name: node.to_owned(), changes: Arc::clone(changes) };
        let (class, flows, trouble) = (Arc::clone(self), flows.clone(), Arc::clone(trouble));
        Maker::new(move |seed| Box::new(PyFunction::new(&class, &place, seed, &flows, &trouble)))
    }
}

/// Node, as its middleboxes see it.
#[derive(Clone, Debug)]
struct Place {
    name: String,
    /// Times when the timeline changes something at the node, in order.
    changes: Arc<[Time]>,
}

/// Fate of the packet of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Fate {
    #[default]
    Forward,
    Drop,
    SendBack,
    Consume,
    Delay(Duration),
    Hold(u64),
}

impl Fate {
    const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Drop => "drop",
            Self::SendBack => "send_back",
            Self::Consume => "consume",
            Self::Delay(_) => "delay",
            Self::Hold(_) => "hold",
        }
    }
}

/// Base class of middleboxes: the facts and calls of a hook, and the recorded calls.
#[pyclass(subclass, name = "Middlebox", module = "bentpipe._core")]
pub(crate) struct Function {
    now: Time,
    node: String,
    changes: Arc<[Time]>,
    seed: u64,
    /// Whether the present packet is corrupted, so that the node drops it.
    is_corrupted: bool,
    /// Queue before the present packet, and its fate. None outside `on_packet`.
    given: Option<(Option<QueueView>, Fate)>,
    copies: u32,
    /// Segment size that is requested from the packet's sender, payload bytes.
    segment_size: Option<u32>,
    timer: Time,
    handles: u64,
    held: BTreeMap<u64, Packet>,
    /// Released packets in order of their release, and whether they are forwarded.
    let_go: Vec<(Packet, bool)>,
    /// Notices for the senders of packets, each with the header of a packet from there.
    notices: Vec<(Packet, Notice)>,
}

#[pymethods]
impl Function {
    #[new]
    fn new() -> Self {
        Self {
            now: Time::ZERO,
            node: String::new(),
            changes: Arc::default(),
            seed: 0,
            is_corrupted: false,
            given: None,
            copies: 0,
            segment_size: None,
            timer: Time::NEVER,
            handles: 0,
            held: BTreeMap::new(),
            let_go: Vec::new(),
            notices: Vec::new(),
        }
    }

    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    fn on_packet(&self, packet: &View) {
        let _ = packet;
    }
    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    fn on_timer(&self) {}
    #[expect(clippy::unused_self, reason = "a method for classes to override")]
    fn on_corrupted(&self, packet: &View) {
        let _ = packet;
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }
    #[getter]
    fn node(&self) -> &str {
        &self.node
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }
    #[getter]
    fn next_change_s(&self) -> Option<f64> {
        let next = self.changes.partition_point(|at| *at <= self.now);
        self.changes.get(next).map(|at| at.as_secs_f64())
    }
    #[getter]
    fn queue_packets(&self) -> PyResult<usize> {
        Ok(self.in_hand("queue_packets")?.0.map_or(0, |queue| queue.packets))
    }
    #[getter]
    fn queue_bytes(&self) -> PyResult<u64> {
        Ok(self.in_hand("queue_bytes")?.0.map_or(0, |queue| queue.bytes))
    }

    fn drop(&mut self) -> PyResult<()> {
        self.decide(Fate::Drop)
    }
    fn send_back(&mut self) -> PyResult<()> {
        self.decide(Fate::SendBack)
    }
    fn consume(&mut self) -> PyResult<()> {
        self.decide(Fate::Consume)
    }
    fn delay(&mut self, seconds: f64) -> PyResult<()> {
        self.decide(Fate::Delay(span("delay", seconds)?))
    }
    fn hold(&mut self) -> PyResult<u64> {
        self.decide(Fate::Hold(self.handles))?;
        self.handles += 1;
        Ok(self.handles - 1)
    }
    fn release(&mut self, handle: u64) -> PyResult<()> {
        self.let_go(handle, true)
    }
    fn discard(&mut self, handle: u64) -> PyResult<()> {
        self.let_go(handle, false)
    }
    fn duplicate(&mut self) -> PyResult<()> {
        self.in_hand("duplicate")?;
        self.copies += 1;
        Ok(())
    }
    fn segment_size(&mut self, bytes: u16) -> PyResult<()> {
        self.in_hand("segment_size")?;
        if bytes == 0 {
            return Err(PyValueError::new_err("segment_size of 0: expected bytes of payload, 1 to 65535"));
        }
        self.segment_size = Some(bytes.into());
        Ok(())
    }
    #[pyo3(signature = (sender, ranges, ber=None))]
    fn notify(&mut self, sender: &Bound<'_, PyAny>, ranges: &Bound<'_, PyAny>, ber: Option<f64>) -> PyResult<()> {
        let header = notified(sender)?;
        let error_rate = match ber {
            Some(rate) if !(0.0..=1.0).contains(&rate) => {
                return Err(PyValueError::new_err(format!("notify with an error rate of {rate}: expected 0 to 1")));
            }
            rate => rate.map(|rate| rate as f32),
        };
        let ranges = sequence_ranges(ranges)?;
        if ranges.is_empty() && error_rate.is_none() {
            return Err(PyValueError::new_err("notify without a report: expected ranges, an error rate, or both"));
        }
        let before = self.notices.len();
        let corrupted = ranges.into_iter().filter(|(_, len)| *len > 0);
        let notices = corrupted.map(|(seq, len)| (header, Notice::Corrupted { seq, len, error_rate }));
        self.notices.extend(notices);
        if let (true, Some(rate)) = (self.notices.len() == before, error_rate) {
            self.notices.push((header, Notice::ErrorRate(rate)));
        }
        Ok(())
    }
    #[pyo3(signature = (at_s))]
    fn set_timer(&mut self, at_s: Option<f64>) -> PyResult<()> {
        self.timer = match at_s {
            Some(at_s) => (Time::ZERO + span("set_timer", at_s)?).max(self.now),
            None => Time::NEVER,
        };
        Ok(())
    }
}

/// Checks seconds from Python.
fn span(what: &str, seconds: f64) -> PyResult<Duration> {
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(PyValueError::new_err(format!("{what} of {seconds}: expected seconds, 0 to 1e9")));
    }
    // The type saturates at a time that exceeds every run.
    Ok(Duration::from_secs_f64(seconds))
}

impl Function {
    fn in_hand(&self, what: &str) -> PyResult<(Option<QueueView>, Fate)> {
        if self.is_corrupted {
            let message = format!(
                "{what} is for a packet that continues, and a corrupted packet is dropped; expected it in on_packet"
            );
            return Err(PyRuntimeError::new_err(message));
        }
        let message = || format!("{what} is for the packet of on_packet; expected a call within on_packet");
        self.given.ok_or_else(|| PyRuntimeError::new_err(message()))
    }

    fn decide(&mut self, fate: Fate) -> PyResult<()> {
        let (queue, before) = self.in_hand(fate.name())?;
        if before != Fate::Forward {
            let message = format!("{} after {}: expected one of them for a packet", fate.name(), before.name());
            return Err(PyRuntimeError::new_err(message));
        }
        self.given = Some((queue, fate));
        Ok(())
    }

    fn let_go(&mut self, handle: u64, is_forwarded: bool) -> PyResult<()> {
        if let Some((_, fate)) = self.given.as_mut().filter(|(_, fate)| *fate == Fate::Hold(handle)) {
            *fate = if is_forwarded { Fate::Forward } else { Fate::Drop };
            return Ok(());
        }
        let Some(packet) = self.held.remove(&handle) else {
            let message = format!("no packet is held under {handle}: expected the handle of a hold(), once");
            return Err(PyValueError::new_err(message));
        };
        self.let_go.push((packet, is_forwarded));
        Ok(())
    }
}

/// Python object with its bound hooks.
#[derive(Debug)]
struct Object {
    function: Py<Function>,
    /// Bound methods of overridden hooks.
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    /// Packet view and arguments of `on_packet`, from the first packet on.
    shown: Option<(Py<View>, Py<PyTuple>)>,
}

impl Object {
    /// Makes the object. Node and seed are set before its `__init__`, which may read them.
    fn new(py: Python<'_>, class: &FunctionClass, place: &Place, seed: u64) -> PyResult<Self> {
        let made = class.class.bind(py).call_method1("__new__", (&class.class,))?;
        let function = own::made::<Function>(&made, &class.name)?;
        {
            let mut function = function.try_borrow_mut()?;
            (function.node, function.seed) = (place.name.clone(), seed);
            function.changes = Arc::clone(&place.changes);
        }
        class.class.bind(py).getattr("__init__")?.call1((&made,))?;
        let hooks = own::hooks(&made, &class.name, HOOKS, class.is_overridden)?;
        Ok(Self { function: function.clone().unbind(), hooks, shown: None })
    }

    /// Returns the arguments of `on_packet` with this packet, or of `on_corrupted` for a corrupted packet.
    fn show<'py>(
        &mut self,
        py: Python<'py>,
        (packet, segment): (Packet, Option<Segment>),
        is_corrupted: bool,
        flows: &Flows,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if let Some((view, arguments)) = &self.shown {
            let mut view = view.bind(py).try_borrow_mut()?;
            (view.packet, view.segment, view.is_rewritten, view.is_corrupted) = (packet, segment, false, is_corrupted);
            return Ok(arguments.bind(py).clone());
        }
        let view = Py::new(py, View { packet, segment, is_rewritten: false, is_corrupted, flows: flows.clone() })?;
        let arguments = PyTuple::new(py, [view.bind(py)])?;
        self.shown = Some((view, arguments.clone().unbind()));
        Ok(arguments)
    }
}

/// Calls of a hook that take effect after it.
#[derive(Debug, Default)]
struct Wanted {
    fate: Fate,
    copies: u32,
    segment_size: Option<u32>,
    let_go: Vec<(Packet, bool)>,
    notices: Vec<(Packet, Notice)>,
}

/// Middlebox: a Python object.
#[derive(Debug)]
struct PyFunction {
    class: Arc<FunctionClass>,
    node: String,
    trouble: Arc<Trouble>,
    flows: Flows,
    /// Python object. Absent if its construction failed.
    object: Option<Object>,
    timer: Time,
    /// Number of packets that the object holds.
    held: usize,
    /// Delayed packets, by departure and number.
    delayed: BTreeMap<(Time, u64), Packet>,
    delays: u64,
}

impl PyFunction {
    fn new(class: &Arc<FunctionClass>, place: &Place, seed: u64, flows: &Flows, trouble: &Arc<Trouble>) -> Self {
        let mut function = Self {
            class: Arc::clone(class),
            node: place.name.clone(),
            trouble: Arc::clone(trouble),
            flows: flows.clone(),
            object: None,
            timer: Time::NEVER,
            held: 0,
            delayed: BTreeMap::new(),
            delays: 0,
        };
        if trouble.is_there() {
            return function;
        }
        let made = Python::attach(|py| {
            let object = Object::new(py, class, place, seed)?;
            let timer = object.function.bind(py).try_borrow()?.timer;
            Ok((object, timer))
        });
        match made {
            Ok((object, timer)) => (function.object, function.timer) = (Some(object), timer),
            Err(error) => function.note(error, "__init__"),
        }
        function
    }

    fn note(&self, error: PyErr, hook: &str) {
        self.trouble.note(error, &self.class.name, format!("{hook}, node {}", self.node));
    }

    fn overrides(&self, hook: Hook) -> bool {
        self.class.is_overridden[hook as usize] && self.object.is_some() && !self.trouble.is_there()
    }

    /// Calls a hook with a packet and the queue before it, if there is a packet. Calls before a failure take effect,
    /// too: packets are never forgotten.
    fn call(&mut self, hook: Hook, given: Option<(&mut Packet, &mut Option<Segment>)>, cx: &mut Context<'_>) -> Wanted {
        let now = cx.now;
        let is_corrupted = matches!(hook, Hook::Corrupted);
        let queue = given.as_ref().filter(|_| !is_corrupted).map(|(packet, _)| cx.queue(packet));
        let Self { object: Some(object), flows, .. } = self else { return Wanted::default() };
        let done = Python::attach(|py| {
            let arguments = match &given {
                Some((packet, segment)) => object.show(py, (**packet, **segment), is_corrupted, flows)?,
                None => PyTuple::empty(py),
            };
            {
                let mut function = object.function.bind(py).try_borrow_mut()?;
                (function.now, function.given) = (now, queue.map(|queue| (queue, Fate::Forward)));
                function.is_corrupted = is_corrupted;
                if matches!(hook, Hook::Timer) {
                    function.timer = Time::NEVER;
                }
            }
            let called = match &object.hooks[hook as usize] {
                Some(hook) => hook.bind(py).call1(&arguments).map(|_| ()),
                None => Ok(()),
            };
            let mut function = object.function.bind(py).try_borrow_mut()?;
            function.is_corrupted = false;
            if let (Some((packet, segment)), Some((view, _))) = (given, &object.shown) {
                let view = view.bind(py).try_borrow()?;
                (*packet, *segment) = (view.packet, view.segment.filter(|_| view.is_rewritten));
            }
            let wanted = Wanted {
                fate: function.given.take().map_or(Fate::Forward, |(_, fate)| fate),
                copies: std::mem::take(&mut function.copies),
                segment_size: function.segment_size.take(),
                let_go: std::mem::take(&mut function.let_go),
                notices: std::mem::take(&mut function.notices),
            };
            Ok::<_, PyErr>((wanted, function.timer, function.held.len(), called))
        });
        match done {
            Ok((wanted, timer, held, called)) => {
                (self.timer, self.held) = (timer, held);
                if let Err(error) = called {
                    self.note(error, HOOKS[hook as usize]);
                }
                wanted
            }
            Err(error) => {
                self.note(error, HOOKS[hook as usize]);
                Wanted::default()
            }
        }
    }

    /// Sends notices and releases held packets.
    fn carry_out(packets: Vec<(Packet, bool)>, notices: Vec<(Packet, Notice)>, cx: &mut Context<'_>) {
        for (header, notice) in notices {
            cx.notify_sender(&header, notice);
        }
        for (packet, is_forwarded) in packets {
            if is_forwarded {
                cx.forward(packet);
            } else {
                cx.drop(packet, Cause::Policy);
            }
        }
    }

    /// Keeps a packet under the object's handle.
    fn keep(&mut self, handle: u64, packet: Packet, cx: &mut Context<'_>) {
        let kept = self.object.as_ref().map(|object| {
            Python::attach(|py| object.function.bind(py).try_borrow_mut().map(|mut it| it.held.insert(handle, packet)))
        });
        match kept {
            Some(Ok(_)) => self.held += 1,
            _ => cx.forward(packet),
        }
    }
}

impl Middlebox for PyFunction {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if !self.overrides(Hook::Packet) {
            return cx.forward(packet);
        }
        let mut segment = cx.segment(&packet);
        let wanted = self.call(Hook::Packet, Some((&mut packet, &mut segment)), cx);
        if let Some(segment) = segment {
            packet = cx.rewrite(packet, &segment);
        }
        Self::carry_out(wanted.let_go, wanted.notices, cx);
        if let Some(bytes) = wanted.segment_size {
            cx.set_segment_size(&packet, bytes);
        }
        for _ in 0..wanted.copies {
            let copy = cx.copy_of(&packet);
            cx.emit(copy);
        }
        match wanted.fate {
            Fate::Forward => cx.forward(packet),
            Fate::Drop => cx.drop(packet, Cause::Policy),
            Fate::SendBack => cx.send_back(packet),
            Fate::Consume => cx.consume(packet),
            Fate::Delay(span) => {
                self.delayed.insert((cx.now + span, self.delays), packet);
                self.delays += 1;
            }
            Fate::Hold(handle) => self.keep(handle, packet, cx),
        }
    }

    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if self.overrides(Hook::Corrupted) {
            let (mut packet, mut segment) = (*packet, cx.segment(packet));
            let wanted = self.call(Hook::Corrupted, Some((&mut packet, &mut segment)), cx);
            Self::carry_out(wanted.let_go, wanted.notices, cx);
        }
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= cx.now) {
            cx.forward(first.remove());
        }
        if self.timer > cx.now {
            return;
        }
        self.timer = Time::NEVER;
        if self.overrides(Hook::Timer) {
            let wanted = self.call(Hook::Timer, None, cx);
            Self::carry_out(wanted.let_go, wanted.notices, cx);
        }
    }

    fn next_wakeup(&self) -> Time {
        self.delayed.first_key_value().map_or(self.timer, |(key, _)| self.timer.min(key.0))
    }

    fn held(&self) -> usize {
        self.held + self.delayed.len()
    }
}
