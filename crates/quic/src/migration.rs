//! Addresses of an end, and their changes (RFC 9000 §9).

use bentpipe_model::spec::{QuicChange, QuicMigration};
use bentpipe_units::Time;
use quinn_proto::Side;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Length of connection identifiers, as of the stack's default.
pub(crate) const CID_LEN: usize = 8;
/// First port of each end.
const PORT: u16 = 443;

/// The own address, and its changes.
#[derive(Debug)]
pub(crate) struct Migration {
    own: u16,
    /// Times of changes. Those at handovers are due at once.
    times: VecDeque<Time>,
    at_handovers: bool,
    change: QuicChange,
    /// When the route of the flow changed last.
    followed_at: Option<Time>,
}

impl Migration {
    pub(crate) fn new(migration: &QuicMigration, side: Side) -> Self {
        let (times, at_handovers, change) = match migration {
            QuicMigration::At { times, change } if side.is_client() => (times.clone().into(), false, *change),
            QuicMigration::Handover { change } => (VecDeque::new(), side.is_client(), *change),
            _ => (VecDeque::new(), false, QuicChange::Rebinding),
        };
        Self { own: side as u16, times, at_handovers, change, followed_at: None }
    }

    /// Returns the number of the own address.
    pub(crate) fn own(&self) -> u16 {
        self.own
    }

    /// Returns the time of the next change.
    pub(crate) fn next(&self) -> Time {
        self.times.front().copied().unwrap_or(Time::NEVER)
    }

    /// Takes a change that is due.
    pub(crate) fn take_due(&mut self, now: Time) -> bool {
        let is_due = self.next() <= now;
        if is_due {
            self.times.pop_front();
        }
        is_due
    }

    /// The route of the flow changes at `now`: the address does too, if it follows. Both directions change at a handover.
    pub(crate) fn follow_handover(&mut self, now: Time) {
        if self.at_handovers && self.followed_at.replace(now) != Some(now) {
            self.times.push_back(now);
        }
    }

    /// Changes the address. Returns whether the client knows.
    pub(crate) fn change(&mut self) -> bool {
        match self.change {
            QuicChange::Rebinding => self.own = rebound(self.own),
            QuicChange::Address => self.own = moved(self.own),
        }
        self.change == QuicChange::Address
    }
}

/// The address with this number. The lowest bit is the side, so that both ends have different hosts for ever. The
/// next seven bits are the port, and the upper byte is the host.
pub(crate) fn address(number: u16) -> SocketAddr {
    let [host, port] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, port & 1, host)), PORT + u16::from(port >> 1))
}

/// The same host at its next port, as after a NAT has forgotten it.
fn rebound(number: u16) -> u16 {
    number & 0xff00 | (number & 0xff).wrapping_add(2) & 0xff
}

/// The next host.
fn moved(number: u16) -> u16 {
    number.wrapping_add(0x100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Duration;

    /// Both directions of a route change at one instant, and the client is told of each.
    #[test]
    fn a_handover_of_both_directions_is_one_change() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut migration = Migration::new(&QuicMigration::Handover { change: QuicChange::Address }, Side::Client);
        let mut changes = Vec::new();
        for s in [1, 1, 2, 2] {
            migration.follow_handover(at(s));
            while migration.take_due(at(s)) {
                changes.push((s, migration.change(), migration.own()));
            }
        }
        assert_eq!(changes, [(1, true, 0x100), (2, true, 0x200)]);
    }
}
