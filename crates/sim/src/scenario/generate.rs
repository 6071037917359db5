//! Generates documents from the schema: lists of choices, the reference pages, the Python types.

use super::check::{format_of, options};
use super::schema::root as schema;
use crate::middlebox::MiddleboxConfig;
use bentpipe_tcp::cc::CcKind;
use serde_json::{Map, Value as Json};
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
        ("forwarding", "", "forwarding"),
        ("waiting", "At", "waiting"),
        ("in_flight", "At", "in_flight"),
    ];
    let mut all = Vec::new();
    for (topic, table, key) in topics {
        let table = if table.is_empty() { schema() } else { &schema()["$defs"][table] };
        let property = &table["properties"][key];
        let property = property.get("items").unwrap_or(property);
        let shapes = options(property);
        let is_table = shapes.iter().any(|shape| shape.get("properties").is_some());
        for shape in shapes {
            let kind = shape.get("properties").and_then(|p| p["kind"]["const"].as_str());
            // Choices without settings are words. Choices with settings are tables, whose names are the short form.
            let word = shape.get("const").and_then(Json::as_str).filter(|_| !is_table);
            if let Some(name) = kind.or(word) {
                let mut doc = sentence(shape);
                match CcKind::ALL.iter().find(|kind| topic == "cc" && kind.name() == name) {
                    Some(kind) => doc = kind.doc(),
                    None => {
                        if let Some(head) = MiddleboxConfig::doc(name).filter(|_| topic == "middlebox") {
                            let _ = write!(doc, "\n\n{head}\n# Settings\n\n");
                        }
                        keys(&mut doc, shape, &[]);
                        choices_of(&mut doc, shape, &mut Vec::new());
                    }
                }
                all.push(Choice { topic, name: name.to_owned(), summary: sentence(shape), doc });
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
    ];
    let mut first = String::from(
        "# The scenario file\n\n<!-- Generated from the schema by `BLESS=1 cargo test`; do not edit. -->\n\n\
         A scenario is TOML. Quantities are strings with a unit. A choice by `kind` without required keys may be \
         written as its name: `cc = \"reno\"`. Unknown keys are rejected. Each table has a page:\n\n\
         | table | describes |\n|---|---|\n",
    );
    for (page, title, name) in tables {
        let _ = writeln!(first, "| [{title}](scenario/{page}.md) | {} |", sentence(definition(name)));
    }
    let top = schema().as_object().expect("the schema is a table");
    let _ = write!(first, "\n## Top level\n\n{}\n", sentence(top));
    keys(&mut first, top, &[]);
    headings_of(&mut first, top, &[], 3);
    let mut pages = vec![("scenario.md".to_owned(), first)];
    for (page, title, name) in tables {
        // A direction has most keys of its link, a constellation most keys of its sky.
        let told: Vec<Page> = match name {
            "Direction" | "Hop" => vec![("link", definition("Link"))],
            "Sky" => vec![("node", definition("Node"))],
            "Constellation" => vec![("node", definition("Node")), ("sky", definition("Sky"))],
            _ => Vec::new(),
        };
        let shape = definition(name);
        let mut text =
            format!("# {title}\n\n<!-- Generated from the schema; do not edit. -->\n\n{}\n", sentence(shape));
        keys(&mut text, shape, &told);
        headings_of(&mut text, shape, &told, 2);
        pages.push((format!("scenario/{page}.md"), text));
    }
    pages
}

fn definition(name: &str) -> &'static Map<String, Json> {
    schema()["$defs"][name].as_object().expect("a table of the schema")
}

/// Another page and the table that it describes, for keys of both pages.
type Page = (&'static str, &'static Map<String, Json>);

/// Writes a table of keys. A key with the same choices on a page of `told` links to that page.
fn keys(out: &mut String, shape: &'static Map<String, Json>, told: &[Page]) {
    let properties = properties_of(shape);
    if properties.is_empty() {
        return;
    }
    out.push_str("\n| key | value | default | source | meaning |\n|---|---|---|---|---|\n");
    let required =
        |key: &String| shape.get("required").and_then(Json::as_array).is_some_and(|r| r.iter().any(|k| k == key));
    for (key, property) in &properties {
        let default = match property.get("default") {
            Some(default) => format!("`{default}`"),
            None if required(key) => "required".into(),
            None => String::new(),
        };
        let origin = property.get("x-origin").and_then(Json::as_str).unwrap_or_default();
        let has_choices = !choices_of_key(key, property).is_empty();
        let row = [
            match told.iter().find(|page| has_choices && is_on(page, key, property)) {
                Some((page, _)) => format!("[`{key}`]({page}.md#{key})"),
                None => format!("`{key}`"),
            },
            value(key, property),
            default,
            origin.into(),
            sentence(property.as_object().unwrap_or(shape)),
        ];
        let _ = writeln!(out, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
}

/// Writes the choices of a table's keys, each key under a heading of this level, unless a page of `told` has them.
fn headings_of(out: &mut String, shape: &'static Map<String, Json>, told: &[Page], level: usize) {
    for (key, property) in properties_of(shape) {
        if told.iter().any(|page| is_on(page, key, property)) || choices_of_key(key, property).is_empty() {
            continue;
        }
        let _ = write!(out, "\n{} {key}\n", "#".repeat(level));
        choices_of_property(out, key, property, &mut Vec::new());
    }
}

/// Writes the choices of a table's keys. Equal choices of a key in `written` are not repeated.
fn choices_of(out: &mut String, shape: &'static Map<String, Json>, written: &mut Vec<(&'static str, &'static Json)>) {
    for (key, property) in properties_of(shape) {
        if !written.iter().any(|&(other, choices)| other == key.as_str() && items(choices) == items(property)) {
            choices_of_property(out, key, property, written);
        }
    }
}

fn choices_of_property(
    out: &mut String,
    key: &'static str,
    property: &'static Json,
    written: &mut Vec<(&'static str, &'static Json)>,
) {
    written.push((key, property));
    for (notation, option) in choices_of_key(key, property) {
        let _ = write!(out, "\n`{notation}`: {}\n", sentence(option));
        if option.get("const").is_none() {
            keys(out, option, &[]);
            choices_of(out, option, written);
        }
    }
}

/// Returns the properties of a table that users write: all except the name of the kind.
fn properties_of(shape: &'static Map<String, Json>) -> Vec<(&'static String, &'static Json)> {
    let Some(Json::Object(properties)) = shape.get("properties") else { return Vec::new() };
    properties.iter().filter(|(key, _)| *key != "kind" || properties["kind"].get("const").is_none()).collect()
}

/// Whether a page has a key with the same choices.
fn is_on((_, table): &Page, key: &str, property: &'static Json) -> bool {
    items(&table["properties"][key]) == items(property)
}

/// Returns the options of a key, or of the items of its list.
fn items(property: &'static Json) -> Vec<&'static Map<String, Json>> {
    options(property.get("items").unwrap_or(property))
}

/// Returns the choices of a key in the notation of a scenario.
fn choices_of_key(key: &str, property: &'static Json) -> Vec<(String, &'static Map<String, Json>)> {
    let property = property.get("items").unwrap_or(property);
    let pages = [
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
    ]
    .map(definition);
    let written = |option: &'static Map<String, Json>| {
        let fields = option.get("properties").and_then(Json::as_object);
        let kind = fields.and_then(|fields| fields.get("kind")).and_then(|kind| kind["const"].as_str());
        match (kind, fields, option.get("const").and_then(Json::as_str)) {
            (Some(kind), Some(fields), _) if fields.len() == 1 => Some(format!("{key} = \"{kind}\"")),
            (Some(kind), Some(fields), _) => {
                let names: Vec<String> = fields.keys().skip(1).map(|name| format!(", {name}")).collect();
                Some(format!("{key} = {{ kind = \"{kind}\"{} }}", names.concat()))
            }
            (None, Some(fields), _) if !pages.contains(&option) => {
                let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                Some(format!("{key} = {{ {} }}", names.join(", ")))
            }
            (None, None, Some(word)) if !has_kind(property, word) => Some(format!("{key} = \"{word}\"")),
            _ => None,
        }
    };
    options(property).into_iter().filter_map(|option| Some((written(option)?, option))).collect()
}

fn has_kind(property: &'static Json, word: &str) -> bool {
    options(property).iter().any(|shape| shape.get("properties").is_some_and(|p| p["kind"]["const"] == word))
}

fn sentence(shape: &Map<String, Json>) -> String {
    shape.get("description").and_then(Json::as_str).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Largest number of names in a table cell.
const NAMES_MAX: usize = 16;

/// Describes the values of a key in a few words.
fn value(key: &str, property: &'static Json) -> String {
    let mut said: Vec<String> = Vec::new();
    for shape in options(property) {
        let text = match (format_of(shape), shape.get("const"), kind(shape)) {
            (Some(format), ..) => format!("{}, `\"{}\"`", format.expected, format.example),
            (_, Some(word), _) if shape.get("type").is_some() => format!("`{word}`"),
            (_, _, "integer") => {
                let bound = |key: &str| shape.get(key).map_or(String::new(), Json::to_string);
                match (bound("minimum"), bound("maximum")) {
                    (least, most) if most.is_empty() => format!("whole number from {least}"),
                    (least, most) => format!("whole number, {least} to {most}"),
                }
            }
            (_, _, "number") => {
                let bound = |key: &str| shape.get(key).map_or(String::new(), Json::to_string);
                format!("number, {} to {}", bound("minimum"), bound("maximum"))
            }
            (_, _, "array") if shape.get("items").is_some_and(|items| items.get("prefixItems").is_some()) => {
                "list of pairs".into()
            }
            (_, _, "array") if shape.get("prefixItems").is_some() => "pair".into(),
            (_, _, "array") => "list".into(),
            (_, _, "boolean") => "`true`, `false`".into(),
            (_, _, "object") => "table".into(),
            _ => "text".into(),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let is_name = |text: &String| text.starts_with("`\"");
    if said.iter().filter(|text| is_name(text)).count() > NAMES_MAX {
        // Each name has its own paragraph below.
        said.retain(|text| !is_name(text));
        said.insert(0, format!("a name of `bentpipe list {key}`"));
    }
    said.join("; ")
}

fn kind(shape: &Map<String, Json>) -> &str {
    shape.get("type").and_then(Json::as_str).unwrap_or_default()
}

/// Returns the Python module `bentpipe.scenario.types`: the scenario as typed dictionaries.
pub fn python_types() -> String {
    let mut out = String::from(
        "\"\"\"The scenario as typed dictionaries. Generated from the schema; do not edit.\"\"\"\n\n\
         from __future__ import annotations\n\nfrom typing import Dict, List, Literal, Tuple, TypedDict, Union\n",
    );
    let mut classes = Classes::default();
    classes.class("ScenarioDict", schema().as_object().expect("the schema is a table"));
    // A class follows the classes that it mentions, because Python evaluates aliases when it loads the module.
    for class in &classes.made {
        out.push_str(&class.text);
    }
    out
}

#[derive(Default)]
struct Classes {
    made: Vec<Class>,
}

struct Class {
    name: String,
    /// Shape of the table. A class that several kinds share has none.
    shape: Option<&'static Map<String, Json>>,
    text: String,
}

impl Classes {
    /// Returns the class of a table. Equal tables in two places, such as the queue of a link and of a direction, share
    /// the class of the first.
    fn class(&mut self, name: &str, shape: &'static Map<String, Json>) -> String {
        if let Some(made) = self.made.iter().find(|made| made.name == name || made.shape == Some(shape)) {
            return made.name.clone();
        }
        let Some(Json::Object(properties)) = shape.get("properties") else { return name.to_owned() };
        let required =
            |key: &String| shape.get("required").and_then(Json::as_array).is_some_and(|r| r.iter().any(|k| k == key));
        let hints: Vec<_> = properties
            .iter()
            .map(|(key, property)| (key, property, self.hint(property, &format!("{name}{}", camel(key)))))
            .collect();
        let is_word = |key: &String| PYTHON_WORDS.contains(&key.as_str());
        let (needed, open): (Vec<_>, Vec<_>) = hints.iter().partition(|(key, ..)| required(key));
        let (words, plain): (Vec<_>, Vec<_>) = open.iter().copied().partition(|(key, ..)| is_word(key));
        let (mut text, mut bases) = (String::new(), Vec::new());
        // Optional and required keys need two classes before Python 3.11. A key that is a Python keyword needs the
        // functional notation.
        let is_apart = !open.is_empty() || needed.iter().any(|(key, ..)| is_word(key));
        for (keys, kind, total) in [(&needed, "Required", ""), (&words, "Optional", "    total=False,\n")] {
            if keys.is_empty() || !is_apart {
                continue;
            }
            let base = format!("_{name}{kind}");
            let entries: String = keys.iter().map(|(key, _, hint)| format!("        \"{key}\": {hint},\n")).collect();
            let _ = write!(text, "\n{base} = TypedDict(\n    \"{base}\",\n    {{\n{entries}    }},\n{total})\n");
            bases.push(base);
        }
        let fields = if is_apart { plain } else { needed };
        let fields: String = fields.iter().map(|(key, _, hint)| format!("    {key}: {hint}\n")).collect();
        let base = if bases.is_empty() { "TypedDict".to_owned() } else { bases.join(", ") };
        let total = if open.is_empty() { "" } else { ", total=False" };
        let _ = write!(text, "\n\nclass {name}({base}{total}):\n    \"\"\"{}\n", sentence(shape).replace('\\', "\\\\"));
        for (key, property, _) in &hints {
            let about = property.as_object().map(sentence).unwrap_or_default();
            if !about.is_empty() {
                let default = property.get("default").filter(|d| !d.is_object());
                let default = default.map_or(String::new(), |default| format!(" Default: {default}."));
                let _ = write!(text, "\n    {key} :\n        {about}{default}\n");
            }
        }
        let _ = write!(text, "    \"\"\"\n{}{fields}", if fields.is_empty() { "" } else { "\n" });
        self.made.push(Class { name: name.to_owned(), shape: Some(shape), text });
        name.to_owned()
    }

    fn hint(&mut self, property: &'static Json, name: &str) -> String {
        let mut hints: Vec<String> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut bare: Vec<String> = Vec::new();
        let reference = property["$ref"].as_str().map(|name| name.trim_start_matches("#/$defs/").to_owned());
        let shapes = options(property);
        let tables = shapes.iter().filter(|shape| shape.get("properties").is_some()).count();
        for shape in shapes {
            let hint = match kind(shape) {
                _ if shape.get("type").is_some_and(Json::is_array) => "Union[str, float]".into(),
                "boolean" => "bool".into(),
                "integer" => "int".into(),
                "number" => "float".into(),
                "array" => match (shape.get("prefixItems").and_then(Json::as_array), shape.get("items")) {
                    (Some(pair), _) => {
                        let pair: Vec<String> = pair.iter().map(|item| self.hint(item, name)).collect();
                        format!("Union[Tuple[{}], List[{}]]", pair.join(", "), pair[0])
                    }
                    (None, Some(items)) => format!("List[{}]", self.hint(items, name)),
                    _ => "List[str]".into(),
                },
                "object" => match shape.get("additionalProperties").filter(|values| values.is_object()) {
                    Some(values) => format!("Dict[str, {}]", self.hint(values, name)),
                    None if shape.get("properties").is_none() => "Dict[str, object]".into(),
                    None => {
                        let own = shape["properties"].get("kind").and_then(|kind| kind["const"].as_str());
                        let key =
                            shape["properties"].as_object().and_then(|p| p.keys().next()).map_or("", String::as_str);
                        let base = reference.as_deref().unwrap_or(name);
                        if let (Some(kind), 1) = (own, shape["properties"].as_object().map_or(0, Map::len)) {
                            bare.push(Json::from(kind).to_string());
                            continue;
                        }
                        let class = match own {
                            Some(kind) => format!("{base}{}", camel(kind)),
                            None if tables > 1 => format!("{name}{}", camel(key)),
                            None if reference.is_some() => base.to_owned(),
                            None => format!("{name}Table"),
                        };
                        self.class(&class, shape)
                    }
                },
                _ => match shape.get("const") {
                    Some(word) => {
                        words.push(word.to_string());
                        continue;
                    }
                    None => "str".into(),
                },
            };
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        // Kinds without keys share a class.
        if !bare.is_empty() {
            let class = format!("{}Kind", reference.as_deref().unwrap_or(name));
            let body =
                format!("    \"\"\"A choice by its kind alone.\"\"\"\n\n    kind: Literal[{}]\n", bare.join(", "));
            let made = self.made.iter().find(|made| made.name == class || made.text.ends_with(&body));
            let class = made.map_or(class, |made| made.name.clone());
            if !self.made.iter().any(|made| made.name == class) {
                let text = format!("\n\nclass {class}(TypedDict):\n{body}");
                self.made.push(Class { name: class.clone(), shape: None, text });
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
