//! Counters of the sessions of a flow or of one of its paths, and the lane of their packets.

use super::engines::{EngineSession, EngineTotals};
use super::host::Host;
use super::loss_verdicts::VerdictCounts;
use super::send_times::SendTimes;
use bentpipe_model::ids::LaneId;
use bentpipe_tcp::Counters;
use bentpipe_units::Time;

/// Lane of a flow, as its packets carry it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnLane {
    pub(super) id: LaneId,
    /// First hops of the opener and of the listener.
    pub(super) first_hops: [u32; 2],
    pub(super) class: u8,
}

/// A session whose counters are added.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneSession<'a> {
    /// Its number in its flow.
    pub(super) ordinal: u64,
    /// Its ends, if it is not over TCP.
    pub(super) engine: Option<&'a EngineSession>,
}

/// Counters of several sessions of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Counters of the endpoints that send data.
    pub(crate) sent: Counters,
    /// Counters of their peers.
    pub(crate) received: Counters,
    pub(crate) acked_bytes: u64,
    pub(crate) sent_wire_bytes: u64,
    pub(crate) spurious: u64,
    /// Packets of the senders that a proxy accepted, minus packets of proxies that arrived.
    pub(crate) accepted: i64,
    pub(crate) first_sent: Option<Time>,
    pub(crate) times: SendTimes,
    /// Congestion window of the latest session, bytes.
    pub(crate) cwnd: Option<u64>,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) verdicts: VerdictCounts,
    /// Totals of sessions over engines. None before the first.
    pub(crate) engines: Option<Box<EngineTotals>>,
    newest: Option<u64>,
}

impl Totals {
    /// Adds the counters of a session, whose listener sends the data of the flow if it `answers`.
    pub(super) fn add_session(&mut self, now: Time, session: OneSession<'_>, ends: [&Host; 2], answers: bool) {
        match session.engine {
            None => self.add(now, session.ordinal, ends),
            Some(engine) => self.add_engine(session.ordinal, engine, ends, answers),
        }
    }

    /// Adds the counters of a session over an engine. Packets declared lost count as retransmissions, because the stack does not
    /// report the bytes that it repeats.
    #[cold]
    fn add_engine(&mut self, ordinal: u64, session: &EngineSession, ends: [&Host; 2], answers: bool) {
        let counters = [0, 1].map(|side| session.ends[side].engine.counters());
        for (side, host) in ends.into_iter().enumerate().filter(|(_, host)| host.sends_data) {
            let (sent, received) = (counters[side], counters[1 - side]);
            self.sent.sent_segments += sent.sent_datagrams;
            self.sent.sent_bytes += sent.sent_bytes;
            self.sent.retransmitted_segments += sent.declared_lost;
            self.received.arrived_segments += received.received_datagrams;
            self.received.arrived_bytes += received.received_bytes;
            self.received.delivered_bytes += received.read_bytes;
            self.acked_bytes += sent.acked_bytes;
            self.sent_wire_bytes += host.sent_wire_bytes;
        }
        if self.newest <= Some(ordinal) {
            let state = session.ends[usize::from(answers)].engine.state();
            self.newest = Some(ordinal);
            (self.cwnd, self.ssthresh) = (Some(state.cwnd), state.ssthresh);
        }
        self.note_first(ends[0]);
        self.engines.get_or_insert_with(Box::default).add(session, ends, answers);
    }

    /// Adds the counters of one path to those of all. Its data in order do not count: they are those of the flow.
    pub(super) fn add_path(&mut self, path: &Self) {
        self.sent += path.sent;
        self.received += path.received;
        self.sent_wire_bytes += path.sent_wire_bytes;
        self.spurious += path.spurious;
        self.accepted += path.accepted;
        self.verdicts += path.verdicts;
        self.first_sent =
            path.first_sent.map(|at| self.first_sent.map_or(at, |first| first.min(at))).or(self.first_sent);
        self.cwnd = path.cwnd.map(|cwnd| self.cwnd.unwrap_or(0) + cwnd).or(self.cwnd);
    }

    fn note_first(&mut self, opener: &Host) {
        let earlier = |a: Time, b: Option<Time>| b.map_or(a, |b| a.min(b));
        self.first_sent = opener.first_sent.map(|at| earlier(at, self.first_sent)).or(self.first_sent);
    }

    /// Adds the counters of a session: its opener and its listener.
    pub(super) fn add(&mut self, now: Time, ordinal: u64, [opener, other]: [&Host; 2]) {
        for (near, far) in [(opener, other), (other, opener)] {
            if !near.sends_data {
                continue;
            }
            self.sent += *near.conn.counters();
            self.received += *far.conn.counters();
            self.acked_bytes += near.conn.acked_bytes();
            self.sent_wire_bytes += near.sent_wire_bytes;
            self.spurious += far.spurious;
            self.accepted += far.accepted;
            if let Some(verdicts) = &near.verdicts {
                self.verdicts += verdicts.counts(now);
            }
            if self.newest <= Some(ordinal) {
                self.newest = Some(ordinal);
                (self.cwnd, self.ssthresh) = (Some(near.conn.cwnd()), near.conn.ssthresh());
            }
        }
        self.note_first(opener);
    }

    /// Counts a datagram: bytes of payload, and bytes with headers.
    pub(super) fn on_datagram_sent(&mut self, now: Time, payload: u64, size: u64) {
        self.first_sent.get_or_insert(now);
        self.sent.sent_segments += 1;
        self.sent.sent_bytes += payload;
        self.sent_wire_bytes += size;
    }

    /// Returns the packets of the senders that reached the receivers, or the first proxy that accepted them.
    pub(super) fn arrived_packets(&self) -> u64 {
        self.received.arrived_segments.saturating_add_signed(self.accepted)
    }

    pub(super) fn delivered_bytes(&self) -> u64 {
        self.received.delivered_bytes
    }
}
