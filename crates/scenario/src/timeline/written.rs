//! Writes the timeline as tables `[[at]]`, without handovers.

use bentpipe_model::ids::{LinkId, PathId};
use bentpipe_model::spec::{Change, Scenario};
use bentpipe_units::{Time, Word};
use serde_json::{json, Map, Value as Json};

/// Table with its changes.
pub(crate) struct Written {
    pub(crate) keys: Map<String, Json>,
    /// Number of the first change of each key in the timeline.
    pub(crate) firsts: Vec<usize>,
}

impl Written {
    fn new(time: Time, first: usize) -> Self {
        let mut made = Self { keys: Map::new(), firsts: Vec::new() };
        made.put("time", first, time.to_string().into());
        made
    }

    fn put(&mut self, key: &str, first: usize, value: Json) {
        self.keys.insert(key.to_owned(), value);
        self.firsts.push(first);
    }
}

/// Returns one table per instant, or several if links go down by different rules. `way` writes a route.
pub(crate) fn tables(scenario: &Scenario, way: impl Fn(&[LinkId]) -> Json) -> Vec<Written> {
    let mut tables = Vec::new();
    let mut first = 0;
    for instant in scenario.timeline.changes.chunk_by(|a, b| a.0 == b.0) {
        let mut table = Written::new(instant[0].0, first);
        let mut is_down = false;
        for alike in instant.chunk_by(|(_, a), (_, b)| is_alike(a, b)) {
            let changes = || alike.iter().map(|(_, change)| change);
            match &alike[0].1 {
                Change::Up(_) => table.put("up", first, names(scenario, changes())),
                Change::Withdraw(_) => table.put("withdraw", first, names(scenario, changes())),
                Change::Install { .. } => table.put("install", first, installs(scenario, changes(), &way)),
                Change::Down { waiting, in_flight, .. } => {
                    if std::mem::replace(&mut is_down, true) {
                        tables.push(std::mem::replace(&mut table, Written::new(alike[0].0, first)));
                    }
                    table.put("down", first, names(scenario, changes()));
                    table.put("waiting", first, waiting.name().into());
                    table.put("in_flight", first, in_flight.name().into());
                }
            }
            first += alike.len();
        }
        tables.push(table);
    }
    tables
}

/// Whether two changes belong to the same list.
fn is_alike(a: &Change, b: &Change) -> bool {
    match (a, b) {
        (Change::Down { waiting, in_flight, .. }, Change::Down { waiting: other, in_flight: others, .. }) => {
            waiting == other && in_flight == others
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Returns the names of links or flows in changes. Two directions, one after the other, become one name.
fn names<'a>(scenario: &Scenario, changes: impl Iterator<Item = &'a Change>) -> Json {
    let mut names: Vec<String> = Vec::new();
    for change in changes {
        let name = match *change {
            Change::Up(link) | Change::Down { link, .. } => scenario.links[link].name.clone(),
            Change::Withdraw(path) | Change::Install { path, .. } => {
                let side = if path.is_back() { "reverse" } else { "forward" };
                format!("{}.{side}", scenario.lane_name(path.lane()))
            }
        };
        let base = name.strip_suffix(".reverse").unwrap_or_default();
        let is_both = names.last().and_then(|last| last.strip_suffix(".forward")) == Some(base);
        // A name that ends like a direction could be mistaken for one.
        let is_plain = !base.ends_with(".forward") && !base.ends_with(".reverse");
        match names.last_mut().filter(|_| is_both && is_plain) {
            Some(last) => *last = base.to_owned(),
            None => names.push(name),
        }
    }
    names.into()
}

/// Returns the installed routes. Both directions of a flow, one after the other, become one entry.
fn installs<'a>(
    scenario: &Scenario,
    changes: impl Iterator<Item = &'a Change>,
    way: &impl Fn(&[LinkId]) -> Json,
) -> Json {
    let mut tables: Vec<Json> = Vec::new();
    let mut last: Option<PathId> = None;
    for change in changes {
        let Change::Install { path, route } = change else { continue };
        match tables.last_mut().filter(|_| path.is_back() && last == Some(path.reverse())) {
            Some(table) => table["reverse_route"] = way(route),
            None => {
                let key = if path.is_back() { "reverse_route" } else { "route" };
                tables.push(json!({ "flow": scenario.lane_name(path.lane()), key: way(route) }));
            }
        }
        last = Some(*path);
    }
    tables.into()
}
