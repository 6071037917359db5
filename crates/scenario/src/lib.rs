//! Reads scenarios: from text to the plain values of [`Scenario`], with every default filled in and every reference
//! checked.
//!
//! The steps, in the order of `read`:
//!
//! - `tree` parses the text and keeps the place of each value.
//! - `check` compares the tree with the shape in `schema`, which is made from the declarations of the keys, and writes the
//!   defaults.
//! - `keys` checks the keys of each topic.
//! - `resolve` joins the names.
//! - `resolved` writes the scenario as text again.
//!
//! Invariant: a [`Scenario`] is a meaningful experiment.

#![forbid(unsafe_code)]

mod acting;
mod alternatives;
mod budget;
mod cases;
mod check;
mod custom_middlebox;
mod custom_scheduler;
mod custom_sender;
mod direction;
mod files;
mod flows;
mod generate;
mod groups;
mod har;
mod host_defaults;
mod inherit;
mod instances;
mod json;
mod keys;
mod like;
mod media;
mod middleboxes;
mod offered_load;
mod outline;
mod overrides;
mod placement;
mod problem;
mod queue_limits;
mod read;
mod receivers;
mod report;
mod resolve;
mod resolved;
mod route;
mod routes_over_time;
mod schema;
mod shorten;
mod sky;
mod sweep;
#[cfg(test)]
mod tests;
mod timeline;
mod trace;
mod transports;
mod tree;
mod tune;
mod ways;
mod words;

pub use bentpipe_model::spec::*;
pub use budget::Cost;
pub use files::{Files, Folder, NoFiles, Sender};
pub use generate::{choices, python_types, reference, Choice};
pub use keys::{Robust, Space, Table};
pub use outline::network;
pub use problem::{Expected, Problem, Problems, Span};
pub use resolved::Resolved;
pub use sky::{ConstellationOfRun, PairOfPlaces, SkyOfRun};
pub use sweep::{Axis, Sweep};
pub use tune::{Condition, Tune};

use read::from_tree;
use tree::Tree;

/// Reads a scenario file. `source` is the name of the file, for messages. `sets` are pairs of a dotted key and a value
/// that override the file.
///
/// # Errors
///
/// All problems, each with its place.
pub fn from_toml(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_toml_with(text, source, sets, &NoFiles)
}

/// Reads a scenario file that may name other files. `files` provides them.
///
/// # Errors
///
/// All problems of the scenario and its files, each with its place.
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

/// Reads a scenario as JSON, the form of Python values. A place is the name of the source and the path of the key.
///
/// # Errors
///
/// All problems of the scenario.
pub fn from_json(text: &str, source: &str, sets: &[(String, String)]) -> Result<Resolved, Problems> {
    from_json_with(text, source, sets, &NoFiles)
}

/// Reads a scenario as JSON that may name files. `files` provides them.
///
/// # Errors
///
/// All problems of the scenario and its files.
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
            let at = (error.line(), error.column());
            let place = format!("{source}:{}:{}", at.0, at.1);
            let problem = Problem::new(place, "", format!("not JSON: {error}"), "");
            Err(Problems { problems: vec![Problem { span: Some(Span { start: at, end: at }), ..problem }] })
        }
    }
}

/// Returns the JSON Schema (draft 2020-12) of a scenario file. `x-origin` is the source of a default, `x-quantity` the
/// quantity of a string with a unit, and `x-groups` the keys of a large table in groups, in the order of a form.
pub fn schema() -> serde_json::Value {
    schema::schema()
}

/// Largest scenario in bytes. A resolved scenario includes its traces: about 300,000 points fit.
const TEXT_MAX: usize = 16 << 20;

fn too_large(text: &str, source: &str, sets: &[(String, String)]) -> Result<(), Problems> {
    let size = text.len() + sets.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if size <= TEXT_MAX {
        return Ok(());
    }
    Err(Problems::alone(
        source.into(),
        format!("the scenario has {size} B of text"),
        &format!("expected at most {TEXT_MAX} B"),
    ))
}
