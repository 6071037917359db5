//! Python interface of the core: converts values, releases the GIL, maps errors.
//!
//! `python/bentpipe` documents the meaning; the stubs are in `python/bentpipe/_core.pyi`.

mod captures;
mod controller;
mod custom;
mod drill;
#[cfg(target_os = "linux")]
mod emulation;
mod facts;
mod function;
mod inherited;
mod inside;
mod network;
mod own;
mod packet;
mod qlogs;
mod scheduler;
mod simulation;
mod sky;
mod tables;
mod values;
#[cfg(all(target_os = "linux", feature = "tls"))]
mod wire;

use bentpipe_sim::middlebox::OwnConfig;
use bentpipe_sim::scenario::{self, Files, Folder, NoFiles, Problems, Resolved, Sender};
use bentpipe_tcp::multi::OwnScheduler;
use custom::Class;
use function::FunctionClass;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use qlogs::Qlogs;
use scheduler::{Chooser, SchedulerClass};
use simulation::Simulation;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

pyo3::import_exception!(bentpipe.errors, BentpipeError);
#[cfg(target_os = "linux")]
pyo3::import_exception!(bentpipe.errors, EmulationError);
pyo3::import_exception!(bentpipe.errors, NetworkError);
pyo3::import_exception!(bentpipe.errors, RunError);
pyo3::import_exception!(bentpipe.errors, SenderError);

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::controller::Controller;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::drill::kernel_drill;
    #[pymodule_export]
    use super::drill::{conformance_scripts, drill};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::emulation::{end_with_parent, isolate, simulated_cc, walls, Emulation};
    #[pymodule_export]
    use super::facts::{Ack, Delivery, Init, Path, Why};
    #[pymodule_export]
    use super::function::Function;
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::packet::{PacketSender, View};
    #[pymodule_export]
    use super::scheduler::{Chooser, Repeat, Subflow, View as SchedulerView};
    #[pymodule_export]
    use super::sky::{cities, city, constellations, modcods, PyMatrix, PySky};
    #[cfg(all(target_os = "linux", feature = "tls"))]
    #[pymodule_export]
    use super::wire::{check_quic, QuicHost};
    #[pymodule_export]
    use super::{build_info, choices, dictionary, hooks, quantity, schema, Run, Scenario};
    #[pymodule_export]
    const RESULTS: u32 = bentpipe_sim::RESULTS;
}

/// Number of progress reports of a long reading.
const LOOKS: f64 = 500.0;

/// Checked scenario with every default filled in.
#[pyclass(frozen, module = "bentpipe._core")]
struct Scenario {
    resolved: Resolved,
    /// Computed on first use: it takes longer than to build the network.
    digest: OnceLock<String>,
    duration_s: f64,
    /// External parts of the scenario.
    outside: Outside,
}

impl Scenario {
    fn new(py: Python<'_>, resolved: Result<Resolved, Problems>, outside: Outside) -> PyResult<Self> {
        let resolved = resolved.map_err(|problems| tables::scenario_error(py, &problems))?;
        let duration_s = resolved.scenario.duration.as_secs_f64();
        Ok(Self { resolved, digest: OnceLock::new(), duration_s, outside })
    }

    fn known_digest(&self) -> &str {
        self.digest.get_or_init(|| self.resolved.digest())
    }
}

/// Name, code, base and Python class. The base is the registered congestion control that the class extends; middleboxes
/// and schedulers have none.
type Given<'py> = (String, String, Option<String>, Bound<'py, PyAny>);

/// External parts of a scenario: files in its folder, if it has one, and Python classes.
#[derive(Clone)]
struct Outside {
    folder: Option<PathBuf>,
    classes: Vec<Arc<Class>>,
    senders: Vec<Sender>,
    function_classes: Vec<Arc<FunctionClass>>,
    functions: Vec<OwnConfig>,
    scheduler_classes: Vec<Arc<SchedulerClass>>,
    schedulers: Vec<OwnScheduler>,
}

impl Outside {
    fn new(folder: Option<PathBuf>, given: Vec<Given<'_>>) -> PyResult<Self> {
        let (mut classes, mut function_classes, mut scheduler_classes) = (Vec::new(), Vec::new(), Vec::new());
        for (name, code, like, class) in given {
            let is_scheduler = class.cast::<PyType>()?.is_subclass_of::<Chooser>()?;
            match like {
                Some(like) => classes.push(Arc::new(Class::new(&class, name, code, &like)?)),
                None if is_scheduler => {
                    scheduler_classes.push(Arc::new(SchedulerClass::new(&class, name, code)?));
                }
                None => function_classes.push(Arc::new(FunctionClass::new(&class, name, code)?)),
            }
        }
        let senders = classes.iter().map(Class::sender).collect();
        let functions = function_classes.iter().map(|class| class.config()).collect();
        let schedulers = scheduler_classes.iter().map(SchedulerClass::scheduler).collect();
        Ok(Self { folder, classes, senders, function_classes, functions, scheduler_classes, schedulers })
    }
}

impl Files for Outside {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        match &self.folder {
            Some(folder) => Folder(folder.clone()).read(name),
            None => NoFiles.read(name),
        }
    }

    fn senders(&self) -> &[Sender] {
        &self.senders
    }

    fn functions(&self) -> &[OwnConfig] {
        &self.functions
    }

    fn schedulers(&self) -> &[OwnScheduler] {
        &self.schedulers
    }
}

/// External parts of a scenario while it is read. Regularly checks for Ctrl-C and reports progress.
struct Reading<'a, 'py> {
    py: Python<'py>,
    outside: &'a Outside,
    reached: Option<Bound<'py, PyAny>>,
    raised: RefCell<Option<PyErr>>,
    next: Cell<f64>,
}

impl<'a, 'py> Reading<'a, 'py> {
    fn new(py: Python<'py>, outside: &'a Outside, reached: Option<Bound<'py, PyAny>>) -> Self {
        Self { py, outside, reached, raised: RefCell::default(), next: Cell::new(0.0) }
    }

    /// Returns the result, unless the user interrupted the reading.
    fn end<T>(self, read: T) -> PyResult<T> {
        self.raised.into_inner().map_or(Ok(read), Err)
    }
}

impl Files for Reading<'_, '_> {
    fn read(&self, name: &str) -> Result<Vec<u8>, (String, String)> {
        self.outside.read(name)
    }

    fn go_on(&self, share: f64) -> bool {
        if share < self.next.get() {
            return true;
        }
        self.next.set(share + 1.0 / LOOKS);
        let told = self.py.check_signals().and_then(|()| match &self.reached {
            Some(reached) => reached.call1((share,)).map(drop),
            None => Ok(()),
        });
        told.map_err(|error| self.raised.replace(Some(error))).is_ok()
    }

    fn senders(&self) -> &[Sender] {
        self.outside.senders()
    }

    fn functions(&self) -> &[OwnConfig] {
        self.outside.functions()
    }

    fn schedulers(&self) -> &[OwnScheduler] {
        self.outside.schedulers()
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, source, sets, folder=None, senders=Vec::new(), reached=None))]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        source: &str,
        sets: Vec<(String, String)>,
        folder: Option<PathBuf>,
        senders: Vec<Given<'_>>,
        reached: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let outside = Outside::new(folder, senders)?;
        let reading = Reading::new(py, &outside, reached);
        let read = scenario::from_toml_with(text, source, &sets, &reading);
        Self::new(py, reading.end(read)?, outside)
    }

    #[staticmethod]
    #[pyo3(signature = (text, source, sets, folder=None, senders=Vec::new(), reached=None))]
    fn from_json(
        py: Python<'_>,
        text: &str,
        source: &str,
        sets: Vec<(String, String)>,
        folder: Option<PathBuf>,
        senders: Vec<Given<'_>>,
        reached: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let outside = Outside::new(folder, senders)?;
        let reading = Reading::new(py, &outside, reached);
        let read = scenario::from_json_with(text, source, &sets, &reading);
        Self::new(py, reading.end(read)?, outside)
    }

    fn to_toml(&self) -> String {
        self.resolved.to_toml().to_string()
    }

    fn to_json(&self) -> String {
        self.resolved.to_json().to_string()
    }

    /// Returns nodes, links and flows as JSON.
    fn network(&self) -> String {
        scenario::network(&self.resolved.scenario).to_string()
    }

    /// Returns the names of the cases, in the order of the file.
    fn cases(&self) -> Vec<String> {
        self.resolved.cases.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns the keys that replace a key without an effect.
    fn acting(&self, key: &str) -> Vec<String> {
        self.resolved.acting(key)
    }

    /// Returns the sweep as JSON, or none for a case or a point.
    fn sweep(&self) -> Option<String> {
        self.resolved.sweep.as_ref().map(|sweep| tables::sweep(sweep).to_string())
    }

    /// Returns a case, with overrides.
    fn case(&self, py: Python<'_>, name: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        let sweep = self
            .resolved
            .sweep
            .as_ref()
            .ok_or_else(|| PyKeyError::new_err("a case has no cases; expected the scenario"))?;
        Self::new(py, sweep.case(name, &sets, &self.outside), self.outside.clone())
    }

    /// Returns the search as JSON, or none for a case or a point.
    fn tune(&self) -> Option<String> {
        self.resolved.tune.as_ref().map(|tune| tables::tune(tune).to_string())
    }

    /// Returns the scenario in a condition of its search, with overrides.
    fn under(&self, py: Python<'_>, condition: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        let tune = self.resolved.tune.as_ref();
        let read = py.detach(|| tune.and_then(|tune| tune.under(condition, &sets, &self.outside)));
        let read = read.ok_or_else(|| PyKeyError::new_err("unknown condition; expected one of the search"))?;
        Self::new(py, read, self.outside.clone())
    }

    /// Returns a point of the sweep, given as a position on each axis.
    fn point(&self, py: Python<'_>, positions: Vec<usize>) -> PyResult<Self> {
        let axes = self.resolved.sweep.as_ref().map_or(&[][..], |sweep| &sweep.axes);
        let is_there = positions.len() == axes.len() && axes.iter().zip(&positions).all(|(axis, &at)| at < axis.len());
        let sweep = self.resolved.sweep.as_ref().filter(|_| is_there);
        let sweep = sweep
            .ok_or_else(|| PyIndexError::new_err("the sweep has no such point; expected a position on each axis"))?;
        let point = py.detach(|| sweep.point(&positions, &self.outside));
        Self::new(py, point, self.outside.clone())
    }

    #[getter]
    fn title(&self) -> &str {
        &self.resolved.scenario.title
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.resolved.scenario.seed
    }

    #[getter]
    fn digest(&self) -> &str {
        self.known_digest()
    }

    /// Returns notes, which are in the tables of a run, too, then hints.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let scenario = &self.resolved.scenario;
        [scenario.notes(), scenario.hints()].concat()
    }

    /// Returns notes and hints as problems.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        tables::problems(py, &self.resolved.warnings(), "warning")
    }

    /// Returns constellations, places and paths of the sky, computed again, or none without a sky.
    #[pyo3(signature = (reached=None))]
    fn sky<'py>(&self, py: Python<'py>, reached: Option<Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let reading = Reading::new(py, &self.outside, reached);
        let found = self.resolved.look_at_sky(&reading);
        reading.end(found)?.map(|found| sky::of_run(py, found)).transpose()
    }

    /// Events and bytes of a run, at most.
    #[getter]
    fn cost(&self) -> (f64, f64) {
        (self.resolved.cost.events, self.resolved.cost.memory)
    }

    /// Whether the scenario has a sky.
    #[getter]
    fn has_sky(&self) -> bool {
        self.resolved.has_sky()
    }

    /// Whether each replication has its own day of the sky.
    #[getter]
    fn has_days(&self) -> bool {
        self.resolved.has_days()
    }

    /// Returns the scenario on a day of the sky, if the file does not fix the day.
    fn on_day(&self, py: Python<'_>, day: u64) -> PyResult<Self> {
        let found = py.detach(|| self.resolved.on_day(day, &self.outside));
        let found = found
            .ok_or_else(|| PyKeyError::new_err("the scenario has no days of the sky; expected a [sky] without day"))?;
        Self::new(py, found, self.outside.clone())
    }

    /// Reach of the seed: only the `timing` of hosts, also draws of `custom` classes, or more (`drawn`).
    #[getter]
    fn randomness(&self) -> &'static str {
        self.resolved.scenario.randomness().name()
    }

    /// Returns the application kind of each flow, in the order of their names.
    #[getter]
    fn flow_kinds(&self) -> Vec<&str> {
        self.resolved.scenario.flows.iter().map(|flow| flow.app.kind()).collect()
    }

    #[getter]
    fn hosts(&self) -> Vec<(String, Vec<&str>)> {
        self.resolved.scenario.hosts()
    }

    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        self.resolved.scenario.flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    #[getter]
    fn subflow_names(&self) -> Vec<&str> {
        let named = self.resolved.scenario.lanes.iter().filter(|lane| !lane.name.is_empty());
        named.map(|lane| lane.name.as_str()).collect()
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.resolved.scenario.links.iter().map(|link| link.name.as_str()).collect()
    }
}

/// Simulation in progress.
#[pyclass(module = "bentpipe._core")]
struct Run {
    simulation: Simulation,
    is_done: bool,
    captures: Option<captures::Simulated>,
    qlogs: Option<Qlogs>,
}

#[pymethods]
impl Run {
    #[new]
    /// Makes a run. `pcap` is a file name with `HOST`, and `qlog` a folder.
    #[pyo3(signature = (scenario, seed=None, pcap=None, qlog=None))]
    fn new(
        scenario: &Bound<'_, Scenario>,
        seed: Option<u64>,
        pcap: Option<&str>,
        qlog: Option<PathBuf>,
    ) -> PyResult<Self> {
        let qlogs = qlog.map(Qlogs::new);
        let mut simulation = Simulation::build(scenario, seed, None, qlogs.as_ref())?;
        let captures =
            pcap.map(|pattern| captures::simulated(pattern, &scenario.get().resolved.scenario)).transpose()?;
        if let Some(captures) = &captures {
            simulation.network_mut()?.watch(Box::new(captures.clone()));
        }
        Ok(Self { simulation, is_done: false, captures, qlogs })
    }

    fn advance(&mut self, py: Python<'_>, events: u64) -> PyResult<()> {
        self.is_done = self.simulation.advance(py, events, bentpipe_sim::Network::run)?;
        Ok(())
    }

    fn interrupt(&mut self) -> PyResult<()> {
        self.simulation.network_mut()?.interrupt();
        self.is_done = true;
        Ok(())
    }

    /// Returns the tables up to now. The run does not change.
    fn so_far<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        tables::result(py, &self.simulation.so_far(py)?)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(captures) = self.captures.take() {
            captures.finish()?;
        }
        let mut result = self.simulation.finish(py)?;
        if let Some(qlogs) = &self.qlogs {
            qlogs.check()?;
            result.notes.extend(qlogs.note());
        }
        tables::result(py, &result)
    }

    #[getter]
    fn is_done(&self) -> bool {
        self.is_done
    }

    #[getter]
    fn progress(&self) -> PyResult<f64> {
        Ok(self.simulation.network()?.progress())
    }

    #[getter]
    fn simulated_s(&self) -> PyResult<f64> {
        Ok(self.simulation.network()?.now().as_secs_f64())
    }
}

/// Returns the JSON Schema of the scenario file.
#[pyfunction]
fn schema() -> String {
    scenario::schema().to_string()
}

/// Returns a string as a number and its unit, or none if it is not a quantity.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, String)> {
    bentpipe_units::quantity::any(text)
}

/// Returns the named choices of a scenario as JSON.
#[pyfunction]
fn choices() -> String {
    tables::choices().to_string()
}

/// Returns every column and series with unit and meaning, as JSON.
#[pyfunction]
fn dictionary() -> String {
    bentpipe_sim::dictionary::to_json().to_string()
}

/// Returns the hooks that a class may override: those of congestion controls, of middleboxes and of schedulers.
#[pyfunction]
fn hooks() -> (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>) {
    (custom::HOOKS.to_vec(), function::HOOKS.to_vec(), scheduler::HOOKS.to_vec())
}

/// Returns version and build profile of this module.
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    Ok(info)
}
