//! Converts the written file to its meaning.
//!
//! Expands `{n}`, joins names, computes routes and queues, and checks conditions on several keys. Reports all problems,
//! each at the place of its key.

use super::budget::{self, ENTRIES_MAX, FLOWS_MAX};
use super::check::{bad_name, HIDDEN, NAME};
use super::direction;
use super::instances::{check_names, expand, instances, Instance, WrittenEnds};
use super::keys::{self, File, TransportKeys};
use super::queue_limits::{check_buckets, check_queues, set_queues};
use super::report::{below, path, Report};
use super::route::{base_rtt, explain, Graph};
use super::tree::{is_hidden, join};
use super::{media, offered_load, placement, receivers, timeline};
use crate::ids::{FlowId, LaneId, LinkId, NodeId};
use crate::spec::{
    full_segment, App, Buffers, Combining, Flow, Lane, Like, Link, Multi, Node, NodeKind, Quic, Reader, Scenario, Start,
    Subflow, Transport, Users, DURATION_MAX,
};
use bentpipe_tcp::multi::MultiConfig;
use bentpipe_tcp::{Config, BDP};
use bentpipe_units::{Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The two directions of a link.
const SIDES: [&str; 2] = ["forward", "reverse"];

/// Scenario, with the entry of the file for each link and flow.
pub(super) struct Meaning {
    pub(super) scenario: Arc<Scenario>,
    pub(super) cost: budget::Cost,
    pub(super) links: BTreeMap<String, String>,
    pub(super) flows: BTreeMap<String, String>,
    /// Table of the file for each change of the timeline.
    pub(super) changes: Vec<usize>,
}

/// Returns the meaning of the file, or `None` if there are problems.
pub(super) fn resolve(file: &File, report: &mut Report<'_>) -> Option<Meaning> {
    if file.duration == Duration::ZERO || file.duration > DURATION_MAX {
        report.value(&path(["duration"]), "is out of range", "expected more than 0 s, at most 200 days (4800 h)");
    }
    if file.title.chars().any(is_hidden) {
        report.value(&path(["title"]), HIDDEN, "expected a line of text");
    }
    if file.record.interval == Duration::ZERO {
        report.value(&path(["record", "interval"]), "is too small", "expected more than 0 s");
    }
    if file.flow.is_empty() {
        report.key(&path(["flow"]), "is empty", "expected at least one flow");
    }
    media::check(&file.medium, report);
    let directions: BTreeMap<&str, [Link; 2]> = file
        .link
        .iter()
        .map(|(name, link)| (name.as_str(), direction::both(name, link, &file.medium, file.duration, report)))
        .collect();
    let mut transports: BTreeMap<&str, TransportKeys> = BTreeMap::new();
    let mut of_subflows: BTreeMap<(&str, &str), TransportKeys> = BTreeMap::new();
    for (name, flow) in &file.flow {
        if let Some(quic) = &flow.quic {
            keys::check_quic(quic, report, &path(["flow", name, "quic"]));
            if flow.tcp.is_some() {
                let place = path(["flow", name, "quic"]);
                report.key(&place, "contradicts `tcp`: a flow has one transport", "expected one of the two tables");
            }
        }
        keys::check_subflows(name, flow, report);
        for (subflow, own) in flow.subflow.iter().filter_map(|(name, subflow)| Some((name, subflow.tcp.as_ref()?))) {
            let keys = keys::transport(own, report, &["flow", name, "subflow", subflow, "tcp"]);
            of_subflows.insert((name, subflow), keys);
        }
        if let Some(own) = &flow.tcp {
            transports.insert(name, keys::transport(own, report, &["flow", name, "tcp"]));
        } else if !transports.contains_key("") {
            // The empty name, which no flow has, is the transport of all flows without their own table.
            transports.insert("", keys::transport(&file.tcp, report, &["tcp"]));
        }
    }

    let links_max = budget::links_max(file.flow.values().map(|flow| u64::from(flow.count.unwrap_or(1))).sum());
    let ends = |link: &keys::Link| {
        let (count, from, to) = (link.count, link.from.clone(), vec![link.to.clone()]);
        WrittenEnds { count, from, to, is_list: false, copy_of: None }
    };
    let links = instances("link", links_max, file.link.iter().map(|(name, link)| (name.as_str(), ends(link))), report);
    let ends = |flow: &keys::Flow| {
        let (count, from, to) = (flow.count, flow.from.clone(), flow.to.written().to_vec());
        WrittenEnds { count, from, to, is_list: flow.to.is_list(), copy_of: flow.copy_of.clone() }
    };
    let flows = instances("flow", FLOWS_MAX, file.flow.iter().map(|(name, flow)| (name.as_str(), ends(flow))), report);
    let (links, flows) = (links?, in_order(flows?));
    check_routes(file, report);
    check_sizes(file, &links, &directions, report);

    let names: BTreeSet<&str> = links.iter().flat_map(|link| [link.from.as_str(), &link.to]).collect();
    check_nodes(file, &names, report);
    let ids = NodeId::all(names.len());
    let nodes: BTreeMap<&str, NodeId> = names.into_iter().zip(ids).collect();
    let [link_ends, flow_ends] = [&links, &flows].map(|instances| known_ends(instances, &nodes));
    check_ends(&links, &flows, [&link_ends, &flow_ends], &nodes, report);
    if !report.findings.found.is_empty() {
        return None;
    }

    let mut made = make_links(&links, &directions, &link_ends);
    check_arq(&made, file, &links, &nodes, report);
    check_mtu(&made, file, &links, &nodes, report);
    check_parallel(&made, &nodes, report);
    let media = media::resolve(file, &made, &links, &nodes, report);
    media::follow_grants(&mut made, &media, &links, report);
    let ways = ways(file, &flows);
    let routes = find_routes((&flows, &flow_ends), &ways, &made, &nodes, report)?;
    check_addresses(&flows, &ways, &routes, &made, report);
    let transports = Transports { of_flows: transports, of_subflows };
    let (mut made_flows, lanes) = make_flows(file, (&flows, &flow_ends), (&ways, &routes), &transports, &made, report);
    receivers::join(file, &flows, (&mut made_flows, &lanes), report);
    offered_load::settle(file, &flows, (&mut made_flows, &lanes), &made, report);
    let users = Users { flows: &made_flows, lanes: &lanes };
    let graph = Graph::new(nodes.len(), &made);
    let timeline::Compiled { timeline, origins, routes } =
        timeline::compile(file, &timeline::Known::new(&made, users, &nodes, &graph, &flows), report);
    offered_load::refuse_overload(&flows, users, &routes, &made, report);
    offered_load::note_overload(users, &routes, &made, report);
    set_queues(&mut made, users, &routes);
    check_queues(&made, users, &routes, &links, &flows, report);
    check_buckets(&made, users, &routes, &links, report);

    let mut record = file.record.clone();
    record.series.sort_unstable();
    record.series.dedup();
    let scenario = Scenario {
        title: file.title.clone(),
        duration: file.duration,
        seed: file.seed,
        nodes: nodes.keys().map(|name| make_node(name, file.node.get(*name), report)).collect(),
        links: made,
        media,
        flows: made_flows,
        lanes,
        timeline,
        record,
        notes: std::mem::take(&mut report.findings.notes),
    };
    placement::check(&scenario, report);
    let flow_entries = flows.iter().map(|flow| (flow.name.as_str(), flow.entry)).collect();
    receivers::check(&scenario, &flow_entries, report);
    let cost = budget::estimate(&scenario, &routes).map_err(|budget::TooMuch { mut key, message, expected }| {
        // The key as written: the entry of the link, and the direction.
        if let Some((name, side)) = key.get(1).and_then(|name| name.rsplit_once('.')) {
            let entry = links.iter().find(|link| link.name == name).map_or(name, |link| link.entry);
            key.splice(1..2, [entry.to_owned(), side.to_owned()]);
        }
        report.value(&key, &message, &expected);
    });
    let cost = cost.ok().filter(|_| report.findings.found.is_empty())?;
    Some(Meaning {
        scenario: Arc::new(scenario),
        cost,
        links: links.iter().map(|link| (link.name.clone(), link.entry.to_owned())).collect(),
        flows: flows.iter().map(|flow| (flow.name.clone(), flow.entry.to_owned())).collect(),
        changes: origins,
    })
}

/// Checks the names in routes.
fn check_routes(file: &File, report: &mut Report<'_>) {
    for (flow, entry) in &file.flow {
        let mut check = |key: &[String], routes: [&Option<Vec<String>>; 2]| {
            for (side, route) in ["route", "reverse_route"].into_iter().zip(routes) {
                check_names(route.iter().flatten(), &below(key, side), entry.count.is_some(), report);
            }
        };
        check(&path(["flow", flow]), [&entry.route, &entry.reverse_route]);
        for (name, subflow) in &entry.subflow {
            check(&path(["flow", flow, "subflow", name]), [&subflow.route, &subflow.reverse_route]);
        }
        for name in entry.subflow.keys() {
            if let Some(why) = bad_name(name) {
                report.key(&path(["flow", flow, "subflow", name]), why, NAME);
            }
        }
    }
}

/// Rejects scenarios that would not fit into memory.
fn check_sizes(file: &File, links: &[Instance<'_>], directions: &BTreeMap<&str, [Link; 2]>, report: &mut Report<'_>) {
    let sizes: BTreeMap<&str, usize> =
        directions.iter().map(|(name, both)| (*name, both.iter().map(direction::entries).sum())).collect();
    let total: u64 = links.iter().map(|link| sizes[link.entry] as u64).sum();
    let route = |route: &Option<Vec<String>>| route.as_ref().map_or(0, Vec::len) as u64;
    let steps = |flow: &keys::Flow| {
        let of_subflows = flow.subflow.values().map(|subflow| route(&subflow.route) + route(&subflow.reverse_route));
        let each = route(&flow.route) + route(&flow.reverse_route) + of_subflows.sum::<u64>();
        u64::from(flow.count.unwrap_or(1)) * each
    };
    for (what, total) in [("link", total), ("flow", file.flow.values().map(steps).sum())] {
        if total > ENTRIES_MAX {
            let message = format!("stands for {total} points, spans and steps");
            report.key(
                &path([what]),
                &message,
                &format!("expected at most {ENTRIES_MAX}; lower a count or shorten a list"),
            );
        }
    }
}

/// Reports tables of nodes without a link.
fn check_nodes(file: &File, names: &BTreeSet<&str>, report: &mut Report<'_>) {
    for name in file.node.keys().filter(|name| !names.contains(name.as_str())) {
        let hint = report.findings.guess(name, names.iter().copied());
        let place = report.tree.at(["node", name]).key.clone();
        let shown = join("node", name);
        let message = format!("{shown} is on no link");
        report.findings.add(&place, &shown, message, "expected the name of a node that a link names", hint);
    }
}

/// Returns the nodes at both ends of each link or flow. Leaves out entries with unknown ends.
fn known_ends(instances: &[Instance<'_>], nodes: &BTreeMap<&str, NodeId>) -> Vec<[NodeId; 2]> {
    let known = |end: &String| nodes.get(end.as_str()).copied();
    instances.iter().filter_map(|instance| Some([known(&instance.from)?, known(&instance.to)?])).collect()
}

/// Reports links and flows with unknown ends.
fn check_ends(
    links: &[Instance<'_>],
    flows: &[Instance<'_>],
    [link_ends, flow_ends]: [&[[NodeId; 2]]; 2],
    nodes: &BTreeMap<&str, NodeId>,
    report: &mut Report<'_>,
) {
    let mut said = BTreeSet::new();
    for flow in flows.iter().filter(|_| flow_ends.len() < flows.len()) {
        for (key, end) in [("from", &flow.from), ("to", &flow.to)] {
            if !nodes.contains_key(end.as_str()) && said.insert((flow.entry, key)) {
                let hint = report.findings.guess(end, nodes.keys().copied());
                let message = format!("is not a node: no link has \"{end}\"");
                report.suggest(
                    &path(["flow", flow.entry, key]),
                    &message,
                    "expected a node at the end of a link",
                    hint,
                );
            }
        }
    }
    if !said.is_empty() {
        return;
    }
    let (mut is_used, mut links_at) = (vec![false; nodes.len()], vec![0_u32; nodes.len()]);
    flow_ends.iter().flatten().for_each(|&end| is_used[end] = true);
    link_ends.iter().flatten().for_each(|&end| links_at[end] += 1);
    let ends_of = || {
        let both = links.iter().zip(link_ends);
        both.flat_map(|(link, ends)| {
            [("from", &link.from), ("to", &link.to)]
                .into_iter()
                .zip(ends)
                .map(move |(written, &node)| (link.entry, written, node))
        })
    };
    let leads_on = |node: NodeId| links_at[node] > 1 || is_used[node];
    // Of the ends of an entry with a count, some may be idle.
    let leading: BTreeSet<_> =
        ends_of().filter(|(.., node)| leads_on(*node)).map(|(entry, (key, _), _)| (entry, key)).collect();
    for (entry, (key, end), node) in ends_of() {
        if !leads_on(node) && !leading.contains(&(entry, key)) && said.insert((entry, key)) {
            let hint = report.findings.guess(end, nodes.keys().copied().filter(|name| name != end));
            let message = format!("is a dead end: no other link and no flow is at \"{end}\"");
            report.suggest(&path(["link", entry, key]), &message, "expected a node of another link or of a flow", hint);
        }
    }
}

fn make_node(name: &str, node: Option<&keys::Node>, report: &mut Report<'_>) -> Node {
    let mut middleboxes = node.map_or_else(Vec::new, |node| node.middleboxes.clone());
    for (index, middlebox) in middleboxes.iter_mut().enumerate() {
        keys::check_middlebox(middlebox, report, &path(["node", name, "middlebox", &index.to_string()]));
    }
    Node { name: name.to_owned(), kind: node.map_or(NodeKind::Router, |node| node.kind), middleboxes }
}

/// Returns the links in the order of their names.
fn make_links(links: &[Instance<'_>], directions: &BTreeMap<&str, [Link; 2]>, ends: &[[NodeId; 2]]) -> Vec<Link> {
    // Links are large, so only their names are sorted.
    let sides = (0..links.len()).flat_map(|link| [(link, 0), (link, 1)]);
    let mut names: Vec<(String, (usize, usize))> =
        sides.map(|(link, side)| (format!("{}.{}", links[link].name, SIDES[side]), (link, side))).collect();
    names.sort_unstable();
    let make = |(name, (link, side)): (String, (usize, usize))| {
        let made = directions[links[link].entry][side].clone();
        Link { name, from: ends[link][side], to: ends[link][1 - side], ..made }
    };
    names.into_iter().map(make).collect()
}

/// Returns the entry of the file for each link, by the link's name.
fn entries<'a>(links: &'a [Instance<'a>]) -> BTreeMap<&'a str, &'a str> {
    links.iter().map(|link| (link.name.as_str(), link.entry)).collect()
}

/// Checks ARQ: only a node that checks and keeps packets can end its loop. A bent pipe does neither. The loop would
/// continue during an outage.
fn check_arq(
    made: &[Link],
    file: &File,
    links: &[Instance<'_>],
    nodes: &BTreeMap<&str, NodeId>,
    report: &mut Report<'_>,
) {
    if made.iter().all(|link| link.arq.is_none()) {
        return;
    }
    let (entries, names) = (entries(links), nodes.keys().copied().collect::<Vec<_>>());
    for link in made.iter().filter(|link| link.arq.is_some()) {
        let Some((name, side)) = link.name.rsplit_once('.') else { continue };
        let entry = entries.get(name).copied().unwrap_or(name);
        let key = path(["link", entry, side, "arq"]);
        for id in [link.from.min(link.to), link.from.max(link.to)] {
            let node = names[id];
            if file.node.get(node).is_some_and(|node| node.kind == NodeKind::BentPipe) {
                let does = if id == link.to { "checks no packets" } else { "keeps no packets" };
                let expected = "expected a node of kind \"processing\", or one link from station to station";
                report.value(&key, &format!("cannot work: {node} is a bent pipe, which {does}"), expected);
            }
        }
        if link.outage.is_some() {
            report.value(&key, "retransmits on a link with outages", "expected arq or outage, not both");
        }
        let how = link.arq.map_or(Combining::None, |arq| arq.combining);
        if how == Combining::None {
            continue;
        }
        let key = below(&key, "combining");
        match &link.coded {
            None => {
                let expected =
                    "expected coding on the link too, like { kind = \"convolutional\" }, or combining = \"none\"";
                report.value(&key, "cannot combine: the link has no code", expected);
            }
            Some(coded) => {
                if let Err((_, message, expected)) = coded.combiner(how, link.interleave.is_some()) {
                    report.value(&key, &message, &expected);
                }
            }
        }
    }
}

/// Rejects an MTU at a bent pipe, which does not read packets.
fn check_mtu(
    made: &[Link],
    file: &File,
    links: &[Instance<'_>],
    nodes: &BTreeMap<&str, NodeId>,
    report: &mut Report<'_>,
) {
    if made.iter().all(|link| link.mtu.is_none()) {
        return;
    }
    let (entries, names) = (entries(links), nodes.keys().copied().collect::<Vec<_>>());
    for link in made.iter().filter(|link| link.mtu.is_some()) {
        let Some((name, side)) = link.name.rsplit_once('.') else { continue };
        let entry = entries.get(name).copied().unwrap_or(name);
        let node = names[link.from];
        if file.node.get(node).is_some_and(|node| node.kind == NodeKind::BentPipe) {
            let message =
                format!("cannot work: the link begins at {node}, and {node} is a bent pipe, which reads no packets");
            let expected = "expected a node of kind \"processing\", or mtu at the link before it";
            report.value(&path(["link", entry, side, "mtu"]), &message, expected);
        }
    }
}

/// One way of a flow, as written.
struct Way<'a> {
    /// Number of its flow.
    flow: usize,
    /// Name of its subflow; empty without subflows.
    name: &'a str,
    route: &'a Option<Vec<String>>,
    reverse_route: &'a Option<Vec<String>>,
    class: u8,
}

impl Way<'_> {
    /// Returns the place of its table in the file.
    fn key(&self, flows: &[Instance<'_>]) -> Vec<String> {
        let entry = flows[self.flow].entry;
        if self.name.is_empty() {
            path(["flow", entry])
        } else {
            path(["flow", entry, "subflow", self.name])
        }
    }
}

/// Returns the ways of all flows, in the order of their lanes. Of several subflows, the one that opens the connection comes
/// first: it starts first, and is no backup.
fn ways<'a>(file: &'a File, flows: &[Instance<'_>]) -> Vec<Way<'a>> {
    let mut all = Vec::with_capacity(flows.len());
    for (flow, instance) in flows.iter().enumerate() {
        let entry = &file.flow[instance.entry];
        let class = entry.class;
        if entry.subflow.is_empty() {
            all.push(Way { flow, name: "", route: &entry.route, reverse_route: &entry.reverse_route, class });
        }
        for (name, keys::Subflow { route, reverse_route, class: own, .. }) in in_turn(entry) {
            all.push(Way { flow, name, route, reverse_route, class: own.unwrap_or(class) });
        }
    }
    all
}

/// Returns the subflows of an entry in the order of their start.
fn in_turn(entry: &keys::Flow) -> Vec<(&str, &keys::Subflow)> {
    let mut subflows: Vec<_> = entry.subflow.iter().map(|(name, subflow)| (name.as_str(), subflow)).collect();
    subflows.sort_by_key(|(_, subflow)| (subflow.start, subflow.backup));
    subflows
}

/// Rejects subflows with the same addresses: their routes begin and end with the same links, so that the network could not
/// tell them apart.
fn check_addresses(
    flows: &[Instance<'_>],
    ways: &[Way<'_>],
    routes: &[[Vec<LinkId>; 2]],
    links: &[Link],
    report: &mut Report<'_>,
) {
    let ends = |way: usize| Some((*routes[way][0].first()?, *routes[way][0].last()?));
    let mut said = BTreeSet::new();
    for (number, way) in ways.iter().enumerate() {
        let earlier = (0..number).rev().take_while(|other| ways[*other].flow == way.flow);
        let Some(other) = earlier.into_iter().find(|other| ends(*other) == ends(number)) else { continue };
        if let Some((first, last)) = ends(number).filter(|_| said.insert((flows[way.flow].entry, way.name))) {
            let [first, last] = [first, last].map(|link| &links[link].name);
            let message = format!(
                "has the addresses of subflow \"{}\": the routes of both begin with \"{first}\" and end with \"{last}\"",
                ways[other].name
            );
            let expected = "expected a route with another first or last link: an address is that of a host on a link";
            report.key(&below(&way.key(flows), "route"), &message, expected);
        }
    }
}

/// Returns both routes of each way.
fn find_routes(
    (flows, ends): (&[Instance<'_>], &[[NodeId; 2]]),
    ways: &[Way<'_>],
    links: &[Link],
    nodes: &BTreeMap<&str, NodeId>,
    report: &mut Report<'_>,
) -> Option<Vec<[Vec<LinkId>; 2]>> {
    let graph = Graph::new(nodes.len(), links);
    let names: Vec<&str> = nodes.keys().copied().collect();
    let mut routes = vec![[Vec::new(), Vec::new()]; ways.len()];
    let (mut open, mut pairs, mut said) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (index, way) in ways.iter().enumerate() {
        let (flow, [from, to]) = (&flows[way.flow], ends[way.flow]);
        let sides = [("route", way.route, (from, to)), ("reverse_route", way.reverse_route, (to, from))];
        for (side, (key, written, ends)) in sides.into_iter().enumerate() {
            let Some(written) = written else {
                open.push((index, side));
                pairs.push(ends);
                continue;
            };
            let written: Vec<String> = written.iter().map(|name| expand(name, flow.n)).collect();
            match graph.follow(ends, &written, nodes) {
                Ok(route) => routes[index][side] = route,
                Err(bad) if said.insert((flow.entry, way.name, key)) => {
                    let (message, hint) = explain(&bad, names[ends.1], &names, report.findings);
                    report.suggest(
                        &below(&way.key(flows), key),
                        &message,
                        "expected neighbouring nodes, or links between them",
                        hint,
                    );
                }
                Err(_) => {}
            }
        }
    }
    match graph.shortest(&pairs) {
        Ok(found) => {
            for ((index, side), way) in open.into_iter().zip(found) {
                match way {
                    Some(way) => routes[index][side] = way,
                    None if said.insert((flows[ways[index].flow].entry, "", "to")) => {
                        let flow = &flows[ways[index].flow];
                        let message = format!("cannot be reached from \"{}\"", flow.from);
                        let expected = "expected links that join the two";
                        report.value(&path(["flow", flow.entry, "to"]), &message, expected);
                    }
                    None => {}
                }
            }
        }
        Err(steps) => {
            let message = format!("needs about {:.1e} steps to find the routes", steps as f64);
            report.key(&path(["flow"]), &message, "expected route of the flows, or fewer flows from different nodes");
        }
    }
    report.findings.found.is_empty().then_some(routes)
}

/// Checks that parallel links, which routes must name, have other names than nodes.
fn check_parallel(links: &[Link], nodes: &BTreeMap<&str, NodeId>, report: &mut Report<'_>) {
    let graph = Graph::new(nodes.len(), links);
    for (id, link) in LinkId::all(links.len()).zip(links) {
        let name = link.name.strip_suffix(".forward").filter(|name| nodes.contains_key(name));
        if let (Some(name), true) = (name, graph.is_parallel(id)) {
            let message = format!("link \"{name}\" has the name of a node, and another link joins the same nodes");
            let place = report.tree.at(["link", name]).key.clone();
            let expected = "expected another name, so that routes are unambiguous";
            report.findings.add(&place, &join("link", name), message, expected, String::new());
        }
    }
}

/// Transports of flows by entry, and those of subflows with their own table.
struct Transports<'a> {
    of_flows: BTreeMap<&'a str, TransportKeys>,
    of_subflows: BTreeMap<(&'a str, &'a str), TransportKeys>,
}

impl<'a> Transports<'a> {
    fn of_flow(&self, entry: &str) -> &TransportKeys {
        self.of_flows.get(entry).unwrap_or_else(|| &self.of_flows[""])
    }

    fn of_subflow(&self, entry: &'a str, name: &'a str) -> &TransportKeys {
        self.of_subflows.get(&(entry, name)).unwrap_or_else(|| self.of_flow(entry))
    }
}

fn make_flows<'a>(
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
            shared_quic(quic.over(keys::product(fastest, rtt, BDP), rtt))
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
    let config = keys::settle_multipath(name, config, transport, report).over(&paths);
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

/// Returns the flows in natural order of their names.
fn in_order(flows: Vec<Instance<'_>>) -> Vec<Instance<'_>> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_cached_key(|&flow| natural(&flows[flow].name));
    let mut flows: Vec<Option<Instance<'_>>> = flows.into_iter().map(Some).collect();
    order.into_iter().filter_map(|flow| flows[flow].take()).collect()
}

/// Returns a sort key that orders `f2` before `f10`: numbers by their length, then by their digits.
fn natural(name: &str) -> Vec<(bool, usize, &str, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let number = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != number).unwrap_or(rest.len());
        let value = if number { rest[..end].trim_start_matches('0') } else { "" };
        parts.push((!number, value.len(), value, &rest[..end]));
        rest = &rest[end..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn names_are_in_natural_order() {
        let mut names = ["f10", "f2", "f", "g1", "f2b", "10", "9", "f02"];
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        assert_eq!(names, ["9", "10", "f", "f02", "f2", "f2b", "f10", "g1"]);
    }
}
