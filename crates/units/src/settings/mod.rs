//! Language that declares every key of a scenario, once: name, meaning, type, unit, range, default and the source of
//! the default. A declaration gives the type with its [`Default`], its [description](Table), its [reading](Typed::read)
//! from values and its [writing](Typed::write) as values. The schema, the reference page, the Python types and the
//! random scenarios of the swarm are made from the description.
//!
//! | declares | by |
//! |---|---|
//! | a table of keys | [`settings!`](crate::settings) |
//! | a choice between tables by their `kind` | [`kinds!`](crate::kinds) |
//! | a choice of words | [`words!`](crate::words) |
//! | a choice between shapes that differ in type or keys | [`either!`](crate::either) |
//! | an amount in several measures, or a word | [`amounts!`](crate::amounts) |

mod amount;
mod declare;
mod types;

pub use amount::{read_amount, write_amount, Count, Form};
pub use types::{
    Angle, Baud, Bytes, Chance, Distance, Include, Level, Maybe, OnOff, Open, Overrides, Plain, Share, Switch,
    Thousandths,
};

use std::fmt;

/// A value of TOML and JSON.
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

/// Entries of a table, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Value)>);

/// Shape of a key's value.
#[derive(Clone, Debug, PartialEq)]
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
    /// A quantity with its unit, or another checked text.
    Quantity(&'static Format),
    /// One of a few words, each with its meaning.
    Word(Title, Vec<(&'static str, &'static str)>),
    /// Several values of a shape, with the minimum and maximum number.
    List(Box<Shape>, usize, Option<usize>),
    /// Two values.
    Pair(Box<[Shape; 2]>),
    /// Keys.
    Table(Table),
    /// Tables that differ by `kind`. Each table has the name of its kind.
    Kinds(Title, Vec<Table>),
    /// One of several shapes.
    Either(Vec<Shape>),
    /// Tables of this shape by names of the user.
    Named(Box<Shape>),
}

/// Names of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Title {
    /// Name in the schema. Empty: the choice is written out at each of its keys.
    pub name: &'static str,
    /// Noun with its article, for messages: `a congestion control`. Empty: the key is the noun.
    pub noun: &'static str,
}

/// A table of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name in the schema.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Its keys, in order; `None`: any keys.
    pub keys: Option<Vec<Key>>,
}

impl Table {
    /// Returns the key of this name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.as_ref()?.iter().find(|key| key.name == name)
    }
}

/// A key, described for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Name in scenario files.
    pub name: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
    /// Shape of its value.
    pub shape: Shape,
    /// Value if it is left out.
    pub default: Absent,
    /// Source of the default; may be empty.
    pub origin: &'static str,
    /// Defaults by host, if hosts differ. Then `default` is a default of hosts that declare no other.
    pub hosts: Vec<HostDefaults>,
}

impl Key {
    /// Returns the default of a file that names neither this key nor a host, and its source.
    #[must_use]
    pub fn usual(&self) -> (&Absent, &str) {
        let usual = self.hosts.iter().find(|host| host.is_usual).map(|host| &host.of_empty);
        usual.map_or((&self.default, self.origin), |usual| (&usual.value, &usual.origin))
    }
}

/// Defaults of a key for one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDefaults {
    /// Name of the host in scenario files.
    pub host: &'static str,
    /// Whether a file has this host if it names none.
    pub is_usual: bool,
    /// Default in a file that sets no other key.
    pub of_empty: HostDefault,
    /// Defaults that other keys select, by descending precedence.
    pub others: Vec<HostDefault>,
}

/// Default of a key for one host under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDefault {
    /// Condition, such as `cc = "cubic"`. Empty: always, unless an earlier condition holds.
    pub when: String,
    /// The value.
    pub value: Absent,
    /// Its source; may be empty.
    pub origin: String,
}

/// Value of a key that is left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// Required.
    Required,
    /// No value, or a value by other keys.
    Open,
    /// This value.
    Default(Value),
}

/// Name, explanation and check of a kind of text.
pub struct Format {
    /// `format` in the schema.
    pub name: &'static str,
    /// Form of a valid text.
    pub expected: &'static str,
    /// A valid text.
    pub example: &'static str,
    /// Returns the reason why a text is not valid: the end of a sentence that begins with it.
    pub check: fn(&str) -> Result<(), String>,
    /// Whether a plain number from 0 to 1 is valid, too.
    pub is_number_too: bool,
}

impl PartialEq for Format {
    /// Compares names: each format has its own.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A value that does not fit its declaration. It does not occur after a comparison of the value with the description.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit(pub String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// Type that a key can have.
pub trait Typed: Sized {
    /// Returns its shape.
    fn shape() -> Shape;

    /// Reads a written value.
    ///
    /// # Errors
    /// If it does not fit the shape.
    fn read(value: &Value) -> Result<Self, Unfit>;

    /// Returns it as it would be written.
    fn write(&self) -> Value;

    /// Returns the value of a key without default that is left out; `None`: it is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Returns it as it would be written, if it would.
    fn write_if_any(&self) -> Option<Value> {
        Some(self.write())
    }
}

/// A type with keys. Declared by [`settings!`](crate::settings).
pub trait Settings: Sized {
    /// The name in the schema.
    const NAME: &'static str;
    /// Description in one line.
    const ABOUT: &'static str;

    /// Returns its keys, in the order of the declaration.
    fn keys() -> Vec<Key>;

    /// Reads a table.
    ///
    /// # Errors
    /// If it does not fit the keys.
    fn read(table: &Fields) -> Result<Self, Unfit>;

    /// Adds its keys to a table.
    fn write(&self, table: &mut Fields);

    /// Returns its description.
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

/// Way to write a `T` as one key or several. [`Plain`] is that of the type itself. `as` names another.
pub trait Written<T> {
    /// Returns the keys; `key` has everything except the shape.
    fn keys(key: Key) -> Vec<Key> {
        vec![Key { shape: Self::shape(), ..key }]
    }

    /// Returns its shape.
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

    /// Whether a key with a default is left out, because other keys determine its value.
    fn is_open() -> bool {
        Self::absent().is_some()
    }

    /// Reads the key from the table, or takes `default`.
    ///
    /// # Errors
    /// If it does not fit, or is missing without a default.
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
    /// Returns the entries of a table.
    ///
    /// # Errors
    /// If it is not a table.
    pub fn table(&self) -> Result<&Fields, Unfit> {
        match self {
            Self::Table(table) => Ok(table),
            other => Err(other.unfit("a table")),
        }
    }

    /// Returns a text.
    ///
    /// # Errors
    /// If it is not a text.
    pub fn text(&self) -> Result<&str, Unfit> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.unfit("a text")),
        }
    }

    /// Whether it may have this shape, among shapes that differ in type or, for tables, in keys.
    #[must_use]
    pub fn may_be(&self, shape: &Shape) -> bool {
        match (self, shape) {
            (Self::Table(table), Shape::Table(of @ Table { keys: Some(_), .. })) => {
                table.0.iter().all(|(name, _)| of.key(name).is_some())
            }
            (Self::Table(_), Shape::Kinds(..)) => true,
            (Self::Table(_), _) | (_, Shape::Table(_) | Shape::Kinds(..)) => false,
            _ => true,
        }
    }

    /// Returns the error that it is not `what`.
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
    /// Returns the value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Adds a key at the end, or replaces its value.
    pub fn put(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Removes a key.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the `kind` of a table.
    ///
    /// # Errors
    /// If it has no kind.
    pub fn kind(&self) -> Result<&str, Unfit> {
        self.get("kind").ok_or_else(|| Unfit("kind is missing".into()))?.text()
    }

    /// Returns a table of this kind, without other keys yet.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        Self(vec![("kind".into(), kind.into())])
    }
}

impl Shape {
    /// Returns the shape with this range: of a number, or of the length of a list.
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
    /// Converts for numbers.
    fn real(self) -> f64;
    /// Converts for whole numbers.
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

/// A table without keys.
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
