//! Finds the links, flows and nodes that `[[at]]` names.

use super::Origin;
use crate::ids::{FlowId, LinkId, NodeId, PathId};
use crate::scenario::instances::{check_names, expand, Instance};
use crate::scenario::report::Report;
use crate::scenario::route::{explain, Graph};
use crate::spec::{Link, Users};
use std::collections::BTreeMap;

/// Everything that has a name.
pub(in crate::scenario) struct Known<'a> {
    pub(super) links: &'a [Link],
    pub(super) users: Users<'a>,
    pub(super) nodes: &'a BTreeMap<&'a str, NodeId>,
    pub(super) graph: &'a Graph<'a>,
    /// Nodes in their order.
    node_names: Vec<&'a str>,
    /// Flows in their order.
    instances: &'a [Instance<'a>],
    by_name: BTreeMap<&'a str, FlowId>,
    by_entry: BTreeMap<&'a str, Vec<FlowId>>,
}

/// The two directions of links and of flows.
const SIDES: [&str; 2] = ["forward", "reverse"];

impl<'a> Known<'a> {
    pub(in crate::scenario) fn new(
        links: &'a [Link],
        users: Users<'a>,
        nodes: &'a BTreeMap<&'a str, NodeId>,
        graph: &'a Graph<'a>,
        instances: &'a [Instance<'a>],
    ) -> Self {
        let flows = users.flows;
        let mut by_entry: BTreeMap<&str, Vec<FlowId>> = BTreeMap::new();
        for (flow, instance) in FlowId::all(flows.len()).zip(instances) {
            by_entry.entry(instance.entry).or_default().push(flow);
        }
        let by_name = flows.iter().map(|flow| flow.name.as_str()).zip(FlowId::all(flows.len())).collect();
        Self { links, users, nodes, graph, node_names: nodes.keys().copied().collect(), instances, by_name, by_entry }
    }

    /// Returns one direction of a link, or both. Reports an unknown name.
    pub(super) fn links(&self, name: &str, origin: Origin, report: &mut Report<'_>) -> Vec<LinkId> {
        let found = self.find_links(name);
        if found.is_empty() {
            let known = self.links.iter().filter_map(|link| link.name.strip_suffix(".forward"));
            let hint = report.findings.guess(name, known);
            let expected = "expected the name of a link, or with .forward or .reverse that of a direction";
            report.suggest(&origin.path(), "is not a link", expected, hint);
        }
        found
    }

    /// Returns one direction of a link, or both. Empty if there is no such link.
    pub(super) fn find_links(&self, name: &str) -> Vec<LinkId> {
        let find = |name: &str| self.links.binary_search_by(|link| link.name.as_str().cmp(name)).ok().map(LinkId::new);
        match find(name) {
            Some(link) => vec![link],
            None => SIDES.iter().filter_map(|side| find(&format!("{name}.{side}"))).collect(),
        }
    }

    /// Returns a flow, or all flows of an entry.
    pub(super) fn flows_named(&self, name: &str, key: &[String], report: &mut Report<'_>) -> Vec<FlowId> {
        let found = self.find_flows(name);
        if found.is_empty() {
            let known = self.by_entry.keys().chain(self.by_name.keys()).copied();
            let hint = report.findings.guess(name, known);
            report.suggest(key, "is not a flow", "expected the name of a flow or of an entry", hint);
        }
        found
    }

    /// Returns the number of these flows.
    pub(super) fn count_flows(&self, name: &str) -> usize {
        let of_entry = || self.by_entry.get(name).map_or(0, Vec::len);
        self.by_name.get(name).map_or_else(of_entry, |_| 1)
    }

    fn find_flows(&self, name: &str) -> Vec<FlowId> {
        match self.by_name.get(name) {
            Some(&flow) => vec![flow],
            None => self.by_entry.get(name).cloned().unwrap_or_default(),
        }
    }

    /// Returns one direction of a flow, or both, or those of all flows of an entry.
    pub(super) fn paths(&self, name: &str, origin: Origin, report: &mut Report<'_>) -> Vec<PathId> {
        for (side, suffix) in [".forward", ".reverse"].into_iter().enumerate() {
            let flows = name.strip_suffix(suffix).map(|base| self.find_flows(base)).unwrap_or_default();
            if !flows.is_empty() {
                return flows.into_iter().map(|flow| self.both(flow)[side]).collect();
            }
        }
        self.flows_named(name, &origin.path(), report).into_iter().flat_map(|flow| self.both(flow)).collect()
    }

    /// Returns both paths of a flow.
    pub(super) fn both(&self, flow: FlowId) -> [PathId; 2] {
        PathId::both(self.users.flows[flow].lane)
    }

    fn flow_of(&self, path: PathId) -> FlowId {
        self.users.lanes[path.lane()].flow
    }

    /// Returns the route of a path that is written at `key`, and the node where it begins.
    pub(super) fn route(
        &self,
        path: PathId,
        written: &[String],
        key: &[String],
        report: &mut Report<'_>,
    ) -> Option<(NodeId, Vec<LinkId>)> {
        let instance = &self.instances[self.flow_of(path)];
        if !check_names(written, key, instance.n.is_some(), report) {
            return None;
        }
        let written: Vec<String> = written.iter().map(|name| expand(name, instance.n)).collect();
        let flow = &self.users.flows[self.flow_of(path)];
        let (from, to) = if path.is_back() { (flow.to, flow.from) } else { (flow.from, flow.to) };
        let start = written.first().and_then(|name| self.nodes.get(name.as_str())).copied().unwrap_or(from);
        match self.graph.follow((start, to), &written, self.nodes) {
            Ok(route) if route.is_empty() => {
                report.value(key, "has no link", "expected the node where it begins, and the next ones to its end");
                None
            }
            Ok(route) => Some((start, route)),
            Err(bad) => {
                let names = &self.node_names;
                let (message, hint) = explain(&bad, names[to], names, report.findings);
                report.suggest(key, &message, "expected neighbouring nodes, or links between them", hint);
                None
            }
        }
    }

    /// Returns a path for messages.
    pub(super) fn of(&self, path: PathId) -> String {
        let side = if path.is_back() { "reverse route" } else { "route" };
        format!("the {side} of flow \"{}\"", self.users.flows[self.flow_of(path)].name)
    }

    pub(super) fn node(&self, node: NodeId) -> &str {
        self.node_names[node]
    }
}
