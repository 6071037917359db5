//! Types of keys, and ways to write them.

use super::{Absent, Fields, Format, Key, Settings, Shape, Table, Title, Typed, Unfit, Value, Written};
use crate::quantity::{self, Kind, QuantityError, Why};
use crate::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// Way of the type itself.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl<T: Typed> Written<T> for Plain {
    fn shape() -> Shape {
        T::shape()
    }
    fn read(value: &Value) -> Result<T, Unfit> {
        T::read(value)
    }
    fn write(value: &T) -> Value {
        value.write()
    }
    fn absent() -> Option<T> {
        T::absent()
    }
    fn put(value: &T, name: &str, table: &mut Fields) {
        if let Some(value) = value.write_if_any() {
            table.put(name, value);
        }
    }
}

/// Keys of a table among those of another. If they override those of a first, a key that is left out has the value of
/// the first, so no key has a default, and its meaning ends before `Default:`. Reading needs the values of the first.
#[derive(Clone, Copy, Debug)]
pub struct Among<const IS_OVERRIDE: bool>;

/// Keys of a table among those of another.
pub type Include = Among<false>;

/// Keys of a table among those of another whose values override those of a first.
pub type Overrides = Among<true>;

impl<T: Settings, const IS_OVERRIDE: bool> Written<T> for Among<IS_OVERRIDE> {
    fn keys(_: Key) -> Vec<Key> {
        let meaning = |key: &Key| key.meaning.split(" Default: ").next().unwrap_or(key.meaning);
        let open = |key: Key| Key { meaning: meaning(&key), default: Absent::Open, origin: "", ..key };
        let keys = T::keys().into_iter();
        if IS_OVERRIDE {
            keys.map(open).collect()
        } else {
            keys.collect()
        }
    }
    fn shape() -> Shape {
        T::shape()
    }
    fn read(value: &Value) -> Result<T, Unfit> {
        <T as Typed>::read(value)
    }
    fn write(value: &T) -> Value {
        Typed::write(value)
    }
    fn take(table: &Fields, _: &str, _: Option<fn() -> T>) -> Result<T, Unfit> {
        <T as Settings>::read(table)
    }
    fn put(value: &T, _: &str, table: &mut Fields) {
        Settings::write(value, table);
    }
}

/// A key without a fixed default: other keys determine its value.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl<T: Typed> Written<T> for Open {
    fn shape() -> Shape {
        T::shape()
    }
    fn read(value: &Value) -> Result<T, Unfit> {
        T::read(value)
    }
    fn write(value: &T) -> Value {
        value.write()
    }
    fn is_open() -> bool {
        true
    }
}

/// Settings of an [`OnOff`].
pub trait Switch: Settings {
    /// Meaning of off, in one line.
    const OFF: &'static str;
}

/// Optional settings: the kinds `on` and `off`.
#[derive(Clone, Copy, Debug)]
pub struct OnOff;

impl<T: Switch> Written<Option<T>> for OnOff {
    fn shape() -> Shape {
        let off = Table { name: "off", about: T::OFF, keys: Some(Vec::new()) };
        let title = Title { name: T::NAME, noun: "on or off" };
        Shape::Kinds(title, vec![off, Table { name: "on", ..T::table() }])
    }
    fn read(value: &Value) -> Result<Option<T>, Unfit> {
        let table = value.table()?;
        match table.kind()? {
            "off" => Ok(None),
            _ => <T as Settings>::read(table).map(Some),
        }
    }
    fn write(value: &Option<T>) -> Value {
        let mut table = Fields::of_kind(if value.is_some() { "on" } else { "off" });
        if let Some(value) = value {
            Settings::write(value, &mut table);
        }
        Value::Table(table)
    }
}

impl Typed for bool {
    fn shape() -> Shape {
        Shape::Flag
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::Flag(is) => Ok(*is),
            other => Err(other.unfit("true or false")),
        }
    }
    fn write(&self) -> Value {
        Value::Flag(*self)
    }
}

impl Typed for f64 {
    fn shape() -> Shape {
        Shape::Real { min: Self::MIN, max: Self::MAX }
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::Real(x) => Ok(*x),
            Value::Whole(n) => Ok(*n as Self),
            other => Err(other.unfit("a number")),
        }
    }
    fn write(&self) -> Value {
        Value::Real(*self)
    }
}

macro_rules! whole {
    ($($type:ty, $max:expr;)+) => {$(
        impl Typed for $type {
            fn shape() -> Shape {
                Shape::Whole { min: 0, max: $max }
            }
            fn read(value: &Value) -> Result<Self, Unfit> {
                match value {
                    Value::Whole(n) => Self::try_from(*n).map_err(|_| value.unfit("in range")),
                    other => Err(other.unfit("a whole number")),
                }
            }
            fn write(&self) -> Value {
                Value::Whole((*self).into())
            }
        }
    )+};
}

whole! {
    u8, Some(255);
    u32, None;
    u64, None;
}

impl Typed for String {
    fn shape() -> Shape {
        Shape::Text
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        value.text().map(str::to_owned)
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: Typed> Typed for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        T::read(value).map(Some)
    }
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::List(Vec::new()), T::write)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn write_if_any(&self) -> Option<Value> {
        self.as_ref().map(T::write)
    }
}

impl<T: Typed> Typed for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()), 0, None)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::List(list) => list.iter().map(T::read).collect(),
            other => Err(other.unfit("a list")),
        }
    }
    fn write(&self) -> Value {
        Value::List(self.iter().map(T::write).collect())
    }
}

impl<A: Typed, B: Typed> Typed for (A, B) {
    fn shape() -> Shape {
        Shape::Pair(Box::new([A::shape(), B::shape()]))
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::List(list) if list.len() == 2 => Ok((A::read(&list[0])?, B::read(&list[1])?)),
            other => Err(other.unfit("a pair")),
        }
    }
    fn write(&self) -> Value {
        Value::List(vec![self.0.write(), self.1.write()])
    }
}

impl<T: Typed> Typed for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Named(Box::new(T::shape()))
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        value.table()?.0.iter().map(|(name, value)| Ok((name.clone(), T::read(value)?))).collect()
    }
    fn write(&self) -> Value {
        Value::Table(Fields(self.iter().map(|(name, value)| (name.clone(), value.write())).collect()))
    }
}

const fn format(name: &'static str, kind: &'static Kind, check: fn(&str) -> Result<(), String>) -> Format {
    Format { name, expected: kind.expected, example: kind.example, check, is_number_too: false }
}

fn said<T>(read: Result<T, QuantityError>) -> Result<T, String> {
    read.map_err(|error| error.to_string())
}

static DURATION: Format = format("duration", &quantity::DURATION, |text| said(quantity::duration(text)).map(drop));
static RATE: Format = format("rate", &quantity::RATE, |text| said(quantity::rate(text)).map(drop));
static SIZE: Format = format("size", &quantity::SIZE, |text| said(quantity::size(text)).map(drop));
static DISTANCE: Format =
    format("distance", &quantity::DISTANCE, |text| said(quantity::DISTANCE.parse(text)).map(drop));
static ANGLE: Format = format("angle", &quantity::ANGLE, |text| said(quantity::ANGLE.parse(text)).map(drop));
static BAUD: Format = format("symbol rate", &quantity::BAUD, |text| baud(text).map(drop));
static PROBABILITY: Format = Format {
    is_number_too: true,
    ..format("probability", &quantity::PROBABILITY, |text| said(quantity::probability(text)).map(drop))
};
static SHARE: Format = Format {
    name: "share",
    expected: "a percentage",
    example: "60 %",
    check: |text| share(text).map(drop),
    is_number_too: false,
};

static LEVEL: Format = Format {
    name: "level",
    expected: "a number with dB",
    example: "8 dB",
    check: |text| level(text).map(drop),
    is_number_too: false,
};

/// Reads symbols per second. A bit rate is a frequent mistake, and its message has the same number of symbols.
fn baud(text: &str) -> Result<u64, String> {
    said(quantity::BAUD.parse(text)).map_err(|error| match quantity::rate(text) {
        Ok(rate) => {
            let symbols = rate.to_string().replace("bit/s", "baud");
            format!("is not a symbol rate, but counts bits: {symbols} is the symbol rate with this number")
        }
        Err(_) => error,
    })
}

fn level(text: &str) -> Result<f64, String> {
    match quantity::any(text) {
        Some((level, unit)) if unit == "dB" => Ok(level),
        _ => Err("is not a level: expected a number with dB, such as \"8 dB\" or \"-2.35 dB\"".into()),
    }
}

impl Typed for Duration {
    fn shape() -> Shape {
        Shape::Quantity(&DURATION)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        said(quantity::duration(value.text()?)).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// Time since the start of the run.
impl Typed for Time {
    fn shape() -> Shape {
        Duration::shape()
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        Duration::read(value).map(|since| Self::ZERO + since)
    }
    fn write(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl Typed for Rate {
    fn shape() -> Shape {
        Shape::Quantity(&RATE)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        said(quantity::rate(value.text()?)).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// A number of bytes with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Typed for Bytes {
    fn shape() -> Shape {
        Shape::Quantity(&SIZE)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        said(quantity::size(value.text()?)).map(Self).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(format!("{} B", self.0))
    }
}

macro_rules! bytes {
    ($($type:ty)+) => {$(
        /// Saturates at the largest number. The range of the key is in its meaning.
        impl Written<$type> for Bytes {
            fn shape() -> Shape {
                <Self as Typed>::shape()
            }
            fn read(value: &Value) -> Result<$type, Unfit> {
                <Self as Typed>::read(value).map(|bytes| <$type>::try_from(bytes.0).unwrap_or(<$type>::MAX))
            }
            fn write(value: &$type) -> Value {
                Typed::write(&Self((*value).into()))
            }
        }
    )+};
}

bytes! { u16 u32 u64 }

/// A probability: from 0 to 1, or in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance(pub f64);

impl Typed for Chance {
    fn shape() -> Shape {
        Shape::Quantity(&PROBABILITY)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::Text(text) => said(quantity::probability(text)).map(Self).map_err(Unfit),
            number => f64::read(number).map(Self),
        }
    }
    fn write(&self) -> Value {
        Value::Real(self.0)
    }
}

impl Written<f64> for Chance {
    fn shape() -> Shape {
        <Self as Typed>::shape()
    }
    fn read(value: &Value) -> Result<f64, Unfit> {
        <Self as Typed>::read(value).map(|chance| chance.0)
    }
    fn write(value: &f64) -> Value {
        Value::Real(*value)
    }
}

/// A number that is kept as a whole number of thousandths.
#[derive(Clone, Copy, Debug)]
pub struct Thousandths;

impl Written<u32> for Thousandths {
    fn shape() -> Shape {
        f64::shape()
    }
    fn read(value: &Value) -> Result<u32, Unfit> {
        f64::read(value).map(|number| (number * 1000.0).round() as u32)
    }
    fn write(value: &u32) -> Value {
        Value::Real(f64::from(*value) / 1000.0)
    }
}

/// An optional key, written in the way `W`.
#[derive(Clone, Copy, Debug)]
pub struct Maybe<W>(std::marker::PhantomData<W>);

impl<T, W: Written<T>> Written<Option<T>> for Maybe<W> {
    fn shape() -> Shape {
        W::shape()
    }
    fn read(value: &Value) -> Result<Option<T>, Unfit> {
        W::read(value).map(Some)
    }
    fn write(value: &Option<T>) -> Value {
        value.as_ref().map_or(Value::List(Vec::new()), W::write)
    }
    fn absent() -> Option<Option<T>> {
        Some(None)
    }
    fn put(value: &Option<T>, name: &str, table: &mut Fields) {
        if let Some(value) = value {
            table.put(name, W::write(value));
        }
    }
}

/// Share of a whole in [`Share::WHOLE`] parts, written in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub u64);

impl Share {
    /// Parts of a whole.
    pub const WHOLE: u64 = 100_000_000;
}

fn share(text: &str) -> Result<u64, String> {
    quantity::count(text, &[("%", Share::WHOLE / 100)]).map_err(|why| match why {
        Why::NoUnit => format!("is not a percentage: the unit is missing, as in {} %", text.trim()),
        _ => "is not a percentage".into(),
    })
}

impl Typed for Share {
    fn shape() -> Shape {
        Shape::Quantity(&SHARE)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        share(value.text()?).map(Self).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(super::write_amount(super::Form::Count("%", Self::WHOLE / 100), self.0))
    }
}

macro_rules! measures {
    ($($(#[doc = $doc:literal])+ $name:ident($format:ident, $kind:ident, $parts:literal, $unit:literal);)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(pub f64);

        impl Typed for $name {
            fn shape() -> Shape {
                Shape::Quantity(&$format)
            }
            fn read(value: &Value) -> Result<Self, Unfit> {
                let count = said(quantity::$kind.parse(value.text()?)).map_err(Unfit)?;
                Ok(Self(count as f64 / $parts))
            }
            fn write(&self) -> Value {
                Value::Text(format!(concat!("{} ", $unit), self.0))
            }
        }
    )+};
}

measures! {
    /// A length in metres.
    Distance(DISTANCE, DISTANCE, 1e3, "m");
    /// An angle in degrees.
    Angle(ANGLE, ANGLE, 1e6, "deg");
    /// Symbols per second.
    Baud(BAUD, BAUD, 1.0, "baud");
}

/// A ratio in decibels, of either sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level(pub f64);

impl Typed for Level {
    fn shape() -> Shape {
        Shape::Quantity(&LEVEL)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        level(value.text()?).map(Self).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(format!("{} dB", self.0))
    }
}

impl Key {
    /// Whether it may be left out.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.default == Absent::Required
    }
}
