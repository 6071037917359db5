//! Records on one connection. The opener writes each at its time, regardless of the earlier records. The duration of a
//! record ends when all its bytes have arrived in order.
//!
//! A record is lost if best-effort transport has skipped a part of it, or the end of the record before it: data after a
//! gap is discarded up to the next boundary (CCSDS 714.0-B).

use super::contract::{Application, Draws};
use crate::record::{Recorder, Transfer};
use crate::traffic::goal::{End, Goal};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::WrittenRecords;
use bentpipe_units::{Stream, Time};
use std::collections::{BTreeSet, VecDeque};

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct RecordsState {
    spec: WrittenRecords,
    index: u64,
    session: Option<Over>,
    sizes: Stream,
    intervals: Stream,
    /// Records that have neither arrived nor been lost, the oldest first.
    pending: VecDeque<PendingRecord>,
    /// Bytes that the connection has skipped, from and to.
    gaps: Vec<(u64, u64)>,
    /// Boundaries of records that have arrived, as offsets.
    boundaries: BTreeSet<u64>,
}

/// Record with its bytes on the connection, from and to.
#[derive(Clone, Copy, Debug)]
struct PendingRecord {
    index: u64,
    start: Time,
    from: u64,
    to: u64,
}

impl RecordsState {
    /// Whether the reader got all of `record` and its first boundary.
    fn has_all(&self, record: PendingRecord) -> bool {
        let is_whole = self.gaps.iter().all(|&(from, to)| to <= record.from || record.to <= from);
        let follows_gap = self.gaps.iter().any(|&(_, to)| to == record.from);
        is_whole && (!follows_gap || self.boundaries.contains(&record.from))
    }

    /// Forgets gaps and boundaries before `offset`.
    fn forget_before(&mut self, offset: u64) {
        self.gaps.retain(|&(_, to)| to >= offset);
        self.boundaries = self.boundaries.split_off(&offset);
    }

    /// Makes the listener wait for the oldest pending record.
    fn wait_for_oldest(&self, sessions: &mut FlowSessions<'_>, session: Over) {
        let goal = self.pending.front().map(|record| Goal::received(record.to));
        sessions.wait_at(session, End::Listener, goal);
    }

    /// Ends the oldest record: all its bytes have arrived or were skipped.
    fn end_oldest(&mut self, sessions: &mut FlowSessions<'_>, session: Over, recorder: &mut Recorder) {
        let Some(record) = self.pending.pop_front() else { return };
        let has_all = self.has_all(record);
        self.forget_before(record.to);
        let PendingRecord { index, start, from, to } = record;
        if has_all {
            let duration = sessions.now - start;
            sessions.flow().received = sessions.now;
            let (size, received, acked) = (to - from, duration, duration);
            sessions.record(&Transfer { index, start, size, duration, received, acked, ideal: None }, recorder);
        } else {
            sessions.flow().completions_mut().failed += 1;
        }
        self.wait_for_oldest(sessions, session);
        if self.has_written_all() && self.pending.is_empty() {
            sessions.release(session);
            // Best effort has not failed if records are lost.
            sessions.complete();
        }
    }

    fn has_written_all(&self) -> bool {
        self.spec.count == Some(self.index)
    }
}

impl Application for RecordsState {
    type Spec = WrittenRecords;

    fn new(spec: WrittenRecords, draws: &Draws<'_>) -> Self {
        Self {
            spec,
            index: 0,
            session: None,
            sizes: draws.stream("size"),
            intervals: draws.stream("interval"),
            pending: VecDeque::new(),
            gaps: Vec::new(),
            boundaries: BTreeSet::new(),
        }
    }

    /// Writes a record.
    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let index = self.index;
        let size = self.spec.size.draw(&mut self.sizes, index);
        let interval = self.spec.interval.draw(&mut self.intervals, index);
        self.index += 1;
        let session = *self.session.get_or_insert_with(|| sessions.open());
        sessions.ask(session, size);
        let to = sessions.session(session).asked;
        sessions.end_record(session);
        if self.has_written_all() {
            sessions.end_data(session);
        }
        sessions.flow().completions_mut().begun += 1;
        self.pending.push_back(PendingRecord { index, start: sessions.now, from: to - size, to });
        self.wait_for_oldest(sessions, session);
        if !self.has_written_all() {
            sessions.pause(interval);
        }
    }

    /// Ends the oldest record, and others whose bytes arrived with it.
    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, _): (Over, End),
        _goal: Goal,
        recorder: &mut Recorder,
    ) {
        loop {
            self.end_oldest(sessions, session, recorder);
            if !sessions.is_on_the_way(session) || !sessions.has_reached_goal(session, End::Listener) {
                return;
            }
        }
    }

    /// Loses all pending records. The next record opens another connection.
    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        sessions.flow().completions_mut().failed += self.pending.len() as u64;
        self.pending.clear();
        self.gaps.clear();
        self.boundaries.clear();
        self.session = None;
        self.wait_for_oldest(sessions, session);
        sessions.release(session);
        if self.has_written_all() {
            sessions.finish();
        }
    }

    fn on_gap(&mut self, from: u64, to: u64) {
        self.gaps.push((from, to));
    }

    fn on_boundary(&mut self, offset: u64) {
        self.boundaries.insert(offset);
    }
}
