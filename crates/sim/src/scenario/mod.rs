//! A scenario: what a run is made of, from the text to the plain values of [`Scenario`], with every default filled in and every
//! reference checked: it cannot stand for an experiment that makes no sense.
//!
//! The way from one to the other: text becomes a `tree` with the place of each value, `check` compares it with the `schema` that
//! the declarations of the keys make and writes the defaults in, `keys` has what makes no sense within a topic, `resolve` joins
//! the names, and `resolved` writes the whole back.

mod cases;
mod check;
mod cost;
mod custom_sender;
mod direction;
mod files;
mod generate;
mod inherit;
mod json;
mod keys;
mod like;
mod offered_load;
mod orbital_pass;
mod problem;
mod queue_limits;
mod resolve;
mod resolved;
mod route;
mod schema;
mod sweep;
#[cfg(test)]
mod tests;
mod trace;
mod tree;
mod words;

pub use crate::spec::*;
pub use files::{Files, Folder, NoFiles, Sender};
pub use generate::{choices, python_types, reference, Choice};
pub use problem::{Problem, Problems};
pub use resolved::Resolved;
pub use sweep::{Axis, Sweep, Table};

use bentpipe_units::settings::Typed;
use check::{Check, Found};
use resolve::{Report, DURATION_MAX};
use tree::{Place, Tree};

/// Reads a scenario file. `source` is the name of the file, for messages; `sets` are pairs of a dotted key and a value
/// that go over what the file says.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn from_toml(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_toml_with(text, source, sets, &NoFiles)
}

/// Reads a scenario file that may name other files, which are asked of `files`.
///
/// # Errors
/// Everything that is wrong with it and them, each with its place.
pub fn from_toml_with(
    text: &str,
    source: &str,
    sets: &[(String, String)],
    files: &dyn Files,
) -> Result<Resolved, Problems> {
    too_large(text, source, sets)?;
    let tree = Tree::from_toml(text, source).map_err(|problem| Problems { problems: vec![problem] })?;
    from_tree(tree, source, sets, files)
}

/// Reads the same as JSON, which is how Python values arrive: there, places are the source's name and paths of keys.
///
/// # Errors
/// Everything that is wrong with it.
pub fn from_json(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_json_with(text, source, sets, &NoFiles)
}

/// Reads a scenario as JSON that may name files, which are asked of `files`.
///
/// # Errors
/// Everything that is wrong with it and them.
pub fn from_json_with(
    text: &str,
    source: &str,
    sets: &[(String, String)],
    files: &dyn Files,
) -> Result<Resolved, Problems> {
    too_large(text, source, sets)?;
    match json::read(text) {
        Ok(tree) => from_tree(tree, source, sets, files),
        Err(error) => {
            let place = format!("{source}:{}:{}", error.line(), error.column());
            Err(alone(place, format!("not JSON: {error}"), String::new()))
        }
    }
}

/// The JSON Schema (draft 2020-12) of a scenario file. `x-origin` says where a default is from.
pub fn schema() -> serde_json::Value {
    schema::root().clone()
}

/// Longer texts are not scenarios. A resolved scenario has its traces in it: a third of a million points fit.
const TEXT_MAX: usize = 16 << 20;

fn too_large(text: &str, source: &str, sets: &[(String, String)]) -> Result<(), Problems> {
    let size = text.len() + sets.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if size <= TEXT_MAX {
        return Ok(());
    }
    Err(alone(source.into(), format!("the scenario has {size} B of text"), format!("expected at most {TEXT_MAX} B")))
}

fn alone(place: String, message: String, expected: String) -> Problems {
    Problems { problems: vec![Problem { place, path: String::new(), message, expected, hint: String::new() }] }
}

fn from_tree(mut tree: Tree, source: &str, sets: &[(String, String)], files: &dyn Files) -> Result<Resolved, Problems> {
    if tree.table().is_none() {
        let message = format!("a scenario is a table, and this is {}", check::type_name(&tree));
        return Err(alone(source.into(), message, "expected duration, link and flow, by name".into()));
    }
    let mut problems: Vec<Problem> = sets.iter().filter_map(|(key, value)| tree.set(key, value).err()).collect();
    let cases = cases::take(&mut tree, source).map_err(|problem| Problems { problems: vec![problem] })?;
    let mut check = Check::default();
    let axes = sweep::take(&mut tree, sets, &mut check);
    problems.extend(check.found.into_iter().map(|found| located(found, source)));
    let (mut whole, written) = read(tree.clone(), source, problems, files)?;
    for (name, case) in &cases {
        let mut own = tree.clone();
        cases::put(&mut own, case.clone());
        whole.cases.push((name.clone(), read(own, source, Vec::new(), files)?.0));
    }
    whole.sweep = Some(Sweep::new(written, axes, tree, cases, source));
    Ok(whole)
}

/// Reads a scenario whose cases and grid have been taken out; of the latter there is what is not about its points.
/// `problems` are those that are known already.
fn read(
    mut tree: Tree,
    source: &str,
    mut problems: Vec<Problem>,
    files: &dyn Files,
) -> Result<(Resolved, keys::Sweep), Problems> {
    let mut check = Check::default();
    custom_sender::stand_in(&mut tree, files.senders());
    check.walk(schema::root(), &mut tree, "");
    if check.found.is_empty() && problems.is_empty() {
        inherit::tcp(&mut tree);
        like::fill(&mut tree);
        check::complete(schema::root(), &mut tree);
        inherit::links(&mut tree);
        match <keys::File as Typed>::read(&tree.to_value()) {
            Ok(file) => {
                let meaning = resolve::resolve(&file, &mut Report { tree: &tree, check: &mut check, files, traced: 0 });
                if let Some(meaning) = meaning {
                    return Ok((Resolved::new(meaning, tree), file.sweep));
                }
            }
            // The walker lets nothing through that the structs refuse; if it did, saying so beats a panic.
            Err(error) => {
                check.add(&Place::Nowhere, "", format!("not a scenario: {error}"), String::new(), String::new())
            }
        }
    }
    check.found.sort_by(|a, b| a.place.cmp(&b.place));
    problems.splice(0..0, check.found.into_iter().map(|found| located(found, source)));
    // What is inherited is wrong once, however many inherit it.
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|problem| seen.insert((problem.place.clone(), problem.message.clone())));
    Err(Problems { problems })
}

fn located(found: Found, source: &str) -> Problem {
    Problem { place: found.place.shown(source), ..found.problem }
}
