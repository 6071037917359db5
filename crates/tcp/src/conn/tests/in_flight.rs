//! What congestion controls learn of the data in the network, beside the truth of a bottleneck, for all recoveries.

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
        Self { sender, receiver, now: 0, queue, to_receiver, to_sender }
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
            }
        }
        self.to_receiver.extend(self.queue.pop_front().map(|segment| (self.now + DELAY, segment)));
        self.now += 1;
    }
}

/// Path and queue hold 140 segments. At most as many more left before their losses could be known. A larger number counts data as
/// under way that arrived or was lost.
#[test]
fn no_controller_is_told_of_more_than_the_path_can_hold() {
    for &cc in CcKind::ALL {
        for recovery in recoveries() {
            let mut transfer = Transfer::new(cc, recovery);
            let mut most = 0;
            for _ in 0..4000 {
                transfer.step();
                let sender = &transfer.sender.tcb.sender;
                if sender.is_recovering() {
                    most = most.max(sender.in_flight() / SMSS);
                }
            }
            if most > 2 * HELD { eprintln!("{} with {recovery:?}: {most} segments", cc.name()); }
        }
    }
}
