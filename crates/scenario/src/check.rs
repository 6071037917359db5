//! Checks a written scenario against its shape: reports every problem and writes the defaults.
//!
//! A kind without required keys may be written as its name. The check converts the name to a table.

use super::alternatives::{alternatives, Alternative};
use super::keys::INSTANT;
use super::problem::Expected;
use super::report::Findings;
use super::schema::to_json;
use super::tree::{is_hidden, join, quoted, Place, Tree, Value, NAME_MAX};
use super::words;
use bentpipe_model::spec::DURATION_MAX;
use bentpipe_units::settings::{Absent, Format, Key, Shape, Table, Title};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Whether the value may be meant for this alternative.
fn fits(option: Alternative<'_>, value: &Value) -> bool {
    let shape = match option {
        Alternative::Word(word, _) => return matches!(value, Value::Text(text) if text == word),
        Alternative::Kind(of) => {
            let Value::Table(table) = value else { return false };
            return matches!(table.get("kind"), Some(Tree { value: Value::Text(kind), .. }) if kind == of.name);
        }
        Alternative::Table(_) => return matches!(value, Value::Table(_)),
        Alternative::Plain(shape) => shape,
    };
    match (shape, value) {
        (Shape::Quantity(format), Value::Text(text)) => (format.check)(text).is_ok(),
        (Shape::Quantity(format), Value::Date(date)) => is_instant(format) && (format.check)(date).is_ok(),
        (Shape::Quantity(format), Value::Int(_) | Value::Huge(_)) => format.is_number_too,
        (Shape::Quantity(format), Value::Float(x)) => format.is_number_too && x.is_finite(),
        (Shape::Real { .. }, Value::Float(x)) => x.is_finite(),
        (Shape::Whole { .. } | Shape::Real { .. }, Value::Int(_) | Value::Huge(_))
        | (Shape::Text, Value::Text(_))
        | (Shape::Flag, Value::Bool(_))
        | (Shape::List(..) | Shape::Pair(_), Value::List(_))
        | (Shape::Named(_), Value::Table(_)) => true,
        _ => false,
    }
}

/// Returns the alternative of `shape` that fits the value best, and converts the name of a kind to its table.
fn select<'s>(shape: &'s Shape, tree: &mut Tree) -> Option<Alternative<'s>> {
    let all = alternatives(shape);
    if let Value::Text(text) = &tree.value {
        let kind = all.iter().find(|option| option.kind() == Some(text));
        if kind.is_some() && all.iter().any(|option| option.word() == Some(text)) {
            let name = std::mem::replace(tree, Tree { value: Value::Null, ..tree.clone() });
            tree.value = Value::Table([("kind".to_owned(), name)].into());
            return kind.copied();
        }
    }
    let mut fitting = all.into_iter().filter(|option| fits(*option, &tree.value));
    let first = fitting.next()?;
    // The keys of tables without a kind tell them apart. Of two with the same number, the first counts.
    let (best, _) = fitting.fold((first, None), |(best, known), next| {
        let known = known.unwrap_or_else(|| count_known(best, &tree.value));
        let more = count_known(next, &tree.value);
        if more > known {
            (next, Some(more))
        } else {
            (best, Some(known))
        }
    });
    Some(best)
}

/// Returns the number of the value's keys that the alternative has, if both are tables.
fn count_known(option: Alternative<'_>, value: &Value) -> usize {
    match value {
        Value::Table(table) => option.keys().filter(|key| table.contains_key(*key)).count(),
        _ => 0,
    }
}

/// Whether a TOML date may be written in this format.
fn is_instant(format: &Format) -> bool {
    *format == INSTANT
}

/// Writes every default of the shape into the tree.
pub(super) fn complete(shape: &Shape, tree: &mut Tree) {
    let Some(found) = select(shape, tree) else { return };
    match (&mut tree.value, found) {
        (Value::Table(table), Alternative::Kind(of) | Alternative::Table(of)) => {
            for key in of.keys.iter().flatten() {
                if let (Absent::Default(default), false) = (&key.default, table.contains_key(key.name)) {
                    let origin = Some(key.origin).filter(|origin| !origin.is_empty()).map(Into::into);
                    table.insert(key.name.to_owned(), Tree::of_json(&to_json(default), &Place::Default(origin)));
                }
                if let Some(child) = table.get_mut(key.name) {
                    complete(&key.shape, child);
                }
            }
        }
        (Value::Table(table), Alternative::Plain(Shape::Named(of))) => {
            table.values_mut().for_each(|child| complete(of, child));
        }
        (Value::List(list), Alternative::Plain(Shape::List(of, ..))) => {
            list.iter_mut().for_each(|child| complete(of, child));
        }
        _ => {}
    }
}

/// Checks a written scenario, or its value at `path`, against `shape`.
pub(super) fn walk(shape: &Shape, tree: &mut Tree, path: &str, findings: &mut Findings) {
    Walk { findings }.walk(shape, tree, path);
}

/// State of the walk through the written scenario.
struct Walk<'a> {
    findings: &'a mut Findings,
}

impl Walk<'_> {
    /// Checks `tree` against `shape`.
    fn walk(&mut self, shape: &Shape, tree: &mut Tree, path: &str) {
        let Some(found) = select(shape, tree) else { return self.mismatch(shape, tree, path) };
        let place = tree.place.clone();
        match (&mut tree.value, found) {
            (Value::Table(table), Alternative::Kind(of) | Alternative::Table(of)) if of.keys.is_some() => {
                self.keys(found, of, table, &place, path);
                for (key, child) in table.iter_mut() {
                    if let Some(key) = of.key(key) {
                        self.walk(&key.shape, child, &join(path, key.name));
                    }
                }
            }
            (Value::Table(table), Alternative::Plain(Shape::Named(of))) => self.named(of, table, path),
            (Value::List(list), Alternative::Plain(Shape::List(of, least, most))) => {
                self.items(list, std::iter::repeat(&**of), (*least, *most), &place, path);
            }
            (Value::List(list), Alternative::Plain(Shape::Pair(of))) => {
                self.items(list, of.iter(), (2, Some(2)), &place, path);
            }
            (_, Alternative::Plain(shape)) => self.range(shape, tree, path),
            _ => {}
        }
    }

    /// Checks the tables that the user named.
    fn named(&mut self, of: &Shape, table: &mut BTreeMap<String, Tree>, path: &str) {
        let written = |(_, child): &(&String, &Tree)| !matches!(child.place, Place::Set(_));
        let names: Vec<String> = table.iter().filter(written).map(|(key, _)| key.clone()).collect();
        for (key, child) in table.iter_mut() {
            let path = join(path, key);
            self.name(key, &child.key, &path);
            if !self.is_misnamed(of, key, child, &path, &names) {
                self.walk(of, child, &path);
            }
        }
    }

    /// Checks the number of entries of a list, and then each entry.
    fn items<'s>(
        &mut self,
        list: &mut [Tree],
        of: impl Iterator<Item = &'s Shape>,
        (least, most): (usize, Option<usize>),
        place: &Place,
        path: &str,
    ) {
        if list.len() < least || most.is_some_and(|most| list.len() > most) {
            let message = format!("{path} has {} entries", list.len());
            let expected = match most {
                Some(most) if most == least => format!("expected {least}"),
                Some(most) => format!("expected {least} to {most}"),
                None => format!("expected at least {least}"),
            };
            return self.findings.add(place, path, message, expected, String::new());
        }
        for (index, (child, shape)) in list.iter_mut().zip(of).enumerate() {
            self.walk(shape, child, &format!("{path}[{index}]"));
        }
    }

    /// Whether `--set` created an entry by a wrong name. Then it lacks required keys, and its name is close to an
    /// existing name or it lacks all required keys. Reports the mistake.
    fn is_misnamed(&mut self, of: &Shape, key: &str, child: &mut Tree, path: &str, names: &[String]) -> bool {
        if !matches!(child.place, Place::Set(_)) {
            return false;
        }
        let Some(Alternative::Table(table)) = select(of, child) else { return false };
        let required: Vec<&Key> = table.keys.iter().flatten().filter(|key| key.is_required()).collect();
        let lacks = |key: &&Key| child.get(key.name).is_none();
        if !required.iter().any(lacks) {
            return false;
        }
        let known = || names.iter().map(String::as_str);
        let hint = self.findings.guess(key, known());
        if hint.is_empty() && (names.is_empty() || !required.iter().all(lacks)) {
            return false;
        }
        let message = format!("{path} is not in the scenario");
        self.findings.add(&child.place, path, message, Expected::one_of(known()), hint);
        true
    }

    /// Reports unknown and missing keys of a table.
    fn keys(&mut self, found: Alternative<'_>, of: &Table, table: &BTreeMap<String, Tree>, place: &Place, path: &str) {
        let is_known = |name: &str| found.keys().any(|key| key == name);
        for (key, child) in table.iter().filter(|(key, _)| !is_known(key)) {
            let path = join(path, key);
            let hint = match words::key(key, is_known) {
                hint if hint.is_empty() => self.findings.guess(key, found.keys()),
                hint => hint,
            };
            let message = format!("{path} is not a known key");
            self.findings.add(&child.key, &path, message, Expected::one_of(found.keys()), hint);
        }
        for key in of.keys.iter().flatten().filter(|key| key.is_required() && !table.contains_key(key.name)) {
            let path = join(path, key.name);
            let meaning = key.meaning.split_inclusive(". ").next().unwrap_or_default().trim_end_matches(['.', ' ']);
            let expected = format!("expected {} ({meaning})", describe(&alternatives(&key.shape), ""));
            self.findings.add(place, &path, format!("{path} is missing"), expected, String::new());
        }
    }

    /// Checks a name: names occur in tables, file names and figures.
    fn name(&mut self, name: &str, place: &Place, path: &str) {
        if let Some(why) = bad_name(name) {
            self.findings.add(place, path, format!("the name {} {why}", quoted(name)), NAME, String::new());
        }
    }

    /// Checks that a number is in its range.
    fn range(&mut self, shape: &Shape, tree: &Tree, path: &str) {
        let x = match tree.value {
            Value::Int(n) if n <= u64::MAX.into() => n as f64,
            Value::Int(_) | Value::Huge(_) => f64::INFINITY,
            Value::Float(x) => x,
            _ => return,
        };
        let (least, most) = match shape {
            Shape::Whole { min, max } => (*min as f64, max.map_or(f64::MAX, |max| max as f64)),
            Shape::Real { min, max } => (*min, *max),
            _ => (0.0, 1.0),
        };
        if (least..=most).contains(&x) {
            return;
        }
        let (message, expected) = match shape {
            Shape::Quantity(format) => (format!("is not a {}", format.name), format.expected.to_owned()),
            Shape::Whole { min, max } => {
                ("is out of range".to_owned(), format!("{min} to {}", max.unwrap_or(u64::MAX)))
            }
            _ => ("is out of range".to_owned(), format!("{} to {}", Json::from(least), Json::from(most))),
        };
        let message = format!("{path} = {tree} {message}");
        self.findings.add(&tree.place, path, message, format!("expected {expected}"), String::new());
    }

    /// Reports a value that fits no alternative.
    fn mismatch(&mut self, shape: &Shape, tree: &Tree, path: &str) {
        let all = alternatives(shape);
        let kinds: Vec<&str> = all.iter().filter_map(|option| option.kind()).collect();
        let format = all.iter().find_map(|option| option.format());
        match &tree.value {
            Value::Table(table) if !kinds.is_empty() => match table.get("kind") {
                Some(kind) => {
                    let text = if let Value::Text(text) = &kind.value { text } else { "" };
                    let (said, expected, hint) = self.unknown_word(&noun(shape, path), text, kinds);
                    let path = join(path, "kind");
                    self.findings.add(&kind.place, &path, format!("{path} = {kind} {said}"), expected, hint);
                }
                None => {
                    let message = format!("{} is missing", join(path, "kind"));
                    self.findings.add(&tree.place, path, message, Expected::one_of(kinds), String::new());
                }
            },
            Value::Text(text) => self.wrong_text(shape, text, tree, path),
            // A TOML date is a text only if an instant is expected.
            Value::Date(text) if format.is_some_and(is_instant) => self.wrong_text(shape, text, tree, path),
            _ => {
                let message = format!("{path} = {tree} is {}", type_name(tree));
                let is_list = |option: &Alternative<'_>| matches!(option, Alternative::Plain(Shape::List(..)));
                let expected = match tree.value {
                    Value::Table(_) if all.iter().all(is_list) => {
                        let path: Vec<&str> = path.split('.').filter_map(|key| key.split('[').next()).collect();
                        format!("expected a list of tables: [[{}]]", path.join("."))
                    }
                    _ => format!("expected {}", describe(&all, "")),
                };
                self.findings.add(&tree.place, path, message, expected, String::new());
            }
        }
    }

    /// Reports a text that fits no alternative.
    fn wrong_text(&mut self, shape: &Shape, text: &str, tree: &Tree, path: &str) {
        let all = alternatives(shape);
        let kinds: Vec<&str> = all.iter().filter_map(|option| option.kind()).collect();
        let words: Vec<&str> = all.iter().filter_map(|option| option.word()).collect();
        let format = all.iter().find_map(|option| option.format());
        let wrong = format.and_then(|format| Some((format, (format.check)(text).err()?)));
        let known = if kinds.is_empty() { words } else { kinds };
        let (said, expected, hint): (String, Expected, _) = match wrong {
            // The kind exists, but needs more keys than its name.
            _ if all.iter().any(|option| option.kind() == Some(text)) => {
                let expected = format!("expected {{ kind = \"{text}\", ... }}");
                ("needs more than its name".into(), expected.into(), String::new())
            }
            Some((format, said)) => {
                let most = match format.name {
                    // A run ends before time does, so that timers after its end exist.
                    "duration" if said.ends_with("too large") => {
                        let days =
                            if path == "duration" { DURATION_MAX.as_secs_f64() as u64 / 86_400 } else { LONGEST_DAYS };
                        format!("at most {days} d, because time is counted in picoseconds with 64 bits, as ")
                    }
                    _ => String::new(),
                };
                let expected = format!("expected {most}{}, like \"{}\"", format.expected, format.example);
                (said, expected.into(), words::quantity(text, format))
            }
            None if known.is_empty() => {
                ("is a text".into(), format!("expected {}", describe(&all, text)).into(), String::new())
            }
            None => self.unknown_word(&noun(shape, path), text, known),
        };
        self.findings.add(&tree.place, path, format!("{path} = {tree} {said}"), expected, hint);
    }

    /// Returns the message, the expectation and the hint of a word that is not among the known ones.
    fn unknown_word(&self, what: &str, text: &str, known: Vec<&str>) -> (String, Expected, String) {
        if words::is_transport(text, &known) {
            let expected =
                "expected what it carries, like \"page\" or \"file\", over the simulated TCP; a program with \
                            its own transport runs over this path with bentpipe emulate";
            return ("is a transport, not an application".into(), expected.to_owned().into(), String::new());
        }
        let hint = words::value(text, &known);
        let hint = hint.unwrap_or_else(|| self.findings.guess(text, known.iter().copied()));
        (format!("is not {what}"), Expected::one_of(known), hint)
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

/// Describes alternatives for messages. A written text may be the value of a key of a table.
fn describe(all: &[Alternative<'_>], text: &str) -> String {
    let mut said: Vec<String> = Vec::new();
    for option in all {
        let text = match option {
            Alternative::Word(word, _) => format!("\"{word}\""),
            Alternative::Kind(_) => "a table with kind".into(),
            Alternative::Table(of) => table(of, text),
            Alternative::Plain(Shape::Named(_)) => "a table".into(),
            Alternative::Plain(Shape::Quantity(format)) => format!("{}, like \"{}\"", format.expected, format.example),
            Alternative::Plain(Shape::List(..)) if !text.is_empty() => format!("a list, like [\"{text}\"]"),
            Alternative::Plain(Shape::List(..) | Shape::Pair(_)) => "a list".into(),
            Alternative::Plain(Shape::Flag) => "true or false".into(),
            Alternative::Plain(Shape::Whole { .. }) => "a whole number".into(),
            Alternative::Plain(Shape::Real { .. }) => "a number".into(),
            Alternative::Plain(_) => "a text".into(),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join(" or ")
}

/// Describes a table by its required keys, with the text or examples, or by the names of its first keys.
fn table(of: &Table, text: &str) -> String {
    let keys: Vec<&Key> = of.keys.iter().flatten().collect();
    let example = |key: &&Key| {
        let all = alternatives(&key.shape);
        let value = match all.first() {
            Some(Alternative::Word(word, _)) => format!("\"{word}\""),
            Some(Alternative::Plain(Shape::Quantity(format))) => {
                let is_meant = (format.check)(text).is_ok();
                format!("\"{}\"", if is_meant { text } else { format.example })
            }
            Some(Alternative::Plain(Shape::Whole { min, .. })) => (*min).max(1).to_string(),
            _ => "...".to_owned(),
        };
        format!("{} = {value}", key.name)
    };
    let required: Vec<String> = keys.iter().filter(|key| key.is_required()).map(example).collect();
    match (required.is_empty(), keys.len()) {
        (false, _) => format!("a table, like {{ {} }}", required.join(", ")),
        (true, 0) => "a table".to_owned(),
        (true, count) => {
            let names: Vec<&str> = keys.iter().take(KEYS_SHOWN).map(|key| key.name).collect();
            let rest = if count > KEYS_SHOWN { ", ..." } else { "" };
            format!("a table with {}{rest}", names.join(", "))
        }
    }
}

/// Largest duration in days: time is 64 bits of picoseconds.
const LONGEST_DAYS: u64 = u64::MAX / 1_000_000_000_000 / 86_400;
/// Keys of a table that a message names.
const KEYS_SHOWN: usize = 6;

/// Returns the noun of a choice, with its article. Without one, the key at `path` is the noun.
fn noun(shape: &Shape, path: &str) -> String {
    let key = path.rsplit('.').next().unwrap_or(path);
    let key = key.split('[').next().unwrap_or(key);
    match title(shape) {
        Some(Title { noun, .. }) if !noun.is_empty() => noun.to_owned(),
        _ => format!("a known {}", key.replace('_', " ")),
    }
}

/// Returns the first title in a shape.
fn title(shape: &Shape) -> Option<Title> {
    match shape {
        Shape::Word(title, _) | Shape::Kinds(title, _) => Some(*title),
        Shape::Either(shapes) => shapes.iter().find_map(title),
        _ => None,
    }
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
