//! Functions at nodes where they cannot work.

use super::report::{below, path, Report};
use crate::ids::{NodeId, PathId};
use crate::middlebox::{BeenConfig, EtenConfig, EtenRole, MiddleboxConfig, Role};
use crate::spec::{NodeKind, Scenario};
use std::collections::BTreeSet;

/// Refuses functions that need to see what does not come to their node.
pub(super) fn check(scenario: &Scenario, report: &mut Report<'_>) {
    for id in NodeId::all(scenario.nodes.len()) {
        let node = &scenario.nodes[id];
        for (index, middlebox) in node.middleboxes.iter().enumerate() {
            let key = path(["node", &node.name, "middlebox", &index.to_string()]);
            match middlebox {
                MiddleboxConfig::Been(been) => match been.role {
                    Role::Satellite => check_processing(scenario, id, &below(&key, "role"), report),
                    Role::Gateway => check_been_gateway(scenario, id, &below(&key, "role"), report),
                },
                MiddleboxConfig::Eten(EtenConfig { role: EtenRole::Receiver, .. }) => {
                    check_end(scenario, id, &below(&key, "role"), report);
                }
                MiddleboxConfig::Eten(_) | MiddleboxConfig::Eln(_) | MiddleboxConfig::Dpsm(_) => {
                    check_processing(scenario, id, &below(&key, "kind"), report);
                }
                MiddleboxConfig::AckFilter(_) | MiddleboxConfig::Impair(_) => {}
            }
        }
    }
}

/// What works with corrupted packets sees them at a processing node alone.
fn check_processing(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let node = &scenario.nodes[id];
    if node.kind == NodeKind::Processing {
        return;
    }
    let kind = if node.kind == NodeKind::BentPipe {
        "passes corrupted packets on unseen"
    } else {
        "drops corrupted packets unseen"
    };
    let message = format!("cannot work at \"{}\", which {kind}", node.name);
    report.value(
        key,
        &message,
        &format!("expected node.{}.kind = \"processing\", or another node of that kind", node.name),
    );
}

/// What echoes for receivers stands where flows end.
fn check_end(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let ends: BTreeSet<NodeId> = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    if ends.contains(&id) {
        return;
    }
    let names: Vec<_> = ends.iter().take(8).map(|node| scenario.nodes[*node].name.as_str()).collect();
    let message = format!("echoes for receivers, and no flow ends at \"{}\"", scenario.nodes[id].name);
    report.value(key, &message, &format!("expected it at a node where one does: {}", names.join(", ")));
}

/// A gateway sends straight to a satellite that records.
fn check_been_gateway(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let first = PathId::all(2 * scenario.flows.len()).map(|path| scenario.first_route(path));
    let all = first.chain(scenario.timeline.installs().map(|(_, _, route)| route));
    let links = all.flatten().map(|&link| &scenario.links[link]);
    let is_up = |node: NodeId| BeenConfig::is_at(&scenario.nodes[node].middleboxes, Role::Satellite);
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
