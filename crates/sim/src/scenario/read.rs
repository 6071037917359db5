//! From a tree to a valid scenario, step by step; a point of a grid or a case goes the same way.

use super::files::Files;
use super::overrides::Overrides;
use super::problem::{Problem, Problems};
use super::report::{Findings, Found, Report};
use super::resolved::Resolved;
use super::sweep::{self, Sweep};
use super::tree::{Place, Tree};
use super::{acting, cases, check, custom_sender, inherit, keys, like, resolve, schema, sky};
use bentpipe_units::settings::Typed;

/// Reads a tree: its cases, its grid, and the rest.
pub(super) fn from_tree(
    mut tree: Tree,
    source: &str,
    sets: &[(String, String)],
    files: &dyn Files,
) -> Result<Resolved, Problems> {
    if tree.table().is_none() {
        let message = format!("a scenario is a table, and this is {}", check::type_name(&tree));
        return Err(Problems::alone(source.into(), message, "expected duration, link and flow, by name"));
    }
    let mut overrides = Overrides::default();
    overrides.sets(&mut tree, sets);
    let cases = cases::take(&mut tree, source).map_err(|problem| Problems { problems: vec![problem] })?;
    let mut findings = Findings::default();
    let axes = sweep::take(&mut tree, sets, &mut findings);
    overrides.problems.extend(findings.found.into_iter().map(|found| located(found, source, &tree)));
    let (mut whole, written) = read(tree.clone(), source, overrides, files)?;
    for (name, case) in &cases {
        let (mut own, mut overrides) = (tree.clone(), Overrides::default());
        overrides.case(&mut own, case.clone(), source);
        whole.cases.push((name.clone(), read(own, source, overrides, files)?.0));
    }
    whole.sweep = Some(Sweep::new(written, axes, tree, cases, source));
    Ok(whole)
}

impl Sweep {
    /// The scenario of a point, which is a position on each axis.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place, which is mostly that of a value in the sweep.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn point(&self, positions: &[usize], files: &dyn Files) -> Result<Resolved, Problems> {
        let (tree, overrides) = self.written_at(positions);
        Ok(read(tree, &self.source, overrides, files)?.0)
    }

    /// A case of the scenario, with values over it.
    ///
    /// # Errors
    /// There is no such case, or everything that is wrong with it.
    pub fn case(&self, name: &str, sets: &[(String, String)], files: &dyn Files) -> Result<Resolved, Problems> {
        let (tree, overrides) = self.written_in(name, sets)?;
        Ok(read(tree, &self.source, overrides, files)?.0)
    }
}

/// Reads a scenario whose cases and grid have been taken out; of the latter there is what is not about its points.
/// `overrides` are in the tree.
fn read(
    mut tree: Tree,
    source: &str,
    overrides: Overrides,
    files: &dyn Files,
) -> Result<(Resolved, keys::Sweep), Problems> {
    let mut findings = Findings::default();
    let over = tree.get("sky").is_some().then(|| Box::new(tree.clone()));
    acting::check(&tree, &overrides, &mut findings);
    let Overrides { mut problems, notes, .. } = overrides;
    findings.notes = notes;
    custom_sender::stand_in(&mut tree, files.senders());
    sky::expand(&mut tree, files, &mut findings);
    check::walk(schema::root(), &mut tree, &mut findings);
    if findings.found.is_empty() && problems.is_empty() {
        inherit::tcp(&mut tree);
        like::fill(&mut tree);
        inherit::proxies(&mut tree);
        check::complete(schema::root(), &mut tree);
        inherit::links(&mut tree);
        match <keys::File as Typed>::read(&tree.to_value()) {
            Ok(file) => {
                let meaning =
                    resolve::resolve(&file, &mut Report { tree: &tree, findings: &mut findings, files, traced: 0 });
                if let Some(meaning) = meaning {
                    let mut resolved = Resolved::new(meaning, tree);
                    (resolved.source, resolved.sky) = (source.to_owned(), over);
                    return Ok((resolved, file.sweep));
                }
            }
            // The walker lets nothing through that the structs refuse; if it did, saying so beats a panic.
            Err(error) => {
                findings.add(&Place::Nowhere, "", format!("not a scenario: {error}"), String::new(), String::new())
            }
        }
    }
    findings.found.sort_by(|a, b| a.place.cmp(&b.place));
    problems.splice(0..0, findings.found.into_iter().map(|found| located(found, source, &tree)));
    // What is inherited is wrong once, however many inherit it.
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|problem| seen.insert((problem.place.clone(), problem.message.clone())));
    Err(Problems { problems })
}

impl Resolved {
    /// The scenario on a day of the sky. `None` if it has no sky, or if the file fixes the day.
    pub fn on_day(&self, day: u64, files: &dyn Files) -> Option<Result<Self, Problems>> {
        let mut tree = self.sky.as_deref().filter(|written| sky::day::is_open(written))?.clone();
        let mut overrides = Overrides::default();
        overrides.sets(&mut tree, &[(sky::day::KEY.to_owned(), day.to_string())]);
        Some(read(tree, &self.source, overrides, files).map(|(resolved, _)| resolved))
    }

    /// The sky with the paths of a run, found once more. `None` if there is no sky, or if `files` ended the work.
    pub fn look_at_sky(&self, files: &dyn Files) -> Option<sky::SkyOfRun> {
        sky::look(self.sky.as_deref()?.clone(), files)
    }
}

fn located(found: Found, source: &str, tree: &Tree) -> Problem {
    let value = tree.found(&found.problem.path).and_then(Tree::scalar);
    Problem { place: found.place.shown(source), span: found.place.span(), value, ..found.problem }
}
