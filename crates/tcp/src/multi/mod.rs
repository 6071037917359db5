//! Multipath TCP (RFC 8684): one connection over several subflows.
//!
//! A [`Meta`] is one end of it. It has no clock, no socket and no connection: each subflow is a [`Connection`] of its driver, and
//! the meta gives it data just as it could send them. So a subflow detects losses, repairs them and counts round trips as any
//! connection does. The meta has what is above: the order of the data, the one receive window, the choice of the subflow, and the
//! data of a subflow that does not deliver.
//!
//! | part | decides |
//! |---|---|
//! | [`DataSender`](sender) | what of the data waits, is sent, is acknowledged, may be sent |
//! | [`DataReceiver`](receiver) | what arrived, in the order of the data; the one receive buffer |
//! | [`Scheduler`](scheduler) | which subflow carries the next segment |
//! | [`Coupling`](coupling) | how fast the windows grow together |
//! | [`assign`](assign) | which data a subflow is given: new ones, those of another, or none |
//! | [`life`](life) | opening, joining, leaving, closing, fallback to TCP |
//!
//! # Readings
//!
//! - A closed receive window is probed by a segment without data that the peer has to answer, as for a connection of TCP here.
//! - Keys, tokens and hashes are no part of the model: whoever writes bytes adds them.
//! - Reinjected data go to the usable subflow with the least round-trip time, with any scheduler.

mod assign;
mod config;
mod coupling;
mod events;
mod life;
mod receiver;
mod scheduler;
mod sender;
mod subflows;

pub use config::{MultiConfig, Reinject, ReinjectOn, Rejoin};
pub use coupling::{Coupling, Uncoupled};
pub use events::{MultiCounters, MultiEvent, SubflowFacts};
pub use scheduler::*;
pub use subflows::{Plan, Subflows};

use crate::conn::Arrived;
use crate::Backlog;
use crate::{Connection, Dss, Event, Flags, Multipath, Role, Segment, SendLimit, SharedWindow, State, SubflowReset};
use bentpipe_units::{Duration, Time};
use coupling::Member;
use life::MultiPhase;
use receiver::DataReceiver;
use sender::DataSender;
use std::collections::VecDeque;
use std::sync::Arc;
use subflows::{Stage, Subflow};

/// One end of a multipath connection. Subflow `i` of one end is subflow `i` of the other; subflow 0 is the first.
///
/// Tasks of its driver:
///
/// - Pass arriving segments to [`handle`](Self::handle) instead of the connection.
/// - Pass events of the connections to [`on_event`](Self::on_event).
/// - Serve the timers of the connections. Timers of the meta are due at [`next_wakeup`](Self::next_wakeup).
/// - After each call, and after a connection's timer, let the [`next_subflow`](Self::next_subflow) transmit. Repeat
///   this until it returns `None`.
///
/// ```
/// use bentpipe_tcp::multi::{Meta, MultiConfig, Plan, Subflows};
/// use bentpipe_tcp::{Config, Connection, Role, Segment};
/// use bentpipe_units::{Duration, Seq, Time};
/// use std::sync::Arc;
///
/// fn send(meta: &mut Meta, subflows: &mut Vec<Connection>, now: Time, sent: &mut Vec<(usize, Segment)>) {
///     while let Some(i) = meta.next_subflow(now, subflows) {
///         while subflows[i].transmit(now, &mut |segment: Segment| sent.push((i, segment))).is_some() {}
///         while let Some(event) = subflows[i].poll() {
///             meta.on_event(now, i, event, subflows);
///         }
///     }
/// }
///
/// let config = Arc::new(MultiConfig::default());
/// let tcp = config.of_subflow(&Config::default());
/// let plans = [Plan::default(); 2];
/// let [(mut client, mut ours), (mut server, mut theirs)] = [Role::Active, Role::Passive].map(|role| {
///     let subflows: Vec<_> = (0..2).map(|i| Connection::new(tcp.clone(), role, Seq::new(i))).collect();
///     (Meta::new(Arc::clone(&config), role, &plans), subflows)
/// });
/// let mut now = Time::ZERO;
/// server.open(now, &mut theirs);
/// client.open(now, &mut ours);
/// client.offer(100_000);
/// while server.counters().delivered_bytes < 100_000 {
///     let (mut there, mut back) = (Vec::new(), Vec::new());
///     send(&mut client, &mut ours, now, &mut there);
///     now += Duration::from_millis(20);
///     assert!(now < Time::ZERO + Duration::from_secs(1), "two handshakes and a few rounds");
///     there.iter().for_each(|(i, segment)| server.handle(now, *i, segment, &mut theirs));
///     send(&mut server, &mut theirs, now, &mut back);
///     now += Duration::from_millis(20);
///     back.iter().for_each(|(i, segment)| client.handle(now, *i, segment, &mut ours));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Meta {
    config: Arc<MultiConfig>,
    role: Role,
    phase: MultiPhase,
    coupling: Coupling,
    subflows: Vec<Subflow>,
    sender: DataSender,
    receiver: DataReceiver,
    scheduler: Box<dyn Scheduler>,
    /// State of all data in the headers of all subflows, and the shift of their windows.
    shared: SharedWindow,
    shift: u8,
    outbox: Outbox,
    /// The data that wait, as the subflows were notified.
    backlog: Backlog,
    /// A data sequence signal of the peer has arrived, so that other subflows may open (RFC 8684 §3.1); the passive end needs none.
    is_confirmed: bool,
    /// The subflow that was given data last.
    last: usize,
    timers: MetaTimers,
    counters: MultiCounters,
    /// Kept to avoid new allocations for each segment.
    view: SchedulerView,
    members: Vec<Member>,
    stranded: Vec<(u64, u64)>,
}

/// Work and news for the driver.
#[derive(Clone, Debug, Default)]
struct Outbox {
    /// Subflows that have to transmit, as bits.
    touched: u32,
    events: VecDeque<MultiEvent>,
}

impl Outbox {
    fn touch(&mut self, i: usize) {
        self.touched |= 1 << i;
    }

    fn report(&mut self, event: MultiEvent) {
        self.events.push_back(event);
    }
}

/// Timers of a multipath connection, beside those of its subflows; [`Time::NEVER`]: it does not run.
#[derive(Clone, Copy, Debug)]
struct MetaTimers {
    /// Next probe of a closed receive window, and the factor on the delay of the first probe.
    probe: Time,
    probe_backoff: u32,
    /// Next retransmission of the DATA_FIN, and the factor on the delay of the first one.
    fin: Time,
    fin_backoff: u32,
    /// End of the connection, because no subflow has been open for too long.
    lonely: Time,
    /// Expiry of the data timer: no data were acknowledged for one timeout.
    data: Time,
}

impl MetaTimers {
    const STOPPED: Self = Self {
        probe: Time::NEVER,
        probe_backoff: 1,
        fin: Time::NEVER,
        fin_backoff: 1,
        lonely: Time::NEVER,
        data: Time::NEVER,
    };
}

/// The contract with whoever drives it.
impl Meta {
    /// Subflows that a connection can have.
    pub const SUBFLOWS_MAX: usize = u32::BITS as usize;

    /// An end that has neither sent nor received anything, with a plan for each subflow, at least one. It has at most
    /// [`SUBFLOWS_MAX`](Self::SUBFLOWS_MAX) of them; further plans do not count.
    pub fn new(config: Arc<MultiConfig>, role: Role, plans: &[Plan]) -> Self {
        let scheduler = match &config.own_scheduler {
            Some(own) => own.build(),
            None => config.scheduler.build(),
        };
        Self {
            role,
            phase: MultiPhase::Closed,
            coupling: Coupling::None,
            subflows: plans.iter().take(Self::SUBFLOWS_MAX).copied().map(Subflow::new).collect(),
            sender: DataSender::default(),
            receiver: DataReceiver::new(&config, 1460),
            scheduler,
            shared: SharedWindow::default(),
            shift: 0,
            outbox: Outbox::default(),
            backlog: Backlog::None,
            is_confirmed: role == Role::Passive,
            last: 0,
            timers: MetaTimers::STOPPED,
            counters: MultiCounters::default(),
            view: SchedulerView::default(),
            members: Vec::new(),
            stranded: Vec::new(),
            config,
        }
    }

    /// Something arrived on subflow `i`. The acknowledgement of data counts before that of the subflow, and data after both.
    pub fn handle<'a, S: Subflows + ?Sized>(
        &mut self,
        now: Time,
        i: usize,
        arrived: impl Into<Arrived<'a>>,
        subflows: &mut S,
    ) {
        self.outbox.touch(i);
        let segment = match arrived.into() {
            Arrived::General(segment) => *segment,
            Arrived::Plain(plain) => plain.into(),
            Arrived::Stamped(plain, timestamps) => Segment { timestamps: Some(timestamps), ..plain.into() },
            Arrived::Corrupted => return subflows.connection(i).handle(now, Arrived::Corrupted),
        };
        let conn = subflows.connection(i);
        let (before, is_open) = (conn.counters().arrived_bytes, conn.state().is_synchronised());
        if let (Some(Multipath::Dss(dss)), true) = (segment.multi, is_open && self.phase == MultiPhase::Open) {
            self.on_data_ack(now, Dss::offset(dss.data_ack, self.sender.una), subflows);
        }
        self.couple(i, subflows);
        let conn = subflows.connection(i);
        conn.handle(now, &segment);
        let has_data = conn.counters().arrived_bytes > before;
        if segment.flags.has(Flags::RST) {
            return self.on_reset(now, i, segment.multi, subflows);
        }
        self.note_answer(now, i, &segment, subflows);
        if self.phase == MultiPhase::Plain {
            return self.mirror(now, subflows);
        }
        self.note_signal(now, i, &segment, has_data, subflows);
        let mapping = segment.multi.and_then(|multi| multi.mapping(segment.len));
        match mapping.filter(|_| !segment.flags.has(Flags::SYN)) {
            Some(dss) if has_data => self.on_data(now, i, dss, subflows),
            // The connection refused the data, if any. The end of all data is where it is.
            Some(dss @ Dss { is_fin: true, dsn, len, .. }) => {
                self.on_data(now, i, Dss { dsn: dsn.at(len.into()), len: 0, ..dss }, subflows);
            }
            _ => {}
        }
    }

    /// Something happened on the connection of subflow `i`.
    pub fn on_event<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, event: Event, subflows: &mut S) {
        match event {
            Event::Established => self.on_established(now, i, subflows),
            Event::Timeout(_) => {
                self.subflows[i].note_loss(subflows.connection(i).acked_bytes());
                if self.config.reinject.on != ReinjectOn::DataTimer {
                    self.fail(i, subflows);
                }
            }
            Event::FastRetransmit(_) | Event::EcnReduction(_) => {
                self.subflows[i].note_loss(subflows.connection(i).acked_bytes());
            }
            Event::PeerFinished => self.on_subflow_finished(now, i, subflows),
            // This end has not given it up before.
            Event::Aborted(_) if !self.subflows[i].is_away() => {
                if self.subflows[i].stage == Stage::Open && !self.subflows[i].was_reset {
                    self.outbox.report(MultiEvent::Reset(i, SubflowReset::SILENT));
                }
                self.on_subflow_closed(now, i, subflows);
                self.retry(now, i);
            }
            Event::Closed => self.on_subflow_closed(now, i, subflows),
            _ => {}
        }
    }

    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    pub fn handle_wakeup<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        self.join_due(now, subflows);
        if self.timers.probe <= now {
            self.probe(now, subflows);
        }
        if self.timers.fin <= now {
            self.tell_fin(now, subflows);
        }
        if self.timers.data <= now {
            self.on_data_timer(now, subflows);
        }
        self.repeat_due(now, subflows);
        if self.timers.lonely <= now {
            self.end();
        }
    }

    /// The next instant at which [`handle_wakeup`](Self::handle_wakeup) is due, or [`Time::NEVER`].
    #[must_use]
    pub fn next_wakeup(&self) -> Time {
        let MetaTimers { probe, fin, data, lonely, .. } = self.timers;
        let first = probe.min(fin).min(data).min(lonely);
        if self.phase != MultiPhase::Open || !self.is_confirmed {
            return first;
        }
        self.subflows.iter().map(Subflow::next_wakeup).fold(first, Time::min)
    }

    /// Returns the subflow whose connection has to transmit now, until that gives `None`; then ask again. Data are given to it just
    /// before. Ask here after each arrival and wake-up; a connection that woke up transmits after that, because a tail loss probe
    /// prefers new data to a copy (RFC 8985 §7.3).
    #[must_use]
    pub fn next_subflow<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) -> Option<usize> {
        let next = self.assign(now, subflows).or_else(|| {
            let first = self.outbox.touched.trailing_zeros();
            (self.outbox.touched != 0).then_some(first as usize)
        })?;
        self.outbox.touched &= !(1 << next);
        Some(next)
    }

    /// The next thing that happened, oldest first.
    #[must_use]
    pub fn poll(&mut self) -> Option<MultiEvent> {
        self.outbox.events.pop_front()
    }
}

/// The application.
impl Meta {
    /// The application has `bytes` more to send. Nothing is taken after [`close`](Self::close).
    pub fn offer(&mut self, bytes: u64) {
        if !self.sender.is_closing {
            self.sender.offered = self.sender.offered.saturating_add(bytes).min(u64::MAX >> 8);
        }
    }

    /// No more data will be offered: a DATA_FIN follows the last byte, and when it is acknowledged the subflows are closed.
    pub fn close<S: Subflows + ?Sized>(&mut self, now: Time, subflows: &mut S) {
        if std::mem::replace(&mut self.sender.is_closing, true) {
            return;
        }
        self.share(subflows);
        self.advance_close(now, subflows);
    }

    /// Whether data count as read the moment they are in order (the default).
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.receiver.set_reads_at_once(reads_at_once);
    }

    /// The application reads up to `bytes`; returns how many there were. Only needed after
    /// [`set_reads_at_once`](Self::set_reads_at_once)`(false)`.
    pub fn read<S: Subflows + ?Sized>(&mut self, bytes: u64, subflows: &mut S) -> u64 {
        let (taken, opens) = self.receiver.read(bytes);
        if self.phase == MultiPhase::Plain {
            subflows.connection(0).read(bytes);
            self.outbox.touch(0);
        } else {
            self.share(subflows);
        }
        for i in (0..self.subflows.len()).filter(|_| opens) {
            if self.subflows[i].stage == Stage::Open {
                subflows.connection(i).announce_window();
                self.outbox.touch(i);
            }
        }
        taken
    }
}

/// Queries, at any time.
impl Meta {
    /// Whether the first subflow is open.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self.phase, MultiPhase::Open | MultiPhase::Plain)
    }

    /// Whether nothing will happen any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.phase == MultiPhase::Ended
    }

    /// Whether it is plain TCP over the first subflow.
    #[must_use]
    pub fn fell_back(&self) -> bool {
        self.phase == MultiPhase::Plain
    }

    /// Bytes of the data that the peer has acknowledged.
    #[must_use]
    pub fn acked_bytes(&self) -> u64 {
        self.sender.acked()
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &MultiCounters {
        &self.counters
    }

    /// Returns what the connection of subflow `i` does not know of it.
    #[must_use]
    pub fn subflow(&self, i: usize) -> &SubflowFacts {
        &self.subflows[i].facts
    }

    /// Bytes that arrived and wait for data before them.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.receiver.held()
    }

    /// The coupling in force.
    #[must_use]
    pub fn coupling(&self) -> Coupling {
        self.coupling
    }

    /// Returns the first data that are not acknowledged, from and to, with the subflow that carries them; `None`: nothing is
    /// outstanding.
    pub fn awaited<S: Subflows + ?Sized>(&self, subflows: &mut S) -> Option<(u64, u64, usize)> {
        let una = self.sender.una;
        let i = (0..self.subflows.len()).find(|&i| subflows.connection(i).report().carries(una, una + 1))?;
        let end = subflows
            .connection(i)
            .report()
            .mapped()?
            .mappings
            .iter()
            .find(|mapping| mapping.dsn <= una && una < mapping.end())?
            .end();
        Some((una, end, i))
    }

    /// Returns the limit of this end's sending, and the subflow that has it: the receive window if that stops all of them, else the
    /// limit of the subflow that was given data last. `None` before it opens, and after all data are acknowledged.
    pub fn send_limit<S: Subflows + ?Sized>(&self, subflows: &mut S) -> Option<(SendLimit, usize)> {
        if self.phase == MultiPhase::Opening {
            return Some((SendLimit::StartUp, 0));
        }
        if !self.is_established() || (self.sender.is_closing && self.sender.una >= self.sender.offered) {
            return None;
        }
        let is_blocked =
            self.sender.unsent() > 0 && self.sender.next_len(subflows.connection(self.last).report().smss()) == 0;
        if is_blocked {
            return Some((SendLimit::ReceiveWindow, self.last));
        }
        subflows.connection(self.last).report().send_limit().map(|limit| (limit, self.last))
    }
}

/// Effects of arrivals.
impl Meta {
    /// The peer has all data below `ack`.
    fn on_data_ack<S: Subflows + ?Sized>(&mut self, now: Time, ack: u64, subflows: &mut S) {
        if !self.sender.on_ack(ack) {
            return;
        }
        for i in 0..self.subflows.len() {
            subflows.connection(i).release(self.sender.una);
        }
        self.restart_data_timer(now, subflows);
        self.advance_close(now, subflows);
    }

    /// Couples the window of subflow `i` with its siblings, before the subflow handles an ACK.
    fn couple<S: Subflows + ?Sized>(&mut self, i: usize, subflows: &mut S) {
        if matches!(self.coupling, Coupling::None | Coupling::Auto) || self.subflows[i].stage != Stage::Open {
            return;
        }
        self.members.clear();
        let mut place = None;
        for (other, subflow) in self.subflows.iter().enumerate() {
            let conn = subflows.connection(other);
            let Some(srtt) = conn.report().srtt().filter(|srtt| subflow.stage == Stage::Open && *srtt > Duration::ZERO)
            else {
                continue;
            };
            if other == i {
                place = Some(self.members.len());
            }
            let threshold = conn.ssthresh().filter(|_| conn.report().is_repairing());
            self.members.push(Member {
                window: threshold.unwrap_or(conn.cwnd()) as f64 / conn.report().smss() as f64,
                rtt: srtt.as_ps() as f64 / 1e12,
                between: subflow.between_losses(conn.acked_bytes()) as f64,
            });
        }
        if let Some(siblings) = place.and_then(|place| self.coupling.share(place, &self.members)) {
            subflows.connection(i).couple(siblings);
        }
    }

    /// Notes that subflow `i` delivers, and notes the receive window of the segment that arrived on it.
    fn note_answer<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, segment: &Segment, subflows: &mut S) {
        let conn = subflows.connection(i);
        let (srtt, window) = (conn.report().srtt(), conn.report().window_in(segment));
        let subflow = &mut self.subflows[i];
        subflow.note_answer(now, srtt);
        if let Some(echo) = segment.timestamps.map(|timestamps| timestamps.echo).filter(|echo| *echo != 0) {
            subflow.note_echo(crate::conn::clock::since(now, echo));
        }
        if subflow.doubt.is_none() && std::mem::take(&mut subflow.facts.is_failed) {
            self.outbox.report(MultiEvent::Restored(i));
        }
        let ack = match segment.multi {
            Some(Multipath::Dss(dss)) => Dss::offset(dss.data_ack, self.sender.una),
            // A handshake: nothing was acknowledged before it.
            _ if self.sender.una == 0 => 0,
            _ => return,
        };
        let was_closed = self.sender.usable() == 0;
        let opens = ack <= self.sender.una && self.sender.on_window(ack, window);
        if opens {
            (self.timers.probe, self.timers.probe_backoff) = (Time::NEVER, 1);
        } else if window == 0 && !was_closed && self.sender.usable() == 0 {
            self.outbox.report(MultiEvent::ZeroWindow(ack));
        }
    }

    /// Data, or the DATA_FIN, came over subflow `i`.
    fn on_data<S: Subflows + ?Sized>(&mut self, now: Time, i: usize, dss: Dss, subflows: &mut S) {
        let was_finished = self.receiver.is_finished();
        let Dss { len, is_fin, .. } = dss;
        let dsn = Dss::offset(dss.dsn, self.receiver.nxt());
        let rtt = self.subflows.iter().filter_map(|subflow| subflow.echoed).max();
        let (new, fills) = self.receiver.on_data(now, dsn, len.into(), is_fin, rtt, &mut self.counters);
        self.subflows[i].facts.delivered_bytes += new;
        self.share(subflows);
        if fills || (is_fin && len == 0) {
            // As RFC 5681 §4.2 asks for in a subflow: the sender may wait for this one acknowledgement.
            subflows.connection(i).announce_window();
        }
        if self.receiver.is_finished() && !was_finished {
            self.outbox.report(MultiEvent::PeerFinished);
        }
    }

    /// Gives the state of all data to every subflow, if this state changed.
    fn share<S: Subflows + ?Sized>(&mut self, subflows: &mut S) {
        let shared = self.receiver.shared(self.shift, self.sender.fin());
        if shared != self.shared {
            self.shared = shared;
            for i in 0..self.subflows.len() {
                subflows.connection(i).share_window(shared);
            }
        }
    }

    /// First byte of the data that is not acknowledged, and first that no subflow was given.
    #[cfg(test)]
    fn outstanding(&self) -> (u64, u64) {
        (self.sender.una, self.sender.nxt)
    }
}

/// Whether this connection was never opened.
fn is_fresh(conn: &Connection) -> bool {
    conn.state() == State::Closed && conn.counters().sent_segments == 0
}

#[cfg(test)]
mod tests;
