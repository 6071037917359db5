//! Names that other modules define: controllers, verdicts, words, time series. Nothing of them is repeated here.

use crate::record::dictionary;
use bentpipe_tcp::cc::CcKind;
use bentpipe_tcp::verdict::VerdictKind;
use bentpipe_units::Word;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
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
    Cc(CcKind) "Cc";
    Verdict(VerdictKind) "Verdict";
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
