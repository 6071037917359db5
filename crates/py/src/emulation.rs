//! Emulation: Linux hosts around a network in real time. Python assigns processes to hosts.

use crate::captures;
use crate::simulation::Simulation;
use crate::{tables, EmulationError, Scenario};
use bentpipe_io::behind::Behind;
use bentpipe_io::device::{Backend, Offload, Wanted};
use bentpipe_io::driver::{Driver, Pause, Sample, Way};
use bentpipe_io::host::{self, Host, NotAllowed, Processes, WALLS};
use bentpipe_io::mptcp::{Endpoint, MultiConnection};
use bentpipe_io::netlink::Beginning;
use bentpipe_io::pcapng::Captures;
use bentpipe_io::proxy::Functions;
use bentpipe_io::speaker::{Report, Service, Speaker};
use bentpipe_sim::ids::{NodeId, PathId};
use bentpipe_sim::spec::{self, App, Flow};
use bentpipe_sim::{PortId, RealPackets};
use bentpipe_tcp::Config;
use bentpipe_units::Duration;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Largest packet of a host in bytes.
const MTU: u16 = 1500;
/// Port of a connection that bentpipe's TCP opens.
const OWN_PORT: u16 = 49_152;
/// Number of hosts: addresses of the network 10.77.0.0/24. Those of a further path are in the next networks.
const HOSTS_MAX: usize = 254;

pub(crate) fn not_allowed(refused: NotAllowed) -> PyErr {
    EmulationError::new_err(format!("this system does not allow {}: {}", refused.step, refused.error))
}

fn no_congestion_control(name: &str, error: &std::io::Error) -> PyErr {
    let known = host::congestion_controls().join(", ");
    EmulationError::new_err(format!(
        "cc: {name:?} is not a congestion control of this kernel ({error})\n  expected one of {known}"
    ))
}

/// Returns bentpipe's name of a congestion control of the kernel.
#[pyfunction]
pub(crate) fn simulated_cc(name: &str) -> &str {
    host::simulated_cc(name)
}

/// Ends this process when its parent ends. Returns whether the parent, given by its id, still exists.
#[pyfunction]
#[pyo3(signature = (parent=None))]
pub(crate) fn end_with_parent(parent: Option<u32>) -> PyResult<bool> {
    Ok(host::end_with_parent(parent)?)
}

/// Takes real-time priority if permitted, and leaves the namespaces of the machine. Returns whether it has priority.
#[pyfunction]
pub(crate) fn isolate() -> PyResult<bool> {
    // Before `isolate`: a user namespace forbids it.
    let has_priority = host::take_priority();
    host::isolate().map_err(not_allowed)?;
    Ok(has_priority)
}

/// Returns the walls around programs that a system may lack, in order.
#[pyfunction]
pub(crate) fn walls() -> Vec<&'static str> {
    WALLS.to_vec()
}

/// Hosts, and the network between them.
#[pyclass(module = "bentpipe._core")]
pub(crate) struct Emulation {
    simulation: Simulation,
    driver: Driver,
    names: Vec<String>,
    /// Settings of bentpipe's TCP at each host: those of the host's first flow.
    configs: Vec<Config>,
    /// Flows of real packets, with their ports.
    ports: Vec<(String, [PortId; 2])>,
    /// Names of all nodes.
    nodes: Vec<String>,
    functions: Arc<Functions>,
    /// Middleboxes that pass real packets unchanged, by node.
    passed: Vec<(String, &'static str)>,
    /// Host with bentpipe's TCP.
    own: Option<usize>,
    /// Process namespace of the programs.
    processes: Option<Processes>,
}

/// Returns the nodes on the routes of real packets with the middleboxes that pass these unchanged.
fn passed(scenario: &spec::Scenario) -> Vec<(String, &'static str)> {
    let ports = scenario.flows.iter().filter(|flow| *flow.app == App::Port);
    let mut met = BTreeSet::new();
    for flow in ports {
        met.extend([flow.from, flow.to]);
        let links = PathId::both(flow.lane).into_iter().flat_map(|path| scenario.first_route(path));
        met.extend(links.map(|&link| scenario.links[link].to));
    }
    let functions = met.into_iter().flat_map(|node| {
        let node = &scenario.nodes[node];
        node.middleboxes.iter().map(|function| (node.name.clone(), function))
    });
    functions.filter(|(_, function)| Functions::lets_pass(function)).map(|(node, each)| (node, each.name())).collect()
}

/// Returns the address of a host on a further path, from 1.
fn address_on(path: usize, at: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, path as u8, at as u8 + 1)
}

fn address(at: usize) -> (Ipv4Addr, Ipv6Addr) {
    let number = at as u8 + 1;
    (Ipv4Addr::new(10, 77, 0, number), Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, number.into()))
}

#[pymethods]
impl Emulation {
    /// Makes a host for each node with a port. `pcap` is a file name with `{host}` and the number of bytes to keep of a
    /// packet. `backend` is `auto`, `tun` or `packet`, `offload` is `auto`, `off` or `on`. `paths` are flows of real packets
    /// that are paths of one connection, the first of them that of its first subflow.
    #[new]
    #[pyo3(signature = (scenario, pcap=None, cc=None, backend="auto", offload="auto", initial_window=None, paths=vec![]))]
    #[expect(clippy::needless_pass_by_value, reason = "those of Python")]
    fn new(
        scenario: &Bound<'_, Scenario>,
        pcap: Option<(String, Option<usize>)>,
        cc: Option<&str>,
        backend: &str,
        offload: &str,
        initial_window: Option<u32>,
        paths: Vec<String>,
    ) -> PyResult<Self> {
        let backend = match backend {
            "tun" => Backend::Tun,
            "packet" => Backend::Packet,
            _ => Backend::Auto,
        };
        let offload = match offload {
            "on" => Offload::On,
            "off" => Offload::Off,
            _ => Offload::Auto,
        };
        let functions = Functions::new(MTU);
        let real: Arc<dyn RealPackets> = functions.clone();
        let simulation = Simulation::build(scenario, None, Some(&real), None)?;
        let scenario = &scenario.get().resolved.scenario;
        let name = |node: NodeId| scenario.nodes[node].name.as_str();
        let flows = || scenario.flows.iter().filter(|flow| *flow.app == App::Port);
        let names: BTreeSet<&str> = flows().flat_map(|flow| [name(flow.from), name(flow.to)]).collect();
        let names: Vec<String> = names.into_iter().map(String::from).collect();
        if names.len() > HOSTS_MAX {
            return Err(EmulationError::new_err(format!("{} hosts, expected at most {HOSTS_MAX}", names.len())));
        }
        let (mut ways, mut ports) = (Vec::new(), Vec::new());
        let path_of = |flow: &&Flow| paths.iter().position(|path| *path == flow.name).unwrap_or(0);
        // Ways of further paths come first.
        let mut in_order: Vec<&Flow> = flows().collect();
        in_order.sort_by_key(|flow| Reverse(path_of(flow)));
        for flow in in_order {
            let both = simulation
                .network()?
                .ports(&flow.name)
                .map_err(|refused| EmulationError::new_err(refused.to_string()))?;
            let ends = [flow.from, flow.to].map(|node| names.partition_point(|known| known.as_str() < name(node)));
            for (port, host, peer) in [(both[0], ends[0], ends[1]), (both[1], ends[1], ends[0])] {
                let (to, own): ([IpAddr; 2], _) = match path_of(&flow) {
                    0 => ([address(peer).0.into(), address(peer).1.into()], None),
                    path => ([address_on(path, peer).into(); 2], Some(address_on(path, host).into())),
                };
                ways.push(Way { host, peer, to, own, port });
            }
            ports.push((flow.name.clone(), both));
        }
        let config_at = |host: &String| {
            let is_at_host = |flow: &Flow| [flow.from, flow.to].iter().any(|&end| name(end) == host);
            let flow = scenario.flows.iter().position(|flow| *flow.app == App::Port && is_at_host(flow))?;
            simulation.tcp(flow).or(scenario.flows[flow].transport.tcp().map(Arc::as_ref)).cloned()
        };
        let configs: Vec<Config> = names.iter().filter_map(config_at).collect();
        let mut table = "127.0.0.1 localhost\n::1 localhost\n".to_string();
        for (at, name) in names.iter().enumerate() {
            let (v4, v6) = address(at);
            table += &format!("{v4} {name}\n{v6} {name}\n");
        }
        let (pattern, kept) = pcap.unzip();
        let captures =
            pattern.map(|pattern| captures::of_hosts(&pattern, &names, &scenario.title, Behind::new)).transpose()?;
        let captures = captures.map(|hosts| Captures::new(hosts).keeping(kept.flatten().unwrap_or(usize::MAX)));
        host::mount_names(&table).map_err(not_allowed)?;
        let wanted = Wanted { mtu: MTU, backend, offload };
        let make = |at| Host::with(address(at).0, address(at).1, &wanted);
        let mut hosts: Vec<Host> = (0..names.len()).map(make).collect::<Result<_, _>>().map_err(not_allowed)?;
        for path in 1..paths.len() {
            let mut all = hosts.iter_mut().enumerate();
            all.try_for_each(|(at, host)| host.add_address(address_on(path, at))).map_err(not_allowed)?;
        }
        let mut with_configs = hosts.iter().zip(&configs);
        with_configs.try_for_each(|(host, config)| host.set_buffers(config)).map_err(not_allowed)?;
        if cc.is_some() || initial_window.is_some() {
            let beginning = || Beginning { cc: cc.map(host::kernel_cc), initial_window };
            let set = hosts.iter().try_for_each(|host| host.set_beginning(beginning()));
            set.map_err(|error| no_congestion_control(cc.unwrap_or_default(), &error))?;
        }
        let nodes = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        let passed = passed(scenario);
        let driver = Driver::new(hosts, ways, captures);
        Ok(Self { simulation, driver, names, configs, ports, nodes, functions, passed, own: None, processes: None })
    }

    /// Lets the kernel's Multipath TCP open a subflow for each further path, from the addresses of a host. The paths are
    /// backups or not.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python")]
    fn join_paths(&self, host: usize, are_backups: Vec<bool>) -> PyResult<()> {
        let endpoint = |(at, &is_backup): (usize, &bool)| Endpoint { address: address_on(at + 1, host), is_backup };
        let endpoints: Vec<Endpoint> = are_backups.iter().enumerate().map(endpoint).collect();
        let set = self.driver.hosts().iter().enumerate().try_for_each(|(at, each)| {
            each.set_paths(are_backups.len() as u32, if at == host { &endpoints } else { &[] })
        });
        set.map_err(|error| {
            EmulationError::new_err(format!(
                "this kernel does not open {} subflows: {error}\n  expected Linux 5.11 or later with Multipath TCP (CONFIG_MPTCP), and at most 9 subflows",
                are_backups.len() + 1
            ))
        })
    }

    /// Returns the connections of the kernel over several paths while they changed: one column per fact.
    fn multipath<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        let samples = self.driver.multipath();
        about.set_item("time_s", samples.iter().map(|each| each.at.as_secs_f64()).collect::<Vec<_>>())?;
        about.set_item("host", samples.iter().map(|each| self.names[each.host].as_str()).collect::<Vec<_>>())?;
        about.set_item("peer", samples.iter().map(|each| self.names[each.peer].as_str()).collect::<Vec<_>>())?;
        let count = |name: &str, value: fn(&MultiConnection) -> Option<u64>| {
            about.set_item(name, samples.iter().map(|each| value(&each.connection)).collect::<Vec<_>>())
        };
        count("subflows", |each| Some(u64::from(each.more_subflows) + 1))?;
        count("acked_bytes", |each| each.acked_bytes)?;
        count("received_bytes", |each| each.received_bytes)?;
        count("reinjected_bytes", |each| each.reinjected_bytes)?;
        Ok(about)
    }

    /// Returns the names of the hosts.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Gives a host bentpipe's TCP. `service` is `bulk`, `echo`, `send` or `take`, of a file, for all who connect to
    /// `port`. With `peer`, it connects to that port of another host instead.
    #[pyo3(signature = (host, service, file, port, peer, secret))]
    fn speak(
        &mut self,
        host: usize,
        service: &str,
        file: Option<&str>,
        port: u16,
        peer: Option<usize>,
        secret: u64,
    ) -> PyResult<()> {
        let service = open_service(service, file)?;
        let speaker = Speaker::new(&self.configs[host], MTU, peer.is_none().then_some(port), service, secret);
        // A connection of bentpipe's TCP always has the same port: the host has no others.
        let connect = peer.map(|peer| {
            [SocketAddr::new(address(host).0.into(), OWN_PORT), SocketAddr::new(address(peer).0.into(), port)]
        });
        self.driver.speak(host, speaker, connect);
        self.own = Some(host);
        Ok(())
    }

    /// Returns the connections of the host with bentpipe's TCP: one column per fact.
    fn spoken<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let host = self.own.map(|host| self.names[host].clone()).unwrap_or_default();
        let reports = self.driver.speaker().into_iter().flat_map(Speaker::reports);
        self.reported(py, &reports.map(|report| (host.clone(), report)).collect::<Vec<_>>())
    }

    /// Returns the connections of proxies, both sides of each: one column per fact.
    fn proxied<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reports = self.functions.reports().into_iter();
        self.reported(py, &reports.map(|(node, report)| (self.nodes[node.index()].clone(), report)).collect::<Vec<_>>())
    }

    /// Returns the middleboxes that pass real packets unchanged, by node.
    #[getter]
    fn passed(&self) -> Vec<(String, &'static str)> {
        self.passed.clone()
    }

    /// Moves this process to a host.
    fn enter(&self, host: usize) -> PyResult<()> {
        self.driver.hosts()[host].enter().map_err(not_allowed)
    }

    /// Starts later children in a new process namespace. Returns whether the system allows it.
    #[staticmethod]
    fn separate_processes() -> bool {
        Processes::begin().is_ok()
    }

    /// Takes the new process namespace, after the start of its first process. Later children start outside again.
    fn take_processes(&mut self) -> PyResult<()> {
        self.processes = Some(Processes::take()?);
        Ok(())
    }

    /// Starts later children in the process namespace of programs, if there is one, or outside.
    fn place_children(&self, is_within: bool) -> PyResult<()> {
        Ok(self.processes.as_ref().map_or(Ok(()), |processes| processes.place_children(is_within))?)
    }

    /// Moves this process to a host for ever, without access to the outside. It is a child that becomes another program
    /// next. Returns those of the wanted walls that the system allows.
    fn enter_as_program(&self, host: usize, walls: Vec<String>) -> PyResult<Vec<&'static str>> {
        self.driver.hosts()[host].enter_as_program(&walls).map_err(not_allowed)
    }

    /// Continues for `slice_s` seconds, or until the process with the id `process` ends. Returns `slice`, `ended`, or
    /// `over`.
    fn run(&mut self, py: Python<'_>, slice_s: f64, process: Option<i32>) -> PyResult<&'static str> {
        let (slice, driver) = (Duration::from_secs_f64(slice_s), &mut self.driver);
        let process = process.map(host::process).transpose()?;
        let mut pause = Ok(Pause::Slice);
        self.simulation.advance(py, 1, |network, _| {
            pause = driver.run(network, process.as_ref(), slice);
            true
        })?;
        Ok(match pause? {
            Pause::Slice => "slice",
            Pause::Ended => "ended",
            Pause::Over => "over",
        })
    }

    /// Returns events outside the scenario.
    fn outside<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (outside, about) = (self.driver.outside(), PyDict::new(py));
        let late = &outside.lateness;
        let mut dropped = outside.not_read;
        for host in self.driver.hosts() {
            dropped += host.dropped().map_err(not_allowed)?;
        }
        about.set_item("packets_entered", outside.entered)?;
        about.set_item("packets_left", late.count())?;
        about.set_item("late_mean_s", late.mean_s())?;
        about.set_item("late_p99_s", late.quantile_s(0.99))?;
        about.set_item("late_p999_s", late.quantile_s(0.999))?;
        about.set_item("late_max_s", late.max_s())?;
        about.set_item("late_limit_s", outside.limit().as_secs_f64())?;
        about.set_item("late_packets", late.beyond(outside.limit()))?;
        about.set_item("writes", outside.bursts.writes)?;
        about.set_item("late_bursts", outside.bursts.late)?;
        about.set_item("turnaround_s", outside.turnaround.map(Duration::as_secs_f64))?;
        about.set_item("longest_turn_s", outside.longest_turn.as_secs_f64())?;
        about.set_item("dropped_by_devices", dropped)?;
        about.set_item("not_written", outside.not_written)?;
        about.set_item("too_large", outside.refused)?;
        about.set_item("ignored", outside.ignored)?;
        about.set_item("not_udp", outside.not_udp)?;
        about.set_item("unreadable", outside.unreadable)?;
        about.set_item("data_per_ack", outside.thinning.data_per_ack())?;
        let (endpoints, seconds) = (self.driver.endpoints(), |us: u64| us as f64 * 1e-6);
        about.set_item("busy_s", seconds(endpoints.busy_us))?;
        about.set_item("rwnd_limited_s", seconds(endpoints.rwnd_limited_us))?;
        about.set_item("send_buffer_limited_s", seconds(endpoints.sndbuf_limited_us))?;
        let trip = endpoints.round_trip;
        about.set_item("round_trip_s", trip.map(|trip| trip.measured.as_secs_f64()))?;
        about.set_item("round_trip_excess_s", trip.map(|trip| trip.excess().as_secs_f64()))?;
        let (backend, has_offload) = self.driver.hosts().first().map_or((Backend::Auto, false), Host::had);
        about.set_item("backend", if backend == Backend::Packet { "packet" } else { "tun" })?;
        let offload = match (has_offload, outside.is_apart) {
            (false, _) => "off",
            (true, false) => "on",
            (true, true) => "receive",
        };
        about.set_item("offload", offload)?;
        Ok(about)
    }

    /// Returns the connections of the hosts while they changed: one column per fact.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fn column<'py, T: IntoPyObject<'py>>(
            about: &Bound<'py, PyDict>,
            name: &str,
            samples: &[Sample],
            value: impl Fn(&Sample) -> T,
        ) -> PyResult<()> {
            about.set_item(name, samples.iter().map(value).collect::<Vec<T>>())
        }
        let (about, samples) = (PyDict::new(py), self.driver.samples());
        column(&about, "time_s", samples, |sample| sample.at.as_secs_f64())?;
        let flow = |sample: &Sample| {
            let found = self.ports.iter().find(|(_, ports)| ports.contains(&sample.port));
            found.map(|(name, _)| name.as_str())
        };
        column(&about, "flow", samples, flow)?;
        column(&about, "host", samples, |sample| self.names[sample.host].as_str())?;
        column(&about, "port", samples, |sample| sample.connection.local.port())?;
        column(&about, "peer", samples, |sample| self.names[sample.peer].as_str())?;
        column(&about, "peer_port", samples, |sample| sample.connection.remote.port())?;
        column(&about, "cc", samples, |sample| sample.connection.cc.clone())?;
        column(&about, "cwnd_bytes", samples, |sample| sample.connection.cwnd_bytes as f64)?;
        column(&about, "ssthresh_bytes", samples, |sample| sample.connection.ssthresh_bytes.map(|bytes| bytes as f64))?;
        column(&about, "srtt_s", samples, |sample| f64::from(sample.connection.srtt_us) * 1e-6)?;
        column(&about, "flight_size_bytes", samples, |sample| sample.connection.flight_size_bytes as f64)?;
        let pacing = |sample: &Sample| sample.connection.pacing.map(|rate| rate as f64 * 8.0);
        column(&about, "pacing_rate_bps", samples, pacing)?;
        column(&about, "acked_bytes", samples, |sample| sample.connection.acked_bytes)?;
        column(&about, "retransmissions", samples, |sample| sample.connection.retransmissions)?;
        column(&about, "sent_bytes", samples, |sample| sample.connection.sent_bytes)?;
        column(&about, "retransmitted_bytes", samples, |sample| sample.connection.retransmitted_bytes)?;
        let least = |sample: &Sample| sample.connection.min_rtt_us.map(|us| f64::from(us) * 1e-6);
        column(&about, "min_rtt_s", samples, least)?;
        column(&about, "busy_s", samples, |sample| sample.connection.busy_us as f64 * 1e-6)?;
        column(&about, "rwnd_limited_s", samples, |sample| sample.connection.rwnd_limited_us as f64 * 1e-6)?;
        column(&about, "send_buffer_limited_s", samples, |sample| sample.connection.sndbuf_limited_us as f64 * 1e-6)?;
        Ok(about)
    }

    /// Returns the tables of the run, as `Run.finish` does.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let captures = self.driver.finish();
        let mut result = self.simulation.finish(py)?;
        match captures {
            Ok(0) => {}
            Ok(missed) => {
                result.notes.push(format!("{missed} packets are missing in the captures: the disk was too slow"));
            }
            // The tables may have taken an hour, and are complete.
            Err(error) => {
                let why = captures::reason(&error);
                result.notes.push(format!("the captures end early: they could not be written: {why}"));
            }
        }
        if let Some(end) = self.driver.samples_end() {
            let end = end.as_secs_f64();
            result
                .notes
                .push(format!("connections are described up to {end:.3} s: there were a million samples by then"));
        }
        tables::result(py, &result)
    }
}

impl Emulation {
    /// Returns connections of bentpipe's TCP, each with its node: one column per fact.
    fn reported<'py>(&self, py: Python<'py>, all: &[(String, Report)]) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        about.set_item("host", all.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>())?;
        let host_of = |ip: IpAddr| {
            let at = (0..self.names.len()).find(|&at| [address(at).0.into(), IpAddr::V6(address(at).1)].contains(&ip));
            at.map_or_else(|| ip.to_string(), |at| self.names[at].clone())
        };
        about.set_item("peer", all.iter().map(|(_, each)| host_of(each.remote.ip())).collect::<Vec<_>>())?;
        about.set_item("peer_port", all.iter().map(|(_, each)| each.remote.port()).collect::<Vec<_>>())?;
        about.set_item("port", all.iter().map(|(_, each)| each.local.port()).collect::<Vec<_>>())?;
        about.set_item("cc", all.iter().map(|(_, each)| each.cc.as_str()).collect::<Vec<_>>())?;
        let state = |(_, each): &(String, Report)| format!("{:?}", each.state).to_lowercase();
        about.set_item("state", all.iter().map(state).collect::<Vec<_>>())?;
        about.set_item("aborted", all.iter().map(|(_, each)| each.is_aborted).collect::<Vec<_>>())?;
        let count = |name: &str, value: fn(&Report) -> u64| {
            about.set_item(name, all.iter().map(|(_, each)| value(each)).collect::<Vec<_>>())
        };
        count("acked_bytes", |each| each.acked_bytes)?;
        count("received_bytes", |each| each.received_bytes)?;
        count("sent_segments", |each| each.counters.sent_segments)?;
        count("retransmissions", |each| each.counters.retransmitted_segments)?;
        count("timeouts", |each| each.counters.timeouts)?;
        count("fast_retransmits", |each| each.counters.fast_retransmits)?;
        count("undos", |each| each.counters.undos)?;
        count("duplicate_segments", |each| each.counters.duplicate_segments)?;
        Ok(about)
    }
}

/// Opens what an end of a connection does: `send` and `take` with a file, `take` without, `echo`, or else `bulk`.
pub(crate) fn open_service(name: &str, file: Option<&str>) -> PyResult<Service> {
    let place = |error: io::Error| EmulationError::new_err(format!("{}: {error}", file.unwrap_or_default()));
    Ok(match (name, file) {
        ("send", Some(file)) => Service::Send(fs::read(file).map_err(place)?.into()),
        ("take", Some(file)) => Service::Take(Box::new(BufWriter::new(File::create(file).map_err(place)?))),
        ("take", None) => Service::Take(Box::new(io::sink())),
        ("echo", _) => Service::Echo,
        _ => Service::Bulk,
    })
}
