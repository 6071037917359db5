//! Round-trip time and retransmission timeout (RFC 6298), on a clock with granularity.

use super::ack::Ack;
use super::scoreboard::Acked;
use crate::config::{Config, RtoArithmetic, RtoConfig, RttSampling, RttVariation, TickRounding};
use crate::conn::clock::since;
use crate::conn::context::Context;
use crate::conn::timers::{Timer, Timers};
use bentpipe_units::{Duration, Time};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The estimate of the round-trip time, and the retransmission timer that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    config: Arc<Config>,
    /// Offset of the host's clock in its tick.
    phase: Duration,
    srtt: Option<Duration>,
    rttvar: Duration,
    /// With the largest variation of a round trip.
    round: Option<Box<Round>>,
    /// Measurements of earlier connections; they count until there is a sample.
    primed: Option<Duration>,
    /// The timeout without backoff.
    base: Duration,
    /// The factor of the backoff, a power of two.
    backoff: u32,
    /// Doublings since the last sample.
    doublings: u32,
    /// After a spurious timeout: the least SRTT and RTTVAR for the next sample (RFC 4015 §3.3).
    least: Option<Box<(Duration, Duration)>>,
    /// When the retransmission timer was armed, and for how long.
    armed: (Time, Duration),
    /// Polls per round trip, where the receiver acknowledges only when polled.
    pub(super) polls: Option<NonZeroU32>,
    /// One segment is timed at a time: the offset that acknowledges it, and when it was sent.
    timed: Option<(u64, Time)>,
    /// Exact round-trip time of the last ACK of new data, without the clock's granularity.
    pub(crate) last: Option<Duration>,
}

/// The variation within a round trip.
#[derive(Clone, Debug, Default)]
struct Round {
    /// SND.UNA and SND.NXT at the next sample.
    una: u64,
    nxt: u64,
    /// The round trip ends when data beyond this is acknowledged.
    until: u64,
    /// The smoothed variation, and its largest value in this round trip.
    mean: Duration,
    largest: Duration,
}

impl Round {
    /// A sample differs from the estimate. Returns the variation that counts, given the one before.
    fn vary(&mut self, error: Duration, is_shorter: bool, counted: Duration, least: Duration) -> Duration {
        // A round trip that falls is no reason for a longer timeout: a larger variation counts by an eighth.
        let gain = if is_shorter && error > self.mean { 32 } else { 4 };
        self.mean = (self.mean * (gain - 1) + error) / gain;
        self.largest = self.largest.max(self.mean);
        let counted = counted.max(self.largest);
        if self.una <= self.until {
            return counted;
        }
        let counted = (counted * 3 + self.largest) / 4;
        (self.until, self.largest) = (self.nxt, least);
        counted
    }
}

impl Rtt {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        let initial = config.rto.initial;
        let has_rounds = config.rto.variation == RttVariation::Largest;
        Self {
            phase: config.rto.phase.offset(),
            config,
            srtt: None,
            rttvar: Duration::ZERO,
            round: has_rounds.then(Box::default),
            primed: None,
            base: initial,
            backoff: 1,
            doublings: 0,
            least: None,
            armed: (Time::ZERO, initial),
            polls: None,
            timed: None,
            last: None,
        }
    }

    /// The handshake starts from the beginning: all measurements are forgotten.
    pub(crate) fn restart(&mut self) {
        *self = Self { phase: self.phase, ..Self::new(Arc::clone(&self.config)) };
    }

    /// The clock of its host starts here in a tick.
    pub(crate) fn set_phase(&mut self, phase: Duration) {
        self.phase = phase;
    }

    #[inline(always)]
    fn keys(&self) -> &RtoConfig {
        &self.config.rto
    }

    /// An ACK was entered that covers `acked`, with [una, nxt) still outstanding. Takes a round-trip sample, if it gives one.
    #[inline(always)]
    pub(super) fn sample(&mut self, now: Time, ack: &Ack<'_>, acked: &Acked, [una, nxt]: [u64; 2], cx: &Context) {
        self.last = acked.newest().map(|sent_at| now - sent_at);
        if let Some(round) = &mut self.round {
            (round.una, round.nxt) = (una, nxt);
        }
        if !cx.agreed.timestamps || (ack.timestamps.is_none() && cx.config.rto.sack_samples) {
            return self.on_acked(now, una, acked);
        }
        // DEVIATION: RFC 7323 §4.2 lowers the gains when there are many samples in a round trip. They are those of
        // RFC 6298 here, with any source of samples.
        if let Some(timestamps) = ack.timestamps {
            self.update(since(now, timestamps.echo));
        }
    }

    /// Restarts the retransmission timer, as Linux does, if every segment SACKed now was sent before the oldest one was last sent,
    /// at `first`: no ACK could report that segment yet. A retransmission that is lost again is found by RACK before the timer
    /// expires.
    pub(super) fn restart_by_sack(&mut self, now: Time, acked: &Acked, first: Option<Time>, timers: &mut Timers) {
        if !self.keys().sack_samples || acked.newest().is_none() {
            return;
        }
        if acked.oldest().zip(first).is_some_and(|(sacked, first)| sacked < first) {
            self.arm(now, timers);
        }
    }

    /// Takes a round-trip sample, if the ACK gives one: the age of the oldest delivered segment, so that the timer
    /// waits for delayed ACKs too.
    #[inline(always)]
    fn on_acked(&mut self, now: Time, una: u64, acked: &Acked) {
        // Karn's rule.
        let is_usable = !(acked.is_ambiguous && self.keys().karn);
        match self.keys().sampling {
            RttSampling::PerAck => {
                if let Some(sent_at) = acked.oldest().filter(|_| is_usable) {
                    self.on_sample(sent_at, now);
                }
            }
            RttSampling::PerWindow => {
                if let Some((_, sent_at)) = self.timed.take_if(|(end, _)| *end <= una) {
                    if is_usable && (acked.delivers(sent_at) || !self.keys().karn) {
                        self.on_sample(sent_at, now);
                    }
                }
            }
        }
    }

    /// A new segment that ends at `end` leaves.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, end: u64) {
        if self.timed.is_none() && self.keys().sampling == RttSampling::PerWindow {
            self.timed = Some((end, now));
        }
    }

    /// [start, end) is retransmitted: Karn's rule is about the segment that is timed, not about others.
    pub(crate) fn on_retransmit(&mut self, start: u64, end: u64) {
        if self.keys().karn {
            self.timed.take_if(|(timed, _)| start < *timed && *timed <= end);
        }
    }

    /// A SYN leaves; no sample if it `is_first` no more, and none from a SYN-ACK that follows it (RFC 6298 §3).
    pub(crate) fn on_syn_sent(&mut self, now: Time, is_first: bool) {
        self.timed = is_first.then_some((0, now));
    }

    /// The handshake is complete.
    pub(crate) fn on_handshake(&mut self, now: Time) {
        if let Some((_, sent_at)) = self.timed.take() {
            self.on_sample(sent_at, now);
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Arm the retransmission timer, or restart it.
    #[inline(always)]
    pub(crate) fn arm(&mut self, now: Time, timers: &mut Timers) {
        let rto = self.rto();
        self.armed = (now, rto);
        timers.set(Timer::Retransmit, self.earliest_expiry(now, rto));
    }

    /// The retransmission timer may have expired. True: it has.
    #[inline]
    pub(crate) fn take_expired(&self, now: Time, timers: &mut Timers) -> bool {
        if timers.get(Timer::Retransmit) > now {
            return false;
        }
        let expiry = self.armed_expiry();
        let is_expired = expiry <= now;
        timers.set(Timer::Retransmit, if is_expired { Time::NEVER } else { expiry });
        is_expired
    }

    /// When the retransmission timer was armed.
    pub(crate) fn armed_at(&self) -> Time {
        self.armed.0
    }

    /// When the retransmission timer, which is armed, expires.
    pub(crate) fn armed_expiry(&self) -> Time {
        let (armed, rto) = self.armed;
        self.expiry(armed, rto)
    }

    /// A segment sent at `sent_at` was acknowledged at `now`.
    pub(crate) fn on_sample(&mut self, sent_at: Time, now: Time) {
        let granularity = self.keys().granularity.as_ps();
        let sample = if granularity == 0 {
            now - sent_at
        } else {
            let extra = u64::from(self.keys().rounding == TickRounding::PlusOne);
            Duration::from_ps((self.tick(now) - self.tick(sent_at) + extra) * granularity)
        };
        self.update(sample);
    }

    /// RFC 6298 §2.2 and §2.3: RTTVAR before SRTT. Ends the backoff.
    pub(crate) fn update(&mut self, sample: Duration) {
        if let Some((srtt, rttvar)) = self.least.take().map(|least| *least) {
            self.rttvar = rttvar.max(sample / 2);
            return self.set(srtt.max(sample));
        }
        let is_forgotten = self.keys().forget_after > 0 && self.doublings >= self.keys().forget_after;
        let srtt = match self.srtt.filter(|_| !is_forgotten) {
            Some(srtt) if self.counts_ticks() => self.smooth_in_ticks(srtt, sample),
            None => {
                self.rttvar = sample / 2;
                let least = self.keys().variance_min / 4;
                if let Some(round) = &mut self.round {
                    round.mean = self.rttvar;
                    self.rttvar = self.rttvar.max(least);
                    (round.largest, round.until) = (self.rttvar, round.nxt);
                }
                sample
            }
            Some(srtt) if self.round.is_some() => {
                self.vary_in_round(srtt, sample);
                (srtt * 7 + sample) / 8
            }
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(sample)) / 4;
                (srtt * 7 + sample) / 8
            }
        };
        self.set(srtt);
    }

    /// A sample, with the largest variation of a round trip. Sets RTTVAR.
    fn vary_in_round(&mut self, srtt: Duration, sample: Duration) {
        let least = self.keys().variance_min / 4;
        if let Some(round) = &mut self.round {
            self.rttvar = round.vary(srtt.abs_diff(sample), sample < srtt, self.rttvar, least);
        }
    }

    /// Whether SRTT and RTTVAR are whole eighths and quarters of a tick.
    fn counts_ticks(&self) -> bool {
        self.keys().arithmetic == RtoArithmetic::Ticks && self.keys().granularity > Duration::ZERO
    }

    /// V. Jacobson 1988, appendix A: in integers. Returns SRTT, and sets RTTVAR.
    #[cold]
    fn smooth_in_ticks(&mut self, srtt: Duration, sample: Duration) -> Duration {
        let tick = self.keys().granularity.as_ps();
        let (srtt, rttvar) = ((srtt * 8).as_ps().div_euclid(tick), (self.rttvar * 4).as_ps().div_euclid(tick));
        let sample = (sample.as_ps() / tick).max(1);
        let error = sample.abs_diff(srtt / 8);
        let rttvar = (rttvar + error).saturating_sub(rttvar / 4).max(1);
        let srtt = (srtt + sample).saturating_sub(srtt / 8).max(1);
        // Rounded up, so that the same eighths and quarters are read again.
        self.rttvar = Duration::from_ps((rttvar * tick).div_ceil(4));
        Duration::from_ps((srtt * tick).div_ceil(8))
    }

    fn set(&mut self, srtt: Duration) {
        self.srtt = Some(srtt);
        self.base = self.timeout(srtt, self.rttvar);
        self.backoff = 1;
        self.doublings = 0;
    }

    /// Measurements of earlier connections give the first timeout (RFC 9040 §5.2). The first sample replaces them.
    pub(crate) fn prime(&mut self, srtt: Duration, rttvar: Duration) {
        self.primed = Some(srtt);
        self.base = self.timeout(srtt, rttvar);
    }

    fn timeout_of_acks(&self, srtt: Duration, rttvar: Duration) -> Duration {
        if self.counts_ticks() {
            return self.timeout_in_ticks(srtt, rttvar);
        }
        let variation = (rttvar * 4).max(self.keys().variance_min);
        let margin = if self.keys().guard { variation.max(self.keys().granularity) } else { variation };
        (srtt + margin).max(self.keys().min).min(self.keys().max)
    }

    #[cold]
    fn timeout_in_ticks(&self, srtt: Duration, rttvar: Duration) -> Duration {
        let tick = self.keys().granularity.as_ps();
        let ticks = srtt.as_ps() / tick + (rttvar * 4).as_ps() / tick;
        Duration::from_ps(ticks * tick).max(self.keys().min).min(self.keys().max)
    }

    /// Data waits for the next poll, so its ACK is late by that time.
    fn timeout(&self, srtt: Duration, rttvar: Duration) -> Duration {
        let wait = self.polls.map_or(Duration::ZERO, |per_rtt| srtt / u64::from(per_rtt.get()));
        self.timeout_of_acks(srtt, rttvar) + wait
    }

    /// The timer expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        if self.keys().backoff {
            self.backoff = (self.backoff * 2).min(self.keys().backoff_max.max(1));
            self.doublings = self.doublings.saturating_add(1);
        }
    }

    /// The timeout is this, or the measured one, without backoff.
    pub(crate) fn fix(&mut self, rto: Option<Duration>) {
        self.base = rto.unwrap_or(self.base);
        self.backoff = 1;
    }

    /// RFC 6298 §5.7: data follow a handshake whose timer expired.
    pub(crate) fn after_lost_syn(&mut self) {
        if self.srtt.is_none() {
            self.base = self.base.max(Duration::from_secs(3)).min(self.keys().max);
            self.backoff = 1;
        }
    }

    /// The timeout in force, backoff included.
    pub(crate) fn rto(&self) -> Duration {
        (self.base * u64::from(self.backoff)).min(self.keys().max)
    }

    /// A timer that is armed from `now` on does not expire before this, for any samples.
    pub(crate) fn least_expiry(&self, now: Time) -> Time {
        let RtoConfig { initial, min, max, .. } = *self.keys();
        self.earliest_expiry(now, self.base.min(initial).min(min).min(max))
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The last timeout was spurious: SRTT and RTTVAR start again at the next sample, from at least these (RFC 4015).
    pub(crate) fn restart_from(&mut self, srtt: Duration, rttvar: Duration) {
        self.least = Some(Box::new((srtt, rttvar)));
    }

    /// Returns the smoothed round-trip time, or that of earlier connections.
    #[inline]
    pub(crate) fn expected(&self) -> Option<Duration> {
        self.srtt.or(self.primed)
    }

    /// A timer that is armed at `now` for `rto` does not expire before this. The exact instant is computed only at that
    /// time, because almost all retransmission timers are restarted before.
    #[inline]
    pub(crate) fn earliest_expiry(&self, now: Time, rto: Duration) -> Time {
        let granularity = self.keys().granularity;
        now + rto.max(granularity * u64::from(self.keys().min_ticks)).saturating_sub(granularity)
    }

    /// When a timer that was armed at `armed` for `rto` expires: when the tick counter has advanced by ceil(RTO / G), that
    /// is after more than (k-1) G and at most k G.
    pub(crate) fn expiry(&self, armed: Time, rto: Duration) -> Time {
        let granularity = self.keys().granularity.as_ps();
        if granularity == 0 || !self.keys().expires_on_tick {
            return armed + rto.max(self.keys().granularity * u64::from(self.keys().min_ticks));
        }
        // DEVIATION: RFC 6298 §5 lets the whole timeout pass. Unless configured otherwise the timer expires on a tick of the
        // clock, up to one tick before, as BSD's does.
        let ticks = rto.as_ps().div_ceil(granularity).max(u64::from(self.keys().min_ticks));
        let at = (self.tick(armed).saturating_add(ticks)).saturating_mul(granularity);
        Time::from_ps(at.saturating_sub(self.phase.as_ps()))
    }

    fn tick(&self, at: Time) -> u64 {
        at.as_ps().saturating_add(self.phase.as_ps()) / self.keys().granularity.as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClockPhase;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rtt_of(rto: RtoConfig) -> Rtt {
        Rtt::new(Arc::new(Config { rto, ..Config::default() }))
    }

    fn rtt(granularity: Duration, guard: bool) -> Rtt {
        rtt_of(RtoConfig { granularity, guard, min: Duration::ZERO, ..RtoConfig::default() })
    }

    /// `docs/specs/rto.md`, test 1.
    #[test]
    fn rfc6298_2_three_samples() {
        let mut rtt = rtt(ms(10), true);
        let after = |rtt: &mut Rtt, sample| {
            rtt.update(ms(sample));
            [rtt.srtt.unwrap(), rtt.rttvar, rtt.rto()].map(|d| d.as_ps() / 100_000)
        };
        assert_eq!(after(&mut rtt, 100), [1_000_000, 500_000, 3_000_000]);
        assert_eq!(after(&mut rtt, 200), [1_125_000, 625_000, 3_625_000]);
        assert_eq!(after(&mut rtt, 100), [1_109_375, 500_000, 3_109_375]);
    }

    /// Test 2: at constant RTT the variation vanishes; only the guard keeps the timeout above the RTT.
    #[test]
    fn s002_constant_rtt_without_guard_leaves_no_margin() {
        for (granularity, guard, expected_us) in [(ms(1), false, 209_000), (ms(1), true, 210_000)] {
            let mut rtt = rtt(granularity, guard);
            (0..60).for_each(|_| rtt.update(ms(209)));
            assert!(rtt.rttvar < Duration::from_ps(5_000), "{:?}", rtt.rttvar);
            assert_eq!(rtt.rto().as_ps() / 1_000_000, expected_us);
        }
    }

    /// Test 3: 209 ms in ticks of 50 ms are 4 or 5 ticks.
    #[test]
    fn samples_are_whole_ticks() {
        let seen: std::collections::BTreeSet<u64> = (0..50)
            .map(|start| {
                let mut rtt = rtt(ms(50), false);
                rtt.on_sample(Time::ZERO + ms(start), Time::ZERO + ms(start + 209));
                rtt.srtt.unwrap().as_ps() / 1_000_000_000
            })
            .collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [200, 250]);
    }

    /// Test 4: the backoff doubles.
    #[test]
    fn rfc6298_5_5_backoff_doubles() {
        let mut rtt = rtt(Duration::ZERO, true);
        rtt.base = ms(400);
        let mut total = Duration::ZERO;
        for _ in 0..7 {
            total += rtt.rto();
            rtt.back_off();
        }
        assert_eq!(total, ms(50_800));
        (0..10).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), ms(25_600), "64 x 0.4 s");
        rtt.update(ms(100));
        assert_eq!(rtt.rto(), ms(300), "a sample ends the backoff");
    }

    #[test]
    fn timers_expire_on_a_tick_and_never_before_the_bound() {
        for phase in [0, 3, 9] {
            let mut rtt =
                rtt_of(RtoConfig { granularity: ms(10), phase: ClockPhase::At(ms(phase)), ..RtoConfig::default() });
            rtt.base = ms(205);
            for armed in 0..30 {
                let armed = Time::ZERO + ms(armed);
                let expiry = rtt.expiry(armed, rtt.rto());
                assert_eq!((expiry.as_ps() / 1_000_000_000 + phase) % 10, 0);
                assert!(expiry - armed > ms(200) && expiry - armed <= ms(210));
                assert!(expiry >= rtt.earliest_expiry(armed, rtt.rto()));
            }
        }
    }

    /// A constant round trip of 20 ticks leaves a variation of three quarters of a tick in integers; a timeout need not end on a
    /// tick.
    #[test]
    fn ticks_keep_the_timeout_three_above_the_round_trip() {
        let after = |arithmetic| {
            let config = RtoConfig { granularity: ms(10), min: Duration::ZERO, arithmetic, ..RtoConfig::default() };
            let mut rtt = rtt_of(RtoConfig { expires_on_tick: false, ..config });
            (0..100).for_each(|_| rtt.update(ms(200)));
            let armed = Time::ZERO + ms(3);
            assert_eq!(rtt.expiry(armed, rtt.rto()) - armed, rtt.rto());
            rtt.rto()
        };
        assert_eq!(after(RtoArithmetic::Real), ms(210), "the guard");
        assert_eq!(after(RtoArithmetic::Ticks), ms(230));
    }

    /// By hand from V. Jacobson 1988, appendix A: samples of 10, 20 and 10 ticks.
    #[test]
    fn jacobson_1988_three_samples() {
        let config = RtoConfig { granularity: ms(10), min: Duration::ZERO, ..RtoConfig::default() };
        let mut rtt = rtt_of(RtoConfig { arithmetic: RtoArithmetic::Ticks, ..config });
        let mut after = |sample| {
            rtt.update(ms(sample));
            let ticks = |time: Duration, parts: u64| (time * parts).as_ps() / ms(10).as_ps();
            (ticks(rtt.srtt.unwrap(), 8), ticks(rtt.rttvar, 4), rtt.rto())
        };
        assert_eq!(after(100), (80, 20, ms(300)));
        assert_eq!(after(200), (90, 25, ms(360)));
        assert_eq!(after(100), (89, 20, ms(310)));
    }

    #[test]
    fn bounds_hold() {
        let mut rtt = rtt_of(RtoConfig::default());
        rtt.update(ms(1));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.update(Duration::from_secs(1000));
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}
