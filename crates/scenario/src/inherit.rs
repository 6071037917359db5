//! Passes shared values on: those of a transport to the flows, a link's keys to its directions.

use super::keys;
use super::transports::{tables_of, TRANSPORTS};
use super::tree::{Tree, Value};
use bentpipe_units::settings::Settings;
use std::collections::BTreeMap;

/// Adds the keys of each transport to each flow with its own table of it, unless the flow sets them, and those of a flow to
/// its subflows. Flows without a table share the common one, because there may be many.
pub(super) fn transports(tree: &mut Tree) {
    let flows = tree.table_mut().and_then(|table| table.get_mut("flow")).and_then(Tree::table_mut);
    flows.into_iter().flat_map(BTreeMap::values_mut).for_each(subflows);
    for transport in TRANSPORTS {
        let Some(common) = tree.get(transport).cloned() else { continue };
        // The common table has its own keys already.
        tables_of(tree, transport).for_each(|own| inherit(own, &common, &DEEP));
    }
}

/// Adds the keys of a flow's own transport to the subflows with their own table of it.
fn subflows(flow: &mut Tree) {
    let Some(common) = flow.get("tcp").cloned() else { return };
    let subflows = flow.table_mut().and_then(|flow| flow.get_mut("subflow")).and_then(Tree::table_mut);
    let own = subflows.into_iter().flat_map(BTreeMap::values_mut);
    own.filter_map(|subflow| subflow.table_mut()?.get_mut("tcp")).for_each(|own| inherit(own, &common, &DEEP));
}

/// Tables of `[tcp]` that are inherited key by key.
pub(super) const DEEP: [&str; 2] = ["rto", "ack"];

/// Adds the keys of `[tcp]` to each side of a splitting proxy, unless the side sets them. Keys that do not concern a
/// proxy's transport are left out.
pub(super) fn proxies(tree: &mut Tree) {
    let mut common = tree.get("tcp").cloned().unwrap_or_else(Tree::empty);
    if let Some(keys) = common.table_mut() {
        keys.retain(|key, _| !NOT_OF_PROXIES.contains(&key.as_str()));
    }
    let nodes = tree.table_mut().and_then(|table| table.get_mut("node")).and_then(Tree::table_mut);
    for node in nodes.into_iter().flat_map(BTreeMap::values_mut) {
        let Some(boxes) = node.table_mut().and_then(|node| node.get_mut("middlebox")) else { continue };
        let Value::List(boxes) = &mut boxes.value else { continue };
        for proxy in boxes {
            for side in sides(proxy) {
                let Some(proxy) = proxy.table_mut() else { continue };
                inherit(proxy.entry((*side).into()).or_insert_with(Tree::empty), &common, &DEEP);
            }
        }
    }
}

/// Returns the keys of the transports of a splitting proxy.
pub(super) fn sides(proxy: &Tree) -> &'static [&'static str] {
    match &proxy.get("kind").unwrap_or(proxy).value {
        Value::Text(name) if name == "split" => &["opener", "listener"],
        Value::Text(name) if name == "satpep" => &["terrestrial"],
        _ => &[],
    }
}

/// Keys of `[tcp]` that a splitting proxy does not inherit: it has its own buffers, and each of its connections is new.
pub(super) const NOT_OF_PROXIES: [&str; 11] = [
    "like",
    "buffers",
    "processing",
    "receive_buffer",
    "auto_buffer",
    "send_buffer",
    "auto_send_buffer",
    "fast_open",
    "transactions",
    "sharing",
    "handshake",
];

/// Returns the keys that a direction inherits.
pub(super) fn of_direction() -> Vec<&'static str> {
    keys::Direction::keys().iter().map(|key| key.name).collect()
}

/// Adds the link's keys to each of its directions, unless the direction sets them.
pub(super) fn links(tree: &mut Tree) {
    let keys = of_direction();
    let links = tree.table_mut().and_then(|table| table.get_mut("link")).and_then(Tree::table_mut);
    for link in links.into_iter().flat_map(BTreeMap::values_mut) {
        let Some(table) = link.table_mut() else { continue };
        let inherited = table.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        let mut common = Tree::empty();
        common.value = Value::Table(inherited.map(|(key, value)| (key.clone(), value.clone())).collect());
        for direction in ["forward", "reverse"] {
            inherit(table.entry(direction.into()).or_insert_with(Tree::empty), &common, &[]);
        }
    }
}

fn inherit(own: &mut Tree, common: &Tree, deep: &[&str]) {
    let (Some(own), Some(common)) = (own.table_mut(), common.table()) else { return };
    for (key, value) in common {
        match own.get_mut(key) {
            Some(own) if deep.contains(&key.as_str()) => inherit(own, value, &[]),
            Some(_) => {}
            None => {
                let mut value = value.clone();
                mark(&mut value);
                own.insert(key.clone(), value);
            }
        }
    }
}

fn mark(tree: &mut Tree) {
    tree.inherited = true;
    match &mut tree.value {
        Value::Table(table) => table.values_mut().for_each(mark),
        Value::List(list) => list.iter_mut().for_each(mark),
        _ => {}
    }
}
