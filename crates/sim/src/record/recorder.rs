//! Time series and events, kept only where asked for. Recording never changes the trajectory.

use super::transfers::{Transfer, TransferRows};
use super::Names;
use crate::dictionary::{EventKind, FlowSeries, LinkSeries, SenderSeries, Table, Values};
use crate::ids::FlowId;
use crate::spec::Record;
use bentpipe_units::{Duration, Time};

/// Keeps the time series, the events and the transfers of a run. It knows the dictionary and none of the components: they
/// are asked for the value of a series, by its name in an enum.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    interval: Duration,
    next_sample: Time,
    room: Room,
    /// The last value written, by flow.
    senders: Vec<Track<SenderSeries, f64>>,
    /// The bytes counted at the last sample, by flow and by link.
    flows: Vec<Track<FlowSeries, u64>>,
    links: Vec<Track<LinkSeries, u64>>,
    pub(crate) wants_flow_series: bool,
    pub(crate) wants_events: bool,
    wants_samples: bool,
    events: Events,
    transfers: TransferRows,
}

/// What a series is at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    /// Written as it is.
    Value(f64),
    /// Bytes counted so far; their rate in the last interval is written.
    Bytes(u64),
}

/// What is left of the run for the tables.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) series: Vec<(String, Table)>,
    pub(crate) events: Table,
    pub(crate) transfers: Table,
    pub(crate) notes: Vec<String>,
}

/// A series that was asked for.
#[derive(Clone, Debug)]
struct Track<S, L> {
    series: S,
    rows: Rows,
    /// By flow or link.
    last: Vec<L>,
}

#[derive(Clone, Debug, Default)]
struct Rows {
    time: Vec<Time>,
    entity: Vec<u32>,
    value: Vec<f64>,
}

/// Rows of series and events that may still be kept.
#[derive(Clone, Copy, Debug)]
struct Room {
    max: u64,
    left: u64,
    lost: u64,
}

#[derive(Clone, Debug, Default)]
struct Events {
    time: Vec<Time>,
    flow: Vec<FlowId>,
    event: Vec<EventKind>,
    value: Vec<u64>,
}

impl Recorder {
    pub(crate) fn new(record: &Record, flows: usize, links: usize) -> Self {
        let senders = Track::all(SenderSeries::asked_for(&record.series), flows, f64::NAN);
        let flows = Track::all(FlowSeries::asked_for(&record.series), flows, 0);
        let links = Track::all(LinkSeries::asked_for(&record.series), links, 0);
        Self {
            interval: record.interval,
            next_sample: Time::ZERO + record.interval,
            room: Room { max: record.rows_max, left: record.rows_max, lost: 0 },
            wants_flow_series: !senders.is_empty(),
            wants_samples: !(flows.is_empty() && links.is_empty()) && record.interval > Duration::ZERO,
            wants_events: record.series.iter().any(|name| name == "events"),
            senders,
            flows,
            links,
            events: Events::default(),
            transfers: TransferRows::new(record.transfers_max),
        }
    }

    /// When the next sample is due.
    pub(crate) fn next_wakeup(&self) -> Time {
        if self.wants_samples {
            self.next_sample
        } else {
            Time::NEVER
        }
    }

    /// A sender has acted: write what has changed. `value` gives that of a series at the sender; none: there is none yet.
    pub(crate) fn on_sender(&mut self, now: Time, flow: FlowId, value: impl Fn(SenderSeries) -> Option<f64>) {
        for track in &mut self.senders {
            if let Some(value) = value(track.series).filter(|&value| value != track.last[flow]) {
                track.last[flow] = value;
                track.rows.write(&mut self.room, now, flow.index(), value);
            }
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, flow: FlowId, event: EventKind, value: u64) {
        if self.room.take() {
            self.events.time.push(now);
            self.events.flow.push(flow);
            self.events.event.push(event);
            self.events.value.push(value);
        }
    }

    /// A transfer is complete.
    pub(crate) fn on_transfer(&mut self, now: Time, flow: FlowId, transfer: &Transfer) {
        self.transfers.add(flow, transfer);
        if self.wants_events {
            self.on_event(now, flow, EventKind::Transfer, transfer.size);
        }
    }

    /// An interval is over. `flows` and `links` give a series for each of them in order; the links are at `now`.
    pub(crate) fn on_sample<F, L>(
        &mut self,
        now: Time,
        flows: impl Fn(FlowSeries) -> F,
        links: impl Fn(LinkSeries) -> L,
    ) where
        F: IntoIterator<Item = Sample>,
        L: IntoIterator<Item = Sample>,
    {
        self.next_sample = now + self.interval;
        for track in &mut self.flows {
            track.sample(&mut self.room, now, self.interval, flows(track.series));
        }
        for track in &mut self.links {
            track.sample(&mut self.room, now, self.interval, links(track.series));
        }
    }

    /// The tables: each series asked for, the events and the transfers.
    pub(crate) fn finish(self, names: &Names<'_>) -> Recorded {
        let senders = self.senders.into_iter().map(|track| track.rows.table("flow", track.series.name(), &names.flows));
        let flows = self.flows.into_iter().map(|track| track.rows.table("flow", track.series.name(), &names.flows));
        let links = self.links.into_iter().map(|track| track.rows.table("link", track.series.name(), &names.links));
        let series = senders.chain(flows).chain(links).collect();
        let Events { time, flow, event, value } = self.events;
        let events = Table {
            columns: vec![
                ("time_s", Values::Real(seconds(&time))),
                ("flow", Values::Text(flow.iter().map(|&flow| names.flows[flow].to_owned()).collect())),
                ("event", Values::Text(event.iter().map(|&event| event.name().to_owned()).collect())),
                ("value", Values::Whole(value.iter().map(|&value| value as i64).collect())),
            ],
        };
        let mut notes = Vec::new();
        if self.room.lost > 0 {
            notes.push(format!(
                "{} rows of series and events did not fit record.rows_max = {} and were not kept",
                self.room.lost, self.room.max
            ));
        }
        if self.transfers.lost > 0 {
            notes.push(format!(
                "{} transfers did not fit record.transfers_max = {} and were not kept one by one",
                self.transfers.lost, self.transfers.max
            ));
        }
        Recorded { series, events, transfers: self.transfers.table(&names.flows), notes }
    }
}

impl<S: Copy, L: Copy> Track<S, L> {
    /// One for each of `series`, of `entities` flows or links that start at `first`.
    fn all(series: Vec<S>, entities: usize, first: L) -> Vec<Self> {
        let track = |series| Self { series, rows: Rows::default(), last: vec![first; entities] };
        series.into_iter().map(track).collect()
    }
}

impl<S> Track<S, u64> {
    fn sample(&mut self, room: &mut Room, now: Time, interval: Duration, samples: impl IntoIterator<Item = Sample>) {
        for (entity, (sample, last)) in samples.into_iter().zip(&mut self.last).enumerate() {
            let value = match sample {
                Sample::Value(value) => value,
                Sample::Bytes(bytes) => {
                    let before = std::mem::replace(last, bytes);
                    (bytes - before) as f64 * 8.0 / interval.as_secs_f64()
                }
            };
            self.rows.write(room, now, entity, value);
        }
    }
}

impl Rows {
    fn write(&mut self, room: &mut Room, now: Time, entity: usize, value: f64) {
        if room.take() {
            self.time.push(now);
            self.entity.push(entity as u32);
            self.value.push(value);
        }
    }

    /// The name of the series and its table.
    fn table(self, entity: &'static str, series: &'static str, names: &[&str]) -> (String, Table) {
        let columns = vec![
            ("time_s", Values::Real(seconds(&self.time))),
            (entity, Values::Text(self.entity.iter().map(|&index| names[index as usize].to_owned()).collect())),
            (series, Values::Real(self.value)),
        ];
        (series.to_owned(), Table { columns })
    }
}

impl Room {
    /// Whether one more row is kept; counted either way.
    fn take(&mut self) -> bool {
        let has_room = self.left > 0;
        self.left -= u64::from(has_room);
        self.lost += u64::from(!has_room);
        has_room
    }
}

fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::{Entity, SERIES};

    fn names(tables: &[(String, Table)]) -> Vec<&str> {
        tables.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Each series of the dictionary is asked for by its name, and is recorded from the variant that bears it: with the
    /// value of no other.
    #[test]
    fn each_series_is_recorded_from_itself() {
        let all: Vec<String> = SERIES.iter().map(|series| series.column.name.to_owned()).collect();
        let record = Record { series: all.clone(), interval: Duration::from_secs(1), rows_max: 1000, transfers_max: 0 };
        let mut recorder = Recorder::new(&record, 1, 2);
        // The value of a series is its place in its enum; of link 1 it is 100 more.
        recorder.on_sender(Time::ZERO, FlowId::new(0), |series| Some(series as u8 as f64));
        let value = |value: u8, link: u64| Sample::Value((u64::from(value) + 100 * link) as f64);
        recorder.on_sample(Time::ZERO, |flow| [value(flow as u8, 0)], |link| [0, 1].map(|n| value(link as u8, n)));
        let names_of = Names { flows: vec!["f"], links: vec!["l", "m"], nodes: vec![] };
        let recorded = recorder.finish(&names_of);
        assert_eq!(names(&recorded.series), all);
        let group = |series: &crate::dictionary::Series| (series.entity == Entity::Link, series.sampled);
        for (position, (series, (name, table))) in SERIES.iter().zip(&recorded.series).enumerate() {
            let first = SERIES.iter().position(|other| group(other) == group(series)).unwrap();
            let own = (position - first) as f64;
            let expected = if series.entity == Entity::Link { vec![own, own + 100.0] } else { vec![own] };
            assert_eq!(table.real(name), expected, "{name}");
        }
    }

    #[test]
    fn bytes_are_recorded_as_their_rate_and_rows_beyond_the_limit_are_counted() {
        let series = ["carried_bps", "events"].map(str::to_owned).to_vec();
        let record = Record { series, interval: Duration::from_millis(500), rows_max: 3, transfers_max: 0 };
        let mut recorder = Recorder::new(&record, 1, 1);
        assert!(recorder.wants_events && !recorder.wants_flow_series);
        for (half_seconds, bytes) in [(1, 1000), (2, 3000)] {
            assert_eq!(recorder.next_wakeup(), Time::ZERO + record.interval * half_seconds);
            let none = |_: FlowSeries| std::iter::empty();
            recorder.on_sample(recorder.next_wakeup(), none, |_| [Sample::Bytes(bytes)]);
        }
        (0..2).for_each(|_| recorder.on_event(Time::ZERO, FlowId::new(0), EventKind::Timeout, 7));
        let recorded = recorder.finish(&Names { flows: vec!["f"], links: vec!["l"], nodes: vec![] });
        assert_eq!(recorded.series[0].1.real("carried_bps"), [16_000.0, 32_000.0]);
        assert_eq!(
            (recorded.events.text("event"), recorded.events.whole("value")),
            (&["timeout".into()][..], &[7][..])
        );
        assert!(recorded.notes[0].starts_with("1 rows"), "{:?}", recorded.notes);
    }
}
