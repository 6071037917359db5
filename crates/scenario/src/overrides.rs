//! Values that go over a scenario: those of `--set`, of a case, of a point of a grid. Collects what is wrong with them, and the keys
//! that they set, of which [`acting`](super::acting) finds those without an effect.

use super::problem::Problem;
use super::report::below;
use super::tree::{split_path, Place, Tree};
use super::{cases, middleboxes};

/// Values over a scenario.
#[derive(Default)]
pub(super) struct Overrides {
    pub(super) problems: Vec<Problem>,
    /// Facts that a user should know.
    pub(super) notes: Vec<String>,
    /// Path and place of each value. Tables count by their values.
    pub(super) keys: Vec<(Vec<String>, Place)>,
}

impl Overrides {
    /// Puts the values of `--set key=value`, in their order.
    pub(super) fn sets(&mut self, tree: &mut Tree, sets: &[(String, String)]) {
        for (key, value) in sets {
            self.put(tree, key, Tree::of_set(key, value), "");
        }
    }

    /// Puts a value at a path of keys.
    pub(super) fn put(&mut self, tree: &mut Tree, key: &str, new: Tree, source: &str) {
        let path = split_path(key).unwrap_or_default();
        let done = match middleboxes::of_path(&path, &new) {
            Some((node, list)) => self.watched(tree, &path, |tree| middleboxes::put(tree, &node, list, source)),
            None => self.watched(tree, &path, |tree| tree.put(key, new.clone())),
        };
        match done {
            Ok(()) => note(&path, &new, &mut self.keys),
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Puts a case over the rest.
    pub(super) fn case(&mut self, tree: &mut Tree, mut case: Tree, source: &str) {
        note(&[], &case, &mut self.keys);
        for (node, list) in middleboxes::take(&mut case) {
            let path = below(&below(&["node".to_owned()], &node), "middlebox");
            let change = |tree: &mut Tree| middleboxes::put(tree, &node, list.clone(), source);
            // A note is for middleboxes that go without `remove` or `replace`.
            let done = if list.table().is_some() { change(tree) } else { self.watched(tree, &path, change) };
            self.problems.extend(done.err());
        }
        cases::put(tree, case);
    }

    /// Notes the middleboxes that a change without `remove` and `replace` removes.
    fn watched(
        &mut self,
        tree: &mut Tree,
        path: &[String],
        change: impl FnOnce(&mut Tree) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        if path.first().is_none_or(|first| first != "node") || path.len() > 3 {
            return change(tree);
        }
        let before = middleboxes::kinds(tree);
        change(tree)?;
        let after = middleboxes::kinds(tree);
        for (node, kinds) in before {
            let left = after.get(&node);
            let gone: Vec<String> =
                kinds.into_iter().filter(|kind| !left.is_some_and(|left| left.contains(kind))).collect();
            if !gone.is_empty() {
                self.notes.push(format!("{} removes {} from {node}", path.join("."), gone.join(", ")));
            }
        }
        Ok(())
    }
}

/// Notes the values below a path.
fn note(path: &[String], value: &Tree, keys: &mut Vec<(Vec<String>, Place)>) {
    match value.table().filter(|table| !table.is_empty()) {
        Some(table) => {
            for (key, child) in table {
                note(&below(path, key), child, keys);
            }
        }
        None => keys.push((path.to_vec(), value.key.clone())),
    }
}

#[cfg(test)]
mod tests;
