//! Applies overrides to the middleboxes of a node.
//!
//! Words below the key change the list: `node.NAME.middlebox.append`, `prepend`, `remove`, `replace`. A value without
//! such a word must not remove a middlebox by accident, so only a list of tables replaces a list.

use super::problem::{Expected, Problem};
use super::tree::{join, Place, Tree, Value};
use std::collections::BTreeMap;

/// Words for changes, in the order in which they apply.
const WORDS: [&str; 4] = ["replace", "remove", "prepend", "append"];

/// Returns the node and the value for its middleboxes, in the notation of a case. Accepts a path to the list or to a
/// word below it.
pub(super) fn of_path(path: &[String], value: &Tree) -> Option<(String, Tree)> {
    let [node, name, list, word @ ..] = path else { return None };
    if node != "node" || list != "middlebox" {
        return None;
    }
    match word {
        [] => Some((name.clone(), value.clone())),
        [word] if WORDS.contains(&word.as_str()) => {
            let table = Value::Table([(word.clone(), value.clone())].into());
            Some((name.clone(), Tree { key: value.key.clone(), ..Tree::new(table, value.place.clone()) }))
        }
        _ => None,
    }
}

/// Removes the middleboxes from a case and returns them by node.
pub(super) fn take(case: &mut Tree) -> Vec<(String, Tree)> {
    let nodes = case.table_mut().and_then(|table| table.get_mut("node")).and_then(Tree::table_mut);
    let taken = nodes.into_iter().flatten().filter_map(|(name, node)| {
        let list = node.table_mut()?.remove("middlebox")?;
        Some((name.clone(), list))
    });
    taken.collect()
}

/// Puts a value over the middleboxes of a node. `source` is the name of the text, for messages.
///
/// # Errors
///
/// The value would remove a middlebox by accident, or names a middlebox that the node does not have.
pub(super) fn put(tree: &mut Tree, node: &str, new: Tree, source: &str) -> Result<(), Problem> {
    let list = changed(at(tree, node), node, &new, source)?;
    if let Some(slot) = slot(tree, node, &new.place) {
        *slot = Tree { value: list, ..new };
    }
    Ok(())
}

/// Returns the kinds of middleboxes at each node.
pub(super) fn kinds(tree: &Tree) -> BTreeMap<String, Vec<String>> {
    let nodes = tree.get("node").and_then(Tree::table).into_iter().flatten();
    nodes.map(|(name, _)| (name.clone(), at(tree, name).iter().map(kind).collect())).collect()
}

/// Returns the middleboxes of a node, as written.
fn at<'a>(tree: &'a Tree, node: &str) -> &'a [Tree] {
    let list = tree.get("node").and_then(|nodes| nodes.get(node)?.get("middlebox"));
    match list.map(|list| &list.value) {
        Some(Value::List(list)) => list,
        _ => &[],
    }
}

/// Returns the place of the list in the tree, or `None` if no table can have it.
fn slot<'a>(tree: &'a mut Tree, node: &str, place: &Place) -> Option<&'a mut Tree> {
    let mut below = tree;
    for key in ["node", node, "middlebox"] {
        let fresh = || Tree::new(Value::Table(BTreeMap::new()), place.clone());
        below = below.table_mut()?.entry(key.to_owned()).or_insert_with(fresh);
    }
    Some(below)
}

fn changed(known: &[Tree], node: &str, new: &Tree, source: &str) -> Result<Value, Problem> {
    match &new.value {
        Value::Table(words) if !words.is_empty() && words.keys().all(|key| WORDS.contains(&key.as_str())) => {
            let mut list = known.to_vec();
            for (word, value) in WORDS.iter().filter_map(|word| Some((*word, words.get(*word)?))) {
                let given = match &value.value {
                    Value::List(list) => list.clone(),
                    _ => vec![value.clone()],
                };
                match word {
                    "replace" => list = given,
                    "remove" => remove(&mut list, &given, node, source)?,
                    "prepend" => list.splice(0..0, given).for_each(drop),
                    _ => list.extend(given),
                }
            }
            Ok(Value::List(list))
        }
        Value::List(list) if list.iter().all(is_written_out) => Ok(new.value.clone()),
        _ if known.is_empty() => Ok(new.value.clone()),
        _ => Err(would_remove(known, node, new, source)),
    }
}

/// Whether an entry is a table as in a file. A Python class becomes a table of kind `own`.
fn is_written_out(entry: &Tree) -> bool {
    entry.table().is_some()
        && !matches!(entry.get("kind").map(|kind| &kind.value), Some(Value::Text(kind)) if kind == "own")
}

fn remove(list: &mut Vec<Tree>, given: &[Tree], node: &str, source: &str) -> Result<(), Problem> {
    for entry in given {
        let (name, before) = (kind(entry), list.len());
        list.retain(|known| kind(known) != name);
        if list.len() == before {
            let known = Expected::one_of(list.iter().map(kind).collect::<Vec<_>>().iter().map(String::as_str));
            let message = format!("{node} has no middlebox {name} to remove");
            return Err(problem(entry, &format!("{}.remove", path(node)), message, known, source));
        }
    }
    Ok(())
}

fn would_remove(known: &[Tree], node: &str, new: &Tree, source: &str) -> Problem {
    let (path, kinds) = (path(node), known.iter().map(kind).collect::<Vec<_>>().join(", "));
    let message = format!("{path} = {new} would remove {kinds}");
    let expected = format!(
        "expected {path}.append (or +=), .prepend or .replace, or the whole list as in a file: [{{ kind = ... }}]"
    );
    problem(new, &path, message, expected, source)
}

fn problem(at: &Tree, path: &str, message: String, expected: impl Into<Expected>, source: &str) -> Problem {
    let problem = Problem::new(at.place.shown(source), path, message, expected);
    Problem { span: at.place.span(), value: at.scalar(), ..problem }
}

fn path(node: &str) -> String {
    join(&join("node", node), "middlebox")
}

/// Returns the kind of a middlebox, or the name of a custom middlebox.
fn kind(entry: &Tree) -> String {
    let text = |key: &str| match entry.get(key).map(|value| &value.value) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    match &entry.value {
        Value::Text(kind) => kind.clone(),
        _ => match text("kind") {
            Some(kind) if kind == "own" => text("name").unwrap_or(kind),
            Some(kind) => kind,
            None => entry.to_string(),
        },
    }
}
