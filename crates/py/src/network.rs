//! The open network: packets of Python's own enter by ports and are taken out there.

use crate::simulation::Simulation;
use crate::{tables, NetworkError, Scenario};
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::spec::App;
use bentpipe_sim::{PortId, Refused};
use bentpipe_units::{Duration, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A network that lives in time: one may put packets into it, and says how far time goes.
#[pyclass(module = "bentpipe._core")]
pub(crate) struct Network {
    simulation: Simulation,
    /// Python knows them by their places here: two of each flow.
    ports: Vec<PortId>,
    /// Name and nodes of each flow that has ports.
    flows: Vec<(String, String, String)>,
}

/// A packet that left: when, where, when it entered, bytes on the wire, whether it is marked, what it was given with.
type Delivered<'py> = (f64, usize, f64, u64, bool, Bound<'py, PyBytes>);

/// A packet that was lost: when, where and when it entered, the place, the cause, bytes on the wire, its content.
type Lost<'py> = (f64, usize, f64, String, &'static str, u64, Bound<'py, PyBytes>);

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (scenario, seed=None))]
    fn new(scenario: &Bound<'_, Scenario>, seed: Option<u64>) -> PyResult<Self> {
        let simulation = Simulation::new(scenario, seed)?;
        let scenario = &scenario.get().resolved.scenario;
        let (mut ports, mut flows) = (Vec::new(), Vec::new());
        for flow in scenario.flows.iter().filter(|flow| *flow.app == App::Port) {
            ports.extend(simulation.network()?.ports(&flow.name).map_err(refused)?);
            let node = |node: NodeId| scenario.nodes[node].name.clone();
            flows.push((flow.name.clone(), node(flow.from), node(flow.to)));
        }
        Ok(Self { simulation, ports, flows })
    }

    /// Name and both nodes of each flow that has ports. Of the first they are ports 0 and 1, and so on.
    #[getter]
    fn flows(&self) -> Vec<(String, String, String)> {
        self.flows.clone()
    }

    fn inject(&mut self, at_s: f64, port: usize, size: u64, header_len: u8, data: &[u8]) -> PyResult<()> {
        let network = self.simulation.network_mut()?;
        let at = instant(at_s, network.now());
        network.inject(at, self.ports[port], size, header_len, data.into()).map_err(refused)
    }

    /// Go on to an instant, but handle no more than about `events` events; whether it was reached.
    fn run_until(&mut self, py: Python<'_>, until_s: f64, events: u64) -> PyResult<bool> {
        let until = instant(until_s, self.simulation.network()?.next_wakeup());
        self.simulation.advance(py, events, move |network, events| {
            for _ in 0..events {
                let next = network.next_wakeup();
                if next >= until {
                    network.run_until(until);
                    return true;
                }
                network.run_until(next);
            }
            false
        })
    }

    fn drain<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Delivered<'py>>> {
        let packets = self.simulation.network_mut()?.drain().into_iter();
        Ok(packets
            .map(|packet| {
                let (at_s, entered_s) = (packet.at.as_secs_f64(), packet.entered.as_secs_f64());
                let data = PyBytes::new(py, &packet.bytes);
                (at_s, self.place(packet.port), entered_s, packet.size, packet.is_marked, data)
            })
            .collect())
    }

    fn drain_lost<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Lost<'py>>> {
        let packets = self.simulation.network_mut()?.drain_lost().into_iter();
        Ok(packets
            .map(|packet| {
                let (at_s, entered_s) = (packet.at.as_secs_f64(), packet.entered.as_secs_f64());
                let data = PyBytes::new(py, &packet.bytes);
                (at_s, self.place(packet.port), entered_s, packet.place, packet.cause.name(), packet.size, data)
            })
            .collect())
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        tables::result(py, &self.simulation.finish(py)?)
    }

    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        Ok(self.simulation.network()?.now().as_secs_f64())
    }

    /// Infinite: nothing happens any more.
    #[getter]
    fn next_wakeup_s(&self) -> PyResult<f64> {
        let next = self.simulation.network()?.next_wakeup();
        Ok(if next == Time::NEVER { f64::INFINITY } else { next.as_secs_f64() })
    }
}

impl Network {
    fn place(&self, port: PortId) -> usize {
        self.ports.iter().position(|&own| own == port).unwrap_or_default()
    }
}

/// The instant nearest to `s` seconds; or `known`, if that is `s` seconds as a float shows it:
/// a float has not every picosecond after hours.
fn instant(s: f64, known: Time) -> Time {
    if known.as_secs_f64() == s {
        known
    } else {
        Time::ZERO + Duration::from_secs_f64(s)
    }
}

fn refused(why: Refused) -> PyErr {
    let hint = if matches!(why, Refused::Past { .. }) { "\n  expected net.now_s or later" } else { "" };
    NetworkError::new_err(format!("{why}{hint}"))
}
