//! Converts a tree to a valid scenario, step by step. Points of a sweep, cases and conditions use the same steps.

use super::files::Files;
use super::overrides::Overrides;
use super::problem::{Problem, Problems};
use super::report::{Findings, Found, Report};
use super::resolved::Resolved;
use super::sweep::{self, Sweep};
use super::tree::{Place, Tree};
use super::tune::{self, Tune};
use super::{
    acting, cases, check, custom_middlebox, custom_scheduler, custom_sender, inherit, keys, like, resolve, schema, sky,
};
use bentpipe_units::settings::Typed;

/// Reads a tree: its cases, its sweep, its search, and the rest.
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
    let mut search = tune::take(&mut tree, sets, &mut findings);
    overrides.problems.extend(findings.found.into_iter().map(|found| located(found, source, &tree, None)));
    let (mut whole, (sweep, settings)) = read(tree.clone(), source, overrides, files)?;
    for (name, case) in &cases {
        let (mut own, mut overrides) = (tree.clone(), Overrides::default());
        overrides.case(&mut own, case.clone(), source);
        whole.cases.push((name.clone(), read(own, source, overrides, files)?.0));
    }
    search.set(&settings, tree.clone(), source);
    for condition in search.conditions.iter().filter(|condition| condition.is_written()) {
        search.under(&condition.name, &[], files).transpose()?;
    }
    (whole.sweep, whole.tune) = (Some(Sweep::new(sweep, axes, tree, cases, source)), Some(search));
    Ok(whole)
}

impl Sweep {
    /// Reads the scenario of a point, given as a position on each axis.
    ///
    /// # Errors
    ///
    /// All problems, each with its place: mostly that of a value in the sweep.
    ///
    /// # Panics
    ///
    /// If the point does not exist.
    pub fn point(&self, positions: &[usize], files: &dyn Files) -> Result<Resolved, Problems> {
        let (tree, overrides) = self.written_at(positions);
        Ok(read(tree, &self.source, overrides, files)?.0)
    }

    /// Reads a case of the scenario, with overrides.
    ///
    /// # Errors
    ///
    /// The case does not exist, or all its problems.
    pub fn case(&self, name: &str, sets: &[(String, String)], files: &dyn Files) -> Result<Resolved, Problems> {
        let (tree, overrides) = self.written_in(name, sets)?;
        Ok(read(tree, &self.source, overrides, files)?.0)
    }
}

impl Tune {
    /// Reads the scenario in a condition of its search, with overrides. Returns `None` if there is no such condition.
    pub fn under(
        &self,
        condition: &str,
        sets: &[(String, String)],
        files: &dyn Files,
    ) -> Option<Result<Resolved, Problems>> {
        let (tree, overrides) = self.written_under(condition, sets)?;
        Some(read(tree, &self.source, overrides, files).map(|(resolved, _)| resolved))
    }
}

/// Settings of a sweep and of a search.
type Experiments = (keys::Sweep, keys::Tune);

/// Reads a scenario whose cases, sweep and search have been removed from the tree. `overrides` are in the tree.
fn read(
    mut tree: Tree,
    source: &str,
    overrides: Overrides,
    files: &dyn Files,
) -> Result<(Resolved, Experiments), Problems> {
    let mut findings = Findings::default();
    let over = tree.get("sky").is_some().then(|| Box::new(tree.clone()));
    acting::check(&tree, &overrides, &mut findings);
    let Overrides { mut problems, notes, .. } = overrides;
    findings.notes = notes;
    custom_sender::stand_in(&mut tree, files.senders());
    custom_scheduler::stand_in(&mut tree, files.schedulers());
    custom_middlebox::write_out(&mut tree, files.functions());
    sky::expand(&mut tree, files, &mut findings);
    check::walk(schema::shape(), &mut tree, "", &mut findings);
    if findings.found.is_empty() && problems.is_empty() {
        inherit::transports(&mut tree);
        like::fill(&mut tree);
        inherit::proxies(&mut tree);
        check::complete(schema::shape(), &mut tree);
        inherit::links(&mut tree);
        match <keys::File as Typed>::read(&tree.to_value()) {
            Ok(file) => {
                let meaning =
                    resolve::resolve(&file, &mut Report { tree: &tree, findings: &mut findings, files, traced: 0 });
                if let Some(meaning) = meaning {
                    let mut resolved = Resolved::new(meaning, tree);
                    (resolved.source, resolved.sky) = (source.to_owned(), over);
                    return Ok((resolved, (file.sweep, file.tune)));
                }
            }
            // `check` rejects everything that the structs reject. A message is better than a panic if it does not.
            Err(error) => {
                findings.add(&Place::Nowhere, "", format!("not a scenario: {error}"), String::new(), String::new())
            }
        }
    }
    if let Some(written) = &over {
        sky::name_media_as_written(&mut findings.found, written, &tree);
    }
    findings.found.sort_by(|a, b| a.place.cmp(&b.place));
    problems.splice(0..0, findings.found.into_iter().map(|found| located(found, source, &tree, over.as_deref())));
    // An inherited value is reported once for all its heirs.
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|problem| seen.insert((problem.place.clone(), problem.message.clone())));
    Err(Problems { problems })
}

impl Resolved {
    /// Reads the scenario on a day of the sky. Returns `None` if it has no sky or if the file fixes the day.
    pub fn on_day(&self, day: u64, files: &dyn Files) -> Option<Result<Self, Problems>> {
        let mut tree = self.sky.as_deref().filter(|written| sky::day::is_open(written))?.clone();
        let mut overrides = Overrides::default();
        overrides.sets(&mut tree, &[(sky::day::KEY.to_owned(), day.to_string())]);
        Some(read(tree, &self.source, overrides, files).map(|(resolved, _)| resolved))
    }

    /// Computes the sky and the paths of a run again. Returns `None` without a sky, or if `files` cancels.
    pub fn look_at_sky(&self, files: &dyn Files) -> Option<sky::SkyOfRun> {
        sky::look(self.sky.as_deref()?.clone(), files)
    }
}

/// Gives a problem its place and value. `written` has the sky, which the tree has lost.
fn located(found: Found, source: &str, tree: &Tree, written: Option<&Tree>) -> Problem {
    let path = &found.problem.path;
    let value = tree.found(path).or_else(|| written?.found(path)).and_then(Tree::scalar);
    Problem { place: found.place.shown(source), span: found.place.span(), value, ..found.problem }
}
