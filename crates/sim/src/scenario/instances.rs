//! Expands entries with `count`.

use super::check::{bad_name, NAME};
use super::report::{below, path, Report};
use std::collections::BTreeMap;

/// Instance of an entry with `count`.
pub(super) struct Instance<'a> {
    pub(super) name: String,
    pub(super) entry: &'a str,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) n: Option<u32>,
}

/// Expands `{n}`. Returns `None` if there are too many instances.
pub(super) fn instances<'a>(
    what: &str,
    most: u64,
    entries: impl Iterator<Item = (&'a str, (Option<u32>, String, String))> + Clone,
    report: &mut Report<'_>,
) -> Option<Vec<Instance<'a>>> {
    let total: u64 = entries.clone().map(|(_, (count, ..))| u64::from(count.unwrap_or(1))).sum();
    if total > most {
        report.key(&path([what]), &format!("stands for {total} {what}s"), &format!("expected at most {most}"));
        return None;
    }
    let mut all: Vec<Instance<'a>> = Vec::new();
    let mut names = BTreeMap::new();
    for (name, (count, from, to)) in entries {
        let keys = [("from", &from), ("to", &to)];
        for (key, value) in keys {
            if count.is_none() && value.contains("{n}") {
                report.value(
                    &path([what, name, key]),
                    "contains {n} without a count",
                    "expected count, like 10, beside it",
                );
            }
            if let Some(why) = bad_name(value) {
                report.value(&path([what, name, key]), why, NAME);
            }
        }
        if count.is_none() && name.contains("{n}") {
            report.key(&path([what, name]), "contains {n} without a count", "expected count, like 10, in it");
        }
        let (mut itself, mut twice) = (false, false);
        for n in 1..=count.unwrap_or(1) {
            let n = count.map(|_| n);
            let mut full = expand(name, n);
            if let (Some(n), false) = (n, name.contains("{n}")) {
                full.push_str(&n.to_string());
            }
            let made = Instance { name: full, entry: name, from: expand(&from, n), to: expand(&to, n), n };
            if made.from == made.to && !std::mem::replace(&mut itself, true) {
                report.value(&path([what, name, "to"]), "is the same node as from", "expected two different nodes");
            }
            if let Some(other) = names.insert(made.name.clone(), name) {
                if !std::mem::replace(&mut twice, true) {
                    let message = format!("makes a second {what} \"{}\"; the first is from {what}.{other}", made.name);
                    report.key(
                        &path([what, name]),
                        &message,
                        "expected names that stay different when {n} is written out",
                    );
                }
            }
            all.push(made);
        }
    }
    Some(all)
}

/// Reports names in a route that no node or link can have. Returns whether all names are possible.
pub(super) fn check_names<'a>(
    names: impl IntoIterator<Item = &'a String>,
    key: &[String],
    has_count: bool,
    report: &mut Report<'_>,
) -> bool {
    let before = report.findings.found.len();
    for (index, name) in names.into_iter().enumerate() {
        let key = below(key, &index.to_string());
        if let Some(why) = bad_name(name) {
            report.value(&key, why, NAME);
        } else if !has_count && name.contains("{n}") {
            report.value(&key, "contains {n} without a count", "expected count, like 10, beside it");
        }
    }
    report.findings.found.len() == before
}

pub(super) fn expand(template: &str, n: Option<u32>) -> String {
    n.map_or_else(|| template.to_owned(), |n| template.replace("{n}", &n.to_string()))
}
