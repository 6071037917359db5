//! Expands entries with `count`.

use super::check::{bad_name, NAME};
use super::report::{below, path, Report};
use std::collections::BTreeMap;

/// Instance of an entry with `count`, or with a list of receivers.
pub(super) struct Instance<'a> {
    pub(super) name: String,
    pub(super) entry: &'a str,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) n: Option<u32>,
    /// The flow whose packets it receives.
    pub(super) copy_of: Option<String>,
}

/// Names at the ends of an entry, as written.
#[derive(Clone)]
pub(super) struct WrittenEnds {
    pub(super) count: Option<u32>,
    pub(super) from: String,
    pub(super) to: Vec<String>,
    /// Whether `to` is a list: of receivers of one flow.
    pub(super) is_list: bool,
    pub(super) copy_of: Option<String>,
}

impl WrittenEnds {
    /// Returns the number of instances.
    fn total(&self) -> u64 {
        self.to.iter().map(|to| u64::from(self.count_of(to).unwrap_or(1))).sum()
    }

    /// Returns the count of the instances with this end. Without `{n}`, a receiver of a list occurs once.
    fn count_of(&self, to: &str) -> Option<u32> {
        self.count.filter(|_| !self.is_list || to.contains("{n}"))
    }

    /// Reports names that do not fit the count.
    fn check(&self, what: &str, name: &str, report: &mut Report<'_>) {
        let key = |key: &str| path([what, name, key]);
        let to = self.to.iter().enumerate().map(|(index, to)| match self.is_list {
            true => (below(&key("to"), &index.to_string()), to),
            false => (key("to"), to),
        });
        for (at, value) in std::iter::once((key("from"), &self.from)).chain(to) {
            if self.count.is_none() && value.contains("{n}") {
                report.value(&at, "contains {n} without a count", "expected count, like 10, beside it");
            }
            if let Some(why) = bad_name(value) {
                report.value(&at, why, NAME);
            }
        }
        if self.is_list {
            if self.to.is_empty() {
                report.value(&key("to"), "is empty", "expected at least one receiver");
            }
            if self.from.contains("{n}") {
                report.value(&key("from"), "contains {n}, and the receivers are a list", "expected one sender");
            }
            if self.count.is_some() && !self.to.iter().any(|to| to.contains("{n}")) {
                report.value(&key("count"), "has no effect", "expected {n} in a name of to, or no count");
            }
        } else if self.count.is_none() && name.contains("{n}") {
            report.key(&path([what, name]), "contains {n} without a count", "expected count, like 10, in it");
        }
    }
}

/// Expands `{n}` and lists of receivers. Returns `None` if there are too many instances.
pub(super) fn instances<'a>(
    what: &str,
    most: u64,
    entries: impl Iterator<Item = (&'a str, WrittenEnds)> + Clone,
    report: &mut Report<'_>,
) -> Option<Vec<Instance<'a>>> {
    let total: u64 = entries.clone().map(|(_, ends)| ends.total()).sum();
    if total > most {
        report.key(&path([what]), &format!("stands for {total} {what}s"), &format!("expected at most {most}"));
        return None;
    }
    let mut all: Vec<Instance<'a>> = Vec::new();
    let mut names = BTreeMap::new();
    for (name, ends) in entries {
        ends.check(what, name, report);
        let (mut itself, mut twice) = (false, false);
        let is_numbered = ends.count.is_some() || ends.is_list;
        let each = ends.to.iter().flat_map(|to| {
            let count = ends.count_of(to);
            (1..=count.unwrap_or(1)).map(move |n| (to, count.map(|_| n)))
        });
        let mut first = if ends.is_list { ends.copy_of.clone() } else { None };
        for (number, (to, n)) in (1_u32..).zip(each) {
            let numbered = is_numbered.then_some(number);
            let mut full = expand(name, numbered);
            if let (Some(number), false) = (numbered, name.contains("{n}")) {
                full.push_str(&number.to_string());
            }
            let copy_of = match ends.is_list {
                true => first.clone(),
                false => ends.copy_of.as_ref().map(|of| expand(of, n)),
            };
            first.get_or_insert_with(|| full.clone());
            let made = Instance { name: full, entry: name, from: expand(&ends.from, n), to: expand(to, n), n, copy_of };
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
