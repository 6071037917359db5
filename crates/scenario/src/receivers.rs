//! Flows with several receivers: each receiver of the list is an instance, and receives the datagrams of the first.

use super::instances::Instance;
use super::keys::{self, File};
use super::report::{path, Report};
use bentpipe_model::ids::FlowId;
use bentpipe_model::spec::{receivers_by_flow, Change, Flow, FunctionPair, Lane, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// Joins receivers to the flow whose datagrams they receive.
pub(super) fn join(
    file: &File,
    instances: &[Instance<'_>],
    (flows, lanes): (&mut [Flow], &[Lane]),
    report: &mut Report<'_>,
) {
    if instances.iter().all(|instance| instance.copy_of.is_none()) {
        return;
    }
    let names: BTreeMap<&str, FlowId> =
        FlowId::all(instances.len()).zip(instances).map(|(id, instance)| (instance.name.as_str(), id)).collect();
    let mut said = BTreeSet::new();
    for (id, instance) in FlowId::all(instances.len()).zip(instances) {
        let Some(name) = &instance.copy_of else { continue };
        let key = path(["flow", instance.entry, "copy_of"]);
        let first = names.get(name.as_str()).copied();
        let wrong = match first {
            None => Some((format!("is not a flow: no flow has the name \"{name}\""), "expected the name of a flow")),
            Some(first) if first == id || instances[first].copy_of.is_some() => {
                let expected = "expected a flow that sends its own datagrams";
                Some((format!("is a receiver itself: \"{name}\" sends nothing"), expected))
            }
            Some(first) => difference([first, id].map(|flow| &flows[flow]), lanes).map(|(differs, expected)| {
                (format!("cannot work: {differs} differs from that of \"{name}\""), expected)
            }),
        };
        if let Some((message, expected)) = wrong {
            if said.insert(instance.entry) {
                report.value(&key, &message, expected);
            }
            continue;
        }
        flows[id].copy_of = first;
    }
    for (entry, flow) in &file.flow {
        let app =
            instances.iter().zip(&*flows).find(|(instance, _)| instance.entry == entry).map(|(_, flow)| &flow.app);
        let has_several = flow.to.is_list() || flow.copy_of.is_some();
        if let Some(app) = app.filter(|app| has_several && !app.is_for_many()) {
            let message = format!("cannot have several receivers: \"{}\" is between two hosts", app.kind());
            let expected = "expected datagrams without answers, like { kind = \"cbr\", rate = \"1 Mbit/s\" }";
            report.value(&path(["flow", entry, "app"]), &message, expected);
        }
    }
}

/// Returns the first key that must be equal and is not, and a remedy.
fn difference([first, other]: [&Flow; 2], lanes: &[Lane]) -> Option<(&'static str, &'static str)> {
    let keys = [
        ("from", first.from == other.from),
        ("app", first.app == other.app),
        ("start", first.start == other.start),
        ("class", lanes[first.lane].class == lanes[other.lane].class),
    ];
    let differs = keys.into_iter().find(|(_, is_equal)| !is_equal)?.0;
    Some((differs, "expected the same value in both flows"))
}

/// Checks the paths of flows with several receivers: their tree is that of the start of the run.
pub(super) fn check(scenario: &Scenario, entries: &BTreeMap<&str, &str>, report: &mut Report<'_>) {
    let all: BTreeSet<FlowId> = receivers_by_flow(&scenario.flows).into_values().flatten().collect();
    let key = |flow: FlowId| {
        let name = scenario.flows[flow].name.as_str();
        path(["flow", entries.get(name).copied().unwrap_or(name), "to"])
    };
    let is_of = |flow: FlowId, change: &Change| match change {
        Change::Install { path, .. } | Change::Withdraw(path) => scenario.lanes[path.lane()].flow == flow,
        Change::Down { link, .. } | Change::Up(link) => scenario.lane_of(flow).route.contains(link),
    };
    let changes = &scenario.timeline.changes;
    if let Some(&flow) = all.iter().find(|&&flow| changes.iter().any(|(_, change)| is_of(flow, change))) {
        let message = format!("has several receivers, and the path to \"{}\" changes", scenario.flows[flow].name);
        report.value(&key(flow), &message, "expected one receiver, or paths that stay: use outage for an interruption");
        return;
    }
    let flow_of = |pair: &FunctionPair| scenario.lanes[pair.path.lane()].flow;
    let coded =
        scenario.function_pairs().into_iter().find(|pair| pair.kind == "erasure" && all.contains(&flow_of(pair)));
    if let Some(pair) = coded {
        let node = &scenario.nodes[pair.first.0].name;
        let message = format!("has several receivers behind the encoder at \"{node}\", which works for one decoder");
        report.value(&key(flow_of(&pair)), &message, "expected one receiver, or no erasure code on the path");
    }
}

impl keys::Receivers {
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::Several(_))
    }

    /// Returns the receivers as written.
    pub(super) fn written(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}
