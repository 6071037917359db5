//! Trails through a link: assigns the wait of a packet to the packets sent before it.

use super::trail::{take, PacketKey, PathShare, Story, Trail, DATAGRAM};
use crate::link::Service;
use bentpipe_model::dictionary::PathPart;
use bentpipe_model::ids::{FlowId, LinkId};
use bentpipe_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Limit of transfers that a link remembers.
const LATEST_MAX: usize = 64;

/// The packets of one link, with their trails.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkTrails {
    /// Packets in the queue, each trail at the instant of the offer.
    waiting: VecDeque<(PacketKey, Trail)>,
    /// Packets sent, each trail at the instant of the arrival.
    travelling: VecDeque<(PacketKey, Trail)>,
    /// Past transmissions, as far back as a packet waits.
    sent: VecDeque<Sent>,
    /// The last packet of each transfer: the instant of its offer, and its trail at the end of its transmission.
    latest: BTreeMap<Story, (Time, Trail)>,
    /// Whether the link is in a medium: time without transmissions is a wait for the medium.
    is_granted: bool,
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
struct Sent {
    offered: Time,
    /// The first instant when the link was up for it: until `begin`, a shaper lacked tokens.
    up: Time,
    begin: Time,
    finish: Time,
    /// The first flow of its entry.
    group: FlowId,
    story: Option<Story>,
}

/// Smallest weight of a path that is followed.
const LIGHT: f64 = 1e-3;

impl LinkTrails {
    /// Adds a packet that is offered.
    pub(super) fn offer(&mut self, key: PacketKey, trail: Trail) {
        self.waiting.push_back((key, trail));
    }

    /// Removes a packet that arrives at the far end, and returns its trail.
    pub(super) fn arrive(&mut self, key: PacketKey) -> Option<Trail> {
        take(&mut self.travelling, key)
    }

    /// Removes a packet that was lost. Of equal packets it is the last.
    pub(super) fn lose(&mut self, key: PacketKey, is_last: bool) -> Option<Trail> {
        if is_last {
            let index = self.waiting.iter().rposition(|(each, _)| *each == key)?;
            return self.waiting.remove(index).map(|(_, trail)| trail);
        }
        take(&mut self.waiting, key)
    }

    /// Removes all packets of the queue, each trail at the instant `now`.
    pub(super) fn leave(&mut self, link: LinkId, now: Time) -> Vec<(PacketKey, Trail)> {
        let mut left: Vec<_> = self.waiting.drain(..).collect();
        left.iter_mut().for_each(|(_, trail)| self.wait(link, trail, now));
        left
    }

    /// Moves a packet from the queue to the sent packets. `group` is the first flow of its entry.
    pub(super) fn serve(&mut self, link: LinkId, group: FlowId, service: &Service) {
        self.is_granted = service.is_granted;
        let key = PacketKey::of(&service.packet);
        let trail = take(&mut self.waiting, key);
        let offered = trail.as_ref().map_or(service.start, |trail| trail.at);
        let story = trail.as_ref().map(|trail| trail.story).filter(|&story| story != DATAGRAM);
        if let Some(trail) = trail {
            let trail = self.sent_trail(link, trail, service);
            self.travelling.push_back((key, trail));
        }
        self.sent.push_back(Sent {
            offered,
            up: service.up,
            begin: service.begin,
            finish: service.finish,
            group,
            story,
        });
        self.forget(service.start);
    }

    fn sent_trail(&mut self, link: LinkId, offered: Trail, service: &Service) -> Trail {
        let (trip, offered_at) = (offered.trip, offered.at);
        let mut trail = self.waited(link, offered, service);
        trail.trip = trip;
        trail.spend(service.up, PathShare::on(PathPart::Outage, link));
        let part = if service.is_granted { PathPart::Access } else { PathPart::Shaper };
        trail.spend(service.begin, PathShare::on(part, link));
        trail.spend(service.finish, PathShare::on(PathPart::Transmission, link));
        if trail.story != DATAGRAM {
            self.latest.insert(trail.story, (offered_at, trail.clone()));
        }
        trail.spend(service.arrival, PathShare::of(trip));
        trail
    }

    /// The trail of a packet whose transmission starts now. If another packet of its transfer was sent while it waited, the
    /// trail leads to that packet. An earlier offer would have saved the time of packets of others in between: by that share
    /// the trail leads back along the packet's own path.
    fn waited(&self, link: LinkId, mut offered: Trail, service: &Service) -> Trail {
        let start = service.start;
        offered.spend(service.opened.min(start), PathShare::on(PathPart::Access, link));
        let own = self.latest.get(&offered.story).filter(|(_, before)| before.at > offered.at);
        let Some((before_at, before)) = own else {
            self.wait(link, &mut offered, start);
            return offered;
        };
        let between = self.sent.iter().rev().take_while(|sent| sent.finish > before.at);
        let between = between.filter(|sent| (*before_at..=offered.at).contains(&sent.offered));
        let between_s: f64 = between.map(|sent| sent.finish.saturating_since(sent.up).as_secs_f64()).sum();
        let apart_s = offered.at.saturating_since(*before_at).as_secs_f64();
        let weight = if between_s > 0.0 { (between_s / apart_s.max(between_s)).min(1.0) } else { 0.0 };
        if weight > 1.0 - LIGHT {
            self.wait(link, &mut offered, start);
            return offered;
        }
        let mut trail = before.clone();
        self.wait(link, &mut trail, start);
        if weight > LIGHT {
            self.wait(link, &mut offered, start);
            trail.blend(1.0 - weight, &offered);
        }
        trail
    }

    /// Assigns the wait until `start` to the transmissions in that time, and the rest to the link.
    fn wait(&self, link: LinkId, trail: &mut Trail, start: Time) {
        let since = trail.at;
        let first = self.sent.iter().rposition(|sent| sent.finish <= since).map_or(0, |index| index + 1);
        for sent in self.sent.range(first..) {
            trail.spend(sent.up.min(start), PathShare::on(PathPart::Outage, link));
            if sent.story == Some(trail.story) {
                let part = if self.is_granted { PathPart::Access } else { PathPart::Shaper };
                trail.spend(sent.begin.min(start), PathShare::on(part, link));
                trail.spend(sent.finish.min(start), PathShare::on(PathPart::Transmission, link));
            } else {
                trail.spend(sent.finish.min(start), PathShare::behind(sent.group, link));
            }
        }
        let part = if self.is_granted { PathPart::Access } else { PathPart::Outage };
        trail.spend(start, PathShare::on(part, link));
    }

    /// Forgets transmissions before the offer of the oldest waiting packet.
    fn forget(&mut self, start: Time) {
        let oldest = self.waiting.front().map_or(start, |(_, trail)| trail.at.min(start));
        while self.sent.front().is_some_and(|sent| sent.finish <= oldest) {
            self.sent.pop_front();
        }
        if self.latest.len() > LATEST_MAX {
            self.latest.retain(|_, (_, trail)| trail.at > oldest);
        }
    }
}
