//! Compares the data in flight, as congestion controls learn it, with the data on a bottleneck, for all recoveries.

use super::bench::{leave, SMSS};
use super::*;
use std::collections::VecDeque;

/// Segments that the queue of the bottleneck holds, and half a round trip, milliseconds. The link sends a segment each millisecond.
const QUEUE: usize = 70;
const DELAY: u64 = 35;
/// Segments that path and queue hold.
const HELD: u64 = 2 * DELAY + QUEUE as u64;

/// All ways to find and repair losses, with timestamps as the peer has them.
fn recoveries() -> Vec<Recovery> {
    let (on_rto, counting, rescue) = (SackOnRto::Keep, SackCounting::Data, true);
    let sack = |evidence| Recovery::Sack { on_rto, evidence, counting, rescue };
    let evidences = [SackEvidence::Rfc6675, SackEvidence::Fack, SackEvidence::Hole, SackEvidence::Status];
    let others = [
        Recovery::TimeoutOnly,
        Recovery::FastRetransmit,
        Recovery::Reno,
        Recovery::NewReno(NewReno::default()),
        Recovery::Sack { on_rto, evidence: SackEvidence::Hole, counting: SackCounting::Acks, rescue },
        Recovery::Rack(Rack::default()),
        Recovery::Snack(Snack::default()),
    ];
    evidences.map(sack).into_iter().chain(others).collect()
}

/// A transfer over the bottleneck.
struct Transfer {
    sender: Connection,
    receiver: Connection,
    now: u64,
    /// Data in the queue and on the link, with the millisecond at which each segment reaches the receiver.
    queue: VecDeque<Segment>,
    to_receiver: VecDeque<(u64, Segment)>,
    to_sender: VecDeque<(u64, Segment)>,
    /// When segments were dropped.
    dropped: VecDeque<u64>,
}

impl Transfer {
    fn new(cc: CcKind, recovery: Recovery) -> Self {
        let mut config = Config { smss: SMSS as u32, cc: cc.into(), recovery, ..Config::default() };
        config.receive_buffer = 4 * HELD * SMSS;
        let mut sender = Connection::new(config.clone(), Role::Active, Seq::new(1));
        let mut receiver = Connection::new(config, Role::Passive, Seq::new(1));
        receiver.open(Time::ZERO);
        sender.open(Time::ZERO);
        sender.offer(1 << 40);
        let (queue, to_receiver, to_sender) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Self { sender, receiver, now: 0, queue, to_receiver, to_sender, dropped: VecDeque::new() }
    }

    /// One millisecond passes.
    fn step(&mut self) {
        let now = Time::ZERO + Duration::from_millis(self.now);
        while self.to_receiver.front().is_some_and(|next| next.0 <= self.now) {
            let Some((_, segment)) = self.to_receiver.pop_front() else { break };
            self.receiver.handle(now, &segment);
            while let Some(ack) = leave(&mut self.receiver, now) {
                self.to_sender.push_back((self.now + DELAY, ack));
            }
        }
        self.receiver.handle_wakeup(now);
        while self.to_sender.front().is_some_and(|next| next.0 <= self.now) {
            let Some((_, ack)) = self.to_sender.pop_front() else { break };
            self.sender.handle(now, &ack);
        }
        self.sender.handle_wakeup(now);
        while let Some(segment) = leave(&mut self.sender, now) {
            if self.queue.len() < QUEUE {
                self.queue.push_back(segment);
            } else {
                self.dropped.push_back(self.now);
            }
        }
        self.to_receiver.extend(self.queue.pop_front().map(|segment| (self.now + DELAY, segment)));
        self.now += 1;
        self.dropped.retain(|at| at + 2 * HELD > self.now);
    }

    /// Segments on the path, segments whose ACKs are on theirs, and those dropped in the last two round trips.
    fn under_way(&self) -> u64 {
        (self.queue.len() + self.to_receiver.len() + self.to_sender.len() + self.dropped.len()) as u64
    }
}

/// Bound of the data in flight: data on the path, data whose ACKs are under way, and losses of the last two round trips, which later
/// segments must show first. A larger number counts data that arrived or was lost. Some slack is for delayed
/// ACKs, and for the repair of data that was not lost.
#[test]
fn no_controller_is_told_of_more_than_is_under_way() {
    for &cc in CcKind::ALL {
        for recovery in recoveries() {
            let mut transfer = Transfer::new(cc, recovery);
            for _ in 0..4000 {
                transfer.step();
                let sender = &transfer.sender.tcb.sender;
                let (told, known) = (sender.losses.in_flight(&sender.board) / SMSS, transfer.under_way());
                // Others look at their own windows only.
                let is_checked = sender.window.cc.takes_deliveries() && sender.is_recovering();
                assert!(!is_checked || told <= known + HELD, "{} with {recovery:?}: {told} of {known}", cc.name());
            }
        }
    }
}
