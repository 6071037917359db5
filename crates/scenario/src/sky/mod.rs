//! Replaces `[sky]` by links and changes before the rest of the scenario is read.
//!
//! The links are those that flows use, with delays that follow the geometry. Tables `[[at]]` contain the changes of
//! routes. Other modules of the simulator do not know satellites.
//!
//! - `day`: the day of a run and of each replication
//! - `several`: the constellations, and the constellation that each flow uses
//! - `ground`: the nodes that are places
//! - `scene`, `failing`: the sky of the keys, and its failures
//! - `gaps`: times without a path, with reasons
//! - `kept`: the paths that were found last
//! - `radio`, `gauge`: attenuation by air and rain, and rain from files
//! - `media`: media of the links between places and satellites
//! - `drawn`: a constellation that is written, with the names of its links
//! - `detours`: ways of packets from satellites that have left a path
//! - `written`, `changes`: links and changes in the form of a file
//! - `look`: the sky for views beside a run

mod changes;
pub(super) mod day;
mod detours;
mod drawn;
mod failing;
mod gaps;
mod gauge;
mod ground;
mod kept;
mod look;
mod media;
mod names;
mod radio;
mod scene;
mod several;
#[cfg(test)]
mod tests;
mod written;

use super::check;
use super::files::Files;
use super::keys::{Apart, Disjoint, Payload, Relay, Selections, Sky as Keys};
use super::report::Findings;
use super::schema;
use super::tree::{Place, Tree};
use bentpipe_orbit::sky::links::Topology;
use bentpipe_orbit::sky::route::{
    disjoint_routes_while, gaps, routes_while, servings_while, Change, Disjoint as Separate, Gap, Over, Route, Routing,
};
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::selection::Rule;
use bentpipe_orbit::sky::span::{GoOn, Span};
use bentpipe_orbit::sky::SkyError;
use bentpipe_units::settings::Typed;
use bentpipe_units::Duration;
use ground::Ground;
pub use look::{ConstellationOfRun, PairOfPlaces, SkyOfRun};
pub(super) use media::name_media_as_written;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of computed paths, over all flows: some minutes of work.
const LOOKS_MAX: f64 = 1e8;

/// Replaces `sky`, if there is one, by links and changes.
pub(super) fn expand(tree: &mut Tree, files: &dyn Files, findings: &mut Findings) {
    let Some(table) = tree.table_mut() else { return };
    let Some(written) = table.remove("sky") else { return };
    // An invalid sky makes no links. The missing links must not become another problem.
    table.entry("link".into()).or_insert_with(Tree::empty);
    let before = findings.found.len();
    let Some(Skies { parts, uses, duration }) = found(written, tree, files, findings) else { return };
    let drawn: Vec<drawn::Drawn> = parts.iter().map(|part| part.drawn(duration)).collect();
    if let Err((number, wrong)) = written::write(tree, &drawn, &uses) {
        let of = &parts[number].of;
        say(&of.raw, findings, &["sky", wrong.hop, wrong.side], &wrong.message, wrong.expected);
        of.locate(&mut findings.found[before..]);
    }
}

/// Returns the sky of a valid scenario with the paths of its flows, or `None` without a sky.
pub(super) fn look(mut tree: Tree, files: &dyn Files) -> Option<SkyOfRun> {
    let written = tree.table_mut()?.remove("sky")?;
    found(written, &tree, files, &mut Findings::default()).map(SkyOfRun::new)
}

/// Constellations, and the constellation of each pair of places.
struct Skies {
    parts: Vec<Part>,
    uses: several::Uses,
    /// Duration of the run.
    duration: Duration,
}

/// Returns constellations and paths of `written`, the sky of `tree`, or `None` if it is invalid.
fn found(mut written: Tree, tree: &Tree, files: &dyn Files, findings: &mut Findings) -> Option<Skies> {
    let before = findings.found.len();
    check::walk(schema::sky(), &mut written, "sky", findings);
    if findings.found.len() > before {
        return None;
    }
    let raw = written.clone();
    check::complete(schema::sky(), &mut written);
    let keys = match <Keys as Typed>::read(&written.to_value()) {
        Ok(keys) => keys,
        Err(error) => {
            say(&raw, findings, &["sky"], &format!("is no sky: {error}"), "");
            return None;
        }
    };
    // An invalid duration is reported later.
    let duration = tree.get("duration").and_then(|value| Duration::read(&value.to_value()).ok())?;
    let back_after = keys.back_after;
    let constellations = several::split(keys, &raw, findings)?;
    let (mut parts, count) = (Vec::new(), constellations.len() as f64);
    for (number, of) in constellations.into_iter().enumerate() {
        let mut go_on = |share| files.go_on((number as f64 + share) / count);
        parts.push(Part::make(of, tree, duration, files, &mut go_on, findings)?);
    }
    let uses = several::uses(&parts, back_after, duration);
    match are_told(&parts, &uses, &raw, duration, findings) {
        Ok(true) => Some(Skies { parts, uses, duration }),
        Ok(false) => None,
        Err(error) => {
            wrong(&raw, findings, &error);
            None
        }
    }
}

/// Constellation over the places, with its paths.
struct Part {
    of: several::Constellation,
    ground: Ground,
    sky: Sky,
    /// Measured rain, by place.
    gauges: BTreeMap<usize, gauge::Gauge>,
    media: media::Media,
    routing: Routing,
    span: Span,
    /// Path of each pair of places. A pair that does not use the constellation has no path.
    paths: Vec<Route>,
}

impl Part {
    /// Makes the sky of a constellation. Returns `None` if it is invalid.
    fn make(
        of: several::Constellation,
        tree: &Tree,
        duration: Duration,
        files: &dyn Files,
        go_on: GoOn,
        findings: &mut Findings,
    ) -> Option<Self> {
        let before = findings.found.len();
        let made = made(&of, tree, duration, files, go_on, findings);
        let Some(((ground, sky), (gauges, media), (routing, span, paths))) = made else {
            of.locate(&mut findings.found[before..]);
            return None;
        };
        Some(Self { of, ground, sky, gauges, media, routing, span, paths })
    }

    fn drawn(&self, duration: Duration) -> drawn::Drawn<'_> {
        drawn::Drawn {
            constellation: &self.of.name,
            keys: &self.of.keys,
            raw: &self.of.raw,
            ground: &self.ground,
            sky: &self.sky,
            gauges: &self.gauges,
            media: &self.media,
            paths: &self.paths,
            waiting: written::waiting(&self.of.keys, &self.sky),
            duration,
        }
    }

    /// Returns the times without a path over this constellation, with their reasons.
    fn gaps(&self, pair: usize) -> Result<Vec<Gap>, SkyError> {
        gaps(&self.sky, &self.routing, &self.paths[pair], self.span)
    }
}

/// Choice of paths, instants, and the paths.
type Paths = (Routing, Span, Vec<Route>);

/// Places and satellites, rain and media, and paths.
type Made = ((Ground, Sky), (BTreeMap<usize, gauge::Gauge>, media::Media), Paths);

/// Returns the sky of a constellation, or `None` if a part of it is invalid.
fn made(
    of: &several::Constellation,
    tree: &Tree,
    duration: Duration,
    files: &dyn Files,
    go_on: GoOn,
    findings: &mut Findings,
) -> Option<Made> {
    let (keys, raw) = (&of.keys, &of.raw);
    if keys.make_before_break.is_some() && keys.break_before_make.is_some() {
        let message = "excludes make_before_break";
        say(raw, findings, &["sky", "break_before_make"], message, "expected one of them");
        return None;
    }
    if !disjoint_is_possible(keys, tree, raw, findings) || !relay_is_possible(keys, raw, findings) {
        return None;
    }
    let ground = Ground::read(tree, keys, raw, findings)?;
    let sky = scene::make((keys, duration.as_secs_f64()), raw, &ground, files, findings)?;
    if keys.payload == Payload::Transparent && sky.links.topology != Topology::None {
        let message = "= \"transparent\" has satellites that forward packets to each other without decoding";
        say(raw, findings, &["sky", "payload"], message, "expected between_satellites = \"none\"");
        return None;
    }
    if !selections_have_places(keys, raw, &ground, findings) || !disjoint_suits(keys, raw, &ground, &sky, findings) {
        return None;
    }
    let gauges = gauge::read((keys, duration), raw, &ground, files, findings)?;
    let mut nodes = ground::ends(tree);
    nodes.extend(names::names_of(&of.name, keys, &sky));
    let media = media::Media::read((of, &sky), &nodes, tree, files, findings)?;
    let paths = paths(of, &ground, &sky, duration, go_on, findings)?;
    Some(((ground, sky), (gauges, media), paths))
}

/// Reports pairs without a path, and the constellations in use. Returns whether all pairs have a path at some time.
fn are_told(
    parts: &[Part],
    uses: &several::Uses,
    raw: &Tree,
    duration: Duration,
    findings: &mut Findings,
) -> Result<bool, SkyError> {
    match parts {
        [one] if one.of.name.is_empty() => {
            let Part { of, sky, routing, span, paths, .. } = one;
            gaps::PathGaps { keys: &of.keys, raw, sky, routing, span: *span }.are_told(paths, findings)
        }
        _ => several::are_told(parts, uses, raw, duration.as_secs_f64(), findings),
    }
}

/// Returns the paths between the places of each pair over the run, or `None` if they cannot be computed.
fn paths(
    of: &several::Constellation,
    ground: &Ground,
    sky: &Sky,
    duration: Duration,
    go_on: GoOn,
    findings: &mut Findings,
) -> Option<Paths> {
    let (keys, raw) = (&of.keys, &of.raw);
    let (run, step) = (duration.as_secs_f64(), keys.step.as_secs_f64());
    if !(step > 0.0 && run / step * ground.pairs.len() as f64 <= LOOKS_MAX) {
        let message = format!("has more than {LOOKS_MAX:e} instants, or none");
        say(raw, findings, &["sky", "step"], &message, "expected a longer one, such as \"1 s\"");
        return None;
    }
    let name = |place: usize| ground.places[place].name.as_str();
    let is_served = |pair: &&(usize, usize)| of.serves([name(pair.0), name(pair.1)]);
    let served: Vec<(usize, usize)> = ground.pairs.iter().filter(is_served).copied().collect();
    let mut find = || {
        Span::new(0.0, run.max(step), step).and_then(|span| {
            let routing = routing(keys, ground, sky, &served, span)?;
            let mut paths = match &keys.disjoint {
                None => routes_while(sky, &served, &routing, span, None, go_on)?.into_iter(),
                Some(disjoint) => disjoint_paths(sky, ground, &routing, span, disjoint, go_on)?.into_iter(),
            };
            let path = |pair: &(usize, usize)| match is_served(&pair) {
                true => paths.next(),
                false => Some(absent(*pair, span)),
            };
            let paths = ground.pairs.iter().filter_map(path).collect();
            Ok((routing, span, paths))
        })
    };
    let Ground { places, pairs, ranks, .. } = ground;
    kept::paths(&(keys, places, pairs, ranks, &served, kept::Rest(sky), run), || {
        find().map_err(|error| wrong(raw, findings, &error)).ok()
    })
}

/// Returns a route without a path at any time.
fn absent((from, to): (usize, usize), span: Span) -> Route {
    let never = Change { at_s: span.from_s, nodes: Vec::new(), delay_s: f64::NAN };
    Route { from, to, changes: vec![never], delays_s: vec![f64::NAN; span.count()] }
}

/// Returns the disjoint path of each pair.
fn disjoint_paths(
    sky: &Sky,
    ground: &Ground,
    routing: &Routing,
    span: Span,
    keys: &Disjoint,
    go_on: GoOn,
) -> Result<Vec<Route>, SkyError> {
    let what = match keys.apart {
        Apart::Satellites => Separate::Nodes,
        Apart::Links => Separate::Links,
    };
    // A place may be the end of several flows with different paths.
    let distinct: BTreeSet<(usize, usize)> =
        ground.pairs.iter().map(|(from, to)| (*from.min(to), *from.max(to))).collect();
    let distinct: Vec<(usize, usize)> = distinct.into_iter().collect();
    let found = disjoint_routes_while(sky, &distinct, routing, span, (keys.paths as usize, what), go_on)?;
    let path = |(&(from, to), rank): (&(usize, usize), &usize)| {
        let pair = distinct.binary_search(&(from.min(to), from.max(to))).ok()?;
        let mut route = found.get(pair)?.get(*rank)?.clone();
        if from > to {
            (route.from, route.to) = (from, to);
            route.changes.iter_mut().for_each(|change| change.nodes.reverse());
        }
        Some(route)
    };
    Ok(ground.pairs.iter().zip(&ground.ranks).filter_map(path).collect())
}

/// Whether the keys and flows permit disjoint paths.
fn disjoint_is_possible(keys: &Keys, tree: &Tree, raw: &Tree, findings: &mut Findings) -> bool {
    let Some(disjoint) = &keys.disjoint else { return true };
    let before = findings.found.len();
    for (name, path) in &disjoint.flow {
        let flows = tree.get("flow");
        let subflow = name.rsplit_once('.').and_then(|(flow, own)| flows?.get(flow)?.get("subflow")?.get(own));
        if flows.and_then(|flows| flows.get(name)).or(subflow).is_none() {
            let names = tree.get("flow").and_then(Tree::table).into_iter().flat_map(|flows| flows.keys());
            let guess = findings.guess(name, names.map(String::as_str));
            let shown = format!("sky.disjoint.flow.{name}");
            let place = &raw.at(["disjoint", "flow", name]).key;
            findings.add(
                place,
                &shown,
                format!("{shown} is not a flow"),
                "expected the name of a flow, or FLOW.SUBFLOW",
                guess,
            );
        } else if !(1..=disjoint.paths).contains(path) {
            let message = format!("= {path} is not one of the {} paths", disjoint.paths);
            let expected = format!("expected 1 to {}", disjoint.paths);
            say(raw, findings, &["sky", "disjoint", "flow", name], &message, &expected);
        }
    }
    findings.found.len() == before
}

/// Whether gateways may relay packets as the keys demand.
fn relay_is_possible(keys: &Keys, raw: &Tree, findings: &mut Findings) -> bool {
    let before = findings.found.len();
    if keys.relay == Relay::Ground && keys.gateway.is_empty() {
        say(raw, findings, &["sky", "relay"], "= \"ground\" is for gateways, and there are none", "expected gateway");
    }
    if keys.relay == Relay::Ground && keys.payload == Payload::Transparent {
        let message = "= \"transparent\" adds up the noise of one uplink and one downlink; relay = \"ground\" has more";
        say(raw, findings, &["sky", "payload"], message, "expected payload = \"regenerative\" or relay = \"fibre\"");
    }
    findings.found.len() == before
}

/// Whether this sky has enough disjoint paths.
fn disjoint_suits(keys: &Keys, raw: &Tree, ground: &Ground, sky: &Sky, findings: &mut Findings) -> bool {
    if keys.disjoint.is_none() {
        return true;
    }
    let before = findings.found.len();
    if over(keys, sky) == Over::Gateways {
        let expected = "expected links between satellites: without gateway";
        say(raw, findings, &["sky", "disjoint"], "is for paths over links between satellites", expected);
    }
    if !rules(keys, ground).is_empty() {
        let expected = "expected selection = \"any\"";
        say(raw, findings, &["sky", "disjoint"], "needs several satellites at each place", expected);
    }
    findings.found.len() == before
}

/// Whether all places of a selection exist.
fn selections_have_places(keys: &Keys, raw: &Tree, ground: &Ground, findings: &mut Findings) -> bool {
    let Selections::Each(each) = &keys.selection else { return true };
    let before = findings.found.len();
    for name in each.place.keys().filter(|name| ground.places.iter().all(|place| place.name != **name)) {
        let guess = findings.guess(name, ground.places.iter().map(|place| place.name.as_str()));
        let shown = format!("sky.selection.place.{name}");
        let place = &raw.at(["selection", "place", name]).key;
        let message = format!("{shown} is not a place of a flow or gateway");
        findings.add(place, &shown, message, "expected a gateway, or a place of a flow", guess);
    }
    findings.found.len() == before
}

/// Returns the rules of the places that have one.
fn rules(keys: &Keys, ground: &Ground) -> Vec<(usize, Rule)> {
    let places = ground.places.iter().enumerate();
    let rule = |(number, place): (usize, &bentpipe_orbit::sky::places::Place)| {
        let selection = keys.selection.of(&place.name, place.relay);
        scene::rule(selection, day::seed(keys)).map(|rule| (number, rule))
    };
    places.filter_map(rule).collect()
}

/// Returns the nodes that forward packets between places.
fn over(keys: &Keys, sky: &Sky) -> Over {
    match keys.relay {
        Relay::Ground => Over::Satellites,
        Relay::Fibre => Over::of(sky),
    }
}

/// Returns the rules for paths.
fn routing(keys: &Keys, ground: &Ground, sky: &Sky, pairs: &[(usize, usize)], span: Span) -> Result<Routing, SkyError> {
    let over = over(keys, sky);
    Ok(Routing {
        over,
        metric: scene::metric(keys.metric),
        switch: scene::switch(keys.change),
        hop_delay_s: keys.hop_delay.as_secs_f64(),
        serving: servings_while(sky, over, pairs, &rules(keys, ground), span, &mut |_| true)?,
    })
}

/// Reports a fault of a sky at its key.
fn wrong(raw: &Tree, findings: &mut Findings, error: &SkyError) {
    say(raw, findings, &["sky"], &format!("cannot be made: {error}"), "");
}

/// Reports `PATH message` at the key. `raw` is the table below `sky`.
fn say(raw: &Tree, findings: &mut Findings, path: &[&str], message: &str, expected: &str) {
    let below = raw.at(path[1..].iter().copied());
    let place = if matches!(below.place, Place::Default(_)) { &raw.key } else { &below.key };
    let shown = path.join(".");
    findings.add(place, &shown, format!("{shown} {message}"), expected.to_owned(), String::new());
}
