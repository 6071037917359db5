//! Records: the opener writes one at each instant of its own clock, whatever became of those before, on one connection. Each
//! counts from the instant at which it was written until all of it has arrived in order, or is lost.
//!
//! A record is lost where best-effort transport has skipped a part of it, or the end of the record before it: what follows a gap
//! belongs to nobody until the next boundary (CCSDS 714.0-B).

use super::flow::AppState;
use super::{AppWait, Traffic};
use crate::ids::{EndpointId, FlowId};
use crate::record::{Recorder, Transfer};
use crate::spec;
use bentpipe_units::{Stream, Time};
use std::collections::{BTreeSet, VecDeque};

/// How far the application of a flow has come, with its random streams.
#[derive(Clone, Debug)]
pub(super) struct RecordsState {
    spec: spec::WrittenRecords,
    index: u64,
    slot: Option<usize>,
    sizes: Stream,
    intervals: Stream,
    /// Written and neither arrived nor lost, the oldest first.
    pending: VecDeque<PendingRecord>,
    /// What the connection has skipped: from and to.
    gaps: Vec<(u64, u64)>,
    /// Where records ended whose boundary has arrived.
    boundaries: BTreeSet<u64>,
}

/// A record, and where it lies among the bytes of its connection.
#[derive(Clone, Copy, Debug)]
struct PendingRecord {
    index: u64,
    start: Time,
    from: u64,
    to: u64,
}

impl RecordsState {
    pub(super) fn new(spec: spec::WrittenRecords, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self {
            spec,
            index: 0,
            slot: None,
            sizes: stream("size"),
            intervals: stream("interval"),
            pending: VecDeque::new(),
            gaps: Vec::new(),
            boundaries: BTreeSet::new(),
        }
    }

    /// Whether the reader got all of `record`, and knew where it began.
    fn has_all(&self, record: PendingRecord) -> bool {
        let is_whole = self.gaps.iter().all(|&(from, to)| to <= record.from || record.to <= from);
        let follows_gap = self.gaps.iter().any(|&(_, to)| to == record.from);
        is_whole && (!follows_gap || self.boundaries.contains(&record.from))
    }

    /// The next record ends; what lies before it is forgotten.
    fn forget_before(&mut self, offset: u64) {
        self.gaps.retain(|&(_, to)| to >= offset);
        self.boundaries = self.boundaries.split_off(&offset);
    }
}

impl Traffic {
    /// A record is written.
    pub(super) fn write_record(&mut self, now: Time, flow: FlowId) {
        let AppState::Records(records) = &mut self.flows[flow].app_state else { return };
        let index = records.index;
        let size = records.spec.size.draw(&mut records.sizes, index);
        let interval = records.spec.interval.draw(&mut records.intervals, index);
        records.index += 1;
        let is_last = records.spec.count == Some(records.index);
        let slot = records.slot.unwrap_or_else(|| self.open(now, flow));
        self.ask(now, slot, size);
        let to = self.sessions[slot].asked;
        let opener = &mut self.hosts[EndpointId::opener(slot)].conn;
        opener.end_record();
        if is_last {
            opener.close();
        }
        let state = &mut self.flows[flow];
        state.completions_mut().begun += 1;
        if let AppState::Records(records) = &mut state.app_state {
            records.slot = Some(slot);
            records.pending.push_back(PendingRecord { index, start: now, from: to - size, to });
        }
        self.await_record(flow, slot);
        if !is_last {
            self.pause(now, flow, interval);
        }
    }

    /// The listener waits for the oldest record that is not there.
    fn await_record(&mut self, flow: FlowId, slot: usize) {
        let AppState::Records(records) = &self.flows[flow].app_state else { return };
        let goal = records.pending.front().map_or(AppWait::Nothing, |record| AppWait::Received(record.to));
        self.hosts[EndpointId::listener(slot)].awaits = goal;
    }

    /// The connection has skipped a part of what it carries.
    pub(super) fn on_gap(&mut self, slot: usize, from: u64, to: u64) {
        if let AppState::Records(records) = &mut self.flows[self.sessions[slot].flow].app_state {
            records.gaps.push((from, to));
        }
    }

    /// The boundary of a record has arrived.
    pub(super) fn on_boundary(&mut self, slot: usize, offset: u64) {
        if let AppState::Records(records) = &mut self.flows[self.sessions[slot].flow].app_state {
            records.boundaries.insert(offset);
        }
    }

    /// All of the oldest record is there, or skipped; perhaps of others too.
    pub(super) fn end_records(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let listener = EndpointId::listener(slot);
        loop {
            self.end_record(now, slot, recorder);
            let host = &self.hosts[listener];
            if !matches!(host.awaits, AppWait::Received(_)) || !host.is_wait_over() {
                return;
            }
        }
    }

    fn end_record(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let flow = self.sessions[slot].flow;
        let AppState::Records(records) = &mut self.flows[flow].app_state else { return };
        let Some(record) = records.pending.pop_front() else { return };
        let has_all = records.has_all(record);
        records.forget_before(record.to);
        let PendingRecord { index, start, from, to } = record;
        let is_over = records.spec.count == Some(records.index) && records.pending.is_empty();
        let state = &mut self.flows[flow];
        if has_all {
            let duration = now - start;
            let transfer =
                Transfer { index, start, size: to - from, duration, received: duration, acked: duration, ideal: None };
            state.received = now;
            state.completions_mut().add(&transfer);
            recorder.on_transfer(now, flow, &transfer);
        } else {
            state.completions_mut().failed += 1;
        }
        self.await_record(flow, slot);
        if is_over {
            self.release(now, slot);
            // Lost records are no failure of best effort.
            self.flows[flow].completed = Some(now);
            self.unfinished -= 1;
        }
    }

    /// The connection has failed, and what it had with it; the next record opens another.
    pub(super) fn fail_records(&mut self, now: Time, slot: usize) {
        let flow = self.sessions[slot].flow;
        let AppState::Records(records) = &mut self.flows[flow].app_state else { return };
        let lost = records.pending.len() as u64;
        records.pending.clear();
        records.gaps.clear();
        records.boundaries.clear();
        records.slot = None;
        let is_over = records.spec.count == Some(records.index);
        self.flows[flow].completions_mut().failed += lost;
        self.hosts[EndpointId::listener(slot)].awaits = AppWait::Nothing;
        self.release(now, slot);
        if is_over {
            self.finish(now, flow);
        }
    }
}
