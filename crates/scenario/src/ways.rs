//! Ways of flows, as written: one for each flow, or for each of its subflows; and their routes.

use super::instances::{expand, Instance};
use super::keys::{self, File};
use super::report::{below, path, Report};
use super::route::{explain, Graph};
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::spec::Link;
use std::collections::{BTreeMap, BTreeSet};

/// One way of a flow, as written.
pub(super) struct Way<'a> {
    /// Number of its flow.
    pub(super) flow: usize,
    /// Name of its subflow; empty without subflows.
    pub(super) name: &'a str,
    route: &'a Option<Vec<String>>,
    reverse_route: &'a Option<Vec<String>>,
    pub(super) class: u8,
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

/// Returns the ways of all flows, in the order of their lanes. The subflow that opens the connection comes
/// first: it starts first, and is no backup.
pub(super) fn ways<'a>(file: &'a File, flows: &[Instance<'_>]) -> Vec<Way<'a>> {
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

/// Rejects flows and entries with the name of a subflow, FLOW.SUBFLOW: a change or a result could mean either.
pub(super) fn check_path_names(flows: &[Instance<'_>], ways: &[Way<'_>], report: &mut Report<'_>) {
    let names: BTreeSet<&str> = flows.iter().flat_map(|flow| [flow.name.as_str(), flow.entry]).collect();
    let mut said = BTreeSet::new();
    for way in ways.iter().filter(|way| !way.name.is_empty()) {
        let name = format!("{}.{}", flows[way.flow].name, way.name);
        if names.contains(name.as_str()) && said.insert((flows[way.flow].entry, way.name)) {
            let message = format!("is called \"{name}\", as a flow");
            report.key(&way.key(flows), &message, "expected another name of one of the two");
        }
    }
}

/// Rejects subflows with the same addresses: their routes begin and end with the same links, so that the network could not
/// tell them apart.
pub(super) fn check_addresses(
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
pub(super) fn find_routes(
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
