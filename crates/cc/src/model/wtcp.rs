//! WTCP controls its rate by the ratio of arrival spacing to departure spacing of packets. Losses count only if they
//! are more than usual. REFWA Plus cites it as a remedy for errors of links.
//!
//! P. Sinha, T. Nandagopal, N. Venkitaraman, R. Sivakumar and V. Bharghavan, "WTCP: a reliable transport protocol for
//! wireless wide-area networks", Wireless Networks 8, 2002. Source not available: the equations follow widespread
//! descriptions.
//!
//! # How it works
//!
//! Once per round trip:
//!
//! ```text
//! ratio = R / S                       R: time between arrivals, S: between departures, of the first and last packet
//! average += weight (ratio - average)
//! average > 1 + high:                 rate = decrease rate / average
//! lost > usual + deviations v:        rate = loss_decrease rate;  v: mean deviation of what is usual
//! else:                               rate += increase segments in a round trip
//! ```
//!
//! The first rate is the arrival rate of the first packets, sent back to back, and replaces slow start. A timeout is a
//! blackout: single segments probe the path, and after their answer the rate is restored.
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - All numbers under Settings.
//! - The decrease starts from the arrival rate of the packets.
//! - The averages of losses have the weights of RFC 6298, 1/8 and 1/4, and v is at least one segment.
//! - The usual losses are learnt only while the delay is at most an eighth of a round trip above the least, because a
//!   full queue loses packets at a steady pace, too.
//! - The round trip after a decrease still shows the old rate and is left out.
//! - ECN marks are ignored.
//!
//! Deviations:
//!
//! - The paper's receiver computes the rate and returns it in ACKs, at the spacing that the sender requests. Here the
//!   sender computes it from the same times. It knows when a packet left. Timestamps (RFC 7323: TSval) show the arrival
//!   in steps of a millisecond. Without timestamps, the times of ACKs replace them.
//! - The first rate uses the times of ACKs over the first round trip with four of them, instead of a pair of packets.
//!   It omits the last ACK, which may be delayed. Until the rate is known, the window doubles.
//! - Twice the data of a round trip may be in flight, so that lost ACKs do not slow the flow.
//! - Loss recovery is SACK's, with its timer.
//!
//! # When it helps
//!
//! WTCP is fast where losses are errors of the link, because it ignores them once it knows them. After an outage it
//! returns at its old rate. It fills a geostationary path after one round trip.
//!
//! # When it hurts
//!
//! - WTCP adds one segment per round trip, so over GEO it takes minutes to find capacity that others leave.
//! - The first packets show the share of one flow on an idle path. Many flows that start together each take all of it.
//! - A handover to a longer path looks like wider spacing of arrivals and costs one decrease. From then on the least
//!   delay is never seen again, and no more losses are learnt.
//! - Over short round trips a millisecond of the timestamps is coarse. `least_period` averages over it.
//! - Beside congestion controls that halve at each loss, WTCP is not fair: in `s1`, ten flows of it leave ten flows of
//!   `sack` next to nothing. A full queue spreads few losses over them, not more than usual for any of them. The spread
//!   of the measured goodput is wide.

use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Cwnd, Delivery, Init, Pace, PathState};
use bentpipe_units::{Duration, Rate, Time};

settings! {
    /// Settings of WTCP.
    pub struct WtcpSettings {
        /// Segments added per round trip.
        increase: f64 = 1.0, [0.0, 1000.0], "reading of Sinha 2002 (source not available): additive increase";
        /// Excess of the spacing ratio that counts as wider spacing.
        high: f64 = 0.02, [0.0, 10.0], "reading of Sinha 2002 (source not available): a threshold";
        /// Weight of the latest ratio in its average.
        weight: f64 = 0.25, [0.001, 1.0], "reading of Sinha 2002 (source not available): a running average";
        /// Share of the arrival rate after wider spacing.
        decrease: f64 = 0.9, [0.01, 1.0], "reading of Sinha 2002 (source not available): multiplicative decrease";
        /// Share of the rate after more losses than usual.
        loss_decrease: f64 = 0.5, [0.01, 1.0], "reading of Sinha 2002 (source not available): multiplicative decrease";
        /// Mean deviations above the average at which the losses of a round trip count.
        deviations: f64 = 4.0, [0.0, 1000.0], "reading of Sinha 2002 (source not available): average and deviation";
        /// Shortest time over which spacings are compared.
        least_period: Duration = Duration::from_millis(50), "a choice: timestamps count milliseconds";
    }
}

/// ACKs that give the first rate.
const FIRST_ACKS: u64 = 4;
/// Largest flight, as a multiple of the data sent per round trip.
const FLIGHT: f64 = 2.0;
/// Round-trip time before the first sample.
const UNKNOWN_RTT: Duration = Duration::from_secs(1);
/// Largest rate, bytes per second.
const RATE_MAX: f64 = 1e15;
const PS_PER_MS: u64 = Duration::from_millis(1).as_ps();

/// WTCP on a connection: its rate, the spacings of this round trip, and the usual losses.
#[derive(Clone, Debug)]
pub struct Wtcp {
    settings: WtcpSettings,
    smss: u64,
    header_len: u64,
    cwnd: u64,
    /// Bytes of data per second; `None`: the first packets are not acknowledged yet.
    rate: Option<f64>,
    srtt: Duration,
    period: Period,
    average: f64,
    usual: UsualLosses,
    delay: Delay,
    /// Whether this round trip still shows the rate before a decrease.
    is_settling: bool,
    /// Whether a timer expired and no packet has arrived since.
    is_blackout: bool,
}

impl Wtcp {
    /// Creates a window of `init.cwnd` bytes, without a rate.
    pub fn new(init: Init, settings: WtcpSettings) -> Self {
        Self {
            settings,
            smss: init.smss,
            // Without options until a path is known.
            header_len: 40,
            cwnd: init.cwnd.clamp(init.smss, Cwnd::MAX),
            rate: None,
            srtt: init.rtt.unwrap_or(UNKNOWN_RTT),
            period: Period::default(),
            average: 1.0,
            usual: UsualLosses::default(),
            delay: Delay::default(),
            is_settling: false,
            is_blackout: false,
        }
    }

    /// Ends a round trip in which `lost` segments are missing.
    fn decide(&mut self, rate: f64, is_app_limited: bool) {
        let lost = self.period.lost as f64 / self.smss as f64;
        if std::mem::take(&mut self.is_settling) {
            return;
        }
        let WtcpSettings { increase, high, weight, decrease, loss_decrease, deviations, .. } = self.settings;
        if let Some(ratio) = self.period.ratio() {
            self.average += weight * (ratio - self.average);
        }
        let is_unusual = self.usual.is_less_than(lost, deviations);
        let is_apart = self.average > 1.0 + high;
        if !is_apart && self.delay.is_short(self.srtt) {
            self.usual.learn(lost);
        }
        let next = if is_apart {
            decrease * rate / self.average
        } else if is_unusual {
            loss_decrease * rate
        } else if is_app_limited {
            rate
        } else {
            rate + increase * self.smss as f64 / self.srtt.as_secs_f64().max(1e-6)
        };
        if next < rate {
            self.is_settling = true;
            self.average = 1.0;
        }
        self.set_rate(next);
    }

    /// Sets the rate to at least a segment per second, or per round trip if that is longer.
    fn set_rate(&mut self, rate: f64) {
        let least = self.smss as f64 / self.srtt.as_secs_f64().max(1.0);
        self.rate = Some(rate.clamp(least, RATE_MAX));
    }

    fn follow_rate(&mut self) {
        let Some(rate) = self.rate else { return };
        // Casts saturate.
        let bytes = (FLIGHT * rate * self.srtt.as_secs_f64()) as u64;
        self.cwnd = bytes.max(2 * self.smss).min(Cwnd::MAX);
    }
}

impl CongestionControl for Wtcp {
    fn on_ack(&mut self, _: &AckSample, _: &PathState) {}

    fn takes_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        (self.smss, self.header_len) = (path.smss, path.header_len);
        self.srtt = path.srtt.unwrap_or(self.srtt);
        // A timer declares all outstanding data lost, which gives no information about this round trip.
        if !std::mem::take(&mut self.is_blackout) {
            self.period.lost = self.period.lost.saturating_add(delivery.newly_lost);
        }
        if let Some((sample, rtt)) = delivery.rate.and_then(|sample| Some((sample, sample.rtt?))) {
            let left = path.now.saturating_since(Time::ZERO).saturating_sub(rtt);
            let took = self.delay.of(delivery.receiver_clock, left, rtt);
            let seen = Seen { left, acked: path.now, delay: took, delivered: delivery.delivered };
            let has_returned = self.period.first.is_some() && sample.prior_delivered >= self.period.end;
            match self.rate {
                None if has_returned => {
                    if let Some(rate) = self.period.arrivals() {
                        self.set_rate(rate);
                    }
                    self.period = Period::starting(seen);
                }
                Some(rate) if has_returned && self.period.spans(&seen) >= self.settings.least_period => {
                    self.period.add(seen);
                    self.decide(rate, sample.is_app_limited);
                    self.period = Period::starting(seen);
                }
                _ => self.period.add(seen),
            }
        }
        if self.rate.is_none() {
            self.cwnd = self.cwnd.saturating_add(delivery.newly_delivered).min(Cwnd::MAX);
        }
        self.follow_rate();
    }

    fn on_congestion(&mut self, _: Congestion, _: &PathState) {}

    fn on_rto(&mut self, _: bool, path: &PathState) {
        self.cwnd = path.smss;
        self.period = Period { end: self.period.end, ..Period::default() };
        (self.is_blackout, self.is_settling) = (true, true);
    }

    fn on_resume(&mut self, path: &PathState) {
        self.header_len = path.header_len;
        self.period.first = None;
    }

    fn limit_cwnd(&mut self, max: u64) {
        self.cwnd = self.cwnd.min(max.max(self.smss));
    }

    fn set_window(&mut self, cwnd: u64, _: u64) {
        self.cwnd = cwnd.clamp(self.smss, Cwnd::MAX);
    }

    fn on_smss(&mut self, smss: u64) {
        self.smss = smss;
        self.cwnd = self.cwnd.max(smss);
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn pacing(&self) -> Option<Pace> {
        let packets = (self.smss + self.header_len) as f64 / self.smss as f64;
        self.rate.map(|rate| Pace::at(Rate::from_bps(((8.0 * rate * packets) as u64).max(1))))
    }

    fn paces(&self) -> bool {
        true
    }
}

/// A packet that an ACK reported.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Departure, since the start of time.
    left: Duration,
    acked: Time,
    /// Delay beyond that of the first packet, ps.
    delay: i64,
    /// Bytes delivered with it.
    delivered: u64,
}

/// Spacings of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    first: Option<Seen>,
    last: Option<Seen>,
    /// The packet before the last. A timer of the receiver may have delayed the last.
    last_but_one: Option<Seen>,
    /// Number of ACKs.
    count: u64,
    /// Bytes delivered at its end: a packet that left after them ends the round trip.
    end: u64,
    /// Bytes lost in it.
    lost: u64,
}

impl Period {
    fn starting(at: Seen) -> Self {
        Self { first: Some(at), end: at.delivered, count: 1, ..Self::default() }
    }

    fn add(&mut self, seen: Seen) {
        if self.first.is_none() {
            *self = Self { lost: self.lost, ..Self::starting(seen) };
        } else {
            (self.last_but_one, self.last) = (self.last, Some(seen));
            self.count += 1;
        }
    }

    /// Returns the time from the first departure to `to`.
    fn spans(&self, to: &Seen) -> Duration {
        self.first.map_or(Duration::ZERO, |first| to.left.saturating_sub(first.left))
    }

    /// Returns the time between arrivals over the time between departures.
    fn ratio(&self) -> Option<f64> {
        let (first, last) = (self.first?, self.last?);
        let left = last.left.saturating_sub(first.left).as_ps() as f64;
        let later = last.delay.saturating_sub(first.delay) as f64;
        (left > 0.0).then(|| ((left + later) / left).max(0.0))
    }

    /// Returns bytes per second, by the times of enough ACKs without the last one.
    fn arrivals(&self) -> Option<f64> {
        let (first, last) = (self.first?, self.last_but_one?);
        if self.count < FIRST_ACKS {
            return None;
        }
        let apart = last.acked.saturating_since(first.acked).as_secs_f64();
        let bytes = last.delivered.saturating_sub(first.delivered);
        (apart > 0.0 && bytes > 0).then(|| bytes as f64 / apart)
    }
}

/// Delays, where only the differences count.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    /// Clock of the receiver at the first packet, ms, and its departure; `None`: round-trip times are used.
    origin: Option<(u32, Duration)>,
    least: Option<i64>,
    latest: i64,
}

impl Delay {
    fn of(&mut self, receiver_clock: Option<u32>, left: Duration, rtt: Duration) -> i64 {
        let ps = |span: Duration| i64::try_from(span.as_ps()).unwrap_or(i64::MAX);
        let delay = match receiver_clock {
            Some(ms) => {
                if self.origin.is_none() {
                    self.least = None;
                }
                let (first_ms, first_left) = *self.origin.get_or_insert((ms, left));
                let since_first = ms.wrapping_sub(first_ms) as i32;
                (i64::from(since_first) * PS_PER_MS as i64).saturating_sub(ps(left).saturating_sub(ps(first_left)))
            }
            None if self.origin.is_some() => self.latest,
            None => ps(rtt),
        };
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.latest = delay;
        delay
    }

    /// Whether the queue is nearly empty.
    fn is_short(&self, srtt: Duration) -> bool {
        let above = self.latest.saturating_sub(self.least.unwrap_or(self.latest));
        above as f64 <= srtt.as_ps() as f64 / 8.0
    }
}

/// Segments that a round trip loses without congestion.
#[derive(Clone, Copy, Debug)]
struct UsualLosses {
    mean: f64,
    deviation: f64,
}

impl Default for UsualLosses {
    fn default() -> Self {
        Self { mean: 0.0, deviation: 1.0 }
    }
}

impl UsualLosses {
    fn is_less_than(&self, lost: f64, deviations: f64) -> bool {
        lost > self.mean + deviations * self.deviation
    }

    fn learn(&mut self, lost: f64) {
        let off = lost - self.mean;
        self.mean += off / 8.0;
        self.deviation = (self.deviation + (off.abs() - self.deviation) / 4.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::RateSample;
    use crate::testbench::ack_clock::{AckClock, SMSS};
    use crate::testbench::{DELIVERY, RATE_SAMPLE};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Delivers one segment per ACK.
    type Sender = AckClock<Wtcp>;

    fn start() -> Sender {
        let init = Init { smss: SMSS, cwnd: 10 * SMSS, ..Init::default() };
        let mut sender = AckClock::full(Wtcp::new(init, WtcpSettings { weight: 1.0, ..WtcpSettings::default() }));
        (sender.path.now, sender.path.srtt) = (Time::ZERO + ms(1000), Some(ms(100)));
        sender
    }

    /// Acknowledges, after a pause, a segment that left `prior` bytes ago and took `rtt` milliseconds.
    fn ack(sender: &mut Sender, pause: u64, prior: u64, rtt: u64, lost: u64) {
        let path = *sender.pass(ms(pause));
        let (delivered, lost) = (path.snd_una, lost * SMSS);
        let prior_delivered = delivered.saturating_sub(prior);
        let (interval, rtt) = (ms(rtt), Some(ms(rtt)));
        let sample =
            RateSample { delivered: prior, interval, rtt, flight_before: prior, prior_delivered, ..RATE_SAMPLE };
        let delivery =
            Delivery { newly_delivered: SMSS, delivered, newly_lost: lost, lost, in_flight: prior, ..DELIVERY };
        sender.cc.on_delivery(&Delivery { rate: Some(sample), ..delivery }, &path);
    }

    /// Runs a round trip of ten segments that left 10 ms apart; each took `more` ms longer than the one before.
    fn round(sender: &mut Sender, more: u64, lost: u64) -> f64 {
        let before = sender.cc.rate.unwrap_or(1.0);
        for segment in 1..=10 {
            ack(sender, 10 + more, 10 * SMSS, 100 + more * segment, if segment == 5 { lost } else { 0 });
        }
        sender.cc.rate.unwrap_or(1.0) / before
    }

    /// Departures 2 ms apart that arrive 3 ms apart.
    #[test]
    fn the_ratio_is_that_of_the_separations() {
        let mut period = Period::default();
        for packet in 0..=4_u64 {
            let delay = (packet * PS_PER_MS) as i64;
            period.add(Seen {
                left: ms(2 * packet),
                acked: Time::ZERO + ms(3 * packet),
                delay,
                delivered: packet * SMSS,
            });
        }
        assert_eq!(period.ratio(), Some(1.5));
        let rate = period.arrivals().unwrap();
        assert!((rate - 1e6 / 3.0).abs() < 1e-6, "a segment in 3 ms, not {rate}");
    }

    /// Ten segments that left together come back 2 ms apart: 500 kB/s, of which twice 50 kB may be in flight.
    #[test]
    fn the_first_rate_is_that_of_the_first_arrivals() {
        let mut sender = start();
        for segment in 1..=11 {
            assert_eq!(sender.cc.rate, None);
            ack(&mut sender, 2, segment.min(10) * SMSS, 100, 0);
        }
        assert!((sender.cc.rate.unwrap() - 500e3).abs() < 1.0, "{:?}", sender.cc.rate);
        assert_eq!(sender.cc.cwnd(), 100_000);
    }

    fn settled() -> Sender {
        let mut sender = start();
        sender.cc.rate = Some(100e3);
        (0..4).for_each(|_| {
            round(&mut sender, 0, 0);
        });
        sender
    }

    /// A segment in 100 ms is 10 kB/s.
    #[test]
    fn equal_separations_add_a_segment_in_a_round_trip() {
        let mut sender = settled();
        let before = sender.cc.rate.unwrap();
        round(&mut sender, 0, 0);
        assert!((sender.cc.rate.unwrap() - before - 10e3).abs() < 1.0);
    }

    #[test]
    fn arrivals_drawn_apart_leave_nine_tenths_of_their_rate_and_a_round_trip_to_show_it() {
        let mut sender = settled();
        sender.cc.period = Period { first: None, end: sender.path.snd_una, ..Period::default() };
        let before = sender.cc.rate.unwrap();
        sender.cc.period.first =
            Some(Seen { left: ms(0), acked: sender.path.now, delay: 0, delivered: sender.path.snd_una });
        sender.cc.period.last = Some(Seen {
            left: ms(100),
            acked: sender.path.now,
            delay: 50 * PS_PER_MS as i64,
            delivered: sender.path.snd_una,
        });
        sender.cc.decide(before, false);
        let after = sender.cc.rate.unwrap();
        assert!((after - before * 0.9 / 1.5).abs() < 1e-6);
        sender.cc.decide(after, false);
        assert_eq!(sender.cc.rate, Some(after));
    }

    #[test]
    fn usual_losses_cost_nothing_and_unusual_ones_half() {
        let mut sender = settled();
        (0..30).for_each(|_| assert!(round(&mut sender, 0, 3) > 1.0));
        assert!((sender.cc.usual.mean - 3.0).abs() < 0.1, "{:?}", sender.cc.usual);
        assert_eq!([round(&mut sender, 0, 7) > 1.0, round(&mut sender, 0, 30) < 0.51], [true; 2]);
    }

    #[test]
    fn after_a_blackout_the_rate_is_what_it_was() {
        let mut sender = settled();
        let (rate, cwnd) = (sender.cc.rate, sender.cc.cwnd());
        sender.cc.on_rto(true, &sender.path);
        sender.cc.on_rto(false, &sender.path);
        assert_eq!((sender.cc.cwnd(), sender.cc.rate), (SMSS, rate));
        ack(&mut sender, 5000, 10 * SMSS, 100, 0);
        assert_eq!((sender.cc.cwnd(), sender.cc.rate), (cwnd, rate));
    }

    /// What a timeout that was spurious gives back may be from when segments were smaller.
    #[test]
    fn a_window_that_is_set_has_room_for_a_segment() {
        let mut sender = settled();
        sender.cc.set_window(SMSS - 1, u64::MAX);
        assert_eq!(sender.cc.cwnd(), SMSS);
    }
}
