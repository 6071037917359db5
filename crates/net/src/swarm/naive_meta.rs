//! Naive ends of connections over several paths, from RFC 8684 alone: lists that are searched for each segment. They see the
//! segments that hosts send and receive, and know what data, acknowledgements, mappings and windows have to be.

use crate::network::{Fate, Sighting, Witness};
use crate::record::RunResult;
use bentpipe_model::ids::FlowId;
use bentpipe_model::spec::Scenario;
use bentpipe_tcp::multi::{ReinjectOn, SchedulerConfig};
use bentpipe_tcp::{Dss, Flags, Multipath, Options, Segment};
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Options that a header has room for, with the header itself, bytes.
const HEADER_MAX: u8 = 80;

/// All ends of a run by flow, connection, and whether it is the end of the flow.
#[derive(Debug, Default)]
struct Ends {
    by_name: BTreeMap<(FlowId, u32, bool), End>,
    faults: Vec<String>,
}

/// Observer of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Watching(Arc<Mutex<Ends>>);

/// A subflow, and the number of its connection: it has another one when it joins again.
type Of = (u8, u32);

/// Bytes of a connection, and the data that they are.
#[derive(Clone, Copy, Debug)]
struct Given {
    of: Of,
    start: u64,
    dsn: u64,
    len: u64,
}

/// Data that a second subflow carries: when, this subflow, and the others that carried some of them.
type Again = (Time, Vec<u8>);

#[derive(Debug, Default)]
struct End {
    /// The connection of each subflow whose SYN has left or arrived last, and how many there were.
    present: BTreeMap<u8, (u32, u32)>,
    given: Vec<Given>,
    fin: Option<u64>,
    /// Whether it opens the connection, whether a signal has arrived, and whether one was in a segment that counts.
    is_opener: bool,
    has_heard: bool,
    has_counted: bool,
    una: u64,
    /// End of the peer's receive window.
    edge: u64,
    /// Shifts of windows, sent and received.
    shifts: BTreeMap<Of, [Option<u8>; 2]>,
    /// The last acknowledgement sent and the last timestamp in order (RFC 7323 §5.3).
    stamps: BTreeMap<Of, (u32, Option<u32>)>,
    again: Vec<Again>,
    again_bytes: u64,
    resets: Vec<(Time, u8)>,

    arrived: Vec<(u64, u64)>,
    nxt: u64,
    fin_arrived: Option<u64>,
    acked: u64,
    brought: BTreeMap<u8, u64>,
    bytes: u64,
    twice: u64,
    held_max: u64,
    held_since: Option<Time>,
    held_time: Duration,
}

/// Returns the parts of [start, end) outside all of these ranges.
fn outside((start, end): (u64, u64), ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut left = vec![(start, end)];
    for (from, to) in ranges {
        let cut = |(start, end): (u64, u64)| [(start, end.min(from)), (start.max(to), end)];
        left = left.into_iter().flat_map(cut).filter(|part| part.0 < part.1).collect();
    }
    left
}

fn bytes(parts: &[(u64, u64)]) -> u64 {
    parts.iter().map(|part| part.1 - part.0).sum()
}

fn number(seq: bentpipe_units::Seq) -> u64 {
    u64::from(seq.value())
}

impl End {
    /// Everything below this has arrived. The DATA_FIN counts as a byte.
    fn data_ack(&self) -> u64 {
        self.nxt + u64::from(self.fin_arrived == Some(self.nxt))
    }

    fn held(&self) -> u64 {
        bytes(&self.arrived)
    }

    fn given_of(&self, of: Of) -> impl Iterator<Item = &Given> {
        self.given.iter().filter(move |given| given.of == of)
    }

    fn last_given(&self) -> u64 {
        self.given.iter().map(|given| given.dsn + given.len).max().unwrap_or(0)
    }

    /// A SYN of this connection leaves or arrives. Returns how many connections its subflow has had.
    fn opens(&mut self, (subflow, connection): Of) -> u32 {
        let (present, count) = self.present.entry(subflow).or_insert((connection, 1));
        *count += u32::from(std::mem::replace(present, connection) != connection);
        *count
    }

    /// This end sends a segment.
    fn sends(&mut self, at: Time, of: Of, segment: &Segment) -> Result<(), String> {
        let subflow = of.0;
        if segment.header_len() > HEADER_MAX {
            return Err(format!("{} B of options", segment.header_len() - 40));
        }
        if segment.flags.has(Flags::SYN) {
            let count = self.opens(of);
            let shift = if let Options::Syn(syn) = segment.options { syn.window_scale } else { None };
            self.shifts.entry(of).or_default()[0] = shift;
            return match segment.multi {
                Some(Multipath::Capable) if subflow == 0 && count == 1 => {
                    self.is_opener = !segment.flags.has(Flags::ACK);
                    Ok(())
                }
                // RFC 8684 §3.1: after a signal has arrived.
                Some(Multipath::Join { id, .. })
                    if id == subflow && (self.has_heard || segment.flags.has(Flags::ACK)) =>
                {
                    Ok(())
                }
                other => Err(format!("a SYN with {other:?}")),
            };
        }
        self.stamps.entry(of).or_default().0 = segment.ack.value();
        if segment.flags.has(Flags::RST) {
            self.resets.push((at, subflow));
            return Ok(());
        }
        match segment.multi {
            // A copy repeats the option of its segment.
            Some(Multipath::Capable)
                if segment.len > 0
                    && self.is_first(subflow, segment)
                    && (!self.has_counted || segment.flags.has(Flags::DUMMY)) =>
            {
                self.maps(at, of, 0, (0, segment.len.into()))
            }
            Some(Multipath::Dss(_)) if segment.len > 0 && self.owes_keys(subflow, segment) => {
                Err("the first data without the keys".to_owned())
            }
            Some(Multipath::Dss(dss)) => self.signals(at, of, segment, dss),
            // RFC 8684 §3.3: data has its mapping.
            other if segment.len > 0 => Err(format!("data with {other:?}")),
            _ => Ok(()),
        }
    }

    /// RFC 8684 §3.1: the first data of the opener repeat the keys, until a signal has arrived.
    fn owes_keys(&self, subflow: u8, segment: &Segment) -> bool {
        !self.has_heard && self.is_first(subflow, segment)
    }

    fn is_first(&self, subflow: u8, segment: &Segment) -> bool {
        self.is_opener && subflow == 0 && number(segment.seq) == 1
    }

    fn signals(&mut self, at: Time, of: Of, segment: &Segment, dss: Dss) -> Result<(), String> {
        if number(dss.data_ack) != self.data_ack() {
            return Err(format!("DATA_ACK {:?} instead of {}", dss.data_ack, self.data_ack()));
        }
        if number(dss.data_ack) < self.acked {
            return Err(format!("DATA_ACK {:?} after {}", dss.data_ack, self.acked));
        }
        self.acked = number(dss.data_ack);
        let (dsn, len) = (number(dss.dsn), u64::from(dss.len));
        // The byte of a keepalive may carry no data.
        if dss.len != segment.len && dss.len > 0 {
            return Err(format!("a mapping of {len} B for {} B", segment.len));
        }
        if let Some(fin) = self.fin.filter(|fin| dsn + len > *fin) {
            return Err(format!("data up to {} beyond the end at {fin}", dsn + len));
        }
        if dss.is_fin {
            if self.fin.is_some_and(|fin| fin != dsn + len) || self.last_given() > dsn + len {
                return Err(format!("an end at {} after {:?}, {}", dsn + len, self.fin, self.last_given()));
            }
            self.fin = Some(dsn + len);
        }
        if len > 0 {
            self.maps(at, of, number(segment.seq) - 1, (dsn, len))?;
        }
        Ok(())
    }

    /// The bytes of a subflow from `start` on are these data.
    fn maps(&mut self, at: Time, of: Of, start: u64, (dsn, len): (u64, u64)) -> Result<(), String> {
        let (end, overlaps) =
            (start + len, |given: &Given| given.start < start + len && start < given.start + given.len);
        // RFC 8684 §3.3: a byte of a subflow is the same data for ever.
        let is_other = |given: &&Given| overlaps(given) && given.dsn + start != dsn + given.start;
        if let Some(given) = self.given_of(of).find(is_other) {
            return Err(format!("{start} of {of:?} is {dsn} after {given:?}"));
        }
        let before = self.given_of(of).map(|given| (given.start, given.start + given.len));
        for (from, to) in outside((start, end), before) {
            let data = (dsn + from - start, dsn + to - start);
            let as_data = |given: &Given| (given.dsn, given.dsn + given.len);
            let is_given = |given: &&Given| given.dsn < data.1 && data.0 < given.dsn + given.len;
            if let Some(own) = self.given_of(of).filter(is_given).find(|given| given.dsn + given.len > self.una) {
                return Err(format!("{data:?} again on {of:?}, which has {own:?}"));
            }
            let new = bytes(&outside(data, self.given.iter().map(as_data)));
            if new > 0 && data.1 > self.edge {
                return Err(format!("{data:?} beyond the window, which ends at {}", self.edge));
            }
            if new < data.1 - data.0 {
                self.again_bytes += data.1 - data.0 - new;
                // A subflow that failed before it sent them does so when it is back.
                let carriers = self.given.iter().filter(is_given).map(|given| given.of.0);
                self.again.push((at, carriers.chain([of.0]).collect()));
            }
            self.given.push(Given { of, start: from, dsn: data.0, len: to - from });
        }
        Ok(())
    }

    /// This end receives a segment.
    fn receives(&mut self, at: Time, of: Of, segment: &Segment) -> Result<(), String> {
        let subflow = of.0;
        if segment.flags.has(Flags::SYN) {
            self.opens(of);
            let shift = if let Options::Syn(syn) = segment.options { syn.window_scale } else { None };
            self.shifts.entry(of).or_default()[1] = shift;
            let stamp = segment.timestamps.map(|timestamps| timestamps.value);
            self.stamps.insert(of, (segment.seq.value().wrapping_add(1), stamp));
            if self.una == 0 {
                self.edge = self.edge.max(segment.window.into());
            }
            return Ok(());
        }
        // No end takes a segment of a former connection.
        if let Some((present, _)) = self.present.get(&subflow).filter(|(present, _)| *present != of.1) {
            return Err(format!("a segment of connection {} for {present}", of.1));
        }
        if segment.flags.has(Flags::RST) {
            self.resets.push((at, subflow));
            return Ok(());
        }
        let shift = match self.shifts.get(&of) {
            Some([Some(_), Some(theirs)]) => *theirs,
            _ => 0,
        };
        let window = u64::from(segment.window) << shift;
        let (dsn, len) = if let Some(Multipath::Dss(dss)) = segment.multi {
            self.has_heard = true;
            let ack = number(dss.data_ack);
            if ack > self.last_given() + u64::from(self.fin.is_some()) {
                return Err(format!("acknowledges {ack} of {}", self.last_given()));
            }
            self.una = self.una.max(ack);
            self.edge = self.edge.max(ack + window);
            // As the acknowledgement, it counts in segments that are refused.
            if dss.is_fin {
                self.fin_arrived = Some(number(dss.dsn) + u64::from(dss.len));
            }
            (number(dss.dsn), u64::from(dss.len))
        } else {
            // Before any data of this end its window is that of the handshake.
            self.edge = if self.una == 0 { self.edge.max(window) } else { self.edge };
            let has_keys = segment.multi == Some(Multipath::Capable);
            (0, if has_keys { segment.len.into() } else { 0 })
        };
        // A probe segment is acknowledged, and nothing else.
        if !segment.flags.has(Flags::DUMMY) && self.is_old(of, segment) {
            return Ok(());
        }
        // The keys are of the first connection, which learns nothing of its siblings.
        let is_counted = subflow == 0 && !segment.flags.has(Flags::DUMMY) && self.is_acceptable(of, segment);
        self.has_counted |= is_counted && matches!(segment.multi, Some(Multipath::Dss(_)));
        if len > 0 {
            self.takes(at, subflow, (dsn, dsn + len));
        }
        Ok(())
    }

    /// Whether a segment ends at or behind the next byte that its connection expects (RFC 9293 §3.4). A keepalive does not.
    fn is_acceptable(&self, of: Of, segment: &Segment) -> bool {
        let expected = self.stamps.get(&of).map_or(0, |stamps| stamps.0);
        let last = segment.seq.value().wrapping_add(u32::from(segment.len).saturating_sub(1));
        last.wrapping_sub(expected) as i32 >= 0
    }

    /// Whether a connection refuses a segment for its timestamp (RFC 7323 §5.3). Notes the timestamp of a segment in order.
    fn is_old(&mut self, of: Of, segment: &Segment) -> bool {
        let (Some(timestamps), Some((acked, Some(recent)))) = (segment.timestamps, self.stamps.get_mut(&of)) else {
            return false;
        };
        let age = recent.wrapping_sub(timestamps.value) as i32;
        if age <= 0 && acked.wrapping_sub(segment.seq.value()) as i32 >= 0 {
            *recent = timestamps.value;
        }
        age > 0
    }

    /// Data arrived on a subflow.
    fn takes(&mut self, at: Time, subflow: u8, data: (u64, u64)) {
        let known = self.arrived.iter().copied().chain([(0, self.nxt)]);
        let new = outside(data, known);
        *self.brought.entry(subflow).or_default() += bytes(&new);
        self.bytes += data.1 - data.0;
        self.twice += data.1 - data.0 - bytes(&new);
        self.arrived.extend(&new);
        while let Some(place) = self.arrived.iter().position(|range| range.0 == self.nxt) {
            self.nxt = self.arrived.swap_remove(place).1;
        }
        self.held_max = self.held_max.max(self.held());
        match (self.held_since, self.held() > 0) {
            (None, true) => self.held_since = Some(at),
            (Some(since), false) => {
                self.held_time += at.saturating_since(since);
                self.held_since = None;
            }
            _ => {}
        }
    }
}

impl Witness for Watching {
    fn on_sent(&mut self, packet: &Sighting) {
        self.see(packet, packet.is_back, |end, segment| {
            end.sends(packet.at, (packet.subflow, packet.connection), segment)
        });
    }

    fn on_end(&mut self, packet: &Sighting, fate: Fate<'_>) {
        if fate == Fate::Arrived {
            let of = (packet.subflow, packet.connection);
            self.see(packet, !packet.is_back, |end, segment| end.receives(packet.at, of, segment));
        }
    }
}

impl Watching {
    fn see(&self, packet: &Sighting, at_end: bool, act: impl FnOnce(&mut End, &Segment) -> Result<(), String>) {
        let Some(segment) = &packet.segment else { return };
        let mut ends = self.0.lock().expect("no other thread");
        if segment.multi.is_none() && !ends.by_name.contains_key(&(packet.flow, packet.session, at_end)) {
            return;
        }
        let end = ends.by_name.entry((packet.flow, packet.session, at_end)).or_default();
        if let Err(fault) = act(end, segment) {
            let Sighting { at, flow, connection, subflow, .. } = packet;
            ends.faults.push(format!("at {at}, flow {flow:?}, connection {connection}, subflow {subflow}: {fault}"));
        }
    }

    /// Returns what is wrong with the run.
    pub(super) fn faults(&self, scenario: &Scenario, result: &RunResult, ended: Time) -> Vec<String> {
        let ends = self.0.lock().expect("no other thread");
        let mut faults = ends.faults.clone();
        for flow in FlowId::all(scenario.flows.len()) {
            let Some(multi) = scenario.flows[flow].transport.multi() else { continue };
            let of_flow: Vec<&End> =
                ends.by_name.iter().filter(|(name, _)| name.0 == flow).map(|(_, end)| end).collect();
            let name = &scenario.flows[flow].name;
            let row = flow.index();
            let mut is = |column: &str, expected: std::ops::RangeInclusive<u64>, found: i64| {
                if !expected.contains(&(found as u64)) {
                    faults.push(format!("{name}: {column} is {found}, not in {expected:?}"));
                }
            };
            let just = |value: u64| value..=value;
            let sum = |of: fn(&End) -> u64| of_flow.iter().map(|end| of(end)).sum::<u64>();
            let most = |of: fn(&End) -> u64| of_flow.iter().map(|end| of(end)).max().unwrap_or(0);
            let whole = |column: &str| result.flows.whole(column)[row];
            let [nxt, twice, held] = [sum(|end| end.nxt), sum(|end| end.twice), sum(End::held)];
            is("delivered_bytes", just(nxt), whole("delivered_bytes"));
            // A connection drops old segments that its window or timestamps refuse.
            is("data_duplicate_bytes", 0..=twice, whole("data_duplicate_bytes"));
            is("hol_held_bytes_max", just(most(|end| end.held_max)), whole("hol_held_bytes_max"));
            is("all that arrived", just(sum(|end| end.bytes)), (nxt + twice + held) as i64);
            // Data that were given to a subflow may never leave.
            is("reinjected_bytes", sum(|end| end.again_bytes)..=u64::MAX, whole("reinjected_bytes"));
            let held =
                |end: &&End| end.held_time + end.held_since.map_or(Duration::ZERO, |at| ended.saturating_since(at));
            let (held, found) = (
                of_flow.iter().map(held).map(Duration::as_secs_f64).sum::<f64>(),
                result.flows.real("hol_held_s")[row],
            );
            // An application that leaves after a failure does not wait for the rest. It may begin its next transfer.
            let mut events = result.events.text("flow").iter().zip(result.events.text("event"));
            let is_left = events.any(|(flow, event)| flow == name && event == "aborted")
                || of_flow.iter().any(|end| end.held_since.is_some() || !end.resets.is_empty());
            if found > held + 1e-9 || !is_left && found < held - 1e-9 {
                faults.push(format!("{name}: hol_held_s is {found} instead of {held}"));
            }
            faults.extend(shares(name, &of_flow, result));
            let is_plain = !matches!(multi.config.scheduler, SchedulerConfig::Redundant(_))
                && !multi.config.reinject.opportunistic;
            if is_plain && multi.config.reinject.on == ReinjectOn::Rto {
                faults.extend(of_flow.iter().flat_map(|end| unfounded(name, end, result)));
            }
        }
        faults
    }
}

/// Returns what is wrong with the rows of the subflows of a flow.
fn shares(name: &str, ends: &[&End], result: &RunResult) -> Vec<String> {
    let mut faults = Vec::new();
    let of_subflow = |at: &usize| result.subflows.text("subflow_of")[*at] == name;
    let rows: Vec<usize> = (0..result.subflows.len()).filter(of_subflow).collect();
    let all: u64 = ends.iter().flat_map(|end| end.brought.values()).sum();
    for (subflow, row) in rows.iter().enumerate() {
        let brought: u64 = ends.iter().filter_map(|end| end.brought.get(&(subflow as u8))).sum();
        let found = result.subflows.real("delivered_share")[*row];
        if all > 0 && (found - brought as f64 / all as f64).abs() > 1e-12 {
            faults.push(format!("{name}: subflow {subflow} brought {brought} of {all}, not {found}"));
        }
    }
    let at = result.flows.text("flow").iter().position(|flow| flow == name).expect("a row of the flow");
    for column in ["sent_bytes", "sent_packets", "arrived_packets", "retransmissions", "timeouts", "reinjected_bytes"] {
        let sum: i64 = rows.iter().map(|row| result.subflows.whole(column)[*row]).sum();
        let found = result.flows.whole(column)[at];
        if sum != found {
            faults.push(format!("{name}: {column} is {found}, and {sum} in its subflows"));
        }
    }
    faults
}

/// Returns the data that were given to a second subflow although all their carriers delivered.
fn unfounded(name: &str, end: &End, result: &RunResult) -> Vec<String> {
    let fails = |subflow: u8, at: Time| {
        let entity = format!("{name}.s{subflow}");
        let rows = result.events.text("flow").iter().zip(result.events.text("event")).zip(result.events.real("time_s"));
        let mut failures = rows.filter(|((flow, event), _)| **flow == entity && *event == "subflow_failed");
        failures.any(|(_, time)| *time <= at.as_secs_f64())
            || end.resets.iter().any(|(when, of)| *of == subflow && *when <= at)
    };
    let is_unfounded = |(at, carriers): &&Again| !carriers.iter().any(|carrier| fails(*carrier, *at));
    end.again.iter().filter(is_unfounded).map(|again| format!("{name}: given again without need: {again:?}")).collect()
}
