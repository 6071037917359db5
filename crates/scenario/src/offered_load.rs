//! Computes the load that flows offer to links, and the rate of transfers for a given load.

use super::instances::{expand, Instance};
use super::keys::{self, File};
use super::report::{path, Report};
use super::routes_over_time::RoutesOverTime;
use bentpipe_model::ids::LinkId;
use bentpipe_model::spec::{App, Arrivals, Flow, Lane, Link, Users};
use bentpipe_units::settings::Share;
use bentpipe_units::Duration;
use std::sync::Arc;

/// Bytes of the IPv4 and UDP headers.
const DATAGRAM_HEADERS: u64 = bentpipe_model::packet::DATAGRAM_HEADERS as u64;

/// Computes the interval of arrivals that are written as the load of a link.
pub(super) fn settle(
    file: &File,
    instances: &[Instance<'_>],
    (flows, lanes): (&mut [Flow], &[Lane]),
    links: &[Link],
    report: &mut Report<'_>,
) {
    for (instance, flow) in instances.iter().zip(flows) {
        let keys::App::Arrivals(written) = &file.flow[instance.entry].app else { continue };
        let (Some(load), Some(link)) = (written.load, &written.link) else { continue };
        let App::Arrivals(arrivals) = *flow.app else { continue };
        let name = expand(link, instance.n);
        let is_meant = |&&link: &&LinkId| {
            let full = links[link].name.as_str();
            full == name || full.rsplit_once('.').is_some_and(|(base, _)| base == name)
        };
        let route = &lanes[flow.lane].route;
        let Some(&link) = route.iter().find(is_meant) else {
            let known: Vec<&str> = route.iter().map(|&link| links[link].name.as_str()).collect();
            let key = path(["flow", instance.entry, "app", "link"]);
            let expected = format!("expected one of {}", known.join(", "));
            report.value(&key, &format!("is not on the path from \"{}\"", instance.from), &expected);
            return;
        };
        let bytes = match (written.load_headers, packets_of_transfer(flow, &arrivals)) {
            (true, (bytes, packets)) => links[link].framing.wire_bytes(bytes, packets),
            (false, _) => arrivals.size.mean(),
        };
        let share = load.0 as f64 / Share::WHOLE as f64;
        let seconds = 8.0 * bytes / (share * links[link].sustained().as_bps() as f64);
        let interval = Duration::from_secs_f64(seconds).max(Duration::from_ps(1));
        flow.app = Arc::new(App::Arrivals(Arrivals { interval, ..arrivals }));
    }
}

/// Returns the mean bytes, with headers, and packets of a transfer's first transmissions.
fn packets_of_transfer(flow: &Flow, arrivals: &Arrivals) -> (f64, f64) {
    let segments = arrivals.size.segments(flow.transport.payload());
    (arrivals.size.mean() + segments * f64::from(flow.transport.headers()), segments)
}

/// Returns the largest packet that the flow sends towards its receiver, in bytes.
pub(super) fn largest_packet(flow: &Flow) -> u64 {
    flow.app.datagrams().map_or_else(|| flow.transport.full_packet(), |(_, size)| size as u64 + DATAGRAM_HEADERS)
}

/// Returns the mean bytes, with headers, and packets per second that a flow offers to links, if it does not adapt to
/// them.
fn offered(flow: &Flow) -> (f64, f64) {
    if let Some((bytes, size)) = flow.app.datagrams() {
        return (bytes * (size + DATAGRAM_HEADERS as f64) / size, bytes / size);
    }
    match &*flow.app {
        App::Arrivals(arrivals) => {
            let (bytes, packets) = packets_of_transfer(flow, arrivals);
            let seconds = arrivals.interval.as_secs_f64();
            (bytes / seconds, packets / seconds)
        }
        _ => (0.0, 0.0),
    }
}

/// Notes the link that datagrams overload most: they do not adapt, so that their queue stays full and the rest is lost.
pub(super) fn note_overload(users: Users<'_>, routes: &RoutesOverTime, links: &[Link], report: &mut Report<'_>) {
    let loads = routes.peaks(users, links.len(), |flow| {
        let (bytes, packets) = users.flows[flow].app.datagrams().map_or((0.0, 0.0), |_| offered(&users.flows[flow]));
        move |link| [8.0 * links[link].framing.wire_bytes(bytes, packets)]
    });
    // Without a waveform, a link in a medium has no rate. It has its own note.
    let share = |link: LinkId| match links[link].sustained().as_bps() {
        0 => 0.0,
        rate => loads[link][0] / rate as f64,
    };
    let fullest = LinkId::all(links.len()).max_by(|&a, &b| share(a).total_cmp(&share(b)));
    if let Some(link) = fullest.filter(|&link| share(link) > 1.0 + 1e-9) {
        report.findings.notes.push(format!(
            "datagrams offer \"{}\" {:.3} Mbit/s with headers, {:.0} % of its rate",
            links[link].name,
            loads[link][0] / 1e6,
            100.0 * share(link)
        ));
    }
}

/// Rejects arrivals that offer a link as much as it carries, or more. Such a run has no steady state, and its results
/// depend on its duration.
pub(super) fn refuse_overload(
    instances: &[Instance<'_>],
    users: Users<'_>,
    routes: &RoutesOverTime,
    links: &[Link],
    report: &mut Report<'_>,
) {
    let offered = routes.peaks(users, links.len(), |flow| {
        let (bytes, packets) = offered(&users.flows[flow]);
        move |link| [8.0 * links[link].framing.wire_bytes(bytes, packets)]
    });
    for (&Lane { flow, .. }, [route, _]) in routes.each(users.lanes) {
        let App::Arrivals(Arrivals { overload: false, .. }) = *users.flows[flow].app else { continue };
        let share = |&link: &LinkId| offered[link][0] / links[link].sustained().as_bps() as f64;
        let fullest = route.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        if let Some(&link) = fullest.filter(|link| share(link) >= 1.0 - 1e-9) {
            let message = format!(
                "and the other load on {} make {:.4} % of its rate: transfers would accumulate",
                links[link].name,
                100.0 * share(&link)
            );
            let expected = "expected less than 100 %, or overload = true";
            report.key(&path(["flow", instances[flow].entry, "app"]), &message, expected);
            return;
        }
    }
}
