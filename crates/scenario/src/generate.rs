//! Generates documents from the schema: lists of choices, the reference pages, the Python types.

use super::alternatives::{alternatives, Alternative};
use super::schema::{table, to_json};
use bentpipe_cc::CcKind;
use bentpipe_model::middlebox::MiddleboxConfig;
use bentpipe_model::spec::Like;
use bentpipe_tcp::multi::SchedulerKind;
use bentpipe_units::settings::{Absent, HostDefault, HostDefaults, Key, Shape, Table, Value};
use bentpipe_units::Word;
use serde_json::Value as Json;
use std::fmt::Write;

/// Named choice of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Key of the choice, such as `cc` or `queue`.
    pub topic: &'static str,
    /// Name in scenario files.
    pub name: String,
    /// Description in one line.
    pub summary: String,
    /// Full description in Markdown. A congestion control has its source, equations and behaviour under headings. A
    /// middlebox has these and its keys. Other choices have a description and their keys.
    pub doc: String,
}

/// Returns all choices by `kind`.
pub fn choices() -> Vec<Choice> {
    let topics = [
        ("like", "Tcp", "like"),
        ("cc", "Tcp", "cc"),
        ("recovery", "Tcp", "recovery"),
        ("verdict", "Tcp", "verdict"),
        ("byte_counting", "Tcp", "byte_counting"),
        ("slow_start", "Tcp", "slow_start"),
        ("increase", "Tcp", "increase"),
        ("cwnd_validation", "Tcp", "cwnd_validation"),
        ("reduction", "Tcp", "reduction"),
        ("spurious_detection", "Tcp", "spurious_detection"),
        ("spurious_response", "Tcp", "spurious_response"),
        ("best_effort", "Tcp", "best_effort"),
        ("fast_open", "Tcp", "fast_open"),
        ("transactions", "Tcp", "transactions"),
        ("sharing", "Tcp", "sharing"),
        ("ecn", "Tcp", "ecn"),
        ("pacing", "Tcp", "pacing"),
        ("queue", "Link", "queue"),
        ("error", "Link", "error"),
        ("app", "Flow", "app"),
        ("middlebox", "Node", "middlebox"),
        ("scheduler", "MultiConfig", "scheduler"),
        ("coupling", "MultiConfig", "coupling"),
        ("forwarding", "File", "forwarding"),
        ("waiting", "At", "waiting"),
        ("in_flight", "At", "in_flight"),
    ];
    let mut all = Vec::new();
    for (topic, of, key) in topics {
        let options = alternatives(item(&table(of).key(key).expect("a key of the table").shape));
        let is_table = options.iter().any(|option| option.table().is_some());
        for option in options {
            // Choices without settings are words. Choices with settings are tables, whose names are the short form.
            if let Some(name) = option.kind().or(option.word().filter(|_| !is_table)) {
                let mut doc = sentence(option.about());
                let scheduler = SchedulerKind::ALL.iter().find(|kind| topic == "scheduler" && kind.name() == name);
                match CcKind::ALL.iter().find(|kind| topic == "cc" && kind.name() == name) {
                    Some(kind) => doc = kind.doc(),
                    None => {
                        if let Some(kind) = scheduler {
                            let _ = write!(doc, "\n\n{}\n", kind.doc());
                        }
                        if let Some(head) = MiddleboxConfig::doc(name).filter(|_| topic == "middlebox") {
                            let _ = write!(doc, "\n\n{head}\n# Settings\n\n");
                        }
                        if let Some(table) = option.table() {
                            keys(&mut doc, table);
                            choices_of(&mut doc, table, &mut Vec::new());
                        }
                    }
                }
                all.push(Choice { topic, name: name.to_owned(), summary: sentence(option.about()), doc });
            }
        }
    }
    all
}

/// Returns the reference of the scenario file in Markdown: the path of each page below `docs/reference`, and its text.
pub fn reference() -> Vec<(String, String)> {
    let tables = [
        ("tcp", "`[tcp]`, `[flow.NAME.tcp]`", "Tcp"),
        ("rto", "`rto`, in `[tcp]`", "Rto"),
        ("ack", "`ack`, in `[tcp]`", "Ack"),
        ("quic", "`[quic]`, `[flow.NAME.quic]`", "Quic"),
        ("node", "`[node.NAME]`", "Node"),
        ("sky", "`[sky]`", "Sky"),
        ("constellation", "`[sky.constellation.NAME]`", "Constellation"),
        ("place", "`[sky.place.NAME]`", "Position"),
        ("hop", "`user`, `feeder`, `inter_satellite`, `fibre`, in `[sky]`", "Hop"),
        ("link", "`[link.NAME]`", "Link"),
        ("direction", "`[link.NAME.forward]`, `[link.NAME.reverse]`", "Direction"),
        ("flow", "`[flow.NAME]`", "Flow"),
        ("at", "`[[at]]`", "At"),
        ("install", "`install`, in `[[at]]`", "Install"),
        ("handover", "`handover`, in `[[at]]`", "Handover"),
        ("record", "`[record]`", "Record"),
        ("sweep", "`[sweep]`", "Sweep"),
        ("until", "`until`, in `[sweep]`", "Until"),
        ("tune", "`[tune]`", "Tune"),
    ];
    let mut first = String::from(
        "# The scenario file\n\n<!-- Generated from the schema by `BLESS=1 cargo test`; do not edit. -->\n\n\
         A scenario is TOML. Quantities are strings with a unit. A choice by `kind` without required keys may be \
         written as its name: `cc = \"reno\"`. Unknown keys are rejected. Each table has a page:\n\n\
         | table | describes |\n|---|---|\n",
    );
    for (page, title, name) in tables {
        let _ = writeln!(first, "| [{title}](scenario/{page}.md) | {} |", sentence(table(name).about));
    }
    let top = table("File");
    let _ = write!(first, "\n## Top level\n\n{}\n", sentence(top.about));
    entries(&mut first, top, &[], 3);
    let mut pages = vec![("scenario.md".to_owned(), first)];
    for (page, title, name) in tables {
        // A direction has most keys of its link, a constellation most keys of its sky.
        let told: Vec<Page> = match name {
            "Direction" | "Hop" => vec![("link", table("Link"))],
            "Sky" => vec![("node", table("Node"))],
            "Constellation" => vec![("node", table("Node")), ("sky", table("Sky"))],
            _ => Vec::new(),
        };
        let of = table(name);
        let about = sentence(of.about);
        let mut text = format!("# {title}\n\n<!-- Generated from the schema; do not edit. -->\n\n{about}\n");
        entries(&mut text, of, &told, 2);
        pages.push((format!("scenario/{page}.md"), text));
    }
    pages
}

/// Another page and the table that it describes, for keys of both pages.
type Page = (&'static str, &'static Table);

/// Writes an entry for each key: a heading of this level, its meaning, facts and choices. A key with the same choices on
/// a page of `told` links to that page.
fn entries(out: &mut String, table: &Table, told: &[Page], level: usize) {
    for key in table.keys.iter().flatten() {
        let name = key.name;
        let _ = write!(out, "\n{} {name}\n\n{}\n\n", "#".repeat(level), sentence(key.meaning));
        facts(out, key, "");
        match told.iter().find(|page| !choices_of_key(key).is_empty() && is_on(page, key)) {
            Some((page, _)) => {
                let _ = writeln!(out, "\nIts choices are those of [`{name}`]({page}.md#{name}).");
            }
            None => write_choices(out, key, &mut Vec::new()),
        }
    }
}

/// Writes a list of keys: the keys of a choice.
fn keys(out: &mut String, table: &Table) {
    let Some(keys) = table.keys.as_ref().filter(|keys| !keys.is_empty()) else { return };
    out.push('\n');
    for key in keys {
        let _ = writeln!(out, "- `{}`: {}", key.name, sentence(key.meaning));
        facts(out, key, "    ");
    }
}

/// Writes a list of facts of a key, indented: its values, and its default with its source, by host where they differ.
fn facts(out: &mut String, key: &Key, indent: &str) {
    let _ = writeln!(out, "{indent}- Value: {}", value(key));
    let (default, origin) = key.usual();
    match (key.hosts.is_empty(), default) {
        (true, Absent::Required) => {
            let _ = writeln!(out, "{indent}- Required");
        }
        (true, Absent::Default(_)) => {
            let source = if origin.is_empty() { String::new() } else { format!(" ({origin})") };
            let _ = writeln!(out, "{indent}- Default: {}{source}", default_of(default));
        }
        (true, Absent::Open) if origin.is_empty() => {}
        (true, Absent::Open) => {
            let _ = writeln!(out, "{indent}- Source: {origin}");
        }
        (false, _) => {
            let _ = writeln!(out, "{indent}- Default by [host](tcp.md#like):");
            for (hosts, said) in hosts_of(key) {
                let names: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
                match said.as_slice() {
                    [only] => {
                        let _ = writeln!(out, "{indent}    - {}: {only}", names.join(", "));
                    }
                    several => {
                        let _ = writeln!(out, "{indent}    - {}:", names.join(", "));
                        for each in several {
                            let _ = writeln!(out, "{indent}        - {each}");
                        }
                    }
                }
            }
        }
    }
}

/// Returns the defaults of a key by host, the usual host first. Hosts with equal defaults are together.
fn hosts_of(key: &Key) -> Vec<(Vec<&str>, Vec<String>)> {
    let mut hosts: Vec<&HostDefaults> = key.hosts.iter().collect();
    hosts.sort_by_key(|host| !host.host.starts_with(Like::TODAYS.name()));
    let mut found: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for host in hosts {
        let said = of_host(host);
        match found.iter_mut().find(|(_, other)| *other == said) {
            Some((names, _)) => names.push(host.host),
            None => found.push((vec![&host.host], said)),
        }
    }
    found
}

/// Describes the defaults of one host, each with its condition and source.
fn of_host(host: &HostDefaults) -> Vec<String> {
    let prefix = format!("{}: ", host.host);
    let said = |one: &HostDefault, is_last: bool| {
        let with = match one.when.as_str() {
            "" if is_last => "otherwise: ".to_owned(),
            "" => String::new(),
            when => format!("with {when}: "),
        };
        let origin = one.origin.strip_prefix(&prefix).unwrap_or(&one.origin);
        let value = default_of(&one.value);
        let separator = if value.is_empty() || origin.is_empty() { "" } else { ", " };
        let told = format!("{value}{separator}{origin}");
        format!("{with}{}", if told.is_empty() { "none" } else { &told })
    };
    let others = host.others.iter().map(|other| said(other, true));
    [said(&host.of_empty, false)].into_iter().chain(others).collect()
}

fn default_of(default: &Absent) -> String {
    match default {
        Absent::Default(default) => format!("`{}`", to_json(default)),
        Absent::Required => "required".into(),
        Absent::Open => String::new(),
    }
}

/// Writes the choices of a table's keys. Equal choices of a key in `written` are not repeated.
fn choices_of<'s>(out: &mut String, table: &'s Table, written: &mut Vec<&'s Key>) {
    for key in table.keys.iter().flatten() {
        if !written.iter().any(|other| have_same_choices(other, key)) {
            write_choices(out, key, written);
        }
    }
}

fn write_choices<'s>(out: &mut String, key: &'s Key, written: &mut Vec<&'s Key>) {
    written.push(key);
    for (notation, option) in choices_of_key(key) {
        let _ = write!(out, "\n`{notation}`: {}\n", sentence(option.about()));
        if let Some(table) = option.table() {
            keys(out, table);
            choices_of(out, table, written);
        }
    }
}

/// Whether a page has a key with the same choices.
fn is_on((_, table): &Page, key: &Key) -> bool {
    table.key(key.name).is_some_and(|other| have_same_choices(other, key))
}

fn have_same_choices(one: &Key, other: &Key) -> bool {
    one.name == other.name && alternatives(item(&one.shape)) == alternatives(item(&other.shape))
}

/// Returns the shape of the entries of a list or of choices by name, or the shape itself.
fn item(shape: &Shape) -> &Shape {
    match shape {
        Shape::List(of, ..) => of,
        Shape::Named(of) if matches!(**of, Shape::Kinds(..)) => of,
        other => other,
    }
}

/// Tables that have a page.
const PAGES: [&str; 16] = [
    "Tcp",
    "Config",
    "Rto",
    "Ack",
    "Direction",
    "Sky",
    "Constellation",
    "Position",
    "Hop",
    "Record",
    "At",
    "Install",
    "Handover",
    "Sweep",
    "Until",
    "Tune",
];

/// Returns the choices of a key in the notation of a scenario.
fn choices_of_key(key: &Key) -> Vec<(String, Alternative<'_>)> {
    let options = alternatives(item(&key.shape));
    let name = match key.shape {
        Shape::Named(_) => format!("{}.NAME", key.name),
        _ => key.name.to_owned(),
    };
    let has_kind = |word: &str| options.iter().any(|option| option.kind() == Some(word));
    let notation = |option: Alternative<'_>| {
        let names: Vec<&str> = option.table()?.keys.as_ref()?.iter().map(|key| key.name).collect();
        match option.kind() {
            Some(kind) if names.is_empty() => Some(format!("{name} = \"{kind}\"")),
            Some(kind) => Some(format!("{name} = {{ kind = \"{kind}\", {} }}", names.join(", "))),
            None => Some(format!("{name} = {{ {} }}", names.join(", "))),
        }
    };
    let written = |option: Alternative<'_>| match option {
        Alternative::Word(word, _) => (!has_kind(word)).then(|| format!("{name} = \"{word}\"")),
        Alternative::Table(table) if PAGES.contains(&table.name) => None,
        other => notation(other),
    };
    options.iter().filter_map(|&option| Some((written(option)?, option))).collect()
}

fn sentence(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Largest number of names in a table cell.
const NAMES_MAX: usize = 16;

/// Describes the values of a key in a few words.
fn value(key: &Key) -> String {
    let mut said: Vec<String> = Vec::new();
    for option in alternatives(&key.shape) {
        let text = match option {
            Alternative::Word(word, _) => format!("`\"{word}\"`"),
            Alternative::Kind(_) | Alternative::Table(_) => "table".into(),
            Alternative::Plain(shape) => match shape {
                Shape::Quantity(format) => format!("{}, `\"{}\"`", format.expected, format.example),
                Shape::Whole { min, max: None } => format!("whole number from {min}"),
                Shape::Whole { min, max: Some(max) } => format!("whole number, {min} to {max}"),
                Shape::Real { min, max } => format!("number, {} to {}", Json::from(*min), Json::from(*max)),
                Shape::List(of, ..) if matches!(**of, Shape::Pair(_)) => "list of pairs".into(),
                Shape::List(..) => "list".into(),
                Shape::Pair(_) => "pair".into(),
                Shape::Flag => "`true`, `false`".into(),
                Shape::Named(_) => "table".into(),
                _ => "text".into(),
            },
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let is_name = |text: &String| text.starts_with("`\"");
    if said.iter().filter(|text| is_name(text)).count() > NAMES_MAX {
        // Each name has its own paragraph below.
        said.retain(|text| !is_name(text));
        said.insert(0, format!("a name of `bentpipe list {}`", key.name));
    }
    said.join("; ")
}

/// Returns Python modules of `bentpipe.scenario` with their names: congestion controls, and the whole scenario, as typed
/// dictionaries.
pub fn python_types() -> [(&'static str, String); 2] {
    let head = |what: &str, imports: &str| {
        format!(
            "\"\"\"{what} as typed dictionaries. Generated from the schema; do not edit.\"\"\"\n\n\
             from __future__ import annotations\n\nfrom typing import {imports}\n"
        )
    };
    let mut classes = Classes::default();
    classes.class("ScenarioDict", Alternative::Table(table("File")));
    // A class follows the classes that it mentions, because Python evaluates aliases when it loads the module.
    let (senders, others): (Vec<_>, Vec<_>) = classes.made.iter().partition(|class| class.name.starts_with("Cc"));
    let names: Vec<&str> = senders.iter().map(|class| class.name.as_str()).collect();
    let own = format!("Dict, List, Literal, Tuple, TypedDict, Union\n\nfrom .senders import {}", names.join(", "));
    let text = |head: String, classes: Vec<&Class<'_>>| classes.iter().fold(head, |text, class| text + &class.text);
    [
        ("senders.py", text(head("Congestion controls", "Literal, TypedDict, Union"), senders)),
        ("types.py", text(head("The scenario", &own), others)),
    ]
}

/// Returns the defaults of the hosts that differ from the usual host, in empty files.
fn of_other_hosts(key: &Key, usual: &Value) -> String {
    let mut others: Vec<(&Value, Vec<&str>)> = Vec::new();
    for host in &key.hosts {
        let Absent::Default(value) = &host.of_empty.value else { continue };
        match others.iter_mut().find(|(other, _)| *other == value) {
            _ if value == usual => {}
            Some((_, hosts)) => hosts.push(host.host),
            None => others.push((value, vec![host.host])),
        }
    }
    let said = others.into_iter().map(|(value, hosts)| format!("{} ({})", to_json(value), hosts.join(", ")));
    let said: Vec<String> = said.collect();
    if said.is_empty() {
        String::new()
    } else {
        format!("; {}", said.join(", "))
    }
}

#[derive(Default)]
struct Classes<'s> {
    made: Vec<Class<'s>>,
}

struct Class<'s> {
    name: String,
    /// The table. A class that several kinds share has none.
    of: Option<Alternative<'s>>,
    text: String,
}

/// Key of a class, with its type.
struct Entry<'s> {
    name: &'s str,
    /// The key in the declarations. The kind of a table has none.
    key: Option<&'s Key>,
    hint: String,
}

impl Entry<'_> {
    fn is_required(&self) -> bool {
        self.key.is_none_or(Key::is_required)
    }

    /// Whether the name is a keyword of Python.
    fn is_word(&self) -> bool {
        PYTHON_WORDS.contains(&self.name)
    }
}

impl<'s> Classes<'s> {
    /// Returns the class of a table. Equal tables in two places, such as the queue of a link and of a direction, share
    /// the class of the first.
    fn class(&mut self, name: &str, of: Alternative<'s>) -> String {
        if let Some(made) = self.made.iter().find(|made| made.name == name || made.of == Some(of)) {
            return made.name.clone();
        }
        let Some(keys) = of.table().and_then(|table| table.keys.as_ref()) else { return name.to_owned() };
        let kind = of.kind().map(|kind| Entry { name: "kind", key: None, hint: format!("Literal[\"{kind}\"]") });
        let mut entries: Vec<Entry<'_>> = kind.into_iter().collect();
        for key in keys {
            let hint = self.hint(&key.shape, &format!("{name}{}", camel(key.name)));
            entries.push(Entry { name: key.name, key: Some(key), hint });
        }
        let (needed, open): (Vec<&Entry<'_>>, Vec<_>) = entries.iter().partition(|entry| entry.is_required());
        let (words, plain): (Vec<&Entry<'_>>, Vec<_>) = open.iter().copied().partition(|entry| entry.is_word());
        let (mut text, mut bases) = (String::new(), Vec::new());
        // Optional and required keys need two classes before Python 3.11. A key that is a Python keyword needs the
        // functional notation.
        let is_apart = !open.is_empty() || needed.iter().any(|entry| entry.is_word());
        for (keys, kind, total) in [(&needed, "Required", ""), (&words, "Optional", ", total=False")] {
            if keys.is_empty() || !is_apart {
                continue;
            }
            let base = format!("_{name}{kind}");
            // One line, to keep the file small: few people read these classes.
            let entries: Vec<String> = keys.iter().map(|entry| format!("\"{}\": {}", entry.name, entry.hint)).collect();
            let _ = writeln!(text, "\n{base} = TypedDict(\"{base}\", {{{}}}{total})", entries.join(", "));
            bases.push(base);
        }
        let fields = if is_apart { plain } else { needed };
        let fields: String = fields.iter().map(|entry| format!("    {}: {}\n", entry.name, entry.hint)).collect();
        let base = if bases.is_empty() { "TypedDict".to_owned() } else { bases.join(", ") };
        let total = if open.is_empty() { "" } else { ", total=False" };
        let about = sentence(of.about()).replace('\\', "\\\\");
        let _ = write!(text, "\n\nclass {name}({base}{total}):\n    \"\"\"{about}\n");
        for key in keys.iter().filter(|key| !key.meaning.is_empty()) {
            let default = match key.usual().0 {
                Absent::Default(Value::Table(_)) | Absent::Required | Absent::Open => String::new(),
                Absent::Default(default) => format!(" Default: {}{}.", to_json(default), of_other_hosts(key, default)),
            };
            let _ = write!(text, "\n    {} :\n        {}{default}\n", key.name, sentence(key.meaning));
        }
        let _ = write!(text, "    \"\"\"\n{}{fields}", if fields.is_empty() { "" } else { "\n" });
        self.made.push(Class { name: name.to_owned(), of: Some(of), text });
        name.to_owned()
    }

    /// Returns the type of a key's value. A table becomes a class of this name, or of that in the schema.
    fn hint(&mut self, shape: &'s Shape, name: &str) -> String {
        let mut hints: Vec<String> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut bare: Vec<String> = Vec::new();
        let title = match shape {
            Shape::Word(title, _) | Shape::Kinds(title, _) => title.name,
            Shape::Table(table) => table.name,
            _ => "",
        };
        let base = if title.is_empty() { name } else { title };
        let options = alternatives(shape);
        let tables = options.iter().filter(|option| option.table().is_some_and(|table| table.keys.is_some())).count();
        for option in options {
            let hint = match option {
                Alternative::Word(word, _) => {
                    words.push(format!("\"{word}\""));
                    continue;
                }
                Alternative::Kind(Table { name: kind, keys: Some(keys), .. }) if keys.is_empty() => {
                    bare.push(format!("\"{kind}\""));
                    continue;
                }
                Alternative::Kind(table) => self.class(&format!("{base}{}", camel(table.name)), option),
                Alternative::Table(Table { keys: None, .. }) => "Dict[str, object]".into(),
                Alternative::Table(Table { keys: Some(keys), .. }) if tables > 1 => {
                    let first = keys.first().map_or("", |key| key.name);
                    self.class(&format!("{name}{}", camel(first)), option)
                }
                Alternative::Table(_) if title.is_empty() => self.class(&format!("{name}Table"), option),
                Alternative::Table(_) => self.class(title, option),
                Alternative::Plain(shape) => match shape {
                    Shape::Quantity(format) if format.is_number_too => "Union[str, float]".into(),
                    Shape::Flag => "bool".into(),
                    Shape::Whole { .. } => "int".into(),
                    Shape::Real { .. } => "float".into(),
                    Shape::Pair(pair) => {
                        let [one, two] = [&pair[0], &pair[1]].map(|item| self.hint(item, name));
                        let both = if one.contains(&two) { one.clone() } else { format!("Union[{one}, {two}]") };
                        format!("Union[Tuple[{one}, {two}], List[{both}]]")
                    }
                    Shape::List(of, ..) => format!("List[{}]", self.hint(of, name)),
                    Shape::Named(of) => format!("Dict[str, {}]", self.hint(of, name)),
                    _ => "str".into(),
                },
            };
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        // Kinds without keys share a class.
        if !bare.is_empty() {
            let class = format!("{base}Kind");
            let body =
                format!("    \"\"\"A choice by its kind alone.\"\"\"\n\n    kind: Literal[{}]\n", bare.join(", "));
            let made = self.made.iter().find(|made| made.name == class || made.text.ends_with(&body));
            let class = made.map_or(class, |made| made.name.clone());
            if !self.made.iter().any(|made| made.name == class) {
                let text = format!("\n\nclass {class}(TypedDict):\n{body}");
                self.made.push(Class { name: class.clone(), of: None, text });
            }
            hints.push(class);
        }
        if !words.is_empty() {
            hints.push(format!("Literal[{}]", words.join(", ")));
        }
        match hints.as_slice() {
            [one] => one.clone(),
            _ => format!("Union[{}]", hints.join(", ")),
        }
    }
}

fn camel(name: &str) -> String {
    let part = |part: &str| part[..1].to_uppercase() + &part[1..];
    name.replace('+', "-plus").split(['-', '_']).filter(|part| !part.is_empty()).map(part).collect()
}

/// Keys of scenario files that are keywords of Python.
const PYTHON_WORDS: [&str; 4] = ["class", "from", "lambda", "pass"];
