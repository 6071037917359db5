//! Spans of time, and progress of work over them.

use super::error::SkyError;

/// Called at every instant with the finished share of the work, 0 to 1. Returning false cancels the work.
pub type GoOn<'a> = &'a mut dyn FnMut(f64) -> bool;

/// Instants from `from_s` until before `until_s`, `step_s` apart, in seconds after the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// First instant.
    pub from_s: f64,
    /// End: all instants are before it.
    pub until_s: f64,
    /// Seconds between them.
    pub step_s: f64,
}

impl Span {
    /// Returns a span of at most a hundred million instants.
    pub fn new(from_s: f64, until_s: f64, step_s: f64) -> Result<Self, SkyError> {
        SkyError::within("from_s", from_s, -1e10, 1e10)?;
        SkyError::within("until_s", until_s, from_s, 1e10)?;
        SkyError::within("step_s", step_s, ((until_s - from_s) * 1e-8).max(1e-6), 1e10)?;
        Ok(Self { from_s, until_s, step_s })
    }

    /// Returns the number of instants.
    pub fn count(&self) -> usize {
        // Rounding of a whole number of steps adds no instant.
        (((self.until_s - self.from_s) / self.step_s - 1e-9).ceil().max(0.0)) as usize
    }

    /// Reports that the work has reached `t`. Returns whether it continues.
    pub(crate) fn reach(&self, t: f64, go_on: GoOn) -> Result<(), SkyError> {
        if go_on(((t - self.from_s) / (self.until_s - self.from_s)).clamp(0.0, 1.0)) {
            return Ok(());
        }
        Err(SkyError::new("work", "it was interrupted; run it again"))
    }

    /// Returns the instants.
    pub fn times(self) -> impl Iterator<Item = f64> {
        (0..self.count()).map(move |k| self.from_s + k as f64 * self.step_s)
    }
}
