//! Flows and lanes, from their keys and routes.

use super::instances::Instance;
use super::keys::{self, File, TransportKeys};
use super::report::{path, Report};
use super::route::base_rtt;
use super::ways::Way;
use bentpipe_model::ids::{FlowId, LaneId, LinkId, NodeId};
use bentpipe_model::spec::{
    full_segment, App, Buffers, Flow, Lane, Like, Link, Multi, Quic, Reader, Start, Subflow, Transport,
};
use bentpipe_tcp::multi::MultiConfig;
use bentpipe_tcp::{Config, BDP};
use bentpipe_units::{Duration, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Transports of flows by entry, and those of subflows with their own table.
pub(super) struct Transports<'a> {
    pub(super) of_flows: BTreeMap<&'a str, TransportKeys>,
    pub(super) of_subflows: BTreeMap<(&'a str, &'a str), TransportKeys>,
}

impl<'a> Transports<'a> {
    fn of_flow(&self, entry: &str) -> &TransportKeys {
        self.of_flows.get(entry).unwrap_or_else(|| &self.of_flows[""])
    }

    fn of_subflow(&self, entry: &'a str, name: &'a str) -> &TransportKeys {
        self.of_subflows.get(&(entry, name)).unwrap_or_else(|| self.of_flow(entry))
    }
}

/// Returns the flows and their lanes.
pub(super) fn make_flows<'a>(
    file: &'a File,
    (flows, ends): (&[Instance<'a>], &[[NodeId; 2]]),
    (ways, routes): (&[Way<'_>], &[[Vec<LinkId>; 2]]),
    transports: &Transports<'a>,
    links: &[Link],
    report: &mut Report<'_>,
) -> (Vec<Flow>, Vec<Lane>) {
    let settled: BTreeMap<&str, _> =
        file.flow.iter().map(|(name, flow)| (name.as_str(), settle_flow(name, flow, report))).collect();
    let settled: BTreeMap<&str, _> =
        settled.into_iter().map(|(name, (app, reader, start))| (name, (Arc::new(app), reader, start))).collect();
    // Flows of one entry share their transport unless it depends on the path.
    let mut last: Option<Arc<Config>> = None;
    let mut shared = |config: Config| match &last {
        Some(known) if **known == config => Transport::Tcp(Arc::clone(known)),
        _ => Transport::Tcp(Arc::clone(last.insert(Arc::new(config)))),
    };
    let mut last_quic: Option<Arc<Quic>> = None;
    let mut shared_quic = |quic: Quic| match &last_quic {
        Some(known) if **known == quic => Arc::clone(known),
        _ => Arc::clone(last_quic.insert(Arc::new(quic))),
    };
    let mut last_multi: Option<Arc<Multi>> = None;
    let mut shared_multi = |multi: Multi| match &last_multi {
        Some(known) if **known == multi => Arc::clone(known),
        _ => Arc::clone(last_multi.insert(Arc::new(multi))),
    };
    let lanes = ways.iter().zip(routes).map(|(way, [route, back])| Lane {
        flow: FlowId::new(way.flow),
        name: if way.name.is_empty() { String::new() } else { format!("{}.{}", flows[way.flow].name, way.name) },
        route: route.as_slice().into(),
        reverse_route: back.as_slice().into(),
        class: way.class,
    });
    let lanes: Vec<Lane> = lanes.collect();
    let mut firsts = vec![0; flows.len()];
    ways.iter().enumerate().rev().for_each(|(lane, way)| firsts[way.flow] = lane);
    let mut made = Vec::with_capacity(flows.len());
    for ((flow, &[from, to]), first) in flows.iter().zip(ends).zip(firsts) {
        let (id, lane, entry) = (LaneId::new(first), &lanes[first], &file.flow[flow.entry]);
        let transport = transports.of_flow(flow.entry);
        let packet = full_segment(&transport.config);
        let rtt = base_rtt(&lane.route, &lane.reverse_route, links);
        let slowest = slowest_of(&lane.route, links, rtt, packet);
        let (app, reader, start) = &settled[flow.entry];
        let quic = entry.quic.clone().map(|quic| {
            // Data may flow both ways.
            let fastest = slowest_of(&lane.reverse_route, links, rtt, packet).max(slowest);
            let settled = quic.clone().over(keys::product(fastest, rtt, BDP), rtt);
            keys::check_windows(&quic, settled.windows(), report, &path(["flow", flow.entry, "quic"]));
            shared_quic(settled)
        });
        let multi = entry.multipath.as_ref().filter(|_| !entry.subflow.is_empty() && quic.is_none()).map(|config| {
            let all = &lanes[first..first + entry.subflow.len()];
            shared_multi(make_multi((flow.entry, entry), config, all, transports, links, report))
        });
        // A port may carry simulated TCP to real programs.
        let has_tcp = (app.has_transport() || **app == App::Port) && quic.is_none();
        let processing = match &quic {
            Some(quic) => quic.processing,
            None if app.has_transport() => transport.processing,
            None => (Duration::ZERO, Duration::ZERO),
        };
        made.push(Flow {
            name: flow.name.clone(),
            from,
            to,
            app: Arc::clone(app),
            reader: *reader,
            start: *start,
            lane: id,
            transport: match (quic, multi) {
                (Some(quic), _) => Transport::Quic(quic),
                (None, Some(multi)) => Transport::Multi(multi),
                (None, None) if has_tcp => shared(transport.on_path(slowest, rtt)),
                (None, None) => Transport::None,
            },
            copy_of: None,
            like: if has_tcp { transport.like } else { Like::Rfc },
            buffers: if has_tcp { transport.buffers } else { Buffers::Stock },
            processing,
        });
    }
    (made, lanes)
}

/// Returns the transport of a flow over several paths, whose lanes are these.
fn make_multi<'a>(
    (name, entry): (&'a str, &'a keys::Flow),
    config: &MultiConfig,
    lanes: &[Lane],
    transports: &Transports<'a>,
    links: &[Link],
    report: &mut Report<'_>,
) -> Multi {
    let (mut made, mut paths) = (Vec::with_capacity(lanes.len()), Vec::with_capacity(lanes.len()));
    let over = |lane: &Lane, transport: &TransportKeys| {
        let rtt = base_rtt(&lane.route, &lane.reverse_route, links);
        (slowest_of(&lane.route, links, rtt, full_segment(&transport.config)), rtt)
    };
    for lane in lanes {
        // Its name lives as long as the file.
        let Some((subflow, own)) = entry.subflow.get_key_value(lane.subflow()) else { continue };
        let transport = transports.of_subflow(name, subflow);
        let (slowest, rtt) = over(lane, transport);
        let tcp = transport.on_path(slowest, rtt);
        let key = match (&own.tcp, &entry.tcp) {
            (Some(_), _) => path(["flow", name, "subflow", lane.subflow(), "tcp"]),
            (None, Some(_)) => path(["flow", name, "tcp"]),
            (None, None) => path(["tcp"]),
        };
        keys::check_subflow_tcp(&tcp, &key, report);
        paths.push((slowest, rtt));
        made.push((tcp, own));
    }
    let transport = transports.of_flow(name);
    let config = keys::settle_multipath(name, config, transport, report).over(name, &paths, report);
    let named = lanes.iter().zip(&made).map(|(lane, (tcp, _))| (lane.subflow(), tcp));
    keys::check_coupling(name, &config, &named.collect::<Vec<_>>(), report);
    let (slowest, rtt) = over(&lanes[0], transport);
    let with_buffer = |mut tcp: Config| {
        tcp.receive_buffer = config.receive_buffer;
        (tcp.auto_buffer, tcp.buffer_growth) = (config.auto_buffer, config.buffer_growth);
        Arc::new(tcp)
    };
    let subflow = |(tcp, own): (Config, &keys::Subflow)| Subflow {
        tcp: with_buffer(tcp),
        start: own.start,
        is_backup: own.backup,
    };
    let tcp = with_buffer(transport.on_path(slowest, rtt));
    Multi { subflows: made.into_iter().map(subflow).collect(), config: Arc::new(config), tcp }
}

/// Returns the least rate on a route for packets of this size.
fn slowest_of(route: &[LinkId], links: &[Link], rtt: Duration, packet: u64) -> Rate {
    route.iter().map(|&link| links[link].largest_over(rtt, packet)).min().unwrap_or(Rate::from_bps(0))
}

/// Returns application, reader and start of an entry's flows.
fn settle_flow(name: &str, written: &keys::Flow, report: &mut Report<'_>) -> (App, Option<Reader>, Start) {
    let key = |key| path(["flow", name, key]);
    let mut app = written.app.meaning(report, &key("app"));
    if let Some(reader) = written.reader {
        keys::check_reader(reader, report, &key("reader"));
    }
    for (is_there, of) in [(written.tcp.is_some(), "tcp"), (written.reader.is_some(), "reader")] {
        if is_there && !app.has_transport() {
            let what = if app == App::Port {
                "packets from outside bring their transport"
            } else {
                "datagrams have no transport"
            };
            report.key(&key(of), &format!("has no effect: {what}"), "expected an application that uses TCP");
        }
    }
    if let Some(why) = keys::refuses_multipath(&app).filter(|_| written.multipath.is_some()) {
        let expected = "expected bulk, a file, greedy, arrivals, requests or a page";
        report.key(&key("multipath"), &format!("cannot carry this application: {why}"), expected);
    }
    if let Some(quic) = &written.quic {
        if let Some(why) = keys::refuses_quic(&app) {
            report.key(
                &key("quic"),
                &format!("cannot carry this application: {why}"),
                "expected bulk, a file, greedy, arrivals, requests, pages or datagrams",
            );
        }
        keys::settle_over_quic(&written.app, &mut app, quic, report, &key("app"));
        if written.to.is_list() {
            report.key(&key("quic"), "cannot carry a flow to several receivers", "expected one receiver");
        }
        if written.reader.is_some() {
            report.key(&key("reader"), "has no effect: QUIC reads data when it arrives", "expected a flow over TCP");
        }
    }
    keys::check_start(written.start, report, &key("start"));
    (app, written.reader, written.start)
}
