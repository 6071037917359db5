//! Converts and checks the queues and token buckets of links for the flows that cross them.

use super::instances::Instance;
use super::report::{path, Report};
use super::route::base_rtt;
use super::routes_over_time::RoutesOverTime;
use super::{keys, offered_load};
use bentpipe_model::spec::{Link, Queue, QueueLimit, Users};
use bentpipe_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Packet size in bytes for a link without flows: an Ethernet packet.
const PACKET: u64 = 1500;

/// Returns the longest propagation round trip and the largest packet of the flows over each link, or zeros without
/// flows. Counts every route of the run, with the route of the other direction at the same time.
fn crossings(links: &[Link], users: Users<'_>, routes: &RoutesOverTime) -> Vec<(Duration, u64)> {
    let mut crossing: Vec<(Duration, u64)> = links.iter().map(|_| (Duration::ZERO, 0)).collect();
    for (lane, [route, back]) in routes.each(users.lanes) {
        let rtt = base_rtt(route, back, links);
        let packet = offered_load::largest_packet(&users.flows[lane.flow]);
        for &link in route.iter().chain(back) {
            let (longest, largest) = crossing[link];
            crossing[link] = (longest.max(rtt), largest.max(packet));
        }
    }
    crossing
}

/// Converts limits in bdp to bytes. A bdp is the most that the link carries in full packets during the largest
/// propagation round trip of the flows over the link in either direction. Without flows, the round trip is twice the link's delay.
pub(super) fn set_queues(links: &mut [Link], users: Users<'_>, routes: &RoutesOverTime) {
    let crossings = crossings(links, users, routes);
    for (link, (rtt, packet)) in links.iter_mut().zip(crossings) {
        let (rtt, packet) = if packet == 0 { (link.delay_max() * 2, PACKET) } else { (rtt, packet) };
        let rate = link.largest_over(rtt, packet);
        for limit in link.queue.limits_mut() {
            if let QueueLimit::Bdp(bdp) = *limit {
                *limit = QueueLimit::Bytes(keys::product(rate, rtt, bdp).max(packet));
            }
        }
    }
}

/// Rejects token buckets that no packet of their flows can pass.
pub(super) fn check_buckets(
    links: &[Link],
    users: Users<'_>,
    routes: &RoutesOverTime,
    link_entries: &[Instance<'_>],
    report: &mut Report<'_>,
) {
    if links.iter().all(|link| link.policer.is_none() && link.shaper.is_none()) {
        return;
    }
    let entries: BTreeMap<&str, &str> = link_entries.iter().map(|link| (link.name.as_str(), link.entry)).collect();
    let mut said = BTreeSet::new();
    for (link, (_, packet)) in links.iter().zip(crossings(links, users, routes)) {
        let Some((name, side)) = link.name.rsplit_once('.') else { continue };
        let entry = entries.get(name).copied().unwrap_or(name);
        for (key, bucket) in [("policer", &link.policer), ("shaper", &link.shaper)] {
            if bucket.as_ref().is_some_and(|bucket| bucket.burst < packet) && said.insert((entry, key)) {
                let message = format!("is less than a packet of {packet} B, which never passes");
                let expected = format!("expected {packet} B or more");
                report.value(&path(["link", entry, side, key, "burst"]), &message, &expected);
            }
        }
    }
}

/// Rejects classes that a queue on the path does not have, and queues that no packet of their flows can pass.
pub(super) fn check_queues(
    links: &[Link],
    users: Users<'_>,
    routes: &RoutesOverTime,
    link_entries: &[Instance<'_>],
    flow_entries: &[Instance<'_>],
    report: &mut Report<'_>,
) {
    let mut said = BTreeSet::new();
    for (lane, [route, back]) in routes.each(users.lanes) {
        let (class, instance) = (lane.class, &flow_entries[lane.flow]);
        for &link in route.iter().chain(back) {
            let classes = links[link].queue.classes().unwrap_or(usize::MAX);
            if usize::from(class) >= classes && said.insert(instance.entry) {
                let message = format!("is not a class of the queue of \"{}\", on its path", links[link].name);
                let expected = format!("expected at most {}, or more classes there", classes - 1);
                report.value(&path(["flow", instance.entry, "class"]), &message, &expected);
            }
        }
    }
    // With drop-tail, a packet that finds the link idle needs no room.
    let needs_room = |link: &Link| !matches!(link.queue, Queue::DropTail { .. });
    if !links.iter().any(needs_room) {
        return;
    }
    let entries: BTreeMap<&str, &str> = link_entries.iter().map(|link| (link.name.as_str(), link.entry)).collect();
    for (link, (_, packet)) in links.iter().zip(crossings(links, users, routes)) {
        let is_short = |limit: QueueLimit| matches!(limit, QueueLimit::Bytes(n) if n < packet);
        let mut queue = link.queue.clone();
        if !needs_room(link) || !queue.limits_mut().into_iter().any(|limit| is_short(*limit)) {
            continue;
        }
        let Some((name, side)) = link.name.rsplit_once('.') else { continue };
        let entry = entries.get(name).copied().unwrap_or(name);
        if said.insert(entry) {
            let message = format!("has no room for packets of {packet} B");
            report.value(&path(["link", entry, side, "queue"]), &message, "expected larger limits");
        }
    }
}
