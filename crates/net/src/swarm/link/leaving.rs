//! The way of a packet out of a medium onto its link, in the most obvious form.

use bentpipe_model::dictionary::Cause;
use bentpipe_units::Time;
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
    /// Notes a packet whose last part has left at `sent`. Returns whether the link went away and lost it then.
    pub(super) fn note(&mut self, sent: Time, cause: Option<Cause>) -> bool {
        self.ends.push_back((sent, cause));
        self.went_away == Some(sent)
    }

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
