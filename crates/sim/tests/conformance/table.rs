//! The page `docs/validation/conformance.md`: for each section of an RFC that the code speaks of, where it is implemented, what tests
//! it, and where we deviate. Made from the comments, the names of tests and the titles of cases, so that it cannot say what
//! is not there. `BLESS=1` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

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
    for part in ["tcp", "sim"] {
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
         For each section of an RFC that the code speaks of: where it is implemented, what tests it, and where bentpipe\n\
         deviates and why. Tests in sentences are conformance scripts (`crates/sim/src/conformance/scripts/`): a connection, what its\n\
         application and its peer do, and what it must send at which instant. Names like `rfc5681_3_2_fast_recovery` are unit\n\
         tests. `bentpipe drill` runs the scripts.\n",
    );
    let mut last = 0;
    for (section, row) in rows(scripts) {
        if section.rfc != last {
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
    out
}

/// Where the page stands.
pub(crate) fn path() -> PathBuf {
    root().join("docs/validation/conformance.md")
}
