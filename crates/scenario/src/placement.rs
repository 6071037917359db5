//! Rejects middleboxes at nodes where they cannot work.

use super::report::{below, path, Report};
use bentpipe_model::ids::{FlowId, LaneId, LinkId, NodeId, PathId};
use bentpipe_model::middlebox::{MiddleboxConfig, Need, Role, Side, Way};
use bentpipe_model::spec::{App, FunctionId, FunctionPair, HalfOfPair, Mtu, Node, NodeKind, Oversize, Scenario};
use bentpipe_tcp::Feedback;
use std::collections::BTreeSet;

/// Rejects middleboxes that need packets that do not pass their node.
pub(super) fn check(scenario: &Scenario, report: &mut Report<'_>) {
    for id in NodeId::all(scenario.nodes.len()) {
        let node = &scenario.nodes[id];
        for (index, middlebox) in node.middleboxes.iter().enumerate() {
            let key = path(["node", &node.name, "middlebox", &index.to_string()]);
            for need in middlebox.needs() {
                match need {
                    Need::Reads => check_reads(node, &key, report),
                    Need::BothWays => check_both_ways(scenario, id, &key, report),
                    Need::Passes(way) => check_way(scenario, id, way, &key, report),
                    Need::Requests => check_asked(scenario, id, &key, report),
                    Need::Corrupted(at) => check_processing(scenario, id, &below(&key, at), report),
                    Need::LinkRate => check_rates(scenario, id, &key, report),
                    Need::FlowEnd => check_end(scenario, id, &below(&key, "role"), report),
                    Need::BeenSatellite => check_been_gateway(scenario, id, &below(&key, "role"), report),
                }
            }
        }
    }
    check_subflows(scenario, report);
    check_pairs(scenario, report);
    check_halves(scenario, report);
    check_reports(scenario, report);
    check_explicit(scenario, report);
}

/// Checks that no subflow passes a middlebox that would lose the options of several paths.
fn check_subflows(scenario: &Scenario, report: &mut Report<'_>) {
    for (id, lane) in LaneId::all(scenario.lanes.len()).zip(&scenario.lanes).filter(|(_, lane)| !lane.name.is_empty()) {
        let passes = |node: NodeId| PathId::both(id).into_iter().any(|path| visits(scenario, path, node));
        for node in NodeId::all(scenario.nodes.len()).filter(|node| passes(*node)) {
            let boxes = &scenario.nodes[node].middleboxes;
            let Some(at) = boxes.iter().position(MiddleboxConfig::needs_one_path) else { continue };
            let (name, flow) = (&scenario.nodes[node].name, &scenario.flows[lane.flow].name);
            let message = format!(
                "passes \"{}\" at \"{name}\", which knows one path only: it would lose the options of the others",
                boxes[at].name()
            );
            let expected = format!("expected a route around \"{name}\", or a flow over one path");
            return report.key(&path(["flow", flow, "subflow", lane.subflow()]), &message, &expected);
        }
    }
}

/// Checks that a flow through the cache requests objects that it may hold.
fn check_asked(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let flows = FlowId::all(scenario.flows.len());
    let passes = |flow: FlowId| {
        let way = &scenario.lane_of(flow).route;
        way.iter().any(|&link| [scenario.links[link].from, scenario.links[link].to].contains(&id))
    };
    // Later routes may lead other flows here.
    let may_change = scenario.timeline.installs().next().is_some();
    if !may_change && !flows.into_iter().any(|flow| scenario.flows[flow].app.catalogue().is_some() && passes(flow)) {
        let message =
            format!("has no objects to keep: no flow past \"{}\" requests named objects", scenario.nodes[id].name);
        let expected = "expected catalogue in an app of kind \"request-response\" or \"page\", like { objects = 40 }";
        report.key(&below(key, "kind"), &message, expected);
    }
}

/// Checks that the node before a link with an MTU can reach the senders of packets that are too large.
fn check_reports(scenario: &Scenario, report: &mut Report<'_>) {
    let reports = |mtu: Mtu| mtu.oversize == Oversize::Report;
    for flow in FlowId::all(scenario.flows.len()).filter(|&flow| scenario.flows[flow].app.has_transport()) {
        let [there, back] = PathId::both(scenario.flows[flow].lane).map(|path| scenario.first_route(path));
        for link in there.iter().map(|&link| &scenario.links[link]).filter(|link| link.mtu.is_some_and(reports)) {
            let passes = |id: &LinkId| [scenario.links[*id].from, scenario.links[*id].to].contains(&link.from);
            if let (Some((name, side)), false) = (link.name.rsplit_once('.'), back.iter().any(passes)) {
                let (node, flow) = (&scenario.nodes[link.from].name, &scenario.flows[flow].name);
                let message = format!("cannot report: the way back of \"{flow}\" does not pass \"{node}\"");
                let expected = "expected reverse_route past that node, or oversize \"drop\" or \"fragment\"";
                report.key(&path(["link", name, side, "mtu"]), &message, expected);
            }
        }
    }
}

/// Checks that two cooperating middleboxes are both there and have matching keys.
fn check_halves(scenario: &Scenario, report: &mut Report<'_>) {
    let pairs = scenario.function_pairs();
    let key_of = |(node, index): FunctionId, key: &str| {
        path(["node", &scenario.nodes[node].name, "middlebox", &index.to_string(), key])
    };
    let function = |(node, index): FunctionId| &scenario.nodes[node].middleboxes[index];
    let mut paired = BTreeSet::new();
    for pair in &pairs {
        let known = (paired.insert(pair.first), paired.insert(pair.second));
        if !known.0 && !known.1 {
            continue;
        }
        let name = &scenario.nodes[pair.first.0].name;
        match (function(pair.first), function(pair.second)) {
            (MiddleboxConfig::Erasure(encoder), MiddleboxConfig::Erasure(decoder))
                if decoder.timeout <= encoder.wait =>
            {
                let message = format!("gives blocks up that \"{name}\" may not have closed");
                let expected = format!("expected more than its wait, {}", encoder.wait);
                report.value(&key_of(pair.second, "timeout"), &message, &expected);
            }
            (MiddleboxConfig::Compress(first), MiddleboxConfig::Compress(second)) if first.scheme != second.scheme => {
                let message = format!("does not read what the compressor of \"{name}\" writes");
                let expected = format!("expected its scheme, \"{}\"", bentpipe_units::Word::name(first.scheme));
                report.value(&key_of(pair.second, "scheme"), &message, &expected);
            }
            _ => {}
        }
    }
    for node in NodeId::all(scenario.nodes.len()) {
        for (index, function) in scenario.nodes[node].middleboxes.iter().enumerate() {
            let Some(half) = HalfOfPair::of(function).filter(|_| !paired.contains(&(node, index))) else { continue };
            let [role, partner] = half.roles;
            let (place, first) = if half.is_first { ("behind", role) } else { ("before", partner) };
            let others = nodes_beside(scenario, node, half);
            let direction = bentpipe_units::Word::name(half.direction);
            let name = &scenario.nodes[node].name;
            let message = format!("has no {partner} {place} \"{name}\" on any route, in the direction \"{direction}\"");
            let expected = match others.as_slice() {
                [] => format!("expected it at a node with others {place} it on a route"),
                names => format!(
                    "expected {{ kind = \"{}\", role = \"{partner}\" }} at one of: {}, and no other {first} between",
                    half.kind,
                    names.join(", ")
                ),
            };
            report.value(&key_of((node, index), "role"), &message, &expected);
        }
    }
    for (at, pair) in pairs.iter().enumerate() {
        let is_beside = |other: &&FunctionPair| (other.kind, other.path) == (pair.kind, pair.path);
        let of_path = || pairs[..at].iter().rev().take_while(is_beside);
        let Some(half) = HalfOfPair::of(function(pair.first)) else { continue };
        let (name, [role, partner]) = (&scenario.nodes[pair.first.0].name, half.roles);
        if let Some(other) = of_path().find(|other| other.first.0 == pair.first.0) {
            let message = format!("acts on packets that middlebox {} of \"{name}\" has changed", other.first.1);
            let expected = format!("expected one {role} for each direction at a node");
            return report.value(&key_of(pair.first, "role"), &message, &expected);
        }
        let meets_first = |second: usize| (pair.first.1 < second) != pair.path.is_back();
        if let Some(other) = of_path().find(|other| other.second.0 == pair.first.0 && meets_first(other.second.1)) {
            let flow = &scenario.flows[scenario.lanes[pair.path.lane()].flow].name;
            let message = format!("meets packets of \"{flow}\" before the {partner} of \"{name}\" does");
            let expected = format!(
                "expected the {partner}, middlebox {}, before it; reverse packets may need a pair with its own direction",
                other.second.1
            );
            return report.value(&key_of(pair.first, "role"), &message, &expected);
        }
    }
}

/// Returns nodes that can read packets on the routes of the packets that `half` acts on: those behind the node for a
/// first half, those before it for a second half.
fn nodes_beside(scenario: &Scenario, node: NodeId, half: HalfOfPair) -> Vec<&str> {
    let first = scenario.paths().map(|path| (path, scenario.first_route(path)));
    let all = first.chain(scenario.timeline.installs().map(|(_, path, route)| (path, route)));
    let mut found = BTreeSet::new();
    for (path, route) in all {
        let side = if path.is_back() { Side::Receiver } else { Side::Sender };
        let ends = |link: &bentpipe_model::ids::LinkId| (scenario.links[*link].from, scenario.links[*link].to);
        if !half.direction.is_from(side) {
            continue;
        }
        if half.is_first {
            found.extend(route.iter().map(ends).skip_while(|link| link.0 != node).map(|link| link.1));
        } else {
            found.extend(route.iter().rev().map(ends).skip_while(|link| link.1 != node).map(|link| link.0));
        }
    }
    let reads = |id: &NodeId| *id != node && scenario.nodes[*id].kind != NodeKind::BentPipe;
    found.into_iter().filter(reads).take(8).map(|id| scenario.nodes[id].name.as_str()).collect()
}

/// Senders with XCP and RCP need feedback from routers: checks that a router with the middlebox feeds a link of the
/// data path.
fn check_explicit(scenario: &Scenario, report: &mut Report<'_>) {
    for id in FlowId::all(scenario.flows.len()).filter(|flow| scenario.flows[*flow].app.has_transport()) {
        let flow = &scenario.flows[id];
        let name = match flow.transport.tcp().map(|tcp| &tcp.feedback) {
            None | Some(Feedback::Off | Feedback::RefwaPlus(_)) => continue,
            Some(Feedback::Xcp(_)) => "xcp",
            Some(Feedback::Rcp(_)) => "rcp",
        };
        let has = |node: NodeId, name: &str| scenario.nodes[node].middleboxes.iter().any(|m| m.name() == name);
        let ways = PathId::both(flow.lane).map(|path| scenario.first_route(path));
        let key = path(["flow", &flow.name, "tcp", "feedback"]);
        let splits = ["split", "satpep", "cache"];
        let nodes = || ways.iter().flat_map(|way| way.iter()).map(|&link| &scenario.links[link]);
        let splitter = nodes().flat_map(|link| [link.from, link.to]).find(|node| splits.iter().any(|s| has(*node, s)));
        if let Some(node) = splitter {
            let node = &scenario.nodes[node].name;
            let message = format!("cannot work on the path of \"{}\": \"{node}\" splits the connection", flow.name);
            return report.value(&key, &message, "expected another sender, or no split on the way");
        }
        // A link that only carries ACKs gives no feedback.
        let of_data = ways.iter().take(if flow.app.is_two_way() { 2 } else { 1 });
        let feeders: BTreeSet<NodeId> =
            of_data.flat_map(|way| way.iter()).map(|&link| scenario.links[link].from).collect();
        if !feeders.is_empty() && !feeders.iter().any(|node| has(*node, name)) {
            let there = ways[0].iter().map(|&link| scenario.links[link].from).take(8);
            let names: Vec<_> = there.map(|node| scenario.nodes[node].name.as_str()).collect();
            let message = format!("follows routers, but no node on the path of \"{}\" has \"{name}\"", flow.name);
            let expected = format!(
                "expected {{ kind = \"{name}\" }} at the node that feeds the narrowest link, one of: {}",
                names.join(", ")
            );
            return report.value(&key, &message, &expected);
        }
    }
}

/// Checks that the node can read packets, for a middlebox that takes them apart.
fn check_reads(node: &Node, key: &[String], report: &mut Report<'_>) {
    if node.kind == NodeKind::BentPipe {
        let message = format!("cannot work at \"{}\": a bent pipe reads no packets", node.name);
        report.key(
            key,
            &message,
            "expected it at a gateway or terminal, or kind = \"router\" or \"processing\" of the node",
        );
    }
}

/// Checks the pairs of SaTPEP gateways: the route of a TCP flow must pass none or two of them.
fn check_pairs(scenario: &Scenario, report: &mut Report<'_>) {
    let is_gateway = |node: &&NodeId| {
        scenario.nodes[**node].middleboxes.iter().any(|middlebox| matches!(middlebox, MiddleboxConfig::SatPep(_)))
    };
    for flow in FlowId::all(scenario.flows.len()).filter(|flow| scenario.flows[*flow].app.has_transport()) {
        let route = &scenario.lane_of(flow).route;
        let nodes: Vec<_> = route
            .first()
            .map(|&link| scenario.links[link].from)
            .into_iter()
            .chain(route.iter().map(|&link| scenario.links[link].to))
            .collect();
        let passed: Vec<_> = nodes.iter().filter(is_gateway).collect();
        let [only] = passed[..] else { continue };
        let node = &scenario.nodes[*only];
        let index = node.middleboxes.iter().position(|middlebox| matches!(middlebox, MiddleboxConfig::SatPep(_)));
        let key = path(["node", &node.name, "middlebox", &index.unwrap_or(0).to_string()]);
        let others: Vec<_> =
            nodes.iter().filter(|other| *other != only).map(|other| scenario.nodes[*other].name.as_str()).collect();
        let name = &scenario.flows[flow].name;
        let message = format!("is the only gateway of SaTPEP on the path of \"{name}\", but a hop needs two");
        return report.key(&key, &message, &format!("expected another at one of: {}", others.join(", ")));
    }
}

/// Whether packets of a path pass a node at some time.
fn visits(scenario: &Scenario, path: PathId, node: NodeId) -> bool {
    let later = scenario.timeline.installs().filter(|(_, of, _)| *of == path).map(|(_, _, route)| route);
    let mut routes = std::iter::once(scenario.first_route(path)).chain(later);
    routes.any(|route| route.iter().any(|&link| scenario.links[link].from == node || scenario.links[link].to == node))
}

/// Checks that a one-way middlebox is on the path of its direction, for at least one TCP flow at some time.
fn check_way(scenario: &Scenario, id: NodeId, direction: Way, key: &[String], report: &mut Report<'_>) {
    let flows = FlowId::all(scenario.flows.len()).filter(|&flow| scenario.flows[flow].app.has_transport());
    let looked_at = |path: &PathId| direction.is_from(if path.is_back() { Side::Receiver } else { Side::Sender });
    let paths: Vec<PathId> =
        flows.flat_map(|flow| scenario.lanes_of(flow)).flat_map(PathId::both).filter(looked_at).collect();
    let is_passed = |node: &NodeId| paths.iter().any(|&path| visits(scenario, path, *node));
    // A flow without simulated TCP may carry that of real programs.
    if paths.is_empty() || is_passed(&id) {
        return;
    }
    let possible: Vec<_> = NodeId::all(scenario.nodes.len()).filter(is_passed).take(8).collect();
    let names: Vec<_> = possible.iter().map(|&node| scenario.nodes[node].name.as_str()).collect();
    let direction = bentpipe_units::Word::name(direction);
    let name = &scenario.nodes[id].name;
    let message = format!("cannot work at \"{name}\": no packets of TCP pass in the direction \"{direction}\"");
    report.key(key, &message, &format!("expected another direction, or it where they pass: {}", names.join(", ")));
}

/// Checks that a middlebox that answers data in the ACKs sees both directions, for at least one flow at some time.
fn check_both_ways(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let visits = |path: PathId, node: NodeId| visits(scenario, path, node);
    let mut half = None;
    for flow in FlowId::all(scenario.flows.len()) {
        // Real packets may be TCP, too.
        if !scenario.flows[flow].app.has_transport() && *scenario.flows[flow].app != App::Port {
            continue;
        }
        let [there, back] = PathId::both(scenario.flows[flow].lane).map(|path| visits(path, id));
        if there && back {
            return;
        }
        half = half.or((there || back).then_some((flow, there)));
    }
    let node = &scenario.nodes[id].name;
    let Some((flow, sees_data)) = half else {
        return report.key(
            key,
            &format!("cannot work at \"{node}\": no flow with TCP passes"),
            "expected it at a node on the way of one",
        );
    };
    let both = |node: &NodeId| PathId::both(scenario.flows[flow].lane).into_iter().all(|path| visits(path, *node));
    let possible: Vec<_> =
        NodeId::all(scenario.nodes.len()).filter(both).map(|node| scenario.nodes[node].name.as_str()).collect();
    let (seen, unseen) = if sees_data { ("data", "ACKs") } else { ("ACKs", "data") };
    report.key(
        key,
        &format!("cannot work at \"{node}\": {seen} of \"{}\" pass, its {unseen} do not", scenario.flows[flow].name),
        &format!("expected it where both do: {}", possible.join(", ")),
    );
}

/// Checks that a middlebox for corrupted packets is at a processing node: other nodes drop them.
fn check_processing(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let node = &scenario.nodes[id];
    if node.kind == NodeKind::Processing {
        return;
    }
    let kind = if node.kind == NodeKind::BentPipe {
        "forwards corrupted packets without reading them"
    } else {
        "drops corrupted packets without reading them"
    };
    let message = format!("cannot work at \"{}\", which {kind}", node.name);
    report.value(
        key,
        &message,
        &format!("expected node.{}.kind = \"processing\", or another node of that kind", node.name),
    );
}

/// Checks that a middlebox that needs the rates of its links is not before a medium.
fn check_rates(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let shared = scenario.links.iter().filter(|link| link.from == id);
    let Some((link, terminal)) = shared.filter_map(|link| Some((link, link.terminal.as_ref()?))).next() else { return };
    let medium = &scenario.media[terminal.medium].name;
    let message = format!("needs the rate of \"{}\", which is in medium \"{medium}\"", link.name);
    report.key(&below(key, "kind"), &message, "expected it at a node whose links have a rate");
}

/// Checks that a middlebox that echoes for receivers is at a node where flows end.
fn check_end(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let ends: BTreeSet<NodeId> = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    if ends.contains(&id) {
        return;
    }
    let names: Vec<_> = ends.iter().take(8).map(|node| scenario.nodes[*node].name.as_str()).collect();
    let message = format!("echoes for receivers, but no flow ends at \"{}\"", scenario.nodes[id].name);
    report.value(key, &message, &format!("expected it at a node where one does: {}", names.join(", ")));
}

/// Checks that a gateway of this protocol sends directly to a recording satellite.
fn check_been_gateway(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let first = scenario.paths().map(|path| scenario.first_route(path));
    let all = first.chain(scenario.timeline.installs().map(|(_, _, route)| route));
    let links = all.flatten().map(|&link| &scenario.links[link]);
    let is_up = |node: NodeId| scenario.has_been(node, Role::Satellite);
    let possible: BTreeSet<NodeId> = links.filter(|link| is_up(link.to)).map(|link| link.from).collect();
    if possible.contains(&id) {
        return;
    }
    let names: Vec<_> =
        possible.iter().filter(|node| !is_up(**node)).map(|node| scenario.nodes[*node].name.as_str()).collect();
    let expected = match names.as_slice() {
        [] => "expected { kind = \"been\", role = \"satellite\" } at the next node of a route".to_owned(),
        names => format!("expected it at a node before one: {}", names.join(", ")),
    };
    let message = format!("has no satellite with BEEN next to \"{}\" on any route", scenario.nodes[id].name);
    report.value(key, &message, &expected);
}
