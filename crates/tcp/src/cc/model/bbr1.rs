//! BBR v1: the window and the pace follow from a model of the path, the greatest rate of delivery and the least
//! round-trip time, and losses change neither.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh and V. Jacobson, "BBR: congestion-based congestion control", ACM
//! Queue 14(5), 2016, with the constants and the later parts of Linux (policers, aggregated ACKs). The bandwidth is the
//! greatest rate of 10 round trips, the round-trip time the least of 10 seconds. Each state has a gain of the pace and
//! one of the window:
//!
//! ```text
//! pace   = gain · bandwidth · 0.99                          Startup 2.885, Drain 1 / 2.885, ProbeRTT 1
//! window = gain · bandwidth · min_rtt + 3 segments + excess  Startup and Drain 2.885, ProbeBW 2, ProbeRTT 4 segments
//! ProbeBW: pace gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, one for a min_rtt each; begins with any of them but 0.75
//! ```
//!
//! Startup ends when the bandwidth has not grown by a quarter in three round trips, Drain when no more than bandwidth ·
//! min_rtt, and three quanta, is in flight. If no lower round-trip time was seen for 10 seconds, ProbeRTT sends 4 segments at a time for
//! 200 ms or a round trip, whichever is longer. The window is a whole even number of segments, two more while the gain
//! is 1.25; `excess` is what ACKs that were gathered on the way brought beyond the bandwidth in the last 5 to 10 round
//! trips, at most that of 100 ms.
//!
//! In the first round trip of loss recovery as much is sent as is delivered, then the model rules again; each lost
//! segment leaves the window at once, and the end of recovery restores it. Recoveries of which one begins with the ACK that
//! ends another are one. The least round-trip time begins with that of the handshake. An ACK of retransmissions alone gives the
//! round-trip time that its timestamp shows, which is short by up to a millisecond. A timeout leaves one segment. Two intervals
//! that lose more than a fifth at the same rate betray a policer, whose rate is then used for 48 round trips
//! (`policer`). ECN marks change nothing.
//!
//! What differs from Linux: quanta are single segments, as nothing below the sender joins them (`quantum`); all times
//! are exact; the pace is set again when the first round trip was measured also if the handshake measured none; any loss
//! of a phase ends the probe of that phase, not only one that the last ACK shows. Data sent after nothing was in flight
//! are taken for a restart of the application. The restart window (RFC 5681), window validation and proportional rate
//! reduction do not apply.
//!
//! # On satellite paths
//!
//! It fills a path with random loss where Reno and CUBIC keep a window of a few segments. A probe sends 1.25 times the
//! bandwidth and finds it again as long as less than a fifth of that is lost: of 20 Mbit/s over GEO about 16 are left at a loss of
//! 1 %, 13 at 10 %, 8 at 15 %. RACK, its default, finds lost retransmissions by time; with RFC 6675 they cost timeouts, after
//! each of which Startup has to find the path full once more.
//!
//! Startup takes log2(BDP / initial window) round trips and three more, of which a queue of up to 1.9 times the
//! product makes each nearly thrice as long. Where the buffer holds one such product or less it takes most of the path
//! from loss-based flows, as it does not react to the losses that it causes; a deeper buffer leaves them more. A
//! handover to a longer path leaves it with a round-trip time that is too small for up to ten seconds, so that the
//! window holds it below the bandwidth if the time more than doubles; with `leo` it knows when paths change. ProbeRTT
//! costs 3 % of the time at 100 ms, more over GEO.

use crate::cc::model::common::policer::{Policer, Totals};
use crate::cc::model::common::{
    grown, model_hooks, product, Aggregation, BbrPace, BbrQuantum, Dice, FullPipe, KnownReallocations, ProbeRtt,
    Rounds, Sample,
};
use crate::cc::parts::windowed::{Max, Windowed};
use crate::cc::settings::settings;
use crate::cc::{Congestion, CongestionControl, Cwnd, Delivery, Init, LostSegment, Pace, PathState};
use bentpipe_units::{Duration, Time};

settings! {
    /// Settings of BBR v1.
    pub struct Bbr1Settings {
        /// How much is handed down at once.
        quantum: enum BbrQuantum = BbrQuantum::Segment, "reading: the simulator sends segments one by one; Linux: offload";
        /// Whether it looks for policers.
        policer: bool = true, "Linux";
        /// Whether samples at the limit of the receiver's window only raise the bandwidth.
        rwnd_limited_is_app_limited: bool = false, "Linux";
        /// Whether the sender is notified when the path is reconfigured. Then losses do not count for half a
        /// second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer.
        leo: bool = false, "reading: no published BBR is told";
        /// Time between reconfigurations; 0: there are none.
        period: Duration = Duration::from_secs(15), "Starlink's scheduling period";
        /// Time of the first reconfiguration in the simulation.
        offset: Duration = Duration::ZERO, "reading";
    }
}

/// 2 / ln 2: doubles what is sent in each round trip.
const HIGH_GAIN: f64 = 2.885;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
/// Segments of the least window.
const MIN_PIPE: u64 = 4;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Most that aggregation adds to the window: what the path delivers in this time.
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

/// A phase of ProbeBW's cycle.
#[derive(Clone, Copy, Debug)]
struct CyclePhase {
    began_at: Time,
    has_loss: bool,
}

/// Loss recovery, the first round trip of which conserves packets.
#[derive(Clone, Copy, Debug, Default)]
struct PacketConservation {
    is_on: bool,
    /// The next ACK is its first.
    begins: bool,
    /// It is over, unless the ACK that ended it begins the next one.
    ends: bool,
    /// Its first round trip: as much is sent as is delivered.
    conserves_packets: bool,
    /// Bytes lost since the last ACK.
    newly_lost: u64,
}

/// BBR v1 on a connection: its model of the path, and the window and the pace that follow.
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
    /// Counts the rounds in which the bandwidth ages.
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
    /// In Startup with a window of `init.cwnd` bytes.
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

    /// Gains of the pace and of the window.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            State::ProbeBw { .. } if self.policer.rate().is_some() => (1.0, CWND_GAIN),
            State::ProbeBw { phase } => (CYCLE[phase], CWND_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        }
    }

    /// `gain` times bandwidth and round-trip time; the initial window as long as there is none.
    fn bdp(&self, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window as f64 };
        gain * product(self.bw(), min_rtt)
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.smss
    }

    /// The window that the model asks for.
    fn target(&self, gain: f64) -> u64 {
        let mut bytes = self.bdp(gain);
        if self.pipe.has_been {
            bytes += self.aggregation.excess(2).min(product(self.bw(), EXCESS_MAX));
        }
        self.in_quanta(bytes).max(self.min_pipe())
    }

    /// What may be in flight where a phase ends: `gain` times the product. As in Linux it counts what is on its way to the path.
    fn inflight(&self, gain: f64) -> u64 {
        self.in_quanta(self.bdp(gain))
    }

    /// With three quanta, in even segments, two more in the probe.
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

    /// Into the cycle at any phase but that of 0.75.
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
        // Linux: without a segment that was sent once, the echo of the timestamp is the sample, and perhaps the least one.
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
            // One that begins with the ACK that ended another goes on with it, as Linux does: its state at the end of an
            // ACK counts. Random losses would have each round trip conserve packets otherwise.
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
        // One that was over as it began, since a probe had repaired the loss: no ACK was in it.
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

    /// What was learnt meanwhile stays; the window is as before.
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
}

#[cfg(test)]
mod tests;
