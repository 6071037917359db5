//! Whatever arrives, in whatever order and at whatever instant: the connection neither panics nor loses its bearings.

use super::*;
use crate::segment::{SynOptions, Timestamps};
use proptest::prelude::*;

/// Something happens to a connection.
#[derive(Clone, Debug)]
enum Happening {
    Wait(u64),
    Write(u64),
    Read(u64),
    Smss(u32),
    Close,
    /// An ACK like those of an honest receiver: of so much of what is outstanding, in percent, with these blocks.
    Ack(u64, Vec<(u64, u64)>),
    /// Anything.
    Segment(Segment),
}

fn happening() -> impl Strategy<Value = Happening> {
    let percent = 0u64..=100;
    let blocks = proptest::collection::vec((0u64..30, 1u64..8), 0..4);
    prop_oneof![
        2 => prop_oneof![Just(0), 1u64..30, 30u64..3000].prop_map(Happening::Wait),
        2 => (0u64..20_000).prop_map(Happening::Write),
        1 => (0u64..5_000).prop_map(Happening::Read),
        1 => (1u32..3_000).prop_map(Happening::Smss),
        1 => Just(Happening::Close),
        8 => (prop_oneof![Just(0), percent], blocks).prop_map(|(acked, blocks)| Happening::Ack(acked, blocks)),
        3 => any_segment().prop_map(Happening::Segment),
    ]
}

/// Sequence numbers are offsets near the first byte; [`Stranger`] adds the origin.
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

struct Stranger {
    conn: Connection,
    now: Time,
}

impl Stranger {
    fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..1_000_000 {
            while self.conn.poll_transmit(self.now).is_some() {}
            while self.conn.poll_event().is_some() {}
            if self.conn.next_wakeup() > self.now {
                return self.check();
            }
            self.conn.handle_wakeup(self.now);
            while self.conn.poll_transmit(self.now).is_some() {}
            prop_assert!(self.conn.next_wakeup() > self.now, "wakes up for ever: {:?}", self.conn);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let conn = &self.conn;
        prop_assert!(conn.snd_una <= conn.snd_nxt && conn.snd_nxt <= conn.offered + 1);
        prop_assert_eq!(conn.flight_size(), conn.snd_nxt - conn.snd_una);
        prop_assert!(conn.board.pipe() <= 2 * conn.flight_size());
        prop_assert!(conn.cc.cwnd() >= u64::from(conn.smss));
        // Something outstanding or unsent is never forgotten: a timer runs.
        let is_open = conn.state.is_synchronised() && conn.state != State::TimeWait;
        let has_work = conn.flight_size() > 0 || conn.offered > conn.snd_nxt;
        prop_assert!(!is_open || !has_work || conn.next_wakeup() < Time::NEVER, "forgotten: {:?}", conn);
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

    fn face(&mut self, happening: &Happening) -> Result<(), TestCaseError> {
        let first = self.conn.iss.at(1);
        match happening {
            Happening::Wait(ms) => self.wait(*ms)?,
            Happening::Write(bytes) => self.conn.offer(*bytes),
            Happening::Read(bytes) => {
                self.conn.set_reads_at_once(false);
                self.conn.read(*bytes);
            }
            Happening::Smss(smss) => self.conn.set_smss(*smss),
            Happening::Close => self.conn.close(),
            Happening::Ack(percent, blocks) => {
                let ack = self.conn.snd_una + (self.conn.snd_nxt - self.conn.snd_una) * percent / 100;
                let smss = u64::from(self.conn.smss);
                let mut sack = SackBlocks::default();
                for (left, len) in blocks {
                    sack.push(
                        first.at(ack + left * smss),
                        first.at((ack + (left + len) * smss).min(self.conn.snd_nxt)),
                    );
                }
                let segment = Segment {
                    seq: self.conn.irs.at(1 + self.conn.receiver.ack_offset()),
                    ack: first.at(ack),
                    window: 60_000,
                    flags: Flags::ACK,
                    timestamps: self.conn.has_timestamps.then(|| self.conn.timestamps(self.now)),
                    options: if blocks.is_empty() { Options::None } else { Options::Sack(sack) },
                    ..Segment::default()
                };
                self.conn.handle_segment(self.now, &segment);
            }
            Happening::Segment(segment) => {
                let near = |at: Seq, origin: Seq| origin.at(u64::from(at.value()));
                let mut segment = *segment;
                (segment.seq, segment.ack) = (near(segment.seq, self.conn.irs), near(segment.ack, self.conn.iss));
                if let Options::Sack(blocks) = segment.options {
                    let mut moved = SackBlocks::default();
                    blocks.as_slice().iter().for_each(|block| moved.push(near(block.0, first), near(block.1, first)));
                    segment.options = Options::Sack(moved);
                }
                self.conn.handle_segment(self.now, &segment);
            }
        }
        self.settle()
    }
}

/// Sixty happenings on average make a case; `BENTPIPE_FUZZ_OPS` asks for that many in all.
fn cases() -> u32 {
    let wanted = std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|n| n.parse().ok());
    wanted.map_or(1500, |n: u64| u32::try_from(n.div_ceil(60)).unwrap_or(u32::MAX))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_arrives_does_harm(
        config in random::any_ends(),
        is_passive in any::<bool>(),
        iss in any::<u32>(),
        happenings in proptest::collection::vec(happening(), 1..120),
    ) {
        let role = if is_passive { Role::Passive } else { Role::Active };
        let mut stranger = Stranger { conn: Connection::new(config, role, Seq::new(iss)), now: Time::ZERO };
        stranger.conn.open(Time::ZERO);
        stranger.settle()?;
        for happening in &happenings {
            stranger.face(happening)?;
        }
    }
}
