//! Settings of congestion controls, declared where they are used: name, meaning, range, default and its source. Scenario
//! files, the schema and the reference are made from the declaration.

use crate::{Duration, Rate, Word};

/// The value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Real(f64),
    /// A whole number.
    Whole(u64),
    /// Yes or no.
    Flag(bool),
    /// A time.
    Span(Duration),
    /// A rate.
    Rate(Rate),
    /// One of a few names.
    Word(&'static str),
}

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number of this range.
    Real {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// A whole number of this range.
    Whole {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Yes or no.
    Flag,
    /// A time.
    Span,
    /// A rate.
    Rate,
    /// One of these names, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
}

/// A setting as people read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// As in scenario files.
    pub name: &'static str,
    /// One line.
    pub meaning: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is if nothing is said.
    pub default: Value,
    /// Where the default is from.
    pub origin: &'static str,
}

/// The settings of a congestion control.
pub trait Settings: Copy + Default {
    /// All of them, in the order of the declaration.
    const ALL: &'static [Setting];

    /// The value of a setting, by its place in [`ALL`](Self::ALL).
    fn get(&self, index: usize) -> Option<Value>;

    /// Sets it; false if there is none in this place, or if it cannot have the value.
    fn set(&mut self, index: usize, value: Value) -> bool;
}

/// Nothing can be set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoSettings;

impl Settings for NoSettings {
    const ALL: &'static [Setting] = &[];

    fn get(&self, _: usize) -> Option<Value> {
        None
    }

    fn set(&mut self, _: usize, _: Value) -> bool {
        false
    }
}

/// A type that a setting can have.
pub trait Typed: Copy {
    /// As a value.
    fn value(self) -> Value;
    /// From a value.
    fn typed(value: Value) -> Option<Self>;
}

macro_rules! typed {
    ($($type:ty => $variant:ident;)+) => {$(
        impl Typed for $type {
            fn value(self) -> Value {
                Value::$variant(self)
            }
            fn typed(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+};
}

typed! {
    f64 => Real;
    u64 => Whole;
    bool => Flag;
    Duration => Span;
    Rate => Rate;
}

/// Of a setting that is one of a few words.
pub fn word<T: Word>(value: Value) -> Option<T> {
    match value {
        Value::Word(name) => T::ALL.iter().find(|word| word.name() == name).copied(),
        _ => None,
    }
}

/// Declares the settings of a congestion control: a struct with public fields, its defaults, and its description.
///
/// A field is `name: TYPE = DEFAULT, [LEAST, GREATEST], "source";` with a type of `f64`, `u64` (only these have a range), `bool`,
/// [`Duration`], [`Rate`], or `enum` and the [`words!`](crate::words) that it takes.
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $($kind:ident)+ = $default:expr, $([$min:expr, $max:expr],)? $origin:literal;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $crate::settings!(@type $($kind)+),)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::settings::Settings for $name {
            const ALL: &'static [$crate::settings::Setting] = &[$(
                $crate::settings::Setting {
                    name: stringify!($field),
                    meaning: concat!($($doc),+).trim_ascii(),
                    kind: $crate::settings!(@kind $($kind)+ $(, $min, $max)?),
                    default: $crate::settings!(@value $($kind)+, $default),
                    origin: $origin,
                },
            )+];

            fn get(&self, index: usize) -> Option<$crate::settings::Value> {
                let values = [$($crate::settings!(@read $($kind)+, self.$field),)+];
                values.get(index).copied()
            }

            fn set(&mut self, index: usize, value: $crate::settings::Value) -> bool {
                let mut place = 0..;
                $(
                    if place.next() == Some(index) {
                        let Some(value) = $crate::settings!(@write $($kind)+, value) else { return false };
                        self.$field = value;
                        return true;
                    }
                )+
                false
            }
        }
    };
    (@type enum $type:ident) => { $type };
    (@type $type:ident) => { $type };
    (@kind f64, $min:expr, $max:expr) => { $crate::settings::Kind::Real { min: $min, max: $max } };
    (@kind u64, $min:expr, $max:expr) => { $crate::settings::Kind::Whole { min: $min, max: $max } };
    (@kind bool) => { $crate::settings::Kind::Flag };
    (@kind Duration) => { $crate::settings::Kind::Span };
    (@kind Rate) => { $crate::settings::Kind::Rate };
    (@kind enum $type:ident) => { $crate::settings::Kind::Word($type::NAMES) };
    (@value f64, $default:expr) => { $crate::settings::Value::Real($default) };
    (@value u64, $default:expr) => { $crate::settings::Value::Whole($default) };
    (@value bool, $default:expr) => { $crate::settings::Value::Flag($default) };
    (@value Duration, $default:expr) => { $crate::settings::Value::Span($default) };
    (@value Rate, $default:expr) => { $crate::settings::Value::Rate($default) };
    (@value enum $type:ident, $default:expr) => { $crate::settings::Value::Word($default.as_str()) };
    (@read enum $type:ident, $value:expr) => { $crate::settings::Value::Word($value.as_str()) };
    (@read $type:ident, $value:expr) => { $crate::settings::Typed::value($value) };
    (@write enum $type:ident, $value:expr) => { $crate::settings::word::<$type>($value) };
    (@write $type:ident, $value:expr) => { <$type as $crate::settings::Typed>::typed($value) };
}
