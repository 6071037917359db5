//! TCP Santa Cruz derives the segments waiting at the bottleneck from relative delays of the forward path. It keeps the
//! window where a given number waits. REFWA Plus cites it as a remedy for errors of links.
//!
//! C. Parsa and J. J. Garcia-Luna-Aceves, "Improving TCP congestion control over internets with heterogeneous
//! transmission media", ICNP 1999. Source not available: the equations follow widespread descriptions.
//!
//! # How it works
//!
//! ```text
//! D(j, i) = R(j, i) - S(j, i)     how much longer packet j took than packet i; R: between arrivals, S: between departures
//! N = N + sum of D / R'           packets at the bottleneck; R': the average time that it serves a packet
//! once per window:  N < n - delta: cwnd += 1;  N > n + delta: cwnd -= 1;  else it stays
//! slow start ends:  N > n / 2
//! ```
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - The sums of D since the shortest delay replace N, so N is never negative.
//! - R' is averaged over arrivals that took longer than the arrival before, because the bottleneck was busy in between.
//!   The weight is 1/8.
//! - A loss halves the window, as in Reno.
//! - The paper starts with two segments. Here the connection's initial window applies.
//!
//! Deviations:
//!
//! - Arrivals are those of ACKs. The delay is one-way by timestamps (RFC 7323), in steps of a millisecond, or the
//!   round-trip time without them.
//! - The paper's ACK names the transmission it answers and carries a bit vector of the arrived packets. Here loss
//!   recovery is SACK's, and a retransmission gives no sample without timestamps.
//!
//! # When it helps
//!
//! TCP Santa Cruz keeps a few segments in the queue, like Vegas. With timestamps, queues of ACKs do not affect it, so
//! it suits paths with a thin return channel. With `pacing = "window"` and `ack.every = 1`, slow start fills the path.
//! One of the two settings is not enough. A larger `operating_point` also prolongs slow start.
//!
//! # When it hurts
//!
//! - The bursts of slow start also wait at the bottleneck, and end slow start in the first round trip or soon after.
//!   From then on the window moves by one segment per round trip. Over GEO that takes minutes. Delayed ACKs look like a
//!   queue, too.
//! - Errors of the link halve the window, like Reno's.
//! - If the bottleneck serves several segments per millisecond, timestamps cannot show a queue of five. Raise
//!   `operating_point` or set `delay = "round-trip"`.
//! - A handover to a longer path looks like a queue and keeps the window small for good, since the shortest delay is
//!   not forgotten.

use crate::parts::loss_window::window_hooks;
use crate::parts::round::Round;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, PathState, Window, HALF};
use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Delay whose changes TCP Santa Cruz adds up.
    pub enum SantaCruzDelay {
        /// One-way delay from sender to receiver with timestamps, otherwise the round-trip time.
        "one-way" => OneWay,
        /// Round-trip time.
        "round-trip" => RoundTrip,
    }
}

settings! {
    /// Settings of TCP Santa Cruz.
    pub struct SantaCruzSettings {
        /// Target of segments waiting at the bottleneck.
        operating_point: f64 = 5.0, [0.0, 10_000.0], "reading of Parsa 1999 (source not available): 1.5 to 5";
        /// Deviation from the target at which the window stays, segments.
        delta: f64 = 0.5, [0.0, 10_000.0], "reading of Parsa 1999 (source not available): a fraction of a packet";
        /// Delay that is measured.
        delay: enum SantaCruzDelay = SantaCruzDelay::OneWay, "reading of Parsa 1999 (source not available): the forward path alone";
    }
}

/// TCP Santa Cruz on a connection: the window, and the queue at the bottleneck.
#[derive(Clone, Debug)]
pub struct SantaCruz {
    window: Window,
    round: Round,
    bottleneck: Bottleneck,
    settings: SantaCruzSettings,
    /// The first one-way delay, ms of both clocks; `None`: round-trip times are used.
    origin: Option<u32>,
}

impl SantaCruz {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: SantaCruzSettings) -> Self {
        let (round, bottleneck) = (Round::default(), Bottleneck::default());
        Self { window: Window::new(init), round, bottleneck, settings, origin: None }
    }

    /// Adds or removes one segment, or neither, once per window.
    fn adjust(&mut self, smss: u64) {
        let waiting = self.bottleneck.waiting(smss);
        let SantaCruzSettings { operating_point, delta, .. } = self.settings;
        if waiting < operating_point - delta {
            self.window.add(smss as f64);
        } else if waiting > operating_point + delta {
            let cwnd = self.window.cwnd();
            let less = cwnd.saturating_sub(smss).max(2 * smss).min(cwnd);
            self.window.set(less, self.window.ssthresh().min(less));
        }
    }
}

impl CongestionControl for SantaCruz {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let (None, Some(rtt)) = (self.origin, ack.rtt) {
            let delay = i64::try_from(rtt.as_ps()).unwrap_or(i64::MAX);
            self.bottleneck.sample(delay, ack.newly_acked, path.now);
        }
        let is_over = self.round.is_over(path);
        if !ack.is_cwnd_limited {
            return;
        }
        if !self.window.is_in_slow_start() {
            if is_over {
                self.adjust(path.smss);
            }
        } else if self.bottleneck.waiting(path.smss) > self.settings.operating_point / 2.0 {
            let cwnd = self.window.cwnd();
            self.window.set(cwnd, cwnd.min(self.window.ssthresh()));
        } else {
            self.window.slow_start(ack, path);
        }
    }

    fn takes_deliveries(&self) -> bool {
        // Only deliveries bring the one-way delay.
        self.settings.delay == SantaCruzDelay::OneWay
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        let (SantaCruzDelay::OneWay, Some(delay)) = (self.settings.delay, delivery.one_way_delay) else {
            return;
        };
        let ms = (delay.as_ps() / PS_PER_MS) as u32;
        if self.origin.is_none() {
            self.bottleneck = Bottleneck::default();
        }
        // The clocks differ, and one of them may wrap.
        let since_first = ms.wrapping_sub(*self.origin.get_or_insert(ms)) as i32;
        self.bottleneck.sample(i64::from(since_first) * PS_PER_MS as i64, delivery.newly_delivered, path.now);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
        self.round.begin(path);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
        self.round.begin(path);
    }

    fn on_resume(&mut self, _: &PathState) {
        self.bottleneck.before = None;
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

const PS_PER_MS: u64 = Duration::from_millis(1).as_ps();

/// The queue, derived from relative delays.
#[derive(Clone, Debug, Default)]
struct Bottleneck {
    /// The shortest delay, ps.
    least: Option<i64>,
    /// The latest delay, ps.
    latest: i64,
    /// Time of the measurement; `None`: the sender was idle since.
    before: Option<Time>,
    /// Average time to serve a byte, ps; 0: unknown.
    service: f64,
}

impl Bottleneck {
    /// Processes an ACK for `bytes` bytes, whose latest took `delay`.
    fn sample(&mut self, delay: i64, bytes: u64, now: Time) {
        if let Some(before) = self.before.filter(|_| delay > self.latest && bytes > 0) {
            let sample = now.saturating_since(before).as_ps() as f64 / bytes as f64;
            self.service += if self.service > 0.0 { (sample - self.service) / 8.0 } else { sample };
        }
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        (self.latest, self.before) = (delay, Some(now));
    }

    /// Returns the waiting segments.
    fn waiting(&self, smss: u64) -> f64 {
        match self.least {
            Some(least) if self.service > 0.0 => {
                self.latest.saturating_sub(least) as f64 / (self.service * smss as f64)
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};

    fn sender(segments: u64, ssthresh: u64) -> AckClock<SantaCruz> {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh, ..Init::default() };
        AckClock::new(SantaCruz::new(init, SantaCruzSettings::default()), 100.0)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Packets leave 2 ms apart and arrive 3 ms apart: each waits 1 ms longer, a third of a packet's time.
    #[test]
    fn relative_delays_add_up_to_what_waits() {
        let mut bottleneck = Bottleneck::default();
        for packet in 0..=12 {
            bottleneck.sample((50 + packet) * PS_PER_MS as i64, SMSS, at(3 * packet as u64));
        }
        assert!((bottleneck.waiting(SMSS) - 4.0).abs() < 1e-9, "12 ms at 3 ms each");
        // A pause of the sender empties the queue and says nothing of the time to serve.
        bottleneck.sample(50 * PS_PER_MS as i64, SMSS, at(500));
        assert_eq!(bottleneck.waiting(SMSS), 0.0);
        bottleneck.before = None;
        bottleneck.sample(56 * PS_PER_MS as i64, SMSS, at(900));
        assert!((bottleneck.waiting(SMSS) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_goes_to_the_operating_point_by_one_segment_per_round_trip() {
        let after = |waiting_ms: i64| {
            // The ACK that begins the first round adds a segment.
            let mut sender = sender(19, 2 * SMSS);
            sender.cc.bottleneck = Bottleneck {
                least: Some(0),
                latest: waiting_ms * PS_PER_MS as i64,
                before: None,
                service: PS_PER_MS as f64 / SMSS as f64,
            };
            sender.cc.adjust(SMSS);
            sender.segments()
        };
        assert_eq!([0, 4, 5, 6, 60].map(after), [21.0, 21.0, 20.0, 19.0, 19.0]);
    }

    /// A path of 100 segments in 100 ms: five wait in the end, from wherever the window starts.
    #[test]
    fn the_queue_settles_at_the_operating_point() {
        for from in [90, 103, 120] {
            let mut sender = sender(from, 2 * SMSS);
            sender.round_over(100.0, 90.0);
            (0..60).for_each(|_| sender.round_over(100.0, 100.0));
            let settled = sender.segments();
            assert!((104.0..=106.0).contains(&settled), "{settled} from {from}");
        }
    }

    #[test]
    fn slow_start_ends_when_half_of_the_operating_point_waits() {
        let mut sender = sender(10, u64::MAX);
        let course = [(); 6].map(|()| {
            sender.round_over(100.0, 100.0);
            sender.segments()
        });
        // The first round with a queue is that of the window of 161.
        assert_eq!(course, [21.0, 41.0, 81.0, 161.0, 160.0, 159.0]);
        assert!(!sender.cc.window.is_in_slow_start());
    }

    #[test]
    fn a_loss_halves_as_in_reno() {
        let mut sender = sender(39, 2 * SMSS);
        sender.lose();
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (20 * SMSS, 20 * SMSS));
    }
}
