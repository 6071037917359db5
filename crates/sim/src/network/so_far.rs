//! Tables of an unfinished run, from copies of its state. The run is unchanged.

use super::critical::SERIES;
use super::inbox::Inbox;
use super::{add_media, assemble, names, notes_of_functions, Failure, Network, RunEnd};
use crate::ids::LinkId;
use crate::link::Losses;
use crate::record::{LossPlace, LossSize, RunResult, StopReason};

/// Returns the results up to now, as if the run were interrupted here.
///
/// # Errors
/// A middlebox broke its contract.
pub(super) fn so_far(network: &Network) -> Result<RunResult, Failure> {
    if let Some(failure) = &network.trouble {
        return Err(failure.clone());
    }
    let (mut links, mut traffic) = (network.links.clone(), network.traffic.clone());
    let (mut drops, mut recorder, mut ledger) = (network.drops.clone(), network.recorder.clone(), network.ledger);
    let mut losses = Losses::new();
    for link in LinkId::all(links.len()) {
        links[link].advance(network.now, &mut losses);
        let place = LossPlace::Link(link);
        while let Some((packet, cause)) = losses.pop() {
            ledger.lost += 1;
            let others = network.routes.copies.lose_with(&packet, place, &network.routes.hops).into_iter();
            for packet in std::iter::once(packet).chain(others.map(|lane| packet.on_lane(lane))) {
                let flow = network.flow_of(&packet);
                drops.add(place, flow, cause, packet.size());
                let offset = traffic.on_loss(packet.at, &packet, cause, network.now);
                let lost = LossSize { bytes: packet.size(), data_bytes: packet.len.into(), offset };
                recorder.on_loss(packet.at, place, traffic.entity_of[packet.lane()], cause, lost);
            }
        }
    }
    for packet in network.inboxes.clone().iter_mut().flat_map(Inbox::clear) {
        links[network.routes.before(&packet)].put_back(&packet);
    }
    ledger.set_in_flight(network.held(), links.iter().map(|link| link.at_end(network.now)));
    let end = RunEnd { stop: network.stop.unwrap_or(StopReason::Interrupted), at: network.now, ledger };
    let mut result = assemble(&network.scenario, end, &traffic, &links, &drops, recorder);
    let grants: Vec<_> = network.media.iter().map(|medium| medium.grants(&links, network.now)).collect();
    add_media(&mut result, &network.scenario, &grants, network.now);
    if let Some(paths) = &network.observers.critical {
        let mut paths = paths.clone();
        paths.end_all(&network.scenario, &traffic);
        result.series.push((SERIES.to_owned(), paths.table(&names(&network.scenario))));
    }
    result.notes.extend(notes_of_functions(&network.scenario, network.nodes.iter().map(|node| &node.boxes[..])));
    Ok(result)
}
