//! Written scenario with the place of each value: the common form of TOML, JSON and `--set`.

use super::problem::{Problem, Span};
use bentpipe_cc::CustomCc;
use bentpipe_tcp::multi::OwnScheduler;
use bentpipe_units::settings;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub(super) value: Value,
    pub(super) place: Place,
    /// Place of its key, where an unknown key is reported.
    pub(super) key: Place,
    /// Whether it was written under `[tcp]` and applies to a flow.
    pub(super) inherited: bool,
    /// Custom class that the value stands for.
    pub(super) own: Option<Box<OwnCode>>,
}

/// Custom class of the caller that a registered name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnCode {
    Sender(CustomCc),
    Scheduler(OwnScheduler),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Int(i128),
    /// Whole number that is too large for any range, as written.
    Huge(String),
    Float(f64),
    Text(String),
    /// TOML date, as written. It is valid only as an instant.
    Date(String),
    Null,
    List(Vec<Tree>),
    Table(BTreeMap<String, Tree>),
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Value from Python or JSON.
    Nowhere,
    /// Place in the text.
    Line(Stretch),
    /// Option `--set`.
    Set(Arc<str>),
    /// Default, with its source.
    Default(Option<Arc<str>>),
}

/// [`Span`] in half the space. A file with many links has millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch {
    start: (u32, u32),
    end: (u32, u32),
}

impl Stretch {
    fn new(start: (usize, usize), end: (usize, usize)) -> Self {
        // A text has at most 16 MiB.
        let [start, end] = [start, end].map(|(line, column)| (line as u32, column as u32));
        Self { start, end }
    }

    /// Returns the line of its start.
    pub(super) fn line(self) -> u32 {
        self.start.0
    }
}

impl Tree {
    pub(super) fn new(value: Value, place: Place) -> Self {
        Self { value, key: place.clone(), place, inherited: false, own: None }
    }

    /// Returns an empty table without a place.
    pub(super) fn empty() -> Self {
        Self::new(Value::Table(BTreeMap::new()), Place::Default(None))
    }

    /// Returns the custom congestion control that the value stands for.
    pub(super) fn own_sender(&self) -> Option<&CustomCc> {
        match self.own.as_deref()? {
            OwnCode::Sender(cc) => Some(cc),
            OwnCode::Scheduler(_) => None,
        }
    }

    /// Returns the custom scheduler that the value stands for.
    pub(super) fn own_scheduler(&self) -> Option<&OwnScheduler> {
        match self.own.as_deref()? {
            OwnCode::Scheduler(scheduler) => Some(scheduler),
            OwnCode::Sender(_) => None,
        }
    }

    pub(super) fn table(&self) -> Option<&BTreeMap<String, Tree>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut BTreeMap<String, Tree>> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        match &self.value {
            Value::Table(table) => table.get(key),
            Value::List(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Returns the deepest existing node along `path`. Missing keys are reported there.
    pub(super) fn at<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> &Tree {
        let mut node = self;
        for key in path {
            match node.get(key) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Returns the node at a path in the notation of messages, `a.b[2]`, if it exists.
    pub(super) fn found(&self, path: &str) -> Option<&Tree> {
        let path = split_path(&path.replace('[', ".").replace(']', ""))?;
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns a value other than a table or a list.
    pub(super) fn scalar(&self) -> Option<serde_json::Value> {
        match &self.value {
            Value::Table(_) | Value::List(_) | Value::Null => None,
            Value::Text(text) if text.len() > TEXT_KEPT => Some(cut(text, TEXT_KEPT).into()),
            _ => Some(self.to_json()),
        }
    }

    /// Returns the tree of a TOML value, at `place`.
    pub(super) fn of_toml(value: &str, place: &Place) -> Self {
        let mut tree = parse_value(value);
        tree.settle(place);
        tree
    }

    /// Reads TOML. A syntax error is a single problem.
    pub(super) fn from_toml(text: &str, source: &str) -> Result<Self, Problem> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(from_table(table.get_ref(), lines.place(0..0), &lines)),
            Err(error) => {
                let place = lines.place(error.span().unwrap_or(0..0));
                let message = format!("not TOML: {}", error.message().replace('\n', "; "));
                Err(Problem { span: place.span(), ..Problem::new(place.shown(source), "", message, "") })
            }
        }
    }

    /// Returns the tree of a JSON value, at `place`.
    pub(super) fn of_json(value: &serde_json::Value, place: &Place) -> Self {
        let value = match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => Value::Int(n.into()),
                (_, Some(n)) => Value::Int(n.into()),
                _ => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(list) => Value::List(list.iter().map(|v| Self::of_json(v, place)).collect()),
            serde_json::Value::Object(table) => {
                Value::Table(table.iter().map(|(key, v)| (key.clone(), Self::of_json(v, place))).collect())
            }
        };
        Self::new(value, place.clone())
    }

    /// Returns the value without places.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Bool(b) => (*b).into(),
            Value::Int(n) => u64::try_from(*n).map_or_else(|_| (*n as i64).into(), Into::into),
            Value::Huge(digits) => digits.as_str().into(),
            Value::Float(x) => (*x).into(),
            Value::Text(text) | Value::Date(text) => text.as_str().into(),
            Value::Null => serde_json::Value::Null,
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Table(table) => {
                serde_json::Value::Object(table.iter().map(|(key, tree)| (key.clone(), tree.to_json())).collect())
            }
        }
    }

    /// Returns the value without places, in the form that declarations read.
    pub(super) fn to_value(&self) -> settings::Value {
        match &self.value {
            Value::Bool(b) => settings::Value::Flag(*b),
            Value::Int(n) => u64::try_from(*n).map_or(settings::Value::Real(*n as f64), settings::Value::Whole),
            Value::Float(x) => settings::Value::Real(*x),
            Value::Huge(text) | Value::Text(text) | Value::Date(text) => settings::Value::Text(text.clone()),
            Value::Null => settings::Value::List(Vec::new()),
            Value::List(list) => settings::Value::List(list.iter().map(Self::to_value).collect()),
            Value::Table(table) => {
                let fields = table.iter().map(|(key, tree)| (key.clone(), tree.to_value()));
                settings::Value::Table(settings::Fields(fields.collect()))
            }
        }
    }

    /// Returns the value of `--set key=value`.
    pub(super) fn of_set(key: &str, value: &str) -> Self {
        Self::of_toml(value, &Place::Set(key.into()))
    }

    /// Puts a value at a path of keys and replaces an earlier value.
    pub(super) fn put(&mut self, key: &str, new: Tree) -> Result<(), Problem> {
        let place = new.place.clone();
        let problem = |message: String, expected: &str| Problem {
            span: place.span(),
            ..Problem::new(place.shown(""), key, message, expected)
        };
        let Some(path) = split_path(key) else {
            let message = format!("\"{}\" is not a path of keys", shortened(key));
            return Err(problem(message, "expected a path like link.feeder.rate"));
        };
        let mut node = self;
        for step in &path {
            if node.table().is_none() && !matches!(node.value, Value::List(_)) {
                return Err(problem(
                    format!("{key} cannot be set: {step} is below a single value"),
                    "expected that to be set as a whole",
                ));
            }
            node = match &mut node.value {
                Value::Table(table) => table.entry(step.clone()).or_insert_with(|| {
                    let mut fresh = Self::empty();
                    fresh.settle(&place);
                    fresh
                }),
                Value::List(list) => {
                    let length = list.len();
                    match step.parse().ok().and_then(|index: usize| list.get_mut(index)) {
                        Some(item) => item,
                        None => {
                            let message =
                                format!("{key} cannot be set: the list has {length} entries, and no \"{step}\"");
                            return Err(problem(message, "expected one of its entries, counted from 0"));
                        }
                    }
                }
                _ => unreachable!("checked above"),
            };
        }
        *node = new;
        Ok(())
    }

    fn settle(&mut self, place: &Place) {
        (self.place, self.key) = (place.clone(), place.clone());
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|tree| tree.settle(place)),
            Value::Table(table) => table.values_mut().for_each(|tree| tree.settle(place)),
            _ => {}
        }
    }
}

impl Place {
    /// Returns the stretch of the text, if it has one.
    pub(super) fn span(&self) -> Option<Span> {
        match self {
            Place::Line(stretch) => {
                let [start, end] = [stretch.start, stretch.end].map(|(line, column)| (line as usize, column as usize));
                Some(Span { start, end })
            }
            _ => None,
        }
    }

    /// Returns the place for messages, empty without a text.
    pub(super) fn shown(&self, source: &str) -> String {
        match self {
            Place::Nowhere | Place::Default(_) => source.to_owned(),
            Place::Line(Stretch { start: (line, column), .. }) => format!("{source}:{line}:{column}"),
            // Names the option that the value came from.
            Place::Set(key) => match (key.strip_prefix("sweep.vary."), key.strip_prefix("tune.vary.")) {
                (Some(key), _) => format!("--vary {}", visible(&shortened(key))),
                (_, Some(key)) => format!("--over {}", visible(&shortened(key))),
                _ if key.starts_with("sweep.until") => "--until".into(),
                _ => format!("--set {}", visible(&shortened(key))),
            },
        }
    }
}

impl std::fmt::Display for Tree {
    /// Prints the value as written. Long values are cut.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match &self.value {
            Value::Float(x) if !x.is_finite() => x.to_string(),
            Value::Date(date) => date.clone(),
            Value::Int(n) => n.to_string(),
            Value::Huge(digits) => digits.clone(),
            Value::Text(text) => serde_json::Value::from(text.chars().take(WIDTH + 1).collect::<String>()).to_string(),
            Value::List(list) if list.len() > WIDTH => "[...]".into(),
            Value::Table(_) => "{...}".into(),
            _ => self.to_json().to_string(),
        };
        f.write_str(&cut(&visible(&text), WIDTH))
    }
}

/// Whether a terminal would act on a character (control characters) or reorder others because of it (`Bidi_Control` of
/// Unicode).
pub(super) fn is_hidden(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_direction
}

/// Returns the text with each hidden character as a number, as in JSON and TOML.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_hidden(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns the text in quotes for messages. Long texts are cut.
pub(super) fn quoted(text: &str) -> String {
    Tree::new(Value::Text(text.into()), Place::Nowhere).to_string()
}

fn cut(text: &str, width: usize) -> Cow<'_, str> {
    match text.char_indices().nth(width) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns a key or name for a message, cut to the largest length of a name.
pub(super) fn shortened(key: &str) -> Cow<'_, str> {
    cut(key, NAME_MAX)
}

/// Returns a key below a path, in quotes if it would be ambiguous.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = if key.is_empty() || key.contains(['.', '"']) || key.chars().any(is_hidden) {
        quoted(key)
    } else {
        shortened(key).into_owned()
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

/// Splits a path of keys `a.b`. A key that contains a point is in quotes.
pub(super) fn split_path(key: &str) -> Option<Vec<String>> {
    let mut path = Vec::new();
    let mut rest = key;
    loop {
        let step = if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"')?;
            rest = &quoted[end + 1..];
            &quoted[..end]
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let step = rest[..end].trim();
            rest = &rest[end..];
            step
        };
        if step.is_empty() || path.len() > DEEPEST {
            return None;
        }
        path.push(step.to_owned());
        if rest.is_empty() {
            return Some(path);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// Reads a TOML value, or else the text itself: `--set tcp.cc=reno` needs no quotes.
fn parse_value(text: &str) -> Tree {
    if let Ok(Tree { value: Value::Table(mut table), .. }) = Tree::from_toml(&format!("value = {text}\n"), "") {
        if let (1, Some(tree)) = (table.len(), table.remove("value")) {
            if !matches!(tree.value, Value::Date(_)) {
                return tree;
            }
        }
    }
    Tree::new(Value::Text(text.into()), Place::Nowhere)
}

fn from_table(table: &DeTable<'_>, place: Place, lines: &Lines<'_>) -> Tree {
    let entries = table.iter().map(|(key, value)| {
        let mut tree = from_value(value, lines);
        tree.key = lines.place(key.span());
        (key.get_ref().to_string(), tree)
    });
    Tree::new(Value::Table(entries.collect()), place)
}

fn from_value(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Tree {
    let place = lines.place(value.span());
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => {
            i128::from_str_radix(n.as_str(), n.radix()).map_or_else(|_| Value::Huge(n.as_str().to_owned()), Value::Int)
        }
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|v| from_value(v, lines)).collect()),
        DeValue::Table(table) => return from_table(table, place, lines),
    };
    Tree::new(value, place)
}

/// Line and column of a byte.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, starts: [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    fn place(&self, bytes: Range<usize>) -> Place {
        Place::Line(Stretch::new(self.at(bytes.start), self.at(bytes.end)))
    }

    fn at(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts[line - 1];
        // Counts long lines in bytes: counting characters would take quadratic time for a file of one line.
        let before = self.text.get(start..byte).filter(|text| text.len() < 1000);
        (line, 1 + before.map_or(byte.saturating_sub(start), |text| text.chars().count()))
    }
}

/// Largest number of characters of a value in a message.
const WIDTH: usize = 60;
/// Largest number of characters of a value in a problem.
const TEXT_KEPT: usize = 1000;
/// Largest number of characters in a name.
pub(super) const NAME_MAX: usize = 200;
/// Largest number of keys in a path. Scenarios have fewer.
const DEEPEST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_goes_anywhere() {
        let mut tree = Tree::from_toml("[link.\"up{n}\"]\nrate = \"1 Mbit/s\"\nlist = [{ a = 1 }]", "f").unwrap();
        let set = |tree: &mut Tree, key: &str, value: &str| tree.put(key, Tree::of_set(key, value));
        set(&mut tree, "link.up{n}.rate", "2 Mbit/s").unwrap();
        set(&mut tree, "tcp.rto.min", "\"200 ms\"").unwrap();
        set(&mut tree, "link.up{n}.list.0.a", "2").unwrap();
        set(&mut tree, "\"a.b\".c", "[1, 2]").unwrap();
        let json = serde_json::json!({
            "link": { "up{n}": { "rate": "2 Mbit/s", "list": [{ "a": 2 }] } },
            "tcp": { "rto": { "min": "200 ms" } },
            "a.b": { "c": [1, 2] },
        });
        assert_eq!(tree.to_json(), json);
        assert_eq!(tree.at(["link", "up{n}", "rate"]).place, Place::Set("link.up{n}.rate".into()));
        for (key, value) in
            [("", "1"), ("a..b", "1"), ("\"a", "1"), ("link.up{n}.rate.x", "1"), ("link.up{n}.list.9", "1")]
        {
            assert!(set(&mut tree, key, value).is_err(), "{key}");
        }
    }

    #[test]
    fn places_count_characters_from_one() {
        let tree = Tree::from_toml("a = 1\nb = { \"é\" = 2, c = 3 }", "f").unwrap();
        let span = |start, end| Place::Line(Stretch::new((2, start), (2, end)));
        assert_eq!(tree.at(["b", "c"]).place, span(20, 21));
        assert_eq!(tree.at(["b", "c"]).key, span(16, 17));
        assert_eq!(Tree::from_toml("a = \n", "f").unwrap_err().place, "f:1:5");
    }
}
