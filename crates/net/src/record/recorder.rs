//! Keeps time series and events, if they are recorded. Recording never changes the trajectory.

use super::inside::{InsideTrack, InsideValue};
use super::objects::{LoadedObject, Objects};
use super::rows::{seconds, Cut, Keep, Room, Rows, SeriesRow, ROWS_MAX};
use super::transfers::{Transfer, TransferRows};
use super::{LossPlace, Names};
use bentpipe_model::dictionary::{
    Cause, EventKind, FlowSeries, InsideSeries, Kind, LinkSeries, LossRow, SenderSeries, Table, Values,
    CRITICAL_PATH_SERIES,
};
use bentpipe_model::ids::FlowId;
use bentpipe_model::spec::Record;
use bentpipe_units::{Duration, Time};

/// Keeps the time series, the events and the transfers of a run. It knows the dictionary, but no component: it requests
/// the value of a series by its name in an enum.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    interval: Duration,
    last_sample: Time,
    next_sample: Time,
    room: Room,
    /// Last written value, by flow.
    senders: Vec<Track<SenderSeries, f64>>,
    insides: Vec<InsideTrack>,
    /// Bytes counted at the last sample, by flow and by link.
    flows: Vec<Track<FlowSeries, u64>>,
    links: Vec<Track<LinkSeries, u64>>,
    pub(crate) wants_flow_series: bool,
    /// Whether values inside congestion controls are among them.
    pub(crate) wants_insides: bool,
    /// Whether all events are kept, including those of each packet.
    pub(crate) wants_events: bool,
    /// Whether events except those of each packet are kept, alone or among all.
    pub(crate) wants_decisions: bool,
    wants_losses: bool,
    wants_samples: bool,
    events: Events,
    decisions: Option<Events>,
    losses: Losses,
    objects: Option<Objects>,
    transfers: TransferRows,
    /// Starts of the transfers completed since the last call, if they are recorded.
    complete: Option<Vec<Time>>,
}

/// Value of a series at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    /// Written unchanged.
    Value(f64),
    /// A level, with its least and greatest value since the last sample.
    Level(f64, [f64; 2]),
    /// Bytes counted so far. Their rate in the last interval is written.
    Bytes(u64),
    /// No row: the series does not apply.
    None,
}

/// Records of the run for the tables.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) series: Vec<(String, Table)>,
    pub(crate) coverage: Vec<Coverage>,
    pub(crate) events: Table,
    pub(crate) transfers: Table,
    pub(crate) notes: Vec<String>,
}

/// Which part of a run a recorded table covers, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Name of the series or list.
    pub series: &'static str,
    /// Width of the columns of a series that was thinned; zero: it has all its rows.
    pub column: Duration,
    /// Instant of the first missing row, if any is missing.
    pub end: Option<Time>,
}

/// A recorded table, for its reader.
struct About {
    coverage: Coverage,
    note: Option<String>,
}

/// A recorded series.
#[derive(Clone, Debug)]
struct Track<S, L> {
    series: S,
    rows: Rows,
    /// Last values by flow or link.
    last: Vec<L>,
}

#[derive(Clone, Debug, Default)]
struct Events {
    time: Vec<Time>,
    flow: Vec<FlowId>,
    event: Vec<EventKind>,
    value: Vec<u64>,
    cut: Cut,
}

/// Contents of a lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LossSize {
    /// Its length, bytes.
    pub(crate) bytes: u64,
    /// Payload bytes among them.
    pub(crate) data_bytes: u64,
    /// Offset of its data in its connection; `None` without data.
    pub(crate) offset: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Losses {
    rows: Vec<(Time, LossPlace, FlowId, Cause, LossSize)>,
    cut: Cut,
}

impl Recorder {
    pub(crate) fn new(record: &Record, flows: usize, links: usize) -> Self {
        Self::with_room(record, flows, links, ROWS_MAX)
    }

    /// Creates a recorder that keeps `of_all` rows, in all series together.
    fn with_room(record: &Record, flows: usize, links: usize, of_all: u64) -> Self {
        let senders = Track::all(SenderSeries::asked_for(&record.series), SenderSeries::kind, flows, f64::NAN);
        let insides = InsideTrack::all(InsideSeries::asked_for(&record.series), flows);
        let flows = Track::all(FlowSeries::asked_for(&record.series), FlowSeries::kind, flows, 0);
        let links = Track::all(LinkSeries::asked_for(&record.series), LinkSeries::kind, links, 0);
        let wants = |wanted: &str| record.series.iter().any(|name| name == wanted);
        Self {
            interval: record.interval,
            last_sample: Time::ZERO,
            next_sample: Time::ZERO + record.interval,
            room: Room::new(record.rows_max, of_all),
            wants_flow_series: !(senders.is_empty() && insides.is_empty()),
            wants_insides: !insides.is_empty(),
            wants_samples: !(flows.is_empty() && links.is_empty()) && record.interval > Duration::ZERO,
            wants_events: wants("events"),
            wants_decisions: wants("events") || wants("decisions"),
            wants_losses: wants("losses"),
            senders,
            insides,
            flows,
            links,
            events: Events::default(),
            decisions: wants("decisions").then(Events::default),
            losses: Losses::default(),
            objects: wants("objects").then(Objects::default),
            transfers: TransferRows::new(record.transfers_max),
            complete: wants(CRITICAL_PATH_SERIES.0).then(Vec::new),
        }
    }

    /// Whether samples have extremes of queues.
    pub(crate) fn wants_levels(&self) -> bool {
        self.wants_samples && self.links.iter().any(|track| track.series.kind() == Kind::LevelWithExtremes)
    }

    /// Returns the time of the next sample.
    pub(crate) fn next_wakeup(&self) -> Time {
        if self.wants_samples {
            self.next_sample
        } else {
            Time::NEVER
        }
    }

    /// Writes the changes of a sender after an action. `value` returns the value of a series at the sender, if there is
    /// one.
    pub(crate) fn on_sender(&mut self, now: Time, flow: FlowId, value: impl Fn(SenderSeries) -> Option<f64>) {
        for track in &mut self.senders {
            if let Some(value) = value(track.series).filter(|&value| value != track.last[flow]) {
                track.last[flow] = value;
                track.rows.write(&mut self.room, SeriesRow::new(now, flow.index(), value));
            }
        }
    }

    /// Writes the one-way delay of a datagram that has arrived, unless the last one took as long.
    pub(crate) fn on_delay(&mut self, now: Time, flow: FlowId, delay: Duration) {
        self.on_sender(now, flow, |series| (series == SenderSeries::Delay).then(|| delay.as_secs_f64()));
    }

    /// Writes a value inside the congestion control of a flow, if it has changed and its series is recorded.
    pub(crate) fn on_inside(&mut self, now: Time, flow: FlowId, series: InsideSeries, value: InsideValue<'_>) {
        for track in self.insides.iter_mut().filter(|track| track.series() == series) {
            track.write(&mut self.room, now, flow, value);
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, flow: FlowId, event: EventKind, value: u64) {
        let is_of_packet = matches!(event, EventKind::Sent | EventKind::Acked);
        if let Some(decisions) = self.decisions.as_mut().filter(|_| !is_of_packet) {
            decisions.add(&mut self.room, now, flow, event, value);
        }
        if self.wants_events {
            self.events.add(&mut self.room, now, flow, event, value);
        }
    }

    pub(crate) fn on_loss(&mut self, now: Time, place: LossPlace, flow: FlowId, cause: Cause, lost: LossSize) {
        if self.wants_losses && self.losses.cut.fits(self.losses.rows.len(), &mut self.room, now) {
            self.losses.rows.push((now, place, flow, cause, lost));
        }
    }

    /// Records an object of a page, when its last byte is read.
    pub(crate) fn on_object(&mut self, flow: FlowId, object: LoadedObject) {
        if let Some(objects) = &mut self.objects {
            objects.add(&mut self.room, flow, object);
        }
    }

    /// Records a completed transfer.
    pub(crate) fn on_transfer(&mut self, now: Time, flow: FlowId, transfer: &Transfer) {
        self.transfers.add(&mut self.room, flow, transfer);
        if let Some(complete) = &mut self.complete {
            complete.push(transfer.start);
        }
        if self.wants_decisions {
            self.on_event(now, flow, EventKind::Transfer, transfer.size);
        }
    }

    /// Returns the starts of the transfers completed since the last call, if they are recorded.
    pub(crate) fn take_transfers(&mut self) -> Vec<Time> {
        self.complete.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Writes the samples at the end of an interval. `flows` and `links` give a series for each of them in order. The
    /// links are at `now`.
    pub(crate) fn on_sample<F, L>(
        &mut self,
        now: Time,
        flows: impl Fn(FlowSeries) -> F,
        links: impl Fn(LinkSeries) -> L,
    ) where
        F: IntoIterator<Item = Sample>,
        L: IntoIterator<Item = Sample>,
    {
        let lasted = now - self.last_sample;
        (self.last_sample, self.next_sample) = (now, now + self.interval);
        for track in &mut self.flows {
            track.sample(&mut self.room, now, lasted, flows(track.series));
        }
        for track in &mut self.links {
            track.sample(&mut self.room, now, lasted, links(track.series));
        }
    }

    /// As `on_sample`, if the run ends at `now` between two samples. A rate over the short rest would be no mean of anything,
    /// so the rest becomes part of the last row.
    pub(crate) fn on_end<F, L>(&mut self, now: Time, flows: impl Fn(FlowSeries) -> F, links: impl Fn(LinkSeries) -> L)
    where
        F: IntoIterator<Item = Sample>,
        L: IntoIterator<Item = Sample>,
    {
        if self.wants_samples && now > self.last_sample {
            self.on_sample(now, flows, links);
            let rows = self.flows.iter_mut().map(|track| &mut track.rows);
            let rows = rows.chain(self.links.iter_mut().map(|track| &mut track.rows));
            rows.for_each(|rows| rows.join_last(now));
        }
    }

    /// Returns the tables: each recorded series, the events and the transfers.
    pub(crate) fn finish(self, names: &Names<'_>) -> Recorded {
        let (of_flows, of_links) = (("flow", &names.flows[..]), ("link", &names.links[..]));
        let room = &self.room;
        let about = |name: &'static str, rows: &Rows| About::of(name, rows.width, rows.cut, rows.note(name, room));
        let table = |name: &'static str, (entity, entities): (_, &[&str]), rows: Rows| {
            (about(name, &rows), rows.table(entity, name, entities))
        };
        let senders = self.senders.into_iter().map(|track| table(track.series.name(), of_flows, track.rows));
        let insides = self
            .insides
            .into_iter()
            .map(|track| (about(track.series().name(), &track.rows), track.table(&names.flows)));
        let flows = self.flows.into_iter().map(|track| table(track.series.name(), of_flows, track.rows));
        let links = self.links.into_iter().map(|track| table(track.series.name(), of_links, track.rows));
        let mut abouts = Vec::new();
        let mut series: Vec<(String, Table)> = senders
            .chain(insides)
            .chain(flows)
            .chain(links)
            .map(|(about, table)| {
                let name = about.coverage.series.to_owned();
                abouts.push(about);
                (name, table)
            })
            .collect();
        let list = |name: &'static str, cut: Cut| About::of(name, Duration::ZERO, cut, cut.note(name, room));
        abouts.push(list("events", self.events.cut));
        if let Some(decisions) = self.decisions {
            abouts.push(list("decisions", decisions.cut));
            series.push(("decisions".to_owned(), decisions.table(names)));
        }
        if self.wants_losses {
            abouts.push(list("losses", self.losses.cut));
            series.push(("losses".to_owned(), self.losses.table(names)));
        }
        if let Some(objects) = self.objects {
            abouts.push(list("objects", objects.cut()));
            series.push(("objects".to_owned(), objects.table(&names.flows)));
        }
        let coverage = abouts.iter().map(|about| about.coverage).filter(Coverage::is_partial).collect();
        let notes = abouts.into_iter().filter_map(|about| about.note);
        let notes = notes.chain(self.transfers.note(room)).collect();
        let events = self.events.table(names);
        Recorded { series, coverage, events, transfers: self.transfers.table(&names.flows), notes }
    }
}

impl Coverage {
    fn is_partial(&self) -> bool {
        self.column > Duration::ZERO || self.end.is_some()
    }
}

impl About {
    fn of(series: &'static str, column: Duration, cut: Cut, note: Option<String>) -> Self {
        Self { coverage: Coverage { series, column, end: cut.end() }, note }
    }
}

impl<S: Copy, L: Copy> Track<S, L> {
    /// Creates a track per series of `series`, for `entities` flows or links that start at `first`.
    fn all(series: Vec<S>, kind: fn(S) -> Kind, entities: usize, first: L) -> Vec<Self> {
        let track = |series| Self { series, rows: Rows::new(Keep::of(kind(series))), last: vec![first; entities] };
        series.into_iter().map(track).collect()
    }
}

impl<S> Track<S, u64> {
    fn sample(&mut self, room: &mut Room, now: Time, lasted: Duration, samples: impl IntoIterator<Item = Sample>) {
        for (entity, (sample, last)) in samples.into_iter().zip(&mut self.last).enumerate() {
            let (value, extremes) = match sample {
                Sample::None => continue,
                Sample::Value(value) => (value, None),
                Sample::Level(value, extremes) => (value, Some(extremes)),
                Sample::Bytes(bytes) => {
                    let before = std::mem::replace(last, bytes);
                    ((bytes - before) as f64 * 8.0 / lasted.as_secs_f64(), None)
                }
            };
            self.rows.write(room, SeriesRow { extremes, ..SeriesRow::new(now, entity, value) });
        }
    }
}

impl Events {
    fn add(&mut self, room: &mut Room, now: Time, flow: FlowId, event: EventKind, value: u64) {
        if self.cut.fits(self.time.len(), room, now) {
            self.time.push(now);
            self.flow.push(flow);
            self.event.push(event);
            self.value.push(value);
        }
    }

    fn table(&self, names: &Names<'_>) -> Table {
        Table {
            columns: vec![
                ("time_s", Values::Real(seconds(&self.time))),
                ("flow", Values::Text(self.flow.iter().map(|&flow| names.flows[flow].to_owned()).collect())),
                ("event", Values::Text(self.event.iter().map(|&event| event.name().to_owned()).collect())),
                ("value", Values::Whole(self.value.iter().map(|&value| value as i64).collect())),
            ],
        }
    }
}

impl Losses {
    /// Returns the rows in order of time: a link that is visited late has recorded its losses late.
    fn table(&self, names: &Names<'_>) -> Table {
        let mut rows = self.rows.clone();
        rows.sort_unstable();
        LossRow::table(rows.iter().map(|&(time, place, flow, cause, lost)| LossRow {
            time_s: time.as_secs_f64(),
            place: place.name(names),
            flow: names.flows[flow],
            cause: cause.name(),
            bytes: lost.bytes,
            data_bytes: lost.data_bytes,
            offset_bytes: lost.offset.map_or(f64::NAN, |offset| offset as f64),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::dictionary::{Entity, HAPPENINGS, SERIES};
    use bentpipe_model::ids::LinkId;

    fn names(tables: &[(String, Table)]) -> Vec<&str> {
        tables.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Each series of the dictionary is asked for by its name, and is recorded from the variant that bears it: with the
    /// value of no other.
    #[test]
    fn each_series_is_recorded_from_itself() {
        let all: Vec<String> = SERIES.iter().map(|series| series.column.name.to_owned()).collect();
        assert!(HAPPENINGS.iter().all(|(name, _)| !all.iter().any(|series| series == name)));
        let record = Record { series: all.clone(), interval: Duration::from_secs(1), rows_max: 1000, transfers_max: 0 };
        let mut recorder = Recorder::new(&record, 1, 2);
        // The value of a series is its place in its enum; of link 1 it is 100 more.
        recorder.on_sender(Time::ZERO, FlowId::new(0), |series| Some(series as u8 as f64));
        for series in InsideSeries::asked_for(&all) {
            recorder.on_inside(Time::ZERO, FlowId::new(0), series, InsideValue::Number(series as u8 as f64));
        }
        let value = |value: u8, link: u64| Sample::Value((u64::from(value) + 100 * link) as f64);
        recorder.on_sample(Time::ZERO, |flow| [value(flow as u8, 0)], |link| [0, 1].map(|n| value(link as u8, n)));
        let names_of = Names { flows: vec!["f"], links: vec!["l", "m"], nodes: vec![] };
        let recorded = recorder.finish(&names_of);
        assert_eq!(names(&recorded.series), all);
        let group = |series: &bentpipe_model::dictionary::Series| {
            (series.entity == Entity::Link, series.sampled, series.column.name.starts_with("cc_"))
        };
        for (position, (series, (name, table))) in SERIES.iter().zip(&recorded.series).enumerate() {
            let first = SERIES.iter().position(|other| group(other) == group(series)).unwrap();
            let own = (position - first) as f64;
            let expected = if series.entity == Entity::Link { vec![own, own + 100.0] } else { vec![own] };
            assert_eq!(table.real(name), expected, "{name}");
        }
    }

    #[test]
    fn bytes_are_recorded_as_their_rate_and_each_table_has_rows_of_its_own() {
        let series = ["carried_bps", "events", "decisions", "losses"].map(str::to_owned).to_vec();
        let record = Record { series, interval: Duration::from_millis(500), rows_max: 2, transfers_max: 0 };
        let mut recorder = Recorder::new(&record, 1, 1);
        assert!(recorder.wants_events && !recorder.wants_flow_series);
        for (half_seconds, bytes) in [(1, 1000), (2, 3000)] {
            assert_eq!(recorder.next_wakeup(), Time::ZERO + record.interval * half_seconds);
            let none = |_: FlowSeries| std::iter::empty();
            recorder.on_sample(recorder.next_wakeup(), none, |_| [Sample::Bytes(bytes)]);
        }
        let flow = FlowId::new(0);
        for (half_seconds, event) in [EventKind::Sent, EventKind::Acked, EventKind::Timeout].into_iter().enumerate() {
            recorder.on_event(Time::ZERO + record.interval * half_seconds as u64, flow, event, 7);
        }
        recorder.on_loss(
            Time::ZERO,
            LossPlace::Link(LinkId::new(0)),
            flow,
            Cause::Outage,
            LossSize { bytes: 1500, data_bytes: 1460, offset: Some(0) },
        );
        let recorded = recorder.finish(&Names { flows: vec!["f"], links: vec!["l"], nodes: vec![] });
        assert_eq!(recorded.series[0].1.real("carried_bps"), [16_000.0, 32_000.0]);
        assert_eq!(recorded.events.text("event"), ["sent", "acked"]);
        let note = "events ends at 1.000000 s: 1 more rows did not fit record.rows_max = 2";
        assert_eq!(recorded.notes, [note], "the other tables are whole");
        assert_eq!(names(&recorded.series), ["carried_bps", "decisions", "losses"]);
        let (decisions, losses) = (&recorded.series[1].1, &recorded.series[2].1);
        assert_eq!((decisions.text("event"), decisions.whole("value")), (&["timeout".into()][..], &[7][..]));
        assert_eq!((losses.text("where"), losses.whole("bytes")), (&["l".into()][..], &[1500][..]));
    }

    /// All lists together have a bound: memory is bounded for any scenario. A series thins itself in the rows of its own.
    #[test]
    fn rows_of_all_series_together_are_bounded() {
        let series = ["cwnd_bytes", "events", "losses", "objects"].map(str::to_owned).to_vec();
        let record = Record { series, interval: Duration::from_secs(1), rows_max: 100, transfers_max: 100 };
        let notes = |room: u64| {
            let mut recorder = Recorder::with_room(&record, 1, 1, room);
            let flow = FlowId::new(0);
            let lost = LossSize { bytes: 1500, data_bytes: 1460, offset: Some(0) };
            let duration = Duration::from_secs(1);
            for second in 0..3 {
                let now = Time::ZERO + record.interval * second;
                recorder.on_sender(now, flow, |_| Some(second as f64));
                recorder.on_event(now, flow, EventKind::Timeout, 7);
                recorder.on_loss(now, LossPlace::Link(LinkId::new(0)), flow, Cause::Outage, lost);
                let (received, acked, start) = (duration, duration, now);
                let transfer = Transfer { index: second, start, size: 1, duration, received, acked, ideal: None };
                recorder.transfers.add(&mut recorder.room, flow, &transfer);
            }
            let recorded = recorder.finish(&Names { flows: vec!["f"], links: vec!["l"], nodes: vec![] });
            let tables = recorded.series.iter().map(|(_, table)| table);
            let rows = tables.chain([&recorded.events, &recorded.transfers]).map(Table::len).sum::<usize>();
            // The row of the window at 2 s is beside the room of all.
            assert_eq!(rows as u64, room.min(12) + u64::from(room == 8));
            recorded.notes
        };
        assert!(notes(12).is_empty(), "{:?}", notes(12));
        assert_eq!(
            notes(11),
            ["1 transfers did not fit the 11 rows of all series together and were not kept one by one"]
        );
        assert_eq!(
            notes(8)[..2],
            [
                "events ends at 2.000000 s: 1 more rows did not fit the 8 rows of all series together",
                "losses ends at 2.000000 s: 1 more rows did not fit the 8 rows of all series together",
            ]
        );
        let whole = Recorder::new(&record, 1, 1).room;
        assert_eq!((whole.of_all, whole.of_each), (ROWS_MAX, 100));
    }
}
