//! Rate and delay over time, looked up with a cursor: links ask in order of time.

use super::jitter::Jitter;
use bentpipe_model::spec::{Interleave, Link, Profile};
use bentpipe_units::{Duration, Rate, Time};

/// A piecewise profile, repeated with its period.
#[derive(Clone, Debug)]
pub(super) struct Pieces<T> {
    points: Vec<(Time, T)>,
    period: Option<Duration>,
    /// Start of the current repetition; current piece in it.
    origin: Time,
    piece: usize,
    /// Span of the current piece, from its start to before its end: links ask many times in it.
    span: (Time, Time),
}

impl<T: Copy> Pieces<T> {
    pub(super) fn new(points: &[(Time, T)], period: Option<Duration>) -> Self {
        Self { points: points.to_vec(), period, origin: Time::ZERO, piece: 0, span: (Time::ZERO, Time::ZERO) }
    }

    /// Values of a profile in steps.
    pub(super) fn of(profile: &Profile<T>) -> Self {
        match profile {
            Profile::Constant(value) => Self::new(&[(Time::ZERO, *value)], None),
            Profile::Points { points, period, .. } => Self::new(points, *period),
        }
    }

    /// Moves the cursor to the piece that holds `at`. Going back is allowed, and slow.
    #[inline]
    pub(super) fn seek(&mut self, at: Time) {
        if at < self.span.0 || at >= self.span.1 {
            self.find(at);
        }
    }

    #[inline(never)]
    fn find(&mut self, at: Time) {
        if at < self.origin + (self.points[self.piece].0 - Time::ZERO) {
            (self.origin, self.piece) = (Time::ZERO, 0);
        }
        if let Some(period) = self.period {
            let repetitions = at.saturating_since(self.origin).as_ps() / period.as_ps().max(1);
            if repetitions > 0 {
                self.origin += period * repetitions;
                self.piece = 0;
            }
        }
        while self.points.get(self.piece + 1).is_some_and(|next| self.origin + (next.0 - Time::ZERO) <= at) {
            self.piece += 1;
        }
        let repeats_at = self.period.map_or(Time::NEVER, |period| self.origin + period);
        self.span = (self.start(), self.end().min(repeats_at));
    }

    /// The end of the current piece.
    pub(super) fn end(&self) -> Time {
        match self.points.get(self.piece + 1) {
            Some(next) => self.origin + (next.0 - Time::ZERO),
            None => self.period.map_or(Time::NEVER, |period| self.origin + period),
        }
    }

    /// The end of the current value, at the latest that of the repetition.
    pub(super) fn until(&self) -> Time {
        self.span.1
    }

    /// Whether the current piece is the last of its repetition.
    pub(super) fn is_last(&self) -> bool {
        self.piece + 1 == self.points.len()
    }

    fn start(&self) -> Time {
        self.origin + (self.points[self.piece].0 - Time::ZERO)
    }

    pub(super) fn value(&self) -> T {
        self.points[self.piece].1
    }

    /// The value at the end of the current piece, for interpolation. The last value holds.
    fn next_value(&self) -> T {
        self.points.get(self.piece + 1).map_or(self.value(), |next| next.1)
    }
}

/// The rate of a link. Keeps the instant of the last call.
#[derive(Clone, Debug)]
pub(super) enum RateCursor {
    /// Keeps the last transmission time: packets have few sizes.
    Constant {
        rate: Rate,
        size: u32,
        time: Duration,
    },
    Steps(Box<Steps>),
}

/// A rate that changes.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pieces: Pieces<Rate>,
    /// Capacity of one repetition, in the units of `finish`; 0 if nothing repeats.
    per_period: u128,
}

impl RateCursor {
    pub(super) fn new(profile: &Profile<Rate>) -> Self {
        match profile {
            Profile::Constant(rate) => Self::Constant { rate: *rate, size: 0, time: Duration::ZERO },
            Profile::Points { points, period, .. } => Self::Steps(Box::new(Steps::new(Pieces::new(points, *period)))),
        }
    }

    /// The instant when the last of `size` bytes leaves, if the first leaves at `start`.
    #[inline]
    pub(super) fn finish(&mut self, start: Time, size: u64) -> Time {
        match self {
            Self::Constant { rate, size: known, time } => {
                if u64::from(*known) != size {
                    (*known, *time) = (size as u32, rate.time_to_send(size));
                }
                start + *time
            }
            Self::Steps(steps) => steps.finish(start, size),
        }
    }

    /// The rate at an instant.
    pub(super) fn at(&mut self, at: Time) -> Rate {
        match self {
            Self::Constant { rate, .. } => *rate,
            Self::Steps(steps) => {
                steps.pieces.seek(at);
                steps.pieces.points[steps.pieces.piece].1
            }
        }
    }

    /// The transmission time of `size` bytes, if it is constant and finite.
    pub(super) fn constant(&self, size: u64) -> Option<Duration> {
        match self {
            Self::Constant { rate, .. } => Some(rate.time_to_send(size)).filter(|&time| time != Duration::MAX),
            Self::Steps(_) => None,
        }
    }
}

impl Steps {
    fn new(pieces: Pieces<Rate>) -> Self {
        let ends = pieces.points.iter().skip(1).map(|point| point.0 - Time::ZERO);
        let per_period = pieces.period.map_or(0, |period| {
            let spans = pieces.points.iter().zip(ends.chain([period]));
            spans
                .map(|((from, rate), to)| {
                    u128::from(rate.as_bps()) * u128::from((to.saturating_sub(*from - Time::ZERO)).as_ps())
                })
                .sum()
        });
        Self { pieces, per_period }
    }

    /// Follows the rate through its changes, in units of bit x 10^12: no rounding.
    fn finish(&mut self, start: Time, size: u64) -> Time {
        const SCALE: u128 = 1_000_000_000_000;
        let mut left = u128::from(size) * 8 * SCALE;
        let mut at = start;
        // Skips whole repetitions: a packet may outlast any number of them.
        if let (Some(period), true) = (self.pieces.period, self.per_period > 0) {
            // A packet without bytes, whose headers are compressed away, takes no time.
            let repetitions = left.saturating_sub(1) / self.per_period;
            left -= repetitions * self.per_period;
            at += period * u64::try_from(repetitions).unwrap_or(u64::MAX);
            if at == Time::NEVER {
                return at;
            }
        }
        loop {
            self.pieces.seek(at);
            let rate = u128::from(self.pieces.value().as_bps());
            let end = self.pieces.end();
            let room = if end == Time::NEVER { u128::MAX } else { rate * u128::from((end - at).as_ps()) };
            if rate > 0 && left <= room {
                let ps = left.div_ceil(rate);
                return at + Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX));
            }
            if end == Time::NEVER {
                return Time::NEVER;
            }
            left -= room;
            at = end;
        }
    }
}

/// The delay of a link. Keeps the instant of the last call.
#[derive(Clone, Debug)]
pub(crate) enum DelayCursor {
    Constant(Duration),
    Points(Box<Points>),
    Varying(Box<Varying>),
}

/// A base delay and a variable delay.
#[derive(Clone, Debug)]
pub(crate) struct Varying {
    propagation: DelayCursor,
    jitter: Jitter,
}

/// A variable delay.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    pieces: Pieces<Duration>,
    linear: bool,
}

impl DelayCursor {
    /// The delay of a link: propagation, interleaver and jitter.
    pub(crate) fn new(link: &Link, seed: u64, end: Time) -> Self {
        let propagation = Self::propagation(&link.delay, link.interleave.as_deref());
        match Jitter::of(link, seed, end) {
            Some(jitter) => Self::Varying(Box::new(Varying { propagation, jitter })),
            None => propagation,
        }
    }

    fn propagation(profile: &Profile<Duration>, interleave: Option<&Interleave>) -> Self {
        let more = interleave.map_or(Duration::ZERO, Interleave::delay);
        match profile {
            Profile::Constant(delay) => Self::Constant(*delay + more),
            Profile::Points { points, linear, period } => {
                let points: Vec<_> = points.iter().map(|(at, delay)| (*at, *delay + more)).collect();
                Self::Points(Box::new(Points { pieces: Pieces::new(&points, *period), linear: *linear }))
            }
        }
    }

    /// The delay at an instant, without jitter.
    #[inline]
    pub(crate) fn at(&mut self, at: Time) -> Duration {
        match self {
            Self::Constant(delay) => *delay,
            Self::Points(points) => points.at(at),
            Self::Varying(varying) => varying.propagation.at(at),
        }
    }

    /// The jitter of a packet whose transmission ends at this instant.
    pub(super) fn jitter_at(&mut self, sent: Time) -> Duration {
        match self {
            Self::Varying(varying) => varying.jitter.at(sent),
            _ => Duration::ZERO,
        }
    }

    /// The delay, if it is constant.
    pub(super) fn constant(&self) -> Option<Duration> {
        match self {
            Self::Constant(delay) => Some(*delay),
            Self::Points(_) | Self::Varying(_) => None,
        }
    }
}

impl Points {
    fn at(&mut self, at: Time) -> Duration {
        self.pieces.seek(at);
        let from = self.pieces.value();
        if !self.linear {
            return from;
        }
        let (to, end) = (self.pieces.next_value(), self.pieces.end());
        if from == to || end == Time::NEVER {
            return from;
        }
        let start = self.pieces.start();
        let (elapsed, span) = ((at - start).as_ps(), (end - start).as_ps());
        let change = from.abs_diff(to).as_ps();
        let part = match change.checked_mul(elapsed) {
            Some(product) => product / span,
            // At most the whole change.
            None => (u128::from(change) * u128::from(elapsed) / u128::from(span)) as u64,
        };
        let part = Duration::from_ps(part);
        if from < to {
            from + part
        } else {
            from.saturating_sub(part)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn rates_change_in_mid_packet() {
        let points = vec![(s(0), Rate::from_bps(8)), (s(10), Rate::from_bps(0)), (s(20), Rate::from_bps(80))];
        let profile = Profile::Points { points, linear: false, period: Some(Duration::from_secs(30)) };
        let mut rate = RateCursor::new(&profile);
        assert_eq!(rate.finish(s(0), 5), s(5));
        // 5 bytes by 10 s, nothing by 20 s, 10 bytes by 21 s.
        assert_eq!(rate.finish(s(5), 15), s(21));
        // 2 bytes before the repetition at 30 s: 20 bytes by 22 s, 80 more by 30 s, the rest at 1 byte/s.
        assert_eq!(rate.finish(s(20), 102), s(32));
        assert_eq!(rate.finish(s(63), 0), s(63));
        assert_eq!(rate.finish(s(63), 1), s(64));
    }

    /// Eight thousand seconds through pieces of a microsecond, in a few steps.
    #[test]
    fn a_packet_outlasts_any_number_of_repetitions() {
        let us = |n: u64| Time::ZERO + Duration::from_micros(n);
        let points = vec![(us(0), Rate::from_bps(1)), (us(1), Rate::from_bps(2))];
        let profile = Profile::Points { points, linear: false, period: Some(Duration::from_micros(2)) };
        assert_eq!(RateCursor::new(&profile).finish(us(0), 1500), s(8000));
    }

    #[test]
    fn a_dead_rate_never_finishes() {
        let points = vec![(s(0), Rate::from_bps(8)), (s(1), Rate::from_bps(0))];
        let mut rate = RateCursor::new(&Profile::Points { points, linear: false, period: None });
        assert_eq!(rate.finish(s(0), 2), Time::NEVER);
    }

    #[test]
    fn delays_hold_or_follow_a_line() {
        let ms = Duration::from_millis;
        let points = vec![(s(0), ms(10)), (s(10), ms(20)), (s(20), ms(0))];
        for (linear, expected) in [(true, [10, 15, 20, 10, 0]), (false, [10, 10, 20, 20, 0])] {
            let mut delay = DelayCursor::propagation(
                &Profile::Points { points: points.clone(), linear, period: Some(ms(30_000)) },
                None,
            );
            let seen = [0, 5, 10, 15, 25].map(|at| delay.at(s(at)).as_ps() / 1_000_000_000);
            assert_eq!(seen, expected);
            assert_eq!(delay.at(s(35)), delay.at(s(65)));
            assert_eq!(delay.at(s(5)).as_ps() / 1_000_000_000, expected[1], "going back works");
        }
    }

    /// Exact, whether the product of the two fits 64 bits or not.
    #[test]
    fn delays_on_a_line_are_rounded_toward_its_start() {
        for (from, to, span) in
            [(1_000_003, 7, 999_999_999_989), (7, 1_000_003, 999_999_999_989), (5, u64::MAX / 4, 1 << 62)]
        {
            let points = vec![(s(0), Duration::from_ps(from)), (Time::from_ps(span), Duration::from_ps(to))];
            let mut delay = DelayCursor::propagation(&Profile::Points { points, linear: true, period: None }, None);
            for elapsed in [0, 1, 123_456_789, span / 3, span - 1] {
                let exact =
                    i128::from(from) + (i128::from(to) - i128::from(from)) * i128::from(elapsed) / i128::from(span);
                assert_eq!(i128::from(delay.at(Time::from_ps(elapsed)).as_ps()), exact);
            }
        }
    }
}
