//! The shape of a scenario file, made from the declarations of its keys, and its JSON Schema.

use super::alternatives::{alternatives, Alternative};
use super::groups::{groups, quantity};
use super::host_defaults;
use super::keys::File;
use super::shorten::shorten;
use bentpipe_units::settings::{Absent, Format, HostDefault, HostDefaults, Key, Shape, Table, Typed, Value};
use serde_json::{json, Map, Value as Json};
use std::sync::OnceLock;

/// Returns the shape of a scenario. Its defaults are written as in a file: without defaults in them.
pub(super) fn shape() -> &'static Shape {
    static SHAPE: OnceLock<Shape> = OnceLock::new();
    SHAPE.get_or_init(|| {
        let mut shape = File::shape();
        shorten(&mut shape);
        shape
    })
}

/// Returns the shape of a scenario with the defaults of each host. Finding them takes four times as long as all else that
/// reading a scenario needs, and only what is generated shows them.
fn shape_with_hosts() -> &'static Shape {
    static SHAPE: OnceLock<Shape> = OnceLock::new();
    SHAPE.get_or_init(|| {
        let mut shape = shape().clone();
        host_defaults::declare(&mut shape);
        shape
    })
}

/// Returns a table of the scenario by its name in the schema, with the defaults of each host.
///
/// # Panics
///
/// If no table has this name.
pub(super) fn table(name: &str) -> &'static Table {
    let mut found = None;
    each(shape_with_hosts(), &mut |shape| match shape {
        Shape::Table(table) if table.name == name => found = found.or(Some(table)),
        _ => {}
    });
    found.unwrap_or_else(|| panic!("the scenario has no table {name}"))
}

/// Returns the shape of `[sky]`.
pub(super) fn sky() -> &'static Shape {
    of_key("sky")
}

/// Returns the shape of the media.
pub(super) fn media() -> &'static Shape {
    of_key("medium")
}

/// Returns the shape of a key of the file.
fn of_key(name: &str) -> &'static Shape {
    let Shape::Table(file) = shape() else { unreachable!("a file is a table") };
    &file.key(name).expect("the file has this key").shape
}

/// Returns all formats of strings in a scenario.
pub(super) fn formats() -> &'static [&'static Format] {
    static FORMATS: OnceLock<Vec<&'static Format>> = OnceLock::new();
    FORMATS.get_or_init(|| {
        let mut formats: Vec<&'static Format> = Vec::new();
        each(shape(), &mut |shape| match shape {
            Shape::Quantity(format) if !formats.contains(format) => formats.push(format),
            _ => {}
        });
        formats
    })
}

/// Visits a shape and all shapes in it.
fn each<'s>(shape: &'s Shape, visit: &mut impl FnMut(&'s Shape)) {
    visit(shape);
    match shape {
        Shape::Table(table) => table.keys.iter().flatten().for_each(|key| each(&key.shape, visit)),
        Shape::Kinds(_, tables) => {
            tables.iter().flat_map(|table| table.keys.iter().flatten()).for_each(|key| each(&key.shape, visit));
        }
        Shape::Either(shapes) => shapes.iter().for_each(|shape| each(shape, visit)),
        Shape::Pair(shapes) => shapes.iter().for_each(|shape| each(shape, visit)),
        Shape::List(of, ..) | Shape::Named(of) => each(of, visit),
        _ => {}
    }
}

/// Returns the JSON Schema.
pub(super) fn schema() -> Json {
    let mut made = Schema::default();
    let mut root = made.table(table("File"), None);
    root.insert("title".into(), "bentpipe scenario".into());
    root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    root.insert("$defs".into(), made.definitions.into());
    root.into()
}

/// Returns a value as JSON.
pub(super) fn to_json(value: &Value) -> Json {
    match value {
        Value::Flag(is) => (*is).into(),
        Value::Whole(n) => (*n).into(),
        Value::Real(x) => (*x).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(list) => list.iter().map(to_json).collect(),
        Value::Table(table) => {
            Json::Object(table.0.iter().map(|(name, value)| (name.clone(), to_json(value))).collect())
        }
    }
}

#[derive(Default)]
struct Schema {
    definitions: Map<String, Json>,
}

impl Schema {
    fn shape(&mut self, shape: &Shape) -> Map<String, Json> {
        let json = match shape {
            Shape::Flag => json!({ "type": "boolean" }),
            Shape::Whole { min, max: None } => json!({ "type": "integer", "minimum": min }),
            Shape::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Shape::Real { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            Shape::Text => json!({ "type": "string" }),
            Shape::Quantity(format) => {
                let (name, of, example) = (format.name, quantity(format.name), format.example);
                match format.is_number_too {
                    true => json!({
                        "type": ["string", "number"], "format": name, "x-quantity": of, "minimum": 0, "maximum": 1,
                        "examples": [example],
                    }),
                    false => json!({ "type": "string", "format": name, "x-quantity": of, "examples": [example] }),
                }
            }
            Shape::Word(title, words) => {
                return self.define(title.name, |_| json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() }))
            }
            Shape::List(of, least, most) => {
                let mut list = with(json!({ "type": "array" }), "items", self.shape(of).into());
                if *least > 0 {
                    list["minItems"] = (*least).into();
                }
                if let Some(most) = most {
                    list["maxItems"] = (*most).into();
                }
                list
            }
            Shape::Pair(of) => {
                let of = of.iter().map(|shape| self.shape(shape)).collect();
                let pair = with(json!({ "type": "array" }), "prefixItems", of);
                with(with(pair, "minItems", 2.into()), "maxItems", 2.into())
            }
            Shape::Table(table) => return self.define(table.name, |made| made.table(table, None).into()),
            Shape::Kinds(title, _) => {
                return self.define(title.name, |made| {
                    let options = alternatives(shape).into_iter().map(|option| match option {
                        Alternative::Word(name, meaning) => word(&(name, meaning)),
                        other => other.table().map_or(Json::Null, |table| made.table(table, other.kind()).into()),
                    });
                    with(json!({}), "oneOf", options.collect())
                });
            }
            Shape::Either(of) => with(json!({}), "anyOf", of.iter().map(|shape| self.shape(shape)).collect()),
            Shape::Named(of) => with(json!({ "type": "object" }), "additionalProperties", self.shape(of).into()),
        };
        object(json)
    }

    /// Moves a shape with a name to the definitions.
    fn define(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Json) -> Map<String, Json> {
        if name.is_empty() {
            return object(make(self));
        }
        if !self.definitions.contains_key(name) {
            // A definition precedes the definitions that it mentions.
            self.definitions.insert(name.into(), Json::Null);
            let made = make(self);
            self.definitions.insert(name.into(), made);
        }
        object(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    fn table(&mut self, table: &Table, kind: Option<&str>) -> Map<String, Json> {
        let Some(keys) = &table.keys else { return object(json!({ "type": "object", "description": table.about })) };
        let mut properties = Map::new();
        let mut required: Vec<&str> = Vec::new();
        if let Some(kind) = kind {
            properties.insert("kind".into(), json!({ "type": "string", "const": kind }));
            required.push("kind");
        }
        for key in keys {
            properties.insert(key.name.into(), self.key(key).into());
        }
        required.extend(keys.iter().filter(|key| key.is_required()).map(|key| key.name));
        let made = with(json!({ "description": table.about, "type": "object" }), "properties", properties.into());
        let made = with(made, "required", required.into());
        let mut made = object(with(made, "additionalProperties", false.into()));
        let groups = groups(table.name).iter().filter_map(|(title, of)| {
            let of: Vec<&str> = of.iter().copied().filter(|name| keys.iter().any(|key| key.name == *name)).collect();
            (!of.is_empty()).then(|| json!({ "title": title, "keys": of }))
        });
        let groups: Vec<Json> = groups.collect();
        if !groups.is_empty() {
            made.insert("x-groups".into(), groups.into());
        }
        made
    }

    fn key(&mut self, key: &Key) -> Map<String, Json> {
        let mut property = self.shape(&key.shape);
        property.insert("description".into(), key.meaning.into());
        let (default, origin) = key.usual();
        put_default(&mut property, default, origin);
        if !key.hosts.is_empty() {
            let hosts = key.hosts.iter().map(|host| (host.host.to_owned(), defaults_of(host)));
            property.insert("x-defaults".into(), Json::Object(hosts.collect()));
        }
        property
    }
}

fn put_default(to: &mut Map<String, Json>, default: &Absent, origin: &str) {
    if let Absent::Default(value) = default {
        to.insert("default".into(), to_json(value));
    }
    if !origin.is_empty() {
        to.insert("x-origin".into(), origin.into());
    }
}

/// Returns the defaults of a host: that of a file without other keys, then those that other keys select.
fn defaults_of(host: &HostDefaults) -> Json {
    let json = |one: &HostDefault| {
        let mut json = Map::new();
        put_default(&mut json, &one.value, &one.origin);
        if !one.when.is_empty() {
            json.insert("when".into(), one.when.as_str().into());
        }
        json
    };
    let mut all = json(&host.of_empty);
    if !host.others.is_empty() {
        all.insert("otherwise".into(), host.others.iter().map(|one| Json::Object(json(one))).collect());
    }
    all.into()
}

fn word((name, meaning): &(&str, &str)) -> Json {
    json!({ "description": meaning, "type": "string", "const": name })
}

/// Returns an object with an additional property. `json!` would copy the whole object.
fn with(mut object: Json, name: &str, value: Json) -> Json {
    object[name] = value;
    object
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(object) => object,
        other => unreachable!("{other} is no shape"),
    }
}
