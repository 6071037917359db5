//! Rows, series and events of flows and their connections.

use super::dispatch::Traffic;
use super::flow::{FlowState, Totals};
use super::host::Host;
use super::send_times::SendTimes;
use crate::dictionary::{
    CompletionRow, DatagramRow, EventKind, FlowRow, FlowSeries, InsideSeries, ProbeRow, QuicRow, SenderSeries,
};
use crate::ids::FlowId;
use crate::record::{ratio, Completions, InsideValue, Recorder, Sample};
use crate::spec::{App, Flow, Scenario};
use bentpipe_tcp::cc::{Inside, Insides, Quantity, ResumePhase};
use bentpipe_tcp::{Event, PlainSegment, SendLimit};
use bentpipe_units::{Duration, Time};

impl Traffic {
    /// Returns a row for each flow. The run ended at `at`.
    pub(crate) fn flow_rows<'a>(&self, scenario: &'a Scenario, at: Time) -> Vec<FlowRow<'a>> {
        let flows = FlowId::all(scenario.flows.len()).zip(&self.flows).zip(self.totals(at));
        flows.map(|((flow, state), totals)| flow_row(scenario, flow, state, &totals, at)).collect()
    }

    /// Returns the rows of each flow with several transfers: one for each class of sizes.
    pub(crate) fn completion_rows<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = CompletionRow<'a>> {
        let flows = scenario.flows.iter().zip(&self.flows);
        let flows = flows.filter_map(|(flow, state)| Some((flow, state.completions()?)));
        flows.flat_map(|(flow, completions)| completion_rows_of(flow, completions))
    }

    /// Returns the statistics of the transfers of all flows.
    pub(crate) fn completions(&self) -> Completions {
        let mut all = Completions::default();
        self.flows.iter().filter_map(FlowState::completions).for_each(|completions| all.merge(completions));
        all
    }

    /// Returns a row for each flow of datagrams.
    pub(crate) fn datagram_rows<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = DatagramRow<'a>> {
        let row = |(flow, state)| datagram_row(scenario, flow, state);
        scenario.flows.iter().zip(&self.flows).filter_map(row)
    }

    /// Returns the rows of each flow of probes: one for each probe.
    pub(crate) fn probe_rows<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = ProbeRow<'a>> {
        let flows = scenario.flows.iter().zip(&self.flows);
        let flows = flows.filter_map(|(flow, state)| Some((&flow.name, state.arrived.as_ref()?.probes.as_ref()?)));
        flows.flat_map(|(name, probes)| probes.rows(name))
    }

    /// Returns a row for each flow over QUIC. The run ended at `at`.
    pub(crate) fn quic_rows<'a>(&'a self, scenario: &'a Scenario, at: Time) -> Vec<QuicRow<'a>> {
        if scenario.flows.iter().all(|flow| flow.transport.quic().is_none()) {
            return Vec::new();
        }
        let flows = FlowId::all(scenario.flows.len()).zip(&scenario.flows).zip(self.totals(at));
        let flows = flows.filter(|((_, flow), _)| flow.transport.quic().is_some());
        flows.map(|((id, flow), totals)| quic_row(flow, &self.flows[id], totals, self.failure(id))).collect()
    }

    /// Returns the stack's reason for the last connection of a flow that failed; empty without one.
    fn failure(&self, flow: FlowId) -> &str {
        let sessions = self.pool.sessions.iter().filter(|session| session.flow == flow);
        let mut reasons = sessions.filter_map(|session| session.engine.as_ref()?.reason.as_deref());
        reasons.next_back().or_else(|| self.flows[flow].failure()).unwrap_or("")
    }

    /// Returns the counters of each flow at `now`, present sessions included.
    fn totals(&self, now: Time) -> Vec<Totals> {
        let mut totals: Vec<_> = self.flows.iter().map(|flow| (flow.totals(), flow.downtime.clone())).collect();
        for (slot, session) in self.pool.sessions.iter().enumerate() {
            let ends = self.hosts.pair(slot);
            let (totals, path) = &mut totals[session.flow];
            totals.add_session(now, session.counted(), ends, self.flows[session.flow].app.is_two_way());
            for host in ends {
                if let Some(times) = host.times_until(now, path) {
                    totals.times += times;
                }
            }
        }
        totals.into_iter().map(|(totals, _)| totals).collect()
    }

    /// Returns the payload bytes that each flow has delivered.
    fn delivered_bytes(&self) -> Vec<u64> {
        let mut bytes: Vec<u64> = self.flows.iter().map(|flow| flow.totals().delivered_bytes()).collect();
        for (slot, session) in self.pool.sessions.iter().enumerate() {
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
        bytes
    }

    /// Returns the samples of a series, for each flow in order.
    pub(crate) fn samples(&self, series: FlowSeries) -> impl Iterator<Item = Sample> {
        match series {
            FlowSeries::Goodput => self.delivered_bytes().into_iter().map(Sample::Bytes),
        }
    }
}

impl Host {
    /// Records the changes of the sender here since the last call.
    pub(crate) fn record_sender(&self, now: Time, recorder: &mut Recorder) {
        recorder.on_sender(now, self.flow, |series| self.value_of(series));
        if recorder.wants_insides {
            self.conn.inside_cc(&mut Insides::new(&mut |inside| {
                let (series, value) = match inside {
                    Inside::State(name, why) => (InsideSeries::State, InsideValue::State(name, why)),
                    Inside::Shared(quantity, value) => (series_of(quantity), InsideValue::Number(value)),
                    Inside::Own(name, value) => (InsideSeries::Values, InsideValue::Named(name, value)),
                };
                recorder.on_inside(now, self.flow, series, value);
            }));
        }
    }

    /// Returns the value of a series of the sender here, if it has one.
    fn value_of(&self, series: SenderSeries) -> Option<f64> {
        let conn = &self.conn;
        match series {
            SenderSeries::Cwnd => Some(conn.cwnd() as f64),
            SenderSeries::Ssthresh => conn.ssthresh().map(|bytes| bytes as f64),
            SenderSeries::Srtt => conn.srtt().map(Duration::as_secs_f64),
            SenderSeries::Rto => Some(conn.rto().as_secs_f64()),
            SenderSeries::FlightSize => Some(conn.flight_size() as f64),
            SenderSeries::ReceiveWindow => Some(conn.receive_window() as f64),
            SenderSeries::DeliveryRate => Some(conn.rate_sample()?.rate()?.as_bps() as f64),
            SenderSeries::LimitedBy => Some(conn.send_limit().map_or(0.0, |limit| f64::from(limit as u8 + 1))),
            SenderSeries::PacingRate => conn.pacing_rate().map(|rate| rate.as_bps() as f64),
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

fn flow_row<'a>(scenario: &'a Scenario, id: FlowId, state: &FlowState, totals: &Totals, at: Time) -> FlowRow<'a> {
    let flow = &scenario.flows[id];
    let run_s = at.as_secs_f64();
    let (sent, received) = (&totals.sent, &totals.received);
    let since_start = |end: Option<Time>| match (totals.first_sent, end) {
        // A run that is interrupted may have worked ahead of this instant.
        (Some(start), Some(end)) => end.saturating_since(start).as_secs_f64(),
        _ => f64::NAN,
    };
    let of_complete = |at: Time| state.completed.and((at != Time::NEVER).then_some(at));
    let active_s = since_start(Some(state.completed.unwrap_or(at)));
    let delivered_bits = received.delivered_bytes as f64 * 8.0;
    // Only the connections of the product report their limits.
    let has_times = flow.app.has_transport() && flow.transport.quic().is_none();
    let time_s = |of: fn(&SendTimes) -> Duration| match has_times {
        false => f64::NAN,
        true => of(&totals.times).as_secs_f64(),
    };
    FlowRow {
        flow: &flow.name,
        // A port has the transport of programs, which the network does not run.
        cc: if flow.has_connections() { flow.transport.cc_name() } else { "none" },
        outcome: outcome(state),
        start_s: totals.first_sent.map_or(f64::NAN, Time::as_secs_f64),
        completion_s: since_start(state.completed),
        completion_rx_s: since_start(of_complete(state.received)),
        completion_acked_s: since_start(of_complete(state.acked)),
        throughput_bps: ratio(received.arrived_bytes as f64 * 8.0, run_s),
        goodput_bps: ratio(delivered_bits, run_s),
        goodput_active_bps: ratio(delivered_bits, active_s),
        delivered_bytes: received.delivered_bytes,
        acked_bytes: totals.acked_bytes,
        sent_bytes: sent.sent_bytes,
        retransmitted_bytes: sent.retransmitted_bytes,
        sent_packets: sent.sent_segments,
        arrived_packets: totals.arrived_packets(),
        retransmissions: sent.retransmitted_segments,
        spurious_retransmissions: totals.spurious,
        timeouts: sent.timeouts,
        undos: sent.undos,
        timeout_undos: sent.timeout_undos.into(),
        tail_loss_probes: sent.tail_loss_probes.into(),
        probe_repairs: sent.probe_repairs.into(),
        lost_retransmissions: sent.lost_retransmissions.into(),
        reorderings: sent.reorderings.into(),
        fast_retransmits: sent.fast_retransmits,
        marked_packets: received.ce_segments,
        ecn_reductions: sent.ecn_reductions,
        dummy_packets: sent.dummy_segments,
        keepalives: sent.keepalives.into(),
        challenged: sent.challenged,
        tcp_efficiency_pct: 100.0 * ratio((sent.sent_bytes - sent.retransmitted_bytes) as f64, sent.sent_bytes as f64),
        information_efficiency: ratio(sent.sent_bytes as f64, totals.sent_wire_bytes as f64)
            * ratio(totals.arrived_packets() as f64, sent.sent_segments as f64),
        rtt_to: match &*flow.app {
            App::Probe(_) => &scenario.nodes[flow.to].name,
            _ if flow.has_connections() => &scenario.nodes[scenario.answers_for(id)].name,
            _ => "",
        },
        rtt_min_s: state.rtts.min_s(),
        rtt_mean_s: state.rtts.mean_s(),
        rtt_p50_s: state.rtts.quantile_s(0.50),
        rtt_p95_s: state.rtts.quantile_s(0.95),
        rtt_p99_s: state.rtts.quantile_s(0.99),
        cwnd_end_bytes: totals.cwnd.map_or(f64::NAN, |bytes| bytes as f64),
        ssthresh_end_bytes: totals.ssthresh.map_or(f64::NAN, |bytes| bytes as f64),
        start_up_s: time_s(|times| times.limited_by(SendLimit::StartUp)),
        cwnd_limited_s: time_s(|times| times.limited_by(SendLimit::CongestionWindow)),
        rwnd_limited_s: time_s(|times| times.limited_by(SendLimit::ReceiveWindow)),
        send_buffer_limited_s: time_s(|times| times.limited_by(SendLimit::SendBuffer)),
        app_limited_s: time_s(|times| times.limited_by(SendLimit::Application)),
        recovery_s: time_s(|times| times.limited_by(SendLimit::Recovery)),
        timeout_s: time_s(|times| times.limited_by(SendLimit::Timeout)),
        outage_s: time_s(|times| times.outage),
        error_recovery_s: time_s(|times| times.error_recovery),
        error_timeout_s: time_s(|times| times.error_timeout),
        congestion_losses: totals.verdicts.losses.congestion,
        link_losses: totals.verdicts.losses.errors,
        reductions: totals.verdicts.reductions,
        spurious_reductions: totals.verdicts.spurious_reductions,
        error_reductions: totals.verdicts.error_reductions,
        errors_taken_for_congestion: totals.verdicts.errors_taken_for_congestion,
        congestion_taken_for_errors: totals.verdicts.congestion_taken_for_errors,
    }
}

fn quic_row<'a>(flow: &'a Flow, state: &FlowState, totals: Totals, failure: &'a str) -> QuicRow<'a> {
    let totals = totals.engines.map(|engines| *engines).unwrap_or_default();
    let seconds = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_secs_f64);
    QuicRow {
        flow: &flow.name,
        handshake_s: seconds(totals.handshake),
        first_byte_s: seconds(totals.first_byte),
        sent_datagrams: totals.sent.sent_datagrams,
        arrived_datagrams: totals.received.received_datagrams,
        declared_lost: totals.sent.declared_lost,
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
    let totals = state.totals();
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
    })
}
