//! Observers of each packet at its own instant: a witness, and critical paths. They read the network, and change no result.

use super::critical::CriticalPaths;
use super::witness::{Fate, Scene, Witness};
use crate::record::LossPlace;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::NodeId;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Scenario;
use bentpipe_units::Time;

/// Observers of a run.
#[derive(Debug)]
pub(super) struct Observers {
    witness: Option<Box<dyn Witness>>,
    pub(super) critical: Option<Box<CriticalPaths>>,
    /// Whether there is an observer.
    pub(super) is_any: bool,
    /// Whether there is an observer, or a flow over several paths: some segments need more than the usual.
    pub(super) looks_closer: bool,
}

impl Observers {
    /// The observers at the start of a run. `has_boxes` tests whether a node has middleboxes.
    pub(super) fn of(scenario: &Scenario, has_boxes: impl Fn(NodeId) -> bool) -> Self {
        let critical = CriticalPaths::of(scenario, has_boxes);
        let is_any = critical.is_some();
        let looks_closer = is_any || scenario.flows.iter().any(|flow| flow.transport.multi().is_some());
        Self { witness: None, critical, is_any, looks_closer }
    }

    /// Sets the witness of all packets from now on.
    pub(super) fn watch(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
        (self.is_any, self.looks_closer) = (true, true);
    }

    /// A host sends a packet.
    pub(super) fn on_sent(&mut self, scene: Scene<'_>, packet: &Packet) {
        if let Some(paths) = &mut self.critical {
            paths.on_sent(scene, packet);
        }
        if let Some(witness) = &mut self.witness {
            witness.on_sent(&scene.sighting(scene.now, packet));
        }
    }

    /// A packet reaches its host.
    pub(super) fn on_arrival(&mut self, scene: Scene<'_>, node: NodeId, packet: &Packet) {
        if let Some(paths) = &mut self.critical {
            paths.on_arrival(scene, node, packet);
        }
        self.on_end(scene, scene.now, packet, Fate::Arrived);
    }

    /// A middlebox takes a packet.
    pub(super) fn on_taken(&mut self, scene: Scene<'_>, packet: &Packet) {
        self.on_end(scene, scene.now, packet, Fate::Taken);
    }

    /// A packet is lost at `at`.
    pub(super) fn on_loss(&mut self, scene: Scene<'_>, at: Time, place: LossPlace, packet: &Packet, cause: Cause) {
        if let Some(paths) = &mut self.critical {
            paths.on_loss(place, packet, cause == Cause::QueueOverflow);
        }
        let place = match place {
            LossPlace::Link(link) => &scene.scenario.links[link].name,
            LossPlace::Node(node) => &scene.scenario.nodes[node].name,
        };
        self.on_end(scene, at, packet, Fate::Lost { place, cause });
    }

    fn on_end(&mut self, scene: Scene<'_>, at: Time, packet: &Packet, fate: Fate<'_>) {
        if let (Some(witness), false) = (&mut self.witness, packet.is_message()) {
            witness.on_end(&scene.sighting(at, packet), fate);
        }
    }
}
