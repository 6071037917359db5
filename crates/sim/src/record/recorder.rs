//! Time series and events, kept only where asked for. Recording never changes the trajectory.

use super::dictionary::{Entity, SERIES};
use super::table::{Table, Values};
use super::transfers::{Transfer, TransferRows};
use crate::link::Link;
use crate::spec::{Record, Scenario};
use crate::traffic::Traffic;
use bentpipe_tcp::Connection;
use bentpipe_units::{Duration, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    rows_left: u64,
    rows_lost: u64,
    interval: Duration,
    next_sample: Time,
    /// By the dictionary's index; none: not asked for.
    series: Vec<Option<Rows>>,
    pub(crate) wants_flow_series: bool,
    pub(crate) wants_events: bool,
    wants_samples: bool,
    events: Events,
    pub(super) transfers: TransferRows,
    /// Last value written, by series and flow.
    last: Vec<Vec<f64>>,
    /// Bytes counted at the last sample, by flow and by link.
    delivered: Vec<u64>,
    carried: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Rows {
    time: Vec<Time>,
    entity: Vec<u32>,
    value: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Events {
    time: Vec<Time>,
    flow: Vec<u32>,
    event: Vec<&'static str>,
    value: Vec<u64>,
}

impl Recorder {
    pub(crate) fn new(record: &Record, flows: usize, links: usize) -> Self {
        let series: Vec<Option<Rows>> =
            SERIES.iter().map(|s| record.series.iter().any(|name| name == s.column.name).then(Rows::default)).collect();
        let wanted = |sampled: bool| SERIES.iter().zip(&series).any(|(s, rows)| rows.is_some() && s.sampled == sampled);
        Self {
            rows_left: record.rows_max,
            rows_lost: 0,
            interval: record.interval,
            next_sample: Time::ZERO + record.interval,
            wants_flow_series: wanted(false),
            wants_samples: wanted(true) && record.interval > Duration::ZERO,
            wants_events: record.series.iter().any(|name| name == "events"),
            last: SERIES.iter().map(|s| vec![f64::NAN; if s.sampled { 0 } else { flows }]).collect(),
            series,
            events: Events::default(),
            transfers: TransferRows::new(record.transfers_max),
            delivered: vec![0; flows],
            carried: vec![0; links],
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

    /// A sender has acted: write what has changed.
    pub(crate) fn on_sender(&mut self, now: Time, flow: usize, conn: &Connection) {
        for (index, series) in SERIES.iter().enumerate() {
            if self.series[index].is_none() || series.sampled {
                continue;
            }
            let value = match series.column.name {
                "cwnd_bytes" => Some(conn.cwnd() as f64),
                "ssthresh_bytes" => conn.ssthresh().map(|bytes| bytes as f64),
                "srtt_s" => conn.srtt().map(Duration::as_secs_f64),
                "rto_s" => Some(conn.rto().as_secs_f64()),
                "flight_size_bytes" => Some(conn.flight_size() as f64),
                "receive_window_bytes" => Some(conn.receive_window() as f64),
                "delivery_rate_bps" => {
                    let sample = conn.rate_sample().and_then(|sample| sample.rate());
                    sample.map(|rate| rate.as_bps() as f64)
                }
                "pacing_rate_bps" => conn.pacing_rate().map(|rate| rate.as_bps() as f64),
                _ => None,
            };
            if let Some(value) = value.filter(|&value| value != self.last[index][flow]) {
                self.last[index][flow] = value;
                self.write(index, now, flow, value);
            }
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, flow: usize, event: &'static str, value: u64) {
        if self.has_room() {
            self.events.time.push(now);
            self.events.flow.push(flow as u32);
            self.events.event.push(event);
            self.events.value.push(value);
        }
    }

    /// A transfer is complete.
    pub(crate) fn on_transfer(&mut self, now: Time, flow: usize, transfer: &Transfer) {
        self.transfers.add(flow, transfer);
        if self.wants_events {
            self.on_event(now, flow, "transfer", transfer.size);
        }
    }

    /// An interval is over. The links have been advanced to `now`.
    pub(crate) fn on_sample(&mut self, now: Time, traffic: &Traffic, links: &[Link]) {
        self.next_sample = now + self.interval;
        let interval_s = self.interval.as_secs_f64();
        for (index, series) in SERIES.iter().enumerate() {
            if self.series[index].is_none() || !series.sampled {
                continue;
            }
            let of_flows = if series.entity == Entity::Flow { traffic.delivered_bytes() } else { Vec::new() };
            let entities = if series.entity == Entity::Flow { of_flows.len() } else { links.len() };
            for entity in 0..entities {
                let value = match series.column.name {
                    "goodput_bps" => {
                        let bytes = of_flows[entity];
                        let before = std::mem::replace(&mut self.delivered[entity], bytes);
                        (bytes - before) as f64 * 8.0 / interval_s
                    }
                    "carried_bps" => {
                        let bytes = links[entity].counters().carried_bytes;
                        let before = std::mem::replace(&mut self.carried[entity], bytes);
                        (bytes - before) as f64 * 8.0 / interval_s
                    }
                    "queue_packets" => links[entity].backlog().0 as f64,
                    _ => links[entity].backlog().1 as f64,
                };
                self.write(index, now, entity, value);
            }
        }
    }

    /// The tables: each series asked for, and the events.
    pub(crate) fn finish(self, scenario: &Scenario) -> (Vec<(String, Table)>, Table, Vec<String>) {
        let mut series = Vec::new();
        for (spec, rows) in SERIES.iter().zip(self.series) {
            let Some(rows) = rows else { continue };
            let (column, names): (_, Vec<&str>) = match spec.entity {
                Entity::Flow => ("flow", scenario.flows.iter().map(|flow| flow.name.as_str()).collect()),
                Entity::Link => ("link", scenario.links.iter().map(|link| link.name.as_str()).collect()),
            };
            let table = Table {
                columns: vec![
                    ("time_s", Values::Real(seconds(&rows.time))),
                    (column, Values::Text(rows.entity.iter().map(|&i| names[i as usize].to_owned()).collect())),
                    (spec.column.name, Values::Real(rows.value)),
                ],
            };
            series.push((spec.column.name.to_owned(), table));
        }
        let flow_name = |&flow: &u32| scenario.flows[flow as usize].name.clone();
        let events = Table {
            columns: vec![
                ("time_s", Values::Real(seconds(&self.events.time))),
                ("flow", Values::Text(self.events.flow.iter().map(flow_name).collect())),
                ("event", Values::Text(self.events.event.iter().map(|&event| event.to_owned()).collect())),
                ("value", Values::Whole(self.events.value.iter().map(|&value| value as i64).collect())),
            ],
        };
        let mut notes = Vec::new();
        if self.rows_lost > 0 {
            notes.push(format!(
                "{} rows of series and events did not fit record.rows_max = {} and were not kept",
                self.rows_lost, scenario.record.rows_max
            ));
        }
        if self.transfers.lost > 0 {
            notes.push(format!(
                "{} transfers did not fit record.transfers_max = {} and were not kept one by one",
                self.transfers.lost, scenario.record.transfers_max
            ));
        }
        (series, events, notes)
    }

    fn write(&mut self, index: usize, now: Time, entity: usize, value: f64) {
        if !self.has_room() {
            return;
        }
        if let Some(rows) = &mut self.series[index] {
            rows.time.push(now);
            rows.entity.push(entity as u32);
            rows.value.push(value);
        }
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.rows_left > 0;
        self.rows_left -= u64::from(has_room);
        self.rows_lost += u64::from(!has_room);
        has_room
    }
}

fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64()).collect()
}
