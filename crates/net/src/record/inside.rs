//! Keeps the values inside congestion controls, if they are recorded: a row for each change.

use super::rows::{Keep, Room, Rows, SeriesRow};
use bentpipe_model::dictionary::{InsideSeries, Table, Values, CC_STATES};
use bentpipe_model::ids::FlowId;
use bentpipe_units::Time;
use std::fmt;

/// A value inside a congestion control, as its series has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InsideValue<'a> {
    /// A number; NaN: missing from now on.
    Number(f64),
    /// One of several numbers of the series, with its name.
    Named(&'a str, f64),
    /// The name of a state, and why the congestion control is in it.
    State(&'a str, fmt::Arguments<'a>),
}

/// A recorded series of values inside congestion controls.
#[derive(Clone, Debug)]
pub(crate) struct InsideTrack {
    series: InsideSeries,
    pub(super) rows: Rows,
    /// Names of states by their numbers, or of values by the parts of the rows.
    names: Vec<String>,
    /// Reasons of states, each once, by the labels of the rows.
    reasons: Vec<String>,
    /// Last written values by flow, one for each name.
    last: Vec<Vec<f64>>,
}

impl InsideTrack {
    /// Creates a track for each of `series`.
    pub(super) fn all(series: Vec<InsideSeries>, flows: usize) -> Vec<Self> {
        let track = |series| Self {
            series,
            rows: Rows::new(Keep::of(series.kind())),
            // States of the registry have the same numbers in all runs.
            names: match series {
                InsideSeries::State => CC_STATES.iter().map(|(name, _)| (*name).to_owned()).collect(),
                _ => Vec::new(),
            },
            reasons: Vec::new(),
            last: vec![Vec::new(); flows],
        };
        series.into_iter().map(track).collect()
    }

    pub(super) fn series(&self) -> InsideSeries {
        self.series
    }

    /// Writes a value that has changed.
    pub(super) fn write(&mut self, room: &mut Room, now: Time, flow: FlowId, value: InsideValue<'_>) {
        let (place, part, why, value) = match value {
            InsideValue::Number(value) => (0, None, None, value),
            InsideValue::Named(name, value) => {
                let index = index_of(&mut self.names, name);
                (index, Some(index as u32), None, value)
            }
            InsideValue::State(name, why) => (0, None, Some(why), index_of(&mut self.names, name) as f64),
        };
        let last = &mut self.last[flow];
        if last.len() <= place {
            // Nothing is written about a value before it is first known.
            last.resize(place + 1, f64::NAN);
        }
        let before = std::mem::replace(&mut last[place], value);
        let is_same = value == before || value.is_nan() && before.is_nan();
        if !is_same {
            let label = why.map(|why| index_of(&mut self.reasons, &why.to_string()) as u32);
            self.rows.write(room, SeriesRow { part, label, ..SeriesRow::new(now, flow.index(), value) });
        }
    }

    /// Returns the table. A series with names has them in the column `name`.
    pub(super) fn table(self, flows: &[&str]) -> Table {
        let name = |index: usize| self.names[index].clone();
        let names: Option<Vec<String>> = match self.series {
            InsideSeries::State => Some(self.rows.value.iter().map(|&number| name(number as usize)).collect()),
            InsideSeries::Values => Some(self.rows.part.iter().map(|&index| name(index as usize)).collect()),
            _ => None,
        };
        let reasons: Vec<String> = self.rows.label.iter().map(|&index| self.reasons[index as usize].clone()).collect();
        let mut table = self.rows.table("flow", self.series.name(), flows);
        if let Some(names) = names {
            table.columns.insert(2, ("name", Values::Text(names)));
        }
        if self.series == InsideSeries::State {
            table.columns.push(("why", Values::Text(reasons)));
        }
        table
    }
}

/// Returns the place of a text, which is added if it is new.
fn index_of(known: &mut Vec<String>, text: &str) -> usize {
    known.iter().position(|each| each == text).unwrap_or_else(|| {
        known.push(text.to_owned());
        known.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(series: InsideSeries) -> InsideTrack {
        InsideTrack::all(vec![series], 1).remove(0)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + bentpipe_units::Duration::from_millis(ms)
    }

    #[test]
    fn states_of_the_registry_have_numbers_and_others_follow_by_appearance() {
        let mut states = track(InsideSeries::State);
        for (ms, name) in [(0, "startup"), (1, "startup"), (2, "mine"), (3, "drain"), (4, "mine")] {
            states.write(
                &mut Room::new(100, 100),
                at(ms),
                FlowId::new(0),
                InsideValue::State(name, format_args!("{ms} ms")),
            );
        }
        let table = states.table(&["f"]);
        assert_eq!(table.text("name"), ["startup", "mine", "drain", "mine"]);
        assert_eq!(table.text("why"), ["0 ms", "2 ms", "3 ms", "4 ms"]);
        let mine = CC_STATES.len() as f64;
        assert_eq!(table.real("cc_state"), [0.0, mine, 1.0, mine]);
        assert_eq!(CC_STATES[1].0, "drain");
    }

    #[test]
    fn a_value_has_a_row_for_each_change_also_when_it_ends() {
        let mut bound = track(InsideSeries::InflightLongterm);
        for (ms, value) in [(0, f64::NAN), (1, 5.0), (2, 5.0), (3, f64::NAN), (4, f64::NAN), (5, 5.0)] {
            bound.write(&mut Room::new(100, 100), at(ms), FlowId::new(0), InsideValue::Number(value));
        }
        let table = bound.table(&["f"]);
        assert_eq!(table.real("time_s"), [0.001, 0.003, 0.005]);
        assert!(table.real("cc_inflight_longterm_bytes")[1].is_nan());
    }

    #[test]
    fn named_values_change_apart_and_cut_rows_have_no_name() {
        let (mut values, mut room) = (track(InsideSeries::Values), Room::new(3, 100));
        for (ms, name, value) in [(0, "a", 1.0), (0, "b", 1.0), (1, "a", 1.0), (1, "b", 2.0), (2, "a", 3.0)] {
            values.write(&mut room, at(ms), FlowId::new(0), InsideValue::Named(name, value));
        }
        let table = values.table(&["f"]);
        assert_eq!(
            (table.text("name"), table.real("cc_values")),
            (&["a", "b", "b"].map(str::to_owned)[..], &[1.0, 1.0, 2.0][..])
        );
    }
}
