//! Rules over the whole repository that need no reviewer. Each failure names the file and
//! the line, and all of them at once.

use bentpipe_cc::verdict::VerdictKind;
use bentpipe_cc::CcKind;
use bentpipe_sim::dictionary::{
    Column, CAUSES, COMPLETIONS, CRITICAL_PATH, DATAGRAMS, DROPS, EVENTS, FLOWS, LINKS, LOSSES, PATH_PARTS, PROBES,
    SERIES, SUMMARY, TRANSFERS,
};
use bentpipe_sim::middlebox::MiddleboxConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Lines that a file may have without its tests.
const LINES_MAX: usize = 600;

/// Files that may be longer, each with the reason.
const LONGER: [(&str, &str); 0] = [];

/// Largest number of fields of a type. A type with more is several types.
const FIELDS_MAX: usize = 24;

/// Types that may have more, each with the reason.
const WIDER: [(&str, &str, &str); 3] = [
    ("crates/quic/src/driver.rs", "QuicEnd", "one end of the stack, its clock, streams, fates and counts"),
    ("crates/scenario/src/keys/tcp.rs", "Tcp", "one field is one key of the scenario"),
    ("crates/tcp/src/config.rs", "Config", "one field is one key of the scenario"),
];

/// Largest number of files with inherent `impl` blocks of a type.
const IMPLS_MAX: usize = 3;

/// Crates and types with more, with the number of files and the reason. A number may only fall.
const SPREAD: [(&str, &str, usize, &str); 9] = [
    ("net", "Motion", 4, "one file is one step of a packet; its parts own the state that only they change"),
    ("model", "Scenario", 7, "plain values; each file answers one kind of question about them"),
    ("net", "Sketch", 4, "a random network is drawn by topic"),
    (
        "net",
        "Traffic",
        5,
        "sessions over engines and over several paths have their own files, away from the path of segments",
    ),
    ("cc", "Bbr3", 5, "one file is one state of the paper"),
    ("tcp", "Life", 5, "one file is one section of RFC 9293"),
    ("tcp", "Receiver", 4, "extras act on the data and the window that they share with it"),
    ("tcp", "Scoreboard", 4, "one file is one kind of evidence, over the same runs"),
    ("tcp", "Sender", 9, "one file is one step of an ACK or of a departure"),
];

/// Largest number of methods in the inherent `impl` blocks of a type.
const METHODS_MAX: usize = 60;

/// Crates and types that still have more methods, with their number. A number may only fall, and none is added.
const METHODS: [(&str, &str, usize); 1] = [("tcp", "Meta", 74)];

/// Crates, each with names that two of its types may have.
const TWICE: [(&str, &[&str]); 5] = [("model", &[]), ("net", &[]), ("scenario", &[]), ("tcp", &[]), ("cc", &[])];

/// This file, which names what it refuses.
const THIS: &str = "crates/sim/tests/tidy.rs";

/// Bytes that a file may have.
const SIZE_MAX: u64 = 220_000;

/// Folders that hold nothing of ours, wherever they are.
const SKIPPED: [&str; 6] = ["target", "build", "dist", "site", "results", "__pycache__"];

/// The sources that time, randomness and output must not reach.
const CORE: [&str; 8] = [
    "crates/units/src",
    "crates/cc/src",
    "crates/tcp/src",
    "crates/model/src",
    "crates/net/src",
    "crates/scenario/src",
    "crates/sim/src",
    "crates/conformance/src",
];

/// A text file of the repository.
struct File {
    /// Path from the root of the repository, with `/`.
    name: String,
    text: String,
}

impl File {
    fn has_ending(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.name.ends_with(ending))
    }

    fn is_core(&self) -> bool {
        CORE.iter().any(|folder| self.name.starts_with(folder)) && self.has_ending(&[".rs"])
    }

    fn is_test(&self) -> bool {
        self.name.contains("/tests/") || self.name.starts_with("tests/") || self.has_ending(&["/tests.rs", "/suite.rs"])
    }

    /// Its lines with their numbers, tests at the end left out.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = self.text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        (1..).zip(self.text[..end].lines())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns all files under the root, sorted, without hidden files and the output of tools.
fn paths() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with('.') || SKIPPED.contains(&name.as_str()) || name.ends_with(".egg-info") {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
}

/// Returns the files that people write: sources, documents, scenarios.
fn files() -> Vec<File> {
    let endings = [".rs", ".py", ".pyi", ".toml", ".md", ".yml", ".cff"];
    let paths = paths().into_iter().filter(|path| endings.iter().any(|ending| name(path).ends_with(ending)));
    paths.map(|path| File { name: name(&path), text: std::fs::read_to_string(path).unwrap() }).collect()
}

/// Fails with all findings.
fn none(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<String> = findings.into_iter().collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// Returns the places of `words` as whole words.
fn mentions(file: &File, words: &[&str]) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !(before.ends_with(is_part) || word.ends_with(is_part) && after.starts_with(is_part))
        })
    };
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        let code = line.split("//").next().unwrap();
        found.extend(words.iter().filter(|w| has(code, w)).map(|w| format!("{}:{number}: {w}", file.name)));
    }
    found
}

#[test]
fn sources_are_short() {
    let generated = |file: &File| file.text.lines().next().is_some_and(|line| line.contains("Generated"));
    let too_long = |file: &File| {
        let lines = file.lines().count();
        let allowed = LONGER.iter().any(|longer| longer.0 == file.name);
        let is_ours = file.has_ending(&[".rs", ".py"]) && !file.is_test() && !generated(file);
        (is_ours && !allowed && lines > LINES_MAX).then(|| format!("{}: {lines} lines without its tests", file.name))
    };
    none(files().iter().filter_map(too_long));
}

/// The type of a line that begins an inherent `impl`.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => {
            let mut depth = 1;
            let end = generics.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            })?;
            &generics[end + 1..]
        }
        None => rest,
    };
    let path = rest.strip_prefix(' ')?;
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(path.len());
    (!line.contains(" for ")).then(|| path[..end].rsplit("::").next().unwrap())
}

/// By crate and type, the files with an inherent `impl` of it.
fn implementations(files: &[File]) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.has_ending(&[".rs"]) && !file.is_test()) {
        let Some((krate, _)) = file.name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
            continue;
        };
        let mut is_for_tests = false;
        for (_, line) in file.lines() {
            if let (Some(name), false) = (implemented(line), is_for_tests) {
                found.entry((krate, name)).or_default().insert(file.name.as_str());
            }
            is_for_tests = line == "#[cfg(test)]";
        }
    }
    found
}

/// A type whose methods are spread over many files is several types.
#[test]
fn a_type_is_implemented_in_few_files() {
    let files = files();
    let found = implementations(&files);
    let allowed = |of: &(&str, &str)| {
        let spread = SPREAD.iter().find(|(krate, name, ..)| (*krate, *name) == *of);
        spread.map(|(.., count, _)| *count)
    };
    let findings = found.iter().filter_map(|(of, places)| {
        let (count, allowed) = (places.len(), allowed(of));
        (count > allowed.unwrap_or(IMPLS_MAX) || allowed.is_some_and(|allowed| count < allowed)).then(|| {
            let places: Vec<&str> = places.iter().copied().collect();
            let allowed = allowed.unwrap_or(IMPLS_MAX);
            format!("{}: {} is implemented in {count} files; listed are {allowed}: {}", of.0, of.1, places.join(", "))
        })
    });
    let gone = SPREAD.iter().filter(|(krate, name, ..)| !found.contains_key(&(*krate, *name)));
    none(findings.chain(gone.map(|(krate, name, ..)| format!("{krate}: {name} is not found: take it off the list"))));
}

/// Folders and files of modules that exist only for tests, without the ending of a file.
fn modules_of_tests(files: &[File]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| file.has_ending(&[".rs"])) {
        let folder = ["/lib.rs", "/mod.rs", ".rs"].iter().find_map(|ending| file.name.strip_suffix(ending));
        for rest in file.text.split("#[cfg(test)]\n").skip(1) {
            let declared = rest.strip_prefix("pub(crate) ").unwrap_or(rest).strip_prefix("mod ");
            if let (Some(folder), Some((name, _))) = (folder, declared.and_then(|rest| rest.split_once(';'))) {
                found.insert(format!("{folder}/{name}"));
            }
        }
    }
    found
}

/// The type of each method of an inherent `impl`, without those for tests.
fn methods(file: &File) -> Vec<&str> {
    let (mut found, mut of, mut is_for_tests) = (Vec::new(), None, false);
    for (_, line) in file.lines() {
        if line == "}" {
            of = None;
        } else if let Some(name) = implemented(line) {
            of = Some(name).filter(|_| !is_for_tests && !line.ends_with("{}"));
        }
        let is_method = |rest: &str| {
            let rest = match rest.strip_prefix("pub") {
                Some(limit) if limit.starts_with('(') => limit.split_once(") ").map_or("", |(_, rest)| rest),
                Some(rest) => rest.trim_start(),
                None => rest,
            };
            ["fn ", "const fn ", "unsafe fn "].iter().any(|begin| rest.starts_with(begin))
        };
        if line.strip_prefix("    ").is_some_and(is_method) && !is_for_tests {
            found.extend(of);
        }
        is_for_tests = match line.trim() {
            "#[cfg(test)]" => true,
            rest => is_for_tests && (rest.starts_with("#[") || rest.starts_with("//")),
        };
    }
    found
}

/// A type with many methods has parts that own some of its state: a method of a part cannot reach the others.
#[test]
fn a_type_has_few_methods() {
    let files = files();
    let of_tests = modules_of_tests(&files);
    let is_for_tests = |file: &File| {
        let path = file.name.trim_end_matches(".rs");
        file.is_test() || of_tests.iter().any(|module| Path::new(path).starts_with(module))
    };
    let mut found: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.has_ending(&[".rs"]) && !is_for_tests(file)) {
        if let Some((krate, _)) = file.name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
            methods(file).into_iter().for_each(|name| *found.entry((krate, name)).or_default() += 1);
        }
    }
    let listed =
        |of: (&str, &str)| METHODS.iter().find(|(krate, name, _)| (*krate, *name) == of).map(|(.., count)| *count);
    let findings = found.iter().filter_map(|(&(krate, name), &count)| match listed((krate, name)) {
        Some(_) if count <= METHODS_MAX => Some(format!("{krate}: {name} has {count} methods: take it off the list")),
        Some(allowed) if count < allowed => {
            Some(format!("{krate}: {name} has {count} methods: lower its number {allowed}"))
        }
        allowed => {
            let most = allowed.unwrap_or(METHODS_MAX);
            (count > most).then(|| format!("{krate}: {name} has {count} methods; allowed are {most}"))
        }
    });
    let gone = METHODS.iter().filter(|(krate, name, _)| !found.contains_key(&(*krate, *name)));
    none(findings.chain(gone.map(|(krate, name, _)| format!("{krate}: {name} is not found: take it off the list"))));
}

#[test]
fn methods_are_recognised() {
    let text = "impl<T: Copy> Plain<T> {\n    pub(super) fn a(&self) {}\n    const fn b() {}\n    pub fn c<F: Fn()>(f: F) {\n        \
                fn inner() {}\n    }\n    /// Of tests.\n    #[cfg(test)]\n    pub(crate) fn d() {}\n}\nimpl Clone for Plain<u8> \
                {\n    fn clone(&self) {}\n}\n#[cfg(test)]\nimpl Plain<u8> {\n    fn e() {}\n}\nfn free() {}\n";
    let file = File { name: "plain.rs".into(), text: text.into() };
    assert_eq!(methods(&file), ["Plain"; 3]);
    let lib = File { name: "crates/x/src/lib.rs".into(), text: "#[cfg(test)]\nmod swarm;\nmod rest;\n".into() };
    assert_eq!(modules_of_tests(&[lib]), BTreeSet::from(["crates/x/src/swarm".to_owned()]));
}

#[test]
fn implementations_are_recognised() {
    assert_eq!(implemented("impl Network {"), Some("Network"));
    assert_eq!(implemented("impl<E: Carrier, K: Ord + Copy> Splicer<E, K> {"), Some("Splicer"));
    assert_eq!(implemented("impl<T: Iterator<Item = u8>> super::Bytes<T>"), Some("Bytes"));
    assert_eq!(implemented("impl Middlebox for Split {"), None);
    assert_eq!(implemented("    impl Network {"), None);
}

/// Types that a source declares, with the visibility that others see.
fn public_types(file: &File) -> impl Iterator<Item = &str> {
    file.lines().filter_map(|(_, line)| {
        let rest = line.strip_prefix("pub")?;
        let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
        let kinds = [" struct ", " enum ", " trait ", " type "];
        let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
        name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
    })
}

/// The name of a type means one thing in a crate.
#[test]
fn public_types_have_names_of_their_own() {
    let mut findings = Vec::new();
    for (package, allowed) in TWICE {
        let folder = format!("crates/{package}/src/");
        let sources = files().into_iter().filter(|file| file.name.starts_with(&folder) && !file.is_test());
        let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in sources {
            public_types(&file).for_each(|name| seen.entry(name.into()).or_default().push(file.name.clone()));
        }
        for (name, places) in seen.iter().filter(|(_, places)| places.len() > 1) {
            if !allowed.contains(&name.as_str()) {
                findings.push(format!("{name} is declared in {}", places.join(" and ")));
            }
        }
        let is_twice = |name: &str| seen.get(name).is_some_and(|places| places.len() > 1);
        let unneeded = allowed.iter().filter(|name| !is_twice(name));
        findings.extend(unneeded.map(|name| format!("{package}: {name} is declared once: take it off the list")));
    }
    none(findings);
}

/// Structs of a source, with the number of their fields.
fn structs(file: &File) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for (_, line) in file.lines() {
        let code = line.split("//").next().unwrap();
        if let (Some((_, rest)), true) = (code.split_once("struct "), code.ends_with('{') && !code.starts_with(' ')) {
            is_inside = true;
            found.push((rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap().into(), 0));
        } else if is_inside && code == "}" {
            is_inside = false;
        } else if let (true, Some(rest), Some((_, fields))) = (is_inside, code.strip_prefix("    "), found.last_mut()) {
            let is_field = !rest.starts_with([' ', '#', '}', ')']) && rest.contains(": ");
            *fields += usize::from(is_field);
        }
    }
    found
}

/// A limit on lines alone breeds types that are spread over files.
#[test]
fn types_have_few_fields() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.has_ending(&[".rs"]) && file.name.starts_with("crates/")) {
        for (name, fields) in structs(file) {
            let is_allowed = WIDER.iter().any(|(path, wide, _)| *path == file.name && *wide == name);
            if (fields > FIELDS_MAX) != is_allowed {
                findings.push(format!("{}: {name} has {fields} fields; allowed are {FIELDS_MAX}", file.name));
            }
        }
    }
    none(findings);
}

#[test]
fn nothing_is_left_for_later() {
    let words = ["todo!", "unimplemented!", "dbg!"];
    none(
        files()
            .iter()
            .filter(|f| f.has_ending(&[".rs"]) && !f.name.ends_with("tidy.rs"))
            .flat_map(|f| mentions(f, &words)),
    );
}

#[test]
fn the_core_does_not_print() {
    let words = ["println!", "eprintln!", "print!", "eprint!"];
    none(files().iter().filter(|f| f.is_core() && !f.is_test()).flat_map(|f| mentions(f, &words)));
}

/// One clock (simulated), one kind of randomness (addressed streams), no hidden order.
#[test]
fn the_core_is_deterministic() {
    let words =
        ["HashMap", "HashSet", "RandomState", "time::Instant", "Instant::now", "SystemTime", "thread::sleep", "rand"];
    none(files().iter().filter(|f| f.is_core() && !f.is_test()).flat_map(|f| mentions(f, &words)));
}

/// A function of the system may differ in the last digit from that of a web page, or of another system. Those of `libm` are
/// the same everywhere; `sqrt` is exact.
#[test]
fn the_core_has_no_functions_of_the_system() {
    let names = "sin cos tan asin acos atan sinh cosh tanh exp exp2 exp_m1 ln ln_1p log2 log10 cbrt sin_cos";
    let mut calls: Vec<String> = names.split(' ').map(|name| format!(".{name}()")).collect();
    calls.extend(["powf", "atan2", "hypot", "log"].map(|name| format!(".{name}(")));
    let folders = ["units", "orbit", "access", "cc", "tcp", "model", "net", "scenario", "sim"]
        .map(|name| format!("crates/{name}/src"));
    let is_ours = |file: &&File| folders.iter().any(|folder| file.name.starts_with(folder)) && !file.is_test();
    let find = |file: &File| {
        let is_call = |line: &str| calls.iter().any(|call| line.contains(call)) && !line.trim().starts_with("//");
        let found = file.lines().filter(|(_, line)| is_call(line));
        found.map(|(number, line)| format!("{}:{number}: {}", file.name, line.trim())).collect::<Vec<_>>()
    };
    none(files().iter().filter(|file| file.has_ending(&[".rs"])).filter(is_ours).flat_map(find));
}

/// `RFC 1234`, and `§5.6` where a section is meant: one form, so that a script can collect them.
#[test]
fn citations_of_rfcs_parse() {
    let mut findings = Vec::new();
    // Files that read citations hold the signs alone. Specifications cite the sections of papers, too.
    let reading = ["tidy.rs", "conformance/tests/table.rs", "tools/words/words.toml"];
    let reads =
        |file: &&File| file.name.starts_with("docs/specs/") || reading.iter().any(|name| file.name.ends_with(name));
    for file in files().iter().filter(|file| !reads(file)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let bad = |what: &str| format!("{}:{number}: {what}: {}", file.name, line.trim());
            for (at, _) in line.match_indices("RFC") {
                let rest = &line[at + 3..];
                // The word alone, as in "the RFCs" and "an RFC".
                let is_word = rest.starts_with('s') || rest.strip_prefix(' ').is_some_and(starts_word);
                if is_word || line[..at].ends_with(|c: char| c.is_alphanumeric()) {
                    continue;
                }
                let digits = rest.strip_prefix(' ').map_or(0, |r| r.bytes().take_while(u8::is_ascii_digit).count());
                let after = rest.get(1 + digits..).unwrap_or_default();
                if !(1..=5).contains(&digits) {
                    findings.push(bad("expected `RFC 1234` on one line"));
                } else if after.to_lowercase().starts_with(" sec") || after.starts_with('§') {
                    findings.push(bad("expected `RFC 1234 §5.6`"));
                }
            }
            for (at, sign) in line.match_indices('§') {
                let section = line[at + sign.len()..].split(|c: char| !(c.is_alphanumeric() || c == '.')).next();
                let parts = section.unwrap_or_default().trim_end_matches('.').split('.');
                if parts.clone().any(|part| part.is_empty()) || !parts.clone().next().is_some_and(starts_section) {
                    findings.push(bad("expected a section such as `§5.6`"));
                }
            }
        }
    }
    none(findings);
}

fn starts_word(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
}

/// A number, or the letter of an appendix.
fn starts_section(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit()) || (part.len() == 1 && part.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Each choice of a registry is explained in one sentence and appears in the reference.
#[test]
fn each_registered_name_is_documented() {
    let pages = std::fs::read_dir(root().join("docs/reference/scenario")).unwrap();
    let reference: String = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap()).collect();
    let cc = CcKind::ALL.iter().map(|kind| ("cc", kind.name(), kind.summary()));
    let verdicts = VerdictKind::ALL.iter().map(|kind| ("verdict", kind.name(), kind.summary()));
    let middleboxes = MiddleboxConfig::ALL.iter().map(|&(name, summary)| ("middlebox", name, summary));
    let undocumented = cc.chain(verdicts).chain(middleboxes).filter_map(|(topic, name, summary)| {
        let short = format!("`{topic} = \"{name}\"`: ");
        let long = format!("`{topic} = {{ kind = \"{name}\"");
        let is_listed = reference.contains(&short) || reference.contains(&long);
        let is_sentence = summary.ends_with('.') && summary.starts_with(char::is_uppercase);
        let is_named =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        (!is_listed || !is_sentence || !is_named).then(|| format!("{topic} {name}: {summary}"))
    });
    none(undocumented);
}

/// Names end in their unit, meanings are sentences, nothing is there twice.
#[test]
fn each_column_has_a_unit_and_a_meaning() {
    let series: Vec<Column> = SERIES.iter().map(|series| series.column).collect();
    let tables = [("flows", FLOWS), ("links", LINKS), ("drops", DROPS), ("summary", SUMMARY), ("series", &series)];
    let tables = tables.into_iter().chain([("events", EVENTS), ("causes", CAUSES), ("completions", COMPLETIONS)]);
    let tables = tables.chain([
        ("transfers", TRANSFERS),
        ("datagrams", DATAGRAMS),
        ("probes", PROBES),
        ("losses", LOSSES),
        ("critical_path", CRITICAL_PATH),
        ("path_parts", PATH_PARTS),
    ]);
    let endings = [("_bytes", "B"), ("_bps", "bit/s"), ("_pct", "%"), ("_s", "s"), ("bytes", "B")];
    let mut findings = Vec::new();
    for (table, columns) in tables {
        for (index, column) in columns.iter().enumerate() {
            let Column { name, unit, meaning, .. } = *column;
            let expected = endings.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, unit)| *unit);
            let is_known = ["", "1", "%", "B", "bit/s", "s"].contains(&unit);
            if !is_known || expected.is_some_and(|expected| expected != unit) {
                findings.push(format!("{table}.{name}: the unit is {unit:?}"));
            }
            if meaning.len() < 8 || !meaning.ends_with('.') {
                findings.push(format!("{table}.{name}: the meaning is no sentence: {meaning:?}"));
            }
            if columns[..index].iter().any(|other| other.name == name) {
                findings.push(format!("{table}.{name} is there twice"));
            }
        }
    }
    none(findings);
}

#[test]
fn files_are_clean_and_small() {
    let mut findings = Vec::new();
    for path in paths() {
        let size = std::fs::metadata(&path).unwrap().len();
        let is_made = [".so", ".pyd", ".dylib", ".png", ".schema.json", "/maps.bin"]
            .iter()
            .any(|ending| name(&path).ends_with(ending));
        if size > SIZE_MAX && !is_made {
            findings.push(format!("{}: {size} B", name(&path)));
        }
    }
    for file in files() {
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            findings.push(format!("{}: ends in one line break", file.name));
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            if line.contains('\t') || line.ends_with(' ') || line.ends_with('\r') {
                findings.push(format!("{}:{number}: tab or space at the end", file.name));
            }
        }
    }
    none(findings);
}

/// A file that `main.rs` does not name is not compiled, so its tests cannot fail.
#[test]
fn every_file_of_tests_belongs_to_a_binary() {
    let folder = "crates/sim/tests/";
    let (manifest, main) = (include_str!("../Cargo.toml"), include_str!("main.rs"));
    let tests = files().into_iter().filter_map(|file| file.name.strip_prefix(folder).map(str::to_owned));
    let modules = tests.filter(|name| name != "main.rs" && !name.contains('/') && name.ends_with(".rs"));
    none(modules.filter(|name| {
        let module = name.trim_end_matches(".rs");
        !main.contains(&format!("\nmod {module};\n")) && !manifest.contains(&format!("name = \"{module}\"\n"))
    }));
}

/// Pages that are written when the site is built, which checks the links to them.
const BUILT: [&str; 8] = [
    "columns.md",
    "causes.md",
    "metrics.md",
    "names.md",
    "command-line.md",
    "python.md",
    "results.md",
    "gallery/index.md",
];

/// Links between pages lead somewhere.
#[test]
fn links_in_documents_lead_to_files() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.has_ending(&[".md"])) {
        let folder = root().join(&file.name);
        for rest in file.text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap();
            let is_elsewhere = target.is_empty() || target.contains("://");
            let is_built = file.name.starts_with("docs/") && BUILT.iter().any(|page| target.ends_with(page));
            if !is_elsewhere && !is_built && !folder.parent().unwrap().join(target).exists() {
                findings.push(format!("{}: {target}", file.name));
            }
        }
    }
    none(findings);
}

/// A source cites a page of `docs/specs` by its path, and the page is there.
#[test]
fn citations_of_specifications_lead_to_files() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.has_ending(&[".rs"]) && file.name != THIS) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (start, _) in line.match_indices("specs/") {
                let is_end = |c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c));
                let page = line[start..].split(is_end).next().unwrap().trim_end_matches('.');
                if !line[..start].ends_with("docs/") || !root().join("docs").join(page).is_file() {
                    findings.push(format!("{}:{number}: {page}", file.name));
                }
            }
        }
    }
    none(findings);
}
