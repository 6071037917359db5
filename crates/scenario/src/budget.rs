//! The budget of a scenario: events, memory and objects of a run, and their bounds.
//!
//! Reading a scenario ends here, so every command refuses the same scenario with the same number: `check`, `run`, each
//! point of a sweep, each condition of a search, and the studio.

use super::routes_over_time::RoutesOverTime;
use bentpipe_model::dictionary;
use bentpipe_model::ids::LinkId;
use bentpipe_model::spec::{
    ratio, rounds, App, Capacity, Downtimes, Flow, Lane, Link, MediumKind, Outage, Profile, QueueLimit, Scenario, Tdm,
};
use bentpipe_tcp::{Config, Feedback};
use bentpipe_units::Duration;

/// Largest number of flows: a million take about four gigabytes.
pub(super) const FLOWS_MAX: u64 = 1_000_000;
/// Largest number of links of a scenario with few flows: two gigabytes.
const LINKS_ALONE_MAX: u64 = 400_000;
/// Largest number of links: those of a million flows with one link at each end, and the links between them.
const LINKS_MAX: u64 = 2_100_000;
/// Largest number of points, spans, indices, changes and route steps in all instances: hundreds of megabytes.
pub(super) const ENTRIES_MAX: u64 = 20_000_000;
/// Largest number of packet-hops: almost an hour.
const HOPS_MAX: f64 = 1e11;
/// Largest number of link changes, samples and reads.
const CHANGES_MAX: f64 = 1e9;
/// Largest number of outages and states of errors of a link. An idle link goes through all of them in one event, which
/// Ctrl-C cannot end: about two seconds.
const STATES_MAX: f64 = 1e7;
/// Largest number of arrivals.
const TRANSFERS_MAX: f64 = 1e6;
/// Largest number of records.
const RECORDS_MAX: f64 = 3e7;
/// Largest number of probes.
const PROBES_MAX: f64 = 1e7;
/// Largest number of packets that wait before a link.
const WAITING_MAX: f64 = 1e7;
/// Largest memory in bytes: a million flows with all their links fit.
const MEMORY_MAX: f64 = 16e9;

/// Measured bytes of a flow with its connection.
const FLOW_BYTES: f64 = 4e3;
/// Measured bytes of a direction of a link.
const LINK_BYTES: f64 = 2.5e3;
/// Bytes of a packet that waits or is under way: 64 on a link, the others at its sender until it is acknowledged.
const PACKET_BYTES: f64 = 160.0;
/// Bytes of a transfer that is still open at the end of the run.
const TRANSFER_BYTES: f64 = 4e3;
/// Bytes of a record that waits until the end of the run, in a buffer that doubles.
const RECORD_BYTES: f64 = 64.0;
/// Bytes of a report of a signal under way, in a list that doubles.
const REPORT_BYTES: f64 = 32.0;
/// Bytes of a probe with its row in Python.
const PROBE_BYTES: f64 = 300.0;

/// Bytes of headers in a data packet, without options.
const HEADERS: u64 = 40;

/// Cost of a run, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Packet-hops, changes of links, reads and samples.
    pub events: f64,
    /// Bytes.
    pub memory: f64,
}

/// Reason why a scenario costs too much.
pub(super) struct TooMuch {
    /// Key that causes the cost. For a link, its name with the direction stands for the keys of its entry.
    pub(super) key: Vec<String>,
    /// Start of the message: `would take about 1e12 packet-hops`.
    pub(super) message: String,
    /// Limit, and the change that helps.
    pub(super) expected: String,
}

impl TooMuch {
    fn new<const N: usize>(key: [&str; N], message: String, expected: String) -> Self {
        Self { key: key.map(str::to_owned).to_vec(), message, expected }
    }
}

/// Returns the largest number of links of a scenario with `flows` flows: most links may be idle only if they are few.
pub(super) fn links_max(flows: u64) -> u64 {
    flows.saturating_mul(2).saturating_add(LINKS_ALONE_MAX).min(LINKS_MAX)
}

/// Returns the cost of a run.
///
/// # Errors
///
/// It is above a bound: the estimate, and the change that helps.
pub(super) fn estimate(scenario: &Scenario, routes: &RoutesOverTime) -> Result<Cost, TooMuch> {
    let hops = count_hops(scenario, routes)?;
    let objects = count_objects(scenario)?;
    let changes = count_changes(scenario)?;
    let waiting = count_waiting(scenario, routes)?;
    let samples = count_samples(scenario)?;
    let reports = count_reports(scenario)?;
    let memory = [
        (FLOW_BYTES * scenario.flows.len() as f64, "flows"),
        (LINK_BYTES * scenario.links.len() as f64, "links"),
        (PACKET_BYTES * (waiting + hops.in_flight), "packets under way"),
        (objects.iter().sum(), "transfers, records and probes"),
        (REPORT_BYTES * reports.in_flight, "reports of signals"),
        (
            scenario.flows.iter().filter_map(|flow| flow.app.layout()).map(|file| file.memory()).sum(),
            "files at receivers",
        ),
    ];
    let bytes: f64 = memory.iter().map(|(bytes, _)| bytes).sum();
    if bytes > MEMORY_MAX {
        let most = memory.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, what)| what);
        let message = format!("makes the run take about {bytes:.1e} B of memory, most of them for {most}");
        let expected = format!("expected at most {MEMORY_MAX:.1e} B; expected fewer {most} or a shorter duration");
        return Err(TooMuch::new(["duration"], message, expected));
    }
    Ok(Cost { events: hops.total + changes + samples + reports.total, memory: bytes })
}

/// Reports of signals in a run, and the largest number under way.
struct Reports {
    total: f64,
    in_flight: f64,
}

fn count_reports(scenario: &Scenario) -> Result<Reports, TooMuch> {
    let mut reports = Reports { total: 0.0, in_flight: 0.0 };
    let mut last = None;
    for link in &scenario.links {
        let Some(medium) = link.terminal.as_ref().map(|of| &scenario.media[of.medium]) else { continue };
        let MediumKind::Tdm(Tdm { modcod: None, acm, .. }) = &medium.kind else { continue };
        reports.total += ratio(scenario.duration, acm.every);
        reports.in_flight += ratio(link.delay_max(), acm.every);
        last = Some(medium);
    }
    let Some(medium) = last.filter(|_| reports.total > CHANGES_MAX) else { return Ok(reports) };
    let message = format!("makes about {:.1e} reports in {}", reports.total, scenario.duration);
    let expected = format!("expected at most {CHANGES_MAX:.0e}; lengthen acm.every or shorten the duration");
    Err(TooMuch::new(["medium", &medium.name], message, expected))
}

/// Packet-hops of a run, and the largest number of packets under way.
struct Hops {
    total: f64,
    in_flight: f64,
}

fn count_hops(scenario: &Scenario, routes: &RoutesOverTime) -> Result<Hops, TooMuch> {
    let users = routes.peaks(scenario.users(), scenario.links.len(), |_| |_| [1.0]);
    let mut flows = vec![(0.0, 0, 0.0_f64); scenario.flows.len()];
    for (&Lane { flow, .. }, ways) in routes.each(&scenario.lanes) {
        let load = Load::of(scenario, &scenario.flows[flow], ways, &users);
        let (hops, links, in_flight) = &mut flows[flow];
        if load.hops >= *hops {
            (*hops, *links) = (load.hops, ways[0].len());
        }
        *in_flight = in_flight.max(load.in_flight);
    }
    let total: f64 = flows.iter().map(|(hops, ..)| hops).sum();
    let most = flows.iter().zip(&scenario.flows).max_by(|a, b| a.0 .0.total_cmp(&b.0 .0));
    if let Some(((hops, links, _), flow)) = most.filter(|_| total > HOPS_MAX) {
        let message = format!(
            "makes the run take about {total:.1e} packet-hops, {hops:.1e} of them for flow \"{}\" ({} over {links} links and back)",
            flow.name, scenario.duration,
        );
        let expected = format!("expected at most {HOPS_MAX:.0e}; lower the rate or the duration");
        return Err(TooMuch::new(["duration"], message, expected));
    }
    Ok(Hops { total, in_flight: flows.iter().map(|(.., in_flight)| in_flight).sum() })
}

/// Returns the bytes of the transfers, the records and the probes of a run.
fn count_objects(scenario: &Scenario) -> Result<[f64; 3], TooMuch> {
    let seconds = scenario.duration.as_secs_f64();
    let counted =
        |count: fn(&App, f64) -> f64| scenario.flows.iter().map(|flow| count(&flow.app, seconds)).sum::<f64>();
    let transfers = counted(|app, seconds| if let App::Arrivals(app) = app { app.transfers(seconds) } else { 0.0 });
    let records = counted(|app, seconds| if let App::Records(app) = app { app.records(seconds) } else { 0.0 });
    let probes = counted(|app, seconds| if let App::Probe(app) = app { app.probes(seconds) } else { 0.0 });
    for (total, most, of, remedy) in [
        (transfers, TRANSFERS_MAX, "transfers arrive", "lower the load"),
        (records, RECORDS_MAX, "records", "lengthen their interval"),
        (probes, PROBES_MAX, "probes", "lengthen their interval"),
    ] {
        if total > most {
            let message = format!("makes about {total:.1e} {of}");
            let expected = format!("expected at most {most:.0e}; {remedy} or shorten the duration");
            return Err(TooMuch::new(["duration"], message, expected));
        }
    }
    Ok([transfers * TRANSFER_BYTES, records * RECORD_BYTES, probes * PROBE_BYTES])
}

fn count_changes(scenario: &Scenario) -> Result<f64, TooMuch> {
    let changes = scenario
        .links
        .iter()
        .flat_map(|link| link_changes(link, scenario.duration).map(|(key, count)| (link.name.as_str(), key, count)));
    let total: f64 = changes.clone().map(|change| change.2).sum();
    let too_many = |(link, key, count): (&str, &str, f64), most: f64, of: &str| {
        let message = format!("changes about {count:.1e} times in {}", scenario.duration);
        let expected =
            format!("expected at most {most:.0e} changes {of}; expected fewer changes or a shorter duration");
        Err(TooMuch::new(["link", link, key], message, expected))
    };
    let states = changes.clone().filter(|(_, key, _)| ["outage", "error"].contains(key));
    if let Some(most) = states.max_by(|a, b| a.2.total_cmp(&b.2)).filter(|most| most.2 > STATES_MAX) {
        return too_many(most, STATES_MAX, "of a link");
    }
    if let Some(most) = changes.max_by(|a, b| a.2.total_cmp(&b.2)).filter(|_| total > CHANGES_MAX) {
        return too_many(most, CHANGES_MAX, "over all links");
    }
    let reads =
        scenario.flows.iter().map(|flow| (flow, flow.reader.map_or(0.0, |r| ratio(scenario.duration, r.every))));
    let all: f64 = reads.clone().map(|(_, count)| count).sum();
    let most = reads.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((flow, count)) = most.filter(|_| all > CHANGES_MAX) {
        let message = format!("makes about {all:.1e} reads, {count:.1e} of them for flow \"{}\"", flow.name);
        let expected = format!("expected at most {CHANGES_MAX:.0e}; lengthen reader.every or shorten the duration");
        return Err(TooMuch::new(["duration"], message, expected));
    }
    Ok(total + all)
}

/// Returns the packets that wait at the end of the run, over all links.
fn count_waiting(scenario: &Scenario, routes: &RoutesOverTime) -> Result<f64, TooMuch> {
    let waiting = waiting(scenario, routes);
    let most = scenario.links.iter().zip(&waiting).max_by(|a, b| a.1.total_cmp(b.1));
    if let Some((link, count)) = most.filter(|(_, count)| **count > WAITING_MAX) {
        let message = format!("makes about {count:.1e} packets wait in {}", scenario.duration);
        let expected = format!("expected at most {WAITING_MAX:.0e}; limit the queue, or lower what is sent");
        return Err(TooMuch::new(["link", &link.name, "queue"], message, expected));
    }
    Ok(waiting.iter().sum())
}

fn count_samples(scenario: &Scenario) -> Result<f64, TooMuch> {
    let series = |wanted: dictionary::Entity| {
        let kept = |s: &&dictionary::Series| {
            s.sampled && s.entity == wanted && scenario.record.series.iter().any(|n| n == s.column.name)
        };
        dictionary::SERIES.iter().filter(kept).count() as f64
    };
    let each = series(dictionary::Entity::Flow) * scenario.flows.len() as f64
        + series(dictionary::Entity::Link) * scenario.links.len() as f64;
    let total = each * ratio(scenario.duration, scenario.record.interval);
    if total > CHANGES_MAX {
        let message = format!("makes about {total:.1e} samples: {each:.0} each time");
        let expected = format!("expected at most {CHANGES_MAX:.0e}; lengthen it or keep fewer series");
        return Err(TooMuch::new(["record", "interval"], message, expected));
    }
    Ok(total)
}

/// Load of a flow on its path.
struct Load {
    /// Packets that the flow can send if the flows on a link share it equally, times the links that these packets and
    /// their ACKs cross.
    hops: f64,
    /// Packets that are sent and neither lost nor acknowledged.
    in_flight: f64,
}

impl Load {
    fn of(scenario: &Scenario, flow: &Flow, [route, back]: [&[LinkId]; 2], users: &[[f64; 1]]) -> Self {
        let seconds = scenario.duration.as_secs_f64();
        let share = |&link: &LinkId| scenario.links[link].sustained().as_bps() as f64 / users[link][0].max(1.0);
        let path = route.iter().map(share).fold(f64::INFINITY, f64::min);
        let sum = |delay: fn(&Profile<Duration>) -> Duration| {
            let links = route.iter().chain(back).map(|&link| delay(&scenario.links[link].delay));
            links.fold(Duration::ZERO, |sum, d| sum + d).as_secs_f64()
        };
        let (rtt, longest) = (sum(Profile::<Duration>::least), sum(Profile::<Duration>::largest));
        let packet = (u64::from(flow.transport.payload()) + HEADERS) as f64;
        // The window bounds the rate if the round trip takes time.
        let window = 8.0 * flow.transport.window_max() as f64 / rtt.max(1e-9);
        let packets = path.min(window) * seconds / (8.0 * packet);
        let capacity = Capacity { seconds, rtt_s: rtt, rate: path, packets, smss: flow.transport.payload() };
        let packets = flow.app.packets(&capacity);
        let links = &scenario.links;
        let under_way = match flow.app.datagrams() {
            // Each link carries what the links before it let pass.
            Some((bytes, size)) => route.iter().fold((bytes, 0.0), |(rate, sum), &link| {
                let rate = f64::min(rate, links[link].largest_for(size as u64).as_bps() as f64 / 8.0);
                (rate, sum + rate / size * links[link].delay.largest().as_secs_f64().min(seconds))
            }),
            // The window, or a full path and full queues.
            None => {
                let room = |&link: &LinkId| room(&links[link], packet) / users[link][0].max(1.0);
                let full = path * longest / (8.0 * packet) + route.iter().map(room).sum::<f64>();
                (0.0, full.min(flow.transport.window_max() as f64 / f64::from(flow.transport.payload())))
            }
        };
        let tcp = flow.transport.tcp().filter(|_| flow.app.has_transport());
        let (bursts, burst) = tcp.map_or((0.0, 0.0), |tcp| bursts(scenario, tcp, rtt));
        let hops = packets * (route.len() + back.len()) as f64 + bursts;
        Self { hops, in_flight: under_way.1.min(packets).max(burst) }
    }
}

/// Returns the packets that a sender sends at an instant for any path, over the run and in one burst: the
/// first window, and after a loss that of REFWA Plus if no node writes the window. A queue drops most of them.
fn bursts(scenario: &Scenario, tcp: &Config, rtt_s: f64) -> (f64, f64) {
    let segments = |bytes: u64| bytes.min(tcp.receive_buffer) as f64 / f64::from(tcp.smss);
    let mut middleboxes = scenario.nodes.iter().flat_map(|node| &node.middleboxes);
    if matches!(tcp.feedback, Feedback::RefwaPlus(_)) && !middleboxes.any(|each| WRITERS.contains(&each.name())) {
        let burst = segments(u64::MAX);
        return (burst * (scenario.duration.as_secs_f64() / rtt_s.max(1e-9)).max(1.0), burst);
    }
    let burst = segments(tcp.initial_window.bytes(tcp.smss));
    (burst, burst)
}

/// Middleboxes that write the window.
const WRITERS: [&str; 2] = ["refwa", "ewa"];

/// Returns the packets of a size in bytes that fit into the queue of a link.
fn room(link: &Link, size: f64) -> f64 {
    let limit = |limit: &mut QueueLimit| match *limit {
        QueueLimit::Packets(most) => most as f64,
        QueueLimit::Bytes(most) => most as f64 / size,
        QueueLimit::Unlimited | QueueLimit::Bdp(_) => f64::INFINITY,
    };
    link.queue.clone().limits_mut().into_iter().map(limit).sum()
}

/// Returns the packets that wait before each link at the end of the run. Datagrams do not react to loss, so they may
/// exceed the link's rate. The queue limits bound the result.
fn waiting(scenario: &Scenario, routes: &RoutesOverTime) -> Vec<f64> {
    let seconds = scenario.duration.as_secs_f64();
    let carried = |link: LinkId, size: f64| scenario.links[link].largest_for(size as u64).as_bps() as f64 / 8.0;
    // Offered load of each link in bytes and packets per second.
    let offered = routes.peaks(scenario.users(), scenario.links.len(), |flow| {
        let (mut bytes, size) = scenario.flows[flow].app.datagrams().unwrap_or((0.0, 1.0));
        move |link| {
            let comes = bytes;
            bytes = bytes.min(carried(link, size));
            [comes, comes / size]
        }
    });
    let waiting = |(link, [bytes, packets]): (LinkId, [f64; 2])| {
        let size = bytes / f64::max(packets, f64::MIN_POSITIVE);
        let carried = carried(link, size);
        if bytes > carried {
            (packets * (1.0 - carried / bytes) * seconds).min(room(&scenario.links[link], size))
        } else {
            0.0
        }
    };
    LinkId::all(offered.len()).zip(offered).map(waiting).collect()
}

/// Returns the number of changes of a link, by key.
fn link_changes(link: &Link, run: Duration) -> [(&'static str, f64); 5] {
    let outage = match link.outage.as_deref() {
        Some(Outage { when: Downtimes::Spans { spans, period }, .. }) => rounds(2 * spans.len(), *period, run),
        Some(Outage { when: Downtimes::Random { mean_up, mean_down }, .. }) => 2.0 * ratio(run, *mean_up + *mean_down),
        None => 0.0,
    };
    // An interleaver looks ahead.
    let ahead = run + link.interleaving_delay();
    [
        ("queue", link.queue.changes(run)),
        ("rate", link.rate.changes(run)),
        ("delay", link.delay.changes(run)),
        ("outage", outage),
        ("error", link.error.changes(ahead)),
    ]
}
