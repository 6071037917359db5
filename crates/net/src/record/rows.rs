//! Rows of a recorded series. A full series thins itself, so that it covers the run.

use bentpipe_model::dictionary::{Kind, Table, Values};
use bentpipe_units::{Duration, Time};

/// Rows of (time, flow or link, value).
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) time: Vec<Time>,
    pub(super) entity: Vec<u32>,
    /// Number of the curve among those of its entity; empty for series with a single curve for each entity.
    pub(super) part: Vec<u32>,
    /// Number of a text beside the value; empty for series without texts.
    pub(super) label: Vec<u32>,
    pub(super) value: Vec<f64>,
    /// Least and greatest value since the row before; empty for series without them.
    pub(super) extremes: Vec<[f64; 2]>,
    pub(super) keep: Keep,
    /// Width of the columns; zero: each row is as it was written.
    pub(super) width: Duration,
    pub(super) cut: Cut,
}

/// A row that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesRow {
    pub(super) time: Time,
    pub(super) entity: usize,
    /// For series with several curves for each entity.
    pub(super) part: Option<u32>,
    /// For series with texts.
    pub(super) label: Option<u32>,
    pub(super) value: f64,
    /// For series with extremes.
    pub(super) extremes: Option<[f64; 2]>,
}

impl SeriesRow {
    pub(super) fn new(time: Time, entity: usize, value: f64) -> Self {
        Self { time, entity, part: None, label: None, value, extremes: None }
    }
}

/// Least width of a column, 2^-9 ms. Widths are powers of two times this, so a millisecond is among them.
const WIDTH_LEAST: Duration = Duration::from_ps(1_000_000_000 >> 9);

/// Rows that stay of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// A level keeps the first, least, greatest and last row.
    FourRows,
    /// A level with extremes keeps the last row. The extremes of this row become those of the column.
    LastWithExtremes,
    /// A rate keeps the last row, and the rows with the least and greatest rate with their predecessors. The rows between
    /// them become part of the next kept row, so that the integral stays.
    Means,
}

impl Keep {
    /// Rows that stay of a series of this kind.
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Level | Kind::State => Self::FourRows,
            Kind::LevelWithExtremes => Self::LastWithExtremes,
            Kind::Rate => Self::Means,
        }
    }

    /// Meaning in a note.
    fn meaning(self) -> &'static str {
        match self {
            Self::FourRows => "of each column, the first, least, greatest and last value stay",
            Self::LastWithExtremes => "of each column, the last value and the least and greatest stay",
            Self::Means => "of each column, the least and greatest rate stay, and the means of the rest",
        }
    }
}

/// Largest number of rows in all tables of a run: a few gigabytes with their data frames.
pub(super) const ROWS_MAX: u64 = 30_000_000;
/// Rows that a series may have even if other tables have taken all room: it can thin itself within them.
const ROWS_OWN: usize = 4096;

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

    /// As `take`, for a series that can thin itself.
    fn take_thinnable(&mut self, rows: usize) -> bool {
        let fits = (rows as u64) < self.of_each && (self.left > 0 || rows < ROWS_OWN);
        self.left = self.left.saturating_sub(u64::from(fits));
        fits
    }

    fn give_back(&mut self, rows: usize) {
        self.left = (self.left + rows as u64).min(self.of_all);
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
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            time: Vec::new(),
            entity: Vec::new(),
            part: Vec::new(),
            label: Vec::new(),
            value: Vec::new(),
            extremes: Vec::new(),
            keep,
            width: Duration::ZERO,
            cut: Cut::default(),
        }
    }

    /// Writes a row. A full series thins itself before.
    pub(super) fn write(&mut self, room: &mut Room, row: SeriesRow) {
        let rows = self.time.len();
        let fits = self.cut.rows == 0
            && (room.take_thinnable(rows) || (self.make_room(room, row.time) && room.take_thinnable(self.time.len())));
        if !fits {
            return self.cut.count(rows, room, row.time);
        }
        self.time.push(row.time);
        self.entity.push(row.entity as u32);
        self.part.extend(row.part);
        self.label.extend(row.label);
        self.value.push(row.value);
        self.extremes.extend(row.extremes);
    }

    /// Thins the series to at most half of its rows, in wider columns. Returns false if even a single column has most of
    /// the rows.
    #[cold]
    fn make_room(&mut self, room: &mut Room, now: Time) -> bool {
        let rows = self.time.len();
        let mut width = if self.width > Duration::ZERO { self.width * 2 } else { first_width(now, rows) };
        while self.time.len() * 2 > rows {
            self.thin(width);
            self.width = width;
            if width > now - Time::ZERO {
                break;
            }
            width = width * 2;
        }
        room.give_back(rows - self.time.len());
        self.time.len() * 4 <= rows * 3 && rows > 0
    }

    pub(super) fn table(self, entity: &'static str, series: &'static str, names: &[&str]) -> Table {
        let mut columns = vec![
            ("time_s", Values::Real(seconds(&self.time))),
            (entity, Values::Text(self.entity.iter().map(|&index| names[index as usize].to_owned()).collect())),
            (series, Values::Real(self.value)),
        ];
        if self.keep == Keep::LastWithExtremes {
            columns.push(("least", Values::Real(self.extremes.iter().map(|each| each[0]).collect())));
            columns.push(("greatest", Values::Real(self.extremes.iter().map(|each| each[1]).collect())));
        }
        Table { columns }
    }

    /// Returns the note of a series without some of its rows.
    pub(super) fn note(&self, series: &str, room: &Room) -> Option<String> {
        let thinned = (self.width > Duration::ZERO).then(|| {
            let width_s = self.width.as_secs_f64();
            format!("{series} is thinned to columns of {width_s} s: {}", self.keep.meaning())
        });
        self.cut.note(series, room).or(thinned)
    }
}

/// The width of the first columns: a power of two times the least width, so that about two rows are in a column.
fn first_width(now: Time, rows: usize) -> Duration {
    let wanted = (now - Time::ZERO).as_ps() / rows.max(1) as u64 * 2;
    let times = (wanted / WIDTH_LEAST.as_ps()).max(1).next_power_of_two();
    WIDTH_LEAST * times
}

impl Cut {
    /// Whether a further row fits. Otherwise counts it.
    pub(super) fn fits(&mut self, rows: usize, room: &mut Room, now: Time) -> bool {
        let fits = room.take(rows, room.of_each);
        if !fits {
            self.count(rows, room, now);
        }
        fits
    }

    fn count(&mut self, rows: usize, room: &Room, now: Time) {
        if self.rows == 0 {
            (self.from, self.is_of_each) = (now, rows as u64 >= room.of_each);
        }
        self.rows += 1;
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

    /// The instant at which the rows end; `None` if all are there.
    pub(super) fn end(&self) -> Option<Time> {
        (self.rows > 0).then_some(self.from)
    }
}

pub(super) fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64()).collect()
}
