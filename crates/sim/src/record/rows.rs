//! Rows of a recorded series, up to a limit.

use crate::dictionary::{Table, Values};
use bentpipe_units::Time;

/// Rows of (time, flow or link, value).
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    time: Vec<Time>,
    entity: Vec<u32>,
    value: Vec<f64>,
    pub(super) cut: Cut,
}

/// Rows that did not fit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut {
    pub(super) rows: u64,
    /// Time of the first of them.
    pub(super) from: Time,
}

impl Rows {
    /// Writes a row. Returns whether it fits.
    pub(super) fn write(&mut self, rows_max: u64, now: Time, entity: usize, value: f64) -> bool {
        let fits = self.cut.fits(self.time.len(), rows_max, now);
        if fits {
            self.time.push(now);
            self.entity.push(entity as u32);
            self.value.push(value);
        }
        fits
    }

    pub(super) fn table(self, entity: &'static str, series: &'static str, names: &[&str]) -> Table {
        let columns = vec![
            ("time_s", Values::Real(seconds(&self.time))),
            (entity, Values::Text(self.entity.iter().map(|&index| names[index as usize].to_owned()).collect())),
            (series, Values::Real(self.value)),
        ];
        Table { columns }
    }
}

impl Cut {
    /// Whether a further row fits. Otherwise counts it.
    pub(super) fn fits(&mut self, rows: usize, rows_max: u64, now: Time) -> bool {
        let fits = (rows as u64) < rows_max;
        if !fits {
            self.from = if self.rows == 0 { now } else { self.from };
            self.rows += 1;
        }
        fits
    }
}

pub(super) fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64()).collect()
}
