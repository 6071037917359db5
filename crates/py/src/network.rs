//! Open network: Python sends its own packets through ports and receives them there.

use crate::simulation::Simulation;
use crate::{tables, NetworkError, Scenario};
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::spec::App;
use bentpipe_sim::{PortId, Refused};
use bentpipe_units::{Duration, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Network with a clock: the caller sends packets and advances the time.
#[pyclass(module = "bentpipe._core")]
pub(crate) struct Network {
    simulation: Simulation,
    /// Ports, by the index that Python uses: two of each flow.
    ports: Vec<PortId>,
    /// Name and nodes of each flow with ports.
    flows: Vec<(String, String, String)>,
}

/// Delivered packet: time and port of delivery, time of entry, bytes on the wire, whether it is marked, content.
type Delivered<'py> = (f64, usize, f64, u64, bool, Bound<'py, PyBytes>);

/// Lost packet: time of loss, port and time of entry, place, cause, bytes on the wire, content.
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

    /// Returns name and both nodes of each flow with ports. The first flow has ports 0 and 1, and so on.
    #[getter]
    fn flows(&self) -> Vec<(String, String, String)> {
        self.flows.clone()
    }

    fn inject(&mut self, at_s: f64, port: usize, size: u64, header_len: u8, data: &[u8]) -> PyResult<()> {
        let network = self.simulation.network_mut()?;
        let at = instant(at_s, network.now());
        network.inject(at, self.ports[port], size, header_len, data.into()).map_err(refused)
    }

    /// Continues to an instant, but handles at most about `events` events. Returns whether it reached the instant.
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

    /// Time of the next event. Infinite: there are no more events.
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

/// Returns the instant nearest to `s` seconds, or `known`, if that is `s` seconds as a float: after hours, a float does
/// not resolve a picosecond.
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
