//! Rows, series and events of flows and their connections.

use super::dispatch::Traffic;
use super::flow::FlowState;
use super::groups::{add_session, as_totals, GroupPart, GroupSession, MultiTotals, PathTotals};
use super::host::{Host, Hosts};
use super::pool::{Pool, Session};
use super::send_times::SendTimes;
use super::totals::Totals;
use crate::link::Downtime;
use crate::record::{ratio, Completions, Histogram, InsideValue, Recorder, Sample};
use bentpipe_cc::{Inside, Insides, Quantity, ResumePhase};
use bentpipe_model::dictionary::{
    CompletionRow, DatagramRow, EventKind, FlowRow, FlowSeries, InsideSeries, ProbeRow, QuicRow, SenderSeries,
    SubflowRow,
};
use bentpipe_model::ids::{FlowId, LaneId};
use bentpipe_model::spec::{App, Flow, Scenario};
use bentpipe_tcp::{Event, PlainSegment, SendLimit};
use bentpipe_units::{Duration, Time};

/// The flows of a run, as tables and series read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrafficReport<'a> {
    flows: &'a [FlowState],
    hosts: &'a Hosts,
    pool: &'a Pool,
}

impl Traffic {
    /// Returns the flows as tables and series read them.
    pub(crate) fn report(&self) -> TrafficReport<'_> {
        TrafficReport { flows: &self.flows, hosts: &self.hosts, pool: &self.pool }
    }
}

impl<'a> TrafficReport<'a> {
    /// Returns a row for each flow. The run ended at `at`.
    pub(crate) fn flow_rows<'b>(self, scenario: &'b Scenario, at: Time) -> Vec<FlowRow<'b>> {
        let flows = FlowId::all(scenario.flows.len()).zip(self.flows).zip(self.totals(at));
        let row = |((flow, state), totals): ((FlowId, &FlowState), Totals)| {
            flow_row(scenario, flow, state, &totals, self.group_totals(flow, at).map(|(all, _)| all), at)
        };
        flows.map(row).collect()
    }

    /// Returns a row for each subflow of flows over several paths, with the columns of `flows` and its own.
    pub(crate) fn subflow_rows<'b>(self, scenario: &'b Scenario, at: Time) -> Vec<(FlowRow<'b>, SubflowRow<'b>)> {
        let mut rows = Vec::new();
        for (flow, state) in FlowId::all(scenario.flows.len()).zip(self.flows) {
            let (Some((_, paths)), Some(multi)) = (self.group_totals(flow, at), &state.multi) else { continue };
            let all: u64 = paths.iter().map(|path| path.brought_bytes).sum();
            for ((lane, path), totals) in scenario.lanes_of(flow).zip(&multi.paths).zip(&paths) {
                let own = SubflowRow {
                    subflow_of: &scenario.flows[flow].name,
                    delivered_share: ratio(totals.brought_bytes as f64, all as f64),
                    joins: totals.joins,
                    failures: totals.failures,
                };
                rows.push((subflow_row(scenario, lane, (state, &path.rtts), totals, at), own));
            }
        }
        rows
    }

    /// Returns the counters at `now` of a flow over several paths, and those of each path.
    fn group_totals(self, flow: FlowId, now: Time) -> Option<(MultiTotals, Vec<PathTotals>)> {
        let multi = self.flows[flow].multi.as_ref()?;
        let mut totals = multi.totals();
        for (session, group) in self.groups_of(flow) {
            add_session(&mut totals, now, (session.ordinal, group), self.hosts);
            for &(slot, subflow) in &group.connections {
                let mut downtime = multi.paths[subflow].downtime.clone();
                for times in self.hosts.pair(slot).into_iter().filter_map(|host| host.times_until(now, &mut downtime)) {
                    totals.1[subflow].of_tcp.times += times;
                }
            }
        }
        Some(totals)
    }

    /// Returns the present sessions of a flow over several paths.
    fn groups_of(self, flow: FlowId) -> impl Iterator<Item = (&'a Session, &'a GroupSession)> {
        let sessions = self.pool.sessions.iter().filter(move |session| session.flow == flow);
        sessions.filter_map(|session| match session.group.as_deref()? {
            GroupPart::Head(group) => Some((session, group)),
            _ => None,
        })
    }

    /// Returns the counters at `now` of a flow over several paths as those of every flow.
    fn joined_totals(self, flow: FlowId, now: Time) -> Option<Totals> {
        let (all, paths) = self.group_totals(flow, now)?;
        let mut times = self.flows[flow].totals().times;
        let ends = self.groups_of(flow).flat_map(|(_, group)| &group.ends);
        for stopwatch in ends.filter_map(|end| end.stopwatch.as_ref()) {
            times += stopwatch.times_until(now, &mut Downtime::never(), None);
        }
        let mut totals = as_totals(&all, &paths);
        totals.times = times;
        Some(totals)
    }

    /// Returns the rows of each flow with several transfers: one for each class of sizes.
    pub(crate) fn completion_rows(self, scenario: &'a Scenario) -> impl Iterator<Item = CompletionRow<'a>> {
        let flows = scenario.flows.iter().zip(self.flows);
        let flows = flows.filter_map(|(flow, state)| Some((flow, state.completions()?)));
        flows.flat_map(|(flow, completions)| completion_rows_of(flow, completions))
    }

    /// Returns the statistics of the transfers of all flows.
    pub(crate) fn completions(self) -> Completions {
        let mut all = Completions::default();
        self.flows.iter().filter_map(FlowState::completions).for_each(|completions| all.merge(completions));
        all
    }

    /// Returns a row for each flow of datagrams.
    pub(crate) fn datagram_rows(self, scenario: &'a Scenario) -> impl Iterator<Item = DatagramRow<'a>> {
        let row = |(flow, state)| datagram_row(scenario, flow, state);
        scenario.flows.iter().zip(self.flows).filter_map(row)
    }

    /// Returns the rows of each flow of probes: one for each probe.
    pub(crate) fn probe_rows(self, scenario: &'a Scenario) -> impl Iterator<Item = ProbeRow<'a>> {
        let flows = scenario.flows.iter().zip(self.flows);
        let flows = flows.filter_map(|(flow, state)| Some((&flow.name, state.arrived.as_ref()?.probes.as_ref()?)));
        flows.flat_map(|(name, probes)| probes.rows(name))
    }

    /// Returns a row for each flow over QUIC. The run ended at `at`.
    pub(crate) fn quic_rows(self, scenario: &'a Scenario, at: Time) -> Vec<QuicRow<'a>> {
        if scenario.flows.iter().all(|flow| flow.transport.quic().is_none()) {
            return Vec::new();
        }
        let flows = FlowId::all(scenario.flows.len()).zip(&scenario.flows).zip(self.totals(at));
        let flows = flows.filter(|((_, flow), _)| flow.transport.quic().is_some());
        flows.map(|((id, flow), totals)| quic_row(flow, &self.flows[id], totals, self.failure(id))).collect()
    }

    /// Returns the stack's reason for the last connection that failed; empty if neither the flow nor one of its transfers
    /// did. A connection also ends when its peer closes it, or when it is idle and the next transfer opens another.
    fn failure(self, flow: FlowId) -> &'a str {
        let state = &self.flows[flow];
        let is_of_transfers = state.completions().is_some_and(|completions| completions.failed > 0);
        if !state.has_failed && !is_of_transfers && state.arrived.is_none() {
            return "";
        }
        let sessions = self.pool.sessions.iter().filter(|session| session.flow == flow);
        let mut reasons = sessions.filter_map(|session| session.engine.as_ref()?.reason.as_deref());
        reasons.next_back().or_else(|| self.flows[flow].failure()).unwrap_or("")
    }

    /// Returns the counters of each flow at `now`, present sessions included.
    fn totals(self, now: Time) -> Vec<Totals> {
        let mut totals: Vec<_> = self.flows.iter().map(|flow| (flow.totals(), flow.downtime.clone())).collect();
        for (slot, session) in self.pool.sessions.iter().enumerate().filter(|(_, session)| session.group.is_none()) {
            let ends = self.hosts.pair(slot);
            let (totals, path) = &mut totals[session.flow];
            totals.add_session(now, session.counted(), ends, self.flows[session.flow].app.is_two_way());
            for host in ends {
                if let Some(times) = host.times_until(now, path) {
                    totals.times += times;
                }
            }
        }
        let joined = |(flow, (totals, _))| self.joined_totals(flow, now).unwrap_or(totals);
        FlowId::all(self.flows.len()).zip(totals).map(joined).collect()
    }

    /// Returns the payload bytes that each flow has delivered, then those that each subflow was the first to bring.
    fn delivered_bytes(self) -> Vec<u64> {
        let mut bytes: Vec<u64> = self.flows.iter().map(|flow| flow.totals().delivered_bytes()).collect();
        for (slot, session) in self.pool.sessions.iter().enumerate().filter(|(_, session)| session.group.is_none()) {
            let [opener, other] = self.hosts.pair(slot);
            if let Some(engine) = &session.engine {
                bytes[session.flow] += engine.delivered([opener, other]);
            }
            for (near, far) in [(opener, other), (other, opener)] {
                // As in `Totals::add`: bytes that a middlebox sends back to a sender are not data of the flow.
                if near.sends_data {
                    bytes[near.flow] += far.conn.counters().delivered_bytes;
                }
            }
        }
        for flow in FlowId::all(self.flows.len()) {
            if let Some((all, paths)) = self.group_totals(flow, Time::ZERO) {
                bytes[flow.index()] = all.received.delivered_bytes;
                bytes.extend(paths.iter().map(|path| path.brought_bytes));
            }
        }
        bytes
    }

    /// Returns the samples of a series, for each flow in order.
    pub(crate) fn samples(self, series: FlowSeries) -> impl Iterator<Item = Sample> {
        match series {
            FlowSeries::Goodput => self.delivered_bytes().into_iter().map(Sample::Bytes),
        }
    }
}

impl Host {
    /// Records the changes of the sender here since the last call.
    pub(crate) fn record_sender(&self, now: Time, recorder: &mut Recorder) {
        self.record_as(now, self.flow, recorder);
    }

    /// Records them as those of an entity of series: the flow, or one of its subflows.
    pub(super) fn record_as(&self, now: Time, entity: FlowId, recorder: &mut Recorder) {
        recorder.on_sender(now, entity, |series| self.value_of(series));
        if recorder.wants_insides {
            self.conn.report().inside_cc(&mut Insides::new(&mut |inside| {
                let (series, value) = match inside {
                    Inside::State(name, why) => (InsideSeries::State, InsideValue::State(name, why)),
                    Inside::Shared(quantity, value) => (series_of(quantity), InsideValue::Number(value)),
                    Inside::Own(name, value) => (InsideSeries::Values, InsideValue::Named(name, value)),
                };
                recorder.on_inside(now, entity, series, value);
            }));
        }
    }

    /// Returns the value of a series of the sender here, if it has one.
    fn value_of(&self, series: SenderSeries) -> Option<f64> {
        let conn = &self.conn;
        match series {
            SenderSeries::Cwnd => Some(conn.cwnd() as f64),
            SenderSeries::Ssthresh => conn.ssthresh().map(|bytes| bytes as f64),
            SenderSeries::Srtt => conn.report().srtt().map(Duration::as_secs_f64),
            SenderSeries::Rto => Some(conn.report().rto().as_secs_f64()),
            SenderSeries::FlightSize => Some(conn.flight_size() as f64),
            SenderSeries::ReceiveWindow => Some(conn.report().receive_window() as f64),
            SenderSeries::DeliveryRate => Some(conn.report().rate_sample()?.rate()?.as_bps() as f64),
            SenderSeries::LimitedBy => Some(conn.report().send_limit().map_or(0.0, |limit| f64::from(limit as u8 + 1))),
            SenderSeries::HeldBytes | SenderSeries::Delay => None,
            SenderSeries::PacingRate => conn.report().pacing_rate().map(|rate| rate.as_bps() as f64),
        }
    }
}

fn series_of(quantity: Quantity) -> InsideSeries {
    match quantity {
        Quantity::PacingGain => InsideSeries::PacingGain,
        Quantity::CwndGain => InsideSeries::CwndGain,
        Quantity::Bandwidth => InsideSeries::Bandwidth,
        Quantity::MinRtt => InsideSeries::MinRtt,
        Quantity::InflightLongterm => InsideSeries::InflightLongterm,
        Quantity::InflightShortterm => InsideSeries::InflightShortterm,
        Quantity::BandwidthShortterm => InsideSeries::BandwidthShortterm,
        Quantity::ExtraAcked => InsideSeries::ExtraAcked,
        Quantity::FullBandwidth => InsideSeries::FullBandwidth,
    }
}

/// Returns the recorded kind and value of an event at an endpoint that sends data. Some events are not recorded.
pub(crate) fn event_kind(event: Event, is_opener: bool) -> Option<(EventKind, u64)> {
    Some(match event {
        Event::Established if is_opener => (EventKind::Established, 0),
        Event::FastRetransmit(offset) => (EventKind::FastRetransmit, offset),
        Event::RecoveryExit(offset) => (EventKind::RecoveryExit, offset),
        Event::SlowStartExit(cwnd) => (EventKind::SlowStartExit, cwnd),
        Event::Resumed(phase, cwnd) => match phase {
            ResumePhase::Reconnaissance => return None,
            ResumePhase::Unvalidated => (EventKind::ResumeUnvalidated, cwnd),
            ResumePhase::Validating => (EventKind::ResumeValidating, cwnd),
            ResumePhase::Retreat => (EventKind::ResumeRetreat, cwnd),
            ResumePhase::Normal => (EventKind::ResumeNormal, cwnd),
        },
        Event::Timeout(offset) => (EventKind::Timeout, offset),
        Event::LinkError(offset) => (EventKind::LinkError, offset),
        Event::Undo(offset) => (EventKind::Undo, offset),
        Event::Reduction(offset) => (EventKind::Reduction, offset),
        Event::NoReduction(offset) => (EventKind::NoReduction, offset),
        Event::ErrorReport(offset) => (EventKind::ErrorReport, offset),
        Event::EcnReduction(offset) => (EventKind::EcnReduction, offset),
        Event::ZeroWindow(offset) => (EventKind::ZeroWindow, offset),
        Event::Keepalive(probes) => (EventKind::Keepalive, probes),
        Event::PeerLost(probes) => (EventKind::PeerLost, probes),
        Event::Aborted(offset) => (EventKind::Aborted, offset),
        Event::Established | Event::PeerFinished | Event::Closed | Event::Skipped(..) | Event::RecordEnd(_) => {
            return None
        }
    })
}

/// Returns the event of sending a segment with data.
pub(crate) fn event_of_segment(segment: &PlainSegment) -> EventKind {
    match segment.is_retransmission {
        true => EventKind::Retransmission,
        false if segment.is_dummy() => EventKind::Dummy,
        false => EventKind::Sent,
    }
}

/// Subject of a row of `flows` or of `subflows`.
struct About<'a> {
    name: &'a str,
    transport: &'static str,
    cc: &'a str,
    outcome: &'static str,
    rtt_to: &'a str,
    has_transport: bool,
    is_quic: bool,
    /// When the flow completed, its last byte was received, and acknowledged.
    completed: Option<Time>,
    ends: [Time; 2],
    /// Counters of a flow over several paths.
    multi: Option<MultiTotals>,
    /// Bytes that several paths carried.
    reinjected: Option<u64>,
}

fn flow_row<'a>(
    scenario: &'a Scenario,
    id: FlowId,
    state: &FlowState,
    totals: &Totals,
    multi: Option<MultiTotals>,
    at: Time,
) -> FlowRow<'a> {
    let flow = &scenario.flows[id];
    let has_transport = flow.has_connections();
    let about = About {
        name: &flow.name,
        transport: if has_transport { flow.transport.name() } else { "none" },
        // A port has the transport of programs, which the network does not run.
        cc: if has_transport { flow.transport.cc_name() } else { "none" },
        outcome: outcome(state),
        rtt_to: match &*flow.app {
            App::Probe(_) => &scenario.nodes[flow.to].name,
            _ if has_transport => &scenario.nodes[scenario.answers_for(id)].name,
            _ => "",
        },
        has_transport,
        is_quic: flow.transport.quic().is_some(),
        completed: state.completed,
        ends: [state.received, state.acked],
        multi,
        reinjected: multi.map(|multi| multi.sent.reinjected_bytes),
    };
    row(about, totals, &state.rtts, at)
}

/// Returns the columns of `flows` of a subflow.
fn subflow_row<'a>(
    scenario: &'a Scenario,
    lane: LaneId,
    (state, rtts): (&FlowState, &Histogram),
    totals: &PathTotals,
    at: Time,
) -> FlowRow<'a> {
    let flow = &scenario.flows[scenario.lanes[lane].flow];
    let number = lane.index() - flow.lane.index();
    let about = About {
        name: scenario.lane_name(lane),
        transport: "tcp",
        cc: flow.transport.multi().map_or("none", |multi| multi.cc_of(number)),
        outcome: outcome(state),
        rtt_to: &scenario.nodes[flow.to].name,
        has_transport: true,
        is_quic: false,
        completed: None,
        ends: [Time::NEVER; 2],
        multi: None,
        reinjected: Some(totals.reinjected_bytes),
    };
    row(about, &totals.of_tcp, rtts, at)
}

fn row<'a>(about: About<'a>, totals: &Totals, rtts: &Histogram, at: Time) -> FlowRow<'a> {
    let run_s = at.as_secs_f64();
    let (sent, received) = (&totals.sent, &totals.received);
    let since_start = |end: Option<Time>| match (totals.first_sent, end) {
        // A run that is interrupted may have worked ahead of this instant.
        (Some(start), Some(end)) => end.saturating_since(start).as_secs_f64(),
        _ => f64::NAN,
    };
    let of_complete = |at: Time| about.completed.and((at != Time::NEVER).then_some(at));
    let active_s = since_start(Some(about.completed.unwrap_or(at)));
    let delivered_bits = received.delivered_bytes as f64 * 8.0;
    let (has_transport, is_quic) = (about.has_transport, about.is_quic);
    let multi = about.multi.as_ref();
    let of_tcp = |count: u64| (!is_quic).then_some(count);
    // Only the connections of the product report their limits.
    let time_s = |of: fn(&SendTimes) -> Duration| match has_transport && !is_quic {
        false => f64::NAN,
        true => of(&totals.times).as_secs_f64(),
    };
    FlowRow {
        flow: about.name,
        transport: about.transport,
        cc: about.cc,
        outcome: about.outcome,
        start_s: totals.first_sent.map_or(f64::NAN, Time::as_secs_f64),
        completion_s: since_start(about.completed),
        completion_rx_s: since_start(of_complete(about.ends[0])),
        completion_acked_s: since_start(of_complete(about.ends[1])),
        throughput_bps: ratio(received.arrived_bytes as f64 * 8.0, run_s),
        goodput_bps: ratio(delivered_bits, run_s),
        goodput_active_bps: ratio(delivered_bits, active_s),
        delivered_bytes: received.delivered_bytes,
        acked_bytes: totals.acked_bytes,
        sent_bytes: sent.sent_bytes,
        retransmitted_bytes: of_tcp(sent.retransmitted_bytes),
        sent_packets: sent.sent_segments,
        arrived_packets: totals.arrived_packets(),
        retransmissions: sent.retransmitted_segments,
        spurious_retransmissions: of_tcp(totals.spurious),
        timeouts: of_tcp(sent.timeouts),
        undos: of_tcp(sent.undos),
        timeout_undos: of_tcp(sent.timeout_undos.into()),
        tail_loss_probes: of_tcp(sent.tail_loss_probes.into()),
        probe_repairs: of_tcp(sent.probe_repairs.into()),
        lost_retransmissions: of_tcp(sent.lost_retransmissions.into()),
        reorderings: of_tcp(sent.reorderings.into()),
        fast_retransmits: of_tcp(sent.fast_retransmits),
        marked_packets: of_tcp(received.ce_segments),
        ecn_reductions: of_tcp(sent.ecn_reductions),
        dummy_packets: of_tcp(sent.dummy_segments),
        keepalives: of_tcp(sent.keepalives.into()),
        challenged: of_tcp(sent.challenged),
        tcp_efficiency_pct: match is_quic {
            true => f64::NAN,
            false => 100.0 * ratio((sent.sent_bytes - sent.retransmitted_bytes) as f64, sent.sent_bytes as f64),
        },
        information_efficiency: ratio(sent.sent_bytes as f64, totals.sent_wire_bytes as f64)
            * ratio(totals.arrived_packets() as f64, sent.sent_segments as f64),
        rtt_to: about.rtt_to,
        rtt_min_s: rtts.min_s(),
        rtt_mean_s: rtts.mean_s(),
        rtt_p50_s: rtts.quantile_s(0.50),
        rtt_p95_s: rtts.quantile_s(0.95),
        rtt_p99_s: rtts.quantile_s(0.99),
        cwnd_end_bytes: totals.cwnd.map_or(f64::NAN, |bytes| bytes as f64),
        ssthresh_end_bytes: totals.ssthresh.map_or(f64::NAN, |bytes| bytes as f64),
        start_up_s: time_s(|times| times.limited_by(SendLimit::StartUp)),
        cwnd_limited_s: time_s(|times| times.limited_by(SendLimit::CongestionWindow)),
        rwnd_limited_s: time_s(|times| times.limited_by(SendLimit::ReceiveWindow)),
        send_buffer_limited_s: time_s(|times| times.limited_by(SendLimit::SendBuffer)),
        app_limited_s: time_s(|times| times.limited_by(SendLimit::Application)),
        recovery_s: time_s(|times| times.limited_by(SendLimit::Recovery)),
        timeout_s: time_s(|times| times.limited_by(SendLimit::Timeout)),
        // Over several paths the outages of each are in its own row.
        outage_s: if multi.is_some() { f64::NAN } else { time_s(|times| times.outage) },
        error_recovery_s: time_s(|times| times.error_recovery),
        error_timeout_s: time_s(|times| times.error_timeout),
        congestion_losses: of_tcp(totals.verdicts.losses.congestion),
        link_losses: of_tcp(totals.verdicts.losses.errors),
        reductions: of_tcp(totals.verdicts.reductions),
        spurious_reductions: of_tcp(totals.verdicts.spurious_reductions),
        error_reductions: of_tcp(totals.verdicts.error_reductions),
        errors_taken_for_congestion: of_tcp(totals.verdicts.errors_taken_for_congestion),
        congestion_taken_for_errors: of_tcp(totals.verdicts.congestion_taken_for_errors),
        reinjected_bytes: about.reinjected,
        data_duplicate_bytes: multi.map(|multi| multi.received.data_duplicate_bytes),
        hol_held_s: multi.map_or(f64::NAN, |multi| multi.held.as_secs_f64()),
        hol_held_bytes_max: multi.map(|multi| multi.received.held_bytes_max),
        reordering_depth_max: multi.map(|multi| multi.received.reordering_depth_max),
    }
}

fn quic_row<'a>(flow: &'a Flow, state: &FlowState, totals: Totals, failure: &'a str) -> QuicRow<'a> {
    let totals = totals.engines.map(|engines| *engines).unwrap_or_default();
    let seconds = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_secs_f64);
    QuicRow {
        flow: &flow.name,
        connections: totals.connections,
        idle_timeouts: totals.idle_timeouts,
        handshake_s: seconds(totals.handshake),
        first_byte_s: seconds(totals.first_byte),
        sent_datagrams: totals.sent.sent_datagrams,
        arrived_datagrams: totals.received.received_datagrams,
        declared_lost: totals.sent.declared_lost,
        needless: totals.sent.needless,
        reductions: totals.sent.reductions,
        acks: totals.received.acks,
        blocked: totals.sent.blocked,
        unreadable: totals.sent.unreadable + totals.received.unreadable,
        passed: state.engines.as_ref().map_or(0, |engines| engines.passed),
        failure,
    }
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

fn completion_rows_of<'a>(flow: &'a Flow, completions: &'a Completions) -> impl Iterator<Item = CompletionRow<'a>> {
    completions.classes().enumerate().map(|(index, (sizes, class))| {
        // The class of an incomplete transfer is unknown.
        let of_all = |count: u64| if index == 0 { count as f64 } else { f64::NAN };
        let (durations, slowdowns) = (&class.durations, &class.slowdowns);
        CompletionRow {
            flow: &flow.name,
            sizes,
            transfers: durations.count(),
            failed: of_all(completions.failed),
            unfinished: of_all(completions.unfinished()),
            size_mean_bytes: ratio(class.bytes as f64, durations.count() as f64),
            duration_mean_s: durations.mean_s(),
            duration_min_s: durations.min_s(),
            duration_p50_s: durations.quantile_s(0.50),
            duration_p95_s: durations.quantile_s(0.95),
            duration_p99_s: durations.quantile_s(0.99),
            slowdown_mean: slowdowns.mean_s(),
            slowdown_p50: slowdowns.quantile_s(0.50),
            slowdown_p99: slowdowns.quantile_s(0.99),
        }
    })
}

/// Returns the row of a flow, if it sends datagrams.
fn datagram_row<'a>(scenario: &'a Scenario, flow: &'a Flow, state: &FlowState) -> Option<DatagramRow<'a>> {
    let arrived = state.arrived.as_deref()?;
    let (totals, file) = (state.totals(), arrived.file.as_deref());
    let [sent, arrived_packets] = match flow.transport.quic() {
        Some(_) => [arrived.sent, arrived.delays.count()],
        None => [totals.sent.sent_segments, totals.received.arrived_segments],
    };
    Some(DatagramRow {
        flow: &flow.name,
        receiver: &scenario.nodes[flow.to].name,
        sent_packets: sent,
        arrived_packets,
        lost_packets: arrived.lost,
        loss_pct: 100.0 * ratio(arrived.lost as f64, sent as f64),
        delay_min_s: arrived.delays.min_s(),
        delay_mean_s: arrived.delays.mean_s(),
        delay_p50_s: arrived.delays.quantile_s(0.50),
        delay_p95_s: arrived.delays.quantile_s(0.95),
        delay_p99_s: arrived.delays.quantile_s(0.99),
        jitter_s: arrived.jitter_s(),
        interarrival_jitter_s: arrived.interarrival_jitter_s(),
        late_packets: flow.app.playout().map_or(f64::NAN, |_| arrived.late as f64),
        file_complete_s: file.and_then(|file| file.complete).map_or(f64::NAN, Duration::as_secs_f64),
        file_lacks_packets: file.map_or(f64::NAN, |file| file.lacking as f64),
    })
}
