//! BBR v3 derives the window and the pace from a model of the path, like v1, and bounds the data in flight. Losses of
//! more than 2 % set the bounds, and probes test them every few seconds.
//!
//! draft-ietf-ccwg-bbr (edition of August 2026).
//!
//! # How it works
//!
//! The bandwidth is the greatest delivery rate of the last two cycles, the round-trip time the least of 10 seconds.
//! Each state has a gain of the pace and a gain of the window:
//!
//! ```text
//! pace   = gain · bandwidth · 0.99            Startup 4 ln 2, Drain 0.5, Down 0.9, Cruise 1, Refill 1, Up 1.25, ProbeRTT 1
//! window = gain · bandwidth · min_rtt + excess   2, Up 2.25, ProbeRTT 0.5; at least 4 segments
//! ```
//!
//! Startup ends when the rate has not grown by a quarter in three round trips. It also ends when a round trip of loss
//! recovery lost more than 2 % in 6 ranges or more. Drain ends when at most bandwidth · min_rtt is in flight, or after
//! three round trips. Then the cycle starts:
//!
//! - Down makes room and Cruise keeps it.
//! - Refill fills the pipe for a round trip.
//! - Up sends more than the path takes until the rate stops growing.
//!
//! A cycle lasts 2 to 3 seconds. It is shorter if the window has few segments: as many round trips as segments, at most
//! 63, because Reno's flows would probe as often. After 5 seconds without a lower round-trip time, ProbeRTT halves the
//! window for 200 ms or a round trip, the longer of both.
//!
//! The findings of a probe hold until the next probe. If more than 2 % of the data in flight with a segment is lost,
//! the long-term bound is the point at which losses exceeded 2 %, or 0.7 of the target if that is more. A clean probe
//! raises the bound by 1, 2, 4 ... segments per round trip. After a probe that lost too much, the next probe stops at
//! this bound. It is repeated once it is known to have lost little. Cruise keeps 15 % of headroom below the bound.
//!
//! Between probes, a round trip with any loss sets short-term bounds of bandwidth and data in flight: the delivered
//! values, or 0.7 of the old bounds if that is more. Loss recovery itself changes nothing. A timeout leaves one segment
//! until all data is repaired. A spurious loss restores bounds and state.
//!
//! # bbr2
//!
//! BBR v2 (alpha release of 2019) is BBR v3 with other constants:
//!
//! - Startup has gains of 2.885 and ends after 8 losses in a round trip.
//! - The pace of Drain is 1 / 2.885, that of Down 0.75.
//! - Up has a window gain of 2. It ends when it has lasted a round trip and 1.25 times bandwidth · min_rtt is in
//!   flight.
//! - Its reaction to ECN marks is left out, as for v3.
//!
//! Two flows of v2 that start at different times stay uneven where the queue holds both windows without losses. On 50
//! Mbit/s and 40 ms the first flow keeps two thirds to three quarters of the link. The two estimates add up to more
//! than the link rate, and both windows are twice bandwidth · min_rtt, so a queue of one round trip remains. Each flow
//! gets the share of its window, which confirms its estimate, so every division of the link is an equilibrium. Only
//! probes can change it, but they end too early. At the start of Up, 1.25 times bandwidth · min_rtt is already in
//! flight, and min_rtt has passed before the first ACK of the probe arrives. The Up of v3 waits for these ACKs: with
//! `up_ends = "plateau"` the same two flows become nearly even. The released code of v2 has the early end, and two flows
//! with it are uneven as well.
//!
//! # Differences from the source
//!
//! - Quanta are single segments, because no layer below the sender joins segments (`quantum`). Hosts `linux-6` have
//!   those of segmentation offload.
//! - After a timeout the window is one segment, even if RACK leaves data in flight.
//! - Data sent after nothing was in flight counts as a restart of the application.
//! - The first measured round trip sets the pace again, as in Linux. A round-trip time of the handshake is used for the
//!   pace only, because its packets are smaller.
//! - ECN marks are ignored. Released code uses them below a round-trip time of 5 ms, and no satellite path is that
//!   short.
//! - `profile = "code"` is the released code where it differs from the draft.
//! - The restart window (RFC 5681), window validation and proportional rate reduction do not apply.
//!
//! # When it helps
//!
//! BBR v3 keeps a far shorter queue than loss-based flows. Random loss of a few packets in a thousand costs little.
//! ProbeRTT keeps half the window and costs little.
//!
//! # When it hurts
//!
//! - Beyond a loss of 2 %, each probe looks like congestion, and the long-term bound follows the surviving packets. v1
//!   gets far more out of a noisy link.
//! - Over GEO a cycle of 2 to 3 seconds has four or five round trips. Down, a tenth below the bandwidth, has not
//!   drained the queue of Up when the next probe is due, so a part of it remains (v2 drains it). BBR v3 finds new
//!   capacity slowly, and ProbeRTT may come before Startup is over.
//! - A handover to a longer path leaves a round-trip time that is too small for up to ten seconds. A burst of loss
//!   there bounds the data in flight until the next probe. With `leo` it knows when paths change.
//! - Two flows over GEO that start at different times do not become even, and may move apart. The long-term bound of
//!   each stays where its first overflow set it. Neither sees losses of 2 % afterwards, and nothing lowers the larger
//!   bound. The released module, run on the same path, does the same.

mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod version;

pub use version::{Bbr2Settings, Bbr2Up, Bbr3Profile, Bbr3Settings};

use crate::inside::{Bps, Span};
use crate::model::common::{
    model_hooks, Aggregation, BbrPace, Dice, FullPipe, KnownReallocations, ProbeRtt, Rounds, Sample,
};
use crate::parts::windowed::{Max, Windowed};
use crate::{Congestion, CongestionControl, Delivery, Init, Insides, LostSegment, Pace, PathState, Quantity};
use bentpipe_units::{Duration, Time};
use version::Version;

const UP_PACING: f64 = 1.25;
const PROBE_RTT_WINDOW: f64 = 0.5;
/// Smallest window, segments.
const MIN_PIPE: u64 = 4;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT: Duration = Duration::from_millis(200);
const DRAIN_ROUNDS: u64 = 3;
/// Largest number of round trips between probes, for coexistence with Reno's flows.
const COEXISTENCE_ROUNDS: u64 = 63;
const PROBE_WAIT_S: f64 = 2.0;
const EXCESS_ROUNDS: u64 = 10;
const UP_ROUNDS_MAX: u32 = 30;
/// Cycles for which a known reallocation keeps the bandwidth.
const HELD_CYCLES: u64 = 2;

/// States, in the words of the draft. The last four before ProbeRTT are those of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::Down => "probe-bw-down",
            Self::Cruise => "probe-bw-cruise",
            Self::Refill => "probe-bw-refill",
            Self::Up => "probe-bw-up",
            Self::ProbeRtt => "probe-rtt",
        }
    }
}

/// Subject of ACKs: the last probe, the next one, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// An ACK, as the steps of the model need it.
#[derive(Clone, Copy, Debug)]
struct Ack {
    now: Time,
    newly: u64,
    in_flight: u64,
    is_cwnd_limited: bool,
    sample: Option<Sample>,
    is_round_start: bool,
    is_loss_round_start: bool,
}

impl Ack {
    fn is_app_limited(&self) -> bool {
        self.sample.is_none_or(|sample| sample.is_app_limited)
    }

    fn rate(&self) -> f64 {
        self.sample.map_or(0.0, |sample| sample.rate)
    }
}

/// Bounds set by losses; infinite: no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    bw_short: f64,
    short: u64,
    long: u64,
}

const UNBOUNDED: Bounds = Bounds { bw_short: f64::INFINITY, short: u64::MAX, long: u64::MAX };

/// Losses seen between two evaluations, which are a round trip of loss apart.
#[derive(Clone, Copy, Debug, Default)]
struct LossRound {
    /// End of the round trip: more than this was delivered when the acknowledged data was sent.
    end: u64,
    has_loss: bool,
    /// Greatest rate, and volume delivered, in the round trip.
    bw: f64,
    delivered: u64,
    /// Lost ranges, or ACKs that reported losses.
    events: u32,
    last_end: u64,
    last_at: Option<Time>,
    without_sack: bool,
}

/// Start of the state.
#[derive(Clone, Copy, Debug)]
struct StateStart {
    at: Time,
    /// Round trip in which Drain began.
    drain_round: u64,
}

/// The cycle: the time of the next bandwidth probe, and the result of the last.
#[derive(Clone, Debug)]
struct Probing {
    dice: Dice,
    ack_phase: AckPhase,
    /// Start of the cycle. The next probe is due after `wait`, or after enough round trips.
    began_at: Time,
    wait: Duration,
    /// Round trips since the last probe.
    rounds: u64,
    /// Whether data lost now was sent in a probe.
    is_sample: bool,
    was_too_high: bool,
    was_precaution: bool,
}

/// Pace at which Up raises the long-term bound.
#[derive(Clone, Copy, Debug)]
struct Slope {
    /// Round trips in Up.
    rounds: u32,
    /// Bytes acknowledged that have not raised the bound yet.
    acked: u64,
    /// Acknowledged bytes per segment that the bound rises.
    per_segment: u64,
}

/// The least round-trip time, and the least since ProbeRTT was last due.
#[derive(Clone, Copy, Debug)]
struct LeastRtt {
    min: Option<Duration>,
    min_at: Time,
    probe_min: Option<Duration>,
    probe_min_at: Time,
}

/// Loss recovery.
#[derive(Clone, Copy, Debug, Default)]
struct InRecovery {
    /// Bytes delivered at its start; `None` outside recovery.
    from: Option<u64>,
    /// State that a loss ended, restored if the loss was spurious.
    undo_state: Option<State>,
}

/// BBR v2 or v3 on a connection: its model of the path, the bounds, the window and the pace.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    version: Version,
    smss: u64,
    initial_window: u64,
    cwnd: u64,
    prior_cwnd: u64,
    state: State,
    entered: StateStart,
    delivered: u64,
    rounds: Rounds,
    max_bw: Windowed<Max, f64, 2>,
    cycle: u64,
    bw: f64,
    bounds: Bounds,
    loss: LossRound,
    pipe: FullPipe,
    pace: BbrPace,
    aggregation: Aggregation,
    reallocations: KnownReallocations,
    probing: Probing,
    slope: Slope,
    rtt: LeastRtt,
    probe_rtt: ProbeRtt,
    recovery: InRecovery,
}

impl Bbr3 {
    /// Starts in Startup with a window of `init.cwnd` bytes; v2 or v3 by the settings.
    pub fn new(init: Init, version: impl Into<Version>) -> Self {
        let version = version.into();
        let Bbr3Settings { leo, period, offset, .. } = version.settings;
        Self {
            version,
            smss: init.smss,
            initial_window: init.cwnd,
            cwnd: init.cwnd.max(init.smss),
            prior_cwnd: 0,
            state: State::Startup,
            entered: StateStart { at: init.now, drain_round: 0 },
            delivered: 0,
            rounds: Rounds::default(),
            max_bw: Windowed::default(),
            cycle: 0,
            bw: 0.0,
            bounds: UNBOUNDED,
            loss: LossRound::default(),
            pipe: FullPipe::default(),
            pace: BbrPace::new(&init, version.startup_pacing),
            aggregation: Aggregation::default(),
            reallocations: KnownReallocations::new(leo, period, offset, init.now),
            probing: Probing {
                dice: Dice::new(init.seed, "bbr3", "probes"),
                ack_phase: AckPhase::Init,
                began_at: init.now,
                wait: Duration::ZERO,
                rounds: 0,
                is_sample: false,
                was_too_high: false,
                was_precaution: false,
            },
            slope: Slope { rounds: 0, acked: 0, per_segment: u64::MAX },
            rtt: LeastRtt { min: None, min_at: init.now, probe_min: None, probe_min_at: init.now },
            probe_rtt: ProbeRtt::default(),
            recovery: InRecovery::default(),
        }
    }

    /// Begins loss recovery, or continues it after a timeout. Once for each recovery, not for each loss, the state that
    /// an undo restores is forgotten: the loss that ends Up is not the last one of its recovery.
    fn begin_recovery(&mut self) {
        self.save_cwnd();
        if self.recovery.from.is_none() {
            self.recovery.undo_state = None;
        }
        self.recovery.from = Some(self.delivered);
    }
}

impl CongestionControl for Bbr3 {
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        self.smss = path.smss;
        self.delivered = delivery.delivered;
        self.reallocations.look(path.now, HELD_CYCLES);
        let sample = Sample::new(delivery, path, self.version.settings.rwnd_limited_is_app_limited);
        let mut ack = Ack {
            now: path.now,
            newly: delivery.newly_delivered,
            in_flight: delivery.in_flight,
            is_cwnd_limited: delivery.is_cwnd_limited,
            sample,
            is_round_start: false,
            is_loss_round_start: false,
        };
        self.update_model(&mut ack);
        self.pace.learn(path, self.version.startup_pacing, self.initial_window);
        self.pace.set(self.pacing_gain(), self.bw, !self.pipe.has_been);
        self.update_cwnd(&ack);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        self.reallocations.look(path.now, HELD_CYCLES);
        if !self.reallocations.excuses(path.now) {
            self.note_loss(lost, path.now);
        }
    }

    fn on_congestion(&mut self, why: Congestion, _: &PathState) {
        if why == Congestion::FastRetransmit {
            self.begin_recovery();
        }
    }

    fn on_rto(&mut self, _: bool, _: &PathState) {
        self.begin_recovery();
        self.cwnd = self.smss;
    }

    fn on_recovery_exit(&mut self, _: &PathState) {
        if self.recovery.from.take().is_some() {
            self.restore_cwnd();
        }
    }

    fn on_resume(&mut self, path: &PathState) {
        self.pace.learn(path, self.version.startup_pacing, self.initial_window);
        self.probe_rtt.is_restarting = true;
        self.aggregation.restart(path.now);
        if self.is_probing_bw() {
            self.pace.set(1.0, self.bw, false);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(path.now);
        }
    }

    fn undo(&mut self, before: Self) {
        self.cwnd = self.cwnd.max(before.cwnd);
        self.prior_cwnd = self.prior_cwnd.max(before.cwnd);
        self.recovery.from = None;
        self.loss.has_loss = false;
        self.pipe.restart(0.0);
        self.bounds = Bounds {
            bw_short: self.bounds.bw_short.max(before.bounds.bw_short),
            short: self.bounds.short.max(before.bounds.short),
            long: self.bounds.long.max(before.bounds.long),
        };
        match self.recovery.undo_state.take().filter(|_| self.state != State::ProbeRtt) {
            Some(State::Startup) => {
                self.pipe.has_been = false;
                self.state = State::Startup;
            }
            Some(State::Up) => self.enter_refill(),
            _ => {}
        }
    }

    model_hooks!(min_pipe);

    fn pacing(&self) -> Option<Pace> {
        Some(self.pace.as_pace(self.version.settings.quantum))
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        let bytes = |bound: u64| if bound == u64::MAX { f64::NAN } else { bound as f64 };
        let bw = Bps(8.0 * self.max_bw.get());
        let name = self.state.name();
        match self.state {
            State::Startup => insides.state(name, format_args!("it doubles its rate in each round trip until the path is full")),
            State::Drain => insides.state(name, format_args!("the path is full at {bw}, and it empties the queue of its start")),
            State::Down => insides.state(name, format_args!("it sends slower than its estimate of {bw} to empty the queue of its probe")),
            State::Cruise => insides.state(name, format_args!("it sends at its estimate of {bw} and leaves room for others")),
            State::Refill => insides.state(name, format_args!("it fills the path for a round trip before it probes for more than {bw}")),
            State::Up => insides.state(name, format_args!("it sends faster than its estimate of {bw} to probe for more")),
            State::ProbeRtt => insides.state(
                name,
                format_args!(
                    "its minimum round trip is {} old, so it holds the window at a part of the path for {} to measure without a queue",
                    Span(PROBE_RTT_INTERVAL),
                    Span(PROBE_RTT)
                ),
            ),
        };
        insides.value(Quantity::PacingGain, self.pacing_gain()).value(Quantity::CwndGain, self.window_gain());
        insides.value(Quantity::Bandwidth, 8.0 * self.max_bw.get()).min_rtt(self.rtt.min);
        insides.value(Quantity::BandwidthShortterm, 8.0 * self.bounds.bw_short);
        insides.value(Quantity::InflightShortterm, bytes(self.bounds.short));
        insides.value(Quantity::InflightLongterm, bytes(self.bounds.long));
        insides.value(Quantity::ExtraAcked, self.excess() as f64);
        insides.own("round_count", self.rounds.count as f64);
        insides.own("probe_wait_s", self.probing.wait.as_secs_f64());
        insides.own("idle_restart", f64::from(u8::from(self.probe_rtt.is_restarting)));
        self.pipe.inside(insides);
    }
}

#[cfg(test)]
mod tests;
