//! From counters to tables. Definitions: `dictionary`, after `specs/metrics`.

use super::dictionary::{Column, COMPLETIONS, DATAGRAMS, DROPS, FLOWS, LINKS, SUMMARY, TRANSFERS};
use super::table::{Table, Values};
use super::transfers::{Completions, TransferRows};
use super::{Cause, End, Recorder, RunResult, StopReason};
use crate::link::Link;
use crate::spec::Scenario;
use crate::traffic::{FlowState, Traffic};
use bentpipe_tcp::SendLimit;
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Where packets were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Link(usize),
    Node(usize),
}

/// In the order of their columns.
const LIMITS: [SendLimit; SendLimit::COUNT] = [
    SendLimit::StartUp,
    SendLimit::CongestionWindow,
    SendLimit::ReceiveWindow,
    SendLimit::SendBuffer,
    SendLimit::Application,
    SendLimit::Recovery,
    SendLimit::Timeout,
];

/// (place, flow, cause) -> (packets, bytes).
pub(crate) type Drops = BTreeMap<(Place, u32, Cause), (u64, u64)>;

/// The tables of a run that has ended.
pub(crate) fn assemble(
    scenario: &Scenario,
    end: End,
    traffic: &Traffic,
    links: &[Link],
    drops: &Drops,
    recorder: Recorder,
) -> RunResult {
    let flows = flows(scenario, end.at, traffic);
    let summary = summary(scenario, end, &flows, links, traffic);
    let transfers = transfer_rows(scenario, &recorder.transfers);
    let (series, events, notes) = recorder.finish(scenario);
    RunResult {
        flows,
        links: link_rows(scenario, end.at, links),
        drops: drop_rows(scenario, drops),
        completions: completion_rows(scenario, traffic),
        transfers,
        datagrams: datagram_rows(scenario, traffic),
        summary,
        series,
        events,
        notes,
    }
}

fn flows(scenario: &Scenario, at: Time, traffic: &Traffic) -> Table {
    let run_s = at.as_secs_f64();
    let mut table = Builder::new(FLOWS);
    for ((flow, state), totals) in scenario.flows.iter().zip(&traffic.flows).zip(traffic.totals(at)) {
        let (sent, received) = (&totals.sent, &totals.received);
        let since_start = |end: Option<Time>| match (totals.first_sent, end) {
            (Some(start), Some(end)) => (end - start).as_secs_f64(),
            _ => f64::NAN,
        };
        let active_s = since_start(Some(state.completed.unwrap_or(at)));
        let delivered_bits = received.delivered_bytes as f64 * 8.0;
        table.text(&flow.name);
        table.text(match &flow.tcp.own_cc {
            _ if flow.app.is_datagrams() => "none",
            Some(own) => own.name(),
            None => flow.tcp.cc.kind().name(),
        });
        table.text(outcome(state));
        table.real(totals.first_sent.map_or(f64::NAN, Time::as_secs_f64));
        table.real(since_start(state.completed));
        table.real(since_start(state.completed.and(state.received)));
        table.real(ratio(received.arrived_bytes as f64 * 8.0, run_s));
        table.real(ratio(delivered_bits, run_s));
        table.real(ratio(delivered_bits, active_s));
        table.whole(received.delivered_bytes);
        table.whole(totals.acked_bytes);
        table.whole(sent.sent_bytes);
        table.whole(sent.resent_bytes);
        table.whole(sent.sent_segments);
        table.whole(received.arrived_segments);
        table.whole(sent.resent_segments);
        table.whole(totals.needless);
        table.whole(sent.timeouts);
        table.whole(sent.undone);
        table.whole(sent.fast_retransmits);
        table.whole(received.marked_segments);
        table.whole(sent.mark_reductions);
        table.whole(sent.dummy_segments);
        table.real(100.0 * ratio((sent.sent_bytes - sent.resent_bytes) as f64, sent.sent_bytes as f64));
        table.real(
            ratio(sent.sent_bytes as f64, totals.sent_wire_bytes as f64)
                * ratio(received.arrived_segments as f64, sent.sent_segments as f64),
        );
        table.real(state.rtts.min_s());
        table.real(state.rtts.mean_s());
        table.real(state.rtts.quantile_s(0.50));
        table.real(state.rtts.quantile_s(0.95));
        table.real(state.rtts.quantile_s(0.99));
        table.real(totals.cwnd.map_or(f64::NAN, |bytes| bytes as f64));
        table.real(totals.ssthresh.map_or(f64::NAN, |bytes| bytes as f64));
        for span in LIMITS.map(|limit| totals.times.limited_by(limit)).into_iter().chain([totals.times.outage]) {
            table.real(if flow.app.is_datagrams() { f64::NAN } else { span.as_secs_f64() });
        }
    }
    table.finish()
}

fn outcome(flow: &FlowState) -> &'static str {
    if flow.completed.is_some() {
        "completed"
    } else if flow.has_failed {
        "aborted"
    } else if flow.has_begun {
        "running"
    } else {
        "waiting"
    }
}

fn link_rows(scenario: &Scenario, at: Time, links: &[Link]) -> Table {
    let run_s = at.as_secs_f64();
    let mut table = Builder::new(LINKS);
    for (spec, link) in scenario.links.iter().zip(links) {
        let counters = link.counters();
        let waits = link.waits();
        table.text(&spec.name);
        table.real(ratio(link.busy_ps(at) as f64 / 1e12, run_s));
        table.real(ratio(counters.carried_bytes as f64 * 8.0, run_s));
        table.whole(counters.offered);
        table.whole(counters.carried);
        table.whole(counters.carried_bytes);
        table.whole(counters.corrupted);
        table.whole(counters.dropped);
        table.whole(link.marked());
        table.real(waits.mean_s());
        table.real(waits.quantile_s(0.50));
        table.real(waits.quantile_s(0.95));
        table.real(waits.quantile_s(0.99));
        table.whole(counters.backlog_bytes_max);
        table.whole(link.len() as u64);
    }
    table.finish()
}

fn completion_rows(scenario: &Scenario, traffic: &Traffic) -> Table {
    let mut table = Builder::new(COMPLETIONS);
    for (flow, state) in scenario.flows.iter().zip(&traffic.flows) {
        let Some(completions) = state.completions() else { continue };
        for (index, (sizes, class)) in completions.classes().enumerate() {
            let (durations, slowdowns) = (&class.durations, &class.slowdowns);
            table.text(&flow.name);
            table.text(sizes);
            table.whole(durations.count());
            // They have no size class: nobody knows what the others would have become.
            table.real(if index == 0 { completions.failed as f64 } else { f64::NAN });
            table.real(if index == 0 { completions.unfinished() as f64 } else { f64::NAN });
            table.real(ratio(class.bytes as f64, durations.count() as f64));
            table.real(durations.mean_s());
            table.real(durations.min_s());
            table.real(durations.quantile_s(0.50));
            table.real(durations.quantile_s(0.95));
            table.real(durations.quantile_s(0.99));
            table.real(slowdowns.mean_s());
            table.real(slowdowns.quantile_s(0.50));
            table.real(slowdowns.quantile_s(0.99));
        }
    }
    table.finish()
}

fn transfer_rows(scenario: &Scenario, transfers: &TransferRows) -> Table {
    let mut table = Builder::new(TRANSFERS);
    for (flow, transfer) in &transfers.rows {
        table.text(&scenario.flows[*flow as usize].name);
        table.whole(transfer.index);
        table.real(transfer.start.as_secs_f64());
        table.whole(transfer.size);
        table.real(transfer.duration.as_secs_f64());
        table.real(transfer.received.as_secs_f64());
        table.real(transfer.slowdown().unwrap_or(f64::NAN));
    }
    table.finish()
}

fn datagram_rows(scenario: &Scenario, traffic: &Traffic) -> Table {
    let mut table = Builder::new(DATAGRAMS);
    for (flow, state) in scenario.flows.iter().zip(&traffic.flows) {
        let Some(arrived) = state.arrived() else { continue };
        let sent = state.totals.sent.sent_segments;
        table.text(&flow.name);
        table.whole(sent);
        table.whole(state.totals.received.arrived_segments);
        table.whole(arrived.lost);
        table.real(100.0 * ratio(arrived.lost as f64, sent as f64));
        table.real(arrived.delays.min_s());
        table.real(arrived.delays.mean_s());
        table.real(arrived.delays.quantile_s(0.50));
        table.real(arrived.delays.quantile_s(0.95));
        table.real(arrived.delays.quantile_s(0.99));
        table.real(arrived.jitter_s());
    }
    table.finish()
}

fn drop_rows(scenario: &Scenario, drops: &Drops) -> Table {
    let mut table = Builder::new(DROPS);
    for (&(place, flow, cause), &(packets, bytes)) in drops {
        table.text(match place {
            Place::Link(link) => &scenario.links[link].name,
            Place::Node(node) => &scenario.nodes[node].name,
        });
        table.text(&scenario.flows[flow as usize].name);
        table.text(cause.name());
        table.whole(packets);
        table.whole(bytes);
    }
    table.finish()
}

fn summary(scenario: &Scenario, end: End, flows: &Table, links: &[Link], traffic: &Traffic) -> Table {
    let mut all = Completions::default();
    traffic.flows.iter().filter_map(FlowState::completions).for_each(|completions| all.merge(completions));
    let total = all.total();
    let goodputs = flows.real("goodput_bps");
    let mut table = Builder::new(SUMMARY);
    table.text(end.stop.name());
    table.real(end.at.as_secs_f64());
    table.real(goodputs.iter().sum());
    table.real(jain(goodputs));
    table.whole(end.ledger.sent);
    table.whole(end.ledger.delivered);
    table.whole(end.ledger.lost);
    table.whole(end.ledger.in_flight);
    table.whole(links.iter().map(|link| link.counters().carried).sum());
    let (mean_s, bound_s) = completion_s(scenario, end, flows);
    table.real(mean_s);
    table.real(bound_s);
    table.whole(all.completed());
    table.whole(all.failed);
    table.whole(all.unfinished());
    table.real(total.durations.mean_s());
    table.real(total.durations.quantile_s(0.50));
    table.real(total.durations.quantile_s(0.95));
    table.real(total.durations.quantile_s(0.99));
    table.real(total.slowdowns.mean_s());
    table.finish()
}

/// Mean over the flows that have an end of their own, and what it is at least. The mean is NaN if one of them did not
/// complete: leaving that flow out would praise a sender for failing.
fn completion_s(scenario: &Scenario, end: End, flows: &Table) -> (f64, f64) {
    // A flow that gave up before the end of the run would not have completed until then either.
    let last = if end.stop == StopReason::Interrupted { end.at } else { Time::ZERO + scenario.duration };
    let (mut sum, mut least, mut count) = (0.0, 0.0, 0.0);
    let times = flows.real("completion_s").iter().zip(flows.real("start_s"));
    for (_, (time, start)) in scenario.flows.iter().zip(times).filter(|(flow, _)| flow.app.has_end()) {
        let had = if start.is_nan() { 0.0 } else { last.as_secs_f64() - start };
        sum += time;
        least += if time.is_nan() { had } else { *time };
        count += 1.0;
    }
    (ratio(sum, count), ratio(least, count))
}

/// Jain's index (D. Chiu and R. Jain 1989); NaN if nothing was delivered at all.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    ratio(sum * sum, squares * shares.len() as f64)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        part / whole
    } else {
        f64::NAN
    }
}

/// Fills a table row by row, in the order of its dictionary.
struct Builder {
    columns: Vec<(&'static str, Values)>,
    next: usize,
}

impl Builder {
    fn new(dictionary: &[Column]) -> Self {
        let values = |column: &Column| match (column.unit.is_empty(), column.is_whole) {
            (true, _) => Values::Text(Vec::new()),
            (_, true) => Values::Whole(Vec::new()),
            _ => Values::Real(Vec::new()),
        };
        Self { columns: dictionary.iter().map(|column| (column.name, values(column))).collect(), next: 0 }
    }

    fn text(&mut self, value: &str) {
        match self.column() {
            (_, Values::Text(values)) => values.push(value.to_owned()),
            (name, _) => panic!("{name} is no column of texts"),
        }
    }

    fn real(&mut self, value: f64) {
        match self.column() {
            (_, Values::Real(values)) => values.push(value),
            (name, _) => panic!("{name} is no column of real numbers"),
        }
    }

    fn whole(&mut self, value: u64) {
        match self.column() {
            (_, Values::Whole(values)) => values.push(i64::try_from(value).unwrap_or(i64::MAX)),
            (name, _) => panic!("{name} is no column of whole numbers"),
        }
    }

    fn column(&mut self) -> (&'static str, &mut Values) {
        let index = self.next;
        self.next = (self.next + 1) % self.columns.len();
        let (name, values) = &mut self.columns[index];
        (name, values)
    }

    fn finish(self) -> Table {
        assert_eq!(self.next, 0, "a row has as many values as its dictionary has columns");
        Table { columns: self.columns }
    }
}

#[cfg(test)]
mod tests {
    use super::jain;

    /// `specs/metrics.md`, test 3.
    #[test]
    fn jain_index_worked_cases() {
        assert!((jain(&[10.0, 20.0, 30.0]) - 0.857_143).abs() < 1e-6);
        assert!((jain(&[1.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(&[5.0; 7]) - 1.0).abs() < 1e-12);
        assert!(jain(&[0.0]).is_nan());
    }
}
