//! Thins a series to columns of time. Columns are multiples of a width from the start of the run, and a wider column is
//! made of whole narrower ones. So thinning twice gives the same rows as thinning once to the wider columns.

use super::rows::{Keep, Rows};
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;

/// Rows of a column of one curve, by their places.
#[derive(Clone, Copy)]
struct Column {
    number: u64,
    first: usize,
    least: usize,
    greatest: usize,
    last: usize,
    /// Rows of the same curve before the least and the greatest one.
    before: [Option<usize>; 2],
}

/// Rows of one curve since the last row that stayed.
#[derive(Clone, Copy)]
struct Rest {
    /// Instant of the last row.
    since: Time,
    length: Duration,
    sum: f64,
    extremes: [f64; 2],
}

impl Rows {
    /// Thins the series to columns of `width`.
    pub(super) fn thin(&mut self, width: Duration) {
        let keep = self.keep;
        let stays = self.choose(keep, width);
        let mut rests: BTreeMap<(u32, u32), Rest> = BTreeMap::new();
        let mut kept = 0;
        for (row, stays) in stays.into_iter().enumerate() {
            let (time, value) = (self.time[row], self.value[row]);
            let rest = rests.entry(self.curve(row)).or_insert(Rest::since(Time::ZERO));
            let lasted = time.saturating_since(rest.since);
            rest.since = time;
            rest.length += lasted;
            rest.sum += value * lasted.as_secs_f64();
            if let Some(&[least, greatest]) = self.extremes.get(row) {
                rest.extremes = [rest.extremes[0].min(least), rest.extremes[1].max(greatest)];
            }
            if !stays {
                continue;
            }
            let is_mean = keep == Keep::Means && rest.length > lasted;
            self.value[kept] = if is_mean { rest.sum / rest.length.as_secs_f64() } else { value };
            (self.time[kept], self.entity[kept]) = (time, self.entity[row]);
            if let Some(&part) = self.part.get(row) {
                self.part[kept] = part;
            }
            if let Some(&label) = self.label.get(row) {
                self.label[kept] = label;
            }
            if let Some(extremes) = self.extremes.get_mut(kept) {
                *extremes = rest.extremes;
            }
            *rest = Rest::since(time);
            kept += 1;
        }
        self.time.truncate(kept);
        self.entity.truncate(kept);
        self.part.truncate(kept);
        self.label.truncate(kept);
        self.value.truncate(kept);
        self.extremes.truncate(kept);
    }

    /// Joins the last row of each rate, at `end`, with the row before it. Only called at the end of a run.
    pub(super) fn join_last(&mut self, end: Time) {
        if self.keep != Keep::Means {
            return;
        }
        let mut last: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut first_new = self.time.len();
        while first_new > 0 && self.time[first_new - 1] == end {
            first_new -= 1;
            last.insert(self.entity[first_new], vec![first_new]);
        }
        let mut open = last.len();
        for row in (0..first_new).rev() {
            if open == 0 {
                break;
            }
            if let Some(rows) = last.get_mut(&self.entity[row]).filter(|rows| rows.len() < 3) {
                rows.push(row);
                open -= usize::from(rows.len() == 3);
            }
        }
        for rows in last.into_values().filter(|rows| rows.len() > 1) {
            let since = rows.get(2).map_or(Time::ZERO, |&row| self.time[row]);
            let (new, old) = (rows[0], rows[1]);
            let [whole, part] = [since, self.time[old]].map(|from| end.saturating_since(from).as_secs_f64());
            self.value[old] = (self.value[old] * (whole - part) + self.value[new] * part) / whole;
            self.time[old] = end;
            self.time[new] = Time::NEVER;
        }
        let kept = (0..self.time.len()).filter(|&row| self.time[row] != Time::NEVER).collect::<Vec<_>>();
        for (place, &row) in kept.iter().enumerate() {
            (self.time[place], self.entity[place], self.value[place]) =
                (self.time[row], self.entity[row], self.value[row]);
        }
        self.time.truncate(kept.len());
        self.entity.truncate(kept.len());
        self.value.truncate(kept.len());
    }

    /// Returns which rows stay.
    fn choose(&self, keep: Keep, width: Duration) -> Vec<bool> {
        let mut stays = vec![false; self.time.len()];
        let mut open: BTreeMap<(u32, u32), Column> = BTreeMap::new();
        for row in 0..self.time.len() {
            // A sample covers the time before it, so a column has the sample at its end.
            let time_ps = self.time[row].as_ps();
            let ps = if keep == Keep::FourRows { time_ps } else { time_ps.saturating_sub(1) };
            let number = ps / width.as_ps();
            let before = open.get(&self.curve(row)).map(|column| column.last);
            let new = Column { number, first: row, least: row, greatest: row, last: row, before: [before; 2] };
            let column = open.entry(self.curve(row)).or_insert(new);
            if column.number != number {
                column.mark(keep, &mut stays);
                *column = new;
                continue;
            }
            let value = self.value[row];
            column.last = row;
            // NaN, a missing value, is neither less nor greater.
            if value < self.value[column.least] || self.value[column.least].is_nan() {
                (column.least, column.before[0]) = (row, before);
            }
            if value > self.value[column.greatest] || self.value[column.greatest].is_nan() {
                (column.greatest, column.before[1]) = (row, before);
            }
        }
        open.values().for_each(|column| column.mark(keep, &mut stays));
        stays
    }

    /// The curve of a row: its entity, and its part in series with several for each.
    fn curve(&self, row: usize) -> (u32, u32) {
        (self.entity[row], self.part.get(row).copied().unwrap_or(0))
    }
}

impl Column {
    fn mark(&self, keep: Keep, stays: &mut [bool]) {
        let rows = [Some(self.first), Some(self.least), Some(self.greatest), self.before[0], self.before[1]];
        let chosen = match keep {
            Keep::FourRows => &rows[..3],
            Keep::LastWithExtremes => &[],
            Keep::Means => &rows[1..],
        };
        chosen.iter().flatten().chain([&self.last]).for_each(|&row| stays[row] = true);
    }
}

impl Rest {
    fn since(since: Time) -> Self {
        Self { since, length: Duration::ZERO, sum: 0.0, extremes: [f64::INFINITY, f64::NEG_INFINITY] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Room, SeriesRow};
    use super::*;
    use bentpipe_units::Stream;

    /// A row with its least and greatest value.
    type Kept = (u64, u32, f64, [f64; 2]);

    fn at(row: usize) -> Time {
        Time::ZERO + Duration::from_millis(row as u64 + 1)
    }

    /// Rows of two curves that change at random, in a series with room for `room` rows.
    fn written(keep: Keep, count: usize, room: u64) -> Rows {
        let mut draws = Stream::new(7, "thinning", "value");
        let (mut rows, mut room) = (Rows::new(keep), Room::new(room, 1_000_000));
        for row in 0..count {
            let value = draws.below(row as u64, 1000) as f64;
            let extremes = (keep == Keep::LastWithExtremes).then_some([value - 1.0, value + 1.0]);
            rows.write(&mut room, SeriesRow { extremes, ..SeriesRow::new(at(row), row % 2, value) });
        }
        rows
    }

    fn of(rows: &Rows, entity: u32) -> Vec<Kept> {
        let places = (0..rows.time.len()).filter(|&row| rows.entity[row] == entity);
        let extremes = |row: usize| rows.extremes.get(row).copied().unwrap_or([rows.value[row]; 2]);
        places.map(|row| (rows.time[row].as_ps(), entity, rows.value[row], extremes(row))).collect()
    }

    fn extremes(rows: &[Kept]) -> (f64, f64) {
        (
            rows.iter().map(|row| row.3[0]).fold(f64::INFINITY, f64::min),
            rows.iter().map(|row| row.3[1]).fold(0.0, f64::max),
        )
    }

    #[test]
    fn a_full_series_covers_the_run_with_its_first_least_greatest_and_last_value() {
        for keep in [Keep::FourRows, Keep::LastWithExtremes, Keep::Means] {
            let (all, thinned) = (written(keep, 100_000, u64::MAX), written(keep, 100_000, 1000));
            assert_eq!((all.time.len(), all.width), (100_000, Duration::ZERO));
            assert!((200..=1000).contains(&thinned.time.len()), "{keep:?}: {}", thinned.time.len());
            assert!(thinned.width > Duration::ZERO && thinned.cut.rows == 0);
            for entity in [0, 1] {
                let (all, thinned) = (of(&all, entity), of(&thinned, entity));
                assert_eq!(extremes(&thinned), extremes(&all), "{keep:?}");
                assert_eq!(thinned.last(), all.last());
                if keep == Keep::FourRows {
                    assert_eq!(thinned.first(), all.first());
                }
            }
        }
    }

    #[test]
    fn each_column_keeps_its_extremes_and_the_integral_of_a_rate() {
        for keep in [Keep::FourRows, Keep::LastWithExtremes, Keep::Means] {
            let all = written(keep, 10_000, u64::MAX);
            let mut thinned = all.clone();
            let width = Duration::from_millis(64);
            thinned.thin(width);
            let column = |row: &Kept| (row.0 - u64::from(keep != Keep::FourRows)) / width.as_ps();
            for entity in [0, 1] {
                let (all, thinned) = (of(&all, entity), of(&thinned, entity));
                for number in 0..=column(all.last().unwrap()) {
                    let there =
                        |rows: &[Kept]| rows.iter().copied().filter(|row| column(row) == number).collect::<Vec<_>>();
                    assert_eq!(extremes(&there(&thinned)), extremes(&there(&all)), "{keep:?}, column {number}");
                }
                let integral = |rows: &[Kept]| {
                    rows.iter().fold((0, 0.0), |(since, sum), row| (row.0, sum + row.2 * (row.0 - since) as f64)).1
                };
                if keep == Keep::Means {
                    assert!((integral(&thinned) / integral(&all) - 1.0).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn two_thinnings_are_one_to_the_wider_columns() {
        for keep in [Keep::FourRows, Keep::LastWithExtremes, Keep::Means] {
            let (mut once, mut twice) = (written(keep, 10_000, u64::MAX), written(keep, 10_000, u64::MAX));
            once.thin(Duration::from_millis(64));
            twice.thin(Duration::from_millis(16));
            twice.thin(Duration::from_millis(64));
            let near =
                |one: &Kept, other: &Kept| (one.0, one.1, one.3) == (other.0, other.1, other.3) || keep == Keep::Means;
            for entity in [0, 1] {
                let (once, twice) = (of(&once, entity), of(&twice, entity));
                assert_eq!(once.len(), twice.len());
                for (one, other) in once.iter().zip(&twice) {
                    assert!(
                        near(one, other) && (one.2 - other.2).abs() < 1e-9 && one.0 == other.0,
                        "{keep:?}: {one:?} {other:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_series_without_room_for_a_row_of_each_curve_ends_and_counts_the_rest() {
        let rows = written(Keep::FourRows, 100, 2);
        assert_eq!((rows.time.len(), rows.cut.rows, rows.cut.end()), (2, 98, Some(at(2))));
    }

    #[test]
    fn the_short_rest_of_a_run_is_part_of_the_last_row_of_a_rate() {
        let (mut rows, mut room) = (Rows::new(Keep::Means), Room::new(100, 100));
        for (ms, value) in [(10, 5.0), (20, 8.0), (22, 2.0)] {
            for entity in [0, 1] {
                rows.write(&mut room, SeriesRow::new(at(ms - 1), entity, value));
            }
        }
        rows.join_last(at(21));
        assert_eq!(rows.value, [5.0, 5.0, 7.0, 7.0]);
        assert_eq!(rows.time[2..], [at(21), at(21)]);
    }
}
