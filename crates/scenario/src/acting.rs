//! Finds keys without an effect because other keys replace them.
//!
//! Examples are a link's rate if both directions have their own rate, and a key of `[tcp]` that every flow sets itself.
//! A file may contain such keys. An override without an effect is a mistake and is rejected.

use super::inherit::{of_direction, sides, DEEP, NOT_OF_PROXIES};
use super::keys::DATAGRAMS;
use super::overrides::Overrides;
use super::report::Findings;
use super::transports::TRANSPORTS;
use super::tree::{join, Tree, Value};
use std::collections::BTreeSet;

/// Key without an effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hidden {
    key: String,
    why: String,
    /// Keys that replace it.
    pub(super) acting: Vec<String>,
}

/// Reports overrides without an effect. `tree` is the scenario as written, with the overrides.
pub(super) fn check(tree: &Tree, overrides: &Overrides, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (path, place) in &overrides.keys {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(hidden) = hidden(tree, &path).filter(|hidden| !seen.contains(hidden)) else { continue };
        let message = format!("{} has no effect: {}", hidden.key, hidden.why);
        findings.add(place, &hidden.key, message, hidden.expected(), String::new());
        seen.insert(hidden);
    }
}

/// Returns the keys that replace the key at this path, if it has no effect.
pub(super) fn hidden(tree: &Tree, path: &[&str]) -> Option<Hidden> {
    match path {
        [transport, rest @ ..] if TRANSPORTS.contains(transport) => by_flows(tree, transport, rest),
        ["link", name, key, ..] => by_directions(tree, &["link", name], key),
        ["sky", "constellation", name, hop, key, ..] => by_directions(tree, &["sky", "constellation", name, hop], key),
        ["sky", hop, key, ..] if HOPS.contains(hop) => {
            by_constellations(tree, hop).or_else(|| by_directions(tree, &["sky", hop], key))
        }
        ["sky", key, ..] if *key != "over" => by_constellations(tree, key),
        _ => None,
    }
}

/// Groups of sky links, with the keys of a link.
const HOPS: [&str; 4] = ["user", "feeder", "inter_satellite", "fibre"];
/// Number of keys that a message lists.
const LISTED: usize = 4;

impl Hidden {
    fn expected(&self) -> String {
        let shown = self.acting.iter().take(LISTED).cloned().collect::<Vec<_>>().join(" or ");
        match self.acting.len().saturating_sub(LISTED) {
            _ if self.acting.is_empty() => "expected a flow that sends by TCP".into(),
            0 => format!("expected {shown}"),
            more => format!("expected {shown}, or {more} more such keys"),
        }
    }
}

fn by_directions(tree: &Tree, base: &[&str], key: &str) -> Option<Hidden> {
    if !of_direction().contains(&key) {
        return None;
    }
    let link = exact(tree, base)?;
    let name = base.iter().fold(String::new(), |path, key| join(&path, key));
    let directions = ["forward", "reverse"];
    let are_own = directions.iter().all(|side| exact(link, &[side, key]).is_some());
    are_own.then(|| Hidden {
        key: join(&name, key),
        why: format!("each direction has its own {key}"),
        acting: directions.iter().map(|side| join(&join(&name, side), key)).collect(),
    })
}

fn by_constellations(tree: &Tree, key: &str) -> Option<Hidden> {
    let Value::List(names) = &exact(tree, &["sky", "over"])?.value else { return None };
    let mut acting = Vec::new();
    for name in names {
        let Value::Text(name) = &name.value else { return None };
        exact(tree, &["sky", "constellation", name, key])?;
        acting.push(join(&join("sky.constellation", name), key));
    }
    let why = format!("each constellation has its own {key}");
    (!acting.is_empty()).then(|| Hidden { key: join("sky", key), why, acting })
}

/// Returns the flows' keys that replace a key of the common table of a transport. `path` is below this table.
fn by_flows(tree: &Tree, transport: &str, path: &[&str]) -> Option<Hidden> {
    // Flows inherit these tables key by key.
    let depth = if path.first().is_some_and(|key| DEEP.contains(key)) { 2 } else { 1 };
    let path = path.get(..depth)?;
    if is_of_proxies(tree, path) {
        return None;
    }
    let flows = tree.get("flow")?.table().filter(|flows| !flows.is_empty())?;
    let mut acting = Vec::new();
    for (name, flow) in flows {
        if is_datagrams(flow) {
            continue;
        }
        if takes(flow.get(transport)?, path) {
            return None;
        }
        acting.push(path.iter().fold(join(&join("flow", name), transport), |path, key| join(&path, key)));
    }
    let why = match acting.is_empty() {
        true => "no flow sends by TCP".to_owned(),
        false => format!("each flow has its own {}", path.join(".")),
    };
    Some(Hidden { key: path.iter().fold(transport.to_owned(), |path, key| join(&path, key)), why, acting })
}

/// Whether the transport of a flow takes this key from `[tcp]`.
fn takes(own: &Tree, path: &[&str]) -> bool {
    let mut node = own;
    for key in path {
        match node.get(key) {
            Some(below) => node = below,
            None => return node.table().is_some(),
        }
    }
    false
}

fn is_datagrams(flow: &Tree) -> bool {
    let app = flow.get("app");
    match app.map(|app| app.get("kind").unwrap_or(app)).map(|kind| &kind.value) {
        Some(Value::Text(kind)) => DATAGRAMS.contains(&kind.as_str()),
        _ => false,
    }
}

/// Whether a proxy takes the key from `[tcp]`.
fn is_of_proxies(tree: &Tree, path: &[&str]) -> bool {
    let nodes = tree.get("node").and_then(Tree::table).into_iter().flat_map(|nodes| nodes.values());
    let lists = nodes.chain(tree.get("sky")).filter_map(|node| node.get("middlebox"));
    let boxes = lists.filter_map(|list| match &list.value {
        Value::List(list) => Some(list),
        _ => None,
    });
    let takes = |proxy: &Tree| sides(proxy).iter().any(|side| proxy.get(side).is_none_or(|own| takes(own, path)));
    !NOT_OF_PROXIES.contains(&path[0]) && boxes.flatten().any(takes)
}

fn exact<'a>(tree: &'a Tree, path: &[&str]) -> Option<&'a Tree> {
    path.iter().try_fold(tree, |node, key| node.get(key))
}
