//! Tables of an unfinished run, from copies of its state. The run is unchanged.

use super::critical::SERIES;
use super::inbox::Inbox;
use super::{add_media, assemble, names, notes_of_functions, Failure, Network, RunEnd};
use crate::link::Losses;
use crate::record::{LossPlace, LossSize, RunResult, StopReason};
use bentpipe_model::ids::LinkId;

/// Returns the results up to now, as if the run were interrupted here.
///
/// # Errors
/// A middlebox broke its contract.
pub(super) fn so_far(network: &Network) -> Result<RunResult, Failure> {
    let motion = &network.motion;
    if let Some(failure) = motion.boxes.trouble() {
        return Err(failure.clone());
    }
    let (mut links, mut traffic) = (motion.links.all.clone(), motion.ends.traffic.clone());
    let (mut drops, mut recorder, mut ledger) = (motion.drops.clone(), motion.ends.recorder.clone(), motion.ledger);
    let mut losses = Losses::new();
    for link in LinkId::all(links.len()) {
        links[link].advance(motion.now, &mut losses);
        let place = LossPlace::Link(link);
        while let Some((packet, cause)) = losses.pop() {
            ledger.lost += 1;
            let others = motion.routes.copies.lose_with(&packet, place, &motion.routes.hops).into_iter();
            for packet in std::iter::once(packet).chain(others.map(|lane| packet.on_lane(lane))) {
                let flow = network.scenario.lanes[packet.lane()].flow;
                drops.add(place, flow, cause, packet.size());
                let offset = traffic.on_loss(packet.at, &packet, cause, motion.now);
                let lost = LossSize { bytes: packet.size(), data_bytes: packet.len.into(), offset };
                recorder.on_loss(packet.at, place, traffic.entity_of[packet.lane()], cause, lost);
            }
        }
    }
    for packet in motion.links.inboxes.clone().iter_mut().flat_map(Inbox::clear) {
        links[motion.routes.before(&packet)].put_back(&packet);
    }
    ledger.set_in_flight(motion.boxes.held() + motion.media.held(), links.iter().map(|link| link.at_end(motion.now)));
    let end = RunEnd { stop: motion.stop.unwrap_or(StopReason::Interrupted), at: motion.now, ledger };
    let mut result = assemble(&network.scenario, end, &traffic, &links, &drops, recorder);
    add_media(&mut result, &network.scenario, &motion.media.grants(&links, motion.now), motion.now);
    if let Some(paths) = &motion.observers.critical {
        let mut paths = paths.clone();
        paths.end_all(&network.scenario, &traffic);
        result.series.push((SERIES.to_owned(), paths.table(&names(&network.scenario))));
    }
    result.notes.extend(notes_of_functions(&network.scenario, motion.boxes.all()));
    Ok(result)
}
