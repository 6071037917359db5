//! Holds a simulation for Python: releases the GIL if possible, and turns failures into errors.

use crate::own::Trouble;
use crate::packet::Flows;
use crate::qlogs::Qlogs;
use crate::{scheduler, BentpipeError, RunError, Scenario};
use bentpipe_cc::CustomCc;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::middlebox::MiddleboxConfig;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::RealPackets;
use bentpipe_sim::{spec, Network};
use bentpipe_tcp::multi::OwnScheduler;
use bentpipe_tcp::Config;
use bentpipe_units::{Stream, Time};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// Simulation for one thread at a time.
pub(crate) struct Simulation {
    /// Network of the run. Absent after `finish`, and after a panic.
    network: Option<Network>,
    replay: Replay,
    /// Failures of Python classes. None without such classes.
    trouble: Option<Arc<Trouble>>,
    /// TCP settings of each flow with Python classes, which report to `trouble`.
    tcp: Vec<Option<Arc<Config>>>,
}

/// Facts for a bug report. A digest takes time, so it is computed only for a report.
#[derive(Clone)]
struct Replay {
    scenario: Arc<Py<Scenario>>,
    seed: u64,
    after: Option<Time>,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scenario {} with seed {}", self.scenario.get().known_digest(), self.seed)?;
        self.after.map_or(Ok(()), |after| write!(f, ", after {:.9} s", after.as_secs_f64()))
    }
}

/// Returns the scenario with the stack for its flows over QUIC.
fn with_quic(scenario: &Arc<spec::Scenario>, qlogs: Option<&Qlogs>) -> PyResult<Arc<spec::Scenario>> {
    if !scenario.needs_engines() {
        return match qlogs {
            Some(_) => Err(BentpipeError::new_err("no flow is over QUIC\n  expected a flow with quic for qlog files")),
            None => Ok(Arc::clone(scenario)),
        };
    }
    #[cfg(feature = "quic")]
    return Ok(Arc::new(scenario.with_engines(&match qlogs.cloned() {
        Some(qlogs) => bentpipe_quic::logged_engines(move |flow, ordinal, side| qlogs.open(flow, ordinal, side)),
        None => bentpipe_quic::engines(),
    })));
    #[cfg(not(feature = "quic"))]
    Err(RunError::new_err("flows of this scenario use QUIC, and this build has no QUIC\n  expected flows over TCP, or a build with the feature quic"))
}

impl Simulation {
    pub(crate) fn new(scenario: &Bound<'_, Scenario>, seed: Option<u64>) -> PyResult<Self> {
        Self::build(scenario, seed, None, None)
    }

    /// Builds a simulation whose middleboxes handle packets with bytes as `real` does, and with qlog files in `qlogs`.
    pub(crate) fn build(
        scenario: &Bound<'_, Scenario>,
        seed: Option<u64>,
        real: Option<&Arc<dyn RealPackets>>,
        qlogs: Option<&Qlogs>,
    ) -> PyResult<Self> {
        let build = |scenario: &Arc<spec::Scenario>, seed| match real {
            Some(real) => Network::build_real(scenario, seed, real),
            None => Network::build(scenario, seed),
        };
        let (py, held) = (scenario.py(), Arc::new(scenario.clone().unbind()));
        let scenario = scenario.get();
        let outside = &scenario.outside;
        let resolved = with_quic(&scenario.resolved.scenario, qlogs)?;
        let seed = seed.unwrap_or(resolved.seed);
        let replay = Replay { scenario: held, seed, after: None };
        let is_own = |middlebox: &MiddleboxConfig| matches!(middlebox, MiddleboxConfig::Own(_));
        if resolved.flows.iter().all(|flow| !flow.transport.is_own())
            && !resolved.nodes.iter().flat_map(|node| &node.middleboxes).any(is_own)
        {
            let network = guarded(py, &replay, || build(&resolved, seed))?;
            return Ok(Self { network: Some(network), replay, trouble: None, tcp: Vec::new() });
        }
        let (mut scenario, trouble) = (resolved.as_ref().clone(), Arc::new(Trouble::default()));
        for flow in &mut scenario.flows {
            let reporting = |own: &CustomCc, flow: &str| {
                let class = outside.classes.iter().find(|class| class.name() == own.name())?;
                Some(class.of_flow(own, flow, &trouble))
            };
            if let Some(own_cc) = flow.transport.own_cc().and_then(|own| reporting(own, &flow.name)) {
                if let Some(tcp) = flow.transport.tcp_mut() {
                    tcp.own_cc = Some(own_cc);
                }
            }
            let Some(multi) = flow.transport.multi_mut() else { continue };
            let lanes = &scenario.lanes[flow.lane.index()..][..multi.subflows.len()];
            for (subflow, lane) in multi.subflows.iter_mut().zip(lanes) {
                if let Some(own_cc) = subflow.tcp.own_cc.as_ref().and_then(|own| reporting(own, &lane.name)) {
                    Arc::make_mut(&mut subflow.tcp).own_cc = Some(own_cc);
                }
            }
            let class = |own: &OwnScheduler| {
                outside.scheduler_classes.iter().find(|class| class.name() == own.name()).map(Arc::clone)
            };
            if let Some((own, class)) =
                multi.config.own_scheduler.clone().and_then(|own| class(&own).map(|class| (own, class)))
            {
                let subflows = lanes.iter().map(|lane| PyString::new(py, lane.subflow()).unbind()).collect();
                let seed = Stream::new(seed, &flow.name, "own").at(0);
                let of = scheduler::Flow { name: flow.name.clone(), subflows, seed };
                Arc::make_mut(&mut multi.config).own_scheduler = Some(class.of_flow(&own, of, &trouble));
            }
        }
        let flows = Flows::of(py, &scenario);
        for id in NodeId::all(scenario.nodes.len()) {
            if !scenario.nodes[id].middleboxes.iter().any(|middlebox| matches!(middlebox, MiddleboxConfig::Own(_))) {
                continue;
            }
            let changes = scenario.changes_at(id).into();
            let node = &mut scenario.nodes[id];
            for middlebox in &mut node.middleboxes {
                let MiddleboxConfig::Own(own) = middlebox else { continue };
                if let Some(class) = outside.function_classes.iter().find(|class| class.name() == own.name) {
                    own.make = Some(class.at_node(&node.name, &flows, &changes, &trouble));
                }
            }
        }
        let tcp = scenario.flows.iter().map(|flow| flow.transport.tcp().cloned()).collect();
        let network = caught(&replay, || build(&Arc::new(scenario), seed))?;
        if let Some((error, _)) = trouble.raised(py, network.now()) {
            return Err(error);
        }
        Ok(Self { network: Some(network), replay, trouble: Some(trouble), tcp })
    }

    /// Returns the TCP settings of a flow for connections outside the network, with its Python class. None without a
    /// class, or without TCP.
    pub(crate) fn tcp(&self, flow: usize) -> Option<&Config> {
        self.tcp.get(flow)?.as_deref()
    }

    /// Takes up to `steps` steps of `run`, which receives the number of steps and returns whether it is done. Returns
    /// whether it is done.
    pub(crate) fn advance(
        &mut self,
        py: Python<'_>,
        steps: u64,
        mut run: impl FnMut(&mut Network, u64) -> bool + Send,
    ) -> PyResult<bool> {
        // Taken out, so that a network that panicked in an event is never used again.
        let mut network = self.network.take().ok_or_else(over)?;
        let replay = Replay { after: Some(network.now()), ..self.replay.clone() };
        let Some(trouble) = &self.trouble else {
            let (network, is_done) = guarded(py, &replay, move || {
                let is_done = run(&mut network, steps);
                (network, is_done)
            })?;
            self.network = Some(network);
            return Ok(is_done);
        };
        // Keeps the GIL, because each ACK or packet calls Python. The interpreter lends it to other threads.
        let is_done = caught(&replay, || (0..steps).any(|_| run(&mut network, 1) || trouble.is_there()))?;
        if let Some((error, is_kept)) = trouble.raised(py, network.now()) {
            // An interrupted hook cannot continue.
            network.interrupt();
            self.network = is_kept.then_some(network);
            return Err(error);
        }
        self.network = Some(network);
        Ok(is_done)
    }

    /// Returns the results up to now.
    pub(crate) fn so_far(&self, py: Python<'_>) -> PyResult<RunResult> {
        let network = self.network()?;
        // Keeps the GIL, because Python classes are copied.
        let result = caught(&self.replay, || network.so_far())?;
        if let Some((error, _)) = self.trouble.as_ref().and_then(|trouble| trouble.raised(py, network.now())) {
            // A class cannot be copied. The run continues without the copy.
            return Err(error);
        }
        result.map_err(|failure| RunError::new_err(format!("{failure}\n  {}", self.replay)))
    }

    pub(crate) fn finish(&mut self, py: Python<'_>) -> PyResult<RunResult> {
        let network = self.network.take().ok_or_else(over)?;
        let result = guarded(py, &self.replay, move || network.finish())?;
        result.map_err(|failure| RunError::new_err(format!("{failure}\n  {}", self.replay)))
    }

    pub(crate) fn network(&self) -> PyResult<&Network> {
        self.network.as_ref().ok_or_else(over)
    }

    pub(crate) fn network_mut(&mut self) -> PyResult<&mut Network> {
        self.network.as_mut().ok_or_else(over)
    }
}

/// Works without the GIL. A panic, always a bug in bentpipe, becomes an error that describes how to reproduce it.
fn guarded<T: Send>(py: Python<'_>, replay: &Replay, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| caught(replay, work))
}

/// Returns a panic as an error.
fn caught<T>(replay: &Replay, work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let what = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        RunError::new_err(format!("this is a bug in bentpipe, please report it: {what}\n  {replay}"))
    })
}

fn over() -> PyErr {
    RunError::new_err("this run has ended; run the scenario again")
}
