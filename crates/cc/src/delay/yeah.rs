//! YeAH grows like Scalable TCP while the queue is short, and otherwise like Reno. It drains a queue of more than 80
//! segments before it overflows.
//!
//! A. Baiocchi, A. P. Castellani and F. Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007, with the
//! constants of the Linux module.
//!
//! # How it works
//!
//! Once per round trip, Q = cwnd (rtt - base) / rtt and L = rtt - base select the mode of the next round trip. Both use
//! the smallest round-trip time of the round. A round with two samples or fewer changes nothing. `reno_count` estimates
//! the window of a Reno flow that shares the path: each slow round increments it. Draining the queue does not reduce
//! the window below it.
//!
//! A loss takes the queued part, at least an eighth of the window and at most half. If the last 16 rounds were all
//! slow, it takes half, because other flows fill the queue.
//!
//! # Differences from the source
//!
//! - Fast mode adds Scalable's increase only where it exceeds Reno's. Below 100 segments it grows as Reno (as in
//!   Linux), so fast mode is never the slower mode.
//! - An ECN mark counts as a loss.
//!
//! # When it helps
//!
//! On GEO paths YeAH fills the path in a time that does not grow with the rate, keeps the standing queue near 80
//! segments and gives up little for a random loss. It has about four times the goodput of `sack` in `s2` up to a loss
//! rate of 1e-4.
//!
//! # When it hurts
//!
//! - In `geo` it has a little less goodput than `sack`. It gives up an eighth after the overshoot of slow start, loses
//!   packets again during the repair, and waits for the timer once. Afterwards its queue is far shorter.
//! - On a long path it yields: beside as many flows of `sack` it takes a third of `geo` and half of `s1`.
//! - A handover to a path longer by more than an eighth makes it Reno for good. It also reduces large windows for a
//!   queue that does not exist, so `leo` is not full, unless `base_rtt_window` lets it forget the shorter path.

use crate::parts::loss_window::window_hooks;
use crate::parts::queueing::{Delay, DelayRounds, Progress};
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window};
use bentpipe_units::Duration;

settings! {
    /// Settings of YeAH.
    pub struct YeahSettings {
        /// alpha: largest queue, segments.
        alpha: f64 = 80.0, [0.0, 1_000_000.0], "Baiocchi 2007; Linux";
        /// gamma: divisor of the queue above alpha that is drained per round trip.
        gamma: f64 = 1.0, [1.0, 1000.0], "Baiocchi 2007; Linux";
        /// delta: smallest share of the window that a loss takes.
        delta: f64 = 0.125, [0.001, 0.5], "Baiocchi 2007; Linux has 2^-3";
        /// epsilon: largest share of the window that is drained.
        epsilon: f64 = 0.5, [0.001, 0.9], "Baiocchi 2007; Linux has 2^-1";
        /// phi: divisor of the base round-trip time: the largest queueing delay.
        phi: u64 = 8, [1, 1000], "Baiocchi 2007; Linux";
        /// rho: consecutive slow rounds after which a loss halves the window.
        rho: u64 = 16, [1, 1_000_000], "Baiocchi 2007; Linux";
        /// zeta: fast rounds after which the estimate of Reno's window is reset.
        zeta: u64 = 50, [1, 1_000_000], "Baiocchi 2007; Linux";
        /// Segments added per ACK of a segment in fast mode.
        increase: f64 = 0.01, [0.0001, 1.0], "Kelly 2003";
        /// Memory of the smallest round-trip time; 0: the whole connection.
        base_rtt_window: Duration = Duration::ZERO, "Linux";
    }
}

/// Samples that a round must exceed.
const FEW: u64 = 2;

/// Initial estimate of Reno's window, segments.
const NO_RENO: u64 = 2;

/// YeAH on a connection: the window, its mode, and its estimate of Reno's window.
#[derive(Clone, Debug)]
pub struct Yeah {
    window: Window,
    rounds: DelayRounds,
    settings: YeahSettings,
    /// Q of the last round, whole segments.
    queued: u64,
    /// Estimate of a Reno flow's window, segments.
    reno_count: u64,
    /// Consecutive slow rounds; 0: fast mode.
    doing_reno: u64,
    fast_count: u64,
}

impl Yeah {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: YeahSettings) -> Self {
        let (window, rounds) = (Window::new(init), DelayRounds::new(settings.base_rtt_window));
        Self { window, rounds, settings, queued: 0, reno_count: NO_RENO, doing_reno: 0, fast_count: 0 }
    }

    fn grow(&mut self, bytes: u64, path: &PathState) {
        let is_beyond_reno = self.window.cwnd() as f64 * self.settings.increase > path.smss as f64;
        if self.doing_reno == 0 && is_beyond_reno {
            self.window.add(bytes as f64 * self.settings.increase);
        } else {
            self.window.increase(bytes, path);
        }
    }

    /// Selects the mode after a round.
    fn decide(&mut self, delay: &Delay, path: &PathState) {
        let queued = delay.queued(self.window.cwnd()) / path.smss as f64;
        let is_long = queued > self.settings.alpha;
        let is_late = delay.rtt.saturating_sub(delay.base).saturating_mul(self.settings.phi) > delay.base;
        self.queued = queued as u64;
        if is_long || is_late {
            if is_long {
                self.give_back(queued, path);
            }
            self.reno_count = match self.reno_count {
                ..=NO_RENO => (self.window.cwnd() / path.smss / 2).max(NO_RENO),
                count => count + 1,
            };
            self.doing_reno += 1;
        } else {
            self.fast_count += 1;
            if self.fast_count > self.settings.zeta {
                (self.reno_count, self.fast_count) = (NO_RENO, 0);
            }
            self.doing_reno = 0;
        }
    }

    /// Drains the queue as long as the window exceeds that of a Reno flow.
    fn give_back(&mut self, queued: f64, path: &PathState) {
        let cwnd = self.window.cwnd();
        let least = self.reno_count.saturating_mul(path.smss);
        if cwnd > least {
            let back = (queued / self.settings.gamma * path.smss as f64).min(cwnd as f64 * self.settings.epsilon);
            let cwnd = cwnd.saturating_sub(back as u64).max(least);
            self.window.set(cwnd, path.as_ssthresh(cwnd));
        }
    }

    /// Returns the window after a loss, bytes.
    fn left(&self, path: &PathState) -> u64 {
        let base = path.ssthresh_base;
        let half = base / 2;
        let reduction = if self.doing_reno < self.settings.rho {
            let least = base as f64 * self.settings.delta;
            self.queued.saturating_mul(path.smss).min(half).max(least as u64)
        } else {
            half
        };
        base.saturating_sub(reduction).max(2 * path.smss)
    }

    fn after_loss(&mut self, path: &PathState) {
        self.fast_count = 0;
        self.reno_count = (self.reno_count / 2).max(NO_RENO);
        self.rounds.pause(path);
    }
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let progress = self.rounds.on_ack(ack, path);
        let left = self.window.slow_start(ack, path);
        if left > 0 {
            self.grow(left, path);
        }
        match progress {
            // An unused window gives no information about the queue.
            Progress::End(Some(delay)) if ack.is_cwnd_limited && delay.samples > FEW => self.decide(&delay, path),
            _ => {}
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = match why {
            Congestion::Ecn { beta: Some(beta) } => path.share(beta),
            Congestion::Ecn { beta: None } | Congestion::FastRetransmit => self.left(path),
        };
        self.window.reduce(path.as_ssthresh(left), left);
        self.after_loss(path);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.as_ssthresh(self.left(path))));
        if first {
            self.after_loss(path);
        } else {
            self.rounds.pause(path);
        }
    }

    fn limit_cwnd(&mut self, max: u64) {
        if self.window.cwnd() > max {
            self.rounds.restart();
        }
        self.window.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.window.set(cwnd, ssthresh);
        self.rounds.restart();
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        let queued = self.queued;
        match self.doing_reno {
            0 => insides
                .state("fast", format_args!("{queued} of its segments wait in the queue, so it grows as Scalable TCP")),
            _ => insides.state(
                "slow",
                format_args!("{queued} of its segments wait in the queue, so it grows as Reno and empties the queue"),
            ),
        };
        insides.min_rtt(self.rounds.base());
        insides.own("queued_segments", self.queued as f64).own("reno_segments", self.reno_count as f64);
    }

    window_hooks!(on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};

    fn yeah(segments: u64) -> AckClock<Yeah> {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
        AckClock::new(Yeah::new(init, YeahSettings::default()), 100.0)
    }

    fn decide(sender: &mut AckClock<Yeah>, rtt_ms: u64) {
        let (rtt, base) = (Duration::from_millis(rtt_ms), Duration::from_millis(100));
        let path = *sender.view();
        sender.cc.decide(&Delay { rtt, base, samples: 400 }, &path);
    }

    fn at(segments: u64) -> AckClock<Yeah> {
        let mut sender = yeah(segments);
        sender.cc.window.set(segments * SMSS, 2 * SMSS);
        sender
    }

    /// `docs/specs/yeah.md`, tests: 400 segments, 100 and 120 ms: 66.7 queued, 20 ms > 12.5 ms. A loss takes max(66,
    /// 50).
    #[test]
    fn a_loss_takes_what_was_queued() {
        let mut sender = at(400);
        (0..5).for_each(|_| decide(&mut sender, 120));
        assert_eq!((sender.cc.doing_reno, sender.cc.queued, sender.cc.cwnd()), (5, 66, 400_000));
        sender.lose();
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (334_000, 334_000));
        // Nothing queued: an eighth.
        let mut sender = at(400);
        decide(&mut sender, 100);
        sender.lose();
        assert_eq!(sender.cc.cwnd(), 350_000);
        // More than half of the window: half.
        let mut sender = at(100);
        decide(&mut sender, 300);
        sender.lose();
        assert_eq!((sender.cc.queued, sender.cc.cwnd()), (66, 50_000));
    }

    #[test]
    fn after_sixteen_slow_rounds_a_loss_halves() {
        for (rounds, left) in [(15, 334_000), (16, 200_000)] {
            let mut sender = at(400);
            (0..rounds).for_each(|_| decide(&mut sender, 120));
            sender.lose();
            assert_eq!(sender.cc.cwnd(), left);
        }
    }

    /// 1.01 times in each fast round, one segment in each slow one.
    #[test]
    fn growth_is_scalables_or_renos() {
        let after = |segments, rtt_ms| {
            let mut sender = yeah(segments);
            sender.round(rtt_ms);
            let before = sender.segments();
            (0..10).for_each(|_| sender.round(rtt_ms));
            sender.segments() - before
        };
        let fast = after(1000, 105.0);
        assert!((fast / (1010.0 * (1.01_f64.powi(10) - 1.0)) - 1.0).abs() < 0.01, "{fast}");
        let slow = after(400, 120.0);
        assert!((slow - 10.0).abs() < 0.3, "{slow}");
        let small = after(50, 100.0);
        assert!((small - 10.0).abs() < 0.3, "{small}");
    }

    /// 1100 segments on a path of 1000: 100 are queued and given back; half of the rest is then kept for Reno.
    #[test]
    fn a_long_queue_is_given_back() {
        let mut sender = at(1100);
        decide(&mut sender, 110);
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (1_000_000, 1_000_000));
        assert_eq!((sender.cc.reno_count, sender.cc.doing_reno), (500, 1));
        decide(&mut sender, 105);
        assert_eq!((sender.cc.reno_count, sender.cc.doing_reno, sender.cc.fast_count), (500, 0, 1));
        // At most half of the window, and not below what Reno would have.
        let mut sender = at(1000);
        decide(&mut sender, 400);
        assert_eq!(sender.cc.cwnd(), 500_000);
        sender.cc.reno_count = 450;
        decide(&mut sender, 400);
        assert_eq!((sender.cc.cwnd(), sender.cc.reno_count), (450_000, 451));
        decide(&mut sender, 400);
        assert_eq!((sender.cc.cwnd(), sender.cc.reno_count), (450_000, 452));
    }

    #[test]
    fn fifty_fast_rounds_forget_reno() {
        let mut sender = at(400);
        decide(&mut sender, 120);
        (0..50).for_each(|_| decide(&mut sender, 100));
        assert_eq!((sender.cc.reno_count, sender.cc.fast_count), (200, 50));
        decide(&mut sender, 100);
        assert_eq!((sender.cc.reno_count, sender.cc.fast_count), (2, 0));
        let mut sender = at(400);
        decide(&mut sender, 120);
        decide(&mut sender, 100);
        sender.lose();
        assert_eq!((sender.cc.reno_count, sender.cc.fast_count), (100, 0));
    }

    /// A path of 1000 segments with a buffer that never overflows: the queue stays near 80 segments.
    #[test]
    fn alone_it_fills_the_path_and_keeps_the_queue_short() {
        let mut sender = yeah(500);
        let mut before = 0;
        while sender.segments() < 1000.0 {
            sender.round_over(100.0, 1000.0);
            before += 1;
        }
        // ln 2 / ln 1.01 = 69.7 round trips from half of the path, whatever its rate.
        assert!((69..=71).contains(&before), "{before}");
        for _ in 0..1000 {
            sender.round_over(100.0, 1000.0);
            assert!((995.0..=1100.0).contains(&sender.segments()), "{}", sender.segments());
        }
    }

    #[test]
    fn a_handover_to_a_longer_path_makes_it_reno() {
        for (base_rtt_window, is_slow) in [(Duration::ZERO, true), (Duration::from_secs(10), false)] {
            let init = Init { smss: SMSS, cwnd: 100 * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
            let settings = YeahSettings { base_rtt_window, ..YeahSettings::default() };
            let mut sender = AckClock::new(Yeah::new(init, settings), 100.0);
            (0..100).for_each(|_| sender.round(115.0));
            assert_eq!(sender.cc.doing_reno > 0, is_slow);
        }
    }

    #[test]
    fn a_repeated_timeout_keeps_reno_count() {
        let mut sender = at(400);
        decide(&mut sender, 120);
        let path = *sender.view();
        sender.cc.on_rto(true, &path);
        sender.cc.on_rto(false, &path);
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh(), sender.cc.reno_count), (1000, 334_000, 100));
    }
}
