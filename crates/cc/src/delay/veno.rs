//! Veno is Reno that estimates the queued segments, as Vegas does. With a short queue it takes a loss for a random one
//! and gives up a fifth of the window. With a long queue it grows at half the pace.
//!
//! C. P. Fu and S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC
//! 21(2), 2003.
//!
//! # How it works
//!
//! Veno compares N = cwnd (rtt - base) / rtt with beta = 3 segments, in the additive increase and in the multiplicative
//! decrease. Slow start and timeouts are Reno's.
//!
//! # Differences from the source
//!
//! - N is unknown, as in Linux, before the third sample of the connection. It is not measured from a reduction until all
//!   data sent before it is acknowledged. A loss uses the last N, and halves the window if N is unknown.
//! - An ECN mark counts as congestion and halves the window.
//! - An unused window gives no N.
//!
//! # When it helps
//!
//! Veno is faster than Reno where the link itself loses some packets and queues are short, as on a faded or mobile
//! satellite link: up to 1.7 times Reno's window, by the response function. Beside `sack` it comes near that in `s1` at
//! a loss rate of 1e-2, and in `s2` from 1e-4 on. It takes nothing from Reno's flows: beside as many flows of `sack` it
//! has a little less than half.
//!
//! # When it hurts
//!
//! Veno gains less at loss rates where timeouts rule, and nothing after an overflow in slow start. A handover to a
//! longer path looks like a queue. From then on, Veno is Reno at half the pace and has less goodput than `sack` in
//! `leo`, unless `base_rtt_window` lets it forget the shorter path.

use crate::parts::loss_window::window_hooks;
use crate::parts::queueing::{DelayRounds, Progress};
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Round-trip time that Veno compares with the smallest one.
    pub enum VenoRtt {
        /// Smallest of the last round trip.
        "round" => Round,
        /// Round-trip time of the last ACK, as in Linux, which clears its minimum at each ACK.
        "ack" => Ack,
    }
}

bentpipe_units::words! {
    /// Slow-start threshold after a timeout.
    pub enum VenoRto {
        /// Half of the window, as in Reno.
        "paper" => Paper,
        /// The threshold after a loss, as in Linux.
        "linux" => Linux,
    }
}

bentpipe_units::words! {
    /// Growth at half the pace.
    pub enum VenoPace {
        /// Every second ACK adds the increase of Reno.
        "ack" => Ack,
        /// Every second window of ACKs adds a segment at its end, as in Linux.
        "window" => Window,
    }
}

settings! {
    /// Settings of Veno.
    pub struct VenoSettings {
        /// Queued segments below which a loss is random.
        beta: f64 = 3.0, [0.0, 10_000.0], "Fu 2003";
        /// Share of the window that a random loss takes.
        random_decrease: f64 = 0.2, [0.001, 0.9], "Fu 2003";
        /// Round-trip time that counts.
        rtt: enum VenoRtt = VenoRtt::Round, "Fu 2003";
        /// Slow-start threshold after a timeout.
        rto: enum VenoRto = VenoRto::Paper, "Fu 2003";
        /// Growth at half the pace.
        pace: enum VenoPace = VenoPace::Ack, "Fu 2003";
        /// Whether a loss resets the smallest round-trip time.
        forget_base_rtt: bool = false, "Linux";
        /// Memory of the smallest round-trip time; 0: the whole connection.
        base_rtt_window: Duration = Duration::ZERO, "Linux";
    }
}

/// Samples that the connection must exceed.
const FEW: u64 = 2;

/// Veno on a connection: the window, and the measured rounds.
#[derive(Clone, Debug)]
pub struct Veno {
    window: Window,
    rounds: DelayRounds,
    settings: VenoSettings,
    samples: u64,
    /// N, segments; `None`: unknown.
    queued: Option<f64>,
    /// Whether the last ACK, or window of ACKs, added nothing.
    has_waited: bool,
    /// Acknowledged bytes of this window of ACKs.
    acked: u64,
}

impl Veno {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: VenoSettings) -> Self {
        let (window, rounds) = (Window::new(init), DelayRounds::new(settings.base_rtt_window));
        Self { window, rounds, settings, samples: 0, queued: None, has_waited: false, acked: 0 }
    }

    /// Returns whether N holds for data sent now.
    fn measure(&mut self, ack: &AckSample, path: &PathState) -> bool {
        let progress = self.rounds.on_ack(ack, path);
        self.samples += u64::from(ack.rtt.is_some());
        let delay = match (self.settings.rtt, progress) {
            (_, Progress::Paused) => return false,
            (VenoRtt::Round, Progress::End(delay)) => delay,
            (VenoRtt::Round, Progress::Within) => None,
            (VenoRtt::Ack, _) => ack.rtt.map(|rtt| self.rounds.delay(rtt)),
        };
        if let Some(delay) = delay.filter(|_| ack.is_cwnd_limited && self.samples > FEW) {
            self.queued = Some(delay.queued(self.window.cwnd()) / path.smss as f64);
        }
        true
    }

    fn increase_at_half_the_pace(&mut self, bytes: u64, path: &PathState) {
        match self.settings.pace {
            VenoPace::Ack => {
                self.has_waited = !self.has_waited;
                if !self.has_waited {
                    self.window.increase(bytes, path);
                }
            }
            VenoPace::Window => {
                let cwnd = self.window.cwnd();
                self.acked += bytes.min(cwnd);
                if self.acked >= cwnd {
                    self.acked -= cwnd;
                    self.has_waited = !self.has_waited;
                    if !self.has_waited {
                        self.window.add(path.smss as f64);
                    }
                }
            }
        }
    }

    /// Thousandths of the window after a loss.
    fn left(&self) -> u32 {
        match self.queued {
            Some(queued) if queued < self.settings.beta => {
                (1000.0 * (1.0 - self.settings.random_decrease)).round() as u32
            }
            _ => HALF,
        }
    }

    fn restart(&mut self) {
        (self.has_waited, self.acked) = (false, 0);
        self.rounds.restart();
    }

    fn pause(&mut self, path: &PathState) {
        self.restart();
        self.rounds.pause(path);
    }

    fn after_loss(&mut self) {
        if self.settings.forget_base_rtt {
            self.rounds.forget_base();
        }
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let is_measured = self.measure(ack, path);
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        if is_measured && self.queued.is_some_and(|queued| queued >= self.settings.beta) {
            self.increase_at_half_the_pace(left, path);
        } else {
            self.window.increase(left, path);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = match why {
            Congestion::FastRetransmit => self.left(),
            Congestion::Ecn { .. } => why.left(HALF),
        };
        let left = path.share(left);
        self.window.reduce(path.as_ssthresh(left), left);
        self.pause(path);
        if why == Congestion::FastRetransmit {
            self.after_loss();
        }
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let left = match self.settings.rto {
            VenoRto::Paper => HALF,
            VenoRto::Linux => self.left(),
        };
        self.window.restart(first.then(|| path.as_ssthresh(path.share(left))));
        self.pause(path);
        self.after_loss();
    }

    fn limit_cwnd(&mut self, max: u64) {
        if self.window.cwnd() > max {
            self.restart();
        }
        self.window.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.window.set(cwnd, ssthresh);
        self.restart();
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.min_rtt(self.rounds.base()).own("queued_segments", self.queued.unwrap_or(f64::NAN));
    }

    window_hooks!(on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};

    fn veno(segments: u64, settings: VenoSettings) -> AckClock<Veno> {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
        AckClock::new(Veno::new(init, settings), 100.0)
    }

    /// N was measured with this window; the growth of the round is taken back.
    fn measured(segments: u64, rtt_ms: f64, settings: VenoSettings) -> AckClock<Veno> {
        let mut sender = veno(segments, settings);
        (0..segments).for_each(|_| {
            sender.cc.window.set(segments * SMSS, 2 * SMSS);
            sender.ack(rtt_ms);
        });
        sender.cc.window.set(segments * SMSS, 2 * SMSS);
        sender
    }

    /// `docs/specs/veno.md`, tests: 20 segments, base 100 ms.
    #[test]
    fn a_loss_is_random_where_few_segments_are_queued() {
        for rtt in [VenoRtt::Round, VenoRtt::Ack] {
            let after = |rtt_ms| {
                let mut sender = measured(20, rtt_ms, VenoSettings { rtt, ..VenoSettings::default() });
                let queued = (sender.cc.queued.unwrap() * 100.0).round() / 100.0;
                sender.lose();
                (queued, sender.segments())
            };
            assert_eq!([110.0, 125.0].map(after), [(1.82, 16.0), (4.0, 10.0)], "{rtt:?}");
        }
    }

    #[test]
    fn timeouts_are_renos_but_in_linux() {
        let after = |rto| {
            let mut sender = measured(20, 110.0, VenoSettings { rto, ..VenoSettings::default() });
            let path = *sender.view();
            sender.cc.on_rto(true, &path);
            (sender.cc.cwnd(), sender.cc.ssthresh())
        };
        assert_eq!([VenoRto::Paper, VenoRto::Linux].map(after), [(1000, 10_000), (1000, 16_000)]);
    }

    #[test]
    fn without_a_measure_and_for_a_mark_it_halves() {
        let mut sender = veno(20, VenoSettings::default());
        sender.lose();
        assert!((10.0..10.1).contains(&sender.segments()));
        for (beta, left) in [(None, 10_000), (Some(850), 17_000)] {
            let mut sender = measured(20, 110.0, VenoSettings::default());
            let path = *sender.view();
            sender.cc.on_congestion(Congestion::Ecn { beta }, &path);
            assert_eq!(sender.cc.cwnd(), left);
        }
    }

    /// A segment for each round trip, and half of one with 3 queued.
    #[test]
    fn the_window_grows_at_half_the_pace_where_many_are_queued() {
        for pace in [VenoPace::Ack, VenoPace::Window] {
            for (rtt_ms, segments) in [(100.0, 20.0), (130.0, 10.0)] {
                let mut sender = veno(100, VenoSettings { pace, ..VenoSettings::default() });
                sender.round(rtt_ms);
                let before = sender.segments();
                (0..20).for_each(|_| sender.round(rtt_ms));
                let grown = sender.segments() - before;
                assert!((grown - segments).abs() < 1.05, "{pace:?} {rtt_ms}: {grown}");
            }
        }
    }

    /// The response functions sqrt(3 / 2p) and sqrt(9 / 2p) segments (AIMD with a decrease b: sqrt((2 - b) / (2 b p))), with a loss
    /// for each 10,000 segments.
    #[test]
    fn random_losses_leave_a_larger_window_than_renos() {
        let mean = |random_decrease: f64| {
            let mut sender = veno(100, VenoSettings { random_decrease, ..VenoSettings::default() });
            let (mut sum, mut rounds, mut acked) = (0.0, 0.0, 0.0);
            for _ in 0..20_000 {
                let segments = sender.segments();
                (sum, rounds, acked) = (sum + segments, rounds + 1.0, acked + segments);
                sender.round(100.0);
                if acked >= 10_000.0 {
                    acked -= 10_000.0;
                    sender.lose();
                }
            }
            sum / rounds
        };
        for decrease in [0.2, 0.5] {
            let expected = ((2.0 - decrease) / (2.0 * decrease) * 1e4_f64).sqrt();
            let found = mean(decrease);
            assert!((found / expected - 1.0).abs() < 0.03, "{decrease}: {found} for {expected}");
        }
    }

    #[test]
    fn a_loss_may_make_the_smallest_round_trip_begin_again() {
        for (forget_base_rtt, left) in [(false, 0.5), (true, 0.8)] {
            let mut sender = veno(50, VenoSettings { forget_base_rtt, ..VenoSettings::default() });
            sender.round(150.0);
            sender.lose();
            (0..3).for_each(|_| sender.round(150.0));
            let before = sender.segments();
            sender.lose();
            assert!((sender.segments() / before - left).abs() < 0.01);
        }
    }
}
