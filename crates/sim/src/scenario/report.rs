//! What is found to be wrong with a scenario, and where: at the place of the key concerned.

use super::files::Files;
use super::problem::{suggestion, Expected, Problem, SHOWN};
use super::tree::{join, Place, Tree};

/// Problems with the places of their keys.
pub(super) struct Report<'a> {
    pub(super) tree: &'a Tree,
    pub(super) findings: &'a mut Findings,
    /// Where the files are that the scenario names.
    pub(super) files: &'a dyn Files,
    /// Points read from them so far.
    pub(super) traced: usize,
}

impl<'a> Report<'a> {
    /// `PATH = VALUE message`, where the key stands.
    pub(super) fn value(&mut self, path: &[String], message: &str, expected: &str) {
        self.suggest(path, message, expected, String::new());
    }

    /// The same, with what was probably meant.
    pub(super) fn suggest(&mut self, path: &[String], message: &str, expected: &str, suggestion: String) {
        let (path, tree) = self.written(path);
        let shown = path.iter().fold(String::new(), |path, key| join(&path, key));
        self.findings.add(&tree.place, &shown, format!("{shown} = {tree} {message}"), expected, suggestion);
    }

    /// `PATH message`, for a key that may not be there.
    pub(super) fn key(&mut self, path: &[String], message: &str, expected: &str) {
        let shown = path.iter().fold(String::new(), |path, key| join(&path, key));
        let tree = self.tree.at(path.iter().map(String::as_str));
        self.findings.add(&tree.key, &shown, format!("{shown} {message}"), expected, String::new());
    }

    pub(super) fn is_default(&self, path: &[String]) -> bool {
        matches!(self.tree.at(path.iter().map(String::as_str)).place, Place::Default(_))
    }

    /// The key under which a value was really written: `[tcp]` for a flow's, the link's own for a direction's.
    fn written(&self, path: &[String]) -> (Vec<String>, &'a Tree) {
        let tree = self.tree.at(path.iter().map(String::as_str));
        let path = match path {
            [flow, _, tcp, rest @ ..] if flow == "flow" && tcp == "tcp" && tree.inherited => {
                ["tcp".to_owned()].into_iter().chain(rest.iter().cloned()).collect()
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

/// A problem before its place is written out.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) problem: Problem,
}

/// Collects problems and notes of a scenario.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) found: Vec<Found>,
    /// Notes: facts that a user should know of a valid scenario.
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

    /// What was probably meant, for as many problems as anybody reads: comparing names takes time.
    pub(super) fn guess<'a>(&self, given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
        if self.found.len() < SHOWN {
            suggestion(given, names)
        } else {
            String::new()
        }
    }
}

/// A path of these keys.
pub(super) fn path<const N: usize>(keys: [&str; N]) -> Vec<String> {
    keys.map(str::to_owned).to_vec()
}

/// The path of a key of the table at `path`.
pub(super) fn below(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}
