//! Core of a proxy that splits connections, for any carrier of segments. Each session has two back-to-back connections,
//! and owes the data of one to the other. `split.rs` uses it for simulated packets. Drivers of real
//! packets use it for theirs.

use crate::middlebox::sessions::Sessions;
use crate::middlebox::Context;
use bentpipe_tcp::{Config, Connection, Event, Flags, Notice, Role, Segment, State};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, words, Duration, Seq, Time};
use std::convert::identity;
use std::fmt::Debug;
use std::sync::Arc;

settings! {
    /// Proxy that splits connections.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SplitConfig {
        /// Time when the opener is answered.
        accept: Accept = Accept::Early, "PEPsal";
        /// Buffer for each direction of a connection until the other endpoint has acknowledged the data.
        buffer: u64 as Bytes = 6_291_456, "Linux: the largest tcp_rmem";
        /// Connections at the same time. The SYN of a further connection is dropped.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Connections among them that may be not yet open on both sides.
        half_open: u32 = 4096, [1, 1_000_000], "Linux: tcp_max_syn_backlog";
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
        /// Instant when all state is lost, as when the proxy restarts. Default: never.
        fails_at: Option<Time>;
        /// Transport towards the opener. Missing keys are those of `[tcp]`.
        opener: Config = Config::default();
        /// Transport towards the other endpoint. Missing keys are those of `[tcp]`.
        listener: Config = Config::default();
    }
}

words! {
    /// Time when a proxy answers the opener of a connection.
    pub enum Accept {
        /// Immediately. If the other endpoint refuses, the opener is reset although its connection was established.
        "early" => Early,
        /// After the other endpoint has answered. Refusals are passed on exactly, at the price of a round trip to that
        /// endpoint.
        "late" => Late,
    }
}

/// Side of a connection's opener. [`LISTENER`] is the side of the other endpoint.
pub const OPENER: usize = 0;
/// See [`OPENER`].
pub const LISTENER: usize = 1;

/// Time in which a connection that both ends have closed answers late packets.
const LINGER: Duration = Duration::from_secs(5);

/// Time without a packet after which a closing connection that owes nothing is discarded (RFC 5382 §5, transitory
/// connections): the last acknowledgement may have been lost, and its sender may be gone.
pub(super) const CLOSING_IDLE: Duration = Duration::from_secs(240);

/// Connects the two connections of a session to their ends.
pub trait Carrier: Debug {
    /// State that all sessions of a proxy share.
    type Common: Debug;

    /// Sends a segment towards the endpoint on a side. Its data starts at this offset among the bytes from the other
    /// side.
    fn send(&mut self, side: usize, segment: &Segment, offset: u64, cx: &mut Context<'_>);

    /// Keeps the payload of a segment from a side, after `conn` has processed it.
    fn keep(&mut self, _side: usize, _conn: &Connection, _segment: &Segment, _payload: &[u8]) {}

    /// Hands the data of one side to the other, and frees acknowledged data from the buffer.
    fn hand_over(
        &mut self,
        side: usize,
        sides: &mut [Connection; 2],
        tally: &mut Tally,
        _common: &mut Self::Common,
        _cx: &mut Context<'_>,
    ) {
        let [here, there] = match sides {
            [near, far] if side == OPENER => [near, far],
            [near, far] => [far, near],
        };
        let arrived = here.counters().delivered_bytes;
        there.offer(arrived - tally.handed[side]);
        tally.handed[side] = arrived;
        let acked = there.acked_bytes();
        let freed = acked - tally.acked[side];
        here.read(freed);
        self.release(side, freed);
        tally.acked[side] = acked;
    }

    /// Frees the next bytes from a side, which the other side acknowledged: they are not needed again.
    fn release(&mut self, _side: usize, _bytes: u64) {}

    /// Reports that the session may now send by itself.
    fn on_begun(&mut self, _cx: &mut Context<'_>) {}

    /// Reports that the connection on a side was reset or given up.
    fn on_aborted(&mut self, _side: usize) {}

    /// Reports that both of its connections are over: from now on it only answers.
    fn on_ended(&mut self, _cx: &mut Context<'_>) {}

    /// Reports that it is forgotten.
    fn on_forgotten(&mut self, _sides: &[Connection; 2]) {}
}

/// Bytes that a session has taken from each side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Bytes handed to the other side.
    pub handed: [u64; 2],
    /// Bytes among them that the other side's peer has acknowledged.
    pub acked: [u64; 2],
}

impl Tally {
    /// Returns the bytes that were acknowledged to one endpoint and not by the other.
    fn owed(&self) -> u64 {
        self.handed.iter().sum::<u64>() - self.acked.iter().sum::<u64>()
    }
}

/// Sessions of a proxy.
#[derive(Debug)]
pub struct Splicer<E: Carrier, K = u64> {
    config: SplitConfig,
    sessions: Sessions<Session<E>, K>,
    /// State that they share.
    pub common: E::Common,
    half_open: u32,
    fails_at: Time,
    lost_bytes: u64,
}

/// Two connections of the proxy that replace one.
#[derive(Debug)]
struct Session<E> {
    /// Connections towards the opener and towards the other endpoint.
    sides: [Connection; 2],
    tally: Tally,
    ends: E,
    /// A SYN that waits for the other endpoint's answer.
    waiting: Option<Segment>,
    is_half_open: bool,
    last_packet: Time,
    /// Time when both sides were finished.
    ended: Option<Time>,
}

impl<E: Carrier, K: Ord + Copy> Splicer<E, K> {
    /// Creates a proxy with these limits and this mode of accepting.
    pub fn new(config: &SplitConfig, common: E::Common) -> Self {
        Self {
            sessions: Sessions::default(),
            common,
            half_open: 0,
            fails_at: config.fails_at.unwrap_or(Time::NEVER),
            lost_bytes: 0,
            config: config.clone(),
        }
    }

    /// Whether a packet belongs to a session; `opens`: it is a SYN of the opener, which begins a new session once the
    /// old one is over.
    pub fn has(&self, key: K, opens: bool) -> bool {
        self.sessions.get(key).is_some_and(|session| !(opens && session.ended.is_some()))
    }

    /// Forgets the rest of a session whose place another takes. Returns whether there is no room for a new one.
    pub fn is_full_for(&mut self, key: K, cx: &mut Context<'_>) -> bool {
        self.remove(key, cx);
        self.half_open >= self.config.half_open || self.sessions.len() >= self.config.sessions as usize
    }

    /// Begins a session with a SYN, if [there is room](Self::is_full_for). Each side has its transport, and a number
    /// for its initial sequence number and its random choices.
    pub fn begin(
        &mut self,
        key: K,
        syn: &Segment,
        transports: &[Arc<Config>; 2],
        drawn: [u64; 2],
        mut ends: E,
        cx: &mut Context<'_>,
    ) {
        let [mut near, mut far] = [(OPENER, Role::Passive), (LISTENER, Role::Active)].map(|(side, role)| {
            let mut conn = Connection::new(transports[side].clone(), role, Seq::new(drawn[side] as u32));
            conn.set_random_seed(drawn[side]);
            conn.set_reads_at_once(false);
            conn
        });
        far.open(cx.now);
        near.open(cx.now);
        let waiting = match self.config.accept {
            Accept::Late => Some(*syn),
            Accept::Early => {
                near.handle(cx.now, syn);
                None
            }
        };
        ends.on_begun(cx);
        self.half_open += 1;
        self.sessions.insert(
            key,
            Session {
                sides: [near, far],
                tally: Tally::default(),
                ends,
                waiting,
                is_half_open: true,
                last_packet: cx.now,
                ended: None,
            },
        );
    }

    /// Processes a segment from a side.
    pub fn handle(&mut self, key: K, side: usize, segment: &Segment, payload: &[u8], cx: &mut Context<'_>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.last_packet = cx.now;
        let waits = side == OPENER && session.waiting.is_some();
        if waits && segment.flags.has(Flags::RST) {
            session.waiting = None;
            session.sides[OPENER].close();
            session.sides[LISTENER].abort();
        } else if !waits {
            session.sides[side].handle(cx.now, segment);
            session.ends.keep(side, &session.sides[side], segment, payload);
        }
    }

    /// Notifies the connection on a side.
    pub fn notify(&mut self, key: K, side: usize, notice: Notice, cx: &mut Context<'_>) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.sides[side].notify(cx.now, notice);
        }
    }

    /// Passes on changes, and frees finished sessions.
    pub fn drive(&mut self, key: K, cx: &mut Context<'_>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        self.lost_bytes += session.pass_on(&mut self.common, cx);
        if session.is_half_open && session.is_open() {
            session.is_half_open = false;
            self.half_open -= 1;
        }
        if session.ended.is_none() && session.has_ended() {
            session.ended = Some(cx.now);
            session.ends.on_ended(cx);
        }
        let due = session.next_wakeup(self.config.idle);
        if due <= cx.now && session.is_over(cx.now, self.config.idle) {
            return self.remove(key, cx);
        }
        self.sessions.arm(key, due);
    }

    /// Performs the actions that are due.
    pub fn wake(&mut self, cx: &mut Context<'_>) {
        self.fail_if_due(cx);
        while let Some(key) = self.sessions.pop_due(cx.now) {
            if let Some(session) = self.sessions.get_mut(key) {
                session.sides.iter_mut().for_each(|side| side.handle_wakeup(cx.now));
            }
            self.drive(key, cx);
        }
    }

    /// Loses all state, if this is the instant.
    pub fn fail_if_due(&mut self, cx: &mut Context<'_>) {
        if cx.now >= self.fails_at {
            self.fails_at = Time::NEVER;
            for session in self.sessions.take() {
                self.forget(session, cx);
            }
        }
    }

    /// Returns the next wakeup.
    pub fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup().min(self.fails_at)
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that it acknowledged and that never reached their endpoint.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Returns both connections of each session.
    pub fn iter(&self) -> impl Iterator<Item = (&[Connection; 2], &E)> {
        self.sessions.values().map(|session| (&session.sides, &session.ends))
    }

    fn remove(&mut self, key: K, cx: &mut Context<'_>) {
        if let Some(session) = self.sessions.remove(key) {
            self.forget(session, cx);
        }
    }

    /// Discards a session.
    fn forget(&mut self, mut session: Session<E>, cx: &mut Context<'_>) {
        self.half_open -= u32::from(session.is_half_open);
        self.lost_bytes += session.tally.owed();
        if session.ended.is_none() {
            session.ends.on_ended(cx);
        }
        session.ends.on_forgotten(&session.sides);
    }
}

impl<E: Carrier> Session<E> {
    /// Carries data, FINs and resets from side to side until nothing more follows. Returns the owed bytes that are
    /// lost.
    fn pass_on(&mut self, common: &mut E::Common, cx: &mut Context<'_>) -> u64 {
        let mut lost = 0;
        loop {
            for side in [OPENER, LISTENER] {
                if self.sides.iter().any(|side| side.state() != State::Closed) {
                    self.ends.hand_over(side, &mut self.sides, &mut self.tally, common, cx);
                }
                while let Some(event) = self.sides[side].poll() {
                    match event {
                        Event::PeerFinished => self.sides[1 - side].close(),
                        Event::Established if side == LISTENER => self.answer_opener(cx),
                        Event::Aborted(_) => {
                            self.ends.on_aborted(side);
                            lost += self.tally.owed();
                            self.tally = Tally::default();
                            self.abort(1 - side, cx);
                        }
                        _ => {}
                    }
                }
            }
            for side in [OPENER, LISTENER] {
                while let Some(segment) = self.sides[side].transmit(cx.now, &mut identity::<Segment>) {
                    let offset = self.sides[side].report().offset_of(segment.data_seq());
                    self.ends.send(side, &segment, offset, cx);
                }
            }
            if !self.sides.iter().any(Connection::has_events) {
                return lost;
            }
        }
    }

    /// Answers the opener, because the other endpoint has answered.
    fn answer_opener(&mut self, cx: &Context<'_>) {
        if let Some(syn) = self.waiting.take() {
            self.sides[OPENER].handle(cx.now, &syn);
        }
    }

    /// Resets a side, because the other was reset.
    fn abort(&mut self, side: usize, cx: &mut Context<'_>) {
        if let Some(syn) = self.waiting.take().filter(|_| side == OPENER) {
            // RFC 9293 §3.5.2: refuses an unanswered SYN.
            let flags = Flags::RST.with(Flags::ACK);
            let refusal = Segment { ack: syn.seq.at(1), flags, ..Segment::default() };
            self.ends.send(OPENER, &refusal, 0, cx);
            self.sides[OPENER].close();
        }
        self.sides[side].abort();
    }

    fn is_open(&self) -> bool {
        self.sides.iter().all(|side| !matches!(side.state(), State::Listen | State::SynSent | State::SynReceived))
    }

    fn has_ended(&self) -> bool {
        self.sides.iter().all(|side| matches!(side.state(), State::Closed | State::TimeWait))
    }

    fn next_wakeup(&self, idle: Duration) -> Time {
        match self.ended {
            Some(at) => at + LINGER,
            None => self.sides.iter().map(Connection::next_wakeup).fold(self.idle_at(idle), Time::min),
        }
    }

    fn is_over(&self, now: Time, idle: Duration) -> bool {
        match self.ended {
            Some(at) => at + LINGER <= now,
            None => self.idle_at(idle) <= now,
        }
    }

    /// Returns the time when its state is discarded without a packet.
    fn idle_at(&self, idle: Duration) -> Time {
        let is_closing = self.tally.owed() == 0 && self.sides.iter().all(closes);
        self.last_packet + if is_closing { idle.min(CLOSING_IDLE) } else { idle }
    }
}

/// Whether an endpoint has sent its FIN.
pub(super) fn closes(side: &Connection) -> bool {
    use State::{Closed, Closing, FinWait1, FinWait2, LastAck, TimeWait};
    matches!(side.state(), FinWait1 | FinWait2 | Closing | LastAck | TimeWait | Closed)
}
