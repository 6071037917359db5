//! Errors of a sky's inputs.

use std::fmt;

/// Error, with its place and the expected value.
#[derive(Clone, Debug, PartialEq)]
pub struct SkyError {
    /// Invalid field, argument or record: `altitude_km`, `line 7`.
    pub at: String,
    /// Fault, and the expected value.
    pub what: String,
}

impl SkyError {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }

    /// Returns `value` if it is within `low..=high`, which excludes NaN.
    pub(crate) fn within(at: &str, value: f64, low: f64, high: f64) -> Result<f64, Self> {
        if value >= low && value <= high {
            Ok(value)
        } else {
            Err(Self::new(at, format!("{value} is out of range; expected {low} to {high}")))
        }
    }
}

impl fmt::Display for SkyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl std::error::Error for SkyError {}
