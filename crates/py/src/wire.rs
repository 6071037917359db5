//! QUIC on the wire: a host of bentpipe's QUIC at a socket of this process.

use crate::emulation::open_service;
use crate::qlogs::Qlogs;
use crate::{EmulationError, Scenario};
use bentpipe_io::quic::{QuicReport, QuicSpeaker};
use bentpipe_io::udp::UdpHost;
use bentpipe_quic::{check_on_the_wire, Clock};
use bentpipe_sim::spec::Quic;
use bentpipe_units::Duration;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Bentpipe's QUIC at a socket.
#[pyclass(module = "bentpipe._core")]
pub(crate) struct QuicHost {
    host: UdpHost,
    qlogs: Option<Qlogs>,
}

/// Returns the first flow over QUIC: its name and settings.
fn settings(scenario: &Bound<'_, Scenario>) -> PyResult<(String, Quic)> {
    let flows = &scenario.get().resolved.scenario.flows;
    let found = flows.iter().find_map(|flow| Some((flow.name.clone(), flow.transport.quic()?.as_ref().clone())));
    let found = found.ok_or_else(|| EmulationError::new_err("no flow is over QUIC\n  expected a flow with quic"))?;
    check_on_the_wire(&found.1).map_err(EmulationError::new_err)?;
    Ok(found)
}

/// Refuses a scenario whose settings of QUIC no end on the wire has.
#[pyfunction]
pub(crate) fn check_quic(scenario: &Bound<'_, Scenario>) -> PyResult<()> {
    settings(scenario).map(|_| ())
}

#[pymethods]
impl QuicHost {
    /// Binds a host with the settings of the first flow over QUIC. `service` is as for `Emulation.speak`. It listens at `port`, or
    /// connects to the address `peer` and this port, and begins with `request` if the service sends nothing. `qlog` is a folder.
    #[new]
    #[pyo3(signature = (scenario, service, file, port, peer, request, secret, qlog=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        scenario: &Bound<'_, Scenario>,
        service: &str,
        file: Option<&str>,
        port: u16,
        peer: Option<&str>,
        request: &str,
        secret: u64,
        qlog: Option<PathBuf>,
    ) -> PyResult<Self> {
        let (flow, quic) = settings(scenario)?;
        let service = open_service(service, file)?;
        let peer = peer.map(|peer| peer.parse::<IpAddr>());
        let peer = peer.transpose().map_err(|error| EmulationError::new_err(format!("peer: {error}")))?;
        let own = match peer {
            None => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
            Some(IpAddr::V4(_)) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
            Some(IpAddr::V6(_)) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
        };
        let clock = Clock::new();
        let mut speaker = QuicSpeaker::new(quic, clock, service, peer.is_none(), secret);
        let qlogs = qlog.map(Qlogs::new);
        if let Some(qlogs) = qlogs.clone() {
            let name = flow.clone();
            speaker = speaker.with_qlog(&flow, move |ordinal, is_client| {
                qlogs.open(&name, ordinal, if is_client { "client" } else { "server" })
            });
        }
        let mut host = UdpHost::bind(own, clock, speaker)
            .map_err(|error| EmulationError::new_err(format!("port {port} of UDP: {error}\n  expected a free port")))?;
        if let Some(peer) = peer {
            host.connect(SocketAddr::new(peer, port), request)?;
        }
        Ok(Self { host, qlogs })
    }

    /// Receives and sends for `slice_s` seconds. Returns the number of connections, and of those that are closed.
    fn run(&mut self, py: Python<'_>, slice_s: f64) -> PyResult<(usize, usize)> {
        let host = &mut self.host;
        py.detach(|| host.run(Duration::from_secs_f64(slice_s)))?;
        let closed = self.host.reports().filter(|report| report.is_closed).count();
        Ok((self.host.reports().count(), closed))
    }

    /// Closes all connections. The next `run` sends the last datagrams.
    fn close(&mut self) {
        self.host.close();
    }

    /// Returns notes on the qlog files: the first failure, and missing files.
    fn notes(&self) -> Vec<String> {
        let of = |qlogs: &Qlogs| [qlogs.trouble(), qlogs.note()];
        self.qlogs.iter().flat_map(of).flatten().collect()
    }

    /// Returns the connections: one column per fact.
    fn reports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (all, about) = (self.host.reports().collect::<Vec<_>>(), PyDict::new(py));
        let port = self.host.port()?;
        about
            .set_item("peer", all.iter().map(|each| each.remote.ip().to_canonical().to_string()).collect::<Vec<_>>())?;
        about.set_item("peer_port", all.iter().map(|each| each.remote.port()).collect::<Vec<_>>())?;
        about.set_item("port", vec![port; all.len()])?;
        about.set_item("cc", all.iter().map(|each| each.cc.as_str()).collect::<Vec<_>>())?;
        let state = |each: &QuicReport| match (each.is_closed, each.handshake) {
            (true, _) => "closed",
            (false, Some(_)) => "established",
            (false, None) => "handshake",
        };
        about.set_item("state", all.iter().map(state).collect::<Vec<_>>())?;
        about.set_item("aborted", all.iter().map(|each| each.failure.is_some()).collect::<Vec<_>>())?;
        about.set_item("failure", all.iter().map(|each| each.failure.as_deref()).collect::<Vec<_>>())?;
        let time = |name: &str, value: fn(&QuicReport) -> Option<Duration>| {
            about.set_item(name, all.iter().map(|each| value(each).map(Duration::as_secs_f64)).collect::<Vec<_>>())
        };
        time("handshake_s", |each| each.handshake)?;
        time("first_byte_s", |each| each.first_byte)?;
        time("done_s", |each| each.done)?;
        let count =
            |name: &str, value: fn(&QuicReport) -> u64| about.set_item(name, all.iter().map(value).collect::<Vec<_>>());
        count("acked_bytes", |each| each.counters.acked_bytes)?;
        count("received_bytes", |each| each.counters.read_bytes)?;
        count("sent_datagrams", |each| each.counters.sent_datagrams)?;
        count("retransmissions", |each| each.counters.declared_lost)?;
        count("reductions", |each| each.counters.reductions)?;
        count("acks", |each| each.counters.acks)?;
        count("cwnd_bytes", |each| each.state.cwnd)?;
        Ok(about)
    }
}
