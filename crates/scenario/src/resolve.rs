//! Converts the written file to its meaning.
//!
//! Expands `{n}`, joins names, computes routes and queues, and checks conditions on several keys. Reports all problems,
//! each at the place of its key.

use super::budget::{self, ENTRIES_MAX, FLOWS_MAX};
use super::check::{bad_name, HIDDEN, NAME};
use super::direction;
use super::flows::{make_flows, Transports};
use super::instances::{check_names, instances, Instance, WrittenEnds};
use super::keys::{self, File, TransportKeys};
use super::queue_limits::{check_buckets, check_queues, set_queues};
use super::report::{below, path, Report};
use super::route::Graph;
use super::tree::{is_hidden, join};
use super::ways::{check_addresses, check_path_names, find_routes, ways};
use super::{media, offered_load, placement, receivers, timeline};
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::spec::{Combining, Link, Node, NodeKind, Scenario, Users, DURATION_MAX};
use bentpipe_units::Duration;
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
    check_path_names(&flows, &ways, report);
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
