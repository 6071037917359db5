//! Collects the problems of a scenario, each at the place of its key.

use super::files::Files;
use super::problem::{suggestion, Expected, Problem, SHOWN};
use super::transports::TRANSPORTS;
use super::tree::{join, Place, Tree};

/// Problems with the places of their keys.
pub(super) struct Report<'a> {
    pub(super) tree: &'a Tree,
    pub(super) findings: &'a mut Findings,
    /// Access to the files that the scenario names.
    pub(super) files: &'a dyn Files,
    /// Number of points read from files.
    pub(super) traced: usize,
}

impl<'a> Report<'a> {
    /// Reports `PATH = VALUE message` at the place of the key.
    pub(super) fn value(&mut self, path: &[String], message: &str, expected: &str) {
        self.suggest(path, message, expected, String::new());
    }

    /// Reports `PATH = VALUE message` with the value that was probably meant.
    pub(super) fn suggest(&mut self, path: &[String], message: &str, expected: &str, suggestion: String) {
        let (path, tree) = self.written(path);
        let shown = path.iter().fold(String::new(), |path, key| join(&path, key));
        self.findings.add(&tree.place, &shown, format!("{shown} = {tree} {message}"), expected, suggestion);
    }

    /// Reports `PATH message` for a key that may be absent.
    pub(super) fn key(&mut self, path: &[String], message: &str, expected: &str) {
        let shown = path.iter().fold(String::new(), |path, key| join(&path, key));
        let tree = self.tree.at(path.iter().map(String::as_str));
        self.findings.add(&tree.key, &shown, format!("{shown} {message}"), expected, String::new());
    }

    pub(super) fn is_default(&self, path: &[String]) -> bool {
        matches!(self.tree.at(path.iter().map(String::as_str)).place, Place::Default(_))
    }

    /// Returns the key under which a value was written: that of the common table of a transport for a flow, that of the link for a direction.
    fn written(&self, path: &[String]) -> (Vec<String>, &'a Tree) {
        let tree = self.tree.at(path.iter().map(String::as_str));
        let path = match path {
            [flow, _, transport, rest @ ..]
                if flow == "flow" && TRANSPORTS.contains(&transport.as_str()) && tree.inherited =>
            {
                [transport].into_iter().chain(rest).cloned().collect()
            }
            [flow, name, subflow, _, transport, rest @ ..]
                if flow == "flow" && subflow == "subflow" && transport == "tcp" && tree.inherited =>
            {
                let of_flow: Vec<String> = [flow, name, transport].into_iter().chain(rest).cloned().collect();
                let is_of_flow =
                    of_flow.iter().try_fold(self.tree, |tree, key| tree.get(key)).is_some_and(|tree| !tree.inherited);
                if is_of_flow {
                    of_flow
                } else {
                    [transport].into_iter().chain(rest).cloned().collect()
                }
            }
            [link, name, direction, key, rest @ ..]
                if link == "link" && self.tree.at([link, name, direction, key].map(String::as_str)).inherited =>
            {
                debug_assert!(direction == "forward" || direction == "reverse");
                [link, name, key].into_iter().chain(rest).cloned().collect()
            }
            _ => path.to_vec(),
        };
        (path, tree)
    }
}

/// Problem whose place is not formatted yet.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) problem: Problem,
}

/// Problems and notes of a scenario.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) found: Vec<Found>,
    /// Notes: facts about a valid scenario that a user should know.
    pub(super) notes: Vec<String>,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        place: &Place,
        path: &str,
        message: String,
        expected: impl Into<Expected>,
        suggestion: String,
    ) {
        let problem = Problem { suggestion, ..Problem::new(String::new(), path, message, expected) };
        self.found.push(Found { place: place.clone(), problem });
    }

    /// Returns the name that was probably meant. Only the first problems get one, because comparing names takes time.
    pub(super) fn guess<'a>(&self, given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
        if self.found.len() < SHOWN {
            suggestion(given, names)
        } else {
            String::new()
        }
    }
}

/// Returns the path of these keys.
pub(super) fn path<const N: usize>(keys: [&str; N]) -> Vec<String> {
    keys.map(str::to_owned).to_vec()
}

/// Returns the path of a key of the table at `path`.
pub(super) fn below(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}
