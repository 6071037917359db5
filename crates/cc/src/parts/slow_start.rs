//! Algorithms of slow start: its growth, and the signs that the path is full.
//!
//! Signs are evaluated per round. A round ends when the data sent by its start is acknowledged.

use super::rapid_start::Rapid;
use super::search::{Exit, Search};
use crate::keys::{Hoe, HyStart, HyStartBaseline, HyStartDetect, HyStartPlusPlus, SlowStart};
use crate::{AckSample, PathState};
use bentpipe_units::{Duration, Time};

/// Slow start by one of the algorithms, with its observations of the path.
#[derive(Clone, Debug)]
pub(crate) enum Algorithm {
    Standard,
    Limited { max_ssthresh: u64 },
    Hoe(Spacing),
    HyStart(Signs),
    PlusPlus(DelayIncrease),
    Search(Search),
    Rapid(Rapid),
}

impl Algorithm {
    /// Windows are in bytes.
    pub(crate) fn new(config: SlowStart, smss: u64, initial_window: u64) -> Self {
        match config {
            SlowStart::Standard => Self::Standard,
            SlowStart::Limited { max_ssthresh } => Self::Limited { max_ssthresh: max_ssthresh.bytes(smss) },
            SlowStart::Hoe(config) => Self::Hoe(Spacing::new(config)),
            SlowStart::HyStart(config) => Self::HyStart(Signs::new(config)),
            SlowStart::HyStartPlusPlus(config) => Self::PlusPlus(DelayIncrease::new(config)),
            SlowStart::Search(config) => Self::Search(Search::new(config, initial_window)),
            SlowStart::Rapid(config) => Self::Rapid(Rapid::new(config)),
        }
    }

    /// Evaluates an ACK; `cwnd` is the window before it. Returns the threshold that its signs require, if any.
    pub(crate) fn watch(&mut self, ack: &AckSample, path: &PathState, cwnd: u64, slow_start: bool) -> Option<u64> {
        match self {
            Self::Standard | Self::Limited { .. } => None,
            Self::Hoe(spacing) => {
                let ssthresh = if slow_start { spacing.watch(ack, path) } else { None };
                if ssthresh.is_some() || !slow_start {
                    // One estimate, at the start of the connection.
                    *self = Self::Standard;
                }
                ssthresh
            }
            Self::HyStart(signs) => signs.watch(ack, path, slow_start.then_some(cwnd)).then_some(cwnd),
            Self::PlusPlus(delay) => {
                let is_over = slow_start && delay.watch(ack, path);
                if is_over || !slow_start {
                    // RFC 9406 §4.3: in the initial slow start only.
                    *self = Self::Standard;
                }
                is_over.then_some(cwnd)
            }
            Self::Search(search) => {
                let exit = if slow_start { search.watch(ack, path) } else { None };
                if !slow_start || exit == Some(Exit::Stay) {
                    self.end_search();
                }
                exit.map(|exit| match exit {
                    Exit::Stay => cwnd,
                    Exit::Drain(target) => target.min(cwnd),
                })
            }
            Self::Rapid(rapid) => {
                rapid.watch(ack, path);
                if !slow_start {
                    *self = Self::Standard;
                }
                None
            }
        }
    }

    /// Returns the window after an ACK while it falls to the threshold.
    pub(crate) fn drain(&mut self, ack: &AckSample, path: &PathState) -> Option<u64> {
        let Self::Search(search) = self else { return None };
        let (cwnd, is_last) = search.drain(ack, path)?;
        if is_last {
            self.end_search();
        }
        Some(cwnd)
    }

    /// Whether the window falls to the threshold.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self, Self::Search(search) if search.is_draining())
    }

    fn end_search(&mut self) {
        match self {
            Self::Search(search) if search.is_repeated() => search.reset(),
            _ => *self = Self::Standard,
        }
    }

    /// Returns the most segments that an ACK may count for, if the algorithm counts bytes with its own limit.
    pub(crate) fn limit(&self) -> Option<u32> {
        match self {
            Self::PlusPlus(delay) => Some(delay.config.limit),
            Self::Rapid(_) => Some(u32::MAX),
            _ => None,
        }
    }

    /// Returns the divisor of the increase at a window of `cwnd` bytes.
    pub(crate) fn divisor(&self, cwnd: u64) -> u64 {
        match *self {
            // RFC 3742 §2: K = int(cwnd / (0.5 max_ssthresh)).
            Self::Limited { max_ssthresh } if cwnd > max_ssthresh => 2 * cwnd / max_ssthresh.max(1),
            Self::PlusPlus(ref delay) => delay.divisor(),
            _ => 1,
        }
    }

    /// Returns the growth of the window, in thousandths of the counted bytes.
    pub(crate) fn thousandths(&self) -> u64 {
        match self {
            Self::Rapid(rapid) => rapid.thousandths(),
            _ => 1000,
        }
    }

    /// Whether the window grows faster than in slow start.
    pub(crate) fn is_rapid(&self) -> bool {
        matches!(self, Self::Rapid(rapid) if rapid.thousandths() > 1000)
    }

    /// Returns the least round-trip time at the start of conservative slow start (HyStart++), while that lasts.
    pub(crate) fn conservative(&self) -> Option<Duration> {
        match self {
            Self::PlusPlus(delay) => delay.css.map(|css| css.baseline),
            _ => None,
        }
    }

    /// Reacts to a loss, a mark or a timeout.
    pub(crate) fn on_congestion(&mut self) {
        match self {
            Self::Hoe(_) | Self::PlusPlus(_) | Self::Rapid(_) => *self = Self::Standard,
            Self::HyStart(signs) => signs.round.end = 0,
            Self::Search(_) => self.end_search(),
            Self::Standard | Self::Limited { .. } => {}
        }
    }
}

/// A round trip of data, with its delay samples.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// SND.NXT at its start.
    end: u64,
    samples: u32,
    /// Smallest round-trip time of this round and of the round before.
    min: Option<Duration>,
    min_before: Option<Duration>,
}

impl Round {
    /// Whether this ACK begins a round.
    fn begins(&mut self, path: &PathState) -> bool {
        let begins = path.snd_una > self.end;
        if begins {
            *self = Self { end: path.snd_nxt, samples: 0, min: None, min_before: self.min };
        }
        begins
    }

    fn sample(&mut self, rtt: Duration) {
        self.samples = self.samples.saturating_add(1);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }
}

/// J. Hoe, "Improving the start-up behavior of a congestion control scheme for TCP", SIGCOMM 1996: the spacing of close
/// ACKs shows the rate of the bottleneck. Rate times round trip is the bandwidth-delay product.
#[derive(Clone, Debug)]
pub(crate) struct Spacing {
    config: Hoe,
    round: Round,
    /// Round-trip time of the first segment.
    rtt: Option<Duration>,
    /// Time and acknowledged bytes of the previous ACK.
    before: Option<(Time, u64)>,
    estimates: [u64; Hoe::PAIRS_MAX as usize],
    count: usize,
}

impl Spacing {
    fn new(config: Hoe) -> Self {
        let estimates = [0; Hoe::PAIRS_MAX as usize];
        Self { config, round: Round::default(), rtt: None, before: None, estimates, count: 0 }
    }

    fn watch(&mut self, ack: &AckSample, path: &PathState) -> Option<u64> {
        let begins_round = self.round.begins(path);
        let Some(rtt) = self.rtt else {
            self.rtt = ack.rtt;
            return None;
        };
        let before = self.before.replace((path.now, ack.newly_acked))?;
        let spacing = path.now - before.0;
        // ACKs of different rounds are apart because the sender waited. An ACK of fewer bytes than the other may have
        // waited for the receiver's timer.
        if begins_round || before.1 != ack.newly_acked || spacing <= self.config.resolution {
            return None;
        }
        let bytes = u128::from(ack.newly_acked) * u128::from(rtt.as_ps()) / u128::from(spacing.as_ps());
        let bytes = bytes.min(u128::from(u64::MAX >> 1)) as u64;
        self.estimates[self.count] = bytes - bytes % path.smss;
        self.count += 1;
        let wanted = (self.config.pairs.clamp(1, Hoe::PAIRS_MAX)) as usize;
        (self.count == wanted).then(|| {
            let estimates = &mut self.estimates[..wanted];
            estimates.sort_unstable();
            estimates[(wanted - 1) / 2]
        })
    }
}

/// S. Ha and I. Rhee, "Hybrid slow start for high-bandwidth and long-distance networks", PFLDnet 2008.
#[derive(Clone, Debug)]
pub(crate) struct Signs {
    config: HyStart,
    round: Round,
    started: Time,
    /// Last ACK of the train that began with the round.
    last: Time,
    /// Smallest round-trip time of the connection.
    rtt_min: Option<Duration>,
}

impl Signs {
    fn new(config: HyStart) -> Self {
        Self { config, round: Round::default(), started: Time::ZERO, last: Time::ZERO, rtt_min: None }
    }

    /// Whether the path is full. Outside slow start, which has no `cwnd`, the signs are only kept up.
    fn watch(&mut self, ack: &AckSample, path: &PathState, cwnd: Option<u64>) -> bool {
        if self.round.begins(path) {
            self.started = path.now;
            self.last = path.now;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
        let Some(rtt_min) = self.rtt_min else { return false };
        let is_close = path.now - self.last <= self.config.ack_spacing;
        if is_close {
            self.last = path.now;
        }
        let has_all_samples = self.round.samples >= self.config.samples;
        if !has_all_samples {
            ack.rtt.into_iter().for_each(|rtt| self.round.sample(rtt));
        }
        let Some(cwnd) = cwnd else { return false };
        cwnd >= self.config.low_window.bytes(path.smss) && self.are_seen(path.now, rtt_min, is_close, has_all_samples)
    }

    /// Whether one of the signs is seen in slow start.
    fn are_seen(&self, now: Time, rtt_min: Duration, is_close: bool, has_all_samples: bool) -> bool {
        let counts = |sign: HyStartDetect| [sign, HyStartDetect::Both].contains(&self.config.detect);
        let is_train = is_close && now - self.started > rtt_min / u64::from(self.config.train_divisor.max(1));
        if is_train && counts(HyStartDetect::AckTrain) {
            return true;
        }
        if !has_all_samples || !counts(HyStartDetect::Delay) {
            return false;
        }
        let base = match self.config.baseline {
            HyStartBaseline::Connection => Some(rtt_min),
            HyStartBaseline::LastRound => self.round.min_before,
        };
        let threshold = |base: Duration| {
            let share = base / u64::from(self.config.delay_divisor.max(1));
            base + share.max(self.config.delay_min).min(self.config.delay_max)
        };
        self.round.min.zip(base).is_some_and(|(min, base)| min > threshold(base))
    }
}

/// HyStart++ (RFC 9406 §4.2): slow start, then conservative slow start (CSS) while the delay stays up.
#[derive(Clone, Debug)]
pub(crate) struct DelayIncrease {
    config: HyStartPlusPlus,
    round: Round,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Completed rounds in it.
    rounds: u32,
}

impl DelayIncrease {
    fn new(config: HyStartPlusPlus) -> Self {
        Self { config, round: Round::default(), css: None }
    }

    fn divisor(&self) -> u64 {
        self.css.map_or(1, |_| u64::from(self.config.css_growth_divisor.max(1)))
    }

    /// Whether slow start is over.
    fn watch(&mut self, ack: &AckSample, path: &PathState) -> bool {
        if self.round.begins(path) {
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= self.config.css_rounds {
                    return true;
                }
            }
        }
        ack.rtt.into_iter().for_each(|rtt| self.round.sample(rtt));
        let Some(min) = self.round.min.filter(|_| self.round.samples >= self.config.rtt_samples) else { return false };
        match self.css {
            None => {
                if self.round.min_before.is_some_and(|before| min >= before + self.threshold(before)) {
                    self.css = Some(Css { baseline: min, rounds: 0 });
                }
            }
            // The delay was not persistent: back to slow start.
            Some(css) if min < css.baseline => self.css = None,
            Some(_) => {}
        }
        false
    }

    /// RttThresh.
    fn threshold(&self, before: Duration) -> Duration {
        let share = before / u64::from(self.config.min_rtt_divisor.max(1));
        share.min(self.config.max_rtt_threshold).max(self.config.min_rtt_threshold)
    }
}

#[cfg(test)]
mod tests;
