//! Tables of an unfinished run, from copies of its state. The run is unchanged.

use super::critical::SERIES;
use super::inbox::Inbox;
use super::{assemble, names, notes_of_functions, Failure, Network, NodeState, RunEnd};
use crate::ids::LinkId;
use crate::link::{LazyLink, Losses};
use crate::record::{LossPlace, LossSize, RunResult, StopReason};

impl Network {
    /// The results up to now, as if the run were [interrupted](Self::interrupt) here.
    ///
    /// # Errors
    /// A middlebox broke its contract.
    pub fn so_far(&self) -> Result<RunResult, Failure> {
        if let Some(failure) = &self.trouble {
            return Err(failure.clone());
        }
        let (mut links, mut traffic) = (self.links.clone(), self.traffic.clone());
        let (mut drops, mut recorder, mut ledger) = (self.drops.clone(), self.recorder.clone(), self.ledger);
        let mut losses = Losses::new();
        for link in LinkId::all(links.len()) {
            links[link].advance(self.now, &mut losses);
            let place = LossPlace::Link(link);
            while let Some((packet, cause)) = losses.pop() {
                ledger.lost += 1;
                drops.add(place, packet.flow(), cause, packet.size());
                let offset = traffic.on_loss(packet.at, &packet, cause, self.now);
                let lost = LossSize { bytes: packet.size(), data_bytes: packet.len.into(), offset };
                recorder.on_loss(packet.at, place, packet.flow(), cause, lost);
            }
        }
        for packet in self.inboxes.clone().iter_mut().flat_map(Inbox::clear) {
            links[self.routes.before(&packet)].put_back(&packet);
        }
        let on_links: usize = links.iter().map(LazyLink::len).sum();
        let held: usize = self.nodes.iter().map(NodeState::held).sum();
        ledger.in_flight = (on_links + held) as u64;
        let end = RunEnd { stop: self.stop.unwrap_or(StopReason::Interrupted), at: self.now, ledger };
        let mut result = assemble(&self.scenario, end, &traffic, &links, &drops, recorder);
        if let Some(paths) = &self.observers.critical {
            let mut paths = paths.clone();
            paths.end_all(&self.scenario, &traffic);
            result.series.push((SERIES.to_owned(), paths.table(&names(&self.scenario))));
        }
        result.notes.extend(notes_of_functions(&self.scenario, self.nodes.iter().map(|node| &node.boxes[..])));
        Ok(result)
    }
}
