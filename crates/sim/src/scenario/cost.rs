//! Estimates the cost of a run and rejects runs that would take days.

use super::routes_over_time::RoutesOverTime;
use crate::dictionary;
use crate::ids::LinkId;
use crate::spec::{ratio, rounds, App, Capacity, Downtimes, Flow, Link, Outage, Profile, QueueLimit, Scenario};
use bentpipe_units::Duration;

/// Largest number of packet-hops: almost an hour.
const HOPS_MAX: f64 = 1e11;
/// Largest number of link changes and samples.
const CHANGES_MAX: f64 = 1e9;
/// Largest number of arrivals. Each may still be open at the end of the run and takes some kilobytes.
const TRANSFERS_MAX: f64 = 1e6;
/// Largest number of records. Each may wait until the end of the run and takes 32 bytes, in a buffer that doubles.
const RECORDS_MAX: f64 = 3e7;
/// Largest number of probes. Each has a row of the result, and takes up to a hundred bytes.
const PROBES_MAX: f64 = 1e7;
/// Largest number of waiting packets: half a gigabyte or more.
const WAITING_MAX: f64 = 1e7;
/// Largest number of links of a scenario with few flows: two gigabytes, 5 kB for each.
const LINKS_ALONE_MAX: u64 = 400_000;
/// Largest number of links: those of a million flows with one link at each end, and the links between them.
const LINKS_MAX: u64 = 2_100_000;
/// Bytes of headers in a data packet, without options.
pub(super) const HEADERS: u64 = 40;

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
    fn new<const N: usize>(key: [&str; N], message: String, expected: String) -> Option<Self> {
        Some(Self { key: key.map(str::to_owned).to_vec(), message, expected })
    }
}

/// Returns the largest number of links of a scenario with `flows` flows: most links may be idle only if they are few.
pub(super) fn links_max(flows: u64) -> u64 {
    flows.saturating_mul(2).saturating_add(LINKS_ALONE_MAX).min(LINKS_MAX)
}

/// Returns an error if a scenario costs too much: the estimate, and the change that helps.
pub(super) fn refuse(scenario: &Scenario, routes: &RoutesOverTime) -> Option<TooMuch> {
    let users = routes.peaks(&scenario.flows, scenario.links.len(), |_| |_| [1.0]);
    let mut hops = vec![(0.0, 0); scenario.flows.len()];
    for (flow, ways) in routes.each(&scenario.flows) {
        let most = packet_hops(scenario, &scenario.flows[flow], ways, &users);
        if most >= hops[flow].0 {
            hops[flow] = (most, ways[0].len());
        }
    }
    let hops = hops.into_iter();
    let total: f64 = hops.clone().map(|(hops, _)| hops).sum();
    if total > HOPS_MAX {
        let most = hops.zip(&scenario.flows).max_by(|a, b| a.0 .0.total_cmp(&b.0 .0))?;
        let message = format!(
            "makes the run take about {total:.1e} packet-hops, {:.1e} of them for flow \"{}\" ({} over {} links and back)",
            most.0 .0,
            most.1.name,
            scenario.duration,
            most.0 .1,
        );
        let expected = format!("expected at most {HOPS_MAX:.0e}; lower the rate or the duration");
        return TooMuch::new(["duration"], message, expected);
    }
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
            return TooMuch::new(["duration"], message, expected);
        }
    }
    let changes = scenario
        .links
        .iter()
        .flat_map(|link| link_changes(link, scenario.duration).map(|(key, count)| (link.name.as_str(), key, count)));
    let total: f64 = changes.clone().map(|change| change.2).sum();
    if total > CHANGES_MAX {
        let (link, key, count) = changes.max_by(|a, b| a.2.total_cmp(&b.2))?;
        let message = format!("changes about {count:.1e} times in {}", scenario.duration);
        let expected = format!(
            "expected at most {CHANGES_MAX:.0e} changes over all links; expected fewer changes or a shorter duration"
        );
        return TooMuch::new(["link", link, key], message, expected);
    }
    let waiting = scenario.links.iter().zip(waiting(scenario, routes));
    if let Some((link, count)) = waiting.filter(|(_, count)| *count > WAITING_MAX).max_by(|a, b| a.1.total_cmp(&b.1)) {
        let message = format!("makes about {count:.1e} packets wait in {}", scenario.duration);
        let expected = format!("expected at most {WAITING_MAX:.0e}; limit the queue, or lower what is sent");
        return TooMuch::new(["link", &link.name, "queue"], message, expected);
    }
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
        return TooMuch::new(["record", "interval"], message, expected);
    }
    None
}

/// Returns the packets that the flow can send if the flows on a link share it equally, times the links that these
/// packets and their ACKs cross.
fn packet_hops(scenario: &Scenario, flow: &Flow, [route, back]: [&[LinkId]; 2], users: &[[f64; 1]]) -> f64 {
    let seconds = scenario.duration.as_secs_f64();
    let share = |&link: &LinkId| scenario.links[link].sustained().as_bps() as f64 / users[link][0].max(1.0);
    let path = route.iter().map(share).fold(f64::INFINITY, f64::min);
    let rtt: Duration =
        route.iter().chain(back).map(|&link| scenario.links[link].delay.least()).fold(Duration::ZERO, |sum, d| sum + d);
    // The window bounds the rate if the round trip takes time.
    let window = 8.0 * flow.tcp.receive_buffer as f64 / rtt.as_secs_f64().max(1e-9);
    let bits = path.min(window) * seconds;
    let packets = bits / (8 * (u64::from(flow.tcp.smss) + HEADERS)) as f64;
    let capacity = Capacity { seconds, rtt_s: rtt.as_secs_f64(), rate: path, packets, smss: flow.tcp.smss };
    flow.app.packets(&capacity) * (route.len() + back.len()) as f64
}

/// Returns the packets that wait before each link at the end of the run. Datagrams do not react to loss, so they may
/// exceed the link's rate. The queue limits bound the result.
fn waiting(scenario: &Scenario, routes: &RoutesOverTime) -> Vec<f64> {
    let seconds = scenario.duration.as_secs_f64();
    let carried = |link: LinkId, size: f64| scenario.links[link].largest_for(size as u64).as_bps() as f64 / 8.0;
    // Offered load of each link in bytes and packets per second.
    let offered = routes.peaks(&scenario.flows, scenario.links.len(), |flow| {
        let (mut bytes, size) = scenario.flows[flow].app.datagrams().unwrap_or((0.0, 1.0));
        move |link| {
            let comes = bytes;
            bytes = bytes.min(carried(link, size));
            [comes, comes / size]
        }
    });
    let waiting = |(link, [bytes, packets]): (LinkId, [f64; 2])| {
        let size = bytes / f64::max(packets, f64::MIN_POSITIVE);
        let limit = |limit: &mut QueueLimit| match *limit {
            QueueLimit::Packets(most) => most as f64,
            QueueLimit::Bytes(most) => most as f64 / size,
            QueueLimit::Unlimited | QueueLimit::Bdp(_) => f64::INFINITY,
        };
        let room: f64 = scenario.links[link].queue.clone().limits_mut().into_iter().map(limit).sum();
        let carried = carried(link, size);
        if bytes > carried {
            (packets * (1.0 - carried / bytes) * seconds).min(room)
        } else {
            0.0
        }
    };
    LinkId::all(offered.len()).zip(offered).map(waiting).collect()
}

/// Returns the number of changes of a link, by key.
fn link_changes(link: &Link, run: Duration) -> [(&'static str, f64); 5] {
    let outage = match &link.outage {
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

impl Link {
    /// Returns the largest delay at any time, without queueing.
    pub(super) fn delay_max(&self) -> Duration {
        self.delay.largest() + self.interleaving_delay()
    }

    /// Returns the delay at the start of the run, without queueing.
    pub(super) fn delay_at_start(&self) -> Duration {
        self.delay.values().next().unwrap_or(Duration::ZERO) + self.interleaving_delay()
    }

    fn interleaving_delay(&self) -> Duration {
        self.interleave.as_ref().map_or(Duration::ZERO, |interleave| interleave.delay())
    }
}

impl Profile<Duration> {
    /// Returns the largest delay at any time.
    pub(crate) fn largest(&self) -> Duration {
        self.values().max().unwrap_or(Duration::ZERO)
    }

    /// Returns the smallest delay at any time.
    pub(crate) fn least(&self) -> Duration {
        self.values().min().unwrap_or(Duration::ZERO)
    }
}
