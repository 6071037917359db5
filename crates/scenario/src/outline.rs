//! Outline of a scenario for drawings: nodes, links over time, and routes, as plain data.

use bentpipe_model::ids::{LaneId, LinkId, NodeId, PathId};
use bentpipe_model::middlebox::MiddleboxConfig;
use bentpipe_model::spec::{Downtimes, Profile, Scenario};
use bentpipe_units::{Duration, Time, Word};
use serde_json::{json, Value};

/// Returns nodes, links and flows for drawings, with times in seconds and rates in bit/s.
pub fn network(scenario: &Scenario) -> Value {
    let node = |node: NodeId| scenario.nodes[node].name.as_str();
    let names = |route: &[LinkId]| route.iter().map(|&link| scenario.links[link].name.as_str()).collect::<Vec<_>>();
    let nodes = scenario.nodes.iter().map(|node| {
        let boxes: Vec<&str> = node.middleboxes.iter().map(MiddleboxConfig::name).collect();
        json!({ "node": node.name, "kind": node.kind.name(), "middleboxes": boxes })
    });
    let absences = scenario.timeline.absences();
    let links = LinkId::all(scenario.links.len()).zip(&scenario.links).map(|(id, link)| {
        let away = absences.get(&id).into_iter().flatten();
        json!({
            "link": link.name,
            "from": node(link.from),
            "to": node(link.to),
            "rate_bps": profile(&link.rate, |rate| rate.as_bps() as f64),
            "delay_s": profile(&link.delay, |delay| delay.as_secs_f64()),
            "outage": link.outage.as_ref().map(|outage| match &outage.when {
                Downtimes::Spans { spans, period } => json!({
                    "spans_s": spans.iter().map(|(from, to)| span(*from, *to)).collect::<Vec<_>>(),
                    "period_s": period.map(Duration::as_secs_f64),
                }),
                Downtimes::Random { mean_up, mean_down } => {
                    json!({ "mean_up_s": mean_up.as_secs_f64(), "mean_down_s": mean_down.as_secs_f64() })
                }
            }),
            "away_s": away.map(|absence| span(absence.from, absence.to)).collect::<Vec<_>>(),
        })
    });
    let changes = scenario.timeline.routes();
    let way = |id: LaneId, name: &str| {
        let later = |path: PathId| {
            let later = changes.get(&path).into_iter().flatten();
            later
                .map(|(at, route)| json!({ "time_s": at.as_secs_f64(), "route": route.map(names) }))
                .collect::<Vec<_>>()
        };
        let lane = &scenario.lanes[id];
        let flow = &scenario.flows[lane.flow];
        json!({
            "flow": name,
            "from": node(flow.from),
            "to": node(flow.to),
            "route": names(&lane.route),
            "reverse_route": names(&lane.reverse_route),
            "routes_later": later(PathId::there(id)),
            "reverse_routes_later": later(PathId::back(id)),
        })
    };
    let flows = scenario.flows.iter().map(|flow| way(flow.lane, &flow.name));
    let lanes = LaneId::all(scenario.lanes.len()).zip(&scenario.lanes);
    let subflows = lanes.filter(|(_, lane)| !lane.name.is_empty()).map(|(id, lane)| {
        let mut way = way(id, &lane.name);
        way["subflow_of"] = scenario.flows[lane.flow].name.as_str().into();
        way
    });
    json!({
        "duration_s": scenario.duration.as_secs_f64(),
        "nodes": nodes.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "flows": flows.collect::<Vec<_>>(),
        "subflows": subflows.collect::<Vec<_>>(),
    })
}

/// Start and end. A null end: for good.
fn span(from: Time, to: Time) -> [Option<f64>; 2] {
    [Some(from.as_secs_f64()), Some(to).filter(|&to| to != Time::NEVER).map(Time::as_secs_f64)]
}

fn profile<T: Copy>(profile: &Profile<T>, number: impl Fn(T) -> f64) -> Value {
    let (points, linear, period) = match profile {
        Profile::Constant(value) => (vec![(Time::ZERO, *value)], false, None),
        Profile::Points { points, linear, period } => (points.clone(), *linear, *period),
    };
    let (times, values): (Vec<f64>, Vec<f64>) =
        points.into_iter().map(|(at, value)| (at.as_secs_f64(), number(value))).unzip();
    json!({ "times_s": times, "values": values, "linear": linear, "period_s": period.map(Duration::as_secs_f64) })
}
