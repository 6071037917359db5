//! Random networks in which some flows have several paths, beside flows over TCP.

use super::draw::Dice;
use super::random::Sketch;
use bentpipe_cc::CcKind;
use bentpipe_model::ids::{FlowId, LaneId, LinkId, NodeId, PathId};
use bentpipe_model::middlebox::MiddleboxConfig;
use bentpipe_model::spec::{App, Change, Flow, Lane, Link, Multi, Scenario, Subflow, Transport};
use bentpipe_tcp::multi::{MultiConfig, ReinjectOn};
use bentpipe_tcp::{AckPolicy, Config, Feedback};
use bentpipe_units::{Duration, Stream, Time};
use std::sync::Arc;

/// Returns the sketch's scenario with several paths for some of its flows: at least for one, if its application allows.
pub(super) fn of(sketch: &Sketch) -> Scenario {
    let mut scenario = sketch.scenario();
    let mut dice = Dice::new(Stream::new(sketch.seed, "scenario", "paths"));
    let before = std::mem::take(&mut scenario.lanes);
    let mut has_any = false;
    for flow in FlowId::all(scenario.flows.len()) {
        let first = LaneId::new(scenario.lanes.len());
        let mut lane = before[scenario.flows[flow].lane].clone();
        scenario.flows[flow].lane = first;
        let (app, can_join) = (&scenario.flows[flow].app, dice.below(3) > 0 || !has_any);
        if !can_join || !app.has_transport() || matches!(**app, App::Records(_)) {
            scenario.lanes.push(lane);
            continue;
        }
        has_any = true;
        let count = 2 + dice.below(2) as usize;
        let multi = multi(sketch, &scenario.flows[flow], count, &mut dice);
        (scenario.flows[flow].transport, scenario.flows[flow].reader) = (Transport::Multi(Arc::new(multi)), None);
        for subflow in 0..count {
            if subflow > 0 {
                let (route, back) = another_path(sketch, flow, &scenario.flows[flow], &mut scenario.links, &mut dice);
                (lane.route, lane.reverse_route, lane.class) = (route.into(), back.into(), dice.below(4) as u8);
            }
            lane.name = format!("{}.s{subflow}", scenario.flows[flow].name);
            scenario.lanes.push(lane.clone());
        }
    }
    change_paths(&mut scenario, &before, sketch.seconds, &mut dice);
    for node in &mut scenario.nodes {
        node.middleboxes.retain(|function| !has_any || !MiddleboxConfig::needs_one_path(function));
    }
    scenario
}

fn multi(sketch: &Sketch, flow: &Flow, count: usize, dice: &mut Dice) -> Multi {
    let mut config: MultiConfig = dice.value("multipath");
    // Few of the changes of a network would end a connection within its seconds.
    if Dice::new(Stream::new(sketch.seed, "scenario", "returns")).below(3) == 0 {
        config.reinject.on = ReinjectOn::Told;
        config.rejoin.withdraw = true;
    }
    let tcp = flow.transport.tcp().expect("all flows of a sketch have TCP");
    let reno = [CcKind::Reno, CcKind::NewReno, CcKind::Sack];
    let are_reno = dice.coin();
    let mut of_subflow = |number: usize| {
        let mut tcp = if dice.coin() { (**tcp).clone() } else { sketch.tcp(dice) };
        if are_reno {
            let cc = *dice.pick(&reno);
            (tcp.cc, tcp.recovery) = (cc.into(), cc.recovery());
        }
        let later = number > 0;
        let start = if later { dice.ms(&[0, 0, 50, 900]) } else { Duration::ZERO };
        (tcp, start, later && dice.below(4) == 0)
    };
    let drawn: Vec<_> = (0..count).map(&mut of_subflow).collect();
    if drawn.iter().any(|(tcp, ..)| tcp.feedback != Feedback::Off) {
        config.receive_buffer = config.receive_buffer.min(1 << 20);
    }
    config.auto_buffer = dice.coin().then_some(config.receive_buffer.min(1 << 14));
    let adapted = |tcp: Config| {
        Arc::new(Config {
            handshake: true,
            fast_open: None,
            transactions: None,
            sharing: None,
            careful_resume: None,
            // Its option has no room beside MP_JOIN and others of a SYN.
            ack: AckPolicy { congestion_control: false, ..tcp.ack },
            receive_buffer: config.receive_buffer,
            auto_buffer: config.auto_buffer,
            ..tcp
        })
    };
    let subflows = drawn.into_iter().map(|(tcp, start, is_backup)| Subflow { tcp: adapted(tcp), start, is_backup });
    Multi { subflows: subflows.collect(), tcp: adapted((**tcp).clone()), config: Arc::new(config) }
}

/// Returns another path of a flow, there and back: over two new links, or over those that there are.
fn another_path(
    sketch: &Sketch,
    id: FlowId,
    flow: &Flow,
    links: &mut Vec<Link>,
    dice: &mut Dice,
) -> (Vec<LinkId>, Vec<LinkId>) {
    let ends: Vec<(usize, usize)> = links.iter().map(|link| (link.from.index(), link.to.index())).collect();
    let [from, to] = [flow.from, flow.to].map(NodeId::index);
    let found = [dice.way(&ends, from, to), dice.way(&ends, to, from)];
    if dice.below(3) == 0 && found.iter().all(|way| !way.is_empty()) {
        let [route, back] = found;
        return (route, back);
    }
    let first = LinkId::new(links.len());
    let base = dice.base();
    let name = format!("{}.p{}", flow.name, id.index() + links.len());
    links.push(sketch.link(format!("{name}.forward"), flow.from, flow.to, &base, dice));
    links.push(sketch.link(format!("{name}.reverse"), flow.to, flow.from, &base, dice));
    (vec![first], vec![LinkId::new(first.index() + 1)])
}

/// The timeline knows the new lanes, and paths come and go.
fn change_paths(scenario: &mut Scenario, before: &[Lane], seconds: u64, dice: &mut Dice) {
    let Scenario { flows, lanes, links, timeline, .. } = scenario;
    let moved = |path: PathId| {
        let lane = flows[before[path.lane().index()].flow].lane;
        PathId::both(lane)[usize::from(path.is_back())]
    };
    for (_, change) in &mut timeline.changes {
        match change {
            Change::Withdraw(path) | Change::Install { path, .. } => *path = moved(*path),
            Change::Up(_) | Change::Down { .. } => {}
        }
    }
    if timeline.changes.is_empty() {
        return;
    }
    let ends: Vec<(usize, usize)> = links.iter().map(|link| (link.from.index(), link.to.index())).collect();
    for lane in LaneId::all(lanes.len()).filter(|lane| !lanes[*lane].name.is_empty()) {
        for path in PathId::both(lane) {
            for _ in 0..dice.below(3) {
                let at = Time::ZERO + Duration::from_millis(50 * dice.below(1 + 20 * seconds));
                let flow = &flows[lanes[lane].flow];
                let [from, to] = if path.is_back() { [flow.to, flow.from] } else { [flow.from, flow.to] };
                let route = dice.way(&ends, from.index(), to.index());
                let change = match dice.coin() || route.is_empty() {
                    true => Change::Withdraw(path),
                    false => Change::Install { path, route },
                };
                timeline.changes.push((at, change));
            }
        }
    }
    let order = |change: &Change| match change {
        Change::Up(_) => 0,
        Change::Withdraw(_) => 1,
        Change::Install { .. } => 2,
        Change::Down { .. } => 3,
    };
    timeline.changes.sort_by_key(|(at, change)| (*at, order(change)));
}
