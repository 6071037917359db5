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

/// Largest number of rows in all tables of a run: a few gigabytes with their data frames.
pub(super) const ROWS_MAX: u64 = 30_000_000;

/// The room for further rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Largest number of rows of one series.
    pub(super) of_each: u64,
    /// Rows that all series together may still have.
    left: u64,
    /// Rows of all series together, at most.
    pub(super) of_all: u64,
}

impl Room {
    pub(super) fn new(of_each: u64, of_all: u64) -> Self {
        Self { of_each, left: of_all, of_all }
    }

    /// Takes the room of a row beside `rows` rows of its series. Returns whether it fits.
    pub(super) fn take(&mut self, rows: usize, of_each: u64) -> bool {
        let fits = (rows as u64) < of_each && self.left > 0;
        self.left -= u64::from(fits);
        fits
    }
}

/// Rows that did not fit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut {
    pub(super) rows: u64,
    /// Time of the first of them.
    pub(super) from: Time,
    /// Whether the first of them did not fit among the rows of its series.
    is_of_each: bool,
}

impl Rows {
    /// Writes a row. Returns whether it fits.
    pub(super) fn write(&mut self, room: &mut Room, now: Time, entity: usize, value: f64) -> bool {
        let fits = self.cut.fits(self.time.len(), room, now);
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
    pub(super) fn fits(&mut self, rows: usize, room: &mut Room, now: Time) -> bool {
        let fits = room.take(rows, room.of_each);
        if !fits {
            if self.rows == 0 {
                (self.from, self.is_of_each) = (now, rows as u64 >= room.of_each);
            }
            self.rows += 1;
        }
        fits
    }

    /// Returns the note of a series without its last rows, if it has lost any.
    pub(super) fn note(&self, series: &str, room: &Room) -> Option<String> {
        let Self { rows, from, is_of_each } = self;
        let from_s = from.as_secs_f64();
        let why = if *is_of_each {
            format!("record.rows_max = {}", room.of_each)
        } else {
            format!("the {} rows of all series together", room.of_all)
        };
        (*rows > 0).then(|| format!("{series} ends at {from_s:.6} s: {rows} more rows did not fit {why}"))
    }
}

pub(super) fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64()).collect()
}
