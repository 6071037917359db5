//! The one test bench of connections: an end whose peer the test writes out, and two ends on a path.

use super::*;
use crate::segment::Timestamps;
use bentpipe_units::Ecn;
use std::collections::BTreeMap;
use std::convert::identity;

pub(super) const SMSS: u64 = 1000;

/// The next segment that leaves now, in whole.
pub(in crate::conn) fn leave(conn: &mut Connection, now: Time) -> Option<Segment> {
    conn.transmit(now, &mut identity::<Segment>)
}

/// One end, without handshake, whose peer is written out by the test: everything in segments.
pub(in crate::conn) struct Bench {
    pub(in crate::conn) conn: Connection,
    pub(in crate::conn) now: Time,
}

impl Bench {
    pub(in crate::conn) fn new(cc: CcKind, window: u32, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            smss: SMSS as u32,
            cc: cc.into(),
            recovery: cc.recovery(),
            limited_transmit: false,
            initial_window: InitialWindow::Segments(window),
            handshake: false,
            rto: RtoConfig { granularity: Duration::ZERO, ..RtoConfig::default() },
            ..Config::default()
        };
        change(&mut config);
        let mut conn = Connection::new(config, Role::Active, Seq::new(u32::MAX - 5000));
        conn.open(Time::ZERO);
        Self { conn, now: Time::ZERO }
    }

    /// Offers this many segments. Returns the segments that leave.
    pub(in crate::conn) fn send(&mut self, segments: u64) -> Vec<u64> {
        self.conn.offer(segments * SMSS);
        self.leaving()
    }

    pub(super) fn leaving(&mut self) -> Vec<u64> {
        let first = self.conn.tcb.wire.iss.at(1);
        std::iter::from_fn(|| leave(&mut self.conn, self.now))
            .map(|segment| u64::from(segment.seq.value().wrapping_sub(first.value())) / SMSS)
            .collect()
    }

    /// An ACK for all segments below `ack`, with SACK blocks, arrives. Returns the segments that leave.
    pub(in crate::conn) fn ack(&mut self, ack: u64, sack: &[(u64, u64)]) -> Vec<u64> {
        self.ack_echoing(ack, sack, None)
    }

    /// As `ack`, with an echoed timestamp.
    pub(in crate::conn) fn ack_echoing(&mut self, ack: u64, sack: &[(u64, u64)], echo: Option<u32>) -> Vec<u64> {
        self.hear(ack, sack, echo);
        self.leaving()
    }

    /// As `ack_echoing`, while no segment can leave.
    pub(super) fn hear(&mut self, ack: u64, sack: &[(u64, u64)], echo: Option<u32>) {
        let first = self.conn.tcb.wire.iss.at(1);
        let mut blocks = SackBlocks::default();
        for &(left, right) in sack {
            blocks.push(first.at(left * SMSS), first.at(right * SMSS));
        }
        let segment = Segment {
            seq: self.conn.tcb.wire.irs.at(1),
            ack: first.at(ack * SMSS),
            window: (self.conn.tcb.sender.space.rwnd >> self.conn.tcb.cx.agreed.snd_shift) as u16,
            flags: Flags::ACK,
            options: if sack.is_empty() { Options::None } else { Options::Sack(blocks) },
            timestamps: echo.map(|echo| Timestamps { value: 0, echo }),
            ..Segment::default()
        };
        self.conn.handle(self.now, &segment);
    }

    pub(super) fn time_out(&mut self) -> Vec<u64> {
        while self.conn.counters().timeouts == 0 || self.conn.next_wakeup() <= self.now {
            self.now = self.conn.next_wakeup();
            self.conn.handle_wakeup(self.now);
        }
        self.leaving()
    }

    /// Congestion window with inflation, in segments.
    pub(super) fn cwnd(&self) -> i64 {
        self.conn.tcb.sender.inflated_cwnd() / SMSS as i64
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.conn.ssthresh().unwrap() / SMSS
    }

    pub(in crate::conn) fn at(&mut self, now: Time) -> &mut Self {
        self.now = now;
        self
    }

    /// The next timer expires. Returns the segments that leave.
    pub(super) fn wake_up(&mut self) -> Vec<u64> {
        self.now = self.conn.next_wakeup();
        self.conn.handle_wakeup(self.now);
        self.leaving()
    }

    /// Lets every timer that is due up to `end` expire. Returns the segments that leave.
    pub(super) fn wake_up_until(&mut self, end: Time) -> Vec<u64> {
        let mut leaving = Vec::new();
        while self.conn.next_wakeup() <= end {
            leaving.extend(self.wake_up());
        }
        leaving
    }

    pub(super) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.conn.poll()).collect()
    }

    pub(super) fn is_undone(&mut self) -> bool {
        self.events().iter().any(|event| matches!(event, Event::Undo(_)))
    }

    /// A segment as the peer would send it, which acknowledges `acked` bytes.
    pub(super) fn peer_segment(&self, acked: u64) -> Segment {
        let wire = &self.conn.tcb.wire;
        Segment { seq: wire.peers(0), ack: wire.ours(acked), window: 65_535, flags: Flags::ACK, ..Segment::default() }
    }

    /// The peer's data [start, end) arrive, with these flags.
    pub(super) fn data(&mut self, start: u64, end: u64, flags: Flags) {
        let (seq, len) = (self.conn.tcb.wire.peers(start), (end - start) as u16);
        let segment = Segment { seq, len, window: 1000, flags, ..self.peer_segment(0) };
        self.conn.handle(self.now, &segment);
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Deliver,
    Drop,
    Duplicate,
    /// Held back by this many milliseconds.
    Delay(u64),
    /// Marked, if its sender allows that; else dropped, as a queue does it.
    Mark,
}

/// Two ends, `a` and `b`, and the packets between them.
pub(super) struct Pair {
    pub(super) a: Connection,
    pub(super) b: Connection,
    pub(super) now: Time,
    delay: Duration,
    air: BTreeMap<(Time, u64), (bool, Segment)>,
    packets: u64,
    /// The first packet of all.
    pub(super) first: Option<Segment>,
    /// Whether all that goes in and comes out plainly is compared with what happens to whole segments; how often it was.
    pub(super) compares: bool,
    pub(super) compared: u64,
}

impl Pair {
    /// Both open, on a path that takes `delay` either way.
    pub(super) fn open(mut a: Connection, mut b: Connection, delay: Duration) -> Self {
        b.open(Time::ZERO);
        a.open(Time::ZERO);
        Self {
            a,
            b,
            now: Time::ZERO,
            delay,
            air: BTreeMap::new(),
            packets: 0,
            first: None,
            compares: false,
            compared: 0,
        }
    }

    /// Transmits the segments of both; the k-th packet of all meets `fate(k)`.
    pub(super) fn transmit(&mut self, fate: &impl Fn(u64) -> Fate) {
        for to_b in [true, false] {
            let conn = if to_b { &mut self.a } else { &mut self.b };
            loop {
                let twin = (self.compares && conn.sends_plainly()).then(|| conn.clone());
                let next = leave(conn, self.now);
                if let Some(mut twin) = twin {
                    assert_eq!(leave(&mut as_general(&twin), self.now), next);
                    assert_eq!(twin.transmit_plainly(self.now, &mut identity::<Segment>), next);
                    assert_eq!(format!("{twin:?}"), format!("{conn:?}"));
                    self.compared += 1;
                }
                let Some(segment) = next else { break };
                self.first.get_or_insert(segment);
                let (k, arrival) = (self.packets, self.now + self.delay);
                self.packets += 1;
                let mut arrive = |at: Time, segment| {
                    self.air.insert((at, k), (to_b, segment));
                };
                match fate(k) {
                    Fate::Mark if segment.ecn != Ecn::NotEct => arrive(arrival, Segment { ecn: Ecn::Ce, ..segment }),
                    Fate::Drop | Fate::Mark => {}
                    Fate::Deliver => arrive(arrival, segment),
                    Fate::Duplicate => {
                        arrive(arrival, segment);
                        arrive(arrival + Duration::from_millis(7), segment);
                    }
                    Fate::Delay(ms) => arrive(arrival + Duration::from_millis(ms), segment),
                }
            }
        }
    }

    /// The next packet arrives, or timers expire. False: nothing more happens.
    pub(super) fn step(&mut self) -> bool {
        let next_arrival = self.air.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
        let next = next_arrival.min(self.a.next_wakeup()).min(self.b.next_wakeup());
        if next == Time::NEVER {
            return false;
        }
        self.now = next.max(self.now);
        if next_arrival <= self.now {
            if let Some((_, (to_b, segment))) = self.air.pop_first() {
                let conn = if to_b { &mut self.b } else { &mut self.a };
                let before = (self.compares && !segment.has_more_than_timestamps()).then(|| conn.clone());
                conn.handle(self.now, &segment);
                if let Some(before) = before {
                    let mut twins = vec![before.clone()];
                    let plain = segment.plain();
                    let form = segment.timestamps.map(|timestamps| Arrived::Stamped(plain, timestamps));
                    twins[0].handle(self.now, form.unwrap_or(Arrived::Plain(plain)));
                    if before.state().is_synchronised() && !segment.flags.has_any(SLOW_PATH) {
                        twins.push(as_general(&before));
                        twins[1].handle_with_options(self.now, &segment);
                        twins[1].tcb.cx.agreed.is_plain = conn.tcb.cx.agreed.is_plain;
                    }
                    let whole = format!("{conn:#?}");
                    for twin in twins.iter().map(|twin| format!("{twin:#?}")) {
                        let differing = twin.lines().zip(whole.lines()).filter(|(one, other)| one != other);
                        assert!(twin == whole, "(plain, whole): {:#?}", differing.take(9).collect::<Vec<_>>());
                    }
                    self.compared += 1;
                }
            }
        } else {
            self.a.handle_wakeup(self.now);
            self.b.handle_wakeup(self.now);
        }
        true
    }

    fn is_over(&self) -> bool {
        let is_over = |conn: &Connection| matches!(conn.state(), State::Closed | State::TimeWait);
        is_over(&self.a) && is_over(&self.b) && self.air.is_empty()
    }
}

/// The connection as if it were not plain: all that features may do to a segment is tried.
fn as_general(conn: &Connection) -> Connection {
    let mut general = conn.clone();
    general.tcb.cx.agreed.is_plain = false;
    general
}

/// Two ends on a path of 50 ms whose k-th packet meets `fate(k)`, until both are done or nothing more happens.
pub(super) fn exchange(
    config: &Config,
    bytes: u64,
    iss: Seq,
    fate: impl Fn(u64) -> Fate,
) -> (Connection, Connection, Time) {
    let mut a = Connection::new(config.clone(), Role::Active, iss);
    let b = Connection::new(config.clone(), Role::Passive, Seq::new(77));
    a.offer(bytes);
    a.close();
    let mut pair = Pair::open(a, b, Duration::from_millis(50));
    for _ in 0..200_000 {
        pair.transmit(&fate);
        for conn in [&mut pair.a, &mut pair.b] {
            while let Some(event) = conn.poll() {
                if event == Event::PeerFinished {
                    conn.close();
                }
            }
        }
        if pair.is_over() || !pair.step() {
            break;
        }
    }
    (pair.a, pair.b, pair.now)
}
