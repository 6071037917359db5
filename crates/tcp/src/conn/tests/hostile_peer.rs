//! A hostile peer: no segments, in any order and at any instant, make the connection panic or hang.

use super::*;
use crate::segment::{CountOption, SynOptions, Timestamps};
use proptest::prelude::*;

/// Attacks on a connection.
#[derive(Clone, Debug)]
enum Act {
    Wait(u64),
    Write(u64),
    Read(u64),
    Smss(u32),
    Close,
    /// An ACK like those of an honest receiver: of a share of the outstanding data, in percent, with these blocks.
    Ack(u64, Vec<(u64, u64)>),
    /// Anything.
    Segment(Segment),
}

fn act() -> impl Strategy<Value = Act> {
    let percent = 0u64..=100;
    let blocks = proptest::collection::vec((0u64..30, 1u64..8), 0..4);
    prop_oneof![
        2 => prop_oneof![Just(0), 1u64..30, 30u64..3000].prop_map(Act::Wait),
        2 => (0u64..20_000).prop_map(Act::Write),
        1 => (0u64..5_000).prop_map(Act::Read),
        1 => (1u32..3_000).prop_map(Act::Smss),
        1 => Just(Act::Close),
        8 => (prop_oneof![Just(0), percent], blocks).prop_map(|(acked, blocks)| Act::Ack(acked, blocks)),
        3 => any_segment().prop_map(Act::Segment),
    ]
}

/// Sequence numbers are offsets near the first byte; [`Bench`] adds the origin.
fn any_segment() -> impl Strategy<Value = Segment> {
    let near = || prop_oneof![-3_000i32..30_000, any::<i32>()].prop_map(|at| Seq::new(at as u32));
    let stamps = proptest::option::of((any::<u32>(), any::<u32>()));
    let flags = prop_oneof![3 => Just(Flags::ACK), 1 => any::<u16>().prop_map(Flags::from_bits)];
    let blocks = proptest::collection::vec((near(), near()), 0..4);
    (near(), near(), 0u16..3_000, any::<u16>(), flags, stamps, blocks, any::<Option<(u16, u8)>>()).prop_map(
        |(seq, ack, len, window, flags, stamps, blocks, syn)| Segment {
            seq,
            ack,
            len,
            window,
            flags,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            options: match (syn, blocks.is_empty()) {
                (Some((mss, shift)), _) if flags.has(Flags::SYN) => Options::Syn(SynOptions {
                    mss,
                    window_scale: Some(shift),
                    sack_permitted: mss % 2 == 0,
                    count: match mss % 3 {
                        0 => CountOption::None,
                        1 => CountOption::Count(u32::from(shift)),
                        _ => CountOption::New(u32::from(shift)),
                    },
                    count_echo: (mss % 5 == 0).then_some(2),
                    ..SynOptions::default()
                }),
                (_, true) => Options::None,
                _ => {
                    let mut sack = SackBlocks::default();
                    blocks.iter().for_each(|&(left, right)| sack.push(left, right));
                    Options::Sack(sack)
                }
            },
            ..Segment::default()
        },
    )
}

impl Bench {
    fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..1_000_000 {
            while leave(&mut self.conn, self.now).is_some() {}
            while self.conn.poll().is_some() {}
            if self.conn.next_wakeup() > self.now {
                return self.check();
            }
            self.conn.handle_wakeup(self.now);
            while leave(&mut self.conn, self.now).is_some() {}
            prop_assert!(self.conn.next_wakeup() > self.now, "wakes up for ever: {:?}", self.conn);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let conn = &self.conn;
        let space = &conn.tcb.sender.space;
        prop_assert!(space.una <= space.nxt && space.nxt <= space.offered + 1);
        prop_assert_eq!(conn.flight_size(), space.nxt - space.una);
        prop_assert!(conn.tcb.sender.pipe() <= 2 * conn.flight_size());
        prop_assert!(conn.tcb.sender.window.cc.cwnd() >= space.smss());
        // Something outstanding or unsent is never forgotten: a timer runs.
        let is_open = conn.state().is_synchronised() && conn.state() != State::TimeWait;
        let is_unfinished = conn.flight_size() > 0 || space.offered > space.nxt;
        prop_assert!(!is_open || !is_unfinished || conn.next_wakeup() < Time::NEVER, "forgotten: {:?}", conn);
        Ok(())
    }

    fn wait(&mut self, ms: u64) -> Result<(), TestCaseError> {
        let until = self.now + Duration::from_millis(ms);
        while self.conn.next_wakeup() <= until {
            self.now = self.now.max(self.conn.next_wakeup());
            self.settle()?;
        }
        self.now = until;
        Ok(())
    }

    fn face(&mut self, act: &Act) -> Result<(), TestCaseError> {
        let first = self.conn.tcb.wire.iss.at(1);
        match act {
            Act::Wait(ms) => self.wait(*ms)?,
            Act::Write(bytes) => self.conn.offer(*bytes),
            Act::Read(bytes) => {
                self.conn.set_reads_at_once(false);
                self.conn.read(*bytes);
            }
            Act::Smss(smss) => self.conn.set_smss(*smss),
            Act::Close => self.conn.close(),
            Act::Ack(percent, blocks) => {
                let ack = self.conn.tcb.sender.space.una
                    + (self.conn.tcb.sender.space.nxt - self.conn.tcb.sender.space.una) * percent / 100;
                let smss = u64::from(self.conn.tcb.sender.space.smss);
                let mut sack = SackBlocks::default();
                for (left, len) in blocks {
                    sack.push(
                        first.at(ack + left * smss),
                        first.at((ack + (left + len) * smss).min(self.conn.tcb.sender.space.nxt)),
                    );
                }
                let segment = Segment {
                    seq: self.conn.tcb.wire.irs.at(1 + self.conn.tcb.receiver.ack_offset()),
                    ack: first.at(ack),
                    window: 60_000,
                    flags: Flags::ACK,
                    timestamps: self.conn.tcb.cx.agreed.timestamps.then(|| self.conn.tcb.wire.timestamps(self.now)),
                    options: if blocks.is_empty() { Options::None } else { Options::Sack(sack) },
                    ..Segment::default()
                };
                self.conn.handle(self.now, &segment);
            }
            Act::Segment(segment) => {
                let near = |at: Seq, origin: Seq| origin.at(u64::from(at.value()));
                let mut segment = *segment;
                (segment.seq, segment.ack) =
                    (near(segment.seq, self.conn.tcb.wire.irs), near(segment.ack, self.conn.tcb.wire.iss));
                if let Options::Sack(blocks) = segment.options {
                    let mut moved = SackBlocks::default();
                    blocks.as_slice().iter().for_each(|block| moved.push(near(block.0, first), near(block.1, first)));
                    segment.options = Options::Sack(moved);
                }
                self.conn.handle(self.now, &segment);
            }
        }
        self.settle()
    }
}

/// Sixty acts on average make a case; `BENTPIPE_FUZZ_OPS` asks for that many in all.
fn cases() -> u32 {
    let wanted = std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|n| n.parse().ok());
    wanted.map_or(1500, |n: u64| u32::try_from(n.div_ceil(60)).unwrap_or(u32::MAX))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_arrives_breaks_a_connection(
        config in random::any_ends(),
        is_passive in any::<bool>(),
        iss in any::<u32>(),
        acts in proptest::collection::vec(act(), 1..120),
    ) {
        let role = if is_passive { Role::Passive } else { Role::Active };
        let mut attacked = Bench { conn: Connection::new(config, role, Seq::new(iss)), now: Time::ZERO };
        attacked.conn.open(Time::ZERO);
        attacked.settle()?;
        for act in &acts {
            attacked.face(act)?;
        }
    }
}
