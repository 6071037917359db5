//! Tables of transports in a scenario: `[tcp]` for all flows, and `[flow.NAME.tcp]` for one entry.

use super::tree::Tree;
use std::collections::BTreeMap;

/// Tables of transports: of all flows, and of one flow.
pub(super) const TRANSPORTS: [&str; 2] = ["tcp", "quic"];

/// Returns the tables of a transport: that of all flows, and the own tables of flows.
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
    let own = flows.filter_map(move |flow| flow.table_mut()?.get_mut(transport));
    common.into_iter().chain(own)
}
