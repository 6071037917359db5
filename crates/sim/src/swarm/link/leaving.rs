//! The way of a packet out of a medium onto its link, in the most obvious form.

use super::{times, NaiveLink};
use crate::dictionary::Cause;
use crate::packet::Packet;
use crate::spec::Effect;
use bentpipe_access::Loss;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Fates of the packets on the way, of a link in a medium.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// End of the last burst or frame, and the cause of loss if it is erased, of each packet.
    ends: VecDeque<(Time, Option<Cause>)>,
    /// The cause of the packet that was delivered last.
    delivered: Option<Cause>,
    /// The instant when the link went away and lost what was on it.
    went_away: Option<Time>,
}

impl Leaving {
    /// Delivers the first packet on the way.
    pub(super) fn deliver(&mut self) {
        self.delivered = self.ends.pop_front().and_then(|(_, cause)| cause);
    }

    /// The cause of loss of the packet that was delivered last, if it is erased.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.delivered
    }

    /// The link goes away and loses what is on it. Returns for each packet whether it has left: until then, the fate of its
    /// bursts or frames decides.
    pub(super) fn go_away(&mut self, now: Time) -> impl Iterator<Item = bool> + '_ {
        self.went_away = Some(now);
        self.ends.iter().map(move |(sent, _)| *sent <= now)
    }
}

impl NaiveLink {
    /// Decides the fate of a packet whose last part has left at `sent`. Returns its arrival.
    pub(super) fn leave(&mut self, mut packet: Packet, number: Option<u64>, lost: Option<Loss>, sent: Time) -> Time {
        let number = number.expect("it was counted");
        let wire = self.wire_size(packet.size());
        let has_error = self.errors.hits(sent, number, wire);
        let (least, most, draws) = &mut self.host;
        let processing = *least + Duration::from_ps(draws.below(number, most.saturating_sub(*least).as_ps()));
        let arrival = sent + times::delay(&self.spec, sent) + self.jitter.at(sent) + processing;
        let arrival = arrival.max(self.last_arrival);
        self.last_arrival = arrival;
        let cause = match lost {
            Some(Loss::Down(at)) if self.outages.absent(at).is_some() => {
                packet.cut_off();
                None
            }
            Some(Loss::Down(_)) => {
                packet.truncate();
                None
            }
            Some(Loss::Collision) => Some(Cause::AccessCollision),
            Some(Loss::Outage) => Some(Cause::AcmOutage),
            None if has_error && self.spec.effect == Effect::Corrupt => {
                self.corrupted += 1;
                packet.corrupt();
                None
            }
            None => has_error.then_some(Cause::LinkLoss),
        };
        if cause.is_some() {
            packet.erase();
        }
        self.leaving.ends.push_back((sent, cause));
        packet.at = arrival;
        // The superframe in which the link gave the rest of a packet up may begin with the absence.
        if self.leaving.went_away == Some(sent) {
            packet.cut_off();
        }
        self.on_the_way.push(packet);
        arrival
    }
}
