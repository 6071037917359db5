//! Writes defaults as in a file: without the defaults in them.

use bentpipe_units::settings::{Absent, Shape, Table, Value};

/// Removes defaults from the defaults in a shape.
pub(super) fn shorten(shape: &mut Shape) {
    let shorten_keys = |table: &mut Table| {
        for key in table.keys.iter_mut().flatten() {
            // A default is compared with the whole defaults in it, so it is first.
            if let Absent::Default(value) = &mut key.default {
                *value = shortened(&key.shape, value);
            }
            shorten(&mut key.shape);
        }
    };
    match shape {
        Shape::Table(table) => shorten_keys(table),
        Shape::Kinds(_, tables) => tables.iter_mut().for_each(shorten_keys),
        Shape::Either(shapes) => shapes.iter_mut().for_each(shorten),
        Shape::Pair(shapes) => shapes.iter_mut().for_each(shorten),
        Shape::List(of, ..) | Shape::Named(of) => shorten(of),
        _ => {}
    }
}

/// Returns a value without its defaults. A table that then only has a kind becomes the name of the kind.
pub(super) fn shortened(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Table(table), Value::Table(_)) => without_defaults(table, value),
        (Shape::Kinds(_, kinds), Value::Table(fields)) => {
            let table = kinds.iter().find(|kind| fields.kind() == Ok(kind.name));
            let short = table.map_or(value.clone(), |table| without_defaults(table, value));
            match &short {
                Value::Table(fields) if fields.0.len() == 1 => fields.0[0].1.clone(),
                _ => short,
            }
        }
        (Shape::Either(of), _) => {
            of.iter().find(|shape| value.may_be(shape)).map_or(value.clone(), |shape| shortened(shape, value))
        }
        _ => value.clone(),
    }
}

fn without_defaults(table: &Table, value: &Value) -> Value {
    let Value::Table(fields) = value else { return value.clone() };
    let mut fields = fields.clone();
    for key in table.keys.iter().flatten() {
        if matches!(&key.default, Absent::Default(default) if fields.get(key.name) == Some(default)) {
            fields.take(key.name);
        }
    }
    // A default that depends on other keys counts as a default, too.
    let is_open = |name: &str| table.keys.iter().flatten().any(|key| key.name == name && key.default == Absent::Open);
    fields.0.retain(|(name, _)| !is_open(name));
    Value::Table(fields)
}
