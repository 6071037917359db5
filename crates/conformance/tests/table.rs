//! Generates the page `docs/validation/conformance.md`: for each RFC section that the code cites, its implementation,
//! tests and deviations. The sources are comments, names of tests and titles of cases, so every entry exists. `BLESS=1`
//! writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Requirements of RFCs, each with its tests, deviations or reasons.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Levels of RFC 2119, and the level of steps that an RFC states without such a word.
const LEVELS: [&str; 5] = ["MUST NOT", "MUST", "SHOULD NOT", "SHOULD", "step"];

/// A requirement of an RFC.
pub(crate) struct Requirement {
    pub(crate) rfc: u32,
    section: String,
    level: &'static str,
    what: String,
    held: Vec<Held>,
}

/// Evidence for a requirement.
enum Held {
    /// Title of a case, or name of a test. With a star: all tests whose names begin like this.
    By(String),
    /// The section of a comment in the code that gives the reason for a deviation.
    Deviation(String),
    /// It does not apply, or is not met, for this reason.
    Reason(String),
}

/// The requirements in the order of the file.
pub(crate) fn requirements() -> Vec<Requirement> {
    let (mut rfc, mut found): (u32, Vec<Requirement>) = (0, Vec::new());
    for line in REQUIREMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(number) = line.strip_prefix("RFC ") {
            rfc = number.parse().unwrap();
        } else if let Some(text) = line.strip_prefix('§') {
            let (section, text) = text.split_once(' ').unwrap();
            let level =
                LEVELS.into_iter().find(|level| text.strip_prefix(level).is_some_and(|rest| rest.starts_with(':')));
            let level = level.unwrap_or_else(|| panic!("no level: {line}"));
            let (section, what) = (section.to_owned(), text[level.len() + 1..].trim().to_owned());
            found.push(Requirement { rfc, section, level, what, held: Vec::new() });
        } else {
            let held = match line.trim().split_once(' ').unwrap() {
                (">", what) => Held::By(what.to_owned()),
                ("~", section) => Held::Deviation(section.trim_start_matches('§').to_owned()),
                ("-", reason) => Held::Reason(reason.to_owned()),
                _ => panic!("neither >, ~ nor -: {line}"),
            };
            found.last_mut().unwrap().held.push(held);
        }
    }
    found
}

/// The requirements that name a missing test, case or deviation.
pub(crate) fn unheld(scripts: &[(String, Vec<String>)]) -> Vec<String> {
    let rows = rows(scripts);
    let tests = test_names();
    let titles: BTreeSet<&str> = scripts.iter().flat_map(|(_, titles)| titles).map(|title| said(title)).collect();
    let exists = |rfc: u32, held: &Held| match held {
        Held::By(what) => match what.strip_suffix('*') {
            Some(start) => tests.iter().any(|name| name.starts_with(start)),
            None => titles.contains(what.as_str()) || tests.contains(what),
        },
        Held::Deviation(section) => rows.get(&Section::new(rfc, section)).is_some_and(|row| !row.deviations.is_empty()),
        Held::Reason(reason) => reason.ends_with('.'),
    };
    let mut wrong = Vec::new();
    for Requirement { rfc, section, what, held, .. } in requirements() {
        let name = |held: &Held| match held {
            Held::By(what) | Held::Deviation(what) | Held::Reason(what) => what.clone(),
        };
        let absent: Vec<String> = held.iter().filter(|held| !exists(rfc, held)).map(name).collect();
        if held.is_empty() || !absent.is_empty() {
            wrong.push(format!("RFC {rfc} §{section}: {what}\n    not there: {absent:?}"));
        }
    }
    wrong
}

/// The title of a case without its section.
fn said(title: &str) -> &str {
    title.split_once("  ").map_or(title, |(_, what)| what).trim()
}

/// The names of all functions that are tests.
fn test_names() -> BTreeSet<String> {
    let mut files = Vec::new();
    for part in ["cc/src", "tcp/src", "tcp/tests", "model/src", "net/src", "scenario/src", "sim/tests", "io/src"] {
        sources(&root().join("crates").join(part), &mut files);
    }
    let mut names = BTreeSet::new();
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("#[test]").skip(1) {
            names.extend(part.split("fn ").nth(1).and_then(|rest| rest.split('(').next()).map(str::to_owned));
        }
    }
    names
}

/// The requirements of an RFC as a table.
fn requirement_table(rfc: u32, out: &mut String) {
    let all = requirements();
    let mut of_rfc = all.iter().filter(|requirement| requirement.rfc == rfc).peekable();
    if of_rfc.peek().is_none() {
        return;
    }
    let _ = write!(
        out,
        "\n### Requirements of RFC {rfc}\n\n| section | level | requirement | held by |\n|---|---|---|---|\n"
    );
    for Requirement { section, level, what, held, .. } in of_rfc {
        let held: Vec<String> = held
            .iter()
            .map(|held| match held {
                Held::By(what) if what.contains(' ') => what.clone(),
                Held::By(name) => format!("`{name}`"),
                Held::Deviation(section) => format!("Deviation: see §{section} above."),
                Held::Reason(reason) => format!("Note: {reason}"),
            })
            .collect();
        let _ = writeln!(
            out,
            "| §{section} | {level} | {} | {} |",
            what.replace('|', "/"),
            held.join("; ").replace('|', "/")
        );
    }
}

/// An RFC and a section of it, in the order of a table of contents; none: the RFC as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Section {
    rfc: u32,
    numbers: Vec<u32>,
    text: String,
}

#[derive(Default)]
struct Row {
    code: BTreeSet<String>,
    tests: BTreeSet<String>,
    deviations: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// `RFC 5681 §3.1`, `RFC 8985 §6.2 step 5`, `RFC 2018`; in "RFC 5681 §3.1, §3.2" the second counts too.
fn citations(text: &str) -> Vec<Section> {
    let mut found = Vec::new();
    for part in text.split("RFC ").skip(1) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(rfc) = part[..digits].parse() else { continue };
        let before = found.len();
        let mut rest = &part[digits..];
        while let Some(section) = [" §", ", §", " and §"].iter().find_map(|start| rest.strip_prefix(start)) {
            let len = section.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
            let number = section[..len].trim_end_matches('.');
            found.push(Section::new(rfc, number));
            rest = &section[len..];
        }
        if found.len() == before {
            found.push(Section::new(rfc, ""));
        }
    }
    found
}

impl Section {
    fn new(rfc: u32, number: &str) -> Self {
        Self { rfc, numbers: number.split('.').filter_map(|n| n.parse().ok()).collect(), text: number.to_owned() }
    }

    /// `rfc5681_3_2_fast_recovery`: the numbers after the RFC are the section.
    fn of_test(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix("rfc")?.split('_');
        let rfc = words.next()?.parse().ok()?;
        let numbers: Vec<&str> = words.take_while(|word| word.bytes().all(|b| b.is_ascii_digit())).collect();
        Some(Self::new(rfc, &numbers.join(".")))
    }
}

fn rows(scripts: &[(String, Vec<String>)]) -> BTreeMap<Section, Row> {
    let mut rows: BTreeMap<Section, Row> = BTreeMap::new();
    let mut files = Vec::new();
    for part in ["cc", "tcp", "model", "net", "scenario", "conformance"] {
        sources(&root().join("crates").join(part).join("src"), &mut files);
    }
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root().join("crates")).unwrap().to_string_lossy().replace("/src/", "/");
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs") || name.ends_with("suite.rs");
        let code = if is_test { "" } else { text.split("\nmod tests {").next().unwrap_or("") };
        // Comments are read as running text: a citation may be broken over two lines.
        let mut comment = String::new();
        for line in code.lines().map(str::trim).chain([""]) {
            if let Some(words) = line.strip_prefix("//") {
                comment += words.trim_start_matches(['/', '!']);
                continue;
            }
            let comment = std::mem::take(&mut comment);
            for section in citations(&comment) {
                rows.entry(section).or_default().code.insert(name.clone());
            }
            if let Some((_, deviation)) = comment.split_once("DEVIATION: ") {
                let section = citations(deviation).into_iter().next().expect("a deviation names what it deviates from");
                let sentence = deviation.split_whitespace().collect::<Vec<_>>().join(" ");
                rows.entry(section).or_default().deviations.insert(format!("{sentence} ({name})"));
            }
        }
        for function in text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next()) {
            if let Some(section) = Section::of_test(function) {
                rows.entry(section).or_default().tests.insert(format!("`{function}`"));
            }
        }
    }
    for (file, titles) in scripts {
        for title in titles {
            let section = citations(title).into_iter().next().unwrap_or_else(|| panic!("{file}: {title}: no section"));
            let what = title.split_once("  ").map_or(title.as_str(), |(_, what)| what).trim();
            rows.entry(section).or_default().tests.insert(format!("{what} ({file})"));
        }
    }
    rows
}

/// The whole page. `scripts`: the titles of the cases of each file.
pub(crate) fn page(scripts: &[(String, Vec<String>)]) -> String {
    let mut out = String::from(
        "<!-- Generated from the comments, tests and scripts of the crates by `make bless`; do not edit. -->\n\
         # Conformance\n\n\
         This page lists the RFC sections that the code cites: where each is implemented, the tests of it, and the\n\
         deviations with their reasons. Tests in sentences are conformance scripts\n\
         (`crates/conformance/src/scripts/`): inputs of a connection from its application and its peer, and the\n\
         segments that it must send, with their instants. `bentpipe drill` runs the scripts. Names like\n\
         `rfc5681_3_2_fast_recovery` are unit tests.\n\n\
         For the RFCs of congestion control and section 3.8 of RFC 9293, a second table lists every MUST and SHOULD in\n\
         short form, with its test, its deviation, or the reason why it does not apply\n\
         (`crates/conformance/tests/requirements.txt`). RECOMMENDED counts as SHOULD. The level `step` marks a step\n\
         without such a word.\n",
    );
    let mut last = 0;
    for (section, row) in rows(scripts) {
        if section.rfc != last {
            requirement_table(last, &mut out);
            let _ =
                write!(out, "\n## RFC {}\n\n| section | code | tests | deviation |\n|---|---|---|---|\n", section.rfc);
            last = section.rfc;
        }
        let join = |set: &BTreeSet<String>, between: &str| {
            set.iter().cloned().collect::<Vec<_>>().join(between).replace('|', "/")
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            if section.text.is_empty() { "as a whole".to_owned() } else { format!("§{}", section.text) },
            join(&row.code, ", "),
            join(&row.tests, "; "),
            join(&row.deviations, "; "),
        );
    }
    requirement_table(last, &mut out);
    out
}

/// Path of the page.
pub(crate) fn path() -> PathBuf {
    root().join("docs/validation/conformance.md")
}
