//! BBR v1 derives the window and the pace from a model of the path: the greatest delivery rate and the least round-trip
//! time. Losses change neither.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh and V. Jacobson, "BBR: congestion-based congestion control", ACM
//! Queue 14(5), 2016, with the constants and the later parts of Linux (policers, aggregated ACKs).
//!
//! # How it works
//!
//! The bandwidth is the greatest rate of 10 round trips, the round-trip time the least of 10 seconds. Each state has a
//! gain of the pace and a gain of the window:
//!
//! ```text
//! pace   = gain · bandwidth · 0.99                          Startup 2.885, Drain 1 / 2.885, ProbeRTT 1
//! window = gain · bandwidth · min_rtt + 3 segments + excess  Startup and Drain 2.885, ProbeBW 2, ProbeRTT 4 segments
//! ProbeBW: pace gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, one for a min_rtt each; begins with any of them but 0.75
//! ```
//!
//! - Startup ends when the bandwidth has not grown by a quarter in three round trips. Drain ends when at most bandwidth
//!   · min_rtt and three quanta are in flight.
//! - After 10 seconds without a lower round-trip time, ProbeRTT sends 4 segments at a time for 200 ms or a round trip,
//!   the longer of both.
//! - The window is an even number of segments, two more while the gain is 1.25. `excess` is the data that aggregated
//!   ACKs brought beyond the bandwidth in the last 5 to 10 round trips, at most that of 100 ms.
//! - The first round trip of loss recovery sends as much as is delivered. Then the model rules again. Each lost segment
//!   leaves the window immediately, and the end of recovery restores it. A recovery that begins with the ACK that ends
//!   another continues it.
//! - The least round-trip time starts with that of the handshake. An ACK of retransmissions alone gives the round-trip
//!   time that its timestamp shows, which is short by up to a millisecond.
//! - A timeout leaves one segment.
//! - Two intervals that lose more than a fifth at the same rate reveal a policer. Its rate is then used for 48 round
//!   trips (`policer`).
//! - ECN marks change nothing.
//!
//! # Differences from the source
//!
//! - Quanta are single segments, because no layer below the sender joins segments (`quantum`). Hosts `linux-6` have
//!   those of segmentation offload.
//! - All times are exact.
//! - The first round trip sets the pace again, even if the handshake measured no round-trip time.
//! - Any loss of a phase ends the probe of that phase. In Linux only a loss shown by the last ACK does.
//! - Data sent after nothing was in flight counts as a restart of the application.
//! - The restart window (RFC 5681), window validation and proportional rate reduction do not apply.
//!
//! # When it helps
//!
//! BBR v1 fills a path with random loss, where Reno and CUBIC keep a window of a few segments. A probe sends 1.25 times
//! the bandwidth, and finds the bandwidth again while less than a fifth of the probe is lost. Of 20 Mbit/s over GEO,
//! about 16 are left at a loss of 1 %, 13 at 10 %, 8 at 15 %. RACK, its default, finds lost retransmissions by time.
//! With RFC 6675 they cost timeouts, and after each timeout Startup must fill the path again.
//!
//! # When it hurts
//!
//! - Startup takes log2(BDP / initial window) round trips and three more. In those three, a queue of up to 1.9 times
//!   the product makes each round trip nearly three times as long.
//! - BBR v1 does not react to the losses it causes. If the buffer holds one bandwidth-delay product or less, it takes
//!   most of the path from loss-based flows. A deeper buffer leaves them more.
//! - A handover to a longer path leaves a round-trip time that is too small for up to ten seconds. If the time more
//!   than doubles, the window keeps the rate below the bandwidth. With `leo` it knows when paths change.
//! - ProbeRTT costs 3 % of the time at 100 ms, more over GEO.

use crate::inside::{Bps, Span};
use crate::model::common::policer::{Policer, Totals};
use crate::model::common::{
    grown, model_hooks, product, Aggregation, BbrPace, BbrQuantum, Dice, FullPipe, KnownReallocations, ProbeRtt,
    Rounds, Sample,
};
use crate::parts::windowed::{Max, Windowed};
use crate::settings::settings;
use crate::{Congestion, CongestionControl, Cwnd, Delivery, Init, Insides, LostSegment, Pace, PathState, Quantity};
use bentpipe_units::{Duration, Time};

settings! {
    /// Settings of BBR v1.
    pub struct Bbr1Settings {
        /// Data that is handed down in one quantum.
        quantum: enum BbrQuantum = BbrQuantum::Segment, "reading: the simulator sends segments one by one; Linux: offload";
        /// Whether it detects policers.
        policer: bool = true, "Linux";
        /// Whether samples at the limit of the receiver's window can only raise the bandwidth.
        rwnd_limited_is_app_limited: bool = false, "Linux";
        /// Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the
        /// least round-trip time is measured again, and the bandwidth is kept two cycles longer.
        leo: bool = false, "reading: no published BBR has this";
        /// Time between reconfigurations; 0: no reconfigurations.
        period: Duration = Duration::from_secs(15), "Starlink's scheduling period";
        /// Time of the first reconfiguration in the simulation.
        offset: Duration = Duration::ZERO, "reading";
    }
}

/// 2 / ln 2: doubles the data sent per round trip.
const HIGH_GAIN: f64 = 2.885;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
/// Smallest window, segments.
const MIN_PIPE: u64 = 4;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Largest excess from aggregation: the data that the path delivers in this time.
const EXCESS_MAX: Duration = Duration::from_millis(100);
/// Round trips for which a known reallocation keeps the bandwidth: two cycles.
const HELD_ROUNDS: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw { phase: usize },
    ProbeRtt,
}

/// A phase of the cycle of ProbeBW.
#[derive(Clone, Copy, Debug)]
struct CyclePhase {
    began_at: Time,
    has_loss: bool,
}

/// Loss recovery, whose first round trip conserves packets.
#[derive(Clone, Copy, Debug, Default)]
struct PacketConservation {
    is_on: bool,
    /// Whether the next ACK is its first.
    begins: bool,
    /// Whether it is over, unless the ACK that ended it begins the next one.
    ends: bool,
    /// Whether this is its first round trip, which sends as much as is delivered.
    conserves_packets: bool,
    /// Bytes lost since the last ACK.
    newly_lost: u64,
}

/// BBR v1 on a connection: its model of the path, the window and the pace.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    settings: Bbr1Settings,
    dice: Dice,
    smss: u64,
    initial_window: u64,
    cwnd: u64,
    prior_cwnd: u64,
    state: State,
    delivered: u64,
    rounds: Rounds,
    is_round_start: bool,
    max_bw: Windowed<Max, f64, 10>,
    /// Count of rounds, by which the bandwidth ages.
    bw_clock: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    pipe: FullPipe,
    pace: BbrPace,
    aggregation: Aggregation,
    policer: Policer,
    reallocations: KnownReallocations,
    phase: CyclePhase,
    probe_rtt: ProbeRtt,
    recovery: PacketConservation,
}

impl Bbr1 {
    /// Starts in Startup with a window of `init.cwnd` bytes.
    pub fn new(init: Init, settings: Bbr1Settings) -> Self {
        Self {
            settings,
            dice: Dice::new(init.seed, "bbr1", "phase"),
            smss: init.smss,
            initial_window: init.cwnd,
            cwnd: init.cwnd.max(init.smss),
            prior_cwnd: 0,
            state: State::Startup,
            delivered: 0,
            rounds: Rounds::default(),
            is_round_start: false,
            max_bw: Windowed::default(),
            bw_clock: 0,
            min_rtt: init.rtt,
            min_rtt_at: init.now,
            pipe: FullPipe::default(),
            pace: BbrPace::new(&init, HIGH_GAIN),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            reallocations: KnownReallocations::new(settings.leo, settings.period, settings.offset, init.now),
            phase: CyclePhase { began_at: init.now, has_loss: false },
            probe_rtt: ProbeRtt::default(),
            recovery: PacketConservation::default(),
        }
    }

    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.max_bw.get())
    }

    /// Returns the gains of the pace and of the window.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            State::ProbeBw { .. } if self.policer.rate().is_some() => (1.0, CWND_GAIN),
            State::ProbeBw { phase } => (CYCLE[phase], CWND_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        }
    }

    /// Returns `gain` times bandwidth times round-trip time; the initial window until they are known.
    fn bdp(&self, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window as f64 };
        gain * product(self.bw(), min_rtt)
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.smss
    }

    /// Returns the window of the model.
    fn target(&self, gain: f64) -> u64 {
        let mut bytes = self.bdp(gain);
        if self.pipe.has_been {
            bytes += self.excess();
        }
        self.in_quanta(bytes).max(self.min_pipe())
    }

    /// Returns the room for ACKs that arrive in bursts, bytes.
    fn excess(&self) -> f64 {
        self.aggregation.excess(2).min(product(self.bw(), EXCESS_MAX))
    }

    /// Returns the bytes in flight at which a phase ends: `gain` times the product. As in Linux, packets on their way
    /// to the path count.
    fn inflight(&self, gain: f64) -> u64 {
        self.in_quanta(self.bdp(gain))
    }

    /// Adds three quanta and rounds up to even segments, two more in the probe.
    fn in_quanta(&self, bytes: f64) -> u64 {
        let bytes = bytes + 3.0 * self.pace.quantum(self.settings.quantum) as f64;
        // Casts saturate.
        let segments = (libm::ceil(bytes / self.smss as f64) as u64).min(Cwnd::MAX / self.smss);
        (segments + segments % 2 + if self.state == (State::ProbeBw { phase: 0 }) { 2 } else { 0 }) * self.smss
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.recovery.is_on || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn enter_phase(&mut self, phase: usize, now: Time) {
        self.state = State::ProbeBw { phase };
        self.phase.began_at = now;
        self.phase.has_loss = false;
    }

    /// Enters the cycle at any phase except that of 0.75.
    fn probe_bw(&mut self, now: Time) {
        let phase = self.dice.below(CYCLE.len() as u64 - 1) as usize;
        self.enter_phase(if phase == 0 { 0 } else { phase + 1 }, now);
    }

    fn update_bandwidth(&mut self, delivery: &Delivery, sample: Option<&Sample>, now: Time) {
        self.is_round_start = self.rounds.on_ack(sample, delivery.delivered);
        if self.is_round_start {
            self.recovery.conserves_packets = false;
            if !self.reallocations.holds() {
                self.bw_clock += 1;
            }
        }
        if let (true, Some(sample)) = (self.settings.policer, sample) {
            let totals = Totals {
                now,
                is_round_start: self.is_round_start,
                is_app_limited: sample.is_app_limited,
                has_loss: self.recovery.newly_lost > 0,
                delivered: delivery.delivered,
                lost: delivery.lost,
            };
            if self.policer.on_ack(&totals, matches!(self.state, State::ProbeBw { .. })) {
                self.probe_bw(now);
            }
        }
        self.max_bw.advance(self.bw_clock);
        if let Some(sample) = sample.filter(|sample| sample.is_fit_for(self.max_bw.get())) {
            self.max_bw.update(self.bw_clock, sample.rate);
        }
    }

    fn update_phase(&mut self, in_flight: u64, now: Time) {
        let State::ProbeBw { phase } = self.state else { return };
        let has_elapsed = self.min_rtt.is_some_and(|min_rtt| now.saturating_since(self.phase.began_at) > min_rtt);
        let is_over = match phase {
            0 => has_elapsed && (self.phase.has_loss || in_flight >= self.inflight(CYCLE[0])),
            1 => has_elapsed || in_flight <= self.inflight(1.0),
            _ => has_elapsed,
        };
        if is_over {
            self.enter_phase((phase + 1) % CYCLE.len(), now);
        }
    }

    fn update_min_rtt(&mut self, delivery: &Delivery, sample: Option<&Sample>, now: Time) {
        let has_expired = now.saturating_since(self.min_rtt_at) > MIN_RTT_WINDOW;
        // Linux: without a segment that was sent once, the echo of the timestamp is the sample, possibly the least.
        if let Some(rtt) = sample.and_then(|sample| sample.rtt).or(delivery.echoed_rtt) {
            let is_new_path = self.reallocations.is_first_rtt(now, rtt);
            if is_new_path || has_expired || self.min_rtt.is_none_or(|least| rtt < least) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = now;
            }
        }
        if has_expired && !self.probe_rtt.is_restarting && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.until = None;
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt.until {
                None if delivery.in_flight <= self.min_pipe() => {
                    self.probe_rtt.until = Some(now + PROBE_RTT);
                    self.probe_rtt.has_lasted_a_round = false;
                    self.rounds.start(delivery.delivered);
                }
                None => {}
                Some(_) => {
                    self.probe_rtt.has_lasted_a_round |= self.is_round_start;
                    if self.probe_rtt.has_lasted_a_round {
                        self.end_probe_rtt(now);
                    }
                }
            }
        }
        self.probe_rtt.is_restarting = false;
    }

    fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt.until.is_some_and(|until| now > until) {
            self.min_rtt_at = now;
            self.restore_cwnd();
            if self.pipe.has_been {
                self.probe_bw(now);
            } else {
                self.state = State::Startup;
            }
        }
    }

    fn update_cwnd(&mut self, delivery: &Delivery) {
        let newly = delivery.newly_delivered;
        self.cwnd = self.cwnd.saturating_sub(self.recovery.newly_lost).max(self.smss);
        if self.recovery.begins {
            self.recovery.begins = false;
            self.recovery.conserves_packets = true;
            self.rounds.start(delivery.delivered);
            self.cwnd = delivery.in_flight + newly;
        } else if self.recovery.ends {
            self.recovery = PacketConservation::default();
            self.restore_cwnd();
        }
        if self.recovery.conserves_packets {
            self.cwnd = self.cwnd.max(delivery.in_flight + newly);
        } else {
            let target = self.target(self.gains().1);
            let is_new = delivery.delivered < self.initial_window;
            self.cwnd = grown(self.cwnd, newly, target, self.pipe.has_been, is_new).max(self.min_pipe());
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_pipe());
        }
        self.cwnd = self.cwnd.clamp(self.smss, Cwnd::MAX);
    }
}

impl CongestionControl for Bbr1 {
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        let now = path.now;
        self.smss = path.smss;
        self.delivered = delivery.delivered;
        self.reallocations.look(now, HELD_ROUNDS);
        let sample = Sample::new(delivery, path, self.settings.rwnd_limited_is_app_limited);
        let sample = sample.as_ref();

        self.update_bandwidth(delivery, sample, now);
        let bw = self.bw();
        self.aggregation.on_ack(now, self.rounds.count / 5, bw, delivery.newly_delivered, self.cwnd);
        self.update_phase(delivery.in_flight, now);
        if self.is_round_start && !self.pipe.has_been && sample.is_some_and(|sample| !sample.is_app_limited) {
            self.pipe.on_round(self.max_bw.get());
        }
        if self.state == State::Startup && self.pipe.has_been {
            self.state = State::Drain;
        }
        if self.state == State::Drain && delivery.in_flight <= self.inflight(1.0) {
            self.probe_bw(now);
        }
        self.update_min_rtt(delivery, sample, now);

        self.pace.learn(path, HIGH_GAIN, self.initial_window);
        self.pace.set(self.gains().0, self.bw(), !self.pipe.has_been);
        self.update_cwnd(delivery);
        self.recovery.newly_lost = 0;
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        self.reallocations.look(path.now, HELD_ROUNDS);
        if !self.reallocations.excuses(path.now) {
            self.recovery.newly_lost += lost.len;
            self.phase.has_loss = true;
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.reallocations.look(path.now, HELD_ROUNDS);
        if why == Congestion::FastRetransmit && !self.reallocations.excuses(path.now) {
            self.save_cwnd();
            // A recovery that begins with the ACK that ended another continues it, as in Linux, where the state at the
            // end of an ACK counts. Otherwise random losses would make each round trip conserve packets.
            self.recovery.begins = !self.recovery.is_on;
            (self.recovery.is_on, self.recovery.ends) = (true, false);
        }
    }

    fn on_rto(&mut self, _: bool, _: &PathState) {
        self.save_cwnd();
        let newly_lost = self.recovery.newly_lost;
        self.recovery = PacketConservation { is_on: true, newly_lost, ..PacketConservation::default() };
        self.cwnd = self.smss;
        self.pipe.restart(0.0);
        self.rounds.start(self.delivered);
    }

    fn on_recovery_exit(&mut self, _: &PathState) {
        // A recovery that was over as it began, since a probe had repaired the loss, had no ACK in it.
        self.recovery.is_on &= !std::mem::take(&mut self.recovery.begins);
        self.recovery.ends = self.recovery.is_on;
    }

    fn on_resume(&mut self, path: &PathState) {
        self.pace.learn(path, HIGH_GAIN, self.initial_window);
        self.probe_rtt.is_restarting = true;
        self.aggregation.restart(path.now);
        match self.state {
            State::ProbeBw { .. } => self.pace.set(1.0, self.bw(), false),
            State::ProbeRtt => self.end_probe_rtt(path.now),
            State::Startup | State::Drain => {}
        }
    }

    /// Restores the window. The model keeps the samples of the meantime.
    fn undo(&mut self, before: Self) {
        self.cwnd = self.cwnd.max(before.cwnd);
        self.prior_cwnd = self.prior_cwnd.max(before.cwnd);
        self.pipe.restart(0.0);
        self.recovery.is_on = false;
        self.recovery.begins = false;
        self.recovery.conserves_packets = false;
        self.recovery.newly_lost = 0;
        self.policer = Policer::default();
    }

    model_hooks!(min_pipe);

    fn pacing(&self) -> Option<Pace> {
        Some(self.pace.as_pace(self.settings.quantum))
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        let (pacing_gain, cwnd_gain) = self.gains();
        let bw = Bps(8.0 * self.bw());
        match self.state {
            State::Startup => {
                insides.state("startup", format_args!("it doubles its rate in each round trip until the path is full"))
            }
            State::Drain => insides.state(
                "drain",
                format_args!("the bandwidth has stopped growing at {bw}, and it empties the queue of its start"),
            ),
            State::ProbeBw { phase: 0 } => insides
                .state("probe-bw-up", format_args!("it sends faster than its estimate of {bw} to probe for more")),
            State::ProbeBw { phase: 1 } => insides.state(
                "probe-bw-down",
                format_args!("it sends slower than its estimate of {bw} to empty the queue of its probe"),
            ),
            State::ProbeBw { .. } => insides.state("probe-bw-cruise", format_args!("it sends at its estimate of {bw}")),
            State::ProbeRtt => insides.state(
                "probe-rtt",
                format_args!(
                    "its minimum round trip is {} old, so it holds a small window to measure the path without a queue",
                    Span(MIN_RTT_WINDOW)
                ),
            ),
        };
        insides.value(Quantity::PacingGain, pacing_gain).value(Quantity::CwndGain, cwnd_gain);
        insides.value(Quantity::Bandwidth, 8.0 * self.bw()).min_rtt(self.min_rtt);
        insides.value(Quantity::ExtraAcked, self.excess());
        insides.own("policer_rate_bps", self.policer.rate().map_or(f64::NAN, |rate| 8.0 * rate));
        insides.own("round_count", self.rounds.count as f64);
        self.pipe.inside(insides);
    }
}

#[cfg(test)]
mod tests;
