//! Functions at nodes where they cannot work.

use super::report::{path, Report};
use crate::ids::{FlowId, NodeId, PathId};
use crate::middlebox::MiddleboxConfig;
use crate::spec::Scenario;

/// Refuses functions that need to see what does not come to their node.
pub(super) fn check(scenario: &Scenario, report: &mut Report<'_>) {
    for id in NodeId::all(scenario.nodes.len()) {
        let node = &scenario.nodes[id];
        for (index, middlebox) in node.middleboxes.iter().enumerate() {
            let key = path(["node", &node.name, "middlebox", &index.to_string()]);
            match middlebox {
                MiddleboxConfig::Refwa(_) => check_both_ways(scenario, id, &key, report),
                MiddleboxConfig::AckFilter(_) | MiddleboxConfig::Impair(_) => {}
            }
        }
    }
}

/// What answers data in the ACKs has to see both: of one flow at least, at some time.
fn check_both_ways(scenario: &Scenario, id: NodeId, key: &[String], report: &mut Report<'_>) {
    let visits = |path: PathId, node: NodeId| {
        let later = scenario.timeline.installs().filter(|(_, of, _)| *of == path).map(|(_, _, route)| route);
        let mut routes = std::iter::once(scenario.first_route(path)).chain(later);
        routes
            .any(|route| route.iter().any(|&link| scenario.links[link].from == node || scenario.links[link].to == node))
    };
    let mut half = None;
    for flow in FlowId::all(scenario.flows.len()) {
        if !scenario.flows[flow].app.has_transport() {
            continue;
        }
        let [there, back] = PathId::both(flow).map(|path| visits(path, id));
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
    let both = |node: &NodeId| PathId::both(flow).into_iter().all(|path| visits(path, *node));
    let possible: Vec<_> =
        NodeId::all(scenario.nodes.len()).filter(both).map(|node| scenario.nodes[node].name.as_str()).collect();
    let (seen, unseen) = if sees_data { ("data", "ACKs") } else { ("ACKs", "data") };
    report.key(
        key,
        &format!("cannot work at \"{node}\": {seen} of \"{}\" pass, its {unseen} do not", scenario.flows[flow].name),
        &format!("expected it where both do: {}", possible.join(", ")),
    );
}
