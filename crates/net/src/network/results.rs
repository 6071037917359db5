//! Builds the tables of a run from its components. Definitions: [`dictionary`](bentpipe_model::dictionary).

use super::silence;
use crate::link::{GrantCounts, LazyLink, LinkAtEnd};
use crate::record::{ratio, Drops, Histogram, Names, Recorded, Recorder, RunResult, StopReason};
use crate::traffic::Traffic;
use bentpipe_access::{FrameCounters, FramesOf, Length, LogOnCounters, MediumCounters, Modcod, Waveform};
use bentpipe_model::dictionary::{
    CompletionRow, DatagramRow, FlowRow, LinkRow, MediumRow, ModcodRow, ProbeRow, QuicRow, SubflowRow, SummaryRow,
    Table, TerminalRow,
};
use bentpipe_model::ids::LinkId;
use bentpipe_model::middlebox::{AnyMiddlebox, Middlebox};
use bentpipe_model::spec::{Medium, MediumKind, Scenario};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Packets into and out of the network: sent = delivered + lost + in flight.
///
/// Packets in flight that are not queued or stranded are on links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: u64,
    /// Packets in flight that wait for a link that is up, or in a middlebox.
    pub(crate) queued: u64,
    /// Packets in flight that wait for a link that is away or down.
    pub(crate) stranded: u64,
}

impl Ledger {
    /// Sets the packets in flight: those that middleboxes hold, and those of the links.
    pub(crate) fn set_in_flight(&mut self, held: usize, links: impl Iterator<Item = LinkAtEnd>) {
        (self.in_flight, self.queued, self.stranded) = (held as u64, held as u64, 0);
        for LinkAtEnd { packets, waiting, is_up } in links {
            self.in_flight += packets as u64;
            *if is_up { &mut self.queued } else { &mut self.stranded } += waiting as u64;
        }
    }
}

/// The end of a run: reason and instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    pub(crate) stop: StopReason,
    pub(crate) at: Time,
    pub(crate) ledger: Ledger,
}

/// Builds the tables of a run of `scenario`. Call `advance` on all links before.
pub(crate) fn assemble(
    scenario: &Scenario,
    end: RunEnd,
    traffic: &Traffic,
    links: &[LazyLink],
    drops: &Drops,
    mut recorder: Recorder,
) -> RunResult {
    let samples = |series| links.iter().map(move |link| link.sample(series));
    recorder.on_end(end.at, |series| traffic.report().samples(series), samples);
    let names = names(scenario);
    let flows = traffic.report().flow_rows(scenario, end.at);
    let (of_flows, of_subflows): (Vec<_>, Vec<_>) = traffic.report().subflow_rows(scenario, end.at).into_iter().unzip();
    let summary = summary(scenario, end, &flows, links, traffic);
    let Recorded { series, coverage, events, transfers, notes: of_tables } = recorder.finish(&names);
    let mut notes = scenario.notes();
    notes.extend(silence::notes(scenario, end.at.as_secs_f64(), &flows, drops, &names));
    notes.extend(of_tables);
    RunResult {
        flows: FlowRow::table(flows),
        subflows: FlowRow::table(of_flows).beside(SubflowRow::table(of_subflows)),
        links: LinkRow::table(names.links.iter().zip(links).map(|(name, link)| link.row(name, end.at))),
        drops: drops.table(&names),
        completions: CompletionRow::table(traffic.report().completion_rows(scenario)),
        transfers,
        datagrams: DatagramRow::table(traffic.report().datagram_rows(scenario)),
        probes: ProbeRow::table(traffic.report().probe_rows(scenario)),
        quic: QuicRow::table(traffic.report().quic_rows(scenario, end.at)),
        media: MediumRow::table([]),
        terminals: TerminalRow::table([]),
        modcods: ModcodRow::table([]),
        summary,
        series,
        coverage,
        events,
        notes,
    }
}

/// Grants of a medium in a run.
#[derive(Clone, Debug)]
pub(crate) struct MediumGrants {
    /// Counts of the medium.
    pub(crate) counters: MediumCounters,
    /// Counts of log-ons, and the length of a superframe in s.
    pub(crate) log_ons: (LogOnCounters, f64),
    /// Bursts by waveform.
    pub(crate) bursts: BTreeMap<Waveform, u64>,
    /// Counts of its links.
    pub(crate) links: Vec<(LinkId, GrantCounts)>,
    /// Counts of packets for several links, if it is a forward carrier.
    pub(crate) broadcasts: Vec<GrantCounts>,
    /// Frames, if it is a forward carrier.
    pub(crate) frames: Option<FramesSent>,
}

/// Frames of a forward carrier in a run.
#[derive(Clone, Debug)]
pub(crate) struct FramesSent {
    /// Counts of the carrier.
    pub(crate) counters: FrameCounters,
    /// Frames by modulation and code.
    pub(crate) by_modcod: Vec<(Modcod, FramesOf)>,
}

impl MediumGrants {
    /// Grants to these links, without counts of the medium.
    pub(crate) fn of(links: Vec<(LinkId, GrantCounts)>) -> Self {
        Self {
            counters: MediumCounters::default(),
            log_ons: (LogOnCounters::default(), 0.0),
            bursts: BTreeMap::new(),
            links,
            broadcasts: Vec::new(),
            frames: None,
        }
    }
}

/// Adds the tables of the media, each with its grants, of a run that ended at `at`.
pub(crate) fn add_media(result: &mut RunResult, scenario: &Scenario, media: &[MediumGrants], at: Time) {
    let run_s = at.as_secs_f64();
    let each = || scenario.media.iter().zip(media);
    result.media = MediumRow::table(each().map(|(medium, grants)| medium_row(&medium.name, grants)));
    result.terminals = TerminalRow::table(each().flat_map(|(medium, grants)| {
        grants.links.iter().map(|(link, counts)| TerminalRow {
            link: &scenario.links[*link].name,
            medium: &medium.name,
            grant_wait_mean_s: counts.delays.waits.mean_s(),
            grant_wait_p95_s: counts.delays.waits.quantile_s(0.95),
            asking_mean_s: counts.delays.means_s()[0],
            behind_mean_s: counts.delays.means_s()[1],
            turn_mean_s: counts.delays.means_s()[2],
            sending_mean_s: counts.delays.means_s()[3],
            air_mean_s: counts.delays.means_s()[4],
            granted_bps: ratio(counts.granted as f64 * 8.0, run_s),
            unused_share: ratio((counts.granted - counts.used) as f64, counts.granted as f64),
        })
    }));
    result.modcods = ModcodRow::table(each().flat_map(|(medium, grants)| modcod_rows(medium, grants)));
}

/// Rows of the modulations and codes of a medium, by number.
fn modcod_rows<'a>(medium: &'a Medium, grants: &MediumGrants) -> Vec<ModcodRow<'a>> {
    let row = |(number, modcod, bursts, time_s): (u32, &'static str, u64, f64)| ModcodRow {
        medium: &medium.name,
        waveform: number.into(),
        modcod,
        bursts,
        time_s,
    };
    match (&medium.kind, &grants.frames) {
        (MediumKind::MfTdma(keys), _) => {
            let slot_s = keys.grid().slot().as_secs_f64();
            let of = |(waveform, &bursts): (&Waveform, &u64)| {
                (waveform.id(), waveform.name(), bursts, bursts as f64 * slot_s)
            };
            grants.bursts.iter().map(of).map(row).collect()
        }
        (MediumKind::Tdm(keys), Some(sent)) => {
            let time_s =
                |modcod, length, frames: u64| frames as f64 * keys.frames().duration(modcod, length).as_secs_f64();
            let of = |&(modcod, FramesOf { normal, short }): &(Modcod, FramesOf)| {
                let time_s = time_s(modcod, Length::Normal, normal) + time_s(modcod, Length::Short, short);
                (modcod.id(), modcod.as_str(), normal + short, time_s)
            };
            let mut found: Vec<_> = sent.by_modcod.iter().map(of).filter(|of| of.2 > 0).collect();
            found.sort_by_key(|of| of.0);
            found.into_iter().map(row).collect()
        }
        // A cell has one rate.
        (MediumKind::Tdm(_) | MediumKind::LeoCell(_), _) => Vec::new(),
    }
}

fn medium_row<'a>(name: &'a str, grants: &MediumGrants) -> MediumRow<'a> {
    let all = || grants.links.iter().map(|(_, counts)| counts).chain(&grants.broadcasts);
    let sum = |of: fn(&GrantCounts) -> u64| all().map(of).sum::<u64>();
    let (mut granted, mut used) = (sum(|counts| counts.granted), sum(|counts| counts.used));
    let (carried, headers) = (sum(|counts| counts.carried), sum(|counts| counts.headers));
    let mut plans_inside = 0;
    if let Some(FramesSent { counters, .. }) = &grants.frames {
        (granted, used, plans_inside) = (counters.bytes, counters.bytes, counters.plans);
    }
    let mut waits = Histogram::default();
    grants.links.iter().for_each(|(_, counts)| waits.merge(&counts.delays.waits));
    let shares: Vec<f64> = grants.links.iter().map(|(_, counts)| counts.carried as f64).collect();
    let (counters, (log_ons, superframe_s)) = (grants.counters, grants.log_ons);
    MediumRow {
        medium: name,
        granted_bytes: granted,
        used_bytes: used,
        carried_bytes: carried,
        header_bytes: headers,
        padding_bytes: used - carried - headers - plans_inside,
        unused_bytes: granted - used,
        control_slots: counters.control_slots,
        plan_bytes: counters.plan_bytes + plans_inside,
        requests_in_bursts: counters.requests_in_bursts,
        requests_in_control: counters.requests_in_control,
        requests_in_random: counters.requests_in_random,
        requests_lost: counters.requests_lost,
        random_bursts: counters.random_bursts,
        random_lost: counters.random_lost,
        log_ons: log_ons.done,
        log_on_bursts: log_ons.bursts,
        log_on_lost: log_ons.lost,
        log_on_mean_s: ratio(log_ons.superframes as f64 * superframe_s, log_ons.done as f64),
        log_on_max_s: ratio(log_ons.longest as f64 * superframe_s, f64::from(u8::from(log_ons.done > 0))),
        grant_wait_mean_s: waits.mean_s(),
        grant_wait_p95_s: waits.quantile_s(0.95),
        jain: jain(&shares),
    }
}

/// Names for rows.
pub(crate) fn names(scenario: &Scenario) -> Names<'_> {
    Names {
        flows: scenario.entities().0,
        links: scenario.links.iter().map(|link| link.name.as_str()).collect(),
        nodes: scenario.nodes.iter().map(|node| node.name.as_str()).collect(),
    }
}

/// Notes of proxies about acknowledged data that they lost, and notes of other middleboxes. `boxes` are the middleboxes of
/// each node.
pub(crate) fn notes_of_functions<'a>(
    scenario: &'a Scenario,
    boxes: impl Iterator<Item = &'a [AnyMiddlebox]> + 'a,
) -> impl Iterator<Item = String> + 'a {
    let all = scenario.nodes.iter().zip(boxes).flat_map(|(node, boxes)| boxes.iter().map(|held| (&node.name, held)));
    all.flat_map(|(node, function)| {
        let (kind, bytes) = (function.stands_for().unwrap_or(function.name()), function.lost_bytes());
        let lost = (bytes > 0).then(|| {
            format!(
                "pep_lost_bytes = {bytes}: \"{kind}\" at node \"{node}\" had acknowledged them, and they never arrived"
            )
        });
        [lost, function.note().map(|note| format!("\"{kind}\" at node \"{node}\": {note}"))].into_iter().flatten()
    })
}

fn summary(scenario: &Scenario, end: RunEnd, flows: &[FlowRow<'_>], links: &[LazyLink], traffic: &Traffic) -> Table {
    let transfers = traffic.report().completions();
    let total = transfers.total();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let (completion_mean_s, completion_bound_s) = completion_s(scenario, end, flows);
    SummaryRow::table([SummaryRow {
        stop: end.stop.name(),
        simulated_s: end.at.as_secs_f64(),
        goodput_bps: goodputs.iter().sum(),
        jain: jain(&goodputs),
        sent_packets: end.ledger.sent,
        delivered_packets: end.ledger.delivered,
        lost_packets: end.ledger.lost,
        in_flight_packets: end.ledger.in_flight,
        on_links_packets: end.ledger.in_flight - end.ledger.queued - end.ledger.stranded,
        queued_packets: end.ledger.queued,
        stranded_packets: end.ledger.stranded,
        packet_hops: links.iter().map(LazyLink::carried_packets).sum(),
        completion_mean_s,
        completion_bound_s,
        transfers: transfers.completed(),
        transfers_failed: transfers.failed,
        transfers_unfinished: transfers.unfinished(),
        transfer_mean_s: total.durations.mean_s(),
        transfer_p50_s: total.durations.quantile_s(0.50),
        transfer_p95_s: total.durations.quantile_s(0.95),
        transfer_p99_s: total.durations.quantile_s(0.99),
        slowdown_mean: total.slowdowns.mean_s(),
    }])
}

/// Mean over the flows that end by themselves, and a lower bound of it. The mean is NaN if any of them did not complete:
/// without that flow, the mean would reward a failure.
fn completion_s(scenario: &Scenario, end: RunEnd, flows: &[FlowRow<'_>]) -> (f64, f64) {
    // A flow that gave up early would not have completed by the end of the run either.
    let last = if end.stop == StopReason::Interrupted { end.at } else { Time::ZERO + scenario.duration };
    let (mut sum, mut least, mut count) = (0.0, 0.0, 0.0);
    for (_, row) in scenario.flows.iter().zip(flows).filter(|(flow, _)| flow.app.has_end()) {
        let had = if row.start_s.is_nan() { 0.0 } else { last.as_secs_f64() - row.start_s };
        sum += row.completion_s;
        least += if row.completion_s.is_nan() { had } else { row.completion_s };
        count += 1.0;
    }
    (ratio(sum, count), ratio(least, count))
}

/// Jain's index (D. Chiu and R. Jain 1989); NaN if no flow delivered data.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    ratio(sum * sum, squares * shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::jain;

    /// `docs/specs/metrics.md`, test 3.
    #[test]
    fn jain_index_worked_cases() {
        assert!((jain(&[10.0, 20.0, 30.0]) - 0.857_143).abs() < 1e-6);
        assert!((jain(&[1.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(&[5.0; 7]) - 1.0).abs() < 1e-12);
        assert!(jain(&[0.0]).is_nan());
    }
}
