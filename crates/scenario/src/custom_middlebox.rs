//! Writes out custom middleboxes that a list names like registered ones, because the schema knows only their tables.

use super::custom_sender::names;
use super::tree::{Tree, Value};
use bentpipe_model::middlebox::{MiddleboxConfig, OwnConfig};

/// Replaces each name of a custom middlebox by its table: `"shed"` by `{ kind = "own", name = "shed" }`. A registered
/// name keeps its meaning.
pub(super) fn write_out(tree: &mut Tree, given: &[OwnConfig]) {
    let is_registered = |own: &OwnConfig| MiddleboxConfig::ALL.iter().any(|(name, _)| *name == own.name);
    let given: Vec<_> = given.iter().filter(|own| !is_registered(own)).collect();
    if !given.is_empty() {
        visit(tree, &given);
    }
}

/// Visits the lists of a table: those of nodes, of the sky and of its constellations.
fn visit(tree: &mut Tree, given: &[&OwnConfig]) {
    for (key, below) in tree.table_mut().into_iter().flatten() {
        match (key.as_str(), &mut below.value) {
            ("middlebox", Value::List(list)) => list.iter_mut().for_each(|entry| write(entry, given)),
            ("node" | "constellation", Value::Table(named)) => named.values_mut().for_each(|each| visit(each, given)),
            ("sky", _) => visit(below, given),
            _ => {}
        }
    }
}

fn write(entry: &mut Tree, given: &[&OwnConfig]) {
    let Some(own) = given.iter().find(|own| names(entry, &own.name)) else { return };
    let text = |text: &str| Tree::new(Value::Text(text.into()), entry.place.clone());
    let written = [("kind".to_owned(), text("own")), ("name".to_owned(), text(&own.name))];
    // Other keys of a table are settings, which the schema rejects.
    let mut table = entry.table_mut().map(std::mem::take).unwrap_or_default();
    table.extend(written);
    entry.value = Value::Table(table);
}
