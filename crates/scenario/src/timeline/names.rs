//! Finds the links, flows and nodes that `[[at]]` names.

use super::Origin;
use crate::instances::{check_names, expand, Instance};
use crate::report::Report;
use crate::route::{explain, Graph};
use bentpipe_model::ids::{FlowId, LaneId, LinkId, NodeId, PathId};
use bentpipe_model::spec::{Link, Users};
use std::collections::BTreeMap;

/// Everything that has a name.
pub(crate) struct Known<'a> {
    pub(super) links: &'a [Link],
    pub(super) users: Users<'a>,
    pub(super) nodes: &'a BTreeMap<&'a str, NodeId>,
    pub(super) graph: &'a Graph<'a>,
    /// Nodes in their order.
    node_names: Vec<&'a str>,
    /// Flows in their order.
    instances: &'a [Instance<'a>],
    /// Lanes by the names of flows, and of subflows as `FLOW.SUBFLOW`.
    by_name: BTreeMap<String, Vec<LaneId>>,
    /// Lanes by the names of entries, and of their subflows.
    by_entry: BTreeMap<String, Vec<LaneId>>,
}

/// The two directions of links and of flows.
const SIDES: [&str; 2] = ["forward", "reverse"];

impl<'a> Known<'a> {
    pub(crate) fn new(
        links: &'a [Link],
        users: Users<'a>,
        nodes: &'a BTreeMap<&'a str, NodeId>,
        graph: &'a Graph<'a>,
        instances: &'a [Instance<'a>],
    ) -> Self {
        let (mut by_name, mut by_entry): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for (id, lane) in LaneId::all(users.lanes.len()).zip(users.lanes) {
            let (flow, entry) = (&users.flows[lane.flow].name, instances[lane.flow].entry);
            by_name.entry(flow.clone()).or_default().push(id);
            by_entry.entry(entry.to_owned()).or_default().push(id);
            if !lane.name.is_empty() {
                by_name.entry(lane.name.clone()).or_default().push(id);
                by_entry.entry(format!("{entry}.{}", lane.subflow())).or_default().push(id);
            }
        }
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

    /// Returns the lanes of a flow or subflow, or of all flows of an entry.
    pub(super) fn lanes_named(&self, name: &str, key: &[String], report: &mut Report<'_>) -> Vec<LaneId> {
        let found = self.find_lanes(name);
        if found.is_empty() {
            let known = self.by_entry.keys().chain(self.by_name.keys()).map(String::as_str);
            let hint = report.findings.guess(name, known);
            let expected = "expected the name of a flow, of an entry, or of a subflow as FLOW.SUBFLOW";
            report.suggest(key, "is not a flow", expected, hint);
        }
        found.to_vec()
    }

    /// Returns the lane of each flow that gets one route: the name of a flow with subflows is not enough. Reports it.
    pub(super) fn lanes_for_a_route(&self, name: &str, key: &[String], report: &mut Report<'_>) -> Vec<LaneId> {
        let lanes = self.lanes_named(name, key, report);
        let twice = lanes.windows(2).find(|pair| self.users.lanes[pair[0]].flow == self.users.lanes[pair[1]].flow);
        let Some(pair) = twice else { return lanes };
        let message = "has subflows, each with its own route";
        report.value(key, message, &format!("expected one of them, such as \"{}\"", self.users.lane_name(pair[0])));
        Vec::new()
    }

    /// Returns the number of these lanes.
    pub(super) fn count_lanes(&self, name: &str) -> usize {
        self.find_lanes(name).len()
    }

    fn find_lanes(&self, name: &str) -> &[LaneId] {
        self.by_name.get(name).or_else(|| self.by_entry.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns one direction of a flow or subflow, or both, or those of all flows of an entry.
    pub(super) fn paths(&self, name: &str, origin: Origin, report: &mut Report<'_>) -> Vec<PathId> {
        for (side, suffix) in [".forward", ".reverse"].into_iter().enumerate() {
            let lanes = name.strip_suffix(suffix).map(|base| self.find_lanes(base)).unwrap_or_default();
            if !lanes.is_empty() {
                return lanes.iter().map(|lane| PathId::both(*lane)[side]).collect();
            }
        }
        self.lanes_named(name, &origin.path(), report).into_iter().flat_map(PathId::both).collect()
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
        format!("the {side} of flow \"{}\"", self.users.lane_name(path.lane()))
    }

    pub(super) fn node(&self, node: NodeId) -> &str {
        self.node_names[node]
    }
}
