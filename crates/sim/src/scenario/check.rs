//! Checks a written scenario against the schema: reports every problem and writes the defaults.
//!
//! It supports only the shapes of `schema`: tables with properties, maps of tables, lists, pairs, strings with a
//! format, words, numbers, and choices between these. A choice between tables has a `kind`. A kind without required
//! keys may be written as its name. The check converts the name to a table.

use super::keys::INSTANT;
use super::problem::Expected;
use super::report::Findings;
use super::schema::{self, formats};
use super::tree::{is_hidden, join, quoted, Place, Tree, Value, NAME_MAX};
use super::words;
use bentpipe_units::settings::Format;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Table of the schema.
type Shape = Map<String, Json>;

/// Returns the kind of a schema table, if it has one.
fn kind_of(shape: &Shape) -> Option<&str> {
    shape.get("properties")?.get("kind")?.get("const")?.as_str()
}

/// Follows references and returns the options of a choice.
pub(super) fn options(schema: &'static Json) -> Vec<&'static Shape> {
    let mut found = Vec::new();
    collect(schema, &mut found);
    found
}

/// Option of a choice with its cached properties. Every value of a file needs them, and reading them from the schema
/// takes most of the time for a large file.
struct Choice {
    shape: &'static Shape,
    kind: Option<&'static str>,
    word: Option<&'static str>,
    format: Option<&'static Format>,
    properties: Option<&'static Shape>,
    is_table: bool,
    is_text: bool,
    is_list: bool,
    is_flag: bool,
    is_whole: bool,
    is_number: bool,
}

impl Choice {
    fn of(shape: &'static Shape) -> Self {
        Self {
            shape,
            kind: kind_of(shape),
            word: word(shape),
            format: format_of(shape),
            properties: shape.get("properties").and_then(Json::as_object),
            is_table: is(shape, "object"),
            is_text: is(shape, "string"),
            is_list: is(shape, "array"),
            is_flag: is(shape, "boolean"),
            is_whole: is(shape, "integer"),
            is_number: is(shape, "number"),
        }
    }

    /// Whether the value may be meant for this option.
    fn fits(&self, value: &Value) -> bool {
        match value {
            Value::Table(table) => match (self.is_table, self.kind) {
                (true, Some(kind)) => {
                    matches!(table.get("kind"), Some(Tree { value: Value::Text(k), .. }) if k == kind)
                }
                (fits, _) => fits,
            },
            Value::Text(text) => {
                let is_meant = || match self.format {
                    Some(format) => (format.check)(text).is_ok(),
                    None => self.word.is_none_or(|word| word == text),
                };
                self.is_text && is_meant()
            }
            Value::List(_) => self.is_list,
            Value::Bool(_) => self.is_flag,
            Value::Int(_) | Value::Huge(_) => self.is_whole || self.is_number,
            Value::Float(x) => self.is_number && x.is_finite(),
            Value::Date(date) => self.format.is_some_and(|format| is_instant(format) && (format.check)(date).is_ok()),
            Value::Null => false,
        }
    }

    /// Returns the number of the value's keys that this option has, if both are tables.
    fn known(&self, value: &Value) -> usize {
        match (value, self.properties) {
            (Value::Table(table), Some(properties)) => table.keys().filter(|key| properties.contains_key(*key)).count(),
            _ => 0,
        }
    }
}

/// Returns the options of a place in the schema. They are computed on first use, because a scenario uses few of all
/// keys.
fn choices(schema: &'static Json) -> &'static [Choice] {
    static CHOICES: Mutex<BTreeMap<usize, &'static [Choice]>> = Mutex::new(BTreeMap::new());
    // A panic cannot leave the map half changed.
    let mut all = CHOICES.lock().unwrap_or_else(PoisonError::into_inner);
    // The options live as long as the schema: for ever.
    let find = || &*Vec::leak(options(schema).into_iter().map(Choice::of).collect());
    all.entry(address(schema)).or_insert_with(find)
}

fn address(schema: &'static Json) -> usize {
    std::ptr::from_ref(schema) as usize
}

fn collect(schema: &'static Json, found: &mut Vec<&'static Shape>) {
    let Json::Object(shape) = schema else { return };
    if let Some(Json::String(reference)) = shape.get("$ref") {
        let name = reference.trim_start_matches("#/$defs/");
        return collect(&schema::root()["$defs"][name], found);
    }
    match shape.get("anyOf").or_else(|| shape.get("oneOf")) {
        Some(Json::Array(list)) => list.iter().for_each(|option| collect(option, found)),
        _ => found.push(shape),
    }
}

/// Returns the option of `schema` that fits the value best, and converts the name of a kind to its table.
fn select(schema: &'static Json, tree: &mut Tree) -> Result<&'static Shape, Vec<&'static Shape>> {
    let choices = choices(schema);
    if let Value::Text(text) = &tree.value {
        if let Some(table) = choices.iter().find(|choice| choice.kind == Some(text)) {
            if choices.iter().any(|choice| choice.word == Some(text)) {
                let kind = std::mem::replace(tree, Tree { value: Value::Null, ..tree.clone() });
                tree.value = Value::Table([("kind".to_owned(), kind)].into());
                return Ok(table.shape);
            }
        }
    }
    // The keys of tables without a kind tell them apart.
    let mut fitting = choices.iter().rev().filter(|choice| choice.fits(&tree.value));
    let first = fitting.next();
    let best = fitting.fold(first.map(|first| (first, None)), |best, next| {
        let (best, known) = best?;
        let known = known.unwrap_or_else(|| best.known(&tree.value));
        let more = next.known(&tree.value);
        Some(if more >= known { (next, Some(more)) } else { (best, Some(known)) })
    });
    best.map(|(best, _)| best.shape).ok_or_else(|| options(schema))
}

fn word(shape: &Shape) -> Option<&str> {
    shape.get("const")?.as_str()
}

fn is(shape: &Shape, kind: &str) -> bool {
    match shape.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().any(|k| k == kind),
        Some(single) => single == kind,
        None => false,
    }
}

pub(super) fn format_of(shape: &Shape) -> Option<&'static Format> {
    let name = shape.get("format")?.as_str()?;
    formats().iter().find(|format| format.name == name).copied()
}

/// Whether a TOML date may be written in this format.
fn is_instant(format: &Format) -> bool {
    std::ptr::eq(format, &INSTANT)
}

/// Whether a value is a string for these options. A TOML date is a string only if an instant is expected.
fn is_readable(tree: &Tree, options: &[&'static Shape]) -> bool {
    matches!(tree.value, Value::Text(_)) || options.iter().filter_map(|shape| format_of(shape)).any(is_instant)
}

/// Writes every default of the schema into the tree.
pub(super) fn complete(schema: &'static Json, tree: &mut Tree) {
    let Ok(shape) = select(schema, tree) else { return };
    match &mut tree.value {
        Value::Table(table) => {
            if let Some(Json::Object(properties)) = shape.get("properties") {
                for (key, property) in properties {
                    if let (Some(default), false) = (property.get("default"), table.contains_key(key)) {
                        let origin = property.get("x-origin").and_then(Json::as_str).map(Into::into);
                        table.insert(key.clone(), Tree::of_json(default, &Place::Default(origin)));
                    }
                    if let Some(child) = table.get_mut(key) {
                        complete(property, child);
                    }
                }
            } else if let Some(values) = shape.get("additionalProperties") {
                table.values_mut().for_each(|child| complete(values, child));
            }
        }
        Value::List(list) => {
            if let Some(items) = shape.get("items") {
                list.iter_mut().for_each(|child| complete(items, child));
            }
        }
        _ => {}
    }
}

/// Checks the written scenario against `schema`.
pub(super) fn walk(schema: &'static Json, tree: &mut Tree, findings: &mut Findings) {
    walk_at(schema, tree, "", findings);
}

/// Checks the value at `path` against `schema`.
pub(super) fn walk_at(schema: &'static Json, tree: &mut Tree, path: &str, findings: &mut Findings) {
    Walk { findings }.walk(schema, tree, path);
}

/// State of the walk through the written scenario.
struct Walk<'a> {
    findings: &'a mut Findings,
}

impl Walk<'_> {
    /// Checks `tree` against `schema`.
    fn walk(&mut self, schema: &'static Json, tree: &mut Tree, path: &str) {
        let shape = match select(schema, tree) {
            Ok(shape) => shape,
            Err(options) => return self.mismatch(&options, schema, tree, path),
        };
        let place = tree.place.clone();
        match &mut tree.value {
            Value::Table(table) => match (shape.get("properties"), shape.get("additionalProperties")) {
                (Some(Json::Object(properties)), _) => {
                    self.keys(properties, shape, table, &place, path);
                    for (key, child) in table.iter_mut() {
                        if let Some(property) = properties.get(key) {
                            self.walk(property, child, &join(path, key));
                        }
                    }
                }
                (_, Some(values)) => {
                    let written = |(_, child): &(&String, &Tree)| !matches!(child.place, Place::Set(_));
                    let names: Vec<String> = table.iter().filter(written).map(|(key, _)| key.clone()).collect();
                    for (key, child) in table.iter_mut() {
                        let path = join(path, key);
                        self.name(key, &child.key, &path);
                        if !self.is_misnamed(values, key, child, &path, &names) {
                            self.walk(values, child, &path);
                        }
                    }
                }
                _ => {}
            },
            Value::List(list) => {
                let bound = |key| shape.get(key).and_then(Json::as_u64).unwrap_or(u64::MAX) as usize;
                let (least, most) = (shape.get("minItems").map_or(0, |_| bound("minItems")), bound("maxItems"));
                if list.len() < least || list.len() > most {
                    let message = format!("{path} has {} entries", list.len());
                    let expected = match (least == most, most == usize::MAX) {
                        (true, _) => format!("expected {least}"),
                        (_, true) => format!("expected at least {least}"),
                        _ => format!("expected {least} to {most}"),
                    };
                    return self.findings.add(&place, path, message, expected, String::new());
                }
                let pairs = shape.get("prefixItems").and_then(Json::as_array);
                for (index, child) in list.iter_mut().enumerate() {
                    let items = pairs.and_then(|pairs| pairs.get(index)).or_else(|| shape.get("items"));
                    if let Some(items) = items {
                        self.walk(items, child, &format!("{path}[{index}]"));
                    }
                }
            }
            Value::Int(n) => {
                let n = *n;
                self.range(shape, n as f64, n > i128::from(u64::MAX), tree, path);
            }
            Value::Huge(_) => self.range(shape, f64::INFINITY, true, tree, path),
            Value::Float(x) => {
                let x = *x;
                self.range(shape, x, false, tree, path);
            }
            _ => {}
        }
    }

    /// Whether `--set` created an entry by a wrong name. Then it lacks required keys, and its name is close to an
    /// existing name or it lacks all required keys. Reports the mistake.
    fn is_misnamed(
        &mut self,
        schema: &'static Json,
        key: &str,
        child: &mut Tree,
        path: &str,
        names: &[String],
    ) -> bool {
        if !matches!(child.place, Place::Set(_)) {
            return false;
        }
        let required = select(schema, child).ok().and_then(|shape| shape.get("required")).and_then(Json::as_array);
        let lacks = |name: &Json| name.as_str().is_some_and(|name| child.get(name).is_none());
        let Some(required) = required.filter(|required| required.iter().any(lacks)) else { return false };
        let hint = self.findings.guess(key, names.iter().map(String::as_str));
        if hint.is_empty() && (names.is_empty() || !required.iter().all(lacks)) {
            return false;
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        self.findings.add(
            &child.place,
            path,
            format!("{path} is not in the scenario"),
            Expected::one_of(known.iter().copied()),
            hint,
        );
        true
    }

    /// Reports unknown and missing keys of a table.
    fn keys(
        &mut self,
        properties: &'static Shape,
        shape: &Shape,
        table: &BTreeMap<String, Tree>,
        place: &Place,
        path: &str,
    ) {
        for (key, child) in table {
            if !properties.contains_key(key) {
                let path = join(path, key);
                let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                let hint = match words::key(key, |name| properties.contains_key(name)) {
                    hint if hint.is_empty() => self.findings.guess(key, known.iter().copied()),
                    hint => hint,
                };
                self.findings.add(
                    &child.key,
                    &path,
                    format!("{path} is not a known key"),
                    Expected::one_of(known.iter().copied()),
                    hint,
                );
            }
        }
        let required = shape.get("required").and_then(Json::as_array).into_iter().flatten();
        for key in required.filter_map(Json::as_str).filter(|key| !table.contains_key(*key)) {
            let path = join(path, key);
            let expected = describe(&options(&properties[key]));
            self.findings.add(
                place,
                &path,
                format!("{path} is missing"),
                format!("expected {expected}"),
                String::new(),
            );
        }
    }

    /// Checks a name: names occur in tables, file names and figures.
    fn name(&mut self, name: &str, place: &Place, path: &str) {
        if let Some(why) = bad_name(name) {
            self.findings.add(place, path, format!("the name {} {why}", quoted(name)), NAME, String::new());
        }
    }

    fn range(&mut self, shape: &Shape, x: f64, too_large: bool, tree: &Tree, path: &str) {
        let bound = |key: &str| shape.get(key).and_then(Json::as_f64);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if !too_large && least.is_none_or(|least| x >= least) && most.is_none_or(|most| x <= most) {
            return;
        }
        let (message, expected) = match format_of(shape) {
            Some(format) => (format!("{path} = {tree} is not a {}", format.name), format.expected.to_owned()),
            None => {
                let text = |key: &str, other: &str| shape.get(key).map_or(other.into(), Json::to_string);
                let most = text("maximum", &u64::MAX.to_string());
                (format!("{path} = {tree} is out of range"), format!("{} to {most}", text("minimum", "0")))
            }
        };
        self.findings.add(&tree.place, path, message, format!("expected {expected}"), String::new());
    }

    /// Reports a value that fits no option.
    fn mismatch(&mut self, options: &[&'static Shape], schema: &Json, tree: &Tree, path: &str) {
        let kinds: Vec<&str> = options.iter().filter_map(|shape| kind_of(shape)).collect();
        let words: Vec<&str> = options.iter().filter_map(|shape| word(shape)).collect();
        let what = schema["$ref"].as_str().map_or("", |name| name.trim_start_matches("#/$defs/"));
        let what = match what {
            "Cc" => "a congestion control",
            "Verdict" => "a verdict",
            "Recovery" => "a loss recovery",
            "ByteCounting" => "a way of counting",
            "SlowStart" => "a slow start",
            "Increase" => "an increase",
            "App" => "an application",
            "ErrorModel" => "an error model",
            "Series" => "a time series",
            "Middlebox" => "a middlebox",
            _ => "one of the choices",
        };
        let (place, path, message, expected, hint): (_, _, _, Expected, _) = match &tree.value {
            Value::Table(table) if !kinds.is_empty() => match table.get("kind") {
                Some(kind) => {
                    let path = join(path, "kind");
                    let hint = match &kind.value {
                        Value::Text(text) => self.findings.guess(text, kinds.iter().copied()),
                        _ => String::new(),
                    };
                    (
                        &kind.place,
                        path.clone(),
                        format!("{path} = {kind} is not {what}"),
                        Expected::one_of(kinds.iter().copied()),
                        hint,
                    )
                }
                None => {
                    let message = format!("{} is missing", join(path, "kind"));
                    (&tree.place, path.to_owned(), message, Expected::one_of(kinds.iter().copied()), String::new())
                }
            },
            Value::Text(text) | Value::Date(text) if is_readable(tree, options) => {
                let format = options.iter().find_map(|shape| format_of(shape));
                let said = format.and_then(|format| (format.check)(text).err());
                // The kind exists, but needs more keys than its name.
                if let Some(kind) = kinds.iter().find(|kind| *kind == text) {
                    let message = format!("{path} = {tree} needs more than its name");
                    let expected = format!("expected {{ kind = \"{kind}\", ... }}");
                    return self.findings.add(&tree.place, path, message, expected, String::new());
                }
                match (said, format) {
                    (Some(said), Some(format)) => {
                        let expected = format!("expected {}, like \"{}\"", format.expected, format.example);
                        let hint = words::quantity(text, format);
                        (&tree.place, path.to_owned(), format!("{path} = {tree} {said}"), expected.into(), hint)
                    }
                    _ if words.is_empty() && kinds.is_empty() => {
                        let message = format!("{path} = {tree} is a text");
                        (
                            &tree.place,
                            path.to_owned(),
                            message,
                            format!("expected {}", describe(options)).into(),
                            String::new(),
                        )
                    }
                    _ => {
                        let known = if kinds.is_empty() { &words } else { &kinds };
                        let hint = words::renamed(text, known);
                        let hint = hint.unwrap_or_else(|| self.findings.guess(text, known.iter().copied()));
                        (
                            &tree.place,
                            path.to_owned(),
                            format!("{path} = {tree} is not {what}"),
                            Expected::one_of(known.iter().copied()),
                            hint,
                        )
                    }
                }
            }
            _ => {
                let expected = format!("expected {}", describe(options));
                (
                    &tree.place,
                    path.to_owned(),
                    format!("{path} = {tree} is {}", type_name(tree)),
                    expected.into(),
                    String::new(),
                )
            }
        };
        self.findings.add(place, &path, message, expected, hint);
    }
}

pub(super) fn type_name(tree: &Tree) -> &'static str {
    match &tree.value {
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Huge(_) => "a bare number",
        Value::Float(x) if !x.is_finite() => "not a number that can be used",
        Value::Float(_) => "a bare decimal number",
        Value::Text(_) => "a text",
        Value::Date(_) => "a date",
        Value::Null => "nothing",
        Value::List(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// Describes the options for messages.
fn describe(options: &[&'static Shape]) -> String {
    let mut said: Vec<String> = Vec::new();
    for shape in options {
        let text = match (format_of(shape), word(shape)) {
            (Some(format), _) => format!("{}, like \"{}\"", format.expected, format.example),
            (_, Some(word)) => format!("\"{word}\""),
            _ if is(shape, "object") => "a table".into(),
            _ if is(shape, "array") => "a list".into(),
            _ if is(shape, "boolean") => "true or false".into(),
            _ if is(shape, "integer") => "a whole number".into(),
            _ if is(shape, "number") => "a number".into(),
            _ => "a text".into(),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join(" or ")
}

/// Returns the fault of a name, if it has one.
pub(super) fn bad_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        _ if name.chars().count() > NAME_MAX => Some("is too long"),
        _ if name.contains('/') => Some("contains a slash"),
        _ if name.chars().any(is_hidden) => Some(HIDDEN),
        _ => None,
    }
}

/// Rule for names.
pub(super) const NAME: &str = "expected 1 to 200 characters, no slash, no control characters, no direction marks";
/// Message for a text with characters that a terminal cannot show.
pub(super) const HIDDEN: &str = "contains a control character or a direction mark";
