//! Tables of transports in a scenario: `[tcp]` for all flows, `[flow.NAME.tcp]` for one entry, and
//! `[flow.NAME.subflow.NAME.tcp]` for one of its subflows.

use super::tree::Tree;
use std::collections::BTreeMap;

/// Tables of transports: of all flows, and of one flow.
pub(super) const TRANSPORTS: [&str; 2] = ["tcp", "quic"];

/// Returns the tables of a transport: that of all flows, and the own tables of flows and of their subflows.
pub(super) fn tables_of<'a>(tree: &'a mut Tree, transport: &'a str) -> impl Iterator<Item = &'a mut Tree> {
    let (mut common, mut flows) = (None, None);
    for (key, table) in tree.table_mut().into_iter().flatten() {
        match key.as_str() {
            "flow" => flows = table.table_mut(),
            key if key == transport => common = Some(table),
            _ => {}
        }
    }
    let flows = flows.into_iter().flat_map(BTreeMap::values_mut);
    common.into_iter().chain(flows.flat_map(move |flow| own_tables(flow, transport)))
}

/// Returns the own tables of a flow, and of its subflows.
fn own_tables<'a>(flow: &'a mut Tree, transport: &str) -> Vec<&'a mut Tree> {
    let mut found = Vec::new();
    for (key, table) in flow.table_mut().into_iter().flatten() {
        match key.as_str() {
            "subflow" => {
                let subflows = table.table_mut().into_iter().flat_map(BTreeMap::values_mut);
                found.extend(subflows.filter_map(|subflow| subflow.table_mut()?.get_mut(transport)));
            }
            key if key == transport => found.push(table),
            _ => {}
        }
    }
    found
}
