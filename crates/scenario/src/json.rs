//! Reads scenarios as JSON. Python values arrive as JSON, too.

use super::tree::{Place, Tree, Value};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Reads JSON. A repeated key is an error, as in TOML, because one of the two values would be ignored.
pub(super) fn read(text: &str) -> Result<Tree, serde_json::Error> {
    serde_json::from_str(text).map(|Json(tree)| tree)
}

struct Json(Tree);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(|value| Self(Tree::new(value, Place::Nowhere)))
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Int(n.into()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(Value::Int(n.into()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::Float(x))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut trees = Vec::new();
        while let Some(Json(tree)) = list.next_element()? {
            trees.push(tree);
        }
        Ok(Value::List(trees))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut table = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if table.contains_key(&key) {
                return Err(Error::custom(format!("duplicate key {}", super::tree::quoted(&key))));
            }
            let Json(tree) = map.next_value()?;
            table.insert(key, tree);
        }
        Ok(Value::Table(table))
    }
}
