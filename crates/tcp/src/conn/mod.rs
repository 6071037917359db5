//! A connection: what goes in, what comes out, and which part decides what.
//!
//! | part | decides |
//! |---|---|
//! | [`Receiver`] | reassembly, when to acknowledge, which window to advertise |
//! | [`Scoreboard`] | what is outstanding, SACKed, lost, resent |
//! | [`Recovery`](recovery) | when loss recovery begins and ends, what is resent |
//! | [`RackTlp`] | what is lost by time, when to probe (RFC 8985) |
//! | [`Holes`] | what is missing, told and repaired by SNACK (SCPS-TP) |
//! | [`Prr`] | how the window falls in recovery (RFC 9937) |
//! | [`Rates`] | how fast the path delivers |
//! | [`Spurious`] | what was resent needlessly, and is undone |
//! | [`LossVerdict`](crate::verdict::LossVerdict) | what a loss means |
//! | [`CongestionControl`](crate::cc::CongestionControl) | how large the window is |
//! | [`Rtt`] | how long to wait |
//!
//! The parts do not know one another; control flow is here and in the three files that extend this type:
//! `state` (opening and closing), `ack` (what an ACK does), `transmit` (what is sent next). What only some connections
//! have stands in files of its own: `ecn` (marks), `fast_open` (data in the SYN), `pacing`, `auto_buffer`, `dummies`.
//! What keeps a sender from sending more, and what it has counted, is told by `limit` and `report`.

mod ack;
mod auto_buffer;
mod dummies;
mod ecn;
mod fast_open;
mod limit;
mod pacing;
mod prr;
mod rack;
mod rate;
mod receive;
mod recovery;
mod report;
mod rtt;
mod scoreboard;
mod snack;
mod spurious;
mod state;
mod transmit;
mod validation;

pub use limit::SendLimit;
pub use rate::RateSample;
pub use report::{Counters, Event};
pub use state::State;

use crate::cache::Learnt;
use crate::cc::{Cc, CongestionControl, Init, PathState};
use crate::config::{Config, InitialSsthresh, Recovery, Reduction, SpuriousDetection, SsthreshBase, SsthreshRounding};
use crate::segment::{Flags, Segment};
use crate::verdict::Policy;
use bentpipe_units::{Duration, Seq, Time};
use dummies::Dummies;
use ecn::Marks;
use fast_open::Opening;
use prr::Prr;
use rack::RackTlp;
use rate::Rates;
use receive::Receiver;
use recovery::{Episode, Phase};
use rtt::Rtt;
use scoreboard::Scoreboard;
use snack::Holes;
use spurious::Spurious;
use std::collections::VecDeque;
use validation::{Validation, WindowUsage};

/// Which end opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for it.
    Passive,
}

/// One end of a TCP connection.
///
/// Facts go in with [`handle_segment`](Self::handle_segment) and [`handle_wakeup`](Self::handle_wakeup) (and
/// [`offer`](Self::offer), [`close`](Self::close), [`read`](Self::read) from the application). After each of them call
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event) until they give `None`, then
/// ask [`next_wakeup`](Self::next_wakeup). `now` never decreases. Early wake-ups and extra polls are harmless.
///
/// ```
/// use bentpipe_tcp::{Config, Connection, Role};
/// use bentpipe_units::{Duration, Seq, Time};
///
/// let mut client = Connection::new(Config::default(), Role::Active, Seq::new(7));
/// let mut server = Connection::new(Config::default(), Role::Passive, Seq::new(9));
/// let mut now = Time::ZERO;
/// client.offer(100_000);
/// client.close();
/// server.open(now);
/// client.open(now);
/// while server.counters().delivered_bytes < 100_000 {
///     now += Duration::from_millis(250);
///     assert!(now < Time::ZERO + Duration::from_secs(4), "a handshake and four rounds take 2.5 s");
///     while let Some(segment) = client.poll_transmit(now) {
///         server.handle_segment(now, &segment);
///     }
///     now += Duration::from_millis(250);
///     server.handle_wakeup(now);
///     while let Some(segment) = server.poll_transmit(now) {
///         client.handle_segment(now, &segment);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    role: Role,
    iss: Seq,
    irs: Seq,

    // Sender. Offsets count from the first data byte; the FIN follows the last one.
    snd_una: u64,
    snd_nxt: u64,
    /// Bytes offered by the application so far, and how many of them the socket holds until they are acknowledged.
    offered: u64,
    send_buffer: u64,
    is_closing: bool,
    rwnd: u64,
    rwnd_largest: u64,
    smss: u32,
    board: Scoreboard,
    episode: Episode,
    rack: Option<Box<RackTlp>>,
    /// Agreed on SNACK.
    snack: Option<Box<Holes>>,
    spurious: Option<Box<Spurious>>,
    rates: Option<Box<Rates>>,
    /// The duplicate that the present ACK reports (RFC 2883).
    dsack: Option<(u64, u64)>,
    /// Someone needs to know what each ACK delivered.
    is_detailed: bool,
    /// For what the congestion control chooses at random.
    seed: u64,
    cc: Cc,
    verdict: Policy,
    usage: WindowUsage,
    /// At the last ACK.
    in_slow_start: bool,
    /// Only where more is measured than usage.
    validation: Option<Box<Validation>>,

    // Time.
    rtt: Rtt,
    timed: Option<(u64, Time)>,
    last_rtt: Option<Duration>,
    /// When the retransmission timer was armed, and for how long.
    rto_armed: (Time, Duration),
    rto_not_before: Time,
    persist: Time,
    persist_backoff: u32,
    last_sent: Time,
    first_resend: Time,
    linger: Time,
    /// Segments need nothing but the basics: no marks, no pacing, no signal, no tuning, no Nagle, no early data, no dummies.
    is_plain: bool,
    /// No data leave before.
    send_at: Time,
    /// When data that wait for that leave; never, if none do.
    send_wakeup: Time,

    receiver: Receiver,
    /// Agreed on marks.
    marks: Option<Box<Marks>>,
    /// Agreed on dummy segments.
    dummies: Option<Box<Dummies>>,
    opening: Box<Opening>,
    /// What earlier connections to the same place taught.
    learnt: Box<Learnt>,

    // Negotiated.
    snd_shift: u8,
    rcv_shift: u8,
    has_timestamps: bool,
    has_sack: bool,
    /// Both ends offered window scaling.
    scales: bool,
    wl1: Seq,
    wl2: u64,
    ts_recent: u32,
    ts_recent_at: Time,
    last_ack_sent: u64,

    // Waiting to be sent.
    control: Control,
    syn_resends: u32,
    events: VecDeque<Event>,
    counters: Counters,
    config: Box<Config>,
}

/// Segments without data that wait to be sent.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    syn: bool,
    /// A reset, with this sequence number.
    rst: Option<Seq>,
    probe: bool,
    /// An ACK that must not be merged with the next waits in `marks`.
    owed: bool,
    /// The persist timer expired: send into a window smaller than a segment.
    small: bool,
}

impl Control {
    /// Whether a segment must not wait for data.
    #[inline]
    fn is_any(self) -> bool {
        self.syn | self.rst.is_some() | self.probe | self.owed
    }
}

/// Flags of segments that are not for an open connection, or do not speak of its data.
const UNUSUAL: Flags = Flags::SYN.with(Flags::RST).with(Flags::DUMMY);

impl Connection {
    /// A connection that has neither sent nor received anything. `iss` is the initial sequence number.
    pub fn new(config: Config, role: Role, iss: Seq) -> Self {
        let rack = match config.recovery {
            Recovery::Rack(settings) => Some(Box::new(RackTlp::new(settings))),
            _ => None,
        };
        let spurious = (config.spurious_detection != SpuriousDetection::Off).then(|| Box::new(Spurious::new()));
        let cc =
            initial_cc(&config, &Learnt::default(), Init { smss: u64::from(config.smss), ..Init::default() }, u64::MAX);
        let rates = cc.takes_deliveries().then(Box::default);
        let is_detailed = matches!(config.recovery, Recovery::Snack(_))
            || (rates.is_some() || rack.is_some() || spurious.is_some() || config.reduction != Reduction::AtOnce);
        let mut board = Scoreboard::default();
        if is_detailed {
            board.set_detail(rack.is_some());
        }
        if cc.takes_deliveries() {
            board.keep_lost();
        }
        let buffer = config.receive_buffer.min(if config.window_scaling { Config::RECEIVE_BUFFER_MAX } else { 65_535 });
        // A window below one unit of its scale could not be told.
        let start = config.auto_buffer.map(|start| start.max(1 << state::window_shift(buffer)));
        Self {
            state: State::Closed,
            role,
            iss,
            irs: Seq::new(0),
            snd_una: 0,
            snd_nxt: 0,
            offered: 0,
            send_buffer: config.auto_send_buffer.unwrap_or(config.send_buffer).min(Config::UNLIMITED),
            is_closing: false,
            rwnd: 0,
            rwnd_largest: 0,
            smss: config.smss,
            board,
            episode: Episode::default(),
            rack,
            snack: None,
            spurious,
            rates,
            dsack: None,
            is_detailed,
            seed: 0,
            cc,
            verdict: config.verdict.build(),
            usage: WindowUsage::default(),
            in_slow_start: false,
            validation: Validation::new(config.cwnd_validation),
            rtt: Rtt::new(config.rto),
            timed: None,
            last_rtt: None,
            rto_armed: (Time::ZERO, config.rto.initial),
            rto_not_before: Time::NEVER,
            persist: Time::NEVER,
            persist_backoff: 1,
            last_sent: Time::ZERO,
            first_resend: Time::NEVER,
            linger: Time::NEVER,
            is_plain: true,
            send_at: Time::ZERO,
            send_wakeup: Time::NEVER,
            receiver: Receiver::new(config.ack, config.smss, buffer, start),
            marks: None,
            dummies: None,
            opening: Box::new(Opening::new(config.fast_open)),
            learnt: Box::default(),
            snd_shift: 0,
            rcv_shift: 0,
            has_timestamps: false,
            has_sack: false,
            scales: false,
            wl1: Seq::new(0),
            wl2: 0,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            last_ack_sent: 0,
            control: Control::default(),
            syn_resends: 0,
            events: VecDeque::new(),
            counters: Counters::default(),
            config: Box::new(config),
        }
    }

    /// A segment arrived from the peer.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.counters.arrived_segments += 1;
        if !self.state.is_synchronised() || segment.flags.has_any(UNUSUAL) {
            return self.handle_control(now, segment);
        }
        if !segment.flags.has(Flags::ACK) || !self.accept_timestamps(now, segment) {
            return;
        }
        let ack = segment.ack.offset_near(self.iss.at(1), self.snd_una);
        if ack > self.snd_nxt {
            // RFC 9293 §3.10.7.4: it acknowledges what was never sent.
            return self.receiver.ack_soon();
        }
        if segment.sequence_len() > 0 {
            self.receive_data(now, segment);
        } else if segment.seq != self.irs.at(1 + self.receiver.ack_offset()) {
            self.refuse_unexpected(segment);
        }
        self.handle_ack(now, segment, ack);
        if self.is_closing || self.receiver.is_finished() {
            self.advance_close(now);
            if self.state == State::TimeWait && segment.flags.has(Flags::FIN) {
                self.linger_anew(now);
            }
        }
    }

    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    pub fn handle_wakeup(&mut self, now: Time) {
        self.receiver.on_wakeup(now);
        if self.is_detailed {
            self.note_app_limited();
        }
        if self.rack.is_some() {
            self.on_rack_wakeup(now);
        }
        if self.send_wakeup <= now {
            self.send_wakeup = Time::NEVER;
        }
        if self.rto_not_before <= now {
            let expiry = self.rto_expiry();
            if expiry <= now {
                self.on_rto(now);
            } else {
                self.rto_not_before = expiry;
            }
        }
        if self.persist <= now {
            self.on_persist(now);
        }
        if self.is_detailed {
            self.tell_lost(now);
        }
        if self.linger <= now {
            self.linger = Time::NEVER;
            self.enter(State::Closed);
        }
    }

    /// The next instant at which [`handle_wakeup`](Self::handle_wakeup) is due, or [`Time::NEVER`].
    #[inline]
    pub fn next_wakeup(&self) -> Time {
        let timers = self.rto_not_before.min(self.receiver.next_wakeup()).min(self.persist);
        let timers = timers.min(self.linger).min(self.send_wakeup);
        match &self.rack {
            None => timers,
            Some(rack) => timers.min(rack.next_wakeup()),
        }
    }

    /// Whether [`poll_event`](Self::poll_event) has something to tell.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next thing that happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The application has `bytes` more to send. Nothing is taken after [`close`](Self::close).
    pub fn offer(&mut self, bytes: u64) {
        self.note_app_limited();
        if !self.is_closing {
            self.offered = self.offered.saturating_add(bytes).min(u64::MAX >> 8);
        }
    }

    /// The application reads up to `bytes`; returns how many there were. Only needed after
    /// [`set_reads_at_once`](Self::set_reads_at_once)`(false)`.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// What the congestion control may choose at random follows from `seed`; give each connection its own.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Whether data count as read the moment they are in order (the default).
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.receiver.set_reads_at_once(reads_at_once);
    }

    /// Use segments of `smss` payload bytes from now on, also for what has to be resent.
    pub fn set_smss(&mut self, smss: u32) {
        self.smss = smss.clamp(1, Config::SMSS_MAX);
        self.board.resegment(self.smss);
        if let (Some(rates), Some(first)) = (&mut self.rates, self.board.first()) {
            rates.forget(first);
        }
        if let Some(spurious) = &mut self.spurious {
            spurious.on_smss(u64::from(self.smss));
        }
        self.cc.on_smss(u64::from(self.smss));
    }

    /// Where the connection stands (RFC 9293 §3.3.2).
    pub fn state(&self) -> State {
        self.state
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion window, bytes, without the inflation of fast recovery; while the window falls in proportion, that.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.episode.prr.map_or(self.cc.cwnd(), |prr| prr.window())
    }

    /// The slow start threshold, bytes; none before it was first set.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.cc.ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
    }

    /// The window that the peer advertised last, bytes.
    pub fn receive_window(&self) -> u64 {
        self.rwnd
    }

    /// Sequence space sent and not acknowledged, bytes (RFC 5681).
    pub fn flight_size(&self) -> u64 {
        self.board.flight_size()
    }

    /// Smoothed round-trip time (RFC 6298); none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// The retransmission timeout in force, backoff included.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// The exact round-trip time that the last ACK of new data showed, whatever the clock's granularity; taken
    /// by the call. For measurement: the sender itself uses what its clock shows.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.last_rtt.take()
    }

    /// Take [`rate_sample`](Self::rate_sample)s. For measurement, and for controllers that need them.
    pub fn measure_rates(&mut self) {
        self.rates.get_or_insert_with(Box::default);
        self.is_detailed = true;
        self.board.set_detail(self.rack.is_some());
    }

    /// What the last ACK said about the rate of delivery, if [measured](Self::measure_rates).
    pub fn rate_sample(&self) -> Option<RateSample> {
        self.rates.as_ref().and_then(|rates| rates.last)
    }

    /// Payload bytes acknowledged so far.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        self.snd_una.min(self.offered)
    }

    /// Whether the handshake was completed once.
    pub fn has_been_established(&self) -> bool {
        self.state.is_synchronised() || self.rwnd_largest > 0
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// What earlier connections say of the path.
    pub(crate) fn seed_path(&mut self, learnt: Learnt, rtt: Option<(Duration, Duration)>) {
        *self.learnt = learnt;
        if let Some((srtt, rttvar)) = rtt {
            self.rtt.seed(srtt, rttvar);
        }
    }

    /// SRTT and RTTVAR, once measured.
    pub(crate) fn round_trip(&self) -> Option<(Duration, Duration)> {
        self.rtt.srtt().map(|srtt| (srtt, self.rtt.rttvar()))
    }

    /// Whether losses are being repaired.
    pub(crate) fn is_repairing(&self) -> bool {
        self.episode.phase != Phase::Open || self.episode.after_rto
    }

    fn path(&self, now: Time) -> PathState {
        let flight_size = self.outstanding();
        let mut ssthresh_base = match self.config.ssthresh_base {
            SsthreshBase::FlightSize => self.flight_to_halve(flight_size),
            SsthreshBase::Window => self.cc.cwnd().min(self.rwnd),
        };
        if let Some(validation) = &self.validation {
            ssthresh_base = validation.base_to_halve(ssthresh_base, flight_size);
        }
        PathState {
            now,
            smss: u64::from(self.smss),
            header_len: self.packet_len() - u64::from(self.smss),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            flight_size,
            ssthresh_base,
            ssthresh_unit: match self.config.ssthresh_rounding {
                SsthreshRounding::Bytes => 1,
                SsthreshRounding::Segments | SsthreshRounding::Window => u64::from(self.smss),
            },
            srtt: self.rtt.srtt(),
            rwnd: self.rwnd,
        }
    }

    /// FlightSize as RFC 5681 eq. (4) means it: what limited transmit added does not count (RFC 3042 §2).
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. In fast recovery most of that has left
    /// the network (each duplicate or selective ACK says so) and new data have taken its place; a timeout there would
    /// set ssthresh to a multiple of the path, slow start would overshoot again, and so on for ever. So it counts
    /// at most as the window that recovery allows in the network.
    fn flight_to_halve(&self, flight_size: u64) -> u64 {
        let flight_size = flight_size.saturating_sub(self.episode.limited_bytes);
        if self.episode.phase == Phase::Open && self.snack.is_none() {
            flight_size
        } else {
            flight_size.min(self.cc.cwnd())
        }
    }

    /// FlightSize.
    ///
    /// DEVIATION: RFC 5681 §2 counts all data not yet cumulatively acknowledged. After a timeout what was not resent yet
    /// does not count here: it is taken for lost, as if SND.NXT had gone back to it.
    #[inline]
    fn outstanding(&self) -> u64 {
        if self.episode.after_rto {
            self.board.pipe()
        } else {
            self.board.flight_size()
        }
    }
}

/// The congestion control at the start of data transfer.
fn initial_cc(config: &Config, learnt: &Learnt, begin: Init, rwnd: u64) -> Cc {
    let ssthresh = learnt.ssthresh.map_or(config.initial_ssthresh, InitialSsthresh::Bytes);
    let init = Init {
        cwnd: learnt.cwnd.unwrap_or(config.initial_window.bytes(begin.smss as u32)),
        ssthresh: match ssthresh {
            InitialSsthresh::Unlimited | InitialSsthresh::Bdp(_) => u64::MAX,
            InitialSsthresh::Bytes(bytes) => bytes,
            InitialSsthresh::Segments(n) => n.saturating_mul(begin.smss),
            InitialSsthresh::PeerWindow => rwnd.max(2 * begin.smss),
        },
        growth: config.growth,
        ..begin
    };
    match &config.own_cc {
        Some(own) => Cc::Custom(own.build(init)),
        None => config.cc.build(init),
    }
}

#[cfg(test)]
mod tests;
