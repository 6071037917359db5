//! Copa sends at a rate inversely proportional to the queueing delay, so about 1/δ packets wait in the queue. The queue
//! empties every few round trips. Beside flows that fill the queue, Copa yields less.
//!
//! V. Arun and H. Balakrishnan, "Copa: practical delay-based congestion control for the Internet", NSDI 2018.
//!
//! # How it works
//!
//! With windows in segments, RTTstanding is the least round-trip time of the last SRTT/2, and RTTmin that of ten
//! seconds:
//!
//! ```text
//! dq = RTTstanding - RTTmin,  target = 1 / (δ dq),  rate = cwnd / RTTstanding
//! each segment acknowledged:  cwnd += v / (δ cwnd)  if rate ≤ target,  else cwnd -= v / (δ cwnd)
//! v: 1 where the direction changes; doubles each round trip once the direction has held for three
//! pacing at 2 cwnd / RTTstanding;  slow start until rate > target
//! ```
//!
//! The direction is the change of the window since one window ago. v is 1 again at the first ACK that asks for the
//! other direction (`reset_at_once`). v at most doubles the window per round trip.
//!
//! Alone on a path, the queue is nearly empty at least once in five round trips: dq is at most a tenth of RTTmax -
//! RTTmin, with RTTmax of four round trips. Otherwise other flows keep the queue full, and Copa enters competitive
//! mode. There 1/δ, 2 by default, grows by 1 per round trip without a loss. A round trip with a loss halves it, down to
//! 2.
//!
//! Losses matter in competitive mode, and at timeouts. A timeout leaves one segment and a slow start to half the
//! window. A mark counts as a loss. In recovery the window moves by the delivered data.
//!
//! # Differences from the source
//!
//! The paper leaves open whether a loss ends slow start. Here it does, without a reduction.
//!
//! # When it helps
//!
//! Copa suits paths where losses are errors of the link, because it does not react to them. It leaves deep buffers
//! nearly empty. Beside loss-based flows it keeps its half in `s1`.
//!
//! # When it hurts
//!
//! The step of 1/δ segments per round trip is slow over GEO until v has grown, which takes three round trips. The
//! pauses that empty the queue are long there. A handover to a longer path looks like a queue for up to ten seconds
//! (`rtt_min_window`). The window then shrinks to a small part of the rate. Or the queue never seems to empty, and
//! competitive mode starts. So CUBIC has more where the delay steps by tens of milliseconds every 15 s, as in `leo`.
//! Beside loss-based flows Copa yields in `geo`.

use crate::parts::loss_window::window_hooks;
use crate::parts::round::Round;
use crate::parts::windowed::{MaxRtt, MinRtt};
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, Insides, Pace, PathState, Window};
use bentpipe_units::{Duration, Rate, Time};

settings! {
    /// Settings of Copa.
    pub struct CopaSettings {
        /// δ of the default mode: 1/δ segments wait in the queue.
        delta: f64 = 0.5, [0.001, 10.0], "Arun 2018";
        /// Whether flows that fill the queue are answered with a smaller δ.
        competitive: bool = true, "Arun 2018";
        /// Increase of 1/δ per round trip of competitive mode.
        competitive_step: f64 = 1.0, [0.0, 100.0], "Arun 2018";
        /// Share of the greatest delay below which the queue counts as empty.
        empty_share: f64 = 0.1, [0.0, 1.0], "Arun 2018";
        /// Round trips in which the queue must be empty once. Otherwise the mode is competitive.
        empty_within: u64 = 5, [1, 1000], "Arun 2018";
        /// Memory of the greatest delay, round trips.
        rtt_max_rounds: u64 = 4, [1, 1000], "Arun 2018";
        /// Memory of the least round-trip time.
        rtt_min_window: Duration = Duration::from_secs(10), "Arun 2018";
        /// Period over which RTTstanding is the minimum, as a share of the smoothed round-trip time.
        standing_share: f64 = 0.5, [0.01, 10.0], "Arun 2018";
        /// Round trips in one direction before v doubles.
        steady_rounds: u64 = 3, [1, 1000], "Arun 2018";
        /// Whether v is 1 at the first ACK that asks for the other direction. Otherwise it is 1 after a window in that
        /// direction.
        reset_at_once: bool = true, "a reading; Arun 2018: on a change of direction";
        /// Pacing, in windows per standing round-trip time.
        pacing_gain: f64 = 2.0, [1.0, 100.0], "Arun 2018";
        /// Smallest window except after a timeout, segments.
        min_window: u64 = 2, [1, 100], "a choice; the paper names none";
    }
}

/// Time for one window while no round-trip time is known.
const UNKNOWN_RTT: Duration = Duration::from_millis(1);

/// Copa on a connection: the window, its velocity, and the measured queueing delay.
#[derive(Clone, Debug)]
pub struct Copa {
    window: Window,
    settings: CopaSettings,
    smss: u64,
    header_len: u64,
    standing: MinRtt,
    least: MinRtt,
    greatest: MaxRtt,
    /// Round-trip time of the handshake.
    first_rtt: Duration,
    round: Round,
    /// v, the direction of the window, and the round trips in it.
    velocity: f64,
    is_up: bool,
    held: u64,
    /// Window at the start of the round.
    cwnd_before: u64,
    /// Last instant with a nearly empty queue.
    emptied_at: Option<Time>,
    /// 1/δ in competitive mode; `None`: the default.
    per_delta: Option<f64>,
    /// Whether this round has had a loss.
    has_lost: bool,
    is_after_rto: bool,
}

impl Copa {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: CopaSettings) -> Self {
        let memory = Duration::from_secs(1);
        Self {
            window: Window::new(init),
            settings,
            smss: init.smss,
            // Without options until a path is known.
            header_len: 40,
            standing: MinRtt::new(memory),
            least: MinRtt::new(settings.rtt_min_window.max(Duration::from_ps(1))),
            greatest: MaxRtt::new(memory),
            first_rtt: init.rtt.unwrap_or(UNKNOWN_RTT),
            round: Round::default(),
            velocity: 1.0,
            is_up: true,
            held: 0,
            cwnd_before: init.cwnd,
            emptied_at: None,
            per_delta: None,
            has_lost: false,
            is_after_rto: false,
        }
    }

    /// Returns 1/δ.
    fn per_delta(&self) -> f64 {
        self.per_delta.unwrap_or(1.0 / self.settings.delta)
    }

    fn sample(&mut self, rtt: Duration, path: &PathState) {
        let srtt = path.srtt.unwrap_or(rtt);
        let share = Duration::from_secs_f64(srtt.as_secs_f64() * self.settings.standing_share);
        self.standing.remember(share.max(Duration::from_ps(1)));
        self.greatest.remember((srtt * self.settings.rtt_max_rounds).max(Duration::from_ps(1)));
        self.standing.sample(rtt, path.now);
        self.least.sample(rtt, path.now);
        self.greatest.sample(rtt, path.now);

        let (queueing, _) = self.queueing();
        let most = self.greatest.get().unwrap_or(rtt).saturating_sub(self.least.get().unwrap_or(rtt));
        if queueing.as_ps() as f64 <= self.settings.empty_share * most.as_ps() as f64 {
            self.emptied_at = Some(path.now);
        }
        let emptied_at = *self.emptied_at.get_or_insert(path.now);
        let is_full = path.now.saturating_since(emptied_at) > srtt * self.settings.empty_within;
        if !(is_full && self.settings.competitive) {
            self.per_delta = None;
        } else if self.per_delta.is_none() {
            (self.per_delta, self.has_lost) = (Some(self.per_delta()), false);
        }
    }

    /// Returns dq and RTTstanding.
    fn queueing(&self) -> (Duration, Duration) {
        let standing = self.standing.get().unwrap_or(self.first_rtt);
        (standing.saturating_sub(self.least.get().unwrap_or(standing)), standing)
    }

    /// Whether the window may grow: rate ≤ target.
    fn is_below_target(&self, smss: u64) -> bool {
        let (queueing, standing) = self.queueing();
        let cwnd = self.window.cwnd() as f64 / smss as f64;
        // Without divisions, so an empty queue gives an infinite target: cwnd / RTTstanding ≤ (1/δ) / dq.
        cwnd * queueing.as_ps() as f64 <= self.per_delta() * standing.as_ps() as f64
    }

    /// Moves the window by delivered bytes.
    fn on_delivered(&mut self, bytes: u64, is_used: bool, rtt: Option<Duration>, path: &PathState) {
        self.header_len = path.header_len;
        if let Some(rtt) = rtt {
            self.sample(rtt, path);
        }
        if self.round.is_over(path) {
            self.turn(is_used);
        }
        let is_below = self.is_below_target(path.smss);
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        if cwnd < ssthresh {
            if is_below {
                let ack = AckSample { newly_acked: bytes, is_cwnd_limited: is_used, rtt, ..AckSample::default() };
                self.window.slow_start(&ack, path);
                return;
            }
            self.window.set(cwnd, cwnd.max(2 * path.smss));
        }
        if is_used {
            self.step(bytes, is_below, path.smss);
        }
    }

    /// Moves the window by v / (δ cwnd) per segment.
    fn step(&mut self, bytes: u64, is_up: bool, smss: u64) {
        if self.settings.reset_at_once && is_up != self.is_up {
            (self.velocity, self.is_up, self.held) = (1.0, is_up, 0);
        }
        let cwnd = self.window.cwnd() as f64;
        let per_round = (self.velocity * self.per_delta() * smss as f64).min(cwnd);
        // A delivery counts for one window at most.
        let change = per_round * (bytes as f64 / cwnd).min(1.0);
        if is_up {
            self.window.add(change);
        } else {
            self.window.take(change);
            let least = self.settings.min_window * smss;
            if self.window.cwnd() < least {
                self.window.set(least.min(cwnd as u64), self.window.ssthresh());
            }
        }
    }

    /// Ends a round trip.
    fn turn(&mut self, is_used: bool) {
        let cwnd = self.window.cwnd();
        let is_up = cwnd > self.cwnd_before;
        self.cwnd_before = cwnd;
        if !is_used || is_up != self.is_up {
            (self.velocity, self.is_up, self.held) = (1.0, is_up, u64::from(is_used));
        } else {
            self.held += 1;
            if self.held >= self.settings.steady_rounds {
                // More than doubling the window has no use.
                let most = (cwnd as f64 / (self.per_delta() * self.smss as f64)).max(1.0);
                self.velocity = (2.0 * self.velocity).min(most);
            }
        }
        let has_lost = std::mem::take(&mut self.has_lost);
        if let (Some(per_delta), false) = (&mut self.per_delta, has_lost) {
            *per_delta += self.settings.competitive_step;
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.on_delivered(ack.newly_acked, ack.is_cwnd_limited, ack.rtt, path);
    }

    fn takes_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        // Recovery has no `on_ack`. The slow start after a timeout has.
        if delivery.is_repairing && !self.is_after_rto {
            let rtt = delivery.rate.and_then(|rate| rate.rtt);
            self.on_delivered(delivery.newly_delivered, delivery.is_cwnd_limited, rtt, path);
        }
    }

    fn on_recovery_exit(&mut self, _: &PathState) {
        self.is_after_rto = false;
    }

    fn on_congestion(&mut self, _: Congestion, path: &PathState) {
        if let (Some(per_delta), false) = (&mut self.per_delta, self.has_lost) {
            *per_delta = (*per_delta / 2.0).max(1.0 / self.settings.delta);
        }
        self.has_lost = true;
        let cwnd = self.window.cwnd();
        self.window.reduce(path.as_ssthresh(cwnd.max(2 * path.smss)), cwnd);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let half = path.as_ssthresh((self.window.cwnd() / 2).max(2 * path.smss));
        self.window.restart(first.then_some(half));
        (self.velocity, self.held, self.is_after_rto) = (1.0, 0, true);
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.window.on_smss(smss);
    }

    fn pacing(&self) -> Option<Pace> {
        let (_, standing) = self.queueing();
        let packets = self.window.cwnd() as f64 / self.smss as f64;
        let bits = 8.0 * packets * (self.smss + self.header_len) as f64;
        let seconds = standing.max(Duration::from_ps(1)).as_secs_f64();
        Some(Pace::at(Rate::from_bps(((self.settings.pacing_gain * bits / seconds) as u64).max(1))))
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        match self.per_delta {
            Some(_) => insides.state(
                "competitive",
                format_args!("the queue has not been empty for five round trips, so it competes for its share"),
            ),
            None => {
                insides.state("default", format_args!("the queue empties now and then, so it keeps the queue short"))
            }
        };
        insides.min_rtt(self.least.get());
        insides.own("delta", 1.0 / self.per_delta()).own("velocity", self.velocity);
        insides.own("queueing_delay_s", self.queueing().0.as_secs_f64());
    }

    window_hooks!(limit_cwnd, set_window, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};
    use crate::testbench::DELIVERY;

    const AVOIDANCE: u64 = 2 * SMSS;

    fn copa(segments: u64, ssthresh: u64, settings: CopaSettings) -> Copa {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh, ..Init::default() };
        Copa::new(init, settings)
    }

    fn fixed() -> CopaSettings {
        CopaSettings { competitive: false, ..CopaSettings::default() }
    }

    /// In congestion avoidance with 20 segments; RTTmin is 100 ms, RTTstanding 110 ms.
    fn twenty(velocity: f64) -> AckClock<Copa> {
        let mut sender = AckClock::new(copa(20, AVOIDANCE, fixed()), 100.0);
        sender.path.srtt = Some(Duration::from_millis(100));
        (0..20).for_each(|_| sender.ack(110.0));
        sender.cc.window.set(20 * SMSS, AVOIDANCE);
        (sender.cc.velocity, sender.cc.is_up) = (velocity, true);
        sender
    }

    /// `docs/specs/copa.md`, test: dq 10 ms is a target of 200 packets/s; 20 segments in 110 ms are 181.8, 23 are 209.
    #[test]
    fn the_target_is_in_inverse_proportion_to_the_queueing_delay() {
        let mut sender = twenty(1.0);
        let (queueing, standing) = sender.cc.queueing();
        assert_eq!((queueing, standing), (Duration::from_millis(10), Duration::from_millis(110)));
        assert!((sender.cc.per_delta() / queueing.as_secs_f64() - 200.0).abs() < 1e-9);
        let mut is_below = |segments| {
            sender.cc.window.set(segments * SMSS, AVOIDANCE);
            sender.cc.is_below_target(SMSS)
        };
        assert_eq!([20, 21, 22, 23].map(&mut is_below), [true, true, true, false]);
    }

    /// `docs/specs/copa.md`, test: 20 segments, δ 0.5: 0.1 for each ACK, 0.4 with v = 4.
    #[test]
    fn each_ack_moves_the_window_by_v_over_delta_cwnd() {
        let moved = |velocity, rtt_ms: f64| {
            let mut sender = twenty(velocity);
            if rtt_ms > 110.0 {
                (0..40).for_each(|_| sender.ack(rtt_ms));
                sender.cc.window.set(20 * SMSS, AVOIDANCE);
                (sender.cc.velocity, sender.cc.is_up) = (velocity, false);
            }
            let before = sender.cc.cwnd() as i64;
            sender.ack(rtt_ms);
            sender.cc.cwnd() as i64 - before
        };
        assert_eq!([moved(1.0, 110.0), moved(4.0, 110.0)], [100, 400]);
        assert_eq!([moved(1.0, 150.0), moved(4.0, 150.0)], [-100, -400]);
    }

    #[test]
    fn an_ack_of_two_segments_is_two_acks() {
        let mut sender = twenty(1.0);
        let before = sender.cc.cwnd();
        sender.path.snd_una += 2 * SMSS;
        let two = AckSample {
            newly_acked: 2 * SMSS,
            is_cwnd_limited: true,
            rtt: Some(Duration::from_millis(110)),
            ..AckSample::default()
        };
        sender.cc.on_ack(&two, &sender.path);
        assert_eq!(sender.cc.cwnd() - before, 200);
    }

    /// The third round trip in one direction ends with v = 2.
    #[test]
    fn v_doubles_when_the_direction_has_held_for_three_round_trips() {
        let mut sender = AckClock::new(copa(100, AVOIDANCE, fixed()), 100.0);
        sender.path.srtt = Some(Duration::from_millis(100));
        let course = [(); 6].map(|()| {
            sender.round(100.0);
            sender.cc.velocity
        });
        assert_eq!(course, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        // An endless queue asks for the other direction.
        (0..100).for_each(|_| sender.ack(400.0));
        assert_eq!((sender.cc.velocity, sender.cc.is_up), (1.0, false));
    }

    #[test]
    fn v_may_wait_for_the_end_of_the_window() {
        let settings = CopaSettings { reset_at_once: false, ..fixed() };
        let mut sender = AckClock::new(copa(100, AVOIDANCE, settings), 100.0);
        sender.path.srtt = Some(Duration::from_millis(100));
        (0..4).for_each(|_| sender.round(100.0));
        sender.cc.step(SMSS, false, SMSS);
        assert_eq!(sender.cc.velocity, 4.0);
        (0..2).for_each(|_| sender.round(400.0));
        assert_eq!((sender.cc.velocity, sender.cc.is_up), (1.0, false));
    }

    #[test]
    fn slow_start_doubles_until_the_rate_is_above_the_target() {
        let mut sender = AckClock::new(copa(9, u64::MAX, fixed()), 100.0);
        sender.path.srtt = Some(Duration::from_millis(100));
        sender.round(100.0);
        assert_eq!(sender.segments(), 19.0);
        sender.round(104.0);
        assert_eq!(sender.segments(), 37.0, "500 packets/s are more than 37 in 104 ms");
        sender.round(150.0);
        assert!(sender.segments() < 60.0 && sender.cc.ssthresh() < 60 * SMSS, "{}", sender.segments());
    }

    /// Others keep 50 ms queued, with sawtooth of 30 ms.
    #[test]
    fn a_queue_that_never_empties_is_competed_with() {
        let mut sender = AckClock::new(copa(50, AVOIDANCE, CopaSettings::default()), 100.0);
        sender.path.srtt = Some(Duration::from_millis(150));
        let rounds =
            |sender: &mut AckClock<Copa>, n: u32| (0..n).for_each(|i| sender.round(150.0 + f64::from(i % 4) * 10.0));
        rounds(&mut sender, 4);
        assert_eq!(sender.cc.per_delta, None);
        rounds(&mut sender, 8);
        let before = sender.cc.per_delta.unwrap();
        rounds(&mut sender, 4);
        let after = sender.cc.per_delta.unwrap();
        assert_eq!(after - before, 4.0, "one in each round trip");
        sender.lose();
        assert_eq!(sender.cc.per_delta, Some(after / 2.0));
        sender.cc.has_lost = false;
        (0..9).for_each(|_| {
            sender.cc.has_lost = false;
            sender.lose();
        });
        assert_eq!(sender.cc.per_delta, Some(2.0), "never less than by default");
        sender.round(100.0);
        sender.round(100.0);
        assert_eq!(sender.cc.per_delta, None);
    }

    #[test]
    fn losses_leave_the_window_and_end_slow_start() {
        let mut sender = AckClock::new(copa(39, u64::MAX, fixed()), 100.0);
        sender.lose();
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (40_000, 40_000));
        let path = *sender.view();
        sender.cc.on_rto(true, &path);
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (1000, 20_000));
    }

    /// In recovery the window moves as well; in the slow start after a timeout not twice.
    #[test]
    fn deliveries_in_recovery_count_as_acks() {
        let delivery = Delivery { newly_delivered: SMSS, is_repairing: true, ..DELIVERY };
        let mut sender = twenty(1.0);
        let path = *sender.view();
        sender.cc.on_delivery(&Delivery { is_repairing: false, ..delivery }, &path);
        assert_eq!(sender.cc.cwnd(), 20_000);
        sender.cc.on_delivery(&delivery, &path);
        assert_eq!(sender.cc.cwnd(), 20_100);
        sender.cc.on_rto(true, &path);
        sender.cc.on_delivery(&delivery, &path);
        assert_eq!(sender.cc.cwnd(), 1000);
    }

    /// 20 segments of 1040 B, twice in 110 ms; before the first sample as the handshake has it.
    #[test]
    fn pacing_is_two_windows_in_a_standing_round_trip() {
        let sender = twenty(1.0);
        let bps = 2.0 * 20.0 * 1040.0 * 8.0 / 0.11;
        assert_eq!(sender.cc.pacing(), Some(Pace::at(Rate::from_bps(bps as u64))));
        let init = Init { smss: SMSS, cwnd: 20 * SMSS, rtt: Some(Duration::from_millis(55)), ..Init::default() };
        let begun = Copa::new(init, fixed());
        assert_eq!(begun.pacing(), Some(Pace::at(Rate::from_bps((2.0 * bps) as u64))));
    }
}
