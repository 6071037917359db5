//! Values over time in their simplest form: each answer is looked up in the points of the scenario, without a cursor.

use bentpipe_model::ids::LinkId;
use bentpipe_model::spec::{
    Change, Downtimes, Interleave, Jitter, Link, Profile, Scenario, SlotDraws, Slots, Waiting, COMMON,
};
use bentpipe_units::{Duration, Rate, Stream, Time};
use libm::{cos, erfc, exp, log, sqrt};
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

/// One piece of a profile: its value from `start` to `end`, and the value after it.
pub(super) struct NaivePiece<T> {
    start: Time,
    pub(super) end: Time,
    pub(super) value: T,
    next: T,
}

/// Returns the piece of a profile that contains an instant.
pub(super) fn piece_at<T: Copy>(profile: &Profile<T>, at: Time) -> NaivePiece<T> {
    let (points, period) = match profile {
        Profile::Constant(value) => {
            return NaivePiece { start: Time::ZERO, end: Time::NEVER, value: *value, next: *value }
        }
        Profile::Points { points, period, .. } => (points, *period),
    };
    let origin = Time::ZERO + period.map_or(Duration::ZERO, |period| period * (at.as_ps() / period.as_ps()));
    let instant = |place: usize| origin + (points[place].0 - Time::ZERO);
    let place = (0..points.len()).filter(|&place| instant(place) <= at).max().expect("a profile begins at zero");
    let after = points.get(place + 1);
    NaivePiece {
        start: instant(place),
        end: match (after, period) {
            (Some(_), _) => instant(place + 1),
            (None, Some(period)) => origin + period,
            (None, None) => Time::NEVER,
        },
        value: points[place].1,
        next: after.unwrap_or(&points[place]).1,
    }
}

/// Returns the instant when the last of `bytes` bytes leaves, if the first leaves at `start`.
pub(super) fn finish(rate: &Profile<Rate>, start: Time, bytes: u64) -> Time {
    const PS_PER_S: u128 = 1_000_000_000_000;
    // Bits x ps/s: a rate in bit/s sends its number of these per picosecond, without rounding.
    let (mut left, mut at) = (u128::from(bytes) * 8 * PS_PER_S, start);
    while at != Time::NEVER {
        let piece = piece_at(rate, at);
        let per_ps = u128::from(piece.value.as_bps());
        let whole_piece = per_ps.saturating_mul(u128::from((piece.end - at).as_ps()));
        if per_ps > 0 && left <= whole_piece {
            return at + Duration::from_ps(u64::try_from(left.div_ceil(per_ps)).expect("the piece ends later"));
        }
        (left, at) = (left.saturating_sub(whole_piece), piece.end);
    }
    Time::NEVER
}

/// Returns the propagation delay of a link with its interleaver, without jitter.
pub(super) fn delay(link: &Link, at: Time) -> Duration {
    let NaivePiece { start, end, value, next } = piece_at(&link.delay, at);
    let is_line = matches!(link.delay, Profile::Points { linear: true, .. }) && end != Time::NEVER;
    let change = match is_line {
        true => {
            let whole = i128::from(next.as_ps()) - i128::from(value.as_ps());
            whole * i128::from((at - start).as_ps()) / i128::from((end - start).as_ps())
        }
        false => 0,
    };
    let propagation = i128::from(value.as_ps()) + change;
    let of_interleaver = link.interleave.as_deref().map_or(Duration::ZERO, Interleave::delay);
    Duration::from_ps(u64::try_from(propagation).expect("delays are positive")) + of_interleaver
}

/// The bad spells of a channel with two states of exponential times, in order.
#[derive(Debug)]
pub(super) struct Spells {
    bad: Vec<(Time, Time)>,
    begins_bad: bool,
    /// No spell counts after this instant.
    end: Time,
}

impl Spells {
    /// Draws the stationary first state with number 0, then the length of each state with the next number.
    pub(super) fn draw([good, bad]: [Duration; 2], mut draws: Stream, end: Time) -> Self {
        let means = [good.as_secs_f64(), bad.as_secs_f64()];
        let mut is_bad = draws.uniform(0) * (means[0] + means[1]) < means[1];
        let (begins_bad, mut spells, mut from, mut number) = (is_bad, Vec::new(), Time::ZERO, 1);
        // One bad state after the end: a transmission may last until then.
        while from <= end || is_bad {
            let seconds = -log(draws.uniform_positive(number)) * means[usize::from(is_bad)];
            let to = from + Duration::from_secs_f64(seconds).max(Duration::from_ps(1));
            if is_bad {
                spells.push((from, to));
            }
            (is_bad, from, number) = (!is_bad, to, number + 1);
        }
        Self { bad: spells, begins_bad, end }
    }

    pub(super) fn is_bad_at(&self, at: Time) -> bool {
        self.spell_at(at).is_some()
    }

    /// Returns the number of the draw of the bad state at this time or before.
    pub(super) fn number_at(&self, at: Time) -> u64 {
        let begun = self.bad.partition_point(|&(from, _)| from <= at) as u64;
        2 * begun - u64::from(self.begins_bad)
    }

    fn spell_at(&self, at: Time) -> Option<(Time, Time)> {
        let last = self.bad.partition_point(|&(from, _)| from <= at).checked_sub(1)?;
        Some(self.bad[last]).filter(|&(_, to)| at < to && at <= self.end)
    }

    /// Returns the time of bad states between two instants.
    pub(super) fn bad_time(&self, from: Time, to: Time) -> Duration {
        let parts = self.bad.iter().map(|spell| spell.1.min(to).saturating_since(spell.0.max(from)));
        parts.fold(Duration::ZERO, |sum, part| sum + part)
    }
}

/// The outages of a link by its own model.
#[derive(Debug)]
enum Down {
    Never,
    Spans(Vec<(Time, Time)>, Option<Duration>),
    Random(Spells),
}

impl Down {
    /// Returns the outages that are not over at an instant: those of its repetition and of the next one.
    fn ahead(&self, at: Time) -> Vec<(Time, Time)> {
        let all: Vec<(Time, Time)> = match self {
            Self::Never => Vec::new(),
            Self::Random(spells) if at > spells.end => Vec::new(),
            Self::Random(spells) => spells.bad.clone(),
            Self::Spans(spans, None) => spans.clone(),
            Self::Spans(spans, Some(period)) => {
                let repetition = at.as_ps() / period.as_ps();
                let shifted = |k: u64| spans.iter().map(move |&(from, to)| (from + *period * k, to + *period * k));
                (repetition..=repetition + 1).flat_map(shifted).collect()
            }
        };
        all.into_iter().filter(|&(_, to)| to > at).collect()
    }
}

/// The times when a link is absent or down.
#[derive(Debug)]
pub(super) struct NaiveOutages {
    own: Down,
    flushes: bool,
    /// The changes of the link in order: absent from this instant with this treatment of its queue, or present.
    changes: Vec<(Time, Option<Waiting>)>,
}

impl NaiveOutages {
    pub(super) fn of(scenario: &Scenario, id: LinkId, end: Time) -> Self {
        let link = &scenario.links[id];
        let own = link.outage.as_ref().map_or(Down::Never, |outage| match &outage.when {
            Downtimes::Spans { spans, period } => Down::Spans(spans.clone(), *period),
            Downtimes::Random { mean_up, mean_down } => {
                let draws = Stream::new(scenario.seed, &format!("link/{}", link.name), "outage");
                Down::Random(Spells::draw([*mean_up, *mean_down], draws, end))
            }
        });
        let change = |(at, change): &(Time, Change)| match *change {
            Change::Down { link, waiting, .. } if link == id => Some((*at, Some(waiting))),
            Change::Up(link) if link == id => Some((*at, None)),
            _ => None,
        };
        let changes = scenario.timeline.changes.iter().filter_map(change).collect();
        Self { own, flushes: link.outage.as_ref().is_some_and(|outage| outage.flush), changes }
    }

    /// Returns the treatment of waiting packets if the link is absent.
    pub(super) fn absent(&self, at: Time) -> Option<Waiting> {
        self.changes.iter().rev().find(|change| change.0 <= at).and_then(|change| change.1)
    }

    /// Whether an outage loses all waiting packets at this instant.
    pub(super) fn flushes(&self, at: Time) -> bool {
        self.flushes && self.own.ahead(at).iter().any(|&(from, _)| from <= at)
    }

    /// Returns the first instant after `at` at which an absence or an outage begins or ends.
    pub(super) fn changes_at(&self, at: Time) -> Time {
        let own = self.own.ahead(at).into_iter().flat_map(|(from, to)| [from, to]);
        let all = own.chain(self.changes.iter().map(|change| change.0));
        all.filter(|&change| change > at).min().unwrap_or(Time::NEVER)
    }

    /// Returns the first instant from `at` when the link is present and up, and the next when it is not.
    pub(super) fn uptime(&self, at: Time) -> (Time, Time) {
        let mut up = at;
        loop {
            let outages = self.own.ahead(up);
            if self.absent(up).is_some() {
                let back = self.changes.iter().find(|change| change.0 > up && change.1.is_none());
                up = back.map_or(Time::NEVER, |change| change.0);
            } else if let Some(&(_, to)) = outages.iter().find(|&&(from, _)| from <= up) {
                up = to;
            } else {
                let absences = self.changes.iter().filter(|change| change.1.is_some()).map(|change| change.0);
                let starts = outages.iter().map(|outage| outage.0).chain(absences);
                return (up, starts.filter(|&start| start > up).min().unwrap_or(Time::NEVER));
            }
            if up == Time::NEVER {
                return (up, up);
            }
        }
    }
}

/// The jitter of a link: variable delays that add up, each a list of values that hold for a time.
#[derive(Debug)]
pub(super) struct NaiveJitter {
    terms: Vec<JitterTerm>,
    slots: Option<NaiveSlots>,
    /// The last values hold after this instant.
    end: Time,
}

#[derive(Debug)]
struct JitterTerm {
    spec: Jitter,
    draws: Stream,
    /// Normal variables of the values so far. The first value holds until the first change.
    normals: Vec<f64>,
}

impl NaiveJitter {
    pub(super) fn of(link: &Link, seed: u64, end: Time) -> Self {
        let term = |(number, spec): (usize, &Jitter)| {
            let name = match link.name.rsplit_once('.') {
                Some((both_ways, _)) if spec.both_ways => both_ways,
                _ => &link.name,
            };
            let draws = Stream::new(seed, &format!("link/{name}"), &format!("jitter/{number}"));
            JitterTerm { spec: spec.clone(), draws, normals: Vec::new() }
        };
        Self {
            terms: link.jitter.iter().flat_map(|all| all.iter()).enumerate().map(term).collect(),
            slots: NaiveSlots::of(link, seed),
            end,
        }
    }

    pub(super) fn at(&mut self, at: Time) -> Duration {
        let at = at.min(self.end);
        let slots = self.slots.as_mut().map_or(Duration::ZERO, |slots| slots.at(at));
        self.terms.iter_mut().map(|term| term.at(at)).fold(slots, |sum, value| sum + value)
    }
}

/// The delays of a path in slots.
#[derive(Debug)]
struct NaiveSlots {
    spec: Arc<Slots>,
    draws: SlotDraws,
    /// Normal variables of ordinary and of slow waits, and the slow process so far.
    streams: [Stream; 2],
    slow: Vec<f64>,
}

impl NaiveSlots {
    fn of(link: &Link, seed: u64) -> Option<Self> {
        let both_ways = link.name.rsplit_once('.').map_or(link.name.as_str(), |(name, _)| name);
        let stream = |purpose| Stream::new(seed, &format!("link/{both_ways}"), purpose);
        let streams = ["slots/fast", "slots/slow"].map(stream);
        let draws = SlotDraws::new(&link.name, seed);
        link.slots.clone().map(|spec| Self { spec, draws, streams, slow: Vec::new() })
    }

    fn at(&mut self, at: Time) -> Duration {
        let spec = self.spec.clone();
        let first = spec.offset.as_ps() % spec.every.as_ps();
        let number = at.as_ps().checked_sub(first).map_or(0, |since| 1 + since / spec.every.as_ps());
        let slot = self.draws.slot(&spec, number);
        let wait = 1 + at.as_ps() / spec.hold.as_ps();
        let y = self.slow_process(wait);
        let part = (1.0 - COMMON).sqrt();
        let x = part * normal(&mut self.streams[0], wait) + COMMON.sqrt() * y;
        let [fast, slow] = [x, y].map(|z| erfc(-z / SQRT_2) / 2.0);
        let share = if slow > 1.0 - slot.slow { slow } else { (1.0 - slot.slow) * fast };
        slot.delay(share, spec.base)
    }

    /// Returns a value of an autoregressive process of order 1.
    fn slow_process(&mut self, wait: u64) -> f64 {
        let keep = match self.spec.correlation {
            Duration::ZERO => 0.0,
            correlation => exp(-self.spec.hold.as_secs_f64() / correlation.as_secs_f64()),
        };
        for k in self.slow.len() as u64 + 1..=wait {
            let fresh = normal(&mut self.streams[1], k);
            let next = self.slow.last().map_or(fresh, |y| keep * y + sqrt(1.0 - keep * keep) * fresh);
            self.slow.push(next);
        }
        self.slow[wait as usize - 1]
    }
}

/// Returns a normal variable by its number.
fn normal(draws: &mut Stream, number: u64) -> f64 {
    let length = sqrt(-2.0 * log(draws.uniform_positive(2 * number)));
    length * cos(2.0 * PI * draws.uniform(2 * number + 1))
}

impl JitterTerm {
    fn at(&mut self, at: Time) -> Duration {
        let every = self.spec.every.as_ps();
        let first_change = self.spec.offset.as_ps() % every;
        let number = at.as_ps().checked_sub(first_change).map_or(1, |since| 2 + since / every);
        let share = match self.spec.correlation {
            Duration::ZERO => self.draws.uniform(number),
            _ => erfc(-self.normal(number) / SQRT_2) / 2.0,
        };
        self.spec.delay.quantile(share)
    }

    /// Returns a value of an autoregressive process of order 1.
    fn normal(&mut self, number: u64) -> f64 {
        let keep = exp(-self.spec.every.as_secs_f64() / self.spec.correlation.as_secs_f64());
        for k in self.normals.len() as u64 + 1..=number {
            let length = sqrt(-2.0 * log(self.draws.uniform_positive(2 * k)));
            let fresh = length * cos(2.0 * PI * self.draws.uniform(2 * k + 1));
            let next = self.normals.last().map_or(fresh, |x| keep * x + sqrt(1.0 - keep * keep) * fresh);
            self.normals.push(next);
        }
        self.normals[number as usize - 1]
    }
}
