//! Parts that the versions of BBR share: round trips counted in packets, the test for a full pipe, the aggregation of
//! ACKs, the pace, and known reallocations. Rates are of payload, in bytes per second.

pub(crate) mod policer;

use crate::parts::windowed::{Max, Windowed};
use crate::{Delivery, Init, Insides, Pace, PathState, Quantity};
use bentpipe_units::{Duration, Rate, Stream, Time};

/// Margin between pace and bandwidth, so that a queue drains.
const MARGIN: f64 = 0.99;
/// Round-trip time of an unknown path.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Time after a reallocation in which losses do not count.
const GRACE: Duration = Duration::from_millis(500);
/// Bounds of a quantum, segments and bytes.
const QUANTUM: (u64, u64) = (2, 65_536);

bentpipe_units::words! {
    /// Data that BBR hands down in one quantum, for which its windows leave room.
    pub enum BbrQuantum {
        /// One segment, because no layer below the sender joins segments.
        "segment" => Segment,
        /// Data that the pace sends in a millisecond, at least 2 segments and at most 64 kB, as hosts with segmentation
        /// offload.
        "offload" => Offload,
    }
}

/// Sample of the newest segment that an ACK delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Bytes per second; 0: unknown.
    pub(crate) rate: f64,
    /// Bytes delivered since it was sent.
    pub(crate) delivered: u64,
    /// Bytes delivered when it was sent.
    pub(crate) prior_delivered: u64,
    pub(crate) is_app_limited: bool,
    /// Bytes in flight when it was sent, itself included.
    pub(crate) flight: u64,
    /// Bytes declared lost since it was sent.
    pub(crate) lost: u64,
    pub(crate) rtt: Option<Duration>,
}

impl Sample {
    /// Returns `None` if the ACK does not identify the segment that arrived. With `counts_rwnd`, data sent at the limit
    /// of the receiver's window also gives a lower bound.
    pub(crate) fn new(delivery: &Delivery, path: &PathState, counts_rwnd: bool) -> Option<Self> {
        let rs = delivery.rate?;
        let fills_rwnd = rs.flight_before + path.smss > path.rwnd;
        Some(Self {
            rate: rs.rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0),
            delivered: rs.delivered,
            prior_delivered: rs.prior_delivered,
            is_app_limited: rs.is_app_limited || counts_rwnd && fills_rwnd,
            flight: rs.flight_before,
            lost: rs.lost,
            rtt: rs.rtt,
        })
    }

    /// Whether it may update the bandwidth, now `bw`.
    pub(crate) fn is_fit_for(&self, bw: f64) -> bool {
        self.rate > 0.0 && (self.rate >= bw || !self.is_app_limited)
    }
}

/// Round trips, counted by the data delivered when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    next_delivered: u64,
    pub(crate) count: u64,
}

impl Rounds {
    /// Whether an ACK starts a round trip.
    pub(crate) fn on_ack(&mut self, sample: Option<&Sample>, delivered: u64) -> bool {
        let is_start = sample.is_some_and(|sample| sample.prior_delivered >= self.next_delivered);
        if is_start {
            self.next_delivered = delivered;
            self.count += 1;
        }
        is_start
    }

    /// Starts a round trip with the data sent now.
    pub(crate) fn start(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}

/// Random choices of a congestion control, one draw after the other.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    stream: Stream,
    draws: u64,
}

impl Dice {
    /// Creates the stream of the choice `purpose` of `cc`.
    pub(crate) fn new(seed: u64, cc: &str, purpose: &str) -> Self {
        Self { stream: Stream::new(seed, cc, purpose), draws: 0 }
    }

    /// Returns a whole number uniform in `0..n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.draws += 1;
        self.stream.below(self.draws - 1, n)
    }

    /// Returns a number uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.draws += 1;
        self.stream.uniform(self.draws - 1)
    }
}

/// ProbeRTT: its progress, and the reason to skip it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeRtt {
    /// Earliest end; `None`: more is in flight than it allows.
    pub(crate) until: Option<Time>,
    pub(crate) has_lasted_a_round: bool,
    /// Whether sending continues after a pause that drained the queue. The next ACK does not begin ProbeRTT then.
    pub(crate) is_restarting: bool,
}

/// Test for a full pipe: three rounds with less than a quarter more delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullPipe {
    rate: f64,
    rounds: u32,
    /// Whether this test has found the pipe full.
    pub(crate) is_now: bool,
    /// Whether any test has found it full, so the path is known.
    pub(crate) has_been: bool,
}

impl FullPipe {
    const GROWTH: f64 = 1.25;
    const ROUNDS: u32 = 3;

    /// Ends a round trip with this rate.
    pub(crate) fn on_round(&mut self, rate: f64) {
        if rate >= Self::GROWTH * self.rate {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        self.is_now = self.rounds >= Self::ROUNDS;
        self.has_been |= self.is_now;
    }

    pub(crate) fn inside(&self, insides: &mut Insides<'_>) {
        insides.value(Quantity::FullBandwidth, f64::from(u8::from(self.has_been)));
        insides.own("full_bw_now", f64::from(u8::from(self.is_now))).own("full_bw_count", f64::from(self.rounds));
    }

    /// Restarts the test from this rate.
    pub(crate) fn restart(&mut self, rate: f64) {
        (self.rate, self.rounds, self.is_now) = (rate, 0, false);
    }
}

/// Data that arrives in bursts beyond the bandwidth, for example where frames or slots gather ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregation {
    since: Time,
    delivered: f64,
    excess: Windowed<Max, f64, 10>,
}

impl Aggregation {
    /// Ends a pause.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.since, self.delivered) = (now, 0.0);
    }

    /// Counts `newly` bytes, delivered by an ACK at `tick` of the filter's clock. The excess is at most one window.
    pub(crate) fn on_ack(&mut self, now: Time, tick: u64, bw: f64, newly: u64, cwnd: u64) {
        let mut expected = bw * now.saturating_since(self.since).as_secs_f64();
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += newly as f64;
        self.excess.update(tick, (self.delivered - expected).min(cwnd as f64));
    }

    /// Returns the excess of the last `ticks`, bytes.
    pub(crate) fn excess(&self, ticks: u64) -> f64 {
        self.excess.of_last(ticks)
    }
}

/// The pace, and its sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BbrPace {
    /// Bytes of payload per second.
    rate: f64,
    smss: u64,
    header_len: u64,
    /// Whether a round-trip time was known when the pace was set.
    is_informed: bool,
}

impl BbrPace {
    /// Starts with `gain` times the initial window per round trip.
    pub(crate) fn new(init: &Init, gain: f64) -> Self {
        let mut pace = Self { rate: 0.0, smss: init.smss, header_len: 40, is_informed: false };
        pace.begin(gain, init.cwnd, init.rtt);
        pace
    }

    fn begin(&mut self, gain: f64, cwnd: u64, rtt: Option<Duration>) {
        self.is_informed = rtt.is_some();
        self.rate = gain * cwnd as f64 / rtt.unwrap_or(NOMINAL_RTT).max(NOMINAL_RTT / 1000).as_secs_f64();
    }

    /// Learns sizes and the first round-trip time from an ACK, or at the first data.
    pub(crate) fn learn(&mut self, path: &PathState, gain: f64, cwnd: u64) {
        (self.smss, self.header_len) = (path.smss, path.header_len);
        if !self.is_informed && path.srtt.is_some() {
            self.begin(gain, cwnd, path.srtt);
        }
    }

    /// Sets the pace to `gain` times a bandwidth, less the margin. With `only_up` the pace does not fall.
    pub(crate) fn set(&mut self, gain: f64, bw: f64, only_up: bool) {
        let rate = gain * bw * MARGIN;
        if rate > 0.0 && (!only_up || rate > self.rate) {
            self.rate = rate;
        }
    }

    /// Returns the pace with headers.
    pub(crate) fn as_rate(&self) -> Rate {
        let packets = self.rate / self.smss as f64;
        // Casts saturate.
        Rate::from_bps((packets * 8.0 * (self.smss + self.header_len) as f64) as u64).max(Rate::from_bps(1))
    }

    /// Returns the pace with a quantum sent back to back.
    pub(crate) fn as_pace(&self, quantum: BbrQuantum) -> Pace {
        Pace { burst: Some(self.quantum(quantum)), ..Pace::at(self.as_rate()) }
    }

    /// Returns the bytes of a quantum.
    pub(crate) fn quantum(&self, quantum: BbrQuantum) -> u64 {
        match quantum {
            BbrQuantum::Segment => self.smss,
            BbrQuantum::Offload => ((self.rate / 1000.0) as u64).min(QUANTUM.1).max(QUANTUM.0 * self.smss),
        }
    }
}

/// Known reallocations of the path: at an offset, then once per period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownReallocations {
    is_known: bool,
    period: Duration,
    offset: Duration,
    last: Option<Time>,
    /// Whether no round-trip time of the new path is known yet.
    needs_rtt: bool,
    /// Ticks of the bandwidth's clock that are still skipped.
    held: u64,
}

impl KnownReallocations {
    pub(crate) fn new(is_known: bool, period: Duration, offset: Duration, now: Time) -> Self {
        let mut new = Self { is_known, period, offset, last: None, needs_rtt: false, held: 0 };
        new.last = new.last_before(now);
        new
    }

    fn last_before(&self, now: Time) -> Option<Time> {
        let since = now.as_ps().checked_sub(self.offset.as_ps()).filter(|_| self.is_known)?;
        let into = since.checked_rem(self.period.as_ps())?;
        Some(Time::from_ps(now.as_ps() - into))
    }

    /// Advances to `now`. A reallocation keeps the bandwidth for `ticks` more ticks.
    #[inline]
    pub(crate) fn look(&mut self, now: Time, held: u64) {
        if self.is_known {
            let last = self.last_before(now);
            if last != self.last {
                *self = Self { last, needs_rtt: true, held, ..*self };
            }
        }
    }

    /// Whether losses are attributed to a reallocation.
    #[inline]
    pub(crate) fn excuses(&self, now: Time) -> bool {
        self.is_known && self.last.is_some_and(|last| now.saturating_since(last) < GRACE)
    }

    /// Whether this is the first round-trip time of a new path.
    #[inline]
    pub(crate) fn is_first_rtt(&mut self, now: Time, rtt: Duration) -> bool {
        let sent = now.as_ps().saturating_sub(rtt.as_ps());
        let is_first = self.needs_rtt && self.last.is_some_and(|last| sent >= last.as_ps());
        self.needs_rtt &= !is_first;
        is_first
    }

    /// Whether the clock of the bandwidth skips this tick.
    pub(crate) fn holds(&mut self) -> bool {
        let holds = self.held > 0;
        self.held -= u64::from(holds);
        holds
    }
}

/// Returns the bytes that a bandwidth delivers in a time.
pub(crate) fn product(bw: f64, time: Duration) -> f64 {
    bw * time.as_secs_f64()
}

/// Returns a window of `cwnd` bytes after a delivery of `newly` bytes. Once the pipe has been full (`is_full`), it
/// approaches the target. Before that it grows by the delivered bytes, at least as long as `is_new`.
pub(crate) fn grown(cwnd: u64, newly: u64, target: u64, is_full: bool, is_new: bool) -> u64 {
    if is_full {
        (cwnd + newly).min(target)
    } else if cwnd < target || is_new {
        cwnd + newly
    } else {
        cwnd
    }
}

/// Implements the hooks that model-based congestion controls share. They have `cwnd`, `smss`, `pipe`, `pace` and a
/// least window.
macro_rules! model_hooks {
    ($min_window:ident) => {
        /// `on_delivery` has more information.
        fn on_ack(&mut self, _: &$crate::AckSample, _: &PathState) {}

        fn takes_deliveries(&self) -> bool {
            true
        }

        fn is_model_based(&self) -> bool {
            true
        }

        /// Random numbers choose the times of probes.
        fn is_random(&self) -> bool {
            true
        }

        fn limit_cwnd(&mut self, max: u64) {
            self.cwnd = self.cwnd.min(max).max(self.smss);
        }

        fn set_window(&mut self, cwnd: u64, _: u64) {
            self.cwnd = cwnd.clamp(self.smss, $crate::Cwnd::MAX);
        }

        fn on_smss(&mut self, smss: u64) {
            self.smss = smss;
            self.cwnd = self.cwnd.max(smss);
        }

        #[inline]
        fn cwnd(&self) -> u64 {
            self.cwnd
        }

        /// No threshold in Startup. Afterwards the least window, so that the end of Startup counts as that of slow
        /// start.
        #[inline]
        fn ssthresh(&self) -> u64 {
            if self.pipe.has_been {
                self.$min_window()
            } else {
                u64::MAX
            }
        }
    };
}

pub(crate) use model_hooks;

#[cfg(test)]
mod tests;
