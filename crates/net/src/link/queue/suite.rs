//! The tests that every discipline inherits: random operations in order of time. `BENTPIPE_FUZZ_OPS` sets their number. Ten
//! million each:
//!
//! ```text
//! BENTPIPE_FUZZ_OPS=10000000 cargo test --release -p bentpipe-net link::queue::suite
//! ```

use super::{AnyQueue, Discipline, Limit};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{EndpointId, LaneId};
use bentpipe_model::packet::{Bodies, Origin, Packet};
use bentpipe_model::spec::{Codel, Dp2Native, DualPi2, FqCodel, Link, Pie, Queue as Kind, QueueLimit::*, Red, Share};
use bentpipe_tcp::{Ecn, Flags, Segment};
use bentpipe_units::{Duration, Rate, Seq, Stream, Time};

const MS: Duration = Duration::from_millis(1);
const OPERATIONS: u64 = 20_000;

macro_rules! inherited {
    ($($name:ident: $kind:expr;)+) => {$(
        #[test]
        fn $name() {
            all(stringify!($name), $kind);
        }
    )+};
}

inherited! {
    drop_tail_in_packets: Kind::DropTail { limit: Packets(20) };
    drop_tail_in_bytes: Kind::DropTail { limit: Bytes(10_000) };
    drop_tail_without_limit: Kind::DropTail { limit: Unlimited };
    red: Kind::Red(plain_red());
    red_in_bytes: Kind::Red(Red { limit: Bytes(20_000), byte_mode: true, ecn: true, ..plain_red() });
    red_that_waits: Kind::Red(Red { wait: true, gentle: false, ecn: true, ..plain_red() });
    red_that_adapts: Kind::Red(Red { adaptive: true, ..plain_red() });
    codel: Kind::Codel(Codel { limit: Packets(50), target: MS, interval: MS * 10, ecn: false });
    codel_that_marks: Kind::Codel(Codel { limit: Bytes(20_000), target: MS, interval: MS * 10, ecn: true });
    fq_codel: Kind::FqCodel(plain_fq());
    fq_codel_that_collides: Kind::FqCodel(FqCodel { limit: Packets(10), queues: 2, ..plain_fq() });
    fq_codel_in_bytes: Kind::FqCodel(FqCodel { limit: Bytes(15_000), quantum: 100, ecn: false, ..plain_fq() });
    pie: Kind::Pie(plain_pie());
    pie_that_marks: Kind::Pie(Pie { limit: Bytes(50_000), derandomise: false, ecn: true, ..plain_pie() });
    dualpi2: Kind::DualPi2(plain_dualpi2());
    dualpi2_in_bytes: Kind::DualPi2(DualPi2 { limit: Bytes(60_000), native: Dp2Native::Ramp, spread: true, ..plain_dualpi2() });
    dualpi2_of_a_geo_path: Kind::DualPi2(DualPi2 { max_rtt: Some(MS * 60), classic_share: 0.5, ..plain_dualpi2() });
    priority: Kind::Priority { limits: vec![Packets(5), Bytes(6000), Unlimited], push_out: false };
    push_out: Kind::Priority { limits: vec![Packets(9), Bytes(6000), Unlimited], push_out: true };
    weighted_round_robin: Kind::Wrr { classes: shares() };
    deficit_round_robin: Kind::Drr { quantum: 1500, classes: shares() };
    deficit_round_robin_with_a_small_quantum: Kind::Drr { quantum: 100, classes: shares() };
}

fn plain_red() -> Red {
    Red {
        limit: Packets(50),
        min_th: 5,
        max_th: 15,
        max_p: 0.1,
        weight: 0.02,
        gentle: true,
        adaptive: false,
        wait: false,
        byte_mode: false,
        mean_packet: 800,
        ecn: false,
    }
}

fn plain_fq() -> FqCodel {
    FqCodel { limit: Packets(100), queues: 64, quantum: 1514, target: MS, interval: MS * 10, ecn: true }
}

fn plain_pie() -> Pie {
    let derandomise = true;
    Pie { limit: Packets(80), target: MS, update: MS * 2, burst: MS * 5, derandomise, mean_packet: 500, ecn: false }
}

/// Quick enough for the loads of this suite.
fn plain_dualpi2() -> DualPi2 {
    DualPi2 { limit: Packets(80), target: MS, update: MS, alpha: 1.0, beta: 10.0, ..DualPi2::default() }
}

fn shares() -> Vec<Share> {
    vec![
        Share { weight: 1, limit: Packets(10) },
        Share { weight: 3, limit: Bytes(9000) },
        Share { weight: 2, limit: Packets(30) },
    ]
}

/// An instant.
pub(super) fn s(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// A packet of `size` bytes with its headers.
pub(super) fn packet(flow: usize, number: u32, size: u16) -> Packet {
    made(EndpointId::opener(flow), number, size, Ecn::NotEct)
}

/// As `packet`, from an ECN-capable sender.
pub(super) fn capable(packet: Packet) -> Packet {
    made(packet.endpoint().peer(), packet.seq.value(), packet.size() as u16, Ecn::Ect0)
}

/// As `packet`, from a sender of L4S.
pub(super) fn scalable(packet: Packet) -> Packet {
    made(packet.endpoint().peer(), packet.seq.value(), packet.size() as u16, Ecn::Ect1)
}

fn made(end: EndpointId, number: u32, size: u16, ecn: Ecn) -> Packet {
    let segment = Segment { seq: Seq::new(number), len: size - 40, flags: Flags::ACK, ecn, ..Segment::default() };
    Packet::new(&segment, &Origin::of(end, end.slot() as u64), &mut Bodies::default())
}

/// A link of 8 Mbit/s: a millisecond per 1000 bytes.
fn link(queue: Kind) -> Link {
    Link { queue, ..Link::plain(Rate::from_bps(8_000_000), Duration::ZERO) }
}

fn all(name: &str, kind: Kind) {
    let operations = std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|n| n.parse().ok()).unwrap_or(OPERATIONS);
    let mut trial = Trial::new(name, kind);
    while trial.done < operations {
        trial.phase();
    }
    trial.conclude();
}

/// Packets, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    packets: u64,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.size();
    }

    fn take(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= packet.size();
    }
}

/// A discipline under test, with its expected contents.
struct Trial {
    kind: Kind,
    queue: AnyQueue,
    now: Time,
    dice: Stream,
    drawn: u64,
    /// Operations so far.
    done: u64,
    /// Packets so far; also the next number.
    made: u32,
    /// Per class, or for all if classes share a limit.
    waiting: Vec<(Tally, Limit)>,
    /// Number of the last packet that left, per flow and direction, and of those in the queue for L4S.
    last: [Option<u32>; 2 * FLOWS as usize],
    early: u64,
    marked: u64,
}

const FLOWS: u64 = 12;

impl Trial {
    fn new(name: &str, kind: Kind) -> Self {
        let mut limits = kind.clone();
        Self {
            queue: AnyQueue::new(&link(kind.clone()), 1),
            now: Time::ZERO,
            dice: Stream::new(1, name, "suite"),
            drawn: 0,
            done: 0,
            made: 0,
            waiting: limits.limits_mut().iter().map(|limit| (Tally::default(), Limit::new(**limit))).collect(),
            last: [None; 2 * FLOWS as usize],
            kind,
            early: 0,
            marked: 0,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.dice.below(self.drawn - 1, n)
    }

    /// Up to `n` times `step` pass.
    fn rest(&mut self, step: Duration, n: u64) {
        let steps = self.below(n);
        self.now += step * steps;
    }

    /// Several hundred operations under one load, from idle to three times the capacity of the link.
    fn phase(&mut self) {
        let load = 1 + self.below(3);
        let busy = self.below(4);
        for _ in 0..1 + self.below(600) {
            self.done += 1;
            match self.below(40) {
                0 => self.rest(MS, 300),
                1 if self.below(20) == 0 => self.rest(MS * 1000, 200),
                2 if self.below(20) == 0 => self.flush(),
                3 if self.below(8) == 0 => self.extract(),
                n if n % 4 < load && busy > 0 => self.enqueue(),
                _ => self.dequeue(),
            }
            if self.below(2) == 0 {
                self.rest(Duration::from_micros(1), 700);
            }
        }
        if self.below(3) == 0 {
            self.drain();
        }
    }

    /// Packet `number`, always the same.
    fn packet(number: u32) -> Packet {
        let mut draws = Stream::new(u64::from(number), "packet", "suite");
        let end = EndpointId::new(draws.below(0, FLOWS) as usize);
        let size = if number % 3 == 0 { 1500 } else { 40 + draws.below(1, 1461) as u16 };
        let (class, ecn) = (end.slot() % 4, draws.below(2, 4));
        made(end, number, size, Ecn::from_bits(ecn as u8)).in_class(class as u8)
    }

    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.waiting.len() - 1)
    }

    fn enqueue(&mut self) {
        let packet = Self::packet(self.made);
        self.made += 1;
        let class = self.class_of(&packet);
        self.waiting[class].0.add(&packet);
        let mut losses = Losses::new();
        self.queue.enqueue(self.now, &packet, &mut losses);
        self.settle(losses);
    }

    fn dequeue(&mut self) {
        let (before, mut losses) = (self.queue.len(), Losses::new());
        let packet = self.queue.dequeue(self.now, &mut losses);
        assert_eq!(packet.is_some(), before > 0, "the link rests only if nothing waits");
        if let Some(packet) = &packet {
            let class = self.class_of(packet);
            self.waiting[class].0.take(packet);
        }
        self.settle(losses);
        let Some(packet) = packet else { return };
        let original = Self::packet(packet.seq.value());
        let same =
            |p: &Packet| (p.lane(), p.is_to_sender(), p.size(), p.class, p.header_flags(), p.is_damaged(), p.next);
        assert_eq!(same(&packet), same(&original));
        assert!(packet.at <= self.now);
        match (original.ecn(), packet.ecn()) {
            (before, after) if before == after => {}
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => self.marked += 1,
            (before, after) => panic!("{before:?} became {after:?}"),
        }
        let is_apart = matches!(self.kind, Kind::DualPi2(_)) && matches!(original.ecn(), Ecn::Ect1 | Ecn::Ce);
        let last = &mut self.last[packet.endpoint().index() + if is_apart { FLOWS as usize } else { 0 }];
        assert!(last.is_none_or(|last| last < packet.seq.value()), "no packet overtakes another one of its flow");
        *last = Some(packet.seq.value());
    }

    fn flush(&mut self) {
        let mut losses = Losses::new();
        self.queue.flush(&mut losses);
        assert!(losses.iter().all(|(_, cause)| *cause == Cause::Outage));
        self.settle(losses);
        assert_eq!((self.queue.len(), self.queue.bytes()), (0, 0));
    }

    /// Extracts the waiting packets of one flow, as a middlebox of the node does.
    fn extract(&mut self) {
        let (flow, mut left) = (LaneId::new(self.below(FLOWS / 2) as usize), Vec::new());
        self.queue.extract(&mut |packet| packet.lane() == flow, &mut left);
        for packet in left {
            assert_eq!(packet.lane(), flow);
            let class = self.class_of(&packet);
            self.waiting[class].0.take(&packet);
        }
        self.check();
        self.queue.extract(&mut |packet| packet.lane() == flow, &mut Vec::new());
        self.check();
    }

    fn drain(&mut self) {
        while self.queue.len() > 0 {
            self.dequeue();
            self.now += MS;
        }
        self.dequeue();
        assert!(self.waiting.iter().all(|(tally, _)| *tally == Tally::default()));
    }

    fn settle(&mut self, losses: Losses) {
        for (packet, cause) in losses {
            let class = self.class_of(&packet);
            self.waiting[class].0.take(&packet);
            self.early += u64::from(matches!(cause, Cause::EarlyDrop | Cause::ForcedDrop));
        }
        self.check();
    }

    /// Each packet that came in left, was lost, or waits; the waiting packets are within the limits.
    fn check(&self) {
        let total = |count: fn(&Tally) -> u64| self.waiting.iter().map(|(tally, _)| count(tally)).sum::<u64>();
        let known = (total(|tally| tally.packets), total(|tally| tally.bytes));
        assert_eq!((self.queue.len() as u64, self.queue.bytes()), known);
        for (tally, limit) in &self.waiting {
            assert!(limit.allows(tally.packets as usize, tally.bytes), "{tally:?} exceeds {limit:?}");
        }
    }

    /// A trial in which nothing happened proves nothing.
    fn conclude(mut self) {
        self.drain();
        let (is_managed, ecn) = match &self.kind {
            Kind::Red(red) => (true, red.ecn),
            Kind::Codel(codel) => (true, codel.ecn),
            Kind::FqCodel(fq) => (true, fq.ecn),
            Kind::Pie(pie) => (true, pie.ecn),
            Kind::DualPi2(_) => (true, true),
            _ => (false, false),
        };
        assert_eq!((self.early > 0, self.queue.marked() > 0), (is_managed, ecn), "{} {}", self.early, self.marked);
        assert!(self.marked <= self.queue.marked() && (self.marked > 0) == ecn);
    }
}
