//! Writes links and changes of routes in the form of a file.

use super::changes::{changes, joined, WrittenSky};
use super::detours::detours;
use super::drawn::{beam, made, seconds, Drawn, Ends, Spans};
use super::names::names_of;
use super::radio::{Weather, Wrong};
use super::several::Uses;
use crate::keys::Sky as Keys;
use crate::tree::{Place, Tree, Value};
use bentpipe_model::spec::Waiting;
use bentpipe_orbit::sky::distance;
use bentpipe_orbit::sky::earth::LIGHT_KM_S;
use bentpipe_orbit::sky::links::Topology;
use bentpipe_orbit::sky::scene::Sky;
use serde_json::{json, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// Largest error of the linear interpolation between the points of a delay, in s.
const ERROR: f64 = 0.5e-6;
/// Time between samples of links to the ground, and of links between satellites, whose length bends less, in s. Linear
/// interpolation between them is off by about 0.2 us in low orbits.
const SAMPLES: (f64, f64) = (2.0, 10.0);
/// Rate of links without their own transmission.
const UNLIMITED: &str = "100 Gbit/s";

/// Returns the rule for packets that wait at a satellite. Packets for a bent pipe, which has no queue, wait on the
/// ground.
pub(super) fn waiting(keys: &Keys, sky: &Sky) -> Waiting {
    match (keys.waiting, &sky.links.topology) {
        (None | Some(Waiting::Kept), Topology::None) => Waiting::Moved,
        (waiting, _) => waiting.unwrap_or(Waiting::Lost),
    }
}

/// Writes links of all constellations and routes of flows into `tree`.
///
/// # Errors
///
/// An impossible radio link, with its constellation and the reason.
pub(super) fn write(tree: &mut Tree, all: &[Drawn<'_>], uses: &Uses) -> Result<(), (usize, Wrong)> {
    let mut written = Vec::new();
    for (number, drawn) in all.iter().enumerate() {
        let names = names_of(drawn.constellation, drawn.keys, drawn.sky);
        let (used, detours) = (path_times(drawn), detours(drawn));
        let mut spans = used.clone();
        for detour in &detours {
            detour.links(drawn).for_each(|ends| spans.entry(ends).or_default().push(detour.span_s));
        }
        spans.values_mut().for_each(|spans| *spans = joined(spans));
        write_links(tree, drawn, &names, &spans).map_err(|wrong| (number, wrong))?;
        written.push(WrittenSky { drawn, names, links: spans.into_keys().collect(), uses: used, detours });
    }
    write_routes(tree, &written, uses);
    let changes = changes(&written, uses);
    let Some(table) = tree.table_mut() else { return Ok(()) };
    if let Value::List(list) = &mut table.entry("at".into()).or_insert_with(|| made(&json!([]))).value {
        list.extend(changes.iter().map(made));
    }
    Ok(())
}

/// Writes the links that packets of a constellation use at these times, and the satellites with middleboxes.
fn write_links(tree: &mut Tree, drawn: &Drawn<'_>, names: &[String], spans: &Spans) -> Result<(), Wrong> {
    let mut air = Weather::new(drawn);
    let mut links = Vec::new();
    let mut nodes = BTreeSet::new();
    for (&ends, spans) in spans {
        links.extend(link(drawn, &mut air, names, ends, spans)?);
        nodes.extend([ends.0, ends.1].into_iter().filter(|node| (*node as usize) < drawn.sky.satellites()));
    }
    let serving = spans.keys().filter(|ends| drawn.is_user(**ends)).map(|ends| names[ends.1 as usize].as_str());
    drawn.media.write(&serving.collect(), tree);
    let Some(table) = tree.table_mut() else { return Ok(()) };
    let own = |table: &mut BTreeMap<String, Tree>, key: &str, name: String, made: Tree| {
        if let Some(known) = table.entry(key.into()).or_insert_with(Tree::empty).table_mut() {
            known.entry(name).or_insert(made);
        }
    };
    for (name, made) in links {
        own(table, "link", name, made);
    }
    let keys = [("on_board", "kind"), ("middlebox", "middlebox")];
    let satellite: BTreeMap<String, Tree> =
        keys.iter().filter_map(|(key, own)| Some(((*own).to_owned(), drawn.raw.get(key)?.clone()))).collect();
    for node in nodes.into_iter().filter(|_| !satellite.is_empty()) {
        let made = Tree::new(Value::Table(satellite.clone()), Place::Default(Some("sky".into())));
        own(table, "node", names[node as usize].clone(), made);
    }
    Ok(())
}

/// Writes the first route of each flow.
fn write_routes(tree: &mut Tree, all: &[WrittenSky<'_>], uses: &Uses) {
    let Some(table) = tree.table_mut() else { return };
    for over in all.first().map_or(&[][..], |one| &one.drawn.ground.flows) {
        let WrittenSky { drawn, names, .. } = &all[uses[over.pair][0].1];
        let first = drawn.paths[over.pair].changes.iter().find(|change| !change.nodes.is_empty());
        let way = drawn.way(names, over, first.map_or(&[], |change| &change.nodes));
        let flow = over.at.iter().try_fold(table.get_mut("flow"), |tree, key| Some(tree?.table_mut()?.get_mut(key)));
        if let Some(flow) = flow.flatten().and_then(Tree::table_mut) {
            let reverse: Vec<&String> = way.iter().rev().collect();
            flow.entry("reverse_route".into()).or_insert_with(|| made(&json!(reverse)));
            flow.insert("route".into(), made(&json!(way)));
        }
    }
}

/// Returns the times in s when each link is on a path.
fn path_times(drawn: &Drawn<'_>) -> Spans {
    let mut spans = Spans::new();
    for path in drawn.paths {
        for (number, change) in path.changes.iter().enumerate() {
            let span = (change.at_s, drawn.until(path, number));
            for pair in change.nodes.windows(2) {
                spans.entry(drawn.ends(pair[0], pair[1])).or_default().push(span);
            }
        }
    }
    for spans in spans.values_mut() {
        *spans = joined(spans);
    }
    spans
}

/// Returns a link, or two links if places share a satellite's rate.
fn link(
    drawn: &Drawn<'_>,
    air: &mut Weather,
    names: &[String],
    ends: Ends,
    spans: &[(f64, f64)],
) -> Result<Vec<(String, Tree)>, Wrong> {
    let [from, to] = [ends.0, ends.1].map(|node| &names[node as usize]);
    let keys = drawn.keys;
    let (key, hop, rates) = match (drawn.is_satellite(ends.0), drawn.is_satellite(ends.1)) {
        (true, _) => ("inter_satellite", &keys.inter_satellite, ["10 Gbit/s"; 2]),
        (_, false) => ("fibre", &keys.fibre, ["10 Gbit/s"; 2]),
        _ if drawn.is_gateway(ends.0) => ("feeder", &keys.feeder, ["1 Gbit/s"; 2]),
        _ => ("user", &keys.user, ["20 Mbit/s", "100 Mbit/s"]),
    };
    let delay = made(&delay(drawn, ends, spans));
    let mut like = rated(drawn.raw.get(key).cloned().unwrap_or_else(Tree::empty), rates);
    air.put(drawn, key, hop, ends, spans, &mut like)?;
    if drawn.is_user(ends) {
        drawn.media.enter(to, &mut like);
    }
    if drawn.is_shared(ends) {
        let beam = beam(to);
        let up = between(made(&json!({ "rate": UNLIMITED })), from, &beam, delay);
        let shared = between(like, &beam, to, made(&json!("0 s")));
        return Ok(vec![(drawn.link_name(names, ends), up), (format!("{beam}~{to}"), shared)]);
    }
    Ok(vec![(drawn.link_name(names, ends), between(like, from, to, delay))])
}

fn between(mut link: Tree, from: &str, to: &str, delay: Tree) -> Tree {
    if let Some(table) = link.table_mut() {
        table.extend([("from".into(), made(&json!(from))), ("to".into(), made(&json!(to))), ("delay".into(), delay)]);
    }
    link
}

/// Sets the default rates of a link without a rate and without a medium.
fn rated(mut link: Tree, rates: [&str; 2]) -> Tree {
    let sides = ["forward", "reverse"];
    let has_own = |keys: &Tree| keys.get("rate").is_some() || keys.get("medium").is_some();
    let has = |link: &Tree, side: &str| link.get(side).is_some_and(has_own);
    if has_own(&link) {
        return link;
    }
    for (side, rate) in sides.into_iter().zip(rates) {
        if !has(&link, side) {
            let direction = link.table_mut().map(|table| table.entry(side.into()).or_insert_with(Tree::empty));
            if let Some(direction) = direction.and_then(Tree::table_mut) {
                direction.insert("rate".into(), made(&json!(rate)));
            }
        }
    }
    link
}

/// Returns the delay of a link while it is in use. Its value at other times does not matter.
fn delay(drawn: &Drawn<'_>, ends: Ends, spans: &[(f64, f64)]) -> Json {
    if !drawn.is_satellite(ends.1) {
        let place = |node: u32| node as usize - drawn.sky.satellites();
        let both = [(place(ends.0), place(ends.1)), (place(ends.1), place(ends.0))];
        let cable = drawn.sky.cables.iter().find(|cable| both.contains(&(cable.a, cable.b)));
        return seconds(cable.map_or(0.0, |cable| cable.delay_s)).into();
    }
    let step = if drawn.is_satellite(ends.0) { SAMPLES.1 } else { SAMPLES.0 };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (from, until) in spans {
        let count = ((until - from) / step).ceil().max(1.0) as u64;
        let times = (0..=count).map(|k| (from + k as f64 * step).min(*until));
        let samples: Vec<(f64, f64)> = times.filter_map(|t| Some((t, light(drawn.sky, ends, t)?))).collect();
        let thin = thinned(&samples);
        let is_after = |point: &&(f64, f64)| points.last().is_none_or(|last| last.0 < point.0);
        let thin: Vec<(f64, f64)> = thin.iter().filter(is_after).copied().collect();
        points.extend(thin);
    }
    if let Some(first) = points.first_mut().filter(|first| first.0 > 0.0) {
        let first = (0.0, first.1);
        points.insert(0, first);
    }
    let written: Vec<[String; 2]> = points.iter().map(|(t, delay)| [seconds(*t), seconds(*delay)]).collect();
    match written.iter().all(|point| point[1] == written[0][1]) {
        true => written.first().map_or_else(|| seconds(0.0), |first| first[1].clone()).into(),
        false => json!({ "points": written, "interpolate": "linear" }),
    }
}

/// Returns the delay between two nodes in s.
fn light(sky: &Sky, (a, b): Ends, t: f64) -> Option<f64> {
    Some(distance(sky.position(a, t)?, sky.position(b, t)?) / LIGHT_KM_S)
}

/// Returns a subset of the samples that keeps the error of linear interpolation within the limit.
fn thinned(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(first) = samples.first() else { return Vec::new() };
    let mut kept = vec![*first];
    let (mut anchor, mut end) = (0, 1);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut next = 1;
    while next < samples.len() {
        let (t, delay) = (samples[next].0 - samples[anchor].0, samples[next].1 - samples[anchor].1);
        if (low..=high).contains(&(delay / t)) {
            (low, high, end) = (low.max((delay - ERROR) / t), high.min((delay + ERROR) / t), next);
            next += 1;
        } else {
            kept.push(samples[end]);
            (anchor, next, low, high) = (end, end + 1, f64::NEG_INFINITY, f64::INFINITY);
        }
    }
    kept.extend(samples.get(end.max(anchor + 1)));
    kept
}
