//! What the timeline changes, at its instant: first of all that happens then.

use super::Network;
use crate::ids::LinkId;
use crate::packet::{Packet, UNROUTED};
use crate::spec::Change;
use bentpipe_units::Time;

impl Network {
    /// When the timeline changes something next.
    pub(super) fn next_change(&self) -> Time {
        self.changes.as_slice().first().map_or(Time::NEVER, |change| change.0)
    }

    /// The last instant before the timeline changes something, up to which what it has left can be relied on.
    pub(super) fn before_next_change(&self) -> Time {
        match self.next_change() {
            Time::NEVER => Time::NEVER,
            at => Time::from_ps(at.as_ps().saturating_sub(1)),
        }
    }

    /// All that the timeline changes now.
    #[cold]
    pub(super) fn change(&mut self) {
        while self.next_change() <= self.now {
            match self.changes.next() {
                Some((_, Change::Install { path, route })) => self.routes.install(path, &route),
                Some((_, Change::Withdraw(path))) => self.routes.withdraw(path),
                Some((_, Change::Down { link, waiting, .. })) => {
                    let mut left = Vec::new();
                    self.links[link].take_away(self.now, waiting, &mut self.losses, &mut left);
                    self.count_losses(link);
                    self.reroute(link, left);
                }
                // The link knew beforehand.
                Some((_, Change::Up(_))) | None => {}
            }
        }
        self.update_horizon();
    }

    /// Packets that waited for a link go on from its node as that knows now.
    fn reroute(&mut self, link: LinkId, packets: Vec<Packet>) {
        let node = self.scenario.links[link].from;
        for mut packet in packets {
            packet.next = UNROUTED;
            self.leave_node(node, packet);
        }
        self.rearm_node(node);
    }
}
