//! LeoCC is BBR for satellites that are reallocated every 15 s. It measures the path again at each of these instants.
//! While the round-trip time fluctuates between them, it filters rates instead of taking the maximum.
//!
//! Z. Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics", SIGCOMM 2025.
//!
//! # How it works
//!
//! As in BBR, the pace is a gain times the bandwidth, and the window a gain times bandwidth times least round-trip
//! time:
//!
//! ```text
//! Startup, Drain        pace 2.885, 0.347;  window 2.885, until the rate no longer grows; until the queue is empty
//! DynamicCruise         pace [1.25 or 1.05, 0.75, 1, 1, 1, 1, 1, 1], one for a round trip each;  window 2
//! ProbeRtt              window 0.5, at least 4 segments, for 200 ms
//! scalar Kalman filter  P += Q;  g = P / (P + R);  x += g (z - x);  P = (1 - g) P      Q = R = 4, P begins with 25
//! ```
//!
//! One filter takes each round-trip time (`rtt_hat`). The other takes the greatest rate of each round trip in
//! DynamicCruise. While `rtt_hat` is `min_rtt_fluctuation` or more above the least round-trip time, the bandwidth is
//! the filter's and the first gain is 1.05. Otherwise the bandwidth is the greatest rate of 10 round trips and the gain
//! 1.25.
//!
//! Each reconfiguration, given or found, begins ProbeRtt `trigger` before its instant. ProbeRtt lasts until 200 ms
//! after the instant. At its end the least round-trip time is that of the new path, and the bandwidth and Startup start
//! again. If a round-trip time falls `delta_thresh` below `rtt_hat` in the meantime, the rate of that moment is the new
//! bandwidth.
//!
//! # Differences from the source
//!
//! Readings, where the source is silent:
//!
//! - Without such a moment, the bandwidth starts with the last rate or with the rate of before (`bandwidth_after`).
//! - The round-trip time of the new path is the least of the data sent after the instant.
//! - Phases change like those of BBR v1, and start with any except 0.75.
//! - Neither losses nor marks change the model or the window. A timeout leaves one segment until it is repaired.
//!
//! The live system finds reconfigurations from gaps in the answers to light probes. Here the round-trip times of the
//! connection show them (`found`).
//!
//! # When it helps
//!
//! LeoCC is fast where the path changes at known instants. After a handover to a longer path, BBR v1 keeps a least
//! round-trip time that is too small for up to ten seconds of fifteen, and a bandwidth that is too large for ten round
//! trips. Where the round trip steps between 25 and 70 ms every 15 s, LeoCC fills the link better than CUBIC, and at
//! least as well as BBR v1. If it is not given the instants, it does so only after it has found them. In `starlink` it
//! has the goodput of BBR v1, and many times that of CUBIC, which random losses slow down.
//!
//! # When it hurts
//!
//! - In `leo`, whose handovers are at 0, 15, 30 s, it needs `offset = "0 s"`. Then it has the goodput of BBR v1. With
//!   the default offset, Starlink's, it has less.
//! - Each instant costs half a window for about 300 ms and a Startup that fills the queue, four times per minute, even
//!   if the path has not changed. Over GEO that costs thousands of drops and timeouts, and has no advantage over BBR.
//! - With wrong instants, LeoCC reacts to changes like BBR, and has the pauses in addition.

use crate::inside::Bps;
use crate::model::common::{grown, model_hooks, product, BbrPace, BbrQuantum, Dice, FullPipe, Rounds, Sample};
use crate::parts::reallocation::{Reallocation, Reallocations};
use crate::parts::windowed::{Max, Windowed};
use crate::settings::settings;
use crate::{Congestion, CongestionControl, Cwnd, Delivery, Init, Insides, Pace, PathState, Quantity};
use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Initial bandwidth after a reconfiguration without a fall of the round-trip time.
    pub enum LeoCcBandwidth {
        /// Last rate of ProbeRtt.
        "latest" => Latest,
        /// Bandwidth before ProbeRtt.
        "before" => Before,
    }
}

settings! {
    /// Settings of LeoCC.
    pub struct LeoCcSettings {
        /// Source of the instants of reconfigurations.
        reallocation: enum Reallocations = Reallocations::Announced, "Lai 2025";
        /// Time between two reallocations of the satellites.
        period: Duration = Duration::from_secs(15), "Lai 2025";
        /// Time of the first reallocation, from the start of the run.
        offset: Duration = Duration::from_secs(12), "Lai 2025: 12,000 ms";
        /// Change of the least round-trip time that reveals a reallocation, between neighbours among 150 parts of the
        /// period.
        jump: Duration = Duration::from_millis(6), "measured: finds the seconds of Starlink in pings of minutes";
        /// Time between the start of ProbeRtt and the instant.
        trigger: Duration = Duration::from_millis(100), "Lai 2025";
        /// Gain of Startup, and of the window in Drain.
        high_gain: f64 = 2.885, [1.01, 10.0], "Lai 2025: 2 / ln 2";
        /// Gain of the pace in Drain.
        drain_gain: f64 = 0.347, [0.01, 0.99], "Lai 2025: ln 2 / 2";
        /// Gain of the window in DynamicCruise.
        cwnd_gain: f64 = 2.0, [1.0, 10.0], "Lai 2025";
        /// First gain of the pace in DynamicCruise.
        probe_gain: f64 = 1.25, [1.0, 10.0], "Lai 2025";
        /// First gain of the pace while the round-trip time fluctuates.
        fluctuation_gain: f64 = 1.05, [1.0, 10.0], "Lai 2025";
        /// Second gain of the pace in DynamicCruise.
        yield_gain: f64 = 0.75, [0.01, 1.0], "Lai 2025";
        /// Time in which ProbeRtt keeps the window small.
        probe_rtt: Duration = Duration::from_millis(200), "Lai 2025";
        /// Gain of the window in ProbeRtt.
        probe_rtt_gain: f64 = 0.5, [0.01, 1.0], "Lai 2025";
        /// Smallest window except after a timeout, segments.
        min_window: u64 = 4, [2, 100], "Lai 2025";
        /// Time without a lower round-trip time before ProbeRtt measures it.
        min_rtt_window: Duration = Duration::from_secs(20), "Lai 2025";
        /// Excess over the least round-trip time that counts as fluctuation.
        min_rtt_fluctuation: Duration = Duration::from_millis(10), "Lai 2025: 5 to 20 ms";
        /// Fall of the round-trip time in ProbeRtt that shows a new path.
        delta_thresh: Duration = Duration::from_millis(45), "Lai 2025";
        /// Round trips whose greatest rate is the bandwidth.
        bw_rounds: u64 = 10, [1, 20], "Lai 2025";
        /// Q of both filters: the variance of a step of the state.
        kalman_q: f64 = 4.0, [0.0001, 1e6], "Lai 2025";
        /// R of both filters: the variance of a sample.
        kalman_r: f64 = 4.0, [0.0001, 1e6], "Lai 2025";
        /// Initial P of both filters.
        kalman_p0: f64 = 25.0, [0.0, 1e6], "Lai 2025";
        /// Initial bandwidth after a reconfiguration without a fall of the round-trip time.
        bandwidth_after: enum LeoCcBandwidth = LeoCcBandwidth::Latest, "a reading";
    }
}

/// Phases of DynamicCruise. All except two have a gain of 1.
const PHASES: usize = 8;
/// Latest end of ProbeRtt after an instant, even without a round-trip time of the new path.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    Cruise { phase: usize },
    ProbeRtt(Probe),
}

/// ProbeRtt in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probe {
    /// Instant of the reconfiguration; `None`: only the round-trip time is old.
    instant: Option<Time>,
    /// End, once the window has come down, and whether a round trip has passed since.
    until: Option<Time>,
    has_round: bool,
    /// Least round-trip time before it, and since.
    rtt_before: Option<Duration>,
    rtt: Option<Duration>,
    /// Bandwidth at its end.
    bw: Option<f64>,
}

/// LeoCC on a connection: its model of the path between two reallocations, the window and the pace.
#[derive(Clone, Debug)]
pub struct LeoCc {
    settings: LeoCcSettings,
    dice: Dice,
    smss: u64,
    initial_window: u64,
    cwnd: u64,
    /// Window before ProbeRtt or a timeout.
    prior_cwnd: u64,
    state: State,
    phase_at: Time,
    has_lost_in_phase: bool,
    delivered: u64,
    rounds: Rounds,
    max_bw: Windowed<Max, f64, 20>,
    /// Greatest rate of this round trip and of the last, bytes per second.
    round_bw: f64,
    last_bw: f64,
    bw_filter: Kalman,
    rtt_filter: Kalman,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    pipe: FullPipe,
    pace: BbrPace,
    reallocation: Reallocation,
    /// The current reconfiguration, or the last.
    last_instant: Option<Time>,
    is_after_rto: bool,
}

impl LeoCc {
    /// Starts in Startup with a window of `init.cwnd` bytes.
    pub fn new(init: Init, settings: LeoCcSettings) -> Self {
        let reallocation = Reallocation::new(settings.reallocation, settings.period, settings.offset, settings.jump);
        let filter = Kalman { q: settings.kalman_q, r: settings.kalman_r, p: settings.kalman_p0, x: None };
        Self {
            settings,
            dice: Dice::new(init.seed, "leocc", "phase"),
            smss: init.smss,
            initial_window: init.cwnd,
            cwnd: init.cwnd.max(init.smss),
            prior_cwnd: 0,
            state: State::Startup,
            phase_at: init.now,
            has_lost_in_phase: false,
            delivered: 0,
            rounds: Rounds::default(),
            max_bw: Windowed::default(),
            round_bw: 0.0,
            last_bw: 0.0,
            bw_filter: filter,
            rtt_filter: filter,
            min_rtt: None,
            min_rtt_at: init.now,
            pipe: FullPipe::default(),
            pace: BbrPace::new(&init, settings.high_gain),
            last_instant: reallocation.last(init.now + settings.trigger),
            reallocation,
            is_after_rto: false,
        }
    }

    /// Whether the round-trip time stays above the least, in DynamicCruise.
    fn fluctuates(&self) -> bool {
        let (State::Cruise { .. }, Some(rtt), Some(min_rtt)) = (self.state, self.rtt_filter.x, self.min_rtt) else {
            return false;
        };
        rtt >= (min_rtt + self.settings.min_rtt_fluctuation).as_secs_f64()
    }

    fn bw(&self) -> f64 {
        match self.bw_filter.x {
            Some(bw) if self.fluctuates() => bw,
            _ => self.max_bw.of_last(self.settings.bw_rounds),
        }
    }

    /// Returns the gains of the pace and of the window.
    fn gains(&self) -> (f64, f64) {
        let settings = &self.settings;
        match self.state {
            State::Startup => (settings.high_gain, settings.high_gain),
            State::Drain => (settings.drain_gain, settings.high_gain),
            State::Cruise { phase: 0 } if self.fluctuates() => (settings.fluctuation_gain, settings.cwnd_gain),
            State::Cruise { phase: 0 } => (settings.probe_gain, settings.cwnd_gain),
            State::Cruise { phase: 1 } => (settings.yield_gain, settings.cwnd_gain),
            State::Cruise { .. } => (1.0, settings.cwnd_gain),
            State::ProbeRtt(_) => (1.0, settings.probe_rtt_gain),
        }
    }

    /// Returns `gain` times bandwidth times round-trip time, bytes; the initial window until they are known.
    fn bdp(&self, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window as f64, |min_rtt| gain * product(self.bw(), min_rtt))
    }

    fn min_window(&self) -> u64 {
        self.settings.min_window * self.smss
    }

    /// Returns the window of the model.
    fn target(&self) -> u64 {
        // Casts saturate.
        (self.bdp(self.gains().1) as u64).clamp(self.min_window(), Cwnd::MAX)
    }

    fn save_cwnd(&mut self) {
        let is_small = self.is_after_rto || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_small { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn enter(&mut self, state: State, now: Time) {
        self.state = state;
        self.phase_at = now;
        self.has_lost_in_phase = false;
        if !matches!(state, State::Cruise { .. }) {
            // From now on the sender itself causes the queue, so it shows nothing of the path.
            self.reallocation.pause();
        }
    }

    /// Enters the cycle at any phase except the second.
    fn cruise(&mut self, now: Time) {
        let phase = self.dice.below(PHASES as u64 - 1) as usize;
        self.enter(State::Cruise { phase: if phase == 0 { 0 } else { phase + 1 } }, now);
    }

    /// Updates the windowed maximum with each rate, and the filter at the end of each round trip.
    fn update_bandwidth(&mut self, sample: Option<&Sample>, is_round_start: bool) {
        if is_round_start {
            let round_bw = std::mem::take(&mut self.round_bw);
            if matches!(self.state, State::Cruise { .. }) && round_bw > 0.0 {
                self.bw_filter.update(round_bw);
            }
        }
        self.max_bw.advance(self.rounds.count);
        if let Some(sample) = sample.filter(|sample| sample.is_fit_for(self.max_bw.of_last(self.settings.bw_rounds))) {
            self.max_bw.update(self.rounds.count, sample.rate);
            self.round_bw = self.round_bw.max(sample.rate);
            self.last_bw = sample.rate;
        }
    }

    fn update_rtt(&mut self, rtt: Duration, now: Time) {
        let estimate = self.rtt_filter.x;
        if let State::ProbeRtt(probe) = &mut self.state {
            let has_fallen = estimate.is_some_and(|x| x > (rtt + self.settings.delta_thresh).as_secs_f64());
            if probe.instant.is_some() && has_fallen {
                probe.bw = Some(self.last_bw);
            }
            let sent = now.as_ps().saturating_sub(rtt.as_ps());
            if probe.instant.is_none_or(|instant| sent >= instant.as_ps()) {
                probe.rtt = Some(probe.rtt.map_or(rtt, |least| least.min(rtt)));
            }
        }
        if matches!(self.state, State::Cruise { .. }) {
            self.reallocation.sample(rtt, now);
        }
        self.rtt_filter.update(rtt.as_secs_f64());
        if self.min_rtt.is_none_or(|least| rtt <= least) {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
    }

    fn update_phase(&mut self, in_flight: f64, now: Time) {
        let State::Cruise { phase } = self.state else { return };
        let has_elapsed = self.min_rtt.is_some_and(|min_rtt| now.saturating_since(self.phase_at) > min_rtt);
        let is_over = match phase {
            0 => has_elapsed && (self.has_lost_in_phase || in_flight >= self.bdp(self.gains().0)),
            1 => has_elapsed || in_flight <= self.bdp(1.0),
            _ => has_elapsed,
        };
        if is_over {
            self.enter(State::Cruise { phase: (phase + 1) % PHASES }, now);
        }
    }

    /// Returns a due reconfiguration, once.
    fn is_reconfigured(&mut self, now: Time) -> Option<Time> {
        let instant = self.reallocation.last(now + self.settings.trigger)?;
        // Instants that are found may move a little.
        let apart = self.settings.period / 2;
        if self.last_instant.is_some_and(|last| instant.saturating_since(last) <= apart) {
            return None;
        }
        self.last_instant = Some(instant);
        // A reconfiguration that ended long before it was found has no effect.
        (now.saturating_since(instant) < apart / 2).then_some(instant)
    }

    fn probe_rtt(&mut self, instant: Option<Time>, now: Time) {
        self.save_cwnd();
        let rtt_before = self.min_rtt;
        self.enter(
            State::ProbeRtt(Probe { instant, until: None, has_round: false, rtt_before, rtt: None, bw: None }),
            now,
        );
    }

    fn update_probe(&mut self, delivery: &Delivery, is_round_start: bool, now: Time) {
        let State::ProbeRtt(mut probe) = self.state else { return };
        match probe.until {
            None if delivery.in_flight <= self.target() => {
                probe.until = Some(probe.instant.map_or(now, |instant| instant.max(now)) + self.settings.probe_rtt);
                self.rounds.start(delivery.delivered);
            }
            None => {}
            Some(_) => probe.has_round |= is_round_start,
        }
        self.state = State::ProbeRtt(probe);
        self.end_probe(now);
    }

    fn end_probe(&mut self, now: Time) {
        let State::ProbeRtt(probe) = self.state else { return };
        let is_over = probe.until.is_some_and(|until| {
            let knows_path = probe.has_round && (probe.instant.is_none() || probe.rtt.is_some());
            now > until && (knows_path || now > until + PATIENCE)
        });
        if !is_over {
            return;
        }
        self.min_rtt_at = now;
        if probe.instant.is_some() {
            return self.begin_again(probe, now);
        }
        self.min_rtt = probe.rtt.or(self.min_rtt);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.pipe.has_been {
            self.cruise(now);
        } else {
            self.enter(State::Startup, now);
        }
    }

    /// Starts again on a new path.
    fn begin_again(&mut self, probe: Probe, now: Time) {
        if let (Some(new), Some(old)) = (probe.rtt, probe.rtt_before) {
            if new.abs_diff(old) >= self.settings.jump {
                self.reallocation.confirm(now);
            }
        }
        let bw = probe.bw.unwrap_or(match self.settings.bandwidth_after {
            LeoCcBandwidth::Latest => self.last_bw,
            LeoCcBandwidth::Before => self.bw(),
        });
        self.min_rtt = probe.rtt.or(self.min_rtt);
        self.max_bw = Windowed::default();
        self.max_bw.update(self.rounds.count, bw);
        self.round_bw = 0.0;
        self.bw_filter = Kalman { p: self.settings.kalman_p0, x: None, ..self.bw_filter };
        self.rtt_filter = Kalman { p: self.settings.kalman_p0, x: None, ..self.rtt_filter };
        self.pipe = FullPipe::default();
        self.enter(State::Startup, now);
        self.pace.set(self.settings.high_gain, bw, false);
    }

    fn update_cwnd(&mut self, newly: u64) {
        let target = self.target();
        let is_full = self.pipe.has_been || matches!(self.state, State::ProbeRtt(_));
        let is_new = self.delivered < self.initial_window;
        let least = if self.is_after_rto { self.smss } else { self.min_window() };
        self.cwnd = grown(self.cwnd, newly, target, is_full, is_new).clamp(least, Cwnd::MAX);
    }
}

impl CongestionControl for LeoCc {
    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        let now = path.now;
        self.smss = path.smss;
        self.delivered = delivery.delivered;
        self.has_lost_in_phase |= delivery.newly_lost > 0;
        let sample = Sample::new(delivery, path, false);
        let sample = sample.as_ref();
        let is_round_start = self.rounds.on_ack(sample, delivery.delivered);

        if let (Some(instant), true) = (self.is_reconfigured(now), self.min_rtt.is_some()) {
            self.probe_rtt(Some(instant), now);
        }
        self.update_bandwidth(sample, is_round_start);
        if let Some(rtt) = sample.and_then(|sample| sample.rtt) {
            self.update_rtt(rtt, now);
        }
        self.update_phase(delivery.in_flight as f64, now);
        if is_round_start && !self.pipe.has_been && sample.is_some_and(|sample| !sample.is_app_limited) {
            self.pipe.on_round(self.max_bw.of_last(self.settings.bw_rounds));
        }
        if self.state == State::Startup && self.pipe.has_been {
            self.enter(State::Drain, now);
        }
        if self.state == State::Drain && delivery.in_flight as f64 <= self.bdp(1.0).max(self.min_window() as f64) {
            self.cruise(now);
        }
        let is_old = now.saturating_since(self.min_rtt_at) > self.settings.min_rtt_window;
        if is_old && !matches!(self.state, State::ProbeRtt(_)) {
            self.probe_rtt(None, now);
        }
        self.update_probe(delivery, is_round_start, now);

        self.pace.learn(path, self.settings.high_gain, self.initial_window);
        self.pace.set(self.gains().0, self.bw(), !self.pipe.has_been);
        self.update_cwnd(delivery.newly_delivered);
    }

    fn on_congestion(&mut self, _: Congestion, _: &PathState) {}

    fn on_rto(&mut self, _: bool, _: &PathState) {
        self.save_cwnd();
        self.cwnd = self.smss;
        self.is_after_rto = true;
        self.pipe.restart(0.0);
        self.rounds.start(self.delivered);
    }

    fn on_recovery_exit(&mut self, _: &PathState) {
        if std::mem::take(&mut self.is_after_rto) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    fn on_resume(&mut self, path: &PathState) {
        self.pace.learn(path, self.settings.high_gain, self.initial_window);
        self.end_probe(path.now);
    }

    /// Restores the window. The model keeps the samples of the meantime.
    fn undo(&mut self, before: Self) {
        self.cwnd = self.cwnd.max(before.cwnd);
        self.prior_cwnd = self.prior_cwnd.max(before.cwnd);
        self.is_after_rto = false;
    }

    model_hooks!(min_window);

    fn pacing(&self) -> Option<Pace> {
        Some(self.pace.as_pace(BbrQuantum::Segment))
    }

    fn holds_back(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
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
            State::Cruise { phase: 0 } => insides
                .state("probe-bw-up", format_args!("it sends faster than its estimate of {bw} to probe for more")),
            State::Cruise { phase: 1 } => insides.state(
                "probe-bw-down",
                format_args!("it sends slower than its estimate of {bw} to empty the queue of its probe"),
            ),
            State::Cruise { .. } => insides.state("probe-bw-cruise", format_args!("it sends at its estimate of {bw}")),
            State::ProbeRtt(_) => insides.state(
                "probe-rtt",
                format_args!("the path may be another one, so it holds a small window to measure it without a queue"),
            ),
        };
        insides.value(Quantity::PacingGain, pacing_gain).value(Quantity::CwndGain, cwnd_gain);
        insides.value(Quantity::Bandwidth, 8.0 * self.bw()).min_rtt(self.min_rtt);
        insides.own("fluctuates", f64::from(u8::from(self.fluctuates())));
        self.pipe.inside(insides);
    }
}

/// Kalman filter of one number that follows a random walk.
#[derive(Clone, Copy, Debug)]
struct Kalman {
    q: f64,
    r: f64,
    p: f64,
    /// The state; `None` before the first sample, which becomes the state.
    x: Option<f64>,
}

impl Kalman {
    /// Updates the state with a sample. Returns the gain.
    fn update(&mut self, z: f64) -> f64 {
        let p = self.p + self.q;
        let gain = p / (p + self.r);
        self.p = (1.0 - gain) * p;
        self.x = Some(self.x.map_or(z, |x| x + gain * (z - x)));
        gain
    }
}

#[cfg(test)]
mod tests;
