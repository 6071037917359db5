//! The language in which every key of a scenario is declared, once: name, meaning, type, unit, range, default and where the
//! default is from. From a declaration follow the type with its [`Default`], its [description](Table), how it is
//! [read](Typed::read) from values and how it is [written](Typed::write) as values. The schema, the reference page, the
//! Python types and the random scenarios of the swarm are made from the description.
//!
//! | declares | by |
//! |---|---|
//! | a table of keys | [`settings!`](crate::settings) |
//! | a choice between tables by their `kind` | [`kinds!`](crate::kinds) |
//! | a choice of words | [`words!`](crate::words) |
//! | a choice between shapes that tell themselves apart | [`either!`](crate::either) |
//! | an amount in several measures, or a word | [`amounts!`](crate::amounts) |

mod amount;
mod declare;
mod types;

pub use amount::{read_amount, write_amount, Count, Form};
pub use types::{
    Angle, Baud, Bytes, Chance, Distance, Include, Level, Maybe, OnOff, Open, Plain, Share, Switch, Thousandths,
};

use std::fmt;

/// A value as TOML and JSON have them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Fields),
}

/// The entries of a table, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Value)>);

/// What may stand behind a key.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number of this range.
    Whole {
        /// The least.
        min: u64,
        /// The greatest.
        max: Option<u64>,
    },
    /// A number of this range.
    Real {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// Any text.
    Text,
    /// A quantity with its unit, or another text that is checked.
    Quantity(&'static Format),
    /// One of a few words, each with its meaning; the name of the choice.
    Word(&'static str, Vec<(&'static str, &'static str)>),
    /// Several of a shape, with the least and the greatest number of them.
    List(Box<Shape>, usize, Option<usize>),
    /// Two values.
    Pair(Box<[Shape; 2]>),
    /// Keys.
    Table(Table),
    /// Tables told apart by `kind`; the name of the choice, empty if it has none. Each table has the name of its kind.
    Kinds(&'static str, Vec<Table>),
    /// One of several shapes.
    Either(Vec<Shape>),
    /// Tables of this shape by names that the user gives.
    Named(Box<Shape>),
}

/// A table of keys.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the schema.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Its keys, in order; none: any keys.
    pub keys: Option<Vec<Key>>,
}

/// A key as people read it.
#[derive(Clone, Debug)]
pub struct Key {
    /// As in scenario files.
    pub name: &'static str,
    /// One line.
    pub meaning: &'static str,
    /// What it may be.
    pub shape: Shape,
    /// What it is if it is left out.
    pub default: Absent,
    /// Where the default is from; may be empty.
    pub origin: &'static str,
}

/// What a key is that is left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// It may not be left out.
    Required,
    /// Nothing, or what other keys say.
    Open,
    /// This.
    Default(Value),
}

/// How a kind of text is named, explained and checked.
pub struct Format {
    /// The `format` of the schema.
    pub name: &'static str,
    /// What a valid text consists of.
    pub expected: &'static str,
    /// A valid text.
    pub example: &'static str,
    /// Why a text is none: the end of a sentence that begins with it.
    pub check: fn(&str) -> Result<(), String>,
    /// Whether a plain number from 0 to 1 will do as well.
    pub is_number_too: bool,
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A value that does not fit its declaration. Nobody meets it who has compared the value with the description first.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit(pub String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// A type that a key can have.
pub trait Typed: Sized {
    /// What may be written.
    fn shape() -> Shape;

    /// What was written means.
    ///
    /// # Errors
    /// If it does not fit the shape.
    fn read(value: &Value) -> Result<Self, Unfit>;

    /// As it would be written.
    fn write(&self) -> Value;

    /// What a key without default is when it is left out; none: it is required.
    fn absent() -> Option<Self> {
        None
    }

    /// As it would be written, if it would.
    fn write_if_any(&self) -> Option<Value> {
        Some(self.write())
    }
}

/// A type with keys. Declared by [`settings!`](crate::settings).
pub trait Settings: Sized {
    /// The name in the schema.
    const NAME: &'static str;
    /// One line.
    const ABOUT: &'static str;

    /// Its keys, in the order of the declaration.
    fn keys() -> Vec<Key>;

    /// What a table means.
    ///
    /// # Errors
    /// If it does not fit the keys.
    fn read(table: &Fields) -> Result<Self, Unfit>;

    /// Adds its keys to a table.
    fn write(&self, table: &mut Fields);

    /// Its description.
    fn table() -> Table {
        Table { name: Self::NAME, about: Self::ABOUT, keys: Some(Self::keys()) }
    }
}

impl<T: Settings> Typed for T {
    fn shape() -> Shape {
        Shape::Table(T::table())
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        T::read(value.table()?)
    }
    fn write(&self) -> Value {
        let mut table = Fields::default();
        T::write(self, &mut table);
        Value::Table(table)
    }
}

/// A way to write a `T` as a key or several. [`Plain`] is that of the type itself; another is named behind `as`.
pub trait Written<T> {
    /// The keys; `key` has everything but the shape.
    fn keys(key: Key) -> Vec<Key> {
        vec![Key { shape: Self::shape(), ..key }]
    }

    /// What may be written.
    fn shape() -> Shape;

    /// As [`Typed::read`].
    ///
    /// # Errors
    /// If it does not fit the shape.
    fn read(value: &Value) -> Result<T, Unfit>;

    /// As [`Typed::write`].
    fn write(value: &T) -> Value;

    /// As [`Typed::absent`].
    fn absent() -> Option<T> {
        None
    }

    /// Whether a key is left out though there is a default: other keys decide what it is then.
    fn is_open() -> bool {
        Self::absent().is_some()
    }

    /// What the table says, or else `default`.
    ///
    /// # Errors
    /// If it does not fit, or says nothing and there is no default.
    fn take(table: &Fields, name: &str, default: Option<fn() -> T>) -> Result<T, Unfit> {
        match table.get(name) {
            Some(value) => Self::read(value).map_err(|why| Unfit(format!("{name}: {why}"))),
            None => default.map(|make| make()).or_else(Self::absent).ok_or_else(|| Unfit(format!("{name} is missing"))),
        }
    }

    /// Adds the key to a table.
    fn put(value: &T, name: &str, table: &mut Fields) {
        table.put(name, Self::write(value));
    }
}

impl Value {
    /// The entries of a table.
    ///
    /// # Errors
    /// If it is none.
    pub fn table(&self) -> Result<&Fields, Unfit> {
        match self {
            Self::Table(table) => Ok(table),
            other => Err(other.unfit("a table")),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// If it is none.
    pub fn text(&self) -> Result<&str, Unfit> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.unfit("a text")),
        }
    }

    /// Whether it may be of this shape, of several that differ in type or, of tables, in keys.
    #[must_use]
    pub fn may_be(&self, shape: &Shape) -> bool {
        match (self, shape) {
            (Self::Table(table), Shape::Table(Table { keys: Some(keys), .. })) => {
                table.0.iter().all(|(name, _)| keys.iter().any(|key| key.name == name))
            }
            (Self::Table(_), Shape::Kinds(..)) => true,
            (Self::Table(_), _) | (_, Shape::Table(_) | Shape::Kinds(..)) => false,
            _ => true,
        }
    }

    /// Why it is not `what`.
    #[must_use]
    pub fn unfit(&self, what: &str) -> Unfit {
        Unfit(format!("{self:?} is not {what}"))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Fields {
    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Adds a key at the end, or gives it another value where it is.
    pub fn put(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Takes a key out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// The `kind` of a table that has one.
    ///
    /// # Errors
    /// If it has none.
    pub fn kind(&self) -> Result<&str, Unfit> {
        self.get("kind").ok_or_else(|| Unfit("kind is missing".into()))?.text()
    }

    /// A table of this kind, still without other keys.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        Self(vec![("kind".into(), kind.into())])
    }
}

impl Shape {
    /// With this range: of a number, or of the length of a list.
    #[must_use]
    pub fn within<B: Bound>(self, least: B, most: Option<B>) -> Self {
        match self {
            Self::Real { .. } => Self::Real { min: least.real(), max: most.map_or(f64::MAX, B::real) },
            Self::List(of, ..) => Self::List(of, least.whole() as usize, most.map(|most| most.whole() as usize)),
            Self::Whole { .. } => Self::Whole { min: least.whole(), max: most.map(B::whole) },
            other => {
                debug_assert!(false, "{other:?} has no range");
                other
            }
        }
    }
}

/// The end of a range.
pub trait Bound: Copy {
    /// Of numbers.
    fn real(self) -> f64;
    /// Of whole numbers.
    fn whole(self) -> u64;
}

macro_rules! bounds {
    ($($type:ty)+) => {$(
        impl Bound for $type {
            fn real(self) -> f64 {
                self as f64
            }
            fn whole(self) -> u64 {
                self as u64
            }
        }
    )+};
}

bounds! { f64 i32 u32 u64 }

/// Nothing can be set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoSettings;

impl Settings for NoSettings {
    const NAME: &'static str = "";
    const ABOUT: &'static str = "";

    fn keys() -> Vec<Key> {
        Vec::new()
    }
    fn read(_: &Fields) -> Result<Self, Unfit> {
        Ok(Self)
    }
    fn write(&self, _: &mut Fields) {}
}

#[cfg(test)]
mod tests;
