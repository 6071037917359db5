//! Finds pairs of places without a path. A path that never exists is a fault; a path that sometimes exists gets a note.

use super::say;
use crate::keys::Sky as Keys;
use crate::report::Findings;
use crate::tree::Tree;
use bentpipe_orbit::sky::route::{gaps, Route, Routing};
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;
use bentpipe_orbit::sky::SkyError;
use std::collections::BTreeSet;

/// Number of pairs with an explanation.
pub(super) const EXPLAINED: usize = 5;

/// Sky with the routing of its paths.
pub(super) struct PathGaps<'a> {
    pub(super) keys: &'a Keys,
    pub(super) raw: &'a Tree,
    pub(super) sky: &'a Sky,
    pub(super) routing: &'a Routing,
    pub(super) span: Span,
}

impl PathGaps<'_> {
    /// Reports the pairs without a path, and the reasons. Returns whether all pairs have one at some time.
    pub(super) fn are_told(&self, paths: &[Route], findings: &mut Findings) -> Result<bool, SkyError> {
        let is_never = |path: &&Route| path.changes.iter().all(|change| change.nodes.is_empty());
        let (never, at_times): (Vec<&Route>, Vec<&Route>) = paths.iter().partition(is_never);
        let mut told = BTreeSet::new();
        for (number, path) in never.iter().enumerate() {
            let (why, help) = if number < EXPLAINED { self.main_reason(path)? } else { Default::default() };
            // Reports the fault of a place once for all its flows.
            if why.is_empty() || told.insert(why.clone()) {
                self.refuse(path, &why, &help, findings);
            }
        }
        if never.is_empty() {
            self.note(&at_times, findings)?;
        }
        Ok(never.is_empty())
    }

    fn main_reason(&self, path: &Route) -> Result<(String, String), SkyError> {
        let gaps = gaps(self.sky, self.routing, path, self.span)?;
        Ok(gaps.into_iter().next().map(|gap| (gap.why, gap.help)).unwrap_or_default())
    }

    fn refuse(&self, path: &Route, why: &str, help: &str, findings: &mut Findings) {
        let [from, to] = self.names(path);
        let is_single = self.keys.disjoint.is_none() || why.starts_with("no satellite");
        if let Some(disjoint) = self.keys.disjoint.as_ref().filter(|_| !is_single) {
            let message = format!("= {} paths never exist from {from} to {to}: there are fewer", disjoint.paths);
            let expected = "expected fewer, or a lower elevation_min";
            return say(self.raw, findings, &["sky", "disjoint", "paths"], &message, expected);
        }
        let because = if why.is_empty() { String::new() } else { format!(": {why}") };
        let expected = if help.is_empty() { String::new() } else { format!("expected {help}") };
        let message = format!("has no path from {from} to {to} at any time of the run{because}");
        say(self.raw, findings, &["sky", "over"], &message, &expected);
    }

    /// Adds notes on the pairs that sometimes have a path, those with the smallest share first.
    fn note(&self, paths: &[&Route], findings: &mut Findings) -> Result<(), SkyError> {
        let connected = |path: &Route| {
            let found = path.delays_s.iter().filter(|delay| delay.is_finite()).count();
            found as f64 / path.delays_s.len().max(1) as f64
        };
        let mut broken: Vec<(f64, &Route)> = paths.iter().map(|path| (connected(path), *path)).collect();
        broken.retain(|(share, _)| *share < 1.0);
        broken.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (share, path) in broken.iter().take(EXPLAINED) {
            let [from, to] = self.names(path);
            let mut note = format!("sky: there is a path from {from} to {to} {} of the time", per_cent(*share));
            match &self.keys.disjoint {
                Some(disjoint) => note += &format!(" as one of {} disjoint paths", disjoint.paths),
                None => {
                    for gap in gaps(self.sky, self.routing, path, self.span)? {
                        note += &format!(". {} without: {}; remedy: {}", per_cent(gap.share), gap.why, gap.help);
                    }
                }
            }
            findings.notes.push(note);
        }
        if broken.len() > EXPLAINED {
            let more = broken.len() - EXPLAINED;
            findings.notes.push(format!("sky: {more} more pairs of places have a path for a part of the time"));
        }
        Ok(())
    }

    fn names(&self, path: &Route) -> [&str; 2] {
        [path.from, path.to].map(|place| self.sky.places[place].name.as_str())
    }
}

/// Returns a share in per cent that never rounds to 0 or 100.
pub(super) fn per_cent(share: f64) -> String {
    match 100.0 * share {
        few if few < 0.1 => "less than 0.1 %".to_owned(),
        nearly if nearly > 99.9 => "more than 99.9 %".to_owned(),
        per_cent => format!("{per_cent:.1} %"),
    }
}
