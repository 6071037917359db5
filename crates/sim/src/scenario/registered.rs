//! Names that other modules define: controllers, verdicts, words, time series. Nothing of them is repeated here.

use super::text::{BitRate, Span, Text};
use crate::record::dictionary;
use bentpipe_tcp::cc::settings::{Kind, Value};
use bentpipe_tcp::cc::{CcConfig, CcKind};
use bentpipe_tcp::verdict::VerdictKind;
use bentpipe_units::Word;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{json, Map, Value as Json};
use std::borrow::Cow;

/// A choice that a registry makes, written as a table with a `kind`.
macro_rules! registered {
    ($($name:ident($kind:ty) $schema:literal;)+) => {$(
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name(pub(super) $kind);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                struct Table { kind: String }
                let name = Table::deserialize(deserializer)?.kind;
                let found = <$kind>::ALL.iter().find(|kind| kind.name() == name);
                found.map(|kind| Self(*kind)).ok_or_else(|| serde::de::Error::custom(name))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $schema.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let tables: Vec<_> = <$kind>::ALL.iter().map(|kind| json_schema!({
                    "description": kind.summary(),
                    "type": "object",
                    "properties": { "kind": { "type": "string", "const": kind.name() } },
                    "required": ["kind"],
                    "additionalProperties": false,
                })).collect();
                json_schema!({ "oneOf": tables })
            }
        }
    )+};
}

registered! {
    Verdict(VerdictKind) "Verdict";
}

/// A congestion control with its settings, written as a table with a `kind`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cc(pub(super) CcConfig);

impl<'de> Deserialize<'de> for Cc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table: Map<String, Json> = Map::deserialize(deserializer)?;
        let name = table.get("kind").and_then(Json::as_str).unwrap_or_default();
        let kind = CcKind::ALL.iter().find(|kind| kind.name() == name).ok_or_else(|| serde::de::Error::custom(name))?;
        let mut config = CcConfig::from(*kind);
        for (index, setting) in kind.settings().iter().enumerate() {
            let Some(written) = table.get(setting.name) else { continue };
            let value = setting_value(setting.kind, written).filter(|value| config.set(index, *value));
            value.ok_or_else(|| serde::de::Error::custom(format!("{} = {written}", setting.name)))?;
        }
        Ok(Self(config))
    }
}

fn setting_value(kind: Kind, written: &Json) -> Option<Value> {
    Some(match kind {
        Kind::Real { .. } => Value::Real(written.as_f64()?),
        Kind::Whole { .. } => Value::Whole(written.as_u64()?),
        Kind::Flag => Value::Flag(written.as_bool()?),
        Kind::Rate => Value::Rate(BitRate::read(written.as_str()?).ok()?.0),
        Kind::Span => Value::Span(Span::read(written.as_str()?).ok()?.0),
        Kind::Word(words) => Value::Word(words.iter().find(|(name, _)| Some(*name) == written.as_str())?.0),
    })
}

impl JsonSchema for Cc {
    fn schema_name() -> Cow<'static, str> {
        "Cc".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let tables: Vec<_> = CcKind::ALL.iter().map(|kind| cc_table(*kind)).collect();
        json_schema!({ "oneOf": tables })
    }
}

fn cc_table(kind: CcKind) -> Json {
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "type": "string", "const": kind.name() }));
    for setting in kind.settings() {
        let mut shape = match setting.kind {
            Kind::Real { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            Kind::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Rate => {
                json!({ "type": "string", "format": BitRate::FORMAT.name, "examples": [BitRate::FORMAT.example] })
            }
            Kind::Span => json!({ "type": "string", "format": Span::FORMAT.name, "examples": [Span::FORMAT.example] }),
            Kind::Word(words) => {
                let word =
                    |(name, meaning): &(&str, &str)| json!({ "description": meaning, "type": "string", "const": name });
                json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
            }
        };
        shape["description"] = setting.meaning.into();
        shape["default"] = setting_json(setting.default);
        shape["x-origin"] = setting.origin.into();
        properties.insert(setting.name.into(), shape);
    }
    json!({
        "description": kind.summary(),
        "type": "object",
        "properties": properties,
        "required": ["kind"],
        "additionalProperties": false,
    })
}

/// As in a scenario file.
pub(super) fn setting_json(value: Value) -> Json {
    match value {
        Value::Real(x) => x.into(),
        Value::Whole(n) => n.into(),
        Value::Flag(is) => is.into(),
        Value::Span(span) => span.to_string().into(),
        Value::Rate(rate) => rate.to_string().into(),
        Value::Word(name) => name.into(),
    }
}

/// A choice of words, written as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<'de, T: Word> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = T::ALL.iter().find(|word| word.name() == name);
        found.map(|word| Self(*word)).ok_or_else(|| serde::de::Error::custom(name))
    }
}

impl<T: Word> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        T::TYPE.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = T::ALL
            .iter()
            .map(|word| json_schema!({ "description": word.summary(), "type": "string", "const": word.name() }))
            .collect();
        json_schema!({ "oneOf": names })
    }
}

/// A time series of the dictionary, or `events`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SeriesName(pub(super) String);

impl JsonSchema for SeriesName {
    fn schema_name() -> Cow<'static, str> {
        "Series".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let events = ("events", "What happened to each connection, when.");
        let series = dictionary::SERIES.iter().map(|series| (series.column.name, series.column.meaning));
        let names: Vec<_> = series
            .chain([events])
            .map(|(name, meaning)| json_schema!({ "description": meaning, "type": "string", "const": name }))
            .collect();
        json_schema!({ "oneOf": names })
    }
}
