//! Instants in UTC and ages in days, for the sky.

use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_units::quantity;
use bentpipe_units::settings::{Format, Shape, Typed, Unfit, Value};

/// Instant in UTC, as a string or a TOML date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Instant(pub(crate) Epoch);

/// Format of a string that may also be a TOML date.
pub(crate) static INSTANT: Format = Format {
    name: "instant",
    expected: "an instant of UTC",
    example: "2026-06-14T12:00:00Z",
    check: |text| instant(text).map(drop),
    is_number_too: false,
};

fn instant(text: &str) -> Result<Epoch, String> {
    Epoch::parse(text).map_err(|error| match error.what.starts_with("expected UTC") {
        true => "is not an instant".to_owned(),
        false => format!("is not an instant: {}", error.what),
    })
}

impl Typed for Instant {
    fn shape() -> Shape {
        Shape::Quantity(&INSTANT)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        instant(value.text()?).map(Self).map_err(Unfit)
    }
    fn write(&self) -> Value {
        Value::Text(self.0.to_string())
    }
}

/// Time in seconds that may exceed the longest run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Age(pub(crate) u64);

static AGE: Format = Format {
    name: "age",
    expected: quantity::AGE.expected,
    example: quantity::AGE.example,
    check: |text| age(text).map(drop),
    is_number_too: false,
};

fn age(text: &str) -> Result<u64, String> {
    quantity::AGE.parse(text).map_err(|error| error.to_string())
}

impl Typed for Age {
    fn shape() -> Shape {
        Shape::Quantity(&AGE)
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        age(value.text()?).map(Self).map_err(Unfit)
    }
    fn write(&self) -> Value {
        const DAY_S: u64 = 86_400;
        Value::Text(if self.0 % DAY_S == 0 { format!("{} d", self.0 / DAY_S) } else { format!("{} s", self.0) })
    }
}
